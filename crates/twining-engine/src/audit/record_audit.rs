//! The audit of our own records: those that name what is not there, repeat or contradict each
//! other, wait for too long, or say nothing.

use std::collections::HashMap;
use std::path::Path;

use twining_model::{Decision, Entry, EntryType, text};
use twining_store::git::Git;
use twining_store::{RowId, StoreError, VectorKeys, View};

use super::claim_history::departures;
use super::project_tree::ProjectTree;
use super::report::{AuditClass, AuditFinding, AuditReport};
use crate::engine::Engine;
use crate::failure::Failure;

/// Records read at a time.
const BATCH: usize = 500;
/// Entities and relations that are looked at.
const GRAPH: usize = 20_000;
/// Bytes of a record that fills the budget of an agent's context by itself.
const MOST_BYTES: usize = 16 * 1024;
/// How long a decision may be provisional.
const PATIENCE_MS: i64 = 30 * 24 * 60 * 60 * 1000;
/// Characters of a summary that are shown.
const SUMMARY: usize = 100;

/// Audits the records of a view against a working tree. Freshness of anchored code is not judged
/// here: findings of [`AuditClass::Stale`] for records come from their anchors.
pub(super) fn audit_view(
    view: &View<'_>,
    tree: &ProjectTree,
    git: &Git,
) -> Result<AuditReport, StoreError> {
    let mut report = AuditReport::default();
    let decisions = in_force(view, &mut report)?;
    missing_code(&decisions, tree, git, &mut report);
    contradictions(view, &mut report)?;
    let entries = read_entries(view, &mut report)?;
    repeated(&decisions, &entries, &mut report);
    for entry in &entries {
        entry_texts(entry, &mut report);
    }
    lost(view, tree, &mut report)?;
    Ok(report)
}

impl Engine {
    /// Audits the memory against a checkout. Reads, and writes nothing but the index.
    pub fn audit_records(&self, root: &Path, git: &Git) -> Result<AuditReport, Failure> {
        let tracked = git.tracked_files().unwrap_or_default();
        let tree = ProjectTree::new(root, tracked.into_iter().map(|file| file.path));
        let mut report =
            self.store().view(|view| Ok::<_, Failure>(audit_view(view, &tree, git)?))?;
        for secret in self.scan_secrets()?.found {
            let message =
                format!("the field `{}` contains a secret: {}", secret.field, secret.kind);
            let fix = "revoke it, then remove it from the file and from history";
            let finding = AuditFinding::new(AuditClass::Secret, message, fix);
            let file = format!(".twining/{}", secret.file);
            report.findings.push(finding.of_record("record", &secret.id).at(&file, None));
        }
        Ok(report)
    }
}

/// The decisions that agents are to follow.
fn in_force(view: &View<'_>, report: &mut AuditReport) -> Result<Vec<Decision>, StoreError> {
    let mut found = Vec::new();
    let all = view.decisions();
    each_row(
        |after| all.vector_keys_after(after, BATCH),
        |row| {
            let decision = all.at_row(row)?;
            report.summary.records += 1;
            if decision.status.binds() {
                found.push(decision);
            }
            Ok(())
        },
    )?;
    Ok(found)
}

fn read_entries(view: &View<'_>, report: &mut AuditReport) -> Result<Vec<Entry>, StoreError> {
    let mut found = Vec::new();
    let all = view.entries();
    each_row(
        |after| all.vector_keys_after(after, BATCH),
        |row| {
            let entry = all.at_row(row)?;
            report.summary.records += 1;
            // What is settled, and what only tells of another record, misleads nobody.
            let is_settled = matches!(entry.kind(), Some(EntryType::Decision | EntryType::Status))
                || !all.closers(&entry.id)?.is_empty();
            if !is_settled {
                found.push(entry);
            }
            Ok(())
        },
    )?;
    Ok(found)
}

/// Decisions about files that are nowhere in the tree.
fn missing_code(decisions: &[Decision], tree: &ProjectTree, git: &Git, report: &mut AuditReport) {
    let is_missing = |file: &&String| !file.contains(['*', '{']) && !tree.has(file);
    let named = decisions.iter().flat_map(|decision| &decision.affected_files);
    let missing: Vec<String> = named.filter(is_missing).cloned().collect();
    let departed = departures(git, tree, &missing).unwrap_or_default();
    for decision in decisions {
        let missing: Vec<&String> = decision.affected_files.iter().filter(is_missing).collect();
        let Some(first) = missing.first() else { continue };
        let became = departed
            .get(*first)
            .map_or_else(|| "is nowhere in the tree".to_owned(), |departure| departure.in_words());
        let more = match missing.len() {
            1 => String::new(),
            number => {
                format!("; {} of its {} files are missing", number, decision.affected_files.len())
            }
        };
        let message =
            format!("\"{}\" names `{first}`, which {became}{more}", short(&decision.summary));
        let fix = format!("`twining reconsider {}`, or a decision that supersedes it", decision.id);
        let class =
            if departed.contains_key(*first) { AuditClass::Stale } else { AuditClass::Unbound };
        report.findings.push(
            AuditFinding::new(class, message, fix).of_record("decision", decision.id.as_str()),
        );
    }
}

/// Decisions that contradict each other, and those that nobody settles.
fn contradictions(view: &View<'_>, report: &mut AuditReport) -> Result<(), StoreError> {
    let decisions = view.decisions();
    for contest in decisions.active_contests()? {
        let rivals: Vec<&str> = contest.rivals.iter().map(|rival| rival.as_str()).collect();
        let message =
            format!("is in force and contradicts {} (`{}`)", rivals.join(", "), contest.scope);
        let fix = "`twining waiting` shows both and what each answer does";
        report.findings.push(
            AuditFinding::new(AuditClass::Contradictory, message, fix)
                .of_record("decision", contest.id.as_str()),
        );
    }
    for waiting in decisions.provisional()? {
        let age = view.now().as_ms() - waiting.since.as_ms();
        let fix = format!("`twining promote {}`, or `twining reconsider` it", waiting.id);
        let (class, message) = if waiting.is_clashed {
            (AuditClass::Contradictory, "two branches changed it differently".to_owned())
        } else if age > PATIENCE_MS {
            let days = age / (PATIENCE_MS / 30);
            (AuditClass::Leftover, format!("is provisional for {days} days"))
        } else {
            continue;
        };
        report.findings.push(
            AuditFinding::new(class, message, fix).of_record("decision", waiting.id.as_str()),
        );
    }
    Ok(())
}

/// Records with the same text.
fn repeated(decisions: &[Decision], entries: &[Entry], report: &mut AuditReport) {
    let mut first: HashMap<(String, String, String), &str> = HashMap::new();
    for decision in decisions {
        let key = ("decision".to_owned(), decision.scope.clone(), folded(&decision.summary));
        if let Some(known) = first.insert(key, decision.id.as_str()) {
            let message = format!("says the same as {known}: \"{}\"", short(&decision.summary));
            let fix = format!("`twining reconsider {known}` and keep one");
            report.findings.push(
                AuditFinding::new(AuditClass::Duplicate, message, fix)
                    .of_record("decision", decision.id.as_str()),
            );
        }
    }
    for entry in entries {
        let summary = folded(&format!("{} {}", entry.summary, entry.detail));
        let key = (entry.entry_type.clone(), entry.scope.clone(), summary);
        if let Some(known) = first.insert(key, &entry.id) {
            let message = format!("says the same as {known}: \"{}\"", short(&entry.summary));
            let fix = format!("`twining dismiss {} --reason \"same as {known}\"`", entry.id);
            report.findings.push(
                AuditFinding::new(AuditClass::Duplicate, message, fix)
                    .of_record("entry", &entry.id),
            );
        }
    }
}

/// Entries that say nothing, or more than anybody reads.
fn entry_texts(entry: &Entry, report: &mut AuditReport) {
    let size = entry.summary.len() + entry.detail.len();
    let letters = entry.summary.chars().filter(|c| c.is_alphabetic()).count();
    let says_nothing = entry.detail.trim().is_empty()
        && (letters < 4 || !entry.summary.trim().contains(char::is_whitespace));
    let (class, message, fix) = if size > MOST_BYTES {
        let message = format!("has {size} bytes: it fills an agent's context by itself");
        (AuditClass::Oversized, message, "post its point in a few lines, then")
    } else if says_nothing {
        (AuditClass::Junk, format!("says nothing: \"{}\"", short(&entry.summary)), "")
    } else {
        return;
    };
    let fix = format!("{fix} `twining dismiss {}`", entry.id);
    report.findings.push(
        AuditFinding::new(class, message, fix.trim_start().to_owned())
            .of_record("entry", &entry.id),
    );
}

/// Entities of files that are not there, and relations without an end.
fn lost(view: &View<'_>, tree: &ProjectTree, report: &mut AuditReport) -> Result<(), StoreError> {
    let graph = view.graph();
    for entity in graph.page(GRAPH)?.items {
        report.summary.records += 1;
        let is_path = entity.kind == "file" && entity.name.contains(['/', '.']);
        if is_path && !tree.has(&entity.name) {
            let message = format!("the graph has the file `{}`, which is not there", entity.name);
            let fix = "`twining add-entity` its new place, or leave it as history";
            report.findings.push(
                AuditFinding::new(AuditClass::Lost, message, fix).of_record("entity", &entity.id),
            );
        }
    }
    for relation in graph.dangling(GRAPH)? {
        let message = format!(
            "`{}` leads from {} to {}; one of them is missing",
            relation.kind, relation.source, relation.target
        );
        let fix = "`twining prune-graph` removes it";
        report.findings.push(
            AuditFinding::new(AuditClass::Lost, message, fix).of_record("relation", &relation.id),
        );
    }
    Ok(())
}

fn folded(words: &str) -> String {
    words.to_lowercase().split_whitespace().collect::<Vec<_>>().join(" ")
}

fn short(summary: &str) -> String {
    text::excerpt(summary, SUMMARY)
}

/// Visits every row, a batch at a time.
fn each_row(
    next: impl Fn(Option<RowId>) -> Result<Vec<(RowId, VectorKeys)>, StoreError>,
    mut visit: impl FnMut(RowId) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let mut after = None;
    loop {
        let rows = next(after)?;
        let Some((last, _)) = rows.last() else { return Ok(()) };
        after = Some(*last);
        rows.iter().try_for_each(|(row, _)| visit(*row))?;
    }
}
