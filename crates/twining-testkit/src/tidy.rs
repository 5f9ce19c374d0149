//! The rules that no compiler checks: the length of files and functions, one door to each
//! part of the outside world, dependencies that point one way.

mod modules;

use std::path::{Path, PathBuf};

/// Lines past which a file is refused.
pub const MOST_LINES: usize = 800;

/// Lines past which a function is refused.
pub const MOST_FUNCTION_LINES: usize = 90;

/// A place where a rule is broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TidyViolation {
    /// Which file.
    pub file: PathBuf,
    /// Which line, from one; zero for the whole file.
    pub line: usize,
    /// Which rule.
    pub rule: String,
}

/// Calls that only the named files may make; each is a door to the world outside.
const DOORS: &[(&str, &[&str])] = &[
    ("SystemTime::now", &["twining/src/world.rs", "twining-testkit/"]),
    ("Timestamp::now", &[]),
    ("std::env::", &["twining/src/", "twining-testkit/src/bin/", "/tests/", "/examples/"]),
    ("current_dir()", &["twining/src/", "/tests/"]),
    (
        "std::fs::",
        &[
            "twining-store/src/disk/",
            "twining-store/src/git/",
            "twining-testkit/",
            "/tests",
            "/examples/",
            "twining/src/",
        ],
    ),
    ("Command::new(\"git\")", &["twining-store/src/git/mod.rs", "twining-testkit/", "/tests/"]),
    ("#[allow(", &[]),
];

/// Which crate may use which.
const LAYERS: &[(&str, &[&str])] = &[
    ("twining-dot", &[]),
    ("twining-embed", &[]),
    ("twining-model", &[]),
    ("twining-store", &["twining-dot", "twining-model"]),
    ("twining-guard", &["twining-model"]),
    (
        "twining-engine",
        &["twining-dot", "twining-embed", "twining-guard", "twining-model", "twining-store"],
    ),
];

/// Every place under `crates/` that breaks a rule.
#[must_use]
pub fn check(workspace: &Path) -> Vec<TidyViolation> {
    let mut untidy = Vec::new();
    for file in rust_files(&workspace.join("crates")) {
        let Ok(text) = std::fs::read_to_string(&file) else { continue };
        let shown = file.strip_prefix(workspace).unwrap_or(&file).to_path_buf();
        check_file(&shown, &text, &mut untidy);
    }
    untidy.extend(modules::check(&workspace.join("crates")));
    for (name, allowed) in LAYERS {
        let manifest =
            std::fs::read_to_string(workspace.join("crates").join(name).join("Cargo.toml"))
                .unwrap_or_default();
        let wanted = manifest.split("[dev-dependencies]").next().unwrap_or_default();
        for line in wanted.lines().filter(|line| line.starts_with("twining-")) {
            let used = line.split(['.', ' ', '=']).next().unwrap_or_default();
            if !allowed.contains(&used) {
                untidy.push(TidyViolation {
                    file: PathBuf::from(name),
                    line: 0,
                    rule: format!("{name} must not depend on {used}"),
                });
            }
        }
    }
    untidy
}

fn check_file(file: &Path, text: &str, untidy: &mut Vec<TidyViolation>) {
    let name = file.to_string_lossy().replace('\\', "/");
    let lines = text.lines().count();
    if lines > MOST_LINES {
        untidy.push(TidyViolation {
            file: file.to_owned(),
            line: 0,
            rule: format!("{lines} lines; at most {MOST_LINES}"),
        });
    }
    if name.contains("/src/") && !text.starts_with("//!") && !name.contains("/tests") {
        untidy.push(TidyViolation {
            file: file.to_owned(),
            line: 1,
            rule: "a module opens with its promise (//!)".to_owned(),
        });
    }
    if name.contains("/src/") && !name.contains("/tests") {
        untidy.extend(long_functions(text).into_iter().map(|(line, length)| TidyViolation {
            file: file.to_owned(),
            line,
            rule: format!("a function of {length} lines; at most {MOST_FUNCTION_LINES}"),
        }));
    }
    if name.contains("testkit/src/tidy") {
        return;
    }
    // Tests at the end of a file may look at the disk from outside.
    let code = text.split("#[cfg(test)]\nmod ").next().unwrap_or(text);
    for (number, line) in code.lines().enumerate() {
        let line = line.split("//").next().unwrap_or_default();
        for (door, keepers) in DOORS {
            if line.contains(door) && !keepers.iter().any(|keeper| name.contains(keeper)) {
                untidy.push(TidyViolation {
                    file: file.to_owned(),
                    line: number + 1,
                    rule: format!("`{door}` belongs behind its own door"),
                });
            }
        }
    }
}

/// Functions that are too long: the line of each, from one, and its length. Formatted
/// code ends a function in its own line, or with a brace or a semicolon right below.
fn long_functions(text: &str) -> Vec<(usize, usize)> {
    let lines: Vec<&str> = text.lines().collect();
    let mut long = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let (indent, code) = line.split_at(line.len() - line.trim_start().len());
        let is_function = code
            .split(' ')
            .take_while(|word| !word.contains(['"', '/', '|']))
            .any(|word| word == "fn");
        if !is_function || code.ends_with(['}', ';']) {
            continue;
        }
        let is_end = |line: &&str| {
            line.strip_prefix(indent).is_some_and(|rest| {
                rest.starts_with('}') || (rest.starts_with(')') && rest.ends_with(';'))
            })
        };
        let length = lines[at..].iter().position(is_end).unwrap_or(0) + 1;
        if length > MOST_FUNCTION_LINES {
            long.push((at + 1, length));
        }
    }
    long
}

fn rust_files(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut todo = vec![dir.to_owned()];
    while let Some(dir) = todo.pop() {
        let Ok(entries) = std::fs::read_dir(&dir) else { continue };
        for path in entries.flatten().map(|entry| entry.path()) {
            if path.is_dir() {
                todo.push(path);
            } else if path.extension().is_some_and(|ext| ext == "rs") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_workspace_is_tidy() {
        let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let untidy = check(&workspace);
        assert!(untidy.is_empty(), "{untidy:#?}");
    }

    #[test]
    fn a_function_past_the_limit_is_noticed_and_its_neighbours_are_not() {
        let body = "    go();\n".repeat(MOST_FUNCTION_LINES);
        let text = format!(
            "fn short() {{}}\npub(crate) fn long(\n    a: u8,\n) {{\n{body}}}\nfn last() {{\n    go();\n}}\n"
        );
        assert_eq!(long_functions(&text), [(2, MOST_FUNCTION_LINES + 4)]);
        let trait_text =
            format!("trait T {{\n    fn a(&self);\n{}}}\n", "    const X: u8;\n".repeat(200));
        assert_eq!(long_functions(&trait_text), []);
    }

    #[test]
    fn a_clock_in_the_wrong_room_is_noticed() {
        let mut untidy = Vec::new();
        check_file(
            Path::new("crates/twining-engine/src/x.rs"),
            "//! x\nlet t = SystemTime::now();\n",
            &mut untidy,
        );
        assert_eq!(untidy.len(), 1);
        assert_eq!(untidy[0].line, 2);
    }
}
