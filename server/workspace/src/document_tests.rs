//! Documents follow their editor, whatever it sends.

#![allow(clippy::unwrap_used, reason = "tests")]

use proptest::prelude::*;

use super::*;

const URI: &str = "file:///w/a%20b.rs";

fn path(text: &str) -> AbsPath {
    AbsPath::new(text).unwrap()
}

fn document(uri: &str, key: &str, text: &str) -> Document {
    Document {
        uri: uri.to_owned(),
        key: DocKey::from_real_path(path(key)),
        path: path(key),
        language: "rust".into(),
        version: 1,
        text: Rope::from_str(text),
        saved: ContentHash::of(text.as_bytes()),
    }
}

fn opened(text: &str) -> Documents {
    let mut documents = Documents::default();
    documents.open(document(URI, "/w/a b.rs", text));
    documents
}

fn change(from: (u32, u32), to: (u32, u32), text: &str) -> ContentChange {
    let position = |(line, column)| Position { line, column };
    ContentChange { range: Some((position(from), position(to))), text: text.into() }
}

fn whole(text: &str) -> ContentChange {
    ContentChange { range: None, text: text.into() }
}

fn check(before: &str, changes: &[ContentChange], encoding: PositionEncoding, after: &str) {
    let mut documents = opened(before);
    let found = documents.change(URI, 2, changes, encoding).unwrap();
    assert_eq!(found.after.to_string(), after);
    assert_eq!(found.edits.apply(&found.before).unwrap(), found.after);
    let document = documents.by_uri(URI).unwrap();
    assert_eq!((document.text.to_string(), document.version), (after.to_owned(), 2));
}

#[test]
fn c37_changes_around_an_astral_character_in_utf_16() {
    let line = "let c = '\u{1F430}'; // é x";
    check(
        line,
        &[
            change((0, 11), (0, 11), "b"),
            change((0, 9), (0, 9), "a"),
            change((0, 19), (0, 400), "y"),
            change((9, 0), (9, 9), "\nend"),
        ],
        PositionEncoding::Utf16,
        "let c = 'a\u{1F430}b'; // y\nend",
    );
    check(line, &[change((0, 10), (0, 11), "x")], PositionEncoding::Utf16, "let c = 'x'; // é x");
}

#[test]
fn c38_changes_in_utf_8_columns() {
    let line = "let c = '\u{1F430}'; // é x";
    check(
        line,
        &[change((0, 9), (0, 13), "r"), change((0, 16), (0, 18), "e")],
        PositionEncoding::Utf8,
        "let c = 'r'; // e x",
    );
    check(line, &[change((0, 13), (0, 13), "b")], PositionEncoding::Utf8, "let c = '\u{1F430}b'; // é x");
    check(line, &[change((0, 10), (0, 10), "b")], PositionEncoding::Utf32, "let c = '\u{1F430}b'; // é x");
}

#[test]
fn a_reversed_range_is_turned_round() {
    check("abcd", &[change((0, 3), (0, 1), "x")], PositionEncoding::Utf16, "axd");
}

#[test]
fn whole_texts_and_ranges_mix_and_are_booked_as_what_they_changed() {
    let mut documents = opened("one\ntwo\n");
    let changes = [whole("one\n2\n"), change((0, 0), (1, 0), "uno\n")];
    let found = documents.change(URI, 5, &changes, PositionEncoding::Utf16).unwrap();
    assert_eq!(found.after.to_string(), "uno\n2\n");
    let ranges: Vec<_> = found.edits.edits().iter().map(|edit| edit.range.clone()).collect();
    assert_eq!(ranges, [0..3, 4..7]);
    let nothing = documents.change(URI, 6, &[], PositionEncoding::Utf16).unwrap();
    assert!(nothing.edits.is_empty());
}

#[test]
fn a_version_that_does_not_grow_changes_nothing() {
    let mut documents = opened("a");
    for found in [1, 0, -3] {
        let error = DocumentError::OldVersion { uri: URI.into(), have: 1, found };
        assert_eq!(documents.change(URI, found, &[whole("b")], PositionEncoding::Utf16).unwrap_err(), error);
    }
    assert_eq!(documents.by_uri(URI).unwrap().text.to_string(), "a");
    let other = "file:///w/other.rs";
    assert_eq!(
        documents.change(other, 9, &[], PositionEncoding::Utf16).unwrap_err(),
        DocumentError::NotOpen(other.into())
    );
}

#[test]
fn r18_2_every_spelling_of_the_uri_is_the_same_document() {
    let mut documents = opened("a");
    for (version, uri) in
        [(2, "file:///w/a b.rs"), (3, "FILE://localhost/w/%61%20b.rs"), (4, "file:///w/x/../a%20b.rs")]
    {
        documents.change(uri, version, &[whole(uri)], PositionEncoding::Utf16).unwrap();
        assert_eq!(documents.by_uri(URI).unwrap().text.to_string(), uri);
    }
    assert_eq!(documents.by_uri(URI).unwrap().uri, URI);
    assert_eq!(documents.close("file:///w/a b.rs").unwrap().version, 4);
    assert!(documents.by_uri(URI).is_none());
}

/// An editor that has a file open by its own name and by a link's keeps two texts with versions of their own.
#[test]
fn r18_2_a_file_that_is_open_by_two_names_is_the_text_that_was_changed_last() {
    let link = "file:///w/link.rs";
    let key = DocKey::from_real_path(path("/w/a b.rs"));
    let mut documents = opened("target");
    documents.open(Document { version: 1, ..document(link, "/w/a b.rs", "link") });
    assert_eq!(documents.get(&key).unwrap().uri, link, "opened last");
    documents.change(URI, 8, &[change((0, 0), (0, 0), "typed ")], PositionEncoding::Utf16).unwrap();
    assert_eq!(documents.get(&key).unwrap().text.to_string(), "typed target");
    documents.change(link, 2, &[change((0, 4), (0, 4), " too")], PositionEncoding::Utf16).unwrap();
    assert_eq!(documents.get(&key).unwrap().text.to_string(), "link too");
    assert_eq!(documents.by_uri(URI).unwrap().text.to_string(), "typed target");
    assert!(documents.close(link).is_some());
    assert_eq!(documents.get(&key).unwrap().text.to_string(), "typed target", "still open by its own name");
    documents.open(document(link, "/w/a b.rs", "target"));
    assert_eq!(documents.get(&key).unwrap().uri, URI, "its text is not saved");
    assert!(documents.close(URI).is_some() && documents.close(link).is_some());
    assert!(documents.get(&key).is_none() && documents.close(link).is_none());
}

#[test]
fn what_is_no_file_is_known_by_its_uri() {
    let mut documents = Documents::default();
    documents.open(document("untitled:Untitled-1", "/w/Untitled-1", "a"));
    documents.change("untitled:Untitled-1", 2, &[whole("b")], PositionEncoding::Utf16).unwrap();
    assert!(documents.by_uri("untitled:Untitled-2").is_none());
    assert!(documents.close("untitled:Untitled-1").is_some());
}

#[test]
fn c25_a_document_is_dirty_while_it_differs_from_its_last_save() {
    let mut documents = Documents::default();
    documents.open(Document { saved: ContentHash::of(b"one\n"), ..document(URI, "/w/a b.rs", "one\ntwo\n") });
    assert!(documents.by_uri(URI).unwrap().is_dirty());
    documents.change(URI, 8, &[change((0, 0), (0, 3), "ONE")], PositionEncoding::Utf16).unwrap();
    assert!(documents.by_uri(URI).unwrap().is_dirty());
    documents.saved(URI).unwrap();
    assert!(!documents.by_uri(URI).unwrap().is_dirty());
    documents.change(URI, 9, &[change((0, 0), (0, 3), "one")], PositionEncoding::Utf16).unwrap();
    documents.change(URI, 10, &[change((0, 0), (0, 3), "ONE")], PositionEncoding::Utf16).unwrap();
    assert!(!documents.by_uri(URI).unwrap().is_dirty());
    assert_eq!(documents.saved("file:///x"), Err(DocumentError::NotOpen("file:///x".into())));
}

#[test]
fn ten_thousand_changes_of_one_notification_are_one_edit() {
    let mut documents = opened(&"line of text\n".repeat(80_000));
    let changes: Vec<_> = (0..10_000).rev().map(|line| change((line * 8, 0), (line * 8, 4), "LINE")).collect();
    let found = documents.change(URI, 2, &changes, PositionEncoding::Utf16).unwrap();
    assert_eq!(found.edits.edits().len(), 10_000);
    assert_eq!(found.edits.apply(&found.before).unwrap(), found.after);
}

proptest! {
    #[test]
    fn any_changes_leave_text_and_edit_in_step(
        text in "([a-c]|é|🐰|\r|\n|\r\n){0,40}",
        changes in prop::collection::vec(((0_u32..8, 0_u32..9), (0_u32..8, 0_u32..9), "([xy]|ü|🦊|\r|\n|\r\n){0,6}", 0..9), 0..8),
        encoding in prop::sample::select(vec![PositionEncoding::Utf8, PositionEncoding::Utf16, PositionEncoding::Utf32]),
    ) {
        let changes: Vec<_> = changes.into_iter().map(|(from, to, text, kind)| if kind == 0 { whole(&text) } else { change(from, to, &text) }).collect();
        let mut documents = opened(&text);
        let found = documents.change(URI, 2, &changes, encoding).unwrap();
        prop_assert_eq!(found.edits.apply(&found.before).unwrap(), found.after.clone());
        // The same by plain strings.
        let mut model = text;
        for change in &changes {
            match change.range {
                None => model.clone_from(&change.text),
                Some((from, to)) => {
                    let rope = Rope::from_str(&model);
                    let (a, b) = (offset_of(&rope, from, encoding), offset_of(&rope, to, encoding));
                    model.replace_range(a.min(b)..a.max(b), &change.text);
                }
            }
        }
        prop_assert_eq!(found.after.to_string(), model);
    }
}
