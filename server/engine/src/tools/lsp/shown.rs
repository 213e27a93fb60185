//! What a language server found, as lines for the model: paths, lines from 1, the text of each line where the model may read it unasked (R10.1).

use std::collections::HashMap;

use copydesk_workspace::path::AbsPath;
use copydesk_workspace::position::{PositionEncoding, offset_of};
use ropey::Rope;

use super::super::path;
use crate::ports::{LanguageAnswer, LanguageFound, LanguagePlace, LanguageSymbol};
use crate::tool::ToolContext;

/// Results that one call shows.
const MOST: usize = 100;
/// Of a line, characters.
const LONGEST: usize = 200;

/// With how many results there were.
pub(super) async fn text(answer: LanguageAnswer, name: &str, ctx: &ToolContext) -> (String, usize) {
    let mut shower = Shower { ctx, encoding: answer.encoding, texts: HashMap::new(), hidden: 0 };
    let (mut lines, count) = match &answer.found {
        LanguageFound::Text(text) => (vec![text.clone()], usize::from(!text.is_empty())),
        LanguageFound::Places(places) => {
            let mut lines = Vec::new();
            for place in places.iter().take(MOST) {
                lines.extend(shower.place(place).await);
            }
            (lines, places.len())
        }
        LanguageFound::Symbols(symbols) => {
            let mut lines = Vec::new();
            for symbol in symbols.iter().take(MOST) {
                lines.extend(shower.symbol(symbol).await);
            }
            (lines, symbols.len())
        }
        LanguageFound::Calls(calls) => {
            let mut lines = Vec::new();
            for call in calls.iter().take(MOST) {
                let Some(symbol) = shower.symbol(&call.symbol).await else { continue };
                lines.push(symbol);
                for place in call.calls.iter().take(MOST) {
                    lines.extend(shower.place(place).await.map(|line| format!("  called at {line}")));
                }
            }
            (lines, calls.len())
        }
        LanguageFound::Actions(actions) => {
            let line = |action: &crate::ports::LanguageAction| {
                let kind = action.kind.as_ref().map(|kind| format!(" ({kind})")).unwrap_or_default();
                let preferred = if action.is_preferred { ", preferred" } else { "" };
                let obstacle = action.obstacle.as_ref().map(|why| format!(": not to be had, {why}"));
                format!("- {}{kind}{preferred}{}", action.title, obstacle.unwrap_or_default())
            };
            (actions.iter().take(MOST).map(line).collect(), actions.len())
        }
        LanguageFound::Changes(changes) => (Vec::new(), changes.len()),
    };
    if count == 0 {
        return (format!("No {name}: {} found nothing.", answer.by), 0);
    }
    if count > MOST {
        lines.push(format!("and {} more", count - MOST));
    }
    if shower.hidden > 0 {
        lines.push(format!("{} more are in files that rules keep from you.", shower.hidden));
    }
    (format!("{name}, by {}:\n{}", answer.by, lines.join("\n")), count)
}

struct Shower<'a> {
    ctx: &'a ToolContext,
    encoding: PositionEncoding,
    /// `None` of those that may not be read.
    texts: HashMap<AbsPath, Option<Rope>>,
    hidden: usize,
}

impl Shower<'_> {
    /// `path:line:character: the line`
    async fn place(&mut self, place: &LanguagePlace) -> Option<String> {
        let (at, line) = self.located(place).await?;
        Some(if line.is_empty() { at } else { format!("{at}: {line}") })
    }

    /// `kind name (container) path:line:character`
    async fn symbol(&mut self, symbol: &LanguageSymbol) -> Option<String> {
        let (at, _) = self.located(&symbol.place).await?;
        let indent = "  ".repeat(symbol.depth.min(10));
        let container = symbol.container.as_ref().map(|name| format!(" (in {name})")).unwrap_or_default();
        Some(format!("{indent}{} {}{container} {at}", symbol.kind, symbol.name))
    }

    async fn located(&mut self, place: &LanguagePlace) -> Option<(String, String)> {
        let files = &*self.ctx.view.files;
        if !self.ctx.search.may_name(&place.path, files).await {
            self.hidden += 1;
            return None;
        }
        if !self.texts.contains_key(&place.path) {
            let text = self.ctx.search.text_of(&place.path, files).await;
            self.texts.insert(place.path.clone(), text);
        }
        let shown = path::named(&place.path, &self.ctx.facts);
        let start = place.range.start;
        let Some(Some(text)) = self.texts.get(&place.path) else {
            return Some((format!("{shown}:{}", start.line + 1), String::new()));
        };
        let at = text.byte_to_char(offset_of(text, start, self.encoding));
        let index = text.char_to_line(at);
        let line = text.line(index).to_string();
        let line = line.trim();
        let cut = line.char_indices().nth(LONGEST).map(|(end, _)| format!("{}…", &line[..end]));
        let character = at - text.line_to_char(index) + 1;
        Some((format!("{shown}:{}:{character}", index + 1), cut.unwrap_or_else(|| line.to_owned())))
    }
}
