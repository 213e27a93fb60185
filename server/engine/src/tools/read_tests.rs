use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use copydesk_workspace::disk::{DirEntry, DiskError, Expected, Stat};
use copydesk_workspace::encoding::{TextEncoding, encode};
use copydesk_workspace::hash::ContentHash;
use copydesk_workspace::path::AbsPath;
use serde_json::json;

use crate::ports::{BoxFuture, Files};
use crate::workbench::{Bench, path};

async fn check(bytes: impl Into<Vec<u8>>, input: serde_json::Value, expected: &str) {
    let bench = Bench::new();
    bench.put("/w/a", bytes);
    let mut input = input;
    input["filePath"] = json!("a");
    let text = bench.done("read", input).await;
    let shown = text.strip_prefix("<path>/w/a</path>\n<type>file</type>\n<content>\n").unwrap();
    assert_eq!(shown.replace("</content>\n", "--\n"), expected);
}

#[tokio::test]
async fn r1_4_tabs_stay_and_the_gutter_is_unambiguous() {
    check("func f() {\n\tif ok: 1 {\n}\n", json!({}), "1: func f() {\n2: \tif ok: 1 {\n3: }\n--\nAll of it: 3 lines.")
        .await;
    check("7: x\n", json!({}), "1: 7: x\n--\nAll of it: 1 line.").await;
}

#[tokio::test]
async fn pages_and_says_how_to_go_on() {
    let text = "a\nb\nc\nd\n";
    check(text, json!({"limit": 2}), "1: a\n2: b\n--\nLines 1 to 2 of 4; next: offset=3").await;
    check(text, json!({"offset": 3}), "3: c\n4: d\n--\nLines 3 to 4, the end.").await;
    check(
        "a\r\nb\r\n",
        json!({}),
        "1: a\n2: b\n--\nAll of it: 2 lines. Lines end in CRLF; `edit` and `write` keep that.",
    )
    .await;
    check("a\rb", json!({}), "1: a\n2: b\n--\nAll of it: 2 lines. The last line has no line break.").await;
    check("", json!({}), "--\nThe file is empty.").await;
}

#[tokio::test]
async fn an_offset_behind_the_end_is_an_error() {
    let bench = Bench::new();
    bench.put("/w/a", "x\ny\n");
    let text = bench.failed("read", json!({"filePath": "a", "offset": 3})).await;
    assert_eq!(text, "/w/a has 2 lines; offset=3 is behind its end");
    let text = bench.failed("read", json!({"filePath": "a", "column": 2})).await;
    assert_eq!(text, "/w/a has 1 character in line 1; column=2 is behind its end");
    let huge = json!({"filePath": "a", "offset": u64::MAX, "limit": u64::MAX, "column": u64::MAX});
    assert!(bench.failed("read", huge).await.contains("is behind its end"));
}

#[tokio::test]
async fn stops_at_the_byte_limit_between_lines() {
    let bench = Bench::new();
    bench.put("/w/a", format!("{}\n", "x".repeat(999)).repeat(100));
    let text = bench.done("read", json!({"filePath": "a"})).await;
    assert!(text.len() <= 51_200);
    assert!(text.ends_with("Lines 1 to 49 of 100 (at most 50176 bytes a call); next: offset=50"), "{text}");
}

/// Goes on as each answer says, until the end; gives the text that was shown.
async fn read_through(bench: &Bench) -> String {
    let mut input = json!({"filePath": "a"});
    let mut all = String::new();
    for _ in 0..10 {
        let text = bench.done("read", input.clone()).await;
        let body = text.split_once("<content>\n").unwrap().1;
        let line = body.lines().next().unwrap().strip_prefix("1: ").unwrap();
        assert!(!line.is_empty());
        all.push_str(line);
        let Some((_, next)) = body.split_once("next: offset=1 column=") else { return all };
        let column: usize = next.split_once(' ').unwrap().0.parse().unwrap();
        input = json!({"filePath": "a", "offset": 1, "limit": 1, "column": column});
    }
    panic!("did not come to an end");
}

#[tokio::test]
async fn c42_one_huge_line_comes_in_bounded_slices() {
    let bench = Bench::new();
    let line = format!("[{}]", "\"é漢\",".repeat(20_000));
    bench.put("/w/a", line.clone());
    assert_eq!(read_through(&bench).await, line);
}

#[tokio::test]
async fn c42_a_line_of_5_mb_is_bounded_at_its_start_and_can_be_read_to_its_end() {
    let bench = Bench::new();
    let line = "abcdefghi,".repeat(500_000);
    bench.put("/w/a", line);
    let text = bench.done("read", json!({"filePath": "a"})).await;
    assert!(text.len() <= 51_200 && text.contains("\n1: abcdefghi,"), "{} bytes", text.len());
    assert!(text.contains("of 5000000 are shown; next: offset=1 column=50177 limit=1]"));
    let text = bench.done("read", json!({"filePath": "a", "column": 4_999_991})).await;
    assert!(text.contains("<content>\n1: abcdefghi,\n</content>\nAll of it: 1 line."), "{text}");
}

#[tokio::test]
async fn c42_a_long_line_among_others_is_cut_and_can_be_gone_into() {
    let line = "y".repeat(5000);
    let text = format!("a\n{line}\nb\n");
    let shown = format!(
        "1: a\n2: {}\n[line 2 goes on: characters 1 to 2000 of 5000 are shown; next: offset=2 column=2001 limit=1]\n3: b\n--\nAll of it: 3 lines.",
        &line[..2000]
    );
    check(text.clone(), json!({}), &shown).await;
    let rest = format!("2: {}\n--\nLines 2 to 2 of 3; next: offset=3", &line[2000..]);
    check(text, json!({"offset": 2, "column": 2001, "limit": 1}), &rest).await;
}

#[tokio::test]
async fn c41_text_is_told_from_binary() {
    for pad in [999, 1000, 4095, 8190, 8191] {
        let text = format!("{}漢字\n", "x".repeat(pad));
        let bench = Bench::new();
        bench.put("/w/a", text);
        let shown = bench.done("read", json!({"filePath": "a", "limit": 1})).await;
        assert!(shown.contains("漢字"), "{pad}");
    }
    check(encode("día\nß\n", TextEncoding::Utf16Le), json!({}), "1: día\n2: ß\n--\nAll of it: 2 lines.").await;

    let bench = Bench::new();
    bench.put("/w/gbk", [b"\xc4\xe3\xba\xc3\xa3\xac\xca\xc0\xbd\xe7\xa1\xa3\n".as_slice(); 40].concat());
    let text = bench.failed("read", json!({"filePath": "gbk"})).await;
    assert!(text.contains("not UTF-8 or UTF-16 (it may be GB"), "{text}");
}

/// Fails the test when a file is loaded whole.
struct HeadsOnly {
    files: Arc<dyn Files>,
    read: AtomicUsize,
}

impl Files for HeadsOnly {
    fn read(&self, path: AbsPath) -> BoxFuture<'_, Result<Vec<u8>, DiskError>> {
        panic!("{path} was loaded whole")
    }
    fn read_range(&self, path: AbsPath, offset: u64, len: usize) -> BoxFuture<'_, Result<Vec<u8>, DiskError>> {
        self.read.fetch_add(len, Ordering::SeqCst);
        self.files.read_range(path, offset, len)
    }
    fn stat(&self, path: AbsPath) -> BoxFuture<'_, Result<Stat, DiskError>> {
        self.files.stat(path)
    }
    fn list(&self, folder: AbsPath) -> BoxFuture<'_, Result<Vec<DirEntry>, DiskError>> {
        self.files.list(folder)
    }
    fn read_real(&self, real: AbsPath) -> BoxFuture<'_, Result<Vec<u8>, DiskError>> {
        self.read(real)
    }
    fn hash_real(&self, real: AbsPath) -> BoxFuture<'_, Result<ContentHash, DiskError>> {
        panic!("{real} was read whole")
    }
    fn holds_real(&self, real: AbsPath, _: Bytes) -> BoxFuture<'_, Result<bool, DiskError>> {
        panic!("{real} was read whole")
    }
    fn read_range_real(&self, real: AbsPath, offset: u64, len: usize) -> BoxFuture<'_, Result<Vec<u8>, DiskError>> {
        self.read_range(real, offset, len)
    }
    fn list_real(&self, real: AbsPath) -> BoxFuture<'_, Result<Vec<DirEntry>, DiskError>> {
        self.files.list_real(real)
    }
    fn real_path(&self, path: AbsPath) -> BoxFuture<'_, Result<AbsPath, DiskError>> {
        self.files.real_path(path)
    }
    fn write(&self, path: AbsPath, bytes: Vec<u8>, expected: Expected) -> BoxFuture<'_, Result<(), DiskError>> {
        self.files.write(path, bytes, expected)
    }
    fn create_real(&self, real: AbsPath, bytes: Vec<u8>, mode: u32) -> BoxFuture<'_, Result<(), DiskError>> {
        self.files.create_real(real, bytes, mode)
    }
    fn set_mode_real(&self, real: AbsPath, mode: u32) -> BoxFuture<'_, Result<(), DiskError>> {
        self.files.set_mode_real(real, mode)
    }
    fn remove_folder_real(&self, real: AbsPath) -> BoxFuture<'_, Result<(), DiskError>> {
        self.files.remove_folder_real(real)
    }
    fn remove(&self, path: AbsPath, expected: ContentHash) -> BoxFuture<'_, Result<(), DiskError>> {
        self.files.remove(path, expected)
    }
    fn remove_real(&self, real: AbsPath, expected: ContentHash) -> BoxFuture<'_, Result<(), DiskError>> {
        self.files.remove_real(real, expected)
    }
    fn rename_real(&self, from: AbsPath, to: AbsPath, expected: ContentHash) -> BoxFuture<'_, Result<(), DiskError>> {
        self.files.rename_real(from, to, expected)
    }
}

#[tokio::test]
async fn c41_a_large_binary_is_never_loaded_whole() {
    let mut bench = Bench::new();
    let records: Vec<u8> = (0..500_000_u32).flat_map(|n| ((n * 37) as u16).to_le_bytes()).collect();
    bench.put("/w/a", records);
    let files = Arc::new(HeadsOnly { files: bench.files.clone(), read: AtomicUsize::new(0) });
    bench.files = files.clone();
    let text = bench.failed("read", json!({"filePath": "a"})).await;
    assert!(text.contains("the file is binary (1000000 bytes). It is not shown"), "{text}");
    assert!(files.read.load(Ordering::SeqCst) <= 16384);
}

#[tokio::test]
async fn a_missing_file_is_told_with_its_neighbours() {
    let bench = Bench::new();
    for name in ["main.rs", "Main.java", "lib.rs", "zz"] {
        bench.put(&format!("/w/src/{name}"), "x");
    }
    let text = bench.failed("read", json!({"filePath": "src/mian.rs"})).await;
    assert_eq!(text, "/w/src/mian.rs does not exist. Did you mean:\n/w/src/main.rs");
    let text = bench.failed("read", json!({"filePath": "src/quite-other"})).await;
    assert_eq!(text, "/w/src/quite-other does not exist.");
    // Two letters that changed places are one mistake.
    let text = bench.failed("read", json!({"filePath": "scr"})).await;
    assert_eq!(text, "/w/scr does not exist. Did you mean:\n/w/src");
    let text = bench.failed("read", json!({"filePath": "srv/main.rs"})).await;
    assert_eq!(text, "/w/srv/main.rs does not exist. Its folder /w/srv does not exist either.");
}

#[tokio::test]
async fn r18_3_a_name_with_brackets_is_a_name() {
    let bench = Bench::new();
    bench.put("/w/app/[slug]/page {a,b}*.tsx", "literal\n").put("/w/app/s/page a.tsx", "by glob\n");
    for name in ["app/[slug]/page {a,b}*.tsx", "/w/app/[slug]/page {a,b}*.tsx"] {
        let text = bench.done("read", json!({ "filePath": name })).await;
        assert!(text.contains("1: literal\n"), "{text}");
    }
    let text = bench.failed("read", json!({"filePath": "app/*/page a.tsx"})).await;
    assert!(text.starts_with("/w/app/*/page a.tsx does not exist."), "{text}");
}

#[tokio::test]
async fn lists_folders_in_pieces() {
    let bench = Bench::new();
    bench.put("/w/d/b.txt", "x").put("/w/d/a/c", "x").put("/w/d/z", "x");
    let text = bench.done("read", json!({"filePath": "d"})).await;
    assert_eq!(
        text,
        "<path>/w/d</path>\n<type>directory</type>\n<entries>\na/\nb.txt\nz\n</entries>\nAll of it: 3 entries."
    );
    let text = bench.done("read", json!({"filePath": "d", "offset": 2, "limit": 1})).await;
    assert!(text.ends_with("<entries>\nb.txt\n</entries>\nEntries 2 to 2 of 3; next: offset=3"), "{text}");
}

#[tokio::test]
async fn c25_read_shows_the_buffer_not_the_disk() {
    let bench = Bench::new();
    bench.put("/w/a", "one\n");
    bench.open("/w/a", 7, "one\ntwo\n");
    let text = bench.done("read", json!({"filePath": "a"})).await;
    assert!(text.contains("1: one\n2: two\n") && text.ends_with("This is the editor's text, saved or not."), "{text}");
    assert_eq!(bench.seen.get(&path("/w/a")), Some(ContentHash::of(b"one\ntwo\n")));
}

#[tokio::test]
async fn r1_4_a_name_with_a_line_break_is_one_entry_of_a_folder() {
    let bench = Bench::new();
    bench.put("/w/d/a\n.env", "x").put("/w/d/b", "x");
    let text = bench.done("read", json!({ "filePath": "d" })).await;
    assert!(text.contains("<entries>\n\"a\\n.env\"\nb\n</entries>"), "{text}");
}
