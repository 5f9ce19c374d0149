//! Calls under a key of the caller's: sent again, to whichever node, a call is carried out once.
//!
//! The key of the line that the call writes is made from the caller's key and token, and the log
//! takes a key once. So the answer to a call that was carried out already is in the log.

use rmcp::model::CallToolResult;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use twining_model::{Change, Id, Time};
use twining_store::{LogError, with_line_key};

use super::router::ServiceState;
use crate::database::RepositoryRow;
use crate::error::ServiceError;
use crate::principal::Principal;
use crate::repositories::OpenRepository;

/// Where a request names its key, in `_meta`.
pub(super) const META_KEY: &str = "twining/key";
/// The longest key.
pub(super) const MAX_KEY: usize = 200;

/// The key of the line that a call writes: other callers and other verbs have others.
pub(super) fn line_key_of(key: &str, principal: &Principal, verb: &str) -> Id {
    let mut hash = Sha256::new();
    for part in [principal.tenant.as_str(), &principal.token_id, verb, key] {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    let bytes: [u8; 32] = hash.finalize().into();
    let (mut time, mut bits) = ([0; 8], [0; 16]);
    // An id has 48 bits for its time.
    time[2..].copy_from_slice(&bytes[..6]);
    bits.copy_from_slice(&bytes[16..]);
    let time = i64::try_from(u64::from_be_bytes(time)).unwrap_or_default();
    Id::from_parts(Time::from_ms(time), u128::from_be_bytes(bits))
}

/// Carries out a call, or answers what was recorded the first time. Waits: only for threads that
/// may block.
pub(super) fn once(
    state: &ServiceState,
    key: &Id,
    open: &OpenRepository,
    repository: &RepositoryRow,
    call: impl FnOnce() -> CallToolResult,
) -> Result<CallToolResult, ServiceError> {
    if let Some(first) = first_answer(state, key, open, repository)? {
        return Ok(first);
    }
    let result = with_line_key(key, call);
    if result.is_error == Some(true)
        && let Some(first) = first_answer(state, key, open, repository)?
    {
        // Another node was quicker with it.
        return Ok(first);
    }
    Ok(result)
}

/// What the log has under the key.
fn first_answer(
    state: &ServiceState,
    key: &Id,
    open: &OpenRepository,
    repository: &RepositoryRow,
) -> Result<Option<CallToolResult>, ServiceError> {
    let numbers = open.memory.store().numbers_in_log(std::slice::from_ref(key))?;
    let Some(number) = numbers.first().copied().flatten() else { return Ok(None) };
    let RepositoryRow { tenant, id, .. } = repository;
    let lines = state.database.lines_since(tenant, id, number.saturating_sub(1), 1);
    let lines = state.database.wait(lines)?;
    let damaged = || LogError::Refused(format!("line {number} cannot be read"));
    let line = lines.first().ok_or_else(damaged)?;
    let change: Change = serde_json::from_str(line.body.get()).map_err(|_| damaged())?;
    Ok(Some(state.tools.answered(recorded(&change))))
}

/// The record that a call made: a decision, else a handoff, a changed decision, an entry, or what
/// else there is.
fn recorded(change: &Change) -> Value {
    let mut answer = if let Some(decision) = change.decisions.first() {
        let (id, at) = (&decision.id, &decision.timestamp);
        json!({"id": id, "timestamp": at, "status": decision.status})
    } else if let Some(handoff) = change.handoffs.first() {
        json!({"id": handoff.id})
    } else if let Some(amendment) = change.amendments.first() {
        json!({"id": amendment.id})
    } else if let Some(entry) = change.entries.first() {
        json!({"id": entry.id, "timestamp": entry.timestamp})
    } else {
        let entities = change.entities.iter().map(|entity| &entity.id);
        let relations = change.relations.iter().map(|relation| &relation.id);
        let traces = change.traces.iter().chain(&change.imported_traces).map(|trace| &trace.id);
        entities
            .chain(relations)
            .chain(traces)
            .next()
            .map_or_else(|| json!({}), |id| json!({"id": id}))
    };
    answer["repeated"] = json!(true);
    answer
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::principal::PrincipalKind;

    #[test]
    fn a_key_is_of_one_principal_and_one_verb() {
        let principal = |token: &str| Principal {
            token_id: token.to_owned(),
            tenant: Id::from_parts(Time::from_ms(1), 1),
            name: "ada".to_owned(),
            kind: PrincipalKind::Agent,
            grants: Vec::new(),
        };
        let key = |token: &str, verb: &str, key: &str| line_key_of(key, &principal(token), verb);
        assert_eq!(key("a", "post", "1"), key("a", "post", "1"));
        assert!(Id::read(key("a", "post", "1").as_str()).is_some());
        for other in [key("b", "post", "1"), key("a", "decide", "1"), key("a", "post", "2")] {
            assert_ne!(key("a", "post", "1"), other);
        }
        assert_ne!(key("ab", "post", "1"), key("a", "bpost", "1"));
    }
}
