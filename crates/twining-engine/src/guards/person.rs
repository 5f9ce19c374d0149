//! Commands that are a person's: an agent that types them, through whatever
//! program lends it a terminal, is stopped before they run.

use crate::guards::change::{Touched, Where};
use crate::guards::rule::{Guard, Said};
use crate::guards::shell::Word;

/// Programs whose arguments are text to them: a message or a search may speak of
/// anything.
const SPEAKERS: [&str; 12] = ["git", "gh", "hg", "jj", "echo", "printf", "grep", "egrep", "fgrep", "rg", "ag", "cat"];

/// What follows `twining` in a command that lifts a guard, or all of them.
const LIFTS: [&[&str]; 5] = [&["guard", "bypass"], &["guard", "promote"], &["guard", "accept"], &["trust"], &["uninstall"]];
/// Such a command that only tells how is anybody's.
const TELLS: [&str; 2] = ["--help", "-h"];

/// Judges whether an agent gives a person's command.
pub(crate) fn said(guard: &Guard, touched: &Touched) -> Said {
    let run = touched.runs.iter().map(|run| run.iter().map(Word::gist).collect::<Vec<_>>()).find(|run| lifts(run));
    if let Some(run) = run {
        let why = format!("`{}` is run", twining_model::text::excerpt(&run.join(" "), 80));
        return Said { level: guard.action, why };
    }
    let code = touched.writes.iter().any(|proposal| matches!(&proposal.at, Where::Code(code) if in_code(code)));
    if code {
        return Said { level: guard.action, why: "code speaks of such a command".to_owned() };
    }
    Said::nothing("no such command is given")
}

fn lifts(run: &[String]) -> bool {
    let Some((program, arguments)) = run.split_first() else { return false };
    let program = name(program);
    if program == "twining" {
        return follows(arguments.iter().map(String::as_str));
    }
    // Whatever else is handed such a line may run it: `script -c`, `expect`, `tmux send-keys`.
    !SPEAKERS.contains(&program) && (arguments.iter().any(|argument| in_line(argument)) || in_line(&arguments.join(" ")))
}

fn in_line(line: &str) -> bool {
    let mut words = line.split(|c: char| c.is_whitespace() || ";&|()'\"".contains(c)).filter(|word| !word.is_empty());
    words.by_ref().any(|word| name(word) == "twining") && follows(words)
}

/// Whether these are the words of such a command, flags before or between them.
fn follows<'w>(words: impl Iterator<Item = &'w str>) -> bool {
    let words: Vec<&str> = words.collect();
    if words.iter().any(|word| TELLS.contains(word)) || (words.contains(&"uninstall") && words.contains(&"--dry-run")) {
        return false;
    }
    LIFTS.iter().any(|wanted| {
        let mut rest = words.iter();
        wanted.iter().all(|wanted| rest.any(|word| word == wanted))
    })
}

/// Code, its quotes and joints taken out.
fn in_code(squeezed: &str) -> bool {
    squeezed.contains("twining")
        && ["guardbypass", "guardpromote", "guardaccept", "bypass", "promote", "trust", "twininguninstall"]
            .iter()
            .any(|word| squeezed.contains(word))
}

fn name(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or(word)
}
