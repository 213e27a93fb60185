//! The operating system: disk, searches, surroundings, commands. Unix alone; what only Linux offers stands in files of its own.

pub mod auth_file;
mod capture;
pub(crate) mod child_variables;
pub mod disk;
pub mod environment;
pub mod files;
mod folder;
pub mod git_head;
pub mod grant_file;
pub mod kept_file;
pub(crate) mod process_tree;
mod sandbox;
pub mod search;
pub mod shell;
pub mod snapshots;
pub mod supervisor;
mod terminal;
pub mod trust_file;
