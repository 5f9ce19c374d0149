//! Decisions as git sees them: through renames, and behind commits.

use twining_model::Time;
use twining_store::Durability;

use crate::caller::Caller;
use crate::decisions::{self, CommitSeen, LinkCommitDraft, LinkCommitOutcome, Moves, WhyInput, WhyOutcome, plan_link_commit};
use crate::engine::Engine;
use crate::failure::Failure;

impl Engine {
    /// The same, under the names that its files had before these moves too.
    pub fn why_through(&self, input: &WhyInput, moves: &Moves) -> Result<WhyOutcome, Failure> {
        self.store().view(|view| decisions::why(view, input, self.store().root(), moves))
    }

    /// Explains a commit by its decisions; `seen` is what git says of it.
    pub fn why_commit(&self, asked: &str, limit: Option<usize>, seen: Option<&CommitSeen>) -> Result<WhyOutcome, Failure> {
        self.store().view(|view| decisions::why_commit(view, asked, limit, seen))
    }

    /// Links a commit that was just made with the decisions it carries out. `before` tells when the
    /// one before it was made, and is asked only if that matters.
    pub fn link_new_commit(
        &self,
        caller: &Caller,
        commit: &CommitSeen,
        before: &dyn Fn() -> Option<Time>,
    ) -> Result<Vec<LinkCommitOutcome>, Failure> {
        // The memory is not even opened for a commit that can concern no decision.
        if !decisions::may_concern_decisions(commit) {
            return Ok(Vec::new());
        }
        let found = self.store().view::<_, Failure>(|view| Ok(decisions::carried_out(view, commit, before)?))?;
        let mut linked = Vec::with_capacity(found.len());
        for (id, by) in found {
            let draft = LinkCommitDraft::seen(id, commit, by)?;
            linked.push(self.store().transact(Durability::Normal, |view| plan_link_commit(view, &draft, &self.stamp(caller)))?);
        }
        Ok(linked)
    }
}
