//! A folder of the TypeScript server opens, works, and keeps what only that
//! server knows; and that server can read what we write.

use std::path::Path;
use twining_testcases::each;

use serde_json::Value;
use twining_model::{Amendment, Change, Entity, Id};
use twining_store::{Durability, EntryFilter, StoreError};
use twining_testkit::files::{board, json};
use twining_testkit::memory::{decision, entity, entry, store};
use twining_testkit::{FixedWorld, TestProject};

const JWT: &str = "01K9Z3M4E0DEC1S10NAAAAAAA1";

fn typescript_project() -> TestProject {
    let project = TestProject::new();
    copy(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/typescript-1.9/twining"),
        &project.file(""),
    );
    project
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("makes");
    for file in std::fs::read_dir(from).expect("the fixture is there").flatten() {
        let target = to.join(file.file_name());
        if file.path().is_dir() {
            copy(&file.path(), &target);
        } else {
            std::fs::copy(file.path(), &target).expect("copies");
        }
    }
}

#[test]
fn everything_in_it_is_there() {
    let project = typescript_project();
    let store = store(&project, &FixedWorld::new());
    assert_eq!(store.project_name(), "shop");
    store
        .view::<_, StoreError>(|view| {
            let counter = view.counts()?;
            assert_eq!((counter.entries, counter.active, counter.provisional), (6, 1, 1));
            assert_eq!((counter.entities, counter.relations, counter.unreadable), (7, 4, 0));
            assert_eq!(
                (counter.open_needs, counter.open_questions, counter.open_warnings),
                (1, 0, 1)
            );
            assert!(view.entries().get("hook-1763020800123")?.is_some());
            assert!(view.decisions().get(&Id::read(JWT).expect("an id"))?.is_some());
            assert_eq!(view.graph().named("auth")?.len(), 2);
            assert_eq!(view.entries().newest(&EntryFilter::default(), 10)?.total, 6);
            Ok(())
        })
        .expect("reads");
}

#[test]
fn reading_it_changes_none_of_its_files() {
    let project = typescript_project();
    let before = snapshot(&project.file(""));
    let store = store(&project, &FixedWorld::new());
    store.view(|view| view.counts()).expect("reads");
    store.housekeep().expect("works");
    drop(store);
    assert_eq!(snapshot(&project.file("")), before);
}

#[test]
fn our_rewrites_lose_nothing_that_we_do_not_know() {
    let project = typescript_project();
    let before = snapshot(&project.file(""));
    let store = store(&project, &FixedWorld::new());
    let jwt = Id::read(JWT).expect("an id");
    let mut known: Entity = store
        .view::<_, StoreError>(|view| {
            Ok(view.graph().named_as("verifyJwt", "function")?.expect("there"))
        })
        .expect("reads");
    known.properties.insert("line".to_owned(), "17".to_owned());
    let change = Change {
        entries: vec![entry(&store, "ours")],
        decisions: vec![decision(&store, "ours")],
        amendments: vec![Amendment::new(
            jwt,
            [("status".to_owned(), "provisional".into())].into_iter().collect(),
        )],
        entities: vec![known, entity(&store, "ours")],
        ..Change::default()
    };
    store
        .transact::<_, StoreError>(Durability::Strict, |_| Ok((change.clone(), ())))
        .expect("writes");
    store.housekeep().expect("works");

    let jwt_file =
        std::fs::read_to_string(project.file(&format!("decisions/{JWT}.json"))).expect("there");
    assert!(
        jwt_file.contains("12345678901234567890123") && jwt_file.contains("\"assumptions\""),
        "{jwt_file}"
    );
    assert_eq!(
        json(&project.path(), &format!("decisions/{JWT}.json")).expect("valid")["status"],
        "provisional"
    );
    let entities = json(&project.path(), "graph/entities.json").expect("valid");
    let verify = entities
        .as_array()
        .expect("array")
        .iter()
        .find(|e| e["name"] == "verifyJwt")
        .expect("there");
    assert_eq!(verify["confidence_score"], 0.5);
    assert_eq!(verify["properties"]["line"], "17");
    assert_eq!(verify["properties"]["scope"], "src/auth/");

    let after = snapshot(&project.file(""));
    each(&before, |(path, old)| {
        let new = after
            .iter()
            .find(|(other, _)| other == path)
            .map(|(_, text)| text)
            .unwrap_or_else(|| panic!("{path} is gone"));
        match path.as_str() {
            "blackboard.jsonl" => {
                assert!(new.starts_with(old.as_str()), "old lines keep their bytes");
            }
            path if path.ends_with(&format!("{JWT}.json"))
                || path == "decisions/index.json"
                || path.starts_with("graph/") =>
            {
                superset(path, old, new);
            }
            _ => assert_eq!(new, old, "{path} is not ours to touch"),
        }
    });
}

#[test]
fn that_server_can_read_what_we_write() {
    let project = typescript_project();
    let store = store(&project, &FixedWorld::new());
    let change = Change {
        entries: vec![entry(&store, "ours")],
        decisions: vec![decision(&store, "ours")],
        entities: vec![entity(&store, "ours")],
        ..Change::default()
    };
    let id = change.decisions[0].id.to_string();
    store
        .transact::<_, StoreError>(Durability::Strict, |_| Ok((change.clone(), ())))
        .expect("writes");
    store.housekeep().expect("works");
    let text = ["id", "timestamp", "agent_id", "entry_type", "scope", "summary", "detail"];
    each(board(&project.path()).expect("every line is JSON"), |line| {
        assert!(
            text.iter().all(|field| line[field].is_string()) && line["tags"].is_array(),
            "{line}"
        );
    });
    let decision = json(&project.path(), &format!("decisions/{id}.json")).expect("JSON");
    for field in [
        "constraints",
        "alternatives",
        "depends_on",
        "affected_files",
        "affected_symbols",
        "commit_hashes",
    ] {
        assert!(decision[field].is_array(), "{field}");
    }
    for field in [
        "id",
        "timestamp",
        "agent_id",
        "domain",
        "scope",
        "summary",
        "context",
        "rationale",
        "confidence",
        "status",
    ] {
        assert!(decision[field].is_string(), "{field}");
    }
    let index = json(&project.path(), "decisions/index.json").expect("JSON");
    assert_eq!(index.as_array().map(Vec::len), Some(3));
    assert!(
        index
            .as_array()
            .expect("array")
            .iter()
            .any(|listed| listed["id"] == id.as_str() && listed["status"] == "active")
    );
    for path in ["graph/entities.json", "graph/relations.json"] {
        each(json(&project.path(), path).expect("JSON").as_array().expect("array"), |element| {
            assert!(
                element["id"].is_string()
                    && element["type"].is_string()
                    && element["properties"].is_object(),
                "{element}"
            );
        });
    }
}

/// Every file outside `local/` with its text.
fn snapshot(folder: &Path) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut todo = vec![folder.to_owned()];
    while let Some(dir) = todo.pop() {
        for file in std::fs::read_dir(&dir).expect("there").flatten() {
            let path = file.path();
            if path.is_dir() {
                if !path.ends_with("local") {
                    todo.push(path);
                }
            } else {
                let name =
                    path.strip_prefix(folder).expect("inside").to_string_lossy().into_owned();
                found.push((name, std::fs::read_to_string(&path).expect("text")));
            }
        }
    }
    found.sort();
    found
}

/// Every field and element of the old JSON is in the new one, with its value,
/// but for the fields that were changed on purpose.
fn superset(path: &str, old: &str, new: &str) {
    fn within(path: &str, old: &Value, new: &Value) {
        match (old, new) {
            (Value::Object(old), Value::Object(new)) => {
                for (key, value) in old {
                    if key != "status" && key != "updated_at" {
                        within(
                            &format!("{path}.{key}"),
                            value,
                            new.get(key).unwrap_or(&Value::Null),
                        );
                    }
                }
            }
            (Value::Array(old), Value::Array(new)) => {
                for (i, value) in old.iter().enumerate() {
                    let same = new
                        .iter()
                        .find(|other| value["id"].is_string() && other["id"] == value["id"])
                        .or(new.get(i));
                    within(&format!("{path}[{i}]"), value, same.unwrap_or(&Value::Null));
                }
            }
            _ => assert_eq!(old, new, "{path}"),
        }
    }
    within(
        path,
        &serde_json::from_str(old).expect("JSON"),
        &serde_json::from_str(new).expect("JSON"),
    );
}
