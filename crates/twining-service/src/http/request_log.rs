//! The log on stderr: one JSON line a request, with whose token and what came of it. Never a
//! body, a token, or the address of a user.

use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use serde_json::json;
use twining_model::IdSource;

/// What is known of a request when it is answered.
#[derive(Clone, Debug, Default)]
pub(super) struct RequestNote(Arc<Mutex<NoteFields>>);

#[derive(Clone, Debug, Default)]
struct NoteFields {
    tenant: String,
    repository: String,
    principal: String,
    verb: String,
    outcome: String,
}

impl RequestNote {
    /// Notes where it goes and whose token it carries.
    pub(super) fn admitted(&self, tenant: &str, repository: &str, principal: &str) {
        let mut fields = self.fields();
        fields.tenant = tenant.to_owned();
        fields.repository = repository.to_owned();
        fields.principal = principal.to_owned();
    }

    /// Notes what was called, and what came of it.
    pub(super) fn called(&self, verb: &str, outcome: &str) {
        let mut fields = self.fields();
        fields.verb = verb.to_owned();
        fields.outcome = outcome.to_owned();
    }

    fn fields(&self) -> std::sync::MutexGuard<'_, NoteFields> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Writes the lines.
pub(super) struct RequestLog {
    ids: Arc<IdSource>,
}

impl RequestLog {
    /// A log with the times of this source.
    pub(super) fn new(ids: Arc<IdSource>) -> Self {
        Self { ids }
    }

    /// Writes the line of a request that was answered.
    pub(super) fn answered(&self, note: &RequestNote, status: u16, since: Instant) {
        let NoteFields { tenant, repository, principal, verb, outcome } = note.fields().clone();
        let outcome = if outcome.is_empty() { status.to_string() } else { outcome };
        let ms = u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.write(&json!({
            "at": self.ids.now().to_string(),
            "request": self.ids.next().to_string(),
            "tenant": tenant,
            "repository": repository,
            "principal": principal,
            "verb": verb,
            "status": status,
            "outcome": outcome,
            "ms": ms,
        }));
    }

    /// Writes what happened to the node itself.
    pub(super) fn event(&self, what: &str) {
        self.write(&json!({"at": self.ids.now().to_string(), "event": what}));
    }

    fn write(&self, line: &serde_json::Value) {
        // Nobody may read it.
        let _ = std::io::stderr().lock().write_all(format!("{line}\n").as_bytes());
    }
}
