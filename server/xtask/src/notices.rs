//! `cargo xtask notices`: the licences of what is built into the program, as `THIRD-PARTY-NOTICES.md`. Which licences may be used is `deny.toml`'s.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::command;

const FILE: &str = "THIRD-PARTY-NOTICES.md";

/// What our program is made of.
const PROGRAM: &str = "copydesk";

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Crate {
    name: String,
    version: String,
    /// SPDX.
    licence: String,
    repository: String,
    folder: PathBuf,
}

pub(crate) fn write(root: &Path) -> Result<(), String> {
    let crates = crates(root)?;
    std::fs::write(root.join(FILE), document(&crates)?).map_err(|error| format!("{FILE} cannot be written: {error}"))
}

/// Those from elsewhere that the program is linked with, on any system: not what only builds or tests it.
fn crates(root: &Path) -> Result<BTreeSet<Crate>, String> {
    let metadata = command::cargo(root, &["metadata", "--format-version", "1", "--locked", "--offline"]);
    let metadata: Value = serde_json::from_str(&command::output(metadata)?).map_err(|error| error.to_string())?;
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let packages: BTreeMap<String, Value> =
        list(&metadata["packages"]).into_iter().map(|package| (text(&package["id"]), package)).collect();
    let is_macro = |id: &String| {
        let targets = packages.get(id).map(|package| list(&package["targets"])).unwrap_or_default();
        targets.iter().any(|target| target["kind"] == serde_json::json!(["proc-macro"]))
    };
    let linked: BTreeMap<String, Vec<String>> = list(&metadata["resolve"]["nodes"])
        .iter()
        .map(|node| {
            let normal = |dependency: &&Value| list(&dependency["dep_kinds"]).iter().any(|kind| kind["kind"].is_null());
            let dependencies = list(&node["deps"]);
            let dependencies = dependencies.iter().filter(normal).map(|dependency| text(&dependency["pkg"]));
            (text(&node["id"]), dependencies.filter(|id| !is_macro(id)).collect())
        })
        .collect();
    let program = packages.iter().find(|(_, package)| package["name"] == PROGRAM && package["source"].is_null());
    let mut waiting = vec![program.ok_or("cargo knows no package of the program")?.0.clone()];
    let mut reached = BTreeSet::new();
    while let Some(id) = waiting.pop() {
        if reached.insert(id.clone()) {
            waiting.extend(linked.get(&id).into_iter().flatten().cloned());
        }
    }
    let foreign = reached.iter().filter_map(|id| packages.get(id)).filter(|package| !package["source"].is_null());
    Ok(foreign
        .map(|package| Crate {
            name: text(&package["name"]),
            version: text(&package["version"]),
            licence: text(&package["license"]),
            repository: text(&package["repository"]),
            folder: PathBuf::from(text(&package["manifest_path"])).parent().map(Path::to_owned).unwrap_or_default(),
        })
        .collect())
}

fn document(crates: &BTreeSet<Crate>) -> Result<String, String> {
    let mut out = String::from(
        "# Third-party notices\n\nThe program `copydesk` contains the crates below. Written by `cargo xtask notices`; not edited by hand.\n\n\
         | crate | licence | from |\n| --- | --- | --- |\n",
    );
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for one in crates {
        let row = row(one);
        let _ = writeln!(out, "{row}");
        for text in licence_texts(one)? {
            texts.entry(text).or_default().push(format!("{} {}", one.name, one.version));
        }
    }
    let mut texts: Vec<(String, Vec<String>)> = texts.into_iter().collect();
    texts.sort_by(|(_, left), (_, right)| left.cmp(right));
    out.push_str("\n# Texts\n");
    for (text, names) in texts {
        // Longer than any fence in it.
        let _ = write!(out, "\n## {}\n\n````text\n{text}\n````\n", names.join(", "));
    }
    Ok(out)
}

fn row(one: &Crate) -> String {
    format!("| {} {} | {} | {} |", one.name, one.version, one.licence, one.repository)
}

/// Of several that may be chosen from, the shorter MIT; else all that the crate carries, and its notices in any case.
fn licence_texts(one: &Crate) -> Result<Vec<String>, String> {
    let entries = std::fs::read_dir(&one.folder)
        .map_err(|error| format!("{} is not in the registry of this machine: {error}; run `cargo fetch`", one.name))?;
    let mut files: Vec<(String, PathBuf)> = entries
        .flatten()
        .map(|entry| (entry.file_name().to_string_lossy().to_ascii_uppercase(), entry.path()))
        .filter(|(name, path)| {
            path.is_file()
                && ["LICENSE", "LICENCE", "COPYING", "NOTICE", "UNLICENSE"].iter().any(|start| name.starts_with(start))
        })
        .collect();
    files.sort();
    let has_choice = one.licence.contains(" OR ") || one.licence.contains('/');
    if has_choice && files.iter().any(|(name, _)| name.contains("MIT")) {
        files.retain(|(name, _)| name.contains("MIT") || name.starts_with("NOTICE"));
    }
    files
        .into_iter()
        .map(|(_, path)| {
            let text = std::fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
            let text = String::from_utf8_lossy(&text).replace('\r', "");
            Ok(text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n").trim().to_owned())
        })
        .collect()
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test may panic")]

    use super::*;

    #[test]
    fn the_notices_name_what_is_built_in() {
        let root = command::root();
        let written = std::fs::read_to_string(root.join(FILE)).unwrap();
        let written: BTreeSet<&str> = written.lines().filter(|line| line.starts_with("| ")).skip(2).collect();
        let crates = crates(&root).unwrap();
        let rows: Vec<String> = crates.iter().map(row).collect();
        let expected: BTreeSet<&str> = rows.iter().map(String::as_str).collect();
        let missing: Vec<_> = expected.difference(&written).collect();
        let stale: Vec<_> = written.difference(&expected).collect();
        assert!(
            missing.is_empty() && stale.is_empty(),
            "run `cargo xtask notices`: {missing:#?} missing, {stale:#?} gone"
        );
        assert!(crates.iter().any(|one| one.name == "tokio") && !crates.iter().any(|one| one.name == "insta"));
    }
}
