//! Grants as they are shown on the wire and on the command line: pure.

use agent_client_protocol_schema::v1 as acp;
use copydesk_engine::escape::escaped_line;
use copydesk_engine::ids::Millis;
use copydesk_engine::permission::{Agents, Grant, GrantScope, KeptGrant};
use copydesk_engine::runner::{HeldGrant, HeldScope};
use copydesk_protocol::additions::{GrantScopeView, GrantView};

use crate::acp_types::PERMISSION_CATEGORY;

/// The config option of a session by which a client of ACP lists and revokes.
pub(crate) const OPTION: &str = "grants";
/// Its value that takes nothing back.
pub(crate) const KEEP: &str = "keep";

pub(crate) fn of_session(held: HeldGrant) -> GrantView {
    match held.scope {
        HeldScope::Session => view(held.id, &held.grant, GrantScopeView::Session),
        HeldScope::Kept(scope, given) => kept(held.id, &held.grant, scope, given),
    }
}

pub(crate) fn of_kept(grant: &KeptGrant) -> GrantView {
    kept(grant.id.clone(), &grant.grant, grant.scope.clone(), grant.given)
}

fn kept(id: String, grant: &Grant, scope: GrantScope, given: Millis) -> GrantView {
    let (scope, project) = match scope {
        GrantScope::Project(root) => (GrantScopeView::Project, Some(root.to_string())),
        GrantScope::User => (GrantScopeView::User, None),
    };
    GrantView { project, given: Some(given.0), ..view(id, grant, scope) }
}

fn view(id: String, grant: &Grant, scope: GrantScopeView) -> GrantView {
    let agent = match &grant.agents {
        Agents::Only(agent) => Some(agent.clone()),
        Agents::Every => None,
    };
    GrantView {
        id,
        scope,
        project: None,
        agent,
        permission: grant.permission.clone(),
        text: grant.to_string(),
        given: None,
    }
}

/// What was allowed for longer than once, to be taken back by choosing it: clients of ACP have no other list of it. Nothing where there is nothing.
pub(crate) fn option(held: &[HeldGrant]) -> Option<acp::SessionConfigOption> {
    let count = match held.len() {
        0 => return None,
        1 => "1 answer holds".to_owned(),
        many => format!("{many} answers hold"),
    };
    let take_back = held.iter().map(|held| {
        let place = match &held.scope {
            HeldScope::Session => "in this session",
            HeldScope::Kept(GrantScope::Project(_), _) => "in this project",
            HeldScope::Kept(GrantScope::User, _) => "everywhere",
        };
        let text = escaped_line(&held.grant.to_string());
        acp::SessionConfigSelectOption::new(held.id.clone(), format!("Take back: {text}"))
            .description(format!("Allowed {place}"))
    });
    let values: Vec<_> = std::iter::once(acp::SessionConfigSelectOption::new(KEEP, count)).chain(take_back).collect();
    Some(
        acp::SessionConfigOption::select(OPTION, "Allowed for longer", KEEP, values)
            .description("Choose an answer of yours to take it back".to_owned())
            .category(acp::SessionConfigOptionCategory::Other(PERMISSION_CATEGORY.to_owned())),
    )
}
