//! A client that records what it is told, and hands its asks to the test.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use tokio::sync::{mpsc, oneshot, watch};

use super::{Boundaries, LIMIT, lock};
use crate::event::SessionEvent;
use crate::ids::SessionId;
use crate::inquiry::{self, Inquiry, InquiryOutcome};
use crate::ports::{Ask, AskOutcome, BoxFuture, Client, OptionKind, Typed, WantedLine};

pub type Recorded = (SessionId, SessionEvent);

pub struct FakeClient {
    events: Mutex<Vec<Recorded>>,
    /// Moves at every event.
    seen: watch::Sender<usize>,
    boundaries: Boundaries,
    asks: mpsc::UnboundedSender<PendingAsk>,
    waiting: tokio::sync::Mutex<mpsc::UnboundedReceiver<PendingAsk>>,
    /// Answers every ask at once.
    automatic: Mutex<Option<OptionKind>>,
    asked: Mutex<Vec<Ask>>,
    inquiries: mpsc::UnboundedSender<PendingInquiry>,
    open_inquiries: tokio::sync::Mutex<mpsc::UnboundedReceiver<PendingInquiry>>,
    knows_choices_alone: AtomicBool,
    /// What is typed for commands, in turn; then nothing is.
    lines: Mutex<VecDeque<String>>,
    wanted_lines: Mutex<Vec<WantedLine>>,
}

/// Questions that wait for the test. Dropping them leaves them without an answer for ever.
#[derive(Debug)]
pub struct PendingInquiry {
    pub inquiry: Inquiry,
    answer: oneshot::Sender<InquiryOutcome>,
}

/// An ask that waits for the test. Dropping it leaves the ask without an answer for ever.
#[derive(Debug)]
pub struct PendingAsk {
    pub session: SessionId,
    pub ask: Ask,
    answer: oneshot::Sender<AskOutcome>,
}

impl FakeClient {
    pub fn new() -> Arc<Self> {
        Self::ticking(Boundaries::default())
    }

    pub fn ticking(boundaries: Boundaries) -> Arc<Self> {
        let (asks, waiting) = mpsc::unbounded_channel();
        let (inquiries, open_inquiries) = mpsc::unbounded_channel();
        Arc::new(Self {
            events: Mutex::default(),
            seen: watch::Sender::new(0),
            boundaries,
            asks,
            waiting: tokio::sync::Mutex::new(waiting),
            automatic: Mutex::default(),
            asked: Mutex::default(),
            inquiries,
            open_inquiries: tokio::sync::Mutex::new(open_inquiries),
            knows_choices_alone: AtomicBool::new(false),
            lines: Mutex::default(),
            wanted_lines: Mutex::default(),
        })
    }

    /// From now on every ask gets its first option of that kind.
    pub fn answer_all(&self, kind: OptionKind) {
        *lock(&self.automatic) = Some(kind);
    }

    /// From now on questions come as asks.
    pub fn know_choices_alone(&self) {
        self.knows_choices_alone.store(true, Ordering::Relaxed);
    }

    /// The answer to the next command that waits at its terminal, after those of before.
    pub fn type_next(&self, line: &str) {
        lock(&self.lines).push_back(line.to_owned());
    }

    /// What commands have waited for.
    pub fn wanted_lines(&self) -> Vec<WantedLine> {
        lock(&self.wanted_lines).clone()
    }

    pub async fn next_inquiry(&self) -> PendingInquiry {
        let next = async { self.open_inquiries.lock().await.recv().await };
        match tokio::time::timeout(LIMIT, next).await {
            Ok(Some(inquiry)) => inquiry,
            Ok(None) | Err(_) => panic!("no question came; there are: {:#?}", self.events()),
        }
    }

    /// Every ask so far, answered or not.
    pub fn asks(&self) -> Vec<Ask> {
        lock(&self.asked).clone()
    }

    pub fn events(&self) -> Vec<SessionEvent> {
        lock(&self.events).iter().map(|(_, event)| event.clone()).collect()
    }

    pub fn events_of(&self, session: &SessionId) -> Vec<SessionEvent> {
        lock(&self.events).iter().filter(|(of, _)| of == session).map(|(_, event)| event.clone()).collect()
    }

    /// All text of the model, joined.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for event in self.events() {
            if let SessionEvent::Text { delta, .. } = event {
                text.push_str(&delta);
            }
        }
        text
    }

    /// Waits until an event, past or to come, fits; fails the test after `LIMIT`.
    pub async fn wait_for(&self, fits: impl Fn(&SessionEvent) -> bool) -> SessionEvent {
        let mut seen = self.seen.subscribe();
        let found = async {
            loop {
                seen.borrow_and_update();
                if let Some(event) = self.events().into_iter().find(&fits) {
                    return event;
                }
                if seen.changed().await.is_err() {
                    std::future::pending::<()>().await;
                }
            }
        };
        match tokio::time::timeout(LIMIT, found).await {
            Ok(event) => event,
            Err(_) => panic!("the event did not come; there are: {:#?}", self.events()),
        }
    }

    pub async fn next_ask(&self) -> PendingAsk {
        let next = async { self.waiting.lock().await.recv().await };
        match tokio::time::timeout(LIMIT, next).await {
            Ok(Some(ask)) => ask,
            Ok(None) | Err(_) => panic!("no ask came; there are: {:#?}", self.events()),
        }
    }
}

impl Client for FakeClient {
    fn type_line(&self, _session: SessionId, wanted: WantedLine) -> BoxFuture<'_, Option<Typed>> {
        lock(&self.wanted_lines).push(wanted);
        let line = lock(&self.lines).pop_front();
        Box::pin(async move { line.map(|line| Typed::new(&line)) })
    }

    fn update(&self, session: SessionId, event: SessionEvent) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            lock(&self.events).push((session, event));
            self.seen.send_modify(|count| *count += 1);
            self.boundaries.tick();
        })
    }

    fn ask(&self, session: SessionId, ask: Ask) -> BoxFuture<'_, AskOutcome> {
        Box::pin(async move {
            self.boundaries.tick();
            lock(&self.asked).push(ask.clone());
            let automatic = *lock(&self.automatic);
            if let Some(option) = automatic.and_then(|kind| ask.options.iter().find(|option| option.kind == kind)) {
                return AskOutcome::Selected { option: option.id.clone(), message: None };
            }
            let (answer, outcome) = oneshot::channel();
            let _ = self.asks.send(PendingAsk { session, ask, answer });
            match outcome.await {
                Ok(outcome) => outcome,
                Err(_) => std::future::pending().await,
            }
        })
    }

    fn inquire(&self, session: SessionId, inquiry: Inquiry) -> BoxFuture<'_, InquiryOutcome> {
        if self.knows_choices_alone.load(Ordering::Relaxed) {
            return Box::pin(inquiry::by_choice(self, session, inquiry));
        }
        Box::pin(async move {
            self.boundaries.tick();
            let (answer, outcome) = oneshot::channel();
            let _ = self.inquiries.send(PendingInquiry { inquiry, answer });
            match outcome.await {
                Ok(outcome) => outcome,
                Err(_) => std::future::pending().await,
            }
        })
    }
}

impl PendingInquiry {
    pub fn answer(self, outcome: InquiryOutcome) {
        // The questions may have been withdrawn meanwhile.
        let _ = self.answer.send(outcome);
    }

    /// One list a question.
    pub fn say(self, answers: &[&[&str]]) {
        let owned = |answer: &&[&str]| answer.iter().map(|part| (*part).to_owned()).collect();
        self.answer(InquiryOutcome::Answered(answers.iter().map(owned).collect()));
    }

    pub fn is_withdrawn(&self) -> bool {
        self.answer.is_closed()
    }
}

impl PendingAsk {
    /// Answers with the first option of that kind; fails the test where none is offered.
    pub fn select(self, kind: OptionKind, message: Option<&str>) {
        let Some(option) = self.ask.options.iter().find(|option| option.kind == kind) else {
            panic!("no option {kind:?} in {:?}", self.ask.options);
        };
        let option = option.id.clone();
        self.answer(AskOutcome::Selected { option, message: message.map(str::to_owned) });
    }

    pub fn answer(self, outcome: AskOutcome) {
        // The ask may have been withdrawn meanwhile.
        let _ = self.answer.send(outcome);
    }

    pub fn is_withdrawn(&self) -> bool {
        self.answer.is_closed()
    }
}
