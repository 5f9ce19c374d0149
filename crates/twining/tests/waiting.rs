//! What waits for a person, from the built program: the answers' commands do what they say.

use serde_json::{Value, json};
use twining_testcases::each;

use crate::common::hooked::{only_decision, project, read, start, write};
use crate::common::terminal::typed_at_terminal;
use crate::common::{PROGRAM, Project, Ran, Server};

fn agent(project: &Project, name: &str) -> Server {
    let mut server = project.server(&["--agent", name]);
    server.initialize();
    server
}

fn decide(server: &mut Server, summary: &str) -> String {
    let decision = json!({
        "domain": "auth", "scope": "src/auth/", "summary": summary,
        "context": "logging out", "rationale": format!("{summary} is simple"),
    });
    let decided = server.call("twining_decide", &decision);
    decided["structuredContent"]["id"].as_str().expect("has an id").to_owned()
}

/// Two agents contradict each other.
fn contradiction(project: &Project) -> (Server, Server) {
    let (mut ada, mut bob) = (agent(project, "ada"), agent(project, "bob"));
    decide(&mut ada, "Use stateless JWT");
    decide(&mut bob, "Use server sessions");
    (ada, bob)
}

fn waiting(project: &Project) -> Vec<Value> {
    project.json(&["waiting"])["items"].as_array().expect("a list").clone()
}

/// Runs an answer's command as a person types it, with their words in it.
fn give(project: &Project, answer: &Value) -> Ran {
    let line = answer["command"].as_str().expect("has a command");
    let line = line.replace('…', "kim says so");
    let line = match line.strip_prefix("twining ") {
        Some(words) => format!("{PROGRAM} {words}"),
        None => line,
    };
    let mut shell = project.command_of("sh", &["-c", &line]);
    for name in ["CLAUDECODE", "CODEX_SANDBOX", "GEMINI_CLI", "CURSOR_AGENT"] {
        shell.env_remove(name);
    }
    shell.env("GIT_AUTHOR_NAME", "kim").env("GIT_AUTHOR_EMAIL", "kim@example.com");
    shell.env("GIT_COMMITTER_NAME", "kim").env("GIT_COMMITTER_EMAIL", "kim@example.com");
    typed_at_terminal(shell, "")
}

#[test]
fn a_person_settles_a_contradiction_and_the_loser_s_next_assemble_knows() {
    let project = project();
    let (mut ada, _bob) = contradiction(&project);
    let items = waiting(&project);
    assert_eq!(items.len(), 1, "{items:#?}");
    assert_eq!(items[0]["kind"], "contested");
    assert_eq!(project.json(&[])["waiting"], 1);
    assert!(
        start(&project, "s-9").contains("Waits for a person: 1 contested"),
        "the brief says it"
    );
    let shown = project.run(&["waiting"]).stdout;
    assert!(shown.contains("Use server sessions ⇄ Use stateless JWT"), "{shown}");
    assert!(shown.contains("twining override "), "{shown}");

    let taken = give(&project, &items[0]["answers"][1]);
    assert_eq!(taken.code, 0, "{taken:?}");
    assert_eq!(waiting(&project).len(), 0);
    let task = json!({"task": "rotate the keys", "scope": "src/auth/jwt.ts"});
    let told = ada.call("twining_assemble", &task)["structuredContent"].clone();
    assert_eq!(told["overridden"][0]["summary"], "Use stateless JWT");
    assert_eq!(told["overridden"][0]["reason"], "kim says so");
    let active = told["active_decisions"].as_array().expect("a list");
    let has = |summary: &str| active.iter().any(|decision| decision["summary"] == summary);
    assert!(has("Use server sessions") && !has("Use stateless JWT"), "{active:#?}");
    let settled = project.json(&["waiting", "--settled"]);
    assert_eq!(settled["items"][0]["settled"]["reason"], "kim says so");
}

#[test]
fn the_command_of_every_answer_to_a_contradiction_settles_it() {
    each(0..4, |at| {
        let project = project();
        drop(contradiction(&project));
        let item = waiting(&project).remove(0);
        assert_eq!(item["answers"].as_array().map(Vec::len), Some(4));
        let ran = give(&project, &item["answers"][at]);
        assert_eq!(ran.code, 0, "{}: {ran:?}", item["answers"][at]["command"]);
        assert_eq!(waiting(&project).len(), 0, "{}", item["answers"][at]["command"]);
        let contested = project.json(&["decisions", "--contested", "true"]);
        assert_eq!(contested["total"], 0);
    });
}

#[test]
fn a_record_altered_by_a_script_waits_until_it_is_restored_or_accepted() {
    each(0..2, |at| {
        let project = project();
        let file = only_decision(&project);
        write(&project, &file, &read(&project, &file).replace("use sqlite", "use nothing"));
        let item = waiting(&project).remove(0);
        assert_eq!((&item["kind"], &item["gravity"]), (&json!("altered"), &json!("grave")));
        let ran = give(&project, &item["answers"][at]);
        assert_eq!(ran.code, 0, "{}: {ran:?}", item["answers"][at]["command"]);
        assert_eq!(waiting(&project).len(), 0, "{}", item["answers"][at]["command"]);
    });
}
