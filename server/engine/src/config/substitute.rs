//! `{env:NAME}` and `{file:path}` in the text of a configuration, filled in before it is parsed. Reads the files that are named; judges nothing.

use std::ops::Range;

use copydesk_workspace::path::AbsPath;

use crate::ports::{Environment, Files};

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
                Kind::File => read(found.name, folder, environment, files).await,
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

async fn read(name: &str, folder: &AbsPath, environment: &dyn Environment, files: &dyn Files) -> (String, Insert) {
    let path = match name.strip_prefix("~/") {
        Some(below) => environment.folders().home.join(below),
        None => folder.join(name),
    };
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
