//! What words expand to, where the text itself tells: quotes removed, braces and `~` expanded, variables that the text has set replaced. What cannot be told
//! is `None`.

use copydesk_workspace::path::AbsPath;

use super::options::Arg;
use super::syntax::{Change, Parameter, Piece, Word};
use super::values::Variables;
use super::{FileAccess, FileUse, Place};

/// Of one word, by braces and by variables with several values.
const MOST_VALUES: usize = 64;
/// In one word; they are expanded by recursion.
const MOST_BRACES: usize = 16;
/// Characters that variables add to one word: each assignment of a text could double them.
const MOST_CHARACTERS: usize = 4096;

/// Bytes of the path of a folder that a text enters, and of all in which it may be: no system has longer ones.
const LONGEST: usize = 4096;

/// Where a command stands while it runs.
#[derive(Debug, Clone)]
pub(super) struct Scope {
    /// Those in which it may run: a `cd` that fails leaves the folder as it was. `None`: not known.
    pub(super) folders: Option<Vec<AbsPath>>,
    /// Whether a `cd` of the text led here, maybe through a link: then `..` leads out of the link's target.
    pub(super) moved: bool,
    /// What the text has set; each with all its possible values. `HOME` is among them.
    pub(super) variables: Variables,
}

/// One value. Characters that are not literal may have their meaning in a pattern of file names.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Expanded(Vec<(char, bool)>);

impl Expanded {
    pub(super) fn literal(text: &str) -> Self {
        Self(text.chars().map(|c| (c, true)).collect())
    }

    pub(super) fn text(&self) -> String {
        self.0.iter().map(|(c, _)| c).collect()
    }

    /// Each with whether it is literal.
    pub(super) fn signs(&self) -> impl Iterator<Item = (char, bool)> {
        self.0.iter().copied()
    }

    /// `[` alone is itself, as the name of a test.
    pub(super) fn is_glob(&self) -> bool {
        let wild = |at: usize, c: char| match c {
            '[' => self.0[at..].iter().any(|(c, _)| *c == ']'),
            _ => is_wildcard(c),
        };
        self.0.iter().enumerate().any(|(at, &(c, literal))| !literal && wild(at, c))
    }

    /// The same with all behind the first `count` characters.
    pub(super) fn skip(&self, count: usize) -> Self {
        Self(self.0.iter().skip(count).copied().collect())
    }

    /// The pattern of all that begins so.
    pub(super) fn with_any(&self) -> Self {
        Self(self.0.iter().copied().chain([('*', false)]).collect())
    }

    /// As a value that a variable holds: a pattern stays what it is only where the shell has replaced it by names of files.
    pub(super) fn assigned(self) -> Self {
        Self(self.0.into_iter().map(|(c, _)| (c, true)).collect())
    }

    fn pattern(&self) -> String {
        let mut pattern = String::new();
        for &(c, literal) in &self.0 {
            if literal && (is_wildcard(c) || c == '\\') {
                pattern.extend(['[', c, ']']);
            } else {
                pattern.push(c);
            }
        }
        pattern
    }
}

fn is_wildcard(c: char) -> bool {
    matches!(c, '*' | '?' | '[')
}

/// What a word holds before braces and tildes are expanded.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Sign {
    c: char,
    quoted: bool,
    /// Stands for a pattern that the shell has already replaced.
    pattern: bool,
}

/// Of one word.
#[derive(Debug)]
pub(super) struct Values {
    pub(super) all: Vec<Expanded>,
    /// It is one of them, and not all of them, as braces are.
    pub(super) is_choice: bool,
}

impl Scope {
    /// All values of `word`. A pattern of file names is one value.
    pub(super) fn expand(&self, word: &Word) -> Option<Vec<Expanded>> {
        self.values_of(word).map(|values| values.all)
    }

    pub(super) fn values_of(&self, word: &Word) -> Option<Values> {
        let alternatives = self.alternatives(word)?;
        let is_choice = alternatives.len() > 1;
        let mut expanded = Vec::new();
        for alternative in alternatives {
            if alternative.iter().filter(|sign| sign.c == '{').count() > MOST_BRACES {
                return None;
            }
            for signs in braces(&alternative)? {
                expanded.push(self.tilde(&signs)?);
                if expanded.len() > MOST_VALUES {
                    return None;
                }
            }
        }
        Some(Values { all: expanded, is_choice })
    }

    fn alternatives(&self, word: &Word) -> Option<Vec<Vec<Sign>>> {
        let mut alternatives: Vec<Vec<Sign>> = vec![Vec::new()];
        let mut added = 0;
        for piece in &word.pieces {
            if matches!(piece, Piece::Parameter(_)) && self.variables.are_used_up() {
                return None;
            }
            let values = self.values(piece)?;
            if alternatives.len() * values.len() > MOST_VALUES {
                return None;
            }
            let characters = |values: &[Vec<Sign>]| values.iter().map(Vec::len).sum::<usize>();
            let of_values = alternatives.len() - usize::from(matches!(piece, Piece::Text { .. }));
            let more = characters(&values) * of_values + characters(&alternatives) * values.len().saturating_sub(1);
            added += more;
            if !self.variables.takes(more) || added > MOST_CHARACTERS {
                return None;
            }
            let mut next = Vec::new();
            for head in &alternatives {
                for value in &values {
                    next.push(head.iter().chain(value).copied().collect());
                }
            }
            alternatives = next;
        }
        Some(alternatives)
    }

    /// The value, where there is exactly one and it is no pattern.
    pub(super) fn literal(&self, word: &Word) -> Option<String> {
        let expanded = self.expand(word)?;
        match expanded.as_slice() {
            [one] if !one.is_glob() => Some(one.text()),
            _ => None,
        }
    }

    fn values(&self, piece: &Piece) -> Option<Vec<Vec<Sign>>> {
        match piece {
            Piece::Text { text, quoted } => {
                Some(vec![text.chars().map(|c| Sign { c, quoted: *quoted, pattern: false }).collect()])
            }
            Piece::Parameter(Parameter { name, quoted, change: Change::None, subscript: None, .. }) => {
                let folder =
                    || self.folders.as_deref().map(|all| all.iter().map(|at| Expanded::literal(&at.to_string())));
                match self.variables.get(name) {
                    Some(values) => values.iter().map(|value| value_in_word(value, *quoted)).collect(),
                    None if name == "PWD" => folder()?.map(|value| value_in_word(&value, *quoted)).collect(),
                    None => None,
                }
            }
            Piece::Parameter(_) | Piece::Substitution(_) | Piece::Process(_) | Piece::Arithmetic(_) | Piece::Opaque => {
                None
            }
        }
    }

    fn tilde(&self, signs: &[Sign]) -> Option<Expanded> {
        let mut value = Vec::new();
        let mut rest = signs;
        if let Some((Sign { c: '~', quoted: false, .. }, behind)) = signs.split_first() {
            match behind.first() {
                None | Some(Sign { c: '/', quoted: false, .. }) => {
                    let home = self.variables.get("HOME")?.first()?;
                    value.extend_from_slice(&home.0);
                    rest = behind;
                }
                _ => return None,
            }
        }
        value.extend(rest.iter().map(|sign| (sign.c, sign.quoted && !sign.pattern)));
        Some(Expanded(value))
    }

    /// The places that one value names as a file.
    pub(super) fn places(&self, value: &Expanded) -> Vec<Place> {
        let text = value.text();
        let unknown = || vec![Place::Unknown(text.clone())];
        if text.is_empty() {
            return Vec::new();
        }
        if text.contains('\0') || leads_up_behind_a_name(&text) || self.moved && is_upward(&text) {
            return unknown();
        }
        let absolute = text.starts_with('/');
        let folders = match &self.folders {
            Some(folders) if !absolute => folders.clone(),
            None if !absolute => return unknown(),
            _ => AbsPath::new("/").into_iter().collect(),
        };
        folders.iter().map(|folder| place_below(folder, value)).collect()
    }

    /// The places that `word` names as a file.
    pub(super) fn places_of(&self, word: &Word) -> Vec<Place> {
        match self.expand(word) {
            Some(values) => values.iter().flat_map(|value| self.places(value)).collect(),
            None => vec![Place::Unknown(word.raw.clone())],
        }
    }

    pub(super) fn uses(&self, word: &Word, by: &str, access: FileAccess) -> Vec<FileUse> {
        let used = |place| FileUse::new(word.span.clone(), by, access, place);
        self.places_of(word).into_iter().map(used).collect()
    }

    /// What holds where one of two ways was gone.
    pub(super) fn either(mut self, other: Scope) -> Self {
        self.folders = match (self.folders, other.folders) {
            (Some(mut one), Some(two)) => {
                one.extend(two);
                one.sort();
                one.dedup();
                let bytes: usize = one.iter().map(|folder| folder.to_string().len()).sum();
                (one.len() <= 8 && bytes <= LONGEST).then_some(one)
            }
            _ => None,
        };
        self.moved |= other.moved;
        self.variables.in_common(&other.variables);
        self
    }
}

/// The folders that `arg` names. `None` where one of them is not known.
pub(super) fn folders(arg: &Arg, scope: &Scope) -> Option<Vec<AbsPath>> {
    // That `..` leads out of a link's target is what `cd` alone does not do.
    let scope = Scope { moved: false, ..scope.clone() };
    let text = arg.text.as_deref()?;
    if text.len() > LONGEST {
        return None;
    }
    if text.starts_with('/') {
        return AbsPath::new(text).map(|folder| vec![folder]);
    }
    let folders: Vec<_> = scope.folders?.iter().map(|folder| folder.join(text)).collect();
    (folders.iter().map(|folder| folder.to_string().len()).sum::<usize>() <= LONGEST).then_some(folders)
}

/// `None` where the value is split into words or replaced by names of files.
fn value_in_word(value: &Expanded, quoted: bool) -> Option<Vec<Sign>> {
    let splits = |c: char| c.is_whitespace() || is_wildcard(c) || c == '\\';
    if !quoted && (value.0.is_empty() || value.is_glob() || value.0.iter().any(|&(c, _)| splits(c))) {
        return None;
    }
    Some(value.0.iter().map(|&(c, literal)| Sign { c, quoted: true, pattern: !literal }).collect())
}

/// `a/../b` names another file than `b` where `a` is a link.
fn leads_up_behind_a_name(path: &str) -> bool {
    let mut parts = path.split('/').skip_while(|part| matches!(*part, "" | "." | ".."));
    parts.any(|part| part == "..")
}

fn is_upward(path: &str) -> bool {
    path.split('/').find(|part| !matches!(*part, ".")).is_some_and(|part| part == "..")
}

fn place_below(folder: &AbsPath, value: &Expanded) -> Place {
    if !value.is_glob() {
        return Place::File(folder.join(value.text()));
    }
    let wild = value.0.iter().position(|&(c, literal)| !literal && is_wildcard(c)).unwrap_or_default();
    let split = value.0[..wild].iter().rposition(|&(c, _)| c == '/').map_or(0, |slash| slash + 1);
    let head: String = value.0[..split].iter().map(|(c, _)| c).collect();
    Place::Glob { base: folder.join(head), pattern: value.skip(split).pattern() }
}

/// `a{b,c}` is `ab` and `ac`. Sequences (`{1..3}`) are not expanded.
fn braces(signs: &[Sign]) -> Option<Vec<Vec<Sign>>> {
    let is = |sign: &Sign, c: char| sign.c == c && !sign.quoted;
    let Some(open) = signs.iter().position(|sign| is(sign, '{')) else { return Some(vec![signs.to_vec()]) };
    let mut depth = 0_usize;
    let mut commas = Vec::new();
    let mut close = None;
    for (at, sign) in signs.iter().enumerate().skip(open) {
        if is(sign, '{') {
            depth += 1;
        } else if is(sign, '}') {
            depth -= 1;
            if depth == 0 {
                close = Some(at);
                break;
            }
        } else if is(sign, ',') && depth == 1 {
            commas.push(at);
        }
    }
    let has_more = |from: usize| signs[from..].iter().any(|sign| is(sign, '{'));
    let Some(close) = close else {
        // Without its other a brace is itself, but those within might be expanded.
        return if has_more(open + 1) || signs.iter().any(|sign| is(sign, ',')) {
            None
        } else {
            Some(vec![signs.to_vec()])
        };
    };
    if commas.is_empty() {
        let inner = &signs[open + 1..close];
        if inner.iter().any(|sign| is(sign, '{')) || inner.windows(2).any(|pair| is(&pair[0], '.') && is(&pair[1], '.'))
        {
            return None;
        }
        let tails = braces(&signs[close + 1..])?;
        return Some(tails.into_iter().map(|tail| [&signs[..=close], &tail].concat()).collect());
    }
    let tails = braces(&signs[close + 1..])?;
    let bounds: Vec<usize> = std::iter::once(open).chain(commas).chain(std::iter::once(close)).collect();
    let mut all = Vec::new();
    for pair in bounds.windows(2) {
        for middle in braces(&signs[pair[0] + 1..pair[1]])? {
            for tail in &tails {
                all.push([&signs[..open], &middle, tail].concat());
                if all.len() > MOST_VALUES {
                    return None;
                }
            }
        }
    }
    Some(all)
}
