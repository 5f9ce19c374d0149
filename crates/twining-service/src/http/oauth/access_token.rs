//! An access token: a JWT as it came, and what it says once somebody we trust has signed it.

use serde::Deserialize;
use twining_model::Time;

use super::signing_key::{SigningAlgorithm, SigningKey, decoded};
use crate::principal::AccessRole;

/// The longest token that is looked at.
const MAX_BYTES: usize = 8 * 1024;
/// The longest name of whom a token stands for.
const MAX_SUBJECT: usize = 120;

/// A token that can be read. Nothing in it is believed before [`AccessToken::is_good`].
pub(super) struct AccessToken<'a> {
    message: &'a str,
    signature: Vec<u8>,
    algorithm: SigningAlgorithm,
    /// Which key it names.
    pub(super) key_id: String,
    claims: TokenClaims,
}

#[derive(Deserialize)]
struct TokenHeader {
    alg: SigningAlgorithm,
    kid: String,
    /// Extensions that must be understood: we understand none.
    crit: Option<serde_json::Value>,
}

#[derive(Deserialize)]
struct TokenClaims {
    iss: String,
    sub: String,
    aud: OneOrMany,
    exp: f64,
    nbf: Option<f64>,
    scope: Option<String>,
    /// The same under the name that some issuers use.
    scp: Option<OneOrMany>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

impl OneOrMany {
    fn words(&self) -> impl Iterator<Item = &str> {
        let all = match self {
            Self::One(one) => std::slice::from_ref(one),
            Self::Many(many) => many,
        };
        all.iter().flat_map(|text| text.split(' '))
    }
}

impl<'a> AccessToken<'a> {
    /// Reads a token. None if it is not one, or is signed in a way that we do not accept.
    pub(super) fn read(text: &'a str) -> Option<Self> {
        if text.len() > MAX_BYTES {
            return None;
        }
        let (message, signature) = text.rsplit_once('.')?;
        let (header, claims) = message.split_once('.')?;
        let header: TokenHeader = serde_json::from_slice(&decoded(header)?).ok()?;
        if header.crit.is_some() {
            return None;
        }
        Some(Self {
            message,
            signature: decoded(signature)?,
            algorithm: header.alg,
            key_id: header.kid,
            claims: serde_json::from_slice(&decoded(claims)?).ok()?,
        })
    }

    /// Who it says has issued it.
    pub(super) fn issuer(&self) -> &str {
        &self.claims.iss
    }

    /// Whether the key has signed it, and it is for this endpoint and for now.
    pub(super) fn is_good(&self, key: &SigningKey, endpoint: &str, now: Time) -> bool {
        let now = now.as_ms() as f64 / 1000.0;
        let is_ours = match &self.claims.aud {
            OneOrMany::One(one) => one == endpoint,
            // One for us and others could be sent to us by any of them.
            OneOrMany::Many(many) => many.len() == 1 && many[0] == endpoint,
        };
        is_ours
            && self.claims.exp > now
            && self.claims.nbf.is_none_or(|from| from <= now)
            && key.signed(self.algorithm, self.message.as_bytes(), &self.signature)
    }

    /// Whom it stands for, at its issuer.
    pub(super) fn subject(&self) -> Option<&str> {
        let subject = self.claims.sub.as_str();
        let is_name = !subject.trim().is_empty()
            && subject.chars().count() <= MAX_SUBJECT
            && !subject.chars().any(char::is_control);
        is_name.then_some(subject)
    }

    /// The most that it asks for.
    pub(super) fn role(&self) -> Option<AccessRole> {
        let of_scope = self.claims.scope.iter().flat_map(|scope| scope.split(' '));
        let of_scp = self.claims.scp.iter().flat_map(OneOrMany::words);
        of_scope.chain(of_scp).filter_map(role_of).max()
    }
}

/// The roles that a scope asks for, from least to most.
const ROLES: [AccessRole; 3] = [AccessRole::Reader, AccessRole::Writer, AccessRole::Maintainer];

/// The scopes that we know, from least to most.
pub(super) fn scopes() -> [&'static str; 3] {
    ROLES.map(AccessRole::scope)
}

fn role_of(scope: &str) -> Option<AccessRole> {
    ROLES.into_iter().find(|role| role.scope() == scope)
}
