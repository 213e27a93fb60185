//! Positions against the examples of the field and against a model that knows nothing of ropes.

use proptest::prelude::*;

use super::*;

const ALL: [PositionEncoding; 3] = [PositionEncoding::Utf8, PositionEncoding::Utf16, PositionEncoding::Utf32];

/// Of each line: its start and its end before the line break, in bytes.
fn model_lines(text: &str) -> Vec<(usize, usize)> {
    let mut lines = Vec::new();
    let mut start = 0;
    let mut at = 0;
    while at < text.len() {
        let len = if text[at..].starts_with("\r\n") {
            2
        } else if text[at..].starts_with(['\r', '\n']) {
            1
        } else {
            at += text[at..].chars().next().map_or(1, char::len_utf8);
            continue;
        };
        lines.push((start, at));
        at += len;
        start = at;
    }
    lines.push((start, text.len()));
    lines
}

fn units(char: char, encoding: PositionEncoding) -> usize {
    match encoding {
        PositionEncoding::Utf8 => char.len_utf8(),
        PositionEncoding::Utf16 => char.len_utf16(),
        PositionEncoding::Utf32 => 1,
    }
}

fn model_offset(text: &str, position: Position, encoding: PositionEncoding) -> usize {
    let Some(&(start, end)) = model_lines(text).get(position.line as usize) else { return text.len() };
    let mut left = position.column as usize;
    let mut at = start;
    for char in text[start..end].chars() {
        if units(char, encoding) > left {
            break;
        }
        left -= units(char, encoding);
        at += char.len_utf8();
    }
    at
}

fn check(text: &str, line: u32, column: u32, encoding: PositionEncoding, offset: usize) {
    assert_eq!(
        offset_of(&Rope::from_str(text), Position { line, column }, encoding),
        offset,
        "{line}:{column} {encoding:?}"
    );
}

const RABBIT: &str = "let c = '\u{1F430}'; // é x\nnext";

#[test]
fn c37_utf_16_columns() {
    let rabbit = 9;
    check(RABBIT, 0, 9, PositionEncoding::Utf16, rabbit);
    check(RABBIT, 0, 10, PositionEncoding::Utf16, rabbit);
    check(RABBIT, 0, 11, PositionEncoding::Utf16, rabbit + 4);
    check(RABBIT, 0, 17, PositionEncoding::Utf16, RABBIT.find('é').unwrap_or_default());
    check(RABBIT, 0, 9999, PositionEncoding::Utf16, RABBIT.find('\n').unwrap_or_default());
    check(RABBIT, 0, u32::MAX, PositionEncoding::Utf16, RABBIT.find('\n').unwrap_or_default());
    check(RABBIT, 7, 3, PositionEncoding::Utf16, RABBIT.len());
}

#[test]
fn c38_utf_8_columns_are_bytes() {
    let rope = Rope::from_str(RABBIT);
    for (offset, char) in RABBIT.char_indices().filter(|(_, char)| *char != '\n').take(18) {
        let position = position_of(&rope, offset, PositionEncoding::Utf8);
        assert_eq!(position, Position { line: 0, column: u32::try_from(offset).unwrap_or_default() }, "{char}");
        check(RABBIT, 0, position.column, PositionEncoding::Utf8, offset);
    }
    check(RABBIT, 0, 11, PositionEncoding::Utf8, 9);
}

#[test]
fn c05_a_place_after_an_astral_character_is_found_in_every_unit() {
    let text = "# Log\n\n- \u{2714} built\n- \u{1F680} shipped\n";
    let shipped = text.find("shipped").unwrap_or_default();
    let rope = Rope::from_str(text);
    let columns = ALL.map(|encoding| {
        let position = position_of(&rope, shipped, encoding);
        assert_eq!(offset_of(&rope, position, encoding), shipped);
        (position.line, position.column)
    });
    assert_eq!(columns, [(3, 7), (3, 5), (3, 4)]);
}

#[test]
fn only_the_line_breaks_of_lsp_end_lines() {
    let text = "a\u{2028}b\u{85}c\u{b}d\u{c}e\rf\r\ng\nh";
    let rope = Rope::from_str(text);
    assert_eq!(position_of(&rope, text.len(), PositionEncoding::Utf16), Position { line: 3, column: 1 });
    assert_eq!(
        offset_of(&rope, Position { line: 1, column: 0 }, PositionEncoding::Utf16),
        text.find('f').unwrap_or_default()
    );
}

#[test]
fn an_offset_inside_a_line_break_is_the_end_of_the_line() {
    let rope = Rope::from_str("ab\r\nc");
    assert_eq!(position_of(&rope, 3, PositionEncoding::Utf8), Position { line: 0, column: 2 });
    assert_eq!(position_of(&rope, 99, PositionEncoding::Utf8), Position { line: 1, column: 1 });
}

proptest! {
    #[test]
    fn positions_are_those_of_the_model(text in "([a-c]|é|🐰|\u{2028}|\r|\n|\r\n){0,60}", line in 0_u32..12, column in 0_u32..20) {
        let rope = Rope::from_str(&text);
        for encoding in ALL {
            let position = Position { line, column };
            prop_assert_eq!(offset_of(&rope, position, encoding), model_offset(&text, position, encoding));
        }
    }

    #[test]
    fn an_offset_outside_of_line_breaks_goes_to_a_position_and_back(text in "([a-c]|é|🐰|\r|\n|\r\n){0,60}", at in any::<prop::sample::Index>()) {
        let rope = Rope::from_str(&text);
        let offsets: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()])
            .filter(|at| *at == 0 || !(text[..*at].ends_with('\r') && text[*at..].starts_with('\n'))).collect();
        let offset = offsets[at.index(offsets.len())];
        for encoding in ALL {
            prop_assert_eq!(offset_of(&rope, position_of(&rope, offset, encoding), encoding), offset);
        }
    }

    #[test]
    fn no_offset_panics(text in "([a-c]|é|🐰|\r|\n){0,20}", offset in 0_usize..100) {
        let rope = Rope::from_str(&text);
        for encoding in ALL {
            let _ = position_of(&rope, offset, encoding);
        }
    }
}
