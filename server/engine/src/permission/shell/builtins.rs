//! Commands that bash runs itself, where they do more than a program of the same name could: move, set variables, run strings, change how bash reads.

use copydesk_workspace::path::AbsPath;

use super::command::{Call, lost, unseen};
use super::expansion::{Scope, folders};
use super::options::{Arg, Order, Spec};
use super::redirects::Input;
use super::syntax::{Span, Word};
use super::walk::{Ends, Walk};
use super::{Effect, FileAccess, FileUse, Place, programs, touched, variables};

/// Whether what follows `words` may be assignments.
pub(super) fn declares(words: &[Word]) -> bool {
    words.first().is_some_and(|word| is_declaration(&word.raw))
}

fn is_declaration(name: &str) -> bool {
    matches!(name, "declare" | "typeset" | "export" | "readonly" | "local")
}

/// Why bash may read the rest of the text, or its own commands, otherwise than is done here.
fn changes_the_shell(name: &str, call: &Call) -> Option<&'static str> {
    let texts: Vec<&str> = call.words().iter().map(|arg| arg.text.as_deref().unwrap_or("-?")).collect();
    let calm = |allowed: &[&str]| texts.iter().all(|text| !text.starts_with('-') || allowed.contains(text));
    match name {
        "alias" => Some("an alias gives a name another meaning"),
        "shopt" => {
            const CALM: [&str; 8] = ["-s", "-u", "-q", "-p", "nullglob", "failglob", "inherit_errexit", "globstar"];
            (!texts.iter().all(|text| CALM.contains(text))).then_some("an option of the shell is changed")
        }
        "enable" => Some("builtins are switched on or off"),
        "hash" => (!calm(&["-r"])).then_some("a program's place is changed"),
        "bind" | "complete" | "compgen" | "compopt" => Some("a command is bound to an event"),
        "fc" | "history" => Some("earlier commands are run or written"),
        "jobs" => (!calm(&["-l", "-p", "-n", "-r", "-s"])).then_some("a command is run in the words of `jobs`"),
        "coproc" => Some("a coprocess"),
        _ => None,
    }
}

impl Walk {
    /// `None`: `name` is not one of these.
    pub(super) fn builtin(&mut self, name: &str, call: &Call, scope: &Scope) -> Option<Ends> {
        if let Some(reason) = changes_the_shell(name, call) {
            self.unknown(&call.span, reason);
            self.emit(call, unseen(reason));
            return Some(Ends::same(lost(scope.clone())));
        }
        let same = || Ends::same(scope.clone());
        let ends = match name {
            "cd" | "pushd" => {
                self.emit(call, Effect { is_file_work: true, ..Effect::default() });
                self.change_folder(name, call, scope)
            }
            "popd" => {
                self.emit(call, Effect::default());
                Ends::same(Scope { folders: None, moved: true, ..scope.clone() })
            }
            "exit" | "return" | "break" | "continue" => {
                self.emit(call, Effect { is_file_work: true, ..Effect::default() });
                let leaves = call.args.len() <= 2 && call.args.iter().all(|arg| arg.text.is_some());
                if leaves && matches!(name, "exit" | "return") { Ends { ok: None, failed: None } } else { same() }
            }
            "eval" => self.eval(call, scope),
            "." | "source" => {
                self.emit(call, unseen("runs what a file holds"));
                let Some(file) = call.words().iter().find(|arg| arg.text.as_deref() != Some("--")) else {
                    return Some(same());
                };
                let of_input = file.text.as_deref().is_some_and(|text| {
                    ["/dev/stdin", "/dev/fd/", "/proc/"].iter().any(|input| text.starts_with(input))
                });
                if file.is_process || of_input {
                    self.unknown(&file.span, format!("`{name}` runs what another command gives"));
                } else {
                    self.found.files.extend(programs::uses(file, name, FileAccess::Read, scope));
                }
                Ends::same(lost(scope.clone()))
            }
            "trap" => {
                self.trap(call, scope);
                same()
            }
            "exec" | "command" | "builtin" if call.args.len() > 1 => {
                if name == "builtin" || name == "command" {
                    return self.within_shell(call, scope);
                }
                return None;
            }
            "exec" | "command" | "builtin" => {
                if name == "exec" && call.input != Input::Nothing {
                    self.feed_for_good();
                }
                self.emit(call, Effect::default());
                same()
            }
            "set" => {
                self.set(call);
                same()
            }
            "let" => {
                self.emit(call, Effect::default());
                let plain = |arg: &Arg| {
                    arg.text.as_ref().is_some_and(|text| {
                        text.bytes().all(|byte| byte.is_ascii_digit() || b"+-*/%=() ".contains(&byte))
                    })
                };
                if !call.words().iter().all(plain) {
                    self.unknown(&call.span, "words are computed as numbers, which runs what values hold");
                }
                Ends::same(cleared(scope))
            }
            "test" | "[" => {
                self.emit(call, Effect { is_file_work: true, ..Effect::default() });
                self.test_builtin(call);
                same()
            }
            _ => return self.setter(name, call, scope),
        };
        Some(ends)
    }

    /// `command cd x` and `builtin eval x` run the shell's own.
    fn within_shell(&mut self, call: &Call, scope: &Scope) -> Option<Ends> {
        let spec = Spec { short: if call.program() == Some("command") { "pvV" } else { "" }, long: &[] };
        let parsed = spec.parse(call.words(), Order::OptionsFirst);
        let at = parsed.first.filter(|_| parsed.is_understood() && !parsed.has(&["v", "V"]))?;
        let inner = call.inner(call.words()[at..].to_vec(), at + 1);
        Some(self.judge(&inner, scope.clone()))
    }

    fn change_folder(&mut self, name: &str, call: &Call, scope: &Scope) -> Ends {
        let lost = || Ends::same(Scope { folders: None, moved: true, ..scope.clone() });
        let parsed = Spec { short: "LPe@", long: &[] }.parse(call.words(), Order::OptionsFirst);
        let entered = |span: &Span, place| FileUse::new(span.clone(), name, FileAccess::Read, place);
        if !parsed.is_understood() || parsed.has(&["P", "@"]) || parsed.operands.len() > 1 {
            let words = call.words().iter().filter(|arg| !arg.raw.starts_with('-'));
            self.found.files.extend(words.map(|arg| entered(&arg.span, Place::Unknown(arg.raw.clone()))));
            return lost();
        }
        let target: Option<Vec<AbsPath>> = match parsed.operands.first() {
            Some(arg) if arg.text.as_deref() == Some("-") || arg.text.as_deref() == Some("") => None,
            Some(arg) if name == "pushd" && arg.raw.starts_with('+') => None,
            Some(arg) => folders(arg, scope),
            None if name == "cd" => {
                let home = scope.variables.get("HOME").and_then(|home| home.first());
                home.and_then(|home| AbsPath::new(home.text())).map(|home| vec![home])
            }
            None => None,
        };
        let (span, word) = parsed.operands.first().map_or((&call.span, name), |arg| (&arg.span, arg.raw.as_str()));
        let places = match &target {
            Some(folders) => folders.iter().cloned().map(Place::File).collect(),
            None => vec![Place::Unknown(word.to_owned())],
        };
        self.found.files.extend(places.into_iter().map(|place| entered(span, place)));
        match target {
            Some(folders) => {
                let moved = Scope { folders: Some(folders), moved: true, ..scope.clone() };
                Ends { ok: Some(moved), failed: Some(scope.clone()) }
            }
            None => lost(),
        }
    }

    fn eval(&mut self, call: &Call, scope: &Scope) -> Ends {
        let words: Option<Vec<&str>> = call.words().iter().map(|arg| arg.text.as_deref()).collect();
        let Some(words) = words.filter(|_| !call.is_open) else {
            self.unknown(&call.span, "`eval` runs what an expansion gives");
            self.emit(call, unseen("runs what an expansion gives"));
            return Ends::same(lost(scope.clone()));
        };
        let text = words.join(" ");
        let text = text.strip_prefix("-- ").unwrap_or(&text).to_owned();
        let fed = call.input != Input::Nothing;
        match self.fed_by(fed, |walk| walk.text(&text, Some(call.span.clone()), scope.clone())) {
            Some(behind) => Ends::same(behind.either(scope.clone())),
            None => {
                self.emit(call, unseen("runs a text that is not understood"));
                Ends::same(lost(scope.clone()))
            }
        }
    }

    fn trap(&mut self, call: &Call, scope: &Scope) {
        self.emit(call, Effect::default());
        let words: Vec<&Arg> = call.words().iter().filter(|arg| arg.text.as_deref() != Some("--")).collect();
        let Some(action) = words.first().filter(|_| words.len() > 1) else { return };
        match action.text.as_deref() {
            Some("" | "-" | "-p" | "-l") => {}
            Some(text) => {
                let text = text.to_owned();
                // It runs when something else may stand before it.
                self.fed_by(true, |walk| walk.text(&text, Some(call.span.clone()), lost_but_home(scope)));
            }
            None => self.unknown(&call.span, "`trap` runs what an expansion gives"),
        }
    }

    /// `set -e` and its like; others change how bash reads.
    fn set(&mut self, call: &Call) {
        self.emit(call, Effect { is_file_work: true, ..Effect::default() });
        const NAMES: [&str; 8] =
            ["pipefail", "errexit", "nounset", "xtrace", "verbose", "noclobber", "allexport", "errtrace"];
        let mut words = call.words().iter();
        while let Some(arg) = words.next() {
            let Some(text) = arg.text.as_deref() else {
                return self.unknown(&call.span, "an option of the shell that is computed");
            };
            let Some(letters) = text.strip_prefix(['-', '+']) else { return };
            if text == "--" || text == "-" {
                return;
            }
            if !letters.bytes().all(|letter| b"euvxoCaE".contains(&letter)) {
                return self.unknown(&call.span, "an option of the shell is changed");
            }
            if letters.contains('o') {
                match words.next().map(|name| name.text.as_deref()) {
                    None => {}
                    Some(Some(name)) if NAMES.contains(&name) => {}
                    Some(_) => return self.unknown(&call.span, "an option of the shell is changed"),
                }
            }
        }
    }

    /// `[ -v x ]` takes a name, whose subscript may run a command.
    fn test_builtin(&mut self, call: &Call) {
        for pair in call.words().windows(2) {
            let takes_name = matches!(pair[0].text.as_deref(), Some("-v" | "-R" | "!-v"));
            let is_plain = pair[1].text.as_deref().is_some_and(|text| variables::is_name(text) || text == "]");
            if takes_name && !is_plain {
                self.unknown(&call.span, "the name of a variable that is not plain");
            }
        }
        // With an operator that is computed, any word could be such a name.
        let computed = |arg: &&Arg| arg.text.is_none() && arg.may_be_option() && !arg.raw.starts_with('"');
        if call.words().len() <= 3 && call.words().first().is_some_and(|arg| computed(&arg)) && call.words().len() > 1 {
            let is_last = call.words().len() == 2 && call.words()[1].text.as_deref() == Some("]");
            let operator = call.words().get(1).and_then(|arg| arg.text.as_deref());
            let compares =
                matches!(operator, Some("=" | "==" | "!=" | "-eq" | "-ne" | "-lt" | "-le" | "-gt" | "-ge" | "<" | ">"));
            if !is_last && !compares {
                self.unknown(&call.span, "a test whose operator is computed");
            }
        }
    }

    /// Builtins that set the variables which their words name.
    fn setter(&mut self, name: &str, call: &Call, scope: &Scope) -> Option<Ends> {
        let spec = match name {
            "read" => Spec { short: "ersa:d:i:n:N:p:t:u:", long: &[] },
            "mapfile" | "readarray" => Spec { short: "td:n:O:s:u:C:c:", long: &[] },
            "printf" => Spec { short: "v:", long: &[] },
            "getopts" => Spec { short: "", long: &[] },
            "wait" => Spec { short: "fnp:", long: &[] },
            "unset" => Spec { short: "fvn", long: &[] },
            _ if is_declaration(name) => Spec { short: "aAfFgiIlnrtuxp", long: &[] },
            _ => return None,
        };
        self.emit(call, Effect { is_file_work: true, ..Effect::default() });
        let order = if name == "printf" { Order::OptionsFirst } else { Order::Mixed };
        let parsed = spec.parse(call.words(), order);
        if name != "printf" && (!parsed.is_understood() || call.is_open) {
            self.unknown(&call.span, format!("`{name}` has an option that is not known"));
        }
        if parsed.has(&["C"]) {
            self.unknown(&call.span, "`mapfile` runs a command for lines");
        }
        if is_declaration(name) && (name == "readonly" || parsed.has(&["i", "n", "l", "u", "c", "r"])) {
            self.unknown(&call.span, format!("`{name}` gives a variable another meaning"));
        }
        let mut names: Vec<&Arg> = match name {
            "printf" | "wait" => parsed.value(&["v", "p"]).into_iter().collect(),
            "getopts" => parsed.operands.get(1).into_iter().collect(),
            _ => parsed.operands.iter().collect(),
        };
        if name == "printf" && call.words().first().is_some_and(|arg| arg.text.is_none() && arg.may_be_option()) {
            self.unknown(&call.span, "an option of `printf` that is computed");
        }
        names.extend(parsed.value(&["a"]).filter(|_| name == "read"));
        if name == "mapfile" || name == "readarray" {
            names = parsed.operands.iter().collect();
        }
        let reads = matches!(name, "read" | "mapfile" | "readarray");
        for arg in names {
            self.set_by(arg, name, reads);
        }
        // Where no name is given.
        if reads {
            for given in ["REPLY", "MAPFILE"] {
                self.assigned(given, &call.span, None);
            }
        }
        if name == "getopts" {
            self.assigned("OPTARG", &call.span, None);
        }
        Some(Ends::same(if name == "unset" && parsed.has(&["f"]) {
            scope.clone()
        } else {
            without_set(name, call, scope)
        }))
    }

    fn set_by(&mut self, arg: &Arg, by: &str, reads: bool) {
        let raw_name = arg.raw.split(['=', '+', '[']).next().unwrap_or_default();
        let declared = is_declaration(by) && variables::is_name(raw_name) && arg.raw.contains('=');
        if declared {
            // The reader took it for an assignment, whose value was looked at as such.
            return;
        }
        match arg.text.as_deref() {
            Some(name) if variables::is_name(name) => {
                if by == "unset" || is_declaration(by) {
                    if by == "unset" && variables::steers(name) {
                        self.unknown(&arg.span, format!("`{name}` changes what commands do"));
                    }
                    return;
                }
                self.assigned(name, &arg.span, None);
            }
            _ if by == "unset" && arg.text.as_deref().is_some_and(|text| !text.contains('[')) => {}
            _ => self.unknown(
                &arg.span,
                if reads { "reads into a name that is not plain" } else { "the name of a variable that is not plain" },
            ),
        }
    }
}

fn without_set(name: &str, call: &Call, scope: &Scope) -> Scope {
    let mut scope = scope.clone();
    let first = call.words().first();
    if name == "printf" && first.is_some_and(|arg| arg.text.as_deref().is_some_and(|text| !text.starts_with("-v"))) {
        return scope;
    }
    let named: Vec<&str> = call
        .words()
        .iter()
        .filter_map(|arg| arg.text.as_deref().unwrap_or(&arg.raw).split(['=', '+', '[']).next())
        .collect();
    let plain = call.words().iter().all(|arg| arg.text.is_some() || is_declaration(name));
    scope.variables.retain(|variable| plain && !named.contains(&variable));
    scope
}

fn cleared(scope: &Scope) -> Scope {
    let mut scope = scope.clone();
    scope.variables.retain(|_| false);
    scope
}

fn lost_but_home(scope: &Scope) -> Scope {
    let variables = touched::without_variables(scope.clone()).variables;
    Scope { variables, ..lost(scope.clone()) }
}

/// What a shell reads where it is given no script.
pub(super) fn script_of(input: &Input) -> Option<&str> {
    match input {
        Input::Text(text) => Some(text),
        Input::Nothing | Input::Unseen => None,
    }
}
