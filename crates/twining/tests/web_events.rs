//! The events of `twining ui`: what another process does is noticed, and nothing is lost.

use std::fs::{self, OpenOptions};
use std::io::Write;

use serde_json::{Value, json};

use crate::common::browser::{WebProcess, decide};
use crate::common::repository::Repository;

fn shop() -> Repository {
    let shop = Repository::new();
    shop.told(&["post", "finding", "there before"]);
    shop
}

fn ids(notice: &Value) -> Vec<&str> {
    notice["ids"].as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

/// Lines as another program would append them, at once.
fn append(shop: &Repository, count: usize) {
    let template = shop.read(".twining/blackboard.jsonl");
    let mut entry: Value =
        serde_json::from_str(template.lines().next().expect("a line")).expect("is JSON");
    let mut lines = String::new();
    for number in 0..count {
        entry["id"] = json!(format!("01M7EB3QWY4C5CPJF69{number:07}"));
        lines.push_str(&format!("{entry}\n"));
    }
    let board = shop.file(".twining/blackboard.jsonl");
    let mut board = OpenOptions::new().append(true).open(board).expect("opens");
    board.write_all(lines.as_bytes()).expect("writes");
}

#[test]
fn a_post_of_another_process_is_noticed() {
    let shop = shop();
    let server = WebProcess::without_terminal(&shop);
    let key = server.key();
    let mut events = server.events(&key, "");
    let first = events.next();
    assert_eq!((&first["kinds"], &first["ids"]), (&json!([]), &json!([])));
    let posted = shop.told(&["post", "finding", "tokens expire"]);
    let notice = events.next_of("entry");
    assert_eq!(ids(&notice), [posted["id"].as_str().expect("has an id")]);
    assert_eq!(notice["more"], false, "{notice}");
}

#[test]
fn five_thousand_lines_in_one_write_are_one_notice_and_all_counted() {
    let shop = shop();
    let server = WebProcess::without_terminal(&shop);
    let key = server.key();
    let mut events = server.events(&key, "");
    events.next();
    append(&shop, 5000);
    let notice = events.next_of("entry");
    assert_eq!((ids(&notice).len(), &notice["more"]), (50, &json!(true)), "{notice}");
    let status = server.call(&key, "status", &json!({})).json();
    assert_eq!(status["blackboard_entries"], 5001, "{status}");
}

#[test]
fn decisions_claims_and_settings_have_their_kinds() {
    let shop = shop();
    let server = WebProcess::without_terminal(&shop);
    let key = server.key();
    let mut events = server.events(&key, "");
    events.next();
    let id = decide(&shop);
    assert!(ids(&events.next_of("decision")).contains(&id.as_str()));
    shop.told(&["claim", "src/auth/", "--why", "rewriting"]);
    events.next_of("claim");
    shop.write(".twining/policy.yml", "guards: []\n");
    events.next_of("guard");
    let config = shop.read(".twining/config.yml");
    shop.write(
        ".twining/config.yml",
        &config.replace("project_name: \"\"", "project_name: \"kiosk\""),
    );
    events.next_of("config");
    let file = format!(".twining/decisions/{id}.json");
    let text = shop.read(&file).replace("use redis", "use sqlite");
    fs::OpenOptions::new()
        .write(true)
        .truncate(true)
        .open(shop.file(&file))
        .and_then(|mut file| file.write_all(text.as_bytes()))
        .expect("writes in place");
    let notice = events.next_of("decision");
    assert_eq!(ids(&notice), [id.as_str()], "{notice}");
}

#[test]
fn a_checkout_of_another_branch_is_noticed() {
    let shop = shop();
    shop.commit("one entry");
    shop.git(&["checkout", "-q", "-b", "work"]);
    shop.told(&["post", "finding", "on the branch"]);
    shop.commit("two entries");
    let server = WebProcess::without_terminal(&shop);
    let key = server.key();
    let mut events = server.events(&key, "");
    events.next();
    shop.git(&["checkout", "-q", "main"]);
    // Git writes the files before HEAD: either may be noticed first.
    let mut seen = Vec::new();
    while !(seen.contains(&json!("head")) && seen.contains(&json!("entry"))) {
        seen.extend(events.next()["kinds"].as_array().cloned().unwrap_or_default());
    }
    let about = server.get("/api", &[("authorization", &key)]).json();
    assert_eq!(about["branch"], "main");
    let recent = server.call(&key, "recent", &json!({})).json();
    assert_eq!(recent["entries"].as_array().map(Vec::len), Some(1), "{recent}");
    shop.git(&["commit", "-q", "--allow-empty", "-m", "moves the branch"]);
    events.next_of("head");
}

#[test]
fn a_folder_that_goes_and_comes_back_is_followed() {
    let shop = shop();
    let server = WebProcess::without_terminal(&shop);
    let key = server.key();
    let mut events = server.events(&key, "");
    events.next();
    let (here, away) = (shop.path("shop"), shop.path("away"));
    fs::rename(&here, &away).expect("renames");
    let notice = events.next_of("entry");
    assert_eq!(notice["more"], true, "{notice}");
    assert_ne!(server.call(&key, "recent", &json!({})).status, 200);
    fs::rename(&away, &here).expect("renames back");
    events.next_of("entry");
    assert_eq!(server.call(&key, "recent", &json!({})).status, 200);
    let posted = shop.told(&["post", "finding", "still heard"]);
    assert!(ids(&events.next_of("entry")).contains(&posted["id"].as_str().expect("has an id")));

    // Another folder in its place.
    let copy = shop.path("copy");
    fs::rename(shop.file(".twining"), &copy).expect("renames");
    events.next_of("entry");
    shop.told(&["post", "finding", "a new memory"]);
    events.next_of("entry");
    shop.told(&["post", "finding", "one more"]);
    events.next_of("entry");
}

#[test]
fn the_first_entry_of_all_is_noticed() {
    let shop = Repository::new();
    let server = WebProcess::without_terminal(&shop);
    let key = server.key();
    let mut events = server.events(&key, "");
    events.next();
    shop.told(&["post", "finding", "the first"]);
    events.next_of("entry");
    shop.told(&["post", "finding", "the second"]);
    events.next_of("entry");
}

#[test]
fn who_comes_back_is_told_what_it_missed() {
    let shop = shop();
    let server = WebProcess::without_terminal(&shop);
    let key = server.key();
    let mut watching = server.events(&key, "");
    let cursor = watching.next()["cursor"].as_str().expect("has one").to_owned();
    let posted = shop.told(&["post", "finding", "while away"]);
    watching.next_of("entry");
    let missed = server.events(&key, &format!("?after={cursor}")).next();
    assert_eq!(ids(&missed), [posted["id"].as_str().expect("has an id")]);
    for cursor in ["", "x-1", "00000000-0"] {
        let unknown = server.events(&key, &format!("?after={cursor}")).next();
        assert_eq!(unknown["resync"], true, "{cursor}: {unknown}");
        assert!(unknown["cursor"].is_string());
    }
}

#[test]
fn nine_listen_and_all_hear() {
    let shop = shop();
    let server = WebProcess::without_terminal(&shop);
    let key = server.key();
    let mut all: Vec<_> = (0..9).map(|_| server.events(&key, "")).collect();
    for events in &mut all {
        events.next();
    }
    let posted = shop.told(&["post", "finding", "for everybody"]);
    for events in &mut all {
        assert!(ids(&events.next_of("entry")).contains(&posted["id"].as_str().expect("has an id")));
    }
}
