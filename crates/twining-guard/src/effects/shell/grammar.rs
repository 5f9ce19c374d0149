//! The grammar of bash: lists, pipelines, compound commands, redirections.
//!
//! A line is followed while it is parsed, from left to right, and nothing is run. Only a
//! loop over a literal list goes back, so the time grows with the text that is followed.
//! What takes a token also takes the spaces after it.

use crate::effects::shell::interpreter::{
    CommandOutput, Interpreter, MAX_DEPTH, MAX_STEPS, ShellError, ShellState, WordTarget,
};
use crate::effects::shell::words::{ShellWord, WordPart, is_name_byte};

/// Most items of a loop that are followed one by one.
const MAX_ITEMS: usize = 64;
/// Redirection operators, the longer before its beginning.
const OPERATORS: [&str; 12] =
    ["<<<", "<<-", "<<", "<&", "<>", "<", ">>", ">|", ">&", ">", "&>>", "&>"];
/// Words that end a list where a command would begin.
const CLOSING: [&str; 8] = ["then", "do", "done", "fi", "else", "elif", "esac", "}"];

/// A text and how far it is parsed.
pub(super) struct ShellParser<'t, 's> {
    pub(super) text: &'t str,
    pub(super) at: usize,
    pub(super) shell: &'s mut Interpreter,
    /// The end of a line with here-documents, and where they end.
    heredocs: Option<(usize, usize)>,
}

/// Where a command's input comes from, and the files its output goes to: each with the
/// operator, and with whether standard output is meant.
struct Redirects {
    input: Option<CommandOutput>,
    files: Vec<(WordTarget, &'static str, bool)>,
}

/// Follows a text that is a whole list.
pub(super) fn run(text: &str, shell: &mut Interpreter) -> Result<CommandOutput, ShellError> {
    let mut parser = ShellParser::new(text, shell);
    let output = parser.list()?;
    if parser.at == text.len() { Ok(output) } else { Err(ShellError::NotBash) }
}

impl<'t, 's> ShellParser<'t, 's> {
    pub(super) fn new(text: &'t str, shell: &'s mut Interpreter) -> Self {
        Self { text, at: 0, shell, heredocs: None }
    }

    pub(super) fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    pub(super) fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    pub(super) fn is_at(&self, sign: &str) -> bool {
        self.rest().starts_with(sign)
    }

    /// Takes a sign and nothing after it.
    pub(super) fn eat(&mut self, sign: &str) -> bool {
        let is_there = self.is_at(sign);
        self.at += if is_there { sign.len() } else { 0 };
        is_there
    }

    pub(super) fn expect(&mut self, sign: &str) -> Result<(), ShellError> {
        if self.eat(sign) { Ok(()) } else { Err(ShellError::NotBash) }
    }

    /// Takes the bytes from here on that fulfil a condition.
    pub(super) fn eat_while(&mut self, mut is_part: impl FnMut(u8) -> bool) -> &'t str {
        let rest = self.rest();
        let length = rest.bytes().position(|byte| !is_part(byte)).unwrap_or(rest.len());
        self.at += length;
        rest.get(..length).unwrap_or_default()
    }

    pub(super) fn skip_spaces(&mut self) {
        loop {
            self.eat_while(|byte| matches!(byte, b' ' | b'\t' | b'\r'));
            if self.is_at("#") {
                self.eat_while(|byte| byte != b'\n');
            }
            if !self.eat("\\\n") {
                return;
            }
        }
    }

    fn skip_lines(&mut self) {
        self.skip_spaces();
        while self.is_at("\n") {
            let heredocs = self.heredocs.take_if(|(line_end, _)| *line_end == self.at);
            self.at = heredocs.map_or(self.at + 1, |(_, end)| end);
            self.skip_spaces();
        }
    }

    fn eat_operator(&mut self, operator: &str) -> bool {
        self.eat(operator) && {
            self.skip_spaces();
            true
        }
    }

    /// The word here if it may be a keyword: no quotes, no expansion.
    pub(super) fn keyword(&self) -> &'t str {
        let rest = self.rest();
        let length = rest
            .bytes()
            .take(10)
            .position(|byte| b" \t\r\n;&|()<>".contains(&byte))
            .unwrap_or(rest.len().min(10));
        rest.get(..length).unwrap_or_default()
    }

    fn eat_keyword(&mut self, keyword: &str) -> bool {
        self.keyword() == keyword && self.eat_operator(keyword)
    }

    fn expect_keyword(&mut self, keyword: &str) -> Result<(), ShellError> {
        self.skip_lines();
        if self.eat_keyword(keyword) { Ok(()) } else { Err(ShellError::NotBash) }
    }

    fn is_at_list_end(&self) -> bool {
        matches!(self.peek(), None | Some(b')'))
            || self.is_at(";;")
            || self.is_at(";&")
            || CLOSING.contains(&self.keyword())
    }

    fn list(&mut self) -> Result<CommandOutput, ShellError> {
        let mut output = CommandOutput::default();
        loop {
            self.skip_lines();
            if self.is_at_list_end() {
                return Ok(output);
            }
            let start = self.shell.state.clone();
            let printed = self.pipeline()?;
            output.text.push_str(&printed.text);
            output.is_partial |= printed.is_partial;
            while self.eat("||") {
                // It runs where the first could not: `cd x || exit`.
                let after = std::mem::replace(&mut self.shell.state, start.clone());
                self.skip_lines();
                self.pipeline()?;
                output.is_partial = true;
                let other = std::mem::replace(&mut self.shell.state, after);
                if other != start {
                    self.shell.state.merge(&other);
                }
            }
            if !(self.is_at_list_end()
                || self.is_at("\n")
                || self.eat("&&")
                || self.eat(";")
                || self.eat("&"))
            {
                return Err(ShellError::NotBash);
            }
        }
    }

    /// A list up to the keyword after it.
    fn body(&mut self, end: &str) -> Result<CommandOutput, ShellError> {
        let output = self.list()?;
        self.expect_keyword(end)?;
        Ok(output)
    }

    /// A list that may be left out; the state after it is kept apart.
    fn branch(&mut self, ends: &mut Vec<ShellState>) -> Result<(), ShellError> {
        let start = self.shell.state.clone();
        self.list()?;
        ends.push(std::mem::replace(&mut self.shell.state, start));
        Ok(())
    }

    /// A list up to `)` that keeps its folder and its variables to itself.
    pub(super) fn subshell(&mut self) -> Result<CommandOutput, ShellError> {
        let state = self.shell.state.clone();
        let output = self.list()?;
        self.shell.state = state;
        self.expect(")")?;
        Ok(output)
    }

    fn pipeline(&mut self) -> Result<CommandOutput, ShellError> {
        let mut input = None;
        loop {
            // `-p` is an option of `time`, the keyword.
            while ["!", "time", "-p"].iter().any(|word| self.eat_keyword(word)) {}
            let (state, is_stage) = (self.shell.state.clone(), input.is_some());
            let output = self.command(input)?;
            let is_piped = !self.is_at("||") && (self.eat("|&") || self.eat("|"));
            if is_piped || is_stage {
                self.shell.state = state;
            }
            if !is_piped {
                return Ok(output);
            }
            input = Some(output);
            self.skip_lines();
        }
    }

    fn command(&mut self, input: Option<CommandOutput>) -> Result<CommandOutput, ShellError> {
        self.shell.charge(if self.shell.depth < MAX_DEPTH { 1 } else { MAX_STEPS })?;
        self.shell.depth += 1;
        let dir = self.shell.state.dir.clone();
        let mut redirects = Redirects { input, files: Vec::new() };
        let output = match self.compound()? {
            Some(output) => output,
            None => self.simple(&mut redirects)?,
        };
        self.shell.depth -= 1;
        self.skip_spaces();
        // The files of `{ cd x; …; } > file` are named from where it began.
        let dir = std::mem::replace(&mut self.shell.state.dir, dir);
        while self.redirect(&mut redirects)? {}
        self.shell.state.dir = dir;
        let is_captured = redirects.files.iter().any(|(_, _, is_stdout)| *is_stdout);
        for (located, operator, is_stdout) in redirects.files {
            let printed = if is_stdout { &output } else { &CommandOutput::unknown() };
            self.shell.write_located(located, printed.written(operator.ends_with(">>")), operator);
        }
        Ok(if is_captured { CommandOutput::default() } else { output })
    }

    /// A command that holds others, if one begins here.
    fn compound(&mut self) -> Result<Option<CommandOutput>, ShellError> {
        let mut ends = Vec::new();
        if let Some(end) = self.arithmetic_end(self.at) {
            self.at = end;
        } else if self.keyword() == "[[" {
            self.at += self.rest().find(" ]]").ok_or(ShellError::NotBash)? + " ]]".len();
        } else if self.eat("(") {
            return self.subshell().map(Some);
        } else if self.eat_keyword("{") {
            return self.body("}").map(Some);
        } else if self.eat_keyword("function") {
            self.word()?;
            return self.function().map(Some);
        } else if self.keyword() == "if" {
            while self.eat_keyword("if") || self.eat_keyword("elif") {
                self.body("then")?;
                self.branch(&mut ends)?;
            }
            if self.eat_keyword("else") {
                self.branch(&mut ends)?;
            }
            self.expect_keyword("fi")?;
        } else if self.eat_keyword("while") || self.eat_keyword("until") {
            self.body("do")?;
            self.branch(&mut ends)?;
            self.expect_keyword("done")?;
        } else if self.eat_keyword("for") {
            self.for_loop(&mut ends)?;
        } else if self.eat_keyword("case") {
            self.case(&mut ends)?;
        } else {
            return Ok(None);
        }
        ends.iter().for_each(|end| self.shell.state.merge(end));
        Ok(Some(CommandOutput::unknown()))
    }

    /// The body of a function is followed where it is defined, with unknown arguments.
    fn function(&mut self) -> Result<CommandOutput, ShellError> {
        if self.eat_operator("(") {
            self.expect(")")?;
        }
        self.skip_lines();
        let state = self.shell.state.clone();
        self.command(None)?;
        self.shell.state = state;
        Ok(CommandOutput::default())
    }

    fn case(&mut self, ends: &mut Vec<ShellState>) -> Result<(), ShellError> {
        self.word()?;
        self.expect_keyword("in")?;
        self.skip_lines();
        while !self.eat_keyword("esac") {
            self.eat_operator("(");
            self.word()?;
            while self.eat_operator("|") {
                self.word()?;
            }
            self.expect(")")?;
            self.branch(ends)?;
            if !(self.eat(";;&") || self.eat(";;") || self.eat(";&")) && self.keyword() != "esac" {
                return Err(ShellError::NotBash);
            }
            self.skip_lines();
        }
        Ok(())
    }

    fn for_loop(&mut self, ends: &mut Vec<ShellState>) -> Result<(), ShellError> {
        self.at = self.arithmetic_end(self.at).unwrap_or(self.at);
        let (name, mut items) = (self.eat_while(is_name_byte), Vec::new());
        self.skip_lines();
        if self.eat_keyword("in") {
            while !matches!(self.peek(), None | Some(b'\n' | b';')) {
                items.push(self.word()?);
            }
        }
        self.eat(";");
        self.expect_keyword("do")?;
        let start = self.at;
        if !items.is_empty()
            && items.len() <= MAX_ITEMS
            && items.iter().all(|item| item.known().is_some())
        {
            for item in items {
                self.at = start;
                self.shell.assign(name, item);
                self.list()?;
            }
        } else {
            // A loop over what is not known is followed once.
            self.shell.forget(name);
            self.branch(ends)?;
        }
        self.expect_keyword("done")
    }

    fn simple(&mut self, redirects: &mut Redirects) -> Result<CommandOutput, ShellError> {
        let (start, variables) = (self.at, self.shell.state.variables.clone());
        let mut words = Vec::new();
        loop {
            if self.redirect(redirects)? {
                continue;
            }
            match self.peek() {
                None | Some(b'\n' | b';' | b'&' | b'|' | b')') => break,
                Some(b'(') if words.len() == 1 => return self.function(),
                _ => {}
            }
            let mut word = self.word()?;
            if self.is_at("(") && word.text_lossy().ends_with('=') && self.eat("(") {
                self.skip_lines();
                while !self.eat_operator(")") {
                    self.word()?;
                    self.skip_lines();
                }
                word.0.push(WordPart::Unknown("(…)".to_owned()));
            }
            match word.assignment().filter(|_| words.is_empty()) {
                Some((name, value)) => self.shell.assign(&name, value),
                None => words.push(word),
            }
            if words.len() == 1 {
                // `NAME=value program` sets it for the program only.
                self.shell.state.variables.clone_from(&variables);
            }
        }
        if self.at == start {
            return Err(ShellError::NotBash);
        }
        Ok(self.shell.run_program(words, redirects.input.as_ref()))
    }

    /// Takes a redirection, if one begins here.
    fn redirect(&mut self, redirects: &mut Redirects) -> Result<bool, ShellError> {
        let digits = self.rest().bytes().take_while(u8::is_ascii_digit).count();
        let (descriptor, rest) = self.rest().split_at(digits);
        let Some(operator) = OPERATORS.into_iter().find(|operator| rest.starts_with(operator))
        else {
            return Ok(false);
        };
        if rest.starts_with("<(")
            || rest.starts_with(">(")
            || (digits > 0 && operator.starts_with('&'))
        {
            return Ok(false);
        }
        self.at += digits + operator.len();
        self.skip_spaces();
        let start = self.at;
        let mut target = self.word()?;
        match operator {
            "<<" | "<<-" => {
                let delimiter = self
                    .text
                    .get(start..self.at)
                    .and_then(|text| text.split_whitespace().next())
                    .unwrap_or_default();
                redirects.input = Some(self.heredoc(delimiter, operator == "<<-")?);
            }
            "<<<" => {
                target.push_text("\n");
                redirects.input = Some(CommandOutput::of(&target));
            }
            "<" => redirects.input = None,
            "<&" | "<>" => {}
            ">&" if target.known().is_some_and(|name| {
                name.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-')
            }) => {}
            _ => redirects.files.push((
                self.shell.state.dir.locate(&target),
                operator,
                matches!(descriptor, "" | "1"),
            )),
        }
        Ok(true)
    }

    /// The body of a here-document, which begins after this line.
    fn heredoc(&mut self, delimiter: &str, strips_tabs: bool) -> Result<CommandOutput, ShellError> {
        let line_end = self.rest().find('\n').map_or(self.text.len(), |length| self.at + length);
        let start = self
            .heredocs
            .filter(|(end, _)| *end == line_end)
            .map_or(line_end + 1, |(_, start)| start);
        let name = delimiter.replace(['\'', '"', '\\'], "");
        let (mut body, mut end) = (String::new(), start);
        for line in self.text.get(start..).unwrap_or_default().split_inclusive('\n') {
            end += line.len();
            let line = if strips_tabs { line.trim_start_matches('\t') } else { line };
            if line.trim_end_matches(['\n', '\r']) == name {
                break;
            }
            body.push_str(line);
        }
        self.shell.charge((end - self.at) / 64)?;
        self.heredocs = Some((line_end, end.min(self.text.len())));
        if delimiter.len() > name.len() {
            return Ok(CommandOutput { text: body, is_partial: false });
        }
        let mut word = ShellWord::default();
        ShellParser::new(&body, self.shell).quoted(None, &mut word)?;
        Ok(CommandOutput::of(&word))
    }

    /// Where `((…))` ends that begins here.
    pub(super) fn arithmetic_end(&self, from: usize) -> Option<usize> {
        let inside = self.text.get(from..)?.strip_prefix("((")?;
        let mut depth = 2;
        let end = inside.bytes().position(|byte| {
            depth += i32::from(byte == b'(') - i32::from(byte == b')');
            depth == 1
        })?;
        inside.get(end..)?.starts_with("))").then_some(from + 2 + end + 2)
    }
}
