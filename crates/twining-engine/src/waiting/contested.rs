//! Decisions that a person settles: contested or doubted ones, merge clashes, and overrides that
//! only an agent claims.

use serde_json::{Map, Value, json};
use twining_model::{Decision, DecisionStatus, Id, Time};
use twining_store::{ActiveContest, UnsettledDecision};

use super::answers::{RatedDecision, consequences, href, named, quoted, ruled_out_by};
use super::inbox::{Inbox, Pending};
use super::item::{Gravity, WaitingAnswer, WaitingItem, WaitingKind, WaitingSubject};
use crate::decisions::{
    PERSONS_TOKEN, binding_dependents, clashes_of, contesting, open_claimed_overrides, rests_on_it,
};
use crate::failure::Failure;
use crate::fields;

/// Rivals that an item names.
const RIVALS: usize = 5;
/// Characters of a reason in an item.
const REASON: usize = 600;

impl Inbox<'_> {
    fn decision(self, id: &Id) -> Result<RatedDecision, Failure> {
        let decision = self.view.decisions().get(id)?.ok_or_else(|| Failure::no_decision(id))?;
        let dependents = binding_dependents(self.view, id)?.len();
        Ok(RatedDecision { decision, dependents })
    }

    fn rivals(self, decision: &Decision) -> Result<Vec<Id>, Failure> {
        let against = contesting(decision.status);
        let mut rivals = self.view.decisions().contesters(decision, against, RIVALS)?;
        rivals.sort_unstable();
        Ok(rivals)
    }

    /// Whether a clash is all that is wrong with a decision.
    fn is_only_clashed(self, waiting: &UnsettledDecision) -> Result<bool, Failure> {
        Ok(waiting.is_clashed && self.rivals(&self.decision(&waiting.id)?.decision)?.is_empty())
    }
}

/// Decisions that contradict each other, and those that somebody doubts.
pub(super) fn contested(inbox: Inbox<'_>) -> Result<Vec<Pending<'_>>, Failure> {
    let mut found = Vec::new();
    for waiting in inbox.view.decisions().provisional()? {
        if inbox.is_only_clashed(&waiting)? {
            continue;
        }
        let UnsettledDecision { id, since, scope, .. } = waiting;
        found.push(Pending::new(Some(since), Some(scope), move || {
            let newcomer = inbox.decision(&id)?;
            let rivals = inbox.rivals(&newcomer.decision)?;
            if rivals.is_empty() {
                return Ok(doubted(&newcomer, since));
            }
            let rivals =
                rivals.iter().map(|id| inbox.decision(id)).collect::<Result<Vec<_>, _>>()?;
            Ok(contradiction(&newcomer, &rivals, since))
        }));
    }
    let active = inbox.engine.contests(inbox.view)?.active.clone();
    for contest in inbox.engine.contests_here(inbox.view, active)? {
        let ActiveContest { id, scope, rivals, since } = contest;
        found.push(Pending::new(Some(since), Some(scope), move || {
            let rivals =
                rivals.iter().map(|id| inbox.decision(id)).collect::<Result<Vec<_>, _>>()?;
            Ok(contradiction(&inbox.decision(&id)?, &rivals, since))
        }));
    }
    Ok(found)
}

/// Decisions that two branches changed differently.
pub(super) fn clashed(inbox: Inbox<'_>) -> Result<Vec<Pending<'_>>, Failure> {
    let mut found = Vec::new();
    for waiting in inbox.view.decisions().provisional()? {
        if inbox.is_only_clashed(&waiting)? {
            let UnsettledDecision { id, since, scope, .. } = waiting;
            found.push(Pending::new(Some(since), Some(scope), move || {
                Ok(merge_clash(&inbox.decision(&id)?, since))
            }));
        }
    }
    Ok(found)
}

/// Overrides that only an agent claims.
pub(super) fn claimed_overrides(inbox: Inbox<'_>) -> Result<Vec<Pending<'_>>, Failure> {
    let mut found = Vec::new();
    for UnsettledDecision { id, since, scope, .. } in open_claimed_overrides(inbox.view)? {
        found.push(Pending::new(Some(since), Some(scope), move || {
            let rated = inbox.decision(&id)?;
            let in_force = [DecisionStatus::Active];
            let rivals = inbox.view.decisions().contesters(&rated.decision, &in_force, 1)?;
            let mut item = claimed_override(&rated, !rivals.is_empty(), since);
            if inbox.engine.lacks_persons_token()? {
                // A confirmation would stay a claim, and wait here again.
                item.why_you =
                    format!("{} From here that does not work yet: {PERSONS_TOKEN}.", item.why_you);
                item.answers.remove(0);
            }
            Ok(item)
        }));
    }
    Ok(found)
}

fn subject(rated: &RatedDecision) -> WaitingSubject {
    let decision = &rated.decision;
    WaitingSubject {
        id: decision.id.to_string(),
        summary: decision.summary.clone(),
        detail: Some(fields::shorten(&decision.rationale, REASON)),
        by: Some(decision.agent_id.clone()),
        status: Some(decision.status.as_str().to_owned()),
        rests_on_it: Some(rests_on_it(decision, rated.dependents)),
        href: href("d", decision.id.as_str()),
    }
}

fn item(
    kind: WaitingKind,
    rated: &RatedDecision,
    since: Time,
    title: String,
    why_you: String,
) -> WaitingItem {
    let decision = &rated.decision;
    WaitingItem {
        id: format!("{}:{}", kind.as_str(), decision.id),
        kind,
        title,
        why_you,
        since: Some(since.to_string()),
        scope: Some(decision.scope.clone()),
        by: Some(decision.agent_id.clone()),
        gravity: Gravity::Blocking,
        subjects: vec![subject(rated)],
        answers: Vec::new(),
        href: href("d", decision.id.as_str()),
        settled: None,
    }
}

fn ids(decisions: &[RatedDecision]) -> Vec<&str> {
    decisions.iter().map(|rated| rated.decision.id.as_str()).collect()
}

/// What is said of a contradiction that differs between two and more.
struct ContradictionTexts {
    title: String,
    state: String,
    keep: String,
    stay: String,
    go: String,
    keep_all: &'static str,
    kept: String,
    write: &'static str,
    all_go: &'static str,
}

impl ContradictionTexts {
    fn of_two(new: &Decision, old: &Decision) -> Self {
        let old_words = quoted(&old.summary);
        Self {
            title: format!("{} ⇄ {}", new.summary, old.summary),
            state: match new.status {
                DecisionStatus::Provisional => {
                    format!("{old_words} is in force; the other contradicts it and is not")
                }
                _ => format!("Both are in force in {} and contradict each other", new.scope),
            },
            keep: named("Keep", &old.summary),
            stay: format!("{old_words} stays in force"),
            go: format!("{old_words} is overridden"),
            keep_all: "Keep both",
            kept: "Both are in force and no longer shown as contradicting each other.".to_owned(),
            write: "Write a third",
            all_go: "Both are overridden",
        }
    }

    fn of_more(new: &Decision, rivals: &[RatedDecision]) -> Self {
        let (words, others, all) = (quoted(&new.summary), rivals.len(), rivals.len() + 1);
        let first = &rivals[0].decision.summary;
        Self {
            title: format!("{} ⇄ {first} and {} more", new.summary, others - 1),
            state: match new.status {
                DecisionStatus::Provisional => format!(
                    "{others} decisions are in force; {words} contradicts each of them and is not"
                ),
                _ => format!(
                    "{all} decisions are in force in {}; {words} contradicts each of the others",
                    new.scope
                ),
            },
            keep: "Keep the others".to_owned(),
            stay: format!("the {others} others stay in force"),
            go: format!("{others} decisions are overridden"),
            keep_all: "Keep all",
            kept: format!(
                "All {all} are in force, and {words} is no longer shown as contradicting the others."
            ),
            write: "Write a new one",
            all_go: "All of them are overridden",
        }
    }
}

/// A newcomer, provisional or of another branch, against what is in force.
fn contradiction(newcomer: &RatedDecision, rivals: &[RatedDecision], since: Time) -> WaitingItem {
    let (new, old) = (&newcomer.decision, &rivals[0].decision);
    let texts = match rivals {
        [_] => ContradictionTexts::of_two(new, old),
        _ => ContradictionTexts::of_more(new, rivals),
    };
    let clash = if clashes_of(new).is_empty() {
        ""
    } else {
        " Two branches also changed the new one differently."
    };
    let why_you = format!("{}. Only a person can settle that.{clash}", texts.state);
    let mut item = item(WaitingKind::Contested, newcomer, since, texts.title, why_you);
    item.subjects.extend(rivals.iter().map(subject));
    let new_words = quoted(&new.summary);
    let both: Vec<&RatedDecision> = std::iter::once(newcomer).chain(rivals).collect();
    let all: Vec<&RatedDecision> = rivals.iter().collect();
    let losers = ids(rivals);
    let also = [&[new.id.as_str()], &losers[1..]].concat();
    item.answers = vec![
        WaitingAnswer::call(
            texts.keep,
            "override",
            json!({"decision_id": new.id}),
            format!("{new_words} is overridden; {}.{}", texts.stay, consequences(&[newcomer])),
        )
        .because("reason")
        .by_name(),
        WaitingAnswer::call(
            named("Take", &new.summary),
            "promote",
            json!({"decision_ids": [new.id], "instead_of": losers}),
            format!(
                "{}; {new_words} is in force.{}{}",
                texts.go,
                consequences(&all),
                ruled_out_by(new)
            ),
        )
        .because("reason")
        .by_name(),
        WaitingAnswer::call(
            texts.keep_all,
            "promote",
            json!({"decision_ids": [new.id]}),
            texts.kept,
        )
        .because("reason"),
        WaitingAnswer::call(
            texts.write,
            "override",
            json!({"decision_id": old.id, "also": also}),
            format!(
                "{}; what you write is in force in {}.{}",
                texts.all_go,
                old.scope,
                consequences(&both)
            ),
        )
        .saying("new_decision")
        .and_because(
            "reason",
            "a new decision takes the place of those that contradicted each other",
        )
        .by_name(),
    ];
    item
}

/// A provisional decision that nothing in force contradicts: somebody doubts it.
fn doubted(rated: &RatedDecision, since: Time) -> WaitingItem {
    let decision = &rated.decision;
    let doubt = decision.history.iter().rev().find(|it| it.status == DecisionStatus::Provisional);
    let why_you = match doubt {
        Some(doubt) => format!(
            "{} doubts it: {}; it is provisional until a person decides.",
            doubt.by, doubt.reason
        ),
        None => "It is provisional, and nothing contradicts it any more; a person decides whether it holds."
            .to_owned(),
    };
    let title = format!("Reconsider: {}", decision.summary);
    let mut item = item(WaitingKind::Contested, rated, since, title, why_you);
    item.by = doubt.map(|doubt| doubt.by.clone()).or(item.by);
    item.answers = keep_or_reject(rated, "Keep it");
    item
}

fn merge_clash(rated: &RatedDecision, since: Time) -> WaitingItem {
    let decision = &rated.decision;
    let clashes = clashes_of(decision);
    let names: Vec<&str> = clashes.iter().map(|clash| clash.field.as_str()).collect();
    let why_you = format!(
        "Two branches gave it a different {}; one text was kept until a person settles it.",
        names.join(", ")
    );
    let title = format!("Merged differently: {}", decision.summary);
    let mut item = item(WaitingKind::MergeClash, rated, since, title, why_you);
    item.subjects[0].detail = Some(fields::shorten(&decision.rationale, REASON));
    item.subjects.extend(clashes.iter().map(|clash| WaitingSubject {
        id: decision.id.to_string(),
        summary: clash.other.clone(),
        detail: Some(format!("the other branch's {}", clash.field)),
        by: None,
        status: None,
        rests_on_it: None,
        href: href("d", decision.id.as_str()),
    }));
    item.answers = keep_or_reject(rated, "Keep this text");
    item
}

fn keep_or_reject(rated: &RatedDecision, keep: &str) -> Vec<WaitingAnswer> {
    let (id, words) = (&rated.decision.id, quoted(&rated.decision.summary));
    let after = consequences(&[rated]);
    vec![
        WaitingAnswer::call(
            keep,
            "promote",
            json!({"decision_ids": [id]}),
            format!("{words} is in force as it is."),
        )
        .because("reason"),
        WaitingAnswer::call(
            "Reject it",
            "override",
            json!({"decision_id": id}),
            format!("{words} is overridden and no longer binds.{after}"),
        )
        .because("reason")
        .by_name(),
        WaitingAnswer::call(
            "Replace it",
            "override",
            json!({"decision_id": id}),
            format!("{words} is overridden; what you write is in force in its place.{after}"),
        )
        .saying("new_decision")
        .and_because("reason", "it is replaced")
        .by_name(),
    ]
}

fn claimed_override(rated: &RatedDecision, is_contested: bool, since: Time) -> WaitingItem {
    let decision = &rated.decision;
    let by = decision.overridden_by.as_deref().unwrap_or("somebody");
    let reason = decision.override_reason.clone().filter(|reason| !reason.trim().is_empty());
    let reason_given = reason.clone().unwrap_or_else(|| "no reason".to_owned());
    let why_you = format!(
        "An agent says that {by} wants this: {reason_given}. Until a person confirms it, no guard is lifted."
    );
    let title = format!("Override to confirm: {}", decision.summary);
    let mut item = item(WaitingKind::ClaimedOverride, rated, since, title, why_you);
    let words = quoted(&decision.summary);
    let confirm = WaitingAnswer::call(
        "Confirm the override",
        "override",
        json!({"decision_id": decision.id}),
        format!("{words} is overridden by you.{}", consequences(&[rated])),
    );
    let confirm = match reason {
        Some(reason) => {
            let mut confirm = confirm;
            confirm.input.insert("reason".to_owned(), reason.into());
            confirm
        }
        None => confirm.because("reason"),
    };
    item.answers = vec![
        confirm.by_name(),
        WaitingAnswer::call(
            "Decide it again",
            "decide",
            Value::Object(again(decision)),
            if is_contested {
                format!(
                    "{words} is recorded again, as a decision of yours; it contradicts what is in force, which waits to be settled."
                )
            } else {
                format!("{words} is in force again, as a decision of yours.")
            },
        ),
    ];
    item
}

/// The input that decides the same once more.
fn again(decision: &Decision) -> Map<String, Value> {
    let fields = json!({
        "summary": decision.summary,
        "domain": decision.domain,
        "scope": decision.scope,
        "context": decision.context,
        "rationale": decision.rationale,
        "constraints": decision.constraints,
        "depends_on": decision.depends_on,
        "supersedes": decision.id,
        "confidence": decision.confidence,
        "affected_files": decision.affected_files,
        "affected_symbols": decision.affected_symbols,
    });
    let Value::Object(mut fields) = fields else { unreachable!("an object was written") };
    fields.retain(|_, value| *value != json!([]) && *value != json!(""));
    fields
}
