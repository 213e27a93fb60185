//! Programs that read text and print it in another way, or tell something of it.

use super::{Operands, PLAIN, Program};
use crate::permission::shell::options::Spec;

pub(super) const PROGRAMS: &[Program] = &[
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
        options: Spec {
            short: "cmlLw",
            long: &["bytes", "chars", "lines", "max-line-length", "words", "total=", "files0-from="],
        },
        lists: &["files0-from"],
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
                "files0-from=",
            ],
        },
        writes: &["o", "output", "T", "temporary-directory"],
        lists: &["files0-from"],
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
    Program { names: &["zcat", "bzcat", "xzcat", "zstdcat"], ..PLAIN },
    Program {
        names: &["iconv"],
        options: Spec { short: "f:t:co:ls", long: &["from-code=", "to-code=", "output="] },
        writes: &["o", "output"],
        ..PLAIN
    },
];
