//! Claims held against the tree as it is now. What does not hold is left to history.

use std::collections::HashSet;
use std::path::Path;

use twining_store::disk;

use super::build_scripts::BuildScripts;
use super::claims::{ClaimSubject, DocClaim};
use super::project_tree::ProjectTree;
use super::report::ClaimVerdict;

/// Bytes of a file whose lines are counted.
const COUNTED_BYTES: usize = 4 * 1024 * 1024;

/// A claim, and what became of it.
#[derive(Clone, Debug)]
pub(super) struct CheckedClaim {
    /// The document, from the project's folder.
    pub document: String,
    /// What it claims.
    pub claim: DocClaim,
    /// What became of it; none while nobody knows.
    pub verdict: Option<ClaimVerdict>,
    /// The proof, in words.
    pub proof: String,
    /// Where the subject is now.
    pub to: Option<String>,
    /// The commit in which it moved or went.
    pub commit: Option<String>,
    /// Whether it is reported although the subject never was there.
    pub is_mistake: bool,
}

impl CheckedClaim {
    pub(super) fn new(document: &str, claim: DocClaim) -> Self {
        Self {
            document: document.to_owned(),
            claim,
            verdict: None,
            proof: String::new(),
            to: None,
            commit: None,
            is_mistake: false,
        }
    }

    /// The folder its document is in.
    pub(super) fn folder(&self) -> &str {
        self.document.rsplit_once('/').map_or("", |(folder, _)| folder)
    }

    pub(super) fn settle(&mut self, verdict: ClaimVerdict, proof: impl Into<String>) {
        self.verdict = Some(verdict);
        self.proof = proof.into();
    }
}

/// Settles what the tree, its build files and its words can.
pub(super) fn check_now(
    claims: &mut [CheckedClaim],
    root: &Path,
    tree: &ProjectTree,
    scripts: &BuildScripts,
) {
    for checked in claims {
        match &checked.claim.subject {
            ClaimSubject::Path { path, line } => {
                if let Some(place) = tree.find(checked.folder(), path) {
                    match line.and_then(|line| beyond_end(root, &place, line)) {
                        Some(proof) => checked.settle(ClaimVerdict::Gone, proof),
                        None => checked.settle(ClaimVerdict::Holds, ""),
                    }
                }
            }
            ClaimSubject::Command(need) => {
                if scripts.defines(need) == Some(true) {
                    checked.settle(ClaimVerdict::Holds, "");
                }
            }
            ClaimSubject::Name(_) => {}
        }
    }
}

/// The words that names consist of.
pub(super) fn wanted_words(claims: &[CheckedClaim]) -> HashSet<String> {
    let words = claims.iter().filter_map(|checked| match &checked.claim.subject {
        ClaimSubject::Name(words) => Some(words.iter().cloned()),
        ClaimSubject::Path { .. } | ClaimSubject::Command(_) => None,
    });
    words.flatten().collect()
}

/// Settles the names whose words all stand in the sources.
pub(super) fn check_names(claims: &mut [CheckedClaim], present: &HashSet<String>) {
    for checked in claims {
        if let ClaimSubject::Name(words) = &checked.claim.subject
            && words.iter().all(|word| present.contains(word))
        {
            checked.settle(ClaimVerdict::Holds, "");
        }
    }
}

/// Why a file has no such line.
fn beyond_end(root: &Path, file: &str, line: usize) -> Option<String> {
    let bytes = disk::read_inside(root, file, COUNTED_BYTES).ok().flatten()?;
    let lines = String::from_utf8_lossy(&bytes).lines().count();
    (line > lines).then(|| format!("`{file}` has only {lines} lines"))
}
