//! What language servers know of code: where things are defined and used, and the edits that they make. Problems are told elsewhere.

use std::ops::Range;

use copydesk_workspace::path::AbsPath;
use copydesk_workspace::position::{Position, PositionEncoding};
use ropey::Rope;

use super::DiagnosticsTarget;

#[derive(Debug, Clone)]
pub struct LanguageQuestion {
    pub about: LanguageAbout,
    pub file: DiagnosticsTarget,
    /// Further texts that the server is to have just as they are here.
    pub others: Vec<(AbsPath, Rope)>,
}

/// Places are bytes in the text of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LanguageAbout {
    Definition(usize),
    References(usize),
    Implementation(usize),
    Hover(usize),
    DocumentSymbols,
    WorkspaceSymbols(String),
    /// What stands there, as one that calls and is called.
    CallHierarchy(usize),
    IncomingCalls(usize),
    OutgoingCalls(usize),
    Rename {
        at: usize,
        to: String,
    },
    CodeActions(Range<usize>),
    /// What the action of this title would change.
    CodeAction {
        at: Range<usize>,
        title: String,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LanguageAnswer {
    /// The server.
    pub by: String,
    /// Of the columns of all positions.
    pub encoding: PositionEncoding,
    pub found: LanguageFound,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LanguageFound {
    Places(Vec<LanguagePlace>),
    /// Markdown; empty where there is nothing to say.
    Text(String),
    Symbols(Vec<LanguageSymbol>),
    Calls(Vec<LanguageCall>),
    /// In the order in which they are to be made.
    Changes(Vec<LanguageChange>),
    Actions(Vec<LanguageAction>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LanguagePlace {
    pub path: AbsPath,
    pub range: Range<Position>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LanguageSymbol {
    pub name: String,
    /// A word, such as `function`.
    pub kind: &'static str,
    pub container: Option<String>,
    pub place: LanguagePlace,
    /// 0 for one that stands in no other.
    pub depth: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LanguageCall {
    /// Who calls, or is called.
    pub symbol: LanguageSymbol,
    /// Where the calls stand.
    pub calls: Vec<LanguagePlace>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LanguageChange {
    /// `version`: of the open document that the edits are for, where that was said.
    Edit {
        path: AbsPath,
        version: Option<i32>,
        edits: Vec<(Range<Position>, String)>,
    },
    Create {
        path: AbsPath,
    },
    Move {
        from: AbsPath,
        to: AbsPath,
    },
    Delete {
        path: AbsPath,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LanguageAction {
    pub title: String,
    /// Such as `quickfix`.
    pub kind: Option<String>,
    pub is_preferred: bool,
    /// Why it cannot be carried out here.
    pub obstacle: Option<String>,
}

/// Each text says what to do next; it is for the model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LanguageError {
    #[error("no language server looks at such files here; use `grep`, or `copydesk doctor` to see which are missing")]
    Unavailable,
    #[error("{by} does not know how to do that; use `grep` or edit the files yourself")]
    Unsupported { by: String },
    #[error("the language server was not ready in time; it may still be reading the project: try again in a moment")]
    NotReady,
    #[error("{by} says: {text}")]
    Refused { by: String, text: String },
}

impl LanguageError {
    pub fn retry(&self) -> bool {
        match self {
            Self::NotReady => true,
            Self::Unavailable | Self::Unsupported { .. } | Self::Refused { .. } => false,
        }
    }
}
