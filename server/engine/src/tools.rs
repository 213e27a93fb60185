//! The built-in tools, one file each, their descriptions beside them. What several of them share: paths, lines, changes of files, problems.

mod apply_patch;
mod bash;
mod change;
mod edit;
mod glob;
mod grep;
mod invalid;
mod lines;
mod multiedit;
mod path;
mod problems;
mod read;
mod searched;
mod todowrite;
mod write;

use std::sync::Arc;

use crate::tool::{AnyTool, Facts, erase};

pub fn builtin() -> Vec<Arc<dyn AnyTool>> {
    vec![
        erase(apply_patch::ApplyPatch),
        erase(bash::Bash),
        erase(edit::Edit),
        erase(glob::Glob),
        erase(grep::Grep),
        erase(invalid::Invalid),
        erase(multiedit::MultiEdit),
        erase(read::Read),
        erase(todowrite::TodoWrite),
        erase(write::Write),
    ]
}

/// Fills the values of this run into a description.
fn described(text: &str, facts: &Facts) -> String {
    text.trim()
        .replace("{folder}", &facts.folder.to_string())
        .replace("{temp}", &facts.temp.to_string())
        .replace("{platform}", facts.platform)
        .replace("{max_lines}", &facts.max_lines.to_string())
        .replace("{max_bytes}", &facts.max_bytes.to_string())
}
