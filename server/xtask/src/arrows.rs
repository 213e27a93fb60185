//! Which crate must not depend on which: the missing arrows of `docs/architecture.md`. What they protect stands there.

use std::collections::BTreeSet;
use std::path::Path;

use crate::command;

/// A crate, and the packages that it must not reach, by whatever way.
const MISSING: &[(&str, &[&str])] = &[
    (
        "copydesk-workspace",
        &["copydesk-engine", "copydesk-protocol", "copydesk-adapters", "copydesk", "tokio", "reqwest", "rusqlite"],
    ),
    (
        "copydesk-engine",
        &[
            "copydesk-protocol",
            "copydesk-adapters",
            "copydesk",
            "reqwest",
            "hyper",
            "rusqlite",
            "tower-lsp-server",
            "agent-client-protocol-schema",
        ],
    ),
    ("copydesk-protocol", &["copydesk-workspace", "copydesk-engine", "copydesk-adapters", "copydesk"]),
    ("copydesk-adapters", &["copydesk"]),
];

/// One TLS, rustls on ring: a second provider would make the choice between them ambiguous, and costs a C build.
const NOWHERE: &[&str] = &["aws-lc-rs", "aws-lc-sys", "openssl-sys", "native-tls"];

/// The error: cargo could not say.
pub(crate) fn problems(root: &Path) -> Result<Vec<String>, String> {
    let mut problems = Vec::new();
    for (package, missing) in MISSING {
        let reached = reached(root, &["-p", package, "-e", "normal,build"])?;
        problems.extend(crossed(package, missing, &reached));
    }
    let all = reached(root, &["--workspace", "-e", "all"])?;
    problems.extend(crossed("the workspace", NOWHERE, &all));
    Ok(problems)
}

fn crossed(package: &str, missing: &[&str], reached: &BTreeSet<String>) -> Vec<String> {
    let there = missing.iter().filter(|name| reached.contains(**name));
    there.map(|name| format!("{package} depends on {name}: `cargo tree -p {package} -i {name}` shows how")).collect()
}

/// Names of all packages in a dependency tree.
fn reached(root: &Path, selection: &[&str]) -> Result<BTreeSet<String>, String> {
    let arguments = [&["tree", "--locked", "--prefix", "none", "--format", "{p}"], selection].concat();
    let listed = command::output(command::cargo(root, &arguments))?;
    Ok(listed.lines().filter_map(|line| Some(line.split_whitespace().next()?.to_owned())).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_missing_arrows_are_missing() {
        assert_eq!(problems(&command::root()), Ok(Vec::new()));
    }

    #[test]
    fn an_arrow_that_is_there_is_seen() {
        let reached = reached(&command::root(), &["-p", "copydesk-adapters", "-e", "normal,build"]);
        let found =
            reached.map(|reached| crossed("copydesk-adapters", &["copydesk-engine", "ring", "copydesk"], &reached));
        let names = |found: Vec<String>| {
            found.iter().filter_map(|text| Some(text.split_whitespace().nth(3)?.to_owned())).collect()
        };
        assert_eq!(found.map(names), Ok(vec!["copydesk-engine:".to_owned(), "ring:".to_owned()]));
    }
}
