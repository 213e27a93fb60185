//! Unix without `/proc`: the tree is the process group of the direct child, so what leaves the group is not found.

use std::collections::BTreeSet;
use std::io;

use rustix::process::{Pid, Signal};

use super::Process;

pub(super) fn living(root: Process, _marker: &str, _known: &mut BTreeSet<Process>) -> Vec<Process> {
    let group = Pid::from_raw(root.pid).filter(|_| root.pid > 0);
    match group.map(rustix::process::test_kill_process_group) {
        Some(Ok(())) => vec![root],
        Some(Err(_)) | None => Vec::new(),
    }
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

pub(super) fn adopt_orphans() -> io::Result<()> {
    Ok(())
}
