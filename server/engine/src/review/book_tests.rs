//! Rows of changes, replayed: what becomes of files as a whole, of decisions, and of what the user did in between.

use std::collections::BTreeMap;
use std::sync::Arc;

use copydesk_workspace::path::AbsPath;
use copydesk_workspace::review::{HunkId, HunkState};
use ropey::Rope;

use super::ChangedKind;
use super::book::{Book, Contents};
use super::file::{FileReview, Side, Undoing};
use crate::ids::{MessageId, Millis};
use crate::ports::{By, Change, ChangeId, FileContent, NewContent};

const BINARY: &[u8] = &[0, 159, 146, 150];

/// A session whose rows are written by the test.
#[derive(Default)]
struct Rows {
    rows: Vec<Change>,
    contents: Contents,
}

fn path(name: &str) -> AbsPath {
    AbsPath::new(format!("/w/{name}")).unwrap()
}

fn text(text: &str) -> Side {
    Side::Text(Rope::from_str(text))
}

impl Rows {
    fn add(&mut self, by: By, name: &str, before: Option<&[u8]>, after: Option<&[u8]>) -> &mut Change {
        let id = ChangeId(self.rows.len() as i64 + 1);
        let [before, after] = [before, after].map(|bytes| {
            let NewContent { hash, len, bytes, encoding, mode } = NewContent::new(bytes?.to_vec(), None);
            self.contents.extend(bytes.map(|bytes| (hash, bytes.to_vec())));
            Some(FileContent { hash, len, encoding, mode, is_kept: true })
        });
        let turn = MessageId::new(format!("msg_{}", id.0));
        let row = Change {
            id,
            turn,
            call: None,
            at: Millis(0),
            by,
            path: path(name),
            moved_to: None,
            made_folder: None,
            before,
            after,
        };
        self.rows.push(row);
        self.rows.last_mut().unwrap()
    }

    fn edit(&mut self, name: &str, before: &str, after: &str) -> &mut Change {
        self.add(By::Agent, name, Some(before.as_bytes()), Some(after.as_bytes()))
    }

    fn book(&self) -> Book {
        let mut book = Book::default();
        for row in &self.rows {
            book.add(row, &self.contents);
        }
        book
    }

    /// The file that stands at `name`, or stood there last.
    fn file(&self, name: &str) -> FileReview {
        let book = self.book();
        let filed = book.files().iter().rfind(|filed| *filed.file.path() == path(name)).unwrap();
        FileReview::clone(&filed.file)
    }
}

/// Undecided hunks `id old>new`, others by their state, with `/` for line breaks.
fn shown(file: &FileReview) -> Vec<String> {
    let line = |text: &str| text.replace('\n', "/");
    let show = |state: HunkState, old: &str, new: &str| match state {
        HunkState::Undecided => format!("{}>{}", line(old), line(new)),
        other => format!("{other:?} {}>{}", line(old), line(new)),
    };
    file.hunks().iter().map(|hunk| show(hunk.state, &hunk.old, &hunk.new)).collect()
}

fn first(file: &FileReview) -> HunkId {
    file.hunks().iter().find(|hunk| hunk.state == HunkState::Undecided).unwrap().id
}

fn undoing(file: &FileReview, ids: &[HunkId]) -> Vec<String> {
    let steps = file.undoing(&ids.iter().copied().collect()).into_iter().map(|(_, undoing)| match undoing {
        Undoing::Edit(edits) => {
            let Side::Text(now) = file.now() else { panic!("an edit of no text") };
            format!("edit {}", edits.apply(&now).unwrap().to_string().replace('\n', "/"))
        }
        Undoing::Remove => "remove".to_owned(),
        Undoing::Restore { text, stored } => format!(
            "restore {} {}",
            text.map_or_else(|| "bytes".to_owned(), |text| text.to_string().replace('\n', "/")),
            stored.map_or(0, |stored| stored.len)
        ),
        Undoing::MoveBack { to } => format!("move to {to}"),
    });
    steps.collect()
}

/// Whoever still has the book that it goes on from sees it as it was.
#[test]
fn r10_1_a_further_row_copies_only_the_file_that_it_is_of() {
    let mut rows = Rows::default();
    rows.edit("a", "1\n", "2\n");
    rows.edit("b", "1\n", "2\n");
    let before = rows.book();
    let mut after = before.clone();
    after.add(&rows.edit("b", "2\n", "3\n").clone(), &rows.contents);
    let same = |index: usize| Arc::ptr_eq(&before.files()[index].file, &after.files()[index].file);
    assert_eq!((same(0), same(1)), (true, false));
    let [old, new] = [&before, &after].map(|book| shown(&book.files()[1].file));
    assert_eq!((old, new), (vec!["1/>2/".to_owned()], vec!["1/>3/".to_owned()]));
}

#[test]
fn what_the_user_typed_between_two_rows_is_in_the_base() {
    let mut rows = Rows::default();
    rows.edit("a", "1\n2\n3\n", "1\nB\n3\n");
    rows.edit("a", "typed\n1\nB\n3\n", "typed\n1\nB\nC\n");
    let file = rows.file("a");
    assert_eq!(shown(&file), ["2/3/>B/C/"]);
    assert_eq!(file.texts().0.to_string(), "typed\n1\n2\n3\n");
    assert_eq!(file.kind(), ChangedKind::Modified);
}

#[test]
fn a_created_file_is_removed_with_its_last_lines() {
    let mut rows = Rows::default();
    rows.add(By::Agent, "n", None, Some(b"1\n2\n"));
    let mut file = rows.file("n");
    assert_eq!((shown(&file), file.kind()), (vec![">1/2/".to_owned()], ChangedKind::Created));
    assert_eq!(undoing(&file, &[first(&file)]), ["remove"]);
    file.user(&text("1\n2\nmine\n"));
    let id = first(&file);
    assert_eq!(undoing(&file, &[id]), ["edit mine/"]);
    assert!(file.reject(id));
    assert_eq!((file.now(), file.kind()), (text("mine\n"), ChangedKind::Created));
}

#[test]
fn a_created_file_that_was_accepted_is_never_removed() {
    let mut rows = Rows::default();
    rows.add(By::Agent, "n", None, Some(b"1\nx\n2\n"));
    let mut file = rows.file("n");
    file.user(&text("1\nmine\n2\n"));
    let id = first(&file);
    assert!(file.accept(id));
    let id = first(&file);
    assert_eq!(undoing(&file, &[id]), ["edit 1/mine/"]);
}

#[test]
fn an_empty_file_that_was_created_is_one_hunk() {
    let mut rows = Rows::default();
    rows.add(By::Agent, "n", None, Some(b""));
    let mut file = rows.file("n");
    let id = first(&file);
    assert_eq!(undoing(&file, &[id]), ["remove"]);
    assert!(file.reject(id));
    assert_eq!((file.now(), shown(&file)), (Side::Absent, vec!["Rejected >".to_owned()]));
}

#[test]
fn a_deletion_is_one_hunk_and_its_rejection_restores_the_file() {
    let mut rows = Rows::default();
    rows.add(By::Agent, "o", Some(b"1\n2\n"), None);
    let mut file = rows.file("o");
    assert_eq!((shown(&file), file.kind()), (vec!["1/2/>".to_owned()], ChangedKind::Deleted));
    let id = first(&file);
    assert_eq!(undoing(&file, &[id]), ["restore 1/2/ 4"]);
    assert!(file.reject(id));
    assert_eq!(file.now(), text("1\n2\n"));
}

#[test]
fn a_file_that_the_user_made_in_the_place_of_a_deleted_one_is_his() {
    let mut rows = Rows::default();
    rows.add(By::Agent, "o", Some(b"1\n"), None);
    let mut file = rows.file("o");
    file.user(&text("mine\n"));
    assert_eq!(shown(&file), ["Outdated 1/>"]);
}

#[test]
fn a_deletion_takes_the_hunks_of_the_lines_with_it() {
    let mut rows = Rows::default();
    rows.edit("o", "1\n2\n", "1\nB\n");
    rows.add(By::Agent, "o", Some(b"1\nB\n"), None);
    let file = rows.file("o");
    assert_eq!(shown(&file), ["1/2/>"]);
    assert_eq!(file.hunks()[0].changes, [1, 2]);
}

#[test]
fn what_the_agent_made_and_deleted_is_nothing() {
    let mut rows = Rows::default();
    rows.add(By::Agent, "n", None, Some(b"1\n"));
    rows.add(By::Command, "n", Some(b"1\n"), None);
    assert_eq!(shown(&rows.file("n")), Vec::<String>::new());
}

#[test]
fn a_deleted_file_that_comes_back_is_compared_by_its_lines() {
    let mut rows = Rows::default();
    rows.add(By::Agent, "o", Some(b"1\n2\n"), None);
    rows.add(By::Agent, "o", None, Some(b"1\nB\n"));
    let file = rows.file("o");
    assert_eq!((shown(&file), file.kind()), (vec!["2/>B/".to_owned()], ChangedKind::Modified));
}

#[test]
fn a_file_that_is_no_text_is_one_hunk() {
    let mut rows = Rows::default();
    rows.add(By::Command, "b", Some(BINARY), Some(&[0, 1]));
    let mut file = rows.file("b");
    assert!(file.is_binary());
    let id = first(&file);
    assert_eq!(undoing(&file, &[id]), ["restore bytes 4"]);
    assert!(file.accept(id));
    assert_eq!(shown(&file), ["Accepted >"]);
    rows.add(By::Command, "b", Some(&[0, 1]), Some(BINARY));
    assert_eq!(shown(&rows.file("b")), Vec::<String>::new(), "it is what it was");
}

#[test]
fn a_move_is_a_hunk_beside_those_of_the_lines() {
    let mut rows = Rows::default();
    rows.edit("p", "1\n2\n", "1\nB\n").moved_to = Some(path("q"));
    let mut file = rows.file("q");
    assert_eq!(file.kind(), ChangedKind::Moved { from: path("p") });
    assert_eq!(shown(&file), [">", "2/>B/"]);
    let ids: Vec<HunkId> = file.hunks().iter().map(|hunk| hunk.id).collect();
    assert_eq!(undoing(&file, &ids), ["edit 1/2/", "move to /w/p"]);
    assert!(file.reject(ids[0]));
    assert_eq!((file.path(), file.kind()), (&path("p"), ChangedKind::Modified));
    let mut file = rows.file("q");
    assert!(file.accept(ids[0]));
    assert_eq!(undoing(&file, &ids), ["edit 1/2/"]);
}

#[test]
fn another_file_in_its_place_makes_a_deletion_outdated() {
    let mut rows = Rows::default();
    rows.add(By::Agent, "q", Some(b"old\n"), None);
    rows.edit("p", "1\n", "1\n").moved_to = Some(path("q"));
    let book = rows.book();
    let states: Vec<_> = book.files().iter().map(|filed| shown(&filed.file)).collect();
    assert_eq!(states, [vec!["Outdated old/>".to_owned()], vec![">".to_owned()]]);
}

#[test]
fn decisions_are_replayed_on_the_text_that_they_were_made_on() {
    let mut rows = Rows::default();
    rows.add(By::Agent, "n", Some(b"a\n"), Some(b"a\n1\n2\n3\n"));
    let mut seen = rows.file("n");
    seen.user(&text("a\n1\nmine\n2\n3\n"));
    // The second part has its id from a text that stands in no row but that of the decision.
    let second = seen.hunks()[1].id;
    let now = b"a\n1\nmine\n2\n3\n";
    rows.add(By::Reject { hunks: vec![second] }, "n", Some(now), Some(b"a\n1\nmine\n"));
    let file = rows.file("n");
    assert_eq!(shown(&file), [">1/", "Rejected >2/3/"]);
    rows.add(By::Accept { hunks: vec![first(&file)] }, "n", Some(b"a\n1\nmine\n"), Some(b"a\n1\nmine\n"));
    let file = rows.file("n");
    assert_eq!(shown(&file), ["Accepted >1/", "Rejected >2/3/"]);
    assert_eq!(file.texts().0.to_string(), "a\n1\nmine\n");
}

#[test]
fn what_was_undone_is_gone_and_comes_back_with_its_turn() {
    let mut rows = Rows::default();
    rows.edit("a", "1\n2\n", "1\nB\n");
    rows.add(By::Undo { of: vec![ChangeId(1)] }, "a", Some(b"1\nB\n"), Some(b"1\n2\n"));
    assert_eq!(shown(&rows.file("a")), Vec::<String>::new());
    rows.add(By::Undo { of: vec![ChangeId(2)] }, "a", Some(b"1\n2\n"), Some(b"1\nB\n"));
    let (book, file) = (rows.book(), rows.file("a"));
    assert_eq!(shown(&file), ["2/>B/"]);
    let change = file.hunks()[0].changes[0];
    assert_eq!(book.turn(change), Some(&MessageId::new("msg_1")));
}

#[test]
fn an_undone_creation_is_gone() {
    let mut rows = Rows::default();
    rows.add(By::Agent, "n", None, Some(b"1\n"));
    rows.add(By::Undo { of: vec![ChangeId(1)] }, "n", Some(b"1\n"), None);
    assert_eq!(shown(&rows.file("n")), Vec::<String>::new());
    rows.add(By::Undo { of: vec![ChangeId(2)] }, "n", None, Some(b"1\n"));
    let file = rows.file("n");
    assert_eq!((shown(&file), undoing(&file, &[first(&file)])), (vec![">1/".to_owned()], vec!["remove".to_owned()]));
}

#[test]
fn c34_what_is_not_kept_is_not_offered() {
    let mut rows = Rows::default();
    rows.edit("a", "1\n2\n", "1\nB\n");
    rows.contents = BTreeMap::new();
    rows.edit("a", "1\nB\n", "1\nB\nC\n");
    rows.contents.remove(&rows.rows[0].before.unwrap().hash);
    let file = rows.file("a");
    assert_eq!(shown(&file), [">C/"]);
    assert_eq!(undoing(&file, &[first(&file)]), ["edit 1/B/"]);
}

#[test]
fn rows_that_were_taken_back_make_the_book_anew() {
    let mut rows = Rows::default();
    rows.edit("a", "1\n", "2\n");
    let book = rows.book();
    rows.edit("b", "1\n", "2\n");
    assert_eq!(book.news(&rows.rows).map(<[Change]>::len), Some(1));
    assert_eq!(book.news(&rows.rows[1..]).map(<[Change]>::len), None);
    assert_eq!(book.news(&[]).map(<[Change]>::len), None);
}

#[test]
fn c31_an_edit_that_never_happened_is_no_change() {
    let mut rows = Rows::default();
    rows.edit("a", "1\n2\n", "1\nB\n");
    let mut file = rows.file("a");
    // The daemon died between the row and the write.
    file.user(&text("1\n2\n"));
    assert_eq!(shown(&file), Vec::<String>::new());
    rows.add(By::Agent, "n", None, Some(b"1\n"));
    let mut file = rows.file("n");
    file.user(&Side::Absent);
    assert_eq!(shown(&file), Vec::<String>::new());
}
