//! Files above what is loaded, on a disk that makes their bytes as they are read.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use copydesk_workspace::disk::{DirEntry, Disk, DiskError, Expected, FileKind, MemoryDisk, Stamp, Stat};
use copydesk_workspace::hash::ContentHash;
use copydesk_workspace::path::AbsPath;
use serde_json::json;

use crate::testing::DiskFiles;
use crate::workbench::Bench;

/// `/w/a` holds `piece` over and over, `len` bytes in all.
struct Endless {
    disk: Arc<MemoryDisk>,
    piece: Vec<u8>,
    len: u64,
    read: AtomicU64,
}

impl Endless {
    fn bytes(&self, offset: u64, len: usize) -> Vec<u8> {
        let len = self.len.saturating_sub(offset).min(len as u64) as usize;
        self.read.fetch_add(len as u64, Ordering::SeqCst);
        let skip = (offset % self.piece.len() as u64) as usize;
        self.piece.repeat(len / self.piece.len() + 2)[skip..skip + len].to_vec()
    }
}

impl Disk for Endless {
    fn read(&self, path: &AbsPath) -> Result<Vec<u8>, DiskError> {
        panic!("{path} is loaded whole")
    }

    fn read_range(&self, _: &AbsPath, offset: u64, len: usize) -> Result<Vec<u8>, DiskError> {
        Ok(self.bytes(offset, len))
    }

    fn stat(&self, path: &AbsPath) -> Result<Stat, DiskError> {
        if path.name() == "a" {
            return Ok(Stat { kind: FileKind::File, len: self.len, stamp: Stamp::default(), mode: None });
        }
        self.disk.stat(path)
    }

    fn list(&self, folder: &AbsPath) -> Result<Vec<DirEntry>, DiskError> {
        self.disk.list(folder)
    }

    fn real_path(&self, path: &AbsPath) -> Result<AbsPath, DiskError> {
        self.disk.real_path(path)
    }

    fn write(&self, path: &AbsPath, bytes: &[u8], expected: Expected) -> Result<(), DiskError> {
        self.disk.write(path, bytes, expected)
    }

    fn create_real(&self, real: &AbsPath, bytes: &[u8], mode: u32) -> Result<(), DiskError> {
        self.disk.create_real(real, bytes, mode)
    }

    fn set_mode_real(&self, real: &AbsPath, mode: u32) -> Result<(), DiskError> {
        self.disk.set_mode_real(real, mode)
    }

    fn remove_folder_real(&self, real: &AbsPath) -> Result<(), DiskError> {
        self.disk.remove_folder_real(real)
    }

    fn remove(&self, path: &AbsPath, expected: ContentHash) -> Result<(), DiskError> {
        self.disk.remove(path, expected)
    }

    fn rename_real(&self, from: &AbsPath, to: &AbsPath, expected: ContentHash) -> Result<(), DiskError> {
        self.disk.rename_real(from, to, expected)
    }
}

const LEN: u64 = 1 << 30;

fn endless(piece: &[u8], len: u64) -> (Bench, Arc<Endless>) {
    let mut bench = Bench::trusting();
    let disk = Arc::new(Endless { disk: bench.disk.clone(), piece: piece.to_vec(), len, read: AtomicU64::new(0) });
    bench.files = DiskFiles::new(disk.clone());
    (bench, disk)
}

/// What stands between the tags, `--`, and the last line.
async fn check(piece: &[u8], input: serde_json::Value, expected: &str) {
    let (bench, _) = endless(piece, LEN);
    let mut input = input;
    input["filePath"] = json!("a");
    let text = bench.done("read", input).await;
    let (_, body) = text.split_once("<content>\n").unwrap();
    assert_eq!(body.replace("</content>\n", "--\n"), expected);
    assert!(text.len() <= 51_200, "{} bytes", text.len());
}

const NEXT: &str = "`grep` finds the numbers of lines in it.";

#[tokio::test]
async fn c41_r10_1_a_part_of_a_huge_text_is_shown_and_nothing_behind_it_is_read() {
    let (bench, disk) = endless(b"one line of a log\n", LEN);
    let text = bench.done("read", json!({"filePath": "a", "offset": 1000, "limit": 2})).await;
    assert_eq!(
        text,
        format!(
            "<path>/w/a</path>\n<type>file</type>\n<content>\n1000: one line of a log\n1001: one line of a log\n</content>\nLines 1000 to 1001 of a file of {LEN} bytes, whose lines are not all counted; next: offset=1002. {NEXT}"
        )
    );
    assert!(disk.read.load(Ordering::SeqCst) < 3 << 20);
    let text = bench.done("read", json!({"filePath": "a"})).await;
    assert!(text.len() <= 51_200 && text.contains("\n2000: one line of a log\n"), "{} bytes", text.len());
}

#[tokio::test]
async fn r1_1_lines_of_a_huge_text_are_counted_as_those_of_others() {
    let more = |next: usize| {
        format!(" of a file of {LEN} bytes, whose lines are not all counted; next: offset={next}. {NEXT}")
    };
    // A break of two bytes stands across the end of each piece that is read, sooner or later.
    for (piece, line) in [(b"1\r\n".as_slice(), "1"), (b"one\r\n", "one"), (b"1\r", "1"), (b"a\tb\n", "a\tb")] {
        let shown = format!("1500000: {line}\n--\nLines 1500000 to 1500000{}", more(1_500_001));
        check(piece, json!({"offset": 1_500_000, "limit": 1}), &shown).await;
    }
    check(b"x\r\r\n", json!({"offset": 3, "limit": 2}), &format!("3: x\n4: \n--\nLines 3 to 4{}", more(5))).await;
}

#[tokio::test]
async fn c42_a_huge_line_comes_in_bounded_slices() {
    let (bench, _) = endless("\u{e9}abc".as_bytes(), LEN);
    let text = bench.done("read", json!({"filePath": "a"})).await;
    assert!(text.len() <= 51_200 && text.contains("\n1: \u{e9}abc\u{e9}abc"), "{} bytes", text.len());
    assert!(text.contains("[line 1 goes on: characters 1 to 2000 are shown; next: offset=1 column=2001 limit=1]"));
    let text = bench.done("read", json!({"filePath": "a", "offset": 1, "column": 2001, "limit": 1})).await;
    assert!(text.contains("\n1: \u{e9}abc"), "{}", &text[..200]);
    let next = text.split_once("next: offset=1 column=").unwrap().1.split_once(' ').unwrap().0;
    assert!(next.parse::<usize>().unwrap() > 40_000, "as much as fits: {next}");
}

#[tokio::test]
async fn an_end_that_is_not_reached_is_told() {
    let len = (64 << 20) + 9;
    let (bench, _) = endless(b"12345678\n", len);
    let lines = usize::try_from(len / 9).unwrap();
    let text = bench.done("read", json!({"filePath": "a", "offset": lines})).await;
    let rest = "12345678\n".len() as u64 * lines as u64;
    let last = if rest == len { lines } else { lines + 1 };
    assert!(text.ends_with(&format!("Lines {lines} to {last}, the end.")), "{text}");
    for offset in [last + 1, last + 2] {
        let text = bench.failed("read", json!({"filePath": "a", "offset": offset})).await;
        assert_eq!(text, format!("/w/a has {last} lines; offset={offset} is behind its end"));
    }
    let text = bench.failed("read", json!({"filePath": "a", "offset": 2, "column": 10})).await;
    assert_eq!(text, "/w/a has 8 characters in line 2; column=10 is behind its end");
}

#[tokio::test]
async fn what_is_no_utf_8_is_told_and_not_shown() {
    let piece = [b"x".repeat(20_000).as_slice(), b"\n\xff\xfe\n"].concat();
    let (bench, _) = endless(&piece, LEN);
    let text = bench.failed("read", json!({"filePath": "a", "offset": 2, "limit": 1})).await;
    assert!(text.starts_with("/w/a is no UTF-8 text around line 2."), "{text}");
    let (bench, _) = endless(b"\0\x01", LEN);
    let text = bench.failed("read", json!({"filePath": "a"})).await;
    assert!(text.contains("the file is binary"), "{text}");
}
