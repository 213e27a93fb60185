//! Calls that repeat themselves in one turn (R13.1, R13.2): the same call with the same result, one after the other, in turns with others, or beside
//! itself in one step. They are counted, the model is told, and the user asked; what a call is and does plays no part.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use copydesk_workspace::hash::ContentHash;
use serde_json::Value;

use super::access::{Need, Subject};
use super::ask::{Question, Reply};
use super::decide::{Decided, decide};
use super::{Runner, Stopped};
use crate::event::ToolCallView;
use crate::message::{ToolResult, ToolStatus, TurnEnd};
use crate::ports::Preview;
use crate::tool::Facts;

/// So many times the same: the reply says so, and the next one is asked.
const SAME: usize = 3;

/// Shared by all steps of a turn.
#[derive(Debug, Default)]
pub struct Repeats {
    calls: Mutex<BTreeMap<String, Repeated>>,
}

#[derive(Debug, Default)]
struct Repeated {
    result: Option<ContentHash>,
    /// Results in a row that were this one.
    same: usize,
    running: usize,
    /// A rule has refused it before.
    refused: bool,
}

/// A call that is counted; dropping it ends it without a result.
#[derive(Debug)]
pub(super) struct Counted<'a> {
    repeats: &'a Repeats,
    key: String,
    /// The same was done often enough before it, or is being done.
    is_repetition: bool,
    /// It was not run for being one.
    is_held: AtomicBool,
}

/// A call that repeats itself, which the user is to be asked for.
pub(super) struct Repetition {
    pub(super) need: Need,
    /// Why it is asked.
    pub(super) reason: String,
}

impl Repetition {
    pub(super) fn unanswered(tool: &str, reason: &str) -> Stopped {
        ended(tool, &format!("nobody could be asked: {reason}"))
    }
}

impl Runner {
    /// Asks where the call is a repetition. Where nobody can be asked, and where a rule has refused it once already, the turn ends: nobody is there to stop
    /// what costs money.
    pub(super) async fn may_repeat(&self, counted: Option<&Counted<'_>>, view: &ToolCallView) -> Result<(), Stopped> {
        let repetition = self.repetition(counted, view)?;
        self.may_go_on(counted, repetition, view).await
    }

    /// Whether the call is one that has to be asked for.
    pub(super) fn repetition(
        &self,
        counted: Option<&Counted<'_>>,
        view: &ToolCallView,
    ) -> Result<Option<Repetition>, Stopped> {
        let Some(counted) = counted.filter(|counted| counted.is_repetition) else { return Ok(None) };
        let need = Need {
            permission: "doom_loop".to_owned(),
            values: vec![view.name.clone()],
            aliases: Vec::new(),
            subject: Subject::Session,
            what: format!("run {} again, though this call gave the same result {SAME} times", view.name),
            always: Some(format!("calls of {} that repeat themselves", view.name)),
            part: None,
        };
        let refused = match decide(&self.deps, &need) {
            Decided::Allowed => return Ok(None),
            Decided::Asked(reason) => return Ok(Some(Repetition { need, reason })),
            Decided::Denied(reason) if counted.is_refused_again() => ended(&view.name, &reason),
            Decided::Denied(reason) => Stopped::failed(format!("{reason}. It was not run. Go on in another way.")),
        };
        counted.hold(true);
        Err(refused)
    }

    /// Asks for it alone.
    pub(super) async fn may_go_on(
        &self,
        counted: Option<&Counted<'_>>,
        repetition: Option<Repetition>,
        view: &ToolCallView,
    ) -> Result<(), Stopped> {
        let Some(Repetition { need, reason }) = repetition else { return Ok(()) };
        let question = Question {
            call: &view.call,
            title: &view.title,
            input: &view.input,
            preview: Preview::Nothing,
            needs: vec![(need, reason)],
        };
        let allowed = match self.until_stopped(self.asks.ask(&self.deps, question)).await? {
            Reply::Undeliverable(reason) => Err(Repetition::unanswered(&view.name, &reason)),
            reply => self.take(reply),
        };
        if let Some(counted) = counted {
            counted.hold(allowed.is_err());
        }
        allowed
    }
}

fn ended(tool: &str, reason: &str) -> Stopped {
    let message = format!(
        "The turn was ended since it went round in circles: the same call of {tool} gave the same result {SAME} times ({reason}). Say what is to be done otherwise, or \"go on\"."
    );
    Stopped::Turn { text: "This call repeats itself and was not run.".to_owned(), stop: TurnEnd::Limit { message } }
}

impl Repeats {
    /// `tool` by the name of the registry.
    pub(super) fn begin(&self, tool: &str, input: &Value) -> Counted<'_> {
        let key = format!("{tool} {}", canonical(input));
        let mut calls = self.lock();
        let call = calls.entry(key.clone()).or_default();
        let is_repetition = call.same + call.running >= SAME;
        call.running += 1;
        drop(calls);
        Counted { repeats: self, key, is_repetition, is_held: AtomicBool::new(false) }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Repeated>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Counted<'_> {
    /// What the model is told behind this result, where it was the same often enough. A change of files that was not made before in this turn is
    /// progress: what comes after it is counted anew, since checks of changed files may well give the same.
    pub(super) fn end(self, result: &ToolResult, facts: &Facts) -> Option<String> {
        if result.status == ToolStatus::Cancelled || self.is_held.load(Ordering::Relaxed) {
            return None;
        }
        let shown = format!("{:?} {:?} {}", result.status, result.media, result.text);
        let hash = ContentHash::of(without_times(&without_spilled_names(&shown, facts)).as_bytes());
        let mut calls = self.repeats.lock();
        let call = calls.get_mut(&self.key)?;
        let is_new = call.result.is_none();
        call.same = if call.result == Some(hash) { call.same + 1 } else { 1 };
        call.result = Some(hash);
        let same = call.same;
        if is_new && !result.diffs.is_empty() {
            for (_, other) in calls.iter_mut().filter(|(key, _)| **key != self.key) {
                other.same = 0;
            }
        }
        (same >= SAME).then(|| {
            format!(
                "(This call gave this same result {same} times in this turn. Repeating it will not change that: use what you know, try something else, or tell the user what keeps you. The user is asked before it is run again.)"
            )
        })
    }

    /// A call that was not run for being a repetition is not counted as one.
    pub(super) fn hold(&self, is_held: bool) {
        self.is_held.store(is_held, Ordering::Relaxed);
    }

    /// Whether a rule refuses this call for the second time.
    fn is_refused_again(&self) -> bool {
        self.repeats.lock().get_mut(&self.key).is_some_and(|call| std::mem::replace(&mut call.refused, true))
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        if let Some(call) = self.repeats.lock().get_mut(&self.key) {
            call.running -= 1;
        }
    }
}

/// One text for all spellings of the same arguments: keys sorted, nothing that is `null`, whole numbers as such.
fn canonical(value: &Value) -> String {
    match value {
        Value::Object(fields) => {
            let fields: BTreeMap<&String, &Value> = fields.iter().filter(|(_, value)| !value.is_null()).collect();
            let fields =
                fields.into_iter().map(|(name, value)| format!("{}:{}", Value::from(name.as_str()), canonical(value)));
            format!("{{{}}}", fields.collect::<Vec<_>>().join(","))
        }
        Value::Array(items) => format!("[{}]", items.iter().map(canonical).collect::<Vec<_>>().join(",")),
        Value::Number(number) => match number.as_f64() {
            Some(whole) if number.is_f64() && whole.fract() == 0.0 => format!("{whole:.0}"),
            _ => number.to_string(),
        },
        Value::Null | Value::Bool(_) | Value::String(_) => value.to_string(),
    }
}

/// Outputs that were cut name the file of the whole, which is another one each time.
fn without_spilled_names(text: &str, facts: &Facts) -> String {
    let folder = format!("{}/", facts.spill);
    let mut parts = text.split(&folder);
    let mut rest = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        rest.push_str(&folder);
        rest.push_str(part.trim_start_matches(|c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.')));
    }
    rest
}

/// Numbers that tell when something was, how long it took or which process did it are other ones each time, and say nothing of what came out: dates and
/// times of the day, seconds since 1970, durations with their unit, and what stands behind `pid`.
fn without_times(text: &str) -> String {
    let mut rest = text;
    let mut plain = String::with_capacity(text.len());
    let mut word = String::new();
    while let Some(c) = rest.chars().next() {
        // Behind a date the time of the day may follow its `T`.
        let is_in_word = word.ends_with(|c: char| c.is_alphanumeric() || c == '_') && !plain.ends_with("#T");
        if !c.is_ascii_digit() || is_in_word {
            let plain_end = || rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len());
            let ends = if c.is_ascii_digit() { 1 } else { plain_end() };
            let (head, behind) = rest.split_at(ends);
            plain.push_str(head);
            word = head.chars().rev().take(8).collect::<Vec<_>>().into_iter().rev().collect();
            rest = behind;
            continue;
        }
        let end = rest.find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | ':' | '-'))).unwrap_or(rest.len());
        let number = rest[..end].trim_end_matches(['.', ':', '-']);
        let behind = &rest[number.len()..];
        let is_time = is_moment(number) || is_duration(number, behind) || is_of_process(&word);
        plain.push_str(if is_time { "#" } else { number });
        word = number.to_owned();
        rest = behind;
    }
    plain
}

/// `2026-11-30`, `11:04:32`, `11:04:32.123`, `1795000000`, `1795000000123`.
fn is_moment(number: &str) -> bool {
    let parts = |sign: char| number.split(sign).map(str::len).collect::<Vec<_>>();
    // Two parts may be a line and a column.
    let whole = number.split('.').next().unwrap_or_default();
    let is_clock = matches!(whole.split(':').map(str::len).collect::<Vec<_>>().as_slice(), [1 | 2, 2, 2]);
    let is_day = matches!(parts('-').as_slice(), [4, 2, 2]);
    let seconds = number.split('.').next().unwrap_or_default();
    let is_stamp =
        number.starts_with('1') && matches!(seconds.len(), 10 | 13 | 16 | 19) && !number.contains(['-', ':']);
    is_clock || is_day || is_stamp
}

fn is_duration(number: &str, behind: &str) -> bool {
    const UNITS: [&str; 14] =
        ["ns", "us", "\u{b5}s", "ms", "s", "sec", "secs", "second", "seconds", "m", "min", "minutes", "h", "hours"];
    let behind = behind.strip_prefix(' ').unwrap_or(behind);
    let unit = &behind[..behind.find(|c: char| !c.is_alphabetic()).unwrap_or(behind.len())];
    UNITS.contains(&unit) && number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
}

/// `pid 12`, `PID: 12`, `process 12`.
fn is_of_process(before: &str) -> bool {
    let before = before.trim_end_matches([' ', ':', '=', '(', '[', '#']).to_ascii_lowercase();
    before.ends_with("pid") || before.ends_with("process")
}

#[cfg(test)]
#[path = "repeats_tests.rs"]
mod tests;
