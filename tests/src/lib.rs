//! The harness of the end-to-end tests.

#![allow(clippy::expect_used, clippy::unwrap_used, reason = "a harness that cannot go on fails the test")]

pub mod daemon;
pub mod fake_editor;
pub mod scripted_model;
