//! Looking for code that is no longer at its place, off the answer's path.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use twining_model::{Anchor, AnchoredRecord, Place};
use twining_store::View;
use twining_store::code::{
    CodeIndex, DefinitionSearch, MAX_SEARCH_TIME, MovedTo, SeenDefinition as SeenInCommit,
};

use crate::anchors::assumed::renew_assumed;
use crate::anchors::freshness::{CodeNotes, CodeState, Judging, note, seen_definition};
use crate::engine::Engine;
use crate::failure::Failure;

/// Searches that wait; the oldest are forgotten.
const MAX_WAITING: usize = 256;

/// What to look for, the newest asked for last: anchors, and records that have none.
#[derive(Default)]
pub(crate) struct SearchQueue {
    anchors: Mutex<Vec<Anchor>>,
    records: Mutex<Vec<AnchoredRecord>>,
}

impl SearchQueue {
    pub(crate) fn add(&self, anchors: Vec<Anchor>) {
        add(&self.anchors, anchors, |known, new| known.id == new.id);
    }

    pub(crate) fn add_records(&self, records: Vec<AnchoredRecord>) {
        add(&self.records, records, |known, new| known == new);
    }
}

fn add<T>(queue: &Mutex<Vec<T>>, new: Vec<T>, is_same: impl Fn(&T, &T) -> bool) {
    let mut waiting = queue.lock().unwrap_or_else(PoisonError::into_inner);
    for new in new {
        waiting.retain(|known| !is_same(known, &new));
        waiting.push(new);
    }
    let surplus = waiting.len().saturating_sub(MAX_WAITING);
    waiting.drain(..surplus);
}

fn next<T>(queue: &Mutex<Vec<T>>) -> Option<T> {
    queue.lock().unwrap_or_else(PoisonError::into_inner).pop()
}

impl Engine {
    /// Looks for code that answers found missing, until this moment; how many were looked for.
    pub fn search_moved_code(&self, until: Instant) -> Result<usize, Failure> {
        let Some(code) = self.code() else { return Ok(0) };
        let queue = self.state::<SearchQueue>();
        let mut searched = 0;
        let (mut head, mut tree) = (None, None);
        while Instant::now() < until
            && let Some(record) = next(&queue.records)
        {
            let head = head.get_or_insert_with(|| code.git().head()).clone().unwrap_or_default();
            self.store().view(|view| renew_assumed(code, view, &record, &head))?;
            searched += 1;
        }
        while Instant::now() < until
            && let Some(anchor) = next(&queue.anchors)
        {
            let head = head.get_or_insert_with(|| code.git().head()).clone().unwrap_or_default();
            let tree = tree.get_or_insert_with(|| code.uncommitted_state());
            let known = code.moved(&anchor.id, &head)?;
            if known.is_none_or(|known| known.place.is_some() || known.tree != *tree) {
                search(code, &anchor)?;
                searched += 1;
            }
        }
        code.forget_unused()?;
        Ok(searched)
    }
}

impl Engine {
    /// How the code under these records is now, with what is not at its place looked for, while
    /// there is time; and the content of the file that each note is about.
    pub(crate) fn searched_code(
        &self,
        view: &View<'_>,
        records: &[AnchoredRecord],
        is_time_up: &(dyn Fn() -> bool + Sync),
    ) -> Result<(CodeNotes, HashMap<String, String>), Failure> {
        let (mut notes, mut blobs) = (CodeNotes::new(), HashMap::new());
        let Some(code) = self.code() else { return Ok((notes, blobs)) };
        let judging = Judging::new(code, None);
        for record in records {
            if is_time_up() {
                break;
            }
            let mut judged = judging.record(view, record)?;
            let missing = judged.iter_mut().filter(|anchor| anchor.state == CodeState::Missing);
            for anchor in missing {
                search(code, &anchor.anchor)?;
                *anchor = judging.judge(anchor.anchor.clone())?;
            }
            let Some(note) = note(&judged) else { continue };
            let path = note.at.parse::<Place>().ok().map(|place| place.path().to_owned());
            if let Some(source) = path.map(|path| code.source(&path, None)).transpose()?
                && let Some(source) = source.found()
            {
                blobs.insert(note.at.clone(), source.blob);
            }
            notes.insert(record.clone(), note);
        }
        Ok((notes, blobs))
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
    let found = code.find_moved(&seen, MAX_SEARCH_TIME)?;
    let tree = code.uncommitted_state();
    let moved = match &found {
        DefinitionSearch::Found { path, name, nth, commit } => {
            let place = if name.is_empty() {
                Place::file(path)
            } else {
                Place::definition(path, name, *nth)
            };
            let place = place.ok().map(|place| place.to_string());
            Some(MovedTo { place, commit: commit.clone(), tree })
        }
        DefinitionSearch::Nowhere { commit } => {
            Some(MovedTo { place: None, commit: commit.clone(), tree })
        }
        DefinitionSearch::Unknown => None,
    };
    if let (Some(moved), Some(head)) = (moved, code.git().head()) {
        code.set_moved(&anchor.id, &head, &moved)?;
    }
    Ok(found)
}
