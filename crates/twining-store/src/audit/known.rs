//! What git knew when Twining first looked: its branches, and where their remotes
//! are. What comes from there later is others' work; what comes from anywhere else
//! was made here.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::address;
use crate::commits::lines;

/// Branches that are remembered: the newest.
const MOST_TIPS: &str = "--count=256";
/// Remotes that are remembered.
const MOST_REMOTES: usize = 32;

/// Fetched commits that are remembered: the last.
const MOST_FETCHED: usize = 64;

/// Branches and remotes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Known {
    /// The newest commit of each branch.
    pub(crate) tips: Vec<String>,
    /// Where each remote is, by its name.
    pub(crate) remotes: BTreeMap<String, String>,
    /// Commits that were fetched from one of them and that no branch of it names: a
    /// request by its number, a branch by the remote's address.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) fetched: Vec<String>,
}

impl Known {
    /// As they are now.
    pub(crate) fn look(project: &Path) -> Self {
        let tips = lines(project, &["for-each-ref", "--sort=-committerdate", MOST_TIPS, "--format=%(objectname)", "refs/heads"]);
        Self { tips, remotes: remotes(project), fetched: Vec::new() }
    }

    /// With the remotes of now; nothing where none is new.
    pub(crate) fn with_remotes(&self, project: &Path) -> Option<Self> {
        let mut known = self.clone();
        known.remotes.extend(remotes(project));
        (known != *self).then_some(known)
    }

    /// With what was fetched from these remotes; nothing where none of it is new.
    pub(crate) fn with_fetched(&self, project: &Path, fetched: &[(String, String)]) -> Option<Self> {
        let is_new = |commit: &String| !self.fetched.contains(commit) && !self.tips.contains(commit);
        let theirs = |address: &str| self.remotes.values().any(|url| address::is_same(project, url, address));
        let new = fetched.iter().filter(|(commit, address)| is_new(commit) && theirs(address)).map(|(commit, _)| commit.clone());
        let new: Vec<String> = new.collect();
        if new.is_empty() {
            return None;
        }
        let mut known = self.clone();
        known.fetched.extend(new);
        known.fetched.drain(..known.fetched.len().saturating_sub(MOST_FETCHED));
        Some(known)
    }

    /// The names of remotes that are where they were.
    pub(crate) fn remotes_now(&self, project: &Path) -> Vec<String> {
        let now = remotes(project);
        self.remotes.iter().filter(|(name, url)| now.get(*name) == Some(url)).map(|(name, _)| name.clone()).collect()
    }
}

/// Where git fetches from, with what its settings make of an address.
fn remotes(project: &Path) -> BTreeMap<String, String> {
    let told = lines(project, &["remote", "-v"]);
    let fetched = told.iter().filter_map(|line| line.strip_suffix(" (fetch)")?.split_once('\t'));
    let plain = |name: &str| !name.is_empty() && !name.contains(['*', '?', '[', '\\', ' ']);
    fetched.filter(|(name, _)| plain(name)).take(MOST_REMOTES).map(|(name, url)| (name.to_owned(), url.to_owned())).collect()
}
