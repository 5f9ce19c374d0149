//! Patches that a command carries out: which files they name can be read before.

use crate::guards::shell::commands::{Doing, Surroundings};
use crate::guards::shell::{Certainty, PatchGiven, Target, Word};

/// Files of one patch that are told apart.
const MOST_FILES: usize = 2_000;
/// Options of `patch` and of `git apply` that take the next word.
const VALUED: [&str; 13] = ["-i", "-p", "-d", "-o", "-r", "-F", "-B", "-D", "-V", "-z", "-C", "--directory", "--exclude"];

impl Doing<'_> {
    /// `patch`: the file that is named, or those that the patch names.
    pub(super) fn patches(&mut self, around: &Surroundings<'_>) {
        if let Some(fed) = around.fed {
            self.write(Target::Code(fed.to_owned()), Certainty::Likely, "patch");
        }
        for out in self.value_of(&["-o", "--output"]) {
            self.write(Target::Path(out), Certainty::Certain, "patch");
        }
        if self.says(&["--dry-run"]) {
            return;
        }
        let mut operands = self.operands(&VALUED).into_iter();
        if let Some(original) = operands.next() {
            return self.write(Target::Path(original), Certainty::Certain, "patch");
        }
        let given = self.value_of(&["-i", "--input"]);
        self.patch(around, given, self.value_of(&["-d", "--directory"]).into_iter().next(), "patch");
    }

    /// `git apply` and `git am`, from the words behind them.
    pub(super) fn applies(&mut self, verb: &str, from: usize, around: &Surroundings<'_>) {
        let only_looks = self.says(&["--check", "--stat", "--numstat", "--summary"]) && !self.says(&["--apply"]);
        if verb == "apply" && (only_looks || self.says(&["--cached"])) {
            return;
        }
        let behind = Doing { program: self.program, arguments: self.arguments.get(from..).unwrap_or_default(), effects: self.effects };
        let given = behind.operands(&VALUED);
        let folder = behind.value_of(&["--directory"]).into_iter().next();
        self.patch(around, given, folder, &format!("git {verb}"));
    }

    fn patch(&mut self, around: &Surroundings<'_>, given: Vec<Word>, folder: Option<Word>, by: &str) {
        let mut files: Vec<Word> = given.into_iter().filter(|file| file.known().is_some_and(|name| name != "-")).collect();
        if files.is_empty() && around.fed.is_none() {
            files.extend(around.from.cloned());
            // `cat a.patch | git apply`
            files.extend(around.piped.iter().map(|word| Word::text(word)));
        }
        let strip = self.value_of(&["-p", "--strip"]).first().and_then(|strip| strip.gist().parse().ok());
        let strip = if by == "patch" { strip } else { Some(strip.unwrap_or(1)) };
        let text = around.fed.map(str::to_owned);
        if text.is_some() || !files.is_empty() {
            self.write(Target::Patch(PatchGiven { text, files, folder, strip }), Certainty::Certain, by);
        }
    }

    fn says(&self, options: &[&str]) -> bool {
        self.arguments.iter().any(|word| options.contains(&word.gist().as_str()))
    }
}

/// The files that a patch in unified form names, with as many folders left off as
/// its reader leaves off; each as often as it may be meant.
pub(crate) fn named(patch: &str, strip: Option<usize>) -> Vec<String> {
    let mut names = Vec::new();
    let mut add = |name: &str, folders: usize| {
        let name = name.split('\t').next().unwrap_or(name).trim().trim_matches('"');
        if name.is_empty() || name == "/dev/null" {
            return;
        }
        let left = |most: usize| name.splitn(most + 1, '/').last().unwrap_or(name).to_owned();
        match strip {
            Some(strip) => names.push(left(strip.saturating_sub(folders))),
            // Nobody said: its reader takes what is there.
            None => names.extend([left(0), left(1), left(usize::MAX - 1)]),
        }
    };
    let mut hunk = 0_usize;
    for line in patch.lines() {
        // What stands in a part is no heading, whatever it looks like.
        if hunk > 0 {
            hunk -= usize::from(line.starts_with(['+', '-', ' ']) || line.is_empty());
            continue;
        }
        if line.starts_with("@@ ") {
            hunk = lines_of(line);
        } else if let Some(name) = line.strip_prefix("--- ").or_else(|| line.strip_prefix("+++ ")) {
            add(name, 0);
        } else if let Some(name) = ["rename from ", "rename to ", "copy to "].iter().find_map(|head| line.strip_prefix(head)) {
            // Told without the folder in front.
            add(name, 1);
        } else if let Some((_, name)) = line.strip_prefix("diff --git ").and_then(|names| names.rsplit_once(' ')) {
            add(name, 0);
        }
    }
    names.sort_unstable();
    names.dedup();
    names.truncate(MOST_FILES);
    names
}

/// Fewest lines that a part has: `@@ -1,3 +1,4 @@` has four at least.
fn lines_of(head: &str) -> usize {
    let count = |range: &str| range.split_once(',').map_or(1, |(_, count)| count.parse::<usize>().unwrap_or(1));
    let mut ranges = head.split(' ').skip(1).take(2).map(count);
    ranges.next().unwrap_or_default().max(ranges.next().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_names_its_files_and_not_what_its_lines_look_like() {
        let patch = "diff --git a/src/a.rs b/src/a.rs\nindex 1..2 100644\n--- a/src/a.rs\n+++ b/src/a.rs\n@@ -1,2 +1,2 @@\n x\n--- b/src/no.rs\n+y\n\
                     diff --git a/old b/new\nrename from old\nrename to new\n--- /dev/null\n+++ b/src/n.rs\t2026-01-01\n@@ -0,0 +1 @@\n+z\n";
        assert_eq!(named(patch, Some(1)), ["new", "old", "src/a.rs", "src/n.rs"]);
        assert!(named("--- src/a.rs\n+++ src/a.rs\n", Some(0)).contains(&"src/a.rs".to_owned()));
        let anyhow = named("--- a/src/a.rs\n+++ b/src/a.rs\n", None);
        assert!(["a.rs", "src/a.rs", "b/src/a.rs"].iter().all(|name| anyhow.iter().any(|named| named == name)), "{anyhow:?}");
    }
}
