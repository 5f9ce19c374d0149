//! Several stores follow one log: whichever writes, all end in the state built from it.

use std::collections::BTreeMap;
use std::sync::Arc;
use twining_testcases::each;

use proptest::prelude::*;
use serde_json::{Map, json};
use twining_model::{
    Amendment, AnchoredRecord, Change, HandoffFile, Id, Relation, Trace, TurnFile,
};
use twining_store::disk::Probe;
use twining_store::{Durability, LogLine, Store, StoreError};
use twining_testkit::faults::{EIO, FaultOutcome, Faults};
use twining_testkit::files::shared_state;
use twining_testkit::memory::{anchor, decision, entity, entry};
use twining_testkit::{LogConnection, MemoryLog, TestProject, ids, records};

#[derive(Clone, Debug)]
pub(crate) enum Step {
    Post,
    Decide,
    Amend(usize),
    Entity(usize),
    Remove(usize),
    Relate(usize, usize),
    Archive(usize),
    Register(usize),
    HandOver,
    Turn(usize, bool),
    Trace,
    Anchor(usize),
    Follow,
    Reopen,
    LoseAnswer,
}

pub(crate) fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => Just(Step::Post),
        3 => Just(Step::Decide),
        2 => (0..4_usize).prop_map(Step::Amend),
        3 => (0..6_usize).prop_map(Step::Entity),
        1 => (0..6_usize).prop_map(Step::Remove),
        2 => (0..6_usize, 0..6_usize).prop_map(|(from, to)| Step::Relate(from, to)),
        1 => (0..4_usize).prop_map(Step::Archive),
        1 => (0..3_usize).prop_map(Step::Register),
        1 => Just(Step::HandOver),
        2 => (0..3_usize, any::<bool>()).prop_map(|(turn, is_long_lived)| Step::Turn(turn, is_long_lived)),
        1 => Just(Step::Trace),
        2 => (0..3_usize).prop_map(Step::Anchor),
        2 => Just(Step::Follow),
        1 => Just(Step::Reopen),
        1 => Just(Step::LoseAnswer),
    ]
}

pub(crate) struct Follower {
    pub(crate) project: TestProject,
    pub(crate) store: Store,
    log: Arc<MemoryLog>,
}

impl Follower {
    pub(crate) fn new(log: &Arc<MemoryLog>) -> Self {
        let project = TestProject::in_memory();
        let store = opened(&project, log);
        Self { project, store, log: Arc::clone(log) }
    }

    fn reopen(&mut self) {
        self.store = opened(&self.project, &self.log);
    }

    fn write(&self, change: &Change) {
        let written =
            self.store.transact::<_, StoreError>(Durability::Normal, |_| Ok((change.clone(), ())));
        assert!(matches!(written, Ok(()) | Err(StoreError::Log(_))), "{written:?}");
    }

    /// Everything that is tracked and shared, by path; arrays by element.
    pub(crate) fn state(&self) -> BTreeMap<String, String> {
        self.store.follower().catch_up().expect("follows");
        shared_state(&self.project.path())
    }
}

fn opened(project: &TestProject, log: &Arc<MemoryLog>) -> Store {
    let store = Store::open(project.place(), ids()).expect("opens");
    store.use_log(Arc::clone(log) as _);
    store
}

fn related(store: &Store, from: usize, to: usize) -> Relation {
    let relation =
        records::relation(store.ids(), &format!("entity-{from}"), &format!("entity-{to}"));
    Relation { id: format!("relation-{from}-{to}"), ..relation }
}

/// What a step writes, made from what the log says so far.
pub(crate) fn change_of(step: &Step, store: &Store, lines: &[LogLine]) -> Change {
    let decisions: Vec<Id> = lines
        .iter()
        .flat_map(|line| &line.change.decisions)
        .map(|decision| decision.id.clone())
        .collect();
    let entries: Vec<String> =
        lines.iter().flat_map(|line| &line.change.entries).map(|entry| entry.id.clone()).collect();
    let named = |at: usize| twining_model::Entity {
        id: format!("entity-{at}"),
        ..entity(store, &format!("e{at}"))
    };
    match step {
        Step::Post => Change::of_entries(vec![entry(store, "posted")]),
        Step::Decide => {
            let decision = decision(store, "decided");
            let of = AnchoredRecord::Decision(decision.id.to_string());
            Change {
                decisions: vec![decision],
                anchors: vec![anchor(store, &of, "src/a.rs#f")],
                ..Change::of_entries(vec![entry(store, "decided")])
            }
        }
        Step::Anchor(at) => {
            let of = AnchoredRecord::Node("n".to_owned());
            let anchor = anchor(store, &of, &format!("src/{at}.rs"));
            Change { anchors: vec![anchor], ..Change::default() }
        }
        Step::Amend(at) => match decisions.get(at % decisions.len().max(1)) {
            Some(id) => {
                let set = Map::from_iter([(
                    "summary".to_owned(),
                    json!(format!("amended at {}", lines.len())),
                )]);
                Change { amendments: vec![Amendment::new(id.clone(), set)], ..Change::default() }
            }
            None => Change::default(),
        },
        Step::Entity(at) => {
            let mut entity = named(*at);
            entity.properties.insert("n".to_owned(), "x".repeat(lines.len()));
            Change { entities: vec![entity], ..Change::default() }
        }
        Step::Remove(at) => {
            Change { removed_entities: vec![format!("entity-{at}")], ..Change::default() }
        }
        Step::Relate(from, to) => {
            Change { relations: vec![related(store, *from, *to)], ..Change::default() }
        }
        Step::Archive(at) => match entries.get(at % entries.len().max(1)) {
            Some(id) => Change {
                archived: vec![id.clone()],
                ..Change::of_entries(vec![entry(store, "archived")])
            },
            None => Change::default(),
        },
        Step::Register(at) => {
            let name = format!("agent-{at}");
            let element = json!({"agent_id": name, "n": lines.len()}).to_string();
            Change { agents: [(name, element)].into(), ..Change::default() }
        }
        Step::HandOver => {
            let id = store.ids().next();
            let line = json!({"id": id}).to_string();
            Change {
                handoffs: vec![HandoffFile { text: format!("{line}\n"), line, id }],
                ..Change::of_entries(vec![entry(store, "handed over")])
            }
        }
        Step::Turn(number, is_long_lived) => {
            let text = is_long_lived.then(|| format!("turn {}\n", lines.len()));
            let turn = TurnFile {
                feature: "F".to_owned(),
                task: "T".to_owned(),
                number: u32::try_from(*number).unwrap_or(0) + 1,
                text,
            };
            Change { turns: vec![turn], ..Change::default() }
        }
        Step::Trace => Change {
            traces: vec![Trace {
                id: store.ids().next().to_string(),
                kind: "correction".to_owned(),
                ..Trace::default()
            }],
            ..Change::default()
        },
        Step::Follow | Step::Reopen | Step::LoseAnswer => Change::default(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if std::env::var_os("CI").is_some() { 24 } else { 48 }))]

    #[test]
    fn three_stores_end_as_one_that_is_made_from_the_log(steps in proptest::collection::vec((0..3_usize, step()), 1..40)) {
        let log = Arc::new(MemoryLog::default());
        let mut followers = [Follower::new(&log), Follower::new(&log), Follower::new(&log)];
        for (who, step) in &steps {
            let follower = &mut followers[*who];
            match step {
                Step::Follow => follower.store.follower().catch_up().expect("follows"),
                Step::Reopen => follower.reopen(),
                Step::LoseAnswer => log.lose_answers(1),
                step => {
                    let change = change_of(step, &follower.store, &log.all());
                    follower.write(&change);
                }
            }
        }
        let made = Follower::new(&log).state();
        for follower in &followers {
            prop_assert_eq!(&follower.state(), &made);
            prop_assert_eq!(follower.store.follower().position().expect("knows"), log.all().len() as u64);
        }
    }
}

#[test]
fn a_process_that_ends_anywhere_while_it_follows_loses_and_doubles_nothing() {
    let log = Arc::new(MemoryLog::default());
    let writer = Follower::new(&log);
    for step in [
        Step::Decide,
        Step::Entity(1),
        Step::Post,
        Step::HandOver,
        Step::Trace,
        Step::Anchor(1),
        Step::Turn(1, true),
        Step::Amend(0),
    ] {
        writer.write(&change_of(&step, &writer.store, &log.all()));
    }
    let made = Follower::new(&log).state();
    for outcome in [FaultOutcome::Fails(EIO), FaultOutcome::Dies, FaultOutcome::DiesHalfWay] {
        for at in 0.. {
            let project = TestProject::in_memory();
            let faults = Arc::new(Faults::at(at, outcome));
            let probe: Arc<dyn Probe> = faults.clone();
            let followed = Store::open_probed(project.place(), ids(), Some(probe))
                .and_then(|store| store.follower().take_in(&log.all()));
            drop(followed);
            let follower =
                Follower { store: opened(&project, &log), project, log: Arc::clone(&log) };
            let state = follower.state();
            let differing: Vec<_> = state
                .keys()
                .chain(made.keys())
                .filter(|path| state.get(*path) != made.get(*path))
                .collect();
            assert!(differing.is_empty(), "{outcome:?} at call {at}: {differing:?}");
            if faults.calls() <= at {
                break;
            }
        }
    }
}

#[test]
fn handoffs_are_listed_in_the_order_of_the_log_whatever_their_ids() {
    let log = Arc::new(MemoryLog::default());
    let writer = Follower::new(&log);
    let made = [writer.store.ids().next(), writer.store.ids().next()];
    for id in made.into_iter().rev() {
        let line = json!({"id": id}).to_string();
        writer.write(&Change {
            handoffs: vec![HandoffFile { text: format!("{line}\n"), line, id }],
            ..Change::default()
        });
    }
    assert_eq!(Follower::new(&log).state(), writer.state());
}

#[test]
fn two_who_plan_on_one_view_are_asked_one_after_the_other() {
    let log = Arc::new(MemoryLog::default());
    let followers = [Follower::new(&log), Follower::new(&log)];
    followers.iter().for_each(|follower| follower.store.follower().catch_up().expect("follows"));
    let mut asked = 0;
    followers[0]
        .store
        .transact::<_, StoreError>(Durability::Normal, |view| {
            asked += 1;
            if asked == 1 {
                // Another is quicker.
                followers[1].write(&Change {
                    entities: vec![entity(&followers[1].store, "e")],
                    ..Change::default()
                });
            }
            let known = view.counts()?.entities;
            Ok((
                Change {
                    entities: vec![entity(&followers[0].store, &format!("saw {known}"))],
                    ..Change::default()
                },
                (),
            ))
        })
        .expect("writes");
    assert_eq!(asked, 2, "the plan is made anew on what the other wrote");
    let names: Vec<String> = log
        .all()
        .iter()
        .flat_map(|line| &line.change.entities)
        .map(|entity| entity.name.clone())
        .collect();
    assert_eq!(names, ["e", "saw 1"]);
}

#[test]
fn a_line_of_the_log_writes_nowhere_else() {
    let log = Arc::new(MemoryLog::default());
    let follower = Follower::new(&log);
    let turn = |feature: &str| TurnFile {
        feature: feature.to_owned(),
        task: "T".to_owned(),
        number: 1,
        text: Some("x".to_owned()),
    };
    each(["..", "a/b", "", "."], |feature| {
        let line = LogLine {
            seq: 1,
            key: ids().next(),
            change: Change { turns: vec![turn(feature)], ..Change::default() },
        };
        assert!(
            follower.store.follower().take_in(std::slice::from_ref(&line)).is_err(),
            "{feature:?}"
        );
    });
    let documents = Change::of_document(".twining/policy.yml", Some("guards: []\n".to_owned()));
    let line = LogLine {
        seq: 1,
        key: ids().next(),
        change: Change { claims: Some("{}".to_owned()), ..documents },
    };
    follower
        .store
        .follower()
        .take_in(&[line])
        .expect("what is no business of the log is passed over");
    assert!(
        !follower.project.file("policy.yml").exists()
            && !follower.project.file("local/claims.json").exists()
    );
    let gap = LogLine {
        seq: 9,
        key: ids().next(),
        change: Change::of_entries(vec![entry(&follower.store, "late")]),
    };
    assert!(follower.store.follower().take_in(&[gap]).is_err(), "lines are missing");
}

#[test]
fn a_post_is_in_the_log_first_and_in_the_next_view() {
    let log = Arc::<MemoryLog>::default();
    let connection = Arc::new(LogConnection::new(Arc::clone(&log) as _));
    let project = TestProject::in_memory();
    let store = Store::open(project.place(), ids()).expect("opens");
    store.use_log(Arc::clone(&connection) as _);
    let seen = || store.view(|view| view.counts()).expect("reads").entries;
    for number in 1..=3 {
        store.post(&[entry(&store, "posted")]).expect("posts");
        assert_eq!(log.all().len(), number);
        assert_eq!(seen(), number as u64);
    }
    store.post(&[entry(&store, "one more")]).expect("posts");
    connection.set_cut(true);
    assert_eq!(seen(), 3, "without the log the folder answers as it is");
    store.post(&[entry(&store, "lost")]).expect_err("there is no log to take it");
    connection.set_cut(false);
    assert_eq!(seen(), 4);
}
