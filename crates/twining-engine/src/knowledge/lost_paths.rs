//! Paths of nodes that match no file of the checkout, with where the file went if git knows.

use std::collections::BTreeMap;
use std::path::Path;

use twining_guard::paths::PathGlobs;
use twining_store::git::Git;

use super::check::GraphFinding;
use super::graph::KnowledgeGraph;
use super::rules::path_globs;

/// Paths whose history is looked at.
const MAX_LOOKED_UP: usize = 50;

/// A warning for each path that matches nothing.
pub(super) fn warnings(graph: &KnowledgeGraph, checkout: &Path, git: &Git) -> Vec<GraphFinding> {
    let named = graph.nodes().flat_map(|node| {
        let paths = node.field("path").split(',');
        paths.map(move |path| (node.id().to_owned(), file_of(path)))
    });
    let is_absent = |(_, path): &(String, String)| {
        !path.is_empty() && path != "project" && !checkout.join(path).exists()
    };
    let absent: Vec<(String, String)> = named.filter(is_absent).collect();
    if absent.is_empty() {
        return Vec::new();
    }
    // Where git knows nothing, nothing is known of what there was.
    let Some(files) = git.tracked_files().filter(|files| !files.is_empty()) else {
        return Vec::new();
    };
    let matches_some = |globs: &PathGlobs| files.iter().any(|file| globs.matches(&file.path));
    let lost: Vec<(String, String)> = absent
        .into_iter()
        .filter(|(_, path)| path_globs(path).is_some_and(|globs| !matches_some(&globs)))
        .collect();
    let moved = moved_to(git, &lost);
    lost.into_iter()
        .map(|(node, path)| GraphFinding {
            node_id: Some(node),
            field: Some("path".to_owned()),
            message: format!("`{path}` matches no file"),
            suggestion: moved.get(&path).map(|to| format!("it moved to `{to}`")),
            ..GraphFinding::default()
        })
        .collect()
}

/// The file of a path, without the definition it may name.
fn file_of(path: &str) -> String {
    let path = path.trim().trim_start_matches("./").trim_start_matches('/');
    path.split_once('#').map_or(path, |(file, _)| file).trim_end_matches('/').to_owned()
}

/// Where files went that were renamed.
fn moved_to(git: &Git, lost: &[(String, String)]) -> BTreeMap<String, String> {
    let asked: Vec<String> =
        lost.iter().map(|(_, path)| path.clone()).take(MAX_LOOKED_UP).collect();
    let mut moved = BTreeMap::new();
    for (path, removal) in git.removals(&asked).unwrap_or_default() {
        let renames = git.renames_in(&removal.commit);
        if let Some((_, to)) = renames.into_iter().find(|(from, _)| *from == path) {
            moved.insert(path, to);
        }
    }
    moved
}
