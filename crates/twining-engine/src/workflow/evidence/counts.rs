//! How many tests ran, read from what a test runner printed.
//!
//! Runners differ in order and decoration, not in words: a summary line pairs
//! numbers with words for passed, failed, skipped and total, and has hardly any
//! other word in it. A line with an unknown word is no summary, so that prose and
//! the output of other tools count nothing.

use crate::governance::TestCounts;

/// Bytes at the end of an output that are read: summaries come last.
const TAIL: usize = 256 * 1024;
/// Bytes of the longest line that is read.
const LONGEST_LINE: usize = 400;

/// The counts an output ends with, summed over its suites; none without a summary.
#[must_use]
pub fn counts_in(output: &str) -> Option<TestCounts> {
    let start = (output.len().saturating_sub(TAIL)..output.len()).find(|&at| output.is_char_boundary(at)).unwrap_or(0);
    let mut tally = Tally::default();
    for line in output[start..].lines().filter(|line| line.len() <= LONGEST_LINE) {
        // A progress display writes over itself; the last state is what stays.
        let line = line.trim_end().rsplit('\r').next().unwrap_or(line);
        if line.bytes().any(|byte| byte.is_ascii_digit()) || line.len() < 80 {
            tally.add_line(&without_escapes(line).to_lowercase());
        }
    }
    tally.total()
}

/// What the lines so far add up to. Where a runner tells the same twice, one source
/// is chosen in [`Tally::total`].
#[derive(Default)]
struct Tally {
    summed: Option<TestCounts>,
    /// `Ran 12 tests`, as long as the next line may say how many failed.
    ran: Option<u64>,
    /// Repeated for each enclosing suite, or as progress: the largest counts.
    executed: Option<TestCounts>,
    /// `go test`: packages, and single tests with `-v`.
    packages: Option<TestCounts>,
    go_tests: TestCounts,
    /// Test Anything Protocol: lines count where a plan was printed.
    has_plan: bool,
    tap: TestCounts,
    /// Tables drawn with boxes (Cypress, Newman).
    table: Option<TestCounts>,
}

impl Tally {
    fn add_line(&mut self, line: &str) {
        let trimmed = line.trim();
        if self.add_go(line) || self.add_tap(trimmed) || self.add_table(trimmed) {
            return;
        }
        let Some(summary) = read_line(trimmed) else { return self.end_of_unittest(trimmed) };
        match summary {
            Summary::Ran(tests) => {
                self.close_ran(0);
                self.ran = Some(tests);
            }
            Summary::Executed(counts) => {
                let larger = self.executed.filter(|known| known.run > counts.run);
                self.executed = Some(larger.unwrap_or(counts));
            }
            Summary::Counts(counts) if counts.passed == 0 && self.ran.is_some_and(|ran| ran >= counts.failed) => {
                self.close_ran(counts.failed)
            }
            Summary::Counts(counts) => {
                self.ran = None;
                self.summed = Some(sum(self.summed.unwrap_or_default(), counts));
            }
        }
    }

    /// Takes the tests of a pending `Ran n tests`, of which so many failed.
    fn close_ran(&mut self, failed: u64) {
        if let Some(run) = self.ran.take() {
            self.summed = Some(sum(self.summed.unwrap_or_default(), counts(run.saturating_sub(failed), failed)));
        }
    }

    fn end_of_unittest(&mut self, line: &str) {
        match line {
            "ok" | "result: pass" => self.close_ran(0),
            "result: fail" => self.close_ran(1),
            _ => {}
        }
    }

    fn add_go(&mut self, line: &str) -> bool {
        let is_package = line.starts_with("ok \t") || line.starts_with("ok  \t") || line.starts_with("fail\t");
        let is_empty = line.contains("[no test files]") || line.contains("[no tests to run]");
        if is_package || is_empty {
            let failed = u64::from(line.starts_with("fail\t"));
            let one = if is_empty { TestCounts::default() } else { counts(1 - failed, failed) };
            self.packages = Some(sum(self.packages.unwrap_or_default(), one));
        }
        let single = match () {
            () if line.starts_with("--- pass: ") => counts(1, 0),
            () if line.starts_with("--- fail: ") => counts(0, 1),
            () => return is_package || is_empty,
        };
        self.go_tests = sum(self.go_tests, single);
        true
    }

    fn add_tap(&mut self, line: &str) -> bool {
        let is_numbered = |rest: &str| rest.starts_with(|c: char| c.is_ascii_digit());
        if let Some(most) = line.strip_prefix("1..") {
            self.has_plan |= is_numbered(most);
            return true;
        }
        let (failed, rest) = match (line.strip_prefix("not ok "), line.strip_prefix("ok ")) {
            (Some(rest), _) => (true, rest),
            (_, Some(rest)) => (false, rest),
            _ => return false,
        };
        if is_numbered(rest) && !rest.contains("# skip") && !rest.contains("# todo") {
            self.tap = sum(self.tap, counts(u64::from(!failed), u64::from(failed)));
        }
        is_numbered(rest)
    }

    /// A row between box lines, or Cypress' last line with its columns time, tests,
    /// passing, failing, pending, skipped.
    fn add_table(&mut self, line: &str) -> bool {
        let number = |word: Option<&&str>| word.and_then(|word| word.parse::<u64>().ok()).unwrap_or(0);
        if line.contains("all specs passed!") || (line.starts_with('✖') && line.contains(" failed (")) {
            let columns: Vec<&str> = line.split_whitespace().rev().collect();
            self.table = Some(counts(number(columns.get(3)), number(columns.get(2))));
            return true;
        }
        let Some(row) = line.strip_prefix('│') else { return false };
        let cells: Vec<&str> = row.split(['│', ':']).map(str::trim).collect();
        let known = self.table.unwrap_or_default();
        match cells.first().copied() {
            Some("passing") => self.table = Some(sum(known, counts(number(cells.get(1)), 0))),
            Some("failing") => self.table = Some(sum(known, counts(0, number(cells.get(1))))),
            Some("assertions") => {
                let failed = number(cells.get(2));
                self.table = Some(sum(known, counts(number(cells.get(1)).saturating_sub(failed), failed)));
            }
            _ => {}
        }
        true
    }

    fn total(mut self) -> Option<TestCounts> {
        self.close_ran(0);
        let go = if self.go_tests.passed > 0 { Some(self.go_tests) } else { self.packages };
        match (self.summed, self.executed) {
            (Some(one), Some(other)) => Some(sum(one, other)),
            (one, other) => one.or(other).or(go).or(self.has_plan.then_some(self.tap)).or(self.table),
        }
    }
}

enum Summary {
    Counts(TestCounts),
    Ran(u64),
    Executed(TestCounts),
}

/// A summary line in lower case.
fn read_line(line: &str) -> Option<Summary> {
    const NONE: [&str; 6] =
        ["no tests ran", "no tests found", "no test files found", "no tests were found", "collected 0 items", "no-source"];
    if NONE.iter().any(|words| line.contains(words)) && !line.starts_with("> task :compile") {
        return Some(Summary::Counts(TestCounts::default()));
    }
    // Maven counts each class before it counts all of them.
    if line.contains("time elapsed") {
        return None;
    }
    if let Some((files, rest)) = line.split_once(", tests=").filter(|(files, _)| files.starts_with("files=")) {
        let tests = rest.split(',').next().unwrap_or(files);
        return tests.parse().ok().map(Summary::Ran);
    }
    if let Some((marks, _)) = line.rsplit_once(": ").filter(|(_, end)| matches!(*end, "all tests passed!" | "some tests failed.")) {
        let mark = |sign: char| marks.split(' ').find_map(|word| word.strip_prefix(sign)?.parse().ok()).unwrap_or(0);
        return Some(Summary::Counts(counts(mark('+'), mark('-'))));
    }
    let bare = line.trim_start_matches("[info] ").trim_start_matches("[error] ").trim_start_matches("[warning] ");
    let bare = bare.split(", duration:").next().unwrap_or(bare);
    let bare = bare.strip_prefix("build summary: ").and_then(|steps| steps.split_once(';')).map_or(bare, |(_, tests)| tests);
    if let Some(at) = bare.find("executed ") {
        return Pairs::read(&bare[at..]).ok()?.counts().map(Summary::Executed);
    }
    // Behind the name of a container or a task: `app-1  | 3 passed`, `web:test: Tests: 3 passed`.
    let unnamed = || bare.split_once("| ").or_else(|| bare.split_once(": ").filter(|(name, _)| name.ends_with("test")));
    let pairs = match Pairs::read(bare) {
        Err(Rejected::UnknownWord) => Pairs::read(unnamed()?.1).ok()?,
        read => read.ok()?,
    };
    match pairs.counts() {
        Some(counts) => Some(Summary::Counts(counts)),
        None => pairs.total.filter(|_| bare.starts_with("ran ") || bare.contains("| ran ")).map(Summary::Ran),
    }
}

/// What a word in a summary says of the number beside it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Label {
    Passed,
    Failed,
    Error,
    Skipped,
    Total,
    /// Something else is counted: files, assertions, steps.
    OtherUnit,
    Time,
    Filler,
}

impl Label {
    fn is_outcome(self) -> bool {
        matches!(self, Self::Passed | Self::Failed | Self::Error | Self::Skipped)
    }
}

fn label(word: &str) -> Option<Label> {
    Some(match word {
        "passed" | "passing" | "pass" | "passes" | "succeeded" | "successes" | "success" | "successful" => Label::Passed,
        "failed" | "failing" | "fail" | "fails" | "failure" | "failures" => Label::Failed,
        "error" | "errors" => Label::Error,
        "skipped" | "skip" | "skips" | "pending" | "ignored" | "todo" | "canceled" | "cancelled" | "excluded" | "xfailed" => Label::Skipped,
        "tests" | "test" | "doctests" | "doctest" | "examples" | "example" | "specs" | "spec" | "scenarios" | "scenario" | "runs"
        | "run" | "cases" | "total" | "completed" => Label::Total,
        "files" | "file" | "suites" | "suite" | "assertions" | "assertion" | "snapshots" | "steps" | "step" | "features" | "feature"
        | "warnings" | "warning" | "warn" | "unexpected" | "deselected" | "xpassed" | "rerun" | "measured" | "filtered" | "flaky"
        | "leaky" | "slow" | "interrupted" | "incomplete" | "risky" | "deprecated" | "deprecations" | "issue" | "issues" | "projects" => {
            Label::OtherUnit
        }
        "s" | "ms" | "sec" | "secs" | "second" | "seconds" | "m" | "min" | "minutes" | "time" | "took" | "duration" => Label::Time,
        "in" | "of" | "out" | "with" | "and" | "all" | "ok" | "result" | "summary" | "build" | "ran" | "executed" | "after" | "from"
        | "containing" | "done" | "locally" | "failed!" | "usr" | "sys" | "cpu" | "wallclock" | "finished" | "at" | "did" | "not" => {
            Label::Filler
        }
        _ => return None,
    })
}

/// Why a line is no summary of tests.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rejected {
    UnknownWord,
    OtherUnit,
}

/// The numbers of a line by what they count.
#[derive(Default)]
struct Pairs {
    passed: Option<u64>,
    failed: Option<u64>,
    errors: Option<u64>,
    skipped: u64,
    total: Option<u64>,
    /// An outcome without a number: `OK (5 tests, …)`, `All 3 tests passed`.
    says_passed: bool,
    has_time: bool,
    /// Numbers that were read, of any kind.
    seen: usize,
}

impl Pairs {
    fn read(line: &str) -> Result<Self, Rejected> {
        let spaced = line.replace('=', " ").replace(" / ", ",").replace(" and ", ",");
        let mut pairs = Self::default();
        for segment in spaced.split([',', ';', '|', '(', ')', '[', ']', '{', '}']) {
            pairs.read_segment(segment)?;
        }
        Ok(pairs)
    }

    fn read_segment(&mut self, segment: &str) -> Result<(), Rejected> {
        let mut labels: Vec<Label> = Vec::new();
        let mut numbers: Vec<(u64, Option<u64>, Vec<Label>)> = Vec::new();
        let mut after_of = false;
        for word in segment.split_whitespace().map(|word| word.trim_matches(DECORATION)).filter(|word| !word.is_empty()) {
            if let Some((number, of)) = number(word) {
                match numbers.last_mut().filter(|_| after_of) {
                    // `1 out of 12 tests failed`: the words that follow are about the 1.
                    Some((_, total, _)) => *total = Some(number),
                    None => numbers.push((number, of, Vec::new())),
                }
            } else if is_duration(word) {
                self.has_time = true;
            } else {
                let label = label(word).ok_or(Rejected::UnknownWord)?;
                self.has_time |= label == Label::Time;
                self.says_passed |= matches!(word, "ok" | "done") || label == Label::Passed;
                numbers.last_mut().map_or(&mut labels, |(_, _, own)| own).push(label);
            }
            after_of = word == "of";
        }
        if let Some((_, _, own)) = numbers.first_mut() {
            // `test result: FAILED. 2 passed`: the word behind the number is about the number.
            let has_outcome = own.iter().any(|label| label.is_outcome());
            own.extend(labels.into_iter().filter(|label| !has_outcome || !label.is_outcome()));
        } else if labels.contains(&Label::OtherUnit) && self.seen == 0 && !self.says_passed {
            return Err(Rejected::OtherUnit);
        }
        for (number, of, labels) in numbers {
            let is_first = self.seen == 0 && !self.says_passed_before(&labels);
            self.seen += 1;
            self.take(number, of, &labels, is_first)?;
        }
        Ok(())
    }

    /// Whether an outcome was named before this number and not by its own words.
    fn says_passed_before(&self, labels: &[Label]) -> bool {
        self.says_passed && !labels.contains(&Label::Passed)
    }

    fn take(&mut self, number: u64, of: Option<u64>, labels: &[Label], is_first: bool) -> Result<(), Rejected> {
        let has = |label| labels.contains(&label);
        if has(Label::OtherUnit) {
            // `Test Suites: 1 passed, 1 total` is about suites to its end.
            return if is_first { Err(Rejected::OtherUnit) } else { Ok(()) };
        }
        let add = |to: &mut Option<u64>, number: u64| *to = Some(to.unwrap_or(0).saturating_add(number));
        match () {
            () if has(Label::Failed) => add(&mut self.failed, number),
            () if has(Label::Error) => add(&mut self.errors, number),
            () if has(Label::Passed) => add(&mut self.passed, number),
            () if has(Label::Skipped) => self.skipped = self.skipped.saturating_add(number),
            () if has(Label::Time) => self.has_time = true,
            () if has(Label::Total) && of.is_none() => add(&mut self.total, number),
            () => {}
        }
        if let Some(of) = of.filter(|_| !has(Label::Total) || has(Label::Passed) || has(Label::Failed)) {
            self.total = self.total.max(Some(of));
        } else if of.is_some() {
            add(&mut self.total, number);
        }
        Ok(())
    }

    fn counts(&self) -> Option<TestCounts> {
        // `1 error` alone is a compiler's.
        let errors = self.errors.filter(|_| self.has_time || self.passed.or(self.failed).or(self.total).is_some());
        let failed = match (self.failed, errors) {
            (None, None) => None,
            (failed, errors) => Some(failed.unwrap_or(0).saturating_add(errors.unwrap_or(0))),
        };
        let rest = |failed: u64| Some(self.total?.saturating_sub(failed).saturating_sub(self.skipped));
        match (self.passed, failed) {
            (Some(passed), failed) => Some(counts(passed, failed.unwrap_or(0))),
            (None, Some(failed)) if failed > 0 || self.total.is_some() => Some(counts(rest(failed).unwrap_or(0), failed)),
            (None, None) if self.says_passed => rest(0).map(|passed| counts(passed, 0)),
            // `0 failures, 0 errors` belongs to a line before it.
            (None, Some(0)) if self.errors.is_some() => Some(TestCounts::default()),
            _ => None,
        }
    }
}

/// Characters around words.
const DECORATION: [char; 26] =
    ['=', ':', '.', '!', '#', '*', '-', '–', '—', '>', '<', '"', '\'', '`', '✓', '✔', '✗', '✘', '✖', '×', 'ℹ', '•', '●', '▶', '~', '│'];

/// A number, or a fraction: `5/5`.
fn number(word: &str) -> Option<(u64, Option<u64>)> {
    match word.split_once('/') {
        Some((number, of)) => Some((number.parse().ok()?, Some(of.parse().ok()?))),
        None => Some((word.parse().ok()?, None)),
    }
}

/// `0.12s`, `20ms`, `1.2m`, `00:01`, `100%`.
fn is_duration(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_digit())
        && word.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | ':' | '%' | 's' | 'm' | 'h' | 'n' | 'µ' | 'u'))
}

fn counts(passed: u64, failed: u64) -> TestCounts {
    TestCounts { run: passed.saturating_add(failed), passed, failed }
}

/// Both counts together.
pub(crate) fn sum(one: TestCounts, other: TestCounts) -> TestCounts {
    TestCounts {
        run: one.run.saturating_add(other.run),
        passed: one.passed.saturating_add(other.passed),
        failed: one.failed.saturating_add(other.failed),
    }
}

/// A line without the escape sequences that colour it.
fn without_escapes(line: &str) -> String {
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
mod tests;
