//! Whose a difference is: Twining's or git's, others' whose work git brought, or
//! another hand's.

use std::collections::{BTreeSet, HashMap};

use xxhash_rust::xxh3::xxh3_64;

use super::comparing::{Found, Odd};
use super::git::Moves;
use super::ledger::{Ledger, Notes, Said, Seal};
use super::origins::Whence;
use super::records::{self, Kind, bytes_of, place_of, records_in};
use super::{Audit, Changed, Difference, Staged};
use crate::error::StoreError;
use crate::merge::has_markers;
use crate::room::Room;

/// Whose a change is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Whose {
    /// Twining's, or git's with what was known.
    Ours,
    /// Others', whose work git brought, or an undoing that git says it did.
    Told,
    /// Nobody's who could be asked.
    AnotherHand,
}

impl From<Option<Whence>> for Whose {
    fn from(whence: Option<Whence>) -> Self {
        match whence {
            Some(Whence::Known) => Self::Ours,
            Some(Whence::Remote) => Self::Told,
            None => Self::AnotherHand,
        }
    }
}

/// Tells what git did from what a hand did, and accepts the former.
pub(super) fn judged(room: &Room, found: Found, said: &Said, ledger: &Ledger, moves: &mut Moves<'_>) -> Result<(Audit, Said), StoreError> {
    let seal = ledger.seal;
    let mut notes = Notes::new(seal);
    let (mut differences, mut brought) = (BTreeSet::new(), BTreeSet::new());
    let mut files: HashMap<String, Option<Vec<u8>>> = HashMap::new();
    let unsettled = moves.unsettled();
    for Odd { key, changed, known } in found.odd {
        let whose = match changed {
            Changed::Removed => {
                let (file, _) = place_of(&key);
                let bytes = files.entry(file).or_insert_with(|| {
                    Kind::of(&key).filter(|kind| *kind != Kind::File).and_then(|kind| bytes_of(kind, &room.layout).ok())
                });
                removed(&key, bytes.as_deref(), said, moves, seal)
            }
            _ => put(&key, known, changed, said, moves, seal),
        };
        match (whose, changed) {
            (Whose::AnotherHand, _) => {
                let found = difference(&key, changed);
                // Both sides stand in it until somebody settles it; then it is looked at.
                if !(unsettled.contains(&found.file) && is_tangled(&found.file, room)) {
                    differences.insert(found);
                }
                continue;
            }
            (_, Changed::Removed) => notes.let_go(&key),
            _ => notes.accepted(&key, known),
        }
        if whose == Whose::Told {
            brought.insert(difference(&key, changed));
        }
    }
    found.clean.into_iter().for_each(|(kind, clean)| notes.clean(kind, clean));
    let digest = xxh3_64(format!("{differences:?}").as_bytes());
    ledger.add(&notes)?;
    let mut now = ledger.read()?;
    let is_new = said.anchor.as_ref().is_none_or(|anchor| anchor.head != moves.now.head);
    if differences.is_empty() && is_new && moves.merging.is_empty() && is_sound(&now, ledger, moves) {
        let mut notes = Notes::new(seal);
        notes.anchor(&moves.now);
        ledger.add(&notes)?;
        now.anchor = Some(moves.now.clone());
    }
    let files: BTreeSet<&str> = brought.iter().chain(&differences).map(|found: &Difference| found.file.as_str()).collect();
    // Where something is amiss, one's own commits are the ones to look at.
    let of = differences.is_empty().then_some(Whence::Remote);
    let commits = if files.is_empty() { Vec::new() } else { moves.named(&files, of) };
    let since = said.anchor.as_ref().filter(|anchor| !anchor.head.is_empty() && anchor.head != moves.now.head);
    let since = since.map(|anchor| anchor.head.chars().take(12).collect());
    let (differences, brought) = (differences.into_iter().collect(), brought.into_iter().collect());
    let is_settled = said.told.contains(&digest);
    Ok((Audit { is_settled, differences, lost: None, brought, commits, since, digest }, now))
}

/// Whose it is that a record is there, or says something else.
fn put(key: &str, known: u64, changed: Changed, said: &Said, moves: &mut Moves<'_>, seal: Seal) -> Whose {
    let order = |known: u64| said.ever.get(&known).copied();
    let is_known = |known: u64| order(known).is_some();
    if let Some(then) = order(known) {
        let current = said.current.get(key).copied().and_then(order);
        // It was ours once, and came back as it was, or is the newer one.
        if changed == Changed::Appended || current.is_none_or(|current| then > current) {
            return Whose::Ours;
        }
        let is_newer = |other: u64| order(other).is_some_and(|other| other > then);
        if moves.holds(key, known, seal) {
            return match moves.set_back(key, known, seal, &is_newer) {
                None => Whose::Ours,
                Some(commit) if moves.is_revert(&commit) => Whose::Told,
                Some(_) => Whose::AnotherHand,
            };
        }
    }
    match moves.brought(key, known, seal) {
        None if moves.combined(key, known, seal, &is_known) => Whose::Ours,
        None if moves.brought_upon(key, known, seal, &is_known) => Whose::Told,
        whence => whence.into(),
    }
}

/// Whose it is that a record is gone.
fn removed(key: &str, bytes_now: Option<&[u8]>, said: &Said, moves: &mut Moves<'_>, seal: Seal) -> Whose {
    if said.leaving.contains(key) {
        return Whose::Ours;
    }
    match moves.took(key, bytes_now, seal) {
        // Twining took it away on another branch, which is merged.
        None if said.taken.contains(key) && moves.lacks(key, seal) => Whose::Ours,
        None if moves.undone(key, seal).is_some_and(|commit| moves.is_revert(&commit)) => Whose::Told,
        whence => whence.into(),
    }
}

fn is_tangled(file: &str, room: &Room) -> bool {
    let read = || -> Option<Vec<u8>> {
        let (dir, name) = match file.rsplit_once('/') {
            Some((folder, name)) => (folder.split('/').try_fold(room.layout.top.clone(), |dir, name| dir.open_dir(name).ok()?)?, name),
            None => (room.layout.top.clone(), file),
        };
        dir.open(name).ok()??.read_all(records::MOST_BYTES).ok()
    };
    read().is_some_and(|bytes| has_markers(&bytes))
}

/// Whether HEAD is a place to go by from now on: a commit made since records nothing
/// that Twining did not write, even if the files are as they should be again.
fn is_sound(said: &Said, ledger: &Ledger, moves: &mut Moves<'_>) -> bool {
    let made = moves.committed_since(&said.anchor.clone().unwrap_or_default());
    made.is_some_and(|made| unvouched(&made, said, ledger, moves).is_empty())
}

/// Records that would be recorded, or go, and that Twining did not write or take.
pub(super) fn unvouched(staged: &[Staged], said: &Said, ledger: &Ledger, moves: &mut Moves<'_>) -> Vec<Difference> {
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
            let is_known = |known: u64| said.ever.contains_key(&known);
            let is_git_s = |moves: &mut Moves<'_>| {
                moves.brought(key, *known, ledger.seal).is_some()
                    || moves.combined(key, *known, ledger.seal, &is_known)
                    || moves.brought_upon(key, *known, ledger.seal, &is_known)
            };
            if was.get(key) != Some(known) && !is_ours && !is_git_s(moves) {
                differences.insert(difference(key, if was.contains_key(key) { Changed::Altered } else { Changed::Appended }));
            }
        }
        // One that Twining knows and that was committed does not go unless Twining took it.
        for key in was.keys().filter(|key| !will.contains_key(*key) && said.current.contains_key(*key)) {
            if moves.merging.is_empty() || moves.left(key, ledger.seal).is_none() {
                differences.insert(difference(key, Changed::Removed));
            }
        }
    }
    differences.into_iter().collect()
}

fn difference(key: &str, changed: Changed) -> Difference {
    let (file, id) = place_of(key);
    // A line without an id is named by nothing a reader knows.
    let id = id.map(|id| id.split('#').next().unwrap_or_default().to_owned()).filter(|id| !id.starts_with('~'));
    Difference { file, changed, id }
}
