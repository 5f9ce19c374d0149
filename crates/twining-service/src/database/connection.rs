//! Connections: a pool that serves with the fewest rights, and single ones for who runs it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use deadpool_postgres::{
    Manager, ManagerConfig, Object, Pool, PoolError, RecyclingMethod, Runtime, Timeouts,
};
use tokio::runtime::Handle;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Config, Row};
use twining_model::{Id, Time};

use super::head_watch::Heads;
use super::pg_log::PgLog;
use super::tls::{DatabaseTls, read_address};
use super::tokens::TokenCache;
use super::write_metrics::WriteMetrics;
use crate::error::ServiceError;

/// The role that serves.
pub(super) const APP: &str = "twining_app";
/// The role that owns the schema.
pub(super) const OWNER: &str = "twining_owner";

const NOW_MS: &str = "select (extract(epoch from clock_timestamp()) * 1000)::bigint";

/// How long the server works on a statement, waits for a lock, or waits for us inside a
/// transaction. Statements are prepared, few, and go by their indexes, so one plan serves all
/// values: planning anew would cost as much as appending.
const SERVER_OPTIONS: &str = "-c statement_timeout=15s -c lock_timeout=10s -c idle_in_transaction_session_timeout=15s -c plan_cache_mode=force_generic_plan";
/// How long a connection or an answer is waited for.
const CONNECT_LIMIT: Duration = Duration::from_secs(5);
const ANSWER_LIMIT: Duration = Duration::from_secs(20);
/// How long a peer may be silent before the connection counts as lost.
const SILENCE_LIMIT: Duration = Duration::from_secs(10);
const CONNECTIONS: usize = 16;

/// How a node uses its database.
#[derive(Clone, Debug)]
pub struct DatabaseSettings {
    /// Its address: `postgres://…`, or words such as `host=/run/postgresql`.
    pub url: String,
    /// The most connections that serve at a time.
    pub connections: usize,
    /// Whether to wait for notices of other nodes. Behind a pooler that shares connections
    /// there are none; heads are then read once a second.
    pub listens: bool,
}

impl DatabaseSettings {
    /// The usual ones.
    #[must_use]
    pub fn new(url: &str) -> Self {
        Self { url: url.to_owned(), connections: CONNECTIONS, listens: true }
    }
}

/// The database of a service, as one node sees it. Cheap to clone.
#[derive(Clone)]
pub struct Database(pub(super) Arc<DatabaseParts>);

pub(super) struct DatabaseParts {
    config: Config,
    tls: DatabaseTls,
    pub(super) pool: Pool,
    pub(super) runtime: Handle,
    pub(super) heads: Heads,
    pub(super) tokens: Arc<TokenCache>,
    pub(super) logs: Mutex<HashMap<(Id, Id), Weak<PgLog>>>,
    pub(super) listens: bool,
    pub(super) writes: WriteMetrics,
}

impl Database {
    /// Connects to a database by its URL, in a tokio runtime that outlives it.
    pub async fn connect(url: &str) -> Result<Self, ServiceError> {
        Self::connect_with(&DatabaseSettings::new(url)).await
    }

    /// Connects to a database, in a tokio runtime that outlives it.
    pub async fn connect_with(settings: &DatabaseSettings) -> Result<Self, ServiceError> {
        let (mut config, tls) = read_address(&settings.url)?;
        config.connect_timeout(CONNECT_LIMIT).tcp_user_timeout(SILENCE_LIMIT);
        if config.get_application_name().is_none() {
            config.application_name("twining");
        }
        let manager = Manager::from_config(
            with_options(&config, APP, ""),
            tls.clone(),
            ManagerConfig { recycling_method: RecyclingMethod::Fast },
        );
        let timeouts = Timeouts {
            wait: Some(CONNECT_LIMIT),
            create: Some(CONNECT_LIMIT),
            recycle: Some(CONNECT_LIMIT),
        };
        let pool = Pool::builder(manager)
            .max_size(settings.connections.max(2))
            .timeouts(timeouts)
            .runtime(Runtime::Tokio1)
            .build()
            .map_err(|error| ServiceError::Settings(error.to_string()))?;
        let database = Self(Arc::new(DatabaseParts {
            config,
            tls,
            pool,
            runtime: Handle::current(),
            heads: Heads::default(),
            tokens: Arc::default(),
            logs: Mutex::default(),
            listens: settings.listens,
            writes: WriteMetrics::default(),
        }));
        database.login().await?;
        Ok(database)
    }

    /// Whether the database answers.
    pub async fn ping(&self) -> Result<(), ServiceError> {
        let client = self.client().await?;
        within(client.batch_execute("select 1")).await
    }

    /// Whether the login that serves could do more than serve: a superuser, or who may act as
    /// the owner of the schema.
    pub async fn has_excess_rights(&self) -> Result<bool, ServiceError> {
        const EXCESS: &str = "select bool_or(rolsuper or rolbypassrls) or pg_has_role(session_user, 'twining_owner', 'member')
             from pg_roles where rolname = session_user";
        let client = self.client().await?;
        Ok(within(client.query_one(EXCESS, &[])).await?.get(0))
    }

    /// Fails unless the login may administer: act as the owner, and as the role that puts on
    /// record what was done.
    pub async fn check_admin_rights(&self) -> Result<(), ServiceError> {
        drop(self.owner().await?);
        drop(self.client().await?);
        Ok(())
    }

    /// What this node's writers committed.
    pub(crate) fn write_metrics(&self) -> &WriteMetrics {
        &self.0.writes
    }

    /// Waits for an answer: only for threads that may block.
    pub(crate) fn wait<T>(&self, answer: impl Future<Output = T>) -> T {
        self.0.runtime.block_on(answer)
    }

    /// Runs a task beside the calls.
    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.0.runtime.spawn(task);
    }

    /// A connection that serves.
    pub(super) async fn client(&self) -> Result<Object, ServiceError> {
        match self.0.pool.get().await {
            Err(PoolError::Backend(error)) => Err(role_error(error, APP)),
            outcome => Ok(outcome?),
        }
    }

    /// A connection with the rights of the login, and no more.
    pub(super) async fn login(&self) -> Result<Client, ServiceError> {
        connect(&self.0.config, &self.0.tls).await.map_err(ServiceError::from)
    }

    /// A connection of the owner of the schema.
    pub(super) async fn owner(&self) -> Result<Client, ServiceError> {
        connect(&with_options(&self.0.config, OWNER, ""), &self.0.tls)
            .await
            .map_err(|error| role_error(error, OWNER))
    }

    /// The settings of a connection of its own that serves.
    pub(super) fn own_connection(&self, options: &str) -> (Config, DatabaseTls) {
        (with_options(&self.0.config, APP, options), self.0.tls.clone())
    }

    /// One statement in a transaction that names its tenant, all sent at once.
    pub(super) async fn query_as(
        &self,
        tenant: &Id,
        sql: &'static str,
        values: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, ServiceError> {
        let client = self.client().await?;
        let asked = within(async {
            let statement = client.prepare_cached(sql).await?;
            let begin = begin_as(tenant);
            // Polled in this order, which is the order on the wire. A failed statement makes the
            // commit a rollback.
            let (begun, rows, ended) = tokio::join!(
                biased;
                client.batch_execute(&begin),
                client.query(&statement, values),
                client.batch_execute("commit"),
            );
            begun?;
            let rows = rows?;
            ended?;
            Ok(rows)
        })
        .await;
        if matches!(asked, Err(ServiceError::Unreachable(_))) {
            // It may still be busy: the next one gets another.
            drop(Object::take(client));
        }
        asked
    }
}

impl std::fmt::Debug for Database {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Never its settings: they have a password.
        f.debug_struct("Database").finish_non_exhaustive()
    }
}

/// Begins a transaction of a tenant. The setting ends with it, so a pooled connection keeps none.
/// As one message of plain text, because that costs the server least; an id has letters and digits.
pub(super) fn begin_as(tenant: &Id) -> String {
    format!("begin; set local twining.tenant = '{tenant}'")
}

/// A new connection, driven by a task of its own.
pub(super) async fn connect(
    config: &Config,
    tls: &DatabaseTls,
) -> Result<Client, tokio_postgres::Error> {
    let (client, connection) = config.connect(tls.clone()).await?;
    // It ends with the client; what goes wrong meanwhile, the client's calls say.
    tokio::spawn(connection);
    Ok(client)
}

/// A new id, by the database's clock.
pub(super) async fn new_id(client: &Client) -> Result<Id, ServiceError> {
    let ms: i64 = client.query_one(NOW_MS, &[]).await?.get(0);
    Ok(Id::from_parts(Time::from_ms(ms), u128::from_ne_bytes(random_bytes()?)))
}

/// Random bytes.
pub(crate) fn random_bytes<const N: usize>() -> Result<[u8; N], ServiceError> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes)
        .map_err(|error| ServiceError::Settings(format!("no randomness: {error}")))?;
    Ok(bytes)
}

/// What is asked, but not for ever.
pub(super) async fn within<T>(
    asked: impl Future<Output = Result<T, tokio_postgres::Error>>,
) -> Result<T, ServiceError> {
    match tokio::time::timeout(ANSWER_LIMIT, asked).await {
        Ok(answer) => Ok(answer?),
        Err(_) => Err(ServiceError::Unreachable("it does not answer".to_owned())),
    }
}

/// A number of the database that is never negative.
pub(super) fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or_default()
}

/// An id of the database.
pub(super) fn id_of(text: &str) -> Result<Id, ServiceError> {
    Id::read(text).ok_or_else(|| ServiceError::Schema(format!("`{text}` is not an id")))
}

/// The role is set when the connection starts, so that `reset role` leads back to it.
fn with_options(config: &Config, role: &str, options: &str) -> Config {
    let given = config.get_options().unwrap_or_default();
    let mut config = config.clone();
    config.options(format!("{given} -c role={role} {SERVER_OPTIONS} {options}"));
    config
}

fn role_error(error: tokio_postgres::Error, role: &str) -> ServiceError {
    use tokio_postgres::error::SqlState;
    match error.code() {
        Some(&SqlState::INVALID_PARAMETER_VALUE) => ServiceError::Schema(
            "the database has no schema of Twining yet; run `twining serve migrate`".to_owned(),
        ),
        Some(&SqlState::INSUFFICIENT_PRIVILEGE) => ServiceError::Settings(format!(
            "this login may not act as `{role}`: run `twining serve migrate` with it if it may make roles, or let a login that may do `grant {role} to` this one"
        )),
        _ => error.into(),
    }
}
