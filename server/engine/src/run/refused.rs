//! Which images and documents of results a provider refuses: each would stand in every further request of the session, so that none would be answered. Known
//! by what became of requests; those that the user gave are the user's to judge.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use copydesk_workspace::hash::ContentHash;

use super::reply::ReplyEnd;
use crate::message::ModelRef;
use crate::ports::{Content, ModelError, ModelErrorKind, ModelMessage, ModelRequest};

/// Of a session, as long as it is open. By model, since one may take what another refuses.
#[derive(Debug, Default)]
pub(crate) struct MediaVerdicts(Mutex<Verdicts>);

#[derive(Debug, Default)]
struct Verdicts {
    taken: BTreeSet<(String, ContentHash)>,
    refused: BTreeSet<(String, ContentHash)>,
}

impl MediaVerdicts {
    pub(crate) fn refused_by(&self, model: &ModelRef) -> BTreeSet<ContentHash> {
        let model = model.to_string();
        let verdicts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        verdicts.refused.iter().filter(|(by, _)| *by == model).map(|(_, hash)| *hash).collect()
    }

    /// Notes what became of a request. Returns how many of what results show are refused from now on: what no request has held that was answered, where this
    /// one was refused for what is in it.
    pub(super) fn note(&self, request: &ModelRequest, end: &ReplyEnd) -> usize {
        let model = request.model.to_string();
        let sent: BTreeSet<_> = shown_by_results(request).map(|hash| (model.clone(), hash)).collect();
        let mut verdicts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match end {
            ReplyEnd::Finished(_) => {
                verdicts.taken.extend(sent);
                0
            }
            // Several files may be too large together, each of which could be sent.
            ReplyEnd::Failed(ModelError {
                kind: ModelErrorKind::Invalid | ModelErrorKind::ContextOverflow, ..
            }) => {
                let new: BTreeSet<_> = sent.difference(&verdicts.taken).cloned().collect();
                let count = new.len();
                verdicts.refused.extend(new);
                count
            }
            ReplyEnd::Failed(_) | ReplyEnd::Cancelled | ReplyEnd::Spent(_) => 0,
        }
    }
}

fn shown_by_results(request: &ModelRequest) -> impl Iterator<Item = ContentHash> {
    let results = request.messages.iter().filter_map(|message| match message {
        ModelMessage::Results(results) => Some(results),
        ModelMessage::User(_) | ModelMessage::Assistant(_) => None,
    });
    results.flatten().flat_map(|result| &result.content).filter_map(|piece| match piece {
        Content::Text(_) => None,
        Content::Image(image) => Some(image.hash()),
        Content::Pdf(pdf) => Some(pdf.hash()),
    })
}
