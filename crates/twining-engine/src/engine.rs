//! The engine: every verb, each one line of words into types, one transaction,
//! and the outcome.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use twining_model::{Authority, Decision, Id, Time, limits};
use twining_store::{Archived, Durability, Joiners, PolicyFile, Store, StoreError, View};

use crate::blackboard::{self, *};
use crate::caller::{Caller, Stamp};
use crate::context::{self, *};
use crate::decisions::{self, *};
use crate::failure::Failure;
use crate::governance::{self, *};
use crate::graph::{self, *};
use crate::hygiene::{Recent, clean};
use crate::knowledge::{self, Shelf};
use crate::lifecycle::{self, *};
use crate::search::{Known, LoadModel, Meanings, ModelState, Question, Study};

/// What a task is compared by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum By {
    /// Its words alone.
    Words,
    /// Its words and its meaning.
    Meaning,
}

/// What Twining does with one project's memory.
pub struct Engine {
    store: Arc<Store>,
    /// Agents that assembled context in this process.
    assembled: Mutex<HashSet<String>>,
    /// When we last said that an agent is there.
    beats: Mutex<HashMap<String, Time>>,
    /// What was said lately.
    recent: Mutex<Recent>,
    meanings: Arc<Meanings>,
    study: Arc<Study>,
    patience: Duration,
    by_words_alone: bool,
    /// The knowledge graph as it was last read.
    pub(crate) knowledge: Shelf,
}

impl Engine {
    /// An engine on a store that searches by words alone.
    #[must_use]
    pub fn new(store: impl Into<Arc<Store>>) -> Self {
        let engine = Self::with_model(store, Box::new(|| Err("there is no model".to_owned())));
        Self { by_words_alone: true, ..engine }
    }

    /// An engine on a store that searches by meaning too, as far as there are
    /// vectors. The model is loaded when the first question is asked.
    #[must_use]
    pub fn with_model(store: impl Into<Arc<Store>>, load: LoadModel) -> Self {
        let store = store.into();
        store.join_with(Joiners { features: crate::workflow::LIST, knowledge: knowledge::GRAPH });
        let meanings = Arc::new(Meanings::new(load));
        let study = Arc::new(Study::new(Arc::clone(&store), Arc::clone(&meanings)));
        Self {
            store,
            assembled: Mutex::new(HashSet::new()),
            beats: Mutex::new(HashMap::new()),
            recent: Mutex::default(),
            meanings,
            study,
            patience: Duration::ZERO,
            by_words_alone: false,
            knowledge: Shelf::default(),
        }
    }

    /// The same, whose questions wait at most so long for vectors that are being made.
    #[must_use]
    pub fn waiting_for_vectors(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// What makes the vectors.
    #[must_use]
    pub fn study(&self) -> &Arc<Study> {
        &self.study
    }

    /// Whether it can search by meaning. Loads the model.
    pub fn model_state(&self) -> Result<ModelState, Failure> {
        let off = self.by_words_alone || !self.store.config()?.search.embeddings;
        Ok(if off { ModelState::Off } else { self.meanings.state() })
    }

    /// The store it works on.
    #[must_use]
    pub fn store(&self) -> &Arc<Store> {
        &self.store
    }

    /// Posts an entry, unless somebody said the same a moment ago.
    pub fn post(&self, caller: &Caller, input: &PostInput) -> Result<Posted, Failure> {
        let (input, redacted) = clean(input);
        let caller = caller.called(input.agent_id.as_deref())?;
        let draft = PostDraft::parse(&input, self.store.root())?;
        if let Some(said) = self.said_before(&draft).filter(|_| !input.force) {
            return Ok(Posted::repeats(said));
        }
        let (entry, posted) = plan_post(&draft, &self.stamp(&caller))?;
        self.store.post(&[entry])?;
        self.beat(&caller);
        let note = self.unknown_among(draft.relates_to()).map(|unknown| blackboard::says_unknown(&unknown));
        Ok(Posted { redacted, note, ..posted })
    }

    /// Which of these ids nobody here has. Asked after the fact and never a reason to fail.
    fn unknown_among(&self, ids: &[String]) -> Option<Vec<String>> {
        if ids.is_empty() {
            return None;
        }
        let unknown = self.store.view(|view| {
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
    fn said_before(&self, draft: &PostDraft) -> Option<(String, String)> {
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        let (lines, afresh) = self.store.read_on(&mut recent.tail).ok()?;
        recent.take_in(&lines, afresh);
        recent.says(&draft.saying(), self.store.folding(), self.store.ids().now())
    }

    /// Reads entries by filter.
    pub fn read(&self, input: &ReadInput) -> Result<ReadOutcome, Failure> {
        self.store.view(|view| blackboard::read(view, input, self.store.root()))
    }

    /// Searches entries.
    pub fn query(&self, input: &QueryInput) -> Result<QueryOutcome, Failure> {
        let draft = QueryDraft::parse(input, self.store.root())?;
        let question = self.question(&draft.text)?;
        self.store.view(|view| blackboard::query(view, &draft, &question))
    }

    /// Reads the newest entries.
    pub fn recent(&self, input: &RecentInput) -> Result<RecentOutcome, Failure> {
        self.store.view(|view| blackboard::recent(view, input))
    }

    /// Closes entries that need no answer.
    pub fn dismiss(&self, caller: &Caller, input: &DismissInput) -> Result<DismissOutcome, Failure> {
        let (input, redacted) = clean(input);
        let caller = caller.called(input.agent_id.as_deref())?;
        let draft = DismissDraft::parse(&input)?;
        let outcome = self.store.transact(Durability::Normal, |view| plan_dismiss(view, &draft, &self.stamp(&caller)))?;
        Ok(DismissOutcome { redacted, ..outcome })
    }

    /// Records a decision.
    pub fn decide(&self, caller: &Caller, input: &DecideInput) -> Result<Decided, Failure> {
        let (input, redacted) = clean(input);
        let assembled_before = self.has_assembled(&caller.agent);
        let caller = caller.called(input.agent_id.as_deref())?;
        let mut draft = Draft::parse(&input, self.store.root())?;
        draft.assembled_before = Some(assembled_before || self.has_assembled(&caller.agent));
        let decided = self.store.transact(Durability::Strict, |view| plan_decide(view, &draft, &self.stamp(&caller)))?;
        self.beat(&caller);
        Ok(Decided { redacted, ..decided })
    }

    /// Explains a scope by its decisions.
    pub fn why(&self, input: &WhyInput) -> Result<WhyOutcome, Failure> {
        self.why_through(input, &Moves::default())
    }

    /// Follows a decision's dependencies.
    pub fn trace(&self, input: &TraceInput) -> Result<TraceOutcome, Failure> {
        self.store.view(|view| decisions::trace(view, input))
    }

    /// Puts a decision back on the table.
    pub fn reconsider(&self, caller: &Caller, input: &ReconsiderInput) -> Result<Reconsidered, Failure> {
        let (input, redacted) = clean(input);
        let caller = caller.called(input.agent_id.as_deref())?;
        let draft = ReconsiderDraft::parse(&input)?;
        let outcome = self.store.transact(Durability::Strict, |view| plan_reconsider(view, &draft, &self.stamp(&caller)))?;
        Ok(Reconsidered { redacted, ..outcome })
    }

    /// Rejects a decision, with the authority that the rim established.
    pub fn override_decision(&self, caller: &Caller, authority: Authority, input: &OverrideInput) -> Result<Overridden, Failure> {
        let (input, redacted) = clean(input);
        let draft = OverrideDraft::parse(&input, authority)?;
        let outcome = self.store.transact(Durability::Strict, |view| plan_override(view, &draft, &self.stamp(caller)))?;
        Ok(Overridden { redacted, ..outcome })
    }

    /// The decision that such an override would reject, if a person's word on it is still wanted.
    pub fn override_in_question(&self, input: &OverrideInput) -> Result<Option<Decision>, Failure> {
        let draft = OverrideDraft::parse(input, Authority::Claimed)?;
        self.store.view(|view| in_question(view, &draft))
    }

    /// Puts provisional decisions in force.
    pub fn promote(&self, caller: &Caller, input: &PromoteInput) -> Result<PromoteOutcome, Failure> {
        let (input, redacted) = clean(input);
        let draft = PromoteDraft::parse(&input)?;
        let outcome = self.store.transact(Durability::Strict, |view| plan_promote(view, &draft, &self.stamp(caller)))?;
        Ok(PromoteOutcome { redacted, ..outcome })
    }

    /// Searches decisions.
    pub fn search_decisions(&self, input: &SearchDecisionsInput) -> Result<SearchDecisionsOutcome, Failure> {
        let draft = SearchDecisionsDraft::parse(input, self.store.root())?;
        let question = self.question(&draft.text)?;
        self.store.view(|view| decisions::search_decisions(view, &draft, &question))
    }

    /// Links a commit with the decision it carries out.
    pub fn link_commit(&self, caller: &Caller, input: &LinkCommitInput) -> Result<LinkCommitOutcome, Failure> {
        let (input, redacted) = clean(input);
        let draft = LinkCommitDraft::parse(&input)?;
        let outcome = self.store.transact(Durability::Strict, |view| plan_link_commit(view, &draft, &self.stamp(caller)))?;
        Ok(LinkCommitOutcome { redacted, ..outcome })
    }

    /// Lists what a commit carries out.
    pub fn commits(&self, input: &CommitsInput) -> Result<CommitsOutcome, Failure> {
        self.store.view(|view| decisions::commits(view, input))
    }

    /// Weighs what hangs on a decision.
    pub fn impact(&self, input: &ImpactInput) -> Result<Impact, Failure> {
        self.store.view(|view| decisions::impact(view, input))
    }

    /// Adds an entity, or what is newly known of one.
    pub fn add_entity(&self, caller: &Caller, input: &AddEntityInput) -> Result<EntityAdded, Failure> {
        let (input, redacted) = clean(input);
        let draft = EntityDraft::parse(&input, self.store.root())?;
        let added = self.store.transact(Durability::Normal, |view| plan_add_entity(view, &draft, &self.stamp(caller)))?;
        Ok(EntityAdded { redacted, ..added })
    }

    /// Adds a relation.
    pub fn add_relation(&self, caller: &Caller, input: &AddRelationInput) -> Result<RelationAdded, Failure> {
        let (input, redacted) = clean(input);
        let draft = RelationDraft::parse(&input)?;
        let added =
            self.store.transact(Durability::Normal, |view| plan_add_relation(view, &draft, self.store.root(), &self.stamp(caller)))?;
        Ok(RelationAdded { redacted, ..added })
    }

    /// Finds who is near an entity.
    pub fn neighbors(&self, input: &NeighborsInput) -> Result<NeighborsOutcome, Failure> {
        self.store.view(|view| graph::neighbors(view, input, self.store.root()))
    }

    /// Finds the shortest way between two entities.
    pub fn path(&self, input: &PathInput) -> Result<PathOutcome, Failure> {
        self.store.view(|view| graph::path(view, input, self.store.root()))
    }

    /// Finds entities by a part of their name.
    pub fn graph_query(&self, input: &GraphQueryInput) -> Result<GraphQueryOutcome, Failure> {
        self.store.view(|view| graph::graph_query(view, input))
    }

    /// Removes entities without relations and relations without ends.
    pub fn prune_graph(&self, input: &PruneInput) -> Result<PruneOutcome, Failure> {
        if input.dry_run.unwrap_or(true) {
            return self.store.view(graph::prunable);
        }
        self.store.transact(Durability::Normal, graph::plan_prune)
    }

    /// Moves what is settled off the board.
    pub fn archive(&self, caller: &Caller, input: &ArchiveInput) -> Result<ArchiveOutcome, Failure> {
        self.archive_drafted(caller, &ArchiveDraft::parse(input)?)
    }

    fn archive_drafted(&self, caller: &Caller, draft: &ArchiveDraft) -> Result<ArchiveOutcome, Failure> {
        let (mut kept_open, mut summary) = (0, None);
        let archived: Archived = self.store.archive(|view| {
            let (archival, open) = lifecycle::choose(view, draft, &self.stamp(caller))?;
            kept_open = open;
            summary = archival.summary.as_ref().map(|entry| entry.detail.clone());
            Ok::<_, Failure>(archival)
        })?;
        Ok(draft.outcome(archived, summary, kept_open))
    }

    /// Takes stock.
    pub fn status(&self) -> Result<StatusReport, Failure> {
        let config = self.store.config()?;
        let rejected = self.store.rejected_lines()?;
        let model = self.model_state()?;
        let mut report = self.store.view(|view| lifecycle::status(view, self.store.project_name(), &config, rejected, &model))?;
        report.warnings.extend(self.knowledge_warning());
        let mut unread = self.store.turns(|shelf| Ok::<_, Failure>(lifecycle::unread::turns(shelf))).unwrap_or_default();
        unread.extend(self.store.policy().ok().as_ref().and_then(lifecycle::unread::policy));
        unread.extend(self.store.features().ok().as_ref().and_then(lifecycle::unread::features));
        match self.store.agents() {
            Ok(shelf) => {
                report.tell_of_agents(&shelf, &config, self.store.ids().now());
                unread.extend(lifecycle::unread::handoffs(&shelf));
            }
            Err(error) => unread.push(UnreadableFile { file: "agents/registry.json".to_owned(), line: None, why: error.to_string() }),
        }
        report.tell_unreadable(unread);
        Ok(report)
    }

    /// Verifies a scope, and posts what it found.
    pub fn verify(&self, caller: &Caller, input: &VerifyInput, history: &dyn History) -> Result<VerifyOutcome, Failure> {
        let (input, redacted) = clean(input);
        let draft = VerifyDraft::parse(&input, self.store.root())?;
        let (finding, outcome) = self.store.view(|view| lifecycle::verify(view, &draft, history, &self.stamp(caller)))?;
        self.store.post(&[finding])?;
        Ok(VerifyOutcome { redacted, ..outcome })
    }

    /// Exports a scope.
    pub fn export(&self, input: &ExportInput) -> Result<ExportOutcome, Failure> {
        self.store.view(|view| lifecycle::export(view, input, self.store.root()))
    }

    /// Puts together what a task needs.
    pub fn assemble(&self, caller: &Caller, input: &AssembleInput) -> Result<AssembledContext, Failure> {
        self.assemble_for(caller, input, By::Meaning)
    }

    /// The same by words alone, for a short-lived process that a tool call waits for.
    pub fn assemble_by_words(&self, caller: &Caller, input: &AssembleInput) -> Result<AssembledContext, Failure> {
        self.assemble_for(caller, input, By::Words)
    }

    fn assemble_for(&self, caller: &Caller, input: &AssembleInput, by: By) -> Result<AssembledContext, Failure> {
        let caller = caller.called(input.agent_id.as_deref())?;
        let context = self.gather(&caller, input, by)?;
        self.remember_assembly(caller.agent);
        Ok(context)
    }

    /// What a task needs, by words, for nobody in particular to have read.
    pub(crate) fn gather_for(&self, caller: &Caller, input: &AssembleInput) -> Result<AssembledContext, Failure> {
        self.gather(caller, input, By::Words)
    }

    /// What is to be kept to in a task, and what `then` makes of it while the memory
    /// is open; at a glance, because a hook waits. `told` names the decisions in that.
    pub(crate) fn gather_rules<T>(
        &self,
        input: &AssembleInput,
        then: impl Fn(&View<'_>, AssembledContext) -> Result<T, Failure>,
        told: impl Fn(&T) -> Vec<Id>,
    ) -> Result<T, Failure> {
        let config = self.store.config()?;
        let draft = AssembleDraft::parse(input, self.store.root(), &config)?.of_rules();
        let text = draft.question();
        let assemble = |view: &View<'_>| context::assemble(view, &draft, Question::of_task(&text), &config, Others::default());
        self.store.glance(|view| then(view, assemble(view)?), told)
    }

    fn gather(&self, caller: &Caller, input: &AssembleInput, by: By) -> Result<AssembledContext, Failure> {
        let config = self.store.config()?;
        let draft = AssembleDraft::parse(input, self.store.root(), &config)?;
        let text = draft.question();
        // Who works here is worth knowing and no reason to know nothing else.
        let others = self.store.agents().ok();
        let others = others.as_ref().map(|shelf| Others::of(shelf, draft.scope(), caller, self.store.folding(), self.store.ids().now()));
        let (known, waiting) = if by == By::Meaning { self.known_meanings()? } else { (None, 0) };
        std::thread::scope(|scope| {
            let mut question = Question::of_task(&text).with_waiting(waiting);
            if let Some(known) = known {
                let (model, text) = (known.model, &text);
                let vector = scope.spawn(move || model.embed(text));
                question = question.meanwhile(move || vector.join().ok().map(|vector| known.to(&vector)));
            }
            self.store.view(|view| context::assemble(view, &draft, question, &config, others.unwrap_or_default()))
        })
    }

    /// Sums a scope up.
    pub fn summarize(&self, input: &SummarizeInput) -> Result<Summary, Failure> {
        let scope = input.scope(self.store.root())?;
        self.store.view(|view| context::summarize(view, &scope))
    }

    /// Finds what changed since a moment.
    pub fn what_changed(&self, input: &WhatChangedInput) -> Result<WhatChangedOutcome, Failure> {
        let draft = WhatChangedDraft::parse(input, self.store.root())?;
        self.store.view(|view| context::what_changed(view, &draft))
    }

    /// What holds in this project. A file that cannot be read is told among the
    /// mistakes: rules must not vanish because of it.
    #[must_use]
    pub fn policy(&self, user: &UserPolicy) -> Policy {
        let project = self.store.policy().unwrap_or_else(|error| PolicyFile::Unusable(error.to_string()));
        Policy::resolve(user, &project)
    }

    /// Tells what holds for a role.
    pub fn role(&self, user: &UserPolicy, input: &RoleInput) -> Result<Role, Failure> {
        governance::roles::is_here(input.project.as_deref(), &self.store.project_name())?;
        governance::roles::role(&self.policy(user), &input.role)
    }

    /// Tells which gates hold for a task.
    pub fn gates(&self, user: &UserPolicy, input: &GatesInput) -> Result<GatesOutcome, Failure> {
        governance::gates::gates(&self.policy(user), input)
    }

    /// Holds results against the gates of a task; reports are read in `checkout`,
    /// the working tree the caller stands in.
    pub fn check_gates(&self, user: &UserPolicy, checkout: &Path, input: &CheckGatesInput) -> Result<GatesChecked, Failure> {
        let policy = self.policy(user);
        let asked = GatesInput { task_type: input.task_type.clone(), complexity: input.complexity };
        let GatesOutcome { profile, notes, mistakes, .. } = governance::gates::gates(&policy, &asked)?;
        let reports = governance::reports::read(&input.reports, checkout, &self.store.place().project, self.store.root())?;
        let measured = governance::gates::Measured::of(input, &reports)?;
        Ok(GatesChecked { mistakes, ..governance::gates::check(profile, measured, reports, notes) })
    }

    /// Advises on how much ceremony fits a task.
    pub fn suggest_mode(&self, user: &UserPolicy, input: &SuggestModeInput) -> Result<ModeSuggested, Failure> {
        governance::modes::suggest(&self.policy(user), input)
    }

    /// Records a turn.
    pub fn record_turn(&self, caller: &Caller, input: &RecordTurnInput) -> Result<TurnRecorded, Failure> {
        let (input, redacted) = clean(input);
        let caller = caller.called(input.agent_id.as_deref())?;
        let draft = governance::turns::TurnDraft::parse(&input, self.store.root())?;
        let recorded = self.store.transact_turns(|shelf| governance::turns::plan_record(shelf, &draft, &self.stamp(&caller)))?;
        Ok(TurnRecorded { redacted, ..recorded })
    }

    /// Lists the turns of a feature.
    pub fn turns(&self, input: &TurnsInput) -> Result<TurnsOutcome, Failure> {
        self.store.turns(|shelf| governance::turns::turns(shelf, input))
    }

    /// Takes in what hooks left, where no history is at hand: a commit then archives nothing.
    pub fn drain_queues(&self, caller: &Caller) -> Result<Drained, Failure> {
        self.drain_queues_with(caller, &NoHistory)
    }

    /// Takes in what hooks left. Cheap when there is nothing.
    pub fn drain_queues_with(&self, caller: &Caller, history: &dyn History) -> Result<Drained, Failure> {
        let hook = lifecycle::hook(caller);
        let posts = self.store.drain_posts(&mut |line| pending_post(line, self.store.root(), &self.stamp(&hook)))?;
        let mut wanted: Vec<PendingAction> = Vec::new();
        let actions = self.store.drain_actions(&mut |line| pending_action(line).map(|action| wanted.push(action)))?;
        let mut drained = Drained { posted: posts.taken, archived: 0, rejected: posts.rejected + actions.rejected };
        if wanted.is_empty() {
            return Ok(drained);
        }
        let config = self.store.config().unwrap_or_default();
        if let Some(before) = lifecycle::cutoff(&wanted, &config, history, self.store.ids().now()) {
            drained.archived = self.archive_drafted(&hook, &ArchiveDraft::older_than(before))?.archived_count;
        }
        Ok(drained)
    }

    /// Makes a question ready to be compared. Held while it is searched for.
    fn question(&self, text: &str) -> Result<Question<'_>, Failure> {
        let (known, waiting) = self.known_meanings()?;
        let nearness = known.map(|known| {
            let vector = known.model.embed(text);
            known.to(&vector)
        });
        Ok(Question::of_query(text, nearness).with_waiting(waiting))
    }

    /// What a question can be compared with, and how many texts have no vector yet.
    fn known_meanings(&self) -> Result<(Option<Known<'_>>, u64), Failure> {
        let search = self.store.config()?.search;
        if self.by_words_alone || !search.embeddings {
            return Ok((None, 0));
        }
        let patience = self.patience.min(Duration::from_millis(search.wait_ms));
        let waiting = if self.patience.is_zero() { 0 } else { self.study.wait(patience).map_or(0, |embedding| embedding.waiting) };
        // Vectors that cannot be read leave words to answer; `doctor` says why.
        Ok((self.meanings.known(&self.store).unwrap_or_default(), waiting))
    }

    /// How alike texts are to a question, from -1 to 1; nothing where only words
    /// can answer.
    pub(crate) fn likeness(&self, question: &str, texts: &[String]) -> Result<Option<Vec<f64>>, Failure> {
        if self.by_words_alone || !self.store.config()?.search.embeddings {
            return Ok(None);
        }
        Ok(self.meanings.likeness(question, texts))
    }

    pub(crate) fn stamp<'a>(&'a self, caller: &'a Caller) -> Stamp<'a> {
        Stamp { at: self.store.ids().now(), ids: self.store.ids(), caller }
    }

    pub(crate) fn last_beats(&self) -> MutexGuard<'_, HashMap<String, Time>> {
        self.beats.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn has_assembled(&self, agent: &str) -> bool {
        self.assembled.lock().unwrap_or_else(PoisonError::into_inner).contains(agent)
    }

    fn remember_assembly(&self, agent: String) {
        let mut assembled = self.assembled.lock().unwrap_or_else(PoisonError::into_inner);
        // A caller that invents a new name for every call must not fill our memory.
        if assembled.len() < limits::QUEUE_LINES {
            assembled.insert(agent);
        }
    }
}
