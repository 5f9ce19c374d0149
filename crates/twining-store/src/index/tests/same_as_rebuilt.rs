//! Whatever is done to the files, the index that followed equals a new one.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use twining_testcases::each;

use proptest::prelude::*;
use twining_model::{Change, Entity, Entry, IdSource, Relation, Time, World};

use super::{IndexFixture, NOW, anchor_line, line, ulid};
use crate::StoreError;
use crate::disk::layout::{Layout, StoreLocation};
use crate::index::database::Index;
use crate::log::store_files::StoreFiles;
use crate::store::{Durability, Store};

/// What somebody does to the files behind our back.
#[derive(Clone, Debug)]
enum EditStep {
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
    AppendAnchors(Vec<(usize, usize, usize)>),
    AppendAnchorText(String),
    RotateAnchors(prop::sample::Index),
    RemoveAnchor(prop::sample::Index),
    RemoveAnchors,
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
        let relates: Vec<String> =
            self.relates.iter().map(|id| format!("\"{}\"", ulid(*id))).collect();
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
    let kinds = prop::sample::select(vec![
        "need", "question", "warning", "finding", "answer", "status", "decision", "rumour",
    ]);
    let scopes = prop::sample::select(vec!["project", "src/", "src/a.rs", "docs", ""]);
    (
        0..12_usize,
        kinds,
        prop::collection::vec(0..12_usize, 0..3),
        scopes,
        prop_oneof![9 => 0..5_usize, 1 => 3000..4000_usize],
    )
        .prop_map(|(id, kind, relates, scope, padding)| Draft {
            id,
            kind,
            relates,
            scope,
            padding,
        })
}

fn edit() -> impl Strategy<Value = EditStep> {
    let at = any::<prop::sample::Index>;
    let statuses = prop::sample::select(vec!["active", "provisional", "superseded", "overridden"]);
    prop_oneof![
        4 => prop::collection::vec(draft(), 1..20).prop_map(EditStep::Append),
        1 => prop::sample::select(vec!["{\"id\":", "\n", "<<<<<<< x\n", "\n\n", "junk\n", "{\"id\":\"whole\"}"]).prop_map(|text| EditStep::AppendText(text.to_owned())),
        1 => (at(), draft()).prop_map(|(at, draft)| EditStep::Insert(at, draft)),
        2 => at().prop_map(EditStep::Remove),
        1 => at().prop_map(EditStep::Repeat),
        1 => at().prop_map(EditStep::Rotate),
        1 => Just(EditStep::RewriteInPlace),
        1 => Just(EditStep::RemoveBoard),
        2 => (0..4_usize, statuses, 0..3_usize).prop_map(|(n, status, m)| EditStep::Decide(
            n,
            format!(",\"status\":\"{status}\",\"scope\":\"src/{m}\",\"depends_on\":[\"{}\"],\"affected_files\":[\"a{m}\"],\"commit_hashes\":[\"abc{m}\"]", ulid(m))
        )),
        1 => (0..4_usize).prop_map(|n| EditStep::Decide(n, ",\"status\":7".to_owned())),
        1 => (0..4_usize).prop_map(EditStep::DropDecision),
        1 => any::<bool>().prop_map(EditStep::OddDecision),
        2 => prop::collection::vec((0..6_usize, 0..3_usize), 0..8).prop_map(EditStep::Entities),
        2 => prop::collection::vec((0..6_usize, 0..7_usize, 0..7_usize), 0..8).prop_map(EditStep::Relations),
        1 => any::<bool>().prop_map(EditStep::Garble),
        3 => prop::collection::vec((0..12_usize, 0..4_usize, 0..4_usize), 1..20).prop_map(EditStep::AppendAnchors),
        1 => prop::sample::select(vec!["{\"id\":", "\n", "<<<<<<< x\n", "\n\n", "junk\n", "{\"id\":\"whole\",\"of\":\"node:n\",\"at\":\"a.rs\"}"]).prop_map(|text| EditStep::AppendAnchorText(text.to_owned())),
        1 => at().prop_map(EditStep::RotateAnchors),
        1 => at().prop_map(EditStep::RemoveAnchor),
        1 => Just(EditStep::RemoveAnchors),
        1 => Just(EditStep::Reopen),
        1 => Just(EditStep::Rebuild),
        2 => Just(EditStep::Rest),
    ]
}

fn entity_text(id: usize, name: usize) -> String {
    format!(
        "{{\"id\":\"e{id}\",\"name\":\"name {name}\",\"type\":\"file\",\"properties\":{{\"p\":\"value {name}\"}}}}"
    )
}

fn relation_text(id: usize, source: usize, target: usize) -> String {
    format!(
        "{{\"id\":\"r{id}\",\"source\":\"e{source}\",\"target\":\"e{target}\",\"type\":\"calls\"}}"
    )
}

fn array(elements: &[String]) -> String {
    format!("[\n{}\n]\n", elements.join("\n,"))
}

fn perform(fixture: &IndexFixture, edit: &EditStep, index: &mut Index) {
    let text = fs::read_to_string(fixture.path("blackboard.jsonl")).unwrap_or_default();
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let rewrite = |lines: &[String]| fixture.board(lines);
    match edit {
        EditStep::Append(drafts) => {
            append(fixture, &drafts.iter().map(|draft| draft.line() + "\n").collect::<String>());
        }
        EditStep::AppendText(text) => append(fixture, text),
        EditStep::Insert(at, draft) => {
            lines.insert(at.index(lines.len() + 1), draft.line());
            rewrite(&lines);
        }
        EditStep::Remove(at) if !lines.is_empty() => {
            lines.remove(at.index(lines.len()));
            rewrite(&lines);
        }
        EditStep::Repeat(at) if !lines.is_empty() => {
            lines.push(lines[at.index(lines.len())].clone());
            rewrite(&lines);
        }
        EditStep::Rotate(at) if !lines.is_empty() => {
            let by = at.index(lines.len());
            lines.rotate_left(by);
            rewrite(&lines);
        }
        EditStep::RewriteInPlace => {
            // Looked at before and after: an append by another program would hide such an edit in a large board.
            fixture.catch_up(index);
            fixture.write("blackboard.jsonl", text.replace("lorem", "ipsum"));
            fixture.catch_up(index);
        }
        EditStep::RemoveBoard => drop(fs::remove_file(fixture.path("blackboard.jsonl"))),
        EditStep::Decide(n, fields) => fixture.decision(&ulid(*n), fields),
        EditStep::DropDecision(n) => {
            drop(fs::remove_file(fixture.path(&format!("decisions/{}.json", ulid(*n)))));
        }
        EditStep::OddDecision(true) => fixture.write("decisions/odd.json", "{}"),
        EditStep::OddDecision(false) => drop(fs::remove_file(fixture.path("decisions/odd.json"))),
        EditStep::Entities(all) => {
            fixture.swap(
                "graph/entities.json",
                array(&all.iter().map(|(id, name)| entity_text(*id, *name)).collect::<Vec<_>>()),
            );
        }
        EditStep::Relations(all) => {
            fixture.swap(
                "graph/relations.json",
                array(&all.iter().map(|(id, a, b)| relation_text(*id, *a, *b)).collect::<Vec<_>>()),
            );
        }
        EditStep::Garble(entities) => {
            let name = if *entities { "graph/entities.json" } else { "graph/relations.json" };
            let text = fs::read_to_string(fixture.path(name)).unwrap_or_default();
            fixture.swap(name, text.replacen("\"type\"", "\"type", 1));
        }
        EditStep::AppendAnchors(all) => {
            let line = |(id, of, at): &(usize, usize, usize)| anchor_line(*id, *of, *at) + "\n";
            fixture.append_anchors(all.iter().map(line).collect::<String>());
        }
        EditStep::AppendAnchorText(text) => fixture.append_anchors(text),
        EditStep::RotateAnchors(at) | EditStep::RemoveAnchor(at) => {
            let text = fs::read_to_string(fixture.path("anchors.jsonl")).unwrap_or_default();
            let mut lines: Vec<&str> = text.lines().collect();
            if lines.is_empty() {
                return;
            }
            let chosen = at.index(lines.len());
            if matches!(edit, EditStep::RotateAnchors(_)) {
                lines.rotate_left(chosen);
            } else {
                lines.remove(chosen);
            }
            let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
            fixture.swap("anchors.jsonl", text);
        }
        EditStep::RemoveAnchors => drop(fs::remove_file(fixture.path("anchors.jsonl"))),
        EditStep::Reopen => *index = Index::open(&fixture.files).expect("opens"),
        EditStep::Rebuild => drop(index.rebuild(&fixture.files).expect("rebuilds")),
        EditStep::Remove(_) | EditStep::Repeat(_) | EditStep::Rotate(_) | EditStep::Rest => {}
    }
}

fn append(fixture: &IndexFixture, text: &str) {
    let path = fixture.path("blackboard.jsonl");
    if !path.exists() {
        fs::write(path, "").expect("writes");
    }
    fixture.append(text);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, max_shrink_iters: 2000, ..ProptestConfig::default() })]

    #[test]
    fn an_index_that_followed_any_edits_equals_one_built_anew(
        edits in prop::collection::vec((edit(), any::<bool>()), 1..25)
    ) {
        let fixture = IndexFixture::new();
        let mut index = fixture.index();
        for (edit, look) in &edits {
            perform(&fixture, edit, &mut index);
            if *look {
                fixture.catch_up(&mut index);
            }
        }
        fixture.catch_up(&mut index);
        fixture.assert_right(&index);
    }
}

#[test]
fn a_removed_line_that_began_a_segment_opens_the_segment_before_it_again() {
    let fixture = IndexFixture::new();
    let mut index = fixture.index();
    let mut lines: Vec<String> =
        (0..6).map(|n| line(&ulid(n), "finding", &"x".repeat(14_000), "")).collect();
    each([false, true], |remove| {
        if remove {
            lines.pop();
        }
        fixture.board(&lines);
        fixture.catch_up(&mut index);
        fixture.assert_right(&index);
    });
}

#[test]
fn a_long_file_of_anchors_is_read_on_from_its_end() {
    let fixture = IndexFixture::new();
    let mut index = fixture.index();
    let text: String = (0..2000).map(|n| anchor_line(n, n % 7, n % 5) + "\n").collect();
    assert!(text.len() > 256 * 1024);
    fixture.swap("anchors.jsonl", &text);
    fixture.catch_up(&mut index);
    fixture.append_anchors(anchor_line(2000, 1, 1) + "\n");
    assert_eq!(index.catch_up(&fixture.files).expect("catches up"), 1);
    fixture.assert_right(&index);
    // As a checkout of another branch leaves it.
    let other = text.replace(&anchor_line(1990, 1990 % 7, 0), &anchor_line(1990, 1, 1));
    fixture.swap("anchors.jsonl", other);
    let read = index.catch_up(&fixture.files).expect("catches up");
    assert!((10..40).contains(&read), "{read}: only what follows the first difference");
    fixture.assert_right(&index);
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
    Anchor(usize, usize),
    Housekeep,
    TreeHasher,
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
        2 => (0..12_usize, 0..3_usize).prop_map(|(id, at)| Act::Anchor(id, at)),
        3 => Just(Act::Housekeep),
        2 => Just(Act::TreeHasher),
        1 => prop::collection::vec((0..6_usize, 0..3_usize), 0..6).prop_map(Act::EditEntities),
        1 => prop::collection::vec((0..6_usize, 0..6_usize, 0..6_usize), 0..6).prop_map(Act::EditRelations),
    ]
}

fn act_out(store: &Store, fixture: &IndexFixture, act: &Act) -> Result<(), StoreError> {
    let entity = |id: usize, name: usize| {
        serde_json::from_str::<Entity>(&entity_text(id, name)).expect("an entity")
    };
    let relation = |id: usize, a: usize, b: usize| {
        serde_json::from_str::<Relation>(&relation_text(id, a, b)).expect("a relation")
    };
    let change = match act {
        Act::Put(all) => Change {
            entities: all.iter().map(|(id, name)| entity(*id, *name)).collect(),
            ..Change::default()
        },
        Act::Link(id, a, b) => {
            Change { relations: vec![relation(*id, *a, *b)], ..Change::default() }
        }
        Act::Unput(id) => Change { removed_entities: vec![format!("e{id}")], ..Change::default() },
        Act::Unlink(id) => {
            Change { removed_relations: vec![format!("r{id}")], ..Change::default() }
        }
        Act::Anchor(id, at) => {
            let anchor = serde_json::from_str(&anchor_line(*id, 1, *at)).expect("an anchor");
            Change { anchors: vec![anchor], ..Change::default() }
        }
        Act::Post => {
            let entry: Entry =
                serde_json::from_str(&line("posted", "need", "words", "")).expect("an entry");
            return store.post(&[entry]);
        }
        Act::Housekeep => return store.housekeep(),
        Act::TreeHasher => return store.view(|view| view.counts().map(|_| ())),
        Act::EditEntities(all) => {
            fixture.swap(
                "graph/entities.json",
                array(&all.iter().map(|(id, name)| entity_text(*id, *name)).collect::<Vec<_>>()),
            );
            return Ok(());
        }
        Act::EditRelations(all) => {
            fixture.swap(
                "graph/relations.json",
                array(&all.iter().map(|(id, a, b)| relation_text(*id, *a, *b)).collect::<Vec<_>>()),
            );
            return Ok(());
        }
    };
    store.transact(Durability::Normal, |_| Ok::<_, StoreError>((change.clone(), ())))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, max_shrink_iters: 2000, ..ProptestConfig::default() })]

    #[test]
    fn an_index_that_followed_the_journal_equals_one_built_anew(acts in prop::collection::vec(act(), 1..25)) {
        let mut fixture = IndexFixture::new();
        let project = fixture.dir.path().canonicalize().expect("exists");
        let ids = Arc::new(IdSource::new(Box::new(Ticking(AtomicI64::new(0)))));
        let store = Store::open(StoreLocation { project: project.clone(), ..StoreLocation::default() }, ids).expect("opens");
        for act in &acts {
            act_out(&store, &fixture, act).expect("goes well");
        }
        act_out(&store, &fixture, &Act::TreeHasher).expect("goes well");
        fixture.files = StoreFiles::new(&Layout::open(&StoreLocation { project: project.clone(), ..StoreLocation::default() }, None).expect("opens").expect("is there"), &Arc::new(AtomicBool::new(true)));
        let index = Index::open(&fixture.files).expect("opens");
        fixture.assert_right(&index);
    }
}
