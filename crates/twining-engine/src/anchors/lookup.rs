//! Finding anchors and places, for whoever asks about code.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Instant;

use schemars::JsonSchema;
use serde::Serialize;
use twining_model::{
    Anchor, AnchorEvent, AnchoredRecord, Entry, EntryType, Id, InvalidInput, Place, ProjectRoot,
};
use twining_store::code::{CodeIndex, SourceLookup};
use twining_store::{StoreError, View};

use crate::anchors::assumed::AnchorLookup;
use crate::anchors::capture::{Captured, capture};
use crate::anchors::freshness::{CodeNote, CodeNotes, CodeState};
use crate::anchors::moved::SearchQueue;
use crate::anchors::named_code::{NamedCode, is_named, symbol};
use crate::engine::Engine;
use crate::failure::Failure;
use crate::fields;

/// The records that are anchored to a definition of a file, by its name or the end of it, and
/// whether each was bound without anybody saying so.
pub(crate) fn records_on(
    lookup: &AnchorLookup<'_>,
    path: &str,
    name: &str,
) -> Result<HashMap<AnchoredRecord, bool>, Failure> {
    let wanted = symbol(name).unwrap_or_else(|| name.to_owned());
    let on_it = |anchor: &Anchor| anchor.at.name().is_some_and(|name| is_named(name, &wanted));
    let anchors = lookup.in_file(path)?.into_iter().filter(on_it);
    Ok(anchors.map(|anchor| (anchor.of.clone(), is_assumed(&anchor))).collect())
}

/// Whether a record from before was bound to what its time had, and nobody confirmed it.
pub(crate) fn is_assumed(anchor: &Anchor) -> bool {
    anchor.event() == Some(AnchorEvent::Assumed)
}

/// The place of a definition, or of its file where it has no name.
pub(crate) fn place_of(path: &str, name: &str, nth: u32) -> Option<Place> {
    let place =
        if name.is_empty() { Place::file(path) } else { Place::definition(path, name, nth) };
    place.ok()
}

/// The place that somebody names: a file, or the definition of it with that name.
pub(crate) fn named_place(
    code: &CodeIndex,
    given: &str,
    root: &ProjectRoot,
) -> Result<Place, Failure> {
    let place = Place::parse("decision_id", given, root)?;
    let nowhere = |what: String| {
        InvalidInput::new(
            "decision_id",
            "must be a decision, a file or a definition of this checkout",
        )
        .because(what)
    };
    let Some(source) = code.source(place.path(), None)?.found() else {
        return Err(nowhere(format!("git lists no file `{}`", place.path())).into());
    };
    let Some(name) = place.name() else { return Ok(place) };
    if source.file.at(&place).is_some() {
        return Ok(place);
    }
    let wanted = symbol(name).unwrap_or_else(|| name.to_owned());
    let mut named =
        source.file.definitions.iter().filter(|definition| is_named(&definition.name, &wanted));
    match named.next() {
        Some(found) => Ok(Place::definition(place.path(), &found.name, found.nth)?),
        None => Err(nowhere(format!("`{}` defines no `{name}`", place.path())).into()),
    }
}

/// Files that are read for a definition whose file nobody named.
const MAX_FILES_READ: usize = 20;

/// The one definition of the project with this name, or with this end of a name.
pub(crate) fn definition_named(code: &CodeIndex, given: &str) -> Result<Option<Place>, Failure> {
    let (mut found, is_whole) = definitions_named(code, given, None)?;
    let is_one = found.len() == 1 && is_whole;
    Ok(found.pop().filter(|_| is_one))
}

/// The definitions of the project with this name, or with this end of a name, read until this moment;
/// and whether all files that have the word were read.
pub(crate) fn definitions_named(
    code: &CodeIndex,
    given: &str,
    until: Option<Instant>,
) -> Result<(Vec<Place>, bool), Failure> {
    let Some(wanted) = symbol(given) else { return Ok((Vec::new(), true)) };
    let leaf = wanted.rsplit('.').next().unwrap_or(&wanted);
    let files = code.git().files_with_word(leaf);
    let mut is_whole = files.len() <= MAX_FILES_READ;
    let mut found = Vec::new();
    for path in files.iter().take(MAX_FILES_READ) {
        let source = match code.source(path, until)? {
            SourceLookup::Found(source) => source,
            SourceLookup::Missing => continue,
            SourceLookup::Unread => {
                is_whole = false;
                break;
            }
        };
        let named = source.file.definitions.iter();
        let named = named.filter(|definition| is_named(&definition.name, &wanted));
        found
            .extend(named.filter_map(|found| Place::definition(path, &found.name, found.nth).ok()));
    }
    Ok((found, is_whole))
}

/// Anchors at one place that are looked at.
const MAX_AT_PLACE: usize = 1000;

/// The anchors at one place, the newest first.
pub(crate) fn anchors_at(view: &View<'_>, place: &Place) -> Result<Vec<Anchor>, StoreError> {
    view.anchors().at_place(place, MAX_AT_PLACE)
}

/// Anchors that are read at once.
const PAGE: usize = 1000;

/// Every anchor.
pub(crate) fn all_anchors(view: &View<'_>) -> Result<Vec<Anchor>, StoreError> {
    let mut all: Vec<Anchor> = Vec::new();
    loop {
        let page = view.anchors().page(all.last(), PAGE)?;
        let is_last = page.len() < PAGE;
        all.extend(page);
        if is_last {
            return Ok(all);
        }
    }
}

/// Anchors that a count looks at; of more only the number is known.
const MAX_JUDGED: u64 = 300;

/// How many records are bound to code.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CodeCounts {
    /// Records that are bound to code.
    pub bound: u64,
    /// How many of them are in each state; none if there are too many to look at each.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub states: Option<BTreeMap<CodeState, u64>>,
    /// The version of the rules that code is compared by.
    pub token_rules: u32,
}

impl CodeCounts {
    /// In words.
    #[must_use]
    pub fn summary(&self) -> String {
        let bound = fields::count(self.bound, "record bound to code", "records bound to code");
        match &self.states {
            Some(states) => {
                let states: Vec<String> = states
                    .iter()
                    .map(|(state, count)| format!("{count} {}", state.as_str()))
                    .collect();
                format!("{bound}: {}", states.join(", "))
            }
            None => format!("{bound}, too many to look at each"),
        }
    }
}

/// Other records on the same code that are named.
const MAX_BESIDE: usize = 5;

impl Engine {
    /// How the code under these records is now, where there is something to say.
    pub(crate) fn notable_code(
        &self,
        view: &View<'_>,
        records: &[AnchoredRecord],
    ) -> Result<CodeNotes, Failure> {
        let mut notes = self.code_notes(view, records)?;
        notes.retain(|_, note| note.state.is_notable() || note.moved_from.is_some());
        Ok(notes)
    }

    /// Says of each hit how its code is. With `fresh_only` those whose code changed are left out;
    /// how many that are.
    pub(crate) fn label_hits<T>(
        &self,
        view: &View<'_>,
        hits: &mut Vec<T>,
        fresh_only: bool,
        record: impl Fn(&T) -> AnchoredRecord,
        code: impl Fn(&mut T) -> &mut Option<CodeNote>,
    ) -> Result<u64, Failure> {
        let mut notes = self.notable_code(view, &hits.iter().map(&record).collect::<Vec<_>>())?;
        for hit in &mut *hits {
            *code(hit) = notes.remove(&record(hit));
        }
        let all = hits.len();
        if fresh_only {
            hits.retain_mut(|hit| code(hit).as_ref().is_none_or(|note| !note.state.is_notable()));
        }
        Ok((all - hits.len()) as u64)
    }

    /// How many records are bound to code, and in which states; none where there is no code to
    /// look at.
    pub(crate) fn code_counts(&self, view: &View<'_>) -> Result<Option<CodeCounts>, Failure> {
        let bound = view.anchors().count_records()?;
        if self.code().is_none() || bound == 0 {
            return Ok(None);
        }
        let mut counts = CodeCounts { bound, states: None, token_rules: twining_code::TOKEN_RULES };
        if view.anchors().count()? <= MAX_JUDGED {
            let anchors = all_anchors(view)?;
            let records: BTreeSet<AnchoredRecord> =
                anchors.into_iter().map(|anchor| anchor.of).collect();
            let notes = self.code_notes(view, &records.into_iter().collect::<Vec<_>>())?;
            let states = counts.states.insert(BTreeMap::new());
            for note in notes.values() {
                *states.entry(note.state).or_default() += 1;
            }
        }
        Ok(Some(counts))
    }

    /// Leaves what there was no time for to whoever looks for what moved.
    pub(crate) fn queue_unbound(&self, lookup: AnchorLookup<'_>) {
        self.state::<SearchQueue>().add_records(lookup.not_yet());
    }

    /// How the code under a decision is now, if there is something to say.
    pub fn code_of_decision(&self, id: &Id) -> Result<Option<CodeNote>, Failure> {
        let record = AnchoredRecord::Decision(id.to_string());
        self.store().view(|view| {
            Ok(self.notable_code(view, std::slice::from_ref(&record))?.remove(&record))
        })
    }

    /// What is seen now at the code that a record names.
    pub(crate) fn capture(&self, named: &NamedCode) -> Result<Captured, Failure> {
        self.code().map_or_else(|| Ok(Captured::default()), |code| capture(code, named))
    }
}

/// The record whose anchors say how an entry's code is: what announces a decision has none of its
/// own.
pub(crate) fn record_of_entry(entry: &Entry) -> AnchoredRecord {
    match entry.relates_to.first() {
        Some(id) if entry.kind() == Some(EntryType::Decision) => {
            AnchoredRecord::Decision(id.clone())
        }
        _ => AnchoredRecord::Entry(entry.id.clone()),
    }
}

/// Records that are anchored to the same definitions.
pub(crate) fn beside(view: &View<'_>, anchors: &[Anchor]) -> Result<Vec<String>, StoreError> {
    let mut found: Vec<String> = Vec::new();
    for anchor in anchors.iter().filter(|anchor| anchor.at.name().is_some()) {
        for other in anchors_at(view, &anchor.at)? {
            let id = match &other.of {
                AnchoredRecord::Decision(id) | AnchoredRecord::Entry(id) => id.clone(),
                other => other.to_string(),
            };
            if other.of != anchor.of && !found.contains(&id) {
                found.push(id);
            }
        }
    }
    found.truncate(MAX_BESIDE);
    Ok(found)
}
