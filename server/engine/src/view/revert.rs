//! Taking back what a failed batch has already applied, and saying of each file how it stands.

use copydesk_workspace::disk::Expected;
use copydesk_workspace::edit::EditSet;
use copydesk_workspace::path::AbsPath;

use super::View;
use super::apply::{DiskEdit, Step};
use super::open::{OpenEdit, Shown};
use super::record::MAY_BE_CHANGED;
use super::through::Route;

pub(super) struct Reverted {
    /// A line a file, the latest first.
    pub(super) states: Vec<String>,
    /// Nothing is in force any more, or comes yet.
    pub(super) is_all: bool,
}

/// How a change was taken back.
enum Taken {
    Surely,
    /// The editor may make it yet.
    ForNow,
}

impl View {
    pub(super) async fn revert(&self, shown: &[Shown], done: &[Step], label: &str) -> Reverted {
        let mut results = Vec::new();
        for step in done.iter().rev() {
            let reverted = match step {
                Step::Write(edit) => self.revert_disk(edit).await,
                Step::Relocate(relocation) => self.restore(relocation).await.map(|()| Taken::Surely),
            };
            results.push((step.path(), reverted));
        }
        for shown in shown.iter().rev() {
            results.push((&shown.applied.path, self.revert_open(shown, label).await.map(|()| Taken::Surely)));
        }
        let is_all = results.iter().all(|(_, reverted)| matches!(reverted, Ok(Taken::Surely)));
        Reverted { states: results.into_iter().map(|(path, reverted)| state(path, reverted)).collect(), is_all }
    }

    async fn revert_disk(&self, edit: &DiskEdit) -> Result<Taken, String> {
        let taken = match &edit.route {
            Route::Editor(through) => return self.revert_through(edit, through).await.map(|()| Taken::Surely),
            Route::Disk => Taken::Surely,
            Route::DiskBeforeEditor => Taken::ForNow,
        };
        let path = edit.key.path().clone();
        let done = match &edit.before {
            Some(before) => self.files.write_real(path, before.bytes(), Expected::Bytes(edit.hash)).await,
            None => self.files.remove(path, edit.hash).await,
        };
        done.map(|()| taken).map_err(|error| error.to_string())
    }

    /// Only the agent's edit: what the user typed meanwhile stays.
    async fn revert_open(&self, shown: &Shown, label: &str) -> Result<(), String> {
        let before = shown.applied.before.clone().unwrap_or_default();
        let ours = shown.edits.apply(&before).map_err(|error| error.to_string())?;
        let now = self.overlay.get(&shown.applied.key).ok_or("it was closed in the editor")?;
        let typed = EditSet::between(&ours, &now.text);
        let inverse = shown.edits.invert(&before).and_then(|inverse| inverse.rebase(&typed));
        let edits = inverse.map_err(|error| error.to_string())?;
        let back = OpenEdit {
            path: shown.applied.path.clone(),
            key: now.key,
            uri: now.uri,
            version: now.version,
            base: now.text,
            edits,
        };
        self.send(&[back], &format!("Take back: {label}")).await.map(|_| ()).map_err(|(refusal, _)| refusal.reason)
    }
}

fn state(path: &AbsPath, reverted: Result<Taken, String>) -> String {
    match reverted {
        Ok(Taken::Surely) => format!("{path}: the change was taken back"),
        Ok(Taken::ForNow) => format!("{path}: the change was taken back, but {MAY_BE_CHANGED}"),
        Err(reason) => format!("{path}: the change is STILL IN FORCE, it could not be taken back: {reason}"),
    }
}
