//! Real DOT files and what Graphviz says of each: accepted and refused alike, with
//! the same numbers. The files are not part of this repository; without them the
//! test says so and passes.

use std::path::{Path, PathBuf};

use twining_dot::{DotDocument, check};

fn folder() -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/dot");
    let folder = std::env::var_os("TWINING_DOT_FILES").map_or(beside, PathBuf::from);
    folder.join("expected.json").exists().then_some(folder)
}

#[test]
#[expect(clippy::print_stdout, reason = "a test that did not run must say so")]
fn real_files_are_read_as_graphviz_reads_them() {
    let Some(folder) = folder() else {
        println!("skipped: set TWINING_DOT_FILES to a folder with expected.json to run this");
        return;
    };
    let expected = std::fs::read(folder.join("expected.json")).expect("expected.json is there");
    let expected: serde_json::Value =
        serde_json::from_slice(&expected).expect("expected.json is JSON");
    let mut different = Vec::new();
    let files = expected["files"].as_object().expect("a map of files");
    for (name, wanted) in files {
        let source = std::fs::read(folder.join(name)).expect("a listed file is there");
        let found = check(&source);
        if wanted["ok"] == true {
            if !found.ok || wanted["nodes"] != found.nodes || wanted["edges"] != found.edges {
                different.push(format!("{name}: wanted {wanted}, found {found:?}"));
            }
        } else if found.ok || wanted["line"] != found.errors[0].line {
            different.push(format!("{name}: wanted {wanted}, found {found:?}"));
        }
        let document = DotDocument::parse(source.clone());
        let printed: Vec<u8> =
            document.tokens().flat_map(|token| token.span.of(&source).to_vec()).collect();
        assert_eq!(printed, source, "{name} is not printed back as it was");
    }
    assert!(
        different.is_empty(),
        "{} of {} differ:\n{}",
        different.len(),
        files.len(),
        different.join("\n")
    );
}
