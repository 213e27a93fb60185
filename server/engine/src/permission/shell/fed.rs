//! Programs that run what they read from their input: interpreters without a script, shells of databases, debuggers, schedulers. Where it comes from a pipe
//! or a file, nobody has read it. After the programs' manuals.

use super::code::{Code, NONE, Options, Run};
use super::command::Call;
use super::options::Arg;
use super::redirects::Input;

/// When it does.
struct Reader {
    programs: &'static [&'static str],
    /// Options that give it something else to do.
    instead: Options,
    /// So do as many words that are no options.
    operands: usize,
    /// Which words are options without, and with a value in the next word.
    words: Words,
}

#[derive(Debug, Clone, Copy)]
enum Words {
    /// All others take a value.
    Flags(&'static [&'static str]),
    /// All others take none.
    Valued(&'static [&'static str]),
}

/// Whatever words there are.
const ALWAYS: usize = usize::MAX;

const PLAIN: Reader = Reader { programs: &[], instead: NONE, operands: ALWAYS, words: Words::Valued(&[]) };

const READERS: &[Reader] = &[
    Reader {
        programs: &["sqlite3", "sqlite"],
        operands: 2,
        words: Words::Flags(&[
            "append", "ascii", "bail", "batch", "box", "column", "csv", "echo", "header", "noheader", "help", "html",
            "json", "line", "list", "markdown", "nofollow", "quote", "readonly", "safe", "stats", "table", "tabs",
            "version",
        ]),
        ..PLAIN
    },
    Reader { programs: &["duckdb"], instead: of("cs", &["--version"]), operands: 2, words: Words::Flags(&[]) },
    Reader { programs: &["psql"], instead: of("cl", &["--command", "--list", "--version", "--help"]), ..PLAIN },
    Reader { programs: &["mysql", "mariadb"], instead: of("e", &["--execute", "--version", "--help"]), ..PLAIN },
    Reader {
        programs: &["redis-cli", "valkey-cli"],
        operands: 1,
        words: Words::Valued(&[
            "-h",
            "-p",
            "-a",
            "-u",
            "-n",
            "-r",
            "-i",
            "-s",
            "-t",
            "-d",
            "-D",
            "-X",
            "--user",
            "--pass",
            "--cert",
            "--key",
            "--cacert",
            "--sni",
            "--count",
            "--pattern",
        ]),
        ..PLAIN
    },
    Reader {
        programs: &["mongosh", "mongo"],
        instead: of("", &["--eval", "--file", "--version"]),
        operands: 2,
        words: Words::Valued(&["--host", "--port", "-u", "-p", "--username", "--password"]),
    },
    Reader { programs: &["cqlsh"], instead: of("ef", &["--execute", "--file", "--version"]), ..PLAIN },
    Reader { programs: &["clickhouse-client"], instead: of("q", &["--query", "--version"]), ..PLAIN },
    Reader { programs: &["sqlcmd"], instead: of("Qi", &["-?"]), ..PLAIN },
    Reader { programs: &["osqueryi"], operands: 1, ..PLAIN },
    Reader {
        programs: &[
            "sqlplus",
            "isql",
            "tsql",
            "pgcli",
            "mycli",
            "litecli",
            "usql",
            "ftp",
            "lftp",
            "sftp",
            "telnet",
            "tftp",
            "vi",
            "vim",
            "nvim",
            "view",
            "gvim",
            "vimdiff",
            "rvim",
            "ghci",
            "nix-shell",
            "newgrp",
            "sg",
            "login",
            "ipython",
            "bpython",
            "ptpython",
            "erl",
            "iex",
            "groovysh",
            "rlogin",
            "rsh",
            "mosh",
            "telepresence",
            "virsh",
            "debugfs",
            "nft",
            "bcc",
            "bpftrace",
            "batch",
        ],
        ..PLAIN
    },
    Reader { programs: &["gdb", "lldb"], instead: of("", &["-batch", "--batch", "--version", "--help"]), ..PLAIN },
    Reader { programs: &["at"], instead: of("flcrd", &["--version"]), ..PLAIN },
    // `crontab -` and `crontab` read the table.
    Reader { programs: &["crontab"], instead: of("lre", &[]), operands: 1, words: Words::Valued(&["-u"]) },
    Reader {
        programs: &["m4"],
        operands: 1,
        words: Words::Valued(&[
            "-I", "-D", "-U", "-F", "-R", "-B", "-S", "-o", "-d", "-L", "-H", "-N", "-T", "-t", "-W",
        ]),
        ..PLAIN
    },
    Reader {
        programs: &["dc"],
        instead: of("ef", &["--expression", "--file", "--version", "--help"]),
        operands: 1,
        ..PLAIN
    },
    Reader { programs: &["osascript"], instead: of("e", &[]), operands: 1, words: Words::Valued(&["-l", "-s"]) },
    Reader { programs: &["gnuplot"], instead: of("eV", &["--version"]), operands: 1, ..PLAIN },
    Reader { programs: &["octave"], instead: of("", &["--eval", "--version"]), operands: 1, ..PLAIN },
    Reader { programs: &["swipl"], instead: of("g", &["--version"]), operands: 1, ..PLAIN },
    Reader { programs: &["openssl"], operands: 1, ..PLAIN },
    Reader {
        programs: &["python", "pypy"],
        instead: of("cmVh", &["--version", "--help"]),
        operands: 1,
        words: Words::Valued(&["-W", "-X", "-Q", "--check-hash-based-pycs"]),
    },
    Reader {
        programs: &["node", "nodejs", "ts-node", "tsx"],
        instead: of("epvh", &["--eval", "--print", "--version", "--help", "--test", "--run"]),
        operands: 1,
        words: Words::Valued(&[
            "-r",
            "--require",
            "--import",
            "--loader",
            "--experimental-loader",
            "-C",
            "--conditions",
            "--input-type",
            "--title",
            "--env-file",
        ]),
    },
    Reader { programs: &["deno", "bun"], operands: 1, ..PLAIN },
    Reader {
        programs: &["perl"],
        instead: of("eEv", &["--version", "--help"]),
        operands: 1,
        words: Words::Valued(&["-I"]),
    },
    Reader {
        programs: &["ruby"],
        instead: of("evh", &["--version", "--help"]),
        operands: 1,
        words: Words::Valued(&["-r", "-I", "-C", "-E", "-W"]),
    },
    Reader {
        programs: &["php"],
        instead: of("rfBREFvimSl", &["--run", "--file", "--version", "--info", "--server"]),
        operands: 1,
        words: Words::Valued(&["-c", "-d", "-z", "-t"]),
    },
    Reader { programs: &["lua", "luajit"], instead: of("ev", &[]), operands: 1, words: Words::Valued(&["-l"]) },
    Reader { programs: &["Rscript"], instead: of("e", &["--version"]), operands: 1, ..PLAIN },
    Reader {
        programs: &["R"],
        instead: of("ef", &["--file", "--version"]),
        operands: 1,
        words: Words::Valued(&["-g"]),
    },
    Reader { programs: &["julia"], instead: of("eE", &["--eval", "--print", "--version"]), operands: 1, ..PLAIN },
    Reader {
        programs: &["jshell", "tclsh", "irb", "runghc", "ocaml", "racket", "guile", "scala", "groovy"],
        instead: of("ec", &["--version"]),
        operands: 1,
        ..PLAIN
    },
    Reader { programs: &["expect"], instead: of("cv", &[]), operands: 1, ..PLAIN },
    Reader { programs: &["sbcl"], instead: of("", &["--script", "--version"]), ..PLAIN },
];

const fn of(short: &'static str, long: &'static [&'static str]) -> Options {
    Options { programs: &[], short, long }
}

/// What `name` is given as its input, where it runs that.
pub(super) fn code(name: &str, call: &Call, code: &mut Code) {
    if let Some(reason) = given(name, call) {
        code.unclear(&call.span, reason);
    }
    if call.input == Input::Nothing {
        if script_of_process(name, call) {
            code.unclear(&call.span, "it runs what another command gives");
        }
        return;
    }
    // Of one version.
    let base = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    let meant = |reader: &&Reader| reader.programs.contains(&name) || reader.programs.contains(&base);
    let Some(reader) = READERS.iter().find(meant) else { return };
    let by = if reader.programs.contains(&name) { name } else { base };
    if !call.is_open && reader.does_something_else(by, call.words()) {
        return;
    }
    match &call.input {
        Input::Text(text) if matches!(by, "at" | "batch") => code.runs.push(Run::here(text.clone())),
        // The text itself was looked at.
        Input::Text(_) => {}
        Input::Nothing | Input::Unseen => {
            code.unclear(&call.span, "it runs what it reads from its input");
        }
    }
}

/// `python3 <(…)`.
fn script_of_process(name: &str, call: &Call) -> bool {
    let base = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    let reads = |reader: &Reader| reader.programs.contains(&name) || reader.programs.contains(&base);
    let Some(reader) = READERS.iter().find(|reader| reads(reader)) else { return false };
    let mut words = call.words().iter();
    while let Some(arg) = words.next() {
        let text = arg.text.as_deref().unwrap_or(&arg.raw);
        let is_valued = match reader.words {
            Words::Flags(_) => false,
            Words::Valued(valued) => valued.contains(&text),
        };
        if is_valued {
            words.next();
        } else if !text.starts_with('-') {
            return arg.is_process;
        }
    }
    false
}

/// Programs that are told by a word to take what they build or set up from their input.
fn given(name: &str, call: &Call) -> Option<&'static str> {
    const BUILDERS: [&str; 9] =
        ["docker", "podman", "nerdctl", "docker-compose", "kubectl", "oc", "helm", "ansible-playbook", "terraform"];
    let is_input = |arg: &Arg| {
        let text = arg.text.as_deref().unwrap_or_default();
        text == "-" || text.ends_with("=-") || text == "-f-" || text == "/dev/stdin" || arg.is_process
    };
    let is_meant = BUILDERS.contains(&name) && call.words().iter().any(is_input);
    let is_seen = matches!(call.input, Input::Text(_)) || call.input == Input::Nothing;
    let is_process = call.words().iter().any(|arg| arg.is_process);
    (is_meant && (!is_seen || is_process)).then_some("what it builds or sets up comes from its input")
}

impl Reader {
    fn does_something_else(&self, program: &str, words: &[Arg]) -> bool {
        let text = |arg: &Arg| arg.text.clone().unwrap_or_else(|| arg.raw.clone());
        // After its script it goes on with its input.
        let goes_on = matches!(program, "python" | "pypy")
            && words.iter().take_while(|arg| arg.raw.starts_with('-')).any(|arg| {
                arg.raw.strip_prefix('-').is_some_and(|letters| !letters.starts_with('-') && letters.contains('i'))
            });
        if goes_on {
            return false;
        }
        let ends = words.iter().position(|arg| arg.text.as_deref() == Some("--")).unwrap_or(words.len());
        let gives = |(at, arg): (usize, &Arg)| self.instead.value(program, arg, words.get(at + 1)).is_some();
        if words[..ends].iter().enumerate().any(gives) {
            return true;
        }
        let mut operands = 0;
        let mut at = 0;
        while let Some(arg) = words.get(at) {
            at += 1;
            let text = text(arg);
            // Its input by a name.
            if text == "-" || text == "/dev/stdin" || text.starts_with("/dev/fd/") || text.starts_with("/proc/") {
                return false;
            }
            if !text.starts_with('-') || at > ends {
                operands += usize::from(arg.text.is_some() || !arg.may_be_option());
                continue;
            }
            let is_valued = match self.words {
                Words::Flags(flags) => !text.contains('=') && !flags.contains(&text.trim_start_matches('-')),
                Words::Valued(valued) => valued.contains(&text.as_str()),
            };
            at += usize::from(is_valued && at < ends);
        }
        operands >= self.operands
    }
}
