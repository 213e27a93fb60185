//! What one simple command means: its spelling for rules, the commands that it runs in turn, and what is known of its program.

use super::code::Run;
use super::expansion::{Expanded, Scope, folders};
use super::options::Arg;
use super::redirects::Input;
use super::syntax::{Simple, Span};
use super::walk::{Ends, Walk};
use super::without_options::{readings, without_general_options};
use super::wrappers::{self, Wrapped, Wrapper};
use super::{
    Analysis, Effect, FileAccess, FileUse, Pattern, Place, Shape, SimpleCommand, arity, builtins, find, interpreters,
    links, programs, proven, touched, variables,
};

/// A command with what stands around it.
#[derive(Debug, Clone)]
pub(super) struct Call {
    pub(super) span: Span,
    /// The program first.
    pub(super) args: Vec<Arg>,
    /// Assignments before it, as written.
    assigned: String,
    /// What stands before it in the words of its wrappers.
    outer: String,
    /// With redirects, where it has any.
    whole: Option<String>,
    pub(super) input: Input,
    /// Words are added that the text does not tell, as by `xargs`.
    pub(super) is_open: bool,
    /// They are the names that `git ls-files` has printed.
    pub(super) is_tracked: bool,
}

impl Call {
    pub(super) fn program(&self) -> Option<&str> {
        self.args.first().and_then(|arg| arg.text.as_deref())
    }

    /// A command within the words of this one.
    pub(super) fn inner(&self, args: Vec<Arg>, outer_words: usize) -> Call {
        let mut outer = vec![self.outer.as_str()];
        outer.extend(self.args.iter().take(outer_words).map(|arg| arg.raw.as_str()));
        outer.retain(|word| !word.is_empty());
        Call { outer: outer.join(" "), args, whole: None, ..self.clone() }
    }

    pub(super) fn words(&self) -> &[Arg] {
        self.args.get(1..).unwrap_or_default()
    }

    /// The literal words, for tables.
    pub(super) fn texts(&self) -> Vec<Option<&str>> {
        self.args.iter().map(|arg| arg.text.as_deref()).collect()
    }
}

impl Walk {
    pub(super) fn simple(&mut self, simple: &Simple, scope: Scope) -> Ends {
        let is_tracked = std::mem::take(&mut self.lists_tracked);
        for redirect in &simple.redirects {
            self.redirect(redirect, &scope);
        }
        let mut behind = scope.clone();
        for assignment in &simple.assignments {
            let value = self.assignment(assignment, &behind);
            if simple.words.is_empty() {
                match value.filter(|_| !variables::is_special(&assignment.name)) {
                    Some(values) => behind.variables.insert(&assignment.name, values),
                    None => behind.variables.remove(&assignment.name),
                }
            } else if !builtins::declares(&simple.words) {
                // Only for this one command.
            } else {
                behind.variables.remove(&assignment.name);
            }
        }
        for word in &simple.words {
            self.word(word, &scope);
        }
        // Bash expands the words from left to right, so that one can set what the next expands.
        let (scope, behind) = if touched::sets_within(&simple.raw) {
            (touched::without_variables(scope), touched::without_variables(behind))
        } else {
            (scope, behind)
        };
        if simple.words.is_empty() {
            return Ends::same(behind);
        }
        let args: Vec<Arg> = simple.words.iter().map(|word| Arg::new(word, &scope)).collect();
        let declares = builtins::declares(&simple.words);
        let assigned: Vec<&str> =
            simple.assignments.iter().filter(|_| !declares).map(|assignment| assignment.raw.as_str()).collect();
        let call = Call {
            span: simple.span.clone(),
            args,
            assigned: assigned.join(" "),
            outer: String::new(),
            whole: (!simple.redirects.is_empty()).then(|| simple.raw.clone()),
            input: self.input(simple, &scope),
            is_open: false,
            is_tracked: is_tracked && !simple.redirects.iter().any(|redirect| redirect.feeds),
        };
        if declares { self.judge(&call, behind) } else { self.judge(&call, scope) }
    }

    /// Judges `call`, and whatever it runs in turn.
    pub(super) fn judge(&mut self, call: &Call, scope: Scope) -> Ends {
        let behind = lost(scope.clone());
        if !self.takes(call.args.len()) {
            self.beyond(&call.span, "it has too many parts");
            return Ends::same(behind);
        }
        self.deeper(|walk| walk.judge_here(call, scope)).unwrap_or_else(|| Ends::same(behind))
    }

    fn judge_here(&mut self, call: &Call, scope: Scope) -> Ends {
        let Some(program) = call.program().map(str::to_owned) else {
            self.unknown(&call.span, "the program is named by an expansion");
            self.emit(call, Effect { runs_unseen: Some("the program is not known".to_owned()), ..Effect::default() });
            return Ends::same(lost(scope));
        };
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_./+@:%,~-[".contains(&byte);
        if program.is_empty() || !program.bytes().all(plain) {
            self.unknown(&call.span, "the name of the program is not plain");
            return Ends::same(lost(scope));
        }
        self.called(&program, &call.span);
        let lower = program.rsplit('/').next().unwrap_or_default().to_lowercase();
        if !program.ends_with(&lower) && programs::is_known(&lower) {
            self.unknown(
                &call.span,
                "capitals in the name of a program, which some disks do not tell from small letters",
            );
        }
        if !program.contains('/')
            && let Some(ends) = self.builtin(&program, call, &scope)
        {
            return ends;
        }
        let name = program.rsplit('/').next().unwrap_or_default().to_owned();
        let is_judged_anyway = wrappers::wrapper(&name).is_none() && !interpreters::is_shell(&name) && name != "find";
        if program.contains('/') && !programs::is_of_the_system(&program) && !is_judged_anyway {
            // It has the name of one that is known, and may be any.
            self.emit(call, unseen("a program that is not of the system"));
        }
        if let Some(wrapper) = wrappers::wrapper(&name) {
            self.wrapped(wrapper, call, &scope);
        } else if interpreters::is_shell(&name) {
            self.shell(&name, call, &scope);
        } else if name == "find" {
            // No `--` ends its options.
            self.patterns(call.words(), &scope);
            self.find(call, &scope);
        } else {
            let words = call.words();
            let options = words.iter().position(|arg| arg.text.as_deref() == Some("--")).unwrap_or(words.len());
            self.patterns(&words[..options], &scope);
            let judged = programs::judge(&name, call, &scope);
            for (span, reason) in judged.unknown {
                self.unknown(&span, reason);
            }
            let first = self.found.files.len();
            self.found.files.extend(judged.files.into_iter().map(|used| FileUse { command: first, ..used }));
            let own = first..self.found.files.len();
            let made = links::made(&name, call, &scope, &self.found.files[own.clone()]);
            let is_repeated = self.repeated > 0;
            self.found.links.extend(made.map(|(at, source)| links::Links {
                span: call.span.clone(),
                at,
                source,
                own,
                is_repeated,
            }));
            self.emit(call, judged.effect);
            for run in judged.runs {
                self.run(&run, call, &scope);
            }
            for inner in &judged.elsewhere {
                self.elsewhere(|walk| {
                    walk.judge(inner, scope.clone());
                });
            }
            for inner in &judged.beyond {
                self.beyond_the_sandbox(|walk| {
                    walk.judge(inner, scope.clone());
                });
            }
            for inner in judged.inner.iter().chain(&judged.here) {
                self.judge(inner, scope.clone());
            }
        }
        Ends::same(scope)
    }

    /// Names of files that may be read as options.
    fn patterns(&mut self, options: &[Arg], scope: &Scope) {
        for arg in options {
            let may_begin = |value: &&Expanded| value.is_glob() && value.text().starts_with(['*', '?', '[', '-']);
            for value in arg.values.iter().flatten().filter(may_begin) {
                for place in scope.places(value) {
                    match place {
                        Place::Glob { base, pattern } => {
                            let found = Pattern { span: arg.span.clone(), base, pattern };
                            if !self.found.patterns.contains(&found) {
                                self.found.patterns.push(found);
                            }
                        }
                        Place::File(_) | Place::Maybe(_) | Place::Tracked(_) => {}
                        Place::Unknown(_) => self.unknown(&arg.span, "a pattern that may mean an option"),
                    }
                }
            }
        }
    }

    /// A text that the program gives to a shell.
    fn run(&mut self, run: &Run, call: &Call, scope: &Scope) {
        match run.is_elsewhere {
            true => self.elsewhere(|walk| walk.script("sh", &run.text, call, scope)),
            false => self.script("sh", &run.text, call, scope),
        }
    }

    /// What `judge` finds, of another place: its files are not those of this one.
    fn elsewhere(&mut self, judge: impl FnOnce(&mut Self)) {
        let Analysis { files, links, patterns, .. } = &self.found;
        let (files, links, patterns) = (files.len(), links.len(), patterns.len());
        self.beyond_the_sandbox(judge);
        self.found.files.truncate(files);
        self.found.links.truncate(links);
        self.found.patterns.truncate(patterns);
    }

    /// What `judge` finds, where this sandbox does not hold it.
    fn beyond_the_sandbox(&mut self, judge: impl FnOnce(&mut Self)) {
        let commands = self.found.commands.len();
        judge(self);
        for command in &mut self.found.commands[commands..] {
            command.effect.is_file_work = false;
            // Of its network it knows nothing.
            command.effect.network |= !command.effect.reads_only;
        }
    }

    fn wrapped(&mut self, wrapper: &Wrapper, call: &Call, scope: &Scope) {
        let (at, parsed) = match wrapper.unwrap(call.words()) {
            Wrapped::Command { at, parsed } => (at, parsed),
            Wrapped::Nothing if call.is_open => {
                self.unknown(&call.span, format!("`{}` runs a command that it is given as words", wrapper.name));
                return self.emit(call, unseen("runs a command that it is given as words"));
            }
            Wrapped::Nothing => {
                if wrapper.judged.is_some() && call.input != Input::Nothing {
                    self.unknown(&call.span, format!("`{}` alone starts a shell that reads its input", wrapper.name));
                }
                // `command -v x` tells where it is.
                let is_file_work = wrapper.name == "command" && !call.words().is_empty();
                return self.emit(call, Effect { is_file_work, ..Effect::default() });
            }
            Wrapped::Unknown(reason) => {
                self.found.files.extend(programs::likely_files(wrapper.name, call.words(), scope));
                self.unknown(&call.span, format!("`{}` {reason}", wrapper.name));
                return self.emit(call, unseen(reason));
            }
        };
        let mut within = scope.clone();
        for arg in &call.words()[..at] {
            let Some((name, value)) = arg.text.as_deref().and_then(|text| text.split_once('=')) else { continue };
            if wrapper.assigns && variables::is_name(name) {
                self.assigned(name, &arg.span, Some(&[Expanded::literal(value)]));
            } else if wrapper.assigns && !arg.raw.starts_with('-') {
                self.unknown(&arg.span, "a variable whose name is not plain");
            }
        }
        if let Some(computed) = call.words()[..at].iter().find(|arg| wrapper.assigns && arg.text.is_none()) {
            let name = computed.raw.split('=').next().unwrap_or_default();
            self.assigned(name, &computed.span, None);
        }
        if wrapper.assigns && parsed.has(&["C", "D", "chdir"]) {
            within.folders = parsed.value(&["C", "D", "chdir"]).and_then(|folder| folders(folder, scope));
            within.moved = true;
        }
        let mut inner = call.inner(call.words()[at..].to_vec(), at + 1);
        match wrapper.name {
            "xargs" => {
                inner.is_open = true;
                // In their order, and no others.
                inner.is_tracked &=
                    !parsed.has(&["a", "arg-file", "I", "i", "replace", "d", "delimiter", "E", "e", "eof"]);
                if !parsed.has(&["a", "arg-file", "o", "open-tty"]) {
                    inner.input = Input::Nothing;
                }
                self.read_value(&parsed, &["a", "arg-file"], "xargs", scope);
                if parsed.has(&["I", "i", "replace"]) {
                    let sign = parsed.value(&["I", "i", "replace"]).map_or(Some("{}"), |sign| sign.text.as_deref());
                    let holds = |arg: &Arg| {
                        sign.is_none_or(|sign| {
                            let is_in = |text: &str| sign.is_empty() || text.contains(sign);
                            is_in(&arg.raw) || arg.text.as_deref().is_none_or(is_in)
                        })
                    };
                    inner.args =
                        inner.args.iter().map(|arg| if holds(arg) { arg.opaque() } else { arg.clone() }).collect();
                }
            }
            "chroot" => within.folders = None,
            "env" | "sudo" if parsed.has(&["C", "D", "chdir"]) => {
                if let Some(folder) = parsed.value(&["C", "D", "chdir"]) {
                    self.found.files.extend(programs::uses(folder, "cd", FileAccess::Read, scope));
                }
            }
            "strace" if parsed.value(&["o", "output"]).is_some_and(is_piped) => {
                self.unknown(&call.span, "a command that `strace` writes to");
            }
            "time" | "strace" | "ltrace" => self.write_value(&parsed, &["o", "output"], wrapper.name, scope),
            _ => {}
        }
        let own = self.found.commands.len();
        if let Some(reason) = wrapper.judged {
            let network = matches!(wrapper.name, "npx" | "bunx" | "uvx" | "proxychains" | "torsocks");
            self.emit(call, Effect { network, ..unseen(reason) });
        }
        self.judge(&inner, within);
        // What it runs is what reaches the network.
        if wrapper.judged.is_some() && self.found.commands.get(own + 1..).is_some_and(reaches_network) {
            self.found.commands[own].effect.network = true;
        }
    }

    fn read_value(&mut self, parsed: &super::options::Parsed, names: &[&str], by: &str, scope: &Scope) {
        if let Some(value) = parsed.value(names) {
            self.found.files.extend(programs::uses(value, by, FileAccess::Read, scope));
        }
    }

    fn write_value(&mut self, parsed: &super::options::Parsed, names: &[&str], by: &str, scope: &Scope) {
        if let Some(value) = parsed.value(names) {
            self.found.files.extend(programs::uses(value, by, FileAccess::Write, scope));
        }
    }

    fn find(&mut self, call: &Call, scope: &Scope) {
        let found = find::read(call, scope);
        self.found.files.extend(found.files);
        for reason in found.unknown {
            self.unknown(&call.span, reason);
        }
        let runs = !found.runs.is_empty();
        self.emit(
            call,
            Effect {
                runs_unseen: runs.then(|| "runs a command on files that it finds".to_owned()),
                is_file_work: found.is_file_work && !runs,
                loses: found.deletes.then(|| super::version_control::discards_repository("find", call)).flatten(),
                ..Effect::default()
            },
        );
        let own = self.found.commands.len() - 1;
        for args in found.runs {
            let mut inner = call.inner(args, call.args.len());
            inner.outer = call.args.iter().map(|arg| arg.raw.as_str()).collect::<Vec<_>>().join(" ");
            let mut within = scope.clone();
            within.folders = None;
            self.judge(&inner, within);
        }
        if reaches_network(&self.found.commands[own + 1..]) {
            self.found.commands[own].effect.network = true;
        }
    }

    /// All that the command may be, under each of its names.
    fn shapes(&self, call: &Call, name: &str) -> Vec<Shape> {
        let is_told = |arg: &Arg| arg.text.is_some() || arg.is_process || !arg.shape.is_open();
        if !call.is_open && call.words().iter().all(is_told) {
            return Vec::new();
        }
        let spelled = |head: &str, words: &[Arg]| {
            let mut shape = Shape::literal(head);
            for word in words {
                shape.push_word(&word.shape);
            }
            if call.is_open {
                shape.push_words();
            }
            shape
        };
        let base = name.rsplit('/').next().unwrap_or_default();
        let mut shapes = vec![spelled(name, call.words())];
        if base != name {
            shapes.push(spelled(base, call.words()));
        }
        for reading in readings(call).into_iter().flatten() {
            shapes.push(spelled(&reading.program, &reading.words));
        }
        if !call.outer.is_empty() {
            shapes.push(spelled(&format!("{} {name}", call.outer), call.words()));
        }
        shapes
    }

    /// Takes `call` into what was found.
    pub(super) fn emit(&mut self, call: &Call, mut effect: Effect) {
        let Some(program) = call.args.first() else { return };
        let name = program.text.clone().unwrap_or_else(|| program.raw.clone());
        let words: Vec<&str> = call.words().iter().map(|arg| arg.raw.as_str()).collect();
        let spelled = |name: &str, words: &[&str]| {
            std::iter::once(name).chain(words.iter().copied()).collect::<Vec<_>>().join(" ")
        };
        let pattern = spelled(&name, &words);
        let mut aliases = Vec::new();
        let unquoted: Vec<String> = call.words().iter().map(plain_words).collect();
        let unquoted: Vec<&str> = unquoted.iter().map(String::as_str).collect();
        aliases.push(spelled(&name, &unquoted));
        if let Some(base) = name.rsplit('/').next().filter(|base| *base != name) {
            aliases.push(spelled(base, &words));
            aliases.push(spelled(base, &unquoted));
        }
        aliases.extend(without_general_options(call));
        for before in [&call.assigned, &call.outer] {
            if !before.is_empty() {
                aliases.push(format!("{before} {pattern}"));
            }
        }
        if !call.assigned.is_empty() && !call.outer.is_empty() {
            aliases.push(format!("{} {} {pattern}", call.assigned, call.outer));
        }
        let shapes = self.shapes(call, &name);
        let readings = readings(call).unwrap_or_else(|| {
            self.unknown(&call.span, "it has more options before what it does than are looked at");
            Vec::new()
        });
        let without_options = readings.iter().map(|reading| {
            let words: Vec<String> = reading.words.iter().map(plain_words).collect();
            spelled(&reading.program, &words.iter().map(String::as_str).collect::<Vec<_>>())
        });
        let mut without_options: Vec<String> = without_options.collect();
        without_options.dedup();
        aliases.extend(call.whole.clone());
        let mut seen = vec![pattern.clone()];
        aliases.retain(|alias| {
            let is_new = !seen.contains(alias);
            if is_new {
                seen.push(alias.clone());
            }
            is_new
        });
        effect.is_file_work &= !call.is_open;
        if effect.loses.is_none() && [&call.assigned, &call.outer].iter().any(|before| before.contains("GIT_CONFIG")) {
            effect.loses = super::version_control::may_lose(call);
        }
        if call.is_open && effect.loses.is_none() {
            effect.loses = super::version_control::may_lose(call);
        }
        effect.reads_only = proven::reads_only(call) && effect.loses.is_none() && effect.runs_unseen.is_none();
        let prefix = arity::prefix(call, &effect);
        self.found.commands.push(SimpleCommand {
            span: call.span.clone(),
            pattern,
            aliases,
            without_options,
            shapes,
            prefix,
            effect,
        });
    }
}

/// What stands behind such a sign is a command.
fn is_piped(output: &Arg) -> bool {
    output.text.as_deref().is_none_or(|text| text.starts_with(['|', '!']))
}

fn reaches_network(commands: &[SimpleCommand]) -> bool {
    commands.iter().any(|command| command.effect.network)
}

pub(super) fn unseen(reason: &str) -> Effect {
    Effect { runs_unseen: Some(reason.to_owned()), ..Effect::default() }
}

/// Behind something that may have changed anything.
pub(super) fn lost(mut scope: Scope) -> Scope {
    scope.folders = None;
    scope.moved = true;
    scope.variables.retain(|_| false);
    scope
}

/// The word without quotes, where that can be told; several, where braces give several.
fn plain_words(arg: &Arg) -> String {
    match &arg.values {
        Some(values) if !arg.is_choice => values.iter().map(Expanded::text).collect::<Vec<_>>().join(" "),
        _ => arg.raw.clone(),
    }
}
