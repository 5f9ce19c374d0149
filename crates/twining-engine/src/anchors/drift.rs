//! Drift: what a change of code does to the records on it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use twining_model::{Anchor, AnchoredRecord, DecisionStatus, Id, InvalidInput, Place, Scope};
use twining_store::View;
use twining_store::code::{CodeIndex, CodeVersion};
use twining_store::git::TreeChange;

use crate::anchors::assumed::AnchorLookup;
use crate::anchors::freshness::{CodeState, Judging, seen_definition};
use crate::anchors::lookup::{all_anchors, is_assumed};
use crate::engine::Engine;
use crate::failure::Failure;
use crate::fields;
use crate::sarif::{sarif_log, sarif_result};

/// Findings that are listed.
const MAX_LISTED: usize = 200;
/// How long records from before may be looked up.
const ASSUMING_TIME: Duration = Duration::from_secs(2);

/// Which change to look at.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DriftInput {
    /// Commits to compare, as `A..B`; default: HEAD against the working tree
    pub range: Option<String>,
    /// What is staged, against HEAD
    #[serde(default)]
    pub staged: bool,
}

/// What became of a record's code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DriftKind {
    /// It moved.
    Moved,
    /// It changed so that the record may no longer hold.
    Doubtful,
    /// It is gone.
    Orphaned,
}

impl DriftKind {
    /// The word for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Moved => "moved",
            Self::Doubtful => "doubtful",
            Self::Orphaned => "orphaned",
        }
    }
}

/// A record whose code a change touched.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct DriftFinding {
    /// The record.
    pub id: String,
    /// What it says.
    pub summary: String,
    /// Where its code is, or was.
    pub at: String,
    /// What became of it.
    pub became: DriftKind,
    /// Why, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Where it moved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// Whether it is a decision in force, which somebody must confirm, reconsider or supersede.
    pub binds: bool,
    /// It is from before there were anchors: bound to what its time had.
    #[serde(skip_serializing_if = "fields::is_false")]
    pub assumed: bool,
    /// The commit of the range whose message confirms it: `Twining-Confirms: ID`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confirmed_in: Option<String>,
}

impl DriftFinding {
    /// Whether a decision in force lost its ground, and nobody said that it still holds.
    #[must_use]
    pub fn needs_an_answer(&self) -> bool {
        self.binds && self.became > DriftKind::Moved && self.confirmed_in.is_none()
    }
}

/// What a change does to records.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct DriftOutcome {
    /// What was compared.
    pub compared: String,
    /// Anchors that were looked at.
    pub checked: u64,
    /// Records whose code became doubtful, moved or went, the gravest first.
    pub findings: Vec<DriftFinding>,
    /// Those not listed.
    #[serde(skip_serializing_if = "fields::is_zero")]
    pub omitted_count: u64,
}

impl DriftOutcome {
    /// Whether a decision in force lost its ground, and nobody said that it still holds.
    #[must_use]
    pub fn needs_an_answer(&self) -> bool {
        self.findings.iter().any(DriftFinding::needs_an_answer)
    }
}

/// The rules of a SARIF log: what becomes of a record's code.
const RULES: [(&str, &str); 3] = [
    ("moved", "The code of a record moved"),
    ("doubtful", "The code of a record changed so that the record may no longer hold"),
    ("orphaned", "The code of a record is gone"),
];

/// What a change does to records as a SARIF log.
#[must_use]
pub fn drift_sarif(outcome: &DriftOutcome, version: &str) -> Value {
    let results = outcome.findings.iter().map(|finding| {
        let DriftFinding { id, summary, at, became, reason, to, .. } = finding;
        let (rule, _) = RULES[*became as usize];
        let level = match (finding.needs_an_answer(), became) {
            (true, _) => "error",
            (false, DriftKind::Moved) => "note",
            (false, _) => "warning",
        };
        let to = to.as_ref().map(|to| format!(", moved to `{to}`")).unwrap_or_default();
        let reason = reason.as_ref().map(|reason| format!(" ({reason})")).unwrap_or_default();
        let message = format!("`{at}` is {rule}{to}{reason}; {id} says: {summary}");
        let place = finding.to.as_ref().unwrap_or(at);
        let place = place.parse::<Place>().ok();
        sarif_result(rule, level, &message, place.as_ref().map(Place::path), None)
    });
    sarif_log("twining drift", version, RULES.into_iter(), results)
}

/// Two states of the code.
struct Comparison {
    compared: String,
    before: CodeVersion,
    after: CodeVersion,
    changes: Vec<TreeChange>,
    changed_paths: Vec<String>,
    /// Records that a commit in between confirms, and which.
    confirmed: BTreeMap<String, String>,
    /// Whether records from before are looked up: that takes longer than a hook may.
    with_assumed: bool,
}

impl Engine {
    /// Finds the records whose code a change makes doubtful, moves or removes.
    pub fn drift(&self, input: &DriftInput) -> Result<DriftOutcome, Failure> {
        let code = self.code_here()?;
        self.drift_between(code, Comparison { with_assumed: true, ..Comparison::of(code, input)? })
    }

    /// The same for files of an uncommitted change, or of what is staged, against a commit.
    pub fn drift_of(
        &self,
        before: &str,
        is_staged: bool,
        changed: &[String],
    ) -> Result<Vec<DriftFinding>, Failure> {
        let Some(code) = self.code() else { return Ok(Vec::new()) };
        if changed.is_empty() || !self.store().documents().has_anchors()? {
            return Ok(Vec::new());
        }
        let Some(before) = code.git().resolve_commit(before) else { return Ok(Vec::new()) };
        let comparison = Comparison {
            compared: String::new(),
            before: CodeVersion::Commit(before),
            after: if is_staged { CodeVersion::Staged } else { CodeVersion::Checkout },
            changes: if is_staged { code.git().staged_changes() } else { Vec::new() },
            changed_paths: changed.to_vec(),
            confirmed: BTreeMap::new(),
            with_assumed: false,
        };
        Ok(self.drift_between(code, comparison)?.findings)
    }

    /// The records of a scope whose code the commits since this one made doubtful, moved or
    /// removed.
    pub fn drift_since(&self, commit: &str, scope: &Scope) -> Result<Vec<DriftFinding>, Failure> {
        let Some(code) = self.code() else { return Ok(Vec::new()) };
        if !self.store().documents().has_anchors()? {
            return Ok(Vec::new());
        }
        let range = Some(format!("{commit}..HEAD"));
        let comparison = Comparison::of(code, &DriftInput { range, staged: false })?;
        let mut found = self.drift_between(code, comparison)?.findings;
        let folding = self.store().folding();
        found.retain(|finding| {
            let path = finding.at.split('#').next().unwrap_or_default();
            scope.covers(&Scope::read(path), folding)
        });
        Ok(found)
    }

    fn drift_between(
        &self,
        code: &CodeIndex,
        comparison: Comparison,
    ) -> Result<DriftOutcome, Failure> {
        self.store().view(|view| {
            let mut anchors = all_anchors(view)?;
            anchors.retain(|anchor| comparison.concerns(anchor));
            if comparison.with_assumed {
                let changed: BTreeSet<&String> = comparison.changed_paths.iter().collect();
                let lookup = AnchorLookup::new(Some(code), view, Instant::now() + ASSUMING_TIME);
                for path in changed {
                    anchors.extend(lookup.assumed_in(path)?);
                }
                self.queue_unbound(lookup);
            }
            let mut paths: Vec<String> =
                anchors.iter().map(|anchor| anchor.at.path().to_owned()).collect();
            paths.sort_unstable();
            paths.dedup();
            let before = Judging::at(code, comparison.before.clone(), &paths)?;
            let after = Judging::at(code, comparison.after.clone(), &paths)?;
            let mut findings = Vec::new();
            for anchor in &anchors {
                if let Some(found) = comparison.judge(code, view, anchor, &before, &after)? {
                    findings.push(found);
                }
            }
            findings.sort_by(|a, b| {
                (b.binds, b.became).cmp(&(a.binds, a.became)).then_with(|| a.at.cmp(&b.at))
            });
            let omitted_count = findings.len().saturating_sub(MAX_LISTED) as u64;
            findings.truncate(MAX_LISTED);
            let checked = anchors.len() as u64;
            Ok(DriftOutcome { compared: comparison.compared, checked, findings, omitted_count })
        })
    }
}

impl Comparison {
    fn of(code: &CodeIndex, input: &DriftInput) -> Result<Self, Failure> {
        let git = code.git();
        let head = || git.head().ok_or_else(|| no_commit("HEAD"));
        let paths_of = |changes: &[TreeChange]| {
            let both = changes.iter().flat_map(|change| [&change.before, &change.after]);
            both.flatten().map(|entry| entry.path.clone()).collect::<Vec<_>>()
        };
        match &input.range {
            Some(_) if input.staged => {
                Err(InvalidInput::new("staged", "cannot be combined with a range").into())
            }
            Some(range) => {
                let (from, to) = range.split_once("..").unwrap_or((range, "HEAD"));
                let to = if to.is_empty() { "HEAD" } else { to };
                let commit = |name: &str| git.resolve_commit(name).ok_or_else(|| no_commit(name));
                let (before, after) = (commit(from)?, commit(to)?);
                let changes = git.changes_between(&before, &after);
                Ok(Self {
                    compared: format!("{from}..{to}"),
                    changed_paths: paths_of(&changes),
                    confirmed: git.confirmed_between(&before, &after),
                    before: CodeVersion::Commit(before),
                    after: CodeVersion::Commit(after),
                    changes,
                    with_assumed: false,
                })
            }
            None if input.staged => {
                let changes = git.staged_changes();
                Ok(Self {
                    compared: "HEAD..staged".to_owned(),
                    before: CodeVersion::Commit(head()?),
                    after: CodeVersion::Staged,
                    changed_paths: paths_of(&changes),
                    confirmed: BTreeMap::new(),
                    changes,
                    with_assumed: false,
                })
            }
            None => Ok(Self {
                compared: "HEAD..working tree".to_owned(),
                before: CodeVersion::Commit(head()?),
                after: CodeVersion::Checkout,
                changed_paths: git.uncommitted(),
                confirmed: BTreeMap::new(),
                changes: Vec::new(),
                with_assumed: false,
            }),
        }
    }

    fn concerns(&self, anchor: &Anchor) -> bool {
        self.changed_paths.iter().any(|path| path == anchor.at.path())
    }

    fn judge(
        &self,
        code: &CodeIndex,
        view: &View<'_>,
        anchor: &Anchor,
        before: &Judging<'_>,
        after: &Judging<'_>,
    ) -> Result<Option<DriftFinding>, Failure> {
        let was = before.at_place(anchor, &anchor.at)?;
        // A record made within the range was anchored to what the range made.
        let Some((was, _)) = was else { return Ok(None) };
        let (became, reason, to) = match after.at_place(anchor, &anchor.at)? {
            Some((CodeState::Doubtful, reason)) if was < CodeState::Doubtful => {
                (DriftKind::Doubtful, reason, None)
            }
            Some(_) => return Ok(None),
            None => match self.moved_to(code, anchor)? {
                Some(place) => match after.at_place(anchor, &place)? {
                    Some((CodeState::Doubtful, reason)) => {
                        (DriftKind::Doubtful, reason, Some(place))
                    }
                    _ => (DriftKind::Moved, None, Some(place)),
                },
                None => (DriftKind::Orphaned, None, None),
            },
        };
        let Some((summary, binds)) = described(view, &anchor.of)? else { return Ok(None) };
        Ok(Some(DriftFinding {
            id: anchor.of.id().to_owned(),
            summary,
            at: anchor.at.to_string(),
            became,
            reason,
            to: to.map(|place| place.to_string()),
            binds,
            assumed: is_assumed(anchor),
            confirmed_in: self.confirmed.get(anchor.of.id()).cloned(),
        }))
    }

    fn moved_to(&self, code: &CodeIndex, anchor: &Anchor) -> Result<Option<Place>, Failure> {
        let Some(definition) = seen_definition(code, anchor)? else { return Ok(None) };
        let found = match self.after {
            CodeVersion::Checkout => code.moved_uncommitted(anchor.at.path(), &definition)?,
            _ => code.moved_by(anchor.at.path(), &definition, &self.changes)?,
        };
        Ok(found.and_then(|(path, found)| {
            if found.name.is_empty() {
                Place::file(&path).ok()
            } else {
                Place::definition(&path, &found.name, found.nth).ok()
            }
        }))
    }
}

/// What a record says, and whether it binds; none if it no longer counts.
pub(crate) fn described(
    view: &View<'_>,
    record: &AnchoredRecord,
) -> Result<Option<(String, bool)>, Failure> {
    Ok(match record {
        AnchoredRecord::Decision(id) => match Id::read(id) {
            Some(id) => view.decisions().get(&id)?.and_then(|decision| {
                let binds = decision.status == DecisionStatus::Active;
                decision.status.binds().then_some((decision.summary, binds))
            }),
            None => None,
        },
        AnchoredRecord::Entry(id) => view.entries().get(id)?.map(|entry| (entry.summary, false)),
        other => Some((other.to_string(), false)),
    })
}

fn no_commit(name: &str) -> Failure {
    InvalidInput::new("range", "must name commits of this clone")
        .because(format!("there is no commit `{name}`"))
        .into()
}
