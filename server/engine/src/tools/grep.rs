//! `grep`: lines of files by a regular expression, over the editor's text where a file is open there.

use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::described;
use super::searched::{self, Place};
use crate::ports::{FileGlob, Found, LineHit, LinePattern, Preview, SearchError};
use crate::tool::{Access, CommitError, Facts, Gate, Prepared, Tool, ToolContext, ToolError, ToolKind, ToolOutput};

/// Matches that one call shows.
const MOST_MATCHES: usize = 100;

pub(super) struct Grep;

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Input {
    /// The regular expression.
    pattern: String,
    /// The folder or file to search; without it, all folders of the workspace.
    path: Option<String>,
    /// Only files that this glob means, for example `*.rs` or `src/**/*.{ts,tsx}`.
    include: Option<String>,
}

#[derive(Debug)]
pub(super) struct Wanted {
    place: Place,
    pattern: String,
    include: Option<FileGlob>,
    /// Why `include` is no glob.
    problem: Option<String>,
}

impl Tool for Grep {
    type Input = Input;
    type Prepared = Wanted;

    const NAME: &'static str = "grep";
    const KIND: ToolKind = ToolKind::Search;
    const GATE: Gate = Gate::Parallel;

    fn description(&self, facts: &Facts) -> String {
        described(include_str!("grep.txt"), facts).replace("{limit}", &MOST_MATCHES.to_string())
    }

    fn title(&self, partial: &Value, _facts: &Facts) -> String {
        searched::title("Search", partial)
    }

    fn access(&self, input: &Input, facts: &Facts) -> Result<Vec<Access>, ToolError> {
        if input.pattern.is_empty() {
            let text = "`pattern` is empty, which every line matches; say what to look for, or use `glob` for the names of files";
            return Err(ToolError::Tell(text.to_owned()));
        }
        let (place, _) = place(input, facts)?;
        Ok(vec![Access::Search { permission: Self::NAME, pattern: input.pattern.clone(), roots: place.roots }])
    }

    async fn prepare(&self, input: &Input, ctx: &ToolContext) -> Result<Prepared<Wanted>, ToolError> {
        let (place, include) = place(input, &ctx.facts)?;
        let include = include.as_deref().map(FileGlob::new);
        let (include, problem) = include.map_or((None, None), |(glob, problem)| (Some(glob), problem));
        let value = Wanted { place, pattern: input.pattern.clone(), include, problem };
        Ok(Prepared { value, preview: Preview::Nothing })
    }

    async fn commit(&self, wanted: Wanted, ctx: &ToolContext) -> Result<ToolOutput, CommitError> {
        wanted.place.must_exist(ctx).await?;
        let include = wanted.include.as_ref();
        let mut notes = Vec::new();
        let regex = LinePattern::Regex(wanted.pattern.clone());
        let found = match ctx.search.lines(&regex, include, MOST_MATCHES).await {
            Err(SearchError::BadPattern(reason)) => {
                notes.push(format!(
                    "The pattern is no valid regular expression ({}): it was searched for as plain text.",
                    reason.lines().last().unwrap_or_default().trim_start_matches("error: ")
                ));
                ctx.search.lines(&LinePattern::Literal(wanted.pattern), include, MOST_MATCHES).await
            }
            found => found,
        };
        let found = found.map_err(searched::told)?;
        if let Some(problem) = wanted.problem {
            notes.push(format!("`include` is no valid glob ({problem}): it was taken as the name of a file."));
        }
        if found.more {
            notes.push(format!(
                "Only the first {MOST_MATCHES} matches are shown; there may be more. Narrow the pattern, or use `path` or `include`."
            ));
        }
        if found.skipped.refused > 0 {
            let files = searched::files(found.skipped.refused);
            notes.push(format!(
                "{files} not searched: rules deny reading, or ask first. Call `read` for one that you need."
            ));
        }
        notes.extend(searched::notes(&found));
        Ok(ToolOutput {
            metadata: json!({"matches": found.hits.len(), "truncated": found.more}),
            text: searched::with_notes(listed(&found), &notes),
            ..ToolOutput::default()
        })
    }
}

/// Where to look, and for which files there. An absolute `include` names a folder of the workspace itself.
fn place(input: &Input, facts: &Facts) -> Result<(Place, Option<String>), ToolError> {
    let place = Place::of(input.path.as_deref(), facts)?;
    let include = input.include.as_deref().filter(|include| !include.is_empty());
    let split = include.and_then(searched::split_absolute);
    let named = split.filter(|(folder, _)| place.roots.iter().any(|root| folder.starts_with(root)));
    match named {
        Some((folder, rest)) => Ok((Place { roots: vec![folder], named: true }, Some(rest))),
        None => Ok((place, include.map(str::to_owned))),
    }
}

fn listed(found: &Found<LineHit>) -> String {
    let mut text = match found.hits.len() {
        0 => return "No matches found.\n".to_owned(),
        1 => "Found 1 match\n".to_owned(),
        count => format!("Found {count} matches\n"),
    };
    for of_file in found.hits.chunk_by(|a, b| a.path == b.path) {
        let _ = writeln!(text, "\n{}:", searched::shown(&of_file[0].path));
        for hit in of_file {
            let place = match hit.column {
                Some(column) => format!("Line {}, from column {column} of a long line", hit.line),
                None => format!("Line {}", hit.line),
            };
            // Writing to a string cannot fail.
            let _ = writeln!(text, "  {place}: {}", hit.text.replace("\r\n", "\n").replace('\n', "\n    "));
        }
    }
    text
}

#[cfg(test)]
#[path = "grep_tests.rs"]
mod tests;
