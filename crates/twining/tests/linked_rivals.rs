//! What a clone is told of its decisions that met others from the team's log.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::common::Project;
use crate::common::team_server::TeamServer;
use crate::linked::{by_person, link, linked};

/// A clone whose decision, made offline, met one of the team's: it, and the two ids.
fn clone_with_rival(server: &TeamServer) -> (Project, String, String) {
    let (first, second) = (linked(server), linked(server));
    server.set_down(true);
    let theirs = first.decide("use redis", "src/cache/");
    let ours = second.decide("use sqlite", "src/cache/");
    server.set_down(false);
    first.json(&["sync"]);
    (second, ours, theirs)
}

/// The ids of each decision and of its rivals.
fn named(demoted: &Value) -> Vec<(&str, Vec<&str>)> {
    fn id(one: &Value) -> Option<&str> {
        one["id"].as_str()
    }
    let demoted = demoted.as_array().expect("a list").iter();
    demoted
        .map(|one| {
            let rivals = one["rivals"].as_array().expect("a list").iter().filter_map(id).collect();
            (id(one).expect("an id"), rivals)
        })
        .collect()
}

#[test]
fn sync_names_the_decision_that_met_a_rival_until_it_is_settled() {
    let server = TeamServer::start();
    let (clone, ours, theirs) = clone_with_rival(&server);
    let demoted = clone.json(&["sync"])["demoted"].clone();
    assert_eq!(named(&demoted), [(ours.as_str(), vec![theirs.as_str()])]);
    assert_eq!(demoted[0]["summary"], "use sqlite");
    assert_eq!(demoted[0]["rationale"], "it is simple");
    assert_eq!(demoted[0]["rivals"][0]["summary"], "use redis");
    let settle = demoted[0]["settle"].as_str().expect("a command");
    assert!(clone.run(&["sync"]).stdout.contains(settle));
    let words: Vec<&str> = settle.split(' ').skip(1).collect();
    assert_eq!(by_person(&clone, &words).code, 0, "{settle}");
    assert_eq!(clone.json(&["sync"])["demoted"], json!([]));
    let standing = clone.json(&["decisions"]);
    let status = |id: &str| {
        let all = standing["decisions"].as_array().expect("a list");
        all.iter().find(|one| one["id"] == id).expect("is there")["status"].clone()
    };
    assert_eq!((status(&ours), status(&theirs)), (json!("active"), json!("overridden")));
}

#[test]
fn sync_names_it_also_where_another_process_sent_it() {
    let server = TeamServer::start();
    let (clone, ours, theirs) = clone_with_rival(&server);
    let mut mcp = clone.server(&[]);
    mcp.initialize();
    let until = Instant::now() + Duration::from_secs(20);
    let is_sent = || {
        server
            .log
            .all()
            .iter()
            .any(|line| line.change.decisions.iter().any(|it| it.id.as_str() == ours))
    };
    while !is_sent() {
        assert!(Instant::now() < until, "the worker sends nothing");
        std::thread::sleep(Duration::from_millis(20));
    }
    drop(mcp);
    assert_eq!(named(&clone.json(&["sync"])["demoted"]), [(ours.as_str(), vec![theirs.as_str()])]);
}

#[test]
fn link_names_the_decisions_of_the_folder_that_met_rivals() {
    let server = TeamServer::start();
    let theirs = linked(&server).decide("use redis", "src/cache/");
    let clone = Project::new();
    let ours = clone.decide("use sqlite", "src/cache/");
    let answer = link(&clone, &server);
    assert_eq!(named(&answer["demoted"]), [(ours.as_str(), vec![theirs.as_str()])]);
}
