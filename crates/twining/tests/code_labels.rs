//! How the state of a record's code shows: in lists, prompts, refusals, counts and pages.

use serde_json::{Value, json};
use twining_testcases::each;

use crate::anchors::{HASH, Shop};

#[test]
fn every_list_of_records_says_how_their_code_is_and_leaves_it_out_on_demand() {
    let shop = Shop::new();
    shop.write("src/hash.rs", &HASH.replace("bcrypt::hash_with_salt", "argon2::hash_with_salt"));
    let asked: [(&[&str], &str); 5] = [
        (&["recent", "5"], "/entries"),
        (&["read"], "/entries"),
        (&["read", "--ids", &shop.decision], "/decisions"),
        (&["query", "bcrypt"], "/results"),
        (&["search-decisions", "bcrypt"], "/results"),
    ];
    each(asked, |(words, list)| {
        let all = shop.repository.told(words);
        assert_eq!(all.pointer(&format!("{list}/0/code/state")), Some(&json!("doubtful")), "{all}");
        let fresh = shop.repository.told(&[words, &["--fresh-only"]].concat());
        let left = fresh.pointer(list).and_then(Value::as_array).map_or(0, Vec::len);
        assert_eq!((left, &fresh["stale_count"]), (0, &json!(1)), "{fresh}");
    });
}

#[test]
fn a_prompt_labels_what_changed_and_leaves_out_what_is_gone() {
    let shop = Shop::new();
    let prompt = || {
        let words = ["prompt", "coach", "--task", "TASK-1", "--scope", "src/hash.rs"];
        shop.repository.told(&words)
    };
    assert!(!prompt()["text"].as_str().expect("a text").contains("(code"), "fresh needs no word");
    shop.write("src/hash.rs", &HASH.replace("bcrypt::hash_with_salt", "argon2::hash_with_salt"));
    let labelled = prompt();
    assert_eq!(labelled["decisions"][0]["code"]["state"], "doubtful", "{labelled}");
    let text = labelled["text"].as_str().expect("a text");
    assert!(text.contains("(code doubtful: changed since"), "{text}");
    shop.write("src/hash.rs", "use bcrypt;\n");
    shop.repository.commit("remove");
    assert_eq!(shop.state("src/hash.rs"), "orphaned");
    let gone = prompt();
    assert_eq!(
        (&gone["decisions"], &gone["omitted"][0]["id"]),
        (&json!([]), &json!(shop.decision))
    );
    let brief = shop.repository.run_with(
        &["hook", "SessionStart"],
        &json!({"session_id": "s-1", "cwd": shop.repository.path("shop"), "source": "startup"})
            .to_string(),
    );
    assert!(!brief.stdout.contains("slow on purpose"), "{brief:?}");
    let told = format!("[{}] orphaned: Hash passwords", shop.decision);
    assert!(brief.stdout.contains(&told) && !brief.stdout.contains("did not fit"), "{brief:?}");
}

#[test]
fn a_refusal_says_that_the_ground_of_its_rule_has_gone_and_refuses_all_the_same() {
    let shop = Shop::new();
    shop.repository.told(&[
        "decide",
        "Verify with bcrypt alone",
        "--why",
        "one way to verify",
        "--scope",
        "src/",
        "--affected-files",
        "src/hash.rs",
        "--affected-symbols",
        "verify",
        "--constraints",
        "must_not_use: argon2",
    ]);
    let refusal = || {
        let event = json!({"session_id": "s-1", "cwd": shop.repository.path("shop"),
            "tool_name": "Write",
            "tool_input": {"file_path": "src/new.rs", "content": "use argon2;\n"}});
        let ran = shop.repository.run_with(&["hook", "PreToolUse"], &event.to_string());
        assert!(ran.stdout.contains("deny"), "{ran:?}");
        ran.stdout
    };
    assert!(!refusal().contains("Its code"), "{}", refusal());
    shop.write(
        "src/hash.rs",
        &HASH.replace("bcrypt::verify(password, hashed)", "password == hashed"),
    );
    assert!(refusal().contains("Its code: doubtful"), "{}", refusal());
    shop.write("src/hash.rs", "use bcrypt;\n");
    shop.repository.commit("remove");
    shop.code("src/hash.rs");
    assert!(refusal().contains("Its code: orphaned: gone since"), "{}", refusal());
}

#[test]
fn status_counts_records_by_the_state_of_their_code() {
    let shop = Shop::new();
    let code = shop.repository.told(&["status"])["code"].clone();
    assert_eq!((&code["bound"], &code["states"]), (&json!(1), &json!({"fresh": 1})), "{code}");
    shop.write("src/hash.rs", &HASH.replace("bcrypt::hash_with_salt", "argon2::hash_with_salt"));
    let code = shop.repository.told(&["status"])["code"].clone();
    assert_eq!(code["states"], json!({"doubtful": 1}), "{code}");
    let doctor = shop.repository.run(&["doctor", "--json"]).stdout;
    assert!(doctor.contains("1 record bound to code: 1 doubtful; compared by token rules"));
}

#[test]
fn what_changed_names_the_records_whose_code_did() {
    let shop = Shop::new();
    let start = shop.repository.git(&["rev-parse", "HEAD"]);
    shop.write("src/hash.rs", &HASH.replace("bcrypt::hash_with_salt", "argon2::hash_with_salt"));
    shop.repository.commit("argon2");
    let since = |scope: &str| {
        shop.repository.told(&["what-changed", "--base", start.trim(), "--scope", scope])
    };
    let changed = since("src/");
    assert_eq!(changed["changed_code"][0]["id"], shop.decision.as_str(), "{changed}");
    assert_eq!(changed["changed_code"][0]["became"], "doubtful", "{changed}");
    assert_eq!(since("docs/")["changed_code"], Value::Null);
}

#[test]
fn a_path_of_the_knowledge_graph_that_matches_nothing_is_named_with_where_it_went() {
    let shop = Shop::new();
    let node = |id: &str, path: &str| {
        format!(
            "  {id} [type=component, level=implementation, status=current, \
             description=\"{id}\", path=\"{path}\"];\n"
        )
    };
    let nodes = [node("hashing", "src/hash.rs"), node("all", "src/*.rs"), node("old", "lib/old/")];
    shop.write(".twining/knowledge.dot", &format!("digraph knowledge {{\n{}}}\n", nodes.concat()));
    let warned = || {
        let checked = shop.repository.run(&["knowledge", "check", "--json"]);
        let checked: Value = serde_json::from_str(&checked.stdout).expect("JSON");
        let all = checked["warnings"].as_array().expect("a list").clone();
        let lost = all.into_iter().filter(|warning| warning["field"] == "path");
        lost.map(|warning| (warning["node_id"].clone(), warning["suggestion"].clone()))
            .collect::<Vec<_>>()
    };
    assert_eq!(warned(), [(json!("old"), Value::Null)]);
    shop.repository.git(&["mv", "src/hash.rs", "src/password.rs"]);
    shop.repository.commit("move");
    assert_eq!(warned()[0], (json!("hashing"), json!("it moved to `src/password.rs`")));
}

#[test]
fn an_exported_page_marks_what_changed_with_its_reason() {
    let shop = Shop::new();
    shop.write("src/hash.rs", &HASH.replace("bcrypt::hash_with_salt", "argon2::hash_with_salt"));
    let page = shop.repository.run(&["export", "html"]).stdout;
    let mark = page.split("<span class=\"tag code\" title=\"").nth(1).expect("a mark");
    assert!(mark.starts_with("src/hash.rs#hash_password; changed since"), "{mark}");
    assert!(mark.contains("\">doubtful</span>"), "{mark}");
}
