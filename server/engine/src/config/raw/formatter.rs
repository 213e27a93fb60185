//! The key `formatter`: what formats a file after an edit, as written.

use std::collections::BTreeMap;

use schemars::JsonSchema;

use super::switched::{Switchable, Switched};
use crate::format::{FormatterSettings, Formatters};

pub(in crate::config) type RawFormatters = Switched<RawFormatter>;

impl Switchable for RawFormatter {
    const PLURAL: &'static str = "formatters";
}

impl Default for RawFormatters {
    fn default() -> Self {
        Self::Switch(false)
    }
}

impl From<RawFormatters> for Formatters {
    fn from(raw: RawFormatters) -> Self {
        raw.named().map_or(Self::Off, Self::On)
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
