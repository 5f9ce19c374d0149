//! Code handed to an interpreter on the line: whether it writes, and what it names.

/// Words by which code in some language writes, moves or removes, or starts
/// something that may.
const WRITES: [&str; 36] = [
    "'w",
    "\"w",
    "'a'",
    "\"a\"",
    "'a+",
    "'r+",
    "\"r+",
    "write",
    "put_contents",
    "dump(",
    "unlink",
    "remove",
    "rename",
    "replace(",
    "truncate",
    "shutil",
    "append",
    "rmSync",
    "rm(",
    "copyFile",
    "cpSync",
    "createWriteStream",
    "symlink",
    "link(",
    "system",
    "exec",
    "spawn",
    "popen",
    "subprocess",
    "os.open",
    "puts",
    ">",
    "touch",
    "mktemp",
    "open(my",
    "`",
];

/// Whether this code may change a file.
pub(super) fn writes(code: &str) -> bool {
    WRITES.iter().any(|word| code.contains(word))
}

/// The code without what joins parts of a text, so that `'feature-' + 'list'`
/// reads as one.
pub(crate) fn squeezed(code: &str) -> String {
    code.chars()
        .filter(|c| !matches!(c, '\'' | '"' | '+' | ' ' | '\n' | '\t' | '(' | ')' | ',' | '`' | '\\' | '.'))
        .collect::<String>()
        .to_lowercase()
}
