//! The knowledge verbs of the engine: the file comes from the store, a room does
//! the work, and what is written goes back through the store.

use schemars::JsonSchema;
use serde::Serialize;
use twining_model::Scope;
use twining_model::knowledge::DEFAULT_GRAPH;

use super::check::{self, KnowledgeCheckInput, KnowledgeCheckOutcome};
use crate::engine::Engine;
use crate::failure::Failure;

/// What became of a request for a first graph.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct KnowledgeCreated {
    /// Which file, relative to the project.
    pub file: String,
    /// Whether it was made; one that is there is never touched.
    pub created: bool,
}

impl Engine {
    /// Says what is wrong with the knowledge graph, or with another DOT file of the project.
    pub fn knowledge_check(&self, input: &KnowledgeCheckInput) -> Result<KnowledgeCheckOutcome, Failure> {
        let Some(path) = &input.path else {
            let file = self.store().knowledge()?;
            return Ok(check::check(file.path, file.bytes.as_deref(), file.passed_over.as_deref()));
        };
        let path = Scope::parse("path", path, self.store().root())?;
        let file = self.store().dot_file(path.as_str())?;
        match file.bytes {
            Some(bytes) => Ok(check::check(file.path, Some(&bytes), None)),
            None => Err(Failure::NotFound { what: "file", id: file.path, hint: "give a path relative to the project".to_owned() }),
        }
    }

    /// Makes a first graph where there is none.
    pub fn create_knowledge(&self) -> Result<KnowledgeCreated, Failure> {
        self.store().replace_knowledge(|file| {
            let created = file.bytes.is_none();
            Ok((created.then(|| DEFAULT_GRAPH.as_bytes().to_vec()), KnowledgeCreated { file: file.path.clone(), created }))
        })
    }
}
