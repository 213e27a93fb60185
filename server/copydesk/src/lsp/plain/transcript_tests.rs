use proptest::prelude::*;

use super::*;

fn guard_pieces(pieces: &[&str]) -> String {
    let mut guard = Guard::default();
    let mut out: String = pieces.iter().map(|piece| guard.push(piece)).collect();
    out.push_str(&guard.finish());
    out
}

#[test]
fn text_is_never_taken_for_the_heading_of_the_prompt() {
    assert_eq!(guard_pieces(&["## Pro", "mpt", "\nmore"]), "\\## Prompt\nmore");
    assert_eq!(guard_pieces(&["## Prompt"]), "\\## Prompt");
    assert_eq!(guard_pieces(&["## Prompt", "ly\n"]), "## Promptly\n");
    assert_eq!(guard_pieces(&["a ", "## Prompt\n"]), "a ## Prompt\n");
    assert_eq!(guard_pieces(&["a\n## Prompt  \r\n"]), "a\n\\## Prompt  \r\n");
}

proptest! {
    #[test]
    fn the_guard_adds_nothing_but_escapes_however_the_text_is_cut(
        pieces in proptest::collection::vec("(## Prompt|## |Pro|mpt|[a\n \r]){0,4}", 0..8)
    ) {
        let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
        let whole = pieces.concat();
        let out = guard_pieces(&pieces);
        prop_assert!(out.lines().all(|line| line.trim_end() != PROMPT_HEADING), "{:?}", out);
        prop_assert_eq!(out.replace("\\## Prompt", "## Prompt"), whole);
    }
}
