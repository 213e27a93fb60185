//! Commands that are proven to change nothing, to reach no network and to run nothing else. Each option here is run by a test under a tracer, in a folder
//! whose contents are compared (`read_only_commands.rs` of the end-to-end tests); an option that is not here was not proven. What they read is in
//! `Analysis::files` as for any other. Not here: `git`, which runs what a repository configures, and all that takes a file to write, but for the forms without.

use super::command::Call;
use super::options::{Order, Spec};

/// A program, its options as for `Spec`, and what else may stand in its words.
#[derive(Debug, Clone, Copy)]
pub struct ReadOnly {
    pub program: &'static str,
    /// As for getopt: `ab:c::`; `#` for a number.
    pub short: &'static str,
    /// With `=` behind those that take a value, `?` behind those that may.
    pub long: &'static [&'static str],
    pub words: Words,
}

/// What may stand beside options.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Words {
    /// Whatever it is, options among them.
    Anything,
    Operands,
    /// So many operands at most.
    AtMost(usize),
    /// `+%F`: another operand sets the clock.
    Format,
    /// Roots, and tests and actions of `find` that only look.
    Tests,
}

const NONE: ReadOnly = ReadOnly { program: "", short: "", long: &[], words: Words::Operands };

const SUMS: &str = "bctwz";

/// In the order of the alphabet.
pub const READ_ONLY: &[ReadOnly] = &[
    ReadOnly { program: ":", words: Words::Anything, ..NONE },
    ReadOnly { program: "basename", short: "as:z", long: &["multiple", "suffix=", "zero"], ..NONE },
    ReadOnly { program: "cd", short: "LP", words: Words::AtMost(1), ..NONE },
    ReadOnly { program: "cksum", ..NONE },
    ReadOnly {
        program: "cmp",
        short: "bi:ln:s",
        long: &["print-bytes", "bytes=", "quiet", "silent", "verbose"],
        ..NONE
    },
    ReadOnly { program: "comm", short: "123z", long: &["check-order", "nocheck-order", "total"], ..NONE },
    ReadOnly {
        program: "cut",
        short: "b:c:d:f:nsz",
        long: &["bytes=", "characters=", "delimiter=", "fields=", "complement", "only-delimited", "output-delimiter="],
        ..NONE
    },
    ReadOnly { program: "date", short: "uRI::d:", long: &["utc", "iso-8601?", "date="], words: Words::Format },
    ReadOnly {
        program: "diff",
        short: "abBcdeEiNpqrstTuU:wyW:x:",
        long: &["unified?", "brief", "recursive", "new-file", "ignore-all-space", "side-by-side", "width=", "color?"],
        ..NONE
    },
    ReadOnly { program: "dirname", short: "z", long: &["zero"], ..NONE },
    ReadOnly {
        program: "du",
        short: "0abcd:DhHklLmPsSx",
        long: &["all", "max-depth=", "human-readable", "summarize", "total", "apparent-size", "exclude="],
        ..NONE
    },
    ReadOnly { program: "false", words: Words::Anything, ..NONE },
    ReadOnly { program: "find", words: Words::Tests, ..NONE },
    ReadOnly {
        program: "grep",
        short: "EFGPe:f:ivwxcLlm:oqsbHhnTZA:B:C:aIRr",
        long: &[
            "extended-regexp",
            "fixed-strings",
            "perl-regexp",
            "regexp=",
            "ignore-case",
            "invert-match",
            "word-regexp",
            "line-regexp",
            "count",
            "color?",
            "files-without-match",
            "files-with-matches",
            "max-count=",
            "only-matching",
            "quiet",
            "no-messages",
            "with-filename",
            "no-filename",
            "line-number",
            "after-context=",
            "before-context=",
            "context=",
            "text",
            "exclude=",
            "exclude-dir=",
            "include=",
            "recursive",
        ],
        ..NONE
    },
    ReadOnly { program: "head", short: "#c:n:qvz", long: &["bytes=", "lines=", "quiet", "verbose"], ..NONE },
    ReadOnly { program: "id", short: "agGnruz", long: &["user", "group", "groups", "name", "real"], ..NONE },
    ReadOnly {
        program: "ls",
        short: "aAbBcCdDfFgGhHiI:klLmnNopqQrRsStT:uUvw:xXZ1",
        long: &[
            "all",
            "almost-all",
            "color?",
            "directory",
            "full-time",
            "group-directories-first",
            "human-readable",
            "recursive",
            "reverse",
            "sort=",
            "time=",
            "time-style=",
            "size",
            "inode",
            "no-group",
            "ignore=",
            "hide=",
            "width=",
        ],
        ..NONE
    },
    ReadOnly { program: "md5sum", short: SUMS, ..NONE },
    ReadOnly { program: "nl", short: "b:d:f:h:i:l:n:ps:v:w:", ..NONE },
    ReadOnly { program: "nproc", long: &["all"], words: Words::AtMost(0), ..NONE },
    ReadOnly { program: "od", short: "A:j:N:t:vabcdfilosx", ..NONE },
    ReadOnly { program: "paste", short: "d:sz", ..NONE },
    ReadOnly { program: "readlink", short: "femnqsvz", long: &["canonicalize"], ..NONE },
    ReadOnly {
        program: "realpath",
        short: "emLPqsz",
        long: &["relative-to=", "relative-base=", "canonicalize-existing", "canonicalize-missing"],
        ..NONE
    },
    ReadOnly { program: "sha1sum", short: SUMS, ..NONE },
    ReadOnly { program: "sha256sum", short: SUMS, ..NONE },
    ReadOnly { program: "sha512sum", short: SUMS, ..NONE },
    ReadOnly {
        program: "sort",
        short: "bdfghiMnRrVcCk:st:uz",
        long: &["key=", "field-separator=", "unique", "reverse", "numeric-sort", "human-numeric-sort", "version-sort"],
        ..NONE
    },
    ReadOnly { program: "stat", short: "Lfc:t", long: &["format=", "printf=", "dereference", "terse"], ..NONE },
    ReadOnly { program: "tac", short: "brs:", ..NONE },
    ReadOnly { program: "tail", short: "#c:n:qvz", long: &["bytes=", "lines=", "quiet", "verbose"], ..NONE },
    ReadOnly { program: "tr", short: "cCdst", long: &["complement", "delete", "squeeze-repeats"], ..NONE },
    ReadOnly { program: "true", words: Words::Anything, ..NONE },
    ReadOnly { program: "type", short: "afptP", ..NONE },
    ReadOnly { program: "uname", short: "asnrvmpio", words: Words::AtMost(0), ..NONE },
    ReadOnly {
        program: "uniq",
        short: "cdDf:is:uw:z",
        long: &["count", "repeated", "ignore-case", "unique", "skip-fields=", "skip-chars="],
        words: Words::AtMost(1),
    },
    ReadOnly { program: "wc", short: "cmlLw", long: &["bytes", "chars", "lines", "max-line-length", "words"], ..NONE },
    ReadOnly { program: "whoami", words: Words::AtMost(0), ..NONE },
];

/// Tests and actions of `find` that only look, with the number of words that they take.
pub const FIND_TESTS: &[(&str, usize)] = &[
    ("-name", 1),
    ("-iname", 1),
    ("-path", 1),
    ("-ipath", 1),
    ("-regex", 1),
    ("-type", 1),
    ("-size", 1),
    ("-mtime", 1),
    ("-mmin", 1),
    ("-maxdepth", 1),
    ("-mindepth", 1),
    ("-perm", 1),
    ("-newer", 1),
    ("-printf", 1),
    ("-empty", 0),
    ("-print", 0),
    ("-print0", 0),
    ("-ls", 0),
    ("-prune", 0),
    ("-quit", 0),
    ("-depth", 0),
    ("-executable", 0),
    ("-readable", 0),
    ("-true", 0),
    ("-false", 0),
    ("-a", 0),
    ("-o", 0),
    ("-not", 0),
    ("!", 0),
    ("(", 0),
    (")", 0),
];

pub(super) fn reads_only(call: &Call) -> bool {
    let Some(proven) = READ_ONLY.iter().find(|proven| Some(proven.program) == call.program()) else { return false };
    if call.is_open {
        return false;
    }
    let parsed = Spec { short: proven.short, long: proven.long }.parse(call.words(), Order::Mixed);
    match proven.words {
        Words::Anything => true,
        Words::Operands => parsed.is_told(),
        Words::AtMost(count) => {
            parsed.is_understood() && parsed.operands.len() <= count && parsed.operands_are_single()
        }
        Words::Format => {
            let formats = |text: &Option<String>| text.as_ref().is_some_and(|text| text.starts_with('+'));
            parsed.is_understood() && parsed.operands.iter().all(|operand| formats(&operand.text))
        }
        Words::Tests => only_looks(call),
    }
}

fn only_looks(call: &Call) -> bool {
    let texts = call.texts();
    let mut words = texts.iter().skip(1);
    while let Some(word) = words.next() {
        let Some(text) = word else { return false };
        match FIND_TESTS.iter().find(|(test, _)| test == text) {
            Some((_, count)) => {
                for _ in 0..*count {
                    if !words.next().is_some_and(Option::is_some) {
                        return false;
                    }
                }
            }
            None if text.starts_with(['-', '!', '(', ')', ',']) => return false,
            None => {}
        }
    }
    true
}
