//! The engine's `Client` at a terminal: events are written as they come, asks are answered by lines that are typed. One ask at a time has the terminal.

use std::io::BufRead;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use copydesk_engine::event::SessionEvent;
use copydesk_engine::ids::SessionId;
use copydesk_engine::inquiry::{Inquiry, InquiryOutcome, Question};
use copydesk_engine::message::TurnEnd;
use copydesk_engine::ports::{Ask, AskOutcome, BoxFuture, Client, Typed, WantedLine};
use copydesk_engine::session::SessionHandle;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio_util::task::AbortOnDropHandle;

use super::ask::{Answer, answer, choices, question};
use super::countdown::count_down;
use super::paint::Paint;
use super::questions::{self, line_wanted, shown};
use super::screen::{Passing, Screen};
use super::transcript::{Piece, Transcript, stopped};
use super::unseen::Unseen;
use crate::acp_types;

/// Lines that were typed and not read yet. More are dropped: what is typed where nothing is asked is no answer.
const TYPED: usize = 16;

pub(super) struct TerminalClient {
    screen: Arc<Screen>,
    /// Of standard error, where asks are drawn.
    errors: Paint,
    format: Format,
    session: OnceLock<SessionHandle>,
    /// Nobody can be asked where it is unset.
    typed: OnceLock<tokio::sync::Mutex<mpsc::Receiver<String>>>,
    /// Of the last wait for another try.
    countdown: Mutex<Option<AbortOnDropHandle<()>>>,
    /// Of what runs now.
    running: tokio::sync::Mutex<Option<Passing>>,
}

enum Format {
    Text(Mutex<Transcript>),
    Json,
}

impl TerminalClient {
    pub(super) fn text(screen: Arc<Screen>, output: Paint, errors: Paint) -> Self {
        Self::new(screen, errors, Format::Text(Mutex::new(Transcript::new(output, errors))))
    }

    pub(super) fn json(screen: Arc<Screen>, errors: Paint) -> Self {
        Self::new(screen, errors, Format::Json)
    }

    fn new(screen: Arc<Screen>, errors: Paint, format: Format) -> Self {
        Self {
            screen,
            errors,
            format,
            session: OnceLock::new(),
            typed: OnceLock::new(),
            countdown: Mutex::default(),
            running: tokio::sync::Mutex::default(),
        }
    }

    /// From now on asks are drawn, and answered by what is typed.
    pub(super) fn ask_at_terminal(&self) {
        let (lines, typed) = mpsc::channel(TYPED);
        // A read cannot be given up: the thread ends with the input, or with the process.
        std::thread::spawn(move || read_lines(std::io::stdin().lock(), &lines));
        // Set once, by the one who makes the client.
        let _ = self.typed.set(tokio::sync::Mutex::new(typed));
    }

    /// Config options are told as the session's handle has them.
    pub(super) fn set_session(&self, session: SessionHandle) {
        // A client has one session.
        let _ = self.session.set(session);
    }

    /// Says how the turn ended; `None` where its end was not waited for.
    pub(super) async fn finish(&self, session: &SessionId, end: Option<&TurnEnd>) {
        match &self.format {
            Format::Text(_) => {
                self.screen.end_line().await;
                if let Some(text) = end.and_then(stopped) {
                    self.screen.tell(&format!("{text}\n")).await;
                }
            }
            Format::Json => {
                let end = end.cloned().unwrap_or(TurnEnd::Cancelled);
                let limit = match &end {
                    TurnEnd::Limit { message } => Some(message.clone()),
                    _ => None,
                };
                let line = match acp_types::stop_reason(end) {
                    Ok(reason) if limit.is_some() => {
                        json!({ "sessionId": session, "stopReason": reason, "message": limit })
                    }
                    Ok(reason) => json!({ "sessionId": session, "stopReason": reason }),
                    Err(message) => json!({ "sessionId": session, "error": message }),
                };
                self.line(&line).await;
            }
        }
    }

    async fn line(&self, value: &Value) {
        self.written(self.screen.write(&format!("{value}\n")).await);
    }

    /// Nobody reads what the turn gives: it ends.
    fn written(&self, is_read: bool) {
        if !is_read && let Some(session) = self.session.get() {
            session.cancel();
        }
    }

    /// Where nobody is being asked: what is typed has the last line then.
    async fn show_running(&self, text: &str) {
        let typed = self.typed.get().map(tokio::sync::Mutex::try_lock);
        if matches!(typed, Some(Err(_))) {
            return;
        }
        let mut running = self.running.lock().await;
        let stands = match *running {
            Some(passing) => self.screen.renew(passing, text).await,
            None => false,
        };
        if !stands {
            *running = Some(self.screen.begin_passing(text).await);
        }
    }

    async fn updates(&self, session: &SessionId, event: SessionEvent) {
        let updates: Vec<_> = match event {
            SessionEvent::Chosen { .. } => match self.session.get() {
                Some(session) => acp_types::chosen(&session.choices()).into(),
                None => Vec::new(),
            },
            SessionEvent::Granted => match self.session.get() {
                Some(session) => vec![acp_types::granted(&session.choices())],
                None => Vec::new(),
            },
            SessionEvent::Notice { severity, text } => vec![acp_types::notice(severity, &text)],
            event => acp_types::updates(event),
        };
        for update in updates {
            self.line(&json!({ "sessionId": session, "update": update })).await;
        }
    }

    async fn answer_to(
        &self,
        question: &Question,
        typed: &mut mpsc::Receiver<String>,
    ) -> Result<Vec<String>, InquiryOutcome> {
        // What was typed before the question is no answer to it.
        while typed.try_recv().is_ok() {}
        loop {
            self.screen.tell_apart(&shown(question, self.errors)).await;
            let Some(line) = typed.recv().await else {
                return Err(InquiryOutcome::Undeliverable { reason: "the terminal is closed".to_owned() });
            };
            match questions::answer(&line, question) {
                questions::Answer::Said(answer) => return Ok(answer),
                questions::Answer::Dismissed => return Err(InquiryOutcome::Dismissed),
                questions::Answer::Unclear => {}
            }
        }
    }

    /// What the user types, up to an answer.
    async fn answer(&self, ask: &Ask, typed: &mut mpsc::Receiver<String>) -> Option<AskOutcome> {
        let mut wanted = None;
        loop {
            let line = typed.recv().await?;
            let answered = match wanted.take() {
                Some(rejection) => Answer::Instead(rejection, line.trim().to_owned()),
                None => answer(&line, &ask.options),
            };
            match answered {
                Answer::Option(option) => return Some(AskOutcome::Selected { option, message: None }),
                Answer::Instead(option, message) => {
                    return Some(AskOutcome::Selected { option, message: Some(message) });
                }
                Answer::InsteadOf(rejection) => {
                    wanted = Some(rejection);
                    self.screen.tell("What do you want instead? ").await;
                }
                Answer::Unclear => {
                    self.screen.tell(&choices(&ask.options, self.errors)).await;
                }
            }
        }
    }
}

impl Client for TerminalClient {
    fn update(&self, session: SessionId, event: SessionEvent) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let Format::Text(transcript) = &self.format else {
                return self.updates(&session, event).await;
            };
            let piece = transcript.lock().unwrap_or_else(PoisonError::into_inner).piece(&event);
            match piece {
                Some(Piece::Text(text)) => self.written(self.screen.write(&text).await),
                Some(Piece::Lines(text)) => self.written(self.screen.write_line(&text).await),
                Some(Piece::Aside(text)) => self.screen.tell_apart(&text).await,
                Some(Piece::Wait(text, retry)) => {
                    self.screen.tell_apart(&text).await;
                    let counting = AbortOnDropHandle::new(tokio::spawn(count_down(self.screen.clone(), retry)));
                    // The line before is gone: its wait is over.
                    *self.countdown.lock().unwrap_or_else(PoisonError::into_inner) = Some(counting);
                }
                Some(Piece::Passing(text)) => self.show_running(&text).await,
                None => {}
            }
        })
    }

    fn can_ask(&self) -> bool {
        self.typed.get().is_some()
    }

    fn ask(&self, _: SessionId, ask: Ask) -> BoxFuture<'_, AskOutcome> {
        Box::pin(async move {
            let Some(typed) = self.typed.get() else {
                let reason = "there is no terminal at which the user could be asked";
                let text = format!("denied: {}: {reason}; {}\n", ask.title, ask.reason);
                self.screen.tell_apart(&copydesk_engine::escape::escaped(&text)).await;
                return AskOutcome::Undeliverable { reason: reason.to_owned() };
            };
            let mut typed = typed.lock().await;
            // What was typed before the question is no answer to it.
            while typed.try_recv().is_ok() {}
            let text = question(&ask, self.errors) + &choices(&ask.options, self.errors);
            self.screen.tell_apart(&text).await;
            if let Format::Text(transcript) = &self.format {
                transcript.lock().unwrap_or_else(PoisonError::into_inner).was_shown(&ask.call);
            }
            match self.answer(&ask, &mut typed).await {
                Some(outcome) => outcome,
                None => AskOutcome::Undeliverable { reason: "the terminal is closed".to_owned() },
            }
        })
    }

    fn type_line(&self, _: SessionId, wanted: WantedLine) -> BoxFuture<'_, Option<Typed>> {
        Box::pin(async move {
            let mut typed = self.typed.get()?.lock().await;
            // Before the prompt is drawn, so that nothing of the answer is shown.
            let _unseen = if wanted.prompt.is_secret { Some(Unseen::at(std::io::stdin())?) } else { None };
            while typed.try_recv().is_ok() {}
            self.screen.tell_apart(&line_wanted(&wanted.prompt, self.errors)).await;
            let line = typed.recv().await?;
            if wanted.prompt.is_secret {
                // The user's own was not shown.
                self.screen.tell("\n").await;
            }
            Some(Typed::new(&line))
        })
    }

    fn inquire(&self, _: SessionId, inquiry: Inquiry) -> BoxFuture<'_, InquiryOutcome> {
        Box::pin(async move {
            let Some(typed) = self.typed.get() else {
                let reason = "there is no terminal at which the user could be asked".to_owned();
                return InquiryOutcome::Undeliverable { reason };
            };
            let mut typed = typed.lock().await;
            let mut answers = Vec::new();
            for question in &inquiry.questions {
                match self.answer_to(question, &mut typed).await {
                    Ok(answer) => answers.push(answer),
                    Err(outcome) => return outcome,
                }
            }
            InquiryOutcome::Answered(answers)
        })
    }
}

/// Never waits for a reader: a line that waited here would come behind a question that it was typed before.
fn read_lines(input: impl BufRead, lines: &mpsc::Sender<String>) {
    for line in input.lines() {
        let Ok(line) = line else { return };
        if let Err(mpsc::error::TrySendError::Closed(_)) = lines.try_send(line) {
            return;
        }
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]
mod tests {
    use std::time::Duration;

    use super::*;

    /// However much was typed before a question: none of it is taken as the answer once the question has emptied the queue.
    #[test]
    fn r8_4_what_was_typed_before_a_question_does_not_wait_behind_it() {
        let (lines, mut typed) = mpsc::channel(TYPED);
        let (ended, end) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            read_lines("a\n".repeat(10 * TYPED).as_bytes(), &lines);
            ended.send(lines).unwrap();
        });
        // The reader never waits for the queue to have room: by its end all is in it or dropped.
        let lines = end.recv_timeout(Duration::from_secs(10)).unwrap();
        let mut taken = 0;
        while typed.try_recv().is_ok() {
            taken += 1;
        }
        assert_eq!(taken, TYPED);
        read_lines("yes\n".as_bytes(), &lines);
        assert_eq!(typed.try_recv().as_deref(), Ok("yes"), "what is typed behind the question is its answer");
        assert!(typed.try_recv().is_err());
    }
}
