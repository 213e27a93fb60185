//! Commands with their general options left out, `npm --silent publish` as `npm publish`, and under their other names, so that what a rule says of a command
//! holds however it is spelled (R9.2). Which of these options take a value is not told here: each that may is read both ways. Such readings make a decision stricter, never milder.

use super::arity;
use super::code::Options;
use super::command::Call;
use super::options::Arg;
use super::{other_names, remote, version_control};

/// Programs that run one another by their words.
const DEEPEST: usize = 4;
/// Of one command. More are asked.
const MOST: usize = 128;
/// Words of all of them.
const MOST_WORDS: usize = 32 * 1024;
/// Places behind which a command of its own may begin.
const MOST_BEHIND: usize = 16;

/// One way to read a command.
#[derive(Debug, Clone)]
pub(super) struct Reading {
    pub(super) program: String,
    /// Without the program.
    pub(super) words: Vec<Arg>,
}

/// How `call` may be read otherwise than it stands. `None`: in more ways than are looked at.
pub(super) fn readings(call: &Call) -> Option<Vec<Reading>> {
    within(call, DEEPEST)
}

/// `git -C x push` as `git push`.
pub(super) fn without_general_options(call: &Call) -> Vec<String> {
    let base = call.program().unwrap_or_default().rsplit('/').next().unwrap_or_default();
    if base != "git" {
        return Vec::new();
    }
    let Some(at) = version_control::subcommand(call.words()).filter(|&at| at > 0) else { return Vec::new() };
    let texts = call.words()[at..].iter().map(|arg| arg.text.as_deref().unwrap_or(&arg.raw));
    vec![std::iter::once("git").chain(texts).collect::<Vec<_>>().join(" ")]
}

fn within(call: &Call, deeper: usize) -> Option<Vec<Reading>> {
    let words = call.words();
    let base = call.program().unwrap_or_default().rsplit('/').next().unwrap_or_default();
    let mut found = Vec::new();
    for other in other_programs(base, words) {
        let program = Arg::literal(&other.program, call.span.clone());
        found.extend(within(&call.inner([&[program], &other.words[..]].concat(), 0), deeper.checked_sub(1)?)?);
        found.push(other);
    }
    if !arity::has_subcommands(base) {
        return Some(found);
    }
    let mut all = Vec::new();
    for first in first_words(base, words) {
        take(&[], &words[first..], first > 0, &mut all)?;
        let Some(subcommand) = words.get(first) else { continue };
        let rest = &words[first + 1..];
        let name = subcommand.text.as_deref();
        let named = |name: &str| Arg::literal(name, subcommand.span.clone());
        below(std::slice::from_ref(subcommand), rest, levels(base, name), &mut all)?;
        for other in name.into_iter().flat_map(|name| other_names::of_command(base, name)) {
            take(&[named(other)], rest, true, &mut all)?;
            below(&[named(other)], rest, levels(base, Some(other)), &mut all)?;
        }
    }
    if remote::CONTAINERS.contains(&base) {
        let as_it_stands = std::iter::once(words.to_vec());
        let others = as_it_stands.chain(all.clone()).filter_map(|words| container(&words));
        all.extend(others.collect::<Vec<_>>());
    }
    found.extend(all.into_iter().map(|words| Reading { program: base.to_owned(), words }));
    (found.len() <= MOST).then_some(found)
}

/// Behind the first word.
fn levels(base: &str, first: Option<&str>) -> usize {
    arity::count(base, first).max(2) - 1
}

fn container(words: &[Arg]) -> Option<Vec<Arg>> {
    let text = |at: usize| words.get(at).and_then(|arg| arg.text.as_deref());
    let instead = other_names::of_container(text(0)?, text(1))?;
    let span = &words.first()?.span;
    let own = instead.words.iter().map(|word| Arg::literal(word, span.clone()));
    Some(own.chain(words.get(instead.of..)?.iter().cloned()).collect())
}

/// The same program by another name, and one that it runs as its own.
fn other_programs(base: &str, words: &[Arg]) -> Vec<Reading> {
    let mut found = Vec::new();
    // As disks have it on which capitals make no difference.
    let lower = base.to_lowercase();
    if lower != base {
        found.push(Reading { program: lower, words: words.to_vec() });
    }
    let module = Options { programs: &[], short: "m", long: &[] };
    let python = base.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    if matches!(python, "python" | "pypy") {
        let given = |(at, arg): (usize, &Arg)| {
            let value = module.value(python, arg, words.get(at + 1))??;
            let is_attached = arg.text.as_deref().is_some_and(|text| !text.ends_with('m'));
            Some(Reading { program: value.text?, words: words.get(at + 2 - usize::from(is_attached)..)?.to_vec() })
        };
        found.extend(words.iter().enumerate().find_map(given));
    }
    if base == "corepack"
        && let Some((Some(program), rest)) = words.split_first().map(|(first, rest)| (first.text.clone(), rest))
    {
        found.push(Reading { program, words: rest.to_vec() });
    }
    found
}

/// Where the word may stand that decides what `base` does.
pub(super) fn first_words(base: &str, words: &[Arg]) -> Vec<usize> {
    match base {
        // Its general options are known.
        "git" => version_control::subcommand(words).into_iter().collect(),
        _ => starts(words),
    }
}

/// What stands behind these words, with options before each of them. `None`: in more places than are looked at.
pub(super) fn behind<'a>(verb: &[&str], words: &'a [Arg]) -> Option<Vec<&'a [Arg]>> {
    let mut found = vec![words];
    for word in verb {
        let mut next: Vec<&[Arg]> = Vec::new();
        for words in found {
            let is_it = |at: &usize| words.get(*at).is_some_and(|arg| arg.text.as_deref() == Some(word));
            for at in starts(words).into_iter().filter(is_it) {
                let rest = &words[at + 1..];
                // All of them end where `words` does.
                if !next.iter().any(|other| other.len() == rest.len()) {
                    next.push(rest);
                }
            }
            if next.len() > MOST_BEHIND {
                return None;
            }
        }
        found = next;
    }
    Some(found)
}

/// `kept`: what stands before `words`.
fn below(kept: &[Arg], words: &[Arg], levels: usize, found: &mut Vec<Vec<Arg>>) -> Option<()> {
    if levels == 0 {
        return Some(());
    }
    for start in starts(words) {
        take(kept, &words[start..], start > 0, found)?;
        if let Some(word) = words.get(start) {
            let kept = [kept, std::slice::from_ref(word)].concat();
            below(&kept, &words[start + 1..], levels - 1, found)?;
        }
    }
    Some(())
}

/// `None`: it is one too many.
fn take(kept: &[Arg], words: &[Arg], is_new: bool, found: &mut Vec<Vec<Arg>>) -> Option<()> {
    if is_new {
        found.push([kept, words].concat());
    }
    let words: usize = found.iter().map(Vec::len).sum();
    (found.len() <= MOST && words <= MOST_WORDS).then_some(())
}

/// Where the first word that is neither an option nor its value may stand; the end counts too.
fn starts(words: &[Arg]) -> Vec<usize> {
    let is_option = |arg: &Arg| {
        let text = arg.text.as_deref().unwrap_or(&arg.raw);
        text.len() > 1 && text.starts_with(['-', '+'])
    };
    let mut reached = vec![false; words.len() + 1];
    reached[0] = true;
    let mut starts = Vec::new();
    for at in 0..=words.len() {
        if !reached[at] {
            continue;
        }
        match words.get(at) {
            Some(arg) if is_option(arg) => {
                reached[at + 1] = true;
                let has_value = arg.text.as_deref().unwrap_or(&arg.raw).contains('=');
                if !has_value && words.get(at + 1).is_some_and(|next| !is_option(next)) {
                    reached[at + 2] = true;
                }
            }
            _ => starts.push(at),
        }
        if starts.len() > MOST {
            break;
        }
    }
    starts
}
