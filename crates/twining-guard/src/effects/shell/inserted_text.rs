//! Text that programs print or put into files: `echo`, `printf`, `sed`, patches.

use crate::effects::shell::interpreter::CommandOutput;
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

/// Text that a script of `sed` or `perl` puts in: `new` of `s/old/new/`, the lines of `a`,
/// `i` and `c`.
pub(super) fn replacements(script: &str) -> Vec<String> {
    let mut found = Vec::new();
    for command in script.split(['\n', ';']) {
        let is_address = |c: char| c.is_ascii_digit() || c.is_whitespace() || "$,!{".contains(c);
        let command = command.trim_start_matches(is_address);
        // `/pattern/` in front says for which lines.
        let command = command
            .strip_prefix('/')
            .and_then(|rest| rest.split_once('/'))
            .map_or(command, |(_, rest)| rest);
        let mut chars = command.trim_start_matches(is_address).chars();
        match (chars.next(), chars.next()) {
            (Some('s'), Some(sign)) if !sign.is_alphanumeric() => {
                found.extend(chars.as_str().split(sign).nth(1).map(str::to_owned))
            }
            (Some('a' | 'i' | 'c'), Some('\\' | ' ')) => found.push(chars.as_str().to_owned()),
            _ => {}
        }
    }
    found
}

/// Longest literal that names a file.
const MAX_LITERAL: usize = 512;

/// Calls that write the file named first.
const WRITES: &str = "writeFileSync writeFile appendFileSync appendFile createWriteStream truncateSync file_put_contents File.write IO.write Bun.write";
/// Calls that remove the file named first.
const REMOVES: &str =
    "unlinkSync rmSync rmdirSync rmtree unlink rm_rf rm_f os.remove fs.rm File.delete Deno.remove";
/// Calls that move the first file to the second.
const MOVES: &str = "os.rename os.replace shutil.move rename renameSync";
/// Calls that copy the first file to the second.
const COPIES: &str = "shutil.copy shutil.copy2 copyfile copyFileSync";

/// The paths that inline code opens for writing or removes by a plain string literal,
/// each with whether it is removed.
pub(super) fn code_writes(code: &str) -> Vec<(&str, bool)> {
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
        let opens = (is_one_of("open") && after.strip_prefix(',').is_some_and(is_writing_mode))
            || method.strip_prefix("open(").is_some_and(is_writing_mode);
        if opens || is_one_of(WRITES) || is_method(&["write_text(", "write_bytes(", "touch("]) {
            found.push((literal, false));
        } else if is_one_of(REMOVES) || is_one_of(MOVES) || is_method(&["unlink(", "rmdir("]) {
            found.push((literal, true));
        }
        // Perl: `open(F, '>', 'x')`.
        let is_mode = matches!(literal, ">" | ">>" | "+<")
            && code.as_bytes()[at.saturating_sub(32)..at].windows(4).any(|name| name == b"open");
        if is_mode || is_one_of(MOVES) || is_one_of(COPIES) {
            found.extend(
                after
                    .strip_prefix(',')
                    .and_then(|rest| literal_at(rest.trim_start()))
                    .map(|(literal, _)| (literal, false)),
            );
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
