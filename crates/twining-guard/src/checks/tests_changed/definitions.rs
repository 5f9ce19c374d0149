//! The tests that a file defines.
//!
//! A test begins at its name and ends where its indentation does, at the latest where
//! the next one begins, so that a misread line spoils one test and not the file.

use std::collections::HashSet;
use std::ops::Range;

use super::assertions::Strength;
use super::paths::{Language, contains, is_test_file};
use super::tokens::Tokens;

pub(super) const CALLS: &str = "it test specify scenario example property testWidgets TEST TEST_F TEST_P TEST_CASE SCENARIO";
const GROUPS: &str = "describe context suite group feature";
const MODIFIERS: &str = "skip only todo each for failing fails fixme concurrent sequential serial parallel skipIf runIf describe";
const ATTRIBUTES: &str = "test rstest test_case quickcheck fact theory testmethod datatestmethod testcase parameterizedtest repeatedtest";
/// How many tests of a file are looked at, and how many characters of a name.
const MAX_TESTS: usize = 5_000;
const MAX_NAME: usize = 80;
/// How far the attributes of a test and the table of its cases are followed.
const MAX_HEAD: usize = 2_000;

/// A test as it stands in one version of a file.
pub(super) struct Test {
    pub path: String,
    pub name: String,
    /// Its cases and its body, in a form that formatters leave alone.
    pub body: String,
    pub skipped: bool,
    pub strength: Strength,
}

/// A test, or a group of tests, and where its parts begin and end.
struct Definition {
    name: String,
    is_group: bool,
    column: usize,
    /// From the first attribute to the body.
    head: Range<usize>,
    /// Attributes, or the table of `each`.
    cases: Range<usize>,
    body: usize,
    skipped: bool,
    focused: bool,
}

/// The tests in a text, and the names of those that alone are to run: `it.only`.
pub(super) fn read_tests(path: &str, text: &str, language: &'static Language) -> (Vec<Test>, Vec<String>) {
    let tokens = Tokens::new(text, language);
    let (helpers, all_skipped, end) = (tokens.helpers(), tokens.skips_file(), tokens.list.len());
    let (mut found, mut groups, mut focused, mut line) = (Vec::<Definition>::new(), Vec::<Definition>::new(), Vec::new(), 0);
    for at in 0..end {
        if let Some(column) = tokens.column(at) {
            line = at;
            while tokens.sign(at) != "{" && groups.pop_if(|group| group.column >= column).is_some() {}
        }
        let definition = tokens.call(at, line).or_else(|| tokens.function(at, line, is_test_file(path)));
        let Some(mut definition) = definition.filter(|_| found.len() < MAX_TESTS) else { continue };
        if let Some(group) = groups.last() {
            definition.skipped |= group.skipped;
            definition.name = if group.name.is_empty() { definition.name } else { format!("{} > {}", group.name, definition.name) };
        }
        focused.extend(definition.focused.then(|| definition.name.clone()));
        if definition.is_group { groups.push(definition) } else { found.push(definition) }
    }
    let limits: Vec<usize> = found.iter().skip(1).map(|next| next.head.start).chain([end]).collect();
    let tests = found.into_iter().zip(limits).map(|(definition, limit)| {
        let body = tokens.body(&definition, limit);
        let mut canonical = String::new();
        tokens.canonical(definition.cases.clone(), &mut canonical);
        tokens.canonical(body.clone(), &mut canonical);
        Test {
            path: path.to_owned(),
            name: definition.name,
            body: canonical,
            skipped: all_skipped || definition.skipped || tokens.skips(body.clone(), definition.column),
            strength: tokens.strength(definition.head, body, &helpers),
        }
    });
    (tests.collect(), focused)
}

impl Tokens<'_> {
    /// A function that is a test by its name or by an attribute, or a class.
    fn function(&self, at: usize, line: usize, by_name: bool) -> Option<Definition> {
        let (text, before, (keyword, prefix)) = (self.word(at).or(self.string(at))?, self.before(at), self.language.function);
        let is_group = self.sign(at) == "class";
        // A method in Go has a receiver before its name.
        let is_named =
            by_name && !keyword.is_empty() && text.starts_with(prefix) && (before == keyword || before == ")" && keyword == "func");
        let is_function = self.sign(at + 1) == "(" && (before == ">" || self.word(at.wrapping_sub(1)).is_some());
        if !is_group && !is_named && !is_function {
            return None;
        }
        let head = self.attributes(line)..at;
        let has = |list| head.clone().any(|at| self.before(at) != "(" && contains(list, &self.sign(at).to_ascii_lowercase()));
        let is_test = is_named && !has("fixture") || is_function && has(ATTRIBUTES);
        let name = if is_group { String::new() } else { text.chars().take(MAX_NAME).collect() };
        let (column, skipped) = (self.column(line).unwrap_or(0), self.marks_skip(head.clone()));
        let definition = Definition { name, is_group, column, cases: head.clone(), head, body: at + 1, skipped, focused: false };
        Some(definition).filter(|_| is_group || is_test)
    }

    /// Where the attributes of the definition on a line begin.
    fn attributes(&self, line: usize) -> usize {
        let mut begin = line;
        for at in (line.saturating_sub(MAX_HEAD)..line).rev().filter(|at| self.column(*at).is_some()) {
            if self.column(at) == self.column(line) && matches!(self.sign(at), "@" | "#" | "[") {
                begin = at;
            } else if self.column(at) <= self.column(line) && !matches!(self.sign(at), ")" | "]" | "}") {
                break;
            }
        }
        begin
    }

    /// `it("…", …)`, `describe.skip("…", …)`, `test "…" do`, `TEST(Suite, Name) {`.
    fn call(&self, at: usize, line: usize) -> Option<Definition> {
        let callee = self.word(at).filter(|_| self.language.has('('))?;
        let is_known = |word: &&str| contains(CALLS, word) || contains(GROUPS, word);
        let base = Some(callee).filter(is_known).or_else(|| callee.strip_prefix(['x', 'f']).filter(is_known))?;
        let is_placed = match self.before(at) {
            "." => contains("Deno RSpec", self.before(at - 1)),
            before if self.language.is("bats") => before == "@",
            _ => !self.language.has('#') || line == at,
        };
        let (mut open, mut is_group) = (at + 1, contains(GROUPS, base));
        while self.sign(open) == "." && contains(MODIFIERS, self.sign(open + 1)) {
            is_group |= self.sign(open + 1) == "describe";
            open += 2;
        }
        let mut name_at = open + usize::from(self.sign(open) == "(");
        if open > at + 1 && self.string(name_at).is_none() {
            // The table of `each` and the condition of `skipIf` come before the name.
            let ends = |at: &usize| {
                self.sign(*at) == "(" && self.string(at + 1).is_some() && (self.before(*at) == ")" || self.string(at - 1).is_some())
            };
            name_at = (open + 1..open + MAX_HEAD).find(ends)? + 1;
        } else if base.starts_with("TEST") && self.string(name_at).is_none() {
            name_at += 2;
        }
        let name = match (self.string(name_at), self.sign(name_at)) {
            (Some(name), _) => name,
            (None, "{" | "do") if self.language.has('#') => callee,
            (None, word) => Some(word).filter(|_| is_group || base.starts_with("TEST"))?,
        };
        let ends = |at: &usize| self.column(*at).is_some() || contains("do { = async function", self.sign(*at));
        let head = self.attributes(line)..(name_at + 1..name_at + MAX_HEAD).find(ends).unwrap_or(name_at);
        let is_prefixed = |prefix| base.len() < callee.len() && callee.starts_with(prefix);
        Some(Definition {
            name: name.chars().take(MAX_NAME).collect(),
            is_group,
            column: self.column(line).unwrap_or(0),
            skipped: is_prefixed('x') || self.marks_skip(head.clone()),
            focused: is_prefixed('f') || head.clone().any(|at| contains("only focus", self.sign(at))),
            head,
            cases: open..name_at,
            body: name_at + 1,
        })
        .filter(|_| is_placed)
    }

    fn body(&self, definition: &Definition, limit: usize) -> Range<usize> {
        let start = definition.body.min(limit);
        let ends = |at: &usize| match self.column(*at) {
            Some(column) if column == definition.column => !matches!(self.sign(*at), "{" | "}" | ")" | "]" | "end"),
            column => column.is_some_and(|column| column < definition.column),
        };
        start..(start..limit).find(ends).unwrap_or(limit)
    }
}
