//! Rule 7: a decision in force whose code the pull request takes the ground from is confirmed,
//! reconsidered or superseded in it.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use twining_code::{Definition, Sighting, blob_id, read_source};
use twining_model::{Anchor, AnchorEvent, AnchoredRecord, Decision, DecisionStatus, Place, text};
use twining_store::code::{
    DefinitionSearch, MAX_SEARCH_TIME, OutlineChange, SeenDefinition, SourceOutline, likeliest_move,
};

use crate::anchors::{
    CodeState, DriftKind, commands_for, definition_of, is_hidden_by_error, is_let_go_for_another,
    judge_version, line_hashes_of, place_of, recorded_sighting, with_what_they_let_go,
};
use crate::fields;
use crate::verify::ci::pull_request::{ANCHORS, ChangedFile, MEMORY, PullRequest};
use crate::verify::ci::report::{CiFinding, Severity};

const RULE: &str = "code";
/// Characters of a decision's summary that a finding repeats.
const SUMMARY: usize = 120;
/// How long code that moved before the pull request is looked for.
const SEARCHING_TIME: Duration = Duration::from_secs(20);
/// Decisions that were not checked and are named.
const NAMED: usize = 3;

pub(in crate::verify) fn check(request: &PullRequest<'_>) -> Vec<CiFinding> {
    let in_force: Vec<(Anchor, Decision)> = anchors(request)
        .into_iter()
        .filter_map(|anchor| {
            let AnchoredRecord::Decision(id) = &anchor.of else { return None };
            let decision = in_force(request, id)?;
            Some((anchor, decision))
        })
        .collect();
    let paths: BTreeSet<&str> = in_force.iter().map(|(anchor, _)| anchor.at.path()).collect();
    let code = ChangedCode {
        request,
        base: base_sources(request, &paths.into_iter().collect::<Vec<_>>()),
        outlines: OnceCell::new(),
        until: Instant::now() + SEARCHING_TIME,
    };
    let mut findings = Vec::new();
    let mut unchecked: BTreeSet<&str> = BTreeSet::new();
    for (anchor, decision) in &in_force {
        match code.judge(anchor) {
            CodeCheck::Stands => {}
            // Code that is gone cannot be confirmed.
            CodeCheck::Lost(lost)
                if lost.at.is_some() && request.confirmed.contains(anchor.of.id()) => {}
            CodeCheck::Lost(lost) => findings.push(finding(anchor, decision, &lost)),
            CodeCheck::Unchecked => {
                unchecked.insert(anchor.of.id());
            }
        }
    }
    findings.extend(not_checked(&unchecked));
    findings
}

/// A note about decisions whose code could not be compared.
fn not_checked(decisions: &BTreeSet<&str>) -> Option<CiFinding> {
    let named: Vec<&str> = decisions.iter().take(NAMED).copied().collect();
    let message = format!(
        "The code of {} could not be compared ({}): this clone has not what was seen of it, where it moved was not found in time, or its file has a syntax error. Fetch the whole history, mend the file, or run `twining confirm`.",
        fields::count(decisions.len() as u64, "decision", "decisions"),
        named.join(", ")
    );
    (!decisions.is_empty()).then(|| CiFinding::of(RULE, Severity::Note, &message))
}

/// The anchors that count, of the base and of the head.
fn anchors(request: &PullRequest<'_>) -> Vec<Anchor> {
    let base = request.base_files.get(ANCHORS);
    let head = request.changed_at(ANCHORS).and_then(|file| file.after.as_ref());
    let lines = base.into_iter().chain(head).flat_map(|bytes| bytes.split(|byte| *byte == b'\n'));
    // What cannot be read is the rule of records.
    let lines: Vec<Anchor> = lines
        .filter_map(|line| serde_json::from_slice(line).ok())
        .filter(|anchor: &Anchor| anchor.event != AnchorEvent::Kept.as_str())
        .collect();
    let elsewhere = elsewhere(request, &lines.iter().collect::<Vec<_>>());
    let mut newest: BTreeMap<(String, String), Anchor> = BTreeMap::new();
    for anchor in lines.into_iter().filter(|line| !elsewhere.contains(&line.id)) {
        let key = (anchor.of.to_string(), anchor.at.to_string());
        let is_newer = newest
            .get(&key)
            .is_none_or(|known| (&anchor.timestamp, &anchor.id) >= (&known.timestamp, &known.id));
        if is_newer {
            newest.insert(key, anchor);
        }
    }
    let released = AnchorEvent::Released.as_str();
    newest.into_values().filter(|anchor| anchor.event != released).collect()
}

/// Lines that another worktree wrote about code of its own that is not merged, with what they let
/// go. Only those in changed files matter, and those that follow code to another place.
fn elsewhere(request: &PullRequest<'_>, lines: &[&Anchor]) -> BTreeSet<String> {
    let released = AnchorEvent::Released.as_str();
    let moved_at: BTreeSet<(String, &str)> = lines
        .iter()
        .filter(|line| line.event == released && is_let_go_for_another(line, lines))
        .map(|line| (line.of.to_string(), line.timestamp.as_str()))
        .collect();
    let changed: BTreeSet<&str> =
        request.changed.iter().filter_map(|file| file.old_path.as_deref()).collect();
    let binding = [AnchorEvent::Confirmed, AnchorEvent::Reanchored];
    let matters = |line: &&&Anchor| {
        let is_move = moved_at.contains(&(line.of.to_string(), line.timestamp.as_str()));
        line.event().is_some_and(|event| binding.contains(&event))
            && (is_move || changed.contains(line.at.path()))
    };
    let asked: Vec<&Anchor> = lines.iter().filter(matters).copied().collect();
    with_what_they_let_go((request.not_merged)(&asked), lines)
}

/// A decision that was in force before, and still is.
fn in_force(request: &PullRequest<'_>, id: &str) -> Option<Decision> {
    let path = format!("{MEMORY}decisions/{id}.json");
    let read = |bytes: &Vec<u8>| serde_json::from_slice::<Decision>(bytes).ok();
    let is_active = |decision: &Decision| decision.status == DecisionStatus::Active;
    let before = read(request.base_files.get(&path)?).filter(is_active)?;
    let decision = match request.changed_at(&path) {
        Some(changed) => read(changed.after.as_ref()?).filter(is_active)?,
        None => before,
    };
    Some(decision)
}

/// What became of a definition.
struct LostGround {
    /// What the pull request did.
    what: &'static str,
    reason: String,
    /// Where it was.
    was_at: Place,
    /// Where it is now.
    at: Option<(String, u32)>,
}

/// What a pull request does to an anchor.
enum CodeCheck {
    /// It stands as before.
    Stands,
    /// The ground is gone.
    Lost(LostGround),
    /// What was seen, or where it moved, is not known.
    Unchecked,
}

/// A file of the merge base.
struct BaseSource {
    bytes: Vec<u8>,
    blob: String,
    outline: OnceCell<SourceOutline>,
}

impl BaseSource {
    fn has(&self, anchor: &Anchor) -> bool {
        let outline = || self.outline.get_or_init(|| outline(anchor.at.path(), &self.bytes));
        self.blob == anchor.seen.blob || outline().at(&anchor.at).is_some()
    }
}

fn base_sources(request: &PullRequest<'_>, paths: &[&str]) -> HashMap<String, BaseSource> {
    let source = |(path, bytes): (String, Vec<u8>)| {
        let blob = hex(&blob_id(&bytes));
        (path, BaseSource { bytes, blob, outline: OnceCell::new() })
    };
    (request.base_sources)(paths).into_iter().map(source).collect()
}

struct ChangedCode<'r> {
    request: &'r PullRequest<'r>,
    /// Files of the merge base, by path.
    base: HashMap<String, BaseSource>,
    outlines: OnceCell<Vec<OutlineChange>>,
    until: Instant,
}

impl ChangedCode<'_> {
    /// What the pull request took from an anchor; it stands too if it stood no more before.
    fn judge(&self, anchor: &Anchor) -> CodeCheck {
        let is_here = self.base.get(anchor.at.path()).is_some_and(|base| base.has(anchor));
        if is_here && self.change_of(anchor.at.path()).is_none() {
            return CodeCheck::Stands;
        }
        let Some(seen) = self.seen(anchor) else { return CodeCheck::Unchecked };
        let place = match is_here {
            true => anchor.at.clone(),
            false => match self.moved_before(anchor, &seen) {
                Some(Some(place)) => place,
                Some(None) => return CodeCheck::Stands,
                None => return CodeCheck::Unchecked,
            },
        };
        let checked =
            self.change_of(place.path()).and_then(|file| self.lost(anchor, &seen, &place, file));
        checked.unwrap_or(CodeCheck::Stands)
    }

    fn change_of(&self, path: &str) -> Option<&ChangedFile> {
        self.request.changed.iter().find(|file| file.old_path.as_deref() == Some(path))
    }

    /// What was seen, by the token rules of today; none if it was seen by others and the clone has
    /// not the bytes.
    fn seen(&self, anchor: &Anchor) -> Option<Sighting> {
        recorded_sighting(anchor).or_else(|| {
            let blob = anchor.seen.blob.as_str();
            let bytes = (self.request.objects)(&[blob]).remove(blob)?;
            let was = outline(anchor.at.path(), &bytes);
            let (words, lines) = (anchor.words.clone(), line_hashes_of(anchor));
            was.at(&anchor.at).map(|was| Sighting::of(was, words, lines))
        })
    }

    /// Where the merge base has a definition that is not at its place there: nowhere, or not known.
    fn moved_before(&self, anchor: &Anchor, seen: &Sighting) -> Option<Option<Place>> {
        let left = self.until.saturating_duration_since(Instant::now()).min(MAX_SEARCH_TIME);
        let seen = SeenDefinition {
            path: anchor.at.path().to_owned(),
            definition: definition_of(anchor, seen),
            commit: anchor.seen.commit.clone()?,
            blob: Some(anchor.seen.blob.clone()),
        };
        match (self.request.moved_until)(&seen, &self.request.merge_base, left) {
            DefinitionSearch::Found { path, name, nth, .. } => Some(place_of(&path, &name, nth)),
            DefinitionSearch::Nowhere { .. } => Some(None),
            DefinitionSearch::Unknown => None,
        }
    }

    /// What a changed file took from a definition that stood at this place in it; none if nothing.
    fn lost(
        &self,
        anchor: &Anchor,
        seen: &Sighting,
        was_at: &Place,
        file: &ChangedFile,
    ) -> Option<CodeCheck> {
        let judged = |place: &Place, bytes: &[u8]| {
            let outline = outline(place.path(), bytes);
            let now = outline.at(place)?;
            let is_as_seen = *place == anchor.at && hex(&blob_id(bytes)) == anchor.seen.blob;
            let state = match is_as_seen {
                true => (CodeState::Fresh, None),
                false => judge_version(anchor, seen, now, place.path(), bytes),
            };
            Some((state, now.clone()))
        };
        let ((was, _), definition) = judged(was_at, file.before.as_deref()?)?;
        if was >= CodeState::Doubtful {
            return None;
        }
        let is_here = file.path.as_deref() == Some(was_at.path());
        let here = file.after.as_deref().filter(|_| is_here);
        let (place, found) = match here.and_then(|bytes| judged(was_at, bytes)) {
            Some(found) => (was_at.clone(), found),
            None if here.is_some_and(|bytes| {
                is_hidden_by_error(was_at, &outline(was_at.path(), bytes), || bytes.to_vec())
            }) =>
            {
                return Some(CodeCheck::Unchecked);
            }
            None => {
                let Some(searched) = self.moved_within(was_at, definition) else {
                    return Some(CodeCheck::Unchecked);
                };
                let Some(place) = searched else {
                    let (reason, was_at) = (String::new(), was_at.clone());
                    let lost = LostGround { what: "removed", reason, was_at, at: None };
                    return Some(CodeCheck::Lost(lost));
                };
                let bytes = self.request.changed_at(place.path())?.after.as_deref()?;
                let found = judged(&place, bytes)?;
                (place, found)
            }
        };
        let ((state, reason), now) = found;
        let reason = reason.map(|reason| format!(" ({reason})")).unwrap_or_default();
        let lost = || LostGround {
            what: "changed",
            reason,
            was_at: was_at.clone(),
            at: Some((place.path().to_owned(), now.first_line)),
        };
        (state == CodeState::Doubtful).then(|| CodeCheck::Lost(lost()))
    }

    /// Where the head has a definition that is not at its place there: by both ends, or commit by
    /// commit where it changed in several steps; nowhere, or not known.
    fn moved_within(&self, was_at: &Place, definition: Definition) -> Option<Option<Place>> {
        if let Some((path, now)) = likeliest_move(was_at.path(), &definition, self.outlines()) {
            return Some(place_of(&path, &now.name, now.nth));
        }
        let left = self.until.saturating_duration_since(Instant::now()).min(MAX_SEARCH_TIME);
        let (path, commit) = (was_at.path().to_owned(), self.request.merge_base.clone());
        let before = SeenDefinition { path, definition, commit, blob: None };
        match (self.request.moved_until)(&before, &self.request.head, left) {
            DefinitionSearch::Found { path, name, nth, .. } => Some(place_of(&path, &name, nth)),
            DefinitionSearch::Nowhere { .. } => Some(None),
            DefinitionSearch::Unknown => None,
        }
    }

    /// Every changed file as definitions; asked only where something left its place.
    fn outlines(&self) -> &[OutlineChange] {
        self.outlines.get_or_init(|| {
            let read = |file: &ChangedFile| {
                let (path, after) = (file.path.clone()?, file.after.as_deref()?);
                if path.starts_with(MEMORY) {
                    return None;
                }
                let before = file.old_path.as_deref().zip(file.before.as_deref());
                Some(OutlineChange {
                    after: Arc::new(outline(&path, after)),
                    before: before.map(|(path, bytes)| Arc::new(outline(path, bytes))),
                    old_path: file.old_path.clone(),
                    path,
                })
            };
            self.request.changed.iter().filter_map(read).collect()
        })
    }
}

fn outline(path: &str, bytes: &[u8]) -> SourceOutline {
    SourceOutline::from(read_source(path, bytes))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn finding(anchor: &Anchor, decision: &Decision, lost: &LostGround) -> CiFinding {
    let LostGround { what, reason, was_at, at } = lost;
    let (id, summary) = (&decision.id, text::excerpt(&decision.summary, SUMMARY));
    let became = if at.is_some() { DriftKind::Doubtful } else { DriftKind::Orphaned };
    let settle = commands_for(&anchor.of, became, &anchor.at);
    let mut message = format!(
        "`{was_at}` is {what}{reason}; decision {id} says: {summary}. Settle it, and commit `.twining/`: {settle}"
    );
    message.push_str(&match at {
        Some(_) => {
            format!("; or the trailer `Twining-Confirms: {id}` in a commit message if it holds.")
        }
        None => ".".to_owned(),
    });
    let (path, line) = match at {
        Some((path, line)) => (path.as_str(), usize::try_from(*line).ok()),
        None => (was_at.path(), None),
    };
    CiFinding::at(RULE, Severity::Error, path, &message).on(line)
}
