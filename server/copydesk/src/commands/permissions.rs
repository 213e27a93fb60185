//! `copydesk permissions`: what the user has allowed for longer than a session is listed, taken back and given. Rules of the configuration are not its matter.

use std::io::{self, Write};
use std::process::ExitCode;

use clap::{Args, Subcommand};
use copydesk_adapters::os::grant_file::GrantFile;
use copydesk_engine::engine::Engine;
use copydesk_engine::escape::escaped_line;
use copydesk_engine::permission::{Agents, Cover, Grant, GrantScope, KeptGrant};
use copydesk_engine::ports::{GrantStore as _, GrantStoreError};
use copydesk_workspace::path::AbsPath;
use serde_json::json;

use super::Surroundings;
use crate::grant_view;

#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub enum PermissionsCommand {
    /// List all that is allowed, of every project, with the ids for `revoke` (the default)
    List,
    /// Take back what has these ids
    Revoke {
        #[arg(required = true)]
        ids: Vec<String>,
    },
    /// Take back everything
    Clear {
        /// Only what is allowed in the project of the current folder
        #[arg(long)]
        project: bool,
    },
    /// Allow something without being asked for it, exactly as it is written here
    Allow(Allow),
}

#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct Allow {
    /// As rules name it, e.g. `bash`, `edit` or `external_directory`; no wildcard
    pub permission: String,
    /// The very command or file, as a question names it (files relative to the project's root); `git log *` is a command with any
    /// arguments, `/etc/*` of `external_directory` all below a folder, `*` everything
    pub value: String,
    #[command(flatten)]
    pub place: Place,
    #[command(flatten)]
    pub agents: AgentChoice,
}

#[derive(Debug, Clone, PartialEq, Eq, Args)]
#[group(required = true, multiple = false)]
pub struct Place {
    /// In the project of the current folder
    #[arg(long)]
    pub project: bool,
    /// In every project
    #[arg(long)]
    pub everywhere: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Args)]
#[group(multiple = false)]
pub struct AgentChoice {
    /// For this agent
    #[arg(long, default_value = "build")]
    pub agent: String,
    /// For all of them
    #[arg(long)]
    pub every_agent: bool,
}

/// Exit code 1 where nothing was done.
pub async fn run(
    command: Option<PermissionsCommand>,
    json: bool,
    at: &Surroundings,
    out: &mut (dyn Write + Send),
) -> io::Result<ExitCode> {
    let file = GrantFile::in_folder(&at.environment().folders().data);
    let done = match command.unwrap_or(PermissionsCommand::List) {
        PermissionsCommand::List => list(&file, json).await,
        PermissionsCommand::Revoke { ids } => revoke(&file, ids, json).await,
        PermissionsCommand::Clear { project } => {
            let project = if project { Some(project_of(at).await) } else { None };
            clear(&file, project, json).await
        }
        PermissionsCommand::Allow(allow) => give(&file, allow, at, json).await,
    };
    match done {
        Ok(Done { text, is_done: true }) => writeln!(out, "{text}").map(|()| ExitCode::SUCCESS),
        Ok(Done { text, is_done: false }) => writeln!(io::stderr(), "{text}").map(|()| ExitCode::FAILURE),
        Err(error) => writeln!(io::stderr(), "{error}").map(|()| ExitCode::FAILURE),
    }
}

struct Done {
    text: String,
    is_done: bool,
}

async fn list(file: &GrantFile, json: bool) -> Result<Done, GrantStoreError> {
    let kept = file.all().await?;
    let text = if json {
        in_json(&kept)
    } else if kept.is_empty() {
        "Nothing is allowed for longer than a session.".to_owned()
    } else {
        in_words(&kept)
    };
    Ok(Done { text, is_done: true })
}

async fn revoke(file: &GrantFile, ids: Vec<String>, json: bool) -> Result<Done, GrantStoreError> {
    let removed = file.remove(ids).await?;
    if removed.is_empty() {
        let text = "Nothing has such an id; `copydesk permissions` shows the ids.".to_owned();
        return Ok(Done { text, is_done: false });
    }
    Ok(Done { text: told("Taken back:", &removed, json), is_done: true })
}

async fn clear(file: &GrantFile, project: Option<AbsPath>, json: bool) -> Result<Done, GrantStoreError> {
    if project.is_none()
        && let Some(aside) = file.begin_anew()?
    {
        let text = if json {
            json!({ "grants": [], "kept": aside }).to_string()
        } else {
            format!("The file could not be used: it is kept as {}, and nothing is allowed any more.", aside.display())
        };
        return Ok(Done { text, is_done: true });
    }
    let is_meant = |kept: &&KeptGrant| match &project {
        Some(root) => kept.scope == GrantScope::Project(root.clone()),
        None => true,
    };
    let ids = file.all().await?.iter().filter(is_meant).map(|kept| kept.id.clone()).collect();
    let removed = file.remove(ids).await?;
    let text = if removed.is_empty() && !json {
        "Nothing was allowed there.".to_owned()
    } else {
        told("Taken back:", &removed, json)
    };
    Ok(Done { text, is_done: true })
}

async fn give(file: &GrantFile, allow: Allow, at: &Surroundings, json: bool) -> Result<Done, GrantStoreError> {
    let Allow { permission, value, place, agents } = allow;
    if permission.is_empty() || permission.contains(['*', '?']) || value.is_empty() {
        let text = "A grant is for one permission by its whole name, and for something; rules with wildcards belong into the configuration.";
        return Ok(Done { text: text.to_owned(), is_done: false });
    }
    let scope = if place.project { GrantScope::Project(project_of(at).await) } else { GrantScope::User };
    let agents = if agents.every_agent { Agents::Every } else { Agents::Only(agents.agent) };
    let cover = Cover::parse(&permission, &value);
    let kept = KeptGrant {
        id: at.ports.ids.next("grt"),
        scope,
        grant: Grant { agents, permission, cover },
        given: at.ports.clock.now(),
    };
    file.add(vec![kept.clone()]).await?;
    // One that was there before stays as it is.
    let all = file.all().await?;
    let same: Vec<KeptGrant> =
        all.iter().filter(|known| known.scope == kept.scope && known.grant == kept.grant).cloned().collect();
    Ok(Done { text: told("Allowed from now on:", &same, json), is_done: true })
}

async fn project_of(at: &Surroundings) -> AbsPath {
    Engine::new(at.ports.clone()).project_of(at.folder.clone()).await
}

fn told(what: &str, grants: &[KeptGrant], json: bool) -> String {
    if json { in_json(grants) } else { format!("{what}\n{}", in_words(grants)) }
}

fn in_json(grants: &[KeptGrant]) -> String {
    let grants: Vec<_> = grants.iter().map(grant_view::of_kept).collect();
    format!("{:#}", json!({ "grants": grants }))
}

/// By the place where they hold, the projects in order, each with the day when it was given.
fn in_words(grants: &[KeptGrant]) -> String {
    let place = |kept: &KeptGrant| match &kept.scope {
        GrantScope::Project(root) => format!("In {}:", escaped_line(&root.to_string())),
        GrantScope::User => "Everywhere:".to_owned(),
    };
    let mut by_place: Vec<(String, Vec<String>)> = Vec::new();
    for kept in grants {
        let day = jiff::Timestamp::from_millisecond(kept.given.0)
            .map(|given| given.strftime("%Y-%m-%d").to_string())
            .unwrap_or_default();
        let line = format!("  {}  {day}  {}", kept.id, escaped_line(&kept.grant.to_string()));
        let place = place(kept);
        match by_place.iter_mut().find(|(known, _)| *known == place) {
            Some((_, lines)) => lines.push(line),
            None => by_place.push((place, vec![line])),
        }
    }
    by_place.sort();
    let blocks: Vec<String> =
        by_place.into_iter().map(|(place, lines)| format!("{place}\n{}", lines.join("\n"))).collect();
    blocks.join("\n")
}
