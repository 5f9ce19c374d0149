//! Rule 7: a decision in force whose code the pull request takes the ground from is confirmed,
//! reconsidered or superseded in it.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use twining_code::{blob_id, read_source};
use twining_model::{Anchor, AnchorEvent, AnchoredRecord, Decision, DecisionStatus, Place, text};
use twining_store::code::{OutlineChange, SourceOutline, likeliest_move};

use crate::anchors::{CodeState, judge_version, recorded_sighting};
use crate::verify::ci::pull_request::{ANCHORS, ChangedFile, MEMORY, PullRequest};
use crate::verify::ci::report::{CiFinding, Severity};

const RULE: &str = "code";
/// Characters of a decision's summary that a finding repeats.
const SUMMARY: usize = 120;

pub(in crate::verify) fn check(request: &PullRequest<'_>) -> Vec<CiFinding> {
    let code = ChangedCode { request, outlines: OnceCell::new() };
    let judged = anchors(request).into_iter().filter_map(|anchor| {
        let AnchoredRecord::Decision(id) = &anchor.of else { return None };
        let path = anchor.at.path();
        let file = request.changed.iter().find(|file| file.old_path.as_deref() == Some(path))?;
        let decision = in_force(request, id)?;
        let lost = code.judge(&anchor, file)?;
        Some(finding(&anchor, &decision, &lost))
    });
    judged.collect()
}

/// The anchors that count, of the base and of the head.
fn anchors(request: &PullRequest<'_>) -> Vec<Anchor> {
    let base = request.base_files.get(ANCHORS);
    let head = request.changed_at(ANCHORS).and_then(|file| file.after.as_ref());
    let mut newest: BTreeMap<(String, String), Anchor> = BTreeMap::new();
    for bytes in base.into_iter().chain(head) {
        for line in bytes.split(|byte| *byte == b'\n') {
            // What cannot be read is the rule of records.
            let Ok(anchor) = serde_json::from_slice::<Anchor>(line) else { continue };
            if anchor.event == AnchorEvent::Kept.as_str() {
                continue;
            }
            let key = (anchor.of.to_string(), anchor.at.to_string());
            let is_newer = newest.get(&key).is_none_or(|known| {
                (&anchor.timestamp, &anchor.id) >= (&known.timestamp, &known.id)
            });
            if is_newer {
                newest.insert(key, anchor);
            }
        }
    }
    let released = AnchorEvent::Released.as_str();
    newest.into_values().filter(|anchor| anchor.event != released).collect()
}

/// A decision that was in force before, still is, and that no commit confirms.
fn in_force(request: &PullRequest<'_>, id: &str) -> Option<Decision> {
    let path = format!("{MEMORY}decisions/{id}.json");
    let read = |bytes: &Vec<u8>| serde_json::from_slice::<Decision>(bytes).ok();
    let is_active = |decision: &Decision| decision.status == DecisionStatus::Active;
    let before = read(request.base_files.get(&path)?).filter(is_active)?;
    let decision = match request.changed_at(&path) {
        Some(changed) => read(changed.after.as_ref()?).filter(is_active)?,
        None => before,
    };
    (!request.confirmed.contains(id)).then_some(decision)
}

/// What became of a definition.
struct LostGround {
    /// What the pull request did.
    what: &'static str,
    reason: String,
    /// Where it is now.
    at: Option<(String, u32)>,
}

struct ChangedCode<'r> {
    request: &'r PullRequest<'r>,
    outlines: OnceCell<Vec<OutlineChange>>,
}

impl ChangedCode<'_> {
    /// What the pull request took from an anchor; none if it still stands, or stood no more.
    fn judge(&self, anchor: &Anchor, file: &ChangedFile) -> Option<LostGround> {
        let seen = recorded_sighting(anchor)?;
        let judged = |place: &Place, bytes: &[u8]| {
            let outline = outline(place.path(), bytes);
            let now = outline.at(place)?;
            let is_as_seen = *place == anchor.at && hex(&blob_id(bytes)) == anchor.seen.blob;
            let state = match is_as_seen {
                true => (CodeState::Fresh, None),
                false => judge_version(anchor, &seen, now, place.path(), bytes),
            };
            Some((state, now.clone()))
        };
        let ((was, _), definition) = judged(&anchor.at, file.before.as_deref()?)?;
        if was >= CodeState::Doubtful {
            return None;
        }
        let is_here = file.path.as_deref() == Some(anchor.at.path());
        let here = file.after.as_deref().filter(|_| is_here);
        let (place, found) = match here.and_then(|bytes| judged(&anchor.at, bytes)) {
            Some(found) => (anchor.at.clone(), found),
            None => {
                let moved = likeliest_move(anchor.at.path(), &definition, self.outlines());
                let Some((path, now)) = moved else {
                    return Some(LostGround { what: "removed", reason: String::new(), at: None });
                };
                let place = if now.name.is_empty() {
                    Place::file(&path)
                } else {
                    Place::definition(&path, &now.name, now.nth)
                };
                let place = place.ok()?;
                let bytes = self.request.changed_at(&path)?.after.as_deref()?;
                let found = judged(&place, bytes)?;
                (place, found)
            }
        };
        let ((state, reason), now) = found;
        let reason = reason.map(|reason| format!(" ({reason})")).unwrap_or_default();
        (state == CodeState::Doubtful).then(|| LostGround {
            what: "changed",
            reason,
            at: Some((place.path().to_owned(), now.first_line)),
        })
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
    let LostGround { what, reason, at } = lost;
    let (id, summary) = (&decision.id, text::excerpt(&decision.summary, SUMMARY));
    let message = format!(
        "`{}` is {what}{reason}; decision {id} says: {summary}. If it holds, `twining confirm {id}` or the trailer `Twining-Confirms: {id}`; else `twining reconsider {id}` or supersede it.",
        anchor.at
    );
    let (path, line) = match at {
        Some((path, line)) => (path.as_str(), usize::try_from(*line).ok()),
        None => (anchor.at.path(), None),
    };
    CiFinding::at(RULE, Severity::Error, path, &message).on(line)
}
