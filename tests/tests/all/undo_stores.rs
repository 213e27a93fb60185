//! Undo and review by the built daemon on a store that fails, is gone, or is damaged. Needs the program: `cargo build -p copydesk`.

use std::path::PathBuf;

use copydesk_tests::daemon::Home;
use copydesk_tests::scripted_model::{Reply, Script};
use serde_json::json;

use super::undo_shared::{NEW, OLD, changes, changes_once, edit, editor, load, start, texts, undo};

fn database(home: &Home) -> PathBuf {
    home.data().join("copydesk/copydesk.db")
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn r2_5_a_file_size_limit_or_a_full_disk_costs_requests_and_never_the_daemon() {
    let (model, home) = start(Script::function(|request| match request.last_text() {
        text if text.contains("Shout") && request.results().is_empty() => edit("a.txt", "two", "TWO"),
        text if text.contains("Again") && request.results().len() == 1 => edit("b.txt", "two", "TWO"),
        _ => Reply::text("Done."),
    }))
    .await;
    let one = editor(&home).await;
    let session = one.new_session().await;
    one.turn(&session, "Shout").await;
    let process = i32::try_from(one.process().unwrap()).unwrap();
    let limit = |bytes: libc::rlim_t| {
        let limit = libc::rlimit { rlim_cur: bytes, rlim_max: libc::RLIM_INFINITY };
        // SAFETY: the limit of a child of this test; no old one is asked for.
        #[allow(unsafe_code)]
        let done = unsafe { libc::prlimit(process, libc::RLIMIT_FSIZE, &limit, std::ptr::null_mut()) };
        assert_eq!(done, 0);
    };
    limit(64);
    let prompt = one.prompt(&session, "Again");
    let refusal = one.await_response(prompt).await.unwrap_err();
    assert!(refusal.message.contains("store"), "{refusal:?}");
    let list = changes(&one, &session, json!({ "reject": "all" })).await.unwrap();
    assert_eq!((&list["decided"], texts(&home)[0].as_str()), (&json!([]), NEW), "{list}");
    assert!(list["undecided"][0]["reason"].as_str().unwrap().contains("store"), "{list}");
    let report = undo(&one, &session, json!("last")).await;
    // Undone or not, it says so.
    let is_undone = texts(&home)[0] == OLD;
    assert_eq!(
        report.as_ref().is_ok_and(|report| report["files"][0]["outcome"] == "restored"),
        is_undone,
        "{report:?}"
    );
    limit(libc::RLIM_INFINITY);
    one.turn(&session, "Again").await;
    assert_eq!(texts(&home)[1], NEW);
    while undo(&one, &session, json!("last")).await.is_ok() {}
    assert_eq!(texts(&home)[..2], [OLD, OLD]);
    one.finish().await;
    model.finish();
}

#[tokio::test]
async fn r2_5_a_store_that_was_removed_or_replaced_is_noticed_and_loses_nothing_in_silence() {
    for is_replaced in [false, true] {
        let (model, home) = start(changes_once()).await;
        let one = editor(&home).await;
        let session = one.new_session().await;
        one.turn(&session, "Shout").await;
        let folder = database(&home).parent().unwrap().to_owned();
        let kept = home.path().join("kept");
        if is_replaced {
            // By another one, which another daemon has made.
            let other = Home::new();
            other.use_model(&model.base_url());
            let two = editor(&other).await;
            two.new_session().await;
            two.finish().await;
            std::fs::rename(&folder, &kept).unwrap();
            std::fs::rename(database(&other).parent().unwrap(), &folder).unwrap();
        } else {
            std::fs::rename(&folder, &kept).unwrap();
        }
        let prompt = one.prompt(&session, "go on");
        let refusal = one.await_response(prompt).await.unwrap_err();
        assert!(refusal.message.contains(&session) || refusal.message.contains("store"), "{refusal:?}");
        for params in [json!({ "reject": "all" }), json!({ "accept": "all" })] {
            let list = changes(&one, &session, params).await;
            assert!(list.as_ref().map_or(true, |list| list["decided"] == json!([])), "{list:?}");
        }
        undo(&one, &session, json!("last")).await.unwrap_err();
        assert_eq!(texts(&home), [NEW, NEW, "new\n"]);
        // A new session is kept in the store that stands there now.
        let new = one.new_session().await;
        one.turn(&new, "hello").await;
        one.finish().await;
        let two = editor(&home).await;
        two.request("session/load", load(&home, &new)).await.unwrap();
        two.finish().await;
        // And the old one, once it is put back, has all that was answered.
        std::fs::rename(&folder, home.path().join("other")).unwrap();
        std::fs::rename(&kept, &folder).unwrap();
        let two = editor(&home).await;
        two.request("session/load", load(&home, &session)).await.unwrap();
        undo(&two, &session, json!("last")).await.unwrap();
        assert_eq!(texts(&home), [OLD, OLD, "-"]);
        two.finish().await;
        model.finish();
    }
}

#[tokio::test]
async fn r2_5_r5_4_damaged_rows_of_changes_cost_themselves_and_no_line_of_the_users() {
    let damages = [
        "UPDATE file_change SET before = '{\"hash\":7}' WHERE id = 2",
        "UPDATE file_change SET author = 'nobody' WHERE id = 2",
        "UPDATE file_change SET path = x'00' WHERE id = 2",
        "UPDATE file_change SET path = CAST('../../a.txt' AS BLOB) WHERE id = 2",
        "UPDATE file_change SET after = NULL WHERE id = 1",
        "UPDATE file_change SET before = NULL WHERE id = 1",
        "UPDATE file_change SET moved_to = path WHERE id = 2",
        "UPDATE file_change SET turn = 'msg_other' WHERE id = 2",
        "UPDATE file_content SET bytes = x'0102'",
        "UPDATE file_content SET base = hash WHERE base IS NOT NULL",
        "UPDATE file_content SET len = -1",
        "UPDATE file_content SET len = 9223372036854775807",
        "DELETE FROM file_content",
        "DELETE FROM file_change WHERE id = 2",
        "UPDATE file_change SET id = 9223372036854775806 WHERE id = 3",
        "UPDATE file_change SET author = '{\"by\":\"undo\",\"of\":[1,2,3,99]}' WHERE id = 3",
        "UPDATE kept SET bytes = -5",
        "UPDATE kept SET bytes = 9223372036854775000",
    ];
    let long: String = (0..400).map(|n| format!("a line of some length, number {n}\n")).collect();
    let (model, home) = start(Script::function(|request| match request.results().len() {
        done @ 0..3 => edit("a.txt", &format!("number {done}\n"), &format!("{done}\n")),
        _ => Reply::text("Done."),
    }))
    .await;
    let two = editor(&home).await;
    for damage in damages {
        let file = home.write("a.txt", format!("{long}end\n"));
        let session = two.new_session().await;
        two.turn(&session, "Shout").await;
        std::fs::write(&file, std::fs::read_to_string(&file).unwrap() + "mine\n").unwrap();
        two.request("session/close", json!({ "sessionId": session })).await.unwrap();
        {
            let connection = rusqlite::Connection::open(database(&home)).unwrap();
            let in_session = match damage {
                _ if damage.contains(" kept ") => damage.to_owned(),
                _ if damage.contains(" WHERE ") => format!("{damage} AND session = '{session}'"),
                _ => format!("{damage} WHERE session = '{session}'"),
            };
            // The format itself may refuse it.
            drop(connection.execute(&in_session, []));
        }
        two.request("session/load", load(&home, &session)).await.unwrap();
        for params in [json!({}), json!({ "scope": "last_turn" })] {
            let list = changes(&two, &session, params).await;
            assert!(list.is_ok(), "{damage}: {list:?}");
        }
        let mut said = Vec::new();
        for what in ["last", "redo", "last", "last", "redo"] {
            said.push(undo(&two, &session, json!(what)).await);
            let now = std::fs::read_to_string(&file).unwrap_or_default();
            assert!(now.ends_with("end\nmine\n"), "{damage}: {said:?}");
            assert_eq!(now.lines().count(), 402, "{damage}: {said:?}");
        }
        let list = changes(&two, &session, json!({ "reject": "all" })).await;
        let now = std::fs::read_to_string(&file).unwrap_or_default();
        assert!(now.ends_with("end\nmine\n"), "{damage}: {list:?}");
        // It goes on.
        std::fs::write(&file, &long).unwrap();
        let prompt = two.prompt(&session, "Shout");
        two.await_response(prompt).await.unwrap();
        let repaired = rusqlite::Connection::open(database(&home)).unwrap();
        let sum = "UPDATE kept SET bytes = (SELECT coalesce(sum(size), 0) FROM file_content)";
        repaired.execute(sum, []).unwrap();
    }
    two.finish().await;
    model.finish();
}
