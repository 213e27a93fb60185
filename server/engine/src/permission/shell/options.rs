//! Words of a command as its program reads them: options with and without values, and operands.

use std::ops::Range;

use super::Shape;
use super::expansion::{Expanded, Scope};
use super::syntax::{Piece, Word};

/// One word of a command, expanded as far as the text tells.
#[derive(Debug, Clone)]
pub(super) struct Arg {
    pub(super) span: Range<usize>,
    pub(super) raw: String,
    /// Where there is exactly one value that is no pattern of file names.
    pub(super) text: Option<String>,
    pub(super) values: Option<Vec<Expanded>>,
    /// It is one of the values; else all of them stand there, one behind the other.
    pub(super) is_choice: bool,
    /// `<(…)`: what stands there is judged by itself.
    pub(super) is_process: bool,
    /// All that it may be.
    pub(super) shape: Shape,
}

impl Arg {
    pub(super) fn new(word: &Word, scope: &Scope) -> Self {
        let (values, is_choice) = match scope.values_of(word) {
            Some(values) => (Some(values.all), values.is_choice),
            None => (None, false),
        };
        let text = match values.as_deref() {
            Some([one]) if !one.is_glob() => Some(one.text()),
            _ => None,
        };
        let is_process = matches!(word.pieces.as_slice(), [Piece::Process(_)]);
        let shape = match &values {
            Some(values) if !is_choice => shape_of_values(values),
            _ => shape_of_pieces(word),
        };
        Self { span: word.span.clone(), raw: word.raw.clone(), text, values, is_choice, is_process, shape }
    }

    /// A word whose value is known otherwise than by its bytes.
    pub(super) fn literal(text: &str, span: Range<usize>) -> Self {
        let values = Some(vec![Expanded::literal(text)]);
        let shape = Shape::literal(text);
        Self {
            span,
            raw: text.to_owned(),
            text: Some(text.to_owned()),
            values,
            is_choice: false,
            is_process: false,
            shape,
        }
    }

    /// The same word, of whose value nothing is known.
    pub(super) fn opaque(&self) -> Self {
        Self { text: None, values: None, is_choice: false, shape: Shape::anything(), ..self.clone() }
    }

    /// Without its first `count` bytes, which are ASCII and stand in `raw` as they are.
    pub(super) fn tail(&self, count: usize) -> Self {
        Self {
            span: self.span.clone(),
            raw: self.raw.get(count..).unwrap_or_default().to_owned(),
            text: self.text.as_ref().and_then(|text| text.get(count..)).map(str::to_owned),
            values: self.values.as_ref().map(|values| values.iter().map(|value| value.skip(count)).collect()),
            is_choice: self.is_choice,
            is_process: false,
            shape: Shape::anything(),
        }
    }

    /// Whether it may be taken for an option: it begins with `-`, or with what is not known.
    pub(super) fn may_be_option(&self) -> bool {
        match &self.values {
            Some(values) => values.iter().any(|value| {
                let text = value.text();
                text.starts_with('-') && text.len() > 1 || value.is_glob() && text.starts_with(['*', '?', '['])
            }),
            None => {
                !self.is_process
                    && !self.raw.starts_with(|c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '.' | '_' | '~'))
            }
        }
    }
}

impl Arg {
    /// `--include=*.rs`: it is what it seems to be unless a file has such a name.
    fn option_with_a_pattern(&self) -> Option<String> {
        let Some([value]) = self.values.as_deref().filter(|_| self.text.is_none()) else { return None };
        let text = value.text();
        let (name, _) = text.split_once('=')?;
        let is_plain = |c: char| c.is_ascii_lowercase() || c == '-';
        (name.strip_prefix("--")?.chars().all(is_plain)).then_some(text)
    }

    /// A pattern of file names that begins with a wildcard: it is taken for an option only where a file has such a name.
    pub(super) fn is_open_pattern(&self) -> bool {
        let is_open = |value: &Expanded| value.is_glob() && value.text().starts_with(['*', '?', '[']);
        let values = self.values.as_deref().unwrap_or_default();
        values.iter().any(is_open) && values.iter().all(|value| is_open(value) || !value.text().starts_with('-'))
    }
}

fn shape_of_values(values: &[Expanded]) -> Shape {
    let mut shape = Shape::default();
    for (at, value) in values.iter().enumerate() {
        if at > 0 {
            shape.push(' ');
        }
        match value.is_glob() {
            false => value.text().chars().for_each(|c| shape.push(c)),
            true => value.signs().for_each(|(c, is_literal)| match c {
                '*' | '?' | '[' | ']' if !is_literal => shape.push_any(),
                c => shape.push(c),
            }),
        }
    }
    shape
}

/// Of a word that is not known: what stands there as it is, and anything between.
fn shape_of_pieces(word: &Word) -> Shape {
    let mut shape = Shape::default();
    let mut is_empty = true;
    for piece in &word.pieces {
        match piece {
            Piece::Text { text, quoted } => {
                is_empty &= text.is_empty() && !quoted;
                let may_change = |c: char| !quoted && "*?[]{},~".contains(c);
                text.chars().for_each(|c| if may_change(c) { shape.push_any() } else { shape.push(c) });
            }
            Piece::Parameter(_) | Piece::Substitution(_) | Piece::Process(_) | Piece::Arithmetic(_) | Piece::Opaque => {
                shape.push_any();
            }
        }
    }
    // Without quotes it may be no word at all, or several.
    if is_empty && !word.raw.contains('"') { Shape::words() } else { shape }
}

/// The options of a program: `short` as for getopt (`ab:c::`), `long` with `=` behind those that take a value and `?` behind those that may.
#[derive(Debug, Clone, Copy)]
pub(super) struct Spec {
    pub(super) short: &'static str,
    pub(super) long: &'static [&'static str],
}

/// One option as it was given.
#[derive(Debug, Clone)]
pub(super) struct Given {
    /// `n`, or `number`.
    pub(super) name: String,
    pub(super) value: Option<Arg>,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Parsed {
    pub(super) given: Vec<Given>,
    pub(super) operands: Vec<Arg>,
    /// Index of the first operand.
    pub(super) first: Option<usize>,
    reading: Reading,
}

/// How much of a command's words is known to be what it was taken for. In order.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Reading {
    /// An option is not known, or an operand may be one.
    Part,
    /// All, unless a pattern of file names means a file that has the name of an option, which is asked otherwise.
    UnlessNamed,
    #[default]
    Whole,
}

impl Parsed {
    /// Whether all options are known and no operand might be one.
    pub(super) fn is_understood(&self) -> bool {
        self.reading == Reading::Whole
    }

    /// The same, as long as no file has the name of an option.
    pub(super) fn is_told(&self) -> bool {
        self.reading >= Reading::UnlessNamed
    }

    fn lower(&mut self, reading: Reading) {
        self.reading = self.reading.min(reading);
    }

    pub(super) fn has(&self, names: &[&str]) -> bool {
        self.given.iter().any(|given| names.contains(&given.name.as_str()))
    }

    /// Whether each operand is one word to its program: no pattern, and no several values.
    pub(super) fn operands_are_single(&self) -> bool {
        self.operands.iter().all(|operand| operand.text.is_some())
    }

    pub(super) fn value(&self, names: &[&str]) -> Option<&Arg> {
        self.given.iter().filter(|given| names.contains(&given.name.as_str())).find_map(|given| given.value.as_ref())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    /// Options may stand behind operands.
    Mixed,
    /// The first operand ends the options: what follows is another command.
    OptionsFirst,
}

impl Spec {
    /// `args` without the program itself.
    pub(super) fn parse(&self, args: &[Arg], order: Order) -> Parsed {
        let mut parsed = Parsed::default();
        let mut at = 0;
        let mut only_operands = false;
        while let Some(arg) = args.get(at) {
            at += 1;
            let named = arg.option_with_a_pattern();
            let text = arg.text.as_deref().or(named.as_deref());
            if !only_operands && text == Some("--") {
                only_operands = true;
                continue;
            }
            let is_option = !only_operands && text.is_some_and(|text| text.len() > 1 && text.starts_with('-'));
            if !is_option {
                if !only_operands && arg.may_be_option() {
                    parsed.lower(if arg.is_open_pattern() { Reading::UnlessNamed } else { Reading::Part });
                }
                parsed.first.get_or_insert(at - 1);
                parsed.operands.push(arg.clone());
                if order == Order::OptionsFirst {
                    parsed.operands.extend_from_slice(&args[at..]);
                    return parsed;
                }
                continue;
            }
            if named.is_some() {
                parsed.lower(Reading::UnlessNamed);
            }
            let text = text.unwrap_or_default();
            let consumed = match text.strip_prefix("--") {
                Some(long) => self.long(long, arg, args.get(at), &mut parsed),
                None => self.short(&text[1..], arg, args.get(at), &mut parsed),
            };
            at += usize::from(consumed);
        }
        parsed
    }

    /// Gives whether the next word is its value.
    fn long(&self, text: &str, arg: &Arg, next: Option<&Arg>, parsed: &mut Parsed) -> bool {
        let (name, attached) = match text.split_once('=') {
            Some((name, _)) => (name, Some(arg.tail(name.len() + 3))),
            None => (text, None),
        };
        let known = self.long.iter().find(|long| long.trim_end_matches(['=', '?']) == name);
        let takes = known.is_some_and(|long| long.ends_with('='));
        if known.is_none() || takes && attached.is_none() && next.is_none() {
            parsed.lower(Reading::Part);
        }
        let follows = takes && attached.is_none();
        let value = if follows { next.cloned() } else { attached };
        parsed.given.push(Given { name: name.to_owned(), value });
        follows
    }

    fn short(&self, letters: &str, arg: &Arg, next: Option<&Arg>, parsed: &mut Parsed) -> bool {
        // `head -5`, `nice -5`.
        if self.short.contains('#') && letters.bytes().all(|byte| byte.is_ascii_digit()) {
            parsed.given.push(Given { name: "#".to_owned(), value: None });
            return false;
        }
        for (at, letter) in letters.char_indices() {
            let known = self.short.find(letter).filter(|_| !matches!(letter, ':' | '#'));
            let behind = known.map_or("", |known| &self.short[known + letter.len_utf8()..]);
            let rest = at + letter.len_utf8();
            if known.is_none() {
                parsed.lower(Reading::Part);
            }
            if !behind.starts_with(':') {
                parsed.given.push(Given { name: letter.to_string(), value: None });
                continue;
            }
            let attached = (rest < letters.len()).then(|| arg.tail(rest + 1));
            let follows = attached.is_none() && !behind.starts_with("::");
            if follows && next.is_none() {
                parsed.lower(Reading::Part);
            }
            let value = if follows { next.cloned() } else { attached };
            parsed.given.push(Given { name: letter.to_string(), value });
            return follows;
        }
        false
    }
}

impl Arg {
    /// From byte `start` of the value on.
    pub(super) fn text_tail(&self, start: usize) -> Self {
        let count = self.text.as_ref().and_then(|text| text.get(..start)).map_or(0, |head| head.chars().count());
        Self {
            text: self.text.as_ref().and_then(|text| text.get(start..)).map(str::to_owned),
            values: self.values.as_ref().map(|values| values.iter().map(|value| value.skip(count)).collect()),
            ..self.clone()
        }
    }
}
