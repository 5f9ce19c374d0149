//! Languages by the endings of their files: how comments, strings and tests are written.

/// How a language brings modules in, and what its comments look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LanguageFamily {
    /// JavaScript and its kin.
    Script,
    Rust,
    /// Other languages with `//` and `/* */`.
    Braces,
    Python,
    /// Other languages with `#`.
    Hash,
    /// Languages with `--`.
    Dashes,
    /// Lists of what is needed: manifests, data, files of no known kind.
    Data,
    /// Text for people.
    Prose,
}

pub(super) struct LanguageRules {
    extensions: &'static str,
    pub(super) family: LanguageFamily,
    /// `!` a line that begins with `#` is for the preprocessor; `(` tests are calls such as
    /// `it("…")`; a quote: its strings may span lines.
    syntax: &'static str,
    /// The keyword of functions that are tests by their name, and how the name begins; none
    /// where tests are not looked for.
    function: Option<(&'static str, &'static str)>,
}

const NAMELESS: Option<(&str, &str)> = Some(("", ""));

const LANGUAGES: &[LanguageRules] = &[
    language("py pyi", LanguageFamily::Python, "", Some(("def", "test"))),
    language("js jsx ts tsx mjs cjs mts cts", LanguageFamily::Script, "(`", NAMELESS),
    language("dart", LanguageFamily::Braces, "(`", NAMELESS),
    language("rs", LanguageFamily::Rust, "\"", NAMELESS),
    language("go", LanguageFamily::Braces, "`", Some(("func", "Test"))),
    language("rb", LanguageFamily::Hash, "(\"", Some(("def", "test_"))),
    language("java cs", LanguageFamily::Braces, "!", NAMELESS),
    language("kt kts scala groovy", LanguageFamily::Braces, "(`", NAMELESS),
    language("php", LanguageFamily::Braces, "!(\"'", Some(("function", "test"))),
    language("swift", LanguageFamily::Braces, "", Some(("func", "test"))),
    language("ex exs", LanguageFamily::Hash, "(\"", NAMELESS),
    language("bats", LanguageFamily::Hash, "(\"'", NAMELESS),
    language("zig cc cpp cxx", LanguageFamily::Braces, "!(", NAMELESS),
    language("c h hpp hh m mm proto scss less", LanguageFamily::Braces, "", None),
    language("vue svelte astro mdx", LanguageFamily::Script, "`", None),
    language("ipynb", LanguageFamily::Python, "", None),
    language("sh bash zsh fish pl pm r jl nim tf mk cmake", LanguageFamily::Hash, "", None),
    language(
        "makefile dockerfile rakefile gemfile gemspec justfile",
        LanguageFamily::Hash,
        "",
        None,
    ),
    language("sql lua hs elm", LanguageFamily::Dashes, "", None),
    language("md markdown rst adoc", LanguageFamily::Prose, "", None),
];
const DATA: LanguageRules = language("", LanguageFamily::Data, "", None);

const fn language(
    extensions: &'static str,
    family: LanguageFamily,
    syntax: &'static str,
    function: Option<(&'static str, &'static str)>,
) -> LanguageRules {
    LanguageRules { extensions, family, syntax, function }
}

impl LanguageRules {
    /// By the name of a file.
    pub(super) fn of(path: &str) -> &'static Self {
        let file = path.rsplit('/').next().unwrap_or(path).to_lowercase();
        let ending = file.rsplit_once('.').map_or(file.as_str(), |(_, ending)| ending);
        LANGUAGES.iter().find(|language| language.is(ending)).unwrap_or(&DATA)
    }

    /// The same, if its tests can be read.
    pub(super) fn of_tests(path: &str) -> Option<&'static Self> {
        Some(Self::of(path)).filter(|language| language.function.is_some())
    }

    pub(super) fn test_function(&self) -> (&'static str, &'static str) {
        self.function.unwrap_or_default()
    }

    pub(super) fn has(&self, syntax: char) -> bool {
        self.syntax.contains(syntax)
    }

    pub(super) fn has_hash_comments(&self) -> bool {
        matches!(self.family, LanguageFamily::Python | LanguageFamily::Hash)
    }

    pub(super) fn is(&self, extension: &str) -> bool {
        contains(self.extensions, extension)
    }
}

/// Whether a list of words, separated by blanks, has this one.
pub(crate) fn contains(list: &str, word: &str) -> bool {
    list.split(' ').any(|listed| listed == word)
}
