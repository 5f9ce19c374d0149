//! At a commit: what is about to be recorded for everybody, held against what was
//! recorded last. The last place where a change that no tool call showed is seen.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use super::evidence::Recorded;
use super::rules;
use crate::desk::Project;

/// Refuses a commit that calls a feature tested without a run, or takes guards or
/// hooks away. A person who means it says `--no-verify`.
pub fn run(project: Option<PathBuf>) -> ExitCode {
    let Ok(project) = Project::open(project) else { return ExitCode::SUCCESS };
    let slipped = commit_check(&project);
    if slipped.is_empty() {
        return ExitCode::SUCCESS;
    }
    let mut err = std::io::stderr().lock();
    for why in &slipped {
        let _ = writeln!(err, "twining: {}", twining_model::text::visible(why));
    }
    let _ = writeln!(err, "twining: nothing was committed; a person who means it commits with --no-verify");
    ExitCode::from(1)
}

/// What is staged that should not be, and how to undo it.
pub fn commit_check(project: &Project) -> Vec<String> {
    let staged = project.history.staged();
    if staged.is_empty() {
        return Vec::new();
    }
    let guards = rules::guards_as_written(project);
    let evidence = Recorded::of(&project.engine, &project.located.checkout);
    let mut slipped = Vec::new();
    for path in staged.iter().filter(|path| guards.compares(path)) {
        let before = project.history.committed_text(path).unwrap_or_default();
        let after = project.history.staged_text(path);
        if let Some(why) = guards.slipped(path, &before, after.as_deref(), &evidence) {
            slipped.push(format!("{why}. `git diff --cached -- {path}` shows it, `git restore --staged {path}` leaves it out"));
        }
    }
    slipped
}
