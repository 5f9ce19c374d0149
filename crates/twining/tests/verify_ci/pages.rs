//! The pages of `docs/reference/ci.md`, verbatim: their shell code runs against a bare repository,
//! without a network, with the program under test on the path.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::verify_ci::team::{ADA, BOT, PROGRAM, Team, features};

const PAGE: &str = include_str!("../../../../docs/reference/ci.md");

/// The first block of a kind below a heading.
fn block(heading: &str, kind: &str) -> String {
    let below = PAGE.split_once(&format!("\n## {heading}\n")).expect("has the heading").1;
    let block = below.split_once(&format!("\n```{kind}\n")).expect("has the block").1;
    block.split_once("\n```").expect("ends").0.to_owned()
}

fn yaml(heading: &str) -> Value {
    serde_saphyr::from_str(&block(heading, "yaml")).expect("is YAML")
}

/// A folder of programs: ours, and a package manager that has nothing to do.
fn programs(team: &Team) -> PathBuf {
    let dir = team.path().join("bin");
    fs::create_dir_all(&dir).expect("makes it");
    let _ = std::os::unix::fs::symlink(PROGRAM, dir.join("twining"));
    script(&dir.join("npm"), "#!/bin/sh\nexit 0\n");
    dir
}

fn script(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().expect("has a folder")).expect("makes it");
    fs::write(path, text).expect("writes");
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("may run");
}

fn with_path(mut command: Command, team: &Team) -> Command {
    let path = std::env::var("PATH").unwrap_or_default();
    command.env("PATH", format!("{}:{path}", programs(team).display()));
    command
}

/// Runs lines of a job; how they end.
fn shell(team: &Team, at: &Path, lines: &str, variables: &[(&str, &str)]) -> i32 {
    let mut command = with_path(team.command("bash", at), team);
    command.args(["-e", "-c", lines]).envs(variables.iter().copied());
    command.status().expect("bash starts").code().unwrap_or(-1)
}

/// A team whose test script writes a report in which login passes, or fails.
fn tested(end: &str) -> Team {
    let team = Team::new();
    let case = if end == "passed" { "/>".to_owned() } else { "><failure/></testcase>".to_owned() };
    let report = format!(
        "<testsuites><testsuite name=\"all\"><testcase classname=\"login\" name=\"logs in\"{case}</testsuite></testsuites>"
    );
    script(&team.work().join("ci/test.sh"), &format!("#!/bin/sh\necho '{report}' > junit.xml\n"));
    team.commit(ADA, "tests");
    team.git(&team.work(), &["push", "-q", "origin", "main"]);
    team
}

fn honest(team: &Team) {
    team.write(".twining/features.json", &features(true, false));
}

fn lazy(team: &Team) {
    team.write("src/app.ts", "import moment from 'moment';\n");
}

/// Pushes a pull request; its base and head.
fn push(team: &Team, change: fn(&Team)) -> [String; 2] {
    team.branch();
    change(team);
    team.commit(BOT, "change");
    team.push();
    ["main", "pr"].map(|name| team.git(&team.work(), &["rev-parse", name]).trim().to_owned())
}

/// A clone that is at a commit, as a runner makes it.
fn checkout(team: &Team, name: &str, head: &str) -> PathBuf {
    let at = team.path().join(name);
    let _ = fs::remove_dir_all(&at);
    team.git(Path::new("."), &["clone", "-q", "origin.git", name]);
    team.git(&at, &["checkout", "-q", head]);
    at
}

fn github(team: &Team, change: fn(&Team), approve: &str) -> i32 {
    let page = yaml("GitHub Actions");
    let [base, head] = push(team, change);
    let variables = [("BASE", base.as_str()), ("HEAD", &head), ("APPROVE", approve)];
    let run = |job: &str, at: &Path| {
        let steps = page["jobs"][job]["steps"].as_array().expect("has steps").clone();
        let lines: Vec<String> =
            steps.iter().filter_map(|step| step["run"].as_str().map(str::to_owned)).collect();
        assert!(!lines.is_empty(), "{job} runs something");
        lines.iter().map(|lines| shell(team, at, lines, &variables)).max().unwrap_or_default()
    };
    let tests = checkout(team, "tests", &head);
    run("tests", &tests);
    let verify = checkout(team, "verify", &head);
    // What upload and download of the artifact do.
    fs::create_dir_all(verify.join("reports")).expect("makes it");
    fs::copy(tests.join("junit.xml"), verify.join("reports/junit.xml"))
        .expect("hands the report over");
    let ended = run("verify", &verify);
    assert!(verify.join("twining.sarif").is_file(), "there is something to upload");
    ended
}

#[test]
fn the_github_page_passes_an_honest_pull_request_and_fails_a_lazy_one() {
    let team = tested("passed");
    assert_eq!(github(&team, honest, ""), 0);
    assert_eq!(github(&team, lazy, ""), 3);
    let milder: fn(&Team) = |team| team.write(".twining/policy.yml", "guards: []\n");
    assert_eq!(github(&team, milder, ""), 3);
    assert_eq!(github(&team, milder, "--approve policy"), 0, "with the label of a code owner");
    assert_eq!(github(&tested("failed"), honest, ""), 3, "the feature's test fails");
}

#[test]
fn the_github_page_gives_the_tests_no_secrets() {
    let page = yaml("GitHub Actions");
    assert_eq!(page["permissions"].to_string(), "{}");
    assert_eq!(page["jobs"]["tests"]["permissions"].to_string(), r#"{"contents":"read"}"#);
    assert!(!page["jobs"]["tests"].to_string().contains("secrets."));
}

fn gitlab(team: &Team, change: fn(&Team)) -> i32 {
    let page = yaml("GitLab");
    let [_, head] = push(team, change);
    let at = checkout(team, "gitlab", &head);
    let variables =
        [("CI_MERGE_REQUEST_TARGET_BRANCH_NAME", "main"), ("CI_COMMIT_SHA", head.as_str())];
    let script = |job: &str| {
        let lines = page[job]["script"].as_array().expect("has a script").clone();
        lines.iter().filter_map(|line| line.as_str()).collect::<Vec<_>>().join("\n")
    };
    shell(team, &at, &script("tests"), &variables);
    shell(team, &at, &script("verify"), &variables)
}

#[test]
fn the_gitlab_page_passes_an_honest_merge_request_and_fails_a_lazy_one() {
    let team = tested("passed");
    assert_eq!(gitlab(&team, honest), 0);
    assert_eq!(gitlab(&team, lazy), 3);
    assert_eq!(gitlab(&tested("failed"), honest), 3);
}

#[test]
fn the_server_s_hook_refuses_a_push_that_breaks_a_rule() {
    let team = Team::new();
    script(&team.path().join("origin.git/hooks/pre-receive"), &block("A server's own hook", "sh"));
    let pushed = |branch: &str| {
        let mut command = with_path(team.command("git", &team.work()), &team);
        command
            .args(["push", "-q", "origin", &format!("HEAD:{branch}")])
            .status()
            .expect("git starts")
            .success()
    };
    team.branch();
    lazy(&team);
    team.commit(BOT, "lazy");
    assert!(!pushed("main") && !pushed("new-branch"));

    team.branch();
    honest(&team);
    team.commit(BOT, "honest");
    assert!(!pushed("main"), "unproven");
    let head = team.git(&team.work(), &["rev-parse", "HEAD"]);
    let report = team.junit("junit.xml", &[("logs in", "passed")]);
    fs::create_dir_all(team.path().join("origin.git/reports")).expect("makes it");
    fs::copy(report, team.path().join(format!("origin.git/reports/{}.xml", head.trim())))
        .expect("hands the report over");
    assert!(pushed("main"));
}
