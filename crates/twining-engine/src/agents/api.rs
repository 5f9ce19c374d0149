//! The verbs of agents.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use twining_model::{Id, Snapshot, Time};
use twining_store::{Documents, Durability, disk};

use crate::agents::{self, *};
use crate::caller::Caller;
use crate::engine::Engine;
use crate::failure::Failure;
use crate::hygiene::clean;

/// How often a process says that its agents are there.
const BEAT_MS: i64 = 60_000;

/// When this process last said that an agent is there.
#[derive(Default)]
struct Heartbeats(Mutex<HashMap<String, Time>>);

impl Heartbeats {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, Time>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Engine {
    /// Registers an agent, or what is newly known of it.
    pub fn register(&self, caller: &Caller, input: &RegisterInput) -> Result<Registered, Failure> {
        let (input, redacted) = clean(input);
        let caller = caller.called(input.agent_id.as_deref())?;
        let registered =
            self.store().transact_on(Durability::Normal, Documents::agents, |shelf| plan_register(shelf, &input, &self.stamp(&caller)))?;
        Ok(Registered { redacted, ..registered })
    }

    /// Lists who is there.
    pub fn agents(&self, input: &AgentsInput) -> Result<AgentsOutcome, Failure> {
        agents::agents(&self.store().documents().agents()?, input, &self.store().config()?, self.store().ids().now())
    }

    /// Finds who can do what is wanted.
    pub fn discover(&self, input: &DiscoverInput) -> Result<DiscoverOutcome, Failure> {
        agents::discover(&self.store().documents().agents()?, input, &self.store().config()?, self.store().ids().now())
    }

    /// Asks for help, and tells who might give it.
    pub fn delegate(&self, caller: &Caller, input: &DelegateInput) -> Result<Delegated, Failure> {
        let (input, redacted) = clean(input);
        let caller = caller.called(input.agent_id.as_deref())?;
        let config = self.store().config()?;
        let draft = DelegateDraft::parse(&input, self.store().root(), &config)?;
        let shelf = self.store().documents().agents()?;
        let (entry, delegated) = self.store().view(|view| delegate(view, &shelf, &draft, &config, &self.stamp(&caller)))?;
        self.store().post(&[entry])?;
        self.beat(&caller);
        Ok(Delegated { redacted, ..delegated })
    }

    /// Hands work over, with what holds there.
    pub fn handoff(&self, caller: &Caller, input: &HandoffInput) -> Result<HandedOver, Failure> {
        let (input, redacted) = clean(input);
        let caller = caller.called(input.source_agent.as_deref())?;
        let draft = HandoffDraft::parse(&input, self.store().root())?;
        let held = if input.auto_snapshot.unwrap_or(true) {
            self.snapshot(&caller, draft.task(), draft.scope.to_string(), input.max_tokens)?
        } else {
            Snapshot::default()
        };
        let (change, handed) = plan_handoff(&draft, &held, &self.stamp(&caller))?;
        self.store().write(Durability::Strict, &change)?;
        self.beat(&caller);
        Ok(HandedOver { redacted, ..handed })
    }

    /// Takes over what was handed over.
    pub fn acknowledge(&self, caller: &Caller, input: &AcknowledgeInput) -> Result<HandoffShown, Failure> {
        let caller = caller.called(input.agent_id.as_deref())?;
        let id = Id::parse("handoff_id", input.handoff_id.trim())?;
        let taken =
            self.store().transact_on(Durability::Strict, Documents::agents, |shelf| plan_acknowledge(shelf, &id, &self.stamp(&caller)))?;
        self.beat(&caller);
        Ok(taken)
    }

    /// Holds a part of the project, lets it go, or tells who holds what.
    pub fn claim(&self, caller: &Caller, input: &ClaimInput) -> Result<ClaimOutcome, Failure> {
        let (input, redacted) = clean(input);
        let caller = caller.called(input.agent_id.as_deref())?;
        let store = self.store();
        let files_of = |feature: &str| {
            let known = self.feature_list().ok().and_then(|(_, list)| list);
            known.and_then(|list| list.get(feature).map(|feature| feature.files.clone())).unwrap_or_default()
        };
        let is_there = |path: &str| disk::is_inside(&store.place().project, path);
        let draft = ClaimDraft::parse(&input, store.root(), &store.config()?, files_of, is_there)?;
        if draft == ClaimDraft::List {
            return plan_claim(&store.documents().agents()?, &draft, store.folding(), &self.stamp(&caller)).map(|(_, outcome)| outcome);
        }
        let outcome = store
            .transact_on(Durability::Normal, Documents::agents, |shelf| plan_claim(shelf, &draft, store.folding(), &self.stamp(&caller)))?;
        Ok(ClaimOutcome { redacted, ..outcome })
    }

    /// Remembers that an agent called, once a minute and never by waiting. What
    /// fails here is tried again at the next call.
    pub fn beat(&self, caller: &Caller) {
        let stamp = self.stamp(caller);
        if !self.is_due(&caller.agent, stamp.at) {
            return;
        }
        let plan = |known: Option<&[u8]>| Presence::read(known).with(&stamp).to_text();
        if matches!(self.store().local_state().note_presence(plan), Ok(true)) {
            self.has_beaten(&caller.agent, stamp.at);
        }
    }

    fn is_due(&self, agent: &str, now: Time) -> bool {
        self.state::<Heartbeats>().lock().get(agent).is_none_or(|last| now.as_ms() - last.as_ms() >= BEAT_MS)
    }

    fn has_beaten(&self, agent: &str, now: Time) {
        let heartbeats = self.state::<Heartbeats>();
        let mut beats = heartbeats.lock();
        // A caller that invents a new name for every call must not fill our memory.
        if beats.len() >= twining_model::limits::PRESENCE {
            beats.clear();
        }
        beats.insert(agent.to_owned(), now);
    }
}
