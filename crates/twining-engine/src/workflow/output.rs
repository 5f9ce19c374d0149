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
        (packages + go_empty > 0).then_some(TestCounts { run: packages, passed: go_ok, failed: go_failed })
    })
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
        || line.contains(" passing (")
        || (line.contains(" passed in ") || line.contains(" failed in "));
    if is_nothing {
        return Some(TestCounts::default());
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
            ("===== no tests ran in 0.01s =====", counts(0, 0, 0)),
            ("Tests:       1 failed, 4 passed, 5 total", counts(5, 4, 1)),
            ("  Tests  7 passed (7)", counts(7, 7, 0)),
            ("  6 passing (20ms)", counts(6, 6, 0)),
            ("Ran 3 tests in 0.001s\n\nOK", counts(3, 3, 0)),
            ("Ran 0 tests in 0.000s", counts(0, 0, 0)),
            ("ok  \texample.com/a\t0.01s\nFAIL\texample.com/b\t0.2s", counts(2, 1, 1)),
            ("?   \texample.com/a\t[no test files]", counts(0, 0, 0)),
            ("all good", None),
            ("", None),
        ] {
            assert_eq!(counts_in(output), expected, "{output}");
        }
    }
}
