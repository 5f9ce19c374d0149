use twining_model::{Alternative, DecisionStatus, EntryType};
use twining_testcases::each;

use crate::testing::{Project, caller, choice};
use crate::{AssembleInput, DecideInput, PostInput};

#[test]
fn a_decision_is_a_file_an_announcement_and_links_in_the_graph() {
    let project = Project::new();
    let decided = project.decide(&DecideInput {
        affected_files: vec!["src/auth/jwt.ts".into()],
        affected_symbols: vec!["verifyJwt".into(), "TokenStore".into()],
        ..choice("architecture", "src/auth/", "use stateless JWT")
    });
    let decision = project.decision(&decided.id);
    assert_eq!(
        (decision.status, decision.scope.as_str(), decision.reversible),
        (DecisionStatus::Active, "src/auth/", true)
    );
    assert_eq!(decision.origin, Some(caller("ada").origin));

    let announced = project.board();
    assert_eq!(announced.len(), 1);
    assert_eq!(announced[0].kind(), Some(EntryType::Decision));
    assert_eq!(
        (announced[0].summary.as_str(), announced[0].tags.as_slice()),
        ("use stateless JWT", ["architecture".to_owned()].as_slice())
    );
    assert_eq!(announced[0].relates_to, [decided.id.to_string()]);

    let mut entities: Vec<(String, String)> =
        project.entities().into_iter().map(|e| (e.kind, e.name)).collect();
    entities.sort();
    let named = |kind: &str, name: &str| (kind.to_owned(), name.to_owned());
    let expected = [
        named("class", "TokenStore"),
        named("concept", decided.id.as_str()),
        named("file", "src/auth/jwt.ts"),
        named("function", "verifyJwt"),
    ];
    assert_eq!(entities, expected);
    assert_eq!(project.relations().iter().filter(|r| r.kind == "decided_by").count(), 3);
}

#[test]
fn a_refused_decision_leaves_no_file_no_entry_and_no_graph() {
    let project = Project::new();
    let base = || DecideInput {
        affected_files: vec!["src/a.rs".into()],
        ..choice("api", "src/", "use grpc")
    };
    let missing = "01M7EB3QWY4C5CPJF6982ZJQ18";
    let alternative = |option: &str, reason: &str| Alternative {
        option: option.into(),
        pros: vec![],
        cons: vec![],
        reason_rejected: reason.into(),
    };
    let cases = [
        ("summary", DecideInput { summary: "x".repeat(201), ..base() }),
        ("domain", DecideInput { domain: " ".into(), ..base() }),
        ("scope", DecideInput { scope: "../..".into(), ..base() }),
        ("context", DecideInput { context: String::new(), ..base() }),
        ("rationale", DecideInput { rationale: "r".repeat(65 * 1024), ..base() }),
        ("depends_on", DecideInput { depends_on: vec![missing.into()], ..base() }),
        ("depends_on", DecideInput { depends_on: vec!["../../x".into()], ..base() }),
        ("supersedes", DecideInput { supersedes: Some(missing.into()), ..base() }),
        ("confidence", DecideInput { confidence: Some("certain".into()), ..base() }),
        ("affected_files", DecideInput { affected_files: vec!["/etc/passwd".into()], ..base() }),
        ("affected_files", DecideInput { affected_files: vec!["a\0b".into()], ..base() }),
        ("affected_symbols", DecideInput { affected_symbols: vec!["s".into(); 300], ..base() }),
        ("constraints", DecideInput { constraints: vec![String::new()], ..base() }),
        (
            "alternatives.option",
            DecideInput { alternatives: vec![alternative("", "slow")], ..base() },
        ),
        (
            "alternatives.reason_rejected",
            DecideInput { alternatives: vec![alternative("rest", "")], ..base() },
        ),
        ("commit_hash", DecideInput { commit_hash: Some("HEAD".into()), ..base() }),
        ("agent_id", DecideInput { agent_id: Some(String::new()), ..base() }),
        (
            "decision",
            DecideInput {
                alternatives: vec![alternative(&"o".repeat(60_000), &"r".repeat(60_000)); 10],
                ..base()
            },
        ),
    ];
    each(cases, |(field, input)| {
        let failure = project.engine.decide(&caller("ada"), &input).expect_err("refused");
        assert_eq!(failure.code(), "INVALID_INPUT");
        assert!(failure.to_string().starts_with(&format!("`{field}` ")), "{field}: {failure}");
    });
    assert_eq!(
        (project.decision_files(), project.board().len(), project.entities().len()),
        (0, 0, 0)
    );
}

#[test]
fn an_absolute_path_of_a_file_in_the_project_is_stored_relative() {
    let project = Project::new();
    let absolute = project.path().join("src/a.rs").to_string_lossy().into_owned();
    let input = DecideInput {
        affected_files: vec![absolute, "./src/a.rs".into()],
        ..choice("api", "src/", "use grpc")
    };
    assert_eq!(project.decision(&project.decide(&input).id).affected_files, ["src/a.rs"]);
}

#[test]
fn a_rival_in_the_same_scope_makes_the_new_one_provisional_and_warns_with_both_reasons() {
    let project = Project::new();
    let first = project.decide(&choice("architecture", "src/cache/", "use redis"));
    let second = project.decide(&choice("Architecture ", "src/cache/lru.rs", "use sqlite"));
    assert_eq!(
        (first.status, second.status),
        (DecisionStatus::Active, DecisionStatus::Provisional)
    );
    assert_eq!(second.conflicts.len(), 1);
    assert_eq!(
        (&second.conflicts[0].id, second.conflicts[0].rationale.as_str()),
        (&first.id, "reasons for: use redis")
    );
    let warnings = project.entries_tagged("conflict");
    assert_eq!(warnings.len(), 1);
    assert_eq!(warnings[0].kind(), Some(EntryType::Warning));
    assert_eq!(warnings[0].relates_to, [second.id.to_string(), first.id.to_string()]);
    assert!(
        warnings[0].detail.contains("reasons for: use redis")
            && warnings[0].detail.contains("reasons for: use sqlite")
    );
    assert!(warnings[0].summary.chars().count() <= 200);
    assert_eq!(
        project.decision(&first.id).status,
        DecisionStatus::Active,
        "the first one is left alone"
    );
}

#[test]
fn agreeing_or_unrelated_decisions_are_no_conflict() {
    let project = Project::new();
    project.decide(&choice("architecture", "src/auth", "use JWT"));
    each(
        [
            choice("testing", "src/auth", "mock the clock"),
            choice("architecture", "src/authority.ts", "use a table"),
            choice("architecture", "src/auth", "use  JWT"),
        ],
        |harmless| {
            let decided = project.decide(&harmless);
            assert!(
                decided.conflicts.is_empty() && decided.status == DecisionStatus::Active,
                "{}",
                harmless.summary
            );
        },
    );
}

#[test]
fn only_active_decisions_are_rivals() {
    let project = Project::new();
    let first = project.decide(&choice("api", "src/", "use grpc"));
    let contested = project.decide(&choice("api", "src/", "use rest"));
    let third = project.decide(&DecideInput {
        supersedes: Some(first.id.to_string()),
        ..choice("api", "src/", "use graphql")
    });
    assert_eq!(contested.status, DecisionStatus::Provisional);
    assert_eq!(
        third.status,
        DecisionStatus::Active,
        "the provisional one and the superseded one are no rivals: {:?}",
        third.conflicts
    );
}

#[test]
fn a_decision_about_the_whole_project_meets_every_scope() {
    let project = Project::new();
    let narrow = project.decide(&choice("style", "src/ui/button.rs", "tabs"));
    let wide = project.decide(&choice("style", "project", "spaces"));
    assert_eq!(wide.conflicts[0].id, narrow.id);
}

#[test]
fn a_project_wide_rival_of_hundreds_names_some_and_counts_the_rest() {
    let project = Project::new();
    for n in 0..25 {
        project.decide(&choice("style", &format!("src/m{n}.rs"), &format!("choice {n}")));
    }
    let wide = project.decide(&choice("style", "project", "spaces"));
    assert_eq!((wide.conflicts.len(), wide.omitted_conflicts), (20, 5));
    let warning = &project.entries_tagged("conflict")[0];
    assert!(warning.summary.chars().count() <= 200 && warning.detail.ends_with("and 5 more"));
}

#[test]
fn superseding_links_both_sides_and_is_no_conflict() {
    let project = Project::new();
    let old = project.decide(&choice("api", "src/", "use rest"));
    let new = project.decide(&DecideInput {
        supersedes: Some(old.id.to_string().to_lowercase()),
        ..choice("api", "src/", "use grpc")
    });
    assert_eq!((new.status, new.superseded.as_ref()), (DecisionStatus::Active, Some(&old.id)));
    let (old, new) = (project.decision(&old.id), project.decision(&new.id));
    assert_eq!(
        (old.status, old.superseded_by.as_deref()),
        (DecisionStatus::Superseded, Some(new.id.as_str()))
    );
    assert_eq!(new.supersedes.as_deref(), Some(old.id.as_str()));
    assert_eq!((old.history.len(), old.history[0].by.as_str()), (1, "ada"));
    let kinds: Vec<String> =
        project.relations().into_iter().map(|relation| relation.kind).collect();
    assert_eq!(kinds, ["supersedes"]);
}

#[test]
fn a_decision_cannot_be_superseded_twice_and_its_successor_is_named() {
    let project = Project::new();
    let old = project.decide(&choice("api", "src/", "use rest"));
    let supersede = |summary: &str| DecideInput {
        supersedes: Some(old.id.to_string()),
        ..choice("api", "src/", summary)
    };
    let new = project.decide(&supersede("use grpc"));
    let failure =
        project.engine.decide(&caller("bob"), &supersede("use soap")).expect_err("refused");
    let expected = format!(
        "`supersedes` must name a decision that is not superseded yet; it was superseded by {}; supersede that one",
        new.id
    );
    assert_eq!((failure.code(), failure.to_string()), ("INVALID_INPUT", expected));
    assert_eq!(
        (project.decision_files(), project.decision(&old.id).superseded_by.as_deref()),
        (2, Some(new.id.as_str()))
    );
}

#[test]
fn a_reference_to_a_decision_whose_file_cannot_be_read_says_so() {
    let project = Project::new();
    let torn = "01M7EB3QWY4C5CPJF6982ZJQ18";
    project.write(&format!("decisions/{torn}.json"), "<<<<<<< HEAD\n{}\n");
    let cases = [
        (
            "supersedes",
            DecideInput { supersedes: Some(torn.into()), ..choice("api", "src/", "use rest") },
        ),
        (
            "depends_on",
            DecideInput { depends_on: vec![torn.into()], ..choice("api", "src/", "use rest") },
        ),
    ];
    each(cases, |(field, input)| {
        let message =
            project.engine.decide(&caller("ada"), &input).expect_err("refused").to_string();
        let expected = format!(
            "`{field}` must name a decision that exists; the file `decisions/{torn}.json` exists but cannot be read: "
        );
        assert!(message.starts_with(&expected), "{message}");
    });
}

#[test]
fn superseding_one_side_of_a_conflict_settles_its_warning() {
    let project = Project::new();
    let first = project.decide(&choice("api", "src/", "use rest"));
    let second = project.decide(&choice("api", "src/", "use grpc"));
    assert_eq!(project.engine.status().expect("reports").open_warnings, 1);
    let supersedes = Some(second.id.to_string());
    project.decide(&DecideInput {
        supersedes,
        depends_on: vec![first.id.to_string()],
        ..choice("api", "src/", "use rest")
    });
    assert_eq!(project.engine.status().expect("reports").open_warnings, 0);
}

#[test]
fn a_decision_without_files_leaves_no_lone_entity_behind() {
    let project = Project::new();
    project.decide(&choice("process", "project", "review everything"));
    let report = project.engine.status().expect("reports");
    assert_eq!((report.graph_entities, report.disconnected_entities), (0, 0));
    assert!(report.summary.starts_with("Healthy."), "{}", report.summary);
}

#[test]
fn findings_do_not_populate_the_graph() {
    let project = Project::new();
    let input = PostInput {
        entry_type: "finding".into(),
        summary: "slow".into(),
        scope: Some("src/a.rs".into()),
        ..PostInput::default()
    };
    project.engine.post(&caller("ada"), &input).expect("posts");
    assert!(project.entities().is_empty());
}

#[test]
fn a_second_decision_on_a_file_reuses_its_entity() {
    let project = Project::new();
    for summary in ["first", "second"] {
        project.decide(&DecideInput {
            affected_files: vec!["src/a.rs".into()],
            ..choice(summary, "src/", summary)
        });
    }
    assert_eq!(project.entities().iter().filter(|entity| entity.kind == "file").count(), 1);
    assert_eq!(project.relations().len(), 2);
}

#[test]
fn it_is_kept_whether_context_was_assembled_first() {
    let project = Project::new();
    let before = project.decide(&choice("a", "src/", "blind"));
    let task =
        AssembleInput { task: "choose".into(), scope: "src/".into(), ..AssembleInput::default() };
    project.engine.assemble(&caller("ada"), &task).expect("assembles");
    let after = project.decide(&choice("b", "src/", "informed"));
    let known = |id| project.decision(id).assembled_before;
    assert_eq!((known(&before.id), known(&after.id)), (Some(false), Some(true)));
}

#[test]
fn two_processes_that_decide_at_once_both_survive_and_one_is_told() {
    let project = Project::new();
    let other = project.another_engine();
    let (left, right) = std::thread::scope(|threads| {
        let left = threads.spawn(|| {
            project
                .engine
                .decide(&caller("ada"), &choice("api", "src/", "use rest"))
                .expect("decides")
        });
        let right = threads.spawn(|| {
            other.decide(&caller("bob"), &choice("api", "src/", "use grpc")).expect("decides")
        });
        (left.join().expect("ends"), right.join().expect("ends"))
    });
    let mut statuses = [left.status, right.status];
    statuses.sort();
    assert_eq!(statuses, [DecisionStatus::Active, DecisionStatus::Provisional]);
    assert_eq!(left.conflicts.len() + right.conflicts.len(), 1);
}

#[test]
fn a_folder_without_its_decision_index_is_repaired_by_the_next_decision() {
    let project = Project::new();
    project.decide(&choice("api", "src/", "use rest"));
    std::fs::remove_file(project.path().join(".twining/decisions/index.json")).ok();
    project.decide(&choice("data", "src/", "use sqlite"));
    assert_eq!(project.decision_files(), 2);
}
