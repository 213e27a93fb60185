//! `cargo xtask bench peers`: the release build beside opencode, codex and gemini-cli, in one run against one scripted server. Linux; needs npm, and root
//! or user namespaces: all of it runs in a network namespace of its own, where nothing but loopback can be reached.

pub(super) mod agent;
pub(super) mod install;
pub(super) mod server;

use std::path::Path;
use std::time::Duration;

use super::{MAX_LOAD, median, settled_load};
use crate::command;
use agent::{Agent, Peer};
use server::Server;

/// Set inside the namespace.
const INSIDE: &str = "COPYDESK_BENCH_INSIDE";

/// Turns of one kind, after a first one that is left out.
const TURNS: usize = 25;

/// What a peer measured; `None` where it could not be brought to it.
#[derive(Debug, Default)]
struct Measured {
    start: Option<Duration>,
    /// Kilobytes, of the whole tree.
    idle: Option<u64>,
    one_step: Option<Duration>,
    ten_calls: Option<Duration>,
}

pub(crate) fn run(root: &Path) -> Result<(), String> {
    if !is_inside() {
        command::run(command::cargo(root, &["build", "--locked", "--release", "-p", "copydesk"]))?;
        install::packages(root, install::ALL)?;
        return enter_namespace(root, &["bench", "peers"]);
    }
    let work = working_folder(root)?;
    let peers = install::peers(root, &work)?;
    let files = work.join("files");
    std::fs::create_dir_all(&files).map_err(|error| error.to_string())?;
    for index in 0..10 {
        std::fs::write(files.join(format!("f{index}.txt")), format!("file {index}\n"))
            .map_err(|error| error.to_string())?;
    }
    let load = settled_load();
    let mut table = Vec::new();
    let mut floor = None;
    for peer in &peers {
        // A server for each: a peer's read tool has a name and a parameter of its own.
        let server = Server::start(root, &work, peer, &files)?;
        if floor.is_none() {
            floor = Some((server.raw_turns(0, TURNS)?, server.raw_turns(10, TURNS)?));
        }
        eprintln!("measuring {}", peer.name);
        table.push((peer.name, measure(peer, &files)));
    }
    let (one_floor, ten_floor) = floor.ok_or("no peer was measured")?;
    print(&table, one_floor, ten_floor, load);
    std::fs::remove_dir_all(&work).map_err(|error| error.to_string())?;
    verdict(&table, one_floor, ten_floor, load)
}

fn measure(peer: &Peer, files: &Path) -> Result<Measured, String> {
    let mut starts = Vec::new();
    let mut idle = Vec::new();
    for _ in 0..peer.starts {
        let (agent, start) = Agent::start(peer, files)?;
        std::thread::sleep(super::IDLE_AFTER);
        starts.push(start);
        idle.push(agent.resident());
    }
    let (mut agent, _) = Agent::start(peer, files)?;
    let one_step = agent.turns("ONETURN", TURNS)?;
    let ten_calls = agent.turns("TENREAD", TURNS)?;
    Ok(Measured {
        start: Some(median(starts)),
        idle: Some(median(idle)),
        one_step: Some(median(one_step)),
        ten_calls: Some(median(ten_calls)),
    })
}

fn print(table: &[(&str, Result<Measured, String>)], one_floor: Duration, ten_floor: Duration, load: f64) {
    let ms = |time: Option<Duration>| time.map_or("-".to_owned(), |time| format!("{:.1}", time.as_secs_f64() * 1000.0));
    println!(
        "\nmedians, load {load:.2}; times in ms, turns above the floor of a raw client: {} and {} ms\n",
        ms(Some(one_floor)),
        ms(Some(ten_floor))
    );
    println!("| agent | start to answered initialize | idle MB | warm turn, one step | warm turn, ten calls |");
    println!("| --- | --- | --- | --- | --- |");
    for (name, measured) in table {
        match measured {
            Ok(measured) => println!(
                "| {name} | {} | {} | {} | {} |",
                ms(measured.start),
                measured.idle.map_or("-".to_owned(), |idle| format!("{:.1}", super::megabytes(idle))),
                ms(measured.one_step.map(|time| time.saturating_sub(one_floor))),
                ms(measured.ten_calls.map(|time| time.saturating_sub(ten_floor))),
            ),
            Err(problem) => println!("| {name} | not measured: {problem} | | | |"),
        }
    }
    println!();
}

/// The bars of the design: absolute ones, and ahead of every peer.
fn verdict(
    table: &[(&str, Result<Measured, String>)],
    one_floor: Duration,
    ten_floor: Duration,
    load: f64,
) -> Result<(), String> {
    let Some((_, Ok(ours))) = table.first() else { return Err("copydesk was not measured".to_owned()) };
    if load > MAX_LOAD {
        println!("no verdict: the machine is busy");
        return Ok(());
    }
    let mut missed = Vec::new();
    let mut bar = |what: &str, held: bool| {
        println!("{what}: {}", if held { "held" } else { "MISSED" });
        if !held {
            missed.push(what.to_owned());
        }
    };
    let limit = |time: Option<Duration>, floor: Duration, limit: u64| {
        time.is_some_and(|time| time.saturating_sub(floor) <= Duration::from_millis(limit))
    };
    bar("start within 8 ms", limit(ours.start, Duration::ZERO, 8));
    bar("idle within 12 MB", ours.idle.is_some_and(|idle| idle <= super::MEMORY_BAR));
    bar("a warm turn of one step within 10 ms", limit(ours.one_step, one_floor, 10));
    bar("a warm turn of ten calls within 40 ms", limit(ours.ten_calls, ten_floor, 40));
    for (name, peer) in &table[1..] {
        let Ok(peer) = peer else { continue };
        let ahead =
            |ours: Option<Duration>, theirs: Option<Duration>| ours.is_some() && (theirs.is_none() || ours < theirs);
        bar(
            &format!("turns ahead of {name}"),
            ahead(ours.one_step, peer.one_step) && ahead(ours.ten_calls, peer.ten_calls),
        );
        bar(&format!("start ahead of {name}"), ahead(ours.start, peer.start));
        if *name == "opencode" {
            let hundredfold = ours.start.zip(peer.start).is_some_and(|(ours, theirs)| ours * 100 <= theirs);
            bar("start a hundred times faster than opencode", hundredfold);
        }
    }
    if missed.is_empty() { Ok(()) } else { Err(format!("\nmissed: {}", missed.join("; "))) }
}

/// Runs this program again where nothing but loopback can be reached, with `INSIDE` set.
pub(super) fn enter_namespace(root: &Path, arguments: &[&str]) -> Result<(), String> {
    let this = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut inside = std::process::Command::new("unshare");
    inside
        .args(["--net", "--map-root-user", "--", "sh", "-c", "ip link set lo up && exec \"$@\"", "sh"])
        .arg(this)
        .args(arguments)
        .current_dir(root)
        .env(INSIDE, "1");
    command::run(inside)
}

pub(super) fn is_inside() -> bool {
    std::env::var_os(INSIDE).is_some()
}

/// Below the build's own: codex leaves out its helpers where its home lies in the temporary folder.
pub(super) fn working_folder(root: &Path) -> Result<std::path::PathBuf, String> {
    let folder = root.join(format!("target/bench-peers-{}", std::process::id()));
    std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    Ok(folder)
}
