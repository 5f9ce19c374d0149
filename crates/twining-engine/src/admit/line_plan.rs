//! What the log shall hold of a line that a clone planned: the rules of a git merge.

use std::collections::{BTreeMap, HashSet};

use serde_json::{Map, Value};
use twining_model::{
    Amendment, Authority, Change, Decision, DecisionStatus, Entity, GENERAL_DOMAIN, Id, Origin,
    Scope, limits,
};
use twining_store::merge::{Versions, merge_decision};
use twining_store::{StoreError, View};

use super::rights::{COMMIT_FIELDS, RemoteAuthor, check_amendment, refused};
use crate::caller::{Caller, Stamp};
use crate::decisions::{announcements, disagree};
use crate::engine::Engine;

/// Rivals that a warning names.
const RIVALS_NAMED: usize = 20;
/// What an amended decision may take.
const AMENDED_BYTES: usize = limits::RECORD_BYTES / 8 * 7;
/// The fields of an override, which a person may have confirmed.
const OVERRIDE_FIELDS: [&str; 4] =
    ["status", "overridden_by", "override_reason", "override_authority"];

/// How a line becomes what the log shall hold.
pub(super) struct Admission<'a> {
    pub(super) engine: &'a Engine,
    pub(super) author: &'a RemoteAuthor,
    pub(super) planned_on: PlannedOn,
}

/// Which view a clone had.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum PlannedOn {
    /// Others may have planned since.
    OldView,
    /// Nobody has.
    LogEnd,
}

impl Admission<'_> {
    /// Plans what the log shall hold of a line.
    pub(super) fn plan(
        &self,
        view: &View<'_>,
        line: &Change,
        aliases: &mut BTreeMap<String, String>,
    ) -> Result<Change, StoreError> {
        let mut change = line.clone();
        leave_out_known(view, &mut change, &mut HashSet::new())?;
        admit_graph(view, &mut change, aliases)?;
        let mut decisions = Vec::new();
        let mut amendments = Vec::new();
        // The line's decisions as the log has them, where it has.
        let mut made = Vec::new();
        for decision in std::mem::take(&mut change.decisions) {
            match view.decisions().get(&decision.id)? {
                Some(here) => {
                    amendments.push(completed(&here, &decision)?);
                    made.push(here);
                }
                None => {
                    made.push(decision.clone());
                    decisions.push(decision);
                }
            }
        }
        for amendment in std::mem::take(&mut change.amendments) {
            // Of a decision that the log does not have there is nothing to amend.
            if let Some(here) = view.decisions().get(&amendment.id)? {
                amendments.push(self.merged(&here, amendment)?);
            }
        }
        for amendment in &amendments {
            if let Some(here) = view.decisions().get(&amendment.id)? {
                check_amendment(&object(&here)?, amendment, &made, self.author)?;
                amended(&here, amendment)?;
            }
        }
        self.demote_rivals(view, &mut change, &mut decisions, &mut amendments)?;
        change.decisions = decisions;
        change.amendments = amendments;
        Ok(change)
    }

    /// Makes provisional what has rivals in force, and warns of them.
    fn demote_rivals(
        &self,
        view: &View<'_>,
        change: &mut Change,
        decisions: &mut [Decision],
        amendments: &mut [Amendment],
    ) -> Result<(), StoreError> {
        let retired: Vec<Id> = amendments
            .iter()
            .filter(|one| one.set.get("status").is_some_and(|status| *status != "active"))
            .map(|one| one.id.clone())
            .collect();
        // What this line itself puts in force: two rivals in one line are rivals too.
        let mut activated: Vec<Decision> = Vec::new();
        for decision in decisions.iter_mut().filter(|one| one.status == DecisionStatus::Active) {
            let rivals = rivals_of(view, decision, &activated, &retired)?;
            if rivals.is_empty() {
                activated.push(decision.clone());
            } else {
                decision.status = DecisionStatus::Provisional;
                warn(change, decision, rivals, self.engine);
            }
        }
        // Whoever promotes and knows the rivals was told of them, and wants it so.
        if self.planned_on == PlannedOn::LogEnd {
            return Ok(());
        }
        for amendment in amendments {
            let Some(here) = view.decisions().get(&amendment.id)? else { continue };
            let is_activated = here.status != DecisionStatus::Active
                && amendment.set.get("status").is_some_and(|status| *status == "active");
            if !is_activated {
                continue;
            }
            let promoted = amended(&here, amendment)?;
            let rivals = rivals_of(view, &promoted, &activated, &retired)?;
            if rivals.is_empty() {
                activated.push(promoted);
            } else {
                amendment.set.insert("status".to_owned(), Value::from("provisional"));
                warn(change, &here, rivals, self.engine);
            }
        }
        Ok(())
    }

    /// An amendment on top of what others made of the decision meanwhile.
    fn merged(&self, here: &Decision, mut amendment: Amendment) -> Result<Amendment, StoreError> {
        let current = object(here)?;
        let was = match self.planned_on {
            PlannedOn::OldView => std::mem::take(&mut amendment.was),
            PlannedOn::LogEnd => current.clone(),
        };
        if here.override_authority == Some(Authority::Confirmed) && !self.author.is_person {
            // What a person confirmed is not an agent's to say again.
            for field in OVERRIDE_FIELDS {
                if let (Some(set), Some(value)) = (amendment.set.get_mut(field), current.get(field))
                {
                    set.clone_from(value);
                }
            }
        }
        let mut base = current.clone();
        for field in amendment.set.keys() {
            match was.get(field) {
                Some(value) => drop(base.insert(field.clone(), value.clone())),
                None => drop(base.shift_remove(field)),
            }
        }
        let mut ours = base.clone();
        ours.extend(amendment.set.clone());
        let mut after = merge(&Value::Object(base), &Value::Object(ours), &current)?;
        if let Some(status) = current.get("status")
            && amendment.set.keys().all(|field| COMMIT_FIELDS.contains(&field.as_str()))
        {
            // Two who link one commit in other words: a merge would make it provisional.
            after.insert("status".to_owned(), status.clone());
        }
        Ok(Amendment::new(amendment.id, said(&amendment.set, &current, after)))
    }
}

/// The active decisions that a decision disagrees with, but for those that go out of force now.
/// What somebody agreed to keep beside it is no rival.
fn rivals_of(
    view: &View<'_>,
    decision: &Decision,
    activated: &[Decision],
    retired: &[Id],
) -> Result<Vec<Decision>, StoreError> {
    let mut rivals = view.decisions().rivals(&decision.domain, &Scope::read(&decision.scope))?;
    rivals.extend(activated.iter().filter(|one| !is_general(one)).cloned());
    rivals
        .retain(|rival| !retired.contains(&rival.id) && disagree(decision, rival, view.folding()));
    rivals.sort_by(|a, b| b.id.cmp(&a.id));
    Ok(rivals)
}

/// Whether it is of the domain in which nothing contradicts.
fn is_general(decision: &Decision) -> bool {
    decision.domain.trim().eq_ignore_ascii_case(GENERAL_DOMAIN)
}

/// A decision as an amendment leaves it.
fn amended(here: &Decision, amendment: &Amendment) -> Result<Decision, StoreError> {
    let mut after = object(here)?;
    after.extend(amendment.set.clone());
    serde_json::from_value(Value::Object(after))
        .map_err(|error| refused(&format!("an amendment leaves no decision: {error}")))
}

/// Warns as if whoever made the decision had met its rivals then.
fn warn(change: &mut Change, decision: &Decision, mut rivals: Vec<Decision>, engine: &Engine) {
    let origin = decision.origin.clone().unwrap_or_else(Origin::elsewhere);
    let caller = Caller { agent: decision.agent_id.clone(), origin };
    let ids = engine.store().ids();
    let stamp = Stamp { at: ids.now(), ids, caller: &caller };
    let omitted = rivals.len().saturating_sub(RIVALS_NAMED);
    rivals.truncate(RIVALS_NAMED);
    announcements::conflict(change, decision, &rivals, omitted, &stamp);
}

/// A decision that the log has already, completed by what the clone's says besides.
fn completed(here: &Decision, other: &Decision) -> Result<Amendment, StoreError> {
    let other = as_settled_here(here, other);
    let (current, ours) = (object(here)?, object(&other)?);
    let after = merge(&Value::Null, &Value::Object(ours.clone()), &current)?;
    Ok(Amendment::new(here.id.clone(), said(&ours, &current, after)))
}

/// Whether a version of a decision says anything that the log's does not.
#[must_use]
pub fn says_more(here: &Decision, other: &Decision) -> bool {
    let other = as_settled_here(here, other);
    let after = object(here).and_then(|current| {
        let merged = merge(&Value::Null, &Value::Object(object(&other)?), &current)?;
        Ok(merged != current)
    });
    after.unwrap_or(true)
}

/// The other version, with what is known better here: who wrote it, and whether it holds. A clone
/// that did not follow has a decision as it was before others promoted it, or found a rival.
fn as_settled_here(here: &Decision, other: &Decision) -> Decision {
    let mut other = Decision { origin: here.origin.clone(), ..other.clone() };
    if matches!(other.status, DecisionStatus::Active | DecisionStatus::Provisional) {
        other.status = here.status;
    }
    other
}

fn merge(
    base: &Value,
    ours: &Value,
    current: &Map<String, Value>,
) -> Result<Map<String, Value>, StoreError> {
    let base = if base.is_null() { Vec::new() } else { serde_json::to_vec(base)? };
    let (ours, theirs) = (serde_json::to_vec(ours)?, serde_json::to_vec(current)?);
    let merged = merge_decision(&Versions { base: &base, ours: &ours, theirs: &theirs })
        .map_err(|error| refused(&error.to_string()))?;
    if merged.text.len() > AMENDED_BYTES {
        return Err(refused("the decision would be too large"));
    }
    Ok(serde_json::from_slice(&merged.text)?)
}

/// The fields that a line named, and those that changed besides: the clone has the former.
fn said(
    named: &Map<String, Value>,
    current: &Map<String, Value>,
    after: Map<String, Value>,
) -> Map<String, Value> {
    let is_said = |field: &String, value: &Value| {
        named.contains_key(field) || current.get(field) != Some(value)
    };
    after.into_iter().filter(|(field, value)| is_said(field, value)).collect()
}

/// Takes elements of the graph for those that are there: by id, then by name and type.
fn admit_graph(
    view: &View<'_>,
    change: &mut Change,
    aliases: &mut BTreeMap<String, String>,
) -> Result<(), StoreError> {
    let graph = view.graph();
    for entity in &mut change.entities {
        let known = match graph.entity(aliases.get(&entity.id).unwrap_or(&entity.id))? {
            Some(here) => Some(here),
            None => graph.named_as(&entity.name, &entity.kind)?,
        };
        let Some(here) = known else { continue };
        if here.id != entity.id {
            aliases.insert(entity.id.clone(), here.id.clone());
            change.removed_entities.push(entity.id.clone());
        }
        *entity = joined(here, entity);
    }
    let mut relations = Vec::with_capacity(change.relations.len());
    for mut relation in std::mem::take(&mut change.relations) {
        for end in [&mut relation.source, &mut relation.target] {
            if let Some(known) = aliases.get(end) {
                end.clone_from(known);
            }
        }
        let between = graph.relation_between(&relation.source, &relation.target, &relation.kind)?;
        match between.filter(|here| here.id != relation.id) {
            Some(_) => change.removed_relations.push(relation.id),
            None => relations.push(relation),
        }
    }
    change.relations = relations;
    keep_connected(view, change)
}

/// Keeps entities that were pruned as disconnected and are connected by now.
fn keep_connected(view: &View<'_>, change: &mut Change) -> Result<(), StoreError> {
    let graph = view.graph();
    let mut removed = Vec::with_capacity(change.removed_entities.len());
    for id in std::mem::take(&mut change.removed_entities) {
        let edges = graph.edges(&id, &[], limits::LIST)?;
        let is_connected =
            edges.iter().any(|edge| !change.removed_relations.contains(&edge.relation.id));
        match graph.entity(&id)?.filter(|_| is_connected) {
            Some(here) => change.entities.push(here),
            None => removed.push(id),
        }
    }
    change.removed_entities = removed;
    Ok(())
}

/// An entity that is there, with what another version of it says.
fn joined(here: Entity, other: &Entity) -> Entity {
    let mut properties = here.properties.clone();
    for (key, value) in &other.properties {
        if properties.contains_key(key) || properties.len() < limits::PROPERTIES {
            properties.insert(key.clone(), value.clone());
        }
    }
    let updated_at = here.updated_at.clone().max(other.updated_at.clone());
    let (agent_id, origin) = (other.agent_id.clone(), other.origin.clone());
    Entity { properties, updated_at, agent_id, origin, ..here }
}

/// Leaves out entries whose ids are taken.
pub(super) fn leave_out_known(
    view: &View<'_>,
    change: &mut Change,
    seen: &mut HashSet<String>,
) -> Result<(), StoreError> {
    let mut entries = Vec::with_capacity(change.entries.len());
    for entry in std::mem::take(&mut change.entries) {
        if seen.insert(entry.id.clone()) && view.entries().get(&entry.id)?.is_none() {
            entries.push(entry);
        }
    }
    change.entries = entries;
    Ok(())
}

fn object(decision: &Decision) -> Result<Map<String, Value>, StoreError> {
    match serde_json::to_value(decision)? {
        Value::Object(fields) => Ok(fields),
        _ => Err(refused("a decision must be an object")),
    }
}
