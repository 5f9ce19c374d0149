//! `audit` as people and machines run it: every class in a prepared repository, what is kept, what
//! `--fix` writes and when, and a repository that never heard of us.

use std::collections::BTreeSet;

use serde_json::Value;
use twining_testcases::each;

use crate::anchors::{HASH, Shop};
use crate::common::repository::Repository;
use crate::common::terminal::typed_at_terminal;

fn audited(repository: &Repository) -> Value {
    let ran = repository.run(&["audit", "--json"]);
    let report: Value = serde_json::from_str(&ran.stdout).expect("prints JSON");
    let is_clean = report["findings"].as_array().expect("a list").is_empty();
    assert_eq!(ran.code, if is_clean { 0 } else { 3 }, "{ran:?}");
    report
}

/// `class record` of each finding about a record, `class file` of each about a file.
fn found(report: &Value) -> Vec<String> {
    let findings = report["findings"].as_array().expect("a list").iter();
    let word = |value: &Value| value.as_str().map(str::to_owned);
    findings
        .map(|finding| {
            let subject = word(&finding["record"]).or_else(|| word(&finding["file"]));
            format!(
                "{} {}",
                finding["class"].as_str().expect("a class"),
                subject.unwrap_or_default()
            )
        })
        .collect()
}

fn decide(shop: &Shop, summary: &str, scope: &str) -> String {
    let words = [
        "decide",
        summary,
        "--why",
        "measured",
        "--domain",
        "hashing",
        "--scope",
        scope,
        "--affected-files",
        "src/hash.rs",
        "--affected-symbols",
        "verify",
    ];
    shop.repository.told(&words)["id"].as_str().expect("has an id").to_owned()
}

fn post(shop: &Shop, summary: &str) -> String {
    let posted = shop.repository.told(&["post", "finding", summary, "--scope", "src/hash.rs"]);
    posted["id"].as_str().expect("has an id").to_owned()
}

/// A repository with something of every class; what each finding is about.
fn prepared() -> (Shop, Vec<String>) {
    let shop = Shop::new();
    let mut expected = vec![format!("stale decision:{}", shop.decision)];
    let one = decide(&shop, "Compare hashes in constant time", "src/hash.rs");
    decide(&shop, "Compare hashes as strings", "docs/");
    expected.push(format!("contradictory decision:{one}"));
    let name = post(&shop, "`rotate_all_salts` is slow on large tables");
    expected.push(format!("unbound entry:{name}"));
    let junk = post(&shop, "hmm");
    expected.push(format!("junk entry:{junk}"));
    let often = post(&shop, "the hashes of old passwords are short");
    (0..3).for_each(|_| drop(shop.repository.told(&["confirm", &often])));
    expected.push(format!("leftover entry:{often}"));
    shop.repository.told(&["add-entity", "src/gone.rs", "file"]);
    shop.write(
        ".twining/knowledge.dot",
        "digraph { api [type=component level=architecture status=current description=d path=\"src/api\"]; }\n",
    );
    expected.push("lost node:api".to_owned());
    shop.write(
        ".twining/policy.yml",
        "guards:\n  - id: no-legacy\n    tools: [Write]\n    paths: [\"src/legacy/**\"]\n    action: block\n    say: leave it\n",
    );
    expected.push("lost guard:no-legacy".to_owned());
    let paragraph = "Always run the whole suite before you push, and read what it prints, since nobody else will do it for you here.";
    shop.write("CLAUDE.md", &format!("# Rules\n\n{paragraph}\n\nAWS key AKIAQ3EGRXJ7PLM2ZT5V\n"));
    let lines: String = (0..1200).map(|n| format!("- rule {n} of the house is this\n")).collect();
    shop.write("AGENTS.md", &format!("# Rules\n\n{paragraph}\n\n{lines}"));
    let files = ["secret CLAUDE.md", "oversized AGENTS.md", "duplicate CLAUDE.md"];
    expected.extend(files.map(str::to_owned));
    shop.use_argon2();
    shop.repository.commit("all of it");
    (shop, expected)
}

#[test]
fn each_class_is_found_with_a_way_forward_and_as_sarif() {
    let (shop, expected) = prepared();
    let report = audited(&shop.repository);
    let found = found(&report);
    each(expected, |finding| assert!(found.contains(&finding), "{finding} in {found:#?}"));
    let classes: BTreeSet<&str> =
        found.iter().filter_map(|finding| finding.split(' ').next()).collect();
    assert_eq!(classes.len(), 9, "{classes:?}");
    for finding in report["findings"].as_array().expect("a list") {
        assert!(finding["fix"].as_str().is_some_and(|fix| !fix.is_empty()), "{finding}");
    }
    let ran = shop.repository.run(&["audit", "--sarif", "audit.sarif"]);
    assert_eq!(ran.code, 3, "{ran:?}");
    let log = shop.repository.json("audit.sarif");
    let run = &log["runs"][0];
    let rules: BTreeSet<&str> = run["tool"]["driver"]["rules"]
        .as_array()
        .expect("rules")
        .iter()
        .filter_map(|rule| rule["id"].as_str())
        .collect();
    let results = run["results"].as_array().expect("results");
    assert_eq!((&log["version"], results.len()), (&"2.1.0".into(), found.len()));
    for result in results {
        assert!(rules.contains(result["ruleId"].as_str().expect("a rule")), "{result}");
        assert!(result["message"]["text"].is_string(), "{result}");
    }
}

#[test]
fn a_record_on_code_that_is_gone_is_stale_once_and_one_that_moved_is_not() {
    let shop = Shop::new();
    let of_decisions = || {
        let mut findings = audited(&shop.repository)["findings"].take();
        let findings = findings.as_array_mut().expect("a list");
        // The graph has entities of files, which are lost when the files move.
        findings.retain(|finding| finding["class"] != "lost");
        std::mem::take(findings)
    };
    shop.repository.git(&["mv", "src/hash.rs", "src/password.rs"]);
    shop.repository.commit("move");
    assert_eq!(of_decisions(), Vec::<Value>::new(), "it is found there");
    shop.repository.told(&["confirm", "--all-moved"]);
    assert_eq!(of_decisions(), Vec::<Value>::new());
    shop.write("src/password.rs", "use bcrypt;\n");
    shop.repository.commit("remove");
    let [finding] = &of_decisions()[..] else { panic!("one finding: {:#?}", of_decisions()) };
    assert_eq!(finding["class"], "stale");
    assert_eq!(finding["record"], format!("decision:{}", shop.decision));
    let message = finding["message"].as_str().expect("a message");
    assert!(message.contains("orphaned: gone since"), "{message}");
}

#[test]
fn what_is_kept_is_silent_until_the_code_changes_again() {
    let shop = Shop::new();
    shop.use_argon2();
    assert_eq!(found(&audited(&shop.repository)).len(), 1);
    let kept = shop.repository.told(&["audit", "--keep", &shop.decision]);
    assert_eq!(kept["kept"][0]["class"], "stale", "{kept}");
    let report = audited(&shop.repository);
    assert_eq!((found(&report).len(), &report["summary"]["kept"]), (0, &1.into()), "{report}");
    let why = shop.repository.told(&["why", "src/hash.rs"]);
    assert_eq!(why["decisions"][0]["code"]["state"], "doubtful", "keeping confirms nothing");
    shop.write("src/hash.rs", &HASH.replace("bcrypt::hash_with_salt", "scrypt::hash_with_salt"));
    assert_eq!(found(&audited(&shop.repository)).len(), 1);
    let refused = shop.repository.run(&["audit", "--keep", "01NOTHING"]);
    assert_eq!(refused.code, 2, "{refused:?}");
}

/// A repository that never heard of us, whose `CLAUDE.md` names a file that moved.
fn foreign() -> Repository {
    let repository = Repository::new();
    repository.write("src/jwt.rs", HASH);
    repository.write("CLAUDE.md", "# Rules\n\nTokens are made in `src/jwt.rs`.\n");
    repository.commit("start");
    repository
}

#[test]
fn a_repository_without_a_memory_is_audited_and_gets_none() {
    let repository = foreign();
    assert_eq!(found(&audited(&repository)), Vec::<String>::new());
    repository.git(&["mv", "src/jwt.rs", "src/token.rs"]);
    repository.commit("move");
    let report = audited(&repository);
    assert_eq!(found(&report), ["stale CLAUDE.md"]);
    let finding = &report["findings"][0];
    assert_eq!((&finding["verdict"], &finding["to"]), (&"moved".into(), &"src/token.rs".into()));
    assert!(!repository.file(".twining").exists());
    assert_eq!(repository.run(&["audit", "--keep", "x"]).code, 2);
}

#[test]
fn a_fix_is_shown_first_and_written_only_after_a_yes() {
    let repository = foreign();
    repository.git(&["mv", "src/jwt.rs", "src/token.rs"]);
    repository.commit("move");
    let before = repository.read("CLAUDE.md");
    let shown = |stderr: &str| {
        assert!(stderr.contains("-Tokens are made in `src/jwt.rs`."), "{stderr}");
        assert!(stderr.contains("+Tokens are made in `src/token.rs`."), "{stderr}");
    };
    let ran = repository.run(&["audit", "--fix"]);
    assert_ne!(ran.code, 0, "nobody is here to say yes: {ran:?}");
    shown(&ran.stderr);
    assert_eq!(repository.read("CLAUDE.md"), before);
    let fix = || repository.command_in(&repository.path("shop"), &["audit", "--fix"]);
    let refused = typed_at_terminal(fix(), "no");
    assert_ne!(refused.code, 0, "{refused:?}");
    assert_eq!(repository.read("CLAUDE.md"), before);
    let fixed = typed_at_terminal(fix(), "yes");
    assert_eq!(fixed.code, 0, "{fixed:?}");
    shown(&fixed.stderr);
    assert_eq!(repository.read("CLAUDE.md"), before.replace("jwt.rs", "token.rs"));
    assert_eq!(found(&audited(&repository)), Vec::<String>::new());
}
