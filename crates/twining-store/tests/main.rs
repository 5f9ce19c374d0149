//! Every integration test of this crate, in one program: it is linked once.

use twining_testcases::each;

mod attacks;
mod drop_in;
mod faults;
mod features;
mod following;
mod git;
mod integrity;
mod queues;
mod quick_reads;
mod readers;
mod reading_together;
mod settings_are_documented;
mod state_machine;
mod traces;
mod turns;
mod vectors;
mod write_path;

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
