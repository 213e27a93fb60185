//! The model, played by the test or by a script. Both check every request as the strictest provider would.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use futures::StreamExt;
use futures::stream::{self, BoxStream};
use tokio::sync::mpsc;

use super::{Boundaries, LIMIT, check_request, lock};
use crate::message::{Finish, Usage};
use crate::ports::{Model, ModelError, ModelErrorKind, ModelEvent, ModelRequest};

type Event = Result<ModelEvent, ModelError>;

/// A model whose requests wait for the test: `FakeModel::new` gives the port and the player's end.
pub struct FakeModel {
    requests: mpsc::UnboundedSender<Reply>,
    faults: Arc<Mutex<Vec<String>>>,
}

/// The test's end. Dropping it fails the test where a request was not valid.
pub struct ModelPlayer {
    requests: mpsc::UnboundedReceiver<Reply>,
    faults: Arc<Mutex<Vec<String>>>,
}

/// A request, and how it is answered. Dropping it ends the stream without a finish.
#[derive(Debug)]
pub struct Reply {
    pub request: ModelRequest,
    events: mpsc::UnboundedSender<Event>,
    /// Calls that are complete.
    called: AtomicUsize,
}

impl FakeModel {
    pub fn new() -> (Arc<Self>, ModelPlayer) {
        let (sender, requests) = mpsc::unbounded_channel();
        let faults = Arc::<Mutex<Vec<String>>>::default();
        let model = Self { requests: sender, faults: faults.clone() };
        (Arc::new(model), ModelPlayer { requests, faults })
    }
}

impl Model for FakeModel {
    fn stream(&self, request: ModelRequest) -> BoxStream<'static, Event> {
        if let Err(fault) = check_request(&request) {
            lock(&self.faults).push(fault.clone());
            return refused(fault);
        }
        let (events, receiver) = mpsc::unbounded_channel();
        if self.requests.send(Reply { request, events, called: AtomicUsize::new(0) }).is_err() {
            return refused("nobody plays the model any more".to_owned());
        }
        stream::unfold(receiver, |mut receiver| async move { receiver.recv().await.map(|event| (event, receiver)) })
            .boxed()
    }
}

impl ModelPlayer {
    /// Waits for the next request; fails the test after `LIMIT`.
    pub async fn next_request(&mut self) -> Reply {
        match tokio::time::timeout(LIMIT, self.requests.recv()).await {
            Ok(Some(reply)) => reply,
            Ok(None) => panic!("the model is gone"),
            Err(_) => panic!("no request came; faults: {:?}", lock(&self.faults)),
        }
    }

    /// A request that has come and was not taken yet.
    pub fn waiting(&mut self) -> Option<Reply> {
        self.requests.try_recv().ok()
    }
}

impl Drop for ModelPlayer {
    fn drop(&mut self) {
        let faults = lock(&self.faults);
        assert!(std::thread::panicking() || faults.is_empty(), "requests were not valid: {faults:#?}");
    }
}

impl Reply {
    pub fn send(&self, event: ModelEvent) -> &Self {
        // A cancelled request has no receiver any more, which is not the player's fault.
        let _ = self.events.send(Ok(event));
        self
    }

    pub fn text(&self, text: &str) -> &Self {
        self.send(ModelEvent::Text(text.to_owned()))
    }

    pub fn reasoning(&self, text: &str) -> &Self {
        self.send(ModelEvent::Reasoning { text: text.to_owned(), signature: None })
    }

    pub fn progress(&self, slot: usize, name: &str, arguments: &str) -> &Self {
        self.send(ModelEvent::CallProgress { slot, name: name.to_owned(), arguments: arguments.to_owned() })
    }

    /// The next call of the reply: slots count from 0.
    pub fn call(&self, provider_id: &str, name: &str, arguments: &str) -> &Self {
        let slot = self.called.fetch_add(1, Ordering::Relaxed);
        self.call_of(slot, provider_id, name, arguments)
    }

    pub fn call_of(&self, slot: usize, provider_id: &str, name: &str, arguments: &str) -> &Self {
        self.send(ModelEvent::Call {
            slot,
            provider_id: Some(provider_id.to_owned()),
            name: name.to_owned(),
            arguments: arguments.to_owned(),
        })
    }

    pub fn usage(&self, input: u64, output: u64) -> &Self {
        self.send(ModelEvent::Usage(Usage { input, output, ..Usage::default() }))
    }

    pub fn finish(self, reason: Finish) {
        self.send(ModelEvent::Finish(reason));
    }

    pub fn fail(self, kind: ModelErrorKind, message: &str) {
        let _ = self.events.send(Err(ModelError { kind, message: message.to_owned() }));
    }

    /// Whether the engine has dropped the request.
    pub fn is_cancelled(&self) -> bool {
        self.events.is_closed()
    }

    /// Resolves when the engine has dropped the request.
    pub async fn cancelled(&self) {
        self.events.closed().await;
    }
}

/// A model that answers from a list, one reply a request, and ticks at each event. After the list it says `done`.
pub struct ScriptedModel {
    replies: Mutex<VecDeque<Vec<Event>>>,
    boundaries: Boundaries,
    requests: Mutex<Vec<ModelRequest>>,
    faults: Mutex<Vec<String>>,
}

impl ScriptedModel {
    pub fn new(replies: Vec<Vec<Event>>, boundaries: Boundaries) -> Arc<Self> {
        Arc::new(Self {
            replies: Mutex::new(replies.into()),
            boundaries,
            requests: Mutex::default(),
            faults: Mutex::default(),
        })
    }

    pub fn requests(&self) -> Vec<ModelRequest> {
        lock(&self.requests).clone()
    }

    /// From now on it says `done`.
    pub fn forget_replies(&self) {
        lock(&self.replies).clear();
    }

    pub fn faults(&self) -> Vec<String> {
        lock(&self.faults).clone()
    }
}

impl Model for ScriptedModel {
    fn stream(&self, request: ModelRequest) -> BoxStream<'static, Event> {
        let valid = check_request(&request);
        lock(&self.requests).push(request);
        self.boundaries.tick();
        if let Err(fault) = valid {
            lock(&self.faults).push(fault.clone());
            return refused(fault);
        }
        let done = || vec![Ok(ModelEvent::Text("done".to_owned())), Ok(ModelEvent::Finish(Finish::Stop))];
        let reply = lock(&self.replies).pop_front().unwrap_or_else(done);
        let boundaries = self.boundaries.clone();
        stream::iter(reply).inspect(move |_| boundaries.tick()).boxed()
    }
}

fn refused(fault: String) -> BoxStream<'static, Event> {
    stream::iter([Err(ModelError { kind: ModelErrorKind::Invalid, message: format!("not valid: {fault}") })]).boxed()
}
