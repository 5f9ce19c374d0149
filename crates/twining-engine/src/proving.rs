//! Whether features were shown to work, asked while a tool call waits: the list
//! and the runs are read once, and no more of the list is taken apart than it takes.

use std::cell::{Cell, OnceCell};
use std::path::Path;

use twining_model::Time;
use twining_store::{FeatureFile, FeatureShelf};

use crate::engine::Engine;
use crate::failure::Failure;
use crate::workflow::{self, Feature, FeatureList, FileStates, Remembered, Verdict, judge_evidence, paths_at_stake};
use crate::working::file_states;

/// Features that are looked up one by one; beyond that it is quicker to read them all.
const MOST_LOOKED_UP: u32 = 2;

/// What is known of runs, and the list they are held against.
pub struct Proofs<'e> {
    engine: &'e Engine,
    remembered: Remembered,
    shelf: OnceCell<Result<FeatureShelf, String>>,
    looked_up: Cell<u32>,
    list: OnceCell<Result<Option<FeatureList>, String>>,
}

impl Engine {
    /// Reads what proves that features work.
    pub fn proofs(&self) -> Result<Proofs<'_>, Failure> {
        let remembered = Remembered::read(&self.store().runs()?);
        Ok(Proofs { engine: self, remembered, shelf: OnceCell::new(), looked_up: Cell::default(), list: OnceCell::new() })
    }
}

impl Proofs<'_> {
    /// Judges whether the feature of a name was shown to work, on the files as they
    /// are in `checkout`; none where the list has no such feature.
    pub fn of(&self, checkout: &Path, name: &str) -> Result<Option<Verdict>, String> {
        // Where nothing ever ran, a list of any length need not be read.
        if self.remembered.runs.is_empty() {
            let unread = Feature { id: name.to_owned(), ..Feature::default() };
            return Ok(Some(judge_evidence(&unread, &self.remembered, &FileStates::new())));
        }
        let Some(feature) = self.named(name)? else { return Ok(None) };
        let files = file_states(checkout, &paths_at_stake(&feature, &self.remembered)).map_err(|failure| failure.to_string())?;
        Ok(Some(judge_evidence(&feature, &self.remembered, &files)))
    }

    /// The run a feature was found to work by when it was last spoken of. What happened to
    /// its files, or to other tests, since is no reason to take that back.
    #[must_use]
    pub fn passed(&self, name: &str) -> Option<&str> {
        self.remembered.last_report(name, |_| true).filter(|report| report.outcome == "passed").and_then(|report| report.run.as_deref())
    }

    /// When Twining itself last moved a feature, and to which status.
    #[must_use]
    pub fn moved(&self, name: &str) -> Option<(Time, String)> {
        self.remembered.moved.get(name).cloned()
    }

    fn named(&self, name: &str) -> Result<Option<Feature>, String> {
        let shelf = self.shelf.get_or_init(|| self.engine.store().features().map_err(|error| error.to_string()));
        let shelf = shelf.as_ref().map_err(Clone::clone)?;
        if let FeatureFile::Text(text) = &shelf.file
            && self.looked_up.replace(self.looked_up.get().saturating_add(1)) < MOST_LOOKED_UP
            && let Some(feature) = workflow::look_up(text, name)
        {
            return Ok(Some(feature));
        }
        let list = self.list.get_or_init(|| workflow::list_on(shelf).map_err(|failure| failure.to_string()));
        let list = list.as_ref().map_err(Clone::clone)?;
        Ok(list.as_ref().and_then(|list| list.named(name)).cloned())
    }
}
