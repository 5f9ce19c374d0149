//! Impact of a change of code: what hangs on a definition or a file, in three rings.
//!
//! The first ring is certain: records that are anchored there, claims and features. The second goes
//! by name, so each place says how many definitions have that name. The third is what history shows
//! to change together.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use schemars::JsonSchema;
use serde::Serialize;
use twining_guard::checks::tests_changed::is_test_file;
use twining_guard::policy::{Examples, GuardHealth};
use twining_guard::{GuardSet, Verdict};
use twining_model::{Anchor, AnchoredRecord, Place, Scope};
use twining_store::code::CodeIndex;
use twining_store::{TextFile, View};

use crate::agents::{current_claims, overlapping};
use crate::anchors::{
    AnchorLookup, CodeMention, CodeNote, CompanionFile, companions, described, is_assumed,
    mentions, named_place,
};
use crate::engine::Engine;
use crate::failure::Failure;
use crate::fields::{self, is_zero};
use crate::governance::UserPolicy;
use crate::workflow::Feature;

/// Records, places and guards that are listed.
const MAX_RECORDS: usize = 30;
/// Anchors of which the records to list are chosen, the newest.
const MAX_EXAMINED: usize = 1000;
const MAX_PLACES: usize = 40;
const MAX_GUARDS: usize = 10;
/// How long records from before may be looked up.
const ASSUMING_TIME: Duration = Duration::from_secs(2);

/// A record on the code.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ImpactRecord {
    /// Its id.
    pub id: String,
    /// What it says.
    pub summary: String,
    /// Where it is anchored.
    pub at: String,
    /// Whether it is a decision in force.
    pub binds: bool,
    /// It is from before there were anchors: bound to what its time had.
    #[serde(skip_serializing_if = "fields::is_false")]
    pub assumed: bool,
    /// How the code it speaks of is now, if there is something to say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<CodeNote>,
}

/// A definition that names the code.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct MentioningPlace {
    /// Where.
    pub at: String,
    /// How many definitions have the name that it mentions; it may mean another one.
    pub of: u64,
    /// Records that are anchored there.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub records: Vec<String>,
}

/// What hangs on a place in the code.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct CodeImpact {
    /// The place.
    pub at: String,
    /// Records that are anchored to it.
    pub records: Vec<ImpactRecord>,
    /// Features that name its file.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub features: Vec<String>,
    /// Who holds its file.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub claimed_by: Vec<String>,
    /// Guards whose paths name its file.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub guards: Vec<String>,
    /// Tests that mention it, and those of its features.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tests: Vec<String>,
    /// Definitions that mention it, by name.
    pub mentioned_in: Vec<MentioningPlace>,
    /// Those not listed.
    #[serde(skip_serializing_if = "is_zero")]
    pub omitted_count: u64,
    /// Files that usually change with this one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changes_with: Vec<CompanionFile>,
}

/// The guards as they were last loaded, and from what.
#[derive(Default)]
struct NamingGuards(Mutex<Option<(String, GuardSet)>>);

impl Engine {
    /// What hangs on a file, or on a definition of it; `features` are the project's.
    pub fn code_impact(
        &self,
        user: &UserPolicy,
        given: &str,
        features: &[Feature],
    ) -> Result<CodeImpact, Failure> {
        let code = self.code_here()?;
        let place = named_place(code, given, self.store().root())?;
        let scope = Scope::read(place.path());
        let mut impact = CodeImpact { at: place.to_string(), ..CodeImpact::default() };
        // Records may have moved here that nobody asked about since.
        self.search_moved_code(Instant::now() + ASSUMING_TIME)?;
        self.store().view(|view| {
            let lookup = AnchorLookup::new(Some(code), view, Instant::now() + ASSUMING_TIME);
            impact.records = self.records_on(view, &lookup, &place)?;
            (impact.mentioned_in, impact.omitted_count, impact.tests) =
                mentioned(code, &lookup, &place)?;
            self.queue_unbound(lookup);
            Ok::<_, Failure>(())
        })?;
        let named = features.iter().filter(|feature| {
            let folding = self.store().folding();
            feature.files.iter().any(|file| Scope::read(file).overlaps(&scope, folding))
        });
        for feature in named {
            impact.features.push(feature.id.clone());
            let new = feature.tests.iter().filter(|test| !impact.tests.contains(test));
            impact.tests.extend(new.cloned().collect::<Vec<_>>());
        }
        impact.tests.truncate(MAX_PLACES);
        let guards = self.guards_naming(user, place.path());
        impact.guards = guards.into_iter().map(|(id, _)| id).collect();
        if let Ok(files) = self.store().documents().agents() {
            let claims = current_claims(&files, self.store().ids().now());
            let held = claims
                .iter()
                .filter(|claim| overlapping(claim, &scope, self.store().folding()).is_some());
            impact.claimed_by = held.map(|claim| claim.agent_id.clone()).collect();
        }
        impact.changes_with = companions(code, place.path());
        Ok(impact)
    }

    /// The guards whose paths name a file, each with what it says; proposed and broken ones are
    /// left out.
    pub(crate) fn guards_naming(&self, user: &UserPolicy, path: &str) -> Vec<(String, String)> {
        let file = self.store().documents().policy();
        let file = file.unwrap_or_else(|error| TextFile::Unusable(error.to_string()));
        let key = format!("{}\n{:?}\n{file:?}", user.name, user.file);
        let cache = self.state::<NamingGuards>();
        let mut known = cache.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.as_ref().is_none_or(|(known, _)| *known != key) {
            *known = Some((key, GuardSet::load(user, &file, Examples::Skip)));
        }
        let all = known.iter().flat_map(|(_, all)| &all.guards);
        let named = all.filter(|guard| {
            guard.action != Verdict::Off
                && guard.names(path)
                && !guard.proposed
                && guard.standing == GuardHealth::Alive
        });
        named.map(|guard| (guard.id.clone(), guard.say.clone())).take(MAX_GUARDS).collect()
    }

    fn records_on(
        &self,
        view: &View<'_>,
        lookup: &AnchorLookup<'_>,
        place: &Place,
    ) -> Result<Vec<ImpactRecord>, Failure> {
        let mut anchors = match place.name() {
            Some(name) => {
                let mut anchors = lookup.at_place(place, MAX_EXAMINED)?;
                let inside = format!("{name}.");
                let in_file = lookup.in_file(place.path())?.into_iter();
                anchors.extend(in_file.filter(|anchor| {
                    anchor.at.name().is_some_and(|name| name.starts_with(&inside))
                }));
                anchors
            }
            None => lookup.in_file(place.path())?,
        };
        anchors.sort_by(|a, b| b.id.cmp(&a.id));
        anchors.truncate(MAX_EXAMINED);
        let mut found = Vec::new();
        for anchor in anchors {
            if let Some((summary, binds)) = described(view, &anchor.of)? {
                found.push((anchor, summary, binds));
            }
        }
        found.sort_by(|(a, _, a_binds), (b, _, b_binds)| {
            b_binds.cmp(a_binds).then_with(|| b.of.id().cmp(a.of.id()))
        });
        found.truncate(MAX_RECORDS);
        let records: Vec<AnchoredRecord> =
            found.iter().map(|(anchor, ..)| anchor.of.clone()).collect();
        let notes = self.notable_code(view, &records)?;
        let record = |(anchor, summary, binds): (Anchor, String, bool)| ImpactRecord {
            id: anchor.of.id().to_owned(),
            summary: fields::summary(&summary),
            at: anchor.at.to_string(),
            binds,
            assumed: is_assumed(&anchor),
            code: notes.get(&anchor.of).cloned(),
        };
        Ok(found.into_iter().map(record).collect())
    }
}

/// The definitions that contain the name of a definition: those outside of tests and how many more
/// of them there are, and those in tests.
fn mentioned(
    code: &CodeIndex,
    lookup: &AnchorLookup<'_>,
    place: &Place,
) -> Result<(Vec<MentioningPlace>, u64, Vec<String>), Failure> {
    let (mut found, mut tests) = (Vec::new(), Vec::new());
    for CodeMention { at, of } in mentions(code, place)? {
        if is_test_file(at.path()) || at.last_name().is_some_and(|name| name.starts_with("test")) {
            tests.push(at.to_string());
            continue;
        }
        let records = lookup.at_place(&at, MAX_RECORDS)?;
        let records = records.iter().map(|anchor| anchor.of.id().to_owned()).collect();
        found.push(MentioningPlace { at: at.to_string(), of, records });
    }
    found.sort_by_key(|place| place.records.is_empty());
    let omitted = found.len().saturating_sub(MAX_PLACES) as u64;
    found.truncate(MAX_PLACES);
    tests.truncate(MAX_PLACES);
    Ok((found, omitted, tests))
}
