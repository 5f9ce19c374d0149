//! Reading turns back. What cannot be read is named and skipped.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use twining_model::{Turn, TurnKey, TurnName, limits, text};
use twining_store::{TurnFiles, TurnLocation};

use crate::failure::Failure;
use crate::fields::{self, fit_reply, is_false};

/// Which turns to show.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TurnsInput {
    /// The feature's id
    pub feature: String,
    /// Only this task's
    pub task: Option<String>,
    /// The latest N; default 10
    pub last: Option<usize>,
}

/// An invalid turn file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct UnreadableTurn {
    /// Which file, inside `.twining`.
    pub file: String,
    /// What is wrong with it.
    pub why: String,
}

/// Turns of a feature.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct TurnsOutcome {
    /// The feature.
    pub feature: String,
    /// The turns, oldest first.
    pub turns: Vec<Turn>,
    /// How many there are in all.
    pub total: u64,
    /// Whether older ones were left out.
    #[serde(skip_serializing_if = "is_false")]
    pub truncated: bool,
    /// Files that were skipped.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unreadable: Vec<UnreadableTurn>,
}

/// How many turns one answer has unless more are asked for.
const LAST: usize = 10;

/// Lists the turns of a feature, or of one of its tasks.
pub(crate) fn turns(turn_files: &TurnFiles, input: &TurnsInput) -> Result<TurnsOutcome, Failure> {
    let feature = TurnName::parse("feature", &input.feature)?;
    let task = fields::optional("task", input.task.as_deref(), TurnName::parse)?;
    let last = fields::within("last", input.last, LAST, limits::PAGE)?;
    let listing =
        turn_files.of(&feature.folder(), task.as_ref().map(TurnName::folder).as_deref())?;
    let mut unreadable: Vec<UnreadableTurn> =
        listing.skipped.into_iter().map(|(file, why)| UnreadableTurn { file, why }).collect();
    let mut turns: Vec<Turn> = Vec::new();
    for slot in &listing.locations {
        match read(turn_files, slot) {
            Ok(Some(turn)) => turns.push(turn),
            // Taken away since it was listed.
            Ok(None) => {}
            Err(why) => unreadable.push(UnreadableTurn { file: slot.path(), why }),
        }
    }
    turns.sort_by(|a, b| {
        (&a.timestamp, &a.task_id, a.turn_number).cmp(&(&b.timestamp, &b.task_id, b.turn_number))
    });
    if task.is_some() {
        turns.sort_by_key(|turn| turn.turn_number);
    }
    let total = turns.len() as u64;
    // The newest matter most, so an answer that must be cut is cut at the old end.
    turns.reverse();
    turns.truncate(last);
    let (mut turns, _) = fit_reply(turns);
    turns.reverse();
    unreadable.truncate(limits::TAGS);
    Ok(TurnsOutcome {
        feature: feature.to_string(),
        truncated: (turns.len() as u64) < total,
        turns,
        total,
        unreadable,
    })
}

/// The turns of a task before this one, newest first, as far as they can be read.
pub(crate) fn before(turn_files: &TurnFiles, key: &TurnKey, most: usize) -> Vec<Turn> {
    let slot = TurnLocation::of(key);
    let Ok(listing) = turn_files.of(&slot.feature, Some(&slot.task)) else { return Vec::new() };
    let earlier = listing.locations.iter().rev().filter(|slot| slot.number < key.number);
    earlier.filter_map(|slot| read(turn_files, slot).ok().flatten()).take(most).collect()
}

/// The last turn of each task, if its coach escalated it.
pub(crate) fn escalated(turn_files: &TurnFiles) -> Result<Vec<Turn>, Failure> {
    let locations = turn_files.all()?.locations;
    let is_last = |at: usize| {
        let next: Option<&TurnLocation> = locations.get(at + 1);
        next.is_none_or(|next| {
            (&next.feature, &next.task) != (&locations[at].feature, &locations[at].task)
        })
    };
    let last = locations.iter().enumerate().filter(|(at, _)| is_last(*at));
    let turns = last.filter_map(|(_, slot)| read(turn_files, slot).ok().flatten());
    Ok(turns.filter(|turn| turn.coach_decision == "escalate").collect())
}

/// Why a turn cannot be read; nothing where it can.
pub(crate) fn why_unreadable(turn_files: &TurnFiles, slot: &TurnLocation) -> Option<String> {
    read(turn_files, slot).err()
}

/// Reads one turn, and refuses one that lies where another belongs.
fn read(turn_files: &TurnFiles, slot: &TurnLocation) -> Result<Option<Turn>, String> {
    let Some(bytes) = turn_files.read(slot).map_err(|error| error.to_string())? else {
        return Ok(None);
    };
    let turn: Turn =
        serde_json::from_slice(&bytes).map_err(|error| text::excerpt(&error.to_string(), 120))?;
    let is_at_home = |name: &str, folder: &str| {
        TurnName::parse("name", name).is_ok_and(|name| name.folder() == folder)
    };
    if !is_at_home(&turn.feature_id, &slot.feature)
        || !is_at_home(&turn.task_id, &slot.task)
        || turn.turn_number != slot.number
    {
        return Err("its feature, task or turn number does not match its path".to_owned());
    }
    Ok(Some(turn))
}
