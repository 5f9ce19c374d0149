//! Every answer that an item offers is one call after which it no longer waits.

use serde_json::json;
use twining_model::{Authority, HandoffResult};
use twining_store::OutboxSignature;
use twining_testcases::each;

use super::*;
use crate::{
    AgentsInput, ClaimInput, FeaturesInput, HandoffInput, RecentInput, RecordTurnInput, ReportInput,
};

/// Brings something about that waits.
type Situation = fn(&Project);

fn clash(project: &Project) {
    project.decide(&choice("api", "src/", "Use REST"));
    project.write_decision(
        "01M7EB3QWY4C5CPJF6982ZJQ18",
        &json!({
            "status": "provisional", "domain": "data", "summary": "Keep sums in cents",
            "merge_clashes": [{"field": "rationale", "kept": "r", "other": "floats drift"}],
        }),
    );
}

fn branches(project: &Project) {
    project.decide(&choice("data", "src/", "Keep sums in cents"));
    project.write_decision(
        "01M7EB3QWY4C5CPJF6982ZJQ18",
        &json!({"domain": "data", "scope": "src/pay/", "summary": "Keep sums as decimals"}),
    );
}

fn claimed_override(project: &Project) {
    let id = project.decide(&choice("api", "src/", "Use REST")).id;
    project.override_as(Authority::Claimed, &id, None);
}

fn blocked_feature(project: &Project) {
    let added = FeaturesInput {
        action: Some("add".into()),
        id: Some("F9".into()),
        description: Some("Import from CSV".into()),
        files: vec!["src/import/csv.rs".into()],
        ..FeaturesInput::default()
    };
    project.engine.features(&caller("ada"), Path::new("."), &added).expect("adds");
    let report = ReportInput {
        feature: "F9".into(),
        role: "coder".into(),
        outcome: "blocked".into(),
        summary: Some("3 of 41 tests fail".into()),
        ..ReportInput::default()
    };
    let context = ReportContext::default();
    project.engine.report(&caller("ada"), Path::new("."), &report, &context).expect("reports");
    project.clock.advance_ms(LATER_MS);
}

fn escalated_turn(project: &Project) {
    let turn = RecordTurnInput {
        feature: Some("F7".into()),
        task: "TASK-1".into(),
        turn: 3,
        player_decision: "Tried both".into(),
        coach_decision: "escalate".into(),
        progress_summary: "half done".into(),
        blockers_found: vec!["Which port does the proxy use?".into()],
        ..RecordTurnInput::default()
    };
    project.engine.record_turn(&caller("coach"), &turn).expect("records");
}

fn question(project: &Project) {
    project.post_in("src/net/", "question", "Which port does the proxy use?");
    project.clock.advance_ms(LATER_MS);
}

fn need(project: &Project) {
    project.post_in("src/net/", "need", "Open the port in the firewall");
    project.clock.advance_ms(LATER_MS);
}

fn proposed_guard(project: &Project) {
    project.post("finding", "one");
    project.write(
        "policy.yml",
        "guards:\n  - id: no-push\n    status: proposed\n    action: warn\n    tools: [Bash]\n    when: {command: git push}\n    say: people push\n",
    );
}

fn stale_claim(project: &Project) {
    let claim = ClaimInput {
        paths: vec!["src/auth".into()],
        ttl: Some("24h".into()),
        reason: Some("rotating keys".into()),
        ..ClaimInput::default()
    };
    project.engine.claim(&caller("ada"), &claim).expect("claims");
    project.clock.advance_ms(6 * LATER_MS);
}

fn handoff(project: &Project) {
    let done = HandoffResult {
        description: "issue tokens".into(),
        status: "completed".into(),
        ..HandoffResult::default()
    };
    let handoff = HandoffInput {
        target_agent: Some("bob".into()),
        summary: "tokens are issued, refresh is left".into(),
        results: vec![done],
        ..HandoffInput::default()
    };
    project.engine.handoff(&caller("ada"), &handoff).expect("hands over");
}

const SITUATIONS: [(WaitingKind, Situation); 12] = [
    (WaitingKind::Contested, |project| drop(contradiction(project))),
    (WaitingKind::Contested, |project| drop(doubt(project))),
    (WaitingKind::Contested, branches),
    (WaitingKind::MergeClash, clash),
    (WaitingKind::ClaimedOverride, claimed_override),
    (WaitingKind::BlockedFeature, blocked_feature),
    (WaitingKind::TurnQuestion, escalated_turn),
    (WaitingKind::Question, question),
    (WaitingKind::Need, need),
    (WaitingKind::ProposedGuard, proposed_guard),
    (WaitingKind::StaleClaim, stale_claim),
    (WaitingKind::Handoff, handoff),
];

fn only_item(kind: WaitingKind, situation: Situation) -> (Project, WaitingItem) {
    let project = Project::new();
    situation(&project);
    let mut items = waiting(&project);
    assert_eq!(items.iter().map(|item| item.kind).collect::<Vec<_>>(), [kind]);
    (project, items.remove(0))
}

#[test]
fn after_each_answer_the_item_no_longer_waits() {
    each(SITUATIONS, |(kind, situation)| {
        let answers = only_item(kind, situation).1.answers;
        assert!(!answers.is_empty(), "{kind:?} offers nothing");
        // The binary discards a guard: it edits the policy and records who did.
        let called = answers.iter().filter(|answer| answer.verb != "guard_discard");
        for (at, label) in called.map(|answer| answer.label.clone()).enumerate() {
            let (project, item) = only_item(kind, situation);
            give(&project, &item.answers[at]).unwrap_or_else(|error| panic!("{label}: {error}"));
            assert_eq!(kinds(&project), [], "{label} settles it");
            let warned = project.engine.status().expect("takes stock").warnings;
            let claimed = warned.iter().find(|warning| warning.code == "unconfirmed_overrides");
            assert!(claimed.is_none(), "{label}: {claimed:?}");
            assert!(item.answers[at].then.ends_with('.'), "{label} says what holds");
        }
    });
}

#[test]
fn no_confirmation_is_offered_where_the_teams_log_takes_none() {
    let (project, _) = only_item(WaitingKind::ClaimedOverride, claimed_override);
    let outbox = project.engine.store().outbox();
    outbox.create().expect("is linked");
    let signature =
        OutboxSignature { principal: "ada".into(), is_person: false, is_maintainer: true };
    outbox.sign_as(signature).expect("is kept");
    let item = waiting(&project).remove(0);
    assert!(item.why_you.contains("--kind person"), "{item:?}");
    let verbs: Vec<&str> = item.answers.iter().map(|answer| answer.verb.as_str()).collect();
    assert_eq!(verbs, ["decide"]);
}

#[test]
fn a_person_takes_a_handoff_over_in_their_own_name() {
    let (project, item) = only_item(WaitingKind::Handoff, handoff);
    give(&project, &item.answers[0]).expect("takes it over");
    let newest = project.engine.recent(&RecentInput::default()).expect("reads");
    assert_eq!(newest.entries[0].record.agent_id, "kim");
    let agents = project.engine.agents(&AgentsInput::default()).expect("lists");
    assert!(agents.agents.iter().all(|agent| agent.agent_id != "kim"), "kim is no agent");
}

#[test]
fn the_id_of_an_item_and_its_address_are_the_same_each_time() {
    each(SITUATIONS, |(kind, situation)| {
        let (project, item) = only_item(kind, situation);
        let again = waiting(&project).remove(0);
        assert_eq!((&again.id, &again.href), (&item.id, &item.href));
        assert!(item.id.starts_with(kind.as_str()), "{}", item.id);
    });
}

#[test]
fn what_a_person_settled_is_listed_with_who_and_why() {
    let project = Project::new();
    contradiction(&project);
    question(&project);
    for item in waiting(&project) {
        give(&project, &item.answers[0]).expect("is given");
    }
    let settled = ask(&project, &WaitingInput { settled: true, ..WaitingInput::default() });
    let told: Vec<(&str, &str, &str)> = settled
        .items
        .iter()
        .filter_map(|item| Some((item, item.settled.as_ref()?)))
        .map(|(item, by)| (item.title.as_str(), by.how.as_str(), by.by.as_str()))
        .collect();
    assert_eq!(
        told,
        [
            ("Which port does the proxy use?", "answered", "kim"),
            ("Use server sessions", "overridden", "kim"),
        ]
    );
    let reason = settled.items[1].settled.as_ref().and_then(|by| by.reason.as_deref());
    assert_eq!((reason, settled.total), (Some("because kim says so"), 2));
}

#[test]
fn a_guard_that_a_person_promoted_or_discarded_is_listed_as_settled() {
    let project = Project::new();
    proposed_guard(&project);
    give(&project, &waiting(&project)[0].answers[0]).expect("promotes");
    project.clock.advance_ms(1);
    proposed_guard(&project);
    let kim = person("kim");
    project.engine.discard_guard(&kim, "no-push", "people may push").expect("discards");
    let settled = ask(&project, &WaitingInput { settled: true, ..WaitingInput::default() });
    let told: Vec<(&str, &str, Option<&str>)> = settled
        .items
        .iter()
        .filter_map(|item| item.settled.as_ref())
        .map(|by| (by.how.as_str(), by.by.as_str(), by.reason.as_deref()))
        .collect();
    assert_eq!(told, [("discarded", "kim", Some("people may push")), ("promoted", "kim", None)]);
    assert_eq!(settled.items[0].title, "The guard no-push");
}
