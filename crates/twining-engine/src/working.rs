//! Where the feature loop meets the store, the working tree and the prompts: the
//! workflow decides, this reads what it decides on.

use std::path::Path;

use twining_model::{Refused, Root, Scope, Time, limits, text};
use twining_store::{FeatureShelf, StoreError, disk};

use crate::caller::Caller;
use crate::capturing::{UNCOUNTED, pretended, suites_of};
use crate::engine::Engine;
use crate::failure::Failure;
use crate::governance::{PromptInput, UserPolicy, reports};
use crate::guards::{Place, TestCommand, inside, normal, test_command};
use crate::hygiene::clean;
use crate::workflow::{self, *};

impl Engine {
    /// Lists features, adds one, or changes one through the rules.
    pub fn features(&self, caller: &Caller, checkout: &Path, input: &FeaturesInput) -> Result<FeaturesOutcome, Failure> {
        let (input, redacted) = clean(input);
        let caller = caller.called(input.agent_id.as_deref())?;
        let draft = FeaturesDraft::parse(&input, self.store().root())?;
        if let FeaturesDraft::List { status, id, limit } = &draft {
            return workflow::read_features(&self.store().features()?, *status, id.as_deref(), *limit);
        }
        let most = self.max_test_failures()?;
        let outcome = self.store().transact_features(|shelf| {
            let passes = |feature: &Feature| {
                let remembered = Remembered::read(&shelf.runs);
                let files = file_states(checkout, &paths_at_stake(feature, &remembered))?;
                workflow::accept(feature, &remembered, &files, None).map(|(_, told)| told)
            };
            workflow::plan_features(shelf, &draft, most, passes, &self.stamp(&caller))
        })?;
        Ok(FeaturesOutcome { redacted, ..outcome })
    }

    /// Tells what to do now.
    pub fn next(&self, user: &UserPolicy, input: NextInput) -> Result<NextOutcome, Failure> {
        let shelf = self.store().features()?;
        let list = workflow::list_on(&shelf)?;
        let next = workflow::next(list.as_ref());
        let worker = Worker::of(next.action);
        let prompt = worker.filter(|_| input.prompt.unwrap_or(true)).map(|worker| self.prompt_for(user, worker, &next, &shelf));
        let counts = list.as_ref().map(FeatureCounts::of).unwrap_or_default();
        let problems = next.problems.iter().take(limits::LIST).cloned().collect();
        Ok(NextOutcome {
            next: NextBrief::of(&next),
            role: worker.map(Worker::as_str),
            details: next.feature.cloned(),
            prompt,
            counts,
            path: shelf.path,
            auto: self.store().config()?.workflow.auto,
            problems,
        })
    }

    /// Takes a report on a feature; reports and files are read in `checkout`, the
    /// working tree the caller stands in.
    pub fn report(&self, caller: &Caller, checkout: &Path, input: &ReportInput) -> Result<ReportOutcome, Failure> {
        let (input, redacted) = clean(input);
        let caller = caller.called(input.agent_id.as_deref())?;
        let draft = ReportDraft::parse(&input, self.store().root(), self.store().ids().now())?;
        let run = self.run_of(&caller, checkout, &draft, &input.evidence)?;
        let most = self.max_test_failures()?;
        let outcome = self.store().transact_features(|shelf| {
            let states = |paths: &[String]| file_states(checkout, paths);
            workflow::plan_report(shelf, &draft, run, states, most, &self.stamp(&caller))
        })?;
        Ok(ReportOutcome { redacted, ..outcome })
    }

    /// Remembers a run that somebody saw happen, such as a hook; it then counts as
    /// evidence for every feature whose files did not change since.
    pub fn record_run(&self, run: &Run) -> Result<(), Failure> {
        let change = twining_store::FeatureChange { lines: vec![run.to_line()], ..Default::default() };
        self.store().transact_features(|_| Ok::<_, Failure>((change, ())))
    }

    /// Remembers that a feature was found to work by a run, where a list was edited by
    /// hand to say so and guards let it.
    pub fn remember_passed(&self, caller: &Caller, feature: &str, run: &str) -> Result<(), Failure> {
        let report = AttemptReport {
            at: self.store().ids().now(),
            feature: feature.to_owned(),
            agent: caller.agent.clone(),
            role: "other".to_owned(),
            outcome: "passed".to_owned(),
            summary: "marked in the list".to_owned(),
            run: Some(run.to_owned()),
        };
        let change = twining_store::FeatureChange { lines: vec![report.to_line()], ..Default::default() };
        self.store().transact_features(|_| Ok::<_, Failure>((change, ())))
    }

    /// Remembers that a tool wrote what may be taken for a report of tests or for data:
    /// no run wrote it, until one writes it anew.
    pub fn remember_written(&self, checkout: &Path, path: &str) -> Result<(), Failure> {
        const MAY_SHOW: [&str; 12] =
            [".xml", ".trx", ".tap", ".info", ".lcov", ".json", ".jsonl", ".ndjson", ".csv", ".tsv", ".txt", ".log"];
        if MAY_SHOW.iter().any(|ending| path.ends_with(ending))
            && let Some(state) = disk::state_inside(checkout, path, 1, 0).ok().flatten()
        {
            self.store().add_to_note(BY_HAND, &by_hand(path, state.mtime_ns))?;
        }
        Ok(())
    }

    /// Whether a tool wrote a file as it is now.
    fn is_by_hand(&self, checkout: &Path, path: &str) -> bool {
        let Some(state) = disk::state_inside(checkout, path, 1, 0).ok().flatten() else { return false };
        let line = by_hand(path, state.mtime_ns);
        self.store().note_lines(BY_HAND).unwrap_or_default().contains(&line)
    }

    /// Everything remembered of runs and reports.
    pub fn remembered(&self) -> Result<Remembered, Failure> {
        Ok(Remembered::read(&self.store().features()?.runs))
    }

    /// The feature list and its path; none where there is none.
    pub fn feature_list(&self) -> Result<(String, Option<FeatureList>), Failure> {
        let shelf = self.store().features()?;
        let list = workflow::list_on(&shelf)?;
        Ok((shelf.path, list))
    }

    fn max_test_failures(&self) -> Result<u32, Failure> {
        let most = u32::try_from(limits::TEST_FAILURES).unwrap_or(u32::MAX);
        Ok(self.store().config()?.workflow.max_test_failures.clamp(1, most))
    }

    /// What a worker is told: the step, and what its role demands. A role that
    /// cannot be described is no reason to withhold the step.
    fn prompt_for(&self, user: &UserPolicy, worker: Worker, next: &Next<'_>, shelf: &FeatureShelf) -> String {
        let mut text = workflow::task_text(worker, next, &Remembered::read(&shelf.runs));
        let Some(feature) = next.feature else { return text };
        let root = self.store().root();
        let input = PromptInput {
            role: worker.as_str().to_owned(),
            feature: Some(feature.id.clone()),
            task: feature.id.clone(),
            task_type: feature.task_type.clone().or_else(|| Some("feature".to_owned())),
            complexity: feature.complexity.unwrap_or(5),
            turn: Some(u64::from(next.attempt.max(1))),
            scope: feature.files.first().filter(|file| Scope::parse("scope", file, root).is_ok()).cloned(),
        };
        if let Ok(prompt) = self.prompt(user, &input) {
            text.push('\n');
            text.push_str(&prompt.text);
        }
        text
    }

    /// The run a report speaks of, with what can be checked of it read from disk.
    fn run_of(&self, caller: &Caller, checkout: &Path, draft: &ReportDraft, evidence: &EvidenceInput) -> Result<Option<Run>, Failure> {
        let Some(command) = draft.command.clone() else { return Ok(None) };
        limits::at_most("data", &evidence.data, limits::REPORTS)?;
        let project = &self.store().place().project;
        let now = self.store().ids().now();
        let mut at = draft.finished_at.unwrap_or(now).min(now);
        let read = reports::read(&evidence.reports, checkout, project, self.store().root())?;
        for report in &read {
            at = at.min(written_at(checkout, &report.path).or_else(|| written_at(project, &report.path)).unwrap_or(at));
        }
        let mut data = Vec::new();
        for given in &evidence.data {
            let path = Scope::parse("data", given, &Root::new([checkout]))?.to_string();
            at = at.min(written_at(checkout, &path).unwrap_or(at));
            let problem = match disk::read_inside(checkout, &path, limits::EVIDENCE_BYTES) {
                Ok(None) => Some("is not there".to_owned()),
                Ok(Some(_)) if self.is_by_hand(checkout, &path) => Some(NO_RUN_S.to_owned()),
                Ok(Some(bytes)) => match says(&String::from_utf8_lossy(&bytes), &path) {
                    Says::Something => None,
                    Says::Nothing => Some("is empty: it holds no data".to_owned()),
                    Says::Error => Some("holds an error, and no data".to_owned()),
                },
                // Too large to read is not empty.
                Err(StoreError::Damaged { .. }) => None,
                Err(error) => return Err(error.into()),
            };
            data.push(FileSeen { path, problem });
        }
        let counted = read.iter().filter_map(|report| report.tests).reduce(|a, b| crate::governance::TestCounts {
            run: a.run.saturating_add(b.run),
            passed: a.passed.saturating_add(b.passed),
            failed: a.failed.saturating_add(b.failed),
        });
        let printed = draft.output.as_deref().and_then(counts_in);
        let tests = counted.or(printed).or(draft.claimed);
        let test = test_command(&command);
        let here = checkout.display().to_string();
        let whereabouts = |folder: &str| Some(inside(&here, &normal(&here, folder))).filter(|path| !path.starts_with('/'));
        let void = test.as_ref().and_then(|test| {
            let known =
                TestCommand { places: test.places.iter().filter(|place| **place != Place::Unknown).cloned().collect(), ..test.clone() };
            let is_uncounted = test.is_script && tests.is_none() && data.is_empty() && read.is_empty();
            known.is_elsewhere(&|folder| whereabouts(folder).is_some()).or(is_uncounted.then(|| UNCOUNTED.to_owned()))
        });
        let void = void.or_else(|| pretended(&command, checkout, "").filter(|_| draft.exit_code.is_none_or(|code| code == 0)));
        let suites = test.map(|test| suites_of(&test, checkout, &whereabouts)).unwrap_or_default();
        Ok(Some(Run {
            id: self.store().ids().next().into(),
            at,
            feature: Some(draft.feature.clone()),
            agent: caller.agent.clone(),
            source: RunSource::Reported,
            command: text::excerpt(&command, limits::ELEMENT_BYTES),
            exit_code: draft.exit_code,
            // What is on disk counts over what was printed, and that over what is said.
            tests,
            void,
            suites,
            output: draft.output.as_deref().map(OutputSeen::of),
            reports: read
                .into_iter()
                .map(|report| {
                    let problem = report.problem.or_else(|| self.is_by_hand(checkout, &report.path).then(|| NO_RUN_S.to_owned()));
                    FileSeen { path: report.path, problem }
                })
                .collect(),
            data,
            ..Run::default()
        }))
    }
}

/// The note of files that tools wrote.
const BY_HAND: &str = "written-by-hand";
/// Why such a file shows nothing.
const NO_RUN_S: &str = "was written by hand, and by no run";

fn by_hand(path: &str, mtime_ns: i64) -> String {
    format!("{mtime_ns} {}", path.replace(['\n', '\t'], " "))
}

/// How the paths of a feature are now, in a working tree.
pub fn file_states(checkout: &Path, paths: &[String]) -> Result<FileStates, Failure> {
    let mut states = FileStates::new();
    for path in paths.iter().take(limits::LIST) {
        states.insert(path.clone(), state_of(checkout, path)?);
    }
    Ok(states)
}

fn state_of(checkout: &Path, path: &str) -> Result<Option<FileState>, Failure> {
    // Of a pattern, the folder it looks in.
    let plain = path.find(['*', '?', '[', '{']).map_or(path, |at| path[..at].rfind('/').map_or("", |slash| &path[..slash]));
    let inside = if plain.is_empty() {
        ".".to_owned()
    } else {
        Scope::parse("files", plain, &Root::new([checkout])).map(|s| s.to_string()).unwrap_or_default()
    };
    if inside.is_empty() {
        return Ok(None);
    }
    match disk::state_inside(checkout, &inside, limits::FEATURE_FILES, limits::EVIDENCE_BYTES) {
        Ok(state) => Ok(state.map(|state| FileState { modified: time_of(state.mtime_ns), hash: format!("{:032x}", state.hash) })),
        Err(StoreError::Unsafe { .. }) => Ok(None),
        Err(StoreError::Damaged { what }) => Err(Refused::new("files", "cannot be compared").because(what).into()),
        Err(error) => Err(error.into()),
    }
}

fn written_at(base: &Path, path: &str) -> Option<Time> {
    disk::state_inside(base, path, 1, 0).ok().flatten().map(|state| time_of(state.mtime_ns))
}

fn time_of(ns: i64) -> Time {
    Time::from_ms(ns.div_euclid(1_000_000))
}
