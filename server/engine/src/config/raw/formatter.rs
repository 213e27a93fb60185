//! The key `formatter`: what formats a file after an edit, as written.

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::de::{self, Deserialize, Deserializer, MapAccess, Visitor};

use crate::format::{FormatterSettings, Formatters};

/// `true` or `false` for all, or formatters by name.
#[derive(JsonSchema)]
#[schemars(untagged, inline)]
pub(in crate::config) enum RawFormatters {
    Switch(bool),
    Formatters(BTreeMap<String, RawFormatter>),
}

impl<'de> Deserialize<'de> for RawFormatters {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct SwitchOrFormatters;
        impl<'de> Visitor<'de> for SwitchOrFormatters {
            type Value = RawFormatters;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("`true`, `false` or an object of formatters by name")
            }

            fn visit_bool<E: de::Error>(self, value: bool) -> Result<RawFormatters, E> {
                Ok(RawFormatters::Switch(value))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<RawFormatters, A::Error> {
                BTreeMap::deserialize(de::value::MapAccessDeserializer::new(map)).map(RawFormatters::Formatters)
            }
        }
        deserializer.deserialize_any(SwitchOrFormatters)
    }
}

impl Default for RawFormatters {
    fn default() -> Self {
        Self::Switch(false)
    }
}

impl From<RawFormatters> for Formatters {
    fn from(raw: RawFormatters) -> Self {
        match raw {
            RawFormatters::Switch(true) => Self::On(BTreeMap::new()),
            RawFormatters::Switch(false) => Self::Off,
            RawFormatters::Formatters(formatters) => {
                Self::On(formatters.into_iter().map(|(name, formatter)| (name, formatter.into())).collect())
            }
        }
    }
}

/// A formatter. What is not set is what is known of the formatter of that name.
#[derive(Default, serde::Deserialize, JsonSchema)]
#[serde(default, expecting = "an object")]
#[schemars(rename = "Formatter")]
pub(in crate::config) struct RawFormatter {
    disabled: Option<bool>,
    /// The program and its arguments. `$FILE` in them is a copy of the file that it changes; without it the text goes in and out by standard input and output.
    command: Option<Vec<String>>,
    /// Variables of its environment.
    environment: BTreeMap<String, String>,
    /// Extensions of the files that it formats.
    extensions: Option<Vec<String>>,
}

impl From<RawFormatter> for FormatterSettings {
    fn from(raw: RawFormatter) -> Self {
        let RawFormatter { disabled, command, environment, extensions } = raw;
        Self {
            disabled: disabled.unwrap_or(false),
            command: command.filter(|command| !command.is_empty()),
            environment,
            extensions,
        }
    }
}
