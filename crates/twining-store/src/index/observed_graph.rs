//! Reading the observed graph.

use rusqlite::{Connection, params};
use twining_model::{Entity, Relation};

use super::catch_up::name_key;
use super::view;
use super::view::CountKind;
use super::view::{Page, first_column, json_list, load, record_at, records, row_limit, text_at};
use super::word_search::quoted;
use crate::error::StoreError;

/// The observed graph, as of one moment.
pub struct ObservedGraph<'v> {
    pub(super) conn: &'v Connection,
}

/// A relation, seen from one of its ends.
#[derive(Clone, Debug, PartialEq)]
pub struct GraphEdge {
    /// The relation.
    pub relation: Relation,
    /// The entity at the far end.
    pub other: String,
    /// Whether it leads from here to there.
    pub outgoing: bool,
}

const ENTITY: &str = "SELECT raw, sum FROM entity WHERE id = ?1";
const NAMED: &str = "SELECT raw, sum FROM entity WHERE name = ?1 ORDER BY kind, id";
const NAMED_AS: &str =
    "SELECT raw, sum FROM entity WHERE name = ?1 AND kind = ?2 ORDER BY id LIMIT 1";

/// Entities of these kinds, along their names in order.
macro_rules! along_names {
    ($which:literal) => {
        concat!(
            "SELECT e.num FROM entity e INDEXED BY entity_name_key WHERE ",
            $which,
            " AND (?2 IS NULL OR e.kind IN (SELECT value FROM json_each(?2))) ORDER BY e.name_key, e.id LIMIT ?3"
        )
    };
}

const NAMED_EXACTLY: &str = along_names!("e.name_key = ?1");
const BEGINNING: &str = along_names!("e.name_key > ?1 AND e.name_key < ?1 || char(1114111)");
// Quick when many match, which is when it is used.
const CONTAINING: &str = along_names!("instr(e.name_key, ?1) > 1");
const NAMES: &str = "
SELECT e.name_key, e.id, e.num FROM entity_text x CROSS JOIN entity e ON e.num = x.rowid
WHERE entity_text MATCH ?1 AND (?2 IS NULL OR e.kind IN (SELECT value FROM json_each(?2))) LIMIT ?3";
const NOTES: &str = "
SELECT e.name_key, e.id, e.num FROM entity_note x CROSS JOIN entity e ON e.num = x.rowid
WHERE entity_note MATCH ?1 AND (?2 IS NULL OR e.kind IN (SELECT value FROM json_each(?2))) LIMIT ?3";
const AT: &str = "SELECT raw, sum FROM entity WHERE num = ?1";
const OUT: &str = "
SELECT raw, sum, target FROM relation INDEXED BY relation_out
WHERE source = ?1 ORDER BY kind, target, id LIMIT ?2";
const OUT_AS: &str = "
SELECT raw, sum, target FROM relation INDEXED BY relation_out
WHERE source = ?1 AND kind = ?3 ORDER BY target, id LIMIT ?2";
const IN: &str = "
SELECT raw, sum, source FROM relation INDEXED BY relation_in
WHERE target = ?1 AND source <> ?1 ORDER BY kind, source, id LIMIT ?2";
const IN_AS: &str = "
SELECT raw, sum, source FROM relation INDEXED BY relation_in
WHERE target = ?1 AND kind = ?3 AND source <> ?1 ORDER BY source, id LIMIT ?2";
const BETWEEN: &str = "SELECT raw, sum FROM relation WHERE source = ?1 AND kind = ?2 AND target = ?3 ORDER BY id LIMIT 1";
const ALL: &str = "SELECT raw, sum FROM entity ORDER BY id LIMIT ?1";
const DISCONNECTED: &str =
    "SELECT raw, sum FROM entity INDEXED BY entity_alone WHERE alone = 1 ORDER BY id LIMIT ?1";
const DANGLING: &str = "SELECT raw, sum FROM relation INDEXED BY relation_dangling WHERE dangling = 1 ORDER BY id LIMIT ?1";

// Both from an index that has every column: the records, which are much larger, are not touched.
const HEADERS: &str =
    "SELECT id, name, kind FROM entity INDEXED BY entity_name ORDER BY name, kind, id";
const ENDS: &str = "
SELECT source, target, kind FROM relation INDEXED BY relation_out ORDER BY source, kind, target";

const HAS_ENTITY: &str = "SELECT EXISTS(SELECT 1 FROM entity WHERE id = ?1)";
const HAS_RELATION: &str = "SELECT EXISTS(SELECT 1 FROM relation WHERE id = ?1)";

/// Up to so many matches are sorted by name; above, names are walked in order.
const SORTED: usize = 600;
/// What the trigram index can find.
const TRIGRAM: usize = 3;

impl ObservedGraph<'_> {
    /// The entity with this id.
    pub fn entity(&self, id: &str) -> Result<Option<Entity>, StoreError> {
        Ok(records(self.conn, ENTITY, [id])?.pop())
    }

    /// Whether there is an entity with this id.
    pub fn has_entity(&self, id: &str) -> Result<bool, StoreError> {
        Ok(self.conn.prepare_cached(HAS_ENTITY)?.query_row([id], |row| row.get(0))?)
    }

    /// Whether there is a relation with this id.
    pub fn has_relation(&self, id: &str) -> Result<bool, StoreError> {
        Ok(self.conn.prepare_cached(HAS_RELATION)?.query_row([id], |row| row.get(0))?)
    }

    /// Entities of exactly this name, of any type.
    pub fn named(&self, name: &str) -> Result<Vec<Entity>, StoreError> {
        records(self.conn, NAMED, [name])
    }

    /// The entity of this name and type. Two branches may each have made one:
    /// then the older.
    pub fn named_as(&self, name: &str, kind: &str) -> Result<Option<Entity>, StoreError> {
        Ok(records(self.conn, NAMED_AS, [name, kind])?.pop())
    }

    /// Entities with this text in their name or in a property, whatever its case:
    /// of that name first, then where the name begins with it, then where it
    /// contains it, then the others; and whether there are more. A text of one or
    /// two characters is looked for in names only.
    pub fn find(
        &self,
        query: &str,
        kinds: &[String],
        limit: usize,
    ) -> Result<(Vec<Entity>, bool), StoreError> {
        let query = name_key(query.trim());
        if query.is_empty() || limit == 0 {
            return Ok((Vec::new(), false));
        }
        let kinds = (!kinds.is_empty()).then(|| json_list(kinds));
        let wanted = limit + 1;
        let mut nums = self.beginning(&query, kinds.as_deref(), wanted)?;
        if nums.len() < wanted {
            add(&mut nums, &self.containing(&query, kinds.as_deref(), wanted)?, wanted);
        }
        if nums.len() < wanted && query.chars().count() >= TRIGRAM {
            add(&mut nums, &self.matching(NOTES, &query, kinds.as_deref())?.0, wanted);
        }
        let more = nums.len() > limit;
        nums.truncate(limit);
        Ok((load(self.conn, AT, &nums)?, more))
    }

    /// Entities whose name is this text, then those whose name begins with it.
    pub fn with_name_prefix(&self, start: &str, limit: usize) -> Result<Vec<Entity>, StoreError> {
        load(self.conn, AT, &self.beginning(&name_key(start), None, limit)?)
    }

    fn beginning(
        &self,
        query: &str,
        kinds: Option<&str>,
        wanted: usize,
    ) -> Result<Vec<i64>, StoreError> {
        let mut nums =
            first_column(self.conn, NAMED_EXACTLY, params![query, kinds, row_limit(wanted)])?;
        if nums.len() < wanted {
            add(
                &mut nums,
                &first_column(self.conn, BEGINNING, params![query, kinds, row_limit(wanted)])?,
                wanted,
            );
        }
        Ok(nums)
    }

    fn containing(
        &self,
        query: &str,
        kinds: Option<&str>,
        wanted: usize,
    ) -> Result<Vec<i64>, StoreError> {
        if query.chars().count() >= TRIGRAM {
            let (nums, all) = self.matching(NAMES, query, kinds)?;
            if all {
                return Ok(nums);
            }
        }
        first_column(self.conn, CONTAINING, params![query, kinds, row_limit(wanted)])
    }

    /// Matches in order of their names, and whether that is all of them.
    fn matching(
        &self,
        sql: &str,
        query: &str,
        kinds: Option<&str>,
    ) -> Result<(Vec<i64>, bool), StoreError> {
        let mut statement = self.conn.prepare_cached(sql)?;
        let mut found: Vec<(String, String, i64)> = statement
            .query_map(params![quoted(query), kinds, row_limit(SORTED + 1)], |row| {
                Ok((row.get(0)?, row.get(1)?, row.get(2)?))
            })?
            .collect::<Result<_, _>>()?;
        found.sort_unstable();
        let all = found.len() <= SORTED;
        Ok((found.into_iter().map(|(_, _, num)| num).collect(), all))
    }

    /// Relations at this entity, in both directions, ordered by kind and the
    /// entity at the far end. One that leads back to itself is listed once.
    pub fn edges(
        &self,
        id: &str,
        kinds: &[String],
        limit: usize,
    ) -> Result<Vec<GraphEdge>, StoreError> {
        let mut edges: Vec<GraphEdge> = Vec::new();
        for (any, one, outgoing) in [(OUT, OUT_AS, true), (IN, IN_AS, false)] {
            if kinds.is_empty() {
                self.take_edges(any, params![id, row_limit(limit)], outgoing, &mut edges)?;
            }
            for (i, kind) in kinds.iter().enumerate() {
                if !kinds[..i].contains(kind) {
                    self.take_edges(
                        one,
                        params![id, row_limit(limit), kind],
                        outgoing,
                        &mut edges,
                    )?;
                }
            }
        }
        fn key(edge: &GraphEdge) -> (&str, &str, bool, &str) {
            (&edge.relation.kind, &edge.other, !edge.outgoing, &edge.relation.id)
        }
        edges.sort_by(|a, b| key(a).cmp(&key(b)));
        edges.truncate(limit);
        Ok(edges)
    }

    fn take_edges(
        &self,
        sql: &str,
        params: impl rusqlite::Params,
        outgoing: bool,
        edges: &mut Vec<GraphEdge>,
    ) -> Result<(), StoreError> {
        let mut statement = self.conn.prepare_cached(sql)?;
        let mut rows = statement.query(params)?;
        while let Some(row) = rows.next()? {
            edges.push(GraphEdge { relation: record_at(row, 0)?, other: row.get(2)?, outgoing });
        }
        Ok(())
    }

    /// The relation of this type from one entity to another.
    pub fn relation_between(
        &self,
        source: &str,
        target: &str,
        kind: &str,
    ) -> Result<Option<Relation>, StoreError> {
        Ok(records(self.conn, BETWEEN, [source, kind, target])?.pop())
    }

    /// Every entity, ordered by id.
    pub fn page(&self, limit: usize) -> Result<Page<Entity>, StoreError> {
        Ok(Page {
            items: records(self.conn, ALL, [row_limit(limit)])?,
            total: view::sum(self.conn, &[CountKind::Entities])?,
        })
    }

    /// Visits the id, name and type of every entity, by name, type and id: namesakes come one
    /// after another, the oldest first.
    pub fn each_entity(&self, visit: impl FnMut([&str; 3])) -> Result<(), StoreError> {
        self.each_row(HEADERS, visit)
    }

    /// Visits the source, target and type of every relation, by source, type and target.
    pub fn each_relation(&self, visit: impl FnMut([&str; 3])) -> Result<(), StoreError> {
        self.each_row(ENDS, visit)
    }

    fn each_row(&self, sql: &str, mut visit: impl FnMut([&str; 3])) -> Result<(), StoreError> {
        let mut statement = self.conn.prepare_cached(sql)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            visit([text_at(row, 0)?, text_at(row, 1)?, text_at(row, 2)?]);
        }
        Ok(())
    }

    /// Entities without any relation, ordered by id.
    pub fn disconnected(&self, limit: usize) -> Result<Vec<Entity>, StoreError> {
        records(self.conn, DISCONNECTED, [row_limit(limit)])
    }

    /// Relations with an end that is missing, ordered by id.
    pub fn dangling(&self, limit: usize) -> Result<Vec<Relation>, StoreError> {
        records(self.conn, DANGLING, [row_limit(limit)])
    }
}

fn add(nums: &mut Vec<i64>, more: &[i64], wanted: usize) {
    for num in more {
        if nums.len() < wanted && !nums.contains(num) {
            nums.push(*num);
        }
    }
}
