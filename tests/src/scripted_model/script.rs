//! Which reply a request gets: by turn, by a function of the test, or by a file for those who drive the server from outside.

use std::collections::{BTreeMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};

use serde::Deserialize;
use serde_json::Value;

use super::{Gate, Reply, SeenRequest};

type Answer = dyn FnMut(&SeenRequest) -> Reply + Send;

pub struct Script {
    source: Source,
    given: usize,
}

enum Source {
    /// One a request, in order; a request too many is a violation.
    Turns(VecDeque<Reply>),
    Function(Box<Answer>),
    File(ScriptFile),
}

impl<const N: usize> From<[Reply; N]> for Script {
    fn from(replies: [Reply; N]) -> Self {
        Self::from(Vec::from(replies))
    }
}

impl From<Vec<Reply>> for Script {
    fn from(replies: Vec<Reply>) -> Self {
        Self { source: Source::Turns(replies.into()), given: 0 }
    }
}

impl From<ScriptFile> for Script {
    fn from(file: ScriptFile) -> Self {
        Self { source: Source::File(file), given: 0 }
    }
}

impl Script {
    /// Asked for each request that keeps the rules. A panic in it is a violation.
    pub fn function(answer: impl FnMut(&SeenRequest) -> Reply + Send + 'static) -> Self {
        Self { source: Source::Function(Box::new(answer)), given: 0 }
    }

    /// With its number, counted from one.
    pub(super) fn next(&mut self, request: &SeenRequest) -> Result<(Reply, usize), String> {
        let reply = match &mut self.source {
            Source::Turns(replies) => replies.pop_front(),
            Source::Function(answer) => {
                let answered = catch_unwind(AssertUnwindSafe(|| answer(request)));
                Some(answered.map_err(|_| "the function that answers panicked".to_owned())?)
            }
            Source::File(file) => file.next(request),
        };
        let reply = reply.ok_or_else(|| format!("the script has no reply to {:?}", request.last_text()))?;
        self.given += 1;
        Ok((reply, self.given))
    }

    /// Replies that wait to be asked for.
    pub(super) fn left(&self) -> usize {
        match &self.source {
            Source::Turns(replies) => replies.len(),
            Source::Function(_) => 0,
            Source::File(file) => file.replies.iter().filter(|entry| !entry.repeat).count(),
        }
    }
}

/// A script as JSON: `{"replies": [{"when": "text", "text": "…", "calls": [{"name": "…", "arguments": {}}]}, …]}`. A request gets the first reply that is
/// left and whose `when` stands in its last message; a reply without `when` fits every request.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptFile {
    replies: Vec<Entry>,
    #[serde(skip)]
    gates: BTreeMap<String, Gate>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    when: Option<String>,
    /// Stays after it was given.
    #[serde(default)]
    repeat: bool,
    /// Name of a gate before the first word.
    gate: Option<String>,
    reasoning: Option<String>,
    text: Option<String>,
    #[serde(default)]
    calls: Vec<Call>,
    finish: Option<String>,
    /// The connection is closed in place of an end.
    #[serde(default)]
    cut: bool,
    /// An error in place of an answer.
    refuse: Option<Refuse>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Call {
    name: String,
    #[serde(default)]
    arguments: Value,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Refuse {
    status: u16,
    message: String,
    #[serde(default)]
    headers: BTreeMap<String, String>,
}

impl ScriptFile {
    /// The error names the place in the text.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut file: Self = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let names = file.replies.iter().filter_map(|entry| entry.gate.clone());
        file.gates = names.map(|name| (name, Gate::new())).collect();
        Ok(file)
    }

    /// By name.
    pub fn gates(&self) -> &BTreeMap<String, Gate> {
        &self.gates
    }

    fn next(&mut self, request: &SeenRequest) -> Option<Reply> {
        let text = request.last_text();
        let fits = |entry: &Entry| entry.when.as_deref().is_none_or(|when| text.contains(when));
        let at = self.replies.iter().position(fits)?;
        let reply = self.replies[at].reply(&self.gates);
        if !self.replies[at].repeat {
            self.replies.remove(at);
        }
        Some(reply)
    }
}

impl Entry {
    fn reply(&self, gates: &BTreeMap<String, Gate>) -> Reply {
        if let Some(refuse) = &self.refuse {
            let reply = Reply::refuse(refuse.status, &refuse.message);
            return refuse.headers.iter().fold(reply, |reply, (name, value)| reply.header(name, value));
        }
        let mut reply = Reply::empty();
        if let Some(gate) = self.gate.as_ref().and_then(|name| gates.get(name)) {
            reply = reply.then_wait(gate);
        }
        if let Some(reasoning) = &self.reasoning {
            reply = reply.then_reasoning(reasoning);
        }
        if let Some(text) = &self.text {
            reply = reply.then_text(text);
        }
        for call in &self.calls {
            reply = reply.then_call(&call.name, call.arguments.clone());
        }
        if let Some(reason) = &self.finish {
            reply = reply.finish(reason);
        }
        if self.cut { reply.cut() } else { reply }
    }
}
