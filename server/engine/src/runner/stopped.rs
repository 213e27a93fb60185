//! Why a call did not come to its result, and what of it the model, the client and the turn are told.

use crate::message::{SeenFile, ToolStatus, TurnEnd};
use crate::tool::ToolError;

pub(super) enum Stopped {
    Failed {
        text: String,
        seen: Vec<SeenFile>,
    },
    Cancelled {
        text: String,
        stop: Option<TurnEnd>,
    },
    /// The turn ends with this call.
    Turn {
        text: String,
        stop: TurnEnd,
    },
}

impl Stopped {
    pub(super) fn failed(text: String) -> Self {
        Self::Failed { text, seen: Vec::new() }
    }

    pub(super) fn cancelled() -> Self {
        Self::Cancelled { text: "Cancelled by the user before it was done.".to_owned(), stop: None }
    }

    pub(super) fn of(error: ToolError, may_quote: bool) -> Self {
        match error {
            ToolError::Tell(text) => Self::failed(text),
            ToolError::Quote { text, seen, .. } if may_quote => Self::Failed { text, seen },
            ToolError::Quote { withheld, .. } => Self::failed(withheld),
            ToolError::Fatal(text) => Self::Turn { text: text.clone(), stop: TurnEnd::Failed { message: text } },
            ToolError::Rejected(text) => Self::Turn { text, stop: TurnEnd::Rejected },
            ToolError::Ended(text) => Self::Cancelled { text, stop: Some(TurnEnd::Cancelled) },
            ToolError::Cancelled => Self::cancelled(),
            ToolError::Interrupted(text) => Self::Cancelled { text, stop: None },
        }
    }

    pub(super) fn into_parts(self) -> (ToolStatus, String, Vec<SeenFile>, Option<TurnEnd>) {
        match self {
            Self::Failed { text, seen } => (ToolStatus::Failed, text, seen, None),
            Self::Cancelled { text, stop } => (ToolStatus::Cancelled, text, Vec::new(), stop),
            Self::Turn { text, stop } => (ToolStatus::Failed, text, Vec::new(), Some(stop)),
        }
    }
}

/// Outside of the preparation nothing is quoted.
impl From<ToolError> for Stopped {
    fn from(error: ToolError) -> Self {
        Self::of(error, false)
    }
}
