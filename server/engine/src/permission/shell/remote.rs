//! Commands that run in another place: behind `ssh host`, in containers and pods. They are judged by their own words all the same, and by the files that they
//! name where the place shares those of this machine.

use super::code::{Code, Run, is_calm};
use super::command::Call;
use super::letters::SSH;
use super::options::{Arg, Given, Order, Spec};
use super::redirects::Input;
use super::without_options::behind;

/// A command that stands behind options and operands of another.
struct Runner {
    programs: &'static [&'static str],
    verbs: &'static [&'static [&'static str]],
    options: Spec,
    /// Before the command: the container, the pod.
    operands: usize,
    place: Place,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// It has files of its own.
    Elsewhere,
    /// It shares the home folder, or is this machine itself.
    SameFiles,
}

const CONTAINERS: &[&str] = &["docker", "podman", "nerdctl"];

const RUNNERS: &[Runner] = &[
    Runner {
        programs: CONTAINERS,
        verbs: &[&["exec"], &["container", "exec"]],
        options: Spec {
            short: "de:itu:w:l",
            long: &[
                "detach",
                "detach-keys=",
                "env=",
                "env-file=",
                "interactive",
                "privileged",
                "tty",
                "user=",
                "workdir=",
                "latest",
            ],
        },
        operands: 1,
        place: Place::Elsewhere,
    },
    Runner {
        programs: CONTAINERS,
        verbs: &[&["run"], &["container", "run"], &["create"], &["container", "create"]],
        options: Spec {
            short: "a:c:de:h:il:m:p:Pqtu:v:w:",
            long: &[
                "add-host=",
                "annotation=",
                "attach=",
                "cap-add=",
                "cap-drop=",
                "cgroupns=",
                "cidfile=",
                "cpu-shares=",
                "cpus=",
                "cpuset-cpus=",
                "detach",
                "detach-keys=",
                "device=",
                "dns=",
                "entrypoint=",
                "env=",
                "env-file=",
                "expose=",
                "gpus=",
                "group-add=",
                "hostname=",
                "init",
                "interactive",
                "ipc=",
                "label=",
                "link=",
                "log-driver=",
                "memory=",
                "mount=",
                "name=",
                "network=",
                "net=",
                "pid=",
                "pids-limit=",
                "platform=",
                "privileged",
                "publish=",
                "publish-all",
                "pull=",
                "quiet",
                "read-only",
                "restart=",
                "rm",
                "runtime=",
                "security-opt=",
                "shm-size=",
                "stop-signal=",
                "sysctl=",
                "tmpfs=",
                "tty",
                "ulimit=",
                "user=",
                "userns=",
                "volume=",
                "volumes-from=",
                "workdir=",
            ],
        },
        operands: 1,
        place: Place::Elsewhere,
    },
    Runner {
        programs: &["docker", "podman", "nerdctl"],
        verbs: &[&["compose", "exec"], &["compose", "run"]],
        options: COMPOSE,
        operands: 1,
        place: Place::Elsewhere,
    },
    Runner {
        programs: &["docker-compose", "podman-compose"],
        verbs: &[&["exec"], &["run"]],
        options: COMPOSE,
        operands: 1,
        place: Place::Elsewhere,
    },
    Runner {
        programs: &["kubectl", "oc"],
        verbs: &[&["exec"]],
        options: Spec {
            short: "c:f:in:qts:",
            long: &[
                "container=",
                "context=",
                "filename=",
                "kubeconfig=",
                "namespace=",
                "pod-running-timeout=",
                "quiet",
                "stdin",
                "tty",
            ],
        },
        operands: 1,
        place: Place::Elsewhere,
    },
    Runner {
        programs: &["lxc", "incus"],
        verbs: &[&["exec"]],
        options: Spec {
            short: "Ttn",
            long: &["cwd=", "env=", "user=", "group=", "mode=", "force-interactive", "disable-stdin"],
        },
        operands: 1,
        place: Place::Elsewhere,
    },
    Runner {
        programs: &["multipass"],
        verbs: &[&["exec"]],
        options: Spec { short: "d:n", long: &["working-directory="] },
        operands: 1,
        place: Place::Elsewhere,
    },
    Runner {
        programs: &["adb"],
        verbs: &[&["shell"], &["exec-out"], &["exec-in"]],
        options: Spec { short: "e:ntTx", long: &[] },
        operands: 0,
        place: Place::Elsewhere,
    },
    Runner {
        programs: &["limactl"],
        verbs: &[&["shell"]],
        options: Spec { short: "", long: &["workdir=", "shell="] },
        operands: 1,
        place: Place::SameFiles,
    },
    Runner {
        programs: &["lima", "distrobox-host-exec", "host-spawn"],
        verbs: &[&[]],
        options: Spec { short: "", long: &[] },
        operands: 0,
        place: Place::SameFiles,
    },
    Runner { programs: &["toolbox"], verbs: &[&["run"]], options: TOOLBOX, operands: 0, place: Place::SameFiles },
    Runner { programs: &["toolbox"], verbs: &[&["enter"]], options: TOOLBOX, operands: 1, place: Place::SameFiles },
    Runner { programs: &["distrobox"], verbs: &[&["enter"]], options: DISTROBOX, operands: 1, place: Place::SameFiles },
    Runner { programs: &["distrobox-enter"], verbs: &[&[]], options: DISTROBOX, operands: 1, place: Place::SameFiles },
    Runner {
        programs: &["distrobox"],
        verbs: &[&["ephemeral"]],
        options: DISTROBOX,
        operands: 0,
        place: Place::SameFiles,
    },
    Runner {
        programs: &["colima"],
        verbs: &[&["ssh"]],
        options: Spec { short: "p:", long: &["layer", "profile="] },
        operands: 0,
        place: Place::SameFiles,
    },
    // Before the command stands the image.
    Runner {
        programs: &["apptainer", "singularity"],
        verbs: &[&["exec"]],
        options: Spec {
            short: "B:CcefinpS:uwW:",
            long: &[
                "bind=",
                "cleanenv",
                "contain",
                "containall",
                "env=",
                "fakeroot",
                "nv",
                "rocm",
                "scratch=",
                "writable-tmpfs",
            ],
        },
        operands: 1,
        place: Place::SameFiles,
    },
    Runner {
        programs: &["flatpak-spawn"],
        verbs: &[&[]],
        options: Spec { short: "v", long: &["host", "clear-env", "watch-bus", "directory=", "env="] },
        operands: 0,
        place: Place::SameFiles,
    },
];

const TOOLBOX: Spec = Spec { short: "c:d:r:", long: &["container=", "distro=", "release="] };

const DISTROBOX: Spec = Spec {
    short: "a:dhn:rTv",
    long: &["additional-flags=", "clean-path", "dry-run", "name=", "no-tty", "no-workdir", "root", "verbose"],
};

const COMPOSE: Spec = Spec {
    short: "de:iTtu:w:p:v:l:q",
    long: &[
        "detach",
        "env=",
        "index=",
        "no-TTY",
        "no-tty",
        "privileged",
        "user=",
        "workdir=",
        "build",
        "entrypoint=",
        "interactive",
        "label=",
        "name=",
        "no-deps",
        "publish=",
        "quiet",
        "quiet-pull",
        "rm",
        "remove-orphans",
        "service-ports",
        "use-aliases",
        "volume=",
    ],
};

/// Commands in the words of `call` that run in another place, as they are given there.
pub(super) fn commands(name: &str, call: &Call, code: &mut Code) {
    for runner in RUNNERS.iter().filter(|runner| runner.programs.contains(&name)) {
        for words in runner.verbs.iter().flat_map(|verb| behind(verb, call.words())) {
            let command = runner.command(words, call, code);
            match runner.place {
                Place::Elsewhere => code.elsewhere.extend(command),
                Place::SameFiles => code.beyond.extend(command),
            }
        }
    }
}

impl Runner {
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

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

    use copydesk_workspace::path::AbsPath;

    use super::RUNNERS;
    use crate::permission::shell::{Surroundings, analyse};

    #[test]
    fn r8_1_a_word_that_may_be_an_option_behind_the_place_is_unclear() {
        let (folder, home) = (AbsPath::new("/w").unwrap(), AbsPath::new("/home/u").unwrap());
        for runner in RUNNERS {
            for (program, verb) in
                runner.programs.iter().flat_map(|name| runner.verbs.iter().map(move |verb| (name, verb)))
            {
                for word in ["-$x", "-\"$(x)\"", "-[a", "-*", "-{a,b}", "--$x", "$x"] {
                    let operands = ["place", "more"].get(..runner.operands).unwrap_or_default().join(" ");
                    let text = format!("{program} {} {operands} {word} rm x", verb.join(" "));
                    let analysis = analyse(&text, Surroundings { folder: &folder, home: &home });
                    assert!(!analysis.unknown.is_empty(), "{text}");
                }
            }
        }
    }
}
