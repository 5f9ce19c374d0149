//! Where the embedding model comes from: the program itself, or a file that the
//! user names. Never from a repository.

use std::ffi::OsString;
use std::sync::{Arc, OnceLock};

use twining_embed::Model;

/// Names the model file to use instead of the one in the program.
pub(crate) const VARIABLE: &str = "TWINING_MODEL";

/// The model, loaded once. Nothing calls this before a search needs it.
pub(crate) fn load() -> Result<Arc<Model>, String> {
    static LOADED: OnceLock<Result<Arc<Model>, String>> = OnceLock::new();
    LOADED.get_or_init(|| read().map(Arc::new)).clone()
}

/// Whether it is the one in the program, which needs no check before it is used.
pub(crate) fn is_built_in() -> bool {
    cfg!(feature = "weights") && named_file().is_none()
}

fn named_file() -> Option<OsString> {
    std::env::var_os(VARIABLE).filter(|path| !path.is_empty())
}

fn read() -> Result<Model, String> {
    match named_file() {
        Some(path) => {
            let shown = path.to_string_lossy().into_owned();
            let bytes = std::fs::read(&path).map_err(|error| {
                format!("`{shown}`, which {VARIABLE} names, cannot be read: {error}")
            })?;
            Model::from_bytes(bytes).map_err(|damaged| {
                format!("`{shown}`, which {VARIABLE} names, is not a usable model: {damaged}")
            })
        }
        None => built_in(),
    }
}

#[cfg(feature = "weights")]
fn built_in() -> Result<Model, String> {
    Model::built_in().map_err(|damaged| format!("the model in this program is damaged: {damaged}"))
}

#[cfg(not(feature = "weights"))]
fn built_in() -> Result<Model, String> {
    Err(format!("this program was built without a model; {VARIABLE} can name a model file"))
}
