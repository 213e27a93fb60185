//! Which claims of a project are in force: held against what the user has decided. Asks nobody: that is the session's.

use copydesk_workspace::path::AbsPath;

use super::untrusted::Claim;
use super::{Problem, Source};
use crate::escape::escaped_line;
use crate::ids::Millis;
use crate::permission::{Guard, Guards};
use crate::ports::{Capability, Fingerprint, Ports, TrustDecision, TrustVerdict, WorkspaceTrust};

/// What the configuration of a project wants, a capability each; those that nothing wants are absent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TrustReport {
    /// The real path of the project's root; `None` where no project was looked at.
    pub workspace: Option<AbsPath>,
    pub wants: Vec<Wanted>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    pub capability: Capability,
    pub standing: Standing,
    /// Whether the user has ever decided on this capability here.
    pub was_decided: bool,
    /// Of all items.
    pub content: Fingerprint,
    /// From the weakest to the strongest source.
    pub items: Vec<WantedItem>,
    /// Keys of what was trusted last that are not there any more.
    pub gone: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// In force.
    Trusted,
    /// Left out until the user decides.
    Waiting,
    /// Left out, as the user said for this content.
    Refused,
    /// Left out, since the editor says that the workspace is not trusted.
    Withheld,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WantedItem {
    /// Dotted.
    pub key: String,
    pub source: Source,
    /// One-based.
    pub line: usize,
    /// As JSON.
    pub value: String,
    /// Whether it is left out where it is not trusted; what only denies or asks stays.
    pub needs_trust: bool,
    pub change: Change,
    hash: Fingerprint,
}

/// Since the content that was trusted last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    Same,
    New,
    Changed,
}

/// What holds for all projects alike.
#[derive(Clone, Copy)]
pub(super) struct Word<'a> {
    pub(super) editor: WorkspaceTrust,
    pub(super) guards: &'a Guards,
}

impl TrustReport {
    pub fn of(&self, capability: Capability) -> Option<&Wanted> {
        self.wants.iter().find(|wanted| wanted.capability == capability)
    }

    pub fn waiting(&self) -> impl Iterator<Item = &Wanted> {
        self.wants.iter().filter(|wanted| wanted.standing == Standing::Waiting)
    }

    pub(super) fn is_trusted(&self, capability: Capability) -> bool {
        self.of(capability).is_some_and(|wanted| wanted.standing == Standing::Trusted)
    }
}

impl Wanted {
    /// Of `claims` of one capability; `None` where nothing would be taken out without trust.
    pub(super) fn judge(
        capability: Capability,
        claims: &[&Claim],
        decisions: &[TrustDecision],
        word: Word<'_>,
    ) -> Option<Self> {
        if claims.iter().all(|claim| claim.stays()) {
            return None;
        }
        let mut decided = decisions.iter().rev().filter(|decision| decision.capability == capability).peekable();
        let was_decided = decided.peek().is_some();
        let before = decisions
            .iter()
            .rev()
            .find(|decision| decision.capability == capability && decision.verdict == TrustVerdict::Trusted);
        let known = before.map(|before| before.items.as_slice()).unwrap_or_default();
        let items: Vec<WantedItem> = claims.iter().map(|claim| WantedItem::of(claim, known)).collect();
        let gone = known.iter().map(|(key, _)| key).filter(|key| items.iter().all(|item| item.key != **key)).cloned();
        let gone = gone.collect();
        let content = content(&items);
        let verdict = decided.find(|decision| decision.content == content).map(|decision| decision.verdict);
        let standing = match (word.editor, verdict) {
            (WorkspaceTrust::Untrusted, _) => Standing::Withheld,
            (_, None | Some(TrustVerdict::Trusted)) if !word.guards.is_on(Guard::Trust) => Standing::Trusted,
            (_, Some(TrustVerdict::Trusted)) => Standing::Trusted,
            (_, Some(TrustVerdict::Refused)) => Standing::Refused,
            (_, None) => Standing::Waiting,
        };
        Some(Self { capability, standing, was_decided, content, items, gone })
    }

    /// To be kept.
    pub fn decide(&self, verdict: TrustVerdict, at: Millis) -> TrustDecision {
        TrustDecision {
            capability: self.capability,
            verdict,
            at,
            content: self.content.clone(),
            items: self.items.iter().map(|item| (item.key.clone(), item.hash.clone())).collect(),
        }
    }

    /// All that would be taken, a line each, escaped: the place, the key, the value, and what is new since it was trusted (R8.4).
    pub fn shown(&self) -> String {
        let is_change = self.items.iter().any(|item| item.change == Change::Same) || !self.gone.is_empty();
        let is_change = is_change || self.items.iter().any(|item| item.change == Change::Changed);
        let line = |item: &WantedItem| {
            let mark = match item.change {
                Change::New if is_change => "new: ",
                Change::Changed => "changed: ",
                Change::New | Change::Same => "",
            };
            escaped_line(&format!("{mark}{}:{}: {} = {}", item.source, item.line, item.key, item.value))
        };
        let gone = self.gone.iter().map(|key| escaped_line(&format!("gone: {key}")));
        self.items.iter().map(line).chain(gone).collect::<Vec<_>>().join("\n")
    }

    /// What is left out of the configuration, each named with its place; nothing where it is trusted.
    pub fn left_out(&self) -> impl Iterator<Item = Problem> {
        let (capability, standing) = (self.capability, self.standing);
        self.items.iter().filter(move |item| item.needs_trust && standing != Standing::Trusted).map(move |item| {
            let why = match standing {
                Standing::Trusted | Standing::Waiting => {
                    "and nobody has trusted it yet; your next prompt asks, or run `copydesk trust` in its folder"
                }
                Standing::Refused => "and you have refused that; `copydesk trust revoke` lifts it",
                Standing::Withheld => "and your editor does not trust this workspace",
            };
            Problem {
                source: item.source.clone(),
                line: Some(item.line),
                key: Some(item.key.clone()),
                text: format!("left out, since this is a project's configuration that would {capability}, {why}"),
            }
        })
    }
}

impl WantedItem {
    fn of(claim: &Claim, known: &[(String, Fingerprint)]) -> Self {
        let hash = Fingerprint::of(claim.compared.as_bytes());
        let before: Vec<Fingerprint> =
            known.iter().filter(|(key, _)| *key == claim.key).map(|(_, hash)| hash.clone()).collect();
        let change = match before.as_slice() {
            [] => Change::New,
            before if before.contains(&hash) => Change::Same,
            _ => Change::Changed,
        };
        Self {
            key: claim.key.clone(),
            source: claim.place.source.as_ref().clone(),
            line: claim.place.line,
            value: claim.shown.clone(),
            needs_trust: !claim.stays(),
            change,
            hash,
        }
    }
}

/// What was decided of a workspace, read at the first need: most projects want nothing.
pub(super) struct Decisions<'a> {
    ports: &'a Ports,
    workspace: AbsPath,
    read: Option<Vec<TrustDecision>>,
}

impl<'a> Decisions<'a> {
    pub(super) fn new(ports: &'a Ports, workspace: AbsPath) -> Self {
        Self { ports, workspace, read: None }
    }

    /// None where they cannot be read.
    pub(super) async fn get(&mut self, problems: &mut Vec<Problem>) -> &[TrustDecision] {
        if self.read.is_none() {
            let decisions = match self.ports.trust.decisions(self.workspace.clone()).await {
                Ok(decisions) => decisions,
                Err(error) => {
                    let source = Source::File(self.workspace.clone());
                    problems.push(Problem { source, line: None, key: None, text: error.to_string() });
                    Vec::new()
                }
            };
            self.read = Some(decisions);
        }
        self.read.as_deref().unwrap_or_default()
    }
}

/// Of the keys and values in their order, which rules depend on; not of their places, so that a line above changes nothing.
fn content(items: &[WantedItem]) -> Fingerprint {
    let list: Vec<_> = items.iter().map(|item| (&item.key, &item.hash)).collect();
    Fingerprint::of(serde_json::json!(list).to_string().as_bytes())
}
