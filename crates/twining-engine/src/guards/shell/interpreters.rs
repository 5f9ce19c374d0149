//! Programs that are given code: which files it writes, or that nobody can tell.

use crate::guards::shell::commands::{Doing, Surroundings};
use crate::guards::shell::tokens::{self, Language};
use crate::guards::shell::{Certainty, Target, Word, code, inline};

/// Modules that may be loaded before code is read, as options name them.
const LOADED: [&str; 9] = ["json", "set", "csv", "yaml", "time", "JSON::PP", "strict", "warnings", "Data::Dumper"];

impl Doing<'_> {
    pub(super) fn interpreter(&mut self, around: &Surroundings<'_>) {
        let mut given =
            self.value_of(&["-c", "-e", "-E", "-p", "-r", "--eval", "--print", "-pe", "-ne", "-i", "-pi", "-pie", "-0777", "-i -pe"]);
        given.extend(self.arguments.iter().filter(|word| word.gist().contains([' ', '('])).cloned());
        let mut code: String = given.iter().map(Word::gist).collect::<Vec<_>>().join("\n");
        code.extend(given.iter().flat_map(Word::sources));
        code.push_str(around.fed.unwrap_or_default());
        let told = code::squeezed(&code);
        if ["twininghook", "twiningmerge-driver"].iter().any(|call| told.contains(call)) {
            self.speaks();
        }
        // `python -m zipfile -e a.zip folder`: an archive, unpacked by its own module.
        if self.value_of(&["-m"]).iter().any(|module| matches!(module.gist().as_str(), "zipfile" | "tarfile" | "shutil")) {
            for operand in self.operands(&["-m"]) {
                self.write(Target::Tree(operand), Certainty::Certain, self.program);
            }
        }
        let in_place = matches!(self.program, "perl" | "ruby") && self.has_option('i', "--in-place");
        let is_inline = !code.is_empty();
        if is_inline && code::writes(&code) {
            let language = Language::of(self.program);
            match language.and_then(|language| inline::written(&self.plain_code(language, around)?, language)) {
                Some(files) => files.iter().for_each(|file| self.write(Target::Path(Word::text(file)), Certainty::Likely, self.program)),
                None => {
                    let code = language.map_or_else(|| code.clone(), |language| tokens::uncommented(&code, language));
                    let others = self.arguments.iter().filter(|word| !given.contains(word)).map(Word::gist);
                    let named = others.collect::<Vec<_>>().join("\n");
                    self.write(Target::Code(format!("{code}\n{named}")), Certainty::Likely, self.program);
                }
            }
        }
        // `echo CODE | python3`.
        let piped = around.piped.join(" ");
        if !is_inline && self.operands(&[]).iter().all(|word| word.gist() == "-") && code::writes(&piped) {
            self.write(Target::Code(piped), Certainty::Likely, self.program);
        }
        let certainty = if in_place { Certainty::Certain } else { Certainty::Possible };
        for operand in self.operands(&[]).into_iter().filter(|word| !word.gist().contains(' ')) {
            if in_place || !is_inline {
                self.write(Target::Path(operand), certainty, self.program);
            }
        }
    }

    pub(super) fn awk(&mut self) {
        let script = self.arguments.iter().map(Word::gist).collect::<Vec<_>>().join("\n");
        let is_inline = !self.has_option('f', "--file") && !self.has_option('i', "--include");
        let program = self.operands(&["-v", "-F"]).first().and_then(Word::known).filter(|_| is_inline);
        if script.contains('>') || script.contains("system") || program.as_ref().is_some_and(|program| program.contains('|')) {
            match program.and_then(|program| inline::written(&program, Language::Awk)) {
                Some(files) => files.iter().for_each(|file| self.write(Target::Path(Word::text(file)), Certainty::Likely, "awk")),
                None => self.write(Target::Code(script.clone()), Certainty::Likely, "awk"),
            }
        }
        if script.contains("inplace") {
            self.all_operands("awk -i inplace");
        }
    }

    /// The code that an interpreter is handed, and nothing else that it would run; none
    /// where that cannot be told from the line.
    fn plain_code(&self, language: Language, around: &Surroundings<'_>) -> Option<String> {
        let mut words = self.arguments.iter();
        while let Some(word) = words.next() {
            let option = word.known()?;
            let letters = option.strip_prefix('-').filter(|letters| !letters.is_empty() && !letters.starts_with('-'));
            let takes_code = match (language, letters) {
                (_, None) => matches!(option.as_str(), "--eval" | "--print"),
                (Language::Python, Some(letters)) => letters.ends_with('c'),
                (Language::Script, Some(letters)) => letters.ends_with(['e', 'p']),
                (_, Some(letters)) => letters.ends_with(['e', 'E']) && letters.len() <= 6,
            };
            let loads = letters.and_then(|letters| letters.strip_prefix(['r', 'M', 'm']));
            match loads {
                _ if takes_code => return words.next()?.known().filter(|code| !is_loading(code)),
                Some(module) if !LOADED.contains(&module) => return None,
                // Code that is read from the line's own document.
                None if option == "-" => break,
                None if letters.is_none() => return None,
                _ => {}
            }
        }
        // The shell may put something in before.
        let is_shells = |code: &str| matches!(language, Language::Ruby | Language::Perl) && code.contains('$');
        around.fed.map(str::to_owned).filter(|code| !is_shells(code) && !code.contains("$("))
    }
}

/// Whether code loads other code by its name.
fn is_loading(code: &str) -> bool {
    code.contains("require_relative") || code.contains("load ")
}
