//! `cargo xtask bench edits`: what becomes of edits that models write wrongly. The samples, the tools and the judgement are those of the engine's test
//! `edit_rightness`, which is run over real files here; this finds the files, gives some of the samples to opencode's own tool too, and prints the table.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use super::peers::agent::Agent;
use super::peers::server::Server;
use super::peers::{enter_namespace, install, is_inside, working_folder};
use super::target;
use crate::command;

/// Samples of opencode cost a turn each.
const MOST_BESIDE: usize = 300;

const TOOLS: [(&str, &str); 3] = [("Edit", "edit"), ("MultiEdit", "multiedit"), ("ApplyPatch", "apply_patch")];

pub(crate) fn run(
    root: &Path,
    samples: usize,
    seed: Option<u64>,
    corpus: &[PathBuf],
    beside: usize,
) -> Result<(), String> {
    let report = target(root).join("tmp/edits");
    if is_inside() {
        return given_to_opencode(root, &report, beside);
    }
    std::fs::create_dir_all(&report).map_err(|error| format!("{}: {error}", report.display()))?;
    let clock = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let seed = seed.unwrap_or(clock);
    let corpus = if corpus.is_empty() { found_corpus()? } else { corpus.to_vec() };
    let listed = std::env::join_paths(&corpus).map_err(|error| error.to_string())?;
    println!("{samples} samples of each tool from seed {seed}, in files of {}", listed.to_string_lossy());
    let mut test = command::cargo(root, &["test", "--locked", "-p", "copydesk-engine", "--test", "edit_rightness"]);
    test.env("EDITS_CORPUS", &listed).env("EDITS_REPORT", &report);
    for (name, value) in [("EDITS_SAMPLES", samples.to_string()), ("EDITS_SEED", seed.to_string())] {
        test.env(name, value);
    }
    let theirs = report.join("opencode.jsonl");
    let reports = TOOLS.iter().map(|(file, _)| report.join(format!("{file}.jsonl")));
    // Of an earlier run.
    reports.chain([theirs.clone()]).for_each(|earlier| drop(std::fs::remove_file(earlier)));
    // One that fails for what it found has reported it.
    let tested = command::run(test);
    if !TOOLS.iter().all(|(file, _)| report.join(format!("{file}.jsonl")).exists()) {
        return tested.and(Err("the test has reported nothing".to_owned()));
    }
    if beside > 0 {
        install::packages(root, &["aimock", "opencode"])?;
        let beside = beside.min(MOST_BESIDE).to_string();
        enter_namespace(root, &["bench", "edits", "--opencode", &beside])?;
    }
    let mut table = Table::default();
    for (file, tool) in TOOLS {
        for sample in rows(&report.join(format!("{file}.jsonl")))? {
            table.add(&sample, tool);
        }
    }
    for sample in if theirs.exists() { rows(&theirs)? } else { Vec::new() } {
        table.add(&sample, "opencode");
    }
    table.print();
    tested
}

/// Of cargo, of Python and of npm, as far as they are there.
fn found_corpus() -> Result<Vec<PathBuf>, String> {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo")));
    let printed = |program: &str, arguments: &[&str]| {
        let mut command = Command::new(program);
        command.args(arguments);
        command::output(command).ok().map(|line| PathBuf::from(line.trim()))
    };
    let python = printed("python3", &["-c", "import sysconfig; print(sysconfig.get_path('stdlib'))"]);
    let all = [home.map(|home| home.join("registry/src")), python, printed("npm", &["root", "-g"])];
    let all: Vec<PathBuf> = all.into_iter().flatten().filter(|folder| folder.is_dir()).collect();
    if all.is_empty() { Err("no sources were found: name a folder by --corpus".to_owned()) } else { Ok(all) }
}

fn rows(file: &Path) -> Result<Vec<Value>, String> {
    let text = std::fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
    text.lines()
        .map(|line| serde_json::from_str(line).map_err(|error| format!("{}: {error}", file.display())))
        .collect()
}

/// Inside of the namespace: every so many of the samples of `edit`, in a turn each that reads the file and edits it.
fn given_to_opencode(root: &Path, report: &Path, count: usize) -> Result<(), String> {
    let work = working_folder(root)?;
    let files = work.join("files");
    std::fs::create_dir_all(&files).map_err(|error| error.to_string())?;
    let all = rows(&report.join("Edit.jsonl"))?;
    let step = all.len().div_ceil(count.max(1)).max(1);
    let chosen: Vec<&Value> = all.iter().step_by(step).collect();
    let mut fixtures = Vec::new();
    for (index, sample) in chosen.iter().enumerate() {
        let path = files.join(format!("sample{index:04}.txt"));
        std::fs::write(&path, text(sample, "text")).map_err(|error| error.to_string())?;
        let (read, written) = (json!({ "filePath": path }), &sample["written"][0]);
        let edit = json!({ "filePath": path, "oldString": written["old"], "newString": written["new"] });
        for (turn, (name, arguments)) in [("read", read), ("edit", edit)].into_iter().enumerate() {
            let call = json!({ "id": format!("call_{turn}"), "name": name, "arguments": arguments.to_string() });
            let when = json!({ "userMessage": prompt(index), "toolName": name, "turnIndex": turn });
            fixtures.push(json!({ "match": when, "response": { "toolCalls": [call] } }));
        }
    }
    // The end of each turn, and titles.
    fixtures.push(json!({ "match": {}, "response": { "content": "done" } }));
    let _server = Server::scripted(root, &work, &json!({ "fixtures": fixtures }))?;
    // Models of other names get the tool that takes patches.
    let peer = install::opencode(root, &work, "mock-1")?;
    let (mut agent, _) = Agent::start(&peer, &files)?;
    let mut out = String::new();
    for (index, sample) in chosen.iter().enumerate() {
        let (answer, _) = agent.turn(&prompt(index))?;
        if answer["stopReason"] != "end_turn" {
            return Err(format!("the turn of sample {index} ended with {answer}"));
        }
        let path = files.join(format!("sample{index:04}.txt"));
        let after = std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        let outcome = match &after {
            after if *after == text(sample, "oracle") => "right",
            after if *after == text(sample, "text") => "refused",
            _ => "wrong",
        };
        let row =
            json!({ "kind": sample["kind"], "must": sample["must"], "outcome": outcome, "source": sample["source"] });
        out.push_str(&format!("{row}\n"));
        if index % 50 == 0 {
            eprintln!("{index} of {} samples", chosen.len());
        }
    }
    drop(agent);
    // A peer that called nothing at all would seem to have refused everything.
    if !out.contains("\"right\"") {
        return Err("no sample landed: the tool was not called".to_owned());
    }
    std::fs::write(report.join("opencode.jsonl"), out).map_err(|error| error.to_string())?;
    std::fs::remove_dir_all(&work).map_err(|error| error.to_string())
}

fn prompt(index: usize) -> String {
    format!("SAMPLE{index:04}.")
}

fn text<'a>(sample: &'a Value, key: &str) -> &'a str {
    sample[key].as_str().unwrap_or_default()
}

#[derive(Debug, Default, Clone, Copy)]
struct Counts {
    right: usize,
    refused_with_hint: usize,
    refused: usize,
    wrong: usize,
}

impl Counts {
    fn add(&mut self, outcome: &str) {
        *match outcome {
            "right" => &mut self.right,
            "hint" => &mut self.refused_with_hint,
            "refused" => &mut self.refused,
            _ => &mut self.wrong,
        } += 1;
    }

    fn all(self) -> usize {
        self.right + self.refused_with_hint + self.refused + self.wrong
    }
}

#[derive(Debug, Default)]
struct Table {
    /// By what must come of it and kind: ours, and opencode's.
    kinds: BTreeMap<(u8, String), (Counts, Counts)>,
    tools: BTreeMap<String, Counts>,
}

impl Table {
    fn add(&mut self, sample: &Value, tool: &str) {
        let outcome = text(sample, "outcome");
        let class = if sample["must"] == "refuse" { 1 } else { 0 };
        let (ours, theirs) = self.kinds.entry((class, text(sample, "kind").to_owned())).or_default();
        if tool == "opencode" {
            theirs.add(outcome)
        } else {
            ours.add(outcome)
        };
        self.tools.entry(tool.to_owned()).or_default().add(outcome);
    }

    fn print(&self) {
        println!(
            "\n| drift | must | samples | landed right | refused, the hint suffices | refused without | landed wrong | opencode: samples | right | refused | wrong |"
        );
        println!("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |");
        for ((class, kind), (ours, theirs)) in &self.kinds {
            let must = if *class == 0 { "land" } else { "be refused" };
            let beside = match theirs.all() {
                0 => "| | |".to_owned(),
                all => format!("{all} | {} | {} | {}", theirs.right, theirs.refused, theirs.wrong),
            };
            let Counts { right, refused_with_hint, refused, wrong } = ours;
            println!(
                "| {kind} | {must} | {} | {right} | {refused_with_hint} | {refused} | {wrong} | {beside} |",
                ours.all()
            );
        }
        println!("\n| tool | samples | landed right | refused, the hint suffices | refused without | landed wrong |");
        println!("| --- | --- | --- | --- | --- | --- |");
        for (tool, counts) in &self.tools {
            let Counts { right, refused_with_hint, refused, wrong } = counts;
            println!("| {tool} | {} | {right} | {refused_with_hint} | {refused} | {wrong} |", counts.all());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outcomes_are_counted_by_what_must_come_of_them() {
        let mut table = Table::default();
        for (must, outcome, tool) in [
            ("land", "right", "edit"),
            ("either", "hint", "edit"),
            ("refuse", "refused", "multiedit"),
            ("refuse", "wrong", "opencode"),
        ] {
            table.add(&json!({ "kind": "k", "must": must, "outcome": outcome }), tool);
        }
        let counted: Vec<(u8, usize, usize, usize)> = table
            .kinds
            .iter()
            .map(|((class, _), (ours, theirs))| (*class, ours.all(), ours.right, theirs.wrong))
            .collect();
        assert_eq!(counted, [(0, 2, 1, 0), (1, 1, 0, 1)]);
        assert_eq!(table.tools["opencode"].wrong, 1);
    }
}
