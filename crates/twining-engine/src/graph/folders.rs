//! Folders: a graph with one node for each folder, for graphs too large to be drawn.

use std::collections::{BTreeMap, BTreeSet};

use twining_model::EntityType;

use super::outline::{GraphOutline, NodeSource, OutlineEdge, OutlineNode};
use crate::fields;

/// The folder of what lies in none: files at the top, and all that no file is linked with.
const TOP: &str = "./";

/// Puts the nodes of each folder together. Where that makes more than `most`, the deepest
/// folders are put into those around them.
pub(super) fn folded(outline: &GraphOutline, most: usize) -> GraphOutline {
    let folders = folders(outline);
    let deepest = folders.iter().map(|folder| components(folder)).max().unwrap_or_default();
    let shortened = |depth: usize| -> Vec<&str> {
        folders.iter().map(|folder| shortened(folder, depth)).collect()
    };
    let fits = |depth: &usize| shortened(*depth).iter().collect::<BTreeSet<_>>().len() <= most;
    let depth = (1..=deepest).rev().find(fits).unwrap_or(1);
    grouped(outline, &shortened(depth))
}

/// The folder of each node: its own, else the one of the first node it is linked with.
fn folders(outline: &GraphOutline) -> Vec<String> {
    let own: Vec<Option<&str>> = outline.nodes.iter().map(own_folder).collect();
    let mut folders = own.clone();
    for edge in &outline.edges {
        for (node, other) in [(edge.from, edge.to), (edge.to, edge.from)] {
            if folders[node].is_none() {
                folders[node] = own[other];
            }
        }
    }
    folders.into_iter().map(|folder| folder.unwrap_or(TOP).to_owned()).collect()
}

fn own_folder(node: &OutlineNode) -> Option<&str> {
    match node.source {
        NodeSource::Entity if node.kind == EntityType::File.as_str() || node.name.contains('/') => {
            Some(folder_of(&node.name))
        }
        NodeSource::Knowledge => {
            // A pattern lies in the folder before its first wildcard.
            let plain = |path: &str| path.find(['*', '?']).unwrap_or(path.len());
            node.paths.first().map(|path| folder_of(&path[..plain(path)]))
        }
        NodeSource::Folder => Some(&node.name),
        NodeSource::Entity | NodeSource::Decision => None,
    }
}

/// The path up to its last slash, which is kept.
fn folder_of(path: &str) -> &str {
    path.rfind('/').map_or(TOP, |slash| &path[..=slash])
}

fn components(folder: &str) -> usize {
    folder.matches('/').count()
}

/// The first so many components of a folder.
fn shortened(folder: &str, depth: usize) -> &str {
    folder.match_indices('/').nth(depth - 1).map_or(folder, |(slash, _)| &folder[..=slash])
}

fn grouped(outline: &GraphOutline, folder_of: &[&str]) -> GraphOutline {
    let mut held: BTreeMap<&str, FolderCounts> = BTreeMap::new();
    for (node, folder) in outline.nodes.iter().zip(folder_of) {
        let counts = held.entry(folder).or_default();
        match node.source {
            NodeSource::Decision => counts.decisions += 1,
            _ if node.kind == EntityType::File.as_str() => counts.files += 1,
            _ => counts.others += 1,
        }
    }
    let places: BTreeMap<&str, usize> =
        held.keys().enumerate().map(|(place, folder)| (*folder, place)).collect();
    let edges = outline.edges.iter().map(|edge| OutlineEdge {
        from: places[folder_of[edge.from]],
        to: places[folder_of[edge.to]],
        kind: edge.kind,
    });
    let mut folders = GraphOutline {
        nodes: held
            .iter()
            .map(|(name, counts)| OutlineNode::folder(name, counts.words()))
            .collect(),
        edges: edges.filter(|edge| edge.from != edge.to).collect(),
        kinds: outline.kinds.clone(),
        ..GraphOutline::default()
    };
    folders.settle();
    let order = folders.all();
    folders.restricted(&order)
}

/// What lies in a folder.
#[derive(Default)]
struct FolderCounts {
    files: u64,
    decisions: u64,
    others: u64,
}

impl FolderCounts {
    fn words(&self) -> String {
        let words = [
            (self.files, "file", "files"),
            (self.decisions, "decision", "decisions"),
            (self.others, "other node", "other nodes"),
        ];
        let words = words.iter().filter(|(n, ..)| *n > 0);
        words.map(|(n, one, many)| fields::count(*n, one, many)).collect::<Vec<_>>().join(", ")
    }
}
