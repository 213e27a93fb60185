//! The same configuration is held once, however many sessions have it: its rules are most of what an idle session would weigh.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use super::Config;

/// Those that sessions hold.
#[derive(Default)]
pub(crate) struct SharedConfigs(Mutex<Vec<Weak<Config>>>);

impl SharedConfigs {
    /// The one that is equal and held already, else this one.
    pub(crate) fn share(&self, config: Config) -> Arc<Config> {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        held.retain(|config| config.strong_count() > 0);
        let equal = held.iter().filter_map(Weak::upgrade).find(|held| **held == config);
        equal.unwrap_or_else(|| {
            let config = Arc::new(config);
            held.push(Arc::downgrade(&config));
            config
        })
    }
}
