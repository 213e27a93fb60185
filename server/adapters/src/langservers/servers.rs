//! Which language server looks at which file: the table with the user's word on it, and what the disk says of programs and roots. Starts nothing; all of it
//! blocks on the disk.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use copydesk_engine::ports::{LanguageServer, LanguageServers};
use copydesk_workspace::path::AbsPath;
use serde_json::{Value, json};

use super::table::{Program, Role, Root, Safety, WELL_KNOWN, WellKnown};
use crate::os::environment::Variables;

/// One server, as it is configured.
#[derive(Clone)]
pub(super) struct Server {
    pub(super) name: String,
    role: Role,
    files: Vec<String>,
    start: Start,
    /// `None` for one of the user's own.
    known: Option<&'static WellKnown>,
    /// The user's own configuration, or one of the project that is trusted, speaks of it.
    is_named: bool,
    pub(super) env: BTreeMap<String, String>,
    initialization: Value,
}

#[derive(Clone)]
enum Start {
    /// Never empty.
    Configured(Vec<String>),
    Known(&'static [Program]),
}

/// What can be started for one file.
#[derive(Clone)]
pub(super) struct Chosen {
    pub(super) server: Server,
    pub(super) program: PathBuf,
    pub(super) arguments: Vec<String>,
    pub(super) root: AbsPath,
    pub(super) initialization: Value,
}

/// Where it is looked for.
pub(super) struct Surroundings<'a> {
    pub(super) variables: &'a Variables,
    /// Programs of the project may run, and what it makes others run.
    pub(super) is_trusted: bool,
}

/// What `doctor` tells of one server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    pub name: String,
    /// In the order in which they are looked for.
    pub programs: Vec<String>,
    /// `None`: not there.
    pub found: Option<PathBuf>,
    /// The configuration names it, or its marker stands in one of the folders.
    pub is_wanted: bool,
    /// It runs what the project says, and so waits for trust.
    pub waits_for_trust: bool,
}

/// In the order in which they are tried: the user's own, then the well-known ones.
pub(super) fn servers(configured: &LanguageServers) -> Vec<Server> {
    let LanguageServers::On(configured) = configured else { return Vec::new() };
    let is_known = |name: &str| WELL_KNOWN.iter().any(|known| known.name == name);
    let own = configured.iter().filter(|(name, _)| !is_known(name)).filter_map(|(name, server)| own(name, server));
    own.chain(WELL_KNOWN.iter().filter_map(|known| merged(known, configured.get(known.name)))).collect()
}

/// Those that look at this file, in their order: one that knows its language, and all that speak beside it. `within` is the folder of the workspace above
/// the file. `is_down`: left alone for now, so that another may speak.
pub(super) fn choose(
    servers: &[Server],
    path: &AbsPath,
    within: &AbsPath,
    at: &Surroundings<'_>,
    is_down: impl Fn(&Chosen) -> bool,
) -> Vec<Chosen> {
    let mut chosen: Vec<Chosen> = Vec::new();
    for server in servers.iter().filter(|server| server.looks_at(path)) {
        let is_taken = chosen.iter().any(|other| other.server.role == Role::Language);
        if server.role == Role::Language && is_taken {
            continue;
        }
        let starts = server.starts(path, within, at).into_iter();
        chosen.extend(starts.into_iter().find(|start| !is_down(start)));
    }
    chosen
}

/// Each server of the table and of the configuration, in these folders.
pub fn standings(configured: &LanguageServers, folders: &[AbsPath], variables: &Variables) -> Vec<Standing> {
    let standing = |server: Server| {
        let programs: Vec<String> = match &server.start {
            Start::Configured(command) => command.first().cloned().into_iter().collect(),
            Start::Known(programs) => programs.iter().map(|program| program.command[0].to_owned()).collect(),
        };
        let is_marked = |folder: &AbsPath| matches!(server.root(folder, folder), Some(Some(_)));
        // Where nothing of the project may run, and then whatever there is.
        let [unasked, trusted] = [false, true].map(|is_trusted| {
            let at = Surroundings { variables, is_trusted };
            folders.iter().find_map(|folder| server.programs(folder, folder, &at).next())
        });
        let always_waits = match &server.start {
            Start::Configured(_) => false,
            Start::Known(programs) => programs.iter().all(|program| program.safety == Safety::RunsProject),
        };
        let waits = unasked.is_none() && (trusted.is_some() || always_waits);
        Standing {
            found: unasked.or(trusted).map(|(program, _)| program),
            is_wanted: server.is_named || folders.iter().any(is_marked),
            waits_for_trust: waits && !server.is_named,
            programs,
            name: server.name,
        }
    };
    servers(configured).into_iter().map(standing).collect()
}

impl Server {
    pub(super) fn looks_at(&self, path: &AbsPath) -> bool {
        let name = path.name();
        let extension = path.extension().unwrap_or_default();
        self.files.iter().any(|known| known == extension && !extension.is_empty() || *known == name)
    }

    fn starts(&self, path: &AbsPath, within: &AbsPath, at: &Surroundings<'_>) -> Vec<Chosen> {
        let folder = path.parent().unwrap_or_else(|| within.clone());
        let Some(root) = self.root(&folder, within) else { return Vec::new() };
        if root.is_none() && self.known.is_some_and(|known| known.needs_root) {
            return Vec::new();
        }
        let root = root.unwrap_or_else(|| within.clone());
        let chosen = |(program, arguments)| Chosen {
            server: self.clone(),
            program,
            arguments,
            initialization: self.initialization(&root, at),
            root: root.clone(),
        };
        self.programs(&folder, within, at).map(chosen).collect()
    }

    /// The folder that a marker makes its root; `None` where another server is meant.
    fn root(&self, folder: &AbsPath, within: &AbsPath) -> Option<Option<AbsPath>> {
        let Some(known) = self.known else { return Some(None) };
        if Root::Nearest(known.unless).find(folder, within).is_some() {
            return None;
        }
        Some(known.roots.iter().find_map(|root| root.find(folder, within)))
    }

    /// Those that are there and may run, with their arguments, in their order.
    fn programs(
        &self,
        folder: &AbsPath,
        within: &AbsPath,
        at: &Surroundings<'_>,
    ) -> impl Iterator<Item = (PathBuf, Vec<String>)> {
        let (configured, known): (_, &[Program]) = match &self.start {
            Start::Configured(command) => {
                let found = find_program(&command[0], at.variables);
                (found.map(|program| (program, command[1..].to_vec())), &[])
            }
            Start::Known(programs) => (None, programs),
        };
        let may_run = at.is_trusted || self.is_named;
        let known = known
            .iter()
            .filter(move |program| program.safety == Safety::Reads || may_run)
            .filter(move |program| program.needs.is_none_or(|needs| above(folder, within, needs).is_some()))
            .filter_map(move |program| {
                let name = program.command[0];
                let local = program.is_local && at.is_trusted;
                let local = local.then(|| above(folder, within, &format!("node_modules/.bin/{name}"))).flatten();
                let found = local.or_else(|| at.variables.find_program(name))?;
                let arguments = program.command[1..].iter().map(|argument| (*argument).to_owned()).collect();
                (name != "tsc" || is_native_typescript(&found)).then_some((found, arguments))
            });
        configured.into_iter().chain(known)
    }

    fn initialization(&self, root: &AbsPath, at: &Surroundings<'_>) -> Value {
        if !self.initialization.is_null() {
            return self.initialization.clone();
        }
        match self.known {
            // Which libraries a Python project has, its interpreter says.
            Some(known) if known.name == "pyright" => {
                let of_user = at.variables.get("VIRTUAL_ENV").map(|folder| Path::new(folder).join("bin/python"));
                let of_project = [".venv", "venv"].map(|folder| root.join(folder).join("bin/python"));
                let of_project = of_project.into_iter().filter(|_| at.is_trusted).map(|path| path.as_path().to_owned());
                let found = of_user.into_iter().chain(of_project).find(|path| path.exists());
                found.map_or(Value::Null, |python| json!({ "python": { "pythonPath": python } }))
            }
            // A constant of the table: a test parses all of them.
            Some(known) => serde_json::from_str(known.settings).unwrap_or(Value::Null),
            None => Value::Null,
        }
    }
}

impl Root {
    /// From `folder` up to `within`.
    fn find(self, folder: &AbsPath, within: &AbsPath) -> Option<AbsPath> {
        let mut folders = std::iter::successors(Some(folder.clone()), AbsPath::parent)
            .take_while(|folder| folder.starts_with(within));
        match self {
            Self::Nearest(markers) => folders.find(|folder| has_marker(folder, markers)),
            Self::Topmost(markers) => folders.filter(|folder| has_marker(folder, markers)).last(),
            Self::Holding(name, text) => folders.find(|folder| {
                std::fs::read_to_string(folder.join(name).as_path()).is_ok_and(|found| found.contains(text))
            }),
        }
    }
}

fn has_marker(folder: &AbsPath, markers: &[&str]) -> bool {
    let is_there = |marker: &&str| match marker.strip_prefix('*') {
        None => folder.join(marker).as_path().exists(),
        Some(ending) => {
            let entries = std::fs::read_dir(folder.as_path()).into_iter().flatten().flatten();
            entries.into_iter().any(|entry| entry.file_name().to_string_lossy().ends_with(ending))
        }
    };
    markers.iter().any(is_there)
}

/// The nearest of that name.
fn above(folder: &AbsPath, within: &AbsPath, name: &str) -> Option<PathBuf> {
    let folders = std::iter::successors(Some(folder.clone()), AbsPath::parent);
    let within = folders.take_while(|folder| folder.starts_with(within));
    within.map(|folder| folder.join(name).as_path().to_owned()).find(|path| path.exists())
}

/// The compiler of older versions does not know the option, and ends at once.
fn is_native_typescript(tsc: &Path) -> bool {
    let manifest = std::fs::canonicalize(tsc).ok().and_then(|real| Some(real.parent()?.parent()?.join("package.json")));
    let Some(text) = manifest.and_then(|manifest| std::fs::read_to_string(manifest).ok()) else { return true };
    let manifest: Value = serde_json::from_str(&text).unwrap_or_default();
    let major = manifest["version"].as_str().and_then(|version| version.split('.').next()?.parse::<u32>().ok());
    major.is_none_or(|major| major >= 7)
}

fn find_program(program: &str, variables: &Variables) -> Option<PathBuf> {
    match AbsPath::new(program) {
        Some(path) => std::fs::metadata(path.as_path()).is_ok_and(|found| found.is_file()).then(|| program.into()),
        None => variables.find_program(program),
    }
}

/// `None` where it is disabled, or has no command.
fn own(name: &str, server: &LanguageServer) -> Option<Server> {
    let command = server.command.clone().filter(|command| !server.disabled && !command.is_empty())?;
    Some(Server {
        name: name.to_owned(),
        role: Role::Linter,
        files: files(server.extensions.as_deref().unwrap_or_default()),
        start: Start::Configured(command),
        known: None,
        is_named: true,
        env: server.env.clone(),
        initialization: server.initialization.clone(),
    })
}

fn merged(known: &'static WellKnown, configured: Option<&LanguageServer>) -> Option<Server> {
    let is_named = configured.is_some();
    let LanguageServer { disabled, command, extensions, env, initialization } = configured.cloned().unwrap_or_default();
    let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
    (!disabled).then(|| Server {
        name: known.name.to_owned(),
        role: known.role,
        files: extensions.map_or_else(|| owned(known.files), |own| files(&own)),
        start: command.filter(|command| !command.is_empty()).map_or(Start::Known(known.programs), Start::Configured),
        known: Some(known),
        is_named,
        env,
        initialization,
    })
}

fn files(written: &[String]) -> Vec<String> {
    written.iter().map(|extension| extension.trim_start_matches('.').to_owned()).collect()
}

#[cfg(test)]
#[path = "servers_tests.rs"]
mod tests;
