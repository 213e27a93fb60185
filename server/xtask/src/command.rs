//! Programs that tasks run, and where they run.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The repository.
pub(crate) fn root() -> PathBuf {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest.ancestors().nth(2).unwrap_or(manifest).to_owned()
}

/// The cargo that runs us.
pub(crate) fn cargo(root: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(arguments).current_dir(root);
    command
}

/// Says what is run, and runs it with our output.
pub(crate) fn run(mut command: Command) -> Result<(), String> {
    let line = line_of(&command);
    println!("$ {line}");
    let status = command.status().map_err(|error| format!("`{line}` cannot be run: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("`{line}` failed: {status}")) }
}

/// What it prints; its complaints go into the error.
pub(crate) fn output(mut command: Command) -> Result<String, String> {
    let line = line_of(&command);
    let output = command.stdin(Stdio::null()).output().map_err(|error| format!("`{line}` cannot be run: {error}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(format!("`{line}` failed: {}\n{}", output.status, String::from_utf8_lossy(&output.stderr)))
}

/// Whether it can be run at all and ends well.
pub(crate) fn works(program: &str, arguments: &[&str]) -> bool {
    let status =
        Command::new(program).args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}

fn line_of(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_name().unwrap_or(command.get_program());
    let words = std::iter::once(program).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}
