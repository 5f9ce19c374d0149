//! A feature: what to build, its progress, and its dependencies.
//!
//! Lists in the wild use different names for the same field; every known name is read, and what is
//! not understood is reported, never guessed in favour of "finished".

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use twining_model::{limits, text};

use crate::fields;
use crate::workflow::evidence::VerifiedBy;
use crate::workflow::json_spans::{self, TextRange};

/// A feature's status.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum FeatureStatus {
    /// Not started.
    #[default]
    Pending,
    /// In progress.
    InProgress,
    /// The code is written but not yet tested.
    Completed,
    /// Shown to work.
    Tested,
    /// It needs a person.
    Blocked,
}

impl FeatureStatus {
    /// Every status, in the order a feature goes through them.
    pub const ALL: [Self; 5] =
        [Self::Pending, Self::InProgress, Self::Completed, Self::Tested, Self::Blocked];

    /// The word for it in the list.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::InProgress => "in_progress",
            Self::Completed => "completed",
            Self::Tested => "tested",
            Self::Blocked => "blocked",
        }
    }

    /// Reads one of the words that lists use.
    #[must_use]
    pub fn read(word: &str) -> Option<Self> {
        match word.trim().to_lowercase().replace([' ', '-'], "_").as_str() {
            "pending" | "backlog" | "todo" | "planned" | "not_started" | "open" | "ready"
            | "new" | "queued" => Some(Self::Pending),
            "in_progress" | "inprogress" | "doing" | "started" | "wip" | "active" => {
                Some(Self::InProgress)
            }
            "completed" | "complete" | "implemented" | "done" | "finished" | "testing"
            | "in_review" => Some(Self::Completed),
            "tested" | "verified" | "passed" | "passing" | "validated" => Some(Self::Tested),
            "blocked" | "stuck" | "failed" | "on_hold" | "deferred" => Some(Self::Blocked),
            _ => None,
        }
    }
}

/// A feature in the list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Feature {
    /// What it is called; unique in the list.
    pub id: String,
    /// What is to be built.
    pub description: String,
    /// Its status.
    pub status: FeatureStatus,
    /// Whether it was shown to work.
    pub tested: bool,
    /// Its files and folders.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// Its tests: paths or test ids. A run must cover one of them; if none, any run counts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tests: Vec<String>,
    /// Acceptance criteria.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub acceptance_criteria: Vec<String>,
    /// Lower goes first; default 2.
    pub priority: i64,
    /// Features that must be tested before it starts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<String>,
    /// Tests that failed since it was last opened.
    pub retries: u32,
    /// Its category or phase.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// The blackboard entry that asks a person to look at it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub need: Option<String>,
    /// The run that marked it tested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verified_by: Option<VerifiedBy>,
    /// Its complexity, if listed.
    #[serde(skip)]
    pub complexity: Option<i64>,
    /// Its task type, if listed.
    #[serde(skip)]
    pub task_type: Option<String>,
}

/// What a list says beside the fields of a feature.
#[derive(Clone, Debug, Default)]
pub(crate) struct ListContext {
    /// Its key in a map.
    pub(crate) key: Option<String>,
    /// The status of the bucket that contains it.
    pub(crate) bucket: Option<FeatureStatus>,
    /// The category it belongs to.
    pub(crate) group: Option<String>,
}

/// Where nobody says how urgent a feature is: the middle of critical to low.
const MIDDLE: i64 = 2;

const DESCRIPTION: &[&str] = &["description", "name", "title", "feature", "summary"];
const ID: &[&str] = &["id", "feature_id", "featureId", "key"];
const STATUS: &[&str] = &["status", "state"];
const FLAG: &[&str] = &[TESTED, PASSES];
const FILES: &[&str] = &["files", "file", "files_modified", "affected_files"];
const TESTS: &[&str] = &["tests", "test_files"];
const CRITERIA: &[&str] =
    &["acceptance_criteria", "acceptance", "acceptanceCriteria", "criteria", "steps"];
const DEPENDS_ON: &[&str] = &["depends_on", "dependencies", "dependsOn", "requires"];
const RETRIES: &[&str] = &["retries", "retry_count", "retry"];

/// Fields that go by several names, each under the one that we write first.
pub(super) const SPELLINGS: [&[&str]; 8] =
    [DESCRIPTION, STATUS, FLAG, FILES, TESTS, CRITERIA, DEPENDS_ON, RETRIES];

/// Whether a key is read.
fn is_read(key: &str) -> bool {
    let single: &[&str] =
        &["need", "priority", "category", "complexity", "task_type", "type", "verified_by"];
    SPELLINGS.iter().chain([&ID, &single]).any(|keys| keys.contains(&key))
}

/// What an object says, as far as it is read; of two fields with one name the last counts.
#[derive(Clone, Debug, Default)]
pub(crate) struct FeatureFields<'t>(Vec<(Cow<'t, str>, Value)>);

impl<'t> FeatureFields<'t> {
    /// Only what is read is parsed: lists carry logs and evidence of any size.
    pub(super) fn of(text: &'t str, members: &[(Cow<'t, str>, TextRange)]) -> Self {
        let known = members.iter().filter(|(key, _)| is_read(key));
        Self(known.map(|(key, at)| (key.clone(), json_spans::value(text, at))).collect())
    }

    fn get(&self, key: &str) -> Option<&Value> {
        self.0.iter().rev().find(|(known, _)| known == key).map(|(_, value)| value)
    }
}

impl Feature {
    /// Paths whose change makes a run stale: its files, and the files its tests are in.
    pub(crate) fn watched(&self) -> impl Iterator<Item = &str> {
        let tests = self
            .tests
            .iter()
            .map(|test| test.split("::").next().unwrap_or(test))
            .filter(|path| path.contains(['/', '.']));
        self.files.iter().map(String::as_str).chain(tests)
    }

    /// How far it is, and by what evidence: `tested (seen: 12 passed, …)`.
    #[must_use]
    pub fn standing(&self) -> String {
        let status = self.status.as_str();
        self.verified_by.as_ref().map_or_else(|| status.to_owned(), |by| format!("{status} ({by})"))
    }

    /// Reads a feature, and returns its oddities, each as the end of a sentence that begins with
    /// its name.
    pub(crate) fn read(fields: &FeatureFields<'_>, around: ListContext) -> (Self, Vec<String>) {
        let mut problems = Vec::new();
        let description = first(fields, DESCRIPTION, text_of).unwrap_or_default();
        let id = first(fields, ID, text_of).or(around.key).unwrap_or_else(|| {
            problems.push(
                "has no `id`; its description is used as the id until it gets one".to_owned(),
            );
            slug(&description)
        });
        let status = match first(fields, STATUS, text_of) {
            Some(word) => FeatureStatus::read(&word).or_else(|| {
                problems.push(format!(
                    "has the unknown status `{}`; it is treated as pending",
                    text::excerpt(&word, 40)
                ));
                None
            }),
            None => around.bucket,
        };
        let flag = first(fields, FLAG, Value::as_bool);
        let (status, tested) = standing(status, flag, &mut problems);
        let priority = fields.get("priority").map_or(Some(MIDDLE), priority).unwrap_or_else(|| {
            problems
                .push("has an unknown priority (not a number, P0 to P9, mvp, critical, high, medium or low); it is treated as medium".to_owned());
            MIDDLE
        });
        let feature = Self {
            id,
            description,
            status,
            tested,
            files: first_list(fields, FILES),
            // A number of tests names none.
            tests: first_list(fields, TESTS)
                .into_iter()
                .filter(|test| test.parse::<f64>().is_err())
                .collect(),
            acceptance_criteria: first_list(fields, CRITERIA),
            priority,
            depends_on: first_list(fields, DEPENDS_ON),
            retries: first(fields, RETRIES, Value::as_u64)
                .map_or(0, |retries| u32::try_from(retries).unwrap_or(u32::MAX)),
            need: fields.get("need").and_then(text_of),
            // What is no such object says nothing of a run.
            verified_by: fields
                .get("verified_by")
                .and_then(|by| VerifiedBy::deserialize(by).ok())
                .filter(|_| tested),
            group: around.group.or_else(|| fields.get("category").and_then(text_of)),
            complexity: fields.get("complexity").and_then(Value::as_i64),
            task_type: fields.get("task_type").or_else(|| fields.get("type")).and_then(text_of),
        };
        (feature, problems)
    }
}

/// The key of the flag we write, and the other that is read.
pub(crate) const TESTED: &str = "tested";
pub(crate) const PASSES: &str = "passes";

/// Where status and flag disagree, the one that asks for more work is right: a
/// feature tested twice costs a minute, one that never was costs more.
fn standing(
    status: Option<FeatureStatus>,
    flag: Option<bool>,
    problems: &mut Vec<String>,
) -> (FeatureStatus, bool) {
    match (status, flag) {
        (None | Some(FeatureStatus::Completed | FeatureStatus::Tested), Some(true))
        | (Some(FeatureStatus::Tested), None) => (FeatureStatus::Tested, true),
        (Some(FeatureStatus::Tested), Some(false)) => {
            problems.push(
                "has the status tested but `tested: false`; it is treated as completed".to_owned(),
            );
            (FeatureStatus::Completed, false)
        }
        (Some(status), Some(true)) => {
            problems.push(format!(
                "has `tested: true` but the status {}; the status is used",
                status.as_str()
            ));
            (status, false)
        }
        (status, _) => (status.unwrap_or_default(), false),
    }
}

/// What the first of these fields that says something says.
fn first<T>(
    fields: &FeatureFields<'_>,
    keys: &[&str],
    read: impl Fn(&Value) -> Option<T>,
) -> Option<T> {
    keys.iter().find_map(|key| fields.get(key).and_then(&read))
}

/// A text that says something, also where it was written as a number.
fn text_of(value: &Value) -> Option<String> {
    let words = match value {
        Value::String(words) => words.clone(),
        Value::Number(number) => number.to_string(),
        _ => return None,
    };
    let words = words.trim();
    (!words.is_empty()).then(|| fields::clip(words, limits::TEXT_BYTES))
}

/// The first of these fields that is there, as a list; one text is a list of one.
fn first_list(fields: &FeatureFields<'_>, keys: &[&str]) -> Vec<String> {
    let items = match keys.iter().find_map(|key| fields.get(key)) {
        Some(Value::Array(items)) => items.iter().take(limits::LIST).filter_map(text_of).collect(),
        one => one.and_then(text_of).into_iter().collect::<Vec<_>>(),
    };
    let mut seen = std::collections::HashSet::new();
    items.into_iter().filter(|item| seen.insert(item.clone())).collect()
}

/// A number, `P0`, or one of the words in use.
pub(super) fn priority(value: &Value) -> Option<i64> {
    if let Some(number) = value.as_i64() {
        return Some(number);
    }
    let word = value.as_str()?.trim().to_lowercase().replace([' ', '-'], "_");
    match word.as_str() {
        "mvp" | "critical" | "urgent" | "highest" | "must" => Some(0),
        "high" | "should" => Some(1),
        "medium" | "normal" | "could" | "" => Some(MIDDLE),
        "low" | "lowest" | "later" | "post_mvp" | "nice_to_have" => Some(3),
        word => word.strip_prefix('p').unwrap_or(word).parse().ok(),
    }
}

/// A name made of a description: the same however the list is ordered.
pub(crate) fn slug(description: &str) -> String {
    const MOST: usize = 48;
    let mut slug = String::new();
    for c in description.to_lowercase().chars().map(|c| if c.is_alphanumeric() { c } else { '-' }) {
        if slug.len() < MOST && (c != '-' || !(slug.is_empty() || slug.ends_with('-'))) {
            slug.push(c);
        }
    }
    let slug = slug.trim_end_matches('-');
    if slug.is_empty() { "unnamed".to_owned() } else { slug.to_owned() }
}
