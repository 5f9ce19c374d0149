//! What whoever is called next is told: the feature in hand and how to report
//! it. What its role demands stands in the governance prompt beneath.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use twining_model::text;

use crate::words;
use crate::workflow::edit::FeatureCounts;
use crate::workflow::evidence::RunLog;
use crate::workflow::feature::Feature;
use crate::workflow::next::{NextAction, NextStep};

/// Characters of one stored line.
const LINE: usize = 300;
/// Stored lines of one list.
const LINES: usize = 20;

/// What to tell of the next step.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NextInput {
    /// false: without the role's prompt
    pub prompt: Option<bool>,
}

/// The next step in short.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct NextBrief {
    /// What kind of thing.
    pub action: NextAction,
    /// Which feature.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub feature: Option<String>,
    /// Which attempt at it.
    #[serde(skip_serializing_if = "is_nought")]
    pub attempt: u32,
    /// The step in words: `code F1`, `resume F1 attempt 2`.
    pub say: String,
    /// Why this.
    pub why: String,
}

fn is_nought(n: &u32) -> bool {
    *n == 0
}

impl NextBrief {
    /// A step in short.
    #[must_use]
    pub fn of(next: &NextStep<'_>) -> Self {
        let feature = next.feature.map(|feature| feature.id.clone());
        let attempt = (next.action == NextAction::Resume).then(|| format!("attempt {}", next.attempt));
        let words = [Some(next.action.as_str().to_owned()), feature.clone(), attempt];
        let say = words.into_iter().flatten().collect::<Vec<_>>().join(" ");
        Self { action: next.action, feature, attempt: next.attempt, say, why: next.why.clone() }
    }
}

/// What to do now, with everything needed for it.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct NextOutcome {
    /// The step.
    #[serde(flatten)]
    pub next: NextBrief,
    /// Whom it is for: `initializer`, `player` or `coach`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<&'static str>,
    /// The feature in full.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub details: Option<Feature>,
    /// Markdown for whoever does it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// How many features stand where.
    pub counts: FeatureCounts,
    /// Where the list is, or would be, relative to the project.
    pub path: String,
    /// Whether hooks go on to the next step by themselves.
    pub auto: bool,
    /// What is odd about the list.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<String>,
}

/// What a worker is told of the step itself. Stored text stands on one visible
/// line each, so that none of it can pass for a heading of ours.
pub(crate) fn task_text(next: &NextStep<'_>, log: &RunLog) -> String {
    let Some(feature) = next.feature else { return INITIALIZE.to_owned() };
    let id = line(&feature.id);
    let mut text = match next.action {
        NextAction::Test => format!("# Test {id}\n"),
        NextAction::Resume => format!("# Resume {id}, attempt {}\n", next.attempt),
        _ => format!("# Build {id}\n"),
    };
    text.push_str(&format!("\n{}\n", line(&feature.description)));
    list(&mut text, "Acceptance criteria", &feature.acceptance_criteria);
    list(&mut text, "Files", &feature.files);
    list(&mut text, "Tests", &feature.tests);
    let failed = log.last_report(&feature.id, |report| report.outcome == "failed");
    if let Some(report) = failed.filter(|_| next.action == NextAction::Resume) {
        text.push_str(&format!("\n## What broke last time\n\n{}\n", line(&report.summary)));
    }
    let done = match next.action {
        NextAction::Test => format!(
            "Run the tests yourself in this session, on the code as it is. Then call twining_report with feature {id}, role tester and outcome \
             passed; without hooks, with the command, its exit code and its output as evidence; or outcome failed with what broke. Zero tests \
             are not evidence. Do not edit the feature list."
        ),
        _ => format!(
            "Build this feature and nothing else. Then call twining_report with feature {id}, role coder, outcome completed and the files you \
             changed; outcome blocked with the reason if you cannot go on. Somebody else tests it. Do not edit the feature list."
        ),
    };
    text.push_str(&format!("\n## When you are done\n\n{done}\n"));
    text
}

const INITIALIZE: &str = "\
# Break the work down

There is no feature list yet. Read what the project is to become, and split it into features that one agent can build and one can test.

For each, call twining_features with action add: a short id, what is to be built, acceptance criteria that a test can check, the files it will
touch, a priority (lower first) and the ids it depends on. Then call twining_next.
";

fn list(text: &mut String, heading: &str, items: &[String]) {
    if items.is_empty() {
        return;
    }
    text.push_str(&format!("\n## {heading}\n\n"));
    items.iter().take(LINES).for_each(|item| text.push_str(&format!("- {}\n", line(item))));
    if items.len() > LINES {
        text.push_str(&format!("- and {} more\n", items.len() - LINES));
    }
}

fn line(stored: &str) -> String {
    text::visible(&words::shorten(stored, LINE))
}
