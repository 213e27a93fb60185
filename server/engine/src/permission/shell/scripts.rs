//! Scripts of sed and awk in the words of a command: whether they only edit what flows through them, or read and write files and run programs.

use super::code::Run;
use super::command::Call;
use super::expansion::Scope;
use super::options::{Arg, Given, Parsed};
use super::programs::{Judged, uses};
use super::{FileAccess, FileUse, Place};

mod awk;
mod sed;

/// What a script does beside editing what flows through it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Work {
    /// Names of files.
    reads: Vec<String>,
    writes: Vec<String>,
    /// Texts for a shell.
    runs: Vec<String>,
    /// It may do more than is told here.
    is_unclear: bool,
}

impl Work {
    fn unclear() -> Self {
        Self { is_unclear: true, ..Self::default() }
    }

    fn with(mut self, other: Self) -> Self {
        self.reads.extend(other.reads);
        self.writes.extend(other.writes);
        self.runs.extend(other.runs);
        self.is_unclear |= other.is_unclear;
        self
    }
}

pub(super) fn sed(parsed: &Parsed, call: &Call, scope: &Scope, judged: &mut Judged) {
    let given: Vec<&Arg> = parsed
        .given
        .iter()
        .filter(|given| matches!(given.name.as_str(), "e" | "expression"))
        .filter_map(|given| given.value.as_ref())
        .collect();
    let from_file = parsed.has(&["f", "file"]);
    let in_operand = given.is_empty() && !from_file;
    let (script, files) = parsed.operands.split_at(usize::from(in_operand).min(parsed.operands.len()));
    let in_place = parsed.given.iter().any(is_in_place);
    // The ending of the copy that is kept may lead to another folder, or make another name.
    let endings: Vec<&Arg> =
        parsed.given.iter().filter(|given| is_in_place(given)).filter_map(|given| given.value.as_ref()).collect();
    let is_strange = |ending: &&&Arg| ending.text.as_deref().is_none_or(|text| text.contains(['/', '*']));
    if let Some(ending) = endings.iter().find(is_strange) {
        let place = Place::Unknown(ending.raw.clone());
        judged.files.push(FileUse::new(ending.span.clone(), "sed", FileAccess::Write, place));
    }
    // Several are read as one, a line each: a text that one of them begins goes on in the next.
    let scripts: Vec<&Arg> = given.into_iter().chain(script).collect();
    let texts: Option<Vec<&str>> = scripts.iter().map(|script| script.text.as_deref()).collect();
    let work = match texts {
        Some(texts) if parsed.is_told() && !from_file && !call.is_open => sed::work(&texts.join("\n")),
        Some(_) | None => Work::unclear(),
    };
    // With this option it neither reads nor writes nor runs anything else.
    if !(parsed.has(&["sandbox"]) && parsed.is_told() && !call.is_open) {
        done("sed", work, scripts.first().copied(), call, scope, judged);
    }
    let access = if in_place { FileAccess::Write } else { FileAccess::Read };
    for file in files {
        judged.files.extend(uses(file, "sed", access, scope));
        for ending in endings.iter().filter(|ending| ending.text.as_deref() != Some("")) {
            let copy = file.text.as_deref().zip(ending.text.as_deref()).map(|(file, ending)| format!("{file}{ending}"));
            let copy = copy.map_or_else(|| file.opaque(), |copy| Arg::literal(&copy, file.span.clone()));
            judged.files.extend(uses(&copy, "sed", FileAccess::Write, scope));
            // The copy can be read by its new name.
            judged.files.extend(uses(file, "sed", FileAccess::Read, scope));
        }
    }
}

/// Any beginning of it is it too.
fn is_in_place(given: &Given) -> bool {
    given.name == "i" || given.name.len() > 1 && "in-place".starts_with(&given.name)
}

pub(super) fn awk(name: &str, parsed: &Parsed, call: &Call, scope: &Scope, judged: &mut Judged) {
    let from_file = parsed.has(&["f", "file"]);
    let (script, files) = parsed.operands.split_at(usize::from(!from_file).min(parsed.operands.len()));
    let work = match script.first().and_then(|script| script.text.as_deref()) {
        Some(text) if parsed.is_told() && !call.is_open => awk::work(text),
        Some(_) | None => Work::unclear(),
    };
    done(name, work, script.first(), call, scope, judged);
    for file in files {
        judged.files.extend(uses(file, name, FileAccess::Read, scope));
    }
}

/// `script`: the word in which it stands.
fn done(name: &str, work: Work, script: Option<&Arg>, call: &Call, scope: &Scope, judged: &mut Judged) {
    if work == Work::default() {
        return;
    }
    let span = script.map_or(&call.span, |script| &script.span);
    judged.effect.runs_unseen = Some(format!("a script of {name} can run programs and write files"));
    if work.is_unclear {
        judged.unknown.push((span.clone(), "a script that may run programs, and read and write files"));
    }
    for (files, access) in [(work.reads, FileAccess::Read), (work.writes, FileAccess::Write)] {
        for file in files {
            judged.files.extend(uses(&Arg::literal(&file, span.clone()), name, access, scope));
        }
    }
    judged.runs.extend(work.runs.into_iter().map(Run::here));
}
