//! Percent: a share that prints as it compares.
//!
//! Kept in whole millionths: 0.29 × 100 is 28.999… in floating point, and a bar
//! of 80% must not be missed by a value that reads 80%.

use schemars::JsonSchema;
use serde::Serialize;

const WHOLE: u32 = 1_000_000;

/// A share from 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, JsonSchema)]
#[schemars(with = "f64")]
pub struct Percent(u32);

impl Percent {
    /// Reads a share: a fraction up to 1, or a percentage above it.
    #[must_use]
    pub fn read(given: f64) -> Option<Self> {
        match given {
            given if (0.0..=1.0).contains(&given) => Some(Self::rounded(given)),
            given if given > 1.0 && given <= 100.0 => Some(Self::rounded(given / 100.0)),
            _ => None,
        }
    }

    /// `part` of `whole`; none of nothing.
    #[must_use]
    pub fn of(part: u64, whole: u64) -> Option<Self> {
        let millionths = u128::from(part.min(whole)) * u128::from(WHOLE) / u128::from(whole).max(1);
        (whole > 0).then(|| Self(u32::try_from(millionths).unwrap_or(WHOLE)))
    }

    /// As a fraction.
    #[must_use]
    pub fn fraction(self) -> f64 {
        f64::from(self.0) / f64::from(WHOLE)
    }

    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "callers pass fractions from 0 to 1")]
    fn rounded(fraction: f64) -> Self {
        Self((fraction * f64::from(WHOLE)).round() as u32)
    }
}

impl std::fmt::Display for Percent {
    /// At most two decimals, cut and not rounded: what misses a bar never reads
    /// as if it met it.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let hundredths = self.0 / 100;
        let decimals = format!("{:02}", hundredths % 100);
        match decimals.trim_end_matches('0') {
            "" => write!(f, "{}%", hundredths / 100),
            decimals => write!(f, "{}.{decimals}%", hundredths / 100),
        }
    }
}

impl Serialize for Percent {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.fraction())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_shown_as_it_was_meant() {
        let shown = |given| Percent::read(given).map(|percent| percent.to_string());
        for (given, percent) in [
            (0.80, "80%"),
            (80.0, "80%"),
            (60.0, "60%"),
            (0.29, "29%"),
            (0.57, "57%"),
            (0.8499, "84.99%"),
            (1.0, "100%"),
            (0.0, "0%"),
            (79.996, "79.99%"),
        ] {
            assert_eq!(shown(given).as_deref(), Some(percent), "{given}");
        }
        for wrong in [-0.1, 100.5, f64::NAN, f64::INFINITY] {
            assert_eq!(shown(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn eight_of_ten_is_eighty_percent_and_nothing_of_nothing_is_no_share() {
        assert_eq!(Percent::of(8, 10), Percent::read(0.8));
        assert_eq!(Percent::of(0, 0), None);
        assert_eq!(Percent::of(u64::MAX, u64::MAX), Percent::read(1.0));
        assert!(Percent::of(799_999, 1_000_000) < Percent::read(0.8));
    }
}
