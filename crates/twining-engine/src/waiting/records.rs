//! Records that are gone or altered, and errors of the reviewed graph.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use twining_store::integrity::{Difference, DifferenceKind, RecordKind};
use twining_store::{ComparedState, UnchangedBoard};

use super::answers::{edit_command, href, shell_word};
use super::inbox::{Inbox, Pending};
use super::item::{Gravity, WaitingAnswer, WaitingItem, WaitingKind, WaitingSubject};
use crate::failure::Failure;
use crate::fields;
use crate::knowledge::GraphFinding;

/// Records, or errors, that an item names.
const NAMED: usize = 5;

/// The last comparison with HEAD, and what it was made on.
#[derive(Default)]
struct IntegrityCache(Mutex<LastComparison>);

#[derive(Default)]
struct LastComparison {
    state: Option<ComparedState>,
    board: UnchangedBoard,
    found: Arc<Vec<Difference>>,
}

impl Inbox<'_> {
    /// What is gone or altered since HEAD. git is asked only if something other than new
    /// lines came since the last time.
    fn differences(self) -> Result<Arc<Vec<Difference>>, Failure> {
        let documents = self.engine.store().documents();
        let Some(git) = self.sources.git else { return Ok(Arc::default()) };
        let Some(now) = documents.compared_state(self.view.decisions().digest()?)? else {
            return Ok(Arc::default());
        };
        let cache = self.engine.state::<IntegrityCache>();
        let mut last = cache.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !last.state.as_ref().is_some_and(|state| state.holds_at(&now)) {
            let found = documents.changed_since_head(git, &mut last.board)?;
            last.found = Arc::new(found);
        }
        last.state = Some(now);
        Ok(Arc::clone(&last.found))
    }
}

/// Files whose records are not what git has, one item each.
pub(super) fn altered(inbox: Inbox<'_>) -> Result<Vec<Pending<'_>>, Failure> {
    let mut files: BTreeMap<String, Vec<Difference>> = BTreeMap::new();
    for difference in inbox.differences()?.iter() {
        files.entry(difference.path.clone()).or_default().push(difference.clone());
    }
    let pending = files.into_iter().map(|(path, differences)| {
        Pending::new(None, None, move || Ok(altered_file(&path, &differences)))
    });
    Ok(pending.collect())
}

fn altered_file(path: &str, differences: &[Difference]) -> WaitingItem {
    let file = shell_word(&format!(".twining/{path}"));
    let is_torn = differences.iter().any(|one| one.change == DifferenceKind::ConflictMarkers);
    let is_lines = RecordKind::of(path).is_some_and(RecordKind::is_line);
    let restore = if is_torn {
        WaitingAnswer::copy(
            "Join both sides",
            "twining doctor --fix".to_owned(),
            "Both sides of the merge are in the file, without markers.".to_owned(),
        )
    } else if is_lines {
        WaitingAnswer::copy(
            "Restore lines",
            format!("git restore --source=HEAD --patch -- {file}"),
            "The lines that you choose are as the last commit has them; new ones stay.".to_owned(),
        )
    } else {
        WaitingAnswer::copy(
            "Restore it",
            format!("git restore --source=HEAD --staged --worktree -- {file}"),
            "The record is as the last commit has it.".to_owned(),
        )
    };
    let accept = WaitingAnswer::copy(
        "Accept it",
        format!("git commit -m 'twining: accept a changed record' -- {file}"),
        "The change is in git's history, under your name.".to_owned(),
    );
    let subjects = differences.iter().take(NAMED).map(|one| {
        let id = one.id.clone().unwrap_or_else(|| path.to_owned());
        let address = match (one.kind, &one.id) {
            (RecordKind::Decision, Some(id)) => href("d", id),
            (RecordKind::Entry, Some(id)) => href("e", id),
            (RecordKind::Trace, Some(id)) => href("t", id),
            _ => "/health".to_owned(),
        };
        WaitingSubject {
            id,
            summary: one.summary.clone(),
            detail: Some(one.to_string()),
            by: None,
            status: None,
            rests_on_it: None,
            href: address,
        }
    });
    let title = match differences {
        [one] => one.to_string(),
        many => format!("{} records of {path} are gone or altered", many.len()),
    };
    WaitingItem {
        id: format!("{}:{path}", WaitingKind::Altered.as_str()),
        kind: WaitingKind::Altered,
        title,
        why_you: "git has it otherwise, and no verb of Twining did that.".to_owned(),
        since: None,
        scope: None,
        by: None,
        gravity: Gravity::Grave,
        subjects: subjects.collect(),
        answers: if is_torn { vec![restore] } else { vec![restore, accept] },
        href: "/health".to_owned(),
        settled: None,
    }
}

/// The reviewed graph, if it has errors.
pub(super) fn knowledge_errors(inbox: Inbox<'_>) -> Result<Vec<Pending<'_>>, Failure> {
    // A file that cannot be opened at all is reported by `doctor`.
    let Ok((path, errors)) = inbox.engine.knowledge_findings() else { return Ok(Vec::new()) };
    if errors.is_empty() {
        return Ok(Vec::new());
    }
    Ok(vec![Pending::new(None, None, move || Ok(knowledge_error(&path, &errors)))])
}

fn knowledge_error(path: &str, errors: &[GraphFinding]) -> WaitingItem {
    let first = &errors[0];
    let line = u64::try_from(first.line.max(1)).unwrap_or(1);
    let subjects = errors.iter().take(NAMED).map(|error| WaitingSubject {
        id: error.node_id.clone().unwrap_or_else(|| path.to_owned()),
        summary: error.message.clone(),
        detail: Some(match &error.suggestion {
            Some(better) => format!("line {}; {better}", error.line),
            None => format!("line {}", error.line),
        }),
        by: None,
        status: None,
        rests_on_it: None,
        href: error.node_id.as_deref().map_or_else(|| "/health".to_owned(), |id| href("n", id)),
    });
    WaitingItem {
        id: format!("{}:{path}", WaitingKind::KnowledgeError.as_str()),
        kind: WaitingKind::KnowledgeError,
        title: format!("{path} has {}", fields::count(errors.len() as u64, "error", "errors")),
        why_you: "Agents are served only what is valid of it.".to_owned(),
        since: None,
        scope: None,
        by: None,
        gravity: Gravity::Minor,
        subjects: subjects.collect(),
        answers: vec![
            WaitingAnswer::copy(
                "Fix it",
                edit_command(path, line),
                "Once the file is valid, all of it is served.".to_owned(),
            ),
            WaitingAnswer::copy(
                "Show every error",
                "twining knowledge check".to_owned(),
                "Each error is listed with its line, and nothing changes.".to_owned(),
            ),
        ],
        href: "/health".to_owned(),
        settled: None,
    }
}
