//! Links that the text itself makes: copies that keep them, and what comes out of archives and from other repositories. A path below such a place may lead
//! elsewhere by the time it is used, whatever stands there now.

use std::ops::Range;

use copydesk_workspace::path::AbsPath;

use super::command::Call;
use super::expansion::Scope;
use super::options::{Arg, Order, Parsed};
use super::programs::{here, uses};
use super::{FileAccess, FileUse, Place, file_programs};

/// Where links may stand once a command has run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Links {
    /// They stand there or below.
    pub at: Vec<AbsPath>,
    pub source: LinkSource,
    /// The command's own uses among `Analysis::files`.
    pub own: Range<usize>,
    /// Its loop or function may run again, so that what stands before it comes after it too.
    pub is_repeated: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LinkSource {
    /// Those that these are, or hold.
    Copied(Vec<Place>),
    /// Any, below the place: that it leads to what was given is judged with that.
    Linked,
    /// Any, from what nobody has looked at.
    Unseen,
}

/// Where `call` makes links, and which; `own` are its uses of files.
pub(super) fn made(name: &str, call: &Call, scope: &Scope, own: &[FileUse]) -> Option<(Vec<AbsPath>, LinkSource)> {
    let words = call.words();
    let plain = || words.iter().filter(|arg| !arg.raw.starts_with('-'));
    let (targets, source) = match name {
        "cp" | "ln" => {
            let parsed = file_programs::program(name)?.options.parse(words, Order::Mixed);
            let sources = copied(&parsed);
            let target = match (parsed.value(&["t", "target-directory"]), parsed.operands.as_slice()) {
                (Some(target), _) => target.clone(),
                (None, [one]) if name == "ln" => name_of(one)?,
                (None, operands) => operands.last()?.clone(),
            };
            if name == "ln" {
                (vec![target], LinkSource::Linked)
            } else {
                if !keeps_links(&parsed) {
                    return None;
                }
                let places = sources.iter().flat_map(|arg| uses(arg, name, FileAccess::Read, scope));
                (vec![target], LinkSource::Copied(places.map(|used| used.place).collect()))
            }
        }
        "rsync" => {
            let keeps = |arg: &Arg| {
                let text = arg.text.as_deref().unwrap_or(&arg.raw);
                let is_cluster = text.starts_with('-') && !text.starts_with("--") && text.contains(['a', 'l']);
                is_cluster || text.len() > 3 && ["--archive", "--links"].iter().any(|long| long.starts_with(text))
            };
            let operands: Vec<&Arg> = plain().collect();
            let (target, sources) = operands.split_last()?;
            if !words.iter().any(keeps) {
                return None;
            }
            let places = sources.iter().flat_map(|arg| uses(arg, name, FileAccess::Read, scope));
            (vec![(*target).clone()], LinkSource::Copied(places.map(|used| used.place).collect()))
        }
        // All that they write is what they unpack into.
        "tar" | "bsdtar" | "gtar" | "unzip" if name == "unzip" || extracts(words) => {
            let written: Vec<Place> =
                own.iter().filter(|used| used.access == FileAccess::Write).map(|used| used.place.clone()).collect();
            if !written.is_empty() {
                return Some((written.into_iter().filter_map(folder).collect(), LinkSource::Unseen));
            }
            (Vec::new(), LinkSource::Unseen)
        }
        "cpio" | "pax" | "7z" | "7za" | "unrar" | "bsdcpio" => (Vec::new(), LinkSource::Unseen),
        "git" if plain().any(|arg| matches!(arg.text.as_deref(), Some("clone" | "worktree" | "submodule"))) => {
            let target = plain().next_back()?;
            let text = target.text.clone()?;
            // Without a folder of its own a copy has the name of its source.
            let name = text.trim_end_matches('/').rsplit(['/', ':']).next()?.trim_end_matches(".git").to_owned();
            (vec![target.clone(), Arg::literal(&name, target.span.clone())], LinkSource::Unseen)
        }
        _ => return None,
    };
    let places = match targets.is_empty() {
        true => here(&call.span, name, FileAccess::Write, scope),
        false => targets.iter().flat_map(|arg| uses(arg, name, FileAccess::Write, scope)).collect(),
    };
    Some((places.into_iter().filter_map(|used| folder(used.place)).collect(), source))
}

fn folder(place: Place) -> Option<AbsPath> {
    match place {
        Place::File(path) | Place::Maybe(path) => Some(path),
        Place::Glob { base, .. } => Some(base),
        // Asked as such.
        Place::Unknown(_) => None,
    }
}

/// The name that a link has where it is given none.
pub(super) fn name_of(source: &Arg) -> Option<Arg> {
    let name = source.text.as_deref()?.trim_end_matches('/').rsplit('/').next()?;
    Some(Arg::literal(name, source.span.clone()))
}

fn copied(parsed: &Parsed) -> &[Arg] {
    let has_target = parsed.has(&["t", "target-directory"]);
    let count = if has_target { parsed.operands.len() } else { parsed.operands.len().saturating_sub(1) };
    &parsed.operands[..count]
}

/// Beginnings of its long options count as well.
fn keeps_links(parsed: &Parsed) -> bool {
    const LONG: [&str; 5] = ["no-dereference", "archive", "recursive", "preserve", "symbolic-link"];
    parsed.given.iter().any(|given| {
        let name = given.name.as_str();
        matches!(name, "P" | "d" | "a" | "R" | "r") || name.len() > 1 && LONG.iter().any(|long| long.starts_with(name))
    })
}

fn extracts(words: &[Arg]) -> bool {
    words.iter().enumerate().any(|(at, arg)| {
        let text = arg.text.as_deref().unwrap_or(&arg.raw);
        let letters = text.strip_prefix('-').or((at == 0).then_some(text)).filter(|letters| !letters.starts_with('-'));
        let long = text.len() > 4 && ["--extract", "--get"].iter().any(|long| long.starts_with(text));
        long || letters.is_some_and(|letters| letters.contains('x'))
    })
}
