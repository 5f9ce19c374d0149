//! What each program does with its arguments, as far as files are concerned.

use crate::guards::shell::tree::{self, made_of};
use crate::guards::shell::{Certainty, Effects, ShellWrite, Target, Unreadable, Word, code};

/// What a command gets besides its arguments.
pub(super) struct Surroundings<'a> {
    /// A here-document or here-string.
    pub(super) fed: Option<&'a str>,
    /// Words of the commands piped into it.
    pub(super) piped: &'a [String],
}

/// Programs that only look. Everything that is on no list may do anything with
/// the paths it is given.
const READERS: [&str; 62] = [
    "cat",
    "less",
    "more",
    "head",
    "tail",
    "grep",
    "egrep",
    "fgrep",
    "rg",
    "ag",
    "ack",
    "jq",
    "wc",
    "diff",
    "cmp",
    "comm",
    "ls",
    "stat",
    "file",
    "du",
    "df",
    "echo",
    "printf",
    "test",
    "[",
    "[[",
    "sha256sum",
    "sha1sum",
    "md5sum",
    "cksum",
    "nl",
    "tac",
    "rev",
    "cut",
    "tr",
    "uniq",
    "column",
    "fold",
    "strings",
    "xxd",
    "od",
    "hexdump",
    "realpath",
    "readlink",
    "basename",
    "dirname",
    "bat",
    "tree",
    "cd",
    "pushd",
    "popd",
    "pwd",
    "export",
    "set",
    "unset",
    "true",
    "false",
    "source",
    ".",
    "which",
    "twining",
    "touch",
];

/// Programs that start another one, and how many words of theirs come first.
const WRAPPERS: [(&str, usize); 18] = [
    ("coproc", 0),
    ("sudo", 0),
    ("doas", 0),
    ("nohup", 0),
    ("time", 0),
    ("nice", 0),
    ("ionice", 0),
    ("command", 0),
    ("builtin", 0),
    ("exec", 0),
    ("stdbuf", 0),
    ("setsid", 0),
    ("busybox", 0),
    ("env", 0),
    ("timeout", 1),
    ("xargs", 0),
    ("chronic", 0),
    ("flock", 1),
];

const SHELLS: [&str; 6] = ["sh", "bash", "zsh", "dash", "ksh", "ash"];
const INTERPRETERS: [&str; 12] =
    ["python", "python2", "python3", "node", "deno", "bun", "perl", "ruby", "php", "lua", "osascript", "tclsh"];
const EDITORS: [&str; 11] = ["apply_patch", "ed", "ex", "vi", "vim", "nvim", "nano", "emacs", "sponge", "shred", "patch"];

/// Adds what a command does.
pub(super) fn run(mut words: Vec<Word>, around: &Surroundings<'_>, effects: &mut Effects, nested: usize) -> Result<(), Unreadable> {
    let mut by_xargs = false;
    while let Some(wrapper) = words.first().map(name_of).and_then(|name| WRAPPERS.iter().find(|(known, _)| *known == name)) {
        by_xargs |= wrapper.0 == "xargs";
        words.remove(0);
        let mut own = wrapper.1;
        while let Some(word) = words.first().map(Word::gist) {
            // An option's value cannot be told from the program without a table
            // of options; `-n 1` and `-I {}` are the ones in use.
            if word.starts_with('-') {
                words.remove(0);
                if matches!(word.as_str(), "-n" | "-I" | "-u" | "-P" | "-L" | "-d" | "-k" | "-s") && words.len() > 1 {
                    words.remove(0);
                }
            } else if word.contains('=') && wrapper.0 == "env" {
                words.remove(0);
            } else if own > 0 {
                own -= 1;
                words.remove(0);
            } else {
                break;
            }
        }
    }
    if by_xargs {
        words.push(made_of(around.piped));
    }
    let Some(program) = words.first().map(name_of) else { return Ok(()) };
    let is_guessed = words.first().is_some_and(|word| word.known().is_none()) || effects.defines.contains(&program);
    let arguments = words.get(1..).unwrap_or_default().to_vec();
    effects.runs.push(words);
    let mut doing = Doing { program: &program, arguments: &arguments, effects };
    match program.as_str() {
        "alias" => {
            let names = arguments.iter().map(Word::gist).filter_map(|word| word.split_once('=').map(|(name, _)| name.to_owned()));
            doing.effects.defines.extend(names);
        }
        "cd" | "pushd" => doing.effects.enters.extend(doing.operands(&[]).into_iter().next()),
        name if SHELLS.contains(&name) => return doing.shell(around, nested),
        "eval" => {
            let line = arguments.iter().map(Word::gist).collect::<Vec<_>>().join(" ");
            return tree::read(&line, effects, nested + 1);
        }
        name if INTERPRETERS.contains(&name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.')) || INTERPRETERS.contains(&name) => {
            doing.interpreter(around);
        }
        "awk" | "gawk" | "mawk" => doing.awk(),
        "tee" => doing.all_operands("tee"),
        "sed" | "gsed" => doing.sed(),
        "cp" | "install" | "rsync" | "scp" | "ln" | "mv" => doing.copies(),
        "rm" | "unlink" | "rmdir" => doing.removes(),
        "dd" => doing.prefixed("of="),
        "truncate" => doing.all_operands("truncate"),
        "curl" | "wget" | "sort" | "openssl" | "gcc" | "cc" | "pandoc" => doing.outputs(),
        "yq" => {
            if doing.has_option('i', "--inplace") || doing.has_option('i', "--in-place") {
                doing.all_operands("yq -i");
            }
        }
        "git" => doing.git(around),
        "find" | "fd" => return doing.find(around, nested),
        name if EDITORS.contains(&name) => {
            doing.all_operands(name);
            if let Some(fed) = around.fed {
                doing.write(Target::Code(fed.to_owned()), Certainty::Likely, name);
            }
        }
        name if READERS.contains(&name) => {}
        name => {
            // A name made up on the line hides what it does.
            let certainty = if is_guessed { Certainty::Likely } else { Certainty::Possible };
            for operand in doing.operands(&[]) {
                doing.write(Target::Path(operand), certainty, name);
            }
        }
    }
    Ok(())
}

/// A program's name without its folder.
fn name_of(word: &Word) -> String {
    let gist = word.gist();
    gist.rsplit('/').next().unwrap_or(&gist).to_owned()
}

struct Doing<'a> {
    program: &'a str,
    arguments: &'a [Word],
    effects: &'a mut Effects,
}

impl Doing<'_> {
    fn write(&mut self, target: Target, certainty: Certainty, by: &str) {
        self.effects.writes.push(ShellWrite { target, certainty, by: by.to_owned(), content: None });
    }

    /// Arguments that are no options; `valued` options take the next word too.
    fn operands(&self, valued: &[&str]) -> Vec<Word> {
        let (mut operands, mut plain) = (Vec::new(), false);
        let mut words = self.arguments.iter();
        while let Some(word) = words.next() {
            let gist = word.gist();
            if !plain && gist == "--" {
                plain = true;
            } else if !plain && gist.starts_with('-') && gist.len() > 1 {
                if valued.contains(&gist.as_str()) {
                    words.next();
                }
            } else {
                operands.push(word.clone());
            }
        }
        operands
    }

    fn has_option(&self, short: char, long: &str) -> bool {
        self.arguments
            .iter()
            .map(Word::gist)
            .take_while(|word| word != "--")
            .any(|word| word.starts_with(long) || (word.starts_with('-') && !word.starts_with("--") && word.contains(short)))
    }

    fn value_of(&self, options: &[&str]) -> Vec<Word> {
        let mut values = Vec::new();
        for (at, word) in self.arguments.iter().enumerate() {
            for option in options {
                if word.gist() == *option {
                    values.extend(self.arguments.get(at + 1).cloned());
                } else if let Some(value) = word.after(&format!("{option}=")) {
                    values.push(value);
                } else if option.len() == 2
                    && let Some(value) = word.after(option)
                {
                    values.push(value);
                }
            }
        }
        values
    }

    fn all_operands(&mut self, by: &str) {
        let valued: &[&str] = if self.program == "truncate" { &["-s", "-r"] } else { &[] };
        for operand in self.operands(valued) {
            self.write(Target::Path(operand), Certainty::Certain, by);
        }
    }

    fn prefixed(&mut self, prefix: &str) {
        for path in self.arguments.iter().filter_map(|word| word.after(prefix)).collect::<Vec<_>>() {
            self.write(Target::Path(path), Certainty::Certain, self.program);
        }
    }

    fn outputs(&mut self) {
        for path in self.value_of(&["-o", "-O", "--output", "--output-document", "-out"]) {
            self.write(Target::Path(path), Certainty::Certain, self.program);
        }
    }

    fn sed(&mut self) {
        let scripted = self.arguments.iter().any(|word| matches!(word.gist().as_str(), "-e" | "-f" | "--expression" | "--file"))
            || self.arguments.iter().any(|word| word.gist().starts_with("--expression="));
        let operands = self.operands(&["-e", "-f", "--expression", "--file"]);
        let script: String = self.arguments.iter().map(Word::gist).filter(|word| word.contains("w ")).collect::<Vec<_>>().join(" ");
        if !script.is_empty() {
            // `sed -n 'w file'` and `s/../../w file` write as well.
            self.write(Target::Code(script), Certainty::Likely, "sed w");
        }
        if self.has_option('i', "--in-place") {
            for file in operands.into_iter().skip(usize::from(!scripted)) {
                self.write(Target::Path(file), Certainty::Certain, "sed -i");
            }
        }
    }

    fn copies(&mut self) {
        let valued = ["-t", "-m", "-o", "-g", "-S", "-e"];
        let into = self.value_of(&["-t", "--target-directory"]);
        let mut operands = self.operands(&valued);
        let target = match into.first() {
            Some(dir) => Some(dir.clone()),
            None => operands.pop(),
        };
        for source in &operands {
            let base = source.gist().trim_end_matches('/').rsplit('/').next().unwrap_or_default().to_owned();
            if let Some(target) = &target {
                let mut inside = target.clone();
                inside.0.push(crate::guards::shell::Piece::Text(format!("/{base}")));
                self.write(Target::Path(inside), Certainty::Certain, self.program);
            }
            match self.program {
                "mv" => self.write(Target::Tree(source.clone()), Certainty::Certain, "mv"),
                // What is written through the new name later cannot be told.
                "ln" => self.write(Target::Path(source.clone()), Certainty::Certain, "ln"),
                _ => {}
            }
        }
        if let Some(target) = target.filter(|_| !operands.is_empty()) {
            self.write(Target::Path(target), Certainty::Certain, self.program);
        }
    }

    fn removes(&mut self) {
        for operand in self.operands(&[]) {
            self.write(Target::Tree(operand), Certainty::Certain, self.program);
        }
    }

    fn git(&mut self, around: &Surroundings<'_>) {
        let words: Vec<String> = self.arguments.iter().map(Word::gist).collect();
        let mut at = 0;
        while words.get(at).is_some_and(|word| word.starts_with('-')) {
            if matches!(words[at].as_str(), "-C" | "-c" | "--git-dir" | "--work-tree") {
                if words[at] == "-C" {
                    self.effects.enters.extend(self.arguments.get(at + 1).cloned());
                }
                at += 1;
            }
            at += 1;
        }
        let Some(verb) = words.get(at).cloned() else { return };
        if let ("apply" | "am", Some(patch)) = (verb.as_str(), around.fed) {
            self.write(Target::Code(patch.to_owned()), Certainty::Likely, &format!("git {verb}"));
        }
        if !matches!(verb.as_str(), "checkout" | "restore" | "stash" | "rm" | "mv" | "reset" | "clean" | "checkout-index" | "update-index")
        {
            return;
        }
        for (path, word) in self.arguments.iter().zip(&words).skip(at + 1) {
            if !word.starts_with('-') {
                // A whole tree or a branch is history's business, and the
                // memory notices it; a path that is named is meant.
                self.write(Target::Path(path.clone()), Certainty::Certain, &format!("git {verb}"));
            }
        }
    }

    fn shell(self, around: &Surroundings<'_>, nested: usize) -> Result<(), Unreadable> {
        let mut words = self.arguments.iter();
        while let Some(word) = words.next() {
            let gist = word.gist();
            if gist.starts_with('-') && !gist.starts_with("--") && gist.contains('c') {
                let line = words.next().map(Word::gist).unwrap_or_default();
                return tree::read(&line, self.effects, nested + 1);
            }
            if !gist.starts_with('-') && gist != "/dev/stdin" {
                return Ok(());
            }
        }
        match around.fed {
            Some(line) => tree::read(line, self.effects, nested + 1),
            // `echo '..' | sh`: the words that are printed are read as a line.
            None if !around.piped.is_empty() => around.piped.iter().try_for_each(|line| tree::read(line, self.effects, nested + 1)),
            None => Ok(()),
        }
    }

    fn interpreter(&mut self, around: &Surroundings<'_>) {
        let mut given =
            self.value_of(&["-c", "-e", "-E", "-p", "-r", "--eval", "--print", "-pe", "-ne", "-i", "-pi", "-pie", "-0777", "-i -pe"]);
        given.extend(self.arguments.iter().filter(|word| word.gist().contains([' ', '('])).cloned());
        let mut code: String = given.iter().map(Word::gist).collect::<Vec<_>>().join("\n");
        code.extend(given.iter().flat_map(Word::sources));
        code.push_str(around.fed.unwrap_or_default());
        let in_place = matches!(self.program, "perl" | "ruby") && self.has_option('i', "--in-place");
        let is_inline = !code.is_empty();
        if is_inline && code::writes(&code) {
            let named = self.arguments.iter().map(Word::gist).collect::<Vec<_>>().join("\n");
            self.write(Target::Code(format!("{code}\n{named}")), Certainty::Likely, self.program);
        }
        let certainty = if in_place { Certainty::Certain } else { Certainty::Possible };
        for operand in self.operands(&[]).into_iter().filter(|word| !word.gist().contains(' ')) {
            if in_place || !is_inline {
                self.write(Target::Path(operand), certainty, self.program);
            }
        }
    }

    fn awk(&mut self) {
        let script = self.arguments.iter().map(Word::gist).collect::<Vec<_>>().join("\n");
        if script.contains('>') || script.contains("system") {
            self.write(Target::Code(script.clone()), Certainty::Likely, "awk");
        }
        if script.contains("inplace") {
            self.all_operands("awk -i inplace");
        }
    }

    fn find(self, around: &Surroundings<'_>, nested: usize) -> Result<(), Unreadable> {
        let words: Vec<String> = self.arguments.iter().map(Word::gist).collect();
        let sought = words.iter().take_while(|word| !word.starts_with("-exec") && *word != "-ok");
        let found: Vec<String> = sought.flat_map(|word| [word.clone(), word.replace('*', "")]).collect();
        if words.iter().any(|word| word == "-delete") {
            self.effects.writes.push(ShellWrite {
                target: Target::Path(made_of(&found)),
                certainty: Certainty::Likely,
                by: "find -delete".to_owned(),
                content: None,
            });
        }
        for (at, _) in words.iter().enumerate().filter(|(_, word)| matches!(word.as_str(), "-exec" | "-execdir" | "-ok" | "-x" | "-X")) {
            let inner = self.arguments[at + 1..].iter().take_while(|word| !matches!(word.gist().as_str(), ";" | "+"));
            let inner =
                inner.map(|word| if word.gist().is_empty() || word.gist() == "{}" { made_of(&found) } else { word.clone() }).collect();
            run(inner, around, self.effects, nested + 1)?;
        }
        Ok(())
    }
}
