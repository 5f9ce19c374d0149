//! A decision in the making: words in, every rule checked, nothing written.

use schemars::JsonSchema;
use serde::Deserialize;
use twining_model::{Alternative, Confidence, Id, InvalidInput, ProjectRoot, Scope, limits, text};

use crate::hygiene::redact_fields;
use crate::input::{CONFIDENCES, alternative_schema};
use crate::words;

/// What to decide, in the caller's words.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DecideInput {
    /// The choice in one line, at most 200 characters
    pub summary: String,
    /// architecture, implementation, testing, dependency, api, data, …
    pub domain: String,
    /// File, directory, module or `project`
    ///
    /// A path is relative to the project
    pub scope: String,
    /// What prompted it
    pub context: String,
    /// Why this choice
    pub rationale: String,
    /// What limited the options; repeat the flag for more
    #[serde(default)]
    pub constraints: Vec<String>,
    /// An option not taken, as JSON: {"option":…,"reason_rejected":…}
    #[serde(default)]
    #[schemars(extend("items" = alternative_schema()))]
    pub alternatives: Vec<Alternative>,
    /// Decisions it rests on
    #[serde(default)]
    pub depends_on: Vec<String>,
    /// Decision it replaces
    pub supersedes: Option<String>,
    /// How sure you are; default medium
    #[schemars(extend("enum" = CONFIDENCES))]
    pub confidence: Option<String>,
    /// Whether it can be undone; default true
    pub reversible: Option<bool>,
    /// Files it affects, with commas between; relative to the project
    #[serde(default)]
    pub affected_files: Vec<String>,
    /// A function or type it affects; repeat the flag for more
    #[serde(default)]
    pub affected_symbols: Vec<String>,
    /// A commit that carries it out
    pub commit_hash: Option<String>,
    /// Your name
    pub agent_id: Option<String>,
}

redact_fields!(DecideInput {
    domain,
    scope,
    summary,
    context,
    rationale,
    constraints,
    alternatives,
    affected_files,
    affected_symbols,
    commit_hash,
    agent_id,
});

/// A decision to be, every rule checked.
#[derive(Clone, Debug, PartialEq)]
pub struct DecisionDraft {
    /// The kind of question.
    pub domain: String,
    /// The part of the project it governs.
    pub scope: Scope,
    /// The choice, in one line.
    pub summary: String,
    /// What prompted it.
    pub context: String,
    /// Why this choice.
    pub rationale: String,
    /// What limited the options.
    pub constraints: Vec<String>,
    /// What was not taken.
    pub alternatives: Vec<Alternative>,
    /// Decisions it rests on.
    pub depends_on: Vec<Id>,
    /// The decision it replaces.
    pub supersedes: Option<Id>,
    /// How sure the author is.
    pub confidence: Confidence,
    /// Whether it can be undone.
    pub reversible: bool,
    /// Files it affects, relative to the project.
    pub affected_files: Vec<String>,
    /// Functions and types it affects.
    pub affected_symbols: Vec<String>,
    /// A commit that carries it out.
    pub commit: Option<String>,
    /// Whether the author had assembled context before; not known for one that
    /// replaces an overridden decision.
    pub assembled_before: Option<bool>,
}

impl DecisionDraft {
    /// Checks every word.
    pub fn parse(input: &DecideInput, root: &ProjectRoot) -> Result<Self, InvalidInput> {
        Ok(Self {
            domain: text::name("domain", &input.domain)?,
            scope: Scope::parse("scope", &input.scope, root)?,
            summary: text::summary("summary", &input.summary)?,
            context: text::required("context", &input.context)?,
            rationale: text::required("rationale", &input.rationale)?,
            constraints: text::list("constraints", &input.constraints, limits::LIST, limits::ELEMENT_BYTES)?,
            alternatives: alternatives(&input.alternatives)?,
            depends_on: words::decision_ids("depends_on", &input.depends_on)?,
            supersedes: input.supersedes.as_deref().map(|id| Id::parse("supersedes", id.trim())).transpose()?,
            confidence: input.confidence.as_deref().map_or(Ok(Confidence::default()), |word| confidence("confidence", word))?,
            reversible: input.reversible.unwrap_or(true),
            affected_files: files(&input.affected_files, root)?,
            affected_symbols: text::list("affected_symbols", &input.affected_symbols, limits::LIST, limits::ELEMENT_BYTES)?,
            commit: input.commit_hash.as_deref().map(|hash| words::commit_hash("commit_hash", hash)).transpose()?,
            assembled_before: None,
        })
    }
}

/// Takes a word for how sure someone is.
pub(crate) fn confidence(field: &'static str, word: &str) -> Result<Confidence, InvalidInput> {
    let known = [Confidence::High, Confidence::Medium, Confidence::Low].map(|c| (c.as_str(), c));
    words::one_of(field, word.trim(), &known)
}

fn files(given: &[String], root: &ProjectRoot) -> Result<Vec<String>, InvalidInput> {
    limits::at_most("affected_files", given, limits::LIST)?;
    let mut scopes: Vec<String> = Vec::with_capacity(given.len());
    for file in given {
        let file = Scope::parse("affected_files", file, root)?.to_string();
        if !scopes.contains(&file) {
            scopes.push(file);
        }
    }
    Ok(scopes)
}

fn alternatives(given: &[Alternative]) -> Result<Vec<Alternative>, InvalidInput> {
    limits::at_most("alternatives", given, limits::LIST)?;
    let check = |alternative: &Alternative| {
        Ok(Alternative {
            option: text::required("alternatives.option", &alternative.option)?,
            pros: text::list("alternatives.pros", &alternative.pros, limits::LIST, limits::ELEMENT_BYTES)?,
            cons: text::list("alternatives.cons", &alternative.cons, limits::LIST, limits::ELEMENT_BYTES)?,
            reason_rejected: text::required("alternatives.reason_rejected", &alternative.reason_rejected)?,
        })
    };
    given.iter().map(check).collect()
}
