//! What to do now, told by the list alone: the same list, the same answer.
//!
//! What was begun is finished first: a failed feature is resumed, finished code is
//! tested, code in hand is written on; only then something new is begun. Nothing
//! left to do but blocked features means that a person is needed.

use std::collections::HashMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::words;
use crate::workflow::feature::{Feature, FeatureStatus};
use crate::workflow::list::FeatureList;
use crate::workflow::order;

/// What kind of thing to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NextAction {
    /// Break the work down into features.
    Initialize,
    /// Build a feature.
    Code,
    /// Show that a feature works.
    Test,
    /// Mend a feature whose tests failed.
    Resume,
    /// Get a person to look at a feature.
    Blocked,
    /// Nothing is left.
    Done,
}

impl NextAction {
    /// The word for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Initialize => "initialize",
            Self::Code => "code",
            Self::Test => "test",
            Self::Resume => "resume",
            Self::Blocked => "blocked",
            Self::Done => "done",
        }
    }

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
    /// What kind of thing.
    pub action: NextAction,
    /// Which feature.
    pub feature: Option<&'l Feature>,
    /// Which attempt at it, from 1.
    pub attempt: u32,
    /// Why this.
    pub why: String,
    /// What is odd about the list.
    pub problems: Vec<String>,
}

/// Tells what to do now. No list is a project that was not broken down yet.
#[must_use]
pub fn next(list: Option<&FeatureList>) -> NextStep<'_> {
    let plain = |action, why: &str| NextStep { action, feature: None, attempt: 0, why: why.to_owned(), problems: Vec::new() };
    let Some(list) = list else { return plain(NextAction::Initialize, "there is no feature list yet") };
    let mut problems = list.problems.clone();
    problems.extend(order::cycle_problems(&list.features));
    let by_id: HashMap<&str, &Feature> = list.features.iter().map(|feature| (feature.id.as_str(), feature)).collect();
    for feature in &list.features {
        let unknown: Vec<&str> = feature.depends_on.iter().map(String::as_str).filter(|id| !by_id.contains_key(id)).collect();
        if !unknown.is_empty() {
            problems.push(format!("`{}` depends on {}, which the list does not have", feature.id, words::some_names(unknown.into_iter())));
        }
    }
    let workable = list.features.iter().enumerate().filter_map(|(place, feature)| {
        let (rank, action) = match feature.status {
            FeatureStatus::InProgress if feature.retries > 0 => (0, NextAction::Resume),
            FeatureStatus::Completed => (1, NextAction::Test),
            FeatureStatus::InProgress => (2, NextAction::Code),
            FeatureStatus::Pending if order::blocked_by(feature, &by_id).is_empty() => (3, NextAction::Code),
            _ => return None,
        };
        Some((rank, feature.priority, place, action, feature))
    });
    if let Some((_, _, _, action, feature)) = workable.min_by_key(|&(rank, priority, place, ..)| (rank, priority, place)) {
        let attempt = feature.retries.saturating_add(1);
        return NextStep { action, feature: Some(feature), attempt, why: why(action, feature), problems };
    }
    let stuck = |status| list.features.iter().filter(move |feature| feature.status == status).min_by_key(|feature| feature.priority);
    if let Some(feature) = stuck(FeatureStatus::Blocked) {
        let why = format!("`{}` is blocked after {}; nothing else can be done", feature.id, failures(feature.retries));
        return NextStep { action: NextAction::Blocked, feature: Some(feature), attempt: feature.retries, why, problems };
    }
    if let Some(feature) = stuck(FeatureStatus::Pending) {
        let blockers = order::blocked_by(feature, &by_id);
        let why = format!("`{}` waits for {}, which nothing can finish", feature.id, words::some_names(blockers.into_iter()));
        return NextStep { action: NextAction::Blocked, feature: Some(feature), attempt: 0, why, problems };
    }
    let done = if list.features.is_empty() { "the list has no features" } else { "every feature is tested" };
    NextStep { problems, ..plain(NextAction::Done, done) }
}

fn why(action: NextAction, feature: &Feature) -> String {
    match (action, feature.status) {
        (NextAction::Resume, _) => format!("it comes back after {}", failures(feature.retries)),
        (NextAction::Test, _) => "its code is finished, and nobody showed that it works".to_owned(),
        (_, FeatureStatus::InProgress) => "it was begun and is not finished".to_owned(),
        _ => "it is the next that waits for nothing".to_owned(),
    }
}

fn failures(n: u32) -> String {
    words::count(u64::from(n), "failed test", "failed tests")
}
