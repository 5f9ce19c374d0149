//! `GET /events`: says what changed, and the page asks again. Notices, not records: a client that
//! is slow, or was away, gets all that it missed as one.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{Uri, header};
use axum::response::{IntoResponse, Response};
use hyper::body::Frame;
use serde_json::{Value, json};
use tokio::sync::{mpsc, watch};
use twining_model::World;
use twining_store::git::GitFolders;
use twining_store::{ChangeFeed, ChangeKind, ChangeNotice};

use crate::allowances;
use crate::render::command_error::CommandError;
use crate::system_world::SystemWorld;
use crate::user_policy;
use crate::web::keys::KeyAccess;
use crate::web::server::WebServer;

/// Notices that are remembered for those who come back.
const MAX_NOTICES: usize = 256;
/// How often a client is told that the connection stands.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// How soon a project that cannot be opened is tried again.
const RETRY: Duration = Duration::from_secs(2);

/// The last notices. A cursor names this server and the number of a notice.
pub(super) struct NoticeLog {
    server: String,
    notices: Mutex<VecDeque<ChangeNotice>>,
    count: watch::Sender<u64>,
}

impl NoticeLog {
    /// An empty one.
    pub(super) fn new() -> Self {
        let server = format!("{:08x}", SystemWorld.random() >> 96);
        Self { server, notices: Mutex::default(), count: watch::Sender::new(0) }
    }

    fn push(&self, notice: ChangeNotice) {
        let mut notices = self.notices.lock().unwrap_or_else(PoisonError::into_inner);
        if notices.len() == MAX_NOTICES {
            notices.pop_front();
        }
        notices.push_back(notice);
        self.count.send_modify(|count| *count += 1);
    }

    /// The number in a cursor, if it is one of this server's.
    fn position(&self, cursor: &str) -> Option<u64> {
        let number = cursor.strip_prefix(&self.server)?.strip_prefix('-')?.parse().ok()?;
        (number <= *self.count.borrow()).then_some(number)
    }

    /// What came after the first `seen` notices, as a message, and how many there are now.
    fn message_after(&self, seen: Option<u64>) -> (Bytes, u64) {
        let notices = self.notices.lock().unwrap_or_else(PoisonError::into_inner);
        let count = *self.count.borrow();
        let missed = seen.and_then(|seen| usize::try_from(count - seen).ok());
        let first = missed.and_then(|missed| notices.len().checked_sub(missed));
        let mut data = match first {
            Some(first) => {
                let mut merged = ChangeNotice::default();
                notices.iter().skip(first).for_each(|notice| merged.merge(notice));
                json!(merged)
            }
            None => json!({"resync": true}),
        };
        let cursor = format!("{}-{count}", self.server);
        data["cursor"] = Value::from(cursor.as_str());
        (Bytes::from(format!("id: {cursor}\ndata: {data}\n\n")), count)
    }
}

/// Follows the memory, from now on and until the process ends.
pub(super) fn watch_memory(server: &Arc<WebServer>) {
    let server = Arc::clone(server);
    let mut feed = feed(&server).ok();
    std::thread::spawn(move || {
        loop {
            match feed.as_mut().map(ChangeFeed::wait_next) {
                Some(Some(notice)) => server.notices.push(notice),
                Some(None) => {}
                None => {
                    std::thread::sleep(RETRY);
                    feed = self::feed(&server).ok();
                }
            }
        }
    });
}

fn feed(server: &WebServer) -> Result<ChangeFeed, CommandError> {
    let store = Arc::clone(server.project()?.engine.store());
    let git = GitFolders::of(&server.checkout).map(|git| git.own);
    let heads = [(ChangeKind::Head, "HEAD"), (ChangeKind::Head, "logs/HEAD")];
    let allowed = [(ChangeKind::Guard, "policy.yml"), (ChangeKind::Guard, allowances::FOLDER)];
    let folders = [(git, heads), (user_policy::folder(), allowed)];
    let outside = folders.into_iter().filter_map(|(folder, files)| Some((folder?, files)));
    let of_folder =
        |(folder, files): (PathBuf, [_; 2])| files.map(|(kind, name)| (kind, folder.join(name)));
    Ok(ChangeFeed::new(store, outside.flat_map(of_folder).collect()))
}

/// The notices from now on, or after a cursor.
pub(super) async fn follow(
    State(server): State<Arc<WebServer>>,
    _access: KeyAccess,
    uri: Uri,
) -> Response {
    let fields = uri.query().unwrap_or_default().split('&');
    let cursor = fields.filter_map(|field| field.strip_prefix("after=")).next();
    let now = || Some(*server.notices.count.borrow());
    let seen = cursor.map_or_else(now, |cursor| server.notices.position(cursor));
    let (sender, receiver) = mpsc::channel(1);
    tokio::spawn(send_notices(server, seen, sender));
    let kind = [(header::CONTENT_TYPE, "text/event-stream")];
    (kind, Body::new(EventBody(receiver))).into_response()
}

async fn send_notices(server: Arc<WebServer>, seen: Option<u64>, sender: mpsc::Sender<Bytes>) {
    let mut count = server.notices.count.subscribe();
    let (mut message, mut seen) = server.notices.message_after(seen);
    while sender.send(message).await.is_ok() {
        let news = tokio::time::timeout(KEEP_ALIVE, count.wait_for(|count| *count > seen)).await;
        (message, seen) = match news.is_ok() {
            true => server.notices.message_after(Some(seen)),
            false => (Bytes::from_static(b":\n\n"), seen),
        };
    }
}

/// A body that ends when the client does.
struct EventBody(mpsc::Receiver<Bytes>);

impl hyper::body::Body for EventBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.0.poll_recv(context).map(|message| message.map(|bytes| Ok(Frame::data(bytes))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notice(id: &str) -> ChangeNotice {
        ChangeNotice { kinds: vec![ChangeKind::Entry], ids: vec![id.to_owned()], more: false }
    }

    fn data(log: &NoticeLog, cursor: Option<&str>) -> Value {
        let seen = cursor.map_or(Some(0), |cursor| log.position(cursor));
        let (message, _) = log.message_after(seen);
        let text = std::str::from_utf8(&message).expect("is text");
        let (_, data) = text.split_once("data: ").expect("has data");
        serde_json::from_str(data).expect("is JSON")
    }

    #[test]
    fn who_was_away_gets_what_it_missed_as_one() {
        let log = NoticeLog::new();
        log.push(notice("a"));
        let cursor = data(&log, None)["cursor"].as_str().expect("has one").to_owned();
        log.push(notice("b"));
        log.push(notice("c"));
        let missed = data(&log, Some(&cursor));
        assert_eq!((&missed["ids"], &missed["more"]), (&json!(["c", "b"]), &json!(false)));
        assert_eq!(data(&log, missed["cursor"].as_str())["ids"], json!([]));
    }

    #[test]
    fn a_cursor_of_another_server_or_from_long_ago_is_not_known() {
        let log = NoticeLog::new();
        let first = data(&log, None)["cursor"].as_str().expect("has one").to_owned();
        for cursor in ["", "x", "00000000-0", &format!("{first}0"), "-1"] {
            let is_known = cursor == format!("{first}0");
            assert_eq!(data(&log, Some(cursor))["resync"] == json!(true), !is_known, "{cursor}");
        }
        for _ in 0..=MAX_NOTICES {
            log.push(notice("a"));
        }
        assert_eq!(data(&log, Some(&first))["resync"], json!(true));
    }
}
