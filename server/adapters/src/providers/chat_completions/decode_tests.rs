//! Answers as servers in the field send them.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails")]

use serde_json::json;

use super::*;
use crate::providers::answer::Decoder as _;
use crate::providers::failure::ProviderError;

fn run(data: &[&str]) -> Result<Vec<ModelEvent>, DecodeError> {
    let mut decoder = Decoder::default();
    let mut events = Vec::new();
    for data in data {
        events.extend(decoder.data(data)?);
    }
    events.extend(decoder.end()?);
    Ok(events)
}

/// Events in short: texts joined, progress left out.
#[derive(Debug, Default, PartialEq)]
struct Told {
    text: String,
    reasoning: String,
    /// Id, name, arguments.
    calls: Vec<(String, String, String)>,
    usages: Vec<Usage>,
    finish: Option<Finish>,
}

#[track_caller]
fn told(data: &[&str]) -> Told {
    let mut told = Told::default();
    for event in run(data).unwrap() {
        assert_eq!(told.finish, None, "nothing follows the end");
        match event {
            ModelEvent::Text(text) => told.text += &text,
            ModelEvent::Reasoning { text, .. } => told.reasoning += &text,
            ModelEvent::CallProgress { .. } => {}
            ModelEvent::Call { provider_id, name, arguments, .. } => {
                told.calls.push((provider_id.unwrap_or_default(), name, arguments));
            }
            ModelEvent::Usage(usage) => told.usages.push(usage),
            ModelEvent::Finish(finish) => told.finish = Some(finish),
        }
    }
    told
}

fn delta(delta: Value) -> String {
    json!({"id": "x", "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta, "finish_reason": null}]}).to_string()
}

fn fragments(fragments: Value) -> String {
    delta(json!({"tool_calls": fragments}))
}

fn finish_with(reason: &str) -> String {
    json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}).to_string()
}

#[track_caller]
fn check_calls(chunks: &[Value], expected: &[(&str, &str, &str)]) {
    let mut data: Vec<String> = chunks.iter().cloned().map(fragments).collect();
    data.push(finish_with("tool_calls"));
    let told = told(&data.iter().map(String::as_str).collect::<Vec<_>>());
    let calls: Vec<_> =
        told.calls.iter().map(|(id, name, arguments)| (id.as_str(), name.as_str(), arguments.as_str())).collect();
    assert_eq!(calls, expected);
    assert_eq!(told.finish, Some(Finish::ToolCalls));
}

#[test]
fn text_reasoning_and_the_end() {
    let data = [
        delta(json!({"role": "assistant", "content": ""})),
        delta(json!({"reasoning_content": "Think"})),
        delta(json!({"reasoning": "ing", "reasoning_details": [{"text": "ing"}]})),
        delta(json!({"content": "Hel"})),
        delta(json!({"content": "lo", "unknown": {"x": [1]}})),
        finish_with("stop"),
        "[DONE]".to_owned(),
    ];
    let data: Vec<&str> = data.iter().map(String::as_str).collect();
    assert_eq!(
        run(&data).unwrap(),
        [
            ModelEvent::Reasoning { text: "Think".to_owned(), signature: None },
            ModelEvent::Reasoning { text: "ing".to_owned(), signature: None },
            ModelEvent::Text("Hel".to_owned()),
            ModelEvent::Text("lo".to_owned()),
            ModelEvent::Finish(Finish::Stop),
        ]
    );
}

#[test]
fn lists_of_parts_are_texts_and_thoughts() {
    let content =
        json!([{"type": "thinking", "thinking": [{"type": "text", "text": "Hm"}]}, {"type": "text", "text": "Yes"}]);
    let told = told(&[&delta(json!({"content": content})), &finish_with("stop")]);
    assert_eq!((told.reasoning.as_str(), told.text.as_str()), ("Hm", "Yes"));
}

#[test]
fn c77_usage_is_counted_once_wherever_it_stands() {
    let usage = |prompt: u64, completion: u64| {
        json!({"prompt_tokens": prompt, "completion_tokens": completion, "prompt_tokens_details": {"cached_tokens": 3},
               "completion_tokens_details": {"reasoning_tokens": 2}})
    };
    let expected = vec![Usage { input: 10, output: 5, reasoning: 2, cache_read: 3, cache_write: 0 }];
    let text = delta(json!({"content": "a"}));
    let stop = finish_with("stop");
    let chunk = |choices: Value, usage: Value| json!({"choices": choices, "usage": usage}).to_string();
    let last = json!([{"index": 0, "delta": {"content": "b"}, "finish_reason": "stop"}]);
    let cases: [&[&str]; 6] = [
        &[&text, &stop, &chunk(json!([]), usage(10, 5)), "[DONE]"],
        &[&text, &stop, &chunk(Value::Null, usage(10, 5)), "[DONE]"],
        &[&text, &stop, &json!({"usage": usage(10, 5)}).to_string()],
        &[&chunk(json!([]), usage(10, 1)), &text, &chunk(json!([]), usage(10, 5)), &stop],
        &[&text, &chunk(last, usage(10, 5)), "[DONE]"],
        &[
            &chunk(json!([]), Value::Null),
            &text,
            &stop,
            &json!({"choices": [], "x_groq": {"usage": usage(10, 5)}}).to_string(),
        ],
    ];
    for data in cases {
        let told = told(data);
        assert_eq!(told.usages, expected, "{data:?}");
        assert!(told.text.starts_with('a') && told.finish == Some(Finish::Stop), "{told:?}");
    }
}

#[test]
fn c78_a_later_fragments_have_no_id() {
    check_calls(
        &[
            json!([{"index": 0, "id": "a", "type": "function", "function": {"name": "grep", "arguments": ""}}]),
            json!([{"index": 0, "function": {"arguments": "{\"q\""}}]),
            json!([{"index": 0, "function": {"arguments": ":\"x\"}"}}]),
        ],
        &[("a", "grep", r#"{"q":"x"}"#)],
    );
}

#[test]
fn c78_b_parallel_calls_without_any_index() {
    let expected = [("a", "read", r#"{"p":1}"#), ("b", "read", r#"{"p":2}"#)];
    let whole =
        |id: &str, p: u64| json!({"id": id, "function": {"name": "read", "arguments": format!("{{\"p\":{p}}}")}});
    check_calls(&[json!([whole("a", 1), whole("b", 2)])], &expected);
    check_calls(&[json!([whole("a", 1)]), json!([whole("b", 2)])], &expected);
    // One after the other, in fragments that know only their turn.
    check_calls(
        &[
            json!([{"id": "a", "function": {"name": "read", "arguments": "{\"p\""}}]),
            json!([{"function": {"arguments": ":1}"}}]),
            json!([{"id": "b", "function": {"name": "read"}}]),
            json!([{"function": {"arguments": "{\"p\":2}"}}]),
        ],
        &expected,
    );
    // By id, out of turn.
    check_calls(
        &[
            json!([{"id": "a", "function": {"name": "read"}}, {"id": "b", "function": {"name": "read"}}]),
            json!([{"id": "b", "function": {"arguments": "{\"p\":2}"}}]),
            json!([{"id": "a", "function": {"arguments": "{\"p\":1}"}}]),
        ],
        &expected,
    );
    // By place in the list.
    check_calls(
        &[
            json!([{"id": "a", "function": {"name": "read"}}, {"id": "b", "function": {"name": "read"}}]),
            json!([{"function": {"arguments": "{\"p\""}}, {"function": {"arguments": "{\"p\""}}]),
            json!([{"function": {"arguments": ":1}"}}, {"function": {"arguments": ":2}"}}]),
        ],
        &expected,
    );
    // Without ids too.
    check_calls(
        &[
            json!([{"function": {"name": "read", "arguments": "{\"p\":1}"}}]),
            json!([{"function": {"name": "read", "arguments": "{\"p\":2}"}}]),
        ],
        &[("", "read", r#"{"p":1}"#), ("", "read", r#"{"p":2}"#)],
    );
}

#[test]
fn c78_c_the_last_fragment_repeats_the_name() {
    for index in [json!(0), Value::Null] {
        check_calls(
            &[
                json!([{"index": index, "id": "a", "function": {"name": "read", "arguments": "{\"p\":1}"}}]),
                json!([{"index": index, "id": null, "function": {"name": "read", "arguments": ""}}]),
            ],
            &[("a", "read", r#"{"p":1}"#)],
        );
    }
}

#[test]
fn c78_d_counting_from_one() {
    check_calls(
        &[
            json!([{"index": 1, "id": "a", "function": {"name": "read", "arguments": "{"}}]),
            json!([{"index": 2, "id": "b", "function": {"name": "list", "arguments": "{}"}}]),
            json!([{"index": 1, "function": {"arguments": "}"}}]),
        ],
        &[("a", "read", "{}"), ("b", "list", "{}")],
    );
}

#[test]
fn c78_every_call_numbered_zero() {
    check_calls(
        &[
            json!([{"index": 0, "id": "a", "function": {"name": "read", "arguments": "{\"p\":1}"}}]),
            json!([{"index": 0, "id": "b", "function": {"name": "read", "arguments": "{\"p\":2}"}}]),
        ],
        &[("a", "read", r#"{"p":1}"#), ("b", "read", r#"{"p":2}"#)],
    );
}

#[test]
fn c78_an_id_made_up_for_every_fragment() {
    check_calls(
        &[
            json!([{"index": 0, "id": "a", "function": {"name": "read", "arguments": "{\"p\""}}]),
            json!([{"index": 0, "id": "b", "function": {"arguments": ":1}"}}]),
        ],
        &[("a", "read", r#"{"p":1}"#)],
    );
}

#[test]
fn c78_e_split_inside_an_escape() {
    check_calls(
        &[
            json!([{"index": 0, "id": "a", "function": {"name": "write", "arguments": "{\"c\":\"\\u00"}}]),
            json!([{"index": 0, "function": {"arguments": "e9\"}"}}]),
        ],
        &[("a", "write", r#"{"c":"\u00e9"}"#)],
    );
    // The same inside a pair of UTF-16 units, which makes the chunk itself no valid JSON.
    let chunk = |piece: &str| {
        format!(
            r#"{{"choices":[{{"index":0,"delta":{{"tool_calls":[{{"index":0,"function":{{"name":"w","arguments":"{piece}"}}}}],"content":"{piece}"}}}}]}}"#
        )
    };
    let first = chunk(r"\ud83d");
    let last = chunk(r"\ude00 \\ud83d");
    let told = told(&[&first, &last, &finish_with("tool_calls")]);
    assert_eq!(told.text, "😀 \\ud83d");
    assert_eq!(told.calls[0].2, "😀 \\ud83d");
    let lone = format!(r#"{{"choices":[{{"delta":{{"content":"{}"}}}}]}}"#, r"a\ude00b\ud83d");
    assert_eq!(self::told(&[&lone, &finish_with("stop")]).text, "a\u{fffd}b\u{fffd}");
}

#[test]
fn c79_empty_arguments_in_every_form() {
    for arguments in [json!(""), json!("  \n"), Value::Null, json!("null"), json!({}), json!("{}")] {
        check_calls(
            &[json!([{"index": 0, "id": "a", "function": {"name": "list", "arguments": arguments}}])],
            &[("a", "list", "{}")],
        );
    }
    check_calls(&[json!([{"index": 0, "id": "a", "function": {"name": "list"}}])], &[("a", "list", "{}")]);
    check_calls(
        &[json!([{"index": 0, "id": "a", "function": {"name": "read", "arguments": {"path": "a"}}}])],
        &[("a", "read", r#"{"path":"a"}"#)],
    );
}

#[test]
fn r14_2_names_in_pieces_and_repeated() {
    check_calls(
        &[
            json!([{"index": 0, "id": "a", "function": {"name": "re"}}]),
            json!([{"index": 0, "function": {"name": "ad"}}]),
            json!([{"index": 0, "function": {"name": "read", "arguments": "{"}}]),
            json!([{"index": 0, "function": {"name": "read", "arguments": "}"}}]),
        ],
        &[("a", "read", "{}")],
    );
}

#[test]
fn r14_2_progress_shows_all_arguments_so_far() {
    let mut decoder = Decoder::default();
    decoder
        .data(&fragments(json!([{"index": 0, "id": "a", "function": {"name": "read", "arguments": "{\"p"}}])))
        .unwrap();
    let events = decoder.data(&fragments(json!([{"index": 0, "function": {"arguments": "ath"}}]))).unwrap();
    assert_eq!(
        events,
        [ModelEvent::CallProgress { slot: 0, name: "read".to_owned(), arguments: "{\"path".to_owned() }]
    );
}

#[test]
fn a_legacy_function_call() {
    let data = [
        delta(json!({"function_call": {"name": "read", "arguments": "{\"p\""}})),
        delta(json!({"function_call": {"arguments": ":1}"}})),
    ];
    let told = told(&[&data[0], &data[1], &finish_with("function_call")]);
    assert_eq!(told.calls, [(String::new(), "read".to_owned(), r#"{"p":1}"#.to_owned())]);
}

#[test]
fn r14_3_content_decides() {
    let call = fragments(json!([{"index": 0, "id": "a", "function": {"name": "list", "arguments": "{}"}}]));
    let text = delta(json!({"content": "a"}));
    for reason in ["stop", "tool_calls", "function_call", "eos", "end_turn"] {
        assert_eq!(told(&[&call, &finish_with(reason)]).finish, Some(Finish::ToolCalls), "{reason}");
        assert_eq!(told(&[&text, &finish_with(reason)]).finish, Some(Finish::Stop), "{reason}");
    }
    assert_eq!(told(&[&text, "[DONE]"]).finish, Some(Finish::Stop));
    assert_eq!(told(&[&text, &finish_with("content_filter")]).finish, Some(Finish::ContentFilter));
}

#[test]
fn r14_4_a_call_that_the_limit_cut_is_told_with_its_finish() {
    let call = fragments(
        json!([{"index": 0, "id": "a", "function": {"name": "write", "arguments": "{\"path\":\"a.py\",\"content\":\"def"}}]),
    );
    let told = told(&[&call, &finish_with("length")]);
    assert_eq!(told.finish, Some(Finish::Length));
    assert_eq!(told.calls[0].2, "{\"path\":\"a.py\",\"content\":\"def");
}

#[test]
fn r14_4_a_stream_that_ends_early_is_no_answer() {
    let text = delta(json!({"content": "Half a sen"}));
    let cut = fragments(json!([{"index": 0, "id": "a", "function": {"name": "write", "arguments": "{\"path\":"}}]));
    let begun = fragments(json!([{"index": 0, "id": "a", "function": {"name": "list", "arguments": ""}}]));
    let number = fragments(json!([{"index": 0, "id": "a", "function": {"name": "list", "arguments": "1"}}]));
    let cases: [&[&str]; 9] = [
        &[],
        &["[DONE]"],
        &[&text],
        &[&cut],
        &[&cut, "[DONE]"],
        &[&text, &cut],
        &[&delta(json!({"role": "assistant"}))],
        &[&begun],
        &[&number],
    ];
    for data in cases {
        assert_eq!(run(data), Err(DecodeError::EndedEarly), "{data:?}");
    }
    assert_eq!(told(&[&begun, "[DONE]"]).calls[0].2, "{}");
    // Calls show by themselves that they are whole.
    let whole = fragments(json!([{"index": 0, "id": "a", "function": {"name": "list", "arguments": "{}"}}]));
    assert_eq!(told(&[&text, &whole]).finish, Some(Finish::ToolCalls));
}

#[test]
fn c81_an_error_object_in_place_of_an_answer() {
    let error = |codes: &[&str], status: Option<u16>, message: &str| {
        let codes = codes.iter().map(|code| (*code).to_owned()).collect();
        Err(DecodeError::Provider(ProviderError { codes, status, message: message.to_owned() }))
    };
    assert_eq!(
        run(&[r#"{"error":{"message":"Slow down","type":"requests","code":"rate_limit_exceeded"}}"#]),
        error(&["rate_limit_exceeded", "requests"], None, "Slow down")
    );
    assert_eq!(
        run(&[r#"{"error":{"message":"Provider returned error","code":502}}"#]),
        error(&[], Some(502), "Provider returned error")
    );
    assert_eq!(run(&[r#"{"error":"model not loaded"}"#]), error(&[], None, "model not loaded"));
    assert_eq!(
        run(&[r#"{"object":"error","message":"no","type":"BadRequestError","code":400}"#]),
        error(&["badrequesterror"], Some(400), "no")
    );
    let chunk = r#"{"choices":[{"delta":{"content":""},"finish_reason":"error","error":{"code":"server_error","message":"x"}}]}"#;
    assert_eq!(run(&[chunk]), error(&["server_error"], None, "x"));
    assert_eq!(told(&[r#"{"error":null,"choices":[{"delta":{"content":"a"},"finish_reason":"stop"}]}"#]).text, "a");
}

#[test]
fn c81_what_cannot_be_read_is_an_error() {
    for data in ["[1]", "7", "\"text\""] {
        assert_eq!(run(&[&delta(json!({"content": "a"})), data]), Err(DecodeError::Malformed(data.to_owned())));
    }
    for data in ["{malformed json: <<<chaos>>>}", "{\"choices\":[{\"delta\":"] {
        assert_eq!(run(&[&delta(json!({"content": "a"})), data]), Err(DecodeError::Damaged(data.to_owned())));
    }
}

#[test]
fn c81_an_answer_that_is_no_stream() {
    let body = r#"{"id":"x","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"Hi","reasoning_content":"Hm",
        "tool_calls":[{"id":"a","type":"function","function":{"name":"list","arguments":"{}"}}]},"finish_reason":"tool_calls"}],
        "usage":{"prompt_tokens":1,"completion_tokens":2}}"#;
    let told = told(&[body]);
    assert_eq!(
        told,
        Told {
            text: "Hi".to_owned(),
            reasoning: "Hm".to_owned(),
            calls: vec![("a".to_owned(), "list".to_owned(), "{}".to_owned())],
            usages: vec![Usage { input: 1, output: 2, reasoning: 0, cache_read: 0, cache_write: 0 }],
            finish: Some(Finish::ToolCalls),
        }
    );
}

#[test]
fn a_message_after_its_deltas_is_not_told_twice() {
    let last = r#"{"choices":[{"index":0,"message":{"content":"Hello"},"finish_reason":"stop"}]}"#;
    assert_eq!(told(&[&delta(json!({"content": "Hello"})), last]).text, "Hello");
}

#[test]
fn nothing_counts_after_done() {
    let text = delta(json!({"content": "a"}));
    assert_eq!(told(&[&text, &finish_with("stop"), "[DONE]", "rubbish", &text]).text, "a");
}

#[test]
fn c83_empty_pieces_are_nothing_of_an_answer() {
    let call = json!([{"index": 0, "id": "a", "function": {"name": "t", "arguments": "{\"n\""}}]);
    for piece in [
        json!({"content": ""}),
        json!({"content": [{"type": "text", "text": ""}]}),
        json!({"reasoning_content": ""}),
        json!({"refusal": ""}),
        json!({"tool_calls": []}),
        json!({"tool_calls": [{"index": 0, "function": {"arguments": ""}}]}),
        json!({"tool_calls": [{"index": 0, "id": "a", "function": {"name": "t", "arguments": null}}]}),
        json!({"tool_calls": [{"index": 0}]}),
        json!({"tool_calls": [{"function": {"name": "", "arguments": ""}}]}),
        json!({"tool_calls": [{"index": 7}]}),
    ] {
        let mut decoder = Decoder::default();
        decoder.data(&fragments(call.clone())).unwrap();
        assert_eq!(decoder.data(&delta(piece.clone())), Ok(Vec::new()), "{piece}");
    }
}
