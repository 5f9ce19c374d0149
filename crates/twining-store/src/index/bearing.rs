//! Which decisions bear on a scope, and how.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use rusqlite::{OptionalExtension, Row as SqlRow, params};
use twining_model::scope::covering_keys;
use twining_model::{Confidence, Id, Scope, Status, Time};

use super::decisions::{Decisions, EVERY_STATUS, parse_id};
use super::view::{Reach, corrupt, first_column, row_limit};
use crate::error::StoreError;

/// A decision that bears on a scope, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Affecting {
    /// Which.
    pub id: Id,
    /// Where it stands.
    pub status: Status,
    /// How sure its author is.
    pub confidence: Confidence,
    /// When it was made; one dated ahead counts as the oldest of all.
    pub at: Time,
    /// How it bears on the scope.
    pub via: Via,
}

/// How a decision came to bear on a scope, nearest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Via {
    /// Its scope is the one asked for.
    Exact,
    /// One of its affected files is, covers or lies under the one asked for.
    File,
    /// It bore on a file that was moved to where was asked for.
    Moved,
    /// One of its affected symbols is what was asked for.
    Symbol,
    /// Its scope lies under the one asked for.
    Inside,
    /// Its scope covers the one asked for.
    Around,
    /// It governs the whole project.
    Project,
}

/// Which decisions are asked for, by where they stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Active and provisional ones.
    InForce,
    /// Superseded and overridden ones.
    Retired,
}

impl Standing {
    fn holds(self, status: Status) -> bool {
        status.binds() == (self == Self::InForce)
    }
}

/// How many decisions bear on a scope.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bearing {
    /// Active ones.
    pub active: u64,
    /// Provisional ones.
    pub provisional: u64,
    /// Superseded and overridden ones.
    pub retired: u64,
}

impl Bearing {
    /// All of these.
    pub fn of(statuses: impl Iterator<Item = Status>) -> Self {
        statuses.fold(Self::default(), |mut told, status| {
            match status {
                Status::Active => told.active += 1,
                Status::Provisional => told.provisional += 1,
                Status::Superseded | Status::Overridden => told.retired += 1,
            }
            told
        })
    }

    /// Of any standing.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.active + self.provisional + self.retired
    }
}

impl Affecting {
    /// What comes first where not all can be told. The order is total, so that the
    /// same question gets the same page.
    #[must_use]
    pub fn order(&self, other: &Self) -> std::cmp::Ordering {
        let rank = |row: &Self| (!row.status.binds(), row.via, Reverse((row.confidence, row.at)));
        rank(self).cmp(&rank(other)).then_with(|| other.id.cmp(&self.id))
    }
}

macro_rules! light {
    () => {
        "SELECT d.num, d.id, d.status, d.confidence, d.at, d.scope_key FROM "
    };
}

macro_rules! in_force {
    () => {
        " AND status IN ('active', 'provisional')"
    };
}

/// Those of one standing, the newest first: the order of [`Affecting::order`].
macro_rules! newest_first {
    () => {
        " AND d.status = :status AND d.confidence = :confidence AND d.at > :after AND d.at <= :until
        ORDER BY d.at DESC, d.id DESC LIMIT :most"
    };
}

// The index holds every column these ask for: thousands may govern the whole project.
const UNDER: &str = concat!(light!(), "decision d INDEXED BY decision_scope WHERE d.scope_key >= ?1 AND d.scope_key < ?2");
const SCOPED_AT: &str = concat!(light!(), "decision d INDEXED BY decision_scope WHERE d.scope_key = ?1");
const FILES_UNDER: &str =
    concat!(light!(), "affected_file f CROSS JOIN decision d ON d.num = f.num WHERE f.file_key >= ?1 AND f.file_key < ?2");
const FILES_AT: &str = concat!(light!(), "affected_file f CROSS JOIN decision d ON d.num = f.num WHERE f.file_key = ?1");
const SYMBOLS: &str = concat!(light!(), "affected_symbol s CROSS JOIN decision d ON d.num = s.num WHERE s.symbol = ?1");
// These lie in their order in an index, and are walked only as far as they are wanted.
const NEWEST_AT: &str = concat!(light!(), "decision d INDEXED BY decision_scope WHERE d.scope_key = :low", newest_first!());
const NEWEST_INSIDE: &str =
    concat!(light!(), "decision d INDEXED BY decision_standing WHERE d.scope_key > :low AND d.scope_key < :high", newest_first!());
const NEWEST_OF_FILES: &str = concat!(
    light!(),
    "decision d INDEXED BY decision_standing WHERE EXISTS(
        SELECT 1 FROM affected_file f INDEXED BY affected_file_of
        WHERE f.num = d.num AND f.file_key >= :low AND f.file_key < :high)",
    newest_first!()
);
// Where there are few, they are rather looked at one by one.
const MANY_INSIDE: &str =
    "SELECT count(*) FROM (SELECT 1 FROM decision INDEXED BY decision_scope WHERE scope_key > ?1 AND scope_key < ?2 LIMIT ?3)";
const MANY_FILES: &str = "SELECT count(*) FROM (SELECT 1 FROM affected_file WHERE file_key >= ?1 AND file_key < ?2 LIMIT ?3)";
/// This many are looked at faster than they are walked by.
const FEW: i64 = 256;
/// Before anything that was ever decided, in milliseconds.
const AGES_AGO: i64 = i64::MAX / 2;
/// The surest first.
const EVERY_CONFIDENCE: [Confidence; 3] = [Confidence::High, Confidence::Medium, Confidence::Low];

const STANDING_UNDER: &str = "SELECT num, status FROM decision INDEXED BY decision_scope WHERE scope_key >= ?1 AND scope_key < ?2";
const STANDING_AT: &str = "SELECT num, status FROM decision INDEXED BY decision_scope WHERE scope_key = ?1";
const STANDING_OF_FILES_UNDER: &str =
    "SELECT d.num, d.status FROM affected_file f CROSS JOIN decision d ON d.num = f.num WHERE f.file_key >= ?1 AND f.file_key < ?2";
const STANDING_OF_FILES_AT: &str =
    "SELECT d.num, d.status FROM affected_file f CROSS JOIN decision d ON d.num = f.num WHERE f.file_key = ?1";
const STANDING_OF_SYMBOLS: &str =
    "SELECT d.num, d.status FROM affected_symbol s CROSS JOIN decision d ON d.num = s.num WHERE s.symbol = ?1";

const IS_ANY_AHEAD: &str = "SELECT EXISTS(SELECT 1 FROM decision WHERE at > ?1)";

const NUM: &str = "SELECT num FROM decision WHERE id = ?1";
const NUMS_UNDER: &str =
    concat!("SELECT num FROM decision INDEXED BY decision_scope WHERE scope_key >= ?1 AND scope_key < ?2", in_force!(), " LIMIT ?3");
const NUMS_AT: &str = concat!("SELECT num FROM decision INDEXED BY decision_scope WHERE scope_key = ?1", in_force!(), " LIMIT ?2");
const NUMS_OF_FILES_UNDER: &str = concat!(
    "SELECT DISTINCT f.num FROM affected_file f CROSS JOIN decision d ON d.num = f.num WHERE f.file_key >= ?1 AND f.file_key < ?2",
    in_force!(),
    " LIMIT ?3"
);
const NUMS_OF_FILES_AT: &str =
    concat!("SELECT f.num FROM affected_file f CROSS JOIN decision d ON d.num = f.num WHERE f.file_key = ?1", in_force!(), " LIMIT ?2");
const NUMS_OF_SYMBOLS: &str =
    concat!("SELECT s.num FROM affected_symbol s CROSS JOIN decision d ON d.num = s.num WHERE s.symbol = ?1", in_force!(), " LIMIT ?2");

impl Decisions<'_> {
    /// Every decision that bears on a scope, of any status, each by its nearest
    /// way, ordered by id. Asked for the project, files and symbols say nothing.
    pub fn affecting(&self, scope: &Scope) -> Result<Vec<Affecting>, StoreError> {
        let key = scope.key(self.folding);
        let reach = Reach::under(&key);
        let mut found: HashMap<i64, Affecting> = HashMap::new();
        let mut meet = |num: i64, affecting: Affecting| {
            let via = affecting.via;
            found.entry(num).and_modify(|known| known.via = known.via.min(via)).or_insert(affecting);
        };
        self.light(UNDER, params![reach.low, reach.high], |own| if own == key { Via::Exact } else { Via::Inside }, &mut meet)?;
        for covering in covering_keys(&key).skip(1) {
            self.light(SCOPED_AT, [covering], |own| if own.is_empty() { Via::Project } else { Via::Around }, &mut meet)?;
        }
        if !key.is_empty() {
            self.light(FILES_UNDER, params![reach.low, reach.high], |_| Via::File, &mut meet)?;
            for covering in covering_keys(&key).skip(1) {
                self.light(FILES_AT, [covering], |_| Via::File, &mut meet)?;
            }
            self.light(SYMBOLS, [scope.as_str()], |_| Via::Symbol, &mut meet)?;
        }
        let mut affecting: Vec<Affecting> = found.into_values().collect();
        affecting.sort_unstable_by(|a, b| a.id.cmp(&b.id));
        Ok(affecting)
    }

    fn light(
        &self,
        sql: &str,
        params: impl rusqlite::Params,
        via: impl Fn(&str) -> Via,
        meet: &mut impl FnMut(i64, Affecting),
    ) -> Result<(), StoreError> {
        let mut statement = self.conn.prepare_cached(sql)?;
        let mut rows = statement.query(params)?;
        while let Some(row) = rows.next()? {
            let via = via(row.get_ref(5)?.as_str().map_err(|_| corrupt("a row without a scope"))?);
            meet(row.get(0)?, light_row(row, via, self.horizon())?);
        }
        Ok(())
    }

    /// The `limit` decisions of a standing that bear on a scope most closely, in
    /// the order of [`Affecting::order`]; of thousands, few are looked at.
    pub fn nearest(&self, scope: &Scope, standing: Standing, limit: usize) -> Result<Vec<Affecting>, StoreError> {
        let key = scope.key(self.folding);
        let reach = Reach::under(&key);
        let ahead = self.conn.prepare_cached(IS_ANY_AHEAD)?.query_row([self.horizon()], |row| row.get(0))?;
        let spans = if ahead { vec![(i64::MIN, self.horizon()), (self.horizon(), i64::MAX)] } else { vec![(i64::MIN, i64::MAX)] };
        let mut nearest = Nearest { decisions: self, found: HashMap::new(), standing, spans, limit };
        nearest.newest(NEWEST_AT, &[(":low", &key)], Via::Exact)?;
        if !key.is_empty() && !nearest.is_full() {
            nearest.files(&key, &reach)?;
        }
        if !key.is_empty() && !nearest.is_full() {
            nearest.all(SYMBOLS, [scope.as_str()], Via::Symbol)?;
        }
        if !nearest.is_full() {
            nearest.inside(&reach)?;
        }
        let (project, around): (Vec<&str>, Vec<&str>) = covering_keys(&key).skip(1).partition(|covering| covering.is_empty());
        for (covering, via) in [(around, Via::Around), (project, Via::Project)] {
            if !nearest.is_full() {
                for covering in covering {
                    nearest.newest(NEWEST_AT, &[(":low", &covering)], via)?;
                }
            }
        }
        let mut nearest: Vec<Affecting> = nearest.found.into_values().collect();
        nearest.sort_unstable_by(Affecting::order);
        nearest.truncate(limit);
        Ok(nearest)
    }

    /// How many decisions bear on a scope, by where they stand.
    pub fn bearing(&self, scope: &Scope) -> Result<Bearing, StoreError> {
        let key = scope.key(self.folding);
        let reach = Reach::under(&key);
        let mut met: Vec<(i64, Status)> = Vec::new();
        let mut ask = |sql: &str, params: &[&dyn rusqlite::ToSql]| -> Result<(), StoreError> {
            let mut statement = self.conn.prepare_cached(sql)?;
            let mut rows = statement.query(params)?;
            while let Some(row) = rows.next()? {
                met.push((row.get(0)?, status_of(text_at(row, 1)?)?));
            }
            Ok(())
        };
        ask(STANDING_UNDER, params![reach.low, reach.high])?;
        for covering in covering_keys(&key).skip(1) {
            ask(STANDING_AT, params![covering])?;
        }
        if !key.is_empty() {
            ask(STANDING_OF_FILES_UNDER, params![reach.low, reach.high])?;
            for covering in covering_keys(&key).skip(1) {
                ask(STANDING_OF_FILES_AT, params![covering])?;
            }
            ask(STANDING_OF_SYMBOLS, params![scope.as_str()])?;
        }
        met.sort_unstable_by_key(|(num, _)| *num);
        met.dedup_by_key(|(num, _)| *num);
        Ok(Bearing::of(met.into_iter().map(|(_, status)| status)))
    }

    /// How many decisions in force bear on a scope besides these. Counts to `most`.
    pub fn count_in_force(&self, scope: &Scope, besides: &[&str], most: usize) -> Result<u64, StoreError> {
        let key = scope.key(self.folding);
        let (reach, enough) = (Reach::under(&key), row_limit(most + besides.len()));
        let around = || covering_keys(&key).skip(1);
        let mut nums: HashSet<i64> = HashSet::new();
        nums.extend(first_column::<i64>(self.conn, NUMS_UNDER, params![reach.low, reach.high, enough])?);
        for covering in around() {
            nums.extend(first_column::<i64>(self.conn, NUMS_AT, params![covering, enough])?);
        }
        if !key.is_empty() {
            nums.extend(first_column::<i64>(self.conn, NUMS_OF_FILES_UNDER, params![reach.low, reach.high, enough])?);
            for covering in around() {
                nums.extend(first_column::<i64>(self.conn, NUMS_OF_FILES_AT, params![covering, enough])?);
            }
            nums.extend(first_column::<i64>(self.conn, NUMS_OF_SYMBOLS, params![scope.as_str(), enough])?);
        }
        let mut num_of = self.conn.prepare_cached(NUM)?;
        for id in besides {
            if let Some(num) = num_of.query_row([id], |row| row.get::<_, i64>(0)).optional()? {
                nums.remove(&num);
            }
        }
        Ok(nums.len().min(most) as u64)
    }
}

/// Gathers the nearest, way by way: what is met on a nearer way comes first,
/// however many there are on the next.
struct Nearest<'n, 'v> {
    decisions: &'n Decisions<'v>,
    found: HashMap<i64, Affecting>,
    standing: Standing,
    /// Times after one and up to another, in the order they are told.
    spans: Vec<(i64, i64)>,
    limit: usize,
}

impl Nearest<'_, '_> {
    fn is_full(&self) -> bool {
        self.found.len() >= self.limit
    }

    /// Those with an affected file here, around it or under it.
    fn files(&mut self, key: &str, reach: &Reach) -> Result<(), StoreError> {
        let many: i64 = self.count(MANY_FILES, reach)?;
        if many < FEW {
            self.all(FILES_UNDER, params![reach.low, reach.high], Via::File)?;
        } else {
            self.newest(NEWEST_OF_FILES, &[(":low", &reach.low), (":high", &reach.high)], Via::File)?;
        }
        covering_keys(key).skip(1).try_for_each(|covering| self.all(FILES_AT, [covering], Via::File))
    }

    /// Those whose scope lies under this one.
    fn inside(&mut self, reach: &Reach) -> Result<(), StoreError> {
        if self.count(MANY_INSIDE, reach)? < FEW {
            return self.all(UNDER, params![reach.low, reach.high], Via::Inside);
        }
        self.newest(NEWEST_INSIDE, &[(":low", &reach.low), (":high", &reach.high)], Via::Inside)
    }

    fn count(&self, sql: &str, reach: &Reach) -> Result<i64, StoreError> {
        let mut statement = self.decisions.conn.prepare_cached(sql)?;
        Ok(statement.query_row(params![reach.low, reach.high, FEW], |row| row.get(0))?)
    }

    /// Every one of the standing on this way.
    fn all(&mut self, sql: &str, params: impl rusqlite::Params, via: Via) -> Result<(), StoreError> {
        let (found, standing) = (&mut self.found, self.standing);
        self.decisions.light(sql, params, |_| via, &mut |num, affecting| {
            if standing.holds(affecting.status) {
                found.entry(num).or_insert(affecting);
            }
        })
    }

    /// As many of each standing as may be wanted, the newest.
    fn newest(&mut self, sql: &str, place: &[(&str, &dyn rusqlite::ToSql)], via: Via) -> Result<(), StoreError> {
        // Those known from a nearer way do not count.
        let wanted = self.found.len() + self.limit;
        let most = row_limit(wanted);
        let mut met = 0;
        for confidence in EVERY_CONFIDENCE.map(Confidence::as_str) {
            for status in EVERY_STATUS.into_iter().filter(|status| self.standing.holds(*status)).map(Status::as_str) {
                for (after, until) in &self.spans {
                    let standing: [(&str, &dyn rusqlite::ToSql); 5] =
                        [(":status", &status), (":confidence", &confidence), (":after", after), (":until", until), (":most", &most)];
                    let params: Vec<(&str, &dyn rusqlite::ToSql)> = place.iter().copied().chain(standing).collect();
                    let found = &mut self.found;
                    self.decisions.light(sql, params.as_slice(), |_| via, &mut |num, affecting| {
                        met += 1;
                        found.entry(num).or_insert(affecting);
                    })?;
                }
            }
            if met >= wanted {
                break;
            }
        }
        Ok(())
    }
}

fn light_row(row: &SqlRow<'_>, via: Via, horizon: i64) -> Result<Affecting, StoreError> {
    // Whoever dates a decision ahead would have it on top for good.
    let at: i64 = row.get(4)?;
    Ok(Affecting {
        id: parse_id(text_at(row, 1)?)?,
        status: status_of(text_at(row, 2)?)?,
        confidence: confidence_of(text_at(row, 3)?)?,
        at: Time::from_ms(if at > horizon { at - AGES_AGO } else { at }),
        via,
    })
}

fn text_at<'r>(row: &'r SqlRow<'_>, column: usize) -> Result<&'r str, StoreError> {
    row.get_ref(column)?.as_str().map_err(|_| corrupt("a row with a column that is no text"))
}

fn status_of(word: &str) -> Result<Status, StoreError> {
    EVERY_STATUS.into_iter().find(|status| status.as_str() == word).ok_or_else(|| corrupt("a row with an unknown status"))
}

fn confidence_of(word: &str) -> Result<Confidence, StoreError> {
    let all = [Confidence::Low, Confidence::Medium, Confidence::High];
    all.into_iter().find(|confidence| confidence.as_str() == word).ok_or_else(|| corrupt("a row with an unknown confidence"))
}
