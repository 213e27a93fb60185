//! Every encoding there and back, and what is refused.

#![allow(clippy::unwrap_used, reason = "tests")]

use proptest::prelude::*;

use super::*;

const ALL: [TextEncoding; 4] =
    [TextEncoding::Utf8, TextEncoding::Utf8Bom, TextEncoding::Utf16Le, TextEncoding::Utf16Be];

fn check_text(bytes: &[u8], encoding: TextEncoding, text: &str) {
    assert_eq!(decode(bytes), Ok((text.into(), encoding)));
    assert_eq!(sniff(&bytes[..bytes.len().min(8192)]), Ok(encoding));
    assert_eq!(encode(text, encoding), bytes);
}

fn check_refused(bytes: &[u8], error: DecodeError) {
    assert_eq!(decode(bytes), Err(error.clone()));
    assert_eq!(sniff(&bytes[..bytes.len().min(8192)]), Err(error));
}

#[test]
fn r18_1_byte_order_marks_and_line_endings_are_kept() {
    check_text(b"", TextEncoding::Utf8, "");
    check_text(b"a\r\nb\nc\rd", TextEncoding::Utf8, "a\r\nb\nc\rd");
    check_text(b"\xef\xbb\xbfa\r\n", TextEncoding::Utf8Bom, "a\r\n");
    check_text(b"\xef\xbb\xbf", TextEncoding::Utf8Bom, "");
    check_text(b"\xef\xbb\xbf\xef\xbb\xbfa", TextEncoding::Utf8Bom, "\u{feff}a");
    check_text(b"\xff\xfea\0\r\0\n\0", TextEncoding::Utf16Le, "a\r\n");
    check_text(b"\xfe\xff\0a\0\n", TextEncoding::Utf16Be, "a\n");
    check_text(b"\xff\xfe\x3d\xd8\x30\xdc", TextEncoding::Utf16Le, "\u{1F430}");
}

#[test]
fn c41_a_text_in_utf_8_with_characters_across_every_boundary_is_text() {
    for boundary in [1000, 4096, 8192] {
        for shift in 1..3 {
            let text = format!("{}{}", "x".repeat(boundary - shift), "汉字。\n".repeat(4000));
            check_text(text.as_bytes(), TextEncoding::Utf8, &text);
            assert_eq!(sniff(&text.as_bytes()[..boundary]), Ok(TextEncoding::Utf8));
        }
    }
}

#[test]
fn c41_b_utf_16_with_a_mark_is_text_wherever_it_is_cut() {
    let text = "let c = '🐰';\r\n汉字\r\n".repeat(300);
    for encoding in [TextEncoding::Utf16Le, TextEncoding::Utf16Be] {
        let bytes = encode(&text, encoding);
        check_text(&bytes, encoding, &text);
        for len in 2..80 {
            assert_eq!(sniff(&bytes[..len]), Ok(encoding), "{len}");
        }
    }
}

#[test]
fn c41_c_records_of_numbers_are_binary() {
    let mut state = 1_u32;
    let mut bytes: Vec<u8> = Vec::with_capacity(1 << 20);
    while bytes.len() < 1 << 20 {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        bytes.extend((state >> 8 & 0xffff).to_le_bytes().into_iter().take(2));
        if state >> 24 == 7 {
            bytes.extend(b"NAME");
        }
    }
    check_refused(&bytes, DecodeError::Binary);
    let without_nul: Vec<u8> = bytes.into_iter().filter(|byte| *byte != 0).collect();
    check_refused(&without_nul, DecodeError::Binary);
}

#[test]
fn c41_d_gbk_is_named_and_refused() {
    let (bytes, _, _) = encoding_rs::GBK.encode("// 这是一个测试文件\nlet x = 1; // 中文注释\n");
    check_refused(&bytes, DecodeError::Unsupported { guess: Some("GBK") });
    assert_eq!(decode(&bytes).unwrap_err().to_string(), "the file is not UTF-8 or UTF-16 (it may be GBK)");
}

#[test]
fn r18_1_what_cannot_be_written_back_is_refused() {
    let (bytes, _, _) = encoding_rs::WINDOWS_1252.encode("Grüße aus Köln, schöne Grüße\n");
    assert!(matches!(decode(&bytes), Err(DecodeError::Unsupported { guess: Some(_) })));
    assert_eq!(decode(b"\xff\xfea"), Err(DecodeError::Unsupported { guess: None }));
    assert_eq!(decode(b"\xff\xfe\x00\xd8a\0"), Err(DecodeError::Unsupported { guess: None }));
    check_refused(b"\xff\xfe\0\0a\0\0\0", DecodeError::Unsupported { guess: Some("UTF-32") });
    check_refused(b"a\0b", DecodeError::Binary);
    check_refused(b"\x7fELF\x02\x01\x01\x00", DecodeError::Binary);
    check_refused(b"\x01\x02\x03text", DecodeError::Binary);
    assert!(decode("汉".as_bytes().split_last().unwrap().1).is_err());
}

#[test]
fn escape_sequences_and_a_few_controls_are_text() {
    let log = "\u{1b}[31merror\u{1b}[0m: bell\u{7} here\u{c}\n";
    check_text(log.as_bytes(), TextEncoding::Utf8, log);
}

#[test]
fn new_lines_follow_the_majority() {
    for (text, ending) in [
        ("", LineEnding::Lf),
        ("a", LineEnding::Lf),
        ("a\nb", LineEnding::Lf),
        ("a\r\nb\r\nc\n", LineEnding::CrLf),
        ("a\r\nb\nc\n", LineEnding::Lf),
        ("a\rb\rc", LineEnding::Cr),
        ("a\r\r\nb", LineEnding::CrLf),
    ] {
        assert_eq!(dominant_line_ending(text), ending, "{text:?}");
    }
}

proptest! {
    #[test]
    fn r18_1_any_text_goes_to_bytes_and_back(text in "(?s)([a-z]|é|汉|🐰|\r|\n|\r\n|\t|\u{feff}){0,80}") {
        for encoding in ALL {
            let bytes = encode(&text, encoding);
            // Characters of each length fall on the borders of chunks.
            let long = text.repeat(100);
            prop_assert_eq!(encode_rope(&Rope::from_str(&long), encoding), encode(&long, encoding));
            // A mark at the start of a text without one is one of the file.
            if encoding == TextEncoding::Utf8 && text.starts_with('\u{feff}') {
                continue;
            }
            prop_assert_eq!(decode(&bytes), Ok((text.as_str().into(), encoding)));
        }
    }

    #[test]
    fn r18_1_any_bytes_are_refused_or_come_back_identical(bytes in proptest::collection::vec(any::<u8>(), 0..60), mark in 0_usize..4) {
        let marks: [&[u8]; 4] = [b"", UTF_8_MARK, UTF_16LE_MARK, UTF_16BE_MARK];
        let bytes = [marks[mark], &bytes].concat();
        let _ = sniff(&bytes);
        if let Ok((text, encoding)) = decode(&bytes) {
            prop_assert_eq!(encode(&text, encoding), bytes);
        }
    }
}
