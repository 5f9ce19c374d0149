//! The mark: that a project has a ledger, and how that begins. It lies in git's
//! folder, for what is known of a folder must not go with it.
//!
//! Who takes `.twining/` or `local/` away, or puts an older ledger in its place,
//! leaves a mark that fits nothing. Where git's folder is another one, as in a
//! copy of everything, the mark speaks of somebody else and counts for nothing.

use std::path::Path;

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use super::ledger::{Ledger, Seal};
use crate::disk::Dir;
use crate::error::StoreError;
use crate::layout::{FOLDER, LOCAL, random_bits};
use crate::room::Room;
use crate::store::Store;

/// Our folder among git's.
const MARKS: &str = "twining";
const MOST_BYTES: usize = 16 * 1024;
/// Projects of one repository that are looked at.
const MOST_MARKS: usize = 64;

/// What went although nobody took it away in Twining's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Lost {
    /// All of `.twining/`.
    Folder,
    /// `.twining/local`: something else stands in its place.
    Local,
    /// The ledger in it: it is gone, or an older or another one.
    Ledger,
}

/// How a ledger begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Head {
    size: usize,
    hash: u64,
}

impl Head {
    /// The whole of these bytes.
    pub(crate) fn of(bytes: &[u8]) -> Self {
        Self { size: bytes.len(), hash: xxh3_64(bytes) }
    }

    fn begins(self, bytes: &[u8]) -> bool {
        bytes.get(..self.size).is_some_and(|begin| xxh3_64(begin) == self.hash)
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
struct Mark {
    /// Which folder of git's this was left in.
    git: String,
    /// The project, from the top of the working tree.
    folder: String,
    /// Beginnings, one of which the ledger has.
    heads: Vec<Head>,
    /// Whether an agent was held for what is lost.
    told: bool,
    /// By the ledger's key.
    mac: u64,
}

impl Mark {
    fn mac_by(&self, seal: Seal) -> u64 {
        seal.of(format!("{}\n{}\n{:?}", self.git, self.folder, self.heads).as_bytes())
    }
}

/// Where the marks of a repository are.
struct Marks {
    git: Dir,
    identity: String,
    /// This project's folder, from the top of its working tree.
    folder: String,
}

impl Marks {
    fn of(store: &Store) -> Option<Self> {
        let place = store.place();
        let git = Dir::project(place.git_dir.as_deref()?, None).ok()?;
        let identity = git.identity().ok()?;
        Some(Self { git, identity, folder: folder_of(&place.project)? })
    }

    fn read(&self, name: &str) -> Option<Mark> {
        let bytes = self.git.open_dir(MARKS).ok()??.open(name).ok()??.read_all(MOST_BYTES).ok()?;
        let mark: Mark = serde_json::from_slice(&bytes).ok()?;
        (mark.git == self.identity).then_some(mark)
    }

    fn own(&self) -> Option<Mark> {
        self.read(&name_of(&self.folder))
    }

    /// Marks of this project or of one inside it: without its folder nobody finds
    /// the way to a project that is not at the top.
    fn inside(&self) -> Vec<(String, Mark)> {
        let names = || self.git.open_dir(MARKS).ok()??.list().ok();
        let read = |name: String| Some((name.clone(), self.read(&name)?));
        let is_inside = |mark: &Mark| Path::new(&mark.folder).starts_with(&self.folder);
        names().unwrap_or_default().into_iter().take(MOST_MARKS).filter_map(read).filter(|(_, mark)| is_inside(mark)).collect()
    }

    fn write(&self, name: &str, mark: &Mark) -> Result<(), StoreError> {
        let marks = self.git.make_dir(MARKS)?;
        let temp = format!("new-{:032x}", random_bits()?);
        if let Some(handle) = marks.create_new(&temp)? {
            handle.write(&serde_json::to_vec(mark)?)?;
        }
        marks.rename(&temp, &marks, name)
    }
}

impl Store {
    /// What was taken away, if something was.
    pub fn lost(&self) -> Option<Lost> {
        match self.reading_room() {
            Ok(Some(room)) if room.layout.stand_in.is_some() => None,
            Ok(Some(room)) => {
                let ledger = || Seal::if_there(&room.layout).ok()?.and_then(|_| Ledger::open(&room.layout).ok());
                let Some(ledger) = ledger() else { return Marks::of(self)?.own().map(|_| Lost::Ledger) };
                self.lost_ledger(&ledger, &ledger.bytes().unwrap_or_default())
            }
            Ok(None) => self.lost_folder().map(|_| Lost::Folder),
            Err(_) => self.local_is_none().then_some(Lost::Local),
        }
    }

    /// Whether just this was told before, and an agent held for it.
    pub fn is_told(&self, lost: Lost) -> bool {
        let marks = Marks::of(self);
        match lost {
            Lost::Folder => self.lost_folder().is_some_and(|(_, mark)| mark.told),
            Lost::Local | Lost::Ledger => marks.and_then(|marks| marks.own()).is_some_and(|mark| mark.told),
        }
    }

    /// Remembers that it was told; whether it could be remembered.
    pub fn tell_lost(&self, lost: Lost) -> bool {
        let Some(marks) = Marks::of(self) else { return false };
        let found = match lost {
            Lost::Folder => self.lost_folder(),
            Lost::Local | Lost::Ledger => marks.own().map(|mark| (name_of(&marks.folder), mark)),
        };
        found.is_some_and(|(name, mark)| marks.write(&name, &Mark { told: true, ..mark }).is_ok())
    }

    /// Forgets that there was anything: a person took it away, or means to.
    pub fn forget_marks(&self) -> Result<(), StoreError> {
        let Some(marks) = Marks::of(self) else { return Ok(()) };
        let Some(dir) = marks.git.open_dir(MARKS)? else { return Ok(()) };
        for (name, _) in marks.inside() {
            dir.remove(&name)?;
        }
        marks.git.remove_empty_dir(MARKS).map(drop)
    }

    /// A mark whose folder is gone.
    fn lost_folder(&self) -> Option<(String, Mark)> {
        let marks = Marks::of(self)?;
        let top = self.place().project.ancestors().nth(Path::new(&marks.folder).components().count())?.to_owned();
        let is_gone = |mark: &Mark| {
            let project = Dir::project(&top.join(&mark.folder), None);
            project.map_or(true, |project| matches!(project.stat(FOLDER), Ok(None)))
        };
        marks.inside().into_iter().find(|(_, mark)| is_gone(mark))
    }

    /// Whether something that is no folder stands where `local` should be.
    fn local_is_none(&self) -> bool {
        let top = || Dir::project(&self.place().project, None).ok()?.open_dir(FOLDER).ok()?;
        top().is_some_and(|top| matches!(top.open_dir(LOCAL), Err(StoreError::Unsafe { .. })))
    }

    /// Whether this ledger is another than the one that was marked.
    pub(crate) fn lost_ledger(&self, ledger: &Ledger, bytes: &[u8]) -> Option<Lost> {
        let mark = Marks::of(self)?.own()?;
        let is_ours = mark.mac == mark.mac_by(ledger.seal) && mark.heads.iter().any(|head| head.begins(bytes));
        (!is_ours).then_some(Lost::Ledger)
    }

    /// Marks the ledger as it is, or as it will be. What cannot be marked is told by
    /// nobody; that is no reason to tell nothing else.
    pub(crate) fn mark(&self, room: &Room, ledger: &Ledger, heads: &[Head]) {
        let Some(marks) = Marks::of(self).filter(|_| room.layout.stand_in.is_none()) else { return };
        let mut mark = Mark { git: marks.identity.clone(), folder: marks.folder.clone(), heads: heads.to_vec(), ..Mark::default() };
        mark.mac = mark.mac_by(ledger.seal);
        if marks.own().as_ref() != Some(&mark) && ledger.is_current() {
            let _ = marks.write(&name_of(&marks.folder), &mark);
        }
    }
}

fn name_of(folder: &str) -> String {
    format!("mark-{:016x}", xxh3_64(folder.as_bytes()))
}

/// The project, from the top of its working tree.
fn folder_of(project: &Path) -> Option<String> {
    let is_top = |dir: &&Path| Dir::project(dir, None).is_ok_and(|dir| matches!(dir.stat(".git"), Ok(Some(_))));
    let top = project.ancestors().find(is_top)?;
    Some(project.strip_prefix(top).ok()?.to_string_lossy().into_owned())
}
