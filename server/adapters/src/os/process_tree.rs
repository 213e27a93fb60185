//! The processes that a command has started, wherever they went, and their end (R7.3). All of it blocks. Knows nothing of pipes and output.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(not(target_os = "linux"))]
mod other_unix;

use std::collections::BTreeSet;
use std::io;
use std::thread;
use std::time::{Duration, Instant};

#[cfg(target_os = "linux")]
use linux as system;
#[cfg(not(target_os = "linux"))]
use other_unix as system;
use rustix::process::Signal;

/// In the environment of every process of a command, with the command's own value.
pub(crate) const MARKER: &str = "COPYDESK_COMMAND";

/// From TERM to KILL.
const GRACE: Duration = Duration::from_secs(1);
/// How long KILL is repeated: what does not die of it hangs in the kernel.
const KILL_LIMIT: Duration = Duration::from_millis(500);
/// Nothing tells of the end of a process that is not our child, so one has to look.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// A process, told apart from a later one that has got its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Process {
    pid: i32,
    /// When it started, in the system's own unit.
    started: u64,
}

/// A direct child and all that came of it: its session and group, the children of its children, and whoever carries the marker.
///
/// On Linux the direct child adopts the orphans below it, so that none is lost while it lives. Once it has ended, a process is lost that has left
/// the session and cleaned its environment before. On other systems the tree is the process group.
#[derive(Debug)]
pub(crate) struct ProcessTree {
    root: Process,
    marker: String,
    /// All that were ever seen: their later children are found by them.
    known: BTreeSet<Process>,
}

impl ProcessTree {
    /// `child` has not been waited for, so that its number is its own.
    pub(crate) fn of_child(child: u32, marker: String) -> Option<Self> {
        let pid = i32::try_from(child).ok()?;
        let root = Process { pid, started: system::started(pid) };
        Some(Self { root, marker, known: BTreeSet::from([root]) })
    }

    /// What carries the marker, where the direct child is not known.
    pub(crate) fn of_marker(marker: String) -> Self {
        // No process, session or group has this number.
        Self::of_root(-1, 0, marker)
    }

    /// As `identity` told it.
    pub(crate) fn of_root(pid: i32, started: u64, marker: String) -> Self {
        let root = Process { pid, started };
        Self { root, marker, known: BTreeSet::from([root]) }
    }

    /// Marker, number of the direct child, and when that started in the system's own unit.
    pub(crate) fn identity(&self) -> (&str, i32, u64) {
        (&self.marker, self.root.pid, self.root.started)
    }

    /// Those that live. A process that only waits to be collected by its parent does not.
    pub(crate) fn count_living(&mut self) -> usize {
        self.living().len()
    }

    /// TERM, a second of grace, KILL. Returns how many are left: none, unless the kernel holds them.
    pub(crate) fn end(&mut self) -> usize {
        signal_all(&self.living(), Signal::TERM);
        if self.wait(GRACE) { 0 } else { self.kill() }
    }

    /// As `end`, without grace.
    pub(crate) fn kill(&mut self) -> usize {
        let start = Instant::now();
        loop {
            let living = self.living();
            // The direct child goes last, stopped before: as long as it lives it adopts what its descendants leave behind.
            let (root, others): (Vec<_>, Vec<_>) = living.iter().partition(|process| **process == self.root);
            if others.is_empty() {
                signal_all(&root, Signal::KILL);
            } else {
                signal_all(&root, Signal::STOP);
                signal_all(&others, Signal::KILL);
            }
            if living.is_empty() || start.elapsed() > KILL_LIMIT {
                signal_all(&root, Signal::KILL);
                return living.len();
            }
            thread::sleep(LOOK_AGAIN);
        }
    }

    /// Whether all were gone in time.
    fn wait(&mut self, limit: Duration) -> bool {
        let start = Instant::now();
        while !self.living().is_empty() {
            if start.elapsed() > limit {
                return false;
            }
            thread::sleep(LOOK_AGAIN);
        }
        true
    }

    fn living(&mut self) -> Vec<Process> {
        system::living(self.root, &self.marker, &mut self.known)
    }
}

/// For the child between fork and exec: a session of its own, without controlling terminal.
pub(crate) fn detach() -> io::Result<()> {
    rustix::process::setsid()?;
    system::adopt_orphans()
}

fn signal_all(processes: &[Process], signal: Signal) {
    for process in processes {
        system::signal(*process, signal);
    }
}
