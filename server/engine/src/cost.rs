//! What a conversation has cost, by configured prices. Pure; prices are never looked up anywhere.

use crate::message::{Entry, ModelRef, Usage};

/// US dollars a million tokens.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Prices {
    pub base: Rates,
    /// For requests with more than `LONG_CONTEXT` tokens of input.
    pub long_context: Option<Rates>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rates {
    pub input: f64,
    /// Reasoning too.
    pub output: f64,
    pub cache_read: f64,
    pub cache_write: f64,
}

/// Where vendors ask for more: `context_over_200k` of a configuration.
pub const LONG_CONTEXT: u64 = 200_000;

const MILLION: f64 = 1_000_000.0;

impl Prices {
    /// Of one request, in US dollars.
    pub fn of(&self, usage: &Usage) -> f64 {
        let rates = match self.long_context {
            Some(rates) if usage.input > LONG_CONTEXT => rates,
            _ => self.base,
        };
        let fresh = usage.input.saturating_sub(usage.cache_read).saturating_sub(usage.cache_write);
        let priced = [
            (fresh, rates.input),
            (usage.output, rates.output),
            (usage.cache_read, rates.cache_read),
            (usage.cache_write, rates.cache_write),
        ];
        priced.iter().map(|(tokens, price)| *tokens as f64 * price / MILLION).sum()
    }
}

/// Of all steps that have ended; `None` where none of their models has a price.
pub fn of_session(entries: &[Entry], prices: impl Fn(&ModelRef) -> Option<Prices>) -> Option<f64> {
    let mut model = None;
    let steps = entries.iter().filter_map(|entry| match entry {
        Entry::StepStarted { model: of, .. } => {
            model = Some(of);
            None
        }
        Entry::StepEnded { usage, .. } => Some((model.take()?, usage)),
        _ => None,
    });
    of(steps, prices)
}

/// Of requests, each with its model; `None` where none of the models has a price.
pub fn of<'a>(
    requests: impl Iterator<Item = (&'a ModelRef, &'a Usage)>,
    prices: impl Fn(&ModelRef) -> Option<Prices>,
) -> Option<f64> {
    requests.filter_map(|(model, usage)| Some(prices(model)?.of(usage))).reduce(|sum, cost| sum + cost)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{MessageId, Millis};
    use crate::message::Finish;

    const PRICES: Prices = Prices {
        base: Rates { input: 3.0, output: 15.0, cache_read: 0.3, cache_write: 3.75 },
        long_context: Some(Rates { input: 6.0, output: 22.5, cache_read: 0.6, cache_write: 7.5 }),
    };

    fn check(usage: Usage, expected: f64) {
        let cost = PRICES.of(&usage);
        assert!((cost - expected).abs() < 1e-9, "{cost} in place of {expected}");
    }

    #[test]
    fn each_token_is_paid_once() {
        check(Usage { input: 1000, output: 100, reasoning: 50, ..Usage::default() }, 0.003 + 0.0015);
        check(
            Usage { input: 1000, output: 0, reasoning: 0, cache_read: 600, cache_write: 300 },
            0.0003 + 0.00018 + 0.001_125,
        );
        // A provider that counts what was cached apart from the input.
        check(Usage { input: 10, cache_read: 1_000_000, ..Usage::default() }, 0.3);
        check(Usage { input: 200_001, ..Usage::default() }, 200_001.0 * 6.0 / 1e6);
    }

    #[test]
    fn a_session_adds_up_over_models_and_leaves_out_those_without_a_price() {
        let message = MessageId::new("msg_1");
        let step = |model: &str, input: u64| {
            let model = ModelRef { provider: "p".to_owned(), model: model.to_owned() };
            let usage = Usage { input, ..Usage::default() };
            let started =
                Entry::StepStarted { message: message.clone(), at: Millis(0), agent: "build".to_owned(), model };
            [started, Entry::StepEnded { message: message.clone(), at: Millis(0), usage, finish: Finish::Stop }]
        };
        let prices = |model: &ModelRef| (model.model == "paid").then_some(PRICES);
        let entries = [step("paid", 1000), step("free", 1000), step("paid", 2000)].concat();
        let cost = of_session(&entries, prices);
        assert!(cost.is_some_and(|cost| (cost - 0.009).abs() < 1e-9), "{cost:?}");
        assert_eq!(of_session(&step("free", 1000), prices), None);
    }
}
