//! The verbs of the blackboard.

use std::sync::{Mutex, PoisonError};

use twining_model::Id;
use twining_store::{Durability, StoreError};

use crate::blackboard::repeats::RecentEntries;
use crate::blackboard::{self, *};
use crate::caller::Caller;
use crate::engine::Engine;
use crate::failure::Failure;
use crate::hygiene::clean;

impl Engine {
    /// Posts an entry, unless somebody said the same a moment ago.
    pub fn post(&self, caller: &Caller, input: &PostInput) -> Result<PostOutcome, Failure> {
        let (input, redacted) = clean(input);
        let caller = caller.called(input.agent_id.as_deref())?;
        let draft = PostDraft::parse(&input, self.store().root())?;
        if let Some(existing) = self.find_duplicate(&draft).filter(|_| !input.force) {
            return Ok(PostOutcome::repeats(existing));
        }
        let (entry, posted) = plan_post(&draft, &self.stamp(&caller))?;
        self.store().post(&[entry])?;
        self.heartbeat(&caller);
        let note = self.unknown_among(draft.relates_to()).map(|unknown| blackboard::unknown_ids_note(&unknown));
        Ok(PostOutcome { redacted, note, ..posted })
    }

    /// Which of these ids nobody here has. Asked after the fact and never a reason to fail.
    fn unknown_among(&self, ids: &[String]) -> Option<Vec<String>> {
        if ids.is_empty() {
            return None;
        }
        let unknown = self.store().view(|view| {
            let mut unknown = Vec::new();
            for id in ids {
                let decided = Id::read(id).map_or(Ok(false), |id| view.decisions().exists(&id))?;
                if !decided && view.entries().get(id)?.is_none() && view.graph().entity(id)?.is_none() {
                    unknown.push(id.clone());
                }
            }
            Ok::<_, StoreError>(unknown)
        });
        unknown.ok().filter(|unknown| !unknown.is_empty())
    }

    /// The entry that says this already. Without the index, and never a reason to
    /// fail: what cannot be compared is posted.
    fn find_duplicate(&self, draft: &PostDraft) -> Option<(String, String)> {
        let recent = self.state::<Mutex<RecentEntries>>();
        let mut recent = recent.lock().unwrap_or_else(PoisonError::into_inner);
        let (lines, afresh) = self.store().documents().read_on(&mut recent.tail).ok()?;
        recent.add_lines(&lines, afresh);
        recent.same_as(&draft.content(), self.store().folding(), self.store().ids().now())
    }

    /// Reads entries by filter.
    pub fn read(&self, input: &ReadInput) -> Result<ReadOutcome, Failure> {
        self.store().view(|view| blackboard::read(view, input, self.store().root()))
    }

    /// Searches entries.
    pub fn query(&self, input: &QueryInput) -> Result<QueryOutcome, Failure> {
        let draft = QueryDraft::parse(input, self.store().root())?;
        let question = self.question(&draft.text)?;
        self.store().view(|view| blackboard::query(view, &draft, &question))
    }

    /// Reads the newest entries.
    pub fn recent(&self, input: &RecentInput) -> Result<RecentOutcome, Failure> {
        self.store().view(|view| blackboard::recent(view, input))
    }

    /// Closes entries that need no answer.
    pub fn dismiss(&self, caller: &Caller, input: &DismissInput) -> Result<DismissOutcome, Failure> {
        let (input, redacted) = clean(input);
        let caller = caller.called(input.agent_id.as_deref())?;
        let draft = DismissDraft::parse(&input)?;
        let outcome = self.store().transact(Durability::Normal, |view| plan_dismiss(view, &draft, &self.stamp(&caller)))?;
        Ok(DismissOutcome { redacted, ..outcome })
    }
}
