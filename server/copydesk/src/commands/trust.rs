//! `copydesk trust`: what a project's configuration wants, and what the user has decided about it. Starts nothing and asks nothing: it is the user's word.

use std::io::{self, Write};
use std::process::ExitCode;

use clap::{Args, Subcommand, ValueEnum};
use copydesk_engine::config::{Standing, Wanted};
use copydesk_engine::engine::Engine;
use copydesk_engine::escape::escaped_line;
use copydesk_engine::ports::{Capability, TrustError, TrustVerdict};
use copydesk_workspace::path::AbsPath;

use super::{Surroundings, verdict};

#[derive(Debug, Args)]
pub struct Trust {
    /// Without one: `show`
    #[command(subcommand)]
    command: Option<TrustCommand>,
}

#[derive(Debug, Subcommand)]
enum TrustCommand {
    /// List the projects that something was decided about
    List,
    /// Show all that the configuration of a project wants, and whether it is in force
    Show {
        /// The current folder if absent
        folder: Option<std::path::PathBuf>,
    },
    /// Trust what the configuration of a project wants now; a change of it asks again
    Allow(Of),
    /// Forget what was decided about a project, yes or no
    Revoke(Of),
}

#[derive(Debug, Args)]
struct Of {
    /// The current folder if absent
    folder: Option<std::path::PathBuf>,
    /// This capability alone; may be given more than once
    #[arg(long, value_enum)]
    only: Vec<Which>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Which {
    /// Reading files outside of the project, and environment variables
    Outside,
    /// Running programs
    Programs,
    /// Allowing more than your own configuration does
    Permissions,
    /// Deciding where keys of providers and your text are sent
    Keys,
}

impl Which {
    fn capability(self) -> Capability {
        match self {
            Self::Outside => Capability::Outside,
            Self::Programs => Capability::Programs,
            Self::Permissions => Capability::Permissions,
            Self::Keys => Capability::Keys,
        }
    }
}

/// Exit code 1 where the decisions cannot be read or kept, or where there is nothing to decide.
pub async fn run(trust: Trust, at: &Surroundings, out: &mut (dyn Write + Send)) -> io::Result<ExitCode> {
    let engine = Engine::new(at.ports.clone());
    let done = match trust.command {
        None => show(&engine, at.folder.clone(), out).await?,
        Some(TrustCommand::Show { folder }) => show(&engine, within(at, folder), out).await?,
        Some(TrustCommand::List) => list(at, out).await?,
        Some(TrustCommand::Allow(of)) => {
            let capabilities = of.capabilities();
            allow(&engine, within(at, of.folder), &capabilities, out).await?
        }
        Some(TrustCommand::Revoke(of)) => {
            let capabilities = of.capabilities();
            let workspace = engine.workspace(within(at, of.folder)).await;
            revoke(at, workspace, capabilities, out).await?
        }
    };
    match done {
        Ok(is_well) => Ok(verdict(is_well)),
        Err(error) => writeln!(io::stderr(), "{}.", capitalised(&error.to_string())).map(|()| ExitCode::FAILURE),
    }
}

impl Of {
    fn capabilities(&self) -> Vec<Capability> {
        if self.only.is_empty() {
            return Capability::ALL.to_vec();
        }
        let is_wanted = |capability: &Capability| self.only.iter().any(|which| which.capability() == *capability);
        Capability::ALL.into_iter().filter(is_wanted).collect()
    }
}

async fn show(engine: &Engine, folder: AbsPath, out: &mut (dyn Write + Send)) -> io::Result<Result<bool, TrustError>> {
    let report = engine.survey(folder.clone()).await.config.trust;
    if report.wants.is_empty() {
        writeln!(out, "The configuration of {folder} wants nothing that needs trust.")?;
        return Ok(Ok(true));
    }
    for wanted in &report.wants {
        print(wanted, standing(wanted.standing), out)?;
    }
    if report.waiting().next().is_some() {
        writeln!(
            out,
            "`copydesk trust allow` in {folder} trusts what waits; `--only programs` and the like a part of it."
        )?;
    }
    Ok(Ok(true))
}

async fn allow(
    engine: &Engine,
    folder: AbsPath,
    capabilities: &[Capability],
    out: &mut (dyn Write + Send),
) -> io::Result<Result<bool, TrustError>> {
    let trusted = match engine.trust(folder.clone(), capabilities).await {
        Ok(trusted) => trusted,
        Err(error) => return Ok(Err(error)),
    };
    for wanted in &trusted {
        print(wanted, "trusted from now on", out)?;
    }
    if trusted.is_empty() {
        writeln!(out, "Nothing of {folder} waits for that.")?;
    }
    Ok(Ok(!trusted.is_empty()))
}

async fn revoke(
    at: &Surroundings,
    workspace: AbsPath,
    capabilities: Vec<Capability>,
    out: &mut (dyn Write + Send),
) -> io::Result<Result<bool, TrustError>> {
    match at.ports.trust.revoke(workspace.clone(), capabilities).await {
        Ok(true) => writeln!(out, "What was decided about {workspace} is forgotten; sessions that are open keep it.")?,
        Ok(false) => writeln!(out, "Nothing was decided about {workspace}; `copydesk trust list` names the projects.")?,
        Err(error) => return Ok(Err(error)),
    }
    Ok(Ok(true))
}

async fn list(at: &Surroundings, out: &mut (dyn Write + Send)) -> io::Result<Result<bool, TrustError>> {
    let all = match at.ports.trust.all().await {
        Ok(all) => all,
        Err(error) => return Ok(Err(error)),
    };
    if all.is_empty() {
        writeln!(out, "Nothing was decided about any project.")?;
    }
    for (workspace, decisions) in all {
        writeln!(out, "{}", escaped_line(&workspace.to_string()))?;
        for capability in Capability::ALL {
            let of =
                |verdict| decisions.iter().filter(|of| of.capability == capability && of.verdict == verdict).count();
            let said = [("trusted", of(TrustVerdict::Trusted)), ("refused", of(TrustVerdict::Refused))];
            let said: Vec<String> = said
                .iter()
                .filter(|(_, count)| *count > 0)
                .map(|(word, count)| format!("{word} ({count} {})", if *count == 1 { "content" } else { "contents" }))
                .collect();
            if !said.is_empty() {
                writeln!(out, "  {:<12} {}", capability.name(), said.join(", "))?;
            }
        }
    }
    Ok(Ok(true))
}

fn print(wanted: &Wanted, standing: &str, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{} ({standing}): it would {}", wanted.capability.name(), wanted.capability)?;
    for line in wanted.shown().lines() {
        writeln!(out, "  {line}")?;
    }
    Ok(())
}

/// For people.
pub(super) fn standing(standing: Standing) -> &'static str {
    match standing {
        Standing::Trusted => "trusted",
        Standing::Waiting => "waits for your decision",
        Standing::Refused => "refused",
        Standing::Withheld => "left out, as the editor does not trust the workspace",
    }
}

fn within(at: &Surroundings, folder: Option<std::path::PathBuf>) -> AbsPath {
    folder.map_or_else(|| at.folder.clone(), |folder| at.folder.join(folder))
}

fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}
