//! Binding a record whose files are set anew: what it names now is captured, and what it no longer
//! names is let go.

use std::time::Instant;

use twining_model::{Anchor, AnchorEvent, AnchoredRecord};

use crate::anchors::capture::{AnchoredPlace, Captured, UnresolvedName, capture_until};
use crate::anchors::confirm::released_line;
use crate::anchors::named_code::NamedCode;
use crate::caller::Stamp;
use crate::engine::Engine;
use crate::failure::Failure;

/// A record's places before and after.
#[derive(Clone, Debug)]
pub(crate) struct Rebinding {
    of: AnchoredRecord,
    captured: Captured,
    former: Vec<Anchor>,
    released: Vec<Anchor>,
}

impl Engine {
    /// Looks up what a record names now, until this moment. What it was bound to before and no
    /// longer names is let go.
    pub(crate) fn rebind(
        &self,
        of: AnchoredRecord,
        named: &NamedCode,
        until: Instant,
    ) -> Result<Option<Rebinding>, Failure> {
        let Some(code) = self.code() else { return Ok(None) };
        let captured = capture_until(code, named, until)?;
        let former = if self.store().documents().has_anchors()? {
            self.store().view(|view| view.anchors().of(&of))?
        } else {
            Vec::new()
        };
        let is_named = |path: &str| named.files.iter().any(|file| file.path == path);
        let was_read = |path: &str| captured.places.iter().any(|place| place.at.path() == path);
        let is_dropped = |anchor: &&Anchor| {
            let path = anchor.at.path();
            let is_kept = captured.places.iter().any(|place| place.at == anchor.at);
            // A file that there was no time to read is still meant.
            !is_kept && (was_read(path) || !is_named(path))
        };
        let released = former.iter().filter(is_dropped).cloned().collect();
        Ok(Some(Rebinding { of, captured, former, released }))
    }
}

impl Rebinding {
    /// The same, for a record that got more files and keeps the ones it had.
    pub(crate) fn keeping_all(self) -> Self {
        Self { released: Vec::new(), ..self }
    }

    /// The lines to write. What is bound already as it is now gets none.
    pub(crate) fn lines(&self, stamp: &Stamp<'_>) -> Vec<Anchor> {
        let released = self.released.iter().map(|anchor| released_line(anchor, stamp));
        let made = self.captured.anchors(&self.of, AnchorEvent::Made, stamp).into_iter();
        let is_new = |made: &Anchor| {
            self.former.iter().all(|known| {
                (&known.at, &known.seen.blob, &known.words)
                    != (&made.at, &made.seen.blob, &made.words)
            })
        };
        released.chain(made.filter(is_new)).collect()
    }

    /// What the reply says of it.
    pub(crate) fn anchored(&self) -> Vec<AnchoredPlace> {
        self.captured.anchored()
    }

    /// What it names and is not there.
    pub(crate) fn unresolved(&self) -> Vec<UnresolvedName> {
        self.captured.unresolved.clone()
    }
}
