//! The harness of the end-to-end tests.

#![allow(clippy::expect_used, clippy::unwrap_used, reason = "a harness that cannot go on fails the test")]
#![allow(clippy::disallowed_methods, reason = "a harness starts programs and makes folders")]

pub mod acp_schema;
pub mod choices;
pub mod daemon;
pub mod fake_editor;
pub mod marked_runs;
pub mod pty;
pub mod raw_client;
pub mod scripted_model;
pub mod shell_texts;
