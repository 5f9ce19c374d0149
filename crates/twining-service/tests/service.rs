//! A service of a test's own: a server, a database, and nodes on it.

use std::sync::Arc;

use tokio::runtime::Runtime;
use tokio_postgres::{Client, NoTls};
use twining_model::{Change, Id, IdSource};
use twining_service::{Database, DatabaseSettings, ServiceError};
use twining_store::NewLine;
use twining_testkit::{Flushing, PostgresServer, TestDatabase, ids, records};

/// A database with the schema, a tenant and a repository.
pub(crate) struct TestService {
    // Dropped first: its tasks use the server.
    pub(crate) runtime: Runtime,
    pub(crate) server: PostgresServer,
    pub(crate) database: TestDatabase,
    pub(crate) ids: Arc<IdSource>,
    pub(crate) tenant: Id,
    pub(crate) repo: Id,
}

impl TestService {
    /// Nothing where there is no PostgreSQL.
    pub(crate) fn start() -> Option<Self> {
        Self::start_with(Flushing::Off)
    }

    pub(crate) fn start_with(flushing: Flushing) -> Option<Self> {
        let server = PostgresServer::start(flushing)?;
        let database = server.database();
        let runtime = runtime();
        let (tenant, repo) = runtime.block_on(async {
            let admin = Database::connect(&database.url("postgres")).await.expect("connects");
            admin.migrate().await.expect("migrates");
            let tenant = admin.add_tenant("acme").await.expect("a tenant").id;
            let repo = admin.add_repository(&tenant, "shop").await.expect("a repository").id;
            (tenant, repo)
        });
        Some(Self { runtime, server, database, ids: ids(), tenant, repo })
    }

    /// A node, which serves with the fewest rights.
    pub(crate) fn node(&self) -> Database {
        self.connect("twining_app")
    }

    /// A node that hears no notices.
    pub(crate) fn deaf_node(&self) -> Database {
        let url = self.database.url("twining_app");
        let settings = DatabaseSettings { listens: false, ..DatabaseSettings::new(&url) };
        self.runtime.block_on(Database::connect_with(&settings)).expect("connects")
    }

    /// Who runs the service.
    pub(crate) fn admin(&self) -> Database {
        self.connect("postgres")
    }

    /// A second tenant with a repository.
    pub(crate) fn another_tenant(&self) -> (Id, Id) {
        let admin = self.admin();
        self.wait(async {
            let tenant = admin.add_tenant("rival").await?.id;
            let repo = admin.add_repository(&tenant, "shop").await?.id;
            Ok::<_, ServiceError>((tenant, repo))
        })
        .expect("a tenant and a repository")
    }

    pub(crate) fn wait<T>(&self, answer: impl Future<Output = T>) -> T {
        self.runtime.block_on(answer)
    }

    /// A plain connection of the role that serves, without any of our code.
    pub(crate) fn plain_client(&self) -> Client {
        self.wait(async {
            let url = self.database.url("twining_app");
            let (client, connection) =
                tokio_postgres::connect(&url, NoTls).await.expect("connects");
            tokio::spawn(connection);
            client
        })
    }

    pub(crate) fn sql(&self, sql: &str) -> String {
        self.server.sql(&self.database.name, sql)
    }

    /// A line with one entry.
    pub(crate) fn line(&self, summary: &str) -> NewLine {
        let change = Change::of_entries(vec![records::entry(&self.ids, summary)]);
        NewLine { key: self.ids.next(), change }
    }

    fn connect(&self, user: &str) -> Database {
        self.wait(Database::connect(&self.database.url(user))).expect("connects")
    }
}

pub(crate) fn runtime() -> Runtime {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime")
}
