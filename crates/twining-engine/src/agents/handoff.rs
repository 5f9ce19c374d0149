//! Handing over: what was done, what held then, and who takes it on.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use twining_model::{
    Change, Entry, EntryType, Handoff, HandoffFile, HandoffResult, HandoffSnapshot, Id,
    InvalidInput, JsonDocument, ProjectRoot, Scope, Trust, limits, text,
};
use twining_store::{AgentFiles, StoreError};

use crate::blackboard::note;
use crate::caller::{Caller, Stamp};
use crate::failure::Failure;
use crate::fields;
use crate::input_types::result_schema;
use crate::secrets::{Redaction, redact_fields};

/// The tag of entries about handoffs.
const TAG: &str = "handoff";
const STATUSES: [&str; 4] = ["completed", "partial", "blocked", "failed"];

/// What is handed over, as given by the caller.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HandoffInput {
    /// One-line status
    pub summary: String,
    /// Result of one part, as JSON: {"description":…,"status":…}; repeat the flag for more
    #[schemars(extend("items" = result_schema()))]
    pub results: Vec<HandoffResult>,
    /// Who takes over; default: anyone
    pub target_agent: Option<String>,
    /// File, directory, module or `project` (default)
    ///
    /// A path is relative to the project
    pub scope: Option<String>,
    /// Whether to add a context snapshot; default true
    pub auto_snapshot: Option<bool>,
    /// Snapshot token budget
    pub max_tokens: Option<usize>,
    /// Your name
    pub source_agent: Option<String>,
}

redact_fields!(HandoffInput { summary, results, scope, source_agent, target_agent });

/// What was handed over.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct HandoffOutcome {
    /// Its id, for twining_acknowledge.
    pub id: String,
    /// When.
    pub created_at: String,
    /// The file, inside `.twining`.
    pub path: String,
    /// The entry that announces it.
    pub entry: String,
    /// The context then.
    pub context_snapshot: HandoffSnapshot,
    /// Secrets redacted before writing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub redacted: Vec<Redaction>,
}

/// Which handoff to acknowledge, as whom.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AcknowledgeInput {
    /// The handoff's id
    pub handoff_id: String,
    /// Your name
    pub agent_id: Option<String>,
}

/// A handoff.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct HandoffSummary {
    /// Its id.
    pub id: String,
    /// When.
    pub created_at: String,
    /// Who handed over.
    pub source_agent: String,
    /// To whom.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target_agent: Option<String>,
    /// What it is about.
    pub scope: String,
    /// One line.
    pub summary: String,
    /// Its results, in the full view only.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub results: Vec<HandoffResult>,
    /// The context then, in the full view only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_snapshot: Option<HandoffSnapshot>,
    /// Who acknowledged it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub acknowledged_by: Option<String>,
    /// When.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub acknowledged_at: Option<String>,
}

/// A handoff to be, every rule checked.
#[derive(Clone, Debug)]
pub(crate) struct HandoffDraft {
    pub(crate) target: Option<String>,
    pub(crate) summary: String,
    pub(crate) results: Vec<HandoffResult>,
    pub(crate) scope: Scope,
}

impl HandoffDraft {
    pub(crate) fn parse(input: &HandoffInput, root: &ProjectRoot) -> Result<Self, InvalidInput> {
        limits::at_most("results", &input.results, limits::HANDOFF_RESULTS)?;
        if input.results.is_empty() {
            return Err(InvalidInput::new("results", "must have at least one result")
                .because("each result needs a `description` and a `status`"));
        }
        let results = input.results.iter().map(result).collect::<Result<_, _>>()?;
        Ok(Self {
            target: fields::optional("target_agent", input.target_agent.as_deref(), Caller::name)?,
            summary: text::summary_beside("summary", &input.summary, "results")?,
            results,
            scope: fields::scope_or_project(input.scope.as_deref(), root)?,
        })
    }

    /// What the context is put together for.
    pub(crate) fn task(&self) -> String {
        let described = self.results.iter().map(|result| result.description.as_str());
        fields::clip(
            &std::iter::once(self.summary.as_str()).chain(described).collect::<Vec<_>>().join("; "),
            4 * limits::ELEMENT_BYTES,
        )
    }
}

fn result(given: &HandoffResult) -> Result<HandoffResult, InvalidInput> {
    Ok(HandoffResult {
        description: text::required("results", &given.description)?,
        status: fields::one_of("results", given.status.trim(), &STATUSES.map(|word| (word, word)))?
            .to_owned(),
        artifacts: fields::list("results", &given.artifacts)?,
        notes: fields::optional("results", given.notes.as_deref(), text::long)?,
    })
}

/// Plans a handoff's file and the entry that announces it.
pub(crate) fn plan_handoff(
    draft: &HandoffDraft,
    snapshot: &HandoffSnapshot,
    stamp: &Stamp<'_>,
) -> Result<(Change, HandoffOutcome), Failure> {
    let id = stamp.ids.next();
    let handoff = Handoff {
        id: id.to_string(),
        created_at: stamp.at.to_string(),
        source_agent: stamp.caller.agent.clone(),
        target_agent: draft.target.clone(),
        scope: Some(draft.scope.to_string()),
        summary: draft.summary.clone(),
        results: draft.results.clone(),
        context_snapshot: snapshot.clone(),
        origin: Some(stamp.caller.origin.clone()),
        ..Handoff::default()
    };
    fields::fits("results", &handoff, limits::RECORD_BYTES / 2)?;
    let text = serde_json::to_string_pretty(&handoff).map_err(StoreError::from)? + "\n";
    let to = draft.target.as_deref().unwrap_or("anyone");
    let described =
        draft.results.iter().map(|result| format!("- {}: {}", result.status, result.description));
    let entry = Entry {
        detail: fields::clip(&described.collect::<Vec<_>>().join("\n"), limits::TEXT_BYTES),
        tags: vec![TAG.to_owned()],
        relates_to: vec![id.to_string()],
        ..note(
            stamp,
            EntryType::Artifact,
            draft.scope.as_str(),
            &format!("Handed over to {to}: {}", draft.summary),
        )
    };
    let outcome = HandoffOutcome {
        id: id.to_string(),
        created_at: handoff.created_at.clone(),
        path: format!("handoffs/{id}.json"),
        entry: entry.id.clone(),
        redacted: Vec::new(),
        context_snapshot: handoff.context_snapshot.clone(),
    };
    let line = listed(&handoff, false);
    Ok((
        Change {
            handoffs: vec![HandoffFile { id, text, line }],
            entries: vec![entry],
            ..Change::default()
        },
        outcome,
    ))
}

/// Plans who took a handoff. Of two who take one at once, the first has it.
pub(crate) fn plan_acknowledge(
    agent_files: &AgentFiles,
    id: &Id,
    stamp: &Stamp<'_>,
) -> Result<(Change, HandoffSummary), Failure> {
    let bytes = agent_files.handoff(id)?.ok_or_else(|| Failure::NotFound {
        what: "handoff",
        id: id.to_string(),
        hint: "twining_agents lists unacknowledged handoffs".to_owned(),
    })?;
    let damaged = |error: serde_json::Error| {
        Failure::from(StoreError::Damaged {
            what: format!("`handoffs/{id}.json` cannot be read: {error}"),
        })
    };
    let mut handoff: Handoff = serde_json::from_slice(&bytes).map_err(damaged)?;
    let me = &stamp.caller.agent;
    let is_person = stamp.caller.origin.trust == Trust::Human;
    match (&handoff.acknowledged_by, &handoff.target_agent) {
        (Some(taken), _) if taken == me => {
            return Ok((Change::default(), HandoffSummary::of(handoff)));
        }
        (Some(taken), _) => {
            return Err(Failure::OutOfStep {
                why: format!(
                    "`{}` has already acknowledged this handoff",
                    text::excerpt(taken, 60)
                ),
                next_step: "ask them on the blackboard, or have them hand the rest over to you"
                    .to_owned(),
            });
        }
        // A person may take over what an agent left lying.
        (None, Some(target)) if target != me && !is_person => {
            return Err(Failure::OutOfStep {
                why: format!(
                    "this handoff is for `{}`, but you are `{}`",
                    text::excerpt(target, 60),
                    text::excerpt(me, 60)
                ),
                next_step:
                    "if that is you, pass agent_id; otherwise ask the source to hand over to you"
                        .to_owned(),
            });
        }
        _ => {}
    }
    let at = stamp.at.to_string();
    let mut document = JsonDocument::parse(&bytes).map_err(damaged)?;
    for (field, value) in [("acknowledged_by", me), ("acknowledged_at", &at)] {
        document.set(field, &json!(value)).map_err(StoreError::from)?;
    }
    let file = document.to_pretty().map_err(StoreError::from)?;
    handoff.acknowledged_by = Some(me.clone());
    handoff.acknowledged_at = Some(at);
    let scope = handoff.scope.clone().unwrap_or_else(|| "project".to_owned());
    let entry = Entry {
        tags: vec![TAG.to_owned()],
        relates_to: vec![id.to_string()],
        ..note(
            stamp,
            EntryType::Status,
            &scope,
            &format!("{me} took over from {}: {}", handoff.source_agent, handoff.summary),
        )
    };
    let line = listed(&handoff, true);
    Ok((
        Change {
            handoffs: vec![HandoffFile { id: id.clone(), text: file, line }],
            entries: vec![entry],
            ..Change::default()
        },
        HandoffSummary::of(handoff),
    ))
}

/// A line of the list that the TypeScript server reads.
fn listed(handoff: &Handoff, acknowledged: bool) -> String {
    let first = handoff.results.first().map_or("completed", |result| result.status.as_str());
    let is_one = handoff.results.iter().all(|result| result.status == first);
    let result_status = if is_one { first } else { "mixed" };
    json!({
        "id": handoff.id, "created_at": handoff.created_at, "source_agent": handoff.source_agent, "target_agent": handoff.target_agent,
        "scope": handoff.scope, "summary": handoff.summary, "result_status": result_status, "acknowledged": acknowledged,
    })
    .to_string()
}

/// The newest handoffs that nobody took and somebody wants to see.
pub(crate) fn open_handoffs(
    agent_files: &AgentFiles,
    most: usize,
    wanted: impl Fn(&Handoff) -> bool,
) -> Result<Vec<HandoffSummary>, Failure> {
    let mut open = Vec::new();
    for id in agent_files.handoff_ids()? {
        if open.len() >= most {
            break;
        }
        // One that cannot be read is for a person to look at, and hides no other.
        let read = agent_files
            .handoff(&id)
            .ok()
            .flatten()
            .and_then(|bytes| serde_json::from_slice::<Handoff>(&bytes).ok());
        if let Some(handoff) = read.filter(|handoff| {
            handoff.id == id.as_str() && handoff.acknowledged_by.is_none() && wanted(handoff)
        }) {
            let summary = HandoffSummary::of(handoff);
            open.push(HandoffSummary { results: Vec::new(), context_snapshot: None, ..summary });
        }
    }
    Ok(open)
}

impl HandoffSummary {
    fn of(handoff: Handoff) -> Self {
        Self {
            id: handoff.id,
            created_at: handoff.created_at,
            source_agent: handoff.source_agent,
            target_agent: handoff.target_agent,
            scope: handoff.scope.unwrap_or_else(|| "project".to_owned()),
            summary: fields::summary(&handoff.summary),
            results: handoff.results,
            context_snapshot: Some(handoff.context_snapshot),
            acknowledged_by: handoff.acknowledged_by,
            acknowledged_at: handoff.acknowledged_at,
        }
    }
}
