//! Guards compiled from a decision: how the decision's code is, and whether it holds on this
//! branch at all. Asked only once a guard speaks: a call that nothing refuses waits for none of it.

use twining_engine::{CodeNote, CodeState};
use twining_guard::{Evaluation, Verdict};
use twining_model::Id;

use crate::project::Project;

/// What a guard's name begins with that a decision made.
const OF_DECISION: &str = "decision-";

/// Adds to each guard that speaks how the code of its decision is. A decision goes on binding
/// whatever became of its code, but not on a branch that it does not belong to.
pub(super) fn label(project: &Project, mut evaluation: Evaluation) -> Evaluation {
    if evaluation.verdict == Verdict::Off {
        return evaluation;
    }
    for finding in evaluation.findings.iter_mut().filter(|found| found.verdict > Verdict::Off) {
        let Some(note) = code_of(project, &finding.guard) else { continue };
        if note.state == CodeState::Elsewhere {
            (finding.verdict, finding.effect) = (Verdict::Off, note.brief());
        } else if note.state >= CodeState::Drifted {
            finding.code = note.brief();
        }
    }
    Evaluation::of(evaluation.findings, evaluation.unread)
}

/// How the code of the decision behind a guard is, if there is something to say. What cannot be
/// found out leaves the guard as it is.
pub(super) fn code_of(project: &Project, guard: &str) -> Option<CodeNote> {
    let id = Id::read(guard.strip_prefix(OF_DECISION)?)?;
    project.engine.code_of_decision(&id).ok().flatten()
}
