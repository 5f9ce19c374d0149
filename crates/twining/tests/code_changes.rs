//! What a record's code goes through, and what is said of it: other versions of the program, a
//! killed process, uncommitted bytes, formatters, and days gone by.

use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use serde_json::{Value, json};
use twining_testcases::each;

use crate::anchors::{HASH, Shop};
use crate::common::repository::Repository;

/// A repository with one file, and a decision on one of its functions.
fn shop_with(path: &str, text: &str, name: &str) -> Shop {
    let repository = Repository::new();
    repository.write(path, text);
    repository.commit("start");
    let at = format!("{path}#{name}");
    let words = ["decide", "Keep the cost at 12", "--why", "slow on purpose", "--scope", &at];
    let decided = repository.told(&words);
    assert_eq!(decided["anchored"][0]["at"], at, "{decided}");
    let decision = decided["id"].as_str().expect("has an id").to_owned();
    repository.commit("decide");
    Shop { repository, decision }
}

fn last_anchor(shop: &Shop) -> Value {
    let lines = shop.repository.read(".twining/anchors.jsonl");
    serde_json::from_str(lines.lines().last().expect("a line")).expect("JSON")
}

#[test]
fn an_anchor_of_another_version_is_judged_from_the_bytes_that_were_seen() {
    let shop = Shop::new();
    let mut anchor = last_anchor(&shop);
    (anchor["v"], anchor["sig"], anchor["body"]) = (json!(999), json!("0"), json!("0"));
    shop.write(".twining/anchors.jsonl", &format!("{anchor}\n"));
    shop.write("src/hash.rs", &HASH.replace("    let cost", "    // slow\n    let cost"));
    assert_eq!(shop.state("src/hash.rs"), "fresh");
    shop.use_argon2();
    assert_eq!(shop.state("src/hash.rs"), "doubtful");
    anchor["seen"]["blob"] = json!("0123456789012345678901234567890123456789");
    shop.write(".twining/anchors.jsonl", &format!("{anchor}\n"));
    let code = shop.why("src/hash.rs");
    assert_eq!(code["state"], "unchecked", "{code}");
    assert_eq!(code["reason"], "what was seen is not in this clone", "{code}");
}

#[test]
fn killed_while_it_reads_the_code_it_leaves_an_index_that_answers_the_same() {
    let shop = Shop::new();
    let functions: String = (0..3000).map(|n| format!("fn f{n}() {{ g{n}({n}); }}\n")).collect();
    shop.write("src/hash.rs", &format!("{HASH}{functions}"));
    shop.use_argon2();
    shop.repository.commit("argon2");
    let before = shop.code("src/hash.rs");
    assert_eq!(before["state"], "doubtful", "{before}");
    each([1, 3, 6, 10, 15, 25, 40, 80, 160], |delay| {
        shop.forget_code();
        let mut asking =
            shop.repository.command_in(&shop.repository.path("shop"), &["why", "src/hash.rs"]);
        let mut child = asking.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("starts");
        sleep(Duration::from_millis(delay));
        // SIGKILL; it may have ended.
        let _ = child.kill();
        child.wait().expect("ends");
        assert_eq!(shop.why("src/hash.rs"), before, "killed after {delay} ms");
    });
}

#[test]
fn a_record_made_of_uncommitted_code_is_bound_to_what_was_seen() {
    let shop = Shop::new();
    shop.use_argon2();
    let words = ["decide", "Hash with argon2", "--why", "memory-hard", "--scope"];
    let decided = shop.repository.told(&[&words[..], &["src/hash.rs#hash_password"]].concat());
    let shop = Shop { decision: decided["id"].as_str().expect("an id").to_owned(), ..shop };
    let anchor = last_anchor(&shop);
    let bytes = shop.repository.git(&["hash-object", "src/hash.rs"]);
    assert_eq!(
        (&anchor["seen"]["dirty"], &anchor["seen"]["blob"]),
        (&json!(true), &json!(bytes.trim()))
    );
    assert_eq!(shop.state("src/hash.rs"), "fresh");
    shop.repository.git(&["checkout", "-q", "--", "src/hash.rs"]);
    let code = shop.code("src/hash.rs");
    assert_eq!(code["state"], "doubtful", "what it speaks of was never committed: {code}");
    assert!(code["reason"].as_str().expect("a reason").contains("`argon2`"), "{code}");
}

/// Whether a formatter is installed.
#[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
fn is_installed(program: &str) -> bool {
    let found = Command::new(program).arg("--version").output();
    let is_there = found.is_ok_and(|output| output.status.success());
    if !is_there {
        eprintln!("skipped: {program} is not installed");
    }
    is_there
}

#[test]
fn a_formatter_changes_nothing() {
    let rust = "pub fn hash(p:&str,salt:&[u8;16])->String{ let cost=12;\n   if p.is_empty(){return String::new()}\n let d=bcrypt::hash_with_salt(p,cost,*salt , Options{ strict:true,rounds:cost,name:\"a very long name of these options\" });\n d.map(|h|h.to_string()).unwrap_or_default() }\n";
    let python = "def hash(p,salt,\n    strict = True):\n    cost=12\n    if not p: return ''\n    return bcrypt.hash_with_salt(p,cost,salt,{ 'strict':strict,'rounds':cost,'name':'a very long name of these options' })\n";
    let typescript = "export function hash(p:string,salt:string){ const cost=12\n  if(!p){return ''}\n  return bcrypt.hashWithSalt(p,cost,salt,{strict:true,rounds:cost,name:'a very long name of these options',}) }\n";
    let formatters: [(&str, &[&str], &str, &str); 3] = [
        ("rustfmt", &["--edition", "2024"], "src/hash.rs", rust),
        ("black", &["-q"], "src/hash.py", python),
        ("prettier", &["--write"], "src/hash.ts", typescript),
    ];
    for (program, flags, path, text) in formatters {
        if !is_installed(program) {
            continue;
        }
        let shop = shop_with(path, text, "hash");
        let file = shop.repository.file(path);
        let ran = Command::new(program).args(flags).arg(&file).output().expect("starts");
        assert!(ran.status.success(), "{program}: {ran:?}");
        assert_ne!(shop.repository.read(path), text, "{program} changes the file");
        assert_eq!(shop.state(path), "fresh", "{program}: {}", shop.repository.read(path));
    }
}

#[test]
fn what_a_docstring_says_is_no_code() {
    let python = "def hash(text):\n    \"\"\"Hashes.\"\"\"\n    cost = 12\n    return bcrypt.hashpw(text, bcrypt.gensalt(cost))\n";
    let shop = shop_with("src/hash.py", python, "hash");
    shop.write("src/hash.py", &python.replace("Hashes.", "Makes a hash.\n\n    Slow at 13.\n    "));
    assert_eq!(shop.state("src/hash.py"), "fresh");
    shop.write("src/hash.py", &python.replace("12", "13"));
    assert_eq!(shop.state("src/hash.py"), "doubtful");
}

#[test]
fn the_past_is_asked_by_a_date_too() {
    let shop = Shop::new();
    sleep(Duration::from_millis(1100));
    let day = shop.repository.git(&["log", "-1", "--format=%cI"]);
    let second = |time: &str| {
        let output = Command::new("date").args(["-u", "-Iseconds", "-d", time]).output();
        String::from_utf8(output.expect("there is date").stdout).expect("is text")
    };
    let then = second(&format!("{} + 1 second", day.trim().replace('T', " ")));
    sleep(Duration::from_millis(1100));
    shop.write("src/hash.rs", "use bcrypt;\n");
    shop.repository.commit("remove");
    shop.repository.told(&["override", &shop.decision, "--why", "argon2 won"]);
    shop.repository.told(&["decide", "Hash with argon2", "--why", "bcrypt is old"]);
    shop.repository.commit("override");
    let asked: [(&[&str], &str); 4] = [
        (&["why", "src/hash.rs"], "/decisions"),
        (&["search-decisions", "hash"], "/results"),
        (&["assemble", "hash", "--scope", "src/hash.rs"], ""),
        (&["status"], ""),
    ];
    each(asked, |(words, list)| {
        let past = shop.repository.told(&[words, &["--as-of", then.trim()]].concat());
        let now = shop.repository.told(words);
        assert_ne!(past, now, "{past}");
        assert!(!past.to_string().contains("argon2"), "{then}: {past}");
        if !list.is_empty() {
            let first = past.pointer(&format!("{list}/0")).expect("one").clone();
            let decision = first.get("decision").unwrap_or(&first);
            assert_eq!(
                (&decision["status"], &first["code"]),
                (&json!("active"), &Value::Null),
                "{past}"
            );
        }
        assert!(!past.to_string().contains("orphaned"), "{past}");
    });
}

#[test]
fn a_task_that_names_a_definition_brings_what_is_bound_to_it() {
    let shop = Shop::new();
    let words = ["decide", "Twelve rounds suffice", "--why", "measured", "--scope"];
    let bound = shop.repository.told(&[&words[..], &["src/hash.rs#verify"]].concat());
    let words = ["decide", "Thirteen rounds suffice", "--why", "measured", "--scope"];
    let other = shop.repository.told(&[&words[..], &["src/hash.rs#hash_password"]].concat());
    let place = |task: &str, id: &Value| {
        let context = shop.repository.told(&["assemble", task, "--scope", "docs/"]).to_string();
        context.find(id.as_str().expect("an id"))
    };
    let warned = ["post", "warning", "never in the event loop", "--scope", "src/hash.rs#verify"];
    let warned = shop.repository.told(&warned);
    let task = "speed `verify` up";
    assert!(place(task, &warned["id"]).is_some(), "the warning is there");
    assert!(place("speed the docs up", &warned["id"]).is_none(), "only where it is named");
    let (first, second) = (place(task, &bound["id"]), place(task, &other["id"]));
    assert!(first.is_some(), "it is there");
    assert!(second.is_none_or(|second| first.is_some_and(|first| first < second)));
}

#[test]
fn a_record_that_names_code_and_was_never_bound_is_told_so() {
    let shop = Shop::new();
    let words = ["decide", "Rotate keys daily", "--why", "policy", "--affected-files"];
    let named = shop.repository.told(&[&words[..], &["src/keys.rs"]].concat());
    let symbol = shop.repository.told(&[
        "decide",
        "Sign with ed25519",
        "--why",
        "short",
        "--scope",
        "signing",
        "--affected-symbols",
        "sign_nowhere",
    ]);
    let plain =
        shop.repository.told(&["decide", "Rotate people", "--why", "fair", "--scope", "team"]);
    let code = |id: &Value| {
        let read = shop.repository.told(&["read", "--ids", id.as_str().expect("an id")]);
        read["decisions"][0]["code"].clone()
    };
    assert_eq!(code(&named["id"]), json!({"state": "unbound", "at": "src/keys.rs"}));
    assert_eq!(code(&symbol["id"]), json!({"state": "unbound", "at": "sign_nowhere"}));
    assert_eq!(code(&plain["id"]), Value::Null);
    let why = shop.repository.told(&["why", "src/keys.rs"]);
    assert_eq!(why["decisions"][0]["code"]["state"], "unbound", "{why}");
    let found = shop.repository.told(&["query", "rotate keys daily"]);
    assert_eq!(found["results"][0]["code"]["state"], "unbound", "{found}");

    let id = named["id"].as_str().expect("an id");
    shop.write("src/keys.rs", "pub fn rotate() {}\n");
    shop.repository.told(&["reanchor", id, "--to", "src/keys.rs"]);
    assert_eq!(code(&named["id"]), Value::Null);
}

#[test]
fn where_no_source_is_read_every_record_that_names_code_is_unchecked() {
    let shop = Shop::new();
    let plain = ["post", "finding", "the team is small", "--scope", "team"];
    let plain = shop.repository.told(&plain);
    shop.write(".twining/config.yml", "code:\n  index: false\n");
    shop.use_argon2();
    let code = shop.why("src/hash.rs");
    assert_eq!(
        (&code["state"], &code["reason"]),
        (&json!("unchecked"), &json!("`code.index` is off"))
    );
    let read = shop.repository.told(&["read", "--ids", plain["id"].as_str().expect("an id")]);
    assert_eq!(read["entries"][0]["code"], Value::Null, "{read}");
}

#[test]
fn a_change_of_signature_is_named() {
    let shop = Shop::new();
    shop.use_argon2();
    let reason = |code: &Value| code["reason"].as_str().expect("a reason").to_owned();
    assert!(!reason(&shop.code("src/hash.rs")).contains("signature"));
    let text = shop.repository.read("src/hash.rs").replace("(password: &str,", "(password: &[u8],");
    shop.write("src/hash.rs", &text);
    let code = shop.code("src/hash.rs");
    assert!(reason(&code).contains(", with its signature; says `bcrypt`"), "{code}");
}

#[test]
fn a_file_without_a_grammar_is_said_to_be_compared_as_a_whole() {
    let shop = Shop::new();
    shop.write("docs/hash.md", "Passwords cost 12.\n");
    let words = ["decide", "Document the cost", "--why", "people ask", "--scope"];
    let text = shop.repository.told(&[&words[..], &["docs/hash.md"]].concat());
    assert_eq!(text["anchored"][0]["coarse"], true, "{text}");
    let code = shop.repository.told(&[&words[..], &["src/hash.rs"]].concat());
    assert_eq!(code["anchored"][0]["coarse"], Value::Null, "{code}");
}

#[test]
fn of_many_warnings_those_on_the_definition_come_first() {
    let shop = Shop::new();
    let warn = |summary: &str, at: &str| {
        shop.repository.told(&["post", "warning", summary, "--scope", at])["id"].clone()
    };
    let ours = warn("bcrypt blocks the event loop", "src/hash.rs#verify");
    for number in 0..25 {
        let topic = ["salt", "length", "memory", "threads", "panics"][number % 5];
        warn(&format!("{topic} number {number} is wrong here"), "src/hash.rs#hash_password");
    }
    let why = shop.repository.told(&["why", "src/hash.rs#verify"]);
    assert_eq!(why["warnings"][0]["id"], ours, "{why}");
}

#[test]
fn code_that_goes_to_another_dialect_is_found() {
    let script = "export function total(items) {\n  let sum = 0;\n  for (const item of items) {\n    sum += item.price * item.count;\n  }\n  return Math.round(sum * 100) / 100;\n}\n";
    each(
        [("cart.js", "cart.ts"), ("cart.ts", "cart.tsx"), ("cart.ts", "cart.mjs")],
        |(from, to)| {
            let shop = shop_with(from, script, "total");
            shop.repository.git(&["mv", from, to]);
            shop.repository.commit("rename");
            let settled = shop.state(to);
            assert_eq!(settled, "fresh", "{from} to {to}");
        },
    );
}

#[test]
fn a_clone_that_lacks_the_commit_that_was_seen_finds_what_moved_and_went() {
    let changes: [(&[&str], &str); 2] = [
        (&["mv", "src/hash.rs", "src/password.rs"], "src/password.rs#hash_password"),
        (&["rm", "-q", "src/hash.rs"], "orphaned"),
    ];
    each(changes, |(change, told)| {
        let shop = Shop::new();
        // As a squash has it: one commit, and none of those that led to it.
        shop.repository.git(&["checkout", "-q", "--orphan", "squashed"]);
        shop.repository.commit("squashed");
        let clone = shop.repository.path("clone");
        let dir = clone.to_string_lossy().into_owned();
        let from = format!("file://{}", shop.repository.path("shop").display());
        shop.repository.git(&["clone", "-q", "--single-branch", &from, &dir]);
        for words in [change, &["commit", "-q", "-m", "change"]] {
            shop.repository.git(&[&["-C", dir.as_str()], words].concat());
        }
        let ask = || shop.repository.run_in(&clone, &["why", "src/", "--json"]).stdout;
        let said = [ask(), ask(), ask()];
        assert!(said[2].contains(told) && !said[2].contains("missing"), "{}", said[2]);
        let range = ["drift", "HEAD~1..HEAD", "--json"];
        let drift = shop.repository.run_in(&clone, &range).stdout;
        assert!(drift.contains(told), "{drift}");
    });
}

#[test]
fn a_syntax_error_takes_no_record_its_code() {
    let shop = Shop::new();
    for broken in [
        HASH.replacen(
            "pub fn hash_password(",
            "pub fn broken(text: &str -> {\n\npub fn hash_password(",
            1,
        ),
        format!("<<<<<<< HEAD\nfn one() {{\n=======\nfn two() {{\n>>>>>>> side\n{HASH}"),
        HASH.replacen("hash_password(", "hash_password((", 1),
    ] {
        shop.write("src/hash.rs", &broken);
        let code = shop.code("src/hash.rs");
        assert_ne!(code["state"], "orphaned", "{code}");
        let ran = shop.repository.run(&["drift", "--json"]);
        assert!(!ran.stdout.contains("orphaned"), "{ran:?}");
    }
    shop.write("src/hash.rs", "pub fn other( {}\n");
    assert_eq!(shop.code("src/hash.rs")["state"], "orphaned", "its name is not there either");
}

#[test]
fn a_pure_move_of_what_a_post_names_takes_nothing_from_its_file() {
    let shop = Shop::new();
    let job =
        |n: usize| format!("pub fn job{n}(at: u64) -> u64 {{\n    at * {n} + start{n}()\n}}\n");
    let jobs: String = (10..40).map(job).collect();
    shop.write("src/jobs.rs", &format!("{HASH}{jobs}"));
    shop.repository.commit("jobs");
    let summary = "`hash_password` takes its digest of bcrypt";
    let posted = shop.repository.told(&["post", "warning", summary, "--scope", "src/jobs.rs"]);
    assert_eq!(posted["anchored"].as_array().map(Vec::len), Some(2), "{posted}");
    shop.write("src/work.rs", HASH);
    shop.write("src/jobs.rs", &jobs);
    shop.repository.commit("move");
    let drift = shop.repository.told(&["drift", "HEAD~1..HEAD"])["findings"].to_string();
    assert!(drift.contains("src/work.rs#hash_password") && !drift.contains("doubtful"), "{drift}");
}
