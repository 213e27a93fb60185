//! The merged trees become the typed configuration: agents with their rules, providers, models, limits.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU64;

use copydesk_workspace::path::AbsPath;
use tracing::Level;

use super::decode::decode;
use super::node::Node;
use super::providers::providers;
use super::raw::{ModelName, RawAgent, RawConfig, RawLogLevel, RawMode};
use super::rules::{Author, rules};
use super::sandbox::sandbox;
use super::skills::{self, skills};
use super::switches::ToolVariables;
use super::trust::TrustReport;
use super::web::{KEY_VARIABLES, web};
use super::{Config, Problem, Source};
use crate::agent::{self, Agent, AgentMode};
use crate::message::ModelRef;
use crate::permission::{Guards, Mode, Rule, spill_rule};
use crate::ports::{Capability, Environment, Ports};
use crate::run::TurnLimits;
use crate::tool::Facts;

/// Built-in agents of opencode that do not exist here: what is written about them makes no agent of that name.
const NOT_HERE: [&str; 5] = ["general", "explore", "compaction", "title", "summary"];

/// Checked and normalised; of the project only what is trusted or needs no trust.
pub(super) struct Trees {
    pub(super) user: Node,
    pub(super) project: Node,
    /// Both, merged in order of precedence. Permissions are never read from it.
    pub(super) all: Node,
    pub(super) tools: ToolVariables,
}

pub(super) fn assemble(
    mut trees: Trees,
    trust: TrustReport,
    facts: &Facts,
    ports: &Ports,
    guarded: &[Rule],
    mut problems: Vec<Problem>,
) -> Config {
    let user: RawConfig = decode(&mut trees.user, &mut problems);
    let project: RawConfig = decode(&mut trees.project, &mut problems);
    let all: RawConfig = decode(&mut trees.all, &mut problems);

    let (environment, secrets) = (ports.environment.as_ref(), ports.secrets.as_ref());
    let home = &environment.folders().home;
    let found = providers(&all, &trees.all, &user, &project, secrets, &mut problems);
    let web = web(&user, &trees.user, environment, secrets, &mut problems);
    let skills = skills(&user, &project, &trees.user, facts, environment, &mut problems);
    let guards: Guards = (&user.guards).into();
    let author = if trust.is_trusted(Capability::Permissions) { Author::TrustedProject } else { Author::Project };
    let starters = Starters { user: &user, author };
    let bounds = Bounds { guards: &guards, guarded, skills: &skills::rules(&skills), searches: web.is_chosen };
    let agents = agents(&all, &starters, &bounds, &trees, facts, home, &mut problems);
    let mut config = Config {
        agents,
        providers: found.providers,
        models: found.models,
        key_variables: key_variables(found.key_variables),
        instructions: all.instructions,
        permission_mode: permission_mode(&user, &project, &trees.project, &mut problems),
        log_level: user.log_level.map(log_level),
        guards,
        limits: TurnLimits::from(&user.limits).lowest((&project.limits).into()),
        continue_on_reject: all.experimental.continue_loop_on_deny.unwrap_or(false),
        language_servers: all.lsp.into(),
        formatters: all.formatter.into(),
        sandbox: sandbox(&user.sandbox, &project.sandbox, facts, home),
        web,
        skills,
        ..Config::default()
    };
    if let Some(lines) = all.tool_output.max_lines {
        config.max_output_lines = usize::try_from(lines.0).unwrap_or(usize::MAX);
    }
    if let Some(bytes) = all.tool_output.max_bytes {
        config.max_output_bytes = usize::try_from(bytes.0).unwrap_or(usize::MAX);
    }
    if let Some(timeout) = command_timeout(environment, &mut problems) {
        config.command_timeout = timeout;
    }
    if let Some(bytes) = user.undo.max_bytes {
        config.max_undo_bytes = bytes.0;
    }
    if let Some(bytes) = all.attachment.image.max_base64_bytes {
        config.max_image_base64_bytes = bytes.0;
    }

    config.model = known_model(all.model, &["model"], &config, &trees.all, &mut problems);
    for (name, raw) in all.agent {
        if config.agents.contains_key(&name) {
            let model = known_model(raw.model, &["agent", &name, "model"], &config, &trees.all, &mut problems);
            config.agents.entry(name).and_modify(|agent| agent.model = model);
        }
    }
    let chosen: Vec<ModelRef> =
        config.model.iter().chain(config.agents.values().filter_map(|agent| agent.model.as_ref())).cloned().collect();
    for model in chosen {
        if config.models.iter().all(|listed| listed.model != model) {
            let unlisted = config.model(&model);
            config.models.extend(unlisted);
        }
    }

    choose_default_agent(&mut config, all.default_agent, &starters, &trees.all, &mut problems);
    config.problems = problems;
    config.trust = trust;
    config
}

/// Rules that no configuration writes.
struct Bounds<'a> {
    guards: &'a Guards,
    guarded: &'a [Rule],
    skills: &'a [Rule],
    /// Whether the user has chosen a search service.
    searches: bool,
}

/// Those of search services too: a command that the model runs sees none.
fn key_variables(of_providers: Vec<String>) -> Vec<String> {
    let more = KEY_VARIABLES.iter().map(|&name| name.to_owned()).filter(|name| !of_providers.contains(name));
    let more: Vec<String> = more.collect();
    [of_providers, more].concat()
}

fn agents(
    all: &RawConfig,
    starters: &Starters<'_>,
    bounds: &Bounds<'_>,
    trees: &Trees,
    facts: &Facts,
    home: &AbsPath,
    problems: &mut Vec<Problem>,
) -> BTreeMap<String, Agent> {
    let built_in = agent::built_in(Some(facts));
    let make = |name: &str, raw: &RawAgent| {
        let mut agent = built_in.get(name).cloned().unwrap_or_else(|| Agent::new(name, Some(facts)));
        configure(&mut agent, raw);
        let own = ["agent", name];
        agent.rules.extend_from_slice(bounds.skills);
        agent.rules.extend(rules(Some(&trees.user), Author::User, home));
        agent.rules.extend(rules(Some(&trees.project), starters.author, home));
        agent.rules.extend(rules(trees.user.at(&own), Author::User, home));
        agent.rules.extend(rules(trees.project.at(&own), starters.author, home));
        agent.rules.extend(spill_rule(facts, &agent.rules));
        agent.rules.extend_from_slice(bounds.guarded);
        agent.rules.retain(|rule| bounds.guards.keep(rule));
        agent.tools = trees.tools.over(all, name);
        if bounds.searches {
            agent.tools.entry("websearch".to_owned()).or_insert(true);
        }
        agent
    };
    let unconfigured = RawAgent::default();
    let names: BTreeSet<&String> = built_in.keys().chain(all.agent.keys()).collect();
    let mut agents: BTreeMap<String, Agent> = names
        .into_iter()
        .map(|name| (name, all.agent.get(name).unwrap_or(&unconfigured)))
        .filter(|(name, raw)| raw.disable != Some(true) && !NOT_HERE.contains(&name.as_str()))
        .map(|(name, raw)| (name.clone(), make(name, raw)))
        .collect();
    if starters.of(&agents).next().is_none() {
        let text = "no agent is left to start with; `plan` is kept, which changes no file";
        let place = &trees.all.get("agent").unwrap_or(&trees.all).place;
        problems.push(place.problem("agent".to_owned(), text));
        agents.insert(agent::PLAN.to_owned(), make(agent::PLAN, &unconfigured));
    }
    agents
}

/// Which agents a session may start with. A project's own are to be chosen by the user, unless he trusts its permissions.
struct Starters<'a> {
    user: &'a RawConfig,
    /// Of the project's rules.
    author: Author,
}

impl Starters<'_> {
    fn of<'a>(&'a self, agents: &'a BTreeMap<String, Agent>) -> impl Iterator<Item = &'a String> {
        let may_start = |name: &str| {
            let is_own = name == agent::BUILD || name == agent::PLAN || self.user.agent.contains_key(name);
            is_own || self.author == Author::TrustedProject
        };
        agents.values().filter(move |agent| agent.is_selectable() && may_start(&agent.name)).map(|agent| &agent.name)
    }
}

fn configure(agent: &mut Agent, raw: &RawAgent) {
    if let Some(description) = &raw.description {
        agent.description.clone_from(description);
    }
    if let Some(mode) = raw.mode {
        agent.mode = match mode {
            RawMode::Primary => AgentMode::Primary,
            RawMode::Subagent => AgentMode::Subagent,
            RawMode::All => AgentMode::All,
        };
    }
    agent.hidden = raw.hidden.unwrap_or(agent.hidden);
    agent.prompt = raw.prompt.clone().filter(|prompt| !prompt.trim().is_empty());
    agent.temperature = raw.temperature.map(|number| number.0);
    agent.top_p = raw.top_p.map(|number| number.0);
    agent.steps = raw.steps.map(|steps| u32::try_from(steps.0).unwrap_or(u32::MAX));
}

/// A project's word counts where it is the stricter.
fn permission_mode(user: &RawConfig, project: &RawConfig, tree: &Node, problems: &mut Vec<Problem>) -> Mode {
    let users = user.permission_mode.unwrap_or_default();
    let Some(wanted) = project.permission_mode else { return users };
    if wanted > users {
        let key = "permission_mode";
        let place = &tree.get(key).unwrap_or(tree).place;
        let text = "left out, since this is a project's configuration and it would allow more than your own does; choose the mode yourself if you want it";
        problems.push(place.problem(key.to_owned(), text));
    }
    users.min(wanted)
}

/// By our variable, or else by opencode's.
fn command_timeout(environment: &dyn Environment, problems: &mut Vec<Problem>) -> Option<NonZeroU64> {
    ["COPYDESK_BASH_DEFAULT_TIMEOUT_MS", "OPENCODE_EXPERIMENTAL_BASH_DEFAULT_TIMEOUT_MS"].into_iter().find_map(|name| {
        let value = environment.var(name).filter(|value| !value.trim().is_empty())?;
        let timeout = value.trim().parse().ok();
        if timeout.is_none() {
            let text = format!("expected milliseconds, a whole number from 1, and not {value:?}; it is left out");
            problems.push(Problem { source: Source::Variable(name.to_owned()), line: None, key: None, text });
        }
        timeout
    })
}

fn log_level(raw: RawLogLevel) -> Level {
    match raw {
        RawLogLevel::Error => Level::ERROR,
        RawLogLevel::Warn => Level::WARN,
        RawLogLevel::Info => Level::INFO,
        RawLogLevel::Debug => Level::DEBUG,
        RawLogLevel::Trace => Level::TRACE,
    }
}

fn known_model(
    wanted: Option<ModelName>,
    path: &[&str],
    config: &Config,
    tree: &Node,
    problems: &mut Vec<Problem>,
) -> Option<ModelRef> {
    let ModelName(wanted) = wanted?;
    if config.providers.contains_key(&wanted.provider) {
        return Some(wanted);
    }
    let known: Vec<&str> = config.providers.keys().map(String::as_str).collect();
    let text = format!(
        "there is no provider `{}`; describe it under `provider.{}`, or use one of: {}",
        wanted.provider,
        wanted.provider,
        known.join(", ")
    );
    problems.push(tree.at(path).unwrap_or(tree).place.problem(path.join("."), text));
    None
}

fn choose_default_agent(
    config: &mut Config,
    wanted: Option<String>,
    starters: &Starters<'_>,
    tree: &Node,
    problems: &mut Vec<Problem>,
) {
    let starters: Vec<String> = starters.of(&config.agents).cloned().collect();
    if let Some(wanted) = wanted {
        if starters.contains(&wanted) {
            config.default_agent = wanted;
            return;
        }
        let expected = starters.join(", ");
        let text = format!("there is no agent `{wanted}` to start with; expected one of: {expected}");
        problems.push(tree.get("default_agent").unwrap_or(tree).place.problem("default_agent".to_owned(), text));
    }
    let build_or_first = starters.iter().find(|&name| name == agent::BUILD).or(starters.first());
    if let Some(name) = build_or_first {
        config.default_agent.clone_from(name);
    }
}
