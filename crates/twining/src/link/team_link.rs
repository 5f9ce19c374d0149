//! The link of an open project: what is written goes to the log at once if that takes a moment,
//! and waits if it does not.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value;
use twining_model::Change;
use twining_store::{Durability, LogError, Store, StoreError};

use super::http_log::HttpLog;
use super::settings::LinkSettings;
use super::sync_state::SyncState;
use crate::render::command_error::CommandError;

/// How long a write waits for the log.
const DELIVERY_WAIT: Duration = Duration::from_millis(300);
/// How long nobody waits for a log that did not answer.
pub(super) const CLOSED_FOR: Duration = Duration::from_secs(15);
/// How often a claim is tried again because others were quicker.
const TRIES: usize = 5;
/// Verbs that need the log: two clones must not both succeed.
const NEED_LOG: [&str; 2] = ["claim", "acknowledge"];

/// Whether two clones must not both succeed with a verb.
pub(crate) fn needs_log(verb: &str) -> bool {
    NEED_LOG.contains(&verb)
}

/// A verb's answer, with whether the log has everything where the folder is linked.
pub(crate) fn with_synced(mut answer: Value, synced: Option<bool>) -> Value {
    if let (Some(answer), Some(synced)) = (answer.as_object_mut(), synced) {
        answer.insert("synced".to_owned(), Value::Bool(synced));
    }
    answer
}

/// The link of an open project.
#[derive(Clone)]
pub(crate) struct TeamLink {
    store: Arc<Store>,
    pub(super) log: HttpLog,
}

impl TeamLink {
    /// The link of a folder, if it is linked and this user has the settings for it. From then on
    /// planned writes of the store go through the log.
    pub(crate) fn of(store: &Arc<Store>) -> Option<Self> {
        LinkSettings::of_linked(store).map(|settings| Self::with_settings(store, &settings))
    }

    /// The same with these settings.
    pub(super) fn with_settings(store: &Arc<Store>, settings: &LinkSettings) -> Self {
        let log = HttpLog::new(&settings.address, &settings.token)
            .of_project(settings.repository.clone(), store);
        let state = SyncState::read(store);
        if let Some(pause) = state.pause_left(store.ids().now()) {
            log.close_for(pause);
        }
        if let Some(found) = state.too_new {
            store.follower().note_too_new(found);
        }
        store.use_linked_log(Arc::new(log.clone()));
        Self { store: Arc::clone(store), log }
    }

    /// Sends what waits, if the log answers at once. Returns whether nothing waits any more.
    pub(crate) fn deliver(&self) -> bool {
        let waits = || self.store.outbox().has_waiting().unwrap_or(true);
        if self.log.is_closed() || !waits() {
            return !waits();
        }
        let log = self.log.until(Instant::now() + DELIVERY_WAIT);
        let delivered = self.store.outbox().deliver(&log);
        self.note(&delivered.map(drop));
        !waits()
    }

    /// Remembers whether the log answered.
    pub(super) fn note(&self, answer: &Result<(), StoreError>) {
        // A log that nobody asked did not fail once more: the pause must end some time.
        if self.log.is_closed() && answer.as_ref().is_err_and(StoreError::is_offline) {
            return;
        }
        match answer {
            Err(error) if error.is_offline() => self.log.close_for(CLOSED_FOR),
            Err(StoreError::Log(LogError::TooNew { found, .. })) => {
                self.store.follower().note_too_new(*found);
            }
            _ => self.log.reopen(),
        }
        SyncState::note(&self.store, answer);
    }

    /// Runs a verb that two clones must not both succeed with.
    pub(crate) fn run_online<T>(
        &self,
        verb: &str,
        run: impl Fn() -> Result<T, CommandError>,
    ) -> Result<T, CommandError> {
        for _ in 0..TRIES {
            let version = self.take_over_claims().map_err(|error| self.offline(verb, &error))?;
            let before = self.claims_here()?;
            let answer = run()?;
            let after = self.claims_here()?;
            if after == before {
                return Ok(answer);
            }
            match self.log.replace_claims(version, &after) {
                Ok(()) => return Ok(answer),
                Err(LogError::Behind) => {}
                Err(error) => {
                    // Not ours until everybody knows.
                    self.write_claims(before)?;
                    return Err(self.offline(verb, &error.into()));
                }
            }
        }
        Err(CommandError::from(StoreError::from(LogError::Behind)))
    }

    /// Brings the folder up to date with the log and with everybody's claims.
    fn take_over_claims(&self) -> Result<u64, StoreError> {
        let (version, body) = self.log.claims()?;
        if !body.is_empty() && self.claims_here()? != body {
            self.write_claims(body)?;
        }
        self.store.outbox().deliver(&self.log)?;
        self.store.follower().catch_up()?;
        Ok(version)
    }

    fn claims_here(&self) -> Result<String, StoreError> {
        let bytes = self.store.documents().claims()?.unwrap_or_default();
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    fn write_claims(&self, body: String) -> Result<(), StoreError> {
        self.store.write(Durability::Normal, &Change { claims: Some(body), ..Change::default() })
    }

    fn offline(&self, verb: &str, error: &StoreError) -> CommandError {
        self.note(&Err(StoreError::from(LogError::Unreachable(error.to_string()))));
        let known = SyncState::read(&self.store);
        let seen = known.answered_at.map_or_else(
            || "it has not answered yet".to_owned(),
            |at| format!("it last answered at {at}"),
        );
        CommandError::unavailable(
            "OFFLINE",
            format!("`{verb}` needs the team's log, which cannot be reached: {error}; {seen}"),
        )
        .with_hint("`twining status` shows who held what then; everything else works offline")
    }
}
