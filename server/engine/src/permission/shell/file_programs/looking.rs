//! Programs that tell what files and folders there are, and of which kind; and those that touch none.

use super::{Operands, PLAIN, Program};
use crate::permission::shell::options::Spec;

pub(super) const PROGRAMS: &[Program] = &[
    Program {
        names: &["file"],
        options: Spec {
            short: "bCEF:f:hikLm:NnP:prsSvzZ0",
            long: &[
                "brief",
                "compile",
                "dereference",
                "files-from=",
                "keep-going",
                "magic-file=",
                "mime",
                "mime-encoding",
                "mime-type",
                "no-dereference",
                "print0",
                "separator=",
            ],
        },
        reads: &["f", "files-from"],
        lists: &["f", "files-from"],
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
                "files0-from=",
            ],
        },
        lists: &["files0-from"],
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
        names: &[
            "echo", "true", "false", ":", "pwd", "seq", "sleep", "basename", "dirname", "expr", "which", "free",
            "uptime", "clear",
        ],
        options: Spec { short: "neEsw:z:aLPf:", long: &[] },
        operands: Operands::None,
        ..PLAIN
    },
];
