//! Grants as they are shown on the wire and on the command line: pure.

use copydesk_engine::ids::Millis;
use copydesk_engine::permission::{Agents, Grant, GrantScope, KeptGrant};
use copydesk_engine::runner::{HeldGrant, HeldScope};
use copydesk_protocol::additions::{GrantScopeView, GrantView};

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
