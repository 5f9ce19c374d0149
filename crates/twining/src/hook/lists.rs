//! Feature lists as they were last accepted, for all sessions of a project: what
//! changed between two of them is told to the next, and held against it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use twining_engine::guards::{Accepted, Guards, KnownList};
use twining_store::{Anchor, Store, digest};

use super::evidence::Recorded;
use super::workspace::Workspace;
use super::{by_hand, rules};
use crate::desk::Project;

/// The note that all sessions share.
pub const NOTE: &str = "accepted-lists";

/// Features that one edit marks; more are asked about when the turn ends.
const MOST_MARKED: usize = 64;

/// Texts of lists that are remembered.
const MOST_ONCE: usize = 64;

/// Lists, and where git was when they were accepted.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct Kept {
    accepted: Accepted,
    place: Anchor,
    /// What tells each text from any other, as it was accepted: a list that is as it
    /// was need not be read, and it may be long.
    texts: BTreeMap<String, String>,
    /// Texts that were accepted before: a switch between branches brings them back.
    once: Vec<String>,
    /// What was told often enough, and is a question by now.
    settled: Vec<String>,
}

/// What became of the lists.
#[derive(Clone, Debug, Default)]
pub struct Slips {
    /// What nothing explains.
    pub slipped: Vec<String>,
    /// What others did, whose work git brought, or what git undid.
    pub brought: Vec<String>,
}

/// Who put a list there.
enum Whose {
    /// Git, with what was known.
    Ours,
    /// Others, whose work git brought, or git, which says that it undid a commit.
    Others,
}

/// The lists of one project.
pub struct Lists<'p> {
    project: &'p Project,
    work: &'p Workspace,
}

impl<'p> Lists<'p> {
    /// Those of this project.
    pub fn of(project: &'p Project, work: &'p Workspace) -> Self {
        Self { project, work }
    }

    /// Makes sure that there is something to compare with. Reads nothing if there is.
    pub fn begin(&self) {
        if self.store().exists().unwrap_or(false) && !self.store().has_note(NOTE).unwrap_or(true) {
            self.accept();
        }
    }

    /// Takes them as they are now.
    pub fn accept(&self) {
        let (texts, place) = (self.texts(), self.store().git_place().unwrap_or_default());
        let known = self.kept().filter(|kept| kept.texts == texts && kept.settled.is_empty());
        if known.as_ref().is_some_and(|kept| kept.place == place) {
            return;
        }
        let accepted = known.map(|kept| kept.accepted).unwrap_or_else(|| {
            let mut accepted = Accepted::default();
            for path in Accepted::LISTS {
                accepted.accept(path, self.work.text(path).as_deref());
            }
            accepted.lists.values_mut().for_each(|list| list.at = Some(self.store().ids().now()));
            accepted
        });
        let mut once = self.kept().map(|kept| kept.once).unwrap_or_default();
        once.retain(|known| !texts.values().any(|text| text == known));
        once.extend(texts.values().cloned());
        once.drain(..once.len().saturating_sub(MOST_ONCE));
        self.keep(&Kept { accepted, place, texts, once, settled: Vec::new() });
    }

    fn texts(&self) -> BTreeMap<String, String> {
        let known = |path: &&str| Some(((*path).to_owned(), digest(self.work.text(path)?.as_bytes())));
        Accepted::LISTS.iter().filter_map(known).collect()
    }

    /// Takes the features that a tool left in a list, after guards let it; whether
    /// they are tested is another question.
    pub fn accept_features(&self, path: &str) {
        let Some(mut kept) = Some(path).filter(|path| Accepted::LISTS.contains(path)).and_then(|_| self.kept()) else { return };
        let now = self.work.text(path).map(|text| KnownList::of(&text)).unwrap_or_default();
        kept.accepted.lists.entry(path.to_owned()).or_default().features = now.features;
        kept.texts.clear();
        self.keep(&kept);
    }

    /// Features that a list calls tested and did not when it was last accepted.
    pub fn newly_tested(&self, path: &str) -> Vec<String> {
        let Some(kept) = Some(path).filter(|path| Accepted::LISTS.contains(path)).and_then(|_| self.kept()) else { return Vec::new() };
        let now = self.work.text(path).map(|text| KnownList::of(&text)).unwrap_or_default();
        let known = kept.accepted.lists.get(path);
        now.tested.into_iter().filter(|feature| known.is_none_or(|known| !known.tested.contains(feature))).take(MOST_MARKED).collect()
    }

    /// What slipped in since they were accepted that neither a run nor git explains.
    pub fn slipped(&self, guards: &Guards, evidence: &Recorded<'_>) -> Vec<String> {
        self.changed(guards, evidence).slipped
    }

    /// The same, and what others' work changed so that git brought.
    pub fn changed(&self, guards: &Guards, evidence: &Recorded<'_>) -> Slips {
        let mut slips = Slips::default();
        let Some(mut kept) = self.kept() else {
            self.accept();
            return slips;
        };
        if self.project.located.checkout != self.project.located.place.project {
            // The list of a linked working tree is a copy that git keeps; reports move the other.
            kept.accepted.lists.values_mut().for_each(|list| list.standing = None);
        }
        if !kept.texts.is_empty() && kept.texts == self.texts() {
            return slips;
        }
        let read = |path: &str| self.work.text(path);
        for (path, why) in kept.accepted.slipped_lists(guards, &read, evidence) {
            match self.whose(&kept, &path, guards, evidence) {
                None => slips.slipped.push(self.with_commits(&kept, &path, why)),
                Some(Whose::Others) => slips.brought.push(why),
                Some(Whose::Ours) => {}
            }
        }
        slips
    }

    /// Those of them that hold an agent: not the ones that are a question by now.
    pub fn holding(&self, slipped: Vec<String>) -> Vec<String> {
        let settled = self.kept().map(|kept| kept.settled).unwrap_or_default();
        slipped.into_iter().filter(|why| !settled.contains(why)).collect()
    }

    /// Remembers that these were told often enough.
    pub fn settle(&self, slipped: Vec<String>) {
        if let Some(mut kept) = self.kept() {
            kept.settled = slipped;
            self.keep(&kept);
        }
    }

    /// The same, with the way back where it is committed: there the usual one shows nothing.
    fn with_commits(&self, kept: &Kept, path: &str, why: String) -> String {
        let now = self.work.text(path);
        let since: String = kept.place.head.chars().take(12).collect();
        if since.is_empty()
            || self.store().git_place().is_ok_and(|place| place.head == kept.place.head)
            || self.project.history.committed_text(path) != now
        {
            return why;
        }
        format!(
            "{why}. It is committed: `git log {since}.. -- {path}` names the commits, `git checkout {since} -- {path}` brings back what was accepted"
        )
    }

    /// Whose a list is that is what it is because git put it there.
    fn whose(&self, kept: &Kept, path: &str, guards: &Guards, evidence: &Recorded<'_>) -> Option<Whose> {
        let now = self.work.text(path);
        let committed = || self.project.history.committed_text(path);
        if now.as_ref().is_some_and(|now| kept.once.contains(&digest(now.as_bytes()))) && committed() == now {
            return Some(Whose::Ours);
        }
        let versions = self.store().git_versions(&kept.place, path).unwrap_or_default();
        let text = |bytes: &Option<Vec<u8>>| bytes.as_ref().map(|bytes| String::from_utf8_lossy(bytes).into_owned());
        // A merge takes how far one feature is from here, and another from there.
        let mut either = kept.accepted.lists.get(path).cloned().unwrap_or_default();
        let has_moved = versions.iter().any(|version| version.is_others || version.is_of_another_branch);
        if has_moved || committed() == now {
            versions.iter().filter_map(|version| text(&version.bytes)).for_each(|text| either.or(&KnownList::of_ours(&text)));
            either.at = None;
        }
        let found = versions.into_iter().find(|version| {
            let version = text(&version.bytes);
            let mut accepted = Accepted::default();
            accepted.accept(path, version.as_deref());
            let moves = |list: &mut KnownList| (list.standing, list.at) = (either.standing.clone(), either.at);
            accepted.lists.values_mut().for_each(moves);
            match (&version, &now) {
                (None, now) => now.is_none() && kept.place.head != self.store().git_place().unwrap_or_default().head,
                (Some(_), _) => accepted.slipped_lists(guards, &|_| now.clone(), evidence).iter().all(|(slipped, _)| slipped != path),
            }
        });
        match found {
            Some(found) => Some(if found.is_others { Whose::Others } else { Whose::Ours }),
            None => self.is_undone(kept, path, now.as_deref()).then_some(Whose::Others),
        }
    }

    /// Whether git undid a commit, and with it what is no longer in a list. An undoing
    /// takes away; what it would make tested has to be shown as ever.
    fn is_undone(&self, kept: &Kept, path: &str, now: Option<&str>) -> bool {
        let tested = now.map(|now| KnownList::of(now).tested).unwrap_or_default();
        kept.accepted.lists.get(path).is_some_and(|known| tested.is_subset(&known.tested))
            && self.project.history.committed_text(path).as_deref() == now
            && self.store().git_undid(&kept.place, path).unwrap_or(false)
    }

    /// Features that a commit would take out of a list although nobody let them go.
    pub fn lost_in_commit(&self, guards: &Guards, path: &str, staged: Option<&str>, committed: &str) -> Option<String> {
        let kept = self.kept()?;
        let known = kept.accepted.lists.get(path)?;
        let were = KnownList::of(committed).features;
        guards.lost(path, &known.features.intersection(&were).cloned().collect(), staged)
    }

    /// Features that a commit would record further, or less far, than any report says.
    pub fn moved_in_commit(
        &self,
        guards: &Guards,
        path: &str,
        staged: Option<&str>,
        committed: &str,
        evidence: &Recorded<'_>,
    ) -> Option<String> {
        let kept = self.kept()?;
        let mut known = kept.accepted.lists.get(path)?.clone();
        known.or(&KnownList::of_ours(committed));
        guards.moved(path, &KnownList { at: None, ..known }, staged, evidence)
    }

    fn kept(&self) -> Option<Kept> {
        self.store().sealed(NOTE).ok().flatten().and_then(|bytes| serde_json::from_slice(&bytes).ok())
    }

    fn keep(&self, kept: &Kept) {
        // What cannot be kept makes a later check weaker, never this answer wrong.
        let _ = serde_json::to_vec(kept).map(|bytes| self.store().leave_sealed(NOTE, &bytes));
    }

    fn store(&self) -> &Store {
        self.project.engine.store()
    }
}

/// Takes the lists of a project as they are now.
pub fn accept(project: &Project) {
    Lists::of(project, &Workspace::of(project)).accept();
}

/// What slipped into the lists of a project since they were accepted.
pub fn slipped(project: &Project) -> Vec<String> {
    let work = Workspace::of(project);
    let evidence = Recorded::so_far(&project.engine, &project.located.checkout);
    Lists::of(project, &work).slipped(&rules::guards(project), &evidence)
}

/// What slipped into them between two sessions, for the brief of the next; where
/// nothing did, they are taken as they are.
pub fn at_start(project: &Project, work: &Workspace, evidence: &Recorded<'_>) -> Option<String> {
    let lists = Lists::of(project, work);
    let Slips { slipped, brought } = lists.changed(&rules::guards(project), evidence);
    if slipped.is_empty() {
        lists.accept();
        return by_hand::brought_lists(&brought);
    }
    Some(format!("Since the last session a feature list was changed:\n- {}", slipped.join("\n- ")))
}
