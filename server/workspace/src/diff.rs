//! Differences of two texts, for people and models. Edits that are applied are `EditSet`s, not these.

use ropey::Rope;
use similar::{Algorithm, DiffTag, TextDiff};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LineCounts {
    pub added: usize,
    pub removed: usize,
}

/// A unified diff with `context` lines around each hunk; empty where the texts are equal. `name` stands in both headers.
pub fn unified(name: &str, before: &Rope, after: &Rope, context: usize) -> String {
    let (before, after) = (before.to_string(), after.to_string());
    by_lines(&before, &after).unified_diff().context_radius(context).header(name, name).to_string()
}

/// A changed line counts on both sides.
pub fn line_counts(before: &Rope, after: &Rope) -> LineCounts {
    let (before, after) = (before.to_string(), after.to_string());
    let diff = by_lines(&before, &after);
    let mut counts = LineCounts::default();
    for op in diff.ops() {
        let (tag, old, new) = op.as_tag_tuple();
        if tag != DiffTag::Equal {
            counts.removed += old.len();
            counts.added += new.len();
        }
    }
    counts
}

fn by_lines<'a>(before: &'a str, after: &'a str) -> TextDiff<'a, 'a, str> {
    TextDiff::configure().algorithm(Algorithm::Myers).diff_lines(before, after)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(before: &str, after: &str, counts: (usize, usize), expected: &str) {
        let (before, after) = (Rope::from_str(before), Rope::from_str(after));
        let LineCounts { added, removed } = line_counts(&before, &after);
        assert_eq!((added, removed), counts);
        assert_eq!(unified("src/a.rs", &before, &after, 1), expected);
    }

    #[test]
    fn r3_4_lines_removed_and_added_are_counted() {
        check(
            "a\nb\nc\nd\ne\n",
            "a\nB\nc\nd\ne\nf\n",
            (2, 1),
            "--- src/a.rs\n+++ src/a.rs\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n@@ -5 +5,2 @@\n e\n+f\n",
        );
    }

    #[test]
    fn equal_texts_have_no_diff() {
        check("a\n", "a\n", (0, 0), "");
        check("", "", (0, 0), "");
    }

    #[test]
    fn a_missing_final_newline_is_shown() {
        check(
            "a\nb",
            "a\nb\n",
            (1, 1),
            "--- src/a.rs\n+++ src/a.rs\n@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+b\n",
        );
    }
}
