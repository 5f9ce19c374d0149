//! What each program does with its arguments, as far as files are concerned.

use crate::guards::shell::handed;
use crate::guards::shell::lists::{CMDLETS, EDITORS, INTERPRETERS, READERS, SHELLS, WRAPPERS};
use crate::guards::shell::tree::{self, made_of};
use crate::guards::shell::{Certainty, Effects, Piece, ShellWrite, Stood, Target, Unreadable, Word, code, spared, word};

/// Makes a file where there is none, and leaves what stands in one.
pub(crate) const TOUCH: &str = "touch";

/// What a command gets besides its arguments.
pub(super) struct Surroundings<'a> {
    /// A here-document or here-string.
    pub(super) fed: Option<&'a str>,
    /// Words of the commands piped into it.
    pub(super) piped: &'a [String],
    /// The file it reads from.
    pub(super) from: Option<&'a Word>,
}

/// Adds what a command does.
pub(super) fn run(mut words: Vec<Word>, around: &Surroundings<'_>, effects: &mut Effects, nested: usize) -> Result<(), Unreadable> {
    effects.steps.take(words.len())?;
    let mut by_xargs = false;
    let mut from = 0;
    while let Some(wrapper) = words.get(from).map(name_of).and_then(|name| WRAPPERS.iter().find(|(known, _)| *known == name)) {
        by_xargs |= wrapper.0 == "xargs";
        from += 1;
        let mut own = wrapper.1;
        while let Some(word) = words.get(from).map(Word::gist) {
            if wrapper.0 == "env" {
                if let Some((line, more)) = handed::split_by_env(words.get(from..).unwrap_or_default()) {
                    return handed::with_more(&line, more, effects, nested);
                }
                let set = words.get(from).and_then(|word| {
                    word.gist().split_once('=').and_then(|(name, _)| Some((name.to_owned(), word.after(&format!("{name}="))?)))
                });
                if let Some((_, value)) = set.filter(|(name, _)| handed::is_run(name)) {
                    handed::in_variable(&value, effects, nested)?;
                }
            }
            if wrapper.0 == "env" && matches!(word.as_str(), "-C" | "--chdir") {
                effects.stands_in_too(words.get(from + 1));
                from += 2;
                continue;
            }
            if let Some(folder) = words.get(from).filter(|_| wrapper.0 == "env").and_then(|word| word.after("--chdir=")) {
                effects.stands_in_too(Some(&folder));
            }
            if wrapper.0 == "flock" && matches!(word.as_str(), "-c" | "--command") {
                let line = words.get(from + 1).cloned().unwrap_or_default();
                return handed::with_more(&line, &[], effects, nested);
            }
            // An option's value cannot be told from the program without a table
            // of options; `-n 1` and `-I {}` are the ones in use.
            if word.starts_with('-') {
                let whole = words.get(from).and_then(Word::known).unwrap_or_default();
                let valued = matches!(whole.as_str(), "-n" | "-I" | "-u" | "-P" | "-L" | "-d" | "-k" | "-s");
                from += if valued && words.len() > from + 2 { 2 } else { 1 };
            } else if word.contains('=') && wrapper.0 == "env" {
                from += 1;
            } else if own > 0 {
                own -= 1;
                from += 1;
            } else {
                break;
            }
        }
    }
    words.drain(..from.min(words.len()));
    if by_xargs {
        let fed = around.fed.unwrap_or_default().split_whitespace().map(str::to_owned);
        let given = word::told(around.piped.iter().cloned().chain(fed).take(2 * word::MOST_LITERALS).collect());
        fill_in(&mut words, &given);
    }
    let Some(program) = words.first().map(name_of) else { return Ok(()) };
    if let Some(line) = effects.aliases.remove(&program) {
        let stands_for = line.split_whitespace().map(Word::text).chain(words.get(1..).unwrap_or_default().iter().cloned()).collect();
        let read = run(stands_for, around, effects, nested);
        effects.aliases.insert(program, line);
        return read;
    }
    let is_guessed = words.first().is_some_and(|word| word.known().is_none()) || effects.defines.contains(&program);
    let arguments = words.get(1..).unwrap_or_default().to_vec();
    effects.texts.extend(text_of(&program, &arguments, around));
    let carried: Vec<String> = words.iter().flat_map(|word| word.known().into_iter().chain(word.sources().map(str::to_owned))).collect();
    let words_of = carried.as_slice();
    effects.runs.push(words);
    let mut doing = Doing { program: &program, arguments: &arguments, effects };
    match program.as_str() {
        "alias" => {
            for (name, line) in
                arguments.iter().map(Word::gist).filter_map(|word| word.split_once('=').map(|(a, b)| (a.to_owned(), b.to_owned())))
            {
                tree::read(&line, doing.effects, &[], nested + 1)?;
                // One that is made twice may be either.
                let is_new = doing.effects.defines.insert(name.clone());
                if is_new && !line.trim().is_empty() && !line.contains(|c: char| ";|&<>$()'\"`\\*?{[".contains(c)) {
                    doing.effects.aliases.insert(name, line);
                } else {
                    doing.effects.aliases.remove(&name);
                }
            }
        }
        "trap" => {
            let line = arguments.first().map(Word::gist).unwrap_or_default();
            return tree::read(&line, effects, &[], nested + 1);
        }
        "source" | "." => return doing.sourced(around, nested),
        "cd" | "pushd" => doing.effects.enters.extend(doing.operands(&[]).into_iter().next()),
        name if SHELLS.contains(&name) => return doing.shell(around, nested),
        "eval" => {
            let line = arguments.iter().map(Word::gist).collect::<Vec<_>>().join(" ");
            arguments.iter().for_each(|word| doing.made_up(word));
            return tree::read(&line, effects, &[], nested + 1);
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
        TOUCH => doing.all_operands(TOUCH),
        "truncate" => doing.all_operands("truncate"),
        "curl" | "wget" | "sort" | "openssl" | "gcc" | "cc" | "pandoc" => doing.outputs(),
        "tar" | "bsdtar" | "unzip" | "cpio" | "7z" | "bsdcpio" => doing.unpacks(),
        "uniq" => {
            for out in doing.operands(&["-f", "-s", "-w"]).into_iter().skip(1) {
                doing.write(Target::Path(out), Certainty::Certain, "uniq");
            }
        }
        "chmod" | "chown" | "chgrp" | "chattr" | "setfacl" => doing.closes(),
        "twining" => doing.twining(),
        "sqlite3" => doing.sqlite(),
        "split" | "csplit" => doing.splits(),
        "yq" => {
            if doing.has_option('i', "--inplace") || doing.has_option('i', "--in-place") {
                doing.all_operands("yq -i");
            }
        }
        "git" => return doing.git_with_settings(around, nested),
        "patch" => doing.patches(around),
        "find" | "fd" => return doing.find(around, nested),
        "script" => {
            doing.carried(words_of);
            let line = doing.value_of(&["-c", "-qc", "-qec", "-ec", "--command"]).into_iter().next();
            for operand in doing.operands(&["-c", "-qc", "-qec", "-ec", "--command"]) {
                doing.write(Target::Path(operand), Certainty::Possible, "script");
            }
            if let Some(line) = line {
                return handed::with_more(&line, &[], effects, nested);
            }
        }
        // Opened to be looked at, and given nothing to do.
        "vi" | "vim" | "nvim" | "view"
            if (program == "view" || doing.has_option('R', "-R"))
                && !arguments.iter().map(Word::gist).any(|word| {
                    word.starts_with("-c")
                        || word.starts_with("--cmd")
                        || word.starts_with(['+'])
                        || word.starts_with("-S")
                        || word.starts_with("-s")
                }) => {}
        name if EDITORS.contains(&name) => {
            doing.all_operands(name);
            if let Some(fed) = around.fed {
                doing.write(Target::Code(fed.to_owned()), Certainty::Likely, name);
            }
        }
        "at" | "batch" => return doing.fed(around, nested),
        "mount" => doing.all_operands("mount"),
        name if CMDLETS.contains(&name.to_lowercase().as_str()) => doing.all_operands(name),
        name if READERS.contains(&name) => {}
        name => {
            doing.carried(words_of);
            // A name made up on the line hides what it does.
            let certainty = if is_guessed { Certainty::Likely } else { Certainty::Possible };
            for operand in doing.operands(&[]) {
                doing.write(Target::Path(operand), certainty, name);
            }
        }
    }
    Ok(())
}

/// Puts what `xargs` is given where `{}` stands, else at the end.
fn fill_in(words: &mut Vec<Word>, given: &[String]) {
    let stands = |word: &Word| word.gist().is_empty() || word.gist().contains("{}") || word.sources().any(str::is_empty);
    let mut is_filled = false;
    for word in words.iter_mut().skip(1).filter(|word| stands(word)) {
        is_filled = true;
        let known = word.gist().replace("{}", "");
        // `{}` alone is any of them, and `dir/{}` any of them in there.
        let whole = given.iter().map(|given| format!("{known}{given}"));
        *word = made_of(&word::told(given.iter().cloned().chain(whole).collect()));
    }
    if !is_filled {
        words.push(made_of(given));
    }
}

/// What a command prints, passes on or puts into a file, as far as the line says it.
fn text_of(program: &str, arguments: &[Word], around: &Surroundings<'_>) -> Option<String> {
    let words = || arguments.iter().map(Word::gist);
    match program {
        "echo" | "printf" => Some(words().collect::<Vec<_>>().join(" ").replace("\\n", "\n")),
        "cat" | "tee" => around.fed.map(str::to_owned),
        // Of `s/old/new/` only the new comes in.
        "sed" | "gsed" => Some(words().map(|word| substitute(&word).unwrap_or(word)).collect::<Vec<_>>().join("\n")),
        _ => None,
    }
}

fn substitute(script: &str) -> Option<String> {
    let rest = script.strip_prefix('s')?;
    let sign = rest.chars().next().filter(|sign| !sign.is_alphanumeric())?;
    rest.split(sign).nth(2).map(str::to_owned)
}

/// A program's name without its folder.
pub(super) fn name_of(word: &Word) -> String {
    let gist = word.gist();
    gist.rsplit('/').next().unwrap_or(&gist).to_owned()
}

/// Whether two names are of files of one kind, so that neither is a folder for the other.
fn is_like(one: &str, other: &str) -> bool {
    let kind = |name: &str| {
        name.rsplit('/').next().and_then(|name| name.rsplit_once('.')).filter(|(name, _)| !name.is_empty()).map(|(_, kind)| kind.to_owned())
    };
    kind(one).is_some() && kind(one) == kind(other)
}

fn is_stdin(name: &str) -> bool {
    matches!(name, "/dev/stdin" | "/dev/fd/0" | "/proc/self/fd/0" | "-")
}

pub(super) struct Doing<'a> {
    pub(super) program: &'a str,
    pub(super) arguments: &'a [Word],
    pub(super) effects: &'a mut Effects,
}

impl Doing<'_> {
    pub(super) fn write(&mut self, target: Target, certainty: Certainty, by: &str) {
        self.effects.writes.push(ShellWrite { target, certainty, by: by.to_owned(), content: None, stood: Stood::Untold });
    }

    /// A folder that this one command takes for its own.
    pub(super) fn stands_in_too(&mut self, folder: Option<&Word>) {
        self.effects.stands_in_too(folder);
    }

    /// Arguments that are no options; `valued` options take the next word too.
    pub(super) fn operands(&self, valued: &[&str]) -> Vec<Word> {
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

    pub(super) fn has_option(&self, short: char, long: &str) -> bool {
        self.arguments
            .iter()
            .map(Word::gist)
            .take_while(|word| word != "--")
            .any(|word| word.starts_with(long) || (word.starts_with('-') && !word.starts_with("--") && word.contains(short)))
    }

    pub(super) fn value_of(&self, options: &[&str]) -> Vec<Word> {
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

    pub(super) fn all_operands(&mut self, by: &str) {
        let valued: &[&str] = match self.program {
            "truncate" => &["-s", "-r"],
            TOUCH => &["-t", "-d", "-r", "--date", "--reference"],
            _ => &[],
        };
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
        let mut paths = self.value_of(&["-o", "-O", "--output", "--output-document", "-out"]);
        // `-sLo file`: the last letter of several takes the word.
        for (at, gist) in self.arguments.iter().map(Word::gist).enumerate() {
            let cluster = gist.strip_prefix('-').filter(|letters| letters.len() > 1 && letters.chars().all(|c| c.is_ascii_alphabetic()));
            if cluster.is_some_and(|letters| letters.ends_with(['o', 'O'])) {
                paths.extend(self.arguments.get(at + 1).cloned());
            }
        }
        for path in paths {
            self.write(Target::Path(path), Certainty::Certain, self.program);
        }
    }

    /// Where an archive is unpacked to; what is in it nobody sees before.
    fn unpacks(&mut self) {
        let first = self.arguments.first().map(Word::gist).unwrap_or_default();
        let extracts = match self.program {
            "tar" | "bsdtar" => {
                (!first.starts_with("--") && first.contains('x')) || self.has_option('x', "--extract") || self.has_option('x', "--get")
            }
            _ => true,
        };
        for folder in self.value_of(&["-C", "--directory", "-d", "-D", "-o"]).into_iter().filter(|_| extracts) {
            self.write(Target::Tree(folder), Certainty::Certain, self.program);
        }
    }

    fn sqlite(&mut self) {
        const CHANGES: [&str; 13] = [
            "insert", "update", "delete", "drop", "alter", "create", "replace", "vacuum", "attach", "pragma", ".restore", ".import",
            ".read",
        ];
        let operands = self.operands(&["-cmd", "-init", "-separator"]);
        let told = self.arguments.iter().map(Word::gist).collect::<Vec<_>>().join(" ").to_lowercase();
        if operands.len() < 2 || CHANGES.iter().any(|word| told.contains(word)) {
            for database in operands.into_iter().take(1) {
                self.write(Target::Path(database), Certainty::Certain, self.program);
            }
        }
    }

    /// Files that are named by their beginning.
    fn splits(&mut self) {
        let mut begins = self.value_of(&["-f", "--prefix"]);
        if self.program == "split" {
            begins.extend(self.operands(&["-b", "-l", "-n", "-a", "-C"]).into_iter().skip(1));
        }
        for mut begins in begins {
            begins.0.push(Piece::Hole(Vec::new()));
            self.write(Target::Path(begins), Certainty::Certain, self.program);
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
            if let Some(target) = target.as_ref().filter(|target| !is_like(&target.gist(), &base)) {
                let mut inside = target.clone();
                inside.0.push(Piece::Text(format!("/{base}")));
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

    fn shell(mut self, around: &Surroundings<'_>, nested: usize) -> Result<(), Unreadable> {
        let mut words = self.arguments.iter();
        while let Some(word) = words.next() {
            let gist = word.gist();
            if gist.starts_with('-') && !gist.starts_with("--") && gist.contains('c') {
                let Some(line) = words.next() else { return Ok(()) };
                self.made_up(line);
                let given: Vec<Word> = words.cloned().collect();
                return tree::read(&line.gist(), self.effects, &given, nested + 1);
            }
            if !gist.starts_with('-') && !is_stdin(&gist) {
                return self.printed(word.sources(), nested);
            }
        }
        self.fed(around, nested)
    }

    fn sourced(mut self, around: &Surroundings<'_>, nested: usize) -> Result<(), Unreadable> {
        match self.arguments.first() {
            Some(file) if is_stdin(&file.gist()) => self.fed(around, nested),
            Some(file) => self.printed(file.sources(), nested),
            None => Ok(()),
        }
    }

    /// Lines that come in through a here-document or a pipe.
    fn fed(&mut self, around: &Surroundings<'_>, nested: usize) -> Result<(), Unreadable> {
        match around.fed {
            Some(line) => tree::read(line, self.effects, &[], nested + 1),
            None => self.printed(around.piped.iter().map(String::as_str), nested),
        }
    }

    /// `echo '..' | sh`: the words that are printed are read as lines.
    fn printed<'w>(&mut self, words: impl Iterator<Item = &'w str>, nested: usize) -> Result<(), Unreadable> {
        let words: Vec<&str> = words.collect();
        let whole = words.join(" ");
        // `printf 'echo > %s' file | sh`: put together only when it is printed.
        if code::writes(&whole) {
            self.write(Target::Code(whole), Certainty::Likely, self.program);
        }
        let decoded: Vec<String> =
            if words.contains(&"base64") { words.iter().filter_map(|word| code::from_base64(word)).collect() } else { Vec::new() };
        for line in &decoded {
            tree::read(line, self.effects, &[], nested + 1)?;
        }
        let lines = words.into_iter().filter(|line| line.contains(char::is_whitespace));
        lines.into_iter().try_for_each(|line| tree::read(line, self.effects, &[], nested + 1))
    }

    /// A line that is put together from what other commands print.
    fn made_up(&mut self, line: &Word) {
        let sources: Vec<&str> = line.sources().collect();
        let whole = format!("{} {}", line.gist(), sources.join(" "));
        if !sources.is_empty() && code::writes(&whole) {
            self.write(Target::Code(whole), Certainty::Likely, self.program);
        }
    }

    fn find(self, around: &Surroundings<'_>, nested: usize) -> Result<(), Unreadable> {
        let words: Vec<String> = self.arguments.iter().map(Word::gist).collect();
        let whole: Vec<String> = std::iter::once(self.program.to_owned()).chain(words.iter().cloned()).collect();
        let left_out = spared::words(&whole);
        let is_sought = |(at, _): &(usize, &String)| !left_out.contains(&(at + 1));
        let sought = words
            .iter()
            .take_while(|word| !word.starts_with("-exec") && *word != "-ok")
            .enumerate()
            .filter(is_sought)
            .map(|(_, word)| word);
        let mut found: Vec<String> = sought.flat_map(|word| [word.clone(), word.replace('*', "")]).collect();
        found
            .extend(left_out.iter().filter_map(|at| whole.get(*at)).any(|word| spared::is_memory(word)).then(|| spared::SPARED.to_owned()));
        let is_deleting = words.iter().any(|word| word == "-delete");
        // With nothing asked of them but their kind, all there are go.
        let roots = words.iter().take_while(|word| !word.starts_with(['-', '(', '!'])).count();
        let mut asked = words.iter().skip(roots);
        let takes_all = std::iter::from_fn(|| asked.next())
            .all(|word| matches!(word.as_str(), "-delete" | "-depth" | "-print" | "-type" | "f" | "-mindepth" | "1" | "-xdev" | "-mount"));
        if is_deleting && takes_all {
            for root in self.arguments.iter().take(roots) {
                self.effects.writes.push(ShellWrite {
                    target: Target::Tree(root.clone()),
                    certainty: Certainty::Certain,
                    by: "find -delete".to_owned(),
                    content: None,
                    stood: Stood::Untold,
                });
            }
        }
        if is_deleting {
            self.effects.writes.push(ShellWrite {
                target: Target::Path(made_of(&found)),
                certainty: Certainty::Likely,
                by: "find -delete".to_owned(),
                content: None,
                stood: Stood::Untold,
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
