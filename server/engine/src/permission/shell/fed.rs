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
    told: Told,
}

/// What a text is to it that stands in the command itself.
#[derive(Debug, Clone, Copy)]
enum Told {
    /// Code that may run any command in words of the program's own.
    Unclear,
    /// Code that is looked at as the program's words are (`code::is_code`).
    Looked,
    /// A program in a language, or what the program's words may say too.
    Language,
    /// Commands of a shell.
    Shell,
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

const PLAIN: Reader =
    Reader { programs: &[], instead: NONE, operands: ALWAYS, words: Words::Valued(&[]), told: Told::Unclear };

const READERS: &[Reader] = &[
    Reader {
        programs: &["sqlite3", "sqlite"],
        operands: 2,
        words: Words::Flags(&[
            "append", "ascii", "bail", "batch", "box", "column", "csv", "echo", "header", "noheader", "help", "html",
            "json", "line", "list", "markdown", "nofollow", "quote", "readonly", "safe", "stats", "table", "tabs",
            "version",
        ]),
        told: Told::Looked,
        ..PLAIN
    },
    Reader {
        programs: &["duckdb"],
        instead: of("cs", &["--version"]),
        operands: 2,
        words: Words::Flags(&[]),
        told: Told::Unclear,
    },
    Reader {
        programs: &["psql"],
        instead: of("cl", &["--command", "--list", "--version", "--help"]),
        told: Told::Looked,
        ..PLAIN
    },
    Reader {
        programs: &["mysql", "mariadb"],
        instead: of("e", &["--execute", "--version", "--help"]),
        told: Told::Looked,
        ..PLAIN
    },
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
        told: Told::Language,
        ..PLAIN
    },
    Reader {
        programs: &["mongosh", "mongo"],
        instead: of("", &["--eval", "--file", "--version"]),
        operands: 2,
        words: Words::Valued(&["--host", "--port", "-u", "-p", "--username", "--password"]),
        told: Told::Language,
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
            "login",
            "ipython",
            "rlogin",
            "rsh",
            "mosh",
            "telepresence",
            "virsh",
            "debugfs",
            "nft",
            "bcc",
            "bpftrace",
        ],
        ..PLAIN
    },
    Reader {
        programs: &["batch", "newgrp", "sg", "su", "nix-shell", "script", "parallel"],
        told: Told::Shell,
        ..PLAIN
    },
    Reader { programs: &["bpython", "ptpython", "erl", "iex", "groovysh"], told: Told::Language, ..PLAIN },
    Reader { programs: &["gdb", "lldb"], instead: of("", &["-batch", "--batch", "--version", "--help"]), ..PLAIN },
    Reader { programs: &["at"], instead: of("flcrd", &["--version"]), told: Told::Shell, ..PLAIN },
    // `crontab -` and `crontab` read the table.
    Reader {
        programs: &["crontab"],
        instead: of("lre", &[]),
        operands: 1,
        words: Words::Valued(&["-u"]),
        told: Told::Unclear,
    },
    Reader {
        programs: &["m4"],
        operands: 1,
        words: Words::Valued(&[
            "-I", "-D", "-U", "-F", "-R", "-B", "-S", "-o", "-d", "-L", "-H", "-N", "-T", "-t", "-W",
        ]),
        told: Told::Looked,
        ..PLAIN
    },
    Reader {
        programs: &["dc"],
        instead: of("ef", &["--expression", "--file", "--version", "--help"]),
        operands: 1,
        told: Told::Looked,
        ..PLAIN
    },
    Reader {
        programs: &["osascript"],
        instead: of("e", &[]),
        operands: 1,
        words: Words::Valued(&["-l", "-s"]),
        told: Told::Language,
    },
    Reader { programs: &["gnuplot"], instead: of("eV", &["--version"]), operands: 1, ..PLAIN },
    Reader {
        programs: &["octave"],
        instead: of("", &["--eval", "--version"]),
        operands: 1,
        told: Told::Language,
        ..PLAIN
    },
    Reader { programs: &["swipl"], instead: of("g", &["--version"]), operands: 1, told: Told::Language, ..PLAIN },
    Reader { programs: &["openssl"], operands: 1, ..PLAIN },
    Reader {
        programs: &["python", "pypy"],
        instead: of("cmVh", &["--version", "--help"]),
        operands: 1,
        words: Words::Valued(&["-W", "-X", "-Q", "--check-hash-based-pycs"]),
        told: Told::Language,
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
        told: Told::Language,
    },
    Reader { programs: &["deno", "bun"], operands: 1, told: Told::Language, ..PLAIN },
    Reader {
        programs: &["perl"],
        instead: of("eEv", &["--version", "--help"]),
        operands: 1,
        words: Words::Valued(&["-I"]),
        told: Told::Language,
    },
    Reader {
        programs: &["ruby"],
        instead: of("evh", &["--version", "--help"]),
        operands: 1,
        words: Words::Valued(&["-r", "-I", "-C", "-E", "-W"]),
        told: Told::Language,
    },
    Reader {
        programs: &["php"],
        instead: of("rfBREFvimSl", &["--run", "--file", "--version", "--info", "--server"]),
        operands: 1,
        words: Words::Valued(&["-c", "-d", "-z", "-t"]),
        told: Told::Language,
    },
    Reader {
        programs: &["lua", "luajit"],
        instead: of("ev", &[]),
        operands: 1,
        words: Words::Valued(&["-l"]),
        told: Told::Language,
    },
    Reader { programs: &["Rscript"], instead: of("e", &["--version"]), operands: 1, told: Told::Language, ..PLAIN },
    Reader {
        programs: &["R"],
        instead: of("ef", &["--file", "--version"]),
        operands: 1,
        words: Words::Valued(&["-g"]),
        told: Told::Language,
    },
    Reader {
        programs: &["julia"],
        instead: of("eE", &["--eval", "--print", "--version"]),
        operands: 1,
        told: Told::Language,
        ..PLAIN
    },
    Reader {
        programs: &["jshell", "tclsh", "irb", "runghc", "ocaml", "racket", "guile", "scala", "groovy"],
        instead: of("ec", &["--version"]),
        operands: 1,
        told: Told::Language,
        ..PLAIN
    },
    Reader { programs: &["expect"], instead: of("cv", &[]), operands: 1, told: Told::Language, ..PLAIN },
    Reader { programs: &["sbcl"], instead: of("", &["--script", "--version"]), told: Told::Language, ..PLAIN },
];

const fn of(short: &'static str, long: &'static [&'static str]) -> Options {
    Options { programs: &[], short, long }
}

/// What `name` is given as its input, where it runs that.
pub(super) fn code(name: &str, call: &Call, code: &mut Code) {
    if let Some(reason) = given(name, call) {
        code.unclear(&call.span, reason);
    }
    if starts_shell(name, call.words()) {
        match &call.input {
            Input::Text(text) => code.runs.push(Run::here(text.clone())),
            Input::Unseen => code.unclear(&call.span, "it starts a shell that runs what it reads from its input"),
            Input::Nothing => {}
        }
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
    match (&call.input, reader.told) {
        (Input::Text(text), Told::Shell) => code.runs.push(Run::here(text.clone())),
        (Input::Text(_), Told::Language) => {}
        (Input::Text(_), Told::Looked) if by == name => {}
        (Input::Text(_), Told::Unclear | Told::Looked) => {
            code.unclear(&call.span, "it runs commands of its own from its input, which are not understood");
        }
        (Input::Nothing | Input::Unseen, _) => {
            code.unclear(&call.span, "it runs what it reads from its input");
        }
    }
}

/// Programs that are told by a word to start a shell in surroundings of a project.
fn starts_shell(name: &str, words: &[Arg]) -> bool {
    const VERBS: &[(&str, &[&str])] = &[
        ("nix", &["develop", "shell"]),
        ("guix", &["environment", "shell"]),
        ("devbox", &["shell"]),
        ("flox", &["activate"]),
        ("pixi", &["shell"]),
        ("pipenv", &["shell"]),
        ("poetry", &["shell"]),
        ("hatch", &["shell"]),
    ];
    let verbs = VERBS.iter().filter(|(program, _)| *program == name).flat_map(|(_, verbs)| *verbs);
    verbs.into_iter().any(|verb| words.iter().any(|arg| arg.text.as_deref() == Some(verb)))
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
