//! The one binary of the end-to-end tests: a module for each door that they come in by.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![allow(clippy::disallowed_methods, reason = "tests start programs and make folders")]

#[path = "all/acp.rs"]
mod acp;
#[path = "all/acp_clients.rs"]
mod acp_clients;
#[path = "all/acp_files.rs"]
mod acp_files;
#[path = "all/auth.rs"]
mod auth;
#[path = "all/command_prompts.rs"]
mod command_prompts;
#[path = "all/commands.rs"]
mod commands;
#[path = "all/cost.rs"]
mod cost;
#[path = "all/demo.rs"]
mod demo;
#[path = "all/diffs.rs"]
mod diffs;
#[path = "all/editing.rs"]
mod editing;
#[path = "all/editor_languages.rs"]
mod editor_languages;
#[path = "all/first_run.rs"]
mod first_run;
#[path = "all/formatting.rs"]
mod formatting;
#[path = "all/language_servers.rs"]
mod language_servers;
#[path = "all/llmock.rs"]
mod llmock;
#[path = "all/neovim.rs"]
mod neovim;
#[path = "all/patch_oracle.rs"]
mod patch_oracle;
#[path = "all/permissions.rs"]
mod permissions;
#[path = "all/plain_lsp.rs"]
mod plain_lsp;
#[path = "all/questions.rs"]
mod questions;
#[path = "all/read_only_commands.rs"]
mod read_only_commands;
#[path = "all/real_formatters.rs"]
mod real_formatters;
#[path = "all/scripted_model.rs"]
mod scripted_model;
#[path = "all/sessions.rs"]
mod sessions;
#[path = "all/shell_proof.rs"]
mod shell_proof;
#[path = "all/sudo.rs"]
mod sudo;
#[path = "all/terminal.rs"]
mod terminal;
#[path = "all/trust.rs"]
mod trust;
#[path = "all/turns.rs"]
mod turns;
#[path = "all/undo.rs"]
mod undo;
#[path = "all/undo_by_users.rs"]
mod undo_by_users;
#[path = "all/undo_of_commands.rs"]
mod undo_of_commands;
#[path = "all/undo_shared.rs"]
mod undo_shared;
#[path = "all/undo_stores.rs"]
mod undo_stores;
#[path = "all/upkeep.rs"]
mod upkeep;
#[path = "all/web.rs"]
mod web;
#[path = "all/wire.rs"]
mod wire;
