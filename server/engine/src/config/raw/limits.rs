//! The key `limits`, as written.

use schemars::JsonSchema;
use serde::de::{self, Deserialize, Deserializer};

use super::{Decimal, Whole};
use crate::run::TurnLimits;

/// At which a turn ends, to be gone on with if you say so. No limit where a key is not set. A project can lower them.
#[derive(Default, serde::Deserialize, JsonSchema)]
#[serde(default, expecting = "an object")]
#[schemars(rename = "Limits")]
pub(in crate::config) struct RawLimits {
    /// Calls of tools a turn.
    calls: Option<Whole<1>>,
    /// Tokens a turn, read and written, of all its requests together.
    tokens: Option<Whole<1>>,
    /// US dollars a turn, by the prices that are configured.
    cost: Option<Amount>,
}

/// More than nothing.
#[derive(Clone, Copy, JsonSchema)]
#[schemars(transparent, inline)]
struct Amount(#[schemars(with = "f64", extend("exclusiveMinimum" = 0))] f64);

impl<'de> Deserialize<'de> for Amount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Decimal(amount) = Decimal::deserialize(deserializer)?;
        if amount > 0.0 { Ok(Self(amount)) } else { Err(de::Error::custom("expected a number above 0")) }
    }
}

impl From<&RawLimits> for TurnLimits {
    fn from(raw: &RawLimits) -> Self {
        Self {
            calls: raw.calls.map(|calls| calls.0),
            tokens: raw.tokens.map(|tokens| tokens.0),
            cost: raw.cost.map(|cost| cost.0),
        }
    }
}
