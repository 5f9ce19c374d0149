//! Whether the records are as Twining left them.
//!
//! No reader of command lines sees everything a shell can do. So every writer
//! notes in a ledger what it wrote, and here the files are held against it: a
//! record that is gone, says something else, or came from nowhere was changed by
//! another hand, unless git did it. Nothing is put right here, and nobody is
//! stopped; whoever asks decides what to make of it.

mod address;
mod comparing;
mod git;
mod judging;
mod known;
mod ledger;
mod mark;
mod origins;
mod records;
mod reflog;

use std::collections::BTreeSet;
use std::path::Path;

use xxhash_rust::xxh3::xxh3_64;

use self::comparing::{Found, Odd, compare, differing, differing_files};
use self::git::Moves;
use self::judging::{judged, unvouched};
use self::known::Known;
use self::ledger::{Clean, Said};
use self::mark::Head;
use self::origins::Whence;
use self::records::{SHARED, bytes_of, files_now, place_of, records_in};
use crate::error::StoreError;
use crate::room::Room;
use crate::store::Store;

pub use self::ledger::Anchor;
pub(crate) use self::ledger::{Ledger, Notes, Seal, vouch, vouching};
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
    /// What git brought from others since, or undid: accepted, and told once.
    pub brought: Vec<Difference>,
    /// The commits that it or the differences came with, each with whoever made it.
    pub commits: Vec<String>,
    /// What was checked out when all was well, if that is not what is checked out now.
    pub since: Option<String>,
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

/// A file as git had it.
#[derive(Clone, Debug, Default)]
pub struct Version {
    /// Its content; nothing where it was not there.
    pub bytes: Option<Vec<u8>>,
    /// Whether it came from others since.
    pub is_others: bool,
    /// Whether it is of a commit that was known then, to which somebody went since.
    pub is_of_another_branch: bool,
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
            && said.known.is_some()
            && self.newly_fetched(&room, &said).is_none()
            && !self.git_moves(&room, &said, anchor).is_elsewhere(anchor)
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
            accept(self, &room, &ledger, &said)?;
            self.mark_if_none(&room, &ledger, lost)?;
            return Ok(Audit { lost, ..Audit::default() });
        };
        let said = self.knowing(said, &room, &ledger)?;
        let found = differing(&room, &said, &ledger)?;
        let mut moves = self.git_moves(&room, &said, &anchor);
        if moves.is_busy {
            return Ok(Audit { lost, ..Audit::default() });
        }
        moves.prepare(&found.odd.iter().map(|odd| place_of(&odd.key).0).collect());
        let (audit, now) = judged(&room, found, &said, &ledger, &mut moves)?;
        self.shorten(&room, &ledger, &now, lost)?;
        drop(held);
        Ok(Audit { lost, ..audit })
    }

    /// Records with a file of their own that are not as Twining left them. What git did is
    /// not told from a hand's here; a comparison does that.
    pub fn files_not_as_left(&self) -> Result<BTreeSet<String>, StoreError> {
        let Some(room) = self.audited_room()? else { return Ok(BTreeSet::new()) };
        let ledger = Ledger::open(&room.layout)?;
        let said = ledger.read()?;
        if said.anchor.is_none() {
            return Ok(BTreeSet::new());
        }
        Ok(differing_files(&room, &said, &ledger)?.odd.iter().map(|odd| place_of(&odd.key).0).collect())
    }

    /// Learns of remotes that were added since. For when a session begins: what one adds
    /// itself brings nobody's work but its own.
    pub fn know_remotes(&self) -> Result<(), StoreError> {
        let Some(room) = self.audited_room()? else { return Ok(()) };
        let ledger = Ledger::open(&room.layout)?;
        let said = ledger.read()?;
        let Some(known) = said.known.and_then(|known| known.with_remotes(&self.place().project)) else { return Ok(()) };
        let Some(_held) = room.lock_for_a_moment()? else { return Ok(()) };
        let mut notes = Notes::new(ledger.seal);
        notes.known(&known);
        ledger.add(&notes)
    }

    /// Learns what was just fetched from a remote that counts, before another fetch takes
    /// git's note of it away. For when a command has run.
    pub fn know_fetched(&self) -> Result<(), StoreError> {
        let Some(room) = self.audited_room()? else { return Ok(()) };
        let ledger = Ledger::open(&room.layout)?;
        let said = ledger.read()?;
        if said.anchor.is_none() || self.newly_fetched(&room, &said).is_none() {
            return Ok(());
        }
        let Some(_held) = room.lock_for_a_moment()? else { return Ok(()) };
        self.knowing(ledger.read()?, &room, &ledger).map(drop)
    }

    /// The same, with what git knows taken as it is if nobody looked before, and what
    /// was fetched since.
    fn knowing(&self, mut said: Said, room: &Room, ledger: &Ledger) -> Result<Said, StoreError> {
        let unlooked = said.known.is_none();
        if unlooked {
            said.known = Some(Known::look(&self.place().project));
        }
        let fetched = self.newly_fetched(room, &said);
        if unlooked || fetched.is_some() {
            said.known = fetched.or(said.known);
            let mut notes = Notes::new(ledger.seal);
            said.known.iter().for_each(|known| notes.known(known));
            ledger.add(&notes)?;
        }
        Ok(said)
    }

    /// What is known, with what was fetched since; nothing where nothing was.
    fn newly_fetched(&self, room: &Room, said: &Said) -> Option<Known> {
        let fetched = reflog::fetched(room.board.git_dir()?);
        said.known.as_ref().filter(|_| !fetched.is_empty())?.with_fetched(&self.place().project, &fetched)
    }

    /// What git did since a place.
    fn git_moves<'s>(&'s self, room: &'s Room, said: &Said, since: &Anchor) -> Moves<'s> {
        let known = self.newly_fetched(room, said).or_else(|| said.known.clone()).unwrap_or_default();
        Moves::since(&self.place().project, room.board.git_dir(), since, &known, self.ids().now().as_ms())
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
        let accepted = accept(self, &room, &ledger, &ledger.read()?)?;
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
    /// that was never looked at.
    pub fn audit_staged(&self, staged: &[Staged]) -> Result<Vec<Difference>, StoreError> {
        let Some(room) = self.audited_room()? else { return Ok(Vec::new()) };
        let ledger = Ledger::open(&room.layout)?;
        let said = ledger.read()?;
        let Some(anchor) = &said.anchor else { return Ok(Vec::new()) };
        let mut moves = self.git_moves(&room, &said, anchor);
        Ok(unvouched(staged, &said, &ledger, &mut moves))
    }

    /// Where git is now.
    pub fn git_place(&self) -> Result<Anchor, StoreError> {
        let Some(room) = self.reading_room()? else { return Ok(Anchor::default()) };
        Ok(self.git_moves(&room, &Said::default(), &Anchor::default()).now)
    }

    /// Where git was when the comparison last found all well.
    pub fn audited_place(&self) -> Result<Anchor, StoreError> {
        let Some(room) = self.audited_room()? else { return Ok(Anchor::default()) };
        Ok(Ledger::open(&room.layout)?.read()?.anchor.unwrap_or_default())
    }

    /// A file of the project as git put it there since a place, or had it then; the
    /// nearest first, nothing where it had none. Commits made here since do not count.
    pub fn git_versions(&self, since: &Anchor, path: &str) -> Result<Vec<Version>, StoreError> {
        let Some(room) = self.audited_room()? else { return Ok(Vec::new()) };
        let said = Ledger::open(&room.layout)?.read()?;
        let versions = self.git_moves(&room, &said, since).versions(path);
        let version = |(place, bytes, whence)| {
            let is_others = whence == Whence::Remote;
            Version { bytes, is_others, is_of_another_branch: !is_others && place != since.head }
        };
        Ok(versions.into_iter().map(version).collect())
    }

    /// Whether a file of the project is committed as a known commit has it because git,
    /// since a place, undid a commit.
    pub fn git_undid(&self, since: &Anchor, path: &str) -> Result<bool, StoreError> {
        let Some(room) = self.audited_room()? else { return Ok(false) };
        let said = Ledger::open(&room.layout)?.read()?;
        Ok(self.git_moves(&room, &said, since).undid(path))
    }

    /// The newest commits since a place that changed a file of the project, each with
    /// whoever made it.
    pub fn commits_since(&self, since: &Anchor, path: &str) -> Result<Vec<String>, StoreError> {
        let Some(room) = self.audited_room()? else { return Ok(Vec::new()) };
        Ok(self.git_moves(&room, &Said::default(), since).that_changed(path))
    }

    /// The same of several files of a working tree of the project, which may be another
    /// than the memory's own: there nothing tells which commits were pushed from here.
    /// `tips` are known besides: branches that were there then.
    pub fn versions_in(&self, checkout: &Path, since: &str, tips: &[String], paths: &[String]) -> Result<Vec<Vec<Version>>, StoreError> {
        let Some(room) = self.audited_room()? else { return Ok(Vec::new()) };
        let mut said = Ledger::open(&room.layout)?.read()?;
        let since = Anchor { head: since.to_owned(), ..Anchor::default() };
        let mut known = said.known.take().unwrap_or_default();
        known.tips.extend(tips.iter().filter(|tip| git::is_commit(tip)).cloned());
        said.known = Some(known.clone());
        let mut moves = if checkout == self.place().project {
            self.git_moves(&room, &said, &since)
        } else {
            Moves::elsewhere(checkout, &since, &known)
        };
        let version = |(place, bytes, whence): (String, Option<Vec<u8>>, Whence)| {
            let is_others = whence == Whence::Remote;
            Version { bytes, is_others, is_of_another_branch: !is_others && place != since.head }
        };
        Ok(paths.iter().map(|path| moves.versions(path).into_iter().map(version).collect()).collect())
    }

    /// The room, if a ledger may be kept there.
    fn audited_room(&self) -> Result<Option<std::sync::Arc<Room>>, StoreError> {
        Ok(self.reading_room()?.filter(|room| room.layout.stand_in.is_none()))
    }
}

/// Takes everything as it is. The caller holds the write lock.
fn accept(store: &Store, room: &Room, ledger: &Ledger, said: &Said) -> Result<usize, StoreError> {
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
            Changed::Removed => notes.let_go(key),
            _ => notes.accepted(key, *known),
        }
    }
    found.clean.iter().for_each(|(kind, clean)| notes.clean(*kind, *clean));
    notes.anchor(&store.git_moves(room, said, &Anchor::default()).now);
    notes.known(&Known::look(&store.place().project));
    ledger.add(&notes)?;
    Ok(found.odd.len())
}
