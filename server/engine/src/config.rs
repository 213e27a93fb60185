//! Configuration: what was written in files becomes one typed value, problems included. Reads through `Files`, `Environment` and `Secrets`; runs nothing.

mod assemble;
mod decode;
mod known;
mod load;
mod markdown;
mod node;
mod normalise;
mod places;
mod project_size;
mod providers;
mod raw;
mod remembered;
mod rules;
mod sandbox;
mod shared;
mod skills;
mod substitute;
mod survey;
mod switches;
mod trees;
mod trust;
mod untrusted;
mod web;
mod yaml;

use std::collections::BTreeMap;
use std::fmt;
use std::num::NonZeroU64;
use std::sync::Arc;

use copydesk_workspace::path::AbsPath;

use crate::agent::{self, Agent};
use crate::confinement::SandboxSettings;
use crate::cost::Prices;
use crate::format::Formatters;
use crate::history::Takes;
use crate::image::MAX_BASE64_BYTES;
use crate::message::ModelRef;
use crate::permission::{Guard, Guards, Mode};
use crate::ports::{Capability, LanguageServers, ModelSettings, ProviderSettings, WorkspaceTrust};
use crate::run::TurnLimits;
use crate::skills::SkillSettings;
use crate::undo::MOST_KEPT;
use crate::web::WebSettings;

pub use load::{EditorSays, load, survey};
pub(crate) use markdown::front_matter;
pub use raw::config_schema;
pub(crate) use remembered::remember;
pub(crate) use shared::SharedConfigs;
pub use survey::{Found, LookedAt, Statement, Survey, describe};
pub use trust::{Change, Standing, TrustReport, Wanted, WantedItem};

/// Two minutes, as opencode has it.
const USUAL_TIMEOUT: NonZeroU64 = NonZeroU64::new(120_000).expect("it is not zero");

#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    pub model: Option<ModelRef>,
    /// Chosen in an earlier session while `model` was not set; in force where `model` still is not.
    pub remembered: Option<ModelRef>,
    pub default_agent: String,
    /// By name; `build` and `plan` are always there unless disabled.
    pub agents: BTreeMap<String, Agent>,
    /// By id: those that can be reached, their models listed or not.
    pub providers: BTreeMap<String, Arc<ProviderSettings>>,
    /// Those that the configuration names.
    pub models: Vec<ConfiguredModel>,
    /// Paths and globs, as written, of further instruction files.
    pub instructions: Vec<String>,
    pub max_output_lines: usize,
    pub max_output_bytes: usize,
    /// Of a command that names none, milliseconds.
    pub command_timeout: NonZeroU64,
    /// Contents of changed files that are kept for undo, over all sessions. From the user's files alone.
    pub max_undo_bytes: u64,
    /// Of an image in a prompt, in bytes of base64.
    pub max_image_base64_bytes: u64,
    /// `None`: warnings. The project has no say in it.
    pub log_level: Option<tracing::Level>,
    /// opencode's `experimental.continue_loop_on_deny`.
    pub continue_on_reject: bool,
    /// From the user's files alone.
    pub guards: Guards,
    /// The user's, lowered by the project's.
    pub limits: TurnLimits,
    /// From the user's files, and from those of a project that is trusted to run programs.
    pub language_servers: LanguageServers,
    /// As `language_servers`.
    pub formatters: Formatters,
    /// From the user's files; a project only makes it stricter.
    pub sandbox: SandboxSettings,
    /// In which sessions start. From the user's files; a project only makes it stricter.
    pub permission_mode: Mode,
    /// From the user's files alone.
    pub web: WebSettings,
    pub skills: SkillSettings,
    /// Shown to the user when a session opens.
    pub problems: Vec<Problem>,
    /// What the project wants that needs the user's word, and whether he gave it.
    pub trust: TrustReport,
    /// Every variable whose value may be a key of a provider; hidden from children (R19.3).
    pub key_variables: Vec<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ConfiguredModel {
    /// As the user writes it.
    pub model: ModelRef,
    /// As the provider knows it: what a request carries.
    pub sent_as: ModelRef,
    pub name: String,
    pub provider: Arc<ProviderSettings>,
    pub settings: ModelSettings,
    /// Whether an agent's temperature may be sent.
    pub takes_temperature: bool,
    /// What it is sent beside text.
    pub takes: Takes,
    pub prices: Option<Prices>,
}

/// Something in a configuration that was not taken; the rest is in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    pub source: Source,
    /// One-based; `None` where it concerns the whole source.
    pub line: Option<usize>,
    /// Dotted, e.g. `agent.build.steps`.
    pub key: Option<String>,
    /// What is wrong and what is expected. Never a value from the configuration that may be secret.
    pub text: String,
}

/// Where a piece of configuration was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    File(AbsPath),
    /// An environment variable, by name.
    Variable(String),
    /// The editor's settings.
    Editor,
}

impl Default for Config {
    /// What holds without any file, except the rules that name folders of the session.
    fn default() -> Self {
        Self {
            model: None,
            remembered: None,
            default_agent: agent::BUILD.to_owned(),
            agents: agent::built_in(None),
            providers: BTreeMap::new(),
            models: Vec::new(),
            instructions: Vec::new(),
            max_output_lines: 2000,
            max_output_bytes: 51_200,
            command_timeout: USUAL_TIMEOUT,
            max_undo_bytes: MOST_KEPT,
            max_image_base64_bytes: MAX_BASE64_BYTES,
            log_level: None,
            continue_on_reject: false,
            guards: Guards::default(),
            limits: TurnLimits::default(),
            language_servers: LanguageServers::default(),
            formatters: Formatters::default(),
            sandbox: SandboxSettings::default(),
            permission_mode: Mode::default(),
            web: WebSettings::default(),
            skills: SkillSettings::default(),
            problems: Vec::new(),
            trust: TrustReport::default(),
            key_variables: Vec::new(),
        }
    }
}

impl Config {
    /// Whether programs of the project may run: the user has said so here, or where it stands the editor's word for it.
    pub fn trusts_programs(&self, editor: WorkspaceTrust) -> bool {
        let wanted = self.trust.of(Capability::Programs).map(|wanted| wanted.standing);
        match (editor, wanted) {
            (WorkspaceTrust::Untrusted, _) | (_, Some(Standing::Refused | Standing::Withheld)) => false,
            (_, Some(Standing::Trusted)) | (WorkspaceTrust::Trusted, None) => true,
            (WorkspaceTrust::Trusted | WorkspaceTrust::Unknown, _) => !self.guards.is_on(Guard::Trust),
        }
    }

    /// Model servers that usually run on this machine, at an address of this machine. Nobody has asked whether they run.
    pub fn local_servers(&self) -> Vec<Arc<ProviderSettings>> {
        let local = |id: &str| known::KNOWN_PROVIDERS.iter().any(|known| known.id == id && known.is_local());
        self.providers
            .values()
            .filter(|provider| local(&provider.id) && is_loopback(&provider.base_url))
            .cloned()
            .collect()
    }

    /// What a project's configuration has that is not in force, each as it may be told beside `problems`.
    pub fn left_out(&self) -> impl Iterator<Item = Problem> {
        self.trust.wants.iter().flat_map(Wanted::left_out)
    }

    /// The model of this name: with its settings where the configuration lists it, with none where only its provider is known.
    pub fn model(&self, wanted: &ModelRef) -> Option<ConfiguredModel> {
        if let Some(listed) = self.models.iter().find(|listed| listed.model == *wanted) {
            return Some(listed.clone());
        }
        self.providers.get(&wanted.provider).map(|provider| ConfiguredModel {
            model: wanted.clone(),
            sent_as: wanted.clone(),
            name: wanted.model.clone(),
            provider: Arc::clone(provider),
            settings: ModelSettings::default(),
            takes_temperature: true,
            takes: providers::takes(provider.wire, &wanted.model, None, None),
            prices: None,
        })
    }
}

/// Of an address with `http://` or `https://`: whether it never leaves the machine.
fn is_loopback(url: &str) -> bool {
    let authority = url.split("://").nth(1).unwrap_or_default().split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    let host = match host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, _)) => address,
        None => host.split(':').next().unwrap_or_default(),
    };
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

impl ConfiguredModel {
    /// The settings of a request in which `agent` speaks: the agent's own sampling before the model's.
    pub fn settings_for(&self, agent: &Agent) -> ModelSettings {
        let mut settings = self.settings.clone();
        settings.top_p = agent.top_p.or(settings.top_p);
        settings.temperature = if self.takes_temperature { agent.temperature.or(settings.temperature) } else { None };
        settings
    }
}

/// `/home/u/.config/copydesk/copydesk.jsonc:4: agent.build.steps: expected …`
impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.source.fmt(f)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        if let Some(key) = &self.key {
            write!(f, ": {key}")?;
        }
        write!(f, ": {}", self.text)
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::File(path) => path.fmt(f),
            Source::Variable(name) => write!(f, "variable {name}"),
            Source::Editor => f.write_str("the editor's settings"),
        }
    }
}
