//! How much the files of a project may say together: what is in them is checked at once, one wrong key after the other. Reads none.

use super::Problem;
use super::node::Node;

/// More than any project says.
const MOST_VALUES: usize = 10_000;

/// Values that were taken so far.
#[derive(Default)]
pub(super) struct ProjectSize(usize);

impl ProjectSize {
    pub(super) fn take(&mut self, tree: Node) -> Result<Node, Problem> {
        let values = self.0.saturating_add(tree.values());
        if values > MOST_VALUES {
            let text = format!("it is left out: expected at most {MOST_VALUES} values in all files of a project");
            return Err(Problem { source: tree.place.source.as_ref().clone(), line: None, key: None, text });
        }
        self.0 = values;
        Ok(tree)
    }
}
