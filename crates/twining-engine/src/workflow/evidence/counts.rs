//! How many tests ran, told by what a test runner printed. Only the sentences
//! that runners end with are read; what says nothing known gives no counts.

use crate::governance::TestCounts;

/// Bytes of the end of an output that are looked at: summaries stand last.
const TAIL: usize = 256 * 1024;

/// The counts an output ends with, if it is of a runner known here.
#[must_use]
pub fn counts_in(output: &str) -> Option<TestCounts> {
    let from = (output.len().saturating_sub(TAIL)..output.len()).find(|&at| output.is_char_boundary(at)).unwrap_or(0);
    let mut total: Option<TestCounts> = None;
    let (mut go_ok, mut go_failed, mut go_empty) = (0, 0, 0);
    let mut aside = Aside::default();
    for line in output[from..].lines() {
        let line = plain(line);
        let lower = line.trim().to_lowercase();
        // `go test` tells packages, not tests.
        if lower.contains("[no test files]") || lower.contains("[no tests to run]") {
            go_empty += 1;
        } else if lower.starts_with("ok ") && lower.contains('\t') {
            go_ok += 1;
        } else if lower.starts_with("fail\t") {
            go_failed += 1;
        }
        aside.hear(&lower);
        if let Some(counts) = summary(&lower) {
            let so_far = total.unwrap_or_default();
            total = Some(TestCounts {
                run: so_far.run.saturating_add(counts.run),
                passed: so_far.passed.saturating_add(counts.passed),
                failed: so_far.failed.saturating_add(counts.failed),
            });
        }
    }
    total.or_else(|| {
        let packages = go_ok + go_failed;
        let counts = (packages + go_empty > 0).then_some(TestCounts { run: packages, passed: go_ok, failed: go_failed });
        counts.or_else(|| aside.counts())
    })
}

/// What only counts where no runner ended with a sentence of its own: lines of single
/// tests, tables of them, and tasks that had none to run.
#[derive(Default)]
struct Aside {
    /// TAP, as of bats: whether it told how many there are, and how they went.
    is_planned: bool,
    tap: TestCounts,
    /// The box that Cypress draws for each file of tests, and its table of all.
    boxes: Option<TestCounts>,
    table: Option<TestCounts>,
    /// Gradle's test tasks.
    ran: bool,
    had_none: bool,
}

impl Aside {
    fn hear(&mut self, line: &str) {
        if let Some(most) = line.strip_prefix("1..") {
            self.is_planned |= most.split(' ').next().is_some_and(|most| most.parse::<u64>().is_ok());
        }
        let is_numbered = |rest: &str| rest.starts_with(|c: char| c.is_ascii_digit());
        if line.strip_prefix("not ok ").is_some_and(is_numbered) {
            self.tap.failed += u64::from(!line.contains("# todo"));
        } else if line.strip_prefix("ok ").is_some_and(is_numbered) {
            self.tap.passed += u64::from(!line.contains("# skip"));
        }
        if let Some(cell) = line.strip_prefix('│').map(str::trim_start) {
            let boxes = self.boxes.unwrap_or_default();
            let (passed, failed) = (number_after(cell, "passing:"), number_after(cell, "failing:"));
            if passed.is_some() || failed.is_some() {
                let (passed, failed) = (boxes.passed + passed.unwrap_or(0), boxes.failed + failed.unwrap_or(0));
                self.boxes = Some(TestCounts { run: passed + failed, passed, failed });
            }
        }
        if line.contains("all specs passed!") || (line.starts_with('✖') && line.contains(" failed (")) {
            // Time, tests, passing, failing, pending, skipped.
            let columns: Vec<&str> = line.split_whitespace().rev().take(5).collect();
            let number = |at: usize| columns.get(at).map_or(0, |word| word.parse().unwrap_or(0));
            let (passed, failed): (u64, u64) = (number(3), number(2));
            self.table = Some(TestCounts { run: passed.saturating_add(failed), passed, failed });
        }
        if let Some((task, how)) = line.strip_prefix("> task ").map(|rest| rest.split_once(' ').unwrap_or((rest, "")))
            && task.ends_with("test")
        {
            let has_none = how.trim() == "no-source";
            self.had_none |= has_none;
            self.ran |= !has_none;
        }
    }

    fn counts(self) -> Option<TestCounts> {
        let tap = TestCounts { run: self.tap.passed.saturating_add(self.tap.failed), ..self.tap };
        let none = (self.had_none && !self.ran).then(TestCounts::default);
        self.is_planned.then_some(tap).or(self.table).or(self.boxes).or(none)
    }
}

/// The counts of one line, where it is a summary.
fn summary(line: &str) -> Option<TestCounts> {
    const NOTHING: [&str; 5] = ["no tests ran", "no tests found", "no test files found", "collected 0 items", "ran 0 tests"];
    let is_nothing = NOTHING.iter().any(|words| line.contains(words));
    // cargo, nextest, pytest, jest, vitest, mocha: words with a number in front.
    let is_summary = line.starts_with("test result:")
        || line.starts_with("tests:")
        || line.starts_with("tests ")
        || line.starts_with("summary [")
        || line.starts_with('=')
        || line.ends_with("passing")
        || line.ends_with(" failing")
        || line.starts_with("ok | ")
        || line.starts_with("failed | ")
        || line.contains(" passing (")
        || is_quiet_pytest(line);
    if is_nothing {
        return Some(TestCounts::default());
    }
    if let Some(counts) = in_columns(line).or_else(|| in_a_line(line)) {
        return Some(counts);
    }
    if !is_summary {
        // unittest: `Ran 12 tests in 0.1s`, and what failed on a line of its own.
        if let Some(run) =
            line.strip_prefix("ran ").filter(|rest| rest.contains(" test")).and_then(|rest| rest.split(' ').next()?.parse().ok())
        {
            return Some(TestCounts { run, passed: run, failed: 0 });
        }
        return None;
    }
    let before = |words: &[&str]| words.iter().find_map(|word| number_before(line, word));
    let passed = before(&[" passed", " passing"]);
    let failed = before(&[" failed", " failing"]).unwrap_or(0).saturating_add(before(&[" error"]).unwrap_or(0));
    let passed = passed.or((failed > 0).then_some(0))?;
    Some(TestCounts { run: passed.saturating_add(failed), passed, failed })
}

/// `2 passed, 1 warning in 0.01s`, as pytest ends where it is asked to say little.
fn is_quiet_pytest(line: &str) -> bool {
    let Some((counted, took)) = line.rsplit_once(" in ") else { return false };
    let is_time = took.split(' ').next().and_then(|time| time.strip_suffix('s')).is_some_and(|time| time.parse::<f64>().is_ok());
    let is_counted = |part: &str| {
        let mut words = part.split(' ');
        words.next().is_some_and(|number| number.parse::<u64>().is_ok()) && words.next().is_some() && words.next().is_none()
    };
    is_time && counted.split(", ").all(is_counted)
}

/// The counts of runners that name what they count, before or after the number:
/// Maven, Gradle, .NET, PHPUnit, RSpec, ExUnit, minitest, ctest, node and bun.
fn in_columns(line: &str) -> Option<TestCounts> {
    let line = line.trim_start_matches("[info] ").trim_start_matches("[error] ").trim_start_matches("[warning] ");
    let after = |word: &str| number_after(line, word);
    let of = |run: u64, failed: u64| Some(TestCounts { run, passed: run.saturating_sub(failed), failed });
    if line.starts_with("tests run:") && !line.contains("time elapsed") {
        let failed = after("failures:").unwrap_or(0).saturating_add(after("errors:").unwrap_or(0));
        return of(after("tests run:")?.saturating_sub(after("skipped:").unwrap_or(0)), failed);
    }
    if line.starts_with("passed!") || line.starts_with("failed!") {
        let (passed, failed) = (after("passed:")?, after("failed:")?);
        return of(passed.saturating_add(failed), failed);
    }
    if line.starts_with("tests:") && line.contains("assertions:") {
        return of(after("tests:")?, after("failures:").unwrap_or(0).saturating_add(after("errors:").unwrap_or(0)));
    }
    if line.starts_with("ok (") && line.contains("assertion") {
        return of(number_before(line, " test")?, 0);
    }
    if let Some(run) = number_before(line, " examples,").or_else(|| number_before(line, " example,")) {
        return of(run, number_before(line, " failure")?);
    }
    if let Some(run) = number_before(line, " runs, ").or_else(|| number_before(line, " tests, ").or_else(|| number_before(line, " test, ")))
    {
        let failed = number_before(line, " failure")?.saturating_add(number_before(line, " error").unwrap_or(0));
        let skipped = number_before(line, " skipped").or_else(|| number_before(line, " skips")).unwrap_or(0);
        return of(run.saturating_sub(skipped), failed);
    }
    if let Some(run) = number_before(line, " tests completed").or_else(|| number_before(line, " test completed")) {
        return of(run, number_before(line, " failed").unwrap_or(0));
    }
    if let (true, Some((_, total))) = (line.contains("% tests passed"), line.rsplit_once(" out of ")) {
        return of(total.trim().parse().ok()?, number_before(line, " tests failed")?);
    }
    // One count a line.
    let mut words = line.trim_start_matches(['#', 'ℹ']).split_whitespace();
    match (words.next()?, words.next()?, words.next()) {
        ("pass", number, None) | (number, "pass", None) => of(number.parse().ok()?, 0),
        ("fail", number, None) | (number, "fail", None) => number.parse().ok().map(|failed| TestCounts { run: failed, passed: 0, failed }),
        _ => None,
    }
}

/// Playwright: `3 passed (2.1s)`, `1 failed`; Flutter and Dart: `00:01 +3 -1: Some tests
/// failed.`; Bazel: `Executed 2 out of 2 tests: 1 test passes and 1 fails locally.`
fn in_a_line(line: &str) -> Option<TestCounts> {
    let of = |passed: u64, failed: u64| Some(TestCounts { run: passed.saturating_add(failed), passed, failed });
    if let Some((marks, _)) = line.rsplit_once(": ").filter(|(_, said)| matches!(*said, "all tests passed!" | "some tests failed.")) {
        let mark = |sign: char| marks.split(' ').find_map(|word| word.strip_prefix(sign)?.parse().ok());
        return of(mark('+')?, mark('-').unwrap_or(0));
    }
    if let Some((_, said)) = line.split_once(": ").filter(|_| line.starts_with("executed ") && line.contains(" out of ")) {
        let before = |words: &[&str]| words.iter().find_map(|word| number_before(said, word));
        let failed = before(&[" test fails", " tests fail", " fails", " fail"]).unwrap_or(0);
        let passed = before(&[" test passes", " tests pass"]).or((failed > 0).then_some(0))?;
        return of(passed, failed);
    }
    let (counted, took) = line.split_once(" (").unwrap_or((line, ""));
    let is_time = took.is_empty()
        || took
            .strip_suffix(')')
            .is_some_and(|took| took.trim_end_matches(['m', 's', 'h']).parse::<f64>().is_ok() && took.ends_with(['m', 's', 'h']));
    let (number, what) = counted.split_once(' ')?;
    let number = number.parse().ok().filter(|_| is_time)?;
    match what {
        "passed" | "flaky" => of(number, 0),
        "failed" => of(0, number),
        _ => None,
    }
}

fn number_after(line: &str, word: &str) -> Option<u64> {
    let rest = line[line.find(word)? + word.len()..].trim_start();
    rest[..rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len())].parse().ok()
}

fn number_before(line: &str, word: &str) -> Option<u64> {
    line.match_indices(word).find_map(|(at, _)| {
        let before = &line[..at];
        before[before.trim_end_matches(|c: char| c.is_ascii_digit()).len()..].parse().ok()
    })
}

/// A line without the escapes that colour it.
fn plain(line: &str) -> String {
    let mut shown = String::with_capacity(line.len());
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        if c == '\u{1b}' {
            chars.by_ref().find(char::is_ascii_alphabetic);
        } else {
            shown.push(c);
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_sentence_of_each_runner_is_understood() {
        let counts = |run, passed, failed| Some(TestCounts { run, passed, failed });
        for (output, expected) in [
            ("test result: ok. 5 passed; 0 failed; 1 ignored\n\ntest result: FAILED. 2 passed; 1 failed;", counts(8, 7, 1)),
            ("test result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 12 filtered out", counts(0, 0, 0)),
            ("     Summary [   0.021s] 3 tests run: 3 passed, 2 skipped", counts(3, 3, 0)),
            ("===== 12 passed, 1 failed, 2 errors in 0.5s =====", counts(15, 12, 3)),
            ("\u{1b}[32m===== \u{1b}[1m4 passed\u{1b}[0m in 0.1s =====", counts(4, 4, 0)),
            ("3 passed in 0.02s", counts(3, 3, 0)),
            ("2 passed, 1 warning in 0.01s", counts(2, 2, 0)),
            ("1 failed, 2 passed, 1 skipped, 3 rerun in 61.20s (0:01:01)", counts(3, 2, 1)),
            ("1 skipped in 0.01s", None),
            ("5 passed, as he said in 3s", None),
            ("===== no tests ran in 0.01s =====", counts(0, 0, 0)),
            ("Tests:       1 failed, 4 passed, 5 total", counts(5, 4, 1)),
            ("  Tests  7 passed (7)", counts(7, 7, 0)),
            ("  6 passing (20ms)", counts(6, 6, 0)),
            ("Ran 3 tests in 0.001s\n\nOK", counts(3, 3, 0)),
            ("Ran 0 tests in 0.000s", counts(0, 0, 0)),
            ("ok  \texample.com/a\t0.01s\nFAIL\texample.com/b\t0.2s", counts(2, 1, 1)),
            ("?   \texample.com/a\t[no test files]", counts(0, 0, 0)),
            (
                "[INFO] Tests run: 2, Failures: 0, Time elapsed: 1 s - in A\n[INFO] Tests run: 5, Failures: 1, Errors: 1, Skipped: 1",
                counts(4, 2, 2),
            ),
            ("Passed!  - Failed:     0, Passed:     5, Skipped:     0, Total:     5", counts(5, 5, 0)),
            ("OK (5 tests, 9 assertions)", counts(5, 5, 0)),
            ("Tests: 5, Assertions: 9, Failures: 2.", counts(5, 3, 2)),
            ("5 examples, 1 failure", counts(5, 4, 1)),
            ("3 tests, 0 failures", counts(3, 3, 0)),
            ("4 runs, 9 assertions, 1 failures, 1 errors, 0 skips", counts(4, 2, 2)),
            ("7 tests completed, 2 failed", counts(7, 5, 2)),
            ("50% tests passed, 1 tests failed out of 2", counts(2, 1, 1)),
            ("ℹ pass 5\nℹ fail 1", counts(6, 5, 1)),
            (" 5 pass\n 0 fail", counts(5, 5, 0)),
            ("ok | 5 passed | 0 failed (12ms)", counts(5, 5, 0)),
            ("  6 passing (20ms)\n  1 failing", counts(7, 6, 1)),
            ("Running 3 tests using 1 worker\n\n  3 passed (2.1s)", counts(3, 3, 0)),
            ("  1 failed\n    [chromium] > a.spec.ts:3:1 > logs in\n  2 passed (1.2m)", counts(3, 2, 1)),
            ("3 passed (of those that he likes)", None),
            ("00:00 +0: loading test/a_test.dart\n00:01 +3: All tests passed!", counts(3, 3, 0)),
            ("00:02 +2 ~1 -1: Some tests failed.", counts(3, 2, 1)),
            ("1..3\nok 1 adds\nok 2 takes # skip no net\nnot ok 3 breaks", counts(2, 1, 1)),
            ("1..0", counts(0, 0, 0)),
            ("3 tests, 0 failures, 1 skipped", counts(2, 2, 0)),
            ("ok 1 of them", None),
            ("  │ Tests:        3 │\n  │ Passing:      2 │\n  │ Failing:      1 │", counts(3, 2, 1)),
            ("    ✔  All specs passed!                        00:01        3        3        -        -        -", counts(3, 3, 0)),
            ("    ✖  1 of 2 failed (50%)                      00:02        4        3        1        -        -", counts(4, 3, 1)),
            ("Executed 1 out of 1 test: 1 test passes.", counts(1, 1, 0)),
            ("Executed 3 out of 3 tests: 2 tests pass and 1 fails locally.", counts(3, 2, 1)),
            ("> Task :compileTestJava NO-SOURCE\n> Task :test NO-SOURCE\n\nBUILD SUCCESSFUL in 1s", counts(0, 0, 0)),
            ("> Task :a:test NO-SOURCE\n> Task :b:test\n\nBUILD SUCCESSFUL in 1s", None),
            ("py312: commands[0]> pytest -q\n3 passed in 0.02s\n  py312: OK (0.50 seconds)\n  congratulations :)", counts(3, 3, 0)),
            ("all good", None),
            ("", None),
        ] {
            assert_eq!(counts_in(output), expected, "{output}");
        }
    }
}
