//! Programs that work on the files which their words name, and on nothing else: their options after the manuals of GNU coreutils, grep, sed, ripgrep and
//! others. An option that is not here makes a command one that is not understood. The tables themselves are one for each kind of work.

mod changing;
mod looking;
mod searching;
mod text;

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
    /// Options whose value, a file, holds the names of further files that are read.
    pub(super) lists: &'static [&'static str],
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
    lists: &[],
    strange: &[],
    operands: Operands::Read,
};

pub(super) fn program(name: &str) -> Option<&'static Program> {
    let all = [text::PROGRAMS, looking::PROGRAMS, searching::PROGRAMS, changing::PROGRAMS];
    all.into_iter().flatten().find(|program| program.names.contains(&name))
}
