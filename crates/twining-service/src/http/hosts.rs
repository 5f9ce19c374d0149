//! Which hosts and origins are answered: a web page must not reach the service through its
//! reader's browser.

use axum::http::{HeaderMap, Uri, header};

/// The names the service is reached by.
#[derive(Clone, Debug)]
pub struct HostRules {
    names: Vec<String>,
}

impl HostRules {
    /// These names, with or without a port, and those of the loopback address.
    #[must_use]
    pub fn new(names: impl IntoIterator<Item = String>) -> Self {
        let loopback = ["localhost", "127.0.0.1", "[::1]"].map(str::to_owned);
        Self {
            names: names
                .into_iter()
                .map(|name| name.to_ascii_lowercase())
                .chain(loopback)
                .collect(),
        }
    }

    /// Every name.
    pub(super) fn names(&self) -> &[String] {
        &self.names
    }

    /// Whether a request is for us and from no page. Programs send no origin.
    pub(super) fn allow(&self, uri: &Uri, headers: &HeaderMap) -> bool {
        let mut hosts = headers.get_all(header::HOST).iter();
        let is_ours = match (hosts.next(), hosts.next()) {
            (Some(host), None) => host.to_str().is_ok_and(|host| self.is_name(host)),
            _ => false,
        };
        let is_target_ours = uri.authority().is_none_or(|target| self.is_name(target.as_str()));
        is_ours && is_target_ours && !headers.contains_key(header::ORIGIN)
    }

    fn is_name(&self, host: &str) -> bool {
        let host = host.to_ascii_lowercase();
        let without_port = match host.rsplit_once(':') {
            Some((name, port)) if !port.is_empty() && port.bytes().all(|c| c.is_ascii_digit()) => {
                name
            }
            _ => host.as_str(),
        };
        self.names.iter().any(|name| *name == host || name == without_port)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allows(host: &str, origin: Option<&str>) -> bool {
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, host.parse().expect("a header"));
        if let Some(origin) = origin {
            headers.insert(header::ORIGIN, origin.parse().expect("a header"));
        }
        HostRules::new(["Memory.example.com".to_owned()]).allow(&Uri::from_static("/x"), &headers)
    }

    #[test]
    fn our_own_names_are_answered_with_and_without_a_port() {
        for host in ["memory.example.com", "MEMORY.example.com:443", "localhost:8080", "[::1]:8080"]
        {
            assert!(allows(host, None), "{host}");
        }
    }

    #[test]
    fn other_names_and_every_page_are_refused() {
        for host in ["evil.example", "memory.example.com.evil.example", "", "localhost:80@evil"] {
            assert!(!allows(host, None), "{host}");
        }
        assert!(!allows("localhost", Some("null")));
        assert!(!allows("localhost", Some("http://localhost")));
    }
}
