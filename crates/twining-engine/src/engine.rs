//! The engine: one project's memory and what every verb works with. The verbs are
//! in the modules, each concept's in its `api.rs`.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use twining_model::Change;
use twining_store::code::{CodeIndex, CodeVersion};
use twining_store::git::Git;
use twining_store::{Documents, Durability, Store, TextFile, policy_path};

use crate::caller::{Caller, Stamp};
use crate::failure::Failure;
use crate::search::{
    EmbeddingIndex, EmbeddingWorker, LoadModel, LoadedIndex, ModelState, SearchQuery,
};

/// What Twining does with one project's memory.
pub struct Engine {
    store: Arc<Store>,
    embedding_index: Arc<EmbeddingIndex>,
    embedding_worker: Arc<EmbeddingWorker>,
    timeout: Duration,
    by_words_alone: bool,
    has_built_in_model: bool,
    /// The code of the caller's checkout, where there is one.
    code: Option<CodeIndex>,
    /// Which state of it answers are about.
    code_version: CodeVersion,
    /// What modules remember between calls.
    states: ModuleStates,
}

impl Engine {
    /// An engine on a store; without a model it searches by words alone.
    pub(crate) fn on(store: Arc<Store>, model: Option<LoadModel>) -> Self {
        let by_words_alone = model.is_none();
        let embedding_index = Arc::new(EmbeddingIndex::new(
            model.unwrap_or_else(|| Box::new(|| Err("there is no model".to_owned()))),
        ));
        let embedding_worker =
            Arc::new(EmbeddingWorker::new(Arc::clone(&store), Arc::clone(&embedding_index)));
        Self {
            store,
            embedding_index,
            embedding_worker,
            timeout: Duration::ZERO,
            by_words_alone,
            has_built_in_model: false,
            code: None,
            code_version: CodeVersion::Checkout,
            states: ModuleStates::default(),
        }
    }

    /// The same, whose questions wait at most so long for vectors that are being made.
    #[must_use]
    pub fn waiting_for_vectors(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// The same, whose model is part of the program, so that `status` need
    /// not load it.
    #[must_use]
    pub fn with_built_in_model(mut self, is_built_in: bool) -> Self {
        self.has_built_in_model = is_built_in;
        self
    }

    /// The same, for a caller who works in this checkout of the project.
    #[must_use]
    pub fn with_code(mut self, checkout: &Path, git: Git) -> Self {
        self.code = Some(CodeIndex::new(Arc::clone(&self.store), checkout, git));
        self
    }

    /// The same, for questions about the code as a commit has it.
    #[must_use]
    pub fn with_code_of(self, checkout: &Path, git: Git, commit: String) -> Self {
        Self { code_version: CodeVersion::Commit(commit), ..self.with_code(checkout, git) }
    }

    /// Which state of the code answers are about.
    pub(crate) fn code_version(&self) -> &CodeVersion {
        &self.code_version
    }

    /// The code of the caller's checkout; none where there is none, or where the settings say that
    /// no source is read.
    pub(crate) fn code(&self) -> Option<&CodeIndex> {
        let is_read = self.store.config().is_ok_and(|config| config.code.index);
        self.code.as_ref().filter(|_| is_read)
    }

    /// The code of the caller's checkout, also where no source is read: for what git knows of it.
    pub(crate) fn checkout_code(&self) -> Option<&CodeIndex> {
        self.code.as_ref()
    }

    /// What makes the vectors.
    #[must_use]
    pub fn embedding_worker(&self) -> &Arc<EmbeddingWorker> {
        &self.embedding_worker
    }

    /// Whether it can search by meaning. Loads the model.
    pub fn model_state(&self) -> Result<ModelState, Failure> {
        let off = self.by_words_alone || !self.store.config()?.search.embeddings;
        Ok(if off { ModelState::Off } else { self.embedding_index.state() })
    }

    /// The same for a report: a model that is part of the program is taken to be sound, because
    /// loading it costs more memory than a small project's server needs otherwise.
    pub(crate) fn expected_model_state(&self) -> Result<ModelState, Failure> {
        if self.has_built_in_model && !self.by_words_alone && self.store.config()?.search.embeddings
        {
            return Ok(ModelState::Ready);
        }
        self.model_state()
    }

    /// The store it works on.
    #[must_use]
    pub fn store(&self) -> &Arc<Store> {
        &self.store
    }

    /// Replaces the policy by what a plan makes of it, if it makes anything.
    pub(crate) fn change_policy<T>(
        &self,
        mut plan: impl FnMut(&TextFile) -> Result<(Option<String>, T), Failure>,
    ) -> Result<T, Failure> {
        let mut plan = |file: &_| {
            plan(file).map(|(text, outcome)| (Change::of_document(&policy_path(), text), outcome))
        };
        self.store.transact_on(Durability::Strict, Documents::policy, |file| plan(file))
    }

    /// Writes the project's policy unless there is one; whether it did.
    pub fn create_policy(&self, text: &str) -> Result<bool, Failure> {
        self.change_policy(|file| {
            let is_new = *file == TextFile::Missing;
            Ok((is_new.then(|| text.to_owned()), is_new))
        })
    }

    /// Makes a question ready to be compared. Held while it is searched for.
    pub(crate) fn question(&self, text: &str) -> Result<SearchQuery<'_>, Failure> {
        let (known, waiting) = self.loaded_index()?;
        let nearness = known.map(|known| {
            let vector = known.model.embed(text);
            known.to(&vector)
        });
        Ok(SearchQuery::of_query(text, nearness).with_waiting(waiting))
    }

    /// What a question can be compared with, and how many texts have no vector yet.
    pub(crate) fn loaded_index(&self) -> Result<(Option<LoadedIndex<'_>>, u64), Failure> {
        let search = self.store.config()?.search;
        if self.by_words_alone || !search.embeddings {
            return Ok((None, 0));
        }
        let timeout = self.timeout.min(Duration::from_millis(search.wait_ms));
        let waiting = if self.timeout.is_zero() {
            0
        } else {
            self.embedding_worker.wait(timeout).map_or(0, |embedding| embedding.waiting)
        };
        // Vectors that cannot be read leave words to answer; `doctor` says why.
        Ok((self.embedding_index.known(&self.store).unwrap_or_default(), waiting))
    }

    /// How alike texts are to a question, from -1 to 1; nothing where only words
    /// can answer.
    pub(crate) fn likeness(
        &self,
        question: &str,
        texts: &[String],
    ) -> Result<Option<Vec<f64>>, Failure> {
        if self.by_words_alone || !self.store.config()?.search.embeddings {
            return Ok(None);
        }
        Ok(self.embedding_index.likeness(question, texts))
    }

    pub(crate) fn stamp<'a>(&'a self, caller: &'a Caller) -> Stamp<'a> {
        Stamp { at: self.store.ids().now(), ids: self.store.ids(), caller }
    }

    /// What a module remembers between calls.
    pub(crate) fn state<T: Default + Send + Sync + 'static>(&self) -> Arc<T> {
        self.states.get()
    }
}

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
