//! What guards ask of other rooms. Each has a default that promises nothing.

use crate::governance::policy::Source;
use crate::guards::event::Moment;
use crate::guards::path::Paths;
use crate::guards::rule::{Guard, Kind, Level, Standing, When};

/// Whether a feature's test ran.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Proof {
    /// This run says so.
    Recorded(String),
    /// None does, for this reason.
    Missing(String),
}

/// The workflow's records.
pub trait Evidence {
    /// What proves that a feature works, as of now.
    fn proof_of(&self, feature: &str) -> Proof;
}

/// No records at all, so nothing is proven.
pub struct NoEvidence;

impl Evidence for NoEvidence {
    fn proof_of(&self, _: &str) -> Proof {
        Proof::Missing("no run of its tests is recorded".to_owned())
    }
}

/// A decision or a rule of the knowledge that can be checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clause {
    /// The record's id.
    pub id: String,
    /// Where it holds.
    pub paths: Vec<String>,
    /// What must not be brought in: an import, a path, a word.
    pub must_not_use: Vec<String>,
    /// The record's own words.
    pub say: String,
}

impl Clause {
    pub(crate) fn into_guard(self) -> Result<Guard, String> {
        Ok(Guard {
            next_step: format!("follow {}, or have it reconsidered with twining_reconsider", self.id),
            id: self.id,
            source: Source::DEFAULT,
            action: Level::Block,
            say: self.say,
            on_error: Level::Off,
            standing: Standing::Alive,
            proposed: false,
            origin: None,
            verify: None,
            kind: Kind::Declared,
            moments: vec![Moment::PreToolUse],
            tools: Vec::new(),
            paths: Paths::compile(&self.paths)?,
            except: Paths::compile(&[])?,
            when: When { adds: self.must_not_use, ..When::default() },
            examples: Vec::new(),
        })
    }
}

/// Decisions and knowledge that bind.
pub trait Clauses {
    /// Those in force.
    fn clauses(&self) -> Vec<Clause>;
}

/// None yet.
pub struct NoClauses;

impl Clauses for NoClauses {
    fn clauses(&self) -> Vec<Clause> {
        Vec::new()
    }
}
