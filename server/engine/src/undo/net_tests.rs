//! Which changes are one, and which turns are in force.

use copydesk_workspace::hash::ContentHash;

use super::*;
use crate::ids::Millis;
use crate::workbench::path;

fn content(text: &str) -> Option<FileContent> {
    let hash = ContentHash::of(text.as_bytes());
    (!text.is_empty()).then_some(FileContent { hash, len: 1, encoding: None, mode: None, is_kept: true })
}

/// From path and content to path and content; without a content there is no file.
fn change(id: i64, from: &str, before: &str, to: &str, after: &str) -> Change {
    Change {
        id: ChangeId(id),
        turn: MessageId::new(format!("msg_{id}")),
        call: None,
        at: Millis(0),
        by: By::Agent,
        path: path(from),
        moved_to: (from != to).then(|| path(to)),
        made_folder: None,
        before: content(before),
        after: content(after),
    }
}

/// Groups of `from>to ids`.
#[track_caller]
fn check(changes: &[Change], expected: &[&[&str]]) {
    let shown: Vec<Vec<String>> = groups(changes.iter())
        .iter()
        .map(|group| {
            let net = |net: &Net| {
                let ids: Vec<_> = net.ids.iter().map(|id| id.0.to_string()).collect();
                format!("{}>{} {}", net.from, net.to, ids.join(","))
            };
            group.iter().map(net).collect()
        })
        .collect();
    assert_eq!(shown, expected);
}

#[test]
fn r5_1_chains_without_a_change_in_between_are_one() {
    check(&[change(1, "/a", "x", "/a", "y"), change(2, "/a", "y", "/a", "z")], &[&["/a>/a 1,2"]]);
    check(&[change(1, "/a", "x", "/a", "y"), change(2, "/a", "typed", "/a", "z")], &[&["/a>/a 1", "/a>/a 2"]]);
    check(&[change(1, "/a", "x", "/a", "y"), change(2, "/b", "v", "/b", "z")], &[&["/a>/a 1"], &["/b>/b 2"]]);
    check(&[change(1, "/a", "x", "/a", "y"), change(2, "/b", "y", "/b", "z")], &[&["/a>/a 1", "/b>/b 2"]]);
    // Made and removed again.
    check(&[change(1, "/a", "", "/a", "y"), change(2, "/a", "y", "/a", "")], &[&["/a>/a 1,2"]]);
}

#[test]
fn c33_a_file_is_followed_through_its_names() {
    check(
        &[change(1, "/a", "x", "/a", "y"), change(2, "/a", "y", "/b", "y"), change(3, "/b", "y", "/c", "z")],
        &[&["/a>/c 1,2,3"]],
    );
    // What took the old name is another file.
    check(
        &[change(1, "/a", "x", "/b", "x"), change(2, "/a", "", "/a", "new"), change(3, "/b", "x", "/b", "y")],
        &[&["/a>/b 1,3", "/a>/a 2"]],
    );
    // The new name was taken in between: the order counts.
    check(
        &[change(1, "/a", "x", "/a", "y"), change(2, "/b", "old", "/b", ""), change(3, "/a", "y", "/b", "y")],
        &[&["/a>/a 1", "/b>/b 2", "/a>/b 3"]],
    );
}

#[test]
fn c33_what_went_and_came_again_hangs_together_and_what_came_goes_first() {
    check(
        &[change(1, "/a", "x", "/a", ""), change(2, "/b", "", "/b", "x"), change(3, "/c", "", "/c", "x")],
        &[&["/a>/a 1", "/b>/b 2", "/c>/c 3"]],
    );
    check(&[change(1, "/a", "", "/a", "x"), change(2, "/b", "", "/b", "x")], &[&["/a>/a 1"], &["/b>/b 2"]]);
    // What was overwritten went as well, and what it was overwritten with came.
    check(&[change(1, "/a", "x", "/a", "y"), change(2, "/b", "", "/b", "x")], &[&["/a>/a 1", "/b>/b 2"]]);
    check(&[change(1, "/a", "x", "/a", "y"), change(2, "/b", "y", "/b", "")], &[&["/a>/a 1", "/b>/b 2"]]);
    check(&[change(1, "/a", "x", "/a", "y"), change(2, "/b", "x", "/b", "y")], &[&["/a>/a 1"], &["/b>/b 2"]]);
    // A file gave way to a folder, and a folder to a file.
    check(&[change(1, "/a", "x", "/a", ""), change(2, "/a/b", "", "/a/b", "y")], &[&["/a/b>/a/b 2"], &["/a>/a 1"]]);
    check(&[change(1, "/a/b", "x", "/a/b", ""), change(2, "/a", "", "/a", "y")], &[&["/a>/a 2"], &["/a/b>/a/b 1"]]);
}

#[test]
fn r5_3_an_edit_in_the_editor_hides_no_mode() {
    let with = |content: Option<FileContent>, mode| content.map(|content| FileContent { mode, ..content });
    let moded = |change: Change, before, after| Change {
        before: with(change.before, before),
        after: with(change.after, after),
        ..change
    };
    let edit = |id| moded(change(id, "/a", "x", "/a", "x"), None, None);
    let chmod = moded(change(2, "/a", "x", "/a", "x"), Some(0o644), Some(0o755));
    for changes in [[edit(1), chmod.clone()], [chmod, edit(3)]] {
        let net = groups(changes.iter()).remove(0).remove(0);
        let mode = |content: Option<FileContent>| content.and_then(|content| content.mode);
        assert_eq!((mode(net.before), mode(net.after)), (Some(0o644), Some(0o755)), "{net:?}");
    }
}

#[test]
fn r5_3_an_undo_of_an_undo_puts_a_turn_in_force_again() {
    let undo = |id: i64, of: &[i64]| Change {
        by: By::Undo { of: of.iter().copied().map(ChangeId).collect() },
        ..change(id, "/a", "y", "/a", "x")
    };
    let mut changes = vec![change(1, "/a", "x", "/a", "y"), change(2, "/b", "x", "/b", "y")];
    let shown = |changes: &[Change]| {
        let turns: Vec<_> = turns_in_force(changes).iter().map(|turn| turn.as_str().replace("msg_", "")).collect();
        (turns.join(","), newest_undo(changes).map(|undo| undo.as_str().replace("msg_", "")))
    };
    assert_eq!(shown(&changes), ("2,1".to_owned(), None));
    changes.push(undo(3, &[2]));
    assert_eq!(shown(&changes), ("1".to_owned(), Some("3".to_owned())));
    changes.push(undo(4, &[1]));
    assert_eq!(shown(&changes), (String::new(), Some("4".to_owned())));
    changes.push(undo(5, &[4]));
    assert_eq!(shown(&changes), ("1".to_owned(), Some("3".to_owned())));
    changes.push(undo(6, &[3]));
    assert_eq!(shown(&changes), ("2,1".to_owned(), None));
}
