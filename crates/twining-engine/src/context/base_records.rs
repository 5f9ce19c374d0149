//! The records that a branch began with, read from git's objects.

use std::collections::{HashMap, HashSet};

use serde::Deserialize;
use twining_model::{Decision, Id, StatusChange, Time};
use twining_store::git::GitRange;

const BOARD: &str = ".twining/blackboard.jsonl";
const DECISIONS: &str = ".twining/decisions";
const ARCHIVE: &str = ".twining/archive";

/// What the memory of a commit had.
#[derive(Clone, Debug, Default)]
pub struct BaseRecords {
    /// The commit.
    pub(super) commit: String,
    /// When it was made.
    pub(super) at: Option<Time>,
    /// The ids of its entries.
    pub(super) entries: HashSet<String>,
    /// Its decisions, with the changes of their status.
    pub(super) decisions: HashMap<Id, Vec<StatusChange>>,
}

#[derive(Deserialize)]
struct EntryId<'l> {
    #[serde(borrow)]
    id: std::borrow::Cow<'l, str>,
}

impl BaseRecords {
    /// Reads those of the merge base of a range. What cannot be read there is taken for new.
    #[must_use]
    pub fn read(range: &GitRange) -> Self {
        let commit = &range.merge_base;
        let list = |place: &str| range.files(commit, place);
        let (boards, decisions) = ([list(BOARD), list(ARCHIVE)].concat(), list(DECISIONS));
        let files = boards.iter().chain(&decisions);
        let blobs = range.blobs(files.map(|file| file.object.as_str()));
        let lines = boards.iter().filter_map(|file| blobs.get(&file.object));
        let lines = lines.flat_map(|bytes| bytes.split(|byte| *byte == b'\n'));
        let entries = lines.filter_map(|line| serde_json::from_slice::<EntryId<'_>>(line).ok());
        let decisions = decisions.iter().filter_map(|file| blobs.get(&file.object));
        let decisions =
            decisions.filter_map(|bytes| serde_json::from_slice::<Decision>(bytes).ok());
        Self {
            commit: commit.clone(),
            at: range.merge_base_time(),
            entries: entries.map(|entry| entry.id.into_owned()).collect(),
            decisions: decisions.map(|decision| (decision.id, decision.history)).collect(),
        }
    }
}
