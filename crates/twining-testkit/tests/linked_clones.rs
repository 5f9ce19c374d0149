//! Linked clones with their engines, and a node that admits what they planned on an old view.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use proptest::prelude::*;
use twining_engine::{
    AddEntityInput, AddRelationInput, Caller, DecideInput, Engine, OverrideInput, PostInput,
    PromoteInput, RemoteAuthor,
};
use twining_model::{Authority, Channel, Decision, DecisionStatus, Entry, Id, Origin, Trust};
use twining_store::{DecisionFilter, Log, LogBase, LogError, LogLine, NewLine, Store, StoreError};
use twining_testkit::files::shared_state;
use twining_testkit::memory::entry;
use twining_testkit::{LogConnection, MemoryLog, TestProject, ids};

/// A node: an engine on a folder that follows the log, and admits lines.
struct Node {
    log: Arc<MemoryLog>,
    engine: Mutex<Engine>,
    author: RemoteAuthor,
    _project: TestProject,
}

impl Node {
    fn new(author: RemoteAuthor) -> Arc<Self> {
        let (project, log) = (TestProject::in_memory(), Arc::new(MemoryLog::default()));
        let store = Store::open(project.place(), ids()).expect("opens");
        store.use_log(Arc::clone(&log) as _);
        Arc::new(Self { log, engine: Mutex::new(Engine::new(store)), author, _project: project })
    }

    fn for_maintainers() -> Arc<Self> {
        Self::new(RemoteAuthor { is_person: false, may_settle: true })
    }
}

fn log_error(error: StoreError) -> LogError {
    match error {
        StoreError::Log(error) => error,
        error => LogError::Refused(error.to_string()),
    }
}

impl Log for Node {
    fn append(&self, base: LogBase, lines: &[NewLine]) -> Result<Vec<u64>, LogError> {
        let engine = self.engine.lock().unwrap_or_else(PoisonError::into_inner);
        engine.append_remote(base, lines, &self.author).map_err(log_error)
    }

    fn since(&self, after: u64, limit: usize) -> Result<Vec<LogLine>, LogError> {
        self.log.since(after, limit)
    }

    fn admit(&self, lines: &[NewLine]) -> Result<Vec<u64>, LogError> {
        let engine = self.engine.lock().unwrap_or_else(PoisonError::into_inner);
        engine.admit(lines, &self.author).map_err(log_error)
    }
}

struct LinkedEngine {
    project: TestProject,
    engine: Engine,
    connection: Arc<LogConnection>,
    /// Pairs of rivals that a promotion was answered to leave in force side by side.
    contested: Vec<(Id, Id)>,
}

impl LinkedEngine {
    fn new(node: &Arc<Node>) -> Self {
        let project = TestProject::in_memory();
        let connection = Arc::new(LogConnection::new(Arc::clone(node) as _));
        let engine = opened(&project, &connection);
        engine.store().outbox().create().expect("links");
        Self { project, engine, connection, contested: Vec::new() }
    }

    fn settle(&self) {
        self.connection.set_cut(false);
        self.connection.lose_answers(0);
        self.engine.store().outbox().deliver(&*self.connection).expect("delivers");
        self.engine.store().follower().catch_up().expect("follows");
    }

    fn decide(&self, scope: &str, summary: &str) -> Id {
        let input = DecideInput {
            summary: summary.to_owned(),
            domain: "architecture".to_owned(),
            scope: scope.to_owned(),
            context: "context".to_owned(),
            rationale: format!("because of {summary}"),
            affected_files: vec![format!("{scope}a.rs")],
            ..DecideInput::default()
        };
        self.engine.decide(&caller(), &input).expect("decides").id
    }

    fn decisions(&self) -> Vec<Decision> {
        let filter = DecisionFilter::default();
        self.engine
            .store()
            .view::<_, StoreError>(|view| Ok(view.decisions().page(&filter, 1000)?.items))
            .expect("reads")
    }

    fn decision(&self, id: &Id) -> Decision {
        self.decisions().into_iter().find(|decision| decision.id == *id).expect("is there")
    }

    fn take(&mut self, step: &Step) {
        match step {
            Step::Post => {
                let input = PostInput {
                    entry_type: "finding".to_owned(),
                    summary: format!("found {}", ids().next()),
                    ..PostInput::default()
                };
                self.engine.post(&caller(), &input).expect("posts");
            }
            Step::Decide(scope, word) => {
                self.decide(["src/", "src/a/", "docs/"][*scope], &format!("use {word}"));
            }
            Step::Override(at) => {
                let open: Vec<Decision> =
                    self.decisions().into_iter().filter(|one| one.status.binds()).collect();
                let Some(chosen) = open.get(at % open.len().max(1)) else { return };
                let input = OverrideInput {
                    decision_id: chosen.id.to_string(),
                    reason: "no".to_owned(),
                    ..OverrideInput::default()
                };
                self.engine
                    .override_decision(&caller(), Authority::Claimed, &input)
                    .expect("overrides");
            }
            Step::Promote(at) => {
                let open: Vec<Decision> = self
                    .decisions()
                    .into_iter()
                    .filter(|one| one.status == DecisionStatus::Provisional)
                    .collect();
                let Some(chosen) = open.get(at % open.len().max(1)) else { return };
                let input = PromoteInput {
                    decision_ids: vec![chosen.id.to_string()],
                    ..PromoteInput::default()
                };
                let promoted = self.engine.promote(&caller(), Authority::Claimed, &input);
                let contested = promoted.map(|outcome| outcome.contested).unwrap_or_default();
                // What is promoted offline is looked at again by the log.
                for rivals in contested.iter().filter(|_| !self.connection.is_cut()) {
                    let pairs = rivals.rivals.iter().map(|rival| sorted(&rivals.id, rival));
                    self.contested.extend(pairs);
                }
            }
            Step::Relate(from, to) => {
                let name = |at: &usize| format!("module-{at}");
                for at in [from, to] {
                    let input = AddEntityInput {
                        name: name(at),
                        kind: "module".to_owned(),
                        properties: BTreeMap::new(),
                        agent_id: None,
                    };
                    self.engine.add_entity(&caller(), &input).expect("adds");
                }
                let input = AddRelationInput {
                    source: name(from),
                    target: name(to),
                    kind: "calls".to_owned(),
                    properties: BTreeMap::new(),
                    agent_id: None,
                };
                // A name may be ambiguous for a moment.
                drop(self.engine.add_relation(&caller(), &input));
            }
            Step::GoOffline => self.connection.set_cut(true),
            Step::ComeBack => self.connection.set_cut(false),
            Step::LoseAnswer => self.connection.lose_answers(1),
            Step::Deliver => drop(self.engine.store().outbox().deliver(&*self.connection)),
            Step::Kill => self.engine = opened(&self.project, &self.connection),
        }
    }
}

fn opened(project: &TestProject, connection: &Arc<LogConnection>) -> Engine {
    let store = Store::open(project.place(), ids()).expect("opens");
    store.use_linked_log(Arc::clone(connection) as _);
    Engine::new(store)
}

fn caller() -> Caller {
    let origin = Origin::new(Channel::Mcp, Trust::Agent);
    Caller { agent: "ada".to_owned(), origin }
}

fn made_from(log: &Arc<MemoryLog>) -> BTreeMap<String, String> {
    let project = TestProject::in_memory();
    let store = Store::open(project.place(), ids()).expect("opens");
    store.use_log(Arc::clone(log) as _);
    store.follower().catch_up().expect("follows");
    shared_state(&project.path())
}

#[derive(Clone, Debug)]
enum Step {
    Post,
    Decide(usize, u8),
    Override(usize),
    Promote(usize),
    Relate(usize, usize),
    GoOffline,
    ComeBack,
    LoseAnswer,
    Deliver,
    Kill,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => Just(Step::Post),
        5 => (0..3_usize, any::<u8>()).prop_map(|(scope, word)| Step::Decide(scope, word)),
        2 => (0..9_usize).prop_map(Step::Override),
        1 => (0..9_usize).prop_map(Step::Promote),
        2 => (0..3_usize, 0..3_usize).prop_map(|(from, to)| Step::Relate(from, to)),
        2 => Just(Step::GoOffline),
        2 => Just(Step::ComeBack),
        1 => Just(Step::LoseAnswer),
        1 => Just(Step::Deliver),
        1 => Just(Step::Kill),
    ]
}

fn sorted(left: &Id, right: &Id) -> (Id, Id) {
    (left.min(right).clone(), left.max(right).clone())
}

/// Pairs of active decisions that contradict each other.
fn active_rivals(clone: &LinkedEngine) -> Vec<(Id, Id)> {
    let active: Vec<Decision> =
        clone.decisions().into_iter().filter(|one| one.status == DecisionStatus::Active).collect();
    let overlap =
        |a: &Decision, b: &Decision| a.scope.starts_with(&b.scope) || b.scope.starts_with(&a.scope);
    let pairs = active.iter().flat_map(|a| active.iter().map(move |b| (a, b)));
    pairs
        .filter(|(a, b)| a.id < b.id && overlap(a, b) && a.summary != b.summary)
        .map(|(a, b)| (a.id.clone(), b.id.clone()))
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if std::env::var_os("CI").is_some() { 16 } else { 32 }))]

    #[test]
    fn three_clones_end_alike_and_of_rivals_never_two_are_active(
        steps in proptest::collection::vec((0..3_usize, step()), 1..40),
    ) {
        let node = Node::for_maintainers();
        let mut clones = [(); 3].map(|()| LinkedEngine::new(&node));
        for (who, step) in &steps {
            clones[*who].take(step);
        }
        clones.iter().for_each(LinkedEngine::settle);
        clones.iter().for_each(LinkedEngine::settle);
        let made = made_from(&node.log);
        for clone in &clones {
            let state = shared_state(&clone.project.path());
            let differing: Vec<_> = state
                .keys()
                .chain(made.keys())
                .filter(|path| state.get(*path) != made.get(*path))
                .map(|path| (path, state.get(path), made.get(path)))
                .collect();
            prop_assert!(differing.is_empty(), "{:#?}", differing);
            let outbox = clone.engine.store().outbox().state().expect("reads");
            prop_assert_eq!((outbox.waiting, outbox.refused), (0, 0));
            // As on one machine: whoever promotes beside a rival in force is told so.
            let untold: Vec<(Id, Id)> = active_rivals(clone)
                .into_iter()
                .filter(|pair| clones.iter().all(|clone| !clone.contested.contains(pair)))
                .collect();
            prop_assert_eq!(untold, vec![]);
        }
    }
}

#[test]
fn of_two_decisions_made_apart_the_later_to_arrive_is_provisional_with_a_warning() {
    let node = Node::for_maintainers();
    let [first, second] = [(); 2].map(|()| LinkedEngine::new(&node));
    second.connection.set_cut(true);
    let kept = first.decide("src/", "use redis");
    let late = second.decide("src/", "use sqlite");
    assert_eq!(second.decision(&late).status, DecisionStatus::Active, "nobody knew better");
    second.settle();
    first.settle();
    for clone in [&first, &second] {
        assert_eq!(clone.decision(&kept).status, DecisionStatus::Active);
        assert_eq!(clone.decision(&late).status, DecisionStatus::Provisional);
        let entries = clone
            .engine
            .store()
            .view::<_, StoreError>(|view| Ok(view.entries().relating_to(late.as_str(), 10)?.items))
            .expect("reads");
        let warnings: Vec<&Entry> =
            entries.iter().filter(|entry| entry.entry_type == "warning").collect();
        assert_eq!(warnings.len(), 1);
        assert!(warnings[0].relates_to.contains(&kept.to_string()));
        assert!(warnings[0].detail.contains("because of use redis"));
        assert!(warnings[0].detail.contains("because of use sqlite"));
    }
}

#[test]
fn of_two_rivals_promoted_apart_the_later_to_arrive_stays_provisional() {
    let node = Node::for_maintainers();
    let [first, second] = [(); 2].map(|()| LinkedEngine::new(&node));
    let old = first.decide("src/", "use files");
    let [left, right] = ["use redis", "use sqlite"].map(|summary| first.decide("src/", summary));
    second.settle();
    let promote = |clone: &LinkedEngine, ids: &[&Id], reason: Option<&str>| {
        let input = PromoteInput {
            decision_ids: ids.iter().map(ToString::to_string).collect(),
            reason: reason.map(str::to_owned),
            ..PromoteInput::default()
        };
        clone.engine.promote(&caller(), Authority::Claimed, &input).expect("promotes")
    };
    let overriding = OverrideInput {
        decision_id: old.to_string(),
        reason: "too slow".to_owned(),
        ..OverrideInput::default()
    };
    first.engine.override_decision(&caller(), Authority::Claimed, &overriding).expect("overrides");
    second.settle();
    second.connection.set_cut(true);
    promote(&first, &[&left], None);
    promote(&second, &[&right], None);
    second.settle();
    first.settle();
    for clone in [&first, &second] {
        assert_eq!(clone.decision(&left).status, DecisionStatus::Active);
        assert_eq!(clone.decision(&right).status, DecisionStatus::Provisional);
    }
    // Both in one line, and one of them is in force.
    second.connection.set_cut(true);
    let third = second.decide("src/", "use memory");
    let told = promote(&second, &[&right, &third], None);
    assert!(!told.contested.is_empty());
    second.settle();
    first.settle();
    assert_eq!(active_rivals(&first), []);
    // Who says why both are to hold has made them rivals no more, offline too.
    second.connection.set_cut(true);
    promote(&second, &[&right], Some("redis for sessions, sqlite for the rest"));
    second.settle();
    first.settle();
    for clone in [&first, &second] {
        assert_eq!(clone.decision(&right).status, DecisionStatus::Active);
        assert!(clone.decision(&right).compatible_with.contains(&left.to_string()));
    }
}

#[test]
fn an_override_made_apart_stays_whatever_others_did_to_the_decision() {
    let node = Node::for_maintainers();
    let [first, second] = [(); 2].map(|()| LinkedEngine::new(&node));
    let id = first.decide("src/", "use redis");
    second.settle();
    second.connection.set_cut(true);
    let input = OverrideInput {
        decision_id: id.to_string(),
        reason: "the client said no".to_owned(),
        ..OverrideInput::default()
    };
    second.engine.override_decision(&caller(), Authority::Claimed, &input).expect("overrides");
    let replacing = DecideInput {
        summary: "use sqlite".to_owned(),
        domain: "architecture".to_owned(),
        scope: "src/".to_owned(),
        rationale: "simpler".to_owned(),
        supersedes: Some(id.to_string()),
        context: "context".to_owned(),
        ..DecideInput::default()
    };
    let new = first.engine.decide(&caller(), &replacing).expect("decides").id;
    second.settle();
    first.settle();
    for clone in [&first, &second] {
        let decision = clone.decision(&id);
        assert_eq!(decision.status, DecisionStatus::Overridden);
        assert_eq!(decision.superseded_by, Some(new.to_string()));
        assert_eq!(decision.override_reason.as_deref(), Some("the client said no"));
        assert_eq!(decision.history.len(), 2, "{:?}", decision.history);
    }
}

#[test]
fn entities_made_apart_under_one_name_are_one() {
    let node = Node::for_maintainers();
    let mut clones = [(); 2].map(|()| LinkedEngine::new(&node));
    for clone in &mut clones {
        clone.connection.set_cut(true);
        clone.take(&Step::Relate(0, 1));
        clone.take(&Step::Relate(1, 2));
    }
    for _ in 0..2 {
        clones.iter().for_each(LinkedEngine::settle);
    }
    for clone in &clones {
        let counts =
            clone.engine.store().view::<_, StoreError>(|view| view.counts()).expect("counts");
        assert_eq!((counts.entities, counts.relations, counts.dangling), (3, 2, 0));
    }
}

#[test]
fn five_clones_with_a_hundred_writes_each_offline_end_alike() {
    let node = Node::for_maintainers();
    let mut clones = [(); 5].map(|()| LinkedEngine::new(&node));
    for (who, clone) in clones.iter_mut().enumerate() {
        clone.connection.set_cut(true);
        for n in 0..90 {
            clone.engine.store().post(&[entry(clone.engine.store(), "offline")]).expect("posts");
            if n % 9 == 0 {
                // Half of the decisions have rivals in the other clones.
                let scope = if n % 18 == 0 { "src/".to_owned() } else { format!("own/{who}/{n}/") };
                clone.decide(&scope, &format!("choice {n} of {who}"));
            }
        }
        clone.connection.set_cut(false);
        clone.connection.lose_answers(1);
        clone.take(&Step::Deliver);
        clone.take(&Step::Kill);
    }
    for _ in 0..2 {
        clones.iter().for_each(LinkedEngine::settle);
    }
    let made = made_from(&node.log);
    let lines = node.log.all();
    let posted = lines.iter().flat_map(|line| &line.change.entries);
    assert_eq!(posted.filter(|entry| entry.summary == "offline").count(), 450);
    assert_eq!(lines.iter().map(|line| line.change.decisions.len()).sum::<usize>(), 50);
    for clone in &clones {
        assert_eq!(shared_state(&clone.project.path()), made);
        assert_eq!(active_rivals(clone), []);
    }
}
