//! A model server for tests on a loopback port that the system gives: OpenAI-compatible Chat Completions and Anthropic's Messages, from the same scripts. It is
//! as strict as the strictest provider: a request that one of them would refuse is answered 400 and fails the test.

mod events;
mod gate;
mod http;
mod reply;
mod rules;
mod script;
mod wire;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};

pub use gate::Gate;
pub use http::SeenRequest;
pub use reply::Reply;
pub use script::{Script, ScriptFile};
pub use wire::Wire;

use self::events::Events;
use self::reply::Outcome;

/// No wait of a test is longer.
const LIMIT: Duration = Duration::from_secs(30);

/// Ends with its owner. What was wrong with a request fails the test in `finish`, at the latest in `drop`.
pub struct ScriptedModel {
    port: u16,
    shared: Arc<Shared>,
    accepting: JoinHandle<()>,
}

struct Shared {
    script: Mutex<Script>,
    log: Mutex<Log>,
    /// Bumped with each change of the log.
    changed: watch::Sender<()>,
}

#[derive(Default)]
struct Log {
    requests: Vec<SeenRequest>,
    violations: Vec<String>,
    /// Replies that the client did not wait for.
    abandoned: usize,
}

impl ScriptedModel {
    pub async fn start(script: impl Into<Script>) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a loopback port");
        let port = listener.local_addr().expect("an address").port();
        let shared = Arc::new(Shared {
            script: Mutex::new(script.into()),
            log: Mutex::default(),
            changed: watch::Sender::new(()),
        });
        let accepting = tokio::spawn(accept(listener, Arc::clone(&shared)));
        Self { port, shared, accepting }
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// For `provider.….options.baseURL`.
    pub fn base_url(&self) -> String {
        format!("http://127.0.0.1:{}/v1", self.port)
    }

    /// All requests so far, those that broke a rule included.
    pub fn requests(&self) -> Vec<SeenRequest> {
        self.shared.log().requests.clone()
    }

    /// The same, once there are `count` of them.
    pub async fn wait_for_requests(&self, count: usize) -> Vec<SeenRequest> {
        self.wait_until(&format!("{count} requests"), |log| log.requests.len() >= count).await;
        self.requests()
    }

    /// Until the client has closed its connection in the middle of `count` replies, e.g. by a cancel.
    pub async fn wait_for_abandoned(&self, count: usize) {
        self.wait_until(&format!("{count} abandoned replies"), |log| log.abandoned >= count).await;
    }

    /// What was wrong with the requests so far.
    pub fn violations(&self) -> Vec<String> {
        self.shared.log().violations.clone()
    }

    /// For tests of what the server refuses: takes the violations, so that they fail nothing.
    pub fn take_violations(&self) -> Vec<String> {
        std::mem::take(&mut self.shared.log().violations)
    }

    /// Fails unless every request kept the rules and every reply of the script was asked for.
    #[track_caller]
    pub fn finish(self) {
        self.assert_no_violations();
        let left = self.shared.script().left();
        assert!(left == 0, "{left} replies of the script were never asked for");
    }

    #[track_caller]
    fn assert_no_violations(&self) {
        let violations = self.take_violations();
        assert!(violations.is_empty(), "a strict provider would have refused:\n{}", violations.join("\n"));
    }

    async fn wait_until(&self, what: &str, reached: impl Fn(&Log) -> bool) {
        let mut changed = self.shared.changed.subscribe();
        let waiting = async {
            while !reached(&self.shared.log()) {
                changed.changed().await.expect("the sender lives in self");
            }
        };
        if tokio::time::timeout(LIMIT, waiting).await.is_err() {
            let log = self.shared.log();
            panic!("waited in vain for {what}; requests: {}, violations: {:?}", log.requests.len(), log.violations);
        }
    }
}

impl Drop for ScriptedModel {
    fn drop(&mut self) {
        self.accepting.abort();
        if !std::thread::panicking() {
            self.assert_no_violations();
        }
    }
}

impl Shared {
    fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn script(&self) -> MutexGuard<'_, Script> {
        self.script.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, change: impl FnOnce(&mut Log)) {
        change(&mut self.log());
        self.changed.send_replace(());
    }

    /// Recorded, judged, and answered by the script where it keeps the rules.
    fn answer(&self, request: &SeenRequest) -> (Reply, Events) {
        let number = self.log().requests.len() + 1;
        let mut violations = rules::check(request);
        let mut reply = None;
        if violations.is_empty() {
            match self.script().next(request) {
                Ok(next) => reply = Some(next),
                Err(problem) => violations.push(problem),
            }
        }
        let refusal = Reply::refuse(400, &violations.join("; "));
        self.note(|log| {
            log.requests.push(request.clone());
            log.violations.extend(violations.iter().map(|violation| format!("request {number}: {violation}")));
        });
        let (reply, number) = reply.unwrap_or((refusal, number));
        (reply, Events::new(request.wire().unwrap_or(Wire::ChatCompletions), number))
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        connections.spawn(serve(stream, Arc::clone(&shared)));
        while connections.try_join_next().is_some() {}
    }
}

async fn serve(mut stream: TcpStream, shared: Arc<Shared>) {
    // Each piece is a packet of its own, so that clients see the stream as it is written.
    let _ = stream.set_nodelay(true);
    let mut buffer = Vec::new();
    loop {
        let request = match http::read_request(&mut stream, &mut buffer).await {
            Ok(Some(request)) => request,
            Ok(None) => return,
            Err(problem) => {
                shared.note(|log| log.violations.push(problem));
                return;
            }
        };
        let (reply, events) = shared.answer(&request);
        match reply.write(events, &mut stream).await {
            Outcome::Sent => {}
            Outcome::Cut => return,
            Outcome::Abandoned => {
                shared.note(|log| log.abandoned += 1);
                return;
            }
        }
    }
}

#[cfg(test)]
#[path = "scripted_model/scripted_model_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "scripted_model/messages_tests.rs"]
mod messages_tests;
