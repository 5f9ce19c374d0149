//! Who tells us of an event: the process that made the channel it comes by, or else
//! the nearest one above us that is no mere wrapper around this very call.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::ancestry::Process;
use crate::wiring::plain_words;

/// Programs that run one line.
const SHELLS: [&str; 8] = ["sh", "bash", "dash", "zsh", "ksh", "ash", "fish", "busybox"];
/// Programs that start ours as it stands: what npm installs, and what people put in front.
const STARTERS: [&str; 10] = ["node", "nodejs", "bun", "env", "nice", "ionice", "timeout", "stdbuf", "time", "nohup"];
const NAME: &str = "twining";

/// The way an event comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Way {
    /// A socket, of which the system knows who made it.
    Socket,
    /// A pipe or a file, which anybody between us and the host may have put there.
    Pipe,
}

/// Who tells, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Teller {
    /// Its place in the lineage.
    pub at: usize,
    /// The way.
    pub way: Way,
}

impl Teller {
    /// Who tells us, among those we descend from; we are the first of the lineage.
    pub fn of(lineage: &[Process]) -> Option<Self> {
        let maker = maker_of_stdin().and_then(|maker| lineage.iter().skip(1).position(|process| process.id == maker));
        if let Some(above) = maker {
            return Some(Self { at: above + 1, way: Way::Socket });
        }
        let ours: Vec<String> = std::env::args().skip(1).collect();
        let above = lineage.iter().skip(1).position(|process| !wraps(&process.words(), &ours))?;
        Some(Self { at: above + 1, way: Way::Pipe })
    }
}

/// Whether a program that was started with these words does nothing but start ours
/// with `ours`.
fn wraps(words: &[String], ours: &[String]) -> bool {
    let is_ours = |words: &[String]| words.split_first().is_some_and(|(program, rest)| stem(program) == NAME && rest == ours);
    let Some((program, rest)) = words.split_first() else { return false };
    let program = stem(program.trim_start_matches('-'));
    if SHELLS.contains(&program) {
        return match rest {
            [flag, line] if ["-c", "-lc"].contains(&flag.as_str()) => plain_words(line).is_ok_and(|words| is_ours(&words)),
            _ => false,
        };
    }
    let from = words.len().saturating_sub(ours.len() + 1);
    STARTERS.contains(&program) && from > 0 && words.get(from..).is_some_and(is_ours)
}

/// Whether a program was started with words that say what `said` do: ours, our own name first.
pub fn says(words: &[String], said: &[String]) -> bool {
    let line = words.join(" ");
    said.iter().enumerate().all(|(at, word)| line.contains(if at == 0 { stem(word) } else { word }))
}

/// Whether a program of this name runs lines.
pub fn is_shell(name: &str) -> bool {
    SHELLS.contains(&name.trim_start_matches('-'))
}

fn stem(program: &str) -> &str {
    Path::new(program).file_stem().and_then(|stem| stem.to_str()).unwrap_or_default()
}

#[cfg(target_os = "linux")]
fn maker_of_stdin() -> Option<u32> {
    let maker = rustix::net::sockopt::socket_peercred(std::io::stdin()).ok()?;
    u32::try_from(maker.pid.as_raw_nonzero().get()).ok()
}

#[cfg(not(target_os = "linux"))]
fn maker_of_stdin() -> Option<u32> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_starts_this_very_call_is_looked_past() {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let ours = words(&["hook", "--agent", "codex", "PostToolUse"]);
        for wrapper in [
            &["sh", "-c", "twining hook --agent codex PostToolUse"][..],
            &["/bin/bash", "-lc", "'/opt/my tools/twining' hook --agent codex PostToolUse"],
            &["node", "/usr/lib/node_modules/twining/bin/twining.js", "hook", "--agent", "codex", "PostToolUse"],
            &["timeout", "5", "twining", "hook", "--agent", "codex", "PostToolUse"],
        ] {
            assert!(wraps(&words(wrapper), &ours), "{wrapper:?}");
        }
        for teller in [
            &["claude", "-p", "begin"][..],
            &["bash", "forge.sh"],
            &["bash", "-c", "twining hook --agent codex PostToolUse < forged.json"],
            &["bash", "-c", "cat forged.json | twining hook --agent codex PostToolUse"],
            &["bash", "-c", "sh twining hook --agent codex PostToolUse"],
            &["sh", "-c", "twining hook --agent codex PreToolUse"],
            &["node", "forge.js", "hook", "--agent", "codex", "PostToolUse"],
            &["python3", "twining.py", "hook", "--agent", "codex", "PostToolUse"],
            &["twining", "hook", "--agent", "codex", "PostToolUse"],
            &[],
        ] {
            assert!(!wraps(&words(teller), &ours), "{teller:?}");
        }
    }

    #[test]
    fn a_script_does_not_say_what_it_does() {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let said = words(&["/opt/twining", "guard", "bypass", "no-push", "--reason", "a release"]);
        assert!(says(&said, &said));
        assert!(says(&words(&["script", "-qec", "twining guard bypass no-push --reason 'a release'", "/dev/null"]), &said));
        assert!(!says(&words(&["python3", "a.py"]), &said) && !says(&words(&["twining", "guard", "accept"]), &said));
    }
}
