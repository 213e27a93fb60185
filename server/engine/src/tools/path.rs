//! Paths as models write them, and the names of files that they may have meant.

use copydesk_workspace::disk::DiskError;
use copydesk_workspace::path::AbsPath;
use copydesk_workspace::uri::path_from_uri;
use serde_json::Value;

use crate::permission::path_pattern;
use crate::tool::{Facts, ToolContext, ToolError};
use crate::view::ViewError;

/// How many files are named instead of one that is missing.
const MOST_SUGGESTIONS: usize = 3;

pub(super) fn resolve(path: &str, facts: &Facts) -> Result<AbsPath, ToolError> {
    if path.trim().is_empty() {
        return Err(ToolError::Tell(
            "`filePath` is empty; name a file, absolute or relative to the session's folder".to_owned(),
        ));
    }
    if path == "~" || path.starts_with("~/") {
        return Err(ToolError::Tell("`~` is not expanded in `filePath`; give the absolute path".to_owned()));
    }
    // Models also write the URIs that they have read in messages of editors.
    if let Some(path) = path.starts_with("file://").then(|| path_from_uri(path).ok()).flatten() {
        return Ok(path);
    }
    let (first, rest) = path.split_once('/').unwrap_or((path, ""));
    let mut candidates: Vec<AbsPath> = named_roots(first, facts).map(|root| root.join(below(rest))).collect();
    if facts.ambiguous.iter().any(|name| name == first) {
        candidates.push(facts.folder.join(path));
    }
    match candidates.as_slice() {
        [] => Ok(facts.folder.join(path)),
        [only] => Ok(only.clone()),
        several => {
            let several: Vec<String> = several.iter().map(ToString::to_string).collect();
            Err(ToolError::Tell(format!(
                "{path} is ambiguous here. Name one of these, absolute as they are:\n{}",
                several.join("\n")
            )))
        }
    }
}

/// In a workspace of several roots a relative path may begin with the name of one (R20.1).
fn named_roots<'a>(name: &'a str, facts: &'a Facts) -> impl Iterator<Item = &'a AbsPath> {
    let has_several = facts.roots.len() > 1 && !name.is_empty();
    facts.roots.iter().filter(move |root| has_several && root.name() == name)
}

/// Never absolute.
fn below(path: &str) -> &str {
    path.trim_start_matches('/')
}

/// From arguments that may still be streaming.
pub(super) fn title(verb: &str, partial: &Value, facts: &Facts) -> String {
    match partial.get("filePath").and_then(Value::as_str) {
        Some(path) if !path.trim().is_empty() => match resolve(path, facts) {
            Ok(path) => format!("{verb} {}", shown(&path, facts)),
            Err(_) => format!("{verb} {path}"),
        },
        _ => verb.to_owned(),
    }
}

pub(super) fn shown(path: &AbsPath, facts: &Facts) -> String {
    path_pattern(path, &facts.worktree)
}

/// As the model can give it back, wherever the session is: relative to its folder, where that leads there (R20.1).
pub(super) fn named(path: &AbsPath, facts: &Facts) -> String {
    let relative = path_pattern(path, &facts.folder);
    match resolve(&relative, facts) {
        Ok(found) if found == *path => relative,
        Ok(_) | Err(_) => path.to_string(),
    }
}

/// Why there is no text at the path that could be changed.
pub(super) async fn unread(path: &AbsPath, error: ViewError, ctx: &ToolContext) -> ToolError {
    match error {
        ViewError::Disk(DiskError::NotFound(_)) => missing(path, ctx).await,
        ViewError::Disk(DiskError::IsDirectory(_)) => folder(path),
        error => error.into(),
    }
}

pub(super) fn folder(path: &AbsPath) -> ToolError {
    ToolError::Tell(format!("{path} is a folder; name a file in it."))
}

/// The error of a missing file, with what it may have been meant for: the same path below another root (R20.1), or a name like it in its folder.
pub(super) async fn missing(path: &AbsPath, ctx: &ToolContext) -> ToolError {
    let wanted = path.name().to_lowercase();
    let folder = path.parent().unwrap_or_else(|| path.clone());
    let missing = format!("{path} does not exist.");
    let mut text = missing.clone();
    let mut meant = in_other_roots(path, ctx).await;
    match ctx.view.neighbours(path).await {
        Ok(beside) => {
            let mut near: Vec<(usize, String)> = beside
                .into_iter()
                .filter_map(|entry| Some((distance(&wanted, &entry.name.to_lowercase())?, entry.name)))
                .collect();
            near.sort();
            meant.extend(near.into_iter().map(|(_, name)| folder.join(name)));
        }
        Err(ViewError::Disk(DiskError::NotFound(_))) => {
            text.push_str(&format!(" Its folder {folder} does not exist either."));
        }
        Err(_) => {}
    }
    let meant: Vec<String> = meant.into_iter().take(MOST_SUGGESTIONS).map(|path| path.to_string()).collect();
    if !meant.is_empty() {
        text.push_str(&format!(" Did you mean:\n{}", meant.join("\n")));
    }
    if text == missing {
        return ToolError::Tell(missing);
    }
    ToolError::Quote { text, withheld: missing, seen: Vec::new() }
}

async fn in_other_roots(path: &AbsPath, ctx: &ToolContext) -> Vec<AbsPath> {
    let Facts { folder, roots, .. } = &*ctx.facts;
    let mut found = Vec::new();
    let Some(relative) = path.relative_to(folder).filter(|relative| !relative.is_empty()) else { return found };
    for root in roots.iter().filter(|root| *root != folder) {
        let other = root.join(&relative);
        if ctx.view.is_there_at_all(&other).await {
            found.push(other);
        }
    }
    found
}

/// Edits between two names, 0 where one contains the other; `None` where they have too little in common.
fn distance(wanted: &str, name: &str) -> Option<usize> {
    let (shorter, longer) = if wanted.len() < name.len() { (wanted, name) } else { (name, wanted) };
    // A single letter is contained in nearly every name.
    if shorter.chars().count() >= 3 && longer.contains(shorter) {
        return Some(0);
    }
    let edits = edits_between(wanted, name);
    (edits * 3 <= wanted.chars().count().max(3)).then_some(edits)
}

/// The optimal string alignment distance: Levenshtein's, in which two neighbours that changed places are one edit.
fn edits_between(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut before: Vec<usize> = Vec::new();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for i in 0..a.len() {
        let mut next = vec![i + 1; b.len() + 1];
        for j in 0..b.len() {
            let replaced = row[j] + usize::from(a[i] != b[j]);
            next[j + 1] = replaced.min(row[j + 1] + 1).min(next[j] + 1);
            if i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j] {
                next[j + 1] = next[j + 1].min(before[j - 1] + 1);
            }
        }
        before = std::mem::replace(&mut row, next);
    }
    row[b.len()]
}

#[cfg(test)]
#[path = "path_tests.rs"]
#[expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]
mod tests;
