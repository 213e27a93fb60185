//! What a call would touch, as the rules see it: links resolved, paths relative to the tree, folders outside of the workspace (C62). Decides nothing.

use std::collections::HashMap;

use copydesk_workspace::disk::{DiskError, FileKind};
use copydesk_workspace::path::{AbsPath, DocKey};

use super::RunnerDeps;
use super::command::{self, MayChange, Part, Reach, Simple};
use super::search::{granted_root, may_keep};
use crate::confinement::is_in_force;
use crate::escape::escaped_line;
use crate::permission::{Agents, Cover, Grant, Mode, Rule, is_sensitive, path_pattern};
use crate::ports::MayOpen;
use crate::search::GrantedRoot;
use crate::skills::SKILL;
use crate::tool::{Access, Facts};
use crate::view::{Granted, Scope};
use crate::web::{WebAddress, WebGrant};

/// The permission of commands outside of the sandbox.
pub(super) const UNCONFINED: &str = "bash_unconfined";

/// The permission of addresses, whichever tool fetches them.
pub(super) const WEBFETCH: &str = "webfetch";

/// One permission that a call needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Need {
    pub(super) permission: String,
    /// Of one thing under several names: all must be allowed.
    pub(super) values: Vec<String>,
    /// Names under which the thing may be denied, though not allowed. Of a file: its absolute ones, for rules that are written so.
    pub(super) aliases: Vec<String>,
    pub(super) subject: Subject,
    /// For the user: what is done to what, e.g. `edit src/a.rs`.
    pub(super) what: String,
    /// What "always" covers, in words that name all of it; `None` where no answer stands for good.
    pub(super) always: Option<String>,
    /// Of a command: the part that needs it.
    pub(super) part: Option<Part>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Subject {
    Read,
    Edit {
        key: DocKey,
        /// Inside of the workspace, and nothing that runs code or holds secrets: what a mode may free (R9.3).
        is_plain: bool,
    },
    /// By a command, behind the editor.
    Written {
        /// As of an edit.
        is_plain: bool,
        /// A rule that allows the program does not speak of it: a redirect's target, or a file that runs code or holds secrets.
        is_reserved: bool,
    },
    /// Of a file or folder that nobody can name.
    Anywhere {
        is_reserved: bool,
    },
    Folder(String),
    Command(Box<Simple>),
    /// A part of a command that is not understood, with what guards say of it.
    Unclear {
        guards: Vec<Rule>,
    },
    /// A command in whose sandbox another part opens the network.
    Together,
    /// A command that would run outside of the sandbox.
    Unconfined,
    Fetch(WebAddress),
    /// With whatever pattern.
    Search,
    Session,
}

/// Why nothing can be said of a call.
#[derive(Debug, thiserror::Error)]
pub(super) enum AccessError {
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// A part that is denied could stand in it.
    #[error(
        "The command was not run: it cannot be judged part by part ({reason}). Split it into several calls, or write it to a script file and run that."
    )]
    Beyond { reason: String },
}

pub(super) struct Resolved {
    pub(super) needs: Vec<Need>,
    pub(super) scope: Scope,
    /// Paths of the call with their targets, where they are links.
    pub(super) paths: Vec<(AbsPath, AbsPath)>,
    /// What it would take to quote from the files.
    pub(super) quoting: Vec<Need>,
    /// The roots of a search.
    pub(super) searched: Vec<GrantedRoot>,
    pub(super) is_command: bool,
    /// Of a command.
    pub(super) reach: Reach,
    pub(super) may_change: MayChange,
    /// Of a command: what of the workspace the model could read without a question.
    pub(super) may_keep: Option<MayOpen>,
    pub(super) web: WebGrant,
    /// By name.
    pub(super) skill: Option<String>,
}

impl Need {
    /// What "always" covers, for one agent.
    pub(super) fn grants(&self, agent: &str) -> Vec<Grant> {
        let grant = |permission: &str, cover| {
            let agents = Agents::Only(agent.to_owned());
            Grant { agents, permission: permission.to_owned(), cover }
        };
        let own = |cover| vec![grant(&self.permission, cover)];
        match &self.subject {
            Subject::Folder(folder) => own(Cover::Under(folder.clone())),
            Subject::Fetch(address) => own(Cover::Under(address.origin())),
            Subject::Search => own(Cover::All),
            Subject::Command(simple) if simple.prefix.is_some() => {
                simple.prefix.iter().map(|prefix| grant(&self.permission, Cover::Prefix(prefix.clone()))).collect()
            }
            Subject::Unclear { .. } | Subject::Anywhere { .. } | Subject::Together => {
                let whole = self.part.iter().map(|part| part.line.whole());
                whole.map(|(permission, value)| grant(permission, Cover::Exact(value))).collect()
            }
            Subject::Read
            | Subject::Edit { .. }
            | Subject::Written { .. }
            | Subject::Command(_)
            | Subject::Unconfined
            | Subject::Session => {
                self.values.iter().map(|value| grant(&self.permission, Cover::Exact(value.clone()))).collect()
            }
        }
    }
}

pub(super) async fn resolve(deps: &RunnerDeps, access: Vec<Access>) -> Result<Resolved, AccessError> {
    let places = Places::of(deps).await?;
    let mut resolved = Resolved {
        needs: Vec::new(),
        scope: Scope::All,
        paths: Vec::new(),
        quoting: Vec::new(),
        searched: Vec::new(),
        is_command: false,
        reach: Reach::default(),
        may_change: MayChange::default(),
        may_keep: None,
        web: WebGrant::Nothing,
        skill: None,
    };
    let mut granted = Vec::new();
    for access in access {
        match access {
            Access::Read(path) => {
                let real = deps.ports.files.real_path(path.clone()).await?;
                resolved.needs.push(places.file("read", &path, &real));
                resolved.needs.extend(places.outside(deps, &path, &real).await);
                resolved.quoting.extend(resolved.needs.iter().cloned());
                granted.push(Granted { real: real.clone(), write: false });
                resolved.paths.push((path, real));
            }
            Access::Write(path) => {
                let real = deps.ports.files.real_path(path.clone()).await?;
                let outside = places.outside(deps, &path, &real).await;
                resolved.needs.push(places.file("edit", &path, &real));
                resolved.quoting.push(places.file("read", &path, &real));
                resolved.quoting.extend(outside.clone());
                resolved.needs.extend(outside);
                granted.push(Granted { real: real.clone(), write: true });
                resolved.paths.push((path, real));
            }
            Access::Command { text, folder, unconfined } => {
                let is_sandboxed = is_in_force(&deps.config.sandbox, &deps.ports.shell.sandbox());
                let is_confined = is_sandboxed && !unconfined;
                let (mut needs, reach, may_change) =
                    command::needs(deps, &places, text.clone(), folder, is_confined).await?;
                if is_sandboxed && unconfined {
                    command::hold_auto(&mut needs);
                    resolved.needs.push(outside_of_sandbox(text, &needs));
                }
                resolved.needs.extend(needs);
                resolved.reach = reach;
                resolved.may_change = may_change;
                resolved.may_keep = Some(may_keep(deps, &places));
                resolved.is_command = true;
            }
            Access::Search { permission, pattern, roots } => {
                resolved.needs.push(search(permission, pattern));
                for root in roots {
                    let real = deps.ports.files.real_path(root.clone()).await?;
                    let kind = deps.ports.files.stat(real.clone()).await.ok().map(|stat| stat.kind);
                    if kind != Some(FileKind::Directory) {
                        resolved.needs.push(places.file("read", &root, &real));
                    }
                    resolved.needs.extend(places.outside(deps, &root, &real).await);
                    granted.push(Granted { real: real.clone(), write: false });
                    resolved.searched.push(granted_root(deps, &places, root.clone(), real.clone(), kind));
                    resolved.paths.push((root, real));
                }
            }
            Access::Fetch(address) => {
                resolved.needs.push(fetch(&address));
                resolved.web = WebGrant::Address(address);
            }
            Access::Service { permission, query } => {
                resolved.needs.push(search(permission, query));
                resolved.web = WebGrant::Service(permission);
            }
            Access::Skill(name) => {
                resolved.needs.push(skill(&name));
                resolved.skill = Some(name);
            }
            Access::Session { permission } => resolved.needs.push(of_session(permission)),
        }
    }
    distinct(&mut resolved.needs);
    if !resolved.is_command {
        resolved.scope = Scope::Paths(granted);
    }
    Ok(resolved)
}

/// Each need once. There may be thousands.
pub(super) fn distinct(needs: &mut Vec<Need>) {
    let mut known: HashMap<(String, Option<usize>), Vec<Need>> = HashMap::new();
    needs.retain(|need| {
        let start = need.part.as_ref().map(|part| part.span.start);
        let alike = known.entry((need.what.clone(), start)).or_default();
        let is_new = !alike.contains(need);
        if is_new {
            alike.push(need.clone());
        }
        is_new
    });
}

/// Rules are held against the text and each command in it that may do more than read, by its `needs`: all of them run outside.
fn outside_of_sandbox(text: String, needs: &[Need]) -> Need {
    let mut others: Vec<String> = Vec::new();
    let mut aliases: Vec<String> = Vec::new();
    for need in needs {
        match &need.subject {
            Subject::Command(simple) if simple.free_in != Some(Mode::Ask) => {
                others.extend(need.values.iter().filter(|value| value.as_str() != text.trim()).cloned());
                aliases.extend(need.aliases.iter().cloned());
            }
            // The part itself: what begins like the text says nothing of it.
            Subject::Unclear { .. } => others.extend(need.aliases.iter().cloned()),
            _ => {}
        }
    }
    // An answer for good would allow each part by itself too.
    let is_one = others.is_empty();
    Need {
        permission: UNCONFINED.to_owned(),
        values: [vec![text], others].concat(),
        aliases,
        subject: Subject::Unconfined,
        what: "run a command outside of the sandbox, with all of your rights".to_owned(),
        always: is_one.then(|| "this exact command outside of the sandbox".to_owned()),
        part: None,
    }
}

fn fetch(address: &WebAddress) -> Need {
    let (value, origin) = (address.to_string(), address.origin());
    let shown = escaped_line(&value);
    Need {
        permission: WEBFETCH.to_owned(),
        aliases: address.other_spellings(),
        values: vec![value],
        what: format!("fetch {shown}"),
        always: Some(format!("every address at {origin}")),
        subject: Subject::Fetch(address.clone()),
        part: None,
    }
}

fn search(permission: &str, pattern: String) -> Need {
    Need {
        permission: permission.to_owned(),
        what: format!("{permission} for {pattern:?}"),
        values: vec![pattern],
        aliases: Vec::new(),
        subject: Subject::Search,
        always: Some(format!("every {permission}")),
        part: None,
    }
}

fn skill(name: &str) -> Need {
    let shown = escaped_line(name);
    Need {
        permission: SKILL.to_owned(),
        values: vec![name.to_owned()],
        aliases: Vec::new(),
        subject: Subject::Session,
        what: format!("load the skill {shown}"),
        always: Some(format!("the skill {shown}")),
        part: None,
    }
}

fn of_session(permission: &str) -> Need {
    Need {
        permission: permission.to_owned(),
        values: vec!["*".to_owned()],
        aliases: Vec::new(),
        subject: Subject::Session,
        what: format!("use {permission}"),
        always: Some(permission.to_owned()),
        part: None,
    }
}

/// The folders that have a name of their own in rules, as they are named and as they are on the disk.
pub(super) struct Places<'a> {
    facts: &'a Facts,
    /// Those of the workspace first.
    folders: Vec<(AbsPath, AbsPath)>,
    inside: usize,
}

impl<'a> Places<'a> {
    async fn of(deps: &'a RunnerDeps) -> Result<Self, DiskError> {
        let facts = &*deps.facts;
        let inside = facts.roots.iter().chain([&facts.folder, &facts.worktree]);
        let data = facts.spill.parent();
        let known = inside.clone().chain([&facts.spill, &facts.temp]).chain(&data);
        let mut folders = Vec::new();
        for folder in known {
            folders.push((folder.clone(), deps.ports.files.real_path(folder.clone()).await?));
        }
        Ok(Self { facts, folders, inside: inside.count() })
    }

    /// Names and real paths.
    pub(super) fn folders(&self) -> &[(AbsPath, AbsPath)] {
        &self.folders
    }

    /// Those of the workspace.
    pub(super) fn named_inside(&self) -> impl Iterator<Item = (&AbsPath, &AbsPath)> {
        self.folders[..self.inside].iter().map(|(name, real)| (name, real))
    }

    /// The real paths of the workspace's folders.
    pub(super) fn inside(&self) -> Vec<AbsPath> {
        self.folders[..self.inside].iter().map(|(_, folder)| folder.clone()).collect()
    }

    pub(super) fn file(&self, permission: &str, path: &AbsPath, real: &AbsPath) -> Need {
        let given = path_pattern(path, &self.facts.worktree);
        let target = path_pattern(&self.named(real), &self.facts.worktree);
        let shown = escaped_line(&if given == target { given.clone() } else { format!("{given} (a link to {real})") });
        let mut values = vec![given];
        if !values.contains(&target) {
            values.push(target);
        }
        let mut aliases = vec![path.to_string(), real.to_string(), self.named(real).to_string()];
        aliases.dedup();
        let subject = if permission == "edit" {
            Subject::Edit { key: DocKey::from_real_path(real.clone()), is_plain: self.is_plain(path, real) }
        } else {
            Subject::Read
        };
        Need {
            permission: permission.to_owned(),
            values,
            aliases,
            subject,
            what: format!("{permission} {shown}"),
            always: Some(format!("{permission} {shown}")),
            part: None,
        }
    }

    /// Under both of its names.
    fn is_plain(&self, path: &AbsPath, real: &AbsPath) -> bool {
        let root = self.folders[..self.inside].iter().find(|(_, folder)| real.starts_with(folder));
        root.is_some_and(|(name, folder)| !is_sensitive(path, name) && !is_sensitive(real, folder))
    }

    /// Where the target is in no folder of the workspace.
    pub(super) async fn outside(&self, deps: &RunnerDeps, path: &AbsPath, real: &AbsPath) -> Option<Need> {
        if self.folders[..self.inside].iter().any(|(_, folder)| real.starts_with(folder)) {
            return None;
        }
        let is_folder = deps.ports.files.stat(real.clone()).await.is_ok_and(|stat| stat.kind == FileKind::Directory);
        let folder_of = |path: &AbsPath| {
            let parent = if is_folder { None } else { path.parent() };
            parent.unwrap_or_else(|| path.clone())
        };
        let folder = folder_of(&self.named(real)).to_string();
        let pattern = |folder: &str| format!("{}/*", folder.trim_end_matches('/'));
        let (value, alias) = (pattern(&folder), pattern(&folder_of(path).to_string()));
        let link = if path == real { String::new() } else { format!(": {path} is a link, its target is {real}") };
        let (shown, link) = (escaped_line(&folder), escaped_line(&link));
        Some(Need {
            permission: "external_directory".to_owned(),
            aliases: if alias == value { Vec::new() } else { vec![alias] },
            values: vec![value],
            what: format!("reach outside of the workspace into {shown}{link}"),
            always: Some(format!("everything below {shown}")),
            part: None,
            subject: Subject::Folder(folder.trim_end_matches('/').to_owned()),
        })
    }

    /// Of a folder that has a name of its own.
    pub(super) fn real(&self, name: &AbsPath) -> AbsPath {
        let found = self.folders.iter().find(|(known, _)| known == name);
        found.map_or_else(|| name.clone(), |(_, real)| real.clone())
    }

    /// The name under which rules know a real path: that of the folder it is in.
    pub(super) fn named(&self, real: &AbsPath) -> AbsPath {
        let found = self.folders.iter().find_map(|(name, folder)| Some(name.join(real.relative_to(folder)?)));
        found.unwrap_or_else(|| real.clone())
    }
}
