//! What the tools that change files do alike: apply the change of one file or of several, and say what came of it. They differ in how they make it.

use copydesk_workspace::diff::{self, LineCounts};
use copydesk_workspace::edit::EditSet;
use copydesk_workspace::encoding;
use copydesk_workspace::hash::ContentHash;
use copydesk_workspace::path::AbsPath;
use futures::future::join_all;
use ropey::Rope;
use serde_json::{Value, json};

use super::lines::{self, Window, counted};
use super::write::with_endings_of;
use super::{path, problems};
use crate::format::Formatted;
use crate::message::{FileDiff, SeenFile};
use crate::ports::{DiagnosticsReport, DiagnosticsTarget, Preview};
use crate::tool::{CommitError, Facts, Prepared, ToolContext, ToolError, ToolOutput};
use crate::view::{Applied, FileEdit, RawFile, Snapshot};

/// Ends what is said instead of a quotation.
pub(super) const WITHHELD: &str = "Its text is not shown here: reading it needs the user's permission. Call `read`.";
/// Of what formatters did, for the model, bytes.
const MOST_DIFFERENCE: usize = 4 << 10;
/// For quotations in errors, bytes: the model asked for an edit, not for the file.
const QUOTE_BYTES: usize = 16 << 10;
/// Lines around the place in question.
const QUOTE_AROUND: usize = 20;

#[derive(Debug)]
pub(super) struct Change {
    edit: FileEdit,
    /// `None` where there is no file.
    before: Option<Rope>,
    after: Option<Rope>,
    /// Said to the model with the result.
    notes: Vec<String>,
    /// The model knows the whole text, before and so after.
    known: bool,
}

impl Change {
    pub(super) fn create(path: AbsPath, text: String) -> Result<Self, ToolError> {
        let after = encoding::of_new_file(&text).0;
        check_text(&path, after)?;
        let after = Some(Rope::from(after));
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
        let known = is_seen(&base, ctx);
        let before = Some(base.text.clone());
        Ok(Self { edit: FileEdit::Modify { base, edits }, before, after: Some(after), notes, known })
    }

    /// The model has given the whole new text.
    pub(super) fn known(self) -> Self {
        Self { known: true, ..self }
    }

    /// Removes the file.
    pub(super) fn delete(base: Snapshot) -> Self {
        let (before, after) = (Some(base.text.clone()), None);
        Self { edit: FileEdit::Delete { base }, before, after, notes: Vec::new(), known: false }
    }

    /// Gives the file of a change made by `modify`, or of `base` as it is, another path.
    pub(super) fn moved(
        base: Snapshot,
        to: AbsPath,
        edits: EditSet,
        notes: Vec<String>,
        ctx: &ToolContext,
    ) -> Result<Self, ToolError> {
        let change = Self::modify(base.clone(), edits.clone(), notes, ctx)?;
        Ok(Self { edit: FileEdit::Move { base, to, edits }, ..change })
    }

    /// Removes a file that is no text, or gives it another path.
    pub(super) fn carried(file: RawFile, to: Option<AbsPath>) -> Self {
        Self { edit: FileEdit::Carry { file, to }, before: None, after: None, notes: Vec::new(), known: false }
    }

    /// As the formatters of the file would have it: one change together with the edit, and one undo step. What they did is told to the model, whose next
    /// edit must fit.
    pub(super) async fn formatted(self, ctx: &ToolContext) -> Result<Self, ToolError> {
        let is_as_it_was = |edits: &EditSet| edits.is_empty();
        let given = match (&self.edit, &self.after) {
            _ if !ctx.formatting.is_on() => return Ok(self),
            (FileEdit::Delete { .. } | FileEdit::Carry { .. }, _) | (_, None) => return Ok(self),
            (FileEdit::Move { edits, .. }, _) if is_as_it_was(edits) => return Ok(self),
            (_, Some(after)) => String::from(after),
        };
        let path = self.target().clone();
        let Some(Formatted { text, by, failures }) = ctx.formatting.format(&path, &given).await else {
            return Ok(self);
        };
        let mut notes = [self.notes, failures].concat();
        if by.is_empty() {
            return Ok(Self { notes, ..self });
        }
        // Of a text that has several line endings, each stays the formatter's business.
        let text = if has_one_line_ending(&given) { with_endings_of(&given, &text) } else { text.into() };
        if *text == given {
            return Ok(Self { notes, ..self });
        }
        let by = by.join(" and ");
        let after = Rope::from(text.as_ref());
        let edit = match self.edit {
            FileEdit::Create { path, text: raw } => {
                let mark = if raw.starts_with('\u{feff}') { "\u{feff}" } else { "" };
                FileEdit::Create { path, text: format!("{mark}{text}") }
            }
            FileEdit::Modify { base, .. } => {
                let edits = EditSet::between(&base.text, &after);
                if is_as_it_was(&edits) {
                    return Err(ToolError::Tell(format!(
                        "{path} was not changed: {by} formats the new text to what is there already."
                    )));
                }
                FileEdit::Modify { base, edits }
            }
            FileEdit::Move { base, to, .. } => {
                let edits = EditSet::between(&base.text, &after);
                FileEdit::Move { base, to, edits }
            }
            other @ (FileEdit::Delete { .. } | FileEdit::Carry { .. }) => other,
        };
        let difference = diff::unified(&path.name(), &Rope::from(given), &after, 0);
        let is_shown = difference.len() <= MOST_DIFFERENCE && ctx.may_quote;
        notes.push(if is_shown {
            format!("{by} formatted it, so that it differs from what you gave:\n{}", difference.trim_end())
        } else if !ctx.may_quote {
            format!("{by} formatted it, so that it differs from what you gave. {WITHHELD}")
        } else {
            format!("{by} formatted it, and changed much of what you gave: read the file before the next edit of it.")
        });
        Ok(Self { edit, after: Some(after), notes, known: self.known && is_shown, before: self.before })
    }

    pub(super) fn prepared(self) -> Prepared<Self> {
        let preview = Preview::Edit(self.diffs());
        Prepared { value: self, preview }
    }

    /// Where the file is before the change, or afterwards where it is new.
    fn path(&self) -> &AbsPath {
        match &self.edit {
            FileEdit::Modify { base, .. } | FileEdit::Delete { base } | FileEdit::Move { base, .. } => &base.path,
            FileEdit::Carry { file, .. } => &file.path,
            FileEdit::Create { path, .. } => path,
        }
    }

    /// Where the file is afterwards.
    fn target(&self) -> &AbsPath {
        match &self.edit {
            FileEdit::Move { to, .. } | FileEdit::Carry { to: Some(to), .. } => to,
            FileEdit::Modify { .. } | FileEdit::Create { .. } | FileEdit::Delete { .. } | FileEdit::Carry { .. } => {
                self.path()
            }
        }
    }

    /// One a file: a moved one goes here and comes there.
    pub(super) fn diffs(&self) -> Vec<FileDiff> {
        let path = self.path().clone();
        let (before, after) = (self.before.clone(), self.after.clone());
        match &self.edit {
            FileEdit::Move { to, .. } => {
                vec![FileDiff { path, before, after: None }, FileDiff { path: to.clone(), before: None, after }]
            }
            FileEdit::Modify { .. } | FileEdit::Create { .. } | FileEdit::Delete { .. } => {
                vec![FileDiff { path, before, after }]
            }
            // Two empty texts would hide that the file goes, and where it comes.
            FileEdit::Carry { file, to } => {
                let shown = Rope::from(format!("[{}]\n", no_text(file)));
                let goes = FileDiff { path, before: Some(shown.clone()), after: None };
                let comes = |to: &AbsPath| FileDiff { path: to.clone(), before: None, after: Some(shown.clone()) };
                std::iter::once(goes).chain(to.as_ref().map(comes)).collect()
            }
        }
    }

    /// The letter of version control, and for clients the word.
    fn kind(&self) -> (char, &'static str) {
        match &self.edit {
            FileEdit::Create { .. } => ('A', "add"),
            FileEdit::Modify { .. } => ('M', "update"),
            FileEdit::Move { .. } | FileEdit::Carry { to: Some(_), .. } => ('M', "move"),
            FileEdit::Delete { .. } | FileEdit::Carry { to: None, .. } => ('D', "delete"),
        }
    }

    fn counts(&self) -> LineCounts {
        let text = |text: &Option<Rope>| text.clone().unwrap_or_default();
        diff::line_counts(&text(&self.before), &text(&self.after))
    }

    pub(super) async fn commit(self, ctx: &ToolContext) -> Result<ToolOutput, CommitError> {
        let known_problems = known_problems(&self, ctx).await;
        let applied = ctx.view.apply(vec![self.edit.clone()], &ctx.label, &ctx.cancel).await?;
        let Some(applied) = applied.into_iter().next() else {
            let shown = path::named(self.path(), &ctx.facts);
            return Err(ToolError::Tell(format!("{shown} was not changed")).into());
        };
        let mut said = vec![headline(&self, &ctx.facts)];
        said.extend(remarks(&self, &applied));
        said.extend(found(known_problems, &self, &applied, ctx).await);
        Ok(ToolOutput {
            text: said.join("\n"),
            diffs: self.diffs(),
            seen: self.seen(&applied).into_iter().collect(),
            locations: vec![self.location(&applied)],
            metadata: json!({"open": applied.open.is_some()}),
            ..ToolOutput::default()
        })
    }

    fn seen(&self, applied: &Applied) -> Option<SeenFile> {
        let hash = ContentHash::of_rope(self.after.as_ref().filter(|_| self.known)?);
        Some(SeenFile { path: applied.key.path().clone(), hash })
    }

    fn location(&self, applied: &Applied) -> (AbsPath, Option<usize>) {
        let first = match (&self.edit, &self.before) {
            (FileEdit::Modify { edits, .. } | FileEdit::Move { edits, .. }, Some(before)) => {
                first_changed(before, edits)
            }
            _ => None,
        };
        (applied.path.clone(), first)
    }
}

/// All of `changes` or none; they are of different files. `headline` says what was done.
pub(super) async fn commit_all(
    headline: &str,
    changes: Vec<Change>,
    ctx: &ToolContext,
) -> Result<ToolOutput, CommitError> {
    let known = join_all(changes.iter().map(|change| known_problems(change, ctx))).await;
    let edits = changes.iter().map(|change| change.edit.clone()).collect();
    let applied = ctx.view.apply(edits, &ctx.label, &ctx.cancel).await?;
    let mut done: Vec<(&Change, &Applied, DiagnosticsReport)> = Vec::with_capacity(changes.len());
    for (change, known) in changes.iter().zip(known) {
        let found = applied.iter().find(|applied| applied.path == *change.target());
        let applied = found.ok_or_else(|| {
            let shown = path::named(change.path(), &ctx.facts);
            ToolError::Tell(format!("it is not known what became of {shown}: read it before the next step"))
        })?;
        done.push((change, applied, known));
    }
    let problems =
        join_all(done.iter().map(|(change, applied, known)| found(known.clone(), change, applied, ctx))).await;
    let mut output = ToolOutput { text: format!("{headline}:"), ..ToolOutput::default() };
    let mut files = Vec::with_capacity(done.len());
    let mut more = Vec::new();
    for ((change, applied, _), problems) in done.iter().zip(problems) {
        output.text.push_str(&format!("\n{}", listed(change, &ctx.facts)));
        let remarks: Vec<String> = remarks(change, applied).into_iter().chain(problems).collect();
        if !remarks.is_empty() {
            more.push(format!("\n{}:\n{}", path::named(change.target(), &ctx.facts), remarks.join("\n")));
        }
        output.diffs.extend(change.diffs());
        output.seen.extend(change.seen(applied));
        output.locations.push(change.location(applied));
        files.push(described(change, applied, &ctx.facts));
    }
    output.text.push_str(&more.concat());
    output.metadata = json!({ "files": files });
    Ok(output)
}

fn listed(change: &Change, facts: &Facts) -> String {
    let from = match change.target() {
        to if to == change.path() => String::new(),
        _ => format!(" (from {})", path::named(change.path(), facts)),
    };
    let (letter, counts) = (change.kind().0, change.counts());
    let shown = path::named(change.target(), facts);
    let what = match &change.edit {
        FileEdit::Carry { file, .. } => no_text(file),
        _ => format!("{} added, {} removed", counted(counts.added, "line"), counts.removed),
    };
    format!("{letter} {shown}{from}: {what}")
}

fn no_text(file: &RawFile) -> String {
    if file.len == 1 { "1 byte that is no text".to_owned() } else { format!("{} bytes that are no text", file.len) }
}

/// For clients.
fn described(change: &Change, applied: &Applied, facts: &Facts) -> Value {
    let counts = change.counts();
    let mut file = json!({
        "filePath": change.path(),
        "relativePath": path::shown(change.target(), facts),
        "type": change.kind().1,
        "additions": counts.added,
        "deletions": counts.removed,
        "open": applied.open.is_some(),
    });
    if change.target() != change.path() {
        file["movePath"] = json!(change.target());
    }
    file
}

async fn known_problems(change: &Change, ctx: &ToolContext) -> DiagnosticsReport {
    match &change.edit {
        FileEdit::Modify { base, .. } => {
            let target = DiagnosticsTarget { path: base.path.clone(), open: base.open(), text: base.text.clone() };
            problems::before(target, ctx).await
        }
        FileEdit::Create { .. } | FileEdit::Delete { .. } | FileEdit::Move { .. } | FileEdit::Carry { .. } => {
            DiagnosticsReport::Ready(Vec::new())
        }
    }
}

fn remarks(change: &Change, applied: &Applied) -> Vec<String> {
    let mut said = change.notes.clone();
    if change.after.as_ref().is_some_and(|after| !diff::is_same(after, &applied.after)) {
        said.push(
            "The user changed the file at the same time, so it holds more than this edit: read it before the next one."
                .to_owned(),
        );
    }
    said
}

fn has_one_line_ending(text: &str) -> bool {
    let count = |ending: &str| text.matches(ending).count();
    let both = count("\r\n");
    [both, count("\n") - both, count("\r") - both].into_iter().filter(|count| *count > 0).count() <= 1
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

async fn found(known: DiagnosticsReport, change: &Change, applied: &Applied, ctx: &ToolContext) -> Option<String> {
    change.after.as_ref()?;
    let target =
        DiagnosticsTarget { path: applied.path.clone(), open: applied.open.clone(), text: applied.after.clone() };
    let report = problems::after(target, ctx).await;
    let base = applied.before.clone().unwrap_or_default();
    let text = problems::changed(&known, &report, &base, &applied.after);
    (!text.is_empty()).then_some(text)
}

fn headline(change: &Change, facts: &Facts) -> String {
    let verb = if change.before.is_some() { "Changed" } else { "Created" };
    let counts = change.counts();
    let shown = path::named(change.target(), facts);
    format!("{verb} {shown}: {} added, {} removed.", counted(counts.added, "line"), counts.removed)
}

/// One-based.
fn first_changed(before: &Rope, edits: &EditSet) -> Option<usize> {
    let first = edits.edits().first()?;
    Some(before.byte_to_line(first.range.start.min(before.len_bytes())) + 1)
}

/// Whether the model has seen the file as it now stands.
pub(super) fn is_seen(base: &Snapshot, ctx: &ToolContext) -> bool {
    ctx.seen.get(base.key.path()) == Some(base.hash)
}

/// Whom a conflict is with, where that is another session (R6.5).
pub(super) fn by_whom(base: &Snapshot, ctx: &ToolContext) -> String {
    let other = ctx.view.other_writer(&base.key);
    other.map(|session| format!(" by another session of the agent ({session})")).unwrap_or_default()
}

/// What another session has written since the model saw the file, or without its having seen it, in words (R6.5).
pub(super) fn unseen_of_another(base: &Snapshot, ctx: &ToolContext) -> Option<String> {
    (!is_seen(base, ctx) && ctx.view.other_writer(&base.key).is_some()).then(|| unseen(base, ctx))
}

/// Of a file that the model has not seen as it now stands.
pub(super) fn unseen(base: &Snapshot, ctx: &ToolContext) -> String {
    format!("The file was changed{}, and you have not seen it since.", by_whom(base, ctx))
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
