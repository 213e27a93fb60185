//! `copydesk config`: which files are looked at, what is wrong in them, and why a key has its value. It changes none of them.

use std::io::{self, Write};
use std::process::ExitCode;

use clap::Subcommand;
use copydesk_engine::config::{Found, describe};

use super::{Surroundings, verdict};

#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub enum ConfigCommand {
    /// List every file and variable that is looked at from this folder, the weakest first
    Path,
    /// List what is wrong in them, with file and line; exit code 1 if anything is
    Check,
    /// Show a key's value, where it is written, and what it overrides
    Explain {
        /// Dotted, e.g. `model` or `provider.ollama.options.baseURL`
        key: String,
    },
}

pub async fn run(command: ConfigCommand, at: &Surroundings, out: &mut (dyn Write + Send)) -> io::Result<ExitCode> {
    match command {
        ConfigCommand::Path => path(at, out).await,
        ConfigCommand::Check => check(at, out).await,
        ConfigCommand::Explain { key } => explain(&key, at, out).await,
    }
}

async fn path(at: &Surroundings, out: &mut (dyn Write + Send)) -> io::Result<ExitCode> {
    for place in at.survey().await.places {
        let found = match place.found {
            Found::Taken => "taken",
            Found::Absent => "absent",
            Found::LeftOut => "left out",
        };
        writeln!(out, "{found:<9} {}", place.source)?;
    }
    Ok(ExitCode::SUCCESS)
}

async fn check(at: &Surroundings, out: &mut (dyn Write + Send)) -> io::Result<ExitCode> {
    let survey = at.survey().await;
    for problem in &survey.config.problems {
        writeln!(out, "{problem}")?;
    }
    if survey.config.problems.is_empty() {
        let taken = survey.places.iter().filter(|place| place.found == Found::Taken).count();
        writeln!(out, "No problems in {taken} of {} places.", survey.places.len())?;
    }
    Ok(verdict(survey.config.problems.is_empty()))
}

async fn explain(key: &str, at: &Surroundings, out: &mut (dyn Write + Send)) -> io::Result<ExitCode> {
    let survey = at.survey().await;
    let (described, statements) = (describe(key), survey.explain(key));
    let below = format!("{key}.");
    let concerns = |named: &str| named == key || named.starts_with(&below) || key.starts_with(&format!("{named}."));
    let problems = survey.config.problems.iter().filter(|problem| problem.key.as_deref().is_some_and(concerns));
    let problems: Vec<_> = problems.collect();
    match &described {
        Some(text) if text.is_empty() => writeln!(out, "{key}")?,
        Some(text) => writeln!(out, "{key}: {text}")?,
        None => writeln!(out, "{key}: Copydesk does not know this key; see `copydesk schema config`.")?,
    }
    if statements.is_empty() {
        writeln!(out, "Not set.")?;
    }
    for said in &statements {
        let name = if said.key == key { String::new() } else { format!("{} = ", said.key) };
        let state = if said.in_force { "in force" } else { "overridden" };
        writeln!(out, "{state:<10} {}:{}  {name}{}", said.source, said.line, said.value)?;
    }
    for problem in &problems {
        writeln!(out, "left out   {problem}")?;
    }
    Ok(verdict(described.is_some()))
}
