//! The writer of one repository on this node: whatever waits goes into one transaction.
//!
//! Lines are numbered by one statement that moves the head of the repository and inserts them.
//! The row of the repository stays locked until the commit, so numbers have no gaps and become
//! visible in order, whichever node writes. An answer is given after the commit. If the
//! connection is lost before, the batch is sent again under the same keys, which are unique.

use std::collections::HashMap;
use std::time::Duration;

use deadpool_postgres::Object;
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Row, Statement};
use twining_model::Id;
use twining_store::{LogBase, LogError};

use super::append_request::{AppendRequest, OfferedLine, answer_all, collect, lines_left, size_of};
use super::connection::{Database, begin_as, id_of, unsigned};
use crate::error::ServiceError;

/// Adds lines, and answers the head after them; no row if the repository does not take them:
/// others planned meanwhile, it is full, or it is not open.
const APPEND: &str = "with moved as (
        update twining.repo
        set head = head + cardinality($3::text[]),
            planned = case when $7::bigint is null then planned
                           else head + cardinality($3::text[]) end,
            records = records + $8::bigint,
            bytes = bytes + $9::bigint
        where tenant = $1 and id = $2 and state = 'open'
          and ($7::bigint is null or planned <= $7::bigint)
          and records + $8::bigint <= record_limit
          and bytes + $9::bigint <= byte_limit
          and records + $8::bigint <= record_share
          and bytes + $9::bigint <= byte_share
        returning head
    ), added as (
        insert into twining.log (tenant, repo, seq, key, by, v, planned, sum, body)
        select $1, $2, moved.head - cardinality($3::text[]) + line.n, line.key, line.by,
               $10::integer, $7::bigint is not null, line.sum, line.body
        from moved, unnest($3::text[], $4::text[], $5::bytea[], $6::text[]) with ordinality
             as line (key, by, sum, body, n)
    )
    select head from moved";
/// The lines that the log has under these keys. `key = any (…)`, once planned for an empty table,
/// stays a walk through the whole repository; `offset 0` keeps this from becoming that.
const KNOWN: &str = "select line.key, line.seq, line.sum
    from unnest($3::text[]) as asked (key), lateral (
        select key, seq, sum from twining.log
        where tenant = $1 and repo = $2 and log.key = asked.key
        offset 0
    ) as line";
/// Why lines were not taken.
const STATE: &str = "select state, planned, records, record_limit, record_share, bytes, byte_limit,
    byte_share from twining.repo where tenant = $1 and id = $2";
/// Makes the repository's share of what its tenant may hold larger.
const TAKE_SHARE: &str = "select twining.take_share($1, $2, $3)";

/// The form of lines that this program writes, and the newest that it reads.
pub(super) const LINE_VERSION: i32 = 1;

/// Requests that may wait.
const QUEUE: usize = 4_096;
/// How long a batch is sent again before its outcome is called unknown.
const RETRY_FOR: Duration = Duration::from_secs(4);
const FIRST_PAUSE: Duration = Duration::from_millis(20);
/// How long the answer of one attempt is waited for.
const ATTEMPT_LIMIT: Duration = Duration::from_secs(12);

/// What became of an attempt.
enum AttemptOutcome {
    /// It was committed; the new heads, of those that were taken.
    Committed { unplanned: Option<u64>, planned: Option<u64> },
    /// The log has a line under one of the keys.
    Duplicate,
    /// It was not committed, and may be later.
    NotCommitted(String),
    /// It may have been committed.
    Unknown(String),
    /// It was refused, and would be again.
    Refused(String),
}

/// Whether a repository may take more of what its tenant may hold.
#[derive(Debug, PartialEq, Eq)]
enum ShareAnswer {
    Taken,
    Enough,
    Exhausted,
}

pub(super) struct LogWriter {
    database: Database,
    tenant: Id,
    repo: Id,
}

impl LogWriter {
    /// Starts a writer; it ends when its sender is dropped.
    pub(super) fn start(
        database: &Database,
        tenant: &Id,
        repo: &Id,
    ) -> mpsc::Sender<AppendRequest> {
        let (sender, receiver) = mpsc::channel(QUEUE);
        let writer =
            Self { database: database.clone(), tenant: tenant.clone(), repo: repo.clone() };
        database.0.runtime.spawn(writer.run(receiver));
        sender
    }

    async fn run(self, mut requests: mpsc::Receiver<AppendRequest>) {
        let mut held = None;
        loop {
            let first = match held.take() {
                Some(first) => first,
                None => match requests.recv().await {
                    Some(first) => first,
                    None => return,
                },
            };
            let batch;
            (batch, held) = collect(first, &mut requests);
            for request in self.commit(batch).await {
                self.commit(vec![request]).await;
            }
        }
    }

    /// Commits requests and answers them; returns those that are to be tried one by one.
    async fn commit(&self, mut waiting: Vec<AppendRequest>) -> Vec<AppendRequest> {
        let until = Instant::now() + RETRY_FOR;
        let (mut pause, mut was_sent) = (FIRST_PAUSE, false);
        loop {
            let problem = match self.attempt(&waiting).await {
                AttemptOutcome::Committed { unplanned, planned } => {
                    waiting = self.number(waiting, unplanned, planned);
                    if waiting.len() > 1 {
                        // Together, if only their tenant's share was used up.
                        if self.take_share(&waiting).await == Ok(ShareAnswer::Taken) {
                            continue;
                        }
                        return waiting;
                    }
                    self.explain(&mut waiting).await.err()
                }
                AttemptOutcome::Duplicate => {
                    let before = lines_left(&waiting);
                    let looked_up = self.look_up(&mut waiting).await;
                    let is_stuck = looked_up.is_ok() && lines_left(&waiting) == before;
                    looked_up.err().or(is_stuck.then(|| "a key is taken".to_owned()))
                }
                AttemptOutcome::Unknown(why) => {
                    was_sent = true;
                    Some(why)
                }
                AttemptOutcome::NotCommitted(why) => Some(why),
                AttemptOutcome::Refused(why) => {
                    return answer_all(waiting, &LogError::Refused(why));
                }
            };
            if waiting.is_empty() {
                return waiting;
            }
            let Some(problem) = problem else { continue };
            if Instant::now() + pause > until {
                let error = match was_sent {
                    true => LogError::Unknown(problem),
                    false => LogError::Unreachable(problem),
                };
                return answer_all(waiting, &error);
            }
            tokio::time::sleep(pause).await;
            pause *= 2;
        }
    }

    /// Sends a batch as one transaction.
    async fn attempt(&self, requests: &[AppendRequest]) -> AttemptOutcome {
        let client = match self.database.client().await {
            Ok(client) => client,
            Err(error) => return AttemptOutcome::NotCommitted(error.to_string()),
        };
        let since = Instant::now();
        match tokio::time::timeout(ATTEMPT_LIMIT, self.send(&client, requests)).await {
            Ok(Ok((unplanned, planned))) => {
                if unplanned.or(planned).is_some() {
                    self.database.write_metrics().committed(lines_left(requests), since.elapsed());
                }
                AttemptOutcome::Committed { unplanned, planned }
            }
            Ok(Err(error)) => failure(&error),
            Err(_) => {
                // It is still busy with this batch: nobody else should wait behind it.
                drop(Object::take(client));
                AttemptOutcome::Unknown("the database does not answer".to_owned())
            }
        }
    }

    /// The heads after the lines that were planned on nothing, and after those that were planned
    /// on a view.
    async fn send(
        &self,
        client: &Object,
        requests: &[AppendRequest],
    ) -> Result<(Option<u64>, Option<u64>), tokio_postgres::Error> {
        let append = client.prepare_cached(APPEND).await?;
        let begin = begin_as(&self.tenant);
        let unplanned = requests.iter().filter(|request| request.base == LogBase::Any);
        let planned = requests.iter().filter(|request| request.base != LogBase::Any);
        // Polled in this order, which is the order on the wire. A failed statement makes the
        // commit a rollback.
        let (begun, unplanned, planned, ended) = tokio::join!(
            biased;
            client.batch_execute(&begin),
            self.append(client, &append, unplanned),
            self.append(client, &append, planned),
            client.batch_execute("commit"),
        );
        begun?;
        let heads = (unplanned?, planned?);
        ended?;
        Ok(heads)
    }

    async fn append(
        &self,
        client: &Object,
        statement: &Statement,
        requests: impl Iterator<Item = &AppendRequest>,
    ) -> Result<Option<u64>, tokio_postgres::Error> {
        let (mut base, mut lines) = (None, Vec::new());
        for request in requests {
            if let LogBase::At(at) = request.base {
                base = Some(signed(at));
            }
            lines.extend(request.new_lines());
        }
        if lines.is_empty() {
            return Ok(None);
        }
        let keys: Vec<&str> = lines.iter().map(|line| line.key.as_str()).collect();
        let by: Vec<&str> = lines.iter().map(|line| line.by.as_str()).collect();
        let sums: Vec<&[u8]> = lines.iter().map(|line| line.sum.as_slice()).collect();
        let bodies: Vec<&str> = lines.iter().map(|line| line.body.as_str()).collect();
        let records = signed(lines.iter().map(|line| line.records as u64).sum());
        let bytes = signed(lines.iter().map(|line| line.body.len() as u64).sum());
        let (tenant, repo) = (self.tenant.as_str(), self.repo.as_str());
        let values: [&(dyn ToSql + Sync); 10] =
            [&tenant, &repo, &keys, &by, &sums, &bodies, &base, &records, &bytes, &LINE_VERSION];
        let row = client.query_opt(statement, &values).await?;
        Ok(row.map(|row| unsigned(row.get("head"))))
    }

    /// Numbers what was committed, answers it, and returns the rest.
    fn number(
        &self,
        requests: Vec<AppendRequest>,
        unplanned: Option<u64>,
        planned: Option<u64>,
    ) -> Vec<AppendRequest> {
        if let Some(head) = unplanned.max(planned) {
            self.database.0.heads.committed(&self.repo, head);
        }
        let lines_of = |is_planned: bool| {
            let of = |request: &&AppendRequest| (request.base != LogBase::Any) == is_planned;
            requests.iter().filter(of).flat_map(AppendRequest::new_lines).count() as u64
        };
        let mut next = unplanned.map(|head| head - lines_of(false));
        let mut next_planned = planned.map(|head| head - lines_of(true));
        let mut left = Vec::new();
        for mut request in requests {
            let next = if request.base == LogBase::Any { &mut next } else { &mut next_planned };
            if let Some(last) = next {
                let keys: Vec<Id> = request.new_lines().map(|line| line.key.clone()).collect();
                for key in keys {
                    *last += 1;
                    request.known.insert(key, *last);
                }
            }
            left.extend(request.settle());
        }
        left
    }

    /// Answers requests whose lines the log has already.
    async fn look_up(&self, requests: &mut Vec<AppendRequest>) -> Result<(), String> {
        let keys: Vec<&str> = requests
            .iter()
            .flat_map(AppendRequest::new_lines)
            .map(|line| line.key.as_str())
            .collect();
        let known = self.database.known_lines(&self.tenant, &self.repo, &keys).await;
        let known = known.map_err(|error| error.to_string())?;
        let mut left = Vec::new();
        for mut request in std::mem::take(requests) {
            let is_other =
                |line: &&OfferedLine| known.get(&line.key).is_some_and(|(_, sum)| *sum != line.sum);
            let other = request.new_lines().find(is_other).map(|line| line.key.clone());
            if let Some(key) = other {
                let why = format!("the log has another line under the key {key}");
                request.reply(Err(LogError::Refused(why)));
                continue;
            }
            let numbers: Vec<(Id, u64)> = request
                .new_lines()
                .filter_map(|line| Some((line.key.clone(), known.get(&line.key)?.0)))
                .collect();
            request.known.extend(numbers);
            left.extend(request.settle());
        }
        *requests = left;
        Ok(())
    }

    /// Answers a request that the repository did not take.
    async fn explain(&self, requests: &mut Vec<AppendRequest>) -> Result<(), String> {
        if requests.is_empty() {
            return Ok(());
        }
        self.look_up(requests).await?;
        let Some(request) = requests.first() else { return Ok(()) };
        let of: [&(dyn ToSql + Sync); 2] = [&self.tenant.as_str(), &self.repo.as_str()];
        let rows = self.database.query_as(&self.tenant, STATE, &of).await;
        let rows = rows.map_err(|error| error.to_string())?;
        let refused = |why: &str| Some(LogError::Refused(why.to_owned()));
        let error = match rows.first() {
            None => refused("there is no such repository"),
            Some(row) => {
                let number = |name: &str| unsigned(row.get(name));
                let (records, bytes) = size_of(requests);
                match row.get("state") {
                    "moving" => {
                        Some(LogError::Unreachable("the repository is being moved".to_owned()))
                    }
                    "closed" => refused("the repository is closed"),
                    _ if matches!(request.base, LogBase::At(at) if number("planned") > at) => {
                        Some(LogError::Behind)
                    }
                    _ if number("records") + records > number("record_limit") => {
                        refused("the repository has as many records as it may")
                    }
                    _ if number("bytes") + bytes > number("byte_limit") => {
                        refused("the repository is as large as it may be")
                    }
                    _ if number("records") + records > number("record_share")
                        || number("bytes") + bytes > number("byte_share") =>
                    {
                        match self.take_share(requests).await? {
                            // Sent again at once.
                            ShareAnswer::Taken | ShareAnswer::Enough => return Ok(()),
                            ShareAnswer::Exhausted => {
                                refused("the tenant's repositories hold as much as they may")
                            }
                        }
                    }
                    _ => None,
                }
            }
        };
        match error {
            Some(error) => {
                answer_all(std::mem::take(requests), &error);
                Ok(())
            }
            None => Err("others write at the same time".to_owned()),
        }
    }

    /// Makes the repository's share of what its tenant may hold larger, by what these requests
    /// need.
    async fn take_share(&self, requests: &[AppendRequest]) -> Result<ShareAnswer, String> {
        let (records, bytes) = size_of(requests);
        let of: [&(dyn ToSql + Sync); 3] = [&self.repo.as_str(), &signed(records), &signed(bytes)];
        let rows = self.database.query_as(&self.tenant, TAKE_SHARE, &of).await;
        let rows = rows.map_err(|error| error.to_string())?;
        Ok(match rows.first().map(|row| row.get(0)) {
            Some("taken") => ShareAnswer::Taken,
            Some("enough") => ShareAnswer::Enough,
            _ => ShareAnswer::Exhausted,
        })
    }
}

impl Database {
    /// Numbers and sums of the lines that a log has under these keys.
    pub(crate) async fn known_lines(
        &self,
        tenant: &Id,
        repo: &Id,
        keys: &[&str],
    ) -> Result<HashMap<Id, (u64, Vec<u8>)>, ServiceError> {
        let of: [&(dyn ToSql + Sync); 3] = [&tenant.as_str(), &repo.as_str(), &keys];
        let rows = self.query_as(tenant, KNOWN, &of).await?;
        let line_of =
            |row: &Row| Ok((id_of(row.get("key"))?, (unsigned(row.get("seq")), row.get("sum"))));
        rows.iter().map(line_of).collect()
    }
}

/// What a failed transaction means. An answer of the server to a statement says that nothing
/// was committed, unless the server goes down; without an answer nobody knows.
fn failure(error: &tokio_postgres::Error) -> AttemptOutcome {
    let why = error.as_db_error().map_or_else(|| error.to_string(), ToString::to_string);
    let Some(code) = error.code() else { return AttemptOutcome::Unknown(why) };
    match (code.code().get(..2), code) {
        (_, &SqlState::UNIQUE_VIOLATION) => AttemptOutcome::Duplicate,
        // A statement or a wait for a lock that took too long.
        (_, &SqlState::QUERY_CANCELED | &SqlState::LOCK_NOT_AVAILABLE) => {
            AttemptOutcome::NotCommitted(why)
        }
        // Rollback, resources, not the primary (25006).
        (Some("40" | "53" | "25"), _) => AttemptOutcome::NotCommitted(why),
        // Connection, shutdown, system, internal.
        (Some("08" | "57" | "58" | "XX"), _) => AttemptOutcome::Unknown(why),
        _ => AttemptOutcome::Refused(why),
    }
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
