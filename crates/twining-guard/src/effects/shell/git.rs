//! Git commands that change named files or throw uncommitted work away.

use crate::effects::shell::arguments::Arguments;
use crate::effects::shell::interpreter::{Interpreter, Output};
use crate::effects::shell::words::Value;
use crate::effects::shell::{Unreadable, WriteKind};

const STASH: &str = "git stash";

impl Interpreter {
    pub(super) fn git(&mut self, words: &[Value], input: Option<&Output>) -> Result<(), Unreadable> {
        let global = Arguments::parse(words, "+ C: c: git-dir: work-tree: namespace: exec-path: config-env:");
        let Some((verb, rest)) = global.operands.split_first() else { return Ok(()) };
        // Another repository than the one around the folder.
        if global.has(&["git-dir", "work-tree"]) {
            return Ok(());
        }
        self.in_subshell(|shell| {
            for folder in global.values(&["C"]) {
                shell.state.dir.change("cd", Some(folder));
            }
            match verb.prefix() {
                "rm" => shell.git_rm(rest),
                "mv" if !Arguments::parse(rest, "").has(&["n", "dry-run"]) => shell.copy("mv", "git mv", rest),
                "apply" => shell.git_apply(rest, input),
                "checkout" => shell.git_checkout(rest),
                "restore" => shell.git_restore(rest),
                "reset" if Arguments::parse(rest, "").has(&["hard"]) => shell.discard(&[], "git reset --hard"),
                "clean" => shell.git_clean(rest),
                "stash" => shell.git_stash(rest),
                _ => Ok(()),
            }
        })
    }

    /// Throws away what is not committed at these paths, or everywhere.
    fn discard(&mut self, paths: &[Value], by: &str) -> Result<(), Unreadable> {
        // With something left out, what is lost is not plain.
        if paths.iter().any(|path| [":!", ":^", ":(exclude"].iter().any(|sign| path.prefix().starts_with(sign))) {
            return Ok(());
        }
        let everything = [Value::text(".")];
        let paths = if paths.is_empty() { &everything } else { paths };
        paths.iter().try_for_each(|path| {
            let is_top = matches!(path.prefix(), ":/" | ":" | ":(top)");
            self.write(if is_top { &everything[0] } else { path }, WriteKind::Discard, by)
        })
    }

    fn git_rm(&mut self, words: &[Value]) -> Result<(), Unreadable> {
        let arguments = Arguments::parse(words, "pathspec-from-file:");
        if arguments.has(&["cached", "n", "dry-run"]) {
            return Ok(());
        }
        let kind = if arguments.has(&["r"]) { WriteKind::RemoveTree } else { WriteKind::Remove };
        arguments.operands.iter().try_for_each(|path| self.write(path, kind.clone(), "git rm"))
    }

    fn git_apply(&mut self, words: &[Value], input: Option<&Output>) -> Result<(), Unreadable> {
        let arguments = Arguments::parse(words, "p: C: directory: exclude: include: whitespace:");
        if arguments.has(&["check", "stat", "numstat", "summary", "cached"]) {
            return Ok(());
        }
        let has_file = arguments.operands.iter().any(|file| file.prefix() != "-");
        self.apply_patch("git apply", input.filter(|_| !has_file))
    }

    fn git_checkout(&mut self, words: &[Value]) -> Result<(), Unreadable> {
        let (before, after) = match words.iter().position(|word| word.prefix() == "--") {
            Some(at) => (words.get(..at).unwrap_or_default(), words.get(at + 1..).unwrap_or_default()),
            None => (words, Default::default()),
        };
        let arguments = Arguments::parse(before, "b: B: orphan: conflict: pathspec-from-file:");
        // Sides of a merge are chosen, or a branch is made.
        if arguments.has(&["ours", "theirs", "b", "B", "orphan", "p", "patch", "d", "detach", "t", "track", "pathspec-from-file"]) {
            return Ok(());
        }
        let paths = match arguments.operands.as_slice() {
            _ if !after.is_empty() => after,
            [first, ..] if is_path(first) => arguments.operands.as_slice(),
            [_, paths @ ..] => paths,
            [] => &[],
        };
        if paths.is_empty() && !arguments.has(&["f", "force"]) {
            return Ok(());
        }
        self.discard(paths, "git checkout")
    }

    fn git_restore(&mut self, words: &[Value]) -> Result<(), Unreadable> {
        let arguments = Arguments::parse(words, "s: source: conflict: pathspec-from-file:");
        let is_index_only = arguments.has(&["S", "staged"]) && !arguments.has(&["W", "worktree"]);
        if is_index_only || arguments.operands.is_empty() || arguments.has(&["ours", "theirs", "m", "merge", "p", "patch"]) {
            return Ok(());
        }
        self.discard(&arguments.operands, "git restore")
    }

    fn git_clean(&mut self, words: &[Value]) -> Result<(), Unreadable> {
        let arguments = Arguments::parse(words, "e: exclude:");
        // Only ignored files go with `-X`; with `-e` something is left out.
        if !arguments.has(&["f", "force"]) || arguments.has(&["n", "dry-run", "e", "exclude", "X", "i", "interactive"]) {
            return Ok(());
        }
        self.discard(&arguments.operands, "git clean")
    }

    fn git_stash(&mut self, words: &[Value]) -> Result<(), Unreadable> {
        let arguments = Arguments::parse(words, "m: message: pathspec-from-file:");
        match arguments.operands.split_first() {
            _ if arguments.has(&["p", "patch"]) => Ok(()),
            None => self.discard(&[], STASH),
            Some((verb, paths)) => match verb.prefix() {
                "push" => self.discard(paths, STASH),
                "save" => self.discard(&[], STASH),
                // The same line brings it back.
                "pop" | "apply" => {
                    self.effects.writes.retain(|write| write.by != STASH);
                    Ok(())
                }
                _ => Ok(()),
            },
        }
    }
}

/// Whether the first operand of `git checkout` is a path: no name of a branch has a part
/// that begins with a dot, and few end as files do.
fn is_path(word: &Value) -> bool {
    let text = word.known().unwrap_or_default();
    let ending = text.rsplit('/').next().and_then(|name| name.rsplit_once('.')).map_or("", |(_, ending)| ending);
    let is_ending = (1..=5).contains(&ending.len()) && ending.starts_with(|c: char| c.is_ascii_alphabetic());
    text.split('/').any(|part| part.starts_with('.')) || text.ends_with('/') || is_ending
}
