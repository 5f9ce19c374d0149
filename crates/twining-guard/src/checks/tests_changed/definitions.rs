//! The tests that a file defines.
//!
//! A test begins at its name and ends where its indentation does, at the latest where
//! the next one begins, so that a misread line spoils one test and not the file.

use std::collections::HashSet;
use std::ops::Range;

use super::test_files::is_test_file;
use super::tokens::SourceTokens;
use crate::checks::languages::{LanguageRules, contains};

pub(super) const CALLS: &str = "it test specify scenario example property testWidgets xit xtest xspecify fit ftest TEST TEST_F TEST_P TEST_CASE";
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

/// A test as defined in one version of a file.
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
pub(super) fn read_tests(
    path: &str,
    text: &str,
    language: &'static LanguageRules,
) -> (Vec<TestDefinition>, Vec<String>) {
    let (tokens, by_name) = (SourceTokens::new(text, language), is_test_file(path));
    let (mut found, mut groups, mut focused, mut line) =
        (Vec::<DefinitionSpan>::new(), Vec::<DefinitionSpan>::new(), Vec::new(), 0);
    for at in 0..tokens.list.len() {
        if let Some(column) = tokens.column(at) {
            line = at;
            while tokens.sign(at) != "{" && groups.pop_if(|group| group.column >= column).is_some()
            {
            }
        }
        let is_within =
            at - line < MAX_LINE && found.len() < MAX_TESTS && groups.len() < MAX_GROUPS;
        let definition = is_within
            .then(|| tokens.call(at, line).or_else(|| tokens.function(at, line, by_name)))
            .flatten();
        // What follows a name on its line are parameters.
        let is_first =
            |new: &DefinitionSpan| found.last().is_none_or(|last| last.head.start < new.head.start);
        let Some(mut definition) = definition.filter(is_first) else { continue };
        if let Some(group) = groups.last() {
            definition.skipped |= group.skipped;
            definition.name = if group.name.is_empty() {
                definition.name
            } else {
                format!("{} > {}", group.name, definition.name)
            };
        }
        focused.extend(
            definition
                .head
                .clone()
                .any(|at| contains(FOCUSED, tokens.sign(at)))
                .then(|| definition.name.clone()),
        );
        if definition.is_group { groups.push(definition) } else { found.push(definition) }
    }
    let (helpers, all_skipped) = (tokens.helpers(), tokens.skips_file());
    let limits: Vec<usize> =
        found.iter().skip(1).map(|next| next.head.start).chain([tokens.list.len()]).collect();
    let tests = found.into_iter().zip(limits).map(
        |(DefinitionSpan { name, column, head, cases, skipped, .. }, limit)| {
            let ends = |at: &usize| {
                tokens.column(*at).is_some_and(|inner| {
                    inner < column || inner == column && !contains("{ } ) ] end", tokens.sign(*at))
                })
            };
            let start = limit.min(cases.end + 1);
            let body = start..(start..limit).find(ends).unwrap_or(limit);
            let skipped = skipped || all_skipped || tokens.skips(body.clone(), column);
            let strength = tokens.strength(head, body.clone(), &helpers);
            TestDefinition {
                path: path.to_owned(),
                name,
                body: tokens.canonical(cases) + &tokens.canonical(body),
                skipped,
                strength,
            }
        },
    );
    (tests.collect(), focused)
}

impl SourceTokens<'_> {
    /// A function that is a test by its name or by an attribute, or a class.
    fn function(&self, at: usize, line: usize, by_name: bool) -> Option<DefinitionSpan> {
        let (text, before, (keyword, prefix)) =
            (self.word(at).or(self.string(at))?, self.before(at), self.language.test_function());
        let is_group = self.sign(at) == "class";
        // A method in Go has a receiver before its name.
        let is_named = by_name
            && !keyword.is_empty()
            && text.starts_with(prefix)
            && (before == keyword || before == ")" && keyword == "func");
        let is_function =
            self.sign(at + 1) == "(" && (before == ">" || self.word(at.wrapping_sub(1)).is_some());
        let has = |list| {
            self.attributes(line, at)
                .any(|at| self.before(at) != "(" && contains(list, &self.lower(at)))
        };
        let is_test = is_named && !has("fixture") || is_function && has(ATTRIBUTES);
        let head = Some(self.attributes(line, at)).filter(|_| is_group || is_test)?;
        Some(self.definition(if is_group { "" } else { text }, is_group, line, head.clone(), head))
    }

    /// `it("…", …)`, `describe.skip("…", …)`, `test "…" do`, `TEST(Suite, Name) {`.
    fn call(&self, at: usize, line: usize) -> Option<DefinitionSpan> {
        let callee = self.word(at).filter(|word| {
            self.language.has('(') && (contains(CALLS, word) || contains(GROUPS, word))
        })?;
        let is_placed = match self.before(at) {
            "." => contains("Deno RSpec", self.before(at - 1)),
            before if self.language.is("bats") => before == "@",
            _ => !self.language.has_hash_comments() || line == at,
        };
        let (mut open, mut is_group) = (at + 1, contains(GROUPS, callee));
        while self.sign(open) == "." && contains(MODIFIERS, self.sign(open + 1)) {
            is_group |= self.sign(open + 1) == "describe";
            open += 2;
        }
        // The table of `each`, and the suite of `TEST`, come before the name.
        let opens = |at: &usize| {
            self.sign(*at) == "("
                && self.string(at + 1).is_some()
                && (self.before(*at) == ")" || self.string(at - 1).is_some())
        };
        let name_at = match open + usize::from(self.sign(open) == "(") {
            first if self.string(first).is_some() => first,
            _ if open > at + 1 => (open + 1..open + MAX_HEAD).find(opens)? + 1,
            first => first + if callee.starts_with("TEST") { 2 } else { 0 },
        };
        let name = match self.sign(name_at) {
            "{" | "do" if self.language.has_hash_comments() => callee,
            word if is_group || callee.starts_with("TEST") => self.string(name_at).unwrap_or(word),
            _ => self.string(name_at)?,
        };
        let ends = |at: &usize| {
            self.column(*at).is_some() || contains("do { = async function", self.sign(*at))
        };
        let end = (name_at + 1..name_at + MAX_HEAD).find(ends).unwrap_or(name_at);
        Some(self.definition(name, is_group, line, self.attributes(line, end), open..name_at))
            .filter(|_| is_placed)
    }

    fn definition(
        &self,
        name: &str,
        is_group: bool,
        line: usize,
        head: Range<usize>,
        cases: Range<usize>,
    ) -> DefinitionSpan {
        let (name, column) =
            (name.chars().take(MAX_NAME).collect(), self.column(line).unwrap_or(0));
        DefinitionSpan {
            name,
            is_group,
            column,
            cases,
            skipped: self.marks_skip(head.clone()),
            head,
        }
    }

    /// From the first attribute of what is defined on a line to `end`.
    fn attributes(&self, line: usize, end: usize) -> Range<usize> {
        let mut begin = line;
        for at in
            (line.saturating_sub(MAX_HEAD)..line).rev().filter(|at| self.column(*at).is_some())
        {
            if self.column(at) == self.column(line) && matches!(self.sign(at), "@" | "#" | "[") {
                begin = at;
            } else if self.column(at) <= self.column(line)
                && !matches!(self.sign(at), ")" | "]" | "}")
            {
                break;
            }
        }
        begin..end
    }
}

const ASSERTIONS: [&str; 6] = ["assert", "expect", "should", "require", "refute", "must_"];
const FAILURES: &str = "fail failnow fatal fatalf flunk panic unreachable xctfail error errorf";
/// Words that say nothing about what is tested.
const CONSTANTS: &str = "true none null nil undefined self this $this eq equal be_truthy try await async return run in ok std testing pass end";
const CHAIN: &str = "to be not is and";
const SKIPS: &str = "skip xfail ignore disable todo pending fixme failing expectedfailure";
const SKIP_CALLS: &str = "skip skipf skipnow skiptest ignore inconclusive xfail fixme pending";
const SKIP_WORDS: &str =
    "gtest_skip marktestincomplete marktestskipped skipzigtest xctskip xctskipif xctskipunless";
const HANDLES: &str = "t b tb self this pytest test it ctx context unittest Assert Assume";

/// How a test can fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum AssertionStrength {
    /// It calls nothing, or all that it asserts is constant.
    Vacuous,
    /// It fails where something fails that it calls.
    Calls,
    Asserts,
}

impl SourceTokens<'_> {
    pub(super) fn strength(
        &self,
        mut head: Range<usize>,
        body: Range<usize>,
        helpers: &HashSet<&str>,
    ) -> AssertionStrength {
        if head.any(|at| contains("should_panic expected ExpectedException", self.sign(at))) {
            return AssertionStrength::Asserts;
        }
        let (mut depth, mut is_constant, mut asserts, mut is_trivial, mut calls) =
            (0_i32, true, false, false, false);
        for at in body {
            let (sign, next) = (self.sign(at), self.sign(at + 1));
            if depth <= 0
                && (contains("; { }", sign)
                    || self.column(at).is_some() && !contains(". ) ]", sign))
            {
                (depth, is_constant, asserts) = (0, true, false);
            }
            depth += i32::from(contains("( [", sign)) - i32::from(contains(") ]", sign));
            asserts |= self.is_assertion(at)
                || self.language.is("bats") && sign == "["
                || helpers.contains(sign) && next == "(";
            is_trivial |= asserts;
            if !self.is_constant(at) {
                is_constant = false;
                calls |= contains("( ! <", next)
                    || self.language.has_hash_comments()
                        && self.language.has('(')
                        && self.column(at).is_some();
            }
            if asserts && !is_constant {
                return AssertionStrength::Asserts;
            }
        }
        if calls && !is_trivial { AssertionStrength::Calls } else { AssertionStrength::Vacuous }
    }

    fn is_assertion(&self, at: usize) -> bool {
        let (sign, lower, next, is_method) =
            (self.sign(at), self.lower(at), self.sign(at + 1), self.before(at) == ".");
        let is_called = matches!(next, "(" | "!" | "<");
        if contains(FAILURES, &lower) {
            return is_called && (self.language.is("go") || !lower.starts_with("error"));
        }
        // An import, a variable and Rust's way to unwrap assert nothing.
        let is_other = sign == "require" && is_called
            || sign == "expect" && is_method && self.language.is("rs");
        let is_used = if lower.starts_with("expected") {
            is_called
        } else {
            !contains("= , ) : ; ] }", next)
        };
        let is_check = (!is_method || sign == "Verify")
            && (lower.starts_with("check") || lower.starts_with("verify"));
        is_used && !is_other && ASSERTIONS.iter().any(|part| lower.contains(part))
            || is_called && (is_check || contains("raises throws warns", &lower))
    }

    /// Whether the token is a constant, a sign, or the assertion itself.
    fn is_constant(&self, at: usize) -> bool {
        let is_part = |at| {
            contains(CHAIN, &self.lower(at))
                || self.is_assertion(at) && !contains(FAILURES, &self.lower(at))
        };
        let is_matcher = || {
            self.before(at) == "." && (self.before(at - 1) == ")" || is_part(at.wrapping_sub(2)))
        };
        let is_number = |word: &str| word.starts_with(|first: char| first.is_ascii_digit());
        let is_handle = |word: &str| word == "t" && contains(", .", self.sign(at + 1));
        let is_word_constant = |word| {
            is_number(word)
                || is_handle(word)
                || contains(CONSTANTS, &self.lower(at))
                || is_part(at)
                || is_matcher()
        };
        self.word(at).is_none_or(is_word_constant)
            && self.string(at).is_none_or(|text| !text.contains('$'))
    }

    /// The functions of the file that assert something, for the tests that call them.
    pub(super) fn helpers(&self) -> HashSet<&str> {
        let (mut helpers, mut function) = (HashSet::new(), None);
        for at in 0..self.list.len() {
            match self.sign(at) {
                "const" if matches!(self.sign(at + 3), "(" | "async") => {
                    function = self.word(at + 1);
                }
                "def" | "defp" | "fn" | "fun" | "func" | "function" => {
                    function = self.word(at + 1).or(function);
                }
                word if contains(CALLS, word) => function = None,
                _ if self.is_assertion(at) => helpers.extend(function),
                _ => {}
            }
        }
        helpers
    }

    /// Whether the words before a body switch a test off.
    pub(super) fn marks_skip(&self, mut head: Range<usize>) -> bool {
        let is_off = |lower: &str| {
            SKIPS.split(' ').any(|part| lower.contains(part))
                || contains("cfg fails xit xtest xspecify xdescribe xcontext", lower)
        };
        head.any(|at| {
            is_off(&self.lower(at)) || self.sign(at) == "enabled" && self.sign(at + 2) == "false"
        })
    }

    /// Whether the whole file is skipped: `pytestmark = pytest.mark.skip`, `@moduletag :skip`.
    pub(super) fn skips_file(&self) -> bool {
        let is_mark =
            |at| contains("pytestmark moduletag", self.sign(at)) && self.marks_skip(at..at + 7);
        (0..self.list.len()).any(|at| self.sign(at) == "allow_module_level" || is_mark(at))
    }

    /// Whether a body leaves in its first line, or asks the runner to skip the test.
    pub(super) fn skips(&self, mut body: Range<usize>, column: usize) -> bool {
        let first = body.clone().find(|at| self.column(*at).is_some_and(|inner| inner > column));
        let leaves = |at| {
            self.sign(at) == "return"
                && (self.column(at + 1).is_some() || contains("; Ok None nil", self.sign(at + 1)))
        };
        let is_command = |at| {
            self.language.has_hash_comments()
                && self.column(at).is_some()
                && self.sign(at + 1) != "="
        };
        let is_skip = |at| {
            contains(SKIP_CALLS, &self.lower(at))
                && (is_command(at)
                    || self.before(at) == "." && contains(HANDLES, self.before(at - 1)))
        };
        first.is_some_and(leaves)
            || body.any(|at| is_skip(at) || contains(SKIP_WORDS, &self.lower(at)))
    }
}
