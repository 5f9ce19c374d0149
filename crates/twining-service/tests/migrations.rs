//! The schema: made once, by whoever comes first, and known again.

use twining_service::{Database, ServiceError};
use twining_testkit::{Flushing, PostgresServer};

use crate::service::{TestService, runtime};

#[test]
fn three_who_migrate_at_once_make_one_schema() {
    let Some(server) = PostgresServer::start(Flushing::Off) else { return };
    let url = server.database().url("postgres");
    let runtime = runtime();
    let migrate = || async {
        Database::connect(&url).await.expect("connects").migrate().await.expect("migrates").len()
    };
    let done = runtime.block_on(async { tokio::join!(migrate(), migrate(), migrate()) });
    let mut done = [done.0, done.1, done.2];
    done.sort_unstable();
    let steps = server.sql("test0", "select count(*) from twining.migration");
    assert_eq!(done.map(|done| done.to_string()), ["0", "0", steps.as_str()]);
}

#[test]
fn a_database_without_our_schema_says_what_to_run() {
    let Some(server) = PostgresServer::start(Flushing::Off) else { return };
    let url = server.database().url("postgres");
    let checked = runtime().block_on(async {
        Database::connect(&url).await.expect("connects").check_migrations().await
    });
    let Err(ServiceError::Schema(what)) = checked else { panic!("{checked:?}") };
    assert!(what.contains("twining serve migrate"), "{what}");
}

#[test]
fn a_step_with_another_text_is_noticed() {
    let Some(service) = TestService::start() else { return };
    let node = service.node();
    service.wait(node.check_migrations()).expect("the schema is ours");
    service.sql("insert into twining.migration values (9999, 'of a newer program', '')");
    service.wait(node.check_migrations()).expect("a newer one can be used");
    service.sql("update twining.migration set sum = 'x' where number = 1");
    assert!(matches!(service.wait(node.check_migrations()), Err(ServiceError::Schema(_))));
    assert!(matches!(service.wait(service.admin().migrate()), Err(ServiceError::Schema(_))));
}

#[test]
fn who_serves_cannot_administer_and_a_superuser_is_known_as_one() {
    let Some(service) = TestService::start() else { return };
    let node = service.node();
    let added = service.wait(node.add_tenant("mine"));
    assert!(matches!(added, Err(ServiceError::Settings(_))), "{added:?}");
    assert!(!service.wait(node.has_excess_rights()).expect("answers"));
    assert!(service.wait(service.admin().has_excess_rights()).expect("answers"));
    service.sql("create role twining_node login in role twining_app");
    let url = service.database.url("twining_node");
    let member = service.wait(Database::connect(&url)).expect("connects");
    service.wait(member.check_migrations()).expect("acts as the serving role");
    assert!(!service.wait(member.has_excess_rights()).expect("answers"));
}

#[test]
fn names_are_checked_and_taken_once() {
    let Some(service) = TestService::start() else { return };
    let admin = service.admin();
    for name in ["", "-a", "A", "a b", "a/b", "..", "a'; drop table twining.repo; --", "ä"] {
        let added = service.wait(admin.add_repository(&service.tenant, name));
        assert!(matches!(added, Err(ServiceError::Invalid(_))), "{name}: {added:?}");
    }
    let again = service.wait(admin.add_repository(&service.tenant, "shop"));
    assert!(matches!(again, Err(ServiceError::Exists { .. })), "{again:?}");
    let node = service.node();
    let find = |tenant: &str, repo: &str| {
        service.wait(node.find_repository(&service.tenant, (tenant, repo))).expect("answers")
    };
    let found = find("acme", "shop");
    assert_eq!(found.map(|repo| repo.id), Some(service.repo.clone()));
    for (tenant, repo) in [("acme", "shops"), ("acm", "shop"), ("acme", "' or true --")] {
        assert_eq!(find(tenant, repo), None);
    }
}
