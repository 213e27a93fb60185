//! `copydesk doctor`: what Copydesk needs and finds on this machine, a line each. Mends nothing, and asks the network only with `--online`.

use std::fs::Metadata;
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, ValueEnum};
use copydesk_adapters::langservers::{Standing as ServerStanding, standings};
use copydesk_adapters::providers::{Http, shown_address};
use copydesk_adapters::store::inspect::{StoreState, inspect};
use copydesk_engine::config::{Config, Standing, Survey, Wanted};
use copydesk_engine::confinement::SandboxSettings;
use copydesk_engine::ports::{LanguageServers, ModelErrorKind, ProviderSettings, SandboxSupport, WorkspaceTrust};
use copydesk_protocol::additions::PROTOCOL;
use rustix::fs::{Access, access};
use serde::Serialize;
use serde_json::json;

use super::trust::standing;
use super::{Surroundings, verdict};
use crate::log;

/// For the provider's whole answer, with `--online`.
const ONLINE_LIMIT: Duration = Duration::from_secs(10);

/// Models that are named where the configured one is not among them.
const NAMED: usize = 5;

/// Programs that check a file where no editor does, and the files.
const CHECKERS: [(&str, &str); 3] = [("rustc", "Rust"), ("node", "JavaScript"), ("python3", "Python")];

/// Both spellings are in use.
const PROXIES: [&str; 4] = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"];

#[derive(Debug, Clone, Args)]
pub struct Doctor {
    /// Ask the provider of the model too
    #[arg(long)]
    online: bool,
    #[arg(long, value_enum, default_value = "human")]
    format: Format,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Human,
    Json,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Status {
    Ok,
    /// Works, with something less.
    Warning,
    Error,
}

#[derive(Debug, Serialize)]
struct Finding {
    check: &'static str,
    status: Status,
    /// What was found and, where that is not well, what to do.
    text: String,
}

impl Doctor {
    pub async fn run(self, at: &Surroundings, out: &mut (dyn Write + Send)) -> io::Result<ExitCode> {
        let survey = at.survey().await;
        let mut findings = vec![bash(at), git(at)];
        findings.extend(sandbox(&survey.config.sandbox, at.ports.shell.sandbox()));
        findings.extend(configuration(&survey));
        findings.extend(survey.config.trust.wants.iter().map(trust));
        findings.push(store(at).await);
        findings.push(model(&survey.config, at, self.online).await);
        findings.extend(CHECKERS.map(|(program, files)| checker(at, program, files)));
        findings.extend(language_servers(&survey.config, at));
        findings.extend(plugins(at));
        findings.extend(folders(at));
        findings.extend(searches(&survey.config));
        findings.push(certificates().await);
        findings.extend(proxies(at));
        let is_well = findings.iter().all(|finding| finding.status != Status::Error);
        match self.format {
            Format::Human => print(&findings, out)?,
            Format::Json => {
                let version = env!("CARGO_PKG_VERSION");
                writeln!(out, "{:#}", json!({ "version": version, "ok": is_well, "checks": findings }))?;
            }
        }
        Ok(verdict(is_well))
    }
}

fn print(findings: &[Finding], out: &mut dyn Write) -> io::Result<()> {
    let width = findings.iter().map(|finding| finding.check.len()).max().unwrap_or(0);
    writeln!(out, "copydesk {}", env!("CARGO_PKG_VERSION"))?;
    for Finding { check, status, text } in findings {
        let status = match status {
            Status::Ok => "ok",
            Status::Warning => "warning",
            Status::Error => "ERROR",
        };
        writeln!(out, "{status:<8} {check:<width$}  {text}")?;
    }
    Ok(())
}

fn ok(check: &'static str, text: impl Into<String>) -> Finding {
    Finding { check, status: Status::Ok, text: text.into() }
}

fn warning(check: &'static str, text: impl Into<String>) -> Finding {
    Finding { check, status: Status::Warning, text: text.into() }
}

fn error(check: &'static str, text: impl Into<String>) -> Finding {
    Finding { check, status: Status::Error, text: text.into() }
}

fn bash(at: &Surroundings) -> Finding {
    match at.variables.find_program("bash") {
        Some(path) => ok("bash", path.display().to_string()),
        None => error("bash", "not found in PATH: no command can run. Install bash."),
    }
}

fn git(at: &Surroundings) -> Finding {
    match at.variables.find_program("git") {
        Some(path) => ok("git", path.display().to_string()),
        None => warning("git", "not found in PATH: the model cannot look at the history of a project."),
    }
}

fn sandbox(settings: &SandboxSettings, support: SandboxSupport) -> Vec<Finding> {
    let (by, gaps) = match support {
        SandboxSupport::Missing { reason } => {
            let text = format!("none: {reason}. A command that is allowed to run has all of your rights.");
            return vec![warning("sandbox", text)];
        }
        SandboxSupport::Enforced { by, gaps } => (by, gaps),
    };
    if !settings.enabled {
        let text =
            format!("switched off by `sandbox.enabled`, though {by} are there: commands have all of your rights");
        return vec![warning("sandbox", text)];
    }
    let network =
        if settings.network { "the network is open to them (`sandbox.network`)" } else { "they have no network" };
    let text = format!(
        "by {by}: commands change files only in the workspace and their own temporary folder, keys and other secrets are hidden from them, {network}"
    );
    std::iter::once(ok("sandbox", text)).chain(gaps.into_iter().map(|gap| warning("sandbox", gap))).collect()
}

fn configuration(survey: &Survey) -> Vec<Finding> {
    if survey.config.problems.is_empty() {
        return vec![ok("config", "no problems; `copydesk config path` lists the files")];
    }
    survey.config.problems.iter().map(|problem| warning("config", problem.to_string())).collect()
}

fn trust(wanted: &Wanted) -> Finding {
    let (name, count) = (wanted.capability.name(), wanted.items.iter().filter(|item| item.needs_trust).count());
    let keys = if count == 1 { "1 key".to_owned() } else { format!("{count} keys") };
    let text = format!(
        "{name}: {keys} of this project's configuration would {}: {}; `copydesk trust` shows all",
        wanted.capability,
        standing(wanted.standing)
    );
    match wanted.standing {
        Standing::Waiting => warning("trust", text),
        Standing::Trusted | Standing::Refused | Standing::Withheld => ok("trust", text),
    }
}

async fn store(at: &Surroundings) -> Finding {
    let path = at.environment().folders().data.join("copydesk.db");
    let shown = path.to_string();
    match tokio::task::spawn_blocking(move || inspect(&path)).await {
        Ok(Ok(StoreState::Absent)) => ok("store", format!("{shown} will be made by the first session")),
        Ok(Ok(StoreState::Usable { sessions, older })) => {
            let older = if older { "; of an older format, which the next session brings up to date" } else { "" };
            ok("store", format!("{shown}: {sessions} sessions{older}"))
        }
        Ok(Err(cause)) => error("store", cause.to_string()),
        Err(_) => error("store", format!("{shown} could not be looked at; the log says why")),
    }
}

async fn model(config: &Config, at: &Surroundings, online: bool) -> Finding {
    let remembered = config.remembered.as_ref().and_then(|model| config.model(model));
    let set = config.model.as_ref().and_then(|model| config.model(model)).or(remembered);
    let Some(model) = set.or_else(|| config.models.first().cloned()) else {
        return warning(
            "model",
            "none is set: a prompt looks for a model server on this machine. Set `model`, see docs/configuration.md.",
        );
    };
    let provider = &model.provider;
    let name = format!("{} at {}", short(&model.model.to_string()), shown_address(&provider.base_url));
    if !online {
        let key = if provider.key.is_some() { "with a key" } else { "without a key" };
        return ok("model", format!("{name}, {key}; not asked (--online does)"));
    }
    match at.ports.model.offered(provider.clone(), ONLINE_LIMIT).await {
        Ok(None) => warning(
            "model",
            format!("{name}: something answers there, but lists no models; a prompt tells whether the model does"),
        ),
        Ok(Some(offered)) if offered.is_empty() || offered.contains(&model.sent_as.model) => {
            ok("model", format!("{name} answers"))
        }
        Ok(Some(offered)) => warning("model", not_listed(&name, provider, &offered)),
        Err(cause) => match cause.kind {
            ModelErrorKind::RateLimited { .. } | ModelErrorKind::Overloaded { .. } => {
                warning("model", format!("{name}: {cause}"))
            }
            _ => error("model", format!("{name}: {cause}")),
        },
    }
}

fn not_listed(name: &str, provider: &ProviderSettings, offered: &[String]) -> String {
    let some: Vec<String> = offered.iter().take(NAMED).map(|name| short(name)).collect();
    let more = if offered.len() > NAMED { " …" } else { "" };
    format!("{name} is not among the models that {} lists: {}{more}", provider.id, some.join(", "))
}

/// Names come from servers: one may be as long as it likes.
fn short(name: &str) -> String {
    const LONGEST: usize = 100;
    if name.chars().count() <= LONGEST {
        return name.to_owned();
    }
    format!("{}…", name.chars().take(LONGEST).collect::<String>())
}

fn checker(at: &Surroundings, program: &'static str, files: &str) -> Finding {
    match at.variables.find_program(program) {
        Some(path) => ok("checks", format!("{files} by {}", path.display())),
        None => warning("checks", format!("{program} not found: {files} is checked only by editors that do it")),
    }
}

/// A line for each that this project or the configuration wants and that is not there; all others in one.
fn language_servers(config: &Config, at: &Surroundings) -> Vec<Finding> {
    const CHECK: &str = "servers";
    if config.language_servers == LanguageServers::Off {
        return vec![ok(CHECK, "language servers are switched off by `lsp`")];
    }
    let all = standings(&config.language_servers, std::slice::from_ref(&at.folder), &at.variables);
    let trusts = config.trusts_programs(WorkspaceTrust::Unknown);
    let waits = |standing: &ServerStanding| standing.waits_for_trust && !trusts;
    let found = all.iter().filter_map(|standing| {
        let waits = if waits(standing) { " (where the workspace is trusted)" } else { "" };
        standing.found.as_ref().map(|program| format!("{} by {}{waits}", standing.name, program.display()))
    });
    let found: Vec<String> = found.collect();
    let missing = all.iter().filter(|standing| standing.found.is_none() && standing.is_wanted);
    let missing: Vec<Finding> = missing
        .map(|standing| {
            let programs = standing.programs.join(" or ");
            let text = format!("{programs} not found: {} speaks only where an editor has it", standing.name);
            warning(CHECK, text)
        })
        .collect();
    let known = all.len() - found.len() - missing.len();
    let rest = format!("{known} more are known and not there, and nothing here asks for them");
    let text = if found.is_empty() { rest } else { format!("{}; {rest}", found.join(", ")) };
    std::iter::once(ok(CHECK, text)).chain(missing).collect()
}

/// Of the editors whose plugins lie in files that can be found.
fn plugins(at: &Surroundings) -> Vec<Finding> {
    let folders = at.environment().folders();
    let data = folders.data.parent().unwrap_or_else(|| folders.data.clone()).join("nvim");
    let (data, config) = (data.as_path(), folders.config.join("nvim"));
    let mut packages = children(&data.join("lazy"));
    for packs in [data.join("site/pack"), config.as_path().join("pack")] {
        for pack in children(&packs) {
            packages.extend(children(&pack.join("start")));
            packages.extend(children(&pack.join("opt")));
        }
    }
    // A clone of the repository holds the plugin below `editors`.
    let candidates = packages.into_iter().flat_map(|package| [package.join("editors/neovim"), package]);
    candidates.filter_map(|plugin| neovim_plugin(&plugin)).collect()
}

fn neovim_plugin(folder: &Path) -> Option<Finding> {
    let text = std::fs::read_to_string(folder.join("lua/copydesk/client.lua")).ok()?;
    let protocol = text.lines().find_map(|line| line.strip_prefix("M.PROTOCOL = "))?.trim().to_owned();
    let shown = format!("Neovim: {}, protocol {protocol}", folder.display());
    Some(if protocol == PROTOCOL.to_string() {
        ok("plugins", shown)
    } else {
        error("plugins", format!("{shown}, but this daemon speaks {PROTOCOL}. Update the older of the two."))
    })
}

fn children(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
    found.sort();
    found
}

fn folders(at: &Surroundings) -> Vec<Finding> {
    let folders = at.environment().folders();
    let mut findings = vec![
        existing("folders", "configuration", folders.config.join("copydesk").as_path(), Privacy::Open),
        existing("folders", "data", folders.data.as_path(), Privacy::Wanted),
    ];
    findings.extend(unwritable(folders.data.as_path()));
    for name in ["auth.json", "copydesk.db", "model.json"] {
        let path = folders.data.join(name);
        if path.as_path().exists() {
            let privacy = if name == "auth.json" { Privacy::Needed } else { Privacy::Wanted };
            findings.push(existing("files", name, path.as_path(), privacy));
        }
    }
    findings.push(existing("log", "log", &log::path(at.environment()), Privacy::Wanted));
    findings
}

/// Where sessions, keys and the log could not be kept. A folder that is not there yet is made in the nearest one that is.
fn unwritable(folder: &Path) -> Option<Finding> {
    let (nearest, found) = folder.ancestors().find_map(|at| std::fs::metadata(at).ok().map(|found| (at, found)))?;
    let reason = if !found.is_dir() {
        "is no folder"
    } else if access(nearest, Access::WRITE_OK | Access::EXEC_OK).is_err() {
        "cannot be written"
    } else {
        return None;
    };
    let text = format!(
        "data: {} {reason}, so no session can be kept; mend that, or set XDG_DATA_HOME to a folder of yours",
        nearest.display()
    );
    Some(error("folders", text))
}

#[derive(PartialEq)]
enum Privacy {
    Open,
    Wanted,
    /// Not used otherwise.
    Needed,
}

fn existing(check: &'static str, what: &str, path: &Path, privacy: Privacy) -> Finding {
    let shown = path.display();
    match std::fs::metadata(path) {
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => ok(check, format!("{what}: {shown} (not there yet)")),
        Err(cause) => error(check, format!("{what}: {shown} cannot be looked at: {cause}")),
        Ok(found) => {
            let mode = found.mode() & 0o7777;
            if is_foreign(&found) {
                return error(check, format!("{what}: {shown} belongs to another user; change its owner"));
            }
            let text = format!("{what}: {shown} (mode {mode:o})");
            match privacy {
                Privacy::Wanted if mode & 0o077 != 0 => {
                    warning(check, format!("{text}: other users can reach it; `chmod go= {shown}`"))
                }
                Privacy::Needed if mode & 0o077 != 0 => error(
                    check,
                    format!("{text}: its keys are not used, since other users can reach them; `chmod go= {shown}`"),
                ),
                _ => ok(check, text),
            }
        }
    }
}

fn is_foreign(found: &Metadata) -> bool {
    found.uid() != rustix::process::getuid().as_raw()
}

/// Where the agent that sessions start with may search.
fn searches(config: &Config) -> Option<Finding> {
    let agent = config.agents.get(&config.default_agent)?;
    agent.tools.get("websearch").copied().filter(|is_on| *is_on)?;
    let Some(service) = &config.web.search else {
        return Some(warning("websearch", "switched on, but its service is not set up; see docs/configuration.md"));
    };
    let key = if service.key.is_some() { "with a key" } else { "without a key" };
    let name = service.kind.name();
    Some(ok("websearch", format!("{name} at {}, {key}; not asked here", service.address.origin())))
}

async fn certificates() -> Finding {
    match tokio::task::spawn_blocking(Http::check_certificates).await {
        Ok(Ok(())) => ok("network", "certificates of this machine found"),
        Ok(Err(cause)) => warning(
            "network",
            format!(
                "no certificates: {cause}. Install `ca-certificates`, or set SSL_CERT_FILE; http:// works without."
            ),
        ),
        Err(_) => error("network", "the certificates of this machine could not be read; the log says why"),
    }
}

fn proxies(at: &Surroundings) -> Vec<Finding> {
    let value = |name: &str| at.environment().var(name).filter(|value| !value.trim().is_empty());
    PROXIES
        .into_iter()
        .filter_map(|name| Some((name, value(&name.to_ascii_lowercase()).or_else(|| value(name))?)))
        .map(|(name, value)| ok("network", format!("{name} is {}", without_password(&value))))
        .collect()
}

fn without_password(url: &str) -> String {
    match (url.find("://"), url.rfind('@')) {
        (Some(scheme), Some(at)) if scheme < at => format!("{}://…{}", &url[..scheme], &url[at..]),
        (None, Some(at)) => format!("…{}", &url[at..]),
        _ => url.to_owned(),
    }
}
