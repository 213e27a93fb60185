//! The command line: what can be asked of the program, and nothing of how it is done.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use copydesk_engine::permission::Mode;

use crate::commands::auth::AuthCommand;
use crate::commands::config::ConfigCommand;
use crate::commands::doctor::Doctor;
use crate::commands::permissions::PermissionsCommand;
use crate::commands::schema::Schema;
use crate::commands::trust::Trust;

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
    /// Run one prompt in this folder and show its turn; what standard input holds, where it is no terminal, is given as context
    Run(Run),
    /// Take back what the agent did to the files of this folder in its last turn; what you changed yourself stays. Exit code 1 where not all of it could be
    /// taken back
    Undo(Undo),
    /// Show what the agent did to the files of this folder in its last turn, as a patch
    Diff(Diff),
    /// Keep the keys of providers in a file that only you can read
    Auth {
        #[command(subcommand)]
        command: AuthCommand,
    },
    /// Look at what a project's configuration wants, and decide whether it is trusted
    Trust(Trust),
    /// See and take back what you have allowed for longer than a session, or allow something without being asked
    Permissions {
        #[command(subcommand)]
        command: Option<PermissionsCommand>,
        /// Print JSON
        #[arg(long, global = true)]
        json: bool,
    },
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

#[derive(Debug, Args)]
pub struct Run {
    /// What is asked; its words are joined by spaces
    pub prompt: Vec<String>,
    /// Give the model this file with the prompt: an image to look at, or text to read; may be given several times
    #[arg(short, long = "file", value_name = "PATH")]
    pub files: Vec<PathBuf>,
    /// How the turn is written to standard output
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
    pub format: OutputFormat,
    /// Go on with the session of this folder that was used last
    #[arg(short = 'c', long = "continue", conflicts_with = "session")]
    pub go_on: bool,
    /// Go on with the session of this id
    #[arg(short, long, value_name = "ID")]
    pub session: Option<String>,
    /// The model, as `provider/model`
    #[arg(short, long)]
    pub model: Option<String>,
    /// The agent, such as `build` or `plan`
    #[arg(long)]
    pub agent: Option<String>,
    /// How much runs without a question where no rule of yours speaks; kept with the session
    #[arg(long, value_enum)]
    pub permission_mode: Option<PermissionMode>,
}

#[derive(Debug, Args)]
pub struct Undo {
    /// Take back this turn instead; `copydesk diff --all --json` lists the ids as `turns`
    #[arg(long, value_name = "ID", conflicts_with_all = ["call", "redo"])]
    pub turn: Option<String>,
    /// Take back what this tool call did alone
    #[arg(long, value_name = "ID", conflicts_with = "redo")]
    pub call: Option<String>,
    /// Put back what was taken back last
    #[arg(long)]
    pub redo: bool,
    /// In the session of this id instead of the one that was used last here
    #[arg(short, long, value_name = "ID")]
    pub session: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct Diff {
    /// What this turn did instead
    #[arg(long, value_name = "ID", conflicts_with_all = ["all", "head"])]
    pub turn: Option<String>,
    /// All that the agent did in the session, without what was undone
    #[arg(long, conflicts_with = "head")]
    pub all: bool,
    /// The files that the session touched, as they are now, against the commit that is checked out (Git's HEAD)
    #[arg(long)]
    pub head: bool,
    /// The names of the files with their counts of lines instead of the patch
    #[arg(long, conflicts_with = "json")]
    pub stat: bool,
    /// Of the session of this id instead of the one that was used last here
    #[arg(short, long, value_name = "ID")]
    pub session: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PermissionMode {
    /// Commands that may change something are asked, unless a rule allows them, and so is every edit that nobody sees or undo does not reach
    Ask,
    /// Edits and simple file commands inside the workspace are free; network, destructive and other commands are asked
    Workspace,
    /// As workspace, and commands run free inside the sandbox without network
    Auto,
}

impl From<PermissionMode> for Mode {
    fn from(mode: PermissionMode) -> Self {
        match mode {
            PermissionMode::Ask => Self::Ask,
            PermissionMode::Workspace => Self::Workspace,
            PermissionMode::Auto => Self::Auto,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum OutputFormat {
    /// For people
    Text,
    /// The params of ACP's `session/update`, one a line; the last line holds the `stopReason` or the `error`
    Json,
}
