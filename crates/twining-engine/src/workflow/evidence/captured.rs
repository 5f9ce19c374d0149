//! Runs that the host's hook saw.
//!
//! A command whose output carries a summary of tests ran tests, whatever its line
//! looks like: behind pipes, in a container, in a script. The counts say how it went.

use std::path::Path;

use twining_model::{Change, EvidenceSource, limits, text};
use twining_store::Durability;

use crate::caller::Caller;
use crate::engine::Engine;
use crate::failure::Failure;
use crate::hygiene::redact;
use crate::workflow::evidence::{FileStates, RunLog, TestCommand, TestRun, counts_in};
use crate::workflow::feature::FeatureStatus;
use crate::workflow::files::{file_states, is_there};
use crate::workflow::read_list;
use twining_guard::hosts::ToolResult;

/// The note of the last command that went to the background.
const BACKGROUND: &str = "background-command";
/// Paths whose state is kept with one run.
const MOST_PATHS: usize = 256;

impl TestRun {
    /// What the agent should know at once: why the run will not count.
    #[must_use]
    pub fn notice(&self) -> Option<String> {
        let is_empty = self.tests.is_some_and(|tests| tests.run == 0).then(|| "it ran no test".to_owned());
        let why = self.problem.clone().or(is_empty)?;
        Some(format!("Twining does not count this test run as evidence: {why}."))
    }
}

impl Engine {
    /// Records a command that a host ran, if its output shows that it ran tests; else
    /// none. `cwd` is the folder it began in, from the top of the working tree; none
    /// where that is outside. A command that goes on in the background is remembered:
    /// its output comes later, with an empty `command`.
    pub fn capture_run(
        &self,
        caller: &Caller,
        checkout: &Path,
        cwd: Option<&str>,
        command: &str,
        outcome: &ToolResult,
    ) -> Result<Option<TestRun>, Failure> {
        if outcome.is_unfinished && !command.is_empty() && self.store().exists()? {
            self.store().local_state().leave_note(BACKGROUND, command.as_bytes())?;
        }
        let tests = counts_in(&outcome.output);
        let has_exit_failed = outcome.exit_code.is_some_and(|code| code != 0);
        // A run that was cut off may have failed, and has not passed.
        let is_cut_off = outcome.is_unfinished && tests.is_none_or(|tests| tests.failed == 0);
        if is_cut_off || (tests.is_none() && !has_exit_failed) || !self.store().exists()? {
            return Ok(None);
        }
        let command = match command {
            "" => self
                .store()
                .local_state()
                .note(BACKGROUND)?
                .map_or("a background command".into(), |note| String::from_utf8_lossy(&note).into_owned()),
            command => command.to_owned(),
        };
        let recorded = text::excerpt(&redact(&command).0, limits::ELEMENT_BYTES);
        let line = TestCommand::read(&command, checkout, cwd, &|path| is_there(checkout, path));
        if line.is_read_only || (tests.is_none() && !(line.has_exit_code && self.was_counted(&recorded)?)) {
            return Ok(None);
        }
        self.note_post_tool_use()?;
        let has_passed = tests.is_some_and(|tests| tests.passed > 0 && tests.failed == 0);
        let exit_code = outcome.exit_code.filter(|code| line.has_exit_code || (*code == 0 && has_passed));
        let note = exit_code.filter(|code| *code != 0 && has_passed).map(|code| format!("exit code {code} after all tests passed"));
        let run = TestRun {
            id: self.store().ids().next().into(),
            at: self.store().ids().now(),
            feature: None,
            agent: caller.agent.clone(),
            source: EvidenceSource::Seen,
            problem: line.elsewhere.map(|folder| format!("`{}` ran in {folder}, outside the project", text::excerpt(&recorded, 80))),
            command: recorded,
            exit_code,
            tests,
            selection: line.selection,
            note,
            tree: self.files_in_work(checkout)?,
        };
        let change = || Change { runs: vec![run.to_line()], ..Change::default() };
        self.store().write(Durability::Normal, &change())?;
        Ok(Some(run))
    }

    /// Whether the same command was recorded as a run with counts: if it now ends
    /// without any, its tests were not reached.
    fn was_counted(&self, command: &str) -> Result<bool, Failure> {
        let lines = self.store().documents().runs()?;
        Ok(RunLog::read(&lines).runs.iter().any(|run| run.command == command && run.tests.is_some()))
    }

    /// How the files are of features that somebody may soon call tested.
    fn files_in_work(&self, checkout: &Path) -> Result<FileStates, Failure> {
        // A list that cannot be read has no features; whoever judges by it says so.
        let Ok(Some(list)) = read_list(&self.store().documents().features()?) else { return Ok(FileStates::new()) };
        let is_open = |status: FeatureStatus| matches!(status, FeatureStatus::InProgress | FeatureStatus::Completed);
        let open = list.features.iter().filter(|feature| is_open(feature.status));
        file_states(checkout, &open.flat_map(|feature| feature.watched()).take(MOST_PATHS).map(str::to_owned).collect::<Vec<_>>())
    }
}
