//! TLS to the database, with the modes of libpq.

use twining_service::{Database, ServiceError};
use twining_testkit::{PostgresServer, TestCertificates, TestDatabase};

use crate::service::runtime;

/// A server that answers TLS only, its root's file, and the file of another root.
struct TlsServer {
    server: PostgresServer,
    database: TestDatabase,
    root: String,
    other_root: String,
    _dir: tempfile::TempDir,
}

impl TlsServer {
    fn start() -> Option<Self> {
        let certificates = TestCertificates::for_names(&["localhost"]);
        let server = PostgresServer::start_with_tls(&certificates)?;
        let dir = tempfile::tempdir().expect("a temporary directory");
        let file = |name: &str, text: &str| {
            let path = dir.path().join(name);
            std::fs::write(&path, text).expect("writes");
            path.display().to_string()
        };
        let root = file("root.pem", &certificates.root);
        let other_root = file("other.pem", &TestCertificates::for_names(&["localhost"]).root);
        let database = server.database();
        Some(Self { server, database, root, other_root, _dir: dir })
    }

    fn connect(&self, host: &str, words: &str) -> Result<(), ServiceError> {
        let url = format!("{}?{words}", self.database.tls_url(host, "postgres"));
        runtime().block_on(async { Database::connect(&url).await.map(drop) })
    }
}

fn is_unreachable(outcome: &Result<(), ServiceError>, why: &str) -> bool {
    matches!(outcome, Err(ServiceError::Unreachable(said)) if said.contains(why))
}

#[test]
fn every_connection_of_a_node_is_under_tls() {
    let Some(tls) = TlsServer::start() else { return };
    let url = format!(
        "{}?sslmode=verify-full&sslrootcert={}",
        tls.database.tls_url("localhost", "postgres"),
        tls.root
    );
    let runtime = runtime();
    let database = runtime.block_on(async {
        let database = Database::connect(&url).await.expect("connects");
        database.migrate().await.expect("migrates");
        let tenant = database.add_tenant("acme").await.expect("a tenant").id;
        let repo = database.add_repository(&tenant, "shop").await.expect("a repository").id;
        // Starts the connections that tell and listen.
        let _watch = database.watch_head(&repo);
        database.ping().await.expect("answers");
        tokio::time::sleep(std::time::Duration::from_millis(300)).await;
        database
    });
    let open = tls.server.sql(
        "postgres",
        "select count(*) >= 2 and bool_and(ssl) from pg_stat_ssl join pg_stat_activity using (pid) where application_name = 'twining'",
    );
    assert_eq!(open, "t");
    drop(database);
}

#[test]
fn require_takes_any_certificate_and_a_named_root_is_checked() {
    let Some(tls) = TlsServer::start() else { return };
    tls.connect("127.0.0.1", "sslmode=require").expect("any certificate will do");
    tls.connect("127.0.0.1", "sslmode=prefer").expect("it is offered");
    let root = |file: &str| format!("sslmode=require&sslrootcert={file}");
    tls.connect("127.0.0.1", &root(&tls.root)).expect("its issuer is trusted");
    let other = tls.connect("127.0.0.1", &root(&tls.other_root));
    assert!(is_unreachable(&other, "invalid peer certificate"), "{other:?}");
    let plain = tls.connect("127.0.0.1", "sslmode=disable");
    assert!(matches!(plain, Err(ServiceError::Database(_))), "the server wants TLS: {plain:?}");
}

#[test]
fn verify_ca_checks_the_issuer_and_verify_full_the_name_too() {
    let Some(tls) = TlsServer::start() else { return };
    let words = |mode: &str, file: &str| format!("sslmode={mode}&sslrootcert={file}");
    tls.connect("localhost", &words("verify-full", &tls.root)).expect("issuer and name are good");
    tls.connect("127.0.0.1", &words("verify-ca", &tls.root)).expect("the name does not count");
    let name = tls.connect("127.0.0.1", &words("verify-full", &tls.root));
    assert!(is_unreachable(&name, "not valid for"), "{name:?}");
    for mode in ["verify-ca", "verify-full"] {
        let other = tls.connect("localhost", &words(mode, &tls.other_root));
        assert!(is_unreachable(&other, "invalid peer certificate"), "{mode}: {other:?}");
    }
}

#[test]
fn words_that_cannot_be_kept_are_refused_before_anything_is_sent() {
    let nowhere = "postgresql://postgres@192.0.2.1/x";
    for words in [
        "sslmode=verify-full",
        "sslmode=verify-ca",
        "sslmode=allow",
        "sslmode=verify-full&sslrootcert=system",
        "sslmode=verify-full&sslrootcert=/nowhere/root.pem",
    ] {
        let outcome = runtime().block_on(Database::connect(&format!("{nowhere}?{words}")));
        assert!(matches!(outcome, Err(ServiceError::Settings(_))), "{words}: {outcome:?}");
    }
}

#[test]
fn a_unix_socket_has_no_tls_whatever_the_mode() {
    let Some(server) = PostgresServer::start(twining_testkit::Flushing::Off) else { return };
    let url = format!("{} sslmode=require", server.database().url("postgres"));
    runtime().block_on(async { Database::connect(&url).await.map(drop) }).expect("connects");
}
