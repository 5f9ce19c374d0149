//! Records whose code this very turn made doubtful: the agent that has the code in its head is
//! asked, once. It is never held for it.

use twining_engine::{DriftFinding, DriftKind, Engine};

use super::comparison::{CheckNotice, NoticeLevel, Stage, TreeComparison};
use crate::project::Project;

/// The rule that these notices are about.
pub(crate) const RULE: &str = "record-doubtful";
/// Records that are asked about at once.
const MAX_ASKED: usize = 3;
/// Where the setting is when to ask.
const AT_TURN_END: &str = "stop";
const AT_COMMIT: &str = "commit";

/// The records to ask about.
pub(super) fn check(comparison: &TreeComparison<'_>) -> Vec<CheckNotice> {
    let is_asked = match comparison.stage {
        Stage::TurnEnd => asks(&comparison.project.engine, &[AT_TURN_END]),
        Stage::Commit => asks(&comparison.project.engine, &[AT_COMMIT]),
    };
    if !is_asked {
        return Vec::new();
    }
    let is_ours =
        |path: &&String| comparison.stage == Stage::Commit || (comparison.changed_this_turn)(path);
    let changed: Vec<String> = comparison.changed.iter().filter(is_ours).cloned().collect();
    let before = comparison.work_base().unwrap_or(&comparison.before[0]);
    let is_staged = comparison.stage == Stage::Commit;
    notices(&comparison.project.engine, before, is_staged, &changed)
}

/// The same for an agent that is about to commit, whatever it will stage.
pub(crate) fn before_commit(project: &Project) -> Vec<CheckNotice> {
    if !asks(&project.engine, &[AT_TURN_END, AT_COMMIT]) {
        return Vec::new();
    }
    notices(&project.engine, "HEAD", false, &project.history.uncommitted())
}

fn asks(engine: &Engine, at: &[&str]) -> bool {
    engine.store().config().is_ok_and(|config| at.contains(&config.code.ask.as_str()))
}

fn notices(engine: &Engine, before: &str, is_staged: bool, changed: &[String]) -> Vec<CheckNotice> {
    // What cannot be judged is no reason to keep an agent waiting.
    let findings = engine.drift_of(before, is_staged, changed).unwrap_or_default();
    let asked = findings.iter().filter(|finding| finding.became > DriftKind::Moved);
    asked.take(MAX_ASKED).map(notice).collect()
}

fn notice(finding: &DriftFinding) -> CheckNotice {
    let DriftFinding { id, summary, at, settle, .. } = finding;
    let what = match finding.became {
        DriftKind::Orphaned => "removed",
        DriftKind::Doubtful | DriftKind::Moved => "changed",
    };
    let reason = finding.reason.as_ref().map(|reason| format!(" ({reason})")).unwrap_or_default();
    let text = format!("You {what} `{at}`{reason}. [{id}] says: {summary}. Settle it: {settle}.");
    CheckNotice {
        rule: RULE.to_owned(),
        path: Some(at.split('#').next().unwrap_or(at).to_owned()),
        weight: NoticeLevel::Tell,
        text,
    }
}
