//! Shells that are given a text to run, and interpreters whose programs are not read here.

use super::builtins::script_of;
use super::command::{Call, unseen};
use super::expansion::Scope;
use super::options::{Order, Spec};
use super::redirects::Input;
use super::walk::Walk;
use super::{FileAccess, programs};

/// Bash, shells near enough to it, and those whose text says other things than it would to bash.
pub(super) fn is_shell(name: &str) -> bool {
    matches!(
        name,
        "bash"
            | "sh"
            | "dash"
            | "ash"
            | "ksh"
            | "mksh"
            | "zsh"
            | "fish"
            | "csh"
            | "tcsh"
            | "nu"
            | "pwsh"
            | "rbash"
            | "elvish"
            | "xonsh"
            | "oksh"
            | "yash"
    )
}

/// Whether `name` runs programs in a language of their own.
pub(super) fn is_interpreter(name: &str) -> bool {
    const NAMES: [&str; 32] = [
        "python",
        "pypy",
        "node",
        "nodejs",
        "deno",
        "bun",
        "perl",
        "ruby",
        "php",
        "lua",
        "luajit",
        "tclsh",
        "expect",
        "Rscript",
        "R",
        "julia",
        "java",
        "jshell",
        "groovy",
        "scala",
        "kotlin",
        "ghci",
        "runghc",
        "ocaml",
        "guile",
        "racket",
        "sbcl",
        "emacs",
        "osascript",
        "ts-node",
        "tsx",
        "irb",
    ];
    let base = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    NAMES.contains(&base)
}

const OPTIONS: Spec = Spec {
    short: "abefhklmnprtuvxBCDEHPTcso:O:i",
    long: &["norc", "noprofile", "login", "posix", "restricted", "verbose", "rcfile=", "init-file=", "version", "help"],
};

impl Walk {
    pub(super) fn shell(&mut self, name: &str, call: &Call, scope: &Scope) {
        if !matches!(name, "bash" | "sh" | "dash" | "ash" | "ksh" | "mksh" | "rbash") {
            self.unknown(&call.span, format!("what `{name}` runs is not bash"));
            return self.emit(call, unseen("runs a script"));
        }
        let parsed = OPTIONS.parse(call.words(), Order::OptionsFirst);
        if !parsed.is_understood() {
            self.unknown(&call.span, format!("`{name}` has an option that is not known"));
            return self.emit(call, unseen("runs a script"));
        }
        const CALM: [&str; 14] =
            ["c", "e", "u", "x", "v", "l", "o", "s", "f", "C", "norc", "noprofile", "login", "verbose"];
        if parsed.has(&["version", "help"]) {
            return self.emit(call, unseen("a shell"));
        }
        if let Some(strange) = parsed.given.iter().find(|given| !CALM.contains(&given.name.as_str())) {
            self.unknown(&call.span, format!("`{name}` reads otherwise with the option {}", strange.name));
        }
        const MODES: [&str; 6] = ["pipefail", "errexit", "nounset", "xtrace", "verbose", "noglob"];
        let strange_mode = |given: &&super::options::Given| {
            given.name == "o"
                && !given.value.as_ref().and_then(|mode| mode.text.as_deref()).is_some_and(|mode| MODES.contains(&mode))
        };
        if parsed.given.iter().find(strange_mode).is_some() {
            self.unknown(&call.span, format!("`{name}` reads otherwise with one of its options"));
        }
        if parsed.has(&["l", "login"]) {
            self.unknown(&call.span, format!("`{name}` reads the files of a login"));
            self.emit(call, unseen("reads the files of a login"));
        }
        if parsed.has(&["c"]) {
            match parsed.operands.first().map(|script| script.text.clone()) {
                Some(Some(script)) => self.script(name, &script, call, scope),
                _ => {
                    self.unknown(&call.span, format!("`{name} -c` runs what an expansion gives"));
                    self.emit(call, unseen("runs what an expansion gives"));
                }
            }
        } else if let Some(file) = parsed.operands.first().filter(|_| !parsed.has(&["s"])) {
            let is_input = file
                .text
                .as_deref()
                .is_some_and(|text| ["/dev/stdin", "/dev/fd/", "/proc/"].iter().any(|input| text.starts_with(input)));
            if file.is_process || is_input {
                self.unknown(&file.span, format!("`{name}` runs what another command gives"));
            } else {
                self.found.files.extend(programs::uses(file, name, FileAccess::Read, scope));
            }
            self.emit(call, unseen("runs a script file"));
        } else if call.is_open {
            self.unknown(&call.span, format!("`{name}` runs what its input tells"));
            self.emit(call, unseen("runs a script file"));
        } else if let Some(script) = script_of(&call.input) {
            self.script(name, script, call, scope);
        } else {
            self.unknown(&call.span, format!("`{name}` runs what it reads from its input"));
            self.emit(call, unseen("runs what it reads from its input"));
        }
    }

    pub(super) fn script(&mut self, name: &str, script: &str, call: &Call, scope: &Scope) {
        if name != "bash"
            && name != "rbash"
            && let Some(sign) = read_otherwise(script)
        {
            self.unknown(&call.span, format!("`{name}` and bash read `{sign}` each in its own way"));
        }
        let mut within = scope.clone();
        // Only what is exported reaches it.
        within.variables.retain(|variable| variable == "HOME");
        let commands = self.found.commands.len();
        let fed = call.input != Input::Nothing;
        if self.fed_by(fed, |walk| walk.text(script, Some(call.span.clone()), within)).is_none() {
            self.emit(call, unseen("runs a text that is not understood"));
        }
        let outer = call.args.iter().map(|arg| arg.raw.as_str()).collect::<Vec<_>>().join(" ");
        // A rule that meets one of them meets the text.
        for command in self.found.commands.iter_mut().skip(commands).take(64) {
            if !command.aliases.contains(&outer) {
                command.aliases.push(outer.clone());
            }
        }
        if self.found.commands.len() == commands {
            self.emit(call, unseen("a shell that runs no command"));
        }
    }
}

/// A sign that shells without bash's extensions read otherwise.
fn read_otherwise(script: &str) -> Option<&'static str> {
    const SIGNS: [&str; 12] = ["$'", "$\"", "((", "[[", "<<<", "<(", ">(", "&>", "|&", "=(", "+=", "function"];
    let has_brace = script.replace("${", "").contains('{');
    SIGNS.into_iter().find(|sign| script.contains(sign)).or(has_brace.then_some("{"))
}
