//! How many tests ran, read from what a test runner printed.
//!
//! Runners differ in order and decoration, not in words: a summary line pairs
//! numbers with words for passed, failed, skipped and total, and has hardly any
//! other word in it. A line with an unknown word is no summary, so that prose and
//! the output of other tools count nothing.

use crate::governance::TestCounts;
use crate::workflow::evidence::run_log::is_one_of;

/// Bytes at the end of an output that are read: summaries come last.
const TAIL: usize = 256 * 1024;
/// Bytes of the longest line that is read.
const LONGEST_LINE: usize = 400;

/// The counts an output ends with, summed over its suites; none without a summary.
#[must_use]
pub fn counts_in(output: &str) -> Option<TestCounts> {
    let start = (output.len().saturating_sub(TAIL)..output.len())
        .find(|&at| output.is_char_boundary(at))
        .unwrap_or(0);
    let mut totals = OutputCounts::default();
    for line in output[start..].lines().filter(|line| line.len() <= LONGEST_LINE) {
        // A progress display writes over itself; the last state is what stays.
        let line = line.trim_end().rsplit('\r').next().unwrap_or(line);
        if may_count(line) {
            totals.add_line(&without_escapes(line).to_lowercase());
        }
    }
    totals.total()
}

/// Whether a line has the beginning of a word by which tests are counted: most have
/// none, and need no second look.
fn may_count(line: &str) -> bool {
    let is_tap = ["ok", "not ok", "1.."].iter().any(|start| line.trim_start().starts_with(start));
    let is_stem = |word: &[u8]| {
        let lower = [word[0] | 0x20, word[1] | 0x20, word[2] | 0x20, word[3] | 0x20];
        matches!(
            &lower,
            b"pass" | b"fail" | b"test" | b"spec" | b"succ" | b"exam" | b"erro" | b"asse"
        )
    };
    is_tap || line.as_bytes().windows(4).any(is_stem)
}

/// Totals of the lines so far. If a runner reports the same counts twice, [`OutputCounts::total`] picks
/// one source.
#[derive(Default)]
struct OutputCounts {
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
    /// The last line or row of a table (Cypress, Newman).
    table: Option<TestCounts>,
}

impl OutputCounts {
    fn add_line(&mut self, line: &str) {
        let trimmed = line.trim();
        if self.add_go(line) || self.add_tap(trimmed) || self.add_table(trimmed) {
            return;
        }
        match read_line(trimmed) {
            Some(SummaryLine::Ran(tests)) => {
                self.close_ran(0);
                self.ran = Some(tests);
            }
            Some(SummaryLine::Executed(counts)) => {
                self.executed =
                    self.executed.filter(|known| known.run > counts.run).or(Some(counts));
            }
            Some(SummaryLine::Counts(counts))
                if counts.passed == 0 && self.ran.is_some_and(|ran| ran >= counts.failed) =>
            {
                self.close_ran(counts.failed);
            }
            Some(SummaryLine::Counts(counts)) => {
                self.ran = None;
                self.summed = Some(TestCounts::plus(self.summed.unwrap_or_default(), counts));
            }
            None if trimmed == "result: fail" => self.close_ran(1),
            None => {}
        }
    }

    /// Takes the tests of a pending `Ran n tests`, of which so many failed.
    fn close_ran(&mut self, failed: u64) {
        if let Some(run) = self.ran.take() {
            self.summed = Some(TestCounts::plus(
                self.summed.unwrap_or_default(),
                TestCounts::of(run.saturating_sub(failed), failed),
            ));
        }
    }

    fn add_go(&mut self, line: &str) -> bool {
        let has_failed = line.starts_with("fail\t") || line.starts_with("--- fail: ");
        let one = TestCounts::of(u64::from(!has_failed), u64::from(has_failed));
        let package = if line.contains("[no test files]") || line.contains("[no tests to run]") {
            TestCounts::default()
        } else {
            one
        };
        if line.starts_with("--- pass: ") || line.starts_with("--- fail: ") {
            self.go_tests = TestCounts::plus(self.go_tests, one);
        } else if package.run == 0 || line.starts_with("ok  \t") || line.starts_with("fail\t") {
            self.packages = Some(TestCounts::plus(self.packages.unwrap_or_default(), package));
        } else {
            return false;
        }
        true
    }

    fn add_tap(&mut self, line: &str) -> bool {
        let is_numbered = |rest: &&str| rest.starts_with(|c: char| c.is_ascii_digit());
        if line.strip_prefix("1..").filter(is_numbered).is_some() {
            self.has_plan = true;
            return true;
        }
        let Some(rest) =
            line.strip_prefix("not ").unwrap_or(line).strip_prefix("ok ").filter(is_numbered)
        else {
            return false;
        };
        if !rest.contains("# skip") && !rest.contains("# todo") {
            let failed = u64::from(line.starts_with("not "));
            self.tap = TestCounts::plus(self.tap, TestCounts::of(1 - failed, failed));
        }
        true
    }

    fn add_table(&mut self, line: &str) -> bool {
        if let Some(row) = line.strip_prefix('│') {
            let cells: Vec<&str> = row.split('│').map(str::trim).collect();
            if let ["assertions", executed, failed, ..] = cells[..] {
                let (executed, failed) =
                    (executed.parse().unwrap_or(0), failed.parse().unwrap_or(0));
                self.table = Some(TestCounts::of(u64::saturating_sub(executed, failed), failed));
            }
            return true;
        }
        let is_total = line.contains("all specs passed!")
            || (line.starts_with('✖') && line.contains(" failed ("));
        if is_total {
            self.table = NumberPairs::read(line).ok().and_then(|pairs| pairs.counts());
        }
        is_total
    }

    fn total(mut self) -> Option<TestCounts> {
        self.close_ran(0);
        let go = if self.go_tests.passed > 0 { Some(self.go_tests) } else { self.packages };
        match (self.summed, self.executed) {
            (Some(one), Some(other)) => Some(TestCounts::plus(one, other)),
            (one, other) => {
                one.or(other).or(go).or(self.has_plan.then_some(self.tap)).or(self.table)
            }
        }
    }
}

enum SummaryLine {
    Counts(TestCounts),
    Ran(u64),
    Executed(TestCounts),
}

/// A summary line in lower case.
fn read_line(line: &str) -> Option<SummaryLine> {
    let none = [
        "no tests ran",
        "no tests found",
        "no test files found",
        "no tests were found",
        "collected 0 items",
        "test no-source",
    ];
    if none.iter().any(|words| line.contains(words)) {
        return Some(SummaryLine::Counts(TestCounts::default()));
    }
    // Maven counts each class before it counts all of them.
    if line.contains("time elapsed") {
        return None;
    }
    if let Some((_, tests)) = line.split_once(", tests=").filter(|_| line.starts_with("files=")) {
        return tests.split(',').next()?.parse().ok().map(SummaryLine::Ran);
    }
    if let Some((marks, _)) = line
        .rsplit_once(": ")
        .filter(|(_, end)| matches!(*end, "all tests passed!" | "some tests failed."))
    {
        let mark = |sign: char| {
            marks.split(' ').find_map(|word| word.strip_prefix(sign)?.parse().ok()).unwrap_or(0)
        };
        return Some(SummaryLine::Counts(TestCounts::of(mark('+'), mark('-'))));
    }
    let bare = line
        .trim_start_matches("[info] ")
        .trim_start_matches("[error] ")
        .trim_start_matches("[warning] ");
    let bare = bare.split(", duration:").next().unwrap_or(bare);
    let bare = bare
        .strip_prefix("build summary: ")
        .and_then(|steps| steps.split_once(';'))
        .map_or(bare, |(_, tests)| tests);
    if let Some(at) = bare.find("executed ") {
        return NumberPairs::read(bare)
            .or_else(|_| NumberPairs::read(&bare[at..]))
            .ok()?
            .counts()
            .map(SummaryLine::Executed);
    }
    // Behind the name of a container or a task: `app-1  | 3 passed`, `web:test: Tests: 3 passed`.
    let unnamed = || {
        bare.split_once("| ")
            .or_else(|| bare.split_once(": ").filter(|(name, _)| name.ends_with("test")))
    };
    let pairs = match NumberPairs::read(bare) {
        Err(NotASummary::UnknownWord) => NumberPairs::read(unnamed()?.1).ok()?,
        read => read.ok()?,
    };
    let ran = || pairs.total.filter(|_| bare.starts_with("ran ") || bare.contains("| ran "));
    pairs.counts().map(SummaryLine::Counts).or_else(|| ran().map(SummaryLine::Ran))
}

/// What a word in a summary says of the number beside it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum WordLabel {
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

const LABELS: [(WordLabel, &str); 8] = [
    (WordLabel::Passed, "passed passing pass passes succeeded successes success successful"),
    (WordLabel::Failed, "failed failing fail fails failure failures"),
    (WordLabel::Error, "error errors"),
    (
        WordLabel::Skipped,
        "skipped skip skips pending ignored todo canceled cancelled excluded xfailed",
    ),
    (
        WordLabel::Total,
        "tests test doctests doctest examples example specs spec scenarios scenario runs run cases total completed",
    ),
    (
        WordLabel::OtherUnit,
        "files file suites suite assertions assertion snapshots steps step features feature warnings warning warn unexpected deselected \
         xpassed rerun measured filtered flaky leaky slow interrupted incomplete risky deprecated deprecations issue issues projects",
    ),
    (WordLabel::Time, "s ms sec secs second seconds m min minutes time took duration"),
    (
        WordLabel::Filler,
        "in of out with and all ok result summary ran executed after from containing done locally at finished",
    ),
];

fn label(word: &str) -> Option<WordLabel> {
    LABELS.iter().find(|(_, words)| is_one_of(words, word)).map(|(label, _)| *label)
}

fn is_outcome(label: WordLabel) -> bool {
    matches!(label, WordLabel::Passed | WordLabel::Failed | WordLabel::Error | WordLabel::Skipped)
}

/// Why a line is no summary of tests.
enum NotASummary {
    UnknownWord,
    OtherUnit,
}

/// The numbers of a line by what they count.
#[derive(Default)]
struct NumberPairs {
    passed: Option<u64>,
    failed: Option<u64>,
    errors: Option<u64>,
    skipped: u64,
    total: Option<u64>,
    /// An outcome without a number: `OK (5 tests, …)`, `All 3 tests passed`.
    states_passed: bool,
    has_time: bool,
    has_number: bool,
}

/// A number, of how many, and the words about it.
type LabeledNumber = (u64, Option<u64>, Vec<WordLabel>);

impl NumberPairs {
    fn read(line: &str) -> Result<Self, NotASummary> {
        let spaced = line.replace('=', " ").replace(" / ", ",").replace(" and ", ",");
        let mut pairs = Self::default();
        spaced
            .split([',', ';', '|', '(', ')', '[', ']', '{', '}'])
            .try_for_each(|segment| pairs.read_segment(segment))?;
        Ok(pairs)
    }

    fn read_segment(&mut self, segment: &str) -> Result<(), NotASummary> {
        let stated_before = self.states_passed;
        let mut before: Vec<WordLabel> = Vec::new();
        let mut numbers: Vec<LabeledNumber> = Vec::new();
        let mut after_of = false;
        for word in segment
            .split_whitespace()
            .map(|word| word.trim_matches(is_decoration))
            .filter(|word| !word.is_empty())
        {
            match (number(word), numbers.last_mut()) {
                // `1 out of 12 tests failed`: the words that follow are about the 1.
                (Some((total, _)), Some(last)) if after_of => last.1 = Some(total),
                (Some((number, of)), _) => numbers.push((number, of, Vec::new())),
                (None, _) if is_duration(word) => self.has_time = true,
                (None, last) => {
                    let label = label(word).ok_or(NotASummary::UnknownWord)?;
                    self.has_time |= label == WordLabel::Time;
                    self.states_passed |=
                        matches!(word, "ok" | "done") || label == WordLabel::Passed;
                    last.map_or(&mut before, |(_, _, own)| own).push(label);
                }
            }
            after_of = word == "of";
        }
        if let Some((_, _, own)) = numbers.first_mut() {
            // `test result: FAILED. 2 passed`: the word behind the number is about the number.
            let has_label =
                own.iter().any(|label| is_outcome(*label) || *label == WordLabel::Total);
            own.extend(before.iter().filter(|label| !has_label || !is_outcome(**label)));
        }
        let units = numbers.first().map_or(&before, |(_, _, own)| own);
        // `Test Suites: 1 passed, 1 total` is about suites to its end.
        if units.contains(&WordLabel::OtherUnit) && !self.has_number && !stated_before {
            return Err(NotASummary::OtherUnit);
        }
        self.has_number |= !numbers.is_empty();
        numbers.into_iter().for_each(|numbered| self.take(numbered));
        Ok(())
    }

    fn take(&mut self, (number, of, labels): LabeledNumber) {
        let has = |label| labels.contains(&label);
        let add = |to: &mut Option<u64>| *to = Some(to.unwrap_or(0).saturating_add(number));
        match () {
            () if has(WordLabel::OtherUnit) => return,
            () if has(WordLabel::Failed) => add(&mut self.failed),
            () if has(WordLabel::Error) => add(&mut self.errors),
            () if has(WordLabel::Passed) => add(&mut self.passed),
            () if has(WordLabel::Skipped) => self.skipped = self.skipped.saturating_add(number),
            () if has(WordLabel::Time) => {}
            () if has(WordLabel::Total) => return add(&mut self.total),
            () => {}
        }
        self.total = of.map_or(self.total, |of| self.total.max(Some(of)));
    }

    fn counts(&self) -> Option<TestCounts> {
        // `1 error` alone is a compiler's.
        let errors = self
            .errors
            .filter(|_| self.has_time || self.passed.or(self.failed).or(self.total).is_some());
        let failed = self
            .failed
            .or(errors)
            .map(|_| self.failed.unwrap_or(0).saturating_add(errors.unwrap_or(0)));
        let rest =
            |failed: u64| Some(self.total?.saturating_sub(failed).saturating_sub(self.skipped));
        match (self.passed, failed) {
            (Some(passed), failed) => Some(TestCounts::of(passed, failed.unwrap_or(0))),
            // `0 failures, 0 errors` belongs to a line before it.
            (None, Some(0)) if self.total.is_none() => self.errors.map(|_| TestCounts::default()),
            (None, Some(failed)) => Some(TestCounts::of(rest(failed).unwrap_or(0), failed)),
            (None, None) if self.states_passed => rest(0).map(|passed| TestCounts::of(passed, 0)),
            (None, None) => None,
        }
    }
}

fn is_decoration(c: char) -> bool {
    c == 'ℹ' || (!c.is_alphanumeric() && !matches!(c, '%' | '/'))
}

/// A number, or a fraction: `5/5`.
fn number(word: &str) -> Option<(u64, Option<u64>)> {
    match word.split_once('/') {
        Some((number, of)) => Some((number.parse().ok()?, Some(of.parse().ok()?))),
        None => Some((word.parse().ok()?, None)),
    }
}

/// `0.12s`, `20ms`, `1.2m`, `00:01`, `100%`.
fn is_duration(word: &str) -> bool {
    let is_part =
        |c: char| c.is_ascii_digit() || matches!(c, '.' | ':' | '%' | 's' | 'm' | 'h' | 'n' | 'µ');
    word.starts_with(|c: char| c.is_ascii_digit()) && word.chars().all(is_part)
}

/// A line without the escape sequences that colour it.
fn without_escapes(line: &str) -> String {
    let mut parts = line.split('\u{1b}');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |shown, part| {
        shown + part.split_once(|c: char| c.is_ascii_alphabetic()).map_or("", |(_, rest)| rest)
    })
}

#[cfg(test)]
mod tests;
