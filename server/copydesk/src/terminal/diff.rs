//! `copydesk diff`: what the agent did to the files of a folder, as a patch. Opens no session: another Copydesk may have it.

use copydesk_engine::diffs::{ChangesDiff, DiffError};
use copydesk_engine::engine::Engine;
use copydesk_engine::escape::escaped;
use copydesk_engine::ids::MessageId;
use copydesk_engine::ports::Connection;
use copydesk_engine::review::ChangesScope;
use serde_json::json;

use super::paint::Paint;
use super::screen::Screen;
use super::transcript::painted_patch;
use super::{MISUSED, Refusal, capitalised, chosen_session, current_folder, failed};
use crate::change_views;
use crate::cli::Diff;

/// The patch is written as it is where a program reads it, and for people where `is_terminal`.
pub(super) async fn run(
    diff: &Diff,
    engine: &Engine,
    connection: &Connection,
    screen: &Screen,
    paint: Paint,
    is_terminal: bool,
) -> Result<u8, Refusal> {
    let session = chosen_session(engine, &current_folder()?, diff.session.as_deref()).await?;
    let shown = if diff.head {
        engine.diff_to_head(&session, connection).await
    } else {
        let scope = match (&diff.turn, diff.all) {
            (Some(turn), _) => ChangesScope::Turn(MessageId::new(turn)),
            (None, true) => ChangesScope::Session,
            (None, false) => ChangesScope::LastTurn,
        };
        engine.diff(&session, &scope).await
    };
    let shown = shown.map_err(|error| match error {
        DiffError::UnknownTurn(_) => Refusal { code: MISUSED, text: format!("{}.", capitalised(&error.to_string())) },
        error => failed(&error),
    })?;
    screen.write(&text(diff, &shown, paint, is_terminal)).await;
    Ok(0)
}

fn text(diff: &Diff, shown: &ChangesDiff, paint: Paint, is_terminal: bool) -> String {
    if diff.json {
        return format!("{}\n", json!(change_views::diff(shown)));
    }
    let text = if diff.stat { shown.diff.stat() } else { shown.diff.patch() };
    match (is_terminal, diff.stat) {
        (true, false) => painted_patch(&text, paint),
        (true, true) => escaped(&text),
        (false, _) => text,
    }
}
