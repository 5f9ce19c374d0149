//! Changes of mind: reconsider, override, promote.

use twining_model::{Authority, DecisionStatus, EntryType};
use twining_store::OutboxSignature;

use crate::testing::{Project, caller, choice};
use crate::{
    DecideInput, DecisionRivals, DismissInput, OverrideInput, PromoteInput, ReconsiderInput,
    WhyInput,
};

fn doubt(project: &Project, id: &twining_model::Id) -> crate::ReconsiderOutcome {
    let input = ReconsiderInput {
        decision_id: id.to_string(),
        new_context: "traffic grew tenfold".into(),
        agent_id: None,
    };
    project.engine.reconsider(&caller("bob"), &input).expect("reconsiders")
}

fn promote(project: &Project, ids: &[&str]) -> Result<crate::PromoteOutcome, crate::Failure> {
    let input = PromoteInput {
        decision_ids: ids.iter().map(|&id| id.to_owned()).collect(),
        ..PromoteInput::default()
    };
    project.engine.promote(&caller("ada"), Authority::Claimed, &input)
}

fn open_warnings(project: &Project) -> u64 {
    project.engine.status().expect("reports").open_warnings
}

#[test]
fn reconsidering_flags_one_decision_and_only_names_those_that_depend_on_it() {
    let project = Project::new();
    let base = project.decide(&choice("a", "src/", "base"));
    let top = project.decide(&DecideInput {
        depends_on: vec![base.id.to_string()],
        ..choice("b", "src/", "top")
    });
    let outcome = doubt(&project, &base.id);
    assert_eq!(
        (outcome.flagged, outcome.decision_summary.as_str(), outcome.dependents),
        (true, "base", vec![top.id.clone()])
    );
    let doubted = project.decision(&base.id);
    assert_eq!(
        (doubted.status, doubted.history[0].by.as_str()),
        (DecisionStatus::Provisional, "bob")
    );
    assert_eq!(project.decision(&top.id).status, DecisionStatus::Active, "no cascade");
    let warning = &project.entries_tagged("reconsideration")[0];
    assert_eq!(
        (warning.kind(), warning.relates_to.as_slice()),
        (Some(EntryType::Warning), [base.id.to_string()].as_slice())
    );
    assert!(
        warning.detail.contains("traffic grew tenfold") && warning.detail.contains(top.id.as_str())
    );
}

#[test]
fn reconsidering_twice_warns_again_and_flags_nothing() {
    let project = Project::new();
    let base = project.decide(&choice("a", "src/", "base"));
    doubt(&project, &base.id);
    assert!(!doubt(&project, &base.id).flagged);
    assert_eq!(project.decision(&base.id).history.len(), 1);
}

#[test]
fn promoting_settles_the_doubt_and_its_warning() {
    let project = Project::new();
    let base = project.decide(&choice("a", "src/", "base"));
    doubt(&project, &base.id);
    assert_eq!(open_warnings(&project), 1);
    let outcome = promote(&project, &[base.id.as_str()]).expect("promotes");
    assert_eq!(outcome.promoted, std::slice::from_ref(&base.id));
    assert_eq!(
        (project.decision(&base.id).status, open_warnings(&project)),
        (DecisionStatus::Active, 0)
    );
}

#[test]
fn a_decision_out_of_force_is_not_reconsidered_and_nobody_is_warned() {
    let project = Project::new();
    let old = project.decide(&choice("a", "src/", "old"));
    let new = project.decide(&DecideInput {
        supersedes: Some(old.id.to_string()),
        ..choice("a", "src/", "new")
    });
    let outcome = doubt(&project, &old.id);
    assert!(!outcome.flagged);
    assert_eq!(
        outcome.note,
        Some(format!("nothing to reconsider: it is superseded; {} replaces it", new.id))
    );
    project.override_as(Authority::Confirmed, &new.id, None);
    assert_eq!(
        doubt(&project, &new.id).note.as_deref(),
        Some("nothing to reconsider: it is overridden")
    );
    assert_eq!((open_warnings(&project), project.entries_tagged("reconsideration").len()), (0, 0));
}

#[test]
fn promoting_beside_an_active_rival_says_so_and_leaves_the_warning_open() {
    let project = Project::new();
    let first = project.decide(&choice("api", "src/", "use rest"));
    let second = project.decide(&choice("api", "src/", "use grpc"));
    let outcome = promote(&project, &[second.id.as_str()]).expect("promotes");
    assert_eq!(outcome.promoted, std::slice::from_ref(&second.id));
    assert_eq!(
        outcome.contested,
        [DecisionRivals { id: second.id, rivals: vec![first.id.clone()] }]
    );
    assert_eq!(
        (open_warnings(&project), project.entries_tagged("conflict").len()),
        (1, 1),
        "one warning, still open"
    );
    project.override_as(Authority::Confirmed, &first.id, None);
    assert_eq!(open_warnings(&project), 0);
}

#[test]
fn two_rivals_promoted_at_once_are_named_to_each_other_and_warned_of_once() {
    let project = Project::new();
    let first = project.decide(&choice("api", "src/", "use rest"));
    let left = project.decide(&choice("api", "src/", "use grpc")).id;
    let right = project.decide(&choice("api", "src/", "use soap")).id;
    project.override_as(Authority::Confirmed, &first.id, None);
    assert_eq!(open_warnings(&project), 0, "between provisional ones nothing is settled yet");
    let outcome = promote(&project, &[left.as_str(), right.as_str()]).expect("promotes");
    let expected = [
        DecisionRivals { id: left.clone(), rivals: vec![right.clone()] },
        DecisionRivals { id: right.clone(), rivals: vec![left.clone()] },
    ];
    assert_eq!((outcome.contested.as_slice(), open_warnings(&project)), (expected.as_slice(), 1));
    project.override_as(Authority::Confirmed, &left, None);
    assert_eq!(open_warnings(&project), 0);
}

#[test]
fn promoting_sorts_out_what_cannot_be_promoted() {
    let project = Project::new();
    let active = project.decide(&choice("a", "src/", "active"));
    let contested = project.decide(&choice("a", "src/", "contested"));
    let old = project.decide(&choice("b", "src/", "old"));
    let new = project.decide(&DecideInput {
        supersedes: Some(old.id.to_string()),
        ..choice("b", "src/", "new")
    });
    let outcome = promote(&project, &[active.id.as_str(), contested.id.as_str(), old.id.as_str()])
        .expect("promotes");
    assert_eq!((outcome.promoted, outcome.already_active), (vec![contested.id], vec![active.id]));
    assert_eq!(outcome.refused[0].id, old.id);
    assert!(outcome.refused[0].reason.contains(new.id.as_str()), "{}", outcome.refused[0].reason);
}

#[test]
fn a_promotion_with_an_unknown_id_in_it_promotes_nothing() {
    let project = Project::new();
    project.decide(&choice("a", "src/", "active"));
    let contested = project.decide(&choice("a", "src/", "contested"));
    let failure = promote(&project, &[contested.id.as_str(), "01M7EB3QWY4C5CPJF6982ZJQ18"])
        .expect_err("unknown");
    assert_eq!(failure.code(), "NOT_FOUND");
    assert_eq!(project.decision(&contested.id).status, DecisionStatus::Provisional);
    assert!(promote(&project, &[]).expect_err("empty").to_string().starts_with("`decision_ids` "));
}

#[test]
fn an_override_by_an_agent_is_flagged_until_a_person_confirms_it() {
    let project = Project::new();
    let decided = project.decide(&choice("a", "src/", "use rest"));
    let claimed = project.override_as(Authority::Claimed, &decided.id, None);
    assert_eq!(
        (claimed.overridden, claimed.old_summary.as_str(), claimed.authority),
        (true, "use rest", Authority::Claimed)
    );
    let decision = project.decision(&decided.id);
    assert_eq!(
        (decision.status, decision.override_authority),
        (DecisionStatus::Overridden, Some(Authority::Claimed))
    );
    assert_eq!(
        (decision.overridden_by.as_deref(), decision.override_reason.as_deref()),
        (Some("human"), Some("the client said no"))
    );
    let report = project.engine.status().expect("reports");
    assert!(
        report.warnings.iter().any(|warning| warning.code == "unconfirmed_overrides"),
        "{:?}",
        report.warnings
    );
    assert_eq!(report.open_warnings, 1);

    let confirmed = project.override_as(Authority::Confirmed, &decided.id, None);
    assert_eq!((confirmed.overridden, confirmed.authority), (true, Authority::Confirmed));
    assert_eq!(project.decision(&decided.id).override_authority, Some(Authority::Confirmed));
    let report = project.engine.status().expect("reports");
    assert!(
        !report.warnings.iter().any(|warning| warning.code == "unconfirmed_overrides"),
        "{:?}",
        report.warnings
    );
    assert_eq!(report.open_warnings, 0);
}

#[test]
fn a_clone_confirms_an_override_only_with_a_persons_token() {
    let project = Project::new();
    let outbox = project.engine.store().outbox();
    let sign = |is_person| {
        let principal = "ada".to_owned();
        let signature = OutboxSignature { principal, is_person, is_maintainer: true };
        outbox.sign_as(signature).expect("is kept");
    };
    outbox.create().expect("is linked");
    let decided = project.decide(&choice("a", "src/", "use rest"));
    sign(false);
    for is_new in [true, false] {
        let done = project.override_as(Authority::Confirmed, &decided.id, None);
        assert_eq!((done.overridden, done.authority), (is_new, Authority::Claimed));
        assert!(done.hint.is_some_and(|hint| hint.contains("--kind person")), "{done:?}");
    }
    let warnings = project.engine.status().expect("reports").warnings;
    let warning = warnings.iter().find(|one| one.code == "unconfirmed_overrides");
    assert!(warning.is_some_and(|one| one.hint.contains("--kind person")), "{warnings:?}");
    sign(true);
    let done = project.override_as(Authority::Confirmed, &decided.id, None);
    assert_eq!((done.overridden, done.authority, done.hint), (true, Authority::Confirmed, None));
}

#[test]
fn a_confirmed_override_is_not_weakened_by_a_later_claim() {
    let project = Project::new();
    let decided = project.decide(&choice("a", "src/", "use rest"));
    project.override_as(Authority::Confirmed, &decided.id, None);
    let before = project.decision(&decided.id);
    let again = project.override_as(Authority::Claimed, &decided.id, None);
    assert_eq!((again.overridden, again.authority), (false, Authority::Confirmed));
    assert_eq!(project.decision(&decided.id), before);
}

#[test]
fn an_override_with_a_replacement_stays_overridden_and_links_both() {
    let project = Project::new();
    let decided = project.decide(&choice("api", "src/", "use rest"));
    let outcome = project.override_as(Authority::Confirmed, &decided.id, Some("use grpc"));
    let replacement = outcome.replacement.expect("a replacement");
    let (old, new) = (project.decision(&decided.id), project.decision(&replacement));
    assert_eq!(
        (old.status, old.superseded_by.as_deref()),
        (DecisionStatus::Overridden, Some(replacement.as_str()))
    );
    assert_eq!(
        (new.status, new.supersedes.as_deref()),
        (DecisionStatus::Active, Some(decided.id.as_str()))
    );
    assert_eq!(
        (new.domain.as_str(), new.scope.as_str(), new.rationale.as_str()),
        ("api", "src/", "the client said no")
    );
    let why = project
        .engine
        .why(&WhyInput { scope: Some("src/".into()), ..WhyInput::default() })
        .expect("explains");
    assert_eq!((why.active_count, why.contested), (1, false));
}

#[test]
fn overriding_one_side_of_a_conflict_settles_its_warning() {
    let project = Project::new();
    project.decide(&choice("api", "src/", "use rest"));
    let second = project.decide(&choice("api", "src/", "use grpc"));
    assert_eq!(open_warnings(&project), 1);
    project.override_as(Authority::Confirmed, &second.id, None);
    assert_eq!(open_warnings(&project), 0);
}

#[test]
fn a_claimed_override_settles_nothing() {
    let project = Project::new();
    project.decide(&choice("api", "src/", "use rest"));
    let second = project.decide(&choice("api", "src/", "use grpc"));
    project.override_as(Authority::Claimed, &second.id, None);
    assert_eq!(open_warnings(&project), 2, "the conflict, and the claim itself");
}

#[test]
fn a_claimed_override_stays_flagged_when_the_decision_is_superseded() {
    let project = Project::new();
    let decided = project.decide(&choice("api", "src/", "use rest"));
    project.override_as(Authority::Claimed, &decided.id, None);
    project.decide(&DecideInput {
        supersedes: Some(decided.id.to_string()),
        ..choice("api", "src/", "use grpc")
    });
    let old = project.decision(&decided.id);
    assert_eq!(
        (old.status, old.superseded_by.is_some(), open_warnings(&project)),
        (DecisionStatus::Overridden, true, 1)
    );
}

#[test]
fn a_conflict_with_two_rivals_is_open_until_both_are_gone() {
    let project = Project::new();
    let left = project.decide(&choice("api", "src/left/", "use rest"));
    let right = project.decide(&choice("api", "src/right/", "use soap"));
    project.decide(&choice("api", "src/", "use grpc"));
    project.override_as(Authority::Confirmed, &left.id, None);
    assert_eq!(open_warnings(&project), 1);
    project.override_as(Authority::Confirmed, &right.id, None);
    assert_eq!(open_warnings(&project), 0);
}

#[test]
fn an_override_of_an_unknown_decision_or_without_a_reason_is_refused() {
    let project = Project::new();
    let decided = project.decide(&choice("api", "src/", "use rest"));
    let input = |id: &str, reason: &str, new: Option<&str>| OverrideInput {
        decision_id: id.into(),
        reason: reason.into(),
        new_decision: new.map(str::to_owned),
        overridden_by: Some("alice".into()),
        ..OverrideInput::default()
    };
    let refuse = |input: &OverrideInput| {
        project
            .engine
            .override_decision(&caller("ada"), Authority::Claimed, input)
            .expect_err("refused")
    };
    assert_eq!(refuse(&input("01M7EB3QWY4C5CPJF6982ZJQ18", "no", None)).code(), "NOT_FOUND");
    assert!(refuse(&input("../../x", "no", None)).to_string().starts_with("`decision_id` "));
    assert!(refuse(&input(decided.id.as_str(), " ", None)).to_string().starts_with("`reason` "));
    assert!(
        refuse(&input(decided.id.as_str(), "no", Some(&"x".repeat(201))))
            .to_string()
            .starts_with("`new_decision` ")
    );
    assert_eq!(project.decision(&decided.id).status, DecisionStatus::Active);
}

#[test]
fn a_warning_of_ours_can_be_dismissed_like_any_other() {
    let project = Project::new();
    project.decide(&choice("api", "src/", "use rest"));
    project.decide(&choice("api", "src/", "use grpc"));
    let warning = project.entries_tagged("conflict").remove(0).id;
    project
        .engine
        .dismiss(
            &caller("ada"),
            &DismissInput { ids: vec![warning], reason: Some("both stay".into()), agent_id: None },
        )
        .expect("dismisses");
    assert_eq!(open_warnings(&project), 0);
}
