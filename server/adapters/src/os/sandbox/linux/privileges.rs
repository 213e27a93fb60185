//! What an administrator's process gives up before it is confined: rights over the machine. Those over files, users and groups stay, which Landlock
//! holds to its own; a container's root needs them to work on the files of others.

use std::ffi::{c_int, c_ulong};
use std::io;

/// capabilities(7): CHOWN, DAC_OVERRIDE, FOWNER, FSETID, KILL, SETGID, SETUID, SETPCAP, NET_BIND_SERVICE, IPC_LOCK, SYS_CHROOT, SYS_NICE, LEASE.
const KEPT: [c_ulong; 13] = [0, 1, 3, 4, 5, 6, 7, 8, 10, 14, 18, 23, 28];
const LAST: c_ulong = 63;

/// Between fork and exec: system calls alone. Programs that would gain rights when they are started (`sudo`) gain none.
pub(super) fn give_up() -> io::Result<()> {
    prctl(libc::PR_SET_NO_NEW_PRIVS, 1)?;
    for capability in (0..=LAST).filter(|capability| !KEPT.contains(capability)) {
        match prctl(libc::PR_CAPBSET_DROP, capability) {
            Ok(()) => {}
            // No administrator: there is nothing to give up.
            Err(error) if error.raw_os_error() == Some(libc::EPERM) => break,
            // Behind the last that the kernel knows.
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => break,
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn prctl(option: c_int, value: c_ulong) -> io::Result<()> {
    #[expect(unsafe_code, reason = "rustix has no feature for it here")]
    // SAFETY: these options take numbers.
    super::done(unsafe { libc::prctl(option, value, 0 as c_ulong, 0 as c_ulong, 0 as c_ulong) }.into())
}
