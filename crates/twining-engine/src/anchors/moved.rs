//! Looking for code that is no longer at its place, off the answer's path.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use twining_model::{Anchor, AnchoredRecord, Place};
use twining_store::View;
use twining_store::code::{
    CodeIndex, CodeVersion, DefinitionSearch, MAX_SEARCH_TIME, MovedTo,
    SeenDefinition as SeenInCommit, SweepProgress,
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
/// A search that took so long and came to no end is not made again at the same HEAD: those after it
/// would never have their turn.
const LONG_SEARCH: Duration = Duration::from_secs(1);
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
            let is_open = known.is_none_or(|known| known.place.is_some() || known.tree != *tree);
            if is_open && !code.has_timed_out(&anchor.id, &head)? {
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
        let is_past = *self.code_version() != CodeVersion::Checkout;
        let place = Place::parse("scope", asked, self.store().root());
        if !is_past && place.is_ok_and(|place| code.has_file(place.path())) {
            self.sweep(code, Instant::now() + NEW_HEAD_TIME)?;
        }
        Ok(())
    }

    /// Looks for all that is not at its place, once for a HEAD: who asks about the place it moved to
    /// does not name the record. Until this moment, one anchor at least; the next call goes on from
    /// there. How many were looked for.
    fn sweep(&self, code: &CodeIndex, until: Instant) -> Result<usize, Failure> {
        let position = GitFolders::of(code.checkout()).map(|folders| folders.head_position());
        let Some(head) = position.and_then(|position| position.commit) else { return Ok(0) };
        let swept = self.state::<SweptHead>();
        // An answer that waited for the search in the background would wait for all of it.
        let mut swept = match swept.0.try_lock() {
            Ok(swept) => swept,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return Ok(0),
        };
        if swept.as_ref() == Some(&head) || !self.store().documents().has_anchors()? {
            return Ok(0);
        }
        let begun = code.sweep(&head)?.unwrap_or(SweepProgress::UpTo(String::new()));
        let mut searched = 0;
        if let SweepProgress::UpTo(mut last) = begun {
            let judging = Judging::new(code, None);
            for anchor in self.store().view(all_anchors)? {
                let key = sweep_key(&anchor);
                if key <= last {
                    continue;
                }
                let judged = judging.judge(anchor)?;
                let mut is_settled = true;
                match judged.state {
                    CodeState::Missing if !code.has_timed_out(&judged.anchor.id, &head)? => {
                        let found = search_until(code, &judged.anchor, until)?;
                        is_settled = found != DefinitionSearch::Unknown || Instant::now() < until;
                        searched += 1;
                    }
                    // What was gone at another HEAD may have come back since, elsewhere. No answer
                    // waits for that: there may be many, and at each HEAD anew.
                    CodeState::Orphaned if code.moved(&judged.anchor.id, &head)?.is_none() => {
                        self.state::<SearchQueue>().add(vec![judged.anchor]);
                    }
                    _ => {}
                }
                if is_settled {
                    last = key;
                }
                if Instant::now() >= until {
                    code.set_sweep(&head, &SweepProgress::UpTo(last))?;
                    return Ok(searched);
                }
            }
            code.set_sweep(&head, &SweepProgress::Done)?;
        }
        *swept = Some(head);
        Ok(searched)
    }
}

/// Where an anchor comes among all of them.
fn sweep_key(anchor: &Anchor) -> String {
    format!("{}\0{}", anchor.at, anchor.of)
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
    let (path, blob) = (anchor.at.path().to_owned(), Some(anchor.seen.blob.clone()));
    let seen = SeenInCommit { path, definition, commit, blob };
    let begun = Instant::now();
    let left = until.saturating_duration_since(begun).min(MAX_SEARCH_TIME);
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
    let Some(head) = code.git().head() else { return Ok(found) };
    match moved {
        Some(moved) => code.set_moved(&anchor.id, &head, &moved)?,
        None if left >= LONG_SEARCH && begun.elapsed() >= left => {
            code.set_timed_out(&anchor.id, &head)?;
        }
        None => {}
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::mpsc;
    use std::thread;

    use twining_store::git::Git;

    use super::*;
    use crate::decisions::{DecideInput, WhyInput};
    use crate::testing::{Project, choice};

    /// A decision on a function in each of these files, which are committed.
    fn project(files: &[&str]) -> Project {
        let mut project = Project::new();
        let git = Git::at(project.path());
        let git_does = |words: &[&str]| {
            assert!(git.run_in_throwaway(words).expect("git runs"), "{words:?}");
        };
        git_does(&["init", "-q"]);
        for file in files {
            let text = "pub fn tax(net: u64) -> u64 {\n    net * 19 / 100\n}\n";
            fs::write(project.path().join(file), text).expect("writes");
        }
        git_does(&["add", "."]);
        git_does(&["commit", "-q", "-m", "start"]);
        project.engine = project.another_engine().with_code(project.path(), git);
        for file in files {
            let decided = project.decide(&DecideInput {
                affected_files: vec![(*file).to_owned()],
                affected_symbols: vec!["tax".to_owned()],
                ..choice(file, file, "Taxes are 19 percent")
            });
            assert_eq!(decided.anchored.len(), 1, "{file}");
        }
        project
    }

    #[test]
    fn a_question_does_not_wait_for_the_search_in_the_background() {
        let project = project(&["a.rs"]);
        let state = project.engine.state::<SweptHead>();
        let (tell, told) = mpsc::channel();
        let answer = thread::scope(|scope| {
            let searching = state.0.lock().expect("nobody failed with it");
            scope.spawn(|| {
                let input = WhyInput { scope: Some("a.rs".to_owned()), ..WhyInput::default() };
                let why = project.engine.why(&input).expect("is answered");
                tell.send(why.decisions.len()).expect("is waited for");
            });
            let answer = told.recv_timeout(Duration::from_secs(30));
            drop(searching);
            answer
        });
        assert_eq!(answer, Ok(1));
    }

    #[test]
    fn a_search_that_ran_out_of_time_goes_on_where_it_stopped() {
        let files = ["a.rs", "b.rs", "c.rs"];
        let project = project(&files);
        let code = project.engine.code().expect("is in git");
        let head = code.git().head().expect("has a commit");
        // One that takes all the time there is does not stand in the way of the others.
        fs::remove_file(project.path().join("b.rs")).expect("removes");
        let anchors = project.engine.store().view(all_anchors).expect("reads");
        let slow = anchors.iter().find(|anchor| anchor.at.path() == "b.rs").expect("is bound");
        code.set_timed_out(&slow.id, &head).expect("is kept");
        let steps: Vec<bool> = (0..=files.len())
            .map(|_| {
                project.engine.sweep(code, Instant::now()).expect("looks");
                code.sweep(&head).expect("reads") == Some(SweepProgress::Done)
            })
            .collect();
        assert_eq!(steps, [false, false, false, true]);
    }
}
