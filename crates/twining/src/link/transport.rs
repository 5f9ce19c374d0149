//! HTTP requests: one at a time, within a time, and answers of a limited size. A program that was
//! built without the feature `service` sends none.

#[cfg(feature = "service")]
use std::io::Read;
#[cfg(feature = "service")]
use std::sync::{Arc, OnceLock};
use std::time::Duration;

#[cfg(feature = "service")]
use ureq::tls::{RootCerts, TlsConfig};
#[cfg(feature = "service")]
use ureq::{Agent, Error, Timeout};

#[cfg(feature = "service")]
use super::root_certificates::root_certificates;

/// The largest answer that is read.
#[cfg(feature = "service")]
const MAX_ANSWER_BYTES: u64 = 64 * 1024 * 1024;
#[cfg(feature = "service")]
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);

/// Tells the service how many seconds the oldest unsent change has waited.
#[cfg(feature = "service")]
const OUTBOX_AGE: &str = "twining-outbox-age";
/// Tells the service which repository is meant.
#[cfg(feature = "service")]
const MEANT_REPOSITORY: &str = "twining-repository";

/// What to do where nobody that we believe has issued a service's certificate.
#[cfg(feature = "service")]
const NAME_ISSUER: &str =
    "add your company's certificate to this machine's, or name its file with SSL_CERT_FILE";

/// Why there is no answer.
pub(super) enum SendError {
    /// The service did not get the request.
    NotSent(String),
    /// Whether it did is not known.
    #[cfg_attr(not(feature = "service"), expect(dead_code, reason = "nothing is sent"))]
    NoAnswer(String),
}

/// A request to a service.
#[cfg_attr(not(feature = "service"), expect(dead_code, reason = "nothing is sent"))]
pub(super) struct ServiceRequest<'a> {
    pub(super) url: &'a str,
    pub(super) token: &'a str,
    /// The repository that is meant.
    pub(super) repository: Option<&'a str>,
    /// How long the oldest change that is not sent has waited.
    pub(super) outbox_age: Option<Duration>,
    /// What is posted; none of a question.
    pub(super) body: Option<&'a [u8]>,
    pub(super) timeout: Duration,
}

/// Connections to one service.
#[derive(Clone)]
pub(super) struct Transport {
    /// Made with the first request: an `https` one takes the machine's certificates.
    #[cfg(feature = "service")]
    agent: Arc<OnceLock<Agent>>,
}

#[cfg(not(feature = "service"))]
impl Transport {
    /// Connects to nothing.
    pub(super) fn new() -> Self {
        Self {}
    }

    /// Sends nothing.
    pub(super) fn send(&self, _request: &ServiceRequest<'_>) -> Result<(u16, Vec<u8>), SendError> {
        Err(SendError::NotSent("this program was built without the feature `service`".to_owned()))
    }
}

#[cfg(feature = "service")]
impl Transport {
    /// Connects to nothing yet.
    pub(super) fn new() -> Self {
        Self { agent: Arc::default() }
    }

    fn agent(&self, url: &str) -> Result<&Agent, SendError> {
        if let Some(agent) = self.agent.get() {
            return Ok(agent);
        }
        let roots = match url.starts_with("https:") {
            true => root_certificates().map_err(SendError::NotSent)?,
            false => RootCerts::WebPki,
        };
        let config = Agent::config_builder()
            .http_status_as_error(false)
            // A redirect would take the token elsewhere.
            .max_redirects(0)
            .max_redirects_will_error(false)
            .timeout_connect(Some(CONNECT_TIMEOUT))
            .user_agent(concat!("twining/", env!("CARGO_PKG_VERSION")))
            .tls_config(TlsConfig::builder().root_certs(roots).build())
            .build();
        Ok(self.agent.get_or_init(|| config.new_agent()))
    }

    /// Sends a request, and returns status and body.
    pub(super) fn send(&self, request: &ServiceRequest<'_>) -> Result<(u16, Vec<u8>), SendError> {
        let ServiceRequest { url, token, repository, outbox_age, body, timeout } = request;
        let authorization = format!("Bearer {token}");
        let connect = CONNECT_TIMEOUT.min(*timeout);
        let agent = self.agent(url)?;
        let age = outbox_age.map(|age| age.as_secs().to_string());
        let sent = match body {
            Some(body) => {
                let mut post = agent
                    .post(*url)
                    .config()
                    .timeout_global(Some(*timeout))
                    .timeout_connect(Some(connect))
                    .build()
                    .header("authorization", &authorization)
                    .header("content-type", "application/json");
                if let Some(age) = &age {
                    post = post.header(OUTBOX_AGE, age);
                }
                if let Some(repository) = repository {
                    post = post.header(MEANT_REPOSITORY, *repository);
                }
                post.send(*body)
            }
            None => {
                let mut get = agent
                    .get(*url)
                    .config()
                    .timeout_global(Some(*timeout))
                    .timeout_connect(Some(connect))
                    .build()
                    .header("authorization", &authorization);
                if let Some(age) = &age {
                    get = get.header(OUTBOX_AGE, age);
                }
                get.call()
            }
        };
        let mut response = sent.map_err(failed)?;
        let status = response.status().as_u16();
        let mut bytes = Vec::new();
        // The limit is for what is unpacked, too.
        let mut body = response.body_mut().as_reader().take(MAX_ANSWER_BYTES + 1);
        body.read_to_end(&mut bytes).map_err(|error| SendError::NoAnswer(error.to_string()))?;
        if bytes.len() as u64 > MAX_ANSWER_BYTES {
            return Err(SendError::NoAnswer("its answer is too large".to_owned()));
        }
        Ok((status, bytes))
    }
}

#[cfg(feature = "service")]
fn failed(error: Error) -> SendError {
    let why = error.to_string();
    if why.contains("UnknownIssuer") {
        return SendError::NotSent(format!("{why}: {NAME_ISSUER}"));
    }
    match error {
        Error::HostNotFound
        | Error::ConnectionFailed
        | Error::BadUri(_)
        | Error::Tls(_)
        | Error::Timeout(Timeout::Connect | Timeout::Resolve) => SendError::NotSent(why),
        Error::Io(error) if error.kind() == std::io::ErrorKind::ConnectionRefused => {
            SendError::NotSent(why)
        }
        _ => SendError::NoAnswer(why),
    }
}
