//! The model, loaded when first asked and never before.

use std::sync::{Arc, OnceLock};

use twining_embed::Model;

/// Where the model comes from, which all projects of a process share. Called at
/// most once for each, off every start-up path.
pub type LoadModel = Box<dyn Fn() -> Result<Arc<Model>, String> + Send + Sync>;

/// Whether texts can be turned into vectors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ModelState {
    /// Yes.
    Ready,
    /// No, and why.
    Unusable(String),
    /// It is not wanted.
    Off,
}

/// A model that is loaded at the first question.
pub(super) struct LazyModel {
    load: LoadModel,
    loaded: OnceLock<Result<Arc<Model>, String>>,
}

impl LazyModel {
    pub(super) fn new(load: LoadModel) -> Self {
        Self { load, loaded: OnceLock::new() }
    }

    pub(super) fn get(&self) -> Result<&Model, &str> {
        self.loaded.get_or_init(&self.load).as_ref().map(Arc::as_ref).map_err(String::as_str)
    }

    pub(super) fn state(&self) -> ModelState {
        self.get().map_or_else(|why| ModelState::Unusable(why.to_owned()), |_| ModelState::Ready)
    }
}
