//! Lines that a linked clone sends: what it says of itself is overwritten by what the service
//! knows, and what a folder could not carry out is refused before it is in the log for ever.

use serde_json::{Value, json};
use twining_model::{Authority, Change, Decision, Id, Origin, Time, Trust};
use twining_store::NewLine;

use super::api_error::ApiError;
use crate::principal::{AccessRole, Principal, PrincipalKind};

/// Lines of one request.
pub(super) const MAX_LINES: usize = 1000;
/// Records that one line archives or removes.
const MAX_REMOVED: usize = 1000;
/// How far ahead of ours a clock may be.
const MAX_AHEAD_MS: i64 = 10 * 60 * 1000;

/// Who sends lines, and what may be believed of them.
pub(super) struct LineCheck<'a> {
    /// Whose token they come with.
    pub(super) principal: &'a Principal,
    /// What that may do here.
    pub(super) role: AccessRole,
    /// The time.
    pub(super) now: Time,
}

impl LineCheck<'_> {
    /// A line as it may be in the log.
    pub(super) fn checked(&self, line: NewLine) -> Result<NewLine, ApiError> {
        let NewLine { key, mut change } = line;
        is_shared(&change)?;
        is_possible(&change)?;
        if self.needed_role(&change) > self.role {
            return Err(ApiError::needs_role(self.needed_role(&change)));
        }
        for entry in &mut change.entries {
            entry.origin = Some(self.origin(entry.origin.take()));
            self.set_back(&mut entry.timestamp);
        }
        for decision in &mut change.decisions {
            self.check_decision(decision);
        }
        for amendment in &mut change.amendments {
            amendment.set.remove("origin");
            if let Some(authority) = amendment.set.get_mut("override_authority") {
                self.check_authority(authority);
            }
        }
        for trace in change.traces.iter_mut().chain(&mut change.imported_traces) {
            trace.origin = Some(self.origin(trace.origin.take()));
            self.set_back(&mut trace.timestamp);
        }
        Ok(NewLine { key, change })
    }

    /// A promotion, an override, an archive and a removal are for maintainers.
    fn needed_role(&self, change: &Change) -> AccessRole {
        let is_settled = change.amendments.iter().any(|amendment| {
            matches!(
                amendment.set.get("status").and_then(Value::as_str),
                Some("active" | "overridden")
            )
        });
        let is_removal = !change.archived.is_empty()
            || !change.removed_entities.is_empty()
            || !change.removed_relations.is_empty();
        if is_settled || is_removal { AccessRole::Maintainer } else { AccessRole::Writer }
    }

    fn check_decision(&self, decision: &mut Decision) {
        decision.origin = Some(self.origin(decision.origin.take()));
        self.set_back(&mut decision.timestamp);
        if self.principal.kind != PrincipalKind::Person && decision.override_authority.is_some() {
            decision.override_authority = Some(Authority::Claimed);
        }
    }

    fn check_authority(&self, authority: &mut Value) {
        if self.principal.kind != PrincipalKind::Person {
            *authority = json!(Authority::Claimed.as_str());
        }
    }

    fn origin(&self, given: Option<Origin>) -> Origin {
        let given = given.unwrap_or_else(Origin::elsewhere);
        let is_person = self.principal.kind == PrincipalKind::Person;
        let trust = if is_person { given.trust } else { given.trust.min(Trust::Agent) };
        Origin { principal: Some(self.principal.name.clone()), trust, ..given }
    }

    fn set_back(&self, timestamp: &mut String) {
        let is_ahead = |time: Time| time.as_ms() > self.now.as_ms().saturating_add(MAX_AHEAD_MS);
        if Time::read(timestamp).is_some_and(is_ahead) {
            *timestamp = self.now.to_string();
        }
    }
}

/// The decisions that lines make, which must be new.
pub(super) fn made_decisions(lines: &[NewLine]) -> impl Iterator<Item = &Id> {
    lines.iter().flat_map(|line| line.change.decisions.iter().map(|decision| &decision.id))
}

fn is_shared(change: &Change) -> Result<(), ApiError> {
    let Change { documents, runs, claims, presence, .. } = change;
    if documents.is_empty() && runs.is_empty() && claims.is_none() && presence.is_none() {
        return Ok(());
    }
    Err(ApiError::invalid("documents, runs, claims and presence are in no log"))
}

/// Every folder that follows carries a line out, or stops there.
fn is_possible(change: &Change) -> Result<(), ApiError> {
    let removed =
        change.archived.len() + change.removed_entities.len() + change.removed_relations.len();
    if removed > MAX_REMOVED {
        return Err(ApiError::invalid("a line archives and removes a thousand records at most"));
    }
    let is_name = |name: &str| {
        !name.is_empty()
            && name.len() <= 200
            && !name.starts_with('.')
            && !name.contains(['/', '\\'])
            && !name.chars().any(char::is_control)
    };
    if !change.turns.iter().all(|turn| is_name(&turn.feature) && is_name(&turn.task)) {
        return Err(ApiError::invalid("a turn's feature and task are plain names"));
    }
    let is_json =
        |text: &String| serde_json::from_str::<Value>(text).is_ok_and(|is| is.is_object());
    let of_handoffs = change.handoffs.iter().flat_map(|handoff| [&handoff.text, &handoff.line]);
    if !change.agents.values().chain(of_handoffs).all(is_json) {
        return Err(ApiError::invalid("agents and handoffs are JSON objects"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use twining_model::Channel;

    fn principal(kind: PrincipalKind) -> Principal {
        let id = Id::from_parts(Time::from_ms(0), 1);
        Principal {
            token_id: "t1".to_owned(),
            tenant: id,
            name: "ci".to_owned(),
            kind,
            grants: Vec::new(),
        }
    }

    fn check(change: Value, kind: PrincipalKind, role: AccessRole) -> Result<Value, u16> {
        let principal = principal(kind);
        let check =
            LineCheck { principal: &principal, role, now: Time::from_ms(1_700_000_000_000) };
        let change = serde_json::from_value(change).expect("a change");
        let key = Id::from_parts(Time::from_ms(0), 2);
        let checked = check.checked(NewLine { key, change });
        checked
            .map(|line| serde_json::to_value(line.change).expect("is JSON"))
            .map_err(|error| error.status().as_u16())
    }

    fn by_machine(change: Value) -> Result<Value, u16> {
        check(change, PrincipalKind::Machine, AccessRole::Writer)
    }

    #[test]
    fn what_a_clone_says_of_itself_is_overwritten() {
        let forged = json!({"entries": [{
            "id": "x", "summary": "s", "timestamp": "2099-01-01T00:00:00.000Z",
            "origin": {"via": "cli", "trust": "human", "principal": "the boss"},
        }]});
        let entry = by_machine(forged).expect("is accepted")["entries"][0].clone();
        assert_eq!(entry["origin"]["principal"], "ci");
        assert_eq!(entry["origin"]["trust"], "agent");
        assert_eq!(entry["origin"]["via"], Channel::Cli.as_str());
        assert_eq!(entry["timestamp"], "2023-11-14T22:13:20.000Z");
    }

    #[test]
    fn only_a_persons_token_confirms_an_override() {
        let id = Id::from_parts(Time::from_ms(0), 3);
        let overridden = json!({"amendments": [{
            "id": id, "set": {"status": "overridden", "override_authority": "confirmed"},
        }]});
        assert_eq!(by_machine(overridden.clone()), Err(403));
        let of = |kind| {
            let checked = check(overridden.clone(), kind, AccessRole::Maintainer);
            checked.expect("is accepted")["amendments"][0]["set"]["override_authority"].clone()
        };
        assert_eq!(of(PrincipalKind::Machine), "claimed");
        assert_eq!(of(PrincipalKind::Person), "confirmed");
    }

    #[test]
    fn what_no_folder_could_carry_out_is_refused() {
        let turn = |feature: &str| json!({"turns": [{"feature": feature, "task": "t", "number": 1, "text": "x"}]});
        assert!(by_machine(turn("login")).is_ok());
        assert_eq!(by_machine(turn("../../etc")), Err(400));
        assert_eq!(by_machine(json!({"agents": {"a": "not JSON"}})), Err(400));
        assert_eq!(by_machine(json!({"presence": "{}"})), Err(400));
        assert_eq!(by_machine(json!({"archived": ["x"]})), Err(403));
        let many: Vec<String> = (0..1001).map(|n| n.to_string()).collect();
        assert_eq!(by_machine(json!({"archived": many})), Err(400));
    }
}
