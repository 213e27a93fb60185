//! Options and words of programs that are code to them: a command that they run, a library that they load, a file of further options. A rule that allows a
//! program with whatever arguments was not written with these in mind.

use super::command::Call;
use super::options::Arg;
use super::redirects::Input;
use super::syntax::Span;
use super::{fed, letters, remote};

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
    Options {
        programs: &["go"],
        long: &["-toolexec", "-exec", "-vettool", "--toolexec", "--exec", "--vettool"],
        ..NONE
    },
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
    Options { programs: &["nix", "nix-shell"], long: &["--run", "--command"], ..NONE },
    Options { programs: &["newgrp", "sg"], short: "c", long: &["--command"] },
    Options { programs: &["cpio"], long: &["--rsh-command"], ..NONE },
    Options { programs: &["sdiff", "diff3"], long: &["--diff-program"], ..NONE },
    Options { programs: &["fd", "fdfind"], short: "xX", long: &["--exec", "--exec-batch"] },
    Options { programs: &["bat", "batcat", "ag", "ack", "delta"], long: &["--pager"], ..NONE },
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
    Options { programs: &["go"], long: &["-overlay", "--overlay"], ..NONE },
    Options { programs: &["make", "gmake"], short: "E", long: &["--eval"] },
    Options { programs: &["wget"], short: "e", long: &["--execute", "--config"] },
    Options { programs: &["curl"], short: "K", long: &["--config", "--engine"] },
    Options {
        programs: &["gcc", "cc", "g++", "c++", "clang", "clang++", "ld"],
        long: &["-fplugin", "-specs", "-plugin", "--plugin", "--specs", "-load"],
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

impl Options {
    /// `None`: `arg` is no such option. Its value, where it has one.
    pub(super) fn value(&self, program: &str, arg: &Arg, next: Option<&Arg>) -> Option<Option<Arg>> {
        let text = arg.text.as_deref().unwrap_or(&arg.raw);
        let head = text.split('=').next().unwrap_or_default();
        let is_long = self
            .long
            .iter()
            .any(|option| head == *option || option.starts_with("--") && head.len() > 3 && option.starts_with(head));
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

/// Why a word is code by itself.
fn is_code(name: &str, at: usize, arg: &Arg, words: &[Arg]) -> Option<&'static str> {
    let text = arg.text.as_deref().unwrap_or(&arg.raw);
    let lower = text.to_ascii_lowercase();
    let holds = |signs: &[&str]| signs.iter().any(|sign| lower.contains(sign));
    let before = at.checked_sub(1).and_then(|before| words.get(before)?.text.as_deref()).unwrap_or_default();
    let is_code = match name {
        // In its oldest form options come without a dash.
        "tar" | "bsdtar" | "gtar" => at == 0 && !text.starts_with('-') && text.contains(['I', 'F']),
        "less" | "more" | "most" => {
            let calm = |rest: &str| {
                matches!(rest, "F" | "G" | "g")
                    || rest.bytes().all(|byte| byte.is_ascii_digit())
                    || rest.starts_with('/') && !rest.contains(['\n', '!', '|'])
            };
            text.strip_prefix('+').is_some_and(|rest| !calm(rest))
        }
        "vi" | "vim" | "nvim" | "view" | "gvim" | "vimdiff" | "rvim" => {
            text.strip_prefix('+').is_some_and(|rest| !rest.bytes().all(|byte| byte.is_ascii_digit()))
        }
        "openssl" => at == 0 && text == "engine",
        "npm" | "pnpm" | "yarn" => {
            holds(&["script-shell", "node-options", "init-module", "onload-script"]) && !text.starts_with("--")
        }
        "make" | "gmake" => {
            if names_program(text) {
                return Some("a variable by which the build runs a program of the command's own choice");
            }
            arg.is_process || make_word(text, before)
        }
        "zip" => text.starts_with('-') && !text.starts_with("--") && text.contains("TT"),
        "jq" | "gojq" | "jaq" => imports(text),
        "gh" | "glab" => at == 1 && before == "alias" && matches!(text, "set" | "import"),
        "rename" | "prename" | "file-rename" => !text.starts_with('-') && !only_renames(text),
        _ if BINUTILS.contains(&name) => text.starts_with('@'),
        "socat" => holds(&["exec:", "system:", "shell:"]),
        "go" => holds(&["extld"]) || lower.contains("ldflags") && arg.text.is_none(),
        "gcc" | "cc" | "g++" | "c++" | "clang" | "clang++" | "ld" => text.starts_with('@') || holds(&["-plugin,"]),
        "rustc" => text.starts_with('@') || holds(&["linker="]),
        "sqlite3" | "sqlite" => {
            const COMMANDS: [&str; 13] = [
                ".shell", ".system", ".import", ".output", ".once", ".log", ".read", ".open", ".backup", ".save",
                ".load", ".excel", ".clone",
            ];
            holds(&COMMANDS) || holds(&["load_extension", "edit(", "readfile(", "writefile(", "attach"])
        }
        "psql" => text.contains('\\') || holds(&["program"]) || lower.starts_with("-f") || holds(&["--file"]),
        "mysql" | "mariadb" => {
            text.contains('\\') || holds(&["system ", "source ", "outfile", "dumpfile", "load data"])
        }
        "dc" => text.contains('!'),
        "m4" => holds(&["syscmd"]),
        _ => false,
    };
    is_code.then_some(ANY)
}

/// `CC=gcc`, `SHELL=x`.
fn names_program(setting: &str) -> bool {
    let Some((name, _)) = setting.split_once('=').filter(|_| !setting.starts_with('-')) else { return false };
    let name = name.trim_end_matches([':', '+', '?', '!']);
    super::variables::steers(name) && !name.ends_with("FLAGS") || name.contains("SHELL")
}

/// Settings of a program that is built with, and build files from the input.
fn make_word(text: &str, before: &str) -> bool {
    let is_input = |file: &str| file == "-" || ["/dev/", "/proc/"].iter().any(|folder| file.starts_with(folder));
    let is_long = |option: &str| {
        option.len() > 2 && ["--file", "--makefile"].iter().any(|long| long.starts_with(option.trim_end_matches('=')))
    };
    let cluster = |option: &str| option.starts_with('-') && !option.starts_with("--");
    if is_input(text) && (is_long(before) || cluster(before) && before.ends_with('f')) {
        return true;
    }
    if let Some((letters, file)) = text.split_once('f').filter(|_| cluster(text)) {
        return is_input(file) && !letters.contains(|letter| letters::takes_value("make", letter));
    }
    match text.split_once('=') {
        Some((name, value)) if !text.starts_with('-') => {
            let name = name.trim_end_matches([':', '+', '?', '!']);
            name == "MAKEFLAGS" || value.contains(['`', '$', ';', '|', '&'])
        }
        Some((option, file)) => is_long(option) && is_input(file),
        None => false,
    }
}

/// A filter of jq that reads further files: `import "a" as $a;`.
fn imports(filter: &str) -> bool {
    ["import", "include"].iter().any(|word| {
        filter.match_indices(word).any(|(at, _)| {
            let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '$');
            let behind = filter[at + word.len()..].trim_start();
            !filter[..at].ends_with(is_part) && behind.starts_with(['"', '#'])
        })
    })
}

/// A substitution of plain signs: any other expression is code in Perl.
fn only_renames(expression: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._- \\$^*+?|".contains(c);
    let flags = expression.rsplit('/').next().unwrap_or_default();
    match expression.strip_prefix("s/") {
        Some(_) => expression.chars().all(is_plain) && flags.chars().all(|c| matches!(c, 'g' | 'i')),
        None => expression.chars().all(|c| c.is_ascii_alphanumeric() || "/._- *?".contains(c)),
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
    let is_off = setting.to_ascii_lowercase().ends_with("userknownhostsfile=/dev/null");
    CALM.contains(&key.as_str()) || is_off
}
