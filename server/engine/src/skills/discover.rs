//! Finds `SKILL.md` files below folders and reads their heads. Follows the user's links, and of a project's those that stay in it.

use std::collections::{BTreeSet, VecDeque};

use copydesk_workspace::disk::{DiskError, FileKind};
use copydesk_workspace::path::AbsPath;
use futures::future::join_all;

use super::{Skill, SkillRoot};
use crate::config::front_matter;
use crate::ports::Files;

pub(super) const FILE: &str = "SKILL.md";

/// Folders below a root that are looked into.
const MAX_DEPTH: usize = 8;
/// Files and folders that are looked at below a root.
const MAX_ENTRIES: usize = 2000;
/// Skills of one root.
const MAX_SKILLS: usize = 200;
/// Bytes in which the head of a file must end.
const MAX_HEAD: usize = 16 * 1024;
/// Characters.
const LONGEST_NAME: usize = 64;

/// Of each root, in their order, with what is wrong.
pub(super) async fn all(files: &dyn Files, project: &AbsPath, roots: &[SkillRoot]) -> Vec<(Vec<Skill>, Vec<String>)> {
    let real = files.real_path(project.clone()).await.unwrap_or_else(|_| project.clone());
    join_all(roots.iter().map(|root| below(files, root.of_project.then_some(&real), root))).await
}

async fn below(files: &dyn Files, within: Option<&AbsPath>, root: &SkillRoot) -> (Vec<Skill>, Vec<String>) {
    let (mut skills, mut problems) = (Vec::new(), Vec::new());
    // Links may lead round.
    let mut visited = BTreeSet::new();
    let mut looked_at = 0;
    // Level by level: what is deep below one skill costs no other its place.
    let mut waiting = VecDeque::from([(root.folder.clone(), 0)]);
    while let Some((folder, depth)) = waiting.pop_front() {
        let Ok(entries) = files.list(folder.clone()).await else { continue };
        let Ok(real) = files.real_path(folder.clone()).await else { continue };
        if let Some(project) = within.filter(|project| !real.starts_with(project)) {
            problems.push(format!("skills: {folder} leads out of the project {project}, to {real}, and is left out"));
            continue;
        }
        if !visited.insert(real) {
            continue;
        }
        looked_at += entries.len();
        if looked_at > MAX_ENTRIES || skills.len() >= MAX_SKILLS {
            problems.push(format!("skills: {} holds too much, and is taken in part", root.folder));
            break;
        }
        for entry in entries {
            let path = folder.join(&entry.name);
            match entry.kind {
                FileKind::Directory if depth < MAX_DEPTH && entry.name != ".git" && entry.name != "node_modules" => {
                    waiting.push_back((path, depth + 1));
                }
                FileKind::File if entry.name == FILE => match read(files, within, &path).await {
                    Ok(skill) => skills.push(skill),
                    Err(problem) => problems.push(format!("skills: {path} is left out: {problem}")),
                },
                FileKind::Directory | FileKind::File | FileKind::Other => {}
            }
        }
    }
    skills.sort_by(|a, b| a.file.cmp(&b.file));
    problems.sort();
    (skills, problems)
}

async fn read(files: &dyn Files, within: Option<&AbsPath>, path: &AbsPath) -> Result<Skill, String> {
    let told = |error: DiskError| error.to_string();
    let real = files.real_path(path.clone()).await.map_err(told)?;
    if within.is_some_and(|project| !real.starts_with(project)) {
        return Err(format!("it is a link to {real}, outside of the project"));
    }
    let bytes = files.read_range_real(real.clone(), 0, MAX_HEAD).await.map_err(told)?;
    let text = String::from_utf8_lossy(&bytes);
    let head = front_matter(path, &text)?.texts;
    let value = |key: &str| head.iter().find(|(known, _)| known == key).map(|(_, value)| value.trim().to_owned());
    let name = value("name").filter(|name| !name.is_empty());
    let name = name.ok_or("its head must say the `name` of the skill, in YAML between two lines `---`")?;
    if name.chars().count() > LONGEST_NAME || name.chars().any(char::is_control) {
        return Err(format!("a name has at most {LONGEST_NAME} characters, all of them visible"));
    }
    let description = value("description").filter(|text| !text.is_empty());
    Ok(Skill { name, description, file: path.clone(), real, within: within.cloned() })
}
