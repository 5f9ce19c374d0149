//! What is a comment and a string in which language.

use crate::language::{Language, extension};

/// How a quotation mark is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum QuoteRule {
    /// It is punctuation.
    None,
    /// A string that ends with its line, if nothing else ends it.
    Line,
    /// A string that may span lines.
    Lines,
    /// A string that may span lines and has no escapes.
    Raw,
    /// A template of JavaScript: `${…}` nests.
    Template,
    /// A character or a lifetime of Rust.
    Character,
}

/// Notations of strings that only one language has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StringNotation {
    /// None.
    Plain,
    /// `r#"…"#`
    Rust,
    /// `R"x(…)x"`
    Cpp,
    /// `@"…"` and `"""…"""`
    CSharp,
    /// `"""…"""` and `'''…'''`, or `"""…"""` alone
    Triple,
    /// `<<~END`
    Ruby,
    /// `<<<END`
    Php,
}

/// What a formatter changes in a language beside white space and trailing commas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LayoutRule {
    /// Nothing that is known here.
    None,
    /// Kind of quotes, docstrings, brackets around a whole statement.
    Python,
    /// Kind of quotes, semicolons, brackets around the parameter of an arrow function.
    JavaScript,
    /// A comma after a block.
    Rust,
}

/// The lexical rules of a language or of a kind of file.
#[derive(Debug)]
pub(crate) struct LexRules {
    pub(super) line_comments: &'static [&'static str],
    pub(super) block_comment: Option<(&'static str, &'static str)>,
    pub(super) do_comments_nest: bool,
    pub(super) single: QuoteRule,
    pub(super) double: QuoteRule,
    pub(super) backtick: QuoteRule,
    pub(super) strings: StringNotation,
    pub(super) has_regex: bool,
    pub(super) layout: LayoutRule,
}

const C_LIKE: LexRules = LexRules {
    line_comments: &["//"],
    block_comment: Some(("/*", "*/")),
    do_comments_nest: false,
    single: QuoteRule::Line,
    double: QuoteRule::Line,
    backtick: QuoteRule::None,
    strings: StringNotation::Plain,
    has_regex: false,
    layout: LayoutRule::None,
};
const RUST: LexRules = LexRules {
    do_comments_nest: true,
    single: QuoteRule::Character,
    double: QuoteRule::Lines,
    strings: StringNotation::Rust,
    layout: LayoutRule::Rust,
    ..C_LIKE
};
const PYTHON: LexRules = LexRules {
    line_comments: &["#"],
    block_comment: None,
    strings: StringNotation::Triple,
    layout: LayoutRule::Python,
    ..C_LIKE
};
const GO: LexRules = LexRules { backtick: QuoteRule::Raw, ..C_LIKE };
const JAVA: LexRules = LexRules { strings: StringNotation::Triple, ..C_LIKE };
const JAVASCRIPT: LexRules = LexRules {
    backtick: QuoteRule::Template,
    has_regex: true,
    layout: LayoutRule::JavaScript,
    ..C_LIKE
};
const CPP: LexRules = LexRules { strings: StringNotation::Cpp, ..C_LIKE };
const CSHARP: LexRules = LexRules { strings: StringNotation::CSharp, ..C_LIKE };
const RUBY: LexRules = LexRules {
    line_comments: &["#"],
    block_comment: Some(("=begin", "=end")),
    backtick: QuoteRule::Line,
    strings: StringNotation::Ruby,
    has_regex: true,
    ..C_LIKE
};
const PHP: LexRules = LexRules {
    line_comments: &["//", "#"],
    single: QuoteRule::Lines,
    double: QuoteRule::Lines,
    strings: StringNotation::Php,
    ..C_LIKE
};

// Files without a grammar, by the signs of their comments.
const NESTING: LexRules = LexRules { do_comments_nest: true, ..C_LIKE };
const STYLE_SHEET: LexRules = LexRules { line_comments: &[], ..C_LIKE };
const HASH: LexRules = LexRules { line_comments: &["#"], block_comment: None, ..C_LIKE };
const DASHES: LexRules = LexRules { line_comments: &["--"], ..C_LIKE };
const SEMICOLON: LexRules = LexRules { line_comments: &[";"], block_comment: None, ..C_LIKE };
const PERCENT: LexRules = LexRules { line_comments: &["%"], ..PROSE };
const MARKUP: LexRules = LexRules { block_comment: Some(("<!--", "-->")), ..PROSE };
const PROSE: LexRules = LexRules {
    line_comments: &[],
    block_comment: None,
    single: QuoteRule::None,
    double: QuoteRule::None,
    ..C_LIKE
};

impl LexRules {
    /// The rules for the file at `path`.
    pub(crate) fn of_path(path: &str) -> &'static Self {
        match Language::of_path(path) {
            Some(Language::Rust) => &RUST,
            Some(Language::Python) => &PYTHON,
            Some(Language::Go) => &GO,
            Some(Language::Java) => &JAVA,
            Some(Language::TypeScript | Language::Tsx) => &JAVASCRIPT,
            Some(Language::C) => &C_LIKE,
            Some(Language::Cpp) => &CPP,
            Some(Language::CSharp) => &CSHARP,
            Some(Language::Ruby) => &RUBY,
            Some(Language::Php) => &PHP,
            None => Self::of_extension(extension(path)),
        }
    }

    fn of_extension(extension: &str) -> &'static Self {
        match extension {
            "swift" | "kt" | "kts" | "scala" | "dart" => &NESTING,
            "proto" | "zig" | "groovy" | "gradle" | "m" | "mm" | "scss" | "less" | "jsonc"
            | "json5" => &C_LIKE,
            "css" => &STYLE_SHEET,
            "sh" | "bash" | "zsh" | "fish" | "yml" | "yaml" | "toml" | "pl" | "pm" | "r" | "ex"
            | "exs" | "nix" | "tf" | "cmake" | "mk" | "conf" | "properties" => &HASH,
            "sql" | "lua" | "hs" | "elm" | "ada" => &DASHES,
            "ini" | "el" | "lisp" | "clj" | "scm" | "asm" => &SEMICOLON,
            "tex" | "erl" => &PERCENT,
            "html" | "htm" | "xml" | "svg" | "md" | "vue" | "svelte" => &MARKUP,
            _ => &PROSE,
        }
    }
}
