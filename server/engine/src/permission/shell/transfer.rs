//! What `curl` sends of this machine's files, after its manual: names behind `@` and `<`, lists and ranges in braces and brackets, and options of which the
//! beginning is given. What other programs read is told by their words as they are.

use super::expansion::Scope;
use super::letters::takes_value;
use super::options::Arg;
use super::programs::{at_home, uses};
use super::{FileAccess, FileUse, Place};

/// How a value names files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Names {
    /// All of it, with lists and ranges.
    Sent,
    /// Behind `@` or `<`, several with commas.
    Marked,
    File,
}

const LONG: [(&str, Names); 26] = [
    ("--upload-file", Names::Sent),
    ("--url", Names::Sent),
    ("--form", Names::Marked),
    ("--data", Names::Marked),
    ("--data-ascii", Names::Marked),
    ("--data-binary", Names::Marked),
    ("--data-urlencode", Names::Marked),
    ("--url-query", Names::Marked),
    ("--json", Names::Marked),
    ("--header", Names::Marked),
    ("--proxy-header", Names::Marked),
    ("--variable", Names::Marked),
    ("--write-out", Names::Marked),
    ("--cookie", Names::File),
    ("--cert", Names::File),
    ("--key", Names::File),
    ("--cacert", Names::File),
    ("--proxy-cert", Names::File),
    ("--proxy-key", Names::File),
    ("--proxy-cacert", Names::File),
    ("--netrc-file", Names::File),
    ("--config", Names::File),
    ("--etag-compare", Names::File),
    ("--time-cond", Names::File),
    ("--pubkey", Names::File),
    ("--crlfile", Names::File),
];

const SHORT: [(char, Names); 9] = [
    ('T', Names::Sent),
    ('F', Names::Marked),
    ('d', Names::Marked),
    ('H', Names::Marked),
    ('w', Names::Marked),
    ('b', Names::File),
    ('E', Names::File),
    ('K', Names::File),
    ('z', Names::File),
];

/// `words` without the program.
pub(super) fn curl(words: &[Arg], scope: &Scope) -> Vec<FileUse> {
    let mut files = Vec::new();
    let mut at = 0;
    while let Some(arg) = words.get(at) {
        at += 1;
        let text = arg.text.as_deref().unwrap_or(&arg.raw);
        if takes_passwords(text) {
            files.extend(file(arg, "~/.netrc", scope));
        }
        if text.starts_with("--") {
            // Of several options that begin so, each counts.
            let meant = LONG.iter().filter(|(long, _)| text.len() > 3 && long.starts_with(text));
            files.extend(
                words.get(at).iter().flat_map(|value| meant.clone().flat_map(|(_, names)| names.of(value, scope))),
            );
        } else if let Some(letters) = text.strip_prefix('-').filter(|letters| !letters.is_empty()) {
            let Some((place, letter)) = letters.char_indices().find(|(_, letter)| takes_value("curl", *letter)) else {
                continue;
            };
            let attached = place + letter.len_utf8() < letters.len();
            let value =
                if attached { Some(arg.text_tail(place + letter.len_utf8() + 1)) } else { words.get(at).cloned() };
            at += usize::from(!attached);
            let meant = SHORT.iter().filter(|(short, _)| *short == letter);
            files.extend(value.iter().flat_map(|value| meant.clone().flat_map(|(_, names)| names.of(value, scope))));
        } else {
            files.extend(addresses(arg, scope));
        }
    }
    files
}

/// From the file of the home folder that holds them.
fn takes_passwords(option: &str) -> bool {
    let is_long = option.len() > 5 && ["--netrc", "--netrc-optional"].iter().any(|long| long.starts_with(option));
    let letters = option.strip_prefix('-').unwrap_or_default();
    is_long
        || letters.chars().take_while(|letter| !takes_value("curl", *letter)).any(|letter| letter == 'n')
            && !letters.starts_with('-')
}

impl Names {
    fn of(self, value: &Arg, scope: &Scope) -> Vec<FileUse> {
        let Some(text) = value.text.as_deref() else { return vec![unknown(value)] };
        match self {
            Self::Sent if text.contains("://") => addresses(value, scope),
            Self::Sent => match alternatives(text) {
                Some(names) => names.iter().flat_map(|name| file(value, name, scope)).collect(),
                None => vec![unknown(value)],
            },
            Self::Marked => {
                let marked = text.find(['@', '<']).map_or("", |mark| &text[mark + 1..]);
                let names = marked.split([',', ';', '"', '{', '}', '@', '<']);
                names.filter(|name| !name.is_empty()).flat_map(|name| file(value, name, scope)).collect()
            }
            Self::File if text.contains('=') => Vec::new(),
            Self::File => {
                // Behind the certificate its password may stand.
                let names = [text, text.split(':').next().unwrap_or_default()];
                names.into_iter().flat_map(|name| file(value, name, scope)).collect()
            }
        }
    }
}

/// Files of this machine among the addresses that one word stands for.
fn addresses(arg: &Arg, scope: &Scope) -> Vec<FileUse> {
    let Some(text) = arg.text.as_deref() else { return Vec::new() };
    let lower = text.to_ascii_lowercase();
    // The name of the protocol may itself be made of pieces.
    let may_be_local =
        lower.contains("file:") || lower.split("://").next().is_some_and(|head| head.contains(['{', '[']));
    if !may_be_local || !text.contains(['{', '[']) {
        return Vec::new();
    }
    let Some(all) = alternatives(text) else { return vec![unknown(arg)] };
    let path = |address: &str| {
        let behind = address
            .to_ascii_lowercase()
            .find("file:")
            .map(|at| address[at + 5..].trim_start_matches('/').to_owned())?;
        Some(format!("/{}", behind.strip_prefix("localhost/").unwrap_or(&behind)))
    };
    let files = all.iter().filter_map(|address| path(address));
    files.flat_map(|path| if path.contains('%') { vec![unknown(arg)] } else { file(arg, &path, scope) }).collect()
}

/// `{a,b}` is each of them; `None` for ranges, for lists in lists, and for many.
fn alternatives(text: &str) -> Option<Vec<String>> {
    const MOST: usize = 64;
    if text.contains(['[', '\\']) {
        return None;
    }
    let mut all = vec![String::new()];
    let mut rest = text;
    while let Some((head, behind)) = rest.split_once('{') {
        let (list, tail) = behind.split_once('}')?;
        if list.contains('{') {
            return None;
        }
        if all.len() * list.split(',').count() > MOST {
            return None;
        }
        let joined = all.iter().flat_map(|before| list.split(',').map(move |piece| format!("{before}{head}{piece}")));
        all = joined.collect();
        rest = tail;
    }
    Some(all.into_iter().map(|before| before + rest).collect())
}

fn file(arg: &Arg, name: &str, scope: &Scope) -> Vec<FileUse> {
    uses(&at_home(Arg::literal(name, arg.span.clone()), scope), "curl", FileAccess::Read, scope)
}

fn unknown(arg: &Arg) -> FileUse {
    FileUse::new(arg.span.clone(), "curl", FileAccess::Read, Place::Unknown(arg.raw.clone()))
}
