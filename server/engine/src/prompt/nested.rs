//! Instruction files of folders below the session's: told once, when a file of the folder is first read.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use copydesk_workspace::path::AbsPath;

use super::instructions::{InstructionFile, Instructions, Origin, PROJECT_NAMES, Reader};
use crate::agent::Agent;
use crate::message::ToolResult;
use crate::ports::Files;
use crate::tool::Facts;

/// Which instruction files the model knows. Shared by all turns of a session; rebuilt from stored results.
#[derive(Debug, Default)]
pub struct KnownInstructions {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Of the system prompt in use.
    system: BTreeSet<AbsPath>,
    /// Real paths, by results that are stored.
    told: BTreeSet<AbsPath>,
    /// Real paths, by calls that have not ended: calls of one step run beside each other.
    claimed: BTreeMap<AbsPath, String>,
}

impl KnownInstructions {
    /// From the results of a session that its model still sees.
    pub fn rebuild<'a>(results: impl IntoIterator<Item = &'a ToolResult>) -> Self {
        let told = results.into_iter().flat_map(|result| result.instructions.iter().cloned()).collect();
        Self { state: Mutex::new(State { told, ..State::default() }) }
    }

    /// Takes the place of what an earlier system prompt held.
    pub fn in_system_prompt(&self, instructions: &Instructions) {
        self.lock().system = instructions.files.iter().map(|file| file.path.clone()).collect();
    }

    /// At the end of a call: what its result tells is told, and what it claimed without telling is free again.
    pub fn settle(&self, call: &str, told: &[AbsPath]) {
        let mut state = self.lock();
        state.claimed.retain(|_, by| by != call);
        state.told.extend(told.iter().cloned());
    }

    fn claim(&self, path: &AbsPath, real: &AbsPath, call: &str) -> bool {
        let mut state = self.lock();
        let known = state.told.contains(real)
            || state.claimed.contains_key(real)
            || [path, real].iter().any(|path| state.system.contains(*path));
        if !known {
            state.claimed.insert(real.clone(), call.to_owned());
        }
        !known
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// For one call.
#[derive(Clone)]
pub struct FolderInstructions {
    pub(crate) files: Arc<dyn Files>,
    pub(crate) facts: Arc<Facts>,
    /// Whose rules say what may be read.
    pub(crate) agent: Arc<Agent>,
    pub(crate) known: Arc<KnownInstructions>,
    /// Names the call.
    pub(crate) call: String,
}

/// What is told with a file.
#[derive(Debug, Default)]
pub struct NewInstructions {
    /// For the model; empty where there is nothing new.
    pub text: String,
    /// Real paths, for the result.
    pub told: Vec<AbsPath>,
}

impl FolderInstructions {
    /// Of the folders from `path` up to the root that holds it, outermost first. The session's folder itself is left out, as its instructions are in the
    /// system prompt. The text takes at most `room` bytes: what does not fit is told with a later file.
    pub async fn first_told(&self, path: &AbsPath, room: usize) -> NewInstructions {
        let Some((base, folders)) = self.folders(path) else { return NewInstructions::default() };
        let mut new = NewInstructions::default();
        for folder in folders.iter().rev() {
            let left = room.saturating_sub(new.text.len() + FRAME);
            if left == 0 {
                break;
            }
            let mut reader = Reader::new(&*self.files, &self.agent.rules, &base, left);
            let Some(found) = first_file(&reader, folder).await else { continue };
            let Ok(real) = self.files.real_path(found.clone()).await else { continue };
            if found == *path || !self.known.claim(&found, &real, &self.call) {
                continue;
            }
            reader.take(found, Origin::Project).await;
            new.told.push(real);
            new.add(reader.found);
        }
        new
    }

    /// With the folder that the files must not lead out of.
    fn folders(&self, path: &AbsPath) -> Option<(AbsPath, Vec<AbsPath>)> {
        let folder = &self.facts.folder;
        let above = |top: &AbsPath| {
            let mut folders = Vec::new();
            let mut at = path.parent();
            while let Some(next) = at.filter(|at| at != top && at.starts_with(top)) {
                at = next.parent();
                folders.push(next);
            }
            folders
        };
        if path.starts_with(folder) {
            return Some((self.facts.worktree.clone(), above(folder)));
        }
        // The system prompt says nothing of the other roots.
        let root = self
            .facts
            .roots
            .iter()
            .filter(|root| path.starts_with(root))
            .max_by_key(|root| root.as_path().components().count())?;
        let mut folders = above(root);
        folders.push(root.clone());
        Some((root.clone(), folders))
    }
}

/// For the lines around a text, bytes.
const FRAME: usize = 256;

async fn first_file(reader: &Reader<'_>, folder: &AbsPath) -> Option<AbsPath> {
    for name in PROJECT_NAMES {
        let path = folder.join(name);
        if reader.is_file(&path).await {
            return Some(path);
        }
    }
    None
}

impl NewInstructions {
    fn add(&mut self, found: Instructions) {
        let mut say = |text: String| {
            self.text.push_str("\n\n<system-reminder>\n");
            self.text.push_str(&text);
            self.text.push_str("\n</system-reminder>");
        };
        for InstructionFile { path, text } in found.files {
            say(format!("Instructions from: {path}\n{}", text.trim_end()));
        }
        for problem in found.problems {
            say(problem);
        }
    }
}

#[cfg(test)]
#[path = "nested_tests.rs"]
#[expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]
mod tests;
