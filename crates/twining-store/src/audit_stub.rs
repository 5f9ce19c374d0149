//! Scaffolding: the old audit's names, all silent, until the hook runner stops
//! calling them. Delete this file together with the last caller.

use std::collections::BTreeSet;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::commits;
use crate::error::StoreError;
use crate::store::Store;

/// What became of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Changed {
    /// It is gone.
    Removed,
    /// It says something else.
    Altered,
    /// It is new.
    Appended,
}

/// A record that changed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Difference {
    /// The file, inside `.twining/`.
    pub file: String,
    /// What became of it.
    pub changed: Changed,
    /// Its id.
    pub id: Option<String>,
}

/// What a comparison found: always nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Audit {
    /// Nothing.
    pub differences: Vec<Difference>,
    /// Never.
    pub is_settled: bool,
    /// Nothing.
    pub lost: Option<Lost>,
    /// Nothing.
    pub brought: Vec<Difference>,
    /// None.
    pub commits: Vec<String>,
    /// None.
    pub since: Option<String>,
}

/// What was taken away.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Lost {
    /// All of `.twining/`.
    Folder,
    /// `.twining/local`.
    Local,
    /// The ledger.
    Ledger,
}

/// A file as it would be committed.
#[derive(Clone, Debug, Default)]
pub struct Staged {
    /// Which, inside `.twining/`.
    pub file: String,
    /// As it was committed last.
    pub before: Option<Vec<u8>>,
    /// As it is staged.
    pub after: Option<Vec<u8>>,
}

/// A file as git had it.
#[derive(Clone, Debug, Default)]
pub struct Version {
    /// Its content.
    pub bytes: Option<Vec<u8>>,
    /// Whether it came from others since.
    pub is_others: bool,
    /// Whether it is of another branch.
    pub is_of_another_branch: bool,
}

/// A place in git's history.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Anchor {
    /// The commit that was checked out; empty where there was none.
    pub head: String,
    /// Unused.
    pub reflog: u64,
}

impl Store {
    /// Finds nothing.
    pub fn audit(&self) -> Result<Audit, StoreError> {
        Ok(Audit::default())
    }

    /// Finds nothing.
    pub fn files_not_as_left(&self) -> Result<BTreeSet<String>, StoreError> {
        Ok(BTreeSet::new())
    }

    /// Does nothing.
    pub fn know_remotes(&self) -> Result<(), StoreError> {
        Ok(())
    }

    /// Does nothing.
    pub fn know_fetched(&self) -> Result<(), StoreError> {
        Ok(())
    }

    /// Does nothing.
    pub fn accept_records(&self) -> Result<usize, StoreError> {
        Ok(0)
    }

    /// Does nothing.
    pub fn settle_audit(&self, _: &Audit) -> Result<(), StoreError> {
        Ok(())
    }

    /// Finds nothing.
    pub fn audit_staged(&self, _: &[Staged]) -> Result<Vec<Difference>, StoreError> {
        Ok(Vec::new())
    }

    /// Where git is now.
    pub fn git_place(&self) -> Result<Anchor, StoreError> {
        let head = commits::lines(&self.place().project, &["rev-parse", "--verify", "--quiet", "HEAD"]).pop();
        Ok(Anchor { head: head.unwrap_or_default(), reflog: 0 })
    }

    /// Nowhere.
    pub fn audited_place(&self) -> Result<Anchor, StoreError> {
        Ok(Anchor::default())
    }

    /// None.
    pub fn git_versions(&self, _: &Anchor, _: &str) -> Result<Vec<Version>, StoreError> {
        Ok(Vec::new())
    }

    /// Never.
    pub fn git_undid(&self, _: &Anchor, _: &str) -> Result<bool, StoreError> {
        Ok(false)
    }

    /// None.
    pub fn commits_since(&self, _: &Anchor, _: &str) -> Result<Vec<String>, StoreError> {
        Ok(Vec::new())
    }

    /// None.
    pub fn versions_in(&self, _: &Path, _: &str, _: &[String], _: &[String]) -> Result<Vec<Vec<Version>>, StoreError> {
        Ok(Vec::new())
    }

    /// Nothing.
    pub fn lost(&self) -> Option<Lost> {
        None
    }

    /// Never.
    pub fn is_told(&self, _: Lost) -> bool {
        false
    }

    /// Never.
    pub fn tell_lost(&self, _: Lost) -> bool {
        false
    }

    /// Does nothing.
    pub fn forget_marks(&self) -> Result<(), StoreError> {
        Ok(())
    }

    /// The same as `leave_note`.
    pub fn leave_sealed(&self, name: &str, bytes: &[u8]) -> Result<(), StoreError> {
        self.leave_note(name, bytes)
    }

    /// The same as `note`.
    pub fn sealed(&self, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        self.note(name)
    }

    /// A constant where the note is there.
    pub fn sealed_id(&self, name: &str) -> Result<Option<String>, StoreError> {
        Ok(self.has_note(name)?.then(|| "note".to_owned()))
    }

    /// A constant.
    pub fn sealing(&self, _: &[u8]) -> Result<Option<u64>, StoreError> {
        Ok(Some(0))
    }
}
