//! The routes of linked clones: append to the log, follow it, and the claims that are not in it.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Extension, RawQuery, State};
use axum::http::HeaderMap;
use axum::response::Json;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use twining_model::{Id, limits};
use twining_store::{CondensedLines, LOG_VERSION, Log, LogBase, NewLine, condense};

use super::access::AdmittedRequest;
use super::api_error::ApiError;
use super::incoming_lines::{MAX_LINES, settling_acts, signed};
use super::router::{ServiceState, read_body};
use crate::database::{DocRow, LogRow, RepositoryRow};
use crate::error::ServiceError;
use crate::principal::{AccessRole, PrincipalKind, RemoteCaller, acting_as};
use crate::shared_docs::claims::{self, CLAIMS};

/// The largest body of lines.
const MAX_APPEND_BYTES: usize = 8 * 1024 * 1024;
/// Lines of one answer.
const MAX_ANSWERED: usize = 1024;
/// Lines that become one snapshot; fewer if they are large.
const MAX_CONDENSED: usize = 20_000;
/// The repository that a clone means: it follows that one, whatever an address leads to by now.
const MEANT_REPOSITORY: &str = "twining-repository";
/// The longest that a question for new lines waits.
const MAX_WAIT: Duration = Duration::from_secs(30);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AppendBody {
    base: AppendBase,
    lines: Vec<NewLine>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum AppendBase {
    Any,
    At(u64),
    Admit,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ClaimsBody {
    version: u64,
    body: String,
}

/// A line as it is answered, its change as it is in the log.
#[derive(Serialize)]
struct LineOut<'a> {
    seq: u64,
    key: &'a Id,
    v: i32,
    change: &'a RawValue,
}

impl<'a> LineOut<'a> {
    fn of(row: &'a LogRow) -> Self {
        Self { seq: row.seq, key: &row.key, v: row.version, change: &row.body }
    }
}

type Shared = State<Arc<ServiceState>>;
type Admitted = Extension<AdmittedRequest>;

/// `POST v1/append?after=N&key=K`: N and K are of the last line that the caller has followed, where it
/// knows them.
pub(super) async fn append(
    State(state): Shared,
    Extension(admitted): Admitted,
    headers: HeaderMap,
    RawQuery(query): RawQuery,
    body: Body,
) -> Result<Json<Value>, ApiError> {
    require_writer(&state, &admitted, "append").await?;
    is_meant(&headers, &admitted)?;
    is_of_this_log(&state, &admitted, &query.unwrap_or_default()).await?;
    let AppendBody { base, lines } = parsed(body, MAX_APPEND_BYTES).await?;
    if lines.is_empty() || lines.len() > MAX_LINES {
        return Err(ApiError::invalid(format!("send 1 to {MAX_LINES} lines")));
    }
    let lines: Vec<NewLine> =
        lines.into_iter().map(|line| signed(line, &admitted.principal)).collect();
    let mut acts = settling_acts(&lines);
    let is_one = lines.len() == 1;
    let tenant = admitted.repository.tenant.clone();
    let (shared, sender) = (Arc::clone(&state), admitted.clone());
    let added = state.calls.run(&tenant, move || add(&shared, &sender, base, lines)).await?;
    let outcome = match &added {
        Ok(_) => "ok",
        Err(error) if error.is_of_role() => "forbidden",
        // Nothing was done, or nobody knows yet and it comes again.
        Err(_) if is_one => "",
        // Of several lines the log may have the first ones.
        Err(_) => "unknown",
    };
    if outcome == "forbidden" && acts.is_empty() {
        acts.insert("append");
    }
    for act in acts.into_iter().filter(|_| !outcome.is_empty()) {
        audit(&state, &admitted, act, outcome).await;
    }
    let seqs = added?;
    admitted.note.called("append", "ok");
    Ok(Json(json!({"seqs": seqs})))
}

/// Lets no reader write, and puts the attempt on record.
async fn require_writer(
    state: &ServiceState,
    admitted: &AdmittedRequest,
    act: &str,
) -> Result<(), ApiError> {
    let allowed = admitted.require(AccessRole::Writer);
    if allowed.is_err() {
        audit(state, admitted, act, "forbidden").await;
    }
    allowed
}

async fn audit(state: &ServiceState, admitted: &AdmittedRequest, act: &str, outcome: &str) {
    let entry = admitted.audit_entry(act, outcome);
    if state.database.audit(&entry).await.is_err() {
        state.log.event("an audit entry could not be written");
    }
}

fn add(
    state: &ServiceState,
    admitted: &AdmittedRequest,
    base: AppendBase,
    lines: Vec<NewLine>,
) -> Result<Vec<u64>, ApiError> {
    let AdmittedRequest { principal, role, repository, .. } = admitted;
    let caller = RemoteCaller {
        principal: principal.clone(),
        role: *role,
        client: None,
        root: None,
        confirmed: false,
    };
    acting_as(principal, || {
        let open = state.repositories.get(&repository.tenant, &repository.id)?;
        let base = match base {
            AppendBase::Any => LogBase::Any,
            AppendBase::At(line) => LogBase::At(line),
            AppendBase::Admit => return Ok(open.memory.admit(lines, &caller)?),
        };
        Ok(open.memory.append(base, lines, &caller)?)
    })
}

/// Refuses a clone that follows another repository: nothing of it is taken. The header grants and
/// selects nothing; path and token alone say where a request goes.
fn is_meant(headers: &HeaderMap, admitted: &AdmittedRequest) -> Result<(), ApiError> {
    let is_other = |meant: &str| meant != admitted.repository.id.as_str();
    match headers.get(MEANT_REPOSITORY).map(|meant| meant.to_str().unwrap_or_default()) {
        Some(meant) if is_other(meant) => Err(ApiError::other_repository(&admitted.repository.id)),
        _ => Ok(()),
    }
}

/// Refuses a clone that has followed a line which the log has not, as after a restore of a backup.
async fn is_of_this_log(
    state: &ServiceState,
    admitted: &AdmittedRequest,
    query: &str,
) -> Result<(), ApiError> {
    let (Some(key), Some(after)) = (value_in(query, "key")?, number_in(query, "after")?) else {
        return Ok(());
    };
    let (tenant, repo) = (&admitted.repository.tenant, &admitted.repository.id);
    let known = state.database.known_lines(tenant, repo, &[key]).await?;
    if known.values().any(|(seq, _)| *seq == after) {
        Ok(())
    } else {
        Err(ApiError::other_log(after))
    }
}

/// `GET v1/since?after=N&limit=M&wait=S&key=K`: `key` is that of line N, where the caller knows it.
pub(super) async fn since(
    State(state): Shared,
    Extension(admitted): Admitted,
    RawQuery(query): RawQuery,
) -> Result<Json<Value>, ApiError> {
    let query = query.unwrap_or_default();
    let number = |name| number_in(&query, name);
    let after = number("after")?.unwrap_or(0);
    let limit = number("limit")?.unwrap_or(u64::MAX);
    let limit = usize::try_from(limit).unwrap_or(usize::MAX).clamp(1, MAX_ANSWERED);
    let wait = Duration::from_secs(number("wait")?.unwrap_or(0)).min(MAX_WAIT);
    let (tenant, repo) = (&admitted.repository.tenant, &admitted.repository.id);
    is_of_this_log(&state, &admitted, &query).await?;
    let mut watch = state.database.watch_head(repo);
    let mut head = state.database.head(tenant, repo).await?;
    let waited = async {
        while head <= after {
            watch.moved().await;
            head = state.database.head(tenant, repo).await?;
        }
        Ok::<(), ServiceError>(())
    };
    // Who waited in vain is told so by an empty list.
    if let Ok(Err(error)) = tokio::time::timeout(wait, waited).await {
        return Err(error.into());
    }
    let lines = if head > after {
        state.database.lines_since(tenant, repo, after, limit).await?
    } else {
        Vec::new()
    };
    admitted.note.called("since", "ok");
    let lines: Vec<_> = lines.iter().map(LineOut::of).collect();
    // A clone writes what it sends in the words that the log will have.
    let signature = json!({
        "principal": admitted.principal.name,
        "is_person": admitted.principal.kind == PrincipalKind::Person,
        "is_maintainer": admitted.role >= AccessRole::Maintainer,
    });
    let answer = json!({"lines": lines, "head": head, "repository": repo, "signature": signature});
    Ok(Json(answer))
}

/// `GET v1/snapshot?after=N`: what comes after a line, as few large changes.
pub(super) async fn snapshot(
    State(state): Shared,
    Extension(admitted): Admitted,
    RawQuery(query): RawQuery,
) -> Result<Json<Value>, ApiError> {
    let after = number_in(&query.unwrap_or_default(), "after")?.unwrap_or(0);
    let RepositoryRow { tenant, id, .. } = admitted.repository.clone();
    let head = state.database.head(&tenant, &id).await?;
    let calls = Arc::clone(&state);
    let of = tenant.clone();
    let condensed = calls.calls.run(&tenant, move || {
        let lines = state.database.log(&of, &id).since(after, MAX_CONDENSED)?;
        Ok::<_, ApiError>(condense(&lines))
    });
    let nothing = CondensedLines { through: after, key: None, changes: Vec::new() };
    let CondensedLines { through, key, changes } = condensed.await??.unwrap_or(nothing);
    admitted.note.called("snapshot", "ok");
    let head = head.max(through);
    let answer = json!({
        "v": LOG_VERSION, "changes": changes, "through": through, "key": key, "head": head,
    });
    Ok(Json(answer))
}

/// `GET v1/claims`
pub(super) async fn read_claims(
    State(state): Shared,
    Extension(admitted): Admitted,
) -> Result<Json<Value>, ApiError> {
    let (tenant, repo) = (&admitted.repository.tenant, &admitted.repository.id);
    let doc = state.database.read_doc(tenant, repo, CLAIMS).await?;
    let (version, body) = doc.map_or((0, String::new()), |doc| (doc.version, doc.body));
    admitted.note.called("claims", "ok");
    Ok(Json(json!({"version": version, "body": body})))
}

/// `POST v1/claims`
pub(super) async fn replace_claims(
    State(state): Shared,
    Extension(admitted): Admitted,
    headers: HeaderMap,
    body: Body,
) -> Result<Json<Value>, ApiError> {
    require_writer(&state, &admitted, "claim").await?;
    is_meant(&headers, &admitted)?;
    let ClaimsBody { version, body } = parsed(body, limits::AGENTS_BYTES).await?;
    let after = claims::claims_in(&body)
        .ok_or_else(|| ApiError::invalid("`body` must be the JSON of all claims"))?;
    let AdmittedRequest { principal, role, repository, .. } = &admitted;
    let (tenant, repo) = (&repository.tenant, &repository.id);
    let known = state.database.read_doc(tenant, repo, CLAIMS).await?;
    if version != known.as_ref().map_or(0, |doc| doc.version) {
        return Err(ApiError::behind());
    }
    let before = known.and_then(|doc| claims::claims_in(&doc.body)).unwrap_or_default();
    let may_release = *role >= AccessRole::Maintainer || principal.kind == PrincipalKind::Person;
    let now = state.ids.now();
    let Some(list) = claims::replaced(&before, after, &principal.name, may_release, now) else {
        audit(&state, &admitted, "claim", "forbidden").await;
        return Err(ApiError::others_claim());
    };
    let body = serde_json::to_string_pretty(&list).expect("claims have string keys");
    let doc = DocRow { version, by: principal.name.clone(), body };
    let replaced = state.database.replace_doc(tenant, repo, CLAIMS, &doc).await?;
    let version = replaced.ok_or_else(ApiError::behind)?;
    admitted.note.called("claims", "ok");
    Ok(Json(json!({"version": version})))
}

async fn parsed<T: serde::de::DeserializeOwned>(body: Body, most: usize) -> Result<T, ApiError> {
    let bytes = read_body(body, most).await?;
    serde_json::from_slice(&bytes).map_err(|error| {
        // Its words may quote the body; its place is enough.
        let (line, column) = (error.line(), error.column());
        ApiError::invalid(format!("the body cannot be read at line {line}, column {column}"))
    })
}

/// A number of the query.
fn number_in(query: &str, name: &str) -> Result<Option<u64>, ApiError> {
    let number = |value: &str| {
        value.parse().map_err(|_| ApiError::invalid(format!("`{name}` must be one number")))
    };
    value_in(query, name)?.map(number).transpose()
}

/// A value of the query, given once or not at all.
fn value_in<'q>(query: &'q str, name: &str) -> Result<Option<&'q str>, ApiError> {
    let mut values = query.split('&').filter_map(|pair| pair.strip_prefix(name)?.strip_prefix('='));
    match (values.next(), values.next()) {
        (value, None) => Ok(value),
        _ => Err(ApiError::invalid(format!("`{name}` must be given once"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_given_once_or_not_at_all() {
        let number =
            |query: &str| number_in(query, "after").map_err(|error| error.status().as_u16());
        assert_eq!(number("limit=3&after=7"), Ok(Some(7)));
        assert_eq!(number("limit=3"), Ok(None));
        assert_eq!(number("after=7&after=8"), Err(400));
        assert_eq!(number("after=-1"), Err(400));
    }
}
