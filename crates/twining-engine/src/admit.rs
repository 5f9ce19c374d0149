//! Admitting lines of linked clones: what was planned on an old view becomes what the log may
//! hold.
//!
//! The rules are those of a git merge. Entries are taken as they are. A decision that has rivals
//! by now is provisional, with the usual warning. Amendments are merged field by field, and a
//! status never goes back. An element of the graph that is there under another id is that one. A
//! line always says something of every record it named, so that the clone ends with the same.
//! What a clone may not say of itself is overwritten, or the line is refused.

use std::collections::{BTreeMap, HashSet};

use serde_json::{Map, Value};
use twining_model::{
    Amendment, Authority, Change, Decision, DecisionStatus, Entity, GENERAL_DOMAIN, Id, Origin,
    Scope, Time, Trust, limits,
};
use twining_store::merge::{Versions, merge_decision};
use twining_store::{LogBase, LogError, NewLine, Store, StoreError, View};

use crate::caller::{Caller, Stamp};
use crate::decisions::{announcements, disagree};
use crate::engine::Engine;

/// How far ahead of ours a clone's clock may be.
const CLOCK_SLACK_MS: i64 = 60 * 60 * 1000;
/// Entries that one line may archive.
const ARCHIVED_AT_ONCE: usize = 100_000;
/// Rivals that a warning names.
const RIVALS_NAMED: usize = 20;
/// What an amended decision may take.
const AMENDED_BYTES: usize = limits::RECORD_BYTES / 8 * 7;
/// The fields of an override, which a person may have confirmed.
const OVERRIDE_FIELDS: [&str; 4] =
    ["status", "overridden_by", "override_reason", "override_authority"];

/// Whose lines they are, as the service knows it by the token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemoteAuthor {
    /// Whether it is a person: nobody else's record says that a person wrote or confirmed it.
    pub is_person: bool,
    /// Whether it may override, promote, archive and prune.
    pub may_settle: bool,
}

impl Engine {
    /// Takes in lines that a linked clone planned on an old view, in their order, and returns
    /// their numbers. A key that the log knows is answered with its number. The store must use a
    /// log.
    pub fn admit(&self, lines: &[NewLine], author: &RemoteAuthor) -> Result<Vec<u64>, StoreError> {
        self.admit_in_order(lines, author).map_err(refusal)
    }

    fn admit_in_order(
        &self,
        lines: &[NewLine],
        author: &RemoteAuthor,
    ) -> Result<Vec<u64>, StoreError> {
        let store = self.store();
        let keys: Vec<Id> = lines.iter().map(|line| line.key.clone()).collect();
        let known = store.numbers_in_log(&keys)?;
        let mut numbers: BTreeMap<Id, u64> = BTreeMap::new();
        let mut aliases = BTreeMap::new();
        let mut plain: Vec<NewLine> = Vec::new();
        for (line, known) in lines.iter().zip(known) {
            if let Some(number) = known {
                numbers.insert(line.key.clone(), number);
                continue;
            }
            let change = vetted(line.change.clone(), author, store.ids().now())?;
            if is_plain(&change) {
                plain.push(NewLine { key: line.key.clone(), change });
                continue;
            }
            append_plain(store, &mut plain, &mut numbers)?;
            let number = store.commit_under_key(&line.key, |view| {
                plan_admit(view, &change, &mut aliases, author, self)
            })?;
            numbers.insert(line.key.clone(), number);
        }
        append_plain(store, &mut plain, &mut numbers)?;
        keys.iter()
            .map(|key| numbers.get(key).copied().ok_or_else(|| refused("a line has no number")))
            .collect()
    }

    /// Appends lines of a clone that planned them on the log as it is, or whose lines are true
    /// whatever others wrote.
    pub fn append_remote(
        &self,
        base: LogBase,
        lines: &[NewLine],
        author: &RemoteAuthor,
    ) -> Result<Vec<u64>, StoreError> {
        let now = self.store().ids().now();
        let vet = |line: &NewLine| {
            let change = vetted(line.change.clone(), author, now)?;
            Ok(NewLine { key: line.key.clone(), change })
        };
        let lines = lines.iter().map(vet).collect::<Result<Vec<_>, StoreError>>()?;
        let amendments: Vec<&Amendment> =
            lines.iter().flat_map(|line| &line.change.amendments).collect();
        if !amendments.is_empty() {
            self.store().view(|view| amendments.iter().try_for_each(|one| check(view, one)))?;
        }
        self.store().append_to_log(base, &lines).map_err(refusal)
    }
}

/// Whether a change is true whatever others wrote.
fn is_plain(change: &Change) -> bool {
    change.decisions.is_empty()
        && change.amendments.is_empty()
        && change.entities.is_empty()
        && change.relations.is_empty()
        && change.removed_entities.is_empty()
        && change.removed_relations.is_empty()
        && change.archived.is_empty()
}

/// Appends lines that need no plan, many at once.
fn append_plain(
    store: &Store,
    lines: &mut Vec<NewLine>,
    numbers: &mut BTreeMap<Id, u64>,
) -> Result<(), StoreError> {
    let mut lines = std::mem::take(lines);
    if lines.is_empty() {
        return Ok(());
    }
    store.view::<_, StoreError>(|view| {
        let mut seen = HashSet::new();
        lines.iter_mut().try_for_each(|line| leave_out_known(view, &mut line.change, &mut seen))
    })?;
    let keys: Vec<Id> = lines.iter().map(|line| line.key.clone()).collect();
    let appended = match store.append_to_log(LogBase::Any, &lines) {
        // Another node may have admitted some of them a moment ago.
        Err(StoreError::Log(LogError::Refused(why))) => {
            let known = store.numbers_in_log(&keys)?;
            if known.iter().all(Option::is_none) {
                return Err(LogError::Refused(why).into());
            }
            let rest: Vec<NewLine> = lines
                .into_iter()
                .zip(&known)
                .filter(|(_, number)| number.is_none())
                .map(|(line, _)| line)
                .collect();
            let mut rest = store.append_to_log(LogBase::Any, &rest)?.into_iter();
            known.into_iter().filter_map(|number| number.or_else(|| rest.next())).collect()
        }
        appended => appended?,
    };
    numbers.extend(keys.into_iter().zip(appended));
    Ok(())
}

/// Leaves out entries whose ids are taken.
fn leave_out_known(
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

/// What a clone may say: its shared part, without what it may not claim.
fn vetted(change: Change, author: &RemoteAuthor, now: Time) -> Result<Change, StoreError> {
    let (mut change, _) = change.split_shared();
    check_rights(&change, author)?;
    let latest = Time::from_ms(now.as_ms() + CLOCK_SLACK_MS);
    let entries = change.entries.iter().map(|entry| &entry.id);
    let ids = entries.chain(change.anchors.iter().map(|anchor| &anchor.id));
    if ids
        .filter_map(|id| Id::read(id))
        .chain(change.decisions.iter().map(|decision| decision.id.clone()))
        .any(|id| id.time() > latest)
    {
        return Err(refused("a record has an id from the future; set the clock"));
    }
    let present = |timestamp: &mut String| {
        if Time::read(timestamp).is_some_and(|at| at > latest) {
            *timestamp = now.to_string();
        }
    };
    let trusted = |origin: &mut Option<Origin>| {
        if let Some(origin) = origin.as_mut().filter(|_| !author.is_person) {
            origin.trust = origin.trust.min(Trust::Agent);
        }
    };
    for entry in &mut change.entries {
        present(&mut entry.timestamp);
        trusted(&mut entry.origin);
    }
    for decision in &mut change.decisions {
        present(&mut decision.timestamp);
        trusted(&mut decision.origin);
        if !author.is_person && decision.override_authority.is_some() {
            decision.override_authority = Some(Authority::Claimed);
        }
    }
    change.entities.iter_mut().for_each(|entity| trusted(&mut entity.origin));
    change.relations.iter_mut().for_each(|relation| trusted(&mut relation.origin));
    let traces = change.traces.iter_mut().chain(&mut change.imported_traces);
    traces.for_each(|trace| trusted(&mut trace.origin));
    for anchor in &mut change.anchors {
        present(&mut anchor.timestamp);
        trusted(&mut anchor.origin);
    }
    for amendment in &mut change.amendments {
        vet_amendment(amendment, author)?;
    }
    Ok(change)
}

fn check_rights(change: &Change, author: &RemoteAuthor) -> Result<(), StoreError> {
    if change.archived.len() > ARCHIVED_AT_ONCE {
        return Err(refused("a line archives too many entries"));
    }
    let settles = |amendment: &Amendment| {
        let status = amendment.set.get("status").and_then(Value::as_str);
        status.is_some_and(|status| ["active", "overridden"].contains(&status))
    };
    let removes = change.removed_entities.len() + change.removed_relations.len();
    let is_settled = !change.archived.is_empty()
        || removes > 0
        || change.amendments.iter().any(settles)
        || change.decisions.iter().any(|one| one.status == DecisionStatus::Overridden);
    if is_settled && !author.may_settle {
        return Err(refused(
            "overriding, promoting, archiving and pruning need the role maintainer",
        ));
    }
    Ok(())
}

fn vet_amendment(amendment: &mut Amendment, author: &RemoteAuthor) -> Result<(), StoreError> {
    let id = amendment.id.as_str();
    if amendment.set.get("id").is_some_and(|other| other.as_str() != Some(id)) {
        return Err(refused("an amendment changes the id of a decision"));
    }
    if author.is_person {
        return Ok(());
    }
    if let Some(authority) = amendment.set.get_mut("override_authority") {
        *authority = Value::from(Authority::Claimed.as_str());
    }
    if let Some(origin) = amendment.set.get_mut("origin").and_then(Value::as_object_mut)
        && origin.get("trust").and_then(Value::as_str) == Some(Trust::Human.as_str())
    {
        origin.insert("trust".to_owned(), Value::from(Trust::Agent.as_str()));
    }
    Ok(())
}

/// Plans what the log shall hold of a line that was planned on an old view.
fn plan_admit(
    view: &View<'_>,
    line: &Change,
    aliases: &mut BTreeMap<String, String>,
    author: &RemoteAuthor,
    engine: &Engine,
) -> Result<Change, StoreError> {
    let mut change = line.clone();
    leave_out_known(view, &mut change, &mut HashSet::new())?;
    admit_graph(view, &mut change, aliases)?;
    let mut decisions = Vec::new();
    let mut amendments = Vec::new();
    for decision in std::mem::take(&mut change.decisions) {
        match view.decisions().get(&decision.id)? {
            Some(here) => amendments.push(completed(&here, &decision)?),
            None => decisions.push(decision),
        }
    }
    for amendment in std::mem::take(&mut change.amendments) {
        amendments.push(merged(view, amendment, author)?);
    }
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
            warn(&mut change, decision, rivals, engine);
        }
    }
    for amendment in &mut amendments {
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
            warn(&mut change, &here, rivals, engine);
        }
    }
    change.decisions = decisions;
    change.amendments = amendments;
    Ok(change)
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

/// An amendment on top of what others made of the decision meanwhile.
fn merged(
    view: &View<'_>,
    mut amendment: Amendment,
    author: &RemoteAuthor,
) -> Result<Amendment, StoreError> {
    let was = std::mem::take(&mut amendment.was);
    let Some(here) = view.decisions().get(&amendment.id)? else { return Ok(amendment) };
    let current = object(&here)?;
    if here.override_authority == Some(Authority::Confirmed) && !author.is_person {
        // What a person confirmed is not an agent's to say again.
        for field in OVERRIDE_FIELDS {
            if let (Some(set), Some(value)) = (amendment.set.get_mut(field), current.get(field)) {
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
    let after = merge(&Value::Object(base), &Value::Object(ours), &current)?;
    Ok(Amendment::new(amendment.id, said(&amendment.set, &current, after)))
}

/// A decision that the log has already, completed by what the clone's says besides.
fn completed(here: &Decision, other: &Decision) -> Result<Amendment, StoreError> {
    // Who wrote it is known better here.
    let other = Decision { origin: here.origin.clone(), ..other.clone() };
    let (current, ours) = (object(here)?, object(&other)?);
    let after = merge(&Value::Null, &Value::Object(ours.clone()), &current)?;
    Ok(Amendment::new(here.id.clone(), said(&ours, &current, after)))
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

/// Refuses an amendment that would leave something that is no decision, or too large.
fn check(view: &View<'_>, amendment: &Amendment) -> Result<(), StoreError> {
    let Some(here) = view.decisions().get(&amendment.id)? else { return Ok(()) };
    let mut after = object(&here)?;
    after.extend(amendment.set.clone());
    let text = serde_json::to_vec_pretty(&after)?;
    if text.len() > AMENDED_BYTES {
        return Err(refused("the decision would be too large"));
    }
    serde_json::from_slice::<Decision>(&text)
        .map(drop)
        .map_err(|error| refused(&format!("an amendment leaves no decision: {error}")))
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

fn object(decision: &Decision) -> Result<Map<String, Value>, StoreError> {
    match serde_json::to_value(decision)? {
        Value::Object(fields) => Ok(fields),
        _ => Err(refused("a decision must be an object")),
    }
}

/// An error that a line itself is the cause of, as the refusal of that line.
fn refusal(error: StoreError) -> StoreError {
    match error {
        StoreError::TooLarge { .. } | StoreError::Unsafe { .. } | StoreError::Encode(_) => {
            let source = std::error::Error::source(&error).map(|cause| format!(": {cause}"));
            refused(&format!("{error}{}", source.unwrap_or_default()))
        }
        error => error,
    }
}

fn refused(why: &str) -> StoreError {
    LogError::Refused(why.to_owned()).into()
}
