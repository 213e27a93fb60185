//! A process of its own that ends what commands have left running when the daemon is killed without a chance to do it (`kill -9`). It learns of that by the
//! end of a pipe that the daemon alone holds, knows the commands by what it is told on it, and does nothing else.
//!
//! The kernel's own signal at a parent's end is no way: it belongs to a thread, and goes to the direct child alone.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, Read, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};

use super::process_tree::ProcessTree;

/// The daemon's end. Nothing runs before the first command.
#[derive(Debug)]
pub(super) struct Guardian {
    /// Program and arguments that run `watch`.
    launch: Vec<OsString>,
    running: Mutex<Option<Child>>,
}

impl Guardian {
    pub(super) fn new(launch: Vec<OsString>) -> Self {
        Self { launch, running: Mutex::default() }
    }

    /// Before the command is started, so that no moment is left unwatched.
    pub(super) fn expect(&self, marker: &str) {
        self.tell(&format!("expect {marker}\n"));
    }

    pub(super) fn know(&self, tree: &ProcessTree) {
        let (marker, pid, started) = tree.identity();
        self.tell(&format!("know {marker} {pid} {started}\n"));
    }

    /// Nothing of it is left.
    pub(super) fn forget(&self, marker: &str) {
        self.tell(&format!("forget {marker}\n"));
    }

    /// Where there is no guardian commands run all the same; they may then outlive a killed daemon.
    fn tell(&self, line: &str) {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let told = match running.as_mut() {
            Some(child) => write_to(child, line),
            None => Err(io::ErrorKind::NotConnected.into()),
        };
        let Err(_) = told else { return };
        if let Some(mut ended) = running.take() {
            // Closes its input, at which it ends.
            drop(ended.stdin.take());
            let _ = ended.wait();
        }
        match self.launch().and_then(|mut child| write_to(&mut child, line).map(|()| child)) {
            Ok(child) => *running = Some(child),
            Err(error) => tracing::warn!(%error, "commands may outlive this process if it is killed"),
        }
    }

    fn launch(&self) -> io::Result<Child> {
        let (program, arguments) = self.launch.split_first().ok_or(io::ErrorKind::NotFound)?;
        let mut command = Command::new(program);
        // A group of its own: who ends the daemon's whole group does not end it.
        command.args(arguments).env_clear().current_dir("/").process_group(0);
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()
    }
}

fn write_to(child: &mut Child, line: &str) -> io::Result<()> {
    child.stdin.as_mut().ok_or(io::ErrorKind::BrokenPipe)?.write_all(line.as_bytes())
}

/// The guardian's end: until `input` ends, then ends what is still known of.
pub fn watch(input: impl Read) {
    let mut trees: BTreeMap<String, ProcessTree> = BTreeMap::new();
    for line in BufReader::new(input).lines().map_while(Result::ok) {
        let mut words = line.split(' ');
        match (words.next(), words.next(), words.next(), words.next()) {
            (Some("expect"), Some(marker), ..) => {
                trees.insert(marker.to_owned(), ProcessTree::of_marker(marker.to_owned()));
            }
            (Some("know"), Some(marker), Some(pid), Some(started)) => {
                if let (Ok(pid), Ok(started)) = (pid.parse(), started.parse()) {
                    trees.insert(marker.to_owned(), ProcessTree::of_root(pid, started, marker.to_owned()));
                }
            }
            (Some("forget"), Some(marker), ..) => {
                trees.remove(marker);
            }
            _ => {}
        }
    }
    for tree in trees.values_mut() {
        tree.kill();
    }
}
