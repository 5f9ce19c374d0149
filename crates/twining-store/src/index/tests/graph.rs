use twining_model::{Change, Entity, Time};
use twining_testcases::each;

use super::{IndexFixture, view};
use crate::disk::Fingerprint;
use crate::index::database::Index;
use crate::log::journal::JournalLine;
use crate::log::lock::LockState;
use crate::log::store_files::{Array, ArrayState};

fn entity(id: &str, name: &str, kind: &str) -> String {
    format!("{{\"id\":\"{id}\",\"name\":\"{name}\",\"type\":\"{kind}\"}}")
}

fn relation(id: &str, source: &str, target: &str, kind: &str) -> String {
    format!(
        "{{\"id\":\"{id}\",\"source\":\"{source}\",\"target\":\"{target}\",\"type\":\"{kind}\"}}"
    )
}

fn array(elements: &[String]) -> String {
    format!("[\n{}\n]\n", elements.join("\n,"))
}

/// The journal holds these lines, each putting an entity, and nothing else.
fn journal(fixture: &IndexFixture, lines: &[(u64, &str)]) {
    let text: String = lines
        .iter()
        .map(|(seq, name)| {
            let put: Entity = serde_json::from_str(&entity("e1", name, "file")).expect("an entity");
            let change = Change { entities: vec![put], ..Change::default() };
            let line = JournalLine {
                seq: *seq,
                at: Time::from_ms(0),
                change,
                drained: None,
                followed: None,
                outbox: None,
            };
            serde_json::to_string(&line).expect("prints") + "\n"
        })
        .collect();
    fixture.swap("local/journal.jsonl", text);
}

/// The record says so much is in the journal, and so we left the entities.
fn record(fixture: &IndexFixture, applied_seq: u64, rewrite: Option<ArrayState>) {
    record_after(fixture, 0, applied_seq, rewrite);
}

/// The same after lines were dropped from the journal.
fn record_after(
    fixture: &IndexFixture,
    dropped_seq: u64,
    applied_seq: u64,
    rewrite: Option<ArrayState>,
) {
    let record = LockState {
        dropped_seq,
        applied_seq,
        checkpoint_seq: rewrite.map_or(0, |rewrite| rewrite.through),
        arrays: [rewrite, None, None],
        ..LockState::default()
    };
    record
        .write(&fixture.files.layout.local.create_random_access("lock").expect("opens"))
        .expect("writes");
}

fn entities_print(fixture: &IndexFixture) -> Option<Fingerprint> {
    fixture.files.array_fingerprint(Array::Entities).expect("looks")
}

fn name(index: &Index) -> Option<String> {
    view(index).graph().entity("e1").expect("reads").map(|entity| entity.name)
}

fn found(index: &Index, query: &str, limit: usize) -> (Vec<String>, bool) {
    let (entities, more) = view(index).graph().find(query, &[], limit).expect("searches");
    (entities.into_iter().map(|entity| entity.id).collect(), more)
}

#[test]
fn an_edited_array_changes_what_differs_and_keeps_the_counts_right() {
    let fixture = IndexFixture::new();
    fixture.swap(
        "graph/entities.json",
        array(&[entity("e1", "a", "file"), entity("e2", "b", "file"), entity("e3", "c", "file")]),
    );
    fixture.swap(
        "graph/relations.json",
        array(&[relation("r1", "e1", "e2", "calls"), relation("r2", "e2", "gone", "calls")]),
    );
    let mut index = fixture.index();
    let counts = view(&index).counts().expect("counts");
    assert_eq!(
        (counts.entities, counts.relations, counts.disconnected, counts.dangling),
        (3, 2, 1, 1)
    );
    assert_eq!(view(&index).graph().disconnected(9).expect("a list")[0].id, "e3");
    assert_eq!(view(&index).graph().dangling(9).expect("a list")[0].id, "r2");
    fixture.swap(
        "graph/entities.json",
        array(&[
            entity("e1", "a2", "file"),
            entity("e3", "c", "file"),
            entity("gone", "back", "file"),
        ]),
    );
    fixture.catch_up(&mut index);
    let counts = view(&index).counts().expect("counts");
    assert_eq!((counts.entities, counts.disconnected, counts.dangling), (3, 1, 2));
    fixture.swap("graph/relations.json", array(&[relation("r1", "e1", "e3", "calls")]));
    fixture.catch_up(&mut index);
    let counts = view(&index).counts().expect("counts");
    assert_eq!((counts.relations, counts.disconnected, counts.dangling), (1, 1, 0));
    fixture.assert_right(&index);
}

#[test]
fn of_two_elements_with_one_id_the_last_wins_and_damage_is_named() {
    let fixture = IndexFixture::new();
    fixture.swap(
        "graph/entities.json",
        array(&[
            entity("e1", "old", "file"),
            "{\"name\":\"no id\"}".to_owned(),
            "{\"id\":\"e9\",\"name\":7}".to_owned(),
            entity("e1", "new", "file"),
        ]),
    );
    let mut index = fixture.index();
    assert_eq!(view(&index).graph().entity("e1").expect("reads").expect("is there").name, "new");
    let lines: Vec<Option<u64>> =
        view(&index).unreadable().expect("a list").into_iter().map(|found| found.line).collect();
    assert_eq!(lines, [Some(3), Some(4)]);
    fixture.swap(
        "graph/entities.json",
        array(&[entity("e1", "new", "file"), entity("e1", "old", "file")]),
    );
    fixture.catch_up(&mut index);
    assert_eq!(view(&index).graph().entity("e1").expect("reads").expect("is there").name, "old");
    fixture.assert_right(&index);
}

#[test]
fn one_name_under_two_ids_stays_two_and_the_older_is_meant() {
    let fixture = IndexFixture::new();
    fixture.swap(
        "graph/entities.json",
        array(&[
            entity("e2", "jwt", "file"),
            entity("e1", "jwt", "file"),
            entity("e3", "jwt", "module"),
        ]),
    );
    let index = fixture.index();
    let view = view(&index);
    assert_eq!(view.graph().named("jwt").expect("a list").len(), 3);
    assert_eq!(view.graph().named_as("jwt", "file").expect("reads").expect("is there").id, "e1");
    assert!(view.graph().named_as("jwt", "class").expect("reads").is_none());
}

#[test]
fn finding_prefers_the_name_itself_then_its_beginning_then_any_part_then_properties() {
    let fixture = IndexFixture::new();
    let noted = "{\"id\":\"e5\",\"name\":\"zebra\",\"type\":\"file\",\"properties\":{\"path\":\"lib/Auth/x\"}}".to_owned();
    fixture.swap(
        "graph/entities.json",
        array(&[
            noted,
            entity("e1", "oauth", "file"),
            entity("e2", "Author", "file"),
            entity("e3", "AUTH", "module"),
            entity("e4", "other", "file"),
        ]),
    );
    let index = fixture.index();
    assert_eq!(
        found(&index, "auth", 9),
        (vec!["e3".into(), "e2".into(), "e1".into(), "e5".into()], false)
    );
    assert_eq!(found(&index, "auth", 2), (vec!["e3".into(), "e2".into()], true));
    assert_eq!(found(&index, "OA", 9), (vec!["e1".into()], false));
    assert_eq!(found(&index, "\" OR name : *", 9).0.len(), 0);
    let (files, _) =
        view(&index).graph().find("auth", &["module".to_owned()], 9).expect("searches");
    assert_eq!(files.len(), 1);
}

#[test]
fn finding_among_thousands_of_matches_is_in_order_of_names() {
    let fixture = IndexFixture::new();
    let entities: Vec<String> = (0..2500)
        .map(|n| entity(&format!("e{n}"), &format!("{:04} handler", (n * 7919) % 2500), "function"))
        .collect();
    fixture.swap("graph/entities.json", array(&entities));
    let index = fixture.index();
    let (entities, more) = view(&index).graph().find("handler", &[], 3).expect("searches");
    let names: Vec<&str> = entities.iter().map(|entity| entity.name.as_str()).collect();
    assert_eq!((names, more), (vec!["0000 handler", "0001 handler", "0002 handler"], true));
}

#[test]
fn edges_come_from_both_sides_in_one_order_and_a_loop_once() {
    let fixture = IndexFixture::new();
    fixture.swap(
        "graph/entities.json",
        array(&[entity("a", "a", "file"), entity("b", "b", "file"), entity("c", "c", "file")]),
    );
    fixture.swap(
        "graph/relations.json",
        array(&[
            relation("r1", "a", "b", "calls"),
            relation("r2", "c", "a", "calls"),
            relation("r3", "a", "a", "imports"),
            relation("r4", "a", "b", "affects"),
        ]),
    );
    let index = fixture.index();
    let view = view(&index);
    let edges = view.graph().edges("a", &[], 9).expect("a list");
    let seen: Vec<(&str, &str, bool)> = edges
        .iter()
        .map(|edge| (edge.relation.id.as_str(), edge.other.as_str(), edge.outgoing))
        .collect();
    assert_eq!(seen, [("r4", "b", true), ("r1", "b", true), ("r2", "c", false), ("r3", "a", true)]);
    assert_eq!(
        view.graph()
            .edges("a", &["calls".to_owned(), "calls".to_owned()], 9)
            .expect("a list")
            .len(),
        2
    );
    assert_eq!(view.graph().edges("a", &[], 2).expect("a list").len(), 2);
    assert_eq!(
        view.graph().relation_between("a", "b", "calls").expect("reads").expect("is there").id,
        "r1"
    );
    assert!(view.graph().relation_between("b", "a", "calls").expect("reads").is_none());
}

#[test]
fn the_journal_is_laid_over_the_array_and_followed() {
    let fixture = IndexFixture::new();
    fixture.swap("graph/entities.json", array(&[entity("e1", "in the array", "file")]));
    journal(&fixture, &[(5, "five")]);
    record(&fixture, 5, None);
    let mut index = fixture.index();
    assert_eq!(name(&index).as_deref(), Some("five"));
    journal(&fixture, &[(5, "five"), (9, "nine"), (12, "not settled yet")]);
    record(&fixture, 9, None);
    fixture.catch_up(&mut index);
    assert_eq!(name(&index).as_deref(), Some("nine"));
    fixture.assert_right(&index);
}

#[test]
fn our_own_rewrite_of_an_array_is_noted_without_reading_it() {
    let fixture = IndexFixture::new();
    journal(&fixture, &[(5, "five")]);
    record(&fixture, 5, None);
    let mut index = fixture.index();
    let from = entities_print(&fixture);
    // Not what the journal says, which only a reader of the file would see.
    fixture.swap("graph/entities.json", array(&[entity("e1", "unread", "file")]));
    let to = entities_print(&fixture).expect("is there");
    record(&fixture, 5, Some(ArrayState { from, to, through: 5, ..ArrayState::default() }));
    fixture.catch_up(&mut index);
    assert_eq!(name(&index).as_deref(), Some("five"));
    fixture.swap("graph/entities.json", array(&[entity("e1", "edited", "file")]));
    fixture.catch_up(&mut index);
    assert_eq!(name(&index).as_deref(), Some("edited"));
}

#[test]
fn a_rewrite_of_what_somebody_edited_is_read() {
    let fixture = IndexFixture::new();
    journal(&fixture, &[(5, "five")]);
    record(&fixture, 5, None);
    let mut index = fixture.index();
    fixture.swap("graph/entities.json", array(&[entity("e2", "edited", "file")]));
    let from = entities_print(&fixture);
    fixture.swap(
        "graph/entities.json",
        array(&[entity("e1", "five", "file"), entity("e2", "edited", "file")]),
    );
    let to = entities_print(&fixture).expect("is there");
    record(
        &fixture,
        5,
        Some(ArrayState { from, since: 5, to, through: 5, has_gaps: false, is_unchecked: false }),
    );
    fixture.catch_up(&mut index);
    assert_eq!(view(&index).counts().expect("counts").entities, 2);
    fixture.assert_right(&index);
}

#[test]
fn a_rewrite_that_overtook_the_index_is_followed_or_read_but_never_missed() {
    each([&[(5, "five"), (7, "seven")][..], &[]], |kept| {
        let fixture = IndexFixture::new();
        journal(&fixture, &[(5, "five")]);
        record(&fixture, 5, None);
        let mut index = fixture.index();
        let from = entities_print(&fixture);
        fixture.swap("graph/entities.json", array(&[entity("e1", "seven", "file")]));
        journal(&fixture, kept);
        let dropped = if kept.is_empty() { 7 } else { 0 };
        let to = entities_print(&fixture).expect("is there");
        record_after(
            &fixture,
            dropped,
            7,
            Some(ArrayState {
                from,
                since: 5,
                to,
                through: 7,
                has_gaps: false,
                is_unchecked: false,
            }),
        );
        fixture.catch_up(&mut index);
        assert_eq!(name(&index).as_deref(), Some("seven"), "{kept:?}");
    });
}

#[test]
fn many_writes_of_ours_are_followed_and_one_of_others_between_them_is_read() {
    let fixture = IndexFixture::new();
    journal(&fixture, &[(5, "five")]);
    record(&fixture, 5, None);
    let mut index = fixture.index();
    each([(3, "nine"), (5, "unlike the journal")], |(since, name_now)| {
        fixture.swap("graph/entities.json", array(&[entity("e1", "unlike the journal", "file")]));
        let to = entities_print(&fixture).expect("is there");
        journal(&fixture, &[(5, "five"), (7, "seven"), (9, "nine")]);
        let left = ArrayState {
            from: Some(Fingerprint::default()),
            since,
            to,
            through: 9,
            has_gaps: false,
            is_unchecked: false,
        };
        record(&fixture, 9, Some(left));
        let mut copy = fixture.index();
        fixture.catch_up(&mut copy);
        fixture.catch_up(&mut index);
        assert_eq!(name(&index).as_deref(), Some(name_now), "since {since}");
        // Back to where the index began.
        std::fs::remove_file(fixture.files.layout.local.path().join("index.db")).expect("removes");
        journal(&fixture, &[(5, "five")]);
        record(&fixture, 5, None);
        index = fixture.index();
    });
}

#[test]
fn a_change_that_was_taken_back_before_the_array_was_rewritten_is_taken_back() {
    let fixture = IndexFixture::new();
    fixture.swap("graph/entities.json", array(&[entity("e1", "as it was", "file")]));
    let print = entities_print(&fixture);
    journal(&fixture, &[(5, "five")]);
    record(&fixture, 5, None);
    let mut index = fixture.index();
    assert_eq!(name(&index).as_deref(), Some("five"));
    // Line 7 set it back, so the rewrite left the file alone; both lines are gone by now.
    journal(&fixture, &[]);
    let to = print.expect("is there");
    record_after(
        &fixture,
        7,
        7,
        Some(ArrayState { from: print, to, through: 7, ..ArrayState::default() }),
    );
    fixture.catch_up(&mut index);
    assert_eq!(name(&index).as_deref(), Some("as it was"));
    fixture.assert_right(&index);
}
