//! Reads and edits the list under the rules: a feature's description may change freely, its status
//! only step by step.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use twining_model::{Change, DocumentText, InvalidInput, ProjectRoot, limits, text};
use twining_store::FeatureListFile;

use crate::anchors::{AnchoredPlace, CodeNote, UnresolvedName};
use crate::caller::Stamp;
use crate::failure::Failure;
use crate::fields;
use crate::input_types::{FEATURE_ACTIONS, number_or_text};
use crate::secrets::{Redaction, redact_fields};
use crate::workflow::evidence::{FeatureEvidence, RunReport, VerifiedBy, WatchedFile};
use crate::workflow::feature::{Feature, FeatureStatus, priority};
use crate::workflow::list::{FeatureList, read_list};
use crate::workflow::next;
use crate::workflow::report::{StepChanges, attempt, move_feature};
use crate::workflow::state_machine::{FeatureEvent, event_towards};

/// What to do with the list.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FeaturesInput {
    /// list (default), add or update
    #[schemars(extend("enum" = FEATURE_ACTIONS))]
    pub action: Option<String>,
    /// The feature's id
    pub id: Option<String>,
    /// What is to be built
    pub description: Option<String>,
    /// Must be one step away; with list, a filter
    #[schemars(extend("enum" = FeatureStatus::ALL.map(FeatureStatus::as_str)))]
    pub status: Option<String>,
    /// Whether it was shown to work; needs a recorded run
    pub tested: Option<bool>,
    /// Its files and folders, comma-separated
    pub files: Vec<String>,
    /// Its tests (paths or ids), comma-separated
    pub tests: Vec<String>,
    /// Acceptance criteria; repeat the flag for more
    pub acceptance_criteria: Vec<String>,
    /// A number, lower first, or high, medium, low
    #[serde(default, deserialize_with = "number_or_text")]
    #[schemars(with = "Option<String>")]
    pub priority: Option<String>,
    /// Features to test before it, comma-separated
    pub depends_on: Vec<String>,
    /// Why it is blocked or reopened
    pub reason: Option<String>,
    /// How many to show; default 50
    pub limit: Option<usize>,
    /// Where the page begins
    pub offset: Option<usize>,
    /// Your name
    pub agent_id: Option<String>,
}

redact_fields!(FeaturesInput {
    id,
    description,
    files,
    tests,
    acceptance_criteria,
    depends_on,
    reason,
    agent_id
});

/// Features per status.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FeatureCounts {
    /// Not started.
    pub pending: u64,
    /// In progress.
    pub in_progress: u64,
    /// Waits for its tests.
    pub completed: u64,
    /// Shown to work.
    pub tested: u64,
    /// Waits for a person.
    pub blocked: u64,
}

impl FeatureCounts {
    /// Counts a list.
    #[must_use]
    pub fn of(list: &FeatureList) -> Self {
        let count =
            |status| list.features.iter().filter(|feature| feature.status == status).count() as u64;
        Self {
            pending: count(FeatureStatus::Pending),
            in_progress: count(FeatureStatus::InProgress),
            completed: count(FeatureStatus::Completed),
            tested: count(FeatureStatus::Tested),
            blocked: count(FeatureStatus::Blocked),
        }
    }
}

/// The list, or the feature that changed.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct FeaturesOutcome {
    /// Where the list is, relative to the project.
    pub path: String,
    /// The features asked for, or the one that was added or changed.
    pub features: Vec<ListedFeature>,
    /// How many there are in all.
    pub total: u64,
    /// Whether some were left out.
    pub truncated: bool,
    /// Where the next page begins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_offset: Option<usize>,
    /// Count per status.
    pub counts: FeatureCounts,
    /// Problems in the list.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<String>,
    /// Secrets redacted before writing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub redacted: Vec<Redaction>,
    /// Files it is anchored to.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub anchored: Vec<AnchoredPlace>,
    /// Files that are not there, or not yet.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unresolved: Vec<UnresolvedName>,
}

/// A feature, and what shows that it works.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ListedFeature {
    /// As the list has it.
    #[serde(flatten)]
    pub feature: Feature,
    /// Whether it is shown to work; not of one that nobody works on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evidence: Option<FeatureEvidence>,
    /// The newest runs, if one feature is asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub runs: Vec<RunReport>,
    /// Its files, if one feature is asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub file_states: Vec<WatchedFile>,
    /// How the code of its files is, if that is doubtful, gone, or not at its place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<CodeNote>,
}

impl From<Feature> for ListedFeature {
    fn from(feature: Feature) -> Self {
        Self { feature, evidence: None, runs: Vec::new(), file_states: Vec::new(), code: None }
    }
}

/// What to do with the list, every rule checked.
#[derive(Clone, Debug)]
pub(crate) enum FeaturesDraft {
    List {
        status: Option<FeatureStatus>,
        id: Option<String>,
        limit: usize,
        offset: usize,
    },
    Add {
        id: String,
        fields: Vec<(&'static str, Value)>,
    },
    Update {
        id: String,
        fields: Vec<(&'static str, Value)>,
        status: Option<FeatureStatus>,
        reason: String,
    },
}

impl FeaturesDraft {
    pub(crate) fn parse(input: &FeaturesInput, root: &ProjectRoot) -> Result<Self, InvalidInput> {
        let action = input.action.as_deref().map(str::trim).filter(|word| !word.is_empty());
        let known = ["list", "add", "update"].map(|word| (word, word));
        let action = fields::one_of("action", action.unwrap_or("list"), &known)?;
        let status = fields::optional("status", input.status.as_deref(), status)?;
        let id = fields::optional("id", input.id.as_deref(), text::name)?;
        if action == "list" {
            let limit = fields::page("limit", input.limit, 50)?;
            return Ok(Self::List { status, id, limit, offset: input.offset.unwrap_or_default() });
        }
        let id =
            id.ok_or_else(|| InvalidInput::new("id", "is required to add or update a feature"))?;
        let fields = fields(input, root)?;
        if action == "add" {
            if input.description.is_none() {
                let rule = "is required: say what is to be built";
                return Err(InvalidInput::new("description", rule));
            }
            if status.is_some_and(|status| status != FeatureStatus::Pending)
                || input.tested == Some(true)
            {
                let rule = "must be pending for a new feature";
                return Err(
                    InvalidInput::new("status", rule).because("add it, then report what was done")
                );
            }
            return Ok(Self::Add { id, fields });
        }
        let status = match (status, input.tested) {
            (None, Some(true)) => Some(FeatureStatus::Tested),
            (Some(status), Some(tested)) if tested != (status == FeatureStatus::Tested) => {
                return Err(InvalidInput::new("tested", "contradicts `status`")
                    .because(format!("the status is {}", status.as_str())));
            }
            (None, Some(false)) => {
                return Err(InvalidInput::new("tested", "cannot be set to false on its own")
                    .because("report the feature as failed with what broke, or as reopened"));
            }
            (status, _) => status,
        };
        let reason = text::long("reason", input.reason.as_deref().unwrap_or_default())?;
        Ok(Self::Update { id, fields, status, reason })
    }
}

fn status(field: &'static str, word: &str) -> Result<FeatureStatus, InvalidInput> {
    let known = FeatureStatus::ALL.map(|status| (status.as_str(), status));
    fields::one_of(field, &word.trim().to_lowercase(), &known)
}

fn fields(
    input: &FeaturesInput,
    root: &ProjectRoot,
) -> Result<Vec<(&'static str, Value)>, InvalidInput> {
    let mut fields = Vec::new();
    if let Some(description) = &input.description {
        fields.push(("description", Value::from(text::required("description", description)?)));
    }
    let files = fields::paths("files", &input.files, root)?;
    let tests = fields::list("tests", &input.tests)?;
    let criteria = fields::list("acceptance_criteria", &input.acceptance_criteria)?;
    let depends_on = fields::list("depends_on", &input.depends_on)?;
    for (key, items) in [
        ("files", files),
        ("tests", tests),
        ("acceptance_criteria", criteria),
        ("depends_on", depends_on),
    ] {
        if !items.is_empty() {
            fields.push((key, items.into()));
        }
    }
    if let Some(given) = &input.priority {
        let word = text::name("priority", given)?;
        let value = word.parse::<i64>().map_or_else(|_| Value::from(word.as_str()), Value::from);
        if priority(&value).is_none() {
            return Err(InvalidInput::new(
                "priority",
                "must be a number, P0 to P9, critical, high, medium or low",
            )
            .because(format!("`{}` is not one of them", text::excerpt(given, 40))));
        }
        fields.push(("priority", value));
    }
    Ok(fields)
}

/// Reads the list.
pub(crate) fn read_features(
    feature_file: &FeatureListFile,
    status: Option<FeatureStatus>,
    id: Option<&str>,
    [offset, limit]: [usize; 2],
) -> Result<FeaturesOutcome, Failure> {
    let list = read_list(feature_file)?.unwrap_or_default();
    if let Some(id) = id.filter(|id| list.get(id).is_none()) {
        return Err(no_feature(id));
    }
    let chosen = |feature: &&Feature| {
        status.is_none_or(|status| feature.status == status) && id.is_none_or(|id| feature.id == id)
    };
    let mut features: Vec<Feature> = list.features.iter().filter(chosen).cloned().collect();
    let total = features.len() as u64;
    features.drain(..offset.min(features.len()));
    features.truncate(limit);
    let (features, _) = crate::fields::fit_reply(features);
    let mut outcome = outcome(feature_file, &list, features);
    outcome.next_offset = crate::fields::next_offset(offset, outcome.features.len(), total);
    (outcome.total, outcome.truncated) = (total, outcome.next_offset.is_some());
    Ok(outcome)
}

fn outcome(
    feature_file: &FeatureListFile,
    list: &FeatureList,
    features: Vec<Feature>,
) -> FeaturesOutcome {
    let problems = list
        .problems
        .iter()
        .cloned()
        .chain(next::cycle_problems(&list.features))
        .take(limits::LIST)
        .collect();
    FeaturesOutcome {
        path: feature_file.path.clone(),
        features: features.into_iter().map(ListedFeature::from).collect(),
        total: list.features.len() as u64,
        truncated: false,
        next_offset: None,
        counts: FeatureCounts::of(list),
        problems,
        redacted: Vec::new(),
        anchored: Vec::new(),
        unresolved: Vec::new(),
    }
}

/// Plans an addition or a change. `passes` judges the evidence of a feature that
/// is to be tested.
pub(crate) fn plan_features(
    feature_file: &FeatureListFile,
    draft: &FeaturesDraft,
    max_test_failures: u32,
    passes: impl FnOnce(&Feature) -> Result<VerifiedBy, Failure>,
    stamp: &Stamp<'_>,
) -> Result<(Change, FeaturesOutcome), Failure> {
    let list = read_list(feature_file)?.unwrap_or_default();
    let (id, text, mut change) = match draft {
        FeaturesDraft::List { status, id, limit, offset } => {
            return Ok((
                Change::default(),
                read_features(feature_file, *status, id.as_deref(), [*offset, *limit])?,
            ));
        }
        FeaturesDraft::Add { id, fields } => {
            let feature = new_feature(feature_file, &list, id, fields, stamp)?;
            (id, Some(list.with_feature(id, &feature)), Change::default())
        }
        FeaturesDraft::Update { id, fields, status, reason } => {
            let feature = list.get(id).ok_or_else(|| no_feature(id))?;
            let mut fields = fields.clone();
            let mut change = Change::default();
            if let Some(status) = status.filter(|status| *status != feature.status) {
                let event = event_towards(id, feature.status, status)?;
                if matches!(event, FeatureEvent::GaveUp | FeatureEvent::Reopened)
                    && reason.trim().is_empty()
                {
                    let rule = format!("is required to make a feature {}", status.as_str());
                    return Err(InvalidInput::new("reason", rule).into());
                }
                let is_passed = event == FeatureEvent::Passed;
                let evidence = if is_passed { Some(passes(feature)?) } else { None };
                // A step counts the same however it is reported: what holds after a report holds
                // here.
                let run = evidence.as_ref().map(|by| by.run.clone());
                change.runs.push(attempt(id, event, "other", reason, run, stamp).to_line());
                let evidence = evidence.as_ref();
                let moved: StepChanges =
                    move_feature(feature, event, reason, evidence, max_test_failures, stamp)?;
                fields.extend(moved.fields);
                change.entries = moved.entries;
            }
            if fields.is_empty() {
                return Err(InvalidInput::new("arguments", "change nothing")
                    .because("give the fields to change")
                    .into());
            }
            (id, list.with_fields(id, &fields), change)
        }
    };
    let after = FeatureList::parse(text.as_deref().unwrap_or_default())
        .map_err(|why| Failure::UnreadableList { path: feature_file.path.clone(), why })?;
    let feature = after.get(id).cloned().ok_or_else(|| no_feature(id))?;
    if let Some(cycle) = next::cycles(&after.features).into_iter().find(|cycle| cycle.contains(id))
        && next::cycles(&list.features).iter().all(|known| !known.contains(id))
    {
        return Err(InvalidInput::new("depends_on", "would create a dependency cycle")
            .because(cycle.join(" -> "))
            .into());
    }
    if after.features.len() > limits::FEATURES {
        return Err(
            InvalidInput::new("features", format!("may be at most {}", limits::FEATURES)).into()
        );
    }
    // The same text again is no change, and needs no write.
    if after.get(id) != list.get(id) || !change.entries.is_empty() {
        change
            .documents
            .extend(text.map(|text| DocumentText { path: feature_file.path.clone(), text }));
    }
    Ok((change, outcome(feature_file, &after, vec![feature])))
}

/// A feature that is added to the list.
fn new_feature(
    feature_file: &FeatureListFile,
    list: &FeatureList,
    id: &str,
    fields: &[(&'static str, Value)],
    stamp: &Stamp<'_>,
) -> Result<Map<String, Value>, InvalidInput> {
    if list.get(id).is_some() {
        return Err(InvalidInput::new("id", "is taken")
            .because(format!("`{id}` is in the list already; update it instead")));
    }
    let start = [("id", json!(id))].into_iter().chain(fields.iter().cloned());
    let all = start.chain([("status", json!("pending")), ("tested", json!(false))]);
    // Another tool's list has fields of its own.
    let ours = feature_file.path.starts_with(".twining/");
    let who = [("agent_id", json!(stamp.caller.agent)), ("origin", json!(stamp.caller.origin))];
    let all = all.chain(who.into_iter().filter(|_| ours));
    Ok(all.map(|(key, value)| (key.to_owned(), value)).collect())
}

pub(crate) fn no_feature(id: &str) -> Failure {
    let hint = "twining_features lists features, and adds one with action add".to_owned();
    Failure::NotFound { what: "feature", id: text::excerpt(id, 80), hint }
}
