//! What changes in a memory, whoever changes it: for a process that shows it as it is.
//!
//! Notices, not records: which kinds changed, and the ids of the newest, so that one write of
//! five thousand lines is one notice. The watch only wakes; what changed is found out by comparing
//! fingerprints, and the ids by catching the index up once. Nothing is created.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde::Serialize;

use super::documents::{PRESENCE, REGISTRY, RUNS, feature_list_paths, maestro_knowledge_path};
use super::project_store::Store;
use crate::disk::layout::{
    AGENTS, ANCHORS, BOARD, CLAIMS, CONFIG, DECISIONS, FOLDER, GRAPH, HANDOFFS, LOCAL, POLICY,
    TRACES, TURNS,
};
use crate::disk::{Dir, Fingerprint, FolderWatch};
use crate::error::StoreError;
use crate::index::RecordMarks;

/// Changes that come together are told together: so long after the first of a quiet time, which
/// a person waits for, and so long while more come.
const GATHER_FIRST: Duration = Duration::from_millis(4);
const GATHER: Duration = Duration::from_millis(15);
/// How long nothing was told for a change to be the first again.
const QUIET: Duration = Duration::from_millis(30);
/// How often to look without being woken: a watch may miss a folder that was put in place of
/// another.
const NET: Duration = Duration::from_secs(2);
/// Ids that one notice names.
const MAX_IDS: usize = 50;

/// What changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeKind {
    /// The blackboard.
    Entry,
    /// Decisions.
    Decision,
    /// Who holds what.
    Claim,
    /// Who is there.
    Presence,
    /// The feature list, or the runs that are evidence.
    Feature,
    /// Reports of turns.
    Turn,
    /// What rules stopped, and people put right.
    Trace,
    /// Which code records speak of.
    Anchor,
    /// Policies, and what a person allowed.
    Guard,
    /// Handoffs.
    Handoff,
    /// The observed graph.
    Graph,
    /// The reviewed graph.
    Knowledge,
    /// Settings.
    Config,
    /// What git has checked out.
    Head,
}

/// A notice that something changed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ChangeNotice {
    /// What changed.
    pub kinds: Vec<ChangeKind>,
    /// Entries and decisions that came or changed, the newest first.
    pub ids: Vec<String>,
    /// Whether there are others, or it is not known which.
    pub more: bool,
}

impl ChangeNotice {
    /// Both as one.
    pub fn merge(&mut self, later: &Self) {
        self.kinds.extend(&later.kinds);
        self.kinds.sort_unstable();
        self.kinds.dedup();
        let mut ids = later.ids.clone();
        ids.extend(self.ids.drain(..).filter(|id| !later.ids.contains(id)));
        self.more |= later.more || ids.len() > MAX_IDS;
        ids.truncate(MAX_IDS);
        self.ids = ids;
    }
}

/// Follows a memory. To be asked again and again, on a thread of its own.
pub struct ChangeFeed {
    store: Arc<Store>,
    /// Files outside the project that belong to a kind.
    outside: Vec<(ChangeKind, PathBuf)>,
    watch: FolderWatch,
    states: BTreeMap<ChangeKind, Vec<Option<Fingerprint>>>,
    /// Nothing while the memory cannot be read.
    marks: Option<RecordMarks>,
    last_report: Option<Instant>,
}

impl ChangeFeed {
    /// Follows a memory from now on, and these files besides. The index is caught up later.
    #[must_use]
    pub fn new(store: Arc<Store>, outside: Vec<(ChangeKind, PathBuf)>) -> Self {
        let watch = store.watch(paths(&outside));
        let states = BTreeMap::new();
        let mut feed = Self { store, outside, watch, states, marks: None, last_report: None };
        feed.states = feed.current_states();
        feed
    }

    /// Waits for the next change; none if for a while there was none.
    pub fn wait_next(&mut self) -> Option<ChangeNotice> {
        if self.marks.is_none() {
            self.marks = self.store.view(|view| view.marks()).ok();
        }
        let is_reported = self.wait();
        let states = self.current_states();
        let kinds: Vec<ChangeKind> = states
            .iter()
            .filter(|(kind, state)| self.states.get(kind) != Some(state))
            .map(|(kind, _)| *kind)
            .collect();
        if !is_reported && kinds.is_empty() {
            return None;
        }
        if !is_reported {
            // Not where the watch looks: another folder took the place of the one that is watched.
            self.watch = self.store.watch(paths(&self.outside));
        }
        let board_file = |states: &BTreeMap<_, Vec<Option<Fingerprint>>>| {
            Some(states.get(&ChangeKind::Entry)?.first()?.as_ref()?.ino)
        };
        let is_same_board = board_file(&self.states) == board_file(&states);
        self.states = states;
        let mut notice = ChangeNotice { kinds, ..ChangeNotice::default() };
        // What cannot be read now is asked for again, and says why, when the page does.
        self.add_ids(&mut notice, is_same_board).unwrap_or_else(|_| {
            self.marks = None;
            notice.more = true;
        });
        (!notice.kinds.is_empty()).then_some(notice)
    }

    /// Names what is new in the index, which is up to the files afterwards.
    fn add_ids(
        &mut self,
        notice: &mut ChangeNotice,
        is_same_board: bool,
    ) -> Result<(), StoreError> {
        let known = self.marks;
        let (marks, entries, decisions) = self.store.view(|view| {
            let (entries, decisions) = match known {
                Some(known) => (
                    view.entries_after(known, MAX_IDS + 1)?,
                    view.decisions_after(known, MAX_IDS + 1)?,
                ),
                None => (Vec::new(), Vec::new()),
            };
            Ok::<_, StoreError>((view.marks()?, entries, decisions))
        })?;
        self.marks = Some(marks);
        // A file edited in place leaves its folder as it was.
        if !decisions.is_empty() {
            notice.merge(&ChangeNotice {
                kinds: vec![ChangeKind::Decision],
                ..ChangeNotice::default()
            });
        }
        let is_known = |kind, ids: &Vec<String>| !notice.kinds.contains(&kind) || !ids.is_empty();
        let is_complete = known.is_some()
            && is_same_board
            && is_known(ChangeKind::Entry, &entries)
            && is_known(ChangeKind::Decision, &decisions);
        for ids in [entries, decisions] {
            notice.merge(&ChangeNotice { ids, ..ChangeNotice::default() });
        }
        notice.more |= !is_complete;
        Ok(())
    }

    /// Waits until the watch reports something, and a moment longer; whether it did.
    fn wait(&mut self) -> bool {
        let until = Instant::now() + self.watch.interval().unwrap_or(NET);
        loop {
            let left = until.saturating_duration_since(Instant::now());
            match self.watch.fd() {
                Some(fd) => {
                    let timeout = Timespec::try_from(left).ok();
                    // Interrupted, it is asked again below.
                    let _ =
                        poll(&mut [PollFd::from_borrowed_fd(fd, PollFlags::IN)], timeout.as_ref());
                }
                None => std::thread::sleep(left),
            }
            if self.watch.drain() {
                let is_first = self.last_report.is_none_or(|last| last.elapsed() > QUIET);
                std::thread::sleep(if is_first { GATHER_FIRST } else { GATHER });
                self.watch.drain();
                self.last_report = Some(Instant::now());
                return true;
            }
            if Instant::now() >= until {
                return false;
            }
        }
    }

    /// The state of every file that a kind is made of, without reading one.
    fn current_states(&self) -> BTreeMap<ChangeKind, Vec<Option<Fingerprint>>> {
        let project = &self.store.location().project;
        let top = project.join(FOLDER);
        let chosen = self.store.config().map(|config| config.knowledge.path).unwrap_or_default();
        let mut paths: Vec<(ChangeKind, PathBuf)> = vec![
            (ChangeKind::Entry, top.join(BOARD)),
            (ChangeKind::Decision, top.join(DECISIONS)),
            (ChangeKind::Claim, top.join(LOCAL).join(CLAIMS)),
            (ChangeKind::Presence, top.join(LOCAL).join(PRESENCE)),
            (ChangeKind::Presence, top.join(AGENTS).join(REGISTRY)),
            (ChangeKind::Trace, top.join(TRACES)),
            (ChangeKind::Anchor, top.join(ANCHORS)),
            (ChangeKind::Guard, top.join(POLICY)),
            (ChangeKind::Handoff, top.join(HANDOFFS)),
            (ChangeKind::Graph, top.join(GRAPH).join("entities.json")),
            (ChangeKind::Graph, top.join(GRAPH).join("relations.json")),
            (ChangeKind::Knowledge, top.join("knowledge.dot")),
            (ChangeKind::Knowledge, project.join(maestro_knowledge_path())),
            (ChangeKind::Config, top.join(CONFIG)),
        ];
        paths.extend((!chosen.is_empty()).then(|| (ChangeKind::Knowledge, project.join(chosen))));
        paths.extend(
            feature_list_paths().iter().map(|path| (ChangeKind::Feature, project.join(path))),
        );
        let local = folders_below(&top.join(LOCAL), 1).into_iter();
        paths.extend(local.map(|dir| (ChangeKind::Feature, dir.join(RUNS.name))));
        let turns = folders_below(&top.join(TURNS), 2).into_iter();
        paths.extend(turns.map(|dir| (ChangeKind::Turn, dir)));
        let mut states: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for (kind, path) in paths.iter().chain(&self.outside) {
            states.entry(*kind).or_default().push(state_of(path));
        }
        states
    }
}

fn paths(files: &[(ChangeKind, PathBuf)]) -> Vec<PathBuf> {
    files.iter().map(|(_, path)| path.clone()).collect()
}

fn state_of(path: &Path) -> Option<Fingerprint> {
    let folder = Dir::project(path.parent()?, None).ok()?;
    folder.print(path.file_name()?.to_str()?).ok()?
}

/// A folder, and those in it, so deep.
fn folders_below(folder: &Path, depth: usize) -> Vec<PathBuf> {
    let mut found = vec![folder.to_owned()];
    let Some(dir) = Dir::project(folder, None).ok().filter(|_| depth > 0) else { return found };
    for name in dir.list().unwrap_or_default() {
        if dir.open_dir(&name).is_ok_and(|inner| inner.is_some()) {
            found.extend(folders_below(&folder.join(name), depth - 1));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notice(kind: ChangeKind, ids: impl Iterator<Item = usize>) -> ChangeNotice {
        ChangeNotice { kinds: vec![kind], ids: ids.map(|id| id.to_string()).collect(), more: false }
    }

    #[test]
    fn two_notices_as_one_have_the_newest_ids_first_and_none_twice() {
        let mut both = notice(ChangeKind::Entry, 0..3);
        both.merge(&notice(ChangeKind::Claim, 2..4));
        assert_eq!(both.kinds, [ChangeKind::Entry, ChangeKind::Claim]);
        assert_eq!(both.ids, ["2", "3", "0", "1"]);
        assert!(!both.more);
        both.merge(&notice(ChangeKind::Entry, 10..59));
        assert_eq!((both.ids.len(), both.more), (MAX_IDS, true));
    }
}
