//! Subcommands for looking after an installation: each reads, prints and ends. None opens a session or talks to a model.

pub mod auth;
pub mod config;
pub mod doctor;
pub mod logs;
pub mod permissions;
pub mod printable;
pub mod schema;
pub mod trust;

use std::io;
use std::process::ExitCode;

use copydesk_adapters::os::environment::Variables;
use copydesk_engine::engine::Engine;
use copydesk_engine::ports::{Environment, Ports};
use copydesk_workspace::path::AbsPath;

use crate::wiring::Adapters;

/// Where a command is run.
pub struct Surroundings {
    pub variables: Variables,
    pub ports: Ports,
    /// The folder whose configuration counts.
    pub folder: AbsPath,
}

impl Surroundings {
    pub fn of_process() -> io::Result<Self> {
        let folder = AbsPath::new(std::env::current_dir()?)
            .ok_or_else(|| io::Error::other("the current folder has no absolute path"))?;
        Ok(Self { variables: Variables::of_process(), ports: Adapters::of_process().ports, folder })
    }

    async fn survey(&self) -> copydesk_engine::config::Survey {
        Engine::new(self.ports.clone()).survey(self.folder.clone()).await
    }

    fn environment(&self) -> &dyn Environment {
        &*self.ports.environment
    }
}

/// 1 where something is wrong that the user should mend.
fn verdict(is_well: bool) -> ExitCode {
    if is_well { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
