//! The audit of what names a place without being bound to it: names in records that are nowhere in
//! the code, paths of the knowledge graph, and globs of guards.

use std::collections::HashSet;
use std::path::Path;

use twining_guard::paths::PathGlobs;
use twining_guard::policy::Examples;
use twining_guard::{GuardSet, UserPolicy};
use twining_model::EntryType;
use twining_model::knowledge_vocabulary::Standing;

use super::audited_record::{AuditedRecord, short};
use super::claims::{ClaimSubject, claims_in};
use super::documents::{DocumentKind, is_source};
use super::project_tree::ProjectTree;
use super::report::{AuditClass, AuditFinding, AuditReport};
use super::source_words::find_words;
use crate::engine::Engine;
use crate::failure::Failure;
use crate::knowledge::KnowledgeGraph;

/// Letters of a name that is looked for; shorter ones are in every code.
const NAME_CHARS: usize = 4;

/// Records that name code which is nowhere in the sources: symbols, and names in backticks.
pub(super) fn unbound_names(
    root: &Path,
    tree: &ProjectTree,
    records: &[AuditedRecord],
    is_time_up: &(dyn Fn() -> bool + Sync),
    report: &mut AuditReport,
) {
    let named: Vec<(&AuditedRecord, Vec<Vec<String>>)> =
        records.iter().map(|record| (record, names_in(record))).collect();
    let wanted: HashSet<String> =
        named.iter().flat_map(|(_, names)| names.iter().flatten().cloned()).collect();
    let sources: Vec<&str> = tree.files().filter(|file| is_source(file)).collect();
    let words = find_words(root, &sources, &wanted, is_time_up);
    if !words.is_complete {
        report.notes.push("time was up before names in records were searched for".to_owned());
        return;
    }
    for (record, names) in named {
        let is_missing =
            |words_of: &&Vec<String>| words_of.iter().any(|word| !words.present.contains(word));
        let Some(missing) = names.iter().find(is_missing) else { continue };
        let message = format!(
            "\"{}\" names `{}`, which is nowhere in the code",
            short(&record.summary),
            missing.join(".")
        );
        report.findings.push(
            AuditFinding::new(AuditClass::Unbound, message, record.way_out()).about(&record.name),
        );
    }
}

/// The names of code in a record, each as the words that must stand somewhere.
fn names_in(record: &AuditedRecord) -> Vec<Vec<String>> {
    // What is needed, offered or asked for may be to come.
    let speaks_of_now = record.decision.is_some()
        || [EntryType::Finding, EntryType::Warning, EntryType::Constraint]
            .iter()
            .any(|kind| record.kind == kind.as_str());
    if !speaks_of_now {
        return Vec::new();
    }
    let symbols = record.decision.iter().flat_map(|decision| &decision.affected_symbols);
    let leaf = |symbol: &String| {
        let mut words = symbol.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        words.rfind(|word| word.len() >= NAME_CHARS).map(|word| vec![word.to_owned()])
    };
    let mut names: Vec<Vec<String>> = symbols.filter_map(leaf).collect();
    let claims = claims_in(&record.text, DocumentKind::Instructions).into_iter();
    names.extend(claims.filter_map(|claim| match claim.subject {
        ClaimSubject::Name(words) => Some(words),
        ClaimSubject::Path { .. } | ClaimSubject::Command(_) => None,
    }));
    names
}

impl Engine {
    /// Paths of current knowledge, and globs of the project's guards, that match no file.
    pub(super) fn lost_places(
        &self,
        tree: &ProjectTree,
        report: &mut AuditReport,
    ) -> Result<(), Failure> {
        let matches_nothing = |glob: &str| {
            let glob = glob.split('#').next().unwrap_or(glob).trim().trim_end_matches('/');
            let globs = [glob.to_owned(), format!("{glob}/**")];
            let globs = PathGlobs::compile(&globs);
            !glob.is_empty()
                && globs.is_ok_and(|globs| !tree.files().any(|file| globs.matches(file)))
        };
        let knowledge = self.store().documents().knowledge().ok();
        if let Some(bytes) = knowledge.and_then(|file| file.bytes) {
            let graph = KnowledgeGraph::read(&bytes);
            for node in graph.nodes() {
                let path = node.field("path");
                if node.standing() == Some(Standing::Current) && matches_nothing(path) {
                    let message =
                        format!("the knowledge graph places it at `{path}`, where nothing is");
                    let fix = "correct its path with `twining knowledge update`";
                    report.findings.push(
                        AuditFinding::new(AuditClass::Lost, message, fix)
                            .of_record("node", node.id()),
                    );
                }
            }
        }
        let policy = self.store().documents().policy()?;
        for guard in GuardSet::load(&UserPolicy::default(), &policy, Examples::Skip).guards {
            let lost = guard.project_globs().iter().find(|glob| matches_nothing(glob));
            // One that begins with a wildcard speaks of what may come.
            let Some(glob) = lost.filter(|glob| !glob.starts_with('*')) else { continue };
            let message = format!("the guard watches `{glob}`, which matches no file");
            let fix = "correct its `paths` in .twining/policy.yml, or remove it";
            report.findings.push(
                AuditFinding::new(AuditClass::Lost, message, fix).of_record("guard", &guard.id),
            );
        }
        Ok(())
    }
}
