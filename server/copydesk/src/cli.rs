//! The command line: what can be asked of the program, and nothing of how it is done.

use clap::{Parser, Subcommand};

use crate::commands::config::ConfigCommand;
use crate::commands::doctor::Doctor;
use crate::commands::schema::Schema;

#[derive(Debug, Parser)]
#[command(name = "copydesk", version, about = "A coding agent for editors")]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Serve an editor: LSP 3.17 on standard input and output, with ACP's session methods for clients that ask for them
    Serve,
    /// Serve a client of the Agent Client Protocol (Zed, JetBrains and others) on standard input and output
    Acp,
    /// Check what Copydesk needs and finds on this machine; exit code 1 where something must be mended
    Doctor(Doctor),
    /// Look into the configuration of the current folder
    Config {
        #[command(subcommand)]
        command: ConfigCommand,
    },
    /// Print a JSON Schema
    Schema {
        #[arg(default_value = "config")]
        which: Schema,
    },
    /// Print the path of the log
    Logs {
        /// Print what it holds, and what is added to it, until interrupted
        #[arg(short, long)]
        follow: bool,
    },
    /// Show a whole turn on a sample project with a scripted model: needs no key, no network and no editor
    Demo,
}
