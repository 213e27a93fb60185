//! What programs write that their options or endings name, what words may mean behind options that are not known, and which programs run a command of their
//! own words.

use super::code::{NONE, Options};
use super::command::Call;
use super::expansion::{Expanded, Scope};
use super::file_programs::{Operands, Program};
use super::options::{Arg, Parsed};
use super::programs::{at_home, uses};
use super::syntax::Span;
use super::version_control::{abbreviates, has_letter};
use super::{FileAccess, FileUse, Place, letters};

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
        long: &["--output", "--out-dir", "--outFile", "--outDir"],
    },
    Options { programs: &["unzip"], short: "d", long: &[] },
    Options { programs: &["tar", "bsdtar", "gtar"], short: "C", long: &["--directory", "--cd"] },
    Options { programs: &["patch"], short: "odr", long: &["--output", "--directory", "--reject-file"] },
    Options { programs: &["openssl"], long: &["-out", "-keyout"], ..NONE },
    Options { programs: &["gpg", "gpg2"], short: "o", long: &["--output"] },
    Options {
        programs: &["go"],
        long: &["-o", "-coverprofile", "-cpuprofile", "-memprofile", "-outputdir", "-trace"],
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
            value.flatten().iter().for_each(&mut written);
        }
    }
    let named = || words.iter().filter(|arg| !arg.raw.starts_with(['-', '+']));
    match by {
        // The last word is what they copy to; of a host, that is no file here.
        "rsync" | "scp" => {
            let target = words.last().filter(|arg| arg.text.as_deref().is_none_or(|text| !text.contains(':')));
            target.into_iter().for_each(&mut written);
        }
        "patch" | "ed" | "ex" | "vi" | "vim" | "nvim" | "nano" | "mktemp" | "mkfifo" | "sponge" => {
            named().for_each(&mut written);
        }
        "yq" if words.iter().any(|arg| has_letter(arg, 'i') || abbreviates(arg, "--inplace", 3)) => {
            named().for_each(&mut written);
        }
        "tar" | "bsdtar" | "gtar" => archive(words).iter().for_each(&mut written),
        "zip" => named().take(1).for_each(&mut written),
        "curl" | "wget" => by_address(by, words).iter().for_each(&mut written),
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
    // In its oldest form the values follow in the order of their letters.
    let before = old.and_then(|letters| letters.split_once('f')).map(|(before, _)| before);
    let skipped = before.map(|before| before.matches(|letter| letters::takes_value("tar", letter)).count());
    by_option.chain(skipped.and_then(|skipped| words.get(1 + skipped)).cloned()).collect()
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

/// The file that is made of one: with an ending more, or one less.
pub(super) fn packed(name: &str, arg: &Arg, scope: &Scope) -> Vec<FileUse> {
    const ENDINGS: [&str; 11] = [".gz", ".bz2", ".bz", ".xz", ".lzma", ".zst", ".z", ".Z", "-gz", "-z", "_z"];
    const ARCHIVES: [&str; 7] = [".tgz", ".taz", ".tbz", ".tbz2", ".txz", ".tlz", ".tzst"];
    // What `bunzip2` makes of any other.
    const OTHERS: [&str; 6] = [".gz", ".bz2", ".xz", ".zst", ".z", ".out"];
    let Some(text) = arg.text.as_deref() else {
        return vec![FileUse::new(arg.span.clone(), name, FileAccess::Write, Place::Unknown(arg.raw.clone()))];
    };
    let stripped = ENDINGS.iter().filter_map(|ending| text.strip_suffix(ending)).map(str::to_owned);
    let archives = ARCHIVES.iter().filter_map(|ending| text.strip_suffix(ending)).map(|name| format!("{name}.tar"));
    let added = OTHERS.iter().map(|ending| format!("{text}{ending}"));
    let made: Vec<String> = stripped.chain(archives).chain(added).collect();
    made.iter()
        .flat_map(|made| {
            let values = Some(vec![Expanded::literal(made)]);
            uses(&Arg { text: Some(made.clone()), values, ..arg.clone() }, name, FileAccess::Write, scope)
        })
        .collect()
}

/// Programs that are made to run a command of their words, where that was not found in them.
pub(super) fn runs_its_words(name: &str, call: &Call) -> bool {
    let words = call.words();
    let second = words.first().and_then(|arg| arg.text.as_deref()).unwrap_or_default();
    let texts = || words.iter().filter_map(|arg| arg.text.as_deref());
    let holds = |is_meant: &dyn Fn(&str) -> bool| texts().any(is_meant);
    let first_operand = || texts().find(|text| !text.starts_with(['-', '+']));
    match name {
        "watch" | "parallel" | "flock" | "script" => !words.is_empty(),
        "npm" | "pnpm" | "yarn" | "bun" => {
            // Options may stand before it, and their values.
            let runs = |text: &str| matches!(text, "exec" | "dlx" | "explore") || text == "x" && second == "x";
            (holds(&runs) || first_operand() == Some("x")) && words.len() > 1
        }
        "uv" | "poetry" | "pipenv" | "pdm" | "hatch" | "rye" | "conda" | "mamba" | "micromamba" | "pixi" => {
            (second == "run" || second.starts_with('-') && holds(&|text| text == "run")) && words.len() > 1
        }
        "bundle" => second.starts_with('-') && holds(&|text| text == "exec"),
        "cargo" => first_operand() == Some("watch"),
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
        None if text.starts_with('-') => return Vec::new(),
        None => arg.clone(),
    };
    let mut files = uses(&value, name, FileAccess::Read, scope);
    if program.may_write() {
        files.extend(uses(&value, name, FileAccess::Write, scope));
    }
    files
}
