//! Freshness: whether the code under a record still is what it was, in the asker's checkout.
//!
//! Computed when asked, never stored. Nothing is hidden because its code changed: of ten
//! statements whose code drifted, nine still hold.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Instant;

use schemars::JsonSchema;
use serde::Serialize;
use twining_code::{Definition, Excerpt, Freshness, Judgement, Sighting, TOKEN_RULES, judge};
use twining_model::{Anchor, AnchorEvent, AnchoredRecord, Place};
use twining_store::View;
use twining_store::code::{
    CodeIndex, CodeVersion, FileVersion, IndexedSource, MovedTo, READING_TIME, SourceLookup,
};
use twining_store::git::{GitFolders, HeadPosition};

use crate::anchors::assumed::{AssumedAnchors, assumed_anchors, code_named_by, is_bound};
use crate::anchors::merged_code::MergedCode;
use crate::anchors::moved::SearchQueue;
use crate::anchors::sighting::{
    SYNTAX_ERROR, definition_of, is_hidden_by_error, line_hashes_of, recorded_sighting,
};
use crate::engine::Engine;
use crate::failure::Failure;
use crate::fields;

/// Characters of a reason.
const REASON_CHARS: usize = 120;
/// Why nothing is known where no source is read.
const NO_INDEX: &str = "`code.index` is off";
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
    /// It names code, and was never bound to any.
    Unbound,
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
            Self::Unbound => "unbound",
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
            Self::Fresh | Self::Touched | Self::Unbound => 0.0,
            Self::Unchecked | Self::Missing | Self::Drifted => 0.02,
            Self::Doubtful | Self::Elsewhere | Self::Orphaned => 0.06,
        }
    }
}

/// What is said of the code under a record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CodeNote {
    /// fresh, touched, drifted, doubtful (check before relying on it), orphaned, missing, unchecked, unbound (names code that it was never bound to), elsewhere
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

    /// Nothing is known of the code it names.
    fn unjudged(state: CodeState, at: String, reason: Option<&str>) -> Self {
        Self { state, at, reason: reason.map(str::to_owned), moved_from: None, places: None }
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

impl JudgedAnchor {
    /// Whether it is at its place, and changed a little at most.
    fn is_as_seen(&self) -> bool {
        self.state <= CodeState::Touched && self.moved_to.is_none()
    }
}

/// The lines of a record that count, of those that are asked for; the oldest come first.
pub(super) fn in_force(lines: &[Anchor], counts: impl Fn(&Anchor) -> bool) -> Vec<Anchor> {
    let mut in_force: BTreeMap<String, Anchor> = BTreeMap::new();
    for line in lines.iter().filter(|line| counts(line)) {
        match line.event() {
            Some(AnchorEvent::Kept) => {}
            Some(AnchorEvent::Released) => {
                in_force.remove(&line.at.to_string());
            }
            _ => {
                in_force.insert(line.at.to_string(), line.clone());
            }
        }
    }
    in_force.into_values().collect()
}

/// Whether a place was let go because the record was bound to another at the same moment.
pub(crate) fn is_let_go_for_another(released: &Anchor, lines: &[&Anchor]) -> bool {
    let is_bound_with = |line: &&&Anchor| {
        line.of == released.of
            && line.timestamp == released.timestamp
            && line.event() != Some(AnchorEvent::Released)
    };
    lines.iter().any(|line| is_bound_with(&line))
}

/// Lines that do not count, by id, with those that let a place go for one of them.
pub(crate) fn with_what_they_let_go(
    mut ignored: BTreeSet<String>,
    lines: &[&Anchor],
) -> BTreeSet<String> {
    let of_ignored: Vec<&Anchor> =
        lines.iter().copied().filter(|line| ignored.contains(&line.id)).collect();
    let released = lines.iter().filter(|line| line.event() == Some(AnchorEvent::Released));
    let released = released.filter(|line| is_let_go_for_another(line, &of_ignored));
    ignored.extend(released.map(|line| line.id.clone()));
    ignored
}

/// The states of several records.
pub(crate) type CodeNotes = HashMap<AnchoredRecord, CodeNote>;

impl Engine {
    /// How the code under these records is now. Records that name none are left out.
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
        let here = records.iter().filter(|record| !foreign.contains_key(record));
        let Some(code) = self.code() else {
            if self.checkout_code().is_some() {
                for record in here {
                    if let Some(at) = code_named_by(view, record)? {
                        let note = CodeNote::unjudged(CodeState::Unchecked, at, Some(NO_INDEX));
                        notes.insert(record.clone(), note);
                    }
                }
            }
            return Ok(notes);
        };
        let judging = match self.code_version() {
            CodeVersion::Checkout => Judging::new(code, Some(Instant::now() + READING_TIME)),
            version => Judging::at(code, version.clone(), &[])?,
        };
        for record in here {
            let judged = judging.record(view, record)?;
            let note = match note(&judged) {
                None if !is_bound(view, record)? => code_named_by(view, record)?
                    .map(|at| CodeNote::unjudged(CodeState::Unbound, at, None)),
                note => note,
            };
            notes.extend(note.map(|note| (record.clone(), note)));
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
    /// Which commits led to HEAD.
    earlier: Mutex<BTreeMap<String, bool>>,
    sources: Mutex<BTreeMap<String, SourceLookup>>,
    texts: Mutex<BTreeMap<String, Vec<u8>>>,
    missing: Mutex<Vec<Anchor>>,
    assumed: Mutex<Vec<AnchoredRecord>>,
    has_overrun: AtomicBool,
    is_shallow: OnceLock<bool>,
    position: OnceLock<HeadPosition>,
    merged: Mutex<Option<MergedCode<'c>>>,
}

impl<'c> Judging<'c> {
    /// Judges by the working tree until this moment; what is not read by then is unchecked.
    pub(crate) fn new(code: &'c CodeIndex, until: Option<Instant>) -> Self {
        Self {
            code,
            version: CodeVersion::Checkout,
            until,
            head: Mutex::new(None),
            earlier: Mutex::new(BTreeMap::new()),
            sources: Mutex::new(BTreeMap::new()),
            texts: Mutex::new(BTreeMap::new()),
            missing: Mutex::new(Vec::new()),
            assumed: Mutex::new(Vec::new()),
            has_overrun: AtomicBool::new(false),
            is_shallow: OnceLock::new(),
            position: OnceLock::new(),
            merged: Mutex::new(None),
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
            // Another branch may have let it go.
            if self.version == CodeVersion::Checkout {
                let here = self.without_other_branches(view, record, Vec::new())?;
                if !here.is_empty() {
                    return Ok(here);
                }
            }
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
        let judged = self.judge_all(anchors)?;
        // What is here as it was seen was seen here, on whichever branch.
        let is_suspect = |judged: &JudgedAnchor| {
            let is_same = judged.state == CodeState::Fresh && judged.moved_to.is_none();
            !is_same && self.is_of_another_branch(&judged.anchor)
        };
        if self.version == CodeVersion::Checkout && judged.iter().any(is_suspect) {
            return self.without_other_branches(view, record, judged);
        }
        Ok(judged)
    }

    fn judge_all(&self, anchors: Vec<Anchor>) -> Result<Vec<JudgedAnchor>, Failure> {
        anchors.into_iter().map(|anchor| self.judge(anchor)).collect()
    }

    /// The anchors of a record that are in a file here, of which a line of another branch says that
    /// they are let go.
    pub(crate) fn let_go_elsewhere(
        &self,
        view: &View<'_>,
        path: &str,
    ) -> Result<Vec<Anchor>, Failure> {
        let mut found = Vec::new();
        if self.version != CodeVersion::Checkout {
            return Ok(found);
        }
        let mut known = BTreeSet::new();
        for line in view.anchors().let_go(path)? {
            if !self.is_of_another_branch(&line) || !known.insert(line.of.clone()) {
                continue;
            }
            let judged = self.judge_all(view.anchors().of(&line.of)?)?;
            let here = self.without_other_branches(view, &line.of, judged)?;
            let anchors = here.into_iter().map(|judged| judged.anchor);
            found.extend(anchors.filter(|anchor| anchor.at.path() == path));
        }
        Ok(found)
    }

    /// Whether a line that changed what counts was written on a branch that is not checked out.
    pub(super) fn is_of_another_branch(&self, line: &Anchor) -> bool {
        let changes = [AnchorEvent::Confirmed, AnchorEvent::Reanchored, AnchorEvent::Released];
        let branch = line.origin.as_ref().and_then(|origin| origin.branch.as_ref());
        line.event().is_some_and(|event| changes.contains(&event))
            && branch.is_some()
            && branch != self.position().branch.as_ref()
    }

    fn position(&self) -> &HeadPosition {
        self.position.get_or_init(|| {
            let folders = GitFolders::of(self.code.checkout());
            folders.map(|folders| folders.head_position()).unwrap_or_default()
        })
    }

    /// The anchors as they count here: what was confirmed or bound anew on a branch that HEAD has
    /// not changes nothing yet.
    fn without_other_branches(
        &self,
        view: &View<'_>,
        record: &AnchoredRecord,
        judged: Vec<JudgedAnchor>,
    ) -> Result<Vec<JudgedAnchor>, Failure> {
        let lines = view.anchors().history(record)?;
        let of_others: Vec<&Anchor> =
            lines.iter().filter(|line| self.is_of_another_branch(line)).collect();
        if of_others.is_empty() {
            return Ok(judged);
        }
        self.lock_missing().retain(|known| known.of != *record);
        let own = self.judge_all(in_force(&lines, |line| !self.is_of_another_branch(line)))?;
        let lets_go = |line: &&Anchor| {
            line.event() == Some(AnchorEvent::Released) && !is_let_go_for_another(line, &of_others)
        };
        let is_sure = !own.is_empty() && !of_others.iter().any(lets_go);
        if is_sure && own.iter().all(JudgedAnchor::is_as_seen) {
            return Ok(own);
        }
        let foreign = self.not_merged(&of_others)?;
        self.lock_missing().retain(|known| known.of != *record);
        self.judge_all(in_force(&lines, |line| !foreign.contains(&line.id)))
    }

    /// Those of some lines of other branches that HEAD does not have.
    pub(super) fn not_merged(&self, lines: &[&Anchor]) -> Result<BTreeSet<String>, Failure> {
        let head = self.position().commit.clone().unwrap_or_else(|| "HEAD".to_owned());
        let (mut here, mut unknown) = (Vec::new(), Vec::new());
        for &line in lines {
            let lets_go = line.event() == Some(AnchorEvent::Released);
            if lets_go && is_let_go_for_another(line, lines) {
                continue;
            }
            match self.code.belongs_to(&line.id)? {
                Some(known) if known == head => {}
                // A history keeps the code that it had; a line that lets go may be taken back.
                Some(known) if !lets_go && self.is_earlier(&known, &head) => here.push(line),
                _ => unknown.push(line),
            }
        }
        let mut foreign = BTreeSet::new();
        if !unknown.is_empty() {
            let mut merged = self.merged.lock().unwrap_or_else(PoisonError::into_inner);
            let of_head = || MergedCode::of(self.code.git(), Some(self.code), &head);
            let merged = merged.get_or_insert_with(of_head);
            merged.ask_for_commits(&unknown);
            for line in unknown {
                if merged.counts(line) {
                    here.push(line);
                } else {
                    foreign.insert(line.id.clone());
                }
            }
        }
        if !here.is_empty() && self.position().commit.is_some() {
            let here: Vec<String> = here.into_iter().map(|line| line.id.clone()).collect();
            self.code.set_belongs(&here, &head)?;
        }
        Ok(with_what_they_let_go(foreign, lines))
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

    /// Whether there is a definition at a place.
    pub(crate) fn has(&self, place: &Place) -> Result<bool, Failure> {
        let source = self.source(place.path())?.found();
        Ok(source.is_some_and(|source| source.file.at(place).is_some()))
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
        let Some(now) = source.file.at(place) else {
            let is_hidden = is_hidden_by_error(place, &source.file, || self.text(place.path()));
            return Ok(is_hidden.then(|| (CodeState::Unchecked, Some(SYNTAX_ERROR.to_owned()))));
        };
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
        let known = match self.head() {
            Some(head) => self.known_move(&anchor, &head)?,
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

    /// What was found at this HEAD, or at the last one that was searched if it holds here too: it is
    /// at that place, or a commit took it away and there are only later commits since. What the
    /// working tree alone had lost may have been pasted elsewhere before it was committed.
    fn known_move(&self, anchor: &Anchor, head: &str) -> Result<Option<MovedTo>, Failure> {
        if let Some(known) = self.code.moved(&anchor.id, head)? {
            return Ok(Some(known));
        }
        let Some((searched, known)) = self.code.last_moved(&anchor.id)? else { return Ok(None) };
        let holds = match &known.place {
            Some(place) => match place.parse() {
                Ok(place) => self.at_place(anchor, &place)?.is_some(),
                Err(_) => false,
            },
            None => known.commit.is_some() && self.is_earlier(&searched, head),
        };
        Ok(holds.then_some(known))
    }

    fn is_earlier(&self, commit: &str, head: &str) -> bool {
        let mut earlier = self.earlier.lock().unwrap_or_else(PoisonError::into_inner);
        let ask = || self.code.git().is_before(commit, head);
        *earlier.entry(commit.to_owned()).or_insert_with(ask)
    }

    fn missing_anchor(&self, anchor: Anchor, commit: Option<String>) -> JudgedAnchor {
        self.lock_missing().push(anchor.clone());
        let reason = match commit {
            Some(commit) => format!("not at its place since {}", short(&commit)),
            None if *self.is_shallow.get_or_init(|| self.code.git().is_shallow()) => {
                "not at its place; looked for as far as this shallow clone goes back".to_owned()
            }
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
    let mut alike = match judged.likeness {
        Some(likeness) => format!(" ({} % alike)", percent(likeness)),
        None => String::new(),
    };
    if judged.is_signature_changed && anchor.at.name().is_some() {
        alike += ", with its signature";
    }
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
    Ok(Some(definition_of(anchor, &seen)))
}
