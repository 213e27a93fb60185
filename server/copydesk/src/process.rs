//! The process and its parents: standard output for the protocol alone, keys for nobody else, an end with the editor's. Commands are not started here.

use std::io;
use std::os::fd::OwnedFd;

use copydesk_protocol::rpc::Peer;

/// Standard output for the protocol: for this process alone, no child inherits it. What any code prints from now on goes to standard error (R22.5).
pub fn take_stdout() -> io::Result<OwnedFd> {
    // Above the three that a child is given.
    let stdout = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdout(), 3)?;
    rustix::stdio::dup2_stdout(rustix::stdio::stderr())?;
    Ok(stdout)
}

/// What the user's other processes, commands of the model among them, can read of this one in `/proc`: neither its environment nor its memory, where keys are
/// (R19.3). Debuggers are shut out as well. An administrator is not.
#[cfg(target_os = "linux")]
pub fn hide_memory() {
    if let Err(error) = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable) {
        tracing::warn!(%error, "commands may read the environment of this process");
    }
}

#[cfg(not(target_os = "linux"))]
pub fn hide_memory() {}

/// From now on a write beyond the largest size that files may have here (`ulimit -f`) fails as one to a full disk does, instead of ending the process.
/// Listened to, not ignored: what is ignored here would be ignored by commands too. To be called in a runtime.
#[cfg(unix)]
pub fn outlive_file_limits() {
    use tokio::signal::unix::{SignalKind, signal};
    // The listening goes on without the listener.
    if let Err(error) = signal(SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw())) {
        tracing::warn!(%error, "a file that grows beyond a limit ends the process");
    }
}

#[cfg(not(unix))]
pub fn outlive_file_limits() {}

/// Resolves when the process is told to end by SIGTERM, SIGINT or SIGHUP: so that what runs for it ends with it. Never where that cannot be heard.
#[cfg(unix)]
pub async fn told_to_end() {
    use tokio::signal::unix::{SignalKind, signal};
    let [Ok(mut terminate), Ok(mut interrupt), Ok(mut hang_up)] =
        [SignalKind::terminate(), SignalKind::interrupt(), SignalKind::hangup()].map(signal)
    else {
        tracing::warn!("signals end the process at once, and leave behind what it has started");
        return std::future::pending().await;
    };
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
        _ = hang_up.recv() => {}
    }
    tracing::info!("told to end by a signal");
}

#[cfg(not(unix))]
pub async fn told_to_end() {
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending().await
    }
}

/// How the process was told to stop what it does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signalled {
    /// Ctrl-C.
    Interrupt,
    /// SIGTERM, or the terminal is gone.
    End,
}

/// The signals that come from now on; without it each of them ends the process.
#[cfg(unix)]
pub struct Signals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
    hang_up: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    pub fn listen() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hang_up: signal(SignalKind::hangup())?,
        })
    }

    pub async fn next(&mut self) -> Signalled {
        tokio::select! {
            biased;
            _ = self.terminate.recv() => Signalled::End,
            _ = self.hang_up.recv() => Signalled::End,
            _ = self.interrupt.recv() => Signalled::Interrupt,
        }
    }
}

#[cfg(not(unix))]
pub struct Signals;

#[cfg(not(unix))]
impl Signals {
    pub fn listen() -> io::Result<Self> {
        Ok(Self)
    }

    pub async fn next(&mut self) -> Signalled {
        match tokio::signal::ctrl_c().await {
            Ok(()) => Signalled::Interrupt,
            Err(_) => std::future::pending().await,
        }
    }
}

/// Ends `peer` when the process `id` dies (R22.6). Waits for the kernel's word, without polling.
pub fn end_with(id: u32, peer: Peer) {
    tokio::spawn(async move {
        if parent::died(id).await {
            tracing::info!(id, "the editor's process has ended");
            peer.end();
        }
    });
}

#[cfg(target_os = "linux")]
mod parent {
    //! By a pidfd (Linux 5.3).

    use rustix::process::{Pid, PidfdFlags, pidfd_open};
    use tokio::io::Interest;
    use tokio::io::unix::AsyncFd;

    /// `false` where it cannot be told: end of input then ends the daemon alone.
    pub(super) async fn died(id: u32) -> bool {
        let Some(pid) = i32::try_from(id).ok().and_then(Pid::from_raw) else { return false };
        match pidfd_open(pid, PidfdFlags::empty()) {
            Ok(process) => {
                #[expect(unsafe_code, reason = "the descriptor is owned, and closed by the drop that deregisters it")]
                let process = unsafe { AsyncFd::register_with_interest(process, Interest::READABLE) };
                match process {
                    Ok(process) => process.readable().await.is_ok(),
                    Err(_) => false,
                }
            }
            Err(rustix::io::Errno::SRCH) => true,
            Err(_) => false,
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod parent {
    //! Elsewhere nothing tells without polling: end of input ends the daemon.

    pub(super) async fn died(_: u32) -> bool {
        false
    }
}
