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
use crate::disk::{Fingerprint, Kind};
use crate::error::StoreError;
use crate::log::files::Files;

const LOOKED: &str = "index.looked";
const LOOKED_BYTES: usize = 4096;
/// A folder that changed so shortly before it was looked at may have changed once
/// more without a later date.
const SETTLED_NS: i64 = 2_000_000_000;

/// Whether the folder is as it was when all in it was found to be in this database.
pub(super) fn is_as_looked(files: &Files, folding: Folding, db: u64) -> Result<bool, StoreError> {
    let Some(folder) = files.decisions_fingerprint()? else { return Ok(false) };
    let Some(handle) = files.local().open(LOOKED)? else { return Ok(false) };
    let mut bytes = [0; LOOKED_BYTES];
    let read = handle.read_at(&mut bytes, 0)?;
    let is_settled = handle.fingerprint()?.mtime_ns.saturating_sub(folder.mtime_ns) > SETTLED_NS;
    Ok(is_settled && bytes[..read] == *text(files, folding, db, folder)?.as_bytes())
}

/// Says that all in the folder, which was like this before it was looked at, is in
/// this database. The caller holds the index lock.
pub(super) fn note(files: &Files, folding: Folding, db: u64, folder: Fingerprint) -> Result<(), StoreError> {
    let local = files.local();
    if local.stat(LOOKED)?.is_some_and(|(kind, _)| kind != Kind::File) {
        side::remove(local, LOOKED)?;
    }
    // In place: a torn one does not match, and costs one look.
    local.make_random(LOOKED)?.write_at(text(files, folding, db, folder)?.as_bytes(), 0)
}

/// Of a fixed length, so that a later one covers an earlier one.
fn text(files: &Files, folding: Folding, db: u64, folder: Fingerprint) -> Result<String, StoreError> {
    let head = side::preamble(files, folding)?;
    let state = format!("looked {db:020} {:020} {:020} {:020}", folder.ino, folder.size, folder.mtime_ns);
    Ok(format!("{head}{state}\n{}\n", side::checksum(&head, &state)))
}
