//! One server for one root: an actor that starts it at the first question, keeps its documents in step, and starts it again after a crash, later each time.
//! Whoever asks has a limit of his own and is never made to wait for a start.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use copydesk_engine::ports::DiagnosticsReport;
use copydesk_protocol::rpc::{self, CancelDialect, Closed, End, Framing, Options, Peer};
use copydesk_workspace::path::AbsPath;
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{Instant, timeout, timeout_at};
use tokio_util::sync::CancellationToken;

use super::client::{Line, LspClient, ServerMessages, Text};
use super::known::{Enough, Found, Known};
use super::process::{Launch, ServerProcess, Transport};

/// A server that is not up by then never will be.
const INITIALIZE: Duration = Duration::from_secs(45);
/// After the first crash; twice as long after each further one.
const BACK_OFF: Duration = Duration::from_secs(1);
/// Starts in a row that come to nothing; then it is left alone.
const MOST_FAILURES: u32 = 5;
/// Told to nobody so far.
const MOST_TROUBLES: usize = 16;
/// Questions that wait for the actor; more are not ready.
const MAILBOX: usize = 16;
/// From the actor's last look to the end of the asker's patience.
const HANDOVER: Duration = Duration::from_millis(50);
/// A server that does not read for so long never will.
const DEAF: Duration = Duration::from_secs(20);
/// How long an answer is awaited for those who ask later.
const PULL: Duration = Duration::from_secs(10);

/// Starts a server; the tests' one has no process.
pub(super) type Launcher = Arc<dyn Fn(&Launch) -> io::Result<Transport> + Send + Sync>;

/// What the actor needs to start its server.
pub(super) struct Recipe {
    pub(super) name: String,
    pub(super) launch: Launch,
    pub(super) root: AbsPath,
    pub(super) initialization: Value,
    pub(super) launcher: Launcher,
    pub(super) troubles: Troubles,
}

/// What the user is to be told of servers, each once.
#[derive(Debug, Clone, Default)]
pub(super) struct Troubles(Arc<Mutex<Vec<String>>>);

impl Troubles {
    pub(super) fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The last are kept, where nobody takes them.
    fn tell(&self, text: String) {
        let mut troubles = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if troubles.len() >= MOST_TROUBLES {
            troubles.remove(0);
        }
        troubles.push(text);
    }
}

/// Cheap to clone; the actor ends with `closing`, or when all handles are gone.
#[derive(Clone)]
pub(super) struct ServerHandle {
    name: Arc<str>,
    questions: mpsc::Sender<Message>,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    /// Of the start that is in force.
    known: Mutex<Option<Arc<Known>>>,
    given_up: AtomicBool,
    /// Not started again before.
    down_until: Mutex<Option<Instant>>,
}

enum Message {
    Problems(Question),
    Line(LineWanted),
}

/// To a server that has just these texts.
struct LineWanted {
    texts: Vec<Text>,
    /// None where there is no server.
    reply: oneshot::Sender<Option<Line>>,
}

struct Question {
    target: Text,
    /// Further texts that differ from their files.
    others: Vec<Text>,
    deadline: Instant,
    reply: oneshot::Sender<DiagnosticsReport>,
}

impl ServerHandle {
    pub(super) fn start(recipe: Recipe, closing: CancellationToken) -> (Self, impl Future<Output = ()> + Send) {
        let (questions, mailbox) = mpsc::channel(MAILBOX);
        let (name, shared) = (recipe.name.as_str().into(), Arc::new(Shared::default()));
        let actor = Actor {
            recipe,
            closing,
            shared: Arc::clone(&shared),
            running: None,
            failures: 0,
            not_before: Instant::now(),
        };
        (Self { name, questions, shared }, actor.run(mailbox))
    }

    /// It failed, and is left alone for now or for good.
    pub(super) fn is_down(&self) -> bool {
        let until = *self.shared.down_until.lock().unwrap_or_else(PoisonError::into_inner);
        self.shared.given_up.load(Ordering::Relaxed) || until.is_some_and(|until| Instant::now() < until)
    }

    /// What is known already. Without it the server is told of the text, so that it can begin.
    pub(super) fn known(&self, target: Text, others: Vec<Text>) -> DiagnosticsReport {
        if self.shared.given_up.load(Ordering::Relaxed) {
            return DiagnosticsReport::Unavailable;
        }
        let known = self.shared.known.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(found) = known.and_then(|known| known.report(&target.path, &target.text, Enough::Answered)) {
            return report(found, &self.name);
        }
        let (reply, _) = oneshot::channel();
        // Full: it has enough to do.
        let question = Question { target, others, deadline: Instant::now(), reply };
        let _ = self.questions.try_send(Message::Problems(question));
        DiagnosticsReport::NotReady
    }

    pub(super) async fn ask(&self, target: Text, others: Vec<Text>, wait: Duration) -> DiagnosticsReport {
        let deadline = Instant::now() + wait;
        let (reply, answer) = oneshot::channel();
        let answered_by = Instant::now() + wait.saturating_sub(HANDOVER);
        let question = Question { target, others, deadline: answered_by, reply };
        if self.questions.try_send(Message::Problems(question)).is_err() {
            return DiagnosticsReport::NotReady;
        }
        match timeout_at(deadline, answer).await {
            Ok(Ok(report)) => report,
            Ok(Err(_)) | Err(_) => DiagnosticsReport::NotReady,
        }
    }

    /// A line to the server once it has these texts; waits as long as it takes to start. `None` where it cannot be had.
    pub(super) async fn line(&self, texts: Vec<Text>) -> Option<Line> {
        let (reply, line) = oneshot::channel();
        self.questions.send(Message::Line(LineWanted { texts, reply })).await.ok()?;
        line.await.ok().flatten()
    }
}

struct Actor {
    recipe: Recipe,
    closing: CancellationToken,
    shared: Arc<Shared>,
    running: Option<Running>,
    /// Since a server last said something of use.
    failures: u32,
    not_before: Instant,
}

struct Running {
    client: LspClient,
    known: Arc<Known>,
    connection: JoinHandle<End>,
    process: Option<ServerProcess>,
    /// Those who wait for answers; they end with the server.
    waiting: JoinSet<bool>,
}

enum Event {
    Asked(Message),
    /// Somebody got an answer, or did not.
    Answered(bool),
    Ended,
    /// It owes the answer to a command that nobody waits for, and others are held up.
    Stuck,
    Closing,
}

impl Actor {
    async fn run(mut self, mut mailbox: mpsc::Receiver<Message>) {
        loop {
            match self.next(&mut mailbox).await {
                Event::Asked(Message::Problems(question)) => self.take(question).await,
                Event::Asked(Message::Line(wanted)) => self.give_line(wanted).await,
                Event::Answered(true) => self.failures = 0,
                Event::Answered(false) => {}
                Event::Ended => self.crashed().await,
                Event::Stuck => self.give_up().await,
                Event::Closing => break,
            }
        }
        if let Some(running) = self.running.take() {
            running.shut_down().await;
        }
    }

    async fn next(&mut self, mailbox: &mut mpsc::Receiver<Message>) -> Event {
        let asked = |question: Option<Message>| question.map_or(Event::Closing, Event::Asked);
        let Some(running) = &mut self.running else {
            return tokio::select! {
                biased;
                () = self.closing.cancelled() => Event::Closing,
                question = mailbox.recv() => asked(question),
            };
        };
        tokio::select! {
            biased;
            () = self.closing.cancelled() => Event::Closing,
            // However the connection ended: a panic in it is logged by the runtime.
            _ = &mut running.connection => Event::Ended,
            () = running.known.stuck() => Event::Stuck,
            Some(answered) = running.waiting.join_next() => Event::Answered(answered.unwrap_or(false)),
            question = mailbox.recv() => asked(question),
        }
    }

    async fn take(&mut self, question: Question) {
        if self.running.is_none() {
            self.start().await;
        }
        let Some(running) = &mut self.running else {
            // Whoever asked has gone on, or asks somebody else now.
            let _ = question.reply.send(DiagnosticsReport::Unavailable);
            return;
        };
        let Question { target, mut others, deadline, reply } = question;
        others.retain(|text| text.path != target.path);
        others.push(target.clone());
        if sync(running, others, &self.closing).await.is_err() {
            return self.crashed().await;
        }
        let (pull, known) = (running.client.pull(target.path.clone()), Arc::clone(&running.known));
        let (name, awaited) = (self.recipe.name.clone(), known.wait_for(target.path.clone()));
        running.waiting.spawn(async move {
            let answer = async {
                let found = timeout_at(deadline, known.reported(&target.path, &target.text)).await.ok().flatten();
                let found = found.or_else(|| known.report(&target.path, &target.text, Enough::Anything));
                let is_ready = found.is_some();
                drop(awaited);
                // Whoever asked may have gone on.
                let _ = reply.send(found.map_or(DiagnosticsReport::NotReady, |found| report(found, &name)));
                is_ready
            };
            // The answer is of use to the next one who asks, even if it is late.
            tokio::join!(answer, timeout(PULL, pull)).0
        });
    }

    async fn give_line(&mut self, LineWanted { texts, reply }: LineWanted) {
        if self.running.is_none() {
            self.start().await;
        }
        let line = match &mut self.running {
            None => None,
            Some(running) => match sync(running, texts, &self.closing).await {
                Ok(()) => Some(running.client.line(&self.recipe.name)),
                Err(_) => {
                    self.crashed().await;
                    None
                }
            },
        };
        // Whoever asked may have gone on.
        let _ = reply.send(line);
    }

    async fn start(&mut self) {
        if self.shared.given_up.load(Ordering::Relaxed) || Instant::now() < self.not_before {
            return;
        }
        let known = Arc::new(Known::new());
        let transport = match (self.recipe.launcher)(&self.recipe.launch) {
            Ok(transport) => transport,
            Err(error) => {
                tracing::warn!(server = self.recipe.name, %error, "a language server could not be started");
                return self.failed();
            }
        };
        let Transport { reader, writer, process } = transport;
        let messages = ServerMessages {
            known: Arc::clone(&known),
            root: self.recipe.root.clone(),
            settings: self.recipe.initialization.clone(),
        };
        let (sender, peer) = oneshot::channel::<Peer>();
        let options = Options { framing: Framing::ContentLength, cancel: CancelDialect::Lsp };
        let connection = tokio::spawn(rpc::serve(reader, writer, options, move |peer| {
            // Nobody waits for it where the daemon ends.
            let _ = sender.send(peer);
            Arc::new(messages)
        }));
        let initialize = async {
            let peer = peer.await.map_err(|_| rpc::CallError::Closed)?;
            LspClient::initialize(peer, Arc::clone(&known), &self.recipe.root, &self.recipe.initialization).await
        };
        let initialized = tokio::select! {
            biased;
            () = self.closing.cancelled() => None,
            initialized = timeout(INITIALIZE, initialize) => Some(initialized),
        };
        match initialized {
            Some(Ok(Ok(client))) => {
                *self.shared.known.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&known));
                *self.shared.down_until.lock().unwrap_or_else(PoisonError::into_inner) = None;
                self.running = Some(Running { client, known, connection, process, waiting: JoinSet::new() });
            }
            Some(failure) => {
                let error = match failure {
                    Ok(Err(error)) => error.to_string(),
                    _ => "no answer to `initialize`".to_owned(),
                };
                let last_words = process.as_ref().map(ServerProcess::last_words).unwrap_or_default();
                tracing::warn!(server = self.recipe.name, error, last_words, "a language server did not start");
                connection.abort();
                end(process).await;
                self.failed();
            }
            None => {
                connection.abort();
                end(process).await;
            }
        }
    }

    async fn crashed(&mut self) {
        if self.stop("a language server has ended").await {
            self.failed();
        }
    }

    /// It is started anew by the next question, without a wait: what ran until now has worked.
    async fn give_up(&mut self) {
        self.stop("a language server stays at a command that was given up").await;
        *self.shared.known.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Whether there was one.
    async fn stop(&mut self, why: &str) -> bool {
        let Some(running) = self.running.take() else { return false };
        if running.known.has_answered() {
            self.failures = 0;
        }
        let last_words = running.process.as_ref().map(ServerProcess::last_words).unwrap_or_default();
        tracing::warn!(server = self.recipe.name, last_words, "{why}");
        running.connection.abort();
        end(running.process).await;
        true
    }

    fn failed(&mut self) {
        *self.shared.known.lock().unwrap_or_else(PoisonError::into_inner) = None;
        self.not_before = Instant::now() + BACK_OFF * 2_u32.saturating_pow(self.failures);
        *self.shared.down_until.lock().unwrap_or_else(PoisonError::into_inner) = Some(self.not_before);
        self.failures += 1;
        if self.failures >= MOST_FAILURES {
            tracing::warn!(server = self.recipe.name, "a language server is left alone: it ends again and again");
            self.shared.given_up.store(true, Ordering::Relaxed);
            self.recipe.troubles.tell(format!(
                "The language server {} failed {MOST_FAILURES} times in {} and is left alone until Copydesk is started again; `copydesk logs` has its last words.",
                self.recipe.name, self.recipe.root
            ));
        }
    }
}

impl Running {
    async fn shut_down(self) {
        self.client.shut_down().await;
        // The connection writes what is queued, then closes the server's input.
        let _ = self.connection.await;
        end(self.process).await;
    }
}

/// The server has these texts, or will have read them by and by. `Closed` also where it reads nothing: it is ended then.
async fn sync(running: &mut Running, texts: Vec<Text>, closing: &CancellationToken) -> Result<(), Closed> {
    tokio::select! {
        biased;
        () = closing.cancelled() => return Err(Closed),
        synced = timeout(DEAF, running.client.sync(texts)) => synced.unwrap_or(Err(Closed))?,
    }
    if let Some(read) = running.client.read() {
        running.waiting.spawn(async move {
            read.await;
            false
        });
    }
    Ok(())
}

fn report(found: Found, server: &str) -> DiagnosticsReport {
    match found {
        Found::Certain(found) => DiagnosticsReport::Ready(found),
        Found::Presumed(found) => {
            DiagnosticsReport::Partly { found, missing: Vec::new(), presumed: vec![server.to_owned()] }
        }
        // What is not among them may come yet: nothing is fixed by its absence.
        Found::Unsettled(found) => {
            DiagnosticsReport::Partly { found, missing: vec![server.to_owned()], presumed: vec![server.to_owned()] }
        }
    }
}

async fn end(process: Option<ServerProcess>) {
    if let Some(process) = process {
        process.end().await;
    }
}

#[cfg(test)]
#[path = "server_tests.rs"]
mod tests;
