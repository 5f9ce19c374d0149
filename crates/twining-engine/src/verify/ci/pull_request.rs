//! A pull request as the rules see it: what changed, and what the base says.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

use twining_model::Anchor;
use twining_store::code::{DefinitionSearch, SeenDefinition, find_moved_in_history};
use twining_store::git::{GitRange, TreeEntry};
use twining_store::{Config, feature_list_paths, knowledge_path, maestro_knowledge_path};

use crate::anchors::not_merged;

/// The folder of the records, with its slash.
pub(super) const MEMORY: &str = ".twining/";
/// The file of anchors.
pub(super) const ANCHORS: &str = ".twining/anchors.jsonl";
/// Bytes of a changed file beyond which it is no text that anybody wrote.
const TEXT_BYTES: usize = 4 * 1024 * 1024;

/// A file that a pull request changed; a renamed one has two paths.
#[derive(Clone, Debug, Default)]
pub struct ChangedFile {
    /// Its path in the merge base.
    pub old_path: Option<String>,
    /// Its path in the head.
    pub path: Option<String>,
    /// Its content in the merge base.
    pub before: Option<Vec<u8>>,
    /// Its content in the head.
    pub after: Option<Vec<u8>>,
}

impl ChangedFile {
    /// Its path now, or the one it had.
    pub(super) fn name(&self) -> &str {
        self.path.as_deref().or(self.old_path.as_deref()).unwrap_or_default()
    }

    pub(super) fn text_before(&self) -> Option<&str> {
        text_of(self.before.as_deref()?)
    }

    pub(super) fn text_after(&self) -> Option<&str> {
        text_of(self.after.as_deref()?)
    }
}

fn text_of(bytes: &[u8]) -> Option<&str> {
    std::str::from_utf8(bytes).ok().filter(|text| text.len() <= TEXT_BYTES && !text.contains('\0'))
}

/// A commit of the pull request, with the records as it left them.
#[derive(Clone, Debug, Default)]
pub struct RecordCommit {
    /// Its hash.
    pub hash: String,
    /// `Name <address>`.
    pub author: String,
    /// Path and object of each file of the memory that it wrote.
    pub files: Vec<(String, String)>,
}

/// Reads objects that only some rules need.
type ReadObjects<'r> = dyn Fn(&[&str]) -> HashMap<String, Vec<u8>> + 'r;

/// Finds where a commit has a definition, within some time.
type FindDefinition<'r> = dyn Fn(&SeenDefinition, &str, Duration) -> DefinitionSearch + 'r;

/// Picks the anchors that another branch wrote about code of its own.
type NotMerged<'r> = dyn Fn(&[&Anchor]) -> BTreeSet<String> + 'r;

/// Everything the rules look at.
pub struct PullRequest<'r> {
    /// The commit that the rules come from.
    pub base: String,
    /// The commit that is looked at.
    pub head: String,
    /// Where the head left the base.
    pub merge_base: String,
    /// What changed between the merge base and the head.
    pub changed: Vec<ChangedFile>,
    /// Files of the base: decisions, knowledge, settings.
    pub base_files: BTreeMap<String, Vec<u8>>,
    /// Paths of records that the head has, changed or not.
    pub head_records: BTreeSet<String>,
    /// The commits in between that touched the memory, oldest first.
    pub commits: Vec<RecordCommit>,
    /// Records that a commit in between says are confirmed.
    pub confirmed: BTreeSet<String>,
    /// Reads objects of those commits.
    pub objects: Box<ReadObjects<'r>>,
    /// Reads files of the merge base, by their paths.
    pub base_sources: Box<ReadObjects<'r>>,
    /// Looks for where a commit has code that moved before it.
    pub moved_until: Box<FindDefinition<'r>>,
    /// Picks the anchors that another worktree wrote about code which the head never had; their ids.
    pub not_merged: Box<NotMerged<'r>>,
}

impl<'r> PullRequest<'r> {
    /// Reads a range: one listing of each side, and two reads of objects.
    #[must_use]
    pub fn read(range: &'r GitRange) -> Self {
        let changes = range.changes();
        let listed = range.files(&range.base, MEMORY.trim_end_matches('/'));
        let mut rules: Vec<TreeEntry> =
            listed.into_iter().filter(|file| is_rule(&file.path)).collect();
        let config = rules.iter().find(|file| file.path == ".twining/config.yml");
        let config = config.and_then(|file| {
            range.blobs(std::iter::once(file.object.as_str())).remove(&file.object)
        });
        let chosen =
            config.as_deref().map(|bytes| Config::parse(bytes).knowledge.path).unwrap_or_default();
        let elsewhere = feature_list_paths()
            .into_iter()
            .chain([maestro_knowledge_path()])
            .chain(knowledge_path(&chosen, false).ok());
        for path in elsewhere.filter(|path| !path.starts_with(MEMORY)) {
            rules.extend(
                range.files(&range.base, &path).into_iter().filter(|file| file.path == path),
            );
        }
        let head_records = range
            .files(&range.head, MEMORY.trim_end_matches('/'))
            .into_iter()
            .map(|file| file.path)
            .collect();

        let sides = changes.iter().flat_map(|change| [&change.before, &change.after]).flatten();
        let blobs = range.blobs(sides.chain(&rules).map(|file| file.object.as_str()));
        let read = |file: &Option<TreeEntry>| {
            file.as_ref().and_then(|file| blobs.get(&file.object).cloned())
        };
        let changed = changes.iter().map(|change| ChangedFile {
            old_path: change.before.as_ref().map(|file| file.path.clone()),
            path: change.after.as_ref().map(|file| file.path.clone()),
            before: read(&change.before),
            after: read(&change.after),
        });
        let commits = range.commits().into_iter().map(|commit| RecordCommit {
            hash: commit.hash,
            author: commit.author,
            files: commit.files.into_iter().map(|file| (file.path, file.object)).collect(),
        });
        Self {
            base: range.base.clone(),
            head: range.head.clone(),
            merge_base: range.merge_base.clone(),
            changed: changed.collect(),
            base_files: rules
                .iter()
                .filter_map(|file| Some((file.path.clone(), blobs.get(&file.object)?.clone())))
                .collect(),
            head_records,
            commits: commits.collect(),
            confirmed: range.confirmed().into_keys().collect(),
            objects: Box::new(|objects| range.blobs(objects.iter().copied())),
            base_sources: Box::new(|paths| base_sources(range, paths)),
            moved_until: Box::new(|seen, commit, time| {
                let git = range.project();
                let found = git.map(|git| find_moved_in_history(&git, seen, commit, time));
                found.and_then(Result::ok).unwrap_or(DefinitionSearch::Unknown)
            }),
            not_merged: Box::new(|anchors| {
                let git = range.project();
                git.map(|git| not_merged(&git, &range.head, anchors)).unwrap_or_default()
            }),
        }
    }

    /// Files of the memory that changed.
    pub(super) fn records(&self) -> impl Iterator<Item = &ChangedFile> {
        self.changed.iter().filter(|file| {
            file.name().starts_with(MEMORY) && !file.name().starts_with(".twining/local/")
        })
    }

    /// A changed file by its path.
    pub(super) fn changed_at(&self, path: &str) -> Option<&ChangedFile> {
        self.changed.iter().find(|file| {
            file.path.as_deref() == Some(path) || file.old_path.as_deref() == Some(path)
        })
    }

    /// Where the base keeps its reviewed knowledge.
    pub(super) fn knowledge_path(&self) -> String {
        let config = self.base_files.get(".twining/config.yml");
        let chosen = config.map(|bytes| Config::parse(bytes).knowledge.path).unwrap_or_default();
        let is_elsewhere = self.base_files.contains_key(&maestro_knowledge_path());
        knowledge_path(&chosen, is_elsewhere)
            .unwrap_or_else(|_| ".twining/knowledge.dot".to_owned())
    }
}

fn base_sources(range: &GitRange, paths: &[&str]) -> HashMap<String, Vec<u8>> {
    let wanted: BTreeSet<&str> = paths.iter().copied().collect();
    let files = range.files(&range.merge_base, "");
    let files: Vec<&TreeEntry> =
        files.iter().filter(|file| wanted.contains(file.path.as_str())).collect();
    let blobs = range.blobs(files.iter().map(|file| file.object.as_str()));
    let read = |file: &&TreeEntry| Some((file.path.clone(), blobs.get(&file.object)?.clone()));
    files.iter().filter_map(read).collect()
}

/// Whether a file of the base may hold a rule.
fn is_rule(path: &str) -> bool {
    let is_decision = path.starts_with(".twining/decisions/")
        && path.ends_with(".json")
        && !path.ends_with("/index.json");
    is_decision
        || [ANCHORS, ".twining/config.yml", ".twining/knowledge.dot", ".twining/features.json"]
            .contains(&path)
}
