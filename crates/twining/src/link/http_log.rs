//! The log of a team service, over HTTP.
//!
//! What comes back is a stranger's word: answers have a limited size, lines are in order and end
//! where the service says, and a version that we do not know is not guessed at.

use std::fmt::Write;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use twining_model::{Change, Id, text};
use twining_store::{
    CondensedLines, FollowedLine, LOG_VERSION, Log, LogBase, LogError, LogLine, NewLine,
    OutboxSignature, Store,
};

use super::git_tracking::TrackingMismatch;
use super::project_label;
use super::sync_state::SyncState;
use super::transport::{SendError, ServiceRequest, Transport};

/// How long a request may take.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);
/// How long it may take to condense thousands of lines.
const SNAPSHOT_TIMEOUT: Duration = Duration::from_secs(60);
/// Lines of one answer.
const MAX_LINES: usize = 1024;
/// Words of a refusal for one line, not for whoever sends it.
const REFUSALS: [&str; 4] = ["refused", "invalid", "too_large", "insufficient_scope"];

/// What to do about a token, an address or a role.
const NEW_TOKEN: &str = "ask an administrator for a new token, and run `twining link URL` with it";
const OTHER_ADDRESS: &str = "check the address, https://host/tenant/repository, and which repositories the token is for; then run `twining link URL`";
const OTHER_LABEL: &str = "put the line `team:` back as it was (`git diff .twining/config.yml` shows it); or, if the project has moved there, run `twining link URL` with its new address";
const LINK_AFTER_RESTORE: &str = "if the service was restored from a backup, run `twining link URL` again: the log is followed from its start, and gets what it lost; else check the address";
const HIGHER_ROLE: &str =
    "ask an administrator for a token that may do this, and run `twining link URL` with it";

/// The log of one repository of a service.
#[derive(Clone)]
pub(crate) struct HttpLog {
    transport: Transport,
    address: String,
    token: String,
    deadline: Option<Instant>,
    /// How long the oldest change that is not sent has waited, for who watches the service.
    outbox_age: Option<Duration>,
    /// The repository that is meant, if it is known, and the folder that follows it.
    project: Option<(Option<Id>, Weak<Store>)>,
    /// Until when it is taken for unreachable, in milliseconds since `started`; negative: it is not.
    closed_until: Arc<AtomicI64>,
    started: Instant,
}

/// A line as it comes.
#[derive(Deserialize)]
struct ReceivedLine<'a> {
    seq: u64,
    key: Id,
    #[serde(default)]
    v: u32,
    #[serde(borrow)]
    change: &'a RawValue,
}

#[derive(Deserialize)]
struct SinceAnswer<'a> {
    #[serde(borrow)]
    lines: Vec<ReceivedLine<'a>>,
    head: u64,
    #[serde(default)]
    repository: Option<Id>,
    #[serde(default)]
    signature: Option<OutboxSignature>,
}

/// What a service says of itself and of whoever asks.
pub(crate) struct ServiceIdentity {
    /// The repository that the address leads to.
    pub repository: Option<Id>,
    /// How it signs what we send.
    pub signature: Option<OutboxSignature>,
    /// The last line of its log.
    pub head: u64,
}

#[derive(Deserialize)]
struct SnapshotAnswer {
    v: u32,
    changes: Vec<Change>,
    through: u64,
    #[serde(default)]
    key: Option<Id>,
    head: u64,
}

#[derive(Deserialize)]
struct AppendAnswer {
    seqs: Vec<u64>,
}

#[derive(Deserialize)]
struct ClaimsAnswer {
    version: u64,
    #[serde(default)]
    body: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ErrorAnswer {
    error: String,
    message: String,
}

impl HttpLog {
    /// The log at this address, of the form `https://host/tenant/repository`.
    pub(crate) fn new(address: &str, token: &str) -> Self {
        Self {
            transport: Transport::new(),
            address: address.trim_end_matches('/').to_owned(),
            token: token.to_owned(),
            deadline: None,
            outbox_age: None,
            project: None,
            closed_until: Arc::new(AtomicI64::new(-1)),
            started: Instant::now(),
        }
    }

    /// The same for a folder that follows this repository and no other.
    pub(crate) fn of_project(self, repository: Option<Id>, store: &Arc<Store>) -> Self {
        Self { project: Some((repository, Arc::downgrade(store))), ..self }
    }

    /// The same for a caller who waits no longer than this.
    pub(crate) fn until(&self, deadline: Instant) -> Self {
        Self { deadline: Some(deadline), ..self.clone() }
    }

    /// The same for a caller who tells it how long the oldest unsent change has waited.
    pub(crate) fn reporting(&self, outbox_age: Duration) -> Self {
        Self { outbox_age: Some(outbox_age), ..self.clone() }
    }

    /// The same for a caller who asks although it was unreachable a moment ago.
    pub(crate) fn probing(&self) -> Self {
        Self { closed_until: Arc::new(AtomicI64::new(-1)), ..self.clone() }
    }

    /// Takes it for unreachable for so long.
    pub(crate) fn close_for(&self, pause: Duration) {
        let until = i64::try_from((self.started.elapsed() + pause).as_millis()).unwrap_or(i64::MAX);
        self.closed_until.store(until, Ordering::Release);
    }

    /// Whether it is taken for unreachable now.
    pub(crate) fn is_closed(&self) -> bool {
        let now = i64::try_from(self.started.elapsed().as_millis()).unwrap_or(i64::MAX);
        now < self.closed_until.load(Ordering::Acquire)
    }

    /// Asks it again.
    pub(crate) fn reopen(&self) {
        self.closed_until.store(-1, Ordering::Release);
    }

    /// Lines after a number; waits so long for the first one.
    pub(crate) fn poll(
        &self,
        after: u64,
        limit: usize,
        wait: Duration,
    ) -> Result<Vec<LogLine>, LogError> {
        let limit = limit.min(MAX_LINES);
        let wait_s = wait.as_secs();
        let mut path = format!("v1/since?after={after}&limit={limit}&wait={wait_s}");
        if let Some(line) = self.last_line().filter(|line| line.seq == after) {
            // Writing to a string does not fail.
            let _ = write!(path, "&key={}", line.key);
        }
        let answer = self.ask(&path, None, REQUEST_TIMEOUT + wait).map_err(unreachable)?;
        lines_in(&answer, after, limit, self.repository())
    }

    /// What the service says of itself and of us.
    pub(crate) fn identity(&self) -> Result<ServiceIdentity, LogError> {
        let answer = self.ask("v1/since?after=0&limit=1", None, REQUEST_TIMEOUT);
        let answer = answer.map_err(unreachable)?;
        let SinceAnswer { repository, signature, head, .. } =
            parsed(&answer).map_err(unreachable)?;
        lines_in(&answer, 0, 1, None)?;
        Ok(ServiceIdentity { repository, signature, head })
    }

    /// Everybody's claims, and their version.
    pub(crate) fn claims(&self) -> Result<(u64, String), LogError> {
        let answer = self.ask("v1/claims", None, REQUEST_TIMEOUT).map_err(unreachable)?;
        let ClaimsAnswer { version, body } = parsed(&answer)?;
        Ok((version, body))
    }

    /// Replaces the claims of this version.
    pub(crate) fn replace_claims(&self, version: u64, body: &str) -> Result<(), LogError> {
        let body = json!({"version": version, "body": body});
        self.ask("v1/claims", Some(&body), REQUEST_TIMEOUT).map(drop)
    }

    fn add(&self, base: &Value, lines: &[NewLine]) -> Result<Vec<u64>, LogError> {
        // A log that lost this line is another one: what was made for the lost one waits.
        let path = self.last_line().map_or_else(
            || "v1/append".to_owned(),
            |line| format!("v1/append?after={}&key={}", line.seq, line.key),
        );
        let body = json!({"base": base, "lines": lines});
        let answer = self.ask(&path, Some(&body), REQUEST_TIMEOUT)?;
        let AppendAnswer { seqs } = parsed(&answer)?;
        if seqs.len() == lines.len() {
            Ok(seqs)
        } else {
            Err(LogError::Unknown("the answer has another number of lines".to_owned()))
        }
    }

    fn ask(
        &self,
        path: &str,
        body: Option<&Value>,
        timeout: Duration,
    ) -> Result<Vec<u8>, LogError> {
        if self.is_closed() {
            return Err(LogError::Unreachable("it did not answer a moment ago".to_owned()));
        }
        self.check_project()?;
        let left = self.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        let timeout = left.map_or(timeout, |left| timeout.min(left));
        if timeout.is_zero() {
            return Err(LogError::Unreachable("there was no time left to ask it".to_owned()));
        }
        let url = format!("{}/{path}", self.address);
        let body = body.map(Value::to_string);
        let request = ServiceRequest {
            url: &url,
            token: &self.token,
            repository: self.repository().map(Id::as_str),
            outbox_age: self.outbox_age,
            body: body.as_deref().map(str::as_bytes),
            timeout,
        };
        match self.transport.send(&request) {
            Ok((200..=299, bytes)) => Ok(bytes),
            Ok((status, bytes)) => Err(rejected(status, &bytes)),
            Err(SendError::NotSent(why)) => Err(LogError::Unreachable(why)),
            Err(SendError::NoAnswer(why)) => Err(LogError::Unknown(why)),
        }
    }

    /// Fails where the tracked files say that this is another project, or that git has the records:
    /// nothing is asked then, and what git tracks stays as it is.
    fn check_project(&self) -> Result<(), LogError> {
        let Some((store, repository)) =
            self.project.as_ref().and_then(|(of, store)| Some((store.upgrade()?, of.as_ref())))
        else {
            return Ok(());
        };
        if let Some(repository) = repository
            && let Some(named) = project_label::other_project(&store, repository)
        {
            return Err(LogError::Denied {
                why: format!(
                    "`team` in .twining/config.yml names repository {named}, but this folder is linked to {repository}"
                ),
                hint: OTHER_LABEL,
            });
        }
        match TrackingMismatch::of(&store) {
            Some(mismatch) => Err(denied(mismatch.message(), mismatch.hint())),
            None => Ok(()),
        }
    }

    /// The last line that the folder has, if its key is known.
    fn last_line(&self) -> Option<FollowedLine> {
        let store = self.project.as_ref()?.1.upgrade()?;
        store.follower().last_line().ok()?
    }

    /// The repository that is meant, if it is known.
    fn repository(&self) -> Option<&Id> {
        self.project.as_ref()?.0.as_ref()
    }
}

impl Log for HttpLog {
    fn append(&self, base: LogBase, lines: &[NewLine]) -> Result<Vec<u64>, LogError> {
        let base = match base {
            LogBase::Any => json!("any"),
            LogBase::At(line) => json!({"at": line}),
        };
        let answer = self.add(&base, lines);
        // Nothing waits afterwards, so nobody else would notice that it answers again.
        if answer.is_ok()
            && let Some(store) = self.project.as_ref().and_then(|(_, store)| store.upgrade())
        {
            SyncState::note(&store, &Ok(()));
        }
        answer
    }

    fn since(&self, after: u64, limit: usize) -> Result<Vec<LogLine>, LogError> {
        self.poll(after, limit, Duration::ZERO)
    }

    fn condensed(&self, after: u64) -> Result<Option<CondensedLines>, LogError> {
        let path = format!("v1/snapshot?after={after}");
        // Whoever cannot give one is asked for its lines, and says then what is wrong.
        let answer = self.ask(&path, None, SNAPSHOT_TIMEOUT).ok();
        Ok(answer.and_then(|answer| condensed_in(&answer, after)))
    }

    fn admit(&self, lines: &[NewLine]) -> Result<Vec<u64>, LogError> {
        self.add(&json!("admit"), lines)
    }
}

/// A question changes nothing: whether it arrived does not matter.
fn unreachable(error: LogError) -> LogError {
    match error {
        LogError::Unknown(why) => LogError::Unreachable(why),
        LogError::Refused(why) => LogError::Denied { why, hint: HIGHER_ROLE },
        error => error,
    }
}

fn rejected(status: u16, bytes: &[u8]) -> LogError {
    let ErrorAnswer { error, message } = serde_json::from_slice(bytes).unwrap_or_default();
    let said = text::visible(&text::excerpt(&message, 300));
    let why = if said.is_empty() { format!("HTTP status {status}") } else { said };
    match status {
        409 if error == "behind" => LogError::Behind,
        409 if error == "other_log" => other_log(&why),
        400..=499 if REFUSALS.contains(&error.as_str()) => LogError::Refused(why),
        400 | 413 | 422 => LogError::Refused(why),
        401 => denied(
            "the service does not accept this token: it is wrong, expired or revoked",
            NEW_TOKEN,
        ),
        403 => denied(&format!("the service does not serve this: {why}"), OTHER_ADDRESS),
        404 => denied("the service has no such repository for this token", OTHER_ADDRESS),
        // Also where it is up: nothing was taken, and nothing is lost by waiting.
        300..=499 => LogError::Unreachable(why),
        _ => LogError::Unknown(why),
    }
}

fn denied(why: &str, hint: &'static str) -> LogError {
    LogError::Denied { why: why.to_owned(), hint }
}

/// The log lost lines that the folder has.
fn other_log(why: &str) -> LogError {
    denied(why, LINK_AFTER_RESTORE)
}

fn parsed<'a, T: Deserialize<'a>>(answer: &'a [u8]) -> Result<T, LogError> {
    serde_json::from_slice(answer)
        .map_err(|error| LogError::Unknown(format!("the answer cannot be read: {error}")))
}

fn lines_in(
    answer: &[u8],
    after: u64,
    limit: usize,
    expected: Option<&Id>,
) -> Result<Vec<LogLine>, LogError> {
    let SinceAnswer { lines, head, repository, .. } = parsed(answer).map_err(unreachable)?;
    if let (Some(found), Some(expected)) = (repository, expected)
        && found != *expected
    {
        return Err(LogError::Unreachable(format!(
            "its address leads to repository {found}, but this folder is linked to {expected}"
        )));
    }
    if head < after {
        return Err(other_log(&format!(
            "the team's log ends at line {head}, but this folder has followed it to line {after}"
        )));
    }
    if lines.len() > limit {
        return Err(LogError::Refused("it sends more lines than it was asked for".to_owned()));
    }
    if let Some(found) = lines.iter().map(|line| line.v).find(|v| *v > LOG_VERSION) {
        return Err(LogError::TooNew { found, known: LOG_VERSION });
    }
    lines
        .into_iter()
        .map(|ReceivedLine { seq, key, change, .. }| {
            let change: Change = serde_json::from_str(change.get()).map_err(|error| {
                LogError::Refused(format!("line {seq} cannot be read: {error}"))
            })?;
            Ok(LogLine { seq, key, change })
        })
        .collect()
}

/// None of an answer that is not what was asked for.
fn condensed_in(answer: &[u8], after: u64) -> Option<CondensedLines> {
    let SnapshotAnswer { v, changes, through, key, head } = serde_json::from_slice(answer).ok()?;
    let is_plausible = v <= LOG_VERSION && after < through && through <= head;
    is_plausible.then_some(CondensedLines { through, key, changes })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error_of(answer: &str) -> LogError {
        lines_in(answer.as_bytes(), 5, 2, None).expect_err("is refused")
    }

    #[test]
    fn a_hostile_answer_is_refused() {
        assert!(matches!(error_of(r#"{"lines":[],"head":4}"#), LogError::Denied { .. }));
        assert!(matches!(error_of("<html>"), LogError::Unreachable(_)));
        let line = |seq: u64, v: u32| {
            format!(r#"{{"seq":{seq},"key":"01ARZ3NDEKTSV4RRFFQ69G5FAV","v":{v},"change":{{}}}}"#)
        };
        let many = [line(6, 1), line(7, 1), line(8, 1)].join(",");
        let many = format!(r#"{{"lines":[{many}],"head":9}}"#);
        assert!(matches!(error_of(&many), LogError::Refused(_)));
        let newer = format!(r#"{{"lines":[{}],"head":9}}"#, line(6, 999));
        assert_eq!(error_of(&newer), LogError::TooNew { found: 999, known: LOG_VERSION });
        let path = newer.replace("999", "1").replace("01ARZ3NDEKTSV4RRFFQ69G5FAV", "../../x");
        assert!(lines_in(path.as_bytes(), 5, 2, None).is_err());
    }

    #[test]
    fn lines_of_another_repository_are_not_taken() {
        let line = r#"{"seq":6,"key":"01ARZ3NDEKTSV4RRFFQ69G5FAV","v":1,"change":{}}"#;
        let answer =
            format!(r#"{{"lines":[{line}],"head":6,"repository":"01ARZ3NDEKTSV4RRFFQ69G5FAV"}}"#);
        let ids = ["01ARZ3NDEKTSV4RRFFQ69G5FAV", "01ARZ3NDEKTSV4RRFFQ69G5FAW"];
        let [same, other] = ids.map(|id| Id::read(id).expect("an id"));
        let taken = |expected| lines_in(answer.as_bytes(), 5, 2, Some(expected));
        assert_eq!(taken(&same).map(|lines| lines.len()), Ok(1));
        assert!(matches!(taken(&other), Err(LogError::Unreachable(why)) if why.contains(ids[1])));
    }

    #[test]
    fn a_snapshot_goes_on_and_not_back() {
        let through = |answer: &str| condensed_in(answer.as_bytes(), 5).map(|is| is.through);
        assert_eq!(through(r#"{"v":1,"changes":[{}],"through":9,"head":9}"#), Some(9));
        assert_eq!(through(r#"{"v":1,"changes":[],"through":5,"head":5}"#), None);
        assert_eq!(through(r#"{"v":1,"changes":[],"through":9,"head":8}"#), None);
        assert_eq!(through(r#"{"v":999,"changes":[],"through":9,"head":9}"#), None);
        assert_eq!(through("<html>"), None);
    }

    #[test]
    fn only_a_refused_line_is_set_aside() {
        let refused =
            |status, body: &str| matches!(rejected(status, body.as_bytes()), LogError::Refused(_));
        assert!(refused(409, r#"{"error":"refused","message":"no"}"#));
        assert!(refused(403, r#"{"error":"insufficient_scope"}"#));
        assert!(refused(413, ""));
        assert!(!refused(401, r#"{"error":"unauthorized"}"#));
        assert!(!refused(403, r#"{"error":"forbidden"}"#));
        assert!(!refused(404, r#"{"error":"not_found"}"#));
        assert!(!refused(429, "") && !refused(503, "") && !refused(302, ""));
        assert_eq!(rejected(409, br#"{"error":"behind"}"#), LogError::Behind);
    }
}
