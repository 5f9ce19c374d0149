//! Git commands that change named files or throw uncommitted work away.

use crate::effects::shell::interpreter::WriteKind;
use crate::effects::shell::interpreter::{CommandOutput, Interpreter};
use crate::effects::shell::programs::ProgramArguments;
use crate::effects::shell::words::ShellWord;

const STASH: &str = "git stash";

impl Interpreter {
    pub(super) fn git(&mut self, words: &[ShellWord], input: Option<&CommandOutput>) {
        let global = ProgramArguments::parse(
            words,
            "+ C: c: git-dir: work-tree: namespace: exec-path: config-env:",
        );
        let Some((verb, rest)) = global.operands.split_first() else { return };
        // Another repository than the one around the folder.
        if global.has(&["git-dir", "work-tree"]) {
            return;
        }
        self.in_subshell(|shell| {
            global.values(&["C"]).for_each(|folder| shell.state.dir.change("cd", Some(folder)));
            shell.git_verb(verb.prefix(), rest, input);
        });
    }

    fn git_verb(&mut self, verb: &str, words: &[ShellWord], input: Option<&CommandOutput>) {
        let specification = match verb {
            "apply" => "p: C: directory: exclude: include: whitespace:",
            "checkout" => "b: B: orphan: conflict: pathspec-from-file:",
            "restore" => "s: source: conflict: pathspec-from-file:",
            "clean" => "e: exclude:",
            "stash" => "m: message: pathspec-from-file:",
            _ => "pathspec-from-file:",
        };
        let arguments = ProgramArguments::parse(words, specification);
        let operands = arguments.operands.as_slice();
        let only_asks =
            arguments.has(&["dry-run", "p", "patch", "i", "interactive", "pathspec-from-file"]);
        match verb {
            "apply" if !arguments.has(&["check", "stat", "numstat", "summary", "cached"]) => {
                let has_file = operands.iter().any(|file| file.prefix() != "-");
                self.apply_patch("git apply", input.filter(|_| !has_file));
            }
            _ if only_asks => {}
            "rm" | "mv" | "clean" if arguments.has(&["n", "cached"]) => {}
            "rm" => self.write_all(
                operands,
                if arguments.has(&["r"]) { &WriteKind::RemoveTree } else { &WriteKind::Remove },
                "git rm",
            ),
            "mv" => self.copy("mv", "git mv", words),
            // Sides of a merge are chosen, or a branch is made.
            "checkout" | "restore"
                if arguments.has(&[
                    "ours", "theirs", "m", "merge", "b", "B", "orphan", "d", "detach", "t", "track",
                ]) => {}
            "checkout" => {
                let has_separator = words.iter().any(|word| word.prefix() == "--");
                let after = words.rsplit(|word| word.prefix() == "--").next().unwrap_or_default();
                let paths = match operands {
                    _ if has_separator => after,
                    [first, ..] if is_path(first) => operands,
                    [_, paths @ ..] => paths,
                    [] => &[],
                };
                if !paths.is_empty() || arguments.has(&["f", "force"]) {
                    self.discard(paths, "git checkout");
                }
            }
            "restore"
                if !operands.is_empty()
                    && (!arguments.has(&["S", "staged"]) || arguments.has(&["W", "worktree"])) =>
            {
                self.discard(operands, "git restore");
            }
            "reset" if arguments.has(&["hard"]) => self.discard(&[], "git reset --hard"),
            // Only ignored files go with `-X`; with `-e` something is left out.
            "clean" if arguments.has(&["f", "force"]) && !arguments.has(&["e", "exclude", "X"]) => {
                self.discard(operands, "git clean")
            }
            "stash" => match operands.split_first().map(|(verb, paths)| (verb.prefix(), paths)) {
                None | Some(("save", _)) => self.discard(&[], STASH),
                Some(("push", paths)) => self.discard(paths, STASH),
                // The same line brings it back.
                Some(("pop" | "apply", _)) => {
                    self.effects.writes.retain(|write| write.by != STASH);
                    self.written.retain(|write| write.by != STASH);
                }
                Some(_) => {}
            },
            _ => {}
        }
    }

    /// Throws away what is not committed at these paths, or everywhere.
    fn discard(&mut self, paths: &[ShellWord], by: &str) {
        let everything = [ShellWord::text(".")];
        // With something left out, what is lost is not plain.
        if !paths.iter().any(|path| {
            [":!", ":^", ":(exclude"].iter().any(|sign| path.prefix().starts_with(sign))
        }) {
            let is_top = |path: &ShellWord| matches!(path.prefix(), ":/" | ":" | ":(top)");
            let paths =
                if paths.is_empty() || paths.iter().any(is_top) { &everything } else { paths };
            self.write_all(paths, &WriteKind::Discard, by);
        }
    }
}

/// Whether the first operand of `git checkout` is a path: no name of a branch has a part
/// that begins with a dot, and few end as files do.
fn is_path(word: &ShellWord) -> bool {
    let text = word.known().unwrap_or_default();
    let ending = text
        .rsplit('/')
        .next()
        .and_then(|name| name.rsplit_once('.'))
        .map_or("", |(_, ending)| ending);
    let is_ending =
        (1..=5).contains(&ending.len()) && ending.starts_with(|c: char| c.is_ascii_alphabetic());
    text.split('/').any(|part| part.starts_with('.')) || text.ends_with('/') || is_ending
}
