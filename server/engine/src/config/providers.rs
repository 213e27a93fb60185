//! Providers and models out of the merged configuration and the table of known ones. Reaches none of them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use super::known::{KNOWN_PROVIDERS, OTHER_KEY_VARIABLES};
use super::node::{Node, Value};
use super::raw::{Decimal, Interleaved, Limit, RawConfig, RawCost, RawModel, RawProvider, RawRates, Whole};
use super::{ConfiguredModel, Problem};
use crate::cost::{Prices, Rates};
use crate::history::Takes;
use crate::message::ModelRef;
use crate::ports::{ModelSettings, ProviderSettings, Secrets, WireProtocol, is_local};

/// More would be a part of the outage.
const MAX_RETRIES: u32 = 5;

const DEFAULT_TIMEOUT: Duration = Duration::from_millis(300_000);
/// A server without a graphics card may read a long prompt for as long.
const LOCAL_TIMEOUT: Duration = Duration::from_millis(900_000);

pub(super) struct Providers {
    pub(super) providers: BTreeMap<String, Arc<ProviderSettings>>,
    pub(super) models: Vec<ConfiguredModel>,
    pub(super) key_variables: Vec<String>,
}

/// `raw` is everything merged, with its `tree`; `user` and `project` are the two halves by themselves, since a project may only take providers away.
pub(super) fn providers(
    raw: &RawConfig,
    tree: &Node,
    user: &RawConfig,
    project: &RawConfig,
    secrets: &dyn Secrets,
    problems: &mut Vec<Problem>,
) -> Providers {
    let mut found = Providers { providers: BTreeMap::new(), models: Vec::new(), key_variables: Vec::new() };
    let ids: BTreeSet<&str> =
        KNOWN_PROVIDERS.iter().map(|known| known.id).chain(raw.provider.keys().map(String::as_str)).collect();
    let unconfigured = RawProvider::default();
    for id in ids {
        let written = raw.provider.get(id).unwrap_or(&unconfigured);
        if !is_enabled(id, user, project) {
            continue;
        }
        let Some(settings) = provider(id, written, tree, user, secrets, problems) else { continue };
        let settings = Arc::new(settings);
        let models = written.models.iter().map(|(key, written)| model(id, key, written, &settings));
        found.models.extend(models);
        found.providers.insert(id.to_owned(), settings);
    }
    found.key_variables = key_variables(raw, tree);
    found
}

fn is_enabled(id: &str, user: &RawConfig, project: &RawConfig) -> bool {
    let names = |list: &Option<Vec<String>>| list.as_ref().map(|names| names.iter().any(|name| name == id));
    [user, project]
        .iter()
        .all(|half| names(&half.enabled_providers) != Some(false) && names(&half.disabled_providers) != Some(true))
}

fn provider(
    id: &str,
    written: &RawProvider,
    tree: &Node,
    user: &RawConfig,
    secrets: &dyn Secrets,
    problems: &mut Vec<Problem>,
) -> Option<ProviderSettings> {
    let known = KNOWN_PROVIDERS.iter().find(|known| known.id == id);
    let mut problem = |path: &[&str], text: String| {
        let path = [&["provider", id], path].concat();
        let place = (0..=path.len()).rev().find_map(|len| tree.at(&path[..len])).unwrap_or(tree).place.clone();
        problems.push(place.problem(path.join("."), text));
    };
    let wire = match written.npm.as_deref() {
        None => known.map_or(WireProtocol::ChatCompletions, |known| known.wire),
        Some("@ai-sdk/openai-compatible") => WireProtocol::ChatCompletions,
        Some("@ai-sdk/anthropic") => WireProtocol::Messages,
        Some(npm) => {
            problem(
                &["npm"],
                format!(
                    "{npm} is not supported yet, the provider is left out; use `@ai-sdk/openai-compatible` or `@ai-sdk/anthropic` where the provider offers that protocol"
                ),
            );
            return None;
        }
    };
    let (path, base_url) = match (&written.options.base_url, &written.api, known) {
        (Some(url), _, _) => (&["options", "baseURL"][..], url.as_str()),
        (None, Some(url), _) => (&["api"][..], url.as_str()),
        (None, None, Some(known)) => (&[][..], known.base_url),
        (None, None, None) => {
            // Of a provider that only the project names it was said already that its address is left out.
            if user.provider.contains_key(id) {
                problem(&[], "this provider has no address: set `options.baseURL`".to_owned());
            }
            return None;
        }
    };
    let base_url = base_url.trim().trim_end_matches('/');
    if !["http://", "https://"].iter().any(|scheme| base_url.len() > scheme.len() && base_url.starts_with(scheme)) {
        problem(path, "expected an address with `http://` or `https://`; the provider is left out".to_owned());
        return None;
    }
    let patience = if is_local(base_url) { LOCAL_TIMEOUT } else { DEFAULT_TIMEOUT };
    let key = written.options.api_key.clone().filter(|key| !key.is_empty());
    Some(ProviderSettings {
        id: id.to_owned(),
        wire,
        base_url: base_url.to_owned(),
        key: key.or_else(|| secrets.key(id, &variables_of(id, written))),
        headers: written.options.headers.clone(),
        header_timeout: timeout(written.options.header_timeout, patience),
        chunk_timeout: timeout(written.options.chunk_timeout, patience),
        max_retries: max_retries(written.options.max_retries),
    })
}

fn variables_of(id: &str, written: &RawProvider) -> Vec<String> {
    match &written.env {
        Some(names) => names.clone(),
        None => KNOWN_PROVIDERS
            .iter()
            .filter(|known| known.id == id)
            .flat_map(|known| known.key_variables)
            .map(|&name| name.to_owned())
            .collect(),
    }
}

fn max_retries(written: Option<Whole<0>>) -> u32 {
    written.and_then(|most| u32::try_from(most.0).ok()).map_or(MAX_RETRIES, |most| most.min(MAX_RETRIES))
}

fn timeout(limit: Option<Limit>, default: Duration) -> Duration {
    match limit {
        None => default,
        Some(Limit(Some(millis))) => Duration::from_millis(millis),
        Some(Limit(None)) => Duration::MAX,
    }
}

fn model(provider_id: &str, key: &str, written: &RawModel, provider: &Arc<ProviderSettings>) -> ConfiguredModel {
    let reference = |model: &str| ModelRef { provider: provider_id.to_owned(), model: model.to_owned() };
    let provider = if written.headers.is_empty() {
        Arc::clone(provider)
    } else {
        let mut own = provider.as_ref().clone();
        own.headers.extend(written.headers.clone());
        Arc::new(own)
    };
    let mut options = written.options.clone();
    if let Some(interleaved) = &written.interleaved {
        let option = match interleaved {
            Interleaved::Switch(on) => serde_json::Value::Bool(*on),
            Interleaved::Field(field) | Interleaved::Named { field } => serde_json::Value::String(field.clone()),
        };
        options.insert("interleaved".to_owned(), option);
    }
    let sent_as = written.id.as_deref().unwrap_or(key);
    let takes = takes(provider.wire, sent_as, written.modalities.input.as_deref(), written.attachment);
    ConfiguredModel {
        model: reference(key),
        sent_as: reference(sent_as),
        name: written.name.clone().unwrap_or_else(|| key.to_owned()),
        provider,
        settings: ModelSettings {
            context: tokens(written.limit.context),
            max_output: tokens(written.limit.output),
            options,
            ..ModelSettings::default()
        },
        takes_temperature: written.temperature.unwrap_or(true),
        takes,
        prices: written.cost.map(prices),
    }
}

/// A model of which nothing is said is taken to see: few of today's do not. Documents are read by few besides Anthropic's own, whatever the protocol.
pub(super) fn takes(wire: WireProtocol, model: &str, input: Option<&[String]>, attachment: Option<bool>) -> Takes {
    let (images, documents) = match input {
        Some(kinds) => {
            let has = |wanted: &str| kinds.iter().any(|kind| kind == wanted);
            (has("image"), has("pdf"))
        }
        None => {
            let takes_files = attachment.unwrap_or(true);
            (takes_files, takes_files && model.to_ascii_lowercase().contains("claude"))
        }
    };
    Takes { images, documents: documents && wire.carries_documents() }
}

fn prices(cost: RawCost) -> Prices {
    let RawCost { input, output, cache_read, cache_write, context_over_200k } = cost;
    Prices {
        base: rates(RawRates { input, output, cache_read, cache_write }),
        long_context: context_over_200k.map(rates),
    }
}

fn rates(written: RawRates) -> Rates {
    let input = written.input.0;
    let or_input = |price: Option<Decimal>| price.map_or(input, |price| price.0);
    Rates {
        input,
        output: written.output.0,
        cache_read: or_input(written.cache_read),
        cache_write: or_input(written.cache_write),
    }
}

/// opencode writes 0 for a limit that is not known.
fn tokens(limit: Option<Whole<0>>) -> Option<u64> {
    limit.map(|limit| limit.0).filter(|&tokens| tokens > 0)
}

/// The usual ones, those that providers are configured with, and those whose values were filled into any text of a provider.
fn key_variables(raw: &RawConfig, tree: &Node) -> Vec<String> {
    fn filled_in(node: &Node, names: &mut BTreeSet<String>) {
        match &node.value {
            Value::Text { variables, .. } => names.extend(variables.iter().cloned()),
            Value::List(items) => items.iter().for_each(|item| filled_in(item, names)),
            Value::Map(entries) => entries.iter().for_each(|(_, node)| filled_in(node, names)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
    let mut names: BTreeSet<String> = KNOWN_PROVIDERS
        .iter()
        .flat_map(|known| known.key_variables)
        .chain(OTHER_KEY_VARIABLES)
        .map(|&name| name.to_owned())
        .collect();
    names.extend(raw.provider.values().flat_map(|provider| provider.env.iter().flatten().cloned()));
    if let Some(providers) = tree.get("provider") {
        filled_in(providers, &mut names);
    }
    names.into_iter().collect()
}
