//! The wait before the model is asked again, as a line of the terminal that ticks down. Waits for nothing itself: the engine does, for as long.

use std::sync::Arc;
use std::time::Duration;

use copydesk_engine::event::Retry;
use tokio::time::{Instant, sleep_until};

use super::screen::Screen;

/// Rewrites the line each second, until the wait is over or something else is said.
pub(super) async fn count_down(screen: Arc<Screen>, retry: Retry) {
    let end = Instant::now() + retry.wait;
    let mut line = None;
    loop {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            break;
        }
        let text = format!("{} Ctrl-C cancels.", retry.countdown(left));
        line = match line {
            None => Some(screen.begin_passing(&text).await),
            Some(line) if screen.renew(line, &text).await => Some(line),
            Some(_) => return,
        };
        // Until a whole second less is left.
        let next = Duration::from_secs(left.saturating_sub(Duration::from_nanos(1)).as_secs());
        sleep_until(end - next).await;
    }
    if let Some(line) = line {
        screen.clear_passing(line).await;
    }
}
