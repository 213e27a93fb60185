//! What "always" offers for a command: its first words with `*` behind them. How many words say what a command does is opencode's table,
//! with some programs added; options do not count as words here, and where one stands among them nothing is offered.

use super::command::Call;
use super::{Effect, interpreters, programs, wrappers};

/// Too wide under any prefix: they run or send what their words say.
const NEVER: [&str; 34] = [
    "rm", "dd", "eval", "source", ".", "exec", "find", "curl", "wget", "ssh", "scp", "sftp", "rsync", "nc", "ncat",
    "socat", "telnet", "su", "sudo", "parallel", "watch", "script", "flock", "trap", "shred", "mkfs", "crontab", "at",
    "batch", "tmux", "screen", "awk", "gawk", "kill",
];

/// Programs of which the second word says what is done.
const TWO: [&str; 74] = [
    "bazel",
    "brew",
    "bun",
    "cargo",
    "cdk",
    "cf",
    "cmake",
    "composer",
    "consul",
    "crictl",
    "deno",
    "docker",
    "eksctl",
    "firebase",
    "flyctl",
    "git",
    "go",
    "gradle",
    "helm",
    "heroku",
    "hugo",
    "ip",
    "kind",
    "kubectl",
    "kustomize",
    "make",
    "mc",
    "minikube",
    "mongosh",
    "mysql",
    "mvn",
    "ng",
    "npm",
    "nvm",
    "nx",
    "openssl",
    "pip",
    "pipenv",
    "pnpm",
    "poetry",
    "podman",
    "psql",
    "pulumi",
    "pyenv",
    "rake",
    "rbenv",
    "redis-cli",
    "rustup",
    "serverless",
    "skaffold",
    "sls",
    "sst",
    "swift",
    "systemctl",
    "terraform",
    "tmux",
    "turbo",
    "ufw",
    "vault",
    "vercel",
    "volta",
    "wp",
    "yarn",
    "pip3",
    "just",
    "uv",
    "hg",
    "svn",
    "jj",
    "dotnet",
    "mix",
    "bundle",
    "ninja",
    "task",
];

const THREE: [&str; 5] = ["aws", "az", "doctl", "gcloud", "sfdx"];

/// Two words of which the third says what is done.
const THREE_BY_PAIR: [&str; 54] = [
    "bun run",
    "bun x",
    "cargo add",
    "cargo run",
    "consul kv",
    "deno task",
    "docker builder",
    "docker compose",
    "docker container",
    "docker image",
    "docker network",
    "docker volume",
    "eksctl create",
    "git config",
    "git remote",
    "git stash",
    "git worktree",
    "git submodule",
    "ip addr",
    "ip link",
    "ip netns",
    "ip route",
    "kind create",
    "kubectl kustomize",
    "kubectl rollout",
    "mc admin",
    "npm exec",
    "npm init",
    "npm run",
    "npm view",
    "openssl req",
    "openssl x509",
    "pnpm dlx",
    "pnpm exec",
    "pnpm run",
    "podman container",
    "podman image",
    "pulumi stack",
    "terraform workspace",
    "vault auth",
    "vault kv",
    "yarn dlx",
    "yarn run",
    "gh pr",
    "gh issue",
    "gh run",
    "gh repo",
    "gh api",
    "gh release",
    "gh workflow",
    "gh auth",
    "uv run",
    "poetry run",
    "bundle exec",
];

/// Programs that may read a file or a folder of the name where others have a subcommand, with the words that are always one.
const READING: [(&str, &[&str]); 7] = [
    ("bun", &["add", "build", "install", "run", "test", "x"]),
    ("cmake", &[]),
    ("deno", &["add", "install", "run", "task", "test"]),
    ("dotnet", &["add", "build", "publish", "run", "test"]),
    ("mongosh", &[]),
    ("swift", &["build", "package", "run", "test"]),
    ("vercel", &["build", "deploy", "dev"]),
];

/// Behind these stands a further subcommand or the name of a script, and never that of a file.
const NAMING: [&str; 8] = [
    "npm run",
    "pnpm run",
    "yarn run",
    "deno task",
    "composer run",
    "docker compose",
    "docker image",
    "docker builder",
];

/// How many words at the beginning of `words`, those behind the program's name, say what is done, and name neither a file nor a folder.
pub(super) fn names(base: &str, words: &[Option<&str>]) -> usize {
    let is_plain = |text: &&str| {
        !text.starts_with('-') && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_:-".contains(&byte))
    };
    let plain = |at: usize| words.get(at).copied().flatten().filter(is_plain);
    let Some(first) = plain(0).filter(|_| has_subcommands(base)) else { return 0 };
    match READING.iter().find(|(program, _)| *program == base) {
        Some((_, subcommands)) if !subcommands.contains(&first) => 0,
        _ if NAMING.contains(&format!("{base} {first}").as_str()) && plain(1).is_some() => 2,
        _ => 1,
    }
}

/// Whether the first words behind a program's name say what it does.
pub(super) fn has_subcommands(base: &str) -> bool {
    let has_pair = || THREE_BY_PAIR.iter().any(|pair| pair.split(' ').next() == Some(base));
    TWO.contains(&base) || THREE.contains(&base) || base == "gh" || has_pair()
}

/// How many words say it, with the program's name. `second`: the first word behind that.
pub(super) fn count(base: &str, second: Option<&str>) -> usize {
    match second {
        Some(second) if THREE_BY_PAIR.contains(&format!("{base} {second}").as_str()) => 3,
        _ if THREE.contains(&base) || base == "gh" => 3,
        _ if TWO.contains(&base) => 2,
        _ => 1,
    }
}

/// `None`: only the exact command is offered.
pub(super) fn prefix(call: &Call, effect: &Effect) -> Option<String> {
    let program = call.program()?;
    let base = program.rsplit('/').next().unwrap_or_default();
    let is_wide = NEVER.contains(&base)
        || interpreters::is_shell(base)
        || interpreters::is_interpreter(base)
        || wrappers::wrapper(base).is_some()
        || effect.loses.is_some()
        || call.is_open;
    if is_wide {
        return None;
    }
    let general = programs::general_options(call);
    let texts = call.texts();
    let count = count(base, texts.get(general).copied().flatten());
    // What is there, where the command has fewer words.
    let end = (general + count - 1).min(call.args.len());
    let plain = |text: &str| {
        !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_./+@:%,=-".contains(&byte))
    };
    for (at, arg) in call.args[..end].iter().enumerate() {
        let text = arg.text.as_deref().filter(|text| plain(text))?;
        if at > 0 && at >= general && text.starts_with(['-', '+']) {
            return None;
        }
        if at > 0 && text != arg.raw {
            return None;
        }
    }
    let words: Vec<&str> = texts[..end].iter().copied().flatten().collect();
    Some(format!("{} *", words.join(" ")))
}
