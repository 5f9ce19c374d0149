//! The compose file and the systemd unit: they are read as what they are, and start the program
//! with flags that it has.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::common::PROGRAM;

fn packaged(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging").join(name)
}

/// Runs the program with these words and no database: it must have got as far as missing one.
fn takes(words: &str) {
    let ran = Command::new(PROGRAM)
        .args(words.split_whitespace())
        .env("TWINING_DATABASE_URL", "")
        .output()
        .expect("runs");
    let said = String::from_utf8_lossy(&ran.stderr).into_owned();
    assert!(said.contains("no database is named"), "{words}: {said}");
}

#[test]
fn the_compose_file_starts_nodes_after_the_schema_is_there() {
    let text = fs::read_to_string(packaged("compose.yml")).expect("is there");
    let compose: Value = serde_saphyr::from_str(&text).expect("is YAML");
    let services = compose["services"].as_object().expect("has services");
    let names: Vec<&str> = services.keys().map(String::as_str).collect();
    assert_eq!(names, ["database", "migrate", "node1", "node2"]);
    let condition = |service: &str, on: &str| &services[service]["depends_on"][on]["condition"];
    assert_eq!(condition("migrate", "database"), "service_healthy");
    for node in ["node1", "node2"] {
        assert_eq!(condition(node, "migrate"), "service_completed_successfully");
        assert_eq!(services[node]["entrypoint"], services["migrate"]["entrypoint"]);
        assert_eq!(services[node]["environment"], services["migrate"]["environment"]);
    }
    assert_ne!(services["node1"]["ports"], services["node2"]["ports"]);
    for service in ["migrate", "node1", "node2"] {
        takes(services[service]["command"].as_str().expect("one text"));
    }
}

#[test]
#[expect(clippy::print_stderr, reason = "what is skipped is said")]
fn the_systemd_unit_is_one() {
    let unit = fs::read_to_string(packaged("twining-serve.service")).expect("is there");
    let start = unit.lines().find_map(|line| line.strip_prefix("ExecStart=/usr/bin/twining "));
    takes(start.expect("starts the program"));
    let dir = tempfile::tempdir().expect("a temporary directory");
    let path = dir.path().join("twining-serve.service");
    // Neither the program nor its manual page is installed here.
    let here = unit.replace("/usr/bin/twining", PROGRAM).replace("man:twining(1)", "file:///");
    fs::write(&path, here).expect("writes");
    let Ok(verified) = Command::new("systemd-analyze").arg("verify").arg(&path).output() else {
        eprintln!("SKIPPED: there is no systemd-analyze");
        return;
    };
    let said = String::from_utf8_lossy(&verified.stderr);
    let about_it: Vec<&str> =
        said.lines().filter(|line| line.contains("twining-serve.service")).collect();
    assert!(about_it.is_empty(), "{about_it:?}");
}
