//! The working files against HEAD, and against where this branch left its upstream.

use std::collections::BTreeMap;
use std::path::Path;

use twining_model::limits;

use super::documents::Documents;
use crate::disk;
use crate::disk::layout::FOLDER;
use crate::error::StoreError;
use crate::git::Git;
use crate::integrity::{Difference, RecordKind, compare_changed};

/// Bytes of the largest file that is read.
const FILE_BYTES: usize = 4096 * limits::RECORD_BYTES;

/// A file that differs from a commit: its name inside `.twining/`, and the object it was.
type ChangedFiles = BTreeMap<String, Option<String>>;

impl Documents<'_> {
    /// Records that HEAD, or an earlier commit, has and that the working files lack or
    /// say otherwise. `git` is the repository's, seen from any of its folders. Empty where it
    /// has no memory of this one.
    pub fn changed_records(&self, git: &Git, base: Option<&str>) -> Result<Vec<Difference>, StoreError> {
        let project = &self.0.location().project;
        let git = git.in_folder(project);
        let mut found = Vec::new();
        let against_head = changed_since(&git, "HEAD");
        let against_base = base.map(|base| changed_since(&git, base)).filter(|changed| *changed != against_head);
        for changed in std::iter::once(against_head).chain(against_base) {
            for difference in differences(&git, project, &changed)? {
                if !found.contains(&difference) {
                    found.push(difference);
                }
            }
        }
        Ok(found)
    }
}

/// Files of the memory that are not as a commit has them.
fn changed_since(git: &Git, commit: &str) -> ChangedFiles {
    let changes = git.changed_since(commit, FOLDER).into_iter();
    let files = changes.filter_map(|change| {
        let object = change.before.as_ref().map(|before| before.object.clone());
        Some((change.before.or(change.after)?.path, object))
    });
    files.filter(|(path, _)| RecordKind::of(path).is_some()).collect()
}

fn differences(git: &Git, project: &Path, changed: &ChangedFiles) -> Result<Vec<Difference>, StoreError> {
    if changed.values().all(Option::is_none) {
        return Ok(Vec::new());
    }
    let blobs = git.objects(changed.values().flatten().map(String::as_str));
    let before = changed.iter().filter_map(|(path, object)| Some((path.as_str(), blobs.get(object.as_ref()?)?.as_slice()))).collect();
    let mut now = Vec::new();
    for path in changed.keys() {
        now.extend(read(project, path)?.map(|bytes| (path, bytes)));
    }
    let after = now.iter().map(|(path, bytes)| (path.as_str(), bytes.as_slice())).collect();
    let is_there = |path: &str| disk::is_inside(project, &format!("{FOLDER}/{path}"));
    Ok(compare_changed(before, after, &is_there))
}

fn read(project: &Path, path: &str) -> Result<Option<Vec<u8>>, StoreError> {
    match disk::read_inside(project, &format!("{FOLDER}/{path}"), FILE_BYTES) {
        // A link or a folder in its place is no record.
        Err(StoreError::Unsafe { .. }) => Ok(None),
        read => read,
    }
}
