//! Looking for code that is no longer at its place, off the answer's path.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use twining_model::{Anchor, AnchoredRecord, Place};
use twining_store::View;
use twining_store::code::{
    CodeIndex, DefinitionSearch, MAX_SEARCH_TIME, MovedTo, SeenDefinition as SeenInCommit,
};
use twining_store::git::GitFolders;

use crate::anchors::assumed::renew_assumed;
use crate::anchors::freshness::{CodeNotes, CodeState, Judging, note, seen_definition};
use crate::anchors::lookup::{all_anchors, place_of};
use crate::engine::Engine;
use crate::failure::Failure;

/// How long the first question on a new index looks for what moved; later ones know it.
const NEW_INDEX_TIME: Duration = Duration::from_secs(1);
/// How long the first question about a file at a new HEAD looks for what moved.
const NEW_HEAD_TIME: Duration = Duration::from_millis(300);
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
                let found = search_until(code, &anchor, until)?;
                searched += 1;
                if found == DefinitionSearch::Unknown && Instant::now() >= until {
                    queue.add(vec![anchor]);
                }
            }
        }
        searched += self.sweep(code, until)?;
        code.forget_unused()?;
        Ok(searched)
    }

    /// Looks for what moved before an answer if this process had to make the index of the code:
    /// without that, deleting it would change the answer.
    pub(crate) fn search_on_new_index(&self) -> Result<(), Failure> {
        let has_anchors = self.store().documents().has_anchors()?;
        if let Some(code) = self.code().filter(|_| has_anchors)
            && code.is_new()?
        {
            self.search_moved_code(Instant::now() + NEW_INDEX_TIME)?;
        }
        Ok(())
    }

    /// Looks for what moved before an answer about a file, once for a HEAD: a record that came there
    /// names another place.
    pub(crate) fn search_moved_into(&self, asked: &str) -> Result<(), Failure> {
        let Some(code) = self.code() else { return Ok(()) };
        let place = Place::parse("scope", asked, self.store().root());
        if place.is_ok_and(|place| code.has_file(place.path())) {
            self.sweep(code, Instant::now() + NEW_HEAD_TIME)?;
        }
        Ok(())
    }

    /// Looks for all that is not at its place, once for a HEAD: who asks about the place it moved to
    /// does not name the record. Until this moment; how many were looked for.
    fn sweep(&self, code: &CodeIndex, until: Instant) -> Result<usize, Failure> {
        let position = GitFolders::of(code.checkout()).map(|folders| folders.head_position());
        let Some(head) = position.and_then(|position| position.commit) else { return Ok(0) };
        let swept = self.state::<SweptHead>();
        let mut swept = swept.0.lock().unwrap_or_else(PoisonError::into_inner);
        if swept.as_ref() == Some(&head) || !self.store().documents().has_anchors()? {
            return Ok(0);
        }
        let mut searched = 0;
        if !code.is_swept(&head)? {
            let judging = Judging::new(code, None);
            for anchor in self.store().view(all_anchors)? {
                if Instant::now() >= until {
                    return Ok(searched);
                }
                let judged = judging.judge(anchor)?;
                if judged.state == CodeState::Missing {
                    search_until(code, &judged.anchor, until)?;
                    searched += 1;
                }
            }
            if Instant::now() >= until {
                return Ok(searched);
            }
            code.set_swept(&head)?;
        }
        *swept = Some(head);
        Ok(searched)
    }
}

/// The HEAD at which all that moved was looked for, as this process knows it.
#[derive(Default)]
struct SweptHead(Mutex<Option<String>>);

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
    search_until(code, anchor, Instant::now() + MAX_SEARCH_TIME)
}

/// The same, no longer than until this moment.
fn search_until(
    code: &CodeIndex,
    anchor: &Anchor,
    until: Instant,
) -> Result<DefinitionSearch, Failure> {
    let (Some(commit), Some(definition)) =
        (anchor.seen.commit.clone(), seen_definition(code, anchor)?)
    else {
        return Ok(DefinitionSearch::Unknown);
    };
    let seen = SeenInCommit { path: anchor.at.path().to_owned(), definition, commit };
    let left = until.saturating_duration_since(Instant::now()).min(MAX_SEARCH_TIME);
    let found = code.find_moved(&seen, left)?;
    let tree = code.uncommitted_state();
    let moved = match &found {
        DefinitionSearch::Found { path, name, nth, commit } => {
            let place = place_of(path, name, *nth).map(|place| place.to_string());
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
