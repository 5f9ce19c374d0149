//! What decisions and knowledge rule out, brought in by a way that no tool call
//! showed: a copy, a patch, a script. Looked for when a turn ends and at a commit,
//! in the files that changed; what stood there before is nobody's offence.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use twining_engine::Changes;
use twining_engine::guards::{Guards, Level, Moment, Ruled, Use};
use twining_model::{Id, Time, text};

use super::rules;
use super::scene::Scene;
use super::{changed, workspace};
use crate::desk::Project;
use crate::git::Git;

/// Files that are looked into.
const MOST_FILES: usize = 2_000;
/// Bytes of all of them, and of one.
const MOST_BYTES: u64 = 64 * 1024 * 1024;
const MOST_TEXT: u64 = 1024 * 1024;
/// Files that are held against branches, and branches of each.
const MOST_CARRIED: usize = 32;
const MOST_TIPS: usize = 64;
/// Uses that are named.
const MOST_NAMED: usize = 8;

/// A file that changed, and what is in it now; nothing if it is gone.
struct Changed {
    path: String,
    after: Option<String>,
}

/// Something ruled out that a file did not use before.
struct Brought {
    path: String,
    used: Use,
    is_new: bool,
}

/// What slipped in, in words.
#[derive(Debug, Default)]
pub struct Slipped {
    /// What holds an agent, or refuses a commit.
    pub holding: Vec<String>,
    /// What is only told.
    pub told: Vec<String>,
}

/// Takes what is there as it is, for a session that begins.
pub fn begin(scene: &Scene) -> Ruled {
    let git = Git::at(&scene.project.located.checkout);
    let mut ruled = Ruled { head: head(scene, &git), ..Ruled::default() };
    // Most projects rule nothing out, and git is not asked.
    let guards = rules::clauses_alone(&scene.project);
    let rulings = guards.rulings();
    if !rulings.is_empty() {
        let (files, _) = changed_since(scene, &guards, &ruled.head, None);
        learn(&mut ruled, &guards, rulings, &git, &files);
    }
    ruled
}

/// What was brought in since the session was first heard of. Rulings that are new
/// since take what is there as it is: it was fine when it was written.
pub fn slipped(scene: &Scene, guards: &Guards, ruled: &mut Ruled, since: Option<Time>) -> Slipped {
    let rulings = guards.rulings();
    if rulings.is_empty() {
        return Slipped::default();
    }
    let checkout = &scene.project.located.checkout;
    let (files, left_out) = changed_since(scene, guards, &ruled.head, since);
    if !rulings.is_subset(&ruled.rulings) {
        // What a subagent's own files show is not all there is.
        let all = if since.is_some() { changed_since(scene, guards, &ruled.head, None).0 } else { Vec::new() };
        learn(ruled, guards, rulings, &Git::at(checkout), if since.is_some() { &all } else { &files });
    }
    let before = |paths: &[String]| -> Vec<Vec<String>> {
        // What cannot be asked was brought by nobody that we know of.
        let versions = scene.project.engine.store().versions_in(checkout, &ruled.head, &ruled.tips, paths).unwrap_or_default();
        let texts = |versions: Vec<twining_store::Version>| {
            versions.into_iter().filter_map(|version| version.bytes).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).collect()
        };
        versions.into_iter().map(texts).collect()
    };
    let brought = brought_in(guards, files, &before);
    let mut brought: Vec<Brought> =
        brought.into_iter().filter(|brought| !ruled.used.contains(&(brought.path.clone(), brought.used.ruling.clone()))).collect();
    let carried = carried_over(scene, &ruled.tips, &brought);
    brought.retain(|brought| !carried.contains(&brought.path));
    let mut slipped = told_of(&brought, &|brought| undo(brought, &ruled.head));
    slipped.told.extend(left_out);
    slipped
}

/// Files that stand just so in a branch that was there: a rebase makes its commits anew.
fn carried_over(scene: &Scene, tips: &[String], brought: &[Brought]) -> HashSet<String> {
    let checkout = &scene.project.located.checkout;
    let paths: BTreeSet<&String> = brought.iter().map(|brought| &brought.path).take(MOST_CARRIED).collect();
    let is_carried = |path: &&&String| {
        let names: Vec<String> = tips.iter().take(MOST_TIPS).map(|tip| format!("{tip}:./{path}")).collect();
        let now = scene.work.text(path);
        now.is_some() && Git::at(checkout).texts(&names).contains(&now)
    };
    paths.iter().filter(is_carried).map(|path| (**path).clone()).collect()
}

/// What a commit would bring in, relative to every commit it is made from.
pub fn in_commit(project: &Project, guards: &Guards, staged: &[String]) -> Slipped {
    let git = &project.history;
    // The first commit of all takes what is there: there is nothing to hold it against.
    if guards.rulings().is_empty() || git.head().is_none() {
        return Slipped::default();
    }
    let prefix = prefix(project);
    let mut paths = within(project, staged);
    paths.retain(|path| is_judged(guards, path));
    let left_out = left_out(paths.len());
    paths.truncate(MOST_FILES);
    let named = |side: &str, paths: &[String]| paths.iter().map(|path| format!("{side}:{prefix}{path}")).collect::<Vec<_>>();
    let after = git.texts(&named("", &paths));
    let files = paths.into_iter().zip(after).map(|(path, after)| Changed { path, after }).collect();
    let sides = git.sides();
    let before = |paths: &[String]| -> Vec<Vec<String>> {
        let mut versions = vec![Vec::new(); paths.len()];
        for side in &sides {
            for (known, text) in versions.iter_mut().zip(git.texts(&named(side, paths))) {
                known.extend(text);
            }
        }
        versions
    };
    let mut brought = brought_in(guards, files, &before);
    brought.retain(|brought| !was_there(project, brought));
    let mut slipped = told_of(&brought, &|brought| {
        let path = format!("{prefix}{}", text::visible(&brought.path));
        format!("Line {}. `git diff --cached -- {path}` shows it, `git restore --staged {path}` leaves it out", brought.used.line)
    });
    slipped.told.extend(left_out);
    slipped
}

/// Whether a file is as it was when the decision was made: it was fine when it was written.
fn was_there(project: &Project, brought: &Brought) -> bool {
    let made = brought.used.guard.strip_prefix("decision-").and_then(Id::read).map(|id| id.time());
    made.is_some_and(|made| !changed::is_since(&project.located.checkout.join(&brought.path), made))
}

/// Staged files of the project, from its own root: git tells them from the top.
pub fn within(project: &Project, staged: &[String]) -> Vec<String> {
    let prefix = prefix(project);
    staged.iter().filter_map(|path| path.strip_prefix(&prefix)).map(str::to_owned).collect()
}

/// The way from the top of the working tree to the project.
fn prefix(project: &Project) -> String {
    let top = project.history.shape().map(|shape| shape.top);
    let within = top.and_then(|top| Some(project.located.checkout.strip_prefix(&top).ok()?.display().to_string())).unwrap_or_default();
    if within.is_empty() { within } else { format!("{within}/") }
}

/// Since when files count that an agent changed: those of the whole session, but for
/// one that a session sent out only what changed since it began.
pub fn since(scene: &Scene, started: &BTreeMap<String, Time>) -> Option<Time> {
    let event = &scene.heard.event;
    let agent = event.agent_id.as_ref().filter(|_| event.moment == Moment::SubagentStop)?;
    started.get(agent).copied()
}

/// Remembers rulings, and what goes against them already.
fn learn(ruled: &mut Ruled, guards: &Guards, rulings: BTreeSet<String>, git: &Git, files: &[Changed]) {
    let is_new = |used: &Use| !ruled.rulings.contains(&used.ruling);
    let uses = files.iter().filter_map(|file| Some((&file.path, file.after.as_deref()?)));
    let used = uses.flat_map(|(path, after)| {
        let new = guards.uses(path, after).into_iter().filter(is_new);
        new.map(|used| (path.clone(), used.ruling)).collect::<Vec<_>>()
    });
    let used: Vec<(String, String)> = used.collect();
    ruled.used.extend(used);
    ruled.rulings.extend(rulings);
    let known: HashSet<String> = ruled.tips.iter().cloned().collect();
    ruled.tips.extend(git.tips().into_iter().filter(|tip| !known.contains(tip)));
}

/// The commit that is checked out. No program is started where it is plain to see.
fn head(scene: &Scene, git: &Git) -> String {
    let store = scene.project.engine.store();
    let place = || store.git_place().ok().map(|place| place.head);
    let is_own = scene.project.located.checkout == store.place().project;
    if is_own { place() } else { git.head() }.unwrap_or_default()
}

/// Files of the working tree that differ from a commit and in which anything is ruled
/// out, and word of those that are too many.
fn changed_since(scene: &Scene, guards: &Guards, head: &str, since: Option<Time>) -> (Vec<Changed>, Option<String>) {
    let checkout = &scene.project.located.checkout;
    let git = Git::at(checkout);
    let names = if head.is_empty() { git.files() } else { git.changed_files(head, None).ok() };
    let mut names = names.unwrap_or_default();
    names.retain(|name| is_judged(guards, name));
    if let Some(since) = since {
        names.retain(|name| changed::is_since(&checkout.join(name), since));
    }
    let left_out = left_out(names.len());
    let mut left = MOST_BYTES;
    let files = names.into_iter().take(MOST_FILES).filter_map(|path| {
        let size = workspace::size_of(&checkout.join(&path));
        if size.is_some_and(|size| size > left.min(MOST_TEXT)) {
            return None;
        }
        left -= size.unwrap_or_default();
        let after = size.and_then(|_| scene.work.text(&path));
        Some(Changed { path, after })
    });
    (files.collect(), left_out)
}

/// Whether anything is ruled out in a file. The memory's own speak of it, and use nothing.
fn is_judged(guards: &Guards, path: &str) -> bool {
    !path.starts_with(".twining/") && guards.rules_out_in(path)
}

fn left_out(files: usize) -> Option<String> {
    (files > MOST_FILES)
        .then(|| format!("{files} files changed in which something is ruled out by a decision; the first {MOST_FILES} were looked into"))
}

/// What files use now and no version of them before did. `before` is asked only about
/// files that use something.
fn brought_in(guards: &Guards, files: Vec<Changed>, before: &dyn Fn(&[String]) -> Vec<Vec<String>>) -> Vec<Brought> {
    let (there, gone): (Vec<Changed>, Vec<Changed>) = files.into_iter().partition(|file| file.after.is_some());
    let suspects = there.into_iter().filter_map(|file| {
        let after = file.after?;
        let uses = guards.uses(&file.path, &after);
        (!uses.is_empty()).then_some((file.path, after, uses))
    });
    let suspects: Vec<(String, String, Vec<Use>)> = suspects.collect();
    if suspects.is_empty() {
        return Vec::new();
    }
    let versions = before(&suspects.iter().map(|(path, ..)| path.clone()).collect::<Vec<_>>());
    let mut moved = Moved { guards, gone: gone.into_iter().map(|file| file.path).collect(), texts: None, before };
    let mut brought = Vec::new();
    for ((path, after, uses), versions) in suspects.into_iter().zip(versions.into_iter().chain(std::iter::repeat(Vec::new()))) {
        let is_new = versions.is_empty();
        let known: HashSet<String> = versions.iter().flat_map(|version| guards.uses(&path, version)).map(|used| used.ruling).collect();
        let mut fresh: Vec<Use> = uses.into_iter().filter(|used| !known.contains(&used.ruling)).collect();
        if is_new && !fresh.is_empty() {
            let came_along = moved.here(&after);
            fresh.retain(|used| !came_along.contains(&used.ruling));
        }
        brought.extend(fresh.into_iter().map(|used| Brought { path: path.clone(), used, is_new }));
    }
    brought
}

/// Files that went with the same change: one of them may only have a new name.
struct Moved<'b> {
    guards: &'b Guards,
    gone: Vec<String>,
    texts: Option<Vec<(String, Vec<String>)>>,
    before: &'b dyn Fn(&[String]) -> Vec<Vec<String>>,
}

impl Moved<'_> {
    /// What the file that this one was used already. Each that is gone was one file.
    fn here(&mut self, after: &str) -> HashSet<String> {
        let (gone, before) = (&self.gone, self.before);
        let texts = self.texts.get_or_insert_with(|| gone.iter().cloned().zip(before(gone)).collect());
        let likeness = |versions: &[String]| versions.iter().map(|version| likeness(version, after)).max().unwrap_or_default();
        let most = texts
            .iter()
            .enumerate()
            .max_by_key(|(_, (_, versions))| likeness(versions))
            .map(|(at, (_, versions))| (at, likeness(versions)));
        let Some((at, _)) = most.filter(|(_, likeness)| *likeness > 0) else { return HashSet::new() };
        let (path, versions) = texts.swap_remove(at);
        versions.iter().flat_map(|version| self.guards.uses(&path, version)).map(|used| used.ruling).collect()
    }
}

/// How many lines two texts share; none where that is less than half of either.
fn likeness(one: &str, other: &str) -> usize {
    let lines = |text: &'_ str| text.lines().map(|line| line.trim().to_owned()).filter(|line| !line.is_empty()).collect::<HashSet<_>>();
    let (one, other) = (lines(one), lines(other));
    let shared = one.intersection(&other).count();
    if shared * 2 >= one.len().max(other.len()).max(1) { shared } else { 0 }
}

fn told_of(brought: &[Brought], undo: &dyn Fn(&Brought) -> String) -> Slipped {
    let mut slipped = Slipped::default();
    let more = brought.len().saturating_sub(MOST_NAMED);
    for brought in brought.iter().take(MOST_NAMED) {
        let Use { guard, item, say, next_step, level, .. } = &brought.used;
        let line = format!(
            "[{guard}] `{}` now uses `{}`: {}. {}. Next: {next_step}",
            text::visible(&brought.path),
            text::visible(&text::excerpt(item, 80)),
            say.trim_end_matches('.'),
            undo(brought)
        );
        if *level == Level::Block { slipped.holding.push(line) } else { slipped.told.push(line) }
    }
    if more > 0 && !slipped.holding.is_empty() {
        slipped.holding.push(format!("And {more} more uses of what is ruled out"));
    }
    slipped
}

fn undo(brought: &Brought, head: &str) -> String {
    let path = text::visible(&brought.path);
    let short: String = head.chars().take(12).collect();
    if brought.is_new || short.is_empty() {
        return "Undo it: take it out again, or the file away; it was not there when the session began".to_owned();
    }
    format!(
        "Undo it: `git diff {short} -- {path}` shows it, `git checkout {short} -- {path}` brings back the file as it was when the session began"
    )
}
