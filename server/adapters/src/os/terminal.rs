//! A pseudo-terminal of a command's own: a program that asks for a password, a name or a yes there is answered by the user, and what he types comes back in
//! no output. Decides nothing about what may run, and draws nothing: it is a terminal that knows no cursor.

mod refusals;
mod screen;
mod waiting;

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use copydesk_engine::ports::{Keyboard, TerminalPrompt, Typed};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags};
use rustix::pty::OpenptFlags;
use rustix::termios::{
    InputModes, LocalModes, OptionalActions, OutputModes, SpecialCodeIndex, Termios, Winsize, tcgetattr, tcsetattr,
    tcsetwinsize,
};
use tokio::io::unix::AsyncFd;
use tokio::task::spawn_blocking;
use tokio::time::sleep;

use refusals::{Refusals, Reply};
use screen::Screen;
use waiting::{Looks, Proof, Reads, SETTLED, Watch};

/// Between two looks at a terminal that is quiet.
const LOOK: Duration = Duration::from_millis(100);
/// The same for one that has been quiet for `LONG_QUIET`.
const LOOK_SELDOM: Duration = Duration::from_secs(1);
const LONG_QUIET: Duration = Duration::from_secs(10);
/// What the system takes as one line.
const LONGEST_LINE: usize = 4000;
const SIZE: Winsize = Winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 };

/// Our end. The command's end closes with the last of its processes.
pub(super) struct Terminal {
    ours: AsyncFd<OwnedFd>,
    screen: Mutex<Screen>,
    /// By the name of the command's end. Blocks.
    reads: Arc<AskReads>,
}

type AskReads = dyn Fn(&CStr) -> Reads + Send + Sync;

/// The command's end.
pub(super) struct Line(OwnedFd);

/// The program goes on asking what nobody answers.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct HungUp;

pub(super) fn open() -> io::Result<(Arc<Terminal>, Line)> {
    open_with(Arc::new(waiting::reads))
}

fn open_with(reads: Arc<AskReads>) -> io::Result<(Arc<Terminal>, Line)> {
    let ours = rustix::pty::openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
    rustix::pty::grantpt(&ours)?;
    rustix::pty::unlockpt(&ours)?;
    let name = rustix::pty::ptsname(&ours, Vec::new())?;
    let line = rustix::fs::open(name, OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC, Mode::empty())?;
    let mut modes = tcgetattr(&line)?;
    set_up(&mut modes);
    tcsetattr(&line, OptionalActions::Now, &modes)?;
    tcsetwinsize(&line, SIZE)?;
    rustix::fs::fcntl_setfl(&ours, OFlags::NONBLOCK)?;
    #[expect(unsafe_code, reason = "the runtime cannot know who owns a descriptor")]
    // SAFETY: an `OwnedFd` keeps its descriptor for its life, and nobody takes it out again.
    let ours = unsafe { AsyncFd::register(ours) }?;
    Ok((Arc::new(Terminal { ours, screen: Mutex::new(Screen::new()), reads }), Line(line)))
}

/// A program that switches the echo off hides what is typed. Some switch off nothing else, so that it is on to begin with, as they expect it; what comes of it is taken
/// out by the screen.
fn set_up(modes: &mut Termios) {
    modes.local_modes.remove(LocalModes::ECHONL);
    modes.local_modes.insert(LocalModes::ICANON | LocalModes::ISIG | LocalModes::ECHO | LocalModes::ECHOK);
    modes.input_modes.insert(InputModes::ICRNL);
    // Lines end as they do in a pipe.
    modes.output_modes.remove(OutputModes::OPOST);
}

impl Line {
    /// In the command between fork and exec, in a session of its own: system calls alone.
    pub(super) fn enter(&self) -> io::Result<()> {
        rustix::process::ioctl_tiocsctty(&self.0)?;
        rustix::stdio::dup2_stdin(&self.0)?;
        rustix::stdio::dup2_stdout(&self.0)?;
        Ok(rustix::stdio::dup2_stderr(&self.0)?)
    }
}

impl Terminal {
    /// Appends what was written there, without what was typed; 0 at the end.
    pub(super) async fn read(&self, output: &mut Vec<u8>) -> io::Result<usize> {
        let mut bytes = vec![0; 64 * 1024];
        loop {
            let mut ready = self.ours.readable().await?;
            let read = ready.try_io(|ours| {
                // What is read is on the screen before anybody looks there again.
                let mut screen = self.screen();
                let length = rustix::io::read(ours.get_ref(), &mut bytes[..])?;
                Ok((length, screen.show(&bytes[..length])))
            });
            match read {
                // All of the command's ends are closed.
                Ok(Ok((0, _)) | Err(_)) => {
                    output.extend(self.screen().finish());
                    return Ok(output.len());
                }
                Ok(Ok((_, shown))) => {
                    output.extend(shown);
                    // What was typed alone is nothing to show, and no end.
                    if !output.is_empty() {
                        return Ok(output.len());
                    }
                }
                Err(_) => {}
            }
        }
    }

    /// Puts each prompt to the user. Ends only where nobody answers.
    pub(super) async fn answer_prompts(&self, keyboard: &dyn Keyboard) -> HungUp {
        let mut refusals = Refusals::default();
        loop {
            let (prompt, proof) = self.prompt().await;
            let line = prompt.text.clone();
            let typed = if refusals.may_ask(proof) {
                tokio::select! {
                    biased;
                    typed = keyboard.line(prompt) => typed,
                    // The program has given up waiting, or was answered by another one.
                    () = self.goes_on() => continue,
                }
            } else {
                None
            };
            if let Some(typed) = typed {
                refusals.answered();
                self.enter(&typed).await;
                continue;
            }
            match refusals.refuse(&line, proof) {
                Reply::EndOfInput => self.end_input().await,
                Reply::HangUp => return HungUp,
                Reply::Nothing => self.screen().typed("", false),
            }
        }
    }

    /// The next one.
    async fn prompt(&self) -> (TerminalPrompt, Proof) {
        let mut watch = Watch::default();
        loop {
            let quiet = self.screen().quiet();
            sleep(if quiet.min(watch.settled(Instant::now())) < LONG_QUIET { LOOK } else { LOOK_SELDOM }).await;
            // While something is written nobody waits, and to look for him is dear.
            if self.screen().quiet() < SETTLED {
                continue;
            }
            let Some(mut looks) = self.look().await else { continue };
            watch.see(&mut looks, Instant::now());
            if looks.is_waiting() {
                let (is_secret, proof) = (looks.is_secret(), looks.proof());
                return (TerminalPrompt { text: looks.line, is_secret }, proof);
            }
        }
    }

    /// Resolves when the program that waited does not wait any more.
    async fn goes_on(&self) {
        loop {
            sleep(LOOK_SELDOM).await;
            if let Some(looks) = self.look().await
                && !looks.still_waits()
            {
                return;
            }
        }
    }

    /// `None` where something was written that is not on the screen yet.
    async fn look(&self) -> Option<Looks> {
        let device = rustix::pty::ptsname(self.ours.get_ref(), Vec::new()).ok()?;
        let asked = Arc::clone(&self.reads);
        // This first, however long it takes: who reads has set the modes and written the prompt before.
        let reads = spawn_blocking(move || asked(&device)).await.unwrap_or(Reads::Unknown);
        let modes = tcgetattr(self.ours.get_ref()).ok()?;
        let screen = self.screen();
        if self.has_unread() {
            return None;
        }
        Some(Looks { quiet: screen.quiet(), line: screen.line(), reads, local: modes.local_modes })
    }

    /// Linux hands over what is still on its way before it answers a `poll`.
    fn has_unread(&self) -> bool {
        let mut ours = [PollFd::new(self.ours.get_ref(), PollFlags::IN)];
        let found = poll(&mut ours, Some(&Timespec { tv_sec: 0, tv_nsec: 0 }));
        found.is_ok_and(|_| ours[0].revents().contains(PollFlags::IN))
    }

    async fn enter(&self, typed: &Typed) {
        let text = typed.reveal();
        if text.len() > LONGEST_LINE {
            tracing::warn!(bytes = text.len(), "more was typed for a command than a terminal takes as a line");
            return self.end_input().await;
        }
        let modes = self.modes().map_or(LocalModes::ICANON, |modes| modes.local_modes);
        let is_line_wise = modes.contains(LocalModes::ICANON);
        let mut bytes = text.as_bytes().to_vec();
        bytes.push(if is_line_wise { b'\n' } else { b'\r' });
        self.screen().typed(text, modes.contains(LocalModes::ECHO));
        self.write(&bytes).await;
    }

    /// As `Ctrl-D` on an empty line.
    async fn end_input(&self) {
        let modes = self.modes();
        let end = modes.map_or(4, |modes| modes.special_codes[SpecialCodeIndex::VEOF]);
        self.screen().typed("", false);
        self.write(&[end]).await;
    }

    fn modes(&self) -> Option<Termios> {
        tcgetattr(self.ours.get_ref()).ok()
    }

    /// Whole, or not at all where the other end is closed.
    async fn write(&self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let Ok(mut ready) = self.ours.writable().await else { return };
            match ready.try_io(|ours| Ok(rustix::io::write(descriptor(ours), bytes)?)) {
                Ok(Ok(length)) => bytes = &bytes[length..],
                Ok(Err(_)) => return,
                Err(_) => {}
            }
        }
    }

    fn screen(&self) -> MutexGuard<'_, Screen> {
        self.screen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn descriptor(ours: &AsyncFd<OwnedFd>) -> BorrowedFd<'_> {
    ours.get_ref().as_fd()
}

#[cfg(test)]
#[path = "terminal_tests.rs"]
mod tests;
