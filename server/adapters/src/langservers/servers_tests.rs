#![expect(clippy::unwrap_used, reason = "a test may panic")]
//! Which servers look at a file, in a project on the disk whose programs are empty files.

use std::os::unix::fs::PermissionsExt as _;

use super::*;

struct Place(tempfile::TempDir);

impl Place {
    fn new(files: &[&str]) -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        files.iter().for_each(|file| place.write(file, ""));
        place
    }

    fn path(&self, name: &str) -> AbsPath {
        AbsPath::new(self.0.path().canonicalize().unwrap()).unwrap().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap().as_path()).unwrap();
        std::fs::write(path.as_path(), text).unwrap();
        std::fs::set_permissions(path.as_path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn variables(&self) -> Variables {
        [("PATH", self.path("bin").to_string())].into_iter().collect()
    }

    /// `name: program below the place @ root below the project`, in order.
    fn chosen(&self, configured: &LanguageServers, file: &str, is_trusted: bool) -> Vec<String> {
        let (variables, project) = (self.variables(), self.path("project"));
        let at = Surroundings { variables: &variables, is_trusted };
        let chosen = choose(&servers(configured), &project.join(file), &project, &at, |_| false);
        let below = |path: &AbsPath, folder: &AbsPath| path.relative_to(folder).unwrap_or_else(|| path.to_string());
        let shown = |chosen: Chosen| {
            let program = AbsPath::new(&chosen.program).unwrap();
            format!("{}: {} @ {}", chosen.server.name, below(&program, &self.path("")), below(&chosen.root, &project))
        };
        chosen.into_iter().map(shown).collect()
    }
}

fn on<const N: usize>(servers: [(&str, LanguageServer); N]) -> LanguageServers {
    LanguageServers::On(servers.into_iter().map(|(name, server)| (name.to_owned(), server)).collect())
}

#[test]
fn the_table_is_sound() {
    let mut names: Vec<&str> = WELL_KNOWN.iter().map(|known| known.name).collect();
    names.sort_unstable();
    let count = names.len();
    names.dedup();
    assert_eq!(names.len(), count);
    // Each of the servers that opencode knows.
    for name in [
        "astro",
        "bash",
        "biome",
        "clangd",
        "clojure-lsp",
        "csharp",
        "dart",
        "deno",
        "dockerfile",
        "elixir-ls",
        "eslint",
        "fsharp",
        "gleam",
        "gopls",
        "haskell-language-server",
        "jdtls",
        "julials",
        "kotlin-ls",
        "lua-ls",
        "nixd",
        "ocaml-lsp",
        "oxlint",
        "php intelephense",
        "prisma",
        "pyright",
        "razor",
        "ruby-lsp",
        "rust",
        "sourcekit-lsp",
        "svelte",
        "terraform",
        "texlab",
        "tinymist",
        "ty",
        "typescript",
        "vue",
        "yaml-ls",
        "zls",
    ] {
        assert!(names.contains(&name), "{name}");
    }
    for known in WELL_KNOWN {
        assert!(!known.programs.is_empty() && !known.files.is_empty(), "{}", known.name);
        assert!(known.settings.is_empty() || serde_json::from_str::<Value>(known.settings).is_ok(), "{}", known.name);
        assert!(
            known.roots.iter().all(|root| !matches!(root, Root::Nearest([]) | Root::Topmost([]))),
            "{}",
            known.name
        );
    }
}

#[test]
fn one_server_knows_the_language_and_linters_speak_beside_it() {
    let place = Place::new(&["bin/tsc", "bin/biome", "bin/deno", "project/package.json"]);
    let check = |expected: &[&str]| assert_eq!(place.chosen(&LanguageServers::default(), "src/a.ts", false), expected);
    check(&["typescript: bin/tsc @ "]);
    place.write("project/biome.json", "{}");
    check(&["typescript: bin/tsc @ ", "biome: bin/biome @ "]);
    // Deno's project is no other one's.
    place.write("project/deno.json", "{}");
    check(&["deno: bin/deno @ ", "biome: bin/biome @ "]);
}

#[test]
fn roots_are_found_by_their_markers() {
    let place = Place::new(&["bin/gopls", "bin/jdtls", "bin/docker-langserver", "bin/fsautocomplete"]);
    let check = |file: &str, expected: &str| {
        assert_eq!(place.chosen(&LanguageServers::default(), file, true), [expected], "{file}");
    };
    check("a/b/c.go", "gopls: bin/gopls @ ");
    place.write("project/a/b/go.mod", "");
    check("a/b/c.go", "gopls: bin/gopls @ a/b");
    // A work space of modules goes before the nearest module.
    place.write("project/a/go.work", "");
    check("a/b/c.go", "gopls: bin/gopls @ a");
    place.write("project/app/pom.xml", "");
    place.write("project/app/core/pom.xml", "");
    check("app/core/src/A.java", "jdtls: bin/jdtls @ app");
    place.write("project/dotnet/app.sln", "");
    place.write("project/dotnet/lib/lib.fsproj", "");
    check("dotnet/lib/a.fs", "fsharp: bin/fsautocomplete @ dotnet");
    // By its whole name, and by the extension.
    check("Dockerfile", "dockerfile: bin/docker-langserver @ ");
    check("app.dockerfile", "dockerfile: bin/docker-langserver @ ");
    // Above the workspace nothing is looked at.
    place.write("go.work", "");
    check("c.go", "gopls: bin/gopls @ ");
}

#[test]
fn a_cargo_workspace_is_one_root() {
    let place = Place::new(&["bin/rust-analyzer", "project/crates/one/Cargo.toml"]);
    let check = |expected: &str| {
        assert_eq!(place.chosen(&LanguageServers::default(), "crates/one/src/lib.rs", true), [expected]);
    };
    check("rust: bin/rust-analyzer @ crates/one");
    place.write("project/Cargo.toml", "[workspace]\nmembers = [\"crates/*\"]\n");
    check("rust: bin/rust-analyzer @ ");
}

#[test]
fn r19_1_what_runs_code_of_the_project_waits_for_trust_or_for_its_name() {
    let place = Place::new(&["bin/rust-analyzer", "project/Cargo.toml"]);
    let default = LanguageServers::default();
    assert_eq!(place.chosen(&default, "a.rs", false), [""; 0]);
    assert_eq!(place.chosen(&default, "a.rs", true), ["rust: bin/rust-analyzer @ "]);
    let named = on([("rust", LanguageServer::default())]);
    assert_eq!(place.chosen(&named, "a.rs", false), ["rust: bin/rust-analyzer @ "]);
}

#[test]
fn r19_1_programs_of_the_repository_are_used_only_where_it_is_trusted() {
    let place = Place::new(&["bin/biome", "project/biome.json", "project/node_modules/.bin/biome"]);
    let check = |is_trusted, expected: &str| {
        assert_eq!(place.chosen(&LanguageServers::default(), "src/a.css", is_trusted), [expected]);
    };
    check(false, "biome: bin/biome @ ");
    check(true, "biome: project/node_modules/.bin/biome @ ");
    // ESLint is the project's own and its configuration is a program.
    let place = Place::new(&["bin/vscode-eslint-language-server", "project/eslint.config.js"]);
    let check = |is_trusted, expected: &[&str]| {
        assert_eq!(place.chosen(&LanguageServers::default(), "a.vue", is_trusted), expected);
    };
    check(true, &[]);
    place.write("project/node_modules/eslint/package.json", "{}");
    check(true, &["eslint: bin/vscode-eslint-language-server @ "]);
    check(false, &[]);
}

#[test]
fn the_compiler_of_an_older_typescript_is_no_server() {
    let place = Place::new(&["lib/typescript/bin/tsc", "bin/typescript-language-server"]);
    std::os::unix::fs::symlink(place.path("lib/typescript/bin/tsc").as_path(), place.path("bin/tsc").as_path())
        .unwrap();
    let check = |version: &str, expected: &[&str]| {
        place.write("lib/typescript/package.json", &json!({ "version": version }).to_string());
        assert_eq!(place.chosen(&LanguageServers::default(), "a.ts", true), expected, "{version}");
    };
    check("7.0.2", &["typescript: bin/tsc @ "]);
    check("5.9.3", &["typescript: bin/typescript-language-server @ "]);
}

#[test]
fn another_server_speaks_while_one_is_down() {
    let place = Place::new(&["bin/ty", "bin/pyright-langserver"]);
    let (variables, project) = (place.variables(), place.path("project"));
    let at = Surroundings { variables: &variables, is_trusted: false };
    let down = |name: &'static str| move |chosen: &Chosen| chosen.server.name == name;
    let servers = servers(&LanguageServers::default());
    let names = |name| -> Vec<String> {
        let chosen = choose(&servers, &project.join("a.py"), &project, &at, down(name));
        chosen.into_iter().map(|chosen| chosen.server.name).collect()
    };
    assert_eq!(names("nobody"), ["ty"]);
    assert_eq!(names("ty"), ["pyright"]);
}

#[test]
fn the_user_adds_changes_and_disables_servers() {
    let place = Place::new(&["bin/ty", "bin/ruff", "bin/own-ls", "opt/ty"]);
    let check = |configured: &LanguageServers, file: &str, expected: &[&str]| {
        assert_eq!(place.chosen(configured, file, false), expected);
    };
    check(&LanguageServers::default(), "a.py", &["ty: bin/ty @ ", "ruff: bin/ruff @ "]);
    check(&LanguageServers::Off, "a.py", &[]);
    let own = LanguageServer {
        command: Some(vec!["own-ls".to_owned()]),
        extensions: Some(vec![".py".to_owned(), "own".to_owned()]),
        ..LanguageServer::default()
    };
    let moved = LanguageServer { command: Some(vec![place.path("opt/ty").to_string()]), ..LanguageServer::default() };
    let off = LanguageServer { disabled: true, ..LanguageServer::default() };
    let configured = on([("own", own), ("ruff", off), ("ty", moved)]);
    check(&configured, "a.py", &["own: bin/own-ls @ ", "ty: opt/ty @ "]);
    check(&configured, "a.own", &["own: bin/own-ls @ "]);
    check(&configured, "a.rs", &[]);
}

#[test]
fn the_interpreter_of_a_python_project_is_told() {
    let place = Place::new(&["bin/pyright-langserver", "project/.venv/bin/python", "env/bin/python"]);
    let python = |variables: Variables, is_trusted| {
        let at = Surroundings { variables: &variables, is_trusted };
        let project = place.path("project");
        let chosen = choose(&servers(&LanguageServers::default()), &project.join("a.py"), &project, &at, |_| false);
        chosen[0].initialization["python"]["pythonPath"].as_str().map(str::to_owned)
    };
    // That of the repository would be run.
    assert_eq!(python(place.variables(), false), None);
    assert_eq!(python(place.variables(), true), Some(place.path("project/.venv/bin/python").to_string()));
    let active: Variables =
        [("PATH", place.path("bin").to_string()), ("VIRTUAL_ENV", place.path("env").to_string())].into_iter().collect();
    assert_eq!(python(active, false), Some(place.path("env/bin/python").to_string()));
}

#[test]
fn doctor_learns_what_is_there_and_what_is_wanted() {
    let place = Place::new(&["bin/ty", "project/go.mod", "project/Cargo.toml"]);
    let named = on([("zls", LanguageServer::default())]);
    let all = standings(&named, &[place.path("project")], &place.variables());
    let of = |name: &str| {
        let standing = all.iter().find(|standing| standing.name == name).unwrap();
        (standing.found.is_some(), standing.is_wanted, standing.waits_for_trust)
    };
    assert_eq!(of("ty"), (true, false, false));
    assert_eq!(of("gopls"), (false, true, false));
    assert_eq!(of("rust"), (false, true, true));
    assert_eq!(of("zls"), (false, true, false));
    assert_eq!(of("dart"), (false, false, true));
}

/// Doctor looks with the same eyes: what would not be started is not called found.
#[test]
fn doctor_finds_what_would_be_started() {
    let check = |files: &[&str], name: &str, expected: (Option<&str>, bool, bool)| {
        let place = Place::new(files);
        let all = standings(&on([]), &[place.path("project")], &place.variables());
        let standing = all.into_iter().find(|standing| standing.name == name).unwrap();
        let found = standing.found.as_deref().map(|path| path.strip_prefix(place.path("").as_path()).unwrap());
        let standing = (found.and_then(Path::to_str), standing.is_wanted, standing.waits_for_trust);
        assert_eq!(standing, expected, "{name} among {files:?}");
    };
    let local = "project/node_modules/.bin/tsc";
    // Of the project's own there is one, which may not run unasked.
    check(&["project/package.json", local], "typescript", (Some(local), true, true));
    check(&["project/package.json", local, "bin/tsc"], "typescript", (Some("bin/tsc"), true, false));
    check(&["project/package.json", "project/deno.json", "bin/tsc"], "typescript", (Some("bin/tsc"), false, false));
    let server = "bin/vscode-eslint-language-server";
    check(&["project/eslint.config.js", server], "eslint", (None, true, true));
    check(&["project/eslint.config.js", server, "project/node_modules/eslint/x"], "eslint", (Some(server), true, true));
}

/// A `tsc` of an older version is no server.
#[test]
fn doctor_takes_no_compiler_for_a_server() {
    let place = Place::new(&["lib/typescript/bin/tsc", "project/package.json"]);
    std::fs::write(place.path("lib/typescript/package.json").as_path(), r#"{"version":"5.9.2"}"#).unwrap();
    std::fs::create_dir_all(place.path("bin").as_path()).unwrap();
    std::os::unix::fs::symlink(place.path("lib/typescript/bin/tsc").as_path(), place.path("bin/tsc").as_path())
        .unwrap();
    let all = standings(&on([]), &[place.path("project")], &place.variables());
    assert_eq!(all.iter().find(|standing| standing.name == "typescript").unwrap().found, None);
}
