//! The files held against the ledger, record by record.

use std::collections::HashMap;

use xxhash_rust::xxh3::xxh3_64;

use super::Changed;
use super::ledger::{Clean, Ledger, Said};
use super::records::{Kind, SHARED, bytes_of, files_now, records_in};
use crate::error::StoreError;
use crate::room::Room;

/// What differs, and the records as they are.
#[derive(Default)]
pub(super) struct Found {
    pub(super) odd: Vec<Odd>,
    /// Files that hold what they should.
    pub(super) clean: Vec<(Kind, Clean)>,
}

pub(super) struct Odd {
    pub(super) key: String,
    pub(super) changed: Changed,
    /// What it is now; nothing where it is gone.
    pub(super) known: u64,
}

/// Holds the files against the ledger.
pub(super) fn differing(room: &Room, said: &Said, ledger: &Ledger) -> Result<Found, StoreError> {
    let mut found = Found::default();
    for kind in SHARED {
        let bytes = bytes_of(kind, &room.layout)?;
        let before = found.odd.len();
        if !is_continued(kind, &bytes, said, ledger, &mut found) {
            compare(&records_in(kind, &bytes, ledger.seal), kind, said, &mut found);
        }
        let clean = Clean { size: bytes.len(), hash: xxh3_64(&bytes) };
        if found.odd.len() == before && said.clean.get(&kind).is_none_or(|(known, _)| *known != clean) {
            found.clean.push((kind, clean));
        }
    }
    let files = differing_files(room, said, ledger)?;
    found.odd.extend(files.odd);
    Ok(found)
}

/// The same of records that have a file of their own.
pub(super) fn differing_files(room: &Room, said: &Said, ledger: &Ledger) -> Result<Found, StoreError> {
    let mut found = Found::default();
    compare(&files_now(&room.layout, ledger.seal)?, Kind::File, said, &mut found);
    Ok(found)
}

/// Whether a file begins as it was when it was last found right, so that only its
/// end need be read: a large board is not gone through at every turn.
fn is_continued(kind: Kind, bytes: &[u8], said: &Said, ledger: &Ledger, found: &mut Found) -> bool {
    let Some((clean, since)) = said.clean.get(&kind) else { return false };
    let Some(begin) = bytes.get(..clean.size).filter(|begin| xxh3_64(begin) == clean.hash) else { return false };
    let rest = &bytes[begin.len()..];
    if rest.is_empty() && since.is_empty() {
        return true;
    }
    if !matches!(kind, Kind::Board | Kind::Traces) || (!begin.is_empty() && !begin.ends_with(b"\n")) {
        return false;
    }
    let records = records_in(kind, rest, ledger.seal);
    if !since.iter().all(|key| records.contains_key(key)) {
        return false;
    }
    for (key, known) in records {
        match said.current.get(&key) {
            Some(current) if *current == known => {}
            current => {
                let changed = if current.is_some() { Changed::Altered } else { Changed::Appended };
                found.odd.push(Odd { key, changed, known });
            }
        }
    }
    true
}

pub(super) fn compare(now: &HashMap<String, u64>, kind: Kind, said: &Said, found: &mut Found) {
    for (key, known) in now {
        match said.current.get(key) {
            Some(current) if current == known => {}
            Some(_) => found.odd.push(Odd { key: key.clone(), changed: Changed::Altered, known: *known }),
            None => found.odd.push(Odd { key: key.clone(), changed: Changed::Appended, known: *known }),
        }
    }
    let gone = said.current.keys().filter(|key| Kind::of(key) == Some(kind) && !now.contains_key(*key));
    found.odd.extend(gone.map(|key| Odd { key: key.clone(), changed: Changed::Removed, known: 0 }));
}
