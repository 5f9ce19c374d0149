//! Whether an index is what it should be: its pages, its counts, and the rows against the
//! texts they were made from.

use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row};
use twining_model::scope::CaseFolding;
use twining_model::{Anchor, Decision, Entity, Entry, Relation, limits};
use xxhash_rust::xxh3::xxh3_64;

use crate::error::StoreError;
use crate::index::catch_up::entry_rows::EntryKeys;
use crate::index::catch_up::{clip, name_key, sum_of};
use crate::index::embeddings::{VectorKeys, agent_key};

// Includes the full-text indexes' own check.
const PAGES: &str = "PRAGMA integrity_check(1)";
const ENTRIES: &str = "
SELECT l.raw, l.sum, e.pos, e.id, e.at, e.kind, e.scope_key, e.shadowed, e.open, l.text_vector, l.summary_vector, e.agent
FROM line l LEFT JOIN entry e ON e.pos = l.pos ORDER BY l.pos";
const COUNTS: &str = "
SELECT (SELECT count(*) FROM line) = (SELECT count(*) FROM entry)
    AND (SELECT count(*) FROM decision_line) = (SELECT count(*) FROM decision)
    AND (SELECT count(*) FROM entry_text) = (SELECT count(*) FROM entry WHERE shadowed = 0)
    AND (SELECT count(*) FROM decision_text) = (SELECT count(*) FROM decision)
    AND (SELECT count(*) FROM entity_text) = (SELECT count(*) FROM entity)
    AND (SELECT count(*) FROM entity_note) = (SELECT count(*) FROM entity)";
const DECISIONS: &str = "
SELECT l.raw, l.sum, d.id, d.status, d.confidence, l.agent FROM decision_line l LEFT JOIN decision d ON d.num = l.num";
const ENTITIES: &str = "SELECT raw, sum, id, name, name_key, kind FROM entity";
const RELATIONS: &str = "SELECT raw, sum, id, source, target, kind FROM relation";
const ANCHORS: &str = "SELECT raw, sum, id, record, place, path_key FROM anchor";
const TAGS: &str = "SELECT tag, at, pos, kind FROM tag";
const RELATES: &str = "SELECT target, at, pos, closes FROM relates";
const WRONGLY_OPEN: &str = "
SELECT count(*) FROM entry e WHERE e.shadowed = 0
AND e.open <> (e.kind IN ('need', 'question', 'warning') AND NOT EXISTS(SELECT 1 FROM relates WHERE target = e.id AND closes = 1))";
const WRONGLY_SHADOWED: &str = "
SELECT count(*) FROM entry e WHERE e.shadowed <> EXISTS(SELECT 1 FROM entry o WHERE o.id = e.id AND o.pos > e.pos)";
const WRONGLY_MARKED: &str = "
SELECT (SELECT count(*) FROM entity WHERE alone <> (NOT EXISTS(SELECT 1 FROM relation WHERE source = entity.id)
        AND NOT EXISTS(SELECT 1 FROM relation WHERE target = entity.id)))
    + (SELECT count(*) FROM relation WHERE dangling <> (NOT EXISTS(SELECT 1 FROM entity WHERE id = relation.source)
        OR NOT EXISTS(SELECT 1 FROM entity WHERE id = relation.target)))";

/// By the numbers of [`Count`].
const RECOUNT: &str = "
SELECT 0, count(*) FROM entry WHERE shadowed = 0
UNION ALL SELECT 1, count(*) FROM entry WHERE shadowed = 1
UNION ALL SELECT 2, count(*) FROM entry WHERE open = 1 AND kind = 'need'
UNION ALL SELECT 3, count(*) FROM entry WHERE open = 1 AND kind = 'question'
UNION ALL SELECT 4, count(*) FROM entry WHERE open = 1 AND kind = 'warning'
UNION ALL SELECT 5, count(*) FROM decision WHERE status = 'active'
UNION ALL SELECT 6, count(*) FROM decision WHERE status = 'provisional'
UNION ALL SELECT 7, count(*) FROM decision WHERE status = 'superseded'
UNION ALL SELECT 8, count(*) FROM decision WHERE status = 'overridden'
UNION ALL SELECT 9, count(*) FROM decision WHERE unconfirmed = 1
UNION ALL SELECT 10, count(*) FROM entity
UNION ALL SELECT 11, count(*) FROM entity
    WHERE NOT EXISTS(SELECT 1 FROM relation WHERE source = entity.id)
    AND NOT EXISTS(SELECT 1 FROM relation WHERE target = entity.id)
UNION ALL SELECT 12, count(*) FROM relation
UNION ALL SELECT 13, count(*) FROM relation
    WHERE NOT EXISTS(SELECT 1 FROM entity WHERE id = relation.source)
    OR NOT EXISTS(SELECT 1 FROM entity WHERE id = relation.target)
UNION ALL SELECT 14, count(*) FROM unreadable
UNION ALL SELECT 15, coalesce(sum(sum & 4294967295), 0) FROM decision_line";

const CENSUS_DIFFERS: &str = "
SELECT count(*) FROM (
    SELECT * FROM (SELECT scope_key, kind, n, open FROM scope_count
        EXCEPT SELECT scope_key, kind, count(*), sum(open) FROM entry WHERE shadowed = 0 GROUP BY scope_key, kind)
    UNION ALL
    SELECT * FROM (SELECT scope_key, kind, count(*), sum(open) FROM entry WHERE shadowed = 0 GROUP BY scope_key, kind
        EXCEPT SELECT scope_key, kind, n, open FROM scope_count)
)";

/// Whether everything is right. Reads all of it.
pub(super) fn is_sound(conn: &Connection, folding: CaseFolding) -> Result<bool, StoreError> {
    let pages: String = conn.query_row(PAGES, [], |row| row.get(0))?;
    Ok(pages == "ok"
        && conn.query_row(COUNTS, [], |row| row.get::<_, bool>(0))?
        && entries_are_right(conn, folding)?
        && decisions_are_right(conn)?
        && graph_is_right(conn)?
        && anchors_are_right(conn, folding)?
        && is_zero(conn, WRONGLY_OPEN)?
        && is_zero(conn, WRONGLY_SHADOWED)?
        && is_zero(conn, WRONGLY_MARKED)?
        && are_counts_right(conn)?)
}

/// A sum over rows that does not depend on their order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Heap(u64, u64);

impl Heap {
    fn put(&mut self, row: &str) {
        self.0 = self.0.wrapping_add(xxh3_64(row.as_bytes()));
        self.1 += 1;
    }

    fn of(conn: &Connection, sql: &str) -> Result<Self, StoreError> {
        let mut heap = Self::default();
        let mut statement = conn.prepare(sql)?;
        let columns = statement.column_count();
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            heap.put(&spelled(row, columns)?);
        }
        Ok(heap)
    }
}

fn spelled(row: &Row<'_>, columns: usize) -> Result<String, StoreError> {
    let mut text = String::new();
    for at in 0..columns {
        match row.get_ref(at)? {
            ValueRef::Text(bytes) => text.push_str(&String::from_utf8_lossy(bytes)),
            ValueRef::Integer(n) => text.push_str(&n.to_string()),
            _ => text.push('?'),
        }
        text.push('\u{1F}');
    }
    Ok(text)
}

fn row_of<const N: usize>(cells: [&str; N]) -> String {
    cells.iter().flat_map(|cell| [*cell, "\u{1F}"]).collect()
}

/// The record of a row whose text is in column 0 and its checksum in column 1.
fn record<T: serde::de::DeserializeOwned>(row: &Row<'_>) -> Result<Option<T>, StoreError> {
    let raw: String = row.get(0)?;
    if sum_of(&raw) != row.get::<_, i64>(1)? {
        return Ok(None);
    }
    Ok(serde_json::from_str(&raw).ok())
}

fn entries_are_right(conn: &Connection, folding: CaseFolding) -> Result<bool, StoreError> {
    let (mut tags, mut relates) = (Heap::default(), Heap::default());
    let mut statement = conn.prepare(ENTRIES)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let Some(entry) = record::<Entry>(row)? else { return Ok(false) };
        let known = EntryKeys::of(&entry, folding);
        let stored: (i64, String, i64, String, String) =
            (row.get(2)?, row.get(3)?, row.get(4)?, row.get(5)?, row.get(6)?);
        let (pos, id, at, kind, scope_key) = &stored;
        let same = (id.as_str(), *at, kind.as_str(), scope_key.as_str())
            == (known.id, known.at, known.kind, known.scope_key.as_str());
        if !same
            || VectorKeys::at(row, 9)? != known.vector_keys
            || row.get::<_, String>(11)? != agent_key(&entry.agent_id)
        {
            return Ok(false);
        }
        if !row.get::<_, bool>(7)? {
            let (at, pos) = (at.to_string(), pos.to_string());
            known.tags.iter().for_each(|tag| tags.put(&row_of([tag, &at, &pos, known.kind])));
            let closes = i64::from(known.closes).to_string();
            known
                .relates
                .iter()
                .for_each(|target| relates.put(&row_of([target, &at, &pos, &closes])));
        }
    }
    Ok(tags == Heap::of(conn, TAGS)? && relates == Heap::of(conn, RELATES)?)
}

fn decisions_are_right(conn: &Connection) -> Result<bool, StoreError> {
    let mut statement = conn.prepare(DECISIONS)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let Some(decision) = record::<Decision>(row)? else { return Ok(false) };
        let stored: (String, String, String, String) =
            (row.get(2)?, row.get(3)?, row.get(4)?, row.get(5)?);
        let known = (
            decision.id.as_str(),
            decision.status.as_str(),
            decision.confidence.as_str(),
            agent_key(&decision.agent_id),
        );
        if known != (stored.0.as_str(), stored.1.as_str(), stored.2.as_str(), stored.3) {
            return Ok(false);
        }
    }
    Ok(true)
}

fn graph_is_right(conn: &Connection) -> Result<bool, StoreError> {
    let mut statement = conn.prepare(ENTITIES)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let Some(entity) = record::<Entity>(row)? else { return Ok(false) };
        let stored: (String, String, String, String) =
            (row.get(2)?, row.get(3)?, row.get(4)?, row.get(5)?);
        let known =
            (entity.id.as_str(), short(&entity.name), name_key(&entity.name), short(&entity.kind));
        if known != (stored.0.as_str(), stored.1.as_str(), stored.2, stored.3.as_str()) {
            return Ok(false);
        }
    }
    let mut statement = conn.prepare(RELATIONS)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let Some(relation) = record::<Relation>(row)? else { return Ok(false) };
        let stored: (String, String, String, String) =
            (row.get(2)?, row.get(3)?, row.get(4)?, row.get(5)?);
        let known = (
            relation.id.as_str(),
            short(&relation.source),
            short(&relation.target),
            short(&relation.kind),
        );
        if known != (stored.0.as_str(), stored.1.as_str(), stored.2.as_str(), stored.3.as_str()) {
            return Ok(false);
        }
    }
    Ok(true)
}

fn anchors_are_right(conn: &Connection, folding: CaseFolding) -> Result<bool, StoreError> {
    let mut statement = conn.prepare(ANCHORS)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let Some(anchor) = record::<Anchor>(row)? else { return Ok(false) };
        let stored: [String; 4] = [row.get(2)?, row.get(3)?, row.get(4)?, row.get(5)?];
        let path_key = anchor.at.path_key(folding);
        if stored != [anchor.id, anchor.of.to_string(), anchor.at.to_string(), path_key] {
            return Ok(false);
        }
    }
    Ok(true)
}

fn short(text: &str) -> &str {
    clip(text, limits::NAME_BYTES)
}

fn is_zero(conn: &Connection, sql: &str) -> Result<bool, StoreError> {
    Ok(conn.query_row(sql, [], |row| row.get::<_, i64>(0))? == 0)
}

fn are_counts_right(conn: &Connection) -> Result<bool, StoreError> {
    let mut recount = conn.prepare(RECOUNT)?;
    let mut rows = recount.query([])?;
    while let Some(row) = rows.next()? {
        let kept: i64 = conn.query_row(
            "SELECT coalesce((SELECT n FROM counter WHERE count = ?1), 0)",
            [row.get::<_, i64>(0)?],
            |row| row.get(0),
        )?;
        if kept != row.get::<_, i64>(1)? {
            return Ok(false);
        }
    }
    is_zero(conn, CENSUS_DIFFERS)
}
