//! The feature list and what the loop remembers of runs.
//!
//! The list is `.twining/features.json`, or one of another tool that was there first
//! and is used in place: in `.claude/progress/`, or at the root. A plan sees the list as it is under
//! the write lock, so two agents that report at once both get their say. What the
//! list means is not this crate's business.

use twining_model::limits;

use super::mend;
use super::open::Store;
use super::traces::{nook, nook_if_there};
use crate::disk::layout::{FEATURES, FOLDER, Layout};
use crate::disk::{Dir, Handle};
use crate::error::StoreError;
use crate::merge::has_markers;

/// Where other tools keep their list, the likeliest first.
const ELSEWHERE: [Elsewhere; 4] = [
    Elsewhere { folders: &[".claude", "progress"], file: "feature-list.json" },
    Elsewhere { folders: &[".claude", "progress"], file: "feature_list.json" },
    Elsewhere { folders: &[], file: "feature-list.json" },
    Elsewhere { folders: &[], file: "feature_list.json" },
];
/// Runs and reports, one JSON line each; of this machine only, so they lie in the
/// folder that no clone can bring.
const RUNS: &str = "runs.jsonl";

struct Elsewhere {
    folders: &'static [&'static str],
    file: &'static str,
}

impl Elsewhere {
    fn path(&self) -> String {
        self.folders.iter().chain([&self.file]).copied().collect::<Vec<_>>().join("/")
    }

    fn dir(&self, project: &Dir) -> Result<Option<Dir>, StoreError> {
        let mut dir = project.clone();
        for name in self.folders {
            match dir.open_dir(name)? {
                Some(inner) => dir = inner,
                None => return Ok(None),
            }
        }
        Ok(Some(dir))
    }

    fn read(&self, project: &Dir) -> Result<FeatureFile, StoreError> {
        match self.dir(project) {
            Ok(Some(dir)) => read(&dir, self.file),
            // A link in another tool's folder is that tool's business; we follow none and write through none.
            Ok(None) | Err(StoreError::Unsafe { .. }) => Ok(FeatureFile::Missing),
            Err(error) => Err(error),
        }
    }
}

/// What stands in the feature list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FeatureFile {
    /// There is none.
    Missing,
    /// Its text.
    Text(String),
    /// It is there and cannot be used, for this reason.
    Unusable(String),
}

/// The list and the memory of runs, as they are now.
#[derive(Clone, Debug)]
pub struct FeatureShelf {
    /// Where the list is, or would be, relative to the project.
    pub path: String,
    /// The list.
    pub file: FeatureFile,
    /// Whether git left both sides of a merge in the file, and this is what they are together.
    pub joined: bool,
    /// A second list that is not used.
    pub unused: Option<String>,
    /// Lines about runs, oldest first.
    pub runs: String,
}

impl Store {
    /// Reads the list, without the lock.
    pub fn features(&self) -> Result<FeatureShelf, StoreError> {
        let room = self.reading_room()?;
        self.feature_shelf(room.as_ref().map(|room| &room.layout))
    }

    /// Lines about runs, oldest first, without the list.
    pub fn runs(&self) -> Result<String, StoreError> {
        let room = self.reading_room()?;
        room.map_or(Ok(String::new()), |room| remembered(&room.layout))
    }

    /// Waits until whoever writes now has written.
    pub fn after_writers(&self) -> Result<(), StoreError> {
        let room = self.writing_room()?;
        drop(room.lock.take()?);
        Ok(())
    }

    fn feature_shelf(&self, layout: Option<&Layout>) -> Result<FeatureShelf, StoreError> {
        let own = layout.map_or(Ok(FeatureFile::Missing), |layout| read(&layout.top, FEATURES))?;
        let project = Dir::project(&self.place().project, None)?;
        let mut others = Vec::new();
        for place in &ELSEWHERE {
            match place.read(&project)? {
                FeatureFile::Missing => {}
                file => others.push((place.path(), file)),
            }
        }
        let runs = layout.map_or(Ok(String::new()), remembered)?;
        let mut others = others.into_iter();
        let (path, file) = match own {
            FeatureFile::Missing => others.next().unwrap_or((own_path(), FeatureFile::Missing)),
            own => (own_path(), own),
        };
        let (file, joined) = self.joined(&path, file);
        Ok(FeatureShelf { path, file, joined, unused: others.next().map(|(path, _)| path), runs })
    }
}

impl Store {
    /// The list as one, where git left both sides of a merge in it.
    fn joined(&self, path: &str, file: FeatureFile) -> (FeatureFile, bool) {
        let left = match &file {
            FeatureFile::Text(text) if has_markers(text.as_bytes()) => text,
            _ => return (file, false),
        };
        let joining = self.joiners.get().map(|joiners| &joiners.features);
        let whole = joining.and_then(|joining| mend::one(&self.place().project, path, left.as_bytes(), joining));
        match whole.and_then(|whole| String::from_utf8(whole).ok()) {
            Some(whole) => (FeatureFile::Text(whole), true),
            None => (file, false),
        }
    }
}

/// Where a feature list may be, relative to the project, the likeliest first.
#[must_use]
pub fn feature_list_paths() -> Vec<String> {
    std::iter::once(own_path()).chain(ELSEWHERE.iter().map(Elsewhere::path)).collect()
}

fn own_path() -> String {
    format!("{FOLDER}/{FEATURES}")
}

fn read(dir: &Dir, name: &str) -> Result<FeatureFile, StoreError> {
    let handle = match dir.open(name) {
        Ok(Some(handle)) => handle,
        Ok(None) => return Ok(FeatureFile::Missing),
        Err(error @ StoreError::Unsafe { .. }) => return Ok(FeatureFile::Unusable(error.to_string())),
        Err(error) => return Err(error),
    };
    match handle.read_all(limits::FEATURES_BYTES) {
        Ok(bytes) => Ok(String::from_utf8(bytes).map_or_else(|_| FeatureFile::Unusable("it is not UTF-8".to_owned()), FeatureFile::Text)),
        Err(StoreError::Damaged { what }) => Ok(FeatureFile::Unusable(what)),
        Err(error) => Err(error),
    }
}

/// The newest lines about runs, as many as are kept.
pub(crate) fn remembered(layout: &Layout) -> Result<String, StoreError> {
    let Some(handle) = nook_if_there(layout)?.map(|nook| nook.open(RUNS)).transpose()?.flatten() else { return Ok(String::new()) };
    let size = handle.fingerprint()?.size;
    let from = size.saturating_sub(limits::RUNS_BYTES as u64);
    let mut bytes = vec![0; limits::RUNS_BYTES.min(usize::try_from(size).unwrap_or(limits::RUNS_BYTES))];
    let read = handle.read_at(&mut bytes, from)?;
    bytes.truncate(read);
    let text = String::from_utf8_lossy(&bytes);
    // A killed writer leaves a torn line, and the oldest one may begin before what is read.
    let whole = text.lines().filter(|line| line.starts_with('{') && line.ends_with('}'));
    Ok(whole.map(|line| format!("{line}\n")).collect())
}

/// The file of lines about runs.
pub(crate) fn runs_file(layout: &Layout) -> Result<Handle, StoreError> {
    nook(layout)?.make_append(RUNS)
}

pub(crate) fn remember(layout: &Layout, lines: &[String]) -> Result<(), StoreError> {
    if lines.is_empty() {
        return Ok(());
    }
    let added: String = lines.iter().map(|line| format!("{line}\n")).collect();
    if added.len() > limits::RUN_BYTES {
        return Err(StoreError::TooLarge { bytes: added.len(), most: limits::RUN_BYTES });
    }
    let nook = nook(layout)?;
    let handle = nook.make_append(RUNS)?;
    let size = handle.fingerprint()?.size;
    if size + added.len() as u64 <= limits::RUNS_BYTES as u64 {
        let mut last = [b'\n'];
        // Whoever was killed in the middle of a line must not take ours with it.
        let torn = size > 0 && handle.read_at(&mut last, size - 1)? == 1 && last != *b"\n";
        return handle.write(format!("{}{added}", if torn { "\n" } else { "" }).as_bytes());
    }
    let kept = remembered(layout)?;
    let half = kept.len().saturating_sub(limits::RUNS_BYTES / 2);
    let newest = kept.as_bytes()[half..].iter().position(|&byte| byte == b'\n').map_or("", |at| &kept[half + at + 1..]);
    layout.replace(&nook, RUNS, format!("{newest}{added}").as_bytes(), false)
}
