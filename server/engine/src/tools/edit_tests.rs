use copydesk_workspace::encoding::{TextEncoding, encode};
use copydesk_workspace::hash::ContentHash;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::message::ToolStatus;
use crate::permission::Verdict;
use crate::ports::OptionKind;
use crate::workbench::{Act, Bench, Typing, path};

fn edit(old: &str, new: &str) -> Value {
    json!({"filePath": "a", "oldString": old, "newString": new})
}

/// A file before and after one edit that must be done; gives what was said.
async fn check(before: &str, old: &str, new: &str, after: &str) -> String {
    let bench = Bench::trusting();
    bench.put("/w/a", before);
    let text = bench.done("edit", edit(old, new)).await;
    assert_eq!(bench.text("/w/a"), after);
    text
}

/// An edit that must fail and leave the file alone; gives what was said.
async fn refused(before: &str, old: &str, new: &str) -> String {
    let bench = Bench::trusting();
    bench.put("/w/a", before);
    let text = bench.failed("edit", edit(old, new)).await;
    assert_eq!(bench.text("/w/a"), before);
    text
}

/// The lines that `read` shows, without their gutter, as a model copies them.
async fn shown(bench: &Bench) -> Vec<String> {
    let text = bench.done("read", json!({"filePath": "a"})).await;
    let body = text.split_once("<content>\n").unwrap().1.rsplit_once("</content>").unwrap().0;
    body.split_terminator('\n').map(|line| line.split_once(": ").unwrap().1.to_owned()).collect()
}

// What `read` shows is what `edit` finds.

const TEXTS: [(&str, &str, TextEncoding); 8] = [
    ("lf", "fn a() {\n    one();\n    two();\n}\n", TextEncoding::Utf8),
    ("crlf", "fn a() {\r\n    one();\r\n    two();\r\n}\r\n", TextEncoding::Utf8),
    ("mixed", "fn a() {\r\n    one();\n    two();\r\n}\n", TextEncoding::Utf8),
    ("cr", "fn a() {\r    one();\r    two();\r}\r", TextEncoding::Utf8),
    ("tabs", "fn a() {\n\tone();\n\t\ttwo();\t\n}\n", TextEncoding::Utf8),
    ("bom", "fn a() {\n    one(\"\u{1f680}\");\n    two();\n}\n", TextEncoding::Utf8Bom),
    ("no final newline", "fn a() {\n    one();\n    two();\n}", TextEncoding::Utf8),
    ("utf-16", "fn a() {\r\n    one();\r\n    two();\r\n}", TextEncoding::Utf16Le),
];

#[tokio::test]
async fn r1_1_text_copied_from_read_matches_on_the_first_try() {
    for (name, text, encoding) in TEXTS {
        for (first, count) in [(0, 1), (0, 4), (1, 2), (2, 2), (3, 1)] {
            let bench = Bench::trusting();
            bench.put("/w/a", encode(text, encoding));
            let old = shown(&bench).await[first..first + count].join("\n");
            let outcome = bench.call("edit", edit(&old, "changed")).await;
            assert_eq!(outcome.result.status, ToolStatus::Completed, "{name} {first}: {}", outcome.result.text);
            assert!(!outcome.result.text.contains("Note:"), "{name} {first}: {}", outcome.result.text);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Each line has a mark of its own, so that every choice of lines is unique.
    #[test]
    fn r1_1_any_lines_of_any_text_match(
        lines in prop::collection::vec(("[ \t]{0,4}", "[a-z:{}0-9 \t\u{e9}\u{1f680}]{0,8}", prop::sample::select(vec!["\n", "\r\n"])), 1..8),
        from in 0usize..8,
        count in 1usize..8,
    ) {
        let marked = |(n, (indent, line, end)): (usize, &(String, String, &str))| format!("{indent}L{n};{line}{end}");
        let lines: Vec<String> = lines.iter().enumerate().map(marked).collect();
        let from = from % lines.len();
        let to = lines.len().min(from + count);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let bench = Bench::trusting();
            bench.put("/w/a", lines.concat());
            let old = shown(&bench).await[from..to].join("\n");
            let outcome = bench.call("edit", edit(&old, "changed")).await;
            assert_eq!(outcome.result.status, ToolStatus::Completed, "{lines:?} {old:?}: {}", outcome.result.text);
            let end = if lines[to - 1].ends_with("\r\n") { "\r\n" } else { "\n" };
            let expected = format!("{}changed{end}{}", lines[..from].concat(), lines[to..].concat());
            assert_eq!(bench.text("/w/a"), expected);
        });
    }
}

#[tokio::test]
async fn r1_2_bytes_outside_of_the_replaced_text_stay() {
    for (name, text, encoding) in TEXTS {
        let bench = Bench::trusting();
        bench.put("/w/a", encode(text, encoding));
        bench.done("edit", edit("two();", "three();")).await;
        assert_eq!(bench.bytes("/w/a"), encode(&text.replace("two", "three"), encoding), "{name}");
    }
}

#[tokio::test]
async fn c01_an_edit_of_a_crlf_file_writes_crlf() {
    let old = "int a;\nint b;";
    let new = "int a;\nint x;\nint b;";
    check("int a;\r\nint b;\r\nint c;\r\n", old, new, "int a;\r\nint x;\r\nint b;\r\nint c;\r\n").await;
}

const GO: &str = "func f() {\n\tif ok {\n\t\treturn\n\t}\n}\n";

#[tokio::test]
async fn c02_tabs_are_shown_and_match() {
    let bench = Bench::trusting();
    bench.put("/w/a", GO);
    let old = shown(&bench).await[1..4].join("\n");
    assert_eq!(old, "\tif ok {\n\t\treturn\n\t}");
    bench.done("edit", edit(&old, "\treturn")).await;
    assert_eq!(bench.text("/w/a"), "func f() {\n\treturn\n}\n");
}

#[tokio::test]
async fn c02_spaces_for_tabs_are_written_as_tabs_or_named() {
    let bench = Bench::trusting();
    bench.put("/w/a", GO);
    let old = "    if ok {\n        return\n    }";
    let outcome = bench.call("edit", edit(old, "    if ok {\n        return 1\n    }")).await;
    match outcome.result.status {
        ToolStatus::Completed => assert_eq!(bench.text("/w/a"), GO.replace("return", "return 1")),
        _ => assert!(outcome.result.text.contains("tab"), "{}", outcome.result.text),
    }
}

#[tokio::test]
async fn c03_an_edit_of_line_endings_alone_changes_them_or_says_that_it_does_not() {
    let bench = Bench::trusting();
    bench.put("/w/a", "a\r\nb");
    let outcome = bench.call("edit", edit("a\r\nb", "a\nb")).await;
    match outcome.result.status {
        ToolStatus::Completed => assert_eq!(bench.text("/w/a"), "a\nb"),
        _ => {
            assert!(outcome.result.text.contains("line-ending normalisation"), "{}", outcome.result.text);
            assert_eq!(bench.text("/w/a"), "a\r\nb");
        }
    }
}

// What is refused.

#[tokio::test]
async fn r1_3_a_failed_match_names_the_nearest_text_and_the_difference() {
    let text = refused("fn a() {\n    let x = one();\n}\n", "    let x = two();\n", "y").await;
    assert!(text.starts_with("/w/a was not changed: `oldString` was not found in it."), "{text}");
    assert!(text.contains("The nearest text is at lines 2-2, and differs: "), "{text}");
    assert!(text.contains("2:     let x = one();"), "{text}");
}

#[tokio::test]
async fn r3_2_several_matches_are_an_error_unless_all_are_meant() {
    let before = "one\nx\none\n";
    let text = refused(before, "one", "two").await;
    assert!(text.contains("2 matches of `oldString`, at lines 1, 3."), "{text}");
    let bench = Bench::trusting();
    bench.put("/w/a", before);
    let input = json!({"filePath": "a", "oldString": "one", "newString": "$1 two", "replaceAll": true});
    let text = bench.done("edit", input).await;
    assert!(text.contains("2 occurrences were replaced."), "{text}");
    assert_eq!(bench.text("/w/a"), "$1 two\nx\n$1 two\n");
}

#[tokio::test]
async fn r3_2_c10_of_many_places_some_are_named_and_the_rest_counted() {
    let text = refused(&"}\n".repeat(5000), "}", "]").await;
    assert!(
        text.contains("5000 matches of `oldString`, at lines 1, 2, ") && text.contains("20 and 4980 more."),
        "{text}"
    );
    let text = refused(&"}\n".repeat(20), "}", "]").await;
    assert!(text.contains("19, 20. Give more"), "{text}");
}

#[tokio::test]
async fn c11_r3_3_an_empty_old_text_never_replaces_a_file() {
    let before = "line\n".repeat(20);
    let text = refused(&before, "", "x").await;
    assert!(text.contains("use `write` to replace the file"), "{text}");
}

#[tokio::test]
async fn c11_an_empty_old_text_makes_a_missing_file() {
    let bench = Bench::trusting();
    let text = bench.done("edit", json!({"filePath": "x/n", "oldString": "", "newString": "one\n"})).await;
    assert_eq!((text.as_str(), bench.text("/w/x/n").as_str()), ("Created x/n: 1 line added, 0 removed.", "one\n"));
    bench.put("/w/empty", "");
    bench.done("edit", json!({"filePath": "empty", "oldString": "", "newString": "one\n"})).await;
    assert_eq!(bench.text("/w/empty"), "one\n");
}

#[tokio::test]
async fn r3_4_the_reply_counts_lines_and_no_change_is_an_error() {
    let text = check("a\nb\nc\n", "b\n", "x\ny\nz\n", "a\nx\ny\nz\nc\n").await;
    assert_eq!(text, "Changed a: 3 lines added, 1 removed.");
    let text = refused("a\nb\n", "b", "b").await;
    assert!(text.contains("identical"), "{text}");
}

#[tokio::test]
async fn c15_an_edit_that_is_already_in_place_is_no_change() {
    let bench = Bench::trusting();
    bench.put("/w/a", "a\nold_name();\nc\n");
    let input = edit("old_name();", "renamed_call(1, 2);");
    bench.done("edit", input.clone()).await;
    let text = bench.failed("edit", input).await;
    assert!(text.contains("already in place at line 2"), "{text}");
    assert_eq!(bench.text("/w/a"), "a\nrenamed_call(1, 2);\nc\n");
}

#[tokio::test]
async fn c17_the_end_of_the_file_stays_as_it_was() {
    check("a\nlast\n", "last", "end", "a\nend\n").await;
    check("a\nlast", "last", "end", "a\nend").await;
}

#[tokio::test]
async fn c18_a_doubly_escaped_line_break_is_not_written_silently() {
    let before = "first();\nsecond();\n";
    let bench = Bench::trusting();
    bench.put("/w/a", before);
    let outcome = bench.call("edit", edit("first();\\nsecond();", "first();\\nthird();\\nsecond();")).await;
    if outcome.result.status == ToolStatus::Completed {
        assert!(outcome.result.text.contains("Note:"), "{}", outcome.result.text);
        assert_eq!(bench.text("/w/a"), "first();\nthird();\nsecond();\n");
    } else {
        assert_eq!(bench.text("/w/a"), before);
    }
    // Old text with real line breaks, new text without.
    let bench = Bench::trusting();
    bench.put("/w/a", before);
    let outcome = bench.call("edit", edit("first();\nsecond();", "first();\\nthird();\\nsecond();")).await;
    let after = bench.text("/w/a");
    assert!(outcome.result.text.contains("Note:") || after == before, "{}: {after}", outcome.result.text);
}

#[tokio::test]
async fn c18_an_escape_inside_of_a_string_stays_two_characters() {
    check("print(\"a\");\n", "print(\"a\");", "print(\"a\\n\");", "print(\"a\\n\");\n").await;
}

#[tokio::test]
async fn missing_files_and_folders_are_told() {
    let bench = Bench::trusting();
    bench.put("/w/src/main.rs", "x");
    let text = bench.failed("edit", json!({"filePath": "src/mian.rs", "oldString": "a", "newString": "b"})).await;
    assert_eq!(text, "/w/src/mian.rs does not exist. Did you mean:\n/w/src/main.rs");
    let (edit, update) = (json!({"oldString": "a", "newString": "b"}), "*** Update File: src\n@@\n-a\n+b");
    let patch = |section: &str| json!({"patchText": format!("*** Begin Patch\n{section}\n*** End Patch")});
    for (tool, input) in [
        ("edit", json!({"filePath": "src", "oldString": "a", "newString": "b"})),
        ("multiedit", json!({"filePath": "src", "edits": [edit]})),
        ("write", json!({"filePath": "src", "content": "x"})),
        ("apply_patch", patch(update)),
        ("apply_patch", patch("*** Delete File: src")),
    ] {
        let text = bench.failed(tool, input).await;
        assert!(text.contains("/w/src is a folder; name a file in it."), "{tool}: {text}");
    }
}

// Others change the file too.

#[tokio::test]
async fn c25_a_dirty_buffer_is_edited_and_stays_dirty() {
    let bench = Bench::new();
    bench.put("/w/a", "one\n");
    bench.open("/w/a", 7, "one\ntwo\n");
    bench.done("edit", edit("one", "ONE")).await;
    assert_eq!((bench.buffer("/w/a").as_str(), bench.text("/w/a").as_str()), ("ONE\ntwo\n", "one\n"));
    assert!(bench.overlay.by_uri("file:///w/a").unwrap().is_dirty());
    assert!(bench.done("read", json!({"filePath": "a"})).await.contains("1: ONE\n2: two\n"));
}

#[tokio::test]
async fn c27_r6_4_after_an_outside_writer_one_retry_suffices() {
    let bench = Bench::trusting();
    bench.put("/w/a", "let x = 1;\nlet y = 2;\n");
    bench.done("read", json!({"filePath": "a"})).await;
    bench.put("/w/a", "let x = 10;\nlet y = 2;\n");
    // The new text is found at once.
    bench.done("edit", edit("let y = 2;", "let y = 3;")).await;
    // The old one is answered with what stands there now.
    let text = bench.failed("edit", edit("let x = 1;", "let x = 4;")).await;
    assert!(text.contains("You have not seen the file as it now stands"), "{text}");
    assert!(text.contains("1: let x = 10;\n2: let y = 3;\n"), "{text}");
    bench.done("edit", edit("let x = 10;", "let x = 4;")).await;
    assert_eq!(bench.text("/w/a"), "let x = 4;\nlet y = 3;\n");
}

#[tokio::test]
async fn r6_4_the_fresh_text_around_the_place_is_bounded() {
    let bench = Bench::trusting();
    let text: String = (1..=3000).map(|n| format!("line number {n} of many\n")).collect();
    bench.put("/w/a", text);
    let text = bench.failed("edit", edit("line number 1500 of few", "x")).await;
    assert!(text.contains("1500: line number 1500 of many"), "{text}");
    assert!(text.contains("1490: ") && text.len() < 4000, "{text}");
    assert_eq!(bench.seen.get(&path("/w/a")), None);
}

/// Of a large text more is kept from one call to the next.
#[tokio::test]
async fn c27_what_is_in_a_large_file_counts_and_not_what_was_written_there() {
    let text = |first: &str, last: &str| format!("{first}\n{}{last}\n", "a line of many\n".repeat(75_000));
    for encoding in [TextEncoding::Utf8, TextEncoding::Utf8Bom, TextEncoding::Utf16Le] {
        let bench = Bench::trusting();
        let holds = |text: String| assert!(bench.bytes("/w/a") == encode(&text, encoding), "{encoding:?}");
        bench.put("/w/a", encode(&text("one", "end"), encoding));
        bench.done("edit", edit("one", "two")).await;
        bench.done("edit", edit("two", "three")).await;
        holds(text("three", "end"));
        bench.put("/w/a", encode(&text("three", "typed"), encoding));
        bench.failed("edit", edit("end", "END")).await;
        bench.done("edit", edit("three", "four")).await;
        holds(text("four", "typed"));
        bench.put("/w/b", encode(&text("other", "end"), encoding));
        bench.done("edit", json!({"filePath": "b", "oldString": "other", "newString": "another"})).await;
        bench.done("edit", edit("four", "five")).await;
        holds(text("five", "typed"));
        bench.put("/w/a", encode(&text("five", "TYPED"), encoding));
        bench.failed("edit", edit("typed", "old")).await;
        bench.done("edit", edit("five", "six")).await;
        holds(text("six", "TYPED"));
    }
}

#[tokio::test]
async fn c29_touching_a_file_does_not_disturb_an_edit() {
    let bench = Bench::trusting();
    bench.put("/w/a", "one\n");
    bench.done("read", json!({"filePath": "a"})).await;
    bench.put("/w/a", "one\n");
    bench.done("edit", edit("one", "two")).await;
    // What the model read and changed itself it knows.
    bench.done("write", json!({"filePath": "a", "content": "three\n"})).await;
}

#[tokio::test]
async fn an_edit_does_not_make_an_unread_file_known() {
    let bench = Bench::trusting();
    bench.put("/w/a", "one\nsecret\n");
    bench.done("edit", edit("one", "two")).await;
    assert_eq!(bench.seen.get(&path("/w/a")), None);
    bench.done("read", json!({"filePath": "a"})).await;
    bench.done("edit", edit("two", "three")).await;
    assert_eq!(bench.seen.get(&path("/w/a")), Some(ContentHash::of(b"three\nsecret\n")));
}

#[tokio::test]
async fn c30_a_line_typed_above_while_the_ask_is_open_survives() {
    let bench = Bench::new().rule("edit", "*", Verdict::Ask);
    bench.put("/w/a", "one\ntwo\n");
    let uri = bench.open("/w/a", 12, "one\ntwo\n");
    let (outcome, ()) = tokio::join!(bench.call("edit", edit("two", "TWO")), async {
        let ask = bench.client.next_ask().await;
        bench.editor.types(&uri, &Typing { at: 0, text: "zero\n" });
        ask.select(OptionKind::AllowOnce, None);
    });
    assert_eq!(outcome.result.status, ToolStatus::Completed, "{}", outcome.result.text);
    assert_eq!(bench.buffer("/w/a"), "zero\none\nTWO\n");
    assert_eq!(bench.editor.requests()[0].documents[0].version, 13);
}

#[tokio::test]
async fn what_the_user_typed_at_the_same_time_is_said() {
    let bench = Bench::new();
    bench.put("/w/a", "one\n");
    bench.open("/w/a", 1, "one\n");
    bench.editor.will(Act::ApplyAndType(Typing { at: 0, text: "typed\n" }));
    let text = bench.done("edit", edit("one", "two")).await;
    assert!(text.contains("The user changed the file at the same time"), "{text}");
    assert_eq!(bench.buffer("/w/a"), "typed\ntwo\n");
}

#[tokio::test]
async fn several_edits_of_one_file_in_one_step_build_on_each_other() {
    let bench = Bench::trusting();
    bench.put("/w/a", "one\n");
    let runner = bench.runner();
    let run = |id: &'static str, input: Value| runner.run(crate::workbench::call(id, "edit", &input.to_string()));
    let (first, second, third) = tokio::join!(
        run("call_1", edit("one", "two\nmore")),
        run("call_2", edit("more", "most")),
        run("call_3", edit("two", "three")),
    );
    for outcome in [first, second, third] {
        assert_eq!(outcome.result.status, ToolStatus::Completed, "{}", outcome.result.text);
    }
    assert_eq!(bench.text("/w/a"), "three\nmost\n");
}

#[tokio::test]
async fn c62_an_edit_through_a_link_out_of_the_workspace_is_asked() {
    let bench = Bench::trusting();
    bench.put("/tmp/outside/f", "one\n");
    bench.disk.put_link(&path("/w/a"), "/tmp/outside/f");
    let (outcome, ()) = tokio::join!(bench.call("edit", edit("one", "two")), async {
        let ask = bench.client.next_ask().await;
        assert!(ask.ask.reason.contains("/w/a is a link, its target is /tmp/outside/f"), "{}", ask.ask.reason);
        assert_eq!(bench.text("/tmp/outside/f"), "one\n");
        ask.select(OptionKind::RejectOnce, None);
    });
    assert_eq!(outcome.result.status, ToolStatus::Failed);
    assert_eq!(bench.text("/tmp/outside/f"), "one\n");
}
