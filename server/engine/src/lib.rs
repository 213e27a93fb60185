//! The agent: messages, sessions, the run loop, tools, permission, configuration, and the ports through which it meets the world.
//!
//! Pure but async: no HTTP, no database, no LSP or ACP, no `std::fs`, no processes, no clock of its own.
#![deny(clippy::disallowed_methods)]

pub mod agent;
pub mod config;
pub mod confinement;
pub mod cost;
pub mod diffs;
pub mod engine;
pub mod escape;
pub mod event;
pub mod format;
pub mod history;
pub mod ids;
pub mod image;
pub mod inquiry;
pub mod jobs;
pub mod media;
pub mod message;
pub mod output;
pub mod overlay;
pub mod permission;
mod plan;
pub mod ports;
pub mod prompt;
pub mod registry;
mod replay;
pub mod review;
pub mod run;
pub mod runner;
pub mod search;
pub mod session;
pub mod skills;
pub mod snapshots;
#[doc(hidden)]
pub mod testing;
pub mod tool;
pub mod tools;
pub mod undo;
pub mod view;
pub mod web;

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]
mod workbench;
