//! Programs that make, change, move and remove files.

use super::{Operands, PLAIN, Program};
use crate::permission::shell::FileAccess;
use crate::permission::shell::options::Spec;

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

pub(super) const PROGRAMS: &[Program] = &[
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
    Program { names: &["dd"], operands: Operands::Assigned, ..PLAIN },
];
