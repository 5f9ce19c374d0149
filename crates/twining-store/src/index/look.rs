//! When all decision files were last looked through, so that the next process
//! need not: it lives for one question, and ten thousand files take longer to
//! look at than the question takes to answer.
//!
//! Whoever adds, removes or replaces a file changes its folder: we do, git does,
//! and so do most editors. One that writes into a file does not. So whoever goes
//! by this looks at the files of what it tells, and what it does not tell may have
//! been changed by hand in place, until somebody looks through all.

use twining_model::scope::Folding;

use super::side;
use crate::disk::Fingerprint;
use crate::error::StoreError;
use crate::log::files::Files;

const LOOKED: &str = "index.looked";
/// A folder that changed so shortly before it was looked at may have changed once
/// more without a later date.
const SETTLED_NS: i64 = 2_000_000_000;

/// Whether the folder is as it was when all in it was found to be in this database.
pub(super) fn is_as_looked(files: &Files, folding: Folding, db: u64) -> Result<bool, StoreError> {
    let Some(folder) = files.decisions_fingerprint()? else { return Ok(false) };
    let Some((at, text)) = side::read_note(files, LOOKED)? else { return Ok(false) };
    Ok(at.saturating_sub(folder.mtime_ns) > SETTLED_NS && text.starts_with(&looked(files, folding, db, folder)?))
}

/// Says that all in the folder, which was like this before it was looked at, is in
/// this database. The caller holds the index lock.
pub(super) fn note(files: &Files, folding: Folding, db: u64, folder: Fingerprint) -> Result<(), StoreError> {
    side::write_note(files, LOOKED, &looked(files, folding, db, folder)?)
}

fn looked(files: &Files, folding: Folding, db: u64, folder: Fingerprint) -> Result<String, StoreError> {
    side::sealed(files, folding, &serde_json::to_string(&(db, folder))?)
}
