use serde_json::json;
use twining_testcases::each;

use crate::testing::{Project, caller, choice};
use crate::{
    CommitsInput, CommitsOutcome, DecideInput, Failure, LinkCommitInput, LinkCommitOutcome,
};

const HASH: &str = "abcdef1234567890abcdef1234567890abcdef12";

fn link(project: &Project, id: &str, hash: &str) -> Result<LinkCommitOutcome, Failure> {
    let input = LinkCommitInput {
        decision_id: id.into(),
        commit_hash: hash.into(),
        summary: Some("add the cache".into()),
        agent_id: None,
    };
    project.engine.link_commit(&caller("ada"), &input)
}

fn commits(project: &Project, hash: &str) -> Result<CommitsOutcome, Failure> {
    project.engine.commits(&CommitsInput { commit_hash: hash.into() })
}

#[test]
fn a_linked_commit_is_found_by_any_beginning_of_its_hash() {
    let project = Project::new();
    let decided = project.decide(&choice("a", "src/", "cache it"));
    let outcome = link(&project, decided.id.as_str(), HASH).expect("links");
    assert!(outcome.linked && outcome.decision_summary == "cache it");
    each([HASH, "ABCDEF12", "abcd"], |asked| {
        let found = commits(&project, asked).expect("finds");
        assert_eq!(
            (found.commit_hash.as_str(), found.decisions[0].id.as_str()),
            (HASH, decided.id.as_str()),
            "{asked}"
        );
    });
    assert!(commits(&project, "ffff").expect("answers").decisions.is_empty());
    let decision = project.decision(&decided.id);
    assert_eq!(
        (decision.commit_hashes[0].as_str(), decision.commits[0].summary.as_deref()),
        (HASH, Some("add the cache"))
    );
    assert_eq!(project.relations()[0].kind, "produces");
}

#[test]
fn linking_the_same_commit_again_changes_nothing() {
    let project = Project::new();
    let decided = project
        .decide(&DecideInput { commit_hash: Some(HASH.into()), ..choice("a", "src/", "cache it") });
    assert!(!link(&project, decided.id.as_str(), HASH).expect("answers").linked);
    let once = project.decision(&decided.id);
    assert_eq!(
        once.commits[0].summary.as_deref(),
        Some("add the cache"),
        "what is newly known of it is kept"
    );
    assert!(!link(&project, decided.id.as_str(), &HASH[..10]).expect("answers").linked);
    assert_eq!(project.decision(&decided.id), once);
}

#[test]
fn a_full_hash_takes_the_place_of_its_beginning() {
    let project = Project::new();
    let decided = project.decide(&choice("a", "src/", "cache it"));
    link(&project, decided.id.as_str(), &HASH[..8]).expect("links");
    link(&project, decided.id.as_str(), HASH).expect("links");
    let decision = project.decision(&decided.id);
    assert_eq!((decision.commit_hashes.len(), decision.commits.len()), (1, 1));
    assert_eq!(decision.commit_hashes[0], HASH);
}

#[test]
fn the_beginning_of_two_commits_is_an_error_that_lists_both() {
    let project = Project::new();
    project.decide(&DecideInput {
        commit_hash: Some("abcd1111".into()),
        ..choice("a", "src/", "one")
    });
    project.decide(&DecideInput {
        commit_hash: Some("abcd2222".into()),
        ..choice("b", "src/", "two")
    });
    let failure = commits(&project, "abcd").expect_err("ambiguous");
    assert_eq!(failure.code(), "AMBIGUOUS_COMMIT");
    assert!(failure.to_string().contains("abcd1111, abcd2222"), "{failure}");
    assert_eq!(commits(&project, "abcd1").expect("unique").decisions.len(), 1);
}

#[test]
fn two_decisions_linked_by_a_long_and_a_short_hash_share_one_commit() {
    let project = Project::new();
    project.decide(&DecideInput { commit_hash: Some(HASH.into()), ..choice("a", "src/", "one") });
    project
        .decide(&DecideInput { commit_hash: Some(HASH[..9].into()), ..choice("b", "src/", "two") });
    let found = commits(&project, &HASH[..7]).expect("one commit");
    assert_eq!((found.commit_hash.as_str(), found.decisions.len()), (HASH, 2));
}

#[test]
fn a_hash_in_a_file_that_is_no_hash_is_only_text() {
    let project = Project::new();
    project.write_decision(
        "01M7EB3QWY4C5CPJF6982ZJQ18",
        &json!({"commit_hashes": ["; rm -rf /", "abcdef12"]}),
    );
    assert_eq!(commits(&project, "abcdef12").expect("finds").decisions.len(), 1);
    let failure = commits(&project, "; rm -rf /").expect_err("refused");
    assert!(failure.to_string().starts_with("`commit_hash` "));
}

#[test]
fn a_commit_for_an_unknown_decision_is_refused() {
    let project = Project::new();
    assert_eq!(
        link(&project, "01M7EB3QWY4C5CPJF6982ZJQ18", HASH).expect_err("unknown").code(),
        "NOT_FOUND"
    );
}
