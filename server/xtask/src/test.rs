//! `cargo xtask test`: all that must hold before a change is taken, in one command. `cargo xtask schemas` rewrites what a test of it compares.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::{command, tools};

pub(crate) fn run(root: &Path) -> Result<(), String> {
    let cargo = |arguments: &[&str]| command::run(command::cargo(root, arguments));
    summary(&[
        step("tools", || tools::install(root)),
        step("format", || cargo(&["fmt", "--all", "--check"])),
        step("lints", || cargo(&["clippy", "--locked", "--workspace", "--all-targets", "--", "-D", "warnings"])),
        // Tests start the daemon, which cargo does not build for them: it belongs to another package.
        step("daemon", || cargo(&["build", "--locked", "-p", "copydesk"])),
        step("tests", || command::run(tests(root))),
    ])
}

struct Step {
    name: &'static str,
    took: Duration,
    result: Result<(), String>,
}

/// A failure stops no other step: one run tells all that is wrong.
fn step(name: &'static str, work: impl FnOnce() -> Result<(), String>) -> Step {
    let start = Instant::now();
    let result = work();
    Step { name, took: start.elapsed(), result }
}

/// The house rules are tests of this package. Without nextest, cargo's own runner does.
fn tests(root: &Path) -> Command {
    if command::output(command::cargo(root, &["nextest", "--version"])).is_ok() {
        command::cargo(root, &["nextest", "run", "--locked", "--workspace"])
    } else {
        command::cargo(root, &["test", "--locked", "--workspace", "--no-fail-fast"])
    }
}

/// Every test that compares a generated file writes it where the variable is set.
pub(crate) fn schemas(root: &Path) -> Result<(), String> {
    let mut command = command::cargo(root, &["test", "--quiet", "-p", "copydesk-protocol", "-p", "copydesk-engine"]);
    command.args(["--lib", "--", "generated", "the_committed"]).env("UPDATE_GENERATED", "1");
    command::run(command)
}

fn summary(steps: &[Step]) -> Result<(), String> {
    println!();
    for Step { name, took, result } in steps {
        let word = if result.is_ok() { "ok" } else { "FAILED" };
        println!("{name:<8} {word:<7} {:>6.1} s", took.as_secs_f64());
    }
    let failed: Vec<&str> = steps.iter().filter_map(|step| step.result.as_ref().err().map(String::as_str)).collect();
    if failed.is_empty() { Ok(()) } else { Err(format!("\n{}", failed.join("\n"))) }
}
