//! The verbs of agents.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use twining_model::{HandoffSnapshot, Id, Time};
use twining_store::{Documents, Durability, disk};

use crate::agents::{self, *};
use crate::caller::Caller;
use crate::engine::Engine;
use crate::failure::Failure;
use crate::hygiene::clean;

/// How often a process says that its agents are there.
const HEARTBEAT_MS: i64 = 60_000;

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
    pub fn register(&self, caller: &Caller, input: &RegisterInput) -> Result<RegisterOutcome, Failure> {
        let (input, redacted) = clean(input);
        let caller = caller.called(input.agent_id.as_deref())?;
        let registered = self
            .store()
            .transact_on(Durability::Normal, Documents::agents, |agent_files| plan_register(agent_files, &input, &self.stamp(&caller)))?;
        Ok(RegisterOutcome { redacted, ..registered })
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
    pub fn delegate(&self, caller: &Caller, input: &DelegateInput) -> Result<DelegateOutcome, Failure> {
        let (input, redacted) = clean(input);
        let caller = caller.called(input.agent_id.as_deref())?;
        let config = self.store().config()?;
        let draft = DelegateDraft::parse(&input, self.store().root(), &config)?;
        let agent_files = self.store().documents().agents()?;
        let (entry, delegated) = self.store().view(|view| delegate(view, &agent_files, &draft, &config, &self.stamp(&caller)))?;
        self.store().post(&[entry])?;
        self.heartbeat(&caller);
        Ok(DelegateOutcome { redacted, ..delegated })
    }

    /// Hands work over, with what holds there.
    pub fn handoff(&self, caller: &Caller, input: &HandoffInput) -> Result<HandoffOutcome, Failure> {
        let (input, redacted) = clean(input);
        let caller = caller.called(input.source_agent.as_deref())?;
        let draft = HandoffDraft::parse(&input, self.store().root())?;
        let held = if input.auto_snapshot.unwrap_or(true) {
            self.snapshot(&caller, draft.task(), draft.scope.to_string(), input.max_tokens)?
        } else {
            HandoffSnapshot::default()
        };
        let (change, handed) = plan_handoff(&draft, &held, &self.stamp(&caller))?;
        self.store().write(Durability::Strict, &change)?;
        self.heartbeat(&caller);
        Ok(HandoffOutcome { redacted, ..handed })
    }

    /// Takes over what was handed over.
    pub fn acknowledge(&self, caller: &Caller, input: &AcknowledgeInput) -> Result<HandoffSummary, Failure> {
        let caller = caller.called(input.agent_id.as_deref())?;
        let id = Id::parse("handoff_id", input.handoff_id.trim())?;
        let taken = self
            .store()
            .transact_on(Durability::Strict, Documents::agents, |agent_files| plan_acknowledge(agent_files, &id, &self.stamp(&caller)))?;
        self.heartbeat(&caller);
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
        let outcome = store.transact_on(Durability::Normal, Documents::agents, |agent_files| {
            plan_claim(agent_files, &draft, store.folding(), &self.stamp(&caller))
        })?;
        Ok(ClaimOutcome { redacted, ..outcome })
    }

    /// Remembers that an agent called, once a minute and never by waiting. What
    /// fails here is tried again at the next call.
    pub fn heartbeat(&self, caller: &Caller) {
        let stamp = self.stamp(caller);
        if !self.is_due(&caller.agent, stamp.at) {
            return;
        }
        let plan = |known: Option<&[u8]>| Presence::read(known).with(&stamp).to_text();
        if matches!(self.store().local_state().note_presence(plan), Ok(true)) {
            self.note_heartbeat(&caller.agent, stamp.at);
        }
    }

    fn is_due(&self, agent: &str, now: Time) -> bool {
        self.state::<Heartbeats>().lock().get(agent).is_none_or(|last| now.as_ms() - last.as_ms() >= HEARTBEAT_MS)
    }

    fn note_heartbeat(&self, agent: &str, now: Time) {
        let heartbeats = self.state::<Heartbeats>();
        let mut last_calls = heartbeats.lock();
        // A caller that invents a new name for every call must not fill our memory.
        if last_calls.len() >= twining_model::limits::PRESENCE {
            last_calls.clear();
        }
        last_calls.insert(agent.to_owned(), now);
    }
}
