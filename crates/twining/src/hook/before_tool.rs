//! Before a tool runs: the strictest guard answers.

use twining_engine::guards::{Action, Level, inside, normal};

use super::reply::Reply;
use super::scene::Scene;
use super::{claimed, running, traced};

/// What the guards say.
pub fn reply(scene: &Scene) -> Reply {
    scene.accept_what_is_there();
    let judgement = traced::weighed(&scene.project, &scene.heard, &scene.work.root, scene.judge());
    if judgement.verdict < Level::Block {
        running::begins(scene.project.engine.store(), &scene.heard);
        claimed::begins(scene);
    }
    match judgement.verdict {
        Level::Off => Reply::Silence,
        Level::Warn => Reply::Context(judgement.reason()),
        Level::Ask => {
            remember_asking(scene);
            Reply::Ask(judgement.reason())
        }
        Level::Block => Reply::Deny(judgement.reason()),
    }
}

/// What a person allows is not held against the session at its end.
fn remember_asking(scene: &Scene) {
    if let Some(path) = path_of(scene) {
        let mut notes = scene.notes();
        notes.asked.insert(path);
        scene.keep_notes(&notes);
    }
}

/// The one file an event writes, from the project's root.
pub fn path_of(scene: &Scene) -> Option<String> {
    match &scene.heard.event.action {
        Action::Write { path, .. } | Action::Edit { path, .. } => Some(inside(&scene.work.root, &normal(&scene.heard.event.cwd, path))),
        _ => None,
    }
}
