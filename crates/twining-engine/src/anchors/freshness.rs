//! Freshness: whether the code under a record still is what it was, in the asker's checkout.
//!
//! Computed when asked, never stored. Nothing is hidden because its code changed: of ten
//! statements whose code drifted, nine still hold.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD as BASE64;
use schemars::JsonSchema;
use serde::Serialize;
use twining_code::{
    Definition, DefinitionKind, Excerpt, Freshness, Judgement, Sighting, Sketch, TOKEN_RULES, judge,
};
use twining_model::{Anchor, AnchoredRecord, Place};
use twining_store::View;
use twining_store::code::{
    CodeIndex, CodeVersion, FileVersion, IndexedSource, MovedTo, READING_TIME, SourceLookup,
};

use crate::anchors::assumed::{AssumedAnchors, assumed_anchors};
use crate::anchors::moved::SearchQueue;
use crate::engine::Engine;
use crate::failure::Failure;
use crate::fields;

/// Characters of a reason.
const REASON_CHARS: usize = 120;
/// Witness words that a reason names.
const WORDS_NAMED: usize = 3;

/// How the code under a record is, from what needs no word to what needs most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CodeState {
    /// As it was seen.
    Fresh,
    /// Changed a little.
    Touched,
    /// Not looked at: there was no time, or what was seen is not in this clone.
    Unchecked,
    /// Not at its place, and not looked for yet.
    Missing,
    /// Changed.
    Drifted,
    /// Changed so that the record may no longer hold.
    Doubtful,
    /// Made on another branch that is not merged here.
    Elsewhere,
    /// Gone.
    Orphaned,
}

impl CodeState {
    /// The word for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Fresh => "fresh",
            Self::Touched => "touched",
            Self::Unchecked => "unchecked",
            Self::Missing => "missing",
            Self::Drifted => "drifted",
            Self::Doubtful => "doubtful",
            Self::Elsewhere => "elsewhere",
            Self::Orphaned => "orphaned",
        }
    }

    /// Whether there is anything to say about it.
    #[must_use]
    pub fn is_notable(self) -> bool {
        self > Self::Touched
    }

    /// Whether a record gets no more than a line: its code is gone, or on another branch.
    #[must_use]
    pub(crate) fn is_one_line(self) -> bool {
        matches!(self, Self::Orphaned | Self::Elsewhere)
    }

    /// What it takes from a record's rank.
    #[must_use]
    pub(crate) fn demotion(self) -> f64 {
        match self {
            Self::Fresh | Self::Touched => 0.0,
            Self::Unchecked | Self::Missing | Self::Drifted => 0.02,
            Self::Doubtful | Self::Elsewhere | Self::Orphaned => 0.06,
        }
    }
}

/// What is said of the code under a record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CodeNote {
    /// fresh, touched, drifted, doubtful (check before relying on it), orphaned, missing, unchecked, elsewhere
    pub state: CodeState,
    /// Where: the place that changed most; nowhere for a record of another branch.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub at: String,
    /// Why, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Where the code was when the record was made, if it moved since.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub moved_from: Option<String>,
    /// How many of its places changed, if it has several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub places: Option<String>,
}

impl CodeNote {
    fn elsewhere(branch: &str) -> Self {
        let reason = format!("made on branch {branch}, not merged here");
        Self {
            state: CodeState::Elsewhere,
            at: String::new(),
            reason: Some(fields::shorten(&reason, REASON_CHARS)),
            moved_from: None,
            places: None,
        }
    }

    /// The state and its reason, in a few words.
    #[must_use]
    pub fn brief(&self) -> String {
        match &self.reason {
            Some(reason) => format!("{}: {reason}", self.state.as_str()),
            None => self.state.as_str().to_owned(),
        }
    }
}

/// A record, and how the code it speaks of is.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Labelled<R> {
    /// The record.
    #[serde(flatten)]
    pub record: R,
    /// How the code it speaks of is now, if there is something to say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<CodeNote>,
}

impl<R> Labelled<R> {
    /// A record of whose code nothing is known yet.
    pub(crate) fn of(record: R) -> Self {
        Self { record, code: None }
    }
}

/// One anchor, judged.
#[derive(Clone, Debug)]
pub(crate) struct JudgedAnchor {
    pub(crate) anchor: Anchor,
    pub(crate) state: CodeState,
    pub(crate) reason: Option<String>,
    /// Where it is now, if not where it was.
    pub(crate) moved_to: Option<Place>,
}

/// The states of several records.
pub(crate) type CodeNotes = HashMap<AnchoredRecord, CodeNote>;

impl Engine {
    /// How the code under these records is now. Records that are bound to none are left out.
    pub(crate) fn code_notes(
        &self,
        view: &View<'_>,
        records: &[AnchoredRecord],
    ) -> Result<CodeNotes, Failure> {
        let foreign = self.elsewhere(view, records)?;
        let mut notes: CodeNotes = foreign
            .iter()
            .map(|(record, branch)| (record.clone(), CodeNote::elsewhere(branch)))
            .collect();
        let Some(code) = self.code() else { return Ok(notes) };
        let judging = match self.code_version() {
            CodeVersion::Checkout => Judging::new(code, Some(Instant::now() + READING_TIME)),
            version => Judging::at(code, version.clone(), &[])?,
        };
        for record in records.iter().filter(|record| !foreign.contains_key(record)) {
            let judged = judging.record(view, record)?;
            if let Some(note) = note(&judged) {
                notes.insert(record.clone(), note);
            }
        }
        if *self.code_version() == CodeVersion::Checkout {
            let queue = self.state::<SearchQueue>();
            queue.add(judging.missing());
            queue.add_records(judging.assumed());
        }
        Ok(notes)
    }
}

/// One state of the code, as asked about in one question.
pub(crate) struct Judging<'c> {
    code: &'c CodeIndex,
    version: CodeVersion,
    until: Option<Instant>,
    head: Mutex<Option<Option<String>>>,
    sources: Mutex<BTreeMap<String, SourceLookup>>,
    texts: Mutex<BTreeMap<String, Vec<u8>>>,
    missing: Mutex<Vec<Anchor>>,
    assumed: Mutex<Vec<AnchoredRecord>>,
    has_overrun: AtomicBool,
}

impl<'c> Judging<'c> {
    /// Judges by the working tree until this moment; what is not read by then is unchecked.
    pub(crate) fn new(code: &'c CodeIndex, until: Option<Instant>) -> Self {
        Self {
            code,
            version: CodeVersion::Checkout,
            until,
            head: Mutex::new(None),
            sources: Mutex::new(BTreeMap::new()),
            texts: Mutex::new(BTreeMap::new()),
            missing: Mutex::new(Vec::new()),
            assumed: Mutex::new(Vec::new()),
            has_overrun: AtomicBool::new(false),
        }
    }

    /// Judges by another state of the code, of which these files are read at once.
    pub(crate) fn at(
        code: &'c CodeIndex,
        version: CodeVersion,
        paths: &[String],
    ) -> Result<Self, Failure> {
        let judging = Self { version, ..Self::new(code, None) };
        if let Some(revision) = judging.revision() {
            let found = code.versions(&revision, paths)?;
            let (mut sources, mut texts) = (judging.lock_sources(), judging.lock_texts());
            for (path, version) in paths.iter().zip(found) {
                let source = match version {
                    Some(FileVersion { source, bytes }) => {
                        texts.insert(path.clone(), bytes);
                        SourceLookup::Found(source)
                    }
                    None => SourceLookup::Missing,
                };
                sources.insert(path.clone(), source);
            }
            drop((sources, texts));
        }
        Ok(judging)
    }

    /// Git's name for the state, before a colon and a path; none for the working tree.
    fn revision(&self) -> Option<String> {
        match &self.version {
            CodeVersion::Checkout => None,
            CodeVersion::Staged => Some(String::new()),
            CodeVersion::Commit(hash) => Some(hash.clone()),
        }
    }

    fn lock_sources(&self) -> MutexGuard<'_, BTreeMap<String, SourceLookup>> {
        self.sources.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock_texts(&self) -> MutexGuard<'_, BTreeMap<String, Vec<u8>>> {
        self.texts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Every anchor of a record.
    pub(crate) fn record(
        &self,
        view: &View<'_>,
        record: &AnchoredRecord,
    ) -> Result<Vec<JudgedAnchor>, Failure> {
        let mut anchors = view.anchors().of(record)?;
        if anchors.is_empty() {
            let mut assumed = assumed_anchors(self.code, view, record, self.until)?;
            if matches!(assumed, AssumedAnchors::NotYet(_)) && self.may_overrun() {
                assumed = assumed_anchors(self.code, view, record, None)?;
            }
            match assumed {
                AssumedAnchors::Known(assumed) if assumed.is_empty() => return Ok(Vec::new()),
                AssumedAnchors::Known(assumed) => {
                    self.lock_assumed().push(record.clone());
                    anchors = assumed;
                }
                AssumedAnchors::NotYet(anchor) => {
                    self.lock_assumed().push(record.clone());
                    let reason = Some("not looked at yet".to_owned());
                    let state = CodeState::Unchecked;
                    return Ok(vec![JudgedAnchor {
                        anchor: *anchor,
                        state,
                        reason,
                        moved_to: None,
                    }]);
                }
            }
        }
        anchors.into_iter().map(|anchor| self.judge(anchor)).collect()
    }

    /// Once in a question the time is not kept: on a busy machine it would be over before the first
    /// file is read, every time.
    fn may_overrun(&self) -> bool {
        !self.has_overrun.swap(true, Ordering::Relaxed)
    }

    fn lock_assumed(&self) -> MutexGuard<'_, Vec<AnchoredRecord>> {
        self.assumed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records from before there were anchors, which are bound in this index alone.
    pub(crate) fn assumed(&self) -> Vec<AnchoredRecord> {
        self.lock_assumed().clone()
    }

    /// Anchors whose definition is not at its place, and was not looked for yet; or was not found,
    /// and the working tree may have it by now.
    pub(crate) fn missing(&self) -> Vec<Anchor> {
        self.lock_missing().clone()
    }

    fn lock_missing(&self) -> MutexGuard<'_, Vec<Anchor>> {
        self.missing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One anchor.
    pub(crate) fn judge(&self, anchor: Anchor) -> Result<JudgedAnchor, Failure> {
        match self.at_place(&anchor, &anchor.at)? {
            Some((state, reason)) => Ok(JudgedAnchor { anchor, state, reason, moved_to: None }),
            None => self.not_at_its_place(anchor),
        }
    }

    /// How a definition is at a place; none if it is not there.
    pub(crate) fn at_place(
        &self,
        anchor: &Anchor,
        place: &Place,
    ) -> Result<Option<(CodeState, Option<String>)>, Failure> {
        let source = match self.source(place.path())? {
            SourceLookup::Found(source) => source,
            SourceLookup::Missing => return Ok(None),
            SourceLookup::Unread => return Ok(Some((CodeState::Unchecked, None))),
        };
        if source.blob == anchor.seen.blob && *place == anchor.at {
            return Ok(Some((CodeState::Fresh, None)));
        }
        let Some(now) = source.file.at(place) else { return Ok(None) };
        let Some(seen) = self.seen(anchor)? else {
            return Ok(Some((
                CodeState::Unchecked,
                Some("what was seen is not in this clone".to_owned()),
            )));
        };
        let bytes = || self.text(place.path());
        Ok(Some(judge_with(anchor, &seen, now, place.path(), bytes)))
    }

    /// What was seen, by the token rules of today. None if it was seen by others and the bytes are
    /// not here any more.
    fn seen(&self, anchor: &Anchor) -> Result<Option<Sighting>, Failure> {
        if anchor.v == TOKEN_RULES {
            return Ok(recorded_sighting(anchor));
        }
        let source = self.code.source_of_blob(anchor.at.path(), &anchor.seen.blob)?;
        let was = source.as_ref().and_then(|source| source.file.at(&anchor.at));
        Ok(was.map(|was| Sighting::of(was, anchor.words.clone(), line_hashes_of(anchor))))
    }

    fn not_at_its_place(&self, anchor: Anchor) -> Result<JudgedAnchor, Failure> {
        let head = self.head();
        let known = match &head {
            Some(head) => self.code.moved(&anchor.id, head)?,
            None => None,
        };
        let judged = match known {
            Some(MovedTo { place: Some(place), commit, .. }) => {
                let place = place.parse::<Place>().ok();
                let there = match &place {
                    Some(place) => self.at_place(&anchor, place)?,
                    None => None,
                };
                match (there, place) {
                    (Some((state, reason)), Some(place)) => {
                        JudgedAnchor { anchor, state, reason, moved_to: Some(place) }
                    }
                    // It moved on since.
                    _ => self.missing_anchor(anchor, commit),
                }
            }
            Some(MovedTo { place: None, commit, .. }) => {
                self.lock_missing().push(anchor.clone());
                let reason = match commit {
                    Some(commit) => format!("gone since {}", short(&commit)),
                    None => "no longer in the code".to_owned(),
                };
                JudgedAnchor {
                    anchor,
                    state: CodeState::Orphaned,
                    reason: Some(reason),
                    moved_to: None,
                }
            }
            None => self.missing_anchor(anchor, None),
        };
        Ok(judged)
    }

    fn missing_anchor(&self, anchor: Anchor, commit: Option<String>) -> JudgedAnchor {
        self.lock_missing().push(anchor.clone());
        let reason = match commit {
            Some(commit) => format!("not at its place since {}", short(&commit)),
            None => "not at its place; it is being looked for".to_owned(),
        };
        JudgedAnchor { anchor, state: CodeState::Missing, reason: Some(reason), moved_to: None }
    }

    fn head(&self) -> Option<String> {
        let mut head = self.head.lock().unwrap_or_else(PoisonError::into_inner);
        head.get_or_insert_with(|| self.code.git().head()).clone()
    }

    fn source(&self, path: &str) -> Result<SourceLookup, Failure> {
        if let Some(known) = self.lock_sources().get(path) {
            return Ok(known.clone());
        }
        let source = match self.revision() {
            None => match self.code.source(path, self.until)? {
                SourceLookup::Unread if self.may_overrun() => self.code.source(path, None)?,
                source => source,
            },
            Some(revision) => {
                match self.code.versions(&revision, &[path.to_owned()])?.pop().flatten() {
                    Some(FileVersion { source, bytes }) => {
                        self.lock_texts().insert(path.to_owned(), bytes);
                        SourceLookup::Found(source)
                    }
                    None => SourceLookup::Missing,
                }
            }
        };
        self.lock_sources().insert(path.to_owned(), source.clone());
        Ok(source)
    }

    fn text(&self, path: &str) -> Vec<u8> {
        match self.version {
            CodeVersion::Checkout => self.code.text(path).ok().flatten().unwrap_or_default(),
            _ => self.lock_texts().get(path).cloned().unwrap_or_default(),
        }
    }
}

/// What an anchor's line says was seen; none if it was made by other token rules.
pub(crate) fn recorded_sighting(anchor: &Anchor) -> Option<Sighting> {
    if anchor.v != TOKEN_RULES {
        return None;
    }
    Some(Sighting {
        signature: hash(&anchor.sig)?,
        body: hash(&anchor.body)?,
        sketch: sketch_of(anchor)?,
        tokens: anchor.tokens,
        words: anchor.words.clone(),
        lines: line_hashes_of(anchor),
    })
}

fn line_hashes_of(anchor: &Anchor) -> Vec<u32> {
    anchor.lines.iter().filter_map(|line| u32::from_str_radix(line, 16).ok()).collect()
}

/// How a definition in a version of a file compares with what was seen.
pub(crate) fn judge_version(
    anchor: &Anchor,
    seen: &Sighting,
    now: &Definition,
    path: &str,
    bytes: &[u8],
) -> (CodeState, Option<String>) {
    judge_with(anchor, seen, now, path, || bytes.to_vec())
}

fn judge_with(
    anchor: &Anchor,
    seen: &Sighting,
    now: &Definition,
    path: &str,
    bytes: impl FnOnce() -> Vec<u8>,
) -> (CodeState, Option<String>) {
    let excerpt = || Excerpt::read(path, &bytes(), &(now.first_line..=now.last_line));
    describe(judge(seen, now, excerpt), anchor)
}

/// What is said of a record by its anchors: the worst of them, but orphaned only if all are.
pub(crate) fn note(judged: &[JudgedAnchor]) -> Option<CodeNote> {
    let all_gone = judged.iter().all(|anchor| anchor.state == CodeState::Orphaned);
    let state_of = |anchor: &JudgedAnchor| match anchor.state {
        CodeState::Orphaned if !all_gone => CodeState::Doubtful,
        state => state,
    };
    let worst = judged.iter().max_by_key(|anchor| state_of(anchor))?;
    let state = state_of(worst);
    let changed = judged.iter().filter(|anchor| anchor.state.is_notable()).count();
    let places = (judged.len() > 1 && changed > 0)
        .then(|| format!("{changed} of {} places changed", judged.len()));
    let now = worst.moved_to.as_ref().unwrap_or(&worst.anchor.at);
    Some(CodeNote {
        state,
        at: now.to_string(),
        reason: worst.reason.as_ref().map(|reason| fields::shorten(reason, REASON_CHARS)),
        moved_from: worst.moved_to.is_some().then(|| worst.anchor.at.to_string()),
        places,
    })
}

/// A judgement in words.
fn describe(judged: Judgement, anchor: &Anchor) -> (CodeState, Option<String>) {
    let since = match &anchor.seen.commit {
        Some(commit) => format!(" since {}", short(commit)),
        None => String::new(),
    };
    let alike = match judged.likeness {
        Some(likeness) => format!(" ({} % alike)", percent(likeness)),
        None => String::new(),
    };
    match judged.freshness {
        Freshness::Fresh => (CodeState::Fresh, None),
        Freshness::Touched => (CodeState::Touched, None),
        Freshness::Drifted => (CodeState::Drifted, Some(format!("changed{since}{alike}"))),
        Freshness::Doubtful { reason } => {
            let what = if reason.is_rewritten { "rewritten" } else { "changed" };
            let mut reason_text = format!("{what}{since}{alike}");
            if !reason.words_gone.is_empty() {
                let words = reason.words_gone.iter().take(WORDS_NAMED);
                let words: Vec<String> = words.map(|word| format!("`{word}`")).collect();
                reason_text += &format!("; says {}; the code no longer does", words.join(", "));
            } else if reason.lines_changed.is_some() {
                reason_text += "; the lines it names changed";
            }
            (CodeState::Doubtful, Some(reason_text))
        }
    }
}

fn percent(likeness: f64) -> u32 {
    // In 0..=100 by construction.
    (likeness.clamp(0.0, 1.0) * 100.0).round() as u32
}

fn hash(text: &str) -> Option<u64> {
    u64::from_str_radix(text, 16).ok()
}

fn sketch_of(anchor: &Anchor) -> Option<Sketch> {
    Some(Sketch(BASE64.decode(&anchor.sketch).ok()?.try_into().ok()?))
}

/// A commit as people are shown it.
pub(crate) fn short(commit: &str) -> &str {
    commit.get(..7).unwrap_or(commit)
}

/// What a search needs to know of an anchor.
pub(crate) fn seen_definition(
    code: &CodeIndex,
    anchor: &Anchor,
) -> Result<Option<Definition>, Failure> {
    let Some(seen) = recorded_sighting(anchor) else {
        let source: Option<IndexedSource> =
            code.source_of_blob(anchor.at.path(), &anchor.seen.blob)?;
        return Ok(source.and_then(|source| source.file.at(&anchor.at).cloned()));
    };
    Ok(Some(Definition {
        name: anchor.at.name().unwrap_or_default().to_owned(),
        nth: anchor.at.nth(),
        kind: DefinitionKind::from_name(&anchor.kind).unwrap_or(DefinitionKind::Type),
        first_line: 0,
        last_line: 0,
        signature: seen.signature,
        body: seen.body,
        tokens: seen.tokens,
        sketch: seen.sketch,
    }))
}
