//! Tenants see nothing of each other, by row security and by our code, each without the other.

use twining_service::ServiceError;
use twining_store::{Log, LogBase, LogError};

use crate::service::TestService;

#[test]
fn t7_without_our_code_row_security_shows_and_takes_rows_of_the_named_tenant_only() {
    let Some(service) = TestService::start() else { return };
    let (rival, rival_repo) = service.another_tenant();
    let log = service.node().log(&service.tenant, &service.repo);
    log.append(LogBase::Any, &[service.line("a secret of acme")]).expect("appends");
    let client = service.plain_client();
    service.wait(async {
        // Statements that forget the tenant.
        client.batch_execute("begin").await.expect("begins");
        let named = "select set_config('twining.tenant', $1, true)";
        client.execute(named, &[&rival.as_str()]).await.expect("names the rival");
        for table in ["log", "doc", "repo", "tenant"] {
            let sql = format!("select count(*) from twining.{table}");
            let seen: i64 = client.query_one(&sql, &[]).await.expect("answers").get(0);
            let own = i64::from(matches!(table, "repo" | "tenant"));
            assert_eq!(seen, own, "{table}");
        }
        let moved = client.execute("update twining.repo set head = 99", &[]).await;
        assert_eq!(moved.expect("updates"), 1, "its own repository only");
        let forged = "insert into twining.log (tenant, repo, seq, key, by, v, planned, sum, body)
             values ($1, $2, 7, 'k', 'me', 1, false, '', '{}')";
        let (tenant, repo) = (service.tenant.as_str(), service.repo.as_str());
        let forged = client.execute(forged, &[&tenant, &repo]).await;
        let code = forged.expect_err("another tenant's row").code().cloned();
        assert_eq!(code.expect("the server refused").code(), "42501");
        client.batch_execute("rollback").await.expect("rolls back");
    });
    assert_eq!(service.sql("select count(*) from twining.log"), "1");
    assert_eq!(service.wait(service.node().head(&rival, &rival_repo)).expect("a head"), 0);
    let node = service.node();
    let found = |tenant| service.wait(node.find_repository(tenant, ("acme", "shop")));
    assert_eq!(found(&rival).expect("answers"), None, "the address of another tenant");
    assert!(found(&service.tenant).expect("answers").is_some());
}

#[test]
fn t7_without_row_security_our_code_shows_and_takes_lines_of_its_tenant_only() {
    let Some(service) = TestService::start() else { return };
    let (rival, rival_repo) = service.another_tenant();
    let node = service.node();
    let log = node.log(&service.tenant, &service.repo);
    log.append(LogBase::Any, &[service.line("a secret of acme")]).expect("appends");
    for table in ["tenant", "repo", "log", "doc", "token", "audit"] {
        service.sql(&format!("alter table twining.{table} disable row level security"));
    }
    // The rival names acme's repository as its own.
    let crossed = node.log(&rival, &service.repo);
    assert_eq!(crossed.since(0, 10), Ok(Vec::new()));
    let appended = crossed.append(LogBase::Any, &[service.line("x")]);
    assert!(matches!(appended, Err(LogError::Refused(_))), "{appended:?}");
    let head = service.wait(node.head(&rival, &service.repo));
    assert!(matches!(head, Err(ServiceError::NotFound { .. })), "{head:?}");
    let doc = service.wait(node.read_doc(&rival, &service.repo, "claims"));
    assert_eq!(doc.expect("answers"), None);
    assert_eq!(node.log(&rival, &rival_repo).since(0, 10), Ok(Vec::new()));
}

#[test]
fn t6_a_key_of_another_tenant_has_no_relation() {
    let Some(service) = TestService::start() else { return };
    let (rival, rival_repo) = service.another_tenant();
    let node = service.node();
    let line = service.line("x");
    for _ in 0..3 {
        let post = node.log(&service.tenant, &service.repo);
        post.append(LogBase::Any, &[service.line("before")]).expect("appends");
    }
    let own = node.log(&service.tenant, &service.repo);
    assert_eq!(own.append(LogBase::Any, std::slice::from_ref(&line)), Ok(vec![4]));
    let of_rival = node.log(&rival, &rival_repo);
    assert_eq!(of_rival.numbers_of(std::slice::from_ref(&line.key)), Ok(vec![None]));
    assert_eq!(of_rival.append(LogBase::Any, &[line]), Ok(vec![1]));
}

#[test]
fn t9_a_connection_keeps_no_tenant_after_its_transaction() {
    let Some(service) = TestService::start() else { return };
    let log = service.node().log(&service.tenant, &service.repo);
    log.append(LogBase::Any, &[service.line("x")]).expect("appends");
    let client = service.plain_client();
    service.wait(async {
        let count = "select count(*) from twining.log";
        client.query_one(count, &[]).await.expect_err("no tenant was ever named");
        let named = "select set_config('twining.tenant', $1, true)";
        client.batch_execute("begin").await.expect("begins");
        client.execute(named, &[&service.tenant.as_str()]).await.expect("names it");
        assert_eq!(client.query_one(count, &[]).await.expect("answers").get::<_, i64>(0), 1);
        client.query_one("select 1 / 0", &[]).await.expect_err("fails half-way");
        client.batch_execute("commit").await.expect("ends");
        // Named before, ended: nothing is seen, and nothing can be written.
        assert_eq!(client.query_one(count, &[]).await.expect("answers").get::<_, i64>(0), 0);
        let written = "insert into twining.audit (tenant, by, via, act, target, outcome)
            values ($1, '', '', '', '', '')";
        client.execute(written, &[&service.tenant.as_str()]).await.expect_err("no tenant");
    });
}

#[test]
fn t10_the_serving_role_cannot_change_schema_log_audit_or_itself() {
    let Some(service) = TestService::start() else { return };
    let log = service.node().log(&service.tenant, &service.repo);
    log.append(LogBase::Any, &[service.line("x")]).expect("appends");
    let client = service.plain_client();
    let attacks = [
        "update twining.log set body = '{}'",
        "delete from twining.log",
        "truncate twining.log",
        "select * from twining.log_0",
        "update twining.audit set by = 'nobody'",
        "delete from twining.audit",
        "select * from twining.audit",
        "select * from twining.token",
        "insert into twining.token select * from twining.token",
        "select * from twining.issuer",
        "insert into twining.issuer select * from twining.issuer",
        "update twining.repo set byte_limit = 1 << 40",
        "update twining.repo set byte_share = 1 << 40",
        "update twining.tenant set total_bytes = null",
        "update twining.tenant set seal_key = sha256('')",
        "insert into twining.tenant (id, name) values ('01M7EB3QWY4C5CPJF6982ZJQ18', 'mine')",
        "insert into twining.migration values (3, 'mine', '')",
        "create table twining.mine (x int)",
        "create schema mine",
        "alter table twining.log disable row level security",
        "drop policy of_tenant on twining.log",
        "drop table twining.audit",
        "alter role twining_app bypassrls",
        "alter role twining_app superuser",
        "set role twining_owner",
        "set role postgres",
        "set session authorization postgres",
        "create function twining.find_token(text) returns int language sql as 'select 1'",
        "copy twining.log to program 'id'",
    ];
    service.wait(async {
        for attack in attacks {
            let named = "begin; select set_config('twining.tenant', 'x', true)";
            client.batch_execute(named).await.expect("names a tenant");
            let outcome = client.batch_execute(attack).await;
            assert!(outcome.is_err(), "{attack}");
            client.batch_execute("rollback").await.expect("rolls back");
        }
    });
}
