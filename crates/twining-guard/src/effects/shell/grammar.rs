//! The grammar of bash: lists, pipelines, compound commands, redirections.
//!
//! A line is followed while it is parsed, from left to right, and nothing is run. Only a
//! loop over a literal list goes back, so the time grows with the text that is followed.

use crate::effects::shell::cwd::Located;
use crate::effects::shell::interpreter::{Input, Interpreter, Output, ShellState};
use crate::effects::shell::words::{Piece, Value, is_name, is_name_byte};
use crate::effects::shell::{MAX_DEPTH, Unreadable, WriteKind};

/// Most items of a loop that are followed one by one.
const MAX_ITEMS: usize = 64;
/// Redirection operators, the longer before its beginning.
const OPERATORS: [&str; 12] = ["<<<", "<<-", "<<", "<&", "<>", "<", ">>", ">|", ">&", ">", "&>>", "&>"];
/// Words that end a list where a command would begin.
const CLOSING: [&str; 8] = ["then", "do", "done", "fi", "else", "elif", "esac", "}"];

/// A text and how far it is parsed.
pub(super) struct Parser<'t, 's> {
    pub(super) text: &'t str,
    pub(super) at: usize,
    pub(super) shell: &'s mut Interpreter,
    /// The end of a line with here-documents, and where they end.
    heredocs: Option<(usize, usize)>,
}

/// Where a command's input comes from and its output goes.
#[derive(Default)]
struct Redirects {
    input: Input,
    outputs: Vec<OutputFile>,
}

struct OutputFile {
    located: Located,
    operator: &'static str,
    is_stdout: bool,
}

/// Follows a text that is a whole list.
pub(super) fn run(text: &str, shell: &mut Interpreter) -> Result<Output, Unreadable> {
    let mut parser = Parser::new(text, shell);
    let output = parser.list()?;
    if parser.at == text.len() { Ok(output) } else { Err(Unreadable::NotBash) }
}

impl<'t, 's> Parser<'t, 's> {
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

    pub(super) fn eat(&mut self, sign: &str) -> bool {
        let is_there = self.is_at(sign);
        self.at += if is_there { sign.len() } else { 0 };
        is_there
    }

    pub(super) fn expect(&mut self, sign: &str) -> Result<(), Unreadable> {
        if self.eat(sign) { Ok(()) } else { Err(Unreadable::NotBash) }
    }

    /// Passes the bytes from here on that fulfil a condition.
    pub(super) fn eat_while(&mut self, is_part: impl Fn(u8) -> bool) -> &'t str {
        let rest = self.rest();
        let length = rest.bytes().position(|byte| !is_part(byte)).unwrap_or(rest.len());
        self.at += length;
        rest.get(..length).unwrap_or_default()
    }

    fn skip_spaces(&mut self) {
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
            let heredocs = self.heredocs.filter(|(line_end, _)| *line_end == self.at);
            self.at = heredocs.map_or(self.at + 1, |(_, end)| end);
            self.heredocs = self.heredocs.filter(|_| heredocs.is_none());
            self.skip_spaces();
        }
    }

    /// The word here if it may be a keyword: no quotes, no expansion.
    fn keyword(&self) -> &'t str {
        let rest = self.rest();
        let length = rest.bytes().take(10).position(|byte| b" \t\r\n;&|()<>".contains(&byte)).unwrap_or(rest.len().min(10));
        rest.get(..length).unwrap_or_default()
    }

    fn eat_keyword(&mut self, keyword: &str) -> bool {
        self.keyword() == keyword && self.eat(keyword)
    }

    fn expect_keyword(&mut self, keyword: &str) -> Result<(), Unreadable> {
        self.skip_lines();
        if self.eat_keyword(keyword) { Ok(()) } else { Err(Unreadable::NotBash) }
    }

    fn is_at_list_end(&self) -> bool {
        matches!(self.peek(), None | Some(b')')) || self.is_at(";;") || self.is_at(";&") || CLOSING.contains(&self.keyword())
    }

    pub(super) fn list(&mut self) -> Result<Output, Unreadable> {
        let mut output = Output::default();
        loop {
            self.skip_lines();
            if self.is_at_list_end() {
                return Ok(output);
            }
            let start = self.shell.state.clone();
            output.append(&self.pipeline()?);
            self.skip_spaces();
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
                self.skip_spaces();
            }
            if !(self.is_at_list_end() || self.is_at("\n") || self.eat("&&") || self.eat(";") || self.eat("&")) {
                return Err(Unreadable::NotBash);
            }
        }
    }

    /// A list up to the keyword after it.
    fn body(&mut self, end: &str) -> Result<Output, Unreadable> {
        let output = self.list()?;
        self.expect_keyword(end)?;
        Ok(output)
    }

    /// A list that may be left out; the state after it is kept apart.
    fn branch(&mut self, ends: &mut Vec<ShellState>) -> Result<(), Unreadable> {
        let start = self.shell.state.clone();
        self.list()?;
        ends.push(std::mem::replace(&mut self.shell.state, start));
        Ok(())
    }

    fn pipeline(&mut self) -> Result<Output, Unreadable> {
        let (mut input, mut is_stage) = (Input::default(), false);
        loop {
            self.skip_spaces();
            // `-p` is an option of `time`, the keyword.
            while ["!", "time", "-p"].iter().any(|word| self.eat_keyword(word)) {
                self.skip_spaces();
            }
            let state = self.shell.state.clone();
            let output = self.command(input)?;
            self.skip_spaces();
            let is_piped = !self.is_at("||") && (self.eat("|&") || self.eat("|"));
            if is_piped || is_stage {
                self.shell.state = state;
            }
            if !is_piped {
                return Ok(output);
            }
            input = Input { text: Some(output), file: None };
            is_stage = true;
            self.skip_lines();
        }
    }

    fn command(&mut self, input: Input) -> Result<Output, Unreadable> {
        if self.shell.depth >= MAX_DEPTH {
            return Err(Unreadable::TooManySteps);
        }
        self.shell.depth += 1;
        self.shell.step(1)?;
        let dir = self.shell.state.dir.clone();
        let mut redirects = Redirects { input, outputs: Vec::new() };
        let output = match self.compound()? {
            Some(output) => output,
            None => self.simple(&mut redirects)?,
        };
        self.shell.depth -= 1;
        // The files of `{ cd x; …; } > file` are named from where it began.
        let dir = std::mem::replace(&mut self.shell.state.dir, dir);
        while self.redirect(&mut redirects)? {}
        self.shell.state.dir = dir;
        let is_captured = redirects.outputs.iter().any(|file| file.is_stdout);
        for OutputFile { located, operator, is_stdout } in redirects.outputs {
            let content = output.whole().filter(|_| is_stdout).map(str::to_owned);
            if is_stdout && matches!(located, Located::Path(_)) {
                self.shell.insert(&output.text)?;
            }
            let kind = if operator.ends_with(">>") { WriteKind::Append { content } } else { WriteKind::Create { content } };
            self.shell.write_located(located, kind, operator)?;
        }
        Ok(if is_captured { Output::default() } else { output })
    }

    /// A command that holds others, if one begins here.
    fn compound(&mut self) -> Result<Option<Output>, Unreadable> {
        let keyword = if self.is_at("(") { "(" } else { self.keyword() };
        let mut ends = Vec::new();
        match keyword {
            "(" => {
                if let Some(end) = self.arithmetic_end(self.at) {
                    self.at = end;
                    return Ok(Some(Output::default()));
                }
                self.at += 1;
                return self.subshell().map(Some);
            }
            "{" => {
                self.at += 1;
                return self.body("}").map(Some);
            }
            "if" => {
                while self.eat_keyword("if") || self.eat_keyword("elif") {
                    self.body("then")?;
                    self.branch(&mut ends)?;
                    self.skip_lines();
                }
                if self.eat_keyword("else") {
                    self.branch(&mut ends)?;
                }
                self.expect_keyword("fi")?;
            }
            "while" | "until" => {
                self.at += keyword.len();
                self.body("do")?;
                self.branch(&mut ends)?;
                self.expect_keyword("done")?;
            }
            "case" => self.case(&mut ends)?,
            "for" | "select" => {
                self.at += keyword.len();
                self.for_loop(&mut ends)?;
            }
            "function" => {
                self.at += keyword.len();
                self.skip_spaces();
                self.word()?;
                self.skip_spaces();
                return self.function().map(Some);
            }
            _ => return Ok(None),
        }
        for end in &ends {
            self.shell.state.merge(end);
        }
        Ok(Some(Output::unknown()))
    }

    /// A list up to `)` that keeps its folder and its variables to itself.
    pub(super) fn subshell(&mut self) -> Result<Output, Unreadable> {
        let state = self.shell.state.clone();
        let output = self.list()?;
        self.shell.state = state;
        self.expect(")")?;
        Ok(output)
    }

    /// The body of a function is read where it is defined, with unknown arguments.
    fn function(&mut self) -> Result<Output, Unreadable> {
        if self.eat("(") {
            self.skip_spaces();
            self.expect(")")?;
        }
        self.skip_lines();
        let state = self.shell.state.clone();
        self.command(Input::default())?;
        self.shell.state = state;
        Ok(Output::default())
    }

    fn case(&mut self, ends: &mut Vec<ShellState>) -> Result<(), Unreadable> {
        self.at += "case".len();
        self.skip_spaces();
        self.word()?;
        self.expect_keyword("in")?;
        loop {
            self.skip_lines();
            if self.eat_keyword("esac") {
                return Ok(());
            }
            self.eat("(");
            self.skip_spaces();
            self.word()?;
            self.skip_spaces();
            while self.eat("|") {
                self.skip_spaces();
                self.word()?;
                self.skip_spaces();
            }
            self.expect(")")?;
            self.branch(ends)?;
            if !(self.eat(";;&") || self.eat(";;") || self.eat(";&")) && self.keyword() != "esac" {
                return Err(Unreadable::NotBash);
            }
        }
    }

    fn for_loop(&mut self, ends: &mut Vec<ShellState>) -> Result<(), Unreadable> {
        self.skip_spaces();
        let (mut name, mut items) = ("", Vec::new());
        if let Some(end) = self.arithmetic_end(self.at) {
            self.at = end;
        } else {
            name = self.eat_while(is_name_byte);
            self.skip_lines();
            if self.eat_keyword("in") {
                self.skip_spaces();
                while !matches!(self.peek(), None | Some(b'\n' | b';' | b'&' | b'|' | b'(' | b')' | b'>')) {
                    let word = self.word()?;
                    word.split_into(&mut items);
                    self.skip_spaces();
                }
            }
        }
        self.skip_spaces();
        self.eat(";");
        self.expect_keyword("do")?;
        let start = self.at;
        if !items.is_empty() && items.len() <= MAX_ITEMS && items.iter().all(|item| item.known().is_some()) {
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

    fn simple(&mut self, redirects: &mut Redirects) -> Result<Output, Unreadable> {
        let start = self.at;
        let (mut assignments, mut words) = (Vec::new(), Vec::new());
        let mut is_test = self.keyword() == "[[";
        loop {
            self.skip_spaces();
            let next = self.peek();
            if is_test && matches!(next, Some(b'\n' | b';' | b'&' | b'|' | b'(' | b')' | b'<' | b'>')) {
                // Operators of the test, not of the shell.
                self.at += 1;
                continue;
            }
            if self.redirect(redirects)? {
                continue;
            }
            match next {
                None | Some(b'\n' | b';' | b'&' | b'|' | b')') => break,
                Some(b'(') if words.len() == 1 => return self.function(),
                _ => {}
            }
            let mut word = self.word()?;
            is_test &= word.known().is_none_or(|word| word != "]]");
            if self.is_at("(") && word.text_lossy().ends_with('=') {
                self.array()?;
                word.0.push(Piece::Unknown("(…)".to_owned()));
            }
            match word.assignment().filter(|_| words.is_empty()) {
                Some(assignment) => assignments.push(assignment),
                None => word.split_into(&mut words),
            }
        }
        if self.at == start || is_test {
            return Err(Unreadable::NotBash);
        }
        if !words.is_empty() {
            // `NAME=value program` sets it for the program only.
            return self.shell.run_program(words, &redirects.input);
        }
        assignments.into_iter().for_each(|(name, value)| self.shell.assign(&name, value));
        Ok(Output::default())
    }

    fn array(&mut self) -> Result<(), Unreadable> {
        self.expect("(")?;
        self.skip_lines();
        while !self.eat(")") {
            self.word()?;
            self.skip_lines();
        }
        Ok(())
    }

    /// Takes a redirection, if one begins here.
    fn redirect(&mut self, redirects: &mut Redirects) -> Result<bool, Unreadable> {
        self.skip_spaces();
        let digits = self.rest().bytes().take_while(u8::is_ascii_digit).count();
        let (descriptor, rest) = self.rest().split_at(digits);
        let Some(operator) = OPERATORS.into_iter().find(|operator| rest.starts_with(operator)) else { return Ok(false) };
        if rest.starts_with("<(") || rest.starts_with(">(") || (digits > 0 && operator.starts_with('&')) {
            return Ok(false);
        }
        self.at += digits + operator.len();
        self.skip_spaces();
        let start = self.at;
        let target = self.word()?;
        match operator {
            "<<" | "<<-" => {
                let delimiter = self.text.get(start..self.at).unwrap_or_default();
                redirects.input.text = Some(self.heredoc(delimiter, operator == "<<-")?);
            }
            "<<<" => {
                let mut text = Output::of(&target);
                text.text.push('\n');
                redirects.input.text = Some(text);
            }
            "<" => redirects.input = Input { text: None, file: Some(target) },
            "<&" | "<>" => {}
            ">&" if target.known().is_some_and(|name| name.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-')) => {}
            _ => {
                let located = self.shell.state.dir.locate(&target);
                redirects.outputs.push(OutputFile { located, operator, is_stdout: matches!(descriptor, "" | "1") });
            }
        }
        Ok(true)
    }

    /// The body of a here-document, which begins after this line.
    fn heredoc(&mut self, delimiter: &str, strips_tabs: bool) -> Result<Output, Unreadable> {
        let line_end = self.rest().find('\n').map_or(self.text.len(), |length| self.at + length);
        let start = self.heredocs.filter(|(end, _)| *end == line_end).map_or(line_end + 1, |(_, start)| start);
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
        self.shell.step((end - self.at.min(end)) / 64)?;
        self.heredocs = Some((line_end, end.min(self.text.len())));
        if delimiter.len() > name.len() {
            return Ok(Output { text: body, is_partial: false });
        }
        let mut word = Value::default();
        Parser::new(&body, self.shell).quoted(None, &mut word)?;
        Ok(Output::of(&word))
    }

    /// Where `((…))` ends that begins here.
    pub(super) fn arithmetic_end(&self, from: usize) -> Option<usize> {
        let inside = self.text.get(from..)?.strip_prefix("((")?;
        let mut depth = 2;
        for (at, byte) in inside.bytes().enumerate() {
            match byte {
                b'(' => depth += 1,
                b')' => depth -= 1,
                _ => {}
            }
            if depth == 1 {
                return inside.get(at..)?.starts_with("))").then_some(from + 2 + at + 2);
            }
        }
        None
    }
}

impl Value {
    /// The name and the value of `name=value`.
    fn assignment(&self) -> Option<(String, Self)> {
        let (name, _) = self.prefix().split_once('=')?;
        let value = self.without_prefix(name.len() + 1);
        match name.strip_suffix('+') {
            // `name+=value` adds to something: that is not followed.
            Some(name) if is_name(name) => Some((name.to_owned(), Self::unknown(&format!("${name}")))),
            _ => is_name(name).then(|| (name.to_owned(), value)),
        }
    }
}
