//! After a tool ran: who changed something, and which tests the host saw run.

use twining_engine::guards::{Action, Evidence, Files, Moment, Proof, inside, normal, test_command};

use twining_store::disk::hash_of;

use super::before_tool::path_of;
use super::reply::Reply;
use super::running::{self, Known};
use super::scene::Scene;
use super::{claimed, traced};

/// Words of a line that may have fetched something.
const FETCHES: [&str; 3] = ["fetch", "pull", "gh pr"];

/// Remembers it. A run of tests that will not count is told at once, while it is
/// cheap to run them again.
pub fn reply(scene: &Scene) -> Reply {
    let mut notes = scene.notes();
    if scene.heard.event.moment == Moment::PostToolUse {
        notes.tool_ran(&scene.heard.event, path_of(scene));
    } else {
        notes.tool_failed(&scene.heard.event);
    }
    if let Some(path) = path_of(scene).filter(|path| notes.asked.remove(path)) {
        let mut accepted = scene.accepted();
        accepted.accept(&path, scene.work.text(&path).as_deref());
        scene.keep_accepted(&accepted);
    }
    let trespassed = claimed::ends(scene, &mut notes);
    scene.keep_notes(&notes);
    if let Some(path) = path_of(scene) {
        scene.lists().accept_features(&path);
        remember_marked(scene, &path);
        let _ = scene.project.engine.remember_written(&scene.project.located.checkout, &path);
    }
    if matches!(&scene.heard.event.action, Action::Shell(line) if FETCHES.iter().any(|word| line.contains(word))) {
        // What is not noted now is read where git has it, unless another fetch takes its place.
        let _ = scene.project.engine.store().know_fetched();
    }
    traced::ran(&scene.project, &scene.heard, &scene.work.root);
    let told: Vec<String> = [trespassed, captured(scene)].into_iter().flatten().collect();
    if told.is_empty() { Reply::Silence } else { Reply::Context(told.join("\n")) }
}

/// Remembers by which run each feature was marked tested, while that run is the newest:
/// what fails later is no reason to take the mark back.
fn remember_marked(scene: &Scene, path: &str) {
    let recorded = scene.recorded();
    for feature in scene.lists().newly_tested(path) {
        if let Proof::Recorded(run) = recorded.proof_of(&feature) {
            // What cannot be remembered is judged when the turn ends.
            let _ = scene.project.engine.remember_passed(&scene.caller(), &feature, &run);
        }
    }
}

fn captured(scene: &Scene) -> Option<String> {
    let Action::Shell(command) = &scene.heard.event.action else { return None };
    let store = scene.project.engine.store();
    if test_command(command).is_none() {
        // Most commands test nothing: that they ended is all that others need to know.
        running::ended(store, &scene.heard);
        return None;
    }
    let known = running::ends(store, &scene.heard);
    let outcome = scene.heard.outcome.as_ref()?;
    // What is made up would say that tests passed; that they failed is never held against whoever says so.
    let has_failed = outcome.exit_code.is_some_and(|code| code != 0);
    if known != Known::Alone && !has_failed {
        let why = match known {
            Known::AmongOthers => "another command of yours had not ended; run them alone",
            _ => "nobody asked before they ran",
        };
        return Some(format!("Twining was told of a run of tests, and will not take it for evidence: {why}."));
    }
    let checkout = &scene.project.located.checkout;
    // A run that cannot be remembered is reported by whoever wants it to count.
    let here = &scene.heard.event.cwd;
    let whereabouts =
        |folder: &str| Some(inside(&scene.work.root, &scene.work.real(&normal(here, folder)))).filter(|path| !path.starts_with('/'));
    let captured = scene.project.engine.capture_run(&scene.caller(), checkout, &whereabouts, command, outcome, &hand_of(scene)).ok()??;
    let lacks = captured.lacks?;
    Some(format!("Twining saw these tests run, and will not take them for evidence: {lacks}."))
}

/// Which agent of which session acts, in short.
fn hand_of(scene: &Scene) -> String {
    let agent = scene.heard.event.agent_id.as_deref().unwrap_or_default();
    format!("{:016x}", hash_of(format!("{} {agent}", scene.heard.session).as_bytes()))
}
