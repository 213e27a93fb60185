//! `{env:NAME}` and `{file:path}` in the text of a configuration, filled in before it is parsed. Reads the files that are named; judges nothing.

use std::ops::Range;

use copydesk_workspace::disk::FileKind;
use copydesk_workspace::path::AbsPath;

use super::Problem;
use super::node::{Filled, Node, Value};
use super::untrusted::leads_outside;
use crate::ports::{Environment, Files};

/// Bytes of a file that a project names.
const MAX_FILE: u64 = 1 << 20;

/// The text with everything filled in, and what was filled in where. No `Debug`: it may hold secrets.
pub(super) struct Substituted {
    pub(super) text: String,
    /// Byte ranges of `text`, in order.
    pub(super) inserts: Vec<(Range<usize>, Insert)>,
}

pub(super) enum Insert {
    Variable(String),
    File,
    /// Nothing was filled in; the text says why.
    Unreadable(String),
}

impl Substituted {
    /// For text that nothing is filled into.
    pub(super) fn verbatim(text: String) -> Self {
        Self { text, inserts: Vec::new() }
    }
}

/// Values are escaped for a JSON string; a variable that is not set is empty; a file's content is trimmed, its path may begin with `~/` or be relative to
/// `folder`. Lines that begin with `//` are left alone.
pub(super) async fn substitute(
    text: &str,
    folder: &AbsPath,
    environment: &dyn Environment,
    files: &dyn Files,
) -> Substituted {
    let mut out = Substituted::verbatim(String::with_capacity(text.len()));
    for line in text.split_inclusive('\n') {
        let mut rest = line;
        while let Some(found) = find(rest).filter(|_| !line.trim_start().starts_with("//")) {
            out.text.push_str(&rest[..found.start]);
            let (value, insert) = match found.kind {
                Kind::Env => (environment.var(found.name).unwrap_or_default(), Insert::Variable(found.name.to_owned())),
                Kind::File => read(path_of(found.name, folder, environment), files).await,
            };
            let start = out.text.len();
            out.text.push_str(&escape(&value));
            out.inserts.push((start..out.text.len(), insert));
            rest = &rest[found.end..];
        }
        out.text.push_str(rest);
    }
    out
}

/// Fills the texts of a tree that was parsed already: a project's, which the user trusts with it. A text whose file cannot be read is left out and named.
/// `root` is the real path of the project's root: only a name that says so leads out of it.
pub(super) async fn fill(
    tree: &mut Node,
    root: &AbsPath,
    folder: &AbsPath,
    environment: &dyn Environment,
    files: &dyn Files,
    problems: &mut Vec<Problem>,
) {
    let mut waiting = vec![(String::new(), tree)];
    while let Some((path, node)) = waiting.pop() {
        let below = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
        if let Some(written) = node.as_text().filter(|text| has_placeholder(text)).map(str::to_owned) {
            node.value = match filled_in(&written, root, folder, environment, files).await {
                Ok(NewText { text, with_files, variables, from_file }) => {
                    Value::Text { text, variables, from_file, filled: Some(Box::new(Filled { written, with_files })) }
                }
                Err(why) => {
                    problems.push(node.place.problem(path, why));
                    Value::Null
                }
            };
            continue;
        }
        match &mut node.value {
            Value::List(items) => {
                waiting.extend(items.iter_mut().enumerate().map(|(index, item)| (below(&index.to_string()), item)));
            }
            Value::Map(entries) => waiting.extend(entries.iter_mut().map(|(key, node)| (below(key), node))),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text { .. } => {}
        }
    }
}

struct NewText {
    text: String,
    with_files: String,
    variables: Vec<String>,
    from_file: bool,
}

/// The error says why a file cannot be read.
async fn filled_in(
    written: &str,
    root: &AbsPath,
    folder: &AbsPath,
    environment: &dyn Environment,
    files: &dyn Files,
) -> Result<NewText, String> {
    let mut new = NewText { text: String::new(), with_files: String::new(), variables: Vec::new(), from_file: false };
    let mut rest = written;
    while let Some(found) = find(rest) {
        let (before, after) = (&rest[..found.start], &rest[found.end..]);
        new.text.push_str(before);
        new.with_files.push_str(before);
        match found.kind {
            Kind::Env => {
                new.text.push_str(&environment.var(found.name).unwrap_or_default());
                new.with_files.push_str(&rest[found.start..found.end]);
                new.variables.push(found.name.to_owned());
            }
            Kind::File => {
                let path = path_of(found.name, folder, environment);
                // A link can be turned without a word of what the user trusted being changed.
                if !leads_outside(found.name)
                    && let Ok(real) = files.real_path(path.clone()).await
                    && !real.starts_with(root)
                {
                    return Err(format!("{path} is a link to {real}, outside of the project; name that file itself"));
                }
                // A repository may name a device, or a link to one: reading it would not end.
                match files.stat(path.clone()).await {
                    Ok(stat) if stat.kind == FileKind::File && stat.len <= MAX_FILE => {}
                    Ok(_) => return Err(format!("{path} is no file of at most 1 MiB")),
                    Err(error) => return Err(format!("the file that it names cannot be read: {error}")),
                }
                match read(path, files).await {
                    (content, Insert::File) => {
                        new.text.push_str(&content);
                        new.with_files.push_str(&content);
                        new.from_file = true;
                    }
                    (_, Insert::Unreadable(why)) => return Err(why),
                    (_, Insert::Variable(_)) => {}
                }
            }
        }
        rest = after;
    }
    new.text.push_str(rest);
    new.with_files.push_str(rest);
    Ok(new)
}

/// Whether anything would be filled in.
pub(super) fn has_placeholder(text: &str) -> bool {
    find(text).is_some()
}

struct Found<'a> {
    start: usize,
    end: usize,
    kind: Kind,
    name: &'a str,
}

enum Kind {
    Env,
    File,
}

fn find(text: &str) -> Option<Found<'_>> {
    text.match_indices('{').find_map(|(start, _)| {
        let inner = &text[start + 1..];
        let (kind, name) = match (inner.strip_prefix("env:"), inner.strip_prefix("file:")) {
            (Some(name), _) => (Kind::Env, name),
            (_, Some(name)) => (Kind::File, name),
            _ => return None,
        };
        let name = &name[..name.find('}')?];
        let end = text.len() - inner.len() + inner.find('}')? + 1;
        (!name.is_empty()).then_some(Found { start, end, kind, name })
    })
}

fn path_of(name: &str, folder: &AbsPath, environment: &dyn Environment) -> AbsPath {
    match name.strip_prefix("~/") {
        Some(below) => environment.folders().home.join(below),
        None => folder.join(name),
    }
}

async fn read(path: AbsPath, files: &dyn Files) -> (String, Insert) {
    match files.read(path.clone()).await.map(String::from_utf8) {
        Ok(Ok(text)) => (text.trim_start_matches('\u{feff}').trim().to_owned(), Insert::File),
        Ok(Err(_)) => (String::new(), Insert::Unreadable(format!("{path} is not UTF-8 text"))),
        Err(error) => (String::new(), Insert::Unreadable(format!("the file that it names cannot be read: {error}"))),
    }
}

fn escape(value: &str) -> String {
    let quoted = serde_json::Value::from(value).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}
