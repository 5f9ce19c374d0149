//! The keys of issuers, fetched from where an administrator said and from nowhere else.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::signing_key::SigningKey;
use super::web_address::is_loopback;

/// How long keys are used before they are looked at again.
const FRESH: Duration = Duration::from_secs(10 * 60);
/// How long they are used while they cannot be fetched.
const USABLE: Duration = Duration::from_secs(60 * 60);
/// How soon they are fetched again, whatever tokens ask for.
const PAUSE: Duration = Duration::from_secs(30);
/// What an answer may take and hold.
const TIMEOUT: Duration = Duration::from_secs(5);
const MAX_BYTES: u64 = 256 * 1024;
const MAX_KEYS: usize = 64;

/// The keys of every issuer that a token came from, by where they are.
#[derive(Default)]
pub(super) struct KeyCache(Mutex<HashMap<String, Arc<IssuerKeys>>>);

#[derive(Default)]
struct IssuerKeys {
    known: Mutex<KnownKeys>,
    /// When they were last asked for. One at a time asks.
    asked: tokio::sync::Mutex<Option<Instant>>,
}

#[derive(Default)]
struct KnownKeys {
    keys: Vec<SigningKey>,
    fetched: Option<Instant>,
}

impl KeyCache {
    /// A key by its name, fetched from there if need be.
    pub(super) async fn find(&self, address: &str, id: &str) -> Option<SigningKey> {
        let keys = {
            let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(known.entry(address.to_owned()).or_default())
        };
        if let Some(key) = keys.find(id, FRESH) {
            return Some(key);
        }
        // While another asks, what was known lately will do.
        let mut asked = match (keys.asked.try_lock(), keys.find(id, USABLE)) {
            (Ok(asked), _) => asked,
            (Err(_), Some(key)) => return Some(key),
            (Err(_), None) => keys.asked.lock().await,
        };
        if asked.is_none_or(|at| at.elapsed() >= PAUSE) {
            let from = address.to_owned();
            let fetched = tokio::task::spawn_blocking(move || fetch(&from)).await;
            *asked = Some(Instant::now());
            if let Ok(Some(fetched)) = fetched {
                *keys.known() = KnownKeys { keys: fetched, fetched: Some(Instant::now()) };
            }
        }
        keys.find(id, USABLE)
    }
}

impl IssuerKeys {
    fn find(&self, id: &str, most: Duration) -> Option<SigningKey> {
        let known = self.known();
        let is_usable = known.fetched.is_some_and(|at| at.elapsed() < most);
        known.keys.iter().filter(|_| is_usable).find(|key| key.id == id).cloned()
    }

    fn known(&self) -> MutexGuard<'_, KnownKeys> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The keys that are published there. Nothing is followed to another place.
fn fetch(address: &str) -> Option<Vec<SigningKey>> {
    let agent: ureq::Agent = ureq::Agent::config_builder()
        .timeout_global(Some(TIMEOUT))
        .max_redirects(0)
        .https_only(!is_loopback(address))
        .build()
        .into();
    let mut answer = agent.get(address).call().ok()?;
    if answer.status() != 200 {
        return None;
    }
    let text = answer.body_mut().with_config().limit(MAX_BYTES).read_to_string().ok()?;
    let published: Value = serde_json::from_str(&text).ok()?;
    let keys = published["keys"].as_array()?;
    Some(keys.iter().take(MAX_KEYS).filter_map(SigningKey::read).collect())
}
