//! What the team's log refused, in a few words.

use serde_json::Value;
use twining_model::{Change, text};
use twining_store::Store;

use crate::render::text_page::count;

/// How many refused changes are named.
const REFUSED_NAMED: usize = 3;

/// What the log refused, in one sentence; none if nothing.
pub(super) fn refusal_summary(store: &Store) -> Option<String> {
    let refused = store.outbox().refused().ok()?;
    if refused.is_empty() {
        return None;
    }
    let named: Vec<String> = refused
        .iter()
        .take(REFUSED_NAMED)
        .map(|one| format!("{} ({})", what_of(&one.line.change), text::excerpt(&one.reason, 120)))
        .collect();
    let more = refused.len().saturating_sub(REFUSED_NAMED);
    let rest = if more == 0 { String::new() } else { format!(" and {more} more") };
    let lines = count(refused.len() as u64, "change");
    Some(format!("the team's log refused {lines} made here: {}{rest}", named.join("; ")))
}

/// A change in a few words.
pub(super) fn what_of(change: &Change) -> String {
    let named = |kind: &str, summary: &str| format!("{kind} \"{}\"", text::excerpt(summary, 80));
    if let Some(decision) = change.decisions.first() {
        return named("decision", &decision.summary);
    }
    if let Some(amendment) = change.amendments.first() {
        let status = amendment.set.get("status").and_then(Value::as_str);
        let becomes = status.map(|status| format!(" to {status}")).unwrap_or_default();
        return format!("change of decision {}{becomes}", amendment.id);
    }
    if let Some(entry) = change.entries.first() {
        return named(&entry.entry_type, &entry.summary);
    }
    if !change.archived.is_empty() {
        return format!("archive of {}", count(change.archived.len() as u64, "entry"));
    }
    if !change.anchors.is_empty() {
        return count(change.anchors.len() as u64, "anchor");
    }
    let graph = change.entities.len()
        + change.relations.len()
        + change.removed_entities.len()
        + change.removed_relations.len();
    match (graph, change.turns.len(), change.handoffs.first()) {
        (_, _, Some(handoff)) => format!("handoff {}", handoff.id),
        (0, 0, None) => "other records".to_owned(),
        (0, turns, None) => count(turns as u64, "turn"),
        (graph, _, None) => format!("{} of the graph", count(graph as u64, "element")),
    }
}
