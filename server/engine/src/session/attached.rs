//! What a client sends along with a prompt, e.g. the text of a mentioned file or of a selection: what rules keep from the model does not reach it by this road
//! either (C61, R15.2). In its place stands a pointer to the file, which the model can ask to read.

use copydesk_workspace::disk::DiskError;
use copydesk_workspace::path::AbsPath;
use copydesk_workspace::uri::path_from_uri;

use super::Context;
use crate::escape::escaped_line;
use crate::message::PromptPart;
use crate::permission::{Decision, Rule, Verdict, decide, path_pattern};

/// What of a prompt goes to the model, and what the user is told of the rest.
pub(super) async fn judged(context: &Context, parts: Vec<PromptPart>) -> (Vec<PromptPart>, Vec<String>) {
    let (mut kept, mut notices) = (Vec::new(), Vec::new());
    for part in parts {
        let file = match &part {
            PromptPart::Resource { uri, .. } | PromptPart::Image { uri: Some(uri), .. } => {
                path_from_uri(uri).ok().map(|path| (path, uri.clone()))
            }
            PromptPart::Text { .. } | PromptPart::Link { .. } | PromptPart::Image { uri: None, .. } => None,
        };
        let Some((path, uri)) = file else {
            kept.push(part);
            continue;
        };
        match may_read(context, &path).await {
            Ok(decision) if !is_kept_back(&decision) => kept.push(part),
            judged => {
                let reason = match judged {
                    Ok(Decision { rule: Some(rule), .. }) => format!("rule {rule}"),
                    Ok(Decision { rule: None, .. }) => "no rule allows to read it".to_owned(),
                    Err(error) => error.to_string(),
                };
                notices.push(format!(
                    "What is in {} was not sent along: {reason}. The model is told of the file alone.",
                    escaped_line(&path.to_string())
                ));
                kept.push(PromptPart::Link { uri, name: path.name() });
            }
        }
    }
    (kept, notices)
}

/// A rule that asks for all files is answered by the user's sending one along.
fn is_kept_back(decision: &Decision) -> bool {
    let is_general = decision.rule.as_ref().is_none_or(|rule| rule.pattern == "*");
    decision.verdict == Verdict::Deny || decision.verdict == Verdict::Ask && !is_general
}

/// By all names of the file, as a `read` of it is judged; answers to earlier questions were about calls, and do not count.
async fn may_read(context: &Context, path: &AbsPath) -> Result<Decision, DiskError> {
    let (files, worktree) = (&context.ports.files, &context.facts.worktree);
    let real = files.real_path(path.clone()).await?;
    let tree = files.real_path(worktree.clone()).await?;
    let named = real.relative_to(&tree).map_or_else(|| real.clone(), |below| worktree.join(below));
    let rules = context.agent().rules;
    let absolute: Vec<Rule> = rules.iter().filter(|rule| AbsPath::new(&rule.pattern).is_some()).cloned().collect();
    let denied = decide("read", &[path, &real, &named].map(ToString::to_string), &absolute, &[]);
    if denied.verdict == Verdict::Deny {
        return Ok(denied);
    }
    Ok(decide("read", &[path, &named].map(|path| path_pattern(path, worktree)), &rules, &[]))
}
