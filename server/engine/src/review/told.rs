//! What the model is told of hunks that the user has rejected: where they were, and its own lines, so that it knows them again. Lines of the user's are not in it.

use super::decide::RejectedHunk;
use crate::diffs;
use crate::tool::Facts;

/// Hunks that are listed, and lines and bytes of each that are quoted.
const MOST_HUNKS: usize = 20;
const MOST_LINES: usize = 20;
const MOST_BYTES: usize = 2048;

const HEAD: &str = "The user has rejected these changes of yours, and they were taken back: the files hold there what they held before, and all else is as it was. Read a file again before you edit it near such a place, and do not make a rejected change again unless the user asks for it.";

pub(crate) fn told(rejected: &[RejectedHunk], facts: &Facts) -> String {
    let mut text = HEAD.to_owned();
    for hunk in rejected.iter().take(MOST_HUNKS) {
        text.push('\n');
        text.push_str(&one(hunk, facts));
    }
    if rejected.len() > MOST_HUNKS {
        text.push_str(&format!("\n- and {} more", rejected.len() - MOST_HUNKS));
    }
    text
}

fn one(hunk: &RejectedHunk, facts: &Facts) -> String {
    let path = diffs::name(&hunk.path, &facts.folder);
    let added = hunk.new.lines().count();
    let lines = |count: usize| if count == 1 { "1 line".to_owned() } else { format!("{count} lines") };
    let place = format!("- {path}, at line {}", hunk.line);
    let yours = || format!("Yours were:\n{}", quoted(&hunk.new));
    match (added, hunk.restored) {
        (0, 0) => format!("- {path}: the file is what and where it was"),
        (0, restored) => format!("{place}: put back {}", lines(restored)),
        (added, 0) => format!("{place}: taken out {}. {}", lines(added), yours()),
        (added, restored) => {
            format!("{place}: taken out {}, put back {}. {}", lines(added), lines(restored), yours())
        }
    }
}

fn quoted(text: &str) -> String {
    let mut shown = String::new();
    let mut left = text.lines().count();
    for line in text.lines().take(MOST_LINES) {
        if shown.len() + line.len() > MOST_BYTES {
            break;
        }
        shown.push_str(&format!("    {line}\n"));
        left -= 1;
    }
    if left > 0 {
        shown.push_str(&format!("    [{left} more]\n"));
    }
    shown.trim_end_matches('\n').to_owned()
}
