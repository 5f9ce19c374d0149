//! Time: milliseconds since 1970 in UTC, written as `2026-11-15T00:53:27.070Z`.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::limits::InvalidInput;

/// A moment, to the millisecond. Milliseconds because ULIDs and the TypeScript
/// server use them: a finer clock would not survive a round trip.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub struct Time(i64);

impl Time {
    /// The moment `ms` milliseconds after 1970, clamped to years 0..=9999.
    #[must_use]
    pub fn from_ms(ms: i64) -> Self {
        Self(ms.clamp(-62_167_219_200_000, 253_402_207_200_000))
    }

    /// Milliseconds since 1970.
    #[must_use]
    pub fn as_ms(self) -> i64 {
        self.0
    }

    /// Reads ISO 8601 with an offset or `Z`; a bare date means its midnight in UTC.
    pub fn parse(field: &'static str, text: &str) -> Result<Self, InvalidInput> {
        Self::read(text).ok_or_else(|| {
            InvalidInput::new(field, "must be an ISO 8601 time such as 2026-11-15T09:30:00Z")
                .because(format!("`{}` is not one", crate::text::excerpt(text, 40)))
        })
    }

    /// Reads a time from a file, where an invalid one is not an error.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        let text = text.trim();
        if let Ok(at) = text.parse::<Timestamp>() {
            return Some(Self::from_ms(at.as_millisecond()));
        }
        let date: jiff::civil::Date = text.parse().ok()?;
        let midnight = date.to_zoned(jiff::tz::TimeZone::UTC).ok()?;
        (text.len() <= 10).then(|| Self::from_ms(midnight.timestamp().as_millisecond()))
    }

    /// The UTC date, as archive files are named: `2026-11-15`.
    #[must_use]
    pub fn date(self) -> String {
        self.to_string().chars().take(10).collect()
    }

    /// Time passed since `earlier`, zero if that is in the future.
    #[must_use]
    pub fn since(self, earlier: Self) -> std::time::Duration {
        std::time::Duration::from_millis(u64::try_from(self.0 - earlier.0).unwrap_or(0))
    }
}

impl std::fmt::Display for Time {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let at = Timestamp::from_millisecond(self.0).map_err(|_| std::fmt::Error)?;
        write!(f, "{at:.3}")
    }
}

impl From<Time> for String {
    fn from(time: Time) -> Self {
        time.to_string()
    }
}

impl TryFrom<String> for Time {
    type Error = String;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::read(&text).ok_or_else(|| format!("`{text}` is not an ISO 8601 time"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_prints_as_the_typescript_server_prints_it() {
        let time = Time::parse("since", "2026-11-15T00:53:27.07Z").expect("valid");
        assert_eq!(time.to_string(), "2026-11-15T00:53:27.070Z");
    }

    #[test]
    fn an_offset_is_converted_and_a_bare_date_is_midnight() {
        assert_eq!(Time::read("2026-11-15T02:00:00+02:00"), Time::read("2026-11-15"));
    }

    #[test]
    fn yesterday_is_refused_by_name() {
        let refused = Time::parse("since", "yesterday").expect_err("not a time");
        assert_eq!(refused.field, "since");
    }

    #[test]
    fn absurd_milliseconds_still_print() {
        assert!(Time::from_ms(i64::MAX).to_string().starts_with("9999"));
        assert!(Time::from_ms(i64::MIN).to_string().len() >= 20);
    }
}
