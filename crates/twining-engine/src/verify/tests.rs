use std::collections::BTreeMap;

use serde_json::json;
use twining_model::Time;

use crate::testing::{NoHistory, Project, caller, choice};
use crate::{
    CheckStatus, DecideInput, History, LinkCommitInput, PostInput, ScopeCheck, VerifyInput,
    VerifyOutcome,
};

struct Commits(BTreeMap<String, Time>);

impl History for Commits {
    fn last_commits(&self, files: &[String]) -> Result<BTreeMap<String, Time>, String> {
        Ok(self
            .0
            .iter()
            .filter(|(file, _)| files.contains(file))
            .map(|(file, at)| (file.clone(), *at))
            .collect())
    }
}

struct NoGit;

impl History for NoGit {
    fn last_commits(&self, _files: &[String]) -> Result<BTreeMap<String, Time>, String> {
        Err("not a git repository".into())
    }
}

fn verify(project: &Project, check: &str, history: &dyn History) -> ScopeCheck {
    let input =
        VerifyInput { scope: Some("src/".into()), checks: vec![check.into()], agent_id: None };
    project
        .engine
        .verify(&caller("ada"), &input, history)
        .expect("verifies")
        .checks
        .remove(check)
        .expect("the check ran")
}

fn on_file(file: &str) -> DecideInput {
    DecideInput { affected_files: vec![file.into()], ..choice(file, "src/", file) }
}

#[test]
fn a_verification_runs_every_check_and_posts_one_finding() {
    let project = Project::new();
    project.decide(&on_file("src/a.rs"));
    let outcome: VerifyOutcome = project
        .engine
        .verify(&caller("ada"), &VerifyInput::default(), &NoHistory)
        .expect("verifies");
    let names: Vec<&str> = outcome.checks.keys().map(String::as_str).collect();
    assert_eq!(names, ["assembly", "constraints", "drift", "test_coverage", "warnings"]);
    let posted = project.entries_tagged("verification");
    assert_eq!(
        (posted.len(), posted[0].entry_type.as_str(), &posted[0].summary),
        (1, "finding", &outcome.summary)
    );
    assert!(posted[0].relates_to.is_empty(), "it must not acknowledge what it reports");
    let wrong = VerifyInput { scope: None, checks: vec!["vibes".into()], agent_id: None };
    assert!(
        project
            .engine
            .verify(&caller("ada"), &wrong, &NoHistory)
            .expect_err("refused")
            .to_string()
            .starts_with("`checks` ")
    );
}

#[test]
fn coverage_follows_tested_by_relations() {
    let project = Project::new();
    assert_eq!(verify(&project, "test_coverage", &NoHistory).status, CheckStatus::Skip);
    project.decide(&on_file("src/a.rs"));
    project.decide(&on_file("src/b.rs"));
    assert_eq!(verify(&project, "test_coverage", &NoHistory).status, CheckStatus::Fail);
    project.add_entity("tests/a.rs", "file");
    project.relate("src/a.rs", "tested_by", "tests/a.rs");
    let half = verify(&project, "test_coverage", &NoHistory);
    assert_eq!((half.status, half.items[0].summary.as_str()), (CheckStatus::Warn, "src/b.rs"));
    project.relate("src/b.rs", "tested_by", "tests/a.rs");
    assert_eq!(verify(&project, "test_coverage", &NoHistory).status, CheckStatus::Pass);
}

#[test]
fn warnings_pass_once_they_are_answered_or_taken_up() {
    let project = Project::new();
    let warnings: Vec<String> =
        (0..3).map(|n| project.post_in("src/a.rs", "warning", &format!("beware {n}"))).collect();
    assert_eq!(verify(&project, "warnings", &NoHistory).status, CheckStatus::Fail);
    project.reply("finding", "looked at it", &warnings[0]);
    assert_eq!(verify(&project, "warnings", &NoHistory).status, CheckStatus::Warn);
    project.reply("status", "fixed", &warnings[1]);
    project.reply("answer", "harmless", &warnings[2]);
    let check = verify(&project, "warnings", &NoHistory);
    assert_eq!(
        (check.status, check.message.as_str()),
        (CheckStatus::Pass, "3 warnings: 2 settled, 1 taken up")
    );
}

#[test]
fn drift_is_a_file_that_changed_after_the_last_word_on_it() {
    let project = Project::new();
    let decided = project.decide(&on_file("src/a.rs"));
    project.clock.advance_ms(60_000);
    let commits = Commits(BTreeMap::from([("src/a.rs".into(), project.clock.now())]));
    let check = verify(&project, "drift", &commits);
    assert_eq!(
        (check.status, check.items[0].file.as_deref()),
        (CheckStatus::Warn, Some("src/a.rs"))
    );
    project.clock.advance_ms(1000);
    let link = LinkCommitInput {
        decision_id: decided.id.to_string(),
        commit_hash: "abcdef1".into(),
        summary: None,
        agent_id: None,
    };
    project.engine.link_commit(&caller("ada"), &link).expect("links");
    assert_eq!(
        verify(&project, "drift", &commits).status,
        CheckStatus::Pass,
        "the commit carries the decision out"
    );
}

#[test]
fn a_newer_decision_on_the_file_is_no_drift_of_the_older() {
    let project = Project::new();
    project.decide(&DecideInput {
        affected_files: vec!["src/a.rs".into()],
        ..choice("api", "src/a.rs", "one")
    });
    project.clock.advance_ms(60_000);
    let commits = Commits(BTreeMap::from([("src/a.rs".into(), project.clock.now())]));
    project.clock.advance_ms(60_000);
    project.decide(&DecideInput {
        affected_files: vec!["src/a.rs".into()],
        ..choice("api", "src/a.rs", "two")
    });
    assert_eq!(verify(&project, "drift", &commits).status, CheckStatus::Pass);
}

#[test]
fn without_git_drift_is_skipped_and_says_why() {
    let project = Project::new();
    project.decide(&on_file("src/a.rs"));
    let check = verify(&project, "drift", &NoGit);
    assert_eq!(check.status, CheckStatus::Skip);
    assert!(check.message.contains("not a git repository"));
}

#[test]
fn a_constraint_with_a_command_in_it_is_listed_and_never_run() {
    let project = Project::new();
    let bait = project.path().join("owned");
    let detail = json!({"check_command": format!("touch {}", bait.display())}).to_string();
    let input = PostInput {
        entry_type: "constraint".into(),
        summary: "no unsafe".into(),
        detail: Some(detail),
        scope: Some("src/".into()),
        ..PostInput::default()
    };
    project.engine.post(&caller("eve"), &input).expect("posts");
    let check = verify(&project, "constraints", &NoHistory);
    assert_eq!((check.status, check.items[0].summary.as_str()), (CheckStatus::Warn, "no unsafe"));
    assert!(!bait.exists());
}

#[test]
fn assembly_names_decisions_made_blind() {
    let project = Project::new();
    project.decide(&on_file("src/a.rs"));
    let check = verify(&project, "assembly", &NoHistory);
    assert_eq!((check.status, check.found), (CheckStatus::Warn, 1));
}
