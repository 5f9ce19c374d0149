//! Records from before there were anchors: bound when they are first asked about, to what their
//! time had at the code they name.
//!
//! Kept in `code.db` and nowhere else; `confirm --all-fresh` writes them down.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::time::Instant;

use twining_model::{Anchor, AnchorEvent, AnchorRole, AnchoredRecord, Id, Place, Time, limits};
use twining_store::code::{AssumedLines, CodeIndex, CodeVersion, FileVersion};
use twining_store::{StoreError, View};

use crate::anchors::capture::{Captured, capture_version};
use crate::anchors::freshness::Judging;
use crate::anchors::named_code::{GivenPlace, NamedCode, NamedFile};
use crate::failure::Failure;

/// What a record was bound to that has no anchors of its own.
pub(crate) enum AssumedAnchors {
    /// These; none if it names no code, or its time had none.
    Known(Vec<Anchor>),
    /// There was no time to look: it names this.
    NotYet(Box<Anchor>),
}

/// A record as it was made: the code it names, the commits that carry it out, and when.
struct OldRecord {
    named: NamedCode,
    commits: Vec<String>,
    timestamp: String,
}

/// The anchors of a record that has none, looked up until this moment.
pub(crate) fn assumed_anchors(
    code: &CodeIndex,
    view: &View<'_>,
    record: &AnchoredRecord,
    until: Option<Instant>,
) -> Result<AssumedAnchors, Failure> {
    let Some(old) = old_record(view, record)? else { return Ok(AssumedAnchors::Known(Vec::new())) };
    if let Some(known) = code.assumed(&record.to_string(), &old.inputs())?
        && let Ok(anchors) = serde_json::from_str(&known.lines)
    {
        return Ok(AssumedAnchors::Known(anchors));
    }
    if let Some(anchors) = old.bind(code, record, until)? {
        return Ok(AssumedAnchors::Known(anchors));
    }
    let file = old.named.files.first().and_then(|file| Place::file(&file.path).ok());
    Ok(match file {
        Some(at) => {
            let (role, event) = (AnchorRole::Affected, AnchorEvent::Assumed);
            let anchor = Anchor::new(String::new(), record.clone(), at, role, event);
            AssumedAnchors::NotYet(Box::new(anchor))
        }
        None => AssumedAnchors::Known(Vec::new()),
    })
}

/// Records from before that are looked at for one file.
const MAX_OLD: usize = 200;

/// Anchors by place, with those of records from before.
pub(crate) struct AnchorLookup<'a> {
    code: Option<&'a CodeIndex>,
    view: &'a View<'a>,
    until: Instant,
    judging: Option<Judging<'a>>,
    assumed: RefCell<BTreeMap<String, Vec<Anchor>>>,
    moved: RefCell<BTreeMap<String, Vec<Anchor>>>,
    not_yet: RefCell<Vec<AnchoredRecord>>,
    has_overrun: Cell<bool>,
}

impl<'a> AnchorLookup<'a> {
    /// Looks until this moment for what records from before were bound to.
    pub(crate) fn new(code: Option<&'a CodeIndex>, view: &'a View<'a>, until: Instant) -> Self {
        let judging = code.map(|code| Judging::new(code, Some(until)));
        let (assumed, moved) = (RefCell::default(), RefCell::default());
        let (not_yet, has_overrun) = Default::default();
        Self { code, view, until, judging, assumed, moved, not_yet, has_overrun }
    }

    /// The same for a question about this state of the code.
    pub(crate) fn at(self, version: &CodeVersion) -> Result<Self, Failure> {
        let judging = match (version, self.code) {
            (CodeVersion::Checkout, _) | (_, None) => return Ok(self),
            (version, Some(code)) => Judging::at(code, version.clone(), &[])?,
        };
        Ok(Self { judging: Some(judging), ..self })
    }

    /// The anchors in a file.
    pub(crate) fn in_file(&self, path: &str) -> Result<Vec<Anchor>, Failure> {
        let mut anchors = self.view.anchors().in_file(path)?;
        anchors.extend(self.assumed_in(path)?);
        anchors.extend(self.moved_into(path)?);
        anchors.extend(self.let_go_elsewhere(path)?);
        Ok(anchors)
    }

    /// Those in a file that only another branch let go.
    pub(crate) fn let_go_elsewhere(&self, path: &str) -> Result<Vec<Anchor>, Failure> {
        let Some(judging) = &self.judging else { return Ok(Vec::new()) };
        judging.let_go_elsewhere(self.view, path)
    }

    /// The anchors at a place, of the written ones at most so many.
    pub(crate) fn at_place(&self, place: &Place, limit: usize) -> Result<Vec<Anchor>, Failure> {
        let mut anchors = self.view.anchors().at_place(place, limit)?;
        anchors.extend(self.assumed_in(place.path())?.into_iter().filter(|it| it.at == *place));
        anchors.extend(self.moved_into(place.path())?.into_iter().filter(|it| it.at == *place));
        anchors
            .extend(self.let_go_elsewhere(place.path())?.into_iter().filter(|it| it.at == *place));
        Ok(anchors)
    }

    /// Those whose definitions were found in this file, where they are now.
    pub(crate) fn moved_into(&self, path: &str) -> Result<Vec<Anchor>, Failure> {
        let (Some(code), Some(judging)) = (self.code, &self.judging) else {
            return Ok(Vec::new());
        };
        if let Some(known) = self.moved.borrow().get(path) {
            return Ok(known.clone());
        }
        let mut found = Vec::new();
        for id in code.moved_into(path)? {
            let Some(anchor) = self.view.anchors().get(&id)? else { continue };
            // What moved on another branch, or later than this, may be at its place here.
            let judged = judging.judge(anchor)?;
            if let Some(at) = judged.moved_to.filter(|place| place.path() == path) {
                found.push(Anchor { at, ..judged.anchor });
            }
        }
        self.moved.borrow_mut().insert(path.to_owned(), found.clone());
        Ok(found)
    }

    /// Those of records from before in a file.
    pub(crate) fn assumed_in(&self, path: &str) -> Result<Vec<Anchor>, Failure> {
        let Some(code) = self.code else { return Ok(Vec::new()) };
        if let Some(known) = self.assumed.borrow().get(path) {
            return Ok(known.clone());
        }
        let mut found = Vec::new();
        for record in self.view.anchors().unbound(path, MAX_OLD)? {
            let mut anchors = assumed_anchors(code, self.view, &record, Some(self.until))?;
            // One is looked up whatever the time: on a busy machine none would be, every time.
            if matches!(anchors, AssumedAnchors::NotYet(_)) && !self.has_overrun.replace(true) {
                anchors = assumed_anchors(code, self.view, &record, None)?;
            }
            match anchors {
                AssumedAnchors::Known(anchors) => {
                    found.extend(anchors.into_iter().filter(|anchor| anchor.at.path() == path));
                }
                AssumedAnchors::NotYet(_) => self.not_yet.borrow_mut().push(record),
            }
        }
        self.assumed.borrow_mut().insert(path.to_owned(), found.clone());
        Ok(found)
    }

    /// Records that there was no time for.
    pub(crate) fn not_yet(self) -> Vec<AnchoredRecord> {
        self.not_yet.into_inner()
    }
}

/// Looks again if another commit is checked out than when it was looked up: a rebase may have put
/// another one before its time.
pub(crate) fn renew_assumed(
    code: &CodeIndex,
    view: &View<'_>,
    record: &AnchoredRecord,
    head: &str,
) -> Result<(), Failure> {
    let Some(old) = old_record(view, record)? else { return Ok(()) };
    let known = code.assumed(&record.to_string(), &old.inputs())?;
    if known.is_none_or(|known| known.head != head) {
        old.bind(code, record, None)?;
    }
    Ok(())
}

impl OldRecord {
    /// What its anchors depend on.
    fn inputs(&self) -> String {
        format!("{:?} {:?} {}", self.named, self.commits, self.timestamp)
    }

    /// Binds it to the code of its time, and keeps that; none if there was no time.
    fn bind(
        &self,
        code: &CodeIndex,
        record: &AnchoredRecord,
        until: Option<Instant>,
    ) -> Result<Option<Vec<Anchor>>, Failure> {
        let is_over = || until.is_some_and(|until| Instant::now() >= until);
        if is_over() {
            return Ok(None);
        }
        let git = code.git();
        let linked = self.commits.iter().rev().find_map(|commit| git.resolve_commit(commit));
        let before = || Time::read(&self.timestamp).and_then(|at| git.commit_before(at));
        let mut anchors = Vec::new();
        if let Some(commit) = linked.or_else(before) {
            let names = self.named.files.iter().map(|file| format!("{commit}:./{}", file.path));
            let texts = git.blobs(&names.collect::<Vec<_>>());
            let mut files: Vec<(NamedFile, FileVersion)> = Vec::new();
            for (file, bytes) in self.named.files.iter().zip(texts) {
                if is_over() {
                    return Ok(None);
                }
                if let Some(bytes) = bytes {
                    files.push((file.clone(), code.version(&file.path, bytes)?));
                }
            }
            anchors = lines(&capture_version(code, &self.named, files, &commit)?, record, self);
        }
        if let Some(head) = git.head() {
            let lines = serde_json::to_string(&anchors).unwrap_or_default();
            let kept = AssumedLines { head, lines };
            code.set_assumed(&record.to_string(), &self.inputs(), &kept)?;
        }
        Ok(Some(anchors))
    }
}

/// The anchors of what was captured. Where a name was not there, neither is the record bound to
/// the file alone.
fn lines(captured: &Captured, record: &AnchoredRecord, old: &OldRecord) -> Vec<Anchor> {
    let is_whole = captured.unresolved.is_empty();
    let places = captured.places.iter().filter(|place| is_whole || place.at.name().is_some());
    let line = |place: &crate::anchors::capture::CapturedPlace| {
        let line = place.line(record, AnchorEvent::Assumed);
        let id = format!("assumed:{record}:{}:{}", line.at, line.seen.blob);
        Anchor { id, timestamp: old.timestamp.clone(), ..line }
    };
    places.map(line).collect()
}

/// Whether anything was ever written about a record's code. That a finding about it is kept says
/// nothing of that.
pub(crate) fn is_bound(view: &View<'_>, record: &AnchoredRecord) -> Result<bool, StoreError> {
    let history = view.anchors().history(record)?;
    Ok(history.iter().any(|line| line.event() != Some(AnchorEvent::Kept)))
}

/// The first place of the code that a record names; none if it names none.
pub(crate) fn code_named_by(
    view: &View<'_>,
    record: &AnchoredRecord,
) -> Result<Option<String>, StoreError> {
    let Some(old) = record_as_made(view, record)? else { return Ok(None) };
    let file = old.named.files.iter().find(|file| file.is_surely_a_file());
    Ok(match file {
        Some(NamedFile { path, name: Some(name), .. }) => Some(format!("{path}#{name}")),
        Some(file) => Some(file.path.clone()),
        None => old.named.symbols.into_iter().next(),
    })
}

/// A record that was never bound and names files; none of others.
fn old_record(view: &View<'_>, record: &AnchoredRecord) -> Result<Option<OldRecord>, StoreError> {
    if is_bound(view, record)? {
        return Ok(None);
    }
    Ok(record_as_made(view, record)?.filter(|old| !old.named.files.is_empty()))
}

fn record_as_made(
    view: &View<'_>,
    record: &AnchoredRecord,
) -> Result<Option<OldRecord>, StoreError> {
    let old = match record {
        AnchoredRecord::Decision(id) => {
            let Some(id) = Id::read(id) else { return Ok(None) };
            let Some(decision) = view.decisions().get(&id)? else { return Ok(None) };
            let text = [decision.summary, decision.context, decision.rationale].join("\n");
            let symbols = decision.affected_symbols;
            let mut named = NamedCode { symbols, text, ..NamedCode::default() };
            for file in decision.affected_files.iter().take(limits::ANCHORS) {
                add(&mut named, file, AnchorRole::Affected);
            }
            add(&mut named, &decision.scope, AnchorRole::Scope);
            OldRecord { named, commits: decision.commit_hashes, timestamp: decision.timestamp }
        }
        AnchoredRecord::Entry(id) => {
            let Some(entry) = view.entries().get(id)? else { return Ok(None) };
            let text = format!("{}\n{}", entry.summary, entry.detail);
            let mut named = NamedCode { text, ..NamedCode::default() };
            add(&mut named, &entry.scope, AnchorRole::Scope);
            OldRecord { named, commits: Vec::new(), timestamp: entry.timestamp }
        }
        AnchoredRecord::Node(_) | AnchoredRecord::Feature(_) | AnchoredRecord::Other(_) => {
            return Ok(None);
        }
    };
    Ok(Some(old))
}

fn add(named: &mut NamedCode, path: &str, role: AnchorRole) {
    let place = GivenPlace::read(path);
    if Place::file(place.path).is_ok() {
        named.add_file(place.path, role, &place);
    }
}
