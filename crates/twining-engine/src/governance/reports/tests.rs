use std::fs;
use std::time::{Duration, Instant};
use twining_testcases::each;

use proptest::prelude::*;
use twining_model::ProjectRoot;

use super::read::*;

fn tests(text: &str) -> (ReportFormat, u64, u64, u64) {
    match understand(text.as_bytes()).expect("is read") {
        (format, ReportContent::Tests(tests)) => (format, tests.run, tests.passed, tests.failed),
        other => panic!("no tests: {other:?}"),
    }
}

fn lines(text: &str) -> (ReportFormat, u64, u64) {
    match understand(text.as_bytes()).expect("is read") {
        (format, ReportContent::Lines(lines)) => (format, lines.covered, lines.total),
        other => panic!("no lines: {other:?}"),
    }
}

fn problem(text: &str) -> String {
    understand(text.as_bytes()).expect_err("is a problem")
}

#[test]
fn junit_is_counted_case_by_case() {
    let report = r#"<?xml version="1.0" encoding="UTF-8"?>
        <testsuites name="nextest-run" tests="5" failures="1" errors="0">
          <testsuite name="a" tests="3" disabled="0" errors="0" failures="1">
            <testcase name="one" classname="a" time="0.1"/>
            <testcase name="two" classname="a"><failure type="test failure">assertion &lt;left&gt;</failure><system-out>x</system-out></testcase>
            <testcase name="flaky"><flakyFailure type="first try">no</flakyFailure></testcase>
          </testsuite>
          <testsuite name="b" tests="2" skipped="1">
            <testcase name="three"><skipped/></testcase>
            <testcase name="four"></testcase>
          </testsuite>
        </testsuites>"#;
    assert_eq!(tests(report), (ReportFormat::Junit, 4, 3, 1));
    // pytest's own, with the suite outermost in older versions.
    assert_eq!(
        tests(
            r#"<testsuite errors="1" failures="0" tests="1"><testcase name="x"><error message="boom"/></testcase></testsuite>"#
        ),
        (ReportFormat::Junit, 1, 0, 1)
    );
}

#[test]
fn a_junit_suite_that_broke_before_its_first_test_has_failed() {
    assert_eq!(
        tests(
            r#"<testsuites><testsuite name="x" tests="0" failures="0" errors="1"/></testsuites>"#
        ),
        (ReportFormat::Junit, 1, 0, 1)
    );
    assert_eq!(tests(r#"<testsuites tests="9" failures="2"/>"#), (ReportFormat::Junit, 9, 7, 2));
    assert_eq!(tests(r#"<testsuites tests="0" failures="0"/>"#), (ReportFormat::Junit, 0, 0, 0));
    let hidden =
        r#"<testsuite tests="2" failures="1"><testcase name="a"/><testcase name="b"/></testsuite>"#;
    assert_eq!(
        tests(hidden),
        (ReportFormat::Junit, 3, 2, 1),
        "a failure in the totals is not made up for by its case"
    );
}

#[test]
fn a_report_that_was_cut_off_is_no_report() {
    let whole = r#"<testsuites><testsuite><testcase name="a"/><testcase name="b"><failure/></testcase></testsuite></testsuites>"#;
    each([20, 40, 60, 90], |end| {
        assert!(understand(&whole.as_bytes()[..end]).is_err(), "{}", &whole[..end]);
    });
    assert_eq!(problem("SF:a.rs\nDA:1,1\n"), "is cut off: the last record has no end");
    assert_eq!(
        problem("{\"Action\":\"run\",\"Test\":\"A\",\"Package\":\"p\"}\n{\"Action\":\"pa"),
        "is cut off or broken in line 2"
    );
}

#[test]
fn entities_are_never_blown_up() {
    let mut bomb = String::from("<?xml version=\"1.0\"?><!DOCTYPE t [<!ENTITY a \"lol\">");
    for n in 0..30 {
        bomb.push_str(&format!("<!ENTITY a{n} \"&a;&a;&a;&a;&a;&a;&a;&a;\">"));
    }
    bomb.push_str("<!ENTITY file SYSTEM \"file:///etc/passwd\">]><testsuites><testcase name=\"&a29;\">&file;</testcase></testsuites>");
    let deep = format!("<testsuites>{}", "<testsuite>".repeat(200_000));
    let started = Instant::now();
    assert_eq!(tests(&bomb), (ReportFormat::Junit, 1, 1, 0));
    assert!(problem(&deep).starts_with("is cut off"));
    assert!(started.elapsed() < Duration::from_secs(5));
}

#[test]
fn cobertura_states_its_lines_or_they_are_counted() {
    assert_eq!(
        lines(r#"<coverage line-rate="0.5" lines-covered="80" lines-valid="100"/>"#),
        (ReportFormat::Cobertura, 80, 100)
    );
    let counted = r#"<!DOCTYPE coverage SYSTEM "http://cobertura.sourceforge.net/xml/coverage-04.dtd"><coverage><packages><package><classes>
        <class><methods><method><lines><line number="1" hits="1"/></lines></method></methods>
        <lines><line number="1" hits="1"/><line number="2" hits="0"/></lines></class></classes></package></packages></coverage>"#;
    assert_eq!(lines(counted), (ReportFormat::Cobertura, 1, 2));
    assert_eq!(lines(r#"<coverage line-rate="0.8312"/>"#), (ReportFormat::Cobertura, 8312, 10_000));
    assert_eq!(problem(r#"<coverage lines-covered="0" lines-valid="0"/>"#), "measures no lines");
    assert_eq!(
        problem(r#"<coverage lines-covered="9" lines-valid="3"/>"#),
        "reports more covered lines than total lines"
    );
}

#[test]
fn lcov_counts_a_line_once_however_often_it_is_listed() {
    let report = "TN:\nSF:src/a.rs\nFN:1,a\nDA:1,3\nDA:2,0\nDA:3,0\nLF:3\nLH:1\nend_of_record\nSF:src/a.rs\nDA:2,1\nend_of_record\nSF:src/b.rs\nLF:5\nLH:5\nend_of_record\n";
    assert_eq!(lines(report), (ReportFormat::Lcov, 7, 8));
    assert_eq!(
        problem("SF:a\nDA:x,1\nend_of_record\n"),
        "has no number where one is expected, in line 2"
    );
    assert_eq!(
        problem("SF:a\nLF:10\nLH:20\nend_of_record\n"),
        "reports more covered lines than total lines"
    );
    assert_eq!(problem("TN:\nDA:1,1\n"), "has no file name before line 2");
}

#[test]
fn nextest_and_the_rust_test_runner_are_counted_by_event() {
    let report = r#"{ "type": "suite", "event": "started", "test_count": 3 }
{ "type": "test", "event": "started", "name": "a" }
{ "type": "test", "name": "a", "event": "ok" }
{ "type": "test", "event": "started", "name": "b" }
{ "type": "test", "name": "b", "event": "failed", "stdout": "no" }
{ "type": "test", "event": "ignored", "name": "c" }
{ "type": "suite", "event": "failed", "passed": 1, "failed": 1, "ignored": 1 }
"#;
    assert_eq!(tests(report), (ReportFormat::Libtest, 2, 1, 1));
    let killed = report.lines().take(4).collect::<Vec<_>>().join("\n");
    assert_eq!(
        tests(&killed),
        (ReportFormat::Libtest, 2, 1, 1),
        "a test that never ended has failed"
    );
    assert_eq!(
        tests(
            r#"{"type":"suite","event":"started","test_count":0}
{"type":"suite","event":"ok","passed":0,"failed":0}"#
        ),
        (ReportFormat::Libtest, 0, 0, 0)
    );
}

#[test]
fn go_test_is_counted_by_test_and_a_package_that_does_not_build_has_failed() {
    let report = r#"{"Time":"2026-11-15T09:00:00Z","Action":"start","Package":"p"}
{"Action":"run","Package":"p","Test":"A"}
{"Action":"output","Package":"p","Test":"A","Output":"=== RUN A\n"}
{"Action":"pass","Package":"p","Test":"A","Elapsed":0}
{"Action":"run","Package":"p","Test":"B"}
{"Action":"skip","Package":"p","Test":"B"}
{"Action":"pass","Package":"p"}
"#;
    assert_eq!(tests(report), (ReportFormat::GoTest, 1, 1, 0));
    assert_eq!(
        tests(&format!(
            "{report}FAIL q [build failed]\n{{\"ImportPath\":\"q\",\"Action\":\"build-fail\"}}\n{{\"Action\":\"fail\",\"Package\":\"q\"}}\n"
        )),
        (ReportFormat::GoTest, 2, 1, 1)
    );
    assert_eq!(
        tests(&format!("{report}{{\"Action\":\"run\",\"Package\":\"p\",\"Test\":\"C\"}}\n")),
        (ReportFormat::GoTest, 2, 1, 1),
        "it never ended"
    );
}

#[test]
fn pytest_is_counted_from_its_report_and_from_its_log() {
    let report = r#"{"created": 1, "exitcode": 1, "root": "/x", "summary": {"passed": 3, "failed": 1, "error": 1, "skipped": 2, "xfailed": 4, "total": 11}, "tests": []}"#;
    assert_eq!(tests(report), (ReportFormat::Pytest, 5, 3, 2));
    assert_eq!(
        tests(r#"{"exitcode": 5, "summary": {"total": 0, "collected": 0}}"#),
        (ReportFormat::Pytest, 0, 0, 0)
    );
    assert_eq!(
        tests(r#"{"exitcode": 2, "summary": {"passed": 4}}"#),
        (ReportFormat::Pytest, 5, 4, 1),
        "it was interrupted"
    );
    let log = r#"{"pytest_version": "8", "$report_type": "SessionStart"}
{"nodeid": "", "outcome": "passed", "$report_type": "CollectReport"}
{"nodeid": "t::a", "when": "setup", "outcome": "passed", "$report_type": "TestReport"}
{"nodeid": "t::a", "when": "call", "outcome": "passed", "$report_type": "TestReport"}
{"nodeid": "t::a", "when": "teardown", "outcome": "failed", "$report_type": "TestReport"}
{"nodeid": "t::b", "when": "call", "outcome": "passed", "$report_type": "TestReport"}
{"nodeid": "t::c", "when": "setup", "outcome": "skipped", "$report_type": "TestReport"}
"#;
    assert_eq!(tests(log), (ReportFormat::Pytest, 2, 1, 1));
}

#[test]
fn what_is_no_report_is_said_to_be_none() {
    each(
        [
            ("", "is empty"),
            ("<html><body/></html>", "is XML of an unknown kind: <html>"),
            ("ok: 3 passed", "is not in a supported format"),
            ("{\"a\": 1}", "is not in a supported format"),
            ("[1, 2]", "is not in a supported format"),
            ("<", "is "),
            ("\u{0}\u{1}", "is not in a supported format"),
        ],
        |(text, starts)| {
            assert!(problem(text).starts_with(starts), "{text}: {}", problem(text));
        },
    );
}

#[test]
fn what_is_left_out_of_a_report_is_no_test_that_passed() {
    let go = "{\"Action\":\"start\",\"Package\":\"p\"}\n{\"Action\":\"run\",\"Package\":\"p\",\"Test\":\"A\"}\n{\"Action\":\"pass\",\"Package\":\"p\",\"Test\":\"A\"}\n";
    assert_eq!(problem(go), "is cut off: package `p` never ended");
    let begun = format!(
        "{go}{{\"Action\":\"pass\",\"Package\":\"p\"}}\n{{\"Action\":\"start\",\"Package\":\"q\"}}\n"
    );
    assert_eq!(problem(&begun), "is cut off: package `q` never ended");
    let log = "{\"$report_type\":\"SessionStart\"}\n{\"nodeid\":\"t::a\",\"when\":\"call\",\"outcome\":\"passed\",\"$report_type\":\"TestReport\"}\n";
    assert_eq!(problem(log), "is cut off: it has no `SessionFinish`");
    let finished = |status: u8| {
        format!("{log}{{\"exitstatus\":{status},\"$report_type\":\"SessionFinish\"}}\n")
    };
    assert_eq!(tests(&finished(0)), (ReportFormat::Pytest, 1, 1, 0));
    assert_eq!(tests(&finished(2)), (ReportFormat::Pytest, 2, 1, 1), "it was interrupted");
    let rust = "{\"type\":\"suite\",\"event\":\"started\"}\n{\"type\":\"test\",\"event\":\"ok\",\"name\":\"a\"}\n{\"type\":\"suite\",\"event\":\"ok\",\"passed\":3}\n";
    assert_eq!(problem(rust), "is incomplete: it speaks of 3 tests that passed and lists 1");
    assert_eq!(
        problem(r#"{"summary":{"passed":2,"total":5,"collected":5}}"#),
        "speaks of 5 tests and tells how 2 of them ended"
    );
    assert_eq!(
        problem(r#"{"summary":{"passed":2,"total":2,"collected":5,"deselected":1}}"#),
        "is incomplete: 5 tests were collected, and of 2 it tells how they ended"
    );
    assert_eq!(
        tests(r#"{"summary":{"passed":2,"total":2,"collected":5,"deselected":3}}"#),
        (ReportFormat::Pytest, 2, 2, 0)
    );
}

#[test]
fn a_junit_report_lists_every_test_it_speaks_of() {
    let short = r#"<testsuites tests="5"><testsuite tests="5"><testcase name="x"/></testsuite></testsuites>"#;
    assert_eq!(problem(short), "is incomplete: it declares 5 tests but lists 1");
    let inner = r#"<testsuites><testsuite><testsuite tests="2"><testcase name="x"/></testsuite><testcase name="y"/></testsuite></testsuites>"#;
    assert_eq!(problem(inner), "is incomplete: it declares 2 tests but lists 1");
    let idle = r#"<testsuite tests="2"><testcase name="x"/><testcase name="y"><skipped/></testcase></testsuite>"#;
    assert_eq!(tests(idle), (ReportFormat::Junit, 1, 1, 0));
    assert_eq!(
        tests(r#"<testsuite tests="1"><testcase name="y"><skipped/></testcase></testsuite>"#),
        (ReportFormat::Junit, 0, 0, 0)
    );
}

#[test]
fn a_file_that_is_named_twice_is_read_once() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(
        folder.path().join("j.xml"),
        r#"<testsuite tests="1"><testcase name="x"/></testsuite>"#,
    )
    .expect("is written");
    let named = ["j.xml", "./j.xml", "./././j.xml"].map(str::to_owned);
    let read = read(&named, folder.path(), folder.path(), &ProjectRoot::new([folder.path()]))
        .expect("is read");
    assert_eq!(read.len(), 1, "{read:?}");
    assert_eq!(read[0].tests.map(|tests| tests.run), Some(1));
}

proptest! {
    #[test]
    fn no_bytes_at_all_stop_the_readers(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        drop(understand(&bytes));
    }
}

#[test]
fn a_report_with_a_hole_in_it_never_hides_its_failure() {
    let whole = "<testsuites tests=\"3\" failures=\"1\"><testsuite name=\"a\" tests=\"3\" failures=\"1\"><testcase name=\"x\"/>\
        <testcase name=\"y\"><failure message=\"m\">no</failure></testcase><testcase name=\"z\"/></testsuite></testsuites>";
    for from in 0..whole.len() {
        for end in from + 1..whole.len().min(from + 40) {
            let cut = format!("{}{}", &whole[..from], &whole[end..]);
            if let Ok((_, ReportContent::Tests(tests))) = understand(cut.as_bytes()) {
                assert!(tests.failed > 0 || !cut.contains("failure"), "{cut}: {tests:?}");
            }
        }
    }
}
