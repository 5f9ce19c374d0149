//! The tests that a file defines.
//!
//! A test begins at its name and ends where its indentation does, at the latest where
//! the next one begins, so that a misread line spoils one test and not the file.

use std::ops::Range;

use super::assertions::AssertionStrength;
use super::paths::{TestLanguage, is_test_file};
use super::tokens::SourceTokens;
use crate::checks::contains;

pub(super) const CALLS: &str =
    "it test specify scenario example property testWidgets xit xtest xspecify fit ftest TEST TEST_F TEST_P TEST_CASE";
const GROUPS: &str = "describe context suite group feature xdescribe xcontext fdescribe fcontext";
const MODIFIERS: &str = "skip only todo each for failing fails fixme concurrent sequential serial parallel skipIf runIf describe";
const ATTRIBUTES: &str = "test rstest test_case quickcheck fact theory testmethod datatestmethod testcase parameterizedtest repeatedtest";
const FOCUSED: &str = "only focus fit ftest fdescribe fcontext";
/// How many tests of a file are looked at, how many characters of a name, and how many groups around it.
const MAX_TESTS: usize = 5_000;
const MAX_NAME: usize = 80;
const MAX_GROUPS: usize = 8;
/// How far into its line a test may begin, and how far its attributes and cases are followed.
const MAX_LINE: usize = 100;
const MAX_HEAD: usize = 1_000;

/// A test as it stands in one version of a file.
pub(super) struct TestDefinition {
    pub path: String,
    pub name: String,
    /// Its cases and its body, in a form that formatters leave alone.
    pub body: String,
    pub skipped: bool,
    pub strength: AssertionStrength,
}

/// A test, or a group of tests.
struct DefinitionSpan {
    name: String,
    is_group: bool,
    column: usize,
    /// From the first attribute to the end of what can switch the test off.
    head: Range<usize>,
    /// Attributes, or the table of `each`.
    cases: Range<usize>,
    skipped: bool,
}

/// The tests in a text, and the names of those that alone are to run: `it.only`.
pub(super) fn read_tests(path: &str, text: &str, language: &'static TestLanguage) -> (Vec<TestDefinition>, Vec<String>) {
    let (tokens, by_name) = (SourceTokens::new(text, language), is_test_file(path));
    let (mut found, mut groups, mut focused, mut line) = (Vec::<DefinitionSpan>::new(), Vec::<DefinitionSpan>::new(), Vec::new(), 0);
    for at in 0..tokens.list.len() {
        if let Some(column) = tokens.column(at) {
            line = at;
            while tokens.sign(at) != "{" && groups.pop_if(|group| group.column >= column).is_some() {}
        }
        let is_within = at - line < MAX_LINE && found.len() < MAX_TESTS && groups.len() < MAX_GROUPS;
        let definition = is_within.then(|| tokens.call(at, line).or_else(|| tokens.function(at, line, by_name))).flatten();
        // What follows a name on its line are parameters.
        let is_first = |new: &DefinitionSpan| found.last().is_none_or(|last| last.head.start < new.head.start);
        let Some(mut definition) = definition.filter(is_first) else { continue };
        if let Some(group) = groups.last() {
            definition.skipped |= group.skipped;
            definition.name = if group.name.is_empty() { definition.name } else { format!("{} > {}", group.name, definition.name) };
        }
        focused.extend(definition.head.clone().any(|at| contains(FOCUSED, tokens.sign(at))).then(|| definition.name.clone()));
        if definition.is_group { groups.push(definition) } else { found.push(definition) }
    }
    let (helpers, all_skipped) = (tokens.helpers(), tokens.skips_file());
    let limits: Vec<usize> = found.iter().skip(1).map(|next| next.head.start).chain([tokens.list.len()]).collect();
    let tests = found.into_iter().zip(limits).map(|(DefinitionSpan { name, column, head, cases, skipped, .. }, limit)| {
        let ends = |at: &usize| {
            tokens.column(*at).is_some_and(|inner| inner < column || inner == column && !contains("{ } ) ] end", tokens.sign(*at)))
        };
        let start = limit.min(cases.end + 1);
        let body = start..(start..limit).find(ends).unwrap_or(limit);
        let skipped = skipped || all_skipped || tokens.skips(body.clone(), column);
        let strength = tokens.strength(head, body.clone(), &helpers);
        TestDefinition { path: path.to_owned(), name, body: tokens.canonical(cases) + &tokens.canonical(body), skipped, strength }
    });
    (tests.collect(), focused)
}

impl SourceTokens<'_> {
    /// A function that is a test by its name or by an attribute, or a class.
    fn function(&self, at: usize, line: usize, by_name: bool) -> Option<DefinitionSpan> {
        let (text, before, (keyword, prefix)) = (self.word(at).or(self.string(at))?, self.before(at), self.language.function);
        let is_group = self.sign(at) == "class";
        // A method in Go has a receiver before its name.
        let is_named =
            by_name && !keyword.is_empty() && text.starts_with(prefix) && (before == keyword || before == ")" && keyword == "func");
        let is_function = self.sign(at + 1) == "(" && (before == ">" || self.word(at.wrapping_sub(1)).is_some());
        let has = |list| self.attributes(line, at).any(|at| self.before(at) != "(" && contains(list, &self.lower(at)));
        let is_test = is_named && !has("fixture") || is_function && has(ATTRIBUTES);
        let head = Some(self.attributes(line, at)).filter(|_| is_group || is_test)?;
        Some(self.definition(if is_group { "" } else { text }, is_group, line, head.clone(), head))
    }

    /// `it("…", …)`, `describe.skip("…", …)`, `test "…" do`, `TEST(Suite, Name) {`.
    fn call(&self, at: usize, line: usize) -> Option<DefinitionSpan> {
        let callee = self.word(at).filter(|word| self.language.has('(') && (contains(CALLS, word) || contains(GROUPS, word)))?;
        let is_placed = match self.before(at) {
            "." => contains("Deno RSpec", self.before(at - 1)),
            before if self.language.is("bats") => before == "@",
            _ => !self.language.has('#') || line == at,
        };
        let (mut open, mut is_group) = (at + 1, contains(GROUPS, callee));
        while self.sign(open) == "." && contains(MODIFIERS, self.sign(open + 1)) {
            is_group |= self.sign(open + 1) == "describe";
            open += 2;
        }
        // The table of `each`, and the suite of `TEST`, come before the name.
        let opens = |at: &usize| {
            self.sign(*at) == "(" && self.string(at + 1).is_some() && (self.before(*at) == ")" || self.string(at - 1).is_some())
        };
        let name_at = match open + usize::from(self.sign(open) == "(") {
            first if self.string(first).is_some() => first,
            _ if open > at + 1 => (open + 1..open + MAX_HEAD).find(opens)? + 1,
            first => first + if callee.starts_with("TEST") { 2 } else { 0 },
        };
        let name = match self.sign(name_at) {
            "{" | "do" if self.language.has('#') => callee,
            word if is_group || callee.starts_with("TEST") => self.string(name_at).unwrap_or(word),
            _ => self.string(name_at)?,
        };
        let ends = |at: &usize| self.column(*at).is_some() || contains("do { = async function", self.sign(*at));
        let end = (name_at + 1..name_at + MAX_HEAD).find(ends).unwrap_or(name_at);
        Some(self.definition(name, is_group, line, self.attributes(line, end), open..name_at)).filter(|_| is_placed)
    }

    fn definition(&self, name: &str, is_group: bool, line: usize, head: Range<usize>, cases: Range<usize>) -> DefinitionSpan {
        let (name, column) = (name.chars().take(MAX_NAME).collect(), self.column(line).unwrap_or(0));
        DefinitionSpan { name, is_group, column, cases, skipped: self.marks_skip(head.clone()), head }
    }

    /// From the first attribute of what is defined on a line to `end`.
    fn attributes(&self, line: usize, end: usize) -> Range<usize> {
        let mut begin = line;
        for at in (line.saturating_sub(MAX_HEAD)..line).rev().filter(|at| self.column(*at).is_some()) {
            if self.column(at) == self.column(line) && matches!(self.sign(at), "@" | "#" | "[") {
                begin = at;
            } else if self.column(at) <= self.column(line) && !matches!(self.sign(at), ")" | "]" | "}") {
                break;
            }
        }
        begin..end
    }
}
