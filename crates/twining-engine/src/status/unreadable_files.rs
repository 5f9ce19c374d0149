//! Files beside the index that cannot be read: the policy, turns, handoffs, the feature list,
//! the registry. Each reader skips what it cannot read, so somebody has to tell.

use twining_model::{Handoff, limits, text};
use twining_store::{AgentFiles, FeatureListFile, TextFile, TurnFiles};

use super::report::{StatusReport, StatusWarning, UNREADABLE, UNREADABLE_LISTED, UnreadableFile};
use crate::fields;
use crate::governance::turns;
use crate::workflow;
use twining_guard::policy::Examples;
use twining_guard::{GuardSet, UserPolicy};

/// Turn files that are looked at, the last by name: `status` must not grow with the project.
const TURNS: usize = 200;

/// Turns that cannot be read, or lie where another belongs.
pub(super) fn turns(stored: &TurnFiles) -> Vec<UnreadableFile> {
    let listing = match stored.all() {
        Ok(listing) => listing,
        Err(error) => return vec![unreadable("turns".to_owned(), &error.to_string())],
    };
    let skipped = listing.skipped.iter().map(|(file, why)| unreadable(file.clone(), why));
    let bad = listing.locations.iter().rev().take(TURNS);
    skipped
        .chain(bad.filter_map(|slot| {
            turns::why_unreadable(stored, slot).map(|why| unreadable(slot.path(), &why))
        }))
        .collect()
}

/// A policy whose guards cannot be read. Mistakes beside them are told where the
/// policy is asked for: the rest of it holds.
pub(super) fn policy(file: &TextFile) -> Option<UnreadableFile> {
    let mistake = GuardSet::load(&UserPolicy::default(), file, Examples::Skip).unread?;
    let why = format!(
        "{}; its guards are not in force until it is fixed",
        text::excerpt(&mistake.message, 160)
    );
    Some(UnreadableFile { file: "policy.yml".to_owned(), line: Some(mistake.line), why })
}

/// A feature list that cannot be read.
pub(super) fn features(stored: &FeatureListFile) -> Option<UnreadableFile> {
    let failure = workflow::read_list(stored).err()?;
    let file = stored.path.strip_prefix(".twining/").unwrap_or(&stored.path);
    Some(unreadable(file.to_owned(), &failure.to_string()))
}

/// Handoffs that cannot be read, among the newest.
pub(super) fn handoffs(stored: &AgentFiles) -> Vec<UnreadableFile> {
    let ids = match stored.handoff_ids() {
        Ok(ids) => ids,
        Err(error) => return vec![unreadable("handoffs".to_owned(), &error.to_string())],
    };
    let why = |id: &twining_model::Id| match stored.handoff(id) {
        Ok(None) => None,
        Ok(Some(bytes)) => match serde_json::from_slice::<Handoff>(&bytes) {
            Ok(handoff) if handoff.id == id.as_str() => None,
            Ok(_) => Some("it contains a different handoff than its file name says".to_owned()),
            Err(error) => Some(error.to_string()),
        },
        Err(error) => Some(error.to_string()),
    };
    ids.iter()
        .take(limits::HANDOFFS)
        .filter_map(|id| Some(unreadable(format!("handoffs/{id}.json"), &why(id)?)))
        .collect()
}

fn unreadable(file: String, why: &str) -> UnreadableFile {
    UnreadableFile { file, line: None, why: text::excerpt(why, 160) }
}

impl StatusReport {
    /// Adds files that cannot be read to those of the index, in the list, the
    /// warning that counts them and the summary.
    pub(super) fn add_unreadable(&mut self, found: Vec<UnreadableFile>) {
        if found.is_empty() {
            return;
        }
        let before = self
            .warnings
            .iter()
            .position(|warning| warning.code == UNREADABLE.code)
            .map(|at| self.warnings.remove(at).message);
        let known = before
            .as_deref()
            .and_then(|message| message.split(' ').next()?.parse::<u64>().ok())
            .unwrap_or_default();
        let message = fields::count(
            known.saturating_add(found.len() as u64),
            UNREADABLE.one,
            UNREADABLE.many,
        );
        self.summary = match (before, self.summary.strip_prefix("Needs attention: ")) {
            (Some(before), Some(_)) => self.summary.replacen(&before, &message, 1),
            (_, Some(rest)) => format!("Needs attention: {message}; {rest}"),
            _ => format!("Needs attention: {message}."),
        };
        self.warnings.insert(
            0,
            StatusWarning {
                code: UNREADABLE.code.to_owned(),
                message,
                hint: UNREADABLE.hint.to_owned(),
            },
        );
        self.unreadable.extend(found);
        self.unreadable.truncate(UNREADABLE_LISTED);
    }
}
