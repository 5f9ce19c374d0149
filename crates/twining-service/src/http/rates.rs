//! Rates: how often a token and a tenant may call, and how many calls of a token run at once.
//!
//! A limit is of this node; it is there to protect other callers, not to bill anybody.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// What a token may save up, in seconds of its rate.
const TOKEN_SAVES: f64 = 5.0;
/// The same for a tenant.
const TENANT_SAVES: f64 = 2.0;
/// Calls of one token at a time.
const AT_ONCE: usize = 16;
/// Callers that are remembered; those that have been quiet are forgotten first.
const MOST_KNOWN: usize = 10_000;

#[derive(Clone, Copy, Debug)]
struct BucketSize {
    per_second: f64,
    burst: f64,
}

/// Calls a second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallRates {
    /// Of one token.
    pub token: u32,
    /// Of all tokens of a tenant.
    pub tenant: u32,
}

impl Default for CallRates {
    fn default() -> Self {
        Self { token: 20, tenant: 500 }
    }
}

/// The limits of everybody who called lately.
#[derive(Debug)]
pub(super) struct RateLimits {
    rates: CallRates,
    callers: Mutex<HashMap<String, CallerLimits>>,
}

#[derive(Debug)]
struct CallerLimits {
    bucket: TokenBucket,
    running: Arc<Semaphore>,
}

#[derive(Debug)]
struct TokenBucket {
    size: BucketSize,
    left: f64,
    filled: Instant,
}

impl TokenBucket {
    fn full(size: BucketSize, now: Instant) -> Self {
        Self { size, left: size.burst, filled: now }
    }

    fn fill(&mut self, now: Instant) {
        let passed = now.saturating_duration_since(self.filled).as_secs_f64();
        self.left = (self.left + passed * self.size.per_second).min(self.size.burst);
        self.filled = now;
    }

    /// Takes one, or says how long until there is one.
    fn take(&mut self, now: Instant) -> Result<(), Duration> {
        self.fill(now);
        if self.left < 1.0 {
            return Err(Duration::from_secs_f64((1.0 - self.left) / self.size.per_second));
        }
        self.left -= 1.0;
        Ok(())
    }
}

impl BucketSize {
    fn new(per_second: u32, saves: f64) -> Self {
        let per_second = f64::from(per_second.max(1));
        Self { per_second, burst: per_second * saves }
    }
}

impl RateLimits {
    /// These limits, and nobody called yet.
    pub(super) fn new(rates: CallRates) -> Self {
        Self { rates, callers: Mutex::default() }
    }

    /// Lets a call through, for as long as the permit lives; else how long to wait.
    pub(super) fn admit(
        &self,
        token: &str,
        tenant: &str,
        now: Instant,
    ) -> Result<OwnedSemaphorePermit, Duration> {
        let mut callers = self.callers.lock().unwrap_or_else(PoisonError::into_inner);
        if callers.len() >= MOST_KNOWN {
            callers.retain(|_, known| {
                known.bucket.fill(now);
                known.bucket.left < known.bucket.size.burst
                    || known.running.available_permits() < AT_ONCE
            });
        }
        // A tenant's name and a token's id never meet: one has a prefix.
        let limits = |size| CallerLimits {
            bucket: TokenBucket::full(size, now),
            running: Arc::new(Semaphore::new(AT_ONCE)),
        };
        let caller = callers
            .entry(token.to_owned())
            .or_insert_with(|| limits(BucketSize::new(self.rates.token, TOKEN_SAVES)));
        let permit =
            Arc::clone(&caller.running).try_acquire_owned().map_err(|_| Duration::from_secs(1))?;
        caller.bucket.take(now)?;
        let tenant = callers
            .entry(format!("tenant {tenant}"))
            .or_insert_with(|| limits(BucketSize::new(self.rates.tenant, TENANT_SAVES)));
        tenant.bucket.take(now)?;
        Ok(permit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_that_floods_waits_and_another_one_does_not() {
        let (limits, now) = (RateLimits::new(CallRates::default()), Instant::now());
        for _ in 0..100 {
            let _running = limits.admit("a", "shop", now).expect("within the burst");
        }
        let wait = limits.admit("a", "shop", now).expect_err("beyond it");
        assert!(wait <= Duration::from_millis(50), "{wait:?}");
        let _running = limits.admit("b", "shop", now).expect("has a rate of its own");
        let _running =
            limits.admit("a", "shop", now + Duration::from_millis(60)).expect("has waited");
    }

    #[test]
    fn the_seventeenth_call_at_the_same_time_waits() {
        let (limits, now) = (RateLimits::new(CallRates::default()), Instant::now());
        let running: Vec<_> =
            (0..16).map(|_| limits.admit("a", "shop", now).expect("one of sixteen")).collect();
        limits.admit("a", "shop", now).expect_err("one too many");
        drop(running);
        let _running = limits.admit("a", "shop", now).expect("they have ended");
    }

    #[test]
    fn all_tokens_of_a_tenant_share_its_rate() {
        let (limits, now) = (RateLimits::new(CallRates::default()), Instant::now());
        let refused = (0..1100).filter(|n| limits.admit(&format!("t{n}"), "shop", now).is_err());
        assert_eq!(refused.count(), 100);
        let _running = limits.admit("x", "other", now).expect("another tenant has its own");
    }
}
