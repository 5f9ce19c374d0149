//! After a tool ran: who changed something, and which tests the host saw run.

use twining_engine::guards::{Action, Evidence, Files, Moment, Proof, inside, normal};

use super::before_tool::path_of;
use super::reply::Reply;
use super::running;
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
    }
    if matches!(&scene.heard.event.action, Action::Shell(line) if FETCHES.iter().any(|word| line.contains(word))) {
        // What is not noted now is read where git has it, unless another fetch takes its place.
        let _ = scene.project.engine.store().know_fetched();
    }
    traced::ran(&scene.project, &scene.heard, &scene.work.root);
    let _ = scene.project.engine.note_post_tool_use();
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
            let _ = scene.project.engine.record_passed(&scene.caller(), &feature, &run);
        }
    }
}

fn captured(scene: &Scene) -> Option<String> {
    let Action::Shell(command) = &scene.heard.event.action else { return None };
    running::ended(scene.project.engine.store(), &scene.heard);
    let outcome = scene.heard.outcome.as_ref()?;
    let cwd = inside(&scene.work.root, &scene.work.real(&normal(&scene.heard.event.cwd, "")));
    let cwd = Some(cwd.as_str()).filter(|path| !path.starts_with('/'));
    // A run that cannot be recorded is reported by whoever wants it to count.
    scene.project.engine.capture_run(&scene.caller(), &scene.project.located.checkout, cwd, command, outcome).ok()??.notice()
}
