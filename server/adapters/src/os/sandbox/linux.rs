//! Linux: Landlock for files, signals and other processes (kernel documentation, userspace-api/landlock), seccomp for the network and for what a build
//! has no use for. Both hold for all that the process starts, and cannot be taken off.

mod calls;
pub(super) mod files;
mod privileges;

use std::ffi::c_long;
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};

use copydesk_engine::ports::{SandboxPolicy, SandboxSupport};
use landlock::ABI;
use seccompiler::BpfProgram;

use crate::os::process_tree;

/// The first that guards against emptying a file (Linux 6.2).
const LEAST: i32 = 3;
/// The first that guards devices against `ioctl` (Linux 6.10).
const WITH_IOCTL: i32 = 5;
/// The first that guards other processes against signals (Linux 6.12).
const WITH_SIGNALS: i32 = 6;

const LANDLOCK_CREATE_RULESET_VERSION: u32 = 1;

pub(super) fn support() -> SandboxSupport {
    let version = match landlock_version() {
        Ok(version) => version,
        Err(reason) => return SandboxSupport::Missing { reason },
    };
    if let Err(reason) = calls::check() {
        return SandboxSupport::Missing { reason };
    }
    let gaps = [
        (WITH_IOCTL, "commands can send ioctl requests to devices that they may read (Linux 6.10 guards them)"),
        (WITH_SIGNALS, "commands can send signals to other processes of yours (Linux 6.12 guards them)"),
    ];
    let gaps = gaps.into_iter().filter(|(since, _)| version < *since).map(|(_, gap)| gap.to_owned()).collect();
    SandboxSupport::Enforced { by: format!("Landlock {version} and seccomp"), gaps }
}

/// At least `LEAST`, else why not.
fn landlock_version() -> Result<i32, String> {
    #[expect(unsafe_code, reason = "no crate asks for the version")]
    // SAFETY: with this flag the kernel reads no attributes.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_landlock_create_ruleset,
            std::ptr::null::<libc::c_void>(),
            0usize,
            LANDLOCK_CREATE_RULESET_VERSION,
        )
    };
    let version = i32::try_from(answer).unwrap_or(i32::MAX);
    match version {
        LEAST.. => Ok(version),
        1.. => {
            Err(format!("the kernel has Landlock {version}, which lets files be emptied; Linux 6.2 or later has more"))
        }
        _ => {
            let cause = io::Error::last_os_error();
            let hint = match cause.raw_os_error() {
                Some(libc::EOPNOTSUPP) => "it is switched off at the kernel's start: add `landlock` to `lsm=`",
                Some(libc::ENOSYS) => "the kernel was built without it; Linux 6.2 or later usually has it",
                _ => "something around this process, e.g. a container, does not let it be used",
            };
            Err(format!("Landlock is not there ({cause}): {hint}"))
        }
    }
}

pub(super) struct Jail {
    files: OwnedFd,
    calls: Vec<BpfProgram>,
    left_out: Vec<String>,
}

impl Jail {
    pub(super) fn new(policy: &SandboxPolicy) -> Result<Self, String> {
        let version = ABI::from(landlock_version()?);
        let files::Made { ruleset, left_out } = files::rules(policy, version)?;
        Ok(Self { files: ruleset, calls: calls::programs(policy.network)?, left_out })
    }

    #[cfg(test)]
    pub(super) fn of_files(files: OwnedFd) -> Self {
        Self { files, calls: Vec::new(), left_out: Vec::new() }
    }

    pub(super) fn launcher(&self) -> Vec<String> {
        Vec::new()
    }

    pub(super) fn left_out(&self) -> &[String] {
        &self.left_out
    }

    pub(super) fn enter(&self) -> io::Result<()> {
        // It may lead where no rule does.
        process_tree::close_at_exec()?;
        privileges::give_up()?;
        #[expect(unsafe_code, reason = "the crate's own call allocates")]
        // SAFETY: a system call on a descriptor that lives as long as `self`.
        done(unsafe { libc::syscall(libc::SYS_landlock_restrict_self, self.files.as_raw_fd(), 0u32) })?;
        self.calls.iter().try_for_each(calls::install)
    }
}

fn done(answer: c_long) -> io::Result<()> {
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
