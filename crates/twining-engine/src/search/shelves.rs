//! The two kinds of records that are searched, seen alike.

use twining_store::{Card, DecisionFilter, Decisions, Entries, EntryFilter, Row, StoreError, Term};

/// Records of one kind, behind one filter.
pub(crate) trait Searchable {
    /// Those in which one of the words stands, best first, with their BM25.
    fn by_words(&self, terms: &[Term], most: usize) -> Result<Vec<(Row, f64)>, StoreError>;
    /// Those whose text or summary has one of these names.
    fn by_meaning(&self, names: &[u64]) -> Result<Vec<Row>, StoreError>;
    /// What is known of one without reading it.
    fn card(&self, row: Row) -> Result<Option<Card>, StoreError>;
    /// Whether the filter may keep most of them out.
    fn is_filtered(&self) -> bool;
}

/// Entries.
pub(crate) struct EntrySearch<'v> {
    pub(crate) entries: Entries<'v>,
    pub(crate) filter: EntryFilter,
}

/// Decisions.
pub(crate) struct DecisionSearch<'v> {
    pub(crate) decisions: Decisions<'v>,
    pub(crate) filter: DecisionFilter,
}

impl Searchable for EntrySearch<'_> {
    fn by_words(&self, terms: &[Term], most: usize) -> Result<Vec<(Row, f64)>, StoreError> {
        self.entries.by_words(terms, &self.filter, most)
    }

    fn by_meaning(&self, names: &[u64]) -> Result<Vec<Row>, StoreError> {
        self.entries.by_meaning(names, &self.filter)
    }

    fn card(&self, row: Row) -> Result<Option<Card>, StoreError> {
        self.entries.card(row)
    }

    fn is_filtered(&self) -> bool {
        self.filter.is_some()
    }
}

impl Searchable for DecisionSearch<'_> {
    fn by_words(&self, terms: &[Term], most: usize) -> Result<Vec<(Row, f64)>, StoreError> {
        self.decisions.by_words(terms, &self.filter, most)
    }

    fn by_meaning(&self, names: &[u64]) -> Result<Vec<Row>, StoreError> {
        self.decisions.by_meaning(names, &self.filter)
    }

    fn card(&self, row: Row) -> Result<Option<Card>, StoreError> {
        self.decisions.card(row)
    }

    fn is_filtered(&self) -> bool {
        self.filter.is_some()
    }
}
