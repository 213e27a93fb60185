//! The asks that wait for a plain client's user, who may answer them in any order and by any road. What an answer means is the engine's.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use copydesk_engine::ports::{Ask, AskOption, AskOutcome, OptionKind};
use tokio::sync::oneshot;

#[derive(Default)]
pub(super) struct Asks(Mutex<Vec<Waiting>>);

/// As code actions show it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Listed {
    pub(super) id: String,
    pub(super) title: String,
    pub(super) options: Vec<AskOption>,
}

struct Waiting {
    listed: Listed,
    answer: oneshot::Sender<AskOutcome>,
}

/// Withdraws the ask when it is dropped.
pub(super) struct Open {
    asks: Arc<Asks>,
    id: String,
    pub(super) answer: oneshot::Receiver<AskOutcome>,
}

impl Asks {
    pub(super) fn open(self: &Arc<Self>, ask: &Ask) -> Open {
        let (sender, answer) = oneshot::channel();
        let id = ask.id.to_string();
        let listed = Listed { id: id.clone(), title: ask.title.clone(), options: ask.options.clone() };
        self.lock().push(Waiting { listed, answer: sender });
        Open { asks: Arc::clone(self), id, answer }
    }

    pub(super) fn waiting(&self) -> Vec<Listed> {
        self.lock().iter().map(|waiting| waiting.listed.clone()).collect()
    }

    /// `option` is the id of one of the options, or its kind; for a question its label, or own words. The error is for the user.
    pub(super) fn answer(&self, id: &str, option: &str) -> Result<(), String> {
        let mut asks = self.lock();
        let Some(at) = asks.iter().position(|waiting| waiting.listed.id == id) else {
            return Err(format!("no ask {id} waits for an answer"));
        };
        let options = &asks[at].listed.options;
        let fits = |known: &&AskOption| {
            let name = if known.kind == OptionKind::Answer { &known.label } else { kind_name(known.kind) };
            known.id == option || name == option
        };
        let is_question = options.iter().any(|known| known.kind == OptionKind::Answer);
        let rejection = options.iter().find(|known| known.kind == OptionKind::RejectOnce).filter(|_| is_question);
        let (chosen, message) = match (options.iter().find(fits), rejection) {
            (Some(known), _) => (Some(known), None),
            (None, rejection) => (rejection, Some(option.to_owned())),
        };
        let Some(chosen) = chosen.map(|known| known.id.clone()) else {
            let offered: Vec<String> = options.iter().map(|known| format!("`{}`", kind_name(known.kind))).collect();
            return Err(format!("the option must be one of: {}", offered.join(", ")));
        };
        // Whoever asked may have lost interest a moment ago.
        let _ = asks.remove(at).answer.send(AskOutcome::Selected { option: chosen, message });
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Waiting>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.asks.lock().retain(|waiting| waiting.listed.id != self.id);
    }
}

/// ACP's words, where it has one.
fn kind_name(kind: OptionKind) -> &'static str {
    match kind {
        OptionKind::Answer => "answer",
        OptionKind::AllowOnce => "allow_once",
        OptionKind::AllowAlways => "allow_always",
        // ACP has one word for both: the id tells this one.
        OptionKind::AllowInProject => "allow_in_project",
        OptionKind::RejectOnce => "reject_once",
        OptionKind::RejectAlways => "reject_always",
    }
}
