//! The command line: what can be asked of the program, and nothing of how it is done.

use clap::{Parser, Subcommand};

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
    /// Show a whole turn on a sample project with a scripted model: needs no key, no network and no editor
    Demo,
}
