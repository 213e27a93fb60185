//! Diffs of stored changes.

use std::collections::BTreeMap;

use super::*;
use copydesk_workspace::document::Document;
use copydesk_workspace::path::DocKey;

use crate::ids::Millis;
use crate::ports::{BoxFuture, ChangeId, NewChange, NewContent};
use crate::testing::{FakeModel, World};
use crate::view::View;

/// Changes of one session, as a store has them.
#[derive(Default)]
struct Stored {
    rows: Vec<Change>,
    contents: BTreeMap<ContentHash, Vec<u8>>,
}

impl Stored {
    fn edit(&mut self, turn: &str, path: &str, before: Option<&[u8]>, after: Option<&[u8]>) -> &mut Change {
        let [before, after] = [before, after].map(|bytes| bytes.map(|bytes| NewContent::new(bytes.to_vec(), None)));
        for content in [&before, &after].into_iter().flatten() {
            self.contents.insert(content.hash, content.bytes.clone().unwrap().to_vec());
        }
        let content = |content: NewContent| {
            let NewContent { hash, len, encoding, mode, .. } = content;
            FileContent { hash, len, encoding, mode, is_kept: true }
        };
        self.rows.push(Change {
            id: ChangeId(self.rows.len() as i64 + 1),
            turn: MessageId::new(turn),
            call: None,
            at: Millis(0),
            by: By::Agent,
            path: at(path),
            moved_to: None,
            made_folder: None,
            before: before.map(content),
            after: after.map(content),
        });
        self.rows.last_mut().unwrap()
    }

    fn text(&mut self, turn: &str, path: &str, before: &str, after: &str) -> &mut Change {
        self.edit(turn, path, Some(before.as_bytes()), Some(after.as_bytes()))
    }

    async fn diff(&self, scope: ChangesScope) -> Result<String, DiffError> {
        let shown = stored(self, &SessionId::new("ses_1"), &scope, &at("/p")).await?;
        assert_eq!(shown.paths.len(), shown.diff.files.len());
        Ok(shown.diff.patch())
    }

    async fn turn(&self, turn: &str) -> String {
        self.diff(ChangesScope::Turn(MessageId::new(turn))).await.unwrap()
    }
}

impl Changes for Stored {
    fn record(&self, _: SessionId, _: Vec<NewChange>, _: u64) -> BoxFuture<'_, Result<Vec<ChangeId>, StoreError>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    fn void(&self, _: SessionId, _: Vec<ChangeId>) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async { Ok(()) })
    }

    fn list(&self, _: SessionId) -> BoxFuture<'_, Result<Vec<Change>, StoreError>> {
        Box::pin(async { Ok(self.rows.clone()) })
    }

    fn content(&self, _: SessionId, hash: ContentHash) -> BoxFuture<'_, Result<Option<Vec<u8>>, StoreError>> {
        Box::pin(async move { Ok(self.contents.get(&hash).cloned()) })
    }
}

fn at(path: &str) -> AbsPath {
    AbsPath::new(if path.starts_with('/') { path.to_owned() } else { format!("/p/{path}") }).unwrap()
}

#[tokio::test]
async fn edits_of_a_turn_are_one_diff_and_those_of_others_are_not_in_it() {
    let mut stored = Stored::default();
    stored.text("msg_1", "a.txt", "1\n2\n3\n", "one\n2\n3\n");
    stored.text("msg_2", "a.txt", "one\n2\n3\n", "one\n2\nx\n");
    stored.text("msg_2", "a.txt", "one\n2\nx\n", "one\n2\nthree\n");
    stored.edit("msg_2", "/elsewhere/b.txt", None, Some(b"b\n"));
    insta::assert_snapshot!(stored.turn("msg_2").await, @r"
    diff --git a//elsewhere/b.txt b//elsewhere/b.txt
    new file mode 100644
    --- /dev/null
    +++ b//elsewhere/b.txt
    @@ -0,0 +1 @@
    +b
    diff --git a/a.txt b/a.txt
    --- a/a.txt
    +++ b/a.txt
    @@ -1,3 +1,3 @@
     one
     2
    -3
    +three
    ");
    assert_eq!(stored.diff(ChangesScope::LastTurn).await.unwrap(), stored.turn("msg_2").await);
    let session = stored.diff(ChangesScope::Session).await.unwrap();
    assert!(session.contains("-1\n+one\n 2\n-3\n+three\n"), "{session}");
    let unknown = stored.diff(ChangesScope::Turn(MessageId::new("msg_9"))).await.unwrap_err();
    assert_eq!(unknown, DiffError::UnknownTurn(MessageId::new("msg_9")));
    assert_eq!(Stored::default().diff(ChangesScope::LastTurn).await.unwrap(), "");
}

#[tokio::test]
async fn what_the_user_typed_in_between_is_in_no_diff() {
    let mut stored = Stored::default();
    stored.text("msg_1", "a.txt", "1\n2\n3\n4\n5\n", "one\n2\n3\n4\n5\n");
    stored.text("msg_1", "a.txt", "one\n2\nuser\n4\n5\n", "one\n2\nuser\n4\nfive\n");
    insta::assert_snapshot!(stored.turn("msg_1").await, @r"
    diff --git a/a.txt b/a.txt
    --- a/a.txt
    +++ b/a.txt
    @@ -1,5 +1,5 @@
    -1
    +one
     2
     user
     4
    -5
    +five
    ");
    // A file that the user has made anew is another one.
    let mut stored = Stored::default();
    stored.edit("msg_1", "a.txt", Some(b"old\n"), None);
    stored.text("msg_1", "a.txt", "user\n", "agent\n");
    let diff = stored.turn("msg_1").await;
    assert!(diff.ends_with("-user\n+agent\n") && !diff.contains("old"), "{diff}");
}

#[tokio::test]
async fn what_ended_is_no_name_of_what_the_user_made_in_its_place() {
    // Moved and deleted by the agent: the file is gone, and the user's is another one.
    let mut stored = Stored::default();
    stored.text("msg_1", "a.txt", "1\n2\n", "1\n2\n").moved_to = Some(at("b.txt"));
    stored.edit("msg_1", "b.txt", Some(b"1\n2\n"), None);
    stored.text("msg_2", "b.txt", "user\n", "agent\n");
    insta::assert_snapshot!(stored.diff(ChangesScope::Session).await.unwrap(), @r"
    diff --git a/a.txt b/a.txt
    deleted file mode 100644
    --- a/a.txt
    +++ /dev/null
    @@ -1,2 +0,0 @@
    -1
    -2
    diff --git a/b.txt b/b.txt
    --- a/b.txt
    +++ b/b.txt
    @@ -1 +1 @@
    -user
    +agent
    ");
    // Moved by the agent, deleted by the user, made anew by the agent.
    let mut stored = Stored::default();
    stored.text("msg_1", "a.txt", "1\n2\n", "1\n2\n").moved_to = Some(at("b.txt"));
    stored.edit("msg_2", "b.txt", None, Some(b"new\n"));
    insta::assert_snapshot!(stored.diff(ChangesScope::Session).await.unwrap(), @r"
    diff --git a/b.txt b/b.txt
    new file mode 100644
    --- /dev/null
    +++ b/b.txt
    @@ -0,0 +1 @@
    +new
    ");
    // Made, moved and deleted by the agent: nothing.
    let mut stored = Stored::default();
    stored.edit("msg_1", "a.txt", None, Some(b"1\n")).moved_to = Some(at("b.txt"));
    stored.edit("msg_1", "b.txt", Some(b"1\n"), None);
    stored.text("msg_2", "b.txt", "user\n", "agent\n");
    let diff = stored.diff(ChangesScope::Session).await.unwrap();
    assert!(diff.ends_with("-user\n+agent\n") && !diff.contains("a.txt"), "{diff}");
}

#[tokio::test]
async fn what_was_undone_or_rejected_is_not_in_the_diff_of_the_session() {
    let mut stored = Stored::default();
    stored.text("msg_1", "a.txt", "1\n2\n", "one\n2\n");
    stored.edit("msg_1", "b.txt", None, Some(b"b\n"));
    stored.text("msg_u", "a.txt", "one\n2\nuser\n", "1\n2\nuser\n").by = By::Undo { of: vec![ChangeId(1)] };
    stored.edit("msg_u", "b.txt", Some(b"b\n"), None).by = By::Undo { of: vec![ChangeId(2)] };
    stored.text("msg_u", "a.txt", "1\n2\nuser\n", "9\n9\n").by = By::Accept { hunks: Vec::new() };
    assert_eq!(stored.diff(ChangesScope::Session).await.unwrap(), "");
    assert!(stored.turn("msg_1").await.contains("-1\n+one\n"));
    assert!(stored.diff(ChangesScope::LastTurn).await.unwrap().contains("new file mode"));
}

#[tokio::test]
async fn a_file_is_followed_through_its_moves() {
    let mut stored = Stored::default();
    stored.text("msg_1", "a", "1\n2\n3\n", "1\n2\nthree\n");
    stored.text("msg_1", "a", "1\n2\nthree\n", "1\n2\nthree\n").moved_to = Some(at("b"));
    stored.text("msg_1", "b", "1\n2\nthree\n", "one\n2\nthree\n");
    stored.edit("msg_1", "a", None, Some(b"new\n"));
    stored.edit("msg_1", "gone", Some(b"gone\n"), None);
    stored.text("msg_1", "p", "p\n", "p\n").moved_to = Some(at("gone"));
    stored.edit("msg_1", "brief", None, Some(b"x"));
    stored.edit("msg_1", "brief", Some(b"x"), None);
    insta::assert_snapshot!(stored.turn("msg_1").await, @r"
    diff --git a/a b/a
    new file mode 100644
    --- /dev/null
    +++ b/a
    @@ -0,0 +1 @@
    +new
    diff --git a/a b/b
    rename from a
    rename to b
    --- a/a
    +++ b/b
    @@ -1,3 +1,3 @@
    -1
    +one
     2
    -3
    +three
    diff --git a/gone b/gone
    deleted file mode 100644
    --- a/gone
    +++ /dev/null
    @@ -1 +0,0 @@
    -gone
    diff --git a/p b/gone
    rename from p
    rename to gone
    ");
}

#[tokio::test]
async fn what_is_not_kept_is_said() {
    let mut stored = Stored::default();
    stored.text("msg_1", "a.txt", "1\n", "one\n").before.as_mut().unwrap().is_kept = false;
    stored.edit("msg_1", "o.bin", Some(b"\0\x01"), Some(b"\0\x02"));
    insta::assert_snapshot!(stored.turn("msg_1").await, @r"
    diff --git a/a.txt b/a.txt
    What a/a.txt and b/a.txt held is not kept
    diff --git a/o.bin b/o.bin
    Binary files a/o.bin and b/o.bin differ
    ");
    // Named by its row, and gone since.
    stored.contents.clear();
    assert_eq!(stored.turn("msg_1").await.matches("is not kept").count(), 1);
}

/// Of the files that the rows name.
async fn head(world: &World, stored: &Stored) -> Result<String, DiffError> {
    let connection = &world.connection;
    let session = SessionId::new("ses_1");
    let view = View::new(world.files.clone(), connection.editor.clone(), connection.overlay.clone(), session.clone());
    let sources =
        Sources { changes: stored, version_control: &*world.version_control, files: &*world.files, view: &view };
    against_head(&sources, &session, &world.folder()).await.map(|shown| shown.diff.patch())
}

#[tokio::test]
async fn the_present_texts_are_held_against_the_commit_whoever_changed_them() {
    let world = World::new(FakeModel::new().0);
    let at = |name: &str| world.folder().join(name);
    let mut stored = Stored::default();
    let project = "/home/user/project";
    let mut row = |name: &str, after: Option<&[u8]>| {
        stored.edit("msg_1", &format!("{project}/{name}"), Some(b"was"), after).path.clone()
    };
    for name in ["a.txt", "crlf.txt", "same.txt", "o.bin"] {
        row(name, Some(b"is"));
    }
    row("gone.txt", None);
    row("never.txt", None);
    stored.edit("msg_1", &format!("{project}/new.txt"), None, Some(b"new\n"));
    stored.edit("msg_1", "/elsewhere/x.txt", None, Some(b"new\n"));
    stored.text("msg_1", &format!("{project}/p"), "p\n", "p\n").moved_to = Some(at("q"));
    for (name, committed, now) in [
        ("a.txt", &b"1\n2\n"[..], &b"1\n2\n"[..]),
        ("crlf.txt", b"1\n2\n", b"1\r\nuser\r\n2\r\n"),
        ("same.txt", b"1\n", b"1\n"),
        ("o.bin", b"\0\x01", b"\0\x02"),
        ("untouched.txt", b"1\n", b"2\n"),
    ] {
        world.version_control.commit(at(name), committed);
        world.disk.put(&at(name), now);
    }
    world.version_control.commit(at("gone.txt"), b"gone\n");
    world.version_control.commit(at("p"), b"p\n");
    world.disk.put(&at("q"), *b"p\n");
    world.disk.put(&at("new.txt"), *b"new\n");
    let path = at("a.txt");
    world.connection.overlay.open(Document {
        uri: "file:///home/user/project/a.txt".to_owned(),
        key: DocKey::from_real_path(path.clone()),
        path,
        language: "text".to_owned(),
        version: 7,
        text: Rope::from("1\n2\nunsaved\n"),
        saved: ContentHash::of(b"1\n2\n"),
    });
    insta::assert_snapshot!(head(&world, &stored).await.unwrap().replace('\r', "<CR>"), @r"
    diff --git a/a.txt b/a.txt
    --- a/a.txt
    +++ b/a.txt
    @@ -1,2 +1,3 @@
     1
     2
    +unsaved
    diff --git a/crlf.txt b/crlf.txt
    --- a/crlf.txt
    +++ b/crlf.txt
    @@ -1,2 +1,3 @@
     1<CR>
    +user<CR>
     2<CR>
    diff --git a/gone.txt b/gone.txt
    deleted file mode 100644
    --- a/gone.txt
    +++ /dev/null
    @@ -1 +0,0 @@
    -gone
    diff --git a/new.txt b/new.txt
    new file mode 100644
    --- /dev/null
    +++ b/new.txt
    @@ -0,0 +1 @@
    +new
    diff --git a/o.bin b/o.bin
    Binary files a/o.bin and b/o.bin differ
    diff --git a/p b/q
    rename from p
    rename to q
    ");
    let error = VersionControlError::NoGit;
    world.version_control.break_with(Some(error.clone()));
    assert_eq!(head(&world, &stored).await, Err(DiffError::VersionControl(error)));
}

#[tokio::test]
async fn a_file_that_ended_where_it_was_moved_to_is_gone_from_the_commit() {
    for is_deleted_by_agent in [true, false] {
        let world = World::new(FakeModel::new().0);
        let at = |name: &str| world.folder().join(name);
        let mut stored = Stored::default();
        let (a, b) = (at("a.txt").to_string(), at("b.txt").to_string());
        stored.text("msg_1", &a, "1\n2\n", "1\n2\n").moved_to = Some(at("b.txt"));
        if is_deleted_by_agent {
            stored.edit("msg_1", &b, Some(b"1\n2\n"), None);
            stored.text("msg_2", &b, "user\n", "new\n");
        } else {
            stored.edit("msg_2", &b, None, Some(b"new\n"));
        }
        world.version_control.commit(at("a.txt"), b"1\n2\n");
        world.disk.put(&at("b.txt"), *b"new\n");
        let diff = head(&world, &stored).await.unwrap();
        let expected = [
            "diff --git a/a.txt b/a.txt\ndeleted file mode 100644\n--- a/a.txt\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-1\n-2\n",
            "diff --git a/b.txt b/b.txt\nnew file mode 100644\n--- /dev/null\n+++ b/b.txt\n@@ -0,0 +1 @@\n+new\n",
        ];
        assert_eq!(diff, expected.concat(), "{is_deleted_by_agent}");
    }
}
