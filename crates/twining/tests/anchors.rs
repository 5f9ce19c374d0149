//! Records and the code they speak of, as it changes: stories on real repositories.

use serde_json::Value;
use twining_model::Time;
use twining_testcases::each;

use crate::common::repository::Repository;

pub(crate) const HASH: &str = "use bcrypt;

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
pub(crate) struct Shop {
    pub(crate) repository: Repository,
    pub(crate) decision: String,
}

impl Shop {
    pub(crate) fn new() -> Self {
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

    pub(crate) fn write(&self, path: &str, text: &str) {
        self.repository.write(path, text);
    }

    /// Takes the ground from the decision.
    pub(crate) fn use_argon2(&self) {
        self.write(
            "src/hash.rs",
            &HASH.replace("bcrypt::hash_with_salt", "argon2::hash_with_salt"),
        );
    }

    /// What is said of the decision's code when somebody asks about a file, asked until what moved
    /// was looked for. The index of the code is a cache, so the answer is the same without it.
    pub(crate) fn code(&self, path: &str) -> Value {
        let code = self.settled(path);
        self.forget_code();
        let mut again = self.why(path);
        if again["state"] == "unchecked" {
            // A busy machine had no time to read the file.
            again = self.settled(path);
        }
        assert_eq!(again, code, "the answer depends on code.db");
        code
    }

    /// Writes down what git is called for, and holds these calls for so many seconds.
    pub(crate) fn log_git(&self, held: &str, seconds: &str) {
        let log = self.repository.path("git.log");
        let _ = std::fs::remove_file(&log);
        let script = format!(
            "#!/bin/sh\nPATH=/usr/bin:/bin\necho \"$*\" >> '{}'\ncase \" $* \" in *' {held}'*) sleep {seconds};; esac\nexec git \"$@\"\n",
            log.display()
        );
        self.repository.program("git", &script);
    }

    /// The calls of git since then that contain these words.
    pub(crate) fn git_calls(&self, words: &str) -> Vec<String> {
        let log = std::fs::read_to_string(self.repository.path("git.log")).expect("git was called");
        log.lines().filter(|call| call.contains(words)).map(str::to_owned).collect()
    }

    fn settled(&self, path: &str) -> Value {
        self.why(path);
        let mut code = self.why(path);
        for _ in 0..5 {
            if !matches!(code["state"].as_str(), Some("missing" | "unchecked")) {
                break;
            }
            code = self.why(path);
        }
        code
    }

    pub(crate) fn forget_code(&self) {
        for file in ["code.db", "code.db-wal", "code.db-shm"] {
            let _ = std::fs::remove_file(self.repository.file(&format!(".twining/local/{file}")));
        }
    }

    pub(crate) fn why(&self, path: &str) -> Value {
        let why = self.repository.told(&["why", path]);
        let decisions = why["decisions"].as_array().expect("a list");
        let ours = decisions.iter().find(|decision| decision["id"] == self.decision.as_str());
        ours.map_or(Value::Null, |decision| decision["code"].clone())
    }

    pub(crate) fn state(&self, path: &str) -> String {
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
fn looking_for_names_that_are_not_there_ends_with_the_time_for_it() {
    let shop = Shop::new();
    shop.log_git("grep", "0.6");
    let words = ["decide", "Sign in pieces", "--why", "later", "--affected-files", "src/hash.rs"];
    let symbols = ["first_part", "second_part", "third_part"];
    let symbols = symbols.map(|symbol| ["--affected-symbols", symbol]).concat();
    let decided = shop.repository.told(&[&words[..], &symbols].concat());
    assert_eq!(decided["unresolved"].as_array().map(Vec::len), Some(3), "{decided}");
    assert_eq!(shop.git_calls(" grep ").len(), 1);

    shop.log_git("none", "0");
    let files = ["lib/a.rs", "lib/b.rs", "lib/hash.rs"];
    let files = files.map(|file| ["--affected-files", file]).concat();
    let decided = shop.repository.told(&[&words[..4], &files].concat());
    assert_eq!(decided["unresolved"][2]["nearest"][0], "src/hash.rs", "{decided}");
    let listings = shop.git_calls(" ls-files ");
    let of_all = listings.iter().filter(|call| call.ends_with("--exclude-standard --"));
    assert_eq!(of_all.count(), 1, "{listings:?}");
}

#[test]
fn a_name_that_several_definitions_have_is_bound_to_none_and_each_is_named() {
    let shop = Shop::new();
    shop.write("src/a.rs", "pub fn refresh() -> u8 { 1 }\n");
    shop.write("src/b.rs", "pub fn refresh() -> u8 { 2 }\n");
    shop.repository.commit("two of a name");
    let words = ["decide", "Refresh hourly", "--why", "because", "--affected-symbol", "refresh"];
    let decided = shop.repository.told(&words);
    assert!(decided.get("anchored").is_none(), "{decided}");
    let unresolved = &decided["unresolved"][0];
    assert_eq!(unresolved["name"], "refresh", "{decided}");
    let nearest = unresolved["nearest"].to_string();
    assert_eq!(nearest, r#"["src/a.rs#refresh","src/b.rs#refresh"]"#, "{decided}");
}

#[test]
fn a_scope_that_is_nowhere_is_said_too() {
    let cases = [
        ("src/hash.rs#hash_pasword", "hash_pasword", "hash_password"),
        ("src/hash.rs:4000", "src/hash.rs:4000", "src/hash.rs:"),
        ("lib/hash.rs", "lib/hash.rs", "src/hash.rs"),
        ("src/hsah.rs", "src/hsah.rs", "src/hash.rs"),
        ("hash.rs", "hash.rs", "src/hash.rs"),
        ("src/other.rs#hash_password", "hash_password", "src/hash.rs#hash_password"),
    ];
    each(cases, |(scope, name, nearest)| {
        let shop = Shop::new();
        shop.write("src/other.rs", "pub fn other() {}\n");
        shop.repository.commit("other");
        let posted = shop.repository.told(&["post", "warning", "slow", "--scope", scope]);
        let unresolved = &posted["unresolved"][0];
        assert_eq!(unresolved["name"], name, "{posted}");
        let near = unresolved["nearest"][0].as_str().expect("something is near");
        assert!(near.starts_with(nearest), "{near}");
    });
}

#[test]
fn a_scope_that_is_a_label_or_a_folder_is_no_missing_file() {
    let shop = Shop::new();
    let scopes = ["auth", "src", "src/", "planned/", "v1.2", "api/v1.2", "next.js", "release-2.0"];
    each(scopes, |scope| {
        let posted = shop.repository.told(&["post", "warning", scope, "--scope", scope]);
        assert_eq!(posted["unresolved"], Value::Null, "{posted}");
    });
    let recent = shop.repository.told(&["recent", "20"]);
    assert!(!recent.to_string().contains("unbound"), "{recent}");
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
fn a_decision_whose_code_is_gone_is_not_confirmed_and_its_advice_settles_it() {
    let shop = Shop::new();
    shop.write("src/hash.rs", "pub fn nothing_like_it() {}\n");
    let drift = shop.repository.run(&["drift"]);
    assert_eq!(drift.code, 3, "{drift:?}");
    let advice = format!("twining reanchor {} --at 'src/hash.rs#hash_password'", shop.decision);
    let said = drift.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains(&advice) && said.contains("--release"), "{said}");
    assert!(!said.contains("twining confirm"), "{said}");

    let confirmed = shop.repository.run(&["confirm", &shop.decision]);
    assert_eq!(confirmed.code, 3, "{confirmed:?}");
    assert!(confirmed.stdout.contains("not confirmed"), "{confirmed:?}");
    let at = ["--at", "src/hash.rs#hash_password", "--release"];
    shop.repository.told(&[&["reanchor", &shop.decision][..], &at[..]].concat());
    let drift = shop.repository.run(&["drift"]);
    assert_eq!(drift.code, 0, "{drift:?}");
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
        let at = code["at"].as_str().expect("a place");
        assert!(at.starts_with(to), "{to}: {code}");
        let impact = shop.repository.told(&["impact", at]);
        assert_eq!(impact["code"]["records"][0]["id"], shop.decision.as_str(), "{impact}");
        shop.forget_code();
        each([at, to], |asked| {
            let impact = shop.repository.told(&["impact", asked]);
            assert_eq!(impact["code"]["records"][0]["id"], shop.decision.as_str(), "{impact}");
            shop.forget_code();
            assert_eq!(shop.why(asked)["moved_from"], "src/hash.rs#hash_password");
        });
        shop.repository.git(&["commit", "-q", "--allow-empty", "-m", "nothing"]);
        assert_eq!(shop.why(to)["moved_from"], "src/hash.rs#hash_password");

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
    let refused = shop.repository.run(&["reanchor", &shop.decision, "--to", "src/hash.rs#verfy"]);
    assert!(refused.stderr.contains("src/hash.rs#verify"), "{refused:?}");
    let moved = shop.repository.told(&["reanchor", &shop.decision, "--to", "src/hash.rs#verify"]);
    assert_eq!(moved["to"], "src/hash.rs#verify");
    shop.write("src/hash.rs", &HASH.replace("hash_password", "renamed"));
    assert_eq!(shop.why("src/hash.rs"), Value::Null, "it speaks of another function now");
    shop.repository.told(&["reanchor", &shop.decision, "--release"]);
    let refused = shop.repository.run(&["confirm", &shop.decision]);
    assert_eq!(refused.code, 2, "{refused:?}");
}

#[test]
fn the_context_of_a_task_says_what_became_of_the_code() {
    let shop = Shop::new();
    let warned = ["post", "warning", "bcrypt blocks the event loop", "--scope"];
    shop.repository.told(&[&warned[..], &["src/hash.rs#hash_password"]].concat());
    shop.use_argon2();
    let told = || shop.repository.run(&["assemble", "speed up bcrypt", "--scope", "src/"]).stdout;
    let context = told();
    let doubtful = |line: &&str| line.contains("doubtful");
    assert_eq!(context.lines().filter(doubtful).count(), 2, "{context}");
    shop.write("src/hash.rs", "use bcrypt;\n");
    shop.repository.commit("remove");
    shop.state("src/hash.rs");
    let context = told();
    assert!(context.contains("Their code is gone"), "{context}");
    assert!(!context.contains("token budget"), "{context}");
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
fn a_commit_message_confirms_and_after_the_commit_the_record_is_fresh() {
    let shop = Shop::new();
    shop.use_argon2();
    let message = format!("argon2\n\nTwining-Confirms: {}", shop.decision);
    shop.repository.commit(&message);
    let found = shop.repository.told(&["drift", "HEAD~1..HEAD"]);
    let head = shop.repository.git(&["rev-parse", "HEAD"]);
    assert_eq!(found["findings"][0]["confirmed_in"], head.trim(), "{found}");
    assert_eq!(shop.why("src/hash.rs")["state"], "doubtful");
    let ran = shop.repository.run(&["hook", "--agent", "git", "post-commit"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(shop.why("src/hash.rs"), Value::Null);
}

#[test]
fn drift_is_written_as_sarif() {
    let shop = Shop::new();
    shop.use_argon2();
    let ran = shop.repository.run(&["drift", "--sarif", "drift.sarif"]);
    assert_eq!(ran.code, 3, "{ran:?}");
    let log = shop.repository.json("drift.sarif");
    assert_eq!(log["version"], "2.1.0");
    let run = &log["runs"][0];
    let result = &run["results"][0];
    assert_eq!((&result["ruleId"], &result["level"]), (&"doubtful".into(), &"error".into()));
    let place = &result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"];
    assert_eq!(*place, "src/hash.rs", "{result}");
    let rules = run["tool"]["driver"]["rules"].as_array().expect("rules");
    assert!(rules.iter().any(|rule| rule["id"] == result["ruleId"]), "{rules:?}");
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
        assert!(why.stdout.contains("shallow clone"), "{why:?}");
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
    // Of a day its end, also of the first one.
    let at = shop.repository.git(&["log", "-1", "--format=%cI"]);
    let day = Time::read(at.trim()).expect("a time").date();
    let today = shop.repository.told(&["why", "src/hash.rs", "--as-of", &day]);
    assert_eq!(today["decisions"][0]["status"], "overridden", "{today}");
    let refused = shop.repository.run(&["why", "src/hash.rs", "--as-of", "nowhere"]);
    assert_eq!(refused.code, 2, "{refused:?}");
}

#[test]
fn knowledge_and_features_are_bound_to_the_code_they_name() {
    let shop = Shop::new();
    let add = r#"{"op":"add_node","id":"hasher","type":"component","level":"implementation","status":"current","description":"keeps the cost of bcrypt in one place","path":"src/hash.rs#hash_password"}"#;
    let updated = shop.repository.told(&["knowledge", "update", "--op", add]);
    assert_eq!(updated["anchored"][0]["at"], "src/hash.rs#hash_password", "{updated}");
    let stray =
        r#"{"op":"update_node","id":"hasher","path":"src/hash.rs#verify, src/nowhere.rs, src"}"#;
    let updated = shop.repository.told(&["knowledge", "update", "--op", stray]);
    assert_eq!(updated["anchored"][0]["at"], "src/hash.rs#verify", "{updated}");
    assert_eq!(updated["unresolved"], serde_json::json!([{"name": "src/nowhere.rs"}]));

    let files = ["--file", "src/hash.rs", "--file", "src/new.rs"];
    let words = ["features", "add", "F1", "--description", "Rotate the bcrypt cost"];
    let added = shop.repository.told(&[&words[..], &files].concat());
    assert_eq!(added["anchored"][0]["at"], "src/hash.rs", "{added}");
    assert_eq!(added["unresolved"][0]["name"], "src/new.rs", "{added}");

    let lines = shop.repository.read(".twining/anchors.jsonl");
    let of = |record: &str, event: &str| {
        let lines = lines.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
        lines.filter(|line| line["of"] == record && line["event"] == event).count()
    };
    assert_eq!((of("node:hasher", "made"), of("node:hasher", "released")), (2, 1), "{lines}");
    assert_eq!((of("feature:F1", "made"), of("feature:F1", "released")), (1, 0), "{lines}");
    let impact = shop.repository.told(&["impact", "src/hash.rs#verify"]);
    assert_eq!(impact["code"]["records"][0]["id"], "hasher", "{impact}");

    let posted = shop.repository.told(&[
        "post",
        "warning",
        "bcrypt blocks the loop",
        "--scope",
        "src/hash.rs#hash_password",
    ]);
    assert_eq!(posted["beside"], serde_json::json!([shop.decision]), "{posted}");
    shop.write("src/hash.rs", &HASH.replace("bcrypt::verify", "argon2::verify"));
    let confirmed = shop.repository.told(&["confirm", "node:hasher"]);
    assert_eq!(confirmed["confirmed"][0]["anchored"][0]["at"], "src/hash.rs#verify");
}

#[test]
fn a_record_from_before_is_bound_on_first_sight_and_written_down_when_asked() {
    let repository = Repository::new();
    repository.write("src/hash.rs", HASH);
    repository.write(".twining/config.yml", "code:\n  index: false\n");
    repository.commit("start");
    let decided = repository.told(&[
        "decide",
        "Hash passwords with bcrypt, cost 12",
        "--why",
        "slow on purpose",
        "--affected-files",
        "src/hash.rs",
        "--affected-symbols",
        "hash_password",
        "--scope",
        "src/",
    ]);
    assert_eq!(decided["anchored"], Value::Null, "{decided}");
    let decision = decided["id"].as_str().expect("has an id").to_owned();
    repository.write(".twining/config.yml", "code:\n  index: true\n");
    let shop = Shop { repository, decision };
    assert_eq!(shop.state("src/hash.rs"), "fresh");
    shop.write("src/hash.rs", &HASH.replace("bcrypt::hash_with_salt", "argon2::hash_with_salt"));
    let code = shop.code("src/hash.rs");
    assert_eq!(code["at"], "src/hash.rs#hash_password", "{code}");
    assert_eq!(code["state"], "doubtful", "{code}");
    let written = shop.repository.file(".twining/anchors.jsonl");
    assert!(!written.exists(), "nothing is written unasked");

    let kept = shop.repository.told(&["confirm", "--all-fresh"]);
    assert_eq!(kept["confirmed"], serde_json::json!([]), "its code changed: {kept}");
    shop.write("src/hash.rs", HASH);
    let kept = shop.repository.told(&["confirm", "--all-fresh"]);
    assert_eq!(kept["confirmed"][0]["id"], shop.decision.as_str(), "{kept}");
    let lines = shop.repository.read(".twining/anchors.jsonl");
    assert!(lines.contains("\"event\":\"assumed\"") && lines.lines().count() == 1, "{lines}");
    assert_eq!(shop.state("src/hash.rs"), "fresh");
}

#[test]
fn a_record_from_before_counts_where_anchors_are_asked_for() {
    let repository = Repository::new();
    repository.write("src/hash.rs", HASH);
    repository.write(".twining/config.yml", "code:\n  index: false\n");
    repository.commit("start");
    let old = ["decide", "Hash passwords with bcrypt, cost 12", "--why", "slow on purpose"];
    let named = ["--affected-files", "src/hash.rs", "--affected-symbols", "hash_password"];
    let decided = repository.told(&[&old[..], &named].concat());
    let posted =
        repository.told(&["post", "warning", "`verify` is slow", "--scope", "src/hash.rs"]);
    repository.write(".twining/config.yml", "code:\n  index: true\n");
    repository.commit("decide");

    let impact = repository.told(&["impact", "src/hash.rs#hash_password"]);
    let records = &impact["code"]["records"];
    assert_eq!(records[0]["id"], decided["id"], "{impact}");
    assert_eq!(records[0]["assumed"], true, "{impact}");
    let impact = repository.told(&["impact", "src/hash.rs"]);
    let both = impact["code"]["records"].as_array().expect("a list");
    assert!(both.iter().any(|record| record["id"] == posted["id"]), "{impact}");
    let why = repository.told(&["why", "src/hash.rs#hash_password"]);
    assert_eq!(why["decisions"][0]["matched"], "definition", "{why}");
    assert_eq!(why["decisions"][0]["assumed"], true, "{why}");

    let argon = HASH.replace("bcrypt::hash_with_salt", "argon2::hash_with_salt");
    repository.write("src/hash.rs", &argon);
    let drift = repository.run(&["drift", "--json"]);
    assert_eq!(drift.code, 3, "{drift:?}");
    let drift: Value = serde_json::from_str(&drift.stdout).expect("JSON");
    let findings = drift["findings"].as_array().expect("a list");
    let ours = findings.iter().find(|finding| finding["id"] == decided["id"]);
    assert!(ours.is_some_and(|ours| ours["assumed"] == true), "{drift}");
    assert!(!repository.file(".twining/anchors.jsonl").exists(), "nothing is written unasked");
}

#[test]
fn a_function_that_was_split_says_which_word_left_it() {
    let shop = Shop::new();
    let (head, tail) = HASH.split_once("    let cost").expect("a body");
    let (body, tail) = tail.split_once("    digest.map").expect("a body");
    let split = format!(
        "{head}    let digest = digest(password, salt);\n    digest.map{tail}\nfn digest(password: &str, salt: &[u8; 16]) -> Result<String, ()> {{\n    let cost{body}    digest\n}}\n"
    );
    shop.write("src/hash.rs", &split);
    shop.repository.commit("split");
    let code = shop.code("src/hash.rs");
    assert_eq!(code["state"], "doubtful", "{code}");
    assert!(code["reason"].as_str().expect("a reason").contains("`bcrypt`"), "{code}");
    shop.repository.told(&["reanchor", &shop.decision, "--to", "src/hash.rs#digest"]);
    assert_eq!(shop.state("src/hash.rs"), "fresh");
}

#[test]
fn of_two_functions_that_became_one_the_absorbed_is_gone() {
    let shop = Shop::new();
    let words = ["decide", "Verify by bcrypt alone", "--why", "one library"];
    let places = ["--scope", "src/hash.rs#verify"];
    let other = shop.repository.told(&[&words[..], &places].concat());
    let other = Shop { decision: other["id"].as_str().expect("an id").to_owned(), ..shop };
    other.repository.commit("decide again");
    let merged = "use bcrypt;\n\npub fn verify(password: &str, hashed: Option<&str>, salt: &[u8; 16]) -> Option<String> {\n    if let Some(hashed) = hashed {\n        return bcrypt::verify(password, hashed).unwrap_or(false).then(String::new);\n    }\n    let cost = 12;\n    let digest = bcrypt::hash_with_salt(password, cost, *salt);\n    digest.map(|hashed| hashed.to_string()).ok()\n}\n";
    other.write("src/hash.rs", merged);
    other.repository.commit("merge two functions");
    let code = other.code("src/hash.rs");
    assert_eq!(code["at"], "src/hash.rs#verify", "{code}");
    assert_ne!(code["state"], "orphaned", "{code}");
    let why = other.repository.told(&["why", "src/hash.rs"]);
    let decisions = why["decisions"].as_array().expect("a list");
    let absorbed = decisions.iter().find(|found| found["id"] != other.decision.as_str());
    assert_eq!(absorbed.expect("is told")["code"]["state"], "orphaned", "{why}");
}

/// Puts `hash_password` into a file of its own; what is left of the first.
pub(crate) fn taken_apart() -> (String, String) {
    let (head, tail) = HASH.split_once("pub fn verify").expect("two functions");
    (head.to_owned(), format!("use bcrypt;\n\npub fn verify{tail}"))
}

#[test]
fn ten_thousand_anchors_on_one_file_are_answered_within_bounds() {
    let shop = Shop::new();
    let line = shop.repository.read(".twining/anchors.jsonl");
    let entry = r#"{"id":"ID","timestamp":"2026-01-01T00:00:00.000Z","agent_id":"ada","entry_type":"finding","tags":[],"relates_to":[],"scope":"src/hash.rs","summary":"number ID","detail":""}"#;
    let anchor: Value = serde_json::from_str(line.trim()).expect("JSON");
    let (mut entries, mut anchors) = (String::new(), line);
    for number in 0..10_000 {
        let id = format!("01K8{number:022}");
        entries += &format!("{}\n", entry.replace("ID", &id));
        let mut anchor = anchor.clone();
        (anchor["id"], anchor["of"]) =
            (format!("01K9{number:022}").into(), format!("entry:{id}").into());
        anchors += &format!("{anchor}\n");
    }
    let board = shop.repository.read(".twining/blackboard.jsonl");
    shop.write(".twining/blackboard.jsonl", &format!("{board}{entries}"));
    shop.write(".twining/anchors.jsonl", &anchors);
    shop.write("src/hash.rs", &HASH.replace("bcrypt::hash_with_salt", "argon2::hash_with_salt"));
    assert_eq!(shop.why("src/hash.rs")["state"], "doubtful");
    each(["src/hash.rs", "src/hash.rs#hash_password"], |at| {
        let impact = shop.repository.run(&["impact", at, "--json"]);
        assert!(impact.stdout.len() < 40_000, "{} bytes", impact.stdout.len());
        let impact: Value = serde_json::from_str(&impact.stdout).expect("JSON");
        let records = impact["code"]["records"].as_array().expect("a list");
        assert_eq!((records.len(), &records[0]["id"]), (30, &shop.decision.as_str().into()));
        let why = shop.repository.run(&["why", at, "--json"]).stdout;
        assert!(why.len() < 40_000, "{} bytes", why.len());
    });
    let decided = shop.repository.told(&[
        "decide",
        "Twice",
        "--why",
        "to be sure",
        "--scope",
        "src/hash.rs#hash_password",
    ]);
    assert_eq!(decided["beside"].as_array().map(Vec::len), Some(5), "{decided}");
}

#[test]
fn a_file_that_comes_and_goes_while_it_is_read_makes_no_question_fail() {
    let shop = Shop::new();
    let file = shop.repository.file("src/hash.rs");
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                let _ = std::fs::remove_file(&file);
                let _ = std::fs::write(&file, HASH.replace("12", "13"));
            }
        });
        for _ in 0..12 {
            let ran = shop.repository.run(&["why", "src/hash.rs", "--json"]);
            assert_eq!(ran.code, 0, "{ran:?}");
            shop.forget_code();
        }
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
    });
    shop.write("src/hash.rs", HASH);
    assert_eq!(shop.state("src/hash.rs"), "fresh");
}
