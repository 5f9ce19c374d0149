//! The verbs over `twining ui`: the tool's own JSON, and what a person did carries their name.

use serde_json::json;
use twining_testcases::each;

use crate::common::browser::{WebProcess, decide, memory};
use crate::common::repository::Repository;

#[test]
fn a_call_gives_what_the_tool_gives() {
    let shop = Repository::new();
    shop.told(&["post", "finding", "tokens expire after an hour", "--scope", "src/auth/"]);
    let server = WebProcess::without_terminal(&shop);
    let key = server.key();
    let reply = server.call(&key, "recent", &json!({"n": 1}));
    assert_eq!(reply.json(), shop.told(&["recent", "1"]));
    assert_eq!(reply.headers["content-type"], "application/json");
}

#[test]
fn the_page_is_told_where_it_is_and_what_it_may_do() {
    let shop = Repository::new();
    shop.git(&["config", "user.name", "Kim Do"]);
    let server = WebProcess::at_terminal(&shop);
    let key = server.key();
    let about = server.get("/api", &[("authorization", &key)]).json();
    assert_eq!(
        [&about["project"], &about["branch"], &about["user"]],
        [&json!("shop"), &json!("main"), &json!("Kim Do")]
    );
    assert_eq!((&about["may_write"], &about["exists"]), (&json!(true), &json!(false)));
    assert_eq!(about["port"], server.port);
    let verbs = about["verbs"].as_array().expect("a list");
    let post = verbs.iter().find(|verb| verb["name"] == "post").expect("is there");
    assert_eq!((&post["effect"], &post["asks"]), (&json!("adds"), &json!(false)));
    assert!(post["input"]["properties"]["summary"].is_object(), "{post}");
    assert!(!shop.file(".twining").exists(), "looking makes nothing");
}

#[test]
fn what_a_person_does_is_theirs() {
    let shop = Repository::new();
    let server = WebProcess::at_terminal(&shop);
    let key = server.key();
    let input = json!({"entry_type": "warning", "summary": "the cache is shared"});
    assert_eq!(server.call(&key, "post", &input).status, 200);
    let entry = shop.told(&["recent", "1"])["entries"][0].clone();
    assert_eq!(entry["agent_id"], "Kim Do");
    assert_eq!(entry["origin"], json!({"branch": "main", "via": "web", "trust": "human"}));
    assert_eq!(shop.told(&["agents"])["agents"], json!([]), "a browser is no agent");
}

#[test]
fn a_graver_act_wants_the_name_of_what_it_is_about() {
    let shop = Repository::new();
    let id = decide(&shop);
    let server = WebProcess::at_terminal(&shop);
    let key = server.key();
    let before = memory(&shop);
    let input = json!({"decision_id": id, "reason": "we cannot run it"});
    let act = |confirmed: &[(&str, &str)]| {
        let headers =
            [&[("authorization", key.as_str()), ("twining-user", "Kim")], confirmed].concat();
        server.post("/api/override", &headers, &input)
    };
    let asked = act(&[]);
    assert_eq!((asked.status, &asked.json()["code"]), (409, &json!("CONFIRM")), "{asked:?}");
    let word = asked.json()["confirm"].as_str().expect("a word").to_owned();
    let wrong = act(&[("twining-confirm", "yes")]);
    assert_eq!((wrong.status, &wrong.json()["code"]), (403, &json!("NEEDS_PERSON")), "{wrong:?}");
    assert_eq!(memory(&shop), before);
    let done = act(&[("twining-confirm", &word.replace(' ', "%20"))]);
    assert_eq!(done.status, 200, "{done:?}");
    let decision = shop.json(&format!(".twining/decisions/{id}.json"));
    assert_eq!(
        (&decision["status"], &decision["overridden_by"]),
        (&json!("overridden"), &json!("Kim"))
    );
}

#[test]
fn an_error_names_the_command_that_would_do_the_same() {
    let shop = Repository::new();
    let server = WebProcess::at_terminal(&shop);
    let key = server.key();
    each(
        [
            ("recent", json!({"n": 0}), 400, "INVALID_INPUT", "twining recent --limit=0"),
            (
                "trace",
                json!({"decision_id": "01M7EB3QWY4C5CPJF6982ZJQ18"}),
                404,
                "NOT_FOUND",
                "twining trace 01M7EB3QWY4C5CPJF6982ZJQ18",
            ),
        ],
        |(verb, input, status, code, command)| {
            let reply = server.call(&key, verb, &input);
            let error = reply.json();
            assert_eq!((reply.status, &error["code"]), (status, &json!(code)), "{error}");
            assert_eq!((&error["command"], &error["error"]), (&json!(command), &json!(true)));
        },
    );
}

#[test]
fn a_guard_is_lifted_by_a_person_who_types_its_name() {
    let shop = Repository::new();
    let policy =
        "guards:\n  - {id: no-push, tools: [Bash], when: {command: git push}, say: people push}\n";
    shop.told(&["post", "finding", "there before"]);
    shop.write(".twining/policy.yml", policy);
    let server = WebProcess::at_terminal(&shop);
    let key = server.key();
    let input = json!({"guard": "no-push", "minutes": 10, "reason": "hotfix"});
    let asked = server.call(&key, "guard_bypass", &input);
    assert_eq!((asked.status, &asked.json()["confirm"]), (409, &json!("no-push")), "{asked:?}");
    assert!(!shop.path("home/.config/twining").exists(), "nothing is allowed yet");
    let typed =
        [("authorization", key.as_str()), ("twining-user", "Kim"), ("twining-confirm", "no-push")];
    let lifted = server.post("/api/guard_bypass", &typed, &input);
    assert_eq!(lifted.status, 200, "{lifted:?}");
    let approvals = shop.told(&["query-traces", "--type", "approval"]);
    assert_eq!(approvals["traces"][0]["trace"]["origin"]["via"], "web", "{approvals}");
}
