#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]
//! The peer from outside: bytes in, bytes out, over an in-memory stream on a paused clock (a wait that never ends fails at once).

use std::sync::atomic::{AtomicBool, Ordering};

use proptest::prelude::*;
use serde_json::json;
use tokio::io::{AsyncWriteExt, DuplexStream, ReadHalf, WriteHalf, duplex, split};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::*;
use crate::rpc::CallError;
use crate::rpc::framing::MAX_BODY;

const LSP: Options = Options { framing: Framing::ContentLength, cancel: CancelDialect::Lsp };
const ACP: Options = Options { framing: Framing::Lines, cancel: CancelDialect::Acp };

/// Answers by the name of the method.
struct Scripted {
    peer: Peer,
    seen: Arc<Mutex<Vec<Value>>>,
    /// Set while a future that was handed out has not been dropped.
    alive: Arc<AtomicBool>,
}

impl Handler for Scripted {
    fn request(&self, request: Request) -> Reply {
        let Request { method, params, cancelled, .. } = request;
        let (seen, peer) = (Arc::clone(&self.seen), self.peer.clone());
        match method.as_str() {
            "ping" => Reply::Now(Ok(params)),
            "seen" => Reply::Now(Ok(Value::Array(seen.lock().unwrap().clone()))),
            "null" => Reply::Now(Ok(Value::Null)),
            "followed" => Reply::Followed {
                work: Box::pin(async move {
                    if params["later"] == true {
                        tokio::time::sleep(Duration::from_millis(5)).await;
                    }
                    if params["fails"] == true { Err(RpcError::internal("on purpose")) } else { Ok(Value::Null) }
                }),
                then: Box::pin(async move {
                    // Of the handler's end: the connection takes no notice.
                    let _ = peer.notify("client/follows", Value::Null).await;
                    panic!("on purpose");
                }),
            },
            "panic now" => panic!("on purpose"),
            "panic later" => Reply::Abortable(Box::pin(async {
                tokio::task::yield_now().await;
                panic!("on purpose")
            })),
            "panic in first poll" => Reply::Abortable(Box::pin(async { panic!("on purpose") })),
            "panic in drop" => Reply::Abortable(Box::pin(async {
                struct Bomb;
                impl Drop for Bomb {
                    fn drop(&mut self) {
                        panic!("on purpose");
                    }
                }
                let _bomb = Bomb;
                std::future::pending().await
            })),
            "wait" => {
                let alive = Alive::new(&self.alive);
                Reply::Abortable(Box::pin(async move {
                    let _alive = alive;
                    std::future::pending().await
                }))
            }
            "wind down" => Reply::WindsDown(Box::pin(async move {
                cancelled.cancelled().await;
                tokio::time::sleep(Duration::from_millis(100)).await;
                seen.lock().unwrap().push("wound down".into());
                Ok("stopped".into())
            })),
            "ignore cancel" => {
                let alive = Alive::new(&self.alive);
                Reply::WindsDown(Box::pin(async move {
                    let _alive = alive;
                    std::future::pending().await
                }))
            }
            "soon" => Reply::Abortable(Box::pin(async move {
                tokio::time::sleep(Duration::from_millis(50)).await;
                Ok("done".into())
            })),
            "record at once" => Reply::Abortable(Box::pin(async move {
                seen.lock().unwrap().push(params);
                tokio::task::yield_now().await;
                Ok(Value::Null)
            })),
            "ask" => Reply::Abortable(Box::pin(async move {
                match peer.request("client/ask", params).await {
                    Ok(result) => Ok(json!({ "client said": result })),
                    Err(CallError::Remote(error)) => Err(error),
                    Err(CallError::Closed) => Err(RpcError::internal("closed")),
                }
            })),
            "ask to the end" => Reply::WindsDown(Box::pin(async move {
                let answer = peer.request("client/ask", params).await;
                seen.lock()
                    .unwrap()
                    .push(json!({ "cancelled": cancelled.is_cancelled(), "closed": answer == Err(CallError::Closed) }));
                Ok(Value::Null)
            })),
            _ => Reply::Now(Err(RpcError::method_not_found(&method))),
        }
    }

    fn notification(&self, notification: Notification) {
        match notification.method.as_str() {
            "exit" => self.peer.end(),
            "panic" => panic!("on purpose"),
            _ => self.seen.lock().unwrap().push(json!([notification.method, notification.params])),
        }
    }
}

struct Alive(Arc<AtomicBool>);

impl Alive {
    fn new(flag: &Arc<AtomicBool>) -> Self {
        flag.store(true, Ordering::SeqCst);
        Self(Arc::clone(flag))
    }
}

impl Drop for Alive {
    fn drop(&mut self) {
        self.0.store(false, Ordering::SeqCst);
    }
}

struct Client {
    framing: Framing,
    writer: Option<WriteHalf<DuplexStream>>,
    reader: ReadHalf<DuplexStream>,
    decoder: Decoder,
    bytes: Vec<u8>,
    peer: Peer,
    seen: Arc<Mutex<Vec<Value>>>,
    alive: Arc<AtomicBool>,
    served: JoinHandle<End>,
}

fn connect(options: Options) -> Client {
    connect_through(options, 64 * 1024)
}

/// `room`: bytes that the stream holds in each direction.
fn connect_through(options: Options, room: usize) -> Client {
    let (ours, theirs) = duplex(room);
    let (reader, writer) = split(theirs);
    let (handed, peer) = std::sync::mpsc::channel();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let alive = Arc::new(AtomicBool::new(false));
    let (handler_seen, handler_alive) = (Arc::clone(&seen), Arc::clone(&alive));
    let mut serving = Box::pin(serve(Box::new(reader), Box::new(writer), options, move |peer| {
        handed.send(peer.clone()).unwrap();
        Arc::new(Scripted { peer, seen: handler_seen, alive: handler_alive })
    }));
    // The first poll makes the handler.
    assert!((&mut serving).now_or_never().is_none(), "the connection is open");
    let (reader, writer) = split(ours);
    Client {
        framing: options.framing,
        writer: Some(writer),
        reader,
        decoder: Decoder::new(options.framing),
        bytes: Vec::new(),
        peer: peer.recv().unwrap(),
        seen,
        alive,
        served: tokio::spawn(serving),
    }
}

impl Client {
    async fn raw(&mut self, bytes: impl AsRef<[u8]>) {
        self.writer.as_mut().unwrap().write_all(bytes.as_ref()).await.unwrap();
    }

    /// In one write.
    async fn send(&mut self, messages: &[Value]) {
        let bytes: Vec<u8> =
            messages.iter().flat_map(|message| self.framing.encode(message.to_string().as_bytes())).collect();
        self.raw(bytes).await;
    }

    async fn receive(&mut self) -> Value {
        self.next().await.expect("a message before the end")
    }

    /// `None`: the daemon's side has closed the output.
    async fn next(&mut self) -> Option<Value> {
        tokio::time::timeout(Duration::from_secs(10), async {
            loop {
                let mut input = self.bytes.as_slice();
                let frame = self.decoder.decode(&mut input);
                self.bytes = input.to_vec();
                match frame {
                    Some(Frame::Body(body)) => return Some(serde_json::from_slice(&body).unwrap()),
                    Some(other) => panic!("a bad frame from the peer: {other:?}"),
                    None => {}
                }
                if self.reader.read_buf(&mut self.bytes).await.unwrap() == 0 {
                    return None;
                }
            }
        })
        .await
        .expect("a message within the limit")
    }

    /// All that still comes once the input has ended.
    async fn rest(&mut self) -> Vec<Value> {
        self.close_input().await;
        let mut messages = Vec::new();
        while let Some(message) = self.next().await {
            messages.push(message);
        }
        messages
    }

    async fn close_input(&mut self) {
        if let Some(mut writer) = self.writer.take() {
            writer.shutdown().await.unwrap();
        }
    }

    async fn end(&mut self) -> (End, Duration) {
        let start = tokio::time::Instant::now();
        let end = tokio::time::timeout(Duration::from_secs(10), &mut self.served).await.expect("an end").unwrap();
        (end, start.elapsed())
    }
}

fn request(id: impl Into<Value>, method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id.into(), "method": method, "params": params })
}

fn notification(method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "method": method, "params": params })
}

fn result(id: impl Into<Value>, result: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id.into(), "result": result })
}

fn code(answer: &Value) -> (Value, i64) {
    (answer["id"].clone(), answer["error"]["code"].as_i64().unwrap_or_else(|| panic!("an error: {answer}")))
}

/// Sends the bytes, then end of input: all that was answered.
async fn answers(options: Options, bytes: impl AsRef<[u8]>) -> Vec<Value> {
    let mut client = connect_through(options, 64 * 1024 * 1024);
    client.raw(bytes).await;
    client.rest().await
}

async fn codes(options: Options, bytes: impl AsRef<[u8]>) -> Vec<(Value, i64)> {
    answers(options, bytes).await.iter().map(code).collect()
}

fn framed(body: &str) -> String {
    format!("Content-Length: {}\r\n\r\n{body}", body.len())
}

fn ping(id: i64) -> String {
    json!({ "jsonrpc": "2.0", "id": id, "method": "ping" }).to_string()
}

#[tokio::test(start_paused = true)]
async fn r22_1_reader_never_waits_for_handlers_and_replies_are_routed_at_once() {
    let mut client = connect(LSP);
    client
        .send(&[
            request(1, "wait", json!({})),
            request(2, "ask", json!({"what": "colour"})),
            request(3, "ping", json!([3])),
        ])
        .await;
    let asked = client.receive().await;
    let pinged = client.receive().await;
    // The ask is queued in its first poll, before the ping is looked at.
    assert_eq!((&asked["method"], &asked["params"]), (&json!("client/ask"), &json!({"what": "colour"})));
    assert_eq!(pinged, result(3, json!([3])));
    client.send(&[result(asked["id"].clone(), json!("red"))]).await;
    assert_eq!(client.receive().await, result(2, json!({"client said": "red"})));
}

#[tokio::test(start_paused = true)]
async fn r22_1_an_error_of_the_client_reaches_the_one_who_asked() {
    let mut client = connect(LSP);
    client.send(&[request(1, "ask", json!({}))]).await;
    let asked = client.receive().await;
    client.send(&[json!({"jsonrpc": "2.0", "id": asked["id"], "error": {"code": -32601, "message": "no"}})]).await;
    assert_eq!(code(&client.receive().await), (json!(1), -32601));
}

#[tokio::test(start_paused = true)]
async fn r22_2_notifications_are_applied_in_order_before_a_later_request_starts() {
    let mut client = connect(LSP);
    let mut messages: Vec<Value> = (0..50).map(|n| notification("change", json!([n]))).collect();
    messages.push(request(1, "seen", json!({})));
    messages.push(notification("change", json!([50])));
    client.send(&messages).await;
    let expected: Vec<Value> = (0..50).map(|n| json!(["change", [n]])).collect();
    assert_eq!(client.receive().await, result(1, Value::Array(expected)));
}

#[tokio::test(start_paused = true)]
async fn r22_2_the_first_poll_of_a_request_comes_before_the_next_message() {
    let mut client = connect(LSP);
    let mut messages = Vec::new();
    // More than the runtime's budget of one poll (128), which must not put off what a handler does before it first yields.
    for n in 0..300 {
        messages.push(request(n, "record at once", json!([n])));
        messages.push(notification("change", json!([n])));
    }
    client.send(&messages).await;
    for _ in 0..300 {
        client.receive().await;
    }
    let expected: Vec<Value> = (0..300).flat_map(|n| [json!([n]), json!(["change", [n]])]).collect();
    assert_eq!(*client.seen.lock().unwrap(), expected);
}

#[tokio::test(start_paused = true)]
async fn r22_3_a_thousand_pending_asks_do_not_delay_a_ping() {
    let mut client = connect_through(LSP, 1024 * 1024);
    let mut messages: Vec<Value> = (0..1000).map(|id| request(id, "ask", json!({}))).collect();
    messages.push(request("ping", "ping", json!({})));
    client.send(&messages).await;
    let mut asks = Vec::new();
    loop {
        let message = client.receive().await;
        if message["id"] == "ping" {
            assert_eq!(message, result("ping", json!({})));
            break;
        }
        asks.push(message);
    }
    assert_eq!(asks.len(), 1000);
    let replies: Vec<Value> = asks.iter().map(|ask| result(ask["id"].clone(), json!(true))).collect();
    client.send(&replies).await;
    let mut answered: Vec<i64> = Vec::new();
    for _ in 0..1000 {
        answered.push(client.receive().await["id"].as_i64().unwrap());
    }
    answered.sort_unstable();
    assert_eq!(answered, (0..1000).collect::<Vec<_>>());
}

#[tokio::test(start_paused = true)]
async fn r22_3_more_pending_requests_than_the_bound_are_answered_overloaded() {
    let mut client = connect_through(LSP, 8 * 1024 * 1024);
    let mut messages: Vec<Value> = (0..MAX_PENDING).map(|id| request(id, "wait", json!({}))).collect();
    messages.push(request("over", "ping", json!({})));
    client.send(&messages).await;
    assert_eq!(code(&client.receive().await), (json!("over"), RpcError::OVERLOADED));
    client.send(&[notification("$/cancelRequest", json!({"id": 7})), request("again", "seen", json!({}))]).await;
    assert_eq!(code(&client.receive().await), (json!("again"), RpcError::OVERLOADED));
    assert_eq!(code(&client.receive().await), (json!(7), -32800));
    client.send(&[request("fits", "ping", json!({}))]).await;
    assert_eq!(client.receive().await, result("fits", json!({})));
}

#[tokio::test(start_paused = true)]
async fn r22_4_c98_a_cancel_in_the_same_read_as_its_request_works() {
    for options in [LSP, ACP] {
        let mut client = connect(options);
        client.send(&[request("p", "wait", json!({})), notification("$/cancelRequest", json!({"id": "p"}))]).await;
        assert_eq!(code(&client.receive().await), (json!("p"), -32800));
        client.send(&[request(7, "wait", json!({})), notification("$/cancel_request", json!({"requestId": 7}))]).await;
        assert_eq!(code(&client.receive().await), (json!(7), -32800));
        assert!(!client.alive.load(Ordering::SeqCst), "the future is dropped before the answer");
    }
}

#[tokio::test(start_paused = true)]
async fn r22_4_c98_what_winds_down_is_answered_when_it_has_ended() {
    let mut client = connect(LSP);
    client.send(&[request(1, "wind down", json!({})), notification("$/cancelRequest", json!({"id": 1}))]).await;
    assert_eq!(code(&client.receive().await), (json!(1), -32800));
    assert_eq!(*client.seen.lock().unwrap(), [json!("wound down")]);
}

#[tokio::test(start_paused = true)]
async fn r2_3_a_cancel_of_nothing_is_harmless() {
    let mut client = connect(LSP);
    client
        .send(&[
            notification("$/cancelRequest", json!({"id": 1})),
            request(1, "ping", json!({})),
            notification("$/cancelRequest", json!({"id": 1})),
            notification("$/cancelRequest", json!({"id": {}})),
            notification("$/cancelRequest", Value::Null),
            request(1, "ping", json!([])),
        ])
        .await;
    assert_eq!(client.rest().await, [result(1, json!({})), result(1, json!([]))]);
}

#[tokio::test(start_paused = true)]
async fn r2_3_an_id_in_use_is_refused_and_free_after_its_answer() {
    let mut client = connect(LSP);
    client.send(&[request("a", "wait", json!({})), request("a", "ping", json!({}))]).await;
    assert_eq!(code(&client.receive().await), (json!("a"), -32600));
    client.send(&[notification("$/cancelRequest", json!({"id": "a"}))]).await;
    assert_eq!(code(&client.receive().await), (json!("a"), -32800));
    client.send(&[request("a", "ping", json!({}))]).await;
    assert_eq!(client.receive().await, result("a", json!({})));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Requests of every kind and cancels in any order, split anywhere: one answer to each request, none to anything else.
    #[test]
    fn r2_3_exactly_one_answer_whatever_cancels_come(
        steps in prop::collection::vec((0_usize..9, prop::collection::vec(0_i64..40, 0..3)), 1..40),
        cut in any::<prop::sample::Index>(),
    ) {
        let methods =
            ["ping", "wait", "wind down", "soon", "null", "panic now", "panic later", "record at once", "nobody knows"];
        let mut bytes = Vec::new();
        for (id, (method, cancels)) in steps.iter().enumerate() {
            let mut messages = vec![request(id, methods[*method], json!({}))];
            messages.extend(cancels.iter().map(|id| notification("$/cancelRequest", json!({"id": id}))));
            bytes.extend(messages.iter().flat_map(|message| Framing::ContentLength.encode(message.to_string().as_bytes())));
        }
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        let answered = runtime.block_on(async {
            let mut client = connect(LSP);
            let cut = cut.index(bytes.len());
            client.raw(&bytes[..cut]).await;
            tokio::time::sleep(Duration::from_millis(60)).await;
            client.raw(&bytes[cut..]).await;
            client.rest().await
        });
        let mut ids: Vec<u64> = answered.iter().map(|answer| answer["id"].as_u64().unwrap()).collect();
        ids.sort_unstable();
        prop_assert_eq!(ids, (0..steps.len() as u64).collect::<Vec<_>>());
        for answer in &answered {
            prop_assert!(answer.get("result").is_some() != answer.get("error").is_some(), "{}", answer);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn c98_eight_waiting_handlers_and_two_hundred_changes_do_not_lock() {
    let mut client = connect_through(LSP, 4096);
    let mut asks = Vec::new();
    for id in 0..8 {
        client.send(&[request(id, "ask", json!({"id": id}))]).await;
        asks.push(client.receive().await);
    }
    for n in 0..200 {
        client.send(&[notification("change", json!([n]))]).await;
    }
    let replies: Vec<Value> =
        asks.iter().rev().map(|ask| result(ask["id"].clone(), ask["params"]["id"].clone())).collect();
    client.send(&replies).await;
    let mut answered = Vec::new();
    for _ in 0..8 {
        let answer = client.receive().await;
        assert_eq!(answer["result"]["client said"], answer["id"]);
        answered.push(answer["id"].as_i64().unwrap());
    }
    answered.sort_unstable();
    assert_eq!(answered, [0, 1, 2, 3, 4, 5, 6, 7]);
    client.send(&[notification("change", json!([200])), request("hover", "seen", json!({}))]).await;
    let expected: Vec<Value> = (0..=200).map(|n| json!(["change", [n]])).collect();
    assert_eq!(client.receive().await, result("hover", Value::Array(expected)));
}

#[tokio::test(start_paused = true)]
async fn r22_1_dropping_a_call_of_ours_sends_the_cancel_of_the_dialect() {
    for (options, method, key) in [(LSP, "$/cancelRequest", "id"), (ACP, "$/cancel_request", "requestId")] {
        let mut client = connect(options);
        client.send(&[request("asks", "ask", json!({}))]).await;
        let asked = client.receive().await;
        client.send(&[notification("$/cancelRequest", json!({"id": "asks"}))]).await;
        let cancel = client.receive().await;
        assert_eq!((&cancel["method"], &cancel["params"][key]), (&json!(method), &asked["id"]));
        assert_eq!(code(&client.receive().await), (json!("asks"), -32800));
        // Its answer comes too late, and one to nothing at all: both are ignored.
        client
            .send(&[
                result(asked["id"].clone(), json!(1)),
                result(999, json!(1)),
                result("x", json!(1)),
                request(1, "ping", json!({})),
            ])
            .await;
        assert_eq!(client.rest().await, [result(1, json!({}))]);
    }
}

/// Until the other side has done with it, whether it is waited for or not.
#[tokio::test(start_paused = true)]
async fn what_is_held_for_a_call_is_held_until_its_answer_or_the_end() {
    let mut client = connect(LSP);
    let peer = client.peer.clone();
    let call = || {
        let (held, free) = oneshot::channel::<()>();
        (Box::pin(peer.request_holding("ask", Value::Null, held)), free)
    };
    let ((mut answered, answered_free), (mut dropped, mut dropped_free), (mut ended, mut ended_free)) =
        (call(), call(), call());
    let mut ids = Vec::new();
    for call in [&mut answered, &mut dropped, &mut ended] {
        assert!(futures::poll!(call).is_pending());
        ids.push(client.receive().await["id"].clone());
    }
    client.send(&[result(ids[0].clone(), json!(1))]).await;
    assert_eq!(answered.await, Ok(json!(1)));
    assert!(answered_free.await.is_err());
    drop(dropped);
    assert_eq!(dropped_free.try_recv(), Err(oneshot::error::TryRecvError::Empty));
    client.send(&[result(ids[1].clone(), json!(1))]).await;
    assert!(dropped_free.await.is_err());
    drop(ended);
    assert_eq!(ended_free.try_recv(), Err(oneshot::error::TryRecvError::Empty));
    // Nothing was cancelled.
    peer.notify("update", Value::Null).await.unwrap();
    assert_eq!(client.receive().await["method"], "update");
    client.rest().await;
    assert!(ended_free.await.is_err());
    // And one that is not sent any more holds nothing.
    let (refused, refused_free) = call();
    assert_eq!(refused.await, Err(CallError::Closed));
    assert!(refused_free.await.is_err());
}

#[tokio::test(start_paused = true)]
async fn r22_5_one_writer_frames_never_mix() {
    let mut client = connect_through(LSP, 100);
    let senders: Vec<_> = (0..50_u64)
        .map(|n| {
            let peer = client.peer.clone();
            tokio::spawn(async move { peer.notify("update", json!({"n": n, "text": "é".repeat(300)})).await })
        })
        .collect();
    let mut numbers = Vec::new();
    for _ in 0..50 {
        let message = client.receive().await;
        assert_eq!(message["params"]["text"], "é".repeat(300));
        numbers.push(message["params"]["n"].as_u64().unwrap());
    }
    for sender in senders {
        sender.await.unwrap().unwrap();
    }
    numbers.sort_unstable();
    assert_eq!(numbers, (0..50).collect::<Vec<_>>());
}

#[tokio::test(start_paused = true)]
async fn r22_5_senders_wait_while_the_client_does_not_read() {
    let mut client = connect(LSP);
    let peer = client.peer.clone();
    let text = "x".repeat(1024 * 1024);
    let sender = tokio::spawn(async move {
        let mut sent = 0;
        while sent < 20 && peer.notify("update", json!([text])).await.is_ok() {
            sent += 1;
        }
        sent
    });
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(!sender.is_finished(), "the queue is bounded");
    for _ in 0..20 {
        assert_eq!(client.receive().await["method"], "update");
    }
    assert_eq!(sender.await.unwrap(), 20);
}

#[tokio::test(start_paused = true)]
async fn r22_6_end_of_input_ends_whatever_is_pending() {
    let mut client = connect(LSP);
    client
        .send(&[
            request(1, "wait", json!({})),
            request(2, "ignore cancel", json!({})),
            request(3, "wind down", json!({})),
        ])
        .await;
    client.send(&[request(4, "soon", json!({}))]).await;
    let messages = client.rest().await;
    let (end, took) = client.end().await;
    assert_eq!(end, End::Eof);
    assert!(took < Duration::from_secs(1), "{took:?}");
    assert!(!client.alive.load(Ordering::SeqCst), "every future is dropped");
    // What can end is answered, also after the end of the input.
    assert_eq!(messages[0], result(4, json!("done")));
    assert_eq!(messages[1..].iter().map(code).collect::<Vec<_>>(), [(json!(1), -32800), (json!(3), -32800)]);
}

#[tokio::test(start_paused = true)]
async fn r22_6_end_of_input_ends_although_the_client_reads_nothing() {
    let mut client = connect_through(LSP, 100);
    let peer = client.peer.clone();
    let blocked = tokio::spawn(async move {
        loop {
            peer.notify("update", json!(["x".repeat(1024 * 1024)])).await?;
        }
        #[expect(unreachable_code, reason = "names the type")]
        Ok::<(), super::super::error::Closed>(())
    });
    let asking = client.peer.clone();
    tokio::time::sleep(Duration::from_millis(10)).await;
    let asked = tokio::spawn(async move { asking.request("client/ask", Value::Null).await });
    tokio::time::sleep(Duration::from_millis(10)).await;
    client.close_input().await;
    let (end, took) = client.end().await;
    assert_eq!(end, End::Eof);
    assert!(took < Duration::from_millis(1500), "{took:?}");
    assert!(blocked.await.unwrap().is_err());
    assert_eq!(asked.await.unwrap(), Err(CallError::Closed));
}

#[tokio::test(start_paused = true)]
async fn r22_6_calls_that_wait_are_closed_after_their_requests_were_cancelled() {
    let mut client = connect(LSP);
    client.send(&[request(1, "ask to the end", json!({}))]).await;
    client.receive().await;
    client.close_input().await;
    let (end, took) = client.end().await;
    assert_eq!(end, End::Eof);
    assert!(took < Duration::from_secs(1), "{took:?}");
    // Nobody goes on with what only looks like an answer.
    assert_eq!(*client.seen.lock().unwrap(), [json!({ "cancelled": true, "closed": true })]);
    assert_eq!(client.peer.request("late", Value::Null).await, Err(CallError::Closed));
    assert_eq!(client.peer.notify("late", Value::Null).await, Err(super::super::error::Closed));
}

#[tokio::test(start_paused = true)]
async fn r22_6_our_own_end_writes_what_is_queued_and_reads_nothing_more() {
    let mut client = connect(LSP);
    client
        .send(&[request(1, "null", json!({})), notification("exit", Value::Null), request(2, "ping", json!({}))])
        .await;
    assert_eq!(client.next().await, Some(result(1, Value::Null)));
    assert_eq!(client.next().await, None);
    assert_eq!(client.end().await.0, End::Ended);
}

#[tokio::test(start_paused = true)]
async fn r22_6_dropping_the_connection_drops_what_belongs_to_it() {
    let mut client = connect(LSP);
    client.send(&[request(1, "ignore cancel", json!({})), request(2, "ask", json!({}))]).await;
    client.receive().await;
    client.served.abort();
    assert_eq!(client.next().await, None);
    assert!(!client.alive.load(Ordering::SeqCst));
}

#[tokio::test(start_paused = true)]
async fn r22_6_a_client_that_asks_without_end_and_reads_nothing_is_gone() {
    let mut client = connect_through(LSP, 1024 * 1024);
    let text = "x".repeat(1024 * 1024);
    let mut writer = client.writer.take().unwrap();
    let ask = Framing::ContentLength.encode(request(1, "ping", json!([text])).to_string().as_bytes());
    let mut written = 0;
    while writer.write_all(&ask).await.is_ok() {
        written += ask.len();
        assert!(written < 2 * super::super::MAX_QUEUED_OUTPUT, "the memory is bounded");
    }
    assert_eq!(client.end().await.0, End::WriteFailed);
}

#[tokio::test(start_paused = true)]
async fn r22_7_a_panic_costs_one_request() {
    let mut client = connect(LSP);
    let methods = ["panic now", "panic later", "panic in first poll"];
    for (id, method) in methods.iter().enumerate() {
        client.send(&[notification("panic", json!({})), request(id, method, json!({}))]).await;
        assert_eq!(code(&client.receive().await), (json!(id), -32603), "{method}");
    }
    client.send(&[request(9, "panic in drop", json!({})), notification("$/cancelRequest", json!({"id": 9}))]).await;
    assert_eq!(code(&client.receive().await), (json!(9), -32800));
    client.send(&[request(10, "ping", json!({}))]).await;
    assert_eq!(client.receive().await, result(10, json!({})));
}

#[tokio::test(start_paused = true)]
async fn r22_7_c99_unknown_methods_are_answered_and_unknown_notifications_are_not() {
    let input = [notification("nobody/knows", json!({})), request(1, "nobody/knows", json!({}))]
        .map(|m| framed(&m.to_string()));
    assert_eq!(codes(LSP, input.concat()).await, [(json!(1), -32601)]);
}

#[tokio::test(start_paused = true)]
async fn c99_a_malformed_body_costs_one_answer() {
    for (body, expected) in [
        ("{nonsense", -32700),
        ("", -32700),
        ("\"text\"", -32600),
        ("5", -32600),
        ("{}", -32600),
        ("[]", -32600),
        (r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, -32600),
        (r#"{"jsonrpc":"2.0","method":1}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":true,"method":"ping"}"#, -32600),
        (r#"{"jsonrpc":"1.0","method":"ping"}"#, -32600),
    ] {
        let answered = answers(LSP, framed(body) + &framed(&ping(1))).await;
        assert_eq!(answered.len(), 2, "{body}: {answered:?}");
        assert_eq!(code(&answered[0]), (Value::Null, expected), "{body}");
        assert_eq!(answered[1], result(1, Value::Null), "{body}");
    }
    let answered =
        answers(LSP, [b"Content-Length: 2\r\n\r\n\xFF\xFE".as_slice(), framed(&ping(1)).as_bytes()].concat()).await;
    assert_eq!((code(&answered[0]), &answered[1]), ((Value::Null, -32700), &result(1, Value::Null)));
}

#[tokio::test(start_paused = true)]
async fn c99_a_request_that_cannot_be_served_is_answered_under_its_id() {
    for body in [
        r#"{"jsonrpc":"2.0","id":4}"#,
        r#"{"jsonrpc":"2.0","id":4,"method":null}"#,
        r#"{"jsonrpc":"2.0","id":4,"method":"ping","params":5}"#,
        r#"{"jsonrpc":"2.0","id":4,"method":"ping","params":"text"}"#,
    ] {
        assert_eq!(codes(LSP, framed(body)).await, [(json!(4), -32600)], "{body}");
    }
}

#[tokio::test(start_paused = true)]
async fn c99_a_notification_is_never_answered() {
    let bodies = [
        r#"{"jsonrpc":"2.0","method":"change","params":5}"#,
        r#"{"jsonrpc":"2.0","method":"change"}"#,
        r#"{"jsonrpc":"2.0","method":"$/cancelRequest","params":[1]}"#,
        r#"{"jsonrpc":"2.0","method":"panic"}"#,
        r#"{"jsonrpc":"2.0","result":1}"#,
        r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"yours"}}"#,
    ];
    assert_eq!(answers(LSP, bodies.map(framed).concat()).await, [] as [Value; 0]);
}

#[tokio::test(start_paused = true)]
async fn c99_params_may_be_absent_null_or_an_array() {
    for (params, seen) in [("", json!(null)), (r#","params":null"#, json!(null)), (r#","params":[1]"#, json!([1]))] {
        let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ping"{params}}}"#);
        assert_eq!(answers(LSP, framed(&body)).await, [result(1, seen)]);
    }
}

#[tokio::test(start_paused = true)]
async fn c99_ids_are_echoed_as_they_were_written() {
    for id in [
        "null",
        "\"a \\\" é\"",
        "1.5",
        "1.0",
        "-0",
        "0",
        "-7",
        "9007199254740993",
        "123456789012345678901234567890",
        "1e2",
    ] {
        for framing in [LSP, ACP] {
            let mut client = connect(framing);
            let body = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"null"}}"#);
            client.raw(framing.framing.encode(body.as_bytes())).await;
            client.close_input().await;
            let mut bytes = Vec::new();
            client.reader.read_to_end(&mut bytes).await.unwrap();
            let expected = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":null}}"#);
            assert_eq!(
                String::from_utf8(bytes).unwrap(),
                String::from_utf8(framing.framing.encode(expected.as_bytes())).unwrap()
            );
        }
    }
}

#[tokio::test(start_paused = true)]
async fn c99_half_of_a_surrogate_pair_does_not_lose_the_message() {
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":["a\ud83db","\ud83d\ude00","\\ud83d","\udc00"]}"#;
    assert_eq!(answers(LSP, framed(body)).await, [result(1, json!(["a\u{fffd}b", "😀", "\\ud83d", "\u{fffd}"]))]);
}

#[tokio::test(start_paused = true)]
async fn c99_headers_in_any_order_case_and_line_end() {
    let (body, length) = (ping(1), ping(1).len());
    for headers in [
        format!("Content-Type: application/vscode-jsonrpc; charset=utf-8\r\nContent-Length: {length}\r\n\r\n"),
        format!("content-length:{length}\r\ncontent-type: text\r\n\r\n"),
        format!("CONTENT-LENGTH :  {length}  \r\n\r\n"),
        format!("Content-Length: {length}\n\n"),
        format!("\r\n\r\nContent-Length: {length}\r\nX-Other: 1\r\n\r\n"),
        // Some dependency of the client prints.
        format!("Warning: something odd\nContent-Length: {length}\r\n\r\n"),
    ] {
        assert_eq!(answers(LSP, format!("{headers}{body}")).await, [result(1, Value::Null)], "{headers:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn c99_the_length_counts_bytes_and_frames_may_share_a_read() {
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":["é😀"]}"#;
    let answered = answers(LSP, framed(body) + &framed(&ping(2))).await;
    assert_eq!(answered, [result(1, json!(["é😀"])), result(2, Value::Null)]);
}

#[tokio::test(start_paused = true)]
async fn c99_garbage_between_frames_costs_one_answer() {
    for garbage in [
        "what is this?\r\n".to_owned(),
        "one line\nand another\n\n".to_owned(),
        "no line end at all".to_owned(),
        // A frame whose length was too short leaves its end before the next header.
        "\"}}".to_owned(),
        "Content-Type: text\r\n\r\n{\"jsonrpc\":\"2.0\"}".to_owned(),
        "Content-Length: many\r\n\r\n{}".to_owned(),
        "Content-Length: -1\r\n\r\n{}".to_owned(),
        "Content-Length: 99999999999999999999\r\n\r\n{}".to_owned(),
        "x".repeat(100_000),
    ] {
        let answered = answers(LSP, framed(&ping(1)) + &garbage + &framed(&ping(2))).await;
        let shown = &garbage[..garbage.len().min(40)];
        assert_eq!(answered.len(), 3, "{shown:?}: {answered:?}");
        assert_eq!(answered[0], result(1, Value::Null), "{shown:?}");
        assert_eq!(code(&answered[1]), (Value::Null, -32700), "{shown:?}");
        assert_eq!(answered[2], result(2, Value::Null), "{shown:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn c99_a_wrong_length_costs_one_answer() {
    for wrong in [-10_i64, -1, 3, 8] {
        let (first, second) = (ping(1), ping(2));
        let bytes = format!("Content-Length: {}\r\n\r\n{first}", first.len() as i64 + wrong)
            + &framed(&second)
            + &framed(&ping(3));
        let answered = answers(LSP, bytes).await;
        assert_eq!(
            answered.iter().filter(|answer| answer.get("error").is_some()).map(code).collect::<Vec<_>>(),
            [(Value::Null, -32700)],
            "{wrong}"
        );
        assert_eq!(answered.last(), Some(&result(3, Value::Null)), "{wrong}");
    }
}

#[tokio::test(start_paused = true)]
async fn c99_a_body_over_the_limit_is_skipped() {
    for (options, separator) in [(LSP, ""), (ACP, "\n")] {
        let big = format!("\"{}\"", "x".repeat(MAX_BODY));
        let big = match options.framing {
            Framing::ContentLength => framed(&big),
            Framing::Lines => big + separator,
        };
        let small = options.framing.encode(ping(1).as_bytes());
        let answered = answers(options, [big.as_bytes(), &small].concat()).await;
        assert_eq!(answered.len(), 2);
        assert_eq!(code(&answered[0]), (Value::Null, -32600));
        assert_eq!(answered[1], result(1, Value::Null));
    }
}

/// Wherever the id stands, and whatever else bears that name.
#[tokio::test(start_paused = true)]
async fn r2_3_a_request_over_the_limit_is_answered_under_its_own_id() {
    let text = "x".repeat(MAX_BODY);
    let messages = [
        (r#"{"jsonrpc":"2.0","id":7,"method":"session/prompt","params":["TEXT"]}"#, json!(7)),
        (r#"{ "method" : "session/prompt" , "params": {"id": 1, "text": "TEXT"}, "id" : "a\"}" }"#, json!("a\"}")),
        (r#"{"params":{"\"id":"{\\\"id\":9,","text":"TEXT"},"id":8}"#, json!(8)),
        (r#"{"id":{"id":3},"method":"m","params":"TEXT"}"#, Value::Null),
        (r#"{"method":"m","params":{"id":3,"text":"TEXT"}}"#, Value::Null),
        (r#"{"id":"TEXT","method":"m"}"#, Value::Null),
        (r#"[{"id":5,"method":"m","params":"TEXT"}]"#, Value::Null),
    ];
    for (message, id) in messages {
        for options in [LSP, ACP] {
            let big = options.framing.encode(message.replace("TEXT", &text).as_bytes());
            let small = options.framing.encode(ping(1).as_bytes());
            let answered = answers(options, [big, small].concat()).await;
            assert_eq!(answered.len(), 2, "{message}");
            assert_eq!(code(&answered[0]), (id.clone(), -32600), "{message}");
            assert_eq!(answered[1], result(1, Value::Null), "{message}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn r2_3_an_answer_over_the_limit_ends_the_request_that_waits_for_it() {
    for (options, member) in [(LSP, "result"), (ACP, "error")] {
        let mut client = connect_through(options, 64 * 1024 * 1024);
        client.send(&[request(1, "ask", json!({}))]).await;
        let asked = client.receive().await;
        client.send(&[json!({"jsonrpc": "2.0", member: "x".repeat(MAX_BODY), "id": asked["id"]})]).await;
        let ended = client.receive().await;
        assert_eq!(code(&ended), (json!(1), -32600));
        assert!(ended["error"]["message"].as_str().unwrap().contains("longer than"), "{ended}");
    }
}

#[tokio::test(start_paused = true)]
async fn c99_garbage_without_end_loses_the_framing() {
    let mut client = connect_through(LSP, 64 * 1024 * 1024);
    client.raw("x".repeat(2 * MAX_BODY)).await;
    assert_eq!(code(&client.receive().await), (Value::Null, -32700));
    assert_eq!(client.end().await.0, End::FramingLost);
}

#[tokio::test(start_paused = true)]
async fn c99_lines_skip_blanks_and_marks_and_answer_garbage() {
    let input = format!("\u{feff}{}\r\n\n  \r\n{}\nnonsense\n{{\n{}\n", ping(1), ping(2), ping(3));
    let answered = answers(ACP, input).await;
    assert_eq!(answered.len(), 5, "{answered:?}");
    assert_eq!(answered[..2], [result(1, Value::Null), result(2, Value::Null)]);
    assert_eq!(answered[2..4].iter().map(code).collect::<Vec<_>>(), [(Value::Null, -32700), (Value::Null, -32700)]);
    assert_eq!(answered[4], result(3, Value::Null));
}

#[tokio::test]
async fn what_follows_an_answer_comes_behind_it_and_never_behind_an_error() {
    let mut client = connect(ACP);
    for (later, fails) in [(false, true), (true, true), (false, false), (true, false)] {
        client.send(&[request(1, "followed", json!({ "later": later, "fails": fails }))]).await;
        let answer = client.receive().await;
        assert_eq!((answer["id"].clone(), answer["error"].is_object()), (json!(1), fails), "{answer}");
        if !fails {
            assert_eq!(client.receive().await["method"], "client/follows", "{later}");
        }
    }
    assert_eq!(client.rest().await, Vec::<Value>::new());
}
