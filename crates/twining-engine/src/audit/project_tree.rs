//! The files and folders of a project, to be found by what a document calls them.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};

use twining_store::disk;

/// Files and folders that git lists.
#[derive(Debug, Default)]
pub(super) struct ProjectTree {
    root: PathBuf,
    files: BTreeSet<String>,
    folders: HashSet<String>,
    /// Paths by their last part.
    by_name: HashMap<String, Vec<String>>,
    /// Files by their last part without its extension.
    by_stem: HashMap<String, Vec<String>>,
}

impl ProjectTree {
    pub(super) fn new(root: &Path, files: impl IntoIterator<Item = String>) -> Self {
        let mut tree = Self { root: root.to_owned(), ..Self::default() };
        for file in files {
            let ends = file.match_indices('/').map(|(at, _)| at);
            for folder in ends.map(|end| &file[..end]) {
                if tree.folders.insert(folder.to_owned()) {
                    tree.by_name.entry(last_part(folder)).or_default().push(folder.to_owned());
                }
            }
            let name = last_part(&file);
            if let Some((stem, _)) = name.split_once('.').filter(|(stem, _)| !stem.is_empty()) {
                tree.by_stem.entry(stem.to_owned()).or_default().push(file.clone());
            }
            tree.by_name.entry(name).or_default().push(file.clone());
            tree.files.insert(file);
        }
        tree
    }

    pub(super) fn files(&self) -> impl Iterator<Item = &str> {
        self.files.iter().map(String::as_str)
    }

    pub(super) fn has_file(&self, path: &str) -> bool {
        self.files.contains(path)
    }

    /// Whether git lists it or it is on the disk.
    pub(super) fn has(&self, path: &str) -> bool {
        let path = path.trim_end_matches('/');
        self.files.contains(path)
            || self.folders.contains(path)
            || (!self.root.as_os_str().is_empty() && disk::is_inside(&self.root, path))
    }

    /// Where something is that a document in `folder` calls `path`: from that folder, from one
    /// above it, or anywhere by the end of its path.
    pub(super) fn find(&self, folder: &str, path: &str) -> Option<String> {
        let from = candidates(folder, path);
        let found = from.iter().find(|path| self.has(path)).cloned();
        found.or_else(|| self.find_by_end(path)).or_else(|| self.find_by_end(self.inside(path)?))
    }

    /// What follows the first part of a path, where that is no folder of the project but what the
    /// project itself is called.
    pub(super) fn inside<'p>(&self, path: &'p str) -> Option<&'p str> {
        let (first, rest) = path.split_once('/')?;
        let is_known = self.by_name.contains_key(first);
        (rest.trim_end_matches('/').contains('/') && !is_known && !first.starts_with('.'))
            .then_some(rest)
    }

    /// Something whose path ends so, also without its extension.
    pub(super) fn find_by_end(&self, path: &str) -> Option<String> {
        let path = path.trim_start_matches("@/").trim_start_matches("../").trim_end_matches('/');
        let ends = |whole: &&String| is_end_of(path, whole);
        let named = self.by_name.get(&last_part(path)).into_iter().flatten();
        let stemmed = self.by_stem.get(&last_part(path)).into_iter().flatten();
        let without = |whole: &&String| {
            let stem = whole.rsplit_once('/').map_or("", |(folder, _)| folder);
            let stem = if stem.is_empty() {
                last_part(path)
            } else {
                format!("{stem}/{}", last_part(path))
            };
            is_end_of(path, &stem)
        };
        named.clone().find(ends).or_else(|| stemmed.clone().find(without)).cloned()
    }

    /// The only file of this name, if there is one and its name says something.
    pub(super) fn namesake(&self, path: &str) -> Option<&str> {
        const COMMON: &str = " README.md index.ts index.js index.tsx mod.rs lib.rs main.rs __init__.py package.json Cargo.toml \
            AGENTS.md CLAUDE.md types.ts utils.ts utils.py config.ts SKILL.md main.py conftest.py constants.ts ";
        let name = last_part(path);
        let named = self.by_name.get(&name).map(Vec::as_slice).unwrap_or_default();
        match named {
            [only] if !COMMON.contains(&format!(" {name} ")) && self.has_file(only) => Some(only),
            _ => None,
        }
    }
}

/// What a document in `folder` may mean by a path, the likeliest first.
pub(super) fn candidates(folder: &str, path: &str) -> Vec<String> {
    let path = path.trim_end_matches('/');
    let mut folders = vec![folder];
    while let Some((above, _)) = folders.last().and_then(|folder| folder.rsplit_once('/')) {
        folders.push(above);
    }
    folders.push("");
    let mut found: Vec<String> =
        folders.into_iter().filter_map(|folder| joined(folder, path)).collect();
    found.dedup();
    found
}

/// A path from a folder, without `.` and `..`; none if it leads out of the project.
fn joined(folder: &str, path: &str) -> Option<String> {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/').filter(|part| !part.is_empty() && *part != ".") {
        if part == ".." {
            parts.pop()?;
        } else {
            parts.push(part);
        }
    }
    (!parts.is_empty()).then(|| parts.join("/"))
}

/// Whether a whole path ends with another, part by part.
pub(super) fn is_end_of(end: &str, whole: &str) -> bool {
    whole.strip_suffix(end).is_some_and(|start| start.is_empty() || start.ends_with('/'))
}

pub(super) fn last_part(path: &str) -> String {
    path.trim_end_matches('/').rsplit('/').next().unwrap_or(path).to_owned()
}
