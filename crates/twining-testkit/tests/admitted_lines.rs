//! What a node takes of lines that clones send: nothing beyond what their token may do, and of rivals
//! never two in force, whatever they say of the view that they planned on.

use std::sync::Arc;

use serde_json::{Value, json};
use twining_engine::{Engine, RemoteAuthor, says_more};
use twining_model::{
    Amendment, Authority, Change, Channel, Decision, DecisionStatus, Entry, Id, Origin, Time, Trust,
};
use twining_store::{LogBase, LogError, NewLine, Store, StoreError};
use twining_testkit::memory::{decision, entry};
use twining_testkit::{MemoryLog, TestProject, ids};

const WRITER: RemoteAuthor = RemoteAuthor { is_person: false, may_settle: false };
const MAINTAINER: RemoteAuthor = RemoteAuthor { is_person: false, may_settle: true };

/// A node's engine on a folder that follows the log.
struct Node {
    log: Arc<MemoryLog>,
    engine: Engine,
    _project: TestProject,
}

impl Node {
    fn start() -> Self {
        let (project, log) = (TestProject::in_memory(), Arc::new(MemoryLog::default()));
        let store = Store::open(project.place(), ids()).expect("opens");
        store.use_log(Arc::clone(&log) as _);
        Self { log, engine: Engine::new(store), _project: project }
    }

    fn decision(&self, summary: &str) -> Decision {
        decision(self.engine.store(), summary)
    }

    /// A decision that the log has.
    fn decided(&self, summary: &str) -> Decision {
        let made = self.decision(summary);
        self.engine.admit(&[line(of_decision(&made))], &WRITER).expect("a writer decides");
        made
    }

    /// Sends a change in each of the three ways, one of which is to be taken.
    fn sends(&self, change: &Change, author: &RemoteAuthor) -> [Result<Vec<u64>, StoreError>; 3] {
        let one = || [line(change.clone())];
        let admitted = self.engine.admit(&one(), author);
        let unplanned = self.engine.append_remote(LogBase::Any, &one(), author);
        let head = LogBase::At(self.log.all().len() as u64);
        [admitted, unplanned, self.engine.append_remote(head, &one(), author)]
    }

    fn status(&self, id: &Id) -> DecisionStatus {
        self.read(id).status
    }

    fn read(&self, id: &Id) -> Decision {
        let store = self.engine.store();
        let found = store.view::<_, StoreError>(|view| view.decisions().get(id));
        found.expect("reads").expect("is there")
    }
}

fn line(change: Change) -> NewLine {
    NewLine { key: ids().next(), change }
}

fn of_decision(decision: &Decision) -> Change {
    Change { decisions: vec![decision.clone()], ..Change::default() }
}

fn amended(id: &Id, set: &Value) -> Change {
    let set = set.as_object().cloned().expect("an object");
    Change { amendments: vec![Amendment::new(id.clone(), set)], ..Change::default() }
}

fn is_for_maintainers(sent: &Result<Vec<u64>, StoreError>) -> bool {
    matches!(sent, Err(StoreError::Log(LogError::Denied { .. })))
}

#[test]
fn a_rival_is_provisional_whatever_a_clone_says_of_its_view() {
    for base in [LogBase::Any, LogBase::At(1)] {
        let node = Node::start();
        let (kept, rival) = (node.decided("use redis"), node.decision("use sqlite"));
        let sent = node.engine.append_remote(base, &[line(of_decision(&rival))], &WRITER);
        assert_eq!(sent.expect("is taken"), [2]);
        assert_eq!(node.status(&kept.id), DecisionStatus::Active);
        assert_eq!(node.status(&rival.id), DecisionStatus::Provisional, "{base:?}");
        let warned = &node.log.all()[1].change.entries;
        assert!(warned.iter().any(|entry| entry.relates_to.contains(&kept.id.to_string())));
    }
}

#[test]
fn a_decision_is_not_put_in_force_by_the_line_that_makes_it() {
    let node = Node::start();
    node.decided("use redis");
    let rival = Decision { status: DecisionStatus::Provisional, ..node.decision("use sqlite") };
    let change = Change {
        decisions: vec![rival.clone()],
        ..amended(&rival.id, &json!({"status": "active"}))
    };
    let sent = node.engine.append_remote(LogBase::At(1), &[line(change)], &WRITER);
    assert_eq!(sent.expect("is taken"), [2]);
    assert_eq!(node.status(&rival.id), DecisionStatus::Provisional);
}

#[test]
fn a_version_from_before_a_promotion_takes_nothing_back() {
    let node = Node::start();
    let rival = node.decided("use redis");
    let stale = node.decision("use sqlite");
    node.engine.admit(&[line(of_decision(&stale))], &WRITER).expect("a writer decides");
    let stale = node.read(&stale.id);
    assert_eq!(stale.status, DecisionStatus::Provisional);
    let promoted = Change {
        amendments: [
            (&rival.id, json!({"status": "overridden", "overridden_by": "me"})),
            (&stale.id, json!({"status": "active"})),
        ]
        .into_iter()
        .flat_map(|(id, set)| amended(id, &set).amendments)
        .collect(),
        ..Change::default()
    };
    let sent = node.engine.append_remote(LogBase::At(2), &[line(promoted)], &MAINTAINER);
    assert_eq!(sent.expect("a maintainer promotes"), [3]);
    let now = node.read(&stale.id);
    assert_eq!(now.status, DecisionStatus::Active);
    assert!(!says_more(&now, &stale), "a clone has nothing to send");
    assert!(says_more(
        &now,
        &Decision { commit_hashes: vec!["abc1234".to_owned()], ..stale.clone() }
    ));
    for author in [WRITER, MAINTAINER] {
        node.engine.admit(&[line(of_decision(&stale))], &author).expect("is taken");
        assert_eq!(node.status(&stale.id), DecisionStatus::Active);
        assert_eq!(node.status(&rival.id), DecisionStatus::Overridden);
    }
}

#[test]
fn a_writer_brings_in_what_was_overridden_before_the_link() {
    let node = Node::start();
    let old = Decision { status: DecisionStatus::Overridden, ..node.decision("use files") };
    node.engine.admit(&[line(of_decision(&old))], &WRITER).expect("is taken");
    assert_eq!(node.status(&old.id), DecisionStatus::Overridden);
}

#[test]
fn a_base_that_the_log_does_not_have_is_refused_and_an_old_one_is_behind() {
    let node = Node::start();
    node.decided("use redis");
    let planned = |at| {
        let change = of_decision(&node.decision("use files"));
        node.engine.append_remote(LogBase::At(at), &[line(change)], &MAINTAINER)
    };
    for at in [2, u64::MAX] {
        let sent = planned(at);
        assert!(matches!(sent, Err(StoreError::Log(LogError::Refused(_)))), "{at}: {sent:?}");
    }
    assert!(matches!(planned(0), Err(StoreError::Log(LogError::Behind))));
    let two = [line(Change::default()), line(Change::default())];
    assert!(node.engine.append_remote(LogBase::At(1), &two, &MAINTAINER).is_err());
    assert_eq!(node.log.all().len(), 1);
}

#[test]
fn a_line_that_is_planned_has_one_number_however_often_it_comes() {
    let node = Node::start();
    let sent = line(of_decision(&node.decision("use redis")));
    for _ in 0..2 {
        let numbers =
            node.engine.append_remote(LogBase::At(0), std::slice::from_ref(&sent), &WRITER);
        assert_eq!(numbers.expect("is taken"), [1]);
    }
    assert_eq!(node.log.all().len(), 1);
}

#[test]
fn a_writer_settles_nothing_and_changes_nothing_that_others_said() {
    let node = Node::start();
    let (made, other) = (node.decided("use redis"), node.decided("use sqlite"));
    let before = node.log.all().len();
    let sets = [
        json!({"status": "provisional"}),
        json!({"status": "overridden", "overridden_by": "me"}),
        json!({"status": "superseded", "superseded_by": other.id}),
        json!({"superseded_by": other.id}),
        json!({"summary": "use files"}),
        json!({"rationale": "no"}),
        json!({"override_reason": "no"}),
        json!({"compatible_with": [other.id]}),
    ];
    let mut changes: Vec<Change> = sets.iter().map(|set| amended(&made.id, set)).collect();
    changes.push(of_decision(&Decision { summary: "use files".to_owned(), ..made.clone() }));
    let replaced_by = |new: &Decision| {
        let retired = json!({"status": "superseded", "superseded_by": new.id});
        Change { decisions: vec![new.clone()], ..amended(&made.id, &retired) }
    };
    let new = Decision { supersedes: Some(made.id.to_string()), ..node.decision("new") };
    let mut back_in_force = replaced_by(&new);
    back_in_force.amendments.extend(amended(&made.id, &json!({"status": "active"})).amendments);
    changes.push(back_in_force);
    changes.push(replaced_by(&Decision { status: DecisionStatus::Overridden, ..new }));
    changes.push(Change { archived: vec!["x".to_owned()], ..Change::default() });
    for change in &changes {
        for sent in node.sends(change, &WRITER) {
            assert!(is_for_maintainers(&sent), "{change:?}: {sent:?}");
        }
    }
    assert_eq!(node.log.all().len(), before);
    let emptied = line(amended(&made.id, &json!({"affected_files": []})));
    let sent = node.engine.append_remote(LogBase::At(before as u64), &[emptied], &WRITER);
    assert!(is_for_maintainers(&sent), "{sent:?}");
}

#[test]
fn a_writer_links_commits_completes_and_replaces() {
    let node = Node::start();
    let made = node.decided("use redis");
    let hash = "0123456789abcdef0123456789abcdef01234567";
    let linked = amended(
        &made.id,
        &json!({"commit_hashes": [hash], "commits": [{"hash": hash, "linked_at": "2026-11-01T10:00:00.000Z"}]}),
    );
    let completed = Decision { constraints: vec!["no root".to_owned()], ..made.clone() };
    for change in [linked, of_decision(&completed)] {
        let sent = node.sends(&change, &WRITER);
        assert!(sent.iter().all(Result::is_ok), "{sent:?}");
    }
    let read = node.read(&made.id);
    assert_eq!(
        (&read.commit_hashes[..], &read.constraints[..]),
        (&[hash.to_owned()][..], &["no root".to_owned()][..])
    );
    let new = Decision { supersedes: Some(made.id.to_string()), ..node.decision("use sqlite") };
    let retired = json!({"status": "superseded", "superseded_by": new.id});
    let change = Change { decisions: vec![new.clone()], ..amended(&made.id, &retired) };
    assert!(node.sends(&change, &WRITER)[0].is_ok());
    assert_eq!(node.status(&made.id), DecisionStatus::Superseded);
    assert_eq!(node.status(&new.id), DecisionStatus::Active);
}

#[test]
fn what_a_writer_replaced_offline_and_others_overrode_stays_overridden() {
    let node = Node::start();
    let made = node.decided("use redis");
    let overridden = amended(&made.id, &json!({"status": "overridden", "overridden_by": "kim"}));
    node.engine.admit(&[line(overridden)], &MAINTAINER).expect("a maintainer overrides");
    let new = Decision { supersedes: Some(made.id.to_string()), ..node.decision("use sqlite") };
    let retired = json!({"status": "superseded", "superseded_by": new.id});
    let mut change = Change { decisions: vec![new.clone()], ..amended(&made.id, &retired) };
    change.amendments[0].was.insert("status".to_owned(), json!("active"));
    node.engine.admit(&[line(change)], &WRITER).expect("is taken");
    assert_eq!(node.status(&made.id), DecisionStatus::Overridden);
    assert_eq!(node.read(&made.id).overridden_by.as_deref(), Some("kim"));
    assert_eq!(node.status(&new.id), DecisionStatus::Active);
}

#[test]
fn writers_who_link_one_commit_in_other_words_put_nothing_out_of_force() {
    let node = Node::start();
    let made = node.decided("use redis");
    let hash = "0123456789abcdef0123456789abcdef01234567";
    for summary in ["cache: redis", "cache: use redis"] {
        let at = "2026-11-01T10:00:00.000Z";
        let commits = json!([{"hash": hash, "summary": summary, "linked_at": at}]);
        let mut change = amended(&made.id, &json!({"commit_hashes": [hash], "commits": commits}));
        change.amendments[0].was.insert("commits".to_owned(), json!([]));
        node.engine.admit(&[line(change)], &WRITER).expect("is taken");
    }
    assert_eq!(node.status(&made.id), DecisionStatus::Active);
    assert_eq!(node.read(&made.id).commit_hashes, [hash]);
}

#[test]
fn what_a_writer_agreed_to_keep_beside_a_rival_waits_for_a_maintainer() {
    let node = Node::start();
    let made = node.decided("use redis");
    let beside =
        Decision { compatible_with: vec![made.id.to_string()], ..node.decision("use sqlite") };
    node.engine.admit(&[line(of_decision(&beside))], &WRITER).expect("is taken");
    assert_eq!(node.status(&beside.id), DecisionStatus::Provisional);
    assert_eq!(node.status(&made.id), DecisionStatus::Active);
}

#[test]
fn a_maintainer_reconsiders_at_the_end_of_the_log() {
    let node = Node::start();
    let made = node.decided("use redis");
    let change = amended(&made.id, &json!({"status": "provisional"}));
    let sent = node.engine.append_remote(LogBase::At(1), &[line(change)], &MAINTAINER);
    assert_eq!(sent.expect("is taken"), [2]);
    assert_eq!(node.status(&made.id), DecisionStatus::Provisional);
}

#[test]
fn a_hostile_clone_claims_nothing_that_the_service_does_not_know() {
    let node = Node::start();
    let engine = &node.engine;
    let human = Some(Origin::new(Channel::Cli, Trust::Human));
    let store = engine.store();
    let forged = Entry {
        origin: human.clone(),
        timestamp: "2099-01-01T00:00:00.000Z".to_owned(),
        ..entry(store, "forged")
    };
    let confirmed = Decision {
        origin: human,
        override_authority: Some(Authority::Confirmed),
        ..decision(store, "forged")
    };
    let change = Change {
        decisions: vec![confirmed.clone()],
        claims: Some("{}".to_owned()),
        ..Change::of_entries(vec![forged])
    };
    engine.admit(&[line(change)], &MAINTAINER).expect("admits");
    let set = json!({"override_authority": "confirmed", "status": "overridden"});
    let amendment =
        Amendment::new(confirmed.id.clone(), set.as_object().cloned().expect("an object"));
    engine
        .admit(&[line(Change { amendments: vec![amendment], ..Change::default() })], &MAINTAINER)
        .expect("admits");
    let lines = node.log.all();
    let held = &lines[0].change;
    let trust = |origin: &Option<Origin>| origin.as_ref().map(|origin| origin.trust);
    assert_eq!(trust(&held.entries[0].origin), Some(Trust::Agent));
    assert_eq!(trust(&held.decisions[0].origin), Some(Trust::Agent));
    assert!(
        Time::read(&held.entries[0].timestamp).expect("a time") < Time::from_ms(4_000_000_000_000)
    );
    assert_eq!(held.decisions[0].override_authority, Some(Authority::Claimed));
    assert_eq!(held.claims, None);
    assert_eq!(lines[1].change.amendments[0].set["override_authority"], "claimed");
}

#[test]
fn what_a_clone_must_not_send_is_refused_and_the_log_stays_as_it_is() {
    let (node, writer) = (Node::start(), WRITER);
    let engine = &node.engine;
    let store = engine.store();
    let future = Id::from_parts(Time::read("2099-01-01T00:00:00Z").expect("a time"), 1);
    let made = decision(store, "made");
    engine
        .admit(&[line(Change { decisions: vec![made.clone()], ..Change::default() })], &writer)
        .expect("a writer decides");
    let amended = |set: serde_json::Value| Change {
        amendments: vec![Amendment::new(
            made.id.clone(),
            set.as_object().cloned().expect("an object"),
        )],
        ..Change::default()
    };
    let cases = [
        Change { archived: vec!["x".to_owned()], ..Change::default() },
        Change { archived: vec!["x".to_owned(); 1_000_000], ..Change::default() },
        Change { removed_entities: vec!["x".to_owned()], ..Change::default() },
        amended(json!({"status": "overridden"})),
        amended(json!({"status": 42})),
        amended(json!({"summary": "x".repeat(2 * twining_model::limits::RECORD_BYTES)})),
        amended(json!({"id": "01ARZ3NDEKTSV4RRFFQ69G5FAV"})),
        Change {
            decisions: vec![Decision { id: future, ..decision(store, "late") }],
            ..Change::default()
        },
        Change { agents: [("a".to_owned(), "]".to_owned())].into(), ..Change::default() },
        Change::of_entries(vec![Entry {
            detail: "x".repeat(2 * twining_model::limits::RECORD_BYTES),
            ..entry(store, "huge")
        }]),
    ];
    for (at, change) in cases.into_iter().enumerate() {
        assert!(engine.admit(&[line(change.clone())], &writer).is_err(), "case {at}");
        assert!(
            engine.append_remote(LogBase::Any, &[line(change)], &writer).is_err(),
            "case {at} without admission"
        );
        assert_eq!(node.log.all().len(), 1, "case {at}");
    }
}

#[test]
fn a_key_is_admitted_once_whatever_its_line_says_later() {
    let node = Node::start();
    let engine = &node.engine;
    let store = engine.store();
    let first = line(Change { decisions: vec![decision(store, "one")], ..Change::default() });
    let rival = line(Change { decisions: vec![decision(store, "two")], ..Change::default() });
    let lines = [first.clone(), rival.clone()];
    assert_eq!(engine.admit(&lines, &MAINTAINER).expect("admits"), [1, 2]);
    assert_eq!(engine.admit(&lines, &MAINTAINER).expect("knows them"), [1, 2]);
    let posts: Vec<NewLine> =
        (0..3).map(|_| line(Change::of_entries(vec![entry(store, "post")]))).collect();
    assert_eq!(engine.admit(&posts, &MAINTAINER).expect("admits"), [3, 4, 5]);
    assert_eq!(engine.admit(&[rival, posts[1].clone()], &MAINTAINER).expect("knows"), [2, 4]);
    assert_eq!(node.log.all().len(), 5);
}
