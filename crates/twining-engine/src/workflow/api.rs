//! Where the feature loop meets the store, the working tree and the prompts: the
//! workflow decides, this reads what it decides on.

use std::cell::OnceCell;
use std::path::Path;
use std::time::Instant;

use twining_model::{AnchorRole, AnchoredRecord, EvidenceSource, Scope, limits};
use twining_store::{Documents, Durability, FeatureListFile};

use crate::anchors::{CAPTURE_TIME, CodeNotes, GivenPlace, NamedCode, Rebinding};
use crate::caller::Caller;
use crate::engine::Engine;
use crate::failure::Failure;
use crate::fields;
use crate::governance::turns::{TurnDraft, plan_record};
use crate::governance::{PromptInput, RecordTurnInput, RecordTurnOutcome, UserPolicy};
use crate::secrets::clean;
use crate::workflow::evidence::run_log::file_states;
use crate::workflow::evidence::{
    EvidenceCase, EvidenceVerdict, FileStates, RunLog, judge_evidence,
};
use crate::workflow::feature::{Feature, FeatureStatus};
use crate::workflow::feature_edit::{
    FeatureCounts, FeaturesDraft, FeaturesInput, FeaturesOutcome, ListedFeature, plan_features,
    read_features,
};
use crate::workflow::list::{FeatureList, read_list};
use crate::workflow::next::{NextBrief, NextInput, NextOutcome, NextStep, next, task_text};
use crate::workflow::report::{
    ReportContext, ReportDraft, ReportInput, ReportOutcome, StepRules, accept, plan_report,
};

/// The note that says that a host reports the results of tools.
const POST_TOOL_USE: &str = "shared-post-tool-use";

impl Engine {
    /// Lists features, adds one, or changes one through the rules.
    pub fn features(
        &self,
        caller: &Caller,
        checkout: &Path,
        input: &FeaturesInput,
    ) -> Result<FeaturesOutcome, Failure> {
        let (input, redacted) = clean(input);
        let caller = caller.called(input.agent_id.as_deref())?;
        let draft = FeaturesDraft::parse(&input, self.store().root())?;
        if let FeaturesDraft::List { status, id, limit, offset } = &draft {
            let feature_file = self.store().documents().features()?;
            let mut outcome =
                read_features(&feature_file, *status, id.as_deref(), [*offset, *limit])?;
            let log = RunLog::read(&feature_file.runs);
            self.add_evidence(checkout, &log, &mut outcome.features, id.is_some())?;
            let mut notes = self.code_of_features(outcome.features.iter().map(|it| &it.feature))?;
            for listed in &mut outcome.features {
                listed.code = notes.remove(&AnchoredRecord::Feature(listed.feature.id.clone()));
            }
            return Ok(outcome);
        }
        let rules = self.step_rules()?;
        let bound = match &draft {
            FeaturesDraft::Add { id, .. } | FeaturesDraft::Update { id, .. } => {
                self.rebind_feature(id, &input.files, input.description.as_deref())?
            }
            FeaturesDraft::List { .. } => None,
        };
        let outcome =
            self.store().transact_on(Durability::Strict, Documents::features, |feature_file| {
                let passes = |feature: &Feature| {
                    let log = RunLog::read(&feature_file.runs);
                    let files = states(checkout, feature)?;
                    accept(&EvidenceCase {
                        feature,
                        log: &log,
                        files: &files,
                        needs: rules.tested_needs,
                        given: None,
                        command: None,
                    })
                };
                let stamp = self.stamp(&caller);
                let most = rules.max_test_failures;
                let (mut change, outcome) =
                    plan_features(feature_file, &draft, most, passes, &stamp)?;
                change.anchors.extend(bound.iter().flat_map(|bound| bound.lines(&stamp)));
                Ok::<_, Failure>((change, outcome))
            })?;
        let anchored = bound.iter().flat_map(Rebinding::anchored).collect();
        let unresolved = bound.iter().flat_map(Rebinding::unresolved).collect();
        Ok(FeaturesOutcome { redacted, anchored, unresolved, ..outcome })
    }

    /// How the code of features is, where it is doubtful or worse. Who works on one changes its code.
    fn code_of_features<'f>(
        &self,
        features: impl Iterator<Item = &'f Feature>,
    ) -> Result<CodeNotes, Failure> {
        let idle = features.filter(|feature| feature.status != FeatureStatus::InProgress);
        let records: Vec<AnchoredRecord> =
            idle.map(|feature| AnchoredRecord::Feature(feature.id.clone())).collect();
        self.doubted_code(&records)
    }

    /// Looks up files that are set for a feature; none if there are none.
    fn rebind_feature(
        &self,
        id: &str,
        files: &[String],
        description: Option<&str>,
    ) -> Result<Option<Rebinding>, Failure> {
        let mut named = NamedCode::default();
        for file in fields::paths("files", files, self.store().root())? {
            let place = GivenPlace { path: &file, name: None, lines: None };
            named.add_file(&file, AnchorRole::Affected, &place);
        }
        if named.is_empty() {
            return Ok(None);
        }
        named.text = match description {
            Some(description) => description.to_owned(),
            None => {
                let list = self.feature_list()?.1.unwrap_or_default();
                list.get(id).map(|feature| feature.description.clone()).unwrap_or_default()
            }
        };
        self.rebind(AnchoredRecord::Feature(id.to_owned()), &named, Instant::now() + CAPTURE_TIME)
    }

    /// Adds to features whether they are shown to work; `in_full`, also by which runs.
    fn add_evidence(
        &self,
        checkout: &Path,
        log: &RunLog,
        features: &mut [ListedFeature],
        in_full: bool,
    ) -> Result<(), Failure> {
        let needs = self.tested_needs()?;
        // Features share folders, and each is hashed once.
        let mut known = FileStates::new();
        for listed in features {
            let feature = &listed.feature;
            let is_untouched =
                matches!(feature.status, FeatureStatus::Pending | FeatureStatus::Blocked);
            if is_untouched && !in_full {
                continue;
            }
            let new: Vec<String> = feature
                .watched()
                .filter(|path| !known.contains_key(*path))
                .map(str::to_owned)
                .collect();
            // A folder that is too large to compare is no reason to show no list.
            match file_states(checkout, &new) {
                Ok(states) => known.extend(states),
                Err(failure) if in_full => return Err(failure),
                Err(_) => continue,
            }
            let files = &known;
            let case = EvidenceCase { feature, log, files, needs, given: None, command: None };
            let evidence = case.evidence();
            if in_full {
                (listed.runs, listed.file_states) = (case.run_reports(), case.watched_files());
            }
            listed.evidence = Some(evidence);
        }
        Ok(())
    }

    /// Returns what to do now.
    pub fn next(&self, user: &UserPolicy, input: NextInput) -> Result<NextOutcome, Failure> {
        let feature_file = self.store().documents().features()?;
        let list = read_list(&feature_file)?;
        let next = next(list.as_ref());
        let role = next.action.role();
        let prompt = role
            .filter(|_| input.prompt.unwrap_or(true))
            .map(|role| self.prompt_for(user, role, &next, &feature_file));
        let counts = list.as_ref().map(FeatureCounts::of).unwrap_or_default();
        let problems = next.problems.iter().take(limits::LIST).cloned().collect();
        let code = self.code_of_features(next.feature.into_iter())?.into_values().next();
        Ok(NextOutcome {
            code,
            next: NextBrief::of(&next),
            role,
            details: next.feature.cloned(),
            prompt,
            counts,
            path: feature_file.path,
            auto: self.store().config()?.workflow.auto,
            problems,
        })
    }

    /// Takes a report on a feature; reports and files are read in `checkout`, the caller's working
    /// tree.
    pub fn report(
        &self,
        caller: &Caller,
        checkout: &Path,
        input: &ReportInput,
        context: &ReportContext<'_>,
    ) -> Result<ReportOutcome, Failure> {
        let (input, redacted) = clean(input);
        let caller = caller.called(input.agent_id.as_deref())?;
        let draft = ReportDraft::parse(&input, self.store().root(), self.store().ids().now())?;
        let run = self.reported_run(&caller, checkout, &draft, &input.evidence, context)?;
        let rules = self.step_rules()?;
        let bound = self.rebind_feature(&draft.feature, &draft.files, None)?;
        let bound = bound.map(Rebinding::keeping_all);
        let outcome =
            self.store().transact_on(Durability::Strict, Documents::features, |feature_file| {
                let stamp = self.stamp(&caller);
                let states = |paths: &[String]| file_states(checkout, paths);
                let (mut change, outcome) = plan_report(
                    feature_file,
                    (&draft, run.clone()),
                    rules,
                    context,
                    &stamp,
                    states,
                )?;
                change.anchors.extend(bound.iter().flat_map(|bound| bound.lines(&stamp)));
                Ok::<_, Failure>((change, outcome))
            })?;
        let anchored = bound.iter().flat_map(Rebinding::anchored).collect();
        let unresolved = bound.iter().flat_map(Rebinding::unresolved).collect();
        Ok(ReportOutcome { redacted, anchored, unresolved, ..outcome })
    }

    /// Records a turn. Defined here because the feature list says which features are completed and
    /// prunable.
    pub fn record_turn(
        &self,
        caller: &Caller,
        input: &RecordTurnInput,
    ) -> Result<RecordTurnOutcome, Failure> {
        let (input, redacted) = clean(input);
        let caller = caller.called(input.agent_id.as_deref())?;
        let draft = TurnDraft::parse(&input, self.store().root())?;
        let recorded =
            self.store().transact_on(Durability::Normal, Documents::turns, |feature_file| {
                plan_record(feature_file, &draft, &self.stamp(&caller), || {
                    self.completed_features()
                })
            })?;
        Ok(RecordTurnOutcome { redacted, ..recorded })
    }

    /// The features that are completed by the list; none where it cannot be read.
    fn completed_features(&self) -> Vec<String> {
        let features = self
            .feature_list()
            .ok()
            .and_then(|(_, list)| list)
            .map(|list| list.features)
            .unwrap_or_default();
        let completed = |feature: &Feature| {
            matches!(feature.status, FeatureStatus::Completed | FeatureStatus::Tested)
        };
        features.into_iter().filter(completed).map(|feature| feature.id).collect()
    }

    /// The feature list and its path; none where there is none.
    pub fn feature_list(&self) -> Result<(String, Option<FeatureList>), Failure> {
        let feature_file = self.store().documents().features()?;
        let list = read_list(&feature_file)?;
        Ok((feature_file.path, list))
    }

    /// Reads what proves that features work.
    pub fn proofs(&self) -> Result<FeatureProofs<'_>, Failure> {
        let log = RunLog::read(&self.store().documents().runs()?);
        Ok(FeatureProofs { engine: self, log, needs: self.tested_needs()?, list: OnceCell::new() })
    }

    /// Notes that this project is worked on by a host that reports the results of
    /// tools: from then on `seen` evidence can be asked for.
    pub fn note_post_tool_use(&self) -> Result<(), Failure> {
        if !self.store().local_state().has_note(POST_TOOL_USE)? {
            self.store().local_state().write_note(POST_TOOL_USE, b"{}")?;
        }
        Ok(())
    }

    /// The weakest evidence by which a feature becomes tested.
    pub fn tested_needs(&self) -> Result<EvidenceSource, Failure> {
        let by_host = || {
            if self.store().local_state().has_note(POST_TOOL_USE)? {
                Ok(EvidenceSource::Seen)
            } else {
                Ok(EvidenceSource::Reported)
            }
        };
        self.store().config()?.workflow.tested_needs.map_or_else(by_host, Ok)
    }

    fn step_rules(&self) -> Result<StepRules, Failure> {
        let most = u32::try_from(limits::TEST_FAILURES).unwrap_or(u32::MAX);
        let max_test_failures = self.store().config()?.workflow.max_test_failures.clamp(1, most);
        Ok(StepRules { max_test_failures, tested_needs: self.tested_needs()? })
    }

    /// The brief for a worker: the step, and its role's requirements. A role that cannot be
    /// described does not withhold the step.
    fn prompt_for(
        &self,
        user: &UserPolicy,
        role: &str,
        next: &NextStep<'_>,
        feature_file: &FeatureListFile,
    ) -> String {
        let mut text = task_text(next, &RunLog::read(&feature_file.runs));
        let Some(feature) = next.feature else { return text };
        let root = self.store().root();
        let input = PromptInput {
            role: role.to_owned(),
            feature: Some(feature.id.clone()),
            task: feature.id.clone(),
            task_type: feature.task_type.clone(),
            complexity: feature.complexity,
            turn: Some(u64::from(next.attempt.max(1))),
            scope: feature
                .files
                .first()
                .filter(|file| Scope::parse("scope", file, root).is_ok())
                .cloned(),
        };
        if let Ok(prompt) = self.prompt(user, &input) {
            text.push('\n');
            text.push_str(&prompt.text);
        }
        text
    }
}

/// How a feature's files and tests are now.
fn states(checkout: &Path, feature: &Feature) -> Result<FileStates, Failure> {
    file_states(checkout, &feature.watched().map(str::to_owned).collect::<Vec<_>>())
}

/// Whether features were shown to work, asked while a tool call waits: runs and list
/// are read once.
pub struct FeatureProofs<'e> {
    engine: &'e Engine,
    log: RunLog,
    needs: EvidenceSource,
    list: OnceCell<Result<Option<FeatureList>, String>>,
}

impl FeatureProofs<'_> {
    /// Judges whether the feature of a name was shown to work, on the files as they
    /// are in `checkout`; none where the list has no such feature.
    pub fn of(&self, checkout: &Path, name: &str) -> Result<Option<EvidenceVerdict>, String> {
        let list = self.list.get_or_init(|| {
            self.engine.feature_list().map(|(_, list)| list).map_err(|failure| failure.to_string())
        });
        let list = list.as_ref().map_err(Clone::clone)?;
        let Some(feature) = list.as_ref().and_then(|list| list.named(name)) else {
            return Ok(None);
        };
        let files = states(checkout, feature).map_err(|failure| failure.to_string())?;
        Ok(Some(judge_evidence(feature, &self.log, &files, self.needs)))
    }

    /// The run a feature was found to work by when it was last reported. What happened
    /// to its files, or to other tests, since is no reason to take that back.
    #[must_use]
    pub fn passed(&self, name: &str) -> Option<&str> {
        self.log
            .last_report(name, |_| true)
            .filter(|report| report.outcome == "passed")
            .and_then(|report| report.run.as_deref())
    }
}
