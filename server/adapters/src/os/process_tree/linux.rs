//! Linux: the tree is read from `/proc` (proc_pid_stat(5), proc_pid_environ(5)).

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::io;
use std::thread;
use std::time::{Duration, Instant};

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
    let (supervisor, members) = members(tree, &entries);
    let found = entries.iter().filter(|entry| members.contains(&entry.process.pid));
    let found = found.filter(|entry| !entry.dead && supervisor != Some(entry.process.pid));
    found.map(|entry| entry.process).collect()
}

/// The supervisor, where it lives, and all that belong to the tree.
fn members(tree: &ProcessTree, entries: &[Entry]) -> (Option<i32>, BTreeSet<i32>) {
    let lives = |process: &Process| entries.iter().any(|entry| entry.process == *process && !entry.dead);
    let supervisor = tree.supervisor.filter(lives).map(|supervisor| supervisor.pid);
    let mut members = match supervisor {
        Some(pid) => BTreeSet::from([pid]),
        None => found(tree, entries),
    };
    let mut children: HashMap<i32, Vec<i32>> = HashMap::new();
    for entry in entries {
        children.entry(entry.parent).or_default().push(entry.process.pid);
    }
    let mut new: Vec<i32> = members.iter().copied().collect();
    while let Some(pid) = new.pop() {
        new.extend(children.get(&pid).into_iter().flatten().filter(|child| members.insert(**child)));
    }
    (supervisor, members)
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

/// The group of the first process, as long as that has its number: one call, before which none of the group starts another and behind which none does.
pub(super) fn signal_first(first: Process, signal: Signal) {
    if first.started != 0 && started(first.pid) == first.started {
        signal_group(first.pid, signal);
    }
}

/// With the groups that they are in: in those of a session of the tree there are none but the tree's.
pub(super) fn signal_all(processes: &[Process], signal: Signal) {
    let own = rustix::process::getpgrp().as_raw_pid();
    let mut groups = BTreeSet::new();
    for process in processes {
        let Some(entry) = entry(process.pid).filter(|entry| entry.process == *process && !entry.dead) else { continue };
        if entry.group == own || entry.group <= 1 {
            self::signal(*process, signal);
        } else if groups.insert(entry.group) {
            signal_group(entry.group, signal);
        }
    }
}

fn signal_group(group: i32, signal: Signal) {
    if let Some(group) = Pid::from_raw(group) {
        let _ = rustix::process::kill_process_group(group, signal);
    }
}

/// For a while, what forks and leaves at each step, so that it is gone whenever all processes have been looked at: the youngest are looked at alone,
/// which takes less than a step. The orphans are the supervisor's children.
pub(super) fn chase(tree: &ProcessTree, time: Duration) {
    /// A step may be several processes long.
    const YOUNGEST: i32 = 4;
    let start = Instant::now();
    let Some(supervisor) = tree.supervisor else { return thread::sleep(time) };
    while start.elapsed() < time {
        let Some(last) = last_number() else { return thread::sleep(time.saturating_sub(start.elapsed())) };
        for pid in (last - YOUNGEST..=last).rev() {
            let Some(entry) = entry(pid).filter(|entry| !entry.dead && entry.process != supervisor) else { continue };
            if entry.parent == supervisor.pid {
                signal_all(&[entry.process], Signal::KILL);
            }
        }
        thread::yield_now();
    }
}

/// Of the process that was started last.
fn last_number() -> Option<i32> {
    fs::read_to_string("/proc/loadavg").ok()?.split_ascii_whitespace().next_back()?.parse().ok()
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
