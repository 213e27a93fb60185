//! Whole answers over a real loopback connection.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails")]

use std::sync::Arc;
use std::time::Duration;

use copydesk_engine::message::{Finish, Usage};
use copydesk_engine::ports::{ModelErrorKind, WireProtocol};
use futures::{StreamExt, TryStreamExt};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::*;
use crate::providers::loopback::{self, LIMIT, ask, ok, read_request, serve, serve_text};

fn request(base: &str) -> ModelRequest {
    loopback::request(WireProtocol::ChatCompletions, "local/qwen3", base)
}

fn text_of(events: &[ModelEvent]) -> String {
    events
        .iter()
        .filter_map(|event| if let ModelEvent::Text(text) = event { Some(text.as_str()) } else { None })
        .collect()
}

const PLAIN: &str = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Grüß \"}}]}\n\n\
    data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Gott\"},\"finish_reason\":\"stop\"}]}\n\n\
    data: {\"choices\":[],\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":2}}\n\n\
    data: [DONE]\n\n";

fn expected() -> Vec<ModelEvent> {
    vec![
        ModelEvent::Text("Grüß ".to_owned()),
        ModelEvent::Text("Gott".to_owned()),
        ModelEvent::Usage(Usage { input: 7, output: 2, reasoning: 0, cache_read: 0, cache_write: 0 }),
        ModelEvent::Finish(Finish::Stop),
    ]
}

#[tokio::test]
async fn what_is_sent() {
    let (base, served) = serve_text(ok("text/event-stream", PLAIN)).await;
    assert_eq!(ask(request(&base)).await, Ok(expected()));
    let sent = served.await.unwrap();
    let (head, body) = sent.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("POST /v1/chat/completions HTTP/1.1\r\n"), "{head}");
    for line in ["authorization: Bearer sk-very-secret", "x-team: desk", "content-type: application/json"] {
        assert!(head.lines().any(|sent| sent == line), "{line} in {head}");
    }
    assert!(head.contains("user-agent: copydesk/"), "{head}");
    assert!(body.ends_with(r#"{"role":"user","content":"Hello"}]}"#), "{body}");
}

#[tokio::test]
async fn c81_the_same_text_in_every_shape() {
    let shapes = [
        format!(": ping\n\n{}", PLAIN.replace("\n\n", "\n\n: ping\n\n:\n\n")),
        PLAIN.replace('\n', "\r\n"),
        PLAIN.replace("data: ", "data:"),
        PLAIN.replace("data: {", "event: message\nid: 7\nretry: 3\ndata: {\ndata: "),
        PLAIN.replace("data: [DONE]\n\n", ""),
        PLAIN.replace("data: [DONE]\n\n", "").trim_end().to_owned(),
        format!("\u{feff}{PLAIN}"),
    ];
    for shape in shapes {
        for content_type in ["text/event-stream; charset=utf-8", "application/json", "text/plain"] {
            let (base, _served) = serve_text(ok(content_type, &shape)).await;
            assert_eq!(ask(request(&base)).await, Ok(expected()), "{shape}");
        }
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
async fn events_come_while_the_answer_is_still_being_written() {
    let (go, gate) = tokio::sync::oneshot::channel::<()>();
    let (base, _served) = serve(|mut stream| async move {
        let answer = ok("text/event-stream", PLAIN);
        let (first, rest) = answer.split_at(answer.find("\n\n").unwrap() + 2);
        stream.write_all(first.as_bytes()).await.unwrap();
        gate.await.unwrap();
        stream.write_all(rest.as_bytes()).await.unwrap();
    })
    .await;
    let mut events = stream(Http::default(), request(&base));
    let first = timeout(LIMIT, events.next()).await.unwrap();
    assert_eq!(first, Some(Ok(expected().remove(0))));
    go.send(()).unwrap();
    let rest: Vec<_> = timeout(LIMIT, events.try_collect()).await.unwrap().unwrap();
    assert_eq!(rest, expected()[1..]);
}

#[tokio::test]
async fn c81_an_answer_that_ignores_stream_and_an_error_with_status_200() {
    let whole = r#"{"choices":[{"message":{"content":"Hi"},"finish_reason":"stop"}]}"#;
    for content_type in ["application/json", "text/event-stream"] {
        let (base, _served) = serve_text(ok(content_type, &format!("\n{whole}\n"))).await;
        assert_eq!(text_of(&ask(request(&base)).await.unwrap()), "Hi");
    }
    let (base, _served) =
        serve_text(ok("application/json", r#"{"error":{"message":"Slow","code":"rate_limit_exceeded"}}"#)).await;
    assert_eq!(ask(request(&base)).await.unwrap_err().kind, ModelErrorKind::RateLimited { retry_after: None });
    let (base, _served) = serve_text(ok("text/html", "<!doctype html><title>Welcome</title>")).await;
    let error = ask(request(&base)).await.unwrap_err();
    assert!(error.kind == ModelErrorKind::Protocol && error.message.contains("most end in /v1"), "{error}");
}

#[tokio::test]
async fn r14_4_a_stream_cut_short_is_an_error() {
    let cut = &PLAIN[..PLAIN.find("\n\n").unwrap() + 30];
    for body in [cut, "", "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n"] {
        let (base, _served) = serve_text(ok("text/event-stream", body)).await;
        let error = ask(request(&base)).await.unwrap_err();
        assert_eq!(error.kind, ModelErrorKind::Broken, "{error}");
    }
    // The length that was promised did not come.
    let (base, _served) =
        serve_text("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: 9999\r\n\r\ndata: {}\n\n")
            .await;
    let error = ask(request(&base)).await.unwrap_err();
    assert!(error.kind == ModelErrorKind::Connection && error.message.contains("middle of the answer"), "{error}");
}

#[tokio::test]
async fn a_server_that_neither_says_done_nor_closes() {
    let (base, served) = serve(|mut stream| async move {
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: 99999\r\n\r\n";
        stream.write_all(head.as_bytes()).await.unwrap();
        stream.write_all(PLAIN.replace("data: [DONE]\n\n", "").as_bytes()).await.unwrap();
        let _ = stream.read(&mut [0; 8]).await;
    })
    .await;
    let mut request = request(&base);
    Arc::get_mut(&mut request.provider).unwrap().chunk_timeout = Duration::from_millis(100);
    assert_eq!(ask(request).await, Ok(expected()));
    timeout(LIMIT, served).await.unwrap().unwrap();
}

#[tokio::test]
async fn r10_3_a_refusal_with_its_headers() {
    let body = r#"{"error":{"message":"Slow down, sk-very-secret"}}"#;
    let answer =
        format!("HTTP/1.1 429 Too Many Requests\r\nretry-after: 3\r\ncontent-length: {}\r\n\r\n{body}", body.len());
    let (base, _served) = serve_text(answer).await;
    let error = ask(request(&base)).await.unwrap_err();
    assert_eq!(error.kind, ModelErrorKind::RateLimited { retry_after: Some(Duration::from_secs(3)) });
    insta::assert_snapshot!(error.message, @"local asks to slow down (rate limit). It names a wait of 3 s. It says (status 429): Slow down, [secret]");
}

#[tokio::test]
async fn r10_3_nothing_listens() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let error = ask(request(&format!("http://user:pass@{address}/v1?key=abc"))).await.unwrap_err();
    assert_eq!(error.kind, ModelErrorKind::Connection);
    assert_eq!(
        error.message,
        format!(
            "Nothing answers at http://{address}/v1/chat/completions. Is the server running? The address is `provider.local.options.baseURL`."
        )
    );
}

#[tokio::test]
async fn r10_3_https_to_a_server_without_tls() {
    let (base, _served) = serve_plain_to_tls().await;
    let error = ask(request(&base)).await.unwrap_err();
    assert!(error.kind == ModelErrorKind::Setup && error.message.contains("may begin with http://"), "{error}");
}

async fn serve_plain_to_tls() -> (String, JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("https://{}/v1", listener.local_addr().unwrap());
    let served = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let _ = stream.read(&mut [0; 64]).await;
        let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await;
    });
    (base, served)
}

#[tokio::test]
async fn r10_3_addresses_keys_and_headers_that_cannot_be_sent() {
    for base in ["", "localhost:11434", "ftp://x/v1"] {
        let error = ask(request(base)).await.unwrap_err();
        assert!(error.kind == ModelErrorKind::Setup && error.message.contains("baseURL"), "{error}");
    }
    let mut bad_key = request("http://127.0.0.1:9/v1");
    Arc::get_mut(&mut bad_key.provider).unwrap().key = Some("two\nlines".to_owned());
    let error = ask(bad_key).await.unwrap_err();
    assert!(error.kind == ModelErrorKind::Auth && !error.message.contains("lines"), "{error}");
    let mut bad_header = request("http://127.0.0.1:9/v1");
    Arc::get_mut(&mut bad_header.provider).unwrap().headers = [("X-A".to_owned(), "secret\nvalue".to_owned())].into();
    let error = ask(bad_header).await.unwrap_err();
    assert!(error.message.contains("X-A") && !error.message.contains("secret"), "{error}");
}

#[tokio::test]
async fn r10_3_no_name_of_a_host() {
    let error = ask(request("http://no-such-host.invalid/v1")).await.unwrap_err();
    assert!(error.kind == ModelErrorKind::Connection && error.message.contains("cannot be reached"), "{error}");
}

#[tokio::test]
async fn redirects_are_named_and_not_followed() {
    let (base, _served) = serve_text(
        "HTTP/1.1 308 Permanent Redirect\r\nlocation: https://other.example/v1?key=x\r\ncontent-length: 0\r\n\r\n",
    )
    .await;
    let error = ask(request(&base)).await.unwrap_err();
    assert!(
        error.message.contains("redirects to https://other.example/v1.") && error.kind == ModelErrorKind::Setup,
        "{error}"
    );
}

async fn hang(mut stream: TcpStream) {
    let _ = stream.read(&mut [0; 8]).await;
}

#[tokio::test]
async fn c83_headers_that_never_come() {
    let (base, served) = serve(hang).await;
    let mut request = request(&base);
    Arc::get_mut(&mut request.provider).unwrap().header_timeout = Duration::from_millis(50);
    let error = ask(request).await.unwrap_err();
    assert!(error.kind == ModelErrorKind::TimedOut && error.message.contains("headerTimeout"), "{error}");
    timeout(LIMIT, served).await.expect("the connection is closed").unwrap();
}

#[tokio::test]
async fn c83_comments_do_not_keep_an_answer_alive() {
    let (base, served) = serve(|mut stream| async move {
        let head = ok("text/event-stream", "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n");
        stream.write_all(head.as_bytes()).await.unwrap();
        // Comments, and pieces that hold nothing.
        while stream.write_all(b": ping\n\ndata: {\"choices\":[]}\n\n").await.is_ok() {
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

#[tokio::test]
async fn dropping_the_stream_closes_the_connection() {
    let (base, served) = serve(|mut stream| async move {
        stream.write_all(ok("text/event-stream", &PLAIN[..PLAIN.find("\n\n").unwrap() + 2]).as_bytes()).await.unwrap();
        assert_eq!(stream.read(&mut [0; 8]).await.unwrap_or(0), 0, "closed, and nothing more sent");
    })
    .await;
    let mut events = stream(Http::default(), request(&base));
    assert!(timeout(LIMIT, events.next()).await.unwrap().unwrap().is_ok());
    drop(events);
    timeout(LIMIT, served).await.expect("the connection is closed").unwrap();
}

#[tokio::test]
async fn one_client_for_all_requests() {
    let http = Http::default();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}/v1", listener.local_addr().unwrap());
    // One connection serves both: it was kept by the one client.
    let served = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        for _ in 0..2 {
            read_request(&mut stream).await;
            let head = format!(
                "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {}\r\n\r\n",
                PLAIN.len()
            );
            stream.write_all((head + PLAIN).as_bytes()).await.unwrap();
        }
    });
    for _ in 0..2 {
        let events: Vec<_> = timeout(LIMIT, stream(http.clone(), request(&base)).try_collect()).await.unwrap().unwrap();
        assert_eq!(events, expected());
    }
    timeout(LIMIT, served).await.unwrap().unwrap();
}

#[tokio::test]
async fn r14_3_an_error_after_a_finished_answer_takes_nothing_away_from_it() {
    let chunk = |reason: &str| format!(r#"{{"choices":[{{"delta":{{"content":"Hi"}},"finish_reason":"{reason}"}}]}}"#);
    let error = r#"{"error":{"type":"overloaded_error","message":"Overloaded"}}"#;
    let body = |reason: &str| format!("data: {}\n\ndata: {error}\n\n", chunk(reason));
    let (base, _served) = serve_text(ok("text/event-stream", &body("stop"))).await;
    let whole = vec![ModelEvent::Text("Hi".to_owned()), ModelEvent::Finish(Finish::Stop)];
    assert_eq!(ask(request(&base)).await, Ok(whole));
    // One that ended by an error: what follows says by which.
    let (base, _served) = serve_text(ok("text/event-stream", &body("error"))).await;
    let error = ask(request(&base)).await.unwrap_err();
    assert!(
        error.kind == ModelErrorKind::Overloaded { retry_after: None } && error.message.contains("Overloaded"),
        "{error}"
    );
}
