//! What a host runs: by it, a host that another one started is told from a script.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::teller::is_shell;
use crate::ancestry::Process;

/// Programs that run any script they are given: with the script, and what stands
/// before it, they are one.
const RUNNERS: [&str; 12] = ["node", "nodejs", "bun", "deno", "python", "perl", "ruby", "java", "php", "lua", "tclsh", "awk"];
/// What puts code of somebody else's into a program.
const INJECTED: [&str; 7] = ["LD_PRELOAD", "LD_AUDIT", "NODE_OPTIONS", "BUN_OPTIONS", "BUN_BE_BUN", "PYTHONSTARTUP", "PYTHONPATH"];

/// What hosts for agents are called, they or their scripts.
const NAMES: [&str; 6] = ["claude", "codex", "gemini", "cursor", "copilot", "opencode"];

/// Whether a process goes by the name of a host for agents.
pub fn is_named(process: &Process) -> bool {
    let known = |name: &str| NAMES.iter().any(|known| name.to_lowercase().contains(known));
    let script = process.words().into_iter().nth(1).filter(|_| file_of(process).is_some_and(|name| is_runner(&name)));
    let script = script.and_then(|script| Path::new(&script).file_name()?.to_str().map(str::to_owned));
    file_of(process).is_some_and(|name| known(&name)) || known(&process.name) || script.is_some_and(|script| known(&script))
}

/// Whether a process is a shell.
pub fn runs_lines(process: &Process) -> bool {
    file_of(process).is_some_and(|name| is_shell(&name))
}

/// What tells the program of a process from any other; none where it cannot be told,
/// or runs whatever it is given.
pub fn program_of(process: &Process) -> Option<String> {
    let folder = format!("/proc/{}", process.id);
    let program = fs::metadata(format!("{folder}/exe")).ok()?;
    let name = file_of(process)?;
    if is_shell(&name) {
        return None;
    }
    let own = format!("{:x}:{:x}", program.dev(), program.ino());
    if !is_runner(&name) {
        return Some(own);
    }
    let words = process.words();
    let at = words.iter().skip(1).position(|word| !word.starts_with('-'))? + 1;
    // A name the process gave itself leads to no file.
    let script = fs::metadata(Path::new(&format!("{folder}/cwd")).join(words.get(at)?)).ok().filter(fs::Metadata::is_file)?;
    Some(format!("{own} {} {:x}:{:x}", words.get(1..at)?.join(" "), script.dev(), script.ino()))
}

/// The file of its program, without the version behind its name.
fn file_of(process: &Process) -> Option<String> {
    let name = fs::read_link(format!("/proc/{}/exe", process.id)).ok()?;
    let name = name.file_name()?.to_str()?;
    Some(name.strip_suffix(" (deleted)").unwrap_or(name).trim_end_matches(|c: char| c.is_ascii_digit() || c == '.').to_owned())
}

fn is_runner(name: &str) -> bool {
    RUNNERS.contains(&name)
}

/// Whether the process was started so that it runs somebody else's code.
pub fn is_injected(process: &Process) -> bool {
    // What we may not look into may be anything.
    let Ok(told) = fs::read(format!("/proc/{}/environ", process.id)) else { return true };
    told.split(|byte| *byte == 0).any(|pair| {
        let name = pair.split(|byte| *byte == b'=').next().unwrap_or_default();
        INJECTED.iter().any(|known| known.as_bytes() == name) && pair.len() > name.len() + 1
    })
}
