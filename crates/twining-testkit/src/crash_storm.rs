//! Storms: many processes write to one folder while they are killed, or while
//! git works underneath; afterwards every acknowledged write is looked for.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::{Map, Value};
use twining_model::{Amendment, Change, Id};
use twining_store::{Durability, Housekeeper, Store, StoreError, StoreLocation};

use crate::project::git_in;
use crate::world::ids;
use crate::{files, records};

/// What one writer process does.
#[derive(Clone, Debug)]
pub struct StormWriter {
    /// Where.
    pub project: PathBuf,
    /// The file each acknowledgement is appended to.
    pub acks: PathBuf,
    /// What it calls itself.
    pub who: String,
    /// How many writes.
    pub writes: u64,
    /// Bytes of detail in each entry.
    pub size: usize,
    /// Pause between writes.
    pub think: Duration,
    /// Only posts, or every kind of write.
    pub mixed: bool,
    /// How long to stay after the last write, keeping house.
    pub linger: Duration,
}

/// What a storm is made of.
#[derive(Clone, Debug)]
pub struct Storm {
    /// Writer processes at a time.
    pub writers: usize,
    /// How many writes each.
    pub writes: u64,
    /// Bytes of detail in each entry.
    pub size: usize,
    /// Pause between the writes of one writer.
    pub think: Duration,
    /// Kill one writer this often; zero for never.
    pub kill_every: Duration,
    /// Only posts, or every kind of write.
    pub mixed: bool,
    /// Rounds of git commits, switches, merges and stashes underneath.
    pub git_rounds: u32,
}

/// What came of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StormResult {
    /// Writes that were acknowledged.
    pub acked: usize,
    /// Writers that were killed.
    pub killed: usize,
    /// Acknowledged and nowhere to be found.
    pub lost: Vec<String>,
    /// Board lines that are not JSON.
    pub corrupt: usize,
    /// Conflict markers that git left on the board.
    pub markers: usize,
    /// Ids that occur twice on the blackboard.
    pub doubled: usize,
    /// Git operations that went through.
    pub git_operations: u32,
}

/// The life of one writer process: writes, and notes each acknowledgement.
pub fn write(writer: &StormWriter) -> Result<(), StoreError> {
    let git = writer.project.join(".git");
    let place = StoreLocation {
        project: writer.project.clone(),
        git_dir: git.is_dir().then_some(git),
        ..StoreLocation::default()
    };
    let store = std::sync::Arc::new(Store::open(place, ids())?);
    let housekeeper = Housekeeper::start(std::sync::Arc::clone(&store));
    let mut acks = std::fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(&writer.acks)
        .expect("the acks can be written");
    let mut decided: Vec<Id> = Vec::new();
    for n in 0..writer.writes {
        let acked = if writer.mixed {
            one_of_each(&store, writer, n, &mut decided)?
        } else {
            post(&store, writer, n)?
        };
        acks.write_all(acked.as_bytes()).expect("the acks can be written");
        if !writer.think.is_zero() {
            std::thread::sleep(writer.think);
        }
    }
    std::thread::sleep(writer.linger);
    drop(housekeeper);
    Ok(())
}

fn post(store: &Store, writer: &StormWriter, n: u64) -> Result<String, StoreError> {
    let mut entry = records::entry(store.ids(), &format!("{}-{n}", writer.who));
    entry.detail = "x".repeat(writer.size);
    store.post(std::slice::from_ref(&entry))?;
    Ok(format!("entry {}\n", entry.id))
}

fn one_of_each(
    store: &Store,
    writer: &StormWriter,
    n: u64,
    decided: &mut Vec<Id>,
) -> Result<String, StoreError> {
    let name = format!("{}-{n}", writer.who);
    let ids = store.ids();
    match n % 4 {
        0 => post(store, writer, n),
        1 => {
            let (decision, entry, entity) = (
                records::decision(ids, &name),
                records::entry(ids, &name),
                records::entity(ids, &name),
            );
            let relation = records::relation(ids, &entity.id, &entity.id);
            let acked = format!(
                "decision {}\nentry {}\nentity {}\nrelation {}\n",
                decision.id, entry.id, entity.id, relation.id
            );
            decided.push(decision.id.clone());
            let change = Change {
                entries: vec![entry],
                decisions: vec![decision],
                entities: vec![entity],
                relations: vec![relation],
                ..Change::default()
            };
            store.transact::<_, StoreError>(Durability::Strict, |_| {
                Ok((change.clone(), acked.clone()))
            })
        }
        2 => {
            let entity = records::entity(ids, &name);
            let acked = format!("entity {}\n", entity.id);
            let change = Change { entities: vec![entity], ..Change::default() };
            store.transact::<_, StoreError>(Durability::Normal, |_| {
                Ok((change.clone(), acked.clone()))
            })
        }
        _ => {
            let Some(id) = decided.pop() else { return Ok(String::new()) };
            let set: Map<String, Value> =
                [("status".to_owned(), "overridden".into())].into_iter().collect();
            let acked = format!("overridden {id}\n");
            let change = Change { amendments: vec![Amendment::new(id, set)], ..Change::default() };
            match store.transact::<_, StoreError>(Durability::Strict, |_| {
                Ok((change.clone(), acked.clone()))
            }) {
                // git switched to a branch that does not have it; success was not acknowledged.
                Err(StoreError::NoDecision { .. }) => Ok(String::new()),
                other => other,
            }
        }
    }
}

/// Lets a storm loose on a project, with `program` as the writer.
pub fn rage(program: &Path, project: &Path, storm: &Storm) -> StormResult {
    let acks = project.join("acks");
    std::fs::create_dir_all(&acks).expect("the project is ours");
    let mut born = 0;
    let mut start = |writes: u64| -> Child {
        born += 1;
        Command::new(program)
            .arg("write")
            .arg(project)
            .args([
                "--who",
                &format!("w{born}"),
                "--writes",
                &writes.to_string(),
                "--size",
                &storm.size.to_string(),
            ])
            .args(["--think-us", &storm.think.as_micros().to_string()])
            .args(["--linger-ms", if storm.git_rounds > 0 { "3000" } else { "0" }])
            .args(if storm.mixed { &["--mixed"][..] } else { &[] })
            .stdin(Stdio::null())
            .spawn()
            .expect("the storm program starts")
    };
    let mut aftermath = StormResult::default();
    let mut writers: Vec<Child> = (0..storm.writers).map(|_| start(storm.writes)).collect();
    let git = std::thread::scope(|scope| {
        let git = scope.spawn(|| git_rounds(project, storm.git_rounds));
        let mut turn = 0_usize;
        while !storm.kill_every.is_zero()
            && writers.iter_mut().any(|writer| matches!(writer.try_wait(), Ok(None)))
        {
            std::thread::sleep(storm.kill_every);
            turn += 7;
            let victim = turn % writers.len();
            if matches!(writers[victim].try_wait(), Ok(None)) {
                writers[victim].kill().expect("it is ours to kill");
                writers[victim].wait().expect("it was ours");
                aftermath.killed += 1;
                // Someone takes its place, until enough have fallen.
                if aftermath.killed < storm.writers * 4 {
                    writers[victim] = start(storm.writes / 2);
                }
            }
        }
        for writer in &mut writers {
            let status = writer.wait().expect("it was ours");
            assert!(status.success() || status.code().is_none(), "a writer failed: {status}");
        }
        git.join().expect("git did not panic")
    });
    aftermath.git_operations = git;
    look_around(project, &acks, storm, &mut aftermath);
    aftermath
}

/// Commits, switches, merges and stashes while the writers write.
fn git_rounds(project: &Path, rounds: u32) -> u32 {
    let mut done = 0;
    let mut git = |args: &[&str]| {
        let ok = git_in(project, args).status.success();
        done += u32::from(ok);
        ok
    };
    for round in 0..rounds {
        let message = format!("round {round}");
        git(&["add", "-A", ".twining"]);
        git(&["commit", "-q", "-m", &message]);
        if round % 3 == 0 {
            git(if round % 2 == 0 { &["stash", "-q"] } else { &["stash", "-q", "-u"] });
            std::thread::sleep(Duration::from_millis(5));
            if !git(&["stash", "pop", "-q"]) {
                git(&["checkout", "-q", "--theirs", "--", "."]);
            }
        }
        git(&["checkout", "-q", "-m", "side"]);
        git(&["add", "-A", ".twining"]);
        git(&["commit", "-q", "-m", &message]);
        git(&["checkout", "-q", "-m", "main"]);
        git(&["add", "-A", ".twining"]);
        git(&["commit", "-q", "-m", &message]);
        if !git(&["merge", "-q", "-m", "merge", "side"]) {
            git(&["merge", "--abort"]);
        }
    }
    done
}

fn look_around(project: &Path, acks: &Path, storm: &Storm, aftermath: &mut StormResult) {
    // One more process comes by, which is what puts things right after a kill.
    let git = project.join(".git");
    let place = StoreLocation {
        project: project.to_owned(),
        git_dir: git.is_dir().then_some(git),
        ..StoreLocation::default()
    };
    let store = Store::open(place, ids()).expect("the folder opens after the storm");
    store.post(&[records::entry(store.ids(), "after the storm")]).expect("the board takes it");
    store.housekeep().expect("housekeeping works after the storm");

    let mut acked: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for file in std::fs::read_dir(acks).expect("made above").flatten() {
        for line in std::fs::read_to_string(file.path()).expect("readable").lines() {
            if let Some((kind, id)) = line.split_once(' ')
                && id.len() == 26
            {
                acked.entry(kind.to_owned()).or_default().insert(id.to_owned());
            }
        }
    }
    aftermath.acked = acked.values().map(BTreeSet::len).sum();
    let text = std::fs::read_to_string(project.join(".twining/blackboard.jsonl"))
        .expect("the board is there");
    let mut on_board = Vec::new();
    for line in text.lines().filter(|line| !line.is_empty()) {
        match serde_json::from_str::<Value>(line) {
            Ok(value) => on_board.push(value["id"].as_str().unwrap_or_default().to_owned()),
            // Left by git where two branches differ and no driver is installed.
            Err(_) if is_marker(line) => aftermath.markers += 1,
            Err(_) => aftermath.corrupt += 1,
        }
    }
    let unique: BTreeSet<String> = on_board.iter().cloned().collect();
    aftermath.doubled = on_board.len() - unique.len();
    // With git at work a record may rightly be on another branch or in a stash.
    let elsewhere = if storm.git_rounds > 0 { history(project) } else { String::new() };
    let found = |id: &str, set: &BTreeSet<String>| set.contains(id) || elsewhere.contains(id);
    let array = |path: &str| -> BTreeSet<String> {
        // A branch that never had the file does not have it.
        if !project.join(".twining").join(path).exists() {
            return BTreeSet::new();
        }
        files::array_ids(project, path)
            .unwrap_or_else(|e| panic!("after the storm: {e}"))
            .into_iter()
            .collect()
    };
    let (entities, relations) = (array("graph/entities.json"), array("graph/relations.json"));
    for (kind, ids) in &acked {
        for id in ids {
            let there = match kind.as_str() {
                "entry" => found(id, &unique),
                "entity" => found(id, &entities),
                "relation" => found(id, &relations),
                "decision" => {
                    files::json(project, &format!("decisions/{id}.json")).is_ok()
                        || elsewhere.contains(id)
                }
                _ => overridden_somewhere(project, id, storm.git_rounds > 0),
            };
            if !there {
                aftermath.lost.push(format!("{kind} {id}"));
            }
        }
    }
}

fn is_marker(line: &str) -> bool {
    ["<<<<<<< ", "||||||| ", "=======", ">>>>>>> "].iter().any(|mark| line.starts_with(mark))
}

fn overridden_somewhere(project: &Path, id: &str, with_git: bool) -> bool {
    let path = format!("decisions/{id}.json");
    if files::json(project, &path).is_ok_and(|decision| decision["status"] == "overridden") {
        return true;
    }
    let path = format!(".twining/{path}");
    with_git
        && commits(project).iter().any(|commit| {
            let shown = git_in(project, &["show", &format!("{commit}:{path}")]);
            String::from_utf8_lossy(&shown.stdout).contains("\"overridden\"")
        })
}

fn commits(project: &Path) -> Vec<String> {
    let listed = git_in(project, &["rev-list", "--all", "--reflog"]);
    String::from_utf8_lossy(&listed.stdout).lines().map(str::to_owned).collect()
}

/// Every line that any commit or stash ever added.
fn history(project: &Path) -> String {
    let log =
        git_in(project, &["log", "--all", "--reflog", "-p", "-m", "--no-color", "--", ".twining"]);
    String::from_utf8_lossy(&log.stdout).into_owned()
}
