//! `cargo xtask gate-proof`: the tests that hold the analysis of commands against bash, with many more texts than in a run of all tests. For the night.

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::command;

pub(crate) fn run(root: &Path, texts: u64, runs: u64, seed: Option<u64>) -> Result<(), String> {
    let clock = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let seed = seed.unwrap_or(clock);
    println!("{texts} texts and {runs} runs from seed {seed}");
    let mut proof = command::cargo(root, &["test", "--locked", "-p", "copydesk-tests", "--test", "all"]);
    proof.args(["--", "shell_proof::"]);
    for (name, value) in [("GATE_PROOF_TEXTS", texts), ("GATE_PROOF_RUNS", runs), ("GATE_PROOF_SEED", seed)] {
        proof.env(name, value.to_string());
    }
    command::run(proof)
}
