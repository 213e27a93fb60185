//! What an edit did to the problems of its file: new ones and fixed ones, errors first, capped (R17.3). Finds no problems itself.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet, VecDeque};
use std::fmt::Write as _;
use std::time::Duration;

use copydesk_workspace::edit::EditSet;
use ropey::Rope;
use tokio::time::timeout;

use crate::ports::{Diagnostic, DiagnosticSeverity, DiagnosticsReport, DiagnosticsTarget};
use crate::tool::ToolContext;

/// From an applied edit to the problems of its text (R17.2).
const WAIT: Duration = Duration::from_millis(1500);
/// For a port that does not keep to its own limit.
const GRACE: Duration = Duration::from_millis(100);
/// New and fixed ones together.
const MOST_SHOWN: usize = 20;
/// Of one message, characters: some compilers print whole types.
const LONGEST_MESSAGE: usize = 1000;

/// What is known already, without waiting.
pub(super) async fn before(target: DiagnosticsTarget, ctx: &ToolContext) -> DiagnosticsReport {
    let report = ctx.diagnostics.of(target, Duration::ZERO);
    timeout(GRACE, report).await.unwrap_or(DiagnosticsReport::NotReady)
}

pub(super) async fn after(target: DiagnosticsTarget, ctx: &ToolContext) -> DiagnosticsReport {
    let report = timeout(WAIT + GRACE, ctx.diagnostics.of(target, WAIT));
    tokio::select! {
        report = report => report.unwrap_or(DiagnosticsReport::NotReady),
        () = ctx.cancel.cancelled() => DiagnosticsReport::NotReady,
    }
}

/// The text for the model; empty where there is nothing to say. The lines of `before` are those of `base`, which `edits` changed.
pub(super) fn changed(before: &DiagnosticsReport, after: &DiagnosticsReport, base: &Rope, now: &Rope) -> String {
    let (after, missing, presumed) = match after {
        DiagnosticsReport::Ready(after) => (after, [].as_slice(), [].as_slice()),
        DiagnosticsReport::Partly { found, missing, presumed } => (found, missing.as_slice(), presumed.as_slice()),
        DiagnosticsReport::NotReady => {
            return "Diagnostics of the new text were not ready in time.".to_owned();
        }
        DiagnosticsReport::Unavailable => return String::new(),
    };
    let told = match whole(before) {
        Some(before) => {
            let (new, mut fixed) = compare(before, after, base, now);
            if !missing.is_empty() {
                // They may be of those who have not spoken.
                fixed.clear();
            }
            let room = MOST_SHOWN.saturating_sub(new.len()).max(1);
            let sections =
                [section("New problems in this file", &new, MOST_SHOWN), section("Fixed by this edit", &fixed, room)];
            if new.is_empty() && fixed.is_empty() && !after.is_empty() && missing.is_empty() {
                format!("The edit changed none of the {} problems in this file.", after.len())
            } else {
                sections.into_iter().flatten().collect::<Vec<_>>().join("\n")
            }
        }
        // Without a whole state before, all that is there now may be new.
        None => section("Problems in this file now", after, MOST_SHOWN).unwrap_or_default(),
    };
    // Where nothing is told of them, nothing is claimed.
    let is_presumed = !presumed.is_empty() && !told.is_empty();
    let presumed = is_presumed.then(|| {
        format!(
            "{} names no version of the text: this is what it said last, after it was sent the new one.",
            presumed.join(", ")
        )
    });
    let missing = (!missing.is_empty()).then(|| format!("Not in time with the new text: {}.", missing.join(", ")));
    let told = Some(told).filter(|told| !told.is_empty());
    [told, presumed, missing].into_iter().flatten().collect::<Vec<_>>().join("\n")
}

/// What everybody who looks at the file had to say.
fn whole(report: &DiagnosticsReport) -> Option<&[Diagnostic]> {
    match report {
        DiagnosticsReport::Ready(found) => Some(found),
        DiagnosticsReport::Partly { found, missing, .. } if missing.is_empty() => Some(found),
        DiagnosticsReport::Partly { .. } | DiagnosticsReport::NotReady | DiagnosticsReport::Unavailable => None,
    }
}

/// New and fixed ones. A problem that only moved is neither: first those on the line to which the edit moved them are paired, then those of equal words.
/// Linear in their number: language servers tell of thousands.
fn compare(before: &[Diagnostic], after: &[Diagnostic], base: &Rope, now: &Rope) -> (Vec<Diagnostic>, Vec<Diagnostic>) {
    let edits = EditSet::between(base, now);
    let moved = |problem: &Diagnostic| moved_line(problem.line, &edits, base, now);
    let (new, old) = unpaired(after.iter().collect(), before.iter().collect(), |p| p.line, moved);
    let (new, old) = unpaired(new, old, |_| 0, |_| 0);
    (new.into_iter().cloned().collect(), old.into_iter().cloned().collect())
}

/// What is left of each side when problems of equal words, and of equal lines as the two functions see them, are taken out in pairs.
fn unpaired<'a>(
    new: Vec<&'a Diagnostic>,
    old: Vec<&'a Diagnostic>,
    new_line: impl Fn(&Diagnostic) -> usize,
    old_line: impl Fn(&Diagnostic) -> usize,
) -> (Vec<&'a Diagnostic>, Vec<&'a Diagnostic>) {
    let words = |problem: &'a Diagnostic| (problem.severity, problem.source.as_deref(), problem.message.as_str());
    let mut places: HashMap<_, VecDeque<usize>> = HashMap::new();
    for (index, problem) in old.iter().enumerate() {
        places.entry((words(problem), old_line(problem))).or_default().push_back(index);
    }
    let mut paired = HashSet::new();
    let is_unpaired = |problem: &&'a Diagnostic| {
        let index = places.get_mut(&(words(problem), new_line(problem))).and_then(VecDeque::pop_front);
        index.map(|index| paired.insert(index)).is_none()
    };
    let new = new.into_iter().filter(is_unpaired).collect();
    let old = old.into_iter().enumerate().filter(|(index, _)| !paired.contains(index)).map(|(_, problem)| problem);
    (new, old.collect())
}

fn moved_line(line: usize, edits: &EditSet, base: &Rope, now: &Rope) -> usize {
    let index = line.saturating_sub(1).min(base.len_lines());
    let offset = edits.map_offset(base.line_to_byte(index)).min(now.len_bytes());
    now.byte_to_line(offset) + 1
}

fn section(heading: &str, problems: &[Diagnostic], most: usize) -> Option<String> {
    if problems.is_empty() {
        return None;
    }
    let mut sorted: Vec<&Diagnostic> = problems.iter().collect();
    sorted.sort_by_key(|problem| (problem.severity, problem.line, problem.column));
    let mut text = format!("{heading}:");
    for problem in sorted.iter().take(most) {
        let severity = match problem.severity {
            DiagnosticSeverity::Error => "error",
            DiagnosticSeverity::Warning => "warning",
            DiagnosticSeverity::Information => "information",
            DiagnosticSeverity::Hint => "hint",
        };
        let source = problem.source.as_ref().map(|source| format!(" ({source})")).unwrap_or_default();
        // Writing to a string cannot fail.
        let _ =
            write!(text, "\n- {severity} {}:{}: {}{source}", problem.line, problem.column, shortened(&problem.message));
    }
    if let Some(more) = sorted.len().checked_sub(most).filter(|more| *more > 0) {
        let _ = write!(text, "\n- and {more} more");
    }
    Some(text)
}

fn shortened(message: &str) -> Cow<'_, str> {
    match message.char_indices().nth(LONGEST_MESSAGE) {
        Some((end, _)) => format!("{}…", &message[..end]).into(),
        None => message.into(),
    }
}

#[cfg(test)]
#[path = "problems_tests.rs"]
#[expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]
mod tests;
