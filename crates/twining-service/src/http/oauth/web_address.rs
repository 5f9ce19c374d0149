//! Addresses that an administrator gives: where the service is reached, and where keys are.

use axum::http::Uri;

use crate::error::ServiceError;

/// Where the service is reached from outside: a scheme and a host, and no path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicUrl(String);

impl PublicUrl {
    /// `https://memory.example.com`; plain HTTP on the loopback address only.
    pub fn parse(text: &str) -> Result<Self, ServiceError> {
        let uri = checked(text)?;
        if uri.path() != "/" || uri.query().is_some() {
            let why = format!("`{text}` has a path: give the scheme and the host alone");
            return Err(ServiceError::Invalid(why));
        }
        Ok(Self(text.trim_end_matches('/').to_owned()))
    }

    /// Its host, with its port if it names one.
    #[must_use]
    pub fn host(&self) -> &str {
        self.0.split_once("://").map_or("", |(_, host)| host)
    }

    /// The address of a path on it.
    pub(super) fn with_path(&self, path: &str) -> String {
        format!("{}{path}", self.0)
    }
}

/// Fails unless keys may be fetched from there: by HTTPS, or on this machine.
pub fn check_key_address(text: &str) -> Result<(), ServiceError> {
    checked(text).map(drop)
}

/// Whether it is on this machine.
pub(super) fn is_loopback(text: &str) -> bool {
    let uri: Option<Uri> = text.parse().ok();
    uri.as_ref()
        .and_then(Uri::host)
        .is_some_and(|host| matches!(host, "localhost" | "127.0.0.1" | "[::1]"))
}

fn checked(text: &str) -> Result<Uri, ServiceError> {
    let unusable = |why: &str| ServiceError::Invalid(format!("`{text}` {why}"));
    let uri: Uri = text.parse().map_err(|_| unusable("is no address"))?;
    match uri.scheme_str() {
        Some("https") => {}
        Some("http") if is_loopback(text) => {}
        _ => return Err(unusable("must begin with https://")),
    }
    if uri.authority().is_none_or(|authority| authority.as_str().contains('@')) {
        return Err(unusable("must have a host, and no user"));
    }
    Ok(uri)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_https_and_this_machine_are_addresses() {
        let url = PublicUrl::parse("https://memory.example.com:8443/").expect("an address");
        assert_eq!(url.host(), "memory.example.com:8443");
        assert_eq!(url.with_path("/a/b"), "https://memory.example.com:8443/a/b");
        for good in ["https://id.example/keys", "http://127.0.0.1:1/x", "http://localhost/x"] {
            check_key_address(good).expect(good);
        }
        for bad in [
            "http://id.example/keys",
            "http://127.0.0.1@evil.example/x",
            "http://localhost.evil.example/x",
            "https://a@b/x",
            "file:///etc/passwd",
            "/keys",
            "",
        ] {
            assert!(check_key_address(bad).is_err(), "{bad}");
        }
        assert!(PublicUrl::parse("https://memory.example.com/x").is_err());
    }
}
