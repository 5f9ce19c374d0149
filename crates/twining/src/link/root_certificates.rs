//! Whose certificates of a service are believed: those of the machine, which may have a company's
//! own, or of the file that `SSL_CERT_FILE` names.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{env, fs};

use ureq::tls::{Certificate, PemItem, RootCerts, parse_pem};

/// Names a file of certificates that are believed instead, as for OpenSSL and git.
const VARIABLE: &str = "SSL_CERT_FILE";
/// Where systems keep theirs.
const SYSTEM_FILES: [&str; 4] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

/// What is believed. Fails if `SSL_CERT_FILE` names no file with certificates.
pub(super) fn root_certificates() -> Result<RootCerts, String> {
    if let Some(file) = env::var_os(VARIABLE).filter(|file| !file.is_empty()) {
        let file = PathBuf::from(file);
        return certificates_in(&file)
            .map_err(|why| format!("{VARIABLE}={} cannot be used: {why}", file.display()));
    }
    let of_system = SYSTEM_FILES.iter().find_map(|file| certificates_in(Path::new(file)).ok());
    // A system without any is a bare container: Mozilla's are in the program.
    Ok(of_system.unwrap_or(RootCerts::WebPki))
}

fn certificates_in(file: &Path) -> Result<RootCerts, String> {
    let text = fs::read(file).map_err(|error| error.to_string())?;
    let certificates: Vec<Certificate<'static>> = parse_pem(&text)
        .filter_map(|item| match item {
            Ok(PemItem::Certificate(certificate)) => Some(certificate),
            _ => None,
        })
        .collect();
    match certificates.len() {
        0 => Err("it has no certificate".to_owned()),
        _ => Ok(RootCerts::Specific(Arc::new(certificates))),
    }
}
