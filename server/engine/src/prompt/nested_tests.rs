use serde_json::json;

use super::*;
use crate::message::ToolResult;
use crate::workbench::{Bench, path};

fn bench() -> Bench {
    let bench = Bench::new();
    bench
        .put("/w/AGENTS.md", "root")
        .put("/w/a/AGENTS.md", "of a\n")
        .put("/w/a/CLAUDE.md", "not this one")
        .put("/w/a/b/CONTEXT.md", "of b")
        .put("/w/a/b/c/x.rs", "text\n")
        .put("/w/a/y.rs", "text\n")
        .put("/w/z.rs", "text\n");
    bench
}

async fn read(bench: &Bench, file: &str) -> ToolResult {
    bench.call("read", json!({"filePath": file})).await.result
}

/// The files whose instructions came with the read.
async fn check(bench: &Bench, file: &str, expected: &[&str]) -> ToolResult {
    let result = read(bench, file).await;
    let found: Vec<&str> = result.text.lines().filter_map(|line| line.strip_prefix("Instructions from: ")).collect();
    assert_eq!(found, expected, "{}", result.text);
    result
}

#[tokio::test]
async fn folders_tell_their_instructions_once_outermost_first() {
    let bench = bench();
    check(&bench, "z.rs", &[]).await;
    let result = check(&bench, "a/b/c/x.rs", &["/w/a/AGENTS.md", "/w/a/b/CONTEXT.md"]).await;
    assert!(result.text.ends_with(
        "\n\n<system-reminder>\nInstructions from: /w/a/AGENTS.md\nof a\n</system-reminder>\n\n<system-reminder>\nInstructions from: /w/a/b/CONTEXT.md\nof b\n</system-reminder>"
    ));
    assert_eq!(result.instructions, [path("/w/a/AGENTS.md"), path("/w/a/b/CONTEXT.md")]);
    check(&bench, "a/y.rs", &[]).await;
    check(&bench, "a/b/c/x.rs", &[]).await;
}

#[tokio::test]
async fn what_was_told_is_known_from_the_stored_results() {
    let mut bench = bench();
    let stored = serde_json::to_string(&check(&bench, "a/y.rs", &["/w/a/AGENTS.md"]).await).unwrap();
    let stored: ToolResult = serde_json::from_str(&stored).unwrap();
    bench.instructions = Arc::new(KnownInstructions::rebuild([&stored]));
    check(&bench, "a/b/c/x.rs", &["/w/a/b/CONTEXT.md"]).await;
    let old: ToolResult = serde_json::from_value(json!({"status": "completed", "text": "", "title": ""})).unwrap();
    bench.instructions = Arc::new(KnownInstructions::rebuild([&old]));
    check(&bench, "a/y.rs", &["/w/a/AGENTS.md"]).await;
}

#[tokio::test]
async fn neither_the_file_itself_nor_the_system_prompts_are_told_again() {
    let bench = bench();
    check(&bench, "a/AGENTS.md", &[]).await;
    let file = InstructionFile { path: path("/w/a/b/CONTEXT.md"), text: String::new() };
    bench.instructions.in_system_prompt(&Instructions { files: vec![file], problems: Vec::new() });
    check(&bench, "a/b/c/x.rs", &["/w/a/AGENTS.md"]).await;
}

#[tokio::test]
async fn calls_beside_each_other_tell_once_and_a_failed_call_tells_nothing() {
    let bench = bench();
    let runner = bench.runner();
    let call = |id: &str, file: &str| {
        let call = crate::workbench::call(id, "read", &json!({"filePath": file, "offset": 1}).to_string());
        runner.run(call)
    };
    let (one, two) = futures::join!(call("call_1", "a/y.rs"), call("call_2", "a/y.rs"));
    assert_eq!(one.result.instructions.len() + two.result.instructions.len(), 1);
    let failed = bench.failed("read", json!({"filePath": "a/b/c/x.rs", "offset": 9})).await;
    assert!(!failed.contains("Instructions"), "{failed}");
    check(&bench, "a/b/c/x.rs", &["/w/a/b/CONTEXT.md"]).await;
}

#[tokio::test]
async fn links_out_of_the_project_are_refused_and_said_once() {
    let bench = bench();
    bench.put("/secrets/key", "SECRET").put("/w/l/x", "text").put("/w/l/y", "text");
    bench.disk.put_link(&path("/w/l/AGENTS.md"), "/secrets/key");
    let result = check(&bench, "l/x", &[]).await;
    assert!(result.text.contains("/w/l/AGENTS.md leads out of the project") && !result.text.contains("SECRET"));
    assert!(!read(&bench, "l/y").await.text.contains("leads out"));
}

#[tokio::test]
async fn r10_1_file_and_instructions_keep_to_the_limit_together() {
    let mut bench = Bench::new();
    bench.facts.max_bytes = 10_000;
    bench.put("/w/a/AGENTS.md", "instruction line\n".repeat(9_000)).put("/w/a/x", "text of a file\n".repeat(9_000));
    let result = check(&bench, "a/x", &["/w/a/AGENTS.md"]).await;
    assert!(result.text.len() <= 10_000, "{}", result.text.len());
    assert!(result.text.contains("The file goes on") && result.text.contains("next: offset="), "{}", result.text);
}

#[tokio::test]
async fn r20_1_another_root_tells_its_own_instructions() {
    let mut bench = bench();
    bench.facts.roots.push(path("/web"));
    bench
        .put("/web/AGENTS.md", "of web")
        .put("/web/src/x", "text")
        .put("/other/AGENTS.md", "no")
        .put("/other/x", "text");
    check(&bench, "web/src/x", &["/web/AGENTS.md"]).await;
    bench.client.answer_all(crate::ports::OptionKind::AllowOnce);
    check(&bench, "/other/x", &[]).await;
}
