//! What tools cost in process. `cargo xtask bench tools` makes the tree, finds `rg` and reads the table; it judges, nothing here does. Arguments: the tree, the
//! program `rg`, how often. Prints a line for each search, which runs beside `rg` in turns: its name, matches, our median and rg's in microseconds; and for
//! each work on text its name and the time in microseconds that one of a hundred exceeds.
#![allow(clippy::print_stdout, reason = "a measurement speaks by printing")]
#![allow(clippy::disallowed_methods, reason = "it runs a program beside what is measured")]

use std::error::Error;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use copydesk_adapters::os::search::OsSearch;
use copydesk_engine::message::{Finish, PromptPart};
use copydesk_engine::overlay::Overlay;
use copydesk_engine::ports::{FileGlob, LinePattern, OptionKind, Search, SearchLimits, SearchTree};
use copydesk_engine::registry::Registry;
use copydesk_engine::testing::{FakeModel, World, config};
use copydesk_workspace::document::{ContentChange, Document};
use copydesk_workspace::hash::ContentHash;
use copydesk_workspace::path::{AbsPath, DocKey};
use copydesk_workspace::position::{Position, PositionEncoding};
use ropey::Rope;
use tokio_util::sync::CancellationToken;

enum Case {
    Files(&'static str),
    Lines(&'static str),
}

const CASES: [(&str, Case); 3] = [
    ("glob *.rs", Case::Files("*.rs")),
    ("grep a word", Case::Lines("needle_42")),
    ("grep an expression", Case::Lines(r"fn \w+_7\(")),
];

fn main() -> Result<(), Box<dyn Error>> {
    // Cargo adds `--bench`.
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with("--")).collect();
    let [tree, rg, runs] = arguments.as_slice() else { return Err("arguments: TREE RG RUNS".into()) };
    let root = AbsPath::new(tree).ok_or("the tree must be absolute")?;
    let runs: usize = runs.parse()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_time().build()?;
    for (name, case) in CASES {
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        let mut counts = (0, 0);
        // The first round warms the cache.
        for round in 0..=runs {
            let start = Instant::now();
            counts.0 = runtime.block_on(search(&root, &case))?;
            let took = start.elapsed();
            let start = Instant::now();
            counts.1 = beside(&root, Path::new(rg), &case)?;
            if round > 0 {
                ours.push(took);
                theirs.push(start.elapsed());
            }
        }
        if counts.0 != counts.1 {
            return Err(format!("{name}: {} matches, but {} of rg", counts.0, counts.1).into());
        }
        println!("{name}\t{}\t{}\t{}", counts.0, median(ours).as_micros(), median(theirs).as_micros());
    }
    println!("change of 1 MB\t{}", almost_worst(changes()?).as_micros());
    println!("edit in 10 MB\t{}", almost_worst(runtime.block_on(edits())?).as_micros());
    Ok(())
}

/// Lines of about 50 bytes, no two alike.
fn text(bytes: usize) -> String {
    (0..bytes / 50).map(|line| format!("    let value_{line:07} = compute({line:07}); // line\n")).collect()
}

/// A character typed somewhere in an open document of 1 MB, as an editor tells it.
fn changes() -> Result<Vec<Duration>, Box<dyn Error>> {
    const TYPED: u32 = 2000;
    let path = AbsPath::new("/w/a.rs").ok_or("an absolute path")?;
    let text = Rope::from_str(&text(1 << 20));
    let lines = u32::try_from(text.len_lines())?;
    let uri = "file:///w/a.rs".to_owned();
    let overlay = Overlay::new();
    let key = DocKey::from_real_path(path.clone());
    let saved = ContentHash::of_rope(&text);
    overlay.open(Document { uri: uri.clone(), key, path, language: "rust".to_owned(), version: 0, text, saved });
    let mut times = Vec::new();
    for typed in 0..TYPED {
        let at = Position { line: typed * 7919 % lines, column: typed % 20 };
        let change = ContentChange { range: Some((at, at)), text: "x".to_owned() };
        let start = Instant::now();
        overlay.change(&uri, i32::try_from(typed)? + 1, &[change], PositionEncoding::Utf16)?;
        times.push(start.elapsed());
    }
    Ok(times)
}

/// From the end of the model's reply to the request that holds the result: the ask, its preview and the journal are in it; the disk and the model are memory,
/// and so is the store, which keeps the latest contents alone: what it takes of the memory that is measured is no more than a store on a disk would.
async fn edits() -> Result<Vec<Duration>, Box<dyn Error>> {
    const TURNS: usize = 3;
    // A turn ends after a hundred steps.
    const EDITS: usize = 70;
    let (model, mut player) = FakeModel::new();
    let world = World::new(model);
    world.changes.keep_the_latest_alone();
    world.client.answer_all(OptionKind::AllowOnce);
    world.disk.put(&world.folder().join("big.rs"), text(10 << 20).into_bytes());
    let engine = world.engine(Registry::builtin());
    let session = world.session(&engine, config()).await?;
    let mut times = Vec::new();
    for turn in 0..TURNS {
        let ended = session.prompt(vec![PromptPart::Text { text: "go".to_owned() }])?;
        let mut request = player.next_request().await;
        for edit in turn * EDITS..(turn + 1) * EDITS {
            let line = edit * 7919 % (10 * 1024 * 1024 / 50);
            let arguments = serde_json::json!({
                "filePath": "big.rs",
                "oldString": format!("let value_{line:07} = compute"),
                "newString": format!("let other_{line:07} = compute"),
            });
            request.call(&format!("call_{edit}"), "edit", &arguments.to_string());
            let start = Instant::now();
            request.finish(Finish::ToolCalls);
            request = player.next_request().await;
            times.push(start.elapsed());
        }
        request.text("done");
        request.finish(Finish::Stop);
        ended.await;
    }
    // The very first finds nothing warm.
    times.remove(0);
    Ok(times)
}

async fn search(root: &AbsPath, case: &Case) -> Result<usize, Box<dyn Error>> {
    let tree = SearchTree {
        root: root.clone(),
        glob: None,
        hidden: true,
        open: Vec::new(),
        may_open: Arc::new(|_: &Path| true),
        limits: SearchLimits { results: usize::MAX, time: Duration::from_secs(600), bytes: u64::MAX },
    };
    let cancel = CancellationToken::new();
    Ok(match case {
        Case::Files(glob) => {
            let tree = SearchTree { glob: Some(FileGlob::new(glob).0), hidden: false, ..tree };
            OsSearch.files(tree, cancel).await?.hits.len()
        }
        Case::Lines(regex) => OsSearch.lines(tree, LinePattern::Regex((*regex).to_owned()), cancel).await?.hits.len(),
    })
}

/// Lines that it prints.
fn beside(root: &AbsPath, rg: &Path, case: &Case) -> Result<usize, Box<dyn Error>> {
    let mut command = Command::new(rg);
    command.args(["--no-config", "--no-messages", "--glob=!**/.git/**"]).current_dir(root.as_path());
    match case {
        Case::Files(glob) => command.arg("--files").arg(format!("--glob={glob}")).arg("."),
        Case::Lines(regex) => command.args(["--hidden", "--line-number", "--", regex, "."]),
    };
    let output = command.stdin(Stdio::null()).stderr(Stdio::null()).output()?;
    Ok(output.stdout.iter().filter(|byte| **byte == b'\n').count())
}

/// Greater than all but one of a hundred.
fn almost_worst(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() * 99 / 100).copied().unwrap_or_default()
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}
