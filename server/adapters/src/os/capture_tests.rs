#![expect(clippy::unwrap_used, reason = "a test may panic")]

use super::*;

async fn capture(pieces: impl IntoIterator<Item = &[u8]>) -> (CapturedOutput, Option<String>) {
    let temp = tempfile::tempdir().unwrap();
    let overflow = AbsPath::new(temp.path().join("made/only/then.txt")).unwrap();
    let mut capture = Capture::new(overflow.clone());
    for piece in pieces {
        capture.push(piece).await;
    }
    let output = capture.finish().await;
    let file = std::fs::read_to_string(overflow.as_path()).ok();
    assert_eq!(output.file.is_some(), file.is_some());
    (output, file)
}

#[tokio::test]
async fn r7_4_what_fits_is_kept_whole_without_a_file() {
    let text = "x".repeat(HEAD.bytes + TAIL.bytes);
    let (output, file) = capture([&text.as_bytes()[..70], &text.as_bytes()[70..]]).await;
    assert_eq!(output, CapturedOutput { head: text, ..CapturedOutput::default() });
    assert_eq!(file, None);
}

#[tokio::test]
async fn r7_4_head_and_tail_with_counts_and_all_in_the_file() {
    let check = async |text: String, step: usize| {
        let (output, file) = capture(text.as_bytes().chunks(step)).await;
        let CapturedOutput { head, tail, omitted_bytes, omitted_lines, .. } = output;
        assert!(text.starts_with(&head) && text.ends_with(&tail));
        let omitted = &text[head.len()..text.len() - tail.len()];
        assert_eq!((omitted_bytes, omitted_lines), (omitted.len() as u64, lines(omitted) as u64));
        assert!(head.len() <= HEAD.bytes && lines(&head) <= HEAD.lines && tail.len() <= TAIL.bytes);
        assert!(lines(&tail) <= TAIL.lines && tail.len() >= TAIL.bytes.min(TAIL.lines * 2) / 2);
        assert_eq!(file.as_deref(), Some(text.as_str()));
        (head, tail)
    };
    // Many short lines, ordinary lines, one line without end, characters of several bytes.
    let (head, tail) = check("1\n".repeat(5000), 999).await;
    assert_eq!((lines(&head), lines(&tail)), (HEAD.lines, TAIL.lines));
    let numbered: String = (0..20_000).map(|number| format!("line {number}\n")).collect();
    let (head, tail) = check(numbered, 4096).await;
    assert!(head.ends_with('\n') && tail.starts_with("line ") && tail.ends_with("line 19999\n"));
    check("y".repeat(300_000), 65_536).await;
    check("é€😀".repeat(40_000), 1001).await;
    check(format!("{}\nend", "z".repeat(100_000)), 100_000).await;
}

#[tokio::test]
async fn r7_4_bad_utf8_is_replaced_also_across_reads() {
    let check = async |pieces: &[&[u8]], expected: &str| {
        let (output, _) = capture(pieces.iter().copied()).await;
        assert_eq!(output.head, expected, "{pieces:?}");
    };
    check(&[b"a\xffb"], "a\u{FFFD}b").await;
    check(&["é".as_bytes()], "é").await;
    check(&[b"\xf0\x9f", b"\x98", b"\x80!"], "😀!").await;
    check(&[b"\xf0\x9f", b"x"], "\u{FFFD}x").await;
    check(&[b"cut \xe2\x82"], "cut \u{FFFD}").await;
}

#[tokio::test]
async fn an_overflow_file_that_cannot_be_made_costs_only_the_file() {
    let mut capture = Capture::new(AbsPath::new("/proc/no/such/place").unwrap());
    capture.push("x".repeat(100_000).as_bytes()).await;
    let output = capture.finish().await;
    assert_eq!(output.file, None);
    assert_eq!(output.omitted_bytes as usize, 100_000 - output.head.len() - output.tail.len());
}
