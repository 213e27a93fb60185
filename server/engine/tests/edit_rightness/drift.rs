//! What comes between an edit as it is meant and the edit as a model writes it. Some kinds need a file that has something to overlook: they prepare it.

mod files;
mod inside;
mod outside;

use crate::dice::Dice;
use crate::edits::{Line, Meant};
use crate::sources::Source;

/// By R3.1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    /// Must land.
    Inside,
    /// Must be refused.
    Outside,
}

pub(crate) struct Drift {
    pub(crate) name: &'static str,
    pub(crate) class: Class,
    /// Whether it can be in a patch.
    pub(crate) in_patches: bool,
    /// Gives the line near which the edit must be, where it matters; the outer `None` where the file does not serve.
    pub(crate) prepare: fn(&mut Source, &mut Dice) -> Option<Option<usize>>,
    pub(crate) write: Write,
}

impl Drift {
    /// Nobody escapes twice, or what is escaped.
    pub(crate) fn goes_with(&self, other: &Drift) -> bool {
        let is_of_text = |drift: &Drift| matches!(drift.write, Text(_)) || drift.name.contains("escaped");
        let is_plain = self.name == "none" || other.name == "none";
        let is_both = |of: &str| self.name.contains(of) || other.name.contains(of);
        let is_of_escapes = is_both("escaped") && is_both("typed typographic");
        let is_of_texts = is_of_text(self) && is_of_text(other);
        !(self.name == other.name || is_plain || is_of_escapes || is_of_texts)
    }
}

type WriteLines = fn(&[Line], &Meant, &Source, &mut Dice) -> Option<Vec<Line>>;

pub(crate) enum Write {
    /// `None` where there is nothing to get wrong.
    Lines(WriteLines),
    /// Of the whole old and the whole new text.
    Text(fn(&str) -> String),
}

use Class::{Inside, Outside};
use Write::{Lines, Text};

macro_rules! drift {
    ($name:literal, $class:ident, $prepare:expr, $write:expr) => {
        Drift { name: $name, class: $class, in_patches: true, prepare: $prepare, write: $write }
    };
}

pub(crate) const DRIFTS: &[Drift] = &[
    drift!("none", Inside, files::as_it_is, Lines(|lines, _, _, _| Some(lines.to_vec()))),
    drift!(
        "trailing blanks of the file left out",
        Inside,
        files::blanks_at_ends,
        Lines(inside::without_blanks_at_ends)
    ),
    drift!("trailing blanks added", Inside, files::as_it_is, Lines(inside::with_blanks_at_ends)),
    drift!(
        "blanks in blank lines left out",
        Inside,
        files::blanks_in_blank_lines,
        Lines(inside::without_blanks_at_ends)
    ),
    drift!("indentation left out", Inside, files::as_it_is, Lines(inside::dedented)),
    drift!("indentation deeper", Inside, files::as_it_is, Lines(inside::deeper)),
    drift!("indentation of the first line left out", Inside, files::as_it_is, Lines(inside::first_indent_lost)),
    drift!("tabs written as spaces", Inside, files::tabs, Lines(inside::tabs_as_spaces)),
    drift!("spaces written as tabs", Inside, files::spaces, Lines(inside::spaces_as_tabs)),
    drift!("another unit of indentation", Inside, files::spaces, Lines(inside::other_unit)),
    drift!("spaces within lines", Inside, files::aligned, Lines(inside::collapsed)),
    drift!("CRLF file, LF written", Inside, files::crlf, Lines(|lines, _, _, _| Some(lines.to_vec()))),
    drift!("LF file, CRLF written", Inside, files::lf, Text(|text| text.replace('\n', "\r\n"))),
    Drift { in_patches: false, ..drift!("escaped once too often", Inside, files::as_it_is, Text(inside::escaped)) },
    Drift { in_patches: false, ..drift!("quotes escaped", Inside, files::as_it_is, Lines(inside::quotes_escaped)) },
    drift!("typographic characters of the file typed plain", Inside, files::typographic, Lines(inside::typed_plain)),
    drift!("plain characters typed typographic", Inside, files::as_it_is, Lines(inside::typed_typographic)),
    drift!("no-break spaces of the file typed as spaces", Inside, files::no_break_spaces, Lines(inside::typed_plain)),
    Drift {
        in_patches: false,
        ..drift!("last line break that is not there", Inside, files::no_last_break, Text(|text| format!("{text}\n")))
    },
    Drift {
        in_patches: false,
        ..drift!("blank lines around", Inside, files::as_it_is, Lines(inside::blank_lines_around))
    },
    drift!("stale line", Outside, files::as_it_is, Lines(outside::stale)),
    drift!("neighbour misremembered", Outside, files::as_it_is, Lines(outside::misremembered)),
    drift!("line left out", Outside, files::as_it_is, Lines(outside::line_left_out)),
    drift!("line invented", Outside, files::as_it_is, Lines(outside::line_invented)),
    drift!("lines in another order", Outside, files::as_it_is, Lines(outside::swapped)),
    drift!("blank line left out", Outside, files::as_it_is, Lines(outside::blank_line_left_out)),
    drift!("blank line added", Outside, files::as_it_is, Lines(outside::blank_line_added)),
    drift!("line numbers copied along", Outside, files::as_it_is, Lines(outside::numbered)),
    drift!("entities", Outside, files::as_it_is, Lines(outside::entities)),
    drift!("ellipsis for lines", Outside, files::as_it_is, Lines(outside::ellipsis)),
    drift!("other quotes", Outside, files::as_it_is, Lines(outside::other_quotes)),
    drift!("other case", Outside, files::as_it_is, Lines(outside::other_case)),
    drift!("mark at a line's end left out", Outside, files::as_it_is, Lines(outside::mark_left_out)),
    drift!("look-alike that is not in the list", Outside, files::as_it_is, Lines(outside::unlisted)),
    drift!("invisible character", Outside, files::as_it_is, Lines(outside::invisible)),
];
