//! Commands in the words of others: behind `ssh host`, in containers and pods, behind the runner of a project. They are judged by their own words all the
//! same, and by the files that they name where the place shares those of this machine.

use super::code::{Code, Run, is_calm};
use super::command::Call;
use super::letters::SSH;
use super::options::{Arg, Given, Order, Spec};
use super::redirects::Input;
use super::version_control;
use super::without_options::behind;
use runners::{Place, Runner, all};

pub(super) use runners::CONTAINERS;

mod runners;

/// Commands in the words of `call`, as they are given where they run.
pub(super) fn commands(name: &str, call: &Call, code: &mut Code) {
    for runner in all().filter(|runner| runner.programs.contains(&name)) {
        let places: Option<Vec<_>> = runner.verbs.iter().map(|verb| behind(verb, call.words())).collect();
        if places.is_none() {
            code.unclear(&call.span, "more words behind which a command may stand than are looked at");
        }
        if runner.place == Place::OfProject && runner.is_behind_options(call.words()) {
            code.unclear(&call.span, "options before a command, which may say in which folder or how it runs");
        }
        for words in places.into_iter().flatten().flatten() {
            let command = match runner.place {
                Place::Elsewhere | Place::SameFiles | Place::Here => runner.command(words, call, code),
                Place::OfProject => of_project(name, words, call, code),
            };
            let found = match runner.place {
                Place::Elsewhere => &mut code.elsewhere,
                Place::SameFiles => &mut code.beyond,
                Place::Here | Place::OfProject => &mut code.here,
            };
            found.extend(command);
        }
    }
}

impl Runner {
    /// Whether options of the program stand before what may be its verb.
    fn is_behind_options(&self, words: &[Arg]) -> bool {
        let is_verb =
            |arg: &Arg| self.verbs.iter().flat_map(|verb| verb.first()).any(|verb| arg.text.as_deref() == Some(verb));
        words.first().is_some_and(|first| first.raw.starts_with('-')) && words.iter().any(is_verb)
    }

    /// `words`: behind the verb.
    fn command(&self, words: &[Arg], call: &Call, code: &mut Code) -> Option<Call> {
        let parsed = self.options.parse(words, Order::OptionsFirst);
        if !parsed.is_understood() || call.is_open {
            code.unclear(&call.span, "words behind which a command may stand that runs elsewhere");
        }
        if let Some(program) = parsed.value(&["entrypoint"]) {
            code.unclear(&program.span, "a program that runs in a container");
        }
        let is_same = self.place == Place::SameFiles;
        // What is to be entered may be given by an option too.
        let operands = if is_same && parsed.has(&["n", "name"]) { 0 } else { self.operands };
        let ends = words.iter().position(|arg| arg.text.as_deref() == Some("--"));
        let is_ended = operands > 0 && ends.is_some_and(|ends| parsed.first.is_none_or(|first| ends < first));
        if is_same && (is_ended || parsed.has(&["directory", "workdir", "shell"])) {
            code.unclear(&call.span, "words that say in which folder or how a command runs elsewhere");
        }
        let mut at = parsed.first.map_or(words.len(), |first| first + operands);
        // Behind the pod its options may go on.
        while words.get(at).is_some_and(|arg| arg.raw.starts_with('-')) {
            let again = self.options.parse(&words[at..], Order::OptionsFirst);
            let ends = words[at..].iter().position(|arg| arg.text.as_deref() == Some("--"));
            let options = ends.map(|ends| ends + 1).or(again.first).unwrap_or(words.len() - at);
            if options == 0 || !again.is_understood() {
                code.unclear(&call.span, "words behind which a command may stand that runs elsewhere");
            }
            if options == 0 {
                break;
            }
            at += options;
        }
        let command = words.get(at..).unwrap_or_default();
        if command.is_empty() {
            if call.input != Input::Nothing {
                code.unclear(&call.span, "what its input holds may run elsewhere");
            }
            return None;
        }
        Some(call.inner(command.to_vec(), call.args.len() - command.len()))
    }
}

/// `words`: behind the verb.
fn of_project(name: &str, words: &[Arg], call: &Call, code: &mut Code) -> Option<Call> {
    if words.is_empty() {
        if call.input != Input::Nothing || call.is_open {
            code.unclear(&call.span, "what its input holds may run");
        }
        return None;
    }
    // What stands before `--` and is no option is the command already, or the value of an option.
    let is_option = |arg: &&Arg| arg.text.as_deref().is_some_and(|text| text.starts_with('-') && text != "--");
    let options = words.iter().take_while(is_option).count();
    let ends = words.get(options).is_some_and(|arg| arg.text.as_deref() == Some("--"));
    let (options, command) = if ends { (&words[..options], &words[options + 1..]) } else { words.split_at(0) };
    let is_plain = command.first().is_some_and(|first| !first.raw.starts_with('-'));
    if !is_plain || options.iter().any(|option| is_other(name, option)) {
        code.unclear(&call.span, "it runs a command that stands in its words");
        return None;
    }
    Some(call.inner(command.to_vec(), call.args.len() - command.len()))
}

/// What stands behind the host is run there, as words that are joined by blanks.
pub(super) fn ssh(call: &Call, code: &mut Code) {
    const OPTIONS: Spec = Spec { short: SSH, long: &[] };
    let words = call.words();
    let parsed = OPTIONS.parse(words, Order::OptionsFirst);
    // Options may stand behind the host too.
    let behind = parsed.first.map_or(words.len(), |first| first + 1).min(words.len());
    let again = OPTIONS.parse(&words[behind..], Order::OptionsFirst);
    let strange = |given: &Given| match given.name.as_str() {
        "o" => !is_calm(given.value.as_ref()),
        name => matches!(name, "F" | "I" | "w"),
    };
    let is_known = parsed.is_understood() && again.is_understood() && !call.is_open;
    if !is_known || parsed.given.iter().chain(&again.given).any(strange) {
        code.unclear(&call.span, "an option of ssh that may run or load something");
    }
    let Some(first) = again.first else {
        match &call.input {
            Input::Text(text) => code.runs.push(Run { text: text.clone(), is_elsewhere: true }),
            Input::Unseen => code.unclear(&call.span, "what its input holds runs on the host"),
            Input::Nothing => {}
        }
        return;
    };
    let run = &words[behind + first..];
    let texts: Option<Vec<&str>> = run.iter().map(|arg| arg.text.as_deref()).collect();
    match texts {
        Some(texts) => code.runs.push(Run { text: texts.join(" "), is_elsewhere: true }),
        None => code.unclear(&run[0].span, "what runs on the host is computed"),
    }
}

/// A command of git under another name, so that it is judged by its own too.
pub(super) fn of_git(name: &str, call: &Call) -> Option<Call> {
    let words = call.words();
    // It passes on what it does not know.
    if name == "hub" {
        let git = Arg::literal("git", call.args.first()?.span.clone());
        return Some(call.inner([&[git], words].concat(), 1));
    }
    // As git calls its own.
    let command = name.strip_prefix("git-")?;
    let span = call.args.first()?.span.clone();
    let named = ["git", command].map(|word| Arg::literal(word, span.clone()));
    Some(call.inner([&named[..], words].concat(), 1))
}

/// An option by which the words are no program with its arguments: a line for a shell, a module, a script.
fn is_other(name: &str, option: &Arg) -> bool {
    let letters = if name == "uv" { "ms" } else { "c" };
    let long = ["--call", "--shell-mode", "--module", "--script", "--gui-script"];
    letters.chars().any(|letter| version_control::has_letter(option, letter))
        || long.iter().any(|long| version_control::abbreviates(option, long, 3))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

    use copydesk_workspace::path::AbsPath;

    use super::{Place, all};
    use crate::permission::shell::{Analysis, Surroundings, analyse};

    fn analysed(text: &str) -> Analysis {
        let (folder, home) = (AbsPath::new("/w").unwrap(), AbsPath::new("/home/u").unwrap());
        analyse(text, Surroundings { folder: &folder, home: &home })
    }

    #[test]
    fn r8_1_r8_2_a_command_behind_a_runner_of_a_project_is_found_or_asked() {
        let runners = all().filter(|runner| runner.place == Place::OfProject);
        let verbs = runners.flat_map(|runner| runner.programs.iter().map(move |name| (*name, runner.verbs[0][0])));
        let verbs: Vec<(&str, &str)> = verbs.collect();
        assert!(verbs.contains(&("uv", "run")) && verbs.contains(&("bundle", "exec")));
        for (name, verb) in verbs {
            for words in ["rm x", "rm x -- echo", "-- rm x", "--yes -y -- rm x"] {
                let analysis = analysed(&format!("{name} {verb} {words}"));
                let is_found = analysis.commands.iter().any(|command| command.pattern.starts_with("rm x"));
                assert!(is_found && analysis.unknown.is_empty(), "{name} {verb} {words}");
            }
            let unclear = [
                format!("{name} {verb} --some rm x"),
                format!("{name} {verb} --some value -- rm x"),
                format!("{name} {verb} --script -- rm x"),
                format!("{name} {verb} -- --some rm x"),
                format!("{name} --some {verb} rm x"),
                format!("{name} --some value {verb} rm x"),
                // A shell, which reads them.
                format!("{name} {verb} <<< 'rm x'"),
                format!("xargs {name} {verb}"),
            ];
            for text in unclear {
                assert!(!analysed(&text).unknown.is_empty(), "{text}");
            }
        }
        let analysis = analysed("flock f rm x");
        assert!(analysis.commands.iter().any(|command| command.pattern == "rm x") && analysis.unknown.is_empty());
        for text in
            ["flock -n f rm x", "flock f -c 'rm x'", "flock f -- rm x", "flock -- f rm x", "flock f", "xargs flock f"]
        {
            assert!(!analysed(text).unknown.is_empty(), "{text}");
        }
    }

    #[test]
    fn r8_1_a_word_that_may_be_an_option_behind_the_place_is_unclear() {
        for runner in all() {
            for (program, verb) in
                runner.programs.iter().flat_map(|name| runner.verbs.iter().map(move |verb| (name, verb)))
            {
                for word in ["-$x", "-\"$(x)\"", "-[a", "-*", "-{a,b}", "--$x", "$x"] {
                    let operands = ["place", "more"].get(..runner.operands).unwrap_or_default().join(" ");
                    let text = format!("{program} {} {operands} {word} rm x", verb.join(" "));
                    assert!(!analysed(&text).unknown.is_empty(), "{text}");
                }
            }
        }
    }
}
