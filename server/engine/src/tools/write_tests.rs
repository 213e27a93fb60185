use copydesk_workspace::disk::Disk as _;
use copydesk_workspace::encoding::{TextEncoding, encode};
use copydesk_workspace::hash::ContentHash;
use serde_json::json;

use crate::workbench::{Bench, path};

fn write(content: &str) -> serde_json::Value {
    json!({"filePath": "a", "content": content})
}

#[tokio::test]
async fn r6_4_what_the_model_has_not_seen_is_not_replaced_and_one_retry_suffices() {
    let bench = Bench::trusting();
    bench.put("/w/a", "one\ntwo\n");
    let text = bench.failed("write", write("new\n")).await;
    assert_eq!(
        text,
        "/w/a exists already, and you have not read it; nothing was written. Repeat the call if this is still to be replaced as a whole, or use `edit` for a part of it.\n\
         Its present text:\n<content>\n1: one\n2: two\n</content>\nAll of it: 2 lines."
    );
    assert_eq!(bench.text("/w/a"), "one\ntwo\n");
    let text = bench.done("write", write("new\n")).await;
    assert_eq!(text, "Changed a: 1 line added, 2 removed.");
    assert_eq!(bench.text("/w/a"), "new\n");
}

#[tokio::test]
async fn r6_4_a_change_by_others_is_noticed_by_content() {
    let bench = Bench::trusting();
    bench.put("/w/a", "one\n");
    bench.done("read", json!({"filePath": "a"})).await;
    bench.put("/w/a", "one, changed\n");
    let text = bench.failed("write", write("new\n")).await;
    assert!(text.contains("has changed since you last saw it") && text.contains("1: one, changed"), "{text}");
    bench.put("/w/a", "changed again\n");
    assert!(bench.failed("write", write("new\n")).await.contains("1: changed again"));
    bench.done("write", write("new\n")).await;
}

#[tokio::test]
async fn r6_4_unsaved_typing_counts_as_a_change() {
    let bench = Bench::trusting();
    bench.put("/w/a", "one\n");
    bench.done("read", json!({"filePath": "a"})).await;
    bench.open("/w/a", 4, "one\ntyped\n");
    let text = bench.failed("write", write("new\n")).await;
    assert!(text.contains("2: typed"), "{text}");
    assert_eq!((bench.buffer("/w/a").as_str(), bench.text("/w/a").as_str()), ("one\ntyped\n", "one\n"));
}

#[tokio::test]
async fn r6_4_a_long_text_must_be_read() {
    let bench = Bench::trusting();
    bench.put("/w/a", "a line of some length\n".repeat(5000));
    for _ in 0..2 {
        let text = bench.failed("write", write("new\n")).await;
        assert!(text.contains("Read the rest of it") && text.len() < 20_000, "{text}");
    }
    bench.done("read", json!({"filePath": "a"})).await;
    bench.done("write", write("new\n")).await;
}

#[tokio::test]
async fn c29_touching_or_reading_a_file_changes_nothing() {
    let bench = Bench::trusting();
    bench.put("/w/a", "one\n");
    bench.done("read", json!({"filePath": "a"})).await;
    // The same bytes again, as by `touch` or a rewrite.
    bench.put("/w/a", "one\n");
    bench.done("write", write("two\n")).await;
    bench.put("/w/a", "two\n");
    bench.done("write", write("three\n")).await;
}

#[tokio::test]
async fn r3_4_no_change_is_an_error() {
    let bench = Bench::trusting();
    bench.put("/w/a", "one\r\n");
    bench.done("read", json!({"filePath": "a"})).await;
    for same in ["one\r\n", "one\n"] {
        assert_eq!(bench.failed("write", write(same)).await, "/w/a has exactly this text already; nothing was changed");
    }
}

#[tokio::test]
async fn r1_2_encoding_and_line_endings_stay_those_of_the_file() {
    let cases = [
        ("one\r\ntwo\r\n", TextEncoding::Utf8, "1\n2\n", "1\r\n2\r\n"),
        ("one\r\ntwo\r\n", TextEncoding::Utf8Bom, "1\r\n2\n", "1\r\n2\r\n"),
        ("one\ntwo\n", TextEncoding::Utf16Le, "1\r\n2", "1\n2"),
        ("one\rtwo\r", TextEncoding::Utf8, "1\n2\n", "1\r2\r"),
        ("one", TextEncoding::Utf16Be, "\u{feff}1\r\n", "1\r\n"),
    ];
    for (old, encoding, content, new) in cases {
        let bench = Bench::trusting();
        bench.put("/w/a", encode(old, encoding));
        bench.done("read", json!({"filePath": "a"})).await;
        bench.done("write", write(content)).await;
        assert_eq!(bench.bytes("/w/a"), encode(new, encoding), "{old:?} {content:?}");
    }
}

#[tokio::test]
async fn c17_a_new_file_gets_its_text_as_given() {
    let bench = Bench::trusting();
    let text = bench.done("write", json!({"filePath": "x/y/a", "content": "one\ntwo"})).await;
    assert_eq!(
        (text.as_str(), bench.text("/w/x/y/a").as_str()),
        ("Created x/y/a: 2 lines added, 0 removed.", "one\ntwo")
    );
    assert_eq!(bench.seen.get(&path("/w/x/y/a")), Some(ContentHash::of(b"one\ntwo")));
    bench.done("write", json!({"filePath": "x/y/a", "content": "one\n"})).await;
}

/// Whatever is written can be read again, and is known as it was written.
#[tokio::test]
async fn r18_1_what_could_not_be_read_again_is_not_written() {
    for content in ["a\0b", "\u{feff}\u{feff}a", "\u{1}\u{2}\u{3}a"] {
        let bench = Bench::trusting();
        bench.put("/w/old", "one\n").open("/w/open", 1, "");
        bench.done("read", json!({"filePath": "old"})).await;
        for file in ["new", "old", "open"] {
            let text = bench.failed("write", json!({"filePath": file, "content": content})).await;
            assert!(text.contains("would be no text file"), "{content:?} {file}: {text}");
        }
        let input = json!({"filePath": "old", "oldString": "one\n", "newString": content});
        assert!(bench.failed("edit", input).await.contains("would be no text file"), "{content:?}");
        assert_eq!(bench.text("/w/old"), "one\n");
        assert!(bench.disk.read(&path("/w/new")).is_err());
    }
}

#[tokio::test]
async fn r18_1_a_byte_order_mark_of_a_new_file_is_kept_and_no_part_of_its_text() {
    let bench = Bench::trusting();
    bench.done("write", write("\u{feff}one\n")).await;
    assert_eq!(bench.bytes("/w/a"), b"\xef\xbb\xbfone\n");
    bench.done("write", write("two\n")).await;
    assert_eq!(bench.bytes("/w/a"), b"\xef\xbb\xbftwo\n");
}

#[tokio::test]
async fn folders_and_binaries_are_refused() {
    let bench = Bench::trusting();
    bench.put("/w/d/x", "x").put("/w/a", b"\x7fELF\0\0\0\0".as_slice());
    assert_eq!(
        bench.failed("write", json!({"filePath": "d", "content": "x"})).await,
        "/w/d is a folder; name a file in it."
    );
    let text = bench.failed("write", write("x")).await;
    assert!(text.contains("the file is binary. Nothing was written"), "{text}");
    assert!(bench.failed("write", json!({"filePath": " ", "content": "x"})).await.contains("`filePath` is empty"));
}

#[tokio::test]
async fn an_empty_file_can_be_filled_unseen() {
    let bench = Bench::trusting();
    bench.put("/w/a", "");
    bench.done("write", write("one\n")).await;
}
