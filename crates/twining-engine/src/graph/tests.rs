mod picture;

use std::collections::BTreeMap;
use twining_testcases::each;

use serde_json::json;

use crate::testing::{Project, caller, choice};
use crate::{
    AddEntityInput, AddRelationInput, DecideInput, Failure, GraphQueryInput, NeighborsInput,
    NeighborsOutcome, PathInput, PathOutcome, PruneInput, RelationDirection,
};

fn entity(name: &str, kind: &str, properties: &[(&str, &str)]) -> AddEntityInput {
    let properties = properties.iter().map(|&(k, v)| (k.to_owned(), v.to_owned())).collect();
    AddEntityInput { name: name.into(), kind: kind.into(), properties, agent_id: None }
}

fn relation(source: &str, kind: &str, target: &str) -> AddRelationInput {
    AddRelationInput {
        source: source.into(),
        target: target.into(),
        kind: kind.into(),
        properties: BTreeMap::new(),
        agent_id: None,
    }
}

fn neighbors(project: &Project, name: &str, depth: usize) -> NeighborsOutcome {
    project
        .engine
        .neighbors(&NeighborsInput {
            entity: name.into(),
            depth: Some(depth),
            relation_types: vec![],
        })
        .expect("walks")
}

fn names(outcome: &NeighborsOutcome) -> Vec<(&str, u64)> {
    outcome
        .neighbors
        .iter()
        .map(|neighbor| (neighbor.entity.name.as_str(), neighbor.depth))
        .collect()
}

fn path(project: &Project, from: &str, to: &str, max_depth: Option<usize>) -> PathOutcome {
    project
        .engine
        .path(&PathInput { from: from.into(), to: to.into(), max_depth, relation_types: vec![] })
        .expect("searches")
}

fn stops(outcome: &PathOutcome) -> Vec<&str> {
    outcome.path.iter().map(|step| step.entity.name.as_str()).collect()
}

/// Functions a, b, c, … where each calls the next.
fn chain(project: &Project, names: &[&str]) {
    for name in names {
        project.add_entity(name, "function");
    }
    for pair in names.windows(2) {
        project.relate(pair[0], "calls", pair[1]);
    }
}

#[test]
fn saying_an_entity_twice_merges_what_is_known_of_it() {
    let project = Project::new();
    let first = project
        .engine
        .add_entity(
            &caller("ada"),
            &entity("auth", "module", &[("owner", "ada"), ("lang", "rust")]),
        )
        .expect("adds");
    project.clock.advance_ms(1000);
    let second = project
        .engine
        .add_entity(&caller("bob"), &entity("auth", "module", &[("owner", "bob")]))
        .expect("adds");
    assert_eq!((first.created, second.created, &first.id), (true, false, &second.id));
    let entities = project.entities();
    assert_eq!(
        (
            entities.len(),
            entities[0].properties["owner"].as_str(),
            entities[0].properties["lang"].as_str()
        ),
        (1, "bob", "rust")
    );
    assert!(entities[0].updated_at > entities[0].created_at);
}

#[test]
fn whoever_wrote_an_entity_or_a_relation_last_stands_by_it() {
    let project = Project::new();
    project
        .engine
        .add_entity(&caller("ada"), &entity("auth", "module", &[("owner", "ada")]))
        .expect("adds");
    project
        .engine
        .add_entity(&caller("bob"), &entity("auth", "module", &[("owner", "ada")]))
        .expect("adds nothing");
    assert_eq!(project.entities()[0].agent_id.as_deref(), Some("ada"), "nothing new, nobody new");
    project
        .engine
        .add_entity(&caller("bob"), &entity("auth", "module", &[("owner", "bob")]))
        .expect("adds");
    let auth = project.entities().remove(0);
    assert_eq!((auth.agent_id.as_deref(), auth.origin), (Some("bob"), Some(caller("bob").origin)));
    project.add_entity("db", "module");
    project.engine.add_relation(&caller("cay"), &relation("auth", "calls", "db")).expect("relates");
    let edges = neighbors(&project, "auth", 1);
    assert_eq!(
        edges.neighbors[0].entity.origin.as_ref().map(|origin| origin.trust),
        Some(twining_model::Trust::Agent)
    );
}

#[test]
fn two_processes_that_add_one_entity_at_once_make_one() {
    let project = Project::new();
    let other = project.another_engine();
    std::thread::scope(|threads| {
        for engine in [&project.engine, &other] {
            threads.spawn(move || {
                for n in 0..20 {
                    engine
                        .add_entity(&caller("x"), &entity(&format!("m{n}"), "module", &[]))
                        .expect("adds");
                }
            });
        }
    });
    assert_eq!(project.entities().len(), 20);
}

#[test]
fn a_type_nobody_knows_and_properties_without_end_are_refused() {
    let project = Project::new();
    let many: Vec<(String, String)> = (0..51).map(|n| (format!("k{n}"), "v".into())).collect();
    let many: Vec<(&str, &str)> = many.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
    let cases = [
        ("type", entity("auth", "modul", &[])),
        ("name", entity("", "module", &[])),
        ("name", entity("a\0b", "module", &[])),
        ("properties", entity("auth", "module", &[("k", &"v".repeat(1001))])),
        ("properties", entity("auth", "module", &[("", "v")])),
        ("properties", entity("auth", "module", &many)),
    ];
    each(cases, |(field, input)| {
        let failure = project.engine.add_entity(&caller("ada"), &input).expect_err("refused");
        assert!(failure.to_string().starts_with(&format!("`{field}` ")), "{failure}");
    });
    project
        .engine
        .add_entity(&caller("ada"), &entity("auth", "module", &many[..50]))
        .expect("fifty fit");
    let one_more = project
        .engine
        .add_entity(&caller("ada"), &entity("auth", "module", &[("more", "v")]))
        .expect_err("fifty-one do not");
    assert!(one_more.to_string().starts_with("`properties` "));
}

#[test]
fn a_file_goes_by_its_path_in_the_project() {
    let project = Project::new();
    let absolute = project.path().join("src/a.rs").to_string_lossy().into_owned();
    project.engine.add_entity(&caller("ada"), &entity(&absolute, "file", &[])).expect("adds");
    project.decide(&DecideInput {
        affected_files: vec!["src/a.rs".into()],
        ..choice("a", "src/", "x")
    });
    assert_eq!(project.entities().iter().filter(|entity| entity.kind == "file").count(), 1);
    assert_eq!(neighbors(&project, &absolute, 1).center.name, "src/a.rs");
}

#[test]
fn a_name_in_several_types_is_an_error_that_lists_them_with_ids() {
    let project = Project::new();
    let module = project.add_entity("auth", "module");
    let concept = project.add_entity("auth", "concept");
    project.add_entity("db", "module");
    let failure = project
        .engine
        .add_relation(&caller("ada"), &relation("auth", "depends_on", "db"))
        .expect_err("ambiguous");
    assert_eq!(failure.code(), "AMBIGUOUS_ENTITY");
    let Failure::Ambiguous { candidates, .. } = &failure else { panic!("{failure}") };
    assert_eq!(candidates.len(), 2);
    assert!(
        failure.to_string().contains(&module) && failure.to_string().contains(&concept),
        "{failure}"
    );
    assert!(
        project
            .engine
            .add_relation(&caller("ada"), &relation(&module, "depends_on", "db"))
            .expect("by id")
            .created
    );
}

#[test]
fn one_entity_that_two_branches_made_is_not_ambiguous() {
    let project = Project::new();
    project.write(
        "graph/entities.json",
        &json!([
            {"id": "01M7EB3QWY4C5CPJF6982ZJQ19", "name": "auth", "type": "module"},
            {"id": "01M7EB3QWY4C5CPJF6982ZJQ18", "name": "auth", "type": "module"},
        ])
        .to_string(),
    );
    assert_eq!(neighbors(&project, "auth", 1).center.id, "01M7EB3QWY4C5CPJF6982ZJQ18");
}

#[test]
fn the_same_relation_twice_is_one_relation() {
    let project = Project::new();
    chain(&project, &["a", "b"]);
    let again =
        project.engine.add_relation(&caller("ada"), &relation("a", "calls", "b")).expect("answers");
    assert!(!again.created);
    let reason = AddRelationInput {
        properties: BTreeMap::from([("why".into(), "hot path".into())]),
        ..relation("a", "calls", "b")
    };
    assert_eq!(project.engine.add_relation(&caller("ada"), &reason).expect("merges").id, again.id);
    let relations = project.relations();
    assert_eq!((relations.len(), relations[0].properties["why"].as_str()), (1, "hot path"));
}

#[test]
fn a_relation_needs_both_ends_and_a_known_type() {
    let project = Project::new();
    project.add_entity("a", "function");
    let refuse = |input: &AddRelationInput| {
        project.engine.add_relation(&caller("ada"), input).expect_err("refused")
    };
    assert_eq!(refuse(&relation("a", "calls", "ghost")).code(), "NOT_FOUND");
    assert!(refuse(&relation("a", "likes", "a")).to_string().starts_with("`type` "));
    assert!(refuse(&relation("", "calls", "a")).to_string().starts_with("`source` "));
    assert!(project.relations().is_empty());
}

#[test]
fn neighbors_come_nearest_first_each_once_even_in_a_ring() {
    let project = Project::new();
    chain(&project, &["a", "b", "c", "d"]);
    project.relate("d", "calls", "a");
    project.relate("a", "calls", "a");
    let near = neighbors(&project, "a", 1);
    assert_eq!(names(&near), [("b", 1), ("d", 1)]);
    assert_eq!(near.neighbors[1].direction, RelationDirection::Incoming);
    assert_eq!(names(&neighbors(&project, "a", 3)), [("b", 1), ("d", 1), ("c", 2)]);
}

#[test]
fn neighbors_follow_only_the_relations_asked_for() {
    let project = Project::new();
    chain(&project, &["a", "b"]);
    project.add_entity("t", "file");
    project.relate("a", "tested_by", "t");
    let input = NeighborsInput {
        entity: "a".into(),
        depth: None,
        relation_types: vec!["tested_by".into()],
    };
    assert_eq!(names(&project.engine.neighbors(&input).expect("walks")), [("t", 1)]);
    let wrong =
        NeighborsInput { entity: "a".into(), depth: None, relation_types: vec!["tests".into()] };
    assert!(
        project
            .engine
            .neighbors(&wrong)
            .expect_err("refused")
            .to_string()
            .starts_with("`relation_types` ")
    );
}

#[test]
fn a_depth_beyond_three_is_refused_by_name() {
    let project = Project::new();
    project.add_entity("a", "function");
    each([0, 4, usize::MAX], |depth| {
        let failure = project.engine.neighbors(&NeighborsInput {
            entity: "a".into(),
            depth: Some(depth),
            relation_types: vec![],
        });
        assert!(
            failure.expect_err("refused").to_string().starts_with("`depth` must be from 1 to 3")
        );
    });
}

#[test]
fn a_path_is_the_shortest_and_tells_which_way_each_relation_points() {
    let project = Project::new();
    chain(&project, &["a", "b", "c", "d", "e"]);
    project.relate("e", "calls", "c");
    let found = path(&project, "a", "e", None);
    assert_eq!((found.found, found.length, stops(&found)), (true, 3, vec!["a", "b", "c", "e"]));
    let directions: Vec<Option<RelationDirection>> =
        found.path.iter().map(|step| step.direction).collect();
    assert_eq!(
        directions,
        [
            None,
            Some(RelationDirection::Outgoing),
            Some(RelationDirection::Outgoing),
            Some(RelationDirection::Incoming)
        ]
    );
    assert_eq!(found.path[0].relation, None);
    let back = path(&project, "e", "a", None);
    assert_eq!(stops(&back), ["e", "c", "b", "a"]);
    assert_eq!(back.path[1].direction, Some(RelationDirection::Outgoing));
    assert_eq!(back.path[2].direction, Some(RelationDirection::Incoming));
}

#[test]
fn every_path_is_as_short_as_a_plain_search_finds_it() {
    let project = Project::new();
    let names: Vec<String> = (0..14).map(|n| format!("n{n}")).collect();
    names.iter().for_each(|name| drop(project.add_entity(name, "function")));
    let edges: Vec<(usize, usize)> =
        (0..20).map(|n| ((n * 5 + 1) % 13, (n * n * 3 + n) % 14)).collect();
    for &(from, to) in &edges {
        project.relate(&names[from], "calls", &names[to]);
    }
    let distance = |from: usize, to: usize| {
        let mut reached = vec![from];
        for steps in 0..=14 {
            if reached.contains(&to) {
                return Some(steps);
            }
            for &(a, b) in &edges {
                let (has_a, has_b) = (reached.contains(&a), reached.contains(&b));
                // Only what was reached before this round counts; the marks keep it so.
                if has_a && !has_b {
                    reached.push(b + 100);
                }
                if has_b && !has_a {
                    reached.push(a + 100);
                }
            }
            reached.iter_mut().for_each(|node| *node %= 100);
        }
        None
    };
    for from in 0..14 {
        for to in 0..14 {
            let found = path(&project, &names[from], &names[to], Some(16));
            assert_eq!(found.found.then_some(found.length), distance(from, to), "{from} to {to}");
            assert_eq!(found.path.len() as u64, if found.found { found.length + 1 } else { 0 });
        }
    }
}

#[test]
fn a_path_knows_when_there_is_none_and_when_it_is_too_long() {
    let project = Project::new();
    chain(&project, &["a", "b", "c", "d"]);
    project.add_entity("island", "function");
    assert!(!path(&project, "a", "island", None).found);
    assert!(!path(&project, "a", "d", Some(2)).found);
    assert_eq!(path(&project, "a", "d", Some(3)).length, 3);
    let here = path(&project, "a", "a", None);
    assert_eq!((here.found, here.length, stops(&here)), (true, 0, vec!["a"]));
    let far = project.engine.path(&PathInput {
        from: "a".into(),
        to: "d".into(),
        max_depth: Some(17),
        relation_types: vec![],
    });
    assert!(far.expect_err("refused").to_string().starts_with("`max_depth` "));
}

#[test]
fn a_part_of_a_name_or_of_a_property_finds_an_entity() {
    let project = Project::new();
    project
        .engine
        .add_entity(
            &caller("ada"),
            &entity("AuthMiddleware", "class", &[("owner", "platform team")]),
        )
        .expect("adds");
    project.add_entity("auth", "module");
    let find = |query: &str, kinds: &[&str]| {
        let entity_types = kinds.iter().map(|&kind| kind.to_owned()).collect();
        let found = project
            .engine
            .graph_query(&GraphQueryInput { query: query.into(), entity_types, limit: None })
            .expect("finds");
        found.entities.into_iter().map(|entity| entity.name).collect::<Vec<_>>()
    };
    assert_eq!(find("auth", &[]), ["auth", "AuthMiddleware"]);
    assert_eq!(find("AUTH", &["class"]), ["AuthMiddleware"]);
    assert_eq!(find("platform", &[]), ["AuthMiddleware"]);
    assert!(find("nothing", &[]).is_empty());
}

#[test]
fn pruning_tells_first_and_removes_only_when_asked_to() {
    let project = Project::new();
    chain(&project, &["a", "b"]);
    project.add_entity("lonely", "module");
    let shown = project.engine.prune_graph(&caller("ada"), &PruneInput::default()).expect("tells");
    assert_eq!(
        (shown.dry_run, shown.removed_entity_count, shown.removed_entities[0].name.as_str()),
        (true, 1, "lonely")
    );
    assert_eq!(project.entities().len(), 3);
    let done = project
        .engine
        .prune_graph(&caller("ada"), &PruneInput { dry_run: Some(false), agent_id: None })
        .expect("prunes");
    assert_eq!((done.dry_run, done.removed_entity_count), (false, 1));
    assert_eq!(project.entities().len(), 2);
}

#[test]
fn a_relation_to_nowhere_is_walked_past_reported_and_pruned() {
    let project = Project::new();
    project.write(
        "graph/entities.json",
        &json!([{"id": "e1", "name": "a", "type": "function"}, {"id": "e2", "name": "b", "type": "function"}]).to_string(),
    );
    project.write(
        "graph/relations.json",
        &json!([
            {"id": "r1", "source": "e1", "target": "ghost", "type": "calls"},
            {"id": "r2", "source": "ghost", "target": "e2", "type": "calls"},
            {"id": "r3", "source": "e1", "target": "e1", "type": "calls"},
        ])
        .to_string(),
    );
    assert!(neighbors(&project, "a", 3).neighbors.is_empty());
    assert!(!path(&project, "a", "b", None).found, "no way leads through what is not there");
    let report = project.engine.status().expect("reports");
    assert!(
        report.warnings.iter().any(|warning| warning.code == "dangling_relations"),
        "{:?}",
        report.warnings
    );
    let done = project
        .engine
        .prune_graph(&caller("ada"), &PruneInput { dry_run: Some(false), agent_id: None })
        .expect("prunes");
    assert_eq!(done.removed_relation_count, 2);
    assert_eq!(project.relations().len(), 1);
}
