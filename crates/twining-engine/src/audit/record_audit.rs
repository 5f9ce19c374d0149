//! The audit of our own records: those that name what is not there, repeat or contradict each
//! other, wait for too long, or say nothing.

use std::collections::HashMap;
use std::path::Path;

use twining_model::{AnchoredRecord, EntryType};
use twining_store::git::Git;
use twining_store::{StoreError, View, disk};

use super::anchored_records::{
    confirmed_by_agents, places_of, rivals_on_code, same_meaning, stale_code,
    without_other_branches,
};
use super::audited_record::{AuditedRecord, BoundCode, folded, short};
use super::claim_history::departures;
use super::finding_commands::{
    bind, endings, make_one, override_it, promote, redact, settle_contest,
};
use super::lost_references::{lost_in_graph, unbound_names};
use super::project_tree::ProjectTree;
use super::report::{AuditClass, AuditFinding, AuditReport};
use crate::engine::Engine;
use crate::failure::Failure;
use crate::record_walk::{each_decision, each_entry};

/// Bytes of a record that fills the budget of an agent's context by itself.
const MOST_BYTES: usize = 16 * 1024;
/// Bytes of a file of the memory in which a line is looked for.
const MEMORY_BYTES: usize = 64 * 1024 * 1024;
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
        let tracked = git.tracked_files().unwrap_or_default().into_iter().map(|file| file.path);
        let untracked = git.untracked_in(".").unwrap_or_default();
        let tree = ProjectTree::new(root, tracked.chain(untracked));
        // Vectors are taken before the index is looked at.
        let (vectors, _) = self.loaded_index()?;
        let report = self.store().view(|view| {
            let mut report = AuditReport::default();
            let records = audited(view, &mut report)?;
            let records = without_other_branches(self, view, git, records, &mut report)?;
            let places = places_of(view, &records)?;
            let stale = stale_code(self, view, &records, is_time_up, &mut report)?;
            let named = unjudged_files(view, &records)?;
            missing_files(&named, &tree, git, &mut report);
            let bound: Vec<AuditedRecord> = records
                .into_iter()
                .filter(|record| !stale.contains(&record.name.to_string()))
                .collect();
            unbound_names(root, &tree, &bound, is_time_up, &mut report);
            contradictions(self, view, &mut report)?;
            rivals_on_code(view, &bound, &places, &mut report);
            repeated(&bound, &mut report);
            if let Some(vectors) = &vectors {
                same_meaning(vectors, &bound, &places, &mut report);
            }
            confirmed_by_agents(view, &bound, &places, &mut report)?;
            for record in &bound {
                texts(record, &mut report);
            }
            lost_in_graph(view, &tree, &mut report)?;
            let documents = self.nodes_and_features();
            let stale = stale_code(self, view, &documents, is_time_up, &mut report)?;
            Ok::<_, Failure>((report, stale))
        })?;
        let (mut report, stale) = report;
        self.lost_places(&tree, &stale, &mut report)?;
        for secret in self.scan_secrets()?.found {
            let message =
                format!("the field `{}` contains a secret: {}", secret.field, secret.kind);
            let fix = "revoke it, then remove it from the file and from history";
            let finding = AuditFinding::new(AuditClass::Secret, message, fix);
            let file = format!(".twining/{}", secret.file);
            let finding = finding.settled_by([redact(
                &file,
                line_of(&self.store().location().project, &file, &secret.id),
            )]);
            report.findings.push(finding.of_record("record", &secret.id).at(&file, None));
        }
        Ok(report)
    }
}

/// The line of a file of the memory that has a record.
fn line_of(root: &Path, file: &str, id: &str) -> Option<usize> {
    let bytes = disk::read_inside(root, file, MEMORY_BYTES).ok()??;
    let text = String::from_utf8_lossy(&bytes);
    text.lines().position(|line| line.contains(id)).map(|before| before + 1)
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
                bound: BoundCode::of(view, &AnchoredRecord::Decision(decision.id.to_string()))?,
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
            let name = AnchoredRecord::Entry(entry.id);
            found.push(AuditedRecord {
                text: format!("{}\n\n{}", entry.summary, entry.detail).trim_end().to_owned(),
                bound: BoundCode::of(view, &name)?,
                name,
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
) -> Result<Vec<(&'r AuditedRecord, Vec<&'r String>)>, StoreError> {
    let mut named = Vec::new();
    for record in records.iter().filter(|record| !record.bound.is_rebound) {
        let Some(decision) = &record.decision else { continue };
        let lines = view.anchors().history(&record.name)?;
        let is_bound = |file: &&String| lines.iter().any(|line| line.at.path() == file.as_str());
        let files = decision.affected_files.iter();
        named.push((record, files.filter(|file| !is_bound(file)).collect()));
    }
    Ok(named)
}

/// Decisions about files that are nowhere in the tree.
fn missing_files(
    named: &[(&AuditedRecord, Vec<&String>)],
    tree: &ProjectTree,
    git: &Git,
    report: &mut AuditReport,
) {
    let is_missing = |file: &&&String| !file.contains(['*', '{']) && !tree.has(file);
    let all = named.iter().flat_map(|(_, files)| files);
    let missing: Vec<String> = all.filter(is_missing).map(|file| (*file).clone()).collect();
    let departed = departures(git, tree, &missing).unwrap_or_default();
    for (record, files) in named {
        let missing: Vec<&&String> = files.iter().filter(is_missing).collect();
        let Some(first) = missing.first() else { continue };
        let became = departed
            .get(**first)
            .map_or_else(|| "is nowhere in the tree".to_owned(), |departure| departure.in_words());
        let more = match missing.len() {
            1 => String::new(),
            number => {
                let files = record.decision.as_ref().map_or(&[][..], |it| &it.affected_files);
                format!("; {number} of its {} files are missing", files.len())
            }
        };
        let message =
            format!("\"{}\" names `{first}`, which {became}{more}", short(&record.summary));
        let class =
            if departed.contains_key(**first) { AuditClass::Stale } else { AuditClass::Unbound };
        // With `reanchor`, one that is bound would leave the code it has.
        let bind = (!record.bound.is_bound).then(|| bind(&record.name));
        let fix = match &bind {
            Some(bind) => format!("`{}` where it is now, or {}", bind.command, record.way_out()),
            None => record.way_out(),
        };
        report.findings.push(
            AuditFinding::new(class, message, fix)
                .settled_by(bind.into_iter().chain(endings(record)))
                .about(&record.name),
        );
    }
}

/// Decisions that contradict each other, and those that nobody settles.
fn contradictions(
    engine: &Engine,
    view: &View<'_>,
    report: &mut AuditReport,
) -> Result<(), Failure> {
    let decisions = view.decisions();
    for contest in engine.contests_here(view, decisions.active_contests()?)? {
        let rivals: Vec<&str> = contest.rivals.iter().map(|rival| rival.as_str()).collect();
        let message =
            format!("is in force and contradicts {} (`{}`)", rivals.join(", "), contest.scope);
        let fix = "`twining waiting` shows both and what each answer does";
        report.findings.push(
            AuditFinding::new(AuditClass::Contradictory, message, fix)
                .settled_by(settle_contest(contest.id.as_str(), &rivals))
                .of_record("decision", contest.id.as_str()),
        );
    }
    for waiting in decisions.provisional()? {
        let age = view.now().as_ms() - waiting.since.as_ms();
        let id = &waiting.id;
        let fix = format!("`twining promote {id}`, or `twining override {id} --why \"…\"`");
        let (class, message) = if waiting.is_clashed {
            (AuditClass::Contradictory, "two branches changed it differently".to_owned())
        } else if age > PATIENCE_MS {
            let days = age / (PATIENCE_MS / 30);
            (AuditClass::Leftover, format!("is provisional for {days} days"))
        } else {
            continue;
        };
        let commands = [promote(id.as_str()), override_it('d', "override", id.as_str(), "…")];
        report.findings.push(
            AuditFinding::new(class, message, fix)
                .settled_by(commands)
                .of_record("decision", id.as_str()),
        );
    }
    Ok(())
}

/// Records with the same text.
fn repeated(records: &[AuditedRecord], report: &mut AuditReport) {
    let mut first: HashMap<(&str, &str, String), &str> = HashMap::new();
    for record in records {
        let text = if record.decision.is_some() { &record.summary } else { &record.text };
        let key = (record.kind.as_str(), record.scope.as_str(), folded(text));
        let Some(known) = first.insert(key, record.name.id()) else { continue };
        let message = format!("says the same as {known}: \"{}\"", short(&record.summary));
        let make_one = make_one(record, known);
        let fix = format!("keep one: `{}`", make_one.command);
        report.findings.push(
            AuditFinding::new(AuditClass::Duplicate, message, fix)
                .settled_by([make_one])
                .about(&record.name),
        );
    }
}

/// Records that say nothing, or more than anybody reads.
fn texts(record: &AuditedRecord, report: &mut AuditReport) {
    let (summary, size) = (&record.summary, record.text.len());
    let tells_nothing = |text: &str| {
        let letters = text.chars().filter(|c| c.is_alphabetic()).count();
        letters < 4 || !text.trim().contains(char::is_whitespace)
    };
    let says_nothing = tells_nothing(summary)
        && match &record.decision {
            Some(decision) => tells_nothing(&decision.rationale),
            None => record.text.trim() == summary.trim(),
        };
    let (class, message, fix) = if size > MOST_BYTES {
        let message = format!("has {size} bytes: it fills an agent's context by itself");
        (AuditClass::Oversized, message, "record its point in a few lines, then ")
    } else if says_nothing {
        (AuditClass::Junk, format!("says nothing: \"{}\"", short(summary)), "")
    } else {
        return;
    };
    let fix = format!("{fix}{}", record.way_out());
    report.findings.push(
        AuditFinding::new(class, message, fix).settled_by(endings(record)).about(&record.name),
    );
}
