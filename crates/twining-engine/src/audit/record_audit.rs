//! The audit of our own records: those that name what is not there, repeat or contradict each
//! other, wait for too long, or say nothing.

use std::collections::HashMap;
use std::path::Path;

use twining_model::{AnchoredRecord, Decision, EntryType};
use twining_store::git::Git;
use twining_store::{StoreError, View};

use super::anchored_records::{
    confirmed_by_agents, places_of, rivals_on_code, same_meaning, stale_code,
};
use super::audited_record::{AuditedRecord, folded, short};
use super::claim_history::departures;
use super::kept_findings::{is_kept, kept};
use super::lost_references::unbound_names;
use super::project_tree::ProjectTree;
use super::report::{AuditClass, AuditFinding, AuditReport};
use crate::engine::Engine;
use crate::failure::Failure;
use crate::record_walk::{each_decision, each_entry};

/// Entities and relations that are looked at.
const GRAPH: usize = 20_000;
/// Bytes of a record that fills the budget of an agent's context by itself.
const MOST_BYTES: usize = 16 * 1024;
/// How long a decision may be provisional.
const PATIENCE_MS: i64 = 30 * 24 * 60 * 60 * 1000;

impl Engine {
    /// Audits the memory against a checkout. Reads, and writes nothing but the index.
    pub fn audit_records(
        &self,
        root: &Path,
        git: &Git,
        is_time_up: &(dyn Fn() -> bool + Sync),
    ) -> Result<AuditReport, Failure> {
        let tracked = git.tracked_files().unwrap_or_default();
        let tree = ProjectTree::new(root, tracked.into_iter().map(|file| file.path));
        // Vectors are taken before the index is looked at.
        let (vectors, _) = self.loaded_index()?;
        let mut report = self.store().view(|view| {
            let mut report = AuditReport::default();
            let records = audited(view, &mut report)?;
            let places = places_of(view, &records)?;
            let stale = stale_code(self, view, &records, is_time_up, &mut report)?;
            let named = unjudged_files(view, &records)?;
            missing_files(&named, &tree, git, &mut report);
            let bound: Vec<AuditedRecord> =
                records.into_iter().filter(|record| !stale.contains(record.name.id())).collect();
            unbound_names(root, &tree, &bound, is_time_up, &mut report);
            contradictions(view, &mut report)?;
            rivals_on_code(view, &bound, &places, &mut report);
            repeated(&bound, &mut report);
            if let Some(vectors) = &vectors {
                same_meaning(vectors, &bound, &places, &mut report);
            }
            confirmed_by_agents(view, &bound, &places, &mut report)?;
            for record in &bound {
                entry_texts(record, &mut report);
            }
            lost(view, &tree, &mut report)?;
            let kept = kept(view)?;
            Ok::<_, Failure>((report, kept))
        })?;
        self.lost_places(&tree, &mut report.0)?;
        let (mut report, kept) = report;
        for secret in self.scan_secrets()?.found {
            let message =
                format!("the field `{}` contains a secret: {}", secret.field, secret.kind);
            let fix = "revoke it, then remove it from the file and from history";
            let finding = AuditFinding::new(AuditClass::Secret, message, fix);
            let file = format!(".twining/{}", secret.file);
            report.findings.push(finding.of_record("record", &secret.id).at(&file, None));
        }
        let found = report.findings.len();
        report.findings.retain(|finding| !is_kept(&kept, finding));
        report.summary.kept = found - report.findings.len();
        Ok(report)
    }
}

/// The decisions that agents are to follow, and the entries that nobody settled.
fn audited(view: &View<'_>, report: &mut AuditReport) -> Result<Vec<AuditedRecord>, StoreError> {
    let mut found = Vec::new();
    each_decision(view, |decision, keys| {
        report.summary.records += 1;
        if decision.status.binds() {
            found.push(AuditedRecord {
                name: AnchoredRecord::Decision(decision.id.to_string()),
                kind: "decision".to_owned(),
                scope: decision.scope.clone(),
                summary: decision.summary.clone(),
                text: [&decision.summary, &decision.context, &decision.rationale]
                    .map(String::as_str)
                    .join("\n\n"),
                vector: keys.text_key,
                decision: Some(decision),
            });
        }
        Ok(())
    })?;
    let entries = view.entries();
    each_entry(view, |entry, keys| {
        report.summary.records += 1;
        // What is settled, and what only tells of another record, misleads nobody.
        let is_settled = matches!(entry.kind(), Some(EntryType::Decision | EntryType::Status))
            || !entries.closers(&entry.id)?.is_empty();
        if !is_settled {
            found.push(AuditedRecord {
                text: format!("{}\n\n{}", entry.summary, entry.detail).trim_end().to_owned(),
                name: AnchoredRecord::Entry(entry.id),
                kind: entry.entry_type,
                scope: entry.scope,
                summary: entry.summary,
                vector: keys.text_key,
                decision: None,
            });
        }
        Ok(())
    })?;
    Ok(found)
}

/// Decisions, and the files they name without having been bound to them: what they are bound to is
/// judged by its code.
fn unjudged_files<'r>(
    view: &View<'_>,
    records: &'r [AuditedRecord],
) -> Result<Vec<(&'r Decision, Vec<&'r String>)>, StoreError> {
    let mut named = Vec::new();
    for record in records {
        let Some(decision) = &record.decision else { continue };
        let lines = view.anchors().history(&record.name)?;
        let is_bound = |file: &&String| lines.iter().any(|line| line.at.path() == file.as_str());
        let files = decision.affected_files.iter();
        named.push((decision, files.filter(|file| !is_bound(file)).collect()));
    }
    Ok(named)
}

/// Decisions about files that are nowhere in the tree.
fn missing_files(
    named: &[(&Decision, Vec<&String>)],
    tree: &ProjectTree,
    git: &Git,
    report: &mut AuditReport,
) {
    let is_missing = |file: &&&String| !file.contains(['*', '{']) && !tree.has(file);
    let all = named.iter().flat_map(|(_, files)| files);
    let missing: Vec<String> = all.filter(is_missing).map(|file| (*file).clone()).collect();
    let departed = departures(git, tree, &missing).unwrap_or_default();
    for (decision, files) in named {
        let missing: Vec<&&String> = files.iter().filter(is_missing).collect();
        let Some(first) = missing.first() else { continue };
        let became = departed
            .get(**first)
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
            if departed.contains_key(**first) { AuditClass::Stale } else { AuditClass::Unbound };
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
fn repeated(records: &[AuditedRecord], report: &mut AuditReport) {
    let mut first: HashMap<(&str, &str, String), &str> = HashMap::new();
    for record in records {
        let text = if record.decision.is_some() { &record.summary } else { &record.text };
        let (key, id) =
            ((record.kind.as_str(), record.scope.as_str(), folded(text)), record.name.id());
        let Some(known) = first.insert(key, id) else { continue };
        let message = format!("says the same as {known}: \"{}\"", short(&record.summary));
        let fix = match record.decision {
            Some(_) => format!("`twining reconsider {known}` and keep one"),
            None => format!("`twining dismiss {id} --reason \"same as {known}\"`"),
        };
        report
            .findings
            .push(AuditFinding::new(AuditClass::Duplicate, message, fix).about(&record.name));
    }
}

/// Entries that say nothing, or more than anybody reads.
fn entry_texts(record: &AuditedRecord, report: &mut AuditReport) {
    if record.decision.is_some() {
        return;
    }
    let (summary, size) = (&record.summary, record.text.len());
    let letters = summary.chars().filter(|c| c.is_alphabetic()).count();
    let says_nothing = record.text.trim() == summary.trim()
        && (letters < 4 || !summary.trim().contains(char::is_whitespace));
    let (class, message, fix) = if size > MOST_BYTES {
        let message = format!("has {size} bytes: it fills an agent's context by itself");
        (AuditClass::Oversized, message, "post its point in a few lines, then ")
    } else if says_nothing {
        (AuditClass::Junk, format!("says nothing: \"{}\"", short(summary)), "")
    } else {
        return;
    };
    let fix = format!("{fix}{}", record.way_out());
    report.findings.push(AuditFinding::new(class, message, fix).about(&record.name));
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
