//! What a search may look at: each file is judged like a `read` of it, before anything of it is opened. Files that would have to be asked for are not
//! searched: a search asks for its folder, not for what it happens to meet there.

use std::path::Path;
use std::sync::Arc;

use copydesk_workspace::disk::FileKind;
use copydesk_workspace::path::AbsPath;

use super::RunnerDeps;
use super::access::Places;
use super::decide::is_absolute;
use super::grants::Grants;
use crate::confinement::hidden;
use crate::permission::{Rule, RulesFor, Verdict, path_pattern};
use crate::ports::MayOpen;
use crate::search::GrantedRoot;

/// Judges the files below one root.
struct Judge {
    root: AbsPath,
    /// What stands before a file's path below the root, in each of the names by which rules may know it.
    prefixes: Vec<String>,
    /// Folders within the root that have names of their own: real path, name.
    renamed: Vec<(AbsPath, AbsPath)>,
    worktree: AbsPath,
    read: RulesFor,
    /// Rules with absolute patterns deny by absolute names; `None` where there are none.
    absolute: Option<RulesFor>,
    given: AbsPath,
    named: AbsPath,
    outside: Option<Outside>,
    grants: Arc<Grants>,
    agent: String,
}

/// Of a root that is in no folder of the workspace.
struct Outside {
    rules: RulesFor,
    /// Real paths of the workspace.
    inside: Vec<AbsPath>,
    /// What decided about the root: the user has consented to no more than that.
    decided: Option<Rule>,
}

/// `kind` is that of the root; a single file was judged as what is read.
pub(super) fn granted_root(
    deps: &RunnerDeps,
    places: &Places<'_>,
    given: AbsPath,
    real: AbsPath,
    kind: Option<FileKind>,
) -> GrantedRoot {
    if kind != Some(FileKind::Directory) {
        let only = real.clone();
        let may: MayOpen = Arc::new(move |path: &Path| path == only.as_path());
        return GrantedRoot { given, real, kind, may_read: Arc::clone(&may), may_list: may };
    }
    let judge = Arc::new(Judge::new(deps, places, &given, &real));
    let may_read: MayOpen = {
        let judge = Arc::clone(&judge);
        Arc::new(move |path: &Path| judge.verdict(path) == Verdict::Allow)
    };
    let may_list: MayOpen = Arc::new(move |path: &Path| judge.verdict(path) != Verdict::Deny);
    GrantedRoot { given, real, kind, may_read, may_list }
}

/// Of the workspace, for copies of its files: by each of its folders that a file is in. What lies where secrets are kept is not copied, whatever the rules say.
pub(super) fn may_keep(deps: &RunnerDeps, places: &Places<'_>) -> MayOpen {
    let judges: Vec<Judge> = places.named_inside().map(|(name, real)| Judge::new(deps, places, name, real)).collect();
    let hidden = hidden(&deps.config.sandbox, &deps.facts, &*deps.ports.environment);
    Arc::new(move |path: &Path| {
        let mut verdicts = judges
            .iter()
            .filter(|judge| path.starts_with(judge.root.as_path()))
            .map(|judge| judge.verdict(path))
            .peekable();
        verdicts.peek().is_some()
            && verdicts.all(|verdict| verdict == Verdict::Allow)
            && !hidden.iter().any(|place| path.starts_with(place.as_path()))
    })
}

impl Judge {
    fn new(deps: &RunnerDeps, places: &Places<'_>, given: &AbsPath, real: &AbsPath) -> Self {
        let worktree = &deps.facts.worktree;
        let mut prefixes: Vec<String> = [given.clone(), places.named(real)]
            .iter()
            .map(|root| match path_pattern(root, worktree).as_str() {
                "." => String::new(),
                pattern => format!("{}/", pattern.trim_end_matches('/')),
            })
            .collect();
        prefixes.dedup();
        let within = |(_, folder): &&(AbsPath, AbsPath)| folder != real && folder.starts_with(real);
        let renamed = places.folders().iter().filter(within).map(|(name, folder)| (folder.clone(), name.clone()));
        let inside = places.inside();
        let outside = (!inside.iter().any(|folder| real.starts_with(folder))).then(|| {
            let rules = RulesFor::new("external_directory", &deps.agent.rules);
            let decided = rules.decide(&below(&places.named(real))).1.cloned();
            Outside { rules, inside, decided }
        });
        let absolute: Vec<Rule> = deps.agent.rules.iter().filter(|rule| is_absolute(&rule.pattern)).cloned().collect();
        Self {
            root: real.clone(),
            prefixes,
            renamed: renamed.collect(),
            worktree: worktree.clone(),
            given: given.clone(),
            named: places.named(real),
            absolute: (!absolute.is_empty()).then(|| RulesFor::new("read", &absolute)),
            read: RulesFor::new("read", &deps.agent.rules),
            outside,
            grants: Arc::clone(&deps.grants),
            agent: deps.agent.name.clone(),
        }
    }

    fn verdict(&self, real: &Path) -> Verdict {
        let Ok(path) = real.strip_prefix(self.root.as_path()) else { return Verdict::Deny };
        if self.is_denied_by_absolute_name(real, path) {
            return Verdict::Deny;
        }
        let path = path.to_string_lossy();
        let by_prefix = self.prefixes.iter().map(|prefix| format!("{prefix}{path}"));
        let other = self.other_name(real).map(|name| path_pattern(&name, &self.worktree));
        let read = by_prefix.chain(other).map(|value| self.read(&value)).max();
        let outside = self.outside.as_ref().map(|outside| outside.verdict(real, &self.grants, &self.agent));
        read.into_iter().chain(outside).max().unwrap_or(Verdict::Ask)
    }

    fn is_denied_by_absolute_name(&self, real: &Path, below: &Path) -> bool {
        let Some(rules) = &self.absolute else { return false };
        let names = [self.given.join(below), self.named.join(below)].into_iter().chain(self.other_name(real));
        let names = names.map(|name| name.to_string()).chain([real.display().to_string()]);
        names.into_iter().any(|name| rules.decide(&name).0 == Verdict::Deny)
    }

    fn read(&self, value: &str) -> Verdict {
        self.read.decide_granted(value, &self.grants.rules_for(&self.agent, "read", value))
    }

    fn other_name(&self, real: &Path) -> Option<AbsPath> {
        self.renamed.iter().find_map(|(folder, name)| Some(name.join(real.strip_prefix(folder.as_path()).ok()?)))
    }
}

impl Outside {
    fn verdict(&self, real: &Path, grants: &Grants, agent: &str) -> Verdict {
        let Some(folder) = real.parent().and_then(AbsPath::new) else { return Verdict::Ask };
        if self.inside.iter().any(|inside| folder.starts_with(inside)) {
            return Verdict::Allow;
        }
        let value = below(&folder);
        match self.rules.decide(&value) {
            (Verdict::Ask, rule) if rule == self.decided.as_ref() => Verdict::Allow,
            _ => self.rules.decide_granted(&value, &grants.rules_for(agent, "external_directory", &value)),
        }
    }
}

fn below(folder: &AbsPath) -> String {
    format!("{}/*", folder.to_string().trim_end_matches('/'))
}
