//! Our own records, held against a checkout.

use twining_store::git::Git;

use crate::audit::{AuditClass, AuditReport};
use crate::testing::{Project, caller, choice};
use crate::{AddEntityInput, DecideInput};

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
    // Doubt would leave the name where it is.
    assert!(unbound.fix.contains(&format!("twining reanchor {id} --to")), "{}", unbound.fix);
    assert!(unbound.fix.contains(&format!("twining override {id}")), "{}", unbound.fix);
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
    let denied = project.post("finding", "the index is not slow on network disks at night");
    project.post("finding", "the index is slow on 3 network disks at night");
    project.make_vectors();
    let report = audit(&project);
    let expected = [AuditClass::Contradictory, AuditClass::Duplicate];
    assert_eq!(classes(&report), expected, "{:#?}", report.findings);
    assert_eq!(report.findings[0].record, Some(format!("entry:{denied}")));
    assert_eq!(report.findings[1].record, Some(format!("entry:{again}")));
    assert!(report.findings[1].message.contains(&first), "{:#?}", report.findings);
}

#[test]
fn code_of_the_graph_whose_file_is_not_there_is_lost() {
    let project = Project::new();
    std::fs::create_dir(project.path().join("src")).expect("makes a folder");
    std::fs::write(project.path().join("src/here.rs"), "pub struct Here;\n").expect("writes");
    let add = |name: &str, kind: &str, file: Option<&str>| {
        let properties =
            file.map(|file| ("file".to_owned(), file.to_owned())).into_iter().collect();
        let entity = AddEntityInput {
            name: name.to_owned(),
            kind: kind.to_owned(),
            properties,
            ..AddEntityInput::default()
        };
        project.engine.add_entity(&caller("ada"), &entity).expect("adds").id
    };
    add("Here", "class", Some("src/here.rs"));
    add("Anywhere", "class", None);
    add("src/idea.rs", "concept", None);
    let class = add("Session", "class", Some("src/gone.rs"));
    let function = add("src/gone.rs#login", "function", None);
    let report = audit(&project);
    let mut lost: Vec<&str> =
        report.findings.iter().filter_map(|finding| finding.record.as_deref()).collect();
    lost.sort_unstable();
    let mut expected = [format!("entity:{class}"), format!("entity:{function}")];
    expected.sort_unstable();
    assert_eq!(lost, expected, "{:#?}", report.findings);
}

#[test]
fn decisions_that_say_nothing_or_too_much_are_found_too() {
    let project = Project::new();
    let hollow = DecideInput { rationale: "ok".into(), ..choice("storage", "src/db/", "yes") };
    let hollow = project.decide(&hollow).id;
    let why = "a reason that goes on and on ".repeat(700);
    let long = DecideInput { rationale: why, ..choice("api", "src/api/", "use plain HTTP") };
    let long = project.decide(&long).id;
    let report = audit(&project);
    let found: Vec<(AuditClass, Option<&str>)> =
        report.findings.iter().map(|finding| (finding.class, finding.record.as_deref())).collect();
    let (hollow, long) = (format!("decision:{hollow}"), format!("decision:{long}"));
    let expected =
        [(AuditClass::Oversized, Some(long.as_str())), (AuditClass::Junk, Some(hollow.as_str()))];
    assert_eq!(found, expected, "{:#?}", report.findings);
}
