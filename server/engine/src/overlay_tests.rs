use copydesk_workspace::change_log::Author;
use copydesk_workspace::document::{ContentChange, Document};
use copydesk_workspace::edit::{EditSet, TextEdit};
use copydesk_workspace::hash::ContentHash;
use copydesk_workspace::path::DocKey;
use copydesk_workspace::position::{Position, PositionEncoding};
use ropey::Rope;

use super::{Arrival, Overlay, Unsaved};
use crate::workbench::path;

const URI: &str = "file:///w/a";

fn key() -> DocKey {
    DocKey::from_real_path(path("/w/a"))
}

fn open(text: &str) -> Overlay {
    let overlay = Overlay::new();
    overlay.open(Document {
        uri: URI.to_owned(),
        key: key(),
        path: path("/w/a"),
        language: "text".to_owned(),
        version: 1,
        text: Rope::from(text),
        saved: ContentHash::of(text.as_bytes()),
    });
    overlay
}

/// Replaces columns of line 0.
fn change(overlay: &Overlay, version: i32, from: u32, to: u32, text: &str) {
    let at = |column| Position { line: 0, column };
    let change = ContentChange { range: Some((at(from), at(to))), text: text.to_owned() };
    overlay.change(URI, version, &[change], PositionEncoding::Utf16).unwrap();
}

fn edits(overlay: &Overlay, edits: &[(usize, usize, &str)]) -> EditSet {
    let edit = |(from, to, text): &(usize, usize, &str)| TextEdit { range: *from..*to, text: (*text).to_owned() };
    EditSet::new(&overlay.get(&key()).unwrap().text, edits.iter().map(edit).collect()).unwrap()
}

/// Who changed, into what.
fn log(overlay: &Overlay) -> Vec<String> {
    overlay.with_log(|log| {
        let line = |edit: &copydesk_workspace::change_log::LoggedEdit| {
            let texts: Vec<&str> = edit.edits.edits().iter().map(|edit| edit.text.as_str()).collect();
            match &edit.author {
                Author::User => format!("user {}", texts.join("|")),
                Author::Agent { label } => format!("{label} {}", texts.join("|")),
            }
        };
        log.of(&key()).map(line).collect()
    })
}

#[test]
fn an_edit_shown_piece_by_piece_is_the_agents_all_the_same() {
    for last_first in [true, false] {
        let overlay = open("one two three\n");
        let id = overlay.expect(&key(), edits(&overlay, &[(0, 3, "1"), (8, 13, "3")]), "agent".to_owned());
        if last_first {
            change(&overlay, 2, 8, 13, "3");
            assert_eq!(overlay.arrival(id), Arrival::Pending);
            change(&overlay, 3, 0, 3, "1");
        } else {
            change(&overlay, 2, 0, 3, "1");
            assert_eq!(overlay.arrival(id), Arrival::Pending);
            change(&overlay, 3, 6, 11, "3");
        }
        assert_eq!(overlay.arrival(id), Arrival::Arrived);
        assert_eq!(overlay.get(&key()).unwrap().text.to_string(), "1 two 3\n");
        assert!(log(&overlay).iter().all(|line| line.starts_with("agent")), "{:?}", log(&overlay));
    }
}

#[test]
fn typing_between_announcement_and_edit_moves_the_announcement() {
    let overlay = open("one two\n");
    let id = overlay.expect(&key(), edits(&overlay, &[(4, 7, "TWO")]), "agent".to_owned());
    change(&overlay, 2, 0, 0, "zero ");
    change(&overlay, 3, 9, 12, "TWO");
    assert_eq!(overlay.arrival(id), Arrival::Arrived);
    assert_eq!(log(&overlay), ["user zero ", "agent TWO"]);
}

#[test]
fn typing_over_the_place_loses_the_announcement() {
    let overlay = open("one two\n");
    let id = overlay.expect(&key(), edits(&overlay, &[(4, 7, "TWO")]), "agent".to_owned());
    change(&overlay, 2, 3, 7, "");
    assert_eq!(overlay.arrival(id), Arrival::Lost);
    assert_eq!(log(&overlay), ["user "]);
    overlay.forget(id);
    change(&overlay, 3, 0, 0, "TWO");
    assert_eq!(log(&overlay), ["user ", "user TWO"]);
}

#[test]
fn knows_who_left_a_document_unsaved() {
    let overlay = open("one\n");
    let unsaved = |overlay: &Overlay| overlay.unsaved().into_iter().map(|(_, by)| by).collect::<Vec<_>>();
    assert_eq!(unsaved(&overlay), []);
    overlay.expect(&key(), edits(&overlay, &[(0, 3, "1")]), "agent".to_owned());
    change(&overlay, 2, 0, 3, "1");
    assert_eq!(unsaved(&overlay), [Unsaved::AgentAlone]);
    change(&overlay, 3, 0, 0, "x");
    assert_eq!(unsaved(&overlay), [Unsaved::User]);
    overlay.saved(URI).unwrap();
    assert_eq!(unsaved(&overlay), []);
    overlay.expect(&key(), edits(&overlay, &[(0, 1, "")]), "agent".to_owned());
    change(&overlay, 4, 0, 1, "");
    assert_eq!(unsaved(&overlay), [Unsaved::AgentAlone]);
}

#[tokio::test]
async fn whoever_waits_is_woken_by_every_change() {
    let overlay = open("one\n");
    let mut watch = overlay.watch();
    watch.mark_unchanged();
    change(&overlay, 2, 0, 0, "x");
    watch.changed().await.unwrap();
    overlay.close(URI);
    watch.changed().await.unwrap();
    assert!(overlay.all().is_empty());
}
