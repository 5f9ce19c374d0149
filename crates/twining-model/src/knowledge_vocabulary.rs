//! Reviewed knowledge: the words a node or an edge of `knowledge.dot` may use.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::string_enums::words;

/// What a node may say of itself, in the order it is printed.
pub const FIELDS: [&str; 9] =
    ["type", "level", "status", "description", "tag", "component", "path", "example", "priority"];

words! {
    /// What a node is.
    #[expect(missing_docs, reason = "each variant is the word it stands for")]
    pub enum NodeType {
        Component = "component", Interface = "interface", Abstraction = "abstraction", Datastore = "datastore",
        External = "external", Pattern = "pattern", Rule = "rule",
    }
}

words! {
    /// Abstraction level of a node.
    #[expect(missing_docs, reason = "each variant is the word it stands for")]
    pub enum Level { Architecture = "architecture", Implementation = "implementation" }
}

words! {
    /// Whether a node still holds.
    #[expect(missing_docs, reason = "each variant is the word it stands for")]
    pub enum Standing { Current = "current", Deprecated = "deprecated", Future = "future", Legacy = "legacy" }
}

words! {
    /// How much a rule matters, the gravest first.
    #[expect(missing_docs, reason = "each variant is the word it stands for")]
    pub enum Priority { Critical = "critical", High = "high", Medium = "medium", Low = "low" }
}

words! {
    /// How two nodes hang together. An edge that does not say is `related_to`.
    #[expect(missing_docs, reason = "each variant is the word it stands for")]
    pub enum Link {
        Calls = "calls", Uses = "uses", Implements = "implements", ConfiguredWith = "configured_with",
        MustFollow = "must_follow", MustNotUse = "must_not_use", SupersededBy = "superseded_by",
        Supersedes = "supersedes", CoexistsWith = "coexists_with",
    }
}

/// What an edge without a relation counts as.
pub const RELATED_TO: &str = "related_to";

/// The file of a project that has none, if one is asked for.
pub const DEFAULT_GRAPH: &str = r#"// What this project knows about itself: components, patterns and rules, reviewed like code.
// `twining knowledge check` says what is wrong; `twining knowledge update` edits it.
digraph ProjectKnowledge {
    // Patterns: how things are done here
    "error-handling" [
        type="pattern"
        level="implementation"
        status="current"
        description="Errors are wrapped with what was being done, and handled once"
        example="return fmt.Errorf(\"failed to fetch user: %w\", err)"
    ];

    "code-style" [
        type="pattern"
        level="implementation"
        status="current"
        description="Code is formatted by the language's own formatter (rustfmt, gofmt, prettier)"
    ];

    "logging-standards" [
        type="pattern"
        level="implementation"
        status="current"
        description="Logs are structured, with a level and the ids that tie lines together; no secrets in them"
        example="logger.Info(\"user created\", \"user_id\", userID)"
    ];

    // Rules: what every change is checked against
    "api-standards" [
        type="rule"
        level="architecture"
        status="current"
        description="HTTP APIs are described in OpenAPI, and the description is part of the change"
        priority="high"
    ];

    "test-coverage" [
        type="rule"
        level="implementation"
        status="current"
        description="New code is covered by tests, at least 80%"
        priority="critical"
    ];

    "security-headers" [
        type="rule"
        level="architecture"
        status="current"
        description="Every HTTP response carries the security headers (CSP, X-Frame-Options and the like)"
        priority="critical"
    ];
}
"#;
