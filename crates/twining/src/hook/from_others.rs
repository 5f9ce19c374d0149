//! Policy and settings that git brought, from others or from a known branch: told in a line, and
//! taken as they are, and so is what a person took. The same change made here holds.

use twining_engine::guards::{Accepted, Guards};
use twining_store::Version;

use super::scene::Scene;
use super::{between, by_hand};

/// Takes what came from others, and says what it changed. Before the records are
/// compared: from then on all that git has is known.
pub fn taken_over(scene: &Scene, guards: &Guards) -> Option<String> {
    let mut accepted = scene.accepted();
    if accepted.slipped_texts(guards, &|path| scene.work.text(path)).is_empty() {
        return None;
    }
    let store = scene.project.engine.store();
    let place = store.audited_place().ok()?;
    let (mut brought, mut is_changed) = (Vec::new(), false);
    for path in Accepted::TEXTS {
        let now = scene.work.text(path);
        let only = |asked: &str| if asked == path { now.clone() } else { accepted.texts.get(asked).cloned() };
        let slipped = accepted.slipped_texts(guards, &only);
        let versions = || store.git_versions(&place, path).unwrap_or_default();
        let is_now = |bytes: Option<Vec<u8>>| bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()) == now;
        // A branch from before a guard was thought of is no way around it: one is told of it.
        let is_told = |version: &Version| version.is_others || version.is_of_another_branch;
        if !slipped.is_empty() && between::is_taken(&scene.project, path, now.as_deref()) {
            accepted.accept(path, now.as_deref());
            is_changed = true;
        } else if !slipped.is_empty() && versions().into_iter().any(|version| is_told(&version) && is_now(version.bytes)) {
            brought.extend(slipped);
            accepted.accept(path, now.as_deref());
        }
    }
    if !is_changed && brought.is_empty() {
        return None;
    }
    scene.keep_accepted(&accepted);
    by_hand::brought_rules(&brought)
}
