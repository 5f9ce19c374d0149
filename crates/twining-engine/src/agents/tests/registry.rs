use twining_model::Agent;

use crate::testing::{Project, caller};
use crate::{AgentLiveness, AgentsInput, DelegateInput, DiscoverInput, PostInput, RegisterInput};

fn able(capabilities: &[&str]) -> RegisterInput {
    RegisterInput {
        capabilities: capabilities.iter().map(|&word| word.to_owned()).collect(),
        ..RegisterInput::default()
    }
}

fn wanting(capabilities: &[&str]) -> DiscoverInput {
    DiscoverInput {
        required_capabilities: capabilities.iter().map(|&word| word.to_owned()).collect(),
        ..DiscoverInput::default()
    }
}

fn registry(project: &Project) -> String {
    std::fs::read_to_string(project.path().join(".twining/agents/registry.json"))
        .expect("the registry is there")
}

#[test]
fn registering_again_adds_and_one_agent_is_one_line() {
    let project = Project::new();
    project.engine.register(&caller("ada"), &able(&["Rust", "testing"])).expect("registers");
    project.engine.register(&caller("bob"), &able(&[])).expect("registers");
    let again = project
        .engine
        .register(
            &caller("ada"),
            &RegisterInput { role: Some("dev".into()), ..able(&["SQL", "rust"]) },
        )
        .expect("registers");
    assert_eq!(
        (again.capabilities, again.updated),
        (vec!["rust".to_owned(), "testing".into(), "sql".into()], true)
    );
    let file = registry(&project);
    assert_eq!(file.lines().count(), 4, "{file}");
    let agents: Vec<Agent> = serde_json::from_str(&file).expect("an array");
    assert_eq!(agents[0].role.as_deref(), Some("dev"));
    assert_eq!(agents[0].origin, Some(caller("ada").origin));
}

#[test]
fn a_registry_of_the_typescript_server_keeps_what_we_do_not_know() {
    let project = Project::new();
    let theirs = "[\n  {\n    \"agent_id\": \"alice\",\n    \"capabilities\": [\n      \"testing\"\n    ],\n    \"big\": 12345678901234567890123,\n    \"registered_at\": \"2025-11-13T08:00:00.000Z\",\n    \"last_active\": \"2025-11-13T10:00:00.000Z\"\n  },\n  {\"agent_id\": \"carol\", \"mood\": {\"x\": [1.10]}}\n]";
    project.write("agents/registry.json", theirs);
    let found = project.engine.agents(&AgentsInput { include_gone: true }).expect("lists");
    assert_eq!(found.agents.len(), 2);
    let registered =
        project.engine.register(&caller("alice"), &able(&["rust"])).expect("registers");
    assert_eq!(
        (registered.registered_at.as_str(), registered.updated),
        ("2025-11-13T08:00:00.000Z", true)
    );
    let file = registry(&project);
    assert!(
        file.contains("\"big\":12345678901234567890123")
            && file.contains("\"mood\": {\"x\": [1.10]}"),
        "{file}"
    );
    assert_eq!(file.lines().count(), 4, "{file}");
}

#[test]
fn what_a_merge_left_twice_is_one_agent_who_can_both() {
    let project = Project::new();
    project.write(
        "agents/registry.json",
        "[\n{\"agent_id\":\"ada\",\"capabilities\":[\"rust\"],\"registered_at\":\"2026-01-02T00:00:00.000Z\"}\n,{\"agent_id\":\"ada\",\"capabilities\":[\"sql\"],\"registered_at\":\"2026-01-01T00:00:00.000Z\"}\n]\n",
    );
    let found = project.engine.agents(&AgentsInput { include_gone: true }).expect("lists");
    assert_eq!(found.agents.len(), 1);
    assert_eq!(found.agents[0].capabilities, ["rust", "sql"]);
    let registered = project.engine.register(&caller("ada"), &able(&[])).expect("registers");
    assert_eq!(
        (registered.capabilities.len(), registered.registered_at.as_str()),
        (2, "2026-01-01T00:00:00.000Z")
    );
    assert_eq!(registry(&project).lines().count(), 3);
}

#[test]
fn a_damaged_registry_is_left_alone_and_said_so() {
    let project = Project::new();
    project.write("agents/registry.json", "[{\"agent_id\":\"ada\"},\n{\"agent_id\": oops}]");
    assert!(project.engine.register(&caller("bob"), &able(&[])).is_err());
    assert!(registry(&project).contains("oops"));
    assert!(
        project
            .engine
            .status()
            .expect("reports")
            .warnings
            .iter()
            .any(|warning| warning.code == "unreadable_registry")
    );
}

#[test]
fn an_agent_that_calls_is_at_work_then_idle_then_gone() {
    let project = Project::new();
    project.engine.register(&caller("ada"), &able(&["rust"])).expect("registers");
    let liveness = || {
        let found = project.engine.agents(&AgentsInput { include_gone: true }).expect("lists");
        found.agents.iter().find(|agent| agent.agent_id == "ada").map(|agent| agent.liveness)
    };
    assert_eq!(liveness(), Some(AgentLiveness::Active));
    project.clock.advance_ms(5 * 60_000);
    assert_eq!(liveness(), Some(AgentLiveness::Idle));
    project.post("finding", "any call is a sign of life");
    assert_eq!(liveness(), Some(AgentLiveness::Active));
    project.clock.advance_ms(30 * 60_000);
    assert_eq!(liveness(), Some(AgentLiveness::Gone));
    assert_eq!(project.engine.agents(&AgentsInput::default()).expect("lists").gone, 1);
    project.write("config.yml", "agents:\n  liveness:\n    gone_after_ms: 86400000\n");
    assert_eq!(liveness(), Some(AgentLiveness::Idle), "the thresholds are settings");
    assert!(!registry(&project).contains("T09:3"), "signs of life are no business of git");
}

#[test]
fn the_best_fit_comes_first() {
    let project = Project::new();
    project.engine.register(&caller("gone"), &able(&["rust", "sql"])).expect("registers");
    project.clock.advance_ms(40 * 60_000);
    project.engine.register(&caller("half"), &able(&["rust"])).expect("registers");
    project.engine.register(&caller("none"), &able(&["css"])).expect("registers");
    let found = project.engine.discover(&wanting(&["RUST", "sql"])).expect("finds");
    assert_eq!((found.agents.len(), found.registered), (1, 3));
    assert_eq!(
        (found.agents[0].score, found.agents[0].missing.as_slice()),
        (0.65, &["sql".to_owned()][..])
    );
    let all = project
        .engine
        .discover(&DiscoverInput { include_gone: true, ..wanting(&["rust", "sql"]) })
        .expect("finds");
    assert_eq!(
        all.agents.iter().map(|agent| (agent.agent_id.as_str(), agent.score)).collect::<Vec<_>>(),
        [("gone", 0.73), ("half", 0.65)]
    );
    let best =
        DiscoverInput { include_gone: true, min_score: Some(0.7), ..wanting(&["rust", "sql"]) };
    assert_eq!(project.engine.discover(&best).expect("finds").agents.len(), 1);
}

#[test]
fn a_delegated_need_finds_those_who_can_and_those_who_offered() {
    let project = Project::new();
    project.engine.register(&caller("ada"), &able(&["rust"])).expect("registers");
    project.engine.register(&caller("bob"), &able(&["rust", "sql"])).expect("registers");
    let offer = PostInput {
        entry_type: "offer".into(),
        summary: "I can tune SQL queries".into(),
        ..PostInput::default()
    };
    let offered = project.engine.post(&caller("carol"), &offer).expect("offers").id;
    let taken = PostInput {
        entry_type: "offer".into(),
        summary: "sql reviews".into(),
        ..PostInput::default()
    };
    let taken = project.engine.post(&caller("dave"), &taken).expect("offers").id;
    project.reply("status", "taken", &taken);
    let input = DelegateInput {
        summary: "make the report query fast".into(),
        required_capabilities: vec!["sql".into(), "rust".into()],
        urgency: Some("high".into()),
        ..DelegateInput::default()
    };
    let delegated = project.engine.delegate(&caller("ada"), &input).expect("delegates");
    assert_eq!(
        delegated.suggested_agents.iter().map(|agent| agent.agent_id.as_str()).collect::<Vec<_>>(),
        ["bob"]
    );
    assert_eq!(
        delegated.offers.iter().map(|offer| offer.id.as_str()).collect::<Vec<_>>(),
        [offered.as_str()]
    );
    let need = project.entry(&delegated.id);
    let detail: serde_json::Value =
        serde_json::from_str(&need.detail).expect("JSON, as the TypeScript server writes it");
    assert_eq!(
        (need.entry_type.as_str(), detail["type"].as_str(), detail["timeout_ms"].as_u64()),
        ("need", Some("delegation"), Some(300_000))
    );
    assert_eq!(project.engine.status().expect("reports").open_needs, 1);
    project.reply("answer", "done", &delegated.id);
    assert_eq!(project.engine.status().expect("reports").open_needs, 0);
}

#[test]
fn a_name_made_to_be_taken_for_another_is_told() {
    let project = Project::new();
    project.engine.register(&caller("ada"), &able(&[])).expect("registers");
    let twin = RegisterInput { agent_id: Some("аda".into()), ..able(&[]) };
    assert_eq!(
        project.engine.register(&caller("x"), &twin).expect("registers").notes,
        ["`аda` looks like `ada`"]
    );
    let hidden = RegisterInput { agent_id: Some("ada\u{200b}".into()), ..able(&[]) };
    assert_eq!(
        project.engine.register(&caller("x"), &hidden).expect("registers").agent_id,
        "adaU+200B"
    );
    assert!(
        project
            .engine
            .status()
            .expect("reports")
            .warnings
            .iter()
            .any(|warning| warning.code == "look_alike_agents")
    );
}
