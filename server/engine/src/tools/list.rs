//! `list`: the files below a folder as a tree that fits on a page. Off by default: `glob` and `read` give the same in pieces.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use copydesk_workspace::path::AbsPath;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::described;
use super::searched::{self, Place};
use crate::ports::{FileGlob, Preview};
use crate::tool::{Access, CommitError, Facts, Gate, Prepared, Tool, ToolContext, ToolError, ToolKind, ToolOutput};

/// Files that are looked at to draw the tree.
const MOST_FILES: usize = 20_000;

/// Lines of all trees: a model reads them again with each request.
const MOST_LINES: usize = 300;

/// Folders that programs fill and people do not write in, whatever ignore files say.
const FILLED: [&str; 9] =
    ["node_modules", "bower_components", "__pycache__", ".venv", ".tox", ".cache", ".zig-cache", ".gradle", ".idea"];

pub(super) struct List;

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Input {
    /// The folder, absolute or relative to the session's folder; the whole workspace where it is left out.
    path: Option<String>,
    /// Globs of what to leave out.
    ignore: Option<Vec<String>>,
}

#[derive(Debug)]
pub(super) struct Wanted {
    place: Place,
    ignore: Vec<FileGlob>,
}

impl Tool for List {
    type Input = Input;
    type Prepared = Wanted;

    const NAME: &'static str = "list";
    const KIND: ToolKind = ToolKind::Search;
    const GATE: Gate = Gate::Parallel;

    fn description(&self, facts: &Facts) -> String {
        described(include_str!("list.txt"), facts)
    }

    fn title(&self, partial: &Value, _facts: &Facts) -> String {
        match partial.get("path").and_then(Value::as_str).filter(|path| !path.trim().is_empty()) {
            Some(path) => format!("List {path}"),
            None => "List the workspace".to_owned(),
        }
    }

    fn access(&self, input: &Input, facts: &Facts) -> Result<Vec<Access>, ToolError> {
        let place = Place::of(input.path.as_deref(), facts)?;
        let pattern = input.path.clone().filter(|path| !path.trim().is_empty()).unwrap_or_else(|| "*".to_owned());
        Ok(vec![Access::Search { permission: Self::NAME, pattern, roots: place.roots }])
    }

    async fn prepare(&self, input: &Input, ctx: &ToolContext) -> Result<Prepared<Wanted>, ToolError> {
        let place = Place::of(input.path.as_deref(), &ctx.facts)?;
        let ignore = input.ignore.iter().flatten().filter(|glob| !glob.is_empty());
        let ignore = ignore.map(|glob| FileGlob::new(glob).0).collect();
        Ok(Prepared { value: Wanted { place, ignore }, preview: Preview::Nothing })
    }

    async fn commit(&self, wanted: Wanted, ctx: &ToolContext) -> Result<ToolOutput, CommitError> {
        let Wanted { place, ignore } = wanted;
        place.must_be_folder(ctx).await?;
        let left_out = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&left_out);
        let search = ctx.search.leaving_out(Arc::new(move |below: &Path| {
            let is_out = is_filled(below) || is_ignored(&ignore, below);
            counted.fetch_add(usize::from(is_out), Ordering::Relaxed);
            is_out
        }));
        let mut found = search.files(&FileGlob::new("*").0, true, MOST_FILES).await.map_err(searched::told)?;
        let left_out = left_out.load(Ordering::Relaxed);
        found.skipped.refused = found.skipped.refused.saturating_sub(left_out);
        let text = drawn(&place.roots, &found.hits);
        let mut notes = Vec::new();
        if found.more {
            notes.push(format!(
                "Only the first {MOST_FILES} files are counted; there are more. Name a smaller folder in `path`."
            ));
        }
        if left_out > 0 {
            let files = searched::files(left_out);
            notes.push(format!("{files} left out: by `ignore`, or as installed packages or caches."));
        }
        if found.skipped.refused > 0 {
            notes.push(format!("{} left out: rules deny reading.", searched::files(found.skipped.refused)));
        }
        notes.extend(searched::notes(&found));
        Ok(ToolOutput {
            metadata: json!({"count": found.hits.len(), "truncated": found.more}),
            text: searched::with_notes(text, &notes),
            ..ToolOutput::default()
        })
    }
}

fn is_filled(below: &Path) -> bool {
    let folders = below.parent().into_iter().flat_map(Path::components);
    folders.filter_map(|part| part.as_os_str().to_str()).any(|name| FILLED.contains(&name))
}

/// The file, or a folder that it is in.
fn is_ignored(ignore: &[FileGlob], below: &Path) -> bool {
    let paths = below.ancestors().filter(|path| !path.as_os_str().is_empty());
    paths.into_iter().any(|path| ignore.iter().any(|glob| glob.matches(path)))
}

/// A folder, by the names of what is in it.
#[derive(Debug, Default)]
struct Folder {
    folders: BTreeMap<String, Folder>,
    files: Vec<String>,
}

impl Folder {
    fn add(&mut self, below: &Path) {
        let mut folder = self;
        for part in below.parent().into_iter().flat_map(Path::components) {
            folder = folder.folders.entry(part.as_os_str().to_string_lossy().into_owned()).or_default();
        }
        folder.files.extend(below.file_name().map(|name| name.to_string_lossy().into_owned()));
    }

    fn count(&self) -> usize {
        self.files.len() + self.folders.values().map(Self::count).sum::<usize>()
    }

    fn depth(&self) -> usize {
        1 + self.folders.values().map(Self::depth).max().unwrap_or(0)
    }

    /// Of what `draw` writes for it.
    fn lines(&self, depth: usize) -> usize {
        match depth {
            0 => 0,
            _ => self.files.len() + self.folders.values().map(|folder| 1 + folder.lines(depth - 1)).sum::<usize>(),
        }
    }

    fn draw(&self, depth: usize, indent: usize, text: &mut String) {
        let margin = "  ".repeat(indent);
        // Writing to a string cannot fail.
        for (name, folder) in &self.folders {
            let name = searched::shown_name(name);
            if depth > 1 {
                let _ = writeln!(text, "{margin}{name}/");
                folder.draw(depth - 1, indent + 1, text);
            } else {
                let _ = writeln!(text, "{margin}{name}/ ({})", searched::files(folder.count()));
            }
        }
        for name in &self.files {
            let _ = writeln!(text, "{margin}{}", searched::shown_name(name));
        }
    }
}

/// As deep as fits, and one level at least: what is left of a page is cut like every result.
fn drawn(roots: &[AbsPath], files: &[AbsPath]) -> String {
    let trees: Vec<(&AbsPath, Folder)> = roots
        .iter()
        .map(|root| {
            let mut tree = Folder::default();
            files
                .iter()
                .filter_map(|file| file.as_path().strip_prefix(root.as_path()).ok())
                .for_each(|below| tree.add(below));
            (root, tree)
        })
        .collect();
    let deepest = trees.iter().map(|(_, tree)| tree.depth()).max().unwrap_or(1);
    let fits = |depth: &usize| trees.iter().map(|(_, tree)| tree.lines(*depth)).sum::<usize>() <= MOST_LINES;
    let depth = (1..=deepest).rev().find(fits).unwrap_or(1);
    let mut text = String::new();
    for (root, tree) in trees {
        let _ = writeln!(text, "{}/", searched::shown(root).trim_end_matches('/'));
        if tree.count() == 0 {
            text.push_str("  (no files)\n");
        }
        tree.draw(depth, 1, &mut text);
    }
    text
}

#[cfg(test)]
#[path = "list_tests.rs"]
mod tests;
