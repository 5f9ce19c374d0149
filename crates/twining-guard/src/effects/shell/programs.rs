//! Programs that write named files. Every other program runs unpredicted.

use crate::effects::shell::inserted_text;
use crate::effects::shell::interpreter::{CommandOutput, Interpreter, WordTarget};
use crate::effects::shell::interpreter::{MAX_COMMANDS, MAX_STEPS, SimpleCommand, WriteKind};
use crate::effects::shell::words::{ShellWord, WordPart};

/// Most programs that only run another: `sudo env nice …`.
const MAX_WRAPPERS: usize = 8;

/// Options of `rsync` that have a value.
const RSYNC: &str = "e: f: T: rsh: exclude: include: filter: exclude-from: include-from: files-from: log-file: chmod: backup-dir: link-dest:";

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
                self.state.dir.change(name, ProgramArguments::parse(words, "").operands.first())
            }
            "export" | "declare" | "local" | "readonly" | "typeset" => {
                words
                    .iter()
                    .filter_map(ShellWord::assignment)
                    .for_each(|(name, value)| self.assign(&name, value));
            }
            "read" | "mapfile" | "readarray" | "unset" | "getopts" => {
                words.iter().for_each(|word| self.forget(&word.text_lossy()))
            }
            "printf" if first == "-v" => {
                words.iter().for_each(|word| self.forget(&word.text_lossy()))
            }
            ":" | "true" | "false" | "test" | "[" | "[[" | "set" | "exit" | "return" | "mkdir" => {}
            "echo" => return inserted_text::echo(words),
            "printf" => {
                return inserted_text::printf(
                    words.get(usize::from(first == "--")..).unwrap_or_default(),
                );
            }
            "cat" if words.iter().all(|word| word.prefix() == "-") => {
                return input.cloned().unwrap_or_else(CommandOutput::unknown);
            }
            "tee" | "sponge" => return self.tee(name, words, input),
            "sed" | "gsed" | "yq" => return self.sed(name, words),
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
            "rm" | "rmdir" | "unlink" | "touch" | "truncate" => self.each_operand(name, words),
            "cp" | "mv" | "ln" | "install" | "rsync" => self.copy(name, name, words),
            "chmod" | "chown" | "chgrp" | "setfacl" => self.change_metadata(name, words),
            "dd" => {
                let outputs: Vec<ShellWord> = words
                    .iter()
                    .filter_map(ShellWord::assignment)
                    .filter(|(name, _)| name == "of")
                    .map(|(_, file)| file)
                    .collect();
                self.write_all(&outputs, &WriteKind::Create { content: None }, name);
            }
            "curl" | "wget" => self.download(name, words),
            "patch" => self.patch(words, input),
            "ed" | "ex" => self.note(format!("`{name}`")),
            "tar" | "bsdtar" | "unzip" => self.unpack(name, words),
            "find" => self.find(words, input),
            "git" => self.git(words, input),
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
        let arguments = ProgramArguments::parse(
            words,
            if matches!(name, "touch" | "truncate") { "t: d: r: s: date: size:" } else { "" },
        );
        let kind = match name {
            "touch" => WriteKind::Metadata,
            "truncate" => WriteKind::Edit,
            "rm" if arguments.has(&["r", "R", "recursive"]) => WriteKind::RemoveTree,
            _ => WriteKind::Remove,
        };
        self.write_all(&arguments.operands, &kind, name);
    }

    fn change_metadata(&mut self, name: &str, words: &[ShellWord]) {
        let arguments = ProgramArguments::parse(
            words,
            if name == "setfacl" { "m: x: M: X: modify: remove: set:" } else { "reference: from:" },
        );
        // `chmod -x file`: the mode looks like an option.
        let has_mode = name == "setfacl"
            || arguments.has(&["reference"])
            || (name == "chmod" && arguments.has(&["r", "w", "x"]));
        if !arguments.has(&["R", "recursive"]) {
            self.write_all(
                arguments.operands.iter().skip(usize::from(!has_mode)),
                &WriteKind::Metadata,
                name,
            );
        }
    }

    /// `cp`, `mv`, `ln`, `install` and `rsync`. What lies in a folder that is copied is not known.
    pub(super) fn copy(&mut self, program: &str, by: &str, words: &[ShellWord]) {
        let arguments = ProgramArguments::parse(
            words,
            if program == "rsync" { RSYNC } else { "t: S: m: o: g: suffix: target-directory:" },
        );
        let copies_nothing =
            arguments.has(if program == "install" { &["d", "directory"] } else { &["dry-run"] });
        let copies_nothing = copies_nothing || (program == "rsync" && arguments.has(&["n"]));
        let folder = arguments.values(&["t", "target-directory"]).next().cloned();
        let mut sources = arguments.operands;
        if program == "ln" && sources.len() == 1 {
            sources.push(ShellWord::text("."));
        }
        let is_folder = folder.is_some() || sources.len() > 2;
        let Some(target) = folder.or_else(|| sources.pop()).filter(|_| !copies_nothing) else {
            return;
        };
        let is_remote = program == "rsync"
            && target.text_lossy().split('/').next().is_some_and(|host| host.contains(':'));
        let names_folder = matches!(target.0.as_slice(), [WordPart::Place(..)])
            || matches!(target.text_lossy().rsplit('/').next(), Some("" | "." | ".." | "~"));
        for source in sources.iter().filter(|_| !is_remote) {
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
        if shown.ends_with("/.")
            || matches!(shown.as_str(), "." | "..")
            || (program == "rsync" && shown.ends_with('/'))
        {
            return;
        }
        let kind = match (program, self.state.dir.locate(source)) {
            ("mv", WordTarget::Path(from)) if !from.contains('*') => WriteKind::Move { from },
            ("cp" | "install" | "rsync", WordTarget::Path(from)) if !from.contains('*') => {
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
            self.insert(&printed.text);
            self.write(file, printed.written(appends), name);
        }
        printed
    }

    /// `sed` and `yq`: a script, then files.
    fn sed(&mut self, name: &str, words: &[ShellWord]) -> CommandOutput {
        let is_yq = name == "yq";
        let arguments = ProgramArguments::parse(
            words,
            if is_yq {
                "o: p: I: expression: from-file:"
            } else {
                "e: f: l: i:: expression: file:"
            },
        );
        // The sed of macOS takes the ending of its backup as a word of its own.
        let is_before = |word: &&ShellWord| {
            matches!(word.text_lossy().as_str(), "")
                || (is_yq && matches!(word.prefix(), "eval" | "e" | "ea"))
        };
        let mut files = arguments.operands.iter().skip_while(is_before);
        let mut scripts: Vec<&ShellWord> = arguments.values(&["e", "expression"]).collect();
        if !arguments.has(&["e", "expression", "f", "file", "from-file"]) {
            scripts.extend(files.next());
        }
        let inserted: Vec<String> = scripts
            .iter()
            .flat_map(|script| inserted_text::replacements(&script.text_lossy()))
            .collect();
        if arguments.has(&["i", "in-place", "inplace"]) {
            inserted.iter().for_each(|text| self.insert(text));
            self.write_all(files, &WriteKind::Edit, &format!("{name} -i"));
        }
        CommandOutput { text: inserted.join("\n"), is_partial: true }
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

    fn download(&mut self, name: &str, words: &[ShellWord]) {
        let (specification, named) = match name {
            "curl" => (
                "A: b: c: C: d: D: e: E: F: H: K: m: o: P: Q: r: t: T: u: U: w: x: X: z: output: data: header: url:",
                ["o", "output"],
            ),
            _ => (
                "O: o: a: P: U: e: i: t: T: output-document: output-file: header:",
                ["O", "output-document"],
            ),
        };
        let arguments = ProgramArguments::parse(words, specification);
        self.write_all(arguments.values(&named), &WriteKind::Create { content: None }, name);
        if name == "curl" && arguments.has(&["O", "remote-name"]) {
            let files: Vec<ShellWord> = arguments
                .operands
                .iter()
                .filter(|url| url.prefix().contains("://"))
                .map(ShellWord::file_name)
                .collect();
            self.write_all(&files, &WriteKind::Create { content: None }, name);
        }
    }

    fn patch(&mut self, words: &[ShellWord], input: Option<&CommandOutput>) {
        let arguments = ProgramArguments::parse(
            words,
            "p: i: d: o: r: B: F: D: strip: input: directory: output: fuzz: reject-file:",
        );
        self.in_subshell(|shell| {
            arguments
                .values(&["d", "directory"])
                .for_each(|folder| shell.state.dir.change("cd", Some(folder)));
            match arguments.values(&["o", "output"]).next().or(arguments.operands.first()) {
                _ if arguments.has(&["dry-run"]) => {}
                Some(file) => shell.write(file, WriteKind::Edit, "patch"),
                None => shell.apply_patch("patch", input),
            }
        });
    }

    /// Changes the files that a patch names, where the line holds it.
    pub(super) fn apply_patch(&mut self, by: &str, patch: Option<&CommandOutput>) {
        let Some(patch) = patch.map(|patch| &patch.text).filter(|patch| !patch.is_empty()) else {
            return self.note(format!("the files changed by `{by}`"));
        };
        let added: Vec<&str> = patch
            .lines()
            .filter(|line| !line.starts_with("+++ "))
            .filter_map(|line| line.strip_prefix('+'))
            .collect();
        self.insert(&added.join("\n"));
        for name in patch.lines().filter_map(|line| line.strip_prefix("+++ ")?.split('\t').next()) {
            self.write(&ShellWord::text(name.trim().trim_start_matches("b/")), WriteKind::Edit, by);
        }
    }

    fn unpack(&mut self, name: &str, words: &[ShellWord]) {
        let arguments = ProgramArguments::parse(
            words,
            if name == "unzip" { "d: x:" } else { "f: C: X: T: file: directory: exclude:" },
        );
        let is_old_style = words.first().is_some_and(|letters| {
            !letters.prefix().starts_with('-') && letters.prefix().contains('x')
        });
        if name == "unzip" || is_old_style || arguments.has(&["x", "extract", "get"]) {
            for folder in arguments
                .values(&["C", "directory", "d"])
                .map(ShellWord::text_lossy)
                .filter(|folder| !folder.starts_with("/tmp"))
            {
                self.note(format!("the files that `{name}` unpacks into `{folder}`"));
            }
        }
    }

    fn find(&mut self, words: &[ShellWord], input: Option<&CommandOutput>) {
        let is_test = |word: &ShellWord| word.prefix().starts_with(['-', '(', '!']);
        let is_exec =
            |word: &ShellWord| matches!(word.prefix(), "-exec" | "-execdir" | "-ok" | "-okdir");
        let takes_all = [
            "-delete",
            "-print",
            "-print0",
            "-depth",
            "-type",
            "-mindepth",
            "-maxdepth",
            "-xdev",
            "-mount",
        ];
        let mut commands = words.split(is_exec);
        let start = commands.next().unwrap_or_default();
        let is_filtered =
            start.iter().any(|word| is_test(word) && !takes_all.contains(&word.prefix()));
        let mut is_removing = words.iter().any(|word| word.prefix() == "-delete");
        for command in commands {
            let words = command.iter().take_while(|word| !matches!(word.prefix(), ";" | "+"));
            let words: Vec<ShellWord> = words
                .map(|word| {
                    if word.text_lossy().contains("{}") {
                        ShellWord::unknown("{}")
                    } else {
                        word.clone()
                    }
                })
                .collect();
            let is_removal = words.first().is_some_and(|program| program_name(program) == "rm");
            is_removing |= is_removal;
            if !is_removal {
                self.run_program(words, input);
            }
        }
        let here = [ShellWord::text(".")];
        let folders =
            start.split(is_test).next().filter(|folders| !folders.is_empty()).unwrap_or(&here);
        if is_removing && is_filtered {
            self.note("the files that `find` removes".to_owned());
        } else if is_removing {
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
                "perl" | "ruby" => ("+ e: E: I: i:: 0:: M::", &["e", "E"]),
                "php" => ("+ r:", &["r"]),
                _ => return,
            };
        let arguments = ProgramArguments::parse(words, specification);
        let mut code: Vec<String> = arguments.values(options).map(ShellWord::text_lossy).collect();
        if arguments.has(&["i"]) {
            code.iter()
                .flat_map(|code| inserted_text::replacements(code))
                .for_each(|text| self.insert(&text));
            self.write_all(&arguments.operands, &WriteKind::Edit, &format!("{name} -i"));
        }
        let is_stdin = code.is_empty()
            && !arguments.has(&["m"])
            && arguments.operands.first().is_none_or(|word| word.prefix() == "-");
        code.extend(input.filter(|_| is_stdin).map(|input| input.text.clone()));
        for (path, is_removed) in code.iter().flat_map(|code| inserted_text::code_writes(code)) {
            self.write(
                &ShellWord::text(path),
                if is_removed { WriteKind::Remove } else { WriteKind::Edit },
                name,
            );
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
            let is_place = |word: &&mut ShellWord| {
                place.as_ref().is_some_and(|place| word.text_lossy().contains(place))
            };
            inner
                .iter_mut()
                .filter(is_place)
                .for_each(|word| *word = ShellWord::unknown("$(xargs)"));
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
