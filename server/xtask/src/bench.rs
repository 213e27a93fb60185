//! `cargo xtask bench`: the release build against the bars that need no peer beside it: start to the answered `initialize`, memory when idle after
//! that, and size. Linux; the bars stand for a quiet machine.

pub(crate) mod edits;
pub(crate) mod peers;
pub(crate) mod tools;

use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::command;

const START_BAR: Duration = Duration::from_millis(8);
/// Kilobytes of 1,024 bytes, as the kernel counts.
const MEMORY_BAR: u64 = 12 * 1024;
/// Bytes.
const SIZE_BAR: u64 = 25_000_000;

/// A busier machine says nothing about times. A build raises the load; it is waited for to sink.
const MAX_LOAD: f64 = 1.5;
const LOAD_PATIENCE: Duration = Duration::from_secs(180);

/// What a daemon does on its own after `initialize` is done by then.
const IDLE_AFTER: Duration = Duration::from_millis(500);

struct Row {
    what: &'static str,
    measured: String,
    bar: String,
    /// `None`: no verdict.
    held: Option<bool>,
}

pub(crate) fn run(root: &Path, binary: Option<PathBuf>, runs: usize) -> Result<(), String> {
    let binary = match binary {
        Some(binary) => binary,
        None => {
            command::run(command::cargo(root, &["build", "--locked", "--release", "-p", "copydesk"]))?;
            target(root).join("release/copydesk")
        }
    };
    let size = std::fs::metadata(&binary).map_err(|error| format!("{}: {error}", binary.display()))?.len();
    let load = settled_load();
    let mut starts = Vec::new();
    let mut memory = Vec::new();
    for _ in 0..runs.max(1) {
        let mut daemon = Daemon::start(&binary)?;
        starts.push(daemon.initialize()?);
        daemon.notify("initialized")?;
        std::thread::sleep(IDLE_AFTER);
        memory.push(daemon.resident()?);
        daemon.end()?;
    }
    let (start, memory) = (median(starts), median(memory));
    let rows = [
        Row {
            what: "start to answered initialize",
            measured: format!("{:.1} ms", start.as_secs_f64() * 1000.0),
            bar: format!("{} ms", START_BAR.as_millis()),
            held: (load <= MAX_LOAD).then_some(start <= START_BAR),
        },
        Row {
            what: "idle memory after it",
            measured: format!("{:.1} MB", megabytes(memory)),
            bar: format!("{:.0} MB", megabytes(MEMORY_BAR)),
            held: Some(memory <= MEMORY_BAR),
        },
        Row {
            what: "size of the binary",
            measured: format!("{:.1} MB", size as f64 / 1e6),
            bar: format!("{:.0} MB", SIZE_BAR as f64 / 1e6),
            held: Some(size <= SIZE_BAR),
        },
    ];
    println!("\n{} medians of {runs}, load {load:.2}\n", binary.display());
    println!("{:<30} {:>10} {:>10}  verdict", "what", "measured", "bar");
    for row in &rows {
        println!("{:<30} {:>10} {:>10}  {}", row.what, row.measured, row.bar, verdict(row.held));
    }
    let missed: Vec<&str> = rows.iter().filter(|row| row.held == Some(false)).map(|row| row.what).collect();
    if missed.is_empty() { Ok(()) } else { Err(format!("\nmissed: {}", missed.join(", "))) }
}

fn verdict(held: Option<bool>) -> &'static str {
    match held {
        Some(true) => "held",
        Some(false) => "MISSED",
        None => "none: the machine is busy",
    }
}

struct Daemon {
    child: Child,
    output: BufReader<std::process::ChildStdout>,
    started: Instant,
    home: PathBuf,
}

impl Daemon {
    /// In a home of its own, so that no configuration of the user's is measured.
    fn start(binary: &Path) -> Result<Self, String> {
        let home = std::env::temp_dir().join(format!("copydesk-bench-{}", std::process::id()));
        std::fs::create_dir_all(&home).map_err(|error| format!("{}: {error}", home.display()))?;
        let started = Instant::now();
        let mut child = Command::new(binary)
            .arg("serve")
            .env_clear()
            .env("HOME", &home)
            .envs(std::env::var_os("PATH").map(|path| ("PATH", path)))
            .current_dir(&home)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| format!("{}: {error}", binary.display()))?;
        let output = child.stdout.take().ok_or("no stdout")?;
        Ok(Self { child, output: BufReader::new(output), started, home })
    }

    fn initialize(&mut self) -> Result<Duration, String> {
        let capabilities =
            json!({"general": {"positionEncodings": ["utf-8", "utf-16"]}, "workspace": {"applyEdit": true}});
        let params = json!({"processId": std::process::id(), "rootUri": null, "capabilities": capabilities});
        self.send(&json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}))?;
        let answer = self.receive()?;
        let took = self.started.elapsed();
        if answer["id"] == 1 && answer["result"]["capabilities"].is_object() {
            Ok(took)
        } else {
            Err(format!("initialize is answered with {answer}"))
        }
    }

    fn notify(&mut self, method: &str) -> Result<(), String> {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": {}}))
    }

    /// `VmRSS`, kilobytes.
    fn resident(&self) -> Result<u64, String> {
        let path = format!("/proc/{}/status", self.child.id());
        let status = std::fs::read_to_string(&path).map_err(|error| format!("{path}: {error}"))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kilobytes = line.and_then(|line| line.trim().split(' ').next()?.parse().ok());
        kilobytes.ok_or_else(|| format!("{path} names no VmRSS"))
    }

    fn end(mut self) -> Result<(), String> {
        drop(self.child.stdin.take());
        self.child.wait().map_err(|error| error.to_string())?;
        Ok(())
    }

    fn send(&mut self, message: &Value) -> Result<(), String> {
        let text = message.to_string();
        let input = self.child.stdin.as_mut().ok_or("stdin is closed")?;
        let frame = format!("Content-Length: {}\r\n\r\n{text}", text.len());
        input.write_all(frame.as_bytes()).and_then(|()| input.flush()).map_err(|error| error.to_string())
    }

    fn receive(&mut self) -> Result<Value, String> {
        let mut length = 0;
        loop {
            let mut line = String::new();
            if self.output.read_line(&mut line).map_err(|error| error.to_string())? == 0 {
                return Err("the daemon ended before it answered".to_owned());
            }
            match line.trim_end() {
                "" => break,
                header => {
                    if let Some(value) = header.strip_prefix("Content-Length: ") {
                        length = value.parse().map_err(|_| format!("`{header}` has no length"))?;
                    }
                }
            }
        }
        let mut body = vec![0; length];
        self.output.read_exact(&mut body).map_err(|error| error.to_string())?;
        serde_json::from_slice(&body).map_err(|error| error.to_string())
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // It has ended already where nothing failed.
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.home);
    }
}

pub(crate) fn target(root: &Path) -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), |folder| root.join(folder))
}

/// The load of the last minute, once it allows a verdict or patience has ended.
fn settled_load() -> f64 {
    let start = Instant::now();
    loop {
        let load = std::fs::read_to_string("/proc/loadavg").ok().and_then(|text| text.split(' ').next()?.parse().ok());
        let load: f64 = load.unwrap_or_default();
        if load <= MAX_LOAD || start.elapsed() > LOAD_PATIENCE {
            return load;
        }
        println!("load is {load:.2}: waiting for the machine to come to rest");
        std::thread::sleep(Duration::from_secs(10));
    }
}

fn median<T: Ord + Copy>(mut values: Vec<T>) -> T {
    values.sort_unstable();
    values[values.len() / 2]
}

fn megabytes(kilobytes: u64) -> f64 {
    kilobytes as f64 / 1024.0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A daemon of three lines: reads the request, answers it, waits for the end of its input.
    fn fake(answer: &str) -> (tempfile::TempDir, PathBuf) {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap_or_else(|error| panic!("{error}"));
        let program = folder.path().join("fake");
        let script = format!(
            "#!/bin/sh\nread -r head\nprintf 'Content-Length: {}\\r\\n\\r\\n%s' '{answer}'\ncat >/dev/null\n",
            answer.len()
        );
        std::fs::write(&program, script).unwrap_or_else(|error| panic!("{error}"));
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755))
            .unwrap_or_else(|error| panic!("{error}"));
        (folder, program)
    }

    #[test]
    fn a_daemon_is_started_measured_and_ended() {
        let (_folder, program) = fake(r#"{"jsonrpc":"2.0","id":1,"result":{"capabilities":{}}}"#);
        let measured = Daemon::start(&program).and_then(|mut daemon| {
            let took = daemon.initialize()?;
            let resident = daemon.resident()?;
            daemon.end()?;
            Ok((took, resident))
        });
        assert!(measured.as_ref().is_ok_and(|(took, resident)| !took.is_zero() && *resident > 0), "{measured:?}");
    }

    #[test]
    fn an_error_is_no_answer() {
        let (_folder, program) = fake(r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"no"}}"#);
        let measured = Daemon::start(&program).and_then(|mut daemon| daemon.initialize());
        assert!(measured.is_err_and(|error| error.contains("-32603")));
    }

    #[test]
    fn medians() {
        assert_eq!(median(vec![9, 1, 5]), 5);
    }
}
