//! Patterns: traces of the same agent, about the same guard or action, for the
//! same reason. Computed each time; the same traces give the same patterns.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use twining_guard::{Guard, Verdict};
use twining_model::{Channel, InvalidInput, Time, Trace, TraceType, Trust, limits};
use twining_store::{StoredTrace, disk};

use crate::fields::{self, fit_reply, is_false};

/// How often something happens before it is worth a rule.
const THRESHOLD: usize = 3;
/// Traces named with a pattern: the newest.
const NAMED: usize = 5;

/// What to look for.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PatternsInput {
    /// How often before it proposes; default 3
    pub threshold: Option<usize>,
    /// Only traces from this time on
    pub since: Option<String>,
    /// Default 20
    pub limit: Option<usize>,
}

/// What a pattern suggests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProposalKind {
    /// A new guard.
    Guard,
    /// Make the warning guard block.
    Stricter,
    /// The guard works; inform the agent in its prompt.
    Prompt,
}

/// A pattern's proposal.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Proposal {
    /// What to do.
    pub kind: ProposalKind,
    /// In words.
    pub say: String,
}

/// What keeps happening.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Pattern {
    /// The same for the same agent, guard or action, and reason.
    pub id: String,
    /// Who.
    pub agent: String,
    /// About which guard.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub guard: Option<String>,
    /// The most common action.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub action: String,
    /// Why it was wrong, from the newest trace.
    pub reason: String,
    /// What would have been right, if known.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub correct: String,
    /// How often.
    pub count: usize,
    /// How many count: seen here or reported by a person; an agent's reports count once a session.
    pub counted: usize,
    /// How many were blocked.
    pub blocked: usize,
    /// When first.
    pub first: String,
    /// When last.
    pub last: String,
    /// The newest traces.
    pub traces: Vec<String>,
    /// The proposal, past the threshold.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proposal: Option<Proposal>,
    /// The guard made from it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub made: Option<String>,
}

/// What keeps happening, most often first.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct PatternsOutcome {
    /// The patterns.
    pub patterns: Vec<Pattern>,
    /// How many traces were looked at.
    pub traces: usize,
    /// Count needed for a proposal.
    pub threshold: usize,
    /// Whether some were left out.
    #[serde(skip_serializing_if = "is_false")]
    pub truncated: bool,
}

/// A question, every rule checked.
#[derive(Clone, Debug)]
pub(crate) struct PatternsDraft {
    pub(crate) threshold: usize,
    since: Option<Time>,
    limit: usize,
}

impl PatternsDraft {
    pub(crate) fn parse(input: &PatternsInput) -> Result<Self, InvalidInput> {
        let threshold = input.threshold.unwrap_or(THRESHOLD);
        if !(2..=limits::PAGE).contains(&threshold) {
            return Err(InvalidInput::new(
                "threshold",
                format!("must be from 2 to {}", limits::PAGE),
            )
            .because(if threshold < 2 {
                "one case is not a pattern".to_owned()
            } else {
                format!("{threshold} was given")
            }));
        }
        let since = fields::optional("since", input.since.as_deref(), Time::parse)?;
        Ok(Self { threshold, since, limit: fields::page("limit", input.limit, 20)? })
    }
}

/// Traces of one kind, as they come.
#[derive(Default)]
struct PatternGroup {
    guard: Option<String>,
    agent: String,
    actions: BTreeMap<String, usize>,
    count: usize,
    counted: usize,
    blocked: usize,
    first: String,
    newest: Vec<(String, String)>,
    last: Option<(String, String, String, String)>,
    reporters: BTreeSet<String>,
}

/// Patterns being gathered.
#[derive(Default)]
pub(crate) struct PatternBuilder {
    groups: BTreeMap<String, PatternGroup>,
    traces: usize,
}

impl PatternBuilder {
    /// Looks at one trace.
    pub(crate) fn see(&mut self, seen: &StoredTrace<'_>, draft: &PatternsDraft) {
        let Some(trace) = Trace::read(seen.line).filter(|trace| {
            matches!(trace.kind(), Some(TraceType::Violation | TraceType::Correction))
        }) else {
            return;
        };
        if draft.since.is_some_and(|since| Time::read(&trace.timestamp).is_none_or(|at| at < since))
        {
            return;
        }
        self.traces += 1;
        let group = self.groups.entry(id_of(&trace)).or_default();
        group.count += 1;
        group.blocked += usize::from(trace.blocked);
        group.counted +=
            usize::from(counts(&trace, trace.trust(seen.written_here), &mut group.reporters));
        if let Some(action) = &trace.action {
            // A flood of different actions must not fill our memory.
            if group.actions.len() < 64 || group.actions.contains_key(action) {
                *group.actions.entry(action.clone()).or_default() += 1;
            }
        }
        if group.first.is_empty() || trace.timestamp < group.first {
            group.first.clone_from(&trace.timestamp);
        }
        group.newest.push((trace.timestamp.clone(), trace.id.clone()));
        group.newest.sort_unstable_by(|a, b| b.cmp(a));
        group.newest.truncate(NAMED);
        let reason = reason_of(&trace).to_owned();
        let newest = (trace.timestamp, trace.id, reason, trace.event.what_was_correct);
        if group.last.as_ref().is_none_or(|last| newest > *last) {
            group.last = Some(newest);
        }
        (group.guard, group.agent) = (trace.guard, trace.context.agent);
    }

    /// The patterns, with what follows from each as these guards are.
    pub(crate) fn patterns(self, draft: &PatternsDraft, guards: &[Guard]) -> PatternsOutcome {
        let traces = self.traces;
        let mut patterns: Vec<Pattern> = self
            .groups
            .into_iter()
            .map(|(id, group)| pattern(id, group, draft.threshold, guards))
            .collect();
        patterns.retain(|pattern| pattern.count >= 2);
        patterns.sort_by(|a, b| {
            b.counted.cmp(&a.counted).then(b.count.cmp(&a.count)).then(a.id.cmp(&b.id))
        });
        let more = patterns.len() > draft.limit;
        patterns.truncate(draft.limit);
        let (patterns, cut) = fit_reply(patterns);
        PatternsOutcome { patterns, traces, threshold: draft.threshold, truncated: more || cut }
    }

    /// One pattern.
    pub(crate) fn pattern(
        mut self,
        id: &str,
        draft: &PatternsDraft,
        guards: &[Guard],
    ) -> Option<Pattern> {
        self.groups.remove(id).map(|group| pattern(id.to_owned(), group, draft.threshold, guards))
    }
}

fn pattern(id: String, group: PatternGroup, threshold: usize, guards: &[Guard]) -> Pattern {
    let action = group
        .actions
        .iter()
        .max_by(|a, b| a.1.cmp(b.1).then(b.0.cmp(a.0)))
        .map(|(action, _)| action.clone())
        .unwrap_or_default();
    let (last, _, reason, correct) = group.last.unwrap_or_default();
    let origin = format!("pattern:{id}");
    let made = guards
        .iter()
        .find(|guard| guard.origin.as_deref() == Some(origin.as_str()))
        .map(|guard| guard.id.clone());
    let proposal = (group.counted >= threshold && made.is_none()).then(|| {
        let level = group.guard.as_ref().and_then(|id| guards.iter().filter(|guard| guard.id == *id).map(|guard| guard.action).max());
        match (level, &group.guard) {
            (Some(Verdict::Block), Some(guard)) => {
                Proposal { kind: ProposalKind::Prompt, say: format!("`{guard}` already blocks; mention it in the prompt of {}", group.agent) }
            }
            (Some(_), Some(guard)) => Proposal {
                kind: ProposalKind::Stricter,
                say: format!(
                    "`{guard}` only warns; a person can make it block: `twining guard promote {guard}`, or `action: block` in policy.yml"
                ),
            },
            _ => Proposal { kind: ProposalKind::Guard, say: format!("make a guard from it: call twining_create_guard with pattern {id}") },
        }
    });
    Pattern {
        id,
        agent: group.agent,
        guard: group.guard,
        action,
        reason,
        correct,
        count: group.count,
        counted: group.counted,
        blocked: group.blocked,
        first: group.first,
        last,
        traces: group.newest.into_iter().map(|(_, id)| id).collect(),
        proposal,
        made,
    }
}

/// Whether a trace counts towards a proposal. A hook's observation counts each time; an agent's own
/// report, once per session: ten thousand reports are one voice. For commands the session is only
/// an environment variable, which the caller can make up: an agent's reports by command are one
/// voice in total.
fn counts(trace: &Trace, trust: Trust, reporters: &mut BTreeSet<String>) -> bool {
    if trust < Trust::Agent {
        return false;
    }
    if trust == Trust::Human || trace.source == "enforcement_hook" {
        return true;
    }
    let reporter = match &trace.origin {
        Some(origin) if origin.via == Channel::Cli => {
            format!("by command: {}", trace.context.agent)
        }
        Some(origin) => origin.session.clone().unwrap_or_default(),
        None => String::new(),
    };
    reporters.len() < 10_000 && reporters.insert(reporter)
}

/// The pattern a trace belongs to.
fn id_of(trace: &Trace) -> String {
    let about = match (&trace.guard, &trace.action) {
        (Some(guard), _) => format!("guard:{guard}"),
        (None, Some(action)) => format!("action:{}", action.to_lowercase()),
        (None, None) => String::new(),
    };
    let key =
        format!("{}\n{about}\n{}", trace.context.agent.to_lowercase(), plain(reason_of(trace)));
    format!("pattern-{:016x}", disk::hash_of(key.as_bytes()))
}

fn reason_of(trace: &Trace) -> &str {
    if trace.event.why.is_empty() { &trace.event.what_happened } else { &trace.event.why }
}

/// A reason without what differs from time to time: what is quoted, and numbers.
fn plain(reason: &str) -> String {
    let mut plain = String::new();
    let mut quoted = false;
    for c in reason.to_lowercase().chars() {
        match c {
            '`' => {
                if !quoted {
                    plain.push('_');
                }
                quoted = !quoted;
            }
            _ if quoted => {}
            c if c.is_numeric() => {
                if !plain.ends_with('#') {
                    plain.push('#');
                }
            }
            c => plain.push(c),
        }
    }
    fields::fold(&plain)
}
