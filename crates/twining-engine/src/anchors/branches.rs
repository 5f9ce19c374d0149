//! Branches: whether a record belongs to the commit that is checked out.
//!
//! Agents in several worktrees share one memory and not their branches. A record belongs here if it
//! was made on this branch, if HEAD has the commit it was made on, if HEAD has the record itself
//! (a squash or a rebase keeps that), or if HEAD has the very code it speaks of.

use std::collections::{BTreeSet, HashMap};

use twining_model::{AnchoredRecord, Id, Origin};
use twining_store::View;
use twining_store::code::{CodeIndex, CodeVersion};
use twining_store::git::GitFolders;

use crate::anchors::freshness::short;
use crate::engine::Engine;
use crate::failure::Failure;

/// The setting under which every record counts on every branch.
const SHARED: &str = "shared";
/// Where the memory is in a checkout.
const FOLDER: &str = ".twining";

/// A record of another branch: where it was made.
struct Suspect {
    record: AnchoredRecord,
    branch: String,
    head: String,
}

impl Engine {
    /// Those of some records that do not belong to what is checked out here, and the branch of each.
    pub(crate) fn elsewhere(
        &self,
        view: &View<'_>,
        records: &[AnchoredRecord],
    ) -> Result<HashMap<AnchoredRecord, String>, Failure> {
        let none = HashMap::new();
        let Some(code) = self.checkout_code() else { return Ok(none) };
        let is_past = *self.code_version() != CodeVersion::Checkout;
        if is_past || self.store().config()?.branches == SHARED {
            return Ok(none);
        }
        let here = GitFolders::of(code.checkout()).map(|git| git.head_position());
        let here = here.unwrap_or_default();
        let Some(head) = here.commit else { return Ok(none) };
        let mut suspects = Vec::new();
        for record in records {
            let Some(Origin { head: Some(made_at), branch, .. }) = origin(view, record)? else {
                continue;
            };
            let is_of_branch = branch.is_some() && branch == here.branch;
            if !is_of_branch
                && made_at != head
                && code.belongs_to(&record.to_string())?.as_ref() != Some(&head)
            {
                let branch = branch.unwrap_or_else(|| short(&made_at).to_owned());
                suspects.push(Suspect { record: record.clone(), branch, head: made_at });
            }
        }
        if suspects.is_empty() {
            return Ok(none);
        }
        let foreign = unmerged(code, view, &suspects)?;
        let is_foreign = |suspect: &Suspect| foreign.contains(&suspect.record);
        let (elsewhere, here): (Vec<Suspect>, Vec<Suspect>) =
            suspects.into_iter().partition(is_foreign);
        // What HEAD has does not change; what it has not may be confirmed here.
        let here: Vec<String> = here.iter().map(|suspect| suspect.record.to_string()).collect();
        if !here.is_empty() {
            code.set_belongs(&here, &head)?;
        }
        Ok(elsewhere.into_iter().map(|suspect| (suspect.record, suspect.branch)).collect())
    }

    /// Those of some decisions that do not belong to what is checked out here: they contradict
    /// nothing on this branch.
    pub(crate) fn decisions_elsewhere(
        &self,
        view: &View<'_>,
        ids: impl IntoIterator<Item = Id>,
    ) -> Result<BTreeSet<Id>, Failure> {
        let records: Vec<AnchoredRecord> =
            ids.into_iter().map(|id| AnchoredRecord::Decision(id.into())).collect();
        if records.is_empty() {
            return Ok(BTreeSet::new());
        }
        let elsewhere = self.elsewhere(view, &records)?;
        Ok(elsewhere.keys().filter_map(|record| Id::read(record.id())).collect())
    }
}

/// Where a record was made, if it says.
fn origin(view: &View<'_>, record: &AnchoredRecord) -> Result<Option<Origin>, Failure> {
    Ok(match record {
        AnchoredRecord::Decision(id) => match Id::read(id) {
            Some(id) => view.decisions().get(&id)?.and_then(|decision| decision.origin),
            None => None,
        },
        AnchoredRecord::Entry(id) => view.entries().get(id)?.and_then(|entry| entry.origin),
        _ => None,
    })
}

/// Those of which HEAD has neither the commit they were made on, nor their file or line, nor their
/// code.
fn unmerged(
    code: &CodeIndex,
    view: &View<'_>,
    suspects: &[Suspect],
) -> Result<BTreeSet<AnchoredRecord>, Failure> {
    let git = code.git();
    let heads: BTreeSet<String> = suspects.iter().map(|suspect| suspect.head.clone()).collect();
    let foreign = git.not_in_head(&heads.into_iter().collect::<Vec<_>>());
    let left = suspects.iter().filter(|suspect| foreign.contains(&suspect.head));
    let mut left: BTreeSet<AnchoredRecord> = left.map(|suspect| suspect.record.clone()).collect();
    let decisions: Vec<AnchoredRecord> = left
        .iter()
        .filter(|record| matches!(record, AnchoredRecord::Decision(_)))
        .cloned()
        .collect();
    let files: Vec<String> =
        decisions.iter().map(|of| format!("{FOLDER}/decisions/{}.json", of.id())).collect();
    if !files.is_empty() {
        for (record, _) in decisions.iter().zip(git.in_head(&files)).filter(|(_, is_in)| *is_in) {
            left.remove(record);
        }
    }
    if left.iter().any(|record| matches!(record, AnchoredRecord::Entry(_))) {
        let board = git.blobs(&[format!("HEAD:./{FOLDER}/blackboard.jsonl")]).pop().flatten();
        let board = String::from_utf8_lossy(&board.unwrap_or_default()).into_owned();
        let has_line = |id: &str| board.contains(&format!("\"id\":\"{id}\""));
        left.retain(|record| !matches!(record, AnchoredRecord::Entry(id) if has_line(id)));
    }
    let mut unmerged = BTreeSet::new();
    for record in left {
        if !has_its_code(code, view, &record)? {
            unmerged.insert(record);
        }
    }
    Ok(unmerged)
}

/// Whether HEAD has just the code that a record speaks of.
fn has_its_code(
    code: &CodeIndex,
    view: &View<'_>,
    record: &AnchoredRecord,
) -> Result<bool, Failure> {
    let anchors = view.anchors().of(record)?;
    let paths: Vec<&str> = anchors.iter().map(|anchor| anchor.at.path()).collect();
    let Some((_, blobs)) = code.git().head_with_blobs(&paths) else { return Ok(false) };
    let is_there = |(anchor, blob): (&twining_model::Anchor, &Option<String>)| {
        blob.as_deref() == Some(anchor.seen.blob.as_str())
    };
    Ok(!anchors.is_empty() && anchors.iter().zip(&blobs).all(is_there))
}
