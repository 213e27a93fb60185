//! `glob`: files by the pattern of their names. Opens none of them.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::described;
use super::searched::{self, Place};
use crate::ports::{FileGlob, Preview};
use crate::tool::{Access, CommitError, Facts, Gate, Prepared, Tool, ToolContext, ToolError, ToolKind, ToolOutput};

/// Files that one call shows.
const MOST_FILES: usize = 100;

pub(super) struct Glob;

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Input {
    /// The glob, for example `*.rs` or `src/**/*.test.ts`.
    pattern: String,
    /// The folder to look in; without it, all folders of the workspace.
    path: Option<String>,
}

#[derive(Debug)]
pub(super) struct Wanted {
    place: Place,
    glob: FileGlob,
    /// Why the pattern is no glob.
    problem: Option<String>,
}

impl Tool for Glob {
    type Input = Input;
    type Prepared = Wanted;

    const NAME: &'static str = "glob";
    const KIND: ToolKind = ToolKind::Search;
    const GATE: Gate = Gate::Parallel;

    fn description(&self, facts: &Facts) -> String {
        described(include_str!("glob.txt"), facts).replace("{limit}", &MOST_FILES.to_string())
    }

    fn title(&self, partial: &Value, _facts: &Facts) -> String {
        searched::title("Find", partial)
    }

    fn access(&self, input: &Input, facts: &Facts) -> Result<Vec<Access>, ToolError> {
        let (place, _) = place(input, facts)?;
        Ok(vec![Access::Search { permission: Self::NAME, pattern: input.pattern.clone(), roots: place.roots }])
    }

    async fn prepare(&self, input: &Input, ctx: &ToolContext) -> Result<Prepared<Wanted>, ToolError> {
        let (place, pattern) = place(input, &ctx.facts)?;
        let (glob, problem) = FileGlob::new(&pattern);
        Ok(Prepared { value: Wanted { place, glob, problem }, preview: Preview::Nothing })
    }

    async fn commit(&self, wanted: Wanted, ctx: &ToolContext) -> Result<ToolOutput, CommitError> {
        let Wanted { place, glob, problem } = wanted;
        place.must_be_folder(ctx).await?;
        let found = ctx.search.files(&glob, glob.names_hidden(), MOST_FILES).await;
        let found = found.map_err(searched::told)?;
        let mut text: String =
            found.hits.iter().map(|path| format!("{}\n", searched::shown(path))).collect::<Vec<_>>().concat();
        if found.hits.is_empty() {
            text.push_str("No files found.\n");
        }
        let mut notes = Vec::new();
        if let Some(problem) = problem {
            notes.push(format!("The pattern is no valid glob ({problem}): it was taken as the name of a file."));
        }
        if found.more {
            notes.push(format!(
                "Only the first {MOST_FILES} are shown; there are more. Narrow the pattern, or name a folder in `path`."
            ));
        }
        if found.skipped.refused > 0 {
            let files = searched::files(found.skipped.refused);
            notes.push(format!("{files} left out: rules deny reading."));
        }
        if found.hits.is_empty() && !glob.names_hidden() {
            notes.push("Names that begin with a dot are found where the pattern names them.".to_owned());
        }
        notes.extend(searched::notes(&found));
        Ok(ToolOutput {
            metadata: json!({"count": found.hits.len(), "truncated": found.more}),
            text: searched::with_notes(text, &notes),
            ..ToolOutput::default()
        })
    }
}

/// Where to look, and the pattern from there. An absolute pattern names its folder itself.
fn place(input: &Input, facts: &Facts) -> Result<(Place, String), ToolError> {
    let pattern = input.pattern.as_str();
    if pattern.is_empty() {
        return Err(ToolError::Tell("`pattern` is empty; `*` means every file, `*.rs` those of one kind".to_owned()));
    }
    if pattern.split('/').any(|part| part == "..") {
        return Err(ToolError::Tell("`pattern` cannot hold `..`: name the folder in `path` instead".to_owned()));
    }
    if input.path.is_none()
        && let Some((folder, rest)) = searched::split_absolute(pattern)
    {
        return Ok((Place { roots: vec![folder], named: true }, rest));
    }
    Ok((Place::of(input.path.as_deref(), facts)?, pattern.to_owned()))
}

#[cfg(test)]
#[path = "glob_tests.rs"]
#[expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]
mod tests;
