//! Text that programs print or put into files: `echo`, `printf`, `sed`, patches.

use crate::effects::shell::interpreter::CommandOutput;
use crate::effects::shell::words::ShellWord;

/// Longest text that `printf` is followed for.
const MAX_PRINTED: usize = 64 * 1024;

/// What `echo` prints.
pub(super) fn echo(words: &[ShellWord]) -> CommandOutput {
    let options = words.iter().take_while(|word| matches!(word.prefix(), "-n" | "-e" | "-E" | "-ne" | "-en")).count();
    let (options, printed) = words.split_at(options);
    let has = |letter: char| options.iter().any(|option| option.prefix().contains(letter));
    let text = printed.iter().map(ShellWord::text_lossy).collect::<Vec<_>>().join(" ");
    let text = if has('e') { unescape(&text) } else { text };
    let end = if has('n') { "" } else { "\n" };
    CommandOutput { text: text + end, is_partial: printed.iter().any(|word| word.known().is_none()) }
}

/// What `printf` prints; only `%s` is filled in.
pub(super) fn printf(words: &[ShellWord]) -> CommandOutput {
    let Some((format, words)) = words.split_first() else { return CommandOutput::default() };
    let (text, directives) = (unescape(&format.text_lossy()), format.text_lossy().matches('%').count());
    if text.len() * words.len() > MAX_PRINTED {
        return CommandOutput::unknown();
    }
    let is_plain = format.known().is_some() && words.iter().all(|word| word.known().is_some()) && directives == text.matches("%s").count();
    let fill = |format: String, word: &ShellWord| format.replacen("%s", &word.text_lossy(), 1);
    // A format with one place is used again for each word.
    let text = if directives == 1 { words.iter().map(|word| fill(text.clone(), word)).collect() } else { words.iter().fold(text, fill) };
    CommandOutput { text, is_partial: !is_plain || (directives != 1 && directives != words.len()) }
}

fn unescape(text: &str) -> String {
    text.replace("\\n", "\n").replace("\\t", "\t").replace("\\\"", "\"").replace("\\\\", "\\")
}

/// Text that a script of `sed` or `perl` puts in: `new` of `s/old/new/`, the lines of `a`,
/// `i` and `c`.
pub(super) fn replacements(script: &str) -> Vec<String> {
    let mut found = Vec::new();
    for command in script.split(['\n', ';']) {
        let is_address = |c: char| c.is_ascii_digit() || c.is_whitespace() || "$,!{".contains(c);
        let command = command.trim_start_matches(is_address);
        // `/pattern/` in front says for which lines.
        let command = command.strip_prefix('/').and_then(|rest| rest.split_once('/')).map_or(command, |(_, rest)| rest);
        let mut chars = command.trim_start_matches(is_address).chars();
        match (chars.next(), chars.next()) {
            (Some('s'), Some(sign)) if !sign.is_alphanumeric() => found.extend(chars.as_str().split(sign).nth(1).map(str::to_owned)),
            (Some('a' | 'i' | 'c'), Some('\\' | ' ')) => found.push(chars.as_str().to_owned()),
            _ => {}
        }
    }
    found
}
