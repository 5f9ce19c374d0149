//! Evidence that a feature works: the test runs that are known, how much each is
//! worth, and which of them decides.
//!
//! A run is told by an agent, seen by the host's hook, or found good by CI. The
//! runner's own counts say how it went, whatever the command line around it; the
//! newest run that covers a feature's tests decides. Nothing here runs a command.

mod captured;
mod counts;
mod judge;
mod line;
mod reported;
mod run;
mod selection;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use twining_model::{EvidenceSource, Time};

use crate::governance::TestCounts;
use crate::words;

pub use counts::counts_in;
pub(crate) use counts::sum;
pub(crate) use judge::{EvidenceCase, judge};
pub use judge::{EvidenceVerdict, judge_evidence};
pub(crate) use line::TestCommand;
pub use run::{AttemptReport, FileState, FileStates, RunLog, TestRun};
pub use selection::TestSelection;

/// The run by which a feature became tested, as its list says.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct VerifiedBy {
    /// Who vouches for the run; a list that does not say has an agent's word.
    pub source: EvidenceSource,
    /// The run's id.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub run: String,
    /// What was run.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub command: String,
    /// How its tests went.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tests: Option<TestCounts>,
    /// When.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<Time>,
    /// What a reviewer should know of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

impl std::fmt::Display for VerifiedBy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.source.as_str())?;
        let tests = self.tests.map(|tests| format!("{} passed", tests.passed));
        let command = (!self.command.is_empty()).then(|| format!("`{}`", words::shorten(&self.command, 60)));
        let parts: Vec<String> = tests.into_iter().chain(command).chain(self.note.clone()).collect();
        if parts.is_empty() { Ok(()) } else { write!(f, ": {}", parts.join(", ")) }
    }
}

/// Whether a word is in a list of words.
fn is_one_of(names: &str, word: &str) -> bool {
    names.split(' ').any(|name| name == word)
}
