//! Mistakes in a policy file: where, what, and what was probably meant.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use twining_model::text;

/// Something in a policy file that has no effect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Mistake {
    /// Which file.
    pub file: String,
    /// Which line, from one.
    pub line: u64,
    /// Which column, from one.
    pub column: u64,
    /// What is wrong.
    pub message: String,
    /// What was probably meant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suggestion: Option<String>,
}

impl Mistake {
    /// A file of which nothing can be used.
    pub fn whole(file: &str, why: &str) -> Self {
        let message = format!("the file cannot be used: {}", text::excerpt(why, 160));
        Self { file: file.to_owned(), line: 1, column: 1, message, suggestion: None }
    }
}

impl std::fmt::Display for Mistake {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}:{}: {}", self.file, self.line, self.column, self.message)?;
        self.suggestion.as_ref().map_or(Ok(()), |suggestion| write!(f, "; {suggestion}"))
    }
}
