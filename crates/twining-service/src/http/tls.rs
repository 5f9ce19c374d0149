//! TLS in the process, for a service without a proxy in front of it.

use std::path::PathBuf;
use std::sync::Arc;

use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::error::ServiceError;

/// The service's certificate and its key, as PEM files.
#[derive(Clone, Debug)]
pub struct TlsFiles {
    /// The certificate, and those between it and the root.
    pub certificate: PathBuf,
    /// Its private key.
    pub key: PathBuf,
}

impl TlsFiles {
    /// Reads them.
    pub(super) fn acceptor(&self) -> Result<TlsAcceptor, ServiceError> {
        let unreadable = |what: &str, path: &PathBuf, why: String| {
            ServiceError::Settings(format!("cannot use the {what} `{}`: {why}", path.display()))
        };
        let chain = CertificateDer::pem_file_iter(&self.certificate)
            .and_then(Iterator::collect::<Result<Vec<_>, _>>)
            .map_err(|error| unreadable("certificate", &self.certificate, error.to_string()))?;
        let key = PrivateKeyDer::from_pem_file(&self.key)
            .map_err(|error| unreadable("key", &self.key, error.to_string()))?;
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map(|config| config.with_no_client_auth().with_single_cert(chain, key))
            .and_then(|config| config)
            .map_err(|error| unreadable("certificate", &self.certificate, error.to_string()))?;
        Ok(TlsAcceptor::from(Arc::new(config)))
    }
}
