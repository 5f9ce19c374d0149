//! The working tree whose code is read: only files that git lists, no links followed.

use std::path::{Path, PathBuf};

use crate::disk::{Dir, FileKind, Fingerprint};
use crate::error::StoreError;
use crate::git::Git;

/// The largest file that is read. A larger one is compared by its size alone.
pub(super) const MAX_FILE_BYTES: usize = 16 * 1024 * 1024;

/// A checkout of the project.
#[derive(Debug)]
pub(super) struct CheckoutFiles {
    folder: PathBuf,
    git: Git,
}

impl CheckoutFiles {
    pub(super) fn new(folder: &Path, git: Git) -> Self {
        Self { folder: folder.to_owned(), git }
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(super) fn git(&self) -> &Git {
        &self.git
    }

    /// What it is called in the index.
    pub(super) fn name(&self) -> String {
        self.folder.to_string_lossy().into_owned()
    }

    /// The state of a regular file; none where there is none.
    pub(super) fn fingerprint(&self, path: &str) -> Result<Option<Fingerprint>, StoreError> {
        let Some((dir, name)) = self.parent(path)? else { return Ok(None) };
        Ok(dir
            .stat(name)?
            .filter(|(kind, _)| *kind == FileKind::File)
            .map(|(_, fingerprint)| fingerprint))
    }

    /// A regular file's bytes with its state; none where there is none, or where it is too large.
    pub(super) fn read(&self, path: &str) -> Result<Option<(Fingerprint, Vec<u8>)>, StoreError> {
        let Some((dir, name)) = self.parent(path)? else { return Ok(None) };
        match dir.read_with_fingerprint(name, MAX_FILE_BYTES) {
            Err(StoreError::Unsafe { .. } | StoreError::TooLarge { .. }) => Ok(None),
            read => read,
        }
    }

    /// The folder a file is in. A link on the way is not followed.
    fn parent<'p>(&self, path: &'p str) -> Result<Option<(Dir, &'p str)>, StoreError> {
        let (folders, name) = path.rsplit_once('/').unwrap_or(("", path));
        let is_plain = |part: &str| !part.is_empty() && part != "." && part != "..";
        if !is_plain(name) || !folders.split('/').all(|part| folders.is_empty() || is_plain(part)) {
            return Ok(None);
        }
        let mut dir = Dir::project(&self.folder, None)?;
        for folder in folders.split('/').filter(|folder| !folder.is_empty()) {
            match dir.open_dir(folder) {
                Ok(Some(inner)) => dir = inner,
                Ok(None) | Err(StoreError::Unsafe { .. }) => return Ok(None),
                Err(error) => return Err(error),
            }
        }
        Ok(Some((dir, name)))
    }
}
