//! A process between the daemon and a command: it adopts what the command's processes leave behind, so that none is ever lost, tells how the command
//! has ended, and ends all of it when the daemon is gone. This program itself, started anew. It decides nothing about what may run.
//!
//! One connection leads from it to the daemon. The daemon is gone when that ends, however it died; the kernel's own signal at a parent's end is no way: it
//! belongs to a thread, and goes to the direct child alone.

use std::ffi::{CString, OsString, c_char};
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;
use std::time::Duration;
use std::{ptr, thread};

use rustix::process::{Pid, Signal, WaitOptions, wait, waitpid};
use tokio::io::AsyncReadExt as _;
use tokio::process::{Child, Command};
use tokio::time::timeout;

use super::process_tree::{self, ProcessTree};

/// Between two attempts to end what is left: it may hang in the kernel for as long as the machine runs.
const FIRST_PAUSE: Duration = Duration::from_millis(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// Program and arguments that run `supervise`.
#[derive(Debug, Clone)]
pub(super) struct Launch {
    words: Vec<OsString>,
}

impl Launch {
    pub(super) fn new(words: Vec<OsString>) -> Self {
        Self { words }
    }

    /// Starts the command below a supervisor. Its standard input has to be `/dev/null`. `enter` runs in the command between fork and exec: it may make
    /// system calls alone, as the process was forked from one with threads. `marker` stands in the command's environment.
    pub(super) fn spawn(
        &self,
        mut command: Command,
        marker: String,
        enter: impl Fn() -> io::Result<()> + Send + Sync + 'static,
    ) -> io::Result<(Supervised, ProcessTree)> {
        let words: Vec<CString> =
            self.words.iter().map(|word| CString::new(word.clone().into_vec())).collect::<Result<_, _>>()?;
        let (ours, theirs) = UnixStream::pair()?;
        let known = ours.try_clone()?;
        #[expect(unsafe_code, reason = "std has no safe way to stand between a parent and its child")]
        // SAFETY: all of it makes system calls and neither allocates nor takes a lock.
        unsafe {
            command.pre_exec(move || {
                split(&words, known.as_fd(), theirs.as_fd())?;
                enter()
            });
        }
        let supervisor = command.spawn()?;
        // With it this process's copy of the supervisor's end.
        drop(command);
        let mut direct = [0; 4];
        // It was written before the program was started, which `spawn` has waited for.
        (&ours).read_exact(&mut direct)?;
        let leash = OwnedFd::from(ours.try_clone()?);
        let id = supervisor.id().ok_or(io::ErrorKind::NotFound)?;
        let tree = ProcessTree::supervised(id, i32::from_ne_bytes(direct), marker, leash);
        ours.set_nonblocking(true)?;
        Ok((Supervised { supervisor, reports: tokio::net::UnixStream::from_std(ours)? }, tree))
    }
}

/// A command below its supervisor. What is left of it ends when this and its `ProcessTree` are dropped.
pub(super) struct Supervised {
    supervisor: Child,
    reports: tokio::net::UnixStream,
}

pub(super) struct Exit {
    pub(super) status: ExitStatus,
    /// Whether anything that came of the command was still there.
    pub(super) leaves: bool,
}

impl Supervised {
    /// The end of the direct child; `None` where somebody has killed the supervisor, so that nobody will ever know. Asked once.
    pub(super) async fn wait(&mut self) -> Option<Exit> {
        let mut report = [0; 5];
        self.reports.read_exact(&mut report).await.ok()?;
        let [status @ .., leaves] = report;
        Some(Exit { status: ExitStatus::from_raw(i32::from_ne_bytes(status)), leaves: leaves != 0 })
    }

    /// Waits for the supervisor itself, once all is ended: it ends when nothing is left. Whether it did in time; else the runtime collects it later.
    pub(super) async fn collect(mut self, limit: Duration) -> bool {
        drop(self.reports);
        timeout(limit, self.supervisor.wait()).await.is_ok()
    }
}

/// In the child between fork and exec. Returns in a child of that child, which becomes the command; the other one becomes the supervisor.
fn split(words: &[CString], ours: BorrowedFd<'_>, theirs: BorrowedFd<'_>) -> io::Result<()> {
    // Before there is anything to be adopted.
    process_tree::detach()?;
    #[expect(unsafe_code, reason = "std starts programs alone")]
    // SAFETY: this process has one thread.
    let command = unsafe { libc::fork() };
    match command {
        ..0 => Err(io::Error::last_os_error()),
        // A session of its own again, whose number is its own.
        0 => rustix::process::setsid().map(drop).map_err(io::Error::from),
        1.. => {
            let error = supervisor(words, command, ours, theirs);
            if let Some(pid) = Pid::from_raw(command) {
                let _ = rustix::process::kill_process(pid, Signal::KILL);
                let _ = waitpid(Some(pid), WaitOptions::empty());
            }
            Err(error)
        }
    }
}

/// Returns only where it fails.
fn supervisor(words: &[CString], command: i32, ours: BorrowedFd<'_>, theirs: BorrowedFd<'_>) -> io::Error {
    match prepare(command, ours, theirs) {
        Ok(()) => become_program(words),
        Err(error) => error.into(),
    }
}

fn prepare(command: i32, ours: BorrowedFd<'_>, theirs: BorrowedFd<'_>) -> rustix::io::Result<()> {
    ignore_signals();
    let pid = command.to_ne_bytes();
    // What is written to an end arrives at the other one: both learn it.
    rustix::io::write(ours, &pid)?;
    rustix::io::write(theirs, &pid)?;
    // No output of the command: its reader waits for the end of it.
    rustix::stdio::dup2_stdout(rustix::stdio::stdin())?;
    rustix::stdio::dup2_stderr(rustix::stdio::stdin())?;
    rustix::stdio::dup2_stdin(theirs)?;
    process_tree::close_at_exec()?;
    // It keeps no folder from being unmounted.
    rustix::process::chdir(c"/")
}

/// Who tells all of the daemon's processes to end does not end the one by which it finds what is left. It stays so in the next program.
fn ignore_signals() {
    for signal in [libc::SIGHUP, libc::SIGINT, libc::SIGTERM] {
        #[expect(unsafe_code, reason = "no crate at hand has it")]
        // SAFETY: no handler is set.
        unsafe {
            libc::signal(signal, libc::SIG_IGN);
        }
    }
}

fn become_program(words: &[CString]) -> io::Error {
    // One more than the words, for the end.
    let mut arguments: [*const c_char; 8] = [ptr::null(); 8];
    let (Some(program), true) = (words.first(), words.len() < arguments.len()) else {
        return io::Error::from_raw_os_error(libc::ENOENT);
    };
    for (argument, word) in arguments.iter_mut().zip(words) {
        *argument = word.as_ptr();
    }
    let nothing: [*const c_char; 1] = [ptr::null()];
    #[expect(unsafe_code, reason = "std would start another process")]
    // SAFETY: all texts and both lists end with a null, and outlive the call.
    unsafe {
        libc::execve(program.as_ptr(), arguments.as_ptr(), nothing.as_ptr());
    }
    io::Error::last_os_error()
}

/// The supervisor's end; standard input is its connection to the daemon. Returns when nothing of the command is left.
pub fn supervise() -> io::Result<()> {
    let mut daemon = UnixStream::from(rustix::stdio::stdin().try_clone_to_owned()?);
    let mut command = [0; 4];
    daemon.read_exact(&mut command)?;
    let command = i32::from_ne_bytes(command);
    let watched = daemon.try_clone()?;
    let tree = ProcessTree::of_supervisor(command);
    let watch = thread::spawn(move || end_with(watched, tree));
    loop {
        match wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid.as_raw_pid() == command => {
                let [a, b, c, d] = status.as_raw().to_ne_bytes();
                // A daemon that is gone wants no report.
                let _ = daemon.write_all(&[a, b, c, d, process_tree::leaves(command).into()]);
            }
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(_) => break,
        }
    }
    if !process_tree::ADOPTS {
        // What is left is nobody's child here; it ends with the daemon's interest in it.
        let _ = watch.join();
    }
    Ok(())
}

/// The end of the connection, then that of all that is left.
fn end_with(mut daemon: UnixStream, mut tree: ProcessTree) {
    let _ = io::copy(&mut daemon, &mut io::sink());
    let mut pause = FIRST_PAUSE;
    // When nothing is left this process ends, with this thread: that it sees none may be because some are ahead of each look.
    loop {
        tree.kill();
        if !process_tree::ADOPTS {
            return;
        }
        thread::sleep(pause);
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

#[cfg(test)]
#[path = "supervisor_tests.rs"]
pub(super) mod tests;
