//! What names may be: no private vocabulary in identifiers, no type name twice, and no path
//! in a document that does not exist.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::modules::without_tests;
use super::{TidyViolation, files_below, rust_files};

/// Words that were once used in place of a technical term.
const BANNED: &[&str] = &[
    "told",
    "heard",
    "shelf",
    "shelves",
    "scene",
    "desk",
    "gist",
    "whence",
    "drowned",
    "whereabouts",
    "rim",
    "weave",
    "kin",
    "sieve",
    "nook",
    "beware",
    "afresh",
    "anew",
    "mend",
    "mended",
    "deed",
    "wish",
    "hollow",
    "keeper",
];

/// Folders of the repository that documents may name files in.
const FOLDERS: &[&str] =
    &["crates/", "docs/", "scripts/", "fixtures/", "plugin/", "npm/", "mcpb/", ".github/"];

/// Every identifier of product code with a banned word, and every type that shares its name.
pub(super) fn check(workspace: &Path) -> Vec<TidyViolation> {
    let mut untidy = Vec::new();
    let mut types: BTreeMap<String, PathBuf> = BTreeMap::new();
    for file in rust_files(&workspace.join("crates")) {
        let shown = file.strip_prefix(workspace).unwrap_or(&file).to_path_buf();
        let name = shown.to_string_lossy().into_owned();
        let is_test = |part: &&str| name.contains(*part);
        let tests = ["/tests/", "tests.rs", "testing.rs", "testkit"];
        let is_product = name.contains("/src/") && !tests.iter().any(is_test);
        let Ok(text) = std::fs::read_to_string(&file) else { continue };
        if !is_product {
            continue;
        }
        let violation = |line, rule| TidyViolation { file: shown.clone(), line, rule };
        let code = without_tests(&text);
        for (identifier, line) in identifiers(&code) {
            if let Some(word) = banned_word(&identifier) {
                untidy
                    .push(violation(line, format!("`{identifier}`: `{word}` is not a trade word")));
            }
        }
        for declared in declared_types(&code) {
            if let Some(other) = types.insert(declared.clone(), shown.clone()) {
                let rule = format!("the type name `{declared}` is also in {}", other.display());
                untidy.push(violation(0, rule));
            }
        }
    }
    untidy
}

/// Every link and every path in a document that leads to no file.
pub(super) fn check_documents(workspace: &Path) -> Vec<TidyViolation> {
    let mut documents = files_below(&workspace.join("docs"), "md");
    documents.extend(
        ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"].map(|name| workspace.join(name)),
    );
    let mut untidy = Vec::new();
    for file in documents {
        let Ok(text) = std::fs::read_to_string(&file) else { continue };
        let folder = file.parent().unwrap_or(workspace);
        for (number, line) in text.lines().enumerate() {
            for path in linked_paths(line).into_iter().filter(|path| !folder.join(path).exists()) {
                untidy.push(missing(workspace, &file, number, &path));
            }
            for path in named_paths(line).into_iter().filter(|path| !workspace.join(path).exists())
            {
                untidy.push(missing(workspace, &file, number, &path));
            }
        }
    }
    untidy
}

fn missing(workspace: &Path, file: &Path, number: usize, path: &str) -> TidyViolation {
    TidyViolation {
        file: file.strip_prefix(workspace).unwrap_or(file).to_path_buf(),
        line: number + 1,
        rule: format!("`{path}` does not exist"),
    }
}

/// Targets of Markdown links inside the repository, without their anchors.
fn linked_paths(line: &str) -> Vec<String> {
    let targets = line.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    let paths = targets.map(|target| target.split('#').next().unwrap_or_default());
    paths.filter(|path| !path.is_empty() && !path.contains(':')).map(str::to_owned).collect()
}

/// Paths in backticks that begin in a folder of the repository.
fn named_paths(line: &str) -> Vec<String> {
    let quoted = line.split('`').skip(1).step_by(2);
    let is_path = |text: &&str| {
        FOLDERS.iter().any(|folder| text.starts_with(folder))
            && !text.contains([' ', '*', '<', '{', '…'])
    };
    quoted.filter(is_path).map(|path| path.split(':').next().unwrap_or(path).to_owned()).collect()
}

fn banned_word(identifier: &str) -> Option<&'static str> {
    let mut words = words_of(identifier);
    words.find_map(|word| BANNED.iter().find(|banned| **banned == word).copied())
}

/// The words of `snake_case`, `CamelCase` and `SCREAMING_CASE`, in small letters.
fn words_of(identifier: &str) -> impl Iterator<Item = String> {
    let mut words = vec![String::new()];
    let mut is_after_small = false;
    for c in identifier.chars() {
        if c == '_' || (c.is_uppercase() && is_after_small) {
            words.push(String::new());
        }
        is_after_small = c.is_lowercase();
        if c != '_' {
            words.last_mut().expect("begins with one").extend(c.to_lowercase());
        }
    }
    words.into_iter()
}

/// Identifiers with their lines, outside of comments and strings.
fn identifiers(code: &str) -> Vec<(String, usize)> {
    let mut found = Vec::new();
    let mut is_in_string = false;
    for (number, line) in code.lines().enumerate() {
        let (mut word, mut is_escaped) = (String::new(), false);
        let mut chars = line.chars().peekable();
        while let Some(c) = chars.next() {
            let is_word = c.is_alphanumeric() || c == '_';
            match c {
                '"' if !is_escaped => is_in_string = !is_in_string,
                // A quote as a character is no string.
                '\'' if !is_in_string && chars.peek() == Some(&'"') => drop(chars.next()),
                c if is_word && !is_in_string => word.push(c),
                _ => {}
            }
            is_escaped = is_in_string && c == '\\' && !is_escaped;
            if !is_word && !word.is_empty() {
                found.push((std::mem::take(&mut word), number + 1));
            }
        }
        if !word.is_empty() {
            found.push((word, number + 1));
        }
    }
    found
}

fn declared_types(code: &str) -> Vec<String> {
    let of_line = |line: &str| {
        let mut words = line.split_whitespace().skip_while(|word| word.starts_with("pub"));
        let is_type = words.next().is_some_and(|word| matches!(word, "struct" | "enum" | "trait"));
        let name: String =
            words.next().filter(|_| is_type)?.chars().take_while(|c| c.is_alphanumeric()).collect();
        (!name.is_empty()).then_some(name)
    };
    code.lines().filter_map(of_line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_banned_word_is_found_in_any_case_and_not_in_text() {
        let code =
            "let told_by = \"told \\\" told\";\nstruct ToldAll;\nconst MOST_TOLD: u8 = 'x';\n";
        let found: Vec<(String, usize)> = identifiers(code)
            .into_iter()
            .filter(|(identifier, _)| banned_word(identifier).is_some())
            .collect();
        let expected = [("told_by", 1), ("ToldAll", 2), ("MOST_TOLD", 3)];
        assert_eq!(found, expected.map(|(name, line)| (name.to_owned(), line)));
        assert_eq!(banned_word("criminal_skin"), None);
    }

    #[test]
    fn types_are_known_by_their_declarations() {
        let code = "pub(crate) struct One<T>(T);\n    enum Two {\n// struct Three\nlet four = struct_of();\n";
        assert_eq!(declared_types(code), ["One", "Two"]);
    }

    #[test]
    fn links_and_named_paths_are_looked_up() {
        let line = "see [here](../a.md#part), [there](https://x.org/b) and `docs/c.md`, `src/d.rs`";
        assert_eq!(linked_paths(line), ["../a.md"]);
        assert_eq!(named_paths(line), ["docs/c.md"]);
    }
}
