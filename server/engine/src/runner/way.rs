//! Where a call that was allowed leads on to something else, as a redirect does: that is judged like the first, and asked where the first answer does not
//! speak of it. Follows nothing.

use super::access::{self, Need, Resolved, Subject};
use super::decide::rule_of;
use super::{Runner, Stopped};
use crate::tool::Access;

/// As browsers have it, about; loops end here.
const MOST_STEPS: usize = 10;

#[derive(Default)]
pub(super) struct Way {
    /// What was allowed so far.
    met: Vec<Need>,
    steps: usize,
}

impl Way {
    /// What the next step needs: denied ones stop it, those that an answer of this call covers are left out.
    pub(super) async fn next(
        &mut self,
        runner: &Runner,
        before: Resolved,
        access: Access,
    ) -> Result<Resolved, Stopped> {
        self.steps += 1;
        if self.steps > MOST_STEPS {
            return Err(Stopped::failed(format!("It leads on for more than {MOST_STEPS} steps, and was left there.")));
        }
        self.met.extend(before.needs);
        let resolved = access::resolve(&runner.deps, vec![access]).await;
        let mut resolved = resolved.map_err(|error| Stopped::failed(error.to_string()))?;
        runner.deps.look_at_grants().await;
        runner.refuse_denied(&resolved.needs)?;
        let (covered, asked): (Vec<_>, Vec<_>) = resolved.needs.into_iter().partition(|need| self.covers(runner, need));
        self.met.extend(covered);
        resolved.needs = asked;
        Ok(resolved)
    }

    /// In their order.
    pub(super) fn met(&self) -> impl Iterator<Item = &Need> {
        self.met.iter()
    }

    /// Another address of a host that was allowed, unless another rule speaks of it.
    fn covers(&self, runner: &Runner, need: &Need) -> bool {
        let Subject::Fetch(address) = &need.subject else { return false };
        let rule = rule_of(&runner.deps, need);
        self.met.iter().any(|met| {
            matches!(&met.subject, Subject::Fetch(known) if is_same_host(&known.origin(), &address.origin()))
                && rule_of(&runner.deps, met) == rule
        })
    }
}

/// The same origin, or the same host gone over to TLS on the usual port.
fn is_same_host(known: &str, origin: &str) -> bool {
    let secured = known.strip_prefix("http://").map(|host| format!("https://{host}"));
    known == origin || secured.as_deref() == Some(origin)
}
