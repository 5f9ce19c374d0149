//! Policy and settings between two sessions: what got milder while nobody listened is
//! told to the next, whoever committed it; and what a person took as it is.

use serde::{Deserialize, Serialize};
use twining_engine::guards::{Accepted, Guards, NoEvidence};
use twining_model::text;
use twining_store::{Anchor, digest};

use super::scene::Scene;
use super::workspace::Workspace;
use super::{by_hand, git_wiring, rules, traced};
use crate::desk::Project;

/// What all sessions last accepted.
const LAST: &str = "shared-rules";
/// What a person took as it is.
const TAKEN: &str = "shared-taken";
/// Texts that are remembered as a person's.
const MOST_TAKEN: usize = 64;

/// Policy and settings, and where git was when they were last accepted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
struct Last {
    accepted: Accepted,
    place: Anchor,
}

/// Remembers for the next session what this one accepts.
pub fn remember(project: &Project, accepted: &Accepted) {
    let store = project.engine.store();
    let now = Last { accepted: accepted.clone(), place: store.git_place().unwrap_or_default() };
    if last(project).as_ref() != Some(&now) {
        // What cannot be remembered is not told later.
        let _ = serde_json::to_vec(&now).map(|bytes| store.leave_sealed(LAST, &bytes));
    }
}

fn last(project: &Project) -> Option<Last> {
    let note = project.engine.store().sealed(LAST).ok().flatten()?;
    serde_json::from_slice(&note).ok()
}

/// What became milder since the last session, told once and in force.
pub fn told_at_start(scene: &Scene) -> Option<String> {
    let now = scene.as_it_is();
    let last = last(&scene.project);
    let told = last.filter(|last| last.accepted != now).and_then(|last| told(scene, &last));
    remember(&scene.project, &now);
    told
}

fn told(scene: &Scene, last: &Last) -> Option<String> {
    let (project, store) = (&scene.project, scene.project.engine.store());
    let (mut brought, mut nobody_s) = (Vec::new(), Vec::new());
    for (path, why) in milder(&rules::guards(project), &scene.work, &last.accepted) {
        let now = scene.work.text(path);
        let versions = store.git_versions(&last.place, path).unwrap_or_default();
        let is_now = |bytes: Option<Vec<u8>>| bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()) == now;
        if versions.into_iter().any(|version| (version.is_others || version.is_of_another_branch) && is_now(version.bytes)) {
            brought.push(why);
        } else if !is_taken(project, path, now.as_deref()) {
            nobody_s.push(format!("{why}{}", way_back(project, last, path, now.as_deref())));
        }
    }
    let unasked = last.accepted.commit_hook.as_deref().filter(|_| rules::holds_wiring(&rules::guards(project)));
    nobody_s.extend(unasked.and_then(|was| git_wiring::unasked(project, was)));
    traced::found(project, &scene.heard, &nobody_s);
    let nobody_s = (!nobody_s.is_empty()).then(|| {
        text::visible(&format!(
            "Since the last session less is watched in this project, by nobody Twining knows. It is in force, and told once: unless you know that a person meant it, tell them.\n- {}",
            nobody_s.join("\n- ")
        ))
    });
    let told: Vec<String> = [nobody_s, by_hand::brought_rules(&brought)].into_iter().flatten().collect();
    (!told.is_empty()).then(|| told.join("\n"))
}

/// Which of the files would stop less than what was accepted, each with what it is.
fn milder(guards: &Guards, work: &Workspace, accepted: &Accepted) -> Vec<(&'static str, String)> {
    let why = |path: &&'static str| {
        let before = accepted.texts.get(*path).map(String::as_str).unwrap_or_default();
        Some((*path, guards.slipped(path, before, work.text(path).as_deref(), &NoEvidence)?))
    };
    Accepted::TEXTS.iter().filter_map(why).collect()
}

/// The commit that a change came with, where it is committed, and what shows it.
fn way_back(project: &Project, last: &Last, path: &str, now: Option<&str>) -> String {
    let since: String = last.place.head.chars().take(12).collect();
    if since.is_empty() || project.history.committed_text(path).as_deref() != now {
        return format!(". `git diff -- {path}` shows it, `git restore {path}` takes it back");
    }
    let commits = project.engine.store().commits_since(&last.place, path).unwrap_or_default();
    let commits = if commits.is_empty() { String::new() } else { format!(", in commit {}", commits.join(", ")) };
    format!("{commits}. `git diff {since} -- {path}` shows it, `git checkout {since} -- {path}` takes it back")
}

/// What a person who accepts would take of policy and settings: what is milder than the
/// last session had it, or than what was committed, which no commit would record.
pub fn slipped(project: &Project) -> Vec<String> {
    let work = Workspace::of(project);
    let guards = rules::guards_as_written(project);
    let mut known = Accepted::default();
    Accepted::TEXTS.iter().for_each(|path| known.accept(path, project.history.committed_text(path).as_deref()));
    let accepted = last(project).map(|last| last.accepted).into_iter().chain([known]);
    let mut found: Vec<(&str, String)> = Vec::new();
    for (path, why) in accepted.flat_map(|accepted| milder(&guards, &work, &accepted)) {
        if !found.iter().any(|(known, _)| *known == path) && !is_taken(project, path, work.text(path).as_deref()) {
            found.push((path, why));
        }
    }
    found.into_iter().map(|(_, why)| why).collect()
}

/// Takes policy, settings and feature lists as they are: a person said so.
pub fn take(project: &Project) {
    let work = Workspace::of(project);
    let mut taken = taken(project);
    for path in Accepted::TEXTS.iter().chain(&Accepted::LISTS) {
        let seal = seal(path, work.text(path).as_deref());
        taken.retain(|known| *known != seal);
        taken.push(seal);
    }
    taken.drain(..taken.len().saturating_sub(MOST_TAKEN));
    // What cannot be remembered is asked about again.
    let _ = serde_json::to_vec(&taken).map(|bytes| project.engine.store().leave_sealed(TAKEN, &bytes));
}

/// Whether a person took a file as it is. Git may name it from further up than the project is.
pub fn is_taken(project: &Project, path: &str, text: Option<&str>) -> bool {
    let is_it = |known: &&&str| path == **known || path.ends_with(&format!("/{known}"));
    let known = Accepted::TEXTS.iter().chain(&Accepted::LISTS).find(is_it);
    known.is_some_and(|known| taken(project).contains(&seal(known, text)))
}

fn taken(project: &Project) -> Vec<String> {
    let note = project.engine.store().sealed(TAKEN).ok().flatten();
    note.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default()
}

fn seal(path: &str, text: Option<&str>) -> String {
    digest(format!("{path}\u{0}{}", text.map_or_else(|| "-".to_owned(), |text| format!("+{text}"))).as_bytes())
}
