//! Turns on disk: `turns/<feature>/<task>/T<n>.json`.
//!
//! A plan sees the stored turns under the write lock: an amendment applies to the current turn, and
//! pruning counts all writers' turns. No index, nothing to rebuild.

use twining_model::turn::number_of;
use twining_model::{TurnFile, TurnKey, limits};

use super::documents::Documents;
use crate::disk::layout::{LOCAL, Layout, TURNS};
use crate::disk::{self, Dir};
use crate::error::StoreError;

/// A turn's place, by the names its folders have on disk.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TurnLocation {
    /// The feature's folder.
    pub feature: String,
    /// The task's folder.
    pub task: String,
    /// The number in the file's name.
    pub number: u32,
}

impl TurnLocation {
    /// Returns this turn's location, existing or not.
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

/// The stored turns, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TurnListing {
    /// Every turn file, sorted by feature, task and number.
    pub locations: Vec<TurnLocation>,
    /// Folders that were not looked into, and why.
    pub skipped: Vec<(String, String)>,
}

/// The turns of a project, read as they are asked for.
#[derive(Default)]
pub struct TurnFiles {
    top: Option<Dir>,
    /// Where copies go, under the lock.
    layout: Option<Layout>,
}

impl TurnFiles {
    /// The folders of features.
    pub fn features(&self) -> Result<Vec<String>, StoreError> {
        self.top.as_ref().map_or_else(|| Ok(Vec::new()), names)
    }

    /// The folders of a feature's tasks.
    pub fn tasks(&self, feature: &str) -> Result<Vec<String>, StoreError> {
        self.feature(feature)?.as_ref().map_or_else(|| Ok(Vec::new()), names)
    }

    /// Every turn file of a project.
    pub fn all(&self) -> Result<TurnListing, StoreError> {
        self.list(&self.features()?, None)
    }

    /// Every turn file of a feature, or of one of its tasks.
    pub fn of(&self, feature: &str, task: Option<&str>) -> Result<TurnListing, StoreError> {
        self.list(&[feature.to_owned()], task)
    }

    /// A turn's bytes, if it is there.
    pub fn read(&self, location: &TurnLocation) -> Result<Option<Vec<u8>>, StoreError> {
        self.bytes(location, limits::RECORD_BYTES)
    }

    /// Backs up an unreadable turn that is about to be replaced, and returns the path inside
    /// `.twining`. Identical bytes are kept once.
    pub fn back_up(&self, location: &TurnLocation) -> Result<Option<String>, StoreError> {
        let Some(layout) = &self.layout else { return Ok(None) };
        // One that is larger than any copy we would make is not replaced either.
        let Some(bytes) = self.bytes(location, 64 * limits::RECORD_BYTES)? else { return Ok(None) };
        let name = format!("turn-{:016x}.kept", disk::hash_of(&bytes));
        layout.replace(&layout.local, &name, &bytes, true)?;
        Ok(Some(format!("{LOCAL}/{name}")))
    }

    fn bytes(
        &self,
        location: &TurnLocation,
        max_bytes: usize,
    ) -> Result<Option<Vec<u8>>, StoreError> {
        let task = self.top.as_ref().map_or(Ok(None), |top| {
            top.walk([location.feature.as_str(), location.task.as_str()])
        })?;
        task.map_or(Ok(None), |task| task.read(&location.file(), max_bytes))
    }

    fn feature(&self, feature: &str) -> Result<Option<Dir>, StoreError> {
        self.top.as_ref().map_or(Ok(None), |top| top.open_dir(feature))
    }

    fn list(&self, features: &[String], task: Option<&str>) -> Result<TurnListing, StoreError> {
        let mut listing = TurnListing::default();
        for feature in features {
            let Some(dir) = listing.open_or_skip(self.feature(feature), feature)? else { continue };
            for task in task.map_or_else(|| names(&dir), |one| Ok(vec![one.to_owned()]))? {
                let Some(dir) =
                    listing.open_or_skip(dir.open_dir(&task), &format!("{feature}/{task}"))?
                else {
                    continue;
                };
                let location =
                    |number| TurnLocation { feature: feature.clone(), task: task.clone(), number };
                listing
                    .locations
                    .extend(dir.list()?.iter().filter_map(|name| number_of(name)).map(location));
            }
        }
        listing.locations.sort();
        Ok(listing)
    }
}

impl TurnListing {
    /// A folder, unless it must not be looked into.
    fn open_or_skip(
        &mut self,
        opened: Result<Option<Dir>, StoreError>,
        path: &str,
    ) -> Result<Option<Dir>, StoreError> {
        match opened {
            Err(error @ StoreError::Unsafe { .. }) => {
                self.skipped.push((format!("{TURNS}/{path}"), error.to_string()));
                Ok(None)
            }
            other => other,
        }
    }
}

/// The names in a folder but hidden ones, which other programs leave and no name
/// of ours becomes.
fn names(dir: &Dir) -> Result<Vec<String>, StoreError> {
    let mut names = dir.list()?;
    names.retain(|name| !name.starts_with('.'));
    Ok(names)
}

impl Documents<'_> {
    /// The turns.
    pub fn turns(&self) -> Result<TurnFiles, StoreError> {
        let Some(store) = self.0.open_for_reading()? else { return Ok(TurnFiles::default()) };
        Ok(TurnFiles { top: store.layout.top.open_dir(TURNS)?, layout: Some(store.layout.clone()) })
    }
}
