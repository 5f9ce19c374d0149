//! Every integration test of this crate, in one program: it is linked once.

use twining_testcases::each;

mod guards;
mod hostile;

/// A file that nobody declares here would never run.
#[test]
fn every_test_file_is_declared() {
    let tests = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let declared = include_str!("main.rs");
    let mut files = 0;
    each(std::fs::read_dir(tests).expect("reads the folder").flatten(), |entry| {
        let name = entry.file_name().to_string_lossy().into_owned();
        if let Some(module) = name.strip_suffix(".rs").filter(|module| *module != "main") {
            assert!(declared.contains(&format!("mod {module};")), "{name} is not declared");
            files += 1;
        }
    });
    assert!(files > 0);
}
