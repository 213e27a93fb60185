//! `copydesk auth`: keys of providers, kept in a file of the user's own. A key is never said.

use std::io::{BufRead, IsTerminal, Read as _, Write};
use std::process::ExitCode;

use clap::Subcommand;
use copydesk_adapters::os::auth_file::{AuthError, AuthFile, MAX_KEY};
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

use super::Surroundings;
use super::printable::Printable;
use crate::process::Signals;

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

/// Linux keeps no more of a line that is typed, in bytes (termios(3), canonical mode), and says nothing of the rest.
const LONGEST_TYPED: usize = 4095;

/// As shells say that a command was ended by Ctrl-C.
const INTERRUPTED: u8 = 130;

/// Exit code 1 where nothing was done.
pub async fn run(command: &AuthCommand, at: &Surroundings, out: &mut (dyn Write + Send)) -> std::io::Result<ExitCode> {
    let data = at.environment().folders().data;
    let file = AuthFile::in_folder(&data);
    let done = match command {
        AuthCommand::Login { provider } => {
            let Some(key) = read_key(provider).await? else { return Ok(ExitCode::from(INTERRUPTED)) };
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
        NotDone(text) => writeln!(Printable(std::io::stderr()), "{text}").map(|()| ExitCode::FAILURE),
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

/// From the terminal, without showing it; else the whole of standard input. `None` where the user gave up.
async fn read_key(provider: &str) -> std::io::Result<Option<String>> {
    if !std::io::stdin().is_terminal() {
        return read(|input, key| input.read_to_end(key)).await.map(Some);
    }
    let mut terminal = Printable(std::io::stderr());
    // Heard before the terminal falls silent, so that it does not stay so.
    let mut signals = Signals::listen()?;
    // Silent before it is asked for: what is typed until then is thrown away.
    let hidden = Hidden::begin()?;
    write!(terminal, "Key of {provider} (not shown): ")?;
    terminal.flush()?;
    let key = tokio::select! {
        key = read(|input, key| input.read_until(b'\n', key)) => Some(key),
        _ = signals.next() => None,
    };
    drop(hidden);
    writeln!(terminal)?;
    let key = key.transpose()?;
    if key.as_ref().is_some_and(|key| key.len() >= LONGEST_TYPED) {
        writeln!(
            terminal,
            "A terminal hands on {LONGEST_TYPED} characters of a line at most, so this key may be cut. Give it by standard input: `copydesk auth login {provider} < FILE`."
        )?;
        return Ok(Some(String::new()));
    }
    Ok(key)
}

/// What is no text or too long is given so that it is refused as a key.
async fn read(
    from: impl FnOnce(&mut dyn BufRead, &mut Vec<u8>) -> std::io::Result<usize> + Send + 'static,
) -> std::io::Result<String> {
    let read = tokio::task::spawn_blocking(move || {
        let mut key = Vec::new();
        from(&mut std::io::stdin().lock().take(MAX_KEY as u64 + 1), &mut key).map(|_| key)
    });
    let key = read.await.map_err(std::io::Error::other)??;
    let is_too_long = key.len() > MAX_KEY;
    Ok(String::from_utf8(key).ok().filter(|_| !is_too_long).unwrap_or_default())
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
