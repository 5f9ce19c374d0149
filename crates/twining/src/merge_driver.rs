//! `merge-driver`: git hands over three versions of a file and takes one back.
//!
//! Git's contract: the result is written over ours; 0 is a clean merge, 1 to 127
//! a conflict that people settle. Git may then be told `git add`.

use std::ffi::OsStr;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use twining_engine::knowledge::{KnowledgeMerged, merge_knowledge};
use twining_model::{limits, text};

use crate::desk::Project;
use crate::problem::Problem;

/// The three versions, in git's order, and what the file is called.
pub struct Versions {
    /// What both sides started from (`%O`).
    pub base: PathBuf,
    /// Ours, and where the result goes (`%A`).
    pub ours: PathBuf,
    /// Theirs (`%B`).
    pub theirs: PathBuf,
    /// What git calls the file (`%P`).
    pub path: Option<String>,
}

/// Git aborts the merge of this file above this, and takes less for a conflict.
const CONFLICT: u8 = 1;
const UNABLE: u8 = 129;

/// Merges two versions of the knowledge graph.
pub fn knowledge(versions: &Versions) -> ExitCode {
    let path = versions.path.clone().unwrap_or_else(|| "knowledge.dot".to_owned());
    let merged = read(&versions.base).and_then(|base| {
        let (ours, theirs) = (read(&versions.ours)?, read(&versions.theirs)?);
        let merged = merge_knowledge(&base, &ours, &theirs, &text::visible(&path));
        if merged.text != ours {
            fs::write(&versions.ours, &merged.text).map_err(|error| failed(&versions.ours, "written", &error))?;
        }
        Ok(merged)
    });
    match merged {
        Ok(merged) => told(&merged, &path),
        Err(problem) => {
            say(&problem.to_words());
            ExitCode::from(UNABLE)
        }
    }
}

fn told(merged: &KnowledgeMerged, path: &str) -> ExitCode {
    // Only a count; a merge outside of a project is a merge all the same.
    if let Ok(project) = Project::open(None) {
        project.engine.count_merge(merged.conflicts.len());
    }
    if !merged.marked.is_empty() {
        let what = merged.marked.iter().take(20).cloned().collect::<Vec<_>>().join(", ");
        let more = merged.marked.len().saturating_sub(20);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        say(&format!("twining: {}: both texts were kept and marked at {what}{more}\n", text::visible(path)));
    }
    if merged.conflicts.is_empty() {
        return ExitCode::SUCCESS;
    }
    say(&format!("twining: {}", merged.guidance));
    ExitCode::from(CONFLICT)
}

fn read(file: &Path) -> Result<Vec<u8>, Problem> {
    let bytes = fs::read(file).map_err(|error| failed(file, "read", &error))?;
    if bytes.len() > limits::KNOWLEDGE_BYTES {
        let why = format!("it has more than {} bytes", limits::KNOWLEDGE_BYTES);
        return Err(failed(file, "merged", &std::io::Error::other(why)));
    }
    Ok(bytes)
}

fn failed(file: &Path, what: &str, error: &std::io::Error) -> Problem {
    let name = file.file_name().map(OsStr::to_string_lossy).unwrap_or_default();
    Problem::unavailable("MERGE", format!("`{name}` cannot be {what}: {error}"))
}

fn say(words: &str) {
    // Git shows this to whoever merges; nothing is left to tell it with if it fails.
    let _ = anstream::stderr().write_all(words.as_bytes());
}
