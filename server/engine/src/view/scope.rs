//! What a call may touch: the real paths that were judged, so that a link swapped after the judgement leads nowhere.

use copydesk_workspace::path::AbsPath;

#[derive(Debug)]
pub(crate) enum Scope {
    All,
    Paths(Vec<Granted>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Granted {
    pub(crate) real: AbsPath,
    pub(crate) write: bool,
}

impl Scope {
    pub(super) fn reads(&self, real: &AbsPath) -> bool {
        match self {
            Self::All => true,
            Self::Paths(granted) => granted.iter().any(|granted| granted.real == *real),
        }
    }

    pub(super) fn writes(&self, real: &AbsPath) -> bool {
        match self {
            Self::All => true,
            Self::Paths(granted) => granted.iter().any(|granted| granted.write && granted.real == *real),
        }
    }
}
