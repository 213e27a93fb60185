//! Further names by which programs and their commands are known: `npm i` is `npm install`, `docker container rm` is `docker rm`. For rules that deny or ask.

/// Each row is one command.
const NPM: &[&[&str]] = &[
    &["access"],
    &["adduser", "add-user", "login"],
    &["audit"],
    &["cache"],
    &["ci", "clean-install", "ic", "install-clean", "isntall-clean"],
    &["config", "c"],
    &["dedupe", "ddp"],
    &["deprecate"],
    &["dist-tag", "dist-tags"],
    &["edit"],
    &["exec", "x"],
    &["explore"],
    &["hook"],
    &["init", "create", "innit"],
    &["install", "i", "in", "ins", "inst", "insta", "instal", "isnt", "isnta", "isntal", "isntall", "add"],
    &["install-ci-test", "cit", "clean-install-test", "sit"],
    &["install-test", "it"],
    &["link", "ln"],
    &["logout"],
    &["ls", "list", "la", "ll"],
    &["org", "ogr"],
    &["outdated"],
    &["owner", "author"],
    &["pack"],
    &["pkg"],
    &["profile"],
    &["prune"],
    &["publish"],
    &["rebuild", "rb"],
    &["restart"],
    &["run", "run-script", "rum", "urn"],
    &["search", "find", "s", "se"],
    &["set"],
    &["shrinkwrap"],
    &["start"],
    &["stop"],
    &["team"],
    &["test", "t", "tst"],
    &["token"],
    &["uninstall", "unlink", "remove", "rm", "r", "un"],
    &["unpublish"],
    &["update", "up", "upgrade", "udpate"],
    &["version", "verison"],
    &["view", "info", "show", "v"],
    &["whoami"],
];

const CARGO: &[&[&str]] =
    &[&["add"], &["build", "b"], &["check", "c"], &["doc", "d"], &["remove", "rm"], &["run", "r"], &["test", "t"]];

const GIT: &[&[&str]] = &[&["add", "stage"]];

/// Other names of a command of `program`.
pub(super) fn of_command(program: &str, command: &str) -> Vec<&'static str> {
    let rows = match program {
        "npm" | "pnpm" | "yarn" | "bun" => NPM,
        "cargo" => CARGO,
        "git" => GIT,
        _ => return Vec::new(),
    };
    let is_known = rows.iter().any(|row| row.contains(&command));
    // A beginning will do for npm.
    let is_meant =
        |name: &&str| if is_known { *name == command } else { program == "npm" && name.starts_with(command) };
    let rows = rows.iter().filter(|row| row.iter().any(is_meant));
    rows.flat_map(|row| row.iter().copied().filter(|name| *name != command)).collect()
}

/// Whether it is one of these, by any of its names.
pub(super) fn is_one_of(commands: &[&str], program: &str, command: &str) -> bool {
    commands.contains(&command) || of_command(program, command).iter().any(|name| commands.contains(name))
}

/// The command with the kind of thing before it that it is done to, or without, as containers have both.
pub(super) fn of_container(first: &str, second: Option<&str>) -> Option<Instead> {
    const CONTAINER: [&str; 23] = [
        "attach", "commit", "cp", "create", "diff", "exec", "export", "kill", "logs", "pause", "port", "rename",
        "restart", "rm", "run", "start", "stats", "stop", "top", "unpause", "update", "wait", "prune",
    ];
    const IMAGE: [&str; 8] = ["build", "history", "import", "load", "pull", "push", "save", "tag"];
    match (first, second) {
        ("container", Some(command)) if CONTAINER.contains(&command) => Some(Instead { of: 1, words: &[] }),
        ("image", Some(command)) if IMAGE.contains(&command) => Some(Instead { of: 1, words: &[] }),
        ("image", Some("rm" | "remove")) => Some(Instead { of: 2, words: &["rmi"] }),
        ("container", Some("remove")) => Some(Instead { of: 2, words: &["rm"] }),
        ("volume", Some("remove")) => Some(Instead { of: 2, words: &["volume", "rm"] }),
        ("network", Some("remove")) => Some(Instead { of: 2, words: &["network", "rm"] }),
        ("context", Some("remove")) => Some(Instead { of: 2, words: &["context", "rm"] }),
        ("plugin", Some("remove")) => Some(Instead { of: 2, words: &["plugin", "rm"] }),
        ("secret", Some("remove")) => Some(Instead { of: 2, words: &["secret", "rm"] }),
        ("config", Some("remove")) => Some(Instead { of: 2, words: &["config", "rm"] }),
        ("service", Some("remove")) => Some(Instead { of: 2, words: &["service", "rm"] }),
        ("node", Some("remove")) => Some(Instead { of: 2, words: &["node", "rm"] }),
        ("stack", Some("remove" | "down")) => Some(Instead { of: 2, words: &["stack", "rm"] }),
        ("container", Some("ls" | "list")) => Some(Instead { of: 2, words: &["ps"] }),
        ("rmi", _) => Some(Instead { of: 1, words: &["image", "rm"] }),
        (command, _) if CONTAINER.contains(&command) => Some(Instead { of: 0, words: &["container"] }),
        (command, _) if IMAGE.contains(&command) => Some(Instead { of: 0, words: &["image"] }),
        _ => None,
    }
}

/// These words stand for so many of the command's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Instead {
    pub(super) of: usize,
    pub(super) words: &'static [&'static str],
}
