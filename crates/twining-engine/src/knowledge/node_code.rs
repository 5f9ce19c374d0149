//! The code that nodes name by their `path`, bound when the graph is updated.

use std::time::Instant;

use twining_model::{AnchorRole, AnchoredRecord, Scope};

use super::graph::{KnowledgeGraph, KnowledgeNode};
use super::retrieve::RetrieveOutcome;
use super::update::{self, Operation};
use crate::anchors::{CAPTURE_TIME, GivenPlace, NamedCode, Rebinding};
use crate::engine::Engine;
use crate::failure::Failure;

impl Engine {
    /// Looks up the code of the nodes that operations add, change or remove. Operations that
    /// cannot be carried out bind nothing.
    pub(super) fn rebind_nodes(&self, operations: &[Operation]) -> Result<Vec<Rebinding>, Failure> {
        if self.code().is_none() {
            return Ok(Vec::new());
        }
        let file = self.store().documents().knowledge()?;
        let Ok((bytes, updated)) = update::plan(file.bytes.as_deref(), operations) else {
            return Ok(Vec::new());
        };
        let known = KnowledgeGraph::read(&bytes);
        let until = Instant::now() + CAPTURE_TIME;
        let ids = [&updated.nodes_added, &updated.nodes_changed, &updated.nodes_removed];
        let mut ids: Vec<&String> = ids.into_iter().flatten().collect();
        ids.sort_unstable();
        ids.dedup();
        let mut found = Vec::new();
        for id in ids {
            let named = known.node(id).map(|node| self.code_of(node)).unwrap_or_default();
            found.extend(self.rebind(AnchoredRecord::Node(id.clone()), &named, until)?);
        }
        Ok(found)
    }

    /// Says of each node whose code is in doubt how that is.
    pub(super) fn label_nodes(&self, found: &mut RetrieveOutcome) -> Result<(), Failure> {
        let ids = found.hits.iter().chain(&found.neighbors);
        let records: Vec<AnchoredRecord> = ids.cloned().map(AnchoredRecord::Node).collect();
        let notes = self.doubted_code(&records)?.into_iter();
        found.code = notes.map(|(record, note)| (record.id().to_owned(), note)).collect();
        Ok(())
    }

    /// The files and definitions of a node's path. A pattern names no file.
    fn code_of(&self, node: KnowledgeNode<'_>) -> NamedCode {
        let text = ["tag", "description", "example"].map(|field| node.field(field)).join("\n");
        let mut named = NamedCode { text, ..NamedCode::default() };
        for path in node.field("path").split(',').filter(|path| !path.contains(['*', '?', '['])) {
            let place = GivenPlace::read(path);
            if let Ok(file) = Scope::parse("path", place.path, self.store().root()) {
                named.add_file(file.as_str(), AnchorRole::Affected, &place);
            }
        }
        named
    }
}
