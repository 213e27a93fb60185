//! Searches in whole turns: over unsaved text, without what is ignored or secret, and the instructions of the folders that are read.

use super::*;

#[tokio::test]
async fn r21_2_c43_searches_see_the_editor_s_text_and_say_what_they_left_out() {
    let (model, editor, session) = start([
        Reply::call("grep", json!({ "pattern": "needle(" })),
        Reply::call("glob", json!({ "pattern": "*.txt" })),
        Reply::text("done"),
    ])
    .await;
    let home = editor.home();
    home.write("a:12:b.txt", "on the disk\n");
    let document = format!("{}/a%3A12%3Ab.txt", uri(&home.workspace()));
    home.write(".gitignore", "node_modules/\n");
    home.write("node_modules/x.txt", "needle(\n");
    home.write("deploy.env", "needle(\n");
    std::os::unix::fs::symlink("..", home.workspace().join("loop")).unwrap();
    editor.open_document(&document, "plaintext", "on the disk\n");
    editor.type_text(&document, (0, 3), (0, 11), "needle(");
    assert_eq!(say(&editor, &session, "look").await, "end_turn");
    let results = last_results(&model);
    assert_holds(&results[0], "Found 1 match\n");
    assert_holds(&results[0], "a:12:b.txt:\n  Line 1: on needle(\n");
    assert_holds(&results[0], "no valid regular expression (unclosed group)");
    assert_holds(&results[0], "1 file not searched");
    assert_holds(&results[0], "ignore files name them: node_modules/");
    assert_holds(&results[1], "a:12:b.txt\n");
    assert!(!results[1].contains("x.txt"), "{}", results[1]);
    editor.finish().await;
    model.finish();
}

#[tokio::test]
async fn instructions_of_a_folder_come_with_the_first_file_that_is_read_there() {
    let (model, editor, session) = start([read("sub/a.txt"), read("sub/b.txt"), Reply::text("done")]).await;
    for (name, text) in [("sub/AGENTS.md", "Write in verse."), ("sub/a.txt", "a\n"), ("sub/b.txt", "b\n")] {
        editor.home().write(name, text);
    }
    assert_eq!(say(&editor, &session, "look").await, "end_turn");
    let results = last_results(&model);
    assert_holds(&results[0], "sub/AGENTS.md\nWrite in verse.");
    assert!(!results[1].contains("Write in verse."), "{}", results[1]);
    editor.finish().await;
    model.finish();
}
