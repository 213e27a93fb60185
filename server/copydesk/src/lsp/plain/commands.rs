//! The commands of a plain client, from the arguments that editors send to what they mean. Nothing is done here.

use copydesk_engine::message::PromptPart;
use copydesk_engine::review::{Decision, HunkId};
use copydesk_engine::undo::UndoWhat;
use copydesk_engine::view::View;
use copydesk_protocol::additions;
use copydesk_workspace::uri::path_from_uri;
use serde::Deserialize;
use serde_json::Value;

use crate::change_views;

pub(super) const PROMPT: &str = "copydesk.prompt";
pub(super) const CANCEL: &str = "copydesk.cancel";
pub(super) const ANSWER: &str = "copydesk.answer";
pub(super) const UNDO: &str = "copydesk.undo";
pub(super) const REDO: &str = "copydesk.redo";
pub(super) const ACCEPT: &str = "copydesk.accept";
pub(super) const REJECT: &str = "copydesk.reject";

/// For `executeCommandProvider`.
pub(in crate::lsp) const COMMANDS: [&str; 7] = [PROMPT, CANCEL, ANSWER, UNDO, REDO, ACCEPT, REJECT];

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Order {
    Prompt(PromptOrder),
    Cancel,
    Answer { ask: String, option: String },
    Undo(UndoWhat),
    Decide(Decision, Chosen),
}

/// Which of the agent's changes.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Chosen {
    All,
    Hunks(Vec<HunkId>),
    /// Those that touch the lines.
    At {
        uri: String,
        range: Range,
    },
}

/// All absent: what was typed in the chat document.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(super) struct PromptOrder {
    pub(super) text: Option<String>,
    pub(super) uri: Option<String>,
    /// LSP's `Range`; only its lines count.
    pub(super) range: Option<Range>,
    /// What is wrong there, in lines of Markdown.
    pub(super) problems: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(super) struct Range {
    start: Place,
    end: Place,
}

impl Range {
    /// Zero-based, the last one included.
    pub(super) fn lines(self) -> (usize, usize) {
        (self.start.line, self.end.line)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
struct Place {
    line: usize,
    character: usize,
}

/// A place in a file that a prompt speaks of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Context {
    uri: String,
    /// One-based, both included; `None`: the whole file.
    lines: Option<(usize, usize)>,
    /// Whether the text itself goes with the prompt.
    selected: bool,
    problems: String,
}

/// `copydesk.prompt` takes an object, or its fields one by one: `text`, `uri`, `range`. The error is for the user.
pub(super) fn parse(command: &str, arguments: &[Value]) -> Result<Order, String> {
    match command {
        PROMPT => prompt(arguments).map(Order::Prompt),
        CANCEL => Ok(Order::Cancel),
        ANSWER => match arguments {
            [Value::String(ask), Value::String(option), ..] => {
                Ok(Order::Answer { ask: ask.clone(), option: option.clone() })
            }
            _ => Err(format!("{ANSWER} takes the id of the ask and the option, both as texts")),
        },
        UNDO => undo(arguments).map(Order::Undo),
        REDO => Ok(Order::Undo(UndoWhat::Redo)),
        ACCEPT => chosen(command, arguments).map(|chosen| Order::Decide(Decision::Accept, chosen)),
        REJECT => chosen(command, arguments).map(|chosen| Order::Decide(Decision::Reject, chosen)),
        other => Err(format!("there is no command {other}")),
    }
}

fn undo(arguments: &[Value]) -> Result<UndoWhat, String> {
    let what = match arguments {
        [] | [Value::Null, ..] => additions::UndoWhat::Last,
        [what, ..] => serde_json::from_value(what.clone())
            .map_err(|_| format!("{UNDO} takes nothing, or an object with the id of a `turn` or of a `call`"))?,
    };
    Ok(change_views::undo_what(what))
}

/// Numbers are ids of hunks; a place is an object with `uri` and `range`, or the two one by one.
fn chosen(command: &str, arguments: &[Value]) -> Result<Chosen, String> {
    let wrong =
        || format!("{command} takes nothing, for all changes; or ids of hunks; or the URI of a file and a range");
    let place = |uri: &Value, range: &Value| {
        let uri = uri.as_str().ok_or_else(wrong)?.to_owned();
        let range = serde_json::from_value(range.clone()).map_err(|_| wrong())?;
        Ok(Chosen::At { uri, range })
    };
    match arguments {
        [] | [Value::Null, ..] => Ok(Chosen::All),
        [Value::Number(_), ..] => {
            let ids = arguments.iter().map(|id| id.as_u64().map(HunkId)).collect::<Option<Vec<_>>>();
            ids.map(Chosen::Hunks).ok_or_else(wrong)
        }
        [Value::Object(fields), ..] => {
            let field = |name: &str| fields.get(name).unwrap_or(&Value::Null);
            place(field("uri"), field("range"))
        }
        [uri, range, ..] => place(uri, range),
        [_] => Err(wrong()),
    }
}

fn prompt(arguments: &[Value]) -> Result<PromptOrder, String> {
    let wrong = || format!("{PROMPT} takes a text, the URI of a file and a range, or an object of them");
    let value = match arguments {
        [object @ Value::Object(_), ..] => object.clone(),
        fields => {
            let names = ["text", "uri", "range"];
            let named = names.iter().zip(fields).map(|(name, value)| ((*name).to_owned(), value.clone()));
            Value::Object(named.collect())
        }
    };
    let mut order: PromptOrder = serde_json::from_value(value).map_err(|_| wrong())?;
    order.text = order.text.filter(|text| !text.trim().is_empty());
    Ok(order)
}

impl PromptOrder {
    pub(super) fn context(&self) -> Option<Context> {
        let uri = self.uri.clone()?;
        let range = self.range.map(|Range { start, end }| {
            // A selection of whole lines ends at the beginning of the next one.
            let last = if end.character == 0 && end.line > start.line { end.line - 1 } else { end.line };
            // Editors send the largest number there is for the end of a file.
            (start.line.saturating_add(1), last.saturating_add(1))
        });
        let selected = self.range.is_some_and(|range| range.start != range.end);
        Some(Context { uri, lines: range, selected, problems: self.problems.clone().unwrap_or_default() })
    }
}

impl Context {
    /// As it stands in the chat document, where the user sees it before it is sent (R15.1).
    pub(super) fn markdown(&self) -> String {
        let problems = if self.problems.is_empty() { String::new() } else { format!("{}\n", self.problems.trim_end()) };
        format!("[{}]({})\n{problems}", self.name(), self.link())
    }

    /// For the model: the text of a selection as the editor has it, else a link.
    pub(super) async fn part(self, view: &View) -> PromptPart {
        let text = match (path_from_uri(&self.uri), self.lines) {
            (Ok(path), Some((first, last))) if self.selected => {
                let snapshot = view.snapshot(&path).await.ok();
                snapshot.map(|snapshot| snapshot.text.lines().take(last).skip(first - 1).map(String::from).collect())
            }
            _ => None,
        };
        match text {
            Some(text) => PromptPart::Resource { uri: self.link(), text },
            None => PromptPart::Link { name: self.name(), uri: self.link() },
        }
    }

    fn name(&self) -> String {
        let name = path_from_uri(&self.uri).map_or_else(|_| self.uri.clone(), |path| path.name());
        match self.lines {
            Some((first, last)) if first == last => format!("{name}:{first}"),
            Some((first, last)) => format!("{name}:{first}-{last}"),
            None => name,
        }
    }

    fn link(&self) -> String {
        match self.lines {
            Some((first, last)) if first == last => format!("{}#L{first}", self.uri),
            Some((first, last)) => format!("{}#L{first}-L{last}", self.uri),
            None => self.uri.clone(),
        }
    }
}

/// The places that a typed prompt links to, as `Context::markdown` writes them.
pub(super) fn links(text: &str) -> Vec<Context> {
    let targets = text.split("](file:").skip(1).filter_map(|rest| rest.split(')').next());
    targets
        .map(|target| {
            let (uri, fragment) = target.split_once('#').unwrap_or((target, ""));
            let lines = lines(fragment);
            let selected = lines.is_some();
            Context { uri: format!("file:{uri}"), lines, selected, problems: String::new() }
        })
        .collect()
}

/// Of `L3` and `L3-L7`.
fn lines(fragment: &str) -> Option<(usize, usize)> {
    let number = |text: &str| text.strip_prefix('L')?.parse().ok().filter(|line| *line > 0);
    match fragment.split_once('-') {
        Some((first, last)) => Some((number(first)?, number(last)?)).filter(|(first, last)| first <= last),
        None => number(fragment).map(|line| (line, line)),
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test may panic")]

    use serde_json::json;

    use super::*;

    #[test]
    fn a_prompt_comes_as_an_object_or_field_by_field() {
        let range = json!({"start": {"line": 2, "character": 0}, "end": {"line": 7, "character": 0}});
        let one = parse(PROMPT, &[json!({"text": "Why?", "uri": "file:///a/b.rs", "range": range})]).unwrap();
        let three = parse(PROMPT, &[json!("Why?"), json!("file:///a/b.rs"), range]).unwrap();
        assert_eq!(one, three);
        let Order::Prompt(order) = one else { panic!("{one:?}") };
        let context = order.context().unwrap();
        assert_eq!(context.markdown(), "[b.rs:3-7](file:///a/b.rs#L3-L7)\n");
        assert_eq!(links(&context.markdown()), [context]);
        for nothing in [vec![], vec![json!({})], vec![json!("  ")], vec![Value::Null]] {
            assert_eq!(parse(PROMPT, &nothing).unwrap(), Order::Prompt(PromptOrder::default()), "{nothing:?}");
        }
    }

    #[test]
    fn changes_are_named_by_ids_or_by_their_place() {
        use copydesk_engine::ids::{CallId, MessageId};
        let range = json!({"start": {"line": 2, "character": 0}, "end": {"line": 7, "character": 0}});
        let decide = |arguments: &[Value]| match parse(ACCEPT, arguments).unwrap() {
            Order::Decide(Decision::Accept, chosen) => chosen,
            other => panic!("{other:?}"),
        };
        assert_eq!(decide(&[]), Chosen::All);
        assert_eq!(decide(&[Value::Null]), Chosen::All);
        assert_eq!(decide(&[json!(3), json!(5)]), Chosen::Hunks(vec![HunkId(3), HunkId(5)]));
        let at = decide(&[json!("file:///a"), range.clone()]);
        assert_eq!(decide(&[json!({"uri": "file:///a", "range": range})]), at);
        let Chosen::At { uri, range } = at else { panic!("{at:?}") };
        assert_eq!((uri.as_str(), range.lines()), ("file:///a", (2, 7)));
        for (arguments, what) in [
            (vec![], UndoWhat::Last),
            (vec![json!({"turn": "msg_1"})], UndoWhat::Turn(MessageId::new("msg_1"))),
            (vec![json!({"call": "call_1"})], UndoWhat::Call(CallId::new("call_1"))),
            (vec![json!("redo")], UndoWhat::Redo),
        ] {
            assert_eq!(parse(UNDO, &arguments), Ok(Order::Undo(what)));
        }
        assert_eq!(parse(REDO, &[]), Ok(Order::Undo(UndoWhat::Redo)));
    }

    #[test]
    fn r22_7_any_number_is_a_line() {
        let largest = u64::MAX;
        for (start, end, shown) in [
            ((largest, largest), (largest, largest), format!("b:{largest}")),
            ((0, 0), (largest, 0), format!("b:1-{largest}")),
            ((7, 0), (2, 0), "b:8-3".to_owned()),
        ] {
            let place = |(line, character): (u64, u64)| json!({"line": line, "character": character});
            let range = json!({"start": place(start), "end": place(end)});
            let Order::Prompt(order) = parse(PROMPT, &[json!({"uri": "file:///a/b", "range": range})]).unwrap() else {
                panic!("no prompt")
            };
            assert_eq!(order.context().unwrap().name(), shown);
            assert!(parse(ACCEPT, &[json!("file:///a/b"), range]).is_ok());
        }
    }

    #[test]
    fn what_is_no_command_is_said() {
        for (command, arguments) in [
            (PROMPT, vec![json!(7)]),
            (PROMPT, vec![json!({"range": "all"})]),
            (ANSWER, vec![json!("per_1")]),
            (ANSWER, vec![]),
            (UNDO, vec![json!({"turn": 7})]),
            (UNDO, vec![json!("all")]),
            (ACCEPT, vec![json!("all")]),
            (ACCEPT, vec![json!(-1)]),
            (REJECT, vec![json!(1), json!("2")]),
            (REJECT, vec![json!({"uri": "file:///a"})]),
            ("copydesk.other", vec![]),
        ] {
            assert!(parse(command, &arguments).is_err(), "{command} {arguments:?}");
        }
    }

    #[test]
    fn links_of_any_text_are_read_without_a_fault() {
        assert_eq!(
            links("[a](file:///a#L0) [b](file:///b#L9-L3) [c](file:///c"),
            links("[a](file:///a#x) [b](file:///b#) [c](file:///c)")
        );
        assert!(links("no link, [web](https://example.com#L1)").is_empty());
    }
}
