//! Answers as servers in the field send them.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails")]

use serde_json::json;

use super::*;
use crate::providers::answer::Decoder as _;

fn run(events: &[Value]) -> Result<Vec<ModelEvent>, DecodeError> {
    let mut decoder = Decoder::default();
    let mut told = Vec::new();
    for event in events {
        told.extend(decoder.data(&event.to_string())?);
    }
    told.extend(decoder.end()?);
    told.retain(|event| !matches!(event, ModelEvent::CallProgress { .. }));
    Ok(told)
}

fn start(index: usize, block: Value) -> Value {
    json!({"type": "content_block_start", "index": index, "content_block": block})
}

fn delta(index: usize, delta: Value) -> Value {
    json!({"type": "content_block_delta", "index": index, "delta": delta})
}

fn json_piece(index: usize, piece: &str) -> Value {
    delta(index, json!({"type": "input_json_delta", "partial_json": piece}))
}

fn stop(index: usize) -> Value {
    json!({"type": "content_block_stop", "index": index})
}

fn reason(reason: &str) -> Value {
    json!({"type": "message_delta", "delta": {"stop_reason": reason}})
}

fn call(slot: usize, id: &str, name: &str, arguments: &str) -> ModelEvent {
    let (name, arguments) = (name.to_owned(), arguments.to_owned());
    ModelEvent::Call { slot, provider_id: Some(id.to_owned()), name, arguments }
}

fn tool_use(index: usize, id: &str, name: &str) -> Value {
    start(index, json!({"type": "tool_use", "id": id, "name": name, "input": {}}))
}

fn thought(text: &str, signature: Option<&str>) -> ModelEvent {
    ModelEvent::Reasoning { text: text.to_owned(), signature: signature.map(str::to_owned) }
}

#[test]
fn thoughts_texts_and_parallel_calls_in_their_order() {
    let events = run(&[
        json!({"type": "message_start", "message": {"usage": {"input_tokens": 5, "cache_read_input_tokens": 100, "cache_creation_input_tokens": 20, "output_tokens": 1}}}),
        start(0, json!({"type": "thinking", "thinking": "", "signature": ""})),
        delta(0, json!({"type": "thinking_delta", "thinking": "Hm"})),
        delta(0, json!({"type": "signature_delta", "signature": "c2ln"})),
        stop(0),
        start(1, json!({"type": "redacted_thinking", "data": "ZGF0YQ=="})),
        stop(1),
        start(2, json!({"type": "text", "text": ""})),
        delta(2, json!({"type": "text_delta", "text": "I look."})),
        stop(2),
        tool_use(3, "toolu_1", "read"),
        json_piece(3, ""),
        json_piece(3, "{\"filePath\":"),
        json_piece(3, " \"a.rs\"}"),
        stop(3),
        tool_use(4, "toolu_2", "list"),
        stop(4),
        json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 50}}),
        json!({"type": "message_stop"}),
    ]);
    assert_eq!(
        events.unwrap(),
        [
            thought("Hm", None),
            thought("", Some("c2ln")),
            thought("", Some("redacted:ZGF0YQ==")),
            ModelEvent::Text("I look.".to_owned()),
            call(0, "toolu_1", "read", "{\"filePath\": \"a.rs\"}"),
            call(1, "toolu_2", "list", "{}"),
            ModelEvent::Usage(Usage { input: 125, output: 50, reasoning: 0, cache_read: 100, cache_write: 20 }),
            ModelEvent::Finish(Finish::ToolCalls),
        ]
    );
}

#[test]
fn calls_show_their_progress_each_in_its_slot() {
    let mut decoder = Decoder::default();
    let mut told = Vec::new();
    for event in [
        tool_use(1, "a", "read"),
        tool_use(2, "b", "read"),
        json_piece(2, "{\"x"),
        json_piece(1, "{"),
        json_piece(2, "\":1}"),
    ] {
        told.extend(decoder.data(&event.to_string()).unwrap());
    }
    let progress: Vec<_> = told
        .iter()
        .map(|event| match event {
            ModelEvent::CallProgress { slot, name, arguments } => (*slot, name.as_str(), arguments.as_str()),
            other => panic!("{other:?}"),
        })
        .collect();
    let expected = [(0, "read", ""), (1, "read", ""), (1, "read", "{\"x"), (0, "read", "{"), (1, "read", "{\"x\":1}")];
    assert_eq!(progress, expected);
}

#[test]
fn c78_calls_without_index_mixed_pieces_and_a_split_escape() {
    let mut without_index = vec![
        tool_use(0, "a", "write"),
        json_piece(0, "{\"t\":\"\\u00"),
        json_piece(0, "e4\"}"),
        stop(0),
        tool_use(0, "b", "list"),
        stop(0),
        reason("tool_use"),
    ];
    for event in &mut without_index {
        event.as_object_mut().unwrap().shift_remove("index");
    }
    let finish = ModelEvent::Finish(Finish::ToolCalls);
    let expected = [call(0, "a", "write", "{\"t\":\"\\u00e4\"}"), call(1, "b", "list", "{}"), finish.clone()];
    assert_eq!(run(&without_index).unwrap(), expected);
    let mixed = [
        tool_use(1, "a", "x"),
        tool_use(2, "b", "y"),
        json_piece(2, "{\"n\":"),
        json_piece(1, "{\"m\":1}"),
        json_piece(2, "2}"),
        stop(1),
        stop(2),
        reason("tool_use"),
    ];
    assert_eq!(run(&mixed).unwrap(), [call(0, "a", "x", "{\"m\":1}"), call(1, "b", "y", "{\"n\":2}"), finish]);
}

#[test]
fn c78_halves_of_a_character_in_two_pieces() {
    let mut decoder = Decoder::default();
    let mut told = String::new();
    for data in [
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a\ud83d"}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"\ude00b"}}"#,
    ] {
        for event in decoder.data(data).unwrap() {
            let ModelEvent::Text(text) = event else { panic!("{event:?}") };
            told += &text;
        }
    }
    assert_eq!(told, "a😀b");
}

#[test]
fn c79_empty_arguments() {
    for (input, pieces, expected) in [
        (json!({}), &[""][..], "{}"),
        (Value::Null, &[], "{}"),
        (json!(" "), &["  "], "{}"),
        (json!({"a": 1}), &[], "{\"a\":1}"),
        (json!({}), &["{\"b\":", "2}"], "{\"b\":2}"),
    ] {
        let block = json!({"type": "tool_use", "id": "a", "name": "t", "input": input});
        let mut events = vec![start(0, block)];
        events.extend(pieces.iter().map(|piece| json_piece(0, piece)));
        events.extend([stop(0), reason("tool_use")]);
        assert_eq!(run(&events).unwrap()[0], call(0, "a", "t", expected));
    }
}

#[test]
fn r14_3_reasons() {
    let finish = |why: &str, with_call: bool| {
        let mut events = if with_call { vec![tool_use(0, "a", "t"), stop(0)] } else { Vec::new() };
        events.push(reason(why));
        match run(&events).unwrap().pop() {
            Some(ModelEvent::Finish(finish)) => finish,
            other => panic!("{other:?}"),
        }
    };
    for why in ["end_turn", "stop_sequence", "tool_use", "pause_turn", "news"] {
        assert_eq!((finish(why, false), finish(why, true)), (Finish::Stop, Finish::ToolCalls), "{why}");
    }
    for with_call in [false, true] {
        assert_eq!(finish("max_tokens", with_call), Finish::Length);
        assert_eq!(finish("model_context_window_exceeded", with_call), Finish::Length);
        assert_eq!(finish("refusal", with_call), Finish::ContentFilter);
    }
}

#[test]
fn c82_a_call_that_the_limit_cut_is_told_as_it_is() {
    let cut = [tool_use(0, "a", "write"), json_piece(0, "{\"content\":\"def"), reason("max_tokens")];
    assert_eq!(run(&cut).unwrap(), [call(0, "a", "write", "{\"content\":\"def"), ModelEvent::Finish(Finish::Length)]);
}

#[test]
fn c77_usage_is_counted_once_wherever_it_stands() {
    let usage = |usage: Value| json!({"type": "message_delta", "delta": {}, "usage": usage});
    let told = run(&[
        json!({"type": "message_start", "message": {"usage": {"input_tokens": 3, "output_tokens": 1}}}),
        usage(json!({"output_tokens": 4})),
        usage(json!({"input_tokens": 0, "output_tokens": 9, "cache_read_input_tokens": null})),
        json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": null}),
    ])
    .unwrap();
    assert_eq!(told[0], ModelEvent::Usage(Usage { input: 3, output: 9, ..Usage::default() }));
    assert_eq!(told.len(), 2);
}

#[test]
fn what_is_not_known_is_passed_over() {
    let told = run(&[
        json!({"type": "news", "x": 1}),
        start(0, json!({"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}})),
        json_piece(0, "{\"query\":1}"),
        stop(0),
        start(1, json!({"type": "web_search_tool_result", "content": []})),
        stop(1),
        stop(9),
        start(2, json!({"type": "text", "text": "a"})),
        delta(2, json!({"type": "citations_delta", "citation": {}})),
        delta(7, json!({"type": "news_delta"})),
        reason("end_turn"),
    ]);
    assert_eq!(told.unwrap(), [ModelEvent::Text("a".to_owned()), ModelEvent::Finish(Finish::Stop)]);
}

#[test]
fn a_block_without_its_beginning() {
    let text = |text: &str| delta(0, json!({"type": "text_delta", "text": text}));
    let told = run(&[text("a"), text("b"), stop(0), reason("end_turn")]).unwrap();
    assert_eq!(told[..2], [ModelEvent::Text("a".to_owned()), ModelEvent::Text("b".to_owned())]);
    assert!(matches!(run(&[json_piece(0, "{}")]), Err(DecodeError::Malformed(_))));
}

#[test]
fn c81_no_json_and_errors_are_errors() {
    let data = |data: &str| Decoder::default().data(data);
    assert_eq!(data("{"), Err(DecodeError::Damaged("{".to_owned())));
    for bad in ["[]", "5", "{}", "{\"choices\":[]}", "hello"] {
        assert!(matches!(data(bad), Err(DecodeError::Malformed(_))), "{bad}");
    }
    let error = data(r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#).unwrap_err();
    let DecodeError::Provider(error) = error else { panic!("{error:?}") };
    assert_eq!((error.codes, error.message.as_str()), (vec!["overloaded_error".to_owned()], "Overloaded"));
    assert_eq!(run(&[start(0, json!({"type": "text", "text": "a"}))]), Err(DecodeError::EndedEarly));
    assert_eq!(run(&[json!({"type": "message_stop"})]), Err(DecodeError::EndedEarly));
}

#[test]
fn r2_1_redacted_thoughts_of_nothing_are_nothing() {
    for block in [json!({"type": "redacted_thinking", "data": ""}), json!({"type": "redacted_thinking"})] {
        let whole = json!({"type": "message", "content": [block], "stop_reason": "end_turn"});
        for events in [vec![start(0, block), stop(0), reason("end_turn")], vec![whole]] {
            assert_eq!(run(&events).unwrap(), [ModelEvent::Finish(Finish::Stop)], "{events:?}");
        }
    }
}

#[test]
fn r14_3_an_answer_that_is_done_is_whole_without_a_reason() {
    let done = json!({"type": "message_stop"});
    let text = |text: &str| start(0, json!({"type": "text", "text": text}));
    let hello = ModelEvent::Text("Hello".to_owned());
    let called = call(0, "a", "t", "{\"n\":1}");
    let [stopped, calls] = [Finish::Stop, Finish::ToolCalls].map(ModelEvent::Finish);
    for (events, expected) in [
        (vec![text("Hello"), stop(0), done.clone()], vec![hello.clone(), stopped.clone()]),
        (vec![text("Hello"), done.clone()], vec![hello.clone(), stopped.clone()]),
        (
            vec![tool_use(0, "a", "t"), json_piece(0, "{\"n\":1}"), stop(0), done.clone()],
            vec![called.clone(), calls.clone()],
        ),
        (
            vec![json!({"type": "message", "content": [{"type": "text", "text": "Hello"}], "stop_reason": null})],
            vec![hello, stopped],
        ),
        (
            vec![
                json!({"type": "message", "content": [{"type": "tool_use", "id": "a", "name": "t", "input": {"n": 1}}]}),
            ],
            vec![called, calls],
        ),
    ] {
        assert_eq!(run(&events).unwrap(), expected, "{events:?}");
    }
}

#[test]
fn r14_4_an_answer_that_is_done_without_a_reason_and_misses_something_is_none() {
    let done = json!({"type": "message_stop"});
    let thought = json!({"type": "thinking", "thinking": "Hm"});
    for events in [
        vec![done.clone()],
        vec![start(0, json!({"type": "text", "text": ""})), stop(0), done.clone()],
        vec![start(0, thought), stop(0), done.clone()],
        vec![start(0, json!({"type": "text", "text": "I write."})), stop(0), tool_use(1, "a", "write"), done.clone()],
        vec![tool_use(0, "a", "write"), json_piece(0, "{\"content\":\"def"), stop(0), done.clone()],
        vec![tool_use(0, "a", "write"), json_piece(0, "{}"), done.clone()],
        vec![tool_use(0, "a", ""), stop(0), done],
        vec![json!({"type": "message", "content": [{"type": "tool_use", "id": "a", "name": "t", "input": "{\"n\":"}]})],
        vec![json!({"type": "message", "content": [], "stop_reason": null})],
    ] {
        assert_eq!(run(&events), Err(DecodeError::EndedEarly), "{events:?}");
    }
}

#[test]
fn r14_2_calls_come_out_in_their_order() {
    let finish = ModelEvent::Finish(Finish::ToolCalls);
    let begun = |first: usize, second: usize| vec![tool_use(first, "a", "t"), tool_use(second, "b", "t")];
    let ended = |indexes: &[usize]| indexes.iter().map(|index| stop(*index)).chain([reason("tool_use")]).collect();
    let in_order = [call(0, "a", "t", "{}"), call(1, "b", "t", "{}"), finish.clone()];
    let cases: [(Vec<Value>, Vec<Value>); 6] = [
        (begun(0, 1), ended(&[1, 0])),
        (begun(0, 1), ended(&[0, 1])),
        (begun(0, 1), ended(&[1])),
        (begun(0, 1), ended(&[])),
        (begun(0, 0), ended(&[])),
        (begun(0, 0), ended(&[0])),
    ];
    for (begun, ended) in cases {
        let events = [begun, ended].concat();
        assert_eq!(run(&events).unwrap(), in_order, "{events:?}");
    }
    // By their indexes, not as they were begun: each keeps the slot in which its progress was told.
    let events = [begun(1, 0), ended(&[1, 0])].concat();
    assert_eq!(run(&events).unwrap(), [call(1, "b", "t", "{}"), call(0, "a", "t", "{}"), finish]);
}

#[test]
fn r14_2_texts_and_thoughts_do_not_wait_for_a_call() {
    let mut decoder = Decoder::default();
    let mut told = Vec::new();
    for event in [
        tool_use(0, "a", "t"),
        tool_use(1, "b", "t"),
        stop(1),
        start(2, json!({"type": "thinking", "thinking": "Hm"})),
        stop(2),
        start(3, json!({"type": "text", "text": "Now"})),
        stop(3),
    ] {
        told.extend(decoder.data(&event.to_string()).unwrap());
    }
    told.retain(|event| !matches!(event, ModelEvent::CallProgress { .. }));
    assert_eq!(told, [thought("Hm", None), ModelEvent::Text("Now".to_owned())]);
    let rest = decoder.data(&stop(0).to_string()).unwrap();
    assert_eq!(rest, [call(0, "a", "t", "{}"), call(1, "b", "t", "{}")], "at once, not at the end");
}

#[test]
fn c83_empty_pieces_are_nothing_of_an_answer() {
    for (block, piece) in [
        (json!({"type": "text", "text": ""}), json!({"type": "text_delta", "text": ""})),
        (json!({"type": "thinking", "thinking": ""}), json!({"type": "thinking_delta", "thinking": ""})),
        (json!({"type": "thinking", "thinking": ""}), json!({"type": "signature_delta", "signature": ""})),
        (json!({"type": "tool_use", "id": "a", "name": "t"}), json!({"type": "input_json_delta", "partial_json": ""})),
        (json!({"type": "tool_use", "id": "a", "name": "t"}), json!({"type": "input_json_delta"})),
    ] {
        let mut decoder = Decoder::default();
        decoder.data(&start(0, block).to_string()).unwrap();
        assert_eq!(decoder.data(&delta(0, piece.clone()).to_string()), Ok(Vec::new()), "{piece}");
    }
}

#[test]
fn r22_7_numbers_that_no_server_means_do_not_overflow() {
    let most = u64::MAX;
    let usage = json!({"input_tokens": most, "output_tokens": 1e300, "cache_read_input_tokens": most, "cache_creation_input_tokens": most});
    let mut without_index = start(0, json!({"type": "text", "text": "a"}));
    without_index.as_object_mut().unwrap().shift_remove("index");
    let told = run(&[
        json!({"type": "message_start", "message": {"usage": usage}}),
        json!({"type": "content_block_start", "index": most, "content_block": {"type": "text", "text": ""}}),
        without_index,
        reason("end_turn"),
    ]);
    let usage = Usage { input: most, output: most, reasoning: 0, cache_read: most, cache_write: most };
    let expected = [ModelEvent::Text("a".to_owned()), ModelEvent::Usage(usage), ModelEvent::Finish(Finish::Stop)];
    assert_eq!(told.unwrap(), expected);
}
