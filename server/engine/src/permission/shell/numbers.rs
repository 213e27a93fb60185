//! What is computed as a number: bash expands the subscripts in the values of the names there, so that a value may run a command.

use super::expansion::Scope;
use super::syntax::{Arithmetic, Change, Piece, Span, Word};
use super::variables;
use super::walk::Walk;

impl Walk {
    /// A word whose value is computed as a number.
    pub(super) fn number(&mut self, word: &Word, scope: &Scope) {
        match word.pieces.as_slice() {
            [Piece::Parameter(parameter)]
                if matches!(parameter.change, Change::None) && parameter.subscript.is_none() =>
            {
                self.numbers_from(&parameter.name, &word.span);
            }
            [Piece::Parameter(parameter)] if matches!(parameter.change, Change::Length) => {}
            _ => match scope.literal(word) {
                Some(text) if text.trim_start_matches(['-', '+']).bytes().all(|byte| byte.is_ascii_digit()) => {}
                Some(text) if variables::is_name(&text) => self.numbers_from(&text, &word.span),
                _ => self.unknown(&word.span, "what is computed as a number is not known, and might run a command"),
            },
        }
    }

    fn numbers_from(&mut self, name: &str, span: &Span) {
        const NUMBERS: [&str; 6] = ["#", "?", "$", "!", "LINENO", "RANDOM"];
        if NUMBERS.contains(&name) {
            return;
        }
        if !variables::is_name(name) {
            self.unknown(span, "a parameter is computed as a number, which runs what its value holds");
            return;
        }
        self.computed(name, span);
    }

    pub(super) fn arithmetic(&mut self, arithmetic: &Arithmetic, scope: &Scope) {
        for name in &arithmetic.names {
            self.numbers_from(name, &arithmetic.span);
            if variables::steers(name) {
                self.unknown(&arithmetic.span, format!("`{name}` changes what commands do"));
            }
        }
        for piece in &arithmetic.pieces {
            match piece {
                Piece::Parameter(parameter) => match parameter.change {
                    Change::None => self.numbers_from(&parameter.name, &arithmetic.span),
                    Change::Length => {}
                    _ => {
                        self.unknown(&arithmetic.span, "an expansion is computed as a number, and might run a command")
                    }
                },
                Piece::Substitution(_) => {
                    self.unknown(&arithmetic.span, "an output is computed as a number, which runs what it holds");
                }
                Piece::Arithmetic(_) => {}
                Piece::Text { .. } => {}
                Piece::Process(_) | Piece::Opaque => self.unknown(&arithmetic.span, "a string is computed as a number"),
            }
        }
        self.deeper(|walk| walk.pieces(&arithmetic.pieces, scope));
    }
}
