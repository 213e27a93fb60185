//! `copydesk config`: which files are looked at, what is wrong in them, and why a key has its value. It changes none of them.

use std::io::{self, Write};
use std::process::ExitCode;

use clap::Subcommand;
use copydesk_engine::config::{Found, Problem, Standing, Survey, Wanted, describe};

use super::trust::standing;
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
    let left_out: Vec<_> = waiting(&survey).collect();
    for problem in survey.config.problems.iter().chain(&left_out) {
        writeln!(out, "{problem}")?;
    }
    for wanted in survey.config.trust.wants.iter().filter(|wanted| wanted.standing != Standing::Waiting) {
        writeln!(out, "trust: {}: {}; `copydesk trust` shows it", wanted.capability.name(), standing(wanted.standing))?;
    }
    let is_well = survey.config.problems.is_empty() && left_out.is_empty();
    if is_well {
        let taken = survey.places.iter().filter(|place| place.found == Found::Taken).count();
        writeln!(out, "No problems in {taken} of {} places.", survey.places.len())?;
    }
    Ok(verdict(is_well))
}

/// What is left out until the user decides; what he has refused is as he wants it.
fn waiting(survey: &Survey) -> impl Iterator<Item = Problem> {
    survey.config.trust.waiting().flat_map(Wanted::left_out)
}

async fn explain(key: &str, at: &Surroundings, out: &mut (dyn Write + Send)) -> io::Result<ExitCode> {
    let survey = at.survey().await;
    let (described, statements) = (describe(key), survey.explain(key));
    let below = format!("{key}.");
    let concerns = |named: &str| named == key || named.starts_with(&below) || key.starts_with(&format!("{named}."));
    let problems = survey.config.problems.iter().cloned().chain(survey.config.left_out());
    let problems: Vec<_> = problems.filter(|problem| problem.key.as_deref().is_some_and(concerns)).collect();
    let trusted = survey.config.trust.wants.iter().filter(|wanted| wanted.standing == Standing::Trusted);
    let trusted: Vec<_> = trusted.flat_map(|wanted| &wanted.items).filter(|item| concerns(&item.key)).collect();
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
    for item in trusted {
        writeln!(out, "trusted    {}:{}: {}", item.source, item.line, item.key)?;
    }
    Ok(verdict(described.is_some()))
}
