//! A commit and its decisions: told by the commit's own words, or by its files.
//!
//! A trailer names decisions and is believed. Files only hint: of the decisions
//! about a file that was touched, those that wait for their commit are linked, and
//! the link says what it rests on.

use twining_model::{CommitLink, Decision, Id, Scope, Time, limits};
pub use twining_store::git::CommitSeen;
use twining_store::{StoreError, Via, View};

use crate::decisions::why::{WhyDecision, why_decision};
use crate::failure::Failure;

/// Files of a commit that are looked up; beyond it a commit touches everything.
const FILES: usize = 100;
/// Decisions that one commit is linked with by its files, and by its trailers.
const BY_FILES: usize = 10;
const BY_TRAILER: usize = 50;
/// Characters of an id that a trailer must give.
const PREFIX: usize = 8;
/// How long a decision waits for its first commit.
const WAITS_MS: i64 = 14 * 24 * 60 * 60 * 1000;

/// Whether a commit names a decision or touches a file that one may be about. A merge
/// touches what its branches did.
pub(crate) fn may_concern_decisions(commit: &CommitSeen) -> bool {
    !commit.trailers.is_empty() || (commit.parents.len() < 2 && commit.files.iter().any(|file| !file.starts_with(".twining/")))
}

/// What a link between a commit and a decision rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LinkSource {
    /// Somebody said so.
    Word,
    /// The commit names the decision.
    Trailer,
    /// The commit touches the decision's files.
    Files,
}

impl LinkSource {
    /// The word for it in files; none for what somebody said.
    #[must_use]
    pub fn as_str(self) -> Option<&'static str> {
        match self {
            Self::Word => None,
            Self::Trailer => Some("trailer"),
            Self::Files => Some("files"),
        }
    }

    fn of(link: Option<&CommitLink>) -> Self {
        match link.and_then(|link| link.by.as_deref()) {
            Some("trailer") => Self::Trailer,
            Some("files") => Self::Files,
            _ => Self::Word,
        }
    }
}

/// The decisions that a new commit carries out. `before` tells when the commit
/// before it was made.
pub fn carried_out(view: &View<'_>, commit: &CommitSeen, before: &dyn Fn() -> Option<Time>) -> Result<Vec<(Id, LinkSource)>, StoreError> {
    let mut found: Vec<(Id, LinkSource)> = Vec::new();
    for id in named(view, commit)? {
        found.push((id, LinkSource::Trailer));
    }
    // A merge touches what its branches did; those commits have their own links.
    if commit.parents.len() > 1 {
        return Ok(found);
    }
    let mut asked: Option<Option<Time>> = None;
    let mut waits = |decision: &Decision| {
        let made = Time::read(&decision.timestamp).unwrap_or_else(|| decision.id.time());
        if decision.commit_hashes.is_empty() && view.now().as_ms() - made.as_ms() < WAITS_MS {
            return true;
        }
        // git counts in seconds.
        asked.get_or_insert_with(before).is_some_and(|before| made.as_ms() / 1000 > before.as_ms() / 1000)
    };
    let mut by_files: Vec<Decision> = about_files(view, commit)?.into_iter().filter(|decision| decision.status.binds()).collect();
    by_files.retain(|decision| waits(decision) && !found.iter().any(|(id, _)| *id == decision.id));
    by_files.sort_by(|a, b| b.id.cmp(&a.id));
    found.extend(by_files.into_iter().take(BY_FILES).map(|decision| (decision.id, LinkSource::Files)));
    Ok(found)
}

/// The decisions behind a commit: linked with it, named by it, or about its files;
/// the surest first.
pub(crate) fn decisions_of_commit(
    view: &View<'_>,
    stored: Vec<(String, Id)>,
    commit: Option<&CommitSeen>,
) -> Result<Vec<WhyDecision>, Failure> {
    let mut found: Vec<(LinkSource, Decision)> = Vec::new();
    for (hash, id) in stored {
        if let Some(decision) = view.decisions().get(&id)? {
            let link = decision.commits.iter().find(|link| link.hash.eq_ignore_ascii_case(&hash));
            found.push((LinkSource::of(link), decision));
        }
    }
    if let Some(commit) = commit {
        for id in named(view, commit)? {
            if let Some(decision) = view.decisions().get(&id)? {
                found.push((LinkSource::Trailer, decision));
            }
        }
        found.extend(about_files(view, commit)?.into_iter().take(BY_FILES).map(|decision| (LinkSource::Files, decision)));
    }
    found.sort_by(|a, b| a.0.cmp(&b.0).then_with(|| b.1.id.cmp(&a.1.id)));
    let mut seen = std::collections::HashSet::new();
    found.retain(|(_, decision)| seen.insert(decision.id.clone()));
    let word = |by: LinkSource| by.as_str().unwrap_or("linked").to_owned();
    Ok(found.into_iter().map(|(by, decision)| why_decision(word(by), decision, Vec::new())).collect())
}

/// The decisions that a commit names. A beginning counts if only one decision has it.
fn named(view: &View<'_>, commit: &CommitSeen) -> Result<Vec<Id>, StoreError> {
    let words = commit.trailers.iter().flat_map(|line| line.split([',', ' ', ';'])).map(str::trim).filter(|word| word.len() >= PREFIX);
    let mut ids = Vec::new();
    for word in words.take(BY_TRAILER) {
        if let [id] = &view.decisions().beginning_with(word, 2)?[..]
            && !ids.contains(id)
        {
            ids.push(id.clone());
        }
    }
    Ok(ids)
}

/// Decisions about the very files that a commit touches, newest first.
fn about_files(view: &View<'_>, commit: &CommitSeen) -> Result<Vec<Decision>, StoreError> {
    let mut ids: Vec<Id> = Vec::new();
    for file in commit.files.iter().filter(|file| !file.starts_with(".twining/") && file.len() <= limits::ELEMENT_BYTES).take(FILES) {
        let rows = view.decisions().affecting(&Scope::read(file))?;
        ids.extend(rows.into_iter().filter(|row| matches!(row.via, Via::Exact | Via::File)).map(|row| row.id));
    }
    ids.sort_unstable_by(|a, b| b.cmp(a));
    ids.dedup();
    let mut found = Vec::new();
    for id in ids.iter().take(limits::PAGE) {
        found.extend(view.decisions().get(id)?);
    }
    Ok(found)
}
