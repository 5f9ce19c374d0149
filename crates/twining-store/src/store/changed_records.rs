//! The records that git has, compared with the files as they are now.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use twining_model::limits;

use super::documents::Documents;
use super::store_handle::OpenStore;
use crate::disk::layout::{AGENTS, ANCHORS, BOARD, FOLDER, GRAPH, HANDOFFS, TRACES, TURNS};
use crate::disk::{self, Dir, Fingerprint};
use crate::error::StoreError;
use crate::git::{Git, GitFolders};
use crate::integrity::{Difference, RecordKind, compare_changed};

/// Bytes of the largest file that is read.
const FILE_BYTES: usize = 4096 * limits::RECORD_BYTES;

/// A file that differs from a commit: its name inside `.twining/`, and the object it was.
type ChangedFiles = BTreeMap<String, Option<String>>;

/// What a comparison with HEAD was made on. Costs no process and reads no record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ComparedState {
    /// What git's HEAD leads to.
    head: String,
    board: BoardState,
    traces: Option<Fingerprint>,
    anchors: Option<Fingerprint>,
    /// The folders that files are put into.
    folders: Vec<Option<Fingerprint>>,
    /// [`Decisions::digest`](crate::Decisions::digest): it notices an edit in place too.
    decisions: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct BoardState {
    print: Option<Fingerprint>,
    /// How often our writers found it changed by somebody else.
    epoch: u64,
}

impl ComparedState {
    /// Whether nothing came since but new lines, so that its result still holds.
    #[must_use]
    pub fn holds_at(&self, now: &Self) -> bool {
        self.head == now.head
            && self.decisions == now.decisions
            && self.folders == now.folders
            && self.board.epoch == now.board.epoch
            && has_only_grown(self.board.print, now.board.print)
            && has_only_grown(self.traces, now.traces)
            && has_only_grown(self.anchors, now.anchors)
    }
}

fn has_only_grown(before: Option<Fingerprint>, now: Option<Fingerprint>) -> bool {
    match (before, now) {
        (Some(before), Some(now)) => {
            before == now || (before.ino == now.ino && before.size < now.size)
        }
        (before, now) => before == now,
    }
}

/// The part of the board that HEAD has and that was found to be unchanged: it is not
/// read again while only new lines come.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UnchangedBoard {
    object: String,
    bytes: u64,
    ino: u64,
    epoch: u64,
}

impl Documents<'_> {
    /// Records that HEAD, or an earlier commit, has and that the working files lack or
    /// say otherwise. `git` is the repository's, seen from any of its folders. Empty where it
    /// has no memory of this one.
    pub fn changed_records(
        &self,
        git: &Git,
        base: Option<&str>,
    ) -> Result<Vec<Difference>, StoreError> {
        let project = &self.0.location().project;
        let git = git.in_folder(project);
        let mut found = Vec::new();
        let against_head = changed_since(&git, "HEAD");
        let against_base =
            base.map(|base| changed_since(&git, base)).filter(|changed| *changed != against_head);
        for changed in std::iter::once(against_head).chain(against_base) {
            for difference in differences(&git, project, &changed, None)? {
                if !found.contains(&difference) {
                    found.push(difference);
                }
            }
        }
        Ok(found)
    }

    /// The same against HEAD alone, for a caller that asks often: `known` is what it keeps
    /// between two calls. A new line with the id of an old one is not noticed.
    pub fn changed_since_head(
        &self,
        git: &Git,
        known: &mut UnchangedBoard,
    ) -> Result<Vec<Difference>, StoreError> {
        let Some(store) = self.0.open_for_reading()? else { return Ok(Vec::new()) };
        let project = &self.0.location().project;
        let git = git.in_folder(project);
        differences(&git, project, &changed_since(&git, "HEAD"), Some((&store, known)))
    }

    /// What a comparison would be made on; none where git has no commit. `decisions` is
    /// their digest.
    pub fn compared_state(&self, decisions: u64) -> Result<Option<ComparedState>, StoreError> {
        let Some(store) = self.0.open_for_reading()? else { return Ok(None) };
        let Some(head) = head_state(&self.0.location().project) else { return Ok(None) };
        let top = &store.layout.top;
        let mut folders = vec![store.project.print(FOLDER)?];
        for name in [HANDOFFS, AGENTS, GRAPH] {
            folders.push(top.print(name)?);
        }
        folders.extend(turn_folders(top)?);
        Ok(Some(ComparedState {
            head,
            board: board_state(&store)?,
            traces: top.print(TRACES)?,
            anchors: top.print(ANCHORS)?,
            folders,
            decisions,
        }))
    }
}

fn board_state(store: &OpenStore) -> Result<BoardState, StoreError> {
    Ok(BoardState {
        print: store.files.board_fingerprint()?,
        epoch: store.files.lock_state().epoch,
    })
}

/// The folders that turns are in: one is replaced there.
fn turn_folders(top: &Dir) -> Result<Vec<Option<Fingerprint>>, StoreError> {
    let mut found = Vec::new();
    // A link in a folder's place is reported by who reads the turns.
    let Ok(Some(turns)) = top.open_dir(TURNS) else { return Ok(found) };
    for feature in turns.list()? {
        let Ok(Some(tasks)) = turns.open_dir(&feature) else { continue };
        for task in tasks.list()? {
            found.push(tasks.print(&task)?);
        }
    }
    Ok(found)
}

/// What HEAD leads to, without starting git: the commit, or what changes with it.
fn head_state(project: &Path) -> Option<String> {
    let folders = GitFolders::of(project)?;
    let head = fs::read_to_string(folders.own.join("HEAD")).ok()?;
    let modified =
        |name: &str| fs::metadata(folders.common.join(name)).and_then(|it| it.modified());
    let branch = head.strip_prefix("ref:").map(str::trim);
    let commit = branch.and_then(|name| fs::read_to_string(folders.common.join(name)).ok());
    // A branch without a file of its own is in one of these.
    let shared = || format!("{:?} {:?}", modified("packed-refs").ok(), modified("reftable").ok());
    Some(format!("{head} {}", commit.unwrap_or_else(shared)))
}

/// Files of the memory that are not as a commit has them.
fn changed_since(git: &Git, commit: &str) -> ChangedFiles {
    let changes = git.changed_since(commit, FOLDER).into_iter();
    let files = changes.filter_map(|change| {
        let object = change.before.as_ref().map(|before| before.object.clone());
        Some((change.before.or(change.after)?.path, object))
    });
    files.filter(|(path, _)| RecordKind::of(path).is_some()).collect()
}

fn differences(
    git: &Git,
    project: &Path,
    changed: &ChangedFiles,
    mut known: Option<(&OpenStore, &mut UnchangedBoard)>,
) -> Result<Vec<Difference>, StoreError> {
    if changed.values().all(Option::is_none) {
        return Ok(Vec::new());
    }
    let mut now: BTreeMap<&str, Vec<u8>> = BTreeMap::new();
    let mut wanted = changed.clone();
    let object = changed.get(BOARD).cloned().flatten();
    if let (Some((store, known)), Some(object)) = (&known, &object)
        && let Some(new_lines) = known.new_lines(store, object)?
    {
        // Only what came since is compared: as if the board had been empty.
        wanted.insert(BOARD.to_owned(), None);
        now.insert(BOARD, new_lines);
    }
    let blobs = git.objects(wanted.values().flatten().map(String::as_str));
    let mut before: BTreeMap<&str, &[u8]> = wanted
        .iter()
        .filter_map(|(path, object)| Some((path.as_str(), blobs.get(object.as_ref()?)?.as_slice())))
        .collect();
    for path in changed.keys() {
        if !now.contains_key(path.as_str())
            && let Some(bytes) = read(project, path)?
        {
            now.insert(path, bytes);
        }
    }
    if let (Some((store, known)), Some(object)) = (&mut known, object)
        && let (Some(old), Some(new)) = (before.get(BOARD), now.get_mut(BOARD))
        && old.ends_with(b"\n")
        && new.starts_with(old)
    {
        let state = board_state(store)?;
        **known = UnchangedBoard {
            object,
            bytes: old.len() as u64,
            ino: state.print.unwrap_or_default().ino,
            epoch: state.epoch,
        };
        new.drain(..old.len());
        before.remove(BOARD);
    }
    let after = now.iter().map(|(path, bytes)| (*path, bytes.as_slice())).collect();
    let is_there = |path: &str| disk::is_inside(project, &format!("{FOLDER}/{path}"));
    Ok(compare_changed(before, after, &is_there))
}

impl UnchangedBoard {
    /// The lines after this part, if the board still begins with it.
    fn new_lines(&self, store: &OpenStore, object: &str) -> Result<Option<Vec<u8>>, StoreError> {
        let Some(board) = store.files.board()? else { return Ok(None) };
        let is_it = self.object == object
            && self.ino == board.print.ino
            && self.bytes <= board.print.size
            && self.epoch == store.files.lock_state().epoch;
        if !is_it {
            return Ok(None);
        }
        let mut lines = vec![0; usize::try_from(board.print.size - self.bytes).unwrap_or(0)];
        let read = board.handle.read_at(&mut lines, self.bytes)?;
        lines.truncate(read);
        Ok(Some(lines))
    }
}

fn read(project: &Path, path: &str) -> Result<Option<Vec<u8>>, StoreError> {
    match disk::read_inside(project, &format!("{FOLDER}/{path}"), FILE_BYTES) {
        // A link or a folder in its place is no record.
        Err(StoreError::Unsafe { .. }) => Ok(None),
        read => read,
    }
}
