use serde_json::{Value, json};

use crate::message::ToolStatus;
use crate::permission::Verdict;
use crate::ports::{OptionKind, Preview};
use crate::workbench::{Bench, Typing, path};

fn several(edits: &[(&str, &str)]) -> Value {
    let edits: Vec<Value> = edits.iter().map(|(old, new)| json!({"oldString": old, "newString": new})).collect();
    json!({"filePath": "a", "edits": edits})
}

/// Edits that must fail and leave the file alone; gives what was said.
async fn refused(before: &str, edits: &[(&str, &str)]) -> String {
    let bench = Bench::trusting();
    bench.put("/w/a", before);
    bench.done("read", json!({"filePath": "a"})).await;
    let text = bench.failed("multiedit", several(edits)).await;
    assert_eq!(bench.text("/w/a"), before);
    text
}

fn numbered(count: usize) -> String {
    (1..=count).map(|n| format!("line {n};\n")).collect()
}

#[tokio::test]
async fn c13_edits_out_of_order_are_made_in_one() {
    let bench = Bench::trusting();
    bench.put("/w/a", numbered(100));
    let text = bench.done("multiedit", several(&[("line 90;", "ninety\nand more"), ("line 5;", "five")])).await;
    let expected = numbered(100).replace("line 90;", "ninety\nand more").replace("line 5;", "five");
    assert_eq!(bench.text("/w/a"), expected);
    assert!(text.starts_with("Changed a: 3 lines added, 2 removed.\n2 edits at 2 places."), "{text}");
}

#[tokio::test]
async fn c13_overlapping_edits_are_refused_and_none_is_made() {
    let text =
        refused(&numbered(9), &[("line 8;", "eight"), ("line 1;\nline 2;", "x"), ("line 2;\nline 3;", "y")]).await;
    assert_eq!(
        text,
        "/w/a was not changed, because of edit 3 of 3: the text that it replaces is also replaced by one before it: make one replacement of the two."
    );
}

#[tokio::test]
async fn r1_3_the_edit_that_does_not_fit_is_named_with_the_nearest_text() {
    let text = refused("let one = 1;\n\tlet two = 2;\n", &[("one", "eins"), ("\tlet two = 3;\n", "x")]).await;
    let (first, rest) = text.split_once('\n').unwrap();
    assert_eq!(
        first,
        "None of the edits was made, because of edit 2 of 2. /w/a was not changed: `oldString` was not found in it."
    );
    assert!(rest.starts_with("The nearest text is at lines 2-2, and differs: "), "{rest}");
    assert!(rest.contains("2: \tlet two = 2;\n"), "{rest}");
}

#[tokio::test]
async fn r3_2_an_ambiguous_edit_is_refused_with_its_places() {
    let text = refused("x\ny\nx\n", &[("y", "z"), ("x", "w")]).await;
    assert!(text.contains("because of edit 2 of 2") && text.contains("at lines 1, 3"), "{text}");
    let text = refused("foo\nbar\n", &[]).await;
    assert!(text.contains("`edits` is empty"), "{text}");
}

#[tokio::test]
async fn r4_1_one_call_is_one_ask_with_one_diff() {
    let bench = Bench::new().rule("edit", "*", Verdict::Ask);
    bench.put("/w/a", "one\ntwo\nthree\n");
    let call = bench.call("multiedit", several(&[("three", "THREE"), ("one", "ONE")]));
    let (outcome, ()) = tokio::join!(call, async {
        let ask = bench.client.next_ask().await;
        let Preview::Edit(diffs) = &ask.ask.preview else { panic!("{:?}", ask.ask.preview) };
        assert_eq!(diffs.len(), 1);
        assert_eq!(diffs[0].text_before(), "one\ntwo\nthree\n");
        assert_eq!(diffs[0].text_after(), "ONE\ntwo\nTHREE\n");
        ask.select(OptionKind::AllowOnce, None);
    });
    assert_eq!(outcome.result.status, ToolStatus::Completed, "{}", outcome.result.text);
    assert_eq!(bench.text("/w/a"), "ONE\ntwo\nTHREE\n");
}

#[tokio::test]
async fn an_open_file_is_changed_by_one_versioned_edit_beside_what_the_user_types() {
    let bench = Bench::new().rule("edit", "*", Verdict::Ask);
    bench.put("/w/a", "one\ntwo\nthree\n");
    let uri = bench.open("/w/a", 12, "one\ntwo\nthree\n");
    let call = bench.call("multiedit", several(&[("three", "THREE"), ("one", "ONE")]));
    let (outcome, ()) = tokio::join!(call, async {
        let ask = bench.client.next_ask().await;
        bench.editor.types(&uri, &Typing { at: 0, text: "zero\n" });
        ask.select(OptionKind::AllowOnce, None);
    });
    assert_eq!(outcome.result.status, ToolStatus::Completed, "{}", outcome.result.text);
    assert_eq!(bench.buffer("/w/a"), "zero\nONE\ntwo\nTHREE\n");
    let requests = bench.editor.requests();
    assert_eq!(requests.len(), 1, "one label, so one step of undo");
    assert_eq!(requests[0].documents[0].version, 13);
    assert_eq!(bench.text("/w/a"), "one\ntwo\nthree\n", "nothing is written behind the buffer");
}

#[tokio::test]
async fn rules_of_edit_hold_for_it() {
    let bench = Bench::new().rule("edit", "a", Verdict::Deny);
    bench.put("/w/a", "one\n");
    let text = bench.failed("multiedit", several(&[("one", "two")])).await;
    assert!(text.contains("Nothing was done"), "{text}");
    assert_eq!(bench.text("/w/a"), "one\n");
    let bench = Bench::new().agent("plan");
    bench.put("/w/a", "one\n");
    bench.failed("multiedit", several(&[("one", "two")])).await;
    assert_eq!(bench.text("/w/a"), "one\n");
}

/// Which of many guesses is right would tell of a file that may not be read.
#[tokio::test]
async fn c61_no_number_tells_what_stands_in_a_file_that_is_not_to_be_read() {
    let bench = Bench::trusting().rule("read", "a", Verdict::Ask);
    bench.put("/w/a", "key = 1234\n");
    let mut said = Vec::new();
    for edits in [
        vec![("9", "0"), ("8", "0")],
        vec![("1", "0"), ("8", "0")],
        vec![("12", "0"), ("1", "0")],
        vec![("12", "0"), ("0", "12")],
    ] {
        said.push(bench.failed("multiedit", several(&edits)).await);
    }
    assert!(said.iter().all(|text| *text == said[0]), "{said:#?}");
    assert!(!said[0].contains("edit 1") && !said[0].contains("key"), "{}", said[0]);
}

#[tokio::test]
async fn an_empty_old_text_in_the_first_edit_makes_a_file() {
    let bench = Bench::trusting();
    bench.done("multiedit", several(&[("", "one\ntwo\n"), ("two", "2")])).await;
    assert_eq!(bench.text("/w/a"), "one\n2\n");
    assert!(bench.seen.get(&path("/w/a")).is_some());
    let text = bench.failed("multiedit", several(&[("", "three\n"), ("two", "2")])).await;
    assert!(text.contains("because of edit 1 of 2") && text.contains("`oldString` is empty"), "{text}");
    let missing = json!({"filePath": "b", "edits": [{"oldString": "x", "newString": "y"}]});
    assert!(bench.failed("multiedit", missing).await.starts_with("/w/b does not exist."));
    let late =
        json!({"filePath": "b", "edits": [{"oldString": "", "newString": "y"}, {"oldString": "z", "newString": ""}]});
    assert!(bench.failed("multiedit", late).await.starts_with("/w/b was not created: edit 2 of 2: "));
}

#[tokio::test]
async fn c01_line_endings_of_the_file_are_kept_by_all_edits() {
    let bench = Bench::trusting();
    bench.put("/w/a", "one\r\ntwo\r\nthree\r\n");
    bench.done("multiedit", several(&[("one\ntwo", "one\n1\ntwo"), ("three", "three\n3")])).await;
    assert_eq!(bench.text("/w/a"), "one\r\n1\r\ntwo\r\nthree\r\n3\r\n");
}

#[tokio::test]
async fn null_means_left_out_inside_of_lists_too() {
    let bench = Bench::trusting();
    bench.put("/w/a", "a\nb\n");
    let edits = json!([{"oldString": "a", "newString": "x", "replaceAll": null}]);
    bench.done("multiedit", json!({"filePath": "a", "edits": edits, "more": null})).await;
    assert_eq!(bench.text("/w/a"), "x\nb\n");
    let text =
        bench.failed("multiedit", json!({"filePath": "a", "edits": [{"oldString": null, "newString": "x"}]})).await;
    assert!(text.contains("`oldString` is missing in `edits.0`"), "{text}");
}
