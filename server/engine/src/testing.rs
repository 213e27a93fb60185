//! For tests, here and in other crates: a model that the test plays, a client that records, and the other ports in memory. No part of the daemon uses it.

mod changes;
mod client;
mod grants;
mod http;
mod image;
mod model;
mod pdf;
mod search;
mod snapshots;
mod store;
mod strict;
mod surroundings;
mod toys;
mod trust;
mod version_control;
mod world;

pub use changes::MemoryChanges;
pub use client::{FakeClient, PendingAsk, PendingInquiry, Recorded};
pub use grants::MemoryGrants;
pub use http::FakeHttp;
pub use image::{png, png_bytes};
pub use model::{FakeModel, ModelPlayer, Reply, ScriptedModel};
pub use pdf::{pdf, pdf_bytes};
pub use search::FakeSearch;
pub use snapshots::MemorySnapshots;
pub use store::MemoryStore;
pub use strict::{check_messages, check_request};
pub use surroundings::{
    DiskFiles, FakeClock, FakeDiagnostics, FakeEditor, FakeEnvironment, FakeIds, FakeSecrets, FakeShell,
};
pub use toys::{Toy, ToyTool};
pub use trust::MemoryTrust;
pub use version_control::MemoryVersionControl;
pub use world::{ASKED, World, config};

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// How long a test waits for what must come: longer than the engine waits between two tries, since the clock of many tests is its own.
pub const LIMIT: Duration = Duration::from_secs(60);

type Action = Box<dyn FnOnce() + Send>;

/// Counts the places at which something visible happens, and does one thing at the chosen one: what tests of "at every event boundary" stand on.
#[derive(Clone, Default)]
pub struct Boundaries {
    count: Arc<AtomicUsize>,
    action: Arc<Mutex<Option<(usize, Action)>>>,
}

impl Boundaries {
    /// Runs `action` inside the `index`-th tick (from 0).
    pub fn at(&self, index: usize, action: impl FnOnce() + Send + 'static) {
        *lock(&self.action) = Some((index, Box::new(action)));
    }

    pub fn tick(&self) {
        let index = self.count.fetch_add(1, Ordering::SeqCst);
        let due = {
            let mut action = lock(&self.action);
            if action.as_ref().is_some_and(|(at, _)| *at == index) { action.take() } else { None }
        };
        if let Some((_, action)) = due {
            action();
        }
    }

    pub fn count(&self) -> usize {
        self.count.load(Ordering::SeqCst)
    }

    /// Whether the action is still to come.
    pub fn armed(&self) -> bool {
        lock(&self.action).is_some()
    }
}

/// A poisoned lock holds whole values: every change behind one is a single step.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
