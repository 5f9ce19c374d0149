//! Code handed to an interpreter on the line: whether it writes, and what it names.

/// Words by which code in some language writes, moves or removes, or starts
/// something that may.
const WRITES: [&str; 37] = [
    "File.delete",
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

/// Text that was written in base64; none where it was not, or holds no text.
pub(super) fn from_base64(word: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let (mut held, mut bits) = (0_u32, 0);
    let word = word.trim_end_matches('=');
    for c in word.bytes().filter(|c| !c.is_ascii_whitespace()) {
        let value = match c {
            b'A'..=b'Z' => c - b'A',
            b'a'..=b'z' => c - b'a' + 26,
            b'0'..=b'9' => c - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => return None,
        };
        held = (held << 6 | u32::from(value)) & 0xff_ffff;
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.extend(u8::try_from(held >> bits & 0xff));
        }
    }
    String::from_utf8(bytes).ok().filter(|text| text.len() > 3 && !text.contains('\0'))
}
