//! The faces, the conversions between wire and engine, the command line, and the wiring. The engine knows none of it.

#![allow(
    clippy::disallowed_methods,
    reason = "the outermost crate: wiring, process and demo touch the system themselves"
)]

pub mod acp;
pub mod acp_questions;
pub mod acp_types;
pub mod agent_description;
mod change_views;
pub mod cli;
pub mod commands;
pub mod demo;
mod grant_view;
pub mod log;
pub mod lsp;
pub mod process;
pub mod serve;
pub mod session_client;
pub mod session_methods;
mod shown_prompt;
pub mod terminal;
pub mod wiring;
