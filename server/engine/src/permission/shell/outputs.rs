//! What programs write that their options or endings name, what words may mean behind options that are not known, and which programs run a command of their
//! own words.

use super::code::{NONE, Options};
use super::command::Call;
use super::expansion::{Expanded, Scope};
use super::file_programs::{Operands, Program};
use super::options::{Arg, Parsed};
use super::programs::{at_home, uses};
use super::remote::CONTAINERS;
use super::syntax::Span;
use super::version_control::{abbreviates, has_letter};
use super::without_options::first_words;
use super::{FileAccess, FileUse, Place, letters};
use compilers::{by_parts, emitted};

mod compilers;

/// Options whose value is a file or folder that is written.
const WRITTEN: &[Options] = &[
    Options {
        programs: &["curl"],
        short: "oDc",
        long: &[
            "--output",
            "--output-dir",
            "--dump-header",
            "--cookie-jar",
            "--trace",
            "--trace-ascii",
            "--stderr",
            "--etag-save",
            "--libcurl",
            "--hsts",
            "--alt-svc",
        ],
    },
    Options {
        programs: &["wget"],
        short: "OoaP",
        long: &[
            "--output-document",
            "--output-file",
            "--append-output",
            "--directory-prefix",
            "--save-cookies",
            "--rejected-log",
            "--warc-file",
            "--hsts-file",
        ],
    },
    Options { programs: &["less"], short: "oO", long: &["--log-file", "--LOG-FILE"] },
    Options { programs: &["ssh"], short: "E", long: &[] },
    // Their options of one dash are words.
    Options {
        programs: &["gcc", "cc", "g++", "c++", "clang", "clang++", "ld", "as", "rustc", "tsc", "pandoc", "dot"],
        short: "o",
        long: &["--output", "--out-dir", "--outFile", "--outDir", "-MF", "-MJ", "-aux-info"],
    },
    Options { programs: &["unzip"], short: "d", long: &[] },
    Options {
        programs: &["tar", "bsdtar", "gtar"],
        short: "Cg",
        long: &["--directory", "--cd", "--index-file", "--listed-incremental", "--volno-file"],
    },
    Options { programs: CONTAINERS, short: "o", long: &["--output", "--cidfile", "--iidfile", "--metadata-file"] },
    Options {
        programs: &["pip", "pip3"],
        short: "dtw",
        long: &["--dest", "--log", "--prefix", "--report", "--root", "--src", "--target", "--wheel-dir"],
    },
    Options { programs: &["cargo"], long: &["--target-dir", "--root", "--out-dir", "--artifact-dir"], ..NONE },
    Options { programs: &["npm"], long: &["--pack-destination", "--logs-dir"], ..NONE },
    Options {
        programs: &["hyperfine"],
        long: &[
            "--export-asciidoc",
            "--export-csv",
            "--export-json",
            "--export-markdown",
            "--export-orgmode",
            "--output",
        ],
        ..NONE
    },
    Options { programs: &["kubectl", "oc"], long: &["--output-directory", "--profile-output"], ..NONE },
    Options { programs: &["helm"], short: "d", long: &["--output-dir", "--destination"] },
    Options {
        programs: &["terraform", "tofu"],
        long: &["-out", "-state-out", "-backup", "-generate-config-out"],
        ..NONE
    },
    Options { programs: &["psql"], short: "oL", long: &["--output", "--log-file"] },
    Options { programs: &["pg_dump", "pg_dumpall"], short: "f", long: &["--file"] },
    Options { programs: &["mysql", "mariadb"], long: &["--tee"], ..NONE },
    Options { programs: &["mysqldump", "mariadb-dump"], short: "rT", long: &["--result-file", "--tab"] },
    Options { programs: &["zip"], short: "Ob", long: &["--output-file", "--logfile-path", "--temp-path", "-lf"] },
    Options { programs: &["patch"], short: "odr", long: &["--output", "--directory", "--reject-file"] },
    Options { programs: &["openssl"], long: &["-out", "-keyout"], ..NONE },
    Options { programs: &["gpg", "gpg2"], short: "o", long: &["--output"] },
    Options {
        programs: &["go"],
        long: &[
            "-o",
            "-blockprofile",
            "-coverprofile",
            "-cpuprofile",
            "-memprofile",
            "-mutexprofile",
            "-outputdir",
            "-pkgdir",
            "-trace",
        ],
        ..NONE
    },
    Options { programs: &["shuf"], short: "o", long: &["--output"] },
    Options { programs: &["sdiff"], short: "o", long: &["--output"] },
    Options { programs: &["flex", "bison", "yacc", "strip", "objcopy"], short: "o", long: &["--output"] },
    Options { programs: &["xmllint"], long: &["--output"], ..NONE },
    Options {
        programs: &["rsync"],
        short: "T",
        long: &["--log-file", "--write-batch", "--only-write-batch", "--backup-dir", "--partial-dir", "--temp-dir"],
    },
];

const DOWNLOADED: Options = Options { programs: &["gh"], short: "DO", long: &["--dir", "--output"] };

/// Of the names that `csplit` makes.
const PREFIX: Options = Options { programs: &["csplit"], short: "f", long: &["--prefix"] };

/// What programs write that their words name.
pub(super) fn outputs(by: &str, words: &[Arg], scope: &Scope) -> Vec<FileUse> {
    let mut found = Vec::new();
    let mut written = |arg: &Arg| found.extend(uses(&at_home(arg.clone(), scope), by, FileAccess::Write, scope));
    for options in WRITTEN.iter().filter(|options| options.programs.contains(&by)) {
        for (at, arg) in words.iter().enumerate() {
            let is_other = matches!(arg.text.as_deref(), Some("--cookie"));
            let value = if is_other { None } else { options.value(by, arg, words.get(at + 1)) };
            value.flatten().iter().flat_map(|value| destinations(by, value)).for_each(|file| written(&file));
        }
    }
    let named = || words.iter().filter(|arg| !arg.raw.starts_with(['-', '+']));
    match by {
        // The last word is what they copy to; of a host, that is no file here.
        "rsync" | "scp" => {
            if words.iter().any(|arg| abbreviates(arg, "--remove-source-files", 10)) {
                named().for_each(&mut written);
            }
            let target = words.last().filter(|arg| arg.text.as_deref().is_none_or(|text| !text.contains(':')));
            target.into_iter().for_each(&mut written);
        }
        "patch" | "ed" | "ex" | "vi" | "vim" | "nvim" | "nano" | "mktemp" | "mkfifo" | "sponge" => {
            named().for_each(&mut written);
        }
        "yq" if words.iter().any(|arg| has_letter(arg, 'i') || abbreviates(arg, "--inplace", 3)) => {
            named().for_each(&mut written);
        }
        "tar" | "bsdtar" | "gtar" => {
            archive(words).iter().for_each(&mut written);
            in_old_form(words, &['C', 'g']).iter().for_each(&mut written);
            let folder = |arg: &Arg| Some(arg.text_tail(arg.text.as_deref()?.find('=')? + 1));
            let folders = words.iter().filter(|arg| abbreviates(arg, "--one-top-level", 4)).filter_map(folder);
            folders.for_each(|folder| written(&folder));
            if words.iter().any(|arg| abbreviates(arg, "--remove-files", 6)) {
                named().for_each(&mut written);
            }
        }
        // What is moved into it is gone.
        "zip" if words.iter().any(|arg| has_letter(arg, 'm') || abbreviates(arg, "--move", 4)) => {
            named().for_each(&mut written);
        }
        "zip" => zipped(words).iter().for_each(&mut written),
        "7z" | "7za" | "7zz" | "7zr" => {
            let folders = words.iter().filter(|arg| starts_with(arg, "-o") || starts_with(arg, "-w"));
            folders.map(|arg| arg.text_tail(2)).for_each(|folder| written(&folder));
            let is_removed = words.iter().any(|arg| arg.text.as_deref() == Some("-sdel"));
            let verb = named().next().map(|verb| verb.text.as_deref().unwrap_or("a").to_lowercase());
            if verb.is_some_and(|verb| matches!(verb.as_str(), "a" | "u" | "d" | "rn")) {
                named().skip(1).take(if is_removed { usize::MAX } else { 1 }).for_each(&mut written);
            }
        }
        "cargo" => {
            let makes = |at: &usize| matches!(words[*at].text.as_deref(), Some("new" | "init" | "vendor"));
            let verb = first_words(by, words).into_iter().filter(|at| *at < words.len()).find(makes);
            let behind = words[verb.map_or(words.len(), |at| at + 1)..].iter();
            behind.filter(|arg| !arg.raw.starts_with('-')).for_each(&mut written);
        }
        "gcc" | "cc" | "g++" | "c++" | "clang" | "clang++" => {
            words.iter().flat_map(by_parts).for_each(|file| written(&file))
        }
        "rustc" => words.iter().flat_map(emitted).for_each(|file| written(&file)),
        // Its operator that makes a file of each part of what it reads.
        "yq" if words.iter().any(|arg| has_letter(arg, 's') || abbreviates(arg, "--split-exp", 5)) => {
            found.extend(words.first().map(|first| unknown(by, &first.span)));
        }
        "gh" if named().any(|arg| arg.raw == "download") => {
            let value = |(at, arg): (usize, &Arg)| DOWNLOADED.value(by, arg, words.get(at + 1)).flatten();
            words.iter().enumerate().filter_map(value).for_each(|value| written(&value));
        }
        "curl" | "wget" => {
            by_address(by, words).iter().for_each(&mut written);
            if by == "curl" {
                words.iter().flat_map(by_format).for_each(|file| written(&file));
                found.extend(format_of_a_file(words).map(|format| unknown(by, &format.span)));
            }
        }
        "csplit" => {
            let prefix = |(at, arg): (usize, &Arg)| PREFIX.value(by, arg, words.get(at + 1)).flatten();
            let given = words.iter().enumerate().find_map(prefix);
            let usual = words.first().map(|first| Arg::literal("xx", first.span.clone()));
            found.extend(given.or(usual).iter().flat_map(|prefix| counted(by, prefix, scope)));
        }
        _ => {}
    }
    found
}

fn starts_with(arg: &Arg, start: &str) -> bool {
    arg.text.as_deref().is_some_and(|text| text.len() > start.len() && text.starts_with(start))
}

/// Where `value` leads: of a build of containers, what stands behind `dest=` in `type=local,dest=x`.
fn destinations(by: &str, value: &Arg) -> Vec<Arg> {
    let is_build = CONTAINERS.contains(&by);
    let text = value.text.as_deref().unwrap_or_default().replace('"', "");
    let fields: Option<Vec<(&str, &str)>> = text.split(',').map(|field| field.trim().split_once('=')).collect();
    match fields.filter(|fields| is_build && fields.iter().any(|(key, _)| key.eq_ignore_ascii_case("type"))) {
        Some(fields) => {
            let named = fields.iter().filter(|(key, _)| key.eq_ignore_ascii_case("dest"));
            named.map(|(_, path)| Arg::literal(path, value.span.clone())).collect()
        }
        None => vec![value.clone()],
    }
}

/// The archive, behind options and their values; and what may be either.
fn zipped(words: &[Arg]) -> Vec<Arg> {
    const VALUED: [&str; 10] = [
        "--temp-path",
        "--suffixes",
        "--from-date",
        "--before-date",
        "--output-file",
        "--password",
        "--split-size",
        "--compression-method",
        "--logfile-path",
        "-lf",
    ];
    let mut words = words.iter();
    let mut found = Vec::new();
    while let Some(arg) = words.next() {
        let text = arg.text.as_deref().unwrap_or(&arg.raw);
        if !text.starts_with('-') || text == "-" {
            found.push(arg.clone());
            return found;
        }
        let is_list =
            !text.starts_with("--") && text.ends_with(['i', 'x']) || text == "--include" || text == "--exclude";
        if is_list {
            found.extend(words.filter(|arg| !arg.raw.starts_with('-')).cloned());
            return found;
        }
        // Of two letters some are words of their own that take nothing: `-db`, `-ws`.
        let takes = !text.starts_with("--") && text.ends_with(['b', 'n', 't', 'O', 'P', 's', 'Z']);
        if VALUED.contains(&text) {
            words.next();
        } else if takes {
            found.extend(words.next().filter(|_| text.len() > 2).cloned());
        }
    }
    found
}

/// Where `curl -w` takes its format from a file, which may name further files.
fn format_of_a_file(words: &[Arg]) -> Option<&Arg> {
    const FORMAT: Options = Options { programs: &["curl"], short: "w", long: &["--write-out"] };
    let is_file = |(at, arg): &(usize, &Arg)| {
        let value = FORMAT.value("curl", arg, words.get(at + 1)).flatten();
        value.is_some_and(|value| value.text.as_deref().is_none_or(|text| text.starts_with('@')))
    };
    words.iter().enumerate().find(is_file).map(|(_, arg)| arg)
}

/// Files that the format of `curl -w` names.
fn by_format(arg: &Arg) -> Vec<Arg> {
    let text = arg.text.as_deref().unwrap_or(&arg.raw);
    let files = text.split("%output{").skip(1).filter_map(|rest| rest.split('}').next());
    files.map(|file| Arg::literal(file.trim_start_matches(">>"), arg.span.clone())).collect()
}

/// What `split` makes of its input: names with letters behind a prefix.
pub(super) fn split(parsed: &Parsed, span: &Span, scope: &Scope) -> Vec<FileUse> {
    // Where an option is not known, any word may be the prefix.
    let given = if parsed.is_told() { parsed.operands.get(1..) } else { Some(parsed.operands.as_slice()) };
    let usual = (parsed.operands.len() < 2).then(|| Arg::literal("x", span.clone()));
    given.unwrap_or_default().iter().chain(&usual).flat_map(|prefix| counted("split", prefix, scope)).collect()
}

/// The files that a program makes, with letters or a number behind `prefix`.
fn counted(by: &str, prefix: &Arg, scope: &Scope) -> Vec<FileUse> {
    let Some(values) = &prefix.values else { return uses(prefix, by, FileAccess::Write, scope) };
    let values = values.iter().map(Expanded::with_any).collect();
    uses(&Arg { text: None, values: Some(values), ..prefix.clone() }, by, FileAccess::Write, scope)
}

/// The archive that `tar` makes or adds to.
fn archive(words: &[Arg]) -> Vec<Arg> {
    const FILE: Options = Options { programs: &["tar"], short: "f", long: &["--file"] };
    let long = ["--create", "--append", "--update", "--delete", "--concatenate", "--catenate"];
    let old = words.first().and_then(|arg| arg.text.as_deref()).filter(|text| !text.starts_with('-'));
    let makes = |letters: &str| letters.contains(['c', 'r', 'u', 'A']);
    let is_made = old.is_some_and(makes)
        || words.iter().any(|arg| ['c', 'r', 'u', 'A'].iter().any(|letter| has_letter(arg, *letter)))
        || words.iter().any(|arg| long.iter().any(|option| abbreviates(arg, option, 4)));
    if !is_made {
        return Vec::new();
    }
    let by_option =
        words.iter().enumerate().filter_map(|(at, arg)| FILE.value("tar", arg, words.get(at + 1)).flatten());
    by_option.chain(in_old_form(words, &['f'])).collect()
}

/// In the oldest form of `tar` the values follow in the order of their letters.
fn in_old_form(words: &[Arg], meant: &[char]) -> Vec<Arg> {
    let old = words.first().and_then(|arg| arg.text.as_deref()).filter(|text| !text.starts_with('-'));
    let valued = old.unwrap_or_default().chars().filter(|letter| letters::takes_value("tar", *letter));
    valued.zip(words.iter().skip(1)).filter(|(letter, _)| meant.contains(letter)).map(|(_, arg)| arg.clone()).collect()
}

/// Files that have the name by which a host calls them.
fn by_address(by: &str, words: &[Arg]) -> Vec<Arg> {
    let keeps_name = match by {
        "curl" => words.iter().any(|arg| has_letter(arg, 'O') || abbreviates(arg, "--remote-name-all", 5)),
        _ => !words.iter().any(|arg| has_letter(arg, 'O') || abbreviates(arg, "--output-document", 4)),
    };
    let name = |arg: &Arg| {
        let text = arg.text.as_deref().filter(|text| !text.starts_with('-') && text.contains('/'))?;
        let path = text.split(['?', '#']).next()?;
        let path = path.split_once("://").map_or(path, |(_, path)| path);
        let (_, name) = path.rsplit_once('/')?;
        (!name.is_empty()).then(|| Arg::literal(name, arg.span.clone()))
    };
    words.iter().filter(|_| keeps_name).filter_map(name).collect()
}

/// Programs that are made to run a command of their words, where that was not found in them.
pub(super) fn runs_its_words(name: &str, call: &Call) -> bool {
    let words = call.words();
    let second = words.first().and_then(|arg| arg.text.as_deref()).unwrap_or_default();
    let texts = || words.iter().filter_map(|arg| arg.text.as_deref());
    let holds = |is_meant: &dyn Fn(&str) -> bool| texts().any(is_meant);
    let verbs = || first_words(name, words).into_iter().filter_map(|at| words.get(at)?.text.as_deref());
    let first_operand = || texts().find(|text| !text.starts_with(['-', '+']));
    match name {
        "watch" | "parallel" | "script" => !words.is_empty(),
        // Not behind words whose end a `--` may be.
        "flock" => words.len() == 1 || words.iter().take(2).any(|arg| arg.raw.starts_with('-')),
        "npm" | "pnpm" | "yarn" | "bun" => {
            // Options may stand before it, and their values. Right behind `exec` the command is found, unless it is a text for a shell.
            let runs = |text: &str| matches!(text, "exec" | "dlx" | "explore") || text == "x" && second == "x";
            let is_found = second == "exec" && name != "bun";
            (holds(&runs) && !is_found || first_operand() == Some("x")) && words.len() > 1
        }
        "cargo" => first_operand() == Some("watch"),
        // Of which version, or in which machine, may be said before.
        "nvm" => matches!(second, "exec" | "run"),
        "podman" => holds(&|text| text == "machine") && holds(&|text| text == "ssh"),
        "docker" => verbs().any(|verb| matches!(verb, "debug" | "sandbox")),
        // Its own way of running and copying, whatever the system is.
        "cmake" => holds(&|text| text == "-E"),
        "rlwrap" | "watchexec" | "perf" | "start-stop-daemon" | "su" => !words.is_empty(),
        // Behind the group.
        "sg" => words.len() > 1,
        "tmux" | "screen" => {
            const LOOKING: [&str; 8] =
                ["", "ls", "list-sessions", "list-windows", "list-panes", "has-session", "capture-pane", "-ls"];
            !LOOKING.contains(&second)
        }
        "direnv" | "mise" | "asdf" => matches!(second, "exec" | "x"),
        _ => false,
    }
}

/// Any beginning of a long option is one too.
pub(super) fn is_one_of(options: &[&str], given: &str) -> bool {
    options.iter().any(|option| *option == given || given.len() > 2 && option.starts_with(given))
}

/// A list of files that are read names them.
pub(super) fn listed(by: &str, span: &Span) -> FileUse {
    let place = Place::Unknown("the files that a list names".to_owned());
    FileUse::new(span.clone(), by, FileAccess::Read, place)
}

/// What is written may lie anywhere.
pub(super) fn unknown(by: &str, span: &Span) -> FileUse {
    let place = Place::Unknown("a file that no word names".to_owned());
    FileUse::new(span.clone(), by, FileAccess::Write, place)
}

/// Programs that write to wherever an archive or a path says.
pub(super) fn by_archive(by: &str, call: &Call) -> Option<FileUse> {
    let words = call.words();
    let long = |option: &str| words.iter().any(|arg| abbreviates(arg, option, 5));
    let short = |letter: char| words.iter().any(|arg| has_letter(arg, letter));
    let old = words.first().and_then(|arg| arg.text.as_deref()).filter(|text| !text.starts_with('-'));
    let is_anywhere = match by {
        "tar" | "bsdtar" | "gtar" => {
            short('P') || long("--absolute-names") || old.is_some_and(|letters| letters.contains('P'))
        }
        // Below the target it makes the folders too that are named before what it copies.
        "rsync" => short('R') || long("--relative"),
        "cpio" | "bsdcpio" => short('i') || long("--extract"),
        "pax" => short('r'),
        "unzip" => words.iter().any(|arg| arg.raw.starts_with("-") && arg.raw.contains(':')),
        _ => false,
    };
    is_anywhere.then(|| unknown(by, &call.span))
}

/// Programs that pack or copy the files that a list names.
pub(super) fn by_list(by: &str, call: &Call) -> Option<FileUse> {
    const LISTS: &[Options] = &[
        Options { programs: &["tar", "bsdtar", "gtar"], short: "T", long: &["--files-from"] },
        Options { programs: &["rsync"], long: &["--files-from"], ..NONE },
        Options { programs: &["zip"], short: "@", long: &["-@", "--names-stdin"] },
        Options { programs: &["cpio", "bsdcpio"], short: "op", long: &["--create", "--pass-through"] },
        Options { programs: &["7z", "7za"], short: "i", ..NONE },
    ];
    let words = call.words();
    let is_given = |options: &Options| {
        words.iter().enumerate().any(|(at, arg)| options.value(by, arg, words.get(at + 1)).is_some())
    };
    let has_list = LISTS.iter().any(|options| options.programs.contains(&by) && is_given(options));
    let old = words.first().and_then(|arg| arg.text.as_deref()).filter(|text| !text.starts_with('-'));
    let is_old = matches!(by, "tar" | "bsdtar" | "gtar") && old.is_some_and(|letters| letters.contains('T'));
    (has_list || is_old).then(|| listed(by, &call.span))
}

/// What `file -C` makes of its tables, in the folder that it stands in.
pub(super) fn compiled(parsed: &Parsed, call: &Call, scope: &Scope) -> Vec<FileUse> {
    if !parsed.given.iter().any(|given| given.name == "C" || is_one_of(&["compile"], &given.name)) && parsed.is_told() {
        return Vec::new();
    }
    let tables = parsed.value(&["m", "magic-file"]).or(parsed.operands.first());
    let Some(text) = tables.map_or(Some("magic"), |tables| tables.text.as_deref()) else {
        return vec![FileUse { access: FileAccess::Write, ..listed("file", &call.span) }];
    };
    let compiled = text.split(':').flat_map(|table| {
        let name = table.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
        // Beside the table too, as some versions have it.
        [format!("{name}.mgc"), format!("{table}.mgc")]
    });
    let tables = text.split(':').map(str::to_owned);
    let of = |name: &str, access| uses(&Arg::literal(name, call.span.clone()), "file", access, scope);
    let written = compiled.flat_map(|name| of(&name, FileAccess::Write));
    written.chain(tables.flat_map(|name| of(&name, FileAccess::Read))).collect()
}

/// The word, or what stands behind its `=`, as a file.
pub(super) fn at_most(name: &str, program: &Program, arg: &Arg, scope: &Scope) -> Vec<FileUse> {
    if program.operands == Operands::None {
        return Vec::new();
    }
    let text = arg.text.as_deref().unwrap_or_default();
    let value = match text.find('=').filter(|_| text.starts_with('-')) {
        Some(sign) => at_home(arg.text_tail(sign + 1), scope),
        // What stands behind its letter.
        None if text.len() > 2 && text.starts_with('-') && !text.starts_with("--") => at_home(arg.text_tail(2), scope),
        None if text.starts_with('-') => return Vec::new(),
        None => arg.clone(),
    };
    let mut files = uses(&value, name, FileAccess::Read, scope);
    // One of awk's may be by which it writes what it has read.
    if program.may_write() || program.operands == Operands::Awk && text.starts_with('-') {
        files.extend(uses(&value, name, FileAccess::Write, scope));
    }
    files
}
