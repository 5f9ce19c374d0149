//! The feature list and what the loop remembers of runs.
//!
//! The list is `.twining/features.json`, or one of another tool that was there first
//! and is used in place: in `.claude/progress/`, or at the root. A plan sees the list as it is under
//! the write lock, so two agents that report at once both get their say. What the
//! list means is not this crate's business.

use twining_model::{TextFile, limits};

use super::documents::{Documents, read_text};
use super::mend;
use super::traces::machine_dir;
use crate::disk::Dir;
use crate::disk::layout::{FEATURES, FOLDER};
use crate::error::StoreError;
use crate::log::rotating::RotatingFile;
use crate::merge::has_markers;

/// Where other tools keep their list, the likeliest first.
const OTHER_LIST_PATHS: [&str; 4] =
    [".claude/progress/feature-list.json", ".claude/progress/feature_list.json", "feature-list.json", "feature_list.json"];
/// Runs and reports, one JSON line each; of this machine only, so they lie in the
/// folder that no clone can bring.
pub(crate) const RUNS: RotatingFile = RotatingFile { name: "runs.jsonl", previous: "runs.old.jsonl", max_bytes: FULL as u64 };
/// Two files that are full and have got one more take no more than is kept.
const FULL: usize = limits::RUNS_BYTES / 2 - limits::RUN_BYTES;

/// The list and the memory of runs, as they are now.
#[derive(Clone, Debug)]
pub struct FeatureListFile {
    /// Where the list is, or would be, relative to the project.
    pub path: String,
    /// The list.
    pub file: TextFile,
    /// Whether git left both sides of a merge in the file, and this is what they are together.
    pub is_merged: bool,
    /// A second list that is not used.
    pub unused: Option<String>,
    /// Lines about runs, oldest first.
    pub runs: String,
}

impl Documents<'_> {
    /// Reads the list.
    pub fn features(&self) -> Result<FeatureListFile, StoreError> {
        let project = Dir::project(&self.0.location().project, None)?;
        let mut found = Vec::new();
        for path in feature_list_paths() {
            let file = read_list(&project, &path)?;
            found.extend((file != TextFile::Missing).then_some((path, file)));
        }
        let mut found = found.into_iter();
        let (path, file) = found.next().unwrap_or((own_path(), TextFile::Missing));
        let (file, is_merged) = self.is_merged(&path, file);
        Ok(FeatureListFile { path, file, is_merged, unused: found.next().map(|(path, _)| path), runs: self.runs()? })
    }

    /// The newest lines about runs, as many as are kept, oldest first.
    pub fn runs(&self) -> Result<String, StoreError> {
        let Some(store) = self.0.open_for_reading()? else { return Ok(String::new()) };
        let bytes = RUNS.read(&machine_dir(&store.layout)?)?;
        // A killed writer leaves a torn line.
        let whole = String::from_utf8_lossy(&bytes);
        Ok(whole.lines().filter(|line| line.starts_with('{') && line.ends_with('}')).map(|line| format!("{line}\n")).collect())
    }

    /// The list as one, where git left both sides of a merge in it.
    fn is_merged(&self, path: &str, file: TextFile) -> (TextFile, bool) {
        let left = match &file {
            TextFile::Text(text) if has_markers(text.as_bytes()) => text,
            _ => return (file, false),
        };
        let joining = self.0.mergers.get().map(|mergers| &mergers.features);
        let whole = joining.and_then(|joining| mend::merge_sides(&self.0.location().project, path, left.as_bytes(), joining));
        match whole.and_then(|whole| String::from_utf8(whole).ok()) {
            Some(whole) => (TextFile::Text(whole), true),
            None => (file, false),
        }
    }
}

/// Where a feature list may be, relative to the project, the likeliest first.
#[must_use]
pub fn feature_list_paths() -> Vec<String> {
    std::iter::once(own_path()).chain(OTHER_LIST_PATHS.map(str::to_owned)).collect()
}

fn own_path() -> String {
    format!("{FOLDER}/{FEATURES}")
}

fn read_list(project: &Dir, path: &str) -> Result<TextFile, StoreError> {
    let (folders, name) = path.rsplit_once('/').unwrap_or(("", path));
    match project.walk(folders.split_terminator('/')) {
        Ok(Some(dir)) => read_text(&dir, name, limits::FEATURES_BYTES),
        // A link in another tool's folder is that tool's business; we follow none and write through none.
        Ok(None) | Err(StoreError::Unsafe { .. }) => Ok(TextFile::Missing),
        Err(error) => Err(error),
    }
}
