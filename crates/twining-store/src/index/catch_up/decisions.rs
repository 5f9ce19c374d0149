//! Decisions as rows: one file each, read again only if it changed.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use rusqlite::{Connection, OptionalExtension, Row, params};
use serde_json::Value;
use twining_model::{Authority, Decision, DecisionStatus, Id, limits};

use super::board_sync::{IndexUpdate, clip, keys, sum_of};
use super::entry_rows::{scope_key, time_of};
use crate::disk::Fingerprint;
use crate::disk::layout::DECISIONS;
use crate::error::StoreError;
use crate::index::decisions_in_scope::status_of;
use crate::index::embeddings::{VectorKeys, agent_key, decision_text};
use crate::index::view::CountKind;
use crate::index::word_search::with_identifier_parts;
use crate::log::store_files::{DecisionListing, DecisionsChanged, StoreFiles};
use crate::merge::{CLASHES, HAS_CONFLICT_MARKERS, one_decision};

/// The form two domains are compared in.
pub(in crate::index) fn domain_key(domain: &str) -> String {
    clip(domain.trim(), limits::NAME_BYTES).to_lowercase()
}

const FILE_STATES: &str = "SELECT id, ino, size, mtime FROM decision_file";
const FILE_STATES_IN_ORDER: &str = "SELECT id, ino, size, mtime FROM decision_file ORDER BY id";
const FILE_STATE: &str = "SELECT ino, size, mtime FROM decision_file WHERE id = ?1";
const SAVE_FILE_STATE: &str =
    "INSERT INTO decision_file(id, ino, size, mtime) VALUES(?1, ?2, ?3, ?4)
ON CONFLICT(id) DO UPDATE SET ino = excluded.ino, size = excluded.size, mtime = excluded.mtime";
const DELETE_FILE_STATE: &str = "DELETE FROM decision_file WHERE id = ?1";
const OLD: &str = "SELECT d.num, d.status, d.unconfirmed, l.sum FROM decision d JOIN decision_line l ON l.num = d.num WHERE d.id = ?1";
const INSERT: &str = "
INSERT INTO decision(id, at, touched, status, confidence, scope_key, domain_key, unconfirmed, clashed, promoted, compatible, supersedes, scope, summary)
VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)";
const INSERT_LINE: &str = "INSERT INTO decision_line(num, text_vector, summary_vector, agent, raw, sum) VALUES(?1, ?2, ?3, ?4, ?5, ?6)";
const INSERT_FILE: &str = "INSERT OR IGNORE INTO affected_file(file_key, num) VALUES(?1, ?2)";
const INSERT_SYMBOL: &str = "INSERT OR IGNORE INTO affected_symbol(symbol, num) VALUES(?1, ?2)";
const INSERT_RESTS_ON: &str = "INSERT OR IGNORE INTO dependency(target, num) VALUES(?1, ?2)";
const INSERT_COMMIT: &str =
    "INSERT OR IGNORE INTO decision_commit(folded, num, hash) VALUES(?1, ?2, ?3)";
const INSERT_TEXT: &str =
    "INSERT INTO decision_text(rowid, summary, reasons, others, paths) VALUES(?1, ?2, ?3, ?4, ?5)";
const DELETES: [&str; 7] = [
    "DELETE FROM affected_file WHERE num = ?1",
    "DELETE FROM affected_symbol WHERE num = ?1",
    "DELETE FROM dependency WHERE num = ?1",
    "DELETE FROM decision_commit WHERE num = ?1",
    "DELETE FROM decision_text WHERE rowid = ?1",
    "DELETE FROM decision_line WHERE num = ?1",
    "DELETE FROM decision WHERE num = ?1",
];
/// The bits of a checksum that are added up; those of a million decisions fit.
const SUM_BITS: i64 = 0xFFFF_FFFF;
const MISNAMED: &str = "SELECT file FROM unreadable WHERE file LIKE 'decisions/%' AND at = 1";

impl IndexUpdate<'_> {
    /// Brings the decisions up to their files.
    pub(super) fn decisions(
        &mut self,
        files: &StoreFiles,
        changed: &DecisionsChanged,
    ) -> Result<(), StoreError> {
        match changed {
            DecisionsChanged::Nothing => Ok(()),
            DecisionsChanged::Listed(ids) => {
                for id in ids {
                    let found = files.decision_fingerprint(id)?;
                    if found.is_none() || file_state(self.conn, id)? != found {
                        self.reload(files, id, found)?;
                    }
                }
                Ok(())
            }
            DecisionsChanged::Unknown => self.every_decision(files),
        }
    }

    fn every_decision(&mut self, files: &StoreFiles) -> Result<(), StoreError> {
        let mut file_states = file_states(self.conn)?;
        let names = files.list_decisions()?;
        for (id, print) in names.decisions {
            if file_states.remove(id.as_str()) != Some(print) {
                self.reload(files, &id, Some(print))?;
            }
        }
        let removed: Vec<Id> = file_states.keys().filter_map(|id| Id::read(id)).collect();
        for id in removed {
            self.reload(files, &id, None)?;
        }
        for file in reported_as_misnamed(self.conn)? {
            self.clear_reports(&file, 0)?;
        }
        for name in &names.misnamed {
            self.report_unreadable(
                &format!("{DECISIONS}/{name}"),
                1,
                None,
                "its name is not an id",
            )?;
        }
        Ok(())
    }

    /// Makes the row of one decision what its file says. `listed` is what the
    /// directory says of it, which is all we have if it may not be opened.
    fn reload(
        &mut self,
        files: &StoreFiles,
        id: &Id,
        listed: Option<Fingerprint>,
    ) -> Result<(), StoreError> {
        let file = format!("{DECISIONS}/{id}.json");
        self.forget(id)?;
        self.clear_reports(&file, 0)?;
        let read = match files.decision(id) {
            Ok(None) => {
                self.conn.prepare_cached(DELETE_FILE_STATE)?.execute([id.as_str()])?;
                return self.commit_periodically();
            }
            Ok(Some((print, bytes))) => {
                self.save_file_state(id, print)?;
                parse(id, bytes)
            }
            Err(error @ (StoreError::Unsafe { .. } | StoreError::Damaged { .. })) => {
                self.save_file_state(id, listed.unwrap_or_default())?;
                Err(error.to_string())
            }
            Err(error) => return Err(error),
        };
        match read {
            Ok((raw, decision, is_resolved)) => {
                self.insert(&raw, &decision)?;
                if is_resolved {
                    self.report_unreadable(&file, 0, None, HAS_CONFLICT_MARKERS)?;
                }
            }
            Err(why) => self.report_unreadable(&file, 0, None, &why)?,
        }
        self.commit_periodically()
    }

    fn insert(&mut self, raw: &str, decision: &Decision) -> Result<(), StoreError> {
        let at = time_of(&decision.timestamp, decision.id.as_str());
        let touched = decision.history.last().map_or(at, |change| change.at.as_ms());
        let unconfirmed = decision.status == DecisionStatus::Overridden
            && decision.override_authority != Some(Authority::Confirmed);
        self.conn.prepare_cached(INSERT)?.execute(params![
            decision.id.as_str(),
            at,
            touched,
            decision.status.as_str(),
            decision.confidence.as_str(),
            scope_key(&decision.scope, self.folding),
            domain_key(&decision.domain),
            unconfirmed,
            has_clashes(decision),
            promoted_at(decision),
            compatible(decision),
            decision.supersedes.as_deref().map(|id| clip(id, limits::ELEMENT_BYTES)),
            clip(&decision.scope, limits::ELEMENT_BYTES),
            clip(&decision.summary, limits::TEXT_BYTES),
        ])?;
        let num = self.conn.last_insert_rowid();
        let (text_key, summary_key) =
            VectorKeys::of(&decision.summary, &decision_text(decision)).columns();
        self.conn.prepare_cached(INSERT_LINE)?.execute(params![
            num,
            text_key,
            summary_key,
            agent_key(&decision.agent_id),
            raw,
            sum_of(raw)
        ])?;
        let (paths, symbols) = (keys(&decision.affected_files), keys(&decision.affected_symbols));
        let files: Vec<String> = paths.iter().map(|file| scope_key(file, self.folding)).collect();
        // `.` or an empty name says nothing of any file.
        let files: Vec<&str> =
            files.iter().map(String::as_str).filter(|key| !key.is_empty()).collect();
        for (sql, texts) in [
            (INSERT_FILE, &files),
            (INSERT_SYMBOL, &symbols),
            (INSERT_RESTS_ON, &keys(&decision.depends_on)),
        ] {
            let mut insert = self.conn.prepare_cached(sql)?;
            for text in texts {
                insert.execute(params![text, num])?;
            }
        }
        let mut insert = self.conn.prepare_cached(INSERT_COMMIT)?;
        let linked = decision.commits.iter().map(|commit| &commit.hash);
        for hash in decision.commit_hashes.iter().chain(linked).take(limits::LIST) {
            let hash = clip(hash.trim(), limits::ELEMENT_BYTES);
            insert.execute(params![hash.to_ascii_lowercase(), num, hash])?;
        }
        let alternatives = decision.alternatives.iter().flat_map(|other| {
            [&other.option, &other.reason_rejected]
                .into_iter()
                .chain(&other.pros)
                .chain(&other.cons)
                .map(String::as_str)
        });
        let others: Vec<&str> =
            std::iter::once(decision.domain.as_str()).chain(alternatives).collect();
        let paths: Vec<&str> =
            [decision.scope.as_str()].into_iter().chain(paths).chain(symbols).collect();
        self.conn.prepare_cached(INSERT_TEXT)?.execute(params![
            num,
            with_identifier_parts(&decision.summary),
            with_identifier_parts(&format!("{}\n{}", decision.rationale, decision.context)),
            with_identifier_parts(&others.join("\n")),
            with_identifier_parts(&paths.join("\n")),
        ])?;
        self.count(decision.status, unconfirmed, sum_of(raw), 1);
        Ok(())
    }

    fn forget(&mut self, id: &Id) -> Result<(), StoreError> {
        let old: Option<(i64, String, bool, i64)> = self.find(OLD, id.as_str())?;
        let Some((num, status, unconfirmed, sum)) = old else { return Ok(()) };
        for sql in DELETES {
            self.conn.prepare_cached(sql)?.execute([num])?;
        }
        self.count(status_of(&status)?, unconfirmed, sum, -1);
        Ok(())
    }

    fn count(&mut self, status: DecisionStatus, unconfirmed: bool, sum: i64, n: i64) {
        self.deltas.add(CountKind::of(status), n);
        self.deltas.add(CountKind::DecisionSums, (sum & SUM_BITS) * n);
        if unconfirmed {
            self.deltas.add(CountKind::Unconfirmed, n);
        }
    }

    fn save_file_state(&self, id: &Id, print: Fingerprint) -> Result<(), StoreError> {
        self.conn.prepare_cached(SAVE_FILE_STATE)?.execute(params![
            id.as_str(),
            print.ino.cast_signed(),
            print.size.cast_signed(),
            print.mtime_ns
        ])?;
        Ok(())
    }
}

/// Whether two branches changed it differently, and nobody has settled that.
fn has_clashes(decision: &Decision) -> bool {
    decision.extra.get(CLASHES).and_then(Value::as_array).is_some_and(|clashes| !clashes.is_empty())
}

/// When somebody last put it in force after it was made.
fn promoted_at(decision: &Decision) -> Option<i64> {
    let promotions =
        decision.history.iter().filter(|change| change.status == DecisionStatus::Active);
    promotions.map(|change| change.at.as_ms()).max()
}

/// The ids of those it was agreed to stand beside, with blanks between them.
fn compatible(decision: &Decision) -> String {
    let ids = decision.compatible_with.iter().filter_map(|id| Id::read(id));
    ids.take(limits::LIST).map(|id| id.to_string()).collect::<Vec<_>>().join(" ")
}

/// The state in which a decision's file was read.
pub(in crate::index) fn file_state(
    conn: &Connection,
    id: &Id,
) -> Result<Option<Fingerprint>, StoreError> {
    Ok(conn
        .prepare_cached(FILE_STATE)?
        .query_row([id.as_str()], |row| print_at(row, 0))
        .optional()?)
}

/// Whether the index has the decisions just as the directory has them. Most
/// processes live for one question, and for most of those nothing changed.
pub(in crate::index) fn match_listing(
    conn: &Connection,
    names: &DecisionListing,
) -> Result<bool, StoreError> {
    let mut statement = conn.prepare_cached(FILE_STATES_IN_ORDER)?;
    let mut file_states = statement.query([])?;
    for (id, print) in &names.decisions {
        let is_listed = match file_states.next()? {
            Some(row) => {
                row.get_ref(0)?.as_bytes().is_ok_and(|known| known == id.as_str().as_bytes())
                    && print_at(row, 1)? == *print
            }
            None => false,
        };
        if !is_listed {
            return Ok(false);
        }
    }
    let same = file_states.next()?.is_none();
    let misnamed: HashSet<String> =
        names.misnamed.iter().map(|name| format!("{DECISIONS}/{name}")).collect();
    Ok(same && misnamed == reported_as_misnamed(conn)?.into_iter().collect())
}

fn file_states(conn: &Connection) -> Result<HashMap<String, Fingerprint>, StoreError> {
    Ok(conn
        .prepare_cached(FILE_STATES)?
        .query_map([], |row| Ok((row.get(0)?, print_at(row, 1)?)))?
        .collect::<Result<_, _>>()?)
}

fn print_at(row: &Row<'_>, at: usize) -> Result<Fingerprint, rusqlite::Error> {
    let number = |at| row.get::<_, i64>(at).map(i64::cast_unsigned);
    Ok(Fingerprint { ino: number(at)?, size: number(at + 1)?, mtime_ns: row.get(at + 2)? })
}

fn reported_as_misnamed(conn: &Connection) -> Result<Vec<String>, StoreError> {
    Ok(conn.prepare_cached(MISNAMED)?.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?)
}

/// A decision with its text, and whether that is two sides of a conflict, joined.
fn parse(id: &Id, bytes: Vec<u8>) -> Result<(String, Decision, bool), String> {
    let (bytes, is_resolved) = match one_decision(&bytes) {
        Cow::Owned(merged) => (merged, true),
        Cow::Borrowed(_) => (bytes, false),
    };
    let raw = String::from_utf8(bytes).map_err(|_| "not UTF-8")?;
    let raw = raw.trim_start_matches('\u{FEFF}');
    let decision: Decision =
        serde_json::from_str(raw).map_err(|error| format!("not a decision: {error}"))?;
    if decision.id != *id {
        return Err(format!("it contains decision {}, not the one in its file name", decision.id));
    }
    Ok((raw.to_owned(), decision, is_resolved))
}
