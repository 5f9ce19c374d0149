//! Our own records, held against a checkout.

use twining_store::git::Git;

use crate::DecideInput;
use crate::audit::{AuditClass, AuditReport};
use crate::testing::{Project, choice};

fn audit(project: &Project) -> AuditReport {
    let git = Git::at(project.path());
    project.engine.audit_records(project.path(), &git, &|| false).expect("audits").ordered()
}

fn classes(report: &AuditReport) -> Vec<AuditClass> {
    report.findings.iter().map(|finding| finding.class).collect()
}

#[test]
fn a_memory_that_is_in_order_has_no_findings() {
    let project = Project::new();
    project.decide(&choice("storage", "src/db/", "use SQLite for the index"));
    project.post("warning", "the index is slow on network disks");
    let report = audit(&project);
    assert_eq!(classes(&report), [], "{:#?}", report.findings);
    assert!(report.summary.records >= 2);
}

#[test]
fn a_decision_about_a_file_that_is_nowhere_is_unbound_and_one_that_waits_is_left_over() {
    let project = Project::new();
    let named = DecideInput {
        affected_files: vec!["src/never.rs".into()],
        ..choice("storage", "src/db/", "use SQLite for the index")
    };
    let id = project.decide(&named).id;
    project.decide(&choice("storage", "src/db/", "use Postgres for the index"));
    project.clock.advance_days(31);
    let report = audit(&project);
    let unbound = report.findings.iter().find(|one| one.class == AuditClass::Unbound);
    let unbound = unbound.expect("names a missing file");
    assert_eq!(unbound.record.as_deref(), Some(format!("decision:{id}").as_str()));
    assert!(unbound.fix.contains("twining reconsider"), "{}", unbound.fix);
    assert!(classes(&report).contains(&AuditClass::Leftover), "{:#?}", report.findings);
}

#[test]
fn repeated_and_empty_entries_and_missing_files_of_the_graph_are_found() {
    let project = Project::new();
    project.post("warning", "the index is slow on network disks");
    let again = project.post("warning", "The index is slow on  network disks");
    let empty = project.post("finding", "ok");
    project.add_entity("src/never.rs", "file");
    let report = audit(&project);
    assert_eq!(
        classes(&report),
        [AuditClass::Lost, AuditClass::Duplicate, AuditClass::Junk],
        "{:#?}",
        report.findings
    );
    assert_eq!(report.findings[1].record, Some(format!("entry:{again}")));
    assert_eq!(report.findings[2].record, Some(format!("entry:{empty}")));
}

#[test]
fn the_same_in_other_words_is_a_duplicate_unless_a_number_or_a_denial_differs() {
    let project = Project::with_model();
    let first = project.post("finding", "the index is very slow on network disks at night");
    let again = project.post("finding", "the index is really slow on network disks at night");
    project.post("finding", "the index is not slow on network disks at night");
    project.post("finding", "the index is slow on 3 network disks at night");
    project.make_vectors();
    let report = audit(&project);
    assert_eq!(classes(&report), [AuditClass::Duplicate], "{:#?}", report.findings);
    assert_eq!(report.findings[0].record, Some(format!("entry:{again}")));
    assert!(report.findings[0].message.contains(&first), "{:#?}", report.findings);
}
