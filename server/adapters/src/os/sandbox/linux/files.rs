//! The rules of Landlock for a policy. Landlock only allows, and a rule covers all that is below: what is to stay hidden is left out by giving rules to
//! everything around it, its siblings along the way from the root.
//!
//! What follows from that: the *names* in hidden folders can be listed, since the right to list is given for the root; a file that others make beside a
//! hidden one while a command runs cannot be read by it; of a folder with very many entries around a hidden place some are hidden with it; and where a hidden place lies inside of a writable folder (the home folder opened as a
//! workspace), nothing can be made or removed in the folders on the way to it.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};

use copydesk_engine::ports::SandboxPolicy;
use landlock::{
    ABI, Access as _, AccessFs, BitFlags, PathBeneath, Ruleset, RulesetAttr as _, RulesetCreated,
    RulesetCreatedAttr as _, Scope, make_bitflags,
};
use rustix::fs::{FileType, Mode, OFlags};

/// About 50 ms. What finds no place among them cannot be read, and is told.
const MOST_RULES: usize = 20_000;
/// Of one folder; the others are as good as left out.
const MOST_LISTED: usize = 100_000;

/// Devices without a memory that others see, and the terminal, which commands do not have.
const DEVICES: [&str; 6] = ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"];
/// Semaphores and shared memory of POSIX, without which e.g. Python's `multiprocessing` does not work.
const SHARED_MEMORY: &str = "/dev/shm";

const READ: BitFlags<AccessFs> = make_bitflags!(AccessFs::{Execute | ReadFile | ReadDir});
/// All but making devices, asking devices, and reaching sockets.
const CHANGE: BitFlags<AccessFs> = make_bitflags!(AccessFs::{
    WriteFile | RemoveDir | RemoveFile | MakeDir | MakeReg | MakeSock | MakeFifo | MakeSym | Refer | Truncate
});
const USE_DEVICE: BitFlags<AccessFs> = make_bitflags!(AccessFs::{ReadFile | WriteFile | Truncate | IoctlDev});

/// Rules, and in words what is hidden though nobody asked for it.
pub(in super::super) struct Made {
    pub(in super::super) ruleset: OwnedFd,
    pub(in super::super) left_out: Vec<String>,
}

pub(super) fn rules(policy: &SandboxPolicy, version: ABI) -> Result<Made, String> {
    rules_within(policy, version, MOST_RULES)
}

pub(in super::super) fn rules_within(policy: &SandboxPolicy, version: ABI, most: usize) -> Result<Made, String> {
    let failed = |error: landlock::RulesetError| format!("Landlock refuses the rules: {error}");
    let mut handled = Ruleset::default().handle_access(AccessFs::from_all(version)).map_err(failed)?;
    let scopes = Scope::from_all(version);
    if !scopes.is_empty() {
        handled = handled.scope(scopes).map_err(failed)?;
    }
    let writable = writable(policy);
    let mut hidden = hidden(policy, &writable);
    // Devices are readable one by one: a disk or another terminal is as good as what lies in it.
    hidden.push(PathBuf::from("/dev"));

    let created = handled.create().map_err(failed)?;
    let mut rules = Rules { ruleset: created, version, hidden: &hidden, left: most, left_out: BTreeMap::new() };
    rules.add(Path::new("/"), AccessFs::ReadDir.into())?;
    for device in DEVICES {
        rules.add(Path::new(device), USE_DEVICE)?;
    }
    rules.add(Path::new(SHARED_MEMORY), READ | CHANGE)?;
    for path in policy.readable.iter().filter_map(|path| fs::canonicalize(path.as_path()).ok()) {
        rules.add(&path, READ)?;
    }
    // Before all that can only be read.
    rules.cover(writable.iter().map(PathBuf::as_path), READ | CHANGE)?;
    rules.cover([Path::new("/")], READ)?;
    let left_out = rules.left_out.iter().map(|(folder, (left_out, of))| {
        format!(
            "{left_out} of the {of} entries of {} are hidden too: more than there is room for beside what is hidden below it",
            folder.display()
        )
    });
    let left_out = left_out.collect();
    let ruleset = Option::<OwnedFd>::from(rules.ruleset).ok_or_else(|| "Landlock gave no rules".to_owned())?;
    Ok(Made { ruleset, left_out })
}

struct Rules<'a> {
    ruleset: RulesetCreated,
    version: ABI,
    hidden: &'a [PathBuf],
    left: usize,
    /// Folders with entries that found no place, and all their entries.
    left_out: BTreeMap<PathBuf, (usize, usize)>,
}

/// What a folder on the way to something hidden holds, apart from that.
struct Siblings {
    folder: PathBuf,
    paths: Vec<PathBuf>,
}

impl Rules<'_> {
    /// Allows it for these, whose links are resolved, and all that is below, except what is hidden.
    fn cover<'p>(
        &mut self,
        paths: impl IntoIterator<Item = &'p Path>,
        access: BitFlags<AccessFs>,
    ) -> Result<(), String> {
        let mut found = Vec::new();
        for path in paths {
            self.collect(path, &mut found);
        }
        // A large folder goes without before a small one does: the root with the system's folders is small, a home folder may be large.
        found.sort_by_key(|siblings| siblings.paths.len());
        for Siblings { folder, paths } in found {
            let left_out = paths.len().saturating_sub(self.left);
            if left_out > 0 {
                let (count, of) = self.left_out.entry(folder).or_default();
                (*count, *of) = ((*count).max(left_out), paths.len());
            }
            paths.iter().try_for_each(|path| self.add(path, access))?;
        }
        Ok(())
    }

    fn collect(&self, path: &Path, found: &mut Vec<Siblings>) {
        if self.hidden.iter().any(|hidden| path.starts_with(hidden)) {
            return;
        }
        let first =
            |hidden: &PathBuf| Some(hidden.strip_prefix(path).ok()?.components().next()?.as_os_str().to_owned());
        let on_the_way: BTreeSet<OsString> = self.hidden.iter().filter_map(first).collect();
        if on_the_way.is_empty() {
            found.push(Siblings { folder: path.to_owned(), paths: vec![path.to_owned()] });
            return;
        }
        let mut siblings = Vec::new();
        // What cannot be listed can be passed through all the same.
        for entry in fs::read_dir(path).into_iter().flatten().flatten().take(MOST_LISTED) {
            // Links need no rule: what they lead to has one of its own, or none.
            let Ok(kind) = entry.file_type() else { continue };
            if !kind.is_symlink() && !on_the_way.contains(&entry.file_name()) {
                siblings.push((!kind.is_dir(), entry.path()));
            }
        }
        // Folders first, which hold more; and the same ones behind the limit each time.
        siblings.sort();
        found.push(Siblings { folder: path.to_owned(), paths: siblings.into_iter().map(|(_, path)| path).collect() });
        for name in on_the_way {
            let path = path.join(name);
            if fs::symlink_metadata(&path).is_ok_and(|found| !found.is_symlink()) {
                self.collect(&path, found);
            }
        }
    }

    fn add(&mut self, path: &Path, access: BitFlags<AccessFs>) -> Result<(), String> {
        if self.left == 0 {
            return Ok(());
        }
        self.left -= 1;
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let Ok(file) = rustix::fs::open(path, flags, Mode::empty()) else {
            // Gone, or out of reach of the user too.
            return Ok(());
        };
        let described =
            |error: &dyn std::fmt::Display| format!("Landlock refuses a rule for {}: {error}", path.display());
        let kind = rustix::fs::fstat(&file).map_err(|error| described(&io::Error::from(error)))?.st_mode;
        let allowed = match FileType::from_raw_mode(kind) {
            FileType::Directory => access & AccessFs::from_all(self.version),
            // A link that has taken the place of what was listed.
            FileType::Symlink => return Ok(()),
            _ => access & AccessFs::from_file(self.version),
        };
        if !allowed.is_empty() {
            (&mut self.ruleset).add_rule(PathBeneath::new(file, allowed)).map_err(|error| described(&error))?;
        }
        Ok(())
    }
}

/// Real paths. One that lies in another is left out, even where it is a link that leads elsewhere: whoever can write to the outer one can put it there.
fn writable(policy: &SandboxPolicy) -> Vec<PathBuf> {
    let given: Vec<&Path> = policy.writable.iter().chain([&policy.temp]).map(|path| path.as_path()).collect();
    let real = |path: &Path| fs::canonicalize(path).ok();
    let is_outermost = |path: &Path| {
        let folder = path.parent().and_then(real);
        given.iter().filter(|outer| **outer != path).all(|outer| {
            let in_real =
                || real(outer).is_some_and(|outer| folder.as_ref().is_some_and(|folder| folder.starts_with(outer)));
            !path.starts_with(outer) && !in_real()
        })
    };
    let mut found: Vec<PathBuf> =
        given.iter().filter(|path| is_outermost(path)).filter_map(|path| real(path)).collect();
    found.sort();
    found.dedup();
    found.retain(|path| !is_special(path));
    found
}

/// A device or socket that was named as a folder to write to.
fn is_special(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|found| {
        let kind = found.file_type();
        kind.is_block_device() || kind.is_char_device() || kind.is_socket()
    })
}

/// Real paths of what exists. A link from outside into a writable folder (settings that are kept in a repository) does not split that folder.
fn hidden(policy: &SandboxPolicy, writable: &[PathBuf]) -> Vec<PathBuf> {
    let is_inside = |path: &Path| writable.iter().any(|folder| path.starts_with(folder));
    let named = |path: &Path| Some(fs::canonicalize(path.parent()?).ok()?.join(path.file_name()?));
    let mut found: Vec<PathBuf> = policy
        .unreadable
        .iter()
        .filter_map(|path| {
            let real = fs::canonicalize(path.as_path()).ok()?;
            let leads_in = is_inside(&real) && !is_inside(&named(path.as_path()).unwrap_or_else(|| real.clone()));
            (!leads_in).then_some(real)
        })
        .collect();
    found.sort();
    found.dedup();
    found
}
