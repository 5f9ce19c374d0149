//! What git knew when Twining first looked: its branches, and where their remotes
//! are. What comes from there later is others' work; what comes from anywhere else
//! was made here.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::commits::lines;

/// Branches that are remembered: the newest.
const MOST_TIPS: &str = "--count=256";
/// Remotes that are remembered.
const MOST_REMOTES: usize = 32;

/// Branches and remotes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Known {
    /// The newest commit of each branch.
    pub(crate) tips: Vec<String>,
    /// Where each remote is, by its name.
    pub(crate) remotes: BTreeMap<String, String>,
}

impl Known {
    /// As they are now.
    pub(crate) fn look(project: &Path) -> Self {
        let tips = lines(project, &["for-each-ref", "--sort=-committerdate", MOST_TIPS, "--format=%(objectname)", "refs/heads"]);
        Self { tips, remotes: remotes(project) }
    }

    /// With the remotes of now; nothing where none is new.
    pub(crate) fn with_remotes(&self, project: &Path) -> Option<Self> {
        let mut known = self.clone();
        known.remotes.extend(remotes(project));
        (known != *self).then_some(known)
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
