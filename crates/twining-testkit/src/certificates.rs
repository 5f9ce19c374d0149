//! Certificates of a test's own, made when it runs: none is kept, and none expires.

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};

/// A certificate for some names, its key, and the root that issued it, all as PEM.
#[derive(Clone, Debug)]
pub struct TestCertificates {
    /// Of the issuer.
    pub root: String,
    /// Issued by it.
    pub certificate: String,
    /// The private key of that one.
    pub key: String,
}

impl TestCertificates {
    /// Issued for these names by a root of their own.
    #[must_use]
    pub fn for_names(names: &[&str]) -> Self {
        let mut of_root = CertificateParams::new(Vec::new()).expect("no name is wrong");
        of_root.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let root = CertifiedIssuer::self_signed(of_root, KeyPair::generate().expect("a key"))
            .expect("a root");
        let key = KeyPair::generate().expect("a key");
        let names: Vec<String> = names.iter().map(ToString::to_string).collect();
        let certificate = CertificateParams::new(names)
            .and_then(|params| params.signed_by(&key, &root))
            .expect("a certificate");
        Self { root: root.pem(), certificate: certificate.pem(), key: key.serialize_pem() }
    }
}
