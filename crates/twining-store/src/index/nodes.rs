//! Searching the nodes of a knowledge graph by words.
//!
//! The graph is one file that is read whole, so its index is made from it in
//! memory and is never older than the file; nothing of it is on disk.

use std::sync::{Mutex, PoisonError};

use rusqlite::{Connection, params};

use super::schema;
use super::search::{Term, quoted};
use super::words::with_identifier_parts;
use crate::error::StoreError;

/// What a node is found by: id, tag, description, path, example, component.
pub type NodeText<'a> = [&'a str; 6];

const TABLE: &str = "
CREATE VIRTUAL TABLE node_text USING fts5(
    id, tag, description, path, example, component,
    content='', tokenize='porter unicode61 remove_diacritics 2'
);
INSERT INTO node_text(node_text, rank) VALUES('hashsize', 8388608), ('automerge', 0);
";
const INSERT: &str = "INSERT INTO node_text(rowid, id, tag, description, path, example, component) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)";
/// A word in a node's name says more about it than one in its example. Equal
/// ones stand in the order of the file, so that the same question has one answer.
const FIND: &str = "SELECT rowid FROM node_text WHERE node_text MATCH ?1 ORDER BY bm25(node_text, 4.0, 3.0, 1.0, 2.0, 1.0, 2.0), rowid";

/// An index over the nodes of one graph.
#[derive(Debug)]
pub struct NodeIndex(Mutex<Connection>);

impl NodeIndex {
    /// Makes an index of these nodes, each under a number of the caller's.
    pub fn of<'a>(nodes: impl Iterator<Item = (usize, NodeText<'a>)>) -> Result<Self, StoreError> {
        let conn = schema::open_in_memory()?;
        conn.execute_batch(TABLE)?;
        conn.execute_batch("BEGIN")?;
        let mut insert = conn.prepare(INSERT)?;
        for (number, text) in nodes {
            let [id, tag, description, path, example, component] = text.map(with_identifier_parts);
            insert.execute(params![i64::try_from(number).unwrap_or(i64::MAX), id, tag, description, path, example, component])?;
        }
        drop(insert);
        conn.execute_batch("COMMIT")?;
        Ok(Self(Mutex::new(conn)))
    }

    /// The nodes with any of these words that are wanted, best first, at most so many.
    pub fn find(&self, terms: &[Term], limit: usize, wanted: impl Fn(usize) -> bool) -> Result<Vec<usize>, StoreError> {
        if terms.is_empty() || limit == 0 {
            return Ok(Vec::new());
        }
        let asked = terms.iter().map(|term| quoted(&term.text)).collect::<Vec<_>>().join(" OR ");
        let conn = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut statement = conn.prepare_cached(FIND)?;
        let mut rows = statement.query([asked])?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            let number = usize::try_from(row.get::<_, i64>(0)?).unwrap_or_default();
            if wanted(number) {
                found.push(number);
                if found.len() == limit {
                    break;
                }
            }
        }
        Ok(found)
    }
}
