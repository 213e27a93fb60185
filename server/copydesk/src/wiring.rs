//! Which adapter stands behind which port. Opens nothing: every adapter waits for its first use.

use std::sync::Arc;

use copydesk_adapters::checks::CheckCommands;
use copydesk_adapters::os::{BlockingFiles, OsClock, OsDisk, OsEnvironment, OsIds, OsShell, OsSecrets};
use copydesk_adapters::providers::Providers;
use copydesk_adapters::store::SqliteStore;
use copydesk_engine::engine::Engine;
use copydesk_engine::ports::Ports;
use tracing_subscriber::filter::LevelFilter;

use crate::lsp::Services;

pub fn ports() -> Ports {
    todo!()
}

pub fn services(ports: Ports) -> Services {
    todo!()
}

/// Level by `COPYDESK_LOG` (`error`, `warn`, `info`, `debug`, `trace`); warnings where it is unset or unknown.
pub fn log_to_stderr() {
    let level = std::env::var("COPYDESK_LOG").ok().and_then(|level| level.parse().ok()).unwrap_or(LevelFilter::WARN);
    // Fails only when a subscriber is set already, in tests.
    let _ = tracing_subscriber::fmt().with_max_level(level).with_writer(std::io::stderr).with_ansi(false).try_init();
}
