//! A program at a pseudo-terminal that the test types into and reads. Unix alone.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::{FromRawFd as _, OwnedFd};
use std::process::Stdio;
use std::time::Duration;

use tokio::process::{Child, Command};
use tokio::sync::mpsc;

/// How long any single thing is waited for.
const LIMIT: Duration = Duration::from_secs(20);

pub struct Pty {
    child: Child,
    master: File,
    pieces: mpsc::UnboundedReceiver<Vec<u8>>,
    /// What has come and was not expected yet.
    seen: String,
}

impl Pty {
    /// Starts the program with the terminal as its standard streams and as the one that controls it.
    pub fn spawn(mut command: Command) -> Self {
        let (master, slave) = open();
        let stream = || Stdio::from(slave.try_clone().expect("a descriptor"));
        command.stdin(stream()).stdout(stream()).stderr(stream());
        // SAFETY: both calls are safe between fork and exec, and touch no memory.
        #[allow(unsafe_code, reason = "a terminal gets its session in the child")]
        unsafe {
            command.pre_exec(|| {
                if libc::setsid() == -1 || libc::ioctl(0, libc::TIOCSCTTY, 0) == -1 {
                    return Err(std::io::Error::last_os_error());
                }
                Ok(())
            });
        }
        let child = command.spawn().expect("the program starts");
        drop((slave, command));
        let (sender, pieces) = mpsc::unbounded_channel();
        let mut reader = master.try_clone().expect("a descriptor");
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            // The read fails when the last one at the terminal is gone.
            while let Ok(length @ 1..) = reader.read(&mut buffer) {
                if sender.send(buffer[..length].to_vec()).is_err() {
                    return;
                }
            }
        });
        Self { child, master, pieces, seen: String::new() }
    }

    /// Waits until the text is shown; what stands before it, and itself, is given back and done with.
    pub async fn expect(&mut self, text: &str) -> String {
        loop {
            if let Some(at) = self.seen.find(text) {
                let rest = self.seen.split_off(at + text.len());
                return std::mem::replace(&mut self.seen, rest);
            }
            match tokio::time::timeout(LIMIT, self.pieces.recv()).await {
                Ok(Some(piece)) => self.seen.push_str(&String::from_utf8_lossy(&piece).replace("\r\n", "\n")),
                Ok(None) | Err(_) => panic!("{text:?} was not shown; there is: {}", self.seen),
            }
        }
    }

    /// As keys: `\n` is Enter, `\u{3}` is Ctrl-C.
    pub fn type_text(&mut self, text: &str) {
        self.master.write_all(text.as_bytes()).expect("the terminal takes it");
    }

    /// The exit code, and all that was shown and not expected.
    pub async fn end(mut self) -> (Option<i32>, String) {
        let status = tokio::time::timeout(LIMIT, self.child.wait()).await.expect("it ends").expect("it was started");
        while let Ok(Some(piece)) = tokio::time::timeout(LIMIT, self.pieces.recv()).await {
            self.seen.push_str(&String::from_utf8_lossy(&piece).replace("\r\n", "\n"));
        }
        (status.code(), self.seen)
    }
}

fn open() -> (File, OwnedFd) {
    let (mut master, mut slave) = (-1, -1);
    // SAFETY: both integers outlive the call, and the others may be null.
    #[allow(unsafe_code, reason = "the system's own call")]
    let opened = unsafe {
        libc::openpty(&mut master, &mut slave, std::ptr::null_mut(), std::ptr::null_mut(), std::ptr::null_mut())
    };
    assert_eq!(opened, 0, "{}", std::io::Error::last_os_error());
    for descriptor in [master, slave] {
        // SAFETY: it was just opened. Other children of the test must not hold it.
        #[allow(unsafe_code, reason = "the system's own call")]
        unsafe {
            libc::fcntl(descriptor, libc::F_SETFD, libc::FD_CLOEXEC);
        }
    }
    // SAFETY: the call has given both to us alone.
    #[allow(unsafe_code, reason = "the descriptors become owned")]
    unsafe {
        (File::from_raw_fd(master), OwnedFd::from_raw_fd(slave))
    }
}
