//! Notices: blackboard entries about decisions, and when they are settled.

use std::fmt::Write;

use twining_model::{
    Authority, Change, Decision, DecisionStatus, Entry, EntryType, Id, limits, text,
};
use twining_store::{StoreError, View};

use crate::blackboard::note;
use crate::caller::Stamp;
use crate::fields;

/// The tag of a warning that two decisions disagree.
const CONFLICT: &str = "conflict";
/// The tag of a warning that a decision is to be looked at again.
const RECONSIDERATION: &str = "reconsideration";
/// The tag of a warning that decisions rest on one that is out of force.
const DEPENDENTS: &str = "dependents";
/// The tag of entries about an override.
const OVERRIDE: &str = "override";

/// Announces a new decision.
pub(crate) fn announce(change: &mut Change, decision: &Decision, stamp: &Stamp<'_>) {
    change.entries.push(Entry {
        detail: decision.rationale.clone(),
        tags: domain_tag(decision).into_iter().collect(),
        relates_to: vec![decision.id.to_string()],
        ..note(stamp, EntryType::Decision, &decision.scope, &decision.summary)
    });
}

/// Warns that a new decision disagrees with active ones, with the reasons of each.
pub(crate) fn conflict(
    change: &mut Change,
    decision: &Decision,
    rivals: &[Decision],
    more: usize,
    stamp: &Stamp<'_>,
) {
    let ids: Vec<String> = rivals.iter().map(|rival| rival.id.to_string()).collect();
    let named = |decision: &Decision| format!("\"{}\"", text::excerpt(&decision.summary, 40));
    let others = match (rivals.first().map(named), rivals.len() + more) {
        (Some(first), 0 | 1) => first,
        (Some(first), all) => format!("{first} and {} more", all - 1),
        (None, _) => "others".to_owned(),
    };
    // The new decision's id and the first rival's come first of what may be cut.
    let headline = format!(
        "Potential conflict: {} may conflict with {others} ({}, {})",
        named(decision),
        decision.id,
        ids.join(", ")
    );
    let mut detail = String::new();
    // Each side gets its share, so that one long rationale cannot crowd out the others.
    let share = limits::TEXT_BYTES / (rivals.len() + 2);
    for side in std::iter::once(decision).chain(rivals) {
        let line = format!(
            "{} [{}] in {}: {}\nbecause: {}",
            side.id,
            side.status.as_str(),
            side.scope,
            side.summary,
            side.rationale
        );
        let _ = writeln!(detail, "{}\n", fields::clip(&line, share - 8));
    }
    if more > 0 {
        let _ = writeln!(detail, "and {more} more");
    }
    change.entries.push(Entry {
        detail: detail.trim_end().to_owned(),
        tags: std::iter::once(CONFLICT.to_owned()).chain(domain_tag(decision)).collect(),
        relates_to: std::iter::once(decision.id.to_string()).chain(ids).collect(),
        ..note(stamp, EntryType::Warning, &decision.scope, &headline)
    });
}

/// Warns that a decision is to be looked at again, and names what rests on it.
pub(crate) fn reconsider(
    change: &mut Change,
    decision: &Decision,
    why: &str,
    dependents: &[Id],
    stamp: &Stamp<'_>,
) {
    let mut detail = fields::clip(why, limits::TEXT_BYTES / 2);
    if !dependents.is_empty() {
        let _ = write!(detail, "\n\nDecisions that depend on it, unchanged: ");
        let listed: Vec<&str> = dependents.iter().take(limits::LIST).map(Id::as_str).collect();
        let _ = write!(detail, "{}", listed.join(", "));
        if dependents.len() > limits::LIST {
            let _ = write!(detail, " and {} more", dependents.len() - limits::LIST);
        }
    }
    change.entries.push(Entry {
        detail,
        tags: vec![RECONSIDERATION.to_owned()],
        relates_to: vec![decision.id.to_string()],
        ..note(
            stamp,
            EntryType::Warning,
            &decision.scope,
            &format!("Reconsider: {}", decision.summary),
        )
    });
}

/// Announces an override: a warning while only an agent claims it, a finding once a person confirms
/// it.
pub(crate) fn overridden(
    change: &mut Change,
    decision: &Decision,
    authority: Authority,
    replacement: Option<&Id>,
    stamp: &Stamp<'_>,
) {
    let by = decision.overridden_by.as_deref().unwrap_or_default();
    let (kind, headline) = match authority {
        Authority::Claimed => {
            (EntryType::Warning, format!("Override to be confirmed: {}", decision.summary))
        }
        Authority::Confirmed => {
            (EntryType::Finding, format!("Overridden by {by}: {}", decision.summary))
        }
    };
    let mut detail = fields::clip(
        decision.override_reason.as_deref().unwrap_or_default(),
        limits::TEXT_BYTES - 256,
    );
    if let Some(id) = replacement {
        let _ = write!(detail, "\n\nReplaced by {id}");
    }
    if authority == Authority::Claimed {
        let _ = write!(
            detail,
            "\n\nAn agent says that a person wants this. Until a person confirms it, no guard is lifted."
        );
    }
    change.entries.push(Entry {
        detail: detail.trim().to_owned(),
        tags: vec![OVERRIDE.to_owned()],
        relates_to: std::iter::once(&decision.id).chain(replacement).map(Id::to_string).collect(),
        ..note(stamp, kind, &decision.scope, &headline)
    });
}

/// Warns of the rivals of a promoted decision that no warning has named: they met while both were
/// provisional. A warning once given, even if dismissed, is not repeated.
pub(crate) fn still_contested(
    change: &mut Change,
    view: &View<'_>,
    decision: &Decision,
    rivals: &[Id],
    stamp: &Stamp<'_>,
) -> Result<(), StoreError> {
    let related = view.entries().relating_to(decision.id.as_str(), limits::LIST)?.items;
    let warned: Vec<&Entry> =
        related.iter().chain(&change.entries).filter(|entry| is_conflict(entry)).collect();
    let both = |warning: &Entry, rival: &Id| {
        [rival, &decision.id]
            .iter()
            .all(|id| warning.relates_to.iter().any(|other| other == id.as_str()))
    };
    let mut unannounced = Vec::new();
    for id in rivals.iter().filter(|id| !warned.iter().any(|warning| both(warning, id))) {
        unannounced.extend(view.decisions().get(id)?);
    }
    if !unannounced.is_empty() {
        conflict(change, decision, &unannounced, 0, stamp);
    }
    Ok(())
}

/// Warns that decisions in force rest on one that was overridden.
pub(crate) fn dependents(
    change: &mut Change,
    overridden: &Decision,
    dependents: &[Decision],
    stamp: &Stamp<'_>,
) {
    let listed: String = dependents
        .iter()
        .map(|decision| format!("- {}: {}\n", decision.id, decision.summary))
        .collect();
    let rest = match dependents.len() {
        1 => "1 decision rests on it".to_owned(),
        all => format!("{all} decisions rest on it"),
    };
    let ids = std::iter::once(overridden).chain(dependents).take(limits::LIST);
    change.entries.push(Entry {
        detail: fields::clip(listed.trim_end(), limits::TEXT_BYTES),
        tags: vec![DEPENDENTS.to_owned()],
        relates_to: ids.map(|decision| decision.id.to_string()).collect(),
        ..note(
            stamp,
            EntryType::Warning,
            &overridden.scope,
            &format!("Overridden, and {rest}: {}", overridden.summary),
        )
    });
}

/// Announces promotions, and closes the warnings they settle; those of a conflict too where both
/// sides are kept on purpose.
pub(crate) fn promoted(
    change: &mut Change,
    view: &View<'_>,
    decisions: &[Decision],
    keeps_both: bool,
    stamp: &Stamp<'_>,
) -> Result<(), StoreError> {
    let Some(first) = decisions.first() else { return Ok(()) };
    let mut relates_to: Vec<String> =
        decisions.iter().map(|decision| decision.id.to_string()).collect();
    relates_to.extend(settled_by(view, decisions, keeps_both)?);
    let scope = if decisions.iter().all(|decision| decision.scope == first.scope) {
        &first.scope
    } else {
        "project"
    };
    let summaries: Vec<&str> = decisions.iter().map(|decision| decision.summary.as_str()).collect();
    let listed: String = decisions
        .iter()
        .map(|decision| format!("- {}: {}\n", decision.id, decision.summary))
        .collect();
    change.entries.push(Entry {
        detail: fields::clip(listed.trim_end(), limits::TEXT_BYTES),
        tags: vec!["promotion".to_owned()],
        relates_to,
        ..note(
            stamp,
            EntryType::Status,
            scope,
            &format!("Promoted to active: {}", summaries.join("; ")),
        )
    });
    Ok(())
}

/// Closes the warnings of ours that a decision's new status settles: a conflict
/// one side of which is gone, a doubt that was decided, an override confirmed.
pub(crate) fn settle(
    change: &mut Change,
    view: &View<'_>,
    after: &[Decision],
    stamp: &Stamp<'_>,
) -> Result<(), StoreError> {
    let Some(first) = after.first() else { return Ok(()) };
    let relates_to = settled_by(view, after, false)?;
    if !relates_to.is_empty() {
        let summaries: Vec<&str> = after.iter().map(|one| one.summary.as_str()).collect();
        let headline = format!("Settled: now {}: {}", first.status.as_str(), summaries.join("; "));
        change.entries.push(Entry {
            tags: vec!["settled".to_owned()],
            relates_to,
            ..note(stamp, EntryType::Status, &first.scope, &headline)
        });
    }
    Ok(())
}

/// The open warnings of ours that are settled once these decisions are so.
fn settled_by(
    view: &View<'_>,
    after: &[Decision],
    keeps_both: bool,
) -> Result<Vec<String>, StoreError> {
    let mut settled = Vec::new();
    for decision in after {
        for entry in view.entries().relating_to(decision.id.as_str(), limits::LIST)?.items {
            let ours = entry.kind() == Some(EntryType::Warning)
                && !settled.contains(&entry.id)
                && ((keeps_both && is_conflict(&entry))
                    || is_settled(view, &entry, decision, after)?);
            if ours && view.entries().is_open(&entry.id)? {
                settled.push(entry.id);
            }
        }
    }
    Ok(settled)
}

fn is_settled(
    view: &View<'_>,
    warning: &Entry,
    decision: &Decision,
    after: &[Decision],
) -> Result<bool, StoreError> {
    let tagged = |word: &str| warning.tags.iter().any(|tag| tag == word);
    if tagged(OVERRIDE) {
        return Ok(decision.override_authority == Some(Authority::Confirmed));
    }
    if tagged(RECONSIDERATION) {
        return Ok(decision.status != DecisionStatus::Provisional);
    }
    if !is_conflict(warning) {
        return Ok(false);
    }
    // A warning of a conflict relates to the newcomer first, then to its rivals.
    let Some((newcomer, rivals)) = warning.relates_to.split_first() else { return Ok(false) };
    if !binds(view, newcomer, after)? {
        return Ok(true);
    }
    // Promoting the newcomer settles nothing while a rival is in force: then two
    // decisions contradict each other, and this warning is what says so.
    for rival in rivals {
        if binds(view, rival, after)? {
            return Ok(false);
        }
    }
    Ok(!rivals.is_empty())
}

/// Whether an entry says that decisions contradict each other.
pub(super) fn is_conflict(entry: &Entry) -> bool {
    entry.kind() == Some(EntryType::Warning) && entry.tags.iter().any(|tag| tag == CONFLICT)
}

fn binds(view: &View<'_>, id: &str, after: &[Decision]) -> Result<bool, StoreError> {
    if let Some(decision) = after.iter().find(|decision| decision.id.as_str() == id) {
        return Ok(decision.status.binds());
    }
    let Some(id) = Id::read(id) else { return Ok(false) };
    Ok(view.decisions().get(&id)?.is_some_and(|decision| decision.status.binds()))
}

/// The domain as a tag, unless it is too long for one.
fn domain_tag(decision: &Decision) -> Option<String> {
    let domain = decision.domain.trim();
    (!domain.is_empty() && domain.len() <= limits::TAG_BYTES).then(|| domain.to_owned())
}
