//! What a bash text would do, as far as its words tell: the commands that it runs, the files that it touches, and what is not understood. Pure: nothing is
//! looked up on a disk and nothing is decided here; rules are held against the result by the runner.

use std::ops::Range;

use copydesk_workspace::path::AbsPath;

use super::wildcard::Shape;

pub use links::{LinkSource, Links};
pub use uses::{FolderUse, FoundLinks, Landing, Removal};

use expansion::{Expanded, Scope};
use values::Variables;
use walk::Walk;

mod arity;
mod builtins;
mod code;
mod command;
mod endings;
mod expansion;
mod fed;
mod fetched;
mod file_programs;
mod find;
mod following;
mod interpreters;
mod letters;
mod links;
mod network;
mod numbers;
mod options;
mod other_names;
mod outputs;
mod programs;
pub mod proven;
mod reader;
mod redirects;
mod remote;
mod scripts;
mod second_reading;
mod syntax;
mod touched;
mod transfer;
mod uses;
mod values;
mod variables;
mod version_control;
mod walk;
mod without_options;
mod wrappers;

/// Where a command starts.
#[derive(Debug, Clone, Copy)]
pub struct Surroundings<'a> {
    pub folder: &'a AbsPath,
    pub home: &'a AbsPath,
}

/// What a text would do. Whatever runs is in `commands`, or lies in a part that `unknown` names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Analysis {
    /// Every simple command that would run, each to be judged alone (R8.1), in the order of the text.
    pub commands: Vec<SimpleCommand>,
    /// Files that redirects and operands of programs touch (R8.3).
    pub files: Vec<FileUse>,
    /// Places in which links may stand that the text itself makes.
    pub links: Vec<Links>,
    /// Patterns that are read as options where files have such names.
    pub patterns: Vec<Pattern>,
    /// Parts that words alone do not tell. Always asked (R8.2).
    pub unknown: Vec<Unknown>,
}

/// One program, builtin or function with its words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SimpleCommand {
    /// Bytes of the whole text; where the command stands in a string that is run, those of the outermost word.
    pub span: Range<usize>,
    /// What rules are held against (R9.2): the words joined by single blanks, without assignments and harmless redirects, the program's name without quotes
    /// and backslashes.
    pub pattern: String,
    /// Further spellings under which it may be denied or asked, never allowed: the base name of a program given by its path, the words with all quotes
    /// removed, an assignment that matters with the words behind it.
    pub aliases: Vec<String>,
    /// The words with options left out before those that say what is done: `npm publish` for `npm --silent publish`. It may be denied or asked by rules
    /// that do not speak of `pattern`.
    pub without_options: Vec<String>,
    /// Where the disk, the input or a variable tells some of its words: all that it may be, for rules that ask or deny some of it.
    pub shapes: Vec<Shape>,
    /// What "always" offers: `git log *`. `None` where that would be too wide; then only the exact command is offered.
    pub prefix: Option<String>,
    pub effect: Effect,
}

/// What is known of a command beside its words.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Effect {
    /// Proven by test to change nothing, to reach no network and to run nothing else.
    pub reads_only: bool,
    /// May reach the network.
    pub network: bool,
    /// What would be lost that nothing else holds (R5.5), in words for the user: "uncommitted changes of tracked files".
    pub loses: Option<&'static str>,
    /// Why words do not tell what runs: a script, an interpreter, what a repository configures.
    pub runs_unseen: Option<String>,
    /// Whether `Analysis::files` tells all that it touches.
    pub is_file_work: bool,
}

/// A file that a command reads or writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileUse {
    /// Bytes of the whole text.
    pub span: Range<usize>,
    /// The program, or `redirect`.
    pub by: String,
    pub access: FileAccess,
    pub place: Place,
    /// Of a folder.
    pub links: FoundLinks,
    /// Of what is copied or moved.
    pub lands: Landing,
    /// The same for all uses of one command.
    pub command: usize,
}

/// In order of strictness.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FileAccess {
    Read,
    Write,
}

/// Where a file stands, by the words alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// Not resolved through links. A folder stands for all below it.
    File(AbsPath),
    /// A word that is the name of a file only where there is one.
    Maybe(AbsPath),
    /// What bash finds for `pattern` below `base`: `*`, `?`, `[…]`, with `/` between components.
    Glob { base: AbsPath, pattern: String },
    /// Those of the files below that git tracks, as words that are added to the command: split at blanks, and read as options where they look so.
    Tracked(AbsPath),
    /// The word as written.
    Unknown(String),
}

/// What bash finds for `pattern` below `base`, where a word begins with a wildcard and no `--` stands before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern {
    /// Bytes of the whole text.
    pub span: Range<usize>,
    pub base: AbsPath,
    pub pattern: String,
}

/// A part that is not understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unknown {
    /// Bytes of the whole text.
    pub span: Range<usize>,
    /// For the user: "a program named by a variable".
    pub reason: String,
    pub gap: Gap,
}

/// How much is not understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gap {
    /// What one command does.
    Part,
    /// Bash may understand it all the same, so that any command and any file may be hidden in it.
    Unread,
    /// The text is longer, deeper or of more parts than is looked at: what any of them does was not judged.
    Beyond,
}

/// What `text` would do when bash runs it in `at.folder`. Never fails: what is not understood is in `unknown`.
pub fn analyse(text: &str, at: Surroundings<'_>) -> Analysis {
    let home = Expanded::literal(&at.home.to_string());
    let scope = Scope { folders: Some(vec![at.folder.clone()]), moved: false, variables: Variables::new(home) };
    let mut walk = Walk::new();
    walk.text(text, None, scope);
    let mut analysis = walk.finish();
    if analysis.commands.is_empty() && analysis.unknown.is_empty() {
        let reason = "no command is in it".to_owned();
        analysis.unknown.push(Unknown { span: 0..text.len(), reason, gap: Gap::Part });
    }
    analysis
}

#[cfg(test)]
#[path = "shell_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "shell/bounds_tests.rs"]
mod bounds_tests;
