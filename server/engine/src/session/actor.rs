//! The task of a session: takes the client's messages, stores prompts, starts runs one after the other, and answers each prompt once.

use std::sync::Arc;

use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;
use tokio_util::task::{AbortOnDropHandle, TaskTracker};

use super::{Choose, Command, Context, Message, Turn, attached};
use crate::config;
use crate::event::{SessionEvent, Severity};
use crate::history;
use crate::ids::MessageId;
use crate::image::Prompt;
use crate::media::Media;
use crate::message::{Entry, TurnEnd};
use crate::output;
use crate::run::{Run, RunEnd};

pub(crate) struct Actor {
    context: Arc<Context>,
    mailbox: mpsc::Receiver<Message>,
    /// Fires when the session is to end.
    closing: CancellationToken,
    /// Owns what outlives a turn's answer.
    tasks: TaskTracker,
    /// Those that are answered without a model. What is begun of them outlives even an actor that is dropped.
    commands: TaskTracker,
    /// Fires when the one that was asked for last is over, and all before it.
    last_command: CancellationToken,
    running: Option<Running>,
    waiting: Vec<Waiting>,
}

struct Running {
    turn: Turn,
    task: AbortOnDropHandle<RunEnd>,
}

/// A prompt that was stored and not answered yet.
struct Waiting {
    turn: Turn,
    /// Its index in the journal.
    entry: usize,
    done: oneshot::Sender<TurnEnd>,
}

impl Actor {
    pub(crate) fn new(
        context: Arc<Context>,
        mailbox: mpsc::Receiver<Message>,
        closing: CancellationToken,
        tasks: TaskTracker,
    ) -> Self {
        let commands = TaskTracker::new();
        commands.close();
        let last_command = CancellationToken::new();
        last_command.cancel();
        Self { context, mailbox, closing, tasks, commands, last_command, running: None, waiting: Vec::new() }
    }

    /// Until the session closes or all its handles are gone.
    pub(crate) async fn run(mut self) {
        let closing = self.closing.clone();
        loop {
            tokio::select! {
                biased;
                () = closing.cancelled() => break,
                message = self.mailbox.recv() => match message {
                    Some(message) => self.handle(message).await,
                    None => break,
                },
                end = ended(&mut self.running) => self.finish(end).await,
                () = self.commands.wait(), if self.running.is_none() && !self.waiting.is_empty() => self.start().await,
            }
        }
        self.close().await;
    }

    async fn handle(&mut self, message: Message) {
        match message {
            Message::Prompt { prompt, turn, done } => self.prompt(prompt, turn, done).await,
            Message::Choose { choice, done } => {
                self.choose(choice).await;
                let _ = done.send(());
            }
            Message::Opened => self.context.warn_at_opening().await,
        }
    }

    async fn prompt(&mut self, prompt: Prompt, turn: Turn, done: oneshot::Sender<TurnEnd>) {
        self.context.warn_at_opening().await;
        if let Some(command) = Command::of(&prompt) {
            if let Err(error) = self.context.note_command(command).await {
                let _ = done.send(TurnEnd::Failed { message: error.to_string() });
                return;
            }
            let context = Arc::clone(&self.context);
            let over = CancellationToken::new();
            let before = std::mem::replace(&mut self.last_command, over.clone());
            // Fires also where the task panics, or is dropped.
            let over = over.drop_guard();
            let run = async move {
                let _over = over;
                let end = match turn.cancel.run_until_cancelled(before.cancelled()).await {
                    Some(()) => context.run_command(command, &turn.cancel).await,
                    None => TurnEnd::Cancelled,
                };
                // Whoever asked may be gone.
                let _ = done.send(end);
                before.cancelled().await;
            };
            self.tasks.spawn(self.commands.track_future(run));
            return;
        }
        let (parts, images) = prompt.split();
        let (parts, notices) = attached::judged(&self.context, parts).await;
        for text in notices {
            self.context.emit(SessionEvent::Notice { severity: Severity::Warning, text }).await;
        }
        let entry = Entry::User {
            message: MessageId::next(&*self.context.ports.ids),
            at: self.context.ports.clock.now(),
            agent: self.context.agent().name,
            parts,
        };
        match self.context.journal.append_with(images.into_iter().map(Media::Image).collect(), entry).await {
            Ok(entry) => {
                self.waiting.push(Waiting { turn, entry, done });
                self.start().await;
            }
            Err(error) => {
                let _ = done.send(TurnEnd::Failed { message: error.to_string() });
            }
        }
    }

    /// Starts a run for the prompts that wait, unless one is running: that takes them in at its next step. Commands are done first, so that a
    /// run reads no file that is undone meanwhile.
    async fn start(&mut self) {
        while self.running.is_none()
            && self.commands.is_empty()
            && let Some((turn, entry)) = self.waiting.first().map(|first| (first.turn.clone(), first.entry))
        {
            if turn.cancel.is_cancelled() {
                self.record_end(TurnEnd::Cancelled).await;
                self.answer(&TurnEnd::Cancelled, |waiting| waiting.turn.number == turn.number);
            } else {
                let message = self.context.journal.read(|entries| entries.get(entry).and_then(message_of));
                let message = message.unwrap_or_else(|| MessageId::next(&*self.context.ports.ids));
                self.context.undoing.runs(Some(message.clone()));
                let run = Run::new(Arc::clone(&self.context), message, turn.cancel.clone());
                self.running = Some(Running { turn, task: AbortOnDropHandle::new(tokio::spawn(run.run())) });
            }
        }
    }

    /// A prompt that came too late for the run's last request gets a run of its own, unless it was cancelled with it.
    async fn finish(&mut self, (turn, ended): (Turn, Option<RunEnd>)) {
        let RunEnd { end, consumed } = match ended {
            Some(end) => end,
            None => self.clean_up_after_panic().await,
        };
        self.context.undoing.runs(None);
        let cancelled = end == TurnEnd::Cancelled;
        self.answer(&end, |waiting| waiting.entry < consumed || cancelled && waiting.turn.number == turn.number);
        self.flush();
        self.tidy();
        self.start().await;
    }

    /// Off the answer's path.
    fn flush(&self) {
        let store = Arc::clone(&self.context.ports.store);
        self.tasks.spawn(async move {
            if let Err(error) = store.flush().await {
                tracing::warn!(%error, "the session store was not flushed");
            }
        });
    }

    /// Off the answer's path too.
    fn tidy(&self) {
        let context = &self.context;
        let now = context.ports.clock.now();
        if context.outputs.is_due(now) {
            let (files, folder) = (Arc::clone(&context.ports.files), context.facts.spill.clone());
            self.tasks.spawn(async move { output::sweep(&*files, &folder, now).await });
        }
    }

    async fn clean_up_after_panic(&self) -> RunEnd {
        let message = "Copydesk made a mistake of its own, which ended the turn; its log says more. You can go on with the session.";
        let end = TurnEnd::Failed { message: message.to_owned() };
        let at = self.context.ports.clock.now();
        let mut closing = self.context.journal.read(|entries| history::close_interrupted(entries, at));
        for entry in &mut closing {
            if let Entry::TurnEnded { reason, .. } = entry {
                *reason = end.clone();
            }
        }
        if let Err(error) = self.context.journal.append(closing).await {
            tracing::error!(%error, "the end of a turn was not stored");
        }
        self.context.end_open_calls().await;
        RunEnd { end, consumed: usize::MAX }
    }

    async fn choose(&self, choice: Choose) {
        if let Choose::Model(model) = &choice
            && self.context.config().model.is_none()
        {
            let ports = &self.context.ports;
            config::remember(&*ports.files, &*ports.environment, model).await;
        }
        let is_mode = matches!(choice, Choose::Mode(_));
        self.context.chosen(choice).await;
        if is_mode {
            self.context.warn_of_mode().await;
        }
    }

    async fn record_end(&self, reason: TurnEnd) {
        let entry = Entry::TurnEnded { at: self.context.ports.clock.now(), reason };
        if let Err(error) = self.context.journal.append(vec![entry]).await {
            tracing::warn!(%error, "the end of a turn was not stored");
        }
    }

    fn answer(&mut self, end: &TurnEnd, which: impl Fn(&Waiting) -> bool) {
        for waiting in self.waiting.extract_if(.., |waiting| which(waiting)) {
            // Whoever asked may be gone.
            let _ = waiting.done.send(end.clone());
        }
    }

    async fn close(mut self) {
        self.mailbox.close();
        let running = self.running.take();
        let has_run = running.is_some();
        let end_run = async {
            let Some(mut running) = running else { return };
            running.turn.cancel.cancel();
            if let Err(error) = (&mut running.task).await {
                tracing::error!(%error, "a run panicked");
            }
        };
        // A command was cancelled with its turn; an undo that was asked for otherwise is brought to its end. The engine drops these where they take too long.
        tokio::join!(end_run, self.context.jobs.close(), self.commands.wait(), self.context.undoing.over());
        if has_run {
            self.flush();
        }
        self.answer(&TurnEnd::Cancelled, |_| true);
    }
}

/// Of a prompt.
fn message_of(entry: &Entry) -> Option<MessageId> {
    match entry {
        Entry::User { message, .. } => Some(message.clone()),
        _ => None,
    }
}

/// Resolves when the run has ended, with `None` where it panicked; never without one.
async fn ended(running: &mut Option<Running>) -> (Turn, Option<RunEnd>) {
    let Some(run) = running else {
        return std::future::pending().await;
    };
    let end = (&mut run.task).await;
    let turn = run.turn.clone();
    *running = None;
    match end {
        Ok(end) => (turn, Some(end)),
        Err(error) => {
            tracing::error!(%error, "a run panicked");
            (turn, None)
        }
    }
}
