//! What texts mean: every vector in one matrix, and how near each is to a question.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use twining_embed::{Matrix, Model, PackedVector, Vector};
use twining_store::{Store, StoreError, VectorBytes, VectorCursor, VectorReadOutcome, vector_key};

/// Vectors of passing texts that are kept at most.
const MOST_PASSING: usize = 4096;

/// The vectors of a project's texts, and the model that makes them.
pub struct EmbeddingIndex {
    pub(super) model: LazyModel,
    /// Shared by searches; exclusive for writers.
    table: RwLock<VectorTable>,
    /// Vectors that are kept while the process lives.
    passing: Mutex<HashMap<u64, Vector>>,
}

/// The vectors that were read, by the names of their texts.
#[derive(Default)]
struct VectorTable {
    matrix: Matrix,
    rows: HashMap<u64, usize>,
    names: Vec<u64>,
    cursor: VectorCursor,
    /// How often the file was another than the one before.
    edition: u64,
}

/// Every text that has a vector. Held for one search.
pub(crate) struct LoadedIndex<'m> {
    table: RwLockReadGuard<'m, VectorTable>,
    pub(crate) model: &'m Model,
}

/// How near every known text is to a question.
pub(crate) struct Similarities<'m> {
    table: RwLockReadGuard<'m, VectorTable>,
    scores: Vec<f32>,
    best: f32,
}

impl EmbeddingIndex {
    /// Nothing known yet; the model is loaded when first needed.
    #[must_use]
    pub fn new(load: LoadModel) -> Self {
        Self { model: LazyModel::new(load), table: RwLock::default(), passing: Mutex::default() }
    }

    /// Whether texts can be turned into vectors.
    #[must_use]
    pub fn state(&self) -> ModelState {
        self.model.state()
    }

    /// Every known text, to compare a question with; nothing if there is no model,
    /// or no vector yet. Taken before the index is looked at, never after.
    pub(crate) fn known(&self, store: &Store) -> Result<Option<LoadedIndex<'_>>, StoreError> {
        let Ok(model) = self.model.get() else { return Ok(None) };
        let table = self.table(store, model)?;
        Ok((!table.matrix.is_empty()).then_some(LoadedIndex { table, model }))
    }

    /// How alike a few texts are to a question, made as they are needed: for texts
    /// that have no vectors in the file.
    pub(crate) fn likeness(&self, question: &str, texts: &[String]) -> Option<Vec<f64>> {
        let model = self.model.get().ok()?;
        let asked = model.embed(question);
        let mut known = self.passing.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() + texts.len() > MOST_PASSING {
            known.clear();
        }
        let likeness = texts.iter().map(|text| {
            let vector = known.entry(vector_key(text)).or_insert_with(|| model.embed(text));
            f64::from(asked.dot(vector))
        });
        Some(likeness.collect())
    }

    /// Which of these names have no vector yet.
    pub(super) fn unknown(
        &self,
        store: &Store,
        names: impl IntoIterator<Item = u64>,
    ) -> Result<Vec<u64>, StoreError> {
        let Ok(model) = self.model.get() else { return Ok(Vec::new()) };
        let table = self.table(store, model)?;
        Ok(names.into_iter().filter(|name| !table.rows.contains_key(name)).collect())
    }

    /// Which file of vectors this is, of those there were one after the other.
    pub(super) fn edition(&self, store: &Store) -> Result<u64, StoreError> {
        let Ok(model) = self.model.get() else { return Ok(0) };
        let table = self.table(store, model)?;
        Ok(table.edition)
    }

    /// Keeps new vectors, in the file and here.
    pub(super) fn add(&self, store: &Store, vectors: &[(u64, Vector)]) -> Result<(), StoreError> {
        let Ok(model) = self.model.get() else { return Ok(()) };
        let rows: Vec<(u64, VectorBytes)> =
            vectors.iter().map(|(name, vector)| (*name, vector.pack().to_bytes())).collect();
        store.vectors(model.identity(), |file| file.append(&rows))?;
        self.table_alone().read_on(store, model.identity())
    }

    /// The vectors, up to the end of their file.
    fn table(
        &self,
        store: &Store,
        model: &Model,
    ) -> Result<RwLockReadGuard<'_, VectorTable>, StoreError> {
        let table = self.table.read().unwrap_or_else(PoisonError::into_inner);
        if store.vectors(model.identity(), |file| file.is_read(&table.cursor))?.unwrap_or(true) {
            return Ok(table);
        }
        drop(table);
        self.table_alone().read_on(store, model.identity())?;
        Ok(self.table.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn table_alone(&self) -> RwLockWriteGuard<'_, VectorTable> {
        self.table.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl VectorTable {
    fn read_on(&mut self, store: &Store, model: u64) -> Result<(), StoreError> {
        // Twice at most: a file that was replaced is read from its start.
        for _ in 0..2 {
            let mut cursor = self.cursor;
            let read = store.vectors(model, |file| {
                file.read_new(&mut cursor, &mut |name, bytes| self.put(name, bytes))
            })?;
            self.cursor = cursor;
            match read {
                Some(VectorReadOutcome::Replaced) => {
                    *self = Self { cursor, edition: self.edition + 1, ..Self::default() }
                }
                Some(VectorReadOutcome::Done) | None => return Ok(()),
            }
        }
        Ok(())
    }

    fn put(&mut self, name: u64, bytes: &VectorBytes) {
        if let Some(packed) = PackedVector::from_bytes(bytes)
            && !self.rows.contains_key(&name)
        {
            self.rows.insert(name, self.matrix.push(&packed));
            self.names.push(name);
        }
    }
}

impl VectorTable {
    fn alike(&self, one: u64, other: u64) -> Option<f64> {
        let (one, other) = (self.rows.get(&one)?, self.rows.get(&other)?);
        self.matrix.similarity(*one, *other).map(f64::from)
    }
}

impl<'m> LoadedIndex<'m> {
    /// How near each is to this.
    pub(crate) fn to(self, question: &Vector) -> Similarities<'m> {
        let scores = self.table.matrix.scores(question);
        let best = scores.iter().copied().fold(0.0, f32::max);
        Similarities { table: self.table, scores, best }
    }

    /// How alike two texts are, from -1 to 1; nothing if one has no vector.
    pub(crate) fn alike(&self, one: u64, other: u64) -> Option<f64> {
        self.table.alike(one, other)
    }
}

impl Similarities<'_> {
    /// How near the text of this name is, from -1 to 1; nothing if it has no vector.
    pub(crate) fn of(&self, name: u64) -> Option<f64> {
        self.table.rows.get(&name).map(|row| f64::from(self.scores[*row]))
    }

    /// How near the nearest text is, at least 0.
    pub(crate) fn best(&self) -> f64 {
        f64::from(self.best)
    }

    /// The names of the nearest texts, nearest first, at most so many.
    pub(crate) fn nearest(&self, most: usize) -> Vec<u64> {
        let mut rows: Vec<usize> = (0..self.scores.len()).collect();
        let nearer =
            |a: &usize, b: &usize| self.scores[*b].total_cmp(&self.scores[*a]).then(a.cmp(b));
        if rows.len() > most {
            rows.select_nth_unstable_by(most, nearer);
            rows.truncate(most);
        }
        rows.sort_unstable_by(nearer);
        rows.into_iter().map(|row| self.table.names[row]).collect()
    }

    /// How alike two texts are, from -1 to 1; nothing if one has no vector.
    pub(crate) fn alike(&self, one: u64, other: u64) -> Option<f64> {
        self.table.alike(one, other)
    }
}

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
