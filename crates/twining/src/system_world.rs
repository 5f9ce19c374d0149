//! The world outside: the clock, and chance. The only file that asks either.

use std::time::{SystemTime, UNIX_EPOCH};

use twining_model::{Time, World};

/// This machine's clock and its random source.
pub(crate) struct SystemWorld;

impl World for SystemWorld {
    fn now(&self) -> Time {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Time::from_ms(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
    }

    fn random(&self) -> u128 {
        let mut bytes = [0; 16];
        // Without a random source two processes could give two records one id.
        getrandom::fill(&mut bytes).expect("the operating system gives random bytes");
        u128::from_le_bytes(bytes)
    }
}
