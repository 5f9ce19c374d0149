//! The budget holds for any board, any task and any size.

use std::collections::HashSet;
use twining_testcases::each;

use proptest::prelude::*;
use proptest::test_runner::TestCaseError;

use super::{assemble, tokens};
use crate::testing::{Project, caller, choice};
use crate::{AssembleInput, AssembledContext, DecideInput, PostInput, ReconsiderInput};

const SCOPES: [&str; 6] =
    ["project", "src/", "src/auth/", "src/auth/jwt.rs", "src/authority/", "docs/"];
const KINDS: [&str; 9] = [
    "warning",
    "need",
    "question",
    "finding",
    "constraint",
    "answer",
    "artifact",
    "status",
    "offer",
];
/// Words that cost more in JSON than they look, beside plain ones.
const WORDS: [&str; 12] = [
    "cache",
    "token",
    "session",
    "\"quoted\"",
    "back\\slash",
    "größe",
    "日本語",
    "🔐🔐",
    "</script>",
    "getUserProfile",
    "a",
    "retries",
];

/// One thing somebody writes.
#[derive(Clone, Debug)]
enum Deed {
    Post {
        kind: usize,
        scope: usize,
        summary: Vec<usize>,
        detail: usize,
    },
    Decide {
        domain: u8,
        scope: usize,
        summary: Vec<usize>,
        rationale: usize,
        files: usize,
        supersedes: bool,
        doubted: bool,
    },
}

fn deed() -> impl Strategy<Value = Deed> {
    let summary = || prop::collection::vec(0..WORDS.len(), 1..12);
    prop_oneof![
        (0..KINDS.len(), 0..SCOPES.len(), summary(), 0..900_usize)
            .prop_map(|(kind, scope, summary, detail)| Deed::Post { kind, scope, summary, detail }),
        (
            0..3_u8,
            0..SCOPES.len(),
            summary(),
            1..900_usize,
            0..9_usize,
            any::<bool>(),
            any::<bool>()
        )
            .prop_map(|(domain, scope, summary, rationale, files, supersedes, doubted)| {
                Deed::Decide { domain, scope, summary, rationale, files, supersedes, doubted }
            }),
    ]
}

fn words(chosen: &[usize]) -> String {
    chosen.iter().map(|n| WORDS[*n]).collect::<Vec<_>>().join(" ")
}

fn long(chars: usize) -> String {
    WORDS.iter().cycle().flat_map(|word| word.chars().chain([' '])).take(chars).collect()
}

fn carry_out(project: &Project, deeds: &[Deed]) {
    let mut last: Option<String> = None;
    for deed in deeds {
        project.clock.advance_ms(3_600_000);
        match deed {
            Deed::Post { kind, scope, summary, detail } => {
                let input = PostInput {
                    entry_type: KINDS[*kind].into(),
                    summary: words(summary),
                    detail: Some(long(*detail)),
                    scope: Some(SCOPES[*scope].into()),
                    ..PostInput::default()
                };
                project.engine.post(&caller("ada"), &input).expect("posts");
            }
            Deed::Decide { domain, scope, summary, rationale, files, supersedes, doubted } => {
                let decided = project.decide(&DecideInput {
                    rationale: long(*rationale) + ".",
                    affected_files: (0..*files).map(|n| format!("src/auth/file{n}.rs")).collect(),
                    supersedes: last.clone().filter(|_| *supersedes),
                    ..choice(&format!("domain {domain}"), SCOPES[*scope], &words(summary))
                });
                if *doubted {
                    let decision_id = decided.id.to_string();
                    let doubt = ReconsiderInput {
                        decision_id,
                        new_context: "new law".into(),
                        ..ReconsiderInput::default()
                    };
                    project.engine.reconsider(&caller("bob"), &doubt).expect("reconsiders");
                }
                last = Some(decided.id.to_string());
            }
        }
    }
}

/// The ids that are included, then those that are listed.
fn ids(context: &AssembledContext) -> Vec<String> {
    let entries = [
        &context.active_warnings,
        &context.open_needs,
        &context.recent_questions,
        &context.recent_findings,
    ];
    let decisions = context.active_decisions.iter().map(|decision| decision.id.to_string());
    decisions
        .chain(entries.into_iter().flatten().map(|entry| entry.id.clone()))
        .chain(context.omitted.iter().map(|omitted| omitted.id.clone()))
        .collect()
}

fn holds(
    project: &Project,
    task: &str,
    scope: &str,
    budgets: &[usize],
) -> Result<(), TestCaseError> {
    let everything = assemble(project, task, scope, Some(100_000));
    let all: HashSet<String> = ids(&everything).into_iter().collect();
    prop_assert_eq!(
        all.len() as u64,
        shown(&everything) + everything.omitted_count,
        "with room for all, all are named"
    );
    for budget in budgets {
        let context = assemble(project, task, scope, Some(*budget));
        prop_assert!(tokens(&context) <= *budget, "{} tokens of {budget}", tokens(&context));
        prop_assert_eq!(context.token_estimate, tokens(&context) as u64);
        prop_assert_eq!(
            shown(&context) + context.omitted_count,
            all.len() as u64,
            "at {}: everything is told or counted",
            budget
        );
        let named = ids(&context);
        let once: HashSet<&String> = named.iter().collect();
        prop_assert_eq!(once.len(), named.len(), "at {}: an id stands twice", budget);
        prop_assert!(
            named.iter().all(|id| all.contains(id)),
            "at {}: something new came in",
            budget
        );
        prop_assert!(context.omitted.len() as u64 <= context.omitted_count);
    }
    Ok(())
}

fn shown(context: &AssembledContext) -> u64 {
    (ids(context).len() - context.omitted.len()) as u64
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, max_shrink_iters: 40, ..ProptestConfig::default() })]

    #[test]
    fn a_reply_never_exceeds_its_budget_and_everything_is_told_or_counted(
        deeds in prop::collection::vec(deed(), 0..26),
        task in "[^\\pC\\s]\\PC{0,300}",
        scope in 0..SCOPES.len(),
        budgets in prop::collection::vec(200..6000_usize, 4),
    ) {
        let project = Project::new();
        carry_out(&project, &deeds);
        holds(&project, &task, SCOPES[scope], &[&budgets[..], &[200, 201, 257]].concat())?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 8, max_shrink_iters: 20, ..ProptestConfig::default() })]

    #[test]
    fn the_same_holds_where_meanings_are_known(
        deeds in prop::collection::vec(deed(), 0..20),
        task in prop::collection::vec(0..WORDS.len(), 1..20),
        budgets in prop::collection::vec(200..6000_usize, 4),
    ) {
        let project = Project::with_model();
        carry_out(&project, &deeds);
        project.make_vectors();
        holds(&project, &words(&task), "src/auth/jwt.rs", &[&budgets[..], &[200]].concat())?;
    }
}

#[test]
fn two_hundred_tokens_are_enough_for_any_task_and_any_place() {
    let project = Project::new();
    project.decide(&choice("api", "src/", "use REST"));
    let deep = "module/".repeat(140);
    each(
        [
            ("\u{1}\u{2}\"\\".repeat(500), "src/".to_owned()),
            ("🔐".repeat(900), "src/".to_owned()),
            ("make card retries safe".to_owned(), format!("src/{deep}")),
            ("make card retries safe".to_owned(), format!("src/{}.rs", "é".repeat(100))),
        ],
        |(task, scope)| {
            let input = AssembleInput {
                task,
                scope: scope.clone(),
                max_tokens: Some(200),
                ..AssembleInput::default()
            };
            let context = project
                .engine
                .assemble(&caller("ada"), &input)
                .unwrap_or_else(|e| panic!("{} bytes: {e}", scope.len()));
            assert!(tokens(&context) <= 200, "{context:?}");
        },
    );
}
