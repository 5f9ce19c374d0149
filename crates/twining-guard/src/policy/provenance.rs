//! Which layer a value came from, and lists that grow by layers.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use twining_model::text;

/// A layer of policy, from the one that yields to the one that rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PolicyLayer {
    /// Compiled in.
    Default,
    /// The user's file.
    User,
    /// The project's file.
    Project,
}

impl PolicyLayer {
    /// The word for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::User => "user",
            Self::Project => "project",
        }
    }
}

/// Where a value came from: `default`, or a layer and the line in its file, as in
/// `project:12`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, JsonSchema)]
#[schemars(with = "String")]
pub struct PolicySource {
    /// The layer.
    pub layer: PolicyLayer,
    /// The line in its file; none for what is compiled in.
    pub line: Option<u64>,
    /// The column in that line.
    pub column: Option<u64>,
}

impl PolicySource {
    /// Compiled in.
    pub const DEFAULT: Self = Self { layer: PolicyLayer::Default, line: None, column: None };
}

impl std::fmt::Display for PolicySource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}", self.layer.as_str()),
            None => f.write_str(self.layer.as_str()),
        }
    }
}

impl Serialize for PolicySource {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for PolicySource {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let (name, line) = text
            .split_once(':')
            .map_or((text.as_str(), None), |(name, line)| (name, line.parse().ok()));
        let layer = [PolicyLayer::User, PolicyLayer::Project]
            .into_iter()
            .find(|layer| layer.as_str() == name)
            .unwrap_or(PolicyLayer::Default);
        Ok(Self { layer, line, column: None })
    }
}

/// A value and where it came from.
#[derive(Clone, Debug, PartialEq)]
pub struct Sourced<T> {
    /// The value.
    pub value: T,
    /// Where it came from.
    pub source: PolicySource,
}

/// The texts of a list.
pub fn list(items: &[Sourced<String>]) -> Vec<String> {
    items.iter().map(|item| item.value.clone()).collect()
}

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
