//! Text that programs print or put into files: `echo`, `printf`, `sed`, patches.

use crate::effects::shell::interpreter::Output;
use crate::effects::shell::words::Value;

/// Longest text that `printf` is followed for.
const MAX_PRINTED: usize = 64 * 1024;

/// What `echo` prints.
pub(super) fn echo(words: &[Value]) -> Output {
    let is_option = |word: &&Value| matches!(word.text_lossy().as_str(), "-n" | "-e" | "-E" | "-ne" | "-en");
    let options: Vec<String> = words.iter().take_while(is_option).map(Value::text_lossy).collect();
    let printed = words.get(options.len()..).unwrap_or_default();
    let mut text = printed.iter().map(Value::text_lossy).collect::<Vec<_>>().join(" ");
    if options.iter().any(|option| option.contains('e')) {
        text = unescape(&text);
    }
    if !options.iter().any(|option| option.contains('n')) {
        text.push('\n');
    }
    Output { text, is_partial: printed.iter().any(|word| word.known().is_none()) }
}

/// What `printf` prints; only `%s`, `%d` and `%%` are filled in.
pub(super) fn printf(words: &[Value]) -> Output {
    let Some((format, words)) = words.split_first() else { return Output::default() };
    let is_partial = format.known().is_none() || words.iter().any(|word| word.known().is_none());
    let mut output = Output { text: String::new(), is_partial };
    let format = unescape(&format.text_lossy());
    let mut words = words.iter();
    loop {
        let left = words.len();
        let mut parts = format.replace("%%", "\0").split('%').map(str::to_owned).collect::<Vec<_>>().into_iter();
        output.text.extend(parts.next());
        for part in parts {
            output.is_partial |= !part.starts_with(['s', 'd']);
            output.text.extend(words.next().map(Value::text_lossy));
            output.text.push_str(part.get(1..).unwrap_or_default());
        }
        if output.text.len() > MAX_PRINTED {
            return Output::unknown();
        }
        // The format is used again as long as it takes words.
        if words.len() == 0 || words.len() == left {
            output.text = output.text.replace('\0', "%");
            return output;
        }
    }
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
