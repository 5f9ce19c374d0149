//! Traces stored and found.

use super::*;
use crate::QueryTracesInput;
use crate::learning::{RecordedCall, action_summary, masked};
use crate::search::SearchMode;
use twining_testcases::each;

#[test]
fn a_trace_is_found_by_its_words_its_type_its_guard_and_its_time() {
    let project = Project::new();
    let first = report(&project, "s", &pushed());
    project.clock.advance_ms(1);
    let later = project.engine.store().ids().now().to_string();
    let blocked = StoreTraceInput {
        kind: "violation".to_owned(),
        what_happened: "called F2 tested".to_owned(),
        guard: Some("tested-needs-evidence".to_owned()),
        blocked: Some(true),
        ..StoreTraceInput::default()
    };
    let second = report(&project, "s", &blocked);
    let ids = |input: QueryTracesInput| -> Vec<String> {
        project
            .engine
            .query_traces(&input)
            .expect("finds")
            .traces
            .into_iter()
            .map(|hit| hit.trace.id)
            .collect()
    };
    let (first, second) = (first.as_str(), second.as_str());
    assert_eq!(ids(QueryTracesInput::default()), [second, first], "the newest first");
    assert_eq!(
        ids(QueryTracesInput { query: Some("pushing main".into()), ..Default::default() }),
        [first]
    );
    assert_eq!(
        ids(QueryTracesInput { kind: Some("violation".into()), ..Default::default() }),
        [second]
    );
    assert_eq!(
        ids(QueryTracesInput { guard: Some("tested-needs-evidence".into()), ..Default::default() }),
        [second]
    );
    assert_eq!(ids(QueryTracesInput { blocked: Some(false), ..Default::default() }), [first]);
    assert_eq!(
        ids(QueryTracesInput { since: Some(later.clone()), ..Default::default() }),
        [second]
    );
    assert_eq!(ids(QueryTracesInput { until: Some(later), ..Default::default() }), [first]);
    assert_eq!(
        ids(QueryTracesInput { agent: Some("nobody".into()), ..Default::default() }),
        [] as [&str; 0]
    );
}

#[test]
fn a_trace_is_found_by_its_fields_however_another_program_spelt_them() {
    let project = Project::new();
    let [plain, spelt, other] =
        ["01M7J8TFS7GJG7X6KD0WJMSXE1", "01M7J8TFS7GJG7X6KD0WJMSXE2", "01M7J8TFS7GJG7X6KD0WJMSXE3"];
    let line = |id: &str, kind: &str, agent: &str, guard: &str| {
        format!(
            r#"{{"id":"{id}","type":"{kind}","context":{{"agent":"{agent}"}},"event":{{}},"guard":"{guard}","blocked":true}}"#
        ) + "\n"
    };
    let lines = [
        line(plain, "violation", "ada", "no-push"),
        line(spelt, "viol\\u0061tion", "\\u0061da", "no\\u002dpush"),
        line(other, "approval", "ben", "a\\/b"),
    ];
    project.write("traces.jsonl", &lines.concat());
    let ids = |input: QueryTracesInput| -> Vec<String> {
        project
            .engine
            .query_traces(&input)
            .expect("finds")
            .traces
            .into_iter()
            .map(|hit| hit.trace.id)
            .collect()
    };
    each(
        [
            QueryTracesInput { kind: Some("violation".into()), ..Default::default() },
            QueryTracesInput { agent: Some("ada".into()), ..Default::default() },
            QueryTracesInput {
                guard: Some("no-push".into()),
                blocked: Some(true),
                ..Default::default()
            },
        ],
        |input| {
            assert_eq!(ids(input.clone()), [spelt, plain], "{input:?}");
        },
    );
    assert_eq!(ids(QueryTracesInput { guard: Some("a/b".into()), ..Default::default() }), [other]);
}

#[test]
fn pages_follow_each_other_without_gap_or_repeat() {
    let project = Project::new();
    let mut all: Vec<String> = (0..7)
        .map(|n| {
            report(&project, "s", &StoreTraceInput { what_happened: format!("{n}"), ..pushed() })
        })
        .collect();
    all.reverse();
    let (mut met, mut offset) = (Vec::new(), Some(0));
    while let Some(from) = offset {
        let page = project
            .engine
            .query_traces(&QueryTracesInput {
                limit: Some(3),
                offset: Some(from),
                ..Default::default()
            })
            .expect("finds");
        assert_eq!(page.total, 7);
        met.extend(page.traces.into_iter().map(|hit| hit.trace.id));
        offset = page.next_offset;
    }
    assert_eq!(met, all);
}

#[test]
fn a_trace_is_found_by_what_it_means() {
    let project = Project::with_model();
    let first = report(
        &project,
        "s",
        &StoreTraceInput {
            what_happened: "removed the tests that failed".into(),
            ..StoreTraceInput { kind: "correction".into(), ..Default::default() }
        },
    );
    report(
        &project,
        "s",
        &StoreTraceInput {
            kind: "correction".into(),
            what_happened: "used tabs in a Makefile rule".into(),
            ..Default::default()
        },
    );
    let found = project
        .engine
        .query_traces(&QueryTracesInput {
            query: Some("deleting a broken unit check".into()),
            ..Default::default()
        })
        .expect("finds");
    assert_eq!(
        (found.mode, found.traces[0].trace.id.as_str()),
        (SearchMode::Hybrid, first.as_str())
    );
}

#[test]
fn what_a_trace_may_not_be_is_refused_by_name() {
    let project = Project::new();
    each(
        [
            (
                StoreTraceInput { kind: "rumour".into(), ..pushed() },
                "`type` must be one of correction",
            ),
            (
                StoreTraceInput { what_happened: " ".into(), ..pushed() },
                "`what_happened` must not be empty",
            ),
            (
                StoreTraceInput { what_happened: "x".repeat(4000), ..pushed() },
                "`what_happened` must be at most",
            ),
            (
                StoreTraceInput { blocked: Some(true), ..pushed() },
                "`blocked` applies only to violations",
            ),
        ],
        |(input, field)| {
            let refused =
                project.engine.store_trace(&agent_in("s"), &input).expect_err("is refused");
            assert!(refused.to_string().starts_with(field), "{refused}");
        },
    );
    assert!(!project.path().join(".twining/traces.jsonl").exists());
}

#[test]
fn a_secret_is_left_out_of_the_tracked_file() {
    let project = Project::new();
    report(
        &project,
        "s",
        &StoreTraceInput {
            what_happened: "ran curl -H 'Authorization: Bearer abc123'".into(),
            ..pushed()
        },
    );
    let text =
        std::fs::read_to_string(project.path().join(".twining/traces.jsonl")).expect("is there");
    assert!(!text.contains("abc123") && text.contains("[masked]"), "{text}");
    assert_eq!(masked("plain"), "plain");
    let event = GuardEvent::of_tool(
        "Bash",
        action(
            "Bash",
            &serde_json::json!({"command": "cd x && API_KEY=abc123 ./deploy.sh --key abc123; git push -f origin main"}),
        ),
        "/p",
    );
    assert_eq!(action_summary(&event, "/p"), "Bash: deploy.sh; git push");
}

#[test]
fn a_word_is_found_however_it_is_written() {
    let project = Project::new();
    let message = |words: &str| {
        report(
            &project,
            "s",
            &StoreTraceInput {
                what_happened: words.to_owned(),
                why: None,
                what_was_correct: None,
                ..pushed()
            },
        )
    };
    let capitals = message("REBASED Everything");
    let other = message("wrote to the log");
    let form = message("rebases all day");
    // As another program writes it, letter by letter.
    let path = project.path().join(".twining/traces.jsonl");
    let mut text = std::fs::read_to_string(&path).expect("is there");
    let spelt = text
        .lines()
        .next()
        .expect("a line")
        .replace(&capitals, "01SPELT")
        .replace("REBASED", "\\u0072ebased");
    text.push_str(&format!("{spelt}\n"));
    std::fs::write(&path, text).expect("writes");
    let found = |query: &str, agent: Option<&str>| -> Vec<String> {
        let input = crate::QueryTracesInput {
            query: Some(query.to_owned()),
            agent: agent.map(str::to_owned),
            ..Default::default()
        };
        let hits = project.engine.query_traces(&input).expect("finds").traces;
        let mut ids: Vec<String> = hits
            .into_iter()
            .filter(|hit| hit.relevance.is_some_and(|worth| worth > 0.3))
            .map(|hit| hit.trace.id)
            .collect();
        ids.sort();
        ids
    };
    let mut all = vec![capitals, form, "01SPELT".to_owned()];
    all.sort();
    assert_eq!(found("rebase", None), all);
    assert_eq!(found("rebase", Some("coder")), all);
    assert_eq!(found("rebase", Some("nobody")), Vec::<String>::new());
    assert_eq!(found("LOG", None), [other]);
}

#[test]
fn a_call_of_more_edits_than_a_record_holds_is_kept_by_its_first() {
    use twining_guard::{Evaluation, GuardEvent, Replacement, ToolAction, Verdict};
    let remaining = |edits: usize| {
        let one = |at: usize| Replacement {
            old: format!("old {at}"),
            new: "new".to_owned(),
            everywhere: false,
        };
        let action = ToolAction::Edit {
            path: "a.rs".to_owned(),
            replacements: (0..edits).map(one).collect(),
        };
        let event = GuardEvent::of_tool("MultiEdit", action, "/p");
        let judgement =
            Evaluation { verdict: Verdict::Off, findings: Vec::new(), unread: Vec::new() };
        let now = Project::new().engine.store().ids().now();
        let line = RecordedCall::of("01".to_owned(), now, "s", "/p", &event, &judgement)
            .to_line()
            .expect("fits");
        let call = RecordedCall::read(&line).expect("is a call");
        match call.action {
            Some(ToolAction::Edit { replacements, .. }) => (call.cut, replacements.len()),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(remaining(100), (false, 100));
    each([200, 256, 257, 258, 20_000], |many| {
        assert_eq!(remaining(many), (true, 1), "{many}");
    });
}
