//! The languages that are read with a grammar, told by the extension of a path.

/// A language whose definitions are found with its grammar.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Language {
    /// `.rs`
    Rust,
    /// `.py`, `.pyi`
    Python,
    /// `.go`
    Go,
    /// `.java`
    Java,
    /// `.ts`, `.mts`, `.cts`
    TypeScript,
    /// `.tsx`, and JavaScript: `.js`, `.jsx`, `.mjs`, `.cjs`
    Tsx,
    /// `.c`
    C,
    /// `.cc`, `.cpp`, `.cxx`, `.hh`, `.hpp`, `.hxx`, and `.h`: C++ reads a header of C, not the
    /// other way round.
    Cpp,
    /// `.cs`
    CSharp,
    /// `.rb`, `.rake`
    Ruby,
    /// `.php`
    Php,
}

impl Language {
    /// Every language.
    pub const ALL: [Self; 11] = [
        Self::Rust,
        Self::Python,
        Self::Go,
        Self::Java,
        Self::TypeScript,
        Self::Tsx,
        Self::C,
        Self::Cpp,
        Self::CSharp,
        Self::Ruby,
        Self::Php,
    ];

    /// The language of the file at `path`, if there is a grammar for it.
    #[must_use]
    pub fn of_path(path: &str) -> Option<Self> {
        Some(match extension(path) {
            "rs" => Self::Rust,
            "py" | "pyi" => Self::Python,
            "go" => Self::Go,
            "java" => Self::Java,
            "ts" | "mts" | "cts" => Self::TypeScript,
            "tsx" | "js" | "jsx" | "mjs" | "cjs" => Self::Tsx,
            "c" => Self::C,
            "cc" | "cpp" | "cxx" | "hh" | "hpp" | "hxx" | "h" => Self::Cpp,
            "cs" => Self::CSharp,
            "rb" | "rake" => Self::Ruby,
            "php" => Self::Php,
            _ => return None,
        })
    }

    /// Whether code of one moves to the other as it is: JavaScript becomes TypeScript, C a header.
    #[must_use]
    pub fn is_akin_to(self, other: Self) -> bool {
        let family = |language| match language {
            Self::Tsx => Self::TypeScript,
            Self::C => Self::Cpp,
            other => other,
        };
        family(self) == family(other)
    }

    /// Its name, in small letters.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Rust => "rust",
            Self::Python => "python",
            Self::Go => "go",
            Self::Java => "java",
            Self::TypeScript => "typescript",
            Self::Tsx => "tsx",
            Self::C => "c",
            Self::Cpp => "cpp",
            Self::CSharp => "csharp",
            Self::Ruby => "ruby",
            Self::Php => "php",
        }
    }
}

/// What stands after the last dot of the file's name; empty if there is none.
pub(crate) fn extension(path: &str) -> &str {
    let file = path.rsplit('/').next().unwrap_or(path);
    file.rsplit_once('.').map_or("", |(_, extension)| extension)
}
