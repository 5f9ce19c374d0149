//! Facts for guards: what the reviewed graph demands, and of which paths.
//!
//! Pure: a guard hands in a path and gets back what was agreed on for it.

use serde::Serialize;
use twining_guard::paths::{PathGlobs, globs_of};
use twining_model::knowledge::{Link, NodeType, Priority, Standing};

use super::file::{KnowledgeEdge, KnowledgeGraph, KnowledgeNode};

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
    /// What it says.
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
        let demands =
            |link: Link| known.valid_edges().filter(move |valid_edge| valid_edge.link() == Some(link) && is_in_use(valid_edge.from));
        let rules = known.nodes().filter(|node| {
            node.kind() == Some(NodeType::Rule) && node.priority() == Some(Priority::Critical) && node.standing() == Some(Standing::Current)
        });
        Self {
            must_follow: demands(Link::MustFollow).map(EdgeFact::of).collect(),
            must_not_use: demands(Link::MustNotUse).map(EdgeFact::of).collect(),
            critical_rules: rules.map(|rule| RuleFact::of(rule, demands(Link::MustFollow))).collect(),
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
            from_path: valid_edge.from.field("path").to_owned(),
            to: valid_edge.to.id().to_owned(),
            to_path: valid_edge.to.field("path").to_owned(),
            description: valid_edge.to.field("description").to_owned(),
            note: valid_edge.note().to_owned(),
        }
    }
}

impl RuleFact {
    fn of<'k>(rule: KnowledgeNode<'k>, follow: impl Iterator<Item = KnowledgeEdge<'k>>) -> Self {
        let governed: Vec<KnowledgeNode<'k>> =
            follow.filter(|valid_edge| valid_edge.to.position == rule.position).map(|valid_edge| valid_edge.from).collect();
        let paths = std::iter::once(rule).chain(governed.iter().copied()).map(|node| node.field("path").to_owned());
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

/// Whether a node's `path` covers a file: by component, as scopes do; `*` and `?`
/// stand for letters within one, `**` for any number of them; several with commas.
#[must_use]
pub fn covers(paths: &str, file: &str) -> bool {
    paths.split(',').map(str::trim).filter(|path| !path.is_empty()).any(|path| {
        // Brackets are letters here: `app/[id]` is the name of a folder.
        let path = path.trim_start_matches('/').replace('[', "[[]").replace('{', "[{]");
        PathGlobs::compile(&globs_of(&path)).is_ok_and(|globs| globs.matches(file))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_covers_by_component_and_by_pattern() {
        for (paths, file) in [
            ("src/auth", "src/auth/jwt.ts"),
            ("src/auth/", "src/auth/jwt.ts"),
            ("./src/auth/jwt.ts", "src/auth/jwt.ts"),
            ("src/**/*.rs", "src/a/b/c.rs"),
            ("src/**/*.rs", "src/c.rs"),
            ("**/tests", "a/tests/x.rs"),
            ("docs, src/*.ts", "src/a.ts"),
            ("app/[id]", "app/[id]/page.tsx"),
        ] {
            assert!(covers(paths, file), "{paths} {file}");
        }
        for (paths, file) in [("src/auth", "src/authority.ts"), ("src/*.ts", "src/a/b.rs"), ("", "src/a"), ("src/auth/jwt.ts", "src/auth")]
        {
            assert!(!covers(paths, file), "{paths} {file}");
        }
        assert!(!covers(&"**/a".repeat(200), &"a/".repeat(2000).replace('a', "b")), "and is quick about it");
    }

    #[test]
    fn rules_hold_where_they_say_and_where_they_are_followed() {
        let rule = |id: &str, rest: &str| {
            format!("{id} [type=rule level=architecture status=current priority=critical description=\"{id}!\" {rest}];")
        };
        let node = |id: &str, rest: &str| format!("{id} [type=component level=architecture status=current description=d {rest}];");
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
        let rules = |path: &'static str| facts.rules_for(path).map(|rule| rule.id.as_str()).collect::<Vec<_>>();
        assert_eq!(rules("src/db/pool.rs"), ["everywhere", "in_db"]);
        assert_eq!(rules("src/api/a.rs"), ["everywhere", "audited"]);
        assert_eq!(
            (facts.must_follow.len(), facts.must_not_use[0].to_path.as_str(), facts.must_not_use[0].note.as_str()),
            (1, "src/global.rs", "since 2.0")
        );
    }
}
