//! Options and words of programs that are code to them: a command that they run, a library that they load, a file of further options. A rule that allows a
//! program with whatever arguments was not written with these in mind.

use super::command::Call;
use super::options::{Arg, Order, Spec};
use super::redirects::Input;
use super::syntax::Span;
use super::{fed, letters, remote};
use words::is_code;

mod words;

/// What stands in the words of one command.
#[derive(Debug, Default)]
pub(super) struct Code {
    /// Commands that are run as they stand there.
    pub(super) runs: Vec<Run>,
    /// Words that may be any code, each with why.
    pub(super) unclear: Vec<(Span, &'static str)>,
    /// Commands that run in another place.
    pub(super) elsewhere: Vec<Call>,
    /// The same, where the files are those of this one.
    pub(super) beyond: Vec<Call>,
    /// Commands that run here.
    pub(super) here: Vec<Call>,
}

/// A text that a shell is given to run.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Run {
    pub(super) text: String,
    /// On another host, whose files are not those of this one.
    pub(super) is_elsewhere: bool,
}

impl Run {
    pub(super) fn here(text: String) -> Self {
        Self { text, is_elsewhere: false }
    }
}

/// Options of one kind, as by which programs run what their value says, or load it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Options {
    pub(super) programs: &'static [&'static str],
    /// Letters of such options.
    pub(super) short: &'static str,
    /// With `--`, of which a beginning will do, or with `-`.
    pub(super) long: &'static [&'static str],
}

pub(super) const NONE: Options = Options { programs: &[], short: "", long: &[] };

/// Their value is a command.
const RUN: &[Options] = &[
    Options {
        programs: &["tar", "bsdtar", "gtar"],
        short: "IF",
        long: &[
            "--to-command",
            "--checkpoint-action",
            "--use-compress-program",
            "--info-script",
            "--new-volume-script",
            "--rsh-command",
            "--rmt-command",
        ],
    },
    Options { programs: &["man"], short: "PH", long: &["--pager", "--html"] },
    Options { programs: &["nano", "pico"], short: "s", long: &["--speller"] },
    Options {
        programs: &["npm", "pnpm", "yarn", "bun", "npx"],
        long: &["--script-shell", "--shell", "--git", "--editor", "--viewer", "--browser"],
        ..NONE
    },
    Options { programs: &["go"], long: &["-toolexec", "-exec", "-vettool"], ..NONE },
    Options { programs: &["nc", "ncat", "netcat"], short: "ec", long: &["--exec", "--sh-exec", "--lua-exec"] },
    Options { programs: &["wget"], long: &["--use-askpass"], ..NONE },
    Options { programs: &["zip"], long: &["-TT", "--unzip-command"], ..NONE },
    Options { programs: &["gcc", "cc", "g++", "c++", "clang", "clang++"], long: &["-wrapper"], ..NONE },
    Options { programs: &["dpkg"], long: &["--pre-invoke", "--post-invoke", "--status-logger"], ..NONE },
    Options { programs: &["rpm", "rpmbuild"], long: &["--pipe"], ..NONE },
    Options { programs: &["rsync"], short: "e", long: &["--rsh", "--rsync-path", "--early-exec"] },
    Options { programs: &["scp", "sftp"], short: "SD", long: &[] },
    Options { programs: &["sort"], long: &["--compress-program"], ..NONE },
    Options { programs: &["split"], long: &["--filter"], ..NONE },
    Options { programs: &["install", "ginstall"], long: &["--strip-program"], ..NONE },
    Options { programs: &["rg"], long: &["--pre", "--hostname-bin"], ..NONE },
    Options { programs: &["mysql", "mariadb"], long: &["--pager"], ..NONE },
    Options { programs: &["nix", "nix-shell"], short: "c", long: &["--run", "--command"] },
    Options { programs: &["vagrant"], short: "c", long: &["--command"] },
    Options { programs: &["fly", "flyctl"], short: "C", long: &["--command"] },
    Options { programs: &["gcloud"], long: &["--command", "--ssh-flag", "--scp-flag"], ..NONE },
    Options { programs: &["newgrp", "sg"], short: "c", long: &["--command"] },
    Options { programs: &["cpio"], long: &["--rsh-command"], ..NONE },
    Options { programs: &["sdiff", "diff3"], long: &["--diff-program"], ..NONE },
    Options { programs: &["fd", "fdfind"], short: "xX", long: &["--exec", "--exec-batch"] },
    Options { programs: &["bat", "batcat", "ag", "ack", "delta"], long: &["--pager"], ..NONE },
    Options { programs: &["helm"], long: &["--post-renderer"], ..NONE },
    Options { programs: &["ctest"], long: &["--test-command"], ..NONE },
    Options { programs: &["nodemon"], short: "x", long: &["--exec"] },
];

const BINUTILS: &[&str] = &["nm", "size", "ar", "ranlib", "objdump", "objcopy", "strip", "strings"];

/// Their value is a library, or a file or text with further options or commands of the program itself.
const LOAD: &[Options] = &[
    Options { programs: &["man"], short: "C", long: &["--config-file"] },
    Options {
        programs: &["less", "more", "most"],
        short: "k",
        long: &["--lesskey-file", "--lesskey-src", "--lesskey-content"],
    },
    Options {
        programs: &["vi", "vim", "nvim", "view", "gvim", "vimdiff", "rvim"],
        short: "cSsuUwWleE",
        long: &["--cmd", "--startuptime", "--remote", "--servername", "--listen", "--embed", "--headless"],
    },
    Options { programs: &["nano", "pico"], short: "f", long: &["--rcfile"] },
    Options {
        programs: &["openssl"],
        long: &[
            "-engine",
            "-engine_impl",
            "-keygen_engine",
            "-ssl_client_engine",
            "-provider",
            "-provider-path",
            "-config",
            "--engine",
            "--engine_impl",
            "--keygen_engine",
            "--provider",
            "--provider-path",
            "--config",
        ],
        ..NONE
    },
    Options {
        programs: &["npm", "pnpm", "yarn", "bun", "npx"],
        long: &["--node-options", "--userconfig", "--globalconfig", "--init-module", "--onload-script"],
        ..NONE
    },
    Options { programs: &["cargo"], long: &["--config"], ..NONE },
    Options { programs: &["go"], long: &["-overlay"], ..NONE },
    Options { programs: &["make", "gmake"], short: "E", long: &["--eval"] },
    Options { programs: &["wget"], short: "e", long: &["--execute", "--config"] },
    Options { programs: &["curl"], short: "K", long: &["--config", "--engine"] },
    Options {
        programs: &["gcc", "cc", "g++", "c++", "clang", "clang++", "ld"],
        // Of its folder they run the parts of the compiler.
        short: "B",
        long: &["-fplugin", "-fpass-plugin", "-specs", "-plugin", "--plugin", "--specs", "-load", "--ld-path"],
    },
    // Their settings name programs that tell who somebody is.
    Options { programs: &["kubectl", "oc", "helm"], long: &["--kubeconfig"], ..NONE },
    Options { programs: &["docker"], long: &["--config"], ..NONE },
    Options { programs: &["kubectl", "oc"], long: &["--exec-command", "--auth-provider"], ..NONE },
    Options {
        programs: &["hg"],
        short: "e",
        long: &["--config", "--ssh", "--remotecmd", "--tool", "--command", "--program"],
    },
    Options {
        programs: &["svn"],
        long: &["--config-option", "--config-dir", "--diff-cmd", "--diff3-cmd", "--editor-cmd"],
        ..NONE
    },
    Options { programs: &["jj"], long: &["--config", "--config-toml", "--config-file", "--tool"], ..NONE },
    Options { programs: &["pip", "pip3"], long: &["--python", "--editor"], ..NONE },
    Options { programs: &["gcloud"], long: &["--flags-file"], ..NONE },
    Options { programs: &["gradle", "gradlew"], short: "I", long: &["--init-script"] },
    Options {
        programs: &["mysql", "mariadb"],
        long: &["--defaults-file", "--defaults-extra-file", "--plugin-dir"],
        ..NONE
    },
    Options { programs: &["apt", "apt-get"], short: "oc", long: &["--option", "--config-file"] },
    Options { programs: &["rpm", "rpmbuild"], short: "ED", long: &["--eval", "--define", "--load"] },
    Options { programs: &["scp", "sftp"], short: "Fb", long: &[] },
    Options { programs: &["ssh-keygen", "ssh-add"], short: "Ds", long: &[] },
    Options { programs: &["gdb", "lldb"], short: "xos", long: &["-ex", "-iex", "-eval-command", "--command"] },
    Options { programs: &["sqlite3", "sqlite"], long: &["-cmd", "-init", "--cmd", "--init"], ..NONE },
    Options { programs: &["mysql", "mariadb"], long: &["--init-command"], ..NONE },
    Options { programs: &["nix", "nix-shell"], long: &["--expr"], ..NONE },
    Options { programs: BINUTILS, long: &["--plugin"], ..NONE },
    Options { programs: &["fzf", "sk"], long: &["--preview", "--bind", "--listen-unsafe", "--with-shell"], ..NONE },
    Options { programs: &["rsync"], long: &["--daemon", "--config"], ..NONE },
];

/// Settings of OpenSSH, by whatever option.
const SETTING: Options = Options { programs: &["scp", "sftp"], short: "o", long: &[] };

const ANY: &str = "a word that may be any code";

/// What is code in the words of `call`, whose program's base name is `name`.
pub(super) fn code(name: &str, call: &Call) -> Code {
    let mut code = Code::default();
    if name == "ssh" {
        remote::ssh(call, &mut code);
    }
    if name == "hyperfine" {
        code.each_operand(call);
    }
    remote::commands(name, call, &mut code);
    fed::code(name, call, &mut code);
    let words = call.words();
    let given = |table: &'static [Options]| {
        let speaking = table.iter().filter(|options| options.programs.contains(&name));
        speaking.flat_map(|options| {
            let ends = words.iter().position(|arg| arg.text.as_deref() == Some("--"));
            let words = &words[..ends.unwrap_or(words.len())];
            let value =
                |(at, arg): (usize, &Arg)| Some((arg.span.clone(), options.value(name, arg, words.get(at + 1))?));
            words.iter().enumerate().filter_map(value).collect::<Vec<_>>()
        })
    };
    for (span, value) in given(RUN) {
        code.run_by_option(name, &span, value);
    }
    for (span, _) in given(LOAD) {
        code.unclear(&span, ANY);
    }
    for (span, _) in given(&[SETTING]).filter(|(_, setting)| !is_calm(setting.as_ref())) {
        code.unclear(&span, ANY);
    }
    for (at, arg) in words.iter().enumerate() {
        if let Some(reason) = is_code(name, at, arg, words) {
            code.unclear(&arg.span, reason);
        }
    }
    if let Input::Text(text) = &call.input
        && let Some(reason) = is_code(name, usize::MAX, &Arg::literal(text, call.span.clone()), words)
    {
        code.unclear(&call.span, reason);
    }
    // What is added may be any of these options.
    let has_code = [RUN, LOAD, &[SETTING]].into_iter().flatten().any(|options| options.programs.contains(&name));
    if matches!(name, "ed" | "red" | "ex") || call.is_open && has_code {
        code.unclear(&call.span, ANY);
    }
    code
}

impl Code {
    pub(super) fn unclear(&mut self, span: &Span, reason: &'static str) {
        self.unclear.push((span.clone(), reason));
    }

    /// Each word is a command line by itself.
    fn each_operand(&mut self, call: &Call) {
        const OPTIONS: Spec = Spec {
            short: "c:C:iL:m:M:n:Np:P:r:s:S:u:w:",
            long: &[
                "cleanup=",
                "command-name=",
                "conclude=",
                "export-json=",
                "export-markdown=",
                "ignore-failure",
                "max-runs=",
                "min-runs=",
                "parameter-list=",
                "prepare=",
                "runs=",
                "setup=",
                "shell=",
                "show-output",
                "style=",
                "warmup=",
            ],
        };
        const RUN: [&str; 8] = ["c", "C", "p", "s", "cleanup", "conclude", "prepare", "setup"];
        let parsed = OPTIONS.parse(call.words(), Order::Mixed);
        let is_other = parsed.has(&["S", "shell", "P", "L", "parameter-list"]);
        if !parsed.is_understood() || call.is_open || is_other {
            self.unclear(&call.span, ANY);
        }
        let given = parsed.given.iter().filter(|given| RUN.contains(&given.name.as_str()));
        for arg in given.filter_map(|given| given.value.as_ref()).chain(&parsed.operands) {
            match &arg.text {
                Some(text) => self.runs.push(Run::here(text.clone())),
                None => self.unclear(&arg.span, ANY),
            }
        }
    }

    /// Programs add words of their own, so that the value is not all of it.
    fn run_by_option(&mut self, name: &str, span: &Span, value: Option<Arg>) {
        let text = value.as_ref().and_then(|value| value.text.clone());
        let text = text.map(|text| match text.split_once("exec=") {
            Some((_, command)) => command.to_owned(),
            None => text,
        });
        // By far the most usual, and its own words are judged.
        let is_plain = name == "rsync" && text.as_deref().is_some_and(|text| text == "ssh" || text.starts_with("ssh "));
        if !is_plain {
            self.unclear(span, ANY);
        }
        self.runs.extend(text.filter(|text| !text.trim().is_empty()).map(Run::here));
    }
}

fn is_of_go(program: &str) -> bool {
    matches!(program, "go" | "terraform" | "tofu")
}

impl Options {
    /// `None`: `arg` is no such option. Its value, where it has one.
    pub(super) fn value(&self, program: &str, arg: &Arg, next: Option<&Arg>) -> Option<Option<Arg>> {
        let text = arg.text.as_deref().unwrap_or(&arg.raw);
        let head = text.split('=').next().unwrap_or_default();
        // One dash or two are the same to programs in Go with its own flags.
        let meant = head.strip_prefix('-').filter(|head| is_of_go(program) && head.starts_with('-')).unwrap_or(head);
        let is_long = self
            .long
            .iter()
            .any(|option| meant == *option || option.starts_with("--") && head.len() > 3 && option.starts_with(head));
        if is_long {
            let attached = (head.len() < text.len()).then(|| arg.text_tail(head.len() + 1));
            return Some(attached.or_else(|| next.cloned()));
        }
        let letters = text.strip_prefix('-').filter(|letters| !letters.starts_with('-'))?;
        for (at, letter) in letters.char_indices() {
            let behind = at + letter.len_utf8();
            if self.short.contains(letter) {
                let attached = (behind < letters.len()).then(|| arg.text_tail(behind + 1));
                return Some(attached.or_else(|| next.cloned()));
            }
            if letters::takes_value(program, letter) {
                return None;
            }
        }
        None
    }
}

/// A setting of OpenSSH that neither runs nor loads anything, nor reads further settings.
pub(super) fn is_calm(setting: Option<&Arg>) -> bool {
    const CALM: [&str; 31] = [
        "addressfamily",
        "batchmode",
        "checkhostip",
        "ciphers",
        "compression",
        "connectionattempts",
        "connecttimeout",
        "controlmaster",
        "controlpersist",
        "forwardagent",
        "hostkeyalgorithms",
        "hostname",
        "identitiesonly",
        "kexalgorithms",
        "loglevel",
        "macs",
        "numberofpasswordprompts",
        "passwordauthentication",
        "port",
        "preferredauthentications",
        "proxyjump",
        "pubkeyauthentication",
        "requesttty",
        "serveralivecountmax",
        "serveraliveinterval",
        "stricthostkeychecking",
        "tcpkeepalive",
        "updatehostkeys",
        "user",
        "verifyhostkeydns",
        "identityfile",
    ];
    let Some(setting) = setting.and_then(|setting| setting.text.as_deref()) else { return false };
    let key = setting.trim_start().split(['=', ' ', '\t']).next().unwrap_or_default().to_ascii_lowercase();
    // All of it, since what a command holds behind a `#` is nothing to a shell.
    let is_off = setting.trim().eq_ignore_ascii_case("userknownhostsfile=/dev/null");
    CALM.contains(&key.as_str()) || is_off
}
