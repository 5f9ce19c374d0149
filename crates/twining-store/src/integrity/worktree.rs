//! The working files against HEAD, and against where this branch left its upstream.

use std::collections::BTreeMap;
use std::path::Path;

use twining_model::limits;

use super::compare::{Difference, RecordKind, TreeFile, compare_changed};
use crate::commits;
use crate::disk;
use crate::error::StoreError;
use crate::layout::FOLDER;
use crate::store::Store;

/// Bytes of the largest file that is read.
const FILE_BYTES: usize = 4096 * limits::RECORD_BYTES;

/// A file that differs from a commit: its name inside `.twining/`, and the object it was.
type Changed = BTreeMap<String, Option<String>>;

impl Store {
    /// Records that HEAD, or an earlier commit, has and that the working files lack or
    /// say otherwise. Empty where git has no memory of this folder.
    pub fn changed_records(&self, base: Option<&str>) -> Result<Vec<Difference>, StoreError> {
        let project = &self.place().project;
        let mut found = Vec::new();
        let against_head = changed_since(project, "HEAD");
        let against_base = base.map(|base| changed_since(project, base)).filter(|changed| *changed != against_head);
        for changed in std::iter::once(against_head).chain(against_base) {
            for difference in differences(project, &changed)? {
                if !found.contains(&difference) {
                    found.push(difference);
                }
            }
        }
        Ok(found)
    }
}

/// Files of the memory that are not as a commit has them. git compares by its index,
/// so that ten thousand unchanged files cost a look at each and no reading.
fn changed_since(project: &Path, commit: &str) -> Changed {
    let args = ["diff-index", "-z", "--raw", "--no-renames", "--relative", "--abbrev=64", commit, "--", FOLDER];
    let answer = commits::fed(project, &args, String::new()).unwrap_or_default();
    let answer = String::from_utf8_lossy(&answer);
    let mut parts = answer.split('\0');
    let mut changed = Changed::new();
    // `:mode mode object object status`, then the path.
    while let (Some(about), Some(path)) = (parts.next(), parts.next()) {
        let before = about.split(' ').nth(2).filter(|object| object.bytes().any(|byte| byte != b'0'));
        let inside = path.strip_prefix(FOLDER).and_then(|rest| rest.strip_prefix('/'));
        if let Some(inside) = inside.filter(|inside| RecordKind::of(inside).is_some()) {
            changed.insert(inside.to_owned(), before.map(str::to_owned));
        }
    }
    changed
}

fn differences(project: &Path, changed: &Changed) -> Result<Vec<Difference>, StoreError> {
    let known: Vec<(&String, &String)> = changed.iter().filter_map(|(path, object)| Some((path, object.as_ref()?))).collect();
    if known.is_empty() {
        return Ok(Vec::new());
    }
    let blobs = commits::objects(project, known.iter().map(|(_, object)| object.as_str()));
    let before = known.iter().filter_map(|(path, object)| Some((*path, blobs.get(object.as_str())?)));
    let before: Vec<TreeFile<'_>> = before.map(|(path, bytes)| TreeFile { path, bytes }).collect();
    let mut now = Vec::new();
    for path in changed.keys() {
        now.extend(read(project, path)?.map(|bytes| (path, bytes)));
    }
    let after: Vec<TreeFile<'_>> = now.iter().map(|(path, bytes)| TreeFile { path, bytes }).collect();
    let is_there = |path: &str| disk::is_inside(project, &format!("{FOLDER}/{path}"));
    Ok(compare_changed(&before, &after, &is_there))
}

fn read(project: &Path, path: &str) -> Result<Option<Vec<u8>>, StoreError> {
    match disk::read_inside(project, &format!("{FOLDER}/{path}"), FILE_BYTES) {
        // A link or a folder in its place is no record.
        Err(StoreError::Unsafe { .. }) => Ok(None),
        read => read,
    }
}
