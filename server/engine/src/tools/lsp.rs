//! `lsp`: what a language server knows of code, and the edits that it makes. The server is the editor's where it has one; which it is, is not known here.

mod edits;
mod shown;

use std::ops::Range;
use std::time::Duration;

use copydesk_workspace::disk::DiskError;
use copydesk_workspace::path::AbsPath;
use ropey::Rope;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::change::{self, Change};
use super::{described, path};
use crate::ports::{
    DiagnosticsTarget, LanguageAbout, LanguageAnswer, LanguageChange, LanguageError, LanguageFound, LanguageQuestion,
    LanguageSymbol, Preview,
};
use crate::tool::{Access, CommitError, Facts, Gate, Prepared, Tool, ToolContext, ToolError, ToolKind, ToolOutput};
use crate::view::{Snapshot, ViewError};

/// A server that has to start first, and to read the project, takes seconds.
const WAIT: Duration = Duration::from_secs(15);

pub(super) struct Lsp;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Input {
    /// What to do.
    operation: Operation,
    /// The file, absolute or relative to the session's folder.
    file_path: String,
    /// The line of the place, counted from 1.
    line: Option<usize>,
    /// The character of the place in its line, counted from 1.
    character: Option<usize>,
    /// In place of `character`: the name as it stands in the line, where it stands first.
    symbol: Option<String>,
    /// Of `workspaceSymbol`: what the names are like.
    query: Option<String>,
    /// Of `rename`.
    new_name: Option<String>,
    /// Of `codeAction`: the last line, counted from 1; `line` if not given.
    end_line: Option<usize>,
    /// Of `codeAction`: the action to carry out, exactly as it is listed. Without it the actions are listed.
    title: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
enum Operation {
    GoToDefinition,
    FindReferences,
    Hover,
    DocumentSymbol,
    WorkspaceSymbol,
    GoToImplementation,
    PrepareCallHierarchy,
    IncomingCalls,
    OutgoingCalls,
    Rename,
    CodeAction,
}

#[derive(Debug)]
pub(super) enum Planned {
    Asks(Query),
    Changes { headline: String, changes: Vec<Change> },
}

/// A question that changes nothing.
#[derive(Debug)]
pub(super) struct Query {
    question: LanguageQuestion,
    name: String,
}

impl Tool for Lsp {
    type Input = Input;
    type Prepared = Planned;

    const NAME: &'static str = "lsp";
    const KIND: ToolKind = ToolKind::Search;
    const GATE: Gate = Gate::Exclusive;
    const REACHES: bool = true;

    fn description(&self, facts: &Facts) -> String {
        described(include_str!("lsp.txt"), facts)
    }

    fn kind(&self, partial: &Value) -> ToolKind {
        let operation = partial.get("operation").and_then(|operation| Operation::deserialize(operation).ok());
        let has_title = partial.get("title").is_some_and(|title| !title.is_null());
        let changes = operation.is_some_and(|operation| operation.changes(has_title));
        if changes { ToolKind::Edit } else { Self::KIND }
    }

    fn title(&self, partial: &Value, facts: &Facts) -> String {
        let operation = partial.get("operation").and_then(Value::as_str).unwrap_or("lsp");
        let title = path::title(operation, partial, facts);
        match (partial.get("line").and_then(Value::as_u64), partial.get("symbol").and_then(Value::as_str)) {
            (_, Some(symbol)) => format!("{title} {symbol}"),
            (Some(line), None) => format!("{title}:{line}"),
            (None, None) => title,
        }
    }

    fn access(&self, input: &Input, facts: &Facts) -> Result<Vec<Access>, ToolError> {
        let file = Access::Read(path::resolve(&input.file_path, facts)?);
        if input.changes() {
            return Ok(vec![file]);
        }
        // The lines of what is found are shown where the model may read them unasked.
        let roots = facts.roots.clone();
        Ok(vec![file, Access::Search { permission: Self::NAME, pattern: "*".to_owned(), roots }])
    }

    /// The files that the server would change.
    async fn reach(&self, input: &Input, ctx: &ToolContext) -> Result<Vec<Access>, ToolError> {
        if !input.changes() {
            return Ok(Vec::new());
        }
        let (base, about) = asked(input, ctx).await?;
        let answer = ask(question(&base, about, Vec::new()), ctx).await?;
        edits::access(&input.made(answer)?)
    }

    async fn prepare(&self, input: &Input, ctx: &ToolContext) -> Result<Prepared<Planned>, ToolError> {
        let (base, about) = asked(input, ctx).await?;
        if !input.changes() {
            let question = question(&base, about, Vec::new());
            let name = format!("{} of {}", input.name(), input.place(&base, ctx));
            return Ok(Prepared { value: Planned::Asks(Query { question, name }), preview: Preview::Nothing });
        }
        // Once more, of a server that has all of the files as they are here: it may have read them long ago.
        let old = edits::word_at(&base.text, &about);
        let first = ask(question(&base, about.clone(), Vec::new()), ctx).await?;
        let texts = edits::texts(&input.made(first)?, ctx).await?;
        let answer = ask(question(&base, about, texts.clone()), ctx).await?;
        let by = answer.by.clone();
        let encoding = answer.encoding;
        let asked = edits::Asked { texts, base: &base, encoding, old: old.as_deref() };
        let changes = edits::planned(&input.made(answer)?, &asked, ctx).await?;
        let preview = Preview::Edit(changes.iter().flat_map(Change::diffs).collect());
        let headline = match (&input.new_name, &input.title) {
            (Some(new), _) if input.operation == Operation::Rename => {
                format!("{by} renamed {} to {new}", old.as_deref().unwrap_or("it"))
            }
            (_, title) => format!("{by} did {:?}", title.as_deref().unwrap_or_default()),
        };
        Ok(Prepared { value: Planned::Changes { headline, changes }, preview })
    }

    async fn commit(&self, planned: Planned, ctx: &ToolContext) -> Result<ToolOutput, CommitError> {
        match planned {
            Planned::Changes { headline, changes } => change::commit_all(&headline, changes, ctx).await,
            Planned::Asks(Query { question, name }) => {
                let answer = tokio::select! {
                    answer = ask(question, ctx) => answer?,
                    () = ctx.cancel.cancelled() => return Err(ToolError::Cancelled.into()),
                };
                let mut answer = answer;
                if let LanguageFound::Symbols(symbols) = &mut answer.found {
                    own_alone(symbols, &ctx.facts.roots);
                }
                let by = answer.by.clone();
                let (text, results) = shown::text(answer, &name, ctx).await;
                Ok(ToolOutput { text, metadata: json!({ "server": by, "results": results }), ..ToolOutput::default() })
            }
        }
    }
}

impl Operation {
    /// Whether it edits; of an action its title says that it is to be carried out.
    fn changes(self, has_title: bool) -> bool {
        match self {
            Self::Rename => true,
            Self::CodeAction => has_title,
            _ => false,
        }
    }
}

impl Input {
    fn changes(&self) -> bool {
        self.operation.changes(self.title.is_some())
    }

    /// What the server would change.
    fn made(&self, answer: LanguageAnswer) -> Result<Vec<LanguageChange>, ToolError> {
        match (answer.found, &self.title) {
            (LanguageFound::Changes(changes), _) if !changes.is_empty() => Ok(changes),
            (_, Some(title)) => {
                Err(ToolError::Tell(format!("{} has nothing to change there by {title:?}.", answer.by)))
            }
            (_, None) => Err(ToolError::Tell(format!(
                "{} has nothing to change there: is it the name of something that is declared in this project?",
                answer.by
            ))),
        }
    }

    fn name(&self) -> &'static str {
        match self.operation {
            Operation::GoToDefinition => "definition",
            Operation::FindReferences => "references",
            Operation::Hover => "hover",
            Operation::DocumentSymbol => "symbols",
            Operation::WorkspaceSymbol => "symbols of the workspace",
            Operation::GoToImplementation => "implementation",
            Operation::PrepareCallHierarchy => "call hierarchy",
            Operation::IncomingCalls => "incoming calls",
            Operation::OutgoingCalls => "outgoing calls",
            Operation::Rename => "rename",
            Operation::CodeAction => "code actions",
        }
    }

    fn place(&self, base: &Snapshot, ctx: &ToolContext) -> String {
        let file = path::named(&base.path, &ctx.facts);
        match (self.operation, self.line, &self.symbol) {
            (Operation::DocumentSymbol, ..) => file,
            (Operation::WorkspaceSymbol, ..) => format!("{:?}", self.query.as_deref().unwrap_or_default()),
            (_, Some(line), Some(symbol)) => format!("{symbol} at {file}:{line}"),
            (_, Some(line), None) => format!("{file}:{line}:{}", self.character.unwrap_or(1)),
            (_, None, _) => file,
        }
    }

    /// As bytes in the text.
    fn at(&self, text: &Rope) -> Result<usize, ToolError> {
        let tell = |text: String| Err(ToolError::Tell(text));
        let Some(line) = self.line.filter(|line| *line > 0) else {
            return tell(
                "`line` is missing: say where, in lines counted from 1, with `symbol` or `character`".to_owned(),
            );
        };
        if line > text.len_lines() {
            return tell(format!("the file has only {} lines, not {line}", text.len_lines()));
        }
        let start = text.line_to_byte(line - 1);
        let line_text = text.line(line - 1).to_string();
        let within = match (&self.symbol, self.character) {
            (Some(symbol), _) if !symbol.is_empty() => match find_word(&line_text, symbol) {
                Some(within) => within,
                None => {
                    return tell(format!("{symbol:?} does not stand in line {line}, which is: {}", line_text.trim()));
                }
            },
            (_, Some(character)) => {
                let wanted = character.saturating_sub(1);
                let end = line_text.trim_end_matches(['\n', '\r']).len();
                line_text.char_indices().nth(wanted).map_or(end, |(at, _)| at.min(end))
            }
            (_, None) if self.operation == Operation::CodeAction => 0,
            (_, None) => return tell("give `symbol` or `character` for the place in the line".to_owned()),
        };
        Ok(start + within)
    }

    fn range(&self, text: &Rope) -> Result<Range<usize>, ToolError> {
        let start = self.at(text)?;
        let last = self.end_line.or(self.line).unwrap_or(1).clamp(1, text.len_lines());
        let line = text.line(last - 1).to_string();
        let end = text.line_to_byte(last - 1) + line.trim_end_matches(['\n', '\r']).len();
        Ok(start..end.max(start))
    }

    fn about(&self, text: &Rope) -> Result<LanguageAbout, ToolError> {
        Ok(match self.operation {
            Operation::GoToDefinition => LanguageAbout::Definition(self.at(text)?),
            Operation::FindReferences => LanguageAbout::References(self.at(text)?),
            Operation::Hover => LanguageAbout::Hover(self.at(text)?),
            Operation::DocumentSymbol => LanguageAbout::DocumentSymbols,
            Operation::WorkspaceSymbol => LanguageAbout::WorkspaceSymbols(self.query.clone().unwrap_or_default()),
            Operation::GoToImplementation => LanguageAbout::Implementation(self.at(text)?),
            Operation::PrepareCallHierarchy => LanguageAbout::CallHierarchy(self.at(text)?),
            Operation::IncomingCalls => LanguageAbout::IncomingCalls(self.at(text)?),
            Operation::OutgoingCalls => LanguageAbout::OutgoingCalls(self.at(text)?),
            Operation::Rename => {
                let to = self.new_name.clone().filter(|name| !name.trim().is_empty());
                let to = to.ok_or_else(|| ToolError::Tell("`newName` is missing: give the new name".to_owned()))?;
                LanguageAbout::Rename { at: self.at(text)?, to }
            }
            Operation::CodeAction => {
                let at = self.range(text)?;
                match self.title.clone() {
                    Some(title) => LanguageAbout::CodeAction { at, title },
                    None => LanguageAbout::CodeActions(at),
                }
            }
        })
    }
}

/// Some servers find every name of every library that is a little like what is looked for.
fn own_alone(symbols: &mut Vec<LanguageSymbol>, roots: &[AbsPath]) {
    let is_own = |symbol: &LanguageSymbol| roots.iter().any(|root| symbol.place.path.starts_with(root));
    if symbols.iter().any(is_own) {
        symbols.retain(is_own);
    }
}

/// Where a word begins that stands by itself; else where the text stands at all.
fn find_word(line: &str, word: &str) -> Option<usize> {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let stands_alone = |at: &usize| {
        let before = line[..*at].chars().next_back();
        let after = line[at + word.len()..].chars().next();
        !before.is_some_and(is_part) && !after.is_some_and(is_part)
    };
    line.match_indices(word).map(|(at, _)| at).find(stands_alone).or_else(|| line.find(word))
}

async fn asked(input: &Input, ctx: &ToolContext) -> Result<(Snapshot, LanguageAbout), ToolError> {
    let path = path::resolve(&input.file_path, &ctx.facts)?;
    match ctx.view.snapshot(&path).await {
        Ok(base) => {
            let about = input.about(&base.text)?;
            Ok((base, about))
        }
        Err(ViewError::Disk(DiskError::NotFound(_))) => Err(path::missing(&path, ctx).await),
        Err(error) => Err(error.into()),
    }
}

fn question(base: &Snapshot, about: LanguageAbout, others: Vec<(AbsPath, Rope)>) -> LanguageQuestion {
    let file = DiagnosticsTarget { path: base.path.clone(), open: base.open(), text: base.text.clone() };
    LanguageQuestion { about, file, others }
}

async fn ask(question: LanguageQuestion, ctx: &ToolContext) -> Result<LanguageAnswer, ToolError> {
    let again = |error: &LanguageError| error.retry();
    let mut answer = ctx.diagnostics.answer(question.clone(), WAIT).await;
    if answer.as_ref().is_err_and(again) {
        answer = ctx.diagnostics.answer(question, WAIT).await;
    }
    answer.map_err(|error| ToolError::Tell(format!("Nothing was found out: {error}.")))
}

#[cfg(test)]
#[path = "lsp_tests.rs"]
#[expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]
mod tests;
