//! The files as the index reads them: each with a fingerprint that shows whether it changed.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use serde::{Deserialize, Serialize};
use twining_model::scope::CaseFolding;
use twining_model::{Id, limits};

use crate::disk::layout::{ANCHORS, ARRAY_BYTES, BOARD, DECISION_INDEX, DECISIONS, Layout};
use crate::disk::watch::DecisionWatcher;
use crate::disk::{Dir, FileHandle, FileKind};
use crate::error::StoreError;
use crate::log::journal::{Journal, JournalLine};
use crate::log::lock::LockState;

pub use crate::disk::Fingerprint;
pub use crate::disk::watch::DecisionsChanged;

/// An array file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Array {
    /// `graph/entities.json`.
    Entities = 0,
    /// `graph/relations.json`.
    Relations = 1,
    /// `decisions/index.json`, which is derived.
    DecisionIndex = 2,
}

/// How we left an array, after writes of ours with none of others between them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArrayState {
    /// What the file was before the first of them.
    pub from: Option<Fingerprint>,
    /// The last journal line before the first of them.
    pub since: u64,
    /// What it was after the last.
    pub to: Fingerprint,
    /// It holds every journal line up to this one.
    pub through: u64,
    /// Whether blanks replace removed elements.
    #[serde(rename = "is_loose")]
    pub has_gaps: bool,
    /// Whether it holds what others wrote and nobody has compared with the records since.
    pub is_unchecked: bool,
}

impl Array {
    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.path().rsplit('/').next().unwrap_or_default()
    }

    /// Its path inside the folder.
    #[must_use]
    pub fn path(self) -> &'static str {
        match self {
            Self::Entities => "graph/entities.json",
            Self::Relations => "graph/relations.json",
            Self::DecisionIndex => "decisions/index.json",
        }
    }

    pub(crate) fn dir(self, layout: &Layout) -> &Dir {
        match self {
            Self::Entities | Self::Relations => &layout.graph,
            Self::DecisionIndex => &layout.decisions,
        }
    }
}

/// A file of lines, open for reading.
pub struct OpenLines {
    /// The file.
    pub handle: FileHandle,
    /// Its state when it was opened.
    pub print: Fingerprint,
}

/// The read side of the folder.
pub struct StoreFiles {
    pub(crate) layout: Layout,
    /// How its file system compares names.
    pub(crate) folding: CaseFolding,
    journal: Journal,
    watch: DecisionWatcher,
}

/// The contents of `decisions/`.
#[derive(Clone, Debug, Default)]
pub struct DecisionListing {
    /// Every decision file and its state, in the order of their ids.
    pub decisions: Vec<(Id, Fingerprint)>,
    /// Names that are not an id, and so hold no decision.
    pub misnamed: Vec<String>,
}

impl StoreFiles {
    /// The files of this folder, for a process that `stays` or will soon be gone.
    pub(crate) fn new(layout: &Layout, is_long_lived: &Arc<AtomicBool>) -> Self {
        Self {
            layout: layout.clone(),
            folding: layout.folding(),
            journal: Journal::new(&layout.local),
            watch: DecisionWatcher::new(Arc::clone(is_long_lived)),
        }
    }

    /// The blackboard, if there is one.
    pub fn board(&self) -> Result<Option<OpenLines>, StoreError> {
        self.lines(BOARD)
    }

    /// The anchors, if there are any.
    pub fn anchors(&self) -> Result<Option<OpenLines>, StoreError> {
        self.lines(ANCHORS)
    }

    fn lines(&self, name: &str) -> Result<Option<OpenLines>, StoreError> {
        let handle = self.layout.top.open(name)?;
        handle.map(|handle| Ok(OpenLines { print: handle.fingerprint()?, handle })).transpose()
    }

    /// The blackboard's state, without opening it.
    pub fn board_fingerprint(&self) -> Result<Option<Fingerprint>, StoreError> {
        self.layout.top.print(BOARD)
    }

    /// The state of the file of anchors, without opening it.
    pub fn anchors_fingerprint(&self) -> Result<Option<Fingerprint>, StoreError> {
        self.layout.top.print(ANCHORS)
    }

    /// Lists `decisions/`.
    pub fn list_decisions(&self) -> Result<DecisionListing, StoreError> {
        let mut names = DecisionListing::default();
        for name in self.layout.decisions.list()? {
            let Some(stem) = name.strip_suffix(".json") else { continue };
            match Id::read(stem).filter(|id| id.as_str() == stem) {
                Some(id) => {
                    if let Some((_, print)) = self.layout.decisions.stat(&name)? {
                        names.decisions.push((id, print));
                    }
                }
                None if name != DECISION_INDEX => names.misnamed.push(name),
                None => {}
            }
        }
        Ok(names)
    }

    /// The state of the folder of decisions, if it is there: it changes when one
    /// comes, goes or is replaced.
    pub fn decisions_fingerprint(&self) -> Result<Option<Fingerprint>, StoreError> {
        Ok(self
            .layout
            .top
            .stat(DECISIONS)?
            .filter(|(kind, _)| *kind == FileKind::Dir)
            .map(|(_, print)| print))
    }

    /// One decision file, if it is there.
    pub fn decision(&self, id: &Id) -> Result<Option<(Fingerprint, Vec<u8>)>, StoreError> {
        self.layout.decisions.read_with_fingerprint(&format!("{id}.json"), limits::RECORD_BYTES)
    }

    /// The state of one decision file, if it is there.
    pub fn decision_fingerprint(&self, id: &Id) -> Result<Option<Fingerprint>, StoreError> {
        Ok(self
            .layout
            .decisions
            .stat(&format!("{id}.json"))?
            .filter(|(kind, _)| *kind == FileKind::File)
            .map(|(_, print)| print))
    }

    /// Which decision files changed since this was last asked.
    pub fn decisions_changed(&self) -> DecisionsChanged {
        self.watch.decisions_changed(&self.layout.decisions)
    }

    /// An array's state, without reading it.
    pub fn array_fingerprint(&self, array: Array) -> Result<Option<Fingerprint>, StoreError> {
        array.dir(&self.layout).print(array.name())
    }

    /// How much the arrays of the graph hold together.
    pub fn graph_bytes(&self) -> Result<u64, StoreError> {
        let prints =
            [self.array_fingerprint(Array::Entities)?, self.array_fingerprint(Array::Relations)?];
        Ok(prints.iter().flatten().map(|print| print.size).sum())
    }

    /// An array's bytes.
    pub fn array(&self, array: Array) -> Result<Option<(Fingerprint, Vec<u8>)>, StoreError> {
        array.dir(&self.layout).read_with_fingerprint(array.name(), ARRAY_BYTES)
    }

    /// Journal lines after `seq`, in order.
    pub fn journal_since(&self, seq: u64) -> Result<Vec<JournalLine>, StoreError> {
        self.journal.since(seq, self.lock_state().applied_seq)
    }

    /// Journal lines that are not in every array yet, in order.
    pub fn journal_all(&self) -> Result<Vec<JournalLine>, StoreError> {
        let record = self.lock_state();
        self.journal.since(record.checkpoint_seq, record.applied_seq)
    }

    /// What the last writer left.
    pub(crate) fn lock_state(&self) -> LockState {
        LockState::of(&self.layout).unwrap_or_default()
    }
}
