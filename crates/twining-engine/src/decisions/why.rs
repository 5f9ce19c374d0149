//! Why: the decisions that bear on a scope, nearest and most binding first.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::Instant;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use twining_model::{
    AnchoredRecord, Confidence, Decision, DecisionStatus, Entry, EntryType, Id, InvalidInput,
    Origin, ProjectRoot, Scope, Time,
};
use twining_store::code::READING_TIME;
pub use twining_store::git::Move;
use twining_store::merge::CLASHES;
use twining_store::{
    DecisionState, EntryFilter, ScopeCounts, ScopedDecision, StoreError, Via, View,
};

use crate::anchors::{self, AnchorLookup, CodeNote, GivenPlace};
use crate::decisions::announcements::is_conflict;
use crate::decisions::clauses;
use crate::decisions::commits::{CommitDetails, decisions_of_commit, linked};
use crate::decisions::search::unreadable_files;
use crate::engine::Engine;
use crate::failure::Failure;
use crate::fields::{self, fit_reply};

/// Contesters that are named; thousands may disagree with one.
const CONTESTERS_NAMED: usize = 5;
/// One part in so many of a page is kept for decisions no longer in force.
const RETIRED_SHARE: usize = 4;
/// Binding decisions beyond the page that are looked at for a contest. Each costs
/// some 40 µs, and a quiet project has to look at all of them on every call.
const LOOKED_AT_BEYOND: usize = 50;
/// Characters shown of another branch's text.
const CLASH_SHOWN: usize = 500;
/// Open warnings that are listed, and that are looked at for it.
const WARNINGS_LISTED: usize = 5;
const WARNINGS_EXAMINED: usize = 40;
/// Unreadable files that are listed.
const UNREADABLE_LISTED: usize = 20;

/// Which scope to explain.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WhyInput {
    /// File, directory, module or symbol; default: the files changed in the working tree
    ///
    /// A path is relative to the project
    pub scope: Option<String>,
    /// The decisions behind this commit instead
    pub commit: Option<String>,
    /// Default 20
    pub limit: Option<usize>,
    /// Superseded and overridden ones too; default true
    pub include_retired: Option<bool>,
}

/// Records bound to code in a file that are listed under another scope, and that are looked at for it.
const BOUND_LISTED: usize = 20;
const BOUND_EXAMINED: usize = 100;

/// A decision that applies to the scope.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct WhyDecision {
    /// Its id.
    pub id: Id,
    /// Its choice.
    pub summary: String,
    /// Its reasons.
    pub rationale: String,
    /// How sure its author is.
    pub confidence: Confidence,
    /// Its status.
    pub status: DecisionStatus,
    /// When it was made.
    pub timestamp: String,
    /// Who made it, self-reported.
    pub agent_id: String,
    /// Who made it, as seen by the server.
    pub origin: Origin,
    /// How many options were not taken.
    pub alternatives_count: u64,
    /// What it governs.
    pub scope: String,
    /// How it relates to the scope: definition, exact, file, moved, symbol, inside, around, project; to a commit: linked, trailer, files.
    pub matched: String,
    /// It is from before there were anchors: bound to the definition by what its time had.
    #[serde(skip_serializing_if = "fields::is_false")]
    pub assumed: bool,
    /// Libraries and paths it rules out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rules_out: Vec<String>,
    /// Commits that carry it out.
    pub commit_hashes: Vec<String>,
    /// What replaced it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub superseded_by: Option<String>,
    /// Why it was rejected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub override_reason: Option<String>,
    /// Decisions in force that disagree with it, listed or not; at most 5.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub contested_by: Vec<Id>,
    /// Where two merged branches disagreed about it; at most 5.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub merge_clashes: Vec<MergeClash>,
    /// How the code it speaks of is now, if there is something to say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<CodeNote>,
}

/// A warning about the scope that nobody answered.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct WhyWarning {
    /// Its id.
    pub id: String,
    /// Its summary.
    pub summary: String,
    /// When.
    pub timestamp: String,
    /// Who warned.
    pub agent_id: String,
    /// How the code it speaks of is now, if there is something to say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<CodeNote>,
}

/// A value dropped when two branches were merged.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct MergeClash {
    /// Which field.
    pub field: String,
    /// The other branch's value.
    pub other: String,
}

/// Differences between two branches' versions of a decision, as the merge left them.
pub(crate) fn clashes_of(decision: &Decision) -> Vec<MergeClash> {
    let listed = decision.extra.get(CLASHES).and_then(Value::as_array).into_iter().flatten();
    let read = |clash: &Value| {
        let other = clash.get("other")?;
        let other = other.as_str().map_or_else(|| other.to_string(), str::to_owned);
        Some(MergeClash {
            field: clash.get("field")?.as_str()?.to_owned(),
            other: fields::shorten(&other, CLASH_SHOWN),
        })
    };
    listed.filter_map(read).take(CONTESTERS_NAMED).collect()
}

/// Decisions that explain a scope.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct WhyOutcome {
    /// Binding ones first, then by nearness, confidence and age.
    pub decisions: Vec<WhyDecision>,
    /// Active ones in all.
    pub active_count: u64,
    /// Provisional ones in all.
    pub provisional_count: u64,
    /// All that apply to the scope.
    pub total_count: u64,
    /// Those not listed.
    pub omitted_count: u64,
    /// Whether decisions that apply to the scope are contested.
    pub contested: bool,
    /// Open warnings about it, newest first, at most 5.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<WhyWarning>,
    /// Decision files that cannot be read, at most 20; what they decided is not listed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unreadable: Vec<String>,
}

/// The decisions that bear on a scope: a ranked page, with what it omits. A file is also looked up
/// under its former names, as far as these moves show.
pub(super) fn why(
    view: &View<'_>,
    input: &WhyInput,
    root: &ProjectRoot,
    moves: &RenameHistory,
) -> Result<WhyOutcome, Failure> {
    let scope = input
        .scope
        .as_deref()
        .ok_or_else(|| InvalidInput::new("scope", "is required unless `commit` is given"))?;
    let place = GivenPlace::read(scope);
    let scope = Scope::parse("scope", place.path, root)?;
    let limit = fields::page("limit", input.limit, 20)?;
    let RankedDecisions { in_force: mut rows, mut retired, bearing } =
        RankedDecisions::of(view, &scope, moves, limit + LOOKED_AT_BEYOND)?;
    if !input.include_retired.unwrap_or(true) {
        retired.clear();
    }
    // However many are in force, some space is reserved for retired ones: an agent would otherwise
    // propose them again.
    retired.truncate(limit.saturating_sub(rows.len()).max(limit / RETIRED_SHARE));
    let beyond = rows.split_off(rows.len().min(limit - retired.len()));
    rows.append(&mut retired);
    let mut listed: Vec<WhyDecision> = Vec::with_capacity(rows.len());
    for row in rows {
        if let Some(decision) = view.decisions().get(&row.id)? {
            let contested_by = contesters(view, &decision)?;
            listed.push(why_decision(word(row.via).to_owned(), decision, contested_by));
        }
    }
    let contested = listed
        .iter()
        .any(|decision| !decision.contested_by.is_empty() || !decision.merge_clashes.is_empty())
        || is_any_contested(view, &beyond)?;
    let (decisions, _) = fit_reply(listed);
    let mut unreadable: Vec<String> =
        unreadable_files(view)?.into_iter().map(|bad| bad.file).collect();
    unreadable.truncate(UNREADABLE_LISTED);
    Ok(WhyOutcome {
        contested,
        active_count: bearing.active,
        provisional_count: bearing.provisional,
        total_count: bearing.total(),
        omitted_count: bearing.total().saturating_sub(decisions.len() as u64),
        decisions,
        warnings: warnings(view, &scope)?,
        unreadable,
    })
}

/// The newest open warnings that are about a scope, or about what is in it.
fn warnings(view: &View<'_>, scope: &Scope) -> Result<Vec<WhyWarning>, StoreError> {
    if *scope == Scope::project() {
        return Ok(Vec::new());
    }
    let filter = EntryFilter {
        types: vec![EntryType::Warning.as_str().to_owned()],
        only_open: true,
        ..EntryFilter::default()
    };
    let mut found = Vec::new();
    for row in view.entries().rows_about(scope, &filter, WARNINGS_EXAMINED)? {
        let entry = view.entries().at_row(row)?;
        // One about the whole project says nothing of this place, and a contradiction is told with
        // the decisions.
        let is_contradiction = is_conflict(&entry);
        if scope.covers(&Scope::read(&entry.scope), view.folding()) && !is_contradiction {
            found.push(why_warning(entry));
        }
    }
    found.truncate(WARNINGS_LISTED);
    Ok(found)
}

impl WhyOutcome {
    /// Adds what bears on another scope, each decision once.
    fn add(&mut self, other: Self) {
        for decision in other.decisions {
            if self.decisions.iter().any(|known| known.id == decision.id) {
                continue;
            }
            match decision.status {
                DecisionStatus::Active => self.active_count += 1,
                DecisionStatus::Provisional => self.provisional_count += 1,
                DecisionStatus::Superseded | DecisionStatus::Overridden => {}
            }
            self.total_count += 1;
            self.decisions.push(decision);
        }
        self.contested |= other.contested;
        for warning in other.warnings {
            if self.warnings.iter().all(|known| known.id != warning.id) {
                self.warnings.push(warning);
            }
        }
        self.warnings.truncate(WARNINGS_LISTED);
        self.unreadable = other.unreadable;
    }
}

impl Engine {
    /// Says how the code under each record is, and puts those first that are anchored to the
    /// definition that was asked for.
    pub(super) fn add_code(
        &self,
        view: &View<'_>,
        asked: &str,
        outcome: &mut WhyOutcome,
    ) -> Result<(), Failure> {
        let path = outcome_path(asked, self.store().root());
        let lookup = AnchorLookup::new(self.code(), view, Instant::now() + READING_TIME)
            .at(self.code_version())?;
        let on_it = match GivenPlace::read(asked).name {
            Some(name) => Some(anchors::records_on(&lookup, &path, name)?),
            None => None,
        };
        add_bound(view, &lookup, &path, on_it.as_ref(), outcome)?;
        if let Some(on_it) = on_it {
            self.queue_unbound(lookup);
            for decision in &mut outcome.decisions {
                if let Some(is_assumed) =
                    on_it.get(&AnchoredRecord::Decision(decision.id.to_string()))
                {
                    decision.matched = "definition".to_owned();
                    decision.assumed = *is_assumed;
                }
            }
            outcome.decisions.sort_by_key(|decision| {
                (!decision.status.binds(), decision.matched != "definition")
            });
            outcome.warnings.sort_by_key(|warning| {
                !on_it.contains_key(&AnchoredRecord::Entry(warning.id.clone()))
            });
        }
        outcome.warnings.truncate(WARNINGS_LISTED);
        let contested = outcome.decisions.iter().filter(|listed| !listed.contested_by.is_empty());
        let both_sides =
            contested.flat_map(|listed| listed.contested_by.iter().chain([&listed.id]).cloned());
        let elsewhere = self.decisions_elsewhere(view, both_sides)?;
        if !elsewhere.is_empty() {
            for listed in &mut outcome.decisions {
                let is_here = !elsewhere.contains(&listed.id);
                listed.contested_by.retain(|rival| is_here && !elsewhere.contains(rival));
            }
            outcome.contested = outcome
                .decisions
                .iter()
                .any(|listed| !listed.contested_by.is_empty() || !listed.merge_clashes.is_empty());
        }
        let decision = |id: &Id| AnchoredRecord::Decision(id.to_string());
        let decided = outcome.decisions.iter().map(|listed| decision(&listed.id));
        let warned =
            outcome.warnings.iter().map(|warning| AnchoredRecord::Entry(warning.id.clone()));
        let mut notes = self.notable_code(view, &decided.chain(warned).collect::<Vec<_>>())?;
        for listed in &mut outcome.decisions {
            listed.code = notes.remove(&decision(&listed.id));
        }
        for warning in &mut outcome.warnings {
            warning.code = notes.remove(&AnchoredRecord::Entry(warning.id.clone()));
        }
        Ok(())
    }

    /// What bears on any of these files, as `input` would ask of each.
    pub fn why_files(
        &self,
        files: &[String],
        input: &WhyInput,
        moves: &RenameHistory,
    ) -> Result<WhyOutcome, Failure> {
        let limit = fields::page("limit", input.limit, 20)?;
        let mut all = WhyOutcome::default();
        for file in files {
            let scope = Some(file.clone());
            all.add(self.why_through(&WhyInput { scope, ..input.clone() }, moves)?);
        }
        all.decisions.sort_by_key(|decision| !decision.status.binds());
        all.decisions.truncate(limit);
        all.decisions = fit_reply(all.decisions).0;
        all.omitted_count = all.total_count.saturating_sub(all.decisions.len() as u64);
        Ok(all)
    }
}

/// Adds what is bound to code in a file under another scope: code moves, and scopes stay. What moved
/// there comes first, as nothing else tells it.
fn add_bound(
    view: &View<'_>,
    lookup: &AnchorLookup<'_>,
    path: &str,
    on_it: Option<&HashMap<AnchoredRecord, bool>>,
    outcome: &mut WhyOutcome,
) -> Result<(), Failure> {
    let written = view.anchors().in_file(path)?.into_iter();
    let written = written.chain(lookup.let_go_elsewhere(path)?).map(|anchor| (anchor, "file"));
    let moved = lookup.moved_into(path)?.into_iter().map(|anchor| (anchor, "moved"));
    let mut bound: Vec<(twining_model::Anchor, &str)> = moved.chain(written).collect();
    let is_on_it = |of: &AnchoredRecord| on_it.is_some_and(|on_it| on_it.contains_key(of));
    bound.sort_by_key(|(anchor, _)| !is_on_it(&anchor.of));
    let decisions = outcome.decisions.iter().map(|listed| listed.id.to_string());
    let warnings = outcome.warnings.iter().map(|listed| listed.id.clone());
    let mut known: HashSet<AnchoredRecord> = decisions
        .map(AnchoredRecord::Decision)
        .chain(warnings.map(AnchoredRecord::Entry))
        .collect();
    bound.retain(|(anchor, _)| known.insert(anchor.of.clone()));
    let (asked, folding) = (Scope::read(path), view.folding());
    let mut listed = 0;
    for (anchor, matched) in bound.into_iter().take(BOUND_EXAMINED) {
        match &anchor.of {
            AnchoredRecord::Decision(id) => {
                let decision = Id::read(id).map(|id| view.decisions().get(&id)).transpose()?;
                let Some(decision) = decision.flatten().filter(|found| found.status.binds()) else {
                    continue;
                };
                let scope = Scope::read(&decision.scope);
                // The page had no room for it, and says so.
                if asked.covers(&scope, folding) && !is_on_it(&anchor.of) {
                    continue;
                }
                if !asked.overlaps(&scope, folding) {
                    match decision.status {
                        DecisionStatus::Active => outcome.active_count += 1,
                        _ => outcome.provisional_count += 1,
                    }
                    outcome.total_count += 1;
                }
                if listed < BOUND_LISTED {
                    listed += 1;
                    let contested_by = contesters(view, &decision)?;
                    let found = why_decision(matched.to_owned(), decision, contested_by);
                    outcome.decisions.push(found);
                }
            }
            AnchoredRecord::Entry(id) => {
                let Some(entry) = view.entries().get(id)? else { continue };
                let is_open = entry.kind() == Some(EntryType::Warning)
                    && view.entries().closers(id)?.is_empty();
                if is_open && !is_conflict(&entry) {
                    outcome.warnings.push(why_warning(entry));
                }
            }
            _ => {}
        }
    }
    outcome.omitted_count = outcome.total_count.saturating_sub(outcome.decisions.len() as u64);
    Ok(())
}

fn why_warning(entry: Entry) -> WhyWarning {
    WhyWarning {
        id: entry.id,
        summary: entry.summary,
        timestamp: entry.timestamp,
        agent_id: entry.agent_id,
        code: None,
    }
}

fn outcome_path(asked: &str, root: &ProjectRoot) -> String {
    let path = GivenPlace::read(asked).path;
    Scope::parse("scope", path, root).map_or_else(|_| path.to_owned(), |scope| scope.to_string())
}

/// What bears on a scope: the nearest of each standing, and how many there are.
struct RankedDecisions {
    in_force: Vec<ScopedDecision>,
    retired: Vec<ScopedDecision>,
    bearing: ScopeCounts,
}

impl RankedDecisions {
    fn of(
        view: &View<'_>,
        scope: &Scope,
        moves: &RenameHistory,
        most: usize,
    ) -> Result<Self, StoreError> {
        let decisions = view.decisions();
        if moves.former_names(scope).is_empty() {
            let [in_force, retired] = [DecisionState::InForce, DecisionState::Retired]
                .map(|standing| decisions.nearest(scope, standing, most));
            return Ok(Self {
                in_force: in_force?,
                retired: retired?,
                bearing: decisions.count_in_scope(scope)?,
            });
        }
        let mut rows = decisions.in_scope(scope)?;
        follow(view, scope, moves, &mut rows)?;
        let bearing = ScopeCounts::of(rows.iter().map(|row| row.status));
        let (mut in_force, mut retired): (Vec<_>, Vec<_>) =
            rows.into_iter().partition(|row| row.status.binds());
        for rows in [&mut in_force, &mut retired] {
            nearest(rows, most);
        }
        Ok(Self { in_force, retired, bearing })
    }
}

/// Adds what was decided of files before they moved here.
fn follow(
    view: &View<'_>,
    scope: &Scope,
    moves: &RenameHistory,
    rows: &mut Vec<ScopedDecision>,
) -> Result<(), StoreError> {
    let mut known: HashSet<Id> = rows.iter().map(|row| row.id.clone()).collect();
    for (former, until) in moves.former_names(scope) {
        for mut row in view.decisions().in_scope(&Scope::read(&former))? {
            // What was decided since is about another file of that name. git counts in seconds.
            let before = row.at.as_ms() / 1000 <= until.as_ms() / 1000;
            let is_about_it = before && matches!(row.via, Via::Exact | Via::File | Via::Around);
            if is_about_it && known.insert(row.id.clone()) {
                row.via = Via::Moved;
                rows.push(row);
            }
        }
    }
    Ok(())
}

/// The decisions behind a commit, in the format used for a scope.
pub(crate) fn why_commit(
    view: &View<'_>,
    asked: &str,
    limit: Option<usize>,
    seen: Option<&CommitDetails>,
) -> Result<WhyOutcome, Failure> {
    let limit = fields::page("limit", limit, 20)?;
    let (_, stored) = linked(view, seen.map_or(asked, |seen| seen.hash.as_str()))?;
    let mut listed = decisions_of_commit(view, stored, seen)?;
    let having = |status: DecisionStatus| {
        listed.iter().filter(|decision| decision.status == status).count() as u64
    };
    let (active_count, provisional_count, total_count) =
        (having(DecisionStatus::Active), having(DecisionStatus::Provisional), listed.len() as u64);
    let contested = listed.iter().any(|decision| !decision.merge_clashes.is_empty());
    listed.truncate(limit);
    let (decisions, _) = fit_reply(listed);
    let omitted_count = total_count - decisions.len() as u64;
    Ok(WhyOutcome {
        decisions,
        active_count,
        provisional_count,
        total_count,
        omitted_count,
        contested,
        warnings: Vec::new(),
        unreadable: Vec::new(),
    })
}

/// Keeps the `limit` rows that matter most, in order.
fn nearest(rows: &mut Vec<ScopedDecision>, limit: usize) {
    if rows.len() > limit {
        rows.select_nth_unstable_by(limit, ScopedDecision::order);
        rows.truncate(limit);
    }
    rows.sort_unstable_by(ScopedDecision::order);
}

pub(super) fn why_decision(
    matched: String,
    decision: Decision,
    contested_by: Vec<Id>,
) -> WhyDecision {
    let merge_clashes = clashes_of(&decision);
    WhyDecision {
        rules_out: clauses::items_of(&decision),
        id: decision.id,
        summary: decision.summary,
        rationale: decision.rationale,
        confidence: decision.confidence,
        status: decision.status,
        timestamp: decision.timestamp,
        agent_id: decision.agent_id,
        origin: Origin { head: None, ..decision.origin.unwrap_or_else(Origin::elsewhere) },
        alternatives_count: decision.alternatives.len() as u64,
        scope: decision.scope,
        matched,
        assumed: false,
        commit_hashes: decision.commit_hashes,
        superseded_by: decision.superseded_by,
        override_reason: decision.override_reason,
        contested_by,
        merge_clashes,
        code: None,
    }
}

/// Decisions that disagree with this one, whatever their scope.
fn contesters(view: &View<'_>, decision: &Decision) -> Result<Vec<Id>, StoreError> {
    let against = contesting(decision.status);
    let mut found = view.decisions().contesters(decision, against, CONTESTERS_NAMED)?;
    found.sort_unstable();
    Ok(found)
}

/// Whether one of these is contested; the first that is ends the search.
fn is_any_contested(view: &View<'_>, rows: &[ScopedDecision]) -> Result<bool, StoreError> {
    for row in rows.iter().filter(|row| row.status.binds()) {
        if let Some(decision) = view.decisions().get(&row.id)?
            && !contesters(view, &decision)?.is_empty()
        {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Statuses that can contest this one. At least one of two decisions that contest each other is
/// active: between provisional ones nothing is settled yet.
pub(crate) fn contesting(status: DecisionStatus) -> &'static [DecisionStatus] {
    match status {
        DecisionStatus::Active => &[DecisionStatus::Active, DecisionStatus::Provisional],
        DecisionStatus::Provisional => &[DecisionStatus::Active],
        DecisionStatus::Superseded | DecisionStatus::Overridden => &[],
    }
}

fn word(via: Via) -> &'static str {
    match via {
        Via::Exact => "exact",
        Via::File => "file",
        Via::Moved => "moved",
        Via::Symbol => "symbol",
        Via::Inside => "inside",
        Via::Around => "around",
        Via::Project => "project",
    }
}

/// Former names of one scope that are followed.
const FORMER: usize = 200;
/// Moves that are remembered; the oldest are forgotten first.
const REMEMBERED: usize = 50_000;

/// Every move up to a commit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RenameHistory {
    /// The commit up to which they are known.
    pub head: String,
    /// Oldest first.
    pub moves: Vec<Move>,
}

impl RenameHistory {
    /// The same with what happened up to `head`.
    #[must_use]
    pub fn up_to(mut self, head: &str, fresh: Vec<Move>) -> Self {
        self.moves.extend(fresh);
        let most = self.moves.len().saturating_sub(REMEMBERED);
        self.moves.drain(..most);
        Self { head: head.to_owned(), moves: self.moves }
    }

    /// What a file, or the files in a directory, were called before, and until when.
    #[must_use]
    pub fn former_names(&self, scope: &Scope) -> Vec<(String, Time)> {
        // Every former name, under what its file is called by now.
        let mut now: HashMap<&str, BTreeMap<&str, Time>> = HashMap::new();
        for Move { at, from, to } in &self.moves {
            let mut names = now.remove(from.as_str()).unwrap_or_default();
            names.insert(from, *at);
            now.entry(to).or_default().extend(names);
        }
        let wanted = scope.as_str().trim_end_matches('/');
        let is_in = |name: &str| {
            name == wanted || name.strip_prefix(wanted).is_some_and(|rest| rest.starts_with('/'))
        };
        let mut found: Vec<(String, Time)> = Vec::new();
        for (_, names) in now.into_iter().filter(|(name, _)| is_in(name)) {
            found.extend(
                names
                    .into_iter()
                    .filter(|(name, _)| !is_in(name))
                    .map(|(name, at)| (name.to_owned(), at)),
            );
        }
        found.sort();
        found.truncate(FORMER);
        found
    }
}

#[cfg(test)]
mod tests {
    use crate::decisions::why::*;

    fn moves(pairs: &[(&str, &str)]) -> RenameHistory {
        let moved = |(at, (from, to)): (i64, &(&str, &str))| Move {
            at: Time::from_ms(at),
            from: (*from).into(),
            to: (*to).into(),
        };
        RenameHistory { head: String::new(), moves: (1..).zip(pairs).map(moved).collect() }
    }

    fn names(moves: &RenameHistory, scope: &str) -> Vec<String> {
        moves.former_names(&Scope::read(scope)).into_iter().map(|(name, _)| name).collect()
    }

    #[test]
    fn a_file_is_followed_through_every_name_it_had() {
        let moves = moves(&[("a.rs", "b.rs"), ("x.rs", "a.rs"), ("b.rs", "src/c.rs")]);
        assert_eq!(names(&moves, "src/c.rs"), ["a.rs", "b.rs"]);
        assert_eq!(names(&moves, "a.rs"), ["x.rs"], "a name that was given to another file");
        assert_eq!(names(&moves, "b.rs"), Vec::<String>::new());
    }

    #[test]
    fn a_directory_that_moved_is_followed_by_its_files() {
        let moves = moves(&[
            ("src/auth/jwt.rs", "src/identity/jwt.rs"),
            ("src/auth/key.rs", "src/identity/key.rs"),
            ("z", "src/identityx"),
        ]);
        assert_eq!(names(&moves, "src/identity/"), ["src/auth/jwt.rs", "src/auth/key.rs"]);
        assert_eq!(names(&moves, "src/"), ["z"], "what moved within it was there before");
    }
}
