//! What the user is shown of a call, and whether two showings are the same by content. Draws nothing.

use std::collections::BTreeSet;

use copydesk_workspace::diff;
use copydesk_workspace::edit::EditSet;
use copydesk_workspace::path::AbsPath;
use ropey::Rope;

use super::access::Need;
use super::command::Part;
use crate::escape::{self, escaped_line};
use crate::message::FileDiff;
use crate::ports::{AskedPart, Preview};

/// The tool's own preview, else the paths that are touched with their targets.
pub(super) fn shown(preview: &Preview, paths: &[(AbsPath, AbsPath)]) -> Preview {
    match preview {
        Preview::Nothing if paths.is_empty() => Preview::Nothing,
        Preview::Nothing => {
            let line = |(path, real): &(AbsPath, AbsPath)| {
                escaped_line(&if path == real { path.to_string() } else { format!("{path} -> {real}") })
            };
            Preview::Access(paths.iter().map(line).collect::<Vec<_>>().join("\n"))
        }
        Preview::Edit(_) | Preview::Command { .. } | Preview::Access(_) => preview.clone(),
    }
}

/// With the parts of a command that are asked (C59).
pub(super) fn with_marks(preview: &Preview, needs: &[(Need, String)]) -> Preview {
    let mut preview = preview.clone();
    if let Preview::Command { asked, .. } = &mut preview {
        let mut parts: Vec<(&Part, Vec<&str>)> = Vec::new();
        for (need, reason) in needs {
            let Some(part) = &need.part else { continue };
            match parts.iter_mut().find(|(known, _)| known.span == part.span) {
                Some((_, reasons)) => reasons.push(reason),
                None => parts.push((part, vec![reason])),
            }
        }
        *asked = parts.into_iter().filter_map(|(part, reasons)| marked(part, &reasons.join("; "))).collect();
    }
    preview
}

/// Escapes stand for one character each, so that a piece of the text is shown as the piece alone would be.
fn marked(part: &Part, reason: &str) -> Option<AskedPart> {
    let text = part.line.text.get(part.span.clone())?;
    let before = escape::escaped(part.line.text.get(..part.span.start)?);
    let shown = escape::escaped(text);
    Some(AskedPart {
        span: before.len()..before.len() + shown.len(),
        line: before.matches('\n').count() + 1,
        text: shown,
        reason: reason.to_owned(),
    })
}

/// What a diff would not show: invisible characters that an edit brings into a file, for the user (R8.4).
pub(super) fn warning(preview: &Preview) -> Option<String> {
    let Preview::Edit(diffs) = preview else { return None };
    let added: BTreeSet<char> = diffs.iter().flat_map(newly_hidden).collect();
    if added.is_empty() {
        return None;
    }
    let names: Vec<String> = added.into_iter().map(|c| format!("U+{:04X}", u32::from(c))).collect();
    Some(format!("the new text holds characters that do not show: {}", names.join(", ")))
}

/// Of what is equal at both ends there is nothing new: a large file is not looked through for each edit.
fn newly_hidden(diff: &FileDiff) -> BTreeSet<char> {
    let (before, after) = (diff.text_before(), diff.text_after());
    let added = escape::hidden(diff::changed_part(&before, &after).chars());
    if added.is_empty() { added } else { &added - &escape::hidden(before.chars()) }
}

/// Edits are the same where they change the same lines into the same lines, at the place to which others have moved those since (C30): the same
/// words somewhere else are another edit (R4.3).
pub(super) fn same_content(a: &Preview, b: &Preview) -> bool {
    match (a, b) {
        (Preview::Edit(a), Preview::Edit(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_same(a, b))
                || a.len() == b.len()
                    && a.iter().zip(b).all(|(a, b)| a.path == b.path && hunks(a) == hunks(b) && is_moved(a, b))
        }
        _ => a == b,
    }
}

/// Of a preview that was only copied, no text is looked through.
fn is_same(a: &FileDiff, b: &FileDiff) -> bool {
    let same = |a: &Option<Rope>, b: &Option<Rope>| match (a, b) {
        (Some(a), Some(b)) => diff::is_same(a, b),
        (None, None) => true,
        (Some(_), None) | (None, Some(_)) => false,
    };
    a.path == b.path && same(&a.before, &b.before) && same(&a.after, &b.after)
}

/// Whether `b` is `a` carried over what changed in between.
fn is_moved(a: &FileDiff, b: &FileDiff) -> bool {
    let (before, now) = (a.text_before(), b.text_before());
    let theirs = EditSet::between(&before, &now);
    let ours = EditSet::between(&before, &a.text_after()).rebase(&theirs);
    ours.and_then(|ours| ours.apply(&now)).is_ok_and(|carried| carried == b.text_after())
}

pub(super) fn diffs(preview: &Preview) -> Vec<FileDiff> {
    match preview {
        Preview::Edit(diffs) => diffs.clone(),
        Preview::Nothing | Preview::Command { .. } | Preview::Access(_) => Vec::new(),
    }
}

/// Removed and added lines without their place; whether the file is there before and after counts too.
fn hunks(diff: &FileDiff) -> (bool, bool, Vec<String>) {
    let unified = diff::unified("", &diff.text_before(), &diff.text_after(), 0);
    let names_file = |line: &str| line.starts_with("--- ") || line.starts_with("+++ ");
    let lines = unified.lines().enumerate();
    // Only the first two lines name the file: further ones that look so are text.
    let lines = lines.filter(|(index, line)| !(line.starts_with("@@") || *index < 2 && names_file(line)));
    (diff.before.is_some(), diff.after.is_some(), lines.map(|(_, line)| line.to_owned()).collect())
}
