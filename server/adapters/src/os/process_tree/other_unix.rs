//! Unix without `/proc`: the tree is the process group of the first process, so what leaves the group is not found.

use std::io;
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal};

use super::{Process, ProcessTree};

/// Orphans go to the system's first process.
pub(in super::super) const ADOPTS: bool = false;

pub(super) fn living(tree: &ProcessTree) -> Vec<Process> {
    if leaves(tree.first.pid) { vec![tree.first] } else { Vec::new() }
}

pub(super) fn started(_pid: i32) -> u64 {
    0
}

pub(super) fn signal(process: Process, signal: Signal) {
    if let Some(group) = Pid::from_raw(process.pid) {
        // Gone: the next look tells.
        let _ = rustix::process::kill_process_group(group, signal);
    }
}

pub(super) fn signal_first(first: Process, signal_: Signal) {
    signal(first, signal_);
}

pub(super) fn signal_all(processes: &[Process], signal_: Signal) {
    for process in processes {
        signal(*process, signal_);
    }
}

/// What leaves the group is not found.
pub(super) fn chase(_tree: &ProcessTree, time: Duration) {
    thread::sleep(time);
}

pub(super) fn adopt_orphans() -> io::Result<()> {
    Ok(())
}

/// Whether anything is left of the command's group.
pub(in super::super) fn leaves(command: i32) -> bool {
    Pid::from_raw(command).is_some_and(|group| rustix::process::test_kill_process_group(group).is_ok())
}

/// No call does it for all; what we open ourselves is marked when it is opened.
pub(in super::super) fn close_at_exec() -> rustix::io::Result<()> {
    Ok(())
}
