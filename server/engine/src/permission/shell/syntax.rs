//! What a bash text consists of, as `reader` finds it. Only what the analysis asks for: an expansion that cannot be followed is kept as such, and how numbers
//! or patterns are computed is not held.

use std::collections::BTreeSet;
use std::ops::Range;

/// Bytes of the outermost text.
pub(super) type Span = Range<usize>;

/// Statements in order, each with how it is ended.
pub(super) type List = Vec<Statement>;

#[derive(Debug, Clone)]
pub(super) enum Statement {
    Simple(Simple),
    /// Each part in a subshell of its own.
    Pipeline(Vec<Statement>),
    And(Box<Statement>, Box<Statement>),
    Or(Box<Statement>, Box<Statement>),
    Not(Box<Statement>),
    Background(Box<Statement>),
    Subshell(List),
    Group(List),
    /// Conditions with what runs where they hold, and the rest.
    If(Vec<(List, List)>, List),
    /// `while` and `until`.
    While(List, List),
    /// `for` and `select`.
    For(For),
    /// `((…))` and the head of `for ((…))`.
    Arithmetic(Arithmetic),
    Test(Test),
    Case(Word, Vec<(Vec<Word>, List)>),
    Function(Function),
    Redirected(Box<Statement>, Vec<Redirect>),
}

#[derive(Debug, Clone)]
pub(super) struct Simple {
    pub(super) span: Span,
    pub(super) assignments: Vec<Assignment>,
    pub(super) words: Vec<Word>,
    pub(super) redirects: Vec<Redirect>,
    /// As written, without comments behind it.
    pub(super) raw: String,
}

#[derive(Debug, Clone)]
pub(super) struct For {
    pub(super) variable: String,
    pub(super) span: Span,
    /// `None`: the positional parameters.
    pub(super) values: Option<Vec<Word>>,
    pub(super) body: List,
}

#[derive(Debug, Clone)]
pub(super) struct Function {
    pub(super) name: String,
    pub(super) body: Box<Statement>,
}

/// The words of `[[ … ]]` that are expanded, and those that are computed as numbers.
#[derive(Debug, Clone, Default)]
pub(super) struct Test {
    pub(super) span: Span,
    pub(super) words: Vec<Word>,
    pub(super) numbers: Vec<Word>,
    /// Operands of `-v` and `-R`.
    pub(super) names: Vec<Word>,
}

#[derive(Debug, Clone)]
pub(super) struct Assignment {
    pub(super) span: Span,
    pub(super) name: String,
    pub(super) subscript: Option<Arithmetic>,
    pub(super) value: Value,
    pub(super) raw: String,
}

#[derive(Debug, Clone)]
pub(super) enum Value {
    Word(Word),
    Array(Vec<Word>),
}

#[derive(Debug, Clone)]
pub(super) struct Redirect {
    pub(super) span: Span,
    pub(super) kind: RedirectKind,
    /// It is what standard input is then.
    pub(super) feeds: bool,
}

#[derive(Debug, Clone)]
pub(super) enum RedirectKind {
    Read(Word),
    Write(Word),
    /// `>&1`, `2>&-`.
    Duplicate,
    HereString(Word),
    /// An index of `Script::heredocs`.
    Heredoc(usize),
}

#[derive(Debug, Clone)]
pub(super) struct Heredoc {
    pub(super) body: Word,
}

/// A whole text.
#[derive(Debug, Clone, Default)]
pub(super) struct Script {
    pub(super) list: List,
    pub(super) heredocs: Vec<Heredoc>,
    /// Where the names of simple commands start, in bytes of the text that was read.
    pub(super) starts: BTreeSet<usize>,
    /// Parts whose positions do not tell: backquotes with escapes in them.
    pub(super) displaced: Vec<Range<usize>>,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Word {
    pub(super) span: Span,
    /// As written, joined lines joined.
    pub(super) raw: String,
    pub(super) pieces: Vec<Piece>,
}

#[derive(Debug, Clone)]
pub(super) enum Piece {
    /// Where unquoted, `*?[{},~` may have their meaning.
    Text {
        text: String,
        quoted: bool,
    },
    Parameter(Parameter),
    /// `$(…)` and backquotes.
    Substitution(List),
    /// `<(…)` and `>(…)`.
    Process(List),
    Arithmetic(Arithmetic),
    /// A string whose bytes are not computed here.
    Opaque,
}

#[derive(Debug, Clone)]
pub(super) struct Parameter {
    pub(super) span: Span,
    pub(super) name: String,
    pub(super) quoted: bool,
    pub(super) change: Change,
    pub(super) subscript: Option<Arithmetic>,
}

/// What `${name…}` does with the value.
#[derive(Debug, Clone)]
pub(super) enum Change {
    None,
    /// `${x:=word}`.
    Assign(Vec<Piece>),
    /// `${x:-word}`, `${x#pattern}` and others.
    Words(Vec<Piece>),
    /// `${x:offset:length}`.
    Slice(Arithmetic),
    /// `${#x}`.
    Length,
}

/// What is computed as a number. Bash expands the subscripts in the *values* of its names, so that a value may run a command.
#[derive(Debug, Clone, Default)]
pub(super) struct Arithmetic {
    pub(super) span: Span,
    /// Names whose values are computed.
    pub(super) names: Vec<String>,
    pub(super) pieces: Vec<Piece>,
}
