//! The critical rules a change is held to: those that hold now, and those that held
//! before it. A change cannot take away the rules it is judged by: what it removes,
//! lowers, narrows or rewords still stands, and is told.

use std::collections::{HashMap, HashSet};

use schemars::JsonSchema;
use serde::Serialize;
use twining_model::text;

use super::facts::{KnowledgeFacts, RuleFact};
use super::file::KnowledgeGraph;

/// A rule, and why it holds here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct AppliedRule {
    /// Its id.
    pub id: String,
    /// What it says.
    pub description: String,
    /// A changed file it holds for, or that it holds for all.
    pub because: String,
    /// What the change under review does to it, if anything.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub change: Option<RuleChange>,
    /// What it said before, where the change rewords it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
}

/// How a change gets at a rule, from plain to sly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RuleChange {
    /// It is gone, or cannot be read any more.
    Removed,
    /// It is no longer a current rule of the highest priority.
    Lowered,
    /// It no longer holds for these files.
    Narrowed,
    /// It says something else.
    Reworded,
}

impl RuleChange {
    /// What the change does, for a reviewer.
    #[must_use]
    pub fn describe(self) -> &'static str {
        match self {
            Self::Removed => "the change under review REMOVES this rule",
            Self::Lowered => "the change under review LOWERS this rule",
            Self::Narrowed => "the change under review makes this rule HOLD ELSEWHERE",
            Self::Reworded => "the change under review REWORDS this rule",
        }
    }
}

/// The rules that hold for these files, those that the change gets at first.
/// Those that hold everywhere always do.
pub(super) fn applied(before: Option<&KnowledgeGraph>, after: &KnowledgeGraph, files: &[String]) -> Vec<AppliedRule> {
    let now = KnowledgeFacts::of(after).critical_rules;
    let known: HashMap<&str, &RuleFact> = now.iter().map(|rule| (rule.id.as_str(), rule)).collect();
    let earlier = before.map(|before| KnowledgeFacts::of(before).critical_rules).unwrap_or_default();
    let mut rules: Vec<AppliedRule> = Vec::new();
    for rule in &earlier {
        let Some(change) = weakened(rule, known.get(rule.id.as_str()).copied(), after, files) else { continue };
        // What holds for no changed file is told too: taking it away is a change of its own.
        let because = because(rule, files).unwrap_or_else(|| format!("it held for {}", text::excerpt(&rule.paths.join(", "), 200)));
        let reworded = known.get(rule.id.as_str()).filter(|_| change == RuleChange::Reworded);
        rules.push(AppliedRule {
            id: rule.id.clone(),
            description: reworded.map_or(&rule.description, |now| &now.description).clone(),
            because,
            change: Some(change),
            before: reworded.map(|_| rule.description.clone()),
        });
    }
    rules.sort_by_key(|rule| rule.change);
    let listed_ids: HashSet<String> = rules.iter().map(|rule| rule.id.clone()).collect();
    for rule in now.iter().filter(|rule| !listed_ids.contains(&rule.id)) {
        if let Some(because) = because(rule, files) {
            rules.push(AppliedRule { id: rule.id.clone(), description: rule.description.clone(), because, change: None, before: None });
        }
    }
    rules
}

fn weakened(rule: &RuleFact, now: Option<&RuleFact>, after: &KnowledgeGraph, files: &[String]) -> Option<RuleChange> {
    let Some(now) = now else {
        return Some(if after.node(&rule.id).is_some() { RuleChange::Lowered } else { RuleChange::Removed });
    };
    // By what it held for, whether this change touches that or not: the next one may.
    let mut held_for = rule.paths.iter().flat_map(|paths| paths.split(',')).map(str::trim).filter(|path| !path.is_empty());
    let is_narrowed = !now.paths.is_empty() && (rule.paths.is_empty() || held_for.any(|path| !now.holds_for(path)));
    if is_narrowed || files.iter().any(|file| rule.holds_for(file) && !now.holds_for(file)) {
        return Some(RuleChange::Narrowed);
    }
    (now.description != rule.description).then_some(RuleChange::Reworded)
}

fn because(rule: &RuleFact, files: &[String]) -> Option<String> {
    if rule.paths.is_empty() {
        return Some("it holds everywhere".to_owned());
    }
    files.iter().find(|file| rule.holds_for(file)).map(|file| format!("it holds for {}", text::excerpt(file, 200)))
}
