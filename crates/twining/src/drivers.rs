//! The merge drivers: which kind of merge each of our files takes.
//!
//! One table for the program that merges, for whoever registers it with git, and
//! for the help. Names are ours alone, so that they clash with nobody's settings.

/// A kind of merge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Driver {
    /// The word for it: `twining merge-driver <kind>`.
    pub kind: &'static str,
    /// What it does, in a sentence.
    pub about: &'static str,
    /// Patterns for git's attributes, relative to the project. Of two that match
    /// one file the later line counts, so the order of the table matters.
    pub files: &'static [&'static str],
}

/// Every kind. `decision` stands before `array`: the list of decisions lies in their folder.
pub const DRIVERS: [Driver; 5] = [
    Driver { kind: "decision", about: "Merge a decision that both sides amended, field by field", files: &[".twining/decisions/*.json"] },
    Driver { kind: "lines", about: "Unite files of one record a line", files: &[".twining/blackboard.jsonl", ".twining/traces.jsonl"] },
    Driver {
        kind: "array",
        about: "Merge JSON arrays by the ids of their elements",
        files: &[
            ".twining/decisions/index.json",
            ".twining/graph/entities.json",
            ".twining/graph/relations.json",
            ".twining/agents/registry.json",
        ],
    },
    Driver {
        kind: "features",
        about: "Merge feature lists; what is tested on one side only is not tested",
        files: &[".twining/features.json"],
    },
    Driver { kind: "knowledge", about: "Merge the knowledge graph by meaning", files: &[".twining/knowledge.dot"] },
];

impl Driver {
    /// What git's settings and attributes call it.
    pub fn name(&self) -> String {
        format!("twining-{}", self.kind)
    }

    /// What git runs; `program` is how a shell calls us.
    pub fn command(&self, program: &str) -> String {
        format!("{program} merge-driver {} %O %A %B %P", self.kind)
    }
}
