//! Which of our files git merges with which driver: one table for whoever
//! installs them, checks them or runs them.

/// A way to merge, and the files it is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Driver {
    /// What `twining merge-driver` calls it.
    pub kind: &'static str,
    /// What git shows to people.
    pub about: &'static str,
    /// Patterns below `.twining/`, as git's attributes write them.
    pub files: &'static [&'static str],
}

/// Every driver. A later pattern wins over an earlier one, as git reads them:
/// the list of decisions stands after the decisions.
pub const DRIVERS: [Driver; 5] = [
    Driver { kind: "lines", about: "Twining: records, one a line", files: &["blackboard.jsonl", "traces.jsonl"] },
    Driver { kind: "decision", about: "Twining: a decision", files: &["decisions/*.json"] },
    Driver {
        kind: "array",
        about: "Twining: lists of records",
        files: &["graph/entities.json", "graph/relations.json", "agents/registry.json", "decisions/index.json"],
    },
    Driver { kind: "features", about: "Twining: the feature list", files: &["features.json"] },
    Driver { kind: "knowledge", about: "Twining: reviewed knowledge", files: &["knowledge.dot"] },
];

impl Driver {
    /// Its name in git's settings.
    pub fn name(&self) -> String {
        format!("twining-{}", self.kind)
    }

    /// What git runs.
    pub fn command(&self) -> String {
        format!("twining merge-driver {} %O %A %B %P", self.kind)
    }
}
