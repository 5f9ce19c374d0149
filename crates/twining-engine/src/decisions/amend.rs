//! Amending: which fields of a decision a change of mind sets.

use serde_json::{Map, Value};
use twining_model::{Amendment, Decision, DecisionStatus, InvalidInput, StatusChange, limits};

use crate::caller::Stamp;
use crate::words;

/// What an amended decision may take: a little less than a reader accepts, since
/// the file keeps its own white space.
const AMENDED_BYTES: usize = limits::RECORD_BYTES / 8 * 7;

/// Moves a decision to another status and notes who, when and why.
pub(crate) fn move_to(decision: &mut Decision, status: DecisionStatus, by: &str, reason: &str, stamp: &Stamp<'_>) {
    decision.status = status;
    decision.history.push(StatusChange { at: stamp.at, status, by: by.to_owned(), reason: words::summary(reason) });
}

/// The fields that differ between a decision as it is and as it shall be.
///
/// Refused if the file would outgrow what we read back: an amended decision
/// that no reader takes would be a lost one.
pub(crate) fn amendment(before: &Decision, after: &Decision) -> Result<Amendment, InvalidInput> {
    words::fits("decision_id", after, AMENDED_BYTES)?;
    let (old, mut set) = (fields(before), fields(after));
    set.retain(|key, value| old.get(key) != Some(value));
    Ok(Amendment { id: before.id.clone(), set })
}

fn fields(decision: &Decision) -> Map<String, Value> {
    match serde_json::to_value(decision) {
        Ok(Value::Object(fields)) => fields,
        _ => unreachable!("a decision is a JSON object with text for keys"),
    }
}
