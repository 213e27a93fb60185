//! `copydesk auth`: keys of providers, kept in a file of the user's own. A key is never said.

use std::io::{BufRead, IsTerminal, Read, Write};
use std::process::ExitCode;

use clap::Subcommand;
use copydesk_adapters::os::auth_file::{AuthError, AuthFile};
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

use super::Surroundings;

#[derive(Debug, Subcommand)]
pub enum AuthCommand {
    /// Store a key: typed at the terminal, which does not show it, or read from standard input
    Login {
        /// As the configuration names it, e.g. `anthropic`
        provider: String,
    },
    /// List for which providers a key is stored
    List,
    /// Remove a stored key
    Logout { provider: String },
    /// Take over the keys that opencode has stored, for providers without one here
    Import,
}

/// A longer input is no key.
const MAX_KEY: u64 = 16 << 10;

/// Exit code 1 where nothing was done.
pub fn run(command: &AuthCommand, at: &Surroundings, out: &mut dyn Write) -> std::io::Result<ExitCode> {
    let data = at.environment().folders().data;
    let file = AuthFile::in_folder(&data);
    let done = match command {
        AuthCommand::Login { provider } => {
            let key = read_key(provider)?;
            file.store(provider, &key)
                .map(|()| Done(format!("The key of {provider} is stored in {}.", file.path().display())))
        }
        AuthCommand::List => file.list().map(|stored| {
            if stored.is_empty() {
                let path = file.path().display();
                return Done(format!("No keys are stored. `copydesk auth login PROVIDER` stores one in {path}."));
            }
            let lines: Vec<String> =
                stored.iter().map(|entry| format!("{}  {}", entry.provider, entry.shown)).collect();
            Done(lines.join("\n"))
        }),
        AuthCommand::Logout { provider } => file.remove(provider).map(|was_stored| {
            if was_stored {
                Done(format!("The key of {provider} is removed."))
            } else {
                NotDone(format!("No key is stored for {provider}; `copydesk auth list` shows those that are."))
            }
        }),
        // opencode's data folder stands beside ours.
        AuthCommand::Import => {
            import(&file, &AuthFile::at(data.as_path().with_file_name("opencode").join("auth.json")))
        }
    };
    match done.unwrap_or_else(|error| NotDone(error.to_string())) {
        Done(text) => writeln!(out, "{text}").map(|()| ExitCode::SUCCESS),
        NotDone(text) => writeln!(std::io::stderr(), "{text}").map(|()| ExitCode::FAILURE),
    }
}

use Outcome::{Done, NotDone};

/// With the text for the user.
enum Outcome {
    Done(String),
    NotDone(String),
}

fn import(into: &AuthFile, from: &AuthFile) -> Result<Outcome, AuthError> {
    if !from.path().exists() {
        return Ok(NotDone(format!("opencode has stored no keys in {}.", from.path().display())));
    }
    let taken = into.import(from)?;
    Ok(Done(if taken.is_empty() {
        "Nothing new: providers that have a key here keep it, and sign-ins are not taken over.".to_owned()
    } else {
        format!("Imported the keys of {}.", taken.join(", "))
    }))
}

/// From the terminal, without showing it; else the whole of standard input.
fn read_key(provider: &str) -> std::io::Result<String> {
    let input = std::io::stdin();
    if !input.is_terminal() {
        let mut key = String::new();
        input.lock().take(MAX_KEY).read_to_string(&mut key)?;
        return Ok(key);
    }
    let mut terminal = std::io::stderr();
    write!(terminal, "Key of {provider} (not shown): ")?;
    terminal.flush()?;
    let mut key = String::new();
    let hidden = Hidden::begin()?;
    let read = input.lock().take(MAX_KEY).read_line(&mut key);
    drop(hidden);
    writeln!(terminal)?;
    read?;
    Ok(key)
}

/// The terminal shows nothing that is typed until this is dropped.
struct Hidden {
    before: Termios,
}

impl Hidden {
    fn begin() -> std::io::Result<Self> {
        let before = tcgetattr(std::io::stdin())?;
        let mut silent = before.clone();
        silent.local_modes.remove(LocalModes::ECHO);
        tcsetattr(std::io::stdin(), OptionalActions::Flush, &silent)?;
        Ok(Self { before })
    }
}

impl Drop for Hidden {
    fn drop(&mut self) {
        // A terminal that is gone shows nothing either.
        let _ = tcsetattr(std::io::stdin(), OptionalActions::Now, &self.before);
    }
}
