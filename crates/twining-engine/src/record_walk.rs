//! Every decision and entry of a view, a batch at a time.

use twining_model::{Decision, Entry};
use twining_store::{RowId, StoreError, VectorKeys, View};

/// Records read at a time.
const BATCH: usize = 500;

/// Visits every decision, whatever its status.
pub(crate) fn each_decision(
    view: &View<'_>,
    mut visit: impl FnMut(Decision, VectorKeys) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let decisions = view.decisions();
    each_row(
        |after| decisions.vector_keys_after(after, BATCH),
        |row, keys| visit(decisions.at_row(row)?, keys),
    )
}

/// Visits every entry.
pub(crate) fn each_entry(
    view: &View<'_>,
    mut visit: impl FnMut(Entry, VectorKeys) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let entries = view.entries();
    each_row(
        |after| entries.vector_keys_after(after, BATCH),
        |row, keys| visit(entries.at_row(row)?, keys),
    )
}

fn each_row(
    next: impl Fn(Option<RowId>) -> Result<Vec<(RowId, VectorKeys)>, StoreError>,
    mut visit: impl FnMut(RowId, VectorKeys) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let mut after = None;
    loop {
        let rows = next(after)?;
        let Some((last, _)) = rows.last() else { return Ok(()) };
        after = Some(*last);
        rows.into_iter().try_for_each(|(row, keys)| visit(row, keys))?;
    }
}
