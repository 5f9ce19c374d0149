//! How files are in a working tree, by their bytes.

use std::path::Path;

use twining_model::{InvalidInput, ProjectRoot, Scope, Time, limits};
use twining_store::{StoreError, disk};

use crate::failure::Failure;
use crate::workflow::evidence::{FileState, FileStates};

/// How the paths of a feature are now.
pub fn file_states(checkout: &Path, paths: &[String]) -> Result<FileStates, Failure> {
    let states = paths.iter().take(limits::LIST).map(|path| Ok((path.clone(), state_of(checkout, path)?)));
    states.collect()
}

fn state_of(checkout: &Path, path: &str) -> Result<Option<FileState>, Failure> {
    // Of a pattern, the folder it looks in.
    let plain = path.find(['*', '?', '[', '{']).map_or(path, |at| path[..at].rfind('/').map_or("", |slash| &path[..slash]));
    let inside = match plain {
        "" => ".".to_owned(),
        plain => Scope::parse("files", plain, &ProjectRoot::new([checkout])).map(|scope| scope.to_string()).unwrap_or_default(),
    };
    if inside.is_empty() {
        return Ok(None);
    }
    match disk::state_inside(checkout, &inside, limits::FEATURE_FILES, limits::EVIDENCE_BYTES) {
        Ok(state) => Ok(state.map(|state| FileState { modified: time_of(state.mtime_ns), hash: format!("{:032x}", state.hash) })),
        Err(StoreError::Unsafe { .. }) => Ok(None),
        Err(StoreError::Damaged { what }) => Err(InvalidInput::new("files", "cannot be compared").because(what).into()),
        Err(error) => Err(error.into()),
    }
}

/// Whether something is at a path.
pub(crate) fn is_there(base: &Path, path: &str) -> bool {
    !matches!(disk::state_inside(base, path, 1, 0), Ok(None))
}

/// When a file was last written; none where it is not there.
pub(crate) fn written_at(base: &Path, path: &str) -> Option<Time> {
    disk::state_inside(base, path, 1, 0).ok().flatten().map(|state| time_of(state.mtime_ns))
}

fn time_of(ns: i64) -> Time {
    Time::from_ms(ns.div_euclid(1_000_000))
}
