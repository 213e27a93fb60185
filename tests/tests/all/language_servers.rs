//! Real language servers of the daemon's own, in an editor that offers no problems: installed by `cargo xtask test`. Needs the program:
//! `cargo build -p copydesk`.

use std::path::{Path, PathBuf};

use copydesk_tests::daemon::Home;
use copydesk_tests::fake_editor::{Capabilities, FakeEditor, uri};
use copydesk_tests::scripted_model::{Reply, Script, ScriptedModel};
use serde_json::json;

/// A server may need many edits until it is up; on a busy machine more.
const MOST_EDITS: usize = 40;

/// A file of a project, and an edit of it that brings a problem in.
struct Case<'a> {
    file: &'a str,
    good: &'a str,
    bad: &'a str,
    /// In the report of the problem.
    says: &'a str,
}

/// Breaks and mends the file until the problem was told, then mends it: all results, in order.
async fn results(home: Home, case: &Case<'_>, open: &[(&str, &str)]) -> Vec<String> {
    let edit = |old: &str, new: &str| json!({ "filePath": case.file, "oldString": old, "newString": new });
    let (break_it, mend_it) = (edit(case.good, case.bad), edit(case.bad, case.good));
    let says = case.says.to_owned();
    let model = ScriptedModel::start(Script::function(move |request| {
        let results = request.results();
        let told = results.iter().any(|result| result.contains(&says));
        match (results.len() % 2, told) {
            (0, true) => Reply::text("done"),
            (0, false) if results.len() < MOST_EDITS => Reply::call("edit", break_it.clone()),
            (0, false) => Reply::text("not told"),
            _ => Reply::call("edit", mend_it.clone()),
        }
    }))
    .await;
    home.use_model_with(
        &model.base_url(),
        json!({}),
        json!({ "permission": { "edit": "allow", "doom_loop": "allow" } }),
    );
    let folders = vec![uri(&home.workspace())];
    let opt_in = json!({ "protocol": 1, "acp": {} });
    let editor = FakeEditor::open_with(home, Capabilities { opt_in, folders, ..Capabilities::default() }).await;
    editor.disregard("session/update");
    editor.answer_permissions_with("allow_once");
    for (file, text) in open {
        let document = uri(&editor.home().workspace().join(file));
        editor.open_document(&document, "python", text);
    }
    let session = editor.new_session().await;
    editor.turn(&session, "go").await;
    let requests = model.requests();
    let results = requests.last().unwrap().results().iter().map(|&result| result.to_owned()).collect();
    editor.finish().await;
    model.finish();
    results
}

/// The problem is told once its server is up, with the place; once told it is fixed by the edit that mends the file, and nothing of the old text is told.
async fn check(home: Home, case: Case<'_>) {
    let results = results(home, &case, &[]).await;
    let told = results.iter().position(|result| result.contains(case.says));
    let told = told.unwrap_or_else(|| panic!("{} was never told: {results:#?}", case.says));
    let of_good_text = results.iter().skip(1).step_by(2);
    for result in of_good_text {
        let news = result.split("Fixed by this edit").next().unwrap();
        assert!(!news.contains(case.says), "a problem of the old text is told as one of the new: {result}");
    }
    let mended = &results[told + 1];
    assert!(mended.contains("Fixed by this edit") && mended.contains(case.says), "{mended}");
}

/// With the folder of the program first in the path; anything else that is found has no say, since its program is another.
fn home_with(programs: &Path) -> Home {
    let mut home = Home::new();
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
    home.set_variable("PATH", &path);
    home
}

fn tool(path: &str, program: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join("target/tools").join(path);
    assert!(folder.join(program).is_file(), "no {program} in {}: run `cargo xtask test`", folder.display());
    folder
}

fn ty() -> PathBuf {
    tool("ty/bin", "ty")
}

#[tokio::test]
async fn c97_r17_1_ty_tells_what_an_edit_breaks_and_mends() {
    let home = home_with(&ty());
    home.write("pyproject.toml", "[project]\nname = \"p\"\nversion = \"1\"\n");
    home.write("a.py", "def f(n: int) -> int:\n    return n\n\n\nprint(f(1))\n");
    check(
        home,
        Case { file: "a.py", good: "f(1)", bad: "f(\"é\")", says: "5:9: Argument to function `f` is incorrect" },
    )
    .await;
}

#[tokio::test]
async fn c97_r17_1_the_native_typescript_server_tells_what_an_edit_breaks_and_mends() {
    let home = home_with(&tool("typescript/node_modules/.bin", "tsc"));
    home.write("tsconfig.json", "{\"compilerOptions\": {\"strict\": true}}\n");
    home.write("a.ts", "export const n: number = 1;\n");
    check(
        home,
        Case { file: "a.ts", good: "= 1", bad: "= \"é\"", says: "Type 'string' is not assignable to type 'number'." },
    )
    .await;
}

#[tokio::test]
async fn c97_r17_1_clangd_tells_what_an_edit_breaks_and_mends() {
    let home = Home::new();
    home.write("compile_flags.txt", "-Wall\n");
    home.write("a.c", "int main(void) { return 0; }\n");
    check(home, Case { file: "a.c", good: "return 0", bad: "return x", says: "Use of undeclared identifier 'x'" })
        .await;
}

#[tokio::test]
async fn r6_1_a_server_knows_the_unsaved_text_of_other_files() {
    let home = home_with(&ty());
    home.write("pyproject.toml", "[project]\nname = \"p\"\nversion = \"1\"\n");
    home.write("a.py", "old = 1\n");
    home.write("b.py", "from a import old\n\nprint(old)\n");
    // In the buffer alone `a` has `new` in place of `old`.
    let case = Case { file: "b.py", good: "import old", bad: "import new, missing", says: "no member `missing`" };
    let results = results(home, &case, &[("a.py", "new = 1\n")]).await;
    assert!(results.iter().any(|result| result.contains(case.says)), "{results:#?}");
    assert!(!results.iter().any(|result| result.contains("no member `new`")), "{results:#?}");
}

#[tokio::test]
async fn without_language_servers_the_check_commands_speak() {
    let home = Home::new();
    home.write("a.sh", "echo one\n");
    let results =
        results(home, &Case { file: "a.sh", good: "echo one", bad: "echo (", says: "syntax error" }, &[]).await;
    assert!(results[0].contains("syntax error"), "{results:#?}");
}

#[tokio::test]
async fn doctor_names_the_servers_that_the_project_wants_and_that_are_not_there() {
    let mut home = Home::new();
    home.set_variable("PATH", &format!("{}:/usr/bin:/bin", ty().display()));
    home.write("pyproject.toml", "[project]\nname = \"p\"\nversion = \"1\"\n");
    home.write("gleam.toml", "");
    let (_, text, _) = home.ended(&["doctor"]).await;
    let of = |says: &str| text.lines().filter(|line| line.contains(" servers ") && line.contains(says)).count();
    assert_eq!(of("ty by "), 1, "{text}");
    assert_eq!(of("gleam not found"), 1, "{text}");
    assert_eq!(of("dart not found"), 0, "{text}");
}

/// Calls of the tool `lsp` one after the other: the results in order, and the files afterwards.
async fn asked(home: Home, files: [&str; 2], calls: Vec<serde_json::Value>) -> (Vec<String>, [String; 2]) {
    let model = ScriptedModel::start(Script::function(move |request| match calls.get(request.results().len()) {
        Some(call) => Reply::call("lsp", call.clone()),
        None => Reply::text("done"),
    }))
    .await;
    let config = json!({ "permission": { "edit": "allow" }, "tools": { "lsp": true } });
    home.use_model_with(&model.base_url(), json!({}), config);
    let folders = vec![uri(&home.workspace())];
    let opt_in = json!({ "protocol": 1, "acp": {} });
    let editor = FakeEditor::open_with(home, Capabilities { opt_in, folders, ..Capabilities::default() }).await;
    editor.disregard("session/update");
    let session = editor.new_session().await;
    editor.turn(&session, "go").await;
    let requests = model.requests();
    let results = requests.last().unwrap().results().iter().map(|&result| result.to_owned()).collect();
    let files = files.map(|file| std::fs::read_to_string(editor.home().workspace().join(file)).unwrap());
    editor.finish().await;
    model.finish();
    (results, files)
}

#[tokio::test]
async fn ty_answers_questions_and_renames_in_all_files() {
    let place = |operation: &str, extra: serde_json::Value| {
        let mut input = json!({ "operation": operation, "filePath": "b.py", "line": 3, "symbol": "old" });
        input.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        input
    };
    let home = home_with(&ty());
    home.write("pyproject.toml", "[project]\nname = \"p\"\nversion = \"1\"\n");
    home.write("a.py", "def old(n: int) -> int:\n    return n\n\n\nprint(old(1))\n");
    home.write("b.py", "from a import old\n\nprint(\"é\", old(2))\n");
    let calls = vec![
        place("goToDefinition", json!({})),
        place("findReferences", json!({})),
        place("hover", json!({})),
        json!({ "operation": "documentSymbol", "filePath": "a.py" }),
        place("rename", json!({ "newName": "fresh" })),
    ];
    let (results, [a, b]) = asked(home, ["a.py", "b.py"], calls).await;
    assert!(results[0].contains("a.py:1:5: def old(n: int) -> int:"), "{results:#?}");
    assert!(results[1].contains("b.py:3:12: print(\"é\", old(2))") && results[1].contains("a.py:5:7"), "{results:#?}");
    assert!(results[2].contains("def old(n: int) -> int"), "{results:#?}");
    assert!(results[3].contains("function old a.py:1:5"), "{results:#?}");
    assert!(results[4].contains("ty renamed old to fresh"), "{results:#?}");
    assert_eq!(a, "def fresh(n: int) -> int:\n    return n\n\n\nprint(fresh(1))\n");
    assert_eq!(b, "from a import fresh\n\nprint(\"é\", fresh(2))\n");
}

#[tokio::test]
async fn the_native_typescript_server_renames_where_a_name_is_declared_and_not_where_it_is_imported() {
    let home = home_with(&tool("typescript/node_modules/.bin", "tsc"));
    home.write("tsconfig.json", "{}\n");
    home.write("a.ts", "export function old(): number {\n  return 1;\n}\n");
    home.write("b.ts", "import { old } from \"./a\";\n\nexport const n: number = old();\n");
    let rename = json!({ "operation": "rename", "filePath": "b.ts", "line": 3, "symbol": "old", "newName": "fresh" });
    let (results, [a, b]) = asked(home, ["a.ts", "b.ts"], vec![rename]).await;
    assert!(results[0].contains("typescript renamed old to fresh"), "{results:#?}");
    assert_eq!(a, "export function fresh(): number {\n  return 1;\n}\n");
    assert_eq!(b, "import { fresh } from \"./a\";\n\nexport const n: number = fresh();\n");
}
