//! The modes of permission that a user chooses from: how much runs without a question where no rule of theirs speaks. Deny and ask rules of the user, and
//! guards, stand in every mode.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// In order of freedom: the least is the strictest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Commands that may change something are asked, and edits that undo does not reach, unless a rule allows them.
    #[default]
    Ask,
    /// Edits and plain work on files inside the workspace's folders are free: nothing destructive, no network (R9.3).
    Workspace,
    /// Whatever runs inside of the enforced sandbox without network is free too.
    Auto,
}

impl Mode {
    pub const ALL: [Self; 3] = [Self::Ask, Self::Workspace, Self::Auto];

    /// As configuration, options and the command line name it.
    pub fn id(self) -> &'static str {
        match self {
            Self::Ask => "ask",
            Self::Workspace => "workspace",
            Self::Auto => "auto",
        }
    }

    /// For people.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ask => "Ask",
            Self::Workspace => "Workspace",
            Self::Auto => "Auto",
        }
    }

    /// For people: what is free in it.
    pub fn description(self) -> &'static str {
        match self {
            Self::Ask => {
                "Asks before it runs commands, and before edits that undo does not reach, as far as no rule of yours allows them"
            }
            Self::Workspace => {
                "Edits and simple file commands inside the workspace are free; network, destructive and other commands are asked"
            }
            Self::Auto => {
                "As workspace, and commands run free inside the sandbox without network; without a sandbox it is workspace"
            }
        }
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id())
    }
}

impl FromStr for Mode {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        Self::ALL.into_iter().find(|mode| mode.id() == text).ok_or(())
    }
}
