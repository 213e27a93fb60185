//! What a turn has used up, and the limits at which it ends (R13.3). Counts; the limits come from the configuration.

use crate::cost::Prices;
use crate::message::Usage;

/// Of one turn; `None` is no limit.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct TurnLimits {
    /// Calls of tools.
    pub calls: Option<u64>,
    /// Read and written by the model, of all requests together.
    pub tokens: Option<u64>,
    /// US dollars, where prices are configured.
    pub cost: Option<f64>,
}

/// What a turn has used up so far.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct TurnSpent {
    pub calls: u64,
    pub tokens: u64,
    /// `None` where no request had a price.
    pub cost: Option<f64>,
    pub limits: TurnLimits,
}

impl TurnLimits {
    /// The lower of each.
    pub(crate) fn lowest(self, other: Self) -> Self {
        fn lower<T: PartialOrd>(a: Option<T>, b: Option<T>) -> Option<T> {
            match (a, b) {
                (Some(a), Some(b)) => Some(if b < a { b } else { a }),
                (a, b) => a.or(b),
            }
        }
        Self {
            calls: lower(self.calls, other.calls),
            tokens: lower(self.tokens, other.tokens),
            cost: lower(self.cost, other.cost),
        }
    }
}

impl TurnSpent {
    pub(super) fn of(limits: TurnLimits) -> Self {
        Self { limits, ..Self::default() }
    }

    /// `prices` of the model that was asked.
    pub(super) fn add_request(&mut self, usage: Option<Usage>, prices: Option<Prices>) {
        let Some(usage) = usage else { return };
        self.tokens = self.tokens.saturating_add(usage.input).saturating_add(usage.output);
        if let Some(prices) = prices {
            self.cost = Some(self.cost.unwrap_or_default() + prices.of(&usage));
        }
    }

    pub(super) fn with_request(mut self, usage: Option<Usage>, prices: Option<Prices>) -> Self {
        self.add_request(usage, prices);
        self
    }

    /// Counts the calls of a reply, unless they are more than the turn may make: then the text for the user.
    pub(super) fn add_calls(&mut self, calls: usize) -> Result<(), String> {
        let calls = self.calls.saturating_add(calls as u64);
        match self.limits.calls {
            Some(limit) if calls > limit => Err(ended(&format!("{limit} calls of tools"), "calls")),
            _ => {
                self.calls = calls;
                Ok(())
            }
        }
    }

    /// Whether another request may be made; else the text for the user.
    pub(super) fn may_go_on(&self) -> Result<(), String> {
        match (self.limits.tokens, self.limits.cost, self.cost) {
            (Some(limit), _, _) if self.tokens >= limit => {
                Err(ended(&format!("{limit} tokens ({} were used)", self.tokens), "tokens"))
            }
            (_, Some(limit), Some(cost)) if cost >= limit => {
                Err(ended(&format!("{limit:.2} US dollars ({cost:.2} were spent)"), "cost"))
            }
            _ => Ok(()),
        }
    }
}

fn ended(limit: &str, key: &str) -> String {
    format!(
        "The turn was ended at its limit of {limit}. Nothing is lost: say \"go on\" for another turn, or raise `limits.{key}` in your configuration."
    )
}
