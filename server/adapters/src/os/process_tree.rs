//! The processes that a command has started, wherever they went, and their end (R7.3). All of it blocks. Knows nothing of pipes and output.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(not(target_os = "linux"))]
mod other_unix;

use std::collections::BTreeSet;
use std::io;
use std::os::fd::OwnedFd;
use std::thread;
use std::time::{Duration, Instant};

#[cfg(target_os = "linux")]
use linux as system;
#[cfg(not(target_os = "linux"))]
use other_unix as system;
use rustix::process::Signal;

pub(super) use system::{ADOPTS, close_at_exec, leaves};

/// In the environment of every process of a command, with the command's own value.
pub(crate) const MARKER: &str = "COPYDESK_COMMAND";

/// From TERM to KILL.
const GRACE: Duration = Duration::from_secs(1);
/// How long KILL is repeated: what does not die of it hangs in the kernel.
const KILL_LIMIT: Duration = Duration::from_millis(500);
/// Nothing tells of the end of a process that is not our child, so one has to look.
const LOOK_AGAIN: Duration = Duration::from_millis(20);
/// A look may take a while where there are thousands, or the machine is busy with them: it is idle for so many times as long as it looked.
const IDLE: u32 = 3;

/// A process, told apart from a later one that has got its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Process {
    pid: i32,
    /// When it started, in the system's own unit.
    started: u64,
}

/// A process and all that came of it.
///
/// Where it has a supervisor that adopts orphans (Linux), that is all that is below the supervisor: none can leave. Where it has none, or somebody has
/// killed it, the first process adopts the orphans as long as it lives, and the tree is its session and group, whoever carries the marker, and all that
/// were seen before. On other systems the tree is the process group.
#[derive(Debug)]
pub(crate) struct ProcessTree {
    /// Not of the tree.
    supervisor: Option<Process>,
    first: Process,
    /// Empty: nobody carries one.
    marker: String,
    /// All that were ever seen: their later children are found by them.
    known: BTreeSet<Process>,
    /// At its end the supervisor ends what is left.
    leash: Option<OwnedFd>,
}

impl ProcessTree {
    /// `child` has not been waited for, so that its number is its own. It has called `detach`.
    pub(crate) fn of_child(child: u32, marker: String) -> Option<Self> {
        let first = Process::of(i32::try_from(child).ok()?);
        Some(Self { supervisor: None, first, marker, known: BTreeSet::from([first]), leash: None })
    }

    /// `first` as its supervisor, a child of this process, has told it. When this is dropped the supervisor ends what is left.
    pub(super) fn supervised(supervisor: u32, first: i32, marker: String, leash: OwnedFd) -> Self {
        let supervisor = i32::try_from(supervisor).ok().map(Process::of);
        let first = Process::of(first);
        Self { supervisor, first, marker, known: BTreeSet::from([first]), leash: Some(leash) }
    }

    /// For the supervisor itself. `first` has not been waited for.
    pub(super) fn of_supervisor(first: i32) -> Self {
        let this = Process::of(rustix::process::getpid().as_raw_pid());
        let first = Process::of(first);
        Self { supervisor: Some(this), first, marker: String::new(), known: BTreeSet::new(), leash: None }
    }

    /// Those that live. A process that only waits to be collected by its parent does not.
    pub(crate) fn count_living(&mut self) -> usize {
        self.living().len()
    }

    /// TERM, a second of grace, KILL. Returns how many are left: none, unless the kernel holds them.
    pub(crate) fn end(&mut self) -> usize {
        // Before anything is looked for: hundreds that are busy leave no time to look. A group is stopped at once, whatever it is about to start.
        system::signal_first(self.first, Signal::STOP);
        let living = self.living();
        system::signal_all(&living, Signal::TERM);
        // One that is stopped hears nothing else.
        system::signal_all(&living, Signal::CONT);
        if self.wait(GRACE) { self.done() } else { self.kill() }
    }

    /// As `end`, without grace.
    pub(crate) fn kill(&mut self) -> usize {
        let start = Instant::now();
        let mut was_killed = false;
        system::signal_first(self.first, Signal::STOP);
        loop {
            self.stop(start);
            let living = self.living();
            if living.is_empty() {
                return self.done();
            }
            // A look may take longer than the limit; those that were seen once are dead then.
            if was_killed && start.elapsed() > KILL_LIMIT {
                return living.len();
            }
            system::signal_all(&living, Signal::KILL);
            was_killed = true;
            system::chase(self, LOOK_AGAIN);
        }
    }

    /// Stopped they start no others, and keep those from starting that wait for a free place: none is ahead of the next look.
    fn stop(&mut self, start: Instant) {
        let mut stopped = BTreeSet::new();
        loop {
            let new: Vec<_> = self.living().into_iter().filter(|process| !stopped.contains(process)).collect();
            if new.is_empty() || start.elapsed() > KILL_LIMIT {
                return;
            }
            system::signal_all(&new, Signal::STOP);
            stopped.extend(new);
        }
    }

    /// Nothing is left. The supervisor ends by itself, unless somebody has stopped it.
    fn done(&mut self) -> usize {
        if let Some(supervisor) = self.supervisor {
            system::signal(supervisor, Signal::CONT);
        }
        self.leash = None;
        0
    }

    /// Whether all were gone in time.
    fn wait(&mut self, limit: Duration) -> bool {
        let start = Instant::now();
        loop {
            let look = Instant::now();
            if self.living().is_empty() {
                return true;
            }
            if start.elapsed() > limit {
                return false;
            }
            thread::sleep(LOOK_AGAIN.max(look.elapsed() * IDLE).min(limit.saturating_sub(start.elapsed())));
        }
    }

    fn living(&mut self) -> Vec<Process> {
        let living = system::living(self);
        self.known.extend(&living);
        living
    }
}

impl Process {
    /// Starts at 0 where it is gone.
    fn of(pid: i32) -> Self {
        Self { pid, started: system::started(pid) }
    }
}

/// For a child between fork and exec: a session of its own, without controlling terminal; what its descendants leave behind becomes its own.
pub(crate) fn detach() -> io::Result<()> {
    rustix::process::setsid()?;
    system::adopt_orphans()
}
