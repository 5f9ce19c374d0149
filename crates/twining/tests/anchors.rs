//! Records and the code they speak of, as it changes: stories on real repositories.

use serde_json::Value;
use twining_testcases::each;

use crate::common::repository::Repository;

const HASH: &str = "use bcrypt;

/// Hashes a password.
pub fn hash_password(password: &str, salt: &[u8; 16]) -> String {
    let cost = 12;
    let digest = bcrypt::hash_with_salt(password, cost, *salt);
    digest.map(|hashed| hashed.to_string()).unwrap_or_default()
}

pub fn verify(password: &str, hashed: &str) -> bool {
    bcrypt::verify(password, hashed).unwrap_or(false)
}
";

/// A change that takes code to another place.
type CodeMove = fn(&Shop);

/// A repository with one file of code, and a decision on one of its functions.
struct Shop {
    repository: Repository,
    decision: String,
}

impl Shop {
    fn new() -> Self {
        let repository = Repository::new();
        repository.write("src/hash.rs", HASH);
        repository.commit("start");
        let decided = repository.told(&[
            "decide",
            "Hash passwords with bcrypt, cost 12",
            "--why",
            "slow on purpose: bcrypt at this cost takes 250 ms",
            "--scope",
            "src/hash.rs",
            "--affected-files",
            "src/hash.rs",
            "--affected-symbols",
            "hash_password",
        ]);
        assert_eq!(decided["anchored"][0]["at"], "src/hash.rs#hash_password", "{decided}");
        let decision = decided["id"].as_str().expect("has an id").to_owned();
        let shop = Self { repository, decision };
        shop.repository.commit("decide");
        shop
    }

    fn write(&self, path: &str, text: &str) {
        self.repository.write(path, text);
    }

    /// What is said of the decision's code when somebody asks about a file, asked until what moved
    /// was looked for.
    fn code(&self, path: &str) -> Value {
        self.why(path);
        self.why(path)
    }

    fn why(&self, path: &str) -> Value {
        let why = self.repository.told(&["why", path]);
        let decisions = why["decisions"].as_array().expect("a list");
        let ours = decisions.iter().find(|decision| decision["id"] == self.decision.as_str());
        ours.map_or(Value::Null, |decision| decision["code"].clone())
    }

    fn state(&self, path: &str) -> String {
        let code = self.code(path);
        code["state"].as_str().unwrap_or("fresh").to_owned()
    }
}

#[test]
fn a_decision_is_bound_to_the_definition_it_names_with_the_words_it_shares() {
    let shop = Shop::new();
    let lines = shop.repository.read(".twining/anchors.jsonl");
    let anchor: Value = serde_json::from_str(lines.lines().next().expect("a line")).expect("JSON");
    assert_eq!(anchor["of"], format!("decision:{}", shop.decision));
    assert_eq!((&anchor["kind"], &anchor["event"]), (&"function".into(), &"made".into()));
    let words = anchor["words"].to_string();
    assert!(words.contains("bcrypt") && words.contains("cost"), "{words}");
    let blob = shop.repository.git(&["rev-parse", "HEAD:src/hash.rs"]);
    assert_eq!(anchor["seen"]["blob"], blob.trim());
}

#[test]
fn a_name_that_is_nowhere_is_said_at_once_with_what_is_near() {
    let shop = Shop::new();
    let decided = shop.repository.told(&[
        "decide",
        "Verify twice",
        "--why",
        "because",
        "--affected-files",
        "src/hash.rs",
        "--affected-symbols",
        "hash_pasword",
    ]);
    assert_eq!(decided["unresolved"][0]["name"], "hash_pasword");
    assert_eq!(decided["unresolved"][0]["nearest"][0], "hash_password");
    assert!(decided["id"].is_string(), "it is recorded all the same");
}

#[test]
fn layout_and_comments_change_nothing() {
    let shop = Shop::new();
    let reformatted = HASH
        .replace("    let cost = 12;\n", "    // slow on purpose\n    let   cost\n        = 12;\n")
        .replace(
            "password: &str, salt: &[u8; 16])",
            "\n    password: &str,\n    salt: &[u8; 16],\n)",
        )
        .replace("/// Hashes a password.", "/// Makes of a password what may be stored.");
    shop.write("src/hash.rs", &reformatted);
    assert_eq!(shop.why("src/hash.rs"), Value::Null);
    shop.repository.commit("reformat");
    assert_eq!(shop.why("src/hash.rs"), Value::Null);
}

#[test]
fn a_witness_that_left_the_code_makes_the_record_doubtful_and_confirming_ends_it() {
    let shop = Shop::new();
    shop.write("src/hash.rs", &HASH.replace("bcrypt::hash_with_salt", "argon2::hash_with_salt"));
    let code = shop.why("src/hash.rs");
    assert_eq!(code["state"], "doubtful", "{code}");
    let reason = code["reason"].as_str().expect("a reason");
    assert!(reason.contains("`bcrypt`"), "{reason}");
    let words = shop.repository.run(&["why", "src/hash.rs"]).stdout;
    assert!(words.contains(&format!("twining confirm {}", shop.decision)), "{words}");

    shop.repository.told(&["confirm", &shop.decision, "--reason", "same cost"]);
    assert_eq!(shop.why("src/hash.rs"), Value::Null);
    let lines = shop.repository.read(".twining/anchors.jsonl");
    let last: Value = serde_json::from_str(lines.lines().last().expect("a line")).expect("JSON");
    assert_eq!((&last["event"], &last["reason"]), (&"confirmed".into(), &"same cost".into()));
}

#[test]
fn code_that_moved_is_found_and_judged_there() {
    let moves: [(&str, CodeMove); 3] = [
        ("src/password.rs", |shop| {
            shop.repository.git(&["mv", "src/hash.rs", "src/password.rs"]);
        }),
        ("src/auth.rs", |shop| {
            let (head, tail) = HASH.split_once("pub fn verify").expect("two functions");
            shop.write("src/auth.rs", head);
            shop.write("src/hash.rs", &format!("use bcrypt;\n\npub fn verify{tail}"));
        }),
        ("src/hash.rs", |shop| {
            shop.write("src/hash.rs", &HASH.replace("hash_password", "digest_password"));
        }),
    ];
    each(moves, |(to, make)| {
        let shop = Shop::new();
        make(&shop);
        shop.repository.commit("move");
        let code = shop.code("src/hash.rs");
        assert_eq!(code["moved_from"], "src/hash.rs#hash_password", "{to}: {code}");
        assert!(code["at"].as_str().expect("a place").starts_with(to), "{to}: {code}");

        shop.repository.told(&["confirm", "--all-moved"]);
        let lines = shop.repository.read(".twining/anchors.jsonl");
        assert!(lines.contains("\"event\":\"released\""), "{lines}");
        assert_eq!(shop.why("src/hash.rs"), Value::Null, "{to}");
    });
}

#[test]
fn code_that_is_gone_is_told_so_with_the_commit_and_comes_back_by_a_revert() {
    let shop = Shop::new();
    shop.write("src/hash.rs", "use bcrypt;\n");
    shop.repository.commit("remove");
    let code = shop.code("src/hash.rs");
    assert_eq!(code["state"], "orphaned", "{code}");
    let head = shop.repository.git(&["rev-parse", "HEAD"]);
    assert!(code["reason"].as_str().expect("a reason").contains(&head[..7]), "{code}");
    shop.repository.git(&["revert", "--no-edit", "HEAD"]);
    assert_eq!(shop.state("src/hash.rs"), "fresh");
}

#[test]
fn a_record_can_be_bound_to_another_place_or_let_go() {
    let shop = Shop::new();
    let moved = shop.repository.told(&["reanchor", &shop.decision, "--to", "src/hash.rs#verify"]);
    assert_eq!(moved["to"], "src/hash.rs#verify");
    shop.write("src/hash.rs", &HASH.replace("hash_password", "renamed"));
    assert_eq!(shop.why("src/hash.rs"), Value::Null, "it speaks of another function now");
    shop.repository.told(&["reanchor", &shop.decision, "--release"]);
    let refused = shop.repository.run(&["confirm", &shop.decision]);
    assert_eq!(refused.code, 2, "{refused:?}");
}

#[test]
fn drift_names_the_decisions_that_a_range_takes_the_ground_from() {
    let shop = Shop::new();
    assert_eq!(shop.repository.run(&["drift"]).code, 0);
    shop.write("src/hash.rs", &HASH.replace("bcrypt::hash_with_salt", "argon2::hash_with_salt"));
    let ran = shop.repository.run(&["drift", "--json"]);
    assert_eq!(ran.code, 3, "{ran:?}");
    shop.repository.git(&["add", "-A"]);
    let ran = shop.repository.run(&["drift", "--staged", "--json"]);
    assert_eq!(ran.code, 3, "{ran:?}");
    let found: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!(found["findings"][0]["id"], shop.decision.as_str());
    assert_eq!(found["findings"][0]["became"], "doubtful");
    shop.repository.commit("argon2");
    assert_eq!(shop.repository.run(&["drift", "HEAD~1..HEAD"]).code, 3);
    shop.repository.told(&["confirm", &shop.decision]);
    let ran = shop.repository.run(&["drift", "HEAD~1..HEAD"]);
    assert_eq!(ran.code, 0, "{ran:?}");
}

#[test]
fn each_worktree_is_judged_by_its_own_code() {
    let shop = Shop::new();
    let fix = shop.repository.path("fix");
    shop.repository.git(&["worktree", "add", "-q", "-b", "fix", &fix.to_string_lossy()]);
    let changed = HASH.replace("bcrypt::hash_with_salt", "argon2::hash_with_salt");
    std::fs::write(fix.join("src/hash.rs"), changed).expect("writes");
    let there = shop.repository.run_in(&fix, &["why", "src/hash.rs", "--json"]);
    assert!(there.stdout.contains("doubtful"), "{there:?}");
    assert_eq!(shop.why("src/hash.rs"), Value::Null);
}

#[test]
fn the_code_index_may_be_deleted_at_any_moment() {
    let shop = Shop::new();
    shop.write("src/hash.rs", &HASH.replace("bcrypt::hash_with_salt", "argon2::hash_with_salt"));
    let before = shop.why("src/hash.rs");
    each(["code.db", "code.stamp", "code.db-wal"], |file| {
        let _ = std::fs::remove_file(shop.repository.file(&format!(".twining/local/{file}")));
        assert_eq!(shop.why("src/hash.rs"), before, "{file}");
    });
    std::fs::write(shop.repository.file(".twining/local/code.db"), "not a database")
        .expect("writes");
    assert_eq!(shop.why("src/hash.rs"), before);
}

#[test]
fn a_shallow_clone_calls_nothing_gone() {
    let shop = Shop::new();
    shop.write("src/hash.rs", "use bcrypt;\n");
    shop.repository.commit("remove");
    let clone = shop.repository.path("clone");
    let from = format!("file://{}", shop.repository.path("shop").display());
    shop.repository.git(&["clone", "-q", "--depth", "1", &from, &clone.to_string_lossy()]);
    for _ in 0..2 {
        let why = shop.repository.run_in(&clone, &["why", "src/hash.rs", "--json"]);
        assert!(why.stdout.contains("missing") && !why.stdout.contains("orphaned"), "{why:?}");
    }
}

#[test]
fn the_past_is_asked_with_the_code_it_had() {
    let shop = Shop::new();
    shop.write("src/hash.rs", &HASH.replace("bcrypt::hash_with_salt", "argon2::hash_with_salt"));
    shop.repository.commit("argon2");
    shop.repository.told(&["override", &shop.decision, "--why", "argon2 won"]);
    shop.repository.commit("override");
    let then = shop.repository.told(&["why", "src/hash.rs", "--as-of", "HEAD~1"]);
    assert_eq!(then["decisions"][0]["status"], "active", "{then}");
    assert_eq!(then["decisions"][0]["code"]["state"], "doubtful", "{then}");
    let before = shop.repository.told(&["why", "src/hash.rs", "--as-of", "HEAD~2"]);
    assert_eq!(before["decisions"][0]["code"], Value::Null, "{before}");
    let now = shop.repository.told(&["why", "src/hash.rs"]);
    assert_eq!(now["decisions"][0]["status"], "overridden", "{now}");
    let refused = shop.repository.run(&["why", "src/hash.rs", "--as-of", "nowhere"]);
    assert_eq!(refused.code, 2, "{refused:?}");
}
