//! The `copydesk` program: reads the command line, sets up what a process has once, and hands over.

#![allow(clippy::disallowed_methods, reason = "reads the command line and standard input")]

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;
use copydesk::cli::{Cli, Command};
use copydesk::commands::Surroundings;
use copydesk::commands::printable::Printable;
use copydesk::serve::Farewell;
use copydesk::wiring::{Adapters, SUPERVISE};
use copydesk::{commands, demo, log, process, serve, terminal};
use copydesk_adapters::os::environment::{OsEnvironment, Variables};
use copydesk_adapters::os::supervisor;
use tracing_subscriber::filter::LevelFilter;

fn main() -> ExitCode {
    // Before the command line is read as the user's: it stands beside each command.
    if std::env::args_os().nth(1).is_some_and(|word| word == SUPERVISE) {
        return if supervisor::supervise().is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    }
    let cli = Cli::parse();
    let variables = Variables::of_process();
    // The demo leaves the user's folders alone.
    let log_file = match cli.command {
        Command::Demo => None,
        _ => Some(log::path(&OsEnvironment::new(variables.clone()))),
    };
    log::start(log_file, &variables);
    // Whoever looks for a mistake may attach a debugger.
    if log::level_of(&variables).is_none_or(|level| level < LevelFilter::DEBUG) {
        process::hide_memory();
    }
    let runtime = match tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return failed(&error),
    };
    {
        let _in_runtime = runtime.enter();
        process::outlive_file_limits();
    }
    let result = match cli.command {
        Command::Serve => runtime.block_on(run_lsp()),
        Command::Acp => runtime.block_on(run_acp()),
        Command::Run(run) => runtime.block_on(terminal::run(run, Adapters::of_process().into_services())),
        Command::Undo(undo) => runtime.block_on(terminal::undo(undo, Adapters::of_process().into_services())),
        Command::Diff(diff) => runtime.block_on(terminal::diff(diff, Adapters::of_process().into_services())),
        Command::Auth { command } => {
            runtime.block_on(look_after(async |at, out| commands::auth::run(&command, at, out).await))
        }
        Command::Trust(trust) => {
            runtime.block_on(look_after(async |at, out| commands::trust::run(trust, at, out).await))
        }
        Command::Permissions { command, json } => {
            runtime.block_on(look_after(async |at, out| commands::permissions::run(command, json, at, out).await))
        }
        Command::Doctor(doctor) => runtime.block_on(look_after(async |at, out| doctor.run(at, out).await)),
        Command::Config { command } => {
            runtime.block_on(look_after(async |at, out| commands::config::run(command, at, out).await))
        }
        Command::Schema { which } => read_enough(commands::schema::run(which, &mut std::io::stdout())),
        Command::Logs { follow: false } => {
            runtime.block_on(look_after(async |at, out| commands::logs::print_path(at, out)))
        }
        Command::Logs { follow: true } => {
            runtime.block_on(look_after(async |at, out| commands::logs::follow(at, out).await))
        }
        Command::Demo => runtime.block_on(demo::run(&mut std::io::stdout())),
    };
    // A read of standard input may still be waiting: it ends with the process, not before it.
    runtime.shutdown_background();
    result.unwrap_or_else(|error| failed(&error))
}

async fn look_after(
    command: impl AsyncFnOnce(&Surroundings, &mut (dyn Write + Send)) -> std::io::Result<ExitCode>,
) -> std::io::Result<ExitCode> {
    read_enough(command(&Surroundings::of_process()?, &mut Printable(std::io::stdout())).await)
}

/// A reader that has seen enough is no failure.
fn read_enough(result: std::io::Result<ExitCode>) -> std::io::Result<ExitCode> {
    match result {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(ExitCode::SUCCESS),
        result => result,
    }
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
