//! Lists every text that the program can print, with its place, so that a person can reread
//! them all: `cargo run -p twining-testkit --bin messages > messages.txt`.
//!
//! Listed are string literals of product code that read like words, and the doc comments of
//! inputs, which are the help of flags and the descriptions that models read.

#![expect(clippy::print_stdout, reason = "a list for people")]

use std::path::{Path, PathBuf};

/// Crates whose texts reach somebody.
const CRATES: [&str; 6] =
    ["twining", "twining-engine", "twining-guard", "twining-store", "twining-model", "twining-dot"];

fn main() {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for name in CRATES {
        let mut files = Vec::new();
        collect(&workspace.join("crates").join(name).join("src"), &mut files);
        files.sort();
        for file in files {
            let Ok(text) = std::fs::read_to_string(&file) else { continue };
            let shown = file.strip_prefix(workspace.join("crates")).unwrap_or(&file);
            let product = text.split("#[cfg(test)]\nmod ").next().unwrap_or(&text);
            for (line, message) in messages(product) {
                println!("{}:{line}\t{message}", shown.display());
            }
        }
    }
}

fn collect(dir: &Path, files: &mut Vec<PathBuf>) {
    for path in std::fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path()) {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if path.is_dir() && name != "tests" {
            collect(&path, files);
        } else if name.ends_with(".rs") && name != "tests.rs" {
            files.push(path);
        }
    }
}

/// Texts with their lines, from one.
fn messages(code: &str) -> Vec<(usize, String)> {
    let mut found = help_texts(code);
    let mut rest = code;
    let mut line = 1;
    while let Some(at) = rest.find(['"', '/', '\'']) {
        line += rest[..at].matches('\n').count();
        let before = &rest[..at];
        let (taken, literal) = match &rest[at..] {
            comment if comment.starts_with("//") => {
                (comment.find('\n').unwrap_or(comment.len()), None)
            }
            // A quote as a character begins no text.
            quote if quote.starts_with("'\"'") => (3, None),
            text if text.starts_with('"') => literal(before, text),
            _ => (1, None),
        };
        if let Some(text) = literal.filter(|text| is_message(before, text)) {
            found.push((line, text));
        }
        line += rest[at..at + taken].matches('\n').count();
        rest = &rest[at + taken..];
    }
    found.sort();
    found
}

/// The literal that begins here: its length with the quotes, and its text on one line.
fn literal(before: &str, text: &str) -> (usize, Option<String>) {
    let hashes = before.len() - before.trim_end_matches('#').len();
    let is_raw = before.trim_end_matches('#').ends_with('r');
    let close = format!("\"{}", "#".repeat(if is_raw { hashes } else { 0 }));
    let mut at = 1;
    while let Some(found) = text[at..].find(&close) {
        let end = at + found;
        let slashes = text[..end].len() - text[..end].trim_end_matches('\\').len();
        if is_raw || slashes.is_multiple_of(2) {
            let lines = text[1..end].split("\\\n").map(str::trim_start);
            return (end + close.len(), Some(lines.collect::<String>().replace('\n', "\\n")));
        }
        at = end + 1;
    }
    (text.len(), None)
}

/// Two words at least, no statement of SQL, and nobody's reason for a lint or an invariant.
fn is_message(before: &str, text: &str) -> bool {
    let is_word = |word: &&str| word.chars().filter(char::is_ascii_alphabetic).count() > 1;
    let is_sql = ["SELECT ", "INSERT ", "CREATE ", "UPDATE ", "DELETE "]
        .iter()
        .any(|verb| text.contains(verb));
    let is_inner = before.ends_with("expect(") || before.ends_with("reason = ");
    text.split(' ').filter(is_word).count() > 1 && !is_sql && !is_inner
}

/// Doc comments inside of types that are an input or a command line.
fn help_texts(code: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut is_inside = false;
    for (number, line) in code.lines().enumerate() {
        if line.starts_with("#[derive(") || line.starts_with("    JsonSchema") {
            is_inside = line.contains("JsonSchema");
        }
        if is_inside && let Some(text) = line.trim().strip_prefix("/// ") {
            found.push((number + 1, text.to_owned()));
        }
        is_inside &= line != "}";
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_listed_and_comments_names_and_statements_are_not() {
        let code = concat!(
            "// \"not this one\"\n",
            "let a = \"cannot open `{path}`\";\n",
            "let b = 'x'; let c = '\"'; let d = \"word\";\n",
            "x.expect(\"made above by us\");\n",
            "const Q: &str = \"SELECT a FROM b\";\n",
            "let e = r#\"say \"this\" aloud\"#;\n",
            "let f = \"one \\\"two\\\" and \\\n    three\";\n",
        );
        let expected = [
            (2, "cannot open `{path}`"),
            (6, "say \"this\" aloud"),
            (7, "one \\\"two\\\" and three"),
        ];
        assert_eq!(messages(code), expected.map(|(line, text)| (line, text.to_owned())));
    }

    #[test]
    fn help_is_what_an_input_documents() {
        let code = "/// Not this.\n#[derive(Debug, JsonSchema)]\npub struct PostInput {\n    /// The kind of entry.\n    kind: String,\n}\n/// Nor this.\n";
        assert_eq!(help_texts(code), [(4, "The kind of entry.".to_owned())]);
    }
}
