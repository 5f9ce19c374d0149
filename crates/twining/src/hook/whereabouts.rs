//! Whether what a session knew when it began is still what it knows: the folder of
//! what only this machine knows, and in it the notes that later comparisons go by.
//! Whoever takes them away would have the next comparison begin anew.

use twining_store::Lost;

use super::by_hand;
use super::kept::{Kept, mark_of};
use super::lists;
use super::scene::Scene;

/// Stands for no folder or note at all.
const GONE: &str = "-";
/// Sessions of a project that are remembered: the last to be heard of.
const MOST_SESSIONS: usize = 24;

/// Where a session is remembered: outside the project.
struct Remembered {
    kept: Kept,
    name: String,
    /// A line for each session, the last to be heard of at the end.
    sessions: Vec<String>,
}

/// Remembers it outside the project, and tells once if it is another since the
/// session was last heard of.
pub fn taken_away(scene: &Scene) -> Option<String> {
    let store = scene.project.engine.store();
    let identity = store.identity().ok().flatten();
    let note = |name: &str| store.sealed_id(name).ok().flatten().unwrap_or_else(|| GONE.to_owned());
    let notes = [note(&scene.accepted_name()), note(lists::NOTE)];
    let mut remembered = Remembered::of(scene);
    let before = remembered.replace(scene, identity.as_deref().map(|identity| format!("{identity} {}", notes.join(" "))).as_deref());
    // Another session's folder may be another clone's at the same place.
    let before = before?;
    let mut before = before.split(' ');
    let folder = before.next().filter(|folder| *folder != GONE)?;
    let Some(identity) = identity else { return Some(by_hand::lost(Lost::Folder)) };
    if identity != folder {
        return Some("[protect-twining-state] `.twining/local` was taken away while this session ran, with claims, runs and all that Twining knew of its records; what is there now is taken as it is. Say what was done meanwhile".to_owned());
    }
    let is_same = before.zip(&notes).all(|(before, now)| before == GONE || before == now);
    (!is_same).then(|| {
        "[protect-twining-state] what Twining had noted of this session in `.twining/local/hooks` was taken away or changed by another hand, and with it how feature lists, policy and settings were; what is there now is taken as it is. Say what was done meanwhile".to_owned()
    })
}

/// The session is over, or begins anew.
pub fn forget(scene: &Scene) {
    let mut remembered = Remembered::of(scene);
    if remembered.take(scene).is_some() {
        remembered.keep();
    }
}

impl Remembered {
    fn of(scene: &Scene) -> Self {
        let place = &scene.project.located.place.project;
        let (kept, name) = (Kept::open(place), format!("local-{}", mark_of(place)));
        let text = kept.get(&name).and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_default();
        Self { kept, name, sessions: text.lines().map(str::to_owned).collect() }
    }

    /// What was known of the session, which is forgotten.
    fn take(&mut self, scene: &Scene) -> Option<String> {
        let own = format!("{}\t", line_of(&scene.heard.session));
        let at = self.sessions.iter().position(|line| line.starts_with(&own))?;
        self.sessions.remove(at).strip_prefix(&own).map(str::to_owned)
    }

    /// What was known of the session, of which this is known now.
    fn replace(&mut self, scene: &Scene, now: Option<&str>) -> Option<String> {
        let last = self.sessions.last().cloned();
        let before = self.take(scene);
        // Where there never was one, nothing is missing.
        if before.is_some() || now.is_some() {
            self.sessions.push(format!("{}\t{}", line_of(&scene.heard.session), now.unwrap_or(GONE)));
            self.sessions.drain(..self.sessions.len().saturating_sub(MOST_SESSIONS));
            if self.sessions.last() != last.as_ref() {
                self.keep();
            }
        }
        before
    }

    fn keep(&self) {
        self.kept.put(&self.name, self.sessions.join("\n").as_bytes());
    }
}

fn line_of(session: &str) -> String {
    session.replace(['\n', '\t', '\r'], " ")
}
