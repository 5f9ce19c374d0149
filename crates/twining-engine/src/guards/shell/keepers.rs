//! Programs that keep what others write: git, Twining itself, and those that say
//! who may open a file.

use crate::guards::shell::commands::{Doing, Surroundings};
use crate::guards::shell::{Certainty, Loses, Piece, Target, Word};

impl Doing<'_> {
    pub(super) fn git(&mut self, around: &Surroundings<'_>) {
        let words: Vec<String> = self.arguments.iter().map(Word::gist).collect();
        let mut at = 0;
        while words.get(at).is_some_and(|word| word.starts_with('-')) {
            if matches!(words[at].as_str(), "-C" | "-c" | "--git-dir" | "--work-tree") {
                if words[at] == "-C" {
                    self.stands_in_too(self.arguments.get(at + 1));
                }
                at += 1;
            }
            at += 1;
        }
        let Some(verb) = words.get(at).cloned() else { return };
        self.discards(&verb, &words[at + 1..]);
        if verb == "clean" {
            self.cleans(&words[at + 1..]);
            return;
        }
        if matches!(verb.as_str(), "apply" | "am") {
            for folder in self.value_of(&["--directory"]) {
                self.write(Target::Tree(folder), Certainty::Certain, &format!("git {verb}"));
            }
        }
        if verb == "merge-file" && !words.iter().any(|word| matches!(word.as_str(), "-p" | "--stdout")) {
            let files = self.operands(&["-L", "--marker-size", "-C"]);
            for file in files.into_iter().skip(1).take(1) {
                self.write(Target::Path(file), Certainty::Certain, "git merge-file");
            }
        }
        if matches!(verb.as_str(), "apply" | "am") {
            self.applies(&verb, at + 1, around);
        }
        if let ("apply" | "am", Some(patch)) = (verb.as_str(), around.fed) {
            self.write(Target::Code(patch.to_owned()), Certainty::Likely, &format!("git {verb}"));
        }
        if !matches!(verb.as_str(), "checkout" | "restore" | "stash" | "rm" | "mv" | "reset" | "checkout-index" | "update-index") {
            return;
        }
        let has = |short: &str, long: &str| words.iter().any(|word| word == short || word == long);
        let by = match verb.as_str() {
            "rm" if has("", "--cached") => "git rm --cached".to_owned(),
            "restore" if has("-S", "--staged") && !has("-W", "--worktree") => "git restore --staged".to_owned(),
            verb => format!("git {verb}"),
        };
        for (path, word) in self.arguments.iter().zip(&words).skip(at + 1) {
            if !word.starts_with('-') {
                // A whole tree or a branch is history's business, and the
                // memory notices it; a path that is named is meant.
                self.write(Target::Path(path.clone()), Certainty::Certain, &by);
            }
        }
    }

    /// What throws away whatever git does not hold of a whole tree. A switch, a reset
    /// and a stash of what git knows are history's business.
    fn discards(&mut self, verb: &str, words: &[String]) {
        let spared = |word: &String| [":!", ":^", ":(exclude)", "-e", "--exclude="].iter().any(|sign| word.starts_with(sign));
        let has = |short: char, long: &str| {
            let letters = |word: &&String| word.starts_with('-') && !word.starts_with("--");
            words.iter().any(|word| word == long) || words.iter().filter(letters).any(|word| word.contains(short))
        };
        let (loses, way) = match verb {
            "clean" if has('f', "--force") && !has('n', "--dry-run") => (Loses::Untracked, "or add `-e .twining`"),
            "stash" if has('u', "--include-untracked") || has('a', "--all") => (Loses::Untracked, "or add `-- ':!.twining'`"),
            "checkout" => (Loses::Modified, "or add `':!.twining'`"),
            "restore" if !has('S', "--staged") || has('W', "--worktree") => (Loses::Modified, "or add `':!.twining'`"),
            _ => return,
        };
        let begins = self.arguments.len() - words.len();
        let is_spared = words
            .iter()
            .zip(words.iter().skip(1).chain([&String::new()]))
            .any(|(word, next)| spared(word) && (word.contains("twining") || next.contains("twining")));
        if is_spared {
            return;
        }
        let options = ["push", "save", "list", "show", "pop", "apply", "drop", "branch", "clear"];
        let plain = |(word, _): &(&String, &Word)| !(word.starts_with('-') || verb == "stash" && options.contains(&word.as_str()));
        let mut named: Vec<Word> = words.iter().zip(&self.arguments[begins..]).filter(plain).map(|(_, path)| path.clone()).collect();
        let is_whole = matches!(verb, "clean" | "stash") && named.is_empty();
        let does = !(verb == "stash" && words.first().is_some_and(|word| options[2..].contains(&word.as_str())));
        if is_whole {
            // A stash takes all, wherever one stands.
            named.push(Word::text(if verb == "clean" { "." } else { ":/" }));
        }
        for path in named.into_iter().filter(|_| does) {
            let by = format!("git {verb}, which loses what is not committed (commit .twining first, {way}),");
            self.write(Target::Unsaved(path, loses), Certainty::Certain, &by);
        }
    }

    /// `git clean`: the paths that are named, and with `-x` also what git ignores, which
    /// is all that only this machine knows.
    fn cleans(&mut self, words: &[String]) {
        let begins = self.arguments.len() - words.len();
        let letters: String =
            words.iter().filter(|word| word.starts_with('-') && !word.starts_with("--")).flat_map(|word| word.chars()).collect();
        if letters.contains('n') || words.iter().any(|word| word == "--dry-run") {
            return;
        }
        let (mut named, mut spares, mut excludes) = (Vec::new(), false, false);
        for (word, path) in words.iter().zip(&self.arguments[begins..]) {
            if std::mem::take(&mut excludes) || word.starts_with("--exclude=") {
                spares |= word.contains("twining");
            } else if matches!(word.as_str(), "-e" | "--exclude") {
                excludes = true;
            } else if !word.starts_with('-') {
                named.push(path.clone());
            }
        }
        if named.is_empty() && !spares && letters.contains(['x', 'X']) {
            let by = "git clean, which takes what only this machine knows (add `-e .twining`),";
            self.write(Target::Path(Word::text(".twining/local")), Certainty::Certain, by);
        }
        for path in named {
            self.write(Target::Path(path), Certainty::Certain, "git clean");
        }
    }

    /// Who may open a file and who not: what takes the right to read or write away
    /// from its owner, or gives it to another, is a change.
    pub(super) fn closes(&mut self) {
        let mut operands = self.operands(&["--reference", "-m", "-M", "-x"]);
        let mode = self.arguments.iter().map(Word::gist).find(|word| !word.starts_with("--") && !word.starts_with("-R"));
        let mode = mode.unwrap_or_default();
        let takes = match self.program {
            "chmod" => mode_takes(&mode),
            // What is given to oneself is taken from nobody.
            "chown" | "chgrp" if !mode.is_empty() && mode.split([':', '.']).all(|who| matches!(who, "" | "$USER" | "$LOGNAME")) => false,
            _ => true,
        };
        // `chmod -w file`: the mode looks like an option.
        if !mode.starts_with('-') && !operands.is_empty() {
            operands.remove(0);
        }
        for operand in operands.into_iter().filter(|_| takes) {
            self.write(Target::Tree(operand), Certainty::Certain, self.program);
        }
    }

    /// Twining itself: what speaks for a host or for git, and what writes where it is told.
    pub(super) fn twining(&mut self) {
        let words: Vec<String> = self.arguments.iter().map(Word::gist).collect();
        if speaks_for_another(words.iter().map(String::as_str)) {
            self.speaks();
        }
        if words.iter().any(|word| word == "export") {
            for out in self.value_of(&["--out"]) {
                self.write(Target::Tree(out), Certainty::Certain, "twining export");
            }
        }
    }

    /// A program that is handed Twining's name and such a word may run it: `npx`, `script -c`.
    pub(super) fn carried(&mut self, words: &[String]) {
        let mut parts = words.iter().flat_map(|word| word.split(|c: char| c.is_whitespace() || ";&|()'\"".contains(c)));
        let is_named = parts.by_ref().any(|word| word.rsplit('/').next() == Some("twining"));
        if is_named && speaks_for_another(parts) {
            self.speaks();
        }
    }

    /// Notes that a host's or git's part is played, which writes where only they may.
    pub(super) fn speaks(&mut self) {
        let place = Word(vec![Piece::Hole(Vec::new()), Piece::Text("/.twining/local/hooks".to_owned())]);
        self.write(Target::Path(place), Certainty::Certain, "twining, which only hosts and git call so");
    }
}

/// Whether a mode takes reading or writing away from the owner.
fn mode_takes(mode: &str) -> bool {
    if let Some(owner) = mode.bytes().rev().nth(2).filter(|_| !mode.is_empty() && mode.bytes().all(|byte| byte.is_ascii_digit())) {
        return (owner - b'0') & 6 != 6;
    }
    let is_number = mode.bytes().all(|byte| byte.is_ascii_digit());
    let takes = |part: &str| {
        let taken = part.split_once('-').is_some_and(|(_, rights)| rights.contains(['r', 'w']));
        let opens = |rights: &str| rights.contains('r') && rights.contains('w');
        let set = part.split_once('=').is_some_and(|(who, rights)| !(who.contains(['g', 'o']) || opens(rights)));
        taken || set
    };
    is_number || mode.split(',').any(takes)
}

/// Whether these words after `twining` play a part that is not an agent's: a host
/// that tells of an event, git that merges. Asking how is anybody's.
fn speaks_for_another<'w>(words: impl Iterator<Item = &'w str>) -> bool {
    let words: Vec<&str> = words.collect();
    let asks = words.iter().any(|word| matches!(*word, "--help" | "-h"));
    !asks && words.iter().any(|word| matches!(*word, "hook" | "merge-driver"))
}
