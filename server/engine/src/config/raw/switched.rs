//! A key that is `true` or `false` for all, or an object of some by name, as `lsp` and `formatter` are.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use schemars::JsonSchema;
use serde::de::{self, Deserialize, Deserializer, MapAccess, Visitor};

/// One of them.
pub(in crate::config) trait Switchable: for<'de> Deserialize<'de> {
    /// Several, in a word.
    const PLURAL: &'static str;
}

/// `true` or `false` for all, or some by name.
#[derive(JsonSchema)]
#[schemars(untagged, inline)]
pub(in crate::config) enum Switched<T> {
    Switch(bool),
    Named(BTreeMap<String, T>),
}

impl<T> Switched<T> {
    /// Those that are named; `None`: all are off.
    pub(super) fn named<U: From<T>>(self) -> Option<BTreeMap<String, U>> {
        match self {
            Self::Switch(false) => None,
            Self::Switch(true) => Some(BTreeMap::new()),
            Self::Named(named) => Some(named.into_iter().map(|(name, one)| (name, one.into())).collect()),
        }
    }
}

impl<'de, T: Switchable> Deserialize<'de> for Switched<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct SwitchOrNamed<T>(PhantomData<T>);
        impl<'de, T: Switchable> Visitor<'de> for SwitchOrNamed<T> {
            type Value = Switched<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "`true`, `false` or an object of {} by name", T::PLURAL)
            }

            fn visit_bool<E: de::Error>(self, value: bool) -> Result<Switched<T>, E> {
                Ok(Switched::Switch(value))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Switched<T>, A::Error> {
                BTreeMap::deserialize(de::value::MapAccessDeserializer::new(map)).map(Switched::Named)
            }
        }
        deserializer.deserialize_any(SwitchOrNamed(PhantomData))
    }
}
