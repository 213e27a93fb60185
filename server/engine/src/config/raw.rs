//! The configuration file as typed values: the one source of what is checked and of the JSON Schema that editors complete from.
//!
//! Keys of opencode that are not here are passed over in silence.

mod formatter;
mod guards;
mod limits;
mod lsp;
mod permission;
mod sandbox;
mod skills;
mod switched;
mod undo;
mod web;

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use schemars::transform::Transform;
use schemars::{JsonSchema, Schema};
use serde::de::{self, Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::Value;

use crate::message::ModelRef;
use crate::permission::{Mode, Verdict};

use self::formatter::RawFormatters;
use self::guards::RawGuards;
use self::limits::RawLimits;
use self::lsp::RawLsp;
use self::permission::PermissionSchema;
pub(super) use self::sandbox::RawSandbox;
pub(super) use self::skills::{RawSkills, is_address};
pub(super) use self::undo::RawUndo;
pub(super) use self::web::{RawSearchProvider, RawWeb, RawWebSearch};

/// The JSON Schema of a configuration file.
pub fn config_schema() -> Value {
    let mut schema = schemars::SchemaGenerator::default().into_root_schema_for::<RawConfig>();
    schemars::transform::RecursiveTransform(drop_null_default).transform(&mut schema);
    schema.insert("title".to_owned(), "Copydesk configuration".into());
    schema.to_value()
}

/// A key that is not set has no value, which `"default": null` says in a way that editors would write into the file.
fn drop_null_default(schema: &mut Schema) {
    if schema.get("default").is_some_and(Value::is_null) {
        schema.remove("default");
    }
}

/// Configuration of Copydesk. The keys are opencode's; `opencode.json` is read as it is.
#[derive(Default, serde::Deserialize, JsonSchema)]
#[serde(default, expecting = "an object")]
pub(super) struct RawConfig {
    /// Address of this schema.
    #[serde(rename = "$schema")]
    pub(super) _schema: Option<String>,
    /// The model to talk to, as `provider/model`.
    pub(super) model: Option<ModelName>,
    /// The agent a session starts with; `build` if not set.
    pub(super) default_agent: Option<String>,
    /// Agents by name: settings of `build` and `plan`, and agents of your own.
    pub(super) agent: BTreeMap<String, RawAgent>,
    /// Deprecated: agents that can be talked to. Use `agent`.
    #[serde(rename = "mode")]
    pub(super) _mode: BTreeMap<String, RawAgent>,
    /// What agents may do without asking. The last rule that matches wins.
    #[serde(rename = "permission")]
    #[schemars(with = "Option<PermissionSchema>")]
    pub(super) _permission: Option<RawPermission>,
    /// Tools switched on or off, by name. `false` denies as a rule does; `true` switches on what is off by default and allows it.
    pub(super) tools: BTreeMap<String, bool>,
    /// What holds whatever rules and answers say; each can be switched off by its name. Taken from your own files alone.
    pub(super) guards: RawGuards,
    /// How much runs without a question where no rule of yours speaks; `ask` if not set. Taken from your own files; a project only makes it stricter.
    pub(super) permission_mode: Option<Mode>,
    /// Providers of models, by id.
    pub(super) provider: BTreeMap<String, RawProvider>,
    /// Providers that are never used.
    pub(super) disabled_providers: Option<Vec<String>>,
    /// If set, only these providers are used.
    pub(super) enabled_providers: Option<Vec<String>>,
    pub(super) limits: RawLimits,
    /// Further instruction files: paths and globs.
    pub(super) instructions: Vec<String>,
    /// Language servers that are started where the editor offers no problems; `false` for none. A project's run once it is trusted to run programs.
    pub(super) lsp: RawLsp,
    /// Formats a file after an edit of it: `true` for all formatters that are known, or formatters by name; `false` if not set. A project's run once it is
    /// trusted to run programs.
    pub(super) formatter: RawFormatters,
    /// What commands are held to, where the system has a sandbox. Taken from your own files; a project only makes it stricter.
    pub(super) sandbox: RawSandbox,
    /// Further skills; those of the usual folders are found without it.
    pub(super) skills: RawSkills,
    pub(super) tool_output: RawToolOutput,
    pub(super) undo: RawUndo,
    pub(super) attachment: RawAttachment,
    /// How much is written to the log; `warn` if not set. Only your own files count.
    #[serde(rename = "logLevel")]
    pub(super) log_level: Option<RawLogLevel>,
    pub(super) web: RawWeb,
    pub(super) websearch: RawWebSearch,
    pub(super) experimental: RawExperimental,
}

/// An agent.
#[derive(Default, serde::Deserialize, JsonSchema)]
#[serde(default, expecting = "an object")]
#[schemars(rename = "Agent")]
pub(super) struct RawAgent {
    /// What the agent is for.
    pub(super) description: Option<String>,
    pub(super) mode: Option<RawMode>,
    /// Not offered in lists of agents.
    pub(super) hidden: Option<bool>,
    /// Removes the agent.
    pub(super) disable: Option<bool>,
    /// Replaces the first part of the system prompt.
    pub(super) prompt: Option<String>,
    /// The model of this agent, as `provider/model`.
    pub(super) model: Option<ModelName>,
    /// Sampling temperature.
    pub(super) temperature: Option<Decimal>,
    /// Nucleus sampling.
    pub(super) top_p: Option<Decimal>,
    /// Model requests a turn at most.
    pub(super) steps: Option<Whole<1>>,
    /// Deprecated: use `steps`.
    #[serde(rename = "maxSteps")]
    pub(super) _max_steps: Option<Whole<1>>,
    /// Rules of this agent, behind those for all agents.
    #[serde(rename = "permission")]
    #[schemars(with = "Option<PermissionSchema>")]
    pub(super) _permission: Option<RawPermission>,
    /// Tools switched on or off for this agent, behind those for all agents.
    pub(super) tools: BTreeMap<String, bool>,
}

/// Who uses an agent: the user (`primary`), other agents (`subagent`), or both (`all`).
#[derive(Clone, Copy, serde::Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "AgentMode")]
pub(super) enum RawMode {
    Primary,
    Subagent,
    All,
}

/// `error` is the least, `trace` the most.
#[derive(Clone, Copy, serde::Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "LogLevel")]
pub(super) enum RawLogLevel {
    #[serde(alias = "ERROR")]
    Error,
    #[serde(alias = "WARN")]
    Warn,
    #[serde(alias = "INFO")]
    Info,
    #[serde(alias = "DEBUG")]
    Debug,
    #[serde(alias = "TRACE")]
    Trace,
}

/// A provider of models.
#[derive(Default, serde::Deserialize, JsonSchema)]
#[serde(default, expecting = "an object")]
#[schemars(rename = "Provider")]
pub(super) struct RawProvider {
    /// The wire protocol by the name of its npm package: `@ai-sdk/openai-compatible` (Chat Completions, the default) or `@ai-sdk/anthropic` (Messages).
    pub(super) npm: Option<String>,
    /// Base address; `options.baseURL` goes before it.
    pub(super) api: Option<String>,
    /// Environment variables that may hold the key.
    pub(super) env: Option<Vec<String>>,
    pub(super) options: RawProviderOptions,
    /// Models, by the name that `model` uses.
    pub(super) models: BTreeMap<String, RawModel>,
}

#[derive(Default, serde::Deserialize, JsonSchema)]
#[serde(default, expecting = "an object")]
#[schemars(rename = "ProviderOptions")]
pub(super) struct RawProviderOptions {
    /// The key, best as `{env:NAME}` or `{file:path}`.
    #[serde(rename = "apiKey")]
    pub(super) api_key: Option<String>,
    /// Base address, with `http://` or `https://`.
    #[serde(rename = "baseURL")]
    pub(super) base_url: Option<String>,
    /// Headers of every request.
    pub(super) headers: BTreeMap<String, String>,
    /// Milliseconds to the first answer, or `false` for no limit. If not set, 300000; 900000 for a server on this machine or in this network, which gets
    /// more with each further try.
    #[serde(rename = "headerTimeout")]
    pub(super) header_timeout: Option<Limit>,
    /// Milliseconds between two pieces of an answer, or `false` for no limit. If not set, as `headerTimeout`.
    #[serde(rename = "chunkTimeout")]
    pub(super) chunk_timeout: Option<Limit>,
    /// How often a request that failed in a way that passes (a rate limit, an overload, a broken connection) is sent again: 5, which is also the most.
    #[serde(rename = "maxRetries")]
    pub(super) max_retries: Option<Whole<0>>,
}

/// A model of a provider.
#[derive(Default, serde::Deserialize, JsonSchema)]
#[serde(default, expecting = "an object")]
#[schemars(rename = "Model")]
pub(super) struct RawModel {
    /// The provider's own name for it; the key if not set.
    pub(super) id: Option<String>,
    /// For people.
    pub(super) name: Option<String>,
    pub(super) limit: RawModelLimit,
    /// Whether it takes a temperature.
    pub(super) temperature: Option<bool>,
    /// What it takes and gives.
    pub(super) modalities: RawModalities,
    /// Whether it takes images and documents, where `modalities` does not say so.
    pub(super) attachment: Option<bool>,
    /// Merged into the body of every request.
    pub(super) options: serde_json::Map<String, Value>,
    /// Headers of every request to this model.
    pub(super) headers: BTreeMap<String, String>,
    /// What it costs, in US dollars a million tokens. Only for display.
    pub(super) cost: Option<RawCost>,
    /// Where its reasoning is sent back to it, for models that think between calls. If not set, only DeepSeek's models get it back.
    pub(super) interleaved: Option<Interleaved>,
}

#[derive(Default, serde::Deserialize, JsonSchema)]
#[serde(default, expecting = "an object")]
#[schemars(rename = "Modalities")]
pub(super) struct RawModalities {
    /// Such as `text`, `image` and `pdf`. A model without `image` or `pdf` is told of such files in words; if not set, images are sent, and PDF files to
    /// Anthropic's models.
    pub(super) input: Option<Vec<String>>,
}

/// `true` is `reasoning_content`; a text names another key of the message.
#[derive(Clone, serde::Deserialize, JsonSchema)]
#[serde(untagged, expecting = "`true`, `false`, the name of a field or `{\"field\": name}`")]
#[schemars(inline)]
pub(super) enum Interleaved {
    Switch(bool),
    Field(String),
    Named { field: String },
}

#[derive(Default, serde::Deserialize, JsonSchema)]
#[serde(default, expecting = "an object")]
#[schemars(rename = "ModelLimit")]
pub(super) struct RawModelLimit {
    /// Tokens that fit in a request and its answer.
    pub(super) context: Option<Whole<0>>,
    /// Tokens of an answer.
    pub(super) output: Option<Whole<0>>,
}

#[derive(Clone, Copy, serde::Deserialize, JsonSchema)]
#[serde(expecting = "an object with `input` and `output`")]
#[schemars(rename = "Cost")]
pub(super) struct RawCost {
    pub(super) input: Decimal,
    pub(super) output: Decimal,
    /// Input that is read from the provider's cache; as `input` if not set.
    pub(super) cache_read: Option<Decimal>,
    /// Input that is written to it; as `input` if not set.
    pub(super) cache_write: Option<Decimal>,
    /// Of requests with more than 200000 tokens of input.
    pub(super) context_over_200k: Option<RawRates>,
}

#[derive(Clone, Copy, serde::Deserialize, JsonSchema)]
#[serde(expecting = "an object with `input` and `output`")]
#[schemars(rename = "LongContextCost")]
pub(super) struct RawRates {
    pub(super) input: Decimal,
    pub(super) output: Decimal,
    pub(super) cache_read: Option<Decimal>,
    pub(super) cache_write: Option<Decimal>,
}

/// How much of a tool's output the model gets; the rest is kept in a file.
#[derive(Default, serde::Deserialize, JsonSchema)]
#[serde(default, expecting = "an object")]
#[schemars(rename = "ToolOutput")]
pub(super) struct RawToolOutput {
    /// 2000 if not set.
    pub(super) max_lines: Option<Whole<1>>,
    /// 51200 if not set.
    pub(super) max_bytes: Option<Whole<1>>,
}

/// What prompts may carry beside text.
#[derive(Default, serde::Deserialize, JsonSchema)]
#[serde(default, expecting = "an object")]
#[schemars(rename = "Attachment")]
pub(super) struct RawAttachment {
    pub(super) image: RawImage,
}

#[derive(Default, serde::Deserialize, JsonSchema)]
#[serde(default, expecting = "an object")]
#[schemars(rename = "ImageAttachment")]
pub(super) struct RawImage {
    /// The largest image that is taken, in bytes of base64; 5242880 if not set.
    pub(super) max_base64_bytes: Option<Whole<1>>,
}

#[derive(Default, serde::Deserialize, JsonSchema)]
#[serde(default, expecting = "an object")]
#[schemars(rename = "Experimental")]
pub(super) struct RawExperimental {
    /// Lets a turn go on after you rejected something without a message.
    pub(super) continue_loop_on_deny: Option<bool>,
    /// opencode's old key for `"tools": {"batch": true}`.
    pub(super) batch_tool: Option<bool>,
}

/// `provider/model`.
#[derive(Clone, JsonSchema)]
#[schemars(transparent, inline)]
pub(super) struct ModelName(#[schemars(with = "String", regex(pattern = "^[^/]+/.+$"))] pub(super) ModelRef);

impl<'de> Deserialize<'de> for ModelName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map(Self).map_err(|()| de::Error::custom("expected a text of the form `provider/model`"))
    }
}

/// A whole number, at least `MIN`.
#[derive(Clone, Copy, JsonSchema)]
#[schemars(transparent, inline)]
pub(super) struct Whole<const MIN: u64>(#[schemars(range(min = MIN))] pub(super) u64);

impl<'de, const MIN: u64> Deserialize<'de> for Whole<MIN> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct AtLeast<const MIN: u64>;
        impl<const MIN: u64> Visitor<'_> for AtLeast<MIN> {
            type Value = Whole<MIN>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "a whole number, {MIN} or more")
            }

            fn visit_u64<E: de::Error>(self, number: u64) -> Result<Whole<MIN>, E> {
                if number < MIN {
                    Err(E::invalid_value(de::Unexpected::Unsigned(number), &self))
                } else {
                    Ok(Whole(number))
                }
            }

            fn visit_i64<E: de::Error>(self, number: i64) -> Result<Whole<MIN>, E> {
                Err(E::invalid_value(de::Unexpected::Signed(number), &self))
            }
        }
        deserializer.deserialize_any(AtLeast)
    }
}

/// A number, with a fraction or without.
#[derive(Clone, Copy, JsonSchema)]
#[schemars(transparent, inline)]
pub(super) struct Decimal(pub(super) f64);

impl<'de> Deserialize<'de> for Decimal {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct AnyNumber;
        impl Visitor<'_> for AnyNumber {
            type Value = Decimal;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number")
            }

            fn visit_f64<E: de::Error>(self, number: f64) -> Result<Decimal, E> {
                Ok(Decimal(number))
            }

            fn visit_u64<E: de::Error>(self, number: u64) -> Result<Decimal, E> {
                Ok(Decimal(number as f64))
            }

            fn visit_i64<E: de::Error>(self, number: i64) -> Result<Decimal, E> {
                Ok(Decimal(number as f64))
            }
        }
        deserializer.deserialize_any(AnyNumber)
    }
}

/// Milliseconds, or `false` for none.
#[derive(Clone, Copy, JsonSchema)]
#[schemars(transparent, inline)]
pub(super) struct Limit(#[schemars(with = "LimitSchema")] pub(super) Option<u64>);

impl<'de> Deserialize<'de> for Limit {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct MillisOrFalse;
        impl Visitor<'_> for MillisOrFalse {
            type Value = Limit;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number of milliseconds or `false`")
            }

            fn visit_u64<E: de::Error>(self, millis: u64) -> Result<Limit, E> {
                Ok(Limit(Some(millis)))
            }

            fn visit_bool<E: de::Error>(self, value: bool) -> Result<Limit, E> {
                if value { Err(E::invalid_value(de::Unexpected::Bool(true), &self)) } else { Ok(Limit(None)) }
            }
        }
        deserializer.deserialize_any(MillisOrFalse)
    }
}

/// Rules as written: checked here, read where their places are known.
pub(super) struct RawPermission;

impl<'de> Deserialize<'de> for RawPermission {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        VerdictOr::<VerdictOr<Verdict>>::deserialize(deserializer).map(|_| Self)
    }
}

/// A verdict, or an object of `T`s.
struct VerdictOr<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for VerdictOr<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Self(PhantomData))
    }
}

impl<'de, T: Deserialize<'de>> Visitor<'de> for VerdictOr<T> {
    type Value = Self;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("`allow`, `ask`, `deny`, or an object of these by name or pattern")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Self, E> {
        match verdict(text) {
            Some(_) => Ok(self),
            None => Err(E::invalid_value(de::Unexpected::Str(text), &self)),
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self, A::Error> {
        while map.next_entry::<String, T>()?.is_some() {}
        Ok(self)
    }
}

pub(super) fn verdict(text: &str) -> Option<Verdict> {
    match text {
        "allow" => Some(Verdict::Allow),
        "ask" => Some(Verdict::Ask),
        "deny" => Some(Verdict::Deny),
        _ => None,
    }
}

#[derive(JsonSchema)]
#[schemars(untagged, inline)]
#[expect(dead_code, reason = "describes the shape in the schema alone")]
enum LimitSchema {
    Millis(u64),
    None(#[schemars(extend("const" = false))] bool),
}

#[cfg(test)]
#[expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a failed unwrap fails the test, which compares a committed file"
)]
mod tests {
    use super::*;

    /// `UPDATE_GENERATED=1` writes the file anew.
    #[test]
    fn the_committed_schema_is_the_one_that_the_types_give() {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas/config.schema.json");
        let generated = format!("{}\n", serde_json::to_string_pretty(&config_schema()).unwrap());
        if std::env::var_os("UPDATE_GENERATED").is_some_and(|value| value == "1") {
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, &generated).unwrap();
        }
        let committed = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(committed == generated, "{} is out of date: run this test with UPDATE_GENERATED=1", path.display());
    }

    #[test]
    fn the_schema_takes_what_the_reader_takes_and_refuses_what_it_refuses() {
        let validator = jsonschema::validator_for(&config_schema()).unwrap();
        let check = |text: &str, valid: bool| {
            let value: Value = serde_json::from_str(text).unwrap();
            assert_eq!(validator.is_valid(&value), valid, "{text}");
        };
        check(r#"{"$schema": "x", "model": "a/b/c", "unknown": {"x": 1}}"#, true);
        check(r#"{"model": "a"}"#, false);
        check(r#"{"permission": "ask"}"#, true);
        check(r#"{"permission": {"bash": {"git *": "allow"}, "edit": "deny"}}"#, true);
        check(r#"{"permission": {"bash": {"git *": "yes"}}}"#, false);
        check(r#"{"agent": {"build": {"steps": 3, "temperature": 0.5, "tools": {"bash": false}}}}"#, true);
        check(r#"{"agent": {"build": {"steps": 0}}}"#, false);
        check(r#"{"provider": {"x": {"options": {"headerTimeout": false, "chunkTimeout": 5}}}}"#, true);
        check(r#"{"provider": {"x": {"options": {"headerTimeout": true}}}}"#, false);
        check(r#"{"guards": {"discard": "off", "plan": "on"}}"#, true);
        check(r#"{"guards": {"discard": false}}"#, false);
        check(r#"{"limits": {"calls": 100, "tokens": 2000000, "cost": 0.5}}"#, true);
        check(r#"{"limits": {"calls": 0}}"#, false);
        check(r#"{"limits": {"cost": 0}}"#, false);
        check(r#"{"lsp": false}"#, true);
        check(r#"{"lsp": {"ty": {"disabled": true}, "own": {"command": ["own-ls"], "extensions": [".own"]}}}"#, true);
        check(r#"{"lsp": {"own": {"command": "own-ls"}}}"#, false);
        check(r#"{"formatter": true}"#, true);
        check(
            r#"{"formatter": {"gofmt": {"disabled": true}, "own": {"command": ["own", "$FILE"], "extensions": [".own"]}}}"#,
            true,
        );
        check(r#"{"formatter": {"own": {"command": "own"}}}"#, false);
    }
}
