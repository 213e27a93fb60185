//! The built-in tools, one file each, their descriptions beside them. What several of them share: paths, lines, changes of files, problems.

mod apply_patch;
mod bash;
pub(crate) mod batch;
mod change;
mod changed;
mod codesearch;
mod edit;
mod glob;
mod grep;
mod invalid;
mod job;
mod lines;
mod list;
mod lsp;
mod multiedit;
mod path;
mod plan_enter;
mod plan_exit;
mod problems;
mod question;
mod read;
mod searched;
mod services;
mod skill;
mod todoread;
mod todowrite;
mod webfetch;
mod websearch;
mod write;

use crate::registry::Listed;
use crate::tool::Facts;

/// The tool that looks after background jobs; also what names a job in the metadata of the call that started it.
pub(crate) const JOB: &str = "job";

/// Each with when it is offered, in opencode's order; those that it has not, or has no more, stand beside their kin. Off by default is what costs words
/// of every prompt and is rarely worth them: `docs/configuration.md` lists the switches.
pub(crate) fn builtin() -> Vec<Listed> {
    vec![
        Listed::on(invalid::Invalid).only_if(|_| false),
        Listed::on(question::AskUser).only_if(|now| now.has_user),
        Listed::on(bash::Bash),
        Listed::on(job::JobTool).only_if(|now| now.runs_commands()),
        Listed::on(read::Read),
        Listed::off(list::List),
        Listed::on(glob::Glob),
        Listed::on(grep::Grep),
        Listed::on(edit::Edit).only_if(|now| now.takes_edits()),
        Listed::on(multiedit::MultiEdit).only_if(|now| now.takes_edits()),
        Listed::on(write::Write).only_if(|now| now.takes_edits()),
        Listed::on(webfetch::WebFetch),
        Listed::on(todowrite::TodoWrite),
        Listed::off(todoread::TodoRead),
        Listed::off(websearch::WebSearch),
        Listed::off(codesearch::CodeSearch),
        Listed::on(skill::LoadSkill).only_if(|now| now.has_skills),
        Listed::off(lsp::Lsp),
        Listed::on(apply_patch::ApplyPatch).only_if(|now| now.takes_patches()),
        Listed::on(plan_exit::PlanExit).only_if(|now| now.has_user),
        Listed::off(plan_enter::PlanEnter).only_if(|now| now.has_user),
        Listed::off(batch::Batch),
    ]
}

/// Fills the values of this run into a description.
fn described(text: &str, facts: &Facts) -> String {
    text.trim()
        .replace("{folder}", &facts.folder.to_string())
        .replace("{temp}", &facts.temp.to_string())
        .replace("{platform}", facts.platform)
        .replace("{year}", &facts.year)
        .replace("{max_lines}", &facts.max_lines.to_string())
        .replace("{max_bytes}", &facts.max_bytes.to_string())
}
