//! Reports: what somebody did to a feature, in which role, and on what evidence.
//! A report moves the feature one step, or is refused with the step that is due.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use twining_model::{
    Change, DocumentText, Entry, EntryType, EvidenceSource, InvalidInput, ProjectRoot, Time,
    limits, text,
};
use twining_store::FeatureListFile;

use crate::anchors::{AnchoredPlace, UnresolvedName};
use crate::blackboard::note;
use crate::caller::Stamp;
use crate::failure::Failure;
use crate::fields;
use crate::governance::TestCounts;
use crate::governance::gates::claimed_tests;
use crate::input_types::TestCountsInput;
use crate::secrets::{Redact, Redaction, redact_fields};
use crate::workflow::evidence::{
    AttemptReport, EvidenceCase, EvidenceVerdict, FileStates, RunLog, TestRun, VerifiedBy, judge,
};
use crate::workflow::feature::{Feature, FeatureStatus};
use crate::workflow::feature_edit::no_feature;
use crate::workflow::list::{FeatureList, read_list};
use crate::workflow::next::{NextBrief, blocked_by, next};
use crate::workflow::state_machine::{FeatureEvent, FeatureState, advance};

/// A test run.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct EvidenceInput {
    /// What was run
    pub command: Option<String>,
    /// Exit code
    pub exit_code: Option<i64>,
    /// Its test counts
    pub tests: TestCountsInput,
    /// Its output, or the end of it
    pub output: Option<String>,
    /// Paths of its test reports, comma-separated; they override the given counts
    pub reports: Vec<String>,
    /// Paths of data it produced, comma-separated
    pub data: Vec<String>,
    /// When it ended; default now
    pub finished_at: Option<String>,
    /// JSON of twining verify --ci, for an ancestor of HEAD
    pub ci_report: Option<String>,
}

impl Redact for EvidenceInput {
    fn each_text(&mut self, field: &'static str, visit: &mut dyn FnMut(&'static str, &mut String)) {
        self.command.each_text(field, visit);
        self.output.each_text(field, visit);
        self.reports.each_text(field, visit);
        self.data.each_text(field, visit);
        self.ci_report.each_text(field, visit);
    }
}

/// A report from the caller.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReportInput {
    /// The feature's id
    pub feature: String,
    /// coder or tester
    pub role: String,
    /// started, completed, passed, failed, blocked or reopened
    #[schemars(extend("enum" = FeatureEvent::ALL.map(FeatureEvent::as_str)))]
    pub outcome: String,
    /// What was done, what broke, or why
    pub summary: Option<String>,
    /// Changed files, comma-separated
    #[serde(default)]
    pub files: Vec<String>,
    /// The run as proof; passed needs one
    #[serde(default)]
    pub evidence: EvidenceInput,
    /// Your name
    pub agent_id: Option<String>,
}

redact_fields!(ReportInput { feature, role, summary, files, evidence, agent_id });

/// What the caller knows beside the report.
#[derive(Clone, Copy, Default)]
pub struct ReportContext<'c> {
    /// How tests changed since the base of the work, in a few words.
    pub tests_changed: Option<&'c str>,
    /// Whether a commit is HEAD or an ancestor of it.
    pub is_ancestor: Option<&'c dyn Fn(&str) -> bool>,
}

/// A report's result.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ReportOutcome {
    /// The feature as it is now.
    pub feature: Feature,
    /// Its old status.
    pub was: FeatureStatus,
    /// The run that was accepted as evidence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// The entry that asks a person to look at it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub need: Option<String>,
    /// What to do now.
    pub next: NextBrief,
    /// Notes for the caller.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Secrets removed before writing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub redacted: Vec<Redaction>,
    /// The changed files, as the feature is anchored to them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub anchored: Vec<AnchoredPlace>,
    /// Changed files that are not there.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unresolved: Vec<UnresolvedName>,
}

/// A report, every rule checked.
#[derive(Clone, Debug)]
pub(crate) struct ReportDraft {
    pub(crate) feature: String,
    role: ReporterRole,
    event: FeatureEvent,
    summary: String,
    pub(crate) files: Vec<String>,
    pub(crate) command: Option<String>,
    pub(crate) claimed: Option<TestCounts>,
    pub(crate) finished_at: Option<Time>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ReporterRole {
    Coder,
    Tester,
    Other,
}

impl ReporterRole {
    fn read(field: &'static str, word: &str) -> Result<Self, InvalidInput> {
        let word = text::name(field, word)?.to_lowercase().replace([' ', '_'], "-");
        Ok(match word.strip_suffix("-agent").unwrap_or(&word) {
            "coder" | "coding" | "player" | "developer" | "implementer" | "programmer"
            | "engineer" => Self::Coder,
            "tester" | "testing" | "coach" | "reviewer" | "verifier" | "validator" | "qa" => {
                Self::Tester
            }
            _ => Self::Other,
        })
    }

    fn as_str(self) -> &'static str {
        match self {
            Self::Coder => "coder",
            Self::Tester => "tester",
            Self::Other => "other",
        }
    }

    /// Who writes a feature does not judge it, and the other way round.
    fn may_report(self, event: FeatureEvent, feature: &str, word: &str) -> Result<(), Failure> {
        let out_of_step = |why: String, next_step: &str| {
            Err(Failure::OutOfStep { why, next_step: next_step.to_owned() })
        };
        match (event, self) {
            (FeatureEvent::Passed | FeatureEvent::Failed, Self::Coder) => out_of_step(
                format!("a coder cannot report test results for `{feature}`"),
                "report it as completed; then have it tested and reported in the role tester",
            ),
            (FeatureEvent::Started | FeatureEvent::Completed, Self::Tester) => out_of_step(
                format!("a tester cannot report `{feature}` as started or completed"),
                "report passed or failed; the role coder reports started and completed",
            ),
            (
                FeatureEvent::Passed
                | FeatureEvent::Failed
                | FeatureEvent::Started
                | FeatureEvent::Completed,
                Self::Other,
            ) => {
                let roles = "must be coder (or player, developer, implementer) or tester (or coach, reviewer, verifier, qa)";
                let why = format!(
                    "`{}` is neither; any role may report blocked and reopened",
                    text::excerpt(word, 40)
                );
                Err(InvalidInput::new("role", roles).because(why).into())
            }
            _ => Ok(()),
        }
    }
}

impl ReportDraft {
    pub(crate) fn parse(
        input: &ReportInput,
        root: &ProjectRoot,
        now: Time,
    ) -> Result<Self, Failure> {
        let evidence = &input.evidence;
        let (feature, role) =
            (text::name("feature", &input.feature)?, ReporterRole::read("role", &input.role)?);
        let event = outcome(&input.outcome)?;
        let summary = text::long("summary", input.summary.as_deref().unwrap_or_default())?;
        if matches!(event, FeatureEvent::GaveUp | FeatureEvent::Reopened | FeatureEvent::Failed)
            && summary.trim().is_empty()
        {
            return Err(InvalidInput::new("summary", "must say why")
                .because("the next attempt starts from it")
                .into());
        }
        role.may_report(event, &feature, &input.role)?;
        let finished_at =
            fields::optional("finished_at", evidence.finished_at.as_deref(), Time::parse)?;
        if let Some(at) =
            finished_at.filter(|at| at.as_ms() > now.as_ms().saturating_add(limits::CLOCK_SKEW_MS))
        {
            return Err(InvalidInput::new("finished_at", "must not be in the future")
                .because(at)
                .into());
        }
        let command = fields::optional("command", evidence.command.as_deref(), text::required)?;
        evidence
            .output
            .as_deref()
            .map_or(Ok(()), |output| text::bounded("output", output, limits::RECORD_BYTES))?;
        let claimed = claimed(evidence)?;
        if command.is_none()
            && (evidence.exit_code.is_some()
                || claimed.is_some()
                || evidence.output.is_some()
                || !evidence.reports.is_empty())
        {
            return Err(InvalidInput::new("evidence", "must name the command that was run").into());
        }
        let files = fields::paths("files", &input.files, root)?;
        Ok(Self { feature, role, event, summary, files, command, claimed, finished_at })
    }
}

fn outcome(word: &str) -> Result<FeatureEvent, InvalidInput> {
    let given = word.trim().to_lowercase().replace([' ', '-'], "_");
    let same = match given.as_str() {
        "start" | "in_progress" => "started",
        "complete" | "done" | "implemented" => "completed",
        "pass" | "tested" | "approve" | "approved" => "passed",
        "fail" | "revise" | "rejected" => "failed",
        "escalate" | "gave_up" => "blocked",
        "reopen" => "reopened",
        other => other,
    };
    FeatureEvent::parse("outcome", same)
}

/// The counts that a report claims; what it does not say of failures are none.
fn claimed(evidence: &EvidenceInput) -> Result<Option<TestCounts>, InvalidInput> {
    let given = evidence.tests;
    let none_failed = given.passed.is_some() || given.run == Some(0);
    let failed = given.failed.or(none_failed.then_some(0));
    claimed_tests(TestCountsInput { failed, ..given })
}

/// What the project's settings say of a step.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StepRules {
    pub(crate) max_test_failures: u32,
    pub(crate) tested_needs: EvidenceSource,
}

/// A feature's fields and what is posted after a step.
pub(crate) struct StepChanges {
    pub(crate) fields: Vec<(&'static str, Value)>,
    pub(crate) entries: Vec<Entry>,
}

/// Takes a step and puts it into fields; those that stay as they are are left alone.
pub(crate) fn move_feature(
    feature: &Feature,
    event: FeatureEvent,
    reason: &str,
    verified_by: Option<&VerifiedBy>,
    max_test_failures: u32,
    stamp: &Stamp<'_>,
) -> Result<StepChanges, Failure> {
    let at = FeatureState { status: feature.status, retries: feature.retries };
    let to = advance(&feature.id, at, event, max_test_failures)?;
    let mut moved = StepChanges { fields: Vec::new(), entries: Vec::new() };
    if to.status != at.status {
        moved.fields.push(("status", json!(to.status.as_str())));
    }
    let tested = to.status == FeatureStatus::Tested;
    if tested != feature.tested {
        moved.fields.push(("tested", json!(tested)));
    }
    if to.retries != at.retries {
        moved.fields.push(("retries", json!(to.retries)));
    }
    if let Some(by) = verified_by {
        moved.fields.push(("verified_by", json!(by)));
    }
    let scope = feature.files.first().map_or("project", String::as_str);
    let id = text::excerpt(&feature.id, 60);
    if to.status == FeatureStatus::Blocked {
        let summary = format!("Feature {id} is blocked: {}", fields::fold(reason));
        let after = match to.retries {
            0 => String::new(),
            n => format!(
                "After {}. ",
                fields::count(n.into(), "failed test run", "failed test runs")
            ),
        };
        let detail = format!(
            "{}\n\n{after}Reopen it with twining_report, outcome reopened.\n\n{reason}",
            feature.description
        );
        let entry = Entry {
            detail: fields::clip(&detail, limits::TEXT_BYTES),
            tags: vec!["workflow".to_owned()],
            ..note(stamp, EntryType::Need, scope, &summary)
        };
        moved.fields.push(("need", json!(entry.id)));
        moved.entries.push(entry);
    }
    if let Some(need) = feature.need.as_ref().filter(|_| event == FeatureEvent::Reopened) {
        let summary = format!("Feature {id} is open again: {}", fields::fold(reason));
        moved.entries.push(Entry {
            relates_to: vec![need.clone()],
            ..note(stamp, EntryType::Status, scope, &summary)
        });
        moved.fields.push(("need", Value::Null));
    }
    Ok(moved)
}

/// Judges the evidence for a feature; what its list will say of the run.
pub(crate) fn accept(case: &EvidenceCase<'_>) -> Result<VerifiedBy, Failure> {
    match judge(case) {
        EvidenceVerdict::Accepted { run, note } => {
            let run = case
                .log
                .runs
                .iter()
                .rev()
                .find(|known| known.id == run)
                .cloned()
                .unwrap_or_default();
            let command = fields::shorten(&run.command, limits::SUMMARY_CHARS);
            Ok(VerifiedBy {
                source: run.source,
                run: run.id,
                command,
                tests: run.tests,
                at: Some(run.at),
                note,
            })
        }
        EvidenceVerdict::Missing { what, next_step } => {
            Err(Failure::NoEvidence { feature: case.feature.id.clone(), missing: what, next_step })
        }
    }
}

/// The same, with what changed in the tests since.
fn accept_with(
    case: &EvidenceCase<'_>,
    context: &ReportContext<'_>,
) -> Result<VerifiedBy, Failure> {
    let by = accept(case)?;
    let notes: Vec<&str> = by.note.as_deref().into_iter().chain(context.tests_changed).collect();
    Ok(VerifiedBy { note: (!notes.is_empty()).then(|| notes.join("; ")), ..by })
}

/// Plans a report: the step, its record, and its entries. `states` returns the current state of
/// files.
pub(crate) fn plan_report(
    feature_file: &FeatureListFile,
    (draft, run): (&ReportDraft, Option<TestRun>),
    rules: StepRules,
    context: &ReportContext<'_>,
    stamp: &Stamp<'_>,
    states: impl FnOnce(&[String]) -> Result<FileStates, Failure>,
) -> Result<(Change, ReportOutcome), Failure> {
    let list = read_list(feature_file)?.ok_or_else(|| no_feature(&draft.feature))?;
    let before = list.get(&draft.feature).ok_or_else(|| no_feature(&draft.feature))?;
    if matches!(draft.event, FeatureEvent::Completed | FeatureEvent::Passed) {
        must_not_wait(&list, before)?;
    }
    let mut feature = before.clone();
    let new_files = draft.files.iter().filter(|file| !before.files.contains(file));
    feature.files.extend(new_files.take(limits::LIST.saturating_sub(before.files.len())).cloned());

    let mut log = RunLog::read(&feature_file.runs);
    let watched: Vec<String> = feature.watched().map(str::to_owned).collect();
    let files = if run.is_some() || draft.event == FeatureEvent::Passed {
        states(&watched)?
    } else {
        FileStates::new()
    };
    let mut change = Change::default();
    let run = run.map(|run| TestRun { tree: files.clone(), ..run });
    if let Some(run) = &run {
        change.runs.push(run.to_line());
        log.runs.push(run.clone());
    }
    let case = EvidenceCase {
        feature: &feature,
        log: &log,
        files: &files,
        needs: rules.tested_needs,
        given: run.as_ref(),
        command: draft.command.as_deref(),
    };
    let is_passed = draft.event == FeatureEvent::Passed;
    let verified_by = if is_passed { Some(accept_with(&case, context)?) } else { None };
    let (by, most) = (verified_by.as_ref(), rules.max_test_failures);
    let mut moved = move_feature(&feature, draft.event, &draft.summary, by, most, stamp)?;
    if feature.files != before.files {
        moved.fields.push(("files", json!(feature.files)));
    }
    let run = verified_by.as_ref().map(|by| by.run.clone());
    change.runs.push(
        attempt(&feature.id, draft.event, draft.role.as_str(), &draft.summary, run.clone(), stamp)
            .to_line(),
    );
    change.entries = moved.entries;
    let text =
        if moved.fields.is_empty() { None } else { list.with_fields(&feature.id, &moved.fields) };
    let path = &feature_file.path;
    let unreadable = |why| Failure::UnreadableList { path: path.clone(), why };
    let changed = text.as_deref().map(FeatureList::parse).transpose().map_err(unreadable)?;
    change.documents.extend(text.map(|text| DocumentText { path: path.clone(), text }));
    let after = changed.as_ref().unwrap_or(&list);
    let mut notes: Vec<String> = verified_by.into_iter().filter_map(|by| by.note).collect();
    if draft.event == FeatureEvent::Completed && feature.files.is_empty() {
        notes.push(
            "no changed files were given, so the tests only have to be newer than this report"
                .to_owned(),
        );
    }
    let needs = change.entries.iter().find(|entry| entry.kind() == Some(EntryType::Need));
    let outcome = ReportOutcome {
        feature: after.get(&feature.id).cloned().ok_or_else(|| no_feature(&feature.id))?,
        was: before.status,
        redacted: Vec::new(),
        anchored: Vec::new(),
        unresolved: Vec::new(),
        run,
        need: needs.map(|entry| entry.id.clone()),
        next: NextBrief::of(&next(Some(after))),
        notes,
    };
    Ok((change, outcome))
}

/// Refuses a step of a feature that depends on one that is not tested.
fn must_not_wait(list: &FeatureList, feature: &Feature) -> Result<(), Failure> {
    let by_id = list.features.iter().map(|feature| (feature.id.as_str(), feature)).collect();
    // A feature in no list cannot be waited for; `next` reports it.
    let waits: Vec<&str> =
        blocked_by(feature, &by_id).into_iter().filter(|id| by_id.contains_key(id)).collect();
    if waits.is_empty() {
        return Ok(());
    }
    let why = format!("`{}` depends on it", feature.id);
    Err(InvalidInput::new(
        "feature",
        format!("must wait until {} is tested", fields::some_names(waits.into_iter())),
    )
    .because(why)
    .into())
}

/// What is remembered of a step.
pub(crate) fn attempt(
    feature: &str,
    event: FeatureEvent,
    role: &str,
    summary: &str,
    run: Option<String>,
    stamp: &Stamp<'_>,
) -> AttemptReport {
    AttemptReport {
        at: stamp.at,
        feature: feature.to_owned(),
        agent: stamp.caller.agent.clone(),
        role: role.to_owned(),
        outcome: event.as_str().to_owned(),
        summary: fields::clip(summary, 4 * limits::ELEMENT_BYTES),
        run,
    }
}
