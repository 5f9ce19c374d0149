//! Calls of the memory, which wait for files and for the log: they run on threads of their own,
//! a limited number at a time, and no tenant takes them all.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::Semaphore;
use twining_model::Id;

use super::api_error::ApiError;

/// Calls at a time.
pub(super) const AT_ONCE: usize = 96;
/// Calls of one tenant at a time.
const OF_A_TENANT: usize = 64;

/// Where calls wait for their turn.
pub(super) struct BlockingCalls {
    all: Semaphore,
    tenants: Mutex<HashMap<Id, Arc<Semaphore>>>,
}

impl BlockingCalls {
    /// Nobody waits yet.
    pub(super) fn new() -> Self {
        Self { all: Semaphore::new(AT_ONCE), tenants: Mutex::default() }
    }

    /// Runs a call when it is its turn.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        tenant: &Id,
        call: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, ApiError> {
        let share = Arc::clone(
            self.tenants
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .entry(tenant.clone())
                .or_insert_with(|| Arc::new(Semaphore::new(OF_A_TENANT))),
        );
        let _share = share.acquire().await.map_err(|_| ApiError::unavailable())?;
        let _turn = self.all.acquire().await.map_err(|_| ApiError::unavailable())?;
        tokio::task::spawn_blocking(call).await.map_err(|_| ApiError::unavailable())
    }
}
