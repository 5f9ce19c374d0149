//! Programs that write named files. Every other program runs unpredicted.

use crate::effects::shell::arguments::Arguments;
use crate::effects::shell::cwd::Located;
use crate::effects::shell::interpreter::{Interpreter, Output};
use crate::effects::shell::words::{Piece, Value};
use crate::effects::shell::{MAX_COMMANDS, SimpleCommand, Unreadable, WriteKind, code, text};

const RSYNC: &str = "e: f: B: T: rsh: exclude: include: filter: exclude-from: include-from: files-from: log-file: chmod: chown: \
    backup-dir: suffix: temp-dir: compare-dest: copy-dest: link-dest: bwlimit: max-size: min-size: port: info: debug: out-format: \
    password-file: rsync-path: timeout:";

impl Interpreter {
    /// Runs a simple command.
    pub(super) fn run_program(&mut self, words: Vec<Value>, input: Option<&Output>) -> Result<Output, Unreadable> {
        let words = unwrap(words);
        let Some((program, arguments)) = words.split_first() else { return Ok(Output::default()) };
        if self.effects.commands.len() >= MAX_COMMANDS {
            return Err(Unreadable::TooManySteps);
        }
        let command = SimpleCommand {
            words: words.iter().map(Value::text_lossy).collect(),
            is_plain: words.iter().all(|word| word.known().is_some()),
            cwd: self.state.dir.cwd(),
        };
        self.step(command.words.len() + command.words.iter().map(String::len).sum::<usize>() / 64)?;
        self.effects.commands.push(command);
        let name = program_name(program);
        match self.run_builtin(&name, arguments, input)? {
            Some(output) => Ok(output),
            None => self.run_writer(&name, arguments, input).map(|()| Output::unknown()),
        }
    }

    /// Commands whose output or effect on the shell is known.
    fn run_builtin(&mut self, name: &str, words: &[Value], input: Option<&Output>) -> Result<Option<Output>, Unreadable> {
        let silent = Output::default();
        Ok(Some(match name {
            "cd" | "pushd" | "popd" => {
                self.state.dir.change(name, Arguments::parse(words, "").operands.first());
                silent
            }
            "export" | "declare" | "local" | "readonly" | "typeset" => {
                words.iter().filter_map(Value::assignment).for_each(|(name, value)| self.assign(&name, value));
                silent
            }
            "read" | "mapfile" | "readarray" | "unset" | "getopts" => {
                words.iter().for_each(|word| self.forget(&word.text_lossy()));
                silent
            }
            ":" | "true" | "false" | "test" | "[" | "[[" | "set" | "shopt" | "exit" | "return" | "sleep" | "mkdir" => silent,
            "echo" => text::echo(words),
            "printf" if words.first().is_some_and(|word| word.prefix() == "-v") => {
                self.forget(&words.get(1).map(Value::text_lossy).unwrap_or_default());
                silent
            }
            "printf" => text::printf(words.get(usize::from(words.first().is_some_and(|word| word.prefix() == "--"))..).unwrap_or_default()),
            "cat" if words.iter().all(|word| word.prefix() == "-") => input.cloned().unwrap_or_else(Output::unknown),
            "tee" | "sponge" => self.tee(name, words, input)?,
            "sed" | "gsed" => self.sed(words)?,
            "eval" => match words.iter().map(Value::known).collect::<Option<Vec<_>>>() {
                Some(words) => self.run_nested("eval", &words.join(" "))?,
                None => {
                    self.note("`eval`".to_owned());
                    Output::unknown()
                }
            },
            "bash" | "sh" | "zsh" | "dash" | "ksh" => self.shell(name, words, input)?,
            _ => return Ok(None),
        }))
    }

    fn run_writer(&mut self, name: &str, words: &[Value], input: Option<&Output>) -> Result<(), Unreadable> {
        match name {
            "rm" | "rmdir" | "unlink" => self.remove(name, words),
            "cp" | "mv" | "ln" | "install" | "rsync" => self.copy(name, name, words),
            "touch" => self.each_operand(words, "t: d: r: date: reference:", 0, &WriteKind::Metadata, name),
            "chmod" | "chown" | "chgrp" | "setfacl" => self.change_metadata(name, words),
            "truncate" => {
                let is_emptied = Arguments::parse(words, "s: r: size: reference:").values(&["s", "size"]).any(|size| size.prefix() == "0");
                let kind = if is_emptied { WriteKind::Create { content: Some(String::new()) } } else { WriteKind::Edit };
                self.each_operand(words, "s: r: size: reference:", 0, &kind, name)
            }
            "dd" => {
                let outputs = words.iter().filter(|word| word.prefix().starts_with("of="));
                outputs.into_iter().try_for_each(|word| self.write(&word.without_prefix(3), WriteKind::Create { content: None }, name))
            }
            "curl" | "wget" => self.download(name, words),
            "yq" => self.yq(words),
            "patch" => self.patch(words, input),
            "ed" | "ex" => {
                self.note(format!("`{name}`"));
                Ok(())
            }
            "tar" | "bsdtar" | "unzip" => {
                self.unpack(name, words);
                Ok(())
            }
            "find" => self.find(words, input),
            "git" => self.git(words, input),
            _ => self.run_code(name, words, input),
        }
    }

    /// The same effect on every operand after the first few.
    fn each_operand(&mut self, words: &[Value], specification: &str, skipped: usize, kind: &WriteKind, by: &str) -> Result<(), Unreadable> {
        let operands = Arguments::parse(words, specification).operands;
        operands.iter().skip(skipped).try_for_each(|operand| self.write(operand, kind.clone(), by))
    }

    fn remove(&mut self, name: &str, words: &[Value]) -> Result<(), Unreadable> {
        let is_tree = name == "rm" && Arguments::parse(words, "").has(&["r", "R", "recursive"]);
        self.each_operand(words, "", 0, if is_tree { &WriteKind::RemoveTree } else { &WriteKind::Remove }, name)
    }

    fn change_metadata(&mut self, name: &str, words: &[Value]) -> Result<(), Unreadable> {
        let specification = "m: x: M: X: modify: remove: set: reference: from:";
        let specification = if name == "setfacl" { specification } else { "reference: from:" };
        let arguments = Arguments::parse(words, specification);
        if arguments.has(&["R", "recursive"]) {
            return Ok(());
        }
        // `chmod -x file`: the mode looks like an option.
        let is_mode = |word: &Value| {
            word.prefix().strip_prefix('-').is_some_and(|mode| !mode.is_empty() && mode.chars().all(|c| "rwxXst".contains(c)))
        };
        let has_mode = name == "setfacl" || arguments.has(&["reference"]) || (name == "chmod" && words.iter().any(is_mode));
        self.each_operand(words, specification, usize::from(!has_mode), &WriteKind::Metadata, name)
    }

    /// `cp`, `mv`, `ln`, `install` and `rsync`. What lies in a folder that is copied is not known.
    pub(super) fn copy(&mut self, program: &str, by: &str, words: &[Value]) -> Result<(), Unreadable> {
        let specification = match program {
            "rsync" => RSYNC,
            "install" => "m: o: g: S: t: mode: owner: group: suffix: target-directory:",
            _ => "t: S: suffix: target-directory:",
        };
        let arguments = Arguments::parse(words, specification);
        let folder = arguments.values(&["t", "target-directory"]).next().filter(|_| program != "rsync").cloned();
        let copies_nothing = match program {
            "rsync" => arguments.has(&["n", "dry-run"]),
            "install" => arguments.has(&["d", "directory"]),
            _ => false,
        };
        let mut sources = arguments.operands;
        if program == "ln" && sources.len() == 1 {
            sources.push(Value::text("."));
        }
        let is_folder = folder.is_some() || sources.len() > 2;
        let Some(target) = folder.or_else(|| sources.pop()).filter(|_| !copies_nothing) else { return Ok(()) };
        let is_remote = target.text_lossy().split('/').next().is_some_and(|host| host.contains(':'));
        if program == "rsync" && is_remote {
            return Ok(());
        }
        for source in &sources {
            self.copy_one(program, by, source, &target, is_folder || names_folder(&target))?;
        }
        Ok(())
    }

    fn copy_one(&mut self, program: &str, by: &str, source: &Value, target: &Value, is_folder: bool) -> Result<(), Unreadable> {
        let (shown, name) = (source.text_lossy(), source.file_name());
        let is_content = shown.ends_with("/.") || matches!(shown.as_str(), "." | "..") || (program == "rsync" && shown.ends_with('/'));
        if is_content {
            return Ok(());
        }
        let from = match self.state.dir.locate(source) {
            Located::Path(path) if !path.contains(['*', '?']) => Some(path),
            _ => None,
        };
        let kind = match (program, from) {
            ("ln", _) | (_, None) => WriteKind::Create { content: None },
            ("mv", Some(from)) => WriteKind::Move { from },
            (_, Some(from)) => WriteKind::Copy { from },
        };
        let last = target.file_name().text_lossy();
        if !is_folder {
            self.write(target, kind.clone(), by)?;
        }
        // Without an ending the target may be a file or a folder that is there.
        let may_be_folder = !(has_ending(&last) || name.text_lossy().starts_with(&last)) && target.known().is_some();
        if is_folder || may_be_folder {
            self.write(&target.join(&name), kind, by)?;
        }
        if program == "mv" {
            let is_file = has_ending(&name.text_lossy()) && !shown.ends_with('/');
            self.write(source, if is_file { WriteKind::Remove } else { WriteKind::RemoveTree }, by)?;
        }
        Ok(())
    }

    fn tee(&mut self, name: &str, words: &[Value], input: Option<&Output>) -> Result<Output, Unreadable> {
        let arguments = Arguments::parse(words, "");
        let printed = input.cloned().unwrap_or_else(Output::unknown);
        for file in &arguments.operands {
            self.insert(&printed.text)?;
            let content = printed.whole().map(str::to_owned);
            let kind = if arguments.has(&["a", "append"]) { WriteKind::Append { content } } else { WriteKind::Create { content } };
            self.write(file, kind, name)?;
        }
        Ok(printed)
    }

    fn sed(&mut self, words: &[Value]) -> Result<Output, Unreadable> {
        let arguments = Arguments::parse(words, "e: f: l: i:: expression: file:");
        let is_in_place = arguments.has(&["i", "in-place"]);
        // The sed of macOS takes the ending of its backup as a word of its own.
        let skipped = usize::from(is_in_place && arguments.operands.first().is_some_and(|word| word.text_lossy().is_empty()));
        let mut files = arguments.operands.iter().skip(skipped);
        let mut scripts: Vec<&Value> = arguments.values(&["e", "expression"]).collect();
        if !arguments.has(&["e", "expression", "f", "file"]) {
            scripts.extend(files.next());
        }
        let inserted: Vec<String> = scripts.iter().flat_map(|script| text::replacements(&script.text_lossy())).collect();
        if is_in_place {
            inserted.iter().try_for_each(|text| self.insert(text))?;
            files.try_for_each(|file| self.write(file, WriteKind::Edit, "sed -i"))?;
        }
        Ok(Output { text: inserted.join("\n"), is_partial: true })
    }

    fn shell(&mut self, name: &str, words: &[Value], input: Option<&Output>) -> Result<Output, Unreadable> {
        let arguments = Arguments::parse(words, "+ c: o: O: init-file: rcfile:");
        let script = match arguments.values(&["c"]).next() {
            Some(script) => Output::of(script),
            None if arguments.operands.iter().all(|word| word.prefix() == "-") => input.cloned().unwrap_or_default(),
            // A script is a program like any other.
            None => return Ok(Output::unknown()),
        };
        match script.whole() {
            Some(line) => self.in_subshell(|shell| shell.run_nested(name, line)),
            None => {
                if !script.text.is_empty() {
                    self.note(format!("the command of `{name}`"));
                }
                Ok(Output::unknown())
            }
        }
    }

    fn download(&mut self, name: &str, words: &[Value]) -> Result<(), Unreadable> {
        let specification = if name == "curl" {
            "A: b: c: C: d: D: e: E: F: h: H: K: m: o: P: Q: r: t: T: u: U: w: x: X: y: Y: z: output: data: header: request: user: url:"
        } else {
            "O: o: a: P: U: e: i: t: T: output-document: output-file: header: directory-prefix:"
        };
        let arguments = Arguments::parse(words, specification);
        let named: &[&str] = if name == "curl" { &["o", "output"] } else { &["O", "output-document"] };
        let mut files: Vec<Value> = arguments.values(named).cloned().collect();
        if name == "curl" && arguments.has(&["O", "remote-name"]) {
            files.extend(arguments.operands.iter().filter(|url| url.prefix().contains("://")).map(Value::file_name));
        }
        files.iter().try_for_each(|file| self.write(file, WriteKind::Create { content: None }, name))
    }

    fn yq(&mut self, words: &[Value]) -> Result<(), Unreadable> {
        let arguments = Arguments::parse(words, "o: p: I: s: output-format: input-format: indent: from-file: expression:");
        if !arguments.has(&["i", "inplace", "in-place"]) {
            return Ok(());
        }
        let is_verb = |word: &&Value| matches!(word.prefix(), "eval" | "e" | "eval-all" | "ea");
        let operands: Vec<&Value> = arguments.operands.iter().skip_while(is_verb).collect();
        let has_expression = !arguments.has(&["from-file", "expression"]) && operands.len() > 1;
        operands.into_iter().skip(usize::from(has_expression)).try_for_each(|file| self.write(file, WriteKind::Edit, "yq -i"))
    }

    fn patch(&mut self, words: &[Value], input: Option<&Output>) -> Result<(), Unreadable> {
        let arguments = Arguments::parse(words, "p: i: d: o: r: B: F: D: strip: input: directory: output: fuzz: reject-file:");
        if arguments.has(&["dry-run"]) {
            return Ok(());
        }
        self.in_subshell(|shell| {
            arguments.values(&["d", "directory"]).for_each(|folder| shell.state.dir.change("cd", Some(folder)));
            match arguments.values(&["o", "output"]).next().or(arguments.operands.first()) {
                Some(file) => shell.write(file, WriteKind::Edit, "patch"),
                None => shell.apply_patch("patch", input),
            }
        })
    }

    /// Changes the files that a patch names, where the line holds it.
    pub(super) fn apply_patch(&mut self, by: &str, input: Option<&Output>) -> Result<(), Unreadable> {
        let patch = input.map(|patch| patch.text.as_str());
        let Some(patch) = patch.filter(|patch| !patch.is_empty()) else {
            self.note(format!("the files of `{by}`"));
            return Ok(());
        };
        let is_header = |line: &&str| line.starts_with("+++ ");
        let added: Vec<&str> = patch.lines().filter(|line| !is_header(line)).filter_map(|line| line.strip_prefix('+')).collect();
        self.insert(&added.join("\n"))?;
        for name in patch.lines().filter(is_header).filter_map(|line| line.get(4..)?.split('\t').next()) {
            self.write(&Value::text(name.trim().trim_start_matches("b/")), WriteKind::Edit, by)?;
        }
        Ok(())
    }

    fn unpack(&mut self, name: &str, words: &[Value]) {
        let arguments = Arguments::parse(words, if name == "unzip" { "d: x:" } else { "f: C: X: T: file: directory: exclude:" });
        let is_old_style = words.first().is_some_and(|letters| !letters.prefix().starts_with('-') && letters.prefix().contains('x'));
        if name == "unzip" || is_old_style || arguments.has(&["x", "extract", "get"]) {
            for folder in arguments.values(&["C", "directory", "d"]).map(Value::text_lossy).filter(|folder| !folder.starts_with("/tmp")) {
                self.note(format!("`{name}` unpacks into `{folder}`"));
            }
        }
    }

    fn find(&mut self, words: &[Value], input: Option<&Output>) -> Result<(), Unreadable> {
        let is_test = |word: &&Value| !word.prefix().starts_with(['-', '(', '!']);
        let starts: Vec<&Value> = words.iter().skip_while(|word| matches!(word.prefix(), "-H" | "-L" | "-P")).take_while(is_test).collect();
        let is_exec = |word: &Value| matches!(word.prefix(), "-exec" | "-execdir" | "-ok" | "-okdir");
        let is_filter = |word: &Value| {
            let word = word.prefix();
            let takes_all =
                ["-delete", "-print", "-print0", "-depth", "-type", "-mindepth", "-maxdepth", "-xdev", "-mount", "-H", "-L", "-P"];
            word.starts_with(['-', '(', '!']) && !takes_all.contains(&word)
        };
        let is_filtered = words.iter().take_while(|word| !is_exec(word)).any(is_filter);
        let mut is_removing = words.iter().any(|word| word.prefix() == "-delete");
        for (at, _) in words.iter().enumerate().filter(|(_, word)| is_exec(word)) {
            let inner = words.iter().skip(at + 1).take_while(|word| !matches!(word.prefix(), ";" | "+"));
            let inner: Vec<Value> =
                inner.map(|word| if word.text_lossy().contains("{}") { Value::unknown("{}") } else { word.clone() }).collect();
            let is_removal = inner.first().is_some_and(|program| program_name(program) == "rm");
            is_removing |= is_removal;
            if !is_removal {
                self.run_program(inner, input)?;
            }
        }
        if is_removing && is_filtered {
            self.note("the files that `find` removes".to_owned());
        } else if is_removing {
            let here = Value::text(".");
            let starts = if starts.is_empty() { vec![&here] } else { starts };
            starts.into_iter().try_for_each(|start| self.write(start, WriteKind::RemoveTree, "find"))?;
        }
        Ok(())
    }

    /// Code that is given to an interpreter on the line.
    fn run_code(&mut self, name: &str, words: &[Value], input: Option<&Output>) -> Result<(), Unreadable> {
        let (specification, options): (&str, &[&str]) = match name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.') {
            "python" | "pypy" => ("+ c: m: W: X:", &["c"]),
            "node" | "nodejs" | "bun" | "deno" => ("+ e: p: r: eval: print: require: input-type:", &["e", "p", "eval", "print"]),
            "perl" | "ruby" => ("+ e: E: I: i:: 0:: M::", &["e", "E"]),
            "php" => ("+ r:", &["r"]),
            _ => return Ok(()),
        };
        let arguments = Arguments::parse(words, specification);
        let mut code: Vec<String> = arguments.values(options).map(Value::text_lossy).collect();
        if arguments.has(&["i"]) {
            for text in code.iter().flat_map(|code| text::replacements(code)) {
                self.insert(&text)?;
            }
            arguments.operands.iter().try_for_each(|file| self.write(file, WriteKind::Edit, &format!("{name} -i")))?;
        }
        let is_stdin = code.is_empty() && !arguments.has(&["m"]) && arguments.operands.first().is_none_or(|word| word.prefix() == "-");
        code.extend(input.filter(|_| is_stdin).map(|input| input.text.clone()));
        if name == "deno" && arguments.operands.first().is_some_and(|verb| verb.prefix() == "eval") {
            code.extend(arguments.operands.get(1).map(Value::text_lossy));
        }
        for (path, is_removed) in code.iter().flat_map(|code| code::code_writes(code)) {
            self.write(&Value::text(&path), if is_removed { WriteKind::Remove } else { WriteKind::Edit }, name)?;
        }
        Ok(())
    }
}

/// The options of a program that runs the one after them.
fn wrapper_options(name: &str) -> Option<&'static str> {
    Some(match name {
        "sudo" | "doas" => "+ u: g: h: p: C: r: t: T: U: D: user: group: chdir:",
        "env" => "+ u: C: S: unset: chdir: split-string:",
        "xargs" => "+ I: n: P: L: d: a: s: E: max-args: max-procs: delimiter: arg-file:",
        "time" | "exec" => "+ a: f: o: format: output:",
        "timeout" | "nice" | "ionice" | "stdbuf" => "+ k: s: n: c: p: i: o: e: kill-after: signal: adjustment:",
        "nohup" | "command" | "builtin" | "setsid" | "chronic" | "unbuffer" => "+",
        _ => return None,
    })
}

/// The command behind `sudo`, `env`, `time`, `xargs` and their like.
fn unwrap(mut words: Vec<Value>) -> Vec<Value> {
    loop {
        let Some((program, arguments)) = words.split_first() else { return words };
        let name = program_name(program);
        let Some(specification) = wrapper_options(&name) else { return words };
        let options = Arguments::parse(arguments, specification);
        if name == "command" && options.has(&["v", "V"]) {
            return words;
        }
        let is_setting = |word: &&Value| matches!(name.as_str(), "env" | "sudo" | "doas") && word.prefix().contains('=');
        let skipped = if name == "timeout" { 1 } else { options.operands.iter().take_while(is_setting).count() };
        let mut inner: Vec<Value> = options.operands.iter().skip(skipped).cloned().collect();
        if inner.is_empty() {
            return words;
        }
        if name == "xargs" {
            // What comes in takes the place of a word, or follows the last.
            let place = options.values(&["I"]).next().map(Value::text_lossy).filter(|place| !place.is_empty());
            let given = Value::unknown("$(xargs)");
            match place {
                Some(place) => inner.iter_mut().filter(|word| word.text_lossy().contains(&place)).for_each(|word| *word = given.clone()),
                None => inner.push(given),
            }
        }
        words = inner;
    }
}

/// A program's name without its folder; empty where it is not known.
fn program_name(word: &Value) -> String {
    word.known().and_then(|path| path.rsplit('/').next().map(str::to_owned)).unwrap_or_else(|| match word.text_lossy().as_str() {
        test @ ("[" | "[[") => test.to_owned(),
        _ => String::new(),
    })
}

fn names_folder(target: &Value) -> bool {
    let text = target.text_lossy();
    matches!(target.0.as_slice(), [Piece::Place { .. }]) || text == "~" || matches!(text.rsplit('/').next(), Some("" | "." | ".."))
}

/// Whether a name ends as files do: `a.txt`, but not `.git`.
fn has_ending(name: &str) -> bool {
    name.rfind('.').is_some_and(|at| at > 0)
}
