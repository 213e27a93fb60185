//! Whether a request that failed is sent again, and when. Pure: it neither waits nor sends.
//!
//! The numbers are opencode's: 2 s that double up to 30 s with up to a quarter more, unless the provider names a time.

use std::sync::Arc;
use std::time::Duration;

use crate::event::Retry;
use crate::ports::{ModelError, ProviderSettings};

const FIRST_WAIT: Duration = Duration::from_secs(2);
const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// Whoever asks for more is out of order for longer than a turn can hang: the user is told instead.
const LONGEST_ASKED_WAIT: Duration = Duration::from_secs(3600);

/// A local server's limits grow with each further try, up to this many times what they are.
const MOST_PATIENCE: u32 = 4;

/// The wait before further try `attempt` (1 for the first) of at most `of`; `None` where the error is final. `jitter` is any number: it spreads the waits of many clients.
pub(super) fn decide(error: &ModelError, attempt: u32, of: u32, jitter: u64) -> Option<Retry> {
    if !error.retry() || attempt > of {
        return None;
    }
    let wait = match error.retry_after() {
        Some(asked) if asked > LONGEST_ASKED_WAIT => return None,
        // Never earlier than asked for, and not all at once.
        Some(asked) => asked + spread(FIRST_WAIT, jitter),
        None => {
            let wait = FIRST_WAIT.saturating_mul(1 << (attempt - 1).min(16)).min(LONGEST_WAIT);
            wait + spread(wait, jitter)
        }
    };
    Some(Retry { attempt, of, wait, reason: error.message.clone() })
}

/// The limits of further try `attempt` (0: the first of all): a server of one's own that was too slow once gets more time.
pub(super) fn patience(provider: &Arc<ProviderSettings>, attempt: u32) -> Arc<ProviderSettings> {
    if attempt == 0 || !provider.is_local() {
        return Arc::clone(provider);
    }
    let times = (attempt + 1).min(MOST_PATIENCE);
    Arc::new(ProviderSettings {
        header_timeout: provider.header_timeout.saturating_mul(times),
        chunk_timeout: provider.chunk_timeout.saturating_mul(times),
        ..provider.as_ref().clone()
    })
}

/// A number that differs from session to session and from try to try, out of what is unique (FNV-1a).
pub(super) fn jitter(unique: &str, attempt: u32) -> u64 {
    unique
        .bytes()
        .chain(attempt.to_le_bytes())
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// From nothing to a quarter of `wait`.
fn spread(wait: Duration, jitter: u64) -> Duration {
    let share = u32::try_from(jitter % 1001).unwrap_or_default();
    wait / 4 * share / 1000
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ports::{ModelErrorKind, WireProtocol};

    fn error(kind: ModelErrorKind) -> ModelError {
        ModelError { kind, message: "why".to_owned() }
    }

    fn waits(kind: &ModelErrorKind, jitter: u64) -> Vec<Option<u128>> {
        (1..=6).map(|attempt| Some(decide(&error(kind.clone()), attempt, 5, jitter)?.wait.as_millis())).collect()
    }

    #[test]
    fn r14_5_waits_double_with_jitter_and_end_after_five() {
        let kind = ModelErrorKind::Connection;
        assert_eq!(waits(&kind, 0), [Some(2000), Some(4000), Some(8000), Some(16_000), Some(30_000), None]);
        assert_eq!(waits(&kind, 1000), [Some(2500), Some(5000), Some(10_000), Some(20_000), Some(37_500), None]);
    }

    #[test]
    fn r14_5_a_wait_that_is_asked_for_is_kept() {
        let asked = |seconds| ModelErrorKind::RateLimited { retry_after: Some(Duration::from_secs(seconds)) };
        assert_eq!(waits(&asked(90), 0)[0], Some(90_000));
        assert_eq!(waits(&asked(0), 500)[0], Some(250));
        assert_eq!(waits(&asked(3601), 0)[0], None, "the user decides");
    }

    #[test]
    fn r14_5_what_fails_again_is_not_sent_again() {
        for kind in [
            ModelErrorKind::Auth,
            ModelErrorKind::ContextOverflow,
            ModelErrorKind::Invalid,
            ModelErrorKind::Setup,
            ModelErrorKind::Protocol,
        ] {
            assert_eq!(decide(&error(kind), 1, 5, 0), None);
        }
    }

    #[test]
    fn c83_a_local_server_gets_a_growing_limit() {
        let provider = |base_url: &str| {
            Arc::new(ProviderSettings {
                id: "p".to_owned(),
                wire: WireProtocol::ChatCompletions,
                base_url: base_url.to_owned(),
                key: None,
                headers: Default::default(),
                header_timeout: Duration::from_secs(10),
                chunk_timeout: Duration::MAX,
                max_retries: 2,
            })
        };
        let limits = |base_url: &str| {
            let provider = provider(base_url);
            [0, 1, 2, 3, 5].map(|attempt| patience(&provider, attempt).header_timeout.as_secs())
        };
        for local in ["http://127.0.0.1:8080/v1", "http://localhost/v1", "http://[::1]:1/v1", "http://192.168.1.7/v1"] {
            assert_eq!(limits(local), [10, 20, 30, 40, 40], "{local}");
        }
        for hosted in ["https://api.example.com/v1", "https://8.8.8.8/v1", "http://user:localhost@h.example/"] {
            assert_eq!(limits(hosted), [10; 5], "{hosted}");
        }
        let grown = patience(&provider("http://localhost"), 2);
        assert_eq!((grown.chunk_timeout, grown.max_retries), (Duration::MAX, 2));
    }
}
