//! Two decisions contradict each other, and somebody chooses: one, the other, both, or a third.

use twining_model::{Authority, DecisionStatus, EntryType, Id};

use crate::testing::{Project, caller, choice, person};
use crate::{
    AssembleInput, DecideInput, Failure, OverrideInput, PromoteInput, PromoteOutcome, WhyInput,
};

/// `first` is in force, `second` contradicts it.
fn contradiction(project: &Project) -> (Id, Id) {
    let jwt = DecideInput {
        constraints: vec!["must_not_use: express-session".into()],
        ..choice("architecture", "src/auth/", "use stateless JWT")
    };
    let first = project.decide(&jwt).id;
    project.clock.advance_ms(1);
    let sessions = choice("architecture", "src/auth/", "use server sessions");
    let second = project.engine.decide(&caller("bob"), &sessions).expect("decides");
    assert_eq!(second.status, DecisionStatus::Provisional);
    (first, second.id)
}

fn instead(winner: &Id, losers: &[&Id]) -> PromoteInput {
    PromoteInput {
        decision_ids: vec![winner.to_string()],
        instead_of: losers.iter().map(|id| id.to_string()).collect(),
        reason: Some("we must be able to log people out".into()),
        ..PromoteInput::default()
    }
}

fn by_person(project: &Project, input: &PromoteInput) -> Result<PromoteOutcome, Failure> {
    project.clock.advance_ms(1);
    project.engine.promote(&person("kim"), Authority::Confirmed, input)
}

fn statuses(project: &Project, ids: [&Id; 2]) -> [DecisionStatus; 2] {
    ids.map(|id| project.decision(id).status)
}

fn open_warnings(project: &Project) -> Vec<String> {
    let board = project.board();
    let is_closed = |id: &str| {
        board.iter().any(|entry| {
            entry.kind().is_some_and(EntryType::closes)
                && entry.relates_to.iter().any(|to| to == id)
        })
    };
    let warnings = board.iter().filter(|entry| entry.kind() == Some(EntryType::Warning));
    warnings.filter(|entry| !is_closed(&entry.id)).map(|entry| entry.summary.clone()).collect()
}

#[test]
fn a_person_takes_the_newcomer_and_the_other_goes_in_the_same_step() {
    let project = Project::new();
    let (jwt, sessions) = contradiction(&project);
    let outcome = by_person(&project, &instead(&sessions, &[&jwt])).expect("settles");
    assert_eq!(outcome.promoted, std::slice::from_ref(&sessions));
    assert_eq!(outcome.overridden, std::slice::from_ref(&jwt));
    assert_eq!((outcome.authority, outcome.contested), (Some(Authority::Confirmed), vec![]));
    let loser = project.decision(&jwt);
    assert_eq!(
        (loser.status, loser.overridden_by.as_deref(), loser.override_authority),
        (DecisionStatus::Overridden, Some("kim"), Some(Authority::Confirmed))
    );
    assert_eq!(loser.override_reason.as_deref(), Some("we must be able to log people out"));
    let winner = project.decision(&sessions);
    assert_eq!(winner.status, DecisionStatus::Active);
    assert_eq!(winner.history[0].reason, "we must be able to log people out");
    assert_eq!(open_warnings(&project), Vec::<String>::new());
    assert_eq!(project.engine.clauses().expect("reads").len(), 0, "its guard blocks no more");
}

#[test]
fn choosing_twice_changes_nothing_the_second_time() {
    let project = Project::new();
    let (jwt, sessions) = contradiction(&project);
    by_person(&project, &instead(&sessions, &[&jwt])).expect("settles");
    let entries = project.board().len();
    let again = by_person(&project, &instead(&sessions, &[&jwt])).expect("settles");
    assert_eq!((again.promoted, again.overridden), (vec![], vec![]));
    assert_eq!(again.already_active, [sessions]);
    assert_eq!(project.board().len(), entries);
    assert_eq!(project.decision(&jwt).history.len(), 1);
}

#[test]
fn an_agent_s_choice_is_a_claim_that_lifts_no_guard_until_a_person_makes_it() {
    let project = Project::new();
    let (jwt, sessions) = contradiction(&project);
    let choice = instead(&sessions, &[&jwt]);
    let claimed =
        project.engine.promote(&caller("bob"), Authority::Claimed, &choice).expect("claims");
    assert_eq!(claimed.authority, Some(Authority::Claimed));
    assert_eq!(project.engine.clauses().expect("reads").len(), 1);
    assert!(
        open_warnings(&project).iter().any(|open| open.starts_with("Override to be confirmed"))
    );
    let confirmed = by_person(&project, &choice).expect("confirms");
    assert_eq!(confirmed.overridden, std::slice::from_ref(&jwt));
    assert_eq!(project.decision(&jwt).override_authority, Some(Authority::Confirmed));
    assert_eq!(project.engine.clauses().expect("reads").len(), 0);
    assert_eq!(open_warnings(&project), Vec::<String>::new());
}

#[test]
fn a_choice_without_a_reason_or_with_one_side_gone_changes_nothing() {
    let project = Project::new();
    let (jwt, sessions) = contradiction(&project);
    let unexplained = PromoteInput { reason: None, ..instead(&sessions, &[&jwt]) };
    let both = instead(&sessions, &[&sessions, &jwt]);
    let unknown = PromoteInput {
        instead_of: vec!["01M7EB3QWY4C5CPJF6982ZJQ18".into()],
        ..instead(&sessions, &[])
    };
    for (input, code) in
        [(unexplained, "INVALID_INPUT"), (both, "INVALID_INPUT"), (unknown, "NOT_FOUND")]
    {
        assert_eq!(by_person(&project, &input).expect_err("refused").code(), code);
    }
    project.override_as(Authority::Confirmed, &sessions, None);
    let late = by_person(&project, &instead(&sessions, &[&jwt]));
    assert_eq!(late.expect_err("the winner is out of force").code(), "INVALID_INPUT");
    assert_eq!(
        statuses(&project, [&jwt, &sessions]),
        [DecisionStatus::Active, DecisionStatus::Overridden]
    );
}

#[test]
fn several_rivals_go_together_and_what_rests_on_them_is_flagged() {
    let project = Project::new();
    let wide = project.decide(&choice("api", "src/", "use rest")).id;
    project.decide(&DecideInput {
        depends_on: vec![wide.to_string()],
        ..choice("testing", "src/", "test with curl")
    });
    let narrow = project.decide(&choice("api", "src/a/", "use soap")).id;
    by_person(&project, &PromoteInput { reason: None, ..instead(&narrow, &[]) }).expect("both");
    let newcomer = project.decide(&choice("api", "src/a/", "use grpc")).id;
    let outcome = by_person(&project, &instead(&newcomer, &[&wide, &narrow])).expect("settles");
    assert_eq!((outcome.overridden.len(), outcome.contested.len()), (2, 0));
    assert_eq!(open_warnings(&project), ["Overridden, and 1 decision rests on it: use rest"]);
}

#[test]
fn both_are_kept_for_a_reason_and_contest_each_other_no_more() {
    let project = Project::new();
    let (jwt, sessions) = contradiction(&project);
    let outcome = by_person(&project, &instead(&sessions, &[])).expect("keeps both");
    assert_eq!(outcome.kept_beside[0].rivals, std::slice::from_ref(&jwt));
    assert_eq!(outcome.contested, []);
    assert_eq!(statuses(&project, [&jwt, &sessions]), [DecisionStatus::Active; 2]);
    assert_eq!(open_warnings(&project), Vec::<String>::new());
    assert_eq!(contested(&project), (false, vec![0, 0]));

    let third = project.decide(&choice("architecture", "src/auth/", "use paseto"));
    assert_eq!(third.conflicts.len(), 2, "what is new is compared with both");
    assert_eq!(contested(&project), (true, vec![1, 1, 2]));
}

#[test]
fn both_are_contested_until_somebody_says_why_they_are_kept() {
    let project = Project::new();
    let (jwt, sessions) = contradiction(&project);
    let unexplained = PromoteInput { reason: None, ..instead(&sessions, &[]) };
    let outcome = by_person(&project, &unexplained).expect("promotes");
    assert_eq!(outcome.contested[0].rivals, std::slice::from_ref(&jwt));
    assert_eq!(contested(&project), (true, vec![1, 1]));
    by_person(&project, &instead(&jwt, &[])).expect("keeps both");
    assert_eq!(contested(&project), (false, vec![0, 0]));
    assert_eq!(open_warnings(&project), Vec::<String>::new());
}

/// Whether `why` calls the scope contested, and the rivals that `assemble` names of each decision.
fn contested(project: &Project) -> (bool, Vec<usize>) {
    let scope = Some("src/auth/".to_owned());
    let why = project.engine.why(&WhyInput { scope, ..WhyInput::default() }).expect("explains");
    let input = AssembleInput {
        task: "rotate the signing keys".into(),
        scope: "src/auth/".into(),
        ..AssembleInput::default()
    };
    let told = project.engine.assemble(&caller("ada"), &input).expect("assembles");
    let mut rivals: Vec<usize> =
        told.active_decisions.iter().map(|decision| decision.contested_by.len()).collect();
    rivals.sort_unstable();
    (why.contested, rivals)
}

#[test]
fn a_third_decision_takes_the_place_of_both() {
    let project = Project::new();
    let (jwt, sessions) = contradiction(&project);
    let input = OverrideInput {
        decision_id: jwt.to_string(),
        also: vec![sessions.to_string()],
        reason: "neither scales".into(),
        new_decision: Some("use signed cookies".into()),
        ..OverrideInput::default()
    };
    let outcome = project
        .engine
        .override_decision(&person("kim"), Authority::Confirmed, &input)
        .expect("overrides");
    let third = outcome.replacement.expect("is recorded");
    assert_eq!(outcome.also_overridden, std::slice::from_ref(&sessions));
    assert_eq!(project.decision(&third).status, DecisionStatus::Active);
    assert_eq!(statuses(&project, [&jwt, &sessions]), [DecisionStatus::Overridden; 2]);
    assert_eq!(project.decision(&sessions).superseded_by, Some(third.to_string()));
    assert_eq!(project.decision(&jwt).overridden_by.as_deref(), Some("kim"));
    assert_eq!(open_warnings(&project), Vec::<String>::new());
}

#[test]
fn the_loser_s_next_assemble_knows_what_a_person_settled() {
    let project = Project::new();
    let (jwt, sessions) = contradiction(&project);
    for n in 0..60 {
        project.post_in("src/auth/", "finding", &format!("login measured, round {n}"));
    }
    by_person(&project, &instead(&sessions, &[&jwt])).expect("settles");
    for n in 0..60 {
        project.post_in("src/auth/", "finding", &format!("logout measured, round {n}"));
    }
    let input = AssembleInput {
        task: "rotate the signing keys".into(),
        scope: "src/auth/jwt.ts".into(),
        max_tokens: Some(1200),
        ..AssembleInput::default()
    };
    let told = project.engine.assemble(&caller("ada"), &input).expect("assembles");
    let in_force: Vec<&Id> = told.active_decisions.iter().map(|decision| &decision.id).collect();
    assert_eq!(in_force, [&sessions], "only the winner is to be followed");
    assert_eq!(told.overridden.len(), 1);
    let lost = &told.overridden[0];
    assert_eq!((&lost.id, lost.by.as_str()), (&jwt, "kim"));
    assert_eq!(lost.reason, "we must be able to log people out");
    let bystander = project.engine.assemble(&caller("cy"), &input).expect("assembles");
    assert_eq!(bystander.overridden.len(), 0, "only who made it has to be told");
    let why = WhyInput { scope: Some("src/auth/".into()), ..WhyInput::default() };
    assert!(!project.engine.why(&why).expect("explains").contested);
}
