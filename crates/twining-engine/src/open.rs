//! An engine on a store: here the store learns from the modules how the files are
//! merged that are theirs.

use std::sync::Arc;

use twining_store::{FileMergers, Store};

use crate::engine::Engine;
use crate::search::LoadModel;
use crate::{knowledge, workflow};

impl Engine {
    /// An engine on a store that searches by words alone.
    #[must_use]
    pub fn new(store: impl Into<Arc<Store>>) -> Self {
        Self::on(joined(store.into()), None)
    }

    /// An engine on a store that searches by meaning too, as far as there are
    /// vectors. The model is loaded when the first question is asked.
    #[must_use]
    pub fn with_model(store: impl Into<Arc<Store>>, load: LoadModel) -> Self {
        Self::on(joined(store.into()), Some(load))
    }
}

fn joined(store: Arc<Store>) -> Arc<Store> {
    store.set_mergers(FileMergers { features: workflow::LIST, knowledge: knowledge::GRAPH });
    store
}
