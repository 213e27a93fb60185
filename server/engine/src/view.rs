//! Text as the agent sees it, and the one way to change it: open documents over the disk (R6.1), edits through the editor or an atomic write (R6.2).

use std::sync::Arc;

use copydesk_workspace::disk::{DirEntry, Stat};
use copydesk_workspace::edit::EditSet;
use copydesk_workspace::encoding::TextEncoding;
use copydesk_workspace::hash::ContentHash;
use copydesk_workspace::path::{AbsPath, DocKey};
use ropey::Rope;

use crate::overlay::Overlay;
use crate::ports::{Editor, Files};

/// Narrowed to what a call was granted.
#[derive(Clone)]
pub struct View {
    pub(crate) files: Arc<dyn Files>,
    pub(crate) editor: Arc<dyn Editor>,
    pub(crate) overlay: Arc<Overlay>,
}

/// The text of a file at one moment.
#[derive(Debug, Clone)]
pub struct Snapshot {
    pub path: AbsPath,
    pub key: DocKey,
    pub text: Rope,
    pub hash: ContentHash,
    pub source: Source,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    Open { uri: String, version: i32 },
    Disk { encoding: TextEncoding, bytes: ContentHash },
}

/// A prepared change of one file.
#[derive(Debug, Clone)]
pub enum FileEdit {
    Modify { base: Snapshot, edits: EditSet },
    Create { path: AbsPath, text: String },
}

/// What an applied edit came to.
#[derive(Debug, Clone)]
pub struct Applied {
    pub path: AbsPath,
    pub before: Option<Rope>,
    /// With what the user typed meanwhile.
    pub after: Rope,
    pub open: Option<(String, i32)>,
}

#[allow(dead_code)]
fn _uses(_: DirEntry, _: Stat) {}
