//! At a commit: what is about to be recorded for everybody, held against what was
//! recorded last. The last place where a change that no tool call showed is seen.

use std::io::Write;
use std::path::PathBuf;

use twining_engine::guards::{Actor, ClaimsOfOthers};
use twining_store::merge::has_markers;
use twining_store::{Lost, Staged};

use super::evidence::Recorded;
use super::lists::Lists;
use super::ruled::{self, Slipped};
use super::scene::PATIENCE;
use super::workspace::Workspace;
use super::{between, by_hand, claimed, rules};
use crate::desk::Project;
use crate::parent_processes::parent_processes;

/// Refuses a commit that calls a feature tested without a run, or takes guards or
/// hooks away. A person who means it says `--no-verify`. Whether it may be made.
pub fn run(project: Option<PathBuf>) -> bool {
    let Ok(project) = Project::open(project) else { return true };
    project.engine.store().hurry(PATIENCE);
    let Slipped { holding, told } = commit_check(&project);
    let mut err = std::io::stderr().lock();
    for why in told.iter().chain(&holding) {
        let _ = writeln!(err, "twining: {}", twining_model::text::visible(why));
    }
    if holding.is_empty() {
        return true;
    }
    let _ = writeln!(err, "twining: nothing was committed; a person who means it commits with --no-verify");
    false
}

/// What is staged that should not be, and how to undo it; and what is only told.
pub fn commit_check(project: &Project) -> Slipped {
    let lost = project.engine.store().lost();
    if let Some(gone @ (Lost::Folder | Lost::Local)) = lost {
        return Slipped { holding: vec![by_hand::lost(gone)], ..Slipped::default() };
    }
    let staged = project.history.staged();
    if staged.is_empty() {
        return Slipped::default();
    }
    let guards = rules::guards_as_written(project);
    let evidence = Recorded::so_far(&project.engine, &project.located.checkout);
    let work = Workspace::of(project);
    let lists = Lists::of(project, &work);
    let mut slipped = Vec::new();
    for path in staged.iter().filter(|path| guards.compares(path)) {
        if between::is_taken(project, path, project.history.staged_text(path).as_deref()) {
            continue;
        }
        let before = project.history.committed_text(path).unwrap_or_default();
        let after = project.history.staged_text(path);
        let lost = || lists.lost_in_commit(&guards, path, after.as_deref(), &before);
        let moved = || lists.moved_in_commit(&guards, path, after.as_deref(), &before, &evidence);
        if let Some(why) = guards.slipped(path, &before, after.as_deref(), &evidence).or_else(lost).or_else(moved) {
            slipped.push(format!("{why}. `git diff --cached -- {path}` shows it, `git restore --staged {path}` leaves it out"));
        }
    }
    slipped.extend(records(project, &staged, lost));
    let used = ruled::in_commit(project, &guards, &staged);
    slipped.extend(used.holding);
    let told = used.told.into_iter().chain(claimed::in_commit(&claims(project), &ruled::within(project, &staged)));
    Slipped { holding: slipped, told: told.collect() }
}

/// What is claimed by others than the session that commits, if one does.
fn claims(project: &Project) -> ClaimsOfOthers {
    let store = project.engine.store();
    let Some(bytes) = store.claims_file().ok().flatten() else { return ClaimsOfOthers::default() };
    let session = crate::desk::session_of_host().unwrap_or_default();
    let actor = Actor { session, names: Vec::new(), processes: parent_processes() };
    ClaimsOfOthers::read(&bytes, &actor, store.ids().now())
}

/// Records that another hand than Twining's would have recorded for everybody. In
/// a linked working tree the memory is another one's, and its files here are git's.
fn records(project: &Project, staged: &[String], lost: Option<Lost>) -> Vec<String> {
    let Some(top) = project.history.shape().map(|shape| shape.top) else { return Vec::new() };
    let Ok(within) = project.engine.store().place().project.strip_prefix(&top) else { return Vec::new() };
    let folder = within.join(".twining").display().to_string();
    let ours = staged.iter().filter_map(|path| Some((path, path.strip_prefix(&folder)?.strip_prefix('/')?)));
    let versions: Vec<Staged> = ours
        .map(|(path, file)| Staged {
            file: file.to_owned(),
            before: project.history.committed_bytes(path),
            after: project.history.staged_bytes(path),
        })
        .collect();
    if versions.is_empty() {
        return Vec::new();
    }
    // What a merge left in two is no hand's work, and leaving it out would lose a side.
    let (in_two, whole): (Vec<Staged>, Vec<Staged>) =
        versions.into_iter().partition(|version| version.after.as_deref().is_some_and(has_markers));
    let in_two = in_two.iter().map(|version| by_hand::left_in_two(&version.file));
    // What cannot be compared is compared at the end of the turn.
    let differences = project.engine.store().audit_staged(&whole).unwrap_or_default();
    lost.map(by_hand::lost).into_iter().chain(in_two).chain(by_hand::in_commit(&differences)).collect()
}
