//! Whether a program waits for the user at a terminal. Where the system tells which processes read from it (Linux, for processes of the user), by that; else
//! by what the terminal shows: no system tells of a program that runs as another user, as `sudo` does.

use std::ffi::CStr;
use std::time::{Duration, Instant};

use rustix::termios::LocalModes;

/// A program that reads writes its prompt first.
pub(super) const SETTLED: Duration = Duration::from_millis(80);
/// With echo switched off, which programs do for a password only.
const SETTLED_SECRET: Duration = Duration::from_millis(300);
/// By its last line alone.
const SETTLED_LINE: Duration = Duration::from_secs(2);

/// What is known of a terminal at one moment.
#[derive(Debug, Clone)]
pub(super) struct Looks {
    /// How long nothing has changed.
    pub(super) quiet: Duration,
    /// The last one, as far as it was written.
    pub(super) line: String,
    pub(super) reads: Reads,
    pub(super) local: LocalModes,
}

/// The later ones say more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Reads {
    /// No process is known to, though one may wait there in another way.
    Nobody,
    /// Not everybody there could be looked at.
    Unknown,
    /// A process waits for input at the terminal among other things, as one may that is at work and listens.
    Polls,
    /// A process waits in a read from the terminal.
    Waits,
}

/// By what it is known that a program waits. The later ones say more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Proof {
    /// Its last line, though nobody reads: as a bar that stands still has one.
    Doubtful,
    /// Its last line alone, where the system does not tell more.
    Guessed,
    /// Its last line, and it would take input, though it may be at work.
    Listens,
    /// It reads, or hides what is typed.
    Seen,
}

/// One look after the other. A program changes the modes, writes its prompt and reads: three things, between which a busy machine may leave any time.
#[derive(Debug, Default)]
pub(super) struct Watch {
    last: Option<(Reads, LocalModes, Instant)>,
}

impl Watch {
    /// The terminal counts as quiet only since its modes, and who reads from it, are as they are too.
    pub(super) fn see(&mut self, looks: &mut Looks, now: Instant) {
        match self.last {
            Some((reads, local, _)) if (reads, local) == (looks.reads, looks.local) => {}
            _ => self.last = Some((looks.reads, looks.local, now)),
        }
        looks.quiet = looks.quiet.min(self.settled(now));
    }

    /// How long modes and readers have been as they were seen last.
    pub(super) fn settled(&self, now: Instant) -> Duration {
        self.last.map_or(Duration::ZERO, |(.., since)| now.duration_since(since))
    }
}

impl Looks {
    pub(super) fn is_waiting(&self) -> bool {
        self.quiet >= SETTLED && self.reads == Reads::Waits
            || self.quiet >= SETTLED_SECRET && self.hides()
            || self.quiet >= SETTLED_LINE && self.asks()
    }

    /// Of one that did wait, whatever it has written since.
    pub(super) fn still_waits(&self) -> bool {
        self.reads == Reads::Waits || self.hides() || self.asks()
    }

    /// Of one that waits.
    pub(super) fn proof(&self) -> Proof {
        match self.reads {
            Reads::Waits => Proof::Seen,
            _ if self.hides() => Proof::Seen,
            Reads::Polls => Proof::Listens,
            Reads::Unknown => Proof::Guessed,
            Reads::Nobody => Proof::Doubtful,
        }
    }

    pub(super) fn is_secret(&self) -> bool {
        const WORDS: [&str; 8] = ["password", "passphrase", "phrase", "passwd", "passcode", "secret", "token", "pin"];
        let line = self.line.to_lowercase();
        let mut words = line.split(|char: char| !char.is_alphanumeric());
        self.hides() || words.any(|word| WORDS.contains(&word))
    }

    /// Those that draw their own lines switch off both.
    fn hides(&self) -> bool {
        self.local.contains(LocalModes::ICANON) && !self.local.contains(LocalModes::ECHO)
    }

    fn asks(&self) -> bool {
        self.line.ends_with(['?', ':', '>', ']', ')', '$', '#'])
    }
}

#[cfg(target_os = "linux")]
pub(super) fn reads(terminal: &CStr) -> Reads {
    linux::reads(terminal).unwrap_or(Reads::Unknown)
}

#[cfg(not(target_os = "linux"))]
pub(super) fn reads(_terminal: &CStr) -> Reads {
    Reads::Unknown
}

#[cfg(target_os = "linux")]
mod linux {
    //! `/proc` (proc_pid_stat(5), proc_pid_syscall(5), proc_pid_fdinfo(5), proc_pid_mem(5)).

    use std::ffi::CStr;
    use std::fs;
    use std::io;
    use std::os::unix::fs::{FileExt as _, MetadataExt as _};
    use std::path::Path;

    use super::Reads;

    /// `/dev/tty`, as a program opens it that controls one.
    const OWN_TERMINAL: (u32, u32) = (5, 0);
    const EPOLL: &[libc::c_long] = &[
        #[cfg(target_arch = "x86_64")]
        libc::SYS_epoll_wait,
        libc::SYS_epoll_pwait,
        libc::SYS_epoll_pwait2,
    ];
    const POLL: &[libc::c_long] = &[
        #[cfg(target_arch = "x86_64")]
        libc::SYS_poll,
        libc::SYS_ppoll,
    ];
    const SELECT: &[libc::c_long] = &[
        #[cfg(target_arch = "x86_64")]
        libc::SYS_select,
        libc::SYS_pselect6,
    ];
    /// Of files that are awaited at once: as many as `select` takes.
    const MOST_AWAITED: u64 = libc::FD_SETSIZE as u64;

    pub(super) fn reads(terminal: &CStr) -> Option<Reads> {
        let terminal = rustix::fs::stat(terminal).ok()?.st_rdev;
        let is_terminal =
            |device: u64| device == terminal || (rustix::fs::major(device), rustix::fs::minor(device)) == OWN_TERMINAL;
        let mut found = Reads::Nobody;
        for entry in fs::read_dir("/proc").ok()?.flatten() {
            let name = entry.file_name();
            let is_process = name.to_str().is_some_and(|name| name.bytes().all(|byte| byte.is_ascii_digit()));
            if is_process && controlled_by(&entry.path()).is_some_and(|device| u64::from(device) == terminal) {
                found = found.max(threads_read(&entry.path(), &is_terminal));
                if found == Reads::Waits {
                    break;
                }
            }
        }
        Some(found)
    }

    /// The device number of the process's terminal, in the kernel's own form, which for small numbers is that of `stat` too.
    fn controlled_by(process: &Path) -> Option<u32> {
        let bytes = fs::read(process.join("stat")).ok()?;
        let text = String::from_utf8_lossy(&bytes);
        let number: i32 = text[text.rfind(')')? + 1..].split_ascii_whitespace().nth(4)?.parse().ok()?;
        Some(number.cast_unsigned())
    }

    /// The most that a thread does with such a device.
    fn threads_read(process: &Path, is_terminal: &impl Fn(u64) -> bool) -> Reads {
        let threads = fs::read_dir(process.join("task")).into_iter().flatten().flatten();
        let mut found = Reads::Nobody;
        for thread in threads {
            found = found.max(match fs::read_to_string(thread.path().join("syscall")) {
                Ok(text) => reads_terminal(process, &text, is_terminal),
                // Another user's. One that has ended meanwhile is no reader.
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Reads::Unknown,
                Err(_) => Reads::Nobody,
            });
        }
        found
    }

    fn reads_terminal(process: &Path, call: &str, is_terminal: &impl Fn(u64) -> bool) -> Reads {
        let mut fields = call.split_ascii_whitespace();
        let Some(call) = fields.next().and_then(|number| number.parse().ok()) else { return Reads::Nobody };
        let mut argument = || u64::from_str_radix(fields.next()?.trim_start_matches("0x"), 16).ok();
        let (Some(first), Some(second)) = (argument(), argument()) else { return Reads::Nobody };
        let is_of_terminal = |file: u64| {
            fs::metadata(process.join("fd").join(file.to_string())).is_ok_and(|found| is_terminal(found.rdev()))
        };
        if call == libc::SYS_read {
            return if is_of_terminal(first) { Reads::Waits } else { Reads::Nobody };
        }
        let awaited = match call {
            call if EPOLL.contains(&call) => awaited_by(process, first),
            call if POLL.contains(&call) => polled(process, first, second).unwrap_or_default(),
            call if SELECT.contains(&call) => selected(process, second, first).unwrap_or_default(),
            _ => return Reads::Nobody,
        };
        if awaited.into_iter().any(is_of_terminal) { Reads::Polls } else { Reads::Nobody }
    }

    /// The files from which an epoll instance awaits input.
    fn awaited_by(process: &Path, instance: u64) -> Vec<u64> {
        let about = fs::read_to_string(process.join("fdinfo").join(instance.to_string())).unwrap_or_default();
        let awaited = |line: &str| {
            let mut fields = line.strip_prefix("tfd:")?.split_ascii_whitespace();
            let file = fields.next()?.parse().ok()?;
            let events = fields.skip_while(|field| *field != "events:").nth(1)?;
            let events = u32::from_str_radix(events, 16).ok()?;
            (events & libc::EPOLLIN.cast_unsigned() != 0).then_some(file)
        };
        about.lines().filter_map(awaited).collect()
    }

    /// Those of `count` entries of `poll` (poll(2)) that await input.
    fn polled(process: &Path, at: u64, count: u64) -> Option<Vec<u64>> {
        let bytes = memory(process, at, count.min(MOST_AWAITED) * 8)?;
        let awaited = |entry: &[u8; 8]| {
            let [a, b, c, d, events @ .., _, _] = *entry;
            let file = u64::try_from(i32::from_ne_bytes([a, b, c, d])).ok()?;
            (i16::from_ne_bytes(events) & libc::POLLIN != 0).then_some(file)
        };
        Some(bytes.as_chunks().0.iter().filter_map(awaited).collect())
    }

    /// Those below `end` in a set of `select` (select(2)): bits of machine words.
    fn selected(process: &Path, at: u64, end: u64) -> Option<Vec<u64>> {
        const BITS: u64 = libc::c_ulong::BITS as u64;
        let end = end.min(MOST_AWAITED);
        let bytes = memory(process, at, end.div_ceil(BITS) * BITS / 8)?;
        let words: Vec<_> = bytes.as_chunks().0.iter().map(|word| libc::c_ulong::from_ne_bytes(*word)).collect();
        let is_in = |file: &u64| {
            let word = usize::try_from(file / BITS).ok().and_then(|at| words.get(at));
            word.is_some_and(|word| word >> (file % BITS) & 1 == 1)
        };
        Some((0..end).filter(is_in).collect())
    }

    /// Whoever may know a call of a process may read its memory.
    fn memory(process: &Path, at: u64, length: u64) -> Option<Vec<u8>> {
        let mut bytes = vec![0; usize::try_from(length).ok()?];
        fs::File::open(process.join("mem")).ok()?.read_exact_at(&mut bytes, at).ok()?;
        Some(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: LocalModes = LocalModes::ICANON.union(LocalModes::ECHO);

    fn looks(milliseconds: u64, line: &str, reads: Reads, local: LocalModes) -> Looks {
        Looks { quiet: Duration::from_millis(milliseconds), line: line.to_owned(), reads, local }
    }

    #[test]
    fn c49_a_program_waits_where_it_reads_or_looks_like_it() {
        let check = |looks: Looks, expected: bool| assert_eq!(looks.is_waiting(), expected, "{looks:?}");
        check(looks(10, "", Reads::Waits, PLAIN), false);
        check(looks(100, "", Reads::Waits, PLAIN), true);
        check(looks(400, "", Reads::Unknown, LocalModes::ICANON), true);
        check(looks(100, "Password:", Reads::Unknown, LocalModes::ICANON), false);
        check(looks(400, "Continue? [y/N]", Reads::Unknown, PLAIN), false);
        check(looks(2500, "Continue? [y/N]", Reads::Unknown, PLAIN), true);
        check(looks(400, "Continue? [y/N]", Reads::Polls, PLAIN), false);
        check(looks(2500, "Continue? [y/N]", Reads::Polls, LocalModes::empty()), true);
        check(looks(9000, "press h for help", Reads::Polls, LocalModes::empty()), false);
        check(looks(9000, "downloading 45%", Reads::Unknown, PLAIN), false);
        check(looks(9000, "", Reads::Unknown, PLAIN), false);
        check(looks(9000, "", Reads::Unknown, LocalModes::empty()), false);
    }

    #[test]
    fn c49_what_a_program_does_one_after_the_other_is_seen_together() {
        let start = Instant::now();
        let mut watch = Watch::default();
        let mut check = |at: u64, line: &str, reads, local, expected: bool| {
            // Nothing has been written for long.
            let mut looks = looks(60_000, line, reads, local);
            watch.see(&mut looks, start + Duration::from_millis(at));
            assert_eq!(looks.is_waiting(), expected, "{at}: {looks:?}");
        };
        check(0, "", Reads::Unknown, PLAIN, false);
        check(100, "", Reads::Unknown, PLAIN, false);
        // It hides what is typed; the prompt comes later.
        check(200, "", Reads::Unknown, LocalModes::ICANON, false);
        check(400, "Key: ", Reads::Unknown, LocalModes::ICANON, false);
        check(500, "Key: ", Reads::Waits, LocalModes::ICANON, false);
        check(600, "Key: ", Reads::Waits, LocalModes::ICANON, true);
        check(700, "", Reads::Waits, PLAIN, false);
        check(710, "", Reads::Waits, PLAIN, false);
        check(800, "", Reads::Waits, PLAIN, true);
        check(900, "", Reads::Unknown, LocalModes::ICANON, false);
        check(1300, "", Reads::Unknown, LocalModes::ICANON, true);
    }

    #[test]
    fn c49_only_what_reads_or_hides_is_sure_to_wait() {
        let check = |reads, local, expected: Proof| {
            let looks = looks(2500, "[==> ] 45/100: foo(bar)", reads, local);
            assert_eq!((looks.is_waiting(), looks.proof()), (true, expected), "{looks:?}");
        };
        check(Reads::Waits, PLAIN, Proof::Seen);
        check(Reads::Nobody, LocalModes::ICANON, Proof::Seen);
        check(Reads::Polls, LocalModes::ICANON, Proof::Seen);
        check(Reads::Polls, PLAIN, Proof::Listens);
        check(Reads::Unknown, PLAIN, Proof::Guessed);
        check(Reads::Nobody, PLAIN, Proof::Doubtful);
    }

    #[test]
    fn c49_what_is_typed_unseen_or_named_so_is_a_secret() {
        let check = |line: &str, local, expected: bool| {
            assert_eq!(looks(0, line, Reads::Waits, local).is_secret(), expected, "{line}");
        };
        check("Name:", PLAIN, false);
        check("Name:", LocalModes::ICANON, true);
        check("Password for 'https://a@b':", PLAIN, true);
        check("Enter PIN:", PLAIN, true);
        check("Enter pass phrase for k.pem:", PLAIN, true);
        check("Spinning? [y/N]", PLAIN, false);
        check("Password:", LocalModes::empty(), true);
    }
}
