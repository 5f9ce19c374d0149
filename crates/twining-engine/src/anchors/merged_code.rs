//! Whether a history has the code that a line of another branch speaks of.
//!
//! A squash or a rebase keeps a line and not its commit, and linked worktrees share the lines before
//! their code is merged. So the code itself is asked for.

use std::collections::{BTreeSet, HashMap};

use twining_code::{Excerpt, Freshness, judge, read_source};
use twining_model::Anchor;
use twining_store::code::SourceOutline;
use twining_store::git::Git;

use crate::anchors::sighting::recorded_sighting;

/// Versions of a file that are looked at.
const MAX_VERSIONS: usize = 20;

/// A commit and what led to it, by the versions of files.
pub(crate) struct MergedCode<'g> {
    git: &'g Git,
    head: String,
    /// Commits that it has not.
    unmerged: BTreeSet<String>,
    /// By path: as the head has it, then as it was.
    versions: HashMap<String, Vec<Option<PastFile>>>,
}

/// A file as it was, and its definitions.
struct PastFile {
    bytes: Vec<u8>,
    outline: SourceOutline,
}

impl<'g> MergedCode<'g> {
    /// The history that ends with a commit, as far as these lines need it.
    pub(crate) fn of(git: &'g Git, head: &str, lines: &[&Anchor]) -> Self {
        let heads: BTreeSet<&String> = lines.iter().copied().filter_map(made_at).collect();
        let unmerged = git.not_in(head, &heads.into_iter().cloned().collect::<Vec<_>>());
        Self { git, head: head.to_owned(), unmerged, versions: HashMap::new() }
    }

    /// Whether it has not the commit that a line was written at.
    pub(crate) fn lacks_commit_of(&self, line: &Anchor) -> bool {
        made_at(line).is_some_and(|head| self.unmerged.contains(head))
    }

    /// Whether it has had the code as a line saw it, layout and comments aside.
    pub(crate) fn has(&mut self, line: &Anchor) -> bool {
        let path = line.at.path();
        let versions = self.versions_of(path);
        let seen = recorded_sighting(line);
        versions.iter().flatten().any(|version| {
            let Some(there) = version.outline.at(&line.at) else { return false };
            // What was seen by the rules of another version is not told apart.
            let Some(seen) = &seen else { return true };
            let lines = there.first_line..=there.last_line;
            let excerpt = || Excerpt::read(path, &version.bytes, &lines);
            judge(seen, there, excerpt).freshness == Freshness::Fresh
        })
    }

    /// Whether it has had the file of a line.
    fn has_file_of(&mut self, line: &Anchor) -> bool {
        self.versions_of(line.at.path()).iter().any(Option::is_some)
    }

    fn versions_of(&mut self, path: &str) -> &[Option<PastFile>] {
        self.versions.entry(path.to_owned()).or_insert_with(|| {
            let read = |bytes: Vec<u8>| {
                let outline = SourceOutline::from(read_source(path, &bytes));
                PastFile { bytes, outline }
            };
            let versions = self.git.versions(&self.head, path, MAX_VERSIONS).into_iter();
            versions.map(|bytes| bytes.map(read)).collect()
        })
    }
}

/// Those of some lines that were written at a commit which a head has not, about code that it never
/// had; and those about files that were not committed yet, and that it never had. By their ids. None
/// of them lets a place go: that says nothing of the code.
pub(crate) fn not_merged(git: &Git, head: &str, lines: &[&Anchor]) -> BTreeSet<String> {
    let mut merged = MergedCode::of(git, head, lines);
    let mut is_foreign = |line: &Anchor| {
        if merged.lacks_commit_of(line) {
            return !merged.has(line);
        }
        line.seen.dirty && !merged.has_file_of(line)
    };
    lines.iter().filter(|line| is_foreign(line)).map(|line| line.id.clone()).collect()
}

/// The commit that was checked out when a line was written.
fn made_at(line: &Anchor) -> Option<&String> {
    line.origin.as_ref()?.head.as_ref()
}
