//! Text and files as the agent sees them: pure values and functions, with no tokio and no IO.
//!
//! Whatever touches the outside does so through the [`disk::Disk`] trait, which `adapters` implements.
#![deny(clippy::disallowed_methods)]

pub mod change_log;
pub mod delta;
pub mod diff;
pub mod disk;
pub mod document;
pub mod edit;
pub mod encoding;
pub mod hash;
pub mod matching;
pub mod merge;
pub mod patch;
pub mod path;
pub mod position;
pub mod review;
pub mod uri;
