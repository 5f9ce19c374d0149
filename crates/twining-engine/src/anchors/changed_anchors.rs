//! Which anchors a change of code concerns: those whose definition stood in a changed file before
//! it, also where it moved there earlier and nobody accepted that yet.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use twining_model::{Anchor, AnchoredRecord, Place};
use twining_store::View;
use twining_store::code::{
    CodeIndex, CodeVersion, DefinitionSearch, MAX_SEARCH_TIME, READING_TIME,
    SeenDefinition as SeenInCommit,
};

use crate::anchors::assumed::AnchorLookup;
use crate::anchors::freshness::{CodeState, Judging, in_force, seen_definition};
use crate::anchors::lookup::{all_anchors, place_of};
use crate::engine::Engine;
use crate::failure::Failure;

/// How long a question looks for what moved before the change.
const SEARCHING_TIME: Duration = Duration::from_secs(5);
/// How long records from before may be looked up.
const ASSUMING_TIME: Duration = Duration::from_secs(2);

/// How far a question goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DriftDepth {
    /// What is known of moves; a hook waits for no more.
    Known,
    /// What moved unnoticed is looked for.
    Searched,
}

/// An anchor, and where its definition stood before the change.
pub(super) struct StandingAnchor {
    pub(super) anchor: Anchor,
    pub(super) place: Place,
}

/// The anchors of a change.
#[derive(Default)]
pub(super) struct ChangedAnchors {
    pub(super) standing: Vec<StandingAnchor>,
    /// How many are not known to stand in one.
    pub(super) unchecked: u64,
}

impl Engine {
    /// The anchors whose definitions stood in one of these files before a change.
    pub(super) fn changed_anchors<'c>(
        &self,
        code: &'c CodeIndex,
        view: &View<'_>,
        (version, after): (&CodeVersion, &CodeVersion),
        changed: &BTreeSet<String>,
        depth: DriftDepth,
    ) -> Result<(ChangedAnchors, Judging<'c>), Failure> {
        let mut anchors = Vec::new();
        let time = match depth {
            DriftDepth::Known => {
                for path in changed {
                    anchors.extend(view.anchors().in_file(path)?);
                    for id in code.moved_into(path)? {
                        anchors.extend(view.anchors().get(&id)?);
                    }
                }
                READING_TIME
            }
            DriftDepth::Searched => {
                anchors = all_anchors(view)?;
                ASSUMING_TIME
            }
        };
        let lookup = AnchorLookup::new(Some(code), view, Instant::now() + time);
        for path in changed {
            anchors.extend(lookup.assumed_in(path)?);
            anchors.extend(lookup.let_go_elsewhere(path)?);
        }
        self.queue_unbound(lookup);
        let paths: BTreeSet<String> =
            anchors.iter().map(|anchor| anchor.at.path().to_owned()).collect();
        let before = Judging::at(code, version.clone(), &paths.into_iter().collect::<Vec<_>>())?;
        let is_of_head = match after {
            CodeVersion::Commit(commit) => code.git().head().as_ref() == Some(commit),
            CodeVersion::Checkout | CodeVersion::Staged => true,
        };
        if is_of_head {
            anchors = without_other_branches(view, anchors, &before, changed)?;
        }
        let mut known = BTreeSet::new();
        anchors.retain(|anchor| known.insert(anchor.id.clone()));
        let mut found = ChangedAnchors::default();
        let mut search = PlaceSearch::new(code, version, depth);
        for anchor in anchors {
            let place = match before.has(&anchor.at)? {
                true => Some(anchor.at.clone()),
                false => match search.place(&anchor, &before)? {
                    DefinitionPlace::At(place) => Some(place),
                    DefinitionPlace::Nowhere => None,
                    DefinitionPlace::Unknown => {
                        found.unchecked += 1;
                        None
                    }
                },
            };
            if let Some(place) = place.filter(|place| changed.contains(place.path())) {
                found.standing.push(StandingAnchor { anchor, place });
            }
        }
        Ok((found, before))
    }
}

/// The anchors as they count at HEAD: what was confirmed or bound anew on a branch that it has not
/// settles nothing of a change here.
fn without_other_branches(
    view: &View<'_>,
    mut anchors: Vec<Anchor>,
    before: &Judging<'_>,
    changed: &BTreeSet<String>,
) -> Result<Vec<Anchor>, Failure> {
    let mut histories: BTreeMap<AnchoredRecord, Vec<Anchor>> = BTreeMap::new();
    for anchor in anchors.iter().filter(|anchor| before.is_of_another_branch(anchor)) {
        let is_suspect = match before.at_place(anchor, &anchor.at)? {
            // What was here as it was seen was seen here, on whichever branch.
            Some((CodeState::Fresh, _)) => false,
            Some(_) => changed.contains(anchor.at.path()),
            None => true,
        };
        if is_suspect && !histories.contains_key(&anchor.of) {
            histories.insert(anchor.of.clone(), view.anchors().history(&anchor.of)?);
        }
    }
    if histories.is_empty() {
        return Ok(anchors);
    }
    let lines = histories.values().flatten();
    let of_others: Vec<&Anchor> = lines.filter(|line| before.is_of_another_branch(line)).collect();
    let foreign = before.not_merged(&of_others)?;
    anchors.retain(|anchor| !histories.contains_key(&anchor.of));
    for lines in histories.values() {
        anchors.extend(in_force(lines, |line| !foreign.contains(&line.id)));
    }
    Ok(anchors)
}

/// Where one side of a change has a definition that is not at its place there.
pub(super) enum DefinitionPlace {
    At(Place),
    Nowhere,
    /// There was no time to look, or it cannot be followed.
    Unknown,
}

/// Looks for where definitions were at one commit.
struct PlaceSearch<'c> {
    code: &'c CodeIndex,
    commit: Option<&'c str>,
    depth: DriftDepth,
    until: Instant,
    /// Which commits lead to that one.
    earlier: BTreeMap<String, bool>,
}

impl<'c> PlaceSearch<'c> {
    fn new(code: &'c CodeIndex, version: &'c CodeVersion, depth: DriftDepth) -> Self {
        let commit = match version {
            CodeVersion::Commit(commit) => Some(commit.as_str()),
            CodeVersion::Checkout | CodeVersion::Staged => None,
        };
        let (until, earlier) = (Instant::now() + SEARCHING_TIME, BTreeMap::new());
        Self { code, commit, depth, until, earlier }
    }

    fn place(&mut self, anchor: &Anchor, before: &Judging<'_>) -> Result<DefinitionPlace, Failure> {
        let Some(commit) = self.commit else { return Ok(DefinitionPlace::Nowhere) };
        let here = self.code.moved(&anchor.id, commit)?;
        let last = self.code.last_moved(&anchor.id)?.map(|(_, known)| known);
        for known in here.into_iter().chain(last) {
            match known.place.as_deref().map(str::parse::<Place>) {
                Some(Ok(place)) if before.has(&place)? => return Ok(DefinitionPlace::At(place)),
                None if known.commit.is_some_and(|gone| self.is_earlier(&gone, commit)) => {
                    return Ok(DefinitionPlace::Nowhere);
                }
                _ => {}
            }
        }
        // A record that the change itself made is bound to what the change made.
        let is_usable = |seen: &String| {
            // After a squash or a rebase it may be in no clone but the one that made the record.
            self.is_earlier(seen, commit) || !self.code.git().has_commit(seen)
        };
        let seen_in = anchor.seen.commit.clone().filter(is_usable);
        let (DriftDepth::Searched, Some(seen_in)) = (self.depth, seen_in) else {
            return Ok(DefinitionPlace::Nowhere);
        };
        let left = self.until.saturating_duration_since(Instant::now()).min(MAX_SEARCH_TIME);
        if left.is_zero() {
            return Ok(DefinitionPlace::Unknown);
        }
        let Some(definition) = seen_definition(self.code, anchor)? else {
            return Ok(DefinitionPlace::Unknown);
        };
        let (path, blob) = (anchor.at.path().to_owned(), Some(anchor.seen.blob.clone()));
        let seen = SeenInCommit { path, definition, commit: seen_in, blob };
        Ok(match self.code.find_moved_until(&seen, commit, left)? {
            DefinitionSearch::Found { path, name, nth, .. } => match place_of(&path, &name, nth) {
                Some(place) if before.has(&place)? => DefinitionPlace::At(place),
                _ => DefinitionPlace::Nowhere,
            },
            DefinitionSearch::Nowhere { .. } => DefinitionPlace::Nowhere,
            DefinitionSearch::Unknown => DefinitionPlace::Unknown,
        })
    }

    fn is_earlier(&mut self, seen: &str, commit: &str) -> bool {
        let git = self.code.git();
        *self.earlier.entry(seen.to_owned()).or_insert_with(|| git.is_before(seen, commit))
    }
}
