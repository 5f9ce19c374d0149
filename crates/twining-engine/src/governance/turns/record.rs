//! Recording: amend the turn if it is there, and make room if there are many.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};
use twining_model::{Change, InvalidInput, JsonDocument, Time, Turn, TurnName, limits};
use twining_store::{Shelf, Slot, StoreError};

use crate::caller::Stamp;
use crate::failure::Failure;
use crate::governance::turns::draft::TurnDraft;
use crate::governance::turns::retention::{RetentionCandidate, turns_to_delete};
use crate::hygiene::Redaction;

/// What was recorded.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct RecordTurnOutcome {
    /// `TURN-{feature}-{task}-T{n}`.
    pub id: String,
    /// The file, inside `.twining`.
    pub path: String,
    /// Whether the turn was there before.
    pub updated: bool,
    /// Turns of completed features that made room.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pruned: Vec<String>,
    /// What the next turn will miss.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Secrets that were taken out before anything was written.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub redacted: Vec<Redaction>,
}

/// Plans a turn on what is on the shelf. `listed` gives the features that the feature
/// list calls completed.
pub(crate) fn plan_record(
    turn_files: &Shelf,
    draft: &TurnDraft,
    stamp: &Stamp<'_>,
    listed: impl Fn() -> Vec<String>,
) -> Result<(Change, RecordTurnOutcome), Failure> {
    let slot = Slot::of(&draft.key);
    spelled_as_before("feature", draft.key.feature.as_str(), &slot.feature, &turn_files.features()?)?;
    spelled_as_before("task", draft.key.task.as_str(), &slot.task, &turn_files.tasks(&slot.feature)?)?;
    let mut notes = draft.notes.clone();
    let before = match turn_files.read(&slot) {
        Ok(before) => before,
        Err(StoreError::Damaged { .. }) => Some(Vec::new()),
        Err(error) => return Err(error.into()),
    };
    let existing = before.as_deref().and_then(|bytes| JsonDocument::parse(bytes).ok());
    if before.is_some() && existing.is_none() {
        let candidates = turn_files.keep(&slot)?.map_or_else(String::new, |path| format!(", and what it held is kept as `{path}`"));
        notes.push(format!("`{}` was there and could not be read; it is replaced{candidates}", slot.path()));
    }
    let updated = existing.is_some();
    let text = written(existing, draft, stamp)?;
    let pruned = to_prune(turn_files, &slot, draft, listed)?;
    let recorded = RecordTurnOutcome {
        id: draft.key.id(),
        path: slot.path(),
        updated,
        pruned: pruned.iter().map(Slot::path).collect(),
        notes,
        redacted: Vec::new(),
    };
    // The new turn first: a process that is killed in between leaves a turn too many, never one too few.
    let turns = [slot.with_text(Some(text))].into_iter().chain(pruned.into_iter().map(|slot| slot.with_text(None))).collect();
    Ok((Change { turns, ..Change::default() }, recorded))
}

/// Refuses a name that differs from one in use only in its letters' case: on
/// half of all machines the two would be one folder.
fn spelled_as_before(field: &'static str, given: &str, folder: &str, known: &[String]) -> Result<(), Failure> {
    let folded = folder.to_lowercase();
    match known.iter().find(|name| name.to_lowercase() == folded) {
        Some(name) if name != folder && !known.iter().any(|name| name == folder) => {
            Err(InvalidInput::new(field, format!("is known here as `{name}`")).because(format!("`{given}` differs in case only")).into())
        }
        _ => Ok(()),
    }
}

fn written(existing: Option<JsonDocument>, draft: &TurnDraft, stamp: &Stamp<'_>) -> Result<String, Failure> {
    let encode = |error: serde_json::Error| Failure::from(StoreError::from(error));
    let now = stamp.at;
    let old: Turn = match &existing {
        Some(document) => serde_json::from_str(&document.to_pretty().map_err(encode)?).unwrap_or_default(),
        None => Turn::default(),
    };
    let is_new = existing.is_none();
    let mut document = match existing {
        Some(document) => document,
        None => JsonDocument::parse(b"{}").map_err(encode)?,
    };
    let started = draft.started_at.or_else(|| old.started_at.as_deref().and_then(Time::read));
    let completed = draft.completed_at.or_else(|| old.completed_at.as_deref().and_then(Time::read)).unwrap_or(now);
    if let Some(started) = started.filter(|started| *started > completed) {
        return Err(InvalidInput::new("started_at", "must not lie after the turn's end")
            .because(format!("it began at {started} and ended at {completed}"))
            .into());
    }
    let key = &draft.key;
    let mut fields: Vec<(&'static str, Value)> = vec![
        ("id", key.id().into()),
        ("feature_id", key.feature.as_str().into()),
        ("task_id", key.task.as_str().into()),
        ("turn_number", key.number.into()),
    ];
    // What a later call does not mention stays; only a turn without a mode gets the usual one.
    let usual = if key.number == 1 { "fresh_start" } else { "continuing_work" };
    let usual = Some(usual).filter(|_| old.mode.is_empty());
    fields.extend(draft.mode.or(usual).map(|mode| ("mode", mode.into())));
    fields.extend(draft.fields.iter().cloned());
    if let Some(started) = started {
        fields.push(("started_at", started.to_string().into()));
        fields.push(("duration_seconds", json!(completed.since(started).as_secs_f64())));
    }
    fields.push(("completed_at", completed.to_string().into()));
    if draft.is_signed || old.agent_id.is_empty() {
        fields.push(("agent_id", stamp.caller.agent.as_str().into()));
    }
    fields.push(("origin", serde_json::to_value(&stamp.caller.origin).map_err(encode)?));
    match old.timestamp.is_empty() {
        true => fields.push(("timestamp", now.to_string().into())),
        false => fields.push(("timestamp", old.timestamp.into())),
    }
    if !is_new {
        fields.push(("updated_at", now.to_string().into()));
    }
    for (name, value) in &fields {
        document.set(name, value).map_err(encode)?;
    }
    document.to_pretty().map_err(encode)
}

/// The turns that leave. Files are read only when there are too many, and then
/// only as far as it matters: the latest of each task, and completed features.
fn to_prune(turn_files: &Shelf, new: &Slot, draft: &TurnDraft, listed: impl Fn() -> Vec<String>) -> Result<Vec<Slot>, Failure> {
    let mut slots = turn_files.all()?.slots;
    let is_there = slots.contains(new);
    if !is_there {
        slots.push(new.clone());
    }
    let of_feature = slots.iter().filter(|slot| slot.feature == new.feature).count();
    if slots.len() <= limits::TURNS_OF_PROJECT && of_feature <= limits::TURNS_OF_FEATURE {
        return Ok(Vec::new());
    }
    // The one that is written, as it will be.
    let given = draft.fields.iter().find(|(name, _)| *name == "feature_completed").and_then(|(_, value)| value.as_bool());
    let turn_state = |slot: &Slot| -> Option<(i64, bool)> {
        let before = read(turn_files, slot).map(|turn| (recorded_at(&turn), turn.feature_completed));
        if slot == new {
            let (at, completed_flag) = before.unwrap_or((i64::MAX, None));
            return Some((at, given.or(completed_flag).unwrap_or(false)));
        }
        before.map(|(at, completed_flag)| (at, completed_flag.unwrap_or(false)))
    };
    let mut completed = completed_features(&slots, turn_state);
    completed.extend(listed().into_iter().filter_map(|id| TurnName::parse("feature", &id).ok()).map(|name| name.folder()));
    let candidates = slots.into_iter().filter_map(|slot| {
        let completed = completed.contains(&slot.feature);
        let at = if completed { turn_state(&slot)?.0 } else { 0 };
        Some(RetentionCandidate { is_new: slot == *new, slot, at, completed })
    });
    Ok(turns_to_delete(&candidates.collect::<Vec<_>>()))
}

/// The features whose latest turn says that they are completed. One that says
/// nothing is in progress: a feature that was completed and is worked on again.
fn completed_features(slots: &[Slot], turn_state: impl Fn(&Slot) -> Option<(i64, bool)>) -> BTreeSet<String> {
    let mut last_of_task: BTreeMap<(&str, &str), &Slot> = BTreeMap::new();
    for slot in slots {
        let last = last_of_task.entry((&slot.feature, &slot.task)).or_insert(slot);
        if slot.number > last.number {
            *last = slot;
        }
    }
    let mut latest: BTreeMap<&str, (i64, bool)> = BTreeMap::new();
    for slot in last_of_task.values() {
        let Some(completed_flag) = turn_state(slot) else { continue };
        let known = latest.entry(&slot.feature).or_insert(completed_flag);
        *known = (*known).max(completed_flag);
    }
    latest.into_iter().filter(|(_, (_, completed))| *completed).map(|(feature, _)| feature.to_owned()).collect()
}

fn recorded_at(turn: &Turn) -> i64 {
    let at = Time::read(&turn.timestamp).or_else(|| turn.completed_at.as_deref().and_then(Time::read));
    at.map_or(0, Time::as_ms)
}

/// A turn that can be read; one that cannot is for a person to look at, and
/// makes room for nobody.
fn read(turn_files: &Shelf, slot: &Slot) -> Option<Turn> {
    let bytes = turn_files.read(slot).ok().flatten()?;
    serde_json::from_slice(&bytes).ok()
}
