//! The registry: what each agent can do, and who fits a task.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use twining_model::{Agent, Change, Claim, InvalidInput, JsonDocument, Time, document, limits, text};
use twining_store::{AgentShelf, Config, StoreError};

use crate::agents::presence::{AgentLiveness, Presence};
use crate::agents::{HandoffSummary, current_claims, open_handoffs};
use crate::caller::Stamp;
use crate::failure::Failure;
use crate::hygiene::{Redaction, redact_fields};
use crate::words;

/// What an agent says of itself.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RegisterInput {
    /// Your name
    pub agent_id: Option<String>,
    /// What you can do, with commas between; added to what is known
    #[serde(default)]
    pub capabilities: Vec<String>,
    /// Your part in the team
    pub role: Option<String>,
    /// What else there is to say
    pub description: Option<String>,
}

redact_fields!(RegisterInput { capabilities, role, description, agent_id });

/// What the registry says of it now.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct RegisterOutcome {
    /// Who.
    pub agent_id: String,
    /// All that it can do.
    pub capabilities: Vec<String>,
    /// Since when it is known.
    pub registered_at: String,
    /// Whether it was known before.
    pub updated: bool,
    /// What a person should look at.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Secrets that were taken out before anything was written.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub redacted: Vec<Redaction>,
}

/// Which agents to list.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AgentsInput {
    /// Also those who are gone
    #[serde(default)]
    pub include_gone: bool,
}

/// One agent.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct AgentSummary {
    /// What it calls itself.
    pub agent_id: String,
    /// What it can do.
    pub capabilities: Vec<String>,
    /// Its part in the team.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// What else there is to say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Whether it is at work.
    pub liveness: AgentLiveness,
    /// When it was last heard of.
    pub last_active: String,
    /// Since when it is registered; none if it only called.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub registered_at: Option<String>,
    /// Why its name may be made to be taken for another.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suspicious: Option<String>,
}

/// Who is there.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct AgentsOutcome {
    /// Those heard of last come first.
    pub agents: Vec<AgentSummary>,
    /// How many are left out because they are gone.
    pub gone: u64,
    /// Parts of the project that somebody holds.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub claims: Vec<Claim>,
    /// Handoffs that nobody took yet, newest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub handoffs: Vec<HandoffSummary>,
}

/// Whom to look for.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DiscoverInput {
    /// What they must be able to do, with commas between
    pub required_capabilities: Vec<String>,
    /// Also those who are gone
    #[serde(default)]
    pub include_gone: bool,
    /// Leave out worse fits; from 0 to 1
    pub min_score: Option<f64>,
}

/// Somebody who fits.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct AgentMatch {
    /// What it calls itself.
    pub agent_id: String,
    /// How well it fits, from 0 to 1.
    pub score: f64,
    /// What it can of what is wanted.
    pub matched: Vec<String>,
    /// What it cannot.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
    /// Whether it is at work.
    pub liveness: AgentLiveness,
}

/// Who fits, best first.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct DiscoverOutcome {
    /// Those who can at least some of it.
    pub agents: Vec<AgentMatch>,
    /// How many were looked at.
    pub registered: u64,
}

/// Takes capabilities: short words, in lower case.
pub(super) fn capabilities(field: &'static str, given: &[String]) -> Result<Vec<String>, InvalidInput> {
    let lower: Vec<String> = given.iter().map(|word| words::fold(&word.to_lowercase())).collect();
    text::list(field, &lower, limits::TAGS, limits::TAG_BYTES)
}

/// Every agent of the registry, by name. Where a merge left one twice, what
/// either side knows is known.
pub(super) fn registered(agent_files: &AgentShelf) -> BTreeMap<String, Agent> {
    let mut agents: BTreeMap<String, Agent> = BTreeMap::new();
    for (_, element) in agent_files.registered().elements {
        let Ok(agent) = serde_json::from_str::<Agent>(&element) else { continue };
        match agents.get_mut(&agent.agent_id) {
            None => drop(agents.insert(agent.agent_id.clone(), agent)),
            Some(known) => {
                let more = agent.capabilities.iter().filter(|word| !known.capabilities.contains(word));
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
    agent_files: &AgentShelf,
    input: &RegisterInput,
    stamp: &Stamp<'_>,
) -> Result<(Change, RegisterOutcome), Failure> {
    let name = &stamp.caller.agent;
    let given = capabilities("capabilities", &input.capabilities)?;
    let role = input.role.as_deref().map(|role| text::name("role", role)).transpose()?;
    let description = input.description.as_deref().map(|words| text::long("description", words)).transpose()?;
    let agents = registered(agent_files);
    let known = agents.get(name);
    if known.is_none() && agents.len() >= limits::AGENTS {
        return Err(InvalidInput::new("agent_id", format!("would be one more than the {} agents a registry holds", limits::AGENTS)).into());
    }
    let mut all = known.map(|agent| agent.capabilities.clone()).unwrap_or_default();
    all.extend(given.into_iter().filter(|word| !known.is_some_and(|agent| agent.capabilities.contains(word))));
    limits::at_most("capabilities", &all, limits::LIST)?;
    let registered_at = known.map(|agent| agent.registered_at.clone()).filter(|at| !at.is_empty()).unwrap_or_else(|| stamp.at.to_string());
    let mut fields: Vec<(&str, Value)> = vec![
        ("agent_id", json!(name)),
        ("capabilities", json!(all)),
        ("registered_at", json!(registered_at)),
        ("last_active", json!(stamp.at)),
        ("origin", json!(stamp.caller.origin)),
    ];
    fields.extend(role.map(|role| ("role", json!(role))));
    fields.extend(description.map(|words| ("description", json!(words))));
    let before = agent_files.registered().elements.into_iter().rev().map(|(_, element)| element.into_owned());
    let before = before.into_iter().find(|element| serde_json::from_str::<Agent>(element).is_ok_and(|agent| agent.agent_id == *name));
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
    Ok((Change { agents: [(name.clone(), element)].into(), presence: Some(presence), ..Change::default() }, outcome))
}

/// An element with these fields set, the others as they were.
fn amended(element: &str, fields: &[(&str, Value)]) -> Result<String, Failure> {
    let encode = |error: serde_json::Error| Failure::from(StoreError::from(error));
    let mut document = JsonDocument::parse(element.as_bytes()).map_err(encode)?;
    for (name, value) in fields {
        document.set(name, value).map_err(encode)?;
    }
    Ok(document::compact(&document.to_pretty().map_err(encode)?))
}

/// Lists who is there.
pub(crate) fn agents(agent_files: &AgentShelf, input: &AgentsInput, config: &Config, now: Time) -> Result<AgentsOutcome, Failure> {
    let mut agents = everyone(agent_files, config, now);
    let all = agents.len();
    if !input.include_gone {
        agents.retain(|agent| agent.liveness != AgentLiveness::Gone);
    }
    agents.sort_by(|a, b| b.last_active.cmp(&a.last_active).then_with(|| a.agent_id.cmp(&b.agent_id)));
    let gone = (all - agents.len()) as u64;
    agents.truncate(limits::PAGE);
    Ok(AgentsOutcome { agents, gone, claims: current_claims(agent_files, now), handoffs: open_handoffs(agent_files, 10, |_| true)? })
}

/// Everyone who is registered or called lately.
pub(crate) fn everyone(agent_files: &AgentShelf, config: &Config, now: Time) -> Vec<AgentSummary> {
    let presence = Presence::read(agent_files.presence.as_deref());
    let mut known = registered(agent_files);
    for name in presence.agents.keys() {
        known.entry(name.clone()).or_insert_with(|| Agent { agent_id: name.clone(), ..Agent::default() });
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

/// Finds who can do what is wanted.
pub(crate) fn discover(agent_files: &AgentShelf, input: &DiscoverInput, config: &Config, now: Time) -> Result<DiscoverOutcome, Failure> {
    let wanted = capabilities("required_capabilities", &input.required_capabilities)?;
    if wanted.is_empty() {
        return Err(InvalidInput::new("required_capabilities", "must name at least one capability").into());
    }
    let least = input.min_score.unwrap_or(0.0);
    if !(0.0..=1.0).contains(&least) {
        return Err(InvalidInput::new("min_score", "must be from 0 to 1").into());
    }
    let everyone = everyone(agent_files, config, now);
    let registered = everyone.iter().filter(|agent| agent.registered_at.is_some()).count() as u64;
    let mut found: Vec<AgentMatch> = everyone.into_iter().filter_map(|agent| fit(agent, &wanted)).collect();
    found.retain(|agent| agent.score >= least && (input.include_gone || agent.liveness != AgentLiveness::Gone));
    found.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| a.agent_id.cmp(&b.agent_id)));
    found.truncate(limits::PAGE);
    Ok(DiscoverOutcome { agents: found, registered })
}

fn fit(agent: AgentSummary, wanted: &[String]) -> Option<AgentMatch> {
    let (matched, missing): (Vec<String>, Vec<String>) = wanted.iter().cloned().partition(|word| agent.capabilities.contains(word));
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
    let twin = others.into_iter().find(|other| other.as_str() != name && text::look_alike(other, name));
    match twin {
        Some(twin) => Some(format!("`{}` looks like `{}`", text::excerpt(name, 60), text::excerpt(twin, 60))),
        None if text::mixes_scripts(name) => Some(format!("`{}` mixes letters of two alphabets", text::excerpt(name, 60))),
        None => None,
    }
}
