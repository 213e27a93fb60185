//! Links that the text itself makes: copies that keep them, and what comes out of archives and from other repositories. A path below such a place may lead
//! elsewhere by the time it is used, whatever stands there now.

use std::ops::Range;

use copydesk_workspace::path::AbsPath;

use super::command::Call;
use super::expansion::Scope;
use super::options::{Arg, Order, Parsed};
use super::other_names::is_one_of;
use super::programs::{here, uses};
use super::version_control::{self, abbreviates, has_letter};
use super::without_options::first_words;
use super::{FileAccess, FileUse, Place, file_programs};

/// Where links may stand once a command has run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Links {
    /// The command; bytes of the whole text.
    pub span: Range<usize>,
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
    /// The same, anywhere in the work tree to which the place belongs: another commit, a patch, what was stashed.
    WorkTree,
}

impl LinkSource {
    pub fn is_unseen(&self) -> bool {
        matches!(self, Self::Unseen | Self::WorkTree)
    }
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
            if own.iter().any(|used| used.access == FileAccess::Write) {
                return Some((written(own), LinkSource::Unseen));
            }
            (Vec::new(), LinkSource::Unseen)
        }
        "cpio" | "pax" | "7z" | "7za" | "unrar" | "bsdcpio" => (Vec::new(), LinkSource::Unseen),
        "git" | "gh" | "glab" | "hg" | "svn" | "jj" => return brought(name, call, scope, own),
        "npm" | "pnpm" | "yarn" | "bun" if installs(name, words) => {
            (vec![Arg::literal("node_modules", call.span.clone())], LinkSource::Unseen)
        }
        "composer" | "bundle" | "pod" if installs(name, words) => {
            let folders = ["vendor", "Pods"].map(|folder| Arg::literal(folder, call.span.clone()));
            (folders.to_vec(), LinkSource::Unseen)
        }
        _ => return None,
    };
    let places = match targets.is_empty() {
        true => here(&call.span, name, FileAccess::Write, scope),
        false => targets.iter().flat_map(|arg| uses(arg, name, FileAccess::Write, scope)).collect(),
    };
    Some((places.into_iter().filter_map(|used| folder(used.place)).collect(), source))
}

/// What version control takes from a repository, a patch or a stash.
fn brought(name: &str, call: &Call, scope: &Scope, own: &[FileUse]) -> Option<(Vec<AbsPath>, LinkSource)> {
    let words = call.words();
    let firsts = first_words(name, words);
    let brings = |at: &usize| {
        let command = words[*at].text.as_deref();
        let rest = &words[at + 1..];
        match name {
            "git" => command.is_none_or(|command| changes_files(command, rest)),
            "gh" | "glab" => {
                let second = rest.iter().find_map(|arg| arg.text.as_deref().filter(|text| !text.starts_with('-')));
                matches!(
                    (command, second),
                    (Some("pr" | "mr"), Some("checkout" | "merge"))
                        | (Some("repo"), Some("clone" | "fork" | "create"))
                        | (Some("co" | "codespace"), _)
                )
            }
            _ => !matches!(
                command,
                Some(
                    "status"
                        | "st"
                        | "log"
                        | "diff"
                        | "di"
                        | "show"
                        | "cat"
                        | "annotate"
                        | "blame"
                        | "add"
                        | "commit"
                        | "ci"
                        | "push"
                        | "info"
                        | "list"
                        | "ls"
                        | "describe"
                        | "desc"
                        | "bookmark"
                        | "branches"
                        | "heads"
                        | "id"
                        | "identify"
                        | "files"
                        | "manifest"
                        | "paths"
                        | "root"
                        | "summary"
                        | "tags"
                        | "tip"
                        | "version"
                        | "help"
                        | "config"
                        | "praise"
                )
            ),
        }
    };
    if !firsts.iter().any(|at| *at < words.len() && brings(at)) {
        return None;
    }
    let folders = match name {
        "git" => version_control::moved(&words[..firsts.first().copied().unwrap_or_default()], scope).folders,
        _ => scope.folders.clone(),
    };
    let makes_copy = firsts.iter().filter_map(|at| words.get(*at)?.text.as_deref());
    let makes_copy = makes_copy.into_iter().any(|command| matches!(command, "clone" | "worktree" | "init" | "repo"));
    let places: Vec<AbsPath> = match makes_copy {
        // All that it writes is where the copy lies.
        true if name == "git" => written(own),
        true => {
            let operands = firsts.first().and_then(|at| words.get(at + 1..)).unwrap_or_default();
            let operands = operands.iter().filter(|arg| !arg.raw.starts_with('-'));
            let named = operands.flat_map(|arg| [vec![arg.clone()], version_control::named_after(arg)].concat());
            let places = named.flat_map(|arg| uses(&arg, name, FileAccess::Write, scope));
            places.filter_map(|used| folder(used.place)).collect()
        }
        false => folders.unwrap_or_default(),
    };
    Some((places, if makes_copy { LinkSource::Unseen } else { LinkSource::WorkTree }))
}

/// Whether a command of git may put other files into the work tree.
fn changes_files(command: &str, rest: &[Arg]) -> bool {
    let operands = || rest.iter().filter(|arg| !arg.raw.starts_with('-'));
    let first = operands().next().and_then(|arg| arg.text.as_deref());
    let creates = |letters: &[char]| rest.iter().any(|arg| letters.iter().any(|letter| has_letter(arg, *letter)));
    match command {
        // A new branch of what is there.
        "checkout" | "switch" => !(creates(&['b', 'c']) && operands().count() <= 1),
        "stash" => !matches!(first, Some("list" | "show" | "drop" | "clear" | "create" | "store" | "export")),
        "worktree" => !matches!(first, Some("list" | "lock" | "unlock" | "prune" | "remove" | "repair")),
        "submodule" => !matches!(first, Some("status" | "summary" | "init" | "sync")),
        "bisect" => !matches!(first, Some("log" | "visualize" | "view" | "terms" | "help")),
        "reset" => {
            rest.iter().any(|arg| arg.raw.starts_with("--") && arg.raw != "--" && !abbreviates(arg, "--soft", 4))
        }
        "apply" => !rest.iter().any(|arg| {
            ["--check", "--stat", "--numstat", "--summary"].iter().any(|option| arg.text.as_deref() == Some(option))
        }),
        "clone" | "pull" | "merge" | "rebase" | "cherry-pick" | "revert" | "restore" | "am" | "read-tree"
        | "checkout-index" | "sparse-checkout" | "subtree" | "svn" | "p4" | "lfs" | "annex" | "filter-branch"
        | "filter-repo" | "mergetool" | "merge-index" | "merge-file" | "quiltimport" | "archimport" | "cvsimport"
        | "init" | "update-index" => true,
        _ => false,
    }
}

fn installs(name: &str, words: &[Arg]) -> bool {
    const COMMANDS: [&str; 10] =
        ["install", "install-test", "ci", "install-ci-test", "add", "update", "upgrade", "require", "link", "dedupe"];
    let texts = || words.iter().filter_map(|arg| arg.text.as_deref());
    // `yarn` alone.
    texts().all(|text| text.starts_with('-'))
        || texts().any(|text| is_one_of(&COMMANDS, name, text))
        || words.iter().any(|arg| arg.text.is_none())
}

fn written(own: &[FileUse]) -> Vec<AbsPath> {
    let written = own.iter().filter(|used| used.access == FileAccess::Write);
    written.filter_map(|used| folder(used.place.clone())).collect()
}

fn folder(place: Place) -> Option<AbsPath> {
    match place {
        Place::File(path) | Place::Maybe(path) | Place::Tracked(path) => Some(path),
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
