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

    /// With the remotes of now that are on other machines; nothing where none is new. One
    /// on this machine may be anybody's folder, so it must have been there from the start.
    pub(crate) fn with_far_remotes(&self, project: &Path) -> Option<Self> {
        let mut known = self.clone();
        known.remotes.extend(remotes(project).into_iter().filter(|(_, url)| is_far(url)));
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

/// Whether an address is on another machine, as far as its form says.
fn is_far(url: &str) -> bool {
    if let Some((scheme, rest)) = url.split_once("://") {
        return matches!(scheme, "https" | "http" | "ssh" | "git" | "git+ssh") && !is_here(rest);
    }
    // `host:path`, as ssh has it; `::` names a program to run.
    let host = url.split('/').next().and_then(|first| first.split_once(':'));
    host.is_some_and(|(host, path)| host.len() > 1 && !path.starts_with(':') && !is_here(host))
}

fn is_here(rest: &str) -> bool {
    let host = rest.rsplit_once('@').map_or(rest, |(_, host)| host);
    ["localhost", "127.", "[::1]"].iter().any(|here| host.starts_with(here))
}

#[cfg(test)]
mod tests {
    use super::is_far;

    #[test]
    fn a_folder_of_this_machine_is_no_remote_of_a_team() {
        for far in ["https://example.com/a.git", "git@example.com:team/a.git", "ssh://git@example.com/a", "example.com:a"] {
            assert!(is_far(far), "{far}");
        }
        for near in [
            "../a.git",
            "/srv/a.git",
            "file:///srv/a.git",
            "./a",
            "a/b:c",
            "ext::sh -c x",
            "https://localhost/a",
            "git@127.0.0.1:a",
            "c:/a",
        ] {
            assert!(!is_far(near), "{near}");
        }
    }
}
