//! Finds, reads and merges the configuration of a folder (levels and substitutions: `docs/configuration.md`).

use std::collections::BTreeSet;
use std::sync::Arc;

use copydesk_workspace::disk::{DiskError, FileKind};
use copydesk_workspace::path::AbsPath;

use super::assemble::{Trees, assemble};
use super::decode::decode;
use super::markdown::{AgentFile, agent_files, agent_tree};
use super::node::Node;
use super::normalise::normalise;
use super::places::{self, ConfigFolder, OPENCODES, OURS, levels};
use super::project_size::ProjectSize;
use super::raw::RawConfig;
use super::remembered::remembered;
use super::substitute::{Substituted, fill, substitute};
use super::survey::{Found, LookedAt, Survey};
use super::switches::ToolVariables;
use super::trees::{is_on, keys, merged};
use super::trust::{Decisions, TrustReport, Wanted, Word};
use super::untrusted::{Claim, claims, claims_outside, strip, tidy};
use super::{Config, Problem, Source};
use crate::agent;
use crate::format::repository_programs;
use crate::permission::own_configuration;
use crate::ports::{Capability, Editor, Environment, Files, Ports, WorkspaceTrust};
use crate::tool::Facts;

/// Bytes.
const MAX_PROJECT_FILE: u64 = 1 << 20;
/// Of a program that a decision is bound to, bytes: they are launchers, a few lines long.
const MAX_PROGRAM: usize = 1 << 20;

/// What the session's editor brings.
#[derive(Default)]
pub struct EditorSays {
    /// They may come from the project, and are treated like files of one that nobody has trusted.
    pub settings: Option<serde_json::Value>,
    pub trust: WorkspaceTrust,
}

impl EditorSays {
    pub fn of(editor: &dyn Editor) -> Self {
        Self { settings: editor.settings(), trust: editor.workspace_trust() }
    }
}

/// Never fails: what cannot be read is a problem in the result. Keys of project files that run something, widen a permission, redirect a key or read
/// outside are left out unless the user has decided to trust them; `Config::trust` tells of both. Decides nothing.
pub async fn load(ports: &Ports, facts: &Facts, editor: EditorSays) -> Config {
    read(ports, facts, editor).await.config
}

/// As `load`, with where it all comes from.
pub async fn survey(ports: &Ports, facts: &Facts) -> Survey {
    read(ports, facts, EditorSays::default()).await
}

/// What one source says, of a project or of the user.
pub(super) struct Layer {
    pub(super) tree: Node,
    pub(super) of_project: bool,
}

async fn read(ports: &Ports, facts: &Facts, editor: EditorSays) -> Survey {
    let mut reader = Reader {
        files: ports.files.as_ref(),
        environment: ports.environment.as_ref(),
        seen: BTreeSet::new(),
        places: Vec::new(),
        own: Vec::new(),
        problems: Vec::new(),
        size: ProjectSize::default(),
    };
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
    let drafts = reader.project_files(facts).await;
    places.append(&mut reader.places);
    places.extend(variables);
    // What is wrong in it is told with the rest.
    let guards = (&decode::<RawConfig>(&mut user.clone(), &mut Vec::new()).guards).into();
    let word = Word { editor: editor.trust, guards: &guards };
    let formats = is_on(&user, "formatter") || drafts.iter().any(|draft| is_on(&draft.tree, "formatter"));
    let programs = if formats { reader.repository_formatters(facts).await } else { Vec::new() };
    let (mut project, trust) = reader.trusted(drafts, programs, facts, ports, &agents, word).await;
    project.extend(editor.settings.and_then(|settings| reader.editor_settings(&settings, &agents)));

    let all = merged(before.iter().chain(&project).chain(&after));
    let tools = ToolVariables::read(|name| reader.variable(name));
    let trees = Trees { user, project: merged(project.iter()), all, tools };
    let guarded = own_configuration(std::mem::take(&mut reader.own));
    let mut config = assemble(trees, trust, facts, ports, &guarded, reader.problems);
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
    /// Files and folders of the user are not read again as a project's, e.g. where the home folder is one.
    seen: BTreeSet<AbsPath>,
    /// In the order of reading.
    places: Vec<LookedAt>,
    /// Patterns of the user's own files, under all their names.
    own: Vec<String>,
    problems: Vec<Problem>,
    size: ProjectSize,
}

/// One source of the project, as it was parsed.
struct Draft {
    tree: Node,
    /// The name of an agent in Markdown, and its prompt, which is never checked: it may hold anything.
    prompt: Option<(String, String)>,
    /// Where the files stand that its placeholders name. `None`: nothing is filled into it.
    folder: Option<AbsPath>,
}

impl Reader<'_> {
    /// What the user wrote, from the weakest to the strongest.
    async fn user_files(&mut self, facts: &Facts) -> Vec<Node> {
        let mut trees = Vec::new();
        for ConfigFolder { path: folder, names } in places::of_user(self.environment, facts) {
            self.own(&folder, "/*").await;
            for name in names {
                trees.extend(self.user_file(folder.join(name)).await);
            }
            for file in agent_files(self.files, &folder, None, &mut self.problems).await {
                self.seen.insert(file.path.clone());
                trees.extend(self.users_agent(&file).await);
            }
            self.seen.insert(folder);
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
    async fn project_files(&mut self, facts: &Facts) -> Vec<Draft> {
        if self.environment.is_on("OPENCODE_DISABLE_PROJECT_CONFIG") {
            return Vec::new();
        }
        let root = self.root(facts).await;
        let levels = levels(facts);
        let mut drafts = Vec::new();
        for level in &levels {
            for name in OPENCODES.iter().chain(OURS) {
                drafts.extend(self.project_file(level.join(name)).await);
            }
        }
        for level in &levels {
            for ConfigFolder { path: folder, names } in places::below(level) {
                for name in names {
                    drafts.extend(self.project_file(folder.join(name)).await);
                }
                if self.seen.contains(&folder) {
                    continue;
                }
                for file in agent_files(self.files, &folder, Some(&root), &mut self.problems).await {
                    if self.seen.insert(file.path.clone()) && self.is_of_project(&file, &root).await {
                        let draft = self.agent_draft(&file).await;
                        drafts.extend(draft.and_then(|draft| Some(Draft { tree: self.counted(draft.tree)?, ..draft })));
                    }
                }
            }
        }
        drafts
    }

    /// Links resolved.
    async fn root(&self, facts: &Facts) -> AbsPath {
        self.files.real_path(facts.worktree.clone()).await.unwrap_or_else(|_| facts.worktree.clone())
    }

    /// What of the project's sources is in force. Its texts are filled first, where that is trusted: it is the filled ones that the rest is judged by.
    async fn trusted(
        &mut self,
        mut drafts: Vec<Draft>,
        programs: Vec<Claim>,
        facts: &Facts,
        ports: &Ports,
        agents: &BTreeSet<String>,
        word: Word<'_>,
    ) -> (Vec<Node>, TrustReport) {
        if drafts.is_empty() && programs.is_empty() {
            return (Vec::new(), TrustReport::default());
        }
        let workspace = self.root(facts).await;
        let mut report = TrustReport { workspace: Some(workspace.clone()), wants: Vec::new() };
        let mut known = Decisions::new(ports, workspace.clone());

        let outside: Vec<Vec<Claim>> =
            drafts.iter().map(|draft| claims_outside(&draft.tree, draft.folder.is_some())).collect();
        self.judge(Capability::Outside, &outside, &mut known, word, &mut report).await;
        for (draft, claims) in drafts.iter_mut().zip(&outside) {
            if !report.is_trusted(Capability::Outside) {
                strip(&mut draft.tree, claims.iter());
            } else if let Some(folder) = &draft.folder {
                fill(&mut draft.tree, &workspace, folder, self.environment, self.files, &mut self.problems).await;
            }
        }

        let mut trees: Vec<Node> = Vec::with_capacity(drafts.len());
        for Draft { tree, prompt, .. } in drafts {
            let mut tree = self.checked(tree);
            tidy(&mut tree, &mut self.problems);
            if let Some((name, prompt)) = prompt {
                set_prompt(&mut tree, &name, &prompt);
            }
            trees.push(tree);
        }
        let mut others: Vec<Vec<Claim>> = trees.iter().map(|tree| claims(tree, agents)).collect();
        others.push(programs);
        for capability in Capability::ALL.into_iter().filter(|capability| *capability != Capability::Outside) {
            self.judge(capability, &others, &mut known, word, &mut report).await;
        }
        for (tree, claims) in trees.iter_mut().zip(&others) {
            strip(tree, claims.iter().filter(|claim| !report.is_trusted(claim.capability)));
        }
        (trees, report)
    }

    /// Programs of the repository that would format its files.
    async fn repository_formatters(&mut self, facts: &Facts) -> Vec<Claim> {
        let mut claims = Vec::new();
        for level in levels(facts) {
            for (name, place) in repository_programs() {
                let path = level.join(place);
                if let Ok(bytes) = self.files.read_range(path.clone(), 0, MAX_PROGRAM).await {
                    claims.push(Claim::of_formatter(name, &path, &bytes));
                }
            }
        }
        claims
    }

    async fn judge(
        &mut self,
        capability: Capability,
        claims: &[Vec<Claim>],
        known: &mut Decisions<'_>,
        word: Word<'_>,
        report: &mut TrustReport,
    ) {
        let of_capability: Vec<&Claim> =
            claims.iter().flatten().filter(|claim| claim.capability == capability).collect();
        if of_capability.is_empty() {
            return;
        }
        let decisions = known.get(&mut self.problems).await;
        report.wants.extend(Wanted::judge(capability, &of_capability, decisions, word));
    }

    fn editor_settings(&mut self, settings: &serde_json::Value, agents: &BTreeSet<String>) -> Option<Node> {
        let tree = self.parsed(&Substituted::verbatim(settings.to_string()), Source::Editor)?;
        let mut tree = self.counted(tree)?;
        let outside = claims_outside(&tree, true);
        strip(&mut tree, outside.iter());
        let mut tree = self.checked(tree);
        tidy(&mut tree, &mut self.problems);
        let others = claims(&tree, agents);
        strip(&mut tree, others.iter());
        for claim in outside.iter().chain(&others).filter(|claim| !claim.stays()) {
            let text = format!(
                "left out, since the editor's settings may be a project's and this would {}; put it into your own configuration if you want it",
                claim.capability
            );
            self.problems.push(claim.place.problem(claim.key.clone(), text));
        }
        Some(tree)
    }

    async fn project_file(&mut self, path: AbsPath) -> Option<Draft> {
        if !self.seen.insert(path.clone()) || !self.is_plain(&path).await {
            return None;
        }
        let text = self.read(&path).await?;
        let folder = Some(path.parent().unwrap_or_else(|| path.clone()));
        let tree = self.parsed(&Substituted::verbatim(text), Source::File(path))?;
        Some(Draft { tree: self.counted(tree)?, prompt: None, folder })
    }

    fn counted(&mut self, tree: Node) -> Option<Node> {
        self.size.take(tree).map_err(|problem| self.leave_out(problem)).ok()
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
        self.leave_out(Problem { source: Source::File(path.clone()), line: None, key: None, text });
        false
    }

    async fn is_of_project(&mut self, file: &AgentFile, root: &AbsPath) -> bool {
        let Ok(real) = self.files.real_path(file.path.clone()).await else { return false };
        if !real.starts_with(root) {
            let text = format!("left out: it is a link to {real}, outside of the project");
            self.problems.push(Problem { source: Source::File(file.path.clone()), line: None, key: None, text });
            return false;
        }
        self.is_plain(&file.path).await
    }

    async fn users_agent(&mut self, file: &AgentFile) -> Option<Node> {
        let Draft { tree, prompt, .. } = self.agent_draft(file).await?;
        let mut tree = self.checked(tree);
        if let Some((name, prompt)) = prompt {
            set_prompt(&mut tree, &name, &prompt);
        }
        Some(tree)
    }

    async fn agent_draft(&mut self, file: &AgentFile) -> Option<Draft> {
        let text = self.read(&file.path).await?;
        let (tree, prompt) = agent_tree(file, &text).map_err(|problem| self.leave_out(problem)).ok()?;
        Some(Draft { tree, prompt: Some((file.name.clone(), prompt)), folder: None })
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
        self.leave_out(Problem { source: Source::File(path.clone()), line: None, key: None, text });
        None
    }

    fn tree(&mut self, text: &Substituted, source: Source) -> Option<Node> {
        let tree = self.parsed(text, source)?;
        Some(self.checked(tree))
    }

    fn parsed(&mut self, text: &Substituted, source: Source) -> Option<Node> {
        if !matches!(source, Source::Editor) {
            self.look(source.clone(), Found::Taken);
        }
        let source = Arc::new(source);
        match Node::parse(text, &source, &mut self.problems) {
            Ok(tree) => Some(tree),
            Err(problem) => {
                self.leave_out(problem);
                None
            }
        }
    }

    fn leave_out(&mut self, problem: Problem) {
        self.look(problem.source.clone(), Found::LeftOut);
        self.problems.push(problem);
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

fn set_prompt(tree: &mut Node, name: &str, prompt: &str) {
    if let Some(agent) = tree.get_mut("agent").and_then(|agents| agents.get_mut(name)).filter(|_| !prompt.is_empty()) {
        let prompt = Node::text(&agent.place, prompt);
        agent.set("prompt", prompt);
    }
}

#[cfg(test)]
#[path = "load_tests.rs"]
mod tests;
