//! The counts: kept while writing, so that reading them costs nothing.

use std::collections::HashMap;

use rusqlite::{Connection, params};
use twining_model::{Status, Time, limits};

use crate::error::StoreError;

/// How much of everything there is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Entries on the board, each id once.
    pub entries: u64,
    /// Decisions in force.
    pub active: u64,
    /// Decisions in force until someone looks.
    pub provisional: u64,
    /// Decisions replaced by later ones.
    pub superseded: u64,
    /// Decisions rejected by a person.
    pub overridden: u64,
    /// Entities.
    pub entities: u64,
    /// Relations.
    pub relations: u64,
    /// Entities without any relation.
    pub disconnected: u64,
    /// Relations with an end that is missing.
    pub dangling: u64,
    /// Needs nobody has answered.
    pub open_needs: u64,
    /// Questions nobody has answered.
    pub open_questions: u64,
    /// Warnings nobody has dismissed.
    pub open_warnings: u64,
    /// Lines and files that could not be read.
    pub unreadable: u64,
    /// Overrides no person stands behind yet.
    pub unconfirmed_overrides: u64,
    /// Entries dated ahead of the clock.
    pub future_dated: u64,
    /// When the last entry or decision was written or changed.
    pub last_activity: Option<Time>,
}

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Count {
    Entries,
    Shadowed,
    OpenNeeds,
    OpenQuestions,
    OpenWarnings,
    Active,
    Provisional,
    Superseded,
    Overridden,
    Unconfirmed,
    Entities,
    Disconnected,
    Relations,
    Dangling,
    Unreadable,
}

impl Count {
    /// Every one, with its name in the table.
    pub const ALL: [(Self, &'static str); 15] = [
        (Self::Entries, "entries"),
        (Self::Shadowed, "shadowed"),
        (Self::OpenNeeds, "open_needs"),
        (Self::OpenQuestions, "open_questions"),
        (Self::OpenWarnings, "open_warnings"),
        (Self::Active, "active"),
        (Self::Provisional, "provisional"),
        (Self::Superseded, "superseded"),
        (Self::Overridden, "overridden"),
        (Self::Unconfirmed, "unconfirmed"),
        (Self::Entities, "entities"),
        (Self::Disconnected, "disconnected"),
        (Self::Relations, "relations"),
        (Self::Dangling, "dangling"),
        (Self::Unreadable, "unreadable"),
    ];

    /// The count of decisions of this status.
    pub fn of(status: Status) -> Self {
        match status {
            Status::Active => Self::Active,
            Status::Provisional => Self::Provisional,
            Status::Superseded => Self::Superseded,
            Status::Overridden => Self::Overridden,
        }
    }

    /// The count of open entries of this kind, if such entries can be open.
    pub fn open(kind: &str) -> Option<Self> {
        match kind {
            "need" => Some(Self::OpenNeeds),
            "question" => Some(Self::OpenQuestions),
            "warning" => Some(Self::OpenWarnings),
            _ => None,
        }
    }
}

/// What a transaction changed about the counts so far.
#[derive(Debug, Default)]
pub(super) struct Deltas {
    counts: [i64; Count::ALL.len()],
    census: HashMap<(String, String), (i64, i64)>,
}

const ADD: &str = "INSERT INTO tally(name, n) VALUES(?1, ?2) ON CONFLICT(name) DO UPDATE SET n = n + excluded.n";
const ADD_CENSUS: &str = "
INSERT INTO census(scope_key, kind, n, open) VALUES(?1, ?2, ?3, ?4)
ON CONFLICT(scope_key, kind) DO UPDATE SET n = n + excluded.n, open = open + excluded.open";
const DROP_EMPTY: &str = "DELETE FROM census WHERE scope_key = ?1 AND kind = ?2 AND n = 0";
const CENSUS_AT_ONCE: usize = 10_000;

impl Deltas {
    /// Counts.
    pub fn add(&mut self, count: Count, n: i64) {
        self.counts[count as usize] += n;
    }

    /// Counts live entries of one kind and scope, and the open ones among them.
    pub fn add_entries(&mut self, scope_key: &str, kind: &str, n: i64, open: i64) {
        self.add(Count::Entries, n);
        if let Some(count) = Count::open(kind) {
            self.add(count, open);
        }
        let slot = self.census.entry((scope_key.to_owned(), kind.to_owned())).or_default();
        *slot = (slot.0 + n, slot.1 + open);
    }

    /// Whether so much has gathered that it should be written.
    pub fn is_large(&self) -> bool {
        self.census.len() >= CENSUS_AT_ONCE
    }

    /// Writes what has gathered.
    pub fn flush(&mut self, conn: &Connection) -> Result<(), rusqlite::Error> {
        let mut add = conn.prepare_cached(ADD)?;
        for (count, name) in Count::ALL {
            let n = std::mem::take(&mut self.counts[count as usize]);
            if n != 0 {
                add.execute(params![name, n])?;
            }
        }
        let mut add = conn.prepare_cached(ADD_CENSUS)?;
        let mut drop_empty = conn.prepare_cached(DROP_EMPTY)?;
        for ((scope_key, kind), (n, open)) in self.census.drain() {
            if (n, open) != (0, 0) {
                add.execute(params![scope_key, kind, n, open])?;
                if n < 0 {
                    drop_empty.execute(params![scope_key, kind])?;
                }
            }
        }
        Ok(())
    }
}

const READ: &str = "SELECT name, n FROM tally";
const AHEAD: &str = "SELECT count(*) FROM entry WHERE shadowed = 0 AND at > ?1";
const LAST_ENTRY: &str = "SELECT max(at) FROM entry WHERE shadowed = 0 AND at <= ?1";
const LAST_DECISION: &str = "SELECT max(touched) FROM decision WHERE status = ?1 AND touched <= ?2";

/// Everything after this is dated ahead.
pub(super) fn horizon(now: Time) -> i64 {
    now.as_ms().saturating_add(limits::CLOCK_SKEW_MS)
}

/// One count.
pub(super) fn count(conn: &Connection, wanted: Count) -> Result<u64, rusqlite::Error> {
    Ok(all(conn)?[wanted as usize])
}

/// Several counts together.
pub(super) fn sum(conn: &Connection, wanted: &[Count]) -> Result<u64, rusqlite::Error> {
    all(conn).map(|counts| wanted.iter().map(|count| counts[*count as usize]).sum())
}

/// The counts, as of now.
pub(super) fn read(conn: &Connection, now: Time) -> Result<Tally, StoreError> {
    let counts = all(conn)?;
    let of = |count: Count| counts[count as usize];
    let horizon = horizon(now);
    let ahead: i64 = conn.prepare_cached(AHEAD)?.query_row([horizon], |row| row.get(0))?;
    let mut last: Option<i64> = conn.prepare_cached(LAST_ENTRY)?.query_row([horizon], |row| row.get(0))?;
    let mut last_decision = conn.prepare_cached(LAST_DECISION)?;
    for status in [Status::Active, Status::Provisional, Status::Superseded, Status::Overridden] {
        last = last.max(last_decision.query_row(params![status.as_str(), horizon], |row| row.get(0))?);
    }
    Ok(Tally {
        entries: of(Count::Entries),
        active: of(Count::Active),
        provisional: of(Count::Provisional),
        superseded: of(Count::Superseded),
        overridden: of(Count::Overridden),
        entities: of(Count::Entities),
        relations: of(Count::Relations),
        disconnected: of(Count::Disconnected),
        dangling: of(Count::Dangling),
        open_needs: of(Count::OpenNeeds),
        open_questions: of(Count::OpenQuestions),
        open_warnings: of(Count::OpenWarnings),
        unreadable: of(Count::Unreadable),
        unconfirmed_overrides: of(Count::Unconfirmed),
        future_dated: ahead.cast_unsigned(),
        last_activity: last.map(Time::from_ms),
    })
}

fn all(conn: &Connection) -> Result<[u64; Count::ALL.len()], rusqlite::Error> {
    let mut counts = [0; Count::ALL.len()];
    let mut read = conn.prepare_cached(READ)?;
    let mut rows = read.query([])?;
    while let Some(row) = rows.next()? {
        let name = row.get_ref(0)?.as_str()?;
        if let Some((count, _)) = Count::ALL.iter().find(|(_, known)| *known == name) {
            counts[*count as usize] = u64::try_from(row.get::<_, i64>(1)?).unwrap_or(0);
        }
    }
    Ok(counts)
}

const RECOUNT: &str = "
SELECT 'entries', count(*) FROM entry WHERE shadowed = 0
UNION ALL SELECT 'shadowed', count(*) FROM entry WHERE shadowed = 1
UNION ALL SELECT 'open_needs', count(*) FROM entry WHERE open = 1 AND kind = 'need'
UNION ALL SELECT 'open_questions', count(*) FROM entry WHERE open = 1 AND kind = 'question'
UNION ALL SELECT 'open_warnings', count(*) FROM entry WHERE open = 1 AND kind = 'warning'
UNION ALL SELECT 'active', count(*) FROM decision WHERE status = 'active'
UNION ALL SELECT 'provisional', count(*) FROM decision WHERE status = 'provisional'
UNION ALL SELECT 'superseded', count(*) FROM decision WHERE status = 'superseded'
UNION ALL SELECT 'overridden', count(*) FROM decision WHERE status = 'overridden'
UNION ALL SELECT 'unconfirmed', count(*) FROM decision WHERE unconfirmed = 1
UNION ALL SELECT 'entities', count(*) FROM entity
UNION ALL SELECT 'disconnected', count(*) FROM entity
    WHERE NOT EXISTS(SELECT 1 FROM relation WHERE source = entity.id)
    AND NOT EXISTS(SELECT 1 FROM relation WHERE target = entity.id)
UNION ALL SELECT 'relations', count(*) FROM relation
UNION ALL SELECT 'dangling', count(*) FROM relation
    WHERE NOT EXISTS(SELECT 1 FROM entity WHERE id = relation.source)
    OR NOT EXISTS(SELECT 1 FROM entity WHERE id = relation.target)
UNION ALL SELECT 'unreadable', count(*) FROM unreadable";

const CENSUS_DIFFERS: &str = "
SELECT count(*) FROM (
    SELECT * FROM (SELECT scope_key, kind, n, open FROM census
        EXCEPT SELECT scope_key, kind, count(*), sum(open) FROM entry WHERE shadowed = 0 GROUP BY scope_key, kind)
    UNION ALL
    SELECT * FROM (SELECT scope_key, kind, count(*), sum(open) FROM entry WHERE shadowed = 0 GROUP BY scope_key, kind
        EXCEPT SELECT scope_key, kind, n, open FROM census)
)";

/// Whether the counts are what counting gives. Reads everything.
pub(super) fn is_right(conn: &Connection) -> Result<bool, rusqlite::Error> {
    let kept = all(conn)?;
    let mut recount = conn.prepare(RECOUNT)?;
    let mut rows = recount.query([])?;
    while let Some(row) = rows.next()? {
        let (name, n): (String, i64) = (row.get(0)?, row.get(1)?);
        let Some((count, _)) = Count::ALL.iter().find(|(_, known)| *known == name) else { return Ok(false) };
        if kept[*count as usize] != n.cast_unsigned() {
            return Ok(false);
        }
    }
    let differing: i64 = conn.query_row(CENSUS_DIFFERS, [], |row| row.get(0))?;
    Ok(differing == 0)
}
