//! Ids: ULIDs, so that sorting by id sorts by time, and the source they come from.

use std::sync::Mutex;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ulid::Ulid;

use crate::limits::InvalidInput;
use crate::time::Time;

/// The id of a record that we made: 26 characters of Crockford base 32.
///
/// Invariant: a valid ULID in upper case. So it is a safe file name, and never
/// a path.
#[derive(
    Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub struct Id(String);

impl Id {
    /// Reads an id that a caller gave for `field`.
    pub fn parse(field: &'static str, text: &str) -> Result<Self, InvalidInput> {
        Self::read(text).ok_or_else(|| {
            InvalidInput::new(field, "must be a 26-character id such as 01M7EB3QWY4C5CPJF6982ZJQ18")
                .because(format!("`{}` is not one", crate::text::excerpt(text, 40)))
        })
    }

    /// Reads an id from a file name or a record.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        let ulid = Ulid::from_string(text).ok()?;
        // `from_string` forgives letters Crockford maps (i, l, o); a file name may not.
        let canonical = ulid.to_string();
        canonical.eq_ignore_ascii_case(text).then_some(Self(canonical))
    }

    /// The id derived from a time and some bits, always the same: for a record from
    /// elsewhere that must get the same id when it comes again.
    #[must_use]
    pub fn from_parts(at: Time, bits: u128) -> Self {
        let ms = u64::try_from(at.as_ms()).unwrap_or(0);
        Self(Ulid::from_parts(ms, bits).to_string())
    }

    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// When the id was made, by its maker's clock.
    #[must_use]
    pub fn time(&self) -> Time {
        let ms = Ulid::from_string(&self.0).map_or(0, |ulid| ulid.timestamp_ms());
        Time::from_ms(i64::try_from(ms).unwrap_or(i64::MAX))
    }
}

impl Default for Id {
    /// Of a record that is not written yet.
    fn default() -> Self {
        Self::from_parts(Time::default(), 0)
    }
}

impl std::fmt::Display for Id {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl AsRef<str> for Id {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl From<Id> for String {
    fn from(id: Id) -> Self {
        id.0
    }
}

impl TryFrom<String> for Id {
    type Error = String;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::read(&text).ok_or_else(|| format!("`{text}` is not a ULID"))
    }
}

/// What the core may ask of the world outside: the time, and chance.
pub trait World: Send + Sync {
    /// The time now.
    fn now(&self) -> Time;
    /// Random bits.
    fn random(&self) -> u128;
}

/// Makes ids that only grow, even when the clock is set back.
pub struct IdSource {
    world: Box<dyn World>,
    last: Mutex<Ulid>,
}

impl IdSource {
    /// Ids from this world's clock and chance.
    #[must_use]
    pub fn new(world: Box<dyn World>) -> Self {
        Self { world, last: Mutex::new(Ulid::nil()) }
    }

    /// The time now.
    #[must_use]
    pub fn now(&self) -> Time {
        self.world.now()
    }

    /// A new id, larger than every one before it from this source.
    #[must_use]
    pub fn next(&self) -> Id {
        let ms = u64::try_from(self.world.now().as_ms()).unwrap_or(0);
        let mut last = self.last.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let fresh = Ulid::from_parts(ms, self.world.random());
        let next = if ms > last.timestamp_ms() { fresh } else { last.increment().unwrap_or(fresh) };
        *last = next;
        Id(next.to_string())
    }
}

impl std::fmt::Debug for IdSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("IdSource").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicI64, Ordering};
    use twining_testcases::each;

    use super::*;

    struct Backwards(AtomicI64);

    impl World for Backwards {
        fn now(&self) -> Time {
            Time::from_ms(self.0.fetch_sub(1000, Ordering::Relaxed))
        }
        fn random(&self) -> u128 {
            7
        }
    }

    #[test]
    fn ids_grow_while_the_clock_runs_backwards() {
        let source = IdSource::new(Box::new(Backwards(AtomicI64::new(1_800_000_000_000))));
        let ids: Vec<Id> = (0..1000).map(|_| source.next()).collect();
        assert!(ids.is_sorted());
        assert_eq!(ids.len(), ids.iter().collect::<std::collections::HashSet<_>>().len());
    }

    #[test]
    fn a_path_is_not_an_id() {
        each(
            [
                "../../x",
                "",
                "CON",
                "01M7EB3QWY4C5CPJF6982ZJQ1/",
                "O1M7EB3QWY4C5CPJF6982ZJQ18",
                "01M7EB3QWY4C5CPJF6982ZJQ180",
            ],
            |hostile| {
                assert_eq!(Id::read(hostile), None, "{hostile}");
            },
        );
        assert!(
            Id::read("01m7eb3qwy4c5cpjf6982zjq18")
                .is_some_and(|id| id.as_str() == "01M7EB3QWY4C5CPJF6982ZJQ18")
        );
    }
}
