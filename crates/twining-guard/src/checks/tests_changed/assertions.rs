//! Whether a test can fail and whether it is skipped, judged by the words it uses.

use std::collections::HashSet;
use std::ops::Range;

use super::definitions::CALLS;
use super::tokens::SourceTokens;
use crate::checks::contains;

const ASSERTIONS: [&str; 6] = ["assert", "expect", "should", "require", "refute", "must_"];
const FAILURES: &str = "fail failnow fatal fatalf flunk panic unreachable xctfail error errorf";
/// Words that say nothing about what is tested.
const CONSTANTS: &str =
    "true none null nil undefined self this $this eq equal be_truthy try await async return run in ok std testing pass end";
const CHAIN: &str = "to be not is and";
const SKIPS: [&str; 9] = ["skip", "xfail", "ignore", "disable", "todo", "pending", "fixme", "failing", "expectedfailure"];
const SKIP_CALLS: &str = "skip skipf skipnow skiptest ignore inconclusive xfail fixme pending";
const SKIP_WORDS: &str = "gtest_skip marktestincomplete marktestskipped skipzigtest xctskip xctskipif xctskipunless";
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
    pub(super) fn strength(&self, mut head: Range<usize>, body: Range<usize>, helpers: &HashSet<&str>) -> AssertionStrength {
        if head.any(|at| contains("should_panic expected ExpectedException", self.sign(at))) {
            return AssertionStrength::Asserts;
        }
        let (mut depth, mut is_constant, mut asserts, mut is_trivial, mut calls) = (0_i32, true, false, false, false);
        for at in body {
            let (sign, next) = (self.sign(at), self.sign(at + 1));
            if depth <= 0 && (contains("; { }", sign) || self.column(at).is_some() && !contains(". ) ]", sign)) {
                (depth, is_constant, asserts) = (0, true, false);
            }
            depth += i32::from(contains("( [", sign)) - i32::from(contains(") ]", sign));
            asserts |= self.is_assertion(at) || self.language.is("bats") && sign == "[" || helpers.contains(sign) && next == "(";
            is_trivial |= asserts;
            if !self.is_constant(at) {
                is_constant = false;
                calls |= contains("( ! <", next) || self.language.has('#') && self.language.has('(') && self.column(at).is_some();
            }
            if asserts && !is_constant {
                return AssertionStrength::Asserts;
            }
        }
        if calls && !is_trivial { AssertionStrength::Calls } else { AssertionStrength::Vacuous }
    }

    fn is_assertion(&self, at: usize) -> bool {
        let (sign, lower, next, is_method) = (self.sign(at), self.lower(at), self.sign(at + 1), self.before(at) == ".");
        let is_called = matches!(next, "(" | "!" | "<");
        if contains(FAILURES, &lower) {
            return is_called && (self.language.is("go") || !lower.starts_with("error"));
        }
        // An import, a variable and Rust's way to unwrap assert nothing.
        let is_other = sign == "require" && is_called || sign == "expect" && is_method && self.language.is("rs");
        let is_used = if lower.starts_with("expected") { is_called } else { !contains("= , ) : ; ] }", next) };
        let is_check = (!is_method || sign == "Verify") && (lower.starts_with("check") || lower.starts_with("verify"));
        is_used && !is_other && ASSERTIONS.iter().any(|part| lower.contains(part))
            || is_called && (is_check || contains("raises throws warns", &lower))
    }

    /// Whether the token is a constant, a sign, or the assertion itself.
    fn is_constant(&self, at: usize) -> bool {
        let is_part = |at| contains(CHAIN, &self.lower(at)) || self.is_assertion(at) && !contains(FAILURES, &self.lower(at));
        let is_matcher = || self.before(at) == "." && (self.before(at - 1) == ")" || is_part(at.wrapping_sub(2)));
        let is_number = |word: &str| word.starts_with(|first: char| first.is_ascii_digit());
        let is_handle = |word: &str| word == "t" && contains(", .", self.sign(at + 1));
        let is_word_constant =
            |word| is_number(word) || is_handle(word) || contains(CONSTANTS, &self.lower(at)) || is_part(at) || is_matcher();
        self.word(at).is_none_or(is_word_constant) && self.string(at).is_none_or(|text| !text.contains('$'))
    }

    /// The functions of the file that assert something, for the tests that call them.
    pub(super) fn helpers(&self) -> HashSet<&str> {
        let (mut helpers, mut function) = (HashSet::new(), None);
        for at in 0..self.list.len() {
            match self.sign(at) {
                "const" if matches!(self.sign(at + 3), "(" | "async") => function = self.word(at + 1),
                "def" | "defp" | "fn" | "fun" | "func" | "function" => function = self.word(at + 1).or(function),
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
            SKIPS.iter().any(|part| lower.contains(part)) || contains("cfg fails xit xtest xspecify xdescribe xcontext", lower)
        };
        head.any(|at| is_off(&self.lower(at)) || self.sign(at) == "enabled" && self.sign(at + 2) == "false")
    }

    /// Whether the whole file is skipped: `pytestmark = pytest.mark.skip`, `@moduletag :skip`.
    pub(super) fn skips_file(&self) -> bool {
        let is_mark = |at| contains("pytestmark moduletag", self.sign(at)) && self.marks_skip(at..at + 7);
        (0..self.list.len()).any(|at| self.sign(at) == "allow_module_level" || is_mark(at))
    }

    /// Whether a body leaves in its first line, or asks the runner to skip the test.
    pub(super) fn skips(&self, mut body: Range<usize>, column: usize) -> bool {
        let first = body.clone().find(|at| self.column(*at).is_some_and(|inner| inner > column));
        let leaves = |at| self.sign(at) == "return" && (self.column(at + 1).is_some() || contains("; Ok None nil", self.sign(at + 1)));
        let is_command = |at| self.language.has('#') && self.column(at).is_some() && self.sign(at + 1) != "=";
        let is_skip = |at| {
            contains(SKIP_CALLS, &self.lower(at)) && (is_command(at) || self.before(at) == "." && contains(HANDLES, self.before(at - 1)))
        };
        first.is_some_and(leaves) || body.any(|at| is_skip(at) || contains(SKIP_WORDS, &self.lower(at)))
    }
}
