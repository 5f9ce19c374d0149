//! A finding: which rule, how bad, where, and what to do.

use serde::Serialize;

/// Words of a message; what is longer is cut.
const MOST_WORDS: usize = 60;

/// How bad a finding is. Only an error fails the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Listed, for whoever reviews.
    Note,
    /// Doubtful.
    Warning,
    /// Against a rule.
    Error,
}

impl Severity {
    /// The word for it, also SARIF's.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// Something that a pull request did.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct CiFinding {
    /// Which rule: `clauses`, `records`, `features`, `policy`, `authors` or `secrets`.
    pub rule: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// The file, from the project's folder; none where the whole is meant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The line in the head, from one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// What is wrong, and one way forward.
    pub message: String,
}

impl CiFinding {
    /// A finding in a file.
    pub(super) fn at(rule: &'static str, severity: Severity, path: &str, message: &str) -> Self {
        Self { path: Some(path.to_owned()), ..Self::of(rule, severity, message) }
    }

    /// A finding about the whole.
    pub(super) fn of(rule: &'static str, severity: Severity, message: &str) -> Self {
        let words: Vec<&str> = message.split_whitespace().collect();
        let cut = if words.len() > MOST_WORDS { " …" } else { "" };
        let first_words = words.iter().take(MOST_WORDS - usize::from(!cut.is_empty())).copied().collect::<Vec<_>>().join(" ");
        Self { rule, severity, path: None, line: None, message: format!("{first_words}{cut}") }
    }

    /// The same at a line.
    pub(super) fn on(mut self, line: impl Into<Option<usize>>) -> Self {
        self.line = line.into();
        self
    }
}
