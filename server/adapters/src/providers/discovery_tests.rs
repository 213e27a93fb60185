//! Lists of models over a real loopback connection.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use super::*;
use crate::providers::loopback::{self, LIMIT};

fn provider(base_url: &str) -> ProviderSettings {
    loopback::provider(WireProtocol::ChatCompletions, "ollama", base_url)
}

/// Answers one request with `answer`; gives what was asked and what came of it.
async fn exchange(answer: &'static str, limit: Duration) -> (String, Result<Option<Vec<String>>, ModelError>) {
    exchange_with(provider(""), answer, limit).await
}

/// The same with what `provider` says of the wire and its headers.
async fn exchange_with(
    provider: ProviderSettings,
    answer: &'static str,
    limit: Duration,
) -> (String, Result<Option<Vec<String>>, ModelError>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}/v1", listener.local_addr().unwrap());
    let served = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut asked = Vec::new();
        while !asked.ends_with(b"\r\n\r\n") && stream.read_buf(&mut asked).await.unwrap() > 0 {}
        stream.write_all(answer.as_bytes()).await.unwrap();
        if answer.is_empty() {
            // Silent until the client has left.
            let _ = stream.read_buf(&mut asked).await;
        }
        String::from_utf8(asked).unwrap()
    });
    let result = offered(Http::default(), &ProviderSettings { base_url: base, ..provider }, limit).await;
    (served.await.unwrap(), result)
}

#[tokio::test]
async fn the_models_of_a_local_server_are_listed() {
    let answer = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n\r\n\
        {\"object\":\"list\",\"data\":[{\"id\":\"qwen3:8b\",\"object\":\"model\"},{\"id\":\" \"},{\"id\":\"org/model\"}]}";
    let (asked, models) = exchange(answer, LIMIT).await;
    assert!(asked.starts_with("GET /v1/models HTTP/1.1\r\n"), "{asked}");
    assert!(
        asked.contains("authorization: Bearer sk-very-secret\r\n") && asked.contains("x-team: desk\r\n"),
        "{asked}"
    );
    assert_eq!(models.unwrap().unwrap(), ["qwen3:8b", "org/model"]);
}

#[tokio::test]
async fn a_messages_provider_is_asked_with_its_own_headers_and_for_all_models() {
    let answer = "HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n\
        {\"data\":[{\"type\":\"model\",\"id\":\"claude-sonnet-4-5\",\"display_name\":\"Claude\"}],\"has_more\":false}";
    let messages = loopback::provider(WireProtocol::Messages, "anthropic", "");
    let (asked, models) = exchange_with(messages.clone(), answer, LIMIT).await;
    assert!(asked.starts_with("GET /v1/models?limit=1000 HTTP/1.1\r\n"), "{asked}");
    for header in ["x-api-key: sk-very-secret", "anthropic-version: 2023-06-01", "x-team: desk"] {
        assert!(asked.contains(&format!("{header}\r\n")), "{header}: {asked}");
    }
    assert!(!asked.contains("authorization"), "{asked}");
    assert_eq!(models.unwrap().unwrap(), ["claude-sonnet-4-5"]);
    // A gateway may want another version, or the key in its own way.
    let headers = [("anthropic-version", "2099-01-01"), ("Authorization", "Bearer gate")];
    let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    let (asked, _) = exchange_with(ProviderSettings { key: None, headers, ..messages }, answer, LIMIT).await;
    assert!(asked.contains("anthropic-version: 2099-01-01\r\n") && !asked.contains("2023-06-01"), "{asked}");
    assert!(asked.contains("authorization: Bearer gate\r\n") && !asked.contains("x-api-key"), "{asked}");
}

#[tokio::test]
async fn what_is_no_list_is_an_error_of_its_kind() {
    let kind = async |answer, limit| exchange(answer, limit).await.1.unwrap_err().kind;
    let refused = "HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
    assert_eq!(kind(refused, LIMIT).await, ModelErrorKind::Auth);
    let busy = "HTTP/1.1 429 Too Many Requests\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
    assert_eq!(kind(busy, LIMIT).await, ModelErrorKind::RateLimited { retry_after: None });
    let broken = "HTTP/1.1 500 Internal Server Error\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
    assert_eq!(kind(broken, LIMIT).await, ModelErrorKind::Setup);
    let page = "HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n<html>";
    assert_eq!(kind(page, LIMIT).await, ModelErrorKind::Protocol);
    assert_eq!(kind("", Duration::from_millis(50)).await, ModelErrorKind::TimedOut);
}

/// Many gateways pass on the talk with a model and nothing else.
#[tokio::test]
async fn a_server_without_a_list_is_told_from_one_that_fails() {
    for status in ["404 Not Found", "405 Method Not Allowed", "501 Not Implemented"] {
        let answer = format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n").leak();
        assert_eq!(exchange(answer, LIMIT).await.1, Ok(None), "{status}");
    }
}

#[test]
fn the_list_is_looked_for_beside_the_place_where_models_are_asked() {
    for (base, list) in [
        ("http://h:1/v1", "http://h:1/v1/models"),
        ("http://h:1/v1/", "http://h:1/v1/models"),
        ("http://h:1", "http://h:1/models"),
        ("https://h/v1/messages", "https://h/v1/models"),
        ("https://h/v1/chat/completions/?key=s", "https://h/v1/models?key=s"),
        ("https://h/openai?api-version=2", "https://h/openai/models?api-version=2"),
    ] {
        assert_eq!(endpoint(base).map(String::from).as_deref(), Some(list), "{base}");
    }
    assert_eq!([endpoint("h:1/v1"), endpoint("file:///v1"), endpoint("")], [None, None, None]);
}

#[tokio::test]
async fn where_nothing_listens_it_is_said_at_once() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}/v1", listener.local_addr().unwrap());
    drop(listener);
    let error = offered(Http::default(), &provider(&base), LIMIT).await.unwrap_err();
    assert_eq!(error.kind, ModelErrorKind::Connection);
    assert_eq!(error.message, format!("{base}/models: nothing listens there."));
}
