//! What a server was told and what it has said, shared between those who ask and the connection. Decides which diagnostics are of a text.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use copydesk_engine::ports::Diagnostic;
use copydesk_workspace::path::AbsPath;
use copydesk_workspace::position::PositionEncoding;
use ropey::Rope;
use serde_json::Value;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::diagnostic;

/// How long a server may still be at a command that was given up when the next one is to be run.
const WINDING_DOWN: Duration = Duration::from_secs(2);
/// Some servers tell the problems of a text in several messages, or first once more those of the old one.
const SETTLED: Duration = Duration::from_millis(200);

/// Of one start of a server.
#[derive(Debug)]
pub(super) struct Known {
    state: Mutex<State>,
    /// Moves with every change: whoever waits looks again.
    changed: watch::Sender<u64>,
    /// It has answered a question about code.
    answered: AtomicBool,
    /// The last command of its that was begun.
    command: Mutex<Command>,
    /// One command at a time: whose edits they are, nothing else tells.
    commands: Arc<tokio::sync::Mutex<()>>,
    stuck: CancellationToken,
}

type Edits = Mutex<Vec<Value>>;

#[derive(Debug, Default)]
struct Command {
    number: u64,
    /// Where the edits go that the server wants to be made, while somebody waits for them.
    edits: Weak<Edits>,
    /// Fires when nobody waits any more.
    given_up: CancellationToken,
}

/// Takes the edits that the server wants to be made, until it is dropped.
pub(super) struct Wanted {
    edits: Arc<Edits>,
    _given_up: DropGuard,
}

/// To be held until the server has done with the command: as long no other is run.
pub(super) type Alone = tokio::sync::OwnedMutexGuard<()>;

pub(super) struct Awaited {
    known: Arc<Known>,
    path: AbsPath,
}

impl Drop for Awaited {
    fn drop(&mut self) {
        let mut state = self.known.lock();
        if let Some(at) = state.awaited.iter().position(|path| *path == self.path) {
            state.awaited.swap_remove(at);
        }
    }
}

impl Wanted {
    /// Those that have come so far, in their order.
    pub(super) fn take(&self) -> Vec<Value> {
        std::mem::take(&mut *self.edits.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[derive(Debug)]
struct State {
    documents: HashMap<AbsPath, Document>,
    /// Those whose diagnostics are waited for, once for everybody who does.
    awaited: Vec<AbsPath>,
    encoding: PositionEncoding,
    /// Whether the server is asked for diagnostics; it may send some unasked all the same.
    pulls: bool,
    /// Whether any diagnostics came with the version of their text.
    names_versions: bool,
}

#[derive(Debug)]
struct Document {
    version: i32,
    text: Rope,
    pushed: Option<(i32, Vec<Value>)>,
    /// What came last without a version, since the text was sent.
    unversioned: Option<(Instant, Vec<Value>)>,
    /// When the server had read the text, where it was asked.
    read: Option<Instant>,
    pulled: Option<Vec<Value>>,
}

impl Document {
    /// When the problems that name no version are those of the text, if none follow until then.
    fn settles(&self) -> Option<Instant> {
        let (told, _) = self.unversioned.as_ref()?;
        Some(self.read?.max(*told) + SETTLED)
    }

    fn problems(&self) -> impl Iterator<Item = &Value> {
        let pushed = self.pushed.iter().flat_map(|(_, items)| items);
        let unversioned = self.unversioned.iter().flat_map(|(_, items)| items);
        self.pulled.iter().flatten().chain(pushed).chain(unversioned)
    }
}

/// The problems of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Found {
    Certain(Vec<Diagnostic>),
    /// The server does not say of which text they are: they came last, after it had the text.
    Presumed(Vec<Diagnostic>),
    /// The same, and more of them may follow at once.
    Unsettled(Vec<Diagnostic>),
}

/// What a report is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Enough {
    /// The answer, where the server is asked.
    Answered,
    /// Whatever there is.
    Anything,
}

impl Known {
    pub(super) fn new() -> Self {
        let state = State {
            documents: HashMap::new(),
            awaited: Vec::new(),
            encoding: PositionEncoding::Utf16,
            pulls: false,
            names_versions: false,
        };
        Self {
            state: Mutex::new(state),
            changed: watch::Sender::new(0),
            answered: AtomicBool::new(false),
            command: Mutex::default(),
            commands: Arc::default(),
            stuck: CancellationToken::new(),
        }
    }

    /// Waits for those who run another command. `None` where the server stays at one that was given up: it is stuck then, and has to be started anew, since its
    /// edits could come at any time.
    pub(super) async fn want_edits(&self) -> Option<(Wanted, Alone)> {
        let alone = tokio::select! {
            biased;
            alone = Arc::clone(&self.commands).lock_owned() => alone,
            () = self.never_done() => {
                self.stuck.cancel();
                return None;
            }
        };
        let (edits, given_up) = (Arc::default(), CancellationToken::new());
        let mut command = self.command();
        let number = command.number + 1;
        *command = Command { number, edits: Arc::downgrade(&edits), given_up: given_up.clone() };
        Some((Wanted { edits, _given_up: given_up.drop_guard() }, alone))
    }

    /// Until nobody has waited for a command for a while that the server has not answered.
    async fn never_done(&self) {
        let last = || {
            let command = self.command();
            (command.number, command.given_up.clone())
        };
        loop {
            let (number, given_up) = last();
            given_up.cancelled().await;
            sleep(WINDING_DOWN).await;
            if last().0 == number {
                return;
            }
        }
    }

    /// Until it has to be started anew.
    pub(super) async fn stuck(&self) {
        self.stuck.cancelled().await;
    }

    /// Whether anybody has asked for it.
    pub(super) fn take_edit(&self, edit: Value) -> bool {
        let Some(edits) = self.command().edits.upgrade() else { return false };
        edits.lock().unwrap_or_else(PoisonError::into_inner).push(edit);
        true
    }

    fn command(&self) -> MutexGuard<'_, Command> {
        self.command.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn initialized(&self, encoding: PositionEncoding, pulls: bool) {
        let mut state = self.lock();
        state.encoding = encoding;
        state.pulls |= pulls;
    }

    pub(super) fn answered(&self) {
        self.answered.store(true, Ordering::Relaxed);
    }

    pub(super) fn has_answered(&self) -> bool {
        self.answered.load(Ordering::Relaxed)
    }

    pub(super) fn pulls(&self) -> bool {
        self.lock().pulls
    }

    pub(super) fn set_pulls(&self, pulls: bool) {
        self.change(|state| state.pulls = pulls);
    }

    pub(super) fn encoding(&self) -> PositionEncoding {
        self.lock().encoding
    }

    /// As the server told them of its present text.
    pub(super) fn problems(&self, path: &AbsPath) -> Vec<Value> {
        let state = self.lock();
        state.documents.get(path).into_iter().flat_map(Document::problems).cloned().collect()
    }

    /// The server has this text from now on; what it said of an earlier version is forgotten.
    pub(super) fn told(&self, path: AbsPath, version: i32, text: Rope) {
        self.change(|state| {
            let document = Document { version, text, pushed: None, unversioned: None, read: None, pulled: None };
            state.documents.insert(path, document);
        });
    }

    /// The newest text, where nobody knows yet whether the server has read it and its diagnostics may come without a version.
    pub(super) fn unread(&self) -> Option<i32> {
        let state = self.lock();
        let unread = state.documents.values().filter(|document| document.read.is_none());
        unread.map(|document| document.version).max().filter(|_| !state.names_versions && !state.pulls)
    }

    /// The server has read all texts up to this version.
    pub(super) fn read(&self, version: i32) {
        self.change(|state| {
            for document in state.documents.values_mut().filter(|document| document.version <= version) {
                document.read.get_or_insert_with(Instant::now);
            }
        });
    }

    pub(super) fn closed(&self, path: &AbsPath) {
        self.change(|state| {
            state.documents.remove(path);
        });
    }

    pub(super) fn text(&self, path: &AbsPath) -> Option<(i32, Rope)> {
        self.lock().documents.get(path).map(|document| (document.version, document.text.clone()))
    }

    /// The documents whose diagnostics nobody waits for.
    pub(super) fn idle(&self) -> Vec<AbsPath> {
        let state = self.lock();
        state.documents.keys().filter(|path| !state.awaited.contains(path)).cloned().collect()
    }

    /// Until it is dropped, somebody waits for the diagnostics of the document.
    pub(super) fn wait_for(self: &Arc<Self>, path: AbsPath) -> Awaited {
        self.lock().awaited.push(path.clone());
        Awaited { known: Arc::clone(self), path }
    }

    /// Sent unasked. Without a version they are only presumed to be of the text that was sent last; a server that names versions speaks of no text of ours then
    /// (R17.1, C97).
    pub(super) fn pushed(&self, path: &AbsPath, version: Option<i32>, items: Vec<Value>) {
        self.change(|state| {
            state.names_versions |= version.is_some();
            let names_versions = state.names_versions;
            let Some(document) = state.documents.get_mut(path) else { return };
            match version {
                Some(version) if version >= document.version => {
                    document.pushed = Some((version, items));
                    document.unversioned = None;
                }
                None if !names_versions => document.unversioned = Some((Instant::now(), items)),
                _ => {}
            }
        });
    }

    /// The answer to a question about this version.
    pub(super) fn pulled(&self, path: &AbsPath, version: i32, items: Vec<Value>) {
        self.change(|state| {
            if let Some(document) = state.documents.get_mut(path).filter(|document| document.version == version) {
                document.pulled = Some(items);
            }
        });
    }

    /// The problems of exactly this text; `None`: not known.
    pub(super) fn report(&self, path: &AbsPath, text: &Rope, enough: Enough) -> Option<Found> {
        let state = self.lock();
        let document = state.documents.get(path).filter(|document| document.text == *text)?;
        if enough == Enough::Answered && state.pulls && document.pulled.is_none() {
            return None;
        }
        let is_certain = document.pulled.is_some() || document.pushed.is_some();
        let is_settled = is_certain || document.settles()? <= Instant::now();
        if enough == Enough::Answered && !is_settled {
            return None;
        }
        let mut items: Vec<&Value> = Vec::new();
        for item in document.problems() {
            if !items.contains(&item) {
                items.push(item);
            }
        }
        let found = items.into_iter().filter_map(|item| diagnostic::from_lsp(item.clone(), text, state.encoding));
        let mut found: Vec<Diagnostic> = found.collect();
        found.sort_by_key(|problem| (problem.line, problem.column));
        let is_presumed = !is_certain || document.unversioned.as_ref().is_some_and(|(_, items)| !items.is_empty());
        Some(match (is_presumed, is_settled) {
            (_, false) => Found::Unsettled(found),
            (true, true) => Found::Presumed(found),
            (false, true) => Found::Certain(found),
        })
    }

    /// As `report`, once it is known.
    pub(super) async fn reported(&self, path: &AbsPath, text: &Rope) -> Option<Found> {
        let mut changed = self.changed.subscribe();
        loop {
            // Before the report: what settles in between is in it, and what settles later wakes it.
            let settles = self.lock().documents.get(path).and_then(Document::settles);
            let settles = settles.filter(|settles| *settles > Instant::now());
            if let Some(found) = self.report(path, text, Enough::Answered) {
                return Some(found);
            }
            let settled = async {
                match settles {
                    Some(settles) => sleep_until(settles).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                changed = changed.changed() => changed.ok()?,
                () = settled => {}
            }
        }
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.lock());
        self.changed.send_modify(|count| *count = count.wrapping_add(1));
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
