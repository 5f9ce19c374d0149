//! Whether `.twining/local` is the one this session began with. With it goes all
//! that only this machine knows, and the next comparison would have nothing to
//! compare with.

use twining_store::Lost;

use super::by_hand;
use super::kept::{Kept, mark_of};
use super::scene::Scene;

/// Stands for no folder at all.
const GONE: &str = "gone";

/// Remembers it outside the project, and tells once if it is another since the
/// session was last heard of.
pub fn taken_away(scene: &Scene) -> Option<String> {
    let identity = scene.project.engine.store().identity().ok().flatten();
    let now = format!("{}\n{}", identity.as_deref().unwrap_or(GONE), scene.heard.session);
    let place = &scene.project.located.place.project;
    let (kept, name) = (Kept::open(place), format!("local-{}", mark_of(place)));
    let before = kept.get(&name).and_then(|bytes| String::from_utf8(bytes).ok());
    if before.as_deref() == Some(&now) {
        return None;
    }
    // Where there never was one, nothing is missing.
    if before.is_some() || identity.is_some() {
        kept.put(&name, now.as_bytes());
    }
    // Another session's folder may be another clone's at the same place.
    let is_ours = before?.split_once('\n').is_some_and(|(known, session)| session == scene.heard.session && known != GONE);
    is_ours.then(|| match identity {
        None => by_hand::lost(Lost::Folder),
        Some(_) => "[protect-twining-state] `.twining/local` was taken away while this session ran, with claims, runs and all that Twining knew of its records; what is there now is taken as it is. Say what was done meanwhile".to_owned(),
    })
}
