//! Turns on disk: `turns/<feature>/<task>/T<n>.json`.
//!
//! A plan sees the shelf under the write lock: whoever amends a turn amends what is
//! there, and whoever makes room counts what everybody wrote. No index, nothing to rebuild.

use twining_model::turn::number_of;
use twining_model::{TurnFile, TurnKey, limits};

use super::documents::Documents;
use crate::disk::layout::{LOCAL, Layout, TURNS};
use crate::disk::{self, Dir};
use crate::error::StoreError;

/// A turn's place, by the names its folders have on disk.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Slot {
    /// The feature's folder.
    pub feature: String,
    /// The task's folder.
    pub task: String,
    /// The number in the file's name.
    pub number: u32,
}

impl Slot {
    /// Where this turn stands, or would.
    #[must_use]
    pub fn of(key: &TurnKey) -> Self {
        Self { feature: key.feature.folder(), task: key.task.folder(), number: key.number }
    }

    /// The path inside `.twining`.
    #[must_use]
    pub fn path(&self) -> String {
        format!("{TURNS}/{}/{}/{}", self.feature, self.task, self.file())
    }

    fn file(&self) -> String {
        format!("T{}.json", self.number)
    }

    /// The turn's file from now on; none if it goes.
    #[must_use]
    pub fn with_text(self, text: Option<String>) -> TurnFile {
        TurnFile { feature: self.feature, task: self.task, number: self.number, text }
    }
}

/// What is on the shelf, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    /// Every turn file, sorted by feature, task and number.
    pub slots: Vec<Slot>,
    /// Folders that were not looked into, and why.
    pub odd: Vec<(String, String)>,
}

/// The turns of a project, read as they are asked for.
#[derive(Default)]
pub struct Shelf {
    top: Option<Dir>,
    /// Where copies go, under the lock.
    layout: Option<Layout>,
}

impl Shelf {
    /// The folders of features.
    pub fn features(&self) -> Result<Vec<String>, StoreError> {
        self.top.as_ref().map_or_else(|| Ok(Vec::new()), names)
    }

    /// The folders of a feature's tasks.
    pub fn tasks(&self, feature: &str) -> Result<Vec<String>, StoreError> {
        self.feature(feature)?.as_ref().map_or_else(|| Ok(Vec::new()), names)
    }

    /// Every turn file of a project.
    pub fn all(&self) -> Result<Listing, StoreError> {
        let mut listing = Listing::default();
        for feature in self.features()? {
            self.list_feature(&feature, &mut listing)?;
        }
        Ok(listing)
    }

    /// Every turn file of a feature.
    pub fn of_feature(&self, feature: &str) -> Result<Listing, StoreError> {
        let mut listing = Listing::default();
        self.list_feature(feature, &mut listing)?;
        Ok(listing)
    }

    /// Every turn file of a task.
    pub fn of_task(&self, feature: &str, task: &str) -> Result<Listing, StoreError> {
        let mut listing = Listing::default();
        if let Some(dir) = self.feature(feature)? {
            list_task(&dir, feature, task, &mut listing)?;
            listing.slots.sort();
        }
        Ok(listing)
    }

    /// A turn's bytes, if it is there.
    pub fn read(&self, slot: &Slot) -> Result<Option<Vec<u8>>, StoreError> {
        let Some(feature) = self.feature(&slot.feature)? else { return Ok(None) };
        let Some(task) = feature.open_dir(&slot.task)? else { return Ok(None) };
        task.open(&slot.file())?.map(|handle| handle.read_all(limits::RECORD_BYTES)).transpose()
    }

    /// Keeps a copy of a turn that cannot be read and is about to be replaced, and
    /// tells where, inside `.twining`. The same bytes are kept once.
    pub fn keep(&self, slot: &Slot) -> Result<Option<String>, StoreError> {
        let Some(layout) = &self.layout else { return Ok(None) };
        let Some(feature) = self.feature(&slot.feature)? else { return Ok(None) };
        let Some(task) = feature.open_dir(&slot.task)? else { return Ok(None) };
        let Some(handle) = task.open(&slot.file())? else { return Ok(None) };
        // One that is larger than any copy we would make is not replaced either.
        let bytes = handle.read_all(64 * limits::RECORD_BYTES)?;
        let name = format!("turn-{:016x}.kept", disk::hash_of(&bytes));
        layout.replace(&layout.local, &name, &bytes, true)?;
        Ok(Some(format!("{LOCAL}/{name}")))
    }

    fn feature(&self, feature: &str) -> Result<Option<Dir>, StoreError> {
        self.top.as_ref().map_or(Ok(None), |top| top.open_dir(feature))
    }

    fn list_feature(&self, feature: &str, listing: &mut Listing) -> Result<(), StoreError> {
        let dir = match self.feature(feature) {
            Ok(Some(dir)) => dir,
            Ok(None) => return Ok(()),
            Err(error @ StoreError::Unsafe { .. }) => {
                listing.odd.push((format!("{TURNS}/{feature}"), error.to_string()));
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        for task in names(&dir)? {
            list_task(&dir, feature, &task, listing)?;
        }
        listing.slots.sort();
        Ok(())
    }
}

/// The names in a folder but hidden ones, which other programs leave and no name
/// of ours becomes.
fn names(dir: &Dir) -> Result<Vec<String>, StoreError> {
    let mut names = dir.list()?;
    names.retain(|name| !name.starts_with('.'));
    Ok(names)
}

fn list_task(dir: &Dir, feature: &str, task: &str, listing: &mut Listing) -> Result<(), StoreError> {
    let names = match dir.open_dir(task) {
        Ok(Some(dir)) => dir.list()?,
        Ok(None) => return Ok(()),
        Err(error @ StoreError::Unsafe { .. }) => {
            listing.odd.push((format!("{TURNS}/{feature}/{task}"), error.to_string()));
            return Ok(());
        }
        Err(error) => return Err(error),
    };
    let slot = |number| Slot { feature: feature.to_owned(), task: task.to_owned(), number };
    listing.slots.extend(names.iter().filter_map(|name| number_of(name)).map(slot));
    Ok(())
}

impl Documents<'_> {
    /// The turns.
    pub fn turns(&self) -> Result<Shelf, StoreError> {
        let Some(room) = self.0.reading_room()? else { return Ok(Shelf::default()) };
        Ok(Shelf { top: room.layout.top.open_dir(TURNS)?, layout: Some(room.layout.clone()) })
    }
}
