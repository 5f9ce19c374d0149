//! docs/reference/limits.md says what the code does.

use std::collections::BTreeMap;
use twining_testcases::each;

use twining_model::limits;

#[test]
fn every_limit_stands_in_the_document_with_its_value() {
    let document = include_str!("../../../docs/reference/limits.md");
    let written: BTreeMap<&str, i64> = document.lines().filter_map(row).collect();
    let source = include_str!("../src/limits.rs");
    let named: Vec<&str> = source
        .lines()
        .filter_map(|line| line.strip_prefix("pub const ")?.split(':').next())
        .collect();
    assert!(named.len() > 15, "{named:?}");
    each(named, |name| {
        let value = match name {
            "SUMMARY_CHARS" => limits::SUMMARY_CHARS,
            "TEXT_BYTES" => limits::TEXT_BYTES,
            "NAME_BYTES" => limits::NAME_BYTES,
            "TAGS" => limits::TAGS,
            "TAG_BYTES" => limits::TAG_BYTES,
            "LIST" => limits::LIST,
            "ELEMENT_BYTES" => limits::ELEMENT_BYTES,
            "PROPERTIES" => limits::PROPERTIES,
            "PROPERTY_BYTES" => limits::PROPERTY_BYTES,
            "RECORD_BYTES" => limits::RECORD_BYTES,
            "CONFIG_BYTES" => limits::CONFIG_BYTES,
            "MERGE_BYTES" => limits::MERGE_BYTES,
            "KNOWLEDGE_BYTES" => limits::KNOWLEDGE_BYTES,
            "POLICY_BYTES" => limits::POLICY_BYTES,
            "REPORT_BYTES" => limits::REPORT_BYTES,
            "REPORTS" => limits::REPORTS,
            "TURN_NAME_BYTES" => limits::TURN_NAME_BYTES,
            "TURN_NUMBER" => limits::TURN_NUMBER,
            "TURNS_OF_FEATURE" => limits::TURNS_OF_FEATURE,
            "TURNS_OF_PROJECT" => limits::TURNS_OF_PROJECT,
            "FEATURES_BYTES" => limits::FEATURES_BYTES,
            "FEATURES" => limits::FEATURES,
            "RUNS_BYTES" => limits::RUNS_BYTES,
            "RUN_BYTES" => limits::RUN_BYTES,
            "FEATURE_FILES" => limits::FEATURE_FILES,
            "EVIDENCE_BYTES" => limits::EVIDENCE_BYTES,
            "TEST_FAILURES" => limits::TEST_FAILURES,
            "TRACE_BYTES" => limits::TRACE_BYTES,
            "SPOOLED_TRACES" => limits::SPOOLED_TRACES,
            "ANCHOR_BYTES" => limits::ANCHOR_BYTES,
            "ANCHORS" => limits::ANCHORS,
            "ANCHOR_MENTIONS" => limits::ANCHOR_MENTIONS,
            "ANCHOR_WORDS" => limits::ANCHOR_WORDS,
            "ANCHOR_LINES" => limits::ANCHOR_LINES,
            "CALL_BYTES" => limits::CALL_BYTES,
            "CALLS" => limits::CALLS,
            "CALLS_BYTES" => limits::CALLS_BYTES,
            "BYPASS_MINUTES" => limits::BYPASS_MINUTES,
            "AGENTS" => limits::AGENTS,
            "AGENTS_BYTES" => limits::AGENTS_BYTES,
            "PRESENCE" => limits::PRESENCE,
            "CLAIMS" => limits::CLAIMS,
            "CLAIM_PATHS" => limits::CLAIM_PATHS,
            "CLAIM_SECONDS" => limits::CLAIM_SECONDS,
            "HANDOFF_RESULTS" => limits::HANDOFF_RESULTS,
            "HANDOFFS" => limits::HANDOFFS,
            "JSON_DEPTH" => limits::JSON_DEPTH,
            "WALK_DEPTH" => limits::WALK_DEPTH,
            "PATH_DEPTH" => limits::PATH_DEPTH,
            "WALK_NODES" => limits::WALK_NODES,
            "PICTURE_NODES" => limits::PICTURE_NODES,
            "PAGE" => limits::PAGE,
            "ANSWER_BYTES" => limits::ANSWER_BYTES,
            "QUEUE_LINES" => limits::QUEUE_LINES,
            "CLOCK_SKEW_MS" => usize::try_from(limits::CLOCK_SKEW_MS).expect("positive"),
            other => panic!("add `{other}` to this test and to docs/reference/limits.md"),
        };
        assert_eq!(
            written.get(name).copied(),
            i64::try_from(value).ok(),
            "{name} in docs/reference/limits.md"
        );
    });
}

/// `| what | 200 characters | `NAME` |` gives the name and the number.
fn row(line: &str) -> Option<(&str, i64)> {
    let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
    let [_, limit, name] = cells[..] else { return None };
    Some((name.trim_matches('`'), limit.split(' ').next()?.parse().ok()?))
}
