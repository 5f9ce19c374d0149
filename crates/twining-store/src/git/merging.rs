//! What git is in the middle of, and which versions of a file it merged.

use std::collections::HashSet;

use super::{Git, GitFolders, is_hash};
use crate::merge::{MergeFunctions, Versions, has_markers, is_marker};

/// What git keeps while it joins, repeats or undoes a commit, and what stands in the
/// commit it makes from that.
const SIDES: [(&str, &str); 5] =
    [("MERGE_HEAD", ""), ("CHERRY_PICK_HEAD", ""), ("REBASE_HEAD", ""), ("REVERT_HEAD", "^"), ("SQUASH_MSG", "")];
/// Lines of such a file that are looked at.
const MAX_SIDES: usize = 64;
/// What git's folder has while commits are made over again. What is written into tracked
/// files then would stand in the way of the next one.
const REWRITING: [&str; 6] = ["rebase-merge", "rebase-apply", "CHERRY_PICK_HEAD", "REVERT_HEAD", "BISECT_LOG", "sequencer"];
/// Commits that are followed back to where nobody had left a conflict yet.
const FOLLOWED: usize = 256;

/// Versions of a file that were merged into what stands in it now.
pub(crate) struct MergedVersions {
    base: Vec<u8>,
    versions: Vec<Vec<u8>>,
}

impl Git {
    /// The commits whose content the next one is made from: what is checked out, and
    /// what is being merged, picked or brought back.
    #[must_use]
    pub fn sides(&self) -> Vec<String> {
        let mut sides = vec!["HEAD".to_owned()];
        let Some(GitFolders { own, .. }) = GitFolders::of(&self.folder) else { return sides };
        for (file, before) in SIDES {
            let commits = std::fs::read_to_string(own.join(file)).unwrap_or_default();
            // A squash lists the commits it joins, newest first.
            let names = commits.lines().map(|line| line.strip_prefix("commit ").unwrap_or(line)).take(MAX_SIDES);
            sides.extend(names.filter(|name| is_hash(name)).map(|commit| format!("{commit}{before}")));
        }
        sides
    }

    /// Whether commits are being made over again in this working tree.
    #[must_use]
    pub fn is_rewriting(&self) -> bool {
        GitFolders::of(&self.folder).is_some_and(|git| REWRITING.iter().any(|name| git.own.join(name).exists()))
    }

    /// The last versions without a conflict, on every branch that was merged into what is
    /// checked out. A rebased or picked commit is no parent; git names it in the marker.
    pub(crate) fn merged_versions(&self, file: &str, text: &[u8]) -> MergedVersions {
        let named = text.split(|&byte| byte == b'\n').filter_map(|line| line.strip_prefix(b">>>>>>> "));
        let named = named.filter_map(|name| std::str::from_utf8(name).ok()?.split_whitespace().next());
        let is_short_hash = |name: &&str| (7..=64).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_hexdigit());
        let mut next: Vec<String> = named.filter(is_short_hash).chain(["HEAD", "MERGE_HEAD"]).map(str::to_owned).collect();
        let name_in = |commit: &String| format!("{commit}:./{file}");
        let (mut seen, mut clean, mut versions) = (HashSet::new(), Vec::new(), Vec::new());
        while !next.is_empty() && seen.len() < FOLLOWED {
            next.retain(|commit| seen.insert(commit.clone()));
            let contents = self.contents(&next.iter().map(name_in).collect::<Vec<_>>());
            let mut parents = Vec::new();
            for (commit, content) in next.iter().zip(contents) {
                match content {
                    Some(content) if has_markers(&content) => {
                        parents.extend(self.lines(&["rev-parse", "--verify", "--quiet", &format!("{commit}^@")]));
                    }
                    Some(content) if !versions.contains(&content) => {
                        clean.push(commit.clone());
                        versions.push(content);
                    }
                    _ => {}
                }
            }
            next = parents;
        }
        let ask: Vec<&str> = ["merge-base", "--octopus"].into_iter().chain(clean.iter().map(String::as_str)).collect();
        let base = self.lines(&ask).pop().and_then(|from| self.contents(&[name_in(&from)]).pop()?);
        MergedVersions { base: base.unwrap_or_default(), versions }
    }
}

impl MergedVersions {
    /// All of them as one, if they hold every line that stands in the text now: one
    /// that they lack was written since, and would be lost.
    pub(crate) fn merge_all(self, text: &[u8], joining: &MergeFunctions) -> Option<Vec<u8>> {
        let bare = |line: &[u8]| line.trim_ascii().strip_suffix(b",").unwrap_or(line.trim_ascii()).to_vec();
        let known: HashSet<Vec<u8>> = self.versions.iter().flat_map(|version| version.split(|&byte| byte == b'\n')).map(bare).collect();
        let mut in_base = false;
        for line in text.split(|&byte| byte == b'\n') {
            if is_marker(line) {
                in_base = line.starts_with(b"|") || (in_base && !line.starts_with(b"======= ") && line.trim_ascii_end() != b"=======");
            } else if !in_base && !known.contains(&bare(line)) {
                return None;
            }
        }
        let base = if (joining.is_whole)(&self.base) { self.base } else { Vec::new() };
        let mut versions = self.versions.into_iter();
        let first = versions.next().filter(|first| (joining.is_whole)(first))?;
        versions.try_fold(first, |ours, theirs| {
            let is_whole = (joining.is_whole)(&theirs);
            is_whole.then(|| (joining.join)(&Versions { base: &base, ours: &ours, theirs: &theirs })).flatten()
        })
    }
}
