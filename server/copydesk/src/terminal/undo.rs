//! `copydesk undo`: takes back, or puts back, what the agent did to the files of a folder. What of it is possible is the engine's.

use std::sync::Arc;

use copydesk_engine::engine::{Engine, EngineError, History, Lives, LoadSession};
use copydesk_engine::escape::escaped;
use copydesk_engine::ids::{CallId, MessageId};
use copydesk_engine::ports::{Connection, Elsewhere, StoreError};
use copydesk_engine::undo::{UndoError, UndoWhat};
use serde_json::json;

use super::screen::Screen;
use super::{FAILED, MISUSED, Refusal, capitalised, chosen_session, current_folder, failed};
use crate::change_views;
use crate::cli::Undo;

/// The exit code: 0 where all of it was done.
pub(super) async fn run(
    undo: &Undo,
    engine: &Arc<Engine>,
    connection: Connection,
    screen: &Screen,
) -> Result<u8, Refusal> {
    let folder = current_folder()?;
    let id = chosen_session(engine, &folder, undo.session.as_deref()).await?;
    let load = LoadSession {
        id: id.clone(),
        folder,
        additional: Vec::new(),
        connection,
        history: History::Known,
        elsewhere: Elsewhere::Leave,
    };
    let loaded = engine.load_session(load).await.map_err(|error| match error {
        EngineError::OtherFolder { folder, .. } => {
            Refusal { code: FAILED, text: format!("The session belongs to {folder}: run this there.") }
        }
        error => failed(&error),
    })?;
    if loaded.lives == Lives::Elsewhere {
        return Err(elsewhere(id.as_str()));
    }
    let report = loaded.session.undo(what(undo)).await.map_err(|error| match error {
        UndoError::Store(StoreError::Elsewhere(id)) => elsewhere(id.as_str()),
        UndoError::UnknownTurn(_) | UndoError::UnknownCall(_) => {
            Refusal { code: MISUSED, text: format!("{}.", capitalised(&error.to_string())) }
        }
        error => failed(&error),
    })?;
    let text = if undo.json {
        format!("{}\n", json!(change_views::undone(&report)))
    } else {
        format!("{}\n", escaped(report.to_string().trim_end()))
    };
    screen.write(&text).await;
    Ok(if report.is_whole() { 0 } else { FAILED })
}

fn what(undo: &Undo) -> UndoWhat {
    match (&undo.turn, &undo.call, undo.redo) {
        (Some(turn), ..) => UndoWhat::Turn(MessageId::new(turn)),
        (None, Some(call), _) => UndoWhat::Call(CallId::new(call)),
        (None, None, true) => UndoWhat::Redo,
        (None, None, false) => UndoWhat::Last,
    }
}

fn elsewhere(id: &str) -> Refusal {
    let text = format!(
        "Session {id} is open in another Copydesk, and only there its edits can be taken back: undo there, or close it there and run this again."
    );
    Refusal { code: FAILED, text }
}
