//! Formatters that nobody here wrote, after edits by the built daemon, in the sandbox where the machine has one. Needs the program: `cargo build -p copydesk`,
//! and what `cargo xtask test` installs.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use copydesk_tests::acp_schema::tools;
use copydesk_tests::daemon::Home;
use copydesk_tests::fake_editor::{Capabilities, FakeEditor, uri};
use copydesk_tests::scripted_model::{Reply, ScriptedModel};
use serde_json::{Value, json};

/// A project, and which formatters are installed where it is edited.
struct Project<'a> {
    programs: &'a [PathBuf],
    files: &'a [(&'a str, &'a str)],
    formatter: Value,
    trust: &'a str,
}

impl Default for Project<'_> {
    fn default() -> Self {
        Self { programs: &[], files: &[], formatter: json!(true), trust: "trusted" }
    }
}

/// What came of an edit.
struct Edited {
    text: String,
    /// What the model was told.
    result: String,
    /// What the user was told beside it.
    messages: Vec<Value>,
}

impl Project<'_> {
    /// One edit, and that it is one step of undo which leaves nothing behind.
    async fn edit(&self, [file, old, new]: [&str; 3]) -> Edited {
        let call = json!({ "filePath": file, "oldString": old, "newString": new });
        let model = ScriptedModel::start([Reply::call("edit", call), Reply::text("done")]).await;
        let mut home = Home::new();
        let mut path: Vec<_> = self.programs.to_vec();
        path.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap()));
        home.set_variable("PATH", std::env::join_paths(path).unwrap().to_str().unwrap());
        let keys = json!({ "permission": { "edit": "allow" }, "formatter": self.formatter, "lsp": false });
        home.use_model_with(&model.base_url(), json!({}), keys);
        self.files.iter().for_each(|(name, text)| drop(home.write(name, text)));
        let folders = vec![uri(&home.workspace())];
        let opt_in = json!({ "protocol": 1, "acp": {}, "trust": self.trust });
        let editor = FakeEditor::open_with(home, Capabilities { opt_in, folders, ..Capabilities::default() }).await;
        editor.disregard("session/update");
        let workspace = editor.home().workspace();
        let before = (names(&workspace), std::fs::read_to_string(workspace.join(file)).unwrap());
        let session = editor.new_session().await;
        editor.turn(&session, "go").await;
        let result = model.requests().last().unwrap().results()[0].to_owned();
        let text = std::fs::read_to_string(workspace.join(file)).unwrap();
        assert_eq!(names(&workspace), before.0, "{result}");
        let undo = json!({ "sessionId": session, "what": "last" });
        editor.request("_copydesk/undo", undo).await.unwrap();
        assert_eq!(std::fs::read_to_string(workspace.join(file)).unwrap(), before.1, "{result}");
        let messages = editor.take_notifications("window/showMessage");
        editor.finish().await;
        model.finish();
        Edited { text, result, messages }
    }

    /// `old` of the file's text becomes `new`, and is formatted by this one so that the file holds `expected`.
    async fn is_formatted(&self, by: &str, edit: [&str; 3], expected: &str) {
        let edited = self.edit(edit).await;
        assert_eq!(edited.text, expected, "{}", edited.result);
        let told = format!("{by} formatted it, so that it differs from what you gave:");
        assert!(edited.result.contains(&told), "{}", edited.result);
        let (_, differs) = edited.result.split_once(&told).unwrap();
        let formatted = expected.lines().filter(|line| differs.contains(&format!("\n+{line}"))).count();
        assert!(formatted > 0, "{}", edited.result);
    }

    /// The edit is made, and no formatter is so much as spoken of.
    async fn stays(&self, [file, old, new]: [&str; 3]) {
        let (_, before) = self.files.iter().find(|(name, _)| *name == file).unwrap();
        let edited = self.edit([file, old, new]).await;
        assert_eq!(edited.text, before.replace(old, new), "{}", edited.result);
        assert!(!edited.result.contains("format"), "{}", edited.result);
    }

    /// The edit stands as it is, and the model gets these words of the program.
    async fn fails(&self, by: &str, [file, old, new]: [&str; 3], words: &str) {
        let (_, before) = self.files.iter().find(|(name, _)| *name == file).unwrap();
        let edited = self.edit([file, old, new]).await;
        assert_eq!(edited.text, before.replace(old, new), "{}", edited.result);
        let told = format!("The formatter {by} failed and changed nothing: ");
        let (_, said) = edited.result.split_once(&told).unwrap_or_else(|| panic!("{}", edited.result));
        assert!(said.contains(words) && !said.contains('\u{1b}'), "{}", edited.result);
    }
}

/// Of all that lies below, without what links lead to.
fn names(folder: &Path) -> Vec<PathBuf> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        if entry.file_type().unwrap().is_dir() {
            names.extend(self::names(&entry.path()));
        }
        names.push(entry.path());
    }
    names.sort();
    names
}

fn tool(folder: &str, program: &str) -> PathBuf {
    let folder = tools().join(folder);
    assert!(folder.join(program).is_file(), "no {program} in {}: run `cargo xtask test`", folder.display());
    folder
}

fn web() -> PathBuf {
    tool("formatters/node_modules/.bin", "prettier")
}

fn ruff() -> PathBuf {
    tool("ruff/bin", "ruff")
}

/// The toolchain's own, past the proxy that `rustup` puts before it.
fn rustfmt() -> PathBuf {
    let found = Command::new("rustc").args(["--print", "sysroot"]).output().unwrap();
    let folder = Path::new(String::from_utf8(found.stdout).unwrap().trim()).join("bin");
    assert!(folder.join("rustfmt").is_file(), "no rustfmt in {}: run `cargo xtask test`", folder.display());
    folder
}

const USES_PRETTIER: (&str, &str) = ("package.json", "{ \"devDependencies\": { \"prettier\": \"3\" } }");
const BAD_JS: &str = "f( 1 ,(";

#[tokio::test]
async fn the_real_rustfmt_formats_what_an_edit_made() {
    let manifest = "[package]\nname = \"a\"\nversion = \"0.1.0\"\nedition = \"2024\"\n";
    let files = [
        ("Cargo.toml", manifest),
        ("rustfmt.toml", "hard_tabs = true\n"),
        ("src/main.rs", "fn main() {\n\told();\n}\n"),
    ];
    let project = Project { programs: &[rustfmt()], files: &files, ..Project::default() };
    project.is_formatted("rustfmt", ["src/main.rs", "old()", "f( 1,2 )"], "fn main() {\n\tf(1, 2);\n}\n").await;
    project.fails("rustfmt", ["src/main.rs", "old()", "f(("], "unclosed delimiter").await;
}

#[tokio::test]
async fn the_real_ruff_formats_where_the_project_names_it() {
    let formatted = "x = {\"a\": 1}\n";
    let edit = ["src/a.py", "old", "{ 'a':1 }"];
    for config in [
        ("ruff.toml", "line-length = 80\n"),
        (".ruff.toml", ""),
        ("pyproject.toml", "[tool.ruff]\n"),
        ("requirements.txt", "ruff==1\n"),
    ] {
        let files = [config, ("src/a.py", "x = old\n")];
        let project = Project { programs: &[ruff()], files: &files, ..Project::default() };
        project.is_formatted("ruff", edit, formatted).await;
    }
    let files = [("pyproject.toml", "[project]\nname = \"a\"\n"), ("src/a.py", "x = old\n")];
    Project { programs: &[ruff()], files: &files, ..Project::default() }.stays(edit).await;
    let files = [("ruff.toml", "force-exclude = true\nextend-exclude = [\"src\"]\n"), ("src/a.py", "x = old\n")];
    Project { programs: &[ruff()], files: &files, ..Project::default() }.stays(edit).await;
    let files = [("ruff.toml", ""), ("a.py", "x = old\n")];
    let project = Project { programs: &[ruff()], files: &files, ..Project::default() };
    project.fails("ruff", ["a.py", "old", "( 1,"], "Failed to parse").await;
}

/// It has fetched no ruff here and has no network to do so: it is not waited for.
#[tokio::test]
async fn the_real_uv_without_its_ruff_is_passed_over_at_once() {
    let files = [("pyproject.toml", "[project]\nname = \"a\"\nversion = \"1\"\n"), ("a.py", "x = old\n")];
    let start = Instant::now();
    Project { programs: &[tool("uv/bin", "uv")], files: &files, ..Project::default() }
        .stays(["a.py", "old", "{ 'a':1 }"])
        .await;
    assert!(start.elapsed() < Duration::from_secs(8), "{:?}", start.elapsed());
}

#[tokio::test]
async fn the_real_gofmt_formats_what_an_edit_made() {
    let files = [("a.go", "package a\n\nvar x = old\n")];
    let project = Project { programs: &[tool("go/go/bin", "gofmt")], files: &files, ..Project::default() };
    let formatted = "package a\n\nvar x = []int{1, 2}\n";
    project.is_formatted("gofmt", ["a.go", "old", "[]int{1,2 }"], formatted).await;
    project.fails("gofmt", ["a.go", "old", "[]int{"], "expected").await;
}

#[tokio::test]
async fn the_real_prettier_formats_where_a_manifest_depends_on_it() {
    let files = [
        USES_PRETTIER,
        (".prettierrc", "{ \"semi\": false }"),
        (".prettierignore", "made/\n"),
        ("src/a.ts", "old;\n"),
        ("made/a.ts", "old;\n"),
        ("a.toml", "a = 'old'\n"),
        ("a.md", "# A\n\nold\n"),
    ];
    let programs = [web()];
    let project = Project { programs: &programs, files: &files, ..Project::default() };
    project.is_formatted("prettier", ["src/a.ts", "old;", "let a:number = f( 1 )"], "let a: number = f(1)\n").await;
    project.is_formatted("prettier", ["a.md", "old", "* one\n* two"], "# A\n\n- one\n- two\n").await;
    project.fails("prettier", ["src/a.ts", "old;", BAD_JS], "SyntaxError").await;
    // What it is told to leave alone, and what it knows nothing of.
    project.stays(["made/a.ts", "old;", "let a  = 1"]).await;
    project.stays(["a.toml", "'old'", "  'new'"]).await;

    let files = [("package.json", "{ \"devDependencies\": {} }"), ("a.ts", "old\n")];
    Project { programs: &programs, files: &files, ..Project::default() }.stays(["a.ts", "old", "let a  = 1"]).await;
}

/// As npm lays it out: a link to a program for node, which loads what lies around it.
#[tokio::test]
async fn r19_1_a_prettier_of_the_project_runs_where_it_is_trusted_and_one_in_the_path_where_it_is_named() {
    let edit = ["src/a.ts", "old", "let a  = 1"];
    let files = [USES_PRETTIER, ("src/a.ts", "old\n")];
    let programs = [web()];
    let untrusted = Project { programs: &programs, files: &files, trust: "untrusted", ..Project::default() };
    let edited = untrusted.edit(edit).await;
    assert_eq!(edited.text, "let a  = 1\n", "{}", edited.result);
    let told = edited.messages.iter().filter(|message| message.to_string().contains("prettier is not run")).count();
    assert_eq!(told, 1, "{:#?}", edited.messages);
    let formatter = json!({ "prettier": {} });
    Project { formatter, ..untrusted }.is_formatted("prettier", edit, "let a = 1;\n").await;
}

#[tokio::test]
async fn the_real_biome_formats_where_it_is_configured() {
    let config = "{ \"formatter\": { \"indentStyle\": \"space\", \"indentWidth\": 3 }, \"css\": { \"formatter\": { \"enabled\": false } }, \
                  \"files\": { \"includes\": [\"**\", \"!made/**\"] } }";
    // Below the folder of the session, as in a repository of several packages.
    let files = [
        ("web/biome.json", config),
        ("web/src/a.ts", "old;\n"),
        ("web/made/a.ts", "old;\n"),
        ("web/a.css", "old\n"),
        ("web/a.toml", "old = 1\n"),
        ("other/a.ts", "old;\n"),
    ];
    let programs = [web()];
    let project = Project { programs: &programs, files: &files, ..Project::default() };
    project.is_formatted("biome", ["web/src/a.ts", "old;", "if(a){b()}"], "if (a) {\n   b();\n}\n").await;
    project.fails("biome", ["web/src/a.ts", "old;", BAD_JS], "parse").await;
    project.stays(["web/made/a.ts", "old;", "if(a){b()}"]).await;
    project.stays(["web/a.css", "old", "a {  b: c }"]).await;
    project.stays(["web/a.toml", "old", "a  "]).await;
    project.stays(["other/a.ts", "old;", "if(a){b()}"]).await;
}

#[tokio::test]
async fn the_real_oxfmt_formats_where_it_is_asked_for() {
    let manifest = ("package.json", "{ \"dependencies\": { \"oxfmt\": \"0\" } }");
    let files = [manifest, ("web/.oxfmtrc.json", "{ \"tabWidth\": 3 }"), ("web/a.js", "old;\n")];
    let programs = [web()];
    let edit = ["web/a.js", "old;", "if(a){b()}"];
    let formatter = json!({ "oxfmt": {} });
    let project = Project { programs: &programs, files: &files, formatter, ..Project::default() };
    project.is_formatted("oxfmt", edit, "if (a) {\n   b();\n}\n").await;
    project.fails("oxfmt", ["web/a.js", "old;", BAD_JS], "Expected").await;
    Project { formatter: json!(true), ..project }.stays(edit).await;
}

#[tokio::test]
async fn the_real_clang_format_formats_where_it_is_configured() {
    let edit = ["src/a.c", "old", "int f( int a ){return a;}"];
    let files = [
        (".clang-format", "BasedOnStyle: LLVM\n"),
        (".clang-format-ignore", "made/*\n"),
        ("src/a.c", "old\n"),
        ("made/a.c", "old\n"),
    ];
    let programs = [tool("clang-format/clang_format/data/bin", "clang-format")];
    let project = Project { programs: &programs, files: &files, ..Project::default() };
    project.is_formatted("clang-format", edit, "int f(int a) { return a; }\n").await;
    project.stays(["made/a.c", "old", "int  a;"]).await;
    Project { files: &files[2..], ..project }.stays(edit).await;
}

#[tokio::test]
async fn the_real_shfmt_formats_what_an_edit_made() {
    let config = "root = true\n[*.sh]\nindent_style = space\nindent_size = 3\n";
    let files = [(".editorconfig", config), ("bin/a.sh", "old\n")];
    let programs = [tool("shfmt/bin", "shfmt")];
    let project = Project { programs: &programs, files: &files, ..Project::default() };
    project.is_formatted("shfmt", ["bin/a.sh", "old", "if a;then\nb\nfi"], "if a; then\n   b\nfi\n").await;
    project.fails("shfmt", ["bin/a.sh", "old", "if a; then"], "`then` must be followed").await;
}

/// Another program may have its name.
#[tokio::test]
async fn the_real_air_formats_what_an_edit_made() {
    let files =
        [("air.toml", "[format]\nindent-width = 3\nexclude = [\"made/\"]\n"), ("a.R", "old\n"), ("made/a.R", "old\n")];
    let programs = [tool("air/bin", "air")];
    let project = Project { programs: &programs, files: &files, ..Project::default() };
    project.is_formatted("air", ["a.R", "old", "f<-function(x){x+1}"], "f <- function(x) {\n   x + 1\n}\n").await;
    project.fails("air", ["a.R", "old", "f<-("], "syntax errors").await;
    project.stays(["made/a.R", "old", "f<-1"]).await;
}

/// It needs Java, which is no package of the tests' own.
#[tokio::test]
async fn the_real_ktlint_formats_what_an_edit_made() {
    if !Command::new("java").arg("-version").output().is_ok_and(|java| java.status.success()) {
        return;
    }
    let files =
        [("app/.editorconfig", "root = true\n[*.kt]\nindent_size = 2\n"), ("app/A.kt", "package a\n\nfun old() {}\n")];
    let programs = [tool("ktlint/node_modules/.bin", "ktlint")];
    let project = Project { programs: &programs, files: &files, ..Project::default() };
    // It mends what it can, and complains of the rest.
    let formatted = "package a\n\nimport b.*\n\nfun f() {\n  g(1)\n}\n";
    project.is_formatted("ktlint", ["app/A.kt", "fun old() {}", "import b.*\n\nfun f( ){g( 1 )}"], formatted).await;
    project.fails("ktlint", ["app/A.kt", "fun old() {}", "fun f( {}"], "Not a valid Kotlin file").await;
}
