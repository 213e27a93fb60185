use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::workbench::Bench;

fn file(cells: Value) -> String {
    let metadata = json!({"kernelspec": {"name": "python3"}, "language_info": {"name": "python"}});
    json!({"nbformat": 4, "nbformat_minor": 5, "metadata": metadata, "cells": cells}).to_string()
}

fn code(id: &str, source: &str, outputs: Value) -> Value {
    let lines: Vec<&str> = source.split_inclusive('\n').collect();
    json!({"cell_type": "code", "id": id, "source": lines, "outputs": outputs, "execution_count": 1, "metadata": {}})
}

async fn read(bench: &Bench, more: Value) -> String {
    let mut input = json!({"filePath": "a.ipynb"});
    input.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    bench.done("read", input).await
}

const FOOTER: &str = "\nThe file is JSON, with the lines of each source as texts: for `edit`, take `oldString` from what `grep` finds in this file.";

#[tokio::test]
async fn a_notebook_is_shown_as_its_cells_with_outputs_in_short() {
    let outputs = json!([
        {"output_type": "stream", "name": "stdout", "text": ["one\n", "two\n"]},
        {"output_type": "execute_result", "data": {"text/plain": ["<Figure>"], "image/png": "iVBORw0KGgo="}},
        {"output_type": "error", "ename": "ValueError", "evalue": "no \u{1b}[0;31mred\u{1b}[0m", "traceback": ["long"]},
    ]);
    let cells = json!([
        {"cell_type": "markdown", "id": "top", "source": "# Title\nwith a tab\tin it", "metadata": {}},
        code("ab\"c", "import numpy\nprint(1)", outputs),
        {"cell_type": "code", "source": [], "outputs": []},
    ]);
    let bench = Bench::new();
    bench.put("/w/a.ipynb", file(cells));
    let outcome = bench.call("read", json!({"filePath": "a.ipynb"})).await;
    let expected = "<path>/w/a.ipynb</path>
<type>notebook</type>
<cells>
<cell number=\"1\" type=\"markdown\" id=\"top\">
# Title
with a tab\tin it
</cell>
<cell number=\"2\" type=\"code\" id=\"ab_c\" language=\"python\">
import numpy
print(1)
</cell>
<outputs>
one
two
<Figure>
[image/png, 12 bytes in the file]
ValueError: no red
</outputs>
<cell number=\"3\" type=\"code\" language=\"python\">
</cell>
</cells>
All of it: 3 cells.";
    assert_eq!(outcome.result.text, format!("{expected}{FOOTER}"));
    assert_eq!(outcome.result.seen, [], "its text was not shown, so `write` may not replace it");
}

#[tokio::test]
async fn cells_come_in_pages_and_long_ones_in_slices() {
    let bench = Bench::new();
    let cells: Vec<Value> = (1..=5).map(|n| code(&format!("c{n}"), &format!("cell_{n}"), json!([]))).collect();
    bench.put("/w/a.ipynb", file(json!(cells)));
    let text = read(&bench, json!({"offset": 2, "limit": 2})).await;
    assert!(text.contains("cell_2\n") && text.contains("cell_3\n") && !text.contains("cell_4"), "{text}");
    assert!(text.ends_with(&format!("Cells 2 to 3 of 5; next: offset=4{FOOTER}")), "{text}");
    let failed = bench.failed("read", json!({"filePath": "a.ipynb", "offset": 6})).await;
    assert_eq!(failed, "/w/a.ipynb has 5 cells; offset=6 is behind its end");

    let long = "é漢".repeat(20_000);
    bench.put("/w/a.ipynb", file(json!([code("a", "x", json!([])), code("b", &long, json!([]))])));
    assert!(read(&bench, json!({})).await.contains("Cells 1 to 1 of 2; next: offset=2"));
    let (mut column, mut all) = (1, String::new());
    for _ in 0..10 {
        let text = read(&bench, json!({"offset": 2, "column": column, "limit": 1})).await;
        assert!(text.len() <= 51_200, "{}", text.len());
        let source = text.split_once("language=\"python\">\n").unwrap().1;
        all.push_str(source.lines().next().unwrap());
        let Some((_, next)) = text.split_once("next: offset=2 column=") else { break };
        column = next.split_once(' ').unwrap().0.parse().unwrap();
    }
    assert!(all == long, "{} bytes of {}", all.len(), long.len());
    let failed = bench.failed("read", json!({"filePath": "a.ipynb", "column": 7})).await;
    assert_eq!(failed, "/w/a.ipynb has 1 character in cell 1; column=7 is behind its end");
}

#[tokio::test]
async fn r10_1_outputs_are_bounded() {
    let lines = |count: usize| (1..=count).map(|n| format!("line {n}\n")).collect::<String>();
    let stream = |text: String| json!([{"output_type": "stream", "name": "stdout", "text": text}]);
    let bench = Bench::new();
    bench.put(
        "/w/a.ipynb",
        file(json!([code("a", "x", stream(lines(1000))), code("b", "y", stream("z".repeat(9000)))])),
    );
    let text = read(&bench, json!({})).await;
    assert!(text.contains("line 20\n[8742 more bytes of output are left out]\n</outputs>"), "{text}");
    assert!(text.contains("zz\n[6953 more bytes of output are left out]\n"), "{text}");
    assert!(text.len() < 4000, "{}", text.len());
    bench.put("/w/a.ipynb", file(json!([code("a", &lines(5000), json!([]))])));
    let text = read(&bench, json!({})).await;
    assert!(
        text.lines().count() <= 2000 && text.contains("[cell 1 goes on: characters 1 to "),
        "{}",
        text.lines().count()
    );
}

#[tokio::test]
async fn a_damaged_notebook_is_read_as_the_text_that_it_is() {
    let old = json!({"nbformat": 3, "worksheets": []}).to_string();
    for (text, why) in [
        ("{\"cells\": [\n", "it is no valid JSON: EOF while parsing"),
        ("{\"cells\": 7}", "it has no list of cells"),
        ("", "it is no valid JSON"),
        (&old, "it has the format 3"),
    ] {
        let bench = Bench::new();
        bench.put("/w/a.ipynb", text);
        let said = read(&bench, json!({})).await;
        assert!(said.contains("<type>file</type>"), "{said}");
        assert!(said.contains(&format!("It cannot be shown as a notebook: {why}")), "{said}");
        assert!(bench.seen.get(&crate::workbench::path("/w/a.ipynb")).is_some());
    }
}

#[tokio::test]
async fn c25_a_notebook_that_is_open_as_text_is_shown_as_the_editor_has_it() {
    let bench = Bench::new();
    bench.put("/w/a.ipynb", file(json!([code("a", "saved", json!([]))])));
    bench.open("/w/a.ipynb", 3, &file(json!([code("a", "typed", json!([]))])));
    let text = read(&bench, json!({})).await;
    assert!(text.contains("\ntyped\n") && text.ends_with("This is the editor's text, saved or not."), "{text}");
}

/// Whatever is long in it: the outputs of cells without source, and the names.
#[tokio::test]
async fn r10_1_no_part_of_a_notebook_makes_the_answer_larger_than_the_limit() {
    let outputs = json!([{"output_type": "stream", "text": "o".repeat(1900)}]);
    let silent = json!({"cell_type": "code", "source": "", "outputs": outputs});
    let long = "n".repeat(300_000);
    let named = json!({"cell_type": long, "id": long, "source": "x", "outputs": []});
    let language = json!({"language_info": {"name": long}});
    for (cells, metadata) in [
        (json!(vec![silent; 1500]), json!({})),
        (json!(vec![named; 3]), json!({})),
        (json!([{"cell_type": "code", "source": "x"}]), language),
        (json!(vec![json!({"cell_type": "code", "source": ""}); 1900]), json!({})),
    ] {
        let bench = Bench::new();
        bench.put("/w/a.ipynb", json!({"nbformat": 4, "metadata": metadata, "cells": cells}).to_string());
        let mut shown = 0;
        let mut offset = 1;
        // Page by page to the end.
        loop {
            let text = read(&bench, json!({"offset": offset})).await;
            assert!(
                text.len() <= bench.facts.max_bytes && text.lines().count() <= bench.facts.max_lines,
                "{}",
                text.len()
            );
            shown += text.matches("<cell ").count();
            let Some((_, next)) = text.split_once("; next: offset=") else { break };
            let next = next.lines().next().unwrap().parse().unwrap();
            assert!(next > offset, "it gets on");
            offset = next;
        }
        assert_eq!(shown, cells.as_array().unwrap().len());
    }
}

proptest! {
    #[test]
    fn no_json_panics(source in any::<String>(), kind in any::<String>(), offset in 1usize..4, column in 1usize..9, room in 0usize..2000) {
        let odd = json!([{"cell_type": kind, "source": source, "outputs": [{"output_type": "stream", "text": source}]}, 7, {"source": [1, source]}]);
        let notebook = Notebook::parse(&json!({ "cells": odd }).to_string()).unwrap();
        let _ = notebook.show(Window { offset, limit: 3, column, max_bytes: room }, room);
    }
}
