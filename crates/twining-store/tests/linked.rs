//! Linked folders: they work while the log is away, and nothing is sent twice or lost.

use std::sync::Arc;

use proptest::prelude::*;
use serde_json::json;
use twining_model::{Amendment, Change};
use twining_store::disk::Probe;
use twining_store::{Durability, Log, LogError, LogLine, NewLine, Store, StoreError};
use twining_testcases::each;
use twining_testkit::faults::{EIO, FaultOutcome, Faults};
use twining_testkit::files::shared_state;
use twining_testkit::memory::{decision, entity, entry};
use twining_testkit::{LogConnection, MemoryLog, TestProject, ids};

use crate::following::{Follower, Step, change_of, step};

#[derive(Clone, Debug)]
enum LinkedStep {
    Write(Step),
    GoOffline,
    ComeBack,
    LoseAnswer,
    Deliver,
    Reopen,
}

fn linked_step() -> impl Strategy<Value = LinkedStep> {
    prop_oneof![
        8 => step().prop_map(LinkedStep::Write),
        1 => Just(LinkedStep::GoOffline),
        2 => Just(LinkedStep::ComeBack),
        1 => Just(LinkedStep::LoseAnswer),
        2 => Just(LinkedStep::Deliver),
        1 => Just(LinkedStep::Reopen),
    ]
}

struct LinkedClone {
    project: TestProject,
    store: Store,
    connection: Arc<LogConnection>,
    log: Arc<MemoryLog>,
}

impl LinkedClone {
    fn new(log: &Arc<MemoryLog>) -> Self {
        let project = TestProject::in_memory();
        let connection = Arc::new(LogConnection::new(Arc::clone(log) as _));
        let store = opened(&project, &connection);
        store.outbox().create().expect("links");
        Self { project, store, connection, log: Arc::clone(log) }
    }

    fn reopen(&mut self) {
        self.store = opened(&self.project, &self.connection);
    }

    /// The lines whose records the folder has.
    fn known(&self) -> Vec<LogLine> {
        let position = self.store.follower().position().expect("knows");
        let mut lines = self.log.all();
        lines.truncate(usize::try_from(position).expect("fits"));
        let outbox = self.store.outbox().lines().expect("reads");
        lines.extend(outbox.into_iter().enumerate().map(|(at, line)| LogLine {
            seq: position + at as u64 + 1,
            key: line.key,
            change: line.change,
        }));
        lines
    }

    fn take(&mut self, step: &LinkedStep) {
        match step {
            LinkedStep::GoOffline => self.connection.set_cut(true),
            LinkedStep::ComeBack => self.connection.set_cut(false),
            LinkedStep::LoseAnswer => self.connection.lose_answers(1),
            LinkedStep::Reopen => self.reopen(),
            LinkedStep::Deliver => self.deliver(),
            LinkedStep::Write(step) => {
                let change = change_of(step, &self.store, &self.known());
                let written = match step {
                    Step::Post | Step::Trace | Step::Turn(..) | Step::Register(_) => {
                        self.store.write(Durability::Normal, &change)
                    }
                    _ => self.store.transact::<_, StoreError>(Durability::Normal, |_| {
                        Ok((change.clone(), ()))
                    }),
                };
                written.expect("the folder takes it whether or not the log answers");
            }
        }
    }

    fn deliver(&self) {
        let delivered = self.store.outbox().deliver(&*self.connection);
        assert!(matches!(delivered, Ok(_) | Err(StoreError::Log(_))), "{delivered:?}");
    }

    fn settle(&self) {
        self.connection.set_cut(false);
        self.connection.lose_answers(0);
        self.store.outbox().deliver(&*self.connection).expect("delivers");
        self.store.follower().catch_up().expect("follows");
    }
}

fn opened(project: &TestProject, connection: &Arc<LogConnection>) -> Store {
    let store = Store::open(project.place(), ids()).expect("opens");
    store.use_linked_log(Arc::clone(connection) as _);
    store
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if std::env::var_os("CI").is_some() { 24 } else { 48 }))]

    #[test]
    fn three_linked_folders_end_as_one_that_is_made_from_the_log(
        steps in proptest::collection::vec((0..3_usize, linked_step()), 1..60),
    ) {
        let log = Arc::new(MemoryLog::default());
        let mut clones = [LinkedClone::new(&log), LinkedClone::new(&log), LinkedClone::new(&log)];
        for (who, step) in &steps {
            clones[*who].take(step);
        }
        clones.iter().for_each(LinkedClone::settle);
        clones.iter().for_each(LinkedClone::settle);
        let made = Follower::new(&log).state();
        for clone in &clones {
            prop_assert_eq!(&shared_state(&clone.project.path()), &made);
            prop_assert_eq!(clone.store.outbox().state().expect("reads").waiting, 0);
        }
    }
}

#[test]
fn what_is_written_while_the_log_is_away_arrives_once() {
    let log = Arc::new(MemoryLog::default());
    let clone = LinkedClone::new(&log);
    clone.connection.set_cut(true);
    let posted = entry(&clone.store, "offline");
    clone.store.post(std::slice::from_ref(&posted)).expect("posts");
    let state = clone.store.outbox().state().expect("reads");
    assert_eq!((state.is_linked, state.waiting), (true, 1));
    assert!(state.since.is_some());
    clone.connection.set_cut(false);
    clone.connection.lose_answers(2);
    for _ in 0..4 {
        clone.deliver();
    }
    let sent: Vec<String> =
        log.all().iter().flat_map(|line| &line.change.entries).map(|e| e.id.clone()).collect();
    assert_eq!(sent, [posted.id]);
    assert_eq!(clone.store.outbox().state().expect("reads").waiting, 0);
    let board = std::fs::read_to_string(clone.project.file("blackboard.jsonl")).expect("reads");
    assert_eq!(board.lines().count(), 1);
}

#[test]
fn a_planned_write_whose_answer_is_lost_is_in_the_folder_and_in_the_log_once() {
    let log = Arc::new(MemoryLog::default());
    let clone = LinkedClone::new(&log);
    clone.connection.lose_answers(1);
    let decided = decision(&clone.store, "unanswered");
    let change = Change {
        decisions: vec![decided.clone()],
        ..Change::of_entries(vec![entry(&clone.store, "unanswered")])
    };
    clone
        .store
        .transact::<_, StoreError>(Durability::Normal, |_| Ok((change.clone(), ())))
        .expect("writes");
    clone.settle();
    assert_eq!(log.all().len(), 1);
    assert_eq!(shared_state(&clone.project.path()), Follower::new(&log).state());
}

#[test]
fn a_writer_that_ends_anywhere_offline_sends_exactly_what_the_folder_has() {
    for outcome in [FaultOutcome::Fails(EIO), FaultOutcome::Dies, FaultOutcome::DiesHalfWay] {
        for at in 0.. {
            let log = Arc::new(MemoryLog::default());
            let clone = LinkedClone::new(&log);
            let faults = Arc::new(Faults::at(at, outcome));
            let probe: Arc<dyn Probe> = faults.clone();
            if let Ok(store) = Store::open_probed(clone.project.place(), ids(), Some(probe)) {
                drop(store.post(&[entry(&store, "posted")]));
                let change = Change {
                    decisions: vec![decision(&store, "decided")],
                    entities: vec![entity(&store, "e")],
                    ..Change::of_entries(vec![entry(&store, "decided")])
                };
                drop(store.write(Durability::Normal, &change));
            }
            let clone = LinkedClone { store: opened(&clone.project, &clone.connection), ..clone };
            // The next writer completes what the last one began.
            clone.store.post(&[entry(&clone.store, "after")]).expect("posts");
            clone.settle();
            let made = Follower::new(&log).state();
            assert_eq!(shared_state(&clone.project.path()), made, "{outcome:?} at call {at}");
            if faults.calls() <= at {
                break;
            }
        }
    }
}

#[test]
fn an_outbox_of_another_folder_is_never_sent() {
    let log = Arc::new(MemoryLog::default());
    let clone = LinkedClone::new(&log);
    clone.connection.set_cut(true);
    clone.store.post(&[entry(&clone.store, "mine")]).expect("posts");
    let copy = TestProject::in_memory();
    let store = opened(&copy, &Arc::new(LogConnection::new(Arc::clone(&log) as _)));
    store.post(&[entry(&store, "there")]).expect("makes the folder");
    std::fs::copy(clone.project.file("local/outbox.jsonl"), copy.file("local/outbox.jsonl"))
        .expect("copies");
    // And a journal whose line says that it goes to the log.
    std::fs::copy(clone.project.file("local/journal.jsonl"), copy.file("local/journal.jsonl"))
        .expect("copies");
    let store = opened(&copy, &Arc::new(LogConnection::new(Arc::clone(&log) as _)));
    store.post(&[entry(&store, "again")]).expect("posts");
    let state = store.outbox().state().expect("reads");
    assert_eq!((state.is_linked, state.waiting, state.has_foreign), (false, 0, true));
    store.outbox().deliver(&*log).expect("has nothing to send");
    assert!(log.all().is_empty());
    store.outbox().create().expect("links");
    store.outbox().deliver(&*log).expect("has nothing to send");
    assert!(log.all().is_empty(), "{:?}", log.all());
}

#[test]
fn the_folder_takes_over_what_the_log_made_of_its_lines() {
    let log = Arc::new(MemoryLog::default());
    let clone = LinkedClone::new(&log);
    clone.connection.set_cut(true);
    let (decided, posted) = (decision(&clone.store, "mine"), entry(&clone.store, "mine"));
    let change =
        Change { decisions: vec![decided.clone()], ..Change::of_entries(vec![posted.clone()]) };
    clone
        .store
        .transact::<_, StoreError>(Durability::Normal, |_| Ok((change.clone(), ())))
        .expect("writes");
    let key = clone.store.outbox().lines().expect("reads")[0].key.clone();
    let mut admitted = change.clone();
    admitted.decisions[0].status = twining_model::DecisionStatus::Provisional;
    let warning = entry(&clone.store, "warning");
    admitted.entries.push(warning.clone());
    log.admit(&[NewLine { key, change: admitted }]).expect("appends");
    clone.settle();
    assert_eq!(log.all().len(), 1, "the key was known");
    assert_eq!(shared_state(&clone.project.path()), Follower::new(&log).state());
    let file = clone.project.file(&format!("decisions/{}.json", decided.id));
    assert!(std::fs::read_to_string(file).expect("reads").contains("provisional"));
}

#[test]
fn an_amendment_says_what_the_fields_were() {
    let log = Arc::new(MemoryLog::default());
    let clone = LinkedClone::new(&log);
    clone.connection.set_cut(true);
    let decided = decision(&clone.store, "before");
    let set = [("summary".to_owned(), json!("after")), ("note".to_owned(), json!(1))];
    for change in [
        Change { decisions: vec![decided.clone()], ..Change::default() },
        Change {
            amendments: vec![Amendment::new(decided.id.clone(), set.into_iter().collect())],
            ..Change::default()
        },
    ] {
        clone.store.write(Durability::Normal, &change).expect("writes");
    }
    let lines = clone.store.outbox().lines().expect("reads");
    let was = &lines[1].change.amendments[0].was;
    assert_eq!(serde_json::to_value(was).expect("JSON"), json!({"summary": "before"}));
}

struct RefusingLog(MemoryLog);

impl Log for RefusingLog {
    fn append(
        &self,
        base: twining_store::LogBase,
        lines: &[NewLine],
    ) -> Result<Vec<u64>, LogError> {
        if lines.iter().flat_map(|line| &line.change.entries).any(|e| e.summary == "bad") {
            return Err(LogError::Refused("it is bad".to_owned()));
        }
        self.0.append(base, lines)
    }

    fn since(&self, after: u64, limit: usize) -> Result<Vec<LogLine>, LogError> {
        self.0.since(after, limit)
    }
}

#[test]
fn a_line_that_the_log_refuses_is_set_aside_and_holds_up_no_other() {
    let clone = LinkedClone::new(&Arc::new(MemoryLog::default()));
    for summary in ["one", "bad", "two"] {
        clone.store.post(&[entry(&clone.store, summary)]).expect("posts");
    }
    let log = RefusingLog(MemoryLog::default());
    let delivery = clone.store.outbox().deliver(&log).expect("delivers");
    assert_eq!((delivery.sent, delivery.refused), (2, 1));
    let refused = clone.store.outbox().refused().expect("reads");
    assert_eq!(refused[0].reason, "it is bad");
    assert_eq!(clone.store.outbox().state().expect("reads").waiting, 0);
}

struct NewerLog;

impl Log for NewerLog {
    fn append(&self, _: twining_store::LogBase, _: &[NewLine]) -> Result<Vec<u64>, LogError> {
        Ok(Vec::new())
    }

    fn since(&self, _: u64, _: usize) -> Result<Vec<LogLine>, LogError> {
        Err(LogError::TooNew { found: 999, known: twining_store::LOG_VERSION })
    }
}

#[test]
fn lines_of_a_newer_version_stop_the_following_aloud_and_reads_go_on() {
    let project = TestProject::in_memory();
    let store = Store::open(project.place(), ids()).expect("opens");
    store.use_linked_log(Arc::new(NewerLog));
    store.post(&[entry(&store, "before")]).expect("posts");
    store.outbox().create().expect("links");
    let code = |error: StoreError| error.code();
    assert_eq!(store.follower().catch_up().map_err(code), Err("FORMAT_TOO_NEW"));
    assert_eq!(store.post(&[entry(&store, "after")]).map_err(code), Err("FORMAT_TOO_NEW"));
    let entries = store.view::<_, StoreError>(|view| Ok(view.counts()?.entries)).expect("reads");
    assert_eq!(entries, 1);
}

#[test]
fn hostile_lines_leave_the_folder_as_it_was() {
    let clone = LinkedClone::new(&Arc::new(MemoryLog::default()));
    clone.store.post(&[entry(&clone.store, "mine")]).expect("posts");
    let before = shared_state(&clone.project.path());
    let line = |seq: u64, summary: &str| LogLine {
        seq,
        key: ids().next(),
        change: Change::of_entries(vec![entry(&clone.store, summary)]),
    };
    let cases = [
        vec![line(2, "gap")],
        vec![line(1, "a"), line(1, "twice")],
        vec![line(1, "a"), line(3, "gap")],
        vec![line(2, "back"), line(1, "back")],
        vec![line(1, "a"), line(2, &"x".repeat(2 * twining_model::limits::RECORD_BYTES))],
    ];
    each(cases, |lines| {
        assert!(clone.store.follower().take_in(&lines).is_err());
        assert_eq!(shared_state(&clone.project.path()), before);
        assert_eq!(clone.store.follower().position().expect("knows"), 0);
    });
    let broken =
        Change { agents: [("a".to_owned(), "}] garbage".to_owned())].into(), ..Change::default() };
    let broken = LogLine { seq: 1, key: ids().next(), change: broken };
    assert!(clone.store.follower().take_in(&[broken]).is_err());
    assert_eq!(shared_state(&clone.project.path()), before);
    let path = json!({"decisions": [{"id": "../../../etc/passwd"}]});
    assert!(serde_json::from_value::<Change>(path).is_err(), "an id is never a path");
}

#[test]
fn a_folder_with_records_of_its_own_joins_a_log_without_doubles() {
    let log = Arc::new(MemoryLog::default());
    let first = LinkedClone::new(&log);
    for step in [Step::Decide, Step::Post, Step::Trace, Step::Anchor(1), Step::Entity(1)] {
        let change = change_of(&step, &first.store, &first.known());
        first.store.write(Durability::Normal, &change).expect("writes");
    }
    first.settle();
    // The same records came to this folder by git.
    let second = TestProject::in_memory();
    let store = opened(&second, &Arc::new(LogConnection::new(Arc::clone(&log) as _)));
    for line in log.all() {
        store.write(Durability::Normal, &line.change).expect("writes");
    }
    store.follower().restart().expect("starts anew");
    store.follower().take_in_beside_own(&log.all()).expect("follows");
    assert_eq!(shared_state(&second.path()), Follower::new(&log).state());
}
