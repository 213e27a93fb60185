use serde_json::json;

use crate::permission::Verdict;
use crate::ports::OptionKind;
use crate::workbench::{Bench, path};

#[tokio::test]
async fn lists_lines_by_file() {
    let bench = Bench::new();
    bench.put("/w/a.rs", "let x = 1;\nuse y;\nlet z = 2;\n").put("/w/src/b.rs", "let q;\n").put("/w/c.txt", "let\n");
    insta::assert_snapshot!(bench.done("grep", json!({"pattern": "let", "include": "*.rs"})).await, @r"
    Found 3 matches

    /w/a.rs:
      Line 1: let x = 1;
      Line 3: let z = 2;

    /w/src/b.rs:
      Line 1: let q;
    ");
    let one = bench.call("grep", json!({"pattern": "use", "path": "a.rs"})).await.result;
    assert_eq!(
        (one.text.as_str(), one.title.as_str()),
        ("Found 1 match\n\n/w/a.rs:\n  Line 2: use y;\n", "Search use in a.rs")
    );
    assert_eq!(one.metadata, json!({"matches": 1, "truncated": false}));
    let none = bench.done("grep", json!({"pattern": "absent"})).await;
    assert_eq!(none, "No matches found.\n\n(What ignore files name was not searched.)\n");
}

#[tokio::test]
async fn c43_a_bad_expression_is_searched_as_text_and_said() {
    let bench = Bench::new();
    bench.put("/w/a:12:b.txt", "call foo(bar\n").put("/w/ lead.txt", "foo(\n");
    insta::assert_snapshot!(bench.done("grep", json!({"pattern": "foo("})).await, @r"
    Found 2 matches

    /w/ lead.txt:
      Line 1: foo(

    /w/a:12:b.txt:
      Line 1: call foo(bar

    (The pattern is no valid regular expression (unclosed group): it was searched for as plain text.)
    ");
    assert!(bench.failed("grep", json!({"pattern": ""})).await.starts_with("`pattern` is empty"));
    for pattern in ["-77", "--flag", "->", "- [ ]"] {
        bench.put("/w/odd.txt", format!("x {pattern} y"));
        let text = bench.done("grep", json!({"pattern": pattern})).await;
        assert!(text.contains(&format!("Line 1: x {pattern} y")), "{text}");
    }
}

#[tokio::test]
async fn r6_1_what_is_unsaved_is_what_is_searched() {
    let bench = Bench::new();
    bench.put("/w/a", "saved\n");
    bench.open("/w/a", 2, "unsaved\n");
    assert!(bench.done("grep", json!({"pattern": "unsaved"})).await.contains("Line 1: unsaved"));
}

#[tokio::test]
async fn r8_5_secrets_and_denied_files_are_not_searched() {
    let bench = Bench::new().rule("read", "private/*", Verdict::Deny);
    for file in ["/w/.env", "/w/a/prod.env", "/w/private/k", "/w/.env.example", "/w/a.rs"] {
        bench.put(file, "KEY\n");
    }
    insta::assert_snapshot!(bench.done("grep", json!({"pattern": "KEY"})).await, @r"
    Found 2 matches

    /w/.env.example:
      Line 1: KEY

    /w/a.rs:
      Line 1: KEY

    (3 files not searched: rules deny reading, or ask first. Call `read` for one that you need.)
    ");
    let denied = bench.failed("grep", json!({"pattern": "KEY", "path": "private/k"})).await;
    assert!(denied.contains("denied by rule read \"private/*\""), "{denied}");
    assert!(bench.client.asks().is_empty(), "nobody was asked");
}

#[tokio::test]
async fn r8_5_a_secret_that_was_granted_itself_is_searched() {
    let bench = Bench::new();
    bench.put("/w/.env", "KEY\n").put("/w/b.env", "KEY\n");
    bench.client.answer_all(OptionKind::AllowAlways);
    let asked = bench.done("grep", json!({"pattern": "KEY", "path": ".env"})).await;
    assert!(asked.contains("Line 1: KEY"), "{asked}");
    let all = bench.done("grep", json!({"pattern": "KEY"})).await;
    assert!(all.contains("/w/.env:\n") && !all.contains("/w/b.env"), "{all}");
    assert_eq!(bench.client.asks().len(), 1);
}

#[tokio::test]
async fn r8_5_a_root_under_another_name_is_judged_by_both() {
    let bench = Bench::new().rule("read", "private/*", Verdict::Deny).rule("read", "shown/secret", Verdict::Deny);
    bench.put("/w/private/a", "KEY\n").put("/w/real/secret", "KEY\n").put("/w/real/open", "KEY\n");
    let absolute = Bench::new().rule("read", "/w/private/*", Verdict::Deny);
    absolute.put("/w/private/a", "KEY\n");
    let text = absolute.done("grep", json!({"pattern": "KEY"})).await;
    assert!(text.contains("1 file not searched") && !text.contains("Line"), "{text}");
    bench.disk.put_link(&path("/w/alias"), "/w/private");
    bench.disk.put_link(&path("/w/shown"), "/w/real");
    let text = bench.done("grep", json!({"pattern": "KEY", "path": "alias"})).await;
    assert!(text.contains("1 file not searched") && !text.contains("Line"), "{text}");
    let text = bench.done("grep", json!({"pattern": "KEY", "path": "shown"})).await;
    assert!(text.contains("/w/shown/open:") && !text.contains("/w/shown/secret"), "{text}");
}

#[tokio::test]
async fn folders_outside_are_asked_and_what_rules_keep_inside_of_them_is_left_out() {
    let bench = Bench::new()
        .rule("external_directory", "/notes/*", Verdict::Allow)
        .rule("external_directory", "/notes/diary/*", Verdict::Deny)
        .rule("external_directory", "/notes/bank/*", Verdict::Ask);
    bench
        .put("/notes/a", "KEY\n")
        .put("/notes/diary/b", "KEY\n")
        .put("/notes/bank/c", "KEY\n")
        .put("/other/x/d", "KEY\n");
    let text = bench.done("grep", json!({"pattern": "KEY", "path": "/notes"})).await;
    assert!(text.contains("/notes/a:") && text.contains("2 files not searched"), "{text}");
    assert!(bench.client.asks().is_empty());
    bench.client.answer_all(OptionKind::AllowOnce);
    let text = bench.done("grep", json!({"pattern": "KEY", "path": "/other"})).await;
    assert!(text.contains("/other/x/d:"), "the consent covers what is below: {text}");
    assert_eq!(bench.client.asks().len(), 1);
}

#[tokio::test]
async fn rules_of_the_tool_are_held_against_the_pattern() {
    let bench = Bench::new().rule("grep", "*password*", Verdict::Deny).rule("grep", "x", Verdict::Ask);
    bench.put("/w/a", "x password\ny\n");
    let denied = bench.failed("grep", json!({"pattern": "my password"})).await;
    assert!(denied.contains("denied by rule grep \"*password*\""), "{denied}");
    assert!(bench.done("grep", json!({"pattern": "y"})).await.contains("Line 2"));
    assert!(bench.client.asks().is_empty());
    bench.client.answer_all(OptionKind::AllowAlways);
    bench.done("grep", json!({"pattern": "x"})).await;
    bench.done("grep", json!({"pattern": "x"})).await;
    let asks = bench.client.asks();
    assert_eq!(asks.len(), 1, "always is every pattern: {asks:?}");
    assert_eq!(asks[0].options[1].label, "Allow for this session: every grep (agent build)");
}

#[tokio::test]
async fn r20_1_names_of_roots_and_ambiguity() {
    let mut bench = Bench::new();
    bench.facts.roots.extend([path("/web"), path("/lib/web"), path("/api")]);
    bench.put("/web/a", "KEY\n").put("/api/b", "KEY\n").put("/w/api/c", "KEY\n").put("/w/k", "KEY\n");
    let text = bench.failed("grep", json!({"pattern": "KEY", "path": "web/a"})).await;
    assert!(text.contains("web/a is ambiguous") && text.contains("/web/a\n/lib/web/a"), "{text}");
    assert!(bench.done("grep", json!({"pattern": "KEY", "path": "api/b"})).await.contains("/api/b:"));
    assert!(bench.done("read", json!({"filePath": "api/b"})).await.contains("<path>/api/b</path>"));
    bench.facts.ambiguous.push("api".to_owned());
    let text = bench.failed("read", json!({"filePath": "api/c"})).await;
    assert!(text.contains("/api/c\n/w/api/c"), "{text}");
    assert!(bench.done("read", json!({"filePath": "./api/c"})).await.contains("<path>/w/api/c</path>"));
    assert!(bench.done("read", json!({"filePath": "w/k"})).await.contains("<path>/w/k</path>"));
}

#[tokio::test]
async fn r20_1_a_path_that_only_another_root_has_is_an_error_that_names_it() {
    let mut bench = Bench::trusting();
    bench.facts.roots.extend([path("/web"), path("/api")]);
    bench.put("/web/src/a.ts", "a\n").put("/api/src/a.ts", "a\n").put("/web/only.ts", "x\n").put("/w/only.rs", "x\n");
    for (tool, input, meant) in [
        ("read", json!({"filePath": "src/a.ts"}), "/web/src/a.ts\n/api/src/a.ts"),
        ("read", json!({"filePath": "only.ts"}), "/web/only.ts\n/w/only.rs"),
        ("edit", json!({"filePath": "src/a.ts", "oldString": "a", "newString": "b"}), "/web/src/a.ts\n/api/src/a.ts"),
        ("grep", json!({"pattern": "a", "path": "src"}), "/web/src\n/api/src"),
    ] {
        let text = bench.failed(tool, input).await;
        assert!(text.contains(&format!("Did you mean:\n{meant}")), "{tool}: {text}");
    }
}

#[tokio::test]
async fn an_absolute_include_is_a_place_of_the_workspace_or_one_below_its_root() {
    let bench = Bench::new();
    bench
        .put("/w/src/a.rs", "KEY\n")
        .put("/w/src/b.txt", "KEY\n")
        .put("/w/src/deep/c.rs", "KEY\n")
        .put("/w/d.rs", "KEY\n");
    for (input, found) in [
        (json!({"include": "/w/src/*.rs"}), vec!["/w/src/a.rs"]),
        (json!({"include": "/w/src/**/*.rs", "path": "/w"}), vec!["/w/src/a.rs", "/w/src/deep/c.rs"]),
        (json!({"include": "/w/src/a.rs", "path": "src"}), vec!["/w/src/a.rs"]),
        (json!({"include": "/src/*.rs"}), vec!["/w/src/a.rs"]),
        (json!({"include": "/*.rs"}), vec!["/w/d.rs"]),
        // Not in the folder that is searched.
        (json!({"include": "/w/*.rs", "path": "src"}), vec![]),
    ] {
        let mut input = input;
        input["pattern"] = json!("KEY");
        let text = bench.done("grep", input.clone()).await;
        let files: Vec<&str> = text.lines().filter_map(|line| line.strip_suffix(':')).collect();
        assert_eq!(files, found, "{input}: {text}");
    }
}
