//! Tool calls out of fragments: by index, else by id, else by position (R14.2). Decides no more than which fragment belongs to which call.

use copydesk_engine::ports::ModelEvent;
use serde_json::Value;

use crate::providers::surrogates;

#[derive(Debug, Default)]
pub(super) struct Calls {
    /// In the order in which they were begun.
    slots: Vec<Slot>,
}

#[derive(Debug, Default)]
struct Slot {
    index: Option<u64>,
    id: Option<String>,
    name: String,
    arguments: String,
}

struct Fragment<'a> {
    index: Option<u64>,
    id: Option<&'a str>,
    name: &'a str,
    arguments: &'a Value,
    /// Place in its list, and the list's length.
    position: usize,
    of: usize,
}

impl Calls {
    pub(super) fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Nothing is missing, if this was all.
    pub(super) fn whole(&self) -> bool {
        self.slots.iter().all(|slot| !slot.name.is_empty() && (slot.blank() || slot.complete()))
    }

    /// Nothing is missing, as the calls themselves show: a call without arguments may be one whose arguments were still to come.
    pub(super) fn evidently_whole(&self) -> bool {
        let closed = |slot: &Slot| !slot.name.is_empty() && slot.arguments.trim_end().ends_with('}') && slot.complete();
        !self.is_empty() && self.slots.iter().all(closed)
    }

    /// The fragments of one `tool_calls` list, with the progress that they make: none where they hold nothing new (C83).
    pub(super) fn push(&mut self, fragments: &[Value]) -> Vec<ModelEvent> {
        let of = fragments.len();
        fragments
            .iter()
            .enumerate()
            .filter_map(|(position, value)| {
                // Some servers leave the `function` level out.
                let function = value.get("function").filter(|function| function.is_object()).unwrap_or(value);
                self.add(&Fragment {
                    index: value.get("index").and_then(whole_number),
                    id: value.get("id").and_then(Value::as_str).filter(|id| !id.is_empty()),
                    name: function.get("name").and_then(Value::as_str).unwrap_or_default(),
                    arguments: function.get("arguments").unwrap_or(&Value::Null),
                    position,
                    of,
                })
            })
            .collect()
    }

    /// A `function_call`, from before there were lists of them.
    pub(super) fn push_legacy(&mut self, function: &Value) -> Vec<ModelEvent> {
        self.push(std::slice::from_ref(function))
    }

    /// The calls, in order; leaves none behind.
    pub(super) fn finish(&mut self) -> impl Iterator<Item = ModelEvent> {
        std::mem::take(&mut self.slots).into_iter().enumerate().map(|(at, slot)| {
            let arguments = if slot.blank() { "{}".to_owned() } else { surrogates::join(slot.arguments) };
            ModelEvent::Call { slot: at, provider_id: slot.id, name: slot.name, arguments }
        })
    }

    fn add(&mut self, fragment: &Fragment<'_>) -> Option<ModelEvent> {
        let at = self.find(fragment).unwrap_or_else(|| {
            self.slots.push(Slot::default());
            self.slots.len() - 1
        });
        let slot = &mut self.slots[at];
        slot.index = slot.index.or(fragment.index);
        if slot.id.is_none() {
            slot.id = fragment.id.map(str::to_owned);
        }
        let before = (slot.name.len(), slot.arguments.len());
        slot.add_name(fragment.name);
        slot.add_arguments(fragment.arguments);
        let is_news = (slot.name.len(), slot.arguments.len()) != before;
        is_news.then(|| ModelEvent::CallProgress {
            slot: at,
            name: slot.name.clone(),
            arguments: slot.arguments.clone(),
        })
    }

    /// `None`: the fragment begins a call.
    fn find(&self, fragment: &Fragment<'_>) -> Option<usize> {
        if let Some(index) = fragment.index {
            let at = self.slots.iter().rposition(|slot| slot.index == Some(index))?;
            return (!self.slots[at].is_followed_by(fragment)).then_some(at);
        }
        if let Some(id) = fragment.id {
            if let Some(at) = self.slots.iter().position(|slot| slot.id.as_deref() == Some(id)) {
                return Some(at);
            }
            // Nothing but a new id and a piece of arguments: servers that make up an id for every fragment.
            return if fragment.name.is_empty() { self.by_position(fragment) } else { None };
        }
        let at = self.by_position(fragment)?;
        let slot = &self.slots[at];
        let repeats = fragment.name.is_empty() || fragment.name == slot.name && !slot.complete() || {
            // The last fragment of a call may name it once more, without a word of arguments.
            fragment.name == slot.name && is_blank(fragment.arguments)
        };
        repeats.then_some(at)
    }

    /// A list of several stands for the last calls in order; one alone for the last.
    fn by_position(&self, fragment: &Fragment<'_>) -> Option<usize> {
        if fragment.of > 1 && !fragment.name.is_empty() {
            return None;
        }
        (self.slots.len() + fragment.position).checked_sub(fragment.of).filter(|at| *at < self.slots.len())
    }
}

impl Slot {
    fn blank(&self) -> bool {
        matches!(self.arguments.trim(), "" | "null")
    }

    fn complete(&self) -> bool {
        serde_json::from_str::<serde::de::IgnoredAny>(&self.arguments).is_ok()
    }

    /// Servers that number every call 0: an id and a name of its own after a call that is whole begin another.
    fn is_followed_by(&self, fragment: &Fragment<'_>) -> bool {
        let own_id = fragment.id.is_some() && self.id.is_some() && fragment.id != self.id.as_deref();
        own_id && !fragment.name.is_empty() && (self.blank() || self.complete())
    }

    /// Names come whole, or repeated, or cumulated, or in pieces before the arguments.
    fn add_name(&mut self, name: &str) {
        if name.starts_with(&self.name) {
            name.clone_into(&mut self.name);
        } else if self.arguments.is_empty() && !name.is_empty() {
            self.name.push_str(name);
        }
    }

    fn add_arguments(&mut self, arguments: &Value) {
        match arguments {
            Value::String(piece) => self.arguments.push_str(piece),
            Value::Null => {}
            // An object where a text of one belongs.
            whole if self.blank() => self.arguments = whole.to_string(),
            piece => self.arguments.push_str(&piece.to_string()),
        }
    }
}

fn is_blank(arguments: &Value) -> bool {
    arguments.is_null() || arguments.as_str().is_some_and(|text| text.trim().is_empty())
}

fn whole_number(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| value.as_str()?.parse().ok())
}
