//! Files of an editor that tells of no documents, but is asked for texts (ACP's `fs/read_text_file`): which of two texts is the truth, the editor's or the
//! disk's. Writing is `through`'s.
//!
//! The editor's text may differ from the file for two reasons: its buffer is unsaved, or it is clean and not yet read again after the file was changed from
//! outside (zed#49162). What was seen before tells them apart:
//!
//! - The file is as it was when both were last the same: the buffer has changed since. It is unsaved, and the truth.
//! - The editor's text is one that the file once had: the file has moved on and the buffer has not. It is stale, and the disk is the truth. (A user who undoes
//!   to a saved text while a command changes the file looks the same; the editor's own undo has both.)
//! - Anything else was never in the file, as far as is known: it is unsaved, and the truth. No text of a user is lost by a guess.

use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use copydesk_workspace::disk::DiskError;
use copydesk_workspace::encoding::TextEncoding;
use copydesk_workspace::hash::ContentHash;
use copydesk_workspace::path::{AbsPath, DocKey};
use ropey::Rope;

use super::{Snapshot, Source, View, ViewError};
use crate::ports::EditorError;

/// Larger files go by the disk alone, bytes: an answer has to fit into one message.
const LARGEST_ASKED: u64 = 4 << 20;

/// Texts of a file that are remembered.
const REMEMBERED: usize = 16;

/// What the editor answered for a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    /// As the editor knows the file.
    pub(super) path: AbsPath,
    pub(super) text: String,
}

/// The editor did not answer: it may hold unsaved text of the file, or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Silent;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Truth {
    /// Both are the same but for line endings and a byte order mark: the disk has those.
    Both,
    Editor,
    Disk,
}

/// Texts that files had, as far as this connection has seen; hashes of `plain` texts.
#[derive(Debug, Default)]
pub(crate) struct KnownTexts(Mutex<HashMap<DocKey, History>>);

#[derive(Debug, Default)]
struct History {
    /// On the disk, the latest last.
    on_disk: VecDeque<ContentHash>,
    /// The last text that both had at once.
    agreed: Option<ContentHash>,
}

impl KnownTexts {
    pub(super) fn judge(&self, key: &DocKey, held: &str, disk: &str) -> Truth {
        let (held, disk) = (plain_hash(held), plain_hash(disk));
        let mut known = self.lock();
        let history = known.entry(key.clone()).or_default();
        let truth = history.judge(held, disk);
        if truth == Truth::Both {
            history.agreed = Some(disk);
        }
        history.saw(disk);
        truth
    }

    pub(super) fn saw_on_disk(&self, key: &DocKey, text: &str) {
        self.lock().entry(key.clone()).or_default().saw(plain_hash(text));
    }

    /// The editor was seen to have put this text into the file.
    pub(super) fn agreed(&self, key: &DocKey, text: &str) {
        let hash = plain_hash(text);
        let mut known = self.lock();
        let history = known.entry(key.clone()).or_default();
        history.agreed = Some(hash);
        history.saw(hash);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<DocKey, History>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl History {
    fn judge(&self, held: ContentHash, disk: ContentHash) -> Truth {
        if held == disk {
            Truth::Both
        } else if self.agreed != Some(disk) && self.on_disk.contains(&held) {
            Truth::Disk
        } else {
            Truth::Editor
        }
    }

    fn saw(&mut self, hash: ContentHash) {
        self.on_disk.retain(|known| *known != hash);
        self.on_disk.push_back(hash);
        if self.on_disk.len() > REMEMBERED {
            self.on_disk.pop_front();
        }
    }
}

impl View {
    /// The truth of a file that is not open, where the editor may have a text of it.
    pub(super) async fn of_editor_or_disk(&self, path: &AbsPath, key: DocKey) -> Result<Snapshot, ViewError> {
        let disk = self.of_disk(path, key.clone()).await;
        let is_asked = match &disk {
            Ok(Snapshot { source: Source::Disk { encoding, .. }, text, .. }) => is_asked(*encoding, text),
            Err(ViewError::Disk(DiskError::NotFound(_))) => true,
            Ok(_) | Err(_) => false,
        };
        if !(is_asked && self.editor.texts().reads) {
            return disk;
        }
        // Where it is silent the disk is all that there is to read. Nothing is written by that.
        let Ok(Some(held)) = self.held(path, &key).await else { return disk };
        match disk {
            Ok(disk) => Ok(self.judged(disk, held)),
            // A buffer that was never saved. An empty one is no file.
            Err(_) if !held.text.is_empty() => {
                let hash = ContentHash::of(held.text.as_bytes());
                let text = Rope::from(held.text.as_str());
                let source = Source::Held { held, disk: None, is_unsaved: true };
                Ok(Snapshot { path: path.clone(), key, text, hash, source, read: None })
            }
            Err(error) => Err(error),
        }
    }

    /// `None`: the editor has nothing to say of the file, which then goes by the disk. It may know the file by its own name or by the one that it was called.
    pub(super) async fn held(&self, path: &AbsPath, key: &DocKey) -> Result<Option<Held>, Silent> {
        let real = key.path();
        for name in [real, path].into_iter().take(if real == path { 1 } else { 2 }) {
            match self.editor.read_text(&self.session, name).await {
                Ok(text) => return Ok(Some(Held { path: name.clone(), text })),
                Err(EditorError::Gone) => return Err(Silent),
                Err(error) => tracing::debug!(%error, path = %name, "the editor gave no text"),
            }
        }
        Ok(None)
    }

    fn judged(&self, snapshot: Snapshot, held: Held) -> Snapshot {
        let Source::Disk { encoding, bytes } = snapshot.source else { return snapshot };
        let disk = Some((encoding, bytes));
        match self.overlay.texts.judge(&snapshot.key, &held.text, &snapshot.joined()) {
            Truth::Both | Truth::Disk => {
                Snapshot { source: Source::Held { held, disk, is_unsaved: false }, ..snapshot }
            }
            Truth::Editor => {
                let text = held.text.strip_prefix(MARK).unwrap_or(&held.text);
                let (hash, text) = (ContentHash::of(text.as_bytes()), Rope::from(text));
                Snapshot { text, hash, source: Source::Held { held, disk, is_unsaved: true }, read: None, ..snapshot }
            }
        }
    }
}

/// Whether the editor is asked for a file that has this text. UTF-16 is the disk's alone: an editor that reads files as UTF-8 gives what is no text.
pub(super) fn is_asked(encoding: TextEncoding, text: &Rope) -> bool {
    let is_utf_8 = match encoding {
        TextEncoding::Utf8 | TextEncoding::Utf8Bom => true,
        TextEncoding::Utf16Le | TextEncoding::Utf16Be => false,
    };
    is_utf_8 && text.len_bytes() as u64 <= LARGEST_ASKED
}

pub(super) const MARK: char = '\u{feff}';

/// Without what editors take off a text when they load it and put back when they save it.
pub(super) fn plain(text: &str) -> Cow<'_, str> {
    let text = text.strip_prefix(MARK).unwrap_or(text);
    if text.contains('\r') { Cow::Owned(text.replace("\r\n", "\n").replace('\r', "\n")) } else { Cow::Borrowed(text) }
}

fn plain_hash(text: &str) -> ContentHash {
    ContentHash::of(plain(text).as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workbench::path;

    const DISK: &str = "disk\n";

    /// What is seen before both texts are looked at: `(editor's, disk's)`.
    #[track_caller]
    fn check(before: &[(&str, &str)], held: &str, disk: &str, expected: Truth) {
        let known = KnownTexts::default();
        let key = DocKey::from_real_path(path("/w/a"));
        for (held, disk) in before {
            known.judge(&key, held, disk);
        }
        assert_eq!(known.judge(&key, held, disk), expected);
    }

    #[test]
    fn line_endings_and_a_mark_make_no_difference() {
        check(&[], "a\nb\n", "a\r\nb\r\n", Truth::Both);
        check(&[], "\u{feff}a\r\n", "a\n", Truth::Both);
    }

    #[test]
    fn a_text_that_was_never_in_the_file_is_the_user_s() {
        check(&[], "mine\n", DISK, Truth::Editor);
        check(&[(DISK, DISK)], "mine\n", DISK, Truth::Editor);
        check(&[(DISK, DISK)], "mine\n", "changed\n", Truth::Editor);
    }

    #[test]
    fn a_text_that_the_file_had_before_is_stale() {
        check(&[("old\n", "old\n")], "old\n", DISK, Truth::Disk);
        check(&[("old\n", "old\n"), ("old\n", "newer\n")], "newer\n", DISK, Truth::Disk);
    }

    #[test]
    fn going_back_in_a_buffer_that_had_the_file_s_text_is_the_user_s() {
        check(&[("old\n", "old\n"), (DISK, DISK)], "old\n", DISK, Truth::Editor);
    }
}
