//! The one thread that holds the database: requests reach it by a bounded channel and are answered in their order. It knows no SQL.

use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use copydesk_engine::ids::SessionId;
use copydesk_engine::media::Media;
use copydesk_engine::message::Entry;
use copydesk_engine::ports::{
    Change, ChangeId, Elsewhere, Lease, ListedSession, NewChange, SessionMeta, StoreError, StoredPage,
};
use copydesk_workspace::hash::ContentHash;
use copydesk_workspace::path::AbsPath;
use tokio::sync::{mpsc, oneshot};

use super::presence::Presence;
use super::sqlite::Database;

/// Requests that wait; whoever comes when they are full waits too.
const WAITING: usize = 64;

pub(super) type Reply<T> = oneshot::Sender<Result<T, StoreError>>;

pub(super) enum Request {
    Create(SessionMeta, Reply<()>),
    Append(SessionId, Vec<Entry>, Reply<()>),
    KeepMedia(SessionId, Vec<Media>, Reply<()>),
    Media(SessionId, ContentHash, Reply<Option<Media>>),
    Flush(Reply<()>),
    Meta(SessionId, Reply<SessionMeta>),
    Page(SessionId, i64, usize, Reply<StoredPage>),
    Take(SessionId, Elsewhere, Reply<Lease>),
    Release(SessionId, Reply<()>),
    Delete(SessionId, Reply<()>),
    List(Reply<Vec<ListedSession>>),
    FirstPrompt(SessionId, Reply<Option<Entry>>),
    RecordChanges(SessionId, Vec<NewChange>, u64, Reply<Vec<ChangeId>>),
    VoidChanges(SessionId, Vec<ChangeId>, Reply<()>),
    Changes(SessionId, Reply<Vec<Change>>),
    Content(SessionId, ContentHash, Reply<Option<Vec<u8>>>),
}

/// Starts the thread with the first request. The thread ends with this value, after the requests that it has got.
pub(super) struct Owner {
    path: AbsPath,
    /// Outlives the thread, so that leases do.
    presence: Arc<Presence>,
    requests: Mutex<Option<mpsc::Sender<Request>>>,
}

impl Owner {
    pub(super) fn new(path: AbsPath) -> Self {
        Self { presence: Arc::new(Presence::new(&path)), path, requests: Mutex::default() }
    }

    pub(super) async fn ask<T>(&self, request: impl FnOnce(Reply<T>) -> Request) -> Result<T, StoreError> {
        let ended = || StoreError::Busy { reason: "its thread has ended".to_owned() };
        let (reply, answer) = oneshot::channel();
        self.requests()?.send(request(reply)).await.map_err(|_| ended())?;
        answer.await.map_err(|_| ended())?
    }

    /// Starts the thread again where a panic has ended it.
    fn requests(&self) -> Result<mpsc::Sender<Request>, StoreError> {
        let mut requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(requests) = requests.as_ref().filter(|requests| !requests.is_closed()) {
            return Ok(requests.clone());
        }
        let (sender, receiver) = mpsc::channel(WAITING);
        let (path, presence) = (self.path.clone(), Arc::clone(&self.presence));
        thread::Builder::new()
            .name("store".to_owned())
            .spawn(move || serve(&path, &presence, receiver))
            .map_err(|error| StoreError::Busy { reason: error.to_string() })?;
        *requests = Some(sender.clone());
        Ok(sender)
    }
}

fn serve(path: &AbsPath, presence: &Arc<Presence>, mut requests: mpsc::Receiver<Request>) {
    let mut database = None;
    while let Some(request) = requests.blocking_recv() {
        // Each request tries again: the user may have moved a broken file away. What is written to a file that is gone from its place is lost.
        let still = database.take().filter(Database::is_in_place);
        let database = match still.map_or_else(|| Database::open(path, Arc::clone(presence)), Ok) {
            Ok(opened) => database.insert(opened),
            Err(error) => {
                request.refuse(error);
                continue;
            }
        };
        // Whoever asked may have stopped waiting.
        match request {
            Request::Create(meta, reply) => drop(reply.send(database.create(&meta))),
            Request::Append(session, entries, reply) => drop(reply.send(database.append(&session, &entries))),
            Request::KeepMedia(session, media, reply) => drop(reply.send(database.keep_media(&session, &media))),
            Request::Media(session, hash, reply) => drop(reply.send(database.media(&session, hash))),
            Request::Flush(reply) => drop(reply.send(database.flush())),
            Request::Meta(session, reply) => drop(reply.send(database.meta(&session))),
            Request::Page(session, after, limit, reply) => drop(reply.send(database.page(&session, after, limit))),
            Request::Take(session, elsewhere, reply) => drop(reply.send(database.take(&session, elsewhere))),
            Request::Release(session, reply) => drop(reply.send(database.release(&session))),
            Request::Delete(session, reply) => drop(reply.send(database.delete(&session))),
            Request::List(reply) => drop(reply.send(database.list())),
            Request::FirstPrompt(session, reply) => drop(reply.send(database.first_prompt(&session))),
            Request::RecordChanges(session, changes, most_kept, reply) => {
                drop(reply.send(database.record_changes(&session, changes, most_kept)));
            }
            Request::VoidChanges(session, changes, reply) => {
                drop(reply.send(database.void_changes(&session, &changes)));
            }
            Request::Changes(session, reply) => drop(reply.send(database.changes(&session))),
            Request::Content(session, hash, reply) => drop(reply.send(database.content(&session, hash))),
        }
    }
}

impl Request {
    fn refuse(self, error: StoreError) {
        match self {
            Self::Create(_, reply)
            | Self::Append(_, _, reply)
            | Self::KeepMedia(_, _, reply)
            | Self::Flush(reply)
            | Self::Release(_, reply)
            | Self::VoidChanges(_, _, reply)
            | Self::Delete(_, reply) => drop(reply.send(Err(error))),
            Self::Media(_, _, reply) => drop(reply.send(Err(error))),
            Self::Meta(_, reply) => drop(reply.send(Err(error))),
            Self::Page(_, _, _, reply) => drop(reply.send(Err(error))),
            Self::Take(_, _, reply) => drop(reply.send(Err(error))),
            Self::List(reply) => drop(reply.send(Err(error))),
            Self::FirstPrompt(_, reply) => drop(reply.send(Err(error))),
            Self::RecordChanges(_, _, _, reply) => drop(reply.send(Err(error))),
            Self::Changes(_, reply) => drop(reply.send(Err(error))),
            Self::Content(_, _, reply) => drop(reply.send(Err(error))),
        }
    }
}
