//! Whatever is done to the files, the index that followed equals a new one.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

use proptest::prelude::*;
use twining_model::{Change, Entity, Entry, IdSource, Relation, Time, World};

use super::{Desk, NOW, line, ulid};
use crate::StoreError;
use crate::disk::layout::{Layout, Place};
use crate::index::Index;
use crate::log::files::Files;
use crate::store::{Durability, Store};

/// What somebody does to the files behind our back.
#[derive(Clone, Debug)]
enum Edit {
    Append(Vec<Draft>),
    AppendText(String),
    Insert(prop::sample::Index, Draft),
    Remove(prop::sample::Index),
    Repeat(prop::sample::Index),
    Rotate(prop::sample::Index),
    RewriteInPlace,
    RemoveBoard,
    Decide(usize, String),
    DropDecision(usize),
    OddDecision(bool),
    Entities(Vec<(usize, usize)>),
    Relations(Vec<(usize, usize, usize)>),
    Garble(bool),
    Reopen,
    Rebuild,
    Rest,
}

#[derive(Clone, Debug)]
struct Draft {
    id: usize,
    kind: &'static str,
    relates: Vec<usize>,
    scope: &'static str,
    padding: usize,
}

impl Draft {
    fn line(&self) -> String {
        let relates: Vec<String> = self.relates.iter().map(|id| format!("\"{}\"", ulid(*id))).collect();
        let more = format!(
            ",\"relates_to\":[{}],\"scope\":\"{}\",\"tags\":[\"t{}\"],\"detail\":\"{}\"",
            relates.join(","),
            self.scope,
            self.padding % 3,
            "lorem ".repeat(self.padding)
        );
        line(&ulid(self.id), self.kind, &format!("padded by {}", self.padding), &more)
    }
}

fn draft() -> impl Strategy<Value = Draft> {
    let kinds = prop::sample::select(vec!["need", "question", "warning", "finding", "answer", "status", "decision", "rumour"]);
    let scopes = prop::sample::select(vec!["project", "src/", "src/a.rs", "docs", ""]);
    (0..12_usize, kinds, prop::collection::vec(0..12_usize, 0..3), scopes, prop_oneof![9 => 0..5_usize, 1 => 3000..4000_usize])
        .prop_map(|(id, kind, relates, scope, padding)| Draft { id, kind, relates, scope, padding })
}

fn edit() -> impl Strategy<Value = Edit> {
    let at = any::<prop::sample::Index>;
    let statuses = prop::sample::select(vec!["active", "provisional", "superseded", "overridden"]);
    prop_oneof![
        4 => prop::collection::vec(draft(), 1..20).prop_map(Edit::Append),
        1 => prop::sample::select(vec!["{\"id\":", "\n", "<<<<<<< x\n", "\n\n", "junk\n", "{\"id\":\"whole\"}"]).prop_map(|text| Edit::AppendText(text.to_owned())),
        1 => (at(), draft()).prop_map(|(at, draft)| Edit::Insert(at, draft)),
        2 => at().prop_map(Edit::Remove),
        1 => at().prop_map(Edit::Repeat),
        1 => at().prop_map(Edit::Rotate),
        1 => Just(Edit::RewriteInPlace),
        1 => Just(Edit::RemoveBoard),
        2 => (0..4_usize, statuses, 0..3_usize).prop_map(|(n, status, m)| Edit::Decide(
            n,
            format!(",\"status\":\"{status}\",\"scope\":\"src/{m}\",\"depends_on\":[\"{}\"],\"affected_files\":[\"a{m}\"],\"commit_hashes\":[\"abc{m}\"]", ulid(m))
        )),
        1 => (0..4_usize).prop_map(|n| Edit::Decide(n, ",\"status\":7".to_owned())),
        1 => (0..4_usize).prop_map(Edit::DropDecision),
        1 => any::<bool>().prop_map(Edit::OddDecision),
        2 => prop::collection::vec((0..6_usize, 0..3_usize), 0..8).prop_map(Edit::Entities),
        2 => prop::collection::vec((0..6_usize, 0..7_usize, 0..7_usize), 0..8).prop_map(Edit::Relations),
        1 => any::<bool>().prop_map(Edit::Garble),
        1 => Just(Edit::Reopen),
        1 => Just(Edit::Rebuild),
        2 => Just(Edit::Rest),
    ]
}

fn entity_text(id: usize, name: usize) -> String {
    format!("{{\"id\":\"e{id}\",\"name\":\"name {name}\",\"type\":\"file\",\"properties\":{{\"p\":\"value {name}\"}}}}")
}

fn relation_text(id: usize, source: usize, target: usize) -> String {
    format!("{{\"id\":\"r{id}\",\"source\":\"e{source}\",\"target\":\"e{target}\",\"type\":\"calls\"}}")
}

fn array(elements: &[String]) -> String {
    format!("[\n{}\n]\n", elements.join("\n,"))
}

fn perform(desk: &Desk, edit: &Edit, index: &mut Index) {
    let text = fs::read_to_string(desk.path("blackboard.jsonl")).unwrap_or_default();
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let rewrite = |lines: &[String]| desk.board(lines);
    match edit {
        Edit::Append(drafts) => append(desk, &drafts.iter().map(|draft| draft.line() + "\n").collect::<String>()),
        Edit::AppendText(text) => append(desk, text),
        Edit::Insert(at, draft) => {
            lines.insert(at.index(lines.len() + 1), draft.line());
            rewrite(&lines);
        }
        Edit::Remove(at) if !lines.is_empty() => {
            lines.remove(at.index(lines.len()));
            rewrite(&lines);
        }
        Edit::Repeat(at) if !lines.is_empty() => {
            lines.push(lines[at.index(lines.len())].clone());
            rewrite(&lines);
        }
        Edit::Rotate(at) if !lines.is_empty() => {
            let by = at.index(lines.len());
            lines.rotate_left(by);
            rewrite(&lines);
        }
        Edit::RewriteInPlace => {
            // Looked at before and after: an append by another program would hide such an edit in a large board.
            desk.catch_up(index);
            desk.write("blackboard.jsonl", text.replace("lorem", "ipsum"));
            desk.catch_up(index);
        }
        Edit::RemoveBoard => drop(fs::remove_file(desk.path("blackboard.jsonl"))),
        Edit::Decide(n, fields) => desk.decision(&ulid(*n), fields),
        Edit::DropDecision(n) => drop(fs::remove_file(desk.path(&format!("decisions/{}.json", ulid(*n))))),
        Edit::OddDecision(true) => desk.write("decisions/odd.json", "{}"),
        Edit::OddDecision(false) => drop(fs::remove_file(desk.path("decisions/odd.json"))),
        Edit::Entities(all) => {
            desk.swap("graph/entities.json", array(&all.iter().map(|(id, name)| entity_text(*id, *name)).collect::<Vec<_>>()));
        }
        Edit::Relations(all) => {
            desk.swap("graph/relations.json", array(&all.iter().map(|(id, a, b)| relation_text(*id, *a, *b)).collect::<Vec<_>>()));
        }
        Edit::Garble(entities) => {
            let name = if *entities { "graph/entities.json" } else { "graph/relations.json" };
            let text = fs::read_to_string(desk.path(name)).unwrap_or_default();
            desk.swap(name, text.replacen("\"type\"", "\"type", 1));
        }
        Edit::Reopen => *index = Index::open(&desk.files).expect("opens"),
        Edit::Rebuild => drop(index.rebuild(&desk.files).expect("rebuilds")),
        Edit::Remove(_) | Edit::Repeat(_) | Edit::Rotate(_) | Edit::Rest => {}
    }
}

fn append(desk: &Desk, text: &str) {
    let path = desk.path("blackboard.jsonl");
    if !path.exists() {
        fs::write(path, "").expect("writes");
    }
    desk.append(text);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, max_shrink_iters: 2000, ..ProptestConfig::default() })]

    #[test]
    fn an_index_that_followed_any_edits_equals_one_built_anew(
        edits in prop::collection::vec((edit(), any::<bool>()), 1..25)
    ) {
        let desk = Desk::new();
        let mut index = desk.index();
        for (edit, look) in &edits {
            perform(&desk, edit, &mut index);
            if *look {
                desk.catch_up(&mut index);
            }
        }
        desk.catch_up(&mut index);
        desk.assert_right(&index);
    }
}

/// A clock that goes on by a second whenever somebody looks.
struct Ticking(AtomicI64);

impl World for Ticking {
    fn now(&self) -> Time {
        Time::from_ms(NOW + self.0.fetch_add(1000, Ordering::Relaxed))
    }
    fn random(&self) -> u128 {
        7
    }
}

/// What goes through the store: the journal, and its way into the arrays.
#[derive(Clone, Debug)]
enum Act {
    Put(Vec<(usize, usize)>),
    Link(usize, usize, usize),
    Unput(usize),
    Unlink(usize),
    Post,
    Housekeep,
    Look,
    EditEntities(Vec<(usize, usize)>),
    EditRelations(Vec<(usize, usize, usize)>),
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        3 => prop::collection::vec((0..6_usize, 0..3_usize), 1..4).prop_map(Act::Put),
        3 => (0..6_usize, 0..6_usize, 0..6_usize).prop_map(|(id, a, b)| Act::Link(id, a, b)),
        1 => (0..6_usize).prop_map(Act::Unput),
        1 => (0..6_usize).prop_map(Act::Unlink),
        1 => Just(Act::Post),
        3 => Just(Act::Housekeep),
        2 => Just(Act::Look),
        1 => prop::collection::vec((0..6_usize, 0..3_usize), 0..6).prop_map(Act::EditEntities),
        1 => prop::collection::vec((0..6_usize, 0..6_usize, 0..6_usize), 0..6).prop_map(Act::EditRelations),
    ]
}

fn act_out(store: &Store, desk: &Desk, act: &Act) -> Result<(), StoreError> {
    let entity = |id: usize, name: usize| serde_json::from_str::<Entity>(&entity_text(id, name)).expect("an entity");
    let relation = |id: usize, a: usize, b: usize| serde_json::from_str::<Relation>(&relation_text(id, a, b)).expect("a relation");
    let change = match act {
        Act::Put(all) => Change { entities: all.iter().map(|(id, name)| entity(*id, *name)).collect(), ..Change::default() },
        Act::Link(id, a, b) => Change { relations: vec![relation(*id, *a, *b)], ..Change::default() },
        Act::Unput(id) => Change { removed_entities: vec![format!("e{id}")], ..Change::default() },
        Act::Unlink(id) => Change { removed_relations: vec![format!("r{id}")], ..Change::default() },
        Act::Post => {
            let entry: Entry = serde_json::from_str(&line("posted", "need", "words", "")).expect("an entry");
            return store.post(&[entry]);
        }
        Act::Housekeep => return store.housekeep(),
        Act::Look => return store.view(|view| view.tally().map(|_| ())),
        Act::EditEntities(all) => {
            desk.swap("graph/entities.json", array(&all.iter().map(|(id, name)| entity_text(*id, *name)).collect::<Vec<_>>()));
            return Ok(());
        }
        Act::EditRelations(all) => {
            desk.swap("graph/relations.json", array(&all.iter().map(|(id, a, b)| relation_text(*id, *a, *b)).collect::<Vec<_>>()));
            return Ok(());
        }
    };
    store.transact(Durability::Normal, |_| Ok::<_, StoreError>((change.clone(), ())))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, max_shrink_iters: 2000, ..ProptestConfig::default() })]

    #[test]
    fn an_index_that_followed_the_journal_equals_one_built_anew(acts in prop::collection::vec(act(), 1..25)) {
        let mut desk = Desk::new();
        let project = desk.dir.path().canonicalize().expect("exists");
        let ids = Arc::new(IdSource::new(Box::new(Ticking(AtomicI64::new(0)))));
        let store = Store::open(Place { project: project.clone(), ..Place::default() }, ids).expect("opens");
        for act in &acts {
            act_out(&store, &desk, act).expect("goes well");
        }
        act_out(&store, &desk, &Act::Look).expect("goes well");
        desk.files = Files::new(&Layout::open(&Place { project: project.clone(), ..Place::default() }, None).expect("opens").expect("is there"), &Arc::new(AtomicBool::new(true)));
        let index = Index::open(&desk.files).expect("opens");
        desk.assert_right(&index);
    }
}
