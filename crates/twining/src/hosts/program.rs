//! What a host runs: by it, a host that another one started is told from a script.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::ancestry::Process;

/// Programs that run any script they are given: with the script, and what stands
/// before it, they are one.
const RUNNERS: [&str; 12] = ["node", "nodejs", "bun", "deno", "python", "perl", "ruby", "java", "php", "lua", "tclsh", "awk"];
/// What puts code of somebody else's into a program.
const INJECTED: [&str; 7] = ["LD_PRELOAD", "LD_AUDIT", "NODE_OPTIONS", "BUN_OPTIONS", "BUN_BE_BUN", "PYTHONSTARTUP", "PYTHONPATH"];

/// What tells the program of a process from any other; none where it cannot be told,
/// or runs whatever it is given.
pub fn program_of(process: &Process) -> Option<String> {
    let folder = format!("/proc/{}", process.id);
    let program = fs::metadata(format!("{folder}/exe")).ok()?;
    let name = fs::read_link(format!("{folder}/exe")).ok()?;
    let name = name.file_name()?.to_str()?.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    if super::teller::is_shell(name) {
        return None;
    }
    let own = format!("{:x}:{:x}", program.dev(), program.ino());
    if !RUNNERS.contains(&name) {
        return Some(own);
    }
    let words = process.words();
    let at = words.iter().skip(1).position(|word| !word.starts_with('-'))? + 1;
    // A name the process gave itself leads to no file.
    let script = fs::metadata(Path::new(&format!("{folder}/cwd")).join(words.get(at)?)).ok().filter(fs::Metadata::is_file)?;
    Some(format!("{own} {} {:x}:{:x}", words.get(1..at)?.join(" "), script.dev(), script.ino()))
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
