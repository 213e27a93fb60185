//! Formatters: the text of a file goes in, the formatted text comes out, and no file is touched. They run as commands do, held to the sandbox where there is
//! one: they change nothing and have no network. What becomes of the text is the caller's.

mod command;
mod conditions;
mod known;
mod trial;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use copydesk_workspace::encoding;
use copydesk_workspace::path::AbsPath;
use tokio_util::sync::CancellationToken;

use crate::config::Config;
use crate::escape::without_escapes;
use crate::ports::{CommandEnd, Confinement, Files, Ids, Shell, ShellCommand, ShellOutcome};
use crate::tool::Facts;

use conditions::Above;
use known::{Declines, KNOWN, Known, Place, Safety};
use trial::Trial;

pub(crate) use known::repository_programs;

/// For each formatter. One that is slower is left alone for this edit.
const LIMIT: Duration = Duration::from_secs(10);
/// Of a failure, bytes that the model is told.
const MOST_WORDS: usize = 600;
/// bash's code for a program that is not there.
const NOT_THERE: i32 = 127;

/// The key `formatter`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Formatters {
    #[default]
    Off,
    /// The known ones, changed and added to by name.
    On(BTreeMap<String, FormatterSettings>),
}

/// Absent fields: what is known of the formatter of that name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FormatterSettings {
    pub disabled: bool,
    /// `$FILE` stands for a copy of the file; without it the text goes through standard input and output.
    pub command: Option<Vec<String>>,
    pub environment: BTreeMap<String, String>,
    /// With or without a leading dot.
    pub extensions: Option<Vec<String>>,
}

/// What a session has learned of its formatters.
#[derive(Debug, Default)]
pub(crate) struct Learned(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// Programs that are not there.
    absent: BTreeSet<String>,
    told: BTreeSet<String>,
    to_tell: Vec<String>,
}

/// Formatting as one call may use it.
pub struct Formatting {
    pub(crate) config: Arc<Config>,
    /// Programs of the project may run, and what it makes others run.
    pub(crate) trusts_programs: bool,
    pub(crate) files: Arc<dyn Files>,
    pub(crate) shell: Arc<dyn Shell>,
    pub(crate) ids: Arc<dyn Ids>,
    pub(crate) facts: Arc<Facts>,
    pub(crate) cancel: CancellationToken,
    /// Reads the workspace.
    pub(crate) confinement: Confinement,
    pub(crate) experimental_oxfmt: bool,
    pub(crate) learned: Arc<Learned>,
    /// The text changed under its formatters again and again: for this call it stays as it is given.
    pub(crate) left_out: AtomicBool,
}

/// What came of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Formatted {
    pub text: String,
    /// Those that changed it, in their order.
    pub by: Vec<String>,
    /// Of those that failed, for the model.
    pub failures: Vec<String>,
}

/// One formatter for one file.
struct Ready<'a> {
    name: &'a str,
    words: Vec<String>,
    environment: &'a BTreeMap<String, String>,
    /// Must succeed before, else the program is taken as not there.
    probe: Option<&'static str>,
    /// Codes of success besides 0.
    also_fine: &'static [i32],
    declines: Declines,
    folder: AbsPath,
    is_named: bool,
}

impl Formatting {
    /// Whether there may be formatters for any file.
    pub fn is_on(&self) -> bool {
        matches!(self.config.formatters, Formatters::On(_))
    }

    /// `None` where no formatter is for this file. Never fails: a formatter that does changes nothing.
    pub async fn format(&self, path: &AbsPath, text: &str) -> Option<Formatted> {
        let Formatters::On(settings) = &self.config.formatters else { return None };
        let ready = self.ready(settings, path).await;
        if ready.is_empty() {
            return None;
        }
        let mut formatted = Formatted { text: text.to_owned(), by: Vec::new(), failures: Vec::new() };
        if self.left_out.load(Ordering::Relaxed) {
            formatted.failures.push("It was not formatted, since it changes all the time.".to_owned());
            return Some(formatted);
        }
        for formatter in ready {
            if self.cancel.is_cancelled() {
                break;
            }
            let name = formatter.name.to_owned();
            match self.run(&formatter, path, &formatted.text).await {
                Ok(Some(text)) if text != formatted.text => {
                    formatted.text = text;
                    formatted.by.push(name);
                }
                Ok(_) => {}
                Err(reason) => {
                    formatted.failures.push(format!("The formatter {name} failed and changed nothing: {reason}"))
                }
            }
        }
        Some(formatted)
    }

    /// They take longer than the text stands still, so that an edit would never come to be.
    pub(crate) fn leave_out(&self) {
        self.left_out.store(true, Ordering::Relaxed);
    }

    /// What the user is to know, each once a session.
    pub(crate) fn troubles(&self) -> Vec<String> {
        std::mem::take(&mut self.learned.lock().to_tell)
    }

    /// Those that are configured with a command, then the known ones.
    async fn ready<'a>(&'a self, settings: &'a BTreeMap<String, FormatterSettings>, path: &AbsPath) -> Vec<Ready<'a>> {
        static NOTHING: BTreeMap<String, String> = BTreeMap::new();
        let mut ready = Vec::new();
        for (name, settings) in settings.iter().filter(|(_, settings)| !settings.disabled) {
            let Some(command) = &settings.command else { continue };
            let is_for = match &settings.extensions {
                Some(extensions) => has_extension(path, extensions.iter().map(String::as_str)),
                None => KNOWN.iter().any(|known| known.name == name && known.is_for(path)),
            };
            if is_for {
                ready.push(Ready {
                    name,
                    words: command.clone(),
                    environment: &settings.environment,
                    probe: None,
                    also_fine: &[],
                    declines: Declines::Never,
                    folder: self.facts.folder.clone(),
                    is_named: true,
                });
            }
        }
        let is_off = |name: &str| settings.get(name).is_some_and(|settings| settings.disabled);
        // The second is the first in another coat.
        let no_ruff = is_off("ruff") || is_off("uv");
        let above = Above { files: &*self.files, path, facts: &self.facts };
        let mut has_ruff = false;
        for known in KNOWN {
            let named = settings.get(known.name);
            let has_command = named.is_some_and(|named| named.command.is_some());
            let is_for = match named.and_then(|named| named.extensions.as_ref()) {
                Some(extensions) => has_extension(path, extensions.iter().map(String::as_str)),
                None => known.is_for(path),
            };
            let is_of_ruff = matches!(known.name, "ruff" | "uv");
            if has_command || !is_for || is_off(known.name) || is_of_ruff && (no_ruff || has_ruff) {
                continue;
            }
            if known.name == "oxfmt" && !self.experimental_oxfmt && named.is_none()
                || !above.meets(known.condition).await
            {
                continue;
            }
            let Some(program) = self.program(known, named.is_some(), &above).await else { continue };
            has_ruff |= known.name == "ruff" && !self.learned.lock().absent.contains(&program);
            ready.push(Ready {
                name: known.name,
                words: known.words(program, path, above.rust_edition(known.name).await),
                environment: named.map_or(&NOTHING, |named| &named.environment),
                probe: known.probe,
                also_fine: known.also_fine,
                declines: known.declines,
                folder: match known.place {
                    Place::Session => self.facts.folder.clone(),
                    Place::Own => above.folder().await,
                    Place::With(name) => above.folder_with(name).await,
                },
                is_named: false,
            });
        }
        ready
    }

    /// `None`: not to be run here.
    async fn program(&self, known: &Known, is_named: bool, above: &Above<'_>) -> Option<String> {
        let local = match known.local {
            Some(folder) => above.find(&format!("{folder}/{}", known.program)).await,
            None => None,
        };
        match local {
            Some(local) if self.trusts_programs => return Some(local.to_string()),
            // Nothing stands in `PATH` by such a name.
            Some(_) if known.is_only_local => {}
            None if known.is_only_local => return None,
            _ if known.safety == Safety::Reads || self.trusts_programs || is_named => {
                return Some(known.program.to_owned());
            }
            _ => {}
        }
        self.tell(format!(
            "The formatter {} is not run, since it runs what this project says. Trust the workspace in your editor or by `copydesk trust`, or name it in `formatter` of your own configuration.",
            known.name
        ));
        None
    }

    /// `Ok(None)`: it is not there, or has nothing to do with the file.
    async fn run(&self, formatter: &Ready<'_>, path: &AbsPath, text: &str) -> Result<Option<String>, String> {
        let program = formatter.words.first().cloned().unwrap_or_default();
        if self.learned.lock().absent.contains(&program) {
            return Ok(None);
        }
        let id = self.ids.next("format");
        let (input, output) = (self.facts.spill.join(&id), self.facts.temp.join(format!("{id}.out")));
        let given = text;
        let copy = command::takes_file(&formatter.words).then(|| formatter.folder_of_copy(path, &id));
        let text = command::text(formatter, path, &input, &output, copy.as_ref());
        let mut confinement = self.confinement.clone();
        if let (Confinement::Sandbox(policy), Some(copy)) = (&mut confinement, &copy) {
            policy.writable.extend(copy.parent());
        }
        let command = ShellCommand {
            command: text,
            folder: formatter.folder.clone(),
            timeout: Some(LIMIT),
            overflow: self.facts.spill.join(format!("{id}.err")),
            hidden_vars: self.config.key_variables.clone(),
            passed_vars: self.config.sandbox.environment.clone(),
            confinement,
        };
        let trial = Trial {
            files: Arc::clone(&self.files),
            shell: Arc::clone(&self.shell),
            input,
            output,
            copy,
            given: given.as_bytes().to_vec(),
            command,
        };
        let (outcome, made) = trial.run(self.cancel.child_token()).await?;
        match outcome.end {
            CommandEnd::Exited(code) if formatter.has_declined(code, made.as_deref(), given) => Ok(None),
            CommandEnd::Exited(code) if code == 0 || formatter.also_fine.contains(&code) => {
                let answer = made.ok_or("it gave no answer").and_then(|made| taken(made, given));
                answer.map(Some).map_err(|reason| words(&outcome).unwrap_or_else(|| reason.to_owned()))
            }
            CommandEnd::Exited(NOT_THERE) if !formatter.is_named => {
                self.learned.lock().absent.insert(program);
                Ok(None)
            }
            CommandEnd::Exited(code) => Err(words(&outcome).unwrap_or_else(|| format!("it ended with code {code}"))),
            CommandEnd::Signalled(signal) => Err(format!("it was ended by signal {signal}")),
            CommandEnd::TimedOut => Err(format!("it took longer than {} s", LIMIT.as_secs())),
            CommandEnd::Cancelled => Ok(None),
        }
    }

    fn tell(&self, text: String) {
        let mut state = self.learned.lock();
        if state.told.insert(text.clone()) {
            state.to_tell.push(text);
        }
    }
}

impl Learned {
    /// A poisoned lock holds whole values.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Ready<'_> {
    fn has_declined(&self, code: i32, made: Option<&[u8]>, given: &str) -> bool {
        match self.declines {
            Declines::Never => false,
            Declines::Silently => code == 0 && made.is_some_and(<[u8]>::is_empty),
            Declines::WithCode(own) => code == own && made == Some(given.as_bytes()),
        }
    }

    /// Beside the file, so that what is configured around it counts.
    fn folder_of_copy(&self, path: &AbsPath, id: &str) -> AbsPath {
        path.parent().unwrap_or_else(|| self.folder.clone()).join(format!(".copydesk-{id}"))
    }
}

/// The answer, where it can be the file's text: a mark at its start is for the file to have (R1.2).
fn taken(made: Vec<u8>, given: &str) -> Result<String, &'static str> {
    let text = String::from_utf8(made).map_err(|_| "its answer is no text in UTF-8")?;
    let text = text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text);
    if text.trim().is_empty() && !given.trim().is_empty() {
        return Err("it answered with an empty text");
    }
    if !encoding::stays_text(&text) {
        return Err("its answer is no text, but holds NUL or many control characters");
    }
    Ok(text)
}

fn has_extension<'a>(path: &AbsPath, mut extensions: impl Iterator<Item = &'a str>) -> bool {
    let name = path.name();
    extensions.any(|extension| {
        let ending = format!(".{}", extension.trim_start_matches('.'));
        name.len() > ending.len() && name.ends_with(&ending)
    })
}

fn words(outcome: &ShellOutcome) -> Option<String> {
    let text = without_escapes(&outcome.output.head);
    let text = text.trim();
    let end = text.char_indices().map(|(at, _)| at).find(|at| *at >= MOST_WORDS);
    let shown = end.map_or_else(|| text.to_owned(), |end| format!("{}…", &text[..end]));
    (!shown.is_empty()).then_some(shown)
}

#[cfg(test)]
#[path = "format_tests.rs"]
#[expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]
mod tests;
