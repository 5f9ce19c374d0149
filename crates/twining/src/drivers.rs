//! The merge drivers: which kind of merge each of our files takes.
//!
//! One table for the program that merges, for whoever registers it with git, and
//! for the help. Names are ours alone, so that they clash with nobody's settings.

use crate::installed::{for_shell, from_shell};

/// A kind of merge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MergeDriver {
    /// The word for it: `twining merge-driver <kind>`.
    pub kind: &'static str,
    /// What it does, in a sentence.
    pub about: &'static str,
    /// Patterns for git's attributes, relative to the project. Of two that match
    /// one file the later line counts, so the order of the table matters.
    pub files: &'static [&'static str],
}

/// Every kind. `decision` stands before `array`: the list of decisions lies in their folder.
pub const DRIVERS: [MergeDriver; 5] = [
    MergeDriver {
        kind: "decision",
        about: "Merge a decision that both sides amended, field by field",
        files: &[".twining/decisions/*.json"],
    },
    MergeDriver {
        kind: "lines",
        about: "Unite files of one record a line",
        files: &[".twining/blackboard.jsonl", ".twining/traces.jsonl", ".twining/handoffs/index.jsonl"],
    },
    MergeDriver {
        kind: "array",
        about: "Merge JSON arrays by the ids of their elements",
        files: &[
            ".twining/decisions/index.json",
            ".twining/graph/entities.json",
            ".twining/graph/relations.json",
            ".twining/agents/registry.json",
        ],
    },
    MergeDriver {
        kind: "features",
        about: "Merge feature lists; what is tested on one side only is not tested",
        files: &[".twining/features.json", ".claude/progress/feature-list.json"],
    },
    MergeDriver {
        kind: "knowledge",
        about: "Merge the knowledge graph by meaning",
        files: &[".twining/knowledge.dot", ".maestro/knowledge.dot"],
    },
];

impl MergeDriver {
    /// What git's settings and attributes call it.
    pub fn name(&self) -> String {
        format!("twining-{}", self.kind)
    }

    /// What git hands to a shell to start the program at this path.
    pub fn command(&self, program: &str) -> String {
        // A percent sign is git's own.
        format!("{}{}", for_shell(program).replace('%', "%%"), self.arguments())
    }

    /// The program behind [`Self::command`].
    pub fn program_in(&self, command: &str) -> Option<String> {
        from_shell(&command.strip_suffix(&self.arguments())?.replace("%%", "%"))
    }

    fn arguments(&self) -> String {
        format!(" merge-driver {} %O %A %B %P", self.kind)
    }

    /// Its lines for git's attributes, in a project at this path below the top of the repository.
    pub fn attributes(&self, prefix: &str) -> impl Iterator<Item = String> {
        let name = self.name();
        self.files.iter().map(move |file| format!("/{prefix}{file} merge={name}"))
    }
}

/// What to tell git where `twining init` did not.
pub fn manual_setup() -> String {
    // Written down as a path: git would start whatever is called so first on PATH.
    let settings = DRIVERS
        .iter()
        .map(|driver| format!("  git config merge.{}.driver \"'$(command -v twining)'{}\"\n", driver.name(), driver.arguments()));
    let attributes = DRIVERS.iter().flat_map(|driver| driver.attributes("")).map(|line| format!("  {line}\n"));
    let (settings, attributes): (String, String) = (settings.collect(), attributes.collect());
    format!("By hand, once in each clone:\n{settings}\nand in .git/info/attributes:\n{attributes}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_anywhere_is_found_again_in_what_git_runs() {
        for path in ["/usr/bin/twining", "/50% off/o'brien/twining"] {
            for driver in DRIVERS {
                assert_eq!(driver.program_in(&driver.command(path)).as_deref(), Some(path));
            }
        }
    }

    #[test]
    fn the_list_of_decisions_is_merged_as_an_array() {
        let lines: Vec<String> = DRIVERS.iter().flat_map(|driver| driver.attributes("sub/")).collect();
        let at = |wanted: &str| lines.iter().position(|line| line.contains(wanted)).expect("is listed");
        assert!(at("decisions/*.json") < at("decisions/index.json"), "{lines:#?}");
        assert_eq!(lines[0], "/sub/.twining/decisions/*.json merge=twining-decision");
    }
}
