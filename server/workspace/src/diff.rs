//! Differences of two texts, for people and models. Edits that are applied are `EditSet`s, not these.

use ropey::Rope;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LineCounts {
    pub added: usize,
    pub removed: usize,
}

/// A unified diff with `context` lines around each hunk; empty where the texts are equal. `name` stands in both headers.
pub fn unified(name: &str, before: &Rope, after: &Rope, context: usize) -> String {
    let _ = (name, before, after, context);
    todo!()
}

pub fn line_counts(before: &Rope, after: &Rope) -> LineCounts {
    let _ = (before, after);
    todo!()
}
