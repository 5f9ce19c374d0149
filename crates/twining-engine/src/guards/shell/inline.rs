//! Which files code on a command line writes, where that is plain to see: it calls
//! nothing but what is known, and every call that writes names its file. Anything
//! else is in doubt, and then all that the code names may be written.

use crate::guards::shell::known_calls as known;
use crate::guards::shell::tokens::{self, Language, Token};

/// The files that code writes; none where nobody can tell.
pub(super) fn written(code: &str, language: Language) -> Option<Vec<String>> {
    let mut reading = Reading { tokens: tokens::read(code, language)?, language, targets: Vec::new() };
    let mut open = 0_usize;
    let mut at = 0;
    while let Some(token) = reading.tokens.get(at).cloned() {
        match token {
            Token::Name(name) => at = reading.name(at, &name)?,
            Token::Sign(sign) => {
                match sign {
                    '(' => open += 1,
                    ')' => open = open.saturating_sub(1),
                    _ => {}
                }
                reading.sign(at, sign, open)?;
            }
            _ => {}
        }
        at += 1;
    }
    Some(reading.targets)
}

struct Reading {
    tokens: Vec<Token>,
    language: Language,
    targets: Vec<String>,
}

impl Reading {
    fn is(&self, at: Option<usize>, sign: char) -> bool {
        at.and_then(|at| self.tokens.get(at)) == Some(&Token::Sign(sign))
    }

    fn name_at(&self, at: Option<usize>) -> &str {
        match at.and_then(|at| self.tokens.get(at)) {
            Some(Token::Name(name)) => name,
            _ => "",
        }
    }

    fn sign(&mut self, at: usize, sign: char, open: usize) -> Option<()> {
        let (before, after) = (at.checked_sub(1), Some(at + 1));
        match (sign, self.language) {
            // What is called came out of something.
            ('(', _) => {
                let last = before.and_then(|at| self.tokens.get(at));
                let is_made = matches!(last, Some(Token::Sign(')' | ']' | '}') | Token::Text(_) | Token::Made | Token::Plain));
                let is_handed = self.language == Language::Perl && self.is(before, '>');
                (!is_made && !is_handed).then_some(())
            }
            ('$', Language::Python | Language::Script) | ('@', Language::Awk | Language::Python) | ('%', Language::Ruby) => None,
            ('&', Language::Perl) => (self.is(before, '&') || self.is(after, '&')).then_some(()),
            ('|', Language::Awk) => (self.is(before, '|') || self.is(after, '|')).then_some(()),
            ('<', Language::Ruby) => (!self.is(after, '<')).then_some(()),
            ('>', Language::Awk) if open == 0 && !self.is(after, '>') && !self.is(after, '=') => match self.tokens.get(at + 1) {
                Some(Token::Plain) => Some(()),
                Some(Token::Text(file)) => {
                    let file = file.clone();
                    let ends = matches!(self.tokens.get(at + 2), None | Some(Token::Sign(';' | '}' | '\n')));
                    ends.then(|| self.targets.push(file))
                }
                _ => None,
            },
            _ => Some(()),
        }
    }

    /// Goes past a name, or doubts it.
    fn name(&mut self, at: usize, name: &str) -> Option<usize> {
        if name.starts_with("__") && name != "__name__" {
            return None;
        }
        match (self.language, name) {
            (Language::Python, "import" | "from") => return self.imports(at, name),
            (Language::Script, "require") => return self.requires(at).then_some(at),
            _ => {}
        }
        let (before, after) = (at.checked_sub(1), Some(at + 1));
        let is_member = self.is(before, '.');
        let is_call = self.is(after, '(');
        if is_call {
            return self.call(at, name, is_member).then_some(at);
        }
        let stands = match self.language {
            Language::Python | Language::Script | Language::Awk => {
                !known::is_dangerous(name) && name != "open" && !self.is_module(at, name)
            }
            Language::Ruby => self.ruby(at, name, is_member),
            Language::Perl => {
                name.starts_with(['$', '@'])
                    || known::PERL.contains(&name)
                    || (name.bytes().all(|byte| byte.is_ascii_uppercase()) && name != "CORE")
            }
        };
        stands.then_some(at)
    }

    /// Whether a module is used for more than what it is asked for by name.
    fn is_module(&self, at: usize, name: &str) -> bool {
        let is_one = match self.language {
            Language::Python => matches!(name, "os" | "sys" | "io" | "shutil" | "builtins" | "pathlib"),
            Language::Script => matches!(name, "fs" | "fsp" | "process" | "globalThis" | "module"),
            _ => false,
        };
        let is_declared = self.is(Some(at + 1), '=') && self.name_at(Some(at + 2)) == "require";
        is_one && !self.is(at.checked_sub(1), '.') && !self.is(Some(at + 1), '.') && !is_declared
    }

    fn ruby(&self, at: usize, name: &str, is_member: bool) -> bool {
        let is_symbol = self.is(at.checked_sub(1), ':') || (self.is(Some(at + 1), ':') && !self.is(Some(at + 2), ':'));
        let writes = is_member && matches!(name, "write" | "binwrite" | "open" | "new");
        match () {
            () if name.starts_with(['$', '@']) => true,
            // Without brackets nobody sees where its arguments end.
            () if writes => false,
            () if is_member => known::RUBY_METHODS.contains(&name),
            () if known::RUBY.contains(&name) => name != "File" || self.is(Some(at + 1), '.'),
            () => !known::is_dangerous(name) && (is_symbol || self.is_local(name)),
        }
    }

    /// Whether the code itself makes this variable.
    fn is_local(&self, name: &str) -> bool {
        self.tokens.iter().enumerate().filter(|(_, token)| matches!(token, Token::Name(found) if found == name)).any(|(at, _)| {
            let (before, after) = (at.checked_sub(1), Some(at + 1));
            let is_set = self.is(after, '=') && !self.is(Some(at + 2), '=') && !self.is(before, '.');
            let is_given = |sign: Option<usize>| self.is(sign, '|') || self.is(sign, ',');
            is_set || (is_given(before) && is_given(after))
        })
    }

    fn imports(&self, at: usize, word: &str) -> Option<usize> {
        let ends = |token: &Token| matches!(token, Token::Sign('\n' | ';'));
        let rest = self.tokens.get(at + 1..)?;
        let length = rest.iter().position(ends).unwrap_or(rest.len());
        let names: Vec<&str> = (at + 1..=at + length).map(|at| self.name_at(Some(at))).filter(|name| !name.is_empty()).collect();
        let is_plain = rest.iter().take(length).all(|token| matches!(token, Token::Name(_) | Token::Sign(',' | '.' | '(' | ')')));
        let modules: Vec<&str> = names.iter().copied().take_while(|name| *name != "import").collect();
        let modules = if word == "from" { modules.get(..1)? } else { modules.as_slice() };
        let is_known = modules.iter().all(|module| known::PYTHON_MODULES.contains(module));
        let given = names.iter().skip_while(|name| word == "from" && **name != "import");
        let is_safe = word == "import" || given.into_iter().all(|name| !known::is_dangerous(name) && *name != "open");
        // By another name a module is not seen again.
        (is_plain && is_known && is_safe && !names.contains(&"as")).then_some(at + length)
    }

    fn requires(&self, at: usize) -> bool {
        let Some(Token::Text(module)) = self.tokens.get(at + 2) else { return false };
        let is_closed = self.is(Some(at + 1), '(') && self.is(Some(at + 3), ')');
        let module = module.strip_prefix("node:").unwrap_or(module);
        if module.ends_with(".json") {
            return is_closed;
        }
        let before = at.checked_sub(1);
        let named = if self.is(before, '=') { self.name_at(at.checked_sub(2)) } else { "" };
        let is_used = self.is(Some(at + 4), '.') || ["fs", "fsp", "path", "os", "util"].contains(&named);
        is_closed && is_used && ["fs", "fs/promises", "path", "os", "util"].contains(&module)
    }

    fn call(&mut self, at: usize, name: &str, is_member: bool) -> bool {
        let arguments = self.arguments(at + 1);
        let receiver = if is_member { self.name_at(at.checked_sub(2)).to_owned() } else { String::new() };
        let written = match self.language {
            Language::Python => self.python_writes(at, name, &receiver, &arguments),
            Language::Script if is_member => of_script(name),
            Language::Ruby if matches!(receiver.as_str(), "File" | "IO") => match name {
                "write" | "binwrite" => Some(Takes::Those(vec![0])),
                "open" => opens(&arguments, 1),
                _ => None,
            },
            Language::Perl if name == "open" => match arguments.get(1).map(Vec::as_slice) {
                Some([Token::Text(mode)]) if mode.starts_with('<') && arguments.len() > 2 => Some(Takes::Those(Vec::new())),
                Some([Token::Text(mode)]) if mode.starts_with('>') && arguments.len() > 2 => Some(Takes::Those(vec![2])),
                _ => Some(Takes::Unknown),
            },
            _ => None,
        };
        match written {
            Some(Takes::Unknown) => false,
            Some(Takes::Files(files)) => {
                self.targets.extend(files);
                true
            }
            Some(Takes::Those(places)) => places.into_iter().all(|place| {
                let files = arguments.get(place).and_then(|argument| self.value(argument));
                files.map(|files| self.targets.extend(files)).is_some()
            }),
            None => self.is_harmless(name, &receiver, is_member, arguments.len()),
        }
    }

    fn is_harmless(&self, name: &str, receiver: &str, is_member: bool, many: usize) -> bool {
        let defined = || {
            let is_made = |at: usize| matches!(self.name_at(at.checked_sub(1)), "def" | "function");
            let all = || self.tokens.iter().enumerate().filter(|(_, token)| matches!(token, Token::Name(found) if found == name));
            all().any(|(at, _)| is_made(at)) && all().all(|(at, _)| self.is(Some(at + 1), '('))
        };
        let (functions, methods): (&[&str], &[&str]) = match self.language {
            Language::Python => (&known::PYTHON, &known::PYTHON_METHODS),
            Language::Script => (&known::SCRIPT, &known::SCRIPT_METHODS),
            Language::Ruby => (&known::RUBY, &known::RUBY_METHODS),
            Language::Perl => (&known::PERL, &[]),
            Language::Awk => (&known::AWK, &[]),
        };
        // A known name that was given to something else is not known.
        let is_rebound = || {
            let is_one = |at: usize| self.name_at(Some(at)) == name && self.is(Some(at + 1), '=') && !self.is(Some(at + 2), '=');
            (0..self.tokens.len()).any(is_one)
        };
        match (is_member, name) {
            (true, "replace") if self.language == Language::Python => many == 2 && receiver != "os",
            (true, _) => methods.contains(&name) && !is_rebound(),
            (false, _) => (functions.contains(&name) && !is_rebound()) || defined(),
        }
    }

    fn python_writes(&self, at: usize, name: &str, receiver: &str, arguments: &[Vec<Token>]) -> Option<Takes> {
        match (receiver, name) {
            ("", "open") if !self.is(at.checked_sub(1), '.') => opens(arguments, 1),
            (_, "open") => Some(Takes::Unknown),
            ("os", "remove" | "unlink" | "mkdir" | "makedirs" | "rmdir" | "truncate") | ("shutil", "rmtree") => Some(Takes::Those(vec![0])),
            ("os", "rename" | "replace" | "renames" | "link" | "symlink") | ("shutil", "move") => Some(Takes::Those(vec![0, 1])),
            ("shutil", "copy" | "copy2" | "copyfile") => {
                let (from, to) = (self.value(arguments.first()?), self.value(arguments.get(1)?));
                // Into a folder it goes by its own name.
                Some(match (from, to) {
                    (Some(from), Some(to)) => {
                        let name = |from: &String| from.rsplit('/').next().unwrap_or_default().to_owned();
                        let inside = to.iter().flat_map(|to| from.iter().map(move |from| format!("{to}/{}", name(from))));
                        Takes::Files(inside.chain(to.iter().cloned()).collect())
                    }
                    _ => Takes::Unknown,
                })
            }
            ("os" | "shutil", name) if known::is_dangerous(name) => Some(Takes::Unknown),
            (_, "write_text" | "write_bytes" | "touch" | "mkdir" | "unlink") => {
                Some(self.path_before(at).map_or(Takes::Unknown, Takes::Files))
            }
            _ => None,
        }
    }

    /// The file that a method is called of: `Path('x').`, `path.`.
    fn path_before(&self, at: usize) -> Option<Vec<String>> {
        let last = at.checked_sub(2)?;
        if self.is(Some(last), ')') {
            let text = last.checked_sub(3).filter(|from| self.name_at(Some(*from)) == "Path")?;
            return self.value(self.tokens.get(text..=last)?);
        }
        self.value(self.tokens.get(last..=last).filter(|_| !self.is(last.checked_sub(1), '.'))?)
    }

    /// The arguments of a call whose bracket opens here.
    fn arguments(&self, opens: usize) -> Vec<Vec<Token>> {
        let (mut arguments, mut depth) = (vec![Vec::new()], 0_usize);
        for token in self.tokens.iter().skip(opens) {
            match token {
                Token::Sign('(' | '[' | '{') => depth += 1,
                Token::Sign(')' | ']' | '}') => depth = depth.saturating_sub(1),
                _ => {}
            }
            match token {
                _ if depth == 0 => break,
                Token::Sign(',') if depth == 1 => arguments.push(Vec::new()),
                Token::Sign('\n') => {}
                Token::Sign('(') if depth == 1 && arguments.len() == 1 && arguments[0].is_empty() => {}
                token => arguments.last_mut().into_iter().for_each(|last| last.push(token.clone())),
            }
        }
        arguments.retain(|argument| !argument.is_empty());
        arguments
    }

    /// The texts that an expression may be; none where it is put together.
    fn value(&self, expression: &[Token]) -> Option<Vec<String>> {
        // What the shell puts in before the code is read is not seen here.
        let plain = |text: &String| !text.contains(['$', '`']);
        match expression {
            [Token::Text(text)] => plain(text).then(|| vec![text.clone()]),
            [Token::Name(path), Token::Sign('('), Token::Text(text), Token::Sign(')')] if path == "Path" => {
                plain(text).then(|| vec![text.clone()])
            }
            [Token::Name(name)] => self.resolved(name),
            _ => None,
        }
    }

    /// The texts that a variable is ever given, if it is given nothing else.
    fn resolved(&self, name: &str) -> Option<Vec<String>> {
        let mut values = Vec::new();
        let mut depth = 0_usize;
        for (at, token) in self.tokens.iter().enumerate() {
            match token {
                Token::Sign('(' | '[' | '{') => depth += 1,
                Token::Sign(')' | ']' | '}') => depth = depth.saturating_sub(1),
                Token::Name(found) if found == name => {
                    let (before, after) = (at.checked_sub(1), Some(at + 1));
                    let next = self.tokens.get(at + 2);
                    let is_bound = matches!(self.name_at(before), "for" | "as" | "lambda" | "function" | "global" | "nonlocal" | "def")
                        || matches!(self.name_at(after), "in" | "of")
                        || self.is(before, '|')
                        || (depth == 0 && (self.is(before, ',') || self.is(after, ',')))
                        || (self.is(after, '=') && next == Some(&Token::Sign('>')));
                    // `+=`, `:=` and their like.
                    let is_changed =
                        matches!(self.tokens.get(at + 1), Some(Token::Sign('+' | '-' | '*' | '/' | '%' | '|' | '&' | ':' | '.')))
                            && next == Some(&Token::Sign('='));
                    if is_bound || is_changed || self.is_parameter(at) {
                        return None;
                    }
                    if self.is(after, '=') && next != Some(&Token::Sign('=')) {
                        values.push(self.given(at + 2)?);
                    }
                }
                _ => {}
            }
        }
        (!values.is_empty()).then_some(values)
    }

    /// Whether a name stands between the brackets of a function that is being made.
    fn is_parameter(&self, at: usize) -> bool {
        let opens = (0..at).rev().find(|at| matches!(self.tokens.get(*at), Some(Token::Sign('(' | ')'))));
        let Some(opens) = opens.filter(|opens| self.is(Some(*opens), '(')) else { return false };
        let closes = (at..self.tokens.len()).find(|at| self.is(Some(*at), ')')).unwrap_or(at);
        let is_made = |back: usize| matches!(self.name_at(opens.checked_sub(back)), "def" | "function");
        is_made(1) || is_made(2) || (self.is(Some(closes + 1), '=') && self.is(Some(closes + 2), '>'))
    }

    /// The text that an assignment gives, if it is one and no more.
    fn given(&self, at: usize) -> Option<String> {
        let from = if self.name_at(Some(at)) == "pathlib" && self.is(Some(at + 1), '.') { at + 2 } else { at };
        let length = if self.name_at(Some(from)) == "Path" { 4 } else { 1 };
        let ends = matches!(self.tokens.get(from + length), None | Some(Token::Sign('\n' | ';' | '}')));
        let value = match self.tokens.get(from..from + length).filter(|_| ends)? {
            [Token::Name(_)] => None,
            expression => self.value(expression),
        };
        value?.into_iter().next()
    }
}

/// Where the files of a call stand that writes.
enum Takes {
    /// These of its arguments.
    Those(Vec<usize>),
    /// These files.
    Files(Vec<String>),
    /// Nobody can tell.
    Unknown,
}

/// `open`: whether it writes is said by its mode.
fn opens(arguments: &[Vec<Token>], at: usize) -> Option<Takes> {
    let named = arguments.iter().find_map(|argument| match argument.as_slice() {
        [Token::Name(name), Token::Sign('='), value] if name == "mode" => Some(value.clone()),
        _ => None,
    });
    let is_keyword = |argument: &&Vec<Token>| argument.len() > 1 && argument.get(1) == Some(&Token::Sign('='));
    let mode = match (named, arguments.get(at).filter(|argument| !is_keyword(argument)).map(Vec::as_slice)) {
        (Some(mode), _) => mode,
        (None, None) => return Some(Takes::Those(Vec::new())),
        (None, Some([mode])) => mode.clone(),
        (None, Some(_)) => return Some(Takes::Unknown),
    };
    let starred = arguments.iter().any(|argument| {
        argument.first() == Some(&Token::Sign('*')) || argument.iter().any(|token| *token == Token::Name("opener".to_owned()))
    });
    Some(match mode {
        _ if starred => Takes::Unknown,
        Token::Text(mode) if mode.contains(['w', 'a', 'x', '+']) => Takes::Those(vec![0]),
        Token::Text(_) => Takes::Those(Vec::new()),
        _ => Takes::Unknown,
    })
}

fn of_script(name: &str) -> Option<Takes> {
    let name = name.strip_suffix("Sync").unwrap_or(name);
    Some(match name {
        "writeFile" | "appendFile" | "writeTextFile" | "mkdir" | "rm" | "unlink" | "rmdir" | "truncate" | "createWriteStream" => {
            Takes::Those(vec![0])
        }
        "rename" => Takes::Those(vec![0, 1]),
        "copyFile" => Takes::Those(vec![1]),
        name if known::is_dangerous(name) && name != "write" => Takes::Unknown,
        _ => return None,
    })
}
