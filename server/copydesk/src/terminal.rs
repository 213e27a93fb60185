//! The terminal face: one prompt, its turn shown as it runs, its asks answered at the terminal. Files are edited on the disk; no editor is involved.

mod ask;
mod client;
mod countdown;
mod diff;
mod editor;
mod files;
mod paint;
mod questions;
mod screen;
mod transcript;
mod undo;
mod unseen;

use std::io::{self, IsTerminal as _, Read as _};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use copydesk_engine::engine::{Engine, EngineError, History, Listing, LoadSession, NewSession};
use copydesk_engine::escape::escaped;
use copydesk_engine::ids::SessionId;
use copydesk_engine::image::Prompt;
use copydesk_engine::message::{PromptPart, TurnEnd};
use copydesk_engine::overlay::Overlay;
use copydesk_engine::permission::Mode;
use copydesk_engine::ports::{Connection, Elsewhere};
use copydesk_engine::session::{SessionError, SessionHandle};
use copydesk_workspace::path::AbsPath;

use crate::cli::{Diff, OutputFormat, Run, Undo};
use crate::lsp::Services;
use crate::process::{self, Signalled, Signals};
use crate::{log, serve};

use client::TerminalClient;
use editor::NoEditor;
use paint::Paint;
use screen::Screen;

/// What is taken from standard input as context, in bytes: more than any model reads.
const INPUT_LIMIT: u64 = 4 * 1024 * 1024;

/// A turn that did not come to a good end, or never began.
const FAILED: u8 = 1;
/// As `clap` ends on a command line that it does not understand.
const MISUSED: u8 = 2;
/// Ended by Ctrl-C, as shells say it.
const INTERRUPTED: u8 = 130;

/// Why there was no turn; the text is for the user.
struct Refusal {
    code: u8,
    text: String,
}

/// Runs one prompt in the current folder, from the command line to the exit code.
pub async fn run(run: Run, services: Services) -> io::Result<ExitCode> {
    let terminals = Terminals::of_process();
    let screen = Arc::new(Screen::new(Box::new(tokio::fs::File::from_std(process::take_stdout()?.into()))));
    ended(&services, &screen, work(run, &services, terminals, screen.clone())).await
}

/// Takes back, or puts back, what a session of the current folder did.
pub async fn undo(undo: Undo, services: Services) -> io::Result<ExitCode> {
    let screen = Arc::new(Screen::new(Box::new(tokio::fs::File::from_std(process::take_stdout()?.into()))));
    let client = TerminalClient::text(screen.clone(), no_paint(), no_paint());
    let connection = connection(&services, Arc::new(client), false);
    ended(&services, &screen, undo::run(&undo, &services.engine, connection, &screen)).await
}

/// Shows what a session of the current folder did.
pub async fn diff(diff: Diff, services: Services) -> io::Result<ExitCode> {
    let is_terminal = Terminals::of_process().output;
    let paint = Paint::new(is_terminal, |name| std::env::var(name).ok());
    let screen = Arc::new(Screen::new(Box::new(tokio::fs::File::from_std(process::take_stdout()?.into()))));
    let client = TerminalClient::text(screen.clone(), no_paint(), no_paint());
    let connection = connection(&services, Arc::new(client), false);
    let shown = diff::run(&diff, &services.engine, &connection, &screen, paint, is_terminal);
    ended(&services, &screen, shown).await
}

/// The end of the program, whatever came of its work.
async fn ended(
    services: &Services,
    screen: &Screen,
    work: impl Future<Output = Result<u8, Refusal>>,
) -> io::Result<ExitCode> {
    let code = match work.await {
        Ok(code) => code,
        Err(Refusal { code, text }) => {
            // It may quote what others have written: names of files, agents of a project.
            screen.tell(&format!("{}\n", escaped(text.trim_end()))).await;
            code
        }
    };
    serve::wind_down(&services.engine, &services.shell, &services.language_servers).await;
    Ok(ExitCode::from(code))
}

fn connection(services: &Services, client: Arc<TerminalClient>, is_watched: bool) -> Connection {
    Connection {
        client,
        editor: Arc::new(NoEditor { is_watched }),
        diagnostics: services.checks.clone(),
        overlay: Arc::new(Overlay::new()),
    }
}

fn no_paint() -> Paint {
    Paint::new(false, |_| None)
}

/// Which of the standard streams are terminals.
#[derive(Debug, Clone, Copy)]
struct Terminals {
    input: bool,
    output: bool,
    errors: bool,
}

impl Terminals {
    /// Before standard output is taken.
    fn of_process() -> Self {
        Self {
            input: io::stdin().is_terminal(),
            output: io::stdout().is_terminal(),
            errors: io::stderr().is_terminal(),
        }
    }
}

async fn work(run: Run, services: &Services, terminals: Terminals, screen: Arc<Screen>) -> Result<u8, Refusal> {
    let mut signals = Signals::listen().map_err(|error| failed(&error))?;
    let prompt = tokio::select! {
        prompt = prompt(&run, terminals) => prompt?,
        _ = signals.next() => return Ok(INTERRUPTED),
    };
    let paint = |is_terminal| Paint::new(is_terminal, |name| std::env::var(name).ok());
    let client = Arc::new(match run.format {
        OutputFormat::Text => TerminalClient::text(screen.clone(), paint(terminals.output), paint(terminals.errors)),
        OutputFormat::Json => TerminalClient::json(screen.clone(), paint(terminals.errors)),
    });
    let can_ask = terminals.input && terminals.errors;
    if can_ask {
        client.ask_at_terminal();
    }
    let connection = connection(services, client.clone(), can_ask && run.format == OutputFormat::Text);
    let session = open(&services.engine, &run, connection).await?;
    log::follow(&session.config());
    client.set_session(session.clone());
    session.opened();
    if let Some(agent) = &run.agent {
        session.choose_agent(agent).await.map_err(|error| no_choice(error, &session))?;
    }
    if let Some(model) = &run.model {
        session.choose_model(model).await.map_err(|error| no_choice(error, &session))?;
    }
    if let Some(mode) = run.permission_mode {
        session.choose_mode(Mode::from(mode).id()).await.map_err(|error| no_choice(error, &session))?;
    }
    let turn = session.prompt(prompt).map_err(|error| failed(&error))?;
    let end = tokio::select! {
        end = turn => Some(end),
        () = interrupted(&mut signals, &session, &screen) => None,
    };
    client.finish(session.id(), end.as_ref()).await;
    if terminals.output && terminals.errors && run.format == OutputFormat::Text {
        screen.tell(&paint(true).dim(&format!("To go on: copydesk run --session {} \"…\"\n", session.id()))).await;
    }
    Ok(match end {
        None => INTERRUPTED,
        Some(end) => exit_code(&end),
    })
}

/// The first Ctrl-C cancels the turn, whose end is then waited for; resolves at the second. Another signal to end is as good as two.
async fn interrupted(signals: &mut Signals, session: &SessionHandle, screen: &Screen) {
    let first = signals.next().await;
    session.cancel();
    if first == Signalled::Interrupt {
        screen.tell_apart("Cancelling; Ctrl-C again to leave at once.\n").await;
        signals.next().await;
    }
}

/// What was asked for on the command line, with the files that it names and what standard input holds where it is no terminal.
async fn prompt(run: &Run, terminals: Terminals) -> Result<Prompt, Refusal> {
    let asked = run.prompt.join(" ");
    let input = if terminals.input { String::new() } else { read_input().await? };
    let mut prompt = Prompt::default();
    match (asked.trim().is_empty(), input.trim().is_empty()) {
        (true, true) => {
            let text = "There is no prompt. Write one behind the command, or into its standard input: copydesk run \"explain this project\"";
            return Err(Refusal { code: MISUSED, text: text.to_owned() });
        }
        (true, false) => prompt.push(PromptPart::Text { text: input }),
        (false, true) => prompt.push(PromptPart::Text { text: asked }),
        (false, false) => {
            prompt.push(PromptPart::Text { text: asked });
            prompt.push(PromptPart::Resource { uri: "stdin:".to_owned(), text: input });
        }
    }
    if run.files.is_empty() { Ok(prompt) } else { with_files(prompt, run.files.clone()).await }
}

async fn with_files(mut prompt: Prompt, files: Vec<PathBuf>) -> Result<Prompt, Refusal> {
    let folder = current_folder()?;
    let attached = tokio::task::spawn_blocking(move || {
        files.iter().try_for_each(|path| files::attach(&mut prompt, &folder, path)).map(|()| prompt)
    });
    attached.await.map_err(|error| failed(&error))?.map_err(|text| Refusal { code: MISUSED, text })
}

fn current_folder() -> Result<AbsPath, Refusal> {
    let folder = std::env::current_dir().map_err(|error| failed(&error))?;
    AbsPath::new(&folder)
        .ok_or_else(|| Refusal { code: FAILED, text: format!("{} is not an absolute path", folder.display()) })
}

async fn read_input() -> Result<String, Refusal> {
    let read = tokio::task::spawn_blocking(|| {
        let mut bytes = Vec::new();
        io::stdin().lock().take(INPUT_LIMIT + 1).read_to_end(&mut bytes).map(|_| bytes)
    });
    let bytes = match read.await {
        Ok(Ok(bytes)) => bytes,
        // A closed standard input holds nothing.
        Ok(Err(_)) => Vec::new(),
        Err(error) => return Err(failed(&error)),
    };
    if bytes.len() as u64 > INPUT_LIMIT {
        let text = format!(
            "Standard input holds more than {} MiB. Give less of it, or name a file in the prompt.",
            INPUT_LIMIT >> 20
        );
        return Err(Refusal { code: MISUSED, text });
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

async fn open(engine: &Engine, run: &Run, connection: Connection) -> Result<SessionHandle, Refusal> {
    let folder = current_folder()?;
    let id = match &run.session {
        Some(id) => Some(SessionId::new(id)),
        None if run.go_on => Some(last_session(engine, &folder).await?.ok_or_else(|| {
            let text = format!("There is no session to continue in {folder}. Without --continue a new one is begun.");
            Refusal { code: FAILED, text }
        })?),
        None => None,
    };
    let opened = match id {
        None => engine.new_session(NewSession { folder, additional: Vec::new(), connection }).await,
        Some(id) => {
            let load = LoadSession {
                id,
                folder,
                additional: Vec::new(),
                connection,
                history: History::Known,
                elsewhere: Elsewhere::Leave,
            };
            engine.load_session(load).await.map(|loaded| loaded.session)
        }
    };
    opened.map_err(|error| match error {
        EngineError::OtherFolder { folder, .. } => {
            Refusal { code: FAILED, text: format!("The session belongs to {folder}: run this there.") }
        }
        error => failed(&error),
    })
}

/// The one of this id, else the folder's last one.
async fn chosen_session(engine: &Engine, folder: &AbsPath, id: Option<&str>) -> Result<SessionId, Refusal> {
    match id {
        Some(id) => Ok(SessionId::new(id)),
        None => last_session(engine, folder).await?.ok_or_else(|| {
            let text = format!("There was no session in {folder} yet: run this where the agent has worked.");
            Refusal { code: FAILED, text }
        }),
    }
}

async fn last_session(engine: &Engine, folder: &AbsPath) -> Result<Option<SessionId>, Refusal> {
    let listing = Listing { folder: Some(folder.clone()), cursor: None };
    let page = engine.list_sessions(listing).await.map_err(|error| failed(&error))?;
    Ok(page.sessions.into_iter().next().map(|last| last.meta.id))
}

fn no_choice(error: SessionError, session: &SessionHandle) -> Refusal {
    let choices = session.choices();
    let known: Vec<String> = match &error {
        SessionError::UnknownAgent(_) => choices.agents.into_iter().map(|(name, _)| name).collect(),
        SessionError::UnknownModel(_) => choices.models.into_iter().map(|(model, _)| model.to_string()).collect(),
        SessionError::UnknownMode(_) => Mode::ALL.map(|mode| mode.id().to_owned()).to_vec(),
        SessionError::Image(_) | SessionError::Overloaded | SessionError::Closed => return failed(&error),
    };
    let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
    Refusal { code: MISUSED, text: format!("{}. There are: {known}.", capitalised(&error.to_string())) }
}

fn failed(error: &dyn std::error::Error) -> Refusal {
    Refusal { code: FAILED, text: format!("{}.", capitalised(&error.to_string())) }
}

fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

fn exit_code(end: &TurnEnd) -> u8 {
    match end {
        TurnEnd::Done => 0,
        TurnEnd::Cancelled | TurnEnd::Interrupted => INTERRUPTED,
        TurnEnd::MaxTokens
        | TurnEnd::MaxSteps
        | TurnEnd::Limit { .. }
        | TurnEnd::Refused
        | TurnEnd::Rejected
        | TurnEnd::Failed { .. } => FAILED,
    }
}
