//! R14.6: the oddities of provider streams (cases C77 to C83) as one table, replayed by the strict server over both wires to the built daemon. Behind each the
//! session goes on, so that what the oddity left in its history is judged by the strict server too.

#[path = "oddities/replay.rs"]
mod replay;
#[path = "oddities/streams.rs"]
mod streams;

use copydesk_tests::scripted_model::Wire;

use super::*;
use replay::{Oddity, again, begins_again, both, configure, fails, replay, runs, says, told, watch};
use streams::*;

#[tokio::test]
async fn r14_6_c77_usage_alone_in_any_place_is_counted_once() {
    let (a, b) = (delta(json!({ "content": "a" })), delta(json!({ "content": "b" })));
    let stop = chunk(json!([{ "index": 0, "delta": {}, "finish_reason": "stop" }]), Value::Null);
    let usage = |choices: Value| chunk(choices, prompt_usage());
    let text = |text: &str| grow(0, json!({ "type": "text_delta", "text": text }));
    let begun = || message_start() + &block(0, json!({ "type": "text", "text": "" })) + &text("a");
    let ended = || text("b") + &block_stop(0);
    let last = json!([{ "index": 0, "delta": { "content": "b" }, "finish_reason": "stop" }]);
    let few = chunk(json!([]), json!({ "prompt_tokens": 9, "completion_tokens": 1 }));
    let counts = |output: u64| json!({ "output_tokens": output });
    let zeros = json!({ "input_tokens": 0, "output_tokens": 3, "cache_read_input_tokens": null });
    replay(json!({}), || {
        vec![
            says(
                "c77 in the middle and at the end",
                chat(&[a.clone(), usage(json!([])), b.clone(), stop.clone(), usage(json!([])), DONE.to_owned()]),
                messages(&[begun(), message_delta(Value::Null, counts(2)), ended(), messages_end("end_turn")]),
                "ab",
            ),
            says(
                "c77 without a list of choices",
                chat(&[a.clone(), usage(Value::Null), b.clone(), stop.clone(), DONE.to_owned()]),
                messages(&[
                    begun(),
                    ended(),
                    message_delta(Value::Null, counts(3)),
                    message_delta(json!("end_turn"), Value::Null),
                    message_stop(),
                ]),
                "ab",
            ),
            says(
                "c77 on the last piece of content",
                chat(&[a.clone(), usage(last.clone()), DONE.to_owned()]),
                messages(&[begun(), ended(), message_delta(json!("end_turn"), zeros.clone()), message_stop()]),
                "ab",
            ),
            says(
                "c77 cumulated from the first piece on",
                chat(&[few.clone(), a.clone(), b.clone(), stop.clone(), usage(json!([])), DONE.to_owned()]),
                messages(&[
                    start_with_usage(Value::Null),
                    text_block("ab"),
                    message_delta(json!("end_turn"), json!({ "input_tokens": 9, "output_tokens": 3 })),
                    message_stop(),
                ]),
                "ab",
            ),
        ]
    })
    .await;
}

#[tokio::test]
async fn r14_6_c78_fragments_of_calls_become_whole_calls() {
    let call = |index: Value, id: Value, name: Value, arguments: &str| {
        let mut call = json!({ "index": index, "id": id, "function": { "name": name, "arguments": arguments } });
        for key in ["index", "id"] {
            if call[key].is_null() {
                call.as_object_mut().unwrap().shift_remove(key);
            }
        }
        call
    };
    let without_index = |events: &[String]| {
        let mut text = events.concat();
        for index in 0..3 {
            text = text.replace(&format!(r#""index":{index},"#), "");
        }
        Some(Reply::raw(text))
    };
    let (read, one, two) = (json!("read"), r#"{"filePath":"a.txt"}"#, r#"{"filePath":"b.txt"}"#);
    let null = || Value::Null;
    let end = || chat_end("tool_calls");
    let messages_end = || messages_end("tool_use");
    replay(json!({}), || {
        vec![
            runs(
                "c78 a pieces without id",
                chat(&[
                    fragments(json!([call(json!(0), json!("x"), read.clone(), "")])),
                    fragments(json!([{ "index": 0, "function": { "arguments": "{\"filePath\"" } }])),
                    fragments(json!([{ "index": 0, "function": { "arguments": ":\"a.txt\"}" } }])),
                    end(),
                ]),
                messages(&[
                    message_start(),
                    tool_use(0, "x"),
                    arguments(0, ""),
                    arguments(0, "{\"filePath\""),
                    arguments(0, ":\"a.txt\"}"),
                    block_stop(0),
                    messages_end(),
                ]),
                &["1: one"],
            ),
            runs(
                "c78 b two calls without any index",
                chat(&[
                    fragments(json!([call(null(), json!("x"), read.clone(), one)])),
                    fragments(json!([call(null(), json!("y"), read.clone(), two)])),
                    end(),
                ]),
                without_index(&[
                    message_start(),
                    tool_use(0, "x"),
                    arguments(0, one),
                    block_stop(0),
                    tool_use(1, "y"),
                    arguments(1, two),
                    block_stop(1),
                    messages_end(),
                ]),
                &["1: one", "1: two"],
            ),
            runs(
                "c78 b two calls in one list",
                chat(&[
                    fragments(json!([
                        call(null(), json!("x"), read.clone(), one),
                        call(null(), json!("y"), read.clone(), two)
                    ])),
                    end(),
                ]),
                messages(&[
                    message_start(),
                    tool_use(0, "x"),
                    tool_use(1, "y"),
                    arguments(1, "{\"filePath\":"),
                    arguments(0, one),
                    arguments(1, "\"b.txt\"}"),
                    block_stop(0),
                    block_stop(1),
                    messages_end(),
                ]),
                &["1: one", "1: two"],
            ),
            runs(
                "c78 b calls without ids or with one id for both",
                chat(&[
                    fragments(json!([
                        call(json!(0), null(), read.clone(), one),
                        call(json!(1), null(), read.clone(), two)
                    ])),
                    end(),
                ]),
                messages(&[
                    message_start(),
                    tool_use(0, "same"),
                    arguments(0, one),
                    block_stop(0),
                    tool_use(1, "same"),
                    arguments(1, two),
                    block_stop(1),
                    messages_end(),
                ]),
                &["1: one", "1: two"],
            ),
            runs(
                "c78 c the last piece repeats the name",
                chat(&[
                    fragments(json!([call(json!(0), json!("x"), read.clone(), one)])),
                    fragments(json!([{ "index": 0, "id": null, "function": { "name": "read", "arguments": "" } }])),
                    end(),
                ]),
                messages(&[
                    message_start(),
                    tool_use(0, "x"),
                    arguments(0, one),
                    arguments(0, ""),
                    block_stop(0),
                    block_stop(0),
                    messages_end(),
                ]),
                &["1: one"],
            ),
            runs(
                "c78 d counting from one",
                chat(&[
                    fragments(json!([call(json!(1), json!("x"), read.clone(), one)])),
                    fragments(json!([call(json!(2), json!("y"), read.clone(), two)])),
                    end(),
                ]),
                messages(&[
                    message_start(),
                    tool_use(1, "x"),
                    arguments(1, one),
                    block_stop(1),
                    tool_use(2, "y"),
                    arguments(2, two),
                    block_stop(2),
                    messages_end(),
                ]),
                &["1: one", "1: two"],
            ),
            runs(
                "c78 e split inside an escape",
                chat(&[
                    fragments(json!([call(json!(0), json!("x"), read.clone(), "{\"filePath\":\"\\u00")])),
                    fragments(json!([{ "index": 0, "function": { "arguments": "e4.txt\"}" } }])),
                    end(),
                ]),
                messages(&[
                    message_start(),
                    tool_use(0, "x"),
                    arguments(0, "{\"filePath\":\"\\u00"),
                    arguments(0, "e4.txt\"}"),
                    block_stop(0),
                    messages_end(),
                ]),
                &["1: umlaut"],
            ),
            says(
                "c78 e split inside a character",
                chat(&[
                    delta(json!({ "content": "HIGH" })).replace("HIGH", "\\ud83d"),
                    delta(json!({ "content": "LOW" })).replace("LOW", "\\ude00"),
                    chat_end("stop"),
                ]),
                messages(&[
                    message_start(),
                    block(0, json!({ "type": "text", "text": "" })),
                    grow(0, json!({ "type": "text_delta", "text": "HIGH" })).replace("HIGH", "\\ud83d"),
                    grow(0, json!({ "type": "text_delta", "text": "LOW" })).replace("LOW", "\\ude00"),
                    block_stop(0),
                    self::messages_end("end_turn"),
                ]),
                "😀",
            ),
        ]
    })
    .await;
}

#[tokio::test]
async fn r14_6_c79_empty_arguments_are_none_and_the_missing_field_is_named() {
    let chat_call = |arguments: Value| {
        let mut function = json!({ "name": "read", "arguments": arguments });
        if function["arguments"] == "absent" {
            function.as_object_mut().unwrap().shift_remove("arguments");
        }
        chat(&[fragments(json!([{ "index": 0, "id": "x", "function": function }])), chat_end("tool_calls")])
    };
    let messages_call = |input: Value, pieces: &[&str]| {
        let mut call = json!({ "type": "tool_use", "id": "x", "name": "read", "input": input });
        if call["input"] == "absent" {
            call.as_object_mut().unwrap().shift_remove("input");
        }
        let pieces: String = pieces.iter().map(|piece| arguments(0, piece)).collect();
        messages(&[message_start(), block(0, call), pieces, block_stop(0), messages_end("tool_use")])
    };
    let path = json!({ "filePath": "a.txt" });
    const MISSING: &[&str] = &["filePath"];
    replay(json!({}), || {
        vec![
            runs("c79 an empty text", chat_call(json!("")), messages_call(json!({}), &[""]), MISSING),
            runs("c79 blanks", chat_call(json!("  \n")), messages_call(json!(" "), &["  ", "\n"]), MISSING),
            runs("c79 null", chat_call(Value::Null), messages_call(Value::Null, &[]), MISSING),
            runs("c79 null as a text", chat_call(json!("null")), messages_call(json!({}), &["null"]), MISSING),
            runs("c79 absent", chat_call(json!("absent")), messages_call(json!("absent"), &[]), MISSING),
            runs("c79 an object at once", chat_call(path.clone()), messages_call(path.clone(), &[]), &["1: one"]),
        ]
    })
    .await;
}

#[tokio::test]
async fn r14_6_c81_the_same_text_in_every_shape_of_a_stream() {
    replay(json!({}), || {
        vec![
            shaped("c81 pings before and between", |text| {
                Reply::raw(format!(": ping\n\n{}", text.replace("\n\n", "\n\n: ping\n\n:\n\n")))
            }),
            shaped("c81 carriage returns", |text| Reply::raw(text.replace('\n', "\r\n"))),
            shaped("c81 no blank behind the colon", |text| Reply::raw(text.replace("data: ", "data:"))),
            shaped("c81 two lines of data an event", |text| Reply::raw(text.replace("data: {", "data: {\ndata: "))),
            shaped("c81 other fields", |text| Reply::raw(text.replace("data: ", "id: 7\nretry: 3\nevent: news\ndata: "))),
            shaped("c81 a byte a packet", |text| Reply::raw(text).bytewise()),
            shaped("c81 no mark of the end", |text| {
                Reply::raw(text.replace(DONE, "").replace(&message_stop(), "").trim_end())
            }),
            shaped("c81 a byte order mark and another type", |text| {
                Reply::raw(format!("\u{feff}{text}")).header("content-type", "text/plain")
            }),
            says(
                "c81 an answer that is no stream",
                chat(&[json!({
                    "choices": [{ "index": 0, "message": { "role": "assistant", "content": "Grüß Gott" }, "finish_reason": "stop" }],
                    "usage": prompt_usage(),
                })
                .to_string()]),
                messages(&[json!({
                    "type": "message", "role": "assistant", "content": [{ "type": "text", "text": "Grüß Gott" }],
                    "stop_reason": "end_turn", "usage": { "input_tokens": 9, "output_tokens": 3 },
                })
                .to_string()]),
                "Grüß Gott",
            ),
        ]
    })
    .await;
}

#[tokio::test]
async fn r14_6_c81_errors_with_status_200_and_what_is_no_answer_are_told() {
    let chat_error = || json!({ "error": { "message": "out of luck", "code": 400 } });
    let messages_error =
        || json!({ "type": "error", "error": { "type": "invalid_request_error", "message": "out of luck" } });
    let page = || both(Reply::raw("<html><title>Login</title></html>").header("content-type", "text/html"));
    replay(json!({ "maxRetries": 0 }), || {
        let begun = message_start() + &block(0, json!({ "type": "text", "text": "a" }));
        let (page_chat, page_messages) = page();
        let (rubbish_chat, rubbish_messages) = both(Reply::raw("data: 17\n\n"));
        let (nothing_chat, nothing_messages) = both(Reply::raw(""));
        vec![
            fails(
                "c81 an error object in place of a stream",
                chat(&[chat_error().to_string()]),
                messages(&[messages_error().to_string()]),
                "out of luck",
            ),
            fails(
                "c81 an error in the middle of a stream",
                chat(&[delta(json!({ "content": "a" })), format!("data: {}\n\n", chat_error())]),
                messages(&[begun, event(messages_error())]),
                "out of luck",
            ),
            fails("c81 a page", page_chat, page_messages, "baseURL"),
            fails("c81 no object", rubbish_chat, rubbish_messages, "is the right address"),
            fails("c81 nothing at all", nothing_chat, nothing_messages, "broke off"),
            fails(
                "c81 a damaged piece",
                chat(&[delta(json!({ "content": "a" })), "data: {\"choices\": [{\"del\n\n".to_owned()]),
                messages(&[message_start(), "data: {\"type\": \"content_blo\n\n".to_owned()]),
                "damaged",
            ),
        ]
    })
    .await;
}

#[tokio::test]
async fn r14_6_c82_a_call_that_the_limit_cut_is_not_run_and_the_model_told_to_write_in_parts() {
    let cut = |arguments: &str| both(Reply::empty().then_call("write", json!(arguments)).usage(9, 3).finish("length"));
    replay(json!({}), || {
        let (content_chat, content_messages) = cut("{\"filePath\":\"a.py\",\"content\":\"def");
        let (key_chat, key_messages) = cut("{\"filePath\":\"a.py\"");
        vec![
            runs("c82 in the middle of the content", content_chat, content_messages, &["in parts"]),
            runs("c82 before the content", key_chat, key_messages, &["in parts"]),
            runs(
                "c82 in a block that was not stopped",
                None,
                messages(&[
                    message_start(),
                    block(0, json!({ "type": "tool_use", "id": "x", "name": "write", "input": {} })),
                    arguments(0, "{\"filePath\":\"a.py\",\"content\":\"def"),
                    messages_end("max_tokens"),
                ]),
                &["in parts"],
            ),
        ]
    })
    .await;
}

#[tokio::test]
async fn r14_6_c83_silence_and_passing_faults_are_waited_out_without_a_word_twice() {
    // Never opened: what stands behind it never comes.
    let shut = Gate::new();
    let said = || Reply::text("an ans");
    let ten = || "an answer".chars().fold(Reply::empty(), |reply, letter| reply.then_text(&letter.to_string()));
    let ping = event(json!({ "type": "ping" }));
    replay(json!({ "chunkTimeout": 900 }), || {
        let (headers_chat, headers_messages) = both(Reply::raw("").then_wait(&shut));
        let (ten_chat, ten_messages) = both(ten().then_wait(&shut));
        let (reset_chat, reset_messages) = both(said().then_call("write", json!("{\"filePath\":\"a.py\",\"con")).cut());
        let (limited_chat, limited_messages) = both(Reply::refuse(429, "slow down").header("retry-after", "1"));
        let (overloaded_chat, overloaded_messages) = both(Reply::refuse(529, "overloaded"));
        let page = Reply::raw("<html>").header("content-type", "text/html").status(500);
        let (page_chat, page_messages) = both(page);
        vec![
            again("c83 headers and then nothing", headers_chat, headers_messages),
            begins_again("c83 ten pieces and then nothing", ten_chat, ten_messages),
            begins_again(
                "c83 comments for ever",
                Some(said().then_forever(": ping\n\ndata: {\"choices\":[]}\n\n")),
                Some(said().then_forever(format!(": comment\n\n{ping}"))),
            ),
            begins_again("c83 reset in a call", reset_chat, reset_messages),
            again("c83 too many requests", limited_chat, limited_messages),
            again("c83 overloaded", overloaded_chat, overloaded_messages),
            again("c83 a page with status 500", page_chat, page_messages),
        ]
    })
    .await;
}

/// The honest stream of each wire, changed in the same way.
fn shaped(name: &'static str, change: impl Fn(String) -> Reply) -> Oddity {
    let [chat, messages] = Wire::ALL.map(|wire| Some(change(plain(wire))));
    says(name, chat, messages, "Grüß Gott")
}

/// What stands before the first word of an answer, a thought with its calls, and results that are refused: all of it keeps the rules of both wires, thoughts
/// where they were said and signed.
#[tokio::test]
async fn r14_6_whole_turns_keep_the_rules_of_both_wires() {
    for wire in Wire::ALL {
        let gate = Gate::new();
        let held = gate.clone();
        let model = ScriptedModel::start(Script::function(move |request| match request.last_text() {
            text if text.contains("<think>") => Reply::empty()
                .then_reasoning("I have to look at both files.")
                .then_text("I look.")
                .then_call("read", json!({ "filePath": "a.txt" }))
                .then_reasoning("And at the other.")
                .then_call("read", json!({ "filePath": "none.txt" })),
            text if text.contains("none.txt") => Reply::empty().then_reasoning("So.").then_call("nothing", json!({})),
            text if text.contains("<hold>") => {
                Reply::empty().then_reasoning("Hm.").then_text("half a th").then_wait(&held)
            }
            _ => Reply::text("fine"),
        }))
        .await;
        let home = Home::new();
        // Thoughts are asked for where the wire has a word for it.
        let thinking = match wire {
            Wire::ChatCompletions => json!({}),
            Wire::Messages => json!({ "thinking": { "type": "enabled", "budgetTokens": 2000 } }),
        };
        configure(&home, wire, &model.base_url(), &json!({}), &thinking);
        home.write("a.txt", "one\n");
        let editor = watch(home).await;
        let session = editor.new_session().await;
        assert_eq!(say(&editor, &session, "<think>").await, "end_turn");
        let prompt = editor.prompt(&session, "<hold>");
        let half = |params: &Value| params["update"]["content"]["text"] == "half a th";
        editor.await_notification_that("session/update", half).await;
        editor.notify("session/cancel", json!({ "sessionId": session }));
        assert_eq!(stop_reason(&editor, prompt).await, "cancelled");
        assert_eq!(say(&editor, &session, "go on").await, "end_turn");
        let requests = model.requests();
        let last = requests.last().unwrap();
        assert_eq!(last.results().len(), 3);
        assert_eq!(last.said(), ["I look.", "fine", "half a th"]);
        if wire == Wire::Messages {
            assert_eq!(requests[1].body["thinking"], json!({ "type": "enabled", "budget_tokens": 2000 }));
            let kinds: Vec<&str> = blocks(&last.messages()[1]).collect();
            assert_eq!(kinds, ["thinking", "text", "tool_use", "thinking", "tool_use"]);
        }
        let shown = told(&editor.take_notifications("session/update"), &session).0;
        assert_eq!(shown, "I look.finefine");
        gate.open();
        editor.finish().await;
        model.finish();
    }
}

fn blocks(message: &Value) -> impl Iterator<Item = &str> {
    message["content"].as_array().unwrap().iter().map(|block| block["type"].as_str().unwrap())
}
