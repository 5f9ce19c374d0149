//! Whom a flood of one author would take out of sight.

use std::collections::HashMap;

use twining_model::Entry;
use twining_store::{EntryFilter, StoreError, View};

use crate::context::assemble::AssembleDraft;

/// Entries that are gone through behind those of an author who wrote nearly all of the
/// newest: of what waits for an answer, and of what does not, of which there is more.
const WALKED: usize = 4_000;
const WALKED_CLOSED: usize = 1_000;
/// So many are enough: who is drowned out is heard again.
const RAISED: usize = 8;

/// The newest of other authors, where one wrote most of what was found: a flood must not
/// take another's warning out of sight.
pub(super) fn other_authors(
    view: &View<'_>,
    draft: &AssembleDraft,
    filter: &EntryFilter,
    found: &[Entry],
) -> Result<Vec<Entry>, StoreError> {
    let mut wrote: HashMap<&str, usize> = HashMap::new();
    found.iter().for_each(|entry| *wrote.entry(entry.agent_id.as_str()).or_default() += 1);
    let top_author = wrote.into_iter().max_by_key(|(_, n)| *n).filter(|(_, n)| n * 4 > found.len() * 3);
    let Some(top_author) = top_author.map(|(author, _)| author.to_lowercase()).filter(|_| !draft.rules_only) else { return Ok(Vec::new()) };
    let mut others = Vec::new();
    let most = if filter.only_open { WALKED } else { WALKED_CLOSED };
    for row in view.entries().rows_about(&draft.scope, filter, most)?.into_iter().skip(found.len()) {
        if view.entries().card(row)?.is_some_and(|card| card.agent != top_author) {
            others.push(view.entries().at_row(row)?);
            if others.len() == RAISED {
                break;
            }
        }
    }
    Ok(others)
}
