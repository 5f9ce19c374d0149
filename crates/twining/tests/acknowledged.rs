//! When a reply is sent, the tracked files say it: a commit in the same instant has
//! the record, whatever the verb.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use twining_testcases::each;

use crate::common::Server;
use crate::common::repository::Repository;
use serde_json::{Value, json};
use twining_testkit::write_cases::{TestCaller, WRITING_VERBS};

/// Claims are local: they end with the session, and no commit has them.
const LOCAL: [&str; 1] = ["twining_claim"];

/// A repository with a server.
struct Session {
    shop: Repository,
    path: PathBuf,
    server: Server,
}

impl Session {
    fn new() -> Self {
        let shop = Repository::new();
        shop.told(&["init", "--agent", "none"]);
        let path = shop.path("shop");
        let server = served(&shop);
        Self { shop, path, server }
    }
}

fn served(shop: &Repository) -> Server {
    let mut server = Server::start(shop.command_in(&shop.path("shop"), &["mcp"]));
    server.initialize();
    server
}

fn told(tool: &str, mut result: Value) -> Result<Value, String> {
    if result["isError"] == true {
        Err(format!("{tool}: {result}"))
    } else {
        Ok(result["structuredContent"].take())
    }
}

impl TestCaller for Session {
    fn call(&mut self, tool: &str, arguments: &Value) -> Result<Value, String> {
        told(tool, self.server.call(tool, arguments))
    }

    fn call_elsewhere(&mut self, tool: &str, arguments: &Value) -> Result<Value, String> {
        told(tool, served(&self.shop).call(tool, arguments))
    }

    fn project(&self) -> &Path {
        &self.path
    }
}

#[test]
fn a_commit_right_after_the_reply_has_the_record() {
    let mut session = Session::new();
    each(WRITING_VERBS.iter().chain(WRITING_VERBS).enumerate(), |(number, verb)| {
        let word = format!("word{number:04}");
        let arguments = (verb.prepare)(&mut session, &word).expect("is prepared");
        let answer = session.call(verb.tool, &arguments).expect("writes");
        session.shop.git(&["add", "-A"]);
        session.shop.git(&[
            "-c",
            "core.hooksPath=/dev/null",
            "commit",
            "-q",
            "--allow-empty",
            "-m",
            "at once",
        ]);
        for trail in (verb.records)(&arguments, &answer, &word) {
            let file = session.shop.git(&["show", &format!("HEAD:.twining/{}", trail.path)]);
            assert!(
                trail.fits(&file),
                "{} {}, the {number}th: {trail:?}\n{file}",
                verb.tool,
                verb.case
            );
        }
    });
}

#[test]
fn every_verb_that_writes_is_tried() {
    let mut session = Session::new();
    let listed = session.server.ask(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}));
    let tools = listed["result"]["tools"].as_array().expect("a list");
    let writing = tools
        .iter()
        .filter(|tool| tool["annotations"]["readOnlyHint"] != true)
        .filter_map(|tool| tool["name"].as_str());
    let tried: BTreeSet<&str> = WRITING_VERBS.iter().map(|verb| verb.tool).chain(LOCAL).collect();
    assert_eq!(writing.collect::<BTreeSet<_>>(), tried);
}
