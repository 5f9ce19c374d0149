//! Public keys of issuers, and the algorithms they may sign by.
//!
//! All of them are asymmetric: there is no way to write `none` or a shared secret here.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256, RSA_PSS_2048_8192_SHA256,
    RsaPublicKeyComponents, UnparsedPublicKey,
};
use serde::Deserialize;
use serde_json::Value;

/// How a token may be signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub(super) enum SigningAlgorithm {
    #[serde(rename = "RS256")]
    Rs256,
    #[serde(rename = "PS256")]
    Ps256,
    #[serde(rename = "ES256")]
    Es256,
    #[serde(rename = "EdDSA")]
    EdDsa,
}

/// A key of an issuer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SigningKey {
    /// Its name in the headers of tokens.
    pub(super) id: String,
    /// The one algorithm it is for, if the issuer says so.
    algorithm: Option<SigningAlgorithm>,
    material: KeyMaterial,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum KeyMaterial {
    Rsa {
        n: Vec<u8>,
        e: Vec<u8>,
    },
    /// An uncompressed point.
    P256(Vec<u8>),
    Ed25519(Vec<u8>),
}

/// A key as issuers publish it.
#[derive(Deserialize)]
struct Jwk {
    kid: String,
    kty: String,
    crv: Option<String>,
    #[serde(rename = "use")]
    purpose: Option<String>,
    alg: Option<Value>,
    n: Option<String>,
    e: Option<String>,
    x: Option<String>,
    y: Option<String>,
}

impl SigningKey {
    /// A published key, if it has a name and signs by one of our algorithms.
    pub(super) fn read(jwk: &Value) -> Option<Self> {
        let jwk = Jwk::deserialize(jwk).ok()?;
        if jwk.purpose.is_some_and(|purpose| purpose != "sig") {
            return None;
        }
        let bytes = |text: Option<String>| decoded(&text?);
        let material = match (jwk.kty.as_str(), jwk.crv.as_deref()) {
            ("RSA", _) => KeyMaterial::Rsa { n: bytes(jwk.n)?, e: bytes(jwk.e)? },
            ("EC", Some("P-256")) => {
                KeyMaterial::P256([vec![4], bytes(jwk.x)?, bytes(jwk.y)?].concat())
            }
            ("OKP", Some("Ed25519")) => KeyMaterial::Ed25519(bytes(jwk.x)?),
            _ => return None,
        };
        let algorithm = match jwk.alg {
            None => None,
            Some(alg) => Some(SigningAlgorithm::deserialize(alg).ok()?),
        };
        Some(Self { id: jwk.kid, algorithm, material })
    }

    /// Whether a message was signed with it by this algorithm.
    pub(super) fn signed(
        &self,
        algorithm: SigningAlgorithm,
        message: &[u8],
        signature: &[u8],
    ) -> bool {
        if self.algorithm.is_some_and(|only| only != algorithm) {
            return false;
        }
        let verified = match (&self.material, algorithm) {
            (KeyMaterial::Rsa { n, e }, SigningAlgorithm::Rs256) => RsaPublicKeyComponents { n, e }
                .verify(&RSA_PKCS1_2048_8192_SHA256, message, signature),
            (KeyMaterial::Rsa { n, e }, SigningAlgorithm::Ps256) => RsaPublicKeyComponents { n, e }
                .verify(&RSA_PSS_2048_8192_SHA256, message, signature),
            (KeyMaterial::P256(point), SigningAlgorithm::Es256) => {
                UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point).verify(message, signature)
            }
            (KeyMaterial::Ed25519(key), SigningAlgorithm::EdDsa) => {
                UnparsedPublicKey::new(&ED25519, key).verify(message, signature)
            }
            _ => return false,
        };
        verified.is_ok()
    }
}

/// Base64 as in tokens: for URLs, without padding.
pub(super) fn decoded(text: &str) -> Option<Vec<u8>> {
    URL_SAFE_NO_PAD.decode(text).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The example of RFC 7515, A.2.
    const MESSAGE: &str = "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ";
    const N: &str = "ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ";
    const SIGNATURE: &str = "cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw";

    #[test]
    fn an_rsa_signature_of_the_standard_is_known_and_an_altered_one_is_not() {
        let signature = decoded(SIGNATURE).expect("is base64");
        let read = |alg: &str| {
            let jwk =
                json!({"kty": "RSA", "kid": "a", "use": "sig", "alg": alg, "n": N, "e": "AQAB"});
            SigningKey::read(&jwk).expect("a key")
        };
        let rs256 = read("RS256");
        let signed = |key: &SigningKey, algorithm, message: &str| {
            key.signed(algorithm, message.as_bytes(), &signature)
        };
        assert!(signed(&rs256, SigningAlgorithm::Rs256, MESSAGE));
        assert!(!signed(&rs256, SigningAlgorithm::Rs256, &MESSAGE[1..]));
        assert!(!signed(&rs256, SigningAlgorithm::Ps256, MESSAGE));
        assert!(!signed(&rs256, SigningAlgorithm::Es256, MESSAGE));
        assert!(!signed(&read("PS256"), SigningAlgorithm::Rs256, MESSAGE), "it is for another");
    }

    #[test]
    fn keys_for_other_things_and_shared_secrets_are_no_keys() {
        for jwk in [
            json!({"kty": "oct", "kid": "a", "k": "c2VjcmV0"}),
            json!({"kty": "RSA", "n": N, "e": "AQAB"}),
            json!({"kty": "RSA", "kid": "a", "use": "enc", "n": N, "e": "AQAB"}),
            json!({"kty": "RSA", "kid": "a", "alg": "HS256", "n": N, "e": "AQAB"}),
            json!({"kty": "EC", "kid": "a", "crv": "secp256k1", "x": "AA", "y": "AA"}),
            json!("a"),
        ] {
            assert_eq!(SigningKey::read(&jwk), None, "{jwk}");
        }
    }
}
