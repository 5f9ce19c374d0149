//! What is told of a place in the code: what hangs on it, and why it is as it is.

use serde_json::Value;

use crate::anchors::{HASH, Shop, taken_apart};

/// A shop whose `verify` is called, tested, guarded and part of a feature.
fn shop_with_callers() -> Shop {
    let shop = Shop::new();
    shop.write(
        "src/login.rs",
        "use crate::hash::verify;\n\npub fn login(password: &str, stored: &str) -> bool {\n    verify(password, stored)\n}\n",
    );
    shop.write(
        "tests/login.rs",
        "#[test]\nfn refuses() {\n    assert!(!shop::hash::verify(\"a\", \"b\"));\n}\n",
    );
    let policy = "guards:\n  - id: hashes-are-reviewed\n    say: ask the security team\n    action: ask\n    paths: [src/hash.rs]\n";
    shop.write(".twining/policy.yml", policy);
    let feature = ["features", "add", "F1", "--description", "Log in", "--file", "src/hash.rs"];
    shop.repository.told(&[&feature[..], &["--test", "tests/login.rs"]].concat());
    shop.repository.commit("log in (#7)");
    for cost in ["13", "14"] {
        shop.write("src/hash.rs", &HASH.replace("12", cost));
        shop.write("src/login.rs", &format!("{}\n", shop.repository.read("src/login.rs")));
        shop.repository.commit("raise the cost");
    }
    shop
}

#[test]
fn what_hangs_on_a_definition_is_told_in_rings() {
    let shop = shop_with_callers();
    let words = ["decide", "Log in by password", "--why", "people know it"];
    let decided = shop.repository.told(&[&words[..], &["--scope", "src/login.rs#login"]].concat());
    let impact = shop.repository.told(&["impact", "src/hash.rs#verify"]);
    let code = &impact["code"];
    assert_eq!(code["at"], "src/hash.rs#verify", "{impact}");
    assert_eq!(code["mentioned_in"][0]["at"], "src/login.rs#login", "{impact}");
    assert_eq!(code["mentioned_in"][0]["of"], 1, "{impact}");
    assert_eq!(code["mentioned_in"][0]["records"], serde_json::json!([decided["id"]]), "{impact}");
    assert_eq!(code["tests"], serde_json::json!(["tests/login.rs#refuses", "tests/login.rs"]));
    assert_eq!(code["guards"], serde_json::json!(["hashes-are-reviewed"]), "{impact}");
    assert_eq!(code["features"], serde_json::json!(["F1"]), "{impact}");
    assert_eq!(code["changes_with"][0]["path"], "src/login.rs", "{impact}");
    let impact = shop.repository.told(&["impact", "src/hash.rs#hash_password"]);
    assert_eq!(impact["code"]["records"][0]["id"], shop.decision.as_str(), "{impact}");
    let refused = shop.repository.run(&["impact", "src/hash.rs#nowhere"]);
    assert_eq!(refused.code, 2, "{refused:?}");
}

#[test]
fn the_code_itself_is_told_beside_the_graph_and_written_nowhere() {
    let shop = shop_with_callers();
    let links = |entity: &str| {
        let near = shop.repository.told(&["neighbors", entity]);
        let derived = near["derived"].as_array().cloned().unwrap_or_default();
        assert!(derived.iter().all(|link| link["derived"] == true), "{near}");
        let told = |link: &Value| {
            let word = |key: &str| link[key].as_str().unwrap_or_default().to_owned();
            (word("relation"), word("direction"), word("at"))
        };
        (near["code_at"].clone(), derived.iter().map(told).collect::<Vec<_>>())
    };
    let link = |relation: &str, direction: &str, at: &str| {
        (relation.to_owned(), direction.to_owned(), at.to_owned())
    };
    let (at, file) = links("src/hash.rs");
    assert_eq!(at, "src/hash.rs", "the decision recorded the file: it is joined to the code");
    assert!(file.contains(&link("contains", "outgoing", "src/hash.rs#verify")), "{file:?}");
    assert!(file.contains(&link("changes_with", "outgoing", "src/login.rs")), "{file:?}");
    let (at, function) = links("hash_password");
    assert_eq!(at, "src/hash.rs#hash_password");
    assert!(function.contains(&link("contains", "incoming", "src/hash.rs")), "{function:?}");
    let (_, unrecorded) = links("src/hash.rs#verify");
    assert!(unrecorded.contains(&link("mentions", "incoming", "src/login.rs#login")));
    let (_, importer) = links("src/login.rs");
    assert!(importer.contains(&link("imports", "outgoing", "src/hash.rs")), "{importer:?}");

    let found = shop.repository.told(&["graph-query", "verify"]);
    assert_eq!(found["entities"], serde_json::json!([]), "nobody recorded it: {found}");
    let verify = &found["derived"][0];
    assert_eq!((&verify["at"], &verify["derived"]), (&"src/hash.rs#verify".into(), &true.into()));
    let links = verify["links"].as_array().expect("a list");
    let mentions = |link: &&Value| link["relation"] == "mentions" && link["derived"] == true;
    let by = links.iter().filter(mentions).map(|link| &link["at"]);
    assert!(by.into_iter().any(|at| at == "src/login.rs#login"), "{found}");
    let found = shop.repository.told(&["graph-query", "hash_password", "--type", "function"]);
    assert_eq!(found["derived"][0]["entity_id"], found["entities"][0]["id"], "{found}");
    let found = shop.repository.told(&["graph-query", "login", "--type", "file"]);
    let files = found["derived"].as_array().expect("a list").iter().map(|file| &file["at"]);
    assert_eq!(files.collect::<Vec<_>>(), ["src/login.rs", "tests/login.rs"], "{found}");

    let path = shop.repository.told(&["path", "src/login.rs", "hash_password"]);
    assert_eq!(path["found"], true, "{path}");
    let steps = path["path"].as_array().expect("a list");
    let derived: Vec<bool> = steps.iter().map(|step| step["derived"] == true).collect();
    assert!(steps[0].get("relation").is_none() && derived[1..].contains(&true), "{path}");
    let graph = shop.repository.read(".twining/graph/entities.json");
    assert!(graph.contains("hash_password") && !graph.contains("login"), "{graph}");
}

#[test]
fn one_question_tells_the_rules_proofs_stops_commits_and_moves_of_a_place() {
    let shop = shop_with_callers();
    shop.repository.told(&[
        "store-trace",
        "violation",
        "edited the hash without review",
        "--action",
        "Edit: src/hash.rs",
        "--guard",
        "hashes-are-reviewed",
        "--blocked",
    ]);
    let why = shop.repository.told(&["why", "src/hash.rs#hash_password"]);
    assert_eq!(why["decisions"][0]["id"], shop.decision.as_str(), "{why}");
    assert_eq!(why["rules"][0]["id"], "hashes-are-reviewed", "{why}");
    assert_eq!(why["evidence"][0]["feature"], "F1", "{why}");
    assert_eq!(why["traces"][0]["guard"], "hashes-are-reviewed", "{why}");
    let subjects: Vec<&str> = why["commits"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|commit| commit["subject"].as_str().expect("a subject"))
        .collect();
    assert_eq!(subjects, ["raise the cost", "raise the cost", "start"], "{why}");
    assert!(why.get("moved").is_none(), "an empty section is left out: {why}");
    let login = shop.repository.told(&["why", "src/login.rs#login"]);
    assert_eq!(login["commits"][0]["pull_request"], "#7", "{login}");
    assert!(login.get("rules").is_none() && login.get("traces").is_none(), "{login}");
    let file = shop.repository.told(&["why", "src/login.rs"]);
    let commits = file["commits"].as_array().expect("a list");
    assert_eq!(commits.len(), 3, "every commit that touched the file: {file}");
    assert_eq!(commits[2]["pull_request"], "#7", "{file}");
    let first = shop.repository.git(&["rev-list", "--max-parents=0", "HEAD"]);
    shop.repository.told(&["link-commit", &shop.decision, first.trim()]);
    for cost in 15..20 {
        shop.write("src/hash.rs", &HASH.replace("12", &cost.to_string()));
        shop.repository.commit("raise the cost");
    }
    let file = shop.repository.told(&["why", "src/hash.rs"]);
    let commits = file["commits"].as_array().expect("a list");
    assert_eq!(commits.len(), 5, "{file}");
    assert_eq!(commits[4]["decision"], shop.decision.as_str(), "the linked one stays: {file}");
    // One that this branch does not have did nothing here.
    shop.repository.git(&["checkout", "-q", "-b", "tried"]);
    shop.write("src/hash.rs", &HASH.replace("12", "31"));
    shop.repository.commit("tried 31");
    let tried = shop.repository.git(&["rev-parse", "HEAD"]);
    shop.repository.git(&["checkout", "-q", "-"]);
    shop.repository.told(&["link-commit", &shop.decision, tried.trim()]);
    let file = shop.repository.told(&["why", "src/hash.rs"]);
    assert!(!file["commits"].to_string().contains(tried.trim()), "{file}");
    // Changes of other code in the file hide none of a definition.
    for round in 0..25 {
        let more = format!("{}pub fn round() -> u8 {{ {round} }}\n", HASH.replace("12", "19"));
        shop.write("src/hash.rs", &more);
        shop.repository.commit("another function");
    }
    let why = shop.repository.told(&["why", "src/hash.rs#hash_password"]);
    assert_eq!(why["commits"][0]["subject"], "raise the cost", "{why}");

    shop.repository.git(&["mv", "src/hash.rs", "src/password.rs"]);
    shop.repository.commit("move");
    let moved = shop.repository.told(&["why", "src/password.rs"]);
    assert_eq!(moved["moved"][0]["from"], "src/hash.rs", "{moved}");
    let text = shop.repository.run(&["why", "src/password.rs"]).stdout;
    assert!(text.contains("Moved") && !text.contains("Rules"), "{text}");
}

#[test]
fn a_decision_whose_code_moved_into_a_crowded_file_is_told_there() {
    let shop = Shop::new();
    let login = "pub fn login(name: &str) -> bool {\n    !name.is_empty()\n}\n";
    shop.write("src/auth.rs", login);
    shop.repository.commit("login");
    for number in 1..=21 {
        let summary = format!("Rule {number} of signing in is {number}");
        let words = ["decide", &summary, "--why", "it is so", "--scope", "src/auth.rs"];
        let named = ["--affected-files", "src/auth.rs", "--affected-symbols", "login"];
        shop.repository.told(&[&words[..], &named, &["--domain", &summary]].concat());
    }
    let (moved, rest) = taken_apart();
    shop.write("src/auth.rs", &format!("{login}\n{moved}"));
    shop.write("src/hash.rs", &rest);
    shop.repository.commit("move");
    assert_eq!(shop.code("src/hash.rs")["at"], "src/auth.rs#hash_password");

    for limit in ["50", "5"] {
        let why = shop.repository.told(&["why", "src/auth.rs", "--limit", limit]);
        let decisions = why["decisions"].as_array().expect("a list");
        let ours = decisions.iter().find(|found| found["id"] == shop.decision.as_str());
        assert_eq!(ours.map(|ours| &ours["matched"]), Some(&"moved".into()), "{why}");
        assert_eq!(why["total_count"], 22, "{why}");
        let omitted = why["omitted_count"].as_u64().expect("a number");
        assert_eq!(omitted + decisions.len() as u64, 22, "{why}");
    }
}
