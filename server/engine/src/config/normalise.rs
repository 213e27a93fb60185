//! Older and shorter spellings in a checked tree become the one that the rest of the code knows.

use super::node::{Node, Value};

/// `mode.NAME` is `agent.NAME` with mode `primary`; `maxSteps` is `steps`; a permission that is one word is that word for everything.
pub(super) fn normalise(tree: &mut Node) {
    if let Some(modes) = tree.take("mode") {
        let mut agents = Node { place: modes.place.clone(), value: Value::Map(Vec::new()) };
        for (name, mode) in modes.entries() {
            let mut agent = mode.clone();
            agent.set("mode", Node::text(&mode.place, "primary"));
            agents.set(name, agent);
        }
        if let Some(written) = tree.take("agent") {
            agents.merge(written);
        }
        tree.set("agent", agents);
    }
    widen_permission(tree);
    for (_, agent) in tree.get_mut("agent").and_then(Node::entries_mut).into_iter().flatten() {
        if let Some(steps) = agent.take("maxSteps").filter(|_| agent.get("steps").is_none()) {
            agent.set("steps", steps);
        }
        widen_permission(agent);
    }
}

fn widen_permission(owner: &mut Node) {
    if let Some(permission) = owner.get_mut("permission")
        && permission.as_text().is_some()
    {
        let verdict = permission.clone();
        permission.value = Value::Map(vec![("*".to_owned(), verdict)]);
    }
}
