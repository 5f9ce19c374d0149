//! The audit of what names a place without being bound to it: names in records that are nowhere in
//! the code, entities of the graph, paths of knowledge, and globs of guards.

use std::collections::HashSet;
use std::path::Path;

use twining_guard::paths::PathGlobs;
use twining_guard::policy::Examples;
use twining_guard::{GuardSet, UserPolicy};
use twining_model::knowledge_vocabulary::Standing;
use twining_model::{Entity, EntityType, EntryType};
use twining_store::{StoreError, View};

use super::audited_record::{AuditedRecord, short};
use super::claims::{ClaimSubject, claims_in};
use super::documents::{DocumentKind, is_source};
use super::finding_commands::{change_node, edit, endings, prune_graph};
use super::project_tree::ProjectTree;
use super::report::{AuditClass, AuditFinding, AuditReport};
use super::source_words::find_words;
use crate::engine::Engine;
use crate::failure::Failure;
use crate::knowledge::{KnowledgeGraph, KnowledgeNode};

/// Entities and relations that are looked at.
const GRAPH: usize = 20_000;
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
            AuditFinding::new(AuditClass::Unbound, message, record.way_out())
                .settled_by(endings(record))
                .about(&record.name),
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
    // What it was bound to is judged by its code, also under another name.
    let is_judged =
        |words: &Vec<String>| words.last().is_some_and(|last| record.bound.names.contains(last));
    let named = record.decision.iter().filter(|_| !record.bound.is_rebound);
    let symbols = named.flat_map(|decision| &decision.affected_symbols);
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
    names.retain(|words| !is_judged(words));
    names
}

/// Entities whose files are not there, and relations without an end.
pub(super) fn lost_in_graph(
    view: &View<'_>,
    tree: &ProjectTree,
    report: &mut AuditReport,
) -> Result<(), StoreError> {
    let graph = view.graph();
    let alone: HashSet<String> =
        graph.disconnected(GRAPH)?.into_iter().map(|entity| entity.id).collect();
    for entity in graph.page(GRAPH)?.items {
        report.summary.records += 1;
        if let Some(file) = file_of(&entity).filter(|file| !tree.has(file)) {
            let message = if entity.kind == EntityType::File.as_str() {
                format!("the graph has the file `{file}`, which is not there")
            } else {
                format!("the graph has `{}` in `{file}`, which is not there", entity.name)
            };
            let is_alone = alone.contains(&entity.id);
            let fix = if is_alone {
                "`twining prune-graph --dry-run false` removes what has no relations"
            } else {
                "`twining add-entity` its new place, or keep it as history"
            };
            report.findings.push(
                AuditFinding::new(AuditClass::Lost, message, fix)
                    .settled_by(is_alone.then(prune_graph))
                    .of_record("entity", &entity.id),
            );
        }
    }
    for relation in graph.dangling(GRAPH)? {
        let message = format!(
            "`{}` leads from {} to {}; one of them is missing",
            relation.kind, relation.source, relation.target
        );
        let fix =
            "`twining prune-graph --dry-run false` removes it, and entities without relations";
        report.findings.push(
            AuditFinding::new(AuditClass::Lost, message, fix)
                .settled_by([prune_graph()])
                .of_record("relation", &relation.id),
        );
    }
    Ok(())
}

/// The file of an entity of the code, if it says so.
fn file_of(entity: &Entity) -> Option<&str> {
    let (named, given) = (entity.name.as_str(), |name| entity.properties.get(name));
    let code =
        [EntityType::Function, EntityType::Class, EntityType::Module].map(EntityType::as_str);
    let file = if entity.kind == EntityType::File.as_str() {
        named
    } else if code.contains(&entity.kind.as_str()) {
        let given = given("file").or_else(|| given("path")).map(String::as_str);
        given.or_else(|| named.split_once('#').map(|(file, _)| file))?.split('#').next()?
    } else {
        return None;
    };
    let is_path = file.contains(['/', '.']) && !file.contains(['*', '{', ':', ' ']);
    is_path.then_some(file)
}

impl Engine {
    /// Paths of current knowledge that is not known to be stale, and globs of the project's guards,
    /// that match no file.
    pub(super) fn lost_places(
        &self,
        tree: &ProjectTree,
        stale: &HashSet<String>,
        report: &mut AuditReport,
    ) -> Result<(), Failure> {
        let matches_nothing = |glob: &str| {
            let glob = glob.split('#').next().unwrap_or(glob).trim();
            let glob = glob.trim_start_matches("./").trim_end_matches('/');
            let globs = [glob.to_owned(), format!("{glob}/**")];
            let globs = PathGlobs::compile(&globs);
            !glob.is_empty()
                && glob != "project"
                && !tree.has(glob)
                && globs.is_ok_and(|globs| !tree.files().any(|file| globs.matches(file)))
        };
        let knowledge = self.store().documents().knowledge().ok();
        let knowledge = knowledge.and_then(|file| Some((file.path, file.bytes?)));
        if let Some((file, bytes)) = knowledge {
            let graph = KnowledgeGraph::read(&bytes);
            let is_current = |node: &KnowledgeNode<'_>| {
                node.standing() == Some(Standing::Current)
                    && !stale.contains(&format!("node:{}", node.id()))
            };
            for node in graph.nodes().filter(is_current) {
                let paths: Vec<&str> = node.field("path").split(',').map(str::trim).collect();
                let Some(path) = paths.into_iter().find(|path| matches_nothing(path)) else {
                    continue;
                };
                let message =
                    format!("the knowledge graph places it at `{path}`, where nothing is");
                let fix = "correct its path with `twining knowledge update`";
                let commands = change_node(node.id()).into_iter().chain([edit(&file, None)]);
                report.findings.push(
                    AuditFinding::new(AuditClass::Lost, message, fix)
                        .settled_by(commands)
                        .of_record("node", node.id()),
                );
            }
        }
        let policy = self.store().documents().policy()?;
        for guard in GuardSet::load(&UserPolicy::default(), &policy, Examples::Skip).guards {
            let lost = guard.project_globs().iter().find(|glob| matches_nothing(glob));
            // One that begins with a wildcard speaks of what may come.
            let Some(glob) = lost.filter(|glob| !glob.starts_with('*')) else { continue };
            let message = format!("the guard watches `{glob}`, which matches no file");
            let fix = "correct its `paths` in .twining/policy.yml, or remove it";
            let line = guard.source.line.and_then(|line| usize::try_from(line).ok());
            report.findings.push(
                AuditFinding::new(AuditClass::Lost, message, fix)
                    .settled_by([edit(".twining/policy.yml", line)])
                    .of_record("guard", &guard.id),
            );
        }
        Ok(())
    }
}
