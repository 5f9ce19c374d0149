//! Whether a test can fail and whether it is skipped, judged by the words it uses.

use std::collections::HashSet;
use std::ops::Range;

use super::definitions::CALLS;
use super::paths::contains;
use super::tokens::Tokens;

const ASSERTIONS: [&str; 6] = ["assert", "expect", "should", "require", "refute", "must_"];
const FAILURES: &str = "fail failnow fatal fatalf flunk panic unreachable xctfail error errorf";
/// Words that say nothing about what is tested.
const CONSTANTS: &str = "true none null nil undefined t self this $this eq equal be_truthy try await async return run in ok std testing";
const CHAIN: &str = "to be not is and";
const SMOKE: [&str; 5] = ["unwrap", "getby", "findby", "waitfor", "expect"];
const SKIPS: [&str; 9] = ["skip", "xfail", "ignore", "disable", "todo", "pending", "fixme", "failing", "expectedfailure"];
const SKIP_CALLS: &str = "skip skipf skipnow skiptest ignore inconclusive xfail fixme pending";
const SKIP_WORDS: &str = "gtest_skip marktestincomplete marktestskipped skipzigtest xctskip xctskipif xctskipunless";
const HANDLES: &str = "t b tb self this pytest test it ctx context unittest Assert Assume";

/// How a test can fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Strength {
    /// It asserts nothing, or only constants.
    Vacuous,
    /// It asserts nothing, but breaks where its subject does.
    Smoke,
    Asserts,
}

impl Tokens<'_> {
    pub(super) fn strength(&self, mut head: Range<usize>, body: Range<usize>, helpers: &HashSet<&str>) -> Strength {
        if head.any(|at| contains("should_panic expected ExpectedException", self.sign(at))) {
            return Strength::Asserts;
        }
        let (mut strength, mut depth, mut asserts, mut is_constant) = (Strength::Vacuous, 0_usize, false, true);
        for at in body {
            let (sign, lower) = (self.sign(at), self.sign(at).to_ascii_lowercase());
            let begins = matches!(sign, ";" | "{" | "}") || self.column(at).is_some() && !matches!(sign, "." | ")" | "]");
            if begins && depth == 0 {
                (asserts, is_constant) = (false, true);
            }
            depth += usize::from(matches!(sign, "(" | "["));
            depth = depth.saturating_sub(usize::from(matches!(sign, ")" | "]")));
            asserts |= self.is_assertion(at, &lower) || self.language.is("bats") && sign == "[" || helpers.contains(sign);
            is_constant &= self.is_constant(at, &lower);
            if asserts && !is_constant {
                return Strength::Asserts;
            }
            // The handle of a test is given to what asserts.
            let is_handle = sign == "t" && matches!(self.sign(at + 1), "," | ")" | ".") || sign == "?";
            let is_smoke = is_handle || SMOKE.iter().any(|part| lower.contains(part)) || self.language.is("bats") && !is_constant;
            strength = if is_smoke { Strength::Smoke } else { strength };
        }
        strength
    }

    fn is_assertion(&self, at: usize, lower: &str) -> bool {
        let (sign, next, is_method) = (self.sign(at), self.sign(at + 1), self.before(at) == ".");
        let is_called = matches!(next, "(" | "!" | "<");
        if contains(FAILURES, lower) {
            return is_called && (self.language.is("go") || !lower.starts_with("error"));
        }
        // An import, a variable and Rust's way to unwrap assert nothing.
        let is_other = matches!(next, "=" | "," | ")" | ":" | ";" | "]" | "}")
            || sign == "require" && is_called
            || lower == "expect" && is_method && self.language.is("rs")
            || lower.starts_with("expected") && !is_called;
        let is_check = ["check", "verify"].iter().any(|prefix| {
            lower.starts_with(prefix) && sign[prefix.len()..].chars().next().is_none_or(|next| next == '_' || next.is_uppercase())
        });
        !is_other && ASSERTIONS.iter().any(|part| lower.contains(part))
            || is_called && (contains("raises throws warns", lower) || is_check && (!is_method || sign.starts_with('V')))
    }

    /// Whether the token is a constant, a sign, or the assertion itself.
    fn is_constant(&self, at: usize, lower: &str) -> bool {
        let is_part = |at, lower: &str| contains(CHAIN, lower) || self.is_assertion(at, lower) && !contains(FAILURES, lower);
        let is_matcher = |owner: &str| owner == ")" || is_part(at - 2, &owner.to_ascii_lowercase());
        match self.word(at) {
            None => self.string(at).is_none_or(|text| !text.contains('$')),
            Some(word) if word.starts_with(|first: char| first.is_ascii_digit()) => true,
            Some(_) => contains(CONSTANTS, lower) || is_part(at, lower) || self.before(at) == "." && is_matcher(self.before(at - 1)),
        }
    }

    /// The functions of the file that assert something, for the tests that call them.
    pub(super) fn helpers(&self) -> HashSet<&str> {
        let (mut helpers, mut function) = (HashSet::new(), None);
        for at in 0..self.list.len() {
            match self.sign(at) {
                "def" | "defp" | "fn" | "fun" | "func" | "function" | "const" => function = self.word(at + 1),
                word if contains(CALLS, word) => function = None,
                word if self.is_assertion(at, &word.to_ascii_lowercase()) => helpers.extend(function),
                _ => {}
            }
        }
        helpers
    }

    /// Whether the words before a body switch a test off.
    pub(super) fn marks_skip(&self, mut head: Range<usize>) -> bool {
        head.any(|at| {
            let lower = self.sign(at).to_ascii_lowercase();
            SKIPS.iter().any(|part| lower.contains(part))
                || contains("cfg fails", &lower)
                || lower == "enabled" && self.sign(at + 2) == "false"
        })
    }

    /// Whether the whole file is skipped: `pytestmark = pytest.mark.skip`, `@moduletag :skip`.
    pub(super) fn skips_file(&self) -> bool {
        let is_mark = |at| contains("pytestmark moduletag", self.sign(at)) && self.marks_skip(at..at + 7);
        (0..self.list.len()).any(|at| self.sign(at) == "allow_module_level" || is_mark(at))
    }

    /// Whether a body leaves in its first line, or asks the runner to skip the test.
    pub(super) fn skips(&self, mut body: Range<usize>, column: usize) -> bool {
        let leaves = |at| self.sign(at) == "return" && (self.column(at + 1).is_some() || contains("; Ok None nil", self.sign(at + 1)));
        let first = body.clone().find(|at| self.column(*at).is_some_and(|inner| inner > column));
        first.is_some_and(leaves)
            || body.any(|at| {
                let lower = self.sign(at).to_ascii_lowercase();
                let is_owned = self.before(at) == "." && contains(HANDLES, self.before(at - 1));
                let is_command = self.language.has('#') && self.column(at).is_some() && self.sign(at + 1) != "=";
                contains(SKIP_WORDS, &lower) || contains(SKIP_CALLS, &lower) && (is_owned || is_command)
            })
    }
}
