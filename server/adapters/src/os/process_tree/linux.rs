//! Linux: the tree is read from `/proc` (proc_pid_stat(5), proc_pid_environ(5)).

use std::collections::BTreeSet;
use std::fs;
use std::io;

use rustix::process::{Pid, Signal, WaitOptions, wait};

use super::{MARKER, Process, ProcessTree};

/// Whether a supervisor is the parent of all that the command's processes leave behind.
pub(in super::super) const ADOPTS: bool = true;

struct Entry {
    process: Process,
    parent: i32,
    group: i32,
    session: i32,
    /// Ended, not yet collected by its parent.
    dead: bool,
}

pub(super) fn living(tree: &ProcessTree) -> Vec<Process> {
    let entries = entries();
    let lives = |process: &Process| entries.iter().any(|entry| entry.process == *process && !entry.dead);
    let supervisor = tree.supervisor.filter(lives).map(|supervisor| supervisor.pid);
    let mut members = match supervisor {
        Some(pid) => BTreeSet::from([pid]),
        None => found(tree, &entries),
    };
    loop {
        let before = members.len();
        for entry in &entries {
            if members.contains(&entry.parent) {
                members.insert(entry.process.pid);
            }
        }
        if members.len() == before {
            break;
        }
    }
    let found = entries.iter().filter(|entry| members.contains(&entry.process.pid));
    let found = found.filter(|entry| !entry.dead && supervisor != Some(entry.process.pid));
    found.map(|entry| entry.process).collect()
}

/// Without a supervisor: whoever shows that it belongs to the tree.
fn found(tree: &ProcessTree, entries: &[Entry]) -> BTreeSet<i32> {
    let first = tree.first;
    // A session keeps its number from being given again; where another process has it, the session is gone.
    let reused = entries.iter().any(|entry| entry.process.pid == first.pid && entry.process != first);
    let variable = format!("{MARKER}={}", tree.marker);
    let is_marked = |process: &Process| {
        !tree.marker.is_empty() && process.started >= first.started && has_variable(process.pid, &variable)
    };
    let belongs = |entry: &&Entry| {
        let in_session = !reused && (entry.session == first.pid || entry.group == first.pid);
        tree.known.contains(&entry.process) || in_session || is_marked(&entry.process)
    };
    entries.iter().filter(belongs).map(|entry| entry.process.pid).collect()
}

/// Clock ticks since the machine's start; 0 where the process is gone.
pub(super) fn started(pid: i32) -> u64 {
    entry(pid).map_or(0, |entry| entry.process.started)
}

pub(super) fn signal(process: Process, signal: Signal) {
    // The number may have been given to another process since the scan.
    if started(process.pid) == process.started
        && let Some(pid) = Pid::from_raw(process.pid)
    {
        // Gone, or another user's: the next scan tells.
        let _ = rustix::process::kill_process(pid, signal);
    }
}

pub(super) fn adopt_orphans() -> io::Result<()> {
    Ok(rustix::process::set_child_subreaper(Some(Pid::INIT))?)
}

/// For a supervisor whose command has ended: whether it has other children. Collects those that are dead.
pub(in super::super) fn leaves(_command: i32) -> bool {
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(None) => return true,
            Ok(Some(_)) | Err(rustix::io::Errno::INTR) => {}
            Err(_) => return false,
        }
    }
}

/// What the editor has left open in the daemon is no business of the next program's. Between fork and exec: one system call.
pub(in super::super) fn close_at_exec() -> rustix::io::Result<()> {
    const FIRST: u32 = 3;
    #[expect(unsafe_code, reason = "rustix has no call for it")]
    // SAFETY: marks descriptors, closes none now.
    let answer = unsafe { libc::syscall(libc::SYS_close_range, FIRST, u32::MAX, libc::CLOSE_RANGE_CLOEXEC) };
    if answer == 0 { Ok(()) } else { Err(rustix::io::Errno::NOSYS) }
}

fn entries() -> Vec<Entry> {
    let Ok(folder) = fs::read_dir("/proc") else { return Vec::new() };
    folder.filter_map(|found| entry(found.ok()?.file_name().to_str()?.parse().ok()?)).collect()
}

fn entry(pid: i32) -> Option<Entry> {
    let bytes = fs::read(format!("/proc/{}/stat", pid)).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    // The program's name stands in parentheses and may hold any character.
    let fields: Vec<_> = text[text.rfind(')')? + 1..].split_ascii_whitespace().collect();
    let number = |index: usize| fields.get(index)?.parse::<i32>().ok();
    Some(Entry {
        process: Process { pid, started: fields.get(19)?.parse().ok()? },
        parent: number(1)?,
        group: number(2)?,
        session: number(3)?,
        dead: matches!(*fields.first()?, "Z" | "X"),
    })
}

/// False where the process belongs to another user.
fn has_variable(pid: i32, variable: &str) -> bool {
    fs::read(format!("/proc/{}/environ", pid))
        .is_ok_and(|environment| environment.split(|byte| *byte == 0).any(|entry| entry == variable.as_bytes()))
}
