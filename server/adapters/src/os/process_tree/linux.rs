//! Linux: the tree is read from `/proc` (proc_pid_stat(5), proc_pid_environ(5)).

use std::collections::BTreeSet;
use std::fs;
use std::io;

use rustix::process::{Pid, Signal};

use super::{MARKER, Process};

struct Entry {
    process: Process,
    parent: i32,
    group: i32,
    session: i32,
    /// Ended, not yet collected by its parent.
    dead: bool,
}

pub(super) fn living(root: Process, marker: &str, known: &mut BTreeSet<Process>) -> Vec<Process> {
    let entries = entries();
    // A session keeps its number from being given again; where another process has it, the session is gone.
    let reused = entries.iter().any(|entry| entry.process.pid == root.pid && entry.process != root);
    let variable = format!("{MARKER}={marker}");

    let mut members: BTreeSet<i32> = BTreeSet::new();
    for entry in &entries {
        let in_session = !reused && (entry.session == root.pid || entry.group == root.pid);
        if known.contains(&entry.process)
            || in_session
            || (entry.process.started >= root.started && has_variable(entry.process.pid, &variable))
        {
            members.insert(entry.process.pid);
        }
    }
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
    let living: Vec<_> = found.filter(|entry| !entry.dead).map(|entry| entry.process).collect();
    known.extend(&living);
    living
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
