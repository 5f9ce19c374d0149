//! What a context says of itself when it is asked to.

use serde_json::Value;

use super::tokens;
use crate::testing::{Project, caller, choice};
use crate::{AssembleInput, AssembledContext, DecideInput, OmissionReason};

/// A project with more to say about keys than fits into a few hundred tokens.
fn talkative() -> Project {
    let project = Project::new();
    let old = project.decide(&choice("keys", "src/auth/", "rotate signing keys by hand"));
    project.decide(&DecideInput {
        supersedes: Some(old.id.to_string()),
        affected_files: vec!["src/auth/jwt.ts".into()],
        ..choice("keys", "src/auth/", "rotate signing keys every month")
    });
    project.post_in("src/auth/", "warning", "signing keys are cached for an hour");
    project.post_in("src/auth/", "need", "somebody to review the rotation of keys");
    for n in 0..40 {
        project.post_in("src/", "finding", &format!("finding {n} about keys, and about much else"));
    }
    project
}

fn assembled(project: &Project, explain: bool) -> AssembledContext {
    let input = AssembleInput {
        task: "rotate signing keys".into(),
        scope: "src/auth/jwt.ts".into(),
        max_tokens: Some(900),
        explain,
        ..AssembleInput::default()
    };
    project.engine.assemble(&caller("ada"), &input).expect("assembles")
}

/// The answer without what explaining added.
fn told(context: &AssembledContext) -> String {
    let mut plain = context.clone();
    plain.sections.clear();
    plain.active_decisions.iter_mut().for_each(|one| one.tokens = None);
    plain.related_entities.iter_mut().for_each(|one| one.tokens = None);
    for list in [
        &mut plain.active_warnings,
        &mut plain.open_needs,
        &mut plain.recent_questions,
        &mut plain.recent_findings,
    ] {
        list.iter_mut().for_each(|one| one.tokens = None);
    }
    plain.omitted.retain(|one| one.explained.as_ref().is_none_or(|why| why.listed));
    plain.omitted.iter_mut().for_each(|one| one.explained = None);
    serde_json::to_string(&plain).expect("is JSON")
}

#[test]
fn explaining_changes_nothing_of_what_an_agent_is_told() {
    let project = talkative();
    let (plain, explained) = (assembled(&project, false), assembled(&project, true));
    assert!(!plain.omitted.is_empty() && plain.omitted_count > plain.omitted.len() as u64);
    let bytes = serde_json::to_string(&plain).expect("is JSON");
    assert_eq!(bytes, told(&explained));
    assert_eq!(plain.token_estimate, explained.token_estimate, "the estimate is the agent's");
    assert_eq!(tokens(&plain), usize::try_from(plain.token_estimate).expect("small"));
    for word in ["\"tokens\"", "explained", "sections"] {
        assert!(!bytes.contains(word), "{word} is paid for by everybody");
    }
}

#[test]
fn the_parts_add_up_to_the_whole() {
    let context = assembled(&talkative(), true);
    let each: u64 = context.active_decisions.iter().filter_map(|one| one.tokens).sum();
    let section = |name: &str| context.sections.iter().find(|section| section.section == name);
    let decisions = section("active_decisions").expect("has decisions");
    assert_eq!((decisions.tokens, decisions.records), (each, 1));
    assert!(section("claims").is_none(), "an empty list has no row");
    let sum: u64 = context.sections.iter().map(|section| section.tokens).sum();
    assert_eq!(sum, context.token_estimate);
    let frame = section("frame").expect("what belongs to no list").tokens;
    assert!((20..120).contains(&frame), "{frame}");
}

#[test]
fn everything_left_out_says_why() {
    let project = talkative();
    let context = assembled(&project, true);
    assert_eq!(
        context.omitted.len() as u64,
        context.omitted_count,
        "also what no line was left for"
    );
    let why = |summary: &str| {
        let found = context.omitted.iter().find(|one| one.summary == summary);
        found.and_then(|one| one.explained.as_ref()).expect("is left out, and explained").clone()
    };
    let old = why("rotate signing keys by hand");
    assert_eq!((old.because, old.listed), (OmissionReason::Superseded, true));
    let reasons = || context.omitted.iter().filter_map(|one| one.explained.as_ref());
    let unlisted = reasons().find(|why| !why.listed).expect("some are not even named");
    assert_eq!((unlisted.because, unlisted.tokens), (OmissionReason::LessRelevant, None));
    assert!(reasons().all(|why| why.score >= 0.0 && why.score < 3.0));
    let json: Value = serde_json::to_value(&context).expect("is JSON");
    assert_eq!(json["omitted"][0]["explained"]["because"], "superseded");
}

#[test]
fn a_repetition_and_an_overridden_decision_are_left_out_as_such() {
    let project = Project::new();
    project.post_in("src/", "finding", "the cache is cold after a deploy");
    project.post_in("src/", "finding", "the cache is cold after a deploy");
    let lost = project.decide(&choice("cache", "src/", "warm the cache by hand")).id;
    project.override_as(twining_model::Authority::Confirmed, &lost, None);
    let input = AssembleInput {
        task: "warm the cache after a deploy".into(),
        scope: "src/".into(),
        explain: true,
        ..AssembleInput::default()
    };
    let context = project.engine.assemble(&caller("cy"), &input).expect("assembles");
    let mut reasons: Vec<(&str, OmissionReason)> = context
        .omitted
        .iter()
        .filter_map(|one| Some((one.summary.as_str(), one.explained.as_ref()?.because)))
        .collect();
    reasons.sort_unstable_by_key(|(summary, _)| *summary);
    assert_eq!(
        reasons,
        [
            ("the cache is cold after a deploy", OmissionReason::Repeats),
            ("warm the cache by hand", OmissionReason::Overridden),
        ]
    );
}
