//! Archiving: what is settled leaves the board, what is open stays.

use std::collections::BTreeMap;
use std::fmt::Write;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use twining_model::{Change, Entry, EntryType, Time, scope};
use twining_store::{Durability, EntryFilter, View, archive_file};

use crate::blackboard::note;
use crate::caller::{Caller, Stamp};
use crate::engine::Engine;
use crate::failure::Failure;
use crate::fields;

/// Characters of the summary of an archive.
const SUMMARY_CHARS: usize = 2000;
/// Entries of one type that the summary quotes.
const QUOTED: usize = 5;

/// What to archive, as given by the caller.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ArchiveInput {
    /// ISO 8601 time; default now
    pub before: Option<String>,
    /// Accepted for old clients: decisions always stay
    pub keep_decisions: Option<bool>,
    /// Post a summary; default true
    pub summarize: Option<bool>,
    /// Your name
    pub agent_id: Option<String>,
}

/// What was archived.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ArchiveOutcome {
    /// Entries moved.
    pub archived_count: u64,
    /// Where to, relative to `.twining`; empty if none.
    pub archive_file: String,
    /// A summary of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// Older entries that stay because they are open.
    pub kept_open: u64,
    /// What was asked and not done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// Chooses the entries that leave, and writes the one that stays in their place.
fn plan_archive(
    view: &View<'_>,
    before: Option<Time>,
    input: &ArchiveInput,
    stamp: &Stamp<'_>,
) -> Result<(Change, ArchiveOutcome), Failure> {
    let before = before.unwrap_or(stamp.at);
    let keep_decisions = input.keep_decisions.unwrap_or(true);
    let leaving = view.entries().archivable(before, keep_decisions)?;
    let open = EntryFilter { before: Some(before), only_open: true, ..EntryFilter::default() };
    let kept_open = view.entries().newest(&open, 1)?.total;
    let summary = (input.summarize.unwrap_or(true) && !leaving.is_empty()).then(|| Entry {
        detail: summary(&leaving),
        tags: vec!["archive".to_owned()],
        ..note(
            stamp,
            EntryType::Finding,
            scope::PROJECT,
            &format!(
                "Archive: {} archived",
                fields::count(leaving.len() as u64, "entry", "entries")
            ),
        )
    });
    let note = "decisions are never archived; `keep_decisions: false` changes nothing";
    let outcome = ArchiveOutcome {
        archived_count: leaving.len() as u64,
        archive_file: if leaving.is_empty() { String::new() } else { archive_file(stamp.at) },
        summary: summary.as_ref().map(|entry| entry.detail.clone()),
        kept_open,
        note: (!keep_decisions).then(|| note.to_owned()),
    };
    let archived = leaving.into_iter().map(|entry| entry.id).collect();
    Ok((Change { archived, entries: summary.into_iter().collect(), ..Change::default() }, outcome))
}

/// Summarizes the entries: by type, most frequent first, with the newest of each.
fn summary(entries: &[Entry]) -> String {
    let mut groups: BTreeMap<&str, Vec<&Entry>> = BTreeMap::new();
    for entry in entries {
        groups.entry(entry.entry_type.as_str()).or_default().push(entry);
    }
    let mut groups: Vec<(&str, Vec<&Entry>)> = groups.into_iter().collect();
    groups.sort_by_key(|(_, group)| std::cmp::Reverse(group.len()));
    let topics: Vec<String> =
        groups.iter().map(|(kind, group)| format!("{} {kind}", group.len())).collect();
    let mut text = format!(
        "{} archived: {}.",
        fields::count(entries.len() as u64, "entry", "entries"),
        topics.join(", ")
    );
    for (kind, group) in &mut groups {
        group.sort_by(|a, b| b.timestamp.cmp(&a.timestamp));
        let _ = write!(text, "\n{kind}:");
        for entry in group.iter().take(QUOTED) {
            let _ = write!(text, "\n- {}", fields::shorten(&entry.summary, 120));
        }
        if group.len() > QUOTED {
            let _ = write!(text, "\n- and {} more", group.len() - QUOTED);
        }
    }
    if text.chars().count() <= SUMMARY_CHARS {
        return text;
    }
    let mut cut: String = text.chars().take(SUMMARY_CHARS - 1).collect();
    cut.push('…');
    cut
}

impl Engine {
    /// Moves what is settled off the board.
    pub fn archive(
        &self,
        caller: &Caller,
        input: &ArchiveInput,
    ) -> Result<ArchiveOutcome, Failure> {
        let caller = caller.called(input.agent_id.as_deref())?;
        let before = fields::optional("before", input.before.as_deref(), Time::parse)?;
        self.archive_before(&caller, before, input)
    }

    /// The same, every rule checked.
    pub(crate) fn archive_before(
        &self,
        caller: &Caller,
        before: Option<Time>,
        input: &ArchiveInput,
    ) -> Result<ArchiveOutcome, Failure> {
        self.store().transact(Durability::Strict, |view| {
            plan_archive(view, before, input, &self.stamp(caller))
        })
    }
}

#[cfg(test)]
mod tests;
