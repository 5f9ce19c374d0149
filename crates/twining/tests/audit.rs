//! `audit` as people and machines run it: every class in a prepared repository, what is kept, what
//! `--fix` writes and when, and a repository that never heard of us.

use std::collections::BTreeSet;

use serde_json::Value;
use twining_testcases::each;

use crate::anchors::{HASH, Shop};
use crate::common::Ran;
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

/// A memory with a decision whose code changed and an entry that says nothing, and a `CLAUDE.md`
/// with a file that is gone and one that moved.
fn something_of_each() -> (Shop, String) {
    let shop = Shop::new();
    shop.write("src/jwt.rs", "pub fn jwt(claims: u64) -> u64 { claims * 31 }\n");
    shop.write("src/sum.rs", "pub fn sum(n: u64) -> u64 { n ^ 0x5bd1_e995 }\n");
    shop.write("CLAUDE.md", "# Rules\n\nSums are made in `src/sum.rs`.\n\nTokens: `src/jwt.rs`.\n");
    shop.repository.commit("files");
    shop.repository.git(&["mv", "src/jwt.rs", "src/token.rs"]);
    shop.repository.git(&["rm", "-q", "src/sum.rs"]);
    shop.use_argon2();
    let junk = post(&shop, "hmm");
    shop.repository.commit("changes");
    (shop, junk)
}

fn asked(shop: &Shop, typed: &str) -> Ran {
    let mut command =
        shop.repository.command_in(&shop.repository.path("shop"), &["audit", "--ask"]);
    // An editor that deletes the line it is opened at.
    shop.repository.program("delete-line", "sed -i \"${1#+}d\" \"$2\"");
    command.env("EDITOR", shop.repository.path("bin").join("delete-line"));
    typed_at_terminal(command, typed)
}

#[test]
fn a_person_at_a_terminal_settles_each_finding_with_a_key() {
    let (shop, junk) = something_of_each();
    let before = found(&audited(&shop.repository));
    let of_decision = format!("stale decision:{}", shop.decision);
    let of_junk = format!("junk entry:{junk}");
    assert_eq!(before, [&of_decision, "stale CLAUDE.md", "stale CLAUDE.md", &of_junk]);
    // A key that is not offered asks again; keep the second; write the third, and say yes to that.
    let ran = asked(&shop, "x\nc\nk\nr\nyes\nd\nsaid nothing");
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stdout.contains("4 settled"), "{ran:?}");
    let report = audited(&shop.repository);
    assert_eq!((found(&report), &report["summary"]["kept"]), (vec![], &1.into()), "{report:#}");
    assert!(shop.repository.read("CLAUDE.md").contains("`src/token.rs`"));
}

#[test]
fn a_finding_in_a_file_is_edited_at_its_line_or_left_for_later() {
    let (shop, _) = something_of_each();
    let ran = asked(&shop, "\ne\nq");
    assert_eq!(ran.code, 3, "{ran:?}");
    let text = shop.repository.read("CLAUDE.md");
    assert_eq!(text, "# Rules\n\n\nTokens: `src/jwt.rs`.\n");
}

#[test]
fn what_is_kept_in_a_file_is_silent_until_its_line_says_something_else() {
    let (shop, _) = something_of_each();
    let in_file = || {
        let mut found = found(&audited(&shop.repository));
        found.retain(|finding| finding == "stale CLAUDE.md");
        found.len()
    };
    assert_eq!(in_file(), 2);
    shop.repository.told(&["audit", "--keep", "CLAUDE.md:3"]);
    assert_eq!(in_file(), 1);
    shop.write("CLAUDE.md", "# Rules\n\nMore.\n\nSums are made in `src/sum.rs`.\n");
    assert_eq!(in_file(), 0, "its line moved");
    shop.write("CLAUDE.md", "# Rules\n\nTokens: `src/jwt.rs`.\n");
    assert_eq!(in_file(), 1);
    assert_eq!(shop.repository.run(&["audit", "--keep", "CLAUDE.md:9"]).code, 2);
}

#[test]
fn every_finding_names_commands_with_keys_of_their_own() {
    let (shop, _) = prepared();
    for finding in audited(&shop.repository)["findings"].as_array().expect("a list") {
        let commands = finding["commands"].as_array().expect("commands");
        let keys: BTreeSet<&str> =
            commands.iter().filter_map(|command| command["key"].as_str()).collect();
        assert_eq!(keys.len(), commands.len(), "{finding:#}");
        assert!(keys.len() > 1 && keys.contains("k") && !keys.contains("q"), "{finding:#}");
    }
}

#[test]
fn a_contradiction_is_settled_by_the_command_it_names() {
    let shop = Shop::new();
    let one = decide(&shop, "Compare hashes in constant time", "src/hash.rs");
    decide(&shop, "Compare hashes as strings", "docs/");
    let report = audited(&shop.repository);
    assert_eq!(found(&report), [format!("contradictory decision:{one}")]);
    let ran = asked(&shop, "p\nthe attack is real");
    assert!(ran.stdout.contains("1 settled"), "{ran:?}");
    assert_eq!(found(&audited(&shop.repository)), Vec::<String>::new());
}

#[test]
fn nodes_and_features_say_where_their_code_is_in_doubt_and_are_audited() {
    let shop = Shop::new();
    shop.write("src/salt.rs", HASH);
    let node = r#"{"op":"add_node","id":"hasher","type":"component","level":"architecture","status":"current","description":"Passwords are hashed with bcrypt","path":"src/hash.rs#hash_password"}"#;
    shop.repository.told(&["knowledge", "update", "--op", node]);
    let feature = ["features", "add", "F1", "--description", "Salted", "--file", "src/salt.rs"];
    shop.repository.told(&feature);
    shop.repository.commit("bound");
    let told = |words: &[&str]| shop.repository.told(words);
    assert_eq!(told(&["knowledge", "retrieve", "bcrypt"])["code"], Value::Null);
    assert_eq!(told(&["next"])["code"], Value::Null);
    shop.use_argon2();
    shop.repository.git(&["rm", "-q", "src/salt.rs"]);
    shop.repository.commit("changes");
    each([&["knowledge", "retrieve", "bcrypt"][..], &["knowledge", "pack", "bcrypt"]], |words| {
        // A pack is kept, and says how its code is now.
        let told = [told(words), told(words)];
        each(told, |told| assert_eq!(told["code"]["hasher"]["state"], "doubtful", "{told:#}"));
    });
    let is_gone = |code: &Value| ["missing", "orphaned"].iter().any(|gone| code["state"] == *gone);
    each(
        [told(&["features"])["features"][0]["code"].clone(), told(&["next"])["code"].clone()],
        |code| {
            assert!(is_gone(&code), "{code:#}");
        },
    );
    let stale =
        |record: &str| found(&audited(&shop.repository)).contains(&format!("stale {record}"));
    assert!(stale("node:hasher"));
    assert!(!stale("feature:F1"), "nobody began it");
    told(&["confirm", "node:hasher"]);
    assert!(!stale("node:hasher"));
    each(["in_progress", "completed"], |status| {
        told(&["features", "update", "F1", "--status", status]);
    });
    assert!(stale("feature:F1"));
}

#[test]
fn a_name_that_is_nowhere_is_settled_by_binding_its_record_to_the_code() {
    let shop = Shop::new();
    let decided = shop.repository.told(&[
        "decide",
        "Rotate keys each week",
        "--why",
        "asked for by the auditors",
        "--scope",
        "src/",
        "--file",
        "src/never.rs",
        "--affected-symbol",
        "rotate_never",
    ]);
    let id = decided["id"].as_str().expect("has an id");
    let finding = format!("unbound decision:{id}");
    assert!(found(&audited(&shop.repository)).contains(&finding), "{decided}");
    let doubted = shop.repository.run(&["reconsider", id, "--why", "is it still so?"]);
    assert_eq!(doubted.code, 0, "{doubted:?}");
    assert!(found(&audited(&shop.repository)).contains(&finding), "doubt leaves the name");
    let bound = shop.repository.run(&["reanchor", id, "--to", "src/hash.rs#verify"]);
    assert_eq!(bound.code, 0, "{bound:?}");
    assert!(!found(&audited(&shop.repository)).contains(&finding), "it is bound");
}

#[test]
fn a_name_that_was_bound_is_judged_by_its_code_and_a_wrong_path_costs_no_binding() {
    let shop = Shop::new();
    shop.write("src/hash.rs", &HASH.replace("hash_password", "digest_password"));
    shop.repository.commit("rename");
    let report = audited(&shop.repository);
    assert_eq!(found(&report), Vec::<String>::new(), "{report}");
    let words = ["decide", "Verify at once", "--why", "asked for", "--domain", "login"];
    let files = ["--file", "src/hash.rs,src/hsah.rs", "--affected-symbol", "verify"];
    let decided = shop.repository.told(&[&words[..], &files].concat());
    let report = audited(&shop.repository);
    let unbound = format!("unbound decision:{}", decided["id"].as_str().expect("has an id"));
    assert_eq!(found(&report)[0], unbound, "{report}");
    let fix = report["findings"][0]["fix"].as_str().expect("text");
    assert!(fix.contains("twining override") && !fix.contains("reanchor"), "{fix}");
}

#[test]
fn numbered_documents_are_paths_too() {
    let repository = Repository::new();
    repository.write("docs/adr/0003-redis.md", "# Redis\n");
    repository.write("CLAUDE.md", "See `docs/adr/0003-redis.md`, not `docs/adr/0000-title.md`.\n");
    repository.commit("start");
    repository.git(&["rm", "-q", "docs/adr/0003-redis.md"]);
    repository.commit("drop");
    let report = audited(&repository);
    assert_eq!(found(&report), ["stale CLAUDE.md"], "{report}");
    assert_eq!(report["findings"][0]["claim"], "docs/adr/0003-redis.md", "{report}");
}
