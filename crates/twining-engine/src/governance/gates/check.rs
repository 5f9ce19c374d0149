//! Holding results against a profile.
//!
//! A gate passes on evidence, fails on evidence, and without evidence is
//! unknown; unknown never approves. What a report on disk says counts over what
//! the caller says, and no caller can name a threshold.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use twining_model::{InvalidInput, words};

use crate::governance::gates::profile::GateProfile;
use crate::governance::policy::Mistake;
use crate::governance::reports::ReportRead;
use crate::input_types::TestCountsInput;

/// Measurements, as the caller sent them.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct GateResultsInput {
    /// Test counts
    pub tests: TestCountsInput,
    /// As a fraction or in percent
    pub coverage: Option<f64>,
    /// Architecture review score, 0 to 100
    pub arch_score: Option<f64>,
}

/// Results from the caller.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CheckGatesInput {
    /// feature, testing, documentation, scaffolding, or a custom type
    pub task_type: String,
    /// 1 to 10
    pub complexity: i64,
    /// What you measured
    #[serde(default)]
    pub results: GateResultsInput,
    /// Paths of JUnit, Cobertura or lcov reports; they count over results
    #[serde(default)]
    pub reports: Vec<String>,
}

/// Test counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TestCounts {
    /// Executed.
    pub run: u64,
    /// Passed.
    pub passed: u64,
    /// Failed or errored.
    pub failed: u64,
}

impl TestCounts {
    /// Of tests that passed and failed.
    pub(crate) fn of(passed: u64, failed: u64) -> Self {
        Self { run: passed.saturating_add(failed), passed, failed }
    }

    /// Both together.
    pub(crate) fn plus(self, other: Self) -> Self {
        Self {
            run: self.run.saturating_add(other.run),
            passed: self.passed.saturating_add(other.passed),
            failed: self.failed.saturating_add(other.failed),
        }
    }
}

/// The source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GateEvidence {
    /// A report on disk.
    Report,
    /// The caller.
    Claimed,
    /// None.
    None,
}

words! {
    /// A gate's status, from best to worst.
    pub enum GateStatus {
        /// Met.
        Pass = "pass",
        /// Not known.
        Unknown = "unknown",
        /// Not met.
        Fail = "fail",
    }
}

/// A gate's result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct GateResult {
    /// `tests`, `coverage`, `architecture` or `reports`.
    pub gate: &'static str,
    /// Its status.
    pub standing: GateStatus,
    /// Why.
    pub reason: String,
    /// The source.
    pub evidence: GateEvidence,
    /// The next step; none if the gate passed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// All gate results.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CheckGatesOutcome {
    /// The worst gate status.
    pub overall: GateStatus,
    /// Whether the task may be approved: only if every gate passed.
    pub approved: bool,
    /// Required gates, and optional gates that failed.
    pub gates: Vec<GateResult>,
    /// What to do now, in order.
    pub next: Vec<String>,
    /// Profile.
    pub profile: GateProfile,
    /// Reports that were read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reports: Vec<ReportRead>,
    /// How unclear input was read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// What is wrong with the policy files.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub mistakes: Vec<Mistake>,
}

/// What is known of a task's results.
#[derive(Clone, Debug, Default)]
pub(crate) struct GateMeasurements {
    tests: Option<(TestCounts, GateEvidence)>,
    coverage: Option<(Percent, GateEvidence)>,
    arch_score: Option<f64>,
    unread: Vec<String>,
    notes: Vec<String>,
}

impl GateMeasurements {
    /// What the caller says, checked; over it what the reports say.
    pub(crate) fn of(
        input: &CheckGatesInput,
        reports: &[ReportRead],
    ) -> Result<Self, InvalidInput> {
        let claimed = claimed_tests(input.results.tests)?;
        let coverage = coverage(input.results.coverage)?;
        let mut measured =
            Self { arch_score: arch_score(input.results.arch_score)?, ..Self::default() };
        let reported = reports.iter().filter_map(|report| report.tests).reduce(TestCounts::plus);
        if let (Some(claimed), Some(reported)) = (claimed, reported)
            && claimed != reported
        {
            measured.notes.push(format!(
                "claimed {}, but the reports say {}; the reports are used",
                describe_counts(claimed),
                describe_counts(reported)
            ));
        }
        measured.tests = reported
            .map(|tests| (tests, GateEvidence::Report))
            .or(claimed.map(|tests| (tests, GateEvidence::Claimed)));
        let lines = reports.iter().filter_map(|report| report.lines).fold(
            (0_u64, 0_u64),
            |(covered, total), lines| {
                (covered.saturating_add(lines.covered), total.saturating_add(lines.total))
            },
        );
        let reported = Percent::of(lines.0, lines.1);
        if let (Some(claimed), Some(reported)) = (coverage, reported)
            && claimed != reported
        {
            measured.notes.push(format!("claimed coverage is {claimed}, but the reports say {reported}; the reports are used"));
        }
        measured.coverage = reported
            .map(|share| (share, GateEvidence::Report))
            .or(coverage.map(|share| (share, GateEvidence::Claimed)));
        measured.unread = reports
            .iter()
            .filter_map(|report| Some(format!("`{}` {}", report.path, report.problem.as_ref()?)))
            .collect();
        Ok(measured)
    }
}

/// Takes a coverage.
pub(crate) fn coverage(given: Option<f64>) -> Result<Option<Percent>, InvalidInput> {
    let rule = "must be a fraction up to 1 or a percentage up to 100";
    let refused = |given| InvalidInput::new("coverage", rule).because(format!("{given} was given"));
    given.map(|given| Percent::read(given).ok_or_else(|| refused(given))).transpose()
}

/// Takes the score of an architecture review.
pub(crate) fn arch_score(given: Option<f64>) -> Result<Option<f64>, InvalidInput> {
    match given.filter(|score| !(0.0..=100.0).contains(score)) {
        Some(score) => Err(InvalidInput::new("arch_score", "must be from 0 to 100")
            .because(format!("{score} was given"))),
        None => Ok(given),
    }
}

pub(crate) fn claimed_tests(given: TestCountsInput) -> Result<Option<TestCounts>, InvalidInput> {
    let counts = match (given.run, given.passed, given.failed) {
        (run, Some(passed), Some(failed)) => {
            TestCounts { run: run.unwrap_or(passed.saturating_add(failed)), passed, failed }
        }
        (Some(run), None, Some(failed)) => {
            TestCounts { run, passed: run.saturating_sub(failed), failed }
        }
        (None, None, None) => return Ok(None),
        // What passed says nothing of what did not.
        _ => {
            return Err(InvalidInput::new(
                "tests",
                "must say how many were run, passed and failed",
            ));
        }
    };
    if counts.passed.saturating_add(counts.failed) > counts.run {
        return Err(InvalidInput::new("tests", "cannot have more passed and failed than were run")
            .because(describe_counts(counts)));
    }
    Ok(Some(counts))
}

fn describe_counts(tests: TestCounts) -> String {
    format!("{} run, {} passed, {} failed", tests.run, tests.passed, tests.failed)
}

/// Judges every gate.
pub(crate) fn check(
    profile: GateProfile,
    measured: GateMeasurements,
    reports: Vec<ReportRead>,
    mut notes: Vec<String>,
) -> CheckGatesOutcome {
    let judged = [
        judge_tests(&profile, &measured),
        judge_coverage(&profile, &measured),
        judge_arch(&profile, &measured),
        judge_reports(&measured),
    ];
    let gates: Vec<GateResult> = judged.into_iter().flatten().collect();
    let overall = gates.iter().map(|gate| gate.standing).max().unwrap_or(GateStatus::Pass);
    let approved = overall == GateStatus::Pass;
    let mut next: Vec<String> = gates.iter().filter_map(|gate| gate.next.clone()).collect();
    next.push(match overall {
        GateStatus::Pass if gates.is_empty() => {
            format!(
                "no gates are required for a `{}` task: judge it by its acceptance criteria",
                profile.task_type
            )
        }
        GateStatus::Pass => {
            "every gate passed: approve if each acceptance criterion is verified too".to_owned()
        }
        GateStatus::Unknown => {
            "do not approve: some gates are unknown. Check again with the missing evidence"
                .to_owned()
        }
        GateStatus::Fail => {
            "do not approve: send it back with the reasons above, and check again after the change"
                .to_owned()
        }
    });
    notes.extend(measured.notes);
    CheckGatesOutcome {
        overall,
        approved,
        gates,
        next,
        profile,
        reports,
        notes,
        mistakes: Vec::new(),
    }
}

fn judged(
    gate: &'static str,
    standing: GateStatus,
    reason: String,
    evidence: GateEvidence,
    next: Option<&str>,
) -> Option<GateResult> {
    Some(GateResult { gate, standing, reason, evidence, next: next.map(str::to_owned) })
}

fn judge_tests(profile: &GateProfile, measured: &GateMeasurements) -> Option<GateResult> {
    let gate = |standing, reason, evidence, next| judged("tests", standing, reason, evidence, next);
    let Some((tests, evidence)) = measured.tests else {
        let next = "run the tests, and give their counts or the path of their report";
        let reason = "no test results were given".to_owned();
        let unknown = gate(GateStatus::Unknown, reason, GateEvidence::None, Some(next));
        return unknown.filter(|_| profile.tests_required);
    };
    let counted = describe_counts(tests);
    // Also where tests are not required: one that was run and failed is a fact.
    if tests.failed > 0 && profile.tests_must_pass {
        let next = if tests.failed == 1 {
            "fix the failing test or the code it tests"
        } else {
            "fix the failing tests or the code they test"
        };
        return gate(GateStatus::Fail, counted, evidence, Some(next));
    }
    match profile.tests_required {
        false => None,
        true if tests.run == 0 => {
            let next =
                "find out why no test ran: the wrong filter, the wrong folder, or none written";
            gate(
                GateStatus::Unknown,
                "no tests ran, which does not count as a pass".to_owned(),
                evidence,
                Some(next),
            )
        }
        true if tests.passed == 0 && tests.failed == 0 => gate(
            GateStatus::Unknown,
            format!("{counted}: nothing passed"),
            evidence,
            Some("run the tests that were skipped"),
        ),
        // Tests without a result have not passed. Skipped tests do not run, and need no result.
        true if tests.passed.saturating_add(tests.failed) < tests.run => {
            let silent = tests.run - tests.passed.saturating_add(tests.failed);
            let next = "report passed or failed for every test that ran; do not count skipped tests as run";
            gate(
                GateStatus::Unknown,
                format!("{counted}: no result for {silent}"),
                evidence,
                Some(next),
            )
        }
        true => gate(GateStatus::Pass, counted, evidence, None),
    }
}

fn judge_coverage(profile: &GateProfile, measured: &GateMeasurements) -> Option<GateResult> {
    let least = profile.coverage_threshold.filter(|_| profile.coverage_required)?;
    let share = measured.coverage.map(|(share, _)| share).unwrap_or_default();
    let missing = "measure the coverage, and give it or the path of its report";
    let below = format!("add tests for untested code to raise coverage from {share} to {least}");
    judge_number("coverage", "coverage", measured.coverage, least, [missing, &below])
}

fn judge_arch(profile: &GateProfile, measured: &GateMeasurements) -> Option<GateResult> {
    let least = profile.arch_review_threshold.filter(|_| profile.arch_review_required)?;
    let score = measured.arch_score.map(|score| (score, GateEvidence::Claimed));
    let next =
        ["review the architecture, and give its score", "fix what the architecture review found"];
    judge_number("architecture", "the architecture score", score, f64::from(least), next)
}

/// Judges a number by the least that is required; `next` says what to do where it is
/// missing or too low.
fn judge_number<N: Copy + PartialOrd + std::fmt::Display>(
    gate: &'static str,
    subject: &str,
    measured: Option<(N, GateEvidence)>,
    least: N,
    [missing, too_low]: [&str; 2],
) -> Option<GateResult> {
    let (standing, reason, evidence, next) = match measured {
        None => {
            let what = subject.trim_start_matches("the ");
            let reason = format!("no {what} was given; {least} is required");
            (GateStatus::Unknown, reason, GateEvidence::None, Some(missing))
        }
        Some((number, evidence)) if number < least => {
            let reason = format!("{subject} is {number}, below the required {least}");
            (GateStatus::Fail, reason, evidence, Some(too_low))
        }
        Some((number, evidence)) => {
            (GateStatus::Pass, format!("{subject} is {number} ({least} required)"), evidence, None)
        }
    };
    judged(gate, standing, reason, evidence, next)
}

/// A report that was named and cannot be read may hold anything.
fn judge_reports(measured: &GateMeasurements) -> Option<GateResult> {
    (!measured.unread.is_empty()).then(|| GateResult {
        gate: "reports",
        standing: GateStatus::Unknown,
        reason: measured.unread.join("; "),
        evidence: GateEvidence::None,
        next: Some(
            "give the path of an existing report in a supported format, or leave it out".to_owned(),
        ),
    })
}

const WHOLE: u32 = 1_000_000;

/// A share from 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, JsonSchema)]
#[schemars(with = "f64")]
pub struct Percent(u32);

impl Percent {
    /// Reads a share: a fraction up to 1, or a percentage above it.
    #[must_use]
    pub fn read(given: f64) -> Option<Self> {
        match given {
            given if (0.0..=1.0).contains(&given) => Some(Self::rounded(given)),
            given if given > 1.0 && given <= 100.0 => Some(Self::rounded(given / 100.0)),
            _ => None,
        }
    }

    /// `part` of `whole`; none if it is 0.
    #[must_use]
    pub fn of(part: u64, whole: u64) -> Option<Self> {
        let millionths = u128::from(part.min(whole)) * u128::from(WHOLE) / u128::from(whole).max(1);
        (whole > 0).then(|| Self(u32::try_from(millionths).unwrap_or(WHOLE)))
    }

    /// As a fraction.
    #[must_use]
    pub fn fraction(self) -> f64 {
        f64::from(self.0) / f64::from(WHOLE)
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "callers pass fractions from 0 to 1"
    )]
    fn rounded(fraction: f64) -> Self {
        Self((fraction * f64::from(WHOLE)).round() as u32)
    }
}

impl std::fmt::Display for Percent {
    /// At most two decimals, cut and not rounded: what misses a bar never reads
    /// as if it met it.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let hundredths = self.0 / 100;
        let decimals = format!("{:02}", hundredths % 100);
        match decimals.trim_end_matches('0') {
            "" => write!(f, "{}%", hundredths / 100),
            decimals => write!(f, "{}.{decimals}%", hundredths / 100),
        }
    }
}

impl Serialize for Percent {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.fraction())
    }
}

#[cfg(test)]
mod tests {
    use crate::governance::gates::check::*;
    use twining_testcases::each;

    #[test]
    fn a_share_is_shown_as_it_was_meant() {
        let shown = |given| Percent::read(given).map(|percent| percent.to_string());
        each(
            [
                (0.80, "80%"),
                (80.0, "80%"),
                (60.0, "60%"),
                (0.29, "29%"),
                (0.57, "57%"),
                (0.8499, "84.99%"),
                (1.0, "100%"),
                (0.0, "0%"),
                (79.996, "79.99%"),
            ],
            |(given, percent)| {
                assert_eq!(shown(given).as_deref(), Some(percent), "{given}");
            },
        );
        for wrong in [-0.1, 100.5, f64::NAN, f64::INFINITY] {
            assert_eq!(shown(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn eight_of_ten_is_eighty_percent_and_nothing_of_nothing_is_no_share() {
        assert_eq!(Percent::of(8, 10), Percent::read(0.8));
        assert_eq!(Percent::of(0, 0), None);
        assert_eq!(Percent::of(u64::MAX, u64::MAX), Percent::read(1.0));
        assert!(Percent::of(799_999, 1_000_000) < Percent::read(0.8));
    }
}
