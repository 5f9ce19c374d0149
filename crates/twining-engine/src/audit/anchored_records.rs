//! The audit of records by their code: whether it still is what it was, whether two records on the
//! same code say the same or contradict each other, and who confirmed them.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use twining_model::{
    Anchor, AnchorEvent, AnchoredRecord, DecisionStatus, GENERAL_DOMAIN, Scope, Trust,
};
use twining_store::{StoreError, View};

use super::audited_record::{AuditedRecord, folded, short};
use super::report::{AuditClass, AuditFinding, AuditReport};
use crate::anchors::CodeState;
use crate::blackboard::turns_meaning;
use crate::engine::Engine;
use crate::failure::Failure;
use crate::search::LoadedIndex;

/// Two texts so near each other say the same.
const SAME: f64 = 0.95;
/// Confirmations by agents after which a person should look.
const CONFIRMED_OFTEN: usize = 3;

/// Records whose code changed so that they may not hold, is gone, or is not at its place. Their
/// ids.
pub(super) fn stale_code(
    engine: &Engine,
    view: &View<'_>,
    records: &[AuditedRecord],
    is_time_up: &(dyn Fn() -> bool + Sync),
    report: &mut AuditReport,
) -> Result<HashSet<String>, Failure> {
    let names: Vec<AnchoredRecord> = records.iter().map(|record| record.name.clone()).collect();
    let (notes, blobs) = engine.searched_code(view, &names, is_time_up)?;
    let mut found = HashSet::new();
    for record in records {
        let Some(note) = notes.get(&record.name) else { continue };
        if !matches!(note.state, CodeState::Doubtful | CodeState::Orphaned | CodeState::Missing) {
            continue;
        }
        let id = record.name.id();
        let reason = note.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
        let message = format!(
            "\"{}\" speaks of `{}`, which is {}{reason}",
            short(&record.summary),
            note.at,
            note.state.as_str()
        );
        let otherwise = record.way_out();
        let fix = match note.state {
            CodeState::Doubtful => format!("`twining confirm {id}`, or {otherwise}"),
            _ => format!("`twining reanchor {id} --to PATH#NAME`, or {otherwise}"),
        };
        let basis = blobs.get(&note.at).cloned().unwrap_or_default();
        report.findings.push(AuditFinding {
            basis,
            ..AuditFinding::new(AuditClass::Stale, message, fix).about(&record.name)
        });
        found.insert(id.to_owned());
    }
    Ok(found)
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
                let fix = format!("`twining reconsider {id}` or `twining reconsider {rival}`");
                report.findings.push(
                    AuditFinding::new(AuditClass::Contradictory, message, fix).about(&one.name),
                );
            }
        }
    }
}

/// Records of one kind on the same code, or where neither is bound in the same scope, that say the
/// same in other words; numbers and denials make it another statement.
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
            let repeats = records[..index].iter().find(|other| {
                folded(&one.text) != folded(&other.text)
                    && known.alike(one.vector, other.vector).is_some_and(|alike| alike >= SAME)
                    && turns(&one.text) == turns(&other.text)
            });
            let Some(other) = repeats else { continue };
            let (id, known) = (one.name.id(), other.name.id());
            let message = format!(
                "says in other words what {known} says: \"{}\" and \"{}\"",
                short(&one.summary),
                short(&other.summary)
            );
            let fix = match one.decision {
                Some(_) => format!("`twining reconsider {known}` and keep one"),
                None => format!("`twining dismiss {id} --reason \"same as {known}\"`"),
            };
            report
                .findings
                .push(AuditFinding::new(AuditClass::Duplicate, message, fix).about(&one.name));
        }
    }
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
            report
                .findings
                .push(AuditFinding::new(AuditClass::Leftover, message, fix).about(&record.name));
        }
    }
    Ok(())
}

fn turns(text: &str) -> BTreeSet<String> {
    let text = text.to_lowercase();
    let words = text.split(|c: char| !c.is_alphanumeric());
    words.filter(|word| turns_meaning(word)).map(str::to_owned).collect()
}
