//! Whether a history has the code that a line of another branch speaks of.
//!
//! A squash or a rebase keeps a line and not its commit, and linked worktrees share the lines before
//! their code is merged. So the code itself is asked for.

use std::cell::OnceCell;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use twining_code::{Excerpt, Freshness, judge, read_source};
use twining_model::{Anchor, AnchorEvent};
use twining_store::code::{CodeIndex, SourceOutline};
use twining_store::git::Git;

use crate::anchors::sighting::recorded_sighting;

/// Versions of a file that are looked at.
const MAX_VERSIONS: usize = 20;

/// A commit and what led to it, by the versions of files.
pub(crate) struct MergedCode<'g> {
    git: &'g Git,
    /// What keeps the versions that were read.
    index: Option<&'g CodeIndex>,
    head: String,
    /// Its lines about code.
    lines: OnceCell<String>,
    /// Commits that were asked for, and those of them that it has not.
    asked: BTreeSet<String>,
    unmerged: BTreeSet<String>,
    /// By path: as the head has it, then as it was.
    versions: HashMap<String, Vec<Option<PastFile>>>,
}

/// A file as it was, and its definitions, once they were asked for.
struct PastFile {
    bytes: Vec<u8>,
    outline: OnceCell<Arc<SourceOutline>>,
}

impl PastFile {
    fn outline(&self, path: &str, index: Option<&CodeIndex>) -> &SourceOutline {
        self.outline.get_or_init(|| {
            let kept = index.and_then(|index| index.version(path, self.bytes.clone()).ok());
            kept.map_or_else(
                || Arc::new(SourceOutline::from(read_source(path, &self.bytes))),
                |version| version.source.file,
            )
        })
    }
}

impl<'g> MergedCode<'g> {
    /// The history that ends with a commit.
    pub(crate) fn of(git: &'g Git, index: Option<&'g CodeIndex>, head: &str) -> Self {
        Self {
            git,
            index,
            head: head.to_owned(),
            lines: OnceCell::new(),
            asked: BTreeSet::new(),
            unmerged: BTreeSet::new(),
            versions: HashMap::new(),
        }
    }

    /// Asks at once for the commits that these lines were written at.
    pub(crate) fn ask_for_commits(&mut self, lines: &[&Anchor]) {
        let heads: BTreeSet<String> = lines.iter().copied().filter_map(made_at).cloned().collect();
        let new: Vec<String> = heads.difference(&self.asked).cloned().collect();
        if !new.is_empty() {
            self.unmerged.extend(self.git.not_in(&self.head, &new));
            self.asked.extend(new);
        }
    }

    /// Whether a line of another branch counts here.
    pub(crate) fn counts(&mut self, line: &Anchor) -> bool {
        // Whoever lets a place go says nothing of the code: where the line is, it holds.
        if line.event() == Some(AnchorEvent::Released) {
            return self.has_line(line);
        }
        // Linked worktrees share the lines: they may be committed here before their code is.
        let is_suspect = self.lacks_commit_of(line) || line.seen.dirty;
        !is_suspect || self.has_line(line) && self.has(line)
    }

    /// Whether the head has the line itself: a squash or a rebase keeps that, and not its commit.
    fn has_line(&self, line: &Anchor) -> bool {
        let lines = self.lines.get_or_init(|| {
            let name = format!("{}:./.twining/anchors.jsonl", self.head);
            let bytes = self.git.blobs(&[name]).pop().flatten().unwrap_or_default();
            String::from_utf8_lossy(&bytes).into_owned()
        });
        lines.contains(&line.id)
    }

    /// Whether it has not the commit that a line was written at.
    fn lacks_commit_of(&self, line: &Anchor) -> bool {
        made_at(line).is_some_and(|head| self.unmerged.contains(head))
    }

    /// Whether it has had the code as a line saw it, layout and comments aside.
    fn has(&mut self, line: &Anchor) -> bool {
        let (path, index) = (line.at.path(), self.index);
        let seen = recorded_sighting(line);
        self.versions_of(path).iter().flatten().any(|version| {
            let Some(there) = version.outline(path, index).at(&line.at) else { return false };
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
            let versions = self.git.versions(&self.head, path, MAX_VERSIONS).into_iter();
            let file = |bytes| PastFile { bytes, outline: OnceCell::new() };
            versions.map(|bytes| bytes.map(file)).collect()
        })
    }
}

/// Those of some lines that were written at a commit which a head has not, about code that it never
/// had; and those about files that were not committed yet, and that it never had. By their ids. None
/// of them lets a place go: that says nothing of the code.
pub(crate) fn not_merged(git: &Git, head: &str, lines: &[&Anchor]) -> BTreeSet<String> {
    let mut merged = MergedCode::of(git, None, head);
    merged.ask_for_commits(lines);
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
