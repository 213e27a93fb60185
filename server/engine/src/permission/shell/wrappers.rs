//! Programs that run the command in their own words: which of their options take a value, and where the command begins.

use super::options::{Arg, Order, Parsed, Spec};

#[derive(Debug, Clone, Copy)]
pub(super) struct Wrapper {
    pub(super) name: &'static str,
    options: Spec,
    /// Operands before the command: the time of `timeout`.
    operands: usize,
    /// `NAME=value` may stand before the command.
    pub(super) assigns: bool,
    /// Why it is judged itself too. `None`: it changes nothing of what the command does.
    pub(super) judged: Option<&'static str>,
    /// Options after which the command is another than the words say, or is read from a string.
    strange: &'static [&'static str],
}

/// What stands in a wrapper's words.
pub(super) enum Wrapped {
    /// The command begins at this index of the wrapper's arguments.
    Command { at: usize, parsed: Parsed },
    /// It runs nothing else: `env`, `command -v x`.
    Nothing,
    /// Its words do not tell.
    Unknown(&'static str),
}

const PLAIN: Wrapper = Wrapper {
    name: "",
    options: Spec { short: "", long: &[] },
    operands: 0,
    assigns: false,
    judged: None,
    strange: &[],
};

const OTHER_USER: Option<&str> = Some("runs a command with the rights of another user");
const OTHER_ROOT: Option<&str> = Some("runs a command in other surroundings");
const WATCHED: Option<&str> = Some("runs a command under a tool that can change it");

const WRAPPERS: &[Wrapper] = &[
    Wrapper {
        name: "env",
        options: Spec {
            short: "i0u:C:vS:",
            long: &[
                "ignore-environment",
                "null",
                "unset=",
                "chdir=",
                "debug",
                "split-string=",
                "default-signal?",
                "ignore-signal?",
                "block-signal?",
            ],
        },
        assigns: true,
        strange: &["S", "split-string"],
        ..PLAIN
    },
    Wrapper { name: "command", options: Spec { short: "pvV", long: &[] }, ..PLAIN },
    Wrapper { name: "builtin", ..PLAIN },
    Wrapper { name: "exec", options: Spec { short: "cla:", long: &[] }, ..PLAIN },
    Wrapper { name: "nohup", ..PLAIN },
    Wrapper { name: "setsid", options: Spec { short: "cfw", long: &["ctty", "fork", "wait"] }, ..PLAIN },
    Wrapper { name: "nice", options: Spec { short: "#n:", long: &["adjustment="] }, ..PLAIN },
    Wrapper { name: "ionice", options: Spec { short: "c:n:t", long: &["class=", "classdata=", "ignore"] }, ..PLAIN },
    Wrapper {
        name: "timeout",
        options: Spec { short: "k:s:v", long: &["kill-after=", "signal=", "foreground", "preserve-status", "verbose"] },
        operands: 1,
        ..PLAIN
    },
    Wrapper { name: "stdbuf", options: Spec { short: "i:o:e:", long: &["input=", "output=", "error="] }, ..PLAIN },
    Wrapper {
        name: "time",
        options: Spec { short: "pvf:ao:", long: &["portability", "verbose", "format=", "append", "output="] },
        ..PLAIN
    },
    Wrapper {
        name: "chrt",
        options: Spec { short: "bfiorvRd", long: &["batch", "fifo", "idle", "other", "rr"] },
        operands: 1,
        ..PLAIN
    },
    Wrapper { name: "taskset", options: Spec { short: "c", long: &["cpu-list"] }, operands: 1, ..PLAIN },
    Wrapper { name: "caffeinate", options: Spec { short: "disumt:", long: &[] }, ..PLAIN },
    Wrapper { name: "unbuffer", options: Spec { short: "p", long: &[] }, judged: WATCHED, ..PLAIN },
    Wrapper {
        name: "sudo",
        options: Spec {
            short: "ABbEHnPSkKu:g:h:p:C:r:t:T:U:D:R:is",
            long: &[
                "askpass",
                "background",
                "preserve-env?",
                "set-home",
                "non-interactive",
                "preserve-groups",
                "stdin",
                "user=",
                "group=",
                "host=",
                "prompt=",
                "chdir=",
                "chroot=",
                "login",
                "shell",
            ],
        },
        assigns: true,
        judged: OTHER_USER,
        strange: &["i", "s", "login", "shell", "R", "chroot"],
        ..PLAIN
    },
    Wrapper {
        name: "doas",
        options: Spec { short: "nLsu:C:a:", long: &[] },
        judged: OTHER_USER,
        strange: &["s"],
        ..PLAIN
    },
    Wrapper {
        name: "pkexec",
        options: Spec { short: "u:", long: &["user=", "disable-internal-agent"] },
        judged: OTHER_USER,
        ..PLAIN
    },
    Wrapper { name: "runuser", options: Spec { short: "u:", long: &["user="] }, judged: OTHER_USER, ..PLAIN },
    Wrapper { name: "setpriv", judged: OTHER_USER, ..PLAIN },
    Wrapper {
        name: "chroot",
        options: Spec { short: "", long: &["userspec=", "groups=", "skip-chdir"] },
        operands: 1,
        judged: OTHER_ROOT,
        ..PLAIN
    },
    Wrapper {
        name: "unshare",
        options: Spec { short: "mupifUCTrcn", long: &["map-root-user", "fork", "net", "mount", "pid", "user"] },
        judged: OTHER_ROOT,
        ..PLAIN
    },
    Wrapper {
        name: "nsenter",
        options: Spec { short: "at:mupiUCT", long: &["target=", "all"] },
        judged: OTHER_ROOT,
        ..PLAIN
    },
    Wrapper { name: "setarch", operands: 1, judged: OTHER_ROOT, ..PLAIN },
    Wrapper { name: "linux32", judged: OTHER_ROOT, ..PLAIN },
    Wrapper { name: "linux64", judged: OTHER_ROOT, ..PLAIN },
    Wrapper { name: "prlimit", judged: OTHER_ROOT, ..PLAIN },
    Wrapper { name: "dbus-run-session", judged: OTHER_ROOT, options: Spec { short: "", long: &[] }, ..PLAIN },
    Wrapper {
        name: "xvfb-run",
        options: Spec { short: "an:s:e:f:", long: &["auto-servernum", "server-num=", "server-args=", "error-file="] },
        judged: OTHER_ROOT,
        ..PLAIN
    },
    Wrapper { name: "systemd-run", judged: OTHER_ROOT, ..PLAIN },
    Wrapper { name: "systemd-inhibit", judged: OTHER_ROOT, ..PLAIN },
    Wrapper { name: "firejail", judged: OTHER_ROOT, ..PLAIN },
    Wrapper { name: "bwrap", judged: OTHER_ROOT, ..PLAIN },
    Wrapper { name: "proxychains", judged: OTHER_ROOT, ..PLAIN },
    Wrapper { name: "torsocks", judged: OTHER_ROOT, ..PLAIN },
    Wrapper { name: "faketime", operands: 1, judged: OTHER_ROOT, ..PLAIN },
    Wrapper { name: "fakeroot", judged: OTHER_ROOT, ..PLAIN },
    Wrapper {
        name: "strace",
        options: Spec { short: "fFqvyce:o:p:s:", long: &["follow-forks", "output=", "trace="] },
        judged: WATCHED,
        ..PLAIN
    },
    Wrapper { name: "ltrace", options: Spec { short: "fe:o:p:s:", long: &["output="] }, judged: WATCHED, ..PLAIN },
    Wrapper {
        name: "valgrind",
        options: Spec { short: "qv", long: &["tool=", "leak-check=", "error-exitcode=", "quiet"] },
        judged: WATCHED,
        ..PLAIN
    },
    Wrapper { name: "catchsegv", judged: WATCHED, ..PLAIN },
    Wrapper { name: "entr", options: Spec { short: "acdnprsz", long: &[] }, judged: WATCHED, strange: &["s"], ..PLAIN },
    Wrapper { name: "choom", options: Spec { short: "n:", long: &["adjust="] }, judged: OTHER_ROOT, ..PLAIN },
    Wrapper { name: "numactl", judged: OTHER_ROOT, ..PLAIN },
    Wrapper { name: "ssh-agent", judged: OTHER_ROOT, ..PLAIN },
    Wrapper { name: "eatmydata", judged: OTHER_ROOT, ..PLAIN },
    Wrapper { name: "tini", judged: OTHER_ROOT, ..PLAIN },
    Wrapper { name: "dumb-init", judged: OTHER_ROOT, ..PLAIN },
    Wrapper { name: "gosu", operands: 1, judged: OTHER_USER, ..PLAIN },
    Wrapper { name: "su-exec", operands: 1, judged: OTHER_USER, ..PLAIN },
    Wrapper { name: "sshpass", options: Spec { short: "p:f:d:eP:v", long: &[] }, judged: WATCHED, ..PLAIN },
    Wrapper { name: "chronic", options: Spec { short: "ev", long: &[] }, judged: WATCHED, ..PLAIN },
    Wrapper { name: "ifne", options: Spec { short: "n", long: &[] }, judged: WATCHED, ..PLAIN },
    Wrapper { name: "cross-env", assigns: true, judged: OTHER_ROOT, ..PLAIN },
    Wrapper { name: "busybox", judged: Some("runs one of its programs"), ..PLAIN },
    Wrapper { name: "toybox", judged: Some("runs one of its programs"), ..PLAIN },
    Wrapper {
        name: "npx",
        options: Spec { short: "yqc:p:", long: &["yes", "no", "package=", "call=", "quiet"] },
        judged: Some("may fetch and run a package"),
        strange: &["c", "call"],
        ..PLAIN
    },
    Wrapper { name: "bunx", judged: Some("may fetch and run a package"), ..PLAIN },
    Wrapper {
        name: "uvx",
        options: Spec { short: "", long: &["from=", "with="] },
        judged: Some("may fetch and run a package"),
        ..PLAIN
    },
    Wrapper { name: "ccache", judged: WATCHED, ..PLAIN },
    Wrapper { name: "sccache", judged: WATCHED, ..PLAIN },
    Wrapper {
        name: "xargs",
        options: Spec {
            short: "0prtxoa:d:E:e::I:i::L:l::n:P:s:",
            long: &[
                "null",
                "interactive",
                "no-run-if-empty",
                "verbose",
                "exit",
                "open-tty",
                "show-limits",
                "arg-file=",
                "delimiter=",
                "eof?",
                "replace?",
                "max-lines?",
                "max-args=",
                "max-procs=",
                "max-chars=",
                "process-slot-var=",
            ],
        },
        judged: Some("runs a command on words that it reads"),
        ..PLAIN
    },
];

pub(super) fn wrapper(program: &str) -> Option<&'static Wrapper> {
    WRAPPERS.iter().find(|wrapper| wrapper.name == program)
}

impl Wrapper {
    /// `args` without the wrapper itself.
    pub(super) fn unwrap(&self, args: &[Arg]) -> Wrapped {
        let parsed = self.options.parse(args, Order::OptionsFirst);
        if self.name == "command" && parsed.has(&["v", "V"]) {
            return Wrapped::Nothing;
        }
        if parsed.has(self.strange) {
            return Wrapped::Unknown("runs what its options tell");
        }
        if !parsed.is_understood() {
            return Wrapped::Unknown("has an option that is not known");
        }
        let Some(first) = parsed.first else { return Wrapped::Nothing };
        let mut at = first + self.operands;
        if self.name == "env" && args.get(at).is_some_and(|arg| arg.text.as_deref() == Some("-")) {
            at += 1;
        }
        if self.assigns {
            while args.get(at).is_some_and(is_assignment) {
                at += 1;
            }
        }
        if at < args.len() { Wrapped::Command { at, parsed } } else { Wrapped::Nothing }
    }
}

/// What `env` takes for one: more than bash does.
fn is_assignment(arg: &Arg) -> bool {
    match &arg.text {
        Some(text) => text.contains('='),
        None => arg.raw.split_once('=').is_some_and(|(name, _)| super::variables::is_name(name)),
    }
}
