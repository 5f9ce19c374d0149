//! Who comes before whom, and who is marked as what.

use twining_model::{Authority, DecisionStatus};

use super::{assemble, tokens};
use crate::testing::{Project, caller, choice, person};
use crate::{
    AssembleInput, AssembledContext, Caller, DecideInput, PostInput, ReconsiderInput, SearchMode,
};

/// Runs the case twice: on an engine that matches words alone, and on one that also matches
/// meaning.
fn both_ways(shown_for: impl Fn(&Project), check: impl Fn(&Project)) {
    for project in [Project::new(), Project::with_model()] {
        shown_for(&project);
        project.engine.embedding_worker().make_all(&mut |_| true).expect("makes them");
        check(&project);
    }
}

fn post(project: &Project, by: &Caller, kind: &str, scope: &str, summary: &str) -> String {
    project.clock.advance_ms(1);
    let input = PostInput {
        entry_type: kind.into(),
        summary: summary.into(),
        scope: Some(scope.into()),
        force: true,
        ..PostInput::default()
    };
    project.engine.post(by, &input).expect("posts").id
}

fn decisions(context: &AssembledContext) -> Vec<&str> {
    context.active_decisions.iter().map(|decision| decision.summary.as_str()).collect()
}

fn findings(context: &AssembledContext) -> Vec<&str> {
    context.recent_findings.iter().map(|entry| entry.summary.as_str()).collect()
}

fn omitted(context: &AssembledContext) -> Vec<(&str, Option<DecisionStatus>)> {
    context.omitted.iter().map(|omitted| (omitted.summary.as_str(), omitted.status)).collect()
}

fn sure(confidence: &str, input: DecideInput) -> DecideInput {
    DecideInput { confidence: Some(confidence.into()), ..input }
}

#[test]
fn an_old_sure_decision_in_the_very_file_beats_a_fresh_chatty_finding_elsewhere() {
    let shown_for = |project: &Project| {
        project.decide(&sure(
            "high",
            choice("api", "src/auth/session.rs", "session tokens live fifteen minutes"),
        ));
        project.clock.advance_days(400);
        project.post_in(
            "docs/",
            "finding",
            "session tokens again, session tokens all day, tomorrow session tokens once more",
        );
    };
    both_ways(shown_for, |project| {
        for budget in [200, 220, 250, 300, 400, 4000] {
            let context = assemble(
                project,
                "change how long session tokens live",
                "src/auth/session.rs",
                Some(budget),
            );
            assert_eq!(
                decisions(&context),
                ["session tokens live fifteen minutes"],
                "at {budget}: {context:?}"
            );
        }
    });
}

#[test]
fn a_warning_in_scope_is_told_before_findings() {
    let shown_for = |project: &Project| {
        project.post_in("src/pay/", "warning", "retries charge the card twice");
        project.clock.advance_days(30);
        for n in 0..12 {
            project.post_in(
                "src/pay/",
                "finding",
                &format!("card retries: attempt {n} of the card retry was logged as a retry"),
            );
        }
    };
    both_ways(shown_for, |project| {
        for budget in [200, 250, 300, 500, 1000] {
            let context = assemble(project, "make card retries safe", "src/pay/", Some(budget));
            assert_eq!(context.active_warnings.len(), 1, "at {budget}: {context:?}");
        }
    });
}

#[test]
fn a_decision_that_binds_is_told_even_where_there_is_room_for_little_else() {
    let shown_for = |project: &Project| {
        project.decide(&choice("api", "src/pay/charge.rs", "charges carry an idempotency key"));
        for n in 0..10 {
            project.post_in(
                "docs/",
                "finding",
                &format!("make card retries safe: note {n} on making card retries safe"),
            );
        }
    };
    both_ways(shown_for, |project| {
        let context = assemble(project, "make card retries safe", "src/pay/charge.rs", Some(200));
        assert_eq!(decisions(&context), ["charges carry an idempotency key"], "{context:?}");
    });
}

#[test]
fn decisions_that_bind_come_first_in_the_list_whatever_the_others_say_of_the_task() {
    let shown_for = |project: &Project| {
        for n in 0..25 {
            let rationale = format!("part {n} of the old contract with the bank ").repeat(6);
            project.decide(&DecideInput {
                rationale,
                ..choice(&format!("d{n}"), "src/pay/", &format!("keep clause {n}"))
            });
        }
        for n in 0..6 {
            project.decide(&sure(
                "high",
                choice(&format!("e{n}"), "docs/", &format!("make card retries safe, way {n}")),
            ));
        }
    };
    both_ways(shown_for, |project| {
        for budget in [500, 1000, 2000, 4000, 8000] {
            let context = assemble(project, "make card retries safe", "src/pay/", Some(budget));
            let binding =
                context.active_decisions.iter().map(|decision| decision.scope == "src/pay/");
            assert!(binding.is_sorted_by(|a, b| a >= b), "at {budget}: {:?}", decisions(&context));
            assert!(
                context
                    .active_decisions
                    .iter()
                    .all(|shown| shown.why.starts_with("binding here")
                        == (shown.scope == "src/pay/"))
            );
        }
    });
}

#[test]
fn a_persons_word_comes_before_an_agents_of_the_same_weight() {
    let shown_for = |project: &Project| {
        post(project, &person("grace"), "finding", "src/", "the cache holds nine keys");
        post(project, &caller("ada"), "finding", "src/", "the cache holds ten keys");
        project
            .engine
            .decide(&person("grace"), &choice("a", "src/", "the queue drops nine jobs"))
            .expect("decides");
        project
            .engine
            .decide(&caller("ada"), &choice("b", "src/", "the queue drops ten jobs"))
            .expect("decides");
    };
    both_ways(shown_for, |project| {
        let context = assemble(project, "size the cache and the queue", "src/", None);
        assert_eq!(findings(&context)[0], "the cache holds nine keys", "{context:?}");
        assert_eq!(decisions(&context)[0], "the queue drops nine jobs");
    });
}

#[test]
fn two_entries_that_say_the_same_do_not_both_take_budget() {
    let shown_for = |project: &Project| {
        post(project, &caller("ada"), "finding", "src/", "the cache is cold after each restart");
        post(project, &person("grace"), "finding", "src/", "the cache is cold after each restart");
        post(project, &caller("bob"), "finding", "src/", "workers leak file handles");
    };
    both_ways(shown_for, |project| {
        let context = assemble(project, "speed up the first request", "src/", None);
        assert_eq!(findings(&context).len(), 2, "{context:?}");
        assert_eq!(context.omitted_count, 1);
        assert_eq!(omitted(&context), [("the cache is cold after each restart", None)]);
        let shown = context
            .recent_findings
            .iter()
            .find(|entry| entry.summary.starts_with("the cache"))
            .expect("told once");
        assert_eq!(
            project.entry(&shown.id).agent_id,
            "grace",
            "the person's is the one that is told"
        );
    });
}

#[test]
fn a_rewording_is_noticed_by_its_meaning_and_a_contradiction_is_not_taken_for_one() {
    let project = Project::with_model();
    project.post_in("src/", "finding", "The cache is cold after each restart.");
    project.post_in("src/", "finding", "The cache is cold after each restart!");
    project.post_in("src/", "finding", "Use Redis for the session cache");
    project.post_in("src/", "finding", "Do not use Redis for the session cache");
    project.post_in("src/", "finding", "The cache drops a session after 15 minutes");
    project.post_in("src/", "finding", "The cache drops a session after 50 minutes");
    project.make_vectors();
    let context = assemble(&project, "move the cache", "src/", None);
    assert_eq!(
        findings(&context).iter().filter(|summary| summary.contains("cold")).count(),
        1,
        "{context:?}"
    );
    assert_eq!(
        findings(&context).iter().filter(|summary| summary.contains("Redis")).count(),
        2,
        "{context:?}"
    );
    assert_eq!(
        findings(&context).iter().filter(|summary| summary.contains("minutes")).count(),
        2,
        "{context:?}"
    );
    assert_eq!(context.omitted_count, 1);
}

#[test]
fn what_is_no_longer_in_force_is_named_by_a_line_and_marked() {
    let shown_for = |project: &Project| {
        let old = project.decide(&choice("api", "src/api/", "paginate with offsets"));
        project.decide(&DecideInput {
            supersedes: Some(old.id.to_string()),
            ..choice("api", "src/api/", "paginate with cursors")
        });
        let rejected = project.decide(&choice("data", "src/api/", "paginate in the client"));
        project.override_as(Authority::Confirmed, &rejected.id, None);
    };
    both_ways(shown_for, |project| {
        let context = assemble(project, "paginate the list", "src/api/", None);
        assert_eq!(decisions(&context), ["paginate with cursors"]);
        let marked = omitted(&context);
        assert!(
            marked.contains(&("paginate with offsets", Some(DecisionStatus::Superseded))),
            "{marked:?}"
        );
        assert!(
            marked.contains(&("paginate in the client", Some(DecisionStatus::Overridden))),
            "{marked:?}"
        );
    });
}

#[test]
fn provisional_and_contested_decisions_are_marked() {
    let shown_for = |project: &Project| {
        project.decide(&choice("data", "src/db/", "keep rows in PostgreSQL"));
        project.decide(&choice("data", "src/db/", "keep rows in SQLite"));
        let doubted = project.decide(&choice("api", "src/db/", "expose rows over REST"));
        let doubt = ReconsiderInput {
            decision_id: doubted.id.to_string(),
            new_context: "a client wants gRPC".into(),
            ..ReconsiderInput::default()
        };
        project.engine.reconsider(&caller("bob"), &doubt).expect("reconsiders");
    };
    both_ways(shown_for, |project| {
        let context = assemble(project, "store rows", "src/db/", None);
        let shown = |summary: &str| {
            context.active_decisions.iter().find(|shown| shown.summary == summary).expect("told")
        };
        let (first, second) = (shown("keep rows in PostgreSQL"), shown("keep rows in SQLite"));
        assert_eq!(
            (first.status, second.status),
            (DecisionStatus::Active, DecisionStatus::Provisional)
        );
        assert_eq!(
            (&first.contested_by[..], &second.contested_by[..]),
            (&[second.id.clone()][..], &[first.id.clone()][..])
        );
        let doubted = shown("expose rows over REST");
        assert_eq!((doubted.status, doubted.contested_by.len()), (DecisionStatus::Provisional, 0));
    });
}

#[test]
fn a_contested_decision_is_marked_though_it_lies_elsewhere() {
    let shown_for = |project: &Project| {
        project.decide(&choice("data", "src/db/", "keep rows in PostgreSQL"));
        project.decide(&choice("data", "src/db/", "keep rows in SQLite"));
    };
    both_ways(shown_for, |project| {
        let context = assemble(project, "keep the rows", "src/web/", None);
        let marked: Vec<usize> =
            context.active_decisions.iter().map(|shown| shown.contested_by.len()).collect();
        assert_eq!(marked, [1, 1], "{context:?}");
    });
}

#[test]
fn a_provisional_decision_that_does_not_fit_is_marked_in_its_line() {
    let project = Project::new();
    let rationale = "a very long story ".repeat(20);
    for n in 0..6 {
        let decided = project.decide(&DecideInput {
            rationale: rationale.clone(),
            ..choice(&format!("d{n}"), "src/", &format!("clause {n} of the bank"))
        });
        let input = ReconsiderInput {
            decision_id: decided.id.to_string(),
            new_context: "new law".into(),
            ..ReconsiderInput::default()
        };
        project.engine.reconsider(&caller("bob"), &input).expect("reconsiders");
    }
    let context = assemble(&project, "clause of the bank", "src/", Some(350));
    let lines: Vec<_> = omitted(&context)
        .into_iter()
        .filter(|(summary, _)| summary.starts_with("clause"))
        .collect();
    assert!(!lines.is_empty(), "{context:?}");
    assert!(
        lines.iter().all(|(_, status)| *status == Some(DecisionStatus::Provisional)),
        "{lines:?}"
    );
}

#[test]
fn a_scope_is_matched_by_path_components() {
    let shown_for = |project: &Project| {
        project.decide(&choice("api", "src/auth/", "tokens are signed"));
        project.post_in("src/auth/", "warning", "clock skew breaks tokens");
    };
    both_ways(shown_for, |project| {
        let inside = assemble(project, "rename a variable", "src/auth/jwt.rs", None);
        assert!(inside.active_decisions[0].why.starts_with("binding here"));
        let namesake = assemble(project, "rename a variable", "src/authority/jwt.rs", None);
        assert!(
            namesake.active_decisions.iter().all(|shown| !shown.why.starts_with("binding here")),
            "{namesake:?}"
        );
        assert!(namesake.active_warnings.is_empty(), "{namesake:?}");
    });
}

#[test]
fn the_nearer_the_newer_and_the_surer_come_first() {
    let project = Project::new();
    project.post_in("src/pay/", "finding", "old: the ledger rounds down");
    project.clock.advance_days(90);
    project.post_in("src/pay/", "finding", "new: the ledger rounds down, still");
    project.decide(&sure("low", choice("a", "src/pay/", "ledger entries are rounded, perhaps")));
    project.decide(&sure("high", choice("b", "src/pay/", "ledger entries are rounded, surely")));
    project.decide(&choice("c", "src/", "totals are kept by the ledger of all"));
    project.decide(&choice("d", "src/pay/book.rs", "totals are kept by the ledger of one"));
    let context = assemble(&project, "ledger", "src/pay/book.rs", None);
    assert_eq!(findings(&context)[0], "new: the ledger rounds down, still");
    let shown = decisions(&context);
    let place =
        |words: &str| shown.iter().position(|summary| summary.ends_with(words)).expect("told");
    assert!(place("surely") < place("perhaps"), "{shown:?}");
    assert!(place("of one") < place("of all"), "{shown:?}");
}

#[test]
fn a_decision_is_lent_weight_by_the_one_that_rests_on_it() {
    let shown_for = |project: &Project| {
        let base = project.decide(&choice("a", "lib/", "numbers are signed"));
        project.decide(&choice("b", "lib/", "letters are signed"));
        project.decide(&DecideInput {
            depends_on: vec![base.id.to_string()],
            ..choice("c", "src/", "invoices carry a checksum")
        });
    };
    both_ways(shown_for, |project| {
        let context = assemble(project, "signed checksum of invoices", "src/", None);
        let shown = decisions(&context);
        let place =
            |words: &str| shown.iter().position(|summary| *summary == words).unwrap_or(usize::MAX);
        assert!(place("numbers are signed") < place("letters are signed"), "{context:?}");
    });
}

#[test]
fn the_weights_in_the_settings_change_the_order() {
    let project = Project::new();
    project.post_in("src/", "finding", "the ledger rounds down when the ledger is closed");
    project.clock.advance_days(120);
    project.post_in(
        "src/",
        "finding",
        "somebody saw a ledger once, among a great many other things that were seen",
    );
    let first_with = |weights: &str| {
        project.write(
            "config.yml",
            &format!("version: 1\ncontext_assembly:\n  priority_weights: {{{weights}}}\n"),
        );
        findings(&assemble(&project, "close the ledger when it rounds", "src/", None))[0]
            .starts_with("the ledger")
    };
    assert!(first_with(
        "recency: 0.3, relevance: 0.4, decision_confidence: 0.2, warning_boost: 0.1"
    ));
    assert!(first_with("recency: 0.0, relevance: 1.0"));
    assert!(!first_with("recency: 1.0, relevance: 0.0"));
}

#[test]
fn the_budget_comes_from_the_settings_unless_it_is_given() {
    let project = Project::new();
    for n in 0..60 {
        project.post_in(
            "src/",
            "finding",
            &format!("finding {n} of a long and winding investigation into the ledger"),
        );
    }
    project.write("config.yml", "version: 1\ncontext_assembly: {default_max_tokens: 700}\n");
    let (by_default, given) = (
        assemble(&project, "ledger", "src/", None),
        assemble(&project, "ledger", "src/", Some(1500)),
    );
    assert!(tokens(&by_default) <= 700 && tokens(&by_default) > 500, "{}", tokens(&by_default));
    assert!(tokens(&given) <= 1500 && tokens(&given) > 1000, "{}", tokens(&given));
}

#[test]
fn a_host_gets_no_more_than_it_takes() {
    let project = Project::new();
    let rationale = "the bank wants it so ".repeat(40);
    for n in 0..200 {
        project.decide(&DecideInput {
            rationale: rationale.clone(),
            ..choice(&format!("d{n}"), "src/", &format!("keep clause {n}"))
        });
    }
    let reply = |host: &str, max_tokens| {
        let input = AssembleInput {
            task: "clauses".into(),
            scope: "src/".into(),
            max_tokens,
            host: Some(host.into()),
            ..AssembleInput::default()
        };
        let context = project.engine.assemble(&caller("ada"), &input).expect("assembles");
        serde_json::to_string(&context).expect("is JSON").chars().count()
    };
    for (host, chars) in [("claude", 10_000), ("codex", 10_000), ("mcp", 100_000)] {
        let shown = reply(host, Some(100_000));
        assert!(shown <= chars && shown > chars / 4, "{host}: {shown}");
        assert!(reply(host, None) <= 16_000.min(chars), "{host}: the default holds as well");
        assert!(reply(host, Some(300)) <= 1200, "{host}: a smaller budget counts");
    }
    let input = AssembleInput {
        task: "x".into(),
        scope: "src/".into(),
        host: Some("emacs".into()),
        ..AssembleInput::default()
    };
    let refused = project.engine.assemble(&caller("ada"), &input).expect_err("refused").to_string();
    assert!(refused.starts_with("`host` must be one of claude, codex, mcp"), "{refused}");
}

#[test]
fn a_task_finds_by_meaning_what_shares_no_word_with_it_and_says_so() {
    let project = Project::with_model();
    project.decide(&choice(
        "api",
        "src/web/",
        "users are logged out when their session token expires",
    ));
    project.decide(&choice("data", "src/db/", "keep invoices for ten years"));
    project.make_vectors();
    let context = assemble(&project, "people get kicked off the website", "lib/", None);
    assert_eq!(context.mode, SearchMode::Hybrid);
    let shown = &context.active_decisions[0];
    assert_eq!(shown.summary, "users are logged out when their session token expires");
    assert!(shown.why.contains("meaning") && !shown.why.contains("words"), "{}", shown.why);
}

#[test]
fn nothing_open_in_scope_is_lost_because_it_speaks_a_little_of_the_task() {
    let project = Project::with_model();
    let warnings = [
        "the staging bucket is nearly full",
        "certificates expire in March",
        "the importer is single-threaded",
        "invoices are sent twice on retry",
        "the build needs four gigabytes",
        "German umlauts break the export",
        "the payment sandbox is down on Sundays",
        "card numbers must never be logged",
    ];
    for warning in warnings {
        project.post_in("src/", "warning", warning);
    }
    project.clock.advance_days(400);
    project.decide(&sure("high", choice("api", "docs/", "make card retries safe")));
    project.make_vectors();
    let context = assemble(&project, "make card retries safe", "src/pay/gateway/charge.rs", None);
    assert_eq!(context.active_warnings.len(), warnings.len(), "{context:?}");
}

#[test]
fn what_was_decided_for_just_this_file_is_told_before_what_only_names_it() {
    let project = Project::new();
    for n in 0..12 {
        let names_it = DecideInput {
            affected_files: vec!["src/auth/jwt.rs".into()],
            ..choice(&format!("d{n}"), "payments/", &format!("retry the token change {n} times"))
        };
        project.decide(&names_it);
    }
    let own = project.decide(&choice("keys", "src/auth/jwt.rs", "sign with one algorithm"));
    for budget in [300, 600, 1500, 4000] {
        let context = assemble(&project, "change the token retry", "src/auth/jwt.rs", Some(budget));
        assert_eq!(
            context.active_decisions.first().map(|shown| &shown.id),
            Some(&own.id),
            "at {budget}"
        );
    }
}

#[test]
fn of_many_decisions_for_a_scope_the_one_that_speaks_of_the_task_is_told_first() {
    let shown_for = |project: &Project| {
        project.decide(&choice("tokens", "src/", "session tokens live fifteen minutes"));
        for n in 0..60 {
            project.clock.advance_days(1);
            project.decide(&choice(
                &format!("d{n}"),
                "src/",
                &format!("module {n} is owned by team {n}"),
            ));
        }
    };
    both_ways(shown_for, |project| {
        for budget in [400, 1000, 4000] {
            let context =
                assemble(project, "change how long session tokens live", "src/", Some(budget));
            assert_eq!(
                decisions(&context)[0],
                "session tokens live fifteen minutes",
                "at {budget}"
            );
        }
    });
}

#[test]
fn beside_many_decisions_for_a_scope_what_speaks_of_the_task_elsewhere_is_named() {
    let shown_for = |project: &Project| {
        for n in 0..40 {
            project.decide(&choice(
                &format!("s{n}"),
                "src/",
                &format!("module {n} is owned by team {n}"),
            ));
            project.decide(&choice(
                &format!("d{n}"),
                "docs/",
                &format!("page {n} tells how long session tokens live"),
            ));
        }
    };
    both_ways(shown_for, |project| {
        for budget in [1500, 2000] {
            let context =
                assemble(project, "change how long session tokens live", "src/", Some(budget));
            let (elsewhere, here) = context
                .omitted
                .iter()
                .partition::<Vec<_>, _>(|omitted| omitted.summary.contains("session tokens"));
            assert!(
                here.len() >= 12 && !elsewhere.is_empty(),
                "at {budget}: {} here, {} elsewhere",
                here.len(),
                elsewhere.len()
            );
        }
    });
}
