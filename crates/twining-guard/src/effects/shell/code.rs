//! Files that inline code writes by a plain string literal.
//!
//! `open('x', 'w')`, `Path('x').write_text(…)`, `fs.writeFileSync('x', …)`, `os.remove('x')`:
//! the literal stands directly in the call. Code that only mentions a path writes nothing.

/// Longest literal that names a file.
const MAX_LITERAL: usize = 512;

/// The paths that inline code opens for writing or removes by a plain string literal.
pub fn literal_code_writes(code: &str) -> Vec<String> {
    code_writes(code).into_iter().map(|(path, _)| path).collect()
}

/// The same, each with whether it is removed.
pub(super) fn code_writes(code: &str) -> Vec<(String, bool)> {
    let mut found = Vec::new();
    for (at, _) in code.match_indices(['\'', '"']) {
        let Some((literal, after)) = literal_at(code.get(at..).unwrap_or_default()) else { continue };
        let second = after.strip_prefix(',').and_then(|rest| literal_at(rest.trim_start())).map(|(literal, _)| literal);
        let call = call_before(code.get(..at).unwrap_or_default());
        match effect_of(call, after) {
            // Perl: `open(F, '>', 'x')`.
            Effect::None
                if matches!(literal.as_str(), ">" | ">>" | "+<" | "+>")
                    && code.as_bytes()[at.saturating_sub(32)..at].windows(4).any(|name| name == b"open") =>
            {
                found.extend(second.map(|path| (path, false)));
            }
            Effect::None => {}
            Effect::Write => found.push((literal, false)),
            Effect::Remove => found.push((literal, true)),
            Effect::WriteSecond => found.extend(second.map(|path| (path, false))),
            Effect::Move => {
                found.push((literal, true));
                found.extend(second.map(|path| (path, false)));
            }
        }
    }
    // A path with something filled in is no literal.
    found.into_iter().filter(|(path, _)| !path.is_empty() && !path.contains(['$', '{', '\\', '\n'])).collect()
}

enum Effect {
    None,
    Write,
    Remove,
    WriteSecond,
    Move,
}

fn effect_of(call: &str, after: &str) -> Effect {
    let name = call.rsplit(['.', ':']).next().unwrap_or_default();
    let method = after.strip_prefix(')').map(str::trim_start).and_then(|rest| rest.strip_prefix('.')).unwrap_or_default();
    match (call, name) {
        (_, "open") if opens_for_writing(after) => Effect::Write,
        (_, "Path") if method.starts_with("unlink(") || method.starts_with("rmdir(") => Effect::Remove,
        (_, "Path") if ["write_text(", "write_bytes(", "touch("].iter().any(|call| method.starts_with(call)) => Effect::Write,
        (_, "Path") if method.strip_prefix("open(").is_some_and(is_writing_mode) => Effect::Write,
        (
            _,
            "writeFileSync" | "writeFile" | "appendFileSync" | "appendFile" | "createWriteStream" | "truncateSync" | "file_put_contents",
        )
        | ("File.write" | "IO.write" | "Bun.write" | "Deno.writeTextFile" | "Deno.writeTextFileSync", _) => Effect::Write,
        (_, "unlinkSync" | "rmSync" | "rmdirSync" | "rmtree" | "unlink" | "rm_rf" | "rm_f")
        | ("os.remove" | "fs.rm" | "File.delete" | "FileUtils.rm" | "Deno.remove" | "Deno.removeSync", _) => Effect::Remove,
        ("os.rename" | "os.replace" | "shutil.move" | "rename" | "fs.rename" | "File.rename", _) | (_, "renameSync") => Effect::Move,
        ("shutil.copy" | "shutil.copy2" | "FileUtils.cp", _) | (_, "copyfile" | "copyFileSync") => Effect::WriteSecond,
        _ => Effect::None,
    }
}

/// The name of the call that a literal is the first argument of.
fn call_before(before: &str) -> &str {
    // Of the prefixes of Python, `f` fills something in; the others do not.
    let before = before.strip_suffix(['r', 'b']).filter(|rest| rest.ends_with(['(', ' '])).unwrap_or(before).trim_end();
    let before = before.strip_suffix('(').unwrap_or(before);
    let length = before.bytes().rev().take(64).take_while(|byte| byte.is_ascii_alphanumeric() || b"_.:".contains(byte)).count();
    before.get(before.len() - length..).unwrap_or_default()
}

fn opens_for_writing(after: &str) -> bool {
    after.strip_prefix(',').is_some_and(is_writing_mode)
}

fn is_writing_mode(text: &str) -> bool {
    let text = text.trim_start();
    let text = text.strip_prefix("mode").map_or(text, |rest| rest.trim_start().trim_start_matches('=').trim_start());
    literal_at(text).is_some_and(|(mode, _)| mode.len() <= 4 && mode.contains(['w', 'a', 'x', '+']))
}

/// The string literal at the beginning of a text, and what follows it.
fn literal_at(text: &str) -> Option<(String, &str)> {
    let quote = text.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
    let inside = text.get(1..)?;
    let end = inside.bytes().take(MAX_LITERAL).position(|byte| byte == quote as u8)?;
    Some((inside.get(..end)?.to_owned(), inside.get(end + 1..)?.trim_start()))
}
