//! Which programs reach the network, by their names and the words that decide. What `git` and other version control do is said with them.

use super::command::Call;
use super::without_options::first_words;

/// Whether `name` may reach the network.
pub(super) fn is_reached(name: &str, call: &Call) -> bool {
    const ALWAYS: [&str; 36] = [
        "curl",
        "wget",
        "ssh",
        "scp",
        "sftp",
        "rsync",
        "nc",
        "ncat",
        "netcat",
        "socat",
        "telnet",
        "ftp",
        "ping",
        "dig",
        "nslookup",
        "host",
        "whois",
        "aria2c",
        "httpie",
        "http",
        "https",
        "xh",
        "gh",
        "glab",
        "aws",
        "az",
        "gcloud",
        "kubectl",
        "helm",
        "terraform",
        "psql",
        "mysql",
        "apt",
        "apt-get",
        "brew",
        "mosh",
    ];
    const BY_WORD: &[(&str, &[&str])] = &[
        (
            "npm",
            &[
                "install", "i", "ci", "add", "update", "publish", "audit", "view", "exec", "init", "create",
                "outdated", "login", "info", "search",
            ],
        ),
        ("pnpm", &["install", "i", "add", "update", "publish", "audit", "dlx", "create", "outdated", "import"]),
        ("yarn", &["", "install", "add", "upgrade", "publish", "audit", "dlx", "create", "info"]),
        ("bun", &["install", "i", "add", "update", "x", "create", "publish"]),
        ("deno", &["install", "run", "cache", "add", "test", "task"]),
        (
            "cargo",
            &[
                "add",
                "install",
                "update",
                "fetch",
                "publish",
                "search",
                "login",
                "build",
                "b",
                "run",
                "r",
                "test",
                "t",
                "check",
                "c",
                "bench",
                "doc",
                "clippy",
                "fix",
                "vendor",
                "metadata",
                "tree",
                "nextest",
                "generate-lockfile",
            ],
        ),
        ("go", &["get", "install", "mod", "run", "build", "test", "list", "generate", "work"]),
        ("pip", &["install", "download", "search", "index", "wheel"]),
        ("pip3", &["install", "download", "search", "index", "wheel"]),
        ("uv", &["pip", "add", "sync", "lock", "run", "tool", "python", "publish", "build"]),
        ("poetry", &["install", "add", "update", "lock", "publish"]),
        ("bundle", &["install", "update", "add", "outdated"]),
        ("gem", &["install", "update", "fetch", "push"]),
        ("docker", &["pull", "push", "run", "build", "login", "compose", "buildx", "search"]),
        ("podman", &["pull", "push", "run", "build", "login", "search"]),
        ("composer", &["install", "update", "require"]),
        ("rustup", &["update", "install", "toolchain", "component", "target", "self"]),
    ];
    if ALWAYS.contains(&name) {
        return true;
    }
    let Some((_, subcommands)) = BY_WORD.iter().find(|(program, _)| *program == name) else { return false };
    // Its first word that is neither an option nor its value; where it is not known, it might be any.
    first_words(name, call.words()).into_iter().any(|at| match call.words().get(at) {
        Some(arg) => arg.text.as_deref().is_none_or(|text| subcommands.contains(&text)),
        None => subcommands.contains(&""),
    })
}
