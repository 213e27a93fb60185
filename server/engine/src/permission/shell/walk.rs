//! Goes through what was read, statement by statement, and keeps account of where a command would stand: its folder, the variables that the text has set.
//! What a simple command means is said in `command.rs`.

use std::collections::BTreeSet;

use super::expansion::{Expanded, Scope};
use super::reader::{self, Problem};
use super::syntax::{Assignment, Change, For, Function, Heredoc, List, Piece, Span, Statement, Test, Value, Word};
use super::{Analysis, Gap, Unknown, second_reading, touched, variables};

/// Of statements and of texts in texts, together.
const DEEPEST: usize = 48;
/// Bytes of all texts in texts together.
const MOST_TEXT: usize = 128 * 1024;
/// Of all commands together; those within the words of others count again.
const MOST_WORDS: usize = 100_000;
/// Commands, and files: each is judged by itself.
const MOST_FOUND: usize = 10_000;

/// Collects what is found; one for a text with all texts in it.
pub(super) struct Walk {
    pub(super) found: Analysis,
    depth: usize,
    text_left: usize,
    words_left: usize,
    pub(super) heredocs: Vec<Heredoc>,
    /// Standard input of what is looked at may be a pipe or a file: it is nothing else where the text does not say so.
    pub(super) fed: bool,
    /// Since an `exec`, for all that comes.
    pub(super) fed_for_good: bool,
    /// The command before the one that is looked at prints the names of tracked files into its input, and nothing else.
    pub(super) lists_tracked: bool,
    /// Names that are computed as numbers, and names whose values may hold anything. Both in one text ask, in whatever order.
    numbers: Vec<(String, Span)>,
    anything: BTreeSet<String>,
    /// Bodies that may run again, around what is looked at.
    pub(super) repeated: usize,
    functions: BTreeSet<String>,
    called: Vec<(String, Span)>,
}

/// The scopes behind a statement that succeeded, and behind one that failed. `None`: nothing runs then.
pub(super) struct Ends {
    pub(super) ok: Option<Scope>,
    pub(super) failed: Option<Scope>,
}

impl Ends {
    pub(super) fn same(scope: Scope) -> Self {
        Self { ok: Some(scope.clone()), failed: Some(scope) }
    }

    fn joined(self) -> Option<Scope> {
        either(self.ok, self.failed)
    }
}

fn either(one: Option<Scope>, other: Option<Scope>) -> Option<Scope> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.either(other)),
        (one, other) => one.or(other),
    }
}

impl Walk {
    pub(super) fn new() -> Self {
        Self {
            found: Analysis::default(),
            depth: 0,
            text_left: MOST_TEXT,
            words_left: MOST_WORDS,
            heredocs: Vec::new(),
            fed: false,
            fed_for_good: false,
            lists_tracked: false,
            numbers: Vec::new(),
            anything: BTreeSet::new(),
            repeated: 0,
            functions: BTreeSet::new(),
            called: Vec::new(),
        }
    }

    pub(super) fn finish(mut self) -> Analysis {
        for (name, span) in std::mem::take(&mut self.called) {
            if self.functions.contains(&name) {
                self.unknown(&span, format!("`{name}` is a function that the command itself defines"));
            }
        }
        for (name, span) in std::mem::take(&mut self.numbers) {
            if self.anything.contains(&name) {
                self.unknown(&span, format!("`{name}` is computed as a number, which runs what its value holds"));
            }
        }
        let mut seen = Vec::new();
        self.found.unknown.retain(|unknown| {
            let is_new = !seen.contains(unknown);
            if is_new {
                seen.push(unknown.clone());
            }
            is_new
        });
        self.found
    }

    pub(super) fn unknown(&mut self, span: &Span, reason: impl Into<String>) {
        // Many reasons of one kind tell the user no more than some.
        if self.found.unknown.len() < 64 {
            self.found.unknown.push(Unknown { span: span.clone(), reason: reason.into(), gap: Gap::Part });
        }
    }

    /// A part that was not gone through. However many others there are, it is told.
    pub(super) fn unread(&mut self, span: &Span, reason: impl Into<String>) {
        self.gap(span, reason.into(), Gap::Unread);
    }

    /// A part that is too much to be gone through.
    pub(super) fn beyond(&mut self, span: &Span, reason: impl Into<String>) {
        self.gap(span, reason.into(), Gap::Beyond);
    }

    fn gap(&mut self, span: &Span, reason: String, gap: Gap) {
        if self.found.unknown.iter().filter(|unknown| unknown.gap == gap).count() < 64 {
            self.found.unknown.push(Unknown { span: span.clone(), reason, gap });
        }
    }

    /// `name` is computed as a number.
    pub(super) fn computed(&mut self, name: &str, span: &Span) {
        self.numbers.push((name.to_owned(), span.clone()));
    }

    pub(super) fn called(&mut self, name: &str, span: &Span) {
        self.called.push((name.to_owned(), span.clone()));
    }

    /// A text that bash would read. `within`: where it stands in the outermost text. Gives the scope behind it, for an `eval`.
    pub(super) fn text(&mut self, text: &str, within: Option<Span>, scope: Scope) -> Option<Scope> {
        let span = within.clone().unwrap_or(0..text.len());
        if text.len() > self.text_left {
            self.beyond(&span, "it is too long");
            return None;
        }
        self.text_left -= text.len();
        if let Some(at) = text.bytes().position(|byte| byte.is_ascii_control() && !matches!(byte, b'\t' | b'\n')) {
            self.unread(&within.unwrap_or(at..at + 1), "a control character");
            return None;
        }
        let script = match reader::read(text, within.clone()) {
            Ok(script) => script,
            Err(Problem { span, reason, is_too_deep: true }) => {
                self.beyond(&span, format!("it is {reason}"));
                return None;
            }
            Err(Problem { span, reason, is_too_deep: false }) => {
                self.unread(&span, format!("not understood: {reason}"));
                return None;
            }
        };
        if let Some(part) = second_reading::disagreement(text, &script) {
            self.unread(&within.clone().unwrap_or(part), "a part that could be read in two ways");
        }
        let outer = std::mem::replace(&mut self.heredocs, script.heredocs);
        let behind = self.list(&script.list, scope);
        self.heredocs = outer;
        Some(behind)
    }

    fn list(&mut self, list: &[Statement], mut scope: Scope) -> Scope {
        for statement in list {
            let before = scope.clone();
            scope = self.statement(statement, scope).joined().unwrap_or(before);
        }
        scope
    }

    fn statement(&mut self, statement: &Statement, scope: Scope) -> Ends {
        let behind = scope.clone();
        self.deeper(|walk| walk.statement_here(statement, scope)).unwrap_or_else(|| Ends::same(behind))
    }

    fn statement_here(&mut self, statement: &Statement, scope: Scope) -> Ends {
        let repeats = matches!(statement, Statement::While(..) | Statement::For(_) | Statement::Function(_));
        self.repeated += usize::from(repeats);
        let ends = self.of_kind(statement, scope);
        self.repeated -= usize::from(repeats);
        ends
    }

    fn of_kind(&mut self, statement: &Statement, scope: Scope) -> Ends {
        match statement {
            Statement::Simple(simple) => self.simple(simple, scope),
            Statement::Pipeline(parts) => {
                let outer = self.lists_tracked;
                for (at, part) in parts.iter().enumerate() {
                    let before = at.checked_sub(1).and_then(|before| parts.get(before));
                    let is_xargs = matches!(part, Statement::Simple(simple) if simple.words.first().is_some_and(|word| word.raw == "xargs"));
                    self.lists_tracked = is_xargs && before.is_some_and(|before| lists_tracked(before, &scope));
                    self.fed_by(at > 0, |walk| walk.statement(part, scope.clone()));
                }
                self.lists_tracked = outer;
                Ends::same(scope)
            }
            Statement::And(left, right) => {
                let left = self.statement(left, scope.clone());
                let right = self.statement(right, left.ok.unwrap_or(scope));
                Ends { ok: right.ok, failed: either(left.failed, right.failed) }
            }
            Statement::Or(left, right) => {
                let left = self.statement(left, scope.clone());
                let right = self.statement(right, left.failed.unwrap_or(scope));
                Ends { ok: either(left.ok, right.ok), failed: right.failed }
            }
            Statement::Not(inner) => {
                let Ends { ok, failed } = self.statement(inner, scope);
                Ends { ok: failed, failed: ok }
            }
            Statement::Background(inner) => {
                self.statement(inner, scope.clone());
                Ends::same(scope)
            }
            Statement::Subshell(list) => {
                self.list(list, scope.clone());
                Ends::same(scope)
            }
            Statement::Group(list) => self.group(list, scope),
            Statement::If(arms, rest) => self.conditional(arms, rest, scope),
            Statement::While(condition, body) => {
                let before = touched::without_touched([condition, body], scope.clone());
                let within = self.list(condition, before);
                let behind = self.list(body, within.clone());
                Ends::same(scope.either(within).either(behind))
            }
            Statement::For(loops) => self.for_loop(loops, scope),
            Statement::Arithmetic(arithmetic) => {
                self.arithmetic(arithmetic, &scope);
                Ends::same(forget(scope, &arithmetic.names))
            }
            Statement::Test(test) => {
                self.test(test, &scope);
                Ends::same(settled(&test.words, scope))
            }
            Statement::Case(subject, arms) => {
                self.word(subject, &scope);
                let mut behind = settled([subject], scope.clone());
                for (patterns, list) in arms {
                    for pattern in patterns {
                        self.word(pattern, &scope);
                    }
                    // `;&` falls into the next one, so each starts where any before it may have ended.
                    let end = self.list(list, behind.clone());
                    behind = behind.either(end);
                }
                Ends::same(behind)
            }
            Statement::Function(function) => self.function(function, scope),
            Statement::Redirected(inner, redirects) => {
                for redirect in redirects {
                    self.redirect(redirect, &scope);
                }
                // What a target sets while it is expanded is not followed.
                let scope = if redirects.is_empty() { scope } else { touched::without_variables(scope) };
                self.fed_by(redirects.iter().any(|redirect| redirect.feeds), |walk| walk.statement(inner, scope))
            }
        }
    }

    fn group(&mut self, list: &[Statement], scope: Scope) -> Ends {
        let Some((last, before)) = list.split_last() else { return Ends::same(scope) };
        // A group that leaves (`|| { echo no; exit 1; }`) has no end.
        let scope = self.list(before, scope);
        self.statement(last, scope)
    }

    fn conditional(&mut self, arms: &[(List, List)], rest: &[Statement], scope: Scope) -> Ends {
        let mut unmet = Some(scope.clone());
        let mut behind: Option<Scope> = None;
        for (condition, body) in arms {
            let before = unmet.unwrap_or_else(|| scope.clone());
            let Ends { ok, failed } = self.group(condition, before.clone());
            let end = self.group(body, ok.unwrap_or(before)).joined();
            behind = either(behind, end);
            unmet = failed;
        }
        let before = unmet.unwrap_or(scope);
        let end = self.group(rest, before).joined();
        match either(behind, end) {
            Some(scope) => Ends::same(scope),
            None => Ends { ok: None, failed: None },
        }
    }

    fn for_loop(&mut self, loops: &For, scope: Scope) -> Ends {
        let mut values = Some(Vec::new());
        for word in loops.values.iter().flatten() {
            self.word(word, &scope);
            values = match (values, scope.expand(word)) {
                (Some(mut all), Some(some)) => {
                    all.extend(some);
                    Some(all)
                }
                _ => None,
            };
        }
        let values = values.filter(|_| loops.values.is_some());
        let scope = settled(loops.values.iter().flatten(), scope);
        self.assigned(&loops.variable, &loops.span, values.as_deref());
        let mut within = touched::without_touched([&loops.body], scope.clone());
        within.variables.remove(&loops.variable);
        let is_set_anew = scope_keeps(&within, &loops.body, &loops.variable);
        if let Some(values) = values.filter(|values| is_set_anew && !values.is_empty() && values.len() <= 64) {
            within.variables.insert(&loops.variable, values);
        }
        let behind = self.list(&loops.body, within.clone());
        Ends::same(scope.either(behind))
    }

    /// Its body is judged here. When it runs, folder and variables may be others.
    fn function(&mut self, function: &Function, scope: Scope) -> Ends {
        self.functions.insert(function.name.clone());
        let mut within = scope.clone();
        within.folders = None;
        within.variables.retain(|name| name == "HOME");
        self.fed_by(true, |walk| walk.statement(&function.body, within));
        Ends::same(scope)
    }

    fn test(&mut self, test: &Test, scope: &Scope) {
        for word in test.words.iter().chain(&test.names).chain(&test.numbers) {
            self.word(word, scope);
        }
        for word in &test.names {
            self.variable_name(word, scope);
        }
        for word in &test.numbers {
            self.number(word, scope);
        }
    }

    /// A word that names a variable: in a subscript it could run a command.
    pub(super) fn variable_name(&mut self, word: &Word, scope: &Scope) {
        match scope.literal(word) {
            Some(name) if variables::is_name(&name) => {}
            _ => self.unknown(&word.span, "the name of a variable that is not plain"),
        }
    }

    /// What a word runs by itself, before it is a word of anything.
    pub(super) fn word(&mut self, word: &Word, scope: &Scope) {
        self.pieces(&word.pieces, scope);
    }

    pub(super) fn pieces(&mut self, pieces: &[Piece], scope: &Scope) {
        for piece in pieces {
            match piece {
                Piece::Text { .. } | Piece::Opaque => {}
                Piece::Substitution(list) => {
                    self.deeper(|walk| walk.list(list, scope.clone()));
                }
                // Of both directions.
                Piece::Process(list) => {
                    self.deeper(|walk| walk.fed_by(true, |walk| walk.list(list, scope.clone())));
                }
                Piece::Arithmetic(arithmetic) => self.arithmetic(arithmetic, scope),
                Piece::Parameter(parameter) => {
                    if let Some(subscript) = &parameter.subscript {
                        self.arithmetic(subscript, scope);
                    }
                    match &parameter.change {
                        Change::None | Change::Length => {}
                        Change::Words(words) => {
                            self.deeper(|walk| walk.pieces(words, scope));
                        }
                        Change::Assign(words) => {
                            self.assigned(&parameter.name, &parameter.span, None);
                            self.deeper(|walk| walk.pieces(words, scope));
                        }
                        Change::Slice(slice) => self.arithmetic(slice, scope),
                    }
                }
            }
        }
    }

    /// Whether so many words more may be looked at.
    pub(super) fn takes(&mut self, words: usize) -> bool {
        if self.found.commands.len().max(self.found.files.len()) > MOST_FOUND {
            return false;
        }
        let left = self.words_left.checked_sub(words);
        self.words_left = left.unwrap_or_default();
        left.is_some()
    }

    /// `None`: it is nested too deeply, and not walked.
    pub(super) fn deeper<T>(&mut self, walk: impl FnOnce(&mut Self) -> T) -> Option<T> {
        if self.depth >= DEEPEST {
            self.beyond(&(0..0), "it is nested too deeply");
            return None;
        }
        self.depth += 1;
        let result = walk(self);
        self.depth -= 1;
        Some(result)
    }

    /// `values`: `None` where they are not known.
    pub(super) fn assigned(&mut self, name: &str, span: &Span, values: Option<&[Expanded]>) {
        let text = match values {
            Some([one]) => Some(one.text()),
            _ => None,
        };
        if variables::steers(name) && !variables::is_calm(name, text.as_deref()) {
            self.unknown(span, format!("`{name}` changes what commands do"));
        }
        let numeric = |value: &Expanded| {
            let text = value.text();
            !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
        };
        if !values.is_some_and(|values| values.iter().all(numeric)) {
            self.anything.insert(name.to_owned());
        }
    }

    /// Gives what the variable holds then.
    pub(super) fn assignment(&mut self, assignment: &Assignment, scope: &Scope) -> Option<Vec<Expanded>> {
        let subscripted = assignment.subscript.is_some();
        if let Some(subscript) = &assignment.subscript {
            self.arithmetic(subscript, scope);
        }
        let value = match &assignment.value {
            Value::Word(word) => {
                self.word(word, scope);
                if matches!(word.pieces.as_slice(), [Piece::Arithmetic(_)]) && !variables::steers(&assignment.name) {
                    return None;
                }
                let empty = word.pieces.is_empty();
                let values = if empty { Some(vec![Expanded::default()]) } else { scope.expand(word) };
                values.map(|values| values.into_iter().map(Expanded::assigned).collect::<Vec<_>>())
            }
            Value::Array(words) => {
                for word in words {
                    self.word(word, scope);
                }
                None
            }
        };
        let appends = assignment.raw[assignment.name.len()..].starts_with('+');
        let value = value.filter(|values| values.len() == 1 && !subscripted && !appends);
        self.assigned(&assignment.name, &assignment.span, value.as_deref());
        value
    }
}

/// `git ls-files` with nothing but names of files behind it.
fn lists_tracked(statement: &Statement, scope: &Scope) -> bool {
    let Statement::Simple(simple) = statement else { return false };
    let words: Option<Vec<String>> = simple.words.iter().map(|word| scope.literal(word)).collect();
    let is_plain = simple.assignments.is_empty() && simple.redirects.is_empty();
    match words.as_deref() {
        Some([git, command, rest @ ..]) if is_plain && git == "git" && command == "ls-files" => {
            rest.iter().all(|word| matches!(word.as_str(), "-z" | "-c" | "--cached" | "--") || !word.starts_with('-'))
        }
        _ => false,
    }
}

/// The scope behind words that were expanded.
fn settled<'a>(words: impl IntoIterator<Item = &'a Word>, scope: Scope) -> Scope {
    if words.into_iter().any(|word| touched::sets_within(&word.raw)) {
        touched::without_variables(scope)
    } else {
        scope
    }
}

fn forget(mut scope: Scope, names: &[String]) -> Scope {
    scope.variables.retain(|name| !names.iter().any(|forgotten| forgotten == name));
    scope
}

/// Whether the body of a loop leaves the loop's own variable alone.
fn scope_keeps(within: &Scope, body: &[Statement], name: &str) -> bool {
    let mut probe = within.clone();
    probe.variables.insert(name, Vec::new());
    touched::without_touched([body], probe).variables.get(name).is_some()
}
