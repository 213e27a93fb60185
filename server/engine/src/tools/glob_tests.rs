use serde_json::json;

use crate::permission::Verdict;
use crate::workbench::{Bench, path};

fn bench() -> Bench {
    let bench = Bench::new();
    for file in
        ["/w/a.rs", "/w/src/b.rs", "/w/src/c.txt", "/w/.github/ci.yml", "/w/src/[id].tsx", "/w/--x.txt", "/w/ lead.txt"]
    {
        bench.put(file, "");
    }
    bench
}

async fn check(input: serde_json::Value, expected: &str) {
    let text = bench().done("glob", input).await;
    assert_eq!(text.split("\n(").next().unwrap(), expected);
}

#[tokio::test]
async fn finds_by_name_and_by_path() {
    check(json!({"pattern": "*.rs"}), "/w/a.rs\n/w/src/b.rs\n").await;
    check(json!({"pattern": "src/*"}), "/w/src/[id].tsx\n/w/src/b.rs\n/w/src/c.txt\n").await;
    check(json!({"pattern": "*.rs", "path": "src"}), "/w/src/b.rs\n").await;
    check(json!({"pattern": "*.rs", "path": "/w/src/"}), "/w/src/b.rs\n").await;
    check(json!({"pattern": "/w/src/*.rs"}), "/w/src/b.rs\n").await;
    check(json!({"pattern": ".github/**"}), "/w/.github/ci.yml\n").await;
    check(json!({"pattern": "*.yml"}), "No files found.\n").await;
}

#[tokio::test]
async fn c43_odd_names_are_found() {
    check(json!({"pattern": "--x.txt"}), "/w/--x.txt\n").await;
    check(json!({"pattern": " lead.txt"}), "/w/ lead.txt\n").await;
    check(json!({"pattern": "src/[id].tsx"}), "/w/src/[id].tsx\n").await;
    let bench = bench();
    bench.put("/w/a[b", "");
    insta::assert_snapshot!(bench.done("glob", json!({"pattern": "a[b"})).await, @r"
    /w/a[b

    (The pattern is no valid glob (unclosed character class; missing ']'): it was taken as the name of a file.)
    ");
    assert!(bench.failed("glob", json!({"pattern": ""})).await.starts_with("`pattern` is empty"));
    assert!(bench.failed("glob", json!({"pattern": "../*.rs"})).await.contains("name the folder in `path`"));
}

#[tokio::test]
async fn a_path_must_be_a_folder_that_is_there() {
    let bench = bench();
    assert!(bench.failed("glob", json!({"pattern": "*", "path": "a.rs"})).await.starts_with("`path` must be a folder"));
    let missing = bench.failed("glob", json!({"pattern": "*", "path": "srcs"})).await;
    assert_eq!(missing, "/w/srcs does not exist. Did you mean:\n/w/src");
}

#[tokio::test]
async fn r21_2_a_hundred_files_and_a_note() {
    let bench = Bench::new();
    for at in 0..120 {
        bench.put(&format!("/w/f{at:03}"), "");
    }
    let outcome = bench.call("glob", json!({"pattern": "f*"})).await;
    let text = outcome.result.text;
    assert!(text.contains("/w/f099\n") && !text.contains("/w/f100"), "{text}");
    assert!(text.contains("Only the first 100 are shown; there are more"), "{text}");
    assert_eq!(outcome.result.metadata, json!({"count": 100, "truncated": true}));
}

#[tokio::test]
async fn denied_names_are_left_out_and_counted() {
    let bench = bench().rule("read", "src/*", Verdict::Deny);
    insta::assert_snapshot!(bench.done("glob", json!({"pattern": "*.rs"})).await, @r"
    /w/a.rs

    (1 file left out: rules deny reading.)
    ");
}

#[tokio::test]
async fn r20_1_all_roots_are_searched_and_found_by_their_names() {
    let mut bench = bench();
    bench.facts.roots.push(path("/web"));
    bench.put("/web/d.rs", "");
    let all = bench.done("glob", json!({"pattern": "*.rs"})).await;
    assert!(all.starts_with("/w/a.rs\n/w/src/b.rs\n/web/d.rs\n"), "{all}");
    let web = bench.done("glob", json!({"pattern": "*.rs", "path": "web"})).await;
    assert!(web.starts_with("/web/d.rs\n"), "{web}");
    bench.facts.roots.push(path("/w/src"));
    let all = bench.done("glob", json!({"pattern": "*.rs"})).await;
    assert_eq!(all.matches("/w/src/b.rs").count(), 1, "a root below another is searched once: {all}");
}
