//! Text that programs print, and the files that inline code names.

use crate::effects::shell::interpreter::{CommandOutput, WriteKind};
use crate::effects::shell::words::ShellWord;

/// Longest text that `printf` is followed for.
const MAX_PRINTED: usize = 64 * 1024;

/// What `echo` prints.
pub(super) fn echo(words: &[ShellWord]) -> CommandOutput {
    let options = words
        .iter()
        .take_while(|word| matches!(word.prefix(), "-n" | "-e" | "-E" | "-ne" | "-en"))
        .count();
    let (options, printed) = words.split_at(options);
    let has = |letter: char| options.iter().any(|option| option.prefix().contains(letter));
    let text = printed.iter().map(ShellWord::text_lossy).collect::<Vec<_>>().join(" ");
    let text = if has('e') { unescape(&text) } else { text };
    let end = if has('n') { "" } else { "\n" };
    CommandOutput {
        text: text + end,
        is_partial: printed.iter().any(|word| word.known().is_none()),
    }
}

/// What `printf` prints; only `%s` is filled in.
pub(super) fn printf(words: &[ShellWord]) -> CommandOutput {
    let Some((format, words)) = words.split_first() else { return CommandOutput::default() };
    let (text, directives) =
        (unescape(&format.text_lossy()), format.text_lossy().matches('%').count());
    if text.len() * words.len() > MAX_PRINTED {
        return CommandOutput::unknown();
    }
    let is_plain = format.known().is_some()
        && words.iter().all(|word| word.known().is_some())
        && directives == text.matches("%s").count();
    let fill = |format: String, word: &ShellWord| format.replacen("%s", &word.text_lossy(), 1);
    // A format with one place is used again for each word.
    let text = if directives == 1 {
        words.iter().map(|word| fill(text.clone(), word)).collect()
    } else {
        words.iter().fold(text, fill)
    };
    CommandOutput { text, is_partial: !is_plain || (directives != 1 && directives != words.len()) }
}

fn unescape(text: &str) -> String {
    text.replace("\\n", "\n").replace("\\t", "\t").replace("\\\"", "\"").replace("\\\\", "\\")
}

/// Longest literal that names a file.
const MAX_LITERAL: usize = 512;

/// Calls that write the file named first.
const WRITES: &str =
    "writeFileSync writeFile appendFileSync appendFile createWriteStream Bun.write";
/// Calls that remove the file named first.
const REMOVES: &str = "unlinkSync rmSync rmdirSync rmtree unlink os.remove fs.rm";

/// The paths that inline code opens for writing or removes by a plain string literal.
pub(super) fn code_writes(code: &str) -> Vec<(&str, WriteKind)> {
    let mut found = Vec::new();
    for (at, _) in code.match_indices(['\'', '"']) {
        let Some((literal, after)) = literal_at(code.get(at..).unwrap_or_default()) else {
            continue;
        };
        let call = call_before(code.get(..at).unwrap_or_default());
        let is_call = |name: &str| {
            call.strip_suffix(name)
                .is_some_and(|before| before.is_empty() || before.ends_with(['.', ':']))
        };
        let is_one_of = |names: &str| !call.is_empty() && names.split(' ').any(is_call);
        // `Path('x').write_text(…)`.
        let method = after.strip_prefix(").").filter(|_| is_one_of("Path")).unwrap_or_default();
        let is_method = |names: &[&str]| names.iter().any(|name| method.starts_with(name));
        let opens = is_one_of("open") && after.strip_prefix(',').is_some_and(is_writing_mode);
        if opens || is_one_of(WRITES) || is_method(&["write_text(", "write_bytes("]) {
            found.push((literal, WriteKind::Edit));
        } else if is_one_of(REMOVES) || is_method(&["unlink("]) {
            found.push((literal, WriteKind::Remove));
        }
    }
    // A path with something filled in is no literal.
    found.retain(|(path, _)| !path.is_empty() && !path.contains(['$', '{', '\\', '\n']));
    found
}

/// The name of the call that a literal is the first argument of.
fn call_before(before: &str) -> &str {
    // Of the prefixes of Python, `f` fills something in; the others do not.
    let before = before
        .strip_suffix(['r', 'b'])
        .filter(|rest| rest.ends_with(['(', ' ']))
        .unwrap_or(before)
        .trim_end();
    let before = before.strip_suffix('(').unwrap_or(before);
    let length = before
        .bytes()
        .rev()
        .take(64)
        .take_while(|byte| byte.is_ascii_alphanumeric() || b"_.:".contains(byte))
        .count();
    before.get(before.len() - length..).unwrap_or_default()
}

fn is_writing_mode(text: &str) -> bool {
    let text = text.trim_start().trim_start_matches("mode").trim_start_matches([' ', '=']);
    literal_at(text).is_some_and(|(mode, _)| mode.len() <= 4 && mode.contains(['w', 'a', 'x', '+']))
}

/// The string literal at the beginning of a text, and what follows it.
fn literal_at(text: &str) -> Option<(&str, &str)> {
    let quote = text.bytes().next().filter(|byte| matches!(byte, b'\'' | b'"'))?;
    let inside = text.get(1..)?;
    let end = inside.bytes().take(MAX_LITERAL).position(|byte| byte == quote)?;
    Some((inside.get(..end)?, inside.get(end + 1..)?.trim_start()))
}
