//! What `edit` and `write` do alike: apply one file's edit, and say what came of it. They differ in how they make the edit.

use copydesk_workspace::diff;
use copydesk_workspace::edit::EditSet;
use copydesk_workspace::encoding;
use copydesk_workspace::hash::ContentHash;
use copydesk_workspace::path::AbsPath;
use ropey::Rope;
use serde_json::json;

use super::lines::{self, Window, counted};
use super::{path, problems};
use crate::message::{FileDiff, SeenFile};
use crate::ports::{DiagnosticsReport, DiagnosticsTarget, Preview};
use crate::tool::{CommitError, Prepared, ToolContext, ToolError, ToolOutput};
use crate::view::{Applied, FileEdit, Snapshot};

/// Ends what is said instead of a quotation.
pub(super) const WITHHELD: &str = "Its text is not shown here: reading it needs the user's permission. Call `read`.";
/// For quotations in errors, bytes: the model asked for an edit, not for the file.
const QUOTE_BYTES: usize = 16 << 10;
/// Lines around the place in question.
const QUOTE_AROUND: usize = 20;

#[derive(Debug)]
pub(super) struct Change {
    edit: FileEdit,
    before: Option<Rope>,
    after: Rope,
    /// Said to the model with the result.
    notes: Vec<String>,
    /// The model knows the whole text, before and so after.
    known: bool,
}

impl Change {
    pub(super) fn create(path: AbsPath, text: String) -> Result<Self, ToolError> {
        let after = encoding::of_new_file(&text).0;
        check_text(&path, after)?;
        let after = Rope::from(after);
        Ok(Self { edit: FileEdit::Create { path, text }, before: None, after, notes: Vec::new(), known: true })
    }

    pub(super) fn modify(
        base: Snapshot,
        edits: EditSet,
        notes: Vec<String>,
        ctx: &ToolContext,
    ) -> Result<Self, ToolError> {
        let after = edits.apply(&base.text).map_err(|error| ToolError::Tell(error.to_string()))?;
        // Text alone cannot make a binary: a large file is not looked through for each edit.
        let is_plain = |text: &str| !text.contains(|c: char| c.is_control() && !c.is_whitespace() || c == '\u{feff}');
        if !edits.edits().iter().all(|edit| is_plain(&edit.text)) {
            check_text(&base.path, &after.to_string())?;
        }
        let known = ctx.seen.get(base.key.path()) == Some(base.hash);
        let before = Some(base.text.clone());
        Ok(Self { edit: FileEdit::Modify { base, edits }, before, after, notes, known })
    }

    /// The model has given the whole new text.
    pub(super) fn known(self) -> Self {
        Self { known: true, ..self }
    }

    pub(super) fn prepared(self) -> Prepared<Self> {
        let preview = Preview::Edit(vec![self.diff()]);
        Prepared { value: self, preview }
    }

    fn path(&self) -> &AbsPath {
        match &self.edit {
            FileEdit::Modify { base, .. } => &base.path,
            FileEdit::Create { path, .. } => path,
        }
    }

    fn diff(&self) -> FileDiff {
        FileDiff {
            path: self.path().clone(),
            before: self.before.as_ref().map(Rope::to_string),
            after: Some(self.after.to_string()),
        }
    }

    pub(super) async fn commit(self, ctx: &ToolContext) -> Result<ToolOutput, CommitError> {
        let (diff, shown) = (self.diff(), path::shown(self.path(), &ctx.facts));
        let known_problems = match &self.edit {
            FileEdit::Modify { base, .. } => {
                let target = DiagnosticsTarget { path: base.path.clone(), open: base.open(), text: base.text.clone() };
                problems::before(target, ctx).await
            }
            FileEdit::Create { .. } => DiagnosticsReport::Ready(Vec::new()),
        };
        let applied = ctx.view.apply(vec![self.edit], &ctx.label, &ctx.cancel).await?;
        let Some(applied) = applied.into_iter().next() else {
            return Err(ToolError::Tell(format!("{shown} was not changed")).into());
        };
        let mut said = vec![headline(&shown, &self.before, &self.after)];
        said.extend(self.notes);
        if applied.after != self.after {
            said.push("The user changed the file at the same time, so it holds more than this edit: read it before the next one.".to_owned());
        }
        said.extend(found(known_problems, &applied, ctx).await);
        let hash = ContentHash::of_rope(&self.after);
        let seen = SeenFile { path: applied.key.path().clone(), hash };
        Ok(ToolOutput {
            text: said.join("\n"),
            diffs: vec![diff],
            seen: if self.known { vec![seen] } else { Vec::new() },
            locations: vec![(applied.path.clone(), first_changed(&self.before, &self.after))],
            metadata: json!({"open": applied.open.is_some()}),
            ..ToolOutput::default()
        })
    }
}

/// What could not be read again is not written (R18.1).
fn check_text(path: &AbsPath, after: &str) -> Result<(), ToolError> {
    if encoding::stays_text(after) {
        return Ok(());
    }
    Err(ToolError::Tell(format!(
        "{path} was not changed: with this it would be no text file, but hold NUL or many control characters, or begin with a second U+FEFF. Escape them as the language of the file does, or write such bytes with a command."
    )))
}

async fn found(known: DiagnosticsReport, applied: &Applied, ctx: &ToolContext) -> Option<String> {
    let target =
        DiagnosticsTarget { path: applied.path.clone(), open: applied.open.clone(), text: applied.after.clone() };
    let report = problems::after(target, ctx).await;
    let base = applied.before.clone().unwrap_or_default();
    let text = problems::changed(&known, &report, &base, &applied.after);
    (!text.is_empty()).then_some(text)
}

fn headline(shown: &str, before: &Option<Rope>, after: &Rope) -> String {
    match before {
        None => {
            let added = counted(diff::line_counts(&Rope::new(), after).added, "line");
            format!("Created {shown}: {added} added, 0 removed.")
        }
        Some(before) => {
            let counts = diff::line_counts(before, after);
            format!("Changed {shown}: {} added, {} removed.", counted(counts.added, "line"), counts.removed)
        }
    }
}

fn first_changed(before: &Option<Rope>, after: &Rope) -> Option<usize> {
    let edits = EditSet::between(before.as_ref()?, after);
    let first = edits.edits().first()?;
    before.as_ref().map(|before| before.byte_to_line(first.range.start.min(before.len_bytes())) + 1)
}

/// A part of the present text for an error, around a one-based line, with what the model knows from it.
pub(super) fn quote(base: &Snapshot, around: Option<usize>) -> (String, Vec<SeenFile>) {
    let text = base.text.to_string();
    let first = around.unwrap_or(1).saturating_sub(QUOTE_AROUND).max(1);
    let limit = around.map_or(usize::MAX, |_| 2 * QUOTE_AROUND + 1);
    let all = Window { offset: 1, limit: usize::MAX, column: 1, max_bytes: QUOTE_BYTES };
    let part = Window { offset: first, limit, ..all };
    // The whole text where it is short: then the next call needs no `read` before it.
    let shown = lines::show(&text, all).ok().filter(|shown| shown.whole && (around.is_none() || shown.total <= limit));
    let Some(shown) = shown.or_else(|| lines::show(&text, part).ok()) else { return (String::new(), Vec::new()) };
    let seen = SeenFile { path: base.key.path().clone(), hash: base.hash };
    let seen = if shown.whole { vec![seen] } else { Vec::new() };
    (format!("<content>\n{}</content>\n{}", shown.body, shown.footer), seen)
}
