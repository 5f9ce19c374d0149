//! Whether features were shown to work, asked while a tool call waits: the list
//! and the runs are read once, and no more of the list is taken apart than it takes.

use std::cell::{Cell, OnceCell};
use std::path::Path;

use twining_store::{FeatureFile, FeatureShelf};

use crate::engine::Engine;
use crate::failure::Failure;
use crate::workflow::{self, Feature, FeatureList, FileStates, Remembered, Verdict, judge_evidence};
use crate::working::file_states;

/// Features that are looked up one by one; beyond that it is quicker to read them all.
const MOST_LOOKED_UP: u32 = 2;

/// What is known of runs, and the list they are held against.
pub struct Proofs {
    shelf: FeatureShelf,
    remembered: Remembered,
    looked_up: Cell<u32>,
    list: OnceCell<Result<Option<FeatureList>, String>>,
}

impl Engine {
    /// Reads what proves that features work.
    pub fn proofs(&self) -> Result<Proofs, Failure> {
        let shelf = self.store().features()?;
        let remembered = Remembered::read(&shelf.runs);
        Ok(Proofs { shelf, remembered, looked_up: Cell::default(), list: OnceCell::new() })
    }
}

impl Proofs {
    /// Judges whether the feature of a name was shown to work, on the files as they
    /// are in `checkout`; none where the list has no such feature.
    pub fn of(&self, checkout: &Path, name: &str) -> Result<Option<Verdict>, String> {
        // Where nothing ever ran, a list of any length need not be read.
        if self.remembered.runs.is_empty() {
            let unread = Feature { id: name.to_owned(), ..Feature::default() };
            return Ok(Some(judge_evidence(&unread, &[], &FileStates::new(), None)));
        }
        let Some(feature) = self.named(name)? else { return Ok(None) };
        let coded = self.remembered.last_report(&feature.id, |report| report.outcome == "completed").map(|report| report.at);
        let files = file_states(checkout, &feature.files).map_err(|failure| failure.to_string())?;
        Ok(Some(judge_evidence(&feature, &self.remembered.runs, &files, coded)))
    }

    fn named(&self, name: &str) -> Result<Option<Feature>, String> {
        if let FeatureFile::Text(text) = &self.shelf.file
            && self.looked_up.replace(self.looked_up.get().saturating_add(1)) < MOST_LOOKED_UP
            && let Some(feature) = workflow::look_up(text, name)
        {
            return Ok(Some(feature));
        }
        let list = self.list.get_or_init(|| workflow::list_on(&self.shelf).map_err(|failure| failure.to_string()));
        let list = list.as_ref().map_err(Clone::clone)?;
        Ok(list.as_ref().and_then(|list| list.named(name)).cloned())
    }
}
