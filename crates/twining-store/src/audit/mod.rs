//! Whether the records are as Twining left them.
//!
//! No reader of command lines sees everything a shell can do. So every writer
//! notes in a ledger what it wrote, and here the files are held against it: a
//! record that is gone, says something else, or came from nowhere was changed by
//! another hand, unless git did it. Nothing is put right here, and nobody is
//! stopped; whoever asks decides what to make of it.

mod git;
mod ledger;
mod mark;
mod records;

use std::collections::{BTreeSet, HashMap};

use xxhash_rust::xxh3::xxh3_64;

use self::git::Moves;
use self::ledger::{Clean, Said};
use self::mark::Head;
use self::records::{SHARED, bytes_of, files_now, place_of, records_in};
use crate::error::StoreError;
use crate::room::Room;
use crate::store::Store;

pub use self::ledger::Anchor;
pub(crate) use self::ledger::{Ledger, Notes, Seal, vouch};
pub use self::mark::Lost;
pub(crate) use self::records::Kind;

/// What became of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Changed {
    /// It is gone.
    Removed,
    /// It says something else.
    Altered,
    /// Twining never wrote it.
    Appended,
}

/// A record that another hand changed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Difference {
    /// The file, inside `.twining/`.
    pub file: String,
    /// What became of it.
    pub changed: Changed,
    /// Its id, where the file holds several; a line without one has none.
    pub id: Option<String>,
}

/// What a comparison found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Audit {
    /// Everything that another hand changed.
    pub differences: Vec<Difference>,
    /// Whether just this was told often enough before.
    pub is_settled: bool,
    /// What was taken away that could have told more.
    pub lost: Option<Lost>,
    digest: u64,
}

/// A file as it would be committed.
#[derive(Clone, Debug, Default)]
pub struct Staged {
    /// Which, inside `.twining/`.
    pub file: String,
    /// As it was committed last; nothing where it was not there.
    pub before: Option<Vec<u8>>,
    /// As it is staged; nothing where it goes.
    pub after: Option<Vec<u8>>,
}

impl Store {
    /// Compares the records with what Twining wrote. The first time, and where
    /// nothing may be written, everything is taken as it is.
    pub fn audit(&self) -> Result<Audit, StoreError> {
        let Ok(Some(room)) = self.audited_room() else { return Ok(Audit { lost: self.lost(), ..Audit::default() }) };
        let ledger = Ledger::open(&room.layout)?;
        let bytes = ledger.bytes()?;
        let lost = self.lost_ledger(&ledger, &bytes);
        let said = Said::read(&bytes, ledger.seal);
        if let Some(anchor) = &said.anchor
            && differing(&room, &said, &ledger)?.odd.is_empty()
            && !Moves::since(&self.place().project, room.board.git_dir(), anchor).is_elsewhere(anchor)
        {
            if lost.is_none() {
                self.mark(&room, &ledger, &[Head::of(&bytes)]);
            }
            return Ok(Audit { lost, ..Audit::default() });
        }
        // Once more with the lock: a writer may be between its record and its note.
        let Some(held) = room.lock_for_a_moment()? else { return Ok(Audit { lost, ..Audit::default() }) };
        let ledger = Ledger::open(&room.layout)?;
        let said = ledger.read()?;
        let Some(anchor) = said.anchor.clone() else {
            accept(&room, &ledger, &said)?;
            self.mark_if_none(&room, &ledger, lost)?;
            return Ok(Audit { lost, ..Audit::default() });
        };
        let found = differing(&room, &said, &ledger)?;
        let mut moves = Moves::since(&self.place().project, room.board.git_dir(), &anchor);
        if moves.is_busy || moves.is_merging {
            return Ok(Audit { lost, ..Audit::default() });
        }
        moves.prepare(&found.odd.iter().map(|odd| place_of(&odd.key).0).collect());
        let (audit, now) = judged(&room, found, &said, &ledger, &mut moves)?;
        self.shorten(&room, &ledger, &now, lost)?;
        drop(held);
        Ok(Audit { lost, ..audit })
    }

    /// Leaves out what is past where that is most of it, and marks what is left.
    fn shorten(&self, room: &Room, ledger: &Ledger, now: &Said, lost: Option<Lost>) -> Result<(), StoreError> {
        let Some(text) = ledger.shortened(now)? else { return self.mark_if_none(room, ledger, lost) };
        if lost.is_none() {
            // Both: whoever is killed in between has left one of them.
            self.mark(room, ledger, &[Head::of(&ledger.bytes()?), Head::of(text.as_bytes())]);
        }
        ledger.replace(&room.layout, &text)?;
        self.mark_if_none(room, &Ledger::open(&room.layout)?, lost)
    }

    /// Marks the ledger as it is, unless something is lost that was not told.
    fn mark_if_none(&self, room: &Room, ledger: &Ledger, lost: Option<Lost>) -> Result<(), StoreError> {
        if lost.is_none() {
            self.mark(room, ledger, &[Head::of(&ledger.bytes()?)]);
        }
        Ok(())
    }

    /// Takes every record as it is now.
    pub fn accept_records(&self) -> Result<usize, StoreError> {
        let Some(room) = self.audited_room()? else { return self.forget_marks().map(|()| 0) };
        let _held = room.lock.take()?;
        let ledger = Ledger::open(&room.layout)?;
        let accepted = accept(&room, &ledger, &ledger.read()?)?;
        self.mark_if_none(&room, &ledger, None)?;
        Ok(accepted)
    }

    /// Remembers that this was told often enough.
    pub fn settle_audit(&self, audit: &Audit) -> Result<(), StoreError> {
        let Some(room) = self.audited_room()? else { return Ok(()) };
        let _held = room.lock.take()?;
        let ledger = Ledger::open(&room.layout)?;
        if !audit.differences.is_empty() {
            let mut notes = Notes::new(ledger.seal);
            notes.told(audit.digest);
            ledger.add(&notes)?;
        }
        self.mark_if_none(&room, &ledger, None)
    }

    /// Compares what a commit would record with what was recorded last: every
    /// record that differs must be one that Twining wrote. Says nothing of a memory
    /// that was never looked at, or while git itself puts the commit together.
    pub fn audit_staged(&self, staged: &[Staged]) -> Result<Vec<Difference>, StoreError> {
        let Some(room) = self.audited_room()? else { return Ok(Vec::new()) };
        let ledger = Ledger::open(&room.layout)?;
        let said = ledger.read()?;
        let Some(anchor) = &said.anchor else { return Ok(Vec::new()) };
        let mut moves = Moves::since(&self.place().project, room.board.git_dir(), anchor);
        if moves.is_merging {
            return Ok(Vec::new());
        }
        Ok(unvouched(staged, &said, &ledger, &mut moves))
    }

    /// Where git is now.
    pub fn git_place(&self) -> Result<Anchor, StoreError> {
        let Some(room) = self.reading_room()? else { return Ok(Anchor::default()) };
        Ok(Moves::since(&self.place().project, room.board.git_dir(), &Anchor::default()).now)
    }

    /// A file of the project as git put it there since a place, or had it then; the
    /// newest first, nothing where it had none. Commits that only record the
    /// working tree do not count.
    pub fn git_versions(&self, since: &Anchor, path: &str) -> Result<Vec<Option<Vec<u8>>>, StoreError> {
        let Some(room) = self.reading_room()? else { return Ok(Vec::new()) };
        Ok(Moves::since(&self.place().project, room.board.git_dir(), since).versions(path))
    }

    /// The room, if a ledger may be kept there.
    fn audited_room(&self) -> Result<Option<std::sync::Arc<Room>>, StoreError> {
        Ok(self.reading_room()?.filter(|room| room.layout.stand_in.is_none()))
    }
}

/// Records that would be recorded, or go, and that Twining did not write or take.
fn unvouched(staged: &[Staged], said: &Said, ledger: &Ledger, moves: &mut Moves<'_>) -> Vec<Difference> {
    let mut differences = BTreeSet::new();
    for Staged { file, before, after } in staged {
        let Some(kind) = Kind::in_file(file) else { continue };
        let records = |bytes: &Option<Vec<u8>>| -> HashMap<String, u64> {
            let Some(bytes) = bytes else { return HashMap::new() };
            if kind != Kind::File {
                return records_in(kind, bytes, ledger.seal);
            }
            let key = kind.key(file);
            let known = ledger.seal.of_record(&key, bytes);
            HashMap::from([(key, known)])
        };
        let (was, will) = (records(before), records(after));
        for (key, known) in &will {
            let order = |known: Option<&u64>| known.and_then(|known| said.ever.get(known));
            // Ours, and not one that was left behind before what was committed.
            let is_ours = order(Some(known)).is_some() && order(was.get(key)) <= order(Some(known));
            let is_ours = is_ours || said.current.get(key) == Some(known);
            if was.get(key) != Some(known) && !is_ours && !moves.brought(key, *known, ledger.seal) {
                differences.insert(difference(key, if was.contains_key(key) { Changed::Altered } else { Changed::Appended }));
            }
        }
        // One that Twining knows and that was committed does not go unless Twining took it.
        for key in was.keys().filter(|key| !will.contains_key(*key) && said.current.contains_key(*key)) {
            differences.insert(difference(key, Changed::Removed));
        }
    }
    differences.into_iter().collect()
}

/// What differs, and the records as they are.
#[derive(Default)]
struct Found {
    odd: Vec<Odd>,
    /// Files that hold what they should.
    clean: Vec<(Kind, Clean)>,
}

struct Odd {
    key: String,
    changed: Changed,
    /// What it is now; nothing where it is gone.
    known: u64,
}

/// Holds the files against the ledger.
fn differing(room: &Room, said: &Said, ledger: &Ledger) -> Result<Found, StoreError> {
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

fn compare(now: &HashMap<String, u64>, kind: Kind, said: &Said, found: &mut Found) {
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

/// Tells what git did from what a hand did, and accepts the former.
fn judged(room: &Room, found: Found, said: &Said, ledger: &Ledger, moves: &mut Moves<'_>) -> Result<(Audit, Said), StoreError> {
    let seal = ledger.seal;
    let mut notes = Notes::new(seal);
    let mut differences = BTreeSet::new();
    let mut files: HashMap<String, Option<Vec<u8>>> = HashMap::new();
    for Odd { key, changed, known } in found.odd {
        let order = |known: u64| said.ever.get(&known).copied();
        let is_explained = match changed {
            // It was ours once, and came back as it was.
            Changed::Appended => order(known).is_some() || moves.brought(&key, known, seal),
            Changed::Altered => {
                let current = said.current.get(&key).copied().and_then(order);
                let is_newer = order(known).is_some_and(|order| current.is_none_or(|current| order > current));
                let is_back = order(known).is_some() && (moves.has_moved || moves.holds(&key, known, seal));
                is_newer || is_back || moves.brought(&key, known, seal)
            }
            Changed::Removed => {
                let (file, _) = place_of(&key);
                let bytes = files.entry(file).or_insert_with(|| {
                    Kind::of(&key).filter(|kind| *kind != Kind::File).and_then(|kind| bytes_of(kind, &room.layout).ok())
                });
                moves.took(&key, bytes.as_deref(), seal)
            }
        };
        match (is_explained, changed) {
            (true, Changed::Removed) => notes.took(&key),
            (true, _) => notes.accepted(&key, known),
            (false, _) => drop(differences.insert(difference(&key, changed))),
        }
    }
    found.clean.into_iter().for_each(|(kind, clean)| notes.clean(kind, clean));
    let digest = xxh3_64(format!("{differences:?}").as_bytes());
    ledger.add(&notes)?;
    let mut now = ledger.read()?;
    if differences.is_empty() && said.anchor.as_ref() != Some(&moves.now) && is_sound(&now, ledger, moves) {
        let mut notes = Notes::new(seal);
        notes.anchor(&moves.now);
        ledger.add(&notes)?;
        now.anchor = Some(moves.now.clone());
    }
    let is_settled = said.told.contains(&digest);
    Ok((Audit { is_settled, differences: differences.into_iter().collect(), lost: None, digest }, now))
}

/// Whether HEAD is a place to go by from now on: a commit made since records nothing
/// that Twining did not write, even if the files are as they should be again.
fn is_sound(said: &Said, ledger: &Ledger, moves: &mut Moves<'_>) -> bool {
    let made = moves.committed_since(&said.anchor.clone().unwrap_or_default());
    made.is_some_and(|made| unvouched(&made, said, ledger, moves).is_empty())
}

/// Takes everything as it is. The caller holds the write lock.
fn accept(room: &Room, ledger: &Ledger, said: &Said) -> Result<usize, StoreError> {
    let mut notes = Notes::new(ledger.seal);
    let mut found = Found::default();
    for kind in SHARED {
        let bytes = bytes_of(kind, &room.layout)?;
        compare(&records_in(kind, &bytes, ledger.seal), kind, said, &mut found);
        found.clean.push((kind, Clean { size: bytes.len(), hash: xxh3_64(&bytes) }));
    }
    compare(&files_now(&room.layout, ledger.seal)?, Kind::File, said, &mut found);
    for Odd { key, changed, known } in &found.odd {
        match changed {
            Changed::Removed => notes.took(key),
            _ => notes.accepted(key, *known),
        }
    }
    found.clean.iter().for_each(|(kind, clean)| notes.clean(*kind, *clean));
    notes.anchor(&Moves::since(room.board.project(), room.board.git_dir(), &said.anchor.clone().unwrap_or_default()).now);
    ledger.add(&notes)?;
    Ok(found.odd.len())
}

fn difference(key: &str, changed: Changed) -> Difference {
    let (file, id) = place_of(key);
    // A line without an id is named by nothing a reader knows.
    let id = id.map(|id| id.split('#').next().unwrap_or_default().to_owned()).filter(|id| !id.starts_with('~'));
    Difference { file, changed, id }
}
