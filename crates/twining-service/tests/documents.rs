//! Documents are replaced by who knew their last version; the audit only grows.

use twining_service::{AuditEntry, DocRow};

use crate::service::TestService;

#[test]
fn of_two_who_replace_a_document_one_is_told_to_look_again() {
    let Some(service) = TestService::start() else { return };
    let (node, tenant, repo) = (service.node(), &service.tenant, &service.repo);
    let doc = |version, body: &str| DocRow { version, by: "ada".to_owned(), body: body.to_owned() };
    let replace = |doc: &DocRow| {
        service.wait(node.replace_doc(tenant, repo, "claims", doc)).expect("answers")
    };
    let read = || service.wait(node.read_doc(tenant, repo, "claims")).expect("answers");
    assert_eq!(read(), None);
    assert_eq!(replace(&doc(7, "of nothing")), None);
    assert_eq!(replace(&doc(0, "one")), Some(1));
    assert_eq!(replace(&doc(0, "also first")), None);
    assert_eq!(replace(&doc(1, "two")), Some(2));
    assert_eq!(replace(&doc(1, "late")), None);
    assert_eq!(read(), Some(doc(2, "two")));
}

#[test]
fn the_audit_is_written_by_who_serves_and_read_by_who_runs_it() {
    let Some(service) = TestService::start() else { return };
    let (rival, _) = service.another_tenant();
    let entry = |tenant: &twining_model::Id, act: &str| AuditEntry {
        tenant: tenant.clone(),
        by: "ada".to_owned(),
        via: "http".to_owned(),
        act: act.to_owned(),
        target: "01M7EB3QWY4C5CPJF6982ZJQ18".to_owned(),
        outcome: "ok".to_owned(),
    };
    let node = service.node();
    let acts =
        [entry(&service.tenant, "override"), entry(&rival, "x"), entry(&service.tenant, "y")];
    for act in &acts {
        service.wait(node.audit(act)).expect("is put on record");
    }
    let rows = service.wait(service.admin().read_audit(&service.tenant, 0, 10)).expect("reads");
    let read: Vec<&AuditEntry> = rows.iter().map(|row| &row.entry).collect();
    assert_eq!(read, [&acts[0], &acts[2]]);
    let after = service.wait(service.admin().read_audit(&service.tenant, rows[0].number, 10));
    assert_eq!(after.expect("reads"), rows[1..]);
    assert!(service.wait(node.read_audit(&rival, 0, 10)).is_err());
}
