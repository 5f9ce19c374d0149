//! The critical rules for a change: those in force now, and those in force before it. A change
//! cannot lift the rules it is judged by: what it removes, lowers, narrows or rewords still
//! applies, and is reported.

use std::collections::{HashMap, HashSet};

use schemars::JsonSchema;
use serde::Serialize;
use twining_guard::paths::{PathGlobs, globs_of};
use twining_model::knowledge_vocabulary::{Link, NodeType, Priority, Standing};
use twining_model::text;

use super::graph::{KnowledgeEdge, KnowledgeGraph, KnowledgeNode};

/// A rule, and why it applies.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct AppliedRule {
    /// Its id.
    pub id: String,
    /// Its message.
    pub description: String,
    /// The changed file it applies to, or all files.
    pub because: String,
    /// What the change under review does to it, if anything.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub change: Option<RuleChange>,
    /// Its old text, if the change rewords it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
}

/// How a change weakens a rule, obvious first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RuleChange {
    /// It is removed or no longer readable.
    Removed,
    /// It is no longer a current, critical rule.
    Lowered,
    /// It no longer covers these files.
    Narrowed,
    /// Its text changed.
    Reworded,
}

impl RuleChange {
    /// What the change does, for a reviewer.
    #[must_use]
    pub fn describe(self) -> &'static str {
        match self {
            Self::Removed => "the change under review REMOVES this rule",
            Self::Lowered => "the change under review DOWNGRADES this rule",
            Self::Narrowed => "the change under review CHANGES WHERE this rule applies",
            Self::Reworded => "the change under review REWORDS this rule",
        }
    }
}

/// The rules that hold for these files, those that the change gets at first.
/// Those that hold everywhere always do.
pub(super) fn applied(
    before: Option<&KnowledgeGraph>,
    after: &KnowledgeGraph,
    files: &[String],
) -> Vec<AppliedRule> {
    let now = KnowledgeFacts::of(after).critical_rules;
    let known: HashMap<&str, &RuleFact> = now.iter().map(|rule| (rule.id.as_str(), rule)).collect();
    let earlier =
        before.map(|before| KnowledgeFacts::of(before).critical_rules).unwrap_or_default();
    let mut rules: Vec<AppliedRule> = Vec::new();
    for rule in &earlier {
        let Some(change) = weakened(rule, known.get(rule.id.as_str()).copied(), after, files)
        else {
            continue;
        };
        // Rules that apply to no changed file are reported too: removing one is itself a change.
        let because = because(rule, files).unwrap_or_else(|| {
            format!("it applied to {}", text::excerpt(&rule.paths.join(", "), 200))
        });
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
            rules.push(AppliedRule {
                id: rule.id.clone(),
                description: rule.description.clone(),
                because,
                change: None,
                before: None,
            });
        }
    }
    rules
}

fn weakened(
    rule: &RuleFact,
    now: Option<&RuleFact>,
    after: &KnowledgeGraph,
    files: &[String],
) -> Option<RuleChange> {
    let Some(now) = now else {
        return Some(if after.node(&rule.id).is_some() {
            RuleChange::Lowered
        } else {
            RuleChange::Removed
        });
    };
    // By what it held for, whether this change touches that or not: the next one may.
    let mut held_for = rule
        .paths
        .iter()
        .flat_map(|paths| paths.split(','))
        .map(str::trim)
        .filter(|path| !path.is_empty());
    let is_narrowed = !now.paths.is_empty()
        && (rule.paths.is_empty() || held_for.any(|path| !now.holds_for(path)));
    if is_narrowed || files.iter().any(|file| rule.holds_for(file) && !now.holds_for(file)) {
        return Some(RuleChange::Narrowed);
    }
    (now.description != rule.description).then_some(RuleChange::Reworded)
}

fn because(rule: &RuleFact, files: &[String]) -> Option<String> {
    if rule.paths.is_empty() {
        return Some("it applies everywhere".to_owned());
    }
    files
        .iter()
        .find(|file| rule.holds_for(file))
        .map(|file| format!("it applies to {}", text::excerpt(file, 200)))
}

/// What the graph demands.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct KnowledgeFacts {
    /// Edges `must_follow`: the tail is held to the head.
    pub must_follow: Vec<EdgeFact>,
    /// Edges `must_not_use`: the tail keeps away from the head.
    pub must_not_use: Vec<EdgeFact>,
    /// Current rules of the highest priority.
    pub critical_rules: Vec<RuleFact>,
}

/// A demand of one node on another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EdgeFact {
    /// Who is held to it.
    pub from: String,
    /// Where that is; empty if it does not say.
    pub from_path: String,
    /// What it is held to, or keeps away from.
    pub to: String,
    /// Where that is; empty if it does not say.
    pub to_path: String,
    /// What that says.
    pub description: String,
    /// The remark on the edge.
    pub note: String,
}

/// A rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RuleFact {
    /// Its id.
    pub id: String,
    /// Its message.
    pub description: String,
    /// Where it holds: its own path, and those of the nodes that must follow it. Everywhere if empty.
    pub paths: Vec<String>,
    /// The nodes that must follow it.
    pub governs: Vec<String>,
}

impl KnowledgeFacts {
    /// The facts of a graph. What is deprecated or still to come demands nothing.
    #[must_use]
    pub fn of(known: &KnowledgeGraph) -> Self {
        let demands = |link: Link| {
            known.valid_edges().filter(move |valid_edge| {
                valid_edge.link() == Some(link) && is_in_use(valid_edge.from)
            })
        };
        let rules = known.nodes().filter(|node| {
            node.kind() == Some(NodeType::Rule)
                && node.priority() == Some(Priority::Critical)
                && node.standing() == Some(Standing::Current)
        });
        Self {
            must_follow: demands(Link::MustFollow).map(EdgeFact::of).collect(),
            must_not_use: demands(Link::MustNotUse).map(EdgeFact::of).collect(),
            critical_rules: rules
                .map(|rule| RuleFact::of(rule, demands(Link::MustFollow)))
                .collect(),
        }
    }

    /// The critical rules that hold for a path.
    pub fn rules_for<'f>(&'f self, path: &'f str) -> impl Iterator<Item = &'f RuleFact> {
        self.critical_rules.iter().filter(move |rule| rule.holds_for(path))
    }
}

impl EdgeFact {
    fn of(valid_edge: KnowledgeEdge<'_>) -> Self {
        Self {
            from: valid_edge.from.id().to_owned(),
            from_path: valid_edge.from.paths(),
            to: valid_edge.to.id().to_owned(),
            to_path: valid_edge.to.paths(),
            description: valid_edge.to.field("description").to_owned(),
            note: valid_edge.note().to_owned(),
        }
    }
}

impl RuleFact {
    fn of<'k>(rule: KnowledgeNode<'k>, follow: impl Iterator<Item = KnowledgeEdge<'k>>) -> Self {
        let governed: Vec<KnowledgeNode<'k>> = follow
            .filter(|valid_edge| valid_edge.to.position == rule.position)
            .map(|valid_edge| valid_edge.from)
            .collect();
        let paths = std::iter::once(rule).chain(governed.iter().copied()).map(KnowledgeNode::paths);
        Self {
            id: rule.id().to_owned(),
            description: rule.field("description").to_owned(),
            paths: paths.filter(|path| !path.trim().is_empty()).collect(),
            governs: governed.iter().map(|node| node.id().to_owned()).collect(),
        }
    }

    /// Whether it holds for a path.
    #[must_use]
    pub fn holds_for(&self, path: &str) -> bool {
        self.paths.is_empty() || self.paths.iter().any(|pattern| covers(pattern, path))
    }
}

fn is_in_use(node: KnowledgeNode<'_>) -> bool {
    matches!(node.standing(), Some(Standing::Current | Standing::Legacy))
}

/// Whether a node's `path` covers a file: by component, as scopes do; `*` and `?` match characters
/// within one, `**` any number of components; several are separated by commas.
#[must_use]
pub fn covers(paths: &str, file: &str) -> bool {
    let mut paths = paths.split(',').map(str::trim).filter(|path| !path.is_empty());
    paths.any(|path| path_globs(path).is_some_and(|globs| globs.matches(file)))
}

/// What one path of a node covers.
pub(super) fn path_globs(path: &str) -> Option<PathGlobs> {
    // Brackets are letters here: `app/[id]` is the name of a folder.
    let path = path.trim_start_matches('/').replace('[', "[[]").replace('{', "[{]");
    PathGlobs::compile(&globs_of(&path)).ok()
}

#[cfg(test)]
mod tests {
    use crate::knowledge::rules::*;
    use twining_testcases::each;

    #[test]
    fn a_path_covers_by_component_and_by_pattern() {
        each(
            [
                ("src/auth", "src/auth/jwt.ts"),
                ("src/auth/", "src/auth/jwt.ts"),
                ("./src/auth/jwt.ts", "src/auth/jwt.ts"),
                ("src/**/*.rs", "src/a/b/c.rs"),
                ("src/**/*.rs", "src/c.rs"),
                ("**/tests", "a/tests/x.rs"),
                ("docs, src/*.ts", "src/a.ts"),
                ("app/[id]", "app/[id]/page.tsx"),
            ],
            |(paths, file)| {
                assert!(covers(paths, file), "{paths} {file}");
            },
        );
        for (paths, file) in [
            ("src/auth", "src/authority.ts"),
            ("src/*.ts", "src/a/b.rs"),
            ("", "src/a"),
            ("src/auth/jwt.ts", "src/auth"),
        ] {
            assert!(!covers(paths, file), "{paths} {file}");
        }
        assert!(
            !covers(&"**/a".repeat(200), &"a/".repeat(2000).replace('a', "b")),
            "and is quick about it"
        );
    }

    #[test]
    fn rules_hold_where_they_say_and_where_they_are_followed() {
        let rule = |id: &str, rest: &str| {
            format!(
                "{id} [type=rule level=architecture status=current priority=critical description=\"{id}!\" {rest}];"
            )
        };
        let node = |id: &str, rest: &str| {
            format!("{id} [type=component level=architecture status=current description=d {rest}];")
        };
        let source = format!(
            "digraph {{ {} {} {} {} {} {} api -> audited [relation=must_follow]; api -> singleton [relation=must_not_use note=\"since 2.0\"]; }}",
            rule("everywhere", ""),
            rule("in_db", "path=\"src/db\""),
            rule("audited", ""),
            rule("given_up", "").replace("status=current", "status=deprecated"),
            node("api", "path=\"src/api\""),
            node("singleton", "path=\"src/global.rs\""),
        );
        let known = KnowledgeGraph::read(source.as_bytes());
        assert_eq!(known.errors, []);
        let facts = KnowledgeFacts::of(&known);
        let rules = |path: &'static str| {
            facts.rules_for(path).map(|rule| rule.id.as_str()).collect::<Vec<_>>()
        };
        assert_eq!(rules("src/db/pool.rs"), ["everywhere", "in_db"]);
        assert_eq!(rules("src/api/a.rs"), ["everywhere", "audited"]);
        assert_eq!(
            (
                facts.must_follow.len(),
                facts.must_not_use[0].to_path.as_str(),
                facts.must_not_use[0].note.as_str()
            ),
            (1, "src/global.rs", "since 2.0")
        );
    }
}
