//! The text of a page by its tags alone, in one pass: linear whatever the page is, since no tree is made.

use std::cell::RefCell;

use html5ever::LocalName;
use html5ever::tendril::StrTendril;
use html5ever::tokenizer::states::RawKind;
use html5ever::tokenizer::{
    BufferQueue, EndTag, StartTag, Tag, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts,
};

/// Begin and end on lines of their own.
const BLOCKS: [&str; 36] = [
    "address",
    "article",
    "aside",
    "blockquote",
    "br",
    "caption",
    "dd",
    "details",
    "dialog",
    "div",
    "dl",
    "dt",
    "fieldset",
    "figcaption",
    "figure",
    "footer",
    "form",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "header",
    "hr",
    "li",
    "main",
    "nav",
    "ol",
    "p",
    "pre",
    "section",
    "table",
    "title",
    "tr",
    "ul",
];

pub(super) fn text_of(page: &str) -> String {
    let tokenizer = Tokenizer::new(Writer::default(), TokenizerOpts::default());
    let input = BufferQueue::default();
    input.push_back(StrTendril::from(page));
    while !matches!(tokenizer.feed(&input), html5ever::TokenizerResult::Done) {}
    tokenizer.end();
    let written = tokenizer.sink.0.into_inner();
    written.text.trim().to_owned()
}

#[derive(Default)]
struct Writer(RefCell<Written>);

#[derive(Default)]
struct Written {
    text: String,
    /// Blanks or a line's end are due before the next word.
    blank: bool,
    /// How many `pre` are open.
    verbatim: usize,
    /// In an element whose text nobody reads, up to its end.
    skipping: Option<LocalName>,
}

impl TokenSink for Writer {
    type Handle = ();

    fn process_token(&self, token: Token, _line: u64) -> TokenSinkResult<()> {
        let mut written = self.0.borrow_mut();
        match token {
            Token::TagToken(tag) => return written.tag(&tag),
            Token::CharacterTokens(text) => written.words(&text),
            Token::NullCharacterToken
            | Token::DoctypeToken(_)
            | Token::CommentToken(_)
            | Token::EOFToken
            | Token::ParseError(_) => {}
        }
        TokenSinkResult::Continue
    }
}

impl Written {
    fn tag(&mut self, tag: &Tag) -> TokenSinkResult<()> {
        let name: &str = &tag.name;
        if self.skipping.as_ref() == Some(&tag.name) && tag.kind == EndTag {
            self.skipping = None;
        }
        if BLOCKS.contains(&name) {
            self.line();
        } else if matches!(name, "td" | "th") {
            self.blank = true;
        }
        match (name, tag.kind) {
            ("pre", StartTag) => self.verbatim += 1,
            ("pre", EndTag) => self.verbatim = self.verbatim.saturating_sub(1),
            _ => {}
        }
        if tag.kind == EndTag {
            return TokenSinkResult::Continue;
        }
        match name {
            "script" => self.raw(tag, RawKind::ScriptData),
            "style" | "iframe" | "noembed" | "noframes" | "noscript" | "xmp" => self.raw(tag, RawKind::Rawtext),
            "title" | "textarea" => TokenSinkResult::RawData(RawKind::Rcdata),
            "plaintext" => TokenSinkResult::Plaintext,
            _ => TokenSinkResult::Continue,
        }
    }

    fn raw(&mut self, tag: &Tag, kind: RawKind) -> TokenSinkResult<()> {
        self.skipping = Some(tag.name.clone());
        TokenSinkResult::RawData(kind)
    }

    fn words(&mut self, text: &str) {
        if self.skipping.is_some() {
            return;
        }
        if self.verbatim > 0 {
            self.text.push_str(text);
            return;
        }
        for piece in text.split_inclusive(char::is_whitespace) {
            let word = piece.trim_end_matches(char::is_whitespace);
            if !word.is_empty() {
                if self.blank && !self.text.is_empty() && !self.text.ends_with('\n') {
                    self.text.push(' ');
                }
                self.blank = false;
                self.text.push_str(word);
            }
            self.blank |= word.len() < piece.len();
        }
    }

    fn line(&mut self) {
        if self.skipping.is_none() && !self.text.is_empty() && !self.text.ends_with('\n') {
            self.text.push('\n');
        }
        self.blank = false;
    }
}
