//! An authorization server as far as a resource server sees it: keys at an address, and tokens.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair};
use serde_json::{Value, json};

/// The name of its key.
const KEY_ID: &str = "key-1";

/// An issuer with one key.
pub(crate) struct TokenIssuer {
    key: EcdsaKeyPair,
    /// What it calls itself.
    pub(crate) url: String,
    asked: Arc<AtomicUsize>,
}

impl TokenIssuer {
    /// Publishes its key on the loopback address.
    pub(crate) fn start() -> Self {
        Self::start_as(|keys| {
            let length = keys.len();
            format!(
                "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{keys}"
            )
        })
    }

    /// Answers whoever asks for its keys with what is made of them.
    pub(crate) fn start_as(answer: impl FnOnce(&str) -> String) -> Self {
        let random = SystemRandom::new();
        let algorithm = &ECDSA_P256_SHA256_FIXED_SIGNING;
        let document = EcdsaKeyPair::generate_pkcs8(algorithm, &random).expect("a key");
        let key = EcdsaKeyPair::from_pkcs8(algorithm, document.as_ref(), &random).expect("a key");
        let point = key.public_key().as_ref();
        let (x, y) = point[1..].split_at(32);
        let jwk = json!({
            "kty": "EC", "crv": "P-256", "use": "sig", "kid": KEY_ID,
            "x": URL_SAFE_NO_PAD.encode(x), "y": URL_SAFE_NO_PAD.encode(y),
        });
        let keys = json!({"keys": [{"kty": "oct", "kid": "shared", "k": "AA"}, jwk]}).to_string();
        let answer = answer(&keys);
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let asked = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&asked);
        std::thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                counter.fetch_add(1, Ordering::SeqCst);
                let lines = BufReader::new(&stream).lines().map_while(Result::ok);
                lines.take_while(|line| !line.is_empty()).for_each(drop);
                let _ = stream.write_all(answer.as_bytes());
            }
        });
        Self { key, url, asked }
    }

    /// Where its keys are.
    pub(crate) fn jwks(&self) -> String {
        format!("{}/keys", self.url)
    }

    /// How often anything was fetched from it.
    pub(crate) fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }

    /// Its public key, as bytes that an attacker may take for a shared secret.
    pub(crate) fn public_key(&self) -> Vec<u8> {
        self.key.public_key().as_ref().to_vec()
    }

    /// Claims that are good for an endpoint for an hour.
    pub(crate) fn claims(&self, endpoint: &str, scope: &str) -> Value {
        json!({
            "iss": self.url, "sub": "ada@example.com", "aud": endpoint, "scope": scope,
            "exp": now() + 3600,
        })
    }

    /// A token with these claims.
    pub(crate) fn token(&self, claims: &Value) -> String {
        self.token_with(&json!({"alg": "ES256", "kid": KEY_ID, "typ": "at+jwt"}), claims)
    }

    /// A token with this header, whatever it says, signed with the key.
    pub(crate) fn token_with(&self, header: &Value, claims: &Value) -> String {
        let message = message(header, claims);
        let signed = self.key.sign(&SystemRandom::new(), message.as_bytes()).expect("signs");
        format!("{message}.{}", URL_SAFE_NO_PAD.encode(signed))
    }
}

/// What is signed of a token.
pub(crate) fn message(header: &Value, claims: &Value) -> String {
    let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    format!("{}.{}", part(header), part(claims))
}

/// Seconds since 1970.
pub(crate) fn now() -> i64 {
    rustix::time::clock_gettime(rustix::time::ClockId::Realtime).tv_sec
}
