//! Commits: which of them carry a decision out, in both directions.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use twining_model::{
    Change, CommitLink, Confidence, Decision, DecisionStatus, Id, InvalidInput, Scope, Time,
    limits, text,
};
pub use twining_store::git::CommitDetails;
use twining_store::{StoreError, Via, View};

use crate::caller::Stamp;
use crate::decisions::decide::amendment;
use crate::decisions::search::find;
use crate::decisions::why::{WhyDecision, why_decision};
use crate::failure::Failure;
use crate::secrets::{Redaction, redact_fields};
use crate::{fields, graph};

/// Digits from which two beginnings of a hash are taken for one commit.
const SURELY_ONE: usize = 7;
/// Commits that an error lists.
const CANDIDATES: usize = 20;

/// Which commit to link, as given by the caller.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LinkCommitInput {
    /// Which decision
    pub decision_id: String,
    /// The commit
    pub commit_hash: String,
    /// What the commit did
    pub summary: Option<String>,
    /// Your name
    pub agent_id: Option<String>,
}

redact_fields!(LinkCommitInput { summary, commit_hash });

/// What was linked.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct LinkCommitOutcome {
    /// False if it was linked already.
    pub linked: bool,
    /// The decision.
    pub decision_id: Id,
    /// The commit.
    pub commit_hash: String,
    /// The decision's choice.
    pub decision_summary: String,
    /// Secrets redacted before writing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub redacted: Vec<Redaction>,
}

/// A link to be, every rule checked.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct LinkCommitDraft {
    id: Id,
    hash: String,
    summary: Option<String>,
    by: LinkSource,
}

impl LinkCommitDraft {
    /// Checks every word.
    pub(super) fn parse(input: &LinkCommitInput) -> Result<Self, InvalidInput> {
        Ok(Self {
            id: Id::parse("decision_id", input.decision_id.trim())?,
            hash: fields::commit_hash("commit_hash", &input.commit_hash)?,
            summary: fields::optional("summary", input.summary.as_deref(), text::summary)?,
            by: LinkSource::Word,
        })
    }

    /// The link of a commit that git was seen to make.
    pub(crate) fn seen(
        id: Id,
        commit: &CommitDetails,
        by: LinkSource,
    ) -> Result<Self, InvalidInput> {
        let hash = fields::commit_hash("commit_hash", &commit.hash)?;
        Ok(Self {
            id,
            hash,
            summary: Some(fields::summary(&commit.subject)).filter(|summary| !summary.is_empty()),
            by,
        })
    }
}

/// Which commit to look up.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CommitsInput {
    /// Hash, or its first 4 digits or more
    pub commit_hash: String,
}

/// A decision that a commit carries out.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CommitDecision {
    /// Its id.
    pub id: Id,
    /// Its choice.
    pub summary: String,
    /// Its domain.
    pub domain: String,
    /// What it governs.
    pub scope: String,
    /// Its status.
    pub status: DecisionStatus,
    /// How sure its author is.
    pub confidence: Confidence,
    /// When it was made.
    pub timestamp: String,
    /// The hash it is linked by.
    pub commit_hash: String,
}

/// The decisions of a commit.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CommitsOutcome {
    /// The stored hash; the given one if none.
    pub commit_hash: String,
    /// Newest first.
    pub decisions: Vec<CommitDecision>,
}

/// Plans the link: in the decision, and from its concept to the commit in the graph.
pub(super) fn plan_link_commit(
    view: &View<'_>,
    draft: &LinkCommitDraft,
    stamp: &Stamp<'_>,
) -> Result<(Change, LinkCommitOutcome), Failure> {
    let before = find(view, &draft.id)?;
    let mut after = before.clone();
    let linked = !before.commit_hashes.iter().any(|stored| is_same_commit(stored, &draft.hash));
    let commit_hash = link(&mut after, draft, stamp);
    let mut change = Change::default();
    if after != before {
        change.amendments.push(amendment(&before, &after)?);
        graph::link_commit(&mut change, view, &before, &commit_hash, stamp)?;
    }
    Ok((
        change,
        LinkCommitOutcome {
            linked,
            decision_id: draft.id.clone(),
            commit_hash,
            decision_summary: before.summary,
            redacted: Vec::new(),
        },
    ))
}

/// The decisions that a commit carries out. Any beginning of its hash will do,
/// as long as it is the beginning of one commit only.
pub(super) fn commits(view: &View<'_>, input: &CommitsInput) -> Result<CommitsOutcome, Failure> {
    let (commit_hash, found) = linked(view, &input.commit_hash)?;
    let mut decisions: Vec<CommitDecision> = Vec::with_capacity(found.len());
    for (hash, id) in found {
        if decisions.iter().any(|listed| listed.id == id) {
            continue;
        }
        if let Some(decision) = view.decisions().get(&id)? {
            decisions.push(commit_decision(decision, hash));
        }
    }
    Ok(CommitsOutcome { commit_hash, decisions })
}

/// The commit that a beginning of a hash means, and what is linked with it.
pub(crate) fn linked(view: &View<'_>, asked: &str) -> Result<(String, Vec<(String, Id)>), Failure> {
    let asked = fields::commit_hash("commit_hash", asked)?;
    let mut found = view.decisions().by_commit(&asked)?;
    found.sort_by(|a, b| b.1.cmp(&a.1));
    let longest = found.iter().map(|(hash, _)| hash.to_ascii_lowercase()).max_by_key(String::len);
    let commit_hash = longest.unwrap_or_else(|| asked.clone());
    let mut hashes: Vec<String> = found.iter().map(|(hash, _)| hash.to_ascii_lowercase()).collect();
    hashes.sort();
    hashes.dedup();
    if !hashes.iter().all(|hash| commit_hash.starts_with(hash.as_str())) {
        let hashes = hashes.iter().take(CANDIDATES).map(|hash| text::excerpt(hash, 64)).collect();
        return Err(Failure::AmbiguousCommit { prefix: asked, hashes });
    }
    Ok((commit_hash, found))
}

/// Links a commit and returns its hash as it is stored from now on. Two
/// beginnings of one hash are one commit, and the longer says more.
fn link(decision: &mut Decision, draft: &LinkCommitDraft, stamp: &Stamp<'_>) -> String {
    let stored =
        decision.commit_hashes.iter_mut().find(|stored| is_same_commit(stored, &draft.hash));
    let hash = match stored {
        Some(stored) if stored.len() >= draft.hash.len() => stored.clone(),
        Some(stored) => {
            stored.clone_from(&draft.hash);
            draft.hash.clone()
        }
        None => {
            decision.commit_hashes.push(draft.hash.clone());
            draft.hash.clone()
        }
    };
    match decision.commits.iter_mut().find(|known| is_same_commit(&known.hash, &hash)) {
        Some(known) => {
            known.hash.clone_from(&hash);
            if draft.summary.is_some() {
                known.summary.clone_from(&draft.summary);
            }
            if draft.by == LinkSource::Word {
                // Somebody's word counts more than what files or a message hint at.
                known.by = None;
            }
        }
        None => {
            let by = draft.by.as_str().map(str::to_owned);
            decision.commits.push(CommitLink {
                hash: hash.clone(),
                summary: draft.summary.clone(),
                linked_at: stamp.at,
                by,
            });
        }
    }
    hash
}

fn is_same_commit(left: &str, right: &str) -> bool {
    let (left, right) = (left.to_ascii_lowercase(), right.to_ascii_lowercase());
    let (short, long) = if left.len() < right.len() { (left, right) } else { (right, left) };
    short == long || (short.len() >= SURELY_ONE && long.starts_with(&short))
}

fn commit_decision(decision: Decision, commit_hash: String) -> CommitDecision {
    CommitDecision {
        id: decision.id,
        summary: decision.summary,
        domain: decision.domain,
        scope: decision.scope,
        status: decision.status,
        confidence: decision.confidence,
        timestamp: decision.timestamp,
        commit_hash,
    }
}

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
pub(crate) fn may_concern_decisions(commit: &CommitDetails) -> bool {
    !commit.trailers.is_empty()
        || (commit.parents.len() < 2
            && commit.files.iter().any(|file| !file.starts_with(".twining/")))
}

/// What a link between a commit and a decision rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LinkSource {
    /// A caller's statement.
    Word,
    /// The commit names the decision.
    Trailer,
    /// The commit touches the decision's files.
    Files,
}

impl LinkSource {
    /// Its name in files; `None` for a caller's statement.
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

/// The decisions that a new commit carries out. `before` returns the time of the previous commit.
pub(super) fn carried_out(
    view: &View<'_>,
    commit: &CommitDetails,
    before: &dyn Fn() -> Option<Time>,
) -> Result<Vec<(Id, LinkSource)>, StoreError> {
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
        asked
            .get_or_insert_with(before)
            .is_some_and(|before| made.as_ms() / 1000 > before.as_ms() / 1000)
    };
    let mut by_files: Vec<Decision> =
        about_files(view, commit)?.into_iter().filter(|decision| decision.status.binds()).collect();
    by_files.retain(|decision| waits(decision) && !found.iter().any(|(id, _)| *id == decision.id));
    by_files.sort_by(|a, b| b.id.cmp(&a.id));
    found.extend(
        by_files.into_iter().take(BY_FILES).map(|decision| (decision.id, LinkSource::Files)),
    );
    Ok(found)
}

/// The decisions behind a commit: linked with it, named by it, or about its files;
/// the surest first.
pub(crate) fn decisions_of_commit(
    view: &View<'_>,
    stored: Vec<(String, Id)>,
    commit: Option<&CommitDetails>,
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
        found.extend(
            about_files(view, commit)?
                .into_iter()
                .take(BY_FILES)
                .map(|decision| (LinkSource::Files, decision)),
        );
    }
    found.sort_by(|a, b| a.0.cmp(&b.0).then_with(|| b.1.id.cmp(&a.1.id)));
    let mut seen = std::collections::HashSet::new();
    found.retain(|(_, decision)| seen.insert(decision.id.clone()));
    let word = |by: LinkSource| by.as_str().unwrap_or("linked").to_owned();
    Ok(found
        .into_iter()
        .map(|(by, decision)| why_decision(word(by), decision, Vec::new()))
        .collect())
}

/// The decisions that a commit names. A beginning counts if only one decision has it.
fn named(view: &View<'_>, commit: &CommitDetails) -> Result<Vec<Id>, StoreError> {
    let words = commit
        .trailers
        .iter()
        .flat_map(|line| line.split([',', ' ', ';']))
        .map(str::trim)
        .filter(|word| word.len() >= PREFIX);
    let mut ids = Vec::new();
    for word in words.take(BY_TRAILER) {
        if let [id] = &view.decisions().with_id_prefix(word, 2)?[..]
            && !ids.contains(id)
        {
            ids.push(id.clone());
        }
    }
    Ok(ids)
}

/// Decisions about the very files that a commit touches, newest first.
fn about_files(view: &View<'_>, commit: &CommitDetails) -> Result<Vec<Decision>, StoreError> {
    let mut ids: Vec<Id> = Vec::new();
    for file in commit
        .files
        .iter()
        .filter(|file| !file.starts_with(".twining/") && file.len() <= limits::ELEMENT_BYTES)
        .take(FILES)
    {
        let rows = view.decisions().in_scope(&Scope::read(file))?;
        ids.extend(
            rows.into_iter()
                .filter(|row| matches!(row.via, Via::Exact | Via::File))
                .map(|row| row.id),
        );
    }
    ids.sort_unstable_by(|a, b| b.cmp(a));
    ids.dedup();
    let mut found = Vec::new();
    for id in ids.iter().take(limits::PAGE) {
        found.extend(view.decisions().get(id)?);
    }
    Ok(found)
}
