//! The verbs over HTTP: exactly the tool's JSON in and out.
//!
//! A browser is no agent: its calls are no sign of life and drain no queue. What a person does
//! there carries the name they gave, and is theirs.

use std::sync::{Arc, LazyLock};
use std::time::Instant;

use axum::body::{Body, to_bytes};
use axum::extract::{Path, State};
use axum::http::HeaderMap;
use axum::response::Response;
use percent_encoding::percent_decode_str;
use serde_json::{Map, Value, json};
use twining_engine::Caller;
use twining_model::{Authority, Channel, Origin, Trust, limits};
use twining_store::git::{Git, GitFolders};

use crate::commands::VERBS;
use crate::output;
use crate::person_check;
use crate::render::command_error::CommandError;
use crate::render::json_output;
use crate::verbs::command_line;
use crate::verbs::verb::{Effect, VerbEntry};
use crate::web::access::{self, WebError};
use crate::web::keys::{CodeRefusal, KeyAccess};
use crate::web::server::{READ_TIMEOUT, WebServer};

/// What a program is told of the verbs; the same for as long as the program runs.
static VERB_LIST: LazyLock<Value> =
    LazyLock::new(|| VERBS.iter().map(VerbEntry::to_json).collect());

/// A call of a verb, as the browser sent it.
struct WebCall {
    verb: &'static VerbEntry,
    fields: Map<String, Value>,
    access: KeyAccess,
    /// The name of the person.
    user: Option<String>,
    /// The word they typed to confirm it.
    confirmed: Option<String>,
}

/// `POST /key`: a key for the code of a link.
pub(super) async fn trade_code(
    State(server): State<Arc<WebServer>>,
    body: Body,
) -> Result<Response, WebError> {
    let fields = read_fields(body).await?;
    let code = fields.get("code").and_then(Value::as_str).unwrap_or_default();
    let refusal = |code, message| {
        CommandError::unavailable(code, message).with_hint("run `twining ui` for a new link")
    };
    let (key, access) = server.keys.redeem(code, Instant::now()).map_err(|why| match why {
        CodeRefusal::Used => {
            let used = refusal("CODE_USED", "a link was used a second time");
            output::warn_about(&used.clone().with_hint("was it not you? somebody else had it"));
            used
        }
        CodeRefusal::Expired => refusal("CODE_EXPIRED", "this link is too old"),
    })?;
    off_thread(move || {
        let may_write = access == KeyAccess::Write;
        let answer = json!({"key": key, "may_write": may_write, "user": user_name(&server)});
        Ok(json_output::compact(&answer))
    })
    .await
}

/// `GET /api`: the project, what this browser may do, and the verbs.
pub(super) async fn describe(
    State(server): State<Arc<WebServer>>,
    access: KeyAccess,
) -> Result<Response, WebError> {
    off_thread(move || {
        let project = server.project()?;
        let store = project.engine.store();
        Ok(json_output::compact(&json!({
            "project": store.project_name(),
            "path": store.location().project.to_string_lossy(),
            "branch": GitFolders::of(&server.checkout).and_then(|git| git.branch()),
            "version": env!("CARGO_PKG_VERSION"),
            "may_write": access == KeyAccess::Write,
            "user": user_name(&server),
            "port": server.port,
            "exists": store.exists().unwrap_or(false),
            "verbs": *VERB_LIST,
        })))
    })
    .await
}

/// `POST /api/<verb>`: runs a verb.
pub(super) async fn call(
    State(server): State<Arc<WebServer>>,
    access: KeyAccess,
    Path(name): Path<String>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, WebError> {
    let verb = VERBS.iter().find(|verb| verb.name == name);
    let verb = verb.ok_or_else(|| WebError::new("NOT_FOUND", "there is no such verb"))?;
    let text = |name| {
        let given = percent_decode_str(headers.get(name)?.to_str().ok()?).decode_utf8().ok()?;
        Some(given.trim().to_owned()).filter(|text| !text.is_empty())
    };
    let (user, confirmed) = (text("twining-user"), text("twining-confirm"));
    let call = WebCall { verb, fields: read_fields(body).await?, access, user, confirmed };
    off_thread(move || {
        call.run(&server).map_err(|mut error| {
            if let Some(line) = command_line::of_call(call.verb, &call.fields) {
                error.0["command"] = json!(line);
            }
            error
        })
    })
    .await
}

impl WebCall {
    fn run(&self, server: &WebServer) -> Result<String, WebError> {
        let caller = self.caller()?;
        let project = server.project()?;
        let authority = match self.access {
            KeyAccess::Write => Authority::Confirmed,
            KeyAccess::Read => Authority::Claimed,
        };
        let ctx = project.context(caller, authority);
        if let Some(question) = self.verb.question.and_then(|ask| ask(&ctx, &self.fields)) {
            self.check_confirmed(&question)?;
        }
        Ok((self.verb.run)(&ctx, self.fields.clone())?.to_json_line())
    }

    /// Who calls: for a write, a person who gave their name to a browser that may write.
    fn caller(&self) -> Result<Caller, CommandError> {
        let trust = if self.access == KeyAccess::Write { Trust::Human } else { Trust::Agent };
        let origin = Origin::new(Channel::Web, trust);
        if self.only_reads() {
            return Ok(Caller { origin, ..person_check::signed(None, trust) });
        }
        if self.access == KeyAccess::Read {
            let message = "this browser only reads: its link was not asked for at a terminal";
            return Err(CommandError::unavailable("NEEDS_PERSON", message)
                .with_hint("run `twining ui` in your own terminal window"));
        }
        let name = self.user.as_deref().ok_or_else(|| {
            CommandError::unavailable("NEEDS_NAME", "who does this? the records carry the name")
        })?;
        let caller = Caller { agent: String::new(), origin };
        caller.called(Some(name)).map_err(|refused| CommandError::refused(&refused))
    }

    fn only_reads(&self) -> bool {
        (self.verb.effect_of)(&self.fields) == Effect::Reads
    }

    /// Makes sure that the person typed the name of what is to happen.
    fn check_confirmed(&self, question: &str) -> Result<(), WebError> {
        let name = (self.verb.confirm_name)(&self.fields);
        let name = name.unwrap_or_else(|| self.verb.command_name());
        match &self.confirmed {
            Some(typed) if *typed == name => Ok(()),
            Some(_) => Err(WebError::new(
                "NEEDS_PERSON",
                "nothing was changed: the typed text did not match",
            )),
            None => {
                let mut error = WebError::new("CONFIRM", question);
                error.0["confirm"] = json!(name);
                Err(error)
            }
        }
    }
}

/// Runs what may take its time on a thread of its own, and answers with what comes of it.
async fn off_thread(
    work: impl FnOnce() -> Result<String, WebError> + Send + 'static,
) -> Result<Response, WebError> {
    let done = tokio::task::spawn_blocking(work).await;
    let line = done.map_err(|error| CommandError::of_error("INTERNAL_ERROR", &error))??;
    Ok(access::json(line))
}

/// Reads the JSON of a body that is neither too large nor too slow.
async fn read_fields(body: Body) -> Result<Map<String, Value>, WebError> {
    let read = tokio::time::timeout(READ_TIMEOUT, to_bytes(body, limits::RECORD_BYTES)).await;
    let bytes = read
        .map_err(|_| WebError::new("INVALID_INPUT", "the body took too long"))?
        .map_err(|_| WebError::new("TOO_LARGE", "the body is too large"))?;
    serde_json::from_slice(&bytes)
        .map_err(|_| WebError::new("INVALID_INPUT", "the body must be a JSON object"))
}

/// What git calls the person, else the name they are logged in with.
fn user_name(server: &WebServer) -> String {
    person_check::signed(Git::at(&server.checkout).user_name(), Trust::Human).agent
}
