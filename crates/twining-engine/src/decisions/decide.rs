//! Deciding: one change that holds the decision, its links and its announcement.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use twining_guard::ruled_out;
use twining_model::{
    Alternative, Amendment, AnchorEvent, AnchorRole, AnchoredRecord, Authority, Change, CommitLink,
    Confidence, Decision, DecisionStatus, GENERAL_DOMAIN, Id, InvalidInput, ProjectRoot, Scope,
    StatusChange, Time, limits, text,
};
use twining_store::{Durability, StoreError, View};

use crate::anchors::{AnchoredPlace, Captured, GivenPlace, NamedCode, UnresolvedName, beside};
use crate::caller::{Caller, Stamp};
use crate::decisions::commits::{
    LinkCommitDraft, carried_out, commits, may_concern_decisions, plan_link_commit,
};
use crate::decisions::dependencies::{impact, trace};
use crate::decisions::search::search_decisions;
use crate::decisions::search::unreadable;
use crate::decisions::status_change::{
    OverrideDraft, PromoteDraft, in_question, plan_override, plan_promote, plan_reconsider,
};
use crate::decisions::why::{why, why_commit};
use crate::decisions::{announcements, clauses, *};
use crate::engine::Engine;
use crate::failure::Failure;
use crate::fields::is_zero;
use crate::input_types::{CONFIDENCES, alternative_schema};
use crate::secrets::{Redaction, clean, redact_fields};
use crate::{fields, graph};

/// Conflicts that are named one by one; the rest are counted. A decision about
/// the whole project may disagree with every other of its domain.
const CONFLICTS_NAMED: usize = 20;
/// For so long a decision with the same words by the same principal is the same decision.
const REPEATED_WITHIN_MS: i64 = 10 * 60 * 1000;
/// Characters of a rival's reasons in the reply; its file has them whole.
const RATIONALE_SHOWN: usize = 2000;

/// An active decision that the new one disagrees with.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Conflict {
    /// Its id.
    pub id: Id,
    /// Its choice.
    pub summary: String,
    /// What it governs.
    pub scope: String,
    /// Its reasons.
    pub rationale: String,
}

/// What was decided.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct DecideOutcome {
    /// The new decision.
    pub id: Id,
    /// When.
    pub timestamp: String,
    /// Provisional if it is in conflict.
    pub status: DecisionStatus,
    /// Active decisions it disagrees with.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conflicts: Vec<Conflict>,
    /// Further conflicts, not listed.
    #[serde(skip_serializing_if = "is_zero")]
    pub omitted_conflicts: u64,
    /// Libraries and paths it rules out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rules_out: Vec<String>,
    /// The decision it replaced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub superseded: Option<Id>,
    /// What stays ruled out although the new decision drops it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub still_ruled_out: Option<String>,
    /// Secrets redacted before writing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub redacted: Vec<Redaction>,
    /// Code it is anchored to.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub anchored: Vec<AnchoredPlace>,
    /// Code it names that is not there: check the names.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unresolved: Vec<UnresolvedName>,
    /// Other records on the same code, at most 5.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub beside: Vec<String>,
}

/// Plans a decision, and names the active decisions it disagrees with.
pub(super) fn plan_decide(
    view: &View<'_>,
    draft: &Decision,
    code: &Captured,
    elsewhere: &[Id],
    stamp: &Stamp<'_>,
) -> Result<(Change, DecideOutcome), Failure> {
    if let Some(first) = repeated(view, draft, stamp)? {
        return Ok((Change::default(), first));
    }
    let superseded = draft.supersedes.as_deref().and_then(Id::read);
    let old = superseded.map(|id| replaceable(view, &id)).transpose()?;
    let mut change = Change::default();
    let mut decided = record(&mut change, view, draft, elsewhere, stamp)?;
    let of = AnchoredRecord::Decision(decided.id.to_string());
    change.anchors = code.anchors(&of, AnchorEvent::Made, stamp);
    decided.beside = beside(view, &change.anchors)?;
    if let Some(old) = old {
        let dropped =
            change.decisions.last().map(|new| clauses::dropped(&old, new)).unwrap_or_default();
        decided.still_ruled_out = (!dropped.is_empty()).then(|| {
            format!(
                "{} stays ruled out by {} until a person lifts it: `twining override {}`",
                dropped.join(", "),
                old.id,
                old.id
            )
        });
        let mut retired = old.clone();
        supersede(&mut retired, &decided.id, stamp);
        change.amendments.push(amendment(&old, &retired)?);
        announcements::settle(&mut change, view, &[retired], stamp)?;
    }
    Ok((change, decided))
}

/// The decision that a caller over the network made already: they ask again when an answer was
/// lost.
fn repeated(
    view: &View<'_>,
    draft: &Decision,
    stamp: &Stamp<'_>,
) -> Result<Option<DecideOutcome>, StoreError> {
    let Some(principal) = &stamp.caller.origin.principal else { return Ok(None) };
    let recent = view.decisions().touched_since(fields::earlier(stamp.at, REPEATED_WITHIN_MS))?;
    let is_same = |made: &Decision| {
        made.origin.as_ref().and_then(|origin| origin.principal.as_ref()) == Some(principal)
            && made.status <= DecisionStatus::Provisional
            && (&made.domain, &made.scope, &made.summary)
                == (&draft.domain, &draft.scope, &draft.summary)
            && Time::read(&made.timestamp)
                .is_some_and(|at| stamp.at.as_ms() - at.as_ms() < REPEATED_WITHIN_MS)
    };
    Ok(recent.items.into_iter().find(is_same).map(|made| DecideOutcome {
        rules_out: clauses::items_of(&made),
        superseded: made.supersedes.as_deref().and_then(Id::read),
        id: made.id,
        timestamp: made.timestamp,
        status: made.status,
        conflicts: Vec::new(),
        omitted_conflicts: 0,
        still_ruled_out: None,
        redacted: Vec::new(),
        anchored: Vec::new(),
        unresolved: Vec::new(),
        beside: Vec::new(),
    }))
}

/// Adds a decision to a change: the record, its graph links, its announcement,
/// and the warning if it is in conflict. What it supersedes is the caller's to amend, and so are
/// those that go out of force with it, which it does not contradict.
pub(crate) fn record(
    change: &mut Change,
    view: &View<'_>,
    draft: &Decision,
    retired: &[Id],
    stamp: &Stamp<'_>,
) -> Result<DecideOutcome, Failure> {
    for id in draft.depends_on.iter().filter_map(|id| Id::read(id)) {
        if !view.decisions().exists(&id)? {
            return Err(missing(view, "depends_on", &id)?.into());
        }
    }
    let superseded = draft.supersedes.as_deref().and_then(Id::read);
    let mut rivals = view.decisions().rivals(&draft.domain, &Scope::read(&draft.scope))?;
    rivals.retain(|rival| {
        Some(&rival.id) != superseded.as_ref()
            && !retired.contains(&rival.id)
            && fields::fold(&rival.summary) != draft.summary
    });
    rivals.sort_by(|a, b| b.id.cmp(&a.id));
    let omitted = rivals.len().saturating_sub(CONFLICTS_NAMED);
    rivals.truncate(CONFLICTS_NAMED);

    let status =
        if rivals.is_empty() { DecisionStatus::Active } else { DecisionStatus::Provisional };
    let decision = decision(draft, status, stamp);
    // Half of the maximum record size: later amendments need space too.
    fields::fits("decision", &decision, limits::RECORD_BYTES / 2)?;
    graph::link_decision(change, view, &decision, stamp)?;
    announcements::announce(change, &decision, stamp);
    if !rivals.is_empty() {
        announcements::conflict(change, &decision, &rivals, omitted, stamp);
    }
    let decided = DecideOutcome {
        redacted: Vec::new(),
        anchored: Vec::new(),
        unresolved: Vec::new(),
        beside: Vec::new(),
        id: decision.id.clone(),
        timestamp: decision.timestamp.clone(),
        status,
        conflicts: rivals.into_iter().map(conflict).collect(),
        omitted_conflicts: omitted as u64,
        rules_out: clauses::items_of(&decision),
        superseded,
        still_ruled_out: None,
    };
    change.decisions.push(decision);
    Ok(decided)
}

/// Marks a decision as replaced. One that a person rejected stays rejected.
pub(crate) fn supersede(old: &mut Decision, by: &Id, stamp: &Stamp<'_>) {
    old.superseded_by = Some(by.to_string());
    if old.status < DecisionStatus::Superseded {
        move_to(
            old,
            DecisionStatus::Superseded,
            &stamp.caller.agent,
            &format!("superseded by {by}"),
            stamp,
        );
    }
}

/// Completes the draft for recording.
fn decision(draft: &Decision, status: DecisionStatus, stamp: &Stamp<'_>) -> Decision {
    let commits = draft.commit_hashes.iter().map(|hash| CommitLink {
        hash: hash.clone(),
        summary: None,
        linked_at: stamp.at,
        by: None,
    });
    Decision {
        id: stamp.ids.next(),
        timestamp: stamp.at.to_string(),
        agent_id: stamp.caller.agent.clone(),
        status,
        commits: commits.collect(),
        origin: Some(stamp.caller.origin.clone()),
        ..draft.clone()
    }
}

fn conflict(rival: Decision) -> Conflict {
    let rationale = fields::shorten(&rival.rationale, RATIONALE_SHOWN);
    Conflict { id: rival.id, summary: rival.summary, scope: rival.scope, rationale }
}

/// The decision to supersede. One already superseded is refused: two successors of one decision
/// would both be in force, unaware of each other.
fn replaceable(view: &View<'_>, id: &Id) -> Result<Decision, Failure> {
    let Some(old) = view.decisions().get(id)? else {
        return Err(missing(view, "supersedes", id)?.into());
    };
    if old.status != DecisionStatus::Superseded {
        return Ok(old);
    }
    let successor = match &old.superseded_by {
        Some(by) => Some(text::excerpt(by, 40)),
        None => view.decisions().successors(id)?.first().map(Id::to_string),
    };
    let given = match successor {
        Some(by) => format!("it was superseded by {by}; supersede that one"),
        None => format!("`{id}` was superseded already"),
    };
    Err(InvalidInput::new("supersedes", "must name a decision that is not superseded yet")
        .because(given)
        .into())
}

fn missing(view: &View<'_>, field: &'static str, id: &Id) -> Result<InvalidInput, StoreError> {
    let refused = InvalidInput::new(field, "must name a decision that exists");
    Ok(match unreadable(view, id)? {
        Some(bad) => refused.because(format!(
            "the file `{}` exists but cannot be read: {}",
            bad.file,
            text::excerpt(&bad.why, 200)
        )),
        None => refused.because(format!("there is no decision `{id}`")),
    })
}

/// What to decide, as given by the caller.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DecideInput {
    /// The choice in one line, at most 200 characters
    pub summary: String,
    /// architecture, implementation, testing, dependency, api, data, …
    ///
    /// Only decisions of one domain can contradict each other; default: general, which
    /// contradicts nothing
    #[serde(default = "default_domain")]
    pub domain: String,
    /// File, directory, module or `project`
    ///
    /// A path is relative to the project; default: project
    #[serde(default = "default_scope")]
    pub scope: String,
    /// What prompted it
    ///
    /// Default: not given
    #[serde(default = "default_context")]
    pub context: String,
    /// Why this choice
    pub rationale: String,
    /// What limited the options; repeat the flag for more
    #[serde(default)]
    pub constraints: Vec<String>,
    /// Libraries or paths that code in the scope must not use, with commas between
    #[serde(default)]
    pub rules_out: Vec<String>,
    /// An option not taken, as JSON: {"option":…,"reason_rejected":…}
    #[serde(default)]
    #[schemars(extend("items" = alternative_schema()))]
    pub alternatives: Vec<Alternative>,
    /// Decisions it depends on
    #[serde(default)]
    pub depends_on: Vec<String>,
    /// Decision it replaces
    pub supersedes: Option<String>,
    /// How sure you are; default medium
    #[schemars(extend("enum" = CONFIDENCES))]
    pub confidence: Option<String>,
    /// Whether it can be undone; default true
    pub reversible: Option<bool>,
    /// Files it affects, comma-separated; relative to the project
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

fn default_domain() -> String {
    GENERAL_DOMAIN.to_owned()
}

fn default_scope() -> String {
    "project".to_owned()
}

fn default_context() -> String {
    "not given".to_owned()
}

redact_fields!(DecideInput {
    domain,
    scope,
    summary,
    context,
    rationale,
    constraints,
    rules_out,
    alternatives,
    affected_files,
    affected_symbols,
    commit_hash,
    agent_id,
});

/// A decision to be, every rule checked; its id, time, author and status come when it is recorded.
/// Beside it, the code it names.
fn draft_decision(
    input: &DecideInput,
    root: &ProjectRoot,
) -> Result<(Decision, NamedCode), InvalidInput> {
    let mut named = NamedCode {
        symbols: fields::list("affected_symbols", &input.affected_symbols)?,
        text: [&input.summary, &input.context, &input.rationale].map(String::as_str).join("\n"),
        ..NamedCode::default()
    };
    let depends_on = fields::decision_ids("depends_on", &input.depends_on)?;
    let supersedes = fields::optional("supersedes", input.supersedes.as_deref(), fields::id)?;
    let commit_hash = input.commit_hash.as_deref();
    let commit = fields::optional("commit_hash", commit_hash, fields::commit_hash)?;
    let sure = fields::optional("confidence", input.confidence.as_deref(), Confidence::parse)?;
    let affected_files = files(&input.affected_files, root, &mut named)?;
    let scope = GivenPlace::read(&input.scope);
    let place = Scope::parse("scope", scope.path, root)?.to_string();
    named.add_file(&place, AnchorRole::Scope, &scope);
    let decision = Decision {
        domain: text::name("domain", &input.domain)?,
        scope: place,
        summary: text::summary_beside("summary", &input.summary, "context")?,
        context: text::required("context", &input.context)?,
        rationale: text::required("rationale", &input.rationale)?,
        constraints: constraints(input)?,
        alternatives: alternatives(&input.alternatives)?,
        depends_on: depends_on.into_iter().map(String::from).collect(),
        supersedes: supersedes.map(String::from),
        confidence: sure.unwrap_or_default(),
        reversible: input.reversible.unwrap_or(true),
        affected_files,
        affected_symbols: named.symbols.clone(),
        commit_hashes: commit.into_iter().collect(),
        ..Decision::default()
    };
    Ok((decision, named))
}

/// The constraints, and one more for what is ruled out.
fn constraints(input: &DecideInput) -> Result<Vec<String>, InvalidInput> {
    let mut constraints = input.constraints.clone();
    if !input.rules_out.is_empty() {
        let clause = format!("must_not_use: {}", input.rules_out.join(", "));
        if ruled_out(&clause).len() != input.rules_out.len() {
            let is_short = input.rules_out.iter().any(|name| name.trim().len() < 2);
            let rule = if is_short {
                "must have names of at least two characters"
            } else {
                "must name libraries or paths, without spaces"
            };
            return Err(InvalidInput::new("rules_out", rule));
        }
        constraints.push(clause);
    }
    text::list("constraints", &constraints, limits::LIST, limits::ELEMENT_BYTES)
}

fn files(
    given: &[String],
    root: &ProjectRoot,
    named: &mut NamedCode,
) -> Result<Vec<String>, InvalidInput> {
    limits::at_most("affected_files", given, limits::LIST)?;
    let mut scopes: Vec<String> = Vec::with_capacity(given.len());
    for file in given {
        let place = GivenPlace::read(file);
        let file = Scope::parse("affected_files", place.path, root)?.to_string();
        named.add_file(&file, AnchorRole::Affected, &place);
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
            pros: fields::list("alternatives.pros", &alternative.pros)?,
            cons: fields::list("alternatives.cons", &alternative.cons)?,
            reason_rejected: text::required(
                "alternatives.reason_rejected",
                &alternative.reason_rejected,
            )?,
        })
    };
    given.iter().map(check).collect()
}

/// What an amended decision may take: a little less than a reader accepts, since
/// the file keeps its own white space.
const AMENDED_BYTES: usize = limits::RECORD_BYTES / 8 * 7;

/// Moves a decision to another status and notes who, when and why.
pub(crate) fn move_to(
    decision: &mut Decision,
    status: DecisionStatus,
    by: &str,
    reason: &str,
    stamp: &Stamp<'_>,
) {
    decision.status = status;
    decision.history.push(StatusChange {
        at: stamp.at,
        status,
        by: by.to_owned(),
        reason: fields::summary(reason),
    });
}

/// The fields that differ between a decision as it is and as it shall be.
///
/// Refused if the file would outgrow what we read back: an amended decision
/// that no reader takes would be a lost one.
pub(crate) fn amendment(before: &Decision, after: &Decision) -> Result<Amendment, InvalidInput> {
    fields::fits("decision_id", after, AMENDED_BYTES)?;
    let (old, mut set) = (fields(before), fields(after));
    set.retain(|key, value| old.get(key) != Some(value));
    Ok(Amendment::new(before.id.clone(), set))
}

fn fields(decision: &Decision) -> Map<String, Value> {
    match serde_json::to_value(decision) {
        Ok(Value::Object(fields)) => fields,
        _ => unreachable!("a decision must be a JSON object with string keys"),
    }
}

impl Engine {
    /// Records a decision.
    pub fn decide(&self, caller: &Caller, input: &DecideInput) -> Result<DecideOutcome, Failure> {
        let (input, redacted) = clean(input);
        let assembled_before = self.has_assembled(&caller.agent);
        let caller = caller.called(input.agent_id.as_deref())?;
        let (mut draft, named) = draft_decision(&input, self.store().root())?;
        draft.assembled_before = Some(assembled_before || self.has_assembled(&caller.agent));
        let code = self.capture(&named)?;
        let decided = self.store().transact(Durability::Strict, |view| {
            let rivals = view.decisions().rivals(&draft.domain, &Scope::read(&draft.scope))?;
            let elsewhere =
                self.decisions_elsewhere(view, rivals.into_iter().map(|rival| rival.id))?;
            plan_decide(view, &draft, &code, &Vec::from_iter(elsewhere), &self.stamp(&caller))
        })?;
        self.heartbeat(&caller);
        let (anchored, unresolved) = (code.anchored(), code.unresolved);
        Ok(DecideOutcome { redacted, anchored, unresolved, ..decided })
    }

    /// Explains a scope by its decisions.
    pub fn why(&self, input: &WhyInput) -> Result<WhyOutcome, Failure> {
        self.why_through(input, &RenameHistory::default())
    }

    /// The same, under the names that its files had before these moves too.
    pub fn why_through(
        &self,
        input: &WhyInput,
        moves: &RenameHistory,
    ) -> Result<WhyOutcome, Failure> {
        self.search_on_new_index()?;
        let asked = input.scope.as_deref().unwrap_or_default();
        self.search_moved_into(asked)?;
        self.store().view(|view| {
            let mut outcome = why(view, input, self.store().root(), moves)?;
            self.add_code(view, asked, &mut outcome)?;
            Ok(outcome)
        })
    }

    /// Explains a commit by its decisions; `seen` is what git says of it.
    pub fn why_commit(
        &self,
        asked: &str,
        limit: Option<usize>,
        seen: Option<&CommitDetails>,
    ) -> Result<WhyOutcome, Failure> {
        self.store().view(|view| why_commit(view, asked, limit, seen))
    }

    /// Follows a decision's dependencies.
    pub fn trace(&self, input: &TraceInput) -> Result<TraceOutcome, Failure> {
        self.store().view(|view| trace(view, input))
    }

    /// Puts a decision back on the table.
    pub fn reconsider(
        &self,
        caller: &Caller,
        input: &ReconsiderInput,
    ) -> Result<ReconsiderOutcome, Failure> {
        let (input, redacted) = clean(input);
        let caller = caller.called(input.agent_id.as_deref())?;
        let id = fields::id("decision_id", &input.decision_id)?;
        let why = text::required("new_context", &input.new_context)?;
        self.store().outbox().check_not_refused(std::slice::from_ref(&id))?;
        let outcome = self.store().transact(Durability::Strict, |view| {
            plan_reconsider(view, &id, &why, &self.stamp(&caller))
        })?;
        Ok(ReconsiderOutcome { redacted, ..outcome })
    }

    /// Rejects a decision, with the authority the entry point established.
    pub fn override_decision(
        &self,
        caller: &Caller,
        authority: Authority,
        input: &OverrideInput,
    ) -> Result<OverrideOutcome, Failure> {
        let (input, redacted) = clean(input);
        let caller = &caller.called(input.agent_id.as_deref())?;
        let authority = self.believed_authority(authority)?;
        let draft = OverrideDraft::parse(&input, caller, authority)?;
        self.store().outbox().check_not_refused(&draft.rejected())?;
        let outcome = self.store().transact(Durability::Strict, |view| {
            plan_override(view, &draft, &self.stamp(caller))
        })?;
        let hint = self.confirmation_hint(Some(outcome.authority))?;
        Ok(OverrideOutcome { hint, redacted, ..outcome })
    }

    /// The decision that such an override would reject, if a person's word on it is still wanted.
    pub fn override_in_question(&self, input: &OverrideInput) -> Result<Option<Decision>, Failure> {
        let id = fields::id("decision_id", &input.decision_id)?;
        self.store().view(|view| in_question(view, &id))
    }

    /// Puts provisional decisions in force, and overrides those they stand against with the
    /// authority the entry point established.
    pub fn promote(
        &self,
        caller: &Caller,
        authority: Authority,
        input: &PromoteInput,
    ) -> Result<PromoteOutcome, Failure> {
        let (input, redacted) = clean(input);
        let caller = &caller.called(input.agent_id.as_deref())?;
        let authority = self.believed_authority(authority)?;
        let draft = PromoteDraft::parse(&input, caller, authority)?;
        self.store().outbox().check_not_refused(&draft.settled())?;
        let outcome = self
            .store()
            .transact(Durability::Strict, |view| plan_promote(view, &draft, &self.stamp(caller)))?;
        let hint = self.confirmation_hint(outcome.authority)?;
        Ok(PromoteOutcome { hint, redacted, ..outcome })
    }

    /// The decisions that such a promotion would override, if a person's word on it is still
    /// wanted.
    pub fn promotion_in_question(&self, input: &PromoteInput) -> Result<Vec<Decision>, Failure> {
        let ids = fields::decision_ids("instead_of", &input.instead_of)?;
        self.store().view(|view| {
            let decisions = ids.iter().map(|id| in_question(view, id));
            Ok(decisions.collect::<Result<Vec<_>, Failure>>()?.into_iter().flatten().collect())
        })
    }

    /// Searches decisions.
    pub fn search_decisions(
        &self,
        input: &SearchDecisionsInput,
    ) -> Result<SearchDecisionsOutcome, Failure> {
        let text = fields::query("query", &input.query)?;
        let filter = input.filter(self.store().root())?;
        let limit = fields::page("limit", input.limit, 20)?;
        let question = self.question(&text)?;
        self.search_on_new_index()?;
        self.store().view(|view| {
            let mut found = search_decisions(view, &filter, limit, &question)?;
            found.stale_count = self.label_hits(
                view,
                &mut found.results,
                input.fresh_only,
                |hit| AnchoredRecord::Decision(hit.decision.id.to_string()),
                |hit| &mut hit.code,
            )?;
            Ok(found)
        })
    }

    /// Links a commit with the decision it carries out.
    pub fn link_commit(
        &self,
        caller: &Caller,
        input: &LinkCommitInput,
    ) -> Result<LinkCommitOutcome, Failure> {
        let (input, redacted) = clean(input);
        let caller = &caller.called(input.agent_id.as_deref())?;
        let draft = LinkCommitDraft::parse(&input)?;
        let outcome = self.store().transact(Durability::Strict, |view| {
            plan_link_commit(view, &draft, &self.stamp(caller))
        })?;
        Ok(LinkCommitOutcome { redacted, ..outcome })
    }

    /// Links a new commit with the decisions it carries out. `before` returns the time of the
    /// previous commit, and is called only if needed.
    pub fn link_new_commit(
        &self,
        caller: &Caller,
        commit: &CommitDetails,
        before: &dyn Fn() -> Option<Time>,
    ) -> Result<Vec<LinkCommitOutcome>, Failure> {
        // The memory is not even opened for a commit that can concern no decision.
        if !may_concern_decisions(commit) {
            return Ok(Vec::new());
        }
        let found =
            self.store().view::<_, Failure>(|view| Ok(carried_out(view, commit, before)?))?;
        let mut linked = Vec::with_capacity(found.len());
        for (id, by) in found {
            let draft = LinkCommitDraft::seen(id, commit, by)?;
            linked.push(self.store().transact(Durability::Normal, |view| {
                plan_link_commit(view, &draft, &self.stamp(caller))
            })?);
        }
        Ok(linked)
    }

    /// Lists what a commit carries out.
    pub fn commits(&self, input: &CommitsInput) -> Result<CommitsOutcome, Failure> {
        self.store().view(|view| commits(view, input))
    }

    /// Weighs what hangs on a decision.
    pub fn impact(&self, input: &ImpactInput) -> Result<ImpactOutcome, Failure> {
        self.store().view(|view| impact(view, input))
    }
}
