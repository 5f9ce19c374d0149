//! Drift: what a change of code does to the records on it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use twining_model::{AnchoredRecord, DecisionStatus, Id, InvalidInput, Place, Scope};
use twining_store::View;
use twining_store::code::{
    CodeIndex, CodeVersion, DefinitionSearch, MAX_SEARCH_TIME, SeenDefinition,
};
use twining_store::git::TreeChange;

use crate::anchors::changed_anchors::{
    ChangedAnchors, DefinitionPlace, DriftDepth, StandingAnchor,
};
use crate::anchors::freshness::{CodeState, Judging, seen_definition};
use crate::anchors::lookup::{is_assumed, place_of};
use crate::engine::Engine;
use crate::failure::Failure;
use crate::fields;
use crate::sarif::{sarif_log, sarif_result};

/// How long a question looks for where code moved in the change, commit by commit.
const SEARCHING_TIME: Duration = Duration::from_secs(5);
/// The same in an answer about all that changed.
const ANSWERING_TIME: Duration = Duration::from_millis(300);
/// Findings that are listed.
const MAX_LISTED: usize = 200;

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
    /// The commands that settle it; empty if nothing must be done.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub settle: String,
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
    /// Anchors whose code moved, and that were not found in time.
    #[serde(skip_serializing_if = "fields::is_zero")]
    pub unchecked: u64,
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
    changed_paths: BTreeSet<String>,
    /// Records that a commit in between confirms, and which.
    confirmed: BTreeMap<String, String>,
    /// When the search for what moved ends.
    until: Instant,
}

impl Engine {
    /// Finds the records whose code a change makes doubtful, moves or removes.
    pub fn drift(&self, input: &DriftInput) -> Result<DriftOutcome, Failure> {
        let code = self.code_here()?;
        self.drift_between(code, Comparison::of(code, input)?, DriftDepth::Searched)
    }

    /// The same for files of an uncommitted change, or of what is staged, against a commit; without
    /// looking for what moved unnoticed.
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
            changed_paths: changed.iter().cloned().collect(),
            confirmed: BTreeMap::new(),
            until: Instant::now(),
        };
        Ok(self.drift_between(code, comparison, DriftDepth::Known)?.findings)
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
        let comparison = Comparison { until: Instant::now() + ANSWERING_TIME, ..comparison };
        let mut found = self.drift_between(code, comparison, DriftDepth::Known)?.findings;
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
        depth: DriftDepth,
    ) -> Result<DriftOutcome, Failure> {
        self.store().view(|view| {
            let ends = (&comparison.before, &comparison.after);
            let changed = &comparison.changed_paths;
            let (anchors, before) = self.changed_anchors(code, view, ends, changed, depth)?;
            let ChangedAnchors { standing, mut unchecked } = anchors;
            let paths: BTreeSet<&str> =
                standing.iter().map(|standing| standing.place.path()).collect();
            let paths: Vec<String> = paths.into_iter().map(str::to_owned).collect();
            let after = Judging::at(code, comparison.after.clone(), &paths)?;
            let mut findings = Vec::new();
            for anchor in &standing {
                match comparison.judge(code, view, anchor, &before, &after)? {
                    AnchorDrift::Stands => {}
                    AnchorDrift::Found(found) => findings.push(*found),
                    AnchorDrift::Unknown => unchecked += 1,
                }
            }
            findings.sort_by(|a, b| {
                (b.binds, b.became).cmp(&(a.binds, a.became)).then_with(|| a.at.cmp(&b.at))
            });
            let omitted_count = findings.len().saturating_sub(MAX_LISTED) as u64;
            findings.truncate(MAX_LISTED);
            let (compared, checked) = (comparison.compared, standing.len() as u64);
            Ok(DriftOutcome { compared, checked, unchecked, findings, omitted_count })
        })
    }
}

/// What a change does to one anchor.
enum AnchorDrift {
    Stands,
    Found(Box<DriftFinding>),
    /// It is not at its place, and not known to be elsewhere or gone.
    Unknown,
}

impl Comparison {
    fn of(code: &CodeIndex, input: &DriftInput) -> Result<Self, Failure> {
        let git = code.git();
        let until = Instant::now() + SEARCHING_TIME;
        let head = || git.head().ok_or_else(|| no_commit("HEAD"));
        let paths_of = |changes: &[TreeChange]| {
            let both = changes.iter().flat_map(|change| [&change.before, &change.after]);
            both.flatten().map(|entry| entry.path.clone()).collect::<BTreeSet<_>>()
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
                    until,
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
                    until,
                })
            }
            None => Ok(Self {
                compared: "HEAD..working tree".to_owned(),
                before: CodeVersion::Commit(head()?),
                after: CodeVersion::Checkout,
                changed_paths: git.uncommitted().into_iter().collect(),
                confirmed: BTreeMap::new(),
                changes: Vec::new(),
                until,
            }),
        }
    }

    fn judge(
        &self,
        code: &CodeIndex,
        view: &View<'_>,
        standing: &StandingAnchor,
        before: &Judging<'_>,
        after: &Judging<'_>,
    ) -> Result<AnchorDrift, Failure> {
        let StandingAnchor { anchor, place } = standing;
        let Some((was, _)) = before.at_place(anchor, place)? else {
            return Ok(AnchorDrift::Stands);
        };
        let (became, reason, to) = match after.at_place(anchor, place)? {
            Some((CodeState::Doubtful, reason)) if was < CodeState::Doubtful => {
                (DriftKind::Doubtful, reason, None)
            }
            Some(_) => return Ok(AnchorDrift::Stands),
            None => match self.moved_to(code, standing)? {
                DefinitionPlace::At(place) => match after.at_place(anchor, &place)? {
                    Some((CodeState::Doubtful, reason)) => {
                        (DriftKind::Doubtful, reason, Some(place))
                    }
                    _ => (DriftKind::Moved, None, Some(place)),
                },
                DefinitionPlace::Nowhere => (DriftKind::Orphaned, None, None),
                DefinitionPlace::Unknown => return Ok(AnchorDrift::Unknown),
            },
        };
        let Some((summary, binds)) = described(view, &anchor.of)? else {
            return Ok(AnchorDrift::Stands);
        };
        Ok(AnchorDrift::Found(Box::new(DriftFinding {
            id: anchor.of.id().to_owned(),
            summary,
            at: place.to_string(),
            became,
            reason,
            to: to.map(|place| place.to_string()),
            settle: commands_for(&anchor.of, became, &anchor.at),
            binds,
            assumed: is_assumed(anchor),
            // Code that is gone cannot be confirmed.
            confirmed_in: self
                .confirmed
                .get(anchor.of.id())
                .filter(|_| became != DriftKind::Orphaned)
                .cloned(),
        })))
    }

    fn moved_to(
        &self,
        code: &CodeIndex,
        standing: &StandingAnchor,
    ) -> Result<DefinitionPlace, Failure> {
        let StandingAnchor { anchor, place } = standing;
        let Some(mut seen) = seen_definition(code, anchor)? else {
            return Ok(DefinitionPlace::Unknown);
        };
        if *place != anchor.at {
            (seen.name, seen.nth) = (place.name().unwrap_or_default().to_owned(), place.nth());
        }
        let found = match self.after {
            CodeVersion::Checkout => code.moved_uncommitted(place.path(), &seen)?,
            _ => code.moved_by(place.path(), &seen, &self.changes)?,
        };
        if let Some((path, found)) = found {
            return Ok(at_or_nowhere(place_of(&path, &found.name, found.nth)));
        }
        // What changed in several steps is not alike at both ends; commit by commit it is.
        let (CodeVersion::Commit(before), CodeVersion::Commit(after)) = (&self.before, &self.after)
        else {
            return Ok(DefinitionPlace::Nowhere);
        };
        let left = self.until.saturating_duration_since(Instant::now()).min(MAX_SEARCH_TIME);
        let path = place.path().to_owned();
        let seen = SeenDefinition { path, definition: seen, commit: before.clone(), blob: None };
        Ok(match code.find_moved_until(&seen, after, left)? {
            DefinitionSearch::Found { path, name, nth, .. } => {
                at_or_nowhere(place_of(&path, &name, nth))
            }
            DefinitionSearch::Nowhere { .. } => DefinitionPlace::Nowhere,
            DefinitionSearch::Unknown => DefinitionPlace::Unknown,
        })
    }
}

fn at_or_nowhere(place: Option<Place>) -> DefinitionPlace {
    place.map_or(DefinitionPlace::Nowhere, DefinitionPlace::At)
}

/// The commands that settle a record whose code became so.
pub(crate) fn commands_for(record: &AnchoredRecord, became: DriftKind, at: &Place) -> String {
    let id = match record {
        AnchoredRecord::Node(_) | AnchoredRecord::Feature(_) => record.to_string(),
        _ => record.id().to_owned(),
    };
    let given_up = match record {
        AnchoredRecord::Decision(_) => format!("`twining reconsider {id} --why \"…\"` if not"),
        AnchoredRecord::Entry(_) => format!("`twining dismiss {id}` if not"),
        _ => "change what it says if not".to_owned(),
    };
    match became {
        DriftKind::Moved => String::new(),
        DriftKind::Doubtful => format!("`twining confirm {id}` if it still holds, {given_up}"),
        DriftKind::Orphaned => format!(
            "`twining reanchor {id} --at '{at}' --to PATH#NAME` if its code is there now, `--release` in place of `--to` if it holds without it, {given_up}"
        ),
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
    let why = match name.strip_prefix('.') {
        Some(_) => "a range has two dots: `main..HEAD`".to_owned(),
        None => format!("there is no commit `{name}`"),
    };
    InvalidInput::new("range", "must name commits of this clone").because(why).into()
}
