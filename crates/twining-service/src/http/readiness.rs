//! Whether this node should be sent requests: the database answers and has our schema, the folders
//! keep up with their logs, and nobody asked us to end.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::database::Database;

/// How long the database may be silent.
const SILENCE: Duration = Duration::from_secs(5);
/// How long a folder may be behind its log.
const MAX_LAG: Duration = Duration::from_secs(5);
/// How often it is asked.
const INTERVAL: Duration = Duration::from_secs(1);

/// What is known about it.
#[derive(Debug)]
pub(super) struct Readiness {
    answered: Mutex<Instant>,
    is_ending: AtomicBool,
}

impl Readiness {
    /// Of a node whose database just answered.
    pub(super) fn new(now: Instant) -> Self {
        Self { answered: Mutex::new(now), is_ending: AtomicBool::new(false) }
    }

    /// Whether this node, whose latest folder is so far behind, should be sent requests.
    pub(super) fn is_ready(&self, lag: Duration, now: Instant) -> bool {
        let answered = *self.answered.lock().unwrap_or_else(PoisonError::into_inner);
        !self.is_ending.load(Ordering::Relaxed)
            && now.saturating_duration_since(answered) < SILENCE
            && lag < MAX_LAG
    }

    /// From now on it should not.
    pub(super) fn end(&self) {
        self.is_ending.store(true, Ordering::Relaxed);
    }

    /// Asks the database for as long as the node lives.
    pub(super) async fn watch(&self, database: &Database) {
        loop {
            let checked = tokio::time::timeout(SILENCE, database.check_migrations()).await;
            if let Ok(Ok(())) = checked {
                *self.answered.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
            }
            tokio::time::sleep(INTERVAL).await;
        }
    }
}
