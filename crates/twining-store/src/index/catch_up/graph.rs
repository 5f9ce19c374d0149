//! The observed graph as rows: two arrays, and the journal of what is not in
//! them yet.
//!
//! A changed array is read whole and compared element by element; our own
//! rewrite of it changes nothing and is only noted.

use std::collections::HashMap;
use std::time::Duration;

use rusqlite::params;
use twining_model::{Entity, Relation, limits};

use super::board_sync::{IndexUpdate, clip, sum_of};
use super::entry_rows::check_id;
use crate::disk::Fingerprint;
use crate::error::StoreError;
use crate::format::array;
use crate::index::database::array_prints;
use crate::index::view::CountKind;
use crate::log::journal::JournalLine;
use crate::log::lock::LockState;
use crate::log::store_files::{Array, StoreFiles};
use crate::merge::{HAS_CONFLICT_MARKERS, has_markers};

/// How often to try again if an array is replaced while we read.
const TRIES: usize = 8;
/// How long a writer that changed an array may take to say so.
const MAX_CHECKS: usize = 20;
const CHECK_INTERVAL: Duration = Duration::from_micros(200);
const ARRAYS: [Array; 2] = [Array::Entities, Array::Relations];

/// The form names are compared in when case does not matter.
pub(in crate::index) fn name_key(name: &str) -> String {
    clip(name, limits::NAME_BYTES).to_lowercase()
}

/// What an entity is searched by: its name, and the values of its properties.
fn entity_texts(entity: &Entity) -> (&str, String) {
    let values: Vec<&str> = entity
        .properties
        .values()
        .take(limits::PROPERTIES)
        .map(|value| clip(value, limits::PROPERTY_BYTES))
        .collect();
    (clip(&entity.name, limits::NAME_BYTES), values.join("\n"))
}

const SUMS: [&str; 2] = ["SELECT id, sum FROM entity", "SELECT id, sum FROM relation"];
const HAS_UNREADABLE: &str = "SELECT EXISTS(SELECT 1 FROM unreadable WHERE file = ?1)";

const OLD_ENTITY: &str = "SELECT num, sum, name FROM entity WHERE id = ?1";
const INSERT_ENTITY: &str = "INSERT INTO entity(id, name, name_key, kind, alone, raw, sum) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)";
const UPDATE_ENTITY: &str =
    "UPDATE entity SET name = ?2, name_key = ?3, kind = ?4, raw = ?5, sum = ?6 WHERE num = ?1";
const DELETE_ENTITY: &str = "DELETE FROM entity WHERE id = ?1 RETURNING num, alone";
// In two indexes: a text that occurs in every property must not slow down a name lookup.
const INSERT_TEXT: &str = "INSERT INTO entity_text(rowid, name) VALUES(?1, ?2)";
const INSERT_NOTE: &str = "INSERT INTO entity_note(rowid, properties) VALUES(?1, ?2)";
const DELETE_TEXT: &str = "DELETE FROM entity_text WHERE rowid = ?1";
const DELETE_NOTE: &str = "DELETE FROM entity_note WHERE rowid = ?1";
const ALONE: &str = "SELECT num, alone FROM entity WHERE id = ?1";
const SET_ALONE: &str = "UPDATE entity SET alone = ?2 WHERE num = ?1";
const IS_LINKED: &str = "SELECT EXISTS(SELECT 1 FROM relation WHERE source = ?1) OR EXISTS(SELECT 1 FROM relation WHERE target = ?1)";

const RELATION_SUM: &str = "SELECT sum FROM relation WHERE id = ?1";
const INSERT_RELATION: &str = "INSERT INTO relation(id, source, target, kind, dangling, raw, sum) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)";
const DELETE_RELATION: &str =
    "DELETE FROM relation WHERE id = ?1 RETURNING source, target, dangling";
// Both ends, because one may be missing while the other comes or goes.
const UPDATE_DANGLING: &str = "
UPDATE relation SET dangling = 1 - dangling
WHERE (source = ?1 OR target = ?1)
    AND dangling = (EXISTS(SELECT 1 FROM entity WHERE id = relation.source) AND EXISTS(SELECT 1 FROM entity WHERE id = relation.target))
RETURNING dangling";

impl IndexUpdate<'_> {
    /// Brings entities and relations up to their arrays and the journal.
    pub(super) fn graph(&mut self, files: &StoreFiles) -> Result<(), StoreError> {
        for _ in 0..TRIES {
            let (before, seq) = self.stable_arrays(files)?;
            if before == self.known.arrays && seq == self.known.seq {
                return Ok(());
            }
            let (reloads, lines) = self.reloads(files, before, seq)?;
            let through = lines.last().map_or(seq, |line| line.seq.max(seq));
            let mut loaded = before;
            for (i, array) in ARRAYS.into_iter().enumerate() {
                if reloads[i] {
                    loaded[i] = self.reload_array(files, array)?;
                }
            }
            let mut overlay =
                if reloads.contains(&true) { files.journal_all()? } else { Vec::new() };
            overlay.retain(|line| line.seq <= through);
            // A writer may replace an array and then shorten the journal between our two reads. If
            // the arrays are unchanged, so was the journal.
            let is_unchanged = array_prints(files)? == loaded;
            for (i, array) in ARRAYS.into_iter().enumerate() {
                for line in if reloads[i] { &overlay } else { &lines } {
                    self.apply_journal_line(line, array)?;
                }
            }
            (self.known.arrays, self.known.seq) = (loaded, through);
            if is_unchanged {
                return Ok(());
            }
            // Read both again, now or in the next call: no file looks like this.
            (self.known.arrays, self.known.seq) = ([Some(Fingerprint::default()); 2], 0);
        }
        Ok(())
    }

    /// Returns the arrays and the journal position. A writer changes an array first and then
    /// records it: a reader in between waits instead of reading everything.
    fn stable_arrays(
        &self,
        files: &StoreFiles,
    ) -> Result<([Option<Fingerprint>; 2], u64), StoreError> {
        for _ in 0..MAX_CHECKS {
            let ours = files.lock_state().arrays;
            let (now, seq) = (array_prints(files)?, files.lock_state().applied_seq);
            let is_known = |i: usize| {
                now[i] == self.known.arrays[i]
                    || ours[i].is_none_or(|last_state| Some(last_state.to) == now[i])
            };
            if is_known(0) && is_known(1) {
                return Ok((now, seq));
            }
            std::thread::sleep(CHECK_INTERVAL);
        }
        Ok((array_prints(files)?, files.lock_state().applied_seq))
    }

    /// Whether each array must be read whole, and the journal lines that are new. One that is
    /// as we know it, or that only we changed, need not: the journal has the rest.
    fn reloads(
        &self,
        files: &StoreFiles,
        prints: [Option<Fingerprint>; 2],
        seq: u64,
    ) -> Result<([bool; 2], Vec<JournalLine>), StoreError> {
        let known = self.known.seq;
        if seq < known || (known == 0 && seq > 0) {
            return Ok(([true; 2], Vec::new()));
        }
        // Before the journal is read: it may be shortened meanwhile.
        let LockState { arrays: ours, dropped_seq, .. } = files.lock_state();
        let lines = files.journal_since(known)?;
        if known < dropped_seq.max(files.lock_state().dropped_seq) {
            return Ok(([true; 2], Vec::new()));
        }
        let mut reloads = [true; 2];
        for (i, array) in ARRAYS.into_iter().enumerate() {
            let same = self.known.arrays[i] == prints[i];
            let is_ours = ours[i].is_some_and(|last_state| {
                Some(last_state.to) == prints[i]
                    && (last_state.from == self.known.arrays[i] || known > last_state.since)
            });
            // Our writes move lines and drop repeats: what was reported of them is void.
            reloads[i] = !same && (!is_ours || self.is_true(HAS_UNREADABLE, array.path())?);
        }
        Ok((reloads, lines))
    }

    /// Carries out on the rows what one journal line does to one array.
    fn apply_journal_line(&mut self, line: &JournalLine, array: Array) -> Result<(), StoreError> {
        let change = &line.change;
        if array == Array::Entities {
            for entity in &change.entities {
                self.upsert_entity(&serde_json::to_string(entity)?, entity)?;
            }
            for id in &change.removed_entities {
                self.drop_entity(id)?;
            }
        } else {
            for relation in &change.relations {
                self.upsert_relation(&serde_json::to_string(relation)?, relation)?;
            }
            for id in &change.removed_relations {
                self.drop_relation(id)?;
            }
        }
        self.rows += 1;
        Ok(())
    }

    /// Makes the rows what the array says, touching only those that differ.
    fn reload_array(
        &mut self,
        files: &StoreFiles,
        array: Array,
    ) -> Result<Option<Fingerprint>, StoreError> {
        self.clear_reports(array.path(), 0)?;
        let (print, bytes) = match files.array(array) {
            Ok(Some((print, bytes))) => (Some(print), bytes),
            Ok(None) => (None, array::EMPTY_ARRAY.to_vec()),
            Err(error @ (StoreError::Unsafe { .. } | StoreError::Damaged { .. })) => {
                self.report_unreadable(array.path(), 0, None, &error.to_string())?;
                (files.array_fingerprint(array)?, array::EMPTY_ARRAY.to_vec())
            }
            Err(error) => return Err(error),
        };
        // Each with its checksum, and whether an element of the array named it.
        let mut rows: HashMap<String, (i64, bool)> = self
            .conn
            .prepare_cached(SUMS[array as usize])?
            .query_map([], |row| Ok((row.get(0)?, (row.get(1)?, false))))?
            .collect::<Result<_, _>>()?;
        let scanned = array::scan(&bytes);
        let mut damage = scanned.unreadable;
        if damage.is_empty() && has_markers(&bytes) {
            damage.push((1, HAS_CONFLICT_MARKERS.to_owned()));
        }
        for (line, raw) in &scanned.elements {
            damage.extend(self.take_element(array, raw, &mut rows)?.err().map(|why| (*line, why)));
        }
        for (at, (line, why)) in (1..).zip(&damage) {
            self.report_unreadable(array.path(), at, Some(*line), why)?;
        }
        for (id, _) in rows.into_iter().filter(|(_, (_, is_seen))| !is_seen) {
            match array {
                Array::Relations => self.drop_relation(&id)?,
                _ => self.drop_entity(&id)?,
            }
            self.rows += 1;
        }
        Ok(print)
    }

    /// Adds an element, or returns why it cannot be read.
    fn take_element(
        &mut self,
        array: Array,
        raw: &str,
        rows: &mut HashMap<String, (i64, bool)>,
    ) -> Result<Result<(), String>, StoreError> {
        let id = match element_id(raw) {
            Ok(id) => id,
            Err(why) => return Ok(Err(why)),
        };
        let sum = sum_of(raw);
        if let Some((known, is_seen)) = rows.get_mut(&id)
            && *known == sum
        {
            *is_seen = true;
            return Ok(Ok(()));
        }
        let put = match array {
            Array::Relations => {
                serde_json::from_str(raw).map(|relation| self.upsert_relation(raw, &relation))
            }
            _ => serde_json::from_str(raw).map(|entity| self.upsert_entity(raw, &entity)),
        };
        match put {
            Ok(put) => put?,
            Err(error) => return Ok(Err(format!("not an element of this array: {error}"))),
        }
        self.rows += 1;
        // Known from now on: a second element with this id replaces it, whatever was here before.
        rows.insert(id, (sum, true));
        Ok(Ok(()))
    }

    fn upsert_entity(&mut self, raw: &str, entity: &Entity) -> Result<(), StoreError> {
        let sum = sum_of(raw);
        let old: Option<(i64, i64, String)> = self.find(OLD_ENTITY, &entity.id)?;
        let kind = clip(&entity.kind, limits::NAME_BYTES);
        let (name, properties) = entity_texts(entity);
        // What an entity is called seldom changes, and each text that is replaced costs a merge later.
        let is_renamed = old.as_ref().is_none_or(|(_, _, known)| known != name);
        let num = match old {
            Some((_, known, _)) if known == sum => return Ok(()),
            Some((num, _, _)) => {
                self.conn.prepare_cached(UPDATE_ENTITY)?.execute(params![
                    num,
                    name,
                    name_key(name),
                    kind,
                    raw,
                    sum
                ])?;
                if is_renamed {
                    self.conn.prepare_cached(DELETE_TEXT)?.execute([num])?;
                }
                self.conn.prepare_cached(DELETE_NOTE)?.execute([num])?;
                num
            }
            None => {
                let alone = !self.is_true(IS_LINKED, &entity.id)?;
                self.conn.prepare_cached(INSERT_ENTITY)?.execute(params![
                    entity.id,
                    name,
                    name_key(name),
                    kind,
                    alone,
                    raw,
                    sum
                ])?;
                let num = self.conn.last_insert_rowid();
                self.deltas.add(CountKind::Entities, 1);
                self.deltas.add(CountKind::Disconnected, i64::from(alone));
                if !alone {
                    self.update_dangling(&entity.id)?;
                }
                num
            }
        };
        if is_renamed {
            self.conn.prepare_cached(INSERT_TEXT)?.execute(params![num, name])?;
        }
        self.conn.prepare_cached(INSERT_NOTE)?.execute(params![num, properties])?;
        Ok(())
    }

    fn drop_entity(&mut self, id: &str) -> Result<(), StoreError> {
        let Some((num, alone)) = self.find::<(i64, bool)>(DELETE_ENTITY, id)? else {
            return Ok(());
        };
        self.conn.prepare_cached(DELETE_TEXT)?.execute([num])?;
        self.conn.prepare_cached(DELETE_NOTE)?.execute([num])?;
        self.deltas.add(CountKind::Entities, -1);
        self.deltas.add(CountKind::Disconnected, -i64::from(alone));
        self.update_dangling(id)
    }

    fn upsert_relation(&mut self, raw: &str, relation: &Relation) -> Result<(), StoreError> {
        let sum = sum_of(raw);
        if self.find(RELATION_SUM, &relation.id)? == Some((sum,)) {
            return Ok(());
        }
        self.drop_relation(&relation.id)?;
        let end = |id| clip(id, limits::NAME_BYTES);
        let (source, target, kind) =
            (end(&relation.source), end(&relation.target), end(&relation.kind));
        let ends = [self.set_alone(source, false)?, self.set_alone(target, false)?];
        let dangling = ends.contains(&false);
        self.conn.prepare_cached(INSERT_RELATION)?.execute(params![
            relation.id,
            source,
            target,
            kind,
            dangling,
            raw,
            sum
        ])?;
        self.deltas.add(CountKind::Relations, 1);
        self.deltas.add(CountKind::Dangling, i64::from(dangling));
        Ok(())
    }

    fn drop_relation(&mut self, id: &str) -> Result<(), StoreError> {
        let removed: Option<(String, String, bool)> = self.find(DELETE_RELATION, id)?;
        let Some((source, target, dangling)) = removed else { return Ok(()) };
        self.deltas.add(CountKind::Relations, -1);
        self.deltas.add(CountKind::Dangling, -i64::from(dangling));
        for end in [&source, &target] {
            if !self.is_true(IS_LINKED, end)? {
                self.set_alone(end, true)?;
            }
        }
        Ok(())
    }

    /// Notes whether an entity has relations; returns whether the entity exists.
    fn set_alone(&mut self, id: &str, alone: bool) -> Result<bool, StoreError> {
        let Some((num, was)) = self.find::<(i64, bool)>(ALONE, id)? else { return Ok(false) };
        if was != alone {
            self.conn.prepare_cached(SET_ALONE)?.execute(params![num, alone])?;
            self.deltas.add(CountKind::Disconnected, if alone { 1 } else { -1 });
        }
        Ok(true)
    }

    /// An entity came or went: its relations may dangle from now on, or no more.
    fn update_dangling(&mut self, id: &str) -> Result<(), StoreError> {
        let mut statement = self.conn.prepare_cached(UPDATE_DANGLING)?;
        let mut rows = statement.query([id])?;
        while let Some(row) = rows.next()? {
            self.deltas.add(CountKind::Dangling, if row.get(0)? { 1 } else { -1 });
        }
        Ok(())
    }
}

fn element_id(raw: &str) -> Result<String, String> {
    if raw.len() > limits::RECORD_BYTES {
        return Err("an element that exceeds the maximum record size".to_owned());
    }
    let id = array::id_of(raw).ok_or("an element without a string as `id`")?;
    check_id(&id)?;
    Ok(id)
}
