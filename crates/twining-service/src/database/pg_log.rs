//! The log of one repository, as a store sees it.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, PoisonError};

use serde_json::value::RawValue;
use sha2::{Digest, Sha256};
use tokio::sync::{mpsc, oneshot};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;
use twining_model::{Change, Id};
use twining_store::{LOG_VERSION, Log, LogBase, LogError, LogLine, NewLine};

use super::append_request::{AppendAnswer, AppendRequest, OfferedLine};
use super::connection::{Database, id_of, unsigned};
use super::log_writer::{LINE_VERSION, LogWriter};
use crate::error::ServiceError;
use crate::principal::{Principal, acting_principal};

/// Lines after a number, but no more than fit into an answer; at least one.
const SINCE: &str = "select seq, key, v, body from (
        select seq, key, v, body, sum(octet_length(body)) over (order by seq) as through
        from (
            select seq, key, v, body from twining.log
            where tenant = $1 and repo = $2 and seq > $3::bigint order by seq limit $4::bigint
        ) as next
    ) as sized
    where through <= $5::bigint or seq = $3::bigint + 1
    order by seq";

const ANSWER_BYTES: i64 = 16 * 1024 * 1024;
/// The largest line that is taken.
const LINE_BYTES: usize = 8 * 1024 * 1024;
/// Who writes where nobody acts for a principal.
const NODE: &str = "node";

/// A line as the database has it.
#[derive(Clone, Debug)]
pub struct LogRow {
    /// Its number.
    pub seq: u64,
    /// Its key.
    pub key: Id,
    /// Its form.
    pub version: i32,
    /// The change, in JSON.
    pub body: Box<RawValue>,
}

/// The log of one repository. Its calls wait: only for threads that may block.
#[derive(Debug)]
pub struct PgLog {
    database: Database,
    tenant: Id,
    repo: Id,
    writer: mpsc::Sender<AppendRequest>,
}

impl PgLog {
    /// The numbers of lines that the log has under these keys.
    pub fn numbers_of(&self, keys: &[Id]) -> Result<Vec<Option<u64>>, LogError> {
        let texts: Vec<&str> = keys.iter().map(Id::as_str).collect();
        let known = self.database.known_lines(&self.tenant, &self.repo, &texts);
        let known = self.database.wait(known).map_err(log_error)?;
        Ok(keys.iter().map(|key| known.get(key).map(|(number, _)| *number)).collect())
    }
}

impl PgLog {
    /// Appends a line that is true whatever others wrote, and waits without a thread.
    pub(crate) async fn append_line(
        &self,
        line: &NewLine,
        principal: &Principal,
    ) -> Result<u64, LogError> {
        let (request, answered) =
            request_for(LogBase::Any, std::slice::from_ref(line), &principal.name)?;
        self.writer.send(request).await.map_err(|_| not_sent())?;
        let numbers = answered.await.map_err(|_| not_answered())??;
        numbers.first().copied().ok_or_else(not_answered)
    }
}

impl Log for PgLog {
    fn numbers_of(&self, keys: &[Id]) -> Result<Vec<Option<u64>>, LogError> {
        Self::numbers_of(self, keys)
    }

    fn append(&self, base: LogBase, lines: &[NewLine]) -> Result<Vec<u64>, LogError> {
        if lines.is_empty() {
            return Ok(Vec::new());
        }
        let keys: HashSet<&Id> = lines.iter().map(|line| &line.key).collect();
        if keys.len() < lines.len() {
            return Err(LogError::Refused("two lines have the same key".to_owned()));
        }
        let by = acting_principal().unwrap_or_else(|| NODE.to_owned());
        let (request, answered) = request_for(base, lines, &by)?;
        self.writer.blocking_send(request).map_err(|_| not_sent())?;
        answered.blocking_recv().map_err(|_| not_answered())?
    }

    fn since(&self, after: u64, limit: usize) -> Result<Vec<LogLine>, LogError> {
        let rows = self.database.lines_since(&self.tenant, &self.repo, after, limit);
        let rows = self.database.wait(rows).map_err(log_error)?;
        let known: Vec<LogRow> =
            rows.iter().take_while(|row| row.version <= LINE_VERSION).cloned().collect();
        if let (true, Some(row)) = (known.is_empty(), rows.first()) {
            let found = u32::try_from(row.version).unwrap_or(u32::MAX);
            return Err(LogError::TooNew { found, known: LOG_VERSION });
        }
        let line_of = |row: LogRow| {
            let change: Change = serde_json::from_str(row.body.get()).map_err(|error| {
                LogError::Refused(format!("line {} cannot be read: {error}", row.seq))
            })?;
            Ok(LogLine { seq: row.seq, key: row.key, change })
        };
        known.into_iter().map(line_of).collect()
    }
}

impl Database {
    /// The log of a repository. All who ask on this node share one writer.
    #[must_use]
    pub fn log(&self, tenant: &Id, repo: &Id) -> Arc<PgLog> {
        self.listen();
        let mut logs = self.0.logs.lock().unwrap_or_else(PoisonError::into_inner);
        let of = (tenant.clone(), repo.clone());
        if let Some(log) = logs.get(&of).and_then(std::sync::Weak::upgrade) {
            return log;
        }
        logs.retain(|_, log| log.strong_count() > 0);
        let log = Arc::new(PgLog {
            database: self.clone(),
            tenant: tenant.clone(),
            repo: repo.clone(),
            writer: LogWriter::start(self, tenant, repo),
        });
        logs.insert(of, Arc::downgrade(&log));
        log
    }

    /// Lines of a log after a number, in order; at most so many, and fewer if they are large.
    pub async fn lines_since(
        &self,
        tenant: &Id,
        repo: &Id,
        after: u64,
        limit: usize,
    ) -> Result<Vec<LogRow>, ServiceError> {
        let [after, limit] =
            [after, limit as u64].map(|number| i64::try_from(number).unwrap_or(i64::MAX - 1));
        let of: [&(dyn ToSql + Sync); 5] =
            [&tenant.as_str(), &repo.as_str(), &after, &limit, &ANSWER_BYTES];
        let rows = self.query_as(tenant, SINCE, &of).await?;
        rows.iter().map(row_of).collect()
    }
}

fn row_of(row: &Row) -> Result<LogRow, ServiceError> {
    let body: String = row.get("body");
    let seq = unsigned(row.get("seq"));
    Ok(LogRow {
        seq,
        key: id_of(row.get("key"))?,
        version: row.get("v"),
        body: RawValue::from_string(body)
            .map_err(|error| ServiceError::Schema(format!("line {seq} is damaged: {error}")))?,
    })
}

/// A request to the writer, and where its answer comes.
fn request_for(
    base: LogBase,
    lines: &[NewLine],
    by: &str,
) -> Result<(AppendRequest, oneshot::Receiver<AppendAnswer>), LogError> {
    let lines = lines.iter().map(|line| offered(line, by)).collect::<Result<Vec<_>, LogError>>()?;
    let (answer, answered) = oneshot::channel();
    Ok((AppendRequest { base, lines, known: HashMap::new(), answer }, answered))
}

fn not_sent() -> LogError {
    LogError::Unreachable("this node goes down".to_owned())
}

fn not_answered() -> LogError {
    LogError::Unknown("this node goes down".to_owned())
}

fn offered(line: &NewLine, by: &str) -> Result<OfferedLine, LogError> {
    let body = serde_json::to_string(&line.change)
        .map_err(|error| LogError::Refused(format!("a line cannot be written: {error}")))?;
    if body.len() > LINE_BYTES {
        let why = format!("a line has {} bytes, and may have {LINE_BYTES}", body.len());
        return Err(LogError::Refused(why));
    }
    Ok(OfferedLine {
        key: line.key.clone(),
        by: by.to_owned(),
        sum: Sha256::digest(&body).to_vec(),
        body,
        records: record_count(&line.change),
    })
}

/// How many records a change writes.
fn record_count(change: &Change) -> usize {
    change.entries.len()
        + change.decisions.len()
        + change.amendments.len()
        + change.entities.len()
        + change.relations.len()
        + change.agents.len()
        + change.handoffs.len()
        + change.turns.len()
        + change.traces.len()
        + change.imported_traces.len()
        + change.anchors.len()
}

fn log_error(error: ServiceError) -> LogError {
    match error {
        ServiceError::Log(error) => error,
        ServiceError::Unreachable(why) => LogError::Unreachable(why),
        ServiceError::Database(error) => LogError::Refused(
            error.as_db_error().map_or_else(|| error.to_string(), ToString::to_string),
        ),
        error => LogError::Refused(error.to_string()),
    }
}
