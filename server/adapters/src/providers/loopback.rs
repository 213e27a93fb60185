//! A server of one answer on a loopback port and what asks it, for tests of what goes over the wire.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use copydesk_engine::ports::{
    Model, ModelError, ModelEvent, ModelMessage, ModelRequest, ModelSettings, ProviderSettings, WireProtocol,
};
use futures::TryStreamExt;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::Providers;

/// No test waits longer for what must come.
pub(super) const LIMIT: Duration = Duration::from_secs(20);

pub(super) fn provider(wire: WireProtocol, id: &str, base: &str) -> ProviderSettings {
    ProviderSettings {
        id: id.to_owned(),
        wire,
        base_url: base.to_owned(),
        // Keys that come out of files end in a line end.
        key: Some("sk-very-secret\n".to_owned()),
        headers: [("X-Team".to_owned(), "desk".to_owned())].into(),
        header_timeout: LIMIT,
        chunk_timeout: LIMIT,
        max_retries: 5,
    }
}

/// Of one prompt.
pub(super) fn request(wire: WireProtocol, model: &str, base: &str) -> ModelRequest {
    let model: copydesk_engine::message::ModelRef = model.parse().unwrap();
    ModelRequest {
        provider: Arc::new(provider(wire, &model.provider, base)),
        model,
        settings: ModelSettings::default(),
        system: "Be brief.".to_owned(),
        messages: vec![ModelMessage::user("Hello")],
        tools: Vec::new(),
    }
}

/// Without the counts that a later one replaces.
pub(super) async fn ask(request: ModelRequest) -> Result<Vec<ModelEvent>, ModelError> {
    let (mut events, end) = ask_all(request).await;
    end?;
    let is_usage = |event: &ModelEvent| matches!(event, ModelEvent::Usage(_));
    let last = events.iter().rposition(is_usage);
    let mut at = 0..;
    events.retain(|event| at.next() == last || !is_usage(event));
    Ok(events)
}

/// All that came before the end, and how it ended.
pub(super) async fn ask_all(request: ModelRequest) -> (Vec<ModelEvent>, Result<(), ModelError>) {
    let mut events = Vec::new();
    let mut stream = Providers::default().stream(request);
    let end = timeout(LIMIT, async {
        while let Some(event) = stream.try_next().await? {
            events.push(event);
        }
        Ok(())
    });
    let end = end.await.unwrap();
    (events, end)
}

/// Takes one connection, reads its request, and lets `answer` write. Gives the base URL and the request's bytes.
pub(super) async fn serve<F, Fut>(answer: F) -> (String, JoinHandle<String>)
where
    F: FnOnce(TcpStream) -> Fut + Send + 'static,
    Fut: Future<Output = ()> + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}/v1", listener.local_addr().unwrap());
    let served = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        stream.set_nodelay(true).unwrap();
        let request = read_request(&mut stream).await;
        answer(stream).await;
        request
    });
    (base, served)
}

pub(super) async fn read_request(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    loop {
        stream.read_buf(&mut bytes).await.unwrap();
        let text = String::from_utf8_lossy(&bytes);
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
        if body.len() == length.parse::<usize>().unwrap() {
            return text.into_owned();
        }
    }
}

/// The whole answer, ended by closing.
pub(super) async fn serve_text(answer: impl Into<String>) -> (String, JoinHandle<String>) {
    let answer = answer.into();
    serve(|mut stream| async move { stream.write_all(answer.as_bytes()).await.unwrap() }).await
}

pub(super) fn ok(content_type: &str, body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\ncontent-type: {content_type}\r\nconnection: close\r\n\r\n{body}")
}
