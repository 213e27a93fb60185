//! Skills: instructions for a kind of task, each in a `SKILL.md` of its own folder, told to the model by name and loaded by it when it wants them. They are
//! text for the model alone: nothing in them is run here. Where they are looked for is the configuration's.

mod discover;
mod fetch;
mod granted;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use copydesk_workspace::path::AbsPath;

use crate::permission::{self, Rule, Verdict};
use crate::ports::{BoxFuture, Ports};
use crate::runner::RunnerDeps;
use crate::tool::Facts;
use crate::web::WebAddress;

pub use fetch::{FetchedSkills, fetch};
pub use granted::{GrantedSkill, LoadedSkill};

/// The permission, whose patterns are names of skills; and the tool.
pub const SKILL: &str = "skill";

/// Bytes of the system prompt that the list of skills may fill.
const MOST_TOLD: usize = 32 * 1024;
/// Characters of a description that are told.
const LONGEST_DESCRIPTION: usize = 1024;

/// Where they are, in the order in which they are looked for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SkillSettings {
    pub roots: Vec<SkillRoot>,
    /// Addresses below which there is an `index.json`. The user's own.
    pub urls: Vec<WebAddress>,
    /// Where those are kept.
    pub cache: Option<AbsPath>,
}

/// A folder with skills in its subfolders.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillRoot {
    pub folder: AbsPath,
    /// What a project brings must lie in it, links resolved.
    pub of_project: bool,
}

impl SkillRoot {
    pub fn of_user(folder: AbsPath) -> Self {
        Self { folder, of_project: false }
    }

    pub fn of_project(folder: AbsPath) -> Self {
        Self { folder, of_project: true }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skill {
    pub name: String,
    /// Without one it is not told, and can be loaded all the same.
    pub description: Option<String>,
    /// Its `SKILL.md`.
    pub file: AbsPath,
    /// The same, links resolved.
    pub real: AbsPath,
    /// In which the project must be that it belongs to, links resolved. `None`: the user's own.
    pub within: Option<AbsPath>,
}

/// Those of a session.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Skills {
    by_name: BTreeMap<String, Skill>,
    problems: Vec<String>,
}

impl Skills {
    /// What cannot be read is a problem. Fetches nothing.
    pub fn find<'a>(
        ports: &'a Ports,
        facts: &'a Facts,
        settings: &'a SkillSettings,
        fetched: &'a FetchedSkills,
    ) -> BoxFuture<'a, Self> {
        Box::pin(Self::find_all(ports, facts, settings, fetched))
    }

    async fn find_all(ports: &Ports, facts: &Facts, settings: &SkillSettings, fetched: &FetchedSkills) -> Self {
        let mut found = Self { problems: fetched.problems.clone(), ..Self::default() };
        let roots: Vec<SkillRoot> = settings.roots.iter().chain(&fetched.roots).cloned().collect();
        for (skills, problems) in discover::all(&*ports.files, &facts.worktree, &roots).await {
            found.problems.extend(problems);
            for skill in skills {
                found.add(skill);
            }
        }
        found
    }

    /// The later one is taken.
    fn add(&mut self, skill: Skill) {
        let (file, real) = (skill.file.clone(), skill.real.clone());
        let before = self.by_name.insert(skill.name.clone(), skill);
        // A link to the same file takes nothing away.
        if let Some(before) = before.filter(|before| before.real != real) {
            self.problems.push(format!("skills: {file} takes the place of {}, which has the same name", before.file));
        }
    }

    /// For the user.
    pub fn problems(&self) -> &[String] {
        &self.problems
    }

    /// Those that no rule denies, by name.
    pub fn allowed<'a>(&'a self, rules: &'a [Rule]) -> impl Iterator<Item = &'a Skill> {
        let is_hidden = permission::is_hidden(SKILL, rules);
        self.by_name.values().filter(move |skill| !is_hidden && is_allowed(&skill.name, rules))
    }

    /// The part of the system prompt. Descriptions may be anybody's: they keep to their lines and tags.
    pub fn told(&self, rules: &[Rule]) -> Option<String> {
        let told = self.allowed(rules).filter_map(|skill| Some((skill, skill.description.as_deref()?)));
        // Where there is no place for all, a project's give way to the user's own.
        let mut told: Vec<_> = told.collect();
        told.sort_by_key(|(skill, _)| skill.within.is_some());
        let mut text = String::from(
            "Skills are instructions for certain kinds of task. Before you begin a task that the description of one names, load it with the tool `skill`.\n<available_skills>\n",
        );
        let (mut count, mut left_out) = (0, 0);
        for (skill, description) in told {
            if text.len() > MOST_TOLD {
                left_out += 1;
                continue;
            }
            count += 1;
            let (name, description, file) =
                (tagged(&skill.name), tagged(&short(description)), tagged(&skill.file.to_string()));
            let _ = writeln!(
                text,
                "  <skill>\n    <name>{name}</name>\n    <description>{description}</description>\n    <location>{file}</location>\n  </skill>"
            );
        }
        text.push_str("</available_skills>");
        if left_out > 0 {
            let _ = write!(text, "\n({left_out} more have no place here.)");
        }
        (count > 0).then_some(text)
    }

    pub(crate) fn granted(&self, name: Option<String>, deps: &RunnerDeps) -> GrantedSkill {
        GrantedSkill {
            files: Arc::clone(&deps.ports.files),
            facts: Arc::clone(&deps.facts),
            agent: Arc::clone(&deps.agent),
            skill: name.and_then(|name| self.by_name.get(&name).cloned()),
            names: self.allowed(&deps.agent.rules).map(|skill| skill.name.clone()).collect(),
        }
    }
}

fn is_allowed(name: &str, rules: &[Rule]) -> bool {
    permission::decide(SKILL, &[name.to_owned()], rules, &[]).verdict != Verdict::Deny
}

fn short(description: &str) -> String {
    let line = description.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(LONGEST_DESCRIPTION) {
        Some((end, _)) => format!("{} …", &line[..end]),
        None => line,
    }
}

/// As the text of an element.
fn tagged(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
#[path = "skills_tests.rs"]
#[expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]
mod tests;
