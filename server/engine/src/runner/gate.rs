//! Calls of one turn in their order: what may run beside each other does, what changes something waits for all calls before it.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use crate::tool::Gate;

pub(super) struct Gates {
    /// Calls that have not ended.
    calls: Mutex<Calls>,
    changed: watch::Sender<u64>,
}

#[derive(Default)]
struct Calls {
    next: u64,
    running: BTreeMap<u64, Gate>,
}

/// A call's place in the order; dropping it ends the call.
pub(super) struct Ticket<'a> {
    gates: &'a Gates,
    number: u64,
    gate: Gate,
}

impl Gates {
    pub(super) fn new() -> Self {
        Self { calls: Mutex::default(), changed: watch::Sender::new(0) }
    }

    pub(super) fn enter(&self, gate: Gate) -> Ticket<'_> {
        let mut calls = self.lock();
        let number = calls.next;
        calls.next += 1;
        calls.running.insert(number, gate);
        Ticket { gates: self, number, gate }
    }

    fn lock(&self) -> MutexGuard<'_, Calls> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Ticket<'_> {
    pub(super) fn is_next(&self) -> bool {
        let calls = self.gates.lock();
        let mut before = calls.running.range(..self.number);
        match self.gate {
            Gate::Exclusive => before.next().is_none(),
            Gate::Parallel => !before.any(|(_, gate)| *gate == Gate::Exclusive),
        }
    }

    /// Resolves when it is this call's turn, which then stays.
    pub(super) async fn turn(&self) {
        let mut changes = self.gates.changed.subscribe();
        while !self.is_next() && changes.changed().await.is_ok() {}
    }
}

impl Drop for Ticket<'_> {
    fn drop(&mut self) {
        self.gates.lock().running.remove(&self.number);
        self.gates.changed.send_modify(|count| *count = count.wrapping_add(1));
    }
}
