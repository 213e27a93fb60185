//! Sessions that are stored: listed, opened again with or without a replay, deleted. A session that another daemon holds is shown and left alone.

use copydesk_workspace::hash::ContentHash;
use copydesk_workspace::path::AbsPath;

use super::{Engine, EngineError, Place, roots};
use crate::config::{self, Config, EditorSays};
use crate::event::SessionEvent;
use crate::history;
use crate::ids::{Millis, SessionId};
use crate::image::{Image, Prompt};
use crate::media::Media;
use crate::message::{Entry, PromptPart};
use crate::ports::{Connection, Elsewhere, Lease, ListedSession, SessionMeta, Store, StoreError};
use crate::replay::Replay;
use crate::session::SessionHandle;

/// Rows that are read, and replayed, in one piece.
const PAGE: usize = 200;

/// Sessions in one page of the list.
const LISTED: usize = 50;

/// The longest title, in characters.
const TITLE: usize = 80;

pub struct LoadSession {
    pub id: SessionId,
    /// As the client knows it; the session's own, or it is refused.
    pub folder: AbsPath,
    /// Further roots, instead of those that the session had.
    pub additional: Vec<AbsPath>,
    pub connection: Connection,
    pub history: History,
    pub elsewhere: Elsewhere,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum History {
    /// The client is told the whole conversation before the session is open.
    Replayed,
    /// The client has it.
    Known,
}

pub struct Loaded {
    pub session: SessionHandle,
    pub lives: Lives,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lives {
    Here,
    /// In another daemon that is alive: prompts are refused here.
    Elsewhere,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Listing {
    /// Sessions of this folder alone.
    pub folder: Option<AbsPath>,
    /// `SessionPage::next` of the page before.
    pub cursor: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionPage {
    pub sessions: Vec<SessionSummary>,
    /// Opaque; `None` at the end.
    pub next: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionSummary {
    pub meta: SessionMeta,
    /// The beginning of the first prompt.
    pub title: Option<String>,
    pub updated: Millis,
}

/// What was read of a session.
#[derive(Default)]
pub(crate) struct Rows {
    pub(crate) entries: Vec<Entry>,
    /// What the user is told when the session opens.
    pub(crate) notices: Vec<String>,
    /// The last row that was read.
    last: i64,
}

impl Engine {
    /// Opens a session that is stored, under its own id and in its own folder. A turn that was running when its daemon died is ended as interrupted
    /// (R12.4). A session that is open on this connection stays as it is.
    pub async fn load_session(&self, load: LoadSession) -> Result<Loaded, EngineError> {
        let _transition = self.transitions.begin(&load.id).await;
        if let Some(loaded) = self.reopen(&load).await? {
            return Ok(loaded);
        }
        let meta = self.ports.store.meta(load.id.clone()).await?;
        self.check_folder(&meta, &load.folder).await?;
        let roots = roots(&meta.folder, load.additional.clone());
        let place = self.place(meta.folder, roots).await;
        let config = config::load(&self.ports, &place.facts, EditorSays::of(&*load.connection.editor)).await;
        self.resume(load, place, config).await
    }

    /// Used last first. Sessions in which nothing was ever asked are listed while they are open here.
    pub async fn list_sessions(&self, listing: Listing) -> Result<SessionPage, EngineError> {
        let after = listing.cursor.as_deref().map(|cursor| parse_cursor(cursor).ok_or(EngineError::UnknownCursor));
        let after = after.transpose()?;
        let folders = match listing.folder {
            Some(folder) => Some([self.real(&folder).await, folder]),
            None => None,
        };
        let is_wanted = |listed: &ListedSession| {
            let is_of_folder = folders.as_ref().is_none_or(|folders| folders.contains(&listed.meta.folder));
            let is_behind = after.as_ref().is_none_or(|after| key(listed) < *after);
            is_of_folder && is_behind && (listed.has_prompt || self.session(&listed.meta.id).is_ok())
        };
        let mut listed = self.ports.store.list().await?;
        listed.retain(is_wanted);
        listed.sort_by_key(|listed| std::cmp::Reverse(key(listed)));
        let next = listed.get(LISTED.saturating_sub(1)).filter(|_| listed.len() > LISTED).map(cursor);
        listed.truncate(LISTED);
        let mut sessions = Vec::with_capacity(listed.len());
        for ListedSession { meta, updated, .. } in listed {
            let prompt = self.ports.store.first_prompt(meta.id.clone()).await?;
            sessions.push(SessionSummary { meta, updated, title: prompt.as_ref().and_then(title) });
        }
        Ok(SessionPage { sessions, next })
    }

    /// Ends the session where it is open on this connection, and removes it for good. Nothing where it is gone already.
    pub async fn delete_session(&self, id: &SessionId, connection: &Connection) -> Result<(), EngineError> {
        let _transition = self.transitions.begin(id).await;
        match self.end_session(id, connection).await {
            Ok(()) | Err(EngineError::UnknownSession(_)) => Ok(self.ports.store.delete(id.clone()).await?),
            Err(error) => Err(error),
        }
    }

    /// Where the session is open here and nobody else has written to it meanwhile.
    async fn reopen(&self, load: &LoadSession) -> Result<Option<Loaded>, EngineError> {
        let Ok(session) = self.session(&load.id) else { return Ok(None) };
        if !session.belongs_to(&load.connection) {
            return Err(EngineError::OpenElsewhere(load.id.clone()));
        }
        self.check_folder(&self.ports.store.meta(load.id.clone()).await?, &load.folder).await?;
        if self.ports.store.take(load.id.clone(), load.elsewhere).await? != Lease::Kept {
            // What is open here is out of date.
            self.end_session(&load.id, &load.connection).await?;
            return Ok(None);
        }
        if load.history == History::Replayed {
            let context = session.context();
            let mut replay = Replay::new(&context.registry, &context.facts);
            let mut start = 0;
            loop {
                let page = context.journal.page(start, PAGE);
                if page.is_empty() {
                    break;
                }
                start += page.len();
                tell(&*self.ports.store, load, &mut replay, &page).await;
            }
            tell_usage(load, &replay, &context.config()).await;
        }
        Ok(Some(Loaded { session, lives: Lives::Here }))
    }

    /// The lease is asked for when all is read, so that a load that is given up on holds nothing; what was written meanwhile is read behind it.
    pub(crate) async fn resume(&self, load: LoadSession, place: Place, config: Config) -> Result<Loaded, EngineError> {
        let mut replay = Replay::new(&self.registry, &place.facts);
        let mut rows = Rows::default();
        self.read(&load, &mut replay, &mut rows).await?;
        let lease = self.ports.store.take(load.id.clone(), load.elsewhere).await?;
        self.read(&load, &mut replay, &mut rows).await?;
        let lives = match lease {
            Lease::Elsewhere => Lives::Elsewhere,
            Lease::Kept | Lease::Taken => {
                let closing = history::close_interrupted(&rows.entries, self.ports.clock.now());
                if !closing.is_empty() {
                    self.ports.store.append(load.id.clone(), closing.clone()).await?;
                    tell(&*self.ports.store, &load, &mut replay, &closing).await;
                    rows.entries.extend(closing);
                }
                Lives::Here
            }
        };
        tell_usage(&load, &replay, &config).await;
        if lives == Lives::Elsewhere {
            rows.notices.push(format!("{}.", StoreError::Elsewhere(load.id.clone())));
        }
        let session = self.open(load.id, place, config, load.connection, rows)?;
        Ok(Loaded { session, lives })
    }

    /// What is stored behind the rows that were read, told page by page.
    async fn read(&self, load: &LoadSession, replay: &mut Replay<'_>, rows: &mut Rows) -> Result<(), StoreError> {
        loop {
            let page = self.ports.store.page(load.id.clone(), rows.last, PAGE).await?;
            let Some(last) = page.last else { return Ok(()) };
            rows.last = last;
            tell(&*self.ports.store, load, replay, &page.entries).await;
            rows.entries.extend(page.entries);
            rows.notices.extend(page.damaged.into_iter().map(|(row, reason)| {
                format!(
                    "Row {row} of the stored session could not be read and is left out of the conversation: {reason}"
                )
            }));
        }
    }

    async fn check_folder(&self, meta: &SessionMeta, folder: &AbsPath) -> Result<(), EngineError> {
        if *folder == meta.folder || self.real(folder).await == self.real(&meta.folder).await {
            return Ok(());
        }
        Err(EngineError::OtherFolder { session: meta.id.clone(), folder: meta.folder.clone() })
    }

    /// Itself where it is gone.
    pub(super) async fn real(&self, folder: &AbsPath) -> AbsPath {
        self.ports.files.real_path(folder.clone()).await.unwrap_or_else(|_| folder.clone())
    }
}

async fn tell(store: &dyn Store, load: &LoadSession, replay: &mut Replay<'_>, entries: &[Entry]) {
    // The replay also keeps what its end is told by; for a client that knows the history there is none.
    if load.history == History::Known {
        return;
    }
    for entry in entries {
        match replay.event(entry) {
            Some(SessionEvent::User { message, prompt }) => {
                let prompt = with_images(store, load, prompt).await;
                update(load, SessionEvent::User { message, prompt }).await;
            }
            Some(SessionEvent::ToolCallUpdate(mut view)) => {
                view.media = media_of(store, load, entry).await;
                update(load, SessionEvent::ToolCallUpdate(view)).await;
            }
            Some(event) => update(load, event).await,
            None => {}
        }
    }
}

/// Those that the store still has.
async fn with_images(store: &dyn Store, load: &LoadSession, prompt: Prompt) -> Prompt {
    let mut images: Vec<Image> = Vec::new();
    for part in prompt.parts() {
        let PromptPart::Image { hash, .. } = part else { continue };
        if images.iter().any(|image| image.hash() == *hash) {
            continue;
        }
        images.extend(kept(store, load, *hash).await.and_then(|media| media.as_image().cloned()));
    }
    Prompt::stored(prompt.split().0, images)
}

/// What a result shows, as far as the store still has it.
async fn media_of(store: &dyn Store, load: &LoadSession, entry: &Entry) -> Vec<Media> {
    let Entry::ToolResult { result, .. } = entry else { return Vec::new() };
    let mut media = Vec::with_capacity(result.media.len());
    for part in &result.media {
        media.extend(kept(store, load, part.hash).await);
    }
    media
}

async fn kept(store: &dyn Store, load: &LoadSession, hash: ContentHash) -> Option<Media> {
    store.media(load.id.clone(), hash).await.unwrap_or_else(|error| {
        tracing::warn!(session = %load.id, %error, "an image or document could not be read");
        None
    })
}

async fn tell_usage(load: &LoadSession, replay: &Replay<'_>, config: &Config) {
    if let Some(usage) = replay.usage(config) {
        update(load, usage).await;
    }
}

async fn update(load: &LoadSession, event: SessionEvent) {
    load.connection.client.update(load.id.clone(), event).await;
}

/// White space as single spaces, cut at the limit.
fn title(prompt: &Entry) -> Option<String> {
    let Entry::User { parts, .. } = prompt else { return None };
    let text = parts.iter().find_map(|part| match part {
        PromptPart::Text { text } if !text.trim().is_empty() => Some(text.as_str()),
        PromptPart::Text { .. } | PromptPart::Link { .. } | PromptPart::Resource { .. } | PromptPart::Image { .. } => {
            None
        }
    })?;
    // No more of a long prompt is looked at than can be shown.
    let start: String = text.trim_start().chars().take(TITLE * 4).collect();
    let words = start.split_whitespace().collect::<Vec<_>>().join(" ");
    let is_cut = words.chars().count() > TITLE || start.len() < text.trim().len();
    let mut title: String = words.chars().take(if is_cut { TITLE - 1 } else { TITLE }).collect();
    if is_cut {
        title.push('…');
    }
    Some(title)
}

/// The order of the list, last first.
fn key(listed: &ListedSession) -> (Millis, SessionId) {
    (listed.updated, listed.meta.id.clone())
}

fn cursor(listed: &ListedSession) -> String {
    format!("{}.{}", listed.updated.0, listed.meta.id)
}

fn parse_cursor(cursor: &str) -> Option<(Millis, SessionId)> {
    let (updated, id) = cursor.split_once('.')?;
    (!id.is_empty()).then_some((Millis(updated.parse().ok()?), SessionId::new(id)))
}

#[cfg(test)]
#[path = "stored_tests.rs"]
mod tests;
