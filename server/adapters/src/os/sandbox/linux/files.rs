//! The rules of Landlock for a policy. Landlock only allows, and a rule covers all that is below: what is to stay hidden is left out by giving rules to
//! everything around it, its siblings along the way from the root.
//!
//! What follows from that: the *names* in hidden folders can be listed, since the right to list is given for the root; a file that others make beside a
//! hidden one while a command runs cannot be read by it; and where a hidden place lies inside of a writable folder (the home folder opened as a
//! workspace), nothing can be made or removed in the folders on the way to it.

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

/// About 50 ms. What comes behind cannot be read.
const MOST_RULES: usize = 20_000;

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

pub(super) fn ruleset(policy: &SandboxPolicy, version: ABI) -> Result<OwnedFd, String> {
    ruleset_within(policy, version, MOST_RULES)
}

pub(in super::super) fn ruleset_within(policy: &SandboxPolicy, version: ABI, most: usize) -> Result<OwnedFd, String> {
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
    let mut rules = Rules { ruleset: created, version, hidden: &hidden, left: most };
    rules.add(Path::new("/"), AccessFs::ReadDir.into())?;
    for device in DEVICES {
        rules.add(Path::new(device), USE_DEVICE)?;
    }
    rules.add(Path::new(SHARED_MEMORY), READ | CHANGE)?;
    // Before the siblings of secrets, which may be many.
    for folder in &writable {
        rules.cover(folder, READ | CHANGE)?;
    }
    for path in policy.readable.iter().filter_map(|path| fs::canonicalize(path.as_path()).ok()) {
        rules.add(&path, READ)?;
    }
    rules.cover(Path::new("/"), READ)?;
    Option::<OwnedFd>::from(rules.ruleset).ok_or_else(|| "Landlock gave no rules".to_owned())
}

struct Rules<'a> {
    ruleset: RulesetCreated,
    version: ABI,
    hidden: &'a [PathBuf],
    left: usize,
}

impl Rules<'_> {
    /// Allows it for `path`, whose links are resolved, and all that is below, except what is hidden.
    fn cover(&mut self, path: &Path, access: BitFlags<AccessFs>) -> Result<(), String> {
        if self.hidden.iter().any(|hidden| path.starts_with(hidden)) {
            return Ok(());
        }
        let inside: Vec<&Path> = self.hidden.iter().filter_map(|hidden| hidden.strip_prefix(path).ok()).collect();
        if inside.is_empty() {
            return self.add(path, access);
        }
        let mut names: Vec<_> = match fs::read_dir(path) {
            // Links need no rule: what they lead to has one of its own, or none.
            Ok(entries) => {
                let is_link = |entry: &fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_symlink());
                entries.flatten().filter(|entry| !is_link(entry)).map(|entry| entry.file_name()).collect()
            }
            // What cannot be listed can be passed through all the same.
            Err(_) => inside.iter().filter_map(|path| Some(path.components().next()?.as_os_str().to_owned())).collect(),
        };
        // The same ones behind the limit each time.
        names.sort();
        names.dedup();
        names.into_iter().try_for_each(|name| self.cover(&path.join(name), access))
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
