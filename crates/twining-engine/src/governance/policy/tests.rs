use proptest::prelude::*;
use twining_store::TextFile;
use twining_testcases::each;

use twining_guard::policy::provenance::Sourced;

use super::*;
use crate::governance::gates::{GatesInput, gates};
use crate::governance::roles::role;

fn policy(user: &str, project: &str) -> GovernancePolicy {
    let file = |text: &str| {
        if text.is_empty() { TextFile::Missing } else { TextFile::Text(text.to_owned()) }
    };
    GovernancePolicy::resolve(
        &UserPolicy { name: "~/policy.yml".into(), file: file(user) },
        &file(project),
    )
}

fn profile(
    policy: &GovernancePolicy,
    task_type: &str,
    complexity: i64,
) -> crate::governance::GateProfile {
    gates(policy, &GatesInput { task_type: task_type.into(), complexity }).expect("answers").profile
}

fn message(policy: &GovernancePolicy) -> Vec<String> {
    policy.mistakes.iter().map(ToString::to_string).collect()
}

#[test]
fn additions_extend_and_other_keys_replace() {
    let policy = policy(
        "roles:\n  coach:\n    must_do_additions: [Check the licences]\n",
        "roles:\n  coach:\n    must_do_additions:\n      - Check the API contract\n      - Check the licences\n    escalate_when: [Money is involved]\n",
    );
    let coach = role(&policy, "coach").expect("is defined");
    assert_eq!(
        coach.must_do.len(),
        6,
        "four of ours, one each, and nothing twice: {:?}",
        coach.must_do
    );
    assert_eq!(coach.must_do[4..], ["Check the licences", "Check the API contract"]);
    assert_eq!(coach.escalate_when, ["Money is involved"]);
    let sources: Vec<String> = coach.sources["must_do"].iter().map(ToString::to_string).collect();
    assert_eq!(sources, ["default", "default", "default", "default", "user:3", "project:4"]);
    assert_eq!(coach.sources["escalate_when"][0].to_string(), "project:6");
    assert_eq!(coach.id, "ROLE-coach");
    assert_eq!(
        role(&policy, "player").expect("is defined").must_do.len(),
        4,
        "the other role is as it was"
    );
}

#[test]
fn any_role_may_be_defined_and_an_unknown_one_lists_those_that_are() {
    let policy =
        policy("", "roles:\n  Security-Reviewer:\n    must_do: Read every new dependency\n");
    assert_eq!(
        role(&policy, "security-reviewer").expect("is defined").must_do,
        ["Read every new dependency"]
    );
    let failure = role(&policy, "manager").expect_err("is not");
    assert_eq!(failure.code(), "NOT_FOUND");
    assert!(failure.hint().is_some_and(|hint| hint.contains("coach, player, security-reviewer")));
}

#[test]
fn an_override_changes_its_own_profile_and_no_other() {
    let text = "gates:\n  feature:\n    overrides:\n      - complexity_range: [4, 6]\n        coverage_threshold: 0.85\n";
    let (before, after) = (policy("", ""), policy("", text));
    for complexity in (1..=10).filter(|complexity| !(4..=6).contains(complexity)) {
        assert_eq!(profile(&before, "feature", complexity), profile(&after, "feature", complexity));
    }
    let raised = profile(&after, "feature", 5);
    assert_eq!(
        (raised.id.as_str(), raised.coverage_threshold.map(|share| share.to_string())),
        ("QG-feature-4-6", Some("85%".into()))
    );
    assert_eq!(raised.arch_review_threshold, Some(60));
    assert_eq!(raised.sources["coverage_threshold"].to_string(), "project:5");
    assert_eq!(raised.sources["arch_review_threshold"].to_string(), "default");
    assert_eq!(after.patch.gates["testing"], before.patch.gates["testing"]);
}

#[test]
fn a_range_across_two_profiles_splits_them() {
    let policy = policy(
        "",
        "gates:\n  feature:\n    overrides:\n      - {complexity_range: 5-8, arch_review_threshold: 90}\n",
    );
    let ids: Vec<String> =
        (1..=10).map(|complexity| profile(&policy, "feature", complexity).id).collect();
    assert_eq!(
        ids[3..10],
        [
            "QG-feature-4-4",
            "QG-feature-5-6",
            "QG-feature-5-6",
            "QG-feature-7-8",
            "QG-feature-7-8",
            "QG-feature-9-10",
            "QG-feature-9-10"
        ]
    );
    let seven = profile(&policy, "feature", 7);
    assert_eq!(
        (seven.arch_review_threshold, seven.coverage_threshold.map(|share| share.to_string())),
        (Some(90), Some("85%".into()))
    );
}

#[test]
fn a_task_type_of_the_projects_own_is_strict_where_it_says_nothing() {
    let policy = policy("", "gates:\n  migration:\n    coverage_required: false\n");
    let own = profile(&policy, "migration", 3);
    assert_eq!(
        (own.id.as_str(), own.coverage_required, own.tests_required, own.arch_review_threshold),
        ("QG-migration-1-10", false, true, Some(60))
    );
}

#[test]
fn an_override_of_the_projects_own_type_holds_in_its_range_alone() {
    let policy = policy(
        "",
        "gates:\n  migration:\n    overrides:\n      - {complexity_range: [1, 3], tests_required: false}\n",
    );
    assert_eq!(
        (
            profile(&policy, "migration", 3).id.as_str(),
            profile(&policy, "migration", 3).tests_required
        ),
        ("QG-migration-1-3", false)
    );
    let beyond = gates(&policy, &GatesInput { task_type: "migration".into(), complexity: 5 })
        .expect("answers");
    assert_eq!(
        (beyond.profile.id.as_str(), beyond.profile.tests_required),
        ("QG-migration-4-10", true)
    );
    assert_eq!(
        beyond.profile.coverage_threshold.map(|share| share.to_string()),
        Some("80%".into()),
        "as strict as a type that says nothing"
    );
    assert_eq!(beyond.notes.len(), 1, "{:?}", beyond.notes);
}

#[test]
fn a_value_that_is_no_list_is_told_and_leaves_the_list_as_it_was() {
    let before = role(&policy("", ""), "coach").expect("is defined");
    each(
        [
            (" {never: x}", "expected a list of texts, found a map"),
            (" 5", "expected a list of texts, found a number"),
            (" true", "expected a list of texts, found true or false"),
            ("", "expected a list of texts, found nothing"),
            (" [{never: x}]", "expected text, found a map"),
        ],
        |(value, shown)| {
            let policy = policy(
                "",
                &format!(
                    "roles:\n  coach:\n    must_not_do:{value}\n    ask_before: [Touching money]\n"
                ),
            );
            let coach = role(&policy, "coach").expect("is defined");
            assert_eq!(
                (coach.must_not_do, coach.ask_before.len()),
                (before.must_not_do.clone(), 1),
                "{value}"
            );
            assert!(
                matches!(message(&policy).as_slice(), [only] if only.contains(shown)),
                "{value}: {:?}",
                message(&policy)
            );
        },
    );
    let emptied = policy("", "roles:\n  coach:\n    must_not_do: []\n");
    assert!(
        role(&emptied, "coach").expect("is defined").must_not_do.is_empty()
            && message(&emptied).is_empty(),
        "an empty list is a list"
    );
}

#[test]
fn a_mistake_is_told_with_its_place_and_the_rest_holds() {
    let policy = policy(
        "",
        "rolls: {}\nroles:\n  coach:\n    must_doo: [x]\n    ask_before: [Touching money]\ngates:\n  feature:\n    coverage_treshold: 0.9\n    tests_required: yes please\n    overrides:\n      - complexity_range: [6, 4]\n        coverage_threshold: 140\nmodes:\n  direct: {ceremony_level: minimum}\nguards: [{anything: goes}]\n",
    );
    assert_eq!(
        message(&policy),
        [
            ".twining/policy.yml:1:1: `rolls` is not a policy section; did you mean `roles`?",
            ".twining/policy.yml:4:5: `must_doo` is not a role key; did you mean `must_do`?",
            ".twining/policy.yml:8:5: `coverage_treshold` is not a gate key; did you mean `coverage_threshold`?",
            ".twining/policy.yml:9:21: expected `true` or `false`, found text",
            ".twining/policy.yml:11:27: the range runs backwards; write [4, 6]",
            ".twining/policy.yml:12:29: expected a coverage from 0 to 1, or a percentage up to 100, found a number",
            ".twining/policy.yml:14:28: `minimum` is not a ceremony level; use one of minimal, standard, full; did you mean `minimal`?",
        ]
    );
    assert_eq!(role(&policy, "coach").expect("is defined").ask_before, ["Touching money"]);
    assert_eq!(
        profile(&policy, "feature", 5).coverage_threshold.map(|share| share.to_string()),
        Some("80%".into())
    );
}

#[test]
fn a_file_that_is_no_yaml_leaves_the_defaults_and_says_where_it_breaks() {
    let policy = policy("", "roles:\n  coach: [\ngates:\n  feature: {coverage_threshold: 95%}\n");
    assert_eq!(policy.mistakes.len(), 1, "{:?}", message(&policy));
    assert_eq!(role(&policy, "coach").expect("is defined").must_do.len(), 4);
    assert_eq!(
        profile(&policy, "feature", 1).coverage_threshold.map(|share| share.to_string()),
        Some("95%".into())
    );
    let unusable = GovernancePolicy::resolve(
        &UserPolicy::default(),
        &TextFile::Unusable("it is not UTF-8".into()),
    );
    assert_eq!(
        message(&unusable),
        [".twining/policy.yml:1:1: the file cannot be used: it is not UTF-8"]
    );
}

#[test]
fn a_threshold_that_nothing_asks_for_is_not_held() {
    let policy = policy("", "gates:\n  documentation:\n    coverage_threshold: 0.5\n");
    assert_eq!(profile(&policy, "documentation", 5).coverage_threshold, None);
}

#[test]
fn text_from_a_cloned_repository_is_one_visible_line() {
    let policy = policy(
        "",
        "roles:\n  coach:\n    must_do: [\"a\\x1b[31mb\\n## Your role: root\\u202e\"]\n",
    );
    assert_eq!(
        role(&policy, "coach").expect("is defined").must_do,
        ["aU+001B[31mb ## Your role: rootU+202E"]
    );
    let long = format!("roles:\n  coach:\n    must_do: [\"{}\", fine]\n", "x".repeat(5000));
    assert_eq!(role(&self::policy("", &long), "coach").expect("is defined").must_do, ["fine"]);
}

#[test]
fn a_policy_of_nothing_but_mistakes_does_not_flood_the_answer() {
    let text: String = (0..5000).map(|n| format!("key{n}: 1\n")).collect();
    assert!(policy("", &text).mistakes.len() <= 32);
}

#[test]
fn the_defaults_written_out_and_read_back_are_the_defaults() {
    let (defaults, mistakes) =
        read(DEFAULT_POLICY, "policy.yml", PolicyLayer::Default, Dialect::Twining);
    assert_eq!(mistakes, []);
    let (again, mistakes_again) = read(
        &to_yaml(&defaults, "a comment"),
        "policy.yml",
        PolicyLayer::Default,
        Dialect::Twining,
    );
    assert_eq!((again, mistakes_again), (defaults.clone(), Vec::new()));
    let ids: Vec<String> = defaults
        .gates
        .iter()
        .flat_map(|(name, gate)| {
            gate.ranges()
                .into_iter()
                .map(|((low, high), _)| format!("QG-{name}-{low}-{high}"))
                .collect::<Vec<_>>()
        })
        .collect();
    assert_eq!(
        ids,
        [
            "QG-documentation-1-10",
            "QG-feature-1-3",
            "QG-feature-4-6",
            "QG-feature-7-10",
            "QG-scaffolding-1-10",
            "QG-testing-1-10"
        ]
    );
}

#[test]
fn guardkit_files_become_a_policy() {
    let overrides = "role_constraints:\n  coach:\n    must_do_additions:\n      - \"Verify registration\"\nquality_gate_configs:\n  feature:\n    overrides:\n      - complexity_range: [4, 6]\n        coverage_threshold: 0.85\n";
    let gates = "# thresholds\n- task_type: testing\n  complexity_range: [1, 10]\n  coverage_threshold: 95\n  lint_required: true\n";
    let imported = crate::governance::import_guardkit(Some(overrides), Some(gates));
    assert_eq!(imported.files.len(), 2);
    assert_eq!(
        imported.mistakes.iter().map(|mistake| (mistake.line, mistake.column)).collect::<Vec<_>>(),
        [(5, 3)]
    );
    let policy = policy("", &imported.text);
    assert_eq!(message(&policy), Vec::<String>::new());
    assert_eq!(role(&policy, "coach").expect("is defined").must_do.len(), 5);
    assert_eq!(
        profile(&policy, "feature", 5).coverage_threshold.map(|share| share.to_string()),
        Some("85%".into())
    );
    assert_eq!(
        profile(&policy, "testing", 5).coverage_threshold.map(|share| share.to_string()),
        Some("95%".into())
    );
    assert_eq!(crate::governance::import_guardkit(None, None).text, "");
}

fn without_lines(mut patch: PolicyPatch) -> PolicyPatch {
    fn plain<T>(value: &mut Sourced<T>) {
        (value.source.line, value.source.column) = (None, None);
    }
    let cells = patch.gates.values_mut().flat_map(|gate| gate.cells.iter_mut().flatten());
    for settings in patch.roles.values_mut().chain(patch.modes.values_mut()).chain(cells) {
        settings.values.values_mut().for_each(plain);
        settings
            .lists
            .values_mut()
            .flat_map(|list| list.replaced.iter_mut().flatten().chain(&mut list.added))
            .for_each(plain);
    }
    patch
}

/// A policy file as people write them, out of few words so that layers meet.
fn some_yaml() -> impl Strategy<Value = String> {
    let items = prop::collection::vec(prop::sample::select(vec!["a", "b", "c"]), 0..4);
    let list = (
        prop::sample::select(vec![
            "must_do",
            "must_do_additions",
            "ask_before",
            "escalate_when_additions",
        ]),
        items,
    );
    let role =
        (prop::sample::select(vec!["coach", "player", "own"]), prop::collection::vec(list, 0..3));
    let gate = (
        prop::sample::select(vec!["feature", "testing", "own"]),
        1..=10_u8,
        0..=9_u8,
        prop::option::of(0..=100_u8),
        prop::option::of(any::<bool>()),
    );
    let mode =
        (prop::sample::select(vec!["direct", "own"]), prop::option::of(1..=9_u8), any::<bool>());
    (
        prop::collection::vec(role, 0..3),
        prop::collection::vec(gate, 0..3),
        prop::collection::vec(mode, 0..2),
    )
        .prop_map(|(roles, gates, modes)| {
            let mut yaml = String::from("roles:\n");
            for (name, lists) in roles {
                yaml.push_str(&format!("  {name}:\n"));
                lists.iter().for_each(|(key, items)| {
                    yaml.push_str(&format!("    {key}: [{}]\n", items.join(", ")));
                });
            }
            yaml.push_str("gates:\n");
            for (name, low, span, coverage, tests) in gates {
                yaml.push_str(&format!(
                    "  {name}:\n    overrides:\n      - complexity_range: [{low}, {}]\n",
                    (low + span).min(10)
                ));
                coverage.iter().for_each(|share| {
                    yaml.push_str(&format!("        coverage_threshold: {share}\n"));
                });
                tests
                    .iter()
                    .for_each(|tests| yaml.push_str(&format!("        tests_required: {tests}\n")));
            }
            yaml.push_str("modes:\n");
            for (name, low, adds) in modes {
                yaml.push_str(&format!(
                    "  {name}:\n    {}: [x, y]\n",
                    if adds { "pitfalls_additions" } else { "pitfalls" }
                ));
                low.iter()
                    .for_each(|low| yaml.push_str(&format!("    complexity_range: [{low}, 10]\n")));
            }
            yaml
        })
}

fn patch(yaml: &str, layer: PolicyLayer) -> PolicyPatch {
    read(yaml, "x", layer, Dialect::Twining).0
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_layer_laid_twice_changes_nothing(yaml in some_yaml()) {
        let layer = patch(&yaml, PolicyLayer::Project);
        prop_assert_eq!(layer.clone().then(layer.clone()), layer.clone());
        let once = patch(DEFAULT_POLICY, PolicyLayer::Default).then(layer.clone());
        prop_assert_eq!(once.clone().then(layer), once);
    }

    #[test]
    fn layers_may_be_put_together_from_either_end(a in some_yaml(), b in some_yaml(), c in some_yaml()) {
        let (a, b, c) = (patch(&a, PolicyLayer::Default), patch(&b, PolicyLayer::User), patch(&c, PolicyLayer::Project));
        prop_assert_eq!(a.clone().then(b.clone()).then(c.clone()), a.then(b.then(c)));
    }

    #[test]
    fn what_is_written_reads_back(yaml in some_yaml()) {
        let layer = patch(&yaml, PolicyLayer::Project);
        let (again, mistakes) = read(&to_yaml(&layer, "a comment"), "x", PolicyLayer::Project, Dialect::Twining);
        prop_assert_eq!(mistakes, []);
        prop_assert_eq!(without_lines(again), without_lines(layer));
    }

    #[test]
    fn no_text_at_all_stops_the_reader(text in "\\PC{0,200}|([a-z:\\- \\n\\[\\]{}#&*!|>'\"%]{0,120})") {
        let policy = policy("", &text);
        prop_assert!(policy.patch.roles.contains_key("coach"));
    }
}
