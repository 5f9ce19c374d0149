//! The registry: what each agent can do, and who fits a task.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use twining_model::{
    Agent, Change, Channel, Claim, HandoffSnapshot, Id, InvalidInput, JsonDocument, Time, Trust,
    json_document, limits, text, words,
};
use twining_store::{AgentFiles, Config, Documents, Durability, StoreError, config, disk};

use crate::agents::{HandoffSummary, current_claims, open_handoffs, *};
use crate::caller::{Caller, Stamp};
use crate::engine::Engine;
use crate::failure::Failure;
use crate::secrets::{Redaction, clean, redact_fields};
use crate::{agents, fields};

/// What an agent says about itself.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RegisterInput {
    /// Your name
    pub agent_id: Option<String>,
    /// Your capabilities, comma-separated; added to known ones
    pub capabilities: Vec<String>,
    /// Your role in the team
    pub role: Option<String>,
    /// Anything else about you
    pub description: Option<String>,
}

redact_fields!(RegisterInput { capabilities, role, description, agent_id });

/// Its current registry record.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct RegisterOutcome {
    /// Who.
    pub agent_id: String,
    /// All its capabilities.
    pub capabilities: Vec<String>,
    /// When it was registered.
    pub registered_at: String,
    /// Whether it was known already.
    pub updated: bool,
    /// What a person should look at.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Secrets redacted before writing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub redacted: Vec<Redaction>,
}

/// Which agents to list.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AgentsInput {
    /// Also `gone` agents
    #[serde(default)]
    pub include_gone: bool,
}

/// One agent.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct AgentSummary {
    /// What it calls itself.
    pub agent_id: String,
    /// Its capabilities.
    pub capabilities: Vec<String>,
    /// Its role in the team.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// Anything else about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Whether it is active.
    pub liveness: AgentLiveness,
    /// When it was last active.
    pub last_active: String,
    /// When it was registered; none if it never registered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub registered_at: Option<String>,
    /// Why its name may be an imitation of another.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suspicious: Option<String>,
}

/// The known agents.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct AgentsOutcome {
    /// Most recently active first.
    pub agents: Vec<AgentSummary>,
    /// How many `gone` agents are left out.
    pub gone: u64,
    /// Active claims.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub claims: Vec<Claim>,
    /// Unacknowledged handoffs, newest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub handoffs: Vec<HandoffSummary>,
}

/// Which agents to find.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DiscoverInput {
    /// Capabilities needed, comma-separated
    pub required_capabilities: Vec<String>,
    /// Also `gone` agents
    #[serde(default)]
    pub include_gone: bool,
    /// Minimum fit, from 0 to 1
    pub min_score: Option<f64>,
}

/// A matching agent.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct AgentMatch {
    /// What it calls itself.
    pub agent_id: String,
    /// How well it fits, from 0 to 1.
    pub score: f64,
    /// The needed capabilities it has.
    pub matched: Vec<String>,
    /// Needed ones it lacks.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
    /// Whether it is active.
    pub liveness: AgentLiveness,
}

/// Matching agents, best first.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct DiscoverOutcome {
    /// Agents that match at least partly.
    pub agents: Vec<AgentMatch>,
    /// How many were checked.
    pub registered: u64,
}

/// Takes capabilities: short words, in lower case.
pub(super) fn capabilities(
    field: &'static str,
    given: &[String],
) -> Result<Vec<String>, InvalidInput> {
    let lower: Vec<String> = given.iter().map(|word| fields::fold(&word.to_lowercase())).collect();
    text::list(field, &lower, limits::TAGS, limits::TAG_BYTES)
}

/// Every agent of the registry, by name. Where a merge left one twice, what
/// either side knows is known.
pub(super) fn registered(agent_files: &AgentFiles) -> BTreeMap<String, Agent> {
    let mut agents: BTreeMap<String, Agent> = BTreeMap::new();
    for (_, element) in agent_files.registered().elements {
        let Ok(agent) = serde_json::from_str::<Agent>(&element) else { continue };
        match agents.get_mut(&agent.agent_id) {
            None => drop(agents.insert(agent.agent_id.clone(), agent)),
            Some(known) => {
                let more =
                    agent.capabilities.iter().filter(|word| !known.capabilities.contains(word));
                let mut all = known.capabilities.clone();
                all.extend(more.cloned());
                let (first, last) = (known.registered_at.clone(), known.last_active.clone());
                *known = agent;
                known.capabilities = all;
                known.registered_at = first.min(known.registered_at.clone());
                known.last_active = last.max(known.last_active.clone());
            }
        }
    }
    agents
}

/// Plans what the registry says of the caller from now on.
pub(crate) fn plan_register(
    agent_files: &AgentFiles,
    input: &RegisterInput,
    stamp: &Stamp<'_>,
) -> Result<(Change, RegisterOutcome), Failure> {
    let name = &stamp.caller.agent;
    let given = capabilities("capabilities", &input.capabilities)?;
    let role = fields::optional("role", input.role.as_deref(), text::name)?;
    let description = fields::optional("description", input.description.as_deref(), text::long)?;
    let agents = registered(agent_files);
    let known = agents.get(name);
    if known.is_none() && agents.len() >= limits::AGENTS {
        return Err(InvalidInput::new(
            "agent_id",
            format!("would exceed the limit of {} registered agents", limits::AGENTS),
        )
        .into());
    }
    let mut all = known.map(|agent| agent.capabilities.clone()).unwrap_or_default();
    all.extend(
        given
            .into_iter()
            .filter(|word| !known.is_some_and(|agent| agent.capabilities.contains(word))),
    );
    limits::at_most("capabilities", &all, limits::LIST)?;
    let registered_at = known
        .map(|agent| agent.registered_at.clone())
        .filter(|at| !at.is_empty())
        .unwrap_or_else(|| stamp.at.to_string());
    let mut fields: Vec<(&str, Value)> = vec![
        ("agent_id", json!(name)),
        ("capabilities", json!(all)),
        ("registered_at", json!(registered_at)),
        ("last_active", json!(stamp.at)),
        ("origin", json!(stamp.caller.origin)),
    ];
    fields.extend(role.map(|role| ("role", json!(role))));
    fields.extend(description.map(|words| ("description", json!(words))));
    let before = agent_files
        .registered()
        .elements
        .into_iter()
        .rev()
        .map(|(_, element)| element.into_owned());
    let before = before.into_iter().find(|element| {
        serde_json::from_str::<Agent>(element).is_ok_and(|agent| agent.agent_id == *name)
    });
    let element = amended(before.as_deref().unwrap_or("{}"), &fields)?;
    let presence = Presence::read(agent_files.presence.as_deref()).with(stamp).to_text();
    let outcome = RegisterOutcome {
        agent_id: name.clone(),
        capabilities: all,
        registered_at,
        updated: known.is_some(),
        redacted: Vec::new(),
        notes: resembling(name, agents.keys()).into_iter().collect(),
    };
    Ok((
        Change {
            agents: [(name.clone(), element)].into(),
            presence: Some(presence),
            ..Change::default()
        },
        outcome,
    ))
}

/// An element with these fields set, the others as they were.
fn amended(element: &str, fields: &[(&str, Value)]) -> Result<String, Failure> {
    let encode = |error: serde_json::Error| Failure::from(StoreError::from(error));
    let mut document = JsonDocument::parse(element.as_bytes()).map_err(encode)?;
    for (name, value) in fields {
        document.set(name, value).map_err(encode)?;
    }
    Ok(json_document::compact(&document.to_pretty().map_err(encode)?))
}

/// Everyone who is registered or called lately.
pub(crate) fn everyone(agent_files: &AgentFiles, config: &Config, now: Time) -> Vec<AgentSummary> {
    let presence = Presence::read(agent_files.presence.as_deref());
    let mut known = registered(agent_files);
    for name in presence.agents.keys() {
        known
            .entry(name.clone())
            .or_insert_with(|| Agent { agent_id: name.clone(), ..Agent::default() });
    }
    let names: Vec<String> = known.keys().cloned().collect();
    let shown = known.into_values().map(|agent| {
        let called = presence.agents.get(&agent.agent_id).map(|seen| seen.at);
        // A time ahead of the clock would keep an agent at work for ever.
        let last = called.max(Time::read(&agent.last_active)).map(|last| last.min(now));
        let suspicious = resembling(&agent.agent_id, names.iter());
        AgentSummary {
            liveness: AgentLiveness::of(last, now, config.agents.liveness),
            last_active: last.map_or_else(|| agent.last_active.clone(), |last| last.to_string()),
            registered_at: Some(agent.registered_at).filter(|at| !at.is_empty()),
            agent_id: agent.agent_id,
            capabilities: agent.capabilities,
            role: agent.role,
            description: agent.description,
            suspicious,
        }
    });
    shown.collect()
}

/// When an agent last called, on any machine, as far as is known here.
pub(crate) fn last_call(agent_files: &AgentFiles, agent: &str) -> Option<Time> {
    let called = Presence::read(agent_files.presence.as_deref()).agents.get(agent).map(|it| it.at);
    let known = registered(agent_files).remove(agent);
    called.max(known.and_then(|agent| Time::read(&agent.last_active)))
}

/// Finds who can do what is wanted.
pub(crate) fn discover(
    agent_files: &AgentFiles,
    input: &DiscoverInput,
    config: &Config,
    now: Time,
) -> Result<DiscoverOutcome, Failure> {
    let wanted = capabilities("required_capabilities", &input.required_capabilities)?;
    if wanted.is_empty() {
        return Err(InvalidInput::new(
            "required_capabilities",
            "must name at least one capability",
        )
        .into());
    }
    let least = input.min_score.unwrap_or(0.0);
    if !(0.0..=1.0).contains(&least) {
        return Err(InvalidInput::new("min_score", "must be from 0 to 1").into());
    }
    let everyone = everyone(agent_files, config, now);
    let registered = everyone.iter().filter(|agent| agent.registered_at.is_some()).count() as u64;
    let mut found: Vec<AgentMatch> =
        everyone.into_iter().filter_map(|agent| fit(agent, &wanted)).collect();
    found.retain(|agent| {
        agent.score >= least && (input.include_gone || agent.liveness != AgentLiveness::Gone)
    });
    found.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| a.agent_id.cmp(&b.agent_id)));
    found.truncate(limits::PAGE);
    Ok(DiscoverOutcome { agents: found, registered })
}

fn fit(agent: AgentSummary, wanted: &[String]) -> Option<AgentMatch> {
    let (matched, missing): (Vec<String>, Vec<String>) =
        wanted.iter().cloned().partition(|word| agent.capabilities.contains(word));
    if matched.is_empty() {
        return None;
    }
    let overlap = matched.len() as f64 / wanted.len() as f64;
    let score = ((0.7 * overlap + 0.3 * agent.liveness.weight()) * 1000.0).round() / 1000.0;
    Some(AgentMatch { agent_id: agent.agent_id, score, matched, missing, liveness: agent.liveness })
}

/// Why a name may be made to be taken for another: letters of two alphabets in
/// one, or the same look as one that is known.
fn resembling<'n>(name: &str, others: impl Iterator<Item = &'n String>) -> Option<String> {
    let twin =
        others.into_iter().find(|other| other.as_str() != name && text::look_alike(other, name));
    match twin {
        Some(twin) => {
            Some(format!("`{}` looks like `{}`", text::excerpt(name, 60), text::excerpt(twin, 60)))
        }
        None if text::mixes_scripts(name) => {
            Some(format!("`{}` mixes letters of two alphabets", text::excerpt(name, 60)))
        }
        None => None,
    }
}

words! {
    /// How recently an agent was active, most recent first.
    pub enum AgentLiveness {
        /// Active now.
        Active = "active",
        /// Not active for a while.
        Idle = "idle",
        /// Inactive.
        Gone = "gone",
    }
}

impl AgentLiveness {
    /// What the time since `last` says.
    #[must_use]
    pub fn of(last: Option<Time>, now: Time, after: config::Liveness) -> Self {
        let Some(last) = last else { return Self::Gone };
        let quiet = u64::try_from(now.since(last).as_millis()).unwrap_or(u64::MAX);
        match quiet {
            quiet if quiet >= after.gone_after_ms => Self::Gone,
            quiet if quiet >= after.idle_after_ms => Self::Idle,
            _ => Self::Active,
        }
    }

    /// How much it counts when somebody is looked for.
    pub(super) fn weight(self) -> f64 {
        match self {
            Self::Active => 1.0,
            Self::Idle => 0.5,
            Self::Gone => 0.1,
        }
    }
}

/// The last call of an agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct LastCall {
    pub(crate) at: Time,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) session: Option<String>,
}

/// `local/presence.json`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Presence {
    #[serde(default)]
    pub(crate) agents: BTreeMap<String, LastCall>,
}

impl Presence {
    /// Reads the file; one that is no such file knows of nobody.
    pub(crate) fn read(bytes: Option<&[u8]>) -> Self {
        bytes.and_then(|bytes| serde_json::from_slice(bytes).ok()).unwrap_or_default()
    }

    /// Records this call. Drops the agents seen longest ago beyond the limit.
    pub(crate) fn with(mut self, stamp: &Stamp<'_>) -> Self {
        // A browser is no agent: nobody waits for the person behind it.
        if stamp.caller.origin.via == Channel::Web {
            return self;
        }
        let seen = LastCall { at: stamp.at, session: stamp.caller.origin.session.clone() };
        self.agents.insert(stamp.caller.agent.clone(), seen);
        while self.agents.len() > limits::PRESENCE {
            let Some(oldest) =
                self.agents.iter().min_by_key(|(_, seen)| seen.at).map(|(name, _)| name.clone())
            else {
                break;
            };
            self.agents.remove(&oldest);
        }
        self
    }

    pub(crate) fn to_text(&self) -> String {
        serde_json::to_string(self).unwrap_or_default() + "\n"
    }
}

/// How often a process says that its agents are there.
const HEARTBEAT_MS: i64 = 60_000;

/// When this process last recorded an agent's presence.
#[derive(Default)]
struct Heartbeats(Mutex<HashMap<String, Time>>);

impl Heartbeats {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, Time>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Engine {
    /// Registers an agent, or what is newly known of it.
    pub fn register(
        &self,
        caller: &Caller,
        input: &RegisterInput,
    ) -> Result<RegisterOutcome, Failure> {
        let (input, redacted) = clean(input);
        let caller = caller.called(input.agent_id.as_deref())?;
        let registered =
            self.store().transact_on(Durability::Normal, Documents::agents, |agent_files| {
                plan_register(agent_files, &input, &self.stamp(&caller))
            })?;
        Ok(RegisterOutcome { redacted, ..registered })
    }

    /// Lists who is there.
    pub fn agents(&self, input: &AgentsInput) -> Result<AgentsOutcome, Failure> {
        let (agent_files, now) = (self.store().documents().agents()?, self.store().ids().now());
        let mut agents = everyone(&agent_files, &self.store().config()?, now);
        let all = agents.len();
        if !input.include_gone {
            agents.retain(|agent| agent.liveness != AgentLiveness::Gone);
        }
        agents.sort_by(|a, b| {
            b.last_active.cmp(&a.last_active).then_with(|| a.agent_id.cmp(&b.agent_id))
        });
        let gone = (all - agents.len()) as u64;
        agents.truncate(limits::PAGE);
        Ok(AgentsOutcome {
            agents,
            gone,
            claims: current_claims(&agent_files, now),
            handoffs: open_handoffs(&agent_files, 10, |_| true)?,
        })
    }

    /// Finds who can do what is wanted.
    pub fn discover(&self, input: &DiscoverInput) -> Result<DiscoverOutcome, Failure> {
        agents::discover(
            &self.store().documents().agents()?,
            input,
            &self.store().config()?,
            self.store().ids().now(),
        )
    }

    /// Asks for help, and suggests agents for it.
    pub fn delegate(
        &self,
        caller: &Caller,
        input: &DelegateInput,
    ) -> Result<DelegateOutcome, Failure> {
        let (input, redacted) = clean(input);
        let caller = caller.called(input.agent_id.as_deref())?;
        let config = self.store().config()?;
        let draft = DelegateDraft::parse(&input, self.store().root(), &config)?;
        let agent_files = self.store().documents().agents()?;
        let (entry, delegated) = self
            .store()
            .view(|view| delegate(view, &agent_files, &draft, &config, &self.stamp(&caller)))?;
        self.store().post(&[entry])?;
        self.heartbeat(&caller);
        Ok(DelegateOutcome { redacted, ..delegated })
    }

    /// Hands work over, with what holds there.
    pub fn handoff(
        &self,
        caller: &Caller,
        input: &HandoffInput,
    ) -> Result<HandoffOutcome, Failure> {
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
    pub fn acknowledge(
        &self,
        caller: &Caller,
        input: &AcknowledgeInput,
    ) -> Result<HandoffSummary, Failure> {
        let caller = caller.called(input.agent_id.as_deref())?;
        let id = Id::parse("handoff_id", input.handoff_id.trim())?;
        let taken =
            self.store().transact_on(Durability::Strict, Documents::agents, |agent_files| {
                plan_acknowledge(agent_files, &id, &self.stamp(&caller))
            })?;
        self.heartbeat(&caller);
        Ok(taken)
    }

    /// Claims a part of the project, releases it, or lists claims.
    pub fn claim(&self, caller: &Caller, input: &ClaimInput) -> Result<ClaimOutcome, Failure> {
        let (input, redacted) = clean(input);
        let mut caller = caller.called(input.agent_id.as_deref())?;
        let store = self.store();
        let signature = store.outbox().signature()?;
        if let (None, Some(signature)) = (&caller.origin.principal, &signature) {
            // In a linked folder, the one whose token it is shared with.
            caller.origin.principal = Some(signature.principal.clone());
        }
        let may_release = signature.is_none_or(|one| one.is_person || one.is_maintainer);
        let files_of = |feature: &str| {
            let known = self.feature_list().ok().and_then(|(_, list)| list);
            known
                .and_then(|list| list.get(feature).map(|feature| feature.files.clone()))
                .unwrap_or_default()
        };
        let is_there = |path: &str| disk::is_inside(&store.location().project, path);
        let draft = ClaimDraft::parse(&input, store.root(), &store.config()?, files_of, is_there)?;
        if draft == ClaimDraft::List {
            return plan_claim(
                &store.documents().agents()?,
                &draft,
                store.folding(),
                &self.stamp(&caller),
            )
            .map(|(_, outcome)| outcome);
        }
        let outcome = store.transact_on(Durability::Normal, Documents::agents, |agent_files| {
            let stamp = self.stamp(&caller);
            let (change, outcome) = plan_claim(agent_files, &draft, store.folding(), &stamp)?;
            if !may_release {
                check_released(&current_claims(agent_files, stamp.at), &outcome, &caller)?;
            }
            Ok::<_, Failure>((change, outcome))
        })?;
        Ok(ClaimOutcome { redacted, ..outcome })
    }

    /// Remembers that an agent called, once a minute and never by waiting. What
    /// fails here is tried again at the next call.
    pub fn heartbeat(&self, caller: &Caller) {
        // A person at the page or a terminal is no agent at work.
        if caller.origin.trust == Trust::Human {
            return;
        }
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
        self.state::<Heartbeats>()
            .lock()
            .get(agent)
            .is_none_or(|last| now.as_ms() - last.as_ms() >= HEARTBEAT_MS)
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
