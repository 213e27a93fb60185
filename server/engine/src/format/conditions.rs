//! Whether a formatter is meant for a file: what stands beside and above it, up to the root of the workspace.

use copydesk_workspace::disk::FileKind;
use copydesk_workspace::path::AbsPath;
use serde_json::Value;

use super::known::Condition;
use crate::ports::Files;
use crate::tool::Facts;

/// Larger manifests are not read, bytes.
const MOST_BYTES: usize = 1 << 20;

/// The folders from that of a file up.
pub(super) struct Above<'a> {
    pub(super) files: &'a dyn Files,
    pub(super) path: &'a AbsPath,
    pub(super) facts: &'a Facts,
}

impl Above<'_> {
    pub(super) async fn meets(&self, condition: Condition) -> bool {
        match condition {
            Condition::None => true,
            Condition::Beside(names) => self.any(names).await,
            Condition::Depends(package) => self.depends(package).await,
            Condition::Mentions(mentions) => {
                for (name, text) in mentions {
                    for folder in self.folders() {
                        if self.read(folder.join(name)).await.is_some_and(|found| found.contains(text)) {
                            return true;
                        }
                    }
                }
                false
            }
        }
    }

    /// The nearest of that name.
    pub(super) async fn find(&self, name: &str) -> Option<AbsPath> {
        for folder in self.folders() {
            let path = folder.join(name);
            if self.files.stat(path.clone()).await.is_ok_and(|stat| stat.kind == FileKind::File) {
                return Some(path);
            }
        }
        None
    }

    /// The nearest folder above the file that exists.
    pub(super) async fn folder(&self) -> AbsPath {
        for folder in self.folders() {
            if self.files.stat(folder.clone()).await.is_ok_and(|stat| stat.kind == FileKind::Directory) {
                return folder;
            }
        }
        self.facts.folder.clone()
    }

    /// The nearest folder that holds such a file; the session's where none does.
    pub(super) async fn folder_with(&self, name: &str) -> AbsPath {
        self.find(name).await.and_then(|file| file.parent()).unwrap_or_else(|| self.facts.folder.clone())
    }

    /// As Cargo would tell it, which the formatter alone does not know.
    pub(super) async fn rust_edition(&self, formatter: &str) -> Option<String> {
        if formatter != "rustfmt" {
            return None;
        }
        for folder in self.folders() {
            let Some(manifest) = self.read(folder.join("Cargo.toml")).await else { continue };
            let edition = manifest.lines().find_map(|line| {
                let value = line.trim().strip_prefix("edition")?.trim_start().strip_prefix('=')?.trim_start();
                value.strip_prefix('"')?.split('"').next().map(str::to_owned)
            });
            let is_year = |edition: &String| edition.len() == 4 && edition.chars().all(|c| c.is_ascii_digit());
            if let Some(edition) = edition.filter(is_year) {
                return Some(edition);
            }
        }
        Some("2021".to_owned())
    }

    async fn any(&self, names: &[&str]) -> bool {
        for name in names {
            if self.find(name).await.is_some() {
                return true;
            }
        }
        false
    }

    async fn depends(&self, package: &str) -> bool {
        for folder in self.folders() {
            let Some(manifest) = self.read(folder.join("package.json")).await else { continue };
            let manifest: Value = serde_json::from_str(&manifest).unwrap_or_default();
            if ["dependencies", "devDependencies"].iter().any(|key| manifest[*key].get(package).is_some()) {
                return true;
            }
        }
        false
    }

    async fn read(&self, path: AbsPath) -> Option<String> {
        let bytes = self.files.read_range(path, 0, MOST_BYTES).await.ok()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }

    fn folders(&self) -> Vec<AbsPath> {
        let roots = self.facts.roots.iter().chain([&self.facts.folder, &self.facts.worktree]);
        let top =
            roots.filter(|root| self.path.starts_with(root)).min_by_key(|root| root.as_path().components().count());
        let folders = std::iter::successors(self.path.parent(), AbsPath::parent);
        match top {
            Some(top) => folders.take_while(|folder| folder.starts_with(top)).collect(),
            None => folders.take(1).collect(),
        }
    }
}
