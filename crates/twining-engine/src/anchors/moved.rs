//! Looking for code that is no longer at its place, off the answer's path.

use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use twining_model::{Anchor, Place};
use twining_store::code::{CodeIndex, DefinitionSearch, MovedTo, SeenDefinition as SeenInCommit};

use crate::anchors::freshness::seen_definition;
use crate::engine::Engine;
use crate::failure::Failure;

/// Searches that wait; the oldest are forgotten.
const MAX_WAITING: usize = 256;

/// Anchors to look for, the newest asked for last.
#[derive(Default)]
pub(crate) struct SearchQueue(Mutex<Vec<Anchor>>);

impl SearchQueue {
    pub(crate) fn add(&self, anchors: Vec<Anchor>) {
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for anchor in anchors {
            waiting.retain(|known| known.id != anchor.id);
            waiting.push(anchor);
        }
        let surplus = waiting.len().saturating_sub(MAX_WAITING);
        waiting.drain(..surplus);
    }

    fn next(&self) -> Option<Anchor> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).pop()
    }
}

impl Engine {
    /// Looks for code that answers found missing, until this moment; how many were looked for.
    pub fn search_moved_code(&self, until: Instant) -> Result<usize, Failure> {
        let Some(code) = self.code() else { return Ok(0) };
        let queue = self.state::<SearchQueue>();
        let mut searched = 0;
        while Instant::now() < until
            && let Some(anchor) = queue.next()
        {
            search(code, &anchor)?;
            searched += 1;
        }
        Ok(searched)
    }
}

/// Looks for one anchor's definition, and keeps what was found for this HEAD.
pub(crate) fn search(code: &CodeIndex, anchor: &Anchor) -> Result<DefinitionSearch, Failure> {
    let (Some(commit), Some(definition)) =
        (anchor.seen.commit.clone(), seen_definition(code, anchor)?)
    else {
        return Ok(DefinitionSearch::Unknown);
    };
    let seen = SeenInCommit { path: anchor.at.path().to_owned(), definition, commit };
    let found = code.find_moved(&seen)?;
    let moved = match &found {
        DefinitionSearch::Found { path, name, nth, commit } => {
            let place = if name.is_empty() {
                Place::file(path)
            } else {
                Place::definition(path, name, *nth)
            };
            let place = place.ok().map(|place| place.to_string());
            Some(MovedTo { place, commit: commit.clone() })
        }
        DefinitionSearch::Nowhere { commit } => {
            Some(MovedTo { place: None, commit: commit.clone() })
        }
        DefinitionSearch::Unknown => None,
    };
    if let (Some(moved), Some(head)) = (moved, code.git().head()) {
        code.set_moved(&anchor.id, &head, &moved)?;
    }
    Ok(found)
}
