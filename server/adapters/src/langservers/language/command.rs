//! Commands of servers that do nothing but ask for an edit: they are run before the user has seen what would become of it. Any other one may do whatever it
//! likes (install a package, run a test), and is not run.

use serde_json::{Value, json};

use super::answer;

/// Facts of the servers, from their documentation and sources: clangd, ESLint, gopls, pyright with its kin, Ruff, typescript-language-server (whose
/// `_typescript.applyRefactoring` is not among them: it makes new files before it asks).
const EDITING: &[&str] = &[
    "_typescript.applyWorkspaceEdit",
    "_typescript.organizeImports",
    "basedpyright.organizeimports",
    "clangd.applyFix",
    "clangd.applyTweak",
    "eslint.applyAllFixes",
    "eslint.applyDisableFile",
    "eslint.applyDisableLine",
    "eslint.applySameFixes",
    "eslint.applySingleFix",
    "eslint.applySuggestion",
    "gopls.add_import",
    "gopls.apply_fix",
    "gopls.change_signature",
    "gopls.extract_to_new_file",
    "gopls.modify_tags",
    "pyright.organizeimports",
    "ruff.applyAutofix",
    "ruff.applyFormat",
    "ruff.applyOrganizeImports",
];

/// `ExecuteCommandParams` of a `Command`, or of a code action with one; `None` where there is none of these.
pub(super) fn of(action: &Value) -> Option<Value> {
    let command = if action["command"].is_object() { &action["command"] } else { action };
    let name = command["command"].as_str().filter(|name| EDITING.contains(name))?;
    let mut params = json!({ "command": name });
    if let Some(arguments) = command.get("arguments").filter(|arguments| arguments.is_array()) {
        params["arguments"] = arguments.clone();
    }
    Some(params)
}

/// Why what an action changes cannot be known, where it is a command. Nothing of it is run then.
pub(super) fn obstacle(action: &Value, runs_commands: bool) -> Option<&'static str> {
    let is_command = !action["command"].is_null() && !answer::is_edit(&action["edit"]) && action["data"].is_null();
    match of(action) {
        _ if !is_command => None,
        None => Some("a command of the server that may do more than edit, so it is not run; make the change yourself"),
        Some(_) if !runs_commands => Some(
            "a command of the server, and this editor would make its edits before they are known; make the change yourself",
        ),
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_commands_that_edit_alone_are_taken() {
        let edits = json!({ "title": "Fix", "command": "gopls.apply_fix", "arguments": [1] });
        let params = json!({ "command": "gopls.apply_fix", "arguments": [1] });
        assert_eq!(of(&edits), Some(params.clone()));
        assert_eq!(of(&json!({ "title": "Fix", "command": edits })), Some(params));
        assert_eq!(of(&json!({ "command": "ruff.applyFormat" })), Some(json!({ "command": "ruff.applyFormat" })));
        for other in [
            json!({ "command": "gopls.run_tests" }),
            json!({ "command": "_typescript.applyRefactoring" }),
            json!({ "title": "Fix" }),
            json!({ "command": 7 }),
            json!(7),
        ] {
            assert_eq!(of(&other), None, "{other}");
        }
        assert!(EDITING.is_sorted());
    }
}
