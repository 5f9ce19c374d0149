//! What this machine remembers of the service between processes, and what `status` and `doctor`
//! say of a linked folder.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use twining_engine::{StatusWarning, TeamExchange};
use twining_model::{Time, text};
use twining_store::{LogError, OutboxState, Store, StoreError};

use super::git_tracking::{TrackingMismatch, still_tracked, untrack_command};
use super::lost_records::has_lost_records;
use super::refused_changes::refusal_summary;
use super::settings::LinkSettings;
use super::team_link::{CLOSED_FOR, LINK_AGAIN, NO_SETTINGS};
use crate::render::text_page::{count, minute};

/// The note in `local/`.
const NOTE: &str = "shared-sync";
/// How often it is written that all is well.
const REFRESH_MS: i64 = 30_000;

/// What is known of the service.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct SyncState {
    /// When it last answered.
    pub answered_at: Option<Time>,
    /// When it last did not.
    pub failed_at: Option<Time>,
    /// Since when it has not.
    pub failing_since: Option<Time>,
    /// Why not.
    pub reason: Option<String>,
    /// What ends that, where waiting does not.
    pub hint: Option<String>,
    /// Whether it answered, and did not let us in.
    pub is_denied: bool,
    /// The version of lines that we cannot read.
    pub too_new: Option<u32>,
}

impl SyncState {
    /// What is remembered.
    pub(super) fn read(store: &Store) -> Self {
        store.local_state().read_json(NOTE).unwrap_or_default()
    }

    /// Remembers whether the service answered.
    pub(super) fn note(store: &Store, answer: &Result<(), StoreError>) {
        let (before, now) = (Self::read(store), store.ids().now());
        let is_denied = matches!(answer, Err(StoreError::Log(LogError::Denied { .. })));
        let after = match answer {
            Ok(()) => Self { answered_at: Some(now), ..Self::default() },
            Err(error) => Self {
                failed_at: Some(now),
                failing_since: before.failing_since.or(Some(now)),
                reason: Some(text::excerpt(&reason_of(error), 300)),
                hint: error.hint().filter(|_| is_denied),
                is_denied,
                too_new: match error {
                    StoreError::Log(LogError::TooNew { found, .. }) => Some(*found),
                    _ => None,
                },
                answered_at: before.answered_at,
            },
        };
        let is_news = after.failing_since.is_some()
            || before.failing_since.is_some()
            || before.answered_at.is_none_or(|at| now.as_ms() - at.as_ms() > REFRESH_MS);
        if is_news {
            store.local_state().write_json(NOTE, &after);
        }
    }

    /// How much longer nobody waits for the service.
    pub(super) fn pause_left(&self, now: Time) -> Option<Duration> {
        let is_away = self.failing_since.is_some() && !self.is_denied;
        let failed = now.since(self.failed_at.filter(|_| is_away)?);
        CLOSED_FOR.checked_sub(failed)
    }
}

/// Why nothing is exchanged: without saying once more that the log cannot be reached.
pub(super) fn reason_of(error: &StoreError) -> String {
    match error {
        StoreError::Log(LogError::Unreachable(why) | LogError::Unknown(why)) => why.clone(),
        error => error.to_string(),
    }
}

/// What is said of a linked folder: whether all is well, a message, and the next step.
struct SyncFinding {
    code: &'static str,
    is_well: bool,
    message: String,
    hint: String,
}

fn findings(store: &Store) -> Vec<SyncFinding> {
    let Ok(outbox) = store.outbox().state() else { return Vec::new() };
    let mut found = Vec::new();
    let mut unwell = |code, message: String, hint: &str| {
        found.push(SyncFinding { code, is_well: false, message, hint: hint.to_owned() });
    };
    if outbox.has_foreign {
        unwell(
            "foreign_outbox",
            "`.twining/local/` has an outbox of another folder, which is not sent".to_owned(),
            "delete `outbox-foreign.jsonl` and `outbox-refused-foreign.jsonl` there, and, as long as this folder is not linked, `outbox.jsonl` and `outbox-refused.jsonl`; or run `twining link` in the folder they came from",
        );
    }
    if let Some(message) = refusal_summary(store) {
        unwell(
            "refused_changes",
            message,
            "`twining sync refused` shows them; `twining sync retry` sends them again, and a person gives them up with `twining sync drop`",
        );
    }
    if let Some(mismatch) = TrackingMismatch::of(store) {
        let message = match outbox.waiting {
            0 => mismatch.message().to_owned(),
            waiting => format!("{}; {} not sent yet", mismatch.message(), counted(waiting)),
        };
        unwell(mismatch.code(), message, mismatch.hint());
        return found;
    }
    if !outbox.is_linked {
        return found;
    }
    let tracked = still_tracked(store);
    if tracked > 0 {
        unwell(
            "tracked_records",
            format!(
                "git tracks {} of the records here, as on a branch from before the link or one of `twining sync commit`",
                count(tracked as u64, "file")
            ),
            &format!(
                "check out another branch if this one is of `sync commit`; else they stay here, and git forgets them: `{}`; then commit",
                untrack_command()
            ),
        );
    }
    if has_lost_records(store).unwrap_or(false) {
        unwell(
            "lost_records",
            "this folder has fewer records than after the last exchange: git removes them when you leave a branch from before the link".to_owned(),
            "`twining sync` brings them back from the team's log",
        );
    }
    if LinkSettings::of(store).is_none() {
        let message = format!("this folder is linked to a team, but {NO_SETTINGS}");
        unwell("link_settings", message, LINK_AGAIN);
    }
    found.push(exchange(&outbox, &SyncState::read(store)));
    found
}

fn exchange(outbox: &OutboxState, state: &SyncState) -> SyncFinding {
    let waiting = match outbox.since {
        Some(since) => {
            format!("{} not sent yet, the oldest of {}", counted(outbox.waiting), minute(since))
        }
        None if outbox.refused > 0 => "everything that was not refused is sent".to_owned(),
        None => "everything is sent".to_owned(),
    };
    if let Some(since) = state.failing_since {
        let why = state.reason.as_deref().unwrap_or("no reason is known");
        let message = format!(
            "nothing was exchanged with the team's log since {}: {why}; {waiting}",
            minute(state.answered_at.unwrap_or(since))
        );
        let offline = "work goes on here; `twining sync` tries again now";
        return SyncFinding {
            code: if state.is_denied { "denied" } else { "offline" },
            is_well: false,
            message,
            hint: state.hint.clone().unwrap_or_else(|| offline.to_owned()),
        };
    }
    let seen = state.answered_at.map_or_else(
        || "has not been asked yet".to_owned(),
        |at| format!("answered at {}", minute(at)),
    );
    SyncFinding {
        code: "unsent",
        is_well: outbox.waiting == 0,
        message: format!("the team's log {seen}; {waiting}"),
        hint: "`twining sync` sends it now".to_owned(),
    }
}

fn counted(changes: usize) -> String {
    count(changes as u64, "change")
}

/// What a session's brief says: that records do not reach the team until a person does something.
pub(crate) fn session_notice(store: &Store) -> Option<String> {
    let words = match TrackingMismatch::of(store) {
        Some(mismatch) => mismatch.words(),
        None if store.outbox().is_linked().unwrap_or(false) => {
            let state = SyncState::read(store);
            format!("{}; {}", state.reason.filter(|_| state.is_denied)?, state.hint?)
        }
        None => return None,
    };
    Some(format!("Not shared with the team: {words}. Tell the user."))
}

/// What `status` says of a linked folder in any case.
pub(crate) fn team_exchange(store: &Store) -> Option<TeamExchange> {
    let outbox = store.outbox().state().ok().filter(|outbox| outbox.is_linked)?;
    Some(TeamExchange {
        answered_at: SyncState::read(store).answered_at.map(|at| at.to_string()),
        unsent: outbox.waiting as u64,
        unsent_since: outbox.since.map(|since| since.to_string()),
    })
}

/// What `status` warns of in a linked folder.
pub(crate) fn sync_warnings(store: &Store) -> Vec<StatusWarning> {
    findings(store)
        .into_iter()
        .filter(|finding| !finding.is_well)
        .map(|finding| StatusWarning {
            code: finding.code.to_owned(),
            message: finding.message,
            hint: finding.hint,
        })
        .collect()
}

/// What `doctor` says of a linked folder: whether it is well, a message, and the next step.
pub(crate) fn sync_checks(store: &Store) -> Vec<(bool, String, String)> {
    findings(store)
        .into_iter()
        .map(|finding| (finding.is_well, finding.message, finding.hint))
        .collect()
}
