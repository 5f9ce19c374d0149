//! Branch after branch is merged without our drivers, and what git left is
//! committed each time: conflicts within conflicts. Nothing of any branch is lost.

use std::collections::BTreeSet;
use twining_testcases::each;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};

use crate::common::repository::Repository;

const DECISION: &str = "01M7EB3QY8BCK1T7V2TH9HG8T6";
/// Features that are there before anybody branches off.
const SHARED: usize = 4;

/// What one branch does.
#[derive(Clone, Debug)]
struct Work {
    /// Of each shared feature, how many criteria it adds.
    criteria: Vec<u8>,
    /// Whether it rewords the first shared feature.
    words: bool,
    /// Where it puts features of its own, with so many criteria each.
    features: Vec<(prop::sample::Index, u8)>,
    /// Where it puts nodes of its own.
    nodes: Vec<prop::sample::Index>,
    /// Commits it links with the decision, and files.
    commits: u8,
    files: u8,
    /// Whether it gives the decision a reason of its own.
    reason: bool,
}

fn work() -> impl Strategy<Value = Work> {
    let criteria = prop::collection::vec(0..3_u8, SHARED);
    let features = prop::collection::vec((any::<prop::sample::Index>(), 0..3_u8), 0..3);
    let nodes = prop::collection::vec(any::<prop::sample::Index>(), 0..3);
    (criteria, any::<bool>(), features, nodes, 0..3_u8, 0..3_u8, any::<bool>()).prop_map(
        |(criteria, words, features, nodes, commits, files, reason)| Work {
            criteria,
            words,
            features,
            nodes,
            commits,
            files,
            reason,
        },
    )
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum How {
    Merge,
    Rebase,
}

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).expect("prints") + "\n"
}

fn feature(id: &str, criteria: u8) -> Value {
    let criteria: Vec<String> = (0..criteria).map(|n| format!("{id} does {n}")).collect();
    json!({"id": id, "description": format!("what {id} is"), "status": "pending", "tested": false, "acceptance_criteria": criteria})
}

fn node(id: &str) -> String {
    format!(
        "  {id} [\n    type=\"component\"\n    level=\"architecture\"\n    status=\"current\"\n    description=\"what {id} is\"\n  ];\n"
    )
}

fn base(shop: &Repository) {
    shop.run(&["init", "--agent", "none"]);
    // Git knows neither our merge drivers nor union merge.
    std::fs::write(shop.file(".git/info/attributes"), "").expect("writes");
    shop.write(".twining/.gitattributes", "");
    std::fs::remove_dir_all(shop.file(".git/hooks")).expect("is there");
    let features: Vec<Value> = (0..SHARED).map(|n| feature(&format!("F{n}"), 1)).collect();
    shop.write(".twining/features.json", &pretty(&json!({"features": features})));
    shop.write(
        ".twining/knowledge.dot",
        &format!(
            "digraph ProjectKnowledge {{\n{}}}\n",
            (0..3).map(|n| node(&format!("n{n}"))).collect::<String>()
        ),
    );
    let decision = json!({"id": DECISION, "timestamp": "2026-11-15T00:00:00.000Z", "agent_id": "a", "domain": "api", "scope": "src/",
        "summary": "Use JWT", "context": "c", "rationale": "r", "status": "active", "affected_files": ["src/a.rs"], "commit_hashes": ["0base"]});
    shop.write(&format!(".twining/decisions/{DECISION}.json"), &pretty(&decision));
    shop.write(".twining/blackboard.jsonl", &entry("base"));
    shop.write(".twining/graph/entities.json", "[\n]\n");
    shop.write(".twining/agents/registry.json", "[\n]\n");
    shop.commit("base");
}

fn entry(name: &str) -> String {
    format!(
        "{{\"id\":\"{name}\",\"timestamp\":\"2026-11-15T00:00:00.000Z\",\"entry_type\":\"finding\",\"scope\":\"src/\",\"summary\":\"{name}\"}}\n"
    )
}

fn carry_out(shop: &Repository, branch: &str, work: &Work) {
    let mut list = shop.json(".twining/features.json");
    let features = list["features"].as_array_mut().expect("a list");
    for (shared, more) in features.iter_mut().zip(&work.criteria) {
        let criteria = shared["acceptance_criteria"].as_array_mut().expect("a list");
        criteria.extend((0..*more).map(|n| json!(format!("{branch} asks for {n}"))));
    }
    if work.words {
        features[0]["description"] = json!(format!("in the words of {branch}"));
    }
    for (n, (at, criteria)) in work.features.iter().enumerate() {
        let at = at.index(features.len() + 1);
        features.insert(at, feature(&format!("{branch}-{n}"), *criteria));
    }
    shop.write(".twining/features.json", &pretty(&list));

    let text = shop.read(".twining/knowledge.dot");
    let mut nodes: Vec<String> = text.split_inclusive("];\n").map(str::to_owned).collect();
    for (n, at) in work.nodes.iter().enumerate() {
        // Behind the first, which has the graph's own line in front.
        let at = 1 + at.index(nodes.len() - 1);
        nodes.insert(at, node(&format!("{branch}_{n}")));
    }
    shop.write(".twining/knowledge.dot", &nodes.concat());

    let file = format!(".twining/decisions/{DECISION}.json");
    let mut decision = shop.json(&file);
    for (field, many) in [("commit_hashes", work.commits), ("affected_files", work.files)] {
        decision[field]
            .as_array_mut()
            .expect("a list")
            .extend((0..many).map(|n| json!(format!("{branch}{n}"))));
    }
    if work.reason {
        decision["rationale"] = json!(format!("because of {branch}"));
    }
    shop.write(&file, &pretty(&decision));
    for (file, element) in [
        (
            "graph/entities.json",
            json!({"id": branch, "name": branch, "type": "concept", "properties": {}, "created_at": "", "updated_at": ""}),
        ),
        ("agents/registry.json", json!({"agent_id": branch, "capabilities": [branch]})),
    ] {
        let file = format!(".twining/{file}");
        let mut elements: Vec<Value> = serde_json::from_str(&shop.read(&file)).expect("is JSON");
        elements.push(element);
        let lines: Vec<String> = elements.iter().map(Value::to_string).collect();
        shop.write(&file, &format!("[\n{}\n]\n", lines.join("\n,")));
    }
    let board = shop.read(".twining/blackboard.jsonl") + &entry(branch);
    shop.write(".twining/blackboard.jsonl", &board);
}

fn names(value: &Value) -> BTreeSet<String> {
    value.as_array().expect("a list").iter().filter_map(Value::as_str).map(str::to_owned).collect()
}

fn story(works: &[Work], style: &str, how: How) {
    let shop = Repository::new();
    base(&shop);
    shop.git(&["config", "merge.conflictStyle", style]);
    let branches: Vec<String> = (0..works.len()).map(|n| format!("b{n}")).collect();
    for (branch, work) in branches.iter().zip(works) {
        shop.git(&["checkout", "-q", "-b", branch, "main"]);
        carry_out(&shop, branch, work);
        shop.commit(&format!("work of {branch}"));
    }
    shop.git(&["checkout", "-q", "main"]);
    for branch in &branches {
        // As people do who take what git left as it is.
        match how {
            How::Merge => {
                if shop.git_ran(&["merge", "-q", "--no-edit", branch]).code != 0 {
                    shop.commit("as git left it");
                }
            }
            How::Rebase => {
                shop.git(&["checkout", "-q", branch]);
                let mut ran = shop.git_ran(&["rebase", "-q", "main"]);
                while ran.code != 0 {
                    shop.git(&["add", "-A"]);
                    ran = shop.git_ran(&["-c", "core.editor=true", "rebase", "--continue"]);
                }
                shop.git(&["checkout", "-q", "-B", "main", branch]);
            }
        }
    }

    let decision = format!("decisions/{DECISION}.json");
    let files = ["features.json", "knowledge.dot", &decision];
    let texts = || files.map(|file| shop.read(&format!(".twining/{file}")));
    let has_markers = |text: &String| {
        ["<<<<<<<", ">>>>>>>", "|||||||"].iter().any(|marker| text.contains(marker))
    };
    // A reader sees everything at once.
    let (before, told) = (texts(), shop.run(&["features", "--json"]));
    let status = shop.told(&["status"]);
    assert_eq!(status["blackboard_entries"], json!(works.len() + 1), "{status}");

    // One call that writes, whatever it is, and every file is whole again.
    shop.told(&["post", "finding", "after the merges"]);
    let text = texts();
    assert!(!has_markers(&shop.read(".twining/blackboard.jsonl")));
    let is_left = text.each_ref().map(has_markers);
    // A rebased commit without a conflict in a file is not named there: the remains of several
    // cannot be resolved, stay unchanged and are reported.
    if is_left.contains(&true) {
        assert_eq!(how, How::Rebase, "{text:?}");
        let doctor = shop.run(&["doctor"]);
        for at in (0..files.len()).filter(|at| is_left[*at]) {
            assert_eq!(text[at], before[at]);
            assert!(
                doctor.stdout.contains(reported(files[at])),
                "{}: {}",
                files[at],
                doctor.stdout
            );
        }
    }
    for (file, key) in [("graph/entities.json", "id"), ("agents/registry.json", "agent_id")] {
        let elements: Vec<Value> = serde_json::from_str(&shop.read(&format!(".twining/{file}")))
            .unwrap_or_else(|error| panic!("{file}: {error}"));
        let found: BTreeSet<&str> =
            elements.iter().filter_map(|element| element[key].as_str()).collect();
        assert!(branches.iter().all(|branch| found.contains(branch.as_str())), "{file}: {found:?}");
    }
    for (branch, work) in branches.iter().zip(works) {
        let names = |word: &str, many: usize| {
            (0..many).map(|n| format!("{branch}{word}{n}")).collect::<Vec<_>>()
        };
        let reworded = |is_so: bool, words: &str| is_so.then(|| format!("{words} {branch}"));
        let asked = names(
            " asks for ",
            usize::from(work.criteria.iter().copied().max().unwrap_or_default()),
        );
        let own: Vec<String> = names("-", work.features.len())
            .into_iter()
            .chain(reworded(work.words, "in the words of"))
            .collect();
        let links = names("", usize::from(work.commits.max(work.files)))
            .into_iter()
            .chain(reworded(work.reason, "because of"));
        for (text, words) in
            text.iter().zip([[asked, own].concat(), names("_", work.nodes.len()), links.collect()])
        {
            assert!(words.iter().all(|word| text.contains(word)), "{words:?}: {text}");
        }
    }
    if !is_left[0] {
        look_at_features(&shop, &branches, works);
        let told: Value = serde_json::from_str(&told.stdout).expect("prints JSON");
        assert_eq!(
            told["total"],
            json!(SHARED + works.iter().map(|work| work.features.len()).sum::<usize>()),
            "{told}"
        );
    }
    if !is_left[1] {
        let nodes = branches.iter().zip(works).flat_map(|(branch, work)| {
            (0..work.nodes.len()).map(move |n| node(&format!("{branch}_{n}")))
        });
        for wanted in nodes {
            assert!(text[1].contains(&wanted), "{wanted} is lost: {}", text[1]);
        }
        assert_eq!(
            shop.told(&["knowledge", "check"])["nodes"],
            json!(3 + works.iter().map(|work| work.nodes.len()).sum::<usize>())
        );
    }
    if !is_left[2] {
        let whole: Value = serde_json::from_str(&text[2]).expect("is JSON");
        for (branch, work) in branches.iter().zip(works) {
            let (commits, files) =
                (names(&whole["commit_hashes"]), names(&whole["affected_files"]));
            assert!(
                (0..work.commits).all(|n| commits.contains(&format!("{branch}{n}"))),
                "{whole}"
            );
            assert!((0..work.files).all(|n| files.contains(&format!("{branch}{n}"))), "{whole}");
        }
    }
}

fn look_at_features(shop: &Repository, branches: &[String], works: &[Work]) {
    let list = shop.json(".twining/features.json");
    let features = list["features"].as_array().expect("a list");
    let find = |id: &str| {
        features
            .iter()
            .find(|feature| feature["id"] == id)
            .unwrap_or_else(|| panic!("{id} is lost: {list}"))
    };
    for (branch, work) in branches.iter().zip(works) {
        for (n, more) in work.criteria.iter().enumerate() {
            let criteria = names(&find(&format!("F{n}"))["acceptance_criteria"]);
            for wanted in (0..*more).map(|n| format!("{branch} asks for {n}")) {
                assert!(criteria.contains(&wanted), "F{n} lost `{wanted}`: {list}");
            }
        }
        if work.words {
            let worded = find("F0").to_string();
            assert!(worded.contains(&format!("in the words of {branch}")), "{worded}");
        }
        for (n, (_, criteria)) in work.features.iter().enumerate() {
            let id = format!("{branch}-{n}");
            let (found, wanted) = (find(&id), feature(&id, *criteria));
            assert_eq!(found["description"], wanted["description"], "{found}");
            assert_eq!(
                names(&found["acceptance_criteria"]),
                names(&wanted["acceptance_criteria"]),
                "{found}"
            );
        }
    }
}

/// How many stories of each kind; `TWINING_TANGLED_CASES` for more.
fn cases() -> u32 {
    std::env::var("TWINING_TANGLED_CASES").ok().and_then(|number| number.parse().ok()).unwrap_or(3)
}

fn each_way(how: How) {
    for style in ["merge", "diff3", "zdiff3"] {
        let config = Config {
            cases: cases(),
            max_shrink_iters: 40,
            failure_persistence: None,
            ..Config::default()
        };
        let ran = TestRunner::new(config).run(&prop::collection::vec(work(), 2..6), |works| {
            story(&works, style, how);
            Ok(())
        });
        ran.unwrap_or_else(|error| panic!("{style}: {error}"));
    }
}

#[test]
fn every_record_of_every_branch_survives_merges_that_nobody_settled() {
    each_way(How::Merge);
}

#[test]
fn every_record_of_every_branch_survives_rebases_that_nobody_settled() {
    each_way(How::Rebase);
}

/// What `doctor` calls a file that cannot be read.
fn reported(file: &str) -> &str {
    if file == "knowledge.dot" { "the knowledge graph has" } else { file }
}

/// Two merges one upon the other, of which the sides are these lines.
fn nested(first: &str, second: &str, third: &str) -> String {
    format!(
        "<<<<<<< HEAD\n<<<<<<< HEAD\n{first}\n=======\n{second}\n>>>>>>> one\n=======\n{third}\n>>>>>>> two\n"
    )
}

#[test]
fn conflicts_of_several_merges_that_no_commit_knows_are_left_as_they_are_and_reported() {
    let shop = Repository::new();
    base(&shop);
    let decision = format!(".twining/decisions/{DECISION}.json");
    let reason = |n: u8| format!("  \"rationale\": \"reason {n}\",");
    let rationale = "  \"rationale\": \"r\",\n";
    let texts = [
        (
            ".twining/features.json",
            format!("[\n{}]\n", nested("{\"id\": \"A\"}", "{\"id\": \"B\"}", "{\"id\": \"C\"}")),
        ),
        (
            ".twining/knowledge.dot",
            format!("digraph K {{\n{}}}\n", nested(&node("a"), &node("b"), &node("c"))),
        ),
        (
            &decision,
            shop.read(&decision).replace(rationale, &nested(&reason(1), &reason(2), &reason(3))),
        ),
    ];
    each(&texts, |(file, text)| {
        assert!(text.contains("<<<<<<<"), "{text}");
        shop.write(file, text);
    });
    shop.told(&["post", "finding", "after the merges"]);
    shop.run(&["doctor", "--fix"]);
    let told = shop.run(&["doctor"]);
    assert_ne!(told.code, 0, "{told:?}");
    for (file, text) in &texts {
        assert_eq!(shop.read(file), *text, "{file} is left as it is");
        assert!(
            told.stdout.contains(reported(file.trim_start_matches(".twining/"))),
            "{file}: {}",
            told.stdout
        );
    }
}

#[test]
fn a_commit_of_what_git_left_in_two_is_told_how_to_put_it_together() {
    let shop = Repository::new();
    shop.run(&["init", "--agent", "none"]);
    std::fs::write(shop.file(".git/info/attributes"), "").expect("writes");
    shop.write(".twining/.gitattributes", "");
    let words = [
        "decide",
        "--summary",
        "Use JWT",
        "--domain",
        "api",
        "--scope",
        "src/",
        "--context",
        "c",
        "--rationale",
        "r",
    ];
    let id = shop.told(&words)["id"].as_str().expect("has an id").to_owned();
    shop.commit("decided");
    let doubt = |branch: &str| {
        shop.told(&["reconsider", &id, "--new-context", &format!("what {branch} found")]);
        shop.commit(branch);
    };
    shop.git(&["checkout", "-q", "-b", "left"]);
    doubt("left");
    shop.git(&["checkout", "-q", "-b", "right", "HEAD~1"]);
    doubt("right");
    assert_ne!(shop.git_ran(&["merge", "left"]).code, 0, "git cannot merge it");
    shop.git(&["add", "-A"]);
    let refused = shop.git_ran(&["commit", "-m", "as it is"]);
    assert_ne!(refused.code, 0, "{refused:?}");
    assert!(
        refused.stderr.contains("[records]") && refused.stderr.contains("twining doctor --fix"),
        "{refused:?}"
    );
    assert!(!refused.stderr.contains("--no-verify"), "{refused:?}");
    shop.run(&["doctor", "--fix"]);
    shop.git(&["add", "-A"]);
    shop.commit("as it was told");
    let told = shop.read(&format!(".twining/decisions/{id}.json"));
    assert!(
        told.contains("what left found")
            && told.contains("what right found")
            && !told.contains("<<<<"),
        "{told}"
    );
}
