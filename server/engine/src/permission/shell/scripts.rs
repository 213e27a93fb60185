//! Scripts of sed and awk: whether they only edit what flows through them, or read and write files and run programs.

use super::FileAccess;
use super::expansion::Scope;
use super::options::{Arg, Parsed};
use super::programs::{Judged, uses};

pub(super) fn sed(parsed: &Parsed, scope: &Scope, judged: &mut Judged) {
    let given: Vec<&Arg> = parsed
        .given
        .iter()
        .filter(|given| matches!(given.name.as_str(), "e" | "expression"))
        .filter_map(|given| given.value.as_ref())
        .collect();
    let from_file = parsed.has(&["f", "file"]);
    let in_operand = given.is_empty() && !from_file;
    let (script, files) = parsed.operands.split_at(usize::from(in_operand).min(parsed.operands.len()));
    let in_place = parsed.has(&["i", "in-place"]);
    // The ending of the copy that is kept may lead to another folder, or make another name.
    let ending = parsed.value(&["i", "in-place"]);
    if let Some(ending) = ending
        && ending.text.as_deref().is_none_or(|text| text.contains(['/', '*']))
    {
        let place = super::Place::Unknown(ending.raw.clone());
        judged.files.push(super::FileUse {
            span: ending.span.clone(),
            by: "sed".to_owned(),
            access: FileAccess::Write,
            place,
        });
    }
    let scripts = given.into_iter().chain(script);
    let calm = scripts.into_iter().all(|script| script.text.as_deref().is_some_and(sed_only_edits));
    if from_file || !calm && !parsed.has(&["sandbox"]) {
        judged.effect.runs_unseen = Some("a sed script can run programs and write files".to_owned());
    }
    let access = if in_place { FileAccess::Write } else { FileAccess::Read };
    for file in files {
        judged.files.extend(uses(file, "sed", access, scope));
        if in_place && ending.is_some_and(|ending| ending.text.as_deref() != Some("")) {
            // The copy can be read by its new name.
            judged.files.extend(uses(file, "sed", FileAccess::Read, scope));
        }
    }
}

/// `s`, `y`, `d`, `p` and other commands of sed that touch nothing but the lines.
fn sed_only_edits(script: &str) -> bool {
    let mut rest = script.trim_start_matches(|c: char| c.is_whitespace() || c == ';');
    while !rest.is_empty() {
        let Some(behind) = sed_command(rest) else { return false };
        rest = behind.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, ';' | '}'));
    }
    true
}

fn sed_command(script: &str) -> Option<&str> {
    let rest = sed_addresses(script)?;
    let mut chars = rest.chars();
    let command = chars.next()?;
    let behind = chars.as_str();
    match command {
        '{' => Some(behind),
        'p' | 'd' | 'q' | 'Q' | 'n' | 'N' | 'D' | 'P' | 'h' | 'H' | 'g' | 'G' | 'x' | '=' | 'l' | 'z' => {
            let behind = behind.trim_start_matches(|c: char| c.is_ascii_digit() || c == ' ');
            behind.starts_with([';', '}', '\n']).then_some(behind).or_else(|| behind.is_empty().then_some(""))
        }
        // The text goes on to the end of the line, and further behind a backslash.
        'a' | 'i' | 'c' => (!behind.contains('\n')).then_some(""),
        's' | 'y' => {
            let delimiter = behind.chars().next().filter(|c| !c.is_alphanumeric() && !matches!(c, '\\' | '\n'))?;
            let pattern_end = delimited(&behind[delimiter.len_utf8()..], delimiter)?;
            let flags = delimited(pattern_end, delimiter)?;
            let rest = flags.trim_start_matches(|c: char| {
                c.is_ascii_digit() || matches!(c, 'g' | 'p' | 'i' | 'I' | 'm' | 'M' | ' ')
            });
            (rest.is_empty() || rest.starts_with([';', '}', '\n'])).then_some(rest)
        }
        _ => None,
    }
}

/// Numbers, `$`, `/pattern/`, two of them with a comma, `!`.
fn sed_addresses(script: &str) -> Option<&str> {
    let mut rest = script;
    loop {
        rest = match rest.strip_prefix('/') {
            Some(pattern) => delimited(pattern, '/')?.trim_start_matches(['I', 'M']),
            None => rest,
        };
        let behind =
            rest.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '$' | ',' | '~' | '+' | '!' | ' '));
        let done = behind.len() == rest.len();
        rest = behind;
        if done {
            return Some(rest);
        }
    }
}

/// What stands behind the next `delimiter` that is not escaped and in no brackets that might hide it.
fn delimited(text: &str, delimiter: char) -> Option<&str> {
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        if escaped {
            escaped = false;
        } else if c == '\\' {
            escaped = true;
        } else if c == delimiter {
            // `[/]` hides a delimiter in some seds and not in others.
            let brackets = text[..at].matches('[').count() == text[..at].matches(']').count();
            return brackets.then_some(&text[at + c.len_utf8()..]);
        }
    }
    None
}

pub(super) fn awk(name: &str, parsed: &Parsed, scope: &Scope, judged: &mut Judged) {
    let from_file = parsed.has(&["f", "file"]);
    let (script, files) = parsed.operands.split_at(usize::from(!from_file).min(parsed.operands.len()));
    let calm = script.first().and_then(|script| script.text.as_deref()).is_some_and(awk_only_prints);
    if !calm || !parsed.understood {
        judged.effect.runs_unseen = Some("an awk script can run programs and write files".to_owned());
    }
    for file in files {
        judged.files.extend(uses(file, name, FileAccess::Read, scope));
    }
}

fn awk_only_prints(script: &str) -> bool {
    const RUNS: [&str; 8] = ["system", "getline", "|", ">", "@", "close", "fflush", "ENVIRON"];
    // Assignments to `ARGV` and its like choose files.
    const CHOOSES: [&str; 2] = ["ARG", "PROCINFO"];
    let script = script.replace("||", " ").replace(">=", " ");
    !RUNS.iter().chain(&CHOOSES).any(|word| script.contains(word))
}
