//! What holds a command to its policy, whatever it runs: the system's own means, one file a system. It decides no policy, and knows no shell.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(any(target_os = "macos", test))]
mod macos;
mod temp;
#[cfg(not(any(target_os = "linux", target_os = "macos")))]
mod unsupported;

use std::io;

use copydesk_engine::ports::{SandboxPolicy, SandboxSupport};

#[cfg(target_os = "linux")]
use linux as system;
#[cfg(target_os = "macos")]
use macos as system;
#[cfg(not(any(target_os = "linux", target_os = "macos")))]
use unsupported as system;

/// What holds on this machine. Asks the kernel.
pub(crate) fn support() -> SandboxSupport {
    system::support()
}

/// A policy, made ready for one process: nothing is left to be looked up, opened or allocated between fork and exec.
pub(crate) struct Jail(system::Jail);

impl Jail {
    /// Blocks: it looks at the folders around what is to be hidden, and makes the temporary folder. The error says what stands in the way.
    pub(crate) fn new(policy: &SandboxPolicy) -> Result<Self, String> {
        temp::make(policy.temp.as_path())?;
        system::Jail::new(policy).map(Self)
    }

    /// What stands before the program on its command line.
    pub(crate) fn launcher(&self) -> Vec<String> {
        self.0.launcher()
    }

    /// What is hidden besides what the policy says, in words.
    pub(crate) fn left_out(&self) -> &[String] {
        self.0.left_out()
    }

    /// In the child between fork and exec: makes system calls alone, neither allocates nor takes a lock. There is no way back.
    pub(crate) fn enter(&self) -> io::Result<()> {
        self.0.enter()
    }
}

#[cfg(all(test, target_os = "linux"))]
#[path = "sandbox_tests.rs"]
mod tests;
