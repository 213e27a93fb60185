//! The client of a session: is told what happens, and is asked.

use std::ops::Range;

use serde_json::Value;

use super::{BoxFuture, TerminalPrompt, Typed};
use crate::event::SessionEvent;
use crate::ids::{AskId, CallId, SessionId};
use crate::inquiry::{self, Inquiry, InquiryOutcome};
use crate::message::FileDiff;

pub trait Client: Send + Sync {
    /// Resolves when the event is queued; waits where the client reads too slowly. Never fails: a client that is gone ends the session elsewhere.
    fn update(&self, session: SessionId, event: SessionEvent) -> BoxFuture<'_, ()>;

    /// Whether anybody is there to be asked. Where not, asks are answered at once all the same (R16.2), and no tool is offered that only asks.
    fn can_ask(&self) -> bool {
        true
    }

    /// Asks the user. Dropping the future withdraws the ask.
    fn ask(&self, session: SessionId, ask: Ask) -> BoxFuture<'_, AskOutcome>;

    /// Puts questions to the user. Dropping the future withdraws them. A client without a form for them asks as for a permission.
    fn inquire(&self, session: SessionId, inquiry: Inquiry) -> BoxFuture<'_, InquiryOutcome> {
        Box::pin(inquiry::by_choice(self, session, inquiry))
    }

    /// Asks the user for what a running program waits for; `None` where he gives nothing, or the client has no way to take it that keeps it to itself.
    /// Dropping the future withdraws the question.
    fn type_line(&self, _session: SessionId, _wanted: WantedLine) -> BoxFuture<'_, Option<Typed>> {
        Box::pin(async { None })
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WantedLine {
    pub id: AskId,
    /// The call whose command waits.
    pub call: CallId,
    pub prompt: TerminalPrompt,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Ask {
    pub id: AskId,
    /// The call that waits, already told to the client.
    pub call: CallId,
    pub title: String,
    /// Why it is asked: the rule that decided (R9.4), in words.
    pub reason: String,
    pub input: Value,
    pub preview: Preview,
    /// In the order in which to offer them. Ids are opaque: their meaning stays in the engine.
    pub options: Vec<AskOption>,
}

/// All that will be done, if the answer is yes (R4.1, R4.3, R8.4).
#[derive(Debug, Clone, PartialEq)]
pub enum Preview {
    Nothing,
    Edit(Vec<FileDiff>),
    /// The whole command, control and invisible characters escaped, with its number of lines.
    Command {
        shown: String,
        lines: usize,
        folder: String,
        notes: Vec<String>,
        /// The parts that made it a question, in their order (C59).
        asked: Vec<AskedPart>,
    },
    /// A path outside of the workspace or a secret, with its target where it is a link; or what a project's configuration would have taken. Escaped.
    Access(String),
}

/// A part of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AskedPart {
    /// Bytes of the text that is shown (UTF-8).
    pub span: Range<usize>,
    /// From 1.
    pub line: usize,
    /// As it is shown.
    pub text: String,
    /// The rule that decided, in words.
    pub reason: String,
}

impl AskedPart {
    /// `line 3: git push --dry-run`; of a part over several lines the first.
    pub fn label(&self) -> String {
        match self.text.split_once('\n') {
            Some((first, _)) => format!("line {}: {first} \u{2026}", self.line),
            None => format!("line {}: {}", self.line, self.text),
        }
    }

    /// Whether it stands in this line of the text that is shown, from 1.
    pub fn is_in_line(&self, line: usize) -> bool {
        (self.line..=self.line + self.text.matches('\n').count()).contains(&line)
    }
}

impl Preview {
    /// The parts to mark, in words, for clients that draw no marks.
    pub fn marks(&self) -> Option<String> {
        let lines: Vec<String> = self.marked().iter().map(|part| format!("- {}", part.label())).collect();
        (!lines.is_empty()).then(|| format!("Asked because of:\n{}", lines.join("\n")))
    }

    /// The parts to mark in a command. None where the whole of it is asked: there is nothing to tell apart.
    pub fn marked(&self) -> &[AskedPart] {
        match self {
            Preview::Command { shown, asked, .. } if asked.iter().all(|part| part.text.trim() != shown.trim()) => asked,
            Preview::Command { .. } | Preview::Nothing | Preview::Edit(_) | Preview::Access(_) => &[],
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AskOption {
    pub id: String,
    pub label: String,
    pub kind: OptionKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OptionKind {
    AllowOnce,
    /// For the rest of the session.
    AllowAlways,
    /// In every session of the project, until it is revoked.
    AllowInProject,
    /// Of a question: no consent to anything.
    Answer,
    RejectOnce,
    /// Remembered.
    RejectAlways,
}

/// Anything that is not a known option is no consent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AskOutcome {
    /// `message`: what the user wants instead, with a rejection.
    Selected { option: String, message: Option<String> },
    /// The client ended the turn.
    Cancelled,
    /// No answer can come (R16.2): `reason` is for the model.
    Undeliverable { reason: String },
}
