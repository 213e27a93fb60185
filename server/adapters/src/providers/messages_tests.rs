//! Whole answers over a real loopback connection.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails")]

use std::sync::Arc;
use std::time::Duration;

use copydesk_engine::message::{Finish, Usage};
use copydesk_engine::ports::{ModelErrorKind, WireProtocol};
use tokio::io::AsyncWriteExt;
use tokio::time::timeout;

use super::*;
use crate::providers::loopback::{self, LIMIT, ask, ask_all, ok, serve, serve_text};

fn request(base: &str) -> ModelRequest {
    loopback::request(WireProtocol::Messages, "anthropic/claude-sonnet-4-5", base)
}

const PLAIN: &str = r#"event: message_start
data: {"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","content":[],"stop_reason":null,"usage":{"input_tokens":7,"output_tokens":1}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}

event: ping
data: {"type":"ping"}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Grüß Gott"}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":2}}

event: message_stop
data: {"type":"message_stop"}

"#;

fn expected() -> Vec<ModelEvent> {
    vec![
        ModelEvent::Text("Grüß Gott".to_owned()),
        ModelEvent::Usage(Usage { input: 7, output: 2, ..Usage::default() }),
        ModelEvent::Finish(Finish::Stop),
    ]
}

#[tokio::test]
async fn what_is_sent() {
    let (base, served) = serve_text(ok("text/event-stream", PLAIN)).await;
    assert_eq!(ask(request(&base)).await, Ok(expected()));
    let sent = served.await.unwrap();
    let (head, body) = sent.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("POST /v1/messages HTTP/1.1\r\n"), "{head}");
    for line in ["x-api-key: sk-very-secret", "anthropic-version: 2023-06-01", "x-team: desk"] {
        assert!(head.lines().any(|sent| sent == line), "{line} in {head}");
    }
    assert!(!head.contains("authorization") && !head.contains("anthropic-beta"), "{head}");
    assert!(body.contains(r#""model":"claude-sonnet-4-5""#), "{body}");
}

#[tokio::test]
async fn headers_that_are_configured_replace_those_of_the_protocol() {
    let (base, served) = serve_text(ok("text/event-stream", PLAIN)).await;
    let mut request = request(&base);
    let headers = [("Anthropic-Version".to_owned(), "2024-01-01".to_owned())];
    Arc::get_mut(&mut request.provider).unwrap().headers = headers.into();
    assert_eq!(ask(request).await, Ok(expected()));
    let sent = served.await.unwrap();
    assert!(sent.contains("anthropic-version: 2024-01-01") && !sent.contains("2023-06-01"), "{sent}");
}

#[tokio::test]
async fn c81_the_same_text_in_every_shape() {
    let shapes = [
        format!(": ping\n\n{}", PLAIN.replace("\n\n", "\n\n: ping\n\n:\n\n")),
        PLAIN.replace('\n', "\r\n"),
        PLAIN.replace("data: ", "data:"),
        PLAIN.replace("data: {", "id: 7\nretry: 3\ndata: {\ndata: "),
        PLAIN.lines().filter(|line| !line.starts_with("event:")).map(|line| format!("{line}\n")).collect(),
        PLAIN.replace("event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n", ""),
        PLAIN.trim_end().to_owned(),
        format!("\u{feff}{PLAIN}"),
    ];
    for shape in shapes {
        let (base, _served) = serve_text(ok("text/event-stream", &shape)).await;
        assert_eq!(ask(request(&base)).await, Ok(expected()), "{shape}");
    }
}

#[tokio::test]
async fn r14_1_a_byte_a_packet() {
    let (base, _served) = serve(|mut stream| async move {
        for byte in ok("text/event-stream", PLAIN).as_bytes() {
            stream.write_all(&[*byte]).await.unwrap();
            tokio::task::yield_now().await;
        }
    })
    .await;
    assert_eq!(ask(request(&base)).await, Ok(expected()));
}

#[tokio::test]
async fn c81_an_answer_that_ignores_stream() {
    let whole = r#"{"type":"message","role":"assistant","content":[{"type":"text","text":"Grüß Gott"}],"stop_reason":"end_turn","usage":{"input_tokens":7,"output_tokens":2}}"#;
    let (base, _served) = serve_text(ok("application/json", whole)).await;
    assert_eq!(ask(request(&base)).await, Ok(expected()));
}

#[tokio::test]
async fn r14_4_a_stream_cut_short_is_an_error() {
    for until in ["event: content_block_stop", "event: message_delta"] {
        let (base, _served) = serve_text(ok("text/event-stream", PLAIN.split(until).next().unwrap())).await;
        assert_eq!(ask(request(&base)).await.unwrap_err().kind, ModelErrorKind::Broken);
    }
}

#[tokio::test]
async fn r10_3_errors_by_their_type() {
    let error =
        |kind: &str| format!(r#"{{"type":"error","error":{{"type":"{kind}","message":"So, sk-very-secret"}}}}"#);
    let overloaded = ModelErrorKind::Overloaded { retry_after: None };
    for (kind, expected) in [
        ("overloaded_error", overloaded.clone()),
        ("api_error", overloaded),
        ("rate_limit_error", ModelErrorKind::RateLimited { retry_after: None }),
        ("authentication_error", ModelErrorKind::Auth),
        ("billing_error", ModelErrorKind::Setup),
        ("request_too_large", ModelErrorKind::ContextOverflow),
        ("timeout_error", ModelErrorKind::TimedOut),
        ("invalid_request_error", ModelErrorKind::Invalid),
        ("permission_error", ModelErrorKind::Auth),
        ("not_found_error", ModelErrorKind::Setup),
        ("news", ModelErrorKind::Broken),
    ] {
        // In the middle of a stream, and in place of one.
        let begun = PLAIN.split("event: content_block_stop").next().unwrap();
        let body = format!("{begun}event: error\ndata: {}\n\n", error(kind));
        let (base, _served) = serve_text(ok("text/event-stream", &body)).await;
        let told = ask(request(&base)).await.unwrap_err();
        assert_eq!(told.kind, expected, "{kind}");
        assert!(told.message.contains("So, [secret]"), "{told}");
    }
    let body = error("overloaded_error");
    let answer = format!("HTTP/1.1 529 Overloaded\r\nretry-after: 3\r\ncontent-length: {}\r\n\r\n{body}", body.len());
    let (base, _served) = serve_text(answer).await;
    let kind = ask(request(&base)).await.unwrap_err().kind;
    assert_eq!(kind, ModelErrorKind::Overloaded { retry_after: Some(Duration::from_secs(3)) });
}

/// What never ends says nothing, whatever it is.
#[tokio::test]
async fn c83_pings_empty_pieces_and_counts_do_not_keep_an_answer_alive() {
    for nothing in [
        "event: ping\ndata: {\"type\":\"ping\"}\n\n: comment\n\n",
        "data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"\"}}\n\n",
        "data: {\"type\":\"content_block_delta\",\"index\":1,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"\"}}\n\n",
        "data: {\"type\":\"message_delta\",\"delta\":{},\"usage\":{\"output_tokens\":1}}\n\ndata: {\"type\":\"message_delta\",\"delta\":{},\"usage\":{\"output_tokens\":2}}\n\n",
    ] {
        let (base, served) = serve(move |mut stream| async move {
            let begun = PLAIN.split("event: content_block_stop").next().unwrap();
            let call = "data: {\"type\":\"content_block_start\",\"index\":1,\"content_block\":{\"type\":\"tool_use\",\"id\":\"a\",\"name\":\"t\"}}\n\n";
            let head = ok("text/event-stream", &format!("{begun}{call}"));
            stream.write_all(head.as_bytes()).await.unwrap();
            while stream.write_all(nothing.as_bytes()).await.is_ok() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        })
        .await;
        let mut request = request(&base);
        Arc::get_mut(&mut request.provider).unwrap().chunk_timeout = Duration::from_millis(200);
        let error = ask(request).await.unwrap_err();
        assert!(error.kind == ModelErrorKind::TimedOut && error.message.contains("chunkTimeout"), "{error}");
        timeout(LIMIT, served).await.expect("the connection is closed").unwrap();
    }
}

#[tokio::test]
async fn r14_3_what_comes_after_a_finished_answer_takes_nothing_away_from_it() {
    let finished = PLAIN.split("event: message_stop").next().unwrap();
    for rest in [
        r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
        r#"{"type":"error","error":{"type":"invalid_request_error","message":"m"}}"#,
        r#"{"type":"#,
        "<html>",
        "[]",
    ] {
        let body = format!("{finished}data: {rest}\n\n");
        let (base, _served) = serve_text(ok("text/event-stream", &body)).await;
        assert_eq!(ask(request(&base)).await, Ok(expected()), "{rest}");
    }
}

#[tokio::test]
async fn r13_3_usage_is_told_before_an_answer_breaks_off() {
    let counted = |output| ModelEvent::Usage(Usage { input: 7, output, ..Usage::default() });
    let text = ModelEvent::Text("Grüß Gott".to_owned());
    let begun = PLAIN.split("event: message_delta").next().unwrap();
    let (base, _served) = serve_text(ok("text/event-stream", begun)).await;
    let (events, end) = ask_all(request(&base)).await;
    assert_eq!((events, end.unwrap_err().kind), (vec![counted(1), text.clone()], ModelErrorKind::Broken));
    // And no count twice.
    let (base, _served) = serve_text(ok("text/event-stream", PLAIN)).await;
    let (events, _) = ask_all(request(&base)).await;
    assert_eq!(events, [counted(1), text, counted(2), ModelEvent::Finish(Finish::Stop)]);
}
