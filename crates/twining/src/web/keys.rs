//! Codes and keys. A link carries a code that works once; the page trades it for a key, which
//! lives as long as the server. Neither is ever written to a file.

use std::hint::black_box;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use twining_model::World;

use crate::system_world::SystemWorld;

/// How long a code may wait for its browser.
const CODE_LIFETIME: Duration = Duration::from_secs(60);

/// What a key may be used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KeyAccess {
    /// To look.
    Read,
    /// To act, as the person at whose terminal the code was made.
    Write,
}

/// Why a code buys no key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CodeRefusal {
    /// It bought one before: two browsers had the link.
    Used,
    /// It is too old, or none of ours.
    Expired,
}

/// The codes and keys of one server.
#[derive(Default)]
pub(super) struct KeyRing(Mutex<Vec<IssuedCode>>);

struct IssuedCode {
    code: String,
    access: KeyAccess,
    issued: Instant,
    /// What it was traded for.
    key: Option<String>,
}

impl KeyRing {
    /// A new code.
    pub(super) fn issue(&self, access: KeyAccess, now: Instant) -> String {
        let mut codes = self.codes();
        codes.retain(|known| known.key.is_some() || !is_late(known, now));
        let code = secret();
        codes.push(IssuedCode { code: code.clone(), access, issued: now, key: None });
        code
    }

    /// Trades a code for a key.
    pub(super) fn redeem(
        &self,
        code: &str,
        now: Instant,
    ) -> Result<(String, KeyAccess), CodeRefusal> {
        let mut codes = self.codes();
        match codes.iter_mut().find(|known| is_same(&known.code, code)) {
            Some(known) if known.key.is_some() => Err(CodeRefusal::Used),
            Some(known) if !is_late(known, now) => {
                Ok((known.key.insert(secret()).clone(), known.access))
            }
            _ => Err(CodeRefusal::Expired),
        }
    }

    /// What a key may be used for, if it is one of ours.
    pub(super) fn access_of(&self, key: &str) -> Option<KeyAccess> {
        let codes = self.codes();
        let has_it = |known: &IssuedCode| known.key.as_ref().is_some_and(|own| is_same(own, key));
        // To the end of the list, wherever it is found: the time taken tells nothing.
        codes
            .iter()
            .fold(None, |found, known| if has_it(known) { Some(known.access) } else { found })
    }

    fn codes(&self) -> MutexGuard<'_, Vec<IssuedCode>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_late(code: &IssuedCode, now: Instant) -> bool {
    now.duration_since(code.issued) > CODE_LIFETIME
}

fn secret() -> String {
    format!("{:032x}", SystemWorld.random())
}

/// Compares in a time that depends on the length alone.
fn is_same(one: &str, other: &str) -> bool {
    let differ = |sum, (a, b): (u8, u8)| black_box(sum | (a ^ b));
    one.len() == other.len() && one.bytes().zip(other.bytes()).fold(0, differ) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_buys_one_key_with_what_it_may_do() {
        let (ring, now) = (KeyRing::default(), Instant::now());
        let (reading, acting) =
            (ring.issue(KeyAccess::Read, now), ring.issue(KeyAccess::Write, now));
        let (key, access) = ring.redeem(&acting, now).expect("is fresh");
        assert_eq!((access, ring.access_of(&key)), (KeyAccess::Write, Some(KeyAccess::Write)));
        assert_eq!(ring.redeem(&acting, now), Err(CodeRefusal::Used));
        assert_eq!(ring.redeem(&reading, now).map(|(_, access)| access), Ok(KeyAccess::Read));
    }

    #[test]
    fn a_late_code_buys_nothing_and_is_forgotten() {
        let (ring, now) = (KeyRing::default(), Instant::now());
        let code = ring.issue(KeyAccess::Write, now);
        let late = now + CODE_LIFETIME + Duration::from_millis(1);
        assert_eq!(ring.redeem(&code, late), Err(CodeRefusal::Expired));
        ring.issue(KeyAccess::Read, late);
        assert_eq!(ring.codes().len(), 1);
    }

    #[test]
    fn guesses_open_nothing() {
        let (ring, now) = (KeyRing::default(), Instant::now());
        let code = ring.issue(KeyAccess::Write, now);
        let (key, _) = ring.redeem(&code, now).expect("is fresh");
        for guess in ["", "0", &code, &key[..31], &format!("{key}0"), &key.to_uppercase()] {
            let is_key = guess == key;
            assert_eq!(ring.access_of(guess).is_some(), is_key, "{guess}");
        }
        assert_eq!(ring.redeem(&key, now), Err(CodeRefusal::Expired));
    }
}
