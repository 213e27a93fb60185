//! What Git prints of files and their contents, read: pure.

use std::path::PathBuf;

use super::git::path_of;

/// As an index knows a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Known {
    pub(super) mode: u32,
    pub(super) object: String,
    pub(super) is_gone: bool,
}

impl Known {
    /// `:100644 100644 OBJECT OBJECT M`.
    pub(super) fn parse(about: &[u8]) -> Option<Self> {
        let about = std::str::from_utf8(about).ok()?;
        let mut words = about.strip_prefix(':')?.split(' ');
        let mode = u32::from_str_radix(words.next()?, 8).ok()?;
        let (_, object, _) = (words.next()?, words.next()?, words.next()?);
        let is_gone = words.next()?.starts_with('D');
        Some(Self { mode, object: object.to_owned(), is_gone })
    }

    /// `100644 OBJECT 0<tab>path`.
    pub(super) fn of_entry(entry: &[u8]) -> Option<(PathBuf, Self)> {
        let tab = entry.iter().position(|byte| *byte == b'\t')?;
        let (about, path) = entry.split_at(tab);
        let mut words = std::str::from_utf8(about).ok()?.split(' ');
        let mode = u32::from_str_radix(words.next()?, 8).ok()?;
        let known = Self { mode, object: words.next()?.to_owned(), is_gone: false };
        Some((path_of(path.get(1..)?).to_owned(), known))
    }
}

/// The next of the contents that `git cat-file --batch` gives, `None` for a missing one; and what follows.
pub(super) fn next_content(answer: &[u8]) -> Option<(Option<&[u8]>, &[u8])> {
    let end = answer.iter().position(|byte| *byte == b'\n')?;
    let head = std::str::from_utf8(answer.get(..end)?).ok()?;
    let rest = answer.get(end + 1..)?;
    if head.ends_with(" missing") {
        return Some((None, rest));
    }
    let len: usize = head.rsplit(' ').next()?.parse().ok()?;
    Some((Some(rest.get(..len)?), rest.get(len + 1..)?))
}
