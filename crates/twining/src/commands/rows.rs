//! How records look to a person, the same under every verb.

use twining_engine::{CodeNote, Labelled, Mistake, RelationDirection, SearchMode};
use twining_model::{Decision, Entity, Entry, Trust};

use crate::render::text_page::{
    StyledText, TextPage, count, dim, kind, place, plain, standing, strong, warn, when,
};

/// A list of entries, one a line.
pub(super) fn entries(entries: &[Labelled<Entry>], page: &mut TextPage) {
    if entries.is_empty() {
        page.line([dim("no entries")]);
    }
    let row = |entry: &Labelled<Entry>| labelled(entry_row(&entry.record), entry.code.as_ref());
    page.table(0, entries.iter().map(row));
}

/// A row that ends with how the record's code is.
pub(super) fn labelled(mut row: Vec<StyledText>, code: Option<&CodeNote>) -> Vec<StyledText> {
    let code = code.filter(|note| note.state.is_notable());
    row.extend(code.map(|note| warn(format!("[{}]", note.state.as_str()))));
    row
}

/// Says how many were left out because their code changed.
pub(super) fn stale(page: &mut TextPage, stale_count: u64) {
    if stale_count > 0 {
        page.line([dim(format!("{} left out: the code changed", count(stale_count, "record")))]);
    }
}

/// An entry on one line.
pub(super) fn entry_row(entry: &Entry) -> Vec<StyledText> {
    let from_elsewhere = entry.origin.as_ref().is_none_or(|origin| origin.trust <= Trust::Imported);
    let author = if from_elsewhere {
        format!("{} (imported)", entry.agent_id)
    } else {
        entry.agent_id.clone()
    };
    vec![
        dim(&entry.id),
        when(&entry.timestamp),
        kind(&entry.entry_type),
        place(&entry.scope),
        dim(author),
        plain(&entry.summary),
    ]
}

/// A decision on one line.
pub(super) fn decision_row(decision: &Decision) -> Vec<StyledText> {
    vec![
        dim(decision.id.as_str()),
        when(&decision.timestamp),
        standing(decision.status),
        place(&decision.scope),
        dim(&decision.domain),
        strong(&decision.summary),
    ]
}

/// An entity on one line.
pub(super) fn entity_row(entity: &Entity) -> Vec<StyledText> {
    let properties: Vec<String> =
        entity.properties.iter().map(|(key, value)| format!("{key}={value}")).collect();
    vec![dim(&entity.id), kind(&entity.kind), strong(&entity.name), dim(properties.join(" "))]
}

/// An entity met on a walk: what it is called, and for one named by an id, as
/// decisions are, what it says.
pub(super) fn walked_entity_row(entity: &Entity) -> Vec<StyledText> {
    let named = [strong(&entity.name), dim(&entity.kind), dim(&entity.id)];
    named.into_iter().chain(entity.properties.get("summary").map(plain)).collect()
}

/// Search results with how well each matches.
pub(super) fn hits(results: impl Iterator<Item = (f64, Vec<StyledText>)>, page: &mut TextPage) {
    let rows: Vec<Vec<StyledText>> = results
        .map(|(relevance, row)| {
            std::iter::once(dim(format!("{:3.0}%", relevance * 100.0))).chain(row).collect()
        })
        .collect();
    if rows.is_empty() {
        page.line([dim("nothing matches")]);
    }
    page.table(0, rows);
}

/// How a search was done, where a person may wonder.
pub(super) fn embedding(page: &mut TextPage, mode: SearchMode, waiting: u64) {
    if waiting > 0 {
        let texts = count(waiting, "text");
        page.line([dim(format!("{texts} not embedded yet, found by keywords only; `twining reindex --vectors` embeds them now"))]);
    } else if mode == SearchMode::Keyword {
        page.line([dim("searched by keywords only")]);
    }
}

/// Rows under a heading, or nothing if there are none.
pub(super) fn section(
    page: &mut TextPage,
    heading: &str,
    rows: impl Iterator<Item = Vec<StyledText>>,
) {
    let rows: Vec<Vec<StyledText>> = rows.collect();
    if !rows.is_empty() {
        page.heading(heading);
        page.table(2, rows);
    }
}

/// A relation, pointing the way it goes.
pub(super) fn arrow(relation: &str, direction: RelationDirection) -> String {
    match direction {
        RelationDirection::Outgoing => format!("-{relation}->"),
        RelationDirection::Incoming => format!("<-{relation}-"),
    }
}

/// What is wrong with the policy files.
pub(super) fn mistakes(mistakes: &[Mistake], page: &mut TextPage) {
    mistakes.iter().for_each(|mistake| page.line([warn("mistake:"), plain(mistake.to_string())]));
}

/// Says how many older ones there are, and how to see them.
pub(super) fn older(page: &mut TextPage, total: u64, next_offset: Option<usize>) {
    if let Some(next) = next_offset {
        let left = count(total.saturating_sub(next as u64), "entry");
        page.line([dim(format!("{left} not shown (older); --offset {next} shows the next page"))]);
    }
}

/// Says that an answer was cut, and how to get the rest.
pub(super) fn truncated_note(page: &mut TextPage, truncated: bool, how_to_get_more: &str) {
    if truncated {
        page.line([dim(format!("there is more; {how_to_get_more}"))]);
    }
}
