use serde_json::{Value, json};

use super::*;
use crate::permission::Verdict;
use crate::workbench::{Bench, path};

async fn check(bench: &Bench, input: Value, expected: &str) {
    assert_eq!(bench.done("list", input).await, expected);
}

fn project() -> Bench {
    let bench = Bench::new();
    for file in
        ["a.rs", "src/z.rs", "src/bin/main.rs", "src/b.rs", "docs/x.md", "node_modules/p/i.js", ".github/ci.yml"]
    {
        bench.put(&format!("/w/{file}"), "x");
    }
    bench
}

#[tokio::test]
async fn a_tree_has_folders_first_and_leaves_out_what_programs_install() {
    let tree = "/w/
  .github/
    ci.yml
  docs/
    x.md
  src/
    bin/
      main.rs
    b.rs
    z.rs
  a.rs

(1 file left out: by `ignore`, or as installed packages or caches.)
";
    check(&project(), json!({}), tree).await;
    check(&project(), json!({"path": "src/bin"}), "/w/src/bin/\n  main.rs\n").await;
    // What is named is shown, whatever it is.
    check(&project(), json!({"path": "node_modules"}), "/w/node_modules/\n  p/\n    i.js\n").await;
}

#[tokio::test]
async fn globs_leave_files_and_folders_out() {
    let text = project().done("list", json!({"ignore": ["src", "*.md", ".github/**"]})).await;
    assert!(text.starts_with("/w/\n  a.rs\n\n(6 files left out"), "{text}");
}

#[tokio::test]
async fn r10_1_a_large_tree_is_drawn_as_deep_as_it_fits() {
    let bench = Bench::new();
    for folder in 0..20 {
        for sub in 0..10 {
            for file in 0..30 {
                bench.put(&format!("/w/d{folder:02}/s{sub}/f{file}"), "x");
            }
        }
    }
    let text = bench.done("list", json!({})).await;
    assert!(text.starts_with("/w/\n  d00/\n    s0/ (30 files)\n    s1/ (30 files)\n"), "{text}");
    assert_eq!(text.lines().count(), 1 + 20 + 200);
    let text = bench.done("list", json!({"path": "d07"})).await;
    assert!(text.starts_with("/w/d07/\n  s0/ (30 files)\n"), "{text}");
    assert!(bench.done("list", json!({"path": "d07/s3"})).await.contains("\n  f29\n"));
}

#[tokio::test]
async fn r20_1_every_root_has_its_tree_and_what_is_missing_is_named() {
    let mut bench = project();
    bench.put("/other/b.txt", "x");
    bench.facts.roots.push(path("/other"));
    let text = bench.done("list", json!({})).await;
    assert!(text.contains("\n  a.rs\n/other/\n  b.txt\n"), "{text}");
    let text = bench.failed("list", json!({"path": "scr"})).await;
    assert_eq!(text, "/w/scr does not exist. Did you mean:\n/w/src");
    let text = bench.failed("list", json!({"path": "a.rs"})).await;
    assert!(text.contains("`path` must be a folder"), "{text}");
}

#[tokio::test]
async fn c61_names_that_rules_deny_are_counted_and_not_listed() {
    let bench = project().rule("read", "docs/*", Verdict::Deny);
    let text = bench.done("list", json!({})).await;
    assert!(!text.contains("docs") && text.contains("\n1 file left out: rules deny reading.)"), "{text}");
}

#[test]
fn an_empty_folder_is_told() {
    assert_eq!(drawn(&[path("/w")], &[]), "/w/\n  (no files)\n");
}
