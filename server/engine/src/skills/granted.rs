//! One skill for one call: its text, and what lies beside it. No other can be read through it.

use std::sync::Arc;

use copydesk_workspace::disk::{DiskError, FileKind};
use copydesk_workspace::encoding;
use copydesk_workspace::path::AbsPath;

use super::Skill;
use super::discover::FILE;
use crate::agent::Agent;
use crate::config::front_matter;
use crate::permission::{Verdict, decide, path_pattern};
use crate::ports::Files;
use crate::tool::Facts;

/// Bytes of a `SKILL.md`.
const MAX_FILE: u64 = 1 << 20;
/// Files beside it that are named.
const MOST_NAMED: usize = 10;
/// Files and folders that are looked at for that.
const MAX_ENTRIES: usize = 500;
const MAX_DEPTH: usize = 4;

#[derive(Clone)]
pub struct GrantedSkill {
    pub(crate) files: Arc<dyn Files>,
    pub(crate) facts: Arc<Facts>,
    /// Whose rules say what may be read.
    pub(crate) agent: Arc<Agent>,
    pub(crate) skill: Option<Skill>,
    /// All that may be loaded.
    pub(crate) names: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadedSkill {
    pub name: String,
    /// Without the head.
    pub body: String,
    pub folder: AbsPath,
    /// Some of those beside it.
    pub files: Vec<AbsPath>,
}

impl GrantedSkill {
    pub fn names(&self) -> &[String] {
        &self.names
    }

    pub fn exists(&self) -> bool {
        self.skill.is_some()
    }

    /// As it is by now. The error is for the model.
    pub async fn load(&self) -> Result<LoadedSkill, String> {
        let Some(skill) = &self.skill else { return Err("there is no such skill".to_owned()) };
        let told = |error: DiskError| error.to_string();
        let real = self.files.real_path(skill.file.clone()).await.map_err(told)?;
        if let Some(project) = &skill.within {
            self.check_project_file(&skill.file, &real, project)?;
        }
        let len = self.files.stat(real.clone()).await.map_err(told)?.len;
        if len > MAX_FILE {
            return Err(format!("{} is larger than {MAX_FILE} bytes", skill.file));
        }
        let bytes = self.files.read_real(real).await.map_err(told)?;
        let (text, _) = encoding::decode(&bytes).map_err(|error| format!("{}: {error}", skill.file))?;
        let body = front_matter(&skill.file, &text)?.body;
        let folder = skill.file.parent().unwrap_or_else(|| skill.file.clone());
        let files = self.beside(&folder).await;
        Ok(LoadedSkill { name: skill.name.clone(), body: body.trim().to_owned(), folder, files })
    }

    /// Nobody was asked to read it: a project's file must lie in it and be readable without a question, whatever its name.
    fn check_project_file(&self, path: &AbsPath, real: &AbsPath, project: &AbsPath) -> Result<(), String> {
        if !real.starts_with(project) {
            return Err(format!("{path} leads out of the project"));
        }
        let patterns = [path_pattern(path, &self.facts.worktree), path_pattern(real, project)];
        match decide("read", &patterns, &self.agent.rules, &[]).rule {
            // A rule that asks for all files is no word about skills.
            Some(rule) if rule.verdict == Verdict::Deny || rule.verdict == Verdict::Ask && rule.pattern != "*" => {
                Err(format!("{path} is not read unasked: rule {rule}"))
            }
            Some(_) | None => Ok(()),
        }
    }

    async fn beside(&self, folder: &AbsPath) -> Vec<AbsPath> {
        let mut found = Vec::new();
        let mut looked_at = 0;
        let mut waiting = vec![(folder.clone(), 0)];
        while let Some((at, depth)) = waiting.pop() {
            let entries = self.files.list(at.clone()).await.unwrap_or_default();
            looked_at += entries.len();
            for entry in entries {
                let path = at.join(&entry.name);
                match entry.kind {
                    FileKind::Directory if depth < MAX_DEPTH && !entry.is_link => waiting.push((path, depth + 1)),
                    FileKind::File if entry.name != FILE => found.push(path),
                    FileKind::Directory | FileKind::File | FileKind::Other => {}
                }
            }
            if looked_at > MAX_ENTRIES {
                break;
            }
        }
        found.sort();
        found.truncate(MOST_NAMED);
        found
    }
}
