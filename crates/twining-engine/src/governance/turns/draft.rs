//! A turn in a caller's words, every rule checked.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use twining_model::{InvalidInput, ProjectRoot, Time, TurnKey, TurnName, limits, text};

use crate::fields;
use crate::governance::gates::{arch_score, coverage};
use crate::input_types::{TURN_MODES, VERDICTS};
use crate::secrets::{redact_fields, redact_name};

/// A turn from the caller.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RecordTurnInput {
    /// The task's id
    pub task: String,
    /// The turn's number, from 1
    pub turn: u64,
    /// The feature's id; default: from the task's, e.g. FEAT-GE for TASK-GE-1
    pub feature: Option<String>,
    /// What the player did
    pub player_decision: String,
    /// approve, revise or escalate
    #[schemars(extend("enum" = VERDICTS))]
    pub coach_decision: String,
    /// Task progress
    pub progress_summary: String,
    /// Blockers; repeat the flag for more
    #[serde(default)]
    pub blockers_found: Vec<String>,
    /// verified, pending, rejected or blocked
    ///
    /// One per criterion, as NAME=STATUS
    #[serde(default)]
    pub acceptance_criteria_status: BTreeMap<String, String>,
    /// fresh_start, continuing_work or recovering_state; default by number
    #[schemars(extend("enum" = TURN_MODES))]
    pub mode: Option<String>,
    /// Gate results, as JSON
    #[serde(default)]
    #[schemars(with = "serde_json::Map<String, Value>")]
    pub quality_gate_results: Option<Value>,
    /// What the player did, at more length
    pub player_summary: Option<String>,
    /// What the coach wants changed
    pub coach_feedback: Option<String>,
    /// Changed files, comma-separated
    #[serde(default)]
    pub files_modified: Vec<String>,
    /// Tests that passed
    pub tests_passed: Option<u64>,
    /// Tests that failed
    pub tests_failed: Option<u64>,
    /// As a fraction or in percent
    pub coverage: Option<f64>,
    /// Architecture review score, 0 to 100
    pub arch_score: Option<f64>,
    /// When it began
    pub started_at: Option<String>,
    /// When it ended; default now
    pub completed_at: Option<String>,
    /// Lessons; repeat the flag for more
    #[serde(default)]
    pub lessons_from_turn: Vec<String>,
    /// Where the next turn should begin
    pub what_to_try_next: Option<String>,
    /// Whether the feature is finished; its turns may then be pruned
    pub feature_completed: Option<bool>,
    /// Your name
    pub agent_id: Option<String>,
}

redact_fields!(RecordTurnInput {
    feature,
    task,
    files_modified,
    player_decision,
    progress_summary,
    blockers_found,
    acceptance_criteria_status,
    quality_gate_results,
    player_summary,
    coach_feedback,
    lessons_from_turn,
    what_to_try_next,
    agent_id,
});

/// A turn, every rule checked: which, and the fields that were given.
#[derive(Clone, Debug)]
pub(crate) struct TurnDraft {
    pub(crate) key: TurnKey,
    pub(crate) mode: Option<&'static str>,
    /// In the order the file has them; what was not given is not here.
    pub(crate) fields: Vec<(&'static str, Value)>,
    pub(crate) started_at: Option<Time>,
    pub(crate) completed_at: Option<Time>,
    /// Whether the call names who records it.
    pub(crate) is_signed: bool,
    pub(crate) notes: Vec<String>,
}

impl TurnDraft {
    /// Checks every word.
    pub(crate) fn parse(input: &RecordTurnInput, root: &ProjectRoot) -> Result<Self, InvalidInput> {
        let key = key(input.feature.as_deref(), &input.task, input.turn)?;
        let coach = verdict(&input.coach_decision)?;
        let player = text::required("player_decision", &input.player_decision)?;
        let mut notes = Vec::new();
        if verdict(&player).is_ok() {
            notes.push("`player_decision` repeats a coach's verdict; the next turn needs to know what the player did".to_owned());
        }
        let started_at = fields::optional("started_at", input.started_at.as_deref(), Time::parse)?;
        let completed_at =
            fields::optional("completed_at", input.completed_at.as_deref(), Time::parse)?;
        if let Some(results) = &input.quality_gate_results {
            if !results.is_object() {
                return Err(InvalidInput::new("quality_gate_results", "must be an object"));
            }
            fields::fits("quality_gate_results", results, limits::TEXT_BYTES)?;
        }
        let mode = mode(input.mode.as_deref())?;
        let long = |field, given: &Option<String>| {
            fields::optional(field, given.as_deref(), text::long).map(Value::from)
        };
        let list = |field, given: &[String]| fields::list(field, given).map(Value::from);
        let files = fields::paths("files_modified", &input.files_modified, root)?;
        let progress = text::required("progress_summary", &input.progress_summary)?;
        let given = [
            ("player_decision", player.into()),
            ("coach_decision", coach.into()),
            ("progress_summary", progress.into()),
            ("player_summary", long("player_summary", &input.player_summary)?),
            ("coach_feedback", long("coach_feedback", &input.coach_feedback)?),
            ("what_to_try_next", long("what_to_try_next", &input.what_to_try_next)?),
            ("blockers_found", list("blockers_found", &input.blockers_found)?),
            ("lessons_from_turn", list("lessons_from_turn", &input.lessons_from_turn)?),
            ("files_modified", files.into()),
            ("acceptance_criteria_status", json!(criteria(&input.acceptance_criteria_status)?)),
            ("tests_passed", input.tests_passed.into()),
            ("tests_failed", input.tests_failed.into()),
            ("coverage", json!(coverage(input.coverage)?)),
            ("arch_score", arch_score(input.arch_score)?.into()),
            ("quality_gate_results", json!(input.quality_gate_results)),
            ("feature_completed", input.feature_completed.into()),
        ];
        let is_given =
            |value: &Value| !(value.is_null() || *value == json!([]) || *value == json!({}));
        let fields = given.into_iter().filter(|(_, value)| is_given(value)).collect();
        let is_signed = input.agent_id.is_some();
        Ok(Self { key, mode, fields, started_at, completed_at, is_signed, notes })
    }
}

/// Which turn is meant.
pub(crate) fn key(feature: Option<&str>, task: &str, number: u64) -> Result<TurnKey, InvalidInput> {
    for (field, name) in [("task", Some(task)), ("feature", feature)] {
        if name.is_some_and(|name| name.contains("[redacted") || !redact_name(name).1.is_empty()) {
            return Err(InvalidInput::new(field, "must not contain a secret")
                .because("it would become part of a file name"));
        }
    }
    let task = TurnName::parse("task", task)?;
    let feature = match feature.filter(|feature| !feature.trim().is_empty()) {
        Some(feature) => TurnName::parse("feature", feature)?,
        None => TurnName::parse("feature", &feature_of(task.as_str()))?,
    };
    let number = usize::try_from(number).unwrap_or(usize::MAX);
    let number = fields::within("turn", Some(number), 1, limits::TURN_NUMBER)?;
    Ok(TurnKey { feature, task, number: u32::try_from(number).unwrap_or(u32::MAX) })
}

/// The feature that a task's id names: `TASK-GE-001` belongs to `FEAT-GE`.
#[must_use]
pub fn feature_of(task: &str) -> String {
    let parts: Vec<&str> = task.split('-').collect();
    match parts.as_slice() {
        ["TASK", feature, .., _] if !feature.is_empty() => format!("FEAT-{feature}"),
        _ => "FEAT-UNKNOWN".to_owned(),
    }
}

/// The coach's verdict, in one of three words; people and older tools have more.
fn verdict(given: &str) -> Result<&'static str, InvalidInput> {
    if given.trim().is_empty() {
        return Err(InvalidInput::new("coach_decision", "must not be empty"));
    }
    let word = given.trim().to_lowercase().replace([' ', '-'], "_");
    match word.as_str() {
        "approve" | "approved" | "accept" | "accepted" => Ok("approve"),
        "revise" | "feedback" | "revised" | "reject" | "rejected" | "changes_requested" => {
            Ok("revise")
        }
        "escalate" | "escalated" => Ok("escalate"),
        _ => Err(InvalidInput::new("coach_decision", "must be approve, revise or escalate")
            .because(format!("`{}` is not one of them", text::excerpt(given, 40)))),
    }
}

fn mode(given: Option<&str>) -> Result<Option<&'static str>, InvalidInput> {
    let Some(given) = given.filter(|given| !given.trim().is_empty()) else { return Ok(None) };
    let word = given.trim().to_lowercase().replace([' ', '-'], "_");
    let known = ["fresh_start", "continuing_work", "recovering_state"].map(|word| (word, word));
    fields::one_of("mode", &word, &known).map(Some)
}

fn criteria(
    given: &BTreeMap<String, String>,
) -> Result<BTreeMap<String, &'static str>, InvalidInput> {
    const FIELD: &str = "acceptance_criteria_status";
    limits::at_most(FIELD, &given.keys().collect::<Vec<_>>(), limits::LIST)?;
    let mut criteria = BTreeMap::new();
    for (name, status) in given {
        text::bounded(FIELD, name, limits::ELEMENT_BYTES)?;
        let name = fields::fold(name);
        if name.is_empty() {
            return Err(InvalidInput::new(FIELD, "must name each criterion"));
        }
        criteria.insert(name, standing(status)?);
    }
    Ok(criteria)
}

fn standing(given: &str) -> Result<&'static str, InvalidInput> {
    let word = given.trim().to_lowercase().replace([' ', '-'], "_");
    match word.as_str() {
        "verified" | "completed" | "complete" | "done" | "passed" | "met" => Ok("verified"),
        "pending" | "in_progress" | "not_started" | "todo" | "open" => Ok("pending"),
        "rejected" | "failed" => Ok("rejected"),
        "blocked" => Ok("blocked"),
        _ => Err(InvalidInput::new(
            "acceptance_criteria_status",
            "must be verified, pending, rejected or blocked for each criterion",
        )
        .because(format!("`{}` is not one of them", text::excerpt(given, 40)))),
    }
}
