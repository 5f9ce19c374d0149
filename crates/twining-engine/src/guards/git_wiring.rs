//! Git's own way past Twining: hooks that are taken away, looked for elsewhere or
//! left out for one commit. Said only where git asks Twining now.

use crate::guards::builtin::{self, WIRING};
use crate::guards::change::{Becomes, Proposal, Touched, Where};
use crate::guards::judge::Facts;
use crate::guards::path::normal;
use crate::guards::rule::{Guard, Level, Said};
use crate::guards::shell::Word;

/// Where git's hooks may be, from the project's root, with Twining's lines in them.
const HOOKS: [&str; 2] = [".git/hooks/pre-commit", ".husky/pre-commit"];
/// What ends a path to one of them, or to a folder that is made for them.
const FOLDERS: [&str; 4] = ["pre-commit", "hooks", ".git", ".husky"];
/// What git calls the folder that it looks for hooks in; it does not heed the case.
const FOLDER: &str = "core.hookspath";
/// Git's commands that would ask.
const ASKS: [&str; 6] = ["commit", "merge", "rebase", "cherry-pick", "revert", "am"];
/// Letters of `git commit` after which the rest of the word is something else.
const TAKES: &str = "mFCctSu";

/// Whether a change is to one of git's hooks, not to a host's settings.
pub(crate) fn is_hook(proposal: &Proposal) -> bool {
    !proposal.is_at(&builtin::paths(&WIRING))
}

/// Whether what would change has Twining in it now.
pub(crate) fn has_ours(proposal: &Proposal, facts: &Facts<'_>) -> bool {
    match (&*proposal.becomes, &proposal.at) {
        (Becomes::Text { before, .. }, _) => before.as_deref().is_some_and(calls),
        (_, Where::Known(path)) => at(path, facts),
        // A folder around them is meant for something else.
        (_, Where::Below(folder)) if !FOLDERS.contains(&folder.rsplit('/').next().unwrap_or_default()) => false,
        _ => is_wired(facts),
    }
}

/// What is said to the commands that a line runs.
pub(crate) fn said(guard: &Guard, touched: &Touched, facts: &Facts<'_>) -> Option<Said> {
    let runs = touched.runs.iter().filter_map(|run| way_past(&run.iter().map(Word::gist).collect::<Vec<_>>()));
    let (level, why) = runs.max_by_key(|(level, _)| *level)?;
    is_wired(facts).then(|| Said { level: guard.action.min(level), why })
}

fn is_wired(facts: &Facts<'_>) -> bool {
    HOOKS.iter().any(|hook| at(hook, facts))
}

fn at(path: &str, facts: &Facts<'_>) -> bool {
    facts.files.read(&normal(facts.root, path)).ok().flatten().as_deref().is_some_and(calls)
}

fn calls(script: &str) -> bool {
    script.contains("twining")
}

/// How a command would keep git from asking, and how grave that is.
fn way_past(run: &[String]) -> Option<(Level, String)> {
    let (program, words) = run.split_first()?;
    if program.rsplit('/').next() != Some("git") {
        return None;
    }
    let mut words = words.iter().map(String::as_str);
    let mut leads_elsewhere = false;
    let command = loop {
        match words.next()? {
            "-c" | "--config-env" => leads_elsewhere |= is_folder(words.next()?),
            "-C" | "--git-dir" | "--work-tree" | "--namespace" => drop(words.next()?),
            word if word.starts_with("--config-env=") => leads_elsewhere |= is_folder(&word["--config-env=".len()..]),
            word if word.starts_with('-') => {}
            word => break word,
        }
    };
    let words: Vec<&str> = words.collect();
    if leads_elsewhere && ASKS.contains(&command) {
        return Some((Level::Block, format!("git would look for its hooks elsewhere for this {command}")));
    }
    match command {
        "config" if sets_folder(&words) => Some((Level::Block, "git would look for its hooks elsewhere".to_owned())),
        "commit" if words.iter().take_while(|word| **word != "--").any(|word| is_unasked(word)) => Some((
            Level::Warn,
            "this commit passes by what is looked at before one; what slips in so is told at the end of the turn".to_owned(),
        )),
        _ => None,
    }
}

fn is_folder(setting: &str) -> bool {
    setting.split('=').next().is_some_and(|key| key.eq_ignore_ascii_case(FOLDER))
}

/// Whether a value is given, by `git config key value` or `git config set key value`.
fn sets_folder(words: &[&str]) -> bool {
    let asks = words.iter().any(|word| word.starts_with("--get") || word.starts_with("--unset") || *word == "--list" || *word == "-l");
    let plain: Vec<&str> = words.iter().copied().filter(|word| !word.starts_with('-')).collect();
    let set = |plain: &[&str]| plain.len() > 1 && plain[0].eq_ignore_ascii_case(FOLDER);
    !asks && (set(&plain) || plain.first() == Some(&"set") && set(&plain[1..]))
}

fn is_unasked(word: &str) -> bool {
    if word.starts_with("--") {
        return word.len() > "--no-ve".len() && "--no-verify".starts_with(word);
    }
    word.strip_prefix('-').is_some_and(|letters| letters.chars().take_while(|letter| !TAKES.contains(*letter)).any(|letter| letter == 'n'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ways_past_git_s_hooks_are_told_from_what_looks_like_them() {
        let level = |line: &str| way_past(&line.split(' ').map(str::to_owned).collect::<Vec<_>>()).map(|(level, _)| level);
        for line in [
            "git config core.hooksPath nowhere",
            "git config --global core.hookspath nowhere",
            "/usr/bin/git -C x config --local core.hooksPath nowhere",
            "git config set core.hooksPath nowhere",
            "git -c core.hooksPath=nowhere commit -m x",
            "git --no-pager -c Core.HooksPath= -c a=b merge x",
        ] {
            assert_eq!(level(line), Some(Level::Block), "{line}");
        }
        for line in ["git commit --no-verify -m x", "git commit -nm x", "git commit -anm x", "git commit --no-veri", "git -C x commit -n"] {
            assert_eq!(level(line), Some(Level::Warn), "{line}");
        }
        for line in [
            "git config core.hooksPath",
            "git config --get core.hooksPath",
            "git config --unset core.hooksPath",
            "git config user.name core.hooksPath",
            "git -c core.hooksPath=nowhere status",
            "git commit -mnew",
            "git commit -am none",
            "git commit --no-edit",
            "git commit -m x -- -n",
            "git log -n 3",
            "git push --no-verify",
            "echo git commit -n",
        ] {
            assert_eq!(level(line), None, "{line}");
        }
    }
}
