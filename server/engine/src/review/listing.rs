//! The list of what the agent changed: the rows of the session replayed, then the present texts. Both are kept as they were seen, and only looked at again
//! where a row or a text is another one. Decides nothing.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use copydesk_workspace::disk::{DiskError, Stamp};
use copydesk_workspace::hash::ContentHash;
use copydesk_workspace::path::{AbsPath, DocKey};
use copydesk_workspace::review::{HunkState, ReviewedHunk};
use ropey::Rope;

use super::book::{Book, Contents, Filed};
use super::file::{FileReview, Side};
use super::{ChangedFile, ChangesScope, ChangesView, HunkView};
use crate::event::SessionEvent;
use crate::ids::{MessageId, SessionId};
use crate::ports::{Change, Changes, Client, Clock, Ids, StoreError};
use crate::undo::Recording;
use crate::view::{Snapshot, View, ViewError, is_fresh};

/// What a session knows of its changes.
#[derive(Default)]
pub(crate) struct Reviews {
    /// One decision is taken at a time: what is rejected was looked at once, and an accept leaves no mark in a text.
    pub(super) deciding: tokio::sync::Mutex<()>,
    /// One replays rows at a time, so that no content is read twice.
    replaying: tokio::sync::Mutex<()>,
    /// Never held while something is read.
    state: Mutex<State>,
    /// The client knows that the list is another one, and has not asked for it since.
    is_told: AtomicBool,
}

#[derive(Default)]
struct State {
    book: Arc<Book>,
    /// By the index of the file in the book.
    seen: Vec<Option<Arc<Seen>>>,
}

/// A file with its present text.
struct Seen {
    /// How many rows it was made of.
    rows: usize,
    present: Side,
    /// Of the file that was read; `None` where it does not tell of every later change.
    stamp: Option<Stamp>,
    file: Arc<FileReview>,
}

/// What was read at a path, so that it can be changed as it was read.
pub(super) enum Standing {
    Nothing,
    Text(Snapshot),
    /// Of what is no text, or too large for one.
    Bytes(Vec<u8>),
}

/// What stands at a path.
struct Present {
    /// `None` where it cannot be read.
    side: Option<Side>,
    /// URI and version.
    open: Option<(String, i32)>,
    stamp: Option<Stamp>,
}

/// Where texts and rows come from.
#[derive(Clone, Copy)]
pub(crate) struct Desk<'a> {
    pub(crate) session: &'a SessionId,
    pub(crate) changes: &'a dyn Changes,
    pub(crate) view: &'a View,
    pub(crate) recording: &'a Arc<Recording>,
    pub(crate) ids: &'a dyn Ids,
    pub(crate) clock: &'a dyn Clock,
    /// Bytes of contents, over all sessions.
    pub(crate) most_kept: u64,
}

/// A file as it is now.
pub(super) struct Looked {
    pub(super) file: Arc<FileReview>,
    /// URI and version.
    pub(super) open: Option<(String, i32)>,
}

impl Reviews {
    pub(crate) async fn list(&self, desk: Desk<'_>, scope: &ChangesScope) -> Result<ChangesView, StoreError> {
        let mut list = ChangesView::default();
        for (file, _) in self.listed(desk, scope).await? {
            list.added += file.added;
            list.removed += file.removed;
            list.files.push(file);
        }
        Ok(list)
    }

    /// By path, each as it is listed and as it was looked at.
    pub(super) async fn listed(
        &self,
        desk: Desk<'_>,
        scope: &ChangesScope,
    ) -> Result<Vec<(ChangedFile, Arc<FileReview>)>, StoreError> {
        // First: what comes from here on is told again.
        self.is_told.store(false, Ordering::SeqCst);
        let book = self.up_to_date(desk).await?;
        let turn = match scope {
            ChangesScope::Session => None,
            ChangesScope::Turn(turn) => Some(turn.clone()),
            ChangesScope::LastTurn => match book.last_turn() {
                Some(turn) => Some(turn.clone()),
                None => return Ok(Vec::new()),
            },
        };
        let mut files = Vec::new();
        for index in 0..book.files().len() {
            let Some(Looked { file, open }) = self.look(&book, index, desk).await else { continue };
            let Some(listed) = changed_file(&book, &file, open, turn.as_ref()) else { continue };
            files.push((listed, file));
        }
        files.sort_by(|(a, _), (b, _)| a.path.cmp(&b.path));
        Ok(files)
    }

    /// Says once that the list is another one, until it is asked for.
    pub(crate) async fn tell(&self, session: &SessionId, client: &dyn Client) {
        if !self.is_told.swap(true, Ordering::SeqCst) {
            client.update(session.clone(), SessionEvent::Changes).await;
        }
    }

    /// Whether rows are stored that were never listed, and of which the client knows nothing yet.
    pub(crate) async fn has_news(&self, changes: &dyn Changes, session: &SessionId) -> bool {
        if self.is_told.load(Ordering::SeqCst) {
            return false;
        }
        match changes.list(session.clone()).await {
            Ok(rows) => self.state().book.news(&rows).is_none_or(|news| !news.is_empty()),
            Err(error) => {
                tracing::warn!(%session, %error, "changes cannot be listed");
                false
            }
        }
    }

    /// With all rows that are stored.
    pub(super) async fn up_to_date(&self, desk: Desk<'_>) -> Result<Arc<Book>, StoreError> {
        let _alone = self.replaying.lock().await;
        let rows = desk.changes.list(desk.session.clone()).await?;
        let news = {
            let mut state = self.state();
            if state.book.news(&rows).is_none() {
                *state = State::default();
            }
            state.book.news(&rows).unwrap_or_default().to_vec()
        };
        if news.is_empty() {
            return Ok(self.state().book.clone());
        }
        // Outside of the lock: nobody waits for it, and nobody else adds rows.
        let mut adding = Adding { book: self.state().book.clone(), reviews: self };
        add_all(Arc::make_mut(&mut adding.book), &news, desk).await?;
        Ok(Arc::clone(&adding.book))
    }

    /// A file of the book as it is now; `None` where there is nothing to tell of it.
    pub(super) async fn look(&self, book: &Arc<Book>, index: usize, desk: Desk<'_>) -> Option<Looked> {
        let Filed { file, rows } = book.files().get(index)?;
        if !file.has_hunks() {
            return None;
        }
        let seen = self.seen(book, index);
        let Present { side, open, stamp } = desk.look(file.path(), seen.as_deref()).await;
        let seen = seen.filter(|seen| seen.rows == *rows);
        // What cannot be read now is what it was, and is read again.
        let stamp = stamp.filter(|_| side.is_some());
        let last = || seen.as_ref().map(|seen| seen.present.clone());
        let present = side.or_else(last).unwrap_or_else(|| file.now());
        let file = match seen.filter(|seen| seen.present == present) {
            Some(seen) => seen.file.clone(),
            None => {
                let mut file = Arc::clone(file);
                Arc::make_mut(&mut file).user(&present);
                file
            }
        };
        self.saw(book, index, Seen { rows: *rows, present, stamp, file: file.clone() });
        Some(Looked { file, open })
    }

    /// Of a book that was replaced since, nothing: what has the index now may be another file.
    fn seen(&self, book: &Arc<Book>, index: usize) -> Option<Arc<Seen>> {
        let state = self.state();
        if Arc::ptr_eq(&state.book, book) { state.seen.get(index)?.clone() } else { None }
    }

    fn saw(&self, book: &Arc<Book>, index: usize, seen: Seen) {
        let mut state = self.state();
        if Arc::ptr_eq(&state.book, book) {
            state.seen.resize_with(book.files().len(), || None);
            state.seen[index] = Some(Arc::new(seen));
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A book that is added to. What was added stays: where the store fails, and where nobody waits for the rest any more.
struct Adding<'a> {
    book: Arc<Book>,
    reviews: &'a Reviews,
}

impl Drop for Adding<'_> {
    fn drop(&mut self) {
        self.reviews.state().book = Arc::clone(&self.book);
    }
}

async fn add_all(book: &mut Book, rows: &[Change], desk: Desk<'_>) -> Result<(), StoreError> {
    let mut contents = Contents::new();
    for row in rows {
        contents = contents_of(row, contents, desk).await?;
        book.add(row, &contents);
    }
    Ok(())
}

/// The texts of the row, as far as they are kept: from those of the row before it, else from the store.
async fn contents_of(row: &Change, mut known: Contents, desk: Desk<'_>) -> Result<Contents, StoreError> {
    let mut contents = Contents::new();
    for content in [row.before, row.after].into_iter().flatten() {
        if content.encoding.is_none() || !content.is_kept || contents.contains_key(&content.hash) {
            continue;
        }
        let bytes = match known.remove(&content.hash) {
            Some(bytes) => Some(bytes),
            None => desk.changes.content(desk.session.clone(), content.hash).await?,
        };
        contents.extend(bytes.map(|bytes| (content.hash, bytes)));
    }
    Ok(contents)
}

impl Desk<'_> {
    /// A file that is not open, and has the stamp with which it was read, is not read again.
    async fn look(&self, path: &AbsPath, seen: Option<&Seen>) -> Present {
        if let Some(document) = self.view.overlay.get(&DocKey::from_real_path(path.clone())) {
            let open = Some((document.uri, document.version));
            return Present { side: Some(Side::Text(document.text)), open, stamp: None };
        }
        let is_asked = self.view.editor.texts().reads;
        let stat = if is_asked { None } else { self.view.files.stat(path.clone()).await.ok() };
        let stamp = stat.map(|stat| stat.stamp).filter(|stamp| !is_fresh(*stamp, self.clock.now()));
        let known = seen.filter(|seen| stamp.is_some() && seen.stamp == stamp);
        let side = match known {
            Some(seen) => Some(seen.present.clone()),
            None => self.present(path).await,
        };
        Present { side, open: None, stamp }
    }

    /// `None` where it cannot be read.
    async fn present(&self, path: &AbsPath) -> Option<Side> {
        self.standing(path).await.ok().map(|standing| standing.side())
    }

    /// Where a link has come on the way since, nothing: what stands behind it is no file that the agent has changed.
    pub(super) async fn standing(&self, path: &AbsPath) -> Result<Standing, ViewError> {
        match self.view.snapshot(path).await {
            Ok(snapshot) if snapshot.key.path() != path => Err(led_elsewhere(path)),
            Ok(snapshot) => Ok(Standing::Text(snapshot)),
            Err(ViewError::Disk(DiskError::NotFound(_))) => Ok(Standing::Nothing),
            Err(ViewError::Text { .. } | ViewError::TooLarge { .. }) => {
                if self.view.real_path(path).await? != *path {
                    return Err(led_elsewhere(path));
                }
                self.view.bytes(path).await.map(Standing::Bytes)
            }
            Err(error @ (ViewError::Disk(_) | ViewError::NotGranted(_))) => Err(error),
        }
    }
}

fn led_elsewhere(path: &AbsPath) -> ViewError {
    DiskError::Other { path: path.clone(), reason: "a link stands on its way by now".to_owned() }.into()
}

impl Standing {
    pub(super) fn side(&self) -> Side {
        match self {
            Self::Nothing => Side::Absent,
            Self::Text(snapshot) => Side::Text(snapshot.text.clone()),
            Self::Bytes(bytes) => Side::Opaque(ContentHash::of(bytes)),
        }
    }
}

/// `None` where the turn did nothing to the file.
fn changed_file(
    book: &Book,
    file: &FileReview,
    open: Option<(String, i32)>,
    turn: Option<&MessageId>,
) -> Option<ChangedFile> {
    let (base, now) = file.texts();
    let hunks: Vec<HunkView> =
        file.hunks().into_iter().filter_map(|hunk| viewed(book, hunk, turn, &base, &now)).collect();
    if hunks.is_empty() {
        return None;
    }
    let undecided = || hunks.iter().filter(|hunk| hunk.state == HunkState::Undecided);
    Some(ChangedFile {
        path: file.path().clone(),
        kind: file.kind(),
        open,
        is_binary: file.is_binary(),
        added: undecided().map(|hunk| hunk.after.len()).sum(),
        removed: undecided().map(|hunk| hunk.before.len()).sum(),
        base,
        now,
        hunks,
    })
}

fn viewed(book: &Book, hunk: ReviewedHunk, of: Option<&MessageId>, base: &Rope, now: &Rope) -> Option<HunkView> {
    let turns = || hunk.changes.iter().filter_map(|change| book.turn(*change));
    let turn = match of {
        Some(of) => turns().find(|turn| *turn == of)?,
        None => turns().next_back()?,
    };
    Some(HunkView {
        id: hunk.id,
        turn: turn.clone(),
        before: lines(base, hunk.base),
        after: lines(now, hunk.now),
        old_text: hunk.old,
        new_text: hunk.new,
        state: hunk.state,
    })
}

/// The lines of a range of bytes of whole lines, from 0.
fn lines(text: &Rope, range: std::ops::Range<usize>) -> std::ops::Range<usize> {
    let end = range.end.min(text.len_bytes());
    let start = text.byte_to_line(range.start.min(end));
    let last = text.byte_to_line(end);
    // A last line without a break.
    let is_inside = end > range.start && text.line_to_byte(last) < end;
    start..if is_inside { last + 1 } else { last }
}
