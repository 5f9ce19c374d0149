//! Knowledge at the command line: DOT files, the graph, its merge in a real repository.

mod common;

use common::Project;
use serde_json::{Value, json};

fn write(project: &Project, name: &str, text: impl AsRef<[u8]>) {
    let path = project.path().join(name);
    std::fs::create_dir_all(path.parent().expect("has a folder")).expect("makes the folder");
    std::fs::write(path, text).expect("writes");
}

#[test]
fn any_dot_file_gets_the_parsers_word() {
    let project = Project::new();
    write(&project, "good.dot", "strict graph { a -- b; a -- b [x=1] }");
    write(&project, "bad.dot", "digraph {\n  api-server [x=1];\n  a -> ;\n}\n");
    let ran = project.run(&["dot", "check", "good.dot", "bad.dot", "absent.dot", "--json"]);
    assert_eq!(ran.code, 3, "{ran:?}");
    let told: Value = serde_json::from_str(&ran.stdout).expect("prints JSON");
    assert_eq!(told[0], json!({"file": "good.dot", "ok": true, "nodes": 2, "edges": 1, "errors": []}));
    assert_eq!((&told[1]["ok"], &told[1]["errors"][0]["line"]), (&json!(false), &json!(2)), "{told}");
    assert!(told[1]["errors"].as_array().is_some_and(|errors| errors.len() == 2), "every error is told: {told}");
    assert!(told[2]["errors"][0]["message"].as_str().is_some_and(|message| message.starts_with("cannot be read")), "{told}");

    let shown = project.run(&["dot", "check", "good.dot", "bad.dot"]);
    assert!(shown.stdout.starts_with("ok good.dot 2 nodes, 1 edge\nbad.dot:2:"), "{}", shown.stdout);
    assert_eq!(project.run_with(&["dot", "check", "-"], "digraph {}").code, 0);
    assert_eq!(project.run(&["dot", "check"]).code, 2);
}
