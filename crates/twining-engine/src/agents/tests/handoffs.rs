use serde_json::{Value, json};
use twining_model::HandoffResult;
use twining_testcases::each;

use crate::testing::{Project, caller, choice};
use crate::{AcknowledgeInput, AgentsInput, AssembleInput, HandoffInput, HandoffOutcome};

fn done(description: &str, status: &str) -> HandoffResult {
    HandoffResult {
        description: description.into(),
        status: status.into(),
        ..HandoffResult::default()
    }
}

fn over(target: Option<&str>) -> HandoffInput {
    HandoffInput {
        target_agent: target.map(str::to_owned),
        summary: "tokens are issued, refresh is left".into(),
        results: vec![done("issue tokens", "completed"), done("refresh tokens", "blocked")],
        scope: Some("src/auth/".into()),
        ..HandoffInput::default()
    }
}

fn take(id: &str) -> AcknowledgeInput {
    AcknowledgeInput { handoff_id: id.into(), agent_id: None }
}

fn file(project: &Project, handed: &HandoffOutcome) -> Value {
    let text = std::fs::read_to_string(project.path().join(".twining").join(&handed.path))
        .expect("the file is there");
    serde_json::from_str(&text).expect("is JSON")
}

#[test]
fn what_holds_goes_with_the_work_and_the_next_one_gets_it() {
    let project = Project::new();
    let decided = project.decide(&choice("architecture", "src/auth/", "Use stateless tokens"));
    let warning = project.post_in("src/auth/", "warning", "the clock is five minutes off");
    let handed = project.engine.handoff(&caller("ada"), &over(Some("bob"))).expect("hands over");
    assert_eq!(
        (
            handed.context_snapshot.decision_ids.as_slice(),
            handed.context_snapshot.warning_ids.as_slice()
        ),
        (&[decided.id.to_string()][..], &[warning][..])
    );
    assert!(
        handed
            .context_snapshot
            .summaries
            .iter()
            .any(|line| line == "decision: Use stateless tokens")
    );
    let record = file(&project, &handed);
    assert_eq!(
        (&record["source_agent"], &record["target_agent"], &record["origin"]["via"]),
        (&json!("ada"), &json!("bob"), &json!("mcp"))
    );
    assert_eq!(
        project.entry(&handed.entry).summary,
        "Handed over to bob: tokens are issued, refresh is left"
    );

    let context = |who: &str| {
        let input = AssembleInput {
            task: "go on".into(),
            scope: "src/".into(),
            ..AssembleInput::default()
        };
        project.engine.assemble(&caller(who), &input).expect("assembles").handoffs.len()
    };
    assert_eq!((context("bob"), context("carol")), (1, 0));
    let taken = project.engine.acknowledge(&caller("bob"), &take(&handed.id)).expect("takes");
    assert_eq!((taken.results.len(), taken.acknowledged_by.as_deref()), (2, Some("bob")));
    assert_eq!(context("bob"), 0);
    assert_eq!(project.engine.status().expect("reports").open_handoffs, 0);
    let list = std::fs::read_to_string(project.path().join(".twining/handoffs/index.jsonl"))
        .expect("the list is there");
    let line: Value = serde_json::from_str(list.trim()).expect("one line");
    assert_eq!((&line["result_status"], &line["acknowledged"]), (&json!("mixed"), &json!(true)));
}

#[test]
fn the_context_stays_within_its_budget() {
    let project = Project::new();
    for n in 0..60 {
        project.post_in(
            "src/auth/",
            "warning",
            &format!("warning number {n} about tokens and what they may not do"),
        );
    }
    let small = HandoffInput { max_tokens: Some(300), ..over(None) };
    let few = project.engine.handoff(&caller("ada"), &small).expect("hands over").context_snapshot;
    let many =
        project.engine.handoff(&caller("ada"), &over(None)).expect("hands over").context_snapshot;
    assert!(
        few.warning_ids.len() < many.warning_ids.len(),
        "{} and {}",
        few.warning_ids.len(),
        many.warning_ids.len()
    );
    assert!(many.summaries.len() <= 12);
    let none = HandoffInput { auto_snapshot: Some(false), ..over(None) };
    assert!(
        project
            .engine
            .handoff(&caller("ada"), &none)
            .expect("hands over")
            .context_snapshot
            .warning_ids
            .is_empty()
    );
}

#[test]
fn work_for_anyone_is_taken_once_and_work_for_one_by_that_one() {
    let project = Project::new();
    let open = project.engine.handoff(&caller("ada"), &over(None)).expect("hands over");
    project.engine.acknowledge(&caller("bob"), &take(&open.id)).expect("takes");
    project.engine.acknowledge(&caller("bob"), &take(&open.id)).expect("says so again");
    assert_eq!(
        project.engine.acknowledge(&caller("eve"), &take(&open.id)).expect_err("taken").code(),
        "OUT_OF_STEP"
    );
    let named = project.engine.handoff(&caller("ada"), &over(Some("bob"))).expect("hands over");
    let failure =
        project.engine.acknowledge(&caller("eve"), &take(&named.id)).expect_err("not hers");
    assert_eq!(failure.to_string(), "this handoff is for `bob`, but you are `eve`");
    assert_eq!(project.engine.agents(&AgentsInput::default()).expect("lists").handoffs.len(), 1);
    assert_eq!(
        project
            .engine
            .acknowledge(&caller("bob"), &take("01K9Z3M4E0HAND0FFAAAAAAAA1"))
            .expect_err("unknown")
            .code(),
        "NOT_FOUND"
    );
    assert!(project.engine.acknowledge(&caller("bob"), &take("../../x")).is_err());
}

#[test]
fn a_handoff_of_the_typescript_server_is_taken_and_keeps_its_fields() {
    let project = Project::new();
    let id = "01K9Z3M4E0HAND0FFAAAAAAAA1";
    project.write(&format!("handoffs/{id}.json"), &format!("{{\n  \"source_agent\": \"alice\",\n  \"target_agent\": \"bob\",\n  \"summary\": \"auth done\",\n  \"results\": [],\n  \"context_snapshot\": {{\"decision_ids\": [], \"later\": 1.10}},\n  \"id\": \"{id}\",\n  \"mood\": [1,  2]\n}}"));
    project.write("handoffs/01K9Z3M4E0HAND0FFAAAAAAAA2.json", "{ oops");
    assert_eq!(
        project.engine.agents(&AgentsInput::default()).expect("lists").handoffs.len(),
        1,
        "one that is broken hides no other"
    );
    project.engine.acknowledge(&caller("bob"), &take(id)).expect("takes");
    let text = std::fs::read_to_string(project.path().join(format!(".twining/handoffs/{id}.json")))
        .expect("is there");
    assert!(
        text.contains("\"later\": 1.10")
            && text.contains("\"mood\": [1,  2]")
            && text.contains("\"acknowledged_by\": \"bob\""),
        "{text}"
    );
}

#[test]
fn every_broken_rule_names_its_field_and_leaves_nothing() {
    let project = Project::new();
    each(
        [
            ("results", HandoffInput { results: vec![], ..over(None) }),
            ("results", HandoffInput { results: vec![done("x", "splendid")], ..over(None) }),
            ("results", HandoffInput { results: vec![done("", "completed")], ..over(None) }),
            ("results", HandoffInput { results: vec![done("x", "completed"); 65], ..over(None) }),
            ("summary", HandoffInput { summary: "x".repeat(201), ..over(None) }),
            ("scope", HandoffInput { scope: Some("../x".into()), ..over(None) }),
            ("target_agent", HandoffInput { target_agent: Some(" ".into()), ..over(None) }),
        ],
        |(field, input)| {
            let failure = project.engine.handoff(&caller("ada"), &input).expect_err("refused");
            assert!(failure.to_string().starts_with(&format!("`{field}` ")), "{field}: {failure}");
        },
    );
    assert!(!project.path().join(".twining").exists());
}
