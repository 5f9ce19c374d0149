//! The graph as it was last read, with its index; both as old as the file and
//! no older.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use twining_store::{KnowledgeFile, NodeIndex, Store, StoreError};

use super::file::KnowledgeGraph;
use super::merge::{merged_markers, unresolved_merge};

/// Keeps the last graph that was read. A server answers from it for as long as
/// the file says the same: it is read each time, since its time and size alone
/// can miss an edit, and taken apart only when its content is another.
#[derive(Debug, Default)]
pub(crate) struct KnowledgeCache(Mutex<Option<Arc<CachedGraph>>>);

/// A graph, and the index over it once somebody searched.
#[derive(Debug)]
pub(crate) struct CachedGraph {
    digest: u128,
    size: usize,
    pub(super) known: KnowledgeGraph,
    index: OnceLock<NodeIndex>,
}

impl KnowledgeCache {
    /// The graph as the file has it now; an empty one if there is no file.
    pub(super) fn current(&self, store: &Store) -> Result<Arc<CachedGraph>, StoreError> {
        Ok(self.of(&store.documents().knowledge()?))
    }

    /// The graph of a file that was just read.
    pub(super) fn of(&self, file: &KnowledgeFile) -> Arc<CachedGraph> {
        let bytes = file.bytes.as_deref().unwrap_or_default();
        let (digest, size) = (file.digest(), bytes.len());
        let mut slot = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(cached) = slot.as_ref()
            && (cached.digest, cached.size) == (digest, size)
        {
            return Arc::clone(cached);
        }
        let known = read(bytes, &file.path);
        let cached = Arc::new(CachedGraph { digest, size, known, index: OnceLock::new() });
        *slot = Some(Arc::clone(&cached));
        cached
    }
}

/// The graph of a file. What git left between markers is read as the driver would have
/// merged it; what only people can settle is an error, and ours stands until then.
fn read(bytes: &[u8], path: &str) -> KnowledgeGraph {
    if let Some(merged) = merged_markers(bytes) {
        return KnowledgeGraph::read(&merged);
    }
    let Some(unresolved_merge) = unresolved_merge(bytes, path) else { return KnowledgeGraph::read(bytes) };
    let mut known = KnowledgeGraph::read(&unresolved_merge.text);
    known.errors.extend(unresolved_merge.clashes);
    known
}

impl CachedGraph {
    /// The index, made when it is first asked for.
    pub(super) fn index(&self) -> Result<&NodeIndex, StoreError> {
        if let Some(index) = self.index.get() {
            return Ok(index);
        }
        let texts = self.known.nodes().map(|node| {
            let text = ["id", "tag", "description", "path", "example", "component"];
            (node.position, text.map(|field| if field == "id" { node.id() } else { node.field(field) }))
        });
        let index = NodeIndex::of(texts)?;
        Ok(self.index.get_or_init(|| index))
    }
}
