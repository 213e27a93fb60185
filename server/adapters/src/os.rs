//! The operating system: disk, surroundings, commands. Unix alone; what only Linux offers stands in files of its own.

pub mod disk;
pub mod environment;
pub mod files;
mod folder;
