//! A terminal that does not show what is typed, for as long as a value lives. Reads nothing.

use std::os::fd::AsFd;

use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

pub(super) struct Unseen<T: AsFd> {
    terminal: T,
    before: Termios,
}

impl<T: AsFd> Unseen<T> {
    /// `None` where it is no terminal, or cannot be made to hide anything.
    pub(super) fn at(terminal: T) -> Option<Self> {
        let before = tcgetattr(&terminal).ok()?;
        let mut hiding = before.clone();
        hiding.local_modes.remove(LocalModes::ECHO | LocalModes::ECHONL);
        tcsetattr(&terminal, OptionalActions::Flush, &hiding).ok()?;
        Some(Self { terminal, before })
    }
}

impl<T: AsFd> Drop for Unseen<T> {
    fn drop(&mut self) {
        // A terminal that is gone shows nothing.
        let _ = tcsetattr(&self.terminal, OptionalActions::Now, &self.before);
    }
}
