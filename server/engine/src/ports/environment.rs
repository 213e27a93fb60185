//! The process's surroundings: variables, folders, keys, time and ids. Read nowhere else.

use copydesk_workspace::path::AbsPath;

use crate::ids::Millis;

pub trait Environment: Send + Sync {
    fn var(&self, name: &str) -> Option<String>;

    /// Whether a variable that is on or off is on.
    fn is_on(&self, name: &str) -> bool {
        self.var(name).is_some_and(|value| says_on(&value))
    }

    fn folders(&self) -> Folders;

    /// `linux`, `macos` or `windows`.
    fn platform(&self) -> &'static str;
}

/// How a variable says that something is on.
pub(crate) fn says_on(value: &str) -> bool {
    let value = value.trim();
    value == "1" || value.eq_ignore_ascii_case("true")
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folders {
    pub home: AbsPath,
    /// `$XDG_CONFIG_HOME` or `~/.config`: the parent of `copydesk` and `opencode`.
    pub config: AbsPath,
    /// `$XDG_DATA_HOME/copydesk` or `~/.local/share/copydesk`: store, logs, tool output.
    pub data: AbsPath,
    /// Our own, below the system's.
    pub temp: AbsPath,
}

/// Keys of providers. Their values leave this port only towards the provider.
pub trait Secrets: Send + Sync {
    /// From the provider's usual variables (`names`), in order, then from what was stored for it.
    fn key(&self, provider: &str, names: &[String]) -> Option<String>;
}

pub trait Clock: Send + Sync {
    fn now(&self) -> Millis;

    /// Today in the user's time zone, e.g. `Mon Nov 30 2026`.
    fn today(&self) -> String;
}

pub trait Ids: Send + Sync {
    /// `prefix_` with 26 characters, unique, in the order of making (`ses` too).
    fn next(&self, prefix: &str) -> String;
}
