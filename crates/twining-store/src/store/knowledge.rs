//! Where reviewed knowledge lives: one DOT file of the project, read whole and
//! replaced whole.
//!
//! The path may come from `config.yml`, which came with the repository: it is
//! walked name by name inside the project, follows no link, and ends in a DOT
//! file, so it can neither lead out nor be turned against another file.

use std::path::Path;

use twining_model::limits;
use xxhash_rust::xxh3::xxh3_128;

use super::documents::Documents;
use crate::disk::Dir;
use crate::disk::layout::{DECISIONS, FOLDER};
use crate::error::StoreError;

/// Its name in `.twining` and in `.maestro`.
const NAME: &str = "knowledge.dot";
/// Where another program keeps the same kind of file.
const MAESTRO_FOLDER: &str = ".maestro";
/// How a DOT file is called.
const ENDINGS: [&str; 2] = [".dot", ".gv"];

/// The knowledge file as it was when it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnowledgeFile {
    /// Relative to the project.
    pub path: String,
    /// What it holds; none if it is not there.
    pub bytes: Option<Vec<u8>>,
    /// A file in the other usual place, which is not read.
    pub ignored_path: Option<String>,
}

impl KnowledgeFile {
    /// What tells its content from any other.
    #[must_use]
    pub fn digest(&self) -> u128 {
        xxh3_128(self.bytes.as_deref().unwrap_or_default())
    }
}

/// A state of decisions and knowledge.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BindingFingerprint {
    /// When a decision last came, went or was replaced, in nanoseconds since 1970.
    pub decisions: i64,
    /// What the knowledge file holds, in short.
    pub knowledge: String,
}

impl Documents<'_> {
    /// What tells whether decisions or knowledge may have changed, without looking
    /// into them: the folder's own state, and the file's. None where there are none.
    pub fn binding_state(&self) -> Result<Option<BindingFingerprint>, StoreError> {
        let Some(store) = self.0.open_for_reading()? else { return Ok(None) };
        let decisions = store.layout.top.print(DECISIONS)?.map(|print| print.mtime_ns).unwrap_or_default();
        Ok(Some(BindingFingerprint { decisions, knowledge: format!("{:032x}", self.knowledge()?.digest()) }))
    }

    /// Reads the knowledge file, wherever it is.
    pub fn knowledge(&self) -> Result<KnowledgeFile, StoreError> {
        self.knowledge_in(&self.0.location().project)
    }

    /// Reads the version of it that a working tree of the project has.
    pub fn knowledge_in(&self, tree: &Path) -> Result<KnowledgeFile, StoreError> {
        let tree = Dir::project(tree, self.0.probe.clone())?;
        let chosen = self.0.config()?.knowledge.path;
        let has_maestro_file = is_there(&tree, MAESTRO_FOLDER)?;
        let path = knowledge_path(&chosen, has_maestro_file)?;
        let both = chosen.trim().is_empty() && has_maestro_file && is_there(&tree, FOLDER)?;
        Ok(KnowledgeFile { bytes: read(&tree, &path)?, path, ignored_path: both.then(|| format!("{FOLDER}/{NAME}")) })
    }

    /// Reads another DOT file of a working tree of the project, by its relative path.
    pub fn dot_file(&self, tree: &Path, path: &str) -> Result<KnowledgeFile, StoreError> {
        let bytes = read(&Dir::project(tree, self.0.probe.clone())?, path)?;
        Ok(KnowledgeFile { path: path.to_owned(), bytes, ignored_path: None })
    }
}

/// Where another program keeps its file, relative to the project.
#[must_use]
pub fn maestro_knowledge_path() -> String {
    format!("{MAESTRO_FOLDER}/{NAME}")
}

/// Where the file is, by the path that `config.yml` names, or none, and whether
/// another program's is there.
pub fn knowledge_path(chosen: &str, has_maestro_file: bool) -> Result<String, StoreError> {
    let path = match chosen.trim().trim_start_matches("./") {
        "" => format!("{}/{NAME}", if has_maestro_file { MAESTRO_FOLDER } else { FOLDER }),
        path => path.to_owned(),
    };
    split_dot_path(&path)?;
    Ok(path)
}

fn is_there(project: &Dir, folder: &str) -> Result<bool, StoreError> {
    Ok(project.open_dir(folder)?.map_or(Ok(None), |dir| dir.print(NAME))?.is_some())
}

fn read(project: &Dir, path: &str) -> Result<Option<Vec<u8>>, StoreError> {
    let (folders, name) = split_dot_path(path)?;
    project.walk(folders)?.map_or(Ok(None), |dir| dir.read(name, limits::KNOWLEDGE_BYTES))
}

/// The folders of a path and its name, if it stays in the project and names a
/// DOT file that is not git's own.
pub(crate) fn split_dot_path(path: &str) -> Result<(Vec<&str>, &str), StoreError> {
    let refused = |what| Err(StoreError::Unsafe { path: twining_model::text::excerpt(path, 200), what });
    let mut names: Vec<&str> = path.split('/').collect();
    let plain = |name: &&str| !name.is_empty() && *name != "." && *name != ".." && !name.chars().any(char::is_control);
    if path.contains('\\') || !names.iter().all(plain) {
        return refused("a path that leads out of it");
    }
    if names.iter().any(|name| name.eq_ignore_ascii_case(".git")) {
        return refused("inside `.git`");
    }
    let name = names.pop().unwrap_or_default();
    if !ENDINGS.iter().any(|ending| name.ends_with(ending)) {
        return refused("no `.dot` file");
    }
    Ok((names, name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_stays_in_the_project_and_names_a_dot_file() {
        for hostile in
            ["../x.dot", "/etc/x.dot", "a//x.dot", "a/../../x.dot", ".git/x.dot", "a/.GIT/x.dot", "src/main.rs", "", "a\\..\\x.dot"]
        {
            assert!(matches!(split_dot_path(hostile), Err(StoreError::Unsafe { .. })), "{hostile}");
        }
        assert_eq!(split_dot_path("docs/known.gv").expect("is fine"), (vec!["docs"], "known.gv"));
    }
}
