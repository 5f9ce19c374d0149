//! A program that was built without the feature `service` opens no connections.

use std::time::Duration;

/// Why there is no answer.
pub(super) enum SendError {
    /// The service did not get the request.
    NotSent(String),
    /// Whether it did is not known.
    #[expect(dead_code, reason = "the other build has it")]
    NoAnswer(String),
}

/// Connections to nothing.
#[derive(Clone)]
pub(super) struct Transport;

impl Transport {
    /// Connects to nothing.
    pub(super) fn new() -> Self {
        Self
    }

    /// Sends nothing.
    pub(super) fn send(
        &self,
        _url: &str,
        _token: &str,
        _body: Option<&[u8]>,
        _timeout: Duration,
    ) -> Result<(u16, Vec<u8>), SendError> {
        Err(SendError::NotSent("this program was built without the feature `service`".to_owned()))
    }
}
