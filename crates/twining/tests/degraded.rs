//! Without a usable model everything works, words answer, and `status` and
//! `doctor` say what to do.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use crate::common::{Project, Ran, Server};
use serde_json::{Value, json};

const MODEL: &str = "TWINING_MODEL";
const WEIGHTS: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../twining-embed/model/minilm-history.int8.bin");

/// Where the vectors of the program's own model are: its checksum is in their name.
fn vectors_of(project: &Path) -> PathBuf {
    let weights = weights();
    let checksum: [u8; 8] = weights[24..32].try_into().expect("eight bytes");
    let model = u64::from_le_bytes(checksum);
    project.join(format!(".twining/local/vectors-{model:016x}.bin"))
}

/// A project whose user names a model file.
struct Named {
    project: Project,
    model: String,
}

impl Named {
    fn new(model: &Path) -> Self {
        Self { project: Project::new(), model: model.display().to_string() }
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = self.project.command(words);
        command.env(MODEL, &self.model);
        command
    }

    fn run(&self, words: &[&str]) -> Ran {
        let output = self.command(words).output().expect("the program starts");
        let text = |bytes| String::from_utf8(bytes).expect("prints UTF-8");
        Ran {
            code: output.status.code().unwrap_or(-1),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        }
    }

    fn json(&self, words: &[&str]) -> Value {
        let words: Vec<&str> = words.iter().copied().chain(["--json"]).collect();
        let ran = self.run(&words);
        assert_eq!(ran.code, 0, "{words:?}: {ran:?}");
        serde_json::from_str(&ran.stdout).expect("prints JSON")
    }

    fn decide(&self, summary: &str, scope: &str) -> String {
        let words = [
            "decide",
            "--domain",
            "api",
            "--context",
            "tests",
            "--rationale",
            "it is simple",
            "--summary",
            summary,
            "--scope",
            scope,
        ];
        self.json(&words)["id"].as_str().expect("has an id").to_owned()
    }
}

/// A file of these bytes, gone with its folder.
fn file_of(bytes: &[u8]) -> (tempfile::TempDir, std::path::PathBuf) {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let path = dir.path().join("model.bin");
    std::fs::write(&path, bytes).expect("writes");
    (dir, path)
}

fn weights() -> Vec<u8> {
    std::fs::read(WEIGHTS).expect("the weights are in the repository")
}

/// Every verb works, keyword search answers, and output names problem and remedy.
fn everything_else_works(model: &Path, why: &str) {
    let named = Named::new(model);
    let need =
        named.json(&["post", "need", "a reviewer for the session code", "--scope", "src/auth/"]);
    named.json(&["post", "finding", "users are logged out when their session token expires"]);
    let id = named.decide("session tokens live fifteen minutes", "src/auth/");
    let other = named.decide("keep rows in PostgreSQL", "src/db/");

    let found = named.json(&["query", "session token"]);
    assert_eq!(
        (&found["mode"], found["results"][0]["why"]["semantic"].is_null()),
        (&json!("keyword"), true),
        "{found}"
    );
    assert_eq!(found["results"].as_array().map(Vec::len), Some(3), "{found}");
    let decisions = named.json(&["search-decisions", "session"]);
    assert_eq!(
        (&decisions["mode"], &decisions["results"][0]["decision"]["id"]),
        (&json!("keyword"), &json!(id))
    );
    let context = named.json(&["assemble", "make sessions longer", "src/auth/"]);
    assert_eq!(
        (&context["mode"], &context["active_decisions"][0]["id"]),
        (&json!("keyword"), &json!(id))
    );

    let need = need["id"].as_str().expect("has an id");
    for words in [
        &["read"][..],
        &["recent"],
        &["why", "src/auth/"],
        &["trace", &id],
        &["impact", &id],
        &["summarize"],
        &["what-changed", "2020-01-01"],
        &["link-commit", &id, "3f2a91c"],
        &["commits", "3f2a91c"],
        &["add-entity", "redis", "dependency"],
        &["add-relation", "redis", "related_to", "redis"],
        &["neighbors", "redis"],
        &["path", "redis", "redis"],
        &["graph-query", "redis"],
        &["prune-graph"],
        &["dismiss", need],
        &["reconsider", &id, "--new-context", "a client wants hours"],
        &["promote", &id],
        &["override", &other, "--reason", "no"],
        &["archive", "--before", "2020-01-01"],
        &["export"],
        &["reindex"],
    ] {
        let ran = named.run(words);
        assert_eq!(ran.code, 0, "{words:?}: {ran:?}");
    }

    let status = named.json(&["status"]);
    let warning = status["warnings"]
        .as_array()
        .and_then(|all| all.iter().find(|warning| warning["code"] == "no_embeddings"));
    let warning = warning.unwrap_or_else(|| panic!("status does not say it: {status}"));
    let message = warning["message"].as_str().unwrap_or_default();
    assert!(message.contains(&named.model) && message.contains(why), "{message}");
    assert!(
        warning["hint"].as_str().is_some_and(|hint| hint.contains("unset TWINING_MODEL")),
        "{warning}"
    );

    let doctor = named.run(&["doctor"]);
    assert_eq!(doctor.code, 0, "the memory is in order: {doctor:?}");
    assert!(
        doctor.stdout.contains("keywords only") && doctor.stdout.contains("unset TWINING_MODEL"),
        "{doctor:?}"
    );
    let checked = named.json(&["doctor"]);
    let search = checked["checks"]
        .as_array()
        .and_then(|all| all.iter().find(|check| check["name"] == "search").cloned());
    assert_eq!(search.expect("is checked")["finding"], "warn", "{checked}");
    assert_eq!(checked["finding"], "warn");

    let vectors = named.run(&["reindex", "--vectors"]);
    assert_eq!(vectors.code, 1, "vectors were asked for and cannot be made: {vectors:?}");
    assert!(vectors.stderr.contains(why) && vectors.stderr.contains("hint: "), "{vectors:?}");
    assert!(!vectors_of(named.project.path()).exists());
}

#[test]
fn a_model_that_is_missing_costs_search_by_meaning_alone() {
    everything_else_works(Path::new("/nowhere/model.bin"), "cannot be read");
}

#[test]
fn a_model_that_is_truncated_costs_search_by_meaning_alone() {
    let weights = weights();
    let (_dir, path) = file_of(&weights[..weights.len() / 2]);
    everything_else_works(&path, "not a usable model");
}

#[test]
fn a_model_with_one_flipped_bit_costs_search_by_meaning_alone() {
    let mut weights = weights();
    let middle = weights.len() / 2;
    weights[middle] ^= 4;
    let (_dir, path) = file_of(&weights);
    everything_else_works(&path, "not a usable model");
}

#[test]
fn a_model_that_is_empty_costs_search_by_meaning_alone() {
    let (_dir, path) = file_of(b"");
    everything_else_works(&path, "not a usable model");
}

#[test]
fn a_model_that_is_a_folder_costs_search_by_meaning_alone() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    everything_else_works(dir.path(), "cannot be read");
}

#[test]
fn the_right_file_serves_as_well_as_the_model_in_the_program() {
    let named = Named::new(Path::new(WEIGHTS));
    named.json(&["post", "finding", "users are logged out when their session token expires"]);
    assert_eq!(named.run(&["reindex", "--vectors"]).code, 0);
    let found = named.json(&["query", "why are people kicked off the website"]);
    assert_eq!(
        (&found["mode"], found["results"].as_array().map(Vec::len)),
        (&json!("hybrid"), Some(1)),
        "{found}"
    );
    let status = named.json(&["status"]);
    assert!(!status.to_string().contains("no_embeddings"), "{status}");
    // The same vectors serve the program's own model.
    let built_in = named.project.json(&["query", "why are people kicked off the website"]);
    assert_eq!(built_in["results"], found["results"]);
}

#[test]
fn vectors_that_cannot_be_read_leave_words_to_answer_and_doctor_says_which_file() {
    let project = Project::new();
    project.json(&["post", "finding", "users are logged out when their session token expires"]);
    std::fs::create_dir_all(vectors_of(project.path())).expect("makes a folder");
    let found = project.json(&["query", "session"]);
    assert_eq!(
        (&found["mode"], found["results"].as_array().map(Vec::len)),
        (&json!("keyword"), Some(1)),
        "{found}"
    );
    let doctor = project.run(&["doctor"]);
    assert_eq!(doctor.code, 3, "{doctor:?}");
    assert!(doctor.stdout.contains(".twining/local/vectors-"), "{doctor:?}");
}

#[test]
fn settings_may_do_without_embeddings_and_nothing_complains() {
    let project = Project::new();
    project.json(&["post", "finding", "users are logged out when their session token expires"]);
    project.run(&["reindex", "--vectors"]);
    assert_eq!(project.json(&["query", "session"])["mode"], "hybrid");
    std::fs::write(
        project.path().join(".twining/config.yml"),
        "version: 1\nsearch: {embeddings: false}\n",
    )
    .expect("writes");
    assert_eq!(project.json(&["query", "session"])["mode"], "keyword");
    assert_eq!(project.json(&["assemble", "sessions", "src/"])["mode"], "keyword");
    assert!(!project.json(&["status"]).to_string().contains("no_embeddings"));
    let doctor = project.run(&["doctor"]);
    assert!(doctor.code == 0 && doctor.stdout.contains("search.embeddings"), "{doctor:?}");
}

#[test]
fn a_server_told_to_do_without_embeddings_makes_none() {
    let project = Project::new();
    project.json(&["post", "finding", "users are logged out when their session token expires"]);
    std::fs::write(
        project.path().join(".twining/config.yml"),
        "version: 1\nsearch: {embeddings: false}\n",
    )
    .expect("writes");
    let mut server = project.server(&[]);
    server.initialize();
    server.call("twining_status", &json!({}));
    std::thread::sleep(Duration::from_millis(1500));
    assert!(!vectors_of(project.path()).exists());
}

#[test]
fn a_server_starts_and_answers_whatever_the_model_is() {
    let (_dir, damaged) = file_of(b"no model at all");
    let named = Named::new(&damaged);
    named.json(&["post", "finding", "users are logged out when their session token expires"]);
    let mut server = Server::start(named.command(&["mcp"]));
    server.initialize();
    let tools = server.ask(&json!({"jsonrpc": "2.0", "id": 7, "method": "tools/list"}));
    let tools = tools["result"]["tools"].as_array().expect("a list").len();
    let mut usual = Server::start(named.project.command(&["mcp"]));
    usual.initialize();
    let with_model = usual.ask(&json!({"jsonrpc": "2.0", "id": 7, "method": "tools/list"}));
    assert_eq!(Some(tools), with_model["result"]["tools"].as_array().map(Vec::len));
    let found = server.call("twining_query", &json!({"query": "session"}));
    assert_eq!(found["structuredContent"]["mode"], "keyword", "{found}");
    let status = server.call("twining_status", &json!({}));
    assert!(status.to_string().contains("no_embeddings"), "{status}");
    let (took, code) = server.leave();
    assert!(code == Some(0) && took < Duration::from_secs(2), "{code:?} after {took:?}");
}

#[test]
fn a_server_lists_its_tools_without_touching_the_model() {
    // A pipe without a writer: reading it blocks forever.
    let dir = tempfile::tempdir().expect("a temporary directory");
    let pipe = dir.path().join("model.bin");
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo is there").success());
    let named = Named::new(&pipe);
    let mut server = Server::start(named.command(&["mcp"]));
    server.initialize();
    let tools = server.ask(&json!({"jsonrpc": "2.0", "id": 7, "method": "tools/list"}));
    assert!(tools["result"]["tools"].as_array().is_some_and(|tools| tools.len() > 20));
    let posted = server.call(
        "twining_post",
        &json!({"entry_type": "finding", "summary": "writing needs no model"}),
    );
    assert_ne!(posted["isError"], true, "{posted}");
    // Long enough for the background to wait at the pipe, in vain.
    std::thread::sleep(Duration::from_millis(800));
    let recent = server.call("twining_recent", &json!({}));
    assert_eq!(
        recent["structuredContent"]["entries"].as_array().map(Vec::len),
        Some(1),
        "{recent}"
    );
    let (took, _) = server.leave();
    assert!(took < Duration::from_secs(2), "it did not wait for the model to go: {took:?}");
}

#[test]
fn a_server_makes_vectors_in_the_background_and_what_was_posted_is_found_by_meaning() {
    let project = Project::new();
    let mut server = project.server(&[]);
    server.initialize();
    let summary = "users are logged out when their session token expires";
    server.call("twining_post", &json!({"entry_type": "finding", "summary": summary}));
    let vectors = vectors_of(project.path());
    let started = Instant::now();
    while !vectors.exists() && started.elapsed() < Duration::from_secs(20) {
        std::thread::sleep(Duration::from_millis(50));
    }
    let found =
        server.call("twining_query", &json!({"query": "why are people kicked off the website"}));
    let found = &found["structuredContent"];
    assert_eq!(
        (&found["mode"], &found["results"][0]["entry"]["summary"]),
        (&json!("hybrid"), &json!(summary)),
        "{found}"
    );
}
