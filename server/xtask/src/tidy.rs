//! The house rules that a script can check, on the text of files. What cargo and clippy check is not repeated.

use std::path::Path;
use std::process::Command;

use crate::command;

/// Lines of a file without its tests.
const MAX_LINES: usize = 500;

/// A page whose every statement names the test that proves it.
const PROVEN: &str = "docs/editing.md";

/// Notes to oneself are issues, not text. Written in halves, so that this file holds none of them.
const FORBIDDEN: &[&str] = &[
    concat!("TO", "DO:"),
    concat!("TO", "DO("),
    concat!("FIX", "ME"),
    concat!("XX", "X:"),
    concat!("HA", "CK:"),
    concat!("lorem ", "ipsum"),
    concat!("Co-Authored", "-By"),
];

/// Everything that is wrong with the files that git knows, and with those that it would take.
pub(crate) fn problems(root: &Path) -> Vec<String> {
    let mut git = Command::new("git");
    git.args(["ls-files", "--cached", "--others", "--exclude-standard"]).current_dir(root);
    let files = match command::output(git) {
        Ok(files) => files,
        Err(problem) => return vec![problem],
    };
    let mut problems = Vec::new();
    let mut code = String::new();
    for path in files.lines() {
        // Removed and not yet committed, or no text.
        let Ok(text) = std::fs::read_to_string(root.join(path)) else { continue };
        problems.extend(check(path, &text));
        if path.ends_with(".rs") {
            code.push_str(&text);
        }
    }
    let proofs = std::fs::read_to_string(root.join(PROVEN)).unwrap_or_default();
    problems.extend(unproven(&proofs, &code));
    problems
}

/// The tests that the page names and that are in no code: names of functions in backticks, which are longer than anything else there.
fn unproven(page: &str, code: &str) -> Vec<String> {
    let named = page.split('`').skip(1).step_by(2).filter(|name| {
        let is_name = name.chars().all(|char| char.is_ascii_lowercase() || char.is_ascii_digit() || char == '_');
        is_name && name.matches('_').count() > 2
    });
    let named: Vec<&str> = named.collect();
    let missing = named.iter().filter(|name| !code.contains(&format!("fn {name}(")));
    let mut problems: Vec<String> = missing.map(|name| format!("{PROVEN}: there is no test {name}")).collect();
    if named.is_empty() {
        problems.push(format!("{PROVEN}: names no test"));
    }
    problems
}

fn check(path: &str, text: &str) -> Vec<String> {
    let mut problems = Vec::new();
    let mut add = |problem: String| problems.push(format!("{path}: {problem}"));
    let name = path.rsplit('/').next().unwrap_or(path);
    let is_rust = name.ends_with(".rs");
    if name == "mod.rs" {
        add("modules are files of their own name: `foo.rs` beside `foo/`".to_owned());
    }
    if is_rust && !is_test_file(path) && !opens_with_doc(text) {
        add("a module opens with a `//!` line: what it holds, and what it does not".to_owned());
    }
    if is_rust && text.lines().any(|line| line.trim_start().starts_with(concat!("#[", "ignore"))) {
        add("a test that is ignored tests nothing".to_owned());
    }
    if name == "Cargo.toml" && text.lines().any(|line| line.trim() == "[features]") {
        add("the workspace has no crate features".to_owned());
    }
    if (is_rust || name.ends_with(".lua")) && !is_test_file(path) {
        let lines = lines_without_tests(text);
        if lines > MAX_LINES {
            add(format!("{lines} lines without tests, {MAX_LINES} at most: it holds more than one thing"));
        }
    }
    for word in FORBIDDEN {
        if let Some(line) = text.lines().position(|line| line.contains(word)) {
            add(format!("line {} holds `{word}`", line + 1));
        }
    }
    problems
}

/// Files of tests alone; their name says what they hold.
fn is_test_file(path: &str) -> bool {
    path.ends_with("_tests.rs") || path.ends_with("_spec.lua")
}

/// Inner attributes may stand before it.
fn opens_with_doc(text: &str) -> bool {
    let mut lines = text.lines().filter(|line| !line.starts_with("#![") && !line.is_empty());
    lines.next().is_some_and(|line| line.starts_with("//!"))
}

/// Up to an inline module of tests, which stands last.
fn lines_without_tests(text: &str) -> usize {
    let lines: Vec<&str> = text.lines().collect();
    let tests = lines.iter().position(|line| *line == "mod tests {" || line.starts_with("mod tests {"));
    tests.unwrap_or(lines.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_house_is_tidy() {
        let problems = problems(&command::root());
        assert!(problems.is_empty(), "{}", problems.join("\n"));
    }

    #[test]
    fn each_rule_can_be_broken() {
        let broken = |path: &str, text: &str| check(path, text).len();
        assert_eq!(broken("server/x/src/a.rs", "//! Holds a.\n"), 0);
        assert_eq!(broken("server/x/src/a.rs", "#![allow(x)]\n\n//! Holds a.\n"), 0);
        assert_eq!(broken("server/x/src/a.rs", "use b;\n//! Late.\n"), 1);
        assert_eq!(broken("server/x/src/a.rs", ""), 1);
        assert_eq!(broken("server/x/src/a_tests.rs", "use b;\n"), 0);
        assert_eq!(broken("server/x/src/a/mod.rs", "//! A.\n"), 1);
        assert_eq!(broken("server/x/src/a_tests.rs", concat!("#[test]\n  #[", "ignore = \"slow\"]\n")), 1);
        assert_eq!(broken("server/x/Cargo.toml", "[features]\n"), 1);
        assert_eq!(broken("README.md", concat!("a\nb ", "FIX", "ME later\n")), 1);
    }

    #[test]
    fn a_statement_is_proven_by_a_test_that_is_there() {
        let page = "`edit` does `this_is_a_test`, `r1_2_and_this_too`, as `file_path` says.";
        assert_eq!(unproven(page, "async fn this_is_a_test() {}\n    fn r1_2_and_this_too(a in b()) {"), [""; 0]);
        assert_eq!(unproven(page, "fn this_is_a_test() {}").len(), 1);
        assert_eq!(unproven("`edit`", "").len(), 1);
    }

    #[test]
    fn lengths_are_counted_without_tests() {
        let text = |code: usize| format!("//! A.\n{}mod tests {{\n{}}}\n", "x\n".repeat(code - 1), "y\n".repeat(900));
        assert_eq!(check("server/x/src/a.rs", &text(500)), Vec::<String>::new());
        assert_eq!(check("server/x/src/a.rs", &text(501)).len(), 1);
        assert_eq!(check("editors/x/a.lua", &"x\n".repeat(501)).len(), 1);
        assert_eq!(check("tests/neovim/a_spec.lua", &"x\n".repeat(501)), Vec::<String>::new());
    }
}
