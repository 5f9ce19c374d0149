//! The audit of files that other tools keep for agents.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use twining_model::text;
use twining_store::disk;
use twining_store::git::Git;

use super::build_scripts::{BuildScripts, is_build_file};
use super::claim_checks::{CheckedClaim, check_names, check_now, wanted_words};
use super::claim_history::{check_history, check_words};
use super::claims::{ClaimSubject, claims_in};
use super::documents::{is_source, kind_of_document, kind_of_named};
use super::finding_commands::{edit, fix_file, redact};
use super::project_tree::ProjectTree;
use super::report::{AuditClass, AuditFinding, AuditReport, ClaimVerdict};
use super::source_words::find_words;
use super::text_checks::{Document, check_texts};

/// Bytes of a document, and of a build file.
const DOCUMENT_BYTES: usize = 1024 * 1024;
/// Documents that are read.
const MOST_DOCUMENTS: usize = 400;
/// Build files that are read.
const MOST_BUILD_FILES: usize = 2000;
/// Characters of a claim that are shown.
const CLAIM: usize = 120;
/// Files that git may ignore and agents read all the same.
const LOCAL_FILES: [&str; 6] = [
    "CLAUDE.local.md",
    "AGENTS.override.md",
    ".claude/CLAUDE.md",
    "MEMORY.md",
    "memory.jsonl",
    "CLAUDE.md",
];

/// What to audit, and with what.
pub struct AuditRequest<'a> {
    /// The project's folder.
    pub root: &'a Path,
    /// The repository around it.
    pub git: &'a Git,
    /// Files or folders that were named; none for all that are known.
    pub named: &'a [String],
    /// The project's files where there is no git.
    pub files: Vec<String>,
    /// Whether it is time to come to an end.
    pub is_time_up: &'a (dyn Fn() -> bool + Sync),
}

/// Audits the files. Reads, and writes nothing.
#[must_use]
pub fn audit_files(request: &AuditRequest<'_>) -> AuditReport {
    let Some(tracked) = request.git.tracked_files() else {
        return audit_tree(request, &request.files.iter().cloned().collect(), false);
    };
    let untracked = request.git.untracked_in(".").unwrap_or_default();
    let files = tracked.into_iter().map(|file| file.path).chain(untracked).collect();
    audit_tree(request, &files, true)
}

fn audit_tree(request: &AuditRequest<'_>, files: &BTreeSet<String>, has_git: bool) -> AuditReport {
    let mut report = AuditReport::default();
    let documents = read_documents(request, files, &mut report);
    let mut claims: Vec<CheckedClaim> = documents
        .iter()
        .flat_map(|document| {
            let claims = claims_in(&document.text, document.kind);
            claims.into_iter().map(|claim| CheckedClaim::new(&document.path, claim))
        })
        .collect();
    let scripts = read_scripts(request, files);
    let tree = ProjectTree::new(request.root, files.iter().cloned());
    check_now(&mut claims, request.root, &tree, &scripts);
    // Paths first: they cost least and mislead most.
    let written = has_git.then(|| check_history(&mut claims, request, &tree, &scripts)).flatten();
    let sources: Vec<&str> = tree.files().filter(|file| is_source(file)).collect();
    let words = find_words(request.root, &sources, &wanted_words(&claims), request.is_time_up);
    if words.is_complete {
        check_names(&mut claims, &words.present);
    }
    if let Some(written) = written.as_ref().filter(|_| words.is_complete) {
        check_words(&mut claims, request, &words, written);
    }
    report.notes.extend(notes(request, has_git, written.is_some(), words.is_complete));
    for checked in claims.iter_mut().filter(|checked| checked.verdict.is_none()) {
        checked.is_mistake = checked.claim.is_certain && (written.is_some() || !has_git);
        let why = match checked.claim.subject {
            ClaimSubject::Path { .. } => "there is no such file, and no commit removed one",
            ClaimSubject::Name(_) => "there is no such name, and no commit removed one",
            ClaimSubject::Command(_) => "nothing here defines it, and no commit removed it",
        };
        checked.settle(ClaimVerdict::Unknown, why);
    }
    count(&claims, &mut report);
    report.findings = check_texts(&documents);
    for finding in &mut report.findings {
        let (file, line) = (finding.file.clone().unwrap_or_default(), finding.line);
        let is_secret = finding.class == AuditClass::Secret;
        finding.commands = vec![if is_secret { redact(&file, line) } else { edit(&file, line) }];
    }
    report.findings.extend(findings(claims));
    report.documents = documents.into_iter().map(|document| document.path).collect();
    report.summary.documents = report.documents.len();
    report
}

/// What could not be looked at.
fn notes(
    request: &AuditRequest<'_>,
    has_git: bool,
    has_history: bool,
    has_words: bool,
) -> Vec<String> {
    let is_shallow = has_git && request.git.is_shallow();
    let notes = [
        (!has_git, "no git here: what became of missing things cannot be told"),
        (is_shallow, "this clone is shallow: what went before its first commit cannot be told"),
        (has_git && !has_history, "git took too long: not every missing path was looked up"),
        (!has_words, "time was up before all sources were searched for names"),
        (has_words && (request.is_time_up)(), "time was up: not every name was looked up"),
    ];
    notes.into_iter().filter(|(is_so, _)| *is_so).map(|(_, note)| note.to_owned()).collect()
}

fn read_documents(
    request: &AuditRequest<'_>,
    files: &BTreeSet<String>,
    report: &mut AuditReport,
) -> Vec<Document> {
    let mut chosen: BTreeSet<String> = BTreeSet::new();
    if request.named.is_empty() {
        chosen.extend(files.iter().filter(|file| kind_of_document(file).is_some()).cloned());
        let is_local = |file: &&str| !files.contains(*file) && disk::is_inside(request.root, file);
        chosen.extend(LOCAL_FILES.iter().copied().filter(is_local).map(str::to_owned));
    }
    for named in request.named {
        let folder = format!("{}/", named.trim_end_matches('/'));
        let is_text = |file: &&String| {
            [".md", ".mdc", ".mdx", ".jsonl", ".txt"].iter().any(|end| file.ends_with(end))
        };
        chosen
            .extend(files.iter().filter(|file| file.starts_with(&folder)).filter(is_text).cloned());
        if !chosen.iter().any(|file| file.starts_with(&folder)) {
            chosen.insert(named.clone());
        }
    }
    if chosen.len() > MOST_DOCUMENTS {
        report.notes.push(format!(
            "only the first {MOST_DOCUMENTS} of {} documents were read",
            chosen.len()
        ));
    }
    let mut documents = Vec::new();
    // A link to another document says nothing of its own.
    chosen.retain(|path| !request.root.join(path).is_symlink());
    for path in chosen.into_iter().take(MOST_DOCUMENTS) {
        match disk::read_inside(request.root, &path, DOCUMENT_BYTES) {
            Ok(Some(bytes)) => {
                let kind = kind_of_named(&path);
                let text = String::from_utf8_lossy(&bytes).into_owned();
                documents.push(Document { path, kind, text });
            }
            // A file that git lists and that is not there claims nothing.
            Ok(None) => {}
            Err(error) => report.notes.push(format!("`{path}` was not read: {error}")),
        }
    }
    documents
}

fn read_scripts(request: &AuditRequest<'_>, files: &BTreeSet<String>) -> BuildScripts {
    let mut scripts = BuildScripts::default();
    for file in files.iter().filter(|file| is_build_file(file)).take(MOST_BUILD_FILES) {
        if let Ok(Some(bytes)) = disk::read_inside(request.root, file, DOCUMENT_BYTES) {
            scripts.read(file, &String::from_utf8_lossy(&bytes));
        }
    }
    scripts
}

fn count(claims: &[CheckedClaim], report: &mut AuditReport) {
    let summary = &mut report.summary;
    summary.claims = claims.len();
    for checked in claims {
        match checked.verdict {
            Some(ClaimVerdict::Holds) => summary.holds += 1,
            Some(ClaimVerdict::Moved) => summary.moved += 1,
            Some(ClaimVerdict::Gone) => summary.gone += 1,
            Some(ClaimVerdict::Unknown) | None => summary.unknown += 1,
        }
    }
}

/// One finding for each thing that does not hold, wherever it is claimed.
fn findings(claims: Vec<CheckedClaim>) -> Vec<AuditFinding> {
    let mut by_subject: BTreeMap<(String, String), AuditFinding> = BTreeMap::new();
    for checked in claims {
        let Some(verdict) = checked.verdict.filter(|verdict| {
            matches!(verdict, ClaimVerdict::Moved | ClaimVerdict::Gone) || checked.is_mistake
        }) else {
            continue;
        };
        let class = match verdict {
            ClaimVerdict::Unknown => AuditClass::Unbound,
            _ => AuditClass::Stale,
        };
        let CheckedClaim { document, claim, proof, to, commit, .. } = checked;
        let fix = match (verdict, &to) {
            (ClaimVerdict::Moved, Some(_)) => "`twining audit --fix` writes the new place",
            (ClaimVerdict::Gone, _) => "drop it, or name what took its place",
            _ => "correct it, or drop it",
        };
        let place = format!("{document}:{}", claim.line);
        let fixed = (verdict == ClaimVerdict::Moved && to.is_some()).then(|| fix_file(&document));
        let commands = fixed.into_iter().chain([edit(&document, Some(claim.line))]);
        let made = AuditFinding {
            verdict: Some(verdict),
            claim: Some(text::excerpt(&claim.text, CLAIM)),
            to,
            commit,
            ..AuditFinding::new(class, proof, fix).at(&document, claim.line).settled_by(commands)
        };
        let key = (claim.text, made.message.clone());
        match by_subject.get_mut(&key) {
            Some(known) if !known.also.contains(&place) => known.also.push(place),
            Some(_) => {}
            None => drop(by_subject.insert(key, made)),
        }
    }
    by_subject.into_values().collect()
}
