//! How large anything may be. The one place; `docs/reference/limits.md` prints it.
//!
//! Input from an agent beyond a limit is refused by name and nothing is written.
//! Files from elsewhere are read up to the same limits and never trusted to
//! respect them.

use std::borrow::Cow;

/// Characters of a summary.
pub const SUMMARY_CHARS: usize = 200;
/// Bytes of a detail, a rationale, a context: any long text.
pub const TEXT_BYTES: usize = 64 * 1024;
/// Bytes of a short name: agent, domain, entity name, tag owner.
pub const NAME_BYTES: usize = 1024;
/// Tags on one entry.
pub const TAGS: usize = 32;
/// Bytes of one tag.
pub const TAG_BYTES: usize = 64;
/// Elements of any other list: files, symbols, constraints, ids.
pub const LIST: usize = 256;
/// Bytes of one element of such a list.
pub const ELEMENT_BYTES: usize = 1024;
/// Properties of an entity or a relation.
pub const PROPERTIES: usize = 50;
/// Bytes of a property's value.
pub const PROPERTY_BYTES: usize = 1000;
/// Bytes of one tool request, and of one line or record file when reading.
pub const RECORD_BYTES: usize = 1024 * 1024;
/// Bytes of `config.yml`.
pub const CONFIG_BYTES: usize = 64 * 1024;
/// Bytes of a knowledge graph, or of any other DOT file.
pub const KNOWLEDGE_BYTES: usize = 64 * 1024 * 1024;
/// Bytes of each version of a file that a merge driver takes.
pub const MERGE_BYTES: usize = 128 * 1024 * 1024;
/// Bytes of `policy.yml`, the project's and the user's alike.
pub const POLICY_BYTES: usize = 256 * 1024;
/// Bytes of a test or coverage report.
pub const REPORT_BYTES: usize = 64 * 1024 * 1024;
/// Reports one call may name.
pub const REPORTS: usize = 16;
/// Bytes of a feature's or a task's name.
pub const TURN_NAME_BYTES: usize = 64;
/// The highest number a turn may have.
pub const TURN_NUMBER: usize = 9999;
/// Turns kept of a completed feature.
pub const TURNS_OF_FEATURE: usize = 50;
/// Turns kept per project, as far as completed features can be pruned.
pub const TURNS_OF_PROJECT: usize = 200;
/// Bytes of the feature list.
pub const FEATURES_BYTES: usize = 4 * 1024 * 1024;
/// Features of a list.
pub const FEATURES: usize = 10_000;
/// Bytes of recorded runs; the older half is dropped when full.
pub const RUNS_BYTES: usize = 1024 * 1024;
/// Bytes that one report may add to it.
pub const RUN_BYTES: usize = 128 * 1024;
/// Files looked at for one path of a feature.
pub const FEATURE_FILES: usize = 2000;
/// Bytes of a data file given as evidence, and of one of a feature's files that are hashed.
pub const EVIDENCE_BYTES: usize = 16 * 1024 * 1024;
/// Failed tests a project may allow before a feature is blocked.
pub const TEST_FAILURES: usize = 10;
/// Bytes of one trace.
pub const TRACE_BYTES: usize = 16 * 1024;
/// Traces that may wait for the lock; more are let go.
pub const SPOOLED_TRACES: usize = 1000;
/// Bytes of one recorded tool call; the input of a larger one is cut.
pub const CALL_BYTES: usize = 8 * 1024;
/// Bytes of one anchor.
pub const ANCHOR_BYTES: usize = 4 * 1024;
/// Anchors of one record.
pub const ANCHORS: usize = 16;
/// Anchors among them that only the record's text names.
pub const ANCHOR_MENTIONS: usize = 8;
/// Words of the record that an anchor keeps.
pub const ANCHOR_WORDS: usize = 8;
/// Named lines that an anchor keeps.
pub const ANCHOR_LINES: usize = 20;
/// Tool calls that a backtest replays: the newest.
pub const CALLS: usize = 10_000;
/// Bytes of each of the two files that hold recorded tool calls.
pub const CALLS_BYTES: usize = 8 * 1024 * 1024;
/// Minutes a bypass may last.
pub const BYPASS_MINUTES: usize = 24 * 60;
/// Agents in the registry.
pub const AGENTS: usize = 1000;
/// Bytes of the registry, and of what is known of agents on this machine.
pub const AGENTS_BYTES: usize = 4 * 1024 * 1024;
/// Agents whose last call is remembered on this machine.
pub const PRESENCE: usize = 256;
/// Claims that hold at one time.
pub const CLAIMS: usize = 256;
/// Paths of one claim.
pub const CLAIM_PATHS: usize = 64;
/// The longest a claim may hold, in seconds.
pub const CLAIM_SECONDS: usize = 24 * 60 * 60;
/// Results per handoff.
pub const HANDOFF_RESULTS: usize = 64;
/// Handoffs that are looked at, the newest.
pub const HANDOFFS: usize = 200;
/// Nesting of JSON in a request.
pub const JSON_DEPTH: usize = 64;
/// Steps a graph walk may take from its centre.
pub const WALK_DEPTH: usize = 3;
/// Steps a path may have.
pub const PATH_DEPTH: usize = 16;
/// Nodes one walk, trace or path search may visit.
pub const WALK_NODES: usize = 1000;
/// Nodes of one picture.
pub const PICTURE_NODES: usize = 2000;
/// Results one call may ask for.
pub const PAGE: usize = 500;
/// Bytes of one answer.
pub const ANSWER_BYTES: usize = 1024 * 1024;
/// Lines taken from a pending queue at a time.
pub const QUEUE_LINES: usize = 1000;
/// How far ahead of our clock a record's time may lie before it is distrusted.
pub const CLOCK_SKEW_MS: i64 = 5 * 60 * 1000;

/// An input that broke a rule: which field, which rule, and what was given.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{field}` {rule}{given}")]
pub struct InvalidInput {
    /// The input field, as the caller named it.
    pub field: Cow<'static, str>,
    /// The rule, as the end of a sentence that starts with the field.
    pub rule: Cow<'static, str>,
    /// What was given instead, as a clause; may be empty.
    pub given: String,
}

impl InvalidInput {
    /// Refuses `field` by `rule`, which completes the sentence "`field` …".
    pub fn new(field: impl Into<Cow<'static, str>>, rule: impl Into<Cow<'static, str>>) -> Self {
        Self { field: field.into(), rule: rule.into(), given: String::new() }
    }

    /// Adds what was wrong with the value given.
    #[must_use]
    pub fn because(mut self, given: impl std::fmt::Display) -> Self {
        self.given = format!("; {given}");
        self
    }
}

/// Refuses a list longer than `most`.
pub fn at_most<T>(field: &'static str, list: &[T], most: usize) -> Result<(), InvalidInput> {
    if list.len() > most {
        return Err(InvalidInput::new(field, format!("may have at most {most} elements"))
            .because(format!("{} were given", list.len())));
    }
    Ok(())
}
