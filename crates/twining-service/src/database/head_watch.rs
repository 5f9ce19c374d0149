//! Notices that a log has new lines, between the nodes and inside one.
//!
//! A notice is sent after the commit, on a connection of its own: inside the writing transaction
//! it would take a lock of the whole database. A notice only makes a node look: heads are read
//! from the database, once a second for what is watched, and after every reconnection. So a
//! lost notice costs a second, and a forged one nothing.

use std::collections::{BTreeMap, HashMap};
use std::future::poll_fn;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::{Duration, Instant};

use tokio::sync::{mpsc, watch};
use tokio_postgres::{AsyncMessage, Client, Config, Notification, Statement};
use twining_model::Id;

use super::connection::{Database, DatabaseParts, connect, id_of, unsigned, within};
use super::tls::DatabaseTls;
use crate::error::ServiceError;

/// Heads that moved: `repo:head,…`.
const HEADS_CHANNEL: &str = "twining";
/// A token that was revoked.
pub(super) const REVOKED_CHANNEL: &str = "twining_revoked";

const LISTEN: &str = "listen twining; listen twining_revoked";
const NOTIFY: &str = "select pg_notify($1, $2)";
const HEADS: &str = "select id, head from twining.repo_heads($1)";

/// What a message of PostgreSQL holds: 8,000 bytes, or so many repositories.
const MESSAGE_BYTES: usize = 7_900;
const MESSAGE_REPOSITORIES: usize = 300;
/// Notices are collected for so long: each costs the database a transaction.
const COLLECTED_FOR: Duration = Duration::from_millis(4);
const POLLED_EVERY: Duration = Duration::from_secs(1);
const RECONNECT_AFTER: Duration = Duration::from_millis(300);

/// The heads that somebody on this node watches.
#[derive(Default)]
pub(super) struct Heads {
    watched: Mutex<HashMap<Id, WatchedHead>>,
    tasks: OnceLock<mpsc::UnboundedSender<(Id, u64)>>,
}

struct WatchedHead {
    /// What the database said last.
    head: u64,
    /// When it said that.
    read_at: Option<Instant>,
    /// Where it is said to be: there may be something to look at.
    moved: watch::Sender<u64>,
}

impl Heads {
    /// A head that the database told us. Whether it was news.
    fn read(&self, repo: &Id, head: u64) -> bool {
        let mut watched = self.watched();
        let Some(known) = watched.get_mut(repo) else { return false };
        known.read_at = Some(Instant::now());
        if known.head >= head {
            return false;
        }
        known.head = head;
        known.moved.send_replace(head);
        true
    }

    /// A head that somebody claims. It is believed until the next one, as it need not be true.
    fn claimed(&self, repo: &Id, head: u64) {
        if let Some(known) = self.watched().get(repo).filter(|known| known.head < head) {
            known.moved.send_modify(|said| *said = head.max(*said));
        }
    }

    /// A head that this node has moved: it tells the others.
    pub(super) fn committed(&self, repo: &Id, head: u64) {
        self.read(repo, head);
        if let Some(tasks) = self.tasks.get() {
            // The receiver ends with the runtime; then nobody is left to be told.
            let _ = tasks.send((repo.clone(), head));
        }
    }

    /// What is watched. What nobody watches any more is dropped.
    fn ids(&self) -> Vec<String> {
        let mut watched = self.watched();
        watched.retain(|_, known| known.moved.receiver_count() > 0);
        watched.keys().map(ToString::to_string).collect()
    }

    fn watched(&self) -> MutexGuard<'_, HashMap<Id, WatchedHead>> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Waits for new lines of one repository.
#[derive(Debug)]
pub struct HeadWatch {
    moved: watch::Receiver<u64>,
}

impl HeadWatch {
    /// Returns when the log may have lines that it had not at the last call.
    pub async fn moved(&mut self) {
        if self.moved.changed().await.is_err() {
            // Nobody sends any more: whoever asks in a loop should look now and then.
            tokio::time::sleep(POLLED_EVERY).await;
        }
    }

    /// Where the head is said to be. What was said before is settled with it.
    pub fn said(&mut self) -> u64 {
        *self.moved.borrow_and_update()
    }
}

impl Database {
    /// Waits for new lines of a repository, whichever node writes them.
    #[must_use]
    pub fn watch_head(&self, repo: &Id) -> HeadWatch {
        self.listen();
        let mut watched = self.0.heads.watched();
        let known = watched.entry(repo.clone()).or_insert_with(|| WatchedHead {
            head: 0,
            read_at: None,
            moved: watch::Sender::new(0),
        });
        HeadWatch { moved: known.moved.subscribe() }
    }

    /// The head of a watched repository as the database said it last, and when that was.
    pub(crate) fn known_head(&self, repo: &Id) -> Option<(u64, Instant)> {
        let watched = self.0.heads.watched();
        watched.get(repo).and_then(|known| Some((known.head, known.read_at?)))
    }

    /// Starts what tells others, listens to them and reads heads; once.
    pub(super) fn listen(&self) {
        self.0.heads.tasks.get_or_init(|| {
            let (sender, receiver) = mpsc::unbounded_channel();
            let runtime = &self.0.runtime;
            let config = self.own_connection("-c synchronous_commit=off");
            runtime.spawn(tell(config, receiver));
            runtime.spawn(poll(std::sync::Arc::downgrade(&self.0)));
            if self.0.listens {
                let config = self.own_connection("");
                runtime.spawn(listen(config, std::sync::Arc::downgrade(&self.0)));
            }
            sender
        });
    }

    async fn read_heads(&self) -> Result<(), ServiceError> {
        let ids = self.0.heads.ids();
        if ids.is_empty() {
            return Ok(());
        }
        let client = self.client().await?;
        let rows = within(async {
            let statement = client.prepare_cached(HEADS).await?;
            client.query(&statement, &[&ids]).await
        });
        for row in rows.await? {
            self.0.heads.read(&id_of(row.get("id"))?, unsigned(row.get("head")));
        }
        Ok(())
    }
}

/// Tells other nodes what moved here, until the database is dropped. What cannot be sent is
/// dropped: others find it by themselves.
async fn tell((config, tls): (Config, DatabaseTls), mut moved: mpsc::UnboundedReceiver<(Id, u64)>) {
    let mut client: Option<(Client, Statement)> = None;
    while let Some((repo, head)) = moved.recv().await {
        tokio::time::sleep(COLLECTED_FOR).await;
        let mut heads = BTreeMap::from([(repo, head)]);
        while let Ok((repo, head)) = moved.try_recv() {
            let known = heads.entry(repo).or_default();
            *known = head.max(*known);
        }
        if client.as_ref().is_none_or(|(client, _)| client.is_closed()) {
            client = prepared(&config, &tls).await.ok();
        }
        let Some((open, notify)) = &client else {
            tokio::time::sleep(RECONNECT_AFTER).await;
            continue;
        };
        for message in messages(&heads) {
            if within(open.execute(notify, &[&HEADS_CHANNEL, &message])).await.is_err() {
                client = None;
                break;
            }
        }
    }
}

/// A connection that sends notices, and the statement for them.
async fn prepared(
    config: &Config,
    tls: &DatabaseTls,
) -> Result<(Client, Statement), tokio_postgres::Error> {
    let client = connect(config, tls).await?;
    let notify = client.prepare(NOTIFY).await?;
    Ok((client, notify))
}

/// The notices, in as few messages as hold them.
fn messages(heads: &BTreeMap<Id, u64>) -> Vec<String> {
    let mut messages: Vec<String> = Vec::new();
    let mut count = 0;
    for (repo, head) in heads {
        let notice = format!("{repo}:{head}");
        match messages.last_mut() {
            Some(last)
                if count < MESSAGE_REPOSITORIES && last.len() + notice.len() < MESSAGE_BYTES =>
            {
                last.push(',');
                last.push_str(&notice);
                count += 1;
            }
            _ => {
                messages.push(notice);
                count = 1;
            }
        }
    }
    messages
}

/// Reads the heads of what is watched, until the database is dropped.
async fn poll(database: Weak<DatabaseParts>) {
    loop {
        tokio::time::sleep(POLLED_EVERY).await;
        let Some(parts) = database.upgrade() else { return };
        // A database that is away is asked again in a second.
        let _ = Database(parts).read_heads().await;
    }
}

/// Listens to other nodes, until the database is dropped.
async fn listen((config, tls): (Config, DatabaseTls), database: Weak<DatabaseParts>) {
    while database.strong_count() > 0 {
        // However it ended, it begins again.
        let _ = listen_once(&config, &tls, &database).await;
        let Some(parts) = database.upgrade() else { return };
        parts.tokens.clear();
        drop(parts);
        tokio::time::sleep(RECONNECT_AFTER).await;
    }
}

/// Listens until the connection is lost.
async fn listen_once(
    config: &Config,
    tls: &DatabaseTls,
    database: &Weak<DatabaseParts>,
) -> Result<(), tokio_postgres::Error> {
    let (client, mut connection) = config.connect(tls.clone()).await?;
    let (sender, mut notices) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Some(Ok(message)) = poll_fn(|context| connection.poll_message(context)).await {
            if let AsyncMessage::Notification(notice) = message
                && sender.send(notice).is_err()
            {
                return;
            }
        }
    });
    client.batch_execute(LISTEN).await?;
    if let Some(parts) = database.upgrade() {
        // Whatever was said while nobody listened.
        parts.tokens.clear();
        let _ = Database(parts).read_heads().await;
    }
    loop {
        let notice = tokio::time::timeout(POLLED_EVERY, notices.recv()).await;
        let Some(parts) = database.upgrade() else { return Ok(()) };
        match notice {
            Ok(Some(notice)) => take_notice(&parts, &notice),
            Ok(None) => return Ok(()),
            Err(_) => {}
        }
    }
}

fn take_notice(parts: &DatabaseParts, notice: &Notification) {
    if notice.channel() == REVOKED_CHANNEL {
        parts.tokens.forget(notice.payload());
        return;
    }
    for moved in notice.payload().split(',') {
        let Some((repo, head)) = moved.split_once(':') else { continue };
        if let (Some(repo), Ok(head)) = (Id::read(repo), head.parse()) {
            parts.heads.claimed(&repo, head);
        }
    }
}

#[cfg(test)]
mod tests {
    use twining_model::Time;

    use super::*;

    fn repo(number: u128) -> Id {
        Id::from_parts(Time::from_ms(1), number)
    }

    #[test]
    fn a_thousand_heads_fit_into_messages_of_postgresql() {
        let heads: BTreeMap<Id, u64> = (0..1_000).map(|n| (repo(n), u64::MAX)).collect();
        let messages = messages(&heads);
        assert!(messages.iter().all(|message| message.len() < 8_000));
        let notices = messages.iter().flat_map(|message| message.split(','));
        assert_eq!(notices.count(), 1_000);
    }

    #[test]
    fn a_forged_head_wakes_and_hides_nothing() {
        let heads = Heads::default();
        let sender = watch::Sender::new(0);
        let mut moved = sender.subscribe();
        heads.watched().insert(repo(1), WatchedHead { head: 5, read_at: None, moved: sender });
        heads.claimed(&repo(1), 5);
        assert!(!moved.has_changed().expect("the sender is there"));
        heads.claimed(&repo(1), u64::MAX);
        assert!(moved.has_changed().expect("the sender is there"));
        moved.mark_unchanged();
        assert!(heads.read(&repo(1), 6));
        assert!(moved.has_changed().expect("the sender is there"));
    }
}
