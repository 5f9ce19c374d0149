//! Workflow: what is to be built, and what to do now.

use std::path::Path;

use twining_engine::workflow::FeatureStatus;
use twining_engine::{
    Failure, Feature, FeaturesInput, FeaturesOutcome, ListedFeature, NextInput, NextOutcome,
    ReportContext, ReportInput, ReportOutcome, WatchedState,
};
use twining_guard::checks::tests_changed::{compare_files, is_test_file};
use twining_model::limits;
use twining_store::disk;
use twining_store::git::{BranchChanges, Git};

use crate::commands::anchors::{code_line, show_anchors};
use crate::project::CommandContext;
use crate::render::text_page::{
    StyledText, TextPage, bad, dim, good, place, plain, strong, warn, when,
};
use crate::verbs::verb::{Effect, Verb};

impl Verb for FeaturesInput {
    const NAME: &'static str = "features";
    const ABOUT: &'static str = "List, add or update features. A status moves one step at a time; tested needs a recorded run. Prefer twining_report for progress.";
    const EXAMPLE: &'static str = "twining features add F7 --description \"Log out everywhere\" --file src/auth/ --criterion \"old tokens are refused\"";
    const EFFECT: Effect = Effect::Changes;
    const WORDS: &'static [&'static str] = &["action", "id"];
    const DESCRIBED: &'static [&'static str] = &["priority"];

    type Output = FeaturesOutcome;

    fn run(&self, ctx: &CommandContext<'_>) -> Result<FeaturesOutcome, Failure> {
        ctx.engine.features(&ctx.caller, ctx.checkout, self)
    }

    fn effect(&self) -> Effect {
        if matches!(self.action.as_deref(), None | Some("list")) {
            Effect::Reads
        } else {
            Self::EFFECT
        }
    }

    fn show(outcome: &FeaturesOutcome, page: &mut TextPage) {
        if outcome.features.is_empty() {
            page.line([dim("no features")]);
        }
        page.table(0, outcome.features.iter().map(|listed| row(&listed.feature)));
        // Of one that was asked for.
        let is_whole =
            |listed: &&ListedFeature| !listed.runs.is_empty() || !listed.file_states.is_empty();
        outcome.features.iter().filter(is_whole).for_each(|listed| show_evidence(listed, page));
        for listed in &outcome.features {
            if let Some(note) = &listed.code {
                page.line([plain(format!("{}:", listed.feature.id)), dim("its code is")]);
                page.table(4, [code_line(note)]);
            }
        }
        super::rows::truncated_note(
            page,
            outcome.truncated,
            "raise --limit, give --offset, or filter with --status",
        );
        page.line([dim(format!("{} in all", outcome.total)), place(&outcome.path)]);
        outcome.problems.iter().for_each(|problem| page.line([warn("problem:"), plain(problem)]));
        show_anchors(&outcome.anchored, &outcome.unresolved, &[], page);
    }
}

/// What shows that one feature works, or why nothing does.
fn show_evidence(listed: &ListedFeature, page: &mut TextPage) {
    if let Some(evidence) = &listed.evidence {
        page.line([dim("  evidence:"), plain(evidence.state.as_str()), plain(&evidence.because)]);
    }
    let runs = listed.runs.iter().map(|run| {
        let sign = if run.is_evidence { good("counts") } else { bad("does not count") };
        vec![sign, when(&run.at), dim(run.grade.as_str()), place(&run.command), plain(&run.because)]
    });
    super::rows::section(page, "Runs", runs);
    let files = listed.file_states.iter().map(|file| {
        let state = match file.state {
            WatchedState::AsRunSaw => good("as the run saw it"),
            WatchedState::Changed => warn("changed since the run"),
            WatchedState::Missing => bad("missing"),
            WatchedState::NoRun => dim("no run"),
        };
        vec![place(&file.path), state]
    });
    super::rows::section(page, "Files", files);
}

/// How far a feature is, in its colour; of a tested one, by which evidence.
fn standing(feature: &Feature) -> StyledText {
    coloured(feature.status, feature.standing())
}

/// A status in its colour.
fn coloured(status: FeatureStatus, text: impl AsRef<str>) -> StyledText {
    match status {
        FeatureStatus::Tested => good(text),
        FeatureStatus::Blocked => bad(text),
        FeatureStatus::InProgress | FeatureStatus::Completed => warn(text),
        FeatureStatus::Pending => plain(text),
    }
}

fn row(feature: &Feature) -> Vec<StyledText> {
    let waits = if feature.depends_on.is_empty() {
        String::new()
    } else {
        format!("after {}", feature.depends_on.join(", "))
    };
    vec![
        strong(&feature.id),
        standing(feature),
        dim(format!("p{}", feature.priority)),
        dim(waits),
        plain(&feature.description),
    ]
}

impl Verb for NextInput {
    const NAME: &'static str = "next";
    const ABOUT: &'static str = "What to do now in the feature loop: initialize, code, test, resume, blocked or done, with the prompt for that step.";
    const EXAMPLE: &'static str = "twining next";
    const EFFECT: Effect = Effect::Reads;
    const DESCRIBED: &'static [&'static str] = &["prompt"];

    type Output = NextOutcome;

    fn run(&self, ctx: &CommandContext<'_>) -> Result<NextOutcome, Failure> {
        ctx.engine.next(&ctx.user_policy(), *self)
    }

    fn show(outcome: &NextOutcome, page: &mut TextPage) {
        page.line([strong(format!("{}:", outcome.next.say)), dim(&outcome.next.why)]);
        let counts = outcome.counts;
        page.line([dim(format!(
            "{} pending, {} in progress, {} completed, {} tested, {} blocked",
            counts.pending, counts.in_progress, counts.completed, counts.tested, counts.blocked
        ))]);
        if let Some(note) = &outcome.code {
            page.table(2, [code_line(note)]);
        }
        outcome.problems.iter().for_each(|problem| page.line([warn("problem:"), plain(problem)]));
        if let Some(prompt) = &outcome.prompt {
            page.blank();
            page.verbatim(prompt);
        }
    }
}

/// Test files that are compared with their versions before.
const MAX_TEST_FILES: usize = 500;

impl Verb for ReportInput {
    const NAME: &'static str = "report";
    const ABOUT: &'static str = "Report work on a feature; its status moves one step and the reply says what is next. `passed` needs a test run newer than the feature's files, by default one the host's hook saw.";
    const EXAMPLE: &'static str = "twining report F7 --role tester --outcome passed --command \"cargo nextest run\" --exit-code 0 \\
      --report target/nextest/default/junit.xml";
    const EFFECT: Effect = Effect::Changes;
    const WORDS: &'static [&'static str] = &["feature"];
    const DESCRIBED: &'static [&'static str] = &["role", "summary", "evidence", "evidence.output"];

    type Output = ReportOutcome;

    fn run(&self, ctx: &CommandContext<'_>) -> Result<ReportOutcome, Failure> {
        let is_hash =
            |commit: &str| commit.len() >= 7 && commit.bytes().all(|byte| byte.is_ascii_hexdigit());
        let is_ancestor = |commit: &str| is_hash(commit) && ctx.history.is_before(commit, "HEAD");
        let tests_changed = tests_changed(ctx.history, ctx.checkout);
        let context = ReportContext {
            tests_changed: tests_changed.as_deref(),
            is_ancestor: Some(&is_ancestor),
        };
        ctx.engine.report(&ctx.caller, ctx.checkout, self, &context)
    }

    fn show(outcome: &ReportOutcome, page: &mut TextPage) {
        let was = coloured(outcome.was, outcome.was.as_str());
        page.line([strong(&outcome.feature.id), was, dim("->"), standing(&outcome.feature)]);
        if let Some(need) = &outcome.need {
            page.line([warn("need:"), plain(need), dim("asks a person to look at it")]);
        }
        outcome.notes.iter().for_each(|note| page.line([warn("note:"), plain(note)]));
        show_anchors(&outcome.anchored, &outcome.unresolved, &[], page);
        page.line([dim("next:"), plain(format!("{}:", outcome.next.say)), dim(&outcome.next.why)]);
    }
}

/// How tests changed since the base of the work: where the branch left what it follows, else HEAD.
fn tests_changed(history: &Git, checkout: &Path) -> Option<String> {
    let BranchChanges { base, files, .. } = history.branch_changes()?;
    let base = base.unwrap_or_else(|| "HEAD".to_owned());
    let paths: Vec<String> =
        files.into_iter().filter(|path| is_test_file(path)).take(MAX_TEST_FILES).collect();
    let before =
        history.blobs(&paths.iter().map(|path| format!("{base}:./{path}")).collect::<Vec<_>>());
    let before: Vec<Option<String>> =
        before.into_iter().map(|bytes| String::from_utf8(bytes?).ok()).collect();
    let after = |path: &String| {
        let bytes = disk::read_inside(checkout, path, limits::EVIDENCE_BYTES).ok().flatten()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    };
    let after: Vec<Option<String>> = paths.iter().map(after).collect();
    let versions = paths
        .iter()
        .zip(&before)
        .zip(&after)
        .map(|((path, before), after)| (path.as_str(), before.as_deref(), after.as_deref()));
    compare_files(versions).summary()
}
