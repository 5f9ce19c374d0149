//! A world in which time moves only when a test says so.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use twining_model::{IdSource, Time, World};

/// 2025-11-15T09:00:00Z, when every test begins: safely before the time on any disk.
pub const MORNING: i64 = 1_763_197_200_000;

/// A clock that a test moves by hand, and chance that counts.
#[derive(Clone, Debug)]
pub struct FixedWorld {
    now: Arc<AtomicI64>,
    drawn: Arc<AtomicU64>,
}

impl FixedWorld {
    /// A world at nine in the morning.
    #[must_use]
    pub fn new() -> Self {
        Self { now: Arc::new(AtomicI64::new(MORNING)), drawn: Arc::default() }
    }

    /// A world at this time.
    #[must_use]
    pub fn at(time: Time) -> Self {
        Self { now: Arc::new(AtomicI64::new(time.as_ms())), drawn: Arc::default() }
    }

    /// Lets time pass.
    pub fn pass(&self, ms: i64) {
        self.now.fetch_add(ms, Ordering::SeqCst);
    }

    /// Ids from this world.
    #[must_use]
    pub fn ids(&self) -> Arc<IdSource> {
        Arc::new(IdSource::new(Box::new(self.clone())))
    }
}

impl Default for FixedWorld {
    fn default() -> Self {
        Self::new()
    }
}

impl World for FixedWorld {
    fn now(&self) -> Time {
        Time::from_ms(self.now.load(Ordering::SeqCst))
    }

    fn random(&self) -> u128 {
        u128::from(self.drawn.fetch_add(1, Ordering::SeqCst)) << 16
    }
}

/// Ids from the real clock and real chance, for tests with several processes.
#[must_use]
pub fn ids() -> Arc<IdSource> {
    struct RealWorld;
    impl World for RealWorld {
        fn now(&self) -> Time {
            let since = std::time::SystemTime::now()
                .duration_since(std::time::UNIX_EPOCH)
                .unwrap_or_default();
            Time::from_ms(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
        }
        fn random(&self) -> u128 {
            use std::hash::{BuildHasher, Hasher};
            let draw = || std::collections::hash_map::RandomState::new().build_hasher().finish();
            u128::from(draw()) << 64 | u128::from(draw())
        }
    }
    Arc::new(IdSource::new(Box::new(RealWorld)))
}
