//! Redirects: the files that they name, and what a command reads as its standard input.

use super::FileAccess;
use super::expansion::Scope;
use super::syntax::{Piece, Redirect, RedirectKind, Simple, Span, Word};
use super::uses::REDIRECT;
use super::walk::Walk;

/// What it reads as standard input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Input {
    Nothing,
    /// A heredoc or a here-string that the text tells.
    Text(String),
    /// A pipe, a file, or a text that is computed.
    Unseen,
}

impl Walk {
    pub(super) fn input(&self, simple: &Simple, scope: &Scope) -> Input {
        let text = |word: &Word| scope.literal(word).map_or(Input::Unseen, Input::Text);
        match simple.redirects.iter().rfind(|redirect| redirect.feeds).map(|redirect| &redirect.kind) {
            Some(RedirectKind::HereString(word)) => text(word),
            Some(RedirectKind::Heredoc(index)) => match self.heredoc(*index) {
                Some(body) if body.pieces.is_empty() => Input::Text(String::new()),
                Some(body) => text(&body),
                None => Input::Unseen,
            },
            Some(RedirectKind::Read(word)) if scope.literal(word).as_deref() == Some("/dev/null") => Input::Nothing,
            Some(RedirectKind::Read(_) | RedirectKind::Write(_) | RedirectKind::Duplicate) => Input::Unseen,
            None if self.is_fed() => Input::Unseen,
            None => Input::Nothing,
        }
    }

    /// `feeds`: what is looked at has another standard input than what stands around it.
    pub(super) fn fed_by<T>(&mut self, feeds: bool, walk: impl FnOnce(&mut Self) -> T) -> T {
        let fed = self.fed;
        self.fed |= feeds;
        let result = walk(self);
        self.fed = fed;
        result
    }

    pub(super) fn is_fed(&self) -> bool {
        self.fed || self.fed_for_good
    }

    /// `exec < file`.
    pub(super) fn feed_for_good(&mut self) {
        self.fed_for_good = true;
    }

    pub(super) fn redirect(&mut self, redirect: &Redirect, scope: &Scope) {
        match &redirect.kind {
            RedirectKind::Duplicate => {}
            RedirectKind::HereString(word) => self.word(word, scope),
            RedirectKind::Heredoc(index) => {
                if let Some(body) = self.heredoc(*index) {
                    self.word(&body, scope);
                }
            }
            RedirectKind::Read(word) => self.redirect_file(word, FileAccess::Read, &redirect.span, scope),
            RedirectKind::Write(word) => self.redirect_file(word, FileAccess::Write, &redirect.span, scope),
        }
    }

    pub(super) fn heredoc(&self, index: usize) -> Option<Word> {
        self.heredocs.get(index).map(|heredoc| heredoc.body.clone())
    }

    fn redirect_file(&mut self, word: &Word, access: FileAccess, span: &Span, scope: &Scope) {
        self.word(word, scope);
        if matches!(word.pieces.as_slice(), [Piece::Process(_)]) {
            return;
        }
        const NO_FILES: [&str; 4] = ["/dev/null", "/dev/stdin", "/dev/stdout", "/dev/stderr"];
        match scope.literal(word) {
            Some(text) if NO_FILES.contains(&text.as_str()) => return,
            Some(text) if text.starts_with("/dev/tcp") || text.starts_with("/dev/udp") => {
                return self.unknown(span, "bash opens a network connection");
            }
            _ => {}
        }
        let mut uses = scope.uses(word, REDIRECT, access);
        for used in &mut uses {
            used.span = span.clone();
        }
        self.found.files.extend(uses);
    }
}
