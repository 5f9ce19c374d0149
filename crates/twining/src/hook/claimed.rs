//! Files that others claimed, around a command: what it changes there is seen by the
//! files themselves, whatever did it. Looked at only where others claim anything.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use serde::{Deserialize, Serialize};
use twining_engine::guards::{
    Action, Claim, Claimant, Claims, ClaimsOfOthers, Guards, Level, Moment, Notes, Trespass, Undo, inside, normal,
};
use twining_engine::learning::Call;
use twining_model::{Time, text};
use twining_store::disk::hash_of;

use super::changed::FILLED;
use super::ruled::Slipped;
use super::scene::Scene;
use super::{running, traced};
use crate::git::Git;

/// The guard that speaks.
const GUARD: &str = "no-edit-under-anothers-claim";
/// Claimed files that are looked at, and folders in folders.
const MOST_FILES: usize = 1_000;
const MOST_DEPTH: usize = 32;
/// Of how many the content is read, and how much in all: a tool waits.
const MOST_READ: usize = 64;
const MOST_BYTES: u64 = 4 * 1024 * 1024;
/// Files that are remembered and named.
const MOST_TRESPASSES: usize = 64;
const MOST_NAMED: usize = 8;
/// How long a tool may take from being let through to writing, in milliseconds.
const WRITING_MS: i64 = 5_000;

/// A file, as far as it was looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Print {
    /// Size, dates and number, in short.
    stat: u64,
    content: Option<u64>,
}

impl Print {
    fn of(file: &Path, left: &mut Left) -> Option<Self> {
        let found = fs::symlink_metadata(file).ok().filter(|found| !found.is_dir())?;
        let dates = [found.mtime(), found.mtime_nsec(), found.ctime(), found.ctime_nsec()].map(i64::to_le_bytes);
        let stat = [dates.concat(), [found.size(), found.ino()].map(u64::to_le_bytes).concat()].concat();
        let is_read = found.is_file() && left.files > 0 && found.size() <= left.bytes;
        let content = if is_read { fs::read(file).ok().map(|bytes| hash_of(&bytes)) } else { None };
        left.files -= usize::from(is_read);
        left.bytes -= if is_read { found.size() } else { 0 };
        Some(Self { stat: hash_of(&stat), content })
    }

    /// Whether it is the same file still: by what is in it, where that is known.
    fn is(&self, other: &Self) -> bool {
        match (self.content, other.content) {
            (Some(one), Some(other)) => one == other,
            _ => self.stat == other.stat,
        }
    }
}

/// What may still be read.
struct Left {
    files: usize,
    bytes: u64,
}

impl Default for Left {
    fn default() -> Self {
        Self { files: MOST_READ, bytes: MOST_BYTES }
    }
}

/// Claimed files before a command.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Before {
    at: i64,
    head: String,
    is_whole: bool,
    files: BTreeMap<String, Print>,
    /// The claims that stood.
    claims: BTreeSet<u64>,
    /// Other agents with a command that had not ended.
    running: BTreeSet<Hand>,
}

/// An agent of a session; the main agent is the empty name.
type Hand = (String, String);

impl Before {
    /// As they are now.
    fn look(scene: &Scene, claims: &ClaimsOfOthers) -> Self {
        let checkout = &scene.project.located.checkout;
        let store = scene.project.engine.store();
        let (at, is_own) = (store.ids().now().as_ms(), *checkout == store.place().project);
        let head = store.git_place().ok().filter(|_| is_own).map(|place| place.head).unwrap_or_default();
        let (files, running) = (BTreeMap::new(), BTreeSet::new());
        let mut seen = Self { at, head, is_whole: true, files, claims: claims.marks().collect(), running };
        let mut left = Left::default();
        let mut next: Vec<(String, usize)> = claims.places().map(|place| (place.to_owned(), 0)).collect();
        while let Some((path, depth)) = next.pop() {
            if seen.files.len() >= MOST_FILES || depth > MOST_DEPTH {
                seen.is_whole = false;
                break;
            }
            let file = checkout.join(&path);
            if let Some(print) = Print::of(&file, &mut left) {
                seen.files.insert(path, print);
                continue;
            }
            let names = fs::read_dir(&file).into_iter().flatten().flatten().filter_map(|entry| entry.file_name().into_string().ok());
            // One more than there is room for, so that it is known that not all were looked at.
            let names = names.filter(|name| !FILLED.contains(&name.as_str())).take(MOST_FILES + 1);
            next.extend(names.map(|name| (format!("{path}/{name}"), depth + 1)));
        }
        seen
    }
}

/// Remembers what others claimed, before a command runs. One line is added to a new
/// note, and nothing where nobody else claims anything.
pub fn begins(scene: &Scene) {
    let Some(name) = note_of(scene) else { return };
    let claims = scene.claims();
    if claims.is_empty() {
        return;
    }
    let running = Others::of(scene).running;
    if let Ok(line) = serde_json::to_string(&Before { running, ..Before::look(scene, &claims) }) {
        // What cannot be kept is not compared.
        let _ = scene.project.engine.store().add_to_note(&name, &line);
    }
}

/// What a command that ended did to files that others claimed; told at once.
pub fn ends(scene: &Scene, notes: &mut Notes) -> Option<String> {
    let store = scene.project.engine.store();
    let name = note_of(scene).filter(|name| store.has_note(name).unwrap_or(false))?;
    let before: Before = serde_json::from_str(store.note_lines(&name).ok()?.first()?).ok()?;
    let _ = store.drop_note(&name);
    let standing = scene.claims();
    // One that came, grew or was renewed meanwhile holds for what comes next.
    let claims = standing.marked(&before.claims);
    if claims.is_empty() {
        return None;
    }
    let now = Before::look(scene, &claims);
    let mut changed = differing(scene, &before, &now);
    changed.retain(|path| claims.held(path).is_some());
    if changed.is_empty() {
        return None;
    }
    changed.truncate(MOST_TRESPASSES);
    let committed = committed(scene, "HEAD", &changed);
    let is_moved = before.head.is_empty() || before.head != now.head;
    let was_committed =
        if is_moved && !before.head.is_empty() { self::committed(scene, &before.head, &changed) } else { committed.clone() };
    let tracked = Git::at(&scene.project.located.checkout).tracked_of(&changed);
    let others = Others::of(scene).since(&before);
    let mut told = Vec::new();
    for ((path, committed), was_committed) in changed.into_iter().zip(committed).zip(was_committed) {
        let (was, is) = (before.files.get(&path), now.files.get(&path));
        let content = is.and_then(|print| print.content);
        // What git brings with another commit is history's business, but not what it throws away with it.
        let is_kept = before.head.is_empty() || was.and_then(|print| print.content).is_none_or(|content| Some(content) == was_committed);
        let is_git_s = is_moved && is_kept && content == committed && is.is_some() == committed.is_some();
        let Some(claim) = claims.held(&path).filter(|_| !is_git_s && !others.wrote(&standing, &path)) else { continue };
        let known = notes.trespasses.remove(&path);
        let trespass = known.unwrap_or_else(|| Trespass {
            agent: scene.heard.event.agent_id.clone().unwrap_or_default(),
            was_there: was.is_some(),
            before: was.and_then(|print| print.content),
            is_committed: was.is_some_and(|print| print.content.is_some() && print.content == committed),
            is_tracked: committed.is_some() || tracked.contains(&path),
            left: None,
        });
        if is_undone(&trespass, is, committed) {
            continue;
        }
        told.push(line(&path, &claim, &trespass, is.is_some(), "changed while this command ran"));
        if notes.trespasses.len() < MOST_TRESPASSES {
            notes.trespasses.insert(path, Trespass { left: content, ..trespass });
        }
    }
    if told.is_empty() {
        return None;
    }
    traced::afterwards(&scene.project, &scene.heard, &told);
    told.truncate(MOST_NAMED);
    Some(told.join("\n"))
}

/// Files that are still as a command left them, although they are another's to edit.
pub fn holding(scene: &Scene, guards: &Guards, notes: &mut Notes) -> Slipped {
    if notes.trespasses.is_empty() {
        return Slipped::default();
    }
    let claims = scene.claims();
    let paths: Vec<String> = notes.trespasses.keys().cloned().collect();
    let committed: BTreeMap<String, Option<u64>> = paths.iter().cloned().zip(committed(scene, "HEAD", &paths)).collect();
    let checkout = &scene.project.located.checkout;
    let tracked = Git::at(checkout).tracked_of(&paths);
    notes.trespasses.iter_mut().for_each(|(path, trespass)| trespass.is_tracked |= tracked.contains(path));
    let mut left = Left::default();
    let now: BTreeMap<String, Option<Print>> =
        paths.into_iter().map(|path| (path.clone(), Print::of(&checkout.join(&path), &mut left))).collect();
    let of = |path: &str| now.get(path).and_then(Option::as_ref);
    // Whoever changed it since took it over, and what was undone or let go is settled.
    notes.trespasses.retain(|path, trespass| {
        let is = of(path);
        let stays = is.and_then(|print| print.content) == trespass.left;
        stays && claims.held(path).is_some() && !is_undone(trespass, is, committed.get(path).copied().flatten())
    });
    let event = &scene.heard.event;
    let is_asked = |trespass: &Trespass| event.moment != Moment::SubagentStop || Some(&trespass.agent) == event.agent_id.as_ref();
    let standing = notes.trespasses.iter().filter(|(_, trespass)| is_asked(trespass)).take(MOST_NAMED);
    let lines = standing.filter_map(|(path, trespass)| {
        Some(line(path, &claims.held(path)?, trespass, of(path).is_some(), "is as a command of this session left it"))
    });
    let lines: Vec<String> = lines.collect();
    match guards.guards.iter().filter(|guard| guard.id == GUARD).map(|guard| guard.action).max().unwrap_or_default() {
        Level::Off => Slipped::default(),
        Level::Warn => Slipped { told: lines, ..Slipped::default() },
        Level::Ask | Level::Block => Slipped { holding: lines, ..Slipped::default() },
    }
}

/// What a session may take back by itself.
pub fn undoing(notes: &Notes) -> Vec<(String, Undo)> {
    let undo = |trespass: &Trespass| match trespass {
        Trespass { was_there: false, is_tracked: false, .. } => Some(Undo::Remove),
        Trespass { is_committed: true, .. } => Some(Undo::Restore),
        // There was work in it that git does not have, or it is git's.
        _ => None,
    };
    notes.trespasses.iter().filter_map(|(path, trespass)| Some((path.clone(), undo(trespass)?))).collect()
}

/// What a commit takes of files that another claims: told, since a commit takes what
/// others did too, and the claim keeps its files in the working tree as they are.
pub fn in_commit(claims: &ClaimsOfOthers, paths: &[String]) -> Vec<String> {
    let held = paths.iter().filter_map(|path| Some((path, claims.held(path)?)));
    let lines = held.map(|(path, claim)| {
        format!("[{GUARD}] `{}` is staged, which {} claims until {}; ask before you commit it", text::visible(path), claim.by, claim.until)
    });
    lines.take(MOST_NAMED).collect()
}

/// Paths that are other than they were.
fn differing(scene: &Scene, before: &Before, now: &Before) -> Vec<String> {
    let checkout = &scene.project.located.checkout;
    let paths: BTreeSet<&String> = before.files.keys().chain(now.files.keys()).collect();
    let is_other = |path: &&&String| match (before.files.get(**path), now.files.get(**path)) {
        (Some(was), Some(is)) => !was.is(is),
        // Where not all were looked at, one that was passed over is not gone.
        (Some(_), None) => now.is_whole || fs::symlink_metadata(checkout.join(path)).is_err(),
        (None, _) => before.is_whole,
    };
    paths.iter().filter(is_other).map(|path| (**path).clone()).collect()
}

/// What tells the committed content of files from any other; none where there is none.
fn committed(scene: &Scene, commit: &str, paths: &[String]) -> Vec<Option<u64>> {
    let names: Vec<String> = paths.iter().map(|path| format!("{commit}:./{path}")).collect();
    let blobs = Git::at(&scene.project.located.checkout).blobs(&names);
    blobs.into_iter().map(|bytes| bytes.map(|bytes| hash_of(&bytes))).collect()
}

fn is_undone(trespass: &Trespass, now: Option<&Print>, committed: Option<u64>) -> bool {
    match now {
        None => !trespass.was_there,
        Some(now) => {
            let was = trespass.before.or(committed.filter(|_| trespass.was_there));
            now.content.is_some() && now.content == was
        }
    }
}

fn line(path: &str, claim: &Claim, trespass: &Trespass, is_there: bool, what: &str) -> String {
    let (path, by) = (text::visible(path), &claim.by);
    let became = match (trespass.was_there, is_there) {
        (true, false) => ", and is gone",
        (false, true) => ", and is new",
        _ => "",
    };
    let undo = match trespass {
        Trespass { was_there: false, is_tracked: false, .. } => format!("`rm {path}` takes it away again"),
        Trespass { is_committed: true, .. } => format!("`git checkout -- {path}` brings back what was there"),
        Trespass { was_there: false, .. } => format!("git has the file, so tell {by} what was done"),
        _ => format!("it held work that is not committed, so tell {by} what was done"),
    };
    let why = if claim.reason.is_empty() { String::new() } else { format!(" for: {}", claim.reason) };
    format!("[{GUARD}] `{path}`, which {by} claims{why}, {what}{became}. If it was yours, undo it: {undo}; or ask {by}")
}

/// What others did meanwhile, as far as their own hooks tell.
struct Others {
    calls: Vec<Call>,
    /// Those with a command that has not ended, or had not when this one began.
    running: BTreeSet<Hand>,
    session: String,
    since: i64,
}

impl Others {
    /// Whoever is not this agent of this session: subagents share a session.
    fn of(scene: &Scene) -> Self {
        let store = scene.project.engine.store();
        let short = |name: &str| text::excerpt(name, 200);
        let session = short(&scene.heard.session);
        let own = (session.clone(), short(scene.heard.event.agent_id.as_deref().unwrap_or_default()));
        let lines = store.latest_calls().unwrap_or_default();
        let calls: Vec<Call> =
            lines.iter().filter_map(|line| Call::read(line)).filter(|call| call.is_deed() && hand_of(call) != own).collect();
        let sessions: BTreeSet<&String> = calls.iter().map(|call| &call.session).collect();
        let running = sessions
            .into_iter()
            .flat_map(|session| running::agents(store, session).into_iter().map(move |agent| (session.clone(), short(&agent))));
        let running = running.filter(|hand| *hand != own).collect();
        Self { calls, running, session, since: i64::MAX }
    }

    /// The same since a command began.
    fn since(mut self, before: &Before) -> Self {
        self.running.extend(before.running.iter().cloned());
        self.since = before.at;
        self
    }

    /// Whether whoever claims a file wrote it, or may have. Of two agents of one session
    /// that were both at work nobody can tell which did it.
    fn wrote(&self, claims: &ClaimsOfOthers, path: &str) -> bool {
        let claimants: Vec<&Claimant> = claims.claimants(path).collect();
        self.calls.iter().rev().any(|call| {
            let names: Vec<&str> = [&call.agent_id, &call.agent_type].into_iter().filter_map(|name| name.as_deref()).collect();
            let at = Time::read(&call.at).map_or(0, Time::as_ms);
            let is_it = |named: &String| inside(&call.root, &normal(&call.cwd, named)).eq_ignore_ascii_case(path);
            (call.session == self.session || claimants.iter().any(|claimant| claimant.may_be(&call.session, &names)))
                && match &call.action {
                    Some(Action::Write { path: named, .. } | Action::Edit { path: named, .. }) => {
                        at >= self.since - WRITING_MS && is_it(named)
                    }
                    Some(Action::Touches(named)) => at >= self.since - WRITING_MS && named.iter().any(is_it),
                    Some(Action::Patch(patch)) => at >= self.since - WRITING_MS && patch.contains(path),
                    _ => at >= self.since || self.running.contains(&hand_of(call)),
                }
        })
    }
}

fn hand_of(call: &Call) -> Hand {
    (call.session.clone(), call.agent_id.clone().unwrap_or_default())
}

/// The note of one command of one agent.
fn note_of(scene: &Scene) -> Option<String> {
    let heard = &scene.heard;
    let Action::Shell(command) = &heard.event.action else { return None };
    let call = heard.call.as_deref().unwrap_or(command);
    let agent = heard.event.agent_id.as_deref().unwrap_or_default();
    Some(format!("claimed-{:016x}", hash_of(format!("{}\u{0}{agent}\u{0}{call}", heard.session).as_bytes())))
}
