//! The audit of records by their code: whether it still is what it was, whether two records on the
//! same code say the same or contradict each other, and who confirmed them.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use twining_model::{
    Anchor, AnchorEvent, AnchoredRecord, DecisionStatus, GENERAL_DOMAIN, Scope, Trust,
};
use twining_store::git::Git;
use twining_store::{StoreError, View};

use super::audited_record::{AuditedRecord, folded, short};
use super::finding_commands::{
    FindingCommand, accept, confirm, dismiss, endings, make_one, override_it, reanchor, release,
    spelled,
};
use super::report::{AuditClass, AuditFinding, AuditReport};
use crate::anchors::CodeState;
use crate::blackboard::{SAME_MEANING, denies, turns_differ};
use crate::engine::Engine;
use crate::failure::Failure;
use crate::search::LoadedIndex;

/// Confirmations by agents after which a person should look.
const CONFIRMED_OFTEN: usize = 3;

/// Records whose code changed so that they may not hold, is gone, or is not at its place. Their
/// names.
pub(super) fn stale_code(
    engine: &Engine,
    view: &View<'_>,
    records: &[AuditedRecord],
    is_time_up: &(dyn Fn() -> bool + Sync),
    report: &mut AuditReport,
) -> Result<HashSet<String>, Failure> {
    let names: Vec<AnchoredRecord> = records.iter().map(|record| record.name.clone()).collect();
    let (notes, blobs) = engine.searched_code(view, &names, is_time_up)?;
    let is_shallow = engine.code().is_some_and(|code| code.git().is_shallow());
    let mut found = HashSet::new();
    for record in records {
        let Some(note) = notes.get(&record.name) else { continue };
        // What a shallow clone cannot look for may be there.
        let is_lost = match note.state {
            CodeState::Doubtful | CodeState::Orphaned => true,
            CodeState::Missing => !is_shallow,
            _ => false,
        };
        if !is_lost {
            continue;
        }
        let id = spelled(&record.name);
        let reason = note.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
        let message = format!(
            "\"{}\" speaks of `{}`, which is {}{reason}",
            short(&record.summary),
            note.at,
            note.state.as_str()
        );
        let otherwise = record.way_out();
        let at = note.moved_from.as_ref().unwrap_or(&note.at);
        let (fix, mut commands) = match note.state {
            // A node is bound to what its path says.
            CodeState::Doubtful if record.is_node() => {
                (format!("`twining confirm {id}`, or {otherwise}"), vec![confirm(&record.name)])
            }
            _ if record.is_node() => (otherwise, Vec::new()),
            CodeState::Doubtful => {
                let found = note.moved_from.as_ref().map(|from| accept(&record.name, from));
                let commands = [confirm(&record.name)].into_iter().chain(found).collect();
                (format!("`twining confirm {id}`, or {otherwise}"), commands)
            }
            _ => {
                let reanchor = reanchor(&record.name, at);
                let fix = format!("`{}`, or {otherwise}", reanchor.command);
                (fix, vec![reanchor, release(&record.name, at)])
            }
        };
        commands.extend(endings(record));
        let basis = blobs.get(&note.at).cloned().unwrap_or_default();
        let finding = AuditFinding::new(AuditClass::Stale, message, fix).settled_by(commands);
        report.findings.push(AuditFinding { basis, ..finding.about(&record.name) });
        found.insert(record.name.to_string());
    }
    Ok(found)
}

/// The records that belong to what is checked out. Those of a branch that is gone and was never
/// merged are found.
pub(super) fn without_other_branches(
    engine: &Engine,
    view: &View<'_>,
    git: &Git,
    mut records: Vec<AuditedRecord>,
    report: &mut AuditReport,
) -> Result<Vec<AuditedRecord>, Failure> {
    let names: Vec<AnchoredRecord> = records.iter().map(|record| record.name.clone()).collect();
    let elsewhere = engine.elsewhere(view, &names)?;
    let branches = if elsewhere.is_empty() { Vec::new() } else { git.branch_names() };
    for record in &records {
        let Some(branch) = elsewhere.get(&record.name) else { continue };
        let is_it = |name: &String| name == branch || name.ends_with(&format!("/{branch}"));
        if branches.iter().any(is_it) {
            continue;
        }
        let message = format!(
            "\"{}\" was made on `{branch}`, which is gone and was never merged here",
            short(&record.summary)
        );
        let (id, otherwise) = (record.name.id(), record.way_out());
        // What is bound to no code cannot be confirmed; what HEAD has belongs here.
        let is_bound = !view.anchors().of(&record.name)?.is_empty();
        let holds = if is_bound {
            format!("`twining confirm {id}`")
        } else {
            "commit `.twining/` on this branch".to_owned()
        };
        let fix = format!("{holds} if it holds here, or {otherwise}");
        let confirm = is_bound.then(|| confirm(&record.name));
        report.findings.push(
            AuditFinding::new(AuditClass::Leftover, message, fix)
                .settled_by(confirm.into_iter().chain(endings(record)))
                .about(&record.name),
        );
    }
    records.retain(|record| !elsewhere.contains_key(&record.name));
    Ok(records)
}

/// Where each record is bound: the places, by record.
pub(super) fn places_of(
    view: &View<'_>,
    records: &[AuditedRecord],
) -> Result<HashMap<AnchoredRecord, BTreeSet<String>>, StoreError> {
    let mut places = HashMap::new();
    for record in records {
        let anchors: Vec<Anchor> = view.anchors().of(&record.name)?;
        let at: BTreeSet<String> = anchors.iter().map(|anchor| anchor.at.to_string()).collect();
        if !at.is_empty() {
            places.insert(record.name.clone(), at);
        }
    }
    Ok(places)
}

/// Decisions in force on the same definition, of the same domain, with another choice, whose scopes
/// do not meet: those whose scopes do are found as rivals.
pub(super) fn rivals_on_code(
    view: &View<'_>,
    records: &[AuditedRecord],
    places: &HashMap<AnchoredRecord, BTreeSet<String>>,
    report: &mut AuditReport,
) {
    let mut by_place: BTreeMap<(&str, String), Vec<&AuditedRecord>> = BTreeMap::new();
    for record in records {
        let Some(decision) = &record.decision else { continue };
        let domain = decision.domain.trim().to_lowercase();
        if decision.status != DecisionStatus::Active || domain == GENERAL_DOMAIN {
            continue;
        }
        for place in places.get(&record.name).into_iter().flatten() {
            if place.contains('#') {
                by_place.entry((place, domain.clone())).or_default().push(record);
            }
        }
    }
    let mut named: HashSet<(&str, &str)> = HashSet::new();
    for ((place, _), rivals) in &by_place {
        for (index, one) in rivals.iter().enumerate() {
            let (Some(decision), id) = (&one.decision, one.name.id()) else { continue };
            for other in &rivals[index + 1..] {
                let Some(rival) = &other.decision else { continue };
                let do_scopes_meet = Scope::read(&decision.scope)
                    .overlaps(&Scope::read(&rival.scope), view.folding());
                let is_agreed = decision.compatible_with.iter().any(|id| id == rival.id.as_str())
                    || rival.compatible_with.iter().any(|id| id == decision.id.as_str());
                let is_same = folded(&one.summary) == folded(&other.summary);
                if do_scopes_meet || is_agreed || is_same || !named.insert((id, other.name.id())) {
                    continue;
                }
                let rival = other.name.id();
                let message = format!(
                    "\"{}\" and {rival} \"{}\" decide differently on `{place}`",
                    short(&one.summary),
                    short(&other.summary)
                );
                let fix = format!(
                    "`twining reconsider {id} --why \"…\"` or `twining reconsider {rival} --why \"…\"`"
                );
                let commands = [
                    override_it('p', "promote it", rival, "…"),
                    override_it('o', "promote the other", id, "…"),
                ];
                report.findings.push(
                    AuditFinding::new(AuditClass::Contradictory, message, fix)
                        .settled_by(commands)
                        .about(&one.name),
                );
            }
        }
    }
}

/// Records of one kind on the same code, or where neither is bound in the same scope, that say the
/// same in other words; numbers and denials make it another statement. An entry that denies another
/// contradicts it; decisions that do are rivals.
pub(super) fn same_meaning(
    known: &LoadedIndex<'_>,
    records: &[AuditedRecord],
    places: &HashMap<AnchoredRecord, BTreeSet<String>>,
    report: &mut AuditReport,
) {
    let mut alike: BTreeMap<(&str, String), Vec<&AuditedRecord>> = BTreeMap::new();
    for record in records {
        let place = match places.get(&record.name) {
            Some(places) => places.iter().cloned().collect::<Vec<_>>().join(" "),
            None => format!("scope {}", record.scope),
        };
        alike.entry((record.kind.as_str(), place)).or_default().push(record);
    }
    for records in alike.values() {
        for (index, one) in records.iter().enumerate() {
            let is_alike = |other: &&&AuditedRecord| {
                folded(&one.text) != folded(&other.text)
                    && known
                        .alike(one.vector, other.vector)
                        .is_some_and(|alike| alike >= SAME_MEANING)
            };
            let others: Vec<&&AuditedRecord> = records[..index].iter().filter(is_alike).collect();
            if let Some(other) = others.iter().find(|other| !turns_differ(&one.text, &other.text)) {
                report.findings.push(repetition(one, other));
            }
            let is_denied = |other: &&&&AuditedRecord| {
                one.decision.is_none() && denies(&one.summary, &other.summary)
            };
            if let Some(other) = others.iter().find(is_denied) {
                report.findings.push(denial(one, other));
            }
        }
    }
}

fn repetition(one: &AuditedRecord, other: &AuditedRecord) -> AuditFinding {
    let known = other.name.id();
    let message = format!(
        "says in other words what {known} says: \"{}\" and \"{}\"",
        short(&one.summary),
        short(&other.summary)
    );
    let make_one = make_one(one, known);
    let fix = format!("keep one: `{}`", make_one.command);
    AuditFinding::new(AuditClass::Duplicate, message, fix).settled_by([make_one]).about(&one.name)
}

fn denial(one: &AuditedRecord, other: &AuditedRecord) -> AuditFinding {
    let (id, rival) = (one.name.id(), other.name.id());
    let message = format!(
        "\"{}\" denies what {rival} says: \"{}\"",
        short(&one.summary),
        short(&other.summary)
    );
    let fix = format!("`twining dismiss {id}` or `twining dismiss {rival}`");
    let other =
        FindingCommand { key: 'o', does: "dismiss the other".to_owned(), ..dismiss(rival, "…") };
    AuditFinding::new(AuditClass::Contradictory, message, fix)
        .settled_by([dismiss(id, "…"), other])
        .about(&one.name)
}

/// Records that agents confirmed again and again, and no person ever.
pub(super) fn confirmed_by_agents(
    view: &View<'_>,
    records: &[AuditedRecord],
    places: &HashMap<AnchoredRecord, BTreeSet<String>>,
    report: &mut AuditReport,
) -> Result<(), StoreError> {
    for record in records.iter().filter(|record| places.contains_key(&record.name)) {
        let history = view.anchors().history(&record.name)?;
        let confirmed: Vec<&Anchor> =
            history.iter().filter(|line| line.event == AnchorEvent::Confirmed.as_str()).collect();
        let is_person = |line: &&Anchor| {
            line.origin.as_ref().is_some_and(|origin| origin.trust == Trust::Human)
        };
        let times: BTreeSet<&str> = confirmed.iter().map(|line| line.timestamp.as_str()).collect();
        if times.len() >= CONFIRMED_OFTEN && !confirmed.iter().any(is_person) {
            let message = format!(
                "\"{}\" was confirmed {} times, by agents only",
                short(&record.summary),
                times.len()
            );
            let fix = format!("a person reads it: `twining confirm {}`", record.name.id());
            let commands = [confirm(&record.name)].into_iter().chain(endings(record));
            report.findings.push(
                AuditFinding::new(AuditClass::Leftover, message, fix)
                    .settled_by(commands)
                    .about(&record.name),
            );
        }
    }
    Ok(())
}
