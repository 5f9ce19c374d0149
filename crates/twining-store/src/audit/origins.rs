//! Where what is checked out comes from, by the commits themselves: neither dates
//! nor git's list of the places where HEAD was prove anything, for whoever can
//! write files can write those.
//!
//! A commit is known if it was in a branch when Twining first looked, or before
//! the last comparison that found all well. One that came since from a remote
//! that is where it was, with a branch of it or fetched by name, is others'. Every other was made here, and proves nothing.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use super::known::Known;
use crate::commits::{fed, lines};

/// Commits that are followed.
const MOST_NEW: &str = "--max-count=100000";
/// Places of each kind that are compared, the newest first.
const MOST_PLACES: usize = 12;
/// Branches of remotes that are followed.
const MOST_BRANCHES: &str = "--count=512";

/// How git came by what stands in a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Whence {
    /// It was there when all was well.
    Known,
    /// It came from a remote since.
    Remote,
}

/// Commits to go by, and those that prove nothing.
#[derive(Clone, Debug, Default)]
pub(crate) struct Origins {
    /// Where git took files from, the nearest first.
    pub(crate) places: Vec<(String, Whence)>,
    /// Commits made here since, with their parents, the newest first.
    pub(crate) made: Vec<(String, Vec<String>)>,
    /// Commits that came from a remote since, all of them.
    pub(crate) others: HashSet<String>,
    /// Those of them that were made upon others made here, which stand among the latter
    /// too: what is in one may be from either.
    pub(crate) upon: Vec<String>,
}

/// What is told against commits, by whoever might say it: it only ever makes one count less.
#[derive(Clone, Debug, Default)]
pub(crate) struct Against {
    /// Commits that recorded the working tree.
    pub(crate) recorded: HashSet<String>,
    /// What a branch of a remote was before and after a push from here, by its name.
    pub(crate) pushed: HashMap<String, Vec<(String, String)>>,
}

/// A branch of a remote.
pub(crate) struct Branch {
    pub(crate) name: String,
    commit: String,
}

/// The branches of remotes that are where they were, and what was fetched from one
/// without a branch of it to show for that.
pub(crate) fn branches(project: &Path, known: &Known) -> Vec<Branch> {
    let mut ask = vec!["for-each-ref", "--sort=-committerdate", MOST_BRANCHES, "--format=%(objectname) %(refname)"];
    let names: Vec<String> = known.remotes_now(project).iter().map(|name| format!("refs/remotes/{name}/")).collect();
    ask.extend(names.iter().map(String::as_str));
    let told = if names.is_empty() { Vec::new() } else { lines(project, &ask) };
    let named =
        told.iter().filter_map(|line| line.split_once(' ')).map(|(commit, name)| Branch { commit: commit.into(), name: name.into() });
    let fetched = known.fetched.iter().map(|commit| Branch { commit: commit.clone(), name: String::new() });
    named.chain(fetched).collect()
}

impl Origins {
    /// Follows what is checked out back to what is known.
    pub(crate) fn of(project: &Path, heads: &[String], anchor: &str, known: &Known, branches: &[Branch], against: &Against) -> Self {
        let all: Vec<&str> = known.tips.iter().map(String::as_str).chain([anchor]).filter(|tip| !tip.is_empty()).collect();
        // Where git cannot be asked, nothing is known but what was.
        let unknown = || Self { made: heads.iter().map(|head| (head.clone(), Vec::new())).collect(), ..Self::default() }.nearest(anchor);
        let Some(told) = listed(project, heads, &all) else { return unknown() };
        let mut order = Vec::new();
        let mut parents: HashMap<&str, Vec<&str>> = HashMap::new();
        for line in &told {
            let mut words = line.split(' ');
            let Some(commit) = words.next() else { continue };
            order.push(commit);
            parents.insert(commit, words.collect());
        }
        let with_remotes: Vec<&str> = all.iter().copied().chain(branches.iter().map(|branch| branch.commit.as_str())).collect();
        let local = if branches.is_empty() { Some(told.clone()) } else { listed(project, heads, &with_remotes) };
        let Some(local) = local else { return unknown() };
        let mut made: HashSet<&str> = local.iter().filter_map(|line| line.split(' ').next()).collect();
        made.extend(order.iter().filter(|commit| against.recorded.contains(**commit)));
        for (old, new) in against.pushed.values().flatten() {
            let mut next: Vec<&str> = vec![new];
            while let Some((commit, above)) = next.pop().and_then(|commit| Some((commit, parents.get(commit)?))) {
                if commit != old && made.insert(commit) {
                    next.extend(above);
                }
            }
        }
        // What came from a remote on top of what was made here holds the latter too.
        let mut others: HashSet<&str> = HashSet::new();
        for commit in order.iter().rev().filter(|commit| !made.contains(**commit)) {
            if parents[*commit].iter().all(|above| !parents.contains_key(above) || others.contains(above)) {
                others.insert(commit);
            }
        }
        let mut origins = Self { others: others.iter().map(|commit| (*commit).to_owned()).collect(), ..Self::default() };
        let mut next: Vec<&str> = heads.iter().rev().map(String::as_str).collect();
        let mut seen = HashSet::new();
        while let Some(commit) = next.pop() {
            match parents.get(commit) {
                _ if !seen.insert(commit) => {}
                None => origins.places.push((commit.to_owned(), Whence::Known)),
                Some(_) if others.contains(commit) => origins.places.push((commit.to_owned(), Whence::Remote)),
                Some(above) => {
                    if !made.contains(commit) {
                        origins.others.insert(commit.to_owned());
                        origins.upon.push(commit.to_owned());
                    }
                    origins.made.push((commit.to_owned(), above.iter().map(|above| (*above).to_owned()).collect()));
                    next.extend(above.iter().rev());
                }
            }
        }
        origins.nearest(anchor)
    }

    /// The nearest of each kind, and in the end what was checked out when all was well.
    fn nearest(mut self, anchor: &str) -> Self {
        for whence in [Whence::Known, Whence::Remote] {
            let mut left = MOST_PLACES;
            self.places.retain(|(_, kind)| {
                left = if *kind == whence { left.saturating_sub(1) } else { left };
                *kind != whence || left > 0
            });
        }
        if !anchor.is_empty() && self.places.iter().all(|(place, _)| place != anchor) {
            self.places.push((anchor.to_owned(), Whence::Known));
        }
        self
    }

    /// Commits made here and by nobody else, with their parents.
    pub(crate) fn own(&self) -> impl Iterator<Item = &(String, Vec<String>)> {
        self.made.iter().filter(|(commit, _)| !self.upon.contains(commit))
    }

    /// How git came by this commit; nothing where it was made here.
    pub(crate) fn whence(&self, commit: &str) -> Option<Whence> {
        self.places.iter().find(|(place, _)| place == commit).map(|(_, whence)| *whence)
    }
}

/// Commits that lead to `heads` and not to `known`, each with its parents, children first.
fn listed(project: &Path, heads: &[String], known: &[&str]) -> Option<Vec<String>> {
    let mut asked: String = heads.iter().map(|head| format!("{head}\n")).collect();
    known.iter().for_each(|tip| asked.push_str(&format!("^{tip}\n")));
    let said = fed(project, &["rev-list", "--parents", "--topo-order", "--ignore-missing", MOST_NEW, "--stdin"], asked)?;
    Some(String::from_utf8_lossy(&said).lines().map(str::to_owned).collect())
}
