//! Where skills are looked for: the usual folders and those of the key `skills`, the later before the earlier where two have one name. Reads none.

use copydesk_workspace::path::AbsPath;

use super::Problem;
use super::node::Node;
use super::places::{self, levels};
use super::raw::RawConfig;
use super::rules::expand_home;
use super::untrusted::leads_outside;
use crate::permission::{Origin, Rule, Verdict};
use crate::ports::Environment;
use crate::skills::{SkillRoot, SkillSettings};
use crate::tool::Facts;
use crate::web::WebAddress;

/// What of the project leads out of it is in `project` only where that is trusted.
pub(super) fn skills(
    user: &RawConfig,
    project: &RawConfig,
    tree: &Node,
    facts: &Facts,
    environment: &dyn Environment,
    problems: &mut Vec<Problem>,
) -> SkillSettings {
    let folders = environment.folders();
    let off = |names: &[&str]| names.iter().any(|name| environment.is_on(name));
    let with_project = !off(&["OPENCODE_DISABLE_PROJECT_CONFIG"]);
    let levels = if with_project { levels(facts) } else { Vec::new() };
    let mut roots: Vec<SkillRoot> = Vec::new();

    let mut others: Vec<&str> = Vec::new();
    if !off(&["OPENCODE_DISABLE_EXTERNAL_SKILLS", "COPYDESK_DISABLE_EXTERNAL_SKILLS"]) {
        if !off(&["OPENCODE_DISABLE_CLAUDE_CODE", "OPENCODE_DISABLE_CLAUDE_CODE_SKILLS"]) {
            others.push(".claude/skills");
        }
        others.push(".agents/skills");
    }
    roots.extend(others.iter().map(|name| SkillRoot::of_user(folders.home.join(name))));
    for level in &levels {
        roots.extend(others.iter().map(|name| SkillRoot::of_project(level.join(name))));
    }

    for folder in places::of_user(environment, facts) {
        roots.extend(["skill", "skills"].map(|name| SkillRoot::of_user(folder.path.join(name))));
    }
    for folder in levels.iter().flat_map(places::below) {
        roots.extend(["skill", "skills"].map(|name| SkillRoot::of_project(folder.path.join(name))));
    }

    let (users, projects) = (user.skills.places(), project.skills.places());
    for path in users.paths.iter().chain(&projects.paths).filter(|path| !path.trim().is_empty()) {
        let folder = facts.folder.join(expand_home(path, &folders.home));
        // What is relative is the project's, whoever wrote it.
        roots.push(if leads_outside(path) { SkillRoot::of_user(folder) } else { SkillRoot::of_project(folder) });
    }
    let mut known: Vec<SkillRoot> = Vec::new();
    for root in roots {
        // Where the home folder is the project, its folders are the user's.
        if !known.iter().any(|other| other.folder == root.folder) {
            known.push(root);
        }
    }

    let mut urls = Vec::new();
    for url in &users.urls {
        match WebAddress::parse(url) {
            Ok(address) => urls.push(address),
            Err(error) => {
                let place = &tree.at(&["skills", "urls"]).unwrap_or(tree).place;
                problems.push(place.problem("skills.urls".to_owned(), format!("{error}; it is left out")));
            }
        }
    }
    let cache = environment.var("XDG_CACHE_HOME").and_then(AbsPath::new).unwrap_or_else(|| folders.home.join(".cache"));
    SkillSettings { roots: known, urls, cache: Some(cache.join("copydesk/skills")) }
}

/// What the folders of the user's skills hold beside them may be read as the skills are.
pub(super) fn rules(settings: &SkillSettings) -> Vec<Rule> {
    let folders = settings.roots.iter().filter(|root| !root.of_project).map(|root| &root.folder);
    let allowed = folders.chain(settings.cache.iter().filter(|_| !settings.urls.is_empty()));
    allowed
        .map(|folder| Rule {
            permission: "external_directory".to_owned(),
            pattern: format!("{folder}/*"),
            verdict: Verdict::Allow,
            origin: Origin::Default,
        })
        .collect()
}
