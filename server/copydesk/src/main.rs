//! The `copydesk` program: reads the command line, sets up what a process has once, and hands over.

#![allow(clippy::disallowed_methods, reason = "reads the command line and standard input")]

use std::process::ExitCode;

use clap::Parser;
use copydesk::cli::{Cli, Command};
use copydesk::serve::Farewell;
use copydesk::wiring::{Adapters, log_level, log_to_stderr};
use copydesk::{demo, process, serve};
use tracing_subscriber::filter::LevelFilter;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let level = log_level();
    log_to_stderr(level);
    // Whoever looks for a mistake may attach a debugger.
    if level < LevelFilter::DEBUG {
        process::hide_memory();
    }
    let runtime = match tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return failed(&error),
    };
    let result = match cli.command {
        Command::Serve => runtime.block_on(run_lsp()),
        Command::Acp => runtime.block_on(run_acp()),
        Command::Demo => runtime.block_on(demo::run(&mut std::io::stdout())),
    };
    // A read of standard input may still be waiting: it ends with the process, not before it.
    runtime.shutdown_background();
    result.unwrap_or_else(|error| failed(&error))
}

async fn run_lsp() -> std::io::Result<ExitCode> {
    let output = tokio::fs::File::from_std(process::take_stdout()?.into());
    let services = Adapters::of_process().into_services();
    Ok(match serve::lsp(Box::new(tokio::io::stdin()), Box::new(output), services, process::told_to_end()).await {
        Farewell::Orderly => ExitCode::SUCCESS,
        Farewell::Abrupt => ExitCode::FAILURE,
    })
}

async fn run_acp() -> std::io::Result<ExitCode> {
    let output = tokio::fs::File::from_std(process::take_stdout()?.into());
    let services = Adapters::of_process().into_services();
    serve::acp(Box::new(tokio::io::stdin()), Box::new(output), services, process::told_to_end()).await;
    Ok(ExitCode::SUCCESS)
}

fn failed(error: &std::io::Error) -> ExitCode {
    tracing::error!(%error, "copydesk could not run");
    ExitCode::FAILURE
}
