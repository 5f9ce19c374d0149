//! The link of an open project: what is written goes to the log at once if that takes a moment,
//! and waits if it does not.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value;
use twining_model::Change;
use twining_store::{Durability, LogError, Store, StoreError, SyncLock};

use super::git_tracking::TrackingMismatch;
use super::http_log::HttpLog;
use super::settings::LinkSettings;
use super::sync_command::copy_of;
use super::sync_state::{SyncState, reason_of};
use crate::render::command_error::CommandError;
use crate::render::text_page::minute;

/// How long a write waits for the log.
const DELIVERY_WAIT: Duration = Duration::from_millis(300);
/// How long nobody waits for a log that did not answer.
pub(super) const CLOSED_FOR: Duration = Duration::from_secs(15);
/// How often a claim is tried again because others were quicker.
const TRIES: usize = 5;
/// How long a claim waits for another one that is made in this folder.
const CLAIMS_WAIT: Duration = Duration::from_secs(15);
const LOCK_INTERVAL: Duration = Duration::from_millis(10);
/// What is said where the folder is linked and this user does not know where to.
pub(super) const NO_SETTINGS: &str = "your settings have no address and token for this folder";
pub(super) const LINK_AGAIN: &str = "run `twining link URL` again, or `twining unlink`";
/// Verbs that need the log: two clones must not both succeed.
const NEED_LOG: [&str; 2] = ["claim", "acknowledge"];

/// Whether two clones must not both succeed with a verb.
pub(crate) fn needs_log(verb: &str) -> bool {
    NEED_LOG.contains(&verb)
}

/// What became of what a call wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SentState {
    /// The log has it.
    Sent,
    /// It waits in the outbox.
    Waits,
    /// The log refused it, for this reason.
    Refused(String),
    /// It is in this folder alone until a person does something: what, is said here.
    Held(String),
}

impl SentState {
    /// What a person is told of it; nothing if all is well.
    pub(crate) fn words(&self) -> Option<String> {
        match self {
            Self::Sent => None,
            Self::Waits => Some("not sent to the team yet; `twining sync` tries again".to_owned()),
            Self::Refused(why) => Some(refusal_words(why)),
            Self::Held(why) => Some(format!("not shared with the team: {why}")),
        }
    }
}

/// What became of what a call wrote; nothing is said of a folder that no team is meant to share.
/// `refused_before` is how many changes were refused before the call.
pub(crate) fn sent_state(
    store: &Store,
    link: Option<&TeamLink>,
    refused_before: usize,
) -> Option<SentState> {
    match link {
        Some(link) => Some(link.deliver(refused_before)),
        None if store.outbox().is_linked().unwrap_or(false) => {
            Some(SentState::Held(format!("{NO_SETTINGS}; {LINK_AGAIN}")))
        }
        None => TrackingMismatch::of(store).map(|mismatch| SentState::Held(mismatch.words())),
    }
}

/// A verb's answer, with whether the log has everything where the folder is linked.
pub(crate) fn with_synced(mut answer: Value, sent: Option<&SentState>) -> Value {
    if let (Some(answer), Some(sent)) = (answer.as_object_mut(), sent) {
        answer.insert("synced".to_owned(), Value::Bool(*sent == SentState::Sent));
        let field = match sent {
            SentState::Refused(_) => Some("sync_refused"),
            SentState::Held(_) => Some("sync_problem"),
            SentState::Sent | SentState::Waits => None,
        };
        answer.extend(field.map(|field| (field.to_owned(), sent.words().into())));
    }
    answer
}

/// Says that the log refused what was written.
fn refusal_words(why: &str) -> String {
    format!("the team's log refused it: {why}; it is in this folder alone: `twining sync refused`")
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

    /// The log, asked although it was away a moment ago, and told how long the oldest change waits.
    pub(super) fn asking(&self) -> Result<HttpLog, StoreError> {
        let oldest = self.store.outbox().state()?.since;
        let now = self.store.ids().now();
        let waited = oldest.map_or(Duration::ZERO, |since| now.since(since));
        Ok(self.log.probing().reporting(waited))
    }

    /// How many changes the log has refused so far.
    pub(crate) fn refused_count(&self) -> usize {
        self.store.outbox().refused().map_or(0, |refused| refused.len())
    }

    /// Sends what waits, if the log answers at once. `refused_before` is how many changes were
    /// refused before the call wrote.
    pub(crate) fn deliver(&self, refused_before: usize) -> SentState {
        let outbox = self.store.outbox();
        let mut denied = None;
        if !self.log.is_closed() && outbox.has_waiting().unwrap_or(true) {
            let log = self.log.until(Instant::now() + DELIVERY_WAIT);
            let delivered = outbox.deliver(&log).map(drop);
            self.note(&delivered);
            if let Err(StoreError::Log(LogError::Denied { why, hint })) = delivered {
                denied = Some(format!("{why}; {hint}"));
            }
        }
        if outbox.has_waiting().unwrap_or(true) {
            let mismatch = || TrackingMismatch::of(&self.store).map(TrackingMismatch::words);
            return denied.or_else(mismatch).map_or(SentState::Waits, SentState::Held);
        }
        // Also if another process sent it.
        match outbox.refused().unwrap_or_default().get(refused_before..) {
            Some([.., last]) => SentState::Refused(last.reason.clone()),
            _ => SentState::Sent,
        }
    }

    /// Remembers whether the log answered.
    pub(super) fn note(&self, answer: &Result<(), StoreError>) {
        // It was not asked: nothing is known of it, and nothing to be remembered on other branches.
        if answer.is_err() && TrackingMismatch::of(&self.store).is_some() {
            return;
        }
        // A log that nobody asked did not fail once more: the pause must end some time.
        if self.log.is_closed() && answer.as_ref().is_err_and(StoreError::is_offline) {
            return;
        }
        match answer {
            // It answers at once: nobody has to be spared a wait.
            Err(StoreError::Log(LogError::Denied { .. })) => self.log.reopen(),
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
        let _lock = self.wait_for_claims_lock()?;
        for _ in 0..TRIES {
            let version = self.take_over_claims().map_err(|error| self.not_done(verb, &error))?;
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
                    return Err(self.not_done(verb, &error.into()));
                }
            }
        }
        Err(CommandError::from(StoreError::from(LogError::Behind)))
    }

    /// Brings the folder up to date with everybody's claims, if the log answers at once.
    pub(crate) fn refresh_claims(&self) {
        if !self.log.is_closed() {
            let log = self.log.until(Instant::now() + DELIVERY_WAIT);
            // What the folder has is shown all the same.
            let _ = self.follow_claims(&log);
        }
    }

    /// Brings the folder up to date with everybody's claims, unless somebody makes one here now.
    pub(super) fn follow_claims(&self, log: &HttpLog) -> Result<(), StoreError> {
        if let Some(_lock) = self.store.outbox().claims_lock()? {
            self.take_over_claims_of(log)?;
        }
        Ok(())
    }

    /// A claim is in the folder before the log has it: meanwhile nobody may take over the log's.
    fn wait_for_claims_lock(&self) -> Result<SyncLock, StoreError> {
        let until = Instant::now() + CLAIMS_WAIT;
        loop {
            match self.store.outbox().claims_lock()? {
                Some(lock) => return Ok(lock),
                None if Instant::now() >= until => return Err(LogError::Behind.into()),
                None => std::thread::sleep(LOCK_INTERVAL),
            }
        }
    }

    /// Brings the folder up to date with everybody's claims: their version. Nobody has claimed
    /// anything yet where there is none; claims of before the link are then shared with the next.
    fn take_over_claims_of(&self, log: &HttpLog) -> Result<u64, StoreError> {
        let (version, body) = log.claims()?;
        if !body.is_empty() && self.claims_here()? != body {
            self.write_claims(body)?;
        }
        Ok(version)
    }

    /// Brings the folder up to date with the log and with everybody's claims.
    fn take_over_claims(&self) -> Result<u64, StoreError> {
        let version = self.take_over_claims_of(&self.log)?;
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

    fn not_done(&self, verb: &str, error: &StoreError) -> CommandError {
        if let StoreError::Log(LogError::Refused(_) | LogError::Denied { .. }) = error {
            let why = match error {
                StoreError::Log(LogError::Refused(why)) => {
                    format!("the team's log refused `{verb}`: {why}")
                }
                error => {
                    self.note(&Err(copy_of(error)));
                    format!("`{verb}` needs the team's log: {error}")
                }
            };
            let refused = CommandError::unavailable(error.code(), why);
            return refused.with_hint(error.hint().unwrap_or_default());
        }
        let why = reason_of(error);
        self.note(&Err(StoreError::from(LogError::Unreachable(why.clone()))));
        let known = SyncState::read(&self.store);
        let seen = known.answered_at.map_or_else(
            || "it has not answered yet".to_owned(),
            |at| format!("it last answered at {}", minute(at)),
        );
        CommandError::unavailable(
            "OFFLINE",
            format!("`{verb}` needs the team's log, which cannot be reached: {why}; {seen}"),
        )
        .with_hint("`twining status` shows who held what then; everything else works offline")
    }
}
