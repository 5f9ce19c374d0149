//! Code that moved and that nobody bound its records to anew: what is told of it all the same.

use std::path::Path;

use serde_json::{Value, json};
use twining_testcases::each;

use crate::anchors::{HASH, Shop, taken_apart};

/// How the branch `work` comes to main.
const JOINS: [(&str, &[&[&str]]); 2] = [
    ("rebase", &[&["rebase", "-q", "main"], &["checkout", "-q", "main"], &["merge", "-q", "work"]]),
    (
        "squash",
        &[
            &["checkout", "-q", "main"],
            &["merge", "-q", "--squash", "work"],
            &["commit", "-qm", "squashed"],
            &["branch", "-q", "-D", "work"],
        ],
    ),
];

/// A change of a shop.
type CodeChange = fn(&Shop);

/// A shop whose function moved to another file, which nobody accepted.
fn moved_shop() -> Shop {
    let shop = Shop::new();
    let (moved, rest) = taken_apart();
    shop.write("src/auth.rs", &moved);
    shop.write("src/hash.rs", &rest);
    shop.repository.commit("move");
    shop
}

/// How often a call asks git.
fn git_calls(shop: &Shop, words: &[&str]) -> usize {
    let log = shop.repository.path("git.log");
    let script = format!(
        "#!/bin/sh\necho \"$1\" >> '{}'\nPATH=/usr/bin:/bin\nexec git \"$@\"\n",
        log.display()
    );
    shop.repository.program("git", &script);
    std::fs::write(&log, "").expect("writes");
    shop.repository.told(words);
    std::fs::read_to_string(&log).expect("reads").lines().count()
}

fn rewrite(shop: &Shop) {
    let moved = taken_apart().0.replace("bcrypt::hash_with_salt", "argon2::hash_with_salt");
    shop.write("src/auth.rs", &moved);
}

/// What a range takes from the decision, as soon as the shop forgets what it knew of the code.
fn found(shop: &Shop, words: &[&str]) -> Value {
    shop.forget_code();
    let ran = shop.repository.run(&[&["drift", "--json"], words].concat());
    let drift: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    let finding = drift["findings"][0].clone();
    assert_eq!(finding["id"], shop.decision.as_str(), "{words:?}: {drift}");
    assert_eq!(ran.code == 3, finding["became"] != "moved", "{drift}");
    json!([finding["became"], finding["at"], finding["to"]])
}

#[test]
fn drift_after_a_move_that_nobody_accepted_is_found() {
    let changes: [(&str, CodeChange); 4] = [
        (r#"["doubtful","src/auth.rs#hash_password",null]"#, rewrite),
        (r#"["orphaned","src/auth.rs#hash_password",null]"#, |shop| {
            shop.write("src/auth.rs", "use bcrypt;\n");
        }),
        (r#"["moved","src/auth.rs#hash_password","src/last.rs#hash_password"]"#, |shop| {
            shop.repository.git(&["mv", "src/auth.rs", "src/last.rs"]);
        }),
        (r#"["doubtful","src/auth.rs#hash_password",null]"#, |shop| {
            rewrite(shop);
            shop.write("src/hash.rs", "pub fn other() {}\n");
        }),
    ];
    each(changes, |(wanted, change)| {
        let shop = moved_shop();
        change(&shop);
        shop.repository.git(&["add", "-A"]);
        assert_eq!(found(&shop, &[]).to_string(), wanted);
        assert_eq!(found(&shop, &["--staged"]).to_string(), wanted);
        shop.repository.commit("change");
        assert_eq!(found(&shop, &["HEAD~1..HEAD"]).to_string(), wanted);
        shop.repository.git(&["commit", "-q", "--allow-empty", "-m", "nothing"]);
        assert_eq!(found(&shop, &["HEAD~2..HEAD~1"]).to_string(), wanted);
    });
}

#[test]
fn a_move_alone_and_what_was_doubtful_before_it_are_no_drift_later() {
    let shop = moved_shop();
    shop.write("src/auth.rs", &taken_apart().0.replace("/// Hashes", "/// Makes a hash of"));
    assert_eq!(shop.repository.run(&["drift"]).code, 0);
    rewrite(&shop);
    shop.repository.commit("argon2");
    shop.write("README.md", "A shop.\n");
    shop.repository.commit("readme");
    let ran = shop.repository.run(&["drift", "HEAD~1..HEAD"]);
    assert!(ran.code == 0 && ran.stdout.contains("nothing drifted"), "{ran:?}");
}

#[test]
fn whoever_commits_is_asked_about_code_that_moved_before() {
    let shop = moved_shop();
    shop.write(".twining/config.yml", "code:\n  ask: commit\n");
    // What moved was looked for once, as a server does by itself.
    shop.code("src/hash.rs");
    rewrite(&shop);
    shop.repository.git(&["add", "-A"]);
    let git = shop.repository.run(&["hook", "--agent", "git", "pre-commit"]);
    assert!(git.stderr.contains("You changed `src/auth.rs#hash_password`"), "{git:?}");
}

#[test]
fn whoever_commits_is_asked_about_records_from_before_too() {
    let shop = Shop::new();
    shop.write(".twining/config.yml", "code:\n  index: false\n");
    let words = ["decide", "Verify by bcrypt alone", "--why", "one library", "--affected-files"];
    let named = ["src/hash.rs", "--affected-symbols", "verify"];
    let old = shop.repository.told(&[&words[..], &named].concat());
    shop.write(".twining/config.yml", "code:\n  ask: commit\n");
    shop.repository.commit("decide");
    shop.write("src/hash.rs", &HASH.replace("bcrypt::verify", "argon2::verify"));
    shop.repository.git(&["add", "-A"]);
    let git = shop.repository.run(&["hook", "--agent", "git", "pre-commit"]);
    assert!(git.stderr.contains(old["id"].as_str().expect("an id")), "{git:?}");
}

#[test]
fn many_records_from_before_do_not_hold_a_commit() {
    let shop = Shop::new();
    shop.write(".twining/config.yml", "code:\n  index: false\n");
    for number in 1..=8 {
        let (summary, symbol) = (format!("Rule {number} of hashing"), format!("missing_{number}"));
        let words = ["decide", &summary, "--why", "it was so", "--affected-files", "src/hash.rs"];
        shop.repository.told(&[&words[..], &["--affected-symbols", &symbol]].concat());
    }
    shop.write(".twining/config.yml", "code:\n  ask: commit\n");
    shop.repository.commit("decide");
    shop.use_argon2();
    shop.repository.git(&["add", "-A"]);
    shop.log_git("--before=", "0.1");
    let git = shop.repository.run(&["hook", "--agent", "git", "pre-commit"]);
    assert!(git.stderr.contains(&shop.decision), "{git:?}");
    // Each is looked up for the commit of its time.
    let first = shop.git_calls(" --before=").len();
    assert!((1..=2).contains(&first), "{first} were looked up");
    shop.repository.run(&["hook", "--agent", "git", "pre-commit"]);
    let both = shop.git_calls(" --before=").len();
    assert!(both > first, "the next commit goes on: {both}");
}

/// What is said of the decision's code in any answer.
fn code_in(answer: &Value, id: &str) -> Value {
    let lists = ["results", "decisions", "entries", "items", "context", "relevant"];
    let items = lists.iter().filter_map(|list| answer[*list].as_array()).flatten();
    let ours = items.into_iter().find(|item| item["id"] == id || item["decision"]["id"] == id);
    ours.map_or(Value::Null, |item| item["code"].clone())
}

#[test]
fn without_the_index_of_the_code_every_answer_says_the_same_of_it() {
    let shop = moved_shop();
    rewrite(&shop);
    shop.repository.commit("argon2");
    let why = shop.code("src/hash.rs");
    assert_eq!(
        (&why["state"], &why["at"]),
        (&json!("doubtful"), &json!("src/auth.rs#hash_password"))
    );
    let asked: [&[&str]; 4] = [
        &["search-decisions", "bcrypt"],
        &["query", "bcrypt"],
        &["read", "--ids", &shop.decision],
        &["recent", "5"],
    ];
    each(asked, |words| {
        shop.forget_code();
        let answer = shop.repository.told(words);
        assert!(answer.to_string().contains("src/auth.rs#hash_password"), "{answer}");
        assert!(!answer.to_string().contains("\"missing\""), "{answer}");
    });
    each(["assemble", "status"], |verb| {
        let words: &[&str] = if verb == "assemble" {
            &[verb, "speed up bcrypt", "--scope", "src/"]
        } else {
            &[verb]
        };
        let known = shop.repository.told(words);
        shop.forget_code();
        let answer = shop.repository.told(words);
        let code = |answer: &Value| match verb {
            "assemble" => code_in(answer, &shop.decision),
            _ => answer["code"].clone(),
        };
        assert_eq!(code(&answer), code(&known), "{answer}");
        assert!(answer.to_string().contains("doubtful"), "{answer}");
    });
}

fn why_in(shop: &Shop, dir: &Path, path: &str) -> Value {
    let ask = || {
        let ran = shop.repository.run_in(dir, &["why", path, "--json"]);
        assert_eq!(ran.code, 0, "{ran:?}");
        let why: Value = serde_json::from_str(&ran.stdout).expect("JSON");
        code_in(&why, &shop.decision)
    };
    // What was gone is looked for after the first answer.
    ask();
    (0..5).map(|_| ask()).find(|code| code["state"] != "missing").unwrap_or_else(ask)
}

#[test]
fn a_second_worktree_follows_its_own_moves() {
    let shop = Shop::new();
    let fix = shop.repository.path("fix");
    let dir = fix.to_string_lossy().into_owned();
    shop.repository.git(&["worktree", "add", "-q", "-b", "fix", &dir]);
    let git = |words: &[&str]| drop(shop.repository.git(&[&["-C", dir.as_str()], words].concat()));
    let write = |path: &str, text: &str| {
        std::fs::write(fix.join(path), text).expect("writes");
        git(&["add", "-A"]);
    };
    let steps: [(&str, &dyn Fn(), &str); 4] = [
        ("rename", &|| git(&["mv", "src/hash.rs", "src/password.rs"]), "src/password.rs"),
        (
            "move",
            &|| {
                write("src/auth.rs", &taken_apart().0);
                write("src/password.rs", &taken_apart().1);
            },
            "src/auth.rs",
        ),
        ("delete", &|| git(&["rm", "-q", "src/auth.rs"]), ""),
        ("revert", &|| git(&["revert", "--no-edit", "--no-commit", "HEAD"]), "src/auth.rs"),
    ];
    each(steps, |(step, change, file)| {
        change();
        git(&["commit", "-q", "-m", step]);
        let code = why_in(&shop, &fix, "src/hash.rs");
        if file.is_empty() {
            assert_eq!(code["state"], "orphaned", "{step}: {code}");
        } else {
            assert_eq!(code["at"], format!("{file}#hash_password"), "{step}: {code}");
        }
        let here = shop.repository.told(&["why", "src/hash.rs"]);
        assert_eq!(code_in(&here, &shop.decision), Value::Null, "{step}: {here}");
    });
}

#[test]
fn a_rename_a_split_and_a_merge_of_functions_survive_a_rebase_and_a_squash() {
    let split = |text: &str| {
        text.replace(
            "    let cost = 12;\n    let digest = bcrypt::hash_with_salt(password, cost, *salt);\n",
            "    let digest = digest(password, salt);\n",
        ) + "\nfn digest(password: &str, salt: &[u8; 16]) -> Result<String, ()> {\n    let cost = 12;\n    bcrypt::hash_with_salt(password, cost, *salt)\n}\n"
    };
    let merged = "use bcrypt;\n\npub fn verify(password: &str, hashed: Option<&str>, salt: &[u8; 16]) -> Option<String> {\n    if let Some(hashed) = hashed {\n        return bcrypt::verify(password, hashed).unwrap_or(false).then(String::new);\n    }\n    let cost = 12;\n    let digest = bcrypt::hash_with_salt(password, cost, *salt);\n    digest.map(|hashed| hashed.to_string()).ok()\n}\n";
    let changes = [
        ("rename", HASH.replace("hash_password", "digest_password"), "src/hash.rs#digest_password"),
        ("split", split(HASH), "doubtful"),
        ("merge", merged.to_owned(), "orphaned"),
    ];
    for (how, commands) in JOINS {
        each(changes.clone(), |(change, text, wanted)| {
            let shop = Shop::new();
            shop.repository.git(&["checkout", "-q", "-b", "work"]);
            shop.write("src/hash.rs", &text);
            shop.repository.commit(change);
            shop.repository.git(&["checkout", "-q", "main"]);
            shop.write("README.md", "A shop.\n");
            shop.repository.commit("meanwhile");
            shop.repository.git(&["checkout", "-q", "work"]);
            for command in commands {
                shop.repository.git(command);
            }
            let code = shop.code("src/hash.rs");
            let told = if wanted.contains('#') { &code["at"] } else { &code["state"] };
            assert_eq!(*told, wanted, "{change} after a {how}: {code}");
        });
    }
}

#[test]
fn code_that_was_copied_first_and_removed_later_is_found() {
    let cases: [(&str, CodeChange); 2] = [
        ("in a commit of its own", |shop| {
            shop.write("src/copy.rs", &taken_apart().0);
            shop.repository.commit("copy");
            shop.write("src/hash.rs", &taken_apart().1);
            shop.repository.commit("remove");
        }),
        ("not committed yet", |shop| {
            shop.write("src/hash.rs", &taken_apart().1);
            shop.repository.commit("remove");
            assert_eq!(shop.code("src/hash.rs")["state"], "orphaned");
            shop.write("src/copy.rs", &taken_apart().0);
        }),
    ];
    each(cases, |(case, make)| {
        let shop = Shop::new();
        make(&shop);
        let code = shop.code("src/hash.rs");
        assert_eq!(code["at"], "src/copy.rs#hash_password", "{case}: {code}");
        assert_eq!(code["moved_from"], "src/hash.rs#hash_password", "{case}: {code}");
    });
}

#[test]
fn a_move_on_a_branch_is_followed_after_a_rebase_and_a_squash() {
    each(JOINS, |(how, commands)| {
        let shop = Shop::new();
        shop.repository.git(&["checkout", "-q", "-b", "work"]);
        let rotate = "\npub fn rotate(stored: &str, password: &str) -> Option<String> {\n    let cost = stored.split('$').nth(2)?.parse::<u32>().ok()?;\n    (cost < 12).then(|| bcrypt::hash(password, 12).unwrap_or_default())\n}\n";
        shop.write("src/hash.rs", &format!("{HASH}{rotate}"));
        shop.repository.commit("rotate");
        let words = ["decide", "Raise the cost at login", "--why", "only then is it known"];
        let places = ["--scope", "src/hash.rs#rotate"];
        let decided = shop.repository.told(&[&words[..], &places].concat());
        let shop = Shop { decision: decided["id"].as_str().expect("an id").to_owned(), ..shop };
        shop.repository.commit("decide to rotate");
        shop.write("src/hash.rs", HASH);
        shop.write("src/rotate.rs", &format!("use bcrypt;\n{rotate}"));
        shop.repository.commit("move");
        shop.repository.git(&["checkout", "-q", "main"]);
        shop.write("README.md", "A shop.\n");
        shop.repository.commit("meanwhile");
        shop.repository.git(&["checkout", "-q", "work"]);
        for command in commands {
            shop.repository.git(command);
        }
        let code = shop.code("src/hash.rs");
        assert_eq!(code["at"], "src/rotate.rs#rotate", "{how}: {code}");
        shop.repository.git(&["checkout", "-q", "-b", "back"]);
        shop.repository.git(&["rm", "-q", "src/rotate.rs"]);
        shop.repository.commit("drop");
        assert_eq!(shop.state("src/hash.rs"), "orphaned", "{how}");
        shop.repository.git(&["revert", "--no-edit", "HEAD"]);
        assert_eq!(shop.code("src/hash.rs")["at"], "src/rotate.rs#rotate", "{how}");
    });
}

#[test]
fn the_first_question_about_a_place_tells_what_moved_there() {
    let shop = Shop::new();
    shop.repository.git(&["mv", "src/hash.rs", "src/password.rs"]);
    let text = HASH.replace("pub fn verify", "pub fn verify_all");
    shop.write("src/password.rs", &text);
    shop.repository.commit("move");
    let told = shop.repository.told(&["why", "src/password.rs#hash_password"]);
    assert_eq!(told["decisions"][0]["id"], shop.decision.as_str(), "{told}");
}

#[test]
fn what_was_cut_when_somebody_asked_is_told_where_it_was_pasted() {
    each(["in one commit", "in two"], |commits| {
        let shop = Shop::new();
        let (cut, rest) = taken_apart();
        shop.write("src/hash.rs", &rest);
        if commits == "in two" {
            shop.repository.commit("cut");
        }
        shop.why("src/hash.rs");
        assert_eq!(shop.why("src/hash.rs")["state"], "orphaned", "{commits}");
        shop.write("src/auth.rs", &cut);
        shop.repository.commit("paste");
        // A busy machine finds it after the first answer.
        shop.why("src/auth.rs");
        let told = shop.repository.told(&["why", "src/auth.rs"]);
        assert_eq!(told["decisions"][0]["id"], shop.decision.as_str(), "{commits}: {told}");
        assert_eq!(shop.why("src/hash.rs")["at"], "src/auth.rs#hash_password", "{commits}");
    });
}

#[test]
fn a_file_of_the_past_has_the_decisions_that_its_code_had_then() {
    let shop = Shop::new();
    shop.write("src/auth.rs", "pub fn login() {}\n");
    shop.repository.commit("login");
    let (cut, rest) = taken_apart();
    shop.write("src/auth.rs", &format!("pub fn login() {{}}\n{cut}"));
    shop.write("src/hash.rs", &rest);
    shop.repository.commit("move");
    let told =
        || shop.repository.told(&["why", "src/auth.rs", "--as-of", "HEAD~1"])["decisions"].clone();
    assert_eq!(told(), json!([]));
    shop.repository.git(&["commit", "-q", "--allow-empty", "-m", "later"]);
    // On a busy machine the search may come to no end in time.
    assert!((0..5).any(|_| told()[0]["id"] == shop.decision.as_str()), "{}", told());
}

#[test]
fn git_is_asked_once_about_what_a_merged_branch_confirmed() {
    let shop = Shop::new();
    shop.repository.git(&["checkout", "-q", "-b", "work"]);
    let checked = HASH.replace("let cost = 12;", "check(password);\n    let cost = 12;");
    shop.write("src/hash.rs", &checked);
    shop.repository.told(&["confirm", &shop.decision]);
    shop.repository.commit("check");
    shop.repository.git(&["checkout", "-q", "main"]);
    shop.repository.git(&["merge", "-q", "--no-ff", "--no-edit", "work"]);
    shop.write("src/hash.rs", &checked.replace("hashed.to_string()", "hashed.clone().to_string()"));
    shop.repository.commit("touch");
    let words = ["search-decisions", "bcrypt"];
    let told = shop.repository.told(&words);
    assert_eq!(code_in(&told, &shop.decision), Value::Null, "{told}");
    assert_eq!(git_calls(&shop, &words), 0);
    shop.repository.git(&["commit", "-q", "--allow-empty", "-m", "later"]);
    assert_eq!(git_calls(&shop, &words), 1, "whether the commit is a later one");
    assert_eq!(git_calls(&shop, &words), 0);
}

#[test]
fn a_file_that_many_records_moved_into_costs_no_more_git_than_one_record() {
    let calls = |records: usize| {
        let shop = Shop::new();
        let names = ["hash_password", "verify", "hash_password", "verify"];
        for (number, name) in names.iter().take(records).enumerate() {
            let (summary, domain) = (format!("Keep {name} {number}"), format!("d{number}"));
            let words = ["decide", &summary, "--why", "measured", "--domain", &domain];
            let named = ["--affected-files", "src/hash.rs", "--affected-symbols", name];
            shop.repository.told(&[&words[..], &named].concat());
        }
        shop.repository.git(&["mv", "src/hash.rs", "src/password.rs"]);
        shop.repository.commit("move");
        let asked = ["src/password.rs", "src/password.rs#hash_password"];
        for _ in 0..2 {
            let told = shop.repository.told(&["why", asked[0]]);
            let decisions = told["decisions"].as_array().expect("a list");
            assert_eq!(decisions.len(), records + 1, "{told}");
        }
        asked.map(|scope| git_calls(&shop, &["why", scope]))
    };
    assert_eq!(calls(4), calls(0));
}

#[test]
fn what_another_worktree_confirms_of_its_own_code_counts_there_alone() {
    let shop = Shop::new();
    let fix = shop.repository.path("fix");
    let dir = fix.to_string_lossy().into_owned();
    shop.repository.git(&["worktree", "add", "-q", "-b", "fix", &dir]);
    std::fs::remove_file(fix.join("src/hash.rs")).expect("removes");
    let moved = taken_apart().0.replace("let cost = 12;", "let cost = 13;");
    let moved = moved.replace("hash_password", "derive_key");
    std::fs::write(fix.join("src/password.rs"), moved).expect("writes");
    shop.repository.git(&["-C", &dir, "add", "-A"]);
    let confirmed = shop
        .repository
        .run_in(&fix, &["reanchor", &shop.decision, "--to", "src/password.rs#derive_key"]);
    assert_eq!(confirmed.code, 0, "{confirmed:?}");
    shop.repository.git(&["-C", &dir, "commit", "-q", "-m", "derive a key"]);

    let impact = |wanted: &str| {
        let told = shop.repository.told(&["impact", "src/hash.rs#hash_password"]);
        let at = told["code"]["records"][0]["at"].clone();
        assert_eq!(at, "src/hash.rs#hash_password", "{wanted}: {told}");
    };
    impact("before a change");
    assert_eq!(shop.why("src/hash.rs"), Value::Null);
    shop.use_argon2();
    impact("after it");
    assert_eq!(shop.state("src/hash.rs"), "doubtful");
    // Committed here with the change, the line of the other worktree counts no more than before.
    shop.repository.commit("argon2");
    assert_eq!(shop.state("src/hash.rs"), "doubtful");
    impact("after the commit");
    let wanted = r#"["doubtful","src/hash.rs#hash_password",null]"#;
    assert_eq!(found(&shop, &["HEAD~1..HEAD"]).to_string(), wanted);
    let verify = shop.repository.run(&["verify", "--ci", "--base", "HEAD~1"]);
    assert_eq!(verify.code, 3, "{verify:?}");
    assert!(verify.stdout.contains("`src/hash.rs#hash_password` is changed"), "{verify:?}");

    shop.write("src/hash.rs", HASH);
    shop.repository.commit("bcrypt again");
    shop.repository.git(&["merge", "-q", "--no-edit", "fix"]);
    assert_eq!(shop.why("src/password.rs"), Value::Null);
}

#[test]
fn what_another_worktree_confirms_settles_nothing_of_a_change_here() {
    let shop = Shop::new();
    let fix = shop.repository.path("fix");
    let dir = fix.to_string_lossy().into_owned();
    shop.repository.git(&["worktree", "add", "-q", "-b", "fix", &dir]);
    let scrypt = HASH.replace("bcrypt::hash_with_salt", "scrypt::hash_with_salt");
    std::fs::write(fix.join("src/hash.rs"), scrypt).expect("writes");
    shop.repository.git(&["-C", &dir, "commit", "-q", "-a", "-m", "scrypt"]);
    for words in [&["confirm", &shop.decision][..], &["drift"]] {
        let ran = shop.repository.run_in(&fix, words);
        assert_eq!(ran.code, 0, "{ran:?}");
    }
    assert_eq!(shop.why("src/hash.rs"), Value::Null, "nothing changed here");
    let there = shop.repository.run(&["drift", "main..fix"]);
    assert_eq!(there.code, 0, "{there:?}");
    shop.use_argon2();
    assert_eq!(shop.state("src/hash.rs"), "doubtful");
    let wanted = r#"["doubtful","src/hash.rs#hash_password",null]"#;
    assert_eq!(found(&shop, &[]).to_string(), wanted);
    shop.repository.git(&["add", "src"]);
    assert_eq!(found(&shop, &["--staged"]).to_string(), wanted);
    // The line of the other worktree is committed here, and its code is not.
    shop.repository.commit("argon2");
    assert_eq!(shop.state("src/hash.rs"), "doubtful");
    assert_eq!(found(&shop, &["HEAD~1..HEAD"]).to_string(), wanted);
    let verify = shop.repository.run(&["verify", "--ci", "--base", "HEAD~1"]);
    assert_eq!(verify.code, 3, "{verify:?}");
    assert!(verify.stdout.contains("`src/hash.rs#hash_password` is changed"), "{verify:?}");
    let confirmed = shop.repository.run(&["confirm", &shop.decision]);
    assert_eq!(confirmed.code, 0, "{confirmed:?}");
    shop.repository.commit("settled");
    let verify = shop.repository.run(&["verify", "--ci", "--base", "HEAD~2"]);
    assert_eq!(verify.code, 0, "{verify:?}");
}

#[test]
fn what_another_worktree_lets_go_is_still_bound_here() {
    let shop = Shop::new();
    let fix = shop.repository.path("fix");
    let dir = fix.to_string_lossy().into_owned();
    shop.repository.git(&["worktree", "add", "-q", "-b", "fix", &dir]);
    let released = shop.repository.run_in(&fix, &["reanchor", &shop.decision, "--release"]);
    let home = shop.repository.git(&["rev-parse", "--show-toplevel"]);
    assert!(
        released.stdout.contains(&format!("commit `.twining/` in {}", home.trim())),
        "{released:?}"
    );
    shop.use_argon2();
    assert_eq!(shop.state("src/hash.rs"), "doubtful");
    shop.repository.git(&["commit", "-q", "-m", "argon2", "src/hash.rs"]);
    assert_eq!(shop.state("src/hash.rs"), "doubtful");
    // Taken in with the records, it holds, whatever the code is.
    shop.repository.commit("let go");
    assert_eq!(shop.state("src/hash.rs"), "fresh");
    shop.write("src/hash.rs", HASH);
    let told = shop.repository.told(&["impact", "src/hash.rs#hash_password"]);
    assert_eq!(told["code"]["records"], serde_json::json!([]), "{told}");
}

#[test]
fn what_was_let_go_on_a_branch_stays_so_after_a_rebase_and_a_squash() {
    each(JOINS, |(how, commands)| {
        let shop = Shop::new();
        shop.repository.git(&["checkout", "-q", "-b", "work"]);
        shop.write("src/more.rs", "pub fn more() {}\n");
        shop.repository.commit("more");
        shop.repository.told(&["reanchor", &shop.decision, "--release"]);
        shop.repository.commit("let go");
        shop.repository.git(&["checkout", "-q", "main"]);
        shop.write("README.md", "A shop.\n");
        shop.repository.commit("meanwhile");
        shop.repository.git(&["checkout", "-q", "work"]);
        for command in commands {
            shop.repository.git(command);
        }
        shop.use_argon2();
        assert_eq!(shop.state("src/hash.rs"), "fresh", "{how}");
        shop.repository.commit("argon2");
        let drift = shop.repository.run(&["drift", "HEAD~1..HEAD"]);
        assert_eq!(drift.code, 0, "{how}: {drift:?}");
        let verify = shop.repository.run(&["verify", "--ci", "--base", "HEAD~1"]);
        assert_eq!(verify.code, 0, "{how}: {verify:?}");
    });
}

#[test]
fn a_rename_a_move_and_a_change_in_a_commit_each_are_no_loss() {
    let shop = Shop::new();
    shop.repository.git(&["checkout", "-q", "-b", "work"]);
    let steps: [CodeChange; 4] = [
        |shop| drop(shop.repository.git(&["mv", "src/hash.rs", "src/password.rs"])),
        |shop| shop.write("src/password.rs", &HASH.replace("hash_password", "derive_key")),
        |shop| {
            let checked = "    if password.is_empty() {\n        return String::new();\n    }\n    let cost = 12;";
            let text = HASH.replace("hash_password", "derive_key");
            shop.write("src/password.rs", &text.replace("    let cost = 12;", checked));
        },
        |shop| {
            let text = HASH.replace("hash_password", "derive_key").replace(
                "    let cost = 12;",
                "    if password.is_empty() {\n        return String::new();\n    }\n    let (cost, started) = (12, Instant::now());",
            );
            let text = text.replace(
                "    digest.map(",
                "    tracing::debug!(elapsed = ?started.elapsed());\n    digest.map(",
            );
            shop.write("src/password.rs", &text);
        },
    ];
    for (step, change) in steps.into_iter().enumerate() {
        change(&shop);
        shop.repository.commit(&format!("step {step}"));
    }
    let wanted = r#"["doubtful","src/hash.rs#hash_password","src/password.rs#derive_key"]"#;
    assert_eq!(found(&shop, &["main..work"]).to_string(), wanted);
    let verify = shop.repository.run(&["verify", "--ci", "--base", "main"]);
    assert_eq!(verify.code, 3, "{verify:?}");
    assert!(
        verify.stdout.contains("src/password.rs:4  `src/hash.rs#hash_password` is changed"),
        "{verify:?}"
    );
}

#[test]
fn code_that_moved_too_often_to_be_followed_is_not_called_gone() {
    let shop = Shop::new();
    shop.repository.git(&["checkout", "-q", "-b", "work"]);
    let (mut path, mut text) = ("src/hash.rs".to_owned(), HASH.to_owned());
    let mut name = "hash_password".to_owned();
    for step in 1..=9 {
        let (to, new_name) = (format!("src/step{step}.rs"), format!("step_{step}"));
        shop.repository.git(&["mv", &path, &to]);
        let check = format!("    let cost = 12;\n    check_{step}(cost, {step})?;");
        text = text.replace(&name, &new_name).replace("    let cost = 12;", &check);
        shop.write(&to, &text);
        shop.repository.commit(&new_name);
        (path, name) = (to, new_name);
    }
    let drift = shop.repository.told(&["drift", "main..work"]);
    assert_eq!(json!([drift["unchecked"], drift["findings"]]), json!([1, []]), "{drift}");
    let verify = shop.repository.run(&["verify", "--ci", "--base", "main"]);
    assert_eq!(verify.code, 0, "{verify:?}");
    assert!(verify.stdout.contains("could not be compared"), "{verify:?}");
}
