use serde_json::json;

use crate::inquiry::InquiryOutcome;
use crate::message::{ToolStatus, TurnEnd};
use crate::workbench::{Bench, path};

#[tokio::test]
async fn a_yes_switches_the_agent_and_names_the_plan() {
    for (agent, tool, next) in [("plan", "plan_exit", "build"), ("build", "plan_enter", "plan")] {
        let bench = Bench::new().agent(agent);
        let (outcome, ()) = tokio::join!(bench.call(tool, json!({})), async {
            let pending = bench.client.next_inquiry().await;
            let [question] = &pending.inquiry.questions[..] else { panic!("one question") };
            assert!(question.text.contains("/w/.opencode/plans/ses_1.md"), "{}", question.text);
            assert!(!question.free && !question.multiple);
            assert_eq!(question.choices.iter().map(|choice| choice.label.as_str()).collect::<Vec<_>>(), ["Yes", "No"]);
            pending.say(&[&["Yes"]]);
        });
        assert_eq!((outcome.result.status, outcome.stop), (ToolStatus::Completed, None));
        assert!(outcome.result.text.contains(&format!("`{next}`")), "{}", outcome.result.text);
        assert_eq!(*bench.agents.0.lock().unwrap(), [next]);
        assert!(bench.client.asks().is_empty(), "it is no permission");
    }
}

#[tokio::test]
async fn anything_else_than_yes_ends_the_turn_and_switches_nothing() {
    let answered =
        |answer: &[&str]| InquiryOutcome::Answered(vec![answer.iter().map(|part| (*part).to_owned()).collect()]);
    for outcome in [answered(&["No"]), answered(&[]), answered(&["Yes", "No"]), InquiryOutcome::Dismissed] {
        let bench = Bench::new().agent("plan");
        let (ended, ()) = tokio::join!(bench.call("plan_exit", json!({})), async {
            bench.client.next_inquiry().await.answer(outcome.clone());
        });
        assert_eq!((ended.result.status, ended.stop), (ToolStatus::Failed, Some(TurnEnd::Rejected)), "{outcome:?}");
        assert!(bench.agents.0.lock().unwrap().is_empty(), "{outcome:?}");
    }
}

#[tokio::test]
async fn each_agent_has_the_way_out_of_its_own_mode() {
    let text = Bench::new().failed("plan_exit", json!({})).await;
    assert!(text.starts_with("plan_exit is not offered now"), "{text}");
    let text = Bench::new().agent("plan").failed("plan_enter", json!({})).await;
    assert!(text.starts_with("plan_enter is not offered now"), "{text}");
}

/// The folder of plans is the repository's: links and roundabout names lead nowhere else.
#[tokio::test]
async fn the_place_of_plans_is_no_way_to_other_files() {
    let bench = Bench::new().agent("plan").rule("edit", "*", crate::permission::Verdict::Allow);
    bench.put("/w/src/a.md", "a\n").put("/w/src/main.rs", "fn main() {}\n").put("/w/.opencode/plans/own.md", "p\n");
    bench.disk.put_link(&path("/w/.opencode/plans/linked"), "/w/src");
    bench.disk.put_link(&path("/w/.opencode/plans/main.md"), "../../src/main.rs");
    bench.disk.put_link(&path("/w/.copydesk/plans"), "../src");
    for file in [
        ".opencode/plans/linked/a.md",
        ".opencode/plans/linked/new.md",
        ".opencode/plans/main.md",
        ".opencode/plans/../../src/a.md",
        ".copydesk/plans/a.md",
        ".copydesk/plans/new.md",
        "src/.opencode/plans/x.md",
        ".opencode/plans/x.rs",
    ] {
        let text = bench.failed("write", json!({"filePath": file, "content": "evil\n"})).await;
        assert!(text.contains("denied by"), "{file}: {text}");
    }
    assert_eq!((bench.text("/w/src/a.md"), bench.text("/w/src/main.rs")), ("a\n".into(), "fn main() {}\n".into()));
}
