//! What the model is told of hunks that the user has rejected: where they were, and its own lines, so that it knows them again. Lines of the user's are not in it.

use super::decide::{Rejected, TakenBack};
use crate::diffs;
use crate::tool::Facts;

/// Hunks that are listed, and lines and bytes of each that are quoted.
const MOST_HUNKS: usize = 20;
const MOST_LINES: usize = 20;
const MOST_BYTES: usize = 2048;

const HEAD: &str = "The user has rejected these changes of yours, and they were taken back: the files hold there what they held before, and all else is as it was. Read a file again before you edit it near such a place, and do not make a rejected change again unless the user asks for it.";

pub(crate) fn told(rejected: &[Rejected], facts: &Facts) -> String {
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

fn one(rejected: &Rejected, facts: &Facts) -> String {
    let Rejected { path, what, new } = rejected;
    let name = |path| diffs::name(path, &facts.folder);
    let lines = |count: usize| if count == 1 { "1 line".to_owned() } else { format!("{count} lines") };
    let path = name(path);
    let done = match what {
        TakenBack::Lines { line, restored } => {
            let taken_out = Some(new.lines().count()).filter(|added| *added > 0);
            let taken_out = taken_out.map(|added| format!("taken out {}", lines(added)));
            let put_back = Some(*restored).filter(|restored| *restored > 0);
            let put_back = put_back.map(|restored| format!("put back {}", lines(restored)));
            let done: Vec<String> = taken_out.into_iter().chain(put_back).collect();
            format!("{path}, at line {line}: {}", done.join(", "))
        }
        TakenBack::Removed => format!("{path}: removed, which you had made"),
        TakenBack::Restored => format!("{path}: put back as a whole"),
        TakenBack::MovedBack { to } => format!("{path}: moved back to {}", name(to)),
    };
    if new.is_empty() { format!("- {done}") } else { format!("- {done}. Yours were:\n{}", quoted(new)) }
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
