//! Where a reply waits for the test.

use std::sync::Arc;

use tokio::sync::watch;

use super::LIMIT;

/// Holds a reply until the test opens it. Clones are the same gate.
#[derive(Debug, Clone)]
pub struct Gate {
    reached: Arc<watch::Sender<bool>>,
    open: Arc<watch::Sender<bool>>,
}

impl Default for Gate {
    fn default() -> Self {
        Self::new()
    }
}

impl Gate {
    pub fn new() -> Self {
        Self { reached: Arc::new(watch::Sender::new(false)), open: Arc::new(watch::Sender::new(false)) }
    }

    pub fn open(&self) {
        self.open.send_replace(true);
    }

    /// Until a reply stands before the gate; fails the test if none comes.
    pub async fn reached(&self) {
        assert!(tokio::time::timeout(LIMIT, self.reached_ever()).await.is_ok(), "no reply came to the gate");
    }

    /// The same, however long it takes.
    pub async fn reached_ever(&self) {
        // The sender lives in self.
        let _ = self.reached.subscribe().wait_for(|reached| *reached).await;
    }

    pub(super) async fn pass(&self) {
        self.reached.send_replace(true);
        // The sender lives in self.
        let _ = self.open.subscribe().wait_for(|open| *open).await;
    }
}
