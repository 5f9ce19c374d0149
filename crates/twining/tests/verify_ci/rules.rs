//! Each rule, broken and kept.

use std::fs;
use std::path::Path;
use twining_testcases::each;

use serde_json::{Value, json};

use crate::verify_ci::team::{ADA, BOT, HOOKS, POLICY, Team, features};

#[test]
fn a_forbidden_import_is_found_at_its_line() {
    let team = Team::new();
    team.request(&[], |team| team.write("src/app.ts", "// dates\nimport moment from 'moment';\n"))
        .found(&["clauses error src/app.ts:2"]);
}

#[test]
fn honest_code_passes() {
    let team = Team::new();
    team.request(&[], |team| {
        team.write("src/app.ts", "import { format } from 'date-fns';\n");
        team.write("docs/dates.md", "We do not `import moment`.\n");
        team.edit("src/old.ts", "export const b = 1", "export const b = 3");
    })
    .is_clean();
}

#[test]
fn a_renamed_file_brings_nothing_in() {
    let team = Team::new();
    team.request(&[], |team| drop(team.git(&team.work(), &["mv", "src/old.ts", "src/older.ts"])))
        .is_clean();
}

#[test]
fn a_split_file_is_noted_and_does_not_fail() {
    let team = Team::new();
    let split = team.request(&[], |team| {
        team.write("src/old.ts", "export const c = 2;\n");
        team.write(
            "src/half.ts",
            "import moment from 'moment';\nexport const a = moment();\nexport const b = 1;\n",
        );
    });
    assert!(
        split.code == 0 && split.told().iter().all(|found| found.starts_with("clauses note ")),
        "{split:?}"
    );
}

#[test]
fn a_pull_request_does_not_bring_its_own_rules() {
    let team = Team::new();
    let overridden = team.request(&[], |team| {
        team.twining(&["override", &team.decision, "--reason", "we need it", "--json"]);
        team.write("src/app.ts", "import moment from 'moment';\n");
    });
    overridden.found(&["clauses error src/app.ts:1"]);
    // Once it is in the base, it holds.
    team.request(&[], |team| {
        team.twining(&["override", &team.decision, "--reason", "we need it", "--json"]);
    })
    .is_clean();
    team.git(&team.work(), &["push", "-q", "origin", "pr:main"]);
    team.git(&team.work(), &["checkout", "-q", "-B", "main", "pr"]);
    team.request(&[], |team| team.write("src/app.ts", "import moment from 'moment';\n")).is_clean();
}

#[test]
fn an_edge_of_the_knowledge_graph_rules_out_as_well() {
    let team = Team::new();
    let node = |id: &str| {
        format!(
            "{id} [type=component level=architecture status=current description=d path=\"src/{id}\"];"
        )
    };
    let graph = format!(
        "digraph {{ {} {} api -> orm [relation=must_not_use]; }}",
        node("api"),
        node("orm")
    );
    team.write(".twining/knowledge.dot", &graph);
    team.commit(ADA, "knowledge");
    team.git(&team.work(), &["push", "-q", "origin", "main"]);
    team.request(&[], |team| team.write("src/api/a.ts", "import { db } from '../orm';\n"))
        .found(&["clauses error src/api/a.ts:1"]);
    team.request(&[], |team| team.write("src/web/a.ts", "import { db } from '../orm';\n"))
        .is_clean();
    team.request(&[], |team| team.write(".twining/knowledge.dot", "digraph { api -> ")).found(&[
        "records error .twining/knowledge.dot:1",
        "records error .twining/knowledge.dot:1",
        "records warning .twining/knowledge.dot",
    ]);
}

#[test]
fn records_gone_or_altered_are_found() {
    let team = Team::new();
    let file = team.decision_file();
    team.request(&[], |team| team.edit(&file, "No moment", "Any moment"))
        .found(&[&format!("records error {file}")]);
    team.request(&[], |team| fs::remove_file(team.work().join(&file)).expect("removes"))
        .found(&[&format!("records error {file}")]);
    team.request(&[], |team| {
        team.edit(".twining/blackboard.jsonl", "the cache is slow", "the cache is fast");
    })
    .found(&["records error .twining/blackboard.jsonl:2"]);
    let board = team.read(".twining/blackboard.jsonl");
    let without: String = board
        .lines()
        .filter(|line| !line.contains("cache"))
        .map(|line| format!("{line}\n"))
        .collect();
    team.request(&[], |team| team.write(".twining/blackboard.jsonl", &without))
        .found(&["records error .twining/blackboard.jsonl"]);
}

#[test]
fn silent_transitions_and_broken_files_are_found() {
    let team = Team::new();
    let file = team.decision_file();
    team.request(&[], |team| {
        team.edit(&file, "\"status\": \"active\"", "\"status\": \"superseded\"");
    })
    .found(&[&format!("records error {file}")]);
    team.request(&[], |team| team.write(&file, "{")).found(&[&format!("records error {file}")]);
    let board = team.read(".twining/blackboard.jsonl");
    let last = board.lines().last().expect("has lines").replace("queue", "stack");
    team.request(&[], |team| team.write(".twining/blackboard.jsonl", &format!("{board}{last}\n")))
        .found(&["records error .twining/blackboard.jsonl:4"]);
    team.request(&[], |team| {
        team.write(".twining/blackboard.jsonl", &format!("{board}not JSON\n"));
    })
    .found(&["records error .twining/blackboard.jsonl:4"]);
    team.request(&["--approve", "policy"], |team| team.write(".twining/policy.yml", "guards: [\n"))
        .told()
        .iter()
        .for_each(|found| {
            assert!(
                found.starts_with("records error .twining/policy.yml")
                    || found.starts_with("policy note"),
                "{found}"
            );
        });
}

#[test]
fn what_twining_itself_writes_passes() {
    let team = Team::new();
    team.request(&[], |team| {
        team.twining(&["post", "status", "went on", "--json"]);
        team.twining(&["reconsider", &team.decision, "--new-context", "is it so large?", "--json"]);
        team.twining(&["promote", &team.decision, "--json"]);
        team.twining(&["link-commit", &team.decision, "abcdef1234567", "--json"]);
        team.twining(&[
            "decide",
            "--summary",
            "date-fns only",
            "--domain",
            "dates",
            "--scope",
            "src/",
            "--context",
            "size",
            "--rationale",
            "smaller",
            "--constraint",
            "must_not_use: moment",
            "--supersedes",
            &team.decision,
            "--json",
        ]);
    })
    .is_clean();
    team.request(&[], |team| {
        team.twining(&["archive", "--json"]);
        assert!(
            !team.read(".twining/blackboard.jsonl").contains("\"summary\":\"the cache is slow\"")
        );
    })
    .is_clean();
    team.request(&[], |team| {
        let text = team.read(&team.decision_file());
        let value: serde_json::Value = serde_json::from_str(&text).expect("is JSON");
        team.write(&team.decision_file(), &value.to_string());
    })
    .is_clean();
}

#[test]
fn records_that_only_the_base_gained_have_not_gone() {
    let team = Team::new();
    team.branch();
    team.write("src/app.ts", "export const app = 2;\n");
    team.commit(BOT, "change");
    team.push();
    team.git(&team.work(), &["checkout", "-q", "main"]);
    team.twining(&["post", "finding", "meanwhile on main", "--json"]);
    team.edit(".twining/policy.yml", "action: block", "action: block # people only");
    team.commit(ADA, "meanwhile");
    team.git(&team.work(), &["push", "-q", "origin", "main"]);
    team.verify(&[]).is_clean();
}

#[test]
fn a_feature_marked_tested_is_unproven_without_a_report() {
    let team = Team::new();
    let marked = |team: &Team| team.write(".twining/features.json", &features(true, false));
    team.request(&[], marked).found(&["features error .twining/features.json"]);
    let passed = team.junit("junit.xml", &[("logs in", "passed"), ("adds", "failure")]);
    let proven = team.verify(&["--junit", &passed]);
    assert!(proven.is_clean());
    assert_eq!(
        proven.report["evidence"],
        json!([{"feature": "login", "source": "ci", "tests": 1}])
    );
    let failed = team.junit("failed.xml", &[("logs in", "failure"), ("adds", "passed")]);
    team.verify(&["--junit", &failed]).found(&["features error .twining/features.json"]);
    let skipped = team.junit("skipped.xml", &[("logs in", "skipped"), ("adds", "passed")]);
    team.verify(&["--junit", &skipped]).found(&["features error .twining/features.json"]);
    fs::write(&skipped, "<testsuites>").expect("writes");
    team.verify(&["--junit", &skipped])
        .found(&["features error ", "features error .twining/features.json"]);
}

#[test]
fn own_tests_are_those_of_the_base_as_well() {
    let team = Team::new();
    let narrower = features(true, false).replace("logs in", "adds");
    team.request(&[], |team| team.write(".twining/features.json", &narrower));
    let report = team.junit("junit.xml", &[("adds", "passed")]);
    team.verify(&["--junit", &report]).found(&["features error .twining/features.json"]);
    let both = team.junit("both.xml", &[("adds", "passed"), ("logs in", "passed")]);
    team.verify(&["--junit", &both]).is_clean();
}

#[test]
fn a_feature_without_tests_of_its_own_needs_a_green_report() {
    let team = Team::new();
    team.request(&[], |team| team.write(".twining/features.json", &features(false, true)));
    let green = team.junit("green.xml", &[("adds", "passed")]);
    team.verify(&["--junit", &green]).is_clean();
    let red = team.junit("red.xml", &[("adds", "passed"), ("other", "failure")]);
    team.verify(&["--junit", &red]).found(&["features error .twining/features.json"]);
}

#[test]
fn fewer_tests_than_the_base_fail_where_a_feature_becomes_tested() {
    let team = Team::new();
    let base = team.junit("base.xml", &[("logs in", "passed"), ("adds", "passed")]);
    let head = team.junit("head.xml", &[("logs in", "passed"), ("adds", "skipped")]);
    team.request(&["--junit", &head, "--base-junit", &base], |team| {
        team.write(".twining/features.json", &features(true, false));
    })
    .found(&["features error "]);
    let honest =
        team.request(&["--junit", &head, "--base-junit", &base], |team| team.write("a.txt", "a"));
    assert_eq!((honest.code, honest.told()), (0, vec!["features warning ".to_owned()]));
    team.verify(&["--junit", &base, "--base-junit", &head]).is_clean();
}

#[test]
fn edited_skipped_and_removed_tests_are_listed_and_do_not_fail() {
    let team = Team::new();
    let changed = team.request(&[], |team| {
        team.write("tests/app.test.ts", "it.skip('adds', () => { expect(1 + 1).toBe(2); });\n");
    });
    assert_eq!(
        (changed.code, changed.told()),
        (0, vec!["features note tests/app.test.ts".to_owned()])
    );
    assert!(
        changed.report["findings"][0]["message"]
            .as_str()
            .is_some_and(|told| told.contains("skipped") && told.contains("adds")),
        "{changed:?}"
    );
    let removed = team.request(&[], |team| {
        fs::remove_file(team.work().join("tests/app.test.ts")).expect("removes");
    });
    assert!(
        removed.code == 0 && removed.report.to_string().contains("tests removed: adds"),
        "{removed:?}"
    );
    team.request(&[], |team| {
        drop(team.git(&team.work(), &["mv", "tests/app.test.ts", "tests/all.test.ts"]));
    })
    .is_clean();
}

#[test]
fn weaker_evidence_for_tested_is_milder() {
    let team = Team::new();
    let needs = |grade: &str| format!("version: 1\nworkflow: {{tested_needs: {grade}}}\n");
    team.write(".twining/config.yml", &needs("ci"));
    team.commit(ADA, "strict");
    team.git(&team.work(), &["push", "-q", "origin", "main"]);
    team.request(&[], |team| team.write(".twining/config.yml", &needs("told")))
        .found(&["policy error .twining/config.yml"]);
    team.request(&[], |team| team.write(".twining/config.yml", &format!("{}# why\n", needs("ci"))))
        .is_clean();
}

#[test]
fn a_milder_policy_needs_approval() {
    let team = Team::new();
    each(
        [
            POLICY.replace("action: block", "action: warn"),
            POLICY.replace("0.85", "0.5"),
            "guards: []\n".to_owned(),
        ],
        |milder| {
            let found = team.request(&[], |team| team.write(".twining/policy.yml", &milder));
            found.found(&["policy error .twining/policy.yml"]);
            let approved = team.verify(&["--approve", "policy"]);
            assert_eq!(
                (approved.code, approved.told()),
                (0, vec!["policy note .twining/policy.yml".to_owned()])
            );
        },
    );
    let stricter = format!(
        "{POLICY}  - id: no-tags\n    tools: [Bash]\n    when: {{command: [git tag]}}\n    action: block\n    say: tags are for people\n"
    );
    team.request(&[], |team| team.write(".twining/policy.yml", &stricter)).is_clean();
}

#[test]
fn milder_wiring_needs_approval() {
    let team = Team::new();
    let off = HOOKS.replacen('{', "{\"disableAllHooks\": true,", 1);
    for milder in [r#"{"hooks":{}}"#, &off] {
        team.request(&[], |team| team.write(".claude/settings.json", milder))
            .found(&["policy error .claude/settings.json"]);
    }
    let more = HOOKS.replacen(
        "\"Stop\"",
        "\"SubagentStop\":[{\"command\":\"twining hook SubagentStop\"}],\"Stop\"",
        1,
    );
    team.request(&[], |team| team.write(".claude/settings.json", &more)).is_clean();
}

#[test]
fn a_record_in_a_person_s_name_is_in_a_person_s_commit() {
    let team = Team::new();
    let line = r#"{"id":"01M7EB3QY8BCK1T7V2TH9HG8T9","timestamp":"2026-11-15T09:00:00.000Z","entry_type":"finding","summary":"agreed","origin":{"via":"cli","trust":"human"}}"#;
    let agents = ["--agent-author", "*[bot]*", "*@agents.example.org>"];
    let forge = |team: &Team| {
        team.write(
            ".twining/blackboard.jsonl",
            &format!("{}{line}\n", team.read(".twining/blackboard.jsonl")),
        );
    };
    team.request(&agents, forge).found(&["authors error .twining/blackboard.jsonl:4"]);
    let unsaid = team.verify(&[]);
    assert!(
        unsaid.is_clean() && unsaid.report["skipped"].to_string().contains("--agent-author"),
        "{unsaid:?}"
    );

    team.branch();
    forge(&team);
    team.commit(ADA, "agreed");
    team.twining(&["post", "status", "and the agent went on", "--json"]);
    team.commit(BOT, "more");
    team.push();
    team.verify(&agents).is_clean();

    team.branch();
    team.twining(&["post", "status", "a person first", "--json"]);
    team.commit(ADA, "first");
    forge(&team);
    team.commit(BOT, "then");
    team.push();
    team.verify(&agents).found(&["authors error .twining/blackboard.jsonl:5"]);
}

#[test]
fn a_confirmed_override_is_a_person_s_commit_too() {
    let team = Team::new();
    let file = team.decision_file();
    let overridden = |team: &Team| {
        team.twining(&["override", &team.decision, "--reason", "we need it", "--json"]);
        team.edit(&file, "\"claimed\"", "\"confirmed\"");
    };
    team.request(&["--agent-author", "coder*"], overridden)
        .found(&[&format!("authors error {file}")]);
    team.request(&["--agent-author", "nobody*"], overridden).is_clean();
}

#[test]
fn a_secret_in_a_new_record_is_found() {
    let team = Team::new();
    // Put together here, so that no scanner takes the test for a leak.
    let secret = ["ghp", "16C7e42F292c6912E7710c838347Ae178B4a"].join("_");
    let line = json!({"id": "s1", "entry_type": "finding", "summary": format!("use {secret}")});
    team.request(&[], |team| {
        team.write(
            ".twining/blackboard.jsonl",
            &format!("{}{line}\n", team.read(".twining/blackboard.jsonl")),
        );
    })
    .found(&["secrets error .twining/blackboard.jsonl:4"]);
    team.request(&[], |team| {
        drop(team.twining(&["post", "finding", &format!("use {secret}"), "--json"]));
    })
    .is_clean();
}

#[test]
fn a_bare_and_a_shallow_clone_are_enough() {
    let team = Team::new();
    let bad = team.request(&[], |team| team.write("src/app.ts", "import moment from 'moment';\n"));
    bad.found(&["clauses error src/app.ts:1"]);
    team.verify_at(&team.path().join("origin.git"), "main", "pr", &[])
        .found(&["clauses error src/app.ts:1"]);
    let url = format!("file://{}", team.path().join("origin.git").display());
    team.git(Path::new("."), &["clone", "-q", "--depth=1", "--no-single-branch", &url, "shallow"]);
    team.verify_at(&team.path().join("shallow"), "origin/main", "origin/pr", &[])
        .found(&["clauses error src/app.ts:1"]);
    assert!(!team.path().join("shallow/.twining/local").exists(), "and nothing is written there");
}

#[test]
fn wrong_usage_ends_with_two() {
    let team = Team::new();
    team.request(&[], |team| team.write("a.txt", "a")).is_clean();
    assert_eq!(team.verify_at(&team.work(), "nowhere", "pr", &[]).code, 2);
    assert_eq!(team.verify_at(team.path(), "main", "pr", &[]).code, 2, "no repository");
    assert_eq!(team.verify(&["--junit", "nowhere.xml"]).code, 2);
    assert_eq!(team.verify(&["--approve", "everything"]).code, 2);
    let without_base = team
        .command(crate::verify_ci::team::PROGRAM, &team.work())
        .args(["verify", "--ci"])
        .output()
        .expect("starts");
    assert_eq!(without_base.status.code(), Some(2));
    let orphan = team.work();
    team.git(&orphan, &["checkout", "-q", "--orphan", "other"]);
    team.git(&orphan, &["commit", "-q", "-m", "other"]);
    assert_eq!(team.verify_at(&orphan, "main", "other", &[]).code, 2);
}

#[test]
fn findings_are_written_as_sarif() {
    let team = Team::new();
    let sarif = team.path().join("out.sarif");
    team.request(&["--sarif", &sarif.display().to_string()], |team| {
        team.write("src/a b.ts", "import moment from 'moment';\n");
    })
    .found(&["clauses error src/a b.ts:1"]);
    let log: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(&sarif).expect("is there")).expect("is JSON");
    let result = &log["runs"][0]["results"][0];
    assert_eq!(
        (&log["version"], &result["ruleId"], &result["level"]),
        (&json!("2.1.0"), &json!("clauses"), &json!("error"))
    );
    let place = &result["locations"][0]["physicalLocation"];
    assert_eq!(
        (&place["artifactLocation"]["uri"], &place["region"]["startLine"]),
        (&json!("src/a%20b.ts"), &json!(1))
    );
}

const HASH: &str = "export function hashPassword(password: string, salt: string): string {
  const cost = 12;
  const digest = bcrypt.hashSync(password + salt, cost);
  return digest.toString();
}
";

/// A team with a decision on one function; its id.
fn with_a_decision_on_code() -> (Team, String) {
    let team = Team::new();
    team.write("src/hash.ts", HASH);
    team.commit(ADA, "hash");
    let decided = team.twining(&[
        "decide",
        "Hash passwords with bcrypt, cost 12",
        "--why",
        "slow on purpose",
        "--scope",
        "src/hash.ts",
        "--affected-files",
        "src/hash.ts",
        "--affected-symbols",
        "hashPassword",
        "--json",
    ]);
    team.commit(ADA, "decide");
    team.git(&team.work(), &["push", "-q", "origin", "main"]);
    (team, decided["id"].as_str().expect("has an id").to_owned())
}

fn use_argon2(team: &Team) {
    team.edit("src/hash.ts", "bcrypt.hashSync", "argon2.hashSync");
}

#[test]
fn a_decision_that_loses_its_code_fails_the_check_until_somebody_answers() {
    let (team, id) = with_a_decision_on_code();
    team.request(&[], use_argon2).found(&["code error src/hash.ts:1"]);
    let remove = |team: &Team| drop(team.git(&team.work(), &["rm", "-q", "src/hash.ts"]));
    team.request(&[], remove).found(&["code error src/hash.ts"]);
    // Code that is gone cannot be confirmed.
    team.request(&[], |team| {
        remove(team);
        team.commit(ADA, &format!("no hash\n\nTwining-Confirms: {id}"));
        team.write("docs/hash.md", "none\n");
    })
    .found(&["code error src/hash.ts"]);
    type Answer = fn(&Team, &str);
    let answers: [(&str, Answer); 4] = [
        ("confirm", |team, id| drop(team.twining(&["confirm", id, "--json"]))),
        ("reconsider", |team, id| {
            drop(team.twining(&["reconsider", id, "--new-context", "argon2 won", "--json"]));
        }),
        ("override", |team, id| {
            drop(team.twining(&["override", id, "--reason", "argon2 won", "--json"]));
        }),
        ("trailer", |team, id| {
            team.commit(ADA, &format!("argon2\n\nTwining-Confirms: {id}"));
            team.write("docs/hash.md", "argon2 now\n");
        }),
    ];
    each(answers, |(name, answer)| {
        let answered = team.request(&[], |team| {
            use_argon2(team);
            answer(team, &id);
        });
        assert!(
            !answered.told().iter().any(|found| found.starts_with("code ")),
            "{name}: {answered:?}"
        );
    });
}

#[test]
fn code_that_moves_reformats_or_was_doubtful_before_fails_nothing() {
    let (team, _) = with_a_decision_on_code();
    team.request(&[], |team| {
        drop(team.git(&team.work(), &["mv", "src/hash.ts", "src/password.ts"]));
    })
    .is_clean();
    team.request(&[], |team| {
        team.write("src/auth.ts", &format!("// passwords\n{HASH}"));
        team.write("src/hash.ts", "export const moved = true;\n");
    })
    .is_clean();
    team.request(&[], |team| {
        team.edit("src/hash.ts", "  const cost = 12;", "  // slow\n  const cost  = 12");
    })
    .is_clean();
    use_argon2(&team);
    team.commit(ADA, "argon2");
    team.git(&team.work(), &["push", "-q", "origin", "main"]);
    team.request(&[], |team| team.edit("src/hash.ts", "digest.toString()", "digest.toJSON()"))
        .is_clean();
}

#[test]
fn code_that_moved_before_and_is_rewritten_now_fails_the_check() {
    let (team, _) = with_a_decision_on_code();
    team.write("src/auth.ts", &format!("// passwords\n{HASH}"));
    team.write("src/hash.ts", "export const moved = true;\n");
    team.commit(ADA, "move");
    team.git(&team.work(), &["push", "-q", "origin", "main"]);
    team.request(&[], |team| team.edit("src/hash.ts", "true", "1")).is_clean();
    team.request(&[], |team| team.edit("src/auth.ts", "bcrypt.hashSync", "argon2.hashSync"))
        .found(&["code error src/auth.ts:2"]);
    team.request(&[], |team| drop(team.git(&team.work(), &["rm", "-q", "src/auth.ts"])))
        .found(&["code error src/auth.ts"]);
}

#[test]
fn an_anchor_of_other_token_rules_is_judged_from_what_was_seen_or_told_as_not_compared() {
    let (team, _) = with_a_decision_on_code();
    let anchors = team.read(".twining/anchors.jsonl");
    let mut anchor: Value = serde_json::from_str(anchors.trim()).expect("one line");
    (anchor["v"], anchor["sig"], anchor["body"]) = (json!(999), json!("0"), json!("0"));
    let rewrite = |anchor: &Value| {
        team.git(&team.work(), &["checkout", "-q", "main"]);
        team.write(".twining/anchors.jsonl", &format!("{anchor}\n"));
        team.commit(ADA, "other rules");
        team.git(&team.work(), &["push", "-q", "origin", "main"]);
    };
    rewrite(&anchor);
    team.request(&[], |team| team.edit("src/hash.ts", "digest.toString()", "digest.toJSON()"))
        .is_clean();
    team.request(&[], use_argon2).found(&["code error src/hash.ts:1"]);
    anchor["seen"]["blob"] = json!("0123456789012345678901234567890123456789");
    rewrite(&anchor);
    let blind = team.request(&[], use_argon2);
    assert_eq!((blind.code, blind.told()), (0, vec!["code note ".to_owned()]), "{blind:?}");
}
