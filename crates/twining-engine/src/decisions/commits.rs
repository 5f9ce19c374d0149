//! Commits: which of them carry a decision out, in both directions.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use twining_model::{Change, CommitLink, Confidence, Decision, DecisionStatus, Id, InvalidInput, text};
use twining_store::View;

use crate::caller::Stamp;
use crate::decisions::amend::amendment;
use crate::decisions::committed::{CommitSeen, LinkSource};
use crate::decisions::find;
use crate::failure::Failure;
use crate::hygiene::{Redaction, redact_fields};
use crate::{graph, words};

/// Digits from which two beginnings of a hash are taken for one commit.
const SURELY_ONE: usize = 7;
/// Commits that an error lists.
const CANDIDATES: usize = 20;

/// Which commit to link, in the caller's words.
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
    /// Secrets that were not written.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub redacted: Vec<Redaction>,
}

/// A link to be, every rule checked.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkCommitDraft {
    id: Id,
    hash: String,
    summary: Option<String>,
    by: LinkSource,
}

impl LinkCommitDraft {
    /// Checks every word.
    pub fn parse(input: &LinkCommitInput) -> Result<Self, InvalidInput> {
        Ok(Self {
            id: Id::parse("decision_id", input.decision_id.trim())?,
            hash: words::commit_hash("commit_hash", &input.commit_hash)?,
            summary: input.summary.as_deref().map(|summary| text::summary("summary", summary)).transpose()?,
            by: LinkSource::Word,
        })
    }

    /// The link of a commit that git was seen to make.
    pub(crate) fn seen(id: Id, commit: &CommitSeen, by: LinkSource) -> Result<Self, InvalidInput> {
        let hash = words::commit_hash("commit_hash", &commit.hash)?;
        Ok(Self { id, hash, summary: Some(words::summary(&commit.subject)).filter(|summary| !summary.is_empty()), by })
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
    /// The kind of question.
    pub domain: String,
    /// What it governs.
    pub scope: String,
    /// Where it stands.
    pub status: DecisionStatus,
    /// How sure its author is.
    pub confidence: Confidence,
    /// When it was made.
    pub timestamp: String,
    /// The hash it is linked by.
    pub commit_hash: String,
}

/// What a commit carries out.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CommitsOutcome {
    /// The hash as stored, or as asked if none is.
    pub commit_hash: String,
    /// Newest first.
    pub decisions: Vec<CommitDecision>,
}

/// Plans the link: in the decision, and from its concept to the commit in the graph.
pub fn plan_link_commit(view: &View<'_>, draft: &LinkCommitDraft, stamp: &Stamp<'_>) -> Result<(Change, LinkCommitOutcome), Failure> {
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
        LinkCommitOutcome { linked, decision_id: draft.id.clone(), commit_hash, decision_summary: before.summary, redacted: Vec::new() },
    ))
}

/// The decisions that a commit carries out. Any beginning of its hash will do,
/// as long as it is the beginning of one commit only.
pub fn commits(view: &View<'_>, input: &CommitsInput) -> Result<CommitsOutcome, Failure> {
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
    let asked = words::commit_hash("commit_hash", asked)?;
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
    let stored = decision.commit_hashes.iter_mut().find(|stored| is_same_commit(stored, &draft.hash));
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
            decision.commits.push(CommitLink { hash: hash.clone(), summary: draft.summary.clone(), linked_at: stamp.at, by });
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
