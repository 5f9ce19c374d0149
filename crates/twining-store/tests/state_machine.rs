//! The store beside a simple model: whatever is done to it, by us or from outside, it answers as
//! the model does, and so does a rebuilt index.
//!
//! Full size: `PROPTEST_CASES=10000 cargo nextest run --release -p twining-store --test
//! state_machine`

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

use proptest::prelude::*;
use twining_model::{Amendment, AnchorEvent, AnchoredRecord, Change, Id};
use twining_store::{Durability, EntryFilter, Store, StoreError};
use twining_testkit::memory as common;
use twining_testkit::memory::{anchor, decision, entity, entry};
use twining_testkit::{FixedWorld, TestProject, records};

#[derive(Clone, Debug)]
enum Step {
    Post,
    Question,
    /// Answers the nth entry there is.
    Answer(usize),
    Decide,
    Override(usize),
    AddEntity,
    UpdateEntity(usize),
    Relate(usize, usize),
    RemoveEntity(usize),
    Archive(usize),
    /// Anchors one of a few records at one of a few places, or looks again there.
    Anchor(usize, usize),
    /// Lets go of an anchor.
    Release(usize),
    /// A merge puts the anchors in another order, and one of them twice.
    UniteAnchorsOutside(usize),
    Housekeep,
    /// The process is killed and another one starts.
    Restart,
    DeleteIndex,
    DeleteLocal,
    /// Somebody appends a line with an editor.
    AppendOutside,
    /// git rewrites the same file.
    RewriteOutside,
    /// Somebody deletes a line.
    DeleteLineOutside(usize),
    /// Union merge doubles a line.
    DoubleLineOutside(usize),
    /// A decision arrives by git.
    DecisionOutside,
    EditDecisionOutside(usize),
    RemoveDecisionOutside(usize),
    PrettyPrintArrays,
    QueueAndDrain,
    Rebuild,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => Just(Step::Post),
        2 => Just(Step::Question),
        2 => any::<usize>().prop_map(Step::Answer),
        3 => Just(Step::Decide),
        2 => any::<usize>().prop_map(Step::Override),
        2 => Just(Step::AddEntity),
        1 => any::<usize>().prop_map(Step::UpdateEntity),
        2 => any::<(usize, usize)>().prop_map(|(a, b)| Step::Relate(a, b)),
        1 => any::<usize>().prop_map(Step::RemoveEntity),
        1 => any::<usize>().prop_map(Step::Archive),
        3 => any::<(usize, usize)>().prop_map(|(of, at)| Step::Anchor(of, at)),
        1 => any::<usize>().prop_map(Step::Release),
        1 => any::<usize>().prop_map(Step::UniteAnchorsOutside),
        2 => Just(Step::Housekeep),
        2 => Just(Step::Restart),
        1 => Just(Step::DeleteIndex),
        1 => Just(Step::DeleteLocal),
        2 => Just(Step::AppendOutside),
        2 => Just(Step::RewriteOutside),
        1 => any::<usize>().prop_map(Step::DeleteLineOutside),
        1 => any::<usize>().prop_map(Step::DoubleLineOutside),
        1 => Just(Step::DecisionOutside),
        1 => any::<usize>().prop_map(Step::EditDecisionOutside),
        1 => any::<usize>().prop_map(Step::RemoveDecisionOutside),
        1 => Just(Step::PrettyPrintArrays),
        1 => Just(Step::QueueAndDrain),
        1 => Just(Step::Rebuild),
    ]
}

/// What the store is to hold.
#[derive(Default)]
struct Model {
    /// Lines of the board: id, type, what it relates to. A duplicated line occurs twice.
    board: Vec<(String, &'static str, Vec<String>)>,
    decisions: BTreeMap<String, String>,
    entities: BTreeMap<String, String>,
    relations: BTreeMap<String, (String, String)>,
    /// The id of the line that counts, by record and place.
    anchors: BTreeMap<(String, String), String>,
}

impl Model {
    fn ids(&self) -> BTreeSet<String> {
        self.board.iter().map(|(id, ..)| id.clone()).collect()
    }

    fn open_questions(&self) -> BTreeSet<String> {
        let closed: BTreeSet<&String> = self
            .board
            .iter()
            .filter(|(_, kind, _)| *kind == "answer")
            .flat_map(|(_, _, to)| to)
            .collect();
        let asked =
            self.board.iter().filter(|(id, kind, _)| *kind == "question" && !closed.contains(id));
        asked.map(|(id, ..)| id.clone()).collect()
    }
}

struct Bench {
    project: TestProject,
    world: FixedWorld,
    store: Store,
    model: Model,
}

fn pick<T: Clone>(from: impl IntoIterator<Item = T>, n: usize) -> Option<T> {
    let all: Vec<T> = from.into_iter().collect();
    (!all.is_empty()).then(|| all[n % all.len()].clone())
}

impl Bench {
    fn new() -> Self {
        let (project, world) = (TestProject::in_memory(), FixedWorld::new());
        let store = common::store(&project, &world);
        store.post(&[]).expect("makes the folder");
        Self { project, world, store, model: Model::default() }
    }

    fn post(&mut self, kind: &'static str, relates_to: Vec<String>) {
        let mut entry = entry(&self.store, kind);
        kind.clone_into(&mut entry.entry_type);
        entry.relates_to.clone_from(&relates_to);
        self.store.post(std::slice::from_ref(&entry)).expect("posts");
        self.model.board.push((entry.id, kind, relates_to));
    }

    fn transact(&self, change: &Change) {
        self.store
            .transact::<_, StoreError>(Durability::Normal, |_| Ok((change.clone(), ())))
            .expect("writes");
    }

    fn board(&self) -> Vec<String> {
        let text = std::fs::read_to_string(self.project.file("blackboard.jsonl")).expect("there");
        text.lines().map(str::to_owned).collect()
    }

    /// Writes the board as git does: a new file under the old name.
    fn replace_board(&mut self, lines: &[String]) {
        // More than ten seconds after the last post: what is gone now was meant to go.
        self.world.pass(60_000);
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        std::fs::write(self.project.file("board.new"), text).expect("writes");
        std::fs::rename(self.project.file("board.new"), self.project.file("blackboard.jsonl"))
            .expect("renames");
    }

    fn truncate_wal(&self) {
        self.store.housekeep().expect("works");
    }

    fn take(&mut self, step: &Step) {
        self.world.pass(1000);
        match *step {
            Step::Post => self.post("finding", Vec::new()),
            Step::Question => self.post("question", Vec::new()),
            Step::Answer(n) => {
                let to = pick(self.model.ids(), n);
                self.post("answer", to.into_iter().collect());
            }
            Step::Decide => {
                let (decision, entry) = (decision(&self.store, "d"), entry(&self.store, "d"));
                let concept = entity(&self.store, decision.id.as_str());
                self.model.decisions.insert(decision.id.to_string(), "active".to_owned());
                self.model.board.push((entry.id.clone(), "finding", Vec::new()));
                self.model.entities.insert(concept.id.clone(), concept.name.clone());
                self.transact(&Change {
                    entries: vec![entry],
                    decisions: vec![decision],
                    entities: vec![concept],
                    ..Change::default()
                });
            }
            Step::Override(n) => {
                let Some(id) = pick(self.model.decisions.keys().cloned(), n) else { return };
                let set = [("status".to_owned(), "overridden".into())].into_iter().collect();
                self.transact(&Change {
                    amendments: vec![Amendment::new(Id::read(&id).expect("an id"), set)],
                    ..Change::default()
                });
                self.model.decisions.insert(id, "overridden".to_owned());
            }
            Step::AddEntity => {
                let entity = entity(&self.store, "thing");
                self.model.entities.insert(entity.id.clone(), entity.name.clone());
                self.transact(&Change { entities: vec![entity], ..Change::default() });
            }
            Step::UpdateEntity(n) => {
                let Some(id) = pick(self.model.entities.keys().cloned(), n) else { return };
                let mut entity = entity(&self.store, "renamed");
                entity.id.clone_from(&id);
                self.model.entities.insert(id, "renamed".to_owned());
                self.transact(&Change { entities: vec![entity], ..Change::default() });
            }
            Step::Relate(a, b) => {
                let ids: Vec<String> = self.model.entities.keys().cloned().collect();
                let (Some(a), Some(b)) = (pick(ids.clone(), a), pick(ids, b)) else { return };
                let relation = records::relation(self.store.ids(), &a, &b);
                self.model.relations.insert(relation.id.clone(), (a, b));
                self.transact(&Change { relations: vec![relation], ..Change::default() });
            }
            Step::RemoveEntity(n) => {
                let Some(id) = pick(self.model.entities.keys().cloned(), n) else { return };
                self.model.entities.remove(&id);
                self.transact(&Change { removed_entities: vec![id], ..Change::default() });
            }
            Step::Archive(n) => {
                let Some(id) = pick(self.model.ids(), n) else { return };
                let change = Change { archived: vec![id.clone()], ..Change::default() };
                self.store
                    .transact(Durability::Strict, |_| Ok::<_, StoreError>((change.clone(), ())))
                    .expect("archives");
                self.model.board.retain(|(other, ..)| *other != id);
            }
            Step::Anchor(of, at) => {
                let of = AnchoredRecord::Node(format!("n{}", of % 3));
                let anchor = anchor(&self.store, &of, &format!("src/{}.rs#f", at % 3));
                let place = anchor.at.to_string();
                self.model.anchors.insert((of.to_string(), place), anchor.id.clone());
                self.transact(&Change { anchors: vec![anchor], ..Change::default() });
            }
            Step::Release(n) => {
                let Some((of, at)) = pick(self.model.anchors.keys().cloned(), n) else { return };
                let mut anchor = anchor(&self.store, &AnchoredRecord::from(of.clone()), &at);
                AnchorEvent::Released.as_str().clone_into(&mut anchor.event);
                self.model.anchors.remove(&(of, at));
                self.transact(&Change { anchors: vec![anchor], ..Change::default() });
            }
            Step::UniteAnchorsOutside(n) => {
                let path = self.project.file("anchors.jsonl");
                let Ok(text) = std::fs::read_to_string(&path) else { return };
                let mut lines: Vec<&str> = text.lines().collect();
                let Some(line) = pick(lines.clone(), n) else { return };
                // More than ten seconds after the last write: what is so now was meant so.
                self.world.pass(60_000);
                let by = n % lines.len();
                lines.rotate_left(by);
                lines.push(line);
                let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
                std::fs::write(self.project.file("anchors.new"), text).expect("writes");
                std::fs::rename(self.project.file("anchors.new"), path).expect("renames");
            }
            Step::Housekeep => self.truncate_wal(),
            Step::Restart => self.store = common::store(&self.project, &self.world),
            Step::DeleteIndex => {
                for name in ["index.db", "index.db-wal", "index.db-shm"] {
                    drop(std::fs::remove_file(self.project.file("local").join(name)));
                }
            }
            Step::DeleteLocal => {
                self.truncate_wal();
                std::fs::remove_dir_all(self.project.file("local")).expect("removes");
            }
            Step::AppendOutside => {
                let id = self.store.ids().next().to_string();
                let mut file = std::fs::OpenOptions::new()
                    .append(true)
                    .open(self.project.file("blackboard.jsonl"))
                    .expect("opens");
                writeln!(
                    file,
                    "{{\"id\":\"{id}\",\"entry_type\":\"finding\",\"summary\":\"by hand\"}}"
                )
                .expect("writes");
                self.model.board.push((id, "finding", Vec::new()));
            }
            Step::RewriteOutside => {
                let lines = self.board();
                self.replace_board(&lines);
            }
            Step::DeleteLineOutside(n) => {
                let mut lines = self.board();
                if lines.is_empty() {
                    return;
                }
                let at = n % lines.len();
                lines.remove(at);
                self.model.board.remove(at);
                self.replace_board(&lines);
            }
            Step::DoubleLineOutside(n) => {
                let mut lines = self.board();
                let Some(line) = pick(lines.clone(), n) else { return };
                let copied = self.model.board[n % self.model.board.len()].clone();
                lines.push(line);
                self.model.board.push(copied);
                self.replace_board(&lines);
            }
            Step::DecisionOutside => {
                let decision = decision(&self.store, "from a colleague");
                let text = serde_json::to_string(&decision).expect("JSON");
                std::fs::create_dir_all(self.project.file("decisions")).expect("makes");
                std::fs::write(self.project.file(&format!("decisions/{}.json", decision.id)), text)
                    .expect("writes");
                self.model.decisions.insert(decision.id.to_string(), "active".to_owned());
            }
            Step::EditDecisionOutside(n) => {
                let Some(id) = pick(self.model.decisions.keys().cloned(), n) else { return };
                let path = self.project.file(&format!("decisions/{id}.json"));
                let mut value: serde_json::Value =
                    serde_json::from_str(&std::fs::read_to_string(&path).expect("there"))
                        .expect("JSON");
                value["status"] = "superseded".into();
                std::fs::write(&path, value.to_string()).expect("writes");
                self.model.decisions.insert(id, "superseded".to_owned());
            }
            Step::RemoveDecisionOutside(n) => {
                let Some(id) = pick(self.model.decisions.keys().cloned(), n) else { return };
                std::fs::remove_file(self.project.file(&format!("decisions/{id}.json")))
                    .expect("removes");
                self.model.decisions.remove(&id);
            }
            Step::PrettyPrintArrays => {
                self.truncate_wal();
                for path in ["graph/entities.json", "graph/relations.json"] {
                    let value =
                        twining_testkit::files::json(&self.project.path(), path).expect("valid");
                    std::fs::write(
                        self.project.file(path),
                        serde_json::to_string_pretty(&value).expect("JSON"),
                    )
                    .expect("writes");
                }
            }
            Step::QueueAndDrain => {
                std::fs::write(self.project.file("pending-posts.jsonl"), "queued\n")
                    .expect("writes");
                let store = &self.store;
                let mut made = Vec::new();
                let drained = store.queues().drain_posts(&mut |line| {
                    let entry = entry(store, line);
                    made.push(entry.id.clone());
                    Ok(entry)
                });
                assert_eq!(drained.expect("drains").taken, 1);
                self.model.board.extend(made.into_iter().map(|id| (id, "finding", Vec::new())));
            }
            Step::Rebuild => {
                self.store.rebuild().expect("rebuilds");
            }
        }
    }

    fn compare(&self, after: &str) {
        let model = &self.model;
        self.store
            .view::<_, StoreError>(|view| {
                let page = view.entries().newest(&EntryFilter::default(), 500)?;
                let found: BTreeSet<String> =
                    page.items.iter().map(|entry| entry.id.clone()).collect();
                assert_eq!(found, model.ids(), "{after}: entries");
                let counter = view.counts()?;
                assert_eq!(counter.entries, found.len() as u64, "{after}: count of entries");
                let open = EntryFilter {
                    types: vec!["question".to_owned()],
                    only_open: true,
                    ..EntryFilter::default()
                };
                let open: BTreeSet<String> = view
                    .entries()
                    .newest(&open, 500)?
                    .items
                    .into_iter()
                    .map(|entry| entry.id)
                    .collect();
                assert_eq!(open, model.open_questions(), "{after}: open questions");
                assert_eq!(
                    counter.open_questions,
                    open.len() as u64,
                    "{after}: count of open questions"
                );
                for (id, status) in &model.decisions {
                    let decision = view.decisions().get(&Id::read(id).expect("an id"))?;
                    assert_eq!(
                        decision.map(|d| d.status.as_str().to_owned()).as_ref(),
                        Some(status),
                        "{after}: decision {id}"
                    );
                }
                let decisions =
                    counter.active + counter.provisional + counter.superseded + counter.overridden;
                assert_eq!(decisions, model.decisions.len() as u64, "{after}: count of decisions");
                let anchors = view
                    .anchors()
                    .page(None, 500)?
                    .into_iter()
                    .map(|anchor| ((anchor.of.to_string(), anchor.at.to_string()), anchor.id));
                assert_eq!(anchors.collect::<BTreeMap<_, _>>(), model.anchors, "{after}: anchors");
                for (id, name) in &model.entities {
                    assert_eq!(
                        view.graph().entity(id)?.map(|entity| entity.name).as_ref(),
                        Some(name),
                        "{after}: entity {id}"
                    );
                }
                assert_eq!(
                    (counter.entities, counter.relations),
                    (model.entities.len() as u64, model.relations.len() as u64),
                    "{after}: graph"
                );
                let ends: BTreeSet<&String> =
                    model.relations.values().flat_map(|(a, b)| [a, b]).collect();
                let alone = model.entities.keys().filter(|id| !ends.contains(id)).count();
                assert_eq!(counter.disconnected, alone as u64, "{after}: disconnected");
                let dangling = model
                    .relations
                    .values()
                    .filter(|(a, b)| {
                        !model.entities.contains_key(a) || !model.entities.contains_key(b)
                    })
                    .count();
                assert_eq!(counter.dangling, dangling as u64, "{after}: dangling");
                assert_eq!(counter.unreadable, 0, "{after}: {:?}", view.unreadable()?);
                Ok(())
            })
            .unwrap_or_else(|e| panic!("{after}: {e} {:?}", std::error::Error::source(&e)));
    }
}

/// Few in every test run, many when asked.
fn cases() -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(48)
}

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 200, ..ProptestConfig::with_cases(cases()) })]

    #[test]
    fn r8_the_store_answers_as_the_model_does(steps in proptest::collection::vec(step(), 1..50)) {
        let mut bench = Bench::new();
        for (n, step) in steps.iter().enumerate() {
            bench.take(step);
            // Not after every step: what is noticed late must be noticed all the same.
            if n % 3 == 0 {
                bench.compare(&format!("after step {n}, {step:?}"));
            }
        }
        bench.compare("at the end");
        bench.store.rebuild().expect("rebuilds");
        bench.compare("after a rebuild");
        bench.truncate_wal();
        bench.store = common::store(&bench.project, &bench.world);
        bench.compare("in a new process");
    }
}
