//! Searches beside the `rg` binary, over one tree, in turns: `cargo xtask bench search` makes the tree, finds `rg` and reads the table. Arguments: the
//! tree, the program `rg`, how often. Prints a line for each search: its name, matches, our median and rg's in microseconds. It judges nothing.
#![allow(clippy::print_stdout, reason = "a measurement speaks by printing")]
#![allow(clippy::disallowed_methods, reason = "it runs a program beside what is measured")]

use std::error::Error;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use copydesk_adapters::os::search::OsSearch;
use copydesk_engine::ports::{FileGlob, LinePattern, Search, SearchLimits, SearchTree};
use copydesk_workspace::path::AbsPath;
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
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build()?;
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
    Ok(())
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

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}
