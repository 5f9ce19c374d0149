//! Nodes and features whose code is doubtful, gone, or not at its place.

use twining_model::AnchoredRecord;

use crate::anchors::freshness::{CodeNotes, CodeState};
use crate::engine::Engine;
use crate::failure::Failure;

impl Engine {
    /// How the code under these records is, where one should look before relying on them. The index
    /// is not opened where nothing is bound.
    pub(crate) fn doubted_code(&self, records: &[AnchoredRecord]) -> Result<CodeNotes, Failure> {
        if records.is_empty() || self.code().is_none() || !self.store().documents().has_anchors()? {
            return Ok(CodeNotes::new());
        }
        let mut notes = self.store().view(|view| self.code_notes(view, records))?;
        let is_doubted = |state| state >= CodeState::Doubtful || state == CodeState::Missing;
        notes.retain(|_, note| is_doubted(note.state));
        Ok(notes)
    }
}
