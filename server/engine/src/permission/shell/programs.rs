//! What is known of programs: the files that their operands name, whether they reach the network, and what they run that their words do not tell.

use super::code::{self, Run};
use super::command::Call;
use super::expansion::Scope;
use super::file_programs::{self, Operands};
use super::options::{Arg, Order, Parsed};
use super::syntax::Span;
use super::uses::{COUNTING, TRACKED, VISIBLE};
use super::{
    Effect, FileAccess, FileUse, FoundLinks, Landing, Place, arity, endings, fetched, following, interpreters, links,
    network, outputs, remote, scripts, transfer, version_control, wrappers,
};

#[derive(Default)]
pub(super) struct Judged {
    pub(super) effect: Effect,
    pub(super) files: Vec<FileUse>,
    pub(super) unknown: Vec<(Span, &'static str)>,
    /// A command within its words.
    pub(super) inner: Option<Call>,
    /// Commands within its words that run beyond this sandbox, on the same files.
    pub(super) beyond: Vec<Call>,
    /// Further ones that run here.
    pub(super) here: Vec<Call>,
    /// Texts that a shell is given to run.
    pub(super) runs: Vec<Run>,
    /// Commands within its words that run in another place.
    pub(super) elsewhere: Vec<Call>,
}

/// `name`: the program's name without its folder.
pub(super) fn judge(name: &str, call: &Call, scope: &Scope) -> Judged {
    let mut judged = match name {
        "git" => version_control::git(call, scope),
        "hg" | "jj" | "svn" => version_control::other(name, call, scope),
        _ => match file_programs::program(name) {
            Some(program) => file_work(name, program, call, scope),
            None => {
                let (named, rest) =
                    call.words().split_at(arity::names(name, call.texts().get(1..).unwrap_or_default()));
                let mut read = likely_files(name, named, scope);
                read.retain(|used| !matches!(used.place, Place::Maybe(_)));
                read.extend(likely_files(name, rest, scope));
                let mut files: Vec<FileUse> =
                    read.into_iter().chain(outputs::outputs(name, call.words(), scope)).collect();
                // Without a folder they look through that in which they stand.
                let named = call.words().iter().filter(|arg| !arg.raw.starts_with('-')).count();
                if matches!(name, "ack" | "ag" | "ugrep" | "ug" | "rga" | "pt" | "sift") && named <= 1 {
                    files.extend(here(&call.span, name, FileAccess::Read, scope));
                }
                files.extend(fetched::written(name, call.words(), scope));
                if remote::CONTAINERS.contains(&name) {
                    files.extend(fetched::mounted(name, call.words(), scope));
                }
                files.extend(outputs::by_list(name, call));
                files.extend(outputs::by_archive(name, call));
                if name == "curl" {
                    files.extend(transfer::curl(call.words(), scope));
                }
                Judged { files, ..Judged::default() }
            }
        },
    };
    judged.effect.loses = judged.effect.loses.or_else(|| version_control::discards_repository(name, call));
    judged.effect.network |= network::is_reached(name, call);
    if judged.effect.runs_unseen.is_none() {
        judged.effect.runs_unseen = runs_unseen(name, call).map(str::to_owned);
    }
    let program = call.program().unwrap_or_default();
    if program.contains('/') && !is_of_the_system(program) {
        judged.effect.runs_unseen = Some("a program that is not of the system".to_owned());
        judged.files.extend(call.args.first().into_iter().flat_map(|arg| uses(arg, name, FileAccess::Read, scope)));
    }
    judged.inner = judged.inner.or_else(|| remote::of_git(name, call));
    let code = code::code(name, call);
    judged.unknown.extend(code.unclear);
    judged.runs.extend(code.runs);
    judged.elsewhere = code.elsewhere;
    judged.beyond = code.beyond;
    judged.here = code.here;
    if judged.inner.is_none() && outputs::runs_its_words(name, call) {
        judged.unknown.push((call.span.clone(), "it runs a command that stands in its words"));
    }
    judged.effect.is_file_work &= judged.effect.runs_unseen.is_none()
        && !judged.effect.network
        && judged.unknown.is_empty()
        && judged.runs.is_empty()
        && judged.elsewhere.is_empty()
        && judged.beyond.is_empty()
        && judged.here.is_empty()
        && !call.is_open
        && judged.files.iter().all(|used| !matches!(used.place, Place::Unknown(_)));
    following::mark(name, call, &mut judged.files);
    if call.is_open && file_programs::program(name).is_some_and(|program| program.operands != Operands::None) {
        let used = |place| FileUse::new(call.span.clone(), name, access_of(name), place);
        let unknown = || used(Place::Unknown(format!("the words that are added to `{name}`")));
        match &scope.folders {
            Some(folders) if call.is_tracked && access_of(name) == FileAccess::Read => {
                let by = if COUNTING.contains(&name) { name } else { TRACKED };
                let tracked = folders.iter().cloned().map(Place::Tracked).map(used);
                // Links among them are given by their own names.
                let links = FoundLinks::Followed;
                judged.files.extend(tracked.map(|used| FileUse { by: by.to_owned(), links, ..used }));
            }
            _ => judged.files.push(unknown()),
        }
    }
    judged
}

fn access_of(name: &str) -> FileAccess {
    match file_programs::program(name).map(|program| program.operands) {
        Some(Operands::Write | Operands::Copy { .. } | Operands::ThenWrite) => FileAccess::Write,
        _ => FileAccess::Read,
    }
}

pub(super) fn is_of_the_system(program: &str) -> bool {
    const FOLDERS: [&str; 6] = ["/bin/", "/sbin/", "/usr/bin/", "/usr/sbin/", "/usr/local/bin/", "/opt/homebrew/bin/"];
    FOLDERS.iter().any(|folder| program.strip_prefix(folder).is_some_and(|name| !name.contains('/')))
}

/// The uses of the files that one word names.
pub(super) fn uses(arg: &Arg, by: &str, access: FileAccess, scope: &Scope) -> Vec<FileUse> {
    copied(arg, by, access, scope, Landing::of)
}

/// The same, where `landing` says by which name what is given as a path is copied.
fn copied(arg: &Arg, by: &str, access: FileAccess, scope: &Scope, landing: fn(&str) -> Landing) -> Vec<FileUse> {
    let used = |place| FileUse::new(arg.span.clone(), by, access, place);
    match &arg.values {
        _ if arg.is_process => Vec::new(),
        Some(values) => values
            .iter()
            .filter(|value| {
                !matches!(value.text().as_str(), "-" | "/dev/null" | "/dev/stdin" | "/dev/stdout" | "/dev/stderr")
            })
            .flat_map(|value| {
                let lands = landing(&value.text());
                scope.places(value).into_iter().map(move |place| FileUse { lands, ..used(place) })
            })
            .collect(),
        None => vec![used(Place::Unknown(arg.raw.clone()))],
    }
}

/// The folder that the command stands in.
pub(super) fn here(span: &Span, by: &str, access: FileAccess, scope: &Scope) -> Vec<FileUse> {
    let used = |place| FileUse::new(span.clone(), by, access, place);
    match &scope.folders {
        Some(folders) => folders.iter().cloned().map(Place::File).map(used).collect(),
        None => vec![used(Place::Unknown(".".to_owned()))],
    }
}

/// For a program that is not known: whatever looks like a path may be read.
pub(super) fn likely_files(by: &str, words: &[Arg], scope: &Scope) -> Vec<FileUse> {
    const NO_PATHS: [&str; 14] = [
        "true", "false", ":", "echo", "sleep", "seq", "kill", "exit", "basename", "dirname", "expr", "printf", "which",
        "type",
    ];
    if NO_PATHS.contains(&by) {
        return Vec::new();
    }
    words.iter().filter(|arg| !is_count(arg)).flat_map(|arg| likely_file(by, arg, scope)).collect()
}

/// `-j$(nproc)`: as many as there are processors.
fn is_count(arg: &Arg) -> bool {
    const COUNTS: [&str; 4] = ["$(nproc)", "$(nproc --all)", "$(getconf _NPROCESSORS_ONLN)", "$(sysctl -n hw.ncpu)"];
    let raw = arg.raw.replace('"', "");
    let count = ["-j", "--jobs=", ""].into_iter().find_map(|option| raw.strip_prefix(option));
    count.is_some_and(|count| COUNTS.contains(&count))
}

fn likely_file(by: &str, arg: &Arg, scope: &Scope) -> Vec<FileUse> {
    let Some(text) = arg.text.as_deref() else {
        return uses(arg, by, FileAccess::Read, scope);
    };
    if text.contains('\n') {
        return Vec::new();
    }
    // Programs that fetch read files of this machine by such an address.
    // `HERE:/THERE`: the one is judged as what is mounted, the other is a container's.
    let is_mount =
        |(here, there): (&str, &str)| !here.starts_with('-') && !here.contains('=') && there.starts_with('/');
    if remote::CONTAINERS.contains(&by) && text.split_once(':').is_some_and(is_mount) {
        return Vec::new();
    }
    let lower = text.to_ascii_lowercase();
    // As it stands, and not behind a host.
    if let Some(path) = lower.find("fileb://").and_then(|at| text.get(at + 8..)).filter(|_| by == "aws") {
        return uses(&Arg::literal(path, arg.span.clone()), by, FileAccess::Read, scope);
    }
    if let Some(at) = lower.find("file://") {
        let behind = text.get(at + 7..).unwrap_or_default();
        let slash = behind.find('/').filter(|_| by != "aws");
        let path = slash.map_or(behind, |slash| &behind[slash..]).to_owned();
        let values = Some(vec![super::expansion::Expanded::literal(&path)]);
        let arg = Arg { text: if path.contains('%') { None } else { Some(path) }, values, ..arg.clone() };
        return match arg.text {
            Some(_) => uses(&arg, by, FileAccess::Read, scope),
            None => uses(&arg.opaque(), by, FileAccess::Read, scope),
        };
    }
    if text.contains("://") {
        return Vec::new();
    }
    // `--file=x`, `if=x`, `@x`, `name=@x`, `-fx`, and the word itself.
    let mut starts = Vec::new();
    if !text.starts_with('-') {
        starts.push(0);
    } else if !text.starts_with("--") && text.len() > 2 {
        starts.push(2);
    }
    starts.extend(text.find('=').map(|at| at + 1));
    starts.extend(text.find('@').map(|at| at + 1));
    starts.extend(text.find(':').map(|at| at + 1));
    let mut found = Vec::new();
    for start in starts {
        let tail = arg.text_tail(start);
        let text = tail.text.clone().unwrap_or_default();
        let looks = text.contains('/') || text.contains('.') || text.starts_with('~');
        if !looks {
            let named = uses(&tail, by, FileAccess::Read, scope);
            found.extend(named.into_iter().filter_map(|used| match used.place {
                Place::File(path) => Some(FileUse { place: Place::Maybe(path), ..used }),
                Place::Maybe(_) | Place::Glob { .. } | Place::Tracked(_) | Place::Unknown(_) => None,
            }));
            continue;
        }
        if text.chars().all(|c| c.is_ascii_digit() || c == '.') && text != "." && text != ".." {
            continue;
        }
        let tail = if start > 0 { at_home(tail, scope) } else { tail };
        found.extend(uses(&tail, by, FileAccess::Read, scope));
    }
    found
}

/// Bash expands `~` behind the first `=` of a word too, and programs do so themselves.
pub(super) fn at_home(value: Arg, scope: &Scope) -> Arg {
    let below = value.text.as_deref().and_then(|text| text.strip_prefix("~/"));
    let home = scope.variables.get("HOME").and_then(|home| home.first());
    match below.zip(home) {
        Some((below, home)) => {
            let text = format!("{}/{below}", home.text());
            Arg { values: Some(vec![super::expansion::Expanded::literal(&text)]), text: Some(text), ..value }
        }
        None => value,
    }
}

fn file_work(name: &str, program: &file_programs::Program, call: &Call, scope: &Scope) -> Judged {
    let parsed = program.options.parse(call.words(), Order::Mixed);
    let mut judged = Judged::default();
    // Whatever their words are.
    judged.effect.is_file_work = parsed.is_understood() || program.operands == Operands::None;
    if !parsed.is_told() {
        // Any word may be the value of an option, such as the beginning of a known one: each counts as what the program does at most.
        for arg in call.words() {
            judged.files.extend(outputs::at_most(name, program, arg, scope));
        }
    }
    let mut used = |arg: &Arg, access| judged.files.extend(uses(arg, name, access, scope));
    for given in &parsed.given {
        let Some(value) = &given.value else { continue };
        let is_known = program.options.short.contains(given.name.as_str())
            || program.options.long.iter().any(|long| long.trim_end_matches(['=', '?']) == given.name);
        if program.reads.contains(&given.name.as_str()) {
            used(value, FileAccess::Read);
        } else if program.writes.contains(&given.name.as_str()) {
            used(value, FileAccess::Write);
        } else if !is_known {
            used(value, FileAccess::Read);
        }
    }
    for given in parsed.given.iter().filter(|given| outputs::is_one_of(program.lists, &given.name)) {
        let span = given.value.as_ref().map_or(&call.span, |value| &value.span);
        judged.files.push(outputs::listed(name, span));
    }
    if name == "file" {
        judged.files.extend(outputs::compiled(&parsed, call, scope));
    }
    if parsed.given.iter().any(|given| outputs::is_one_of(program.strange, &given.name)) {
        judged.effect.runs_unseen = Some("one of its options runs a program".to_owned());
    }
    if program.is_careful() && (!parsed.is_told() || call.is_open) {
        judged.effect.runs_unseen = Some("a word that may be an option".to_owned());
    }
    operands(name, program.operands, &parsed, call, scope, &mut judged);
    judged
}

/// Options by which ripgrep looks at hidden or ignored files too, or at those that another pattern names.
const HIDDEN: [&str; 12] = [
    ".",
    "hidden",
    "u",
    "unrestricted",
    "g",
    "glob",
    "iglob",
    "ignore-file",
    "no-ignore",
    "no-ignore-vcs",
    "no-ignore-parent",
    "pre",
];

fn operands(name: &str, kind: Operands, parsed: &Parsed, call: &Call, scope: &Scope, judged: &mut Judged) {
    let is_told = parsed.is_told() && !call.is_open;
    let all = |judged: &mut Judged, args: &[Arg], access: FileAccess| {
        for arg in args {
            judged.files.extend(uses(arg, name, access, scope));
        }
    };
    match kind {
        Operands::None => {}
        Operands::Read => all(judged, &parsed.operands, FileAccess::Read),
        Operands::ReadHere if parsed.operands.is_empty() => {
            judged.files.extend(here(&call.span, name, FileAccess::Read, scope));
        }
        Operands::ReadHere => all(judged, &parsed.operands, FileAccess::Read),
        Operands::Write => all(judged, &parsed.operands, FileAccess::Write),
        Operands::Packed => {
            all(judged, &parsed.operands, FileAccess::Read);
            all(judged, &parsed.operands, FileAccess::Write);
            for arg in &parsed.operands {
                judged.files.extend(endings::packed(name, arg, scope));
            }
        }
        Operands::ReadThenWrite => {
            all(judged, parsed.operands.get(..1).unwrap_or_default(), FileAccess::Read);
            all(judged, parsed.operands.get(1..).unwrap_or_default(), FileAccess::Write);
            if name == "split" {
                judged.effect.is_file_work = false;
                judged.files.extend(outputs::split(parsed, &call.span, scope));
            }
        }
        Operands::ThenWrite => {
            let skipped = usize::from(!parsed.has(&["reference"]));
            all(judged, parsed.operands.get(skipped..).unwrap_or_default(), FileAccess::Write);
        }
        Operands::Copy { source } => {
            let given_target = parsed.has(&["t", "target-directory"]);
            // Alone it is what the link leads to, which has the name of that, here.
            if let [one] = parsed.operands.as_slice()
                && matches!(name, "ln" | "link")
                && !given_target
            {
                all(judged, std::slice::from_ref(one), FileAccess::Read);
                all(judged, std::slice::from_ref(one), source);
                let target = links::name_of(one);
                all(judged, target.as_slice(), FileAccess::Write);
                return link(std::slice::from_ref(one), target.as_slice(), judged);
            }
            let split = if given_target { parsed.operands.len() } else { parsed.operands.len().saturating_sub(1) };
            let (sources, target) = parsed.operands.split_at(split);
            let landing = Landing::by(parsed);
            // What is moved or linked can be read, and a link written to, by its new name.
            judged.files.extend(sources.iter().flat_map(|arg| copied(arg, name, FileAccess::Read, scope, landing)));
            let taken = sources.iter().flat_map(|arg| copied(arg, name, source, scope, |_| Landing::Leaves));
            judged.files.extend(taken.filter(|used| used.access == FileAccess::Write));
            if parsed.has(&["l", "link", "s", "symbolic", "symbolic-link"]) && name == "cp" {
                let linked =
                    sources.iter().flat_map(|arg| copied(arg, name, FileAccess::Write, scope, |_| Landing::Leaves));
                judged.files.extend(linked);
            }
            all(judged, target, FileAccess::Write);
            let folders = parsed.value(&["t", "target-directory"]).into_iter();
            let targets: Vec<&Arg> = target.iter().chain(folders).collect();
            for ending in parsed.given.iter().filter(|given| given.name == "S" || given.name.starts_with("su")) {
                let kept = endings::kept_copies(name, &targets, ending.value.as_ref(), &call.span);
                all(judged, &kept, FileAccess::Write);
            }
            if name == "ln" {
                link(sources, target, judged);
            }
        }
        Operands::Pattern { given_by, recursive } => {
            let skipped = usize::from(!parsed.has(given_by));
            let files = parsed.operands.get(skipped..).unwrap_or_default();
            let first = judged.files.len();
            judged.files.extend(files.iter().flat_map(|arg| uses(arg, name, FileAccess::Read, scope)));
            if files.is_empty() && (recursive.is_empty() || parsed.has(recursive)) {
                judged.files.extend(here(&call.span, name, FileAccess::Read, scope));
            }
            if name == "rg" && is_told && !parsed.has(&HIDDEN) {
                judged.files[first..].iter_mut().for_each(|used| used.by = VISIBLE.to_owned());
            }
        }
        Operands::Sed => scripts::sed(parsed, call, scope, judged),
        Operands::Awk => scripts::awk(name, parsed, call, scope, judged),
        Operands::Assigned => {
            for arg in &parsed.operands {
                let access = match arg.raw.split_once('=').map(|(key, _)| key) {
                    Some("if") => FileAccess::Read,
                    Some("of") => FileAccess::Write,
                    Some(_) => continue,
                    None => {
                        judged.effect.is_file_work = false;
                        FileAccess::Write
                    }
                };
                let start = arg.raw.find('=').map_or(0, |at| at + 1);
                judged.files.extend(uses(&at_home(arg.tail(start), scope), name, access, scope));
            }
        }
    }
}

/// A relative link leads on from the link's own folder, and what is done through a new link is not seen as done to its target.
fn link(sources: &[Arg], target: &[Arg], judged: &mut Judged) {
    let leads_elsewhere =
        |arg: &Arg| arg.text.as_deref().is_none_or(|text| !text.starts_with('/') && text.contains(".."));
    let below = |arg: &Arg| arg.text.as_deref().is_none_or(|text| text.contains('/'));
    let relative = |arg: &Arg| arg.text.as_deref().is_none_or(|text| !text.starts_with('/'));
    if sources.iter().any(leads_elsewhere) || sources.iter().any(relative) && target.iter().any(below) {
        judged.effect.is_file_work = false;
        for source in sources {
            let place = Place::Unknown(source.raw.clone());
            judged.files.push(FileUse::new(source.span.clone(), "ln", FileAccess::Write, place));
        }
    }
}

fn runs_unseen(name: &str, call: &Call) -> Option<&'static str> {
    if interpreters::is_interpreter(name) {
        return Some("runs a program that is not read here");
    }
    match name {
        "make" | "gmake" | "ninja" | "just" | "task" | "rake" | "scons" | "bazel" | "buck" | "cmake" | "meson"
        | "gradle" | "gradlew" | "mvn" | "mvnw" | "ant" | "sbt" | "mix" | "tox" | "nox" | "invoke" | "fab"
        | "ctest" => Some("runs what the project's build files say"),
        "npm" | "yarn" | "pnpm" | "bun" | "deno" | "nx" | "turbo" | "lerna" | "ng" | "vite" | "webpack" | "rollup"
        | "jest" | "vitest" | "mocha" | "playwright" | "cypress" | "eslint" | "prettier" | "tsc" | "next"
        | "composer" => Some("runs scripts and configuration of the project"),
        "cargo" | "go" | "swift" | "dotnet" | "stack" | "cabal" | "zig" | "rustc" | "dune" | "nimble" => {
            Some("compiles and runs code of the project")
        }
        "pytest" | "py.test" | "pip" | "pip3" | "uv" | "poetry" | "pipenv" | "hatch" | "pdm" | "rye" | "conda"
        | "mamba" | "micromamba" | "pixi" | "bundle" | "gem" | "rspec" | "phpunit" | "mypy" | "pylint" | "flake8"
        | "pre-commit" | "rails" => Some("runs code of the project"),
        "docker" | "podman" | "nerdctl" | "kubectl" | "docker-compose" | "vagrant" | "ansible" | "ansible-playbook"
        | "terraform" | "helm" => Some("runs what it is configured to, elsewhere"),
        "less" | "more" | "man" | "info" | "vi" | "vim" | "nvim" | "nano" | "emacs" | "view" | "ed" | "ex" | "pico"
        | "most" => Some("can run commands from within"),
        "ssh" | "mosh" => Some("runs a command on another host"),
        "hyperfine" | "su" | "script" | "watch" | "parallel" | "flock" | "at" | "batch" | "crontab" | "tmux"
        | "screen" | "expect" | "gdb" | "lldb" | "perf" | "nix" | "nix-shell" | "direnv" | "mise" | "asdf"
        | "run-parts" | "start-stop-daemon" | "xdg-open" | "open" | "gawk-exec" | "rlwrap" | "inotifywait"
        | "watchexec" | "systemctl" | "launchctl" | "dpkg" | "rpm" | "apt" | "apt-get" | "brew" | "gcc" | "cc"
        | "g++" | "clang" | "ld" | "m4" | "gpg" | "openssl" | "sqlite3" | "psql" | "mysql" | "mount" | "insmod"
        | "modprobe" | "socat" | "nc" | "ncat" | "rsync" | "scp" | "sftp" | "tar" | "zip" | "cpio" | "logrotate"
        | "dc" | "bc" | "rpmbuild" | "patch" | "strip" | "busctl" | "dbus-send" => Some("can run other programs"),
        _ => {
            let versions = call.words().iter().any(|arg| arg.raw == "--pre" || arg.raw.starts_with("--pre="));
            (name == "rg" && versions).then_some("runs a program on each file")
        }
    }
}

/// Whether what it does is told by its name.
pub(super) fn is_known(name: &str) -> bool {
    wrappers::wrapper(name).is_some()
        || interpreters::is_shell(name)
        || interpreters::is_interpreter(name)
        || file_programs::program(name).is_some()
        || matches!(
            name,
            "find" | "git" | "curl" | "ssh" | "hg" | "svn" | "jj" | "tar" | "rsync" | "scp" | "make" | "npm"
        )
}

/// Where the word stands that decides what the command does, among all its words.
pub(super) fn general_options(call: &Call) -> usize {
    match call.program() {
        Some("git") => version_control::subcommand(call.words()).map_or(1, |at| at + 1),
        _ => 1,
    }
}
