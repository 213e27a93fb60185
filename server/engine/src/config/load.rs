//! Finds, reads and merges the configuration of a folder (levels and substitutions: `docs/configuration.md`).

use std::collections::BTreeSet;
use std::sync::Arc;

use copydesk_workspace::disk::{DiskError, FileKind};
use copydesk_workspace::path::AbsPath;

use super::assemble::{Trees, assemble};
use super::decode::decode;
use super::markdown::{AgentFile, agent_files, agent_tree};
use super::node::{Node, Value};
use super::normalise::normalise;
use super::raw::RawConfig;
use super::remembered::remembered;
use super::substitute::{Substituted, substitute};
use super::survey::{Found, LookedAt, Survey};
use super::untrusted::restrict;
use super::{Config, Problem, Source};
use crate::agent;
use crate::permission::own_configuration;
use crate::ports::{Environment, Files, Ports};
use crate::tool::Facts;

const OURS: &[&str] = &["copydesk.json", "copydesk.jsonc"];
/// Bytes.
const MAX_PROJECT_FILE: u64 = 1 << 20;
const OPENCODES: &[&str] = &["opencode.json", "opencode.jsonc"];

/// Never fails: what cannot be read is a problem in the result. Keys of project files that run something, widen a permission or redirect a key are
/// left out and named as problems.
///
/// `editor` are the settings of the session's editor; they may come from the project and are treated like its files.
pub async fn load(ports: &Ports, facts: &Facts, editor: Option<serde_json::Value>) -> Config {
    read(ports, facts, editor).await.config
}

/// As `load`, with where it all comes from.
pub async fn survey(ports: &Ports, facts: &Facts) -> Survey {
    read(ports, facts, None).await
}

/// What one source says, of a project or of the user.
pub(super) struct Layer {
    pub(super) tree: Node,
    pub(super) of_project: bool,
}

async fn read(ports: &Ports, facts: &Facts, editor: Option<serde_json::Value>) -> Survey {
    let mut reader = Reader {
        files: ports.files.as_ref(),
        environment: ports.environment.as_ref(),
        seen: BTreeSet::new(),
        places: Vec::new(),
        own: Vec::new(),
        problems: Vec::new(),
    };
    let home = ports.environment.folders().home;
    let before = reader.user_files(facts).await;
    let mut places = std::mem::take(&mut reader.places);
    let after = reader.user_variables(facts).await;
    let permissions = reader.permission_variables().await;
    let variables = std::mem::take(&mut reader.places);

    let mut user = merged(before.iter().chain(&after));
    for permission in &permissions {
        user.merge(permission.clone());
    }
    let agents = agent::built_in(None).into_keys().chain(keys(&user, "agent")).collect();
    let mut project = reader.project_files(facts, &agents).await;
    places.append(&mut reader.places);
    places.extend(variables);
    project.extend(editor.and_then(|settings| reader.editor_settings(&settings, &agents)));

    let all = merged(before.iter().chain(&project).chain(&after));
    let trees = Trees { user, project: merged(project.iter()), all };
    let guarded = own_configuration(std::mem::take(&mut reader.own));
    let mut config = assemble(trees, facts, &home, &guarded, ports.secrets.as_ref(), reader.problems);
    if config.model.is_none() {
        config.remembered = remembered(reader.files, reader.environment).await;
    }
    let users = |tree| Layer { tree, of_project: false };
    let projects = project.into_iter().map(|tree| Layer { tree, of_project: true });
    let layers = before.into_iter().map(users).chain(projects).chain(after.into_iter().chain(permissions).map(users));
    Survey { config, places, layers: layers.collect() }
}

struct Reader<'a> {
    files: &'a dyn Files,
    environment: &'a dyn Environment,
    /// Files of the user are not read again as a project's, e.g. where the home folder is one.
    seen: BTreeSet<AbsPath>,
    /// In the order of reading.
    places: Vec<LookedAt>,
    /// Patterns of the user's own files, under all their names.
    own: Vec<String>,
    problems: Vec<Problem>,
}

/// One that nobody has trusted.
struct Project<'a> {
    /// Links resolved.
    root: AbsPath,
    /// The names of the agents that exist without it.
    agents: &'a BTreeSet<String>,
}

impl Reader<'_> {
    /// What the user wrote, from the weakest to the strongest.
    async fn user_files(&mut self, facts: &Facts) -> Vec<Node> {
        let folders = self.environment.folders();
        let mut trees = Vec::new();
        let mut places = vec![
            (folders.config.join("opencode"), [&["config.json"], OPENCODES].concat()),
            (folders.config.join("copydesk"), OURS.to_vec()),
            (folders.home.join(".opencode"), OPENCODES.to_vec()),
            (folders.home.join(".copydesk"), OURS.to_vec()),
        ];
        for (variable, names) in [("OPENCODE_CONFIG_DIR", OPENCODES), ("COPYDESK_CONFIG_DIR", OURS)] {
            if let Some(folder) = self.variable(variable) {
                places.push((facts.folder.join(folder), names.to_vec()));
            }
        }
        for (folder, names) in places {
            self.own(&folder, "/*").await;
            for name in names {
                trees.extend(self.user_file(folder.join(name)).await);
            }
            for file in agent_files(self.files, &folder, None, &mut self.problems).await {
                self.seen.insert(file.path.clone());
                trees.extend(self.agent(&file, None).await);
            }
        }
        for variable in ["OPENCODE_CONFIG", "COPYDESK_CONFIG"] {
            let Some(path) = self.variable(variable) else { continue };
            let path = facts.folder.join(path);
            self.own(&path, "").await;
            match self.files.stat(path.clone()).await {
                Ok(_) => trees.extend(self.user_file(path).await),
                Err(error) => self.problems.push(Problem {
                    source: Source::Variable(variable.to_owned()),
                    line: None,
                    key: None,
                    text: format!("the file that it names cannot be read: {error}"),
                }),
            }
        }
        trees
    }

    async fn own(&mut self, place: &AbsPath, below: &str) {
        let real = self.files.real_path(place.clone()).await.ok().filter(|real| real != place);
        self.own.extend([Some(place.clone()), real].into_iter().flatten().map(|name| format!("{name}{below}")));
    }

    /// Whole configurations in variables, which are stronger than any file.
    async fn user_variables(&mut self, facts: &Facts) -> Vec<Node> {
        let mut trees = Vec::new();
        for variable in ["OPENCODE_CONFIG_CONTENT", "COPYDESK_CONFIG_CONTENT"] {
            let Some(content) = self.variable(variable) else { continue };
            let text = substitute(&content, &facts.folder, self.environment, self.files).await;
            trees.extend(self.tree(&text, Source::Variable(variable.to_owned())));
        }
        trees
    }

    async fn permission_variables(&mut self) -> Vec<Node> {
        let mut trees = Vec::new();
        for variable in ["OPENCODE_PERMISSION", "COPYDESK_PERMISSION"] {
            let Some(content) = self.variable(variable) else { continue };
            self.look(Source::Variable(variable.to_owned()), Found::Taken);
            let source = Arc::new(Source::Variable(variable.to_owned()));
            match Node::parse_value(&Substituted::verbatim(content), &source, &mut self.problems) {
                Ok(None) => {}
                Ok(Some(permission)) => {
                    let mut tree = Node::empty_map(&source);
                    tree.set("permission", permission);
                    trees.push(self.checked(tree));
                }
                Err(problem) => {
                    self.look(problem.source.clone(), Found::LeftOut);
                    self.problems.push(problem);
                }
            }
        }
        trees
    }

    /// From the root of the tree down to the folder: files first, then the configuration folders; at each level ours after opencode's.
    async fn project_files(&mut self, facts: &Facts, agents: &BTreeSet<String>) -> Vec<Node> {
        if self.variable("OPENCODE_DISABLE_PROJECT_CONFIG").is_some_and(|value| value == "1" || value == "true") {
            return Vec::new();
        }
        let root = self.files.real_path(facts.worktree.clone()).await.unwrap_or_else(|_| facts.worktree.clone());
        let project = Project { root, agents };
        let levels = levels(facts);
        let mut trees = Vec::new();
        for level in &levels {
            for name in OPENCODES.iter().chain(OURS) {
                trees.extend(self.project_file(level.join(name), &project).await);
            }
        }
        for level in &levels {
            for (folder, names) in [(".opencode", OPENCODES), (".copydesk", OURS)] {
                let folder = level.join(folder);
                for name in names {
                    trees.extend(self.project_file(folder.join(name), &project).await);
                }
                for file in agent_files(self.files, &folder, Some(&project.root), &mut self.problems).await {
                    if self.seen.insert(file.path.clone()) {
                        trees.extend(self.agent(&file, Some(&project)).await);
                    }
                }
            }
        }
        trees
    }

    fn editor_settings(&mut self, settings: &serde_json::Value, agents: &BTreeSet<String>) -> Option<Node> {
        let mut tree = self.tree(&Substituted::verbatim(settings.to_string()), Source::Editor)?;
        restrict(&mut tree, agents, &mut self.problems);
        Some(tree)
    }

    async fn project_file(&mut self, path: AbsPath, project: &Project<'_>) -> Option<Node> {
        if !self.seen.insert(path.clone()) || !self.is_plain(&path).await {
            return None;
        }
        let text = self.read(&path).await?;
        let mut tree = self.tree(&Substituted::verbatim(text), Source::File(path))?;
        restrict(&mut tree, project.agents, &mut self.problems);
        Some(tree)
    }

    /// Whether it is there and of a kind and size that reading it comes to an end: a repository may hold a link to a device.
    async fn is_plain(&mut self, path: &AbsPath) -> bool {
        let text = match self.files.stat(path.clone()).await {
            Ok(stat) if stat.kind == FileKind::File && stat.len <= MAX_PROJECT_FILE => return true,
            Ok(_) => "it is left out: expected a file of at most 1 MiB".to_owned(),
            Err(DiskError::NotFound(_)) => {
                self.look(Source::File(path.clone()), Found::Absent);
                return false;
            }
            Err(error) => format!("it is left out: {error}"),
        };
        self.look(Source::File(path.clone()), Found::LeftOut);
        self.problems.push(Problem { source: Source::File(path.clone()), line: None, key: None, text });
        false
    }

    /// `project` is the one that the file belongs to; a file of the user's belongs to none.
    async fn agent(&mut self, file: &AgentFile, project: Option<&Project<'_>>) -> Option<Node> {
        if let Some(project) = project {
            let real = self.files.real_path(file.path.clone()).await.ok()?;
            if !real.starts_with(&project.root) {
                let text = format!("left out: it is a link to {real}, outside of the project");
                self.problems.push(Problem { source: Source::File(file.path.clone()), line: None, key: None, text });
                return None;
            }
            if !self.is_plain(&file.path).await {
                return None;
            }
        }
        let text = self.read(&file.path).await?;
        let (tree, prompt) = match agent_tree(file, &text) {
            Ok(read) => read,
            Err(problem) => {
                self.look(problem.source.clone(), Found::LeftOut);
                self.problems.push(problem);
                return None;
            }
        };
        let mut tree = self.checked(tree);
        if let Some(project) = project {
            restrict(&mut tree, project.agents, &mut self.problems);
        }
        if !prompt.is_empty()
            && let Some(agent) = tree.get_mut("agent").and_then(|agents| agents.get_mut(&file.name))
        {
            let prompt = Node::text(&agent.place, &prompt);
            agent.set("prompt", prompt);
        }
        Some(tree)
    }

    async fn user_file(&mut self, path: AbsPath) -> Option<Node> {
        self.seen.insert(path.clone());
        let text = self.read(&path).await?;
        let folder = path.parent().unwrap_or_else(|| path.clone());
        let text = substitute(&text, &folder, self.environment, self.files).await;
        self.tree(&text, Source::File(path))
    }

    /// `None` where there is no such file.
    async fn read(&mut self, path: &AbsPath) -> Option<String> {
        let text = match self.files.read(path.clone()).await.map(String::from_utf8) {
            Ok(Ok(text)) => {
                self.look(Source::File(path.clone()), Found::Taken);
                return Some(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text));
            }
            Err(DiskError::NotFound(_)) => {
                self.look(Source::File(path.clone()), Found::Absent);
                return None;
            }
            Ok(Err(_)) => "it is left out: expected text in UTF-8".to_owned(),
            Err(error) => format!("it is left out: {error}"),
        };
        self.look(Source::File(path.clone()), Found::LeftOut);
        self.problems.push(Problem { source: Source::File(path.clone()), line: None, key: None, text });
        None
    }

    fn tree(&mut self, text: &Substituted, source: Source) -> Option<Node> {
        if !matches!(source, Source::Editor) {
            self.look(source.clone(), Found::Taken);
        }
        let source = Arc::new(source);
        match Node::parse(text, &source, &mut self.problems) {
            Ok(tree) => Some(self.checked(tree)),
            Err(problem) => {
                self.look(problem.source.clone(), Found::LeftOut);
                self.problems.push(problem);
                None
            }
        }
    }

    /// The last word on a source counts.
    fn look(&mut self, source: Source, found: Found) {
        match self.places.iter_mut().find(|place| place.source == source) {
            Some(place) => place.found = found,
            None => self.places.push(LookedAt { source, found }),
        }
    }

    /// Each source is checked by itself, so that a key broken here leaves the value of a weaker source in force.
    fn checked(&mut self, mut tree: Node) -> Node {
        decode::<RawConfig>(&mut tree, &mut self.problems);
        normalise(&mut tree);
        tree
    }

    fn variable(&self, name: &str) -> Option<String> {
        self.environment.var(name).filter(|value| !value.trim().is_empty())
    }
}

fn merged<'a>(trees: impl Iterator<Item = &'a Node>) -> Node {
    let nowhere = Arc::new(Source::Variable(String::new()));
    let mut result = Node::empty_map(&nowhere);
    for tree in trees {
        result.merge_config(tree.clone());
    }
    result
}

fn keys(tree: &Node, key: &str) -> Vec<String> {
    match tree.get(key).map(|node| &node.value) {
        Some(Value::Map(entries)) => entries.iter().map(|(name, _)| name.clone()).collect(),
        _ => Vec::new(),
    }
}

/// The folders from the root of the version-controlled tree down to the session's.
fn levels(facts: &Facts) -> Vec<AbsPath> {
    if !facts.folder.starts_with(&facts.worktree) {
        return vec![facts.folder.clone()];
    }
    let mut levels: Vec<AbsPath> = std::iter::successors(Some(facts.folder.clone()), AbsPath::parent)
        .take_while(|level| level.starts_with(&facts.worktree))
        .collect();
    levels.reverse();
    levels
}

#[cfg(test)]
#[path = "load_tests.rs"]
mod tests;
