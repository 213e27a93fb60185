//! The scripted model as a program, for tests that are not written in Rust: `scripted-model SCRIPT.json [REQUESTS.jsonl]`.
//!
//! Prints its port as the first line. A line `open NAME` on stdin opens a gate of the script, and `reached NAME` is printed when a reply stands before
//! one. At the end of stdin it ends: the bodies of all requests are written to the second file, violations to stderr, and with any the exit code is 1.
#![allow(clippy::disallowed_methods, reason = "a program of its own: no port stands between it and files")]

use std::io::Write;
use std::process::ExitCode;

use copydesk_tests::scripted_model::{ScriptFile, ScriptedModel};
use tokio::io::{AsyncBufReadExt, BufReader};

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match run().await {
        Ok(violations) if violations.is_empty() => ExitCode::SUCCESS,
        Ok(violations) => {
            complain(&violations.join("\n"));
            ExitCode::FAILURE
        }
        Err(error) => {
            complain(&error);
            ExitCode::from(2)
        }
    }
}

async fn run() -> Result<Vec<String>, String> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or("usage: scripted-model SCRIPT.json [REQUESTS.jsonl]")?;
    let text = std::fs::read_to_string(&path).map_err(|error| format!("{path}: {error}"))?;
    let script = ScriptFile::parse(&text).map_err(|error| format!("{path}: {error}"))?;
    let gates = script.gates().clone();
    let model = ScriptedModel::start(script).await;
    say(&model.port().to_string())?;
    for (name, gate) in gates.clone() {
        tokio::spawn(async move {
            gate.reached_ever().await;
            say(&format!("reached {name}"))
        });
    }
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    while let Some(line) = lines.next_line().await.map_err(|error| error.to_string())? {
        match line.strip_prefix("open ").map(|name| gates.get(name.trim())) {
            Some(Some(gate)) => gate.open(),
            _ => return Err(format!("`{line}` opens no gate of {path}")),
        }
    }
    if let Some(log) = arguments.next() {
        let bodies: String = model.requests().iter().map(|request| format!("{}\n", request.body)).collect();
        std::fs::write(&log, bodies).map_err(|error| format!("{log}: {error}"))?;
    }
    Ok(model.take_violations())
}

fn say(line: &str) -> Result<(), String> {
    let mut out = std::io::stdout();
    writeln!(out, "{line}").and_then(|()| out.flush()).map_err(|error| error.to_string())
}

fn complain(text: &str) {
    // Nobody is left to tell where stderr is closed.
    let _ = writeln!(std::io::stderr(), "{text}");
}
