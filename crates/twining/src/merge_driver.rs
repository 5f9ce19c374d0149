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
use twining_engine::workflow::merge_features;
use twining_model::{limits, text};
use twining_store::merge::{self, Merged, merge_array, merge_decision, merge_lines};

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

/// The most of a file that is merged in memory.
const MOST_BYTES: u64 = 512 * 1024 * 1024;
/// Contested matters that are named.
const NAMED: usize = 20;

/// Merges two versions of a file by its kind.
pub fn run(kind: &str, versions: &Versions) -> ExitCode {
    if kind == "knowledge" {
        return knowledge(versions);
    }
    let shown = text::visible(versions.path.as_deref().unwrap_or(kind));
    match merged(kind, versions) {
        Ok(merged) => {
            if !merged.contested.is_empty() {
                let what = merged.contested.iter().take(NAMED).map(|matter| text::visible(matter)).collect::<Vec<_>>().join(", ");
                let more = merged.contested.len().saturating_sub(NAMED);
                let more = if more > 0 { format!(" and {more} more") } else { String::new() };
                say(&format!("twining: {shown}: both sides were kept of {what}{more}\n"));
            }
            ExitCode::SUCCESS
        }
        Err(problem) => {
            // Ours stands untouched, and git has all three versions for whoever settles it.
            say(&format!("twining: {shown}: nothing was merged\n{}", problem.to_words()));
            ExitCode::from(CONFLICT)
        }
    }
}

fn merged(kind: &str, versions: &Versions) -> Result<Merged, Problem> {
    let [base, ours, theirs] = [&versions.base, &versions.ours, &versions.theirs].map(|file| read_bounded(file));
    let (base, ours, theirs) = (base?, ours?, theirs?);
    let three = merge::Versions { base: &base, ours: &ours, theirs: &theirs };
    let merged = match kind {
        "lines" => Ok(merge_lines(&three)),
        "array" => merge_array(&three),
        "decision" => merge_decision(&three),
        "features" => merge_features(&three),
        other => return Err(Problem::misuse(format!("there is no merge driver `{}`", text::excerpt(other, 40)))),
    };
    let merged = merged.map_err(|error| Problem::of_error("MERGE", &error))?;
    if merged.text != ours {
        fs::write(&versions.ours, &merged.text).map_err(|error| failed(&versions.ours, "written", &error))?;
    }
    Ok(merged)
}

fn read_bounded(file: &Path) -> Result<Vec<u8>, Problem> {
    let size = fs::metadata(file).map_err(|error| failed(file, "read", &error))?.len();
    if size > MOST_BYTES {
        return Err(failed(file, "merged", &std::io::Error::other(format!("it has more than {MOST_BYTES} bytes"))));
    }
    fs::read(file).map_err(|error| failed(file, "read", &error))
}

/// Merges two versions of the knowledge graph.
fn knowledge(versions: &Versions) -> ExitCode {
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
