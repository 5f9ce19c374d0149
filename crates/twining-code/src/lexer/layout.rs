//! What a formatter adds and removes without changing the program is no token.
//!
//! Everywhere: a comma before a closing bracket. In Python: docstrings, and brackets around all
//! that follows `=` or a keyword. In JavaScript: semicolons, and brackets around the only
//! parameter of an arrow function. In Rust: a comma after a block.

use super::rules::{LayoutRule, LexRules};
use super::scan::{Lexeme, LexemeKind};

/// The lexemes that are left.
pub(super) fn without_layout(bytes: &[u8], rules: &LexRules, lexemes: &[Lexeme]) -> Vec<Lexeme> {
    let mut layout = LayoutFilter { bytes, is_dropped: vec![false; lexemes.len()], lexemes };
    layout.drop_trailing_commas();
    match rules.layout {
        LayoutRule::None => {}
        LayoutRule::Python => layout.drop_python(),
        LayoutRule::JavaScript => layout.drop_javascript(),
        LayoutRule::Rust => layout.drop_commas_after_blocks(),
    }
    let is_dropped = layout.is_dropped;
    let kept = lexemes.iter().zip(is_dropped).filter(|(_, is_dropped)| !is_dropped);
    kept.map(|(lexeme, _)| *lexeme).collect()
}

struct LayoutFilter<'a> {
    bytes: &'a [u8],
    lexemes: &'a [Lexeme],
    is_dropped: Vec<bool>,
}

impl LayoutFilter<'_> {
    /// The sign at `index`; zero for anything else.
    fn sign(&self, index: usize) -> u8 {
        match self.lexemes.get(index) {
            Some(lexeme) if lexeme.kind == LexemeKind::Sign => {
                lexeme.text(self.bytes).first().copied().unwrap_or_default()
            }
            _ => 0,
        }
    }

    fn is_kind(&self, index: usize, kind: LexemeKind) -> bool {
        self.lexemes.get(index).is_some_and(|lexeme| lexeme.kind == kind)
    }

    fn drop(&mut self, index: usize) {
        if let Some(is_dropped) = self.is_dropped.get_mut(index) {
            *is_dropped = true;
        }
    }

    /// Whether the lexeme at `index` begins in a later line than the one before it.
    fn begins_line(&self, index: usize) -> bool {
        let Some(lexeme) = self.lexemes.get(index) else { return true };
        let Some(before) = index.checked_sub(1).and_then(|index| self.lexemes.get(index)) else {
            return true;
        };
        let text = before.text(self.bytes);
        let height = if before.kind == LexemeKind::Text {
            memchr::memchr_iter(b'\n', text).count()
        } else {
            0
        };
        lexeme.line as usize > before.line as usize + height
    }

    fn drop_trailing_commas(&mut self) {
        for index in 0..self.lexemes.len() {
            if self.sign(index) == b',' && b")]}>".contains(&self.sign(index + 1)) {
                self.drop(index);
            }
        }
    }

    fn drop_commas_after_blocks(&mut self) {
        for index in 1..self.lexemes.len() {
            if self.sign(index) == b',' && self.sign(index - 1) == b'}' {
                self.drop(index);
            }
        }
    }

    fn drop_javascript(&mut self) {
        for index in 0..self.lexemes.len() {
            match self.sign(index) {
                b';' => self.drop(index),
                b'=' if index >= 3
                    && self.sign(index + 1) == b'>'
                    && self.sign(index - 1) == b')'
                    && self.is_kind(index - 2, LexemeKind::Word)
                    && self.sign(index - 3) == b'(' =>
                {
                    self.drop(index - 1);
                    self.drop(index - 3);
                }
                _ => {}
            }
        }
    }

    fn drop_python(&mut self) {
        let mut open: Vec<usize> = Vec::new();
        for index in 0..self.lexemes.len() {
            match self.sign(index) {
                b'(' | b'[' | b'{' => open.push(index),
                b')' | b']' | b'}' => {
                    if let Some(begin) = open.pop()
                        && open.is_empty()
                        && self.is_around_a_statement(begin, index)
                    {
                        self.drop(begin);
                        self.drop(index);
                    }
                }
                _ => {}
            }
            if open.is_empty()
                && let Some(begin) = self.docstring(index)
            {
                self.drop(begin);
                self.drop(index);
            }
        }
    }

    /// Where the docstring that ends at `index` begins: a string alone in its lines, first in a
    /// block or in the file.
    fn docstring(&self, index: usize) -> Option<usize> {
        if !self.is_kind(index, LexemeKind::Text) || !self.begins_line(index + 1) {
            return None;
        }
        // Its prefix is a word of its own.
        let has_prefix = index > 0
            && self.is_kind(index - 1, LexemeKind::Word)
            && self.lexemes.get(index - 1).map(|word| word.end)
                == self.lexemes.get(index).map(|text| text.start);
        let begin = if has_prefix { index - 1 } else { index };
        let is_first = begin == 0 || self.sign(begin - 1) == b':';
        (is_first && self.begins_line(begin)).then_some(begin)
    }

    /// Brackets after `=` or a keyword, up to the end of the statement or its colon.
    fn is_around_a_statement(&self, begin: usize, end: usize) -> bool {
        let Some(before) = begin.checked_sub(1) else { return false };
        let follows = match self.sign(before) {
            b'=' => !before.checked_sub(1).is_some_and(|at| b"=!<>".contains(&self.sign(at))),
            0 => self.lexemes.get(before).is_some_and(|word| {
                matches!(
                    word.text(self.bytes),
                    b"return"
                        | b"in"
                        | b"if"
                        | b"elif"
                        | b"while"
                        | b"assert"
                        | b"del"
                        | b"with"
                        | b"import"
                )
            }),
            _ => false,
        };
        follows
            && self.sign(begin) == b'('
            && self.sign(end) == b')'
            && end > begin + 1
            && (self.begins_line(end + 1) || self.sign(end + 1) == b':')
    }
}
