//! `cargo xtask fuzz`: one target of `fuzz/` for a while, by cargo-fuzz.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::command;

pub(crate) fn run(root: &Path, target: &str, time: Duration) -> Result<(), String> {
    let targets = targets(root)?;
    if !targets.iter().any(|known| known == target) {
        return Err(format!("`{target}` is no target of fuzz/: there are {}", targets.join(", ")));
    }
    if !command::works("rustup", &["run", "nightly", "rustc", "--version"]) {
        return Err("Fuzzing needs a nightly toolchain: rustup toolchain install nightly --profile minimal".to_owned());
    }
    let tools = root.join("target/tools/cargo");
    if !tools.join("bin/cargo-fuzz").is_file() {
        let mut install = command::cargo(root, &["install", "cargo-fuzz", "--locked", "--root"]);
        install.arg(&tools);
        command::run(install)?;
    }
    let mut fuzz = Command::new("rustup");
    fuzz.args(["run", "nightly"]).arg(tools.join("bin/cargo-fuzz")).args(["fuzz", "run", target]);
    let seeds = Path::new("fuzz/seeds").join(target);
    if root.join(&seeds).is_dir() {
        // What it finds goes into the first folder; the second is only read.
        let corpus = Path::new("fuzz/corpus").join(target);
        std::fs::create_dir_all(root.join(&corpus)).map_err(|error| format!("{}: {error}", corpus.display()))?;
        fuzz.arg(corpus).arg(seeds);
    }
    fuzz.arg("--");
    fuzz.arg(format!("-max_total_time={}", time.as_secs())).current_dir(root);
    // The cargo that runs us is the stable one.
    fuzz.env_remove("CARGO");
    command::run(fuzz)
}

fn targets(root: &Path) -> Result<Vec<String>, String> {
    let folder = root.join("fuzz/fuzz_targets");
    let files = std::fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut names: Vec<String> =
        files.flatten().filter_map(|file| Some(file.path().file_stem()?.to_string_lossy().into_owned())).collect();
    names.sort();
    Ok(names)
}
