//! Identifiers as types. All are ours; an id that a provider made is kept beside them and never used as a key.

use serde::{Deserialize, Serialize};

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident = $prefix:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        pub struct $name(String);

        impl $name {
            pub const PREFIX: &'static str = $prefix;

            /// Takes any text: ids come back from clients and from the store.
            pub fn new(text: impl Into<String>) -> Self {
                Self(text.into())
            }

            pub fn next(ids: &dyn crate::ports::Ids) -> Self {
                Self(ids.next(Self::PREFIX))
            }

            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&self.0)
            }
        }
    )*};
}

ids! {
    SessionId = "ses";
    /// One user message, or one step of the model.
    MessageId = "msg";
    PartId = "prt";
    CallId = "call";
    AskId = "per";
}

/// Milliseconds since 1970 in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Millis(pub i64);
