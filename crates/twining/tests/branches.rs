//! Records of several branches in one memory: what counts where.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use twining_testcases::each;

use crate::common::repository::Repository;

const TAX: &str = "pub fn tax(net: u64) -> u64 {
    let rate = 19;
    net * rate / 100
}
";

/// Brings a branch into main.
type Merge = fn(&Shop);

/// A repository on `main`, and a worktree on the branch `fix` that is one commit ahead. They share
/// one memory.
struct Shop {
    repository: Repository,
    fix: PathBuf,
}

impl Shop {
    fn new() -> Self {
        let repository = Repository::new();
        repository.write("src/tax.rs", TAX);
        repository.run(&["post", "finding", "taxes are due"]);
        repository.commit("start");
        let fix = repository.path("fix");
        repository.git(&["worktree", "add", "-q", "-b", "fix", &fix.to_string_lossy()]);
        let shop = Self { repository, fix };
        shop.commit_in_fix("rounded", &TAX.replace("/ 100", "/ 100 + 1"));
        shop
    }

    fn git_in_fix(&self, words: &[&str]) {
        let fix = self.fix.to_string_lossy().into_owned();
        self.repository.git(&[&["-C", fix.as_str()], words].concat());
    }

    fn commit_in_fix(&self, message: &str, text: &str) {
        fs::write(self.fix.join("src/tax.rs"), text).expect("writes");
        self.git_in_fix(&["commit", "-q", "-a", "-m", message]);
    }

    fn in_fix(&self, words: &[&str]) -> Value {
        let words: Vec<&str> = words.iter().copied().chain(["--json"]).collect();
        let ran = self.repository.run_in(&self.fix, &words);
        assert_eq!(ran.code, 0, "{words:?}: {ran:?}");
        serde_json::from_str(&ran.stdout).expect("prints JSON")
    }

    /// A decision made on the branch, about its code.
    fn decide_in_fix(&self) -> String {
        let decided = self.in_fix(&[
            "decide",
            "Round taxes up",
            "--why",
            "the office rounds the rate up",
            "--domain",
            "money",
            "--scope",
            "src/",
            "--affected-files",
            "src/tax.rs",
            "--affected-symbols",
            "tax",
            "--constraints",
            "must_not_use: chrono",
        ]);
        decided["id"].as_str().expect("has an id").to_owned()
    }

    /// What main is told of a decision's code.
    fn on_main(&self, id: &str) -> Value {
        code_in(&self.repository.told(&["why", "src/tax.rs"]), id)
    }

    /// What a hook answers to a call that uses what the decision rules out.
    fn hook_in(&self, dir: &Path) -> String {
        let event = json!({"session_id": "s-1", "cwd": dir, "tool_name": "Write",
            "tool_input": {"file_path": "src/time.rs", "content": "use chrono;\n"}});
        let words = ["hook", "PreToolUse"];
        let ran = self.repository.run_with_in(dir, &words, &event.to_string());
        assert_eq!(ran.code, 0, "{ran:?}");
        ran.stdout
    }
}

fn code_in(why: &Value, id: &str) -> Value {
    let decisions = why["decisions"].as_array().expect("a list");
    let ours = decisions.iter().find(|decision| decision["id"] == id);
    ours.unwrap_or_else(|| panic!("{id} is told: {why}"))["code"].clone()
}

#[test]
fn a_record_says_which_branch_and_commit_it_was_made_on() {
    let shop = Shop::new();
    let id = shop.decide_in_fix();
    let stored = shop.repository.json(&format!(".twining/decisions/{id}.json"));
    let head = shop.repository.git(&["rev-parse", "fix"]);
    assert_eq!(stored["origin"]["branch"], "fix", "{stored}");
    assert_eq!(stored["origin"]["head"], head.trim(), "{stored}");
    shop.repository.git(&["pack-refs", "--all"]);
    let posted = shop.in_fix(&["post", "finding", "packed"]);
    let lines = shop.repository.read(".twining/blackboard.jsonl");
    let line = lines.lines().find(|line| line.contains(posted["id"].as_str().expect("an id")));
    assert!(line.expect("is written").contains(head.trim()), "{lines}");
}

#[test]
fn a_record_of_a_branch_that_is_not_merged_is_told_as_elsewhere() {
    let shop = Shop::new();
    let id = shop.decide_in_fix();
    shop.in_fix(&["post", "warning", "rounding is slow", "--scope", "src/tax.rs"]);
    assert_eq!(code_in(&shop.in_fix(&["why", "src/tax.rs"]), &id), Value::Null);
    let code = shop.on_main(&id);
    assert_eq!(code["state"], "elsewhere", "{code}");
    assert!(code["reason"].as_str().expect("a reason").contains("branch fix"), "{code}");
    let recent = shop.repository.told(&["recent", "1"]);
    assert_eq!(recent["entries"][0]["code"]["state"], "elsewhere", "{recent}");
    let assembled = shop.repository.told(&["assemble", "round taxes", "--scope", "src/"]);
    assert_eq!(assembled["active_decisions"], json!([]), "{assembled}");
    let omitted = assembled["omitted"].as_array().expect("a list");
    assert!(omitted.iter().any(|left| left["id"] == *id && left["code"] == "elsewhere"));
    shop.repository.write(".twining/config.yml", "branches: shared\n");
    assert_eq!(shop.on_main(&id)["state"], Value::Null, "told as any other");
}

#[test]
fn what_was_decided_elsewhere_contradicts_and_blocks_nothing_here() {
    let shop = Shop::new();
    let id = shop.decide_in_fix();
    assert_eq!(shop.hook_in(&shop.repository.path("shop")), "", "free on main");
    assert!(shop.hook_in(&shop.fix).contains("deny"), "bound on its branch");
    let rival = ["decide", "Cut taxes off", "--why", "w", "--domain", "money", "--scope", "src/"];
    let decided = shop.repository.told(&rival);
    assert_eq!(decided["status"], "active", "{decided}");
    let why = shop.repository.told(&["why", "src/tax.rs"]);
    assert_eq!(why["contested"], false, "{why}");
    shop.repository.git(&["merge", "-q", "--no-edit", "fix"]);
    let why = shop.repository.told(&["why", "src/tax.rs"]);
    assert_eq!(why["contested"], true, "both are in force once merged: {why}");
    assert_eq!(code_in(&why, &id), Value::Null);
    assert!(shop.hook_in(&shop.repository.path("shop")).contains("deny"));
}

#[test]
fn merged_in_any_way_it_belongs() {
    let ways: [(&str, Merge); 3] = [
        ("merge", |shop| {
            shop.repository.git(&["merge", "-q", "--no-edit", "fix"]);
        }),
        // The commit it was made on is in no history, the record is in the tree.
        ("squash", |shop| {
            shop.repository.git(&["merge", "-q", "--squash", "fix"]);
            shop.repository.write("src/tax.rs", &TAX.replace("/ 100", "/ 100 + 2"));
            shop.repository.commit("squashed and changed");
        }),
        // The record is committed nowhere, and the code is what it was.
        ("rebase", |shop| {
            shop.repository.write("README.md", "shop\n");
            shop.repository.git(&["add", "README.md"]);
            shop.repository.git(&["commit", "-q", "-m", "on main"]);
            shop.git_in_fix(&["rebase", "-q", "main"]);
            shop.repository.git(&["merge", "-q", "--ff-only", "fix"]);
        }),
    ];
    each(ways, |(way, merge)| {
        let shop = Shop::new();
        let id = shop.decide_in_fix();
        assert_eq!(shop.on_main(&id)["state"], "elsewhere", "{way}");
        merge(&shop);
        let code = shop.on_main(&id);
        assert_ne!(code["state"], "elsewhere", "{way}: {code}");
        let _ = fs::remove_file(shop.repository.file(".twining/local/code.db"));
        assert_eq!(shop.on_main(&id), code, "{way}: known again without the index");
    });
}

#[test]
fn an_uncommitted_record_belongs_to_its_own_branch() {
    let repository = Repository::new();
    repository.write("src/tax.rs", TAX);
    repository.run(&["post", "finding", "taxes are due"]);
    repository.commit("start");
    repository.git(&["switch", "-q", "-c", "topic"]);
    repository.write("src/tax.rs", &TAX.replace("19", "20"));
    repository.commit("raise");
    let decided = repository.told(&["decide", "Raise taxes", "--why", "w", "--scope", "src/"]);
    let id = decided["id"].as_str().expect("an id");
    let state = || code_in(&repository.told(&["why", "src/"]), id)["state"].clone();
    assert_eq!(state(), Value::Null);
    repository.git(&["switch", "-q", "main"]);
    assert_eq!(state(), "elsewhere");
    repository.git(&["switch", "-q", "topic"]);
    repository.git(&["commit", "-q", "--amend", "-m", "raise, reworded"]);
    assert_eq!(state(), Value::Null, "its commit is gone, its branch is not");
}

#[test]
fn an_audit_finds_what_a_branch_that_is_gone_has_left() {
    let shop = Shop::new();
    let id = shop.decide_in_fix();
    let found = || {
        let ran = shop.repository.run(&["audit", "--json"]);
        let report: Value = serde_json::from_str(&ran.stdout).expect("prints JSON");
        let findings = report["findings"].as_array().expect("a list").clone();
        let of_it = |finding: &Value| finding["record"] == format!("decision:{id}");
        findings.into_iter().filter(of_it).map(|found| found["class"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(found(), [Value::Null; 0], "the branch is there: nothing is stale or left over");
    let fix = shop.fix.to_string_lossy().into_owned();
    shop.repository.git(&["worktree", "remove", "--force", &fix]);
    shop.repository.git(&["branch", "-q", "-D", "fix"]);
    assert_eq!(found(), ["leftover"]);
    shop.repository.told(&["confirm", &id]);
    assert_eq!(found(), [Value::Null; 0], "it is bound to code, and confirmed here");
}

#[test]
fn what_a_branch_that_is_gone_has_left_without_code_belongs_where_it_is_committed() {
    let shop = Shop::new();
    let posted = shop.in_fix(&["post", "finding", "invoices are rounded at night"]);
    let of_it = format!("entry:{}", posted["id"].as_str().expect("has an id"));
    shop.repository.git(&["worktree", "remove", "--force", &shop.fix.to_string_lossy()]);
    shop.repository.git(&["branch", "-q", "-D", "fix"]);
    let found = || {
        let ran = shop.repository.run(&["audit", "--json"]);
        let report: Value = serde_json::from_str(&ran.stdout).expect("prints JSON");
        let findings = report["findings"].as_array().expect("a list").clone();
        findings.into_iter().find(|finding| finding["record"] == of_it.as_str())
    };
    let finding = found().expect("is left over");
    assert!(finding["fix"].as_str().is_some_and(|fix| fix.contains("commit")), "{finding:#}");
    assert!(finding["commands"].as_array().expect("commands").iter().all(|it| it["key"] != "c"));
    shop.repository.commit("what the branch left");
    assert_eq!(found(), None);
}

#[test]
fn what_is_confirmed_or_bound_anew_on_a_branch_counts_there_until_it_is_merged() {
    each([&["confirm"][..], &["reanchor", "--to", "src/tax.rs#gross"]], |verb| {
        let shop = Shop::new();
        let decided = shop.repository.told(&[
            "decide",
            "Taxes are 19 percent of net",
            "--why",
            "the law",
            "--affected-files",
            "src/tax.rs",
            "--affected-symbols",
            "tax",
        ]);
        let id = decided["id"].as_str().expect("has an id").to_owned();
        shop.repository.commit("records");
        let gross = "\npub fn gross(amount: u64) -> u64 {\n    amount + tax(amount)\n}\n";
        let changed = TAX.replace("let rate = 19;", "let share = 7 + surcharge(net);");
        shop.commit_in_fix("share", &(changed.replace("rate", "share") + gross));
        let words = [&verb[..1], &[id.as_str()], &verb[1..]].concat();
        shop.in_fix(&words);
        let why = shop.repository.told(&["why", "src/tax.rs"]);
        assert_eq!(code_in(&why, &id), Value::Null, "{verb:?} changed an answer of main: {why}");
        shop.repository.git(&["merge", "-q", "--no-edit", "fix"]);
        let why = shop.repository.told(&["why", "src/tax.rs"]);
        assert_eq!(code_in(&why, &id), Value::Null, "{verb:?} is merged: {why}");
    });
}
