//! Looking again: a record still holds, its code is elsewhere, or it no longer speaks of a place.

use std::collections::{BTreeSet, HashMap};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use twining_model::{
    Anchor, AnchorEvent, AnchorRole, AnchoredRecord, Change, Id, InvalidInput, Place, limits, text,
};
use twining_store::code::{CodeIndex, DefinitionSearch};
use twining_store::{DecisionFilter, Durability, View};

use crate::anchors::assumed::is_bound;
use crate::anchors::capture::{
    AnchoredPlace, CapturedPlace, capture_place, nearest_places, signed,
};
use crate::anchors::freshness::{CodeState, JudgedAnchor, Judging};
use crate::anchors::lookup::all_anchors;
use crate::anchors::moved;
use crate::caller::{Caller, Stamp};
use crate::engine::Engine;
use crate::failure::Failure;
use crate::fields;
use crate::secrets::{Redaction, clean, redact_fields};

/// Which records still hold.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConfirmInput {
    /// Decisions or entries whose code you have read again and that still hold; `node:ID`, `feature:ID`
    #[serde(default)]
    pub ids: Vec<String>,
    /// Why it still holds
    pub reason: Option<String>,
    /// Accept every place whose code moved unchanged
    #[serde(default)]
    pub all_moved: bool,
    /// Write down what older records were bound to, where the code is as it was
    #[serde(default)]
    pub all_fresh: bool,
    /// Your name
    pub agent_id: Option<String>,
}

redact_fields!(ConfirmInput { ids, reason, agent_id });

/// Another place for a record.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReanchorInput {
    /// The decision or entry; `node:ID` or `feature:ID`
    pub id: String,
    /// Which of its places, if it has several: `path#name`
    pub at: Option<String>,
    /// Where the code is now: `path#name`
    pub to: Option<String>,
    /// Take the place that was found
    #[serde(default)]
    pub accept: bool,
    /// It no longer speaks of that place
    #[serde(default)]
    pub release: bool,
    /// Your name
    pub agent_id: Option<String>,
}

redact_fields!(ReanchorInput { id, at, to, agent_id });

/// A record that was looked at again.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ConfirmedRecord {
    /// Its id.
    pub id: String,
    /// Where its code is.
    pub anchored: Vec<AnchoredPlace>,
    /// Places that are gone and could not be confirmed: reanchor or release them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub gone: Vec<String>,
    /// This session did not read the code: read it, and confirm again or reconsider.
    #[serde(skip_serializing_if = "fields::is_false")]
    pub unread: bool,
}

/// What was confirmed.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ConfirmOutcome {
    /// The records, as they are bound now.
    pub confirmed: Vec<ConfirmedRecord>,
    /// The worktree whose memory this one shares: it is written there, to be committed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub written_to: Option<String>,
    /// Secrets redacted before writing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub redacted: Vec<Redaction>,
}

/// Where a record is bound now.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ReanchorOutcome {
    /// The record.
    pub id: String,
    /// Where it was bound; absent if it never was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// Where it is bound now; absent if it was released.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// The worktree whose memory this one shares: it is written there, to be committed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub written_to: Option<String>,
    /// Secrets redacted before writing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub redacted: Vec<Redaction>,
}

impl Engine {
    /// Notes that records still hold, by what their code is now. `read` are the files that the
    /// caller's session is known to have read; none if nobody knows.
    pub fn confirm(
        &self,
        caller: &Caller,
        input: &ConfirmInput,
        read: Option<&BTreeSet<String>>,
    ) -> Result<ConfirmOutcome, Failure> {
        let (input, redacted) = clean(input);
        let caller = caller.called(input.agent_id.as_deref())?;
        let code = self.code_here()?;
        let reason = text::long("reason", input.reason.as_deref().unwrap_or_default())?;
        let ids = fields::references("ids", &input.ids)?;
        if ids.is_empty() && !input.all_moved && !input.all_fresh {
            return Err(InvalidInput::new("ids", "must name at least one record").into());
        }
        let looked = self.store().view(|view| {
            let mut looked = Vec::new();
            for id in &ids {
                let record = find_record(view, id)?;
                looked.push(look_again(code, view, &record)?);
            }
            if input.all_moved {
                looked.extend(moved_unchanged(code, view)?);
            }
            Ok::<_, Failure>(looked)
        })?;
        let mut extra = Map::new();
        if !reason.is_empty() {
            extra.insert("reason".to_owned(), Value::String(reason));
        }
        let stamp = self.stamp(&caller);
        let mut anchors: Vec<Anchor> =
            looked.iter().flat_map(|record| record.lines(&stamp, &extra, read)).collect();
        let mut confirmed: Vec<ConfirmedRecord> =
            looked.into_iter().map(|looked| looked.outcome(read)).collect();
        if input.all_fresh {
            for assumed in self.store().view(|view| fresh_assumed(code, view))? {
                confirmed.extend(assumed_outcome(&assumed));
                anchors.extend(assumed.into_iter().map(|anchor| signed(anchor, &stamp)));
            }
        }
        self.store().write(Durability::Normal, &Change { anchors, ..Change::default() })?;
        Ok(ConfirmOutcome { confirmed, written_to: self.memory_elsewhere(), redacted })
    }

    /// Binds a record to another place, or lets go of one.
    pub fn reanchor(
        &self,
        caller: &Caller,
        input: &ReanchorInput,
    ) -> Result<ReanchorOutcome, Failure> {
        let (input, redacted) = clean(input);
        let caller = caller.called(input.agent_id.as_deref())?;
        let code = self.code_here()?;
        let ways = usize::from(input.to.is_some())
            + usize::from(input.accept)
            + usize::from(input.release);
        if ways != 1 {
            return Err(InvalidInput::new(
                "to",
                "or `accept` or `release` must be given, and only one",
            )
            .into());
        }
        let (record, old) = self.store().view(|view| {
            let record = find_record(view, &input.id)?;
            let is_first = input.to.is_some()
                && input.at.is_none()
                && Judging::new(code, None).record(view, &record)?.is_empty();
            let at = input.at.as_deref();
            let old = match is_first {
                true => None,
                false => Some(one_anchor((code, view), &record, at, self.store().root())?),
            };
            let text = record_text(view, &record)?;
            Ok::<_, Failure>(((record, text), old))
        })?;
        let (record, text) = record;
        let stamp = self.stamp(&caller);
        let (id, from) = (record.id().to_owned(), old.as_ref().map(|old| old.at.to_string()));
        let mut anchors: Vec<Anchor> = old.iter().map(|old| released_line(old, &stamp)).collect();
        if input.release {
            self.store().write(Durability::Normal, &Change { anchors, ..Change::default() })?;
            let written_to = self.memory_elsewhere();
            return Ok(ReanchorOutcome { id, from, to: None, written_to, redacted });
        }
        let place = match (&input.to, &old) {
            (None, Some(old)) => found_place(code, old)?,
            (to, _) => Place::parse("to", to.as_deref().unwrap_or_default(), self.store().root())?,
        };
        let role = old.as_ref().and_then(Anchor::role).unwrap_or(AnchorRole::Affected);
        let Some(captured) = capture_place(code, &place, role, &text)? else {
            let nearest = match nearest_places(code, &place)?.as_slice() {
                [] => String::new(),
                places => format!("; did you mean {}?", places.join(", ")),
            };
            return Err(InvalidInput::new("to", "must be a file or a definition that is there")
                .because(format!("there is no `{place}` in this checkout{nearest}"))
                .into());
        };
        anchors.retain(|released| released.at != place);
        anchors.push(captured.anchor(&record, AnchorEvent::Reanchored, &stamp));
        self.store().write(Durability::Normal, &Change { anchors, ..Change::default() })?;
        let (to, written_to) = (Some(place.to_string()), self.memory_elsewhere());
        Ok(ReanchorOutcome { id, from, to, written_to, redacted })
    }

    /// The folder of the worktree that has the memory, if it is not the caller's own.
    fn memory_elsewhere(&self) -> Option<String> {
        let (home, here) = (&self.store().location().project, self.code()?.checkout());
        (home != here).then(|| home.display().to_string())
    }

    /// The code of the caller's checkout.
    pub(crate) fn code_here(&self) -> Result<&CodeIndex, Failure> {
        self.code().ok_or_else(|| {
            InvalidInput::new("code", "cannot be read here")
                .because(
                    "there is no working tree, or `code.index` is false in .twining/config.yml",
                )
                .into()
        })
    }
}

/// A record's places, captured anew.
struct LookedAt {
    record: AnchoredRecord,
    places: Vec<(JudgedAnchor, CapturedPlace)>,
    gone: Vec<String>,
}

impl LookedAt {
    fn lines(
        &self,
        stamp: &Stamp<'_>,
        extra: &Map<String, Value>,
        read: Option<&BTreeSet<String>>,
    ) -> Vec<Anchor> {
        let mut lines = Vec::new();
        for (judged, captured) in &self.places {
            if judged.moved_to.is_some() {
                lines.push(released_line(&judged.anchor, stamp));
            }
            let line = captured.anchor(&self.record, AnchorEvent::Confirmed, stamp);
            let mut extra = extra.clone();
            if read.is_some_and(|files| !files.contains(line.at.path())) {
                extra.insert("unread".to_owned(), Value::Bool(true));
            }
            lines.push(Anchor { extra, ..line });
        }
        lines
    }

    fn outcome(self, read: Option<&BTreeSet<String>>) -> ConfirmedRecord {
        let place = |(_, captured): &(JudgedAnchor, CapturedPlace)| captured.place();
        let is_unread = |(_, captured): &(JudgedAnchor, CapturedPlace)| {
            read.is_some_and(|files| !files.contains(captured.at.path()))
        };
        ConfirmedRecord {
            id: self.record.id().to_owned(),
            unread: self.places.iter().any(is_unread),
            anchored: self.places.iter().map(place).collect(),
            gone: self.gone,
        }
    }
}

fn look_again(
    code: &CodeIndex,
    view: &View<'_>,
    record: &AnchoredRecord,
) -> Result<LookedAt, Failure> {
    let text = record_text(view, record)?;
    let judging = Judging::new(code, None);
    let (mut places, mut gone) = (Vec::new(), Vec::new());
    for mut judged in judging.record(view, record)? {
        if judged.state == CodeState::Missing {
            moved::search(code, &judged.anchor)?;
            judged = judging.judge(judged.anchor)?;
        }
        let at = judged.moved_to.as_ref().unwrap_or(&judged.anchor.at);
        let role = judged.anchor.role().unwrap_or(AnchorRole::Affected);
        match capture_place(code, at, role, &text)? {
            Some(captured) => places.push((judged, captured)),
            None => gone.push(judged.anchor.at.to_string()),
        }
    }
    if places.is_empty() && gone.is_empty() {
        return Err(InvalidInput::new("ids", "must name records that are bound to code")
            .because(format!("{} is bound to none", record.id()))
            .into());
    }
    Ok(LookedAt { record: record.clone(), places, gone })
}

/// Every record with a place that moved and is otherwise as it was.
fn moved_unchanged(code: &CodeIndex, view: &View<'_>) -> Result<Vec<LookedAt>, Failure> {
    let judging = Judging::new(code, None);
    let mut by_record: HashMap<AnchoredRecord, LookedAt> = HashMap::new();
    for anchor in all_anchors(view)? {
        let mut judged = judging.judge(anchor)?;
        if judged.state == CodeState::Missing {
            moved::search(code, &judged.anchor)?;
            judged = judging.judge(judged.anchor)?;
        }
        let (Some(at), CodeState::Fresh) = (judged.moved_to.clone(), judged.state) else {
            continue;
        };
        let record = judged.anchor.of.clone();
        let role = judged.anchor.role().unwrap_or(AnchorRole::Affected);
        if let Some(captured) = capture_place(code, &at, role, &record_text(view, &record)?)? {
            let looked = by_record.entry(record.clone()).or_insert_with(|| LookedAt {
                record,
                places: Vec::new(),
                gone: Vec::new(),
            });
            looked.places.push((judged, captured));
        }
    }
    let mut looked: Vec<LookedAt> = by_record.into_values().collect();
    looked.sort_by(|a, b| a.record.cmp(&b.record));
    Ok(looked)
}

/// The anchors of each record that was bound without a line of its own, if its code is as it was.
fn fresh_assumed(code: &CodeIndex, view: &View<'_>) -> Result<Vec<Vec<Anchor>>, Failure> {
    let judging = Judging::new(code, None);
    let mut found = Vec::new();
    for record in old_records(view)? {
        let judged = judging.record(view, &record)?;
        let is_assumed = |judged: &JudgedAnchor| {
            judged.state == CodeState::Fresh
                && judged.moved_to.is_none()
                && judged.anchor.event() == Some(AnchorEvent::Assumed)
        };
        if !judged.is_empty() && judged.iter().all(is_assumed) {
            found.push(judged.into_iter().map(|judged| judged.anchor).collect());
        }
    }
    Ok(found)
}

/// Decisions and entries that have no line about their code.
fn old_records(view: &View<'_>) -> Result<Vec<AnchoredRecord>, Failure> {
    let mut records: Vec<AnchoredRecord> = Vec::new();
    let mut offset = 0;
    loop {
        let page = view.decisions().page_from(&DecisionFilter::default(), offset, limits::PAGE)?;
        let binding = page.items.iter().filter(|decision| decision.status.binds());
        records.extend(binding.map(|found| AnchoredRecord::Decision(found.id.to_string())));
        offset += page.items.len();
        if page.items.len() < limits::PAGE {
            break;
        }
    }
    let entries = view.entries().ids_and_rows()?;
    records.extend(entries.into_iter().map(|(id, _)| AnchoredRecord::Entry(id)));
    let mut unbound = Vec::new();
    for record in records {
        if !is_bound(view, &record)? {
            unbound.push(record);
        }
    }
    Ok(unbound)
}

fn assumed_outcome(anchors: &[Anchor]) -> Option<ConfirmedRecord> {
    let place = |anchor: &Anchor| AnchoredPlace {
        at: anchor.at.to_string(),
        kind: anchor.kind.clone(),
        coarse: false,
    };
    Some(ConfirmedRecord {
        id: anchors.first()?.of.id().to_owned(),
        anchored: anchors.iter().map(place).collect(),
        gone: Vec::new(),
        unread: false,
    })
}

/// The record with this id.
pub(crate) fn find_record(view: &View<'_>, id: &str) -> Result<AnchoredRecord, Failure> {
    let wanted = id.trim();
    if let Some(decision) = Id::read(wanted)
        && view.decisions().exists(&decision)?
    {
        return Ok(AnchoredRecord::Decision(decision.to_string()));
    }
    if let Some(entry) = view.entries().get(wanted)? {
        return Ok(AnchoredRecord::Entry(entry.id));
    }
    let other = AnchoredRecord::from(wanted.to_owned());
    let is_kind = matches!(other, AnchoredRecord::Node(_) | AnchoredRecord::Feature(_));
    if is_kind && !view.anchors().of(&other)?.is_empty() {
        return Ok(other);
    }
    Err(Failure::no_record(wanted))
}

/// What a record says, to be searched for words of the code.
fn record_text(view: &View<'_>, record: &AnchoredRecord) -> Result<String, Failure> {
    Ok(match record {
        AnchoredRecord::Decision(id) => match Id::read(id) {
            Some(id) => view.decisions().get(&id)?.map_or_else(String::new, |decision| {
                [decision.summary, decision.context, decision.rationale].join("\n")
            }),
            None => String::new(),
        },
        AnchoredRecord::Entry(id) => view
            .entries()
            .get(id)?
            .map_or_else(String::new, |entry| format!("{}\n{}", entry.summary, entry.detail)),
        // The words that it shares with its code are all that is asked for here.
        AnchoredRecord::Node(_) | AnchoredRecord::Feature(_) | AnchoredRecord::Other(_) => {
            let anchors = view.anchors().of(record)?;
            anchors.into_iter().flat_map(|anchor| anchor.words).collect::<Vec<_>>().join(" ")
        }
    })
}

/// The anchor of a record that is meant.
fn one_anchor(
    (code, view): (&CodeIndex, &View<'_>),
    record: &AnchoredRecord,
    at: Option<&str>,
    root: &twining_model::ProjectRoot,
) -> Result<Anchor, Failure> {
    let judged = Judging::new(code, None).record(view, record)?;
    let all: Vec<Anchor> = judged.into_iter().map(|judged| judged.anchor).collect();
    let mut anchors = all.clone();
    if let Some(at) = at {
        let place = Place::parse("at", at, root)?;
        anchors.retain(|anchor| anchor.at == place);
    }
    let listed = |anchors: &[Anchor]| {
        anchors.iter().map(|anchor| format!("`{}`", anchor.at)).collect::<Vec<_>>().join(", ")
    };
    match anchors.len() {
        1 => Ok(anchors.swap_remove(0)),
        0 if all.is_empty() => Err(InvalidInput::new("id", "must be bound to code")
            .because("the record is bound to no place; `--to PLACE` binds it")
            .into()),
        0 => Err(InvalidInput::new("at", "must be a place that the record is bound to")
            .because(format!("its places: {}", listed(&all)))
            .into()),
        _ => Err(InvalidInput::new("at", "must say which of the places is meant")
            .because(listed(&anchors))
            .into()),
    }
}

/// Where a definition that left its place was found.
fn found_place(code: &CodeIndex, anchor: &Anchor) -> Result<Place, Failure> {
    let nowhere = || {
        InvalidInput::new("accept", "needs a place that was found")
            .because("nothing is found elsewhere: name a place with `to`; `confirm` where the code is at its place")
    };
    match moved::search(code, anchor)? {
        DefinitionSearch::Found { path, name, .. } if name.is_empty() => Ok(Place::file(&path)?),
        DefinitionSearch::Found { path, name, nth, .. } => {
            Ok(Place::definition(&path, &name, nth)?)
        }
        DefinitionSearch::Nowhere { .. } | DefinitionSearch::Unknown => Err(nowhere().into()),
    }
}

pub(crate) fn released_line(anchor: &Anchor, stamp: &Stamp<'_>) -> Anchor {
    let event = AnchorEvent::Released.as_str().to_owned();
    signed(Anchor { event, ..anchor.clone() }, stamp)
}
