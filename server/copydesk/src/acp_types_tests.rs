#![expect(clippy::unwrap_used, reason = "a test may panic")]

use base64::prelude::BASE64_STANDARD;
use copydesk_engine::ids::{AskId, CallId};
use copydesk_engine::message::Usage;
use copydesk_engine::permission::Mode;
use copydesk_engine::ports::AskOption;
use copydesk_engine::testing::png;
use copydesk_workspace::path::AbsPath;
use ropey::Rope;

use super::*;

fn ask(preview: Preview) -> Value {
    let option = |id: &str, kind| AskOption { id: id.to_owned(), label: id.to_uppercase(), kind };
    let ask = Ask {
        id: AskId::new("per_1"),
        call: CallId::new("call_1"),
        title: "Edit a.rs".to_owned(),
        reason: "edit asks".to_owned(),
        input: json!({ "filePath": "a.rs" }),
        preview,
        options: vec![
            option("yes", OptionKind::AllowOnce),
            option("always", OptionKind::AllowAlways),
            option("no", OptionKind::RejectOnce),
        ],
    };
    serde_json::to_value(permission_request("ses_1", &ask)).unwrap()
}

fn diff_of(path: &str, before: Option<&str>, after: Option<&str>) -> FileDiff {
    FileDiff { path: AbsPath::new(path).unwrap(), before: before.map(Rope::from), after: after.map(Rope::from) }
}

#[test]
fn r4_1_an_ask_carries_one_diff_a_file_with_the_whole_texts() {
    let request = ask(Preview::Edit(vec![
        diff_of("/w/a.rs", Some("old\n"), Some("new\n")),
        diff_of("/w/made.rs", None, Some("made\n")),
        diff_of("/w/gone.rs", Some("gone\n"), None),
    ]));
    assert_eq!(
        request["toolCall"]["content"],
        json!([
            { "type": "content", "content": { "type": "text", "text": "edit asks" } },
            { "type": "diff", "path": "/w/a.rs", "oldText": "old\n", "newText": "new\n" },
            { "type": "diff", "path": "/w/made.rs", "newText": "made\n" },
            { "type": "diff", "path": "/w/gone.rs", "oldText": "gone\n", "newText": "" },
        ])
    );
    assert_eq!(request["sessionId"], "ses_1");
    assert_eq!(request["toolCall"]["toolCallId"], "call_1");
    assert_eq!(
        request["options"],
        json!([
            { "optionId": "yes", "name": "YES", "kind": "allow_once" },
            { "optionId": "always", "name": "ALWAYS", "kind": "allow_always" },
            { "optionId": "no", "name": "NO", "kind": "reject_once" },
        ])
    );
}

#[test]
fn r8_4_a_command_cannot_end_the_fence_that_shows_it() {
    let request = ask(Preview::Command {
        shown: "echo '```'\nrm x".to_owned(),
        lines: 2,
        folder: "/w".to_owned(),
        notes: vec!["a.rs is not saved".to_owned()],
        asked: Vec::new(),
    });
    let content = &request["toolCall"]["content"];
    assert_eq!(content[1]["content"]["text"], "2 lines, in /w:\n\n````sh\necho '```'\nrm x\n````");
    assert_eq!(content[2]["content"]["text"], "a.rs is not saved");
    assert_eq!(request["_meta"]["copydesk"]["command"]["lines"], 2);
}

#[test]
fn c59_the_parts_that_are_asked_are_marked() {
    let part = |span, line, text: &str| AskedPart { span, line, text: text.to_owned(), reason: "rule x".to_owned() };
    let command = |shown: &str, asked| {
        ask(Preview::Command { shown: shown.to_owned(), lines: 2, folder: "/w".to_owned(), notes: Vec::new(), asked })
    };
    let request = command("ls\nrm \\u{202e}x; ls", vec![part(3..15, 2, "rm \\u{202e}x")]);
    assert_eq!(request["toolCall"]["content"][2]["content"]["text"], "Asked because of:\n- line 2: rm \\u{202e}x");
    assert_eq!(
        request["_meta"]["copydesk"]["command"]["asked"],
        json!([{ "start": 3, "end": 15, "line": 2, "text": "rm \\u{202e}x", "reason": "rule x" }])
    );
    // Nothing to tell apart.
    let whole = command("rm x", vec![part(0..4, 1, "rm x")]);
    assert_eq!(whole["toolCall"]["content"][2], Value::Null);
}

#[test]
fn every_end_of_a_turn_has_its_stop_reason() {
    let reasons = [
        (TurnEnd::Done, Ok("end_turn")),
        (TurnEnd::Rejected, Ok("end_turn")),
        (TurnEnd::MaxTokens, Ok("max_tokens")),
        (TurnEnd::MaxSteps, Ok("max_turn_requests")),
        (TurnEnd::Limit { message: "enough".to_owned() }, Ok("max_turn_requests")),
        (TurnEnd::Refused, Ok("refusal")),
        (TurnEnd::Cancelled, Ok("cancelled")),
        (TurnEnd::Failed { message: "no model".to_owned() }, Err("no model")),
    ];
    for (end, expected) in reasons {
        let reason = stop_reason(end).map(|reason| serde_json::to_value(reason).unwrap());
        assert_eq!(reason, expected.map(Value::from).map_err(str::to_owned));
    }
}

#[test]
fn a_prompt_with_what_was_not_offered_is_refused_by_name() {
    let blocks = |value: Value| prompt(serde_json::from_value::<Vec<acp::ContentBlock>>(value).unwrap());
    let parts = blocks(json!([
        { "type": "text", "text": "look" },
        { "type": "resource_link", "uri": "file:///w/a.rs", "name": "a.rs" },
        { "type": "resource", "resource": { "uri": "file:///w/a.rs", "text": "fn a() {}" } },
    ]));
    assert_eq!(
        parts.unwrap().parts(),
        [
            PromptPart::Text { text: "look".to_owned() },
            PromptPart::Link { uri: "file:///w/a.rs".to_owned(), name: "a.rs".to_owned() },
            PromptPart::Resource { uri: "file:///w/a.rs".to_owned(), text: "fn a() {}".to_owned() },
        ]
    );
    for (block, reason) in [
        (json!({ "type": "audio", "data": "AA==", "mimeType": "audio/wav" }), "audio is not supported in prompts"),
        (json!({ "type": "image", "data": "AA==", "mimeType": "image/png" }), "no PNG, JPEG, GIF or WebP"),
        (json!({ "type": "image", "data": "A!==", "mimeType": "image/png" }), "no base64"),
        (json!({ "type": "image", "data": "", "mimeType": "image/png", "uri": "file:///w/a.png" }), "file:///w/a.png"),
        (
            json!({ "type": "resource", "resource": { "uri": "file:///w/a.zip", "blob": "UEsDBA==" } }),
            "file:///w/a.zip",
        ),
        (json!({ "type": "text", "text": " " }), "the prompt is empty"),
    ] {
        let refused = blocks(json!([block])).unwrap_err();
        assert!(refused.contains(reason), "{refused}");
    }
}

#[test]
fn images_come_in_by_their_bytes_and_are_shown_again_between_the_texts() {
    let data = BASE64_STANDARD.encode(png(2, 3).bytes());
    let broken = format!("{}\r\n{}", &data[..7], &data[7..]).trim_end_matches('=').to_owned();
    let blocks: Vec<acp::ContentBlock> = serde_json::from_value(json!([
        { "type": "text", "text": "These" },
        { "type": "text", "text": "two:" },
        // What it is said to be is not what it is.
        { "type": "image", "data": broken, "mimeType": "image/jpeg" },
        { "type": "resource", "resource": { "uri": "file:///w/a.png", "blob": data, "mimeType": "image/png" } },
        { "type": "text", "text": "What are they?" },
    ]))
    .unwrap();
    let prompt = prompt(blocks).unwrap();
    assert_eq!(prompt.images(), [png(2, 3)]);
    let event = |prompt| SessionEvent::User { message: copydesk_engine::ids::MessageId::new("msg_1"), prompt };
    let told = |updates: Vec<acp::SessionUpdate>| -> Vec<Value> {
        let content = |update: &acp::SessionUpdate| serde_json::to_value(update).unwrap()["content"].take();
        updates.iter().map(content).collect()
    };
    let parts = prompt.parts().to_vec();
    assert_eq!(
        told(updates(event(prompt))),
        [
            json!({ "type": "text", "text": "These\n\ntwo:" }),
            json!({ "type": "image", "data": data, "mimeType": "image/png" }),
            json!({ "type": "image", "data": data, "mimeType": "image/png", "uri": "file:///w/a.png" }),
            json!({ "type": "text", "text": "What are they?" }),
        ]
    );
    let lost = told(updates(event(Prompt::from(parts))));
    assert!(lost.len() == 1 && lost[0]["text"].as_str().unwrap().contains("lost: file:///w/a.png"), "{lost:?}");
}

#[test]
fn the_model_in_force_is_among_its_option_whatever_is_configured() {
    let choices = Choices {
        agent: "build".to_owned(),
        agents: vec![("build".to_owned(), "Does the work".to_owned())],
        model: "openai/unlisted".parse().ok(),
        models: vec![("openai/listed".parse().unwrap(), "Listed".to_owned())],
        mode: Mode::Workspace,
        grants: Vec::new(),
    };
    let options = serde_json::to_value(options(&choices)).unwrap();
    assert_eq!(options[1]["currentValue"], "openai/unlisted");
    let values: Vec<_> =
        options[1]["options"].as_array().unwrap().iter().map(|option| option["value"].clone()).collect();
    assert_eq!(values, ["openai/unlisted", "openai/listed"]);
    assert_eq!(
        (&options[2]["id"], &options[2]["category"], &options[2]["currentValue"]),
        (&json!("permission"), &json!("_permission"), &json!("workspace"))
    );
    let none_chosen = Choices { model: None, ..choices };
    let options = serde_json::to_value(super::options(&none_chosen)).unwrap();
    assert_eq!(
        options[1]["currentValue"], options[1]["options"][0]["value"],
        "the value in force is among those offered"
    );
    let without = Choices { models: Vec::new(), ..none_chosen };
    let ids: Vec<String> = super::options(&without).iter().map(|option| option.id.to_string()).collect();
    assert_eq!(ids, ["mode", "permission"], "nothing to choose from is not shown");
}

#[test]
fn r22_7_counts_of_tokens_do_not_overflow() {
    let usage = Usage { input: u64::MAX, output: u64::MAX, ..Usage::default() };
    let told = updates(SessionEvent::Usage { usage, context: Some(1000), cost: None, turn: None });
    assert_eq!(serde_json::to_value(&told).unwrap()[0]["used"], u64::MAX);
}

#[test]
fn r9_4_what_allowed_a_call_is_told_beside_its_end() {
    let view = |allowed_by: &[&str]| ToolCallView {
        call: CallId::new("call_1"),
        name: "bash".to_owned(),
        kind: ToolKind::Execute,
        title: "ls".to_owned(),
        state: ToolCallState::Ended(ToolStatus::Completed),
        input: json!({}),
        text: String::new(),
        diffs: Vec::new(),
        media: Vec::new(),
        locations: Vec::new(),
        allowed_by: allowed_by.iter().map(|&ground| ground.to_owned()).collect(),
    };
    let meta = |view| {
        let update = updates(SessionEvent::ToolCallUpdate(view)).pop().unwrap();
        serde_json::to_value(update).unwrap()["_meta"].clone()
    };
    assert_eq!(meta(view(&["`ls`: mode auto"])), json!({ "copydesk": { "allowedBy": ["`ls`: mode auto"] } }));
    assert_eq!(meta(view(&[])), Value::Null);
}
