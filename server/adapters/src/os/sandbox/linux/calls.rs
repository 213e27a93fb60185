//! The filters of seccomp: system calls that a confined command is refused. With `EPERM`, or with `ENOSYS` where programs then take an older way.
//!
//! Sockets of the machine itself (`AF_UNIX`) are refused, with the network and without: through them a command reaches a container daemon, the
//! session bus or a key agent, which act outside of the sandbox for it, and no filter sees where a `connect` leads. Connected pairs are made freely.

use std::collections::BTreeMap;
use std::ffi::c_int;
use std::io;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch, sock_filter,
};

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// Of other processes, of the kernel and of the machine. `ptrace` is not among them: Landlock holds it to the command's own processes, where debuggers
/// and leak checkers need it.
const REFUSED: &[i64] = &[
    libc::SYS_acct,
    libc::SYS_add_key,
    libc::SYS_bpf,
    libc::SYS_clock_settime,
    libc::SYS_delete_module,
    libc::SYS_fanotify_init,
    libc::SYS_finit_module,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fsopen,
    libc::SYS_fspick,
    libc::SYS_init_module,
    libc::SYS_kcmp,
    libc::SYS_kexec_load,
    libc::SYS_keyctl,
    libc::SYS_mount,
    libc::SYS_mount_setattr,
    libc::SYS_move_mount,
    libc::SYS_open_by_handle_at,
    libc::SYS_open_tree,
    libc::SYS_perf_event_open,
    libc::SYS_pidfd_getfd,
    libc::SYS_pivot_root,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_quotactl,
    libc::SYS_reboot,
    libc::SYS_request_key,
    libc::SYS_setdomainname,
    libc::SYS_sethostname,
    libc::SYS_setns,
    libc::SYS_settimeofday,
    libc::SYS_swapoff,
    libc::SYS_swapon,
    libc::SYS_syslog,
    libc::SYS_umount2,
    libc::SYS_userfaultfd,
    libc::SYS_vhangup,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ioperm,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_iopl,
];

/// `clone3` hides its flags in memory; `io_uring` makes calls that no filter sees.
const ABSENT: &[i64] =
    &[libc::SYS_clone3, libc::SYS_io_uring_setup, libc::SYS_io_uring_enter, libc::SYS_io_uring_register];

const NAMESPACES: [c_int; 7] = [
    libc::CLONE_NEWNS,
    libc::CLONE_NEWCGROUP,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
];
/// For `unshare` alone: in `clone` the bit belongs to the signal.
const CLONE_NEWTIME: u64 = 0x80;

/// Their first argument is the process, or 0 for the one that calls.
const OF_A_PROCESS: &[i64] = &[
    libc::SYS_migrate_pages,
    libc::SYS_move_pages,
    libc::SYS_prlimit64,
    libc::SYS_sched_setaffinity,
    libc::SYS_sched_setattr,
    libc::SYS_sched_setparam,
    libc::SYS_sched_setscheduler,
];

/// All processes of the user; its kin are one process (1) and a group of them (2).
const IOPRIO_WHO_USER: u64 = 3;

/// They put input into a terminal, for whoever reads from it next.
const TYPING: [u64; 2] = [0x5412 /* TIOCSTI */, 0x541c /* TIOCLINUX */];

/// Of the type of a socket, without its flags.
const SOCKET_TYPE: u64 = 0xf;

/// Whether the kernel filters calls, on a machine whose calls are known.
pub(super) fn check() -> Result<(), String> {
    architecture()?;
    let action: u32 = libc::SECCOMP_RET_ERRNO;
    #[expect(unsafe_code, reason = "no crate asks for it")]
    // SAFETY: reads the number that it is given.
    let answer = unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_GET_ACTION_AVAIL, 0u32, &raw const action) };
    super::done(answer).map_err(|error| format!("the kernel does not filter system calls with seccomp: {error}"))
}

/// To be installed all of them, in any order: of several answers the strictest counts.
pub(super) fn programs(network: bool) -> Result<Vec<BpfProgram>, String> {
    let broken = |error: seccompiler::BackendError| format!("the filter of system calls is broken: {error}");
    let refused = program(refused(network).map_err(broken)?, libc::EPERM)?;
    let absent = program(ABSENT.iter().map(|call| (*call, Vec::new())).collect(), libc::ENOSYS)?;
    Ok(vec![refused, absent])
}

/// Between fork and exec: one system call.
pub(super) fn install(program: &BpfProgram) -> io::Result<()> {
    let length = u16::try_from(program.len()).map_err(|_| io::Error::from_raw_os_error(libc::EINVAL))?;
    let filter = libc::sock_fprog { len: length, filter: program.as_ptr().cast::<libc::sock_filter>().cast_mut() };
    #[expect(unsafe_code, reason = "the crate's own call answers with an error that is allocated")]
    // SAFETY: both structures are those of the kernel, which copies the program and does not write to it.
    super::done(unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, 0u32, &raw const filter) })
}

fn refused(network: bool) -> Result<Rules, seccompiler::BackendError> {
    let mut rules: Rules = REFUSED.iter().map(|call| (*call, Vec::new())).collect();

    let namespaces = NAMESPACES.map(|flag| flag as u32 as u64);
    let clone = namespaces.iter().map(|flag| all(&[has(0, *flag)?])).collect::<Result<_, _>>()?;
    let unshare =
        namespaces.iter().chain([&CLONE_NEWTIME]).map(|flag| all(&[has(0, *flag)?])).collect::<Result<_, _>>()?;
    rules.insert(libc::SYS_clone, clone);
    rules.insert(libc::SYS_unshare, unshare);
    rules.insert(libc::SYS_ioctl, TYPING.into_iter().map(|request| all(&[is(1, request)?])).collect::<Result<_, _>>()?);
    // Limits, processors, priority and memory of another process. That a process names itself by its number the filter does not see: 0 is itself.
    for call in OF_A_PROCESS {
        rules.insert(*call, vec![all(&[is_not(0, 0)?])?]);
    }
    for (call, users) in [(libc::SYS_setpriority, libc::PRIO_USER as u64), (libc::SYS_ioprio_set, IOPRIO_WHO_USER)] {
        rules.insert(call, vec![all(&[is(0, users)?])?, all(&[is_not(1, 0)?])?]);
    }

    let [unix, inet, inet6, netlink] =
        [libc::AF_UNIX, libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK].map(|family| family as u32 as u64);
    let sockets = if network {
        let foreign = all(&[is_not(0, inet)?, is_not(0, inet6)?, is_not(0, netlink)?])?;
        let other_netlink = all(&[is(0, netlink)?, is_not(2, libc::NETLINK_ROUTE as u32 as u64)?])?;
        vec![foreign, other_netlink]
    } else {
        Vec::new()
    };
    rules.insert(libc::SYS_socket, sockets);
    // A pair of datagram sockets (which raw ones are too) can be turned to another address.
    let turnable = [libc::SOCK_DGRAM, libc::SOCK_RAW].map(|kind| masked(1, SOCKET_TYPE, kind as u32 as u64));
    let mut pairs = vec![all(&[is_not(0, unix)?])?];
    for kind in turnable {
        pairs.push(all(&[kind?])?);
    }
    rules.insert(libc::SYS_socketpair, pairs);
    Ok(rules)
}

fn program(rules: Rules, errno: c_int) -> Result<BpfProgram, String> {
    let answer = SeccompAction::Errno(errno.unsigned_abs());
    // Calls of another architecture, 32-bit ones among them, end the process.
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, answer, architecture()?);
    let filter = filter.and_then(BpfProgram::try_from);
    let filter = filter.map_err(|error| format!("the filter of system calls is broken: {error}"))?;
    Ok(x32_refused().into_iter().chain(filter).collect())
}

/// The calls of x32 have numbers of their own on the same architecture, which no rule would match: refused like calls that are not there.
fn x32_refused() -> Vec<sock_filter> {
    const LOAD_WORD: u16 = 0x20;
    const JUMP_IF_AT_LEAST: u16 = 0x35;
    const RETURN: u16 = 0x06;
    const X32_BIT: u32 = 0x4000_0000;
    if cfg!(target_arch = "x86_64") {
        let answer = libc::SECCOMP_RET_ERRNO | libc::ENOSYS.unsigned_abs();
        vec![
            // The call's number stands at the beginning.
            sock_filter { code: LOAD_WORD, jt: 0, jf: 0, k: 0 },
            sock_filter { code: JUMP_IF_AT_LEAST, jt: 0, jf: 1, k: X32_BIT },
            sock_filter { code: RETURN, jt: 0, jf: 0, k: answer },
        ]
    } else {
        Vec::new()
    }
}

fn architecture() -> Result<TargetArch, String> {
    let name = std::env::consts::ARCH;
    TargetArch::try_from(name).map_err(|_| format!("the system calls of {name} are not known here"))
}

fn all(conditions: &[SeccompCondition]) -> Result<SeccompRule, seccompiler::BackendError> {
    SeccompRule::new(conditions.to_vec())
}

/// The kernel looks at 32 bits of these arguments, so no others are compared.
fn condition(argument: u8, operator: SeccompCmpOp, value: u64) -> Result<SeccompCondition, seccompiler::BackendError> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, value)
}

fn is(argument: u8, value: u64) -> Result<SeccompCondition, seccompiler::BackendError> {
    condition(argument, SeccompCmpOp::Eq, value)
}

fn is_not(argument: u8, value: u64) -> Result<SeccompCondition, seccompiler::BackendError> {
    condition(argument, SeccompCmpOp::Ne, value)
}

fn has(argument: u8, flag: u64) -> Result<SeccompCondition, seccompiler::BackendError> {
    masked(argument, flag, flag)
}

fn masked(argument: u8, mask: u64, value: u64) -> Result<SeccompCondition, seccompiler::BackendError> {
    condition(argument, SeccompCmpOp::MaskedEq(mask), value)
}
