use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;
use std::process::Command;

use copydesk_engine::ports::{FileState, Unkept};

use super::*;

/// A folder `w` that is looked at, and what is ours beside it.
struct Fixture {
    temp: tempfile::TempDir,
    snapshots: OsSnapshots,
}

fn fixture_in(path: &str) -> Fixture {
    let temp = tempfile::tempdir().unwrap();
    std::fs::create_dir(temp.path().join("w")).unwrap();
    let data = AbsPath::new(temp.path().join("data")).unwrap();
    let snapshots = OsSnapshots::new([("PATH", path)].into_iter().collect(), &data);
    Fixture { temp, snapshots }
}

fn path() -> String {
    std::env::var("PATH").unwrap()
}

/// In no repository.
fn plain() -> Fixture {
    fixture_in(&path())
}

/// In a repository with its files committed.
fn repository(files: &[(&str, &str)]) -> Fixture {
    let fixture = plain();
    fixture.run("git init -q -b main .");
    for (name, text) in files {
        fixture.put(name, text);
    }
    fixture.run("git add -A && git commit -q --allow-empty -m first");
    fixture
}

impl Fixture {
    fn work(&self) -> PathBuf {
        self.temp.path().join("w").canonicalize().unwrap()
    }

    fn put(&self, name: &str, text: impl AsRef<[u8]>) {
        let file = self.work().join(name);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    }

    fn run(&self, script: &str) -> String {
        let home = self.temp.path();
        let output = Command::new("bash")
            .args(["-ec", script])
            .current_dir(self.work())
            .env_clear()
            .env("PATH", path())
            .env("HOME", home)
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .envs(["AUTHOR", "COMMITTER"].map(|who| (format!("GIT_{who}_NAME"), "a")))
            .envs(["AUTHOR", "COMMITTER"].map(|who| (format!("GIT_{who}_EMAIL"), "a@example.com")))
            .output()
            .unwrap();
        assert!(output.status.success(), "{script}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    fn request(&self) -> SnapshotRequest {
        let roots = vec![AbsPath::new(self.work()).unwrap()];
        let is_secret = |path: &Path| path.file_name().is_some_and(|name| name == ".env" || name == "key.pem");
        SnapshotRequest { roots, may_keep: Arc::new(move |path: &Path| !is_secret(path)) }
    }

    async fn around(&self, command: impl FnOnce()) -> SnapshotReport {
        let before = Snapshots::before(&self.snapshots, self.request()).await;
        command();
        before.after().await
    }

    /// Of these folders below `w`.
    async fn changed_in(&self, roots: &[&str], script: &str) -> Vec<String> {
        let roots = roots.iter().map(|root| AbsPath::new(self.work().join(root)).unwrap()).collect();
        let before = Snapshots::before(&self.snapshots, SnapshotRequest { roots, ..self.request() }).await;
        self.run(script);
        let report = before.after().await;
        assert_eq!(report.failed, []);
        self.lines(&report)
    }

    /// Until the clock of files goes on.
    fn await_tick(&self) {
        let stamp = || tempfile::tempfile_in(self.temp.path()).unwrap().metadata().unwrap().modified().unwrap();
        let start = stamp();
        while stamp() == start {
            std::thread::yield_now();
        }
    }

    /// What the script changes, a line a file.
    async fn changed_by(&self, script: &str) -> Vec<String> {
        let report = self.around(|| drop(self.run(script))).await;
        assert_eq!(report.failed, []);
        self.lines(&report)
    }

    fn lines(&self, report: &SnapshotReport) -> Vec<String> {
        let state = |state: &FileState| match state {
            FileState::Absent => "-".to_owned(),
            FileState::File { bytes, mode } if bytes.len() > 40 => format!("{} bytes {mode:o}", bytes.len()),
            FileState::File { bytes, mode } => format!("{:?} {mode:o}", String::from_utf8_lossy(bytes)),
            FileState::Link { target } => format!("-> {}", String::from_utf8_lossy(target)),
            FileState::Unkept(why) => format!("{why:?}"),
        };
        let work = AbsPath::new(self.work()).unwrap();
        let line = |file: &ChangedFile| {
            format!("{}: {} | {}", file.path.relative_to(&work).unwrap(), state(&file.before), state(&file.after))
        };
        report.changed.iter().map(line).collect()
    }

    fn store(&self) -> PathBuf {
        self.temp.path().join("data/undo")
    }
}

/// Both ways: with a store, and by a scan.
fn both(files: &[(&str, &str)]) -> [Fixture; 2] {
    let scanned = plain();
    for (name, text) in files {
        scanned.put(name, text);
    }
    [repository(files), scanned]
}

#[tokio::test]
async fn c33_a_folder_that_was_moved_counts_as_made_and_one_that_got_a_file_does_not() {
    for fixture in both(&[("old/in/f", "1\n"), ("into/g", "2\n")]) {
        fixture.run("mkdir empty; touch -d '1 hour ago' old/in empty");
        let report = fixture.around(|| drop(fixture.run("mv old/in into/in; mv into/g empty/g"))).await;
        let work = AbsPath::new(fixture.work()).unwrap();
        let name = |path: &AbsPath| path.relative_to(&work).unwrap();
        let made: Vec<_> =
            report.changed.iter().map(|file| (name(&file.path), file.made_folder.as_ref().map(name))).collect();
        let expected = [("empty/g", None), ("into/g", None), ("into/in/f", Some("into/in")), ("old/in/f", None)];
        assert_eq!(made, expected.map(|(path, folder)| (path.to_owned(), folder.map(str::to_owned))));
    }
}

#[tokio::test]
async fn r5_1_what_commands_change_is_found_with_what_was_there_before() {
    let files = [
        ("a.txt", "a\n"),
        ("src/b.rs", "b\n"),
        ("src/c.rs", "c\n"),
        ("gone", "gone\n"),
        ("x.sh", "x\n"),
        ("same", "s\n"),
    ];
    for fixture in both(&files) {
        fixture.put("untracked", "1\n");
        std::fs::write(fixture.work().join("binary"), [0, 255, 1]).unwrap();
        let script = "sed -i s/a/A/ a.txt; rm gone; mv src lib; chmod 755 x.sh; printf '\\0\\1' >binary; echo 2 >>untracked; \
                      mkdir -p new/deep; echo n >new/deep/n; touch same; ln -s a.txt link";
        assert_eq!(
            fixture.changed_by(script).await,
            [
                "a.txt: \"a\\n\" 644 | \"A\\n\" 644",
                "binary: \"\\0\u{fffd}\\u{1}\" 644 | \"\\0\\u{1}\" 644",
                "gone: \"gone\\n\" 644 | -",
                "lib/b.rs: - | \"b\\n\" 644",
                "lib/c.rs: - | \"c\\n\" 644",
                "link: - | -> a.txt",
                "new/deep/n: - | \"n\\n\" 644",
                "src/b.rs: \"b\\n\" 644 | -",
                "src/c.rs: \"c\\n\" 644 | -",
                "untracked: \"1\\n\" 644 | \"1\\n2\\n\" 644",
                "x.sh: \"x\\n\" 644 | \"x\\n\" 755",
            ]
        );
        fixture.run("mkdir -p made/before");
        let report = fixture
            .around(|| {
                fixture.await_tick();
                drop(fixture.run("mkdir -p made/before/x/y; echo 1 >made/before/x/y/z; echo 1 >made/w; echo 1 >v"))
            })
            .await;
        let work = AbsPath::new(fixture.work()).unwrap();
        let made: Vec<_> = report
            .changed
            .iter()
            .map(|file| file.made_folder.as_ref().and_then(|folder| folder.relative_to(&work)))
            .collect();
        assert_eq!(made, [Some("made/before/x".to_owned()), None, None]);
        fixture.run("rm -r made v");
        // From where the last one has left it.
        assert_eq!(fixture.changed_by("true").await, [""; 0]);
        assert_eq!(
            fixture.changed_by("echo >>a.txt; rm link; mv new/deep/n n; rm -r lib").await,
            [
                "a.txt: \"A\\n\" 644 | \"A\\n\\n\" 644",
                "lib/b.rs: \"b\\n\" 644 | -",
                "lib/c.rs: \"c\\n\" 644 | -",
                "link: -> a.txt | -",
                "n: - | \"n\\n\" 644",
                "new/deep/n: \"n\\n\" 644 | -",
            ]
        );
    }
}

#[tokio::test]
async fn r5_3_modes_come_with_the_contents() {
    for fixture in both(&[("a", "a"), ("b", "b"), ("c", "c")]) {
        fixture.run("chmod 600 a; chmod 775 b");
        assert_eq!(
            fixture.changed_by("rm a; chmod 700 b; chmod 640 c").await,
            ["a: \"a\" 600 | -", "b: \"b\" 775 | \"b\" 700", "c: \"c\" 644 | \"c\" 640"]
        );
        assert_eq!(fixture.changed_by("rm b c").await, ["b: \"b\" 700 | -", "c: \"c\" 640 | -"]);
    }
}

/// In the same second, of the same length.
#[tokio::test]
async fn a_change_that_stamps_do_not_show_is_found() {
    for fixture in both(&[("a", "a\n")]) {
        for text in ["b", "c", "d"] {
            let found = fixture.changed_by(&format!("echo {text} >a; touch -d @1000000000 a")).await;
            assert_eq!(found.len(), 1, "{found:?}");
        }
    }
}

#[tokio::test]
async fn c35_the_users_repository_is_left_as_it_is() {
    let fixture = repository(&[("a", "a\n"), ("b", "b\n")]);
    fixture.put("b", "staged\n");
    fixture.run("git add b; git gc -q; git -C . commit -q -m second; git init -q vendor/x; echo v >vendor/x/v; git init -q ../other; \
                 git -C ../other commit -q --allow-empty -m o; git -c protocol.file.allow=always submodule -q add ../other sub");
    let all = |folder: &str| {
        let found = format!(
            "find {folder} -printf '%p %y %s %m %i %T@ %C@\\n' | sort; find {folder} -type f -exec sha256sum {{}} + | sort"
        );
        fixture.run(&found)
    };
    let before = [".git", "vendor/x/.git", "sub/.git"].map(all);
    let report =
        fixture.around(|| drop(fixture.run("echo 1 >a; rm b; echo 2 >vendor/x/v; echo new >n; echo s >sub/s"))).await;
    let changed = ["a: \"a\\n\" 644 | \"1\\n\" 644", "b: \"staged\\n\" 644 | -", "n: - | \"new\\n\" 644"];
    assert_eq!(fixture.lines(&report), changed);
    let work = AbsPath::new(fixture.work()).unwrap();
    assert_eq!(report.nested, [work.join("sub"), work.join("vendor/x")]);
    assert_eq!(fixture.changed_by("echo 2 >a").await.len(), 1);
    assert_eq!([".git", "vendor/x/.git", "sub/.git"].map(all), before);
}

#[tokio::test]
async fn c34_a_repository_without_commits_within_is_no_obstacle() {
    let fixture = repository(&[("a", "a\n")]);
    fixture.run("git init -q empty; git init -q deep/er; echo 1 >deep/er/f");
    assert_eq!(fixture.changed_by("echo 1 >a; echo 2 >deep/er/f").await, ["a: \"a\\n\" 644 | \"1\\n\" 644"]);
    let own = plain();
    own.run("git init -q .");
    own.put("a", "a\n");
    assert_eq!(own.changed_by("echo 1 >a").await, ["a: \"a\\n\" 644 | \"1\\n\" 644"]);
}

#[tokio::test]
async fn c35_untouched_files_of_the_repository_are_not_stored_again() {
    let files: Vec<(String, String)> = (0..50).map(|at| (format!("f{at}"), format!("{at}\n").repeat(5000))).collect();
    let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let fixture = repository(&files);
    // As after a copy of the whole tree: no stamp is what the index says.
    fixture.run("touch f*; cp -r .git ../git; rm -r .git; mv ../git .git");
    fixture.changed_by("echo 1 >f1; echo 2 >f2").await;
    fixture.changed_by("echo 3 >f3").await;
    let objects = fixture.run("find ../data/undo/*/objects -type f | wc -l");
    // Those of the first command, when the second begins.
    assert_eq!(objects.trim(), "2");
    let stored: u64 = fixture.run("du -sb ../data/undo | cut -f1").trim().parse().unwrap();
    assert!(stored < 60_000, "{stored}");
    assert_eq!(std::fs::metadata(fixture.store()).unwrap().mode() & 0o777, 0o700);
}

/// Each of these runs something as soon as git takes the repository at its word.
#[tokio::test]
async fn c35_nothing_of_a_hostile_repository_is_run() {
    let fixture = repository(&[("a", "a\n"), ("sub/b", "b\n")]);
    let trap = fixture.temp.path().join("trap.sh");
    let sprung = fixture.temp.path().join("sprung");
    std::fs::write(&trap, format!("#!/bin/sh\necho \"$@\" >>{}\ncat\n", sprung.display())).unwrap();
    std::fs::set_permissions(&trap, std::fs::Permissions::from_mode(0o755)).unwrap();
    let trap = trap.display();
    fixture
        .put(".gitattributes", "* filter=evil diff=evil merge=evil ident text eol=crlf working-tree-encoding=UTF-16\n");
    fixture.run(&format!(
        "git config core.fsmonitor {trap}; git config filter.evil.clean {trap}; git config filter.evil.smudge {trap}; \
         git config filter.evil.process {trap}; git config filter.evil.required true; git config diff.evil.command {trap}; \
         git config diff.evil.textconv {trap}; git config core.hooksPath hooks; git config core.sshCommand {trap}; \
         git config diff.external {trap}; git config core.pager {trap}; git config core.editor {trap}; git config gpg.program {trap}; \
         git config alias.diff-files '!{trap}'; mkdir hooks; \
         git config extensions.partialClone origin; git config remote.origin.url ext::{trap}; git config remote.origin.promisor true; \
         for hook in post-index-change reference-transaction pre-auto-gc fsmonitor-watchman; do cp {trap} hooks/$hook; cp {trap} .git/hooks/$hook; done"
    ));
    for _ in 0..2 {
        let found =
            fixture.changed_by("printf 'x\\r\\n' >>a; rm -f sub/b; echo '$Id$' >new; echo >>.gitattributes").await;
        assert!(found.iter().any(|line| line.starts_with("a: ") && line.contains("x\\r\\n")), "{found:?}");
    }
    fixture.run("git config core.worktree /");
    fixture.changed_by("echo >>a").await;
    assert!(!sprung.exists(), "{}", std::fs::read_to_string(sprung).unwrap());
    fixture.run("git config --unset core.worktree; git status || true");
    assert!(sprung.exists());
}

#[tokio::test]
async fn contents_are_taken_byte_for_byte_whatever_the_repository_converts() {
    let fixture = plain();
    fixture.run(
        "git init -q .; git config filter.rot.clean 'tr a-z n-za-m'; git config filter.rot.smudge 'tr a-z n-za-m'",
    );
    fixture.put(
        ".gitattributes",
        "*.txt text eol=crlf\n*.rot filter=rot\n*.id ident\n*.enc working-tree-encoding=UTF-16LE\n",
    );
    fixture.put("a.txt", "1\r\n2\r\n");
    fixture.put("b.rot", "hello");
    fixture.put("c.id", "$Id$\n");
    fixture.put("d.enc", b"h\0i\0");
    fixture.run("git add -A; git commit -q -m first; rm c.id; git checkout -q c.id; git status");
    let id = std::fs::read_to_string(fixture.work().join("c.id")).unwrap();
    assert!(id.contains("$Id: "), "{id}");
    let report = fixture.around(|| drop(fixture.run("rm a.txt b.rot c.id d.enc"))).await;
    let bytes = |at: usize| match &report.changed[at].before {
        FileState::File { bytes, .. } => bytes.clone(),
        other => panic!("{other:?}"),
    };
    assert_eq!(report.changed.len(), 4);
    assert_eq!((bytes(0), bytes(1)), (b"1\r\n2\r\n".to_vec(), b"hello".to_vec()));
    assert_eq!((bytes(2), bytes(3)), (id.into_bytes(), b"h\0i\0".to_vec()));
}

#[tokio::test]
async fn what_version_control_was_told_to_overlook_is_seen() {
    let fixture = repository(&[("assumed", "a\n"), ("skipped", "s\n"), ("ignored", "i\n"), ("conflicted", "0\n")]);
    fixture.put(".git/info/exclude", "ignored\nout\n");
    fixture.run(
        "git checkout -q -b other; echo 1 >conflicted; git commit -qam 1; git checkout -q main; echo 2 >conflicted; git commit -qam 2; \
         git merge -q other || true; git update-index --assume-unchanged assumed; git update-index --skip-worktree skipped; \
         echo local >assumed; echo local >skipped; echo o >out; echo intent >intent; git add -N intent",
    );
    let conflicted = std::fs::read_to_string(fixture.work().join("conflicted")).unwrap();
    assert!(conflicted.contains("<<<<<<<"));
    assert_eq!(
        fixture.changed_by("rm assumed skipped ignored intent out; echo 3 >conflicted").await,
        [
            "assumed: \"local\\n\" 644 | -".to_owned(),
            format!("conflicted: {conflicted:?} 644 | \"3\\n\" 644"),
            "ignored: \"i\\n\" 644 | -".to_owned(),
            "intent: \"intent\\n\" 644 | -".to_owned(),
            "skipped: \"local\\n\" 644 | -".to_owned(),
        ]
    );
}

#[tokio::test]
async fn secrets_and_large_files_stay_out_of_the_store_and_are_named() {
    for fixture in both(&[("a", "a\n"), ("key.pem", "TOPSECRET0\n")]) {
        fixture.put(".env", "TOPSECRET1\n");
        fixture.put("huge", vec![b'x'; 5 << 20]);
        fixture.changed_by("echo TOPSECRET2 >key.pem; echo >>huge").await;
        assert_eq!(
            fixture
                .changed_by("echo TOPSECRET3 >.env; echo >>huge; rm key.pem; echo >a; mkdir b; echo TOPSECRET4 >b/.env")
                .await,
            [
                ".env: Withheld | Withheld",
                "a: \"a\\n\" 644 | \"\\n\" 644",
                "b/.env: - | Withheld",
                "huge: TooLarge | TooLarge",
                "key.pem: Withheld | -",
            ]
        );
        fixture.changed_by("true").await;
        let stored = fixture.run("for f in $(find ../data -path '*objects*' -type f); do zlib-flate -uncompress <$f 2>/dev/null || python3 -c 'import sys,zlib; sys.stdout.buffer.write(zlib.decompress(open(sys.argv[1],\"rb\").read()))' $f; done | tr -d '\\0'; du -sb ../data | cut -f1");
        assert!(!stored.contains("TOPSECRET"), "{stored}");
        let size: u64 = stored.lines().last().unwrap().trim().parse().unwrap();
        assert!(size < 1 << 20, "{size}");
    }
}

/// Undo removes what a command made: what only came to light is none of that.
#[tokio::test]
async fn c34_files_that_come_to_light_are_not_taken_for_new() {
    for fixture in both(&[("a", "a\n"), (".gitignore", "out/\n*.local\n")]) {
        fixture.put("out/precious", "1\n");
        fixture.put("x.local", "2\n");
        fixture.put("venv/.gitignore", "*\n");
        fixture.put("venv/precious", "3\n");
        // Their stamps are of another time than the command.
        fixture.run("sleep 0.02");
        assert_eq!(
            fixture.changed_by("rm .gitignore venv/.gitignore; echo >>out/precious; echo new >fresh").await,
            [
                ".gitignore: \"out/\\n*.local\\n\" 644 | -",
                "fresh: - | \"new\\n\" 644",
                "out/precious: - | Older",
                "venv/precious: - | Older",
                "x.local: - | Older",
            ]
        );
    }
    for script in [
        "echo 2 >>n/precious",
        "sed -i s/1/2/ n/precious",
        "cp n/precious p; mv p n/precious",
        "cp -r n m; rm -r n; mv m n",
    ] {
        let nested = repository(&[("a", "a\n")]);
        nested.run("git init -q n; echo 1 >n/precious; sleep 0.02");
        // It may have taken the place of an older one.
        assert_eq!(
            nested.changed_by(&format!("rm -rf n/.git; echo 2 >n/new; {script}")).await,
            ["n/new: - | Older", "n/precious: - | Older"],
            "{script}"
        );
    }
}

/// Editors of streams put another file in the place of what they edit.
#[tokio::test]
async fn c34_what_is_written_anew_as_it_comes_to_light_is_not_taken_for_new() {
    let fresh = "fresh: - | \"1\\n\" 644";
    let cases = [
        (
            "rm .gitignore; sed -i s/x/y/ x.local src/x.local",
            &["out/f: - | Older", "src/named: - | Older", "src/x.local: - | Older", "x.local: - | Older"][..],
        ),
        ("sed -i s/x/y/ x.local; sed -i /local/d .gitignore", &["src/x.local: - | Older", "x.local: - | Older"]),
        ("rm venv/.gitignore; sed -i s/x/y/ venv/f", &["venv/f: - | Older"]),
        // It names itself too.
        ("sed -i s/x/y/ src/x.local; printf '.gitignore\\n!*.local\\n' >src/.gitignore", &["src/x.local: - | Older"]),
        ("mv venv old; rm old/.gitignore; sed -i s/x/y/ old/f", &["old/f: - | Older"]),
        ("cp -r venv old; rm -r venv; mv old venv; rm venv/.gitignore", &["venv/f: - | Older"]),
        (
            "mv src lib; sed -i s/x/y/ lib/named; sed -i s/e/E/ lib/e",
            &["lib/e: - | \"E\\n\" 644", "lib/named: - | Older"],
        ),
        (
            "rm .gitignore; rm -r out; mkdir out; echo 2 >out/f",
            &["out/f: - | Older", "src/named: - | Older", "src/x.local: - | Older", "x.local: - | Older"],
        ),
        // These were named by none.
        (
            "echo '*.log' >>.gitignore; mkdir made; echo 2 >made/f; echo 3 >src/n; cp a src/n.loc",
            &["made/f: - | \"2\\n\" 644", "src/n: - | \"3\\n\" 644", "src/n.loc: - | \"a\\n\" 644"],
        ),
        (
            "mkdir made; echo '*' >made/.gitignore; echo '!f' >>made/.gitignore; echo 2 >made/f",
            &["made/f: - | \"2\\n\" 644"],
        ),
    ];
    for (script, expected) in cases {
        for fixture in both(&[("a", "a\n"), ("src/e", "e\n"), (".gitignore", "out/\n*.local\n/src/named\n")]) {
            for name in ["x.local", "src/x.local", "src/named", "venv/f", "out/f"] {
                fixture.put(name, "x\n");
            }
            fixture.put("venv/.gitignore", "*\n");
            fixture.run("sleep 0.02");
            let found = fixture.changed_by(&format!("{script}; echo 1 >fresh")).await;
            let found: Vec<_> = found.iter().filter(|line| line.contains(": - |")).collect();
            assert!(found.iter().any(|line| *line == fresh), "{script}: {found:?}");
            let rest: Vec<_> = found.iter().filter(|line| **line != fresh).collect();
            assert_eq!(rest, expected.iter().collect::<Vec<_>>(), "{script}");
        }
    }
    for fixture in both(&[("a", "a\n"), (".gitignore", "\u{feff}*.local\n")]) {
        fixture.put("x.local", "x\n");
        fixture.run("sleep 0.02");
        let found = fixture.changed_by("rm .gitignore; sed -i s/x/y/ x.local; echo 1 >fresh").await;
        assert_eq!(found[1..], [fresh, "x.local: - | Older"]);
    }
    // A scan sees a repository within it as Git sees that.
    let fixture = plain();
    fixture.run("git init -q n; echo x.cfg >n/.git/info/exclude; echo x >n/x.cfg; sleep 0.02");
    assert_eq!(
        fixture.changed_by("rm -rf n/.git; sed -i s/x/y/ n/x.cfg; echo 1 >fresh").await,
        [fresh, "n/x.cfg: - | Older"]
    );
    // Rules that stand outside of the tree.
    let fixture = repository(&[("a", "a\n")]);
    fixture.put(".git/info/exclude", "*.local\n");
    fixture.put("x.local", "x\n");
    fixture.run("sleep 0.02");
    assert_eq!(
        fixture.changed_by("sed -i s/x/y/ x.local; echo '!*.local' >.gitignore; echo 1 >fresh").await,
        [".gitignore: - | \"!*.local\\n\" 644", fresh, "x.local: - | Older"]
    );
}

#[tokio::test]
async fn c34_what_a_command_moves_into_sight_is_not_taken_for_new() {
    let cases = [
        ("mv notes.local notes", &["notes: - | Older"][..]),
        ("mv build dist; sed -i s/x/y/ dist/a", &["dist/a: - | Older", "dist/b: - | Older"]),
        (
            "mv build dist; cat dist/a dist/b >both; rm dist/b; mkdir dist/c; mv both dist/c/b",
            &["dist/a: - | Older", "dist/c/b: - | Older"],
        ),
        ("mv build/sub src/sub; echo >>src/sub/c; echo >src/sub/d", &["src/sub/c: - | Older", "src/sub/d: - | Older"]),
        ("mv ../foreign here; echo 1 >1; mv 1 here/f", &["here/f: - | Older"]),
        ("mv ../foreign/f f; mv ../foreign/f.local .; echo >>f", &["f: - | Older"]),
        ("rm venv/.gitignore; echo >>venv/f; echo n >venv/new", &["venv/f: - | Older", "venv/new: - | Older"]),
        (
            "rm -r src; mv build src; sed -i s/x/y/ src/a",
            &["src/a: - | Older", "src/b: - | Older", "src/e: \"e\\n\" 644 | -"],
        ),
    ];
    for (script, expected) in cases {
        for fixture in both(&[("a", "a\n"), ("src/e", "e\n"), (".gitignore", "*.local\nbuild/\n")]) {
            fixture.put("notes.local", "1\n");
            for name in ["build/a", "build/b", "build/sub/c", "../foreign/f", "../foreign/f.local", "venv/f"] {
                fixture.put(name, format!("x {name}\n"));
            }
            fixture.put("venv/.gitignore", "*\n");
            fixture.run("sleep 0.02");
            let found = fixture.changed_by(script).await;
            let found: Vec<_> =
                found.iter().filter(|line| !line.contains("sub/") || script.contains("src/sub")).collect();
            assert_eq!(found, expected.iter().collect::<Vec<_>>(), "{script}");
        }
    }
}

#[tokio::test]
async fn r5_1_what_a_command_moves_where_it_was_seen_or_fills_is_new() {
    let cases = [
        ("mv a b; echo 2 >>b", &["a: \"a\\n\" 644 | -", "b: - | \"a\\n2\\n\" 644"][..]),
        ("mv src lib; sed -i s/e/E/ lib/e", &["lib/e: - | \"E\\n\" 644", "src/e: \"e\\n\" 644 | -"]),
        (
            "echo 1 >top; mkdir -p empty/in/deep; echo 2 >empty/in/f",
            &["empty/in/f: - | \"2\\n\" 644", "top: - | \"1\\n\" 644"],
        ),
        (
            "echo 1 >top; echo 2 >logs/f; sed -i s/e/E/ src/e; echo 3 >src/f",
            &[
                "logs/f: - | \"2\\n\" 644",
                "src/e: \"e\\n\" 644 | \"E\\n\" 644",
                "src/f: - | \"3\\n\" 644",
                "top: - | \"1\\n\" 644",
            ],
        ),
        ("ln a b; rm a", &["a: \"a\\n\" 644 | -", "b: - | \"a\\n\" 644"]),
    ];
    for (script, expected) in cases {
        for version in [None, Some("2"), Some("4")] {
            let fixtures = both(&[("a", "a\n"), ("src/e", "e\n"), (".gitignore", "*.local\n")]);
            let [stored, _] = &fixtures;
            if let Some(version) = version {
                stored.run(&format!("git update-index --index-version {version}; git update-index --chmod=+x a"));
                stored.run("git update-index --chmod=-x a");
            }
            for fixture in &fixtures {
                fixture.run("mkdir -p empty/in logs; echo 1 >logs/x.local; sleep 0.02");
                assert_eq!(fixture.changed_by(script).await, expected, "{script}, {version:?}");
            }
        }
    }
}

/// Git reads no `.ignore`, other searchers do.
#[tokio::test]
async fn c34_r5_1_what_was_in_sight_of_git_is_what_git_sees() {
    let cases = [
        ("mv build dist; sed -i s/x/y/ dist/a", &["dist/a: - | Older"][..]),
        (
            "echo 1 >vendor/new; mkdir vendor/in; echo 2 >vendor/in/f",
            &["vendor/in/f: - | \"2\\n\" 644", "vendor/new: - | \"1\\n\" 644"],
        ),
        ("mv vendor lib; sed -i s/v/V/ lib/v", &["lib/v: - | \"V\\n\" 644", "vendor/v: \"v\\n\" 644 | -"]),
    ];
    for (script, expected) in cases {
        let fixture = repository(&[(".gitignore", "build/\n"), (".ignore", "!build/\nvendor/\n"), ("vendor/v", "v\n")]);
        fixture.put("build/a", "x\n");
        fixture.run("sleep 0.02");
        assert_eq!(fixture.changed_by(script).await, expected, "{script}");
    }
}

/// Least of all where it is like one that is gone.
#[tokio::test]
async fn c34_what_comes_to_light_is_not_taken_for_moved() {
    for fixture in both(&[("a", "a\n"), ("pkg/__init__.py", ""), ("LICENSE", "free\n"), (".gitignore", "venv/\n")]) {
        for name in ["venv/__init__.py", "venv/x/__init__.py"] {
            fixture.put(name, "");
        }
        fixture.put("venv/LICENSE", "free\n");
        fixture.run("sleep 0.02");
        let report = fixture.around(|| drop(fixture.run("rm .gitignore pkg/__init__.py LICENSE"))).await;
        assert_eq!(
            fixture.lines(&report),
            [
                ".gitignore: \"venv/\\n\" 644 | -",
                "LICENSE: \"free\\n\" 644 | -",
                "pkg/__init__.py: \"\" 644 | -",
                "venv/LICENSE: - | Older",
                "venv/__init__.py: - | Older",
                "venv/x/__init__.py: - | Older",
            ]
        );
        assert!(report.changed.iter().all(|file| file.made_folder.is_none()), "{report:?}");
    }
}

#[test]
fn an_index_of_every_form_tells_its_inodes_and_a_cut_one_nothing() {
    for (format, version) in [("sha1", 2), ("sha1", 3), ("sha1", 4), ("sha256", 2), ("sha256", 4)] {
        let fixture = plain();
        fixture.run(&format!("git init -q --object-format={format} ."));
        let names: Vec<String> = (1..20).map(|length| format!("d/{}", "n".repeat(length))).collect();
        for name in &names {
            fixture.put(name, "1");
        }
        // Of which only a third version and later ones can tell.
        let skip = if version == 2 { "" } else { "git ls-files | head -9 | xargs git update-index --skip-worktree" };
        fixture.run(&format!("git add d; git update-index --index-version {version}; {skip}"));
        let bytes = std::fs::read(fixture.work().join(".git/index")).unwrap();
        assert_eq!(bytes[7], version);
        let object = if format == "sha1" { 20 } else { 32 };
        let inodes = names.iter().map(|name| std::fs::metadata(fixture.work().join(name)).unwrap().ino() as u32);
        assert_eq!(index::inodes(&bytes, object), Some(inodes.collect()), "{format} {version}");
        let entries = (0..bytes.len()).find(|length| index::inodes(&bytes[..*length], object).is_some()).unwrap();
        assert!(entries > names.len() * 62, "{format} {version}: {entries}");
    }
}

#[tokio::test]
async fn links_are_never_followed() {
    for fixture in both(&[("d/f", "1\n"), ("t", "t\n")]) {
        let outside = fixture.temp.path().join("outside");
        std::fs::create_dir(&outside).unwrap();
        std::fs::write(outside.join("f"), "outside\n").unwrap();
        fixture.run("ln -s ../outside way; ln -s t l");
        assert_eq!(
            fixture
                .changed_by("rm -r d; ln -s ../outside d; echo 2 >way/f; ln -sfn a l; rm t; ln -s ../outside/f t")
                .await,
            ["d: - | -> ../outside", "d/f: \"1\\n\" 644 | -", "l: -> t | -> a", "t: \"t\\n\" 644 | -> ../outside/f",]
        );
        assert_eq!(
            fixture.changed_by("rm d; mkdir d; echo 3 >d/f; rm t; mkfifo t").await,
            ["d: -> ../outside | -", "d/f: - | \"3\\n\" 644", "t: -> ../outside/f | Unreadable"]
        );
        fixture.changed_by("true").await;
    }
}

#[tokio::test]
async fn linked_work_trees_and_borrowed_objects_are_understood() {
    let fixture = repository(&[("a", "a\n"), ("b", "b\n")]);
    fixture.run("git worktree add -q ../tree; git clone -q --shared . ../clone");
    for folder in ["tree", "clone"] {
        let folder = fixture.temp.path().join(folder).canonicalize().unwrap();
        let request = SnapshotRequest {
            roots: vec![AbsPath::new(folder.join("x")).unwrap(), AbsPath::new(&folder).unwrap()],
            ..fixture.request()
        };
        let before = Snapshots::before(&fixture.snapshots, request).await;
        std::fs::remove_file(folder.join("a")).unwrap();
        let report = before.after().await;
        assert_eq!(report.failed, []);
        assert_eq!(report.changed.len(), 1);
        assert_eq!(report.changed[0].before, FileState::File { bytes: b"a\n".to_vec(), mode: 0o644 });
    }
}

#[tokio::test]
async fn a_repository_named_by_sha256_is_understood() {
    let fixture = plain();
    fixture.run("git init -q --object-format=sha256 .");
    fixture.put("a", "a\n");
    fixture.run("git add a; git commit -q -m a");
    fixture.put("b", "b\n");
    assert_eq!(fixture.changed_by("rm a b").await, ["a: \"a\\n\" 644 | -", "b: \"b\\n\" 644 | -"]);
}

#[tokio::test]
async fn a_store_that_is_damaged_or_lost_is_made_anew() {
    let fixture = repository(&[("a", "a\n")]);
    for damage in [
        "echo junk >../data/undo/*/index",
        "rm -r ../data/undo/*/objects",
        "echo x >../data/undo/*/config",
        "for store in ../data/undo/*; do touch $store/index.lock; done",
        "rm -r ../data",
    ] {
        fixture.changed_by("echo 1 >u; echo >>a").await;
        fixture.changed_by("true").await;
        fixture.run(damage);
        fixture.put("u", "2\n");
        let found = fixture.changed_by("rm u").await;
        // Where contents were lost, nothing is made up.
        assert!(found == ["u: \"2\\n\" 644 | -"], "{damage}: {found:?}");
    }
    // The user's own collection of garbage takes what the index stands on.
    let text = fixture.run("cat a");
    fixture.run("git add -A; git commit -qm 2; git commit -q --amend --allow-empty -m 3; git gc -q --prune=now");
    assert_eq!(fixture.changed_by("rm a").await, [format!("a: {text:?} 644 | -")]);
}

#[tokio::test]
async fn a_snapshot_that_fails_says_so_and_tells_nothing() {
    let fixture = repository(&[("a", "a\n")]);
    let program = fixture.temp.path().join("bin/git");
    std::fs::create_dir(program.parent().unwrap()).unwrap();
    std::fs::write(&program, "#!/bin/sh\necho 'fatal: out of order' >&2\nexit 128\n").unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let data = AbsPath::new(fixture.temp.path().join("data")).unwrap();
    let path = program.parent().unwrap().to_owned();
    let broken = Fixture { snapshots: OsSnapshots::new([("PATH", path)].into_iter().collect(), &data), ..fixture };
    let report = broken.around(|| broken.put("a", "b\n")).await;
    assert_eq!(report.changed, []);
    let [SnapshotFailure { tree, error: SnapshotError::Git(reason) }] = &report.failed[..] else {
        panic!("{report:?}")
    };
    assert_eq!(tree, &AbsPath::new(broken.work()).unwrap());
    assert!(reason.ends_with("`: fatal: out of order"), "{reason}");

    // A data folder that cannot be written.
    let broken = repository(&[("a", "a\n")]);
    std::fs::write(broken.temp.path().join("data"), "no folder").unwrap();
    let report = broken.around(|| broken.put("a", "b\n")).await;
    assert!(
        report.changed.is_empty() && matches!(report.failed[..], [SnapshotFailure { error: SnapshotError::Io(_), .. }]),
        "{report:?}"
    );
}

#[tokio::test]
async fn without_git_a_repository_is_scanned() {
    let made = repository(&[("a", "a\n"), (".gitignore", "out\n")]);
    let data = AbsPath::new(made.temp.path().join("data")).unwrap();
    let fixture =
        Fixture { snapshots: OsSnapshots::new([("PATH", "/nonexistent")].into_iter().collect(), &data), ..made };
    fixture.put("out", "1\n");
    assert_eq!(fixture.changed_by("rm a out; git config a.b c").await, ["a: \"a\\n\" 644 | -"]);
}

#[tokio::test]
async fn a_tree_that_is_too_much_is_left_alone_for_a_while() {
    let made = plain();
    let mut scans = scan::Kept::default();
    scans.limits = scan::Limits { files: 10, bytes: 1000 };
    let fixture = Fixture { snapshots: OsSnapshots { scans: Arc::new(scans), ..made.snapshots }, ..made };
    fixture.run("for at in 1 2 3 4; do printf %300s >f$at; done");
    let report = fixture.around(|| drop(fixture.run("rm f1"))).await;
    let error = |report: &SnapshotReport| report.failed[0].error.clone();
    assert_eq!((error(&report), report.changed), (SnapshotError::TooLarge(1000), vec![]));
    fixture.run("truncate -s0 f*; touch $(seq 11)");
    let again = fixture.around(|| ()).await;
    assert_eq!(error(&again), SnapshotError::TooLarge(1000), "not every command looks again");
    lock(&fixture.snapshots.refused).clear();
    let report = fixture.around(|| drop(fixture.run("rm 1"))).await;
    assert_eq!((error(&report), report.changed), (SnapshotError::TooManyFiles(10), vec![]));
}

/// The user works in it, whatever the repository around it thinks of it.
#[tokio::test]
async fn r5_1_a_root_that_the_repository_around_it_ignores_is_looked_at() {
    let script = "echo 2 >>proj/in/f; echo 1 >proj/new; echo 2 >>proj/out; echo 2 >>a; echo 1 >b";
    let of_root = ["proj/in/f: \"1\\n\" 644 | \"1\\n2\\n\" 644", "proj/new: - | \"1\\n\" 644"].map(str::to_owned);
    let of_repository = ["a: \"a\\n\" 644 | \"a\\n2\\n\" 644", "b: - | \"1\\n\" 644"].map(str::to_owned);
    let made = |ignored: &str, excluded: &str| {
        let fixture = repository(&[("a", "a\n")]);
        fixture.put("proj/in/f", "1\n");
        fixture.put("proj/out", "1\n");
        fixture.put("proj/.gitignore", "out\n");
        fixture.put(".gitignore", ignored);
        fixture.put(".git/info/exclude", excluded);
        fixture
    };
    for ignored in ["proj", "/proj/", "/proj/*", "*\n!.gitignore\n!/b"] {
        let fixture = made(ignored, "");
        let roots: &[&str] = if ignored == "/proj/*" { &["proj/in"] } else { &["proj", "proj/in"] };
        let expected = [&of_repository[..], if roots.len() == 1 { &of_root[..1] } else { &of_root }].concat();
        assert_eq!(fixture.changed_in(roots, script).await, expected, "{ignored}");
    }
    // As of a home folder that is a repository of a few files.
    let fixture = made("", "*\n");
    assert_eq!(fixture.changed_in(&["proj/in", "proj"], script).await, [&of_repository[..1], &of_root].concat());
    // What is not ignored after all is looked at once, and so is what version control knows nevertheless.
    for ignored in ["/*\n!/proj\n!/b\n", "proj\n"] {
        let fixture = made(ignored, "");
        fixture.run("git add -f proj/in");
        assert_eq!(fixture.changed_in(&["proj"], script).await, [&of_repository[..], &of_root].concat(), "{ignored}");
    }
}

#[tokio::test]
async fn r5_1_a_root_in_a_root_is_looked_at() {
    let fixture = plain();
    for name in ["a", "in/b", "in/deep/c"] {
        fixture.put(name, "1\n");
    }
    for roots in [&["", "in", "in/deep"][..], &["in/deep", ""]] {
        let found = fixture.changed_in(roots, "for f in a in/b in/deep/c; do echo >>$f; done").await;
        let names: Vec<_> = found.iter().map(|line| line.split(':').next().unwrap()).collect();
        assert_eq!(names, ["a", "in/b", "in/deep/c"], "{roots:?}");
    }
}

/// The user may add what an ignore file names at any time.
#[tokio::test]
async fn r5_1_ignored_files_are_looked_at_as_soon_as_version_control_knows_them() {
    let fixture = repository(&[("a", "a\n"), (".gitignore", "out/\n*.log\n"), ("first.log", "0\n")]);
    fixture.run("git add -f first.log; git commit -qm log");
    assert_eq!(fixture.changed_by("echo 1 >>first.log").await, ["first.log: \"0\\n\" 644 | \"0\\n1\\n\" 644"]);
    fixture.run("mkdir out; echo 1 >out/f; echo 1 >out/g; echo 1 >x.log; echo 1 >y.log; git add -f out/f x.log");
    assert_eq!(
        fixture.changed_by("echo 2 >>out/f; echo 2 >>out/g; rm x.log y.log").await,
        ["out/f: \"1\\n\" 644 | \"1\\n2\\n\" 644", "x.log: \"1\\n\" 644 | -"]
    );
    // Of the next process, with a store of the last one.
    fixture.run("git add -f out/g; git commit -qm g");
    let data = AbsPath::new(fixture.temp.path().join("data")).unwrap();
    let next = Fixture { snapshots: OsSnapshots::new([("PATH", path())].into_iter().collect(), &data), ..fixture };
    assert_eq!(next.changed_by("rm out/*").await, ["out/f: \"1\\n2\\n\" 644 | -", "out/g: \"1\\n2\\n\" 644 | -",]);
    // What may not be kept is told each time.
    next.run("echo key.pem >>.gitignore; echo 1 >key.pem; git add -f key.pem");
    for _ in 0..2 {
        assert_eq!(next.changed_by("echo 2 >>key.pem").await, ["key.pem: Withheld | Withheld"]);
    }
    assert_eq!(next.run("ls ../data/undo/*/ | grep seed || true"), "");
}

/// Also where more was touched than a store may take at once, so that it is looked at twice.
#[tokio::test]
async fn r5_1_ignored_files_that_version_control_knows_are_not_forgotten_among_many_that_were_touched() {
    let fixture = repository(&[("a", "a\n"), (".gitignore", "*.log\n")]);
    fixture.run("for at in {1..18}; do truncate -s 15M big$at; done; git add .; git commit -qm big; sleep 2.1");
    assert_eq!(fixture.changed_by("true").await, [""; 0]);
    fixture.run("touch big*; echo 1 >x.log; git add -f x.log");
    assert_eq!(fixture.changed_by("echo 2 >>x.log").await, ["x.log: \"1\\n\" 644 | \"1\\n2\\n\" 644"]);
}

/// They are as they were, however much they hold.
#[tokio::test]
async fn files_that_were_only_touched_are_not_told_where_they_are_too_much() {
    let made = repository(&[("a", "a\n"), ("b", "b\n")]);
    let fixture = Fixture { snapshots: OsSnapshots { most_content: 1000, ..made.snapshots }, ..made };
    // Together more than is kept of one command, and not written just now.
    fixture.run("for at in {1..10}; do truncate -s 111 big$at; done; git add .; git commit -qm big; sleep 2.1");
    assert_eq!(fixture.changed_by("true").await, [""; 0]);
    assert_eq!(
        fixture.changed_by("touch big* a; echo 2 >b; echo 1 >new").await,
        ["b: \"b\\n\" 644 | \"2\\n\" 644", "new: - | \"1\\n\" 644"]
    );
    fixture.run("sleep 2.1");
    let found = fixture.changed_by("for at in {1..9}; do printf 1 >>big$at; done; touch big10 a").await;
    assert_eq!((found.len(), found[0].as_str()), (9, "big1: TooMany | TooMany"));
    // Where it cannot be told what was only touched, all of it may have changed.
    let found =
        fixture.changed_by("for held in ../data/undo/*/marks/*.held; do >${held%held}lock; done; touch big*").await;
    assert_eq!((found.len(), found[0].as_str()), (10, "big1: TooMany | TooMany"));
    assert_eq!(fixture.run("ls ../data/undo/*/marks").trim(), "");
}

/// Another command, or another process, looks at the same tree.
#[tokio::test]
async fn a_tree_is_not_too_much_where_others_look_at_it_for_long() {
    let made = repository(&[("a", "a\n")]);
    let limit = Duration::from_secs(3);
    let fixture = Fixture { snapshots: OsSnapshots { limit, ..made.snapshots }, ..made };
    assert_eq!(fixture.changed_by("true").await, [""; 0]);
    let store = std::fs::read_dir(fixture.store()).unwrap().next().unwrap().unwrap();
    let held = std::fs::File::open(store.path().join("lock")).unwrap();
    held.lock().unwrap();
    let report = fixture.around(|| fixture.put("a", "b\n")).await;
    assert_eq!((report.failed.len(), &report.failed[0].error), (1, &SnapshotError::TooSlow(limit)));
    // Nobody stands in line for it who has given up.
    held.unlock().unwrap();
    let next = std::fs::File::open(store.path().join("lock")).unwrap();
    next.try_lock().unwrap();
    let (report, ()) = tokio::join!(fixture.around(|| fixture.put("a", "c\n")), async {
        tokio::time::sleep(limit / 10).await;
        drop(next);
    });
    assert_eq!((report.failed.len(), fixture.lines(&report)), (0, vec!["a: \"b\\n\" 644 | \"c\\n\" 644".to_owned()]));
}

#[tokio::test]
async fn a_command_that_changes_too_much_is_told_by_names() {
    for fixture in both(&[("a", "a\n")]) {
        let report = fixture.around(|| drop(fixture.run("mkdir d; cd d; seq 2100 | xargs touch; rm ../a"))).await;
        assert_eq!((report.failed.len(), report.changed.len()), (0, 2101));
        assert_eq!(report.changed[1].after, FileState::Unkept(Unkept::TooMany));
        assert_eq!(
            (&report.changed[0].before, &report.changed[0].after),
            (&FileState::Unkept(Unkept::TooMany), &FileState::Absent)
        );
    }
}

#[tokio::test]
async fn two_snapshots_of_a_tree_do_not_disturb_each_other() {
    let fixture = repository(&[("a", "a\n"), ("b", "b\n")]);
    fixture.put("u", "u\n");
    let first = Snapshots::before(&fixture.snapshots, fixture.request()).await;
    fixture.run("echo 1 >a; echo 1 >u");
    let second = Snapshots::before(&fixture.snapshots, fixture.request()).await;
    fixture.run("rm b u");
    let other = OsSnapshots::new(
        [("PATH", path())].into_iter().collect(),
        &AbsPath::new(fixture.temp.path().join("data")).unwrap(),
    );
    // Of another process, which looks for what is no longer needed.
    drop(Snapshots::before(&other, fixture.request()).await);
    assert_eq!(fixture.lines(&second.after().await), ["b: \"b\\n\" 644 | -", "u: \"1\\n\" 644 | -"]);
    assert_eq!(
        fixture.lines(&first.after().await),
        ["a: \"a\\n\" 644 | \"1\\n\" 644", "b: \"b\\n\" 644 | -", "u: \"u\\n\" 644 | -"]
    );
    assert_eq!(fixture.run("ls ../data/undo/*/marks").trim(), "");
}

#[tokio::test]
async fn what_nobody_needs_any_more_is_removed() {
    let fixture = repository(&[("a", "a\n")]);
    for text in ["1", "2", "3"] {
        fixture.put("u", text);
        fixture.changed_by("true").await;
    }
    assert_eq!(fixture.run("find ../data/undo/*/objects -type f | wc -l").trim(), "3");
    fixture.run("mkdir -p ../data/undo/old/objects; touch -d '40 days ago' ../data/undo/old/lock; touch ../data/undo/$(ls ../data/undo | head -1)/marks/dead{,.held}");
    // Of the next process.
    let data = AbsPath::new(fixture.temp.path().join("data")).unwrap();
    let next = Fixture { snapshots: OsSnapshots::new([("PATH", path())].into_iter().collect(), &data), ..fixture };
    assert_eq!(next.changed_by("rm u").await, ["u: \"3\" 644 | -"]);
    assert_eq!(next.run("find ../data/undo/*/objects -type f | wc -l; ls ../data/undo | wc -l; find ../data/undo/*/marks -type f | wc -l"), "1\n1\n0\n");
}

/// One that hangs is ended with whoever waited for it.
#[tokio::test]
async fn a_snapshot_that_is_dropped_or_too_slow_leaves_no_process() {
    let fixture = repository(&[("a", "a\n")]);
    let program = fixture.temp.path().join("bin/git");
    let started = fixture.temp.path().join("started");
    std::fs::create_dir(program.parent().unwrap()).unwrap();
    std::fs::write(&program, format!("#!/bin/bash\necho $$ >>{}\nexec sleep 100\n", started.display())).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let data = AbsPath::new(fixture.temp.path().join("data")).unwrap();
    let path = format!("{}:{}", program.parent().unwrap().display(), path());
    let snapshots = OsSnapshots {
        limit: Duration::from_secs(1),
        ..OsSnapshots::new([("PATH", path)].into_iter().collect(), &data)
    };
    let ended = async || {
        for pid in std::fs::read_to_string(&started).unwrap().lines() {
            let proc = format!("/proc/{pid}/cmdline");
            for _ in 0..500 {
                // A process that was not collected yet has no command line.
                if std::fs::read(&proc).is_ok_and(|line| !line.is_empty()) {
                    tokio::time::sleep(Duration::from_millis(10)).await;
                }
            }
            assert!(std::fs::read(&proc).is_ok_and(|line| line.is_empty()) || !Path::new(&proc).exists());
        }
    };
    let report = Snapshots::before(&snapshots, fixture.request()).await.after().await;
    assert_eq!(report.failed[0].error, SnapshotError::TooSlow(Duration::from_secs(1)));
    lock(&snapshots.refused).clear();
    ended().await;
    std::fs::remove_file(&started).unwrap();
    let before = Snapshots::before(&snapshots, fixture.request());
    let has_started = async {
        while !started.exists() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::select! {
        _ = before => panic!("it hangs"),
        () = has_started => {}
    }
    ended().await;
}
