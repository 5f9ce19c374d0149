//! Tokens: who holds a good one is known, and nobody else.

use std::time::{Duration, Instant};

use twining_model::Id;
use twining_service::{
    AccessRole, Database, Grant, GrantScope, NewToken, PrincipalKind, ServiceError,
};

use crate::service::TestService;

fn new_token(service: &TestService, grants: Vec<Grant>) -> NewToken {
    NewToken {
        tenant: service.tenant.clone(),
        name: "ada".to_owned(),
        kind: PrincipalKind::Agent,
        grants,
        days: 90,
        made_by: "test".to_owned(),
    }
}

fn writer_everywhere() -> Vec<Grant> {
    vec![Grant { repository: GrantScope::All, role: AccessRole::Writer }]
}

fn make(service: &TestService, admin: &Database, token: &NewToken) -> (String, String) {
    service.wait(admin.add_token(token)).expect("makes a token")
}

#[test]
fn a_token_is_known_with_its_tenant_and_its_grants() {
    let Some(service) = TestService::start() else { return };
    let other = Id::read("01M7EB3QWY4C5CPJF6982ZJQ18").expect("an id");
    let grants = vec![
        Grant { repository: GrantScope::All, role: AccessRole::Reader },
        Grant { repository: GrantScope::One(service.repo.clone()), role: AccessRole::Maintainer },
    ];
    let admin = service.admin();
    let (id, text) = make(&service, &admin, &new_token(&service, grants));
    let principal = service.wait(service.node().authenticate(&text)).expect("answers");
    let principal = principal.expect("it is good").principal;
    assert_eq!((principal.token_id.as_str(), principal.name.as_str()), (id.as_str(), "ada"));
    assert_eq!((&principal.tenant, principal.kind), (&service.tenant, PrincipalKind::Agent));
    assert_eq!(principal.role_in(&service.repo), Some(AccessRole::Maintainer));
    assert_eq!(principal.role_in(&other), Some(AccessRole::Reader));
    let rows = service.wait(admin.tokens(&service.tenant)).expect("answers");
    assert_eq!(rows[0].principal, principal);
    assert!(rows[0].used_on.is_some() && rows[0].revoked_at.is_none());
    let secret = text.rsplit('_').next().expect("a secret");
    let dump = service.sql("select string_agg(token::text, ' ') from twining.token");
    assert!(!dump.contains(secret), "the secret is kept nowhere");
}

#[test]
fn t13_what_is_not_the_whole_token_is_nobody() {
    let Some(service) = TestService::start() else { return };
    let admin = service.admin();
    let (id, text) = make(&service, &admin, &new_token(&service, writer_everywhere()));
    let (_, other) = make(&service, &admin, &new_token(&service, writer_everywhere()));
    let node = service.node();
    let is_known = |token: &str| service.wait(node.authenticate(token)).expect("answers").is_some();
    let secret_of = |token: &str| token.rsplit('_').next().map(str::to_owned).expect("a secret");
    let forged = [
        text[..text.len() - 1].to_owned(),
        format!("twn_{id}_"),
        format!("twn_{id}"),
        text.to_lowercase(),
        text.to_uppercase(),
        format!("{text} "),
        format!("{text}{text}"),
        format!("twn_{id}_{}", secret_of(&other)),
        format!("twn_{id}_{}", secret_of(&text).chars().rev().collect::<String>()),
        format!("twn_{}_{}", service.ids.next(), secret_of(&text)),
        format!("twn_{id}_{}", "' or true --".repeat(4)),
        String::new(),
    ];
    // Before the good one is known, and from what is remembered of it.
    for _ in 0..2 {
        for token in &forged {
            assert!(!is_known(token), "{token}");
        }
        assert!(is_known(&text));
    }
}

#[test]
fn t13_an_expired_token_and_one_of_a_closed_tenant_are_nobody() {
    let Some(service) = TestService::start() else { return };
    let admin = service.admin();
    let (id, text) = make(&service, &admin, &new_token(&service, writer_everywhere()));
    let (_, other) = make(&service, &admin, &new_token(&service, writer_everywhere()));
    let node = service.node();
    let is_known = |token: &str| service.wait(node.authenticate(token)).expect("answers").is_some();
    // What is remembered ends with the token.
    let soon = "update twining.token set expires_at = now() + interval '1 second' where id =";
    service.sql(&format!("{soon} '{id}'"));
    assert!(is_known(&text));
    std::thread::sleep(Duration::from_millis(1_100));
    assert!(!is_known(&text));
    service.sql("update twining.tenant set state = 'closed'");
    assert!(!is_known(&other));
}

#[test]
fn t13_a_revoked_token_is_nobody_on_every_node_within_a_second() {
    let Some(service) = TestService::start() else { return };
    let admin = service.admin();
    let (id, text) = make(&service, &admin, &new_token(&service, writer_everywhere()));
    let node = service.node();
    let is_known = || service.wait(node.authenticate(&text)).expect("answers").is_some();
    assert!(is_known());
    // Until it listens, nothing is announced to it.
    std::thread::sleep(Duration::from_millis(300));
    assert!(is_known());
    assert!(service.wait(admin.revoke_token(&id)).expect("revokes"));
    let began = Instant::now();
    while is_known() {
        assert!(began.elapsed() < Duration::from_secs(1), "still known");
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(service.wait(admin.revoke_token(&id)).expect("answers"), "again is no error");
}

#[test]
fn a_token_ends_within_a_year_and_has_a_name() {
    let Some(service) = TestService::start() else { return };
    let admin = service.admin();
    let good = new_token(&service, writer_everywhere());
    let bad = [
        NewToken { days: 0, ..good.clone() },
        NewToken { days: 366, ..good.clone() },
        NewToken { name: " ".to_owned(), ..good.clone() },
        NewToken { name: "a\0b".to_owned(), ..good },
    ];
    for token in bad {
        let added = service.wait(admin.add_token(&token));
        assert!(matches!(added, Err(ServiceError::Invalid(_))), "{added:?}");
    }
}
