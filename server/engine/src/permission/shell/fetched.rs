//! Programs that copy between this machine and another place: a container, a pod, a device, a store. Which of their words is written here, and what a
//! container is given of this machine.

use super::code::{NONE, Options};
use super::expansion::Scope;
use super::options::Arg;
use super::outputs::unknown;
use super::programs::{at_home, uses};
use super::remote::CONTAINERS;
use super::version_control::{abbreviates, named_after};
use super::without_options::behind;
use super::{FileAccess, FileUse, Place};

/// What they copy stands behind these words, then where to.
struct Copies {
    programs: &'static [&'static str],
    verbs: &'static [&'static [&'static str]],
    /// The source is gone then, as of `mv`.
    moves: bool,
}

const COPIES: &[Copies] = &[
    Copies {
        programs: CONTAINERS,
        verbs: &[&["cp"], &["container", "cp"], &["compose", "cp"], &["context", "export"]],
        moves: false,
    },
    Copies { programs: &["docker-compose", "podman-compose"], verbs: &[&["cp"]], moves: false },
    Copies { programs: &["kubectl", "oc"], verbs: &[&["cp"], &["rsync"]], moves: false },
    Copies { programs: &["lxc", "incus"], verbs: &[&["file", "pull"]], moves: false },
    Copies { programs: &["adb"], verbs: &[&["pull"]], moves: false },
    Copies { programs: &["multipass"], verbs: &[&["transfer"]], moves: false },
    Copies { programs: &["limactl"], verbs: &[&["copy"], &["cp"]], moves: false },
    Copies { programs: &["aws"], verbs: &[&["s3", "cp"], &["s3", "sync"]], moves: false },
    Copies { programs: &["aws"], verbs: &[&["s3", "mv"]], moves: true },
    Copies { programs: &["gsutil"], verbs: &[&["cp"], &["rsync"]], moves: false },
    Copies { programs: &["gsutil"], verbs: &[&["mv"]], moves: true },
    Copies {
        programs: &["gcloud"],
        verbs: &[&["compute", "scp"], &["storage", "cp"], &["storage", "rsync"]],
        moves: false,
    },
    Copies { programs: &["gcloud"], verbs: &[&["storage", "mv"]], moves: true },
    Copies { programs: &["rclone"], verbs: &[&["copy"], &["copyto"], &["sync"]], moves: false },
    Copies { programs: &["rclone"], verbs: &[&["move"], &["moveto"], &["bisync"]], moves: true },
    Copies { programs: &["gh"], verbs: &[&["codespace", "cp"], &["cs", "cp"]], moves: false },
];

/// What `by` writes here of what it copies.
pub(super) fn written(by: &str, words: &[Arg], scope: &Scope) -> Vec<FileUse> {
    let mut found = Vec::new();
    for copies in COPIES.iter().filter(|copies| copies.programs.contains(&by)) {
        let places: Option<Vec<_>> = copies.verbs.iter().map(|verb| behind(verb, words)).collect();
        if places.is_none() {
            found.extend(words.first().map(|first| unknown(by, &first.span)));
        }
        for words in places.into_iter().flatten().flatten() {
            let named = words.iter().filter(|arg| !arg.raw.starts_with('-')).enumerate();
            for (at, arg) in named.filter(|(_, arg)| !is_of_another_place(arg)) {
                if at > 0 || copies.moves {
                    found.extend(uses(arg, by, FileAccess::Write, scope));
                }
                // It may look like a mount, and then nobody else reads it.
                found.extend(uses(arg, by, FileAccess::Read, scope));
            }
        }
    }
    if by == "gh" {
        let copied = |words: &[Arg]| -> Vec<Arg> {
            let ends = words.iter().position(|arg| arg.text.as_deref() == Some("--")).unwrap_or(words.len());
            let named: Vec<&Arg> = words[..ends].iter().filter(|arg| !arg.raw.starts_with('-')).collect();
            match named.as_slice() {
                [source] => named_after(source),
                // One may be the value of an option.
                [_, rest @ ..] => rest.iter().map(|arg| (*arg).clone()).collect(),
                [] => Vec::new(),
            }
        };
        let places = behind(&["repo", "clone"], words).into_iter().flatten();
        let copies: Vec<Arg> = places.flat_map(copied).collect();
        found.extend(copies.iter().flat_map(|copy| uses(copy, by, FileAccess::Write, scope)));
    }
    found
}

/// `pod:/a`, `s3://a`.
fn is_of_another_place(arg: &Arg) -> bool {
    arg.text.as_deref().is_some_and(|text| text.contains(':') && !text.starts_with(['/', '.', '~']))
}

/// What a container is given of this machine: it can be changed from within.
pub(super) fn mounted(by: &str, words: &[Arg], scope: &Scope) -> Vec<FileUse> {
    const VOLUME: Options = Options { programs: &[], short: "v", long: &["--volume", "--device"] };
    const MOUNT: Options = Options { programs: &[], long: &["--mount"], ..NONE };
    let mut found = Vec::new();
    for (at, arg) in words.iter().enumerate() {
        let next = words.get(at + 1);
        let is_other =
            arg.raw.starts_with("--") && !abbreviates(arg, "--volume", 8) && !abbreviates(arg, "--device", 8);
        let mount = match VOLUME.value(by, arg, next).filter(|_| !is_other) {
            Some(value) => value.as_ref().and_then(volume),
            // Secrets of a build are told likewise, with no type.
            None => MOUNT.value(by, arg, next).flatten().as_ref().or(Some(arg)).and_then(fields),
        };
        let Some(Mount { source, is_read }) = mount else { continue };
        let source = at_home(source, scope);
        for access in [FileAccess::Read, FileAccess::Write] {
            let used = uses(&source, by, access, scope).into_iter();
            let is_meant =
                |used: &FileUse| !(is_read && access == FileAccess::Write || is_the_folder(&used.place, scope));
            found.extend(used.filter(is_meant));
        }
    }
    found
}

struct Mount {
    source: Arg,
    is_read: bool,
}

/// That the folder of the text is worked on is what is allowed with the container; other places are given to it, and so is one that the text goes to.
fn is_the_folder(place: &Place, scope: &Scope) -> bool {
    let Place::File(path) = place else { return false };
    !scope.moved && scope.folders.as_deref().is_some_and(|folders| folders.iter().all(|folder| folder == path))
}

/// `HERE:THERE`, where it is no volume of a name.
fn volume(value: &Arg) -> Option<Mount> {
    let (source, rest) = value.text.as_deref()?.split_once(':')?;
    let ways = rest.split(':').nth(1).unwrap_or_default();
    let is_read = ways.split(',').any(|word| matches!(word, "ro" | "readonly"));
    let is_path = source.contains('/') || source.starts_with(['.', '~']);
    is_path.then(|| Mount { source: Arg::literal(source, value.span.clone()), is_read })
}

/// `type=bind,source=HERE,target=THERE`, `id=a,src=HERE`.
fn fields(value: &Arg) -> Option<Mount> {
    let text = value.text.as_deref()?;
    let text = text.strip_prefix("--mount=").or(text.strip_prefix("--secret=")).unwrap_or(text).replace('"', "");
    let fields = || text.split(',').map(|field| field.trim().split_once('=').unwrap_or((field, "true")));
    let given = |names: &[&str]| fields().rfind(|(key, _)| names.contains(&key.to_lowercase().as_str()));
    let (_, source) = given(&["source", "src"])?;
    let kind = given(&["type"]).map(|(_, kind)| kind.to_lowercase());
    let is_read = kind.is_none() || given(&["readonly", "ro"]).is_some_and(|(_, is_it)| matches!(is_it, "true" | "1"));
    let is_volume = kind.is_some_and(|kind| !matches!(kind.as_str(), "bind" | "file" | "env"));
    (!is_volume).then(|| Mount { source: Arg::literal(source, value.span.clone()), is_read })
}
