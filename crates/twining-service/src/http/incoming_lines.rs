//! Lines that a linked clone sends: whose they are is what the token says. The rest of what a
//! clone may not claim is the memory's to settle, which knows what lines mean.

use twining_model::{Id, Origin};
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

/// The decisions that lines make, which must be new.
pub(super) fn made_decisions(lines: &[NewLine]) -> impl Iterator<Item = &Id> {
    lines.iter().flat_map(|line| line.change.decisions.iter().map(|decision| &decision.id))
}
