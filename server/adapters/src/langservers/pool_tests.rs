#![expect(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]
//! Which server is started for which file, and how its process ends. What servers say is tested with the actor.

use std::io;
use std::path::Path;
use std::sync::Arc;

use copydesk_engine::overlay::Overlay;
use copydesk_engine::ports::{Diagnostic, DiagnosticSeverity, LanguageServer, LanguageServers};
use copydesk_protocol::rpc;
use ropey::Rope;
use serde_json::json;

use super::*;

const WAIT: Duration = Duration::from_millis(1500);

/// A project, and a folder with programs.
struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let place = Self { folder: tempfile::tempdir().unwrap() };
        for folder in ["bin", "project"] {
            std::fs::create_dir_all(place.path(folder).as_path()).unwrap();
        }
        place
    }

    fn path(&self, name: &str) -> AbsPath {
        AbsPath::new(self.folder.path().canonicalize().unwrap().join(name)).unwrap()
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap().as_path()).unwrap();
        std::fs::write(path.as_path(), text).unwrap();
    }

    fn program(&self, name: &str, script: &str) {
        use std::os::unix::fs::PermissionsExt as _;
        let path = self.path("bin").join(name);
        std::fs::write(path.as_path(), format!("#!/bin/bash\n{script}\n")).unwrap();
        std::fs::set_permissions(path.as_path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn variables(&self) -> Variables {
        let bin = self.path("bin").to_string();
        let path = format!("{bin}:/usr/local/bin:/usr/bin:/bin");
        [
            ("PATH", path.as_str()),
            ("SECRET_KEY", "sk-secret"),
            ("COPY_OF_KEY", "sk-secret"),
            ("OTHER_TOKEN", "t0ken"),
            ("GOFLAGS", "-mod=mod"),
            ("SSH_AUTH_SOCK", "/run/agent"),
            ("KEPT", "kept"),
        ]
        .into_iter()
        .collect()
    }

    fn scope(&self, servers: LanguageServers) -> DiagnosticsScope {
        DiagnosticsScope {
            servers,
            roots: vec![self.path("project")],
            overlay: Arc::new(Overlay::new()),
            hidden_vars: vec!["SECRET_KEY".to_owned()],
            passed_vars: ["KEPT", "COPY_OF_KEY"].map(str::to_owned).to_vec(),
            trusts_programs: false,
        }
    }

    fn target(&self, name: &str) -> DiagnosticsTarget {
        DiagnosticsTarget { path: self.path(name), open: None, text: Rope::from("x") }
    }
}

/// What would be started for a file: name of the program and folder, relative to the place; `None` where nobody looks at it.
async fn chosen(place: &Place, servers: LanguageServers, file: &str) -> Option<(String, String)> {
    let started: Arc<Mutex<Vec<Launch>>> = Arc::default();
    let seen = Arc::clone(&started);
    let launcher: Launcher = Arc::new(move |launch| {
        seen.lock().unwrap().push(launch.clone());
        Err(io::Error::other("not in this test"))
    });
    let pool = LanguageServerPool::with_launcher(place.variables(), launcher);
    let session = pool.for_session(&place.scope(servers)).unwrap();
    session.of(place.target(file), WAIT).await;
    let launch = started.lock().unwrap().pop()?;
    let base = place.path("");
    let below = |path: AbsPath| path.relative_to(&base).unwrap();
    Some((below(AbsPath::new(&launch.program).unwrap()), below(launch.folder)))
}

#[tokio::test]
async fn the_server_of_a_file_is_the_first_whose_program_is_found_below_the_nearest_marker() {
    let place = Place::new();
    let check = async |servers: LanguageServers, file: &str, expected: Option<(&str, &str)>| {
        let found = chosen(&place, servers, file).await;
        let found = found.as_ref().map(|(program, folder)| (program.as_str(), folder.as_str()));
        assert_eq!(found, expected, "{file}");
    };
    let default = LanguageServers::default;
    check(default(), "project/a.own", None).await;
    place.program("pyright-langserver", "");
    check(default(), "project/src/a.py", Some(("bin/pyright-langserver", "project"))).await;
    place.program("ty", "");
    check(default(), "project/src/a.py", Some(("bin/ty", "project"))).await;
    place.write("project/src/pyproject.toml", "");
    check(default(), "project/src/deep/a.py", Some(("bin/ty", "project/src"))).await;
    check(default(), "elsewhere/a.py", None).await;
    check(LanguageServers::Off, "project/src/a.py", None).await;
    let disabled = LanguageServer { disabled: true, ..LanguageServer::default() };
    let without_ty = LanguageServers::On([("ty".to_owned(), disabled)].into());
    check(without_ty, "project/a.py", Some(("bin/pyright-langserver", "project"))).await;
    // Without its database it takes every header for missing.
    place.program("clangd", "");
    check(default(), "project/a.c", None).await;
    place.write("project/compile_flags.txt", "-Wall\n");
    check(default(), "project/a.c", Some(("bin/clangd", "project"))).await;
}

#[tokio::test]
async fn nothing_is_started_before_a_session_looks_at_a_file_of_the_server() {
    let place = Place::new();
    place.program("ty", "");
    let started: Arc<Mutex<Vec<AbsPath>>> = Arc::default();
    let seen = Arc::clone(&started);
    let launcher: Launcher = Arc::new(move |launch| {
        seen.lock().unwrap().push(launch.folder.clone());
        Err(io::Error::other("not in this test"))
    });
    let pool = LanguageServerPool::with_launcher(place.variables(), launcher);
    assert_eq!(pool.of(place.target("project/a.py"), WAIT).await, DiagnosticsReport::Unavailable);
    let session = pool.for_session(&place.scope(LanguageServers::default())).unwrap();
    let off = pool.for_session(&place.scope(LanguageServers::Off)).unwrap();
    assert_eq!(session.of(place.target("project/a.own"), WAIT).await, DiagnosticsReport::Unavailable);
    assert_eq!(off.of(place.target("project/a.py"), WAIT).await, DiagnosticsReport::Unavailable);
    assert_eq!(pool.of(place.target("project/a.py"), WAIT).await, DiagnosticsReport::Unavailable);
    assert_eq!(*started.lock().unwrap(), []);
    session.of(place.target("project/a.py"), WAIT).await;
    assert_eq!(started.lock().unwrap().first(), Some(&place.path("project")));
}

/// Processes whose command line names the folder of the test.
fn left_over(place: &Place) -> usize {
    let marker = place.path("bin").to_string();
    let names = |pid: &Path| {
        std::fs::read(pid.join("cmdline")).is_ok_and(|line| String::from_utf8_lossy(&line).contains(&marker))
    };
    std::fs::read_dir("/proc").unwrap().flatten().filter(|entry| names(&entry.path())).count()
}

#[tokio::test]
async fn r11_4_r19_3_a_server_sees_no_key_and_leaves_no_process_behind() {
    let place = Place::new();
    // It floods its standard error, ignores the end of its input and TERM, and has a child that does so too.
    place.program(
        "ty",
        r#"trap '' TERM
env > "$0.env"
head -c 300000 /dev/zero | tr '\0' 'e' >&2
bash -c "trap '' TERM; while :; do sleep 5; done" "$0" &
touch "$0.up"
while :; do sleep 5; done"#,
    );
    let pool = LanguageServerPool::new(place.variables());
    let session = pool.for_session(&place.scope(LanguageServers::default())).unwrap();
    let start = Instant::now();
    assert_eq!(session.of(place.target("project/a.py"), WAIT).await, DiagnosticsReport::NotReady);
    assert!(start.elapsed() < WAIT + Duration::from_millis(500), "{:?}", start.elapsed());
    let up = place.path("bin/ty.up");
    timeout(Duration::from_secs(20), async {
        while !up.as_path().exists() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    })
    .await
    .unwrap();
    let environment = std::fs::read_to_string(place.path("bin/ty.env").as_path()).unwrap();
    for passed in ["KEPT=kept", "GOFLAGS=-mod=mod", "SSH_AUTH_SOCK=/run/agent"] {
        assert!(environment.contains(passed), "{environment}");
    }
    // A key of a provider under any name, and whatever is in no list.
    assert!(!environment.contains("sk-secret") && !environment.contains("t0ken"), "{environment}");
    assert!(left_over(&place) > 0);
    pool.shutdown().await;
    assert_eq!(left_over(&place), 0);
}

#[test]
fn r17_1_what_several_servers_say_is_one_report_that_names_who_has_not_spoken() {
    use DiagnosticsReport::{NotReady, Partly, Ready, Unavailable};
    let problem = |line| Diagnostic {
        line,
        column: 1,
        severity: DiagnosticSeverity::Error,
        message: "m".to_owned(),
        source: None,
    };
    let check = |reports: Vec<DiagnosticsReport>, expected| {
        let names = ["ty", "ruff", "own"].map(str::to_owned);
        assert_eq!(together(names.into_iter().zip(reports).collect()), expected);
    };
    check(Vec::new(), Unavailable);
    check(vec![Unavailable, Unavailable], Unavailable);
    check(vec![Ready(vec![problem(2)]), Unavailable], Ready(vec![problem(2)]));
    // One that both tell is told once.
    let both = Ready(vec![problem(1), problem(2), problem(3)]);
    check(vec![Ready(vec![problem(3), problem(2)]), Ready(vec![problem(1), problem(2)])], both);
    check(vec![NotReady, Unavailable], NotReady);
    let partly = Partly { found: vec![problem(1)], missing: vec!["ty".to_owned()], presumed: Vec::new() };
    check(vec![NotReady, Ready(vec![problem(1)])], partly);
    let presumed = |lines: &[usize], missing: &[&str]| Partly {
        found: lines.iter().map(|&line| problem(line)).collect(),
        missing: missing.iter().map(|&name| name.to_owned()).collect(),
        presumed: vec!["own".to_owned()],
    };
    check(vec![Ready(vec![problem(2)]), Unavailable, presumed(&[1], &[])], presumed(&[1, 2], &[]));
    check(vec![NotReady, Unavailable, presumed(&[1], &[])], presumed(&[1], &["ty"]));
}

/// Renames all of the first line of each file that it was told of, and names their versions, or others.
struct Renames {
    documents: std::sync::Mutex<Vec<(serde_json::Value, i64)>>,
    off_by: i64,
}

impl rpc::Handler for Renames {
    fn request(&self, request: rpc::Request) -> rpc::Reply {
        let range = json!({ "start": { "line": 0, "character": 0 }, "end": { "line": 0, "character": 1 } });
        let edit = |(uri, version): &(serde_json::Value, i64)| json!({ "textDocument": { "uri": uri, "version": version + self.off_by }, "edits": [{ "range": range, "newText": "y" }] });
        rpc::Reply::Now(Ok(match request.method.as_str() {
            "initialize" => json!({ "capabilities": { "renameProvider": { "prepareProvider": false } } }),
            "textDocument/rename" => {
                let documents = self.documents.lock().unwrap();
                // By the name that it was told.
                assert!(documents.iter().any(|(uri, _)| *uri == request.params["textDocument"]["uri"]));
                json!({ "documentChanges": documents.iter().map(edit).collect::<Vec<_>>() })
            }
            _ => json!(null),
        }))
    }

    fn notification(&self, rpc::Notification { method, params }: rpc::Notification) {
        let document = &params["textDocument"];
        let found = || (document["uri"].clone(), document["version"].as_i64().unwrap());
        let mut documents = self.documents.lock().unwrap();
        if matches!(method.as_str(), "textDocument/didOpen" | "textDocument/didChange") {
            documents.retain(|(uri, _)| *uri != document["uri"]);
            documents.push(found());
        }
    }
}

/// The versions of documents are between the daemon and its server: the editor counts its own.
#[tokio::test]
async fn c39_versions_of_the_daemon_s_server_are_held_against_what_it_was_told_and_not_against_the_editor_s() {
    use copydesk_engine::ports::{LanguageAbout, LanguageChange, LanguageFound};

    for off_by in [0, 1] {
        let place = Place::new();
        place.program("ty", "");
        let launcher: Launcher = Arc::new(move |_| {
            let (ours, theirs) = tokio::io::duplex(1 << 20);
            let (reader, writer) = tokio::io::split(theirs);
            let options = rpc::Options { framing: rpc::Framing::ContentLength, cancel: rpc::CancelDialect::Lsp };
            let handler = Arc::new(Renames { documents: Default::default(), off_by });
            tokio::spawn(rpc::serve(Box::new(reader), Box::new(writer), options, move |_| handler));
            let (reader, writer) = tokio::io::split(ours);
            Ok(process::Transport { reader: Box::new(reader), writer: Box::new(writer), process: None })
        });
        let pool = LanguageServerPool::with_launcher(place.variables(), launcher);
        let session = pool.for_session(&place.scope(LanguageServers::default())).unwrap();
        let rename = |text: &str| LanguageQuestion {
            about: LanguageAbout::Rename { at: 0, to: "y".to_owned() },
            file: DiagnosticsTarget {
                path: place.path("project/a.py"),
                open: Some(("file:///odd/spelling.py".to_owned(), 41)),
                text: Rope::from(text),
            },
            others: vec![(place.path("project/b.py"), Rope::from("x\n"))],
        };
        for text in ["x\n", "x = 1\n"] {
            let answer = session.answer(rename(text), Duration::from_secs(20)).await;
            if off_by != 0 {
                assert_eq!(answer, Err(LanguageError::NotReady));
                continue;
            }
            let LanguageFound::Changes(changes) = answer.unwrap().found else { panic!("changes") };
            let versions: Vec<_> = changes
                .iter()
                .map(|change| match change {
                    LanguageChange::Edit { path, version, .. } => (path.name(), *version),
                    other => panic!("{other:?}"),
                })
                .collect();
            assert_eq!(versions.len(), 2);
            assert!(versions.iter().all(|(_, version)| version.is_none()), "{versions:?}");
        }
        pool.shutdown().await;
    }
}
