use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use copydesk_engine::ports::{
    FileGlob, Found, LineHit, LinePattern, MayOpen, Search, SearchError, SearchLimits, SearchStop, SearchTree,
};
use copydesk_workspace::path::AbsPath;
use ropey::Rope;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use super::OsSearch;

const LIMITS: SearchLimits = SearchLimits { results: 100, time: Duration::from_secs(60), bytes: 1 << 30 };

/// A folder with files, removed at the end.
struct Folder {
    folder: TempDir,
}

impl Folder {
    fn new(files: &[(&str, &str)]) -> Self {
        let folder = Self { folder: tempfile::tempdir().unwrap() };
        for (path, text) in files {
            folder.put(path, text.as_bytes());
        }
        folder
    }

    fn root(&self) -> AbsPath {
        AbsPath::new(self.folder.path().canonicalize().unwrap()).unwrap()
    }

    fn put(&self, path: &str, bytes: &[u8]) {
        let path = self.root().join(path);
        std::fs::create_dir_all(path.as_path().parent().unwrap()).unwrap();
        std::fs::write(path.as_path(), bytes).unwrap();
    }

    fn tree(&self) -> SearchTree {
        let may_open: MayOpen = Arc::new(|_: &Path| true);
        SearchTree { root: self.root(), glob: None, hidden: true, open: Vec::new(), may_open, limits: LIMITS }
    }

    fn relative(&self, path: &AbsPath) -> String {
        path.relative_to(&self.root()).unwrap()
    }
}

async fn lines(tree: SearchTree, pattern: &str) -> Result<Found<LineHit>, SearchError> {
    OsSearch.lines(tree, LinePattern::Regex(pattern.to_owned()), CancellationToken::new()).await
}

/// Hits as `path:line:text`.
async fn check(folder: &Folder, tree: SearchTree, pattern: &str, expected: &[&str]) -> Found<LineHit> {
    let found = lines(tree, pattern).await.unwrap();
    let hits: Vec<String> =
        found.hits.iter().map(|hit| format!("{}:{}:{}", folder.relative(&hit.path), hit.line, hit.text)).collect();
    assert_eq!(hits, expected, "{pattern:?}");
    found
}

async fn files(folder: &Folder, tree: SearchTree) -> Vec<String> {
    let found = OsSearch.files(tree, CancellationToken::new()).await.unwrap();
    found.hits.iter().map(|path| folder.relative(path)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn c43_odd_patterns_are_patterns() {
    let folder = Folder::new(&[("a.txt", "-77\nx --flag y\nfn a() -> b\n- [ ] todo\nopen( paren\nfirst\nsecond\n")]);
    for (pattern, expected) in [
        ("-77", "a.txt:1:-77"),
        ("--flag", "a.txt:2:x --flag y"),
        ("->", "a.txt:3:fn a() -> b"),
        (r"- \[ \]", "a.txt:4:- [ ] todo"),
        (r"first\nsecond", "a.txt:6:first\nsecond"),
        ("first\nsecond", "a.txt:6:first\nsecond"),
        ("^second$", "a.txt:7:second"),
        ("(?i)TODO", "a.txt:4:- [ ] todo"),
    ] {
        check(&folder, folder.tree(), pattern, &[expected]).await;
    }
    let bad = lines(folder.tree(), "open(").await;
    assert!(matches!(&bad, Err(SearchError::BadPattern(reason)) if reason.contains("unclosed group")), "{bad:?}");
    for literal in ["open(", "- [ ]", "first\nsecond"] {
        let found = OsSearch.lines(folder.tree(), LinePattern::Literal(literal.to_owned()), CancellationToken::new());
        assert_eq!(found.await.unwrap().hits.len(), 1, "{literal:?}");
    }
    let huge = lines(folder.tree(), r"(\pL{1000}){1000}").await;
    assert!(matches!(huge, Err(SearchError::BadPattern(_))), "{huge:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn c43_odd_names_are_names() {
    let folder = Folder::new(&[("a:12:b.txt", "hit"), ("--x.txt", "hit"), (" lead.txt", "hit"), ("new\nline", "hit")]);
    let expected = [" lead.txt:1:hit", "--x.txt:1:hit", "a:12:b.txt:1:hit", "new\nline:1:hit"];
    check(&folder, folder.tree(), "hit", &expected).await;
    let glob = Some(FileGlob::new("--x.txt").0);
    assert_eq!(files(&folder, SearchTree { glob, ..folder.tree() }).await, ["--x.txt"]);
}

/// A tree of the kind that C45 tells of: much that is ignored, and a link to a folder above itself.
fn big_tree(ignored: usize, seen: usize) -> Folder {
    let folder = Folder::new(&[(".gitignore", "node_modules/\n*.log\n"), ("a/b.txt", "needle"), ("x.log", "needle")]);
    for at in 0..ignored {
        folder.put(&format!("node_modules/p{}/f{at}.js", at % 50), b"needle");
    }
    for at in 0..seen {
        folder.put(&format!("src/d{}/f{at}.rs", at % 50), b"nothing\n");
    }
    std::os::unix::fs::symlink("..", folder.root().join("a/loop").as_path()).unwrap();
    folder
}

#[tokio::test(flavor = "multi_thread")]
async fn c45_ignored_trees_and_link_loops_cost_nothing() {
    let folder = big_tree(3000, 300);
    let start = Instant::now();
    let found = check(&folder, folder.tree(), "needle", &["a/b.txt:1:needle"]).await;
    assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());
    assert_eq!(found.skipped.ignored, ["node_modules/", "x.log"]);
    assert_eq!((found.more, found.stopped), (false, None));
    let glob = Some(FileGlob::new("*.{js,txt,log}").0);
    assert_eq!(files(&folder, SearchTree { glob, ..folder.tree() }).await, ["a/b.txt"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn c45_an_ignored_folder_is_searched_where_it_is_asked_for() {
    let folder = big_tree(30, 3);
    let asked = SearchTree { root: folder.root().join("node_modules/p7"), ..folder.tree() };
    check(&folder, asked, "needle", &["node_modules/p7/f7.js:1:needle"]).await;
    let asked = SearchTree { root: folder.root().join("node_modules"), ..folder.tree() };
    assert_eq!(files(&folder, asked).await.len(), 30);
    let file = SearchTree { root: folder.root().join("x.log"), ..folder.tree() };
    check(&folder, file, "needle", &["x.log:1:needle"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn c45_a_cancel_ends_a_search_between_files_and_inside_of_one() {
    let many = big_tree(0, 2000);
    let one = Folder::new(&[]);
    // Sparse, so that it costs no room: what is read of it is zeros, and binary files end at the first; so it begins with text.
    one.put("huge.txt", &b"some text\n".repeat(1 << 20));
    let huge = std::fs::OpenOptions::new().append(true).open(one.root().join("huge.txt").as_path()).unwrap();
    huge.set_len(64 << 20).unwrap();
    for folder in [&many, &one] {
        let cancel = CancellationToken::new();
        let (at_once, seen) = (cancel.clone(), Arc::new(AtomicBool::new(false)));
        let mark = Arc::clone(&seen);
        let may_open: MayOpen = Arc::new(move |_: &Path| {
            mark.store(true, Ordering::SeqCst);
            at_once.cancel();
            true
        });
        let start = Instant::now();
        let tree = SearchTree { may_open, ..folder.tree() };
        let found = OsSearch.lines(tree, LinePattern::Regex("absent".to_owned()), cancel).await;
        assert!(matches!(found, Err(SearchError::Cancelled)), "{found:?}");
        assert!(seen.load(Ordering::SeqCst), "it was cancelled while it ran");
        assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn r21_2_a_search_that_nobody_waits_for_ends() {
    let folder = big_tree(0, 500);
    let calls = Arc::new(Mutex::new(0));
    let (entered, mut enter) = tokio::sync::mpsc::unbounded_channel();
    let (go, gate) = std::sync::mpsc::channel::<()>();
    let gate = Mutex::new(gate);
    let count = Arc::clone(&calls);
    let may_open: MayOpen = Arc::new(move |_: &Path| {
        *count.lock().unwrap() += 1;
        let _ = entered.send(());
        // Ends when the sender is dropped.
        let _ = gate.lock().unwrap().recv();
        true
    });
    let tree = SearchTree { may_open, ..folder.tree() };
    let search = tokio::spawn(async move { lines(tree, "x").await });
    enter.recv().await.unwrap();
    search.abort();
    assert!(search.await.unwrap_err().is_cancelled());
    drop(go);
    // The channel closes when the work has let go of the predicate.
    tokio::time::timeout(Duration::from_secs(20), async { while enter.recv().await.is_some() {} }).await.unwrap();
    assert!(*calls.lock().unwrap() < 500, "it went on to the end");
}

#[tokio::test(flavor = "multi_thread")]
async fn r21_2_limits_of_results_time_and_bytes() {
    let names: Vec<String> = (0..40).map(|at| format!("d{}/f{at:02}.txt", at % 4)).collect();
    let folder = Folder::new(&names.iter().map(|name| (name.as_str(), "hit\nhit\nmiss\n")).collect::<Vec<_>>());
    let limited = |limits| SearchTree { limits, ..folder.tree() };
    let whole = lines(folder.tree(), "hit").await.unwrap();
    assert_eq!((whole.hits.len(), whole.more, whole.stopped), (80, false, None));
    for results in [1, 2, 7, 79, 80] {
        for _ in 0..5 {
            let found = lines(limited(SearchLimits { results, ..LIMITS }), "hit").await.unwrap();
            assert_eq!(found.hits, whole.hits[..results], "the first ones, every time");
            assert_eq!(found.more, results < 80);
        }
        let found =
            OsSearch.files(limited(SearchLimits { results, ..LIMITS }), CancellationToken::new()).await.unwrap();
        assert_eq!((found.hits.len(), found.more), (results.min(40), results < 40));
    }
    let found = lines(limited(SearchLimits { time: Duration::ZERO, ..LIMITS }), "hit").await.unwrap();
    assert_eq!((found.hits.len(), found.stopped), (0, Some(SearchStop::Time)));
    let found = lines(limited(SearchLimits { bytes: 100, ..LIMITS }), "hit").await.unwrap();
    assert!(found.hits.len() < 80 && found.stopped == Some(SearchStop::Bytes), "{found:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn r21_2_ignore_files_count_with_and_without_git_and_links_are_not_followed() {
    let folder = Folder::new(&[
        (".gitignore", "/build\n!build/keep.txt\n"),
        (".ignore", "*.tmp\n"),
        ("build/a.txt", "hit"),
        ("sub/.gitignore", "secret.txt\n"),
        ("sub/secret.txt", "hit"),
        ("sub/seen.txt", "hit"),
        ("x.tmp", "hit"),
        (".hidden/a.txt", "hit"),
        (".git/config", "hit"),
        ("sub/.git/HEAD", "hit"),
    ]);
    let outside = Folder::new(&[("out.txt", "hit")]);
    std::os::unix::fs::symlink(outside.root().as_path(), folder.root().join("link").as_path()).unwrap();
    std::os::unix::fs::symlink("sub/seen.txt", folder.root().join("file-link.txt").as_path()).unwrap();
    let found = check(&folder, folder.tree(), "hit", &[".hidden/a.txt:1:hit", "sub/seen.txt:1:hit"]).await;
    // A link that is not followed is walked all the same.
    assert_eq!(found.skipped.ignored, ["build/", "x.tmp"]);
    check(&folder, SearchTree { hidden: false, ..folder.tree() }, "hit", &["sub/seen.txt:1:hit"]).await;
    let listed = files(&folder, SearchTree { hidden: false, ..folder.tree() }).await;
    assert_eq!(listed, ["sub/seen.txt"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn r6_1_the_text_of_open_documents_is_searched_in_place_of_their_files() {
    let folder =
        Folder::new(&[("a.txt", "on disk\n"), ("b.txt", "on disk\n"), (".gitignore", "out/\n"), ("out/c.txt", "x")]);
    let open = |path: &str, text: &str| (folder.root().join(path), Rope::from(text));
    let tree = SearchTree {
        open: vec![
            open("a.txt", "unsaved\nlines\n"),
            open("new.txt", "unsaved too"),
            open("out/c.txt", "unsaved but ignored"),
            open(".dot/new.txt", "unsaved and hidden"),
        ],
        hidden: false,
        ..folder.tree()
    };
    check(&folder, tree.clone(), "unsaved", &["a.txt:1:unsaved", "new.txt:1:unsaved too"]).await;
    check(&folder, tree.clone(), "on disk", &["b.txt:1:on disk"]).await;
    assert_eq!(files(&folder, tree.clone()).await, ["a.txt", "b.txt", "new.txt"]);
    let only_new = SearchTree { root: folder.root().join("new.txt"), ..tree };
    check(&folder, only_new, "too", &["new.txt:1:unsaved too"]).await;
    let long = format!("{}needle\n{}", "filler\n".repeat(20_000), "\u{1f680}".repeat(9_000));
    let tree = SearchTree { open: vec![open("a.txt", &long)], ..folder.tree() };
    check(&folder, tree, "^needle$", &["a.txt:20001:needle"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn refused_files_are_counted_and_never_opened() {
    let folder =
        Folder::new(&[("a.txt", "hit"), ("secret/b.txt", "hit"), ("secret/c.txt", "hit"), ("secret/d.rs", "hit")]);
    let asked = Arc::new(Mutex::new(Vec::new()));
    let names = Arc::clone(&asked);
    let may_open: MayOpen = Arc::new(move |path: &Path| {
        names.lock().unwrap().push(path.file_name().unwrap().to_string_lossy().into_owned());
        !path.to_string_lossy().contains("secret")
    });
    let glob = Some(FileGlob::new("*.txt").0);
    let found = check(&folder, SearchTree { glob, may_open, ..folder.tree() }, "hit", &["a.txt:1:hit"]).await;
    assert_eq!(found.skipped.refused, 2);
    let mut asked = asked.lock().unwrap().clone();
    asked.sort();
    assert_eq!(asked, ["a.txt", "b.txt", "c.txt"], "what the glob leaves out is not judged");
}

#[tokio::test(flavor = "multi_thread")]
async fn c42_one_huge_line_gives_a_bounded_slice() {
    let folder = Folder::new(&[]);
    let line = format!("{}needle{}", "x".repeat(3 << 20), "y".repeat(2 << 20));
    folder.put("one.json", line.as_bytes());
    folder.put("too-long.json", "z".repeat(20 << 20).as_bytes());
    let found = lines(folder.tree(), "needle").await.unwrap();
    let [hit] = found.hits.as_slice() else { panic!("{} hits", found.hits.len()) };
    assert!(hit.text.len() <= 500 && hit.text.contains("needle"), "{}", hit.text.len());
    assert_eq!(hit.column, Some((3 << 20) - 100 + 1));
    assert_eq!(found.skipped.unreadable, 1, "a line that does not fit is said, not passed over");
}

#[tokio::test(flavor = "multi_thread")]
async fn r18_1_encodings_are_read_and_binary_files_counted() {
    let folder = Folder::new(&[("utf8.txt", "caf\u{e9} hit\r\n"), ("bom.txt", "\u{feff}hit\n")]);
    let utf16 = |text: &str, bytes: fn(u16) -> [u8; 2]| -> Vec<u8> {
        format!("\u{feff}{text}").encode_utf16().flat_map(bytes).collect()
    };
    folder.put("le.txt", &utf16("a\r\nhit \u{1f680}\r\n", u16::to_le_bytes));
    folder.put("be.txt", &utf16("hit", u16::to_be_bytes));
    folder.put("binary.bin", b"hit\nhit\n\0\x01\x02");
    folder.put("latin1.txt", b"caf\xe9 hit\n");
    let expected = [
        "be.txt:1:hit",
        "bom.txt:1:hit",
        "latin1.txt:1:caf\u{fffd} hit",
        "le.txt:2:hit \u{1f680}",
        "utf8.txt:1:caf\u{e9} hit",
    ];
    let found = check(&folder, folder.tree(), "hit", &expected).await;
    assert_eq!(found.skipped.binary, 1);
    check(&folder, folder.tree(), "^hit$", &["be.txt:1:hit", "bom.txt:1:hit"]).await;
    check(
        &folder,
        folder.tree(),
        "hit$",
        &["be.txt:1:hit", "bom.txt:1:hit", "latin1.txt:1:caf\u{fffd} hit", "utf8.txt:1:caf\u{e9} hit"],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_root_that_is_not_there_is_an_error() {
    let folder = Folder::new(&[]);
    let root = folder.root().join("missing");
    let found = lines(SearchTree { root: root.clone(), ..folder.tree() }, "x").await;
    assert_eq!(found, Err(SearchError::NotFound(root)));
}
