//! Programs that work on the files which their words name, and on nothing else: their options after the manuals of GNU coreutils, grep, sed, ripgrep and
//! others. An option that is not here makes a command one that is not understood.

use super::FileAccess;
use super::options::Spec;

#[derive(Debug, Clone, Copy)]
pub(super) struct Program {
    names: &'static [&'static str],
    pub(super) options: Spec,
    /// Options whose value is a file that is read.
    pub(super) reads: &'static [&'static str],
    /// Options whose value is a file or folder that is written.
    pub(super) writes: &'static [&'static str],
    /// Options by which it runs another program.
    pub(super) strange: &'static [&'static str],
    pub(super) operands: Operands,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operands {
    /// They name no files.
    None,
    Read,
    /// Without any, the folder that it stands in.
    ReadHere,
    Write,
    /// They are replaced by others, with an ending more or less.
    Packed,
    /// An input, then an output.
    ReadThenWrite,
    /// The first is a mode or an owner.
    ThenWrite,
    /// All but the last are copied, moved or linked to it.
    Copy {
        source: FileAccess,
    },
    /// The first is a pattern, where none is given by one of these options. Without a file, the folder that it stands in, where one of `recursive` is given
    /// (or always, where that is empty).
    Pattern {
        given_by: &'static [&'static str],
        recursive: &'static [&'static str],
    },
    Sed,
    Awk,
    /// `if=FILE of=FILE`.
    Assigned,
}

impl Program {
    /// Whether an option could make it run something.
    pub(super) fn is_careful(&self) -> bool {
        !self.strange.is_empty() || matches!(self.operands, Operands::Sed | Operands::Awk)
    }
}

impl Program {
    /// Whether it changes files in any of its ways.
    pub(super) fn may_write(&self) -> bool {
        let changes = match self.operands {
            Operands::None | Operands::Read | Operands::ReadHere | Operands::Pattern { .. } | Operands::Awk => false,
            Operands::Write
            | Operands::Packed
            | Operands::ReadThenWrite
            | Operands::ThenWrite
            | Operands::Copy { .. }
            | Operands::Sed
            | Operands::Assigned => true,
        };
        changes || !self.writes.is_empty()
    }
}

const PLAIN: Program = Program {
    names: &[],
    options: Spec { short: "", long: &["help", "version"] },
    reads: &[],
    writes: &[],
    strange: &[],
    operands: Operands::Read,
};

const COPY_LONG: &[&str] = &[
    "archive",
    "backup?",
    "force",
    "interactive",
    "link",
    "no-clobber",
    "no-target-directory",
    "parents",
    "preserve?",
    "no-preserve=",
    "recursive",
    "reflink?",
    "remove-destination",
    "sparse=",
    "symbolic",
    "suffix=",
    "target-directory=",
    "update?",
    "verbose",
    "dereference",
    "no-dereference",
    "one-file-system",
    "strip-trailing-slashes",
    "relative",
    "logical",
    "physical",
    "mode=",
    "owner=",
    "group=",
    "directory",
    "compare",
    "preserve-timestamps",
    "strip",
    "strip-program=",
    "attributes-only",
];

const PROGRAMS: &[Program] = &[
    Program {
        names: &["cat", "tac"],
        options: Spec {
            short: "AbeEnstTuvrs:",
            long: &[
                "number",
                "show-all",
                "number-nonblank",
                "show-ends",
                "squeeze-blank",
                "show-tabs",
                "show-nonprinting",
            ],
        },
        ..PLAIN
    },
    Program {
        names: &["head"],
        options: Spec { short: "#c:n:qvz", long: &["bytes=", "lines=", "quiet", "silent", "verbose"] },
        ..PLAIN
    },
    Program {
        names: &["tail"],
        options: Spec {
            short: "#c:fFn:qs:vz",
            long: &["bytes=", "lines=", "quiet", "silent", "verbose", "follow?", "retry", "pid=", "sleep-interval="],
        },
        ..PLAIN
    },
    Program {
        names: &["wc"],
        options: Spec { short: "cmlLw", long: &["bytes", "chars", "lines", "max-line-length", "words", "total="] },
        ..PLAIN
    },
    Program { names: &["nl"], options: Spec { short: "b:d:f:h:i:l:n:ps:v:w:", long: &[] }, ..PLAIN },
    Program { names: &["rev", "sum", "tsort", "readelf", "nm", "size"], ..PLAIN },
    Program {
        names: &["cut"],
        options: Spec {
            short: "b:c:d:f:nsz",
            long: &[
                "bytes=",
                "characters=",
                "delimiter=",
                "fields=",
                "complement",
                "only-delimited",
                "output-delimiter=",
            ],
        },
        ..PLAIN
    },
    Program { names: &["paste"], options: Spec { short: "d:sz", long: &["delimiters=", "serial"] }, ..PLAIN },
    Program {
        names: &["comm"],
        options: Spec { short: "123z", long: &["check-order", "nocheck-order", "output-delimiter=", "total"] },
        ..PLAIN
    },
    Program { names: &["join"], options: Spec { short: "a:e:i1:2:j:o:t:v:z", long: &[] }, ..PLAIN },
    Program {
        names: &["fold", "fmt", "expand", "unexpand"],
        options: Spec { short: "#bsw:t:aiucp:g:", long: &["width=", "tabs="] },
        ..PLAIN
    },
    Program {
        names: &["column"],
        options: Spec { short: "ts:o:c:nxN:R:J", long: &["table", "separator=", "output-separator=", "json"] },
        ..PLAIN
    },
    Program {
        names: &["tr"],
        options: Spec { short: "cCdst", long: &["complement", "delete", "squeeze-repeats", "truncate-set1"] },
        operands: Operands::None,
        ..PLAIN
    },
    Program {
        names: &["sort"],
        options: Spec {
            short: "bdfghiMnRrVcCmo:k:sS:t:T:uz",
            long: &[
                "output=",
                "key=",
                "field-separator=",
                "unique",
                "reverse",
                "numeric-sort",
                "human-numeric-sort",
                "version-sort",
                "general-numeric-sort",
                "ignore-case",
                "stable",
                "check?",
                "merge",
                "parallel=",
                "temporary-directory=",
                "compress-program=",
                "zero-terminated",
                "random-sort",
                "month-sort",
                "sort=",
            ],
        },
        writes: &["o", "output", "T", "temporary-directory"],
        strange: &["compress-program"],
        ..PLAIN
    },
    Program {
        names: &["uniq"],
        options: Spec {
            short: "cdDf:is:uw:z",
            long: &["count", "repeated", "all-repeated?", "ignore-case", "unique", "skip-fields=", "skip-chars="],
        },
        operands: Operands::ReadThenWrite,
        ..PLAIN
    },
    Program {
        names: &["diff"],
        options: Spec {
            short: "#abBcC:deEfiI:lnNpqrstTuU:vwyW:x:X:S:F:",
            long: &[
                "unified?",
                "brief",
                "recursive",
                "new-file",
                "ignore-all-space",
                "ignore-space-change",
                "ignore-blank-lines",
                "side-by-side",
                "width=",
                "color?",
                "exclude=",
                "exclude-from=",
                "text",
                "report-identical-files",
                "suppress-common-lines",
                "label=",
                "ignore-case",
                "context?",
            ],
        },
        reads: &["X", "exclude-from"],
        ..PLAIN
    },
    Program {
        names: &["cmp"],
        options: Spec { short: "bi:ln:s", long: &["print-bytes", "bytes=", "quiet", "silent", "verbose"] },
        ..PLAIN
    },
    Program {
        names: &["md5sum", "sha1sum", "sha224sum", "sha256sum", "sha384sum", "sha512sum", "b2sum", "cksum", "shasum"],
        options: Spec {
            short: "bctwza:l:",
            long: &["check", "binary", "text", "tag", "quiet", "status", "algorithm="],
        },
        ..PLAIN
    },
    Program { names: &["od"], options: Spec { short: "A:j:N:S:t:vw::abcdfilosx", long: &[] }, ..PLAIN },
    Program { names: &["hexdump", "hd"], options: Spec { short: "bcCdoxn:s:v", long: &[] }, ..PLAIN },
    Program {
        names: &["xxd"],
        options: Spec { short: "abc:CdEeg:il:n:o:prR:s:uv", long: &[] },
        operands: Operands::ReadThenWrite,
        ..PLAIN
    },
    Program {
        names: &["strings"],
        options: Spec { short: "#afn:oe:t:w", long: &["bytes=", "radix=", "encoding="] },
        ..PLAIN
    },
    Program {
        names: &["base64", "base32"],
        options: Spec { short: "dDiw:b:", long: &["decode", "ignore-garbage", "wrap="] },
        ..PLAIN
    },
    Program {
        names: &["file"],
        options: Spec { short: "bEhikLNnprsSvzZ0", long: &["brief", "mime", "mime-type", "mime-encoding"] },
        ..PLAIN
    },
    Program {
        names: &["stat"],
        options: Spec { short: "Lfc:t", long: &["format=", "printf=", "dereference", "terse", "file-system"] },
        ..PLAIN
    },
    Program {
        names: &["readlink", "realpath"],
        options: Spec { short: "femnqsvzLP", long: &["canonicalize", "relative-to=", "relative-base="] },
        ..PLAIN
    },
    Program {
        names: &["ls", "dir", "vdir"],
        options: Spec {
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
                "classify?",
                "no-group",
                "ignore=",
                "hide=",
                "width=",
                "format=",
                "dereference",
            ],
        },
        operands: Operands::ReadHere,
        ..PLAIN
    },
    Program {
        names: &["du"],
        options: Spec {
            short: "0abcd:DhHklLmPsSt:xB:",
            long: &[
                "all",
                "max-depth=",
                "human-readable",
                "summarize",
                "total",
                "apparent-size",
                "exclude=",
                "si",
                "time?",
            ],
        },
        operands: Operands::ReadHere,
        ..PLAIN
    },
    Program {
        names: &["tree"],
        options: Spec {
            short: "adfilpsughDFrtvxnCL:I:P:AqNo:",
            long: &["noreport", "gitignore", "dirsfirst", "prune"],
        },
        writes: &["o"],
        operands: Operands::ReadHere,
        ..PLAIN
    },
    Program {
        names: &["grep", "egrep", "fgrep"],
        options: Spec {
            short: "#EFGPe:f:ivwxyzcLlm:oqsbHhnTZUA:B:C:aD:d:IRr",
            long: &[
                "extended-regexp",
                "fixed-strings",
                "basic-regexp",
                "perl-regexp",
                "regexp=",
                "file=",
                "ignore-case",
                "no-ignore-case",
                "invert-match",
                "word-regexp",
                "line-regexp",
                "count",
                "color?",
                "colour?",
                "files-without-match",
                "files-with-matches",
                "max-count=",
                "only-matching",
                "quiet",
                "silent",
                "no-messages",
                "byte-offset",
                "with-filename",
                "no-filename",
                "label=",
                "line-number",
                "initial-tab",
                "null",
                "after-context=",
                "before-context=",
                "context=",
                "text",
                "binary-files=",
                "devices=",
                "directories=",
                "exclude=",
                "exclude-from=",
                "exclude-dir=",
                "include=",
                "recursive",
                "dereference-recursive",
                "null-data",
                "line-buffered",
            ],
        },
        reads: &["f", "file", "exclude-from"],
        operands: Operands::Pattern {
            given_by: &["e", "f", "regexp", "file"],
            recursive: &["r", "R", "recursive", "dereference-recursive", "d", "directories"],
        },
        ..PLAIN
    },
    Program {
        names: &["rg"],
        options: Spec {
            short: "#A:B:C:E:e:f:g:j:m:M:r:t:T:d:aciFhHIlnNoLPpqSsUuvVwxz0.",
            long: &[
                "after-context=",
                "before-context=",
                "context=",
                "encoding=",
                "regexp=",
                "file=",
                "glob=",
                "iglob=",
                "max-count=",
                "max-columns=",
                "replace=",
                "type=",
                "type-not=",
                "type-add=",
                "max-depth=",
                "maxdepth=",
                "threads=",
                "color=",
                "colors=",
                "sort=",
                "sortr=",
                "engine=",
                "ignore-file=",
                "max-filesize=",
                "pre=",
                "pre-glob=",
                "hostname-bin=",
                "text",
                "count",
                "count-matches",
                "ignore-case",
                "fixed-strings",
                "files",
                "files-with-matches",
                "files-without-match",
                "follow",
                "heading",
                "no-heading",
                "hidden",
                "no-ignore",
                "no-ignore-vcs",
                "no-ignore-parent",
                "invert-match",
                "json",
                "line-number",
                "no-line-number",
                "line-regexp",
                "multiline",
                "multiline-dotall",
                "no-filename",
                "with-filename",
                "no-messages",
                "null",
                "only-matching",
                "passthru",
                "pcre2",
                "pretty",
                "quiet",
                "search-zip",
                "smart-case",
                "case-sensitive",
                "stats",
                "trim",
                "type-list",
                "unrestricted",
                "vimgrep",
                "word-regexp",
                "column",
                "binary",
                "glob-case-insensitive",
                "no-config",
                "debug",
                "one-file-system",
                "no-follow",
                "no-hidden",
                "crlf",
            ],
        },
        reads: &["f", "file", "ignore-file"],
        strange: &["pre", "hostname-bin", "z", "search-zip"],
        operands: Operands::Pattern { given_by: &["e", "f", "regexp", "file", "files", "type-list"], recursive: &[] },
        ..PLAIN
    },
    Program {
        names: &["sed"],
        options: Spec {
            short: "ne:f:i::El:rsuz",
            long: &[
                "quiet",
                "silent",
                "expression=",
                "file=",
                "in-place?",
                "regexp-extended",
                "line-length=",
                "separate",
                "unbuffered",
                "null-data",
                "posix",
                "sandbox",
                "debug",
            ],
        },
        reads: &["f", "file"],
        operands: Operands::Sed,
        ..PLAIN
    },
    Program {
        names: &["awk", "gawk", "mawk", "nawk"],
        options: Spec {
            short: "F:v:f:",
            long: &["field-separator=", "assign=", "file=", "posix", "traditional", "re-interval"],
        },
        reads: &["f", "file"],
        operands: Operands::Awk,
        ..PLAIN
    },
    Program {
        names: &["jq"],
        options: Spec {
            short: "nRsrjaSCMceV",
            long: &[
                "null-input",
                "raw-input",
                "slurp",
                "raw-output",
                "join-output",
                "ascii-output",
                "sort-keys",
                "color-output",
                "monochrome-output",
                "compact-output",
                "exit-status",
                "tab",
                "unbuffered",
                "stream",
            ],
        },
        operands: Operands::Pattern { given_by: &[], recursive: &["-"] },
        ..PLAIN
    },
    Program {
        names: &["mkdir"],
        options: Spec { short: "pm:v", long: &["parents", "mode=", "verbose"] },
        operands: Operands::Write,
        ..PLAIN
    },
    Program {
        names: &["rmdir"],
        options: Spec { short: "pv", long: &["parents", "verbose", "ignore-fail-on-non-empty"] },
        operands: Operands::Write,
        ..PLAIN
    },
    Program {
        names: &["touch"],
        options: Spec { short: "acd:fhmr:t:", long: &["no-create", "date=", "no-dereference", "reference=", "time="] },
        reads: &["r", "reference"],
        operands: Operands::Write,
        ..PLAIN
    },
    Program {
        names: &["rm", "unlink"],
        options: Spec {
            short: "rRfivId",
            long: &[
                "recursive",
                "force",
                "interactive?",
                "verbose",
                "dir",
                "one-file-system",
                "preserve-root?",
                "no-preserve-root",
            ],
        },
        operands: Operands::Write,
        ..PLAIN
    },
    Program {
        names: &["cp"],
        options: Spec { short: "abdfHilLnPpRrst:S:TuvxZ", long: COPY_LONG },
        writes: &["t", "target-directory"],
        operands: Operands::Copy { source: FileAccess::Read },
        ..PLAIN
    },
    Program {
        names: &["mv"],
        options: Spec { short: "bfint:S:TuvZ", long: COPY_LONG },
        writes: &["t", "target-directory"],
        operands: Operands::Copy { source: FileAccess::Write },
        ..PLAIN
    },
    Program {
        names: &["ln", "link"],
        options: Spec { short: "bdfFiLnPrsS:t:Tv", long: COPY_LONG },
        writes: &["t", "target-directory"],
        operands: Operands::Copy { source: FileAccess::Write },
        ..PLAIN
    },
    Program {
        names: &["install"],
        options: Spec { short: "bcCdDg:m:o:psS:t:Tv", long: COPY_LONG },
        writes: &["t", "target-directory"],
        strange: &["s", "strip", "strip-program"],
        operands: Operands::Copy { source: FileAccess::Read },
        ..PLAIN
    },
    Program {
        names: &["chmod", "chown", "chgrp"],
        options: Spec {
            short: "cfvRhHLP",
            long: &[
                "changes",
                "quiet",
                "silent",
                "verbose",
                "recursive",
                "reference=",
                "no-dereference",
                "dereference",
                "from=",
            ],
        },
        reads: &["reference"],
        operands: Operands::ThenWrite,
        ..PLAIN
    },
    Program {
        names: &["truncate"],
        options: Spec { short: "cor:s:", long: &["no-create", "reference=", "size="] },
        reads: &["r", "reference"],
        operands: Operands::Write,
        ..PLAIN
    },
    Program {
        names: &["tee"],
        options: Spec { short: "aip", long: &["append", "ignore-interrupts", "output-error?"] },
        operands: Operands::Write,
        ..PLAIN
    },
    Program {
        names: &["shred"],
        options: Spec {
            short: "fn:s:uvxz",
            long: &["force", "iterations=", "size=", "remove?", "verbose", "exact", "zero"],
        },
        operands: Operands::Write,
        ..PLAIN
    },
    Program {
        names: &["split"],
        options: Spec { short: "a:b:C:de:l:n:t:ux", long: &["lines=", "bytes=", "number=", "filter="] },
        strange: &["filter"],
        operands: Operands::ReadThenWrite,
        ..PLAIN
    },
    Program {
        names: &["gzip", "gunzip", "bzip2", "bunzip2", "xz", "unxz", "zstd"],
        options: Spec { short: "#cdfklnrqtv", long: &["keep", "decompress", "stdout", "force"] },
        operands: Operands::Packed,
        ..PLAIN
    },
    Program { names: &["zcat", "bzcat", "xzcat", "zstdcat"], ..PLAIN },
    Program { names: &["dd"], operands: Operands::Assigned, ..PLAIN },
    Program {
        names: &["iconv"],
        options: Spec { short: "f:t:co:ls", long: &["from-code=", "to-code=", "output="] },
        writes: &["o", "output"],
        ..PLAIN
    },
    Program {
        names: &["echo", "true", "false", ":", "pwd", "seq", "sleep", "basename", "dirname", "expr"],
        options: Spec { short: "neEsw:z:aLPf:", long: &[] },
        operands: Operands::None,
        ..PLAIN
    },
];

pub(super) fn program(name: &str) -> Option<&'static Program> {
    PROGRAMS.iter().find(|program| program.names.contains(&name))
}
