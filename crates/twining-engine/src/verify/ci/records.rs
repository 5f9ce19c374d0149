//! Rule 2: what the records of the base say, they go on to say; and every file can be read.

use twining_guard::policy::yaml;
use twining_store::integrity::{Difference, DifferenceKind, RecordKind, compare_changed};

use crate::knowledge::{KnowledgeFacts, KnowledgeGraph};
use crate::verify::ci::pull_request::{MEMORY, PullRequest};
use crate::verify::ci::report::{CiFinding, Severity};

const RULE: &str = "records";
/// Maximum number of mistakes reported per file.
const MOST_MISTAKES: usize = 10;

pub(in crate::verify) fn check(request: &PullRequest<'_>) -> Vec<CiFinding> {
    fn side<'f>(
        path: &'f Option<String>,
        bytes: &'f Option<Vec<u8>>,
    ) -> Option<(&'f str, &'f [u8])> {
        Some((path.as_deref()?.strip_prefix(MEMORY)?, bytes.as_deref()?))
    }
    let before = request.records().filter_map(|file| side(&file.old_path, &file.before)).collect();
    let after = request.records().filter_map(|file| side(&file.path, &file.after)).collect();
    let is_there = |path: &str| request.head_records.contains(&format!("{MEMORY}{path}"));
    let differences = compare_changed(before, after, &is_there);
    let mut findings: Vec<CiFinding> =
        differences.iter().map(|found| finding(request, found)).collect();
    findings.extend(
        [".twining/policy.yml", ".twining/config.yml"]
            .into_iter()
            .filter_map(|path| unread_yaml(request, path)),
    );
    findings.extend(knowledge(request));
    findings
}

fn finding(request: &PullRequest<'_>, found: &Difference) -> CiFinding {
    let path = format!("{MEMORY}{}", found.path);
    let base: String = request.merge_base.chars().take(12).collect();
    let restore = format!("`git checkout {base} -- {path}`");
    let way = match (&found.change, found.kind) {
        (DifferenceKind::Removed, RecordKind::Entry) => {
            "Restore the line, or archive it with `twining archive`, which leaves a summary."
                .to_owned()
        }
        (
            DifferenceKind::Removed | DifferenceKind::Unparsable(_),
            RecordKind::Decision | RecordKind::Handoff | RecordKind::Turn,
        ) => {
            format!("Restore it: {restore}.")
        }
        (DifferenceKind::Altered { .. }, RecordKind::Decision) => {
            format!(
                "Restore it ({restore}) and record the change with `twining decide --supersedes` or `twining override`."
            )
        }
        (DifferenceKind::Altered { .. }, _) => {
            "Restore it, and post the new content as a separate entry.".to_owned()
        }
        (DifferenceKind::Illegal { .. }, _) => {
            format!(
                "Restore it ({restore}) and use `twining reconsider`, `promote`, `decide --supersedes` or `override --why`."
            )
        }
        (DifferenceKind::Duplicate, _) => {
            "Remove the newer one and post it again with `twining post`.".to_owned()
        }
        (DifferenceKind::Removed | DifferenceKind::Unparsable(_), _) => {
            "Fix the line, or restore the file from the base.".to_owned()
        }
        (DifferenceKind::ConflictMarkers, _) => {
            "Resolve the merge conflict; `twining doctor --fix` joins both sides.".to_owned()
        }
    };
    CiFinding::at(RULE, Severity::Error, &path, &format!("{found}. {way}")).on(found.line)
}

fn unread_yaml(request: &PullRequest<'_>, path: &str) -> Option<CiFinding> {
    let file = request.changed_at(path)?;
    let (_, broken) = yaml::read(file.text_after()?);
    let mistake = broken.into_iter().next()?;
    let message = format!(
        "`{path}` cannot be read: {}. Fix the line; until then its rules are not in force.",
        mistake.why
    );
    Some(
        CiFinding::at(RULE, Severity::Error, path, &message)
            .on(usize::try_from(mistake.at.line).ok()),
    )
}

/// The reviewed graph: its mistakes that are new, and the rules it no longer has.
fn knowledge(request: &PullRequest<'_>) -> Vec<CiFinding> {
    let path = request.knowledge_path();
    let Some(file) = request.changed_at(&path) else { return Vec::new() };
    let read = |bytes: &Option<Vec<u8>>| KnowledgeGraph::read(bytes.as_deref().unwrap_or_default());
    let (before, after) = (read(&file.before), read(&file.after));
    let is_new = |message: &str| !before.errors.iter().any(|known| known.message == message);
    let mistakes =
        after.errors.iter().filter(|mistake| is_new(&mistake.message)).take(MOST_MISTAKES);
    let mut findings: Vec<CiFinding> = mistakes
        .map(|mistake| {
            let hint =
                mistake.suggestion.as_deref().unwrap_or("`twining knowledge check` shows the rest");
            let message =
                format!("the knowledge graph is not valid: {}. Fix it: {hint}.", mistake.message);
            CiFinding::at(RULE, Severity::Error, &path, &message)
                .on(Some(mistake.line).filter(|line| *line > 0))
        })
        .collect();
    findings.extend(lifted(&path, &before, &after));
    findings
}

/// Reports removed edges that ruled something out: a review decides.
fn lifted(path: &str, before: &KnowledgeGraph, after: &KnowledgeGraph) -> Option<CiFinding> {
    let now = KnowledgeFacts::of(after).must_not_use;
    let gone = KnowledgeFacts::of(before).must_not_use;
    let gone: Vec<String> = gone
        .iter()
        .filter(|edge| !now.contains(edge))
        .map(|edge| format!("{} → {}", edge.from, edge.to))
        .collect();
    let message = format!(
        "the knowledge graph no longer rules out: {}. Review whether this is intended.",
        gone.join(", ")
    );
    (!gone.is_empty()).then(|| CiFinding::at(RULE, Severity::Warning, path, &message))
}
