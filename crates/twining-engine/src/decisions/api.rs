//! The verbs of decisions.

use twining_model::{Authority, Decision, Time};
use twining_store::Durability;

use crate::caller::Caller;
use crate::decisions::{self, *};
use crate::engine::Engine;
use crate::failure::Failure;
use crate::hygiene::clean;

impl Engine {
    /// Records a decision.
    pub fn decide(&self, caller: &Caller, input: &DecideInput) -> Result<DecideOutcome, Failure> {
        let (input, redacted) = clean(input);
        let assembled_before = self.has_assembled(&caller.agent);
        let caller = caller.called(input.agent_id.as_deref())?;
        let mut draft = DecisionDraft::parse(&input, self.store().root())?;
        draft.assembled_before = Some(assembled_before || self.has_assembled(&caller.agent));
        let decided = self.store().transact(Durability::Strict, |view| plan_decide(view, &draft, &self.stamp(&caller)))?;
        self.heartbeat(&caller);
        Ok(DecideOutcome { redacted, ..decided })
    }

    /// Explains a scope by its decisions.
    pub fn why(&self, input: &WhyInput) -> Result<WhyOutcome, Failure> {
        self.why_through(input, &RenameHistory::default())
    }

    /// The same, under the names that its files had before these moves too.
    pub fn why_through(&self, input: &WhyInput, moves: &RenameHistory) -> Result<WhyOutcome, Failure> {
        self.store().view(|view| decisions::why(view, input, self.store().root(), moves))
    }

    /// Explains a commit by its decisions; `seen` is what git says of it.
    pub fn why_commit(&self, asked: &str, limit: Option<usize>, seen: Option<&CommitSeen>) -> Result<WhyOutcome, Failure> {
        self.store().view(|view| decisions::why_commit(view, asked, limit, seen))
    }

    /// Follows a decision's dependencies.
    pub fn trace(&self, input: &TraceInput) -> Result<TraceOutcome, Failure> {
        self.store().view(|view| decisions::trace(view, input))
    }

    /// Puts a decision back on the table.
    pub fn reconsider(&self, caller: &Caller, input: &ReconsiderInput) -> Result<ReconsiderOutcome, Failure> {
        let (input, redacted) = clean(input);
        let caller = caller.called(input.agent_id.as_deref())?;
        let draft = ReconsiderDraft::parse(&input)?;
        let outcome = self.store().transact(Durability::Strict, |view| plan_reconsider(view, &draft, &self.stamp(&caller)))?;
        Ok(ReconsiderOutcome { redacted, ..outcome })
    }

    /// Rejects a decision, with the authority that the rim established.
    pub fn override_decision(&self, caller: &Caller, authority: Authority, input: &OverrideInput) -> Result<OverrideOutcome, Failure> {
        let (input, redacted) = clean(input);
        let caller = &caller.called(input.agent_id.as_deref())?;
        let draft = OverrideDraft::parse(&input, authority)?;
        let outcome = self.store().transact(Durability::Strict, |view| plan_override(view, &draft, &self.stamp(caller)))?;
        Ok(OverrideOutcome { redacted, ..outcome })
    }

    /// The decision that such an override would reject, if a person's word on it is still wanted.
    pub fn override_in_question(&self, input: &OverrideInput) -> Result<Option<Decision>, Failure> {
        let draft = OverrideDraft::parse(input, Authority::Claimed)?;
        self.store().view(|view| in_question(view, &draft))
    }

    /// Puts provisional decisions in force.
    pub fn promote(&self, caller: &Caller, input: &PromoteInput) -> Result<PromoteOutcome, Failure> {
        let (input, redacted) = clean(input);
        let caller = &caller.called(input.agent_id.as_deref())?;
        let draft = PromoteDraft::parse(&input)?;
        let outcome = self.store().transact(Durability::Strict, |view| plan_promote(view, &draft, &self.stamp(caller)))?;
        Ok(PromoteOutcome { redacted, ..outcome })
    }

    /// Searches decisions.
    pub fn search_decisions(&self, input: &SearchDecisionsInput) -> Result<SearchDecisionsOutcome, Failure> {
        let draft = SearchDecisionsDraft::parse(input, self.store().root())?;
        let question = self.question(&draft.text)?;
        self.store().view(|view| decisions::search_decisions(view, &draft, &question))
    }

    /// Links a commit with the decision it carries out.
    pub fn link_commit(&self, caller: &Caller, input: &LinkCommitInput) -> Result<LinkCommitOutcome, Failure> {
        let (input, redacted) = clean(input);
        let caller = &caller.called(input.agent_id.as_deref())?;
        let draft = LinkCommitDraft::parse(&input)?;
        let outcome = self.store().transact(Durability::Strict, |view| plan_link_commit(view, &draft, &self.stamp(caller)))?;
        Ok(LinkCommitOutcome { redacted, ..outcome })
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

    /// Lists what a commit carries out.
    pub fn commits(&self, input: &CommitsInput) -> Result<CommitsOutcome, Failure> {
        self.store().view(|view| decisions::commits(view, input))
    }

    /// Weighs what hangs on a decision.
    pub fn impact(&self, input: &ImpactInput) -> Result<ImpactOutcome, Failure> {
        self.store().view(|view| decisions::impact(view, input))
    }
}
