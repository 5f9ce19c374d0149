//! The rules that no compiler checks: the length of files and functions, one module for each
//! part of the outside world, dependencies that point one way, names.

mod modules;
mod names;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Lines past which a file is refused.
pub const MAX_FILE_LINES: usize = 800;

/// Lines past which a function is refused.
pub const MAX_FUNCTION_LINES: usize = 90;

/// Files past which a folder is refused.
pub const MAX_FOLDER_FILES: usize = 20;

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

/// Calls to the outside world that only the named files may make.
const BOUNDARIES: &[(&str, &[&str])] = &[
    ("SystemTime::now", &["twining/src/system_world.rs", "twining-testkit/"]),
    ("Timestamp::now", &[]),
    (
        "std::env::",
        &[
            "twining/src/",
            "twining-testkit/src/bin/",
            "twining-testkit/src/postgres.rs",
            "/tests/",
            "/examples/",
        ],
    ),
    ("current_dir()", &["twining/src/", "/tests/"]),
    (
        "std::fs::",
        &[
            "twining-store/src/disk/",
            "twining-store/src/git/",
            "twining-service/src/repositories.rs",
            "twining-testkit/",
            "/tests",
            "/examples/",
            "twining/src/",
        ],
    ),
    (
        "Command::new(\"git\")",
        &["twining-store/src/git/repository.rs", "twining-testkit/", "/tests/"],
    ),
    ("ureq::", &["twining/src/link/", "twining-service/src/http/oauth/key_cache.rs", "/tests/"]),
    ("async fn", ASYNC_MODULES),
    ("tokio::", ASYNC_MODULES),
    ("#[allow(", &[]),
];

/// Where the core's callers wait for more than one thing at a time.
const ASYNC_MODULES: &[&str] = &[
    "twining/src/mcp/",
    "twining/src/serve/",
    "twining/src/web/",
    "twining-service/",
    "twining-testkit/src/bin/figures/service",
    "/tests/",
    "/examples/",
];

/// Which crate may use which.
const LAYERS: &[(&str, &[&str])] = &[
    ("twining-code", &[]),
    ("twining-dot", &[]),
    ("twining-embed", &[]),
    ("twining-model", &[]),
    ("twining-store", &["twining-code", "twining-dot", "twining-model"]),
    ("twining-guard", &["twining-model"]),
    (
        "twining-engine",
        &[
            "twining-code",
            "twining-dot",
            "twining-embed",
            "twining-guard",
            "twining-model",
            "twining-store",
        ],
    ),
    ("twining-service", &["twining-engine", "twining-model", "twining-store"]),
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
    untidy.extend(names::check(workspace));
    untidy.extend(names::check_documents(workspace));
    untidy.extend(full_folders(workspace));
    untidy.extend(undeclared_tests(workspace));
    untidy.extend(unsafe_markup(workspace));
    let settings = [("rustfmt.toml", "max_width = 100"), ("Cargo.toml", "unreachable_pub")];
    for (file, wanted) in settings {
        let text = std::fs::read_to_string(workspace.join(file)).unwrap_or_default();
        if !text.contains(wanted) {
            let rule = format!("must set `{wanted}`");
            untidy.push(TidyViolation { file: PathBuf::from(file), line: 0, rule });
        }
    }
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
    if lines > MAX_FILE_LINES {
        untidy.push(TidyViolation {
            file: file.to_owned(),
            line: 0,
            rule: format!("{lines} lines; at most {MAX_FILE_LINES}"),
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
            rule: format!("a function of {length} lines; at most {MAX_FUNCTION_LINES}"),
        }));
    }
    if name.ends_with("/mod.rs") && name.contains("/src/") && !name.contains("/tests") {
        let bodies = text.lines().enumerate().filter(|(_, line)| is_body(line));
        untidy.extend(bodies.map(|(number, _)| TidyViolation {
            file: file.to_owned(),
            line: number + 1,
            rule: "a mod.rs holds declarations, no function bodies".to_owned(),
        }));
    }
    if name.contains("testkit/src/tidy") {
        return;
    }
    // Tests at the end of a file may look at the disk from outside.
    let code = text.split("#[cfg(test)]\nmod ").next().unwrap_or(text);
    for (number, line) in code.lines().enumerate() {
        let line = line.split("//").next().unwrap_or_default();
        for (call, allowed) in BOUNDARIES {
            if line.contains(call) && !allowed.iter().any(|path| name.contains(path)) {
                untidy.push(TidyViolation {
                    file: file.to_owned(),
                    line: number + 1,
                    rule: format!("`{call}` may only be called from {allowed:?}"),
                });
            }
        }
    }
}

/// Whether a function or an implementation begins in this line.
fn is_body(line: &str) -> bool {
    line.starts_with("impl")
        || (line.starts_with(|c: char| c.is_alphabetic())
            && line.split(['(', ' ']).take(4).any(|word| word == "fn"))
}

/// Test files that the `main.rs` beside them does not declare: they would never run.
fn undeclared_tests(workspace: &Path) -> Vec<TidyViolation> {
    let mut untidy = Vec::new();
    for file in rust_files(&workspace.join("crates")) {
        let (Some(folder), Some(name)) = (file.parent(), file.file_stem()) else { continue };
        let main = folder.join("main.rs");
        if folder.ends_with("tests") && main.exists() && file != main {
            let declared = std::fs::read_to_string(&main).unwrap_or_default();
            if !declared.contains(&format!("mod {};", name.to_string_lossy())) {
                let rule = "main.rs does not declare it, so it never runs".to_owned();
                untidy.push(TidyViolation { file, line: 0, rule });
            }
        }
    }
    untidy
}

/// Sources of the page that could make markup or code of stored text, or ask another host.
fn unsafe_markup(workspace: &Path) -> Vec<TidyViolation> {
    const BANNED: [&str; 8] = [
        "innerHTML",
        "outerHTML",
        "insertAdjacentHTML",
        "document.write",
        "eval(",
        "new Function",
        "http://",
        "https://",
    ];
    let mut untidy = Vec::new();
    for extension in ["ts", "tsx", "css", "html"] {
        for file in files_below(&workspace.join("web/src"), extension) {
            let text = std::fs::read_to_string(&file).unwrap_or_default();
            let lines = text.lines().enumerate();
            let found = lines.flat_map(|(at, line)| {
                let banned = BANNED.iter().filter(move |banned| line.contains(**banned));
                banned.map(move |banned| (at + 1, format!("the page must not contain `{banned}`")))
            });
            let file = file.strip_prefix(workspace).unwrap_or(&file).to_path_buf();
            untidy.extend(found.map(|(line, rule)| TidyViolation {
                file: file.clone(),
                line,
                rule,
            }));
        }
    }
    untidy
}

/// Folders of product code with too many files.
fn full_folders(workspace: &Path) -> Vec<TidyViolation> {
    let mut counts: BTreeMap<PathBuf, usize> = BTreeMap::new();
    for file in rust_files(&workspace.join("crates")) {
        let folder = file.parent().unwrap_or(&file).to_path_buf();
        if folder.to_string_lossy().contains("/src") {
            *counts.entry(folder).or_default() += 1;
        }
    }
    let full = counts.into_iter().filter(|(_, files)| *files > MAX_FOLDER_FILES);
    full.map(|(folder, files)| TidyViolation {
        file: folder.strip_prefix(workspace).unwrap_or(&folder).to_path_buf(),
        line: 0,
        rule: format!("{files} files; at most {MAX_FOLDER_FILES} a folder"),
    })
    .collect()
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
        if length > MAX_FUNCTION_LINES {
            long.push((at + 1, length));
        }
    }
    long
}

fn rust_files(dir: &Path) -> Vec<PathBuf> {
    files_below(dir, "rs")
}

fn files_below(dir: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut todo = vec![dir.to_owned()];
    while let Some(dir) = todo.pop() {
        let Ok(entries) = std::fs::read_dir(&dir) else { continue };
        for path in entries.flatten().map(|entry| entry.path()) {
            if path.is_dir() {
                todo.push(path);
            } else if path.extension().is_some_and(|ext| ext == extension) {
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
        let body = "    go();\n".repeat(MAX_FUNCTION_LINES);
        let text = format!(
            "fn short() {{}}\npub(crate) fn long(\n    a: u8,\n) {{\n{body}}}\nfn last() {{\n    go();\n}}\n"
        );
        assert_eq!(long_functions(&text), [(2, MAX_FUNCTION_LINES + 4)]);
        let trait_text =
            format!("trait T {{\n    fn a(&self);\n{}}}\n", "    const X: u8;\n".repeat(200));
        assert_eq!(long_functions(&trait_text), []);
    }

    #[test]
    fn a_page_that_makes_markup_of_text_is_noticed() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let sources = dir.path().join("web/src");
        std::fs::create_dir_all(&sources).expect("a folder");
        std::fs::write(sources.join("a.tsx"), "fine\nnode.innerHTML = text;\n").expect("writes");
        let found: Vec<usize> = unsafe_markup(dir.path()).iter().map(|rule| rule.line).collect();
        assert_eq!(found, [2]);
    }

    #[test]
    fn a_test_file_that_nobody_declares_is_noticed() {
        let workspace = tempfile::tempdir().expect("a folder");
        let tests = workspace.path().join("crates/a/tests");
        std::fs::create_dir_all(&tests).expect("makes the folder");
        for (name, text) in [("main.rs", "mod one;\n"), ("one.rs", ""), ("two.rs", "")] {
            std::fs::write(tests.join(name), text).expect("writes");
        }
        let found: Vec<_> =
            undeclared_tests(workspace.path()).into_iter().map(|found| found.file).collect();
        assert_eq!(found, [tests.join("two.rs")]);
    }

    #[test]
    fn only_bodies_are_bodies() {
        let yes = ["fn a() {", "pub fn a() {", "pub(crate) const fn a() {", "impl A {"];
        assert!(yes.iter().all(|line| is_body(line)));
        let no = ["mod a;", "pub use a::fn_b;", "    fn in_a_test() {", "//! fn a"];
        assert!(!no.iter().any(|line| is_body(line)));
    }

    #[test]
    fn a_clock_in_the_wrong_crate_is_noticed() {
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
