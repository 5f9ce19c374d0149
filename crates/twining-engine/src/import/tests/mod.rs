//! Imports of other tools' files into our records.

mod texts;

use serde_json::Value;
use twining_model::{Alternative, DecisionStatus, Trust};

use super::reader::{ImportSource, ImportedFile};
use super::{ImportCounts, ImportMode, ImportOutcome};
use crate::testing::{Project, caller, choice};
use crate::{DecideInput, ExportInput};

fn file(name: &str, text: &str) -> ImportedFile {
    ImportedFile { name: name.to_owned(), text: text.to_owned() }
}

fn import(project: &Project, source: ImportSource, files: &[ImportedFile]) -> ImportOutcome {
    project.engine.import(&caller("importer"), source, files, ImportMode::Import).expect("imports")
}

fn new(n: u64) -> ImportCounts {
    ImportCounts { new: n, ..ImportCounts::default() }
}

fn known(n: u64) -> ImportCounts {
    ImportCounts { known: n, ..ImportCounts::default() }
}

/// Imports twice; the second time must change no file.
fn twice(project: &Project, source: ImportSource, files: &[ImportedFile]) -> ImportOutcome {
    let before =
        project.engine.import(&caller("importer"), source, files, ImportMode::Try).expect("tries");
    let empty = project.engine.status().expect("tells");
    let first = import(project, source, files);
    assert_eq!(
        (before.decisions, before.entries, before.entities, before.relations),
        (first.decisions, first.entries, first.entities, first.relations)
    );
    let after = project.engine.status().expect("tells");
    assert_eq!(
        empty.active_decisions
            + empty.provisional_decisions
            + empty.superseded_decisions
            + empty.overridden_decisions
            + first.decisions.new,
        after.active_decisions
            + after.provisional_decisions
            + after.superseded_decisions
            + after.overridden_decisions
    );
    let second = import(project, source, files);
    for (one, two) in [
        (first.decisions, second.decisions),
        (first.entries, second.entries),
        (first.entities, second.entities),
        (first.relations, second.relations),
    ] {
        assert_eq!(
            (two.new, two.completed, two.known),
            (0, 0, one.new + one.known + one.completed),
            "importing twice is importing once"
        );
    }
    assert_eq!(
        project.engine.status().expect("tells").blackboard_entries,
        after.blackboard_entries,
        "nor is it told twice"
    );
    first
}

#[test]
fn nygards_records_become_decisions_with_their_links() {
    let project = Project::new();
    let outcome = twice(
        &project,
        ImportSource::Adr,
        &[
            file("0001-use-rest.md", texts::NYGARD),
            file("0002-use-grpc.md", texts::NYGARD_2),
            file("README.md", "# Decisions\n\nA list.\n"),
        ],
    );
    assert_eq!(outcome.decisions, new(2));
    assert_eq!(
        (outcome.unread.len(), outcome.unread[0].file.as_str(), outcome.unread[0].line),
        (1, "README.md", Some(1))
    );
    let found = project.decisions();
    let rest = found.iter().find(|decision| decision.summary == "Use REST").expect("is there");
    let grpc = found
        .iter()
        .find(|decision| decision.summary == "Use gRPC between services")
        .expect("is there");
    assert_eq!((rest.status, grpc.status), (DecisionStatus::Superseded, DecisionStatus::Active));
    assert_eq!(rest.superseded_by.as_deref(), Some(grpc.id.as_str()));
    assert_eq!(rest.timestamp, "2020-03-01T00:00:00.000Z");
    assert!(
        rest.context.contains("Clients differ")
            && rest.rationale.contains("Consequences:\nEverybody knows it."),
        "{rest:?}"
    );
    assert!(
        rest.context.contains("## Notes\n\nSee the wiki."),
        "what has no field of its own is not lost: {rest:?}"
    );
    assert_eq!(rest.origin.as_ref().map(|origin| origin.trust), Some(Trust::Imported));
    let why = project
        .engine
        .why(&crate::WhyInput { scope: Some("project".into()), ..Default::default() })
        .expect("tells");
    assert!(!why.contested, "records about different questions are no rivals");
}

#[test]
fn madr_records_bring_their_options() {
    let project = Project::new();
    assert_eq!(
        twice(&project, ImportSource::Adr, &[file("0003-database.md", texts::MADR)]).decisions,
        new(1)
    );
    let [decision] = &project.decisions()[..] else { panic!("one") };
    assert_eq!(decision.summary, "Choose a database: PostgreSQL");
    assert_eq!(
        (decision.status, decision.agent_id.as_str()),
        (DecisionStatus::Provisional, "Ada, Bob")
    );
    assert_eq!(decision.constraints, ["must run on our own machines", "transactions"]);
    let [mongo, sqlite] = &decision.alternatives[..] else {
        panic!("two: {:?}", decision.alternatives)
    };
    assert_eq!(
        (mongo.option.as_str(), mongo.pros.as_slice(), mongo.cons.as_slice()),
        ("MongoDB", &["no schema".to_owned()][..], &["no joins".to_owned()][..])
    );
    assert_eq!(
        (sqlite.option.as_str(), sqlite.reason_rejected.as_str()),
        ("SQLite", "another option was chosen")
    );
    assert!(
        decision.rationale.starts_with("it does it all")
            && decision.rationale.contains("more memory"),
        "{}",
        decision.rationale
    );
}

#[test]
fn nothing_of_a_record_is_lost() {
    let project = Project::new();
    let nygard = "# 7. Short\n\nPREAMBLE text\n\n## Status\n\nAccepted, only until Q3 REASON\n\n## Context\n\nc\n\n## Decision\n\nd\n";
    let madr = "---\ntags:\n  - FRONT\n---\n# Base\n\n* Status: accepted\n* Tags: TAGGED, two\n* Date: 2024-05-06\n\n## Considered Options\n\n\
        * One\n* Two\n\n## Decision Outcome\n\nChosen option: \"One\", because simple.\n\n## Pros and Cons of the Options\n\n### One\n\n\
        * Good, because CHOSENPRO\n\n### Two\n\nUNDER the option.\n\n* Good, because fast\n* Bad, because old\n\n## Status quo\n\nQUO\n";
    let title = format!("# {} TAIL\n\n## Decision\n\nd\n", "word ".repeat(60).trim());
    let files = [file("0007.md", nygard), file("0008.md", madr), file("0009.md", &title)];
    let outcome = twice(&project, ImportSource::Adr, &files);
    assert_eq!((outcome.decisions, outcome.unread.len()), (new(3), 0));
    let all = project.decisions();
    let context = |summary: &str| {
        let found = all.iter().find(|decision| decision.summary.starts_with(summary));
        found
            .map(|decision| decision.context.clone())
            .unwrap_or_else(|| panic!("{summary} is there: {all:?}"))
    };
    assert_eq!(context("Short"), format!("c\n\n{}", nygard.trim()), "the part, then the whole");
    assert_eq!(context("Base"), madr.trim());
    assert!(context("word").contains("word TAIL"), "a title that was cut is told whole");
}

#[test]
fn what_is_too_long_or_unknown_is_kept_or_named() {
    let project = Project::new();
    let issue = format!(
        r#"{{"id":"bd-9","title":"{}END","labels":["{}"]}}"#,
        "t".repeat(220),
        "l".repeat(90)
    );
    assert_eq!(twice(&project, ImportSource::Beads, &[file("issues.jsonl", &issue)]).unread, []);
    let detail = project
        .board()
        .into_iter()
        .find(|entry| entry.summary.starts_with("bd-9"))
        .expect("is there")
        .detail;
    assert!(detail.contains("tEND") && detail.contains(&"l".repeat(90)), "{detail}");

    let lines = format!(
        "{}\n{}\n",
        r#"{"type":"entity","name":"Ada","entityType":"person","observations":["x"],"mood":"glad","since":1999}"#,
        format_args!(
            r#"{{"type":"entity","name":"{}","entityType":"person","observations":[]}}"#,
            "n".repeat(1100)
        )
    );
    let outcome = twice(&project, ImportSource::MemoryJsonl, &[file("memory.jsonl", &lines)]);
    assert_eq!(
        outcome.unread.iter().map(|unread| unread.line).collect::<Vec<_>>(),
        [Some(2)],
        "{:?}",
        outcome.unread
    );
    let ada = project.entities().into_iter().find(|entity| entity.name == "Ada").expect("is there");
    assert_eq!(
        (ada.properties["mood"].as_str(), ada.properties["since"].as_str()),
        ("glad", "1999")
    );
}

#[test]
fn what_we_export_as_madr_comes_back_as_the_same_decisions() {
    let project = Project::new();
    let alternative = Alternative {
        option: "a --> <b>".into(),
        pros: vec!["x".into()],
        cons: vec![],
        reason_rejected: "y".into(),
    };
    let first = project.decide(&DecideInput {
        alternatives: vec![alternative],
        affected_files: vec!["src/a.rs".into()],
        constraints: vec!["none -- really".into()],
        rationale: "because\n\n## Not a heading\n--> <script>".into(),
        ..choice("architecture", "src/", "use \u{202e} <b>bold</b> & [links](x)")
    });
    project.decide(&DecideInput {
        supersedes: Some(first.id.to_string()),
        ..choice("architecture", "src/", "use something else")
    });
    let outcome = project
        .engine
        .export(&ExportInput { format: Some("madr".into()), ..ExportInput::default() })
        .expect("exports");
    let files: Vec<ImportedFile> =
        outcome.files.iter().map(|made| file(&made.name, &made.content)).collect();

    assert_eq!(
        import(&project, ImportSource::Adr, &files).decisions,
        known(2),
        "into the same memory nothing comes"
    );
    let other = Project::new();
    let mut with_contents: Vec<ImportedFile> =
        outcome.files.iter().map(|made| file(&made.name, &made.content)).collect();
    with_contents.push(file("index.md", &outcome.content));
    let shown = twice(&other, ImportSource::Adr, &with_contents);
    assert_eq!(
        (shown.decisions, shown.unread.len()),
        (new(2), 1),
        "a table of contents holds no decision"
    );
    let bare = |project: &Project| {
        let mut all = project.decisions();
        all.iter_mut().for_each(|decision| decision.origin = None);
        all.sort_by(|a, b| a.id.cmp(&b.id));
        all
    };
    assert_eq!(bare(&project), bare(&other));
    assert!(other.decisions().iter().all(|decision| {
        decision.origin.as_ref().map(|origin| origin.trust) == Some(Trust::Imported)
    }));

    let edited = files[0].text.replace("use something else", "use something simpler");
    let third = Project::new();
    import(&third, ImportSource::Adr, &[file("0001.md", &edited)]);
    assert_eq!(
        third.decisions()[0].summary,
        "use something simpler",
        "what a person edited counts"
    );
}

#[test]
fn a_memory_servers_graph_becomes_ours() {
    let project = Project::new();
    project.add_entity("auth", "module");
    let outcome = twice(
        &project,
        ImportSource::MemoryJsonl,
        &[file("memory.jsonl", &texts::MEMORY.replace("LONG", &"x".repeat(2000)))],
    );
    assert_eq!(
        (outcome.entities.new, outcome.entities.completed, outcome.relations),
        (2, 1, new(2)),
        "{outcome:?}"
    );
    let lines: Vec<Option<u64>> = outcome.unread.iter().map(|unread| unread.line).collect();
    assert_eq!(lines, [Some(3), Some(6), Some(7)], "{:?}", outcome.unread);
    assert_eq!(outcome.entries, new(1), "the observation that is too long for a property");
    let ada = project.entities().into_iter().find(|entity| entity.name == "Ada").expect("is there");
    assert_eq!(
        (
            ada.kind.as_str(),
            ada.properties["entity_type"].as_str(),
            ada.properties["observation_1"].as_str()
        ),
        ("concept", "person", "likes tests")
    );
}

#[test]
fn issues_of_beads_become_needs_and_findings() {
    let project = Project::new();
    let outcome = twice(&project, ImportSource::Beads, &[file("issues.jsonl", texts::BEADS)]);
    assert_eq!(outcome.entries, new(2));
    assert_eq!(
        outcome.unread.iter().map(|unread| unread.line).collect::<Vec<_>>(),
        [Some(2), Some(3)],
        "{:?}",
        outcome.unread
    );
    let board = project.board();
    let open = board.iter().find(|entry| entry.summary.starts_with("bd-1")).expect("is there");
    let closed = board.iter().find(|entry| entry.summary.starts_with("bd-2")).expect("is there");
    assert_eq!((open.entry_type.as_str(), closed.entry_type.as_str()), ("need", "finding"));
    assert_eq!(open.relates_to, std::slice::from_ref(&closed.id));
    assert!(
        open.detail.contains("acceptance_criteria: it works")
            && open.detail.contains("blocks: bd-2"),
        "{}",
        open.detail
    );
    assert_eq!(open.timestamp, "2026-01-02T03:04:05.000Z");
}

#[test]
fn rules_for_agents_are_sorted_and_counted() {
    let project = Project::new();
    let outcome = twice(&project, ImportSource::ClaudeMd, &[file("CLAUDE.md", texts::CLAUDE_MD)]);
    assert_eq!(
        (outcome.decisions, outcome.guards_to_review, outcome.advice),
        (new(2), 2, 3),
        "{outcome:?}"
    );
    let summaries: Vec<String> =
        project.decisions().into_iter().map(|decision| decision.summary).collect();
    assert!(summaries.contains(&"Use pnpm instead of npm.".to_owned()), "{summaries:?}");
    let board = project.board();
    assert!(
        board.iter().any(|entry| entry.tags.contains(&"guard-to-review".to_owned())
            && entry.summary.contains("force-push")),
        "{board:#?}"
    );
    assert!(
        !board.iter().any(|entry| entry.detail.contains("ours")),
        "what `init` wrote is passed over"
    );
    assert!(
        project
            .engine
            .why(&crate::WhyInput { scope: Some("src/".into()), ..Default::default() })
            .is_ok_and(|why| !why.contested)
    );
}

#[test]
fn another_folder_is_merged_by_its_ids() {
    let (here, there) = (Project::new(), Project::new());
    let shared = here.decide(&choice("architecture", "src/", "share it"));
    there.add_entity("auth", "module");
    there.decide(&DecideInput {
        affected_files: vec!["src/b.rs".into()],
        ..choice("testing", "lib/", "only there")
    });
    there.post("finding", "only there");
    here.add_entity("auth", "module");
    let mut files = folder(&there);
    // The same decision, amended on the other side.
    let text =
        std::fs::read_to_string(here.path().join(format!(".twining/decisions/{}.json", shared.id)))
            .expect("reads");
    let mut decision: Value = serde_json::from_str(&text).expect("is JSON");
    decision["commit_hashes"] = serde_json::json!(["abcdef1234"]);
    decision["origin"] = serde_json::json!({"via": "cli", "trust": "human"});
    files.push(file(&format!("decisions/{}.json", shared.id), &decision.to_string()));
    files.push(file("decisions/bad.json", "{"));
    let first = twice(&here, ImportSource::Twining, &files);
    assert_eq!((first.decisions.new, first.decisions.completed), (1, 1), "{first:?}");
    assert_eq!((first.unread.len(), first.unread[0].file.as_str()), (1, "decisions/bad.json"));
    assert_eq!(
        here.entities().iter().filter(|entity| entity.name == "auth").count(),
        1,
        "one name, one entity"
    );
    let all = here.decisions();
    let taken = all.iter().find(|decision| decision.summary == "only there").expect("came");
    assert_eq!(taken.origin.as_ref().map(|origin| origin.trust), Some(Trust::Imported));
    let remaining = all.iter().find(|decision| decision.id == shared.id).expect("stayed");
    assert_eq!(
        (remaining.commit_hashes.as_slice(), remaining.origin.as_ref().map(|origin| origin.trust)),
        (&["abcdef1234".to_owned()][..], Some(Trust::Agent))
    );
}

fn folder(project: &Project) -> Vec<ImportedFile> {
    project.engine.store().housekeep().expect("keeps house");
    let top = project.path().join(".twining");
    let mut files: Vec<ImportedFile> = super::FOLDER_FILES
        .iter()
        .filter_map(|name| Some(file(name, &std::fs::read_to_string(top.join(name)).ok()?)))
        .collect();
    for entry in std::fs::read_dir(top.join("decisions")).expect("lists").flatten() {
        let name = format!("decisions/{}", entry.file_name().to_string_lossy());
        files.push(file(&name, &std::fs::read_to_string(entry.path()).expect("reads")));
    }
    files
}

#[test]
fn no_text_makes_an_import_panic() {
    let hostile = [
        "",
        "\u{0}",
        "---\n---\n",
        "# \n## Decision\n",
        "#",
        "```\n# x\n",
        "{}",
        "[]",
        "{\"type\":\"entity\"}",
        "- never\n  - x\n",
        "Chosen option",
        "# a\n## Decision Outcome\nChosen option: \u{e9}",
        "superseded by ](",
        "> > >",
    ];
    for text in hostile {
        for source in [
            ImportSource::Adr,
            ImportSource::MemoryJsonl,
            ImportSource::Beads,
            ImportSource::ClaudeMd,
        ] {
            drop(super::reader::read(source, &[file("x", text)], twining_model::Time::from_ms(0)));
        }
        for name in
            ["blackboard.jsonl", "graph/entities.json", "graph/relations.json", "decisions/x.json"]
        {
            drop(super::reader::read(
                ImportSource::Twining,
                &[file(name, text)],
                twining_model::Time::from_ms(0),
            ));
        }
    }
}
