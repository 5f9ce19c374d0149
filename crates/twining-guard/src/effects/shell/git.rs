//! Git commands that change named files or throw uncommitted records away.

use crate::effects::shell::interpreter::{Interpreter, WriteKind};
use crate::effects::shell::programs::ProgramArguments;
use crate::effects::shell::words::ShellWord;

const STASH: &str = "git stash";

impl Interpreter {
    pub(super) fn git(&mut self, words: &[ShellWord]) {
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
            shell.git_verb(verb.prefix(), rest);
        });
    }

    fn git_verb(&mut self, verb: &str, words: &[ShellWord]) {
        let arguments = ProgramArguments::parse(
            words,
            match verb {
                "checkout" => "b: B: orphan: conflict:",
                "restore" => "s: source: conflict:",
                "clean" => "e: exclude:",
                "stash" => "m: message:",
                _ => "",
            },
        );
        let operands = arguments.operands.as_slice();
        // Nothing is lost, parts are chosen by hand, or sides of a merge are.
        if arguments.has(&["dry-run", "p", "patch", "i", "interactive", "ours", "theirs", "merge"])
        {
            return;
        }
        match verb {
            "apply" if !arguments.has(&["check", "stat", "numstat", "summary", "cached"]) => {
                self.note("the files of `git apply`".to_owned());
            }
            "rm" | "mv" | "clean" if arguments.has(&["n", "cached"]) => {}
            "rm" => self.write_all(
                operands,
                if arguments.has(&["r"]) { &WriteKind::RemoveTree } else { &WriteKind::Remove },
                "git rm",
            ),
            "mv" => self.copy("mv", "git mv", words),
            "checkout" if !operands.is_empty() || arguments.has(&["f", "force"]) => {
                self.discard(operands, "git checkout");
            }
            "restore" if arguments.has(&["S", "staged"]) && !arguments.has(&["W", "worktree"]) => {}
            "restore" if !operands.is_empty() => self.discard(operands, "git restore"),
            "reset" if arguments.has(&["hard"]) => self.discard(&[], "git reset --hard"),
            // Only ignored files go with `-X`; with `-e` something is left out.
            "clean" if arguments.has(&["f", "force"]) && !arguments.has(&["e", "exclude", "X"]) => {
                self.discard(operands, "git clean");
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

    /// Throws away what is not committed: everywhere, here, or of the records. Other paths
    /// are nobody's to judge, and with something left out the loss is not plain.
    fn discard(&mut self, paths: &[ShellWord], by: &str) {
        let leaves_out = |path: &ShellWord| {
            [":!", ":^", ":(exclude"].iter().any(|sign| path.prefix().starts_with(sign))
        };
        if paths.iter().any(leaves_out) {
            return;
        }
        let is_top = |path: &ShellWord| matches!(path.prefix(), ":/" | ":" | ":(top)");
        if paths.is_empty() || paths.iter().any(is_top) {
            return self.write(&ShellWord::text("."), WriteKind::Discard, by);
        }
        let may_hold_records = |path: &&ShellWord| {
            matches!(path.prefix(), "." | "./" | "..") || path.prefix().contains(".twining")
        };
        self.write_all(paths.iter().filter(may_hold_records), &WriteKind::Discard, by);
    }
}
