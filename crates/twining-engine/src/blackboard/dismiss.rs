//! Dismissing: closing what needs no answer, with the reason kept.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use twining_model::{Change, Entry, EntryType, limits, text};
use twining_store::View;

use crate::blackboard::note;
use crate::caller::Stamp;
use crate::failure::Failure;
use crate::fields;
use crate::secrets::{Redaction, redact_fields};

/// The tag of an entry that dismisses others.
const DISMISSED: &str = "dismissed";

/// What to dismiss, as given by the caller.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DismissInput {
    /// The entries to close
    pub ids: Vec<String>,
    /// Why they are settled
    pub reason: Option<String>,
    /// Your name
    pub agent_id: Option<String>,
}

redact_fields!(DismissInput { reason, agent_id });

/// What was dismissed.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct DismissOutcome {
    /// Closed by this call.
    pub dismissed: Vec<String>,
    /// Closed before.
    pub already_closed: Vec<String>,
    /// Not on the blackboard.
    pub not_found: Vec<String>,
    /// The entry that closes them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Secrets redacted before writing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub redacted: Vec<Redaction>,
}

/// Plans one status entry that closes everything still open among the ids.
pub fn plan_dismiss(
    view: &View<'_>,
    ids: &[String],
    reason: &str,
    stamp: &Stamp<'_>,
) -> Result<(Change, DismissOutcome), Failure> {
    let mut outcome = DismissOutcome::default();
    let mut closing: Vec<Entry> = Vec::new();
    for id in ids {
        match view.entries().get(id)? {
            None => outcome.not_found.push(id.clone()),
            Some(entry) if is_closed(view, &entry)? => outcome.already_closed.push(id.clone()),
            Some(entry) => {
                outcome.dismissed.push(id.clone());
                closing.push(entry);
            }
        }
    }
    if outcome.not_found.len() == ids.len() {
        return Err(Failure::NotFound {
            what: "entry",
            id: text::excerpt(&outcome.not_found.join(", "), 200),
            hint: "twining_recent and twining_read show entries with their ids".to_owned(),
        });
    }
    let mut change = Change::default();
    if let Some(first) = closing.first() {
        let why = if reason.trim().is_empty() { &first.summary } else { reason };
        let scope = if closing.iter().all(|entry| entry.scope == first.scope) {
            &first.scope
        } else {
            "project"
        };
        let listed: String = closing
            .iter()
            .map(|entry| format!("\n- {}: {}", entry.entry_type, entry.summary))
            .collect();
        let entry = Entry {
            detail: fields::clip(format!("{reason}\n{listed}").trim(), limits::TEXT_BYTES),
            tags: vec![DISMISSED.to_owned()],
            relates_to: outcome.dismissed.clone(),
            ..note(stamp, EntryType::Status, scope, &format!("Dismissed: {why}"))
        };
        outcome.id = Some(entry.id.clone());
        change.entries.push(entry);
    }
    Ok((change, outcome))
}

/// Whether an entry has been settled: one that asks, by any answer; another, by
/// an earlier dismissal.
fn is_closed(view: &View<'_>, entry: &Entry) -> Result<bool, Failure> {
    if entry.kind().is_some_and(EntryType::asks) {
        return Ok(!view.entries().is_open(&entry.id)?);
    }
    Ok(view
        .entries()
        .closers(&entry.id)?
        .iter()
        .any(|closer| closer.tags.iter().any(|tag| tag == DISMISSED)))
}

#[cfg(test)]
mod tests {
    use crate::DismissInput;
    use crate::testing::{Project, caller};

    fn dismiss(ids: &[&str], reason: Option<&str>) -> DismissInput {
        DismissInput {
            ids: ids.iter().map(|&id| id.to_owned()).collect(),
            reason: reason.map(str::to_owned),
            agent_id: None,
        }
    }

    #[test]
    fn a_dismissed_warning_is_closed_and_says_who_when_and_why() {
        let project = Project::new();
        let warning = project.post_in("src/db/", "warning", "the index is slow");
        let outcome = project
            .engine
            .dismiss(&caller("bob"), &dismiss(&[&warning], Some("index dropped")))
            .expect("dismisses");
        assert_eq!(outcome.dismissed, [warning.as_str()]);
        let closing = project.entry(outcome.id.as_deref().expect("an entry closes it"));
        assert_eq!(
            (closing.entry_type.as_str(), closing.summary.as_str()),
            ("status", "Dismissed: index dropped")
        );
        assert_eq!((closing.agent_id.as_str(), closing.scope.as_str()), ("bob", "src/db/"));
        assert_eq!(closing.relates_to, [warning.as_str()]);
        assert_eq!(project.engine.status().expect("reports").open_warnings, 0);
        assert_eq!(
            project.entry(&warning).summary,
            "the index is slow",
            "the warning itself stays on the board"
        );
    }

    #[test]
    fn dismissing_twice_adds_no_second_entry() {
        let project = Project::new();
        let need = project.post("need", "a rate limiter");
        project.engine.dismiss(&caller("bob"), &dismiss(&[&need], None)).expect("dismisses");
        let again =
            project.engine.dismiss(&caller("bob"), &dismiss(&[&need], None)).expect("answers");
        assert_eq!((again.dismissed.len(), again.already_closed, again.id), (0, vec![need], None));
        assert_eq!(project.board().len(), 2);
    }

    #[test]
    fn a_finding_can_be_dismissed_too_and_only_once() {
        let project = Project::new();
        let finding = project.post("finding", "it is slow");
        assert_eq!(
            project
                .engine
                .dismiss(&caller("bob"), &dismiss(&[&finding], None))
                .expect("dismisses")
                .dismissed,
            [finding.as_str()]
        );
        assert_eq!(
            project
                .engine
                .dismiss(&caller("bob"), &dismiss(&[&finding], None))
                .expect("answers")
                .already_closed,
            [finding.as_str()]
        );
    }

    #[test]
    fn unknown_ids_are_reported_and_alone_they_are_an_error() {
        let project = Project::new();
        let need = project.post("need", "a rate limiter");
        let mixed = project
            .engine
            .dismiss(&caller("bob"), &dismiss(&[&need, "hook-17"], None))
            .expect("dismisses");
        assert_eq!((mixed.dismissed, mixed.not_found), (vec![need], vec!["hook-17".to_owned()]));
        let failure = project
            .engine
            .dismiss(&caller("bob"), &dismiss(&["hook-17"], None))
            .expect_err("unknown");
        assert_eq!(failure.code(), "NOT_FOUND");
        let none =
            project.engine.dismiss(&caller("bob"), &dismiss(&[], None)).expect_err("nothing to do");
        assert!(none.to_string().starts_with("`ids` "));
    }

    #[test]
    fn a_long_reason_is_kept_whole_in_the_detail() {
        let project = Project::new();
        let need = project.post("need", "a rate limiter");
        let reason = "because ".repeat(100);
        let outcome = project
            .engine
            .dismiss(&caller("bob"), &dismiss(&[&need], Some(&reason)))
            .expect("dismisses");
        let closing = project.entry(outcome.id.as_deref().expect("closes"));
        assert_eq!(closing.summary.chars().count(), 200);
        assert!(closing.detail.starts_with(reason.trim()));
    }
}
