//! Lines that a linked clone sends: whose they are is what the token says. The rest of what a
//! clone may not claim is the memory's to settle, which knows what lines mean.

use std::collections::BTreeSet;

use serde_json::Value;
use twining_model::{Change, Origin};
use twining_store::NewLine;

use crate::principal::Principal;

/// Lines of one request.
pub(super) const MAX_LINES: usize = 1000;

/// A line whose every record names the principal it came from.
pub(super) fn signed(line: NewLine, principal: &Principal) -> NewLine {
    let NewLine { key, mut change } = line;
    let sign = |origin: &mut Option<Origin>| {
        let origin = origin.get_or_insert_with(Origin::elsewhere);
        origin.principal = Some(principal.name.clone());
    };
    change.entries.iter_mut().for_each(|entry| sign(&mut entry.origin));
    change.decisions.iter_mut().for_each(|decision| sign(&mut decision.origin));
    change.entities.iter_mut().for_each(|entity| sign(&mut entity.origin));
    change.relations.iter_mut().for_each(|relation| sign(&mut relation.origin));
    let traces = change.traces.iter_mut().chain(&mut change.imported_traces);
    traces.for_each(|trace| sign(&mut trace.origin));
    change.anchors.iter_mut().for_each(|anchor| sign(&mut anchor.origin));
    for amendment in &mut change.amendments {
        amendment.set.remove("origin");
    }
    NewLine { key, change }
}

/// What lines do that only a maintainer may, by the names of the verbs.
pub(super) fn settling_acts(lines: &[NewLine]) -> BTreeSet<&'static str> {
    let mut acts = BTreeSet::new();
    for Change { amendments, archived, removed_entities, removed_relations, .. } in
        lines.iter().map(|line| &line.change)
    {
        for amendment in amendments {
            match amendment.set.get("status").and_then(Value::as_str) {
                Some("overridden") => acts.insert("override"),
                Some("active") => acts.insert("promote"),
                Some("provisional") => acts.insert("reconsider"),
                _ => false,
            };
        }
        if !archived.is_empty() {
            acts.insert("archive");
        }
        if !removed_entities.is_empty() || !removed_relations.is_empty() {
            acts.insert("prune_graph");
        }
    }
    acts
}
