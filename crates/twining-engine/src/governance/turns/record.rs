//! Records a turn: amends it if it exists, and prunes old turns beyond the limit.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};
use twining_model::{Change, InvalidInput, JsonDocument, Time, Turn, TurnName, limits};
use twining_store::{StoreError, TurnFiles, TurnLocation};

use crate::caller::Stamp;
use crate::failure::Failure;
use crate::governance::turns::draft::TurnDraft;
use crate::secrets::Redaction;

/// What was recorded.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct RecordTurnOutcome {
    /// `TURN-{feature}-{task}-T{n}`.
    pub id: String,
    /// The file, inside `.twining`.
    pub path: String,
    /// Whether the turn already existed.
    pub updated: bool,
    /// Pruned turns of completed features.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pruned: Vec<String>,
    /// Notes on what was recorded.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Secrets removed before writing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub redacted: Vec<Redaction>,
}

/// Plans recording a turn in the stored turns. `listed` returns the features that the feature list
/// marks as completed.
pub(crate) fn plan_record(
    turn_files: &TurnFiles,
    draft: &TurnDraft,
    stamp: &Stamp<'_>,
    listed: impl Fn() -> Vec<String>,
) -> Result<(Change, RecordTurnOutcome), Failure> {
    let slot = TurnLocation::of(&draft.key);
    spelled_as_before(
        "feature",
        draft.key.feature.as_str(),
        &slot.feature,
        &turn_files.features()?,
    )?;
    spelled_as_before(
        "task",
        draft.key.task.as_str(),
        &slot.task,
        &turn_files.tasks(&slot.feature)?,
    )?;
    let mut notes = draft.notes.clone();
    let before = match turn_files.read(&slot) {
        Ok(before) => before,
        Err(StoreError::Damaged { .. }) => Some(Vec::new()),
        Err(error) => return Err(error.into()),
    };
    let existing = before.as_deref().and_then(|bytes| JsonDocument::parse(bytes).ok());
    if before.is_some() && existing.is_none() {
        let candidates = turn_files
            .back_up(&slot)?
            .map_or_else(String::new, |path| format!(", and its content was saved as `{path}`"));
        notes.push(format!(
            "`{}` existed but could not be read; it was replaced{candidates}",
            slot.path()
        ));
    }
    let updated = existing.is_some();
    let text = written(existing, draft, stamp)?;
    let pruned = to_prune(turn_files, &slot, draft, listed)?;
    let recorded = RecordTurnOutcome {
        id: draft.key.id(),
        path: slot.path(),
        updated,
        pruned: pruned.iter().map(TurnLocation::path).collect(),
        notes,
        redacted: Vec::new(),
    };
    // The new turn first: a process that is killed in between leaves a turn too many, never one too few.
    let turns = [slot.with_text(Some(text))]
        .into_iter()
        .chain(pruned.into_iter().map(|slot| slot.with_text(None)))
        .collect();
    Ok((Change { turns, ..Change::default() }, recorded))
}

/// Refuses a name that differs from one in use only in its letters' case: on
/// half of all machines the two would be one folder.
fn spelled_as_before(
    field: &'static str,
    given: &str,
    folder: &str,
    known: &[String],
) -> Result<(), Failure> {
    let folded = folder.to_lowercase();
    match known.iter().find(|name| name.to_lowercase() == folded) {
        Some(name) if name != folder && !known.iter().any(|name| name == folder) => {
            Err(InvalidInput::new(field, format!("already exists as `{name}`"))
                .because(format!("`{given}` differs only in case"))
                .into())
        }
        _ => Ok(()),
    }
}

fn written(
    existing: Option<JsonDocument>,
    draft: &TurnDraft,
    stamp: &Stamp<'_>,
) -> Result<String, Failure> {
    let encode = |error: serde_json::Error| Failure::from(StoreError::from(error));
    let now = stamp.at;
    let old: Turn = match &existing {
        Some(document) => {
            serde_json::from_str(&document.to_pretty().map_err(encode)?).unwrap_or_default()
        }
        None => Turn::default(),
    };
    let is_new = existing.is_none();
    let mut document = match existing {
        Some(document) => document,
        None => JsonDocument::parse(b"{}").map_err(encode)?,
    };
    let started = draft.started_at.or_else(|| old.started_at.as_deref().and_then(Time::read));
    let completed = draft
        .completed_at
        .or_else(|| old.completed_at.as_deref().and_then(Time::read))
        .unwrap_or(now);
    if let Some(started) = started.filter(|started| *started > completed) {
        return Err(InvalidInput::new("started_at", "must not be after the turn's end")
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

/// The turns that leave. Files are read only when there are too many. A feature is
/// completed if the list says so or its latest turn does: one that says nothing is
/// worked on again.
fn to_prune(
    turn_files: &TurnFiles,
    new: &TurnLocation,
    draft: &TurnDraft,
    listed: impl Fn() -> Vec<String>,
) -> Result<Vec<TurnLocation>, Failure> {
    let mut locations = turn_files.all()?.locations;
    if !locations.contains(new) {
        locations.push(new.clone());
    }
    let of_feature = locations.iter().filter(|slot| slot.feature == new.feature).count();
    if locations.len() <= limits::TURNS_OF_PROJECT && of_feature <= limits::TURNS_OF_FEATURE {
        return Ok(Vec::new());
    }
    let listed: BTreeSet<String> = listed()
        .iter()
        .filter_map(|id| TurnName::parse("feature", id).ok())
        .map(|name| name.folder())
        .collect();
    // The one that is written, as it will be.
    let given = draft.fields.iter().find(|(name, _)| *name == "feature_completed");
    let given = given.and_then(|(_, value)| value.as_bool());
    let mut latest: BTreeMap<String, (i64, u32, bool)> = BTreeMap::new();
    let mut candidates = Vec::new();
    for slot in locations {
        let is_new = slot == *new;
        let turn = read(turn_files, &slot);
        if turn.is_none() && !is_new {
            continue;
        }
        let at = turn.as_ref().map_or(i64::MAX, recorded_at);
        let flag = given.filter(|_| is_new).or(turn.and_then(|turn| turn.feature_completed));
        let state = (at, slot.number, flag.unwrap_or(false));
        let last = latest.entry(slot.feature.clone()).or_insert(state);
        *last = (*last).max(state);
        candidates.push(RetentionCandidate { slot, at, completed: false, is_new });
    }
    for candidate in &mut candidates {
        let feature = &candidate.slot.feature;
        candidate.completed =
            listed.contains(feature) || latest.get(feature).is_some_and(|last| last.2);
    }
    Ok(turns_to_delete(&candidates))
}

fn recorded_at(turn: &Turn) -> i64 {
    let at =
        Time::read(&turn.timestamp).or_else(|| turn.completed_at.as_deref().and_then(Time::read));
    at.map_or(0, Time::as_ms)
}

/// Reads a turn; `None` if it is unreadable. Such a turn is left for a person and never pruned.
fn read(turn_files: &TurnFiles, slot: &TurnLocation) -> Option<Turn> {
    let bytes = turn_files.read(slot).ok().flatten()?;
    serde_json::from_slice(&bytes).ok()
}

/// A turn, as far as keeping it goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RetentionCandidate {
    pub(crate) slot: TurnLocation,
    /// When it was recorded, in milliseconds since 1970.
    pub(crate) at: i64,
    /// Whether its feature is completed.
    pub(crate) completed: bool,
    /// Whether this is the one being written.
    pub(crate) is_new: bool,
}

/// The turns that leave, oldest first.
pub(crate) fn turns_to_delete(turns: &[RetentionCandidate]) -> Vec<TurnLocation> {
    let mut free: Vec<&RetentionCandidate> =
        turns.iter().filter(|turn| !turn.is_new && turn.completed).collect();
    free.sort_by_key(|turn| (turn.at, &turn.slot));
    let mut of_feature: BTreeMap<&str, usize> = BTreeMap::new();
    turns.iter().for_each(|turn| *of_feature.entry(&turn.slot.feature).or_default() += 1);
    let mut total = turns.len();
    let mut left = BTreeSet::new();
    for turn in &free {
        let count = of_feature.entry(&turn.slot.feature).or_default();
        if *count > limits::TURNS_OF_FEATURE {
            *count -= 1;
            total -= 1;
            left.insert(&turn.slot);
        }
    }
    for turn in &free {
        if total > limits::TURNS_OF_PROJECT && left.insert(&turn.slot) {
            total -= 1;
        }
    }
    free.iter().filter(|turn| left.contains(&turn.slot)).map(|turn| turn.slot.clone()).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn turn(feature: &str, number: u32, at: i64, completed: bool) -> RetentionCandidate {
        RetentionCandidate {
            slot: TurnLocation { feature: feature.into(), task: "T".into(), number },
            at,
            completed,
            is_new: false,
        }
    }

    fn feature(name: &str, from: i64, turns: u32, completed: bool) -> Vec<RetentionCandidate> {
        (1..=turns).map(|n| turn(name, n, from + i64::from(n), completed)).collect()
    }

    #[test]
    fn the_51st_turn_of_a_completed_feature_drops_its_oldest() {
        assert_eq!(turns_to_delete(&feature("DONE", 0, 50, true)), []);
        let left = turns_to_delete(&feature("DONE", 0, 51, true));
        assert_eq!(left.iter().map(|slot| slot.number).collect::<Vec<_>>(), [1]);
    }

    #[test]
    fn the_201st_turn_of_a_project_drops_from_completed_features_first() {
        let mut turns = feature("RUNNING", 0, 150, false);
        turns.extend(feature("DONE-A", 1000, 25, true));
        turns.extend(feature("DONE-B", 500, 26, true));
        let left = turns_to_delete(&turns);
        assert_eq!(
            left.iter().map(|slot| (slot.feature.as_str(), slot.number)).collect::<Vec<_>>(),
            [("DONE-B", 1)]
        );
    }

    #[test]
    fn what_is_in_progress_stays_however_much_there_is() {
        assert_eq!(turns_to_delete(&feature("RUNNING", 0, 500, false)), []);
    }

    #[test]
    fn the_turn_being_written_is_never_the_one_to_go() {
        let mut turns = feature("DONE", 1000, 51, true);
        turns[0].is_new = true;
        turns[0].at = 0;
        assert_eq!(turns_to_delete(&turns).iter().map(|slot| slot.number).collect::<Vec<_>>(), [2]);
    }

    proptest! {
        #[test]
        fn room_is_made_as_ruled(spread in prop::collection::vec((0..6_u8, 0..300_i64), 0..320)) {
            let number = |n: usize| u32::try_from(n).expect("few") + 1;
            let turns: Vec<RetentionCandidate> =
                spread.iter().enumerate().map(|(n, (feature, at))| turn(&format!("F{feature}"), number(n), *at, feature % 2 == 0)).collect();
            let left = turns_to_delete(&turns);
            let gone: BTreeSet<&TurnLocation> = left.iter().collect();
            prop_assert_eq!(gone.len(), left.len());
            let stay: Vec<RetentionCandidate> = turns.iter().filter(|turn| !gone.contains(&turn.slot)).cloned().collect();
            let done: BTreeSet<&str> = turns.iter().filter(|turn| turn.completed).map(|turn| turn.slot.feature.as_str()).collect();
            // Nothing in progress goes.
            prop_assert!(left.iter().all(|slot| done.contains(slot.feature.as_str())));
            // No completed feature keeps too many, and the project only what it must.
            for feature in &done {
                prop_assert!(stay.iter().filter(|turn| turn.slot.feature == *feature).count() <= limits::TURNS_OF_FEATURE);
            }
            let in_progress = turns.iter().filter(|turn| !done.contains(turn.slot.feature.as_str())).count();
            prop_assert!(stay.len() <= limits::TURNS_OF_PROJECT.max(in_progress));
            // Of a feature the oldest go: what stays is no older than what went.
            for slot in &left {
                let at = turns.iter().find(|turn| turn.slot == *slot).map_or(0, |turn| turn.at);
                prop_assert!(stay.iter().filter(|turn| turn.slot.feature == slot.feature).all(|turn| turn.at >= at));
            }
            // Nothing goes without need.
            if turns.len() <= limits::TURNS_OF_FEATURE {
                prop_assert!(left.is_empty());
            }
        }
    }
}
