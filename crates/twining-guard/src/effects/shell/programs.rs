//! Programs that write named files. Every other program runs unpredicted.

use crate::effects::shell::interpreter::{
    CommandOutput, Interpreter, MAX_COMMANDS, MAX_STEPS, SimpleCommand, WordTarget, WriteKind,
};
use crate::effects::shell::program_text;
use crate::effects::shell::words::{ShellWord, WordPart};

/// Most programs that only run another: `sudo env nice …`.
const MAX_WRAPPERS: usize = 8;

impl Interpreter {
    /// Runs a simple command.
    pub(super) fn run_program(
        &mut self,
        words: Vec<ShellWord>,
        input: Option<&CommandOutput>,
    ) -> CommandOutput {
        let words = unwrap(words);
        let Some((program, arguments)) = words.split_first() else {
            return CommandOutput::default();
        };
        let shown: Vec<String> = words.iter().map(ShellWord::text_lossy).collect();
        let steps = shown.iter().map(|word| word.len() / 64).sum();
        if self
            .charge(if self.effects.commands.len() < MAX_COMMANDS { steps } else { MAX_STEPS })
            .is_err()
        {
            return CommandOutput::unknown();
        }
        self.effects.commands.push(SimpleCommand { words: shown });
        self.run_known(&program_name(program), arguments, input)
    }

    /// Programs whose output or effect on the shell is known.
    fn run_known(
        &mut self,
        name: &str,
        words: &[ShellWord],
        input: Option<&CommandOutput>,
    ) -> CommandOutput {
        let first = words.first().map_or("", ShellWord::prefix);
        match name {
            "cd" | "pushd" | "popd" => {
                self.state.dir.change(name, ProgramArguments::parse(words, "").operands.first());
            }
            "export" | "declare" | "local" | "readonly" | "typeset" => {
                words
                    .iter()
                    .filter_map(ShellWord::assignment)
                    .for_each(|(name, value)| self.assign(&name, value));
            }
            "read" | "mapfile" | "readarray" | "unset" | "getopts" | "printf"
                if name != "printf" || first == "-v" =>
            {
                words.iter().for_each(|word| self.forget(&word.text_lossy()));
            }
            ":" | "true" | "false" | "test" | "[" | "[[" | "set" | "exit" | "return" | "mkdir" => {}
            "echo" => return program_text::echo(words),
            "printf" => {
                return program_text::printf(
                    words.get(usize::from(first == "--")..).unwrap_or_default(),
                );
            }
            "cat" if words.iter().all(|word| word.prefix() == "-") => {
                return input.cloned().unwrap_or_else(CommandOutput::unknown);
            }
            "tee" | "sponge" => return self.tee(name, words, input),
            "eval" => match words.iter().map(ShellWord::known).collect::<Option<Vec<_>>>() {
                Some(words) => return self.run_nested(name, &words.join(" ")),
                None => self.note("`eval`".to_owned()),
            },
            "bash" | "sh" | "zsh" | "dash" | "ksh" => return self.shell(name, words, input),
            _ => {
                self.run_writer(name, words, input);
                return CommandOutput::unknown();
            }
        }
        CommandOutput::default()
    }

    fn run_writer(&mut self, name: &str, words: &[ShellWord], input: Option<&CommandOutput>) {
        match name {
            "rm" | "rmdir" | "unlink" | "truncate" => self.each_operand(name, words),
            "cp" | "mv" | "ln" | "install" => self.copy(name, name, words),
            "sed" | "gsed" | "yq" => self.sed(name, words),
            "ed" | "ex" | "patch" => self.note(format!("the files changed by `{name}`")),
            "find" => self.find(words),
            "git" => self.git(words),
            _ => self.run_code(name, words, input),
        }
    }

    /// The same effect on several files.
    pub(super) fn write_all<'v>(
        &mut self,
        files: impl IntoIterator<Item = &'v ShellWord>,
        kind: &WriteKind,
        by: &str,
    ) {
        files.into_iter().for_each(|file| self.write(file, kind.clone(), by));
    }

    fn each_operand(&mut self, name: &str, words: &[ShellWord]) {
        let specification = if name == "truncate" { "s: r: size: reference:" } else { "" };
        let arguments = ProgramArguments::parse(words, specification);
        let kind = match name {
            "truncate" => WriteKind::Edit,
            "rm" if arguments.has(&["r", "R", "recursive"]) => WriteKind::RemoveTree,
            _ => WriteKind::Remove,
        };
        self.write_all(&arguments.operands, &kind, name);
    }

    /// `cp`, `mv`, `ln` and `install`. What lies in a folder that is copied is not known.
    pub(super) fn copy(&mut self, program: &str, by: &str, words: &[ShellWord]) {
        let arguments = ProgramArguments::parse(words, "t: S: m: o: g: suffix: target-directory:");
        let folder = arguments.values(&["t", "target-directory"]).next().cloned();
        let makes_folders = program == "install" && arguments.has(&["d", "directory"]);
        let mut sources = arguments.operands;
        if program == "ln" && sources.len() == 1 {
            sources.push(ShellWord::text("."));
        }
        let is_folder = folder.is_some() || sources.len() > 2;
        let Some(target) = folder.or_else(|| sources.pop()).filter(|_| !makes_folders) else {
            return;
        };
        let names_folder = matches!(target.0.as_slice(), [WordPart::Place(..)])
            || matches!(target.text_lossy().rsplit('/').next(), Some("" | "." | ".." | "~"));
        for source in &sources {
            self.copy_one(program, by, source, &target, is_folder || names_folder);
        }
    }

    fn copy_one(
        &mut self,
        program: &str,
        by: &str,
        source: &ShellWord,
        target: &ShellWord,
        is_folder: bool,
    ) {
        let (shown, name) = (source.text_lossy(), source.file_name());
        // `cp -r a/. b` copies what is in there.
        if shown.ends_with("/.") || matches!(shown.as_str(), "." | "..") {
            return;
        }
        let kind = match (program, self.state.dir.locate(source)) {
            ("mv", WordTarget::Path(from)) if !from.contains('*') => WriteKind::Move { from },
            ("cp" | "install", WordTarget::Path(from)) if !from.contains('*') => {
                WriteKind::Copy { from }
            }
            _ => WriteKind::Create { content: None },
        };
        let (name_shown, last) = (name.text_lossy(), target.file_name().text_lossy());
        if !is_folder {
            self.write(target, kind.clone(), by);
        }
        // Without an ending the target may be a file, or a folder that is there.
        let may_be_folder =
            !(has_ending(&last) || name_shown.starts_with(&last)) && target.known().is_some();
        if is_folder || may_be_folder {
            self.write(&target.join(&name), kind, by);
        }
        if program == "mv" {
            let is_file = has_ending(&name_shown) && !shown.ends_with('/');
            self.write(source, if is_file { WriteKind::Remove } else { WriteKind::RemoveTree }, by);
        }
    }

    fn tee(
        &mut self,
        name: &str,
        words: &[ShellWord],
        input: Option<&CommandOutput>,
    ) -> CommandOutput {
        let arguments = ProgramArguments::parse(words, "");
        let printed = input.cloned().unwrap_or_else(CommandOutput::unknown);
        let appends = arguments.has(&["a", "append"]);
        for file in &arguments.operands {
            self.write(file, printed.written(appends), name);
        }
        printed
    }

    /// `sed` and `yq`: a script, then files.
    fn sed(&mut self, name: &str, words: &[ShellWord]) {
        let is_yq = name == "yq";
        let specification = if is_yq {
            "o: p: I: expression: from-file:"
        } else {
            "e: f: l: i:: expression: file:"
        };
        let arguments = ProgramArguments::parse(words, specification);
        // The sed of macOS takes the ending of its backup as a word of its own.
        let is_before = |word: &&ShellWord| {
            word.text_lossy().is_empty() || (is_yq && matches!(word.prefix(), "eval" | "e" | "ea"))
        };
        let files = arguments.operands.iter().skip_while(is_before);
        let has_script = arguments.has(&["e", "expression", "f", "file", "from-file"]);
        if arguments.has(&["i", "in-place", "inplace"]) {
            let files = files.skip(usize::from(!has_script));
            self.write_all(files, &WriteKind::Edit, &format!("{name} -i"));
        }
    }

    fn shell(
        &mut self,
        name: &str,
        words: &[ShellWord],
        input: Option<&CommandOutput>,
    ) -> CommandOutput {
        let arguments = ProgramArguments::parse(words, "+ c: o: O: init-file: rcfile:");
        let script = match arguments.values(&["c"]).next() {
            Some(script) => CommandOutput::of(script),
            None if arguments.operands.iter().all(|word| word.prefix() == "-") => {
                input.cloned().unwrap_or_default()
            }
            // A script is a program like any other.
            None => return CommandOutput::unknown(),
        };
        if let Some(line) = script.whole() {
            return self.in_subshell(|shell| shell.run_nested(name, line));
        }
        if !script.text.is_empty() {
            self.note(format!("the command run by `{name}`"));
        }
        CommandOutput::unknown()
    }

    /// Removal by `find`; what else it runs is not predicted.
    fn find(&mut self, words: &[ShellWord]) {
        const TAKES_ALL: &str = "-delete -print -print0 -depth -type -mindepth -maxdepth -xdev";
        let is_test = |word: &ShellWord| word.prefix().starts_with(['-', '(', '!']);
        let mut parts = words.split(|word| matches!(word.prefix(), "-exec" | "-execdir"));
        let start = parts.next().unwrap_or_default();
        let removes = words.iter().any(|word| word.prefix() == "-delete")
            || parts.any(|run| run.first().is_some_and(|program| program_name(program) == "rm"));
        let is_filtered = start
            .iter()
            .any(|word| is_test(word) && !TAKES_ALL.split(' ').any(|known| known == word.prefix()));
        let here = [ShellWord::text(".")];
        let folders =
            start.split(is_test).next().filter(|folders| !folders.is_empty()).unwrap_or(&here);
        if removes && is_filtered {
            self.note("the files that `find` removes".to_owned());
        } else if removes {
            self.write_all(folders, &WriteKind::RemoveTree, "find");
        }
    }

    /// Code that is given to an interpreter on the line.
    fn run_code(&mut self, name: &str, words: &[ShellWord], input: Option<&CommandOutput>) {
        let (specification, options): (&str, &[&str]) =
            match name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.') {
                "python" | "pypy" => ("+ c: m: W: X:", &["c"]),
                "node" | "nodejs" | "bun" => {
                    ("+ e: p: r: eval: print: require: input-type:", &["e", "p", "eval", "print"])
                }
                "perl" | "ruby" => ("+ e: E: I: i:: 0:: M::", &[]),
                _ => return,
            };
        let arguments = ProgramArguments::parse(words, specification);
        if arguments.has(&["i"]) {
            self.write_all(&arguments.operands, &WriteKind::Edit, &format!("{name} -i"));
        }
        let mut code: Vec<String> = arguments.values(options).map(ShellWord::text_lossy).collect();
        let is_stdin = code.is_empty()
            && !arguments.has(&["m"])
            && arguments.operands.first().is_none_or(|word| word.prefix() == "-");
        code.extend(input.filter(|_| is_stdin).map(|input| input.text.clone()));
        for (path, kind) in code.iter().flat_map(|code| program_text::code_writes(code)) {
            self.write(&ShellWord::text(path), kind, name);
        }
    }
}

/// The options of a program that runs the one after them.
fn wrapper_options(name: &str) -> Option<&'static str> {
    Some(match name {
        "sudo" | "doas" => "+ u: g: h: p: C: r: t: T: U: D: user: group: chdir:",
        "env" => "+ u: C: S: unset: chdir: split-string:",
        "xargs" => "+ I: n: P: L: d: a: s: E: max-args: max-procs: delimiter: arg-file:",
        "time" | "exec" => "+ a: f: o: format: output:",
        "timeout" | "nice" | "ionice" | "stdbuf" => {
            "+ k: s: n: c: p: i: o: e: kill-after: signal: adjustment:"
        }
        "nohup" | "command" | "builtin" | "setsid" | "chronic" | "unbuffer" => "+",
        _ => return None,
    })
}

/// The command behind `sudo`, `env`, `time`, `xargs` and their like.
fn unwrap(mut words: Vec<ShellWord>) -> Vec<ShellWord> {
    for _ in 0..MAX_WRAPPERS {
        let Some((program, arguments)) = words.split_first() else { break };
        let name = program_name(program);
        let Some(specification) = wrapper_options(&name) else { break };
        let options = ProgramArguments::parse(arguments, specification);
        let is_setting = |word: &&ShellWord| {
            matches!(name.as_str(), "env" | "sudo" | "doas") && word.prefix().contains('=')
        };
        let skipped = if name == "timeout" {
            1
        } else {
            options.operands.iter().take_while(is_setting).count()
        };
        let mut inner: Vec<ShellWord> = options.operands.iter().skip(skipped).cloned().collect();
        // `command -v program` only asks where it is.
        if inner.is_empty() || (name == "command" && options.has(&["v", "V"])) {
            break;
        }
        if name == "xargs" {
            // What comes in takes the place of a word, or follows the last.
            let place = options.values(&["I"]).next().map(ShellWord::text_lossy);
            let is_place = |word: &ShellWord| {
                place.as_ref().is_some_and(|place| word.text_lossy().contains(place))
            };
            for word in inner.iter_mut().filter(|word| is_place(word)) {
                *word = ShellWord::unknown("$(xargs)");
            }
            inner.extend(place.is_none().then(|| ShellWord::unknown("$(xargs)")));
        }
        words = inner;
    }
    words
}

/// A program's name without its folder; empty where it is not known.
fn program_name(word: &ShellWord) -> String {
    word.known().unwrap_or_default().rsplit('/').next().unwrap_or_default().to_owned()
}

/// Whether a name ends as files do: `a.txt`, but not `.git`.
fn has_ending(name: &str) -> bool {
    name.rfind('.').is_some_and(|at| at > 0)
}

/// Most letters of one word that are options.
const MAX_LETTERS: usize = 32;

/// Arguments taken apart.
pub(super) struct ProgramArguments {
    options: Vec<(String, Option<ShellWord>)>,
    pub(super) operands: Vec<ShellWord>,
}

impl ProgramArguments {
    /// Takes arguments apart. The specification names the options that have a value, each
    /// with `:` after it (`o: output:`), or with `::` where the value can only follow in the
    /// same word (`i::`). With `+` as its first word, everything after the first operand is
    /// an operand too.
    pub(super) fn parse(words: &[ShellWord], specification: &str) -> Self {
        let takes = |name: &str, colons: &str| {
            specification.split(' ').any(|option| option.strip_suffix(colons) == Some(name))
        };
        let mut arguments = Self { options: Vec::new(), operands: Vec::new() };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let prefix = word.prefix();
            if prefix == "--" && word.0.len() == 1 {
                break;
            }
            if let Some(long) = prefix.strip_prefix("--").filter(|long| !long.is_empty()) {
                match long.split_once('=') {
                    Some((name, _)) => arguments
                        .options
                        .push((name.to_owned(), Some(word.without_prefix(name.len() + 3)))),
                    None => {
                        let value = if takes(long, ":") { words.next().cloned() } else { None };
                        arguments.options.push((long.to_owned(), value));
                    }
                }
                continue;
            }
            let Some(letters) = prefix
                .strip_prefix('-')
                .filter(|letters| (1..=MAX_LETTERS).contains(&letters.len()))
            else {
                arguments.operands.push(word.clone());
                if specification.starts_with('+') {
                    break;
                }
                continue;
            };
            for (at, letter) in letters.char_indices() {
                let name = letter.to_string();
                let is_last = takes(&name, "::");
                if is_last || takes(&name, ":") {
                    let attached = Some(word.without_prefix(1 + at + letter.len_utf8()))
                        .filter(|rest| *rest != ShellWord::text(""));
                    let value =
                        if is_last { attached } else { attached.or_else(|| words.next().cloned()) };
                    arguments.options.push((name, value));
                    break;
                }
                arguments.options.push((name, None));
            }
        }
        arguments.operands.extend(words.cloned());
        arguments
    }

    /// Whether any of these options is given.
    pub(super) fn has(&self, names: &[&str]) -> bool {
        self.options.iter().any(|(name, _)| names.contains(&name.as_str()))
    }

    /// The values of these options, in order.
    pub(super) fn values<'a>(&'a self, names: &'a [&str]) -> impl Iterator<Item = &'a ShellWord> {
        self.options
            .iter()
            .filter(|(name, _)| names.contains(&name.as_str()))
            .filter_map(|(_, value)| value.as_ref())
    }
}
