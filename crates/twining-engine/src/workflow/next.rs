//! What to do now, derived from the list alone: the same list gives the same answer.
//!
//! Started work is finished first: a failed feature is resumed, finished code is tested, code in
//! progress is continued; only then is something new started. If only blocked features are left, a
//! person is needed.

use std::collections::HashMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use twining_model::{text, words};

use crate::anchors::CodeNote;
use crate::fields;
use crate::workflow::evidence::RunLog;
use crate::workflow::feature::{Feature, FeatureStatus};
use crate::workflow::feature_edit::FeatureCounts;
use crate::workflow::list::FeatureList;

words! {
    /// What kind of thing to do.
    pub enum NextAction {
        /// Break the work down into features.
        Initialize = "initialize",
        /// Build a feature.
        Code = "code",
        /// Show that a feature works.
        Test = "test",
        /// Fix a feature whose tests failed.
        Resume = "resume",
        /// Get a person to look at a feature.
        Blocked = "blocked",
        /// Nothing is left.
        Done = "done",
    }
}

impl NextAction {
    /// The role that does it; none where a person is needed or nothing is left.
    #[must_use]
    pub fn role(self) -> Option<&'static str> {
        match self {
            Self::Initialize => Some("initializer"),
            Self::Code | Self::Resume => Some("player"),
            Self::Test => Some("coach"),
            Self::Blocked | Self::Done => None,
        }
    }

    /// Whether an agent can get on with it, or the session may end.
    #[must_use]
    pub fn is_work(self) -> bool {
        self.role().is_some()
    }
}

/// What to do now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NextStep<'l> {
    /// The kind of step.
    pub action: NextAction,
    /// Which feature.
    pub feature: Option<&'l Feature>,
    /// Which attempt at it, from 1.
    pub attempt: u32,
    /// Why this.
    pub why: String,
    /// Problems in the list.
    pub problems: Vec<String>,
}

/// Returns what to do now. No list means that the project was not broken down yet.
#[must_use]
pub fn next(list: Option<&FeatureList>) -> NextStep<'_> {
    let plain = |action, why: &str| NextStep {
        action,
        feature: None,
        attempt: 0,
        why: why.to_owned(),
        problems: Vec::new(),
    };
    let Some(list) = list else {
        return plain(NextAction::Initialize, "there is no feature list yet");
    };
    let by_id: HashMap<&str, &Feature> =
        list.features.iter().map(|feature| (feature.id.as_str(), feature)).collect();
    let problems = list_problems(list, &by_id);
    let workable = list.features.iter().enumerate().filter_map(|(place, feature)| {
        let (rank, action) = match feature.status {
            FeatureStatus::InProgress if feature.retries > 0 => (0, NextAction::Resume),
            FeatureStatus::Completed => (1, NextAction::Test),
            FeatureStatus::InProgress => (2, NextAction::Code),
            FeatureStatus::Pending if blocked_by(feature, &by_id).is_empty() => {
                (3, NextAction::Code)
            }
            _ => return None,
        };
        Some((rank, feature.priority, place, action, feature))
    });
    if let Some((_, _, _, action, feature)) =
        workable.min_by_key(|&(rank, priority, place, ..)| (rank, priority, place))
    {
        let attempt = feature.retries.saturating_add(1);
        return NextStep {
            action,
            feature: Some(feature),
            attempt,
            why: why(action, feature),
            problems,
        };
    }
    let stuck = |status| {
        list.features
            .iter()
            .filter(move |feature| feature.status == status)
            .min_by_key(|feature| feature.priority)
    };
    let stopped = |feature: &'_ Feature| match feature.status {
        FeatureStatus::Blocked if feature.retries == 0 => {
            "is blocked; nothing else can be done".to_owned()
        }
        FeatureStatus::Blocked => {
            format!("is blocked after {}; nothing else can be done", failures(feature.retries))
        }
        _ => {
            let blockers = fields::some_names(blocked_by(feature, &by_id).into_iter());
            format!("waits for {blockers}, which nothing can finish")
        }
    };
    if let Some(feature) = stuck(FeatureStatus::Blocked).or_else(|| stuck(FeatureStatus::Pending)) {
        return NextStep {
            action: NextAction::Blocked,
            feature: Some(feature),
            attempt: if feature.status == FeatureStatus::Blocked { feature.retries } else { 0 },
            why: format!("`{}` {}", feature.id, stopped(feature)),
            problems,
        };
    }
    let done = if list.features.is_empty() {
        "the list has no features"
    } else {
        "every feature is tested"
    };
    NextStep { problems, ..plain(NextAction::Done, done) }
}

/// What is odd about a list: circles, and dependencies that it does not have.
fn list_problems(list: &FeatureList, by_id: &HashMap<&str, &Feature>) -> Vec<String> {
    let mut problems = list.problems.clone();
    problems.extend(cycle_problems(&list.features));
    for feature in &list.features {
        let ids = feature.depends_on.iter().map(String::as_str);
        let unknown: Vec<&str> = ids.filter(|id| !by_id.contains_key(id)).collect();
        if !unknown.is_empty() {
            let names = fields::some_names(unknown.into_iter());
            problems
                .push(format!("`{}` depends on {names}, which the list does not have", feature.id));
        }
    }
    problems
}

fn why(action: NextAction, feature: &Feature) -> String {
    match (action, feature.status) {
        (NextAction::Resume, _) => {
            format!("it is being retried after {}", failures(feature.retries))
        }
        (NextAction::Test, _) => "its code is finished but not yet tested".to_owned(),
        (_, FeatureStatus::InProgress) => "it was started but is not finished".to_owned(),
        _ => "it is the next feature with no open dependencies".to_owned(),
    }
}

fn failures(n: u32) -> String {
    fields::count(u64::from(n), "failed test run", "failed test runs")
}

/// What holds a feature back: its dependencies that are not tested, and those
/// that are in no list.
pub(crate) fn blocked_by<'f>(
    feature: &'f Feature,
    by_id: &HashMap<&str, &Feature>,
) -> Vec<&'f str> {
    let open = |id: &&str| by_id.get(id).is_none_or(|other| !other.tested);
    feature.depends_on.iter().map(String::as_str).filter(open).collect()
}

/// Every circle of dependencies, in words.
pub(crate) fn cycle_problems(features: &[Feature]) -> impl Iterator<Item = String> {
    cycles(features).into_iter().map(|cycle| {
        let closed: Vec<&str> = cycle.iter().chain(cycle.first()).map(String::as_str).collect();
        format!(
            "{} depend on each other",
            fields::some_names(closed.into_iter()).replace(", ", " -> ")
        )
    })
}

/// Circles of dependencies, each from the feature by which it is entered.
pub(crate) fn cycles(features: &[Feature]) -> Vec<Vec<String>> {
    #[derive(Clone, Copy, PartialEq)]
    enum Visit {
        New,
        OnPath,
        Done,
    }
    let index: HashMap<&str, usize> =
        features.iter().enumerate().map(|(at, feature)| (feature.id.as_str(), at)).collect();
    let needs =
        |at: usize| features[at].depends_on.iter().filter_map(|id| index.get(id.as_str()).copied());
    let (mut visits, mut in_circle, mut cycles) =
        (vec![Visit::New; features.len()], vec![false; features.len()], Vec::new());
    for start in 0..features.len() {
        let mut path =
            if visits[start] == Visit::New { vec![(start, needs(start))] } else { Vec::new() };
        while let Some((at, rest)) = path.last_mut() {
            visits[*at] = Visit::OnPath;
            match rest.next().map(|next| (next, visits[next])) {
                None => {
                    visits[*at] = Visit::Done;
                    path.pop();
                }
                Some((next, Visit::New)) => path.push((next, needs(next))),
                // One of several cycles that share a feature is enough to report.
                Some((next, Visit::OnPath)) if !in_circle[next] => {
                    let circle: Vec<usize> =
                        path.iter().map(|(at, _)| *at).skip_while(|at| *at != next).collect();
                    if !circle.iter().any(|at| in_circle[*at]) {
                        cycles.push(circle.iter().map(|at| features[*at].id.clone()).collect());
                    }
                    circle.into_iter().for_each(|at| in_circle[at] = true);
                }
                Some(_) => {}
            }
        }
    }
    cycles
}

/// Characters of one stored line.
const LINE: usize = 300;
/// Stored lines of one list.
const LINES: usize = 20;

/// Options for the next step.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NextInput {
    /// false: without the role's prompt
    pub prompt: Option<bool>,
}

/// The next step in short.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct NextBrief {
    /// The kind of step.
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
        let attempt =
            (next.action == NextAction::Resume).then(|| format!("attempt {}", next.attempt));
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
    /// Who it is for: `initializer`, `player` or `coach`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<&'static str>,
    /// The feature in full.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub details: Option<Feature>,
    /// How the code of its files is, if that is doubtful, gone, or not at its place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<CodeNote>,
    /// Markdown for the agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// Features per status.
    pub counts: FeatureCounts,
    /// Where the list is, or would be, relative to the project.
    pub path: String,
    /// Whether hooks start the next step on their own.
    pub auto: bool,
    /// Problems in the list.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<String>,
}

/// The text of the step for a worker. Each stored text is on one visible line, so that it cannot
/// imitate one of our headings.
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
            "Run the tests yourself in this session, on the current code. Then call twining_report with feature {id}, role tester and outcome passed (without hooks, add the command, its exit code and its output as evidence), or outcome failed with what broke. Zero tests are not evidence. Do not edit the feature list."
        ),
        _ => format!(
            "Build this feature and nothing else. Then call twining_report with feature {id}, role coder, outcome completed and the files you \
             changed; outcome blocked with the reason if you cannot go on. Somebody else tests it. Do not edit the feature list."
        ),
    };
    text.push_str(&format!("\n## When you are done\n\n{done}\n"));
    text
}

const INITIALIZE: &str = "# Break the work down\n\nThere is no feature list yet. Read the project's goals, and split it into features that one agent can build and one can test.\n\nFor each, call twining_features with action add: a short id, what is to be built, acceptance criteria that a test can check, the files it will\ntouch, a priority (lower first) and the ids it depends on. Then call twining_next.\n";

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
    text::visible(&fields::shorten(stored, LINE))
}
