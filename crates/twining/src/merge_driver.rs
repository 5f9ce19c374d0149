//! `merge-driver`: git passes three versions of a file and takes one back.
//!
//! Git's contract: the result is written over ours; 0 is a clean merge, 1 to 127 a conflict that
//! people resolve, followed by `git add`.

use std::fs;
use std::io::{Read as _, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;

use twining_engine::knowledge::merge_knowledge;
use twining_engine::workflow::merge_features;
use twining_model::{limits, text};
use twining_store::array::merge_array;
use twining_store::merge;
use twining_store::merge::{Merged, merge_decision, merge_lines};

use crate::output;
use crate::program_path::{for_shell, from_shell};
use crate::project::Project;
use crate::render::command_error::CommandError;

/// The three versions, in git's order, and what the file is called.
pub(crate) struct MergeInputs {
    /// What both sides started from (`%O`).
    pub base: PathBuf,
    /// Ours, and where the result goes (`%A`).
    pub ours: PathBuf,
    /// Theirs (`%B`).
    pub theirs: PathBuf,
    /// What git calls the file (`%P`).
    pub path: Option<String>,
}

/// Git takes it for a conflict that people settle; above 128 it would give up on
/// the whole merge.
const CONFLICT: u8 = 1;

/// Contested matters that are named.
const NAMED: usize = 20;

/// What came of a merge.
struct MergeResult {
    text: Vec<u8>,
    /// Where both sides were kept.
    kept: Vec<String>,
    /// What people have to settle, if they have to.
    conflict: Option<String>,
}

/// Merges two versions of a file by its kind.
pub(crate) fn run(kind: &str, versions: &MergeInputs) -> ExitCode {
    let shown = text::visible(versions.path.as_deref().unwrap_or(kind));
    let result = match merge_into_ours(kind, versions) {
        Ok(result) => result,
        Err(problem) => {
            // Ours is unchanged, and git has all three versions for resolving the conflict.
            print(&format!("twining: {shown}: nothing was merged\n{}", output::words(&problem)));
            return ExitCode::from(CONFLICT);
        }
    };
    if !result.kept.is_empty() {
        let named = result.kept.iter().take(NAMED).map(|matter| text::visible(matter));
        let what = named.collect::<Vec<_>>().join(", ");
        let more = result.kept.len().saturating_sub(NAMED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        print(&format!("twining: {shown}: kept both sides of {what}{more}\n"));
    }
    match result.conflict {
        None => ExitCode::SUCCESS,
        Some(guidance) => {
            print(&format!("twining: {guidance}"));
            ExitCode::from(CONFLICT)
        }
    }
}

fn merge_into_ours(kind: &str, versions: &MergeInputs) -> Result<MergeResult, CommandError> {
    let most = if kind == "knowledge" { limits::KNOWLEDGE_BYTES } else { limits::MERGE_BYTES };
    let [base, ours, theirs] = versions.read(most)?;
    let three = merge::Versions { base: &base, ours: &ours, theirs: &theirs };
    let plain =
        |merged: Merged| MergeResult { text: merged.text, kept: merged.contested, conflict: None };
    let result = match kind {
        "knowledge" => Ok(merged_graph(&three, versions.path.as_deref())),
        "lines" => Ok(plain(merge_lines(&three))),
        "array" => merge_array(&three).map(plain),
        "decision" => merge_decision(&three).map(plain),
        "features" => merge_features(&three).map(plain),
        other => {
            return Err(CommandError::misuse(format!(
                "there is no merge driver `{}`",
                text::excerpt(other, 40)
            )));
        }
    };
    let result = result.map_err(|error| CommandError::of_error("MERGE", &error))?;
    if result.text != ours {
        fs::write(&versions.ours, &result.text)
            .map_err(|error| failed("our version", "written", &error))?;
    }
    Ok(result)
}

fn merged_graph(three: &merge::Versions<'_>, path: Option<&str>) -> MergeResult {
    let path = text::visible(path.unwrap_or("knowledge.dot"));
    let merged = merge_knowledge(three.base, three.ours, three.theirs, &path);
    // Only a count; a merge outside of a project is a merge all the same.
    if let Ok(project) = Project::open(None) {
        project.engine.count_merge(merged.conflicts.len());
    }
    let conflict = (!merged.conflicts.is_empty()).then_some(merged.guidance);
    MergeResult { text: merged.text, kept: merged.marked, conflict }
}

impl MergeInputs {
    /// All three, none of them larger than this. None is read before all are known
    /// to be: one that is too large must not cost the memory of the others.
    fn read(&self, most: usize) -> Result<[Vec<u8>; 3], CommandError> {
        let named = [
            ("the common ancestor", &self.base),
            ("our version", &self.ours),
            ("their version", &self.theirs),
        ];
        let limit = u64::try_from(most).unwrap_or(u64::MAX);
        let too_large = |name: &str| {
            CommandError::unavailable("MERGE", format!("{name} has more than {most} bytes, so it was not merged"))
                .with_hint("our version was not changed; make the larger version smaller, or resolve the conflict manually, then git add")
        };
        for (name, file) in named {
            if fs::metadata(file).map_err(|error| failed(name, "read", &error))?.len() > limit {
                return Err(too_large(name));
            }
        }
        let read = |(name, file): (&str, &PathBuf)| {
            let mut bytes = Vec::new();
            let opened =
                fs::File::open(file).and_then(|file| file.take(limit + 1).read_to_end(&mut bytes));
            opened.map_err(|error| failed(name, "read", &error))?;
            if bytes.len() > most { Err(too_large(name)) } else { Ok(bytes) }
        };
        let [base, ours, theirs] = named.map(read);
        Ok([base?, ours?, theirs?])
    }
}

fn failed(name: &str, what: &str, error: &std::io::Error) -> CommandError {
    CommandError::unavailable("MERGE", format!("{name} cannot be {what}: {error}"))
}

fn print(words: &str) {
    // Git shows this to the user; a failure here cannot be reported.
    let _ = anstream::stderr().write_all(words.as_bytes());
}

/// A kind of merge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MergeDriver {
    /// The word for it: `twining merge-driver <kind>`.
    pub kind: &'static str,
    /// What it does, in a sentence.
    pub about: &'static str,
    /// Patterns for git's attributes, relative to the project. Of two that match
    /// one file the later line counts, so the order of the table matters.
    pub files: &'static [&'static str],
}

/// Every kind. `decision` precedes `array`: the list of decisions is in their folder.
pub(crate) const DRIVERS: [MergeDriver; 5] = [
    MergeDriver {
        kind: "decision",
        about: "Merge a decision that both sides amended, field by field",
        files: &[".twining/decisions/*.json"],
    },
    MergeDriver {
        kind: "lines",
        about: "Merge files with one record per line",
        files: &[
            ".twining/blackboard.jsonl",
            ".twining/traces.jsonl",
            ".twining/anchors.jsonl",
            ".twining/handoffs/index.jsonl",
        ],
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
        about: "Merge feature lists; a feature tested on one side only counts as not tested",
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
    pub(crate) fn name(&self) -> String {
        format!("twining-{}", self.kind)
    }

    /// What git hands to a shell to start the program at this path.
    pub(crate) fn command(&self, program: &str) -> String {
        // A percent sign is git's own.
        format!("{}{}", for_shell(program).replace('%', "%%"), self.arguments())
    }

    /// The program behind [`Self::command`].
    pub(crate) fn program_in(&self, command: &str) -> Option<String> {
        from_shell(&command.strip_suffix(&self.arguments())?.replace("%%", "%"))
    }

    fn arguments(&self) -> String {
        format!(" merge-driver {} %O %A %B %P", self.kind)
    }
}

#[cfg(test)]
mod tests {
    use crate::merge_driver::*;
    use twining_testcases::each;

    #[test]
    fn a_program_anywhere_is_found_again_in_what_git_runs() {
        each(["/usr/bin/twining", "/50% off/o'brien/twining"], |path| {
            for driver in DRIVERS {
                assert_eq!(driver.program_in(&driver.command(path)).as_deref(), Some(path));
            }
        });
    }

    #[test]
    fn the_list_of_decisions_is_merged_as_an_array() {
        let files: Vec<&str> = DRIVERS.iter().flat_map(|driver| driver.files).copied().collect();
        let at =
            |wanted: &str| files.iter().position(|file| file.contains(wanted)).expect("is listed");
        assert!(at("decisions/*.json") < at("decisions/index.json"), "{files:#?}");
    }
}
