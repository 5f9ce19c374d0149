//! What a module remembers between calls, in a type of its own: the engine keeps it
//! and need not know what it is.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// One value of each type, made when it is first asked for.
#[derive(Default)]
pub(crate) struct ModuleStates(Mutex<HashMap<TypeId, Arc<dyn Any + Send + Sync>>>);

impl ModuleStates {
    /// The value of this type.
    pub(crate) fn get<T: Default + Send + Sync + 'static>(&self) -> Arc<T> {
        let mut states = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let state = states.entry(TypeId::of::<T>()).or_insert_with(|| Arc::new(T::default()));
        Arc::clone(state).downcast().expect("a value is kept under its own type")
    }
}
