//! Stories on small repositories.

use std::fs;
use std::path::Path;

use twining_store::git::Git;

use crate::audit::{
    AuditClass, AuditFinding, AuditReport, AuditRequest, ClaimVerdict, audit_files, edits,
};

struct SmallRepository(tempfile::TempDir);

impl SmallRepository {
    fn new(files: &[(&str, &str)]) -> Self {
        let made = Self(tempfile::tempdir().expect("a temporary directory"));
        made.git(&["init", "-q"]);
        files.iter().for_each(|(path, text)| made.write(path, text));
        made.commit("begin");
        made
    }

    fn root(&self) -> &Path {
        self.0.path()
    }

    fn git(&self, step: &[&str]) {
        assert!(Git::at(self.root()).run_in_throwaway(step).expect("git runs"), "{step:?}");
    }

    fn write(&self, path: &str, text: &str) {
        let file = self.root().join(path);
        fs::create_dir_all(file.parent().expect("has a folder")).expect("makes folders");
        fs::write(file, text).expect("writes");
    }

    fn commit(&self, subject: &str) {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "-m", subject]);
    }

    fn audit_of(&self, named: &[&str]) -> AuditReport {
        let named: Vec<String> = named.iter().map(|name| (*name).to_owned()).collect();
        let request = AuditRequest {
            root: self.root(),
            git: &Git::at(self.root()),
            named: &named,
            files: Vec::new(),
            is_time_up: &|| false,
        };
        audit_files(&request).ordered()
    }

    fn audit(&self) -> AuditReport {
        self.audit_of(&[])
    }

    fn only_finding(&self) -> AuditFinding {
        let report = self.audit();
        assert_eq!(report.findings.len(), 1, "{:#?}", report.findings);
        report.findings.into_iter().next().expect("has one")
    }
}

fn source(name: &str) -> String {
    let lines = (0..30).map(|n| format!("    let {name}_{n} = {n};\n")).collect::<String>();
    format!("fn {name}() {{\n{lines}}}\n")
}

#[test]
fn a_document_that_is_right_has_no_findings() {
    let repository = SmallRepository::new(&[
        ("CLAUDE.md", "See `src/auth.rs` and `hash_password`. Run `npm run lint`.\n"),
        ("src/auth.rs", &source("hash_password")),
        ("package.json", r#"{"scripts":{"lint":"eslint"}}"#),
    ]);
    let report = repository.audit();
    assert_eq!(report.findings, []);
    assert_eq!((report.summary.claims, report.summary.holds), (3, 3));
}

#[test]
fn a_moved_file_is_found_where_it_is_now_after_two_moves() {
    let repository = SmallRepository::new(&[
        ("CLAUDE.md", "Hashing is in `src/hash.rs`.\n"),
        ("src/hash.rs", &source("hash")),
    ]);
    repository.git(&["mv", "src/hash.rs", "src/digest.rs"]);
    repository.commit("one");
    fs::create_dir(repository.root().join("lib")).expect("makes a folder");
    repository.git(&["mv", "src/digest.rs", "lib/digest.rs"]);
    repository.commit("two");
    let finding = repository.only_finding();
    assert_eq!((finding.class, finding.verdict), (AuditClass::Stale, Some(ClaimVerdict::Moved)));
    assert_eq!(finding.to.as_deref(), Some("lib/digest.rs"));
    assert_eq!((finding.file.as_deref(), finding.line), (Some("CLAUDE.md"), Some(1)));
}

#[test]
fn a_folder_that_moved_whole_is_found_and_a_removed_file_names_its_commit() {
    let repository = SmallRepository::new(&[
        ("AGENTS.md", "- `src/auth/` has the login\n- `src/gone.rs` does the rest\n"),
        ("src/auth/one.rs", &source("one")),
        ("src/auth/two.rs", &source("two")),
        ("src/gone.rs", "x"),
    ]);
    repository.git(&["mv", "src/auth", "src/login"]);
    repository.git(&["rm", "-q", "src/gone.rs"]);
    repository.commit("tidy up");
    let report = repository.audit();
    let told: Vec<_> = report.findings.iter().map(|one| (one.verdict, one.to.as_deref())).collect();
    let expected =
        [(Some(ClaimVerdict::Gone), None), (Some(ClaimVerdict::Moved), Some("src/login"))];
    assert_eq!(told, expected, "the worst first");
    let head = Git::at(repository.root()).head();
    assert_eq!(report.findings[0].commit, head);
    assert!(report.findings[0].message.contains("tidy up"), "{}", report.findings[0].message);
}

#[test]
fn what_went_before_a_document_was_there_is_no_claim_of_it_whatever_it_was_called() {
    let repository = SmallRepository::new(&[
        ("src/old.rs", &source("old")),
        ("src/new.rs", &source("new")),
        ("RULES.md", "Sums: `src/new.rs`.\n"),
    ]);
    repository.git(&["rm", "-q", "src/old.rs"]);
    repository.commit("drop the old one");
    // An example of a vendored skill, which names what this project once had.
    repository.write(".claude/skills/sum/SKILL.md", "Sums are in `src/old.rs`.\n");
    repository.commit("a skill");
    assert_eq!(repository.audit().findings, []);
    repository.git(&["rm", "-q", "src/new.rs"]);
    repository.commit("drop the new one");
    repository.git(&["mv", "RULES.md", "CLAUDE.md"]);
    repository.commit("the rules are for agents now");
    let finding = repository.only_finding();
    assert_eq!(finding.verdict, Some(ClaimVerdict::Gone));
    assert_eq!(finding.file.as_deref(), Some("CLAUDE.md"));
}

#[test]
fn skills_may_repeat_each_other_and_be_long() {
    let paragraph = "Every change to the database goes through a migration, and every migration is reviewed by two people before it runs.";
    let long = format!("{paragraph}\n\n{}", "x ".repeat(17_000));
    let repository = SmallRepository::new(&[
        (".agents/skills/database/AGENTS.md", &long),
        (".agents/skills/database/SKILL.md", &format!("# Database\n\n{paragraph}\n")),
    ]);
    assert_eq!(repository.audit().findings, []);
}

#[test]
fn a_name_that_left_the_code_is_gone_and_one_that_never_was_there_is_not_reported() {
    let repository = SmallRepository::new(&[
        ("CLAUDE.md", "Call `hash_password`, and perhaps `future_thing` or `madeUpName`.\n"),
        ("src/a.rs", &source("hash_password")),
    ]);
    repository.write("src/a.rs", &source("derive_key"));
    repository.commit("another way");
    let finding = repository.only_finding();
    assert_eq!(finding.claim.as_deref(), Some("hash_password"));
    assert_eq!(finding.verdict, Some(ClaimVerdict::Gone));
    assert_eq!(finding.commit, Git::at(repository.root()).head());
}

#[test]
fn a_name_that_only_other_documents_mention_is_gone_from_the_code() {
    let repository = SmallRepository::new(&[
        ("CLAUDE.md", "Call `hash_password`.\n"),
        ("docs/notes.md", "hash_password was nice\n"),
        ("src/a.rs", &source("hash_password")),
    ]);
    repository.write("src/a.rs", "fn other() {}\n");
    repository.commit("drop it");
    assert_eq!(repository.only_finding().verdict, Some(ClaimVerdict::Gone));
}

#[test]
fn a_script_that_went_is_gone_and_one_that_never_was_is_told_with_the_nearest() {
    let repository = SmallRepository::new(&[
        ("CLAUDE.md", "- `npm run lint`\n- `npm run tets`\n- `pnpm vitest`\n"),
        ("package.json", r#"{"scripts":{"lint":"eslint","test":"vitest"}}"#),
    ]);
    repository.write("package.json", r#"{"scripts":{"test":"vitest"}}"#);
    repository.commit("no lint");
    let report = repository.audit();
    let told: Vec<_> = report
        .findings
        .iter()
        .map(|one| (one.class, one.claim.as_deref().unwrap_or_default()))
        .collect();
    assert_eq!(told, [(AuditClass::Stale, "lint"), (AuditClass::Unbound, "tets")]);
    assert!(report.findings[1].message.contains("`test`"), "{}", report.findings[1].message);
}

#[test]
fn a_broken_link_is_told_and_an_ignored_file_is_not() {
    let repository = SmallRepository::new(&[
        ("CLAUDE.md", "Read [this](docs/nothing.md), and [that](notes/local.md).\n"),
        (".gitignore", "notes/\n"),
    ]);
    let finding = repository.only_finding();
    assert_eq!(
        (finding.class, finding.claim.as_deref()),
        (AuditClass::Unbound, Some("docs/nothing.md"))
    );
}

#[test]
fn a_line_beyond_the_end_of_its_file_is_gone() {
    let repository = SmallRepository::new(&[
        ("CLAUDE.md", "`src/a.rs:3` starts it and `src/a.rs:99` ends it\n"),
        ("src/a.rs", "1\n2\n3\n"),
    ]);
    let finding = repository.only_finding();
    assert_eq!(finding.verdict, Some(ClaimVerdict::Gone));
    assert!(finding.message.contains("3 lines"), "{}", finding.message);
}

#[test]
fn texts_are_looked_at_for_secrets_size_repetition_and_hidden_characters() {
    let paragraph = "Every change to the database goes through a migration, and every migration is reviewed by two people before it runs.";
    let repository = SmallRepository::new(&[
        ("AGENTS.md", &format!("{paragraph}\n\nHello\u{202E}there\n{}", "x ".repeat(17_000))),
        ("CLAUDE.md", &format!("# Rules\n{paragraph}\n\nAWS key AKIAQ3EGRXJ7PLM2ZT5V\n")),
    ]);
    let classes: Vec<_> = repository.audit().findings.iter().map(|one| one.class).collect();
    let expected =
        [AuditClass::Secret, AuditClass::Oversized, AuditClass::Duplicate, AuditClass::Junk];
    assert_eq!(classes, expected);
}

#[test]
fn moved_paths_are_rewritten_alone_and_as_the_document_spells_them() {
    let repository = SmallRepository::new(&[
        ("web/AGENTS.md", "`src/hash.rs`, [here](src/hash.rs) and src/hash.rs.bak stay.\n"),
        ("web/src/hash.rs", &source("hash")),
    ]);
    repository.git(&["mv", "web/src/hash.rs", "web/src/digest.rs"]);
    repository.commit("one");
    let report = repository.audit();
    let read = |file: &str| fs::read_to_string(repository.root().join(file)).ok();
    let edits = edits(&report, read);
    assert_eq!(edits.len(), 1);
    assert_eq!(
        edits[0].after,
        "`src/digest.rs`, [here](src/digest.rs) and src/hash.rs.bak stay.\n"
    );
}

#[test]
fn a_store_that_is_named_is_read_whatever_it_is_called() {
    let repository = SmallRepository::new(&[
        ("CLAUDE.md", "`src/a.rs`\n"),
        ("notes/one.md", "`src/b.rs`\n"),
        ("src/a.rs", "a"),
        ("src/b.rs", "b"),
    ]);
    repository.git(&["rm", "-q", "src/a.rs", "src/b.rs"]);
    repository.commit("drop");
    let report = repository.audit_of(&["notes"]);
    assert_eq!(report.documents, ["notes/one.md"]);
    assert_eq!(report.findings.len(), 1);
}

#[test]
fn an_audit_writes_nothing() {
    let repository = SmallRepository::new(&[("CLAUDE.md", "`src/a.rs`\n"), ("src/a.rs", "a")]);
    repository.git(&["rm", "-q", "src/a.rs"]);
    repository.commit("drop");
    let listing = || {
        let mut names: Vec<_> = fs::read_dir(repository.root())
            .expect("lists")
            .flatten()
            .map(|entry| entry.file_name())
            .collect();
        names.sort();
        names
    };
    let before = listing();
    assert!(!repository.audit().is_clean());
    assert_eq!(listing(), before);
}
