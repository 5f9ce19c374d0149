//! TLS to the database. `sslmode` and `sslrootcert` mean what libpq means by them.

use std::future::Future;
use std::io;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream as ClientStream;
use tokio_rustls::rustls::client::WebPkiServerVerifier;
use tokio_rustls::rustls::client::danger::{
    HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier,
};
use tokio_rustls::rustls::crypto::{
    WebPkiSupportedAlgorithms, ring, verify_tls12_signature, verify_tls13_signature,
};
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use tokio_rustls::rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
};

use super::database_url::split_tls_words;
use crate::error::ServiceError;

/// The settings of an address, and how its TLS is done.
pub(super) fn read_address(url: &str) -> Result<(Config, DatabaseTls), ServiceError> {
    let settings = |why: &str| ServiceError::Settings(why.to_owned());
    let (rest, words) = split_tls_words(url);
    // What was wrong is not said: the text has a password.
    let mut config: Config =
        rest.parse().map_err(|_| settings("the database's address cannot be read"))?;
    let (mode, check) = match (words.mode.as_deref(), &words.root) {
        (Some("disable"), _) => (SslMode::Disable, CertificateCheck::Any),
        (None | Some("prefer"), _) => (SslMode::Prefer, CertificateCheck::Any),
        (Some("require"), None) => (SslMode::Require, CertificateCheck::Any),
        // A root that is named is used: libpq does the same.
        (Some("require" | "verify-ca"), Some(_)) => (SslMode::Require, CertificateCheck::Issuer),
        (Some("verify-full"), Some(_)) => (SslMode::Require, CertificateCheck::IssuerAndName),
        (Some("verify-ca" | "verify-full"), None) => {
            return Err(settings(
                "`sslmode=verify-ca` and `verify-full` need `sslrootcert=FILE`, the certificate of who issued the database's",
            ));
        }
        (Some(_), _) => {
            return Err(settings(
                "`sslmode` is one of disable, prefer, require, verify-ca and verify-full",
            ));
        }
    };
    let is_socket = |host: &Host| matches!(host, Host::Unix(_));
    // There is no TLS on a Unix socket, and none without a name if it is only preferred.
    let has_no_tls = match mode {
        SslMode::Prefer => config.get_hosts().iter().all(is_socket),
        _ => !config.get_hosts().is_empty() && config.get_hosts().iter().all(is_socket),
    };
    config.ssl_mode(if has_no_tls { SslMode::Disable } else { mode });
    let root = words.root.filter(|_| check != CertificateCheck::Any);
    Ok((config, DatabaseTls::new(check, root.as_deref())?))
}

/// What of the server's certificate is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CertificateCheck {
    /// Nothing: what is sent is hidden from who listens, and not from who stands between.
    Any,
    /// Who issued it.
    Issuer,
    /// Also the name it is for.
    IssuerAndName,
}

/// Makes connections of TLS. Cheap to clone.
#[derive(Clone)]
pub(super) struct DatabaseTls(TlsConnector);

impl DatabaseTls {
    fn new(check: CertificateCheck, root: Option<&str>) -> Result<Self, ServiceError> {
        let provider = Arc::new(ring::default_provider());
        let unusable = |why: String| {
            let file = root.unwrap_or_default();
            ServiceError::Settings(format!("cannot use `sslrootcert={file}`: {why}"))
        };
        let issuer = match root {
            None => None,
            Some("system") => {
                return Err(unusable(
                    "name a file, such as /etc/ssl/certs/ca-certificates.crt".to_owned(),
                ));
            }
            Some(file) => {
                let roots = read_roots(Path::new(file)).map_err(unusable)?;
                let verifier =
                    WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider.clone());
                Some(verifier.build().map_err(|error| unusable(error.to_string()))?)
            }
        };
        let verifier = ServerCertificates {
            algorithms: provider.signature_verification_algorithms,
            issuer,
            checks_name: check == CertificateCheck::IssuerAndName,
        };
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| ServiceError::Settings(format!("no TLS: {error}")))?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier))
            .with_no_client_auth();
        Ok(Self(TlsConnector::from(Arc::new(config))))
    }
}

fn read_roots(file: &Path) -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    let certificates = CertificateDer::pem_file_iter(file).map_err(|error| error.to_string())?;
    for certificate in certificates {
        let certificate = certificate.map_err(|error| error.to_string())?;
        roots.add(certificate).map_err(|error| error.to_string())?;
    }
    if roots.is_empty() { Err("it has no certificate".to_owned()) } else { Ok(roots) }
}

/// Checks the server's certificate as far as `sslmode` asks for it.
#[derive(Debug)]
struct ServerCertificates {
    algorithms: WebPkiSupportedAlgorithms,
    issuer: Option<Arc<WebPkiServerVerifier>>,
    checks_name: bool,
}

impl ServerCertVerifier for ServerCertificates {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        between: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Some(issuer) = &self.issuer else { return Ok(ServerCertVerified::assertion()) };
        match issuer.verify_server_cert(certificate, between, name, ocsp_response, now) {
            // The name is checked last: everything else was good.
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) if !self.checks_name => Ok(ServerCertVerified::assertion()),
            outcome => outcome,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signature, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signature, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

impl<S> MakeTlsConnect<S> for DatabaseTls
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    type Stream = DatabaseStream<S>;
    type TlsConnect = TlsHandshake;
    type Error = io::Error;

    fn make_tls_connect(&mut self, host: &str) -> io::Result<TlsHandshake> {
        // Asked for sockets too, which have no name: it fails only if it is used.
        Ok(TlsHandshake { connector: self.0.clone(), host: host.to_owned() })
    }
}

/// One connection's handshake.
pub(super) struct TlsHandshake {
    connector: TlsConnector,
    host: String,
}

impl<S> TlsConnect<S> for TlsHandshake
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    type Stream = DatabaseStream<S>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<DatabaseStream<S>>> + Send>>;

    fn connect(self, stream: S) -> Self::Future {
        Box::pin(async move {
            let name = ServerName::try_from(self.host).map_err(io::Error::other)?;
            Ok(DatabaseStream(self.connector.connect(name, stream).await?))
        })
    }
}

/// A connection under TLS.
pub(super) struct DatabaseStream<S>(ClientStream<S>);

impl<S: AsyncRead + AsyncWrite + Unpin> TlsStream for DatabaseStream<S> {
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for DatabaseStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, buffer)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for DatabaseStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}
