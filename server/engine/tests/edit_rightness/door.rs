//! Runs a sample as a model would: a turn of a session whose tools are the real ones, over a disk in memory. Where it is refused, the error's own words are
//! taken once, as by a model that reads nothing else.

use copydesk_engine::config::Config;
use copydesk_engine::message::{Entry, Finish, PromptPart, ToolResult, ToolStatus};
use copydesk_engine::ports::OptionKind;
use copydesk_engine::registry::Registry;
use copydesk_engine::session::SessionHandle;
use copydesk_engine::testing::{FakeModel, World, config};
use copydesk_workspace::disk::Disk;
use serde_json::{Value, json};

use crate::sample::{Replacement, Sample, Tool};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    LandedRight,
    /// And the hint of the error makes the next try land right.
    RefusedWell,
    Refused,
    /// The file holds something else than before and than is meant.
    LandedWrong,
}

#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) outcome: Outcome,
    /// The answers of the tool.
    pub(crate) said: Vec<String>,
    pub(crate) after: String,
}

const FILE: &str = "sample.txt";

pub(crate) async fn run(sample: &Sample) -> Ran {
    let (model, mut player) = FakeModel::new();
    let world = World::new(model);
    world.client.answer_all(OptionKind::AllowOnce);
    let path = world.folder().join(FILE);
    world.disk.put(&path, sample.text.clone().into_bytes());
    let engine = world.engine(Registry::builtin());
    let session = match world.session(&engine, settings(sample.tool)).await {
        Ok(session) => session,
        Err(error) => panic!("{error}"),
    };
    let turn = session.prompt(vec![PromptPart::Text { text: "go".to_owned() }]);
    let turn = turn.unwrap_or_else(|error| panic!("{error:?}"));
    let mut request = player.next_request().await;
    let mut said = Vec::new();
    let now = || world.disk.read(&path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default();
    if sample.reads_before {
        request.call("call_0", "read", &json!({"filePath": FILE}).to_string());
        request.finish(Finish::ToolCalls);
        request = player.next_request().await;
    }
    let (name, arguments) = call(sample.tool, &sample.written, &sample.hunk);
    request.call("call_1", name, &arguments.to_string());
    request.finish(Finish::ToolCalls);
    request = player.next_request().await;
    let result = last_result(&world, &session);
    let mut after = now();
    said.push(result.text.clone());
    let mut outcome = match result.status {
        ToolStatus::Completed if after == sample.oracle => Outcome::LandedRight,
        ToolStatus::Completed => Outcome::LandedWrong,
        _ if after != sample.text => Outcome::LandedWrong,
        _ => Outcome::Refused,
    };
    if outcome == Outcome::Refused && suffices(&result.text, sample) {
        let (name, arguments) = call(sample.tool, &sample.right, &sample.right_hunk);
        request.call("call_2", name, &arguments.to_string());
        request.finish(Finish::ToolCalls);
        request = player.next_request().await;
        said.push(last_result(&world, &session).text);
        after = now();
        if after == sample.oracle {
            outcome = Outcome::RefusedWell;
        } else if after != sample.text {
            outcome = Outcome::LandedWrong;
        }
    }
    request.text("done");
    request.finish(Finish::Stop);
    turn.await;
    Ran { outcome, said, after }
}

fn settings(tool: Tool) -> Config {
    let mut config = config();
    for model in &mut config.models {
        model.settings.context = Some(1_000_000);
    }
    if tool == Tool::ApplyPatch
        && let Some(model) = config.models.first_mut()
    {
        // Models of that name are offered patches in place of edits.
        model.model.model = "gpt-5".to_owned();
        model.sent_as = model.model.clone();
        config.model = Some(model.model.clone());
    }
    config
}

fn call(tool: Tool, replacements: &[Replacement], hunk: &str) -> (&'static str, Value) {
    let one = |replacement: &Replacement| json!({"oldString": replacement.old, "newString": replacement.new});
    match (tool, replacements) {
        (Tool::Edit, [only]) => ("edit", json!({"filePath": FILE, "oldString": only.old, "newString": only.new})),
        (Tool::Edit | Tool::MultiEdit, all) => {
            ("multiedit", json!({"filePath": FILE, "edits": all.iter().map(one).collect::<Vec<_>>()}))
        }
        (Tool::ApplyPatch, _) => {
            let line_break = if hunk.contains("\r\n") { "\r\n" } else { "\n" };
            let patch = [
                "*** Begin Patch",
                &format!("*** Update File: {FILE}"),
                hunk.trim_end_matches(['\r', '\n']),
                "*** End Patch",
            ];
            ("apply_patch", json!({"patchText": patch.join(line_break)}))
        }
    }
}

fn last_result(world: &World, session: &SessionHandle) -> ToolResult {
    let result = |entry| match entry {
        Entry::ToolResult { result, .. } => Some(result),
        _ => None,
    };
    let last = world.store.entries(session.id()).into_iter().rev().find_map(result);
    last.unwrap_or_else(|| panic!("the call had no result"))
}

/// Whether the error alone tells what to write: it names the place, and quotes all of its lines as they are; or, of several places, it names the one that is
/// meant, so that more of the lines around it can be given.
fn suffices(error: &str, sample: &Sample) -> bool {
    let (first, last) = sample.place;
    if let Some((_, lines)) = error.split_once("at lines ").filter(|_| !error.contains("earest text is at lines ")) {
        let named = lines.split(|c: char| !c.is_ascii_digit() && c != ',' && c != ' ').next().unwrap_or_default();
        return named.split(", ").any(|line| line.trim().parse() == Ok(first));
    }
    let near = error.split_once("earest text is at lines ").and_then(|(_, rest)| {
        let (from, rest) = rest.split_once('-')?;
        let to = rest.split(|c: char| !c.is_ascii_digit()).next()?;
        Some((from.parse::<usize>().ok()?, to.parse::<usize>().ok()?))
    });
    let is_there = near.is_none_or(|(from, to)| from <= last && first <= to);
    let quoted = error.split_once("<content>\n").and_then(|(_, rest)| rest.split_once("</content>"));
    let Some((quoted, _)) = quoted else { return false };
    let shown: Vec<&str> = quoted.lines().collect();
    let is_shown = |number: usize| shown.contains(&format!("{number}: {}", sample.lines[number - 1]).as_str());
    is_there && (first..=last).all(is_shown)
}

pub(crate) fn runtime() -> tokio::runtime::Runtime {
    let built = tokio::runtime::Builder::new_current_thread().enable_time().build();
    built.unwrap_or_else(|error| panic!("{error}"))
}
