//! The question whether a project's configuration is trusted: asked at the first prompt of a session, a capability at a time, before any model is. What it
//! wants is found by the configuration; what was answered is kept by the port.

use std::sync::Mutex;

use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::Context;
use super::context::lock;
use crate::config::{Standing, TrustReport, Wanted};
use crate::escape::escaped_line;
use crate::event::{SessionEvent, Severity, ToolCallState, ToolCallView};
use crate::ids::{AskId, CallId};
use crate::message::ToolStatus;
use crate::ports::{
    Ask, AskOption, AskOutcome, Capability, Fingerprint, OptionKind, Preview, TrustVerdict, WorkspaceTrust,
};
use crate::tool::ToolKind;

/// Keys that a notice names; a question names all.
const NAMED: usize = 5;

/// How far the session has come with it.
pub(super) struct TrustState {
    /// What the editor said when the configuration was read last.
    loaded_for: Mutex<WorkspaceTrust>,
    /// What it said when the last question was answered.
    settled_for: Mutex<Option<WorkspaceTrust>>,
    /// What was asked in this session: it is not asked twice.
    asked: Mutex<Vec<(Capability, Fingerprint)>>,
}

enum Answer {
    Trust,
    NotNow,
    Never,
    Cancelled,
    /// Nobody can be asked.
    Undeliverable(String),
}

impl TrustState {
    pub(super) fn new(editor: WorkspaceTrust) -> Self {
        Self { loaded_for: Mutex::new(editor), settled_for: Mutex::default(), asked: Mutex::default() }
    }
}

impl Context {
    /// Asks what is to be asked; the configuration that is in force then holds what is trusted. Cancelled, it is asked again by the next prompt.
    pub(crate) async fn settle_trust(&self, cancel: &CancellationToken) {
        let editor = self.connection().editor.workspace_trust();
        if *lock(&self.trust.settled_for) == Some(editor) {
            return;
        }
        let before = self.config().trust.clone();
        let is_said_anew = std::mem::replace(&mut *lock(&self.trust.loaded_for), editor) != editor;
        if is_said_anew || before.wants.iter().any(|wanted| wanted.standing != Standing::Trusted) {
            // It may be long since it was read, and the user may have decided elsewhere.
            self.reload().await;
            if is_said_anew {
                self.tell(notices(&self.config().trust)).await;
            }
        }
        while let Some(wanted) = self.next_question() {
            lock(&self.trust.asked).push((wanted.capability, wanted.content.clone()));
            let answer = if editor == WorkspaceTrust::Trusted && !wanted.was_decided {
                let text =
                    format!("Your editor trusts this workspace, so its configuration may {}.", wanted.capability);
                self.tell(vec![(Severity::Info, text)]).await;
                Answer::Trust
            } else {
                self.ask_for_trust(&wanted, cancel).await
            };
            let verdict = match answer {
                Answer::Trust => TrustVerdict::Trusted,
                Answer::Never => TrustVerdict::Refused,
                Answer::NotNow => continue,
                Answer::Undeliverable(_) => break,
                Answer::Cancelled => {
                    lock(&self.trust.asked).pop();
                    return;
                }
            };
            self.decide(&wanted, verdict).await;
        }
        *lock(&self.trust.settled_for) = Some(editor);
        if self.config().trust != before {
            self.tell_choices().await;
        }
    }

    fn next_question(&self) -> Option<Wanted> {
        let config = self.config();
        let asked = lock(&self.trust.asked);
        let is_new = |wanted: &&Wanted| {
            asked.iter().all(|(capability, content)| *capability != wanted.capability || *content != wanted.content)
        };
        config.trust.waiting().find(is_new).cloned()
    }

    async fn decide(&self, wanted: &Wanted, verdict: TrustVerdict) {
        let Some(workspace) = self.config().trust.workspace.clone() else { return };
        let decision = wanted.decide(verdict, self.ports.clock.now());
        match self.ports.trust.decide(workspace, decision).await {
            Ok(()) => self.reload().await,
            Err(error) => self.warn(vec![format!("It stays untrusted: {error}.")]).await,
        }
    }

    /// As a call of its own, since clients take asks of calls alone.
    async fn ask_for_trust(&self, wanted: &Wanted, cancel: &CancellationToken) -> Answer {
        let ids = &*self.ports.ids;
        let workspace = self.config().trust.workspace.as_ref().map(ToString::to_string).unwrap_or_default();
        let title = format!("Trust this project's configuration to {}?", wanted.capability);
        let view = ToolCallView {
            call: CallId::next(ids),
            name: "trust".to_owned(),
            kind: ToolKind::Other,
            title: title.clone(),
            state: ToolCallState::Pending,
            input: json!({ "workspace": workspace, "capability": wanted.capability }),
            text: String::new(),
            diffs: Vec::new(),
            media: Vec::new(),
            locations: Vec::new(),
            allowed_by: Vec::new(),
        };
        self.emit(SessionEvent::ToolCall(view.clone())).await;
        let [trust, not_now, never] = [(); 3].map(|()| ids.next("opt"));
        let option = |id: &str, label: &str, kind| AskOption { id: id.to_owned(), label: label.to_owned(), kind };
        let ask = Ask {
            id: AskId::next(ids),
            call: view.call.clone(),
            title,
            reason: reason(wanted, &workspace),
            input: view.input.clone(),
            preview: Preview::Access(wanted.shown()),
            options: vec![
                option(&trust, "Trust, until it changes", OptionKind::AllowAlways),
                option(&not_now, "Not now", OptionKind::RejectOnce),
                option(&never, "Never, until it changes", OptionKind::RejectAlways),
            ],
        };
        let outcome = tokio::select! {
            biased;
            () = cancel.cancelled() => AskOutcome::Cancelled,
            outcome = self.client().ask(self.id.clone(), ask) => outcome,
        };
        let answer = match outcome {
            AskOutcome::Selected { option, .. } if option == trust => Answer::Trust,
            AskOutcome::Selected { option, .. } if option == never => Answer::Never,
            // Anything but a clear word is none.
            AskOutcome::Selected { .. } => Answer::NotNow,
            AskOutcome::Cancelled => Answer::Cancelled,
            AskOutcome::Undeliverable { reason } => Answer::Undeliverable(reason),
        };
        let (status, text) = match &answer {
            Answer::Trust => (ToolStatus::Completed, "Trusted, until it changes.".to_owned()),
            Answer::NotNow => (ToolStatus::Completed, "Left out in this session.".to_owned()),
            Answer::Never => (ToolStatus::Completed, "Left out, until it changes.".to_owned()),
            Answer::Cancelled => (ToolStatus::Cancelled, "Left out.".to_owned()),
            Answer::Undeliverable(reason) => (
                ToolStatus::Failed,
                format!(
                    "Left out: {reason}. `copydesk trust` in {workspace} shows it, `copydesk trust allow` trusts it."
                ),
            ),
        };
        let ended = ToolCallView { state: ToolCallState::Ended(status), text, ..view };
        self.emit(SessionEvent::ToolCallUpdate(ended)).await;
        answer
    }
}

fn reason(wanted: &Wanted, workspace: &str) -> String {
    let since = if wanted.was_decided { "It has changed since you decided. " } else { "" };
    format!(
        "{since}The configuration of {} would {}. All that it would do is shown; none of it is in force until you trust it. `copydesk trust` lists and revokes.",
        escaped_line(workspace),
        wanted.capability
    )
}

/// What the user is told of keys that are not in force.
pub(super) fn notices(report: &TrustReport) -> Vec<(Severity, String)> {
    let of = |standing: Standing| {
        let wants: Vec<String> =
            report.wants.iter().filter(|wanted| wanted.standing == standing).map(summary).collect();
        (!wants.is_empty()).then(|| wants.join("; "))
    };
    let waiting = of(Standing::Waiting).map(|wants| {
        let text = format!(
            "This project's configuration is left out in part until you trust it. It would {wants}. Your next prompt asks; `copydesk trust` in its folder shows all of it."
        );
        (Severity::Warning, text)
    });
    let refused = of(Standing::Refused).map(|wants| {
        let text = format!(
            "This project's configuration is left out in part, as you decided. It would {wants}. `copydesk trust revoke` in its folder lifts that."
        );
        (Severity::Info, text)
    });
    let withheld = of(Standing::Withheld).map(|wants| {
        let text = format!(
            "This project's configuration is left out in part, since your editor does not trust the workspace. It would {wants}."
        );
        (Severity::Info, text)
    });
    [waiting, refused, withheld].into_iter().flatten().collect()
}

/// `run programs (mcp.x, plugin)`
fn summary(wanted: &Wanted) -> String {
    let keys: Vec<String> =
        wanted.items.iter().filter(|item| item.needs_trust).map(|item| escaped_line(&item.key)).collect();
    let more = keys.len().saturating_sub(NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let named: Vec<&str> = keys.iter().take(NAMED).map(String::as_str).collect();
    format!("{} ({}{more})", wanted.capability, named.join(", "))
}

#[cfg(test)]
#[path = "trust_tests.rs"]
mod tests;
